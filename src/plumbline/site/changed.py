"""What conditions say of what was located: changes before a loss, hosts that differ from peers."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from plumbline.conditions.differences import differences
from plumbline.conditions.grouped import Grouped, grouped, telling
from plumbline.conditions.ledger import Ledger, latest
from plumbline.judge.phrases import date_of
from plumbline.locate.suspects import Located
from plumbline.model.state import State
from plumbline.model.trend import ConditionChange
from plumbline.site.nodes import opened
from plumbline.site.shared import SharedLoss
from plumbline.store.conditions import collected_ledgers
from plumbline.store.plan import SitePlan
from plumbline.symptoms.symptom import Direction, Symptom
from plumbline.units import DAY_S

_MOST_NAMED = 4
_PEERS = 24
_WIDE = 0.25
"""Of the nodes: what changes on fewer is no era of the site."""
_OF_AN_ERA = ("software", "firmware", "lustre")
_LONGEST_S = 30 * DAY_S
"""Before the first slow run, where no run before it is known."""


def with_changes(
    plan: SitePlan, history: Path, losses: Sequence[SharedLoss]
) -> tuple[SharedLoss, ...]:
    """Return shared losses, each with what changed before it on its hosts.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    if not losses:
        return ()
    ledgers, _ = collected_ledgers(history, plan.nodes)
    with opened(history) as kept:
        last = [kept.last_before(one.layer, one.members, one.since) for one in losses]
    kinds = plan.kinds(one.bill.node for one in ledgers)
    return tuple(
        loss.after(_said(list(_between(ledgers, loss, good)), kinds))
        for loss, good in zip(losses, last)
    )


def condition_changes(plan: SitePlan, history: Path, since: float) -> list[ConditionChange]:
    """Return the changes on all nodes since a moment, in words, by their dates."""
    ledgers, _ = collected_ledgers(history, plan.nodes)
    kinds = plan.kinds(one.bill.node for one in ledgers)
    return [
        ConditionChange(
            one.at,
            one.said(kinds),
            one.area in _OF_AN_ERA and len(one.nodes) >= _WIDE * len(ledgers),
            frozenset(one.nodes),
        )
        for one in grouped(latest(ledgers, since))
    ]


def differing(plan: SitePlan, history: Path, located: Located) -> tuple[Symptom, ...]:
    """Return what suspected hosts have otherwise than their peers, as symptoms of theirs.

    What several nodes have alike is no sign of one; some peers tell as much as a thousand.
    """
    names = {suspect.name for one in located.sets for suspect in one.suspects}
    kinds = plan.kinds(plan.nodes)
    beside: dict[str, list[str]] = {}
    for host in (name for name in kinds if name in names):
        peers = [name for name, kind in kinds.items() if kind == kinds[host] and name != host]
        beside[host] = [host, *peers[:_PEERS]]
    ledgers, _ = collected_ledgers(history, {name for some in beside.values() for name in some})
    return tuple(
        Symptom("conditions", host, "differs", State.OK, Direction.RAISES, one.sentence)
        for host, some in beside.items()
        for one in differences([each for each in ledgers if each.bill.node in some], kinds)
        if one.nodes == (host,)
    )


def _between(ledgers: Sequence[Ledger], loss: SharedLoss, good: float) -> Iterator[Grouped]:
    """Yield what may have changed after the last good run, at ``good``, and before the loss."""
    begin = max(good, loss.since - _LONGEST_S)
    own = [one for one in ledgers if one.bill.node in loss.hosts]
    yield from grouped(
        (node, change) for node, change in latest(own, begin) if change.before < loss.since
    )


def _said(changes: Sequence[Grouped], kinds: dict[str, str]) -> str:
    """Return e.g. ``2026-11-16: Lustre 2.3.0 -> 2.4.0 on all 24 servers``, the most telling."""
    if not changes:
        return ""
    named = "; ".join(one.said(kinds) for one in sorted(changes, key=telling)[:_MOST_NAMED])
    more = len(changes) - _MOST_NAMED
    rest = f"; {more} more: plumbline changes" if more > 0 else ""
    return f"{date_of(min(one.at for one in changes))}: {named}{rest}"
