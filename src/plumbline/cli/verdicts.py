"""The verdicts on what a node measures: on each component, then on each group of siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.component import judge
from plumbline.judge.group import judge_group
from plumbline.judge.pair import judge_pair_host
from plumbline.model.state import State
from plumbline.model.verdict import Verdict

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Memory


def on_components(chosen: Sequence[Expectation], memory: Memory, now: float) -> Iterator[Verdict]:
    """Yield the verdict on each component; one whose document is damaged is UNKNOWN."""
    for each in chosen:
        judging = judge_pair_host if each.layer == "net" else judge
        try:
            series = memory.of(each.layer, each.component)
            yield judging(each, series, memory.running, now)
        except DocumentError as error:
            yield _damaged(each.layer, each.component, error)


def on_groups(chosen: Sequence[Expectation], memory: Memory, now: float) -> Iterator[Verdict]:
    """Yield the verdict on each group of siblings; a node has one component of the layer net."""
    groups: dict[tuple[str, str], list[Expectation]] = {}
    for each in chosen:
        groups.setdefault((each.layer, each.group), []).append(each)
    for (layer, group), members in groups.items():
        if layer != "net" and len(members) > 1:
            try:
                yield judge_group(members, memory, now)
            except DocumentError as error:
                yield _damaged(layer, group, error)._replace(group=True)


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict where a document is damaged for one component; the others go on."""
    return Verdict(layer, name, State.UNKNOWN, 1, f"{name} cannot be judged: {error}")
