"""Units measure a layer; anything unmeasured is refused with the measured components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import probe
from ansible_collections.hpcops.plumbline.tests.unit.plugins.modules.on_node import caller


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(tmp_path, monkeypatch)


def test_a_component_is_measured_by_its_unit_and_its_records_are_returned(run: Any) -> None:
    result, module = run(probe, layer="ost", components=["scratch-OST0001"])
    assert module.commands[0] == "systemctl start plumbline-ost@scratch-OST0001.service"
    assert result["changed"]
    assert [record["started_at"] for record in result["records"]] == [4e9]
    assert [verdict["sentence"] for verdict in result["verdicts"]] == ["slow"]
    assert result["state"] == "WARNING"


def test_without_a_component_the_whole_layer_is_measured(run: Any) -> None:
    result, _ = run(probe, layer="ost")
    assert result["units"] == ["plumbline-ost.service"]
    assert result["components"] == ["scratch-OST0000", "scratch-OST0001"]
    assert len(result["records"]) == 2


def test_check_mode_names_the_measurements_and_starts_nothing(run: Any) -> None:
    result, module = run(probe, check_mode=True, layer="fs")
    units = ["plumbline-fs@scratch.service"]
    assert result == {"changed": True, "components": ["scratch"], "units": units}
    assert module.commands == []


def test_a_further_test_of_a_file_system_is_measured_if_named(run: Any) -> None:
    result, _ = run(probe, check_mode=True, layer="fs", components=["scratch:posix-fpp-10k"])
    assert result["units"] == ["plumbline-fs@scratch:posix-fpp-10k.service"]


@pytest.mark.parametrize(
    ("arguments", "message"),
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
        ({"layer": "ost", "slot": 1}, "slot pairs all hosts of the layers net and rdma; leave out"),
        ({"layer": "net", "slot": 1, "components": ["client1"]}, "slot pairs all hosts"),
        ({"layer": "ost", "expectations": "/nowhere"}, "there is no /nowhere; deploy plumbline"),
    ],
)
def test_unmeasured_components_are_refused_with_the_measured_ones(
    run: Any, arguments: dict[str, Any], message: str
) -> None:
    result, module = run(probe, **arguments)
    assert result["failed"]
    assert result["msg"].startswith(message)
    assert module.commands == []


def test_unmeasured_layers_can_be_skipped(run: Any) -> None:
    result, _ = run(probe, layer="raw", unmeasured="skip")
    assert result["skipped"]


def test_a_damaged_document_is_one_sentence(run: Any, tmp_path: Path) -> None:
    (tmp_path / "expectations.json").write_text('{"entries": [5]}')
    result, _ = run(probe, layer="ost")
    assert "is damaged" in result["msg"]


def test_a_failed_unit_fails_the_module_with_its_message(run: Any) -> None:
    result, _ = run(probe, layer="net", slot=3, systemctl=1)
    assert result["failed"]
    message = "plumbline-net@3.service failed: plumbline: fio is missing; install it"
    assert result["msg"] == message


def test_a_unit_is_stopped_at_the_limit(run: Any) -> None:
    result, module = run(probe, layer="ost", limit_s=90, systemctl=124)
    assert result["msg"] == "plumbline-ost.service did not finish within 90 s"
    assert module.commands[0] == "timeout 90 systemctl start plumbline-ost.service"
