"""Changes of conditions on the nodes of a site, in words."""

from __future__ import annotations

from pathlib import Path

from plumbline.model.trend import ConditionChange
from plumbline.observe.changes import grouped, latest
from plumbline.store.facts import collected_ledgers
from plumbline.store.plan import SitePlan

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
