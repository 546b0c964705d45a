"""Targets on their own servers: what a loss of one layer and not of the next concludes."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import pytest

from plumbline.parts.locate.failures import failing
from plumbline.parts.locate.investigation import Budget, Findings, Investigation, Step
from plumbline.parts.locate.next_probe import Candidates, next_probe
from plumbline.parts.locate.observation import (
    SERVER,
    Measurable,
    Observation,
    PlannedMeasurement,
    Site,
    Vote,
)
from plumbline.parts.locate.parts import find_alike
from plumbline.parts.locate.sentences import sentence
from plumbline.parts.locate.suspects import Located, locate
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import (
    alternatives,
    both,
    lab_document,
    observation,
    rate,
)

SLOW = "scratch-OST0002"
DISK = "oss2-disk1"


def document() -> dict[str, Any]:
    """Return the lab, with a folder beside each brick."""
    raw = lab_document()
    raw["file_systems"][0]["targets"][0]["server_folder"] = "/data/disk[1-2]/plumbline"
    return raw


PLAN = compile_plan(build(document()), load({"layers": {"oss": {}}}), {})
MEASURED: list[PlannedMeasurement] = list(Site(PLAN.expectations).measurables())
FINE: Mapping[str, Mapping[str, float]] = {}


def observe(
    remaining: Mapping[str, Mapping[str, float]], silent: Iterable[str] = ()
) -> list[Observation]:
    words = tuple(silent)
    return [
        observation(placed.of, rate(placed.of, remaining))
        for placed in MEASURED
        if not (words and placed.of.name.startswith(words))
    ]


def on_server(rate_Bps: float) -> dict[str, float]:
    """Return the loss of a target's file system, which slows its clients and its server."""
    return {**both(rate_Bps), f"{SERVER}read": rate_Bps, f"{SERVER}write": rate_Bps}


def of(name: str) -> Measurable:
    return next(placed.of for placed in MEASURED if placed.of.name == name)


def test_a_server_crosses_its_parts_and_the_target_in_a_lane_of_its_own() -> None:
    write = of(f"oss {SLOW} write")
    assert (write.path, write.node) == (("oss2", DISK, SLOW), "oss2")
    assert write.lanes == (("write",), ("write",), (f"{SERVER}write",))
    assert of(f"ost {SLOW} write").lanes[-1] == ("write",)


def explained(located: Located) -> set[str]:
    """Return the names of the bad measurements that one part explains."""
    (ambiguity,) = located.sets
    assert located.unexplained == ()
    return {located.observations[index].of.name for index in ambiguity.explains}


@pytest.mark.parametrize(
    ("remaining", "suspect", "layers"),
    [
        pytest.param({DISK: both(30e6)}, DISK, {"raw", "oss", "ost"}, id="the disk"),
        pytest.param({SLOW: on_server(30e6)}, SLOW, {"oss", "ost"}, id="its file system"),
        pytest.param({SLOW: both(30e6)}, SLOW, {"ost"}, id="what serves it to clients"),
        pytest.param({DISK: both(150e6)}, DISK, {"raw", "oss"}, id="the network hides the disk"),
    ],
)
def test_layers_that_share_a_loss_name_the_part(
    remaining: dict[str, dict[str, float]], suspect: str, layers: set[str]
) -> None:
    located = locate(observe(remaining))
    assert alternatives(located) == [((suspect,),)]
    assert {name.split()[0] for name in explained(located)} == layers


def test_a_fine_server_leaves_the_network_of_its_targets() -> None:
    located = locate(observe({"oss2-nic": both(30e6)}, silent=["net"]))
    assert alternatives(located) == [(("oss2-nic",),)]
    # without it server and card cannot be told apart
    without = locate(observe({"oss2-nic": both(30e6)}, silent=["net", "oss", "raw"]))
    assert {("oss2",), ("oss2-nic",)} <= set(alternatives(without)[0])


def test_without_raw_reads_a_slow_server_is_the_disk_or_its_file_system() -> None:
    located = locate(observe({SLOW: on_server(30e6)}, silent=["raw"]))
    assert alternatives(located) == [((DISK,), (SLOW,))]


def shown(located: Located) -> str:
    return sentence(located, located.sets[0], PLAN.parts)


def test_the_sentence_says_which_layers_are_slow() -> None:
    served = shown(locate(observe({SLOW: both(30e6)})))
    assert "File systems of servers fine, targets 25 % of what is expected." in served
    stored = shown(locate(observe({SLOW: on_server(30e6)})))
    assert "File systems of servers 15 % of what is expected, targets 25 %" in stored
    assert "server writes get 30.0 MB/s of 200.0 MB/s" in stored


def test_a_failure_through_a_client_alone_is_not_that_of_the_disk() -> None:
    observations = [
        Observation(failing(placed.of), Vote.GOOD, 100.0, 0.01)
        if placed.of.name != f"ost {SLOW} write"
        else Observation(failing(placed.of), Vote.BAD, 50.0, 0.01)
        for placed in MEASURED
        if not placed.partner
    ]
    assert alternatives(locate(observations)) == [((SLOW,),)]


def words(remaining: Mapping[str, Mapping[str, float]], silent: Iterable[str]) -> str:
    located = locate(observe(remaining, silent))
    (ambiguity,) = located.sets
    names = [suspect.name for suspect in ambiguity.suspects]
    candidates = Candidates(PLAN.expectations).crossing(names, [SLOW])
    probe = next_probe(located, ambiguity, candidates)
    return probe.candidate.words if probe else ""


def test_the_next_measurement_of_a_slow_target_is_a_raw_read_before_one_on_its_server() -> None:
    assert words({DISK: both(30e6)}, ["raw", "oss"]) == f"a raw read of {DISK} on oss2"


def test_a_server_is_asked_where_it_divides_network_and_disk() -> None:
    raw = document()
    for part in raw["parts"]:
        part.pop("device", None)
        part.pop("address", None)
    plan = compile_plan(build(raw), load({"layers": {"oss": {}}}), {})
    measured = [placed.of for placed in Site(plan.expectations).measurables()]
    slow = {"oss2-nic": both(30e6)}
    located = locate([observation(one, rate(one, slow)) for one in measured if one.layer == "ost"])
    (ambiguity,) = located.sets
    names = [suspect.name for suspect in ambiguity.suspects]
    probe = next_probe(located, ambiguity, Candidates(plan.expectations).crossing(names, [SLOW]))
    assert probe is not None
    assert probe.candidate.words == f"a read of {SLOW} on its server oss2"
    assert [outcome.alternatives for outcome in probe.outcomes] == [(("oss2",),), (("oss2-nic",),)]


def test_an_investigation_measures_a_named_target_on_its_server_too() -> None:
    budget, nothing = Budget(1e6, 1e18), Located((), (), ())
    steps: list[Step] = []
    investigation = Investigation(PLAN.expectations, [SLOW])
    while True:
        decision = investigation.decide(Findings(nothing, nothing), steps, budget)
        if decision.step is None:
            break
        steps.append(decision.step)
    assert {(step.layer, step.component, step.node) for step in steps} >= {
        ("oss", SLOW, "oss2"),
        ("ost", SLOW, "client1"),
    }
    named = next(step for step in steps if step.layer == "oss")
    assert named.words == f"write and read of target {SLOW} on its server"


def test_an_investigation_of_a_site_ends_with_devices_and_servers() -> None:
    budget, nothing = Budget(1e6, 1e18), Located((), (), ())
    steps: list[Step] = []
    investigation = Investigation(PLAN.expectations)
    while True:
        decision = investigation.decide(Findings(nothing, nothing), steps, budget)
        if decision.step is None:
            break
        steps.append(decision.step)
    assert [step.layer for step in steps] == ["net", "ost", "raw", "oss"]
    assert steps[-1].words == "write and read of all targets on their servers"


def test_targets_on_their_servers_show_what_slows_all_devices_by_one_share() -> None:
    slow = {DISK: both(80e6), "oss2-disk2": both(80e6)}
    parts = find_alike(observe(slow, ["net", "raw", "ost"]))
    assert parts["oss2"].alike == (DISK, "oss2-disk2")
