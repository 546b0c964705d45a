"""Verdict on a whole group: losses that all members share, and its members' own alarms.

The verdict shows the median of one night; an alarm takes the evidence of several.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.floor import REMEDY, group_below
from plumbline.judge.operations import label
from plumbline.judge.phrases import (
    Finding,
    Ruling,
    also,
    elsewhere,
    likewise,
    over_runs,
    so_far,
    weighed,
)
from plumbline.judge.service import severity
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits
from plumbline.model.names import several
from plumbline.model.record import Operation, Scenario
from plumbline.model.serving import first_server, serving
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst

_BROKEN = (Reason.BROKEN, Reason.HUNG)


def notes_on(ruled: Sequence[tuple[Expectation, Sequence[Ruling]]]) -> Iterator[Finding]:
    """Yield each fault other than speed once.

    A dead server or mount has no service of its own on the node that misses it: this is its alarm.
    A broken member has one, so the group only shows it.
    """
    obstacles: dict[tuple[Reason, str], dict[str, None]] = {}
    broken: dict[str, Reason] = {}
    for member, rulings in ruled:
        for ruling in rulings:
            cause = _cause(member, ruling)
            if cause:
                place = ruling.finding.reason, cause
                obstacles.setdefault(place, {})[member.component] = None
            elif ruling.finding.reason in _BROKEN:
                broken.setdefault(member.component, ruling.finding.reason)
    for (reason, cause), names in obstacles.items():
        text = f"{cause}: no figure of {several(tuple(names))}"
        yield Finding(State.CRITICAL, reason, text)
    if broken:
        reason = Reason.BROKEN if Reason.BROKEN in broken.values() else Reason.HUNG
        yield Finding(State.WARNING, reason, f"broken or hung: {several(tuple(broken))}")


def _cause(member: Expectation, ruling: Ruling) -> str:
    """Return the obstacle to measuring a member, empty if there is none."""
    if ruling.finding.reason is Reason.UNREACHABLE:
        return f"server {member.host} does not answer"
    if ruling.finding.reason is Reason.NO_MOUNT and ruling.record is not None:
        return ruling.record.reason
    return ""


def alarms_of(ruled: Iterable[tuple[Expectation, Sequence[Ruling]]]) -> Iterator[Finding]:
    """Yield the members that are CRITICAL and measured, with the reason of the first.

    They have alarms of their own, so a group without a figure only shows them.
    """
    alarms = {
        member.component: ruling.finding
        for member, rulings in ruled
        for ruling in reversed(rulings)
        if ruling.finding.state is State.CRITICAL and ruling.finding.reason not in _BROKEN
    }
    if alarms:
        name, finding = next(iter(alarms.items()))
        first = f", first {name}: {finding.text}" if len(alarms) > 1 else f": {finding.text}"
        yield Finding(State.WARNING, finding.reason, f"CRITICAL {several(list(alarms))}{first}")


_SHARED = (
    "look for what changed: plumbline changes; where it is to stay, accept it as the baseline: "
    "plumbline baseline accept"
)
"""Remedy for a loss that a whole group shares."""


class _Median(NamedTuple):
    """One operation of the whole group; ``ratios`` ascend, ``missing`` are members without one.

    ``floor`` is the finding if the group is below its floor, which needs no baseline; ``evidence``
    is that of its last runs, None if they cannot be compared.
    """

    what: str
    ratios: tuple[tuple[float, str], ...]
    missing: tuple[tuple[str, str], ...]
    contended: int
    limits: Limits
    floor: Optional[Finding] = None
    evidence: Optional[Evidence] = None

    @property
    def percent(self) -> Optional[float]:
        """Return the upper median in percent, None if more than half have no ratio."""
        if len(self.missing) > len(self.ratios) or not self.ratios:
            return None
        return 100 * self.ratios[len(self.ratios) // 2][0]

    @property
    def ratio(self) -> Optional[float]:
        """Return measured / baseline, for an alarm over all of its runs; None if unknown."""
        if self.evidence and self.alarm:
            return self.evidence.ratio
        return None if self.percent is None else self.percent / 100

    @property
    def alarm(self) -> bool:
        return self.evidence is not None and self.evidence.alarm and self.evidence.what == self.what

    @property
    def watched(self) -> bool:
        """Return whether the last night is low, which alone is no evidence."""
        return self.percent is not None and self.limits.alerts(self.percent)

    @property
    def finding(self) -> Finding:
        """Return the finding by the evidence of several runs, else by the floor."""
        if self.evidence and self.alarm:
            text = f"{self.what} {over_runs(self.evidence)}{also(self.evidence)}"
            if self.evidence.borne_by and not self.floor:
                text += elsewhere(self.evidence)
                return Finding(State.OK, Reason.ALARM_ELSEWHERE, text)
            text += likewise(self.evidence)
            return Finding(severity(self.evidence.ratio, self.limits), Reason.SLOW, text)
        if self.floor:
            return self.floor
        if self.watched:
            text = f"watching: {self._compared}; {so_far(self.evidence)}"
            return Finding(State.OK, Reason.WATCHED, text)
        if self.percent is None and self.evidence is None:
            return Finding(State.UNKNOWN, Reason.TOO_FEW_MEMBERS, self._compared)
        return Finding(State.OK, Reason.FINE, self._compared)

    @property
    def by_floor(self) -> bool:
        """Return whether the floor alone decides the state, not a loss against baselines."""
        return self.floor is not None and not self.alarm

    @property
    def _compared(self) -> str:
        total = len(self.ratios) + len(self.missing)
        if self.percent is None and self.evidence:
            return f"{self.what} compared with {self.evidence.against}"
        if self.percent is None:
            names = several([name for name, _ in self.missing])
            return (
                f"{self.what}: {len(self.missing)} of {total} have no figure to compare ({names}), "
                f"first {self.missing[0][0]}: {self.missing[0][1]}"
            )
        text = f"{self.what} {self.percent:.0f} % of baseline, upper median of {len(self.ratios)}"
        if self.missing:
            text += f" of {total}"
        if self.contended and self.watched:
            text += f", {self.contended} of them contended"
        return text


def by_group(
    expectations: Iterable[Expectation],
) -> dict[tuple[str, str], list[Expectation]]:
    """Return the members of each group of peers, by layer and group; hosts are in none."""
    groups: dict[tuple[str, str], list[Expectation]] = {}
    for expectation in expectations:
        if LAYERS[expectation.layer].grouped:
            groups.setdefault((expectation.layer, expectation.group), []).append(expectation)
    return groups


def decide_group(
    ruled: Sequence[tuple[Expectation, Sequence[Ruling]]],
    of_runs: Optional[Evidence],
    shown: Iterable[tuple[Expectation, Sequence[Ruling]]] = (),
) -> Verdict:
    """Return the verdict from the rulings on the members of a group, at least one.

    ``of_runs`` is the evidence of the group's last runs, None if they cannot be compared; ``shown``
    are the rulings that the members' own services show.

    The limits are those of the first member.  Members count whether or not they have an excuse: a
    loss that all share is seen here.
    """
    first = ruled[0][0]
    layer, limits = first.layer, first.limits
    rulings = [(member.component, ruling) for member, rulings in ruled for ruling in rulings]
    places = dict.fromkeys((ruling.operation, ruling.scenario) for _, ruling in rulings)
    medians = [
        _median(label(*place), _rulings_of(rulings, place), limits)._replace(evidence=of_runs)
        for place in places
    ]
    decided, notes = _deciding(medians), tuple(notes_on(ruled))
    if any(median.finding.state is State.UNKNOWN for median in decided):
        notes = (*notes, *alarms_of(shown))
        # the members' faults do not depend on figures
        states = [note.state for note in notes] or [State.UNKNOWN]
        deciding = [] if State.CRITICAL in states else decided
        state = worst(states)
    else:
        state = worst(
            (*(median.finding.state for median in decided), *(note.state for note in notes))
        )
        deciding = [median for median in decided if median.finding.state is state]
        deciding.sort(key=lambda median: median.finding.reason is not Reason.ALARM_ELSEWHERE)
    # a note precedes any level
    findings = [median.finding for median in deciding]
    texts = "; ".join(finding.text for finding in (*notes, *findings)) or "has never been measured"
    remarks = f"{_unnamed(rulings)}{_elsewhere(ruled)}"
    reasons = [note.reason for note in notes if note.state is state]
    reasons += [finding.reason for finding in findings] or [Reason.NEVER_MEASURED]
    ratios = [ratio for median in deciding if (ratio := median.ratio) is not None]
    return Verdict(
        layer=layer,
        component=first.group,
        state=state,
        reason=reasons[0],
        sentence=f"{_subject(deciding, layer)} {first.group} {texts}{remarks}",
        ratio_baseline=min(ratios, default=None),
        # members that are fine compared with one another lack a firm baseline, which is no fault
        counts=state is not State.UNKNOWN
        or any(ruling.finding.state is not State.OK for _, ruling in rulings)
        or not rulings,
        evidence=(
            *weighed(of_runs),
            *(f"{note.text} [{note.state.name}]" for note in notes),
            *(line for median in medians for line in _evidence(median)),
        ),
        figures=tuple(_figure(median) for median in medians),
        group=True,
    )


def _unnamed(rulings: Sequence[tuple[str, Ruling]]) -> str:
    """Return the remark on active targets outside the topology, as the last runs saw them.

    It changes no state: unmeasured targets are no evidence on measured ones.
    """
    records = [ruling.record for _, ruling in rulings if ruling.record]
    newest = max(records, key=lambda record: record.started_at) if records else None
    names = dict.fromkeys(
        str(name)
        for record in records
        if newest and record.run_id == newest.run_id
        for name in (record.details or {}).get("unnamed", ())
    )
    return f"; active but not in the topology: {several(list(names))}" if names else ""


def _elsewhere(ruled: Sequence[tuple[Expectation, Sequence[Ruling]]]) -> str:
    """Return the remark on targets that Lustre has on other servers than the topology.

    It changes no state: each of them is judged rightly, but a fault would be located wrongly.  A
    node may not know the servers' addresses; yet targets with one address have one server.
    """
    seen = {
        member.component: servers
        for member, rulings in ruled
        for ruling in rulings
        if (servers := first_server(ruling.record))
    }
    if not seen:
        return ""
    wrong = serving({member.component: member.host for member, _ in ruled}, seen, {}).wrong
    if not wrong:
        return ""
    return (
        f"; one server in Lustre, several in the topology: {several(wrong)}; see plumbline "
        "topology check --live"
    )


def _deciding(medians: Sequence[_Median]) -> list[_Median]:
    """Return the deciding operations; missing baselines do not hide a rate below its floor."""
    rated = [median for median in medians if median.percent is not None or median.floor]
    candidates = rated if any(median.floor for median in medians) else medians
    state = worst(median.finding.state for median in candidates)
    return [median for median in candidates if median.finding.state is state]


def _subject(deciding: Sequence[_Median], layer: str) -> str:
    """Return the name of a group; if all targets are below their floor it is the file system."""
    system = LAYERS[layer].per_target and any(median.by_floor for median in deciding)
    return "file system" if system else "group"


def _rulings_of(
    rulings: Sequence[tuple[str, Ruling]], step: tuple[Operation, Scenario]
) -> list[tuple[str, Ruling]]:
    return [named for named in rulings if (named[1].operation, named[1].scenario) == step]


def _median(what: str, rulings: Sequence[tuple[str, Ruling]], limits: Limits) -> _Median:
    ratios, missing, contended = [], [], 0
    for name, ruling in rulings:
        rate = ruling.measured
        if rate is None or rate.ratio_baseline is None or not ruling.finding.reason.measured:
            missing.append((name, rate.doubt if rate and rate.doubt else ruling.finding.text))
            continue
        ratios.append((rate.ratio_baseline, name))
        contended += rate.contended
    floor = group_below([ruling.measured for _, ruling in rulings])
    return _Median(what, tuple(sorted(ratios)), tuple(missing), contended, limits, floor)


def _evidence(median: _Median) -> Iterator[str]:
    yield f"{median.finding.text} [{median.finding.state.name}]"
    if median.by_floor:
        yield f"  {REMEDY}"
    elif median.alarm:
        yield f"  {_SHARED}"
    yield from (f"  no figure: {name}: {why}" for name, why in median.missing)
    yield from (f"    {name} {100 * ratio:.0f} % of baseline" for ratio, name in median.ratios)


def _figure(median: _Median) -> Figure:
    name = f"{median.what.replace(' ', '_')}_median"
    return Figure(
        name, median.percent, "%", str(median.limits.warning), str(median.limits.critical)
    )
