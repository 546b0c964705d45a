"""Where nodes and the console keep what is theirs, unless a call names another place.

What a check reads has its place in :mod:`plumbline.store.snapshot`, which is quick to load.
"""

from __future__ import annotations

STATE = "/var/lib/plumbline"
"""Of a node: its history, its snapshot, its symptoms."""

DATABASE = "history.sqlite"
SNAPSHOT_FILE = "snapshot.json"
LOCKS = "/run/plumbline"

HISTORY = "/var/lib/plumbline-console/history.sqlite"
"""Of a whole site."""

PLAN = "/etc/plumbline-console/plan.json"
