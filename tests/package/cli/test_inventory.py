"""``plumbline plan`` and ``ceiling``: tables, JSON and objects for monitoring."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.doors.monitored import AGENT_SERVICE, COLLECTION_SERVICE, ObjectOptions
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.units import format_rate
from plumbline.plan.baseline import Key
from tests.characterization.product import inventories
from tests.package.cli.driver import Run, accept, call, inventory
from tests.package.plan.test_baseline import BASELINE
from tests.package.plan.test_expectations import two_file_systems
from tests.package.sites import INVENTORIES, part, site
from tests.project.repository import ROOT, document

# --- ``plumbline plan`` prints the plan as a table and as JSON.


def test_the_plan_of_one_node_can_be_printed(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    document = run("plan", "-i", folder, "--node", "oss2", "--json").document
    assert document["node"] == "oss2"
    assert [entry["layer"] for entry in document["entries"]] == ["raw", "raw", "net"]
    text = run("plan", "-i", folder, "--node", "oss2").out
    assert "oss2-disk1" in text
    assert "oss1-disk1" not in text
    assert text.endswith("3 measurements, 5 services\n")


def test_the_plan_is_printed_as_a_table(tmp_path: Path, run: Run) -> None:
    text = run("plan", "-i", inventory(tmp_path)).out
    assert "scratch-OST3" in text
    assert "80.0 MB/s" in text
    assert "ost: *-*-* 02:06, spread over 10 min, takes " in text
    assert "WARNING" not in text
    assert text.endswith("10 measurements, 16 services\n")


def test_a_run_longer_than_its_time_limit_is_reported(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    policy = {"schema": 1, "layers": {"ost": {"schedule": {"limit": "10 s"}}}}
    path = Path(folder) / "group_vars" / "all" / "policy.yml"
    path.write_text(json.dumps({"plumbline_policy": policy}), encoding="utf-8")
    text = run("plan", "-i", folder).out
    # two servers in parallel, two targets each, three repeats of write and read
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


def test_clients_that_may_disturb_one_another_are_reported(tmp_path: Path, run: Run) -> None:
    (warning,) = (
        line
        for line in run(
            "plan", "-i", inventory(tmp_path, two_file_systems("oss1-disk2"))
        ).out.splitlines()
        if "WARNING" in line
    )
    assert warning == (
        "WARNING: client1 and client2 measure targets across oss1-nic and 2 more parts and may "
        "disturb one another: let the same client measure them"
    )


# --- ``plumbline plan --format``: objects for two monitoring systems from one plan.


INVENTORY = str(ROOT / "inventories" / "lab")
KINDS = ("templates", "commands", "groups", "hosts", "services", "dependencies")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    with path.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert call("plan", "-i", INVENTORY, "--json") == 0
    return path


@pytest.mark.parametrize(
    ("name", "files"),
    [("nagios", [f"{kind}.cfg" for kind in KINDS]), ("icinga2", ["plumbline.conf"])],
)
def test_a_printed_plan_gives_the_same_objects_as_its_inventory(
    plan: Path, name: str, files: list[str], run: Run
) -> None:
    compiled = run("plan", "-i", INVENTORY, "--format", name, "--json").document
    assert list(compiled) == files
    assert run("plan", "--plan", str(plan), "--format", name, "--json").document == compiled
    assert run("plan", "--plan", str(plan), "--format", name).out == "\n".join(compiled.values())


@pytest.mark.parametrize(
    ("key", "value"), [("services", None), ("hosts", [{}]), ("paths", [{}]), ("schema", 9)]
)
def test_a_damaged_plan_is_refused(plan: Path, tmp_path: Path, key: str, value: object) -> None:
    damaged = tmp_path / "plan.json"
    damaged.write_text(json.dumps({**json.loads(plan.read_text()), key: value}))
    with pytest.raises(DocumentError, match="write it with: plumbline plan"):
        call("plan", "--plan", str(damaged), "--format", "nagios")


def test_a_service_of_an_unknown_host_is_refused(plan: Path, tmp_path: Path) -> None:
    raw = json.loads(plan.read_text())
    raw["hosts"] = [host for host in raw["hosts"] if host["name"] != "oss2"]
    (tmp_path / "plan.json").write_text(json.dumps(raw))
    with pytest.raises(DocumentError, match="services of oss2, whose address it does not give"):
        call("plan", "--plan", str(tmp_path / "plan.json"), "--format", "nagios")


def test_defaults_equal_those_of_the_roles() -> None:
    defaults = {
        name.partition("_")[2]: value
        for role in ("nagios", "icinga")
        for name, value in document(ROOT / f"roles/{role}/defaults/main.yml").items()
        if "{{" not in str(value)
    }
    nrpe = document(ROOT / "roles/nrpe/defaults/main.yml")
    defaults |= {"nrpe_port": nrpe["nrpe_port"], "tls_directory": nrpe["nrpe_tls_directory"]}
    options = ObjectOptions().model_dump()
    shared = defaults.keys() & options.keys()
    assert {name: defaults[name] for name in shared} == {name: options[name] for name in shared}
    assert len(shared) > 10


def test_the_role_checks_the_services_that_the_package_names() -> None:
    names = document(ROOT / "roles/nagios/vars/main.yml")
    assert names["__nagios_agent_service"] == AGENT_SERVICE
    assert names["__nagios_collection_service"] == COLLECTION_SERVICE


# --- ``plumbline ceiling`` prints each rate with its limiting parts and the next ones.


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_pairs_are_shown_with_their_layer(tmp_path: Path, run: Run) -> None:
    table = rows(run("ceiling", "-i", inventory(tmp_path), "--layer", "net").out)
    pair = ["net", "oss1", "-", "oss2", "send", "or", "receive"]
    assert [*pair, "125.0", "MB/s", "oss[1-2]-nic"] in table


def ceilings(run: Run, *argv: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = run("ceiling", "--json", *argv).document
    return lines


def test_a_path_without_rates_is_reported(tmp_path: Path, run: Run) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    assert (
        "unknown  no part on the path has a rate"
        in run("ceiling", "-i", inventory(tmp_path, document), "--layer", "raw").out
    )


def test_a_layer_without_measurements_is_reported(run: Run) -> None:
    assert (
        run("ceiling", "-i", str(INVENTORIES / "edison"), "--layer", "raw").out
        == "nothing is measured in layer raw\n"
    )


def test_the_table_has_the_same_rates_as_the_json(run: Run) -> None:
    folder = str(INVENTORIES / "redstorm")
    lines = ceilings(run, "-i", folder)
    rates = {line[key] for line in lines for key in ("rate_Bps", "next_Bps") if line[key]}
    rates.update(rate for line in lines for rate in line["each_Bps"])
    rates.update(rate for line in lines for rate in line["demonstrated_Bps"].values())
    printed = re.findall(r"[0-9.]+ [kMG]?B/s", run("ceiling", "-i", folder).out)
    assert set(printed) == {format_rate(rate) for rate in rates}
    # rates of section III of the paper: a port, an adapter, a controller, all of them
    assert {"200.0 MB/s", "400.0 MB/s", "624.0 MB/s", "800.0 MB/s", "64.0 GB/s"} <= set(printed)


def test_demonstrated_rates_are_shown_below_their_ceiling(tmp_path: Path, run: Run) -> None:
    table = rows(run("ceiling", "-i", str(INVENTORIES / "redstorm")).out)
    port = ["200.0", "MB/s", "oss[001-160]-fc1,"]
    index = table.index(["ost", "scratch-OST[0000-009f]", "write,", "read", *port])
    assert table[index + 3] == ["raw", "write", "196.2", "MB/s", "demonstrated,", "98", "%"]
    edison = rows(run("ceiling", "-i", str(INVENTORIES / "edison")).out)
    # write and read have the same rate
    assert ["fs", "write,", "read", "36.0", "GB/s", "demonstrated,", "75", "%"] in edison
    folder = inventory(tmp_path, site())
    rates = {("ost", f"scratch-OST{number}"): 60e6 for number in range(3)}
    rates |= {("ost", "scratch-OST3"): 70e6, ("raw", "oss1-disk1"): 95e6}
    keys = {Key(*component, "read", "single"): rate for component, rate in rates.items()}
    accept(folder, {key: BASELINE._replace(median=rate) for key, rate in keys.items()})
    # several baselines: the lowest, the highest, and the share of the median
    lines = rows(run("ceiling", "-i", folder).out)
    assert ["ost", "read", "60.0-70.0", "MB/s", "demonstrated,", "75", "%"] in lines
    # the disk alone is faster than the path to its target
    assert ["raw", "read", "95.0", "MB/s", "demonstrated"] in lines
    assert ["raw", "read", "95.0", "MB/s", "demonstrated,", "119", "%"] in lines


def test_a_ceiling_can_be_shown_with_other_rates(run: Run) -> None:
    """Section V of the Red Storm paper: all ports at what one has demonstrated, or one couplet."""
    redstorm = "-i", str(INVENTORIES / "redstorm")
    ports = rows(run("ceiling", *redstorm, "--set", "oss[001-160]-fc[1-2]=195 MB/s").out)
    assert ["all", "of", "scratch", "320", "write,", "read", "195.0", "MB/s", "62.4", "GB/s"] in [
        row[:10] for row in ports
    ]
    # of several for one part the last counts
    channels = ("--set", "ddn01a-data=1 MB/s", "--set", "ddn01a-data=400 MB/s")
    rest = rows(run("ceiling", *redstorm, *channels).out)
    assert ["ddn01a-data", "4", "write,", "read", "100.0", "MB/s", "400.0", "MB/s"] in [
        row[:8] for row in rest
    ]
    for nameless in ("ddn01a-data", "=1 GB/s"):
        with pytest.raises(UsageError, match="write for example oss1-nic=1 GB/s"):
            call("ceiling", *redstorm, "--set", nameless)
    with pytest.raises(DocumentError, match="has no part ddn99a-data; "):
        call("ceiling", *redstorm, "--set", "ddn[01,99]a-data=1 GB/s")


def test_rates_can_be_shown_for_a_zone_of_the_disks(tmp_path: Path, run: Run) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").update(average="70 MB/s", slowest="50 MB/s")
    folder = inventory(tmp_path, document)
    for zone, rate_Bps in (("fastest", 80e6), ("average", 70e6), ("slowest", 50e6)):
        lines = ceilings(run, "-i", folder, "--layer", "raw", "--zone", zone)
        assert {line["rate_Bps"] for line in lines} == {rate_Bps}


MACHINES = ["lab", "example", "redstorm", "edison", "bgl", "jaguar"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_the_runs_of_each_inventory_end_within_their_limits(name: str, run: Run) -> None:
    assert "is ended after" not in run("plan", "-i", str(inventories() / name)).out


@pytest.mark.parametrize("name", MACHINES)
def test_the_table_fits_120_columns_and_a_screen(name: str, run: Run) -> None:
    # the inventory of a running lab contains accepted baselines
    lines = run("ceiling", "-i", str(inventories() / name)).out.splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) <= 80


def test_the_documentation_shows_the_real_output(run: Run) -> None:
    page = (INVENTORIES.parent / "docs" / "topology.md").read_text(encoding="utf-8")
    command = "$ plumbline ceiling -i inventories/redstorm --layer ost\n"
    block = page.partition(command)[2].partition("...\n")[0]
    assert block.count("\n") > 10
    output = run("ceiling", "-i", str(INVENTORIES / "redstorm"), "--layer", "ost").out
    assert output.startswith(block)
