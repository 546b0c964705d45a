"""Verdicts of a node or a whole site: all of them, those that somebody chooses, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.explain import explain
from plumbline.judge.judging import By, Judging
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.phrases import weighed
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.verdict import Judged, Verdict
from plumbline.site.nodes import judgement
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_expectations, load_snapshot


def judge_site(
    plan: SitePlan, history: Path, now: float, *, evidence: bool = False, members: bool = False
) -> list[Judged]:
    """Return the verdicts on all components and groups of a plan, node by node in its order.

    With ``members`` those on targets driven at once are among them; to put ``evidence`` into words
    takes half of the time.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    with judgement(plan, history, now) as site:
        return list(site.verdicts(evidence=evidence, members=members))


class Choice(NamedTuple):
    """Choice of a layer and a component; None is every one."""

    layer: Optional[str] = None
    component: Optional[str] = None

    def __str__(self) -> str:
        """Return it in words, for a document that has nothing of it."""
        return f"{self.component or 'component'} in layer {self.layer or ', '.join(LAYERS)}"

    def takes(self, layer: str, component: str) -> bool:
        """Return whether a component of a layer is asked for."""
        return self.component in (None, component) and self.layer in (None, layer)

    def of_node(self, node: Expectations) -> list[Expectation]:
        """Return the expectations asked for; a layer that is not named may be absent.

        Raises:
            DocumentError: there are none, or one is damaged.
        """
        present = {entry.get("layer") for entry in node.entries}
        layers = (self.layer,) if self.layer else [name for name in LAYERS if name in present]
        expectations = [
            each
            for layer in layers
            for each in node.find(layer)
            if self.takes(each.layer, each.component)
        ]
        if not expectations:
            raise DocumentError(
                f"expectations of {node.node} have no {self}; add it to the topology and deploy "
                "the role agent again"
            )
        return expectations


class Place(NamedTuple):
    """Chosen expectations of a node, its records, and the evidence of them."""

    chosen: Sequence[Expectation]
    memory: Memory
    known: EvidenceSource


class Explained(NamedTuple):
    """A verdict, and in lines how it came about."""

    verdict: Verdict
    lines: tuple[str, ...]


def place_here(expectations: str, snapshot: str, choice: Choice) -> tuple[str, Place]:
    """Return the name of this node, and what is asked for of it, from its two documents.

    Raises:
        DocumentError: it has nothing of the kind, or one of them cannot be read.
    """
    node = load_expectations(expectations)
    chosen = choice.of_node(node)
    known = load_snapshot(snapshot)
    return node.node, Place(chosen, known, known)


def judge_here(selection: Place, choice: Choice, now: float, *, last_run: bool) -> list[Verdict]:
    """Return the verdicts asked for of this node; with a component named, without groups."""
    chosen = selection.chosen
    by = By.LAST_RUN if last_run else By.RUNS
    judging = Judging(selection.memory, selection.known, now, by=by)
    if choice.component:
        return list(judging.components(chosen))
    # what is driven at once is judged as a whole
    alone = [each for each in chosen if not LAYERS[each.layer].whole]
    return [*judging.components(alone), *judging.groups(chosen)]


def judge_there(
    plan: SitePlan, history: Path, choice: Choice, now: float
) -> dict[str, list[Verdict]]:
    """Return the verdicts asked for of a site, by node.

    Raises:
        DocumentError: the plan has nothing of the kind, or is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    found: dict[str, list[Verdict]] = {}
    named = bool(choice.component)
    for judged in judge_site(plan, history, now, evidence=True, members=named):
        if choice.takes(judged.verdict.layer, judged.verdict.component):
            found.setdefault(judged.node, []).append(judged.verdict)
    if not found:
        raise _not_planned(plan, choice)
    return found


def explain_there(plan: SitePlan, history: Path, choice: Choice, now: float) -> list[Explained]:
    """Explain the verdicts asked for of a site; raise as ``judge_there`` does."""
    explained: list[Explained] = []
    with judgement(plan, history, now) as site:
        for node, measured in site.nodes.items():
            chosen = [each for each in measured if choice.takes(each.layer, each.component)]
            explained += explain_all(Place(chosen, site.memories[node], site.weighing), now)
    if not explained:
        raise _not_planned(plan, choice)
    return explained


def explain_all(place: Place, now: float) -> Iterator[Explained]:
    """Explain the verdicts on what is chosen."""
    chosen, memory, known = place
    for expectation, verdict in zip(chosen, Judging(memory, known, now).components(chosen)):
        series = memory.of(expectation.layer, expectation.component)
        yield Explained(
            verdict,
            (*weighed(known.evidence(expectation.subject)), *explain(expectation, series, now)),
        )


def _not_planned(plan: SitePlan, choice: Choice) -> DocumentError:
    return DocumentError(f"plan {plan.path} has no {choice}; add it to the topology and plan again")
