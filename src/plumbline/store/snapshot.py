"""Read the two documents of a node, expectations and snapshot.

Neither is believed blindly, see :mod:`plumbline.store.files`.
"""

from __future__ import annotations

from plumbline.model.expectation import Expectations
from plumbline.model.series import Running, Snapshot
from plumbline.store.files import EXPECTATIONS, SNAPSHOT, load

_DEPLOY = "deploy the role agent again"
_PROBE = "run a probe to write it, for example: systemctl start plumbline-ost.service"


def load_expectations(path: str = EXPECTATIONS) -> Expectations:
    """Return what this node measures; raise DocumentError naming file and remedy."""
    return Expectations.from_json(load(path, "expectations", _DEPLOY))


def load_snapshot(path: str = SNAPSHOT) -> Snapshot:
    """Return what this node has measured; raise as ``load_expectations`` does."""
    snapshot = Snapshot.from_json(load(path, "snapshot", _PROBE))
    return snapshot._replace(running=tuple(map(settled, snapshot.running)))


def settled(running: Running) -> Running:
    """Return what runs on this node, as interrupted where nothing of it is left."""
    if running.interrupted or running.process is None:
        return running
    # most checks find nothing that runs and do not need it
    from plumbline.measure.process import lives

    return running._replace(interrupted=not lives(running.process))
