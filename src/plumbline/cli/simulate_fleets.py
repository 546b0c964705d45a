"""The fleets of ``plumbline simulate``, one after another or on several processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Iterator

from plumbline.cli.forked import forked, processors
from plumbline.run.unit_context import Step

if TYPE_CHECKING:
    from plumbline.simulate.fleets import Setting
    from plumbline.simulate.score import Outcome


def outcomes(setting: Setting, fleets: int, show: Callable[[Step], None]) -> Iterator[Outcome]:
    """Yield the outcome of each fleet in turn; ``show`` takes each step."""
    from plumbline.simulate.fleets import outcome_of
    from plumbline.site.daily import JudgingDaily

    count = processors(fleets)
    if count == 1:
        for number in range(fleets):
            yield outcome_of(setting, number, JudgingDaily, lambda day: show(_day(day, setting)))
        return
    found = forked(lambda number: outcome_of(setting, number, JudgingDaily), range(fleets), count)
    for number, outcome in enumerate(found, start=1):
        show(Step("fleets", number, fleets))
        yield outcome


def _day(day: int, setting: Setting) -> Step:
    return Step(f"day {day}", day, setting.days)
