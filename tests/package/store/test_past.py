"""A history shows what was there at a moment, and keeps all that came later."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.series import Running
from plumbline.model.trend import SERVER
from plumbline.store import recent as past
from plumbline.store.history import History, Selection
from plumbline.store.recent import PastHistory
from tests.package.records import failed, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "history.sqlite"
    with History(found) as history:
        for at in (1000.0, 2000.0, 3000.0):
            history.save(record(id=f"{at}", started_at=at, rate_Bps=at))
        history.save(failed()._replace(id="failed", started_at=2100.0))
        history.save(record(id="server", layer=SERVER, started_at=2000.0))
        history.begin("run-9", Running("ost", "later", 2900.0, None))
    return found


def test_what_came_later_is_not_there_yet(path: Path) -> None:
    with PastHistory(path, 2500.0) as kept:
        (key, *_) = kept.series("ost", record().component)
        assert kept.latest(key).started_at <= 2500.0
        assert all(point.started_at <= 2500.0 for point in kept.points(key, 9))
        assert kept.running() == ()
    with History(path) as history:
        assert len(list(history.records(Selection()))) == 5
        assert len(history.running()) == 1


def test_the_measurements_since_a_moment_are_those_of_components(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PastHistory(path, 2500.0) as kept:
        found = kept.since(1500.0)
        assert [(one.started_at, one.rate_Bps) for one in found] == [(2000.0, 2e3), (2100.0, None)]
        monkeypatch.setattr(past, "MOST_RUNS", 1)
        assert kept.since(1500.0) == found[:1]
