"""Adapters of two rails vote on the parts between them."""

from __future__ import annotations

from pathlib import Path
from typing import Collection

import pytest

from plumbline.model.verdict import Reason
from plumbline.parts.locate.investigate import UnreachableNodes
from plumbline.parts.locate.investigation import Budget, Findings, Investigation, Step, Steps
from plumbline.parts.locate.next_probe import Candidates, Intrusion
from plumbline.parts.locate.observation import BOTH, Measurable, Observation, Site, Vote
from plumbline.parts.locate.publish import Terms, publish
from plumbline.parts.locate.sentences import sentence
from plumbline.parts.locate.site import locate_site
from plumbline.parts.locate.suspects import locate
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.store.plan import load_plan
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import (
    LaneRates,
    alternatives,
    both,
    observation,
    rate,
    suspects,
)
from tests.package.parts.locate.test_investigation import measures
from tests.package.parts.report.years import NOW, Year, document, records, write
from tests.package.rails import POLICY, rails

TCP_BPS = 4e9
"""What processors of a healthy host give to one TCP connection over these adapters."""
LEFT_BPS = 10e9
"""What a slow part leaves; verbs need 24.8 GB/s."""

PLAN = compile_plan(build(rails()), load(POLICY), {})


def measurables() -> list[Measurable]:
    every = (placed.of for placed in Site(PLAN.expectations).measurables())
    return [of._replace(expected=TCP_BPS) if of.layer == "net" else of for of in every]


def observed(remaining: LaneRates) -> list[Observation]:
    return [observation(of, rate(of, remaining)) for of in measurables()]


@pytest.mark.parametrize(
    ("name", "lanes"),
    [
        (
            "rdma c1-ib0 write with oss1-ib0",
            {"c1": ("RDMA write",), "c1-ib0": ("write",), "leaf1": BOTH, "oss1-ib0": ("write",)},
        ),
        (
            "rdma c1-ib0 read with oss3-ib0",
            {"c1-ib0": ("read",), "leaf1": ("read",), "spine": BOTH, "leaf2": ("read",)},
        ),
        (
            "rdma oss1-ib1 write with oss2-ib1",
            {"oss1": ("RDMA read",), "oss1-ib1": ("read",), "oss2-ib1": ("write",)},
        ),
        (
            "rdma oss1-ib1 read with c1-ib1",
            {"oss1": ("RDMA write",), "oss1-ib1": ("write",), "c1-ib1": ("write",)},
        ),
    ],
)
def test_a_write_goes_to_the_partner_and_a_read_comes_back(
    name: str, lanes: dict[str, tuple[str, ...]]
) -> None:
    (of,) = (of for of in measurables() if of.name == name)
    crossed = {part: lanes_of_part for part, lanes_of_part, _ in of.crossings()}
    assert {part: crossed[part] for part in lanes} == lanes


def test_times_of_reads_do_not_vote() -> None:
    operations = {of.operation.partition(" ")[0] for of in measurables() if of.layer == "rdma"}
    assert operations == {"write", "read"}


FAULTS = [
    pytest.param({"oss1-ib1": both(LEFT_BPS)}, "oss1-ib1", id="an adapter of the second rail"),
    pytest.param({"oss1-ib0": both(LEFT_BPS)}, "oss1-ib0", id="an adapter fast enough for TCP"),
    pytest.param({"oss1-ib0": both(1e9)}, "oss1-ib0", id="an adapter too slow for TCP"),
    pytest.param({"c2-ib1": {"read": LEFT_BPS}}, "c2-ib1", id="one direction of an adapter"),
    pytest.param({"leaf3": both(LEFT_BPS)}, "leaf3", id="the leaf of a rail"),
    pytest.param({"leaf2": both(LEFT_BPS)}, "leaf2", id="one of two leaves"),
    pytest.param({"spine": both(LEFT_BPS)}, "spine", id="a spine"),
    pytest.param(
        {"oss3": {"RDMA read": LEFT_BPS, "RDMA write": LEFT_BPS}}, "oss3", id="both rails of a host"
    ),
]


@pytest.mark.parametrize(("remaining", "named"), FAULTS)
def test_exactly_the_slow_part_is_named(remaining: LaneRates, named: str) -> None:
    located = locate(observed(remaining))
    assert alternatives(located) == [((named,),)]
    assert located.unexplained == ()


def test_nobody_is_accused_while_all_is_healthy() -> None:
    assert locate(observed({})).sets == ()


def test_healthy_verbs_clear_the_adapter_of_slow_tcp_and_no_host() -> None:
    votes = [
        vote._replace(vote=Vote.BAD, measured=1e9)
        if vote.of.layer == "net" and "oss1" in vote.of.path
        else vote
        for vote in observed({})
    ]
    by_tcp = [vote for vote in votes if vote.of.layer == "net"]
    assert suspects(locate(by_tcp)) == [{"oss1", "oss1-ib0"}]
    by_both = [vote for vote in votes if vote.of.layer in ("net", "rdma")]
    located = locate(by_both)
    assert alternatives(located) == [(("oss1",),)]
    text = sentence(located, located.sets[0], PLAN.parts)
    assert "network 25 % of what is expected" in text
    assert "RDMA fine" in text


def test_the_sentence_counts_pairs_of_adapters() -> None:
    located = locate(observed({"oss1-ib1": both(LEFT_BPS)}))
    text = sentence(located, located.sets[0], PLAN.parts)
    assert text.startswith(
        "Suspect: nic oss1-ib1 (5 of 5 slow pairs of adapters cross it, 25 healthy ones do not)."
    )
    assert "Reads get 10000.0 MB/s of 24.8 GB/s, writes get" in text
    assert text.endswith("RDMA 40 % of what is expected.")


def test_a_test_of_adapters_may_be_the_next_one() -> None:
    crossing = Candidates(PLAN.expectations).crossing(["oss1-ib1"], ())
    words = {candidate.words: candidate.intrusion for candidate in crossing}
    assert words["an RDMA test of oss1-ib1 with c2-ib1 (read)"] is Intrusion.PAIR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "suspect", "red"),
    [
        pytest.param({}, [], [], id="healthy"),
        pytest.param({"oss1-ib1": both(LEFT_BPS)}, [(("oss1-ib1",),)], [], id="adapter"),
        pytest.param({"oss1-ib0": both(1e9)}, [(("oss1-ib0",),)], ["nic oss1-ib0"], id="with TCP"),
        pytest.param({"leaf3": both(LEFT_BPS)}, [(("leaf3",),)], ["switch leaf3"], id="leaf"),
    ],
)
def test_after_some_nights_the_path_service_of_the_slow_part_is_red(
    left: LaneRates, suspect: list[tuple[tuple[str, ...], ...]], red: list[str], tmp_path: Path
) -> None:
    plan, history = write(tmp_path, document(PLAN), records(PLAN, Year(20, left, since=4)))
    located = locate_site(load_plan(str(plan)), history, NOW)
    assert alternatives(located.located) == suspect
    verdicts = publish(str(plan), history, tmp_path / "paths.json", NOW, Terms(1e6, 0.0)).verdicts
    alarms = [name for name, verdict in verdicts.items() if verdict.state.alarm]
    assert alarms == red
    assert all(verdicts[name].reason is Reason.SUSPECT for name in red)


PLACED = tuple(Site(PLAN.expectations).measurables())
PLENTY = Budget(1e6, 1e15)


class Night:
    """An investigation of the site; a slot measures all adapters of a node."""

    def __init__(self, remaining: LaneRates) -> None:
        self._votes = {vote.of.name: vote for vote in observed(remaining)}
        self.done: list[Step] = []

    def investigate(
        self, *targets: str, unreferenced: Collection[tuple[str, str]] = ()
    ) -> list[tuple[tuple[str, ...], ...]]:
        """Return the alternatives at its end."""
        asked = Investigation(PLAN.expectations, targets, unreferenced=unreferenced)
        while step := asked.decide(self._findings(), self.done, PLENTY).step:
            self.done.append(step)
            assert len(self.done) < 20, "it does not end"
        return alternatives(self._findings().slow)

    def _findings(self) -> Findings:
        measured = [
            self._votes[placed.of.name]
            for placed in PLACED
            if any(
                measures(step._replace(component="") if placed.of.layer == "rdma" else step, placed)
                for step in self.done
            )
        ]
        return Findings(locate(measured), locate([]))


def test_an_adapter_in_question_is_measured_with_three_partners_and_named() -> None:
    night = Night({"oss1-ib1": both(LEFT_BPS)})
    assert night.investigate("oss1-ib1") == [(("oss1-ib1",),)]
    first = night.done[0]
    assert (first.layer, first.component, first.node) == ("rdma", "oss1-ib1", "oss1")
    assert first.words.startswith("RDMA between oss1-ib1 and ")
    # the partner is asked as a host, and the other adapter takes its turn in the same slot
    assert first.partner in ("oss2", "oss3", "oss4", "c1", "c2")
    assert first.seconds == pytest.approx(2 * (3 * 10 + 4))
    assert len(night.done) >= 3


def test_all_adapters_are_measured_if_nothing_else_is_slow() -> None:
    night = Night({"leaf3": both(LEFT_BPS)})
    assert night.investigate() == [(("leaf3",),)]
    (everything,) = (step for step in night.done if step.layer == "rdma" and not step.node)
    assert everything.words == "RDMA between pairs of adapters"
    assert everything.slots == tuple(range(10))
    # ten slots, in each of which a host measures two adapters one after the other
    assert everything.seconds == pytest.approx(10 * 2 * (3 * 10 + 4))


def test_a_pair_without_a_baseline_is_measured_as_a_pair_alone() -> None:
    night = Night({})
    night.investigate("oss1-ib1", unreferenced={("rdma", "oss1-ib1"), ("rdma", "oss1-ib0")})
    assert all(step.slots for step in night.done if step.layer == "rdma")


def test_a_node_waits_only_if_none_of_its_adapters_has_a_partner_that_is_asked() -> None:
    nodes = PLAN.expectations
    step = Steps(nodes).all("rdma")
    assert step is not None
    findings = Findings(locate([]), locate([]))
    idle = UnreachableNodes(nodes, ["oss1"], findings).idle(step)
    waiting = [node for names in idle.values() for node in names]
    # each of the five others begins one slot with it, on both rails
    assert sorted(waiting) == ["c1", "c2", "oss2", "oss3", "oss4"]
