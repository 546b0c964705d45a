"""Targets of files of tests/data/targets: what a healthy system answers about each, and cases.

A file has the description of a ``target``, its ``component``, the ``bytes`` of its probe file, and
``answers`` by name: the begin of a command, and what it answers, see :mod:`tests.package.recorded`.

A case may change ``keys`` of the description, the ``component``, the fill ``limit`` and, by name or
begin of the command, answers (``changes``; those for its last deed alone are in ``then``).  It
``does`` something, each by the name of a method or a list of it and its arguments: ``state`` unless
told, nothing where the target itself is refused.  The last deed ``raises`` an error with words, or
``gives`` a value, or a text that ``begins`` so; of a state some of it, or all three parts.

``calls`` are those that begin so (``number``: how many), ``within`` says whether they may make
their folder, ``never`` is not called, ``first`` is the first call, and ``order`` has the first two
words of all.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest
import yaml

from plumbline.measure.targets import target_for
from plumbline.measure.targets.interface import TargetState
from plumbline.model import errors
from tests.package.fakes import Answer, FakeRunner
from tests.package.recorded import DATA, data, reply

FILES: dict[str, Any] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((DATA / "targets").glob("*.yml"))
}
CASES = [
    pytest.param(kind, case, id=f"{kind}: {case['case']}")
    for kind, file in FILES.items()
    for case in file["cases"]
]
CLIENT = "ffff888120238800"
"""The mount of the client that has printed what is kept of Lustre."""
EVERY = "lctl get_param osc.lustre-OST*-osc-*.import"
"""The question for the imports of all OSTs."""


def healthy(kind: str, /, **changes: Answer) -> dict[str, Answer]:
    """Return what a healthy system answers; ``changes`` replace answers by their names."""
    known = FILES[kind]["answers"]
    return {start: changes.get(name, reply(raw)) for name, (start, raw) in known.items()}


def of_ost(ost: str, **changes: Answer) -> dict[str, Answer]:
    """Return what a healthy client of Lustre answers about an OST."""
    answers = healthy("lustre", **changes)
    return {start.replace("lustre-OST0003", ost): value for start, value in answers.items()}


def imports(**states: str) -> str:
    """Return the imports of all OSTs; ``states`` are those of the client's by the end of a name."""
    text = data("lustre/lctl_osc_import.txt")
    for ost, state in states.items():
        head, name, tail = text.partition(f"osc.lustre-{ost}-osc-{CLIENT}.import=")
        text = head + name + tail.replace("state: FULL", f"state: {state}", 1)
    return text


def target(kind: str, /, limit: float = 0.9, component: Optional[str] = None, **keys: str) -> Any:
    """Return the target of a file, with some keys of its description changed."""
    file = FILES[kind]
    name = file["component"] if component is None else component
    return target_for({**file["target"], **keys}, name, limit)


class Deeds:
    """The deeds of a case, and the calls of its last one, or of all where no answer changes."""

    def __init__(self, kind: str, case: Mapping[str, Any]) -> None:
        self._kind, self._case = kind, case
        self._answers = healthy(kind)
        if "ost" in case.get("keys", {}):
            self._answers = of_ost(case["keys"]["ost"])
        self.run = self._changed(case.get("changes", {}))

    def _changed(self, changes: Mapping[str, Any]) -> FakeRunner:
        begins = {name: start for name, (start, _) in FILES[self._kind]["answers"].items()}
        ost = self._case.get("keys", {}).get("ost", "lustre-OST0003")
        for name, raw in changes.items():
            self._answers[begins.get(name, name).replace("lustre-OST0003", ost)] = reply(raw)
        return FakeRunner(self._answers)

    def do(self) -> Any:
        """Do all of it and return what the last deed gives."""
        case, path, given = self._case, "", None
        made = target(
            self._kind, case.get("limit", 0.9), case.get("component"), **case.get("keys", {})
        )
        deeds = case.get("does", ["state"])
        for number, deed in enumerate(deeds, 1):
            name, *arguments = deed if isinstance(deed, list) else [deed]
            usual = {"place": [FILES[self._kind]["bytes"]], "verify": [path]}.get(name, [])
            if number == len(deeds) and "then" in case:
                self.run = self._changed(case["then"])
            given = getattr(made, name)(self.run, *(arguments or usual))
            path = given if name == "place" else path
        return given


def check(kind: str, case: Mapping[str, Any]) -> None:
    """Raise AssertionError where a case does not come out as its file says."""
    deeds = Deeds(kind, case)
    if "raises" in case:
        name, words = case["raises"]
        with pytest.raises(errors.PlumblineError) as caught:
            deeds.do()
        said = str(caught.value)
        assert (type(caught.value).__name__, words in said, "\n" in said) == (name, True, False), (
            said
        )
    else:
        given = deeds.do()
        if "gives" in case:
            assert _shown(given, case["gives"]) == case["gives"]
        assert str(given).startswith(case.get("begins", ""))
    for start, calls in case.get("calls", {}).items():
        assert deeds.run.called(start) == calls
    for start, number in case.get("number", {}).items():
        assert len(deeds.run.called(start)) == number
    assert "first" not in case or deeds.run.calls[0] == case["first"]
    for start, makes in case.get("within", {}).items():
        placed = deeds.run.placed(start)
        folder = (".plumbline", FILES[kind]["component"])
        assert {(w.names, w.file, w.make) for w in placed if w} == {(folder, "probe.dat", makes)}
        assert None not in placed
    assert [start for start in case.get("never", ()) if deeds.run.called(start)] == []
    order = [" ".join(call.split()[:2]) for call in deeds.run.calls]
    assert case.get("order", order) == order


def _shown(given: Any, expected: Any) -> Any:
    """Return a value in the form of a file, of a state as much as is expected of it."""
    if not isinstance(given, TargetState):
        return list(given) if isinstance(given, tuple) else given
    versions = expected.get("versions", {})
    state = {
        "fill": given.fill if given.fill is None else pytest.approx(given.fill, abs=1e-4),
        "flags": [flag.value for flag in given.flags],
        "versions": {name: given.versions.get(name) for name in versions},
    }
    if expected.keys() == state.keys():
        state["versions"] = dict(given.versions)
    return {name: state[name] for name in expected}
