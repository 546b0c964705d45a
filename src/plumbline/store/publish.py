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
from typing import Any, Callable, Iterator, Mapping, Optional

from plumbline.errors import StoreError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.record import Record
from plumbline.model.series import Series, Snapshot
from plumbline.store.database import keep_owner
from plumbline.store.history import History
from plumbline.store.places import READERS
from plumbline.store.recent import Groups, Recent
from plumbline.store.replacing import replace
from plumbline.store.sealed import seal

_LOCK_WAIT_S = 30.0
_READ = ("form", "unnamed")
"""Details that checks read."""


Weigh = Callable[[Recent], Mapping[Subject, Evidence]]
"""Finds what the last runs of components and groups say together."""


Then = Callable[[Snapshot], object]


def _nothing(_snapshot: Snapshot) -> None:
    """Do nothing: where no check asks."""


class Publisher:
    """Writes the snapshot of one history; ``groups`` says what is expected and who are peers.

    ``then`` takes each snapshot that was written, before anybody else writes the next one.
    """

    def __init__(
        self, history: History, path: Path, host: str, groups: Groups, then: Then = _nothing
    ) -> None:
        self._then = then
        self._history = history
        self._path = path
        self._host = host
        self._groups = groups
        self._recent: Optional[Recent] = None

    def __call__(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Write the snapshot of the wall clock's ``now`` and return it, as :meth:`build` does.

        Raises:
            StoreError: it cannot be written, or the history cannot be read.
        """
        # the lock covers reading too: of two that finish together the later must see both
        try:
            with _locked(self._path.with_suffix(".lock")):
                snapshot = self.build(now, weigh)
                text = json.dumps(snapshot.to_json(), separators=(",", ":"))
                replace(self._path, seal(text), group=READERS)
                self._then(snapshot)
                return snapshot
        except OSError as error:
            raise StoreError(
                f"snapshot {self._path} cannot be written: {error.strerror}; see that "
                f"{self._path.parent} has space and belongs to the user plumbline"
            ) from error

    def build(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Return the snapshot of what the history holds.

        With ``weigh``, at the end of a run, the last runs are weighed before, and what they say
        together is kept; without, what was kept last stands.
        """
        recent = self._recent = Recent(self._history, self._groups, self._recent)
        if weigh:
            self._history.keep_evidence(weigh(recent))
        known = self._history.evidence()
        groups = {
            f"{layer}/{name}": one._asdict()
            for (layer, name, is_group), one in known.items()
            if is_group
        }
        series: dict[str, Mapping[str, Any]] = {}
        for layer, component in self._groups:
            operations = [operation_entry(one) for one in recent.of(layer, component)]
            said = known.get((layer, component, False))
            if operations:
                series[f"{layer}/{component}"] = {
                    "evidence": said and said._asdict(),
                    "operations": operations,
                }
        return Snapshot(self._host, now, recent.running, groups, series)


def operation_entry(series: Series) -> dict[str, Any]:
    """Return a series in the form that a snapshot has it."""
    return {
        "latest": _light(series.latest).to_json(),
        "samples": series.samples,
    }


def _light(record: Record) -> Record:
    """Return the record without what no check reads: profile, ranks, argv and specification."""
    tool = record.tool and record.tool._replace(argv=())
    details = {
        key: record.details[key] for key in _READ if record.details and key in record.details
    }
    return record._replace(profile_Bps=(), tool=tool, spec=None, details=details or None)


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
