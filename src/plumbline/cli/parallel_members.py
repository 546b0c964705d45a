"""The targets of a parallel run: those that this node measures one by one, or given directories."""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Sequence

from plumbline.cli.directories import named_directories
from plumbline.errors import UsageError
from plumbline.layers import WHOLE
from plumbline.layers.fs import FS
from plumbline.layers.ost import OST
from plumbline.model.limits import Limits
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.site.compare import own_locks
from plumbline.site.parallel import ALL, Members, member
from plumbline.store.places import EXPECTATIONS
from plumbline.store.snapshot import load_expectations


def members_of(arguments: argparse.Namespace, least: int = 2) -> Members:
    """Return the targets that the options choose; of directories there must be ``least``.

    Raises:
        UsageError: there is no such target or file system, or a directory cannot be used.
        DocumentError: the expectations of this node are missing or damaged.
    """
    return _given(arguments.directory, least) if arguments.directory else _expected(arguments)


def _given(given: Sequence[str], least: int) -> Members:
    directories = named_directories(given, least)
    if ALL in directories:
        raise UsageError(f"--directory {ALL}: that is the name of all together; take another one")
    entries = tuple(
        member(name, ALL, {"kind": "directory", "directory": path}, (gethostname(), name))
        for name, path in directories.items()
    )
    return Members(gethostname(), ALL, entries, {}, Limits())


def _expected(arguments: argparse.Namespace) -> Members:
    """Return the targets of one file system that this node drives, or else measures alone."""
    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
    drives = any(entry.get("layer") in WHOLE for entry in expectations.entries)
    found = [one for one in expectations.find(FS.name if drives else OST.name) if not one.parallel]
    names = list(dict.fromkeys(entry.group for entry in found))
    name = arguments.file_system or names[0]
    if name not in names or (len(names) > 1 and not arguments.file_system):
        raise UsageError(
            f"this node has the file systems {', '.join(names)}; choose one with --file-system"
        )
    chosen = [entry for entry in found if entry.group == name]
    wanted = arguments.component or [entry.component for entry in chosen]
    for unknown in set(wanted) - {entry.component for entry in chosen}:
        raise UsageError(f"{name} has no target {unknown} on this node; see plumbline plan")
    kept = [entry for entry in chosen if entry.component in wanted]
    entries = tuple(member(one.component, name, one.target, one.path) for one in kept)
    servers = {entry.component: entry.host for entry in kept}
    return Members(expectations.node, name, entries, servers, kept[0].limits)


def locks_of(arguments: argparse.Namespace, members: Members) -> Locks:
    """Return the locks of the targets; directories have theirs by place, in the user's folder."""
    if not arguments.directory:
        return Locks(Path(arguments.locks), SystemClock())
    places = {one.component: str(one.target["directory"]) for one in members.entries}
    together = sha256("\n".join(sorted(places.values())).encode()).hexdigest()[:12]
    return own_locks({**places, members.name: together})
