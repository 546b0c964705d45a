"""Judge nodes day after day, as a simulation lets days pass."""

from __future__ import annotations

from math import inf
from typing import Iterator, Sequence

from plumbline.judge.past import Past
from plumbline.judge.weighing import Weighing
from plumbline.model.expectation import Expectation
from plumbline.model.memory import Weighable
from plumbline.model.verdict import Verdict
from plumbline.site.judging import Judging


class JudgingDaily:
    """Judges the nodes of one fleet day after day."""

    def __init__(self) -> None:
        """Know nothing of the days before."""
        self._past: dict[tuple[str, str], Past] = {}

    def __call__(
        self, chosen: Sequence[Expectation], memory: Weighable, now: float
    ) -> Iterator[Verdict]:
        """Yield the verdicts on what a node measures, at a moment.

        Only alarms count, so the odds of what raises none are not found.
        """
        if not chosen:
            return
        first = chosen[0]
        past = self._past.setdefault((first.layer, first.component), Past())
        weighing = Weighing({"": chosen}, {"": memory}, past, min_odds=inf)
        judging = Judging(memory, weighing, now, evidence=False)
        yield from judging.components(chosen)
        yield from judging.groups(chosen)
