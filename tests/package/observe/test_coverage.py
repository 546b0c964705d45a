"""The probe's share of a target's traffic, by the servers' counters."""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Any, Optional, Sequence

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record, Tool
from plumbline.model.trend import NodeClock
from plumbline.observe.coverage import (
    Bounds,
    Coverage,
    Job,
    Sampling,
    Servers,
    by_sampling,
    covered,
    covering,
)
from tests.package.observe.servers import OST, START, counted
from tests.package.records import record

MB = 1e6
CLOCKS = (NodeClock("client1", 0.0, 0.0, 0.05), NodeClock("oss1", 0.0, 0.0, 0.05))


def probe(begin_s: float, end_s: float, rate_Bps: float, **changes: Any) -> Record:
    """Return a measurement of so many seconds after the server's first."""
    values: dict[str, Any] = {
        "component": OST,
        "started_at": START + begin_s,
        "finished_at": START + end_s,
        "bytes": round(rate_Bps * (end_s - begin_s)),
    }
    return record(**{**values, **changes})


def share(
    one: Record,
    counters: Sequence[Record],
    run: Sequence[Record] = (),
    clocks: Sequence[NodeClock] = CLOCKS,
    least: float = 0.9,
) -> Optional[Coverage]:
    servers = Servers({OST: by_sampling(counters)}, {each.node: each for each in clocks})
    return covered(one, run or [one], servers, least)


def known(found: Optional[Coverage]) -> Coverage:
    assert found is not None
    return found


def test_a_probe_alone_has_all_of_the_traffic() -> None:
    rates = [0.0] * 10 + [200 * MB] * 10 + [0.0] * 10
    found = known(share(probe(10, 20, 200 * MB), counted(rates)))
    assert found.coverage == 1.0
    assert found.others.least == pytest.approx(0.999, abs=0.0001)
    assert (found.others.server, found.others.job) == ("oss1", None)


def test_others_take_their_share() -> None:
    # 100 MB/s of the probe, 220 MB/s of others who write all the time
    found = known(
        share(
            probe(10, 40, 100 * MB),
            counted([0.0] * 10 + [100 * MB] * 30 + [0.0] * 10, [220 * MB] * 50),
        )
    )
    assert found.coverage == pytest.approx(100 / 320, abs=0.002)
    least, most = found.others.least, found.others.most
    assert least is not None
    assert most is not None
    assert least < 100 / 320 < most < 0.4


@pytest.mark.parametrize(
    ("others_Bps", "coverage"),
    [(5 * MB, pytest.approx(100 / 105, abs=0.002)), (11 * MB, None), (60 * MB, 0.625)],
    ids=["surely quiet", "in doubt", "surely contended"],
)
def test_it_is_known_only_where_both_bounds_lie_on_one_side(
    others_Bps: float, coverage: object
) -> None:
    rates = [others_Bps + (100 * MB if 10 <= second < 40 else 0) for second in range(50)]
    found = known(share(probe(10, 40, 100 * MB), counted(rates)))
    if coverage is None:
        assert found.coverage is None
        assert found.others.in_doubt().startswith("coverage between 0.8")
    else:
        assert found.coverage == coverage


def test_a_run_of_two_seconds_beside_others_stays_in_doubt() -> None:
    rates = [30 * MB + (100 * MB if 10 <= second < 12 else 0) for second in range(20)]
    assert known(share(probe(10, 12, 100 * MB), counted(rates))).coverage is None


def test_the_next_operation_of_the_same_run_is_no_other() -> None:
    # writing ends and reading begins in the midst of a second
    written = [0.0] * 10 + [200 * MB] * 4 + [100 * MB] + [0.0] * 15
    read = [0.0] * 14 + [100 * MB] + [200 * MB] * 4 + [0.0] * 11
    write = probe(10, 14.5, 200 * MB, operation=Operation.WRITE)
    both = [write, probe(14.5, 19, 200 * MB)]
    alone = known(share(write, counted(read, written)))
    assert alone.coverage is None
    assert known(share(write, counted(read, written), both)).coverage == 1.0


def test_an_operation_of_which_the_server_saw_too_little_explains_nothing() -> None:
    rates = [20 * MB + (100 * MB if 10 <= second < 40 else 0) for second in range(60)]
    one = probe(10, 40, 100 * MB)
    # the second is said to have moved what no counter has seen
    both = [one, probe(42, 52, 100 * MB)]
    assert known(share(one, counted(rates), both)) == known(share(one, counted(rates)))


def test_operations_that_overlap_do_not_explain_one_another() -> None:
    rates = [0.0] * 10 + [200 * MB] * 10 + [0.0] * 10
    one = probe(10, 20, 100 * MB)
    both = [one, probe(12, 18, 100 * MB)]
    assert known(share(one, counted(rates), both)).coverage == 0.5


def test_clocks_that_differ_a_little_are_set_right() -> None:
    rates = [0.0] * 10 + [200 * MB] * 10 + [0.0] * 10
    ahead = [NodeClock("client1", 0, -0.5, 0.01), NodeClock("oss1", 0, 1.0, 0.01)]
    one = probe(8.5, 18.5, 200 * MB)
    assert known(share(one, counted(rates), clocks=ahead)).coverage == 1.0
    # without it, a second and a half of the probe would be missing
    assert known(share(one, counted(rates))).others.unknown


def test_clocks_that_differ_much_are_said() -> None:
    rates = [0.0] * 10 + [200 * MB] * 10 + [0.0] * 10
    ahead = [NodeClock("client1", 0, 0.0, 0.01), NodeClock("oss1", 0, 3.5, 0.01)]
    found = known(share(probe(6.5, 16.5, 200 * MB), counted(rates), clocks=ahead))
    assert found.coverage is None
    assert "the clocks of client1 and oss1 are 4 s apart" in found.others.unknown


def test_clocks_that_were_never_compared_may_differ() -> None:
    rates = [60 * MB + (100 * MB if 20 <= second < 30 else 0) for second in range(50)]
    one = probe(20, 30, 100 * MB)
    assert known(share(one, counted(rates), clocks=())).coverage is None
    assert known(share(one, counted(rates))).coverage == 0.625


def test_a_probe_on_its_own_server_has_one_clock() -> None:
    rates = [0.0] * 10 + [200 * MB] * 10 + [0.0] * 10
    one = probe(10, 20, 200 * MB, host="oss1")
    assert known(share(one, counted(rates), clocks=())).coverage == 1.0


def test_counters_that_do_not_cover_the_run_say_nothing_yet() -> None:
    assert share(probe(10, 20, 200 * MB), counted([200 * MB] * 15)) is None
    assert share(probe(10, 20, 200 * MB), []) is None
    assert share(probe(10, 20, 200 * MB, bytes=0), counted([200 * MB] * 30)) is None


def test_a_server_that_counted_less_than_the_probe_moved_is_the_wrong_one() -> None:
    found = known(share(probe(10, 20, 200 * MB), counted([100 * MB] * 30)))
    assert found.coverage is None
    assert found.others.unknown == (
        "the probe moved 2000.0 MB, but oss1 counted only 1200.0 MB meanwhile"
    )


def test_a_file_over_several_targets_shares_the_traffic_of_all() -> None:
    one = probe(10, 20, 200 * MB)
    half = [0.0] * 10 + [100 * MB] * 10 + [0.0] * 10
    servers = {
        OST: by_sampling(counted(half)),
        "scratch-OST0004": by_sampling(counted(half, [200 * MB] * 30, host="oss2")),
    }
    clocks = {name: NodeClock(name, 0, 0, 0.05) for name in ("client1", "oss1", "oss2")}
    found = known(covered(one, [one], Servers(servers, clocks), 0.9))
    assert found.coverage == 0.5
    assert found.others.server == "oss1, oss2"
    del servers["scratch-OST0004"]
    assert covered(one, [one], Servers({**servers, "gone": []}, clocks), 0.9) is None


# --- the job


FIO = Tool("fio", "3.39", ())
BUSY = [0.0] * 10 + [100 * MB] * 30 + [0.0] * 10


def job_of(rows: list[list[object]], others_Bps: float = 220 * MB) -> Optional[Job]:
    counters = counted(BUSY, [others_Bps] * 50, jobs=rows)
    return known(share(probe(10, 40, 100 * MB, tool=FIO), counters)).others.job


def row(begin: float, end: float, job: str, read: int, written: int) -> list[object]:
    return [START + begin, START + end, job, read, written]


def test_the_job_that_moved_most_is_named() -> None:
    rows = [
        row(0, 10, "early", 10**12, 0),
        row(5, 15, "4711", 1, 10**9),
        row(15, 25, "4711", 0, 10**9),
        row(15, 25, "12", 1500 * 10**6, 0),
        row(35, 45, "4711", 0, 5 * 10**8),
    ]
    job = job_of(rows)
    assert job == Job("4711", 2500000001, 40.0)
    assert str(job) == "job 4711 moved 2500.0 MB in the 40 s around it"


def test_a_job_is_named_as_well_where_the_coverage_stays_in_doubt() -> None:
    counters = counted([210 * MB] * 14, jobs=[row(5, 45, "4711", 0, 10**9)])
    found = known(share(probe(10, 12, 200 * MB, tool=FIO), counters))
    assert found.coverage is None
    assert found.others.job == Job("4711", 10**9, 40.0)


def test_the_probe_is_no_other_job() -> None:
    rows = [row(5, 45, "fio.995", 3 * 10**9, 0), row(5, 45, "4711", 0, 10**9)]
    assert job_of(rows) == Job("4711", 10**9, 40.0)
    assert job_of(rows[:1]) is None


def test_somebody_else_with_the_same_program_is_one() -> None:
    assert job_of([row(5, 45, "fio.995", 9 * 10**9, 0)]) == Job("fio.995", 6 * 10**9, 40.0)


def test_a_job_that_explains_nothing_is_not_named() -> None:
    assert job_of([row(5, 45, "4711", 0, 10**8)]) is None


def test_of_a_quiet_run_no_job_is_named() -> None:
    assert job_of([row(5, 45, "4711", 0, 10**8)], others_Bps=0) is None


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
    def clocks(self) -> tuple[NodeClock, NodeClock]:
        said_s = self.apart_s + self.off_s
        return NodeClock("client1", 0, 0.0, 0.0), NodeClock("oss1", 0, said_s, self.within_s)

    @staticmethod
    def _ticks(begin_s: float, end_s: float) -> range:
        return range(ceil(begin_s * TICKS), ceil(end_s * TICKS))


@pytest.mark.slow
def test_the_truth_lies_between_the_bounds() -> None:
    known_of, wrong = 0, []
    for seed in range(300):
        chance = Random(seed)
        truth = Truth(chance)
        found = known(share(truth.probes[0], truth.counted(chance), truth.probes, truth.clocks))
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


def test_whole_seconds_are_known_exactly() -> None:
    one = of(*counted([10, 20, 30, 40], [1, 1, 1, 1]))
    assert one.moved(START + 1, START + 3, 0) == Bounds(52, 52, 52)


def test_at_the_edges_bytes_are_known_within_the_second_that_they_were_read_in() -> None:
    one = of(*counted([10, 20, 30, 40]))
    assert one.moved(START + 0.5, START + 2.25, 0) == Bounds(20, 5 + 20 + 7.5, 60)


def test_a_clock_in_doubt_widens_both_edges() -> None:
    one = of(*counted([10, 20, 30, 40]))
    assert one.moved(START + 1, START + 3, 0.1) == Bounds(0, 50, 100)
    assert of(*counted([10, 20, 30, 40], late_s=0.1)).moved(START + 1, START + 3, 0).most == 100


def test_seconds_that_one_reading_stands_for_are_one() -> None:
    one = of(*counted([10, 20, 20, 20, 40], merged=[[1, 3]]))
    assert one.moved(START + 2, START + 3, 0) == Bounds(0, 20, 60)


def test_only_what_was_followed_without_a_break_is_covered() -> None:
    first, later = counted([1, 1, 1]), counted([1, 1, 1], start=START + 3)
    apart = counted([1, 1, 1], start=START + 3.5)
    assert of(*first, *later).covers(START, START + 6, 0)
    assert not of(*first, *later).covers(START, START + 6, 0.1)
    assert not of(*first, *apart).covers(START, START + 6, 0)
    # one direction is not all
    assert not of(first[0]).covers(START, START + 3, 0)


def test_a_target_that_stood_still_is_covered() -> None:
    still = of(*counted([0, 0, 0]))
    assert still.covers(START, START + 3, 0)
    assert still.moved(START, START + 3, 0) == Bounds(0, 0, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"details": {"source": "diskstats", "watched": [0, 3], "late_s": 0}},
        {"details": {"source": "lustre", "watched_s": 3}},
        {"outcome": Outcome.FAILED, "rate_Bps": None, "profile_Bps": (), "reason": "gone"},
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
    found = covering(by_sampling([*early, *whole]), START, START + 4, 0)
    assert found is not None
    assert found.moved(START, START + 4, 0).most == 8
    assert covering(by_sampling(early), START, START + 4, 0) is None


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
