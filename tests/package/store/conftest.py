"""An empty history for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

from plumbline.store.history import History


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.sqlite") as opened:
        yield opened
