"""How clocks stand is kept beside the records, the latest of each node."""

from __future__ import annotations

from pathlib import Path

from plumbline.model.trend import NodeClock
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import read_clocks
from plumbline.store.database import Store
from plumbline.store.history import History


def test_the_latest_look_at_a_clock_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with Collection(path) as collection:
        collection.clock(NodeClock("oss1", 1000.0, -3.0, 0.5))
        collection.clock(NodeClock("oss2", 1000.0, 0.1, 0.2))
        collection.clock(NodeClock("oss1", 2000.0, 0.25, 0.1))
    with Store(path) as store:
        assert set(read_clocks(store)) == {
            NodeClock("oss1", 2000.0, 0.25, 0.1),
            NodeClock("oss2", 1000.0, 0.1, 0.2),
        }


def test_a_history_that_was_never_collected_knows_of_no_clocks(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path):
        pass
    with Store(path) as store:
        assert read_clocks(store) == ()
