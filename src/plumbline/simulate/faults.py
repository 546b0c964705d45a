"""Parts that have lost some of their speed, said by a person or drawn at random."""

from __future__ import annotations

import re
from random import Random
from typing import Iterable, NamedTuple, Sequence

from plumbline.errors import UsageError


class Fault(NamedTuple):
    """A part that has ``1 - loss`` of its capacity left from ``day`` on; the first day is 1."""

    component: str
    loss: float
    day: int = 1


class Losses(NamedTuple):
    """Losses to draw from: ``chosen`` ones, or all between the ``lowest`` and the ``highest``."""

    lowest: float
    highest: float
    chosen: tuple[float, ...] = ()

    def draw(self, chance: Random) -> float:
        """Return one of them."""
        if self.chosen:
            return chance.choice(self.chosen)
        return chance.uniform(self.lowest, self.highest)


def parse_fault(text: str) -> Fault:
    """Return the fault of ``oss03-hba=40%`` or ``oss03-hba=40%@12``; raise UsageError else."""
    component, equals, rest = text.partition("=")
    loss, at, day = rest.partition("@")
    if not (component and equals) or (at and not re.fullmatch(r"0*[1-9][0-9]{0,8}", day)):
        raise UsageError(
            f"fault {text!r} is not understood; write COMPONENT=LOSS or COMPONENT=LOSS@DAY, for "
            "example oss03-hba=40%@12, where day 1 is the first"
        )
    return Fault(component, _percent(loss, text), int(day) if at else 1)


def parse_losses(text: str) -> Losses:
    """Return the losses of ``20-90%``, ``40%`` or ``15,20,30%``; raise UsageError else."""
    first, dash, last = text.rstrip("%").partition("-")
    if dash:
        lowest, highest = _percent(first, text), _percent(last, text)
        if lowest > highest:
            raise UsageError(f"loss {text!r} begins above its end")
        return Losses(lowest, highest)
    chosen = tuple(_percent(one, text) for one in text.split(","))
    return Losses(min(chosen), max(chosen), chosen)


def _percent(text: str, whole: str) -> float:
    try:
        value = float(text.strip().rstrip("%")) / 100
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise UsageError(
            f"the loss in {whole!r} is not understood; write percent between 0 and 100, for "
            "example 40%"
        )
    return value


def random_faults(
    components: Sequence[str], count: int, losses: Losses, days: int, seed: str
) -> tuple[Fault, ...]:
    """Return faults of ``count`` different components that begin in the first half of ``days``."""
    chance = Random(seed)
    return tuple(
        Fault(component, losses.draw(chance), chance.randint(1, max(1, days // 2)))
        for component in chance.sample(components, count)
    )


def refuse_unknown(faults: Iterable[Fault], components: Iterable[str], days: int) -> None:
    """Refuse faults of parts that no measurement crosses, or that begin after the last day.

    Raises:
        UsageError: it names the fault.
    """
    known = frozenset(components)
    for fault in faults:
        if fault.component not in known:
            raise UsageError(
                f"no measurement of this site crosses {fault.component!r}; correct the name: "
                "plumbline plan shows the paths"
            )
        if fault.day > days:
            raise UsageError(f"the fault of {fault.component} begins after the last day, {days}")
