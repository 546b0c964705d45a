"""A layer is measured through its units, and what cannot be measured is refused with what can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn, Optional, Sequence

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import probe, verdicts_info

NODE = {
    "node": "client1",
    "entries": [
        {
            "layer": "ost",
            "component": "scratch-OST0000",
            "target": {"kind": "lustre"},
            "group": "scratch",
        },
        {
            "layer": "ost",
            "component": "scratch-OST0001",
            "target": {"kind": "lustre"},
            "group": "scratch",
        },
        {"layer": "net", "component": "client1", "target": {}, "group": "scratch"},
        {"layer": "fs", "component": "scratch", "target": {"kind": "parallel"}, "group": "scratch"},
        {
            "layer": "fs",
            "component": "scratch-OST0000",
            "target": {"kind": "lustre"},
            "group": "scratch",
        },
    ],
}
VERDICTS = [
    {"layer": "ost", "component": "scratch-OST0000", "state": "OK", "sentence": "fine"},
    {"layer": "ost", "component": "scratch-OST0001", "state": "WARNING", "sentence": "slow"},
    {"layer": "ost", "component": "scratch", "state": "UNKNOWN", "sentence": "weak"},
    {"layer": "net", "component": "client1", "state": "CRITICAL", "sentence": "slow"},
]


class Ended(Exception):
    """How the module ended."""

    def __init__(self, **result: Any) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class Module:
    """Stands for AnsibleModule with the real check of arguments left to Ansible."""

    def __init__(self, params: dict[str, Any], check_mode: bool = False) -> None:
        self.params = params
        self.check_mode = check_mode
        self.asked: list[str] = []
        self.systemctl = 0

    def run_command(self, argv: Sequence[str], **_options: Any) -> tuple[int, str, str]:
        self.asked.append(" ".join(argv))
        if "systemctl" in argv:
            return self.systemctl, "", "Job failed"
        if "journalctl" in argv:
            return 0, "plumbline: fio is missing; install it\n", ""
        if "judge" in argv:
            return 2, json.dumps({"verdicts": VERDICTS}), ""
        old = {"component": "scratch-OST0001", "started_at": 5.0}
        new = {"component": "scratch-OST0001", "started_at": 4e9}
        other = {"component": "scratch-OST0000", "started_at": 4e9}
        return 0, "".join(json.dumps(one) + "\n" for one in (old, new, other)), ""

    def exit_json(self, **result: Any) -> NoReturn:
        raise Ended(**result)

    def fail_json(self, **result: Any) -> NoReturn:
        raise Ended(failed=True, **result)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a call of a module's main: its result, and the module."""
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(NODE))

    def call(of: Any, check_mode: bool = False, systemctl: int = 0, **params: Any) -> Any:
        module: Optional[Module] = None

        def made(argument_spec: dict[str, Any], supports_check_mode: bool) -> Module:
            nonlocal module
            assert supports_check_mode
            given = {name: spec.get("default") for name, spec in argument_spec.items()}
            module = Module({**given, "expectations": str(path), **params}, check_mode)
            module.systemctl = systemctl
            return module

        monkeypatch.setattr(of, "AnsibleModule", made)
        with pytest.raises(Ended) as ended:
            of.main()
        return ended.value.result, module

    return call


def test_one_component_is_measured_by_its_unit_and_its_own_records_come_back(run: Any) -> None:
    result, module = run(probe, layer="ost", components=["scratch-OST0001"])
    assert module.asked[0] == "systemctl start plumbline-ost@scratch-OST0001.service"
    assert result["changed"]
    assert [one["started_at"] for one in result["records"]] == [4e9]
    assert [one["sentence"] for one in result["verdicts"]] == ["slow"]
    assert result["state"] == "WARNING"


def test_without_a_component_the_whole_layer_is_measured(run: Any) -> None:
    result, _ = run(probe, layer="ost")
    assert result["units"] == ["plumbline-ost.service"]
    assert result["components"] == ["scratch-OST0000", "scratch-OST0001"]
    assert len(result["records"]) == 2


def test_check_mode_says_what_would_be_measured_and_starts_nothing(run: Any) -> None:
    result, module = run(probe, check_mode=True, layer="fs")
    expected = {"changed": True, "components": ["scratch"], "units": ["plumbline-fs.service"]}
    assert result == expected
    assert module.asked == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"layer": "raw"}, "client1 measures nothing in layer raw; it measures ost, fs, net"),
        (
            {"layer": "ost", "components": ["x"]},
            "client1 measures no x in layer ost; it measures scratch-OST0000, scratch-OST0001",
        ),
        (
            {"layer": "fs", "components": ["scratch-OST0000"]},
            "client1 measures no scratch-OST0000 in layer fs; it measures scratch",
        ),
        ({"layer": "ost", "slot": 1}, "slot pairs all hosts of layer net; leave out slot, or"),
        ({"layer": "net", "slot": 1, "components": ["client1"]}, "slot pairs all hosts"),
        ({"layer": "ost", "expectations": "/nowhere"}, "there is no /nowhere; deploy plumbline"),
    ],
)
def test_what_is_not_measured_here_is_refused_with_what_is(
    run: Any, asked: dict[str, Any], said: str
) -> None:
    result, module = run(probe, **asked)
    assert result["failed"]
    assert result["msg"].startswith(said)
    assert module.asked == []


def test_where_it_is_not_measured_it_can_be_skipped(run: Any) -> None:
    result, _ = run(probe, layer="raw", unmeasured="skip")
    assert result["skipped"]


def test_a_damaged_document_is_a_sentence(run: Any, tmp_path: Path) -> None:
    (tmp_path / "expectations.json").write_text('{"entries": [5]}')
    result, _ = run(probe, layer="ost")
    assert "is damaged" in result["msg"]


def test_a_unit_that_fails_fails_the_module_with_its_words(run: Any) -> None:
    result, _ = run(probe, layer="net", slot=3, systemctl=1)
    assert result["failed"]
    said = "plumbline-net@3.service failed: plumbline: fio is missing; install it"
    assert result["msg"] == said


def test_a_unit_is_stopped_at_the_limit(run: Any) -> None:
    result, module = run(probe, layer="ost", limit_s=90, systemctl=124)
    assert result["msg"] == "plumbline-ost.service did not finish within 90 s"
    assert module.asked[0] == "timeout 90 systemctl start plumbline-ost.service"


def test_verdicts_are_those_asked_for_and_the_worst_state_is_said(run: Any) -> None:
    result, module = run(verdicts_info)
    assert (len(result["verdicts"]), result["state"]) == (4, "CRITICAL")
    assert (result["changed"], result["node"]) == (False, "client1")
    assert module.asked[0].endswith("plumbline judge --json")
    result, _ = run(verdicts_info, layers=["ost"])
    assert (len(result["verdicts"]), result["state"]) == (3, "UNKNOWN")
    result, _ = run(verdicts_info, components=["scratch-OST0000"])
    assert (len(result["verdicts"]), result["state"]) == (1, "OK")


@pytest.mark.parametrize("asked", [{"components": ["x"]}, {"layers": ["raw"]}])
def test_a_node_that_judges_nothing_of_it_is_not_asked(run: Any, asked: dict[str, Any]) -> None:
    result, module = run(verdicts_info, **asked)
    assert (result["verdicts"], result["state"]) == ([], "UNKNOWN")
    assert module.asked == []


def test_a_node_that_measures_nothing_is_not_judged(run: Any, tmp_path: Path) -> None:
    (tmp_path / "expectations.json").write_text('{"node": "mon1", "entries": []}')
    result, module = run(verdicts_info)
    assert (result["verdicts"], module.asked) == ([], [])
