"""Plans: who measures what, in which waves, with which confirmation and odds."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import MIN_ODDS
from plumbline.model.expectation import Expectation, Expectations, in_waves
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.plan.duration import bytes_of
from plumbline.plan.expectations import (
    Plan,
    alarm_thresholds,
    compile_plan,
    elsewhere,
)
from plumbline.plan.exposure import MAX_AT_ONCE
from plumbline.plan.places import Assignment, Meeting, Step, meetings
from plumbline.plan.policy import load
from plumbline.plan.speeds import speeds
from plumbline.topology.ceiling import alone, together
from plumbline.topology.graph import Topology, build
from tests.package.sites import paper, part, site


def plan(document: Optional[dict[str, Any]] = None, **layers: Any) -> Plan:
    return compile_plan(build(document or site()), load({"layers": layers}), {})


def waves(compiled: Plan, node: str = "client1") -> list[list[Expectation]]:
    chosen = [entry for entry in compiled.expectations[node] if entry.layer == "ost"]
    return in_waves(chosen, lambda entry: entry.wave)


def wide(servers: int, disks: int, rate: str = "1 TB/s") -> dict[str, Any]:
    """Return a client whose link has a rate, and servers with disks of 80 MB/s."""
    document = site()
    for entry in document["parts"]:
        entry["name"] = entry["name"].replace("oss[1-2]", f"oss[1-{servers}]")
        entry["name"] = entry["name"].replace("disk[1-2]", f"disk[1-{disks}]")
        entry["feeds"] = entry.get("feeds", "").replace("oss[1-2]", f"oss[1-{servers}]") or []
        entry.pop("address", None)
    part(document, "client1")["rate"] = rate
    last = servers * disks - 1
    targets = document["file_systems"][0]["targets"][0]
    targets["name"] = f"scratch-OST[0-{last}]"
    targets["part"] = f"oss[1-{servers}]-disk[1-{disks}]"
    targets["subvolume"] = f"scratch-client-[0-{last}]"
    return document


@pytest.mark.parametrize(
    ("rate", "sizes"), [("500 MB/s", [6]), ("320 MB/s", [4, 2]), ("159 MB/s", [1] * 6)]
)
def test_the_sum_of_the_ceilings_fits_the_link_of_the_client(rate: str, sizes: list[int]) -> None:
    assert [len(wave) for wave in waves(plan(wide(6, 1, rate)))] == sizes


def test_a_probe_with_a_cap_counts_by_its_cap() -> None:
    capped = plan(wide(6, 1, "320 MB/s"), ost={"probe": {"rate_cap": "50 MB/s"}})
    assert [len(wave) for wave in waves(capped)] == [6]


def test_a_client_without_a_link_rate_measures_one_target_at_a_time() -> None:
    document = wide(4, 1)
    del part(document, "client1")["rate"]
    assert [len(wave) for wave in waves(plan(document))] == [1] * 4
    # the rate of the switch is not that of the client's own link
    part(document, "switch1")["rate"] = "1 TB/s"
    assert [len(wave) for wave in waves(plan(document))] == [1] * 4


@pytest.mark.parametrize("rate", ["200 MB/s", ""])
def test_the_plan_says_which_client_measures_in_turn_for_want_of_a_rate(rate: str) -> None:
    document = wide(4, 1, rate)
    if not rate:
        del part(document, "client1")["rate"]
    assert plan(document).one_by_one == (
        ()
        if rate
        else (
            "client1 measures its 4 targets one after the other, as its link has no rate; give it "
            "one, and as many are measured at the same time as it carries",
        )
    )


def test_targets_that_no_rate_would_measure_at_once_are_no_news() -> None:
    document = wide(1, 4)
    del part(document, "client1")["rate"]
    assert plan(document).one_by_one == ()


def test_the_sum_fits_a_switch_that_all_cross() -> None:
    document = wide(4, 1)
    part(document, "switch1")["rate"] = "170 MB/s"
    assert [len(wave) for wave in waves(plan(document))] == [2, 2]


@pytest.mark.parametrize("kind", ["controller", "enclosure", "hba", "array"])
def test_targets_behind_a_shared_part_of_the_storage_are_measured_in_turn(kind: str) -> None:
    document = wide(4, 1)
    document["parts"].insert(-1, {"name": "shared[1-2]", "kind": kind, "feeds": "oss[1-4]"})
    disks = part(document, "oss[1-4]-disk[1-1]")
    disks["feeds"], disks["through"] = "shared[1-2]", "oss[1-4]"
    # a part without a rate never limits, but is shared
    for wave in waves(plan(document)):
        crossed = [name for entry in wave for name in entry.path if name.startswith("shared")]
        assert len(set(crossed)) == len(crossed) == 2


def test_a_wave_has_a_maximum_number_of_targets() -> None:
    sizes = [len(wave) for wave in waves(plan(wide(MAX_AT_ONCE + 4, 1)))]
    assert sizes == [MAX_AT_ONCE, 4]


def test_a_server_that_measures_its_own_disks_reads_them_one_by_one() -> None:
    document = site()
    document["file_systems"][0]["client"] = "oss1"
    part(document, "oss[1-2]")["rate"] = "1 GB/s"
    targets = document["file_systems"][0]["targets"][0]
    targets.update(name="scratch-OST[0-1]", part="oss1-disk[1-2]", subvolume="scratch-client-[0-1]")
    assert [len(wave) for wave in waves(plan(document), "oss1")] == [1, 1]


def disturbed(topology: Topology, wave: list[Expectation], operation: Operation) -> list[str]:
    """Return the targets with a lower ceiling in their wave than alone."""
    capacities = speeds(topology).of(operation)
    together_ = together(capacities, {entry.component: entry.path for entry in wave})
    slower = []
    for entry in wave:
        limit, own = together_[entry.component], alone(capacities, entry.path)
        assert limit is not None
        assert own is not None
        if limit.ceiling.rate < own.ceiling.rate * (1 - 1e-6):
            slower.append(entry.component)
    return slower


@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.READ])
def test_no_target_has_a_lower_ceiling_in_its_wave_than_alone(operation: Operation) -> None:
    topology = paper("redstorm")
    compiled = compile_plan(topology, load({}), {})
    planned = waves(compiled, "login1")
    assert sum(map(len, planned)) == 320
    assert [len(wave) for wave in planned] == [10] * 32
    assert [disturbed(topology, wave, operation) for wave in planned] == [[]] * 32


def test_red_storm_is_measured_within_the_time_limit() -> None:
    compiled = compile_plan(paper("redstorm"), load({}), {})
    # 320 targets of 200 MB/s through 2.1 GB/s: ten at a time, 1 GiB written and read three times
    assert compiled.takes_s("ost")["login1"] == pytest.approx(4 + 32 * 6 * 2**30 / 200e6)
    assert compiled.takes_s("ost")["login1"] < compiled.schedule["ost"]["limit_s"]


def elsewhere_of(**changes: Any) -> dict[str, dict[str, str]]:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    document["file_systems"][0].update(changes)
    return elsewhere(build(document))


def test_a_single_client_has_no_targets_elsewhere() -> None:
    assert elsewhere_of() == {"client1": {}}


def test_retired_targets_and_those_of_other_clients_are_named() -> None:
    assert elsewhere_of(client="client[1-2]", retired="scratch-OST3") == {
        "client1": {"scratch-OST2": "client2", "scratch-OST3": ""},
        "client2": {"scratch-OST0": "client1", "scratch-OST1": "client1", "scratch-OST3": ""},
    }


def test_two_entries_of_one_lustre_are_one_file_system() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    document["file_systems"] = [
        {
            "name": f"half{number}",
            "kind": "lustre",
            "mount": "/lustre",
            "client": f"client{number + 1}",
            "targets": [{"name": f"a-OST000{number}", "part": "oss1-disk1"}],
        }
        for number in (0, 1)
    ]
    assert elsewhere(build(document)) == {
        "client1": {"a-OST0001": "client2"},
        "client2": {"a-OST0000": "client1"},
    }


def met(document: dict[str, Any]) -> list[Meeting]:
    compiled = compile_plan(build(document), load({}), {})
    return list(meetings(compiled.expectations, compiled.parts))


def two_file_systems(disk: str) -> dict[str, Any]:
    """Return a site whose second file system has a client of its own and a target on ``disk``."""
    document = site()
    part(document, "client1")["name"] = "client[1-2]"
    first = document["file_systems"][0]
    first["targets"][0].update(
        name="scratch-OST[0-1]", part="oss1-disk[1-2]", subvolume="scratch-client-[0-1]"
    )
    target = {"name": "work-OST0", "part": disk, "subvolume": "work-client-0"}
    work = {**first, "name": "work", "client": "client2", "targets": [target]}
    document["file_systems"].append(work)
    return document


def test_clients_of_two_file_systems_meet_on_the_server_that_both_use() -> None:
    # the server and its link to the network; the switch is there for all
    assert met(two_file_systems("oss1-disk2")) == [
        Meeting(("client1", "client2"), ("oss1-nic", "oss1", "oss1-disk2"))
    ]


def test_clients_that_share_the_network_alone_do_not_meet() -> None:
    assert met(two_file_systems("oss2-disk1")) == []


@pytest.mark.parametrize(("rate", "meet"), [("150 MB/s", True), ("170 MB/s", False)])
def test_clients_meet_on_an_uplink_that_is_narrower_than_what_both_ask_for(
    rate: str, *, meet: bool
) -> None:
    """Each asks for the 80 MB/s of a disk."""
    document = two_file_systems("oss2-disk1")
    part(document, "oss[1-2]-nic")["feeds"] = "switch2"
    document["parts"] += [
        {"name": "switch2", "kind": "switch", "feeds": "uplink1"},
        {"name": "uplink1", "kind": "link", "rate": rate, "feeds": "switch1"},
    ]
    assert met(document) == ([Meeting(("client1", "client2"), ("uplink1",))] if meet else [])


def entries(plan: Plan, layer: str) -> list[Expectation]:
    return [item for items in plan.expectations.values() for item in items if item.layer == layer]


def test_confirmation_has_a_share_of_the_bytes_and_enough_for_one_round() -> None:
    confirm = {"runs": 4, "bytes": "10 %"}
    schedule = {"calendar": "*-*-1/2 02:06", "every": "2 d"}
    daily = plan(ost={"probe": {"bytes": "1 MiB", "repeats": 2}, "confirm": confirm})
    targets = entries(daily, "ost")
    run_bytes = 2 * 2 * (1 << 20)
    terms = targets[0].confirm
    assert terms.daily_bytes == pytest.approx(0.1 * run_bytes * len(targets))
    assert terms.most_bytes == pytest.approx(terms.daily_bytes + 4 * 3 * run_bytes)
    seldom = plan(
        ost={
            "probe": {"bytes": "1 MiB", "repeats": 2},
            "confirm": confirm,
            "schedule": schedule,
        }
    )
    assert entries(seldom, "ost")[0].confirm.daily_bytes == pytest.approx(terms.daily_bytes / 2)


def test_a_quantity_to_judge_takes_neither_time_nor_bytes() -> None:
    rates, judged = plan(wide(4, 2)), plan(wide(4, 2), ost={"judge": ["p99"]})
    (*_, first), (*_, second) = entries(rates, "ost"), entries(judged, "ost")
    assert [*second.references] == [*first.references, "write p99/single", "read p99/single"]
    assert second.references["write p99/single"] == Reference(None, None)
    # the same wave, bytes and limits
    assert second._replace(references=first.references) == first
    assert judged.takes_s("ost") == rates.takes_s("ost")
    assert bytes_of([second]) == bytes_of([first])
    assert judged.services == rates.services


def test_zero_runs_switch_confirmation_off() -> None:
    compiled = plan(ost={"confirm": {"runs": 0}})
    assert "ost" not in compiled.confirm
    assert "raw" in compiled.confirm
    assert {entry.confirm.runs for entry in entries(compiled, "ost")} == {0}


def planned(layer: str, number: int, **changes: Any) -> Assignment:
    """Return an assignment of a component with its own group and path."""
    name = f"{layer}{number}"
    spec = ProbeSpec("fio", 1 << 30, 1 << 20)
    made = Assignment(layer, name, "node", "host", name, {}, (name,), (), spec, Limits())
    return made._replace(**changes)


def odds(measured: Sequence[str], **policy: Any) -> float:
    return odds_of([planned(layer, number) for number, layer in enumerate(measured)], **policy)


def odds_of(measured: Sequence[Assignment], **policy: Any) -> float:
    needed: float
    (needed,) = {limits["alarm_odds"] for limits in thresholds(measured, **policy).values()}
    return needed


def thresholds(measured: Sequence[Assignment], **policy: Any) -> dict[str, dict[str, Any]]:
    return alarm_thresholds(load({"schema": 1, "alarm_budget": 1, **policy}), measured)


UNCONFIRMED = {"ost": {"confirm": {"runs": 0}}, "raw": {"confirm": {"runs": 0}}}


def test_the_odds_of_one_false_alarm_a_month_are_the_judgements_a_month() -> None:
    assert odds(["ost"] * 336, layers=UNCONFIRMED) == pytest.approx(336 * 30.44)


@pytest.mark.parametrize(
    ("layer", "groups", "more"),
    [
        pytest.param("ost", ["fs1", "fs1", "fs2", "fs2"], 2, id="two file systems"),
        pytest.param("raw", ["oss1", "oss1", "oss1", "oss1"], 1, id="one server"),
    ],
)
def test_a_group_is_one_more_judgement(layer: str, groups: Sequence[str], more: int) -> None:
    made = [planned(layer, number, group=group) for number, group in enumerate(list(groups) * 10)]
    assert odds_of(made, layers=UNCONFIRMED) == pytest.approx((40 + more) * 30.44)


@pytest.mark.parametrize(
    ("layer", "confirm", "share"),
    [
        ("ost", {}, 0.05),
        ("ost", {"bytes": "35 %"}, 0.35),
        ("raw", {"bytes": "50 %"}, 0.5),
        ("ost", {"bytes": "35 %", "runs": 0}, 0.0),
    ],
)
def test_each_confirmation_within_the_bytes_is_one_more_judgement(
    layer: str, confirm: Mapping[str, Any], share: float
) -> None:
    schedule = {"calendar": "Sun *-*-* 03:00", "every": "7 d"}
    needed = odds([layer] * 336, layers={layer: {"schedule": schedule, "confirm": confirm}})
    assert needed == pytest.approx((1 + share) * 336 * 30.44 / 7)


def test_targets_driven_at_once_have_no_group_and_a_judgement_of_their_profile() -> None:
    made = [planned("fs", number, group="fs1") for number in range(40)]
    assert odds_of(made, layers={"fs": {"tests": ["ost"]}}) == pytest.approx(2 * 40 * 30.44)
    # each of seven tests runs once in seven nights
    assert odds_of(made) == pytest.approx(2 * 40 * 30.44 / 7)


@pytest.mark.parametrize(
    ("scenario", "more"), [(Scenario.TOGETHER, 2), (Scenario.SINGLE, 0)], ids=str
)
def test_a_part_shared_by_devices_read_together_is_one_more_judgement(
    scenario: Scenario, more: int
) -> None:
    steps: tuple[Step, ...] = ((Operation.READ, scenario),)
    made = [
        planned("raw", number, path=("oss1", "hba", f"disk{number}"), steps=steps)
        for number in range(10)
    ]
    assert odds_of(made, layers=UNCONFIRMED) == pytest.approx((10 + more) * 30.44)


def test_hosts_are_judged_by_rates_retransmits_pairs_and_all_together() -> None:
    slot = {"net": {"schedule": {"slot": "1 d"}}}
    assert odds(["net"] * 40, layers=slot) == pytest.approx((40 + 40 + 20 + 1) * 30.44)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_change_counts_for_groups_like_a_hundred_nights(groups: int) -> None:
    made = [planned("ost", number, group=f"fs{number % groups}") for number in range(40)]
    needed = thresholds(made)
    assert groups * needed["ost"]["change_starts"] == pytest.approx(100 * (40 + groups))


def test_a_change_counts_for_components_without_a_group() -> None:
    assert (
        thresholds([planned("ost", number) for number in range(40)])["ost"]["change_starts"] == 100
    )


def test_the_layers_have_equal_shares_of_the_judgements_of_a_change() -> None:
    weekly = {"raw": {"schedule": {"calendar": "Sun *-*-* 03:00", "every": "7 d"}}}
    made = [planned("ost", number, group="fs") for number in range(40)]
    made += [planned("raw", number, group=f"oss{number // 4}") for number in range(40)]
    judgements = 41 + 50 / 7
    needed = thresholds(made, layers=weekly)
    assert needed["ost"]["change_starts"] == pytest.approx(100 * judgements / 2)
    # ten servers have equal parts, once a week
    assert 10 * needed["raw"]["change_starts"] / 7 == pytest.approx(needed["ost"]["change_starts"])


def test_a_change_counts_for_targets_driven_at_once() -> None:
    weekly = {"fs": {"schedule": {"calendar": "daily", "every": "1 d"}}}
    made = [planned("fs", number, group="fs1") for number in range(2)]
    assert thresholds(made, layers=weekly)["fs"]["change_starts"] == pytest.approx(100 * 4 / 2)


@pytest.mark.parametrize(
    ("policy", "odds"),
    [
        pytest.param({}, 30.44, id="nightly"),
        pytest.param({"alarm_budget": 0.5}, 2 * 30.44, id="half the budget"),
        pytest.param({"alarm_budget": 24}, MIN_ODDS, id="a large budget"),
    ],
)
def test_an_alarm_ends_at_the_odds_of_a_single_component(
    policy: Mapping[str, Any], odds: float
) -> None:
    for count in (1, 40):
        made = [planned("ost", number) for number in range(count)]
        needed = thresholds(made, layers=UNCONFIRMED, **policy)
        assert needed["ost"]["end_odds"] == pytest.approx(odds)


def test_confirmations_of_an_alarm_raise_the_odds_of_its_end() -> None:
    confirmed = {"ost": {"confirm": {"bytes": "35 %"}}}
    ends = thresholds([planned("ost", 1)], layers=confirmed)["ost"]["end_odds"]
    assert ends == pytest.approx(1.35 * 30.44)


def test_twice_the_budget_needs_half_the_odds() -> None:
    assert odds(["ost"] * 100, alarm_budget=2) == odds(["ost"] * 100) / 2


def test_rare_measurements_need_lower_odds() -> None:
    weekly = {"raw": {"schedule": {"calendar": "Sun *-*-* 03:00", "every": "7 d"}}}
    assert odds(["raw"] * 100, layers=weekly) == pytest.approx(odds(["raw"] * 100) / 7)


def test_a_small_site_still_needs_the_least_odds() -> None:
    assert odds(["fs"]) == MIN_ODDS


SCRATCH = {"groups": {"scratch": {"goal": {"write": "200 MB/s", "read": "240 MB/s"}}}}


def expectations(document: dict[str, Any], **layers: Any) -> dict[str, Expectation]:
    """Return the expectations of the nodes after writing and reading."""
    plan = compile_plan(build(document), load({"layers": layers}), {})
    entries = [each.to_json() for expected in plan.expectations.values() for each in expected]
    expected = [Expectation.from_json(json.loads(json.dumps(entry))) for entry in entries]
    return {f"{item.layer} {item.component}": item for item in expected}


def test_equal_targets_have_equal_parts_of_a_goal() -> None:
    by_name = expectations(site(), ost=SCRATCH)
    for number in range(4):
        references = by_name[f"ost scratch-OST{number}"].references
        assert references["write/single"].goal_part == pytest.approx(50e6)
        assert references["read/single"].goal_part == pytest.approx(60e6)
        assert references["read/single"].goal is None
    assert by_name["raw oss1-disk1"].references["read/single"].goal_part is None


def test_faster_hardware_has_a_larger_part_of_a_goal() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss1-disk[1-2]"
    part(document, "oss1-disk[1-2]")["feeds"] = "oss1"
    disk = {**part(document, "oss1-disk[1-2]"), "name": "oss2-disk[1-2]", "feeds": "oss2"}
    document["parts"].insert(4, {**disk, "rate": "40 MB/s"})
    by_name = expectations(document, ost=SCRATCH)
    parts = [
        by_name[f"ost scratch-OST{number}"].references["write/single"].goal_part
        for number in range(4)
    ]
    assert parts == pytest.approx([200e6 / 3, 200e6 / 3, 100e6 / 3, 100e6 / 3])


def test_all_targets_at_once_have_the_whole_goal_and_no_parts() -> None:
    by_name = expectations(site(), fs={**SCRATCH, "clients": ["client1"]})
    whole = by_name["fs scratch"].references
    assert (whole["write/together"].goal, whole["read/together"].goal) == (200e6, 240e6)
    member = by_name["fs scratch-OST0"].references
    assert {reference.goal for reference in member.values()} == {None}
    assert {reference.goal_part for reference in member.values()} == {None}
    assert by_name["ost scratch-OST0"].references["write/single"].goal_part is None


def test_a_node_that_measures_nothing_has_an_empty_document() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    compiled = compile_plan(build(document), load({}), {})
    assert compiled.node("client2").to_json()["entries"] == ()


def test_every_kind_of_target_is_understood_by_its_node() -> None:
    directory = {
        "name": "d[0-1]",
        "part": "oss1-disk[1-2]",
        "directory": "/d[0-1]",
        "source": "{name}",
    }
    document = site()
    document["file_systems"][0]["targets"][0]["brick"] = "oss[1-2]:/data/disk[1-2]/brick"
    document["file_systems"].append(
        {"name": "local", "kind": "directory", "client": "oss1", "targets": [directory]}
    )
    kinds = set()
    for topology in (build(document), paper("edison")):
        for entries in compile_plan(topology, load({}), {}).expectations.values():
            for entry in entries:
                if entry.layer != "net":
                    kinds.add(entry.target["kind"])
                    # raises for an unknown key
                    target_for(entry.target, entry.component, entry.limits.fill_limit)
    assert kinds == {"glusterfs", "directory", "lustre", "device"}


def test_the_first_client_launches_the_run_of_all_targets() -> None:
    compiled = plan(fs={"clients": ["client1", "oss2"], "work": "/mnt/scratch", "launcher": "srun"})
    document = compiled.to_json()
    assert document["fs"] == {
        "launcher": "client1",
        "clients": ["client1", "oss2"],
        "program": "srun",
        "work": "/mnt/scratch",
    }
    large = plan(fs={"clients": ["client1"], "memory": "8 GiB"}).to_json()["fs"]
    assert large["memory_bytes"] == 8 << 30
    assert document["schedule"]["fs"] == {
        "calendar": "*-*-* 04:06",
        "randomized_delay_s": 600,
        "limit_s": 2400,
    }
    items = compiled.node("client1").find("fs")
    targets = [f"scratch-OST{index}" for index in range(4)]
    assert [item.component for item in items][:6] == [*targets, "scratch", "scratch:posix-fpp-10k"]
    assert items[4].target == {
        "kind": "parallel",
        "file_system": "scratch",
        "test": "ost",
        "ranks_per_target": 1,
        "clients": ["client1", "oss2"],
        "launcher": "srun",
        "work": "/mnt/scratch",
    }
    assert not [item for item in compiled.expectations["oss2"] if item.layer == "fs"]


def test_the_policy_names_the_clients_that_may_drop_caches() -> None:
    plan = compile_plan(build(site()), load({"drop_caches": ["client[1-1]"]}), {})
    nodes = plan.to_json()["nodes"]
    assert [name for name in nodes if read_document(Expectations, nodes[name]).drops_caches] == [
        "client1"
    ]
    with pytest.raises(DocumentError, match="drop_caches client9 is no host"):
        compile_plan(build(site()), load({"drop_caches": ["client9"]}), {})
