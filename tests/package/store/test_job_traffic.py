"""What jobs have moved stays beside the records, bounded, and nothing of it is lost by damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.observe.jobs import DARSHAN, JobIo
from plumbline.store import job_traffic
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.job_traffic import JobTraffic
from tests.package.records import record

DAY_S = 86400.0


def io(job: str, begin: float) -> JobIo:
    return JobIo(job, "OST0", Operation.WRITE, 5.0, begin, begin + 10, DARSHAN, 0.5, None)


def kept(path: Path) -> list[str]:
    with JobTraffic(path) as traffic:
        return [one.job for one in traffic.between(0.0, 1e12)]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    with History(path) as kept_:
        kept_.save(record())
    return path


def test_traffic_comes_back_as_it_was_and_of_its_time_alone(history: Path) -> None:
    found = [io("7", 100.0), io("8", 200.0)]
    with JobTraffic(history) as traffic:
        assert list(traffic.between(0.0, 1e12)) == []
        traffic.keep(found, 300.0)
        assert list(traffic.between(0.0, 1e12)) == found
        assert list(traffic.between(150.0, 300.0)) == found[1:]
    with History(history) as records:
        assert len(list(records.records(Selection()))) == 1


def test_what_is_too_old_or_too_much_is_forgotten(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_traffic, "MOST_ROWS", 2)
    now = 100 * DAY_S
    found = [io(str(day), day * DAY_S) for day in (1, 96, 97, 98)]
    with JobTraffic(history) as traffic:
        traffic.keep(found, now)
    assert sorted(kept(history)) == ["97", "98"]


def test_damaged_traffic_is_named_with_the_remedy(history: Path) -> None:
    with JobTraffic(history) as traffic:
        traffic.keep([io("7", 100.0)], 300.0)
        traffic.change("UPDATE job_traffic SET operation = 'x'")
    with pytest.raises(DocumentError, match="read the logs again"):
        kept(history)
