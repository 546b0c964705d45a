"""Judge all targets of a file system that were driven at once: the whole, and its slowest targets.

The whole is judged by the usual rules against its baseline and ceiling, each target against its own
and its peers in the same run.  A slow target makes the whole slow: it is named, and both are one
verdict.  Further tests of the same targets, in turn, are judged by the rules of the whole: a loss
of small or shared calls alone is reported for its test.
"""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.absence import never, unfinished
from plumbline.judge.component import rulings_on, unmeasured, verdict
from plumbline.judge.floor import accepted, least_rate
from plumbline.judge.memory import Memory
from plumbline.judge.operations import label
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, summary
from plumbline.judge.rules import changed_profile
from plumbline.judge.service import evidence, figure
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS, layer_of
from plumbline.model.names import several
from plumbline.model.record import Operation
from plumbline.model.series import Running
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst

Entry = tuple[Expectation, Sequence[Ruling]]


class FileSystem(NamedTuple):
    """The expectations of one file system: the whole, its targets, and its further tests."""

    whole: Expectation
    members: tuple[Expectation, ...]
    tests: tuple[Expectation, ...]

    @property
    def entries(self) -> tuple[Expectation, ...]:
        """Return all of them, the whole first."""
        return (self.whole, *self.members, *self.tests)

    @property
    def driven(self) -> tuple[Expectation, ...]:
        """Return the entries with a run of their own, the whole first."""
        return (self.whole, *self.tests)


class Ruled(NamedTuple):
    """The rulings on a whole, on its members and on its further tests."""

    whole: Entry
    members: tuple[Entry, ...]
    tests: tuple[Entry, ...]

    @classmethod
    def of(cls, system: FileSystem, rulings: Callable[[Expectation], Sequence[Ruling]]) -> Ruled:
        """Return the rulings on each expectation of a file system."""
        whole, *ruled = ((entry, rulings(entry)) for entry in system.entries)
        number = len(system.members)
        return cls(whole, tuple(ruled[:number]), tuple(ruled[number:]))


def judge_whole(system: FileSystem, memory: Memory, now: float) -> Verdict:
    """Return the verdict on the last run of a file system alone.

    Raises:
        DocumentError: a document is damaged.
    """
    ruled = Ruled.of(
        system, lambda entry: rulings_on(entry, memory.of(entry.layer, entry.component), now)
    )
    return decide_whole(ruled, memory.running, now)


def file_systems(entries: Sequence[Expectation]) -> Iterator[FileSystem]:
    """Yield each file system of layer ``fs``."""
    expectations = [entry for entry in entries if LAYERS[entry.layer].whole]
    for whole in expectations:
        if whole.parallel and not whole.further:
            name = whole.component
            yield FileSystem(
                whole,
                tuple(member for member in expectations if member.group == name),
                tuple(test for test in expectations if test.further and test.file_system == name),
            )


def next_test(system: FileSystem, memory: Memory, now: float) -> Expectation:
    """Return the test of a file system whose turn it is: the one that ran longest ago.

    After any other, one whose last run was low comes first: a fault is seen again within two runs,
    and the others wait twice as long at most.  ``limits.stale_after_s`` allows for that.
    """
    started = {
        test.component: max(
            (series.latest.started_at for series in memory.of(test.layer, test.component)),
            default=0.0,
        )
        for test in system.driven
    }
    in_turn = sorted(system.driven, key=lambda test: started[test.component])
    low = [test for test in in_turn if _is_low(system, test, memory, now)]
    return low[0] if low and in_turn[-1] not in low else in_turn[0]


def _is_low(system: FileSystem, test: Expectation, memory: Memory, now: float) -> bool:
    """Return whether the last run of a test, or of the targets it judges, was not fine.

    A run below the floor is not: five of them are an alarm, which would take weeks of turns.
    """
    judged = (test,) if test.further else (test, *system.members)
    return any(
        (_is_news(ruling) and ruling.finding.reason is not Reason.STALE) or _is_below_floor(ruling)
        for entry in judged
        for ruling in rulings_on(entry, memory.of(entry.layer, entry.component), now)
    )


def _is_news(ruling: Ruling) -> bool:
    return ruling.finding.state is not State.OK and ruling.finding.reason not in _NO_NEWS


def _is_below_floor(ruling: Ruling) -> bool:
    measured = ruling.measured
    level = measured and least_rate(measured)
    if not measured or not level:
        return False
    return measured.rate < level and not accepted(measured, measured.rate)


def decide_whole(ruled: Ruled, running: Sequence[Running], now: float) -> Verdict:
    """Return the verdict from the rulings on a whole, its members and its tests."""
    expectation, rulings = ruled.whole
    figures = (*map(figure, rulings), *_slowest_figures(ruled), *_test_figures(ruled))
    hang, remark = unfinished([expectation, *(test for test, _ in ruled.tests)], running, now)
    if hang or not rulings:
        finding = hang or never("it", expectation)
        return unmeasured(expectation, finding, remark)._replace(figures=figures, group=True)
    own = [_by_hand(expectation, ruling) or _excused(ruling, ruled.members) for ruling in rulings]
    notable = [
        (entry.component, ruling)
        for entry, member_rulings in ruled.members
        for ruling in member_rulings
        if _is_notable(ruling) and not _shared_change(ruling, rulings)
    ]
    tested = [(test, ruling) for test, of_test in ruled.tests for ruling in of_test]
    test_faults = [(test, ruling) for test, ruling in tested if _is_news(ruling)]
    watched = [(test, ruling) for test, ruling in tested if ruling.finding.reason in _QUIET]
    of_tests = [ruling for _, ruling in (*test_faults, *watched)]
    decided = deciding([*(ruling for _, ruling in notable), *of_tests, *own])
    text = _fine_text(own, ruled.members)
    if decided.finding.state is not State.OK:
        text = _fault_text(own, notable, test_faults)
    text = "; ".join([text, *_named_tests(watched)]) + measured_ago((*rulings, *of_tests), now)
    return verdict(expectation, decided, text)._replace(
        sentence=f"file system {expectation.component} {text}{remark}",
        evidence=tuple(_evidence(own, (*ruled.members, *ruled.tests), now)),
        figures=figures,
        group=True,
        counts=decided.finding.counts and not _lacks_baseline(decided, ruled.members),
    )


_NO_NEWS = (Reason.KNOWN_STATE, Reason.NO_REFERENCE, Reason.NEVER_MEASURED)
"""Reasons of a test that the whole reports too, or that are usual in its first runs."""


_QUIET = (Reason.WATCHED, Reason.ALARM_ELSEWHERE)
"""Reasons of a slow test that is no alarm of its file system, or not yet, and is named."""


def _lacks_baseline(decided: Ruling, members: Sequence[Entry]) -> bool:
    """Return whether the only fault is that the whole has no baseline."""
    fine = all(ruling.finding.state is State.OK for _, rulings in members for ruling in rulings)
    return decided.finding.reason is Reason.NO_REFERENCE and fine and bool(members)


def _by_hand(expectation: Expectation, ruling: Ruling) -> Optional[Ruling]:
    """Return the ruling on a run by hand on other terms than the policy's, else None."""
    record = ruling.record
    if record is None or ruling.measured is None or record.spec_hash == expectation.spec.hash():
        return None
    text = (
        f"{ruling.measured.what} was last measured by hand, on other terms than the policy's; "
        f"run systemctl start {layer_of(expectation.layer).unit(expectation.component)}"
    )
    return ruling._replace(finding=Finding(State.UNKNOWN, Reason.OTHER_TERMS, text))


def _is_notable(ruling: Ruling) -> bool:
    """Return whether a member's ruling is news; the whole reports its other faults."""
    finding = ruling.finding
    if finding.state is State.OK or finding.reason is Reason.KNOWN_STATE:
        return False
    unusable = finding.reason is Reason.INVALID or finding.reason.contention
    return finding.state.alarm or unusable


def _shared_change(ruling: Ruling, whole: Sequence[Ruling]) -> bool:
    """Return whether a member's profile changed, and the whole's too."""
    if ruling.finding.reason is not Reason.PROFILE:
        return False
    return any(
        of_whole.operation is ruling.operation
        and of_whole.measured
        and changed_profile(of_whole.measured)
        for of_whole in whole
    )


def _excused(ruling: Ruling, members: Sequence[Entry]) -> Ruling:
    """Return a ruling on the whole; its loss is excused if its slowest target is."""
    if not (ruling.finding.reason.slow and ruling.finding.state.alarm):
        return ruling
    slowest = _slowest(members, ruling.operation)
    if slowest is None:
        return ruling
    name, cause = slowest
    text = f"{ruling.finding.text}; limited by {name}, {cause.finding.text}"
    state, reason = cause.finding.state, cause.finding.reason
    if reason is Reason.KNOWN_STATE or reason.contention:
        return ruling._replace(finding=Finding(state, reason, text, counts=False))
    return ruling


def _slowest(members: Sequence[Entry], operation: Operation) -> Optional[tuple[str, Ruling]]:
    """Return the target with the lowest rate of an operation, None without a rate."""
    rated = [
        (ruling.measured.rate, member.component, ruling)
        for member, rulings in members
        for ruling in rulings
        if ruling.operation is operation and ruling.measured
    ]
    return min(rated, key=lambda rate: rate[0])[1:] if rated else None


def _fault_text(
    own: Sequence[Ruling],
    notable: Sequence[tuple[str, Ruling]],
    test_faults: Sequence[tuple[Expectation, Ruling]],
) -> str:
    """Return the targets at fault, the worst first, and the fault of the whole.

    The tests follow; if only a test is slow, the text adds that the whole is fine.
    """
    texts = list(_named(notable))
    if worst(ruling.finding.state for ruling in own) is not State.OK:
        floors = [ruling.finding.text for ruling in own if ruling.finding.reason.below_requirement]
        decided = deciding(own).finding
        whole = "; ".join(floors) if decided.reason.below_requirement else decided.text
        if not notable and not test_faults and decided.reason.below_requirement:
            return whole
        texts.append(f"as a whole {whole}")
    only_tests = not texts and all(ruling.finding.reason.fine for ruling in own)
    texts += _named_tests(test_faults)
    if only_tests:
        texts.append(f"as a whole {_fine_text(own, ())}")
    return f"- {'; '.join(texts)}"


def _named_tests(tests: Sequence[tuple[Expectation, Ruling]]) -> Iterator[str]:
    return _named([(f"test {test.target['test']}", ruling) for test, ruling in tests])


def _named(notable: Sequence[tuple[str, Ruling]]) -> Iterator[str]:
    """Yield the worst by name with its fault, and the names of the others."""
    if notable:
        first = deciding([ruling for _, ruling in notable])
        name = next(name for name, ruling in notable if ruling is first)
        yield f"{name} {first.finding.text}"
        siblings = list(dict.fromkeys(other for other, _ in notable if other != name))
        if siblings:
            yield f"likewise {several(siblings)}"


def _fine_text(own: Sequence[Ruling], members: Sequence[Entry]) -> str:
    decided = deciding(own)
    if not decided.finding.reason.fine:
        return decided.finding.text
    text = summary([ruling.measured for ruling in own if ruling.measured])
    least = min(_shares(members, own), default=None)
    if least is None:
        return text
    share, name, what = least
    return f"{text}; slowest of {len(members)} targets {name}, {what} {share:.0f} % of its peers"


def _shares(members: Sequence[Entry], own: Sequence[Ruling]) -> Iterator[tuple[float, str, str]]:
    """Yield the slowest target's percentage of its peers for each operation."""
    for ruling in own:
        slowest = _slowest(members, ruling.operation)
        ratio = slowest[1].measured.ratio_peers if slowest and slowest[1].measured else None
        if slowest and ratio is not None:
            yield 100 * ratio, slowest[0], label(ruling.operation, ruling.scenario)


def _slowest_figures(ruled: Ruled) -> Iterator[Figure]:
    """Yield the slowest target's rate in percent of its peers', for each operation."""
    limits = ruled.whole[0].limits
    for share, _, what in _shares(ruled.members, ruled.whole[1]):
        name = f"{what.replace(' ', '_')}_slowest"
        yield Figure(name, share, "%", str(limits.warning), str(limits.critical))


def _test_figures(ruled: Ruled) -> Iterator[Figure]:
    for test, rulings in ruled.tests:
        for rate in (figure(ruling) for ruling in rulings if ruling.measured):
            yield rate._replace(label=f"{test.target['test']}_{rate.label}")


def _evidence(own: Sequence[Ruling], members: Sequence[Entry], now: float) -> Iterator[str]:
    for ruling in own:
        yield from evidence(ruling, now)
    for member, rulings in members:
        for ruling in rulings:
            yield from evidence(ruling, now, f"{member.component} ")
