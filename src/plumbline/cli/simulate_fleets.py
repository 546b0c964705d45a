"""The fleets of ``plumbline simulate``, one after another or on several processors."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional, Sequence

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.model.verdict import Verdict
    from plumbline.run.bench import Step
    from plumbline.simulate.capacity import Capacity
    from plumbline.simulate.course import Scenario
    from plumbline.simulate.faults import Fault, Losses
    from plumbline.simulate.fleet import Fleet
    from plumbline.simulate.memory import Memory
    from plumbline.simulate.noise import Noise
    from plumbline.simulate.score import Outcome


class Setting(NamedTuple):
    """What is the same for all fleets."""

    fleet: Fleet
    capacity: Capacity
    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    random_faults: int
    losses: Losses
    seed: int
    budget: float


def outcomes(setting: Setting, fleets: int) -> Iterator[Outcome]:
    """Yield the outcome of each fleet in turn; on several processors where there are several."""
    from plumbline.cli.progress import progress
    from plumbline.run.bench import Step
    from plumbline.site.garbage import without_collector

    processes = min(fleets, len(os.sched_getaffinity(0)))
    with without_collector(), progress(quiet=False) as show:
        if processes == 1:
            for number in range(fleets):
                yield _one(setting, number, show)
            return
        context = multiprocessing.get_context("fork")
        with context.Pool(processes, _Worker.begin, (setting,)) as pool:
            for number, outcome in enumerate(pool.imap(_Worker.one, range(fleets)), start=1):
                show(Step("fleets", number, fleets))
                yield outcome


class _Worker:
    """A process that was forked with the setting, which is large."""

    setting: Optional[Setting] = None

    @classmethod
    def begin(cls, setting: Setting) -> None:
        cls.setting = setting

    @classmethod
    def one(cls, number: int) -> Outcome:
        assert cls.setting is not None
        return _one(cls.setting, number)


def _one(setting: Setting, number: int, show: Optional[Callable[[Step], None]] = None) -> Outcome:
    """Return the outcome of one fleet; it depends on the seed and its number alone."""
    from plumbline.simulate.course import Scenario
    from plumbline.simulate.faults import random_faults

    seed = f"{setting.seed}/{number}"
    faults = setting.faults + random_faults(
        setting.capacity.components,
        setting.random_faults,
        setting.losses,
        setting.days,
        f"{seed}/faults",
    )
    new = any(fault.day == 0 for fault in faults)
    scenario = Scenario(setting.days, setting.noise, faults, seed, new)
    outcome = _scored(setting, scenario, faults, show)
    if faults:
        without = _scored(setting, scenario._replace(faults=()), faults, show)
        outcome = outcome._replace(chance=without.trials)
    return outcome


def _scored(
    setting: Setting,
    scenario: Scenario,
    faults: Sequence[Fault],
    show: Optional[Callable[[Step], None]],
) -> Outcome:
    """Return what the days of a scenario are worth if there are these faults, or were."""
    from plumbline.run.bench import Step
    from plumbline.simulate.course import course
    from plumbline.simulate.score import Score

    score = Score(setting.fleet, setting.capacity, faults, setting.days)
    for today in course(setting.fleet, setting.capacity, scenario, JudgingDaily()):
        score.take(today._replace(faults=tuple(one for one in faults if one.day <= today.day)))
        if show:
            show(Step(f"day {today.day}", today.day, setting.days))
    return score.outcome()


class JudgingDaily:
    """Judges the nodes of one fleet day after day."""

    def __init__(self) -> None:
        """Know nothing of the days before."""
        self._past: dict[tuple[str, str], Any] = {}

    def __call__(
        self, chosen: Sequence[Expectation], memory: Memory, now: float
    ) -> Iterator[Verdict]:
        """Yield the verdicts on what a node measures, at a moment."""
        from plumbline.judge.past import Past
        from plumbline.judge.weighing import Weighing
        from plumbline.site.judging import Judging

        if not chosen:
            return
        first = chosen[0]
        past = self._past.setdefault((first.layer, first.component), Past())
        weighing = Weighing({"": chosen}, {"": memory}, past)
        judging = Judging(memory, weighing, now, evidence=False)
        yield from judging.components(chosen)
        yield from judging.groups(chosen)
