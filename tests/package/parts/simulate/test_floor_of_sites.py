"""The floor of BlueGene/L's first file system, and of the repaired one."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.model.record import Operation, Scenario
from plumbline.model.verdict import Reason, State
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import Policy, load
from tests.package.judge.test_floor import recorded
from tests.package.judgements import NOW, judge_file_system, snapshot
from tests.package.sites import inventory_document, paper


def policy(name: str) -> Policy:
    return load(inventory_document(name, "policy"))


@pytest.mark.parametrize(
    ("write_GBps", "read_GBps", "reason"),
    # the first test, the last one, and one between
    [(12, 12, Reason.BELOW_FLOOR), (29, 22, None), (23, 15, None)],
)
def test_the_first_file_system_of_blue_gene_alarms_and_the_repaired_one_does_not(
    write_GBps: float, read_GBps: float, reason: Optional[Reason]
) -> None:
    plan = compile_plan(paper("bgl"), policy("bgl"), {})
    entries = [entry for entry in plan.expectations["io0001"] if entry.layer == "fs"]
    whole = next(entry for entry in entries if entry.component == "lustre")
    rates = {Operation.WRITE: write_GBps, Operation.READ: read_GBps, Operation.REREAD: read_GBps}
    memory = snapshot(
        *(
            recorded(
                [1e9 * rate] * 5,
                layer="fs",
                component="lustre",
                host=whole.host,
                operation=operation,
                scenario=Scenario.TOGETHER,
                spec_hash=whole.spec.hash(),
            )
            for operation, rate in rates.items()
        )
    )
    verdict = judge_file_system([whole], "lustre", memory, NOW)
    assert (verdict.reason is Reason.BELOW_FLOOR) is (reason is Reason.BELOW_FLOOR)
    if reason:
        assert verdict.sentence.startswith(
            "file system lustre write together: best of 5 nights 35.7 % of the ceiling 33.6 GB/s "
            "(limited by array ddn01"
        )
        assert verdict.state is State.WARNING
