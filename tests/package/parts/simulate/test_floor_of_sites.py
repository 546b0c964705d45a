"""Floors of all targets at once on the machines of the papers."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.model.record import Operation, Scenario
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import Policy, load
from tests.package.judge.test_floor import recorded
from tests.package.judgements import NOW, judge_file_system, snapshot
from tests.package.sites import inventory_document, paper


def policy(name: str) -> Policy:
    return load(inventory_document(name, "policy"))


def on_five_nights(name: str, system: str, write_GBps: float, read_GBps: float) -> Verdict:
    """Return the verdict on all targets of a file system at once after five equal nights."""
    plan = compile_plan(paper(name), policy(name), {})
    (whole,) = [
        entry
        for entries in plan.expectations.values()
        for entry in entries
        if (entry.layer, entry.component) == ("fs", system)
    ]
    rates = {Operation.WRITE: write_GBps, Operation.READ: read_GBps, Operation.REREAD: read_GBps}
    memory = snapshot(
        *(
            recorded(
                [1e9 * rate] * 5,
                layer="fs",
                component=system,
                host=whole.host,
                operation=operation,
                scenario=Scenario.TOGETHER,
                spec_hash=whole.spec.hash(),
            )
            for operation, rate in rates.items()
        )
    )
    return judge_file_system([whole], system, memory, NOW)


@pytest.mark.parametrize(("system", "full_GBps"), [("fs1", 48.0), ("fs2", 48.0), ("fs3", 72.0)])
def test_a_file_system_of_edison_at_a_quarter_is_below_the_floor_of_all_targets_at_once(
    system: str, full_GBps: float
) -> None:
    quarter = on_five_nights("edison", system, full_GBps / 4, full_GBps / 4)
    assert (quarter.state, quarter.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    # as the paper demonstrated FS1
    shown = on_five_nights("edison", system, 0.6 * full_GBps, 0.6 * full_GBps)
    assert shown.reason is not Reason.BELOW_FLOOR


@pytest.mark.parametrize(
    ("write_GBps", "read_GBps", "reason"),
    # the first test, the last one, and one between
    [(12, 12, Reason.BELOW_FLOOR), (29, 22, None), (23, 15, None)],
)
def test_the_first_file_system_of_blue_gene_alarms_and_the_repaired_one_does_not(
    write_GBps: float, read_GBps: float, reason: Optional[Reason]
) -> None:
    verdict = on_five_nights("bgl", "lustre", write_GBps, read_GBps)
    assert (verdict.reason is Reason.BELOW_FLOOR) is (reason is Reason.BELOW_FLOOR)
    if reason:
        assert verdict.sentence.startswith(
            "file system lustre write together: best of 5 nights 35.7 % of the ceiling 33.6 GB/s "
            "(limited by array ddn01"
        )
        assert verdict.state is State.WARNING
