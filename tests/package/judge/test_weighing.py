"""All that a node, or a site, measures is weighed by one judge, each component beside its kind."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.phrases import weighed
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.record import Operation
from plumbline.model.series import Sample, Series, Snapshot
from tests.package.judgements import (
    DAY_S,
    NOW,
    REFERENCE,
    Past,
    expectation,
    host_expectation,
    series,
    snapshot,
)

NAMES = [f"scratch-OST000{number}" for number in range(6)]
HEALTHY = [200e6] * 10


def nightly(rates: Sequence[float], partner: Optional[str] = None, **changes: Any) -> Series:
    """Return a series with a run each night, the last one an hour ago."""
    earlier = [
        Sample(NOW - 3610 - night * DAY_S, rate, None, None, 0, partner)
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
    assert slow.since == NOW - 3610 - 3 * DAY_S
    assert slow.moments == 4
    assert not any(one and one.worth_a_word for one in found.values())


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
    low = [(name, op, [*HEALTHY, *[70e6] * 4]) for name in NAMES for op in Operation]
    assert not any(one and one.worth_a_word for one in evidence(taken(*low)).values())


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
        return Weighing(nodes, memories).of_its_group(("net", "oss3"))

    every, one = of_all(HOSTS), of_all(["oss3"])
    assert every
    assert every.alarm
    assert every.ratio == pytest.approx(40 / 117, rel=0.01)
    assert one
    assert not one.alarm


def test_a_clock_that_was_stepped_back_and_a_limit_of_nothing_do_no_harm() -> None:
    limits = Limits(peer_loss=0.0)
    one = expectation(component=NAMES[0], limits=limits)
    moments = [NOW - 3610 - shift for shift in (5 * DAY_S, 0.0, 9 * DAY_S, 3600.0)]
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
        "read 40 % of its peers' shares of their baselines over 4 runs since 2024-09-30 22:59 UTC, "
        "odds 14,576 to 1 against chance, 10,000 for an alarm"
    )
    assert not list(weighed(found._replace(alarm=False, odds=2.9)))
