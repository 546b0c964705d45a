"""An active OST missing in the topology is reported by the group's service and on a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest

from plumbline.measure.targets.interface import TargetState
from plumbline.measure.targets.whereabouts import Difference, compare
from plumbline.measure.trial import Conditions, Failure, Recorder, tasks_of
from plumbline.model.codec import read_document
from plumbline.model.errors import ToolError
from plumbline.model.expectation import Expectations
from plumbline.model.record import Outcome, Record
from plumbline.observe.command import SystemClock
from tests.package.fakes import HANGING, FakeRunner, answer
from tests.package.judgements import expectation

OSTS = (Path(__file__).parents[2] / "data/lustre/lfs_osts.txt").read_text()
WITH_16 = f"{OSTS}16: lustre-OST0010_UUID ACTIVE\n17: lustre-OST0011_UUID INACTIVE\n"
FOUR = tuple(f"lustre-OST000{index}" for index in range(4))


@pytest.mark.parametrize(
    ("osts", "measured", "named", "expected"),
    [
        (OSTS, FOUR, {}, ((), ())),
        (WITH_16, FOUR, {}, (("lustre-OST0010",), ())),
        # an OST that is retired or measured by another client is in the topology
        (WITH_16, FOUR, {"lustre-OST0010": ""}, ((), ())),
        (WITH_16, FOUR[:3], {"lustre-OST0003": "client2"}, (("lustre-OST0010",), ())),
        (WITH_16, (*FOUR, "lustre-OST0011"), {}, (("lustre-OST0010",), ("lustre-OST0011",))),
    ],
)
def test_a_mount_is_compared_with_the_topology_in_both_directions(
    osts: str,
    measured: tuple[str, ...],
    named: dict[str, str],
    expected: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    run = FakeRunner({"lfs osts /mnt/lustre": osts, "lctl": answer("", "", 2)})
    difference = compare(run, "/mnt/lustre", dict.fromkeys(measured, "oss1"), named)
    assert difference.servers is None
    assert (difference.unnamed, difference.missing) == expected
    assert len(difference.sentences()) == len(difference.unnamed) + len(difference.missing)


def test_sentences_name_the_ost_and_the_mount() -> None:
    assert Difference("/lustre", ("a-OST0010",), ("a-OST0003",)).sentences() == [
        "a-OST0010 is active on /lustre, but not in the topology",
        "a-OST0003 is in the topology, but not active on /lustre",
    ]


def not_installed(_argv: tuple[str, ...]) -> None:
    raise ToolError("lfs is not installed")


@pytest.mark.parametrize("osts", [HANGING, answer("", "error: osts", 1), "", not_installed])
def test_a_failed_comparison_is_reported(osts: Any) -> None:
    run = FakeRunner({"lfs osts": osts})
    [sentence] = compare(run, "/mnt/lustre", dict.fromkeys(FOUR, "oss1"), {}).sentences()
    assert sentence.startswith("/mnt/lustre: lfs ")


def recorded(named: Optional[frozenset[str]]) -> Record:
    recorder = Recorder("run-1", "client1", SystemClock(), named)
    state = TargetState(0.5, (), {}, (*FOUR, "lustre-OST0010"))
    failure = Failure(Outcome.SKIPPED, "so")
    return recorder.without(tasks_of(expectation())[0], failure, Conditions(state))


def test_a_record_has_the_osts_missing_in_the_topology() -> None:
    assert recorded(frozenset(FOUR)).details == {"unnamed": ["lustre-OST0010"]}
    assert recorded(frozenset((*FOUR, "lustre-OST0010"))).details is None
    # a target named by a person belongs to no topology
    assert recorded(None).details is None


def test_expectations_list_the_targets_of_the_topology() -> None:
    entry = expectation().to_json()
    assert Expectations("client1", "lab", (entry,)).targets() == frozenset(("scratch-OST0003",))
    new = Expectations("client1", "lab", (entry,), elsewhere={"scratch-OST0004": ""})
    again = read_document(Expectations, new.to_json())
    assert again.targets() == frozenset(("scratch-OST0003", "scratch-OST0004"))
