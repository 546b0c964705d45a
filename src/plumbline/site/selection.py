"""The verdicts that somebody asks for: of one layer or component, of this node or of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.explain import explain
from plumbline.judge.phrases import weighed
from plumbline.layers import LAYERS, WHOLE
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.memory import Knowing, Memory
from plumbline.model.verdict import Verdict
from plumbline.site.judge import judge_site
from plumbline.site.judging import Judging
from plumbline.site.nodes import memories
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_expectations, load_snapshot


class Choice(NamedTuple):
    """What is asked for; None is every layer, or every component."""

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
        found = [
            each
            for layer in layers
            for each in node.find(layer)
            if self.takes(each.layer, each.component)
        ]
        if not found:
            raise DocumentError(
                f"expectations of {node.node} have no {self}; add it to the topology and deploy "
                "the role agent again"
            )
        return found


class Place(NamedTuple):
    """What is asked for of a node, what that remembers, and what is known of it."""

    chosen: Sequence[Expectation]
    memory: Memory
    known: Knowing


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
    judging = Judging(selection.memory, selection.known, now, last_run=last_run)
    if choice.component:
        return list(judging.components(chosen))
    # what is driven at once is judged as a whole
    alone = [each for each in chosen if each.layer not in WHOLE]
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
    for one in judge_site(plan, history, now, evidence=True, members=named):
        if choice.takes(one.verdict.layer, one.verdict.component):
            found.setdefault(one.node, []).append(one.verdict)
    if not found:
        raise _not_planned(plan, choice)
    return found


def places_there(plan: SitePlan, history: Path, choice: Choice) -> Iterator[Place]:
    """Yield what is asked for of a site, node by node; raise as ``judge_there`` does."""
    asked = False
    for _, expected, memory, known in memories(plan, history):
        chosen = [each for each in expected if choice.takes(each.layer, each.component)]
        if chosen:
            asked = True
            yield Place(chosen, memory, known)
    if not asked:
        raise _not_planned(plan, choice)


def explain_all(places: Iterable[Place], now: float) -> Iterator[Explained]:
    """Explain the verdicts on what is expected, each with the memory of the node that expects."""
    for chosen, memory, known in places:
        for expectation, verdict in zip(chosen, Judging(memory, known, now).components(chosen)):
            series = memory.of(expectation.layer, expectation.component)
            yield Explained(
                verdict,
                (
                    *weighed(known.evidence(expectation.subject)),
                    *explain(expectation, series, now),
                ),
            )


def _not_planned(plan: SitePlan, choice: Choice) -> DocumentError:
    return DocumentError(f"plan {plan.path} has no {choice}; add it to the topology and plan again")
