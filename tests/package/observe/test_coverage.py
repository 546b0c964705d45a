"""The probe's share of a target's traffic, by the servers' counters."""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any, Mapping, Optional, Sequence

import pytest
import yaml

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock
from plumbline.observe.coverage import (
    Bounds,
    Coverage,
    Sampling,
    Servers,
    covered,
    find_sampling,
    samplings_of,
)
from tests.package.observe.servers import OST, START, counted
from tests.package.recorded import data
from tests.package.records import record

FILE = yaml.safe_load(data("coverage.yml"))
MB = 1e6


def probe(begin_s: float, end_s: float, rate: float, **changes: Any) -> Record:
    """Return a measurement of so many seconds after the server's first."""
    values: dict[str, Any] = {
        "component": OST,
        "started_at": START + begin_s,
        "finished_at": START + end_s,
        "bytes": round(rate * (end_s - begin_s)),
    }
    return record(**{**values, **changes})


def rates(parts: Sequence[tuple[float, int]]) -> list[float]:
    return [rate * MB for rate, seconds in parts for _ in range(seconds)]


def share(
    run: Sequence[Record],
    counters: Sequence[Record],
    ahead: Sequence[tuple[float, float]] = ((0.0, 0.05), (0.0, 0.05)),
    least: float = 0.9,
) -> Optional[Coverage]:
    """Return the coverage of the first record of a run, by the clocks of client and server."""
    clocks = {name: NodeClock(name, 0.0, *known) for name, known in zip(("client1", "oss1"), ahead)}
    return covered(run[0], run, Servers({OST: samplings_of(counters)}, clocks), least)


def known(coverage: Optional[Coverage]) -> Coverage:
    assert coverage is not None
    return coverage


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: case["case"])
def test_a_probe_has_its_share_of_the_traffic(case: Mapping[str, Any]) -> None:
    run = [
        probe(
            begin,
            end,
            rate * MB,
            operation=Operation(operation[0] if operation else "read"),
            host=case.get("host", "client1"),
        )
        for begin, end, rate, *operation in (case["probe"], *case.get("next", ()))
    ]
    jobs = [[START + begin, START + end, *row] for begin, end, *row in case.get("jobs", ())]
    more: dict[str, Any] = {"jobs": jobs} if jobs else {}
    write = rates(case["write"]) if "write" in case else None
    counters = counted(rates(case["read"]), write, **more) if "read" in case else []
    clocks = {"ahead": case["ahead"]} if "ahead" in case else {}
    if "nothing" in case:
        assert share(run, counters, **clocks) is None
        return
    coverage = known(share(run, counters, **clocks))
    expected = case["coverage"] and pytest.approx(case["coverage"], abs=0.002)
    assert coverage.coverage == expected
    for name in ("least", "most"):
        if name in case:
            assert getattr(coverage.others, name) == pytest.approx(case[name], abs=0.002)
    assert coverage.others.server == "oss1"
    assert coverage.others.unknown == case.get("unknown", "")
    assert coverage.others.in_doubt().startswith(case.get("in_doubt", ""))
    if "job" in case:
        job = coverage.others.job
        assert (job and list(job)) == case["job"]
    if "alone" in case:
        assert coverage == share(run[:1], counters, **clocks)


def test_a_job_is_said_with_what_it_moved() -> None:
    rows = [[START + 5, START + 45, "4711", 0, 2_500_000_000]]
    counters = counted(rates([(0, 10), (100, 30), (0, 10)]), rates([(220, 50)]), jobs=rows)
    job = known(share([probe(10, 40, 100 * MB)], counters)).others.job
    assert str(job) == "job 4711 moved 2500.0 MB in the 40 s around it"


def test_a_file_over_several_targets_shares_the_traffic_of_all() -> None:
    one = probe(10, 20, 200 * MB)
    half = [0.0] * 10 + [100 * MB] * 10 + [0.0] * 10
    servers = {
        OST: samplings_of(counted(half)),
        "scratch-OST0004": samplings_of(counted(half, [200 * MB] * 30, host="oss2")),
    }
    clocks = {name: NodeClock(name, 0, 0, 0.05) for name in ("client1", "oss1", "oss2")}
    found = known(covered(one, [one], Servers(servers, clocks), 0.9))
    assert found.coverage == 0.5
    assert found.others.server == "oss1, oss2"
    del servers["scratch-OST0004"]
    assert covered(one, [one], Servers({**servers, "gone": []}, clocks), 0.9) is None


# --- the bounds, against traffic that is known to the hundredth of a second

TICKS = 100
LONG_S = 70
PROBE_Bps = 100 * MB


class Truth:
    """Some seconds of a target: two operations of a probe, others who come and go, two clocks."""

    def __init__(self, chance: Random) -> None:
        self.begin_s = 20 + chance.random()
        self.end_s = self.begin_s + chance.choice((1.0, 3.0, 8.0, 20.0))
        self.next_s = self.end_s + chance.choice((0.0, 0.3, 2.0))
        busy_Bps = chance.choice((0.0, 3.0, 12.0, 40.0, 200.0)) * MB
        period = chance.choice((7, 90, 700, 10_000))
        self.others = [
            busy_Bps * (tick // period % 2) * chance.random() / TICKS
            for tick in range(LONG_S * TICKS)
        ]
        self.apart_s = chance.uniform(-0.4, 0.4)
        self.within_s = chance.choice((0.0, 0.05, 0.3))
        self.off_s = chance.uniform(-1, 1) * self.within_s

    def own(self, tick: int) -> float:
        at_s = tick / TICKS
        length_s = self.end_s - self.begin_s
        own = self.begin_s <= at_s < self.end_s or self.next_s <= at_s < self.next_s + length_s
        return PROBE_Bps / TICKS if own else 0.0

    @property
    def probes(self) -> tuple[Record, Record]:
        """The client's records, whose bytes are those that the target has seen."""
        length_s = self.end_s - self.begin_s
        return self._probe(self.begin_s, self.end_s), self._probe(
            self.next_s, self.next_s + length_s
        )

    def _probe(self, begin_s: float, end_s: float) -> Record:
        moved = sum(self.own(tick) for tick in self._ticks(begin_s, end_s))
        return probe(begin_s, end_s, PROBE_Bps, bytes=round(moved))

    @property
    def coverage(self) -> float:
        ticks = self._ticks(self.begin_s, self.end_s)
        own = sum(map(self.own, ticks))
        return own / (own + sum(self.others[tick] for tick in ticks))

    def counted(self, chance: Random) -> list[Record]:
        """Return what a sampler keeps whose readings come up to 30 ms late, by its own clock."""
        late_s = chance.uniform(0, 0.03)
        edges = [second + chance.uniform(0, late_s) for second in range(LONG_S - 4)]
        ahead = round(self.apart_s * TICKS)
        rates = []
        for first, last in zip(edges, edges[1:]):
            ticks = range(round(first * TICKS) - ahead, round(last * TICKS) - ahead)
            moved = sum(self.own(t) + self.others[t] for t in ticks if 0 <= t < len(self.others))
            rates.append(float(round(moved)))
        return counted(rates, late_s=round(late_s + 1 / TICKS, 3))

    @property
    def ahead(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (0.0, 0.0), (self.apart_s + self.off_s, self.within_s)

    @staticmethod
    def _ticks(begin_s: float, end_s: float) -> range:
        return range(ceil(begin_s * TICKS), ceil(end_s * TICKS))


@pytest.mark.slow
def test_the_truth_lies_between_the_bounds() -> None:
    known_of, wrong = 0, []
    for seed in range(300):
        chance = Random(seed)
        truth = Truth(chance)
        found = known(share(truth.probes, truth.counted(chance), truth.ahead))
        least, most = found.others.least, found.others.most
        assert least is not None, (seed, found)
        assert most is not None
        if not least <= truth.coverage + 1e-4 or not most >= truth.coverage - 1e-4:
            wrong.append((seed, least, truth.coverage, most))
        if found.coverage is not None:
            known_of += 1
            # on the right side of what the policy asks for
            assert (found.coverage < 0.9) == (truth.coverage < 0.9), seed
    assert wrong == []
    assert known_of > 150


# --- What went through a target between two moments, by counters that are read once a second


def of(*records: Record) -> Sampling:
    return Sampling("oss1", records)


@pytest.mark.parametrize("case", FILE["moved"], ids=lambda case: case["case"])
def test_bytes_between_two_moments_lie_within_bounds(case: Mapping[str, Any]) -> None:
    details = {name: case[name] for name in ("late_s", "merged") if name in case}
    sampling = of(*counted(case["read"], case.get("write"), **details))
    begin, end = (START + second for second in case["span"])
    assert sampling.moved(begin, end, case.get("slack", 0)) == Bounds(*case["bytes"])


def test_only_what_was_followed_without_a_break_is_covered() -> None:
    first, later = counted([1, 1, 1]), counted([1, 1, 1], start=START + 3)
    apart = counted([1, 1, 1], start=START + 3.5)
    assert of(*first, *later).covers(START, START + 6, 0)
    assert not of(*first, *later).covers(START, START + 6, 0.1)
    assert not of(*first, *apart).covers(START, START + 6, 0)
    # one direction is not all
    assert not of(first[0]).covers(START, START + 3, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"details": {"source": "diskstats", "watched": [0, 3], "late_s": 0}},
        {"details": {"source": "lustre", "watched_s": 3}},
        {"outcome": Outcome.FAILED, "rate": None, "profile": (), "reason": "gone"},
    ],
    ids=["a disk", "a sampler of an earlier version", "not there"],
)
def test_what_does_not_say_how_long_it_was_followed_covers_nothing(
    changes: dict[str, Any],
) -> None:
    records = [one._replace(**changes) for one in counted([1, 1, 1])]
    assert not of(*records).covers(START, START + 3, 0)


def test_each_sampling_is_one_and_one_that_covers_all_is_found() -> None:
    early = counted([1, 1, 1])
    whole = [one._replace(run_id="another") for one in counted([2, 2, 2, 2])]
    found = find_sampling(samplings_of([*early, *whole]), START, START + 4, 0)
    assert found is not None
    assert found.moved(START, START + 4, 0).most == 8
    assert find_sampling(samplings_of(early), START, START + 4, 0) is None


@pytest.mark.parametrize(
    "details",
    [
        {"watched": None, "jobs": [[1, 2, 3]]},
        {"watched": ["a", 3]},
        {"watched": [0]},
        {"late_s": -1},
        {"merged": [[0, "many"]]},
        {"jobs": [[0, 1, "a", -5, 0]]},
    ],
)
def test_damaged_records_are_said(details: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="what oss1 counted is damaged"):
        of(*counted([1, 1, 1], **details))
