"""All that a node, or a site, measures is weighed by one judge, each component beside its kind."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.judge.phrases import weighed
from plumbline.judge.recursion import weigh
from plumbline.judge.runs import LONE_NOISE, Claim, Question, Source, Subject, merge
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation
from plumbline.model.series import Sample, Series, Snapshot
from tests.package.judge.rows import Run, rows, runs_of
from tests.package.judgements import (
    BASELINE,
    DAY_S,
    NOW,
    REFERENCE,
    Past,
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


def taken(*slow: tuple[str, Operation, Sequence[float]]) -> Snapshot:
    """Return what was measured of the fleet; all is healthy but what is ``slow``."""
    given = {(name, operation): rates for name, operation, rates in slow}
    return snapshot(
        *(
            nightly(
                given.get((name, operation), HEALTHY),
                component=name,
                operation=operation,
            )
            for name in NAMES
            for operation in (Operation.WRITE, Operation.READ)
        )
    )


def evidence(memory: Snapshot, odds: float = 10_000.0) -> dict[str, Optional[Evidence]]:
    weighing = Weighing({"client1": fleet(odds)}, {"client1": Past(memory)})
    return {name: weighing.evidence(("ost", name, False)) for name in NAMES}


def test_what_is_slow_for_nights_is_an_alarm_and_its_peers_are_not() -> None:
    found = evidence(taken((NAMES[3], Operation.READ, [*HEALTHY[:6], *[80e6] * 4])))
    slow = found.pop(NAMES[3])
    assert slow
    assert slow.alarm
    assert slow.what == "read"
    assert slow.ratio == pytest.approx(0.4, abs=0.01)
    assert slow.since == NOW - 310 - 3 * DAY_S
    assert slow.moments == 4
    assert not any(one and one.reportable for one in found.values())


@pytest.mark.parametrize("left", [0.05, 0.03, 0.001])
def test_what_has_lost_nearly_all_is_an_alarm_as_well(left: float) -> None:
    memory = taken((NAMES[3], Operation.READ, [*HEALTHY, *[left * 200e6] * 5]))
    found = evidence(memory)[NAMES[3]]
    assert found
    assert found.alarm
    assert found.ratio == pytest.approx(left, rel=0.1)


def test_one_low_night_is_none() -> None:
    found = evidence(taken((NAMES[3], Operation.READ, [*HEALTHY, 20e6])))[NAMES[3]]
    assert found
    assert not found.alarm


def test_a_night_that_was_bad_for_all_is_nobodys_fault() -> None:
    low = [(name, op, [*HEALTHY, *[70e6] * 4]) for name in NAMES for op in OPERATIONS]
    assert not any(one and one.reportable for one in evidence(taken(*low)).values())


@pytest.mark.parametrize(("odds", "alarm"), [(100.0, True), (1e12, False)])
def test_the_odds_that_an_alarm_takes_come_from_the_budget(odds: float, alarm: bool) -> None:
    memory = taken((NAMES[3], Operation.READ, [*HEALTHY, *[120e6] * 3]))
    found = evidence(memory, odds)[NAMES[3]]
    assert found
    assert found.alarm is alarm


def test_a_baseline_of_another_specification_is_no_reference() -> None:
    one = expectation(component=NAMES[0], references={"read/single": REFERENCE})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0], spec_hash="another"))
    weighing = Weighing({"client1": [one]}, {"client1": Past(memory)})
    assert weighing.evidence(("ost", NAMES[0], False)) is None


def test_a_host_is_slow_with_several_partners() -> None:
    one = host_expectation("oss1", "oss2", "oss4", limits=Limits(alarm_odds=1000.0))
    slow, fast = [*[117e6] * 5, *[40e6] * 3], [117e6] * 8

    def with_partners(*rates: Sequence[float]) -> Optional[Evidence]:
        memory = snapshot(
            *(
                nightly(
                    given,
                    layer="net",
                    component="oss3",
                    operation=Operation.SEND,
                    partner=partner.name,
                )
                for given, partner in zip(rates, one.partners)
            )
        )
        return Weighing({"oss3": [one]}, {"oss3": Past(memory)}).evidence(("net", "oss3", False))

    every, single = with_partners(slow, slow, slow), with_partners(slow, fast, fast)
    assert every
    assert every.alarm
    assert single
    assert not single.alarm


HOSTS = tuple(f"oss{number}" for number in range(1, 9))


def hosts(slow: Sequence[str]) -> dict[str, Snapshot]:
    """Return what eight hosts remember of eleven tests with each other one, the last six slow."""
    found = {}
    for host in HOSTS:
        of = []
        for partner in (one for one in HOSTS if one != host):
            low = {host, partner} & {*slow}
            rates = [*[117e6] * 5, *[40e6 if low else 117e6] * 6]
            given = {"layer": "net", "component": host, "operation": Operation.SEND}
            of.append(nightly(rates, partner=partner, **given))
        found[host] = snapshot(*of)
    return found


def expected(host: str) -> Expectation:
    partners = [one for one in HOSTS if one != host]
    one = host_expectation(*partners, limits=Limits(alarm_odds=10_000.0))
    return one._replace(component=host)


def test_a_host_is_not_held_against_its_own_pairs_which_are_all_slow_when_it_is() -> None:
    """On its node there are no others."""
    memory = hosts(["oss3"])["oss3"]
    found = Weighing({"oss3": [expected("oss3")]}, {"oss3": Past(memory)})
    known = found.evidence(("net", "oss3", False))
    assert known
    assert known.alarm
    assert known.against == "its baseline"


def test_what_all_hosts_have_lost_is_a_loss_of_all_hosts() -> None:
    nodes = {host: [expected(host)] for host in HOSTS}

    def of_all(slow: Sequence[str]) -> Optional[Evidence]:
        memories = {host: Past(memory) for host, memory in hosts(slow).items()}
        return Weighing(nodes, memories).group_evidence(("net", "oss3"))

    every, one = of_all(HOSTS), of_all(["oss3"])
    assert every
    assert every.alarm
    assert every.ratio == pytest.approx(40 / 117, rel=0.01)
    assert one
    assert not one.alarm


@pytest.mark.parametrize(("pairs_a_night", "counts"), [(1, False), (2, True)])
def test_a_night_counts_for_all_hosts_where_more_than_a_quarter_of_them_were_measured(
    pairs_a_night: int, counts: bool
) -> None:
    """Two hosts meet at a time, and one of them says it: of four hosts two pairs are all."""
    four = HOSTS[:4]
    given = {"layer": "net", "operation": Operation.SEND}
    rates = [*[117e6] * 5, *[40e6] * 6]
    nodes, memories = {}, {}
    for number, host in enumerate(four):
        partners = [one for one in four if one != host]
        one = host_expectation(*partners, limits=Limits(alarm_odds=10_000.0))
        nodes[host] = [one._replace(component=host)]
        measured = [nightly(rates, partner=partners[0], component=host, **given)]
        memories[host] = Past(snapshot(*(measured if number < pairs_a_night else ())))
    found = Weighing(nodes, memories).group_evidence(("net", four[0]))
    assert (found is not None) is counts


def test_a_clock_that_was_stepped_back_and_a_limit_of_nothing_do_no_harm() -> None:
    limits = Limits(peer_loss=0.0)
    one = expectation(component=NAMES[0], limits=limits)
    moments = [NOW - 310 - shift for shift in (5 * DAY_S, 0.0, 9 * DAY_S, 3600.0)]
    earlier = [Sample(at, 80e6, None, None, 0, None) for at in moments]
    memory = snapshot(series(80e6, None, earlier, component=NAMES[0]))
    found = Weighing({"client1": [one]}, {"client1": Past(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert found
    assert found.ratio == pytest.approx(0.4, abs=0.01)


def test_of_damaged_series_nothing_is_known() -> None:
    memory = taken()
    damaged = memory._replace(
        series={
            **memory.series,
            f"ost/{NAMES[0]}": {"evidence": None, "operations": [{"latest": 3}]},
        }
    )
    found = evidence(damaged)
    assert found[NAMES[0]] is None
    assert found[NAMES[1]] is not None


def test_of_what_nobody_expects_nothing_is_known() -> None:
    assert Weighing({}, {}).evidence(("ost", "nobody", False)) is None


def test_what_runs_say_together_is_put_into_words() -> None:
    found = evidence(taken((NAMES[3], Operation.READ, [*HEALTHY[:6], *[80e6] * 4])))[NAMES[3]]
    assert found
    (line,) = weighed(found)
    assert line == (
        "read 40 % of its peers' shares of their baselines over 4 runs since 2024-09-30 23:54 UTC, "
        "odds 55,639 to 1 against chance, 10,000 for an alarm"
    )
    assert not list(weighed(found._replace(alarm=False, odds=2.9)))


def alone(peer_loss: float, rates: Sequence[float] = (200e6, 80e6, 80e6)) -> Evidence:
    """Return what is known of a target without peers."""
    one = expectation(component=NAMES[0], limits=Limits(peer_loss=peer_loss))
    memory = snapshot(nightly(rates, component=NAMES[0]))
    found = Weighing({"client1": [one]}, {"client1": Past(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert found
    return found


def test_no_smaller_loss_than_one_percent_is_looked_for() -> None:
    least = 1 - exp(-0.01)
    assert alone(0.0).odds == alone(0.5 * least).odds == pytest.approx(alone(least).odds)
    assert alone(0.0).odds != pytest.approx(alone(0.02).odds)


@pytest.mark.parametrize(("runs", "spread"), [(1, 0.01), (4, 0.01), (12, 0.5)])
def test_a_baseline_that_is_not_firm_is_weighed_with_its_error(runs: int, spread: float) -> None:
    weak = Reference(None, BASELINE._replace(runs=runs, spread=spread))
    one = expectation(component=NAMES[0], references={"read/single": weak})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0]))
    found = Weighing({"client1": [one]}, {"client1": Past(memory)}).evidence(
        ("ost", NAMES[0], False)
    )
    assert found
    assert found.ratio == pytest.approx(0.4, abs=0.01)
    assert found.against == "its baseline"


def test_a_healthy_component_has_no_odds_and_names_the_middle_of_its_last_run() -> None:
    found = alone(0.1, [202.1e6, 202.1e6, 200e6])
    assert (found.odds, found.alarm, found.moments) == (0.0, False, 1)
    assert found.ratio == pytest.approx(0.99, abs=0.001)


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
def test_the_operation_that_has_lost_most_is_named_and_what_has_lost_as_well(
    writes: float, reads: float, what: str, also: tuple[str, ...]
) -> None:
    memory = taken(
        (NAMES[3], Operation.WRITE, [*HEALTHY[:6], *[writes * 200e6] * 4]),
        (NAMES[3], Operation.READ, [*HEALTHY[:6], *[reads * 200e6] * 4]),
    )
    found = evidence(memory)[NAMES[3]]
    assert found
    assert found.what == what
    assert found.ratio == pytest.approx(min(writes, reads), abs=0.01)
    assert tuple(name for name, _ in found.also) == also
    assert [ratio for _, ratio in found.also] == pytest.approx(
        [max(writes, reads)] * len(also), abs=0.01
    )


def test_write_and_read_together_are_more_than_either() -> None:
    nights = [*HEALTHY[:6], *[120e6] * 2]
    one = evidence(taken((NAMES[3], Operation.READ, nights)))[NAMES[3]]
    both = evidence(taken(*((NAMES[3], op, nights) for op in (Operation.WRITE, Operation.READ))))
    found = both[NAMES[3]]
    assert one
    assert found
    assert found.odds > one.odds


@pytest.mark.parametrize("counting", [True, False])
def test_who_asks_for_alarms_alone_is_not_told_how_many_runs_raise_one(counting: bool) -> None:
    memory = taken((NAMES[3], Operation.READ, [*HEALTHY, *[120e6] * 2]))
    nodes, memories = {"client1": fleet()}, {"client1": Past(memory)}
    weighing = Weighing(nodes, memories, counting=counting)
    known = weighing.evidence(("ost", NAMES[3], False))
    assert known
    assert not known.alarm
    assert (known.more is not None) is counting


@pytest.mark.parametrize(
    ("shares", "apart_s", "odds", "more"),
    [
        # after a single run an hour apart, up to nine more
        ((0.4,), 0.0, 1000.0, 5),
        ((0.4,), 0.0, 1e5, 9),
        ((0.4,), 0.0, 3e5, None),
        # after several as the last two were
        ((1.0, 0.4), DAY_S, 1000.0, 3),
        ((1.0, 0.4), 3600.0, 1000.0, 5),
        ((1.0, 1.0, 0.4), 600.0, 1000.0, 6),
        ((1.0, 0.4, 0.4), DAY_S, 1000.0, 2),
        # a good run raises no alarm, a low one ends none
        ((1.0, 0.4, 1.0), DAY_S, 1000.0, None),
        ((1.0, *[0.4] * 5), DAY_S, 20.0, None),
        ((1.0, *[0.4] * 5, 1.0), DAY_S, 20.0, 1),
    ],
)
def test_so_many_runs_like_the_last_one_raise_an_alarm_or_end_it(
    shares: Sequence[float], apart_s: float, odds: float, more: Optional[int]
) -> None:
    one = expectation(component=NAMES[0], limits=Limits(alarm_odds=odds))
    earlier = [
        Sample(NOW - 310 - apart_s - night * DAY_S, share * 200e6, None, None, 0, None)
        for night, share in enumerate(shares[-2::-1])
    ]
    memory = snapshot(series(shares[-1] * 200e6, None, earlier, component=NAMES[0]))
    found = Weighing({"c": [one]}, {"c": Past(memory)}).evidence(("ost", NAMES[0], False))
    assert found
    assert found.more == more


def test_a_group_has_the_limits_of_its_first_member() -> None:
    entries = [
        one._replace(limits=Limits(alarm_odds=1000.0 * (number + 1)))
        for number, one in enumerate(fleet())
    ]
    found = Weighing({"client1": entries}, {"client1": Past(taken())}).evidence(
        ("ost", "scratch", True)
    )
    assert found
    assert found.needed == pytest.approx(log(1000.0))


def of_devices(*members: tuple[str, Sequence[float]], systems: int) -> list[Optional[Evidence]]:
    """Return what is known of the disks of one server, of which some belong to a file system.

    ``members`` are the file system of each disk, and what it gave each night; where there are two
    ``systems``, a target of the second one lies on each disk as well.
    """
    known = Reference(None, BASELINE)
    disks = [
        expectation(
            layer="raw",
            component=f"disk{number}",
            group="oss1",
            path=(f"disk{number}",),
            references={"read/single": known},
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
    weighing = Weighing({"oss1": [*disks, *targets]}, {"oss1": Past(memory)})
    return [weighing.evidence(("raw", one.component, False)) for one in disks]


@pytest.mark.parametrize(("systems", "found"), [(1, False), (2, True)])
def test_devices_are_held_against_those_of_their_file_system(systems: int, found: bool) -> None:
    """Those of a busy one are slow together; where the file system is not known, they are slow."""
    busy, quiet = [*HEALTHY, *[60e6] * 5], [200e6] * 15
    members = [("busy", busy)] * 5 + [("quiet", quiet)] * 9
    (first, *_) = of_devices(*members, systems=systems)
    assert first
    assert first.alarm is found


def test_a_device_of_no_file_system_is_held_against_those_of_its_server() -> None:
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
    weighing = Weighing({"oss1": entries}, {"oss1": Past(memory)})
    found = weighing.evidence(("raw", NAMES[3], False))
    assert found
    assert found.alarm
    assert found.against == "its peers' shares of their baselines"


def pairs(rates: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Optional[Evidence]]:
    """Return what is known of hosts; ``rates`` are what each sent to each of its partners."""
    entries = {
        name: host_expectation(*partners, limits=Limits(alarm_odds=1000.0))._replace(component=name)
        for name, partners in rates.items()
    }
    memories = {
        name: Past(
            snapshot(
                *(
                    nightly(
                        found,
                        layer="net",
                        component=name,
                        operation=Operation.SEND,
                        partner=partner,
                    )
                    for partner, found in partners.items()
                )
            )
        )
        for name, partners in rates.items()
    }
    weighing = Weighing({name: [one] for name, one in entries.items()}, memories)
    return {name: weighing.evidence(("net", name, False)) for name in rates}


def test_hosts_of_a_group_are_peers() -> None:
    """What the network lost on some nights is no host's; what one host lost on others is."""
    bad_night = [*[117e6] * 5, *[60e6] * 5]
    every = {f"oss{number}": {"a": bad_night, "b": bad_night} for number in range(6)}
    assert not any(one and one.reportable for one in pairs(every).values())
    own = [*[117e6] * 5, *[20e6] * 5]
    found = pairs({**every, "oss3": {"a": own, "b": own}})
    assert [name for name, one in found.items() if one and one.alarm] == ["oss3"]
    assert found["oss3"] is not None
    assert found["oss3"].against == "its peers' shares of their baselines"


def test_a_partner_that_is_expected_no_longer_does_not_speak() -> None:
    fine, slow = [117e6] * 8, [*[117e6] * 3, *[20e6] * 5]
    one = host_expectation("a", limits=Limits(alarm_odds=1000.0))
    memory = snapshot(
        *(
            nightly(rates, layer="net", component="oss3", operation=Operation.SEND, partner=partner)
            for partner, rates in (("a", fine), ("gone", slow))
        )
    )
    found = Weighing({"oss3": [one]}, {"oss3": Past(memory)}).evidence(("net", "oss3", False))
    assert found
    assert found.odds == 0.0


def test_the_odds_of_one_operation_are_those_of_its_runs_alone() -> None:
    """Nothing is together with one operation, and what is together is one part more to ask of."""
    runs = alone(0.1, [200e6, 80e6, 80e6])
    both = expectation(component=NAMES[0], limits=Limits(peer_loss=0.1))
    memory = snapshot(
        *(
            nightly([200e6, 80e6, 80e6], component=NAMES[0], operation=operation)
            for operation in (Operation.WRITE, Operation.READ)
        )
    )
    two = Weighing({"c": [both]}, {"c": Past(memory)}).evidence(("ost", NAMES[0], False))
    assert two
    assert two.odds > runs.odds
    asked = Question(-log(0.9), 99.0, 99.0)
    write = alone_source([200e6, 80e6, 80e6])
    assert runs.odds == pytest.approx(weigh([Subject([Claim((write,))], [], asked)])[0].odds)
    read = write._replace(runs=rows(run._replace(source=1) for run in runs_of(write)))
    merged = write._replace(runs=merge([write.runs, read.runs]))
    claims = [Claim((write,)), Claim((read,))]
    weight = weigh([Subject(claims, [Claim((merged,))], asked)])[0]
    assert two.odds == pytest.approx(weight.odds)


def alone_source(rates: Sequence[float]) -> Source:
    """Return the runs of a target beside its baseline, as the verdicts' page says."""
    runs = tuple(
        Run(NOW - 310 - night * DAY_S, log(rate / BASELINE.median), 0.05)
        for night, rate in zip(range(len(rates) - 1, -1, -1), rates)
    )
    return Source(rows(runs), 1.2533 * 0.05 / sqrt(BASELINE.runs), LONE_NOISE)


def test_two_operations_of_a_host_are_weighed_with_all_its_partners_together() -> None:
    """Slow both ways with all: the partners stay apart, the directions are one."""
    one = host_expectation(
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
    found = Weighing({"oss3": [one]}, {"oss3": Past(memory)}).evidence(("net", "oss3", False))
    assert found
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
    asked = Question(-log(0.9), 99.0, 99.0)
    weight = weigh([Subject(claims, [together], asked)])[0]
    assert found.odds == pytest.approx(weight.odds)


def test_a_baseline_of_no_runs_is_no_reference() -> None:
    none = Reference(None, BASELINE._replace(runs=0))
    one = expectation(component=NAMES[0], references={"read/single": none})
    memory = snapshot(nightly([80e6] * 3, component=NAMES[0]))
    weighing = Weighing({"client1": [one]}, {"client1": Past(memory)})
    assert weighing.evidence(("ost", NAMES[0], False)) is None


def test_where_nothing_is_lost_the_first_operation_is_named() -> None:
    one = expectation(component=NAMES[0])
    memory = snapshot(
        *(
            nightly([BASELINE.median] * 3, component=NAMES[0], operation=operation)
            for operation in (Operation.WRITE, Operation.READ)
        )
    )
    found = Weighing({"c": [one]}, {"c": Past(memory)}).evidence(("ost", NAMES[0], False))
    assert found
    assert (found.what, found.odds) == ("write", 0.0)
