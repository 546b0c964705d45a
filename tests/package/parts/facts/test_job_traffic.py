"""Traffic of jobs is kept with the records, bounded; damage is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.units import DAY_S
from plumbline.parts.facts import job_traffic
from plumbline.parts.facts.job_traffic import JobTraffic
from plumbline.parts.facts.jobs import DARSHAN, JobIo
from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.records import record


def io(job: str, begin: float) -> JobIo:
    return JobIo(job, "OST0", Operation.WRITE, 5.0, begin, begin + 10, DARSHAN, 0.5, None)


def jobs(path: Path) -> list[str]:
    with JobTraffic(path) as traffic:
        return [row.job for row in traffic.between(0.0, 1e12)]


@pytest.fixture
def traffic_path(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.save(record())
    return path


def test_traffic_is_read_back_unchanged_and_within_its_time(traffic_path: Path) -> None:
    rows = [io("7", 100.0), io("8", 200.0)]
    with JobTraffic(traffic_path) as traffic:
        assert list(traffic.between(0.0, 1e12)) == []
        traffic.keep(rows, 300.0)
        assert list(traffic.between(0.0, 1e12)) == rows
        assert list(traffic.between(150.0, 300.0)) == rows[1:]
    with History(traffic_path) as records:
        assert len(list(records.records(Selection()))) == 1


def test_old_and_excess_traffic_is_dropped(
    traffic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_traffic, "MAX_ROWS", 2)
    now = 100 * DAY_S
    rows = [io(str(day), day * DAY_S) for day in (1, 96, 97, 98)]
    with JobTraffic(traffic_path) as traffic:
        traffic.keep(rows, now)
    assert sorted(jobs(traffic_path)) == ["97", "98"]


def test_damaged_traffic_is_named_with_the_remedy(traffic_path: Path) -> None:
    with JobTraffic(traffic_path) as traffic:
        traffic.keep([io("7", 100.0)], 300.0)
        traffic.change("UPDATE job_traffic SET operation = 'x'")
    with pytest.raises(DocumentError, match="read the logs again"):
        jobs(traffic_path)
