"""The targets of a parallel run: those that this node measures one by one, or given directories."""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Any, Mapping, NamedTuple, Sequence

from plumbline.cli.directories import named_directories
from plumbline.cli.parallel_terms import TOOL, Terms
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.ranks.terms import SPARE_S, limit_s
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.site.compare import own_locks
from plumbline.store.snapshot import EXPECTATIONS, load_expectations

ALL = "all"
"""What directories that are given together are called as a whole."""


class Members(NamedTuple):
    """The targets of one file system; ``servers`` are known from an inventory alone."""

    node: str
    name: str
    entries: tuple[Expectation, ...]
    servers: Mapping[str, str]
    limits: Limits


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
        _entry(name, ALL, {"kind": "directory", "directory": path}, (gethostname(), name))
        for name, path in directories.items()
    )
    return Members(gethostname(), ALL, entries, {}, Limits())


def _expected(arguments: argparse.Namespace) -> Members:
    """Return the targets of one file system that this node drives, or else measures alone."""
    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
    drives = any(entry.get("layer") == "fs" for entry in expectations.entries)
    found = [one for one in expectations.find("fs" if drives else "ost") if not one.parallel]
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
    entries = tuple(_entry(one.component, name, one.target, one.path) for one in kept)
    servers = {entry.component: entry.host for entry in kept}
    return Members(expectations.node, name, entries, servers, kept[0].limits)


def _entry(name: str, group: str, target: Mapping[str, Any], path: tuple[str, ...]) -> Expectation:
    return Expectation("fs", name, name, group, target, path, ProbeSpec(TOOL, 0, 0.0), {}, Limits())


def entries_of(members: Members, terms: Terms) -> tuple[Expectation, ...]:
    """Return what is expected of each target and, last, of all together."""
    references = {f"{one.value}/together": Reference(None, None) for one in terms.operations}
    longest = limit_s(terms.seconds, len(terms.operations)) + SPARE_S
    # in a group of its own: the sum is nobody's peer
    whole = _entry(
        members.name, f"{members.name} as a whole", {"kind": "parallel"}, (members.node,)
    )
    return tuple(
        one._replace(
            spec=terms.spec(len(members.entries)),
            references=references,
            limits=members.limits._replace(hung_after_s=longest),
            host=members.node,
        )
        for one in (*members.entries, whole)
    )


def document_of(members: Members, entries: tuple[Expectation, ...]) -> Expectations:
    """Return the entries as a document of this node."""
    return Expectations(members.node, "", tuple(entry.to_json() for entry in entries))


def locks_of(arguments: argparse.Namespace, members: Members) -> Locks:
    """Return the locks of the targets; directories have theirs by place, in the user's folder."""
    if not arguments.directory:
        return Locks(Path(arguments.locks), SystemClock())
    places = {one.component: str(one.target["directory"]) for one in members.entries}
    together = sha256("\n".join(sorted(places.values())).encode()).hexdigest()[:12]
    return own_locks({**places, members.name: together})
