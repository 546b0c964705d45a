"""Evidence of all measurements of a node or a site, each component among its kind."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.judge.phrases import weighed
from plumbline.judge.recursion import weigh
from plumbline.judge.runs import LONE_NOISE, Case, Claim, Question, Source, merge
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Record
from plumbline.model.series import Sample, Series, Snapshot
from tests.package.judge.rows import Run, rows, runs_of
from tests.package.judgements import (
    BASELINE,
    DAY_S,
    NOW,
    REFERENCE,
    Node,
    expectation,
    host_expectation,
    series,
    snapshot,
)

SENT = BASELINE._replace(median=117e6)
READ = {"read/single": REFERENCE}
OPERATIONS = tuple(map(Operation, ("write", "read", "reread", "send", "receive")))
NAMES = [f"scratch-OST000{number}" for number in range(6)]
HEALTHY = [200e6] * 10


def nightly(rates: Sequence[float], partner: Optional[str] = None, **changes: Any) -> Series:
    """Return a series with a run each night, the last one an hour ago."""
    earlier = [
        Sample(NOW - 310 - night * DAY_S, rate, None, None, 0, partner)
        for night, rate in enumerate(rates[:-1][::-1], start=1)
    ]
    return series(rates[-1], None, earlier, partner=partner, **changes)


def fleet(odds: float = 10_000.0) -> tuple[Expectation, ...]:
    limits = Limits(alarm_odds=odds)
    return tuple(expectation(component=name, limits=limits) for name in NAMES)


def recorded(*slow: tuple[str, Operation, Sequence[float]]) -> Snapshot:
    """Return the snapshot of the fleet: healthy except for the ``slow`` series."""
    slow_rates = {(name, operation): rates for name, operation, rates in slow}
    return snapshot(
        *(
            nightly(
                slow_rates.get((name, operation), HEALTHY),
                component=name,
                operation=operation,
            )
            for name in NAMES
            for operation in (Operation.WRITE, Operation.READ)
        )
    )


def evidence(memory: Snapshot, odds: float = 10_000.0) -> dict[str, Optional[Evidence]]:
    weighing = Weighing({"client1": fleet(odds)}, {"client1": Node(memory)})
    return {name: weighing.evidence(("ost", name, False)) for name in NAMES}


def test_a_component_slow_for_nights_is_an_alarm_and_its_peers_are_not() -> None:
    result = evidence(recorded((NAMES[3], Operation.READ, [*HEALTHY[:6], *[80e6] * 4])))
    slow = result.pop(NAMES[3])
    assert slow
    assert slow.alarm
    assert slow.what == "read"
    assert slow.ratio == pytest.approx(0.4, abs=0.01)
    assert slow.since == NOW - 310 - 3 * DAY_S
    assert slow.moments == 4
    assert not any(peer and peer.reportable for peer in result.values())


@pytest.mark.parametrize("remaining", [0.05, 0.03, 0.001])
def test_a_nearly_total_loss_is_an_alarm(remaining: float) -> None:
    memory = recorded((NAMES[3], Operation.READ, [*HEALTHY, *[remaining * 200e6] * 5]))
    result = evidence(memory)[NAMES[3]]
    assert result
    assert result.alarm
    assert result.ratio == pytest.approx(remaining, rel=0.1)


def test_one_low_night_is_no_alarm() -> None:
    result = evidence(recorded((NAMES[3], Operation.READ, [*HEALTHY, 20e6])))[NAMES[3]]
    assert result
    assert not result.alarm


def test_nights_that_were_bad_for_all_raise_no_alarm() -> None:
    low = [(name, op, [*HEALTHY, *[70e6] * 4]) for name in NAMES for op in OPERATIONS]
    assert not any(item and item.reportable for item in evidence(recorded(*low)).values())


@pytest.mark.parametrize(("odds", "alarm"), [(100.0, True), (1e12, False)])
def test_the_needed_odds_come_from_the_alarm_budget(odds: float, alarm: bool) -> None:
    memory = recorded((NAMES[3], Operation.READ, [*HEALTHY, *[120e6] * 3]))
    result = evidence(memory, odds)[NAMES[3]]
    assert result
    assert result.alarm is alarm


def test_a_baseline_of_another_specification_is_no_reference() -> None:
    entry = expectation(component=NAMES[0], references={"read/single": REFERENCE})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0], spec_hash="another"))
    weighing = Weighing({"client1": [entry]}, {"client1": Node(memory)})
    assert weighing.evidence(("ost", NAMES[0], False)) is None


def test_a_host_is_slow_with_several_partners() -> None:
    entry = host_expectation("oss1", "oss2", "oss4", limits=Limits(alarm_odds=1000.0))
    slow, fast = [*[117e6] * 5, *[40e6] * 3], [117e6] * 8

    def with_partners(*rates: Sequence[float]) -> Optional[Evidence]:
        memory = snapshot(
            *(
                nightly(
                    sent,
                    layer="net",
                    component="oss3",
                    operation=Operation.SEND,
                    partner=partner.name,
                )
                for sent, partner in zip(rates, entry.partners)
            )
        )
        return Weighing({"oss3": [entry]}, {"oss3": Node(memory)}).evidence(("net", "oss3", False))

    with_all, single = with_partners(slow, slow, slow), with_partners(slow, fast, fast)
    assert with_all
    assert with_all.alarm
    assert single
    assert not single.alarm


HOSTS = tuple(f"oss{number}" for number in range(1, 9))


def hosts(slow: Sequence[str]) -> dict[str, Snapshot]:
    """Return the memory of eight hosts: eleven tests with each other host, the last six slow."""
    memories = {}
    for host in HOSTS:
        tests = []
        for partner in (other for other in HOSTS if other != host):
            low = {host, partner} & {*slow}
            rates = [*[117e6] * 5, *[40e6 if low else 117e6] * 6]
            terms = {"layer": "net", "component": host, "operation": Operation.SEND}
            tests.append(nightly(rates, partner=partner, **terms))
        memories[host] = snapshot(*tests)
    return memories


def expected(host: str) -> Expectation:
    partners = [other for other in HOSTS if other != host]
    entry = host_expectation(*partners, limits=Limits(alarm_odds=10_000.0))
    return entry._replace(component=host)


def test_a_host_is_compared_with_its_baseline_and_not_with_its_own_pairs() -> None:
    """A node has the pairs of its own host only."""
    memory = hosts(["oss3"])["oss3"]
    weighing = Weighing({"oss3": [expected("oss3")]}, {"oss3": Node(memory)})
    result = weighing.evidence(("net", "oss3", False))
    assert result
    assert result.alarm
    assert result.against == "its baseline"


def test_a_loss_of_all_hosts_is_one_loss_of_the_group() -> None:
    nodes = {host: [expected(host)] for host in HOSTS}

    def of_all(slow: Sequence[str]) -> Optional[Evidence]:
        memories = {host: Node(memory) for host, memory in hosts(slow).items()}
        return Weighing(nodes, memories).group_evidence(("net", "oss3"))

    all_slow, one_slow = of_all(HOSTS), of_all(["oss3"])
    assert all_slow
    assert all_slow.alarm
    assert all_slow.ratio == pytest.approx(40 / 117, rel=0.01)
    assert one_slow
    assert not one_slow.alarm


@pytest.mark.parametrize(("pairs_a_night", "counts"), [(1, False), (2, True)])
def test_a_night_counts_for_all_hosts_if_more_than_a_quarter_were_measured(
    pairs_a_night: int, counts: bool
) -> None:
    """Two hosts form a pair, and one of them records it: four hosts have two pairs."""
    four = HOSTS[:4]
    terms = {"layer": "net", "operation": Operation.SEND}
    rates = [*[117e6] * 5, *[40e6] * 6]
    nodes, memories = {}, {}
    for number, host in enumerate(four):
        partners = [other for other in four if other != host]
        entry = host_expectation(*partners, limits=Limits(alarm_odds=10_000.0))
        nodes[host] = [entry._replace(component=host)]
        measured = [nightly(rates, partner=partners[0], component=host, **terms)]
        memories[host] = Node(snapshot(*(measured if number < pairs_a_night else ())))
    result = Weighing(nodes, memories).group_evidence(("net", four[0]))
    assert (result is not None) is counts


def test_a_clock_step_and_a_limit_of_zero_are_harmless() -> None:
    limits = Limits(peer_loss=0.0)
    entry = expectation(component=NAMES[0], limits=limits)
    moments = [NOW - 310 - shift for shift in (5 * DAY_S, 0.0, 9 * DAY_S, 3600.0)]
    earlier = [Sample(at, 80e6, None, None, 0, None) for at in moments]
    memory = snapshot(series(80e6, None, earlier, component=NAMES[0]))
    result = Weighing({"client1": [entry]}, {"client1": Node(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert result
    assert result.ratio == pytest.approx(0.4, abs=0.01)


def test_damaged_series_give_no_evidence() -> None:
    memory = recorded()
    damaged = memory._replace(
        series={
            **memory.series,
            f"ost/{NAMES[0]}": {"evidence": None, "operations": [{"latest": 3}]},
        }
    )
    result = evidence(damaged)
    assert result[NAMES[0]] is None
    assert result[NAMES[1]] is not None


def test_an_unexpected_component_has_no_evidence() -> None:
    assert Weighing({}, {}).evidence(("ost", "nobody", False)) is None


def test_evidence_is_put_into_words() -> None:
    result = evidence(recorded((NAMES[3], Operation.READ, [*HEALTHY[:6], *[80e6] * 4])))[NAMES[3]]
    assert result
    (line,) = weighed(result)
    assert line == (
        "read 40 % of its peers' shares of their baselines over 4 runs since 2024-09-30 23:54 UTC, "
        "odds 57,956 to 1 against chance, 10,000 for an alarm"
    )
    assert not list(weighed(result._replace(alarm=False, odds=2.9)))


def alone(peer_loss: float, rates: Sequence[float] = (200e6, 80e6, 80e6)) -> Evidence:
    """Return the evidence of a target without peers."""
    entry = expectation(component=NAMES[0], limits=Limits(peer_loss=peer_loss))
    memory = snapshot(nightly(rates, component=NAMES[0]))
    result = Weighing({"client1": [entry]}, {"client1": Node(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert result
    return result


def test_the_smallest_limit_is_one_percent() -> None:
    least = 1 - exp(-0.01)
    assert alone(0.0).odds == alone(0.5 * least).odds == pytest.approx(alone(least).odds)
    assert alone(0.0).odds != pytest.approx(alone(0.02).odds)


@pytest.mark.parametrize(("runs", "spread"), [(1, 0.01), (4, 0.01), (12, 0.5)])
def test_a_baseline_that_is_not_firm_is_weighed_with_its_error(runs: int, spread: float) -> None:
    weak = Reference(None, BASELINE._replace(runs=runs, spread=spread))
    entry = expectation(component=NAMES[0], references={"read/single": weak})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0]))
    result = Weighing({"client1": [entry]}, {"client1": Node(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert result
    assert result.ratio == pytest.approx(0.4, abs=0.01)
    assert result.against == "its baseline"


def test_a_healthy_component_has_no_odds_and_the_ratio_of_its_last_run() -> None:
    result = alone(0.1, [202.1e6, 202.1e6, 200e6])
    assert (result.odds, result.alarm, result.moments) == (0.0, False, 1)
    assert result.ratio == pytest.approx(0.99, abs=0.001)


@pytest.mark.parametrize(
    ("writes", "reads", "what", "also"),
    [
        (0.4, 0.95, "write", ()),
        (0.95, 0.4, "read", ()),
        (0.5, 0.4, "read", ("write",)),
        (0.4, 0.92, "write", ()),
        (0.4, 0.88, "write", ("read",)),
    ],
)
def test_the_operation_with_the_largest_loss_is_named_first(
    writes: float, reads: float, what: str, also: tuple[str, ...]
) -> None:
    memory = recorded(
        (NAMES[3], Operation.WRITE, [*HEALTHY[:6], *[writes * 200e6] * 4]),
        (NAMES[3], Operation.READ, [*HEALTHY[:6], *[reads * 200e6] * 4]),
    )
    result = evidence(memory)[NAMES[3]]
    assert result
    assert result.what == what
    assert result.ratio == pytest.approx(min(writes, reads), abs=0.01)
    assert tuple(name for name, _ in result.also) == also
    assert [ratio for _, ratio in result.also] == pytest.approx(
        [max(writes, reads)] * len(also), abs=0.01
    )


def test_write_and_read_together_have_higher_odds_than_either() -> None:
    nights = [*HEALTHY[:6], *[120e6] * 2]
    single = evidence(recorded((NAMES[3], Operation.READ, nights)))[NAMES[3]]
    both = evidence(recorded(*((NAMES[3], op, nights) for op in (Operation.WRITE, Operation.READ))))
    result = both[NAMES[3]]
    assert single
    assert result
    assert result.odds > single.odds


@pytest.mark.parametrize("counting", [True, False])
def test_the_number_of_runs_to_an_alarm_is_computed_on_request_only(counting: bool) -> None:
    memory = recorded((NAMES[3], Operation.READ, [*HEALTHY, *[120e6] * 2]))
    nodes, memories = {"client1": fleet()}, {"client1": Node(memory)}
    weighing = Weighing(nodes, memories, counting=counting)
    result = weighing.evidence(("ost", NAMES[3], False))
    assert result
    assert not result.alarm
    assert (result.more is not None) is counting


@pytest.mark.parametrize(
    ("shares", "apart_s", "odds", "more"),
    [
        # after a single run: a day apart, up to nine more
        ((0.4,), 0.0, 1000.0, 3),
        ((0.4,), 0.0, 1e8, 9),
        ((0.4,), 0.0, 2e8, None),
        # after several runs: at the distance of the last two
        ((1.0, 0.4), DAY_S, 1000.0, 3),
        ((1.0, 0.4), 3600.0, 1000.0, 5),
        ((1.0, 1.0, 0.4), 600.0, 1000.0, None),
        ((1.0, 0.4, 0.4), DAY_S, 1000.0, 2),
        # a good run raises no alarm, a low one ends none
        ((1.0, 0.4, 1.0), DAY_S, 1000.0, None),
        ((1.0, *[0.4] * 5), DAY_S, 20.0, None),
        ((1.0, *[0.4] * 5, 1.0), DAY_S, 20.0, 1),
    ],
)
def test_further_equal_runs_to_an_alarm_or_its_end_are_counted(
    shares: Sequence[float], apart_s: float, odds: float, more: Optional[int]
) -> None:
    entry = expectation(component=NAMES[0], limits=Limits(alarm_odds=odds))
    earlier = [
        Sample(NOW - 310 - apart_s - night * DAY_S, share * 200e6, None, None, 0, None)
        for night, share in enumerate(shares[-2::-1])
    ]
    memory = snapshot(series(shares[-1] * 200e6, None, earlier, component=NAMES[0]))
    result = Weighing({"c": [entry]}, {"c": Node(memory)}).evidence(("ost", NAMES[0], False))
    assert result
    assert result.more == more


def test_a_group_has_the_limits_of_its_first_member() -> None:
    entries = [
        entry._replace(limits=Limits(alarm_odds=1000.0 * (number + 1)))
        for number, entry in enumerate(fleet())
    ]
    result = Weighing({"client1": entries}, {"client1": Node(recorded())}).evidence(
        ("ost", "scratch", True)
    )
    assert result
    assert result.needed == pytest.approx(log(1000.0))


def of_devices(*members: tuple[str, Sequence[float]], systems: int) -> list[Optional[Evidence]]:
    """Return the evidence of the disks of one server, by file system.

    ``members`` are the file system of each disk and its nightly rates; with two
    ``systems``, each disk also has a target of a second file system.
    """
    reference = Reference(None, BASELINE)
    disks = [
        expectation(
            layer="raw",
            component=f"disk{number}",
            group="oss1",
            path=(f"disk{number}",),
            references={"read/single": reference},
        )
        for number, _ in enumerate(members)
    ]
    targets = [
        expectation(component=f"{name}-{number}-{copy}", group=group, path=(f"disk{number}",))
        for number, (name, _) in enumerate(members)
        for copy in range(systems)
        for group in [name if copy == 0 else "other"]
    ]
    memory = snapshot(
        *(
            nightly(rates, layer="raw", component=f"disk{number}", operation=Operation.READ)
            for number, (_, rates) in enumerate(members)
        )
    )
    weighing = Weighing({"oss1": [*disks, *targets]}, {"oss1": Node(memory)})
    return [weighing.evidence(("raw", disk.component, False)) for disk in disks]


@pytest.mark.parametrize(("systems", "alarm"), [(1, False), (2, True)])
def test_devices_are_compared_with_those_of_their_file_system(systems: int, alarm: bool) -> None:
    """Devices of a busy file system are slow together; with two on each disk they look slow."""
    busy, quiet = [*HEALTHY, *[60e6] * 5], [200e6] * 15
    members = [("busy", busy)] * 5 + [("quiet", quiet)] * 9
    (first, *_) = of_devices(*members, systems=systems)
    assert first
    assert first.alarm is alarm


def test_a_device_without_file_system_is_compared_with_those_of_its_server() -> None:
    entries = [
        expectation(layer="raw", component=name, group="oss1", references=READ) for name in NAMES
    ]
    slow = [*HEALTHY[:6], *[80e6] * 4]
    memory = snapshot(
        *(
            nightly(slow if name == NAMES[3] else HEALTHY, layer="raw", component=name)
            for name in NAMES
        )
    )
    weighing = Weighing({"oss1": entries}, {"oss1": Node(memory)})
    result = weighing.evidence(("raw", NAMES[3], False))
    assert result
    assert result.alarm
    assert result.against == "its peers' shares of their baselines"


@pytest.mark.parametrize(
    ("shares", "odds", "low", "ratio"),
    [
        # nearer to health than to the loss: 65 and 85 % of the rate
        ((0.25, 0.25, 0.4, 0.65, 0.85, 0.4), 20.0, 4, 0.4),
        # half of the moments of an alarm: the middle of the slow ones
        ((0.3, 0.3, 0.97, 0.3, 0.97, 0.97), 200.0, 3, 0.3),
        # no alarm: the middle of all
        ((0.3, 0.85, 0.3), 1e12, 2, 0.3),
    ],
)
def test_moments_nearer_to_the_loss_than_to_health_are_slow(
    shares: Sequence[float], odds: float, low: int, ratio: float
) -> None:
    rates = [*HEALTHY, *(share * 200e6 for share in shares)]
    result = evidence(recorded((NAMES[3], Operation.READ, rates)), odds)[NAMES[3]]
    assert result
    assert result.alarm is (odds < 1e12)
    assert (result.what, result.moments, result.low) == ("read", len(shares), low)
    assert result.ratio == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize(
    ("rates", "runs"),
    [
        ([200e6] * 9 + [40e6, 40e6], 2),
        ([200e6] * 9 + [40e6] * 3, 3),
        ([200e6] * 9 + [99.4e6] * 2, 2),
        # one run, one that was not gross, one that was good again
        ([200e6] * 10 + [40e6], 0),
        ([200e6] * 9 + [40e6, 110e6], 0),
        ([200e6] * 9 + [40e6, 100.6e6], 0),
        ([200e6] * 9 + [100.6e6, 40e6], 0),
        ([200e6] * 8 + [40e6, 200e6, 40e6], 0),
    ],
)
def test_runs_a_day_apart_that_are_all_gross_are_known(rates: Sequence[float], runs: int) -> None:
    begun = NOW - 310 - (runs - 1) * DAY_S if runs else None
    assert gross_since(rates, peers=1) == begun
    assert gross_since(rates, peers=5) == begun


@pytest.mark.parametrize("peers", [2, 3])
@pytest.mark.parametrize("share", [0.2, 0.4, 0.6])
def test_two_good_runs_end_an_alarm_among_few_peers(peers: int, share: float) -> None:
    def alarm(good: int) -> bool:
        rates = [200e6] * 10 + [share * 200e6] * 10 + [200e6] * good
        earlier = [
            Sample(NOW - 310 - night * DAY_S, rate, None, 200e6, peers, None)
            for night, rate in enumerate(rates[-2::-1], start=1)
        ]
        newest = series(rates[-1], 200e6, earlier, component="disk1")
        first = newest.samples[0]._replace(peers=peers)
        entry = expectation(component="disk1", references={"read/single": Reference(None, None)})
        memory = snapshot(newest._replace(samples=(first, *earlier)))
        result = Weighing({"c": [entry]}, {"c": Node(memory)}).evidence(("ost", "disk1", False))
        assert result
        assert result.against == "its few peers in the same run"
        return result.alarm

    assert [alarm(good) for good in range(3)] == [True, True, False]


def test_gross_runs_without_peers_may_be_busy_days() -> None:
    assert gross_since([200e6] * 9 + [40e6] * 3, peers=0) is None


def test_among_many_peers_the_odds_decide_on_gross_runs() -> None:
    memory = snapshot(
        *(
            series(rates[-1], 200e6, in_runs_of_six(rates), component=name)
            for name, rates in zip(NAMES, [[200e6] * 9 + [90e6] * 3, *[[200e6] * 12] * 5])
        )
    )
    result = evidence(memory)[NAMES[0]]
    assert result
    assert result.against == "its peers in the same run"
    assert result.gross_since is None


def test_a_low_run_by_name_is_not_compared_with_peers_of_the_same_run() -> None:
    healthy = [200e6] * 12
    by_name = series(80e6, None, in_runs_of_six(healthy), component=NAMES[0])
    others = (
        series(200e6, 200e6, in_runs_of_six(healthy), component=name, started_at=NOW - 900)
        for name in NAMES[1:]
    )
    result = evidence(snapshot(by_name, *others))[NAMES[0]]
    assert result
    assert (result.against, result.moments) == ("its peers", 1)


def in_runs_of_six(rates: Sequence[float]) -> list[Sample]:
    """Return earlier runs, one a night, each with five peers; the newest comes first."""
    return [
        Sample(NOW - 310 - night * DAY_S, rate, None, 200e6, 5, None)
        for night, rate in enumerate(rates[:-1][::-1], start=1)
    ]


@pytest.mark.parametrize("hours_later", [0, 21])
@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ({3: (0.5, 0.6), 7: (0.5, 1.0), 8: (0.5,), 12: (0.4, 0.4, 0.5)}, (2, 16)),
        ({3: (0.5, 0.6)}, (1, 16)),
        ({3: (0.5,)}, (0, 0)),
    ],
)
def test_nights_with_several_runs_that_are_all_slow_are_counted(
    hours: dict[int, Sequence[float]], hours_later: int, expected: tuple[int, int]
) -> None:
    begin = 0.1 + hours_later / 24
    runs = [
        Sample((night + begin + 0.05 * place) * DAY_S, share * 200e6, None, None, 0, None)
        for night in range(15)
        for place, share in enumerate(hours.get(night, (1.0,)))
    ]
    memory = snapshot(series(200e6, None, runs[::-1], component=NAMES[0]))
    result = Weighing({"c": fleet()}, {"c": Node(memory)}).evidence(("ost", NAMES[0], False))
    assert result
    assert (result.slow_nights, result.nights) == expected


def gross_since(rates: Sequence[float], peers: int) -> Optional[float]:
    """Return the start of the gross runs of a target with a run a night."""
    rate, peers_rate = rates[-1], 200e6 if peers else None
    earlier = [
        Sample(NOW - 310 - night * DAY_S, rate, None, peers_rate, peers, None)
        for night, rate in enumerate(rates[:-1][::-1], start=1)
    ]
    memory = snapshot(series(rate, peers_rate, earlier, component=NAMES[0]))
    result = Weighing({"c": fleet()}, {"c": Node(memory)}).evidence(("ost", NAMES[0], False))
    assert result
    return result.gross_since


def pairs(rates: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Optional[Evidence]]:
    """Return the evidence of hosts; ``rates`` are by host and partner."""
    entries = {
        name: host_expectation(*partners, limits=Limits(alarm_odds=1000.0))._replace(component=name)
        for name, partners in rates.items()
    }
    memories = {
        name: Node(
            snapshot(
                *(
                    nightly(
                        nights,
                        layer="net",
                        component=name,
                        operation=Operation.SEND,
                        partner=partner,
                    )
                    for partner, nights in partners.items()
                )
            )
        )
        for name, partners in rates.items()
    }
    weighing = Weighing({name: [entry] for name, entry in entries.items()}, memories)
    return {name: weighing.evidence(("net", name, False)) for name in rates}


def test_hosts_of_a_group_are_peers() -> None:
    """A loss of the network accuses no host; a larger loss of one host does."""
    bad_night = [*[117e6] * 5, *[60e6] * 5]
    rates = {f"oss{number}": {"a": bad_night, "b": bad_night} for number in range(6)}
    assert not any(item and item.reportable for item in pairs(rates).values())
    own = [*[117e6] * 5, *[20e6] * 5]
    result = pairs({**rates, "oss3": {"a": own, "b": own}})
    assert [name for name, item in result.items() if item and item.alarm] == ["oss3"]
    assert result["oss3"] is not None
    assert result["oss3"].against == "its peers' shares of their baselines"


def test_a_partner_that_is_no_longer_expected_does_not_count() -> None:
    fine, slow = [117e6] * 8, [*[117e6] * 3, *[20e6] * 5]
    entry = host_expectation("a", limits=Limits(alarm_odds=1000.0))
    memory = snapshot(
        *(
            nightly(rates, layer="net", component="oss3", operation=Operation.SEND, partner=partner)
            for partner, rates in (("a", fine), ("gone", slow))
        )
    )
    result = Weighing({"oss3": [entry]}, {"oss3": Node(memory)}).evidence(("net", "oss3", False))
    assert result
    assert result.odds == 0.0


def test_the_odds_of_one_operation_are_those_of_its_own_runs() -> None:
    """Two operations have a joint claim besides their own; one operation has not."""
    runs = alone(0.1, [200e6, 80e6, 80e6])
    both = expectation(component=NAMES[0], limits=Limits(peer_loss=0.1))
    memory = snapshot(
        *(
            nightly([200e6, 80e6, 80e6], component=NAMES[0], operation=operation)
            for operation in (Operation.WRITE, Operation.READ)
        )
    )
    two = Weighing({"c": [both]}, {"c": Node(memory)}).evidence(("ost", NAMES[0], False))
    assert two
    assert two.odds > runs.odds
    question = Question(-log(0.9), 99.0, 99.0)
    write = alone_source([200e6, 80e6, 80e6])
    assert runs.odds == pytest.approx(weigh([Case([Claim((write,))], [], question)])[0].odds)
    read = write._replace(runs=rows(run._replace(source=1) for run in runs_of(write)))
    merged = write._replace(runs=merge([write.runs, read.runs]))
    claims = [Claim((write,)), Claim((read,))]
    weight = weigh([Case(claims, [Claim((merged,))], question)])[0]
    assert two.odds == pytest.approx(weight.odds)


def alone_source(rates: Sequence[float]) -> Source:
    """Return the runs of a target relative to its baseline, as in docs/verdicts.md."""
    runs = tuple(
        Run(NOW - 310 - night * DAY_S, log(rate / BASELINE.median), 0.05)
        for night, rate in zip(range(len(rates) - 1, -1, -1), rates)
    )
    return Source(rows(runs), 1.2533 * 0.05 / sqrt(BASELINE.runs), LONE_NOISE)


def test_two_operations_of_a_host_are_weighed_with_all_its_partners_together() -> None:
    """The partners stay separate sources, the directions are merged."""
    entry = host_expectation(
        "a", "b", references={f"{way}/single": Reference(None, SENT) for way in ("send", "receive")}
    )
    rates = [117e6, 40e6]
    memory = snapshot(
        *(
            nightly(rates, layer="net", component="oss3", operation=way, partner=partner)
            for way in (Operation.SEND, Operation.RECEIVE)
            for partner in "ab"
        )
    )
    result = Weighing({"oss3": [entry]}, {"oss3": Node(memory)}).evidence(("net", "oss3", False))
    assert result
    ratios = [log(rate / 117e6) for rate in rates]

    def source(*numbers: int) -> Source:
        at = NOW - 310
        runs = tuple(
            Run(at - (1 - night) * DAY_S, ratio, 0.05, number)
            for night, ratio in enumerate(ratios)
            for number in numbers
        )
        return Source(rows(runs), 1.2533 * 0.05 / sqrt(SENT.runs), LONE_NOISE)

    claims = [Claim((source(number), source(number))) for number in (0, 1)]
    together = Claim((source(0, 1), source(0, 1)))
    question = Question(-log(0.9), 99.0, 99.0)
    weight = weigh([Case(claims, [together], question)])[0]
    assert result.odds == pytest.approx(weight.odds)


def test_a_baseline_of_no_runs_is_no_reference() -> None:
    none = Reference(None, BASELINE._replace(runs=0))
    entry = expectation(component=NAMES[0], references={"read/single": none})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0]))
    weighing = Weighing({"client1": [entry]}, {"client1": Node(memory)})
    assert weighing.evidence(("ost", NAMES[0], False)) is None


def test_without_a_loss_the_first_operation_is_named() -> None:
    entry = expectation(component=NAMES[0])
    memory = snapshot(
        *(
            nightly([BASELINE.median] * 3, component=NAMES[0], operation=operation)
            for operation in (Operation.WRITE, Operation.READ)
        )
    )
    result = Weighing({"c": [entry]}, {"c": Node(memory)}).evidence(("ost", NAMES[0], False))
    assert result
    assert (result.what, result.odds) == ("write", 0.0)


class Newest:
    """A node by the last of some snapshots."""

    running = ()

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self._snapshots = snapshots

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return the series of a component."""
        return self._snapshots[-1].of(layer, component)

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return None: no version changes."""
        return None


def test_further_runs_of_a_component_are_weighed_and_those_of_others_are_not_read_again() -> None:
    slow, other = NAMES[3], NAMES[1]
    snapshots = [recorded()]
    weighing = Weighing({"client1": fleet()}, {"client1": Newest(snapshots)})
    assert not any(item.alarm for item in weighing.all().values())
    lost = [*HEALTHY[:6], *[80e6] * 4]
    snapshots.append(recorded((slow, Operation.READ, lost), (other, Operation.READ, lost)))
    weighing.measured_again([("ost", slow)])
    subjects = [("ost", slow, False), ("ost", other, False), ("ost", "scratch", True)]
    assert [weighing.weighed(subject) for subject in subjects] == [False, True, False]
    again = weighing.evidence(("ost", slow, False))
    kept = weighing.evidence(("ost", other, False))
    assert again
    assert kept
    assert (again.alarm, kept.alarm) == (True, False)


def test_evidence_that_is_known_is_not_weighed_again() -> None:
    memory = Node(recorded((NAMES[3], Operation.READ, [*HEALTHY[:6], *[80e6] * 4])))
    nodes = {"client1": fleet()}
    weighed = Weighing(nodes, {"client1": memory}).all()
    subject = "ost", NAMES[3], False
    known = {subject: weighed[subject]._replace(odds=1.5)}
    weighing = Weighing(nodes, {"client1": memory}, evidence_before=known)
    assert weighing.all() == {**weighed, **known}
    assert weighing.known({"ost"}) == weighing.all()
    assert weighing.known({"raw"}) == {}
    # its runs can still be read
    assert [item.measurement.what for item in weighing.compared(("ost", NAMES[3]))]
