"""``plumbline plan`` prints the plan for people and programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.errors import UsageError
from tests.package.cli.driver import Run, call, inventory
from tests.package.plan.test_expectations import two_file_systems


def test_one_node_is_printed_alone(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    document = run("plan", "-i", folder, "--node", "oss2", "--json").document
    assert document["node"] == "oss2"
    assert [entry["layer"] for entry in document["entries"]] == ["raw", "raw", "net"]
    text = run("plan", "-i", folder, "--node", "oss2").out
    assert "oss2-disk1" in text
    assert "oss1-disk1" not in text
    assert text.endswith("3 measurements, 5 services\n")


def test_people_get_a_table(tmp_path: Path, run: Run) -> None:
    text = run("plan", "-i", inventory(tmp_path)).out
    assert "scratch-OST3" in text
    assert "80.0 MB/s" in text
    assert "ost: *-*-* 02:06, spread over 10 min, takes " in text
    assert "WARNING" not in text
    assert text.endswith("10 measurements, 16 services\n")


def test_a_node_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'oss9' is no client or server of lab; its hosts are"):
        call("plan", "-i", inventory(tmp_path), "--node", "oss9")


def test_a_run_that_cannot_end_within_its_limit_is_said(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    policy = {"schema": 1, "layers": {"ost": {"schedule": {"limit": "10 s"}}}}
    path = Path(folder) / "group_vars" / "all" / "policy.yml"
    path.write_text(json.dumps({"plumbline_policy": policy}), encoding="utf-8")
    text = run("plan", "-i", folder).out
    # two servers side by side, two targets each, written and read three times
    assert (
        "takes at most 3 min on client1 while everything is healthy, up to 2 at the same time\n"
        in text
    )
    (warning,) = (line for line in text.splitlines() if line.startswith("WARNING"))
    assert warning == (
        "WARNING: ost on client1 takes 3 min but is ended after 10 s, the last of it unmeasured: "
        "raise its limit"
    )
    assert "WARNING" not in run("plan", "-i", folder, "--node", "oss1").out


def test_clients_that_may_disturb_one_another_are_said(tmp_path: Path, run: Run) -> None:
    (warning,) = (
        line
        for line in run(
            "plan", "-i", inventory(tmp_path, two_file_systems("oss1-disk2"))
        ).out.splitlines()
        if "WARNING" in line
    )
    assert warning == (
        "WARNING: client1 and client2 measure targets across oss1-nic and 2 more parts and may "
        "disturb one another: give their file systems the same clients"
    )
