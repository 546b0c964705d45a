"""A loss of a whole group is one alarm of the group, by its last era's baselines."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.judge.judging import Judging
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Flag, Operation, Outcome, Record, Scenario
from plumbline.model.series import Sample, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import BASELINE, DAY_S, NOW, Node, expectation, series, snapshot

ODDS = 10_000.0
BEFORE = {"lustre": "2.3.0"}
AFTER = {"lustre": "2.4.0"}


def nightly(rates: Sequence[float], **changes: Any) -> Series:
    """Return a series with a run each night, the last one an hour ago, without peers."""
    earlier = [
        Sample(NOW - 3610 - night * DAY_S, rate, None, None, 0, None)
        for night, rate in enumerate(rates[:-1][::-1], start=1)
    ]
    return series(rates[-1], None, earlier, **changes)


def weighed(*members: Sequence[float], changed: Optional[float] = None, **limits: Any) -> Weighing:
    """Weigh a group by its members' nightly rates; ``changed`` is the moment of a new version."""
    baseline = BASELINE._replace(versions=BEFORE if changed is not None else {})
    entries = [
        expectation(
            component=f"OST{number}",
            references={"read/single": Reference(None, baseline)},
            limits=Limits(alarm_odds=ODDS, **limits),
        )
        for number in range(len(members))
    ]
    members_series = [
        nightly(
            rates,
            component=f"OST{number}",
            operation=Operation.READ,
            versions=AFTER if changed is not None else {},
        )
        for number, rates in enumerate(members)
    ]
    return Weighing({"client1": entries}, {"client1": Node(snapshot(*members_series), changed)})


def group(weighing: Weighing) -> Evidence:
    evidence = weighing.evidence(("ost", "scratch", True))
    assert evidence is not None
    return evidence


def own(weighing: Weighing, number: int) -> Optional[Evidence]:
    return weighing.evidence(("ost", f"OST{number}", False))


@pytest.mark.parametrize("members", [2, 3, 6])
def test_a_loss_that_all_share_is_an_alarm_of_the_group_only(members: int) -> None:
    weighing = weighed(*[[200e6] * 10 + [60e6] * 8] * members)
    evidence = group(weighing)
    assert evidence.alarm
    assert evidence.what == "read"
    assert evidence.ratio == pytest.approx(0.3, abs=0.01)
    for number in range(members):
        alone = own(weighing, number)
        assert alone is not None
        assert not alone.alarm


def test_a_member_with_a_larger_loss_than_its_group_has_its_own_alarm() -> None:
    weighing = weighed(
        [200e6] * 10 + [20e6] * 8, [200e6] * 10 + [100e6] * 8, [200e6] * 10 + [100e6] * 8
    )
    assert group(weighing).alarm
    first, second = own(weighing, 0), own(weighing, 1)
    assert first is not None
    assert first.alarm
    assert second is not None
    assert second.shared
    assert not second.alarm


Measured = tuple[list[Expectation], list[Series]]


def after_a_release(measured: Measured) -> tuple[Node, Weighing]:
    """Weigh what a node measured, with a release that was installed eight nights ago."""
    entries, all_series = measured
    memory = Node(snapshot(*all_series), NOW - 3610 - 7 * DAY_S)
    return memory, Weighing({"client1": entries}, {"client1": memory})


def one_at_a_time(targets: int, systems: Mapping[str, Sequence[float]]) -> Measured:
    """Return file systems of so many targets each, by the nightly rates of all of them.

    A name in capitals has another release than the others.
    """
    entries, all_series = [], []
    for name, rates in systems.items():
        versions = {"zfs": "2.1"} if name.isupper() else {}
        baseline = BASELINE._replace(versions={**BEFORE, **versions})
        for number in range(targets):
            entries.append(
                expectation(
                    component=f"{name}-OST{number}",
                    group=name,
                    references={"read/single": Reference(None, baseline)},
                    limits=Limits(alarm_odds=ODDS),
                )
            )
            all_series.append(
                nightly(
                    rates,
                    component=f"{name}-OST{number}",
                    operation=Operation.READ,
                    versions={**AFTER, **({"zfs": "2.2"} if versions else {})},
                )
            )
    return entries, all_series


def of_file_systems(**systems: Sequence[float]) -> dict[str, Evidence]:
    """Return the evidence of file systems of three targets."""
    _, weighing = after_a_release(one_at_a_time(3, systems))
    evidence = {name: weighing.evidence(("ost", name, True)) for name in systems}
    return {name: item for name, item in evidence.items() if item}


BY_THE_RELEASE = [200e6] * 10 + [130e6] * 8
HEALTHY = [200e6] * 18


def test_a_release_that_slows_several_file_systems_is_one_alarm() -> None:
    evidence = of_file_systems(fs1=BY_THE_RELEASE, fs2=BY_THE_RELEASE, fs3=[200e6] * 18)
    assert {name: (item.alarm, item.borne_by, item.bears) for name, item in evidence.items()} == {
        "fs1": (True, "", ("fs2",)),
        "fs2": (True, "group fs1", ()),
        "fs3": (False, "", ()),
    }


def test_a_busy_night_is_no_loss_of_its_own() -> None:
    """A night that takes more from one file system makes no second alarm of one release."""
    busy = [200e6] * 10 + [130e6] * 4 + [110e6, 110e6, 105e6, 110e6]
    evidence = of_file_systems(fs1=[200e6] * 10 + [138e6] * 8, fs2=busy)
    assert {name: item.borne_by for name, item in evidence.items()} == {
        "fs1": "",
        "fs2": "group fs1",
    }


def test_the_file_system_that_alarmed_first_keeps_the_alarm() -> None:
    later = [200e6] * 10 + [160e6, 150e6, *[130e6] * 6]
    evidence = of_file_systems(fs1=later, fs2=BY_THE_RELEASE)
    assert (evidence["fs1"].borne_by, evidence["fs2"].borne_by) == ("group fs2", "")


@pytest.mark.parametrize(
    "other",
    [
        # a tenth more
        {"fs2": [200e6] * 10 + [110e6] * 8},
        # slow before the release, or by another one
        {"fs2": [200e6] * 6 + [130e6] * 12},
        {"FS2": BY_THE_RELEASE},
        # on most nights alone
        {"fs2": [200e6] * 10 + [100e6, 200e6, 100e6, 200e6, 100e6, 100e6, 200e6, 100e6]},
    ],
)
def test_a_loss_of_its_own_is_an_alarm_of_its_own(other: dict[str, list[float]]) -> None:
    evidence = of_file_systems(fs1=BY_THE_RELEASE, **other)
    assert [(item.alarm, item.borne_by) for item in evidence.values()] == [(True, "")] * 2


def test_a_release_that_slows_lone_targets_is_one_alarm() -> None:
    systems = {"fs1": BY_THE_RELEASE, "fs2": BY_THE_RELEASE, "fs3": HEALTHY}
    memory, weighing = after_a_release(one_at_a_time(1, systems))
    entries, _ = one_at_a_time(1, systems)
    first, second, third = Judging(memory, weighing, NOW).components(entries)
    assert [verdict.reason for verdict in (first, second, third)] == [
        Reason.SLOW,
        Reason.ALARM_ELSEWHERE,
        Reason.FINE,
    ]
    assert first.sentence.endswith("; likewise fs2-OST0")
    assert second.state is State.OK
    assert second.sentence.endswith("; its alarm is that of target fs1-OST0")


SKIPPED = {"outcome": Outcome.SKIPPED, "reason": "inactive", "rate": None, "repeats": ()}


def with_last_run(series: Series, **changes: Any) -> Series:
    """Return a series with another last run."""
    latest = series.latest._replace(**changes)
    first, *earlier = (item for item in series.samples if item.started_at <= latest.started_at)
    return Series(latest, (first._replace(rate=latest.rate), *earlier))


@pytest.mark.parametrize(
    ("last_run", "reason"),
    [
        (SKIPPED, Reason.SKIPPED),
        ({"flags": (Flag.DEGRADED,)}, Reason.KNOWN_STATE),
        ({"started_at": NOW - 3 * DAY_S, "finished_at": NOW - 3 * DAY_S}, Reason.STALE),
    ],
)
def test_a_target_without_an_alarm_of_its_own_to_show_bears_none(
    last_run: dict[str, Any], reason: Reason
) -> None:
    entries, all_series = one_at_a_time(1, {"fs1": BY_THE_RELEASE, "fs2": BY_THE_RELEASE})
    all_series[0] = with_last_run(all_series[0], **last_run)
    memory, weighing = after_a_release((entries, all_series))
    first, second = Judging(memory, weighing, NOW).components(entries)
    assert first.reason is reason
    assert (second.state, second.reason) == (State.WARNING, Reason.SLOW)


def test_a_target_measured_a_day_before_the_other_bears_its_alarm() -> None:
    entries, all_series = one_at_a_time(1, {"fs1": BY_THE_RELEASE, "fs2": BY_THE_RELEASE})
    yesterday = {"started_at": NOW - DAY_S, "finished_at": NOW - DAY_S + 60}
    all_series[0] = with_last_run(all_series[0], **yesterday)
    memory, weighing = after_a_release((entries, all_series))
    first, second = Judging(memory, weighing, NOW).components(entries)
    assert (first.reason, second.reason) == (Reason.SLOW, Reason.ALARM_ELSEWHERE)


def test_a_group_keeps_the_alarm_of_others_while_its_targets_are_skipped() -> None:
    entries, all_series = one_at_a_time(3, {"fs1": BY_THE_RELEASE, "fs2": BY_THE_RELEASE})
    skipped = [with_last_run(series, **SKIPPED) for series in all_series[:3]]
    memory, weighing = after_a_release((entries, [*skipped, *all_series[3:]]))
    first, second = Judging(memory, weighing, NOW).groups(entries)
    assert (first.state, first.reason) == (State.WARNING, Reason.SLOW)
    assert (second.state, second.reason) == (State.OK, Reason.ALARM_ELSEWHERE)


def test_a_lone_target_that_lost_more_by_the_release_has_its_own_alarm() -> None:
    systems = {"fs1": BY_THE_RELEASE, "fs2": [200e6] * 10 + [110e6] * 8}
    _, weighing = after_a_release(one_at_a_time(1, systems))
    lone = [weighing.evidence(("ost", f"{name}-OST0", False)) for name in systems]
    assert [(item.alarm, item.borne_by) for item in lone if item] == [(True, "")] * 2


def test_one_target_of_two_has_its_own_alarm_after_a_release() -> None:
    """The release has not slowed the other one, so it is no cause that two such targets share."""
    slow, fine = ({"fs1": rates, "fs2": rates} for rates in (BY_THE_RELEASE, HEALTHY))
    entries, of_slow = one_at_a_time(2, slow)
    _, of_fine = one_at_a_time(2, fine)
    _, weighing = after_a_release((entries, [of_slow[0], of_fine[1], of_slow[2], of_fine[3]]))
    members = [weighing.evidence(("ost", f"{name}-OST0", False)) for name in ("fs1", "fs2")]
    assert [(item.alarm, item.borne_by) for item in members if item] == [(True, "")] * 2


@pytest.mark.parametrize(
    ("targets", "first", "bearer"),
    [(1, "fs1-OST0", "target fs1-OST0"), (3, "fs1", "group fs1")],
)
def test_a_release_that_slows_targets_alone_and_at_once_is_one_alarm(
    targets: int, first: str, bearer: str
) -> None:
    single, at_once = (
        one_at_a_time(targets, {"fs1": BY_THE_RELEASE}),
        all_at_once({"fs1": [200e6] * 10 + [170e6, *[130e6] * 7]}),
    )
    entries = [*single[0], *at_once[0]]
    memory, weighing = after_a_release((entries, [*single[1], *at_once[1]]))
    alarm = weighing.evidence(("ost", first, targets > 1))
    assert alarm is not None
    assert (alarm.borne_by, alarm.bears) == ("", ("file system fs1",))
    whole = list(Judging(memory, weighing, NOW).groups(entries))[-1]
    assert (whole.layer, whole.state, whole.reason) == ("fs", State.OK, Reason.ALARM_ELSEWHERE)
    assert f"; its alarm is that of {bearer}" in whole.sentence


def test_an_alarm_of_another_layer_is_no_longer_borne_when_that_has_ended() -> None:
    at_once = all_at_once({"fs1": [200e6] * 10 + [170e6, *[130e6] * 7]})
    single, repaired = (one_at_a_time(3, {"fs1": rates}) for rates in (BY_THE_RELEASE, HEALTHY))
    borne, alone = (
        ([*measured[0], *at_once[0]], [*measured[1], *at_once[1]])
        for measured in (single, repaired)
    )
    _, before = after_a_release(borne)
    assert before.all()["fs", "fs1", False].borne_by == "group fs1"
    assert {key[0] for key in before.known({"fs", "ost"})} == {"fs", "ost"}
    # only targets alone have been measured since
    memory = Node(snapshot(*alone[1]), NOW - 3610 - 7 * DAY_S)
    since = Weighing(
        {"client1": alone[0]}, {"client1": memory}, evidence_before=before.known({"fs"})
    )
    assert [item.borne_by for item in since.all().values() if item.alarm] == [""]


def test_targets_that_later_lost_more_at_once_than_alone_have_two_alarms() -> None:
    single = one_at_a_time(3, {"fs1": BY_THE_RELEASE})
    at_once = all_at_once({"fs1": [200e6] * 10 + [170e6, *[80e6] * 7]})
    _, weighing = after_a_release(([*single[0], *at_once[0]], [*single[1], *at_once[1]]))
    both = weighing.evidence(("ost", "fs1", True)), weighing.evidence(("fs", "fs1", False))
    assert [(item.alarm, item.borne_by) for item in both if item] == [(True, "")] * 2


def all_at_once(systems: Mapping[str, Sequence[float]], *, has_baselines: bool = True) -> Measured:
    """Return file systems whose targets are read together each night.

    A name with ``__`` is a further test of a system.
    """
    spec_hash = expectation().spec.hash()
    baseline = BASELINE._replace(versions=BEFORE, spec_hash=spec_hash) if has_baselines else None
    entries, all_series = [], []
    for key, rates in systems.items():
        system, _, test = key.partition("__")
        name = f"{system}:{test}" if test else system
        target = {"kind": "parallel", "file_system": system, **({"test": test} if test else {})}
        entries.append(
            expectation(
                layer="fs",
                component=name,
                group=f"{name} as a whole",
                target=target,
                references={"read/together": Reference(None, baseline)},
                limits=Limits(alarm_odds=ODDS),
            )
        )
        terms = {"scenario": Scenario.TOGETHER, "spec_hash": spec_hash}
        of_reads = {"layer": "fs", "component": name, "operation": Operation.READ}
        all_series.append(nightly(rates, versions=AFTER, **of_reads, **terms))
    return entries, all_series


def of_all_at_once(*, has_baselines: bool = True, **systems: Sequence[float]) -> dict[str, Verdict]:
    """Return the verdicts on file systems whose targets are read together each night."""
    measured = all_at_once(systems, has_baselines=has_baselines)
    judging = Judging(*after_a_release(measured), NOW)
    return {verdict.component: verdict for verdict in judging.groups(measured[0])}


@pytest.mark.parametrize("has_baselines", [True, False])
def test_a_release_that_slows_all_targets_of_several_file_systems_is_one_alarm(
    has_baselines: bool,
) -> None:
    verdicts = of_all_at_once(
        has_baselines=has_baselines, fs1=BY_THE_RELEASE, fs2=BY_THE_RELEASE, fs3=HEALTHY
    )
    assert {name: (verdict.state, verdict.reason) for name, verdict in verdicts.items()} == {
        "fs1": (State.WARNING, Reason.SLOW),
        "fs2": (State.OK, Reason.ALARM_ELSEWHERE),
        "fs3": (State.OK, Reason.FINE),
    }
    assert "; likewise fs2" in verdicts["fs1"].sentence
    assert "read together 130.0 MB/s" in verdicts["fs2"].sentence
    assert "; its alarm is that of file system fs1" in verdicts["fs2"].sentence


def test_a_release_that_slows_one_test_of_several_file_systems_is_one_alarm() -> None:
    verdicts = of_all_at_once(
        fs1=HEALTHY, fs1__small=BY_THE_RELEASE, fs2=HEALTHY, fs2__small=BY_THE_RELEASE
    )
    assert [verdict.state for verdict in verdicts.values()] == [State.WARNING, State.OK]
    assert "test small read together" in verdicts["fs1"].sentence
    assert "test small read together" in verdicts["fs2"].sentence
    assert "; its alarm is that of file system fs1" in verdicts["fs2"].sentence
    assert "fs1:small" not in verdicts["fs2"].sentence


def test_another_test_of_another_file_system_has_its_own_alarm() -> None:
    verdicts = of_all_at_once(
        fs1=HEALTHY, fs1__small=BY_THE_RELEASE, fs2=HEALTHY, fs2__large=BY_THE_RELEASE
    )
    assert [verdict.state for verdict in verdicts.values()] == [State.WARNING] * 2


def test_a_few_busy_nights_are_no_alarm() -> None:
    busy = [200e6] * 10 + [90e6, 60e6] + [200e6] * 3
    assert not group(weighed(*[busy] * 6)).reportable


def test_a_loss_of_one_member_is_no_loss_of_the_group() -> None:
    weighing = weighed([200e6] * 10 + [60e6] * 8, *[[200e6] * 18] * 5)
    assert not group(weighing).reportable
    # of two members the better one counts
    assert not group(weighed([200e6] * 10 + [60e6] * 8, [200e6] * 18)).reportable


def test_a_single_member_is_no_group() -> None:
    weighing = weighed([200e6] * 5)
    assert weighing.evidence(("ost", "scratch", True)) is None


@pytest.mark.parametrize(("nights", "alarm"), [(1, False), (3, True)])
def test_after_a_change_of_version_three_low_nights_are_an_alarm(
    nights: int, *, alarm: bool
) -> None:
    began = NOW - 3610 - (nights - 1) * DAY_S
    weighing = weighed(*[[200e6] * 10 + [130e6] * nights] * 6, changed=began)
    evidence = group(weighing)
    assert evidence.alarm is alarm
    assert evidence.against == "the baseline from before lustre 2.3.0 -> 2.4.0"
    if alarm:
        assert evidence.since == began
        assert evidence.ratio == pytest.approx(0.643, abs=0.01)
    for number in range(6):
        alone = own(weighing, number)
        assert alone is None or not alone.reportable


class InTurn(Node):
    """A node that measures in turn: each series sees a change with its own run of the night."""

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return the start of the previous night's run of a record."""
        return latest.started_at - DAY_S


@pytest.mark.parametrize("apart_s", [7.0, 1800.0])
def test_a_change_dates_from_the_first_run_of_its_night(
    apart_s: float,
) -> None:
    """A read follows its write by seconds, and the last target of a site by hours."""
    read, earlier_baseline = Reference(None, BASELINE), BASELINE._replace(versions=BEFORE)
    entries = [
        expectation(
            component=f"OST{number}",
            references={
                f"{step}/single": read._replace(baseline=earlier_baseline)
                for step in ("write", "read")
            },
            limits=Limits(alarm_odds=20.0),
        )
        for number in range(6)
    ]
    turns = [(number, way) for number in range(6) for way in (Operation.WRITE, Operation.READ)]
    runs = []
    for place, (number, operation) in enumerate(turns):
        at = NOW - 3600 * 8 + place * apart_s
        earlier = [
            Sample(at - night * DAY_S, rate, None, None, 0, None)
            for night, rate in ((1, 110e6), (2, 200e6))
        ]
        terms = {"component": f"OST{number}", "operation": operation, "started_at": at}
        runs.append(series(110e6, None, earlier, **terms, finished_at=at + 5, versions=AFTER))
    weighing = Weighing({"client1": entries}, {"client1": InTurn(snapshot(*runs))})
    evidence = group(weighing)
    assert evidence.alarm
    assert evidence.since == NOW - 3600 * 8 - DAY_S


def test_without_the_moment_of_the_change_the_odds_are_lower() -> None:
    rates = [200e6] * 10 + [130e6] * 3
    assert (
        group(weighed(*[rates] * 6, changed=0.0)).odds
        < group(weighed(*[rates] * 6, changed=NOW - 3610 - 2 * DAY_S)).odds
    )


def test_after_a_change_a_single_slow_member_is_found_among_its_peers() -> None:
    began = NOW - 3610 - 7 * DAY_S
    slow = [200e6] * 10 + [60e6] * 8
    weighing = weighed(slow, *[[200e6] * 18] * 5, changed=began)
    first = own(weighing, 0)
    assert first is not None
    assert first.alarm
    assert not group(weighing).reportable


@pytest.mark.parametrize(
    ("slow", "is_group", "counts"),
    [
        pytest.param(6, True, True, id="the whole group"),
        pytest.param(1, False, False, id="one member"),
    ],
)
def test_a_change_raises_the_odds_of_a_shared_loss_only(
    slow: int, *, is_group: bool, counts: bool
) -> None:
    began = NOW - 3610 - 2 * DAY_S
    members = [[200e6] * 10 + [130e6] * 3] * slow + [[200e6] * 13] * (6 - slow)
    few, many = (
        weighed(*members, changed=began, change_starts=starts).evidence(
            ("ost", "scratch" if is_group else "OST0", is_group)
        )
        for starts in (0.0, 1e6)
    )
    assert few is not None
    assert many is not None
    assert (many.odds > few.odds + 5) is counts
    assert (many.odds == few.odds) is not counts


@pytest.mark.parametrize("starts", [0.0, 1e6])
def test_a_change_raises_the_odds_of_a_component_without_a_group(starts: float) -> None:
    evidence = own(
        weighed([200e6] * 10 + [130e6] * 3, changed=NOW - 3610 - 2 * DAY_S, change_starts=starts),
        0,
    )
    assert evidence is not None
    assert evidence.alarm is (starts > 0)


def test_a_change_does_not_raise_the_odds_of_one_of_two_members() -> None:
    """The change may have slowed both, so an alarm of one needs full evidence."""
    rates = [[200e6] * 10 + [120e6] * 3, [200e6] * 13]
    changed = NOW - 3610 - 2 * DAY_S
    few, many = (
        own(weighed(*rates, changed=changed, change_starts=starts), 0) for starts in (0.0, 1e6)
    )
    assert few is not None
    assert few == many


@pytest.mark.parametrize("members", [1, 2])
def test_two_members_are_a_group_and_one_is_not(members: int) -> None:
    weighing = weighed(*[[200e6] * 10 + [60e6] * 8] * members)
    assert (weighing.evidence(("ost", "scratch", True)) is not None) is (members == 2)
    alone = own(weighing, 0)
    assert alone is not None
    assert alone.alarm is (members == 1)


@pytest.mark.parametrize(("share", "shared"), [(0.88, False), (0.92, True), (1.0, True)])
def test_a_member_that_has_lost_a_tenth_more_than_its_group_has_its_own_alarm(
    share: float, shared: bool
) -> None:
    # the rate of a group of three is that of its median member
    others = [[200e6] * 10 + [100e6] * 8] * 2
    evidence = own(weighed([200e6] * 10 + [share * 100e6] * 8, *others), 0)
    assert evidence is not None
    assert (evidence.alarm, evidence.shared) == (not shared, shared)


def test_without_an_alarm_of_its_group_a_member_keeps_its_alarm() -> None:
    evidence = own(weighed([200e6] * 10 + [60e6] * 8, [200e6] * 18, [200e6] * 18), 0)
    assert evidence is not None
    assert (evidence.alarm, evidence.shared) == (True, False)


def test_an_equal_loss_of_all_is_an_alarm_of_the_group_at_any_limit() -> None:
    weighing = weighed(*[[200e6] * 10 + [60e6] * 8] * 3, peer_loss=0.0)
    assert group(weighing).alarm
    for number in range(3):
        evidence = own(weighing, number)
        assert evidence is not None
        assert (evidence.alarm, evidence.shared) == (False, True)


@pytest.mark.parametrize(
    ("members", "against"),
    [
        (1, "the baseline from before lustre 2.3.0 -> 2.4.0"),
        (2, "its own earlier runs"),
        (3, "its own earlier runs"),
    ],
)
def test_after_a_change_a_single_component_is_compared_with_the_earlier_baseline(
    members: int, against: str
) -> None:
    evidence = own(weighed(*[[200e6] * 12] * members, changed=NOW - 3 * DAY_S), 0)
    assert evidence is not None
    assert evidence.against == against


def pair_of_disks(*servers: Sequence[float], more: int = 0) -> list[Evidence]:
    """Return the evidence of pairs of disks, each by the nightly rates of both.

    The last server has so many ``more`` disks.
    """
    entries, all_series = [], []
    for number, rates in enumerate(servers):
        disks = 2 + (more if number == len(servers) - 1 else 0)
        for name in (f"oss{number}-disk{disk}" for disk in range(disks)):
            entries.append(
                expectation(
                    layer="raw",
                    component=name,
                    group=f"oss{number}",
                    path=(name,),
                    references={"read/single": Reference(None, BASELINE)},
                    limits=Limits(alarm_odds=ODDS),
                )
            )
            all_series.append(nightly(rates, layer="raw", component=name, operation=Operation.READ))
    targets = [
        expectation(component=f"OST {entry.component}", path=entry.path) for entry in entries
    ]
    weighing = Weighing({"c": [*entries, *targets]}, {"c": Node(snapshot(*all_series))})
    found = [weighing.evidence(("raw", f"oss{number}", True)) for number in range(len(servers))]
    return [evidence for evidence in found if evidence]


BUSY = [200e6] * 10 + [170e6, 130e6, 140e6, 120e6, 150e6]


def test_a_pair_of_disks_is_no_slower_than_those_of_other_servers_on_busy_nights() -> None:
    lower = [0.93 * rate for rate in BUSY]
    evidence = pair_of_disks(lower, *[BUSY] * 7)
    assert not any(item.alarm for item in evidence)
    assert {item.against for item in evidence} == {"the other groups of the night"}
    assert {item.against for item in pair_of_disks(*[BUSY] * 5)} == {
        "the other groups of the night"
    }
    alone = pair_of_disks(lower, *[BUSY] * 3)
    assert {item.against for item in alone} == {"its baseline"}


def test_five_disks_are_no_small_group() -> None:
    against = [item.against for item in pair_of_disks(*[BUSY] * 6, more=3)]
    assert against == [*["the other groups of the night"] * 5, "its baseline"]
    assert {item.against for item in pair_of_disks(*[BUSY] * 5, more=3)} == {"its baseline"}


def test_a_pair_of_disks_that_is_slower_than_others_is_an_alarm_even_on_busy_nights() -> None:
    slow = [*BUSY[:-4], *(0.5 * rate for rate in BUSY[-4:])]
    first, *others = pair_of_disks(slow, *[BUSY] * 7)
    assert first.alarm
    assert not any(item.alarm for item in others)


def test_a_loss_of_all_pairs_of_disks_is_an_alarm() -> None:
    evidence = pair_of_disks(*[[200e6] * 10 + [60e6] * 8] * 8)
    assert all(item.alarm and item.against == "its baseline" for item in evidence)
