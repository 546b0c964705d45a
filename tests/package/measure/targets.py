"""Targets of tests/data/targets: answers of a healthy system about each, and cases.

A file has the description of a ``target``, its ``component``, the ``bytes`` of its probe file, and
``answers`` by name: the beginning of a command and its answer, see :mod:`tests.package.recorded`.

A case may change ``keys`` of the description, the ``component``, the fill ``limit`` and, by name or
beginning of a command, answers (``changes``; ``then`` for the last method only).  ``does`` lists
the methods to call, each a name or a list of it and its arguments; the default is ``state``, and
none if the target itself is refused.  The last method ``raises`` an error with words, ``gives`` a
value, or a text that ``begins`` with this; of a state some or all three parts.

``calls`` are the calls with a beginning, ``number`` counts them, ``within`` is whether they may
make their folder, ``never`` is not called, ``first`` is the first call, and ``order`` has the first
two words of all calls.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest

from plumbline.measure.targets import target_for
from plumbline.measure.targets.interface import TargetState
from plumbline.model import errors
from tests.package.fakes import Answer, FakeRunner
from tests.package.recorded import DATA, data, reply
from tests.project.repository import document

FILES: dict[str, Any] = {
    path.stem: document(path) for path in sorted((DATA / "targets").glob("*.yml"))
}
CASES = [
    pytest.param(kind, case, id=f"{kind}: {case['case']}")
    for kind, file in FILES.items()
    for case in file["cases"]
]
CLIENT = "ffff888120238800"
"""The mount of the client that printed the recorded output of Lustre."""
ALL_IMPORTS = "lctl get_param osc.lustre-OST*-osc-*.import"
"""The command for the imports of all OSTs."""


def healthy(kind: str, /, **changes: Answer) -> dict[str, Answer]:
    """Return the answers of a healthy system; ``changes`` replace some by name."""
    answers = FILES[kind]["answers"]
    return {start: changes.get(name, reply(raw)) for name, (start, raw) in answers.items()}


def of_ost(ost: str, **changes: Answer) -> dict[str, Answer]:
    """Return the answers of a healthy Lustre client about an OST."""
    answers = healthy("lustre", **changes)
    return {start.replace("lustre-OST0003", ost): value for start, value in answers.items()}


def imports(**states: str) -> str:
    """Return the imports of all OSTs, with ``states`` of the client's by the end of their names."""
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


class CaseRun:
    """Runs the methods of a case; records the calls of the last, or of all if no answer changes."""

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
        """Call all methods and return the result of the last."""
        case, path, result = self._case, "", None
        subject = target(
            self._kind, case.get("limit", 0.9), case.get("component"), **case.get("keys", {})
        )
        methods = case.get("does", ["state"])
        for number, method in enumerate(methods, 1):
            name, *arguments = method if isinstance(method, list) else [method]
            usual = {"place": [FILES[self._kind]["bytes"]], "verify": [path]}.get(name, [])
            if number == len(methods) and "then" in case:
                self.run = self._changed(case["then"])
            result = getattr(subject, name)(self.run, *(arguments or usual))
            path = result if name == "place" else path
        return result


def check(kind: str, case: Mapping[str, Any]) -> None:
    """Assert the expectations of a case."""
    case_run = CaseRun(kind, case)
    if "raises" in case:
        name, words = case["raises"]
        with pytest.raises(errors.PlumblineError) as caught:
            case_run.do()
        message = str(caught.value)
        assert (type(caught.value).__name__, words in message, "\n" in message) == (
            name,
            True,
            False,
        ), message
    else:
        result = case_run.do()
        if "gives" in case:
            assert _shown(result, case["gives"]) == case["gives"]
        assert str(result).startswith(case.get("begins", ""))
    for start, calls in case.get("calls", {}).items():
        assert case_run.run.called(start) == calls
    for start, number in case.get("number", {}).items():
        assert len(case_run.run.called(start)) == number
    assert "first" not in case or case_run.run.calls[0] == case["first"]
    for start, makes in case.get("within", {}).items():
        placed = case_run.run.placed(start)
        folder = (".plumbline", FILES[kind]["component"])
        assert {(w.names, w.file, w.make) for w in placed if w} == {(folder, "probe.dat", makes)}
        assert None not in placed
    assert [start for start in case.get("never", ()) if case_run.run.called(start)] == []
    order = [" ".join(call.split()[:2]) for call in case_run.run.calls]
    assert case.get("order", order) == order


def _shown(result: Any, expected: Any) -> Any:
    """Return a value in the form of a file; of a state only the expected parts."""
    if not isinstance(result, TargetState):
        return list(result) if isinstance(result, tuple) else result
    versions = expected.get("versions", {})
    state = {
        "fill": result.fill if result.fill is None else pytest.approx(result.fill, abs=1e-4),
        "flags": [flag.value for flag in result.flags],
        "versions": {name: result.versions.get(name) for name in versions},
    }
    if expected.keys() == state.keys():
        state["versions"] = dict(result.versions)
    return {name: state[name] for name in expected}
