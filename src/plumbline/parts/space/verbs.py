"""``plumbline space``: how full each target is, and when it is full."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Iterator, Optional, Sequence

from plumbline.cli.options import asks_for_site, nothing_deployed, real_path
from plumbline.cli.output import remark, show
from plumbline.doors.table import render
from plumbline.measure.targets.lustre import LUSTRE
from plumbline.model.command import CommandRunner
from plumbline.model.errors import DocumentError, SkipTarget, StoreError, ToolError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.space import (
    Amount,
    Outlook,
    SpaceReport,
    SpaceTerms,
    SystemSpace,
    TargetOutlook,
)
from plumbline.model.units import format_bytes
from plumbline.model.verdict import Verdict, worst
from plumbline.observe.command import SystemRunner
from plumbline.observe.mounts import mount_holding
from plumbline.parts.space.contract import system_looks, terms_of
from plumbline.parts.space.history import looks, record_of
from plumbline.parts.space.outlook import Look, system_space
from plumbline.parts.space.publish import publish
from plumbline.parts.space.reading import read_lustre, read_targets
from plumbline.parts.space.verdict import judge_space, percent, trend
from plumbline.store.database import Store
from plumbline.store.files import DATABASE
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from plumbline.store.snapshot import load_expectations

_POLICY = "write space: {} into the policy and deploy site.yml"


def space(arguments: argparse.Namespace) -> int:
    """Print the space of each file system; return the worst state."""
    now = time.time()
    site = asks_for_site(arguments)
    if arguments.save and (site or arguments.mount):
        raise UsageError("--save keeps what a deployed node reads: leave out --plan and --mount")
    if site:
        found = system_looks(
            terms_of(load_plan(arguments.plan).nodes), Path(arguments.history), now
        )
        if not found:
            raise StoreError(
                f"no node has sent a look at space; {_POLICY}, then run plumbline collect"
            )
        return _shown(
            arguments,
            [own.system for own in found],
            [own.verdict for own in found],
        )
    if arguments.mount:
        systems = [system_space([_mounted(SystemRunner(), arguments.mount, now)])]
    else:
        systems = _of_node(arguments, now)
    verdicts = [judge_space(system, now, system.terms.stale_after_s) for system in systems]
    return _shown(arguments, systems, verdicts)


def _mounted(run: CommandRunner, path: str, now: float) -> Look:
    """Return the look at the Lustre mount that holds a folder, which no plan names.

    Raises:
        UsageError: it is no Lustre.
        ToolError: it cannot be read.
    """
    folder = real_path(path, "--mount")
    try:
        mount = mount_holding(run, folder)
        if mount.kind != LUSTRE.mounted:
            raise UsageError(
                f"--mount {path} lies on {mount.source} ({mount.kind}); name a mount of Lustre"
            )
        return Look(SpaceTerms(mount.point), now, read_lustre(run, mount.point))
    except SkipTarget as trouble:
        raise ToolError(str(trouble)) from trouble


def _of_node(arguments: argparse.Namespace, now: float) -> list[SystemSpace]:
    """Return the space of what this node measures; with ``--save`` keep and publish it."""
    if nothing_deployed(arguments):
        raise DocumentError(
            "nothing is deployed here; name a mount of Lustre: plumbline space --mount /scratch"
        )
    node = load_expectations(arguments.expectations)
    planned = node.space
    if arguments.save and not planned:
        raise DocumentError(f"the plan lets {node.node} keep no space; {_POLICY}")
    run = SystemRunner()
    taken = [
        _look(run, entries, terms, now)
        for terms in planned or _default_terms(node)
        if (entries := _entries(node, terms.file_system))
    ]
    if not taken:
        raise DocumentError(
            f"{node.node} measures no storage targets; call it on a client of the file system"
        )
    state = Path(arguments.state)
    if not arguments.save:
        return _with_past(taken, state / DATABASE, node.node)
    with History(state / DATABASE) as history:
        systems = [_system(history, look, node.node) for look in taken]
        for look in taken:
            history.save(record_of(look, node.node))
        history.prune_space(now)
    publish(SpaceReport(node.node, tuple(systems)), state)
    return systems


def _entries(node: Expectations, file_system: str) -> list[Expectation]:
    """Return the storage targets of a file system that this node measures."""
    return [
        entry
        for layer in node.layers()
        if LAYERS[layer].per_target
        for entry in node.find(layer)
        if entry.file_system == file_system
    ]


def _default_terms(node: Expectations) -> list[SpaceTerms]:
    """Return the default limits of each file system that this node measures."""
    names = [entry["group"] for entry in node.entries if LAYERS[entry["layer"]].per_target]
    return [SpaceTerms(name) for name in dict.fromkeys(names)]


def _look(
    run: CommandRunner, entries: Sequence[Expectation], terms: SpaceTerms, now: float
) -> Look:
    try:
        return Look(terms, now, read_targets(run, entries, terms.quotas))
    except (SkipTarget, ToolError) as trouble:
        return Look(terms, now, trouble=str(trouble))


def _with_past(taken: Sequence[Look], path: Path, node: str) -> list[SystemSpace]:
    """Return looks with the trends of the history, as far as this user may read it."""
    try:
        with Store(path, existing=True) as store:
            return [_system(store, look, node) for look in taken]
    except StoreError as trouble:
        remark(f"without forecasts: {trouble}")
        return [system_space([look]) for look in taken]


def _system(store: Store, look: Look, node: str) -> SystemSpace:
    return system_space([*looks(store, node, look.terms.file_system, look.at), look])


def _shown(
    arguments: argparse.Namespace, systems: Sequence[SystemSpace], verdicts: Sequence[Verdict]
) -> int:
    document = {"schema": 1, "systems": systems, "verdicts": verdicts}
    show(arguments, document, _lines(systems, verdicts))
    return worst(verdict.state for verdict in verdicts)


_HEADERS = ("target", "used", "size", "free", "forecast", "inodes used", "free inodes", "forecast")


def _lines(systems: Sequence[SystemSpace], verdicts: Sequence[Verdict]) -> Iterator[str]:
    for place, (system, verdict) in enumerate(zip(systems, verdicts)):
        yield from [""] if place else []
        yield f"{verdict.state.name} {verdict.sentence}"
        if system.targets:
            yield render(_HEADERS, [_row(item) for item in system.targets])


def _row(item: TargetOutlook) -> tuple[str, ...]:
    target = item.target
    if target.trouble:
        return (target.name, "not known", "", "", target.trouble, "", "", "")
    size = "" if target.space is None else format_bytes(target.space.total)
    free = "" if target.space is None else format_bytes(target.space.free)
    inodes = "" if target.inodes is None else f"{target.inodes.free:,}"
    return (
        target.name,
        _fill(target.space),
        size,
        free,
        _forecast(item.space),
        _fill(target.inodes),
        inodes,
        _forecast(item.inodes, inodes=True),
    )


def _fill(amount: Optional[Amount]) -> str:
    return "not known" if amount is None else percent(amount.fill)


def _forecast(outlook: Optional[Outlook], *, inodes: bool = False) -> str:
    return "" if outlook is None else trend(outlook, inodes=inodes)
