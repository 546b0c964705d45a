"""probe.yml run by Ansible on fake nodes with the real plumbline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.codec import write
from tests.package.measure.test_shared import of_node, part
from tests.package.parts.locate.scenes import both
from tests.package.parts.locate.test_verb_locate import measured
from tests.project.pretended_site import FakeSite

pytestmark = pytest.mark.long


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return FakeSite(tmp_path, measured({"oss2-disk1": both(80e6)}))


def test_a_slow_disk_and_unreachable_nodes_are_named(site: FakeSite, tmp_path: Path) -> None:
    (tmp_path / "oss1" / "plumbline-raw.service.fails").touch()
    site.unreachable("oss3")
    run = site.play("probe", {"layer": "raw"}, "--limit", "oss1,oss2,oss3")
    assert run.code != 0
    run.shows("plumbline-raw.service failed: plumbline: disk oss2-disk1: cannot be opened")
    shown = " ".join(run.output.split())
    assert "CRITICAL oss2-disk1 read 80.0 MB/s, 40 % of baseline" in shown
    assert "OK oss2-disk2 read 200.0 MB/s" in shown
    for node in ("oss1", "oss3"):
        unknown = f"UNKNOWN {node} does not answer, or failed above: nothing is known of"
        assert f"{unknown} raw {node}-disk1, raw {node}-disk2" in shown
    assert "Not OK: CRITICAL oss2-disk1, UNKNOWN oss1, UNKNOWN oss3" in shown
    started = ["oss1 start plumbline-raw.service", "oss2 start plumbline-raw.service"]
    assert sorted(site.units()) == started


def test_a_single_target_is_measured_by_its_unit_on_its_node_only(site: FakeSite) -> None:
    run = site.play("probe", {"layer": "raw", "target": "oss1-disk2"}, "--limit", "oss1,oss2")
    assert run.code == 0, run.output
    run.shows("The only verdict is OK")
    assert site.units() == ["oss1 start plumbline-raw@oss1-disk2.service"]


@pytest.mark.parametrize(
    ("variables", "refusal"),
    [
        ({"layers": "raw"}, "-e layers=... is not a variable of this playbook; write -e layer=..."),
        ({"layer": "disks"}, "There is no layer disks; choose ost, raw, "),
        ({"through": "switch1", "layer": "all"}, "-e through=PART measures layer net alone; "),
        (
            {"through": "switch1", "layer": "rdma"},
            "-e through=PART knows layer net alone: in a slot of rdma the adapters of a host take ",
        ),
        ({"layer": "net", "balanced": "true"}, "-e balanced=true belongs to -e through=PART"),
        ({"through": "leaf7"}, "the plan has no part leaf7; pairs of hosts cross "),
    ],
    ids=[
        "misspelt variable",
        "unknown layer",
        "a part and another layer",
        "a part and adapters",
        "balanced without a part",
        "unknown part",
    ],
)
def test_a_wrong_call_measures_nothing(
    site: FakeSite, variables: dict[str, str], refusal: str
) -> None:
    run = site.play("probe", variables)
    assert run.code == 2
    run.shows(refusal)
    assert site.units() == []


def test_a_limit_without_a_node_that_measures_is_refused(site: FakeSite, tmp_path: Path) -> None:
    (tmp_path / "inventory/monitoring.yml").write_text("monitoring: {hosts: {mon1: }}\n")
    refusal = "No node that measures is within the limit; the plan has oss1, oss2, oss3, client1."
    for playbook, variables in (
        ("probe", {"layer": "ost", "nagios": "false"}),
        ("baseline", {"layer": "ost", "reason": "first", "nagios": "false"}),
    ):
        run = site.play(playbook, variables, "--limit", "mon1")
        assert run.code == 2, run.output
        run.shows(refusal)
    assert site.units() == []


def share(folder: Path, *rates: float) -> None:
    """Put a controller between oss1 and oss2; each of their disks gives such a rate."""
    entry, reads = part()
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    plan["schedule"]["shared"] = plan["schedule"]["raw"]
    plan["nodes"]["oss1"]["entries"].append(entry.to_json())
    for name in ("oss1", "oss2"):
        plan["nodes"][name]["shared"] = [write(reads)]
        expectations = json.dumps(plan["nodes"][name])
        (folder / name / "etc/plumbline/expectations.json").write_text(expectations)
        with (folder / name / "measures.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(of_node(name, *rates).to_json()) + "\n")
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")


def test_a_shared_part_is_read_by_its_nodes_at_one_moment(site: FakeSite, tmp_path: Path) -> None:
    share(tmp_path, 190e6, 185e6)
    run = site.play("probe", {"together": "ctl", "fail": "false"})
    assert run.code == 0, run.output
    run.shows("ctl: 4 reads of 2 nodes at once gave 750.0 MB/s, 94 % of its ceiling 800.0 MB/s.")
    assert "OK ctl read together 750.0 MB/s" in " ".join(run.output.split())
    first, second = sorted(site.units())
    assert first.startswith("oss1 start plumbline-shared@ctl@")
    assert second == first.replace("oss1", "oss2")


def test_a_shared_part_with_half_of_its_nodes_is_not_measured(
    site: FakeSite, tmp_path: Path
) -> None:
    share(tmp_path, 190e6, 185e6)
    site.unreachable("oss2")
    run = site.play("probe", {"together": "ctl", "fail": "false"})
    run.shows(
        "ctl is not measured: half of its 4 flows or more are on nodes that do not answer: oss2"
    )
    assert site.units() == []


def plan_slots(folder: Path, count: int) -> None:
    path = folder / "plan.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schedule"]["net"]["slots"] == 6
    document["schedule"]["net"]["slots"] = count
    path.write_text(json.dumps(document), encoding="utf-8")


def test_devices_are_read_after_all_clients_have_measured_their_targets(
    site: FakeSite, tmp_path: Path
) -> None:
    plan_slots(tmp_path, 0)
    (tmp_path / "client1" / "plumbline-ost.service.lasts").write_text("5")
    run = site.play("probe", {"layer": "all", "fail": "false"}, "--limit", "client1,oss1")
    assert run.code == 0, run.output
    assert [line for line in site.units() if "-ost." in line or "-raw." in line] == [
        *("client1 start plumbline-ost.service", "client1 end plumbline-ost.service"),
        "oss1 start plumbline-raw.service",
    ]


def test_all_slots_of_the_network_are_measured_with_open_windows(
    site: FakeSite, tmp_path: Path
) -> None:
    plan_slots(tmp_path, 2)
    run = site.play("probe", {"layer": "net", "fail": "false"}, "--limit", "oss1")
    assert run.code == 0, run.output
    window = "plumbline-netserver.service"
    rounds = [
        f"oss1 {action}"
        for slot in range(2)
        for action in (f"restart {window}", f"start plumbline-net@{slot}.service")
    ]
    # the last window closes by itself: a slot of the timer may have begun in it
    assert site.units() == rounds
    assert "forks" not in run.output


def test_pairs_that_wait_for_a_fork_are_announced(site: FakeSite, tmp_path: Path) -> None:
    plan_slots(tmp_path, 1)
    words = ("--limit", "oss1,oss2,oss3", "--forks", "2")
    run = site.play("probe", {"layer": "net", "fail": "false"}, *words)
    shown = " ".join(run.output.split())
    assert "Ansible has 2 forks for 3 nodes, so some pairs of a slot begin when others" in shown
    assert "add --forks 3." in shown


def test_only_pairs_through_a_part_are_measured_and_their_sums_shown(site: FakeSite) -> None:
    site.unreachable("oss3")
    run = site.play("probe", {"layer": "net", "through": "oss1-nic"})
    started = [line for line in site.units() if " start " in line]
    assert started
    # each pair of oss1 with a host that answers, in both directions
    slots = [line.split("@")[1] for line in started]
    assert len(started) == len(set(slots)) == 4
    assert {line.split()[0] for line in started} == {"client1", "oss1", "oss2"}
    run.shows("oss1-nic, slot 1 of 6: ", "slot  direction  within  leaving  moved")
    shown = run.output
    assert "nic oss1-nic, send: at most 119.6 MB/s by 1 pair at once, 100 % of 119.6 MB/s" in shown
    assert "no rate in some directions of 1 pair, which count in no sum: oss3 with oss1" in shown


def test_check_mode_names_the_slots_of_a_part(site: FakeSite) -> None:
    run = site.play("probe", {"through": "oss1-nic"}, "--check")
    run.shows("The pairs of hosts through oss1-nic in slots 0, 1, 2, 3, 4, 5")
    assert site.units() == []


def test_check_mode_names_the_measurements_and_starts_nothing(site: FakeSite) -> None:
    run = site.play("probe", {"layer": "ost", "fail": "false"}, "--check", "--limit", "client1")
    run.shows("client1: plumbline-ost.service")
    assert site.units() == []
