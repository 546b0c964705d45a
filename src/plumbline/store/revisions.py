"""The tables of a history that count changes, and that keep what was judged.

The database itself counts how often the records of a component have changed, whoever wrote them.
"""

from __future__ import annotations

_REVISED = (
    "CREATE TRIGGER records_{event} AFTER {event} ON records BEGIN UPDATE revisions SET "
    "revision = revision + 1 WHERE layer = {row}.layer AND component = {row}.component; INSERT "
    "INTO revisions SELECT {row}.layer, {row}.component, 1 WHERE NOT EXISTS (SELECT 1 FROM "
    "revisions WHERE layer = {row}.layer AND component = {row}.component); END;"
)
KEPT = f"""CREATE TABLE revisions (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (layer, component)
) WITHOUT ROWID;
CREATE TABLE kept (
    name TEXT PRIMARY KEY,
    rests_on TEXT NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,
    body TEXT NOT NULL
);
{_REVISED.format(event="INSERT", row="NEW")}
{_REVISED.format(event="UPDATE", row="NEW")}
{_REVISED.format(event="DELETE", row="OLD")}"""
