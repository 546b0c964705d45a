"""The run of an OST has the mean time of its client's requests; without counters it has none."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.measure.ost import TargetUnit
from plumbline.model.record import Outcome, Record
from plumbline.observe.lustre_output import Requests
from tests.package.fakes import Answer, FakeRunner, answer
from tests.package.measure.targets import CLIENT, healthy
from tests.package.measure.units import SIZE, FakeClock, expectation, fio_report, measured

STATS = "lctl get_param osc.lustre-OST0003-osc-*.stats"


def counters(writes: int, usecs: int) -> str:
    """Return a client's statistics with so many writes, which took so long."""
    lines = [
        f"osc.lustre-OST0003-osc-{CLIENT}.stats=",
        "snapshot_time             1795342738.385731077 secs.nsecs",
        f"ost_write                 {writes} samples [usecs] 500 90000 {usecs} 77034331600",
    ]
    return "\n".join(lines) + "\n"


def written(counted: Answer) -> Record:
    """Return the record of a write; ``counted`` answers before and after it."""
    placed = f"4096 8 512 59 1 ..\n4096 8 512 59 2 .\n{SIZE} {SIZE // 512} 512 59 7 probe.dat\n"
    answers = healthy("lustre", requests=counted, stat=placed)
    answers["fio"] = lambda argv: fio_report(argv, 200.0)
    answers["fio --version"] = "fio-3.39\n"
    entry = expectation(
        "lustre-OST0003",
        target={"kind": "lustre", "mount": "/mnt/lustre"},
        references={"write/single": expectation("x").references["write/single"]},
    )
    (record,) = measured(TargetUnit(entry), FakeRunner(answers), FakeClock())
    assert record.outcome is Outcome.OK, record.reason
    return record


@pytest.mark.parametrize(
    ("before", "after", "mean_s"),
    [
        (counters(1000, 4_000_000), counters(1250, 24_000_000), 0.08),
        # no request, as when the file stays in the cache
        (counters(1000, 4_000_000), counters(1000, 4_000_000), None),
        # cleared meanwhile, or mounted again
        (counters(1000, 4_000_000), counters(10, 800_000), None),
        (counters(1000, 4_000_000), "error: get_param\n", None),
        ("error: get_param\n", counters(1250, 24_000_000), None),
    ],
)
def test_a_run_has_the_mean_time_of_its_requests(
    before: str, after: str, mean_s: Optional[float]
) -> None:
    record = written([answer(before), answer(after)])
    times = {"request": pytest.approx(mean_s)} if mean_s else {}
    assert {name: s for name, s in record.quantities.items() if name == "request"} == times


def test_fewer_requests_than_before_have_no_mean() -> None:
    assert Requests(10, 5.0).mean_since(Requests(20, 1.0)) is None
    assert Requests(20, 1.0).mean_since(Requests(10, 5.0)) is None
    assert Requests(20, 6.0).mean_since(Requests(10, 5.0)) == pytest.approx(0.1)
