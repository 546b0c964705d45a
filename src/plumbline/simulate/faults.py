"""Parts that have lost some of their speed, said by a person or drawn at random."""

from __future__ import annotations

import re
from random import Random
from typing import Collection, Iterable, NamedTuple, Sequence

from plumbline.errors import UsageError
from plumbline.model.record import Operation

RELEASE = "release-"
"""How the name of a release begins."""

SITE = "site"
"""Names all that is measured."""

NEIGHBOUR = "+neighbour"
"""Ends the name of a target or device, with whose nearest neighbour something is wrong as well."""


class Fault(NamedTuple):
    """What has ``1 - loss`` of its speed left from ``day`` on; the first day is 1.

    ``component`` is a part or target; or a file system, the whole ``site``, ``release-2.4.0`` or
    ``release-2.4.0/scratch``, which slow what they name and no part.  Day 0 is that of the
    installation.  ``operation`` is empty where all are slower.
    """

    component: str
    loss: float
    day: int = 1
    operation: str = ""

    @property
    def version(self) -> str:
        """Return the version of a release, empty where the fault is none."""
        name, _, _ = self.component.partition("/")
        return name[len(RELEASE) :] if name.startswith(RELEASE) else ""

    @property
    def system(self) -> str:
        """Return the file system that a release is installed for, empty for all."""
        return self.component.partition("/")[2] if self.version else ""

    @property
    def since(self) -> int:
        """Return the first day that is judged."""
        return max(1, self.day)


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


_OPERATIONS = tuple(operation.value for operation in Operation)


def parse_fault(text: str) -> Fault:
    """Return the fault of ``oss03-hba=40%``, ``oss03-hba=40%:read@12``; raise UsageError else."""
    component, equals, rest = text.partition("=")
    size, at, day = rest.partition("@")
    loss, colon, operation = size.partition(":")
    wrong = (at and not re.fullmatch(r"[0-9]{1,9}", day)) or (
        colon and operation not in _OPERATIONS
    )
    if not (component and equals) or wrong:
        raise UsageError(
            f"fault {text!r} is not understood; write COMPONENT=LOSS[:OPERATION][@DAY], for "
            "example oss03-hba=40%@12 or release-2.4.0=70%:read@40, where day 1 is the first and 0 "
            f"that of the installation; operations are {', '.join(_OPERATIONS)}"
        )
    return Fault(component, _percent(loss, text), int(day) if at else 1, operation)


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


def refuse_unknown(faults: Iterable[Fault], known: Known, days: int) -> None:
    """Refuse faults of what no measurement crosses, or that begin after the last day.

    Raises:
        UsageError: it names the fault.
    """
    for fault in faults:
        if fault.version and fault.system not in ("", *known.systems):
            raise UsageError(
                f"{fault.component!r} is for no file system of this site; it has "
                f"{', '.join(known.systems) or 'none'}"
            )
        wide = fault.version or fault.component in (SITE, *known.systems)
        if not wide and fault.component not in known.parts:
            raise UsageError(
                f"no measurement of this site crosses {fault.component!r}; correct the name: "
                "plumbline plan shows the paths"
            )
        if fault.day > days:
            raise UsageError(f"the fault of {fault.component} begins after the last day, {days}")


class Known(NamedTuple):
    """What may have a fault: parts and targets on a path, and file systems."""

    parts: Collection[str]
    systems: Sequence[str]
