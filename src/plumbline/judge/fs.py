"""Judge all targets of a file system that were driven at once: the whole, and who holds it up.

The whole goes by the usual rules against its baseline and ceiling, each target against its own and
beside the others of the same run.  One target that is slow makes the whole slow: it is named, and
both are one verdict.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.absence import hung_run, interruption, never
from plumbline.judge.component import alone, rulings_on, verdict
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.operations import label
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, several, summary
from plumbline.judge.rules import other_course
from plumbline.judge.service import by_evidence, evidence, figure
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation
from plumbline.model.series import Running
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst

Each = tuple[Expectation, Sequence[Ruling]]


class Ruled(NamedTuple):
    """The rulings on a whole and on its members."""

    whole: Each
    members: tuple[Each, ...]


def judge_whole(
    entries: Sequence[Expectation],
    name: str,
    memory: Memory,
    now: float,
    weighing: Optional[EvidenceSource] = None,
) -> Verdict:
    """Return the verdict on the file system ``name`` among the expectations of layer ``fs``.

    Without ``known``, what the last runs say together, it is what the last run says alone.

    Raises:
        DocumentError: there is no such file system, or a document is damaged.
    """
    for whole, members in wholes(entries):
        if whole.component == name:
            ruled = []
            for each in (whole, *members):
                rulings = rulings_on(each, memory.of(each.layer, each.component), now)
                if weighing:
                    rulings = by_evidence(rulings, weighing.evidence(each.subject))
                ruled.append((each, rulings))
            return decide_whole(Ruled(ruled[0], tuple(ruled[1:])), memory.running, now)
    raise DocumentError(
        f"expectations have no file system {name} in layer fs; name its first client in the "
        "policy and deploy the role agent again"
    )


def wholes(
    entries: Sequence[Expectation],
) -> Iterator[tuple[Expectation, tuple[Expectation, ...]]]:
    """Yield each file system of layer ``fs`` with its targets."""
    expectations = [entry for entry in entries if LAYERS[entry.layer].whole]
    for whole in expectations:
        if whole.parallel:
            yield whole, tuple(each for each in expectations if each.group == whole.component)


def decide_whole(ruled: Ruled, running: Sequence[Running], now: float) -> Verdict:
    """Return the verdict that follows from the rulings on a whole and its members."""
    expectation, rulings = ruled.whole
    figures = (*map(figure, rulings), *_slowest_figures(ruled))
    hang = hung_run(expectation, running, now)
    remark = interruption(expectation, running)
    if hang or not rulings:
        finding = hang or never("it", expectation.layer)
        return alone(expectation, finding, remark)._replace(figures=figures, group=True)
    own = [_by_hand(expectation, ruling) or _excused(ruling, ruled.members) for ruling in rulings]
    notable = [
        (each.component, ruling)
        for each, of_member in ruled.members
        for ruling in of_member
        if _is_notable(ruling) and not _with_all(ruling, rulings)
    ]
    decided = deciding([*(ruling for _, ruling in notable), *own])
    text = (
        _bad(own, notable) if decided.finding.state is not State.OK else _fine(own, ruled.members)
    )
    text += measured_ago(rulings, now)
    return verdict(expectation, decided, text)._replace(
        sentence=f"file system {expectation.component} {text}{remark}",
        evidence=tuple(_evidence(own, ruled.members, now)),
        figures=figures,
        group=True,
        counts=decided.finding.counts and not _lacks_baseline(decided, ruled.members),
    )


def _lacks_baseline(decided: Ruling, members: Sequence[Each]) -> bool:
    """Return whether nothing is wrong but that nobody knows what a whole should give."""
    fine = all(ruling.finding.state is State.OK for _, rulings in members for ruling in rulings)
    return decided.finding.reason is Reason.NO_REFERENCE and fine and bool(members)


def _by_hand(expectation: Expectation, ruling: Ruling) -> Optional[Ruling]:
    """Return the ruling on a run that a person has made on other terms than the policy's."""
    record = ruling.record
    if record is None or ruling.measured is None or record.spec_hash == expectation.spec.hash():
        return None
    text = (
        f"{ruling.measured.what} was last measured by hand, on other terms than the policy's; "
        "run systemctl start plumbline-fs.service"
    )
    return ruling._replace(finding=Finding(State.UNKNOWN, Reason.OTHER_TERMS, text))


def _is_notable(ruling: Ruling) -> bool:
    """Return whether a member's ruling is news; what else is wrong with it, the whole says too."""
    finding = ruling.finding
    if finding.state is State.OK or finding.reason is Reason.KNOWN_STATE:
        return False
    unusable = finding.reason is Reason.INVALID or finding.reason.contention
    return finding.state.alarm or unusable


def _with_all(ruling: Ruling, whole: Sequence[Ruling]) -> bool:
    """Return whether a member went another course than before, and so did the whole."""
    if ruling.finding.reason is not Reason.PROFILE:
        return False
    return any(
        of_whole.operation is ruling.operation
        and of_whole.measured
        and other_course(of_whole.measured)
        for of_whole in whole
    )


def _excused(ruling: Ruling, members: Sequence[Each]) -> Ruling:
    """Return a ruling on the whole; its loss is known where what holds it up has an excuse."""
    if not (ruling.finding.reason.slow and ruling.finding.state.alarm):
        return ruling
    slowest = _slowest(members, ruling.operation)
    if slowest is None:
        return ruling
    name, by = slowest
    text = f"{ruling.finding.text}; limited by {name}, {by.finding.text}"
    state, reason = by.finding.state, by.finding.reason
    if reason is Reason.KNOWN_STATE or reason.contention:
        return ruling._replace(finding=Finding(state, reason, text, counts=False))
    return ruling


def _slowest(members: Sequence[Each], operation: Operation) -> Optional[tuple[str, Ruling]]:
    """Return the target with the lowest rate of an operation, None where none has a rate."""
    rated = [
        (ruling.measured.rate, each.component, ruling)
        for each, rulings in members
        for ruling in rulings
        if ruling.operation is operation and ruling.measured
    ]
    return min(rated, key=lambda rate: rate[0])[1:] if rated else None


def _bad(own: Sequence[Ruling], notable: Sequence[tuple[str, Ruling]]) -> str:
    """Return the targets that are to blame, the worst first, and what is wrong with the whole."""
    texts = []
    names = [name for name, _ in notable]
    if notable:
        first = deciding([ruling for _, ruling in notable])
        name = next(name for name, ruling in notable if ruling is first)
        texts.append(f"{name} {first.finding.text}")
        siblings = list(dict.fromkeys(other for other in names if other != name))
        if siblings:
            texts.append(f"likewise {several(siblings)}")
    if worst(ruling.finding.state for ruling in own) is not State.OK:
        floors = [ruling.finding.text for ruling in own if ruling.finding.reason.low_from_the_start]
        decided = deciding(own).finding
        whole = "; ".join(floors) if decided.reason.low_from_the_start else decided.text
        if not notable and decided.reason.low_from_the_start:
            return whole
        texts.append(f"as a whole {whole}")
    return f"- {'; '.join(texts)}"


def _fine(own: Sequence[Ruling], members: Sequence[Each]) -> str:
    decided = deciding(own)
    if not decided.finding.reason.fine:
        return decided.finding.text
    text = summary([ruling.measured for ruling in own if ruling.measured])
    least = min(_shares(members, own), default=None)
    if least is None:
        return text
    share, name, what = least
    return f"{text}; slowest of {len(members)} targets {name}, {what} {share:.0f} % of its peers"


def _shares(members: Sequence[Each], own: Sequence[Ruling]) -> Iterator[tuple[float, str, str]]:
    """Yield for each operation the slowest target's percentage of its peers."""
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


def _evidence(own: Sequence[Ruling], members: Sequence[Each], now: float) -> Iterator[str]:
    for ruling in own:
        yield from evidence(ruling, now)
    for each, rulings in members:
        for ruling in rulings:
            yield from evidence(ruling, now, f"{each.component} ")
