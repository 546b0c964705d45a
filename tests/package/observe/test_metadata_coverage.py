"""The probe's share of the requests to a metadata target, by its server's ``md_stats``."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.codec import write
from plumbline.model.layers.mdt import CREATE, MKDIR, MKNOD, UNLINK
from plumbline.model.record import Flag, Operation, Record
from plumbline.model.trend import NodeClock
from plumbline.observe.coverage import (
    Coverage,
    Job,
    Servers,
    covered,
    others_of,
    samplings_of,
)
from tests.package.observe.servers import MDT, START, requests
from tests.package.records import record

CLOCKS = {name: NodeClock(name, 0.0, 0.0, 0.05) for name in ("client1", "mds1")}


def probe(begin_s: float, end_s: float, operation: Operation = MKNOD, **changes: Any) -> Record:
    """Return a run of 1,000 calls, half of whose time is that of the first step."""
    seconds = (end_s - begin_s) / 2
    values: dict[str, Any] = {
        "layer": "mdt",
        "component": MDT,
        "operation": operation,
        "started_at": START + begin_s,
        "finished_at": START + end_s,
        "bytes": 0,
        "seconds": seconds,
        "rate": 1000 / seconds,
    }
    return record(**{**values, **changes})


def share(run: list[Record], counters: list[Record]) -> Coverage:
    found: Optional[Coverage] = covered(
        run[0], run, Servers({MDT: samplings_of(counters)}, CLOCKS), 0.9
    )
    assert found is not None
    return found


def test_a_run_alone_has_all_of_the_requests() -> None:
    # mknod and unlink of 1,000 names, and a little of its own beside them
    found = share([probe(10, 14)], requests(MDT, [0] * 10 + [503] * 4 + [0] * 6))
    assert found.coverage == pytest.approx(0.994, abs=0.002)


def test_others_take_their_share() -> None:
    found = share([probe(10, 14)], requests(MDT, [1500] * 10 + [2000] * 4 + [1500] * 6))
    assert found.coverage == pytest.approx(0.25, abs=0.02)


def test_a_create_is_several_requests_and_a_stat_may_be_none() -> None:
    # open, mknod and close; open and close; unlink: and each stat, if the client asks
    for each in (6, 7):
        found = share(
            [probe(10, 20, CREATE)], requests(MDT, [0] * 10 + [100.0 * each] * 10 + [0] * 6)
        )
        assert found.others.most == 1
    assert found.others.least == pytest.approx(6 / 7, abs=0.01)


def test_a_short_create_may_have_sent_less() -> None:
    busy = requests(MDT, [0] * 10 + [600.0] * 10 + [0] * 6)
    short = share([probe(10, 20, CREATE, flags=(Flag.SHORT,))], busy).others
    assert short.least == pytest.approx(4 / 6, abs=0.01)


def test_the_next_operations_of_a_fast_run_are_no_others() -> None:
    # the whole run fits into a second and a half of the counters
    run = [
        probe(10.1, 10.6, CREATE),
        probe(10.6, 10.8),
        probe(10.8, 11.0, UNLINK),
        probe(11.0, 11.2, MKDIR),
    ]
    found = share(run, requests(MDT, [0] * 10 + [9500, 2500] + [0] * 8))
    assert found.coverage == pytest.approx(1.0, abs=0.01)


def test_counters_that_miss_the_run_are_those_of_another_server() -> None:
    found = share([probe(10, 14)], requests(MDT, [100] * 20))
    assert found.coverage is None
    assert found.others.unknown == (
        "the probe sent 2000 requests, but mds1 counted only 600 meanwhile"
    )


def test_the_job_that_sent_most_is_named() -> None:
    rows = [
        [START + 5, START + 15, "4711", {"getattr": 9000, "open": 1000}],
        [START + 5, START + 15, "python3.11", {"mknod": 1000, "unlink": 1000}],
    ]
    own = probe(10, 14)
    busy = requests(MDT, [1500] * 10 + [2000] * 4 + [1500] * 6, requests=rows)
    found = share([own._replace(tool=own.tool and own.tool._replace(name="calls"))], busy)
    assert found.others.job == Job("4711", 0, 10.0, 10_000)
    assert str(found.others.job) == "job 4711 sent 10000 requests in the 10 s around it"
    assert others_of(record(details={"others": write(found.others)})) == found.others


def test_counters_that_do_not_cover_the_run_say_nothing_yet() -> None:
    run = [probe(10, 14)]
    early = Servers({MDT: samplings_of(requests(MDT, [500] * 12))}, CLOCKS)
    assert covered(run[0], run, early, 0.9) is None
