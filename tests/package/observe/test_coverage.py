"""The probe's share of a target's traffic, by the servers' counters."""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock
from plumbline.observe.coverage import (
    Bounds,
    Coverage,
    Sampling,
    Servers,
    covered,
    samplings_of,
)
from tests.package.observe.servers import OST, START, counted
from tests.package.recorded import table
from tests.package.records import record

FILE = table("coverage.yml")
MB = 1e6


def probe(begin_s: float, end_s: float, rate: float, **changes: Any) -> Record:
    """Return a measurement; its times count from the server's first second."""
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
    clocks = {
        name: NodeClock(name, 0.0, *offset) for name, offset in zip(("client1", "oss1"), ahead)
    }
    return covered(run[0], run, Servers({OST: samplings_of(counters)}, clocks), least)


def must_exist(coverage: Optional[Coverage]) -> Coverage:
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
    coverage = must_exist(share(run, counters, **clocks))
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
        assert (job and list(job[:3])) == case["job"]
    if "alone" in case:
        assert coverage == share(run[:1], counters, **clocks)


def test_a_job_is_named_with_its_bytes() -> None:
    rows = [[START + 5, START + 45, "4711", 0, 2_500_000_000]]
    counters = counted(rates([(0, 10), (100, 30), (0, 10)]), rates([(220, 50)]), jobs=rows)
    job = must_exist(share([probe(10, 40, 100 * MB)], counters)).others.job
    assert str(job) == "job 4711 moved 2500.0 MB in the 40 s around it"


def test_a_file_over_several_targets_shares_the_traffic_of_all() -> None:
    run = [probe(10, 20, 200 * MB)]
    half = [0.0] * 10 + [100 * MB] * 10 + [0.0] * 10
    servers = {
        OST: samplings_of(counted(half)),
        "scratch-OST0004": samplings_of(counted(half, [200 * MB] * 30, host="oss2")),
    }
    clocks = {name: NodeClock(name, 0, 0, 0.05) for name in ("client1", "oss1", "oss2")}
    coverage = must_exist(covered(run[0], run, Servers(servers, clocks), 0.9))
    assert coverage.coverage == 0.5
    assert coverage.others.server == "oss1, oss2"
    del servers["scratch-OST0004"]
    assert covered(run[0], run, Servers({**servers, "gone": []}, clocks), 0.9) is None


# --- Bounds, compared with traffic known to the hundredth of a second

TICKS = 100
LONG_S = 70
PROBE_Bps = 100 * MB


class Truth:
    """Some seconds of a target: two operations of a probe, traffic of others, two clocks."""

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
        """The client's records, with the bytes that the target has seen."""
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
        """Return the records of a sampler with its own clock and readings up to 30 ms late."""
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
def test_the_true_coverage_lies_within_the_bounds() -> None:
    conclusive, wrong = 0, []
    for seed in range(300):
        chance = Random(seed)
        truth = Truth(chance)
        result = must_exist(share(truth.probes, truth.counted(chance), truth.ahead))
        least, most = result.others.least, result.others.most
        assert least is not None, (seed, result)
        assert most is not None
        if not least <= truth.coverage + 1e-4 or not most >= truth.coverage - 1e-4:
            wrong.append((seed, least, truth.coverage, most))
        if result.coverage is not None:
            conclusive += 1
            # on the right side of the policy's limit
            assert (result.coverage < 0.9) == (truth.coverage < 0.9), seed
    assert wrong == []
    assert conclusive > 150


# --- Bytes through a target between two moments, by counters read once a second


def sampling_of(*records: Record) -> Sampling:
    return Sampling("oss1", records)


@pytest.mark.parametrize("case", FILE["moved"], ids=lambda case: case["case"])
def test_bytes_between_two_moments_lie_within_bounds(case: Mapping[str, Any]) -> None:
    details = {name: case[name] for name in ("late_s", "merged") if name in case}
    sampling = sampling_of(*counted(case["read"], case.get("write"), **details))
    begin, end = (START + second for second in case["span"])
    assert sampling.moved(begin, end, case.get("slack", 0)) == Bounds(*case["bytes"])


def test_only_gapless_samplings_cover_a_time() -> None:
    first, later = counted([1, 1, 1]), counted([1, 1, 1], start=START + 3)
    apart = counted([1, 1, 1], start=START + 3.5)
    assert sampling_of(*first, *later).covers(START, START + 6, 0)
    assert not sampling_of(*first, *later).covers(START, START + 6, 0.1)
    assert not sampling_of(*first, *apart).covers(START, START + 6, 0)
    # reads alone are not enough
    assert not sampling_of(first[0]).covers(START, START + 3, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"details": {"source": "diskstats", "watched": [0, 3], "late_s": 0}},
        {"details": {"source": "lustre", "watched_s": 3}},
        {"outcome": Outcome.FAILED, "rate": None, "profile": (), "reason": "gone"},
    ],
    ids=["a disk", "a sampler of an earlier version", "missing"],
)
def test_a_sampling_without_its_duration_covers_nothing(
    changes: dict[str, Any],
) -> None:
    records = [record._replace(**changes) for record in counted([1, 1, 1])]
    assert not sampling_of(*records).covers(START, START + 3, 0)


def test_samplings_of_one_server_are_separate() -> None:
    early = counted([1, 1, 1])
    whole = [record._replace(run_id="another") for record in counted([2, 2, 2, 2])]
    samplings = samplings_of([*early, *whole])
    assert [sampling.covers(START, START + 4, 0) for sampling in samplings] == [False, True]
    assert samplings[1].moved(START, START + 4, 0).most == 8


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
def test_damaged_records_are_reported(details: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="what oss1 counted is damaged"):
        sampling_of(*counted([1, 1, 1], **details))
