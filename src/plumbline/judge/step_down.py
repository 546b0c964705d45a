"""The rule on a lasting step down from a component's own earlier runs."""

from __future__ import annotations

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.phrases import figures, moment
from plumbline.judge.step import BEFORE
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.reason import Reason
from plumbline.model.state import State

if TYPE_CHECKING:
    from typing import Optional

    from plumbline.judge.measured import Measured

_COVERAGE_HALVED = 0.5


def step_down(of: Measured) -> Optional[Finding]:
    """See whether the last runs are below those before, and their middle beyond a level of these.

    Where coverage has halved meanwhile, others explain the loss.
    """
    step = of.step
    if step is None or not of.low(100 * step.ratio) or of.accepted:
        return None
    if step.highest > 1 - of.limits.peer_loss or step.coverage < _COVERAGE_HALVED:
        return None
    text = (
        f"{figures(of)}: stepped down on {moment(step.since)}, to {100 * step.ratio:.0f} % of the "
        f"{BEFORE} runs before"
    )
    return Finding(State.WARNING, Reason.STEP_DOWN, text)


def _explain(of: Measured) -> str:
    step = of.step
    if step is None:
        return "too few runs of its own"
    return (
        f"since {moment(step.since)} {100 * step.ratio:.0f} % of the runs before, the best "
        f"{100 * step.highest:.0f} %, coverage {100 * step.coverage:.0f} %"
        f"{'; as accepted with the baseline' if of.accepted else ''}"
    )


STEP_DOWN = Rule(Reason.STEP_DOWN, step_down, _explain)
