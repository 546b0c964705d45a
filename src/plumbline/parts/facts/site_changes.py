"""Changes of conditions on the nodes of a site, in words, and hosts unlike their peers."""

from __future__ import annotations

from pathlib import Path
from typing import Collection, Mapping, Sequence

from plumbline.judge.phrases import date_of
from plumbline.model.symptom import Direction, Symptom
from plumbline.model.trend import ConditionChange
from plumbline.model.verdict import State
from plumbline.parts.facts.changes import ChangeGroup, differences, grouped, latest, priority
from plumbline.store.facts import collected_ledgers
from plumbline.store.plan import SitePlan

_MAX_NAMED = 4
_PEERS = 24


def changes_between(
    plan: SitePlan, history: Path, spans: Sequence[tuple[frozenset[str], float, float]]
) -> list[str]:
    """Return the changes on some hosts from one time up to another, for each span, in words.

    A span is the hosts, begin and end, in seconds since the epoch; a text names the most important
    changes first, such as ``2026-11-16: Lustre 2.3.0 -> 2.4.0 on all 24 servers``, and is empty if
    none are known.
    """
    ledgers, _ = collected_ledgers(history, plan.nodes)
    kinds = plan.kinds(ledger.node for ledger in ledgers)
    return [
        _in_words(
            grouped(
                (node, change)
                for node, change in latest([each for each in ledgers if each.node in hosts], begin)
                if change.before < end
            ),
            kinds,
        )
        for hosts, begin, end in spans
    ]


def _in_words(changes: Sequence[ChangeGroup], kinds: Mapping[str, str]) -> str:
    if not changes:
        return ""
    listed = "; ".join(
        change.sentence(kinds) for change in sorted(changes, key=priority)[:_MAX_NAMED]
    )
    hidden = len(changes) - _MAX_NAMED
    rest = f"; {hidden} more: plumbline changes" if hidden > 0 else ""
    return f"{date_of(min(change.at for change in changes))}: {listed}{rest}"


def differing(plan: SitePlan, history: Path, hosts: Collection[str]) -> tuple[Symptom, ...]:
    """Return differences of hosts from their peers, as symptoms.

    A difference that several nodes have in common is no symptom; a few peers suffice.
    """
    kinds = plan.kinds(plan.nodes)
    compared: dict[str, list[str]] = {}
    for host in (name for name in kinds if name in hosts):
        peers = [name for name, kind in kinds.items() if kind == kinds[host] and name != host]
        compared[host] = [host, *peers[:_PEERS]]
    ledgers, _ = collected_ledgers(history, {name for group in compared.values() for name in group})
    return tuple(
        Symptom("conditions", host, "differs", State.OK, Direction.RAISES, difference.sentence)
        for host, group in compared.items()
        for difference in differences([each for each in ledgers if each.node in group], kinds)
        if difference.nodes == (host,)
    )


_WIDE = 0.25
"""Least share of the nodes for a change that begins an era of the site."""
_OF_AN_ERA = ("software", "firmware", "lustre")


def condition_changes(plan: SitePlan, history: Path, since: float) -> list[ConditionChange]:
    """Return the changes on all nodes since an epoch time, as text with dates."""
    ledgers, _ = collected_ledgers(history, plan.nodes)
    kinds = plan.kinds(ledger.node for ledger in ledgers)
    return [
        ConditionChange(
            change.at,
            change.sentence(kinds),
            change.area in _OF_AN_ERA and len(change.nodes) >= _WIDE * len(ledgers),
            frozenset(change.nodes),
        )
        for change in grouped(latest(ledgers, since))
    ]
