"""Sums of shared parts: on a console by its collected flows, on a node by those that are given."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator, Mapping, Optional, Sequence

import pytest

from plumbline.judge.judging import Judging
from plumbline.measure.lock import Locks
from plumbline.measure.unit_context import Step
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.exchange import Cursor
from plumbline.model.expectation import Expectations
from plumbline.model.record import Outcome, Record
from plumbline.model.shared import Turn, results_in
from plumbline.model.trend import NodeClock
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.observe.command import SystemClock
from plumbline.site.measure import RunOptions
from plumbline.site.shared import (
    is_alone,
    keep_sum,
    keep_sums,
    records_in,
    round_of,
    turn_of,
)
from plumbline.store.collection import ConsoleHistory
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from tests.package.measure.test_shared import AT, TURN, of_node
from tests.package.plan.test_exposure import array
from tests.package.plan.test_shared import compiled


def site() -> Mapping[str, Expectations]:
    plan = compiled(array())
    return {name: plan.node(name) for name in plan.expectations}


def sums(path: Path) -> list[Record]:
    with History(path) as history:
        return list(history.records(Selection(layer="shared")))


def collected(path: Path, *records: Record) -> None:
    with ConsoleHistory(path) as history:
        for record in records:
            history.keep(record.host, [record], Cursor(), AT)


# On a console.


def test_a_console_adds_the_flows_of_a_turn_once(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    collected(path, of_node("oss1", 200e6, 180e6), of_node("oss2", 190e6, 190e6))
    assert keep_sums(path, site(), AT + 300.0) == 1
    (record,) = sums(path)
    assert (record.component, record.rate, record.host) == ("ctl", 760e6, "oss1")
    assert keep_sums(path, site(), AT + 600.0) == 0
    assert len(sums(path)) == 1


def test_a_console_waits_an_hour_for_a_node_that_did_not_answer(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    collected(path, of_node("oss1", 200e6, 180e6))
    assert keep_sums(path, site(), AT + 1800.0) == 0
    collected(path, of_node("oss2", 190e6, 190e6))
    assert keep_sums(path, site(), AT + 1900.0) == 1
    assert sums(path)[0].outcome is Outcome.OK


def of_clocks(path: Path, ahead_s: float, within_s: float = 0.01) -> Record:
    """Return the sum of two nodes, of which one has a clock that the console has compared."""
    collected(path, of_node("oss1", 200e6, 180e6), of_node("oss2", 190e6, 190e6))
    with ConsoleHistory(path) as history:
        history.clock(NodeClock("oss1", AT, 0.1, 0.01))
        history.clock(NodeClock("oss2", AT, ahead_s, within_s))
    assert keep_sums(path, site(), AT + 300.0) == 1
    return sums(path)[0]


def test_flows_that_only_a_wrong_clock_put_at_one_moment_are_no_measurement(tmp_path: Path) -> None:
    ahead = of_clocks(tmp_path / "ahead.sqlite", 5.1)
    assert ahead.reason == "not measured, oss1-disk1 began 5 s after oss2-disk1"
    assert of_clocks(tmp_path / "right.sqlite", -0.4).rate == 760e6
    # the answer of the node took too long to know its clock
    assert of_clocks(tmp_path / "vague.sqlite", 5.1, within_s=3.0).rate == 760e6


def test_a_node_that_brings_nothing_makes_the_turn_unmeasured(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    collected(path, of_node("oss1", 200e6, 180e6))
    assert keep_sums(path, site(), AT + 3700.0) == 1
    (record,) = sums(path)
    assert record.outcome is Outcome.FAILED
    assert "first oss2-disk1: oss2 gave no record" in record.reason


def test_a_turn_that_its_node_has_recorded_is_not_added_again(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    records = of_node("oss1", 200e6, 180e6), of_node("oss2", 190e6, 190e6)
    collected(path, *records)
    keep_sums(path, site(), AT + 300.0)
    (own,) = sums(path)
    collected(path, own)
    assert keep_sums(path, site(), AT + 600.0) == 0
    assert len(sums(path)) == 1


def test_a_site_without_shared_parts_opens_no_history(tmp_path: Path) -> None:
    assert keep_sums(tmp_path / "none" / "history.sqlite", {}, AT) == 0


# On a node.


def test_the_first_node_records_and_judges_the_sum(tmp_path: Path) -> None:
    options = RunOptions(
        Locks(tmp_path / "locks", SystemClock()), tmp_path / "snapshot.json", quiet
    )
    records = [of_node("oss1", 200e6, 180e6), of_node("oss2", 190e6, 190e6)]
    with History(tmp_path / "history.sqlite") as history:
        history.save(records[0])
        result = keep_sum(site()["oss1"], TURN, records, history, options)
    (record,), (verdict,) = result.records, result.verdicts
    assert record.rate == 760e6
    assert (verdict.layer, verdict.component) == ("shared", "ctl")
    # the records are of the year 1970
    assert verdict.sentence.startswith("ctl read together is stale")
    with History(tmp_path / "history.sqlite") as history, pytest.raises(UsageError, match="oss1"):
        keep_sum(site()["oss2"], TURN, records, history, options)


HEALTHY = (180e6, 182e6, 178e6, 181e6)
"""Rates of the four flows of a healthy turn."""


def service_after(folder: Path, *turns: Sequence[Optional[float]]) -> Verdict:
    """Return the verdict of the service of ``ctl`` after turns every two days, the last one now."""
    options = RunOptions(Locks(folder / "locks", SystemClock()), folder / "snapshot.json", quiet)
    node, now = site()["oss1"], time.time()
    with History(folder / "history.sqlite") as history:
        for ago, rates in zip(reversed(range(len(turns))), turns):
            turn = Turn("ctl", int(now - 60 - 2 * ago * DAY_S))
            records = [
                at_turn(of_node(name, *rates[first : first + 2]), turn)
                for name, first in (("oss1", 0), ("oss2", 2))
            ]
            history.save(records[0])
            keep_sum(node, turn, records, history, options)
    snapshot = load_snapshot(str(options.snapshot))
    (entry,) = node.find("shared", "ctl")
    return Judging(snapshot, snapshot, now).component(entry)


def at_turn(record: Record, turn: Turn) -> Record:
    """Return a node's record with its flows at the moment of another turn."""
    assert turn.at is not None
    shift = turn.at - AT
    flows = [
        result._replace(
            started_at=result.started_at and result.started_at + shift,
            finished_at=result.finished_at and result.finished_at + shift,
        )._asdict()
        for result in results_in(record)
    ]
    return record._replace(
        id=f"{record.host}-{turn.at}",
        run_id=turn.run_id,
        started_at=turn.at,
        finished_at=turn.at + 10.0,
        details={"flows": flows},
    )


@pytest.mark.slow
@pytest.mark.parametrize("rate", [110e6, 40e6, 4e6])
def test_one_turn_in_which_a_controller_fails_over_is_no_alarm(tmp_path: Path, rate: float) -> None:
    """All goes through the partner, or waits for it: the sum is low for this one turn."""
    (tmp_path / "last").mkdir()
    verdict = service_after(tmp_path / "last", *[HEALTHY] * 10, [rate] * 4)
    assert verdict.state is State.OK
    (tmp_path / "since").mkdir()
    verdict = service_after(tmp_path / "since", *[HEALTHY] * 9, [rate] * 4, *[HEALTHY] * 2)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


@pytest.mark.slow
def test_a_controller_that_stays_slow_is_an_alarm(tmp_path: Path) -> None:
    verdict = service_after(tmp_path, *[HEALTHY] * 10, *[[110e6] * 4] * 4)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.SLOW)


@pytest.mark.slow
@pytest.mark.parametrize("rates", [[180e6, None, 180e6, None], [180e6, 45e6, 180e6, 45e6]])
def test_a_turn_in_which_half_of_the_flows_fail_or_stall_is_unknown(
    tmp_path: Path, rates: Sequence[Optional[float]]
) -> None:
    verdict = service_after(tmp_path, *[HEALTHY] * 10, rates)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.FAILED)
    assert verdict.sentence.startswith("ctl read together failed: not measured, 2 of 4 flows ")


@contextmanager
def quiet() -> Iterator[Callable[[Step], None]]:
    """Show no progress."""
    yield lambda _step: None


def test_a_part_of_several_nodes_needs_the_playbook_or_a_moment() -> None:
    node = site()["oss1"]
    assert not is_alone(node, TURN)
    assert turn_of(node, f"ctl@{AT}", AT)[1] == Turn("ctl", AT)
    with pytest.raises(UsageError, match=r"read by oss1, oss2 at one moment: .* -e together=ctl"):
        turn_of(node, "ctl", AT)
    for text in ("ctl@", "ctl@soon", "ctl@99999999999999", "hba@1000", ""):
        with pytest.raises(UsageError, match="no shared part that this node reads; it has ctl"):
            turn_of(node, text, AT)


def test_all_nodes_agree_on_the_moments_of_a_round() -> None:
    first, second = (
        round_of(site()[name], AT + delay) for name, delay in (("oss1", 0), ("oss2", 9))
    )
    assert [turn for _, turn in first] == [turn for _, turn in second]
    ((_, turn),) = first
    assert turn.at is not None
    assert turn.at % 60 == 0


@pytest.mark.parametrize("text", ["nothing", "[]", '{"id": "x"}', "null"])
def test_flows_that_are_no_records_are_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        records_in(text)
