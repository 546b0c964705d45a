"""The module compiles with the package of this collection, and fails with its sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.hpcops.plumbline.plugins.modules import plan

COLLECTION = Path(__file__).resolve().parents[4]
EXAMPLE = COLLECTION / "inventories" / "example"


class Result:
    """Runs the module and reads its result."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def of(self, **params: Any) -> dict[str, Any]:
        console = {"command": [sys.executable, "-m", "plumbline.cli"], "source": str(COLLECTION)}
        with patch_module_args({**console, **params}), pytest.raises(SystemExit):
            plan.main()
        document: dict[str, Any] = json.loads(self._capfd.readouterr().out)
        return document


@pytest.fixture
def result(capfd: pytest.CaptureFixture[str]) -> Result:
    return Result(capfd)


def test_the_module_returns_the_plan_of_an_inventory(result: Result) -> None:
    document = result.of(inventory=str(EXAMPLE), _ansible_check_mode=True)
    assert document["changed"] is False
    assert document["compiled"] is True
    assert document["plan"]["site"] == "example"
    assert document["groups"]["plumbline_ost"] == ["probe1"]
    assert len(document["groups"]["plumbline_raw"]) == 24


def test_a_file_means_its_folder_and_the_cache_is_used(result: Result, tmp_path: Path) -> None:
    assert result.of(inventory=str(EXAMPLE), cache_directory=str(tmp_path))["compiled"]
    hosts = str(EXAMPLE / "hosts.yml")
    assert not result.of(inventory=hosts, cache_directory=str(tmp_path))["compiled"]


def test_an_inventory_without_topology_fails_with_the_sentence(
    result: Result, tmp_path: Path
) -> None:
    document = result.of(inventory=str(tmp_path))
    assert document["failed"] is True
    assert document["rc"] == 65
    assert "topology.yml" in document["msg"]
    assert "Traceback" not in document["msg"]


def test_a_cache_that_cannot_be_written_warns(result: Result, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    document = result.of(inventory=str(EXAMPLE), cache_directory=str(tmp_path / "file"))
    assert "compiled again each time" in str(document["warnings"])
