"""Where nodes and the console keep what is theirs, unless a call names another place."""

from __future__ import annotations

STATE = "/var/lib/plumbline"
"""Of a node: its history, its snapshot, its verdicts, its symptoms."""

DATABASE = "history.sqlite"
SNAPSHOT_FILE = "snapshot.json"
VERDICTS_FOLDER = "verdicts"
EXPECTATIONS = "/etc/plumbline/expectations.json"
SNAPSHOT = "/var/lib/plumbline/snapshot.json"
VERDICTS = "/var/lib/plumbline/verdicts"
"""What checks read."""

READERS = "plumbline-checks"
"""The group of who runs checks, made by the role agent."""

LOCKS = "/run/plumbline"

HISTORY = "/var/lib/plumbline-console/history.sqlite"
"""Of a whole site."""

PLAN = "/etc/plumbline-console/plan.json"
