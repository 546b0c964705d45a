"""Timers run as their files say, and units go without a trace; systemd reloads only if it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Sequence

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import units
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import Ended, Module

SERVICE, TEMPLATE, TIMER = "p-ost.service", "p-ost@.service", "p-ost.timer"
UNITS = [SERVICE, TEMPLATE, TIMER]
ADDITIONS = f"{SERVICE}.d"
RUNNING = {
    SERVICE: "loaded inactive static no",
    TIMER: "loaded active enabled no",
}


class Systemd(Module):  # type: ignore[misc]
    """A module whose systemctl shows units and does the rest in silence."""

    loaded: dict[str, str] = RUNNING

    def reply(self, argv: Sequence[str]) -> tuple[int, str, str]:
        if argv[1] == "list-units":
            return 0, "".join(f"{unit} {line}\n" for unit, line in self.loaded.items()), ""
        if argv[1] != "show":
            return self.answer or (0, "", "")
        names = units.PROPERTIES.split(",")
        blocks = [zip(names, [unit, *line.split()]) for unit, line in self.loaded.items()]
        text = "\n\n".join("\n".join("=".join(pair) for pair in block) for block in blocks)
        return 0, f"{text}\n", ""


def bring(
    monkeypatch: pytest.MonkeyPatch,
    renewed: Sequence[str],
    loaded: Mapping[str, str],
    check_mode: bool = False,
    answer: Any = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the result of the module, and its commands after the first look."""
    module = Systemd(
        answer, {"units": UNITS, "state": "started", "renewed": list(renewed)}, check_mode
    )
    kinds = {"service": SERVICE, "timer": TIMER, "instance": "p-ost@a.service"}
    module.loaded = {**RUNNING, **{kinds[kind]: line for kind, line in loaded.items()}}
    monkeypatch.setattr(units, "AnsibleModule", lambda **_: module)
    with pytest.raises(Ended) as ended:
        units.main()
    assert module.commands[0].split()[3:] == [SERVICE, "p-ost@*.service", TIMER]
    return ended.value.result, module.commands[1:]


NEW = {"service": "loaded inactive static no", "timer": "loaded inactive disabled no"}
START = f"systemctl restart {TIMER}"
ENABLE = f"systemctl enable --quiet {TIMER}"
RELOAD = "systemctl daemon-reload"


@pytest.mark.parametrize(
    ("renewed", "loaded", "commands"),
    [
        ((), {}, []),
        ((TIMER, SERVICE), NEW, [ENABLE, START]),
        # systemd before version 245 does not look for a file that it did not find before
        ((TIMER,), {"timer": "not-found inactive enabled no"}, [RELOAD, START]),
        ((TIMER,), {"timer": "not-found inactive disabled no"}, [ENABLE, START]),
        ((TIMER,), {"timer": "loaded active enabled yes"}, [RELOAD, START]),
        ((TIMER,), {}, [START]),
        ((SERVICE,), {"service": "loaded inactive static yes"}, [RELOAD]),
        ((TEMPLATE,), {"instance": "loaded failed static yes"}, [RELOAD]),
        # a run before this one broke off after it had written the file
        ((), {"service": "loaded inactive static yes"}, [RELOAD]),
        ((), {"timer": "loaded inactive enabled no"}, [START]),
        ((), {"timer": "loaded active disabled no"}, [ENABLE]),
    ],
)
def test_what_differs_from_the_files_is_mended(
    monkeypatch: pytest.MonkeyPatch,
    renewed: tuple[str, ...],
    loaded: dict[str, str],
    commands: list[str],
) -> None:
    result, issued = bring(monkeypatch, renewed, loaded)
    assert issued == commands
    assert result["changed"] == bool(commands)


def test_check_mode_says_that_it_would_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result, issued = bring(monkeypatch, [TIMER], NEW, check_mode=True)
    assert issued == []
    assert result == {"changed": True, "reloaded": True, "enabled": [TIMER], "started": [TIMER]}


def test_the_error_of_systemd_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = (1, "", "Unit p-ost.timer has a bad unit file")
    result, _ = bring(monkeypatch, [TIMER], {}, answer=answer)
    assert result["failed"]
    assert result["msg"] == (
        f"systemctl restart {TIMER} ended with 1: Unit p-ost.timer has a bad unit file"
    )


def test_a_unit_without_a_state_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Systemd(None, {"units": [*UNITS, "p-other.timer"], "state": "started", "renewed": []})
    monkeypatch.setattr(units, "AnsibleModule", lambda **_: module)
    with pytest.raises(Ended) as ended:
        units.main()
    assert ended.value.result["msg"] == "systemctl show gave no state of p-other.timer"


def removed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, loaded: dict[str, str], check_mode: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the result of a removal from a folder, and its commands after the first look."""
    module = Systemd(
        None, {"units": UNITS, "state": "absent", "additions": [ADDITIONS]}, check_mode
    )
    module.loaded = loaded
    monkeypatch.setattr(units, "AnsibleModule", lambda **_: module)
    monkeypatch.setattr(units, "PLACES", (f"{folder}/{{unit}}", f"{folder}/stamp-{{unit}}"))
    with pytest.raises(Ended) as ended:
        units.main()
    assert module.commands[0].split()[-3:] == [SERVICE, "p-ost@*.service", TIMER]
    return ended.value.result, module.commands[1:]


def test_units_are_stopped_and_removed_with_all_their_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in (*UNITS, f"stamp-{TIMER}", "p-other.timer")]
    for path in files:
        path.touch()
    (tmp_path / ADDITIONS).mkdir()
    (tmp_path / ADDITIONS / "more.conf").touch()
    result, issued = removed(monkeypatch, tmp_path, RUNNING)
    loaded = f"{SERVICE} {TIMER}"
    assert issued == [f"systemctl stop {loaded}", f"systemctl reset-failed {loaded}", RELOAD]
    assert result["changed"]
    assert sorted(result["removed"]) == sorted(map(str, [*files[:-1], tmp_path / ADDITIONS]))
    assert list(tmp_path.iterdir()) == files[-1:]


def test_nothing_is_removed_in_check_mode_or_where_nothing_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, issued = removed(monkeypatch, tmp_path, {})
    assert (result["changed"], issued) == (False, [])
    (tmp_path / TIMER).touch()
    result, issued = removed(monkeypatch, tmp_path, RUNNING, check_mode=True)
    assert (result["changed"], issued) == (True, [])
    assert (tmp_path / TIMER).exists()
