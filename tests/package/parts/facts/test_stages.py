"""Stages of requests by arithmetic on counters made by hand, and on those of a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Optional

import pytest

from plumbline.parts.facts.request_times import (
    IDLE,
    DiskTime,
    QueueTimes,
    RequestTimes,
    TargetTimes,
    Timed,
    request_times,
)
from plumbline.parts.facts.stages import Outlier, Stage, TargetStages, outliers, site_stages
from tests.package.parts.facts.request_counters import (
    OST,
    Load,
    look,
    put_captured,
    put_client,
    put_server,
)

# a child that reads files touches no lock of another thread
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

WAY, QUEUE, SERVER, DISK = Stage.WAY, Stage.QUEUE, Stage.SERVER, Stage.DISK


def ms(item: TargetStages, stage: Stage) -> float:
    seconds = item.seconds(stage)
    assert seconds is not None, item.stages[stage].unknown
    return seconds * 1e3


def test_the_stages_of_a_healthy_real_ost_add_up_to_the_time_at_its_client(tmp_path: Path) -> None:
    roots = tmp_path / "before", tmp_path / "after"
    put_captured(roots[0], empty=True)
    put_captured(roots[1])
    items = site_stages([request_times("node", 20.0, *map(look, roots))])
    read, written = (
        next(item for item in items if (item.target, item.operation) == (OST, operation))
        for operation in ("read", "write")
    )
    for item, whole in ((read, 4.255), (written, 12.724)):
        parts = [ms(item, stage) for stage in (WAY, QUEUE, SERVER, DISK)]
        assert sum(parts) == pytest.approx(whole, abs=0.001)
    assert [round(ms(read, stage), 2) for stage in (WAY, QUEUE, SERVER, DISK)] == [
        *(0.88, 1.08, 0.44, 1.86)
    ]
    assert [round(ms(written, stage), 1) for stage in (WAY, QUEUE)] == [0.3, 1.1]
    # the histogram: 89 % within 1 ms, 99 % within 8
    assert ms(written, SERVER) + ms(written, DISK) == pytest.approx(11.303, abs=0.001)
    assert 0.5 < ms(written, DISK) < 2.5
    assert list(outliers(items)) == []


HEALTHY = Load()
CAUSES = {
    # the disk: handling grows with it, the queue does not
    DISK: Load(client=82, queue=1, handled=80, disk=78),
    # short of threads
    QUEUE: Load(client=80, queue=70, handled=8, disk=1.9, waiting=12),
    # the network or the client: nothing grows on the server
    WAY: Load(client=80, queue=1, handled=2, disk=1.5),
    # a lock, or the commit: handling grows without the disk
    SERVER: Load(client=82, queue=1, handled=80, disk=1.5),
}


def site(root: Path, slow: Load, operation: str) -> list[TargetStages]:
    """Return the stages of four OSTs on four servers, the last one ``slow``."""
    loads = {f"lustre-OST000{index}": HEALTHY for index in range(3)}
    loads["lustre-OST0003"] = slow
    nodes = []
    for when in ("before", "after"):
        requests = 100 if when == "before" else 300
        grown = {ost: load._replace(requests=requests) for ost, load in loads.items()}
        put_client(root / when / "client", grown, operation)
        for ost, load in grown.items():
            put_server(root / when / ost, {ost: load}, operation)
    for host in ("client", *loads):
        looks = (look(root / when / host) for when in ("before", "after"))
        nodes.append(request_times(host, 60.0, *looks))
    return site_stages(nodes)


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize("cause", CAUSES, ids=lambda stage: stage.value)
def test_each_cause_stands_out_in_its_own_stage(
    tmp_path: Path, cause: Stage, operation: str
) -> None:
    items = site(tmp_path, CAUSES[cause], operation)
    (outlier,) = outliers(items)
    assert (outlier.target, outlier.operation) == ("lustre-OST0003", operation)
    assert outlier.stage is cause


def test_the_sentence_of_a_long_queue(tmp_path: Path) -> None:
    (outlier,) = outliers(site(tmp_path, CAUSES[QUEUE], "read"))
    assert outlier.sentence == (
        "lustre-OST0003: of 80 ms a read, 70 wait in the server's queue (3 peers: 1.0); "
        "12.0 requests wait there (peers: 0.0)"
    )


def test_a_slow_disk_is_named_beside_the_commits_that_wait_for_it() -> None:
    """As on a real server with four OSTs, one of them slower."""
    usual = Load(client=24, queue=1.6, handled=22, disk=7)
    loads = {
        **dict.fromkeys(FOUR, usual),
        SLOW: usual._replace(client=46, handled=44, disk=14),
    }
    items = site_stages(
        [
            node("client1", loads, server=False, operation="write"),
            node("oss1", loads, server=True, operation="write"),
        ]
    )
    (outlier,) = outliers(items)
    assert outlier.stage is Stage.REMAINDER
    assert outlier.sentence.endswith(
        "locks or commit (3 peers: 15); its disk is slower too: 14 (peers: 7.0)"
    )


def test_healthy_targets_do_not_stand_out(tmp_path: Path) -> None:
    items = site(tmp_path, HEALTHY._replace(client=5, disk=1.9), "read")
    assert len(items) == 4
    assert list(outliers(items)) == []


Loads = Mapping[str, Load]


def node(
    name: str,
    loads: Loads,
    *,
    server: bool,
    operation: str = "read",
    waited: Optional[Timed] = None,
) -> RequestTimes:
    """Return the times of a client or server of several OSTs."""
    if not server:
        targets = [
            TargetTimes(ost, operation, Timed(load.requests, load.client / 1e3))
            for ost, load in loads.items()
        ]
        return RequestTimes(name, 60.0, tuple(targets))
    targets = [
        TargetTimes(
            ost,
            operation,
            served=Timed(load.requests, load.disk / 1e3)
            if operation == "read"
            else Timed(load.requests, unknown="before their commit"),
            disk=_disk(load),
        )
        for ost, load in loads.items()
    ]
    requests = sum(load.requests for load in loads.values())
    mean_wait, mean_handled = (
        sum(load.requests * part for load, part in zip(loads.values(), parts)) / requests / 1e3
        for parts in zip(*((load.queue, load.handled) for load in loads.values()))
    )
    times = QueueTimes(
        "ost",
        waited or Timed(requests, mean_wait),
        handled={operation: Timed(requests, mean_handled)},
    )
    return RequestTimes(name, 60.0, tuple(targets), (times,))


def _disk(load: Load) -> DiskTime:
    seconds = load.requests * load.disk / 1e3
    return DiskTime(load.requests, 0.7 * seconds, 1.3 * seconds)


FOUR = {f"lustre-OST000{index}": HEALTHY for index in range(4)}
SLOW = "lustre-OST0003"


def one_slow(slow: Load) -> Loads:
    return {**FOUR, SLOW: slow}


def test_a_slow_disk_beside_healthy_ones_is_not_taken_for_the_network() -> None:
    """The server's mean handling is 21 ms, that of the slow target 80 ms."""
    loads = one_slow(CAUSES[DISK])
    items = site_stages([node("client1", loads, server=False), node("oss1", loads, server=True)])
    slow = next(item for item in items if item.target == SLOW)
    assert slow.stages[WAY].seconds is None
    assert slow.stages[WAY].unknown == ("only 100 of the server's 400 reads were of this target")
    assert ms(slow, Stage.REMAINDER) == pytest.approx(82 - 1 - 78)
    (outlier,) = outliers(items)
    assert (outlier.target, outlier.stage) == (SLOW, DISK)


def test_a_server_alone_shows_queue_server_and_disk() -> None:
    loads = one_slow(CAUSES[DISK])
    items = site_stages([node("oss1", loads, server=True)])
    slow = next(item for item in items if item.target == SLOW)
    assert slow.at_server
    assert slow.whole.seconds == pytest.approx(0.079)
    assert slow.stages[WAY].unknown == "no client was asked"
    (outlier,) = outliers(items)
    assert outlier.sentence == (
        f"{SLOW}: of 79 ms a read at the server, 78 pass in the disk (3 peers: 1.5)"
    )


def test_a_client_alone_knows_the_whole_but_not_where() -> None:
    items = site_stages([node("client1", one_slow(CAUSES[QUEUE]), server=False)])
    (outlier,) = outliers(items)
    assert outlier == Outlier(
        SLOW,
        "read",
        None,
        f"{SLOW}: of 80 ms a read (3 peers: 4.0), where is not known: its server was not asked",
    )


def test_requests_of_other_clients_leave_the_way_unknown() -> None:
    others = {ost: load._replace(requests=1000) for ost, load in FOUR.items()}
    items = site_stages(
        [node("client1", FOUR, server=False), node("oss1", {SLOW: others[SLOW]}, server=True)]
    )
    slow = next(item for item in items if item.target == SLOW)
    assert slow.stages[WAY].unknown == "900 of 1000 requests were of other clients"
    assert ms(slow, QUEUE) == pytest.approx(1.0)


def test_all_clients_of_a_target_count_together() -> None:
    halves = [{SLOW: Load(client=2 * share, requests=50)} for share in (3, 1)]
    items = site_stages(
        [
            *(node(f"client{n}", loads, server=False) for n, loads in enumerate(halves)),
            node("oss1", {SLOW: HEALTHY}, server=True),
        ]
    )
    (slow,) = items
    assert slow.whole.seconds == pytest.approx(0.004)
    assert ms(slow, WAY) == pytest.approx(4 - 1 - 2)


@pytest.mark.parametrize(
    ("queue", "unknown"),
    [
        (None, "the server shows no counters of its queue"),
        (Timed(unknown="its counters began again"), "its counters began again"),
    ],
)
def test_a_release_without_a_stage_leaves_it_unknown_and_not_0(
    queue: Optional[Timed], unknown: str
) -> None:
    server = node("oss1", {SLOW: HEALTHY}, server=True, waited=queue)
    if queue is None:
        server = server._replace(queues=())
    (slow,) = site_stages([node("client1", {SLOW: HEALTHY}, server=False), server])
    assert (slow.stages[QUEUE].seconds, slow.stages[QUEUE].unknown) == (None, unknown)
    assert slow.stages[WAY].seconds is None
    assert slow.whole.seconds == 0.004


def test_a_server_that_does_not_time_its_requests_had_some_all_the_same() -> None:
    server = node("oss1", {SLOW: HEALTHY}, server=True)
    (queue,) = server.queues
    server = server._replace(queues=(queue._replace(handled={"read": Timed(unknown=IDLE)}),))
    (slow,) = site_stages([server])
    assert slow.stages[SERVER].unknown == "this release does not time them"
    untimed = queue._replace(waited=Timed(unknown=IDLE))
    (slow,) = site_stages([server._replace(queues=(untimed,))])
    for stage in (QUEUE, SERVER):
        assert slow.stages[stage].unknown == "this release does not time them"


def test_a_target_whose_counters_began_again_is_no_small_share_of_its_server() -> None:
    server = node("oss1", FOUR, server=True)
    again = Timed(unknown="its counters began again")
    server = server._replace(
        targets=tuple(times._replace(served=again) for times in server.targets[-1:])
    )
    (slow,) = site_stages([server])
    assert slow.stages[SERVER].unknown == slow.stages[DISK].unknown == again.unknown
    assert slow.whole.unknown == again.unknown


def test_writes_whose_disk_is_not_timed_are_handled_in_an_unknown_part() -> None:
    """ZFS does not time writes."""
    server = node("oss1", {SLOW: CAUSES[DISK]}, server=True, operation="write")
    untimed = DiskTime(unknown="ZFS does not time writes")
    server = server._replace(targets=(server.targets[0]._replace(disk=untimed),))
    (slow,) = site_stages(
        [node("client1", {SLOW: CAUSES[DISK]}, server=False, operation="write"), server]
    )
    assert slow.stages[DISK].unknown == slow.stages[SERVER].unknown == "ZFS does not time writes"
    assert ms(slow, Stage.HANDLING) == pytest.approx(80)
    assert ms(slow, WAY) == pytest.approx(1)


def test_parts_longer_than_the_whole_are_no_stage() -> None:
    loads = {SLOW: Load(client=2, queue=1, handled=4, disk=1)}
    (slow,) = site_stages([node("client1", loads, server=False), node("oss1", loads, server=True)])
    assert slow.stages[WAY].unknown == (
        "its parts take longer: they were not counted in the same requests"
    )


def test_a_target_that_moved_between_servers_has_no_stages() -> None:
    loads = {SLOW: HEALTHY}
    (slow,) = site_stages([node(f"oss{n}", loads, server=True) for n in (1, 2)])
    assert {figure.unknown for figure in slow.stages.values()} == {"several servers had it"}


@pytest.mark.parametrize(
    "loads",
    [
        {SLOW: CAUSES[DISK], OST: HEALTHY},
        {**{ost: load._replace(requests=9) for ost, load in FOUR.items()}, SLOW: CAUSES[DISK]},
    ],
)
def test_without_two_peers_of_ten_requests_nothing_stands_out(loads: Loads) -> None:
    items = site_stages([node("client1", loads, server=False), node("oss1", loads, server=True)])
    assert list(outliers(items)) == []


def test_requests_to_a_metadata_target_have_a_queue_and_an_unknown_rest() -> None:
    mdt = "lustre-MDT0000"
    untimed = Timed(unknown="this release does not time them")
    (item,) = site_stages(
        [
            RequestTimes("c", 60.0, (TargetTimes(mdt, "request", Timed(100, 0.005)),)),
            RequestTimes(
                "mds",
                60.0,
                (TargetTimes(mdt, "request", served=untimed),),
                (QueueTimes("mds", Timed(150, 0.004)),),
            ),
        ]
    )
    assert item.whole.seconds == 0.005
    assert ms(item, QUEUE) == pytest.approx(4)
    assert item.stages[WAY].seconds is None
