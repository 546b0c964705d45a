"""An RDMA adapter is judged by all its partners, its times of messages without a ceiling."""

from __future__ import annotations

from typing import Any

from plumbline.model.layers.rdma import LATENCY
from plumbline.model.limits import Reference
from plumbline.model.record import Flag, Operation, Outcome
from plumbline.model.series import Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import BASELINE, NOW, host_expectation, judge_host, sent

REFERENCES = {
    "write/single": Reference(None, BASELINE._replace(median=117e6)),
    "latency/single": Reference(None, BASELINE._replace(median=1 / 2e-6)),
}


def recorded(operation: Operation, rate: Any, partner: str, **changes: Any) -> Series:
    return sent(partner, rate, layer="rdma", operation=operation, **changes)


def judged(*tests: Series) -> Verdict:
    entry = host_expectation("oss1", "oss2", layer="rdma", references=REFERENCES)
    return judge_host(entry, tests, (), NOW)


def healthy(**changes: Any) -> tuple[Series, ...]:
    return tuple(
        recorded(operation, rate, partner, **changes)
        for partner in ("oss1", "oss2")
        for operation, rate in ((Operation.WRITE, 117e6), (LATENCY, 1 / 2e-6))
    )


def test_a_healthy_adapter_is_ok_with_its_time_of_a_message() -> None:
    verdict = judged(*healthy())
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    labels = {figure.label: figure for figure in verdict.figures}
    assert list(labels) == ["write_Bps", "latency_s"]
    assert labels["latency_s"].value == 2e-6


def test_a_slow_message_is_measured_against_its_baseline_alone() -> None:
    slow = [recorded(LATENCY, 1 / 9e-6, name) for name in ("oss1", "oss2")]
    verdict = judged(*healthy()[::2], *slow)
    assert verdict.state is State.CRITICAL
    assert "ceiling" not in verdict.sentence
    assert "latency" in verdict.sentence


def test_a_port_at_fault_is_unknown_with_its_sentence() -> None:
    reason = "oss3: port mlx5_0/1 is DOWN (physical state Polling); look at the cable"
    failed = {"outcome": Outcome.FAILED, "reason": reason}
    tests = [
        recorded(operation, None, partner, **failed)
        for operation in (Operation.WRITE, LATENCY)
        for partner in ("oss1", "oss2")
    ]
    verdict = judged(*tests)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.FAILED)
    assert reason in verdict.sentence


def test_a_slow_adapter_has_the_errors_of_its_port_in_its_sentence() -> None:
    flags = {"flags": (Flag.LINK_ERRORS,)}
    slow = [recorded(Operation.WRITE, 24e6, name, **flags) for name in ("oss1", "oss2")]
    verdict = judged(*slow, *healthy(**flags)[1::2])
    assert verdict.state is State.CRITICAL
    assert "error counters of its port rose" in verdict.sentence
