"""Read the two documents of a node: expectations and snapshot.

Both are checked, see :mod:`plumbline.store.files`.
"""

from __future__ import annotations

from plumbline.model.codec import read_document
from plumbline.model.expectation import Expectations
from plumbline.model.series import Running, Snapshot
from plumbline.store.files import EXPECTATIONS, SNAPSHOT, load, load_document

_DEPLOY = "deploy the role agent again"


def load_expectations(path: str = EXPECTATIONS, remedy: str = _DEPLOY) -> Expectations:
    """Return the expectations of this node; raise DocumentError naming file and remedy."""
    return read_document(Expectations, load(path, "expectations", remedy))


def load_snapshot(path: str = SNAPSHOT) -> Snapshot:
    """Return the snapshot of this node; raise DocumentError naming file and remedy."""
    snapshot = load_document(Snapshot, path)
    return snapshot._replace(running=tuple(map(mark_interrupted, snapshot.running)))


def mark_interrupted(running: Running) -> Running:
    """Return a running measurement of this node, marked as interrupted if its process is gone."""
    if running.interrupted or running.process is None:
        return running
    # imported only if needed: most checks find no running measurement
    from plumbline.measure.process import is_alive

    return running._replace(interrupted=not is_alive(running.process))
