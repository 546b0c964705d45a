"""Write the snapshot: the latest record and a short history of each expected component.

The file is replaced as a whole, so that a check sees the old or the new one, never a part.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Iterator, Mapping, Optional

from plumbline.errors import StoreError
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.series import Sample, Snapshot
from plumbline.store.database import keep_owner
from plumbline.store.history import History, Point, SeriesKey

SAMPLES = 30

_LOCK_WAIT_S = 30.0

Groups = Mapping[tuple[str, str], str]
"""The group of each expected (layer, component); members of one group are peers."""


class Publisher:
    """Writes the snapshot of one history; ``groups`` says what is expected and who are peers."""

    def __init__(self, history: History, path: Path, host: str, groups: Groups) -> None:
        self._history = history
        self._path = path
        self._host = host
        self._groups = groups

    def __call__(self, now: float) -> None:
        """Write the snapshot of the wall clock's ``now``; raise StoreError when that fails."""
        # the lock covers reading too: of two that finish together the later must see both
        try:
            with _locked(self._path.with_suffix(".lock")):
                _replace(self._path, json.dumps(self.build(now).to_json(), separators=(",", ":")))
        except OSError as error:
            raise StoreError(
                f"snapshot {self._path} cannot be written: {error.strerror}; see that "
                f"{self._path.parent} has space and belongs to the user plumbline"
            ) from error

    def build(self, now: float) -> Snapshot:
        """Return the snapshot of what the history holds."""
        rates = _Rates(self._history, self._groups)
        series: dict[str, list[Mapping[str, Any]]] = {
            f"{layer}/{component}": [
                self._series(key, rates) for key in self._history.series(layer, component)
            ]
            for layer, component in self._groups
        }
        return Snapshot(
            host=self._host,
            written_at=now,
            running=self._history.running(),
            series={name: entries for name, entries in series.items() if entries},
        )

    def _series(self, key: SeriesKey, rates: _Rates) -> dict[str, Any]:
        points = self._history.points(key, SAMPLES)
        return {
            "latest": _light(self._history.latest(key)).to_json(),
            "samples": [rates.sample(key, point) for point in points],
        }


class _Rates:
    """The rates of runs, asked from the history once."""

    def __init__(self, history: History, groups: Groups) -> None:
        self._history = history
        self._groups = groups
        self._known: dict[tuple[str, str, str, str], dict[str, float]] = {}

    def sample(self, key: SeriesKey, point: Point) -> Sample:
        """Return a point with the median of its peers in the same run."""
        peers = self._peers(key, point.run_id)
        return Sample(
            started_at=point.started_at,
            rate_Bps=point.rate_Bps,
            coverage=point.coverage,
            peers_Bps=median(peers) if peers else None,
            peers=len(peers),
            partner=key.partner or None,
        )

    def _peers(self, key: SeriesKey, run_id: str) -> list[float]:
        group: Optional[str] = self._groups[key.layer, key.component]
        return [
            rate
            for component, rate in self._of_run(key, run_id).items()
            if component != key.component and self._groups.get((key.layer, component)) == group
        ]

    def _of_run(self, key: SeriesKey, run_id: str) -> dict[str, float]:
        place = (run_id, key.layer, key.operation, key.scenario)
        if place not in self._known:
            self._known[place] = self._history.rates(
                run_id, key.layer, Operation(key.operation), Scenario(key.scenario)
            )
        return self._known[place]


def _light(record: Record) -> Record:
    """Return the record without what no check reads: profile, argv and specification."""
    tool = record.tool and record.tool._replace(argv=())
    return record._replace(profile_Bps=(), tool=tool, spec=None)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file for a moment; raise StoreError when somebody does not let go."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
    try:
        keep_owner(path)
        deadline = time.monotonic() + _LOCK_WAIT_S
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"another process has kept {path} locked for {_LOCK_WAIT_S:.0f} s; "
                    f"find it with: fuser {path}"
                )
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(path: Path, text: str) -> None:
    """Put ``text`` in the place of a file at once; after an error the old file is still there."""
    new = path.with_name(f".{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(new, flags, 0o640), "w") as file:
        keep_owner(new)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
