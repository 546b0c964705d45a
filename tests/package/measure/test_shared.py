"""The sum of all flows through a part: when it counts, and when nothing was measured."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.measure.shared import flows_sentence, sentence, summed
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.shared import Flow, FlowResult, SharedReads, Turn
from plumbline.model.spec import ProbeSpec
from tests.package.measure.units import expectation

AT = 2000
TURN = Turn("ctl", AT)


def part(free: float = 200e6, ceiling: float = 800e6) -> tuple[Expectation, SharedReads]:
    """Return a controller that four disks of two servers fill, with its reads."""
    flows = tuple(
        Flow(node, "raw", f"{node}-disk{number}", free)
        for number in (1, 2)
        for node in ("oss1", "oss2")
    )
    entry = expectation(
        "ctl",
        layer="shared",
        group="controller",
        target={"kind": "shared", "flows": [list(flow) for flow in flows]},
        path=("ctl",),
        spec=ProbeSpec("sgp_dd", 1 << 30, 10.0, repeats=1),
        references={"read/together": Reference(Ceiling(ceiling, ("ctl",)), None)},
    )
    return entry, SharedReads("ctl", flows, 1 << 30, 10.0, 0.1)


def of_node(node: str, *rates: Optional[float], **changes: Any) -> Record:
    """Return a node's record with the rates of its disks; None failed."""
    base = {"bytes": 10**9, "started_at": AT, "finished_at": AT + 10.0, "coverage": None, **changes}
    results = [
        FlowResult("raw", f"{node}-disk{number}", rate, **base)
        if rate
        else FlowResult("raw", f"{node}-disk{number}", reason="it is gone")
        for number, rate in enumerate(rates, 1)
    ]
    return Record(
        id=f"{node}",
        run_id=TURN.run_id,
        layer="flows",
        component="ctl",
        operation=Operation.READ,
        scenario=Scenario.TOGETHER,
        outcome=Outcome.SKIPPED,
        reason="only its flows count",
        host=node,
        started_at=AT,
        finished_at=AT + 10.0,
        details={"flows": [result._asdict() for result in results]},
    )


def total(*records: Record, **terms: float) -> Record:
    entry, reads = part(**terms)
    return summed(entry, reads, TURN, records, AT + 60.0)


def test_the_rates_of_all_flows_are_added() -> None:
    record = total(of_node("oss1", 190e6, 180e6), of_node("oss2", 185e6, 195e6))
    assert (record.layer, record.component, record.rate) == ("shared", "ctl", 750e6)
    assert (record.outcome, record.host, record.run_id) == (Outcome.OK, "oss1", f"ctl@{AT}")
    assert (record.started_at, record.seconds, record.bytes) == (AT, 10.0, 4 * 10**9)
    assert record.details is not None
    assert record.details["flows"][1] == {
        "node": "oss2",
        "layer": "raw",
        "component": "oss2-disk1",
        "rate_Bps": 185e6,
        "reason": "",
    }
    assert sentence(record, 800e6) == (
        "ctl: 4 reads of 2 nodes at once gave 750.0 MB/s, 94 % of its ceiling 800.0 MB/s."
    )


def test_a_part_that_one_node_reads_names_the_node() -> None:
    record = total(of_node("oss1", 190e6, 180e6), of_node("oss2", 185e6, 195e6))
    assert record.details is not None
    own = [flow for flow in record.details["flows"] if flow["node"] == "oss1"]
    alone = record._replace(details={"flows": own})
    assert sentence(alone, None).startswith("ctl: 2 reads of oss1 at once gave 750.0 MB/s")


def test_a_turn_is_one_record_wherever_it_is_added() -> None:
    records = of_node("oss1", 190e6, 180e6), of_node("oss2", 185e6, 195e6)
    assert total(*records) == total(*reversed(records))


def test_half_of_the_flows_are_no_measurement() -> None:
    for records in (
        [of_node("oss1", 200e6, 200e6), of_node("oss2", None, None)],
        [of_node("oss1", 200e6, 200e6)],
    ):
        record = total(*records)
        assert (record.outcome, record.rate) == (Outcome.FAILED, None)
        assert record.reason.startswith("not measured, 2 of 4 flows have no rate; first oss2-disk1")


def test_a_missing_flow_counts_only_if_the_others_ask_for_less_than_the_part_has() -> None:
    records = of_node("oss1", 150e6, 150e6), of_node("oss2", 150e6, None)
    short = total(*records)
    assert short.reason == (
        "not measured, 1 of 4 flows have no rate, and the others ask for 600.0 MB/s of 800.0 MB/s; "
        "first oss2-disk2: it is gone"
    )
    enough = total(*records, free=300e6)
    assert (enough.outcome, enough.rate) == (Outcome.OK, 450e6)


def test_a_flow_that_read_for_a_time_without_a_rate_leaves_no_sum() -> None:
    def ended(after_s: float) -> Record:
        record = of_node("oss2", 150e6, None)
        assert record.details is not None
        record.details["flows"][1].update(started_at=AT, finished_at=AT + after_s)
        return total(of_node("oss1", 150e6, 150e6), record, free=300e6)

    assert ended(4.0).reason == (
        "not measured, oss2-disk2 read beside the others for 4 s and has no rate: it is gone"
    )
    assert ended(0.5).rate == 450e6


def test_flows_that_did_not_run_together_are_no_measurement() -> None:
    late = of_node("oss2", 200e6, 200e6, started_at=AT + 3.0, finished_at=AT + 13.0)
    record = total(of_node("oss1", 200e6, 200e6), late)
    assert record.reason == "not measured, oss2-disk1 began 3 s after oss1-disk1"
    long = of_node("oss2", 200e6, 200e6, finished_at=AT + 40.0)
    record = total(of_node("oss1", 200e6, 200e6), long)
    assert record.reason == "not measured, the flows ran together for 10.0 s of 40.0 s"


def test_a_flow_that_is_slow_by_itself_is_named_and_the_part_is_not_judged() -> None:
    record = total(of_node("oss1", 200e6, 200e6), of_node("oss2", 200e6, 20e6))
    assert record.reason == (
        "not measured, oss2-disk2 gave 20.0 MB/s where the others gave 200.0 MB/s: it is slow by "
        "itself, see raw oss2-disk2"
    )
    # all are held up alike: that is the part
    assert total(of_node("oss1", 50e6, 40e6), of_node("oss2", 45e6, 40e6)).rate == 175e6


def test_half_of_the_flows_that_stall_are_counted_and_the_first_is_named() -> None:
    """A controller fails over: its flows wait for the partner, those of the partner go on."""
    record = total(of_node("oss1", 190e6, 45e6), of_node("oss2", 200e6, 40e6))
    assert (record.outcome, record.rate) == (Outcome.FAILED, None)
    assert record.reason == (
        "not measured, 2 of 4 flows are slow by themselves or stalled meanwhile: oss1-disk2 gave "
        "45.0 MB/s where the others gave 195.0 MB/s, see raw oss1-disk2"
    )


def test_traffic_of_others_lowers_the_coverage() -> None:
    own = of_node("oss1", 200e6, 200e6, coverage=1.0)
    shared = of_node("oss2", 200e6, 200e6, coverage=0.5)
    assert total(own, shared).coverage == pytest.approx(4 / 6)
    assert total(of_node("oss1", 200e6, 200e6), of_node("oss2", 200e6, 200e6)).coverage is None


def test_records_of_another_turn_do_not_count() -> None:
    other = of_node("oss2", 200e6, 200e6)._replace(run_id="ctl@1000")
    assert "oss2 gave no record" in total(of_node("oss1", 200e6, 200e6), other).reason


@pytest.mark.parametrize(
    "details", [None, {}, {"flows": [{"layer": "raw"}]}, {"flows": [{"rate_Bps": "fast"}]}]
)
def test_a_damaged_record_is_named(details: Any) -> None:
    damaged = of_node("oss2", 200e6)._replace(details=details)
    with pytest.raises(DocumentError, match="oss2"):
        total(of_node("oss1", 200e6, 200e6), damaged)


def test_a_node_shows_its_own_flows() -> None:
    record = of_node("oss1", 200e6, None)._replace(outcome=Outcome.OK, rate=200e6, seconds=10.0)
    assert flows_sentence(record) == "ctl: 1 of 2 reads of oss1 gave 200.0 MB/s."
