"""Stages of a target's requests with their time: client and network, queue, server, disk.

A client's mean time less the wait in the server's queue and the handling there is spent on the way:
in client and network.  The handling less the disk's time is spent in the server: locks, commit, and
the transfer of the data, which the server drives.  A server counts queue and handling for all its
targets together, so handling belongs to a target only if nearly all of the server's requests did;
otherwise way and server are one remainder.  Each stage is compared with the median of the other
targets in the same time.  What a release does not count is not known, never 0.
"""

from __future__ import annotations

from enum import Enum
from statistics import median
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.parts.facts.request_times import (
    IDLE,
    REQUEST,
    UNTIMED,
    DiskTime,
    QueueTimes,
    RequestTimes,
    TargetTimes,
    Timed,
    pooled,
)

_OWN_SHARE = 0.9
"""Share of the requests of a mean from which on it stands for a target, or for the clients."""
_ROUNDING = 0.1
"""Share of the whole by which stages may exceed it: counters are read one after the other."""
_MIN_REQUESTS = 10
"""With fewer, one slow request decides the mean."""
_MIN_PEERS = 2
"""With one, the slow one of the two is unknown."""
_FACTOR = 1.5
"""Times the peers' median from which on a target stands out: less is not worth a sentence."""
_MIN_EXPLAINED = 0.5
"""Share of the excess that the named stages have to explain."""


class Stage(Enum):
    """Part of the time of a request."""

    WAY = "way"
    QUEUE = "queue"
    HANDLING = "handling"
    SERVER = "server"
    DISK = "disk"
    REMAINDER = "remainder"


_WORDS = {
    Stage.WAY: "pass outside of the server: client or network",
    Stage.QUEUE: "wait in the server's queue",
    Stage.HANDLING: "pass in the server with its disk",
    Stage.SERVER: "pass in the server without its disk: locks, commit or transfer of the data",
    Stage.DISK: "pass in the disk",
    Stage.REMAINDER: "pass outside of queue and disk: client, network, locks or commit",
}


class Figure(NamedTuple):
    """Seconds of a request in a stage; without them ``unknown`` is the reason."""

    seconds: Optional[float] = None
    requests: int = 0
    unknown: str = ""


class TargetStages(NamedTuple):
    """Stages of the requests of one operation on a target.

    ``whole`` is the time at the client, or without one at the server, as ``at_server`` shows.
    ``waiting`` is the mean number of requests that waited when one was taken up, if known.
    """

    target: str
    operation: str
    whole: Figure
    at_server: bool
    stages: Mapping[Stage, Figure]
    waiting: Optional[float]

    def seconds(self, stage: Stage) -> Optional[float]:
        """Return the seconds of a stage, None if they are not known."""
        return self.stages[stage].seconds if stage in self.stages else None


class _Served(NamedTuple):
    """Times of a target on its server, and the server's queue if it has one."""

    times: TargetTimes
    queue: Optional[QueueTimes]


def site_stages(nodes: Iterable[RequestTimes]) -> list[TargetStages]:
    """Return the stages of all targets, from the times of clients and servers in the same time."""
    clients: dict[tuple[str, str], list[Timed]] = {}
    servers: dict[tuple[str, str], list[_Served]] = {}
    for node in nodes:
        queues = {queue.kind: queue for queue in node.queues}
        for times in node.targets:
            key = times.target, times.operation
            if times.client:
                clients.setdefault(key, []).append(times.client)
            if times.served:
                queue = queues.get("mds" if times.operation == REQUEST else "ost")
                servers.setdefault(key, []).append(_Served(times, queue))
    return [
        _stages(*key, clients.get(key, ()), servers.get(key, ()))
        for key in sorted({*clients, *servers})
    ]


def _stages(
    target: str, operation: str, clients: Sequence[Timed], servers: Sequence[_Served]
) -> TargetStages:
    client = _figure(pooled(clients)) if clients else Figure(unknown="no client was asked")
    if len(servers) != 1:
        reason = "several servers had it" if servers else "its server was not asked"
        nothing = dict.fromkeys(_PARTS, Figure(unknown=reason))
        return TargetStages(target, operation, client, False, nothing, None)
    served, queue = servers[0]
    queued = _queued(served, queue)
    handling = _handling(served, queue)
    disk = _disk(served, handling)
    stages = {
        Stage.WAY: _way(client, served, [queued, handling]),
        Stage.QUEUE: queued,
        Stage.SERVER: _less(handling, [disk]),
        Stage.DISK: disk,
    }
    if handling.seconds is None and disk.seconds is not None and clients:
        stages[Stage.REMAINDER] = _way(client, served, [queued, disk])
    if handling.seconds is not None and disk.seconds is None:
        stages[Stage.HANDLING] = handling
    whole = client
    if not clients:
        rest = handling if handling.seconds is not None else _figure_of_target(served, disk)
        whole = _sum(queued, rest)
    waiting = None if queue is None or queued.seconds is None else queue.waiting
    return TargetStages(target, operation, whole, not clients, stages, waiting)


_PARTS = (Stage.WAY, Stage.QUEUE, Stage.SERVER, Stage.DISK)


def _figure(timed: Timed) -> Figure:
    return Figure(timed.mean_s, timed.requests, timed.unknown)


def _of_server(timed: Timed, own: int) -> Figure:
    """Return a figure of a server: if a target had its ``own`` requests, there were some."""
    if own and timed.unknown == IDLE:
        return Figure(unknown=UNTIMED)
    return _figure(timed)


def _queued(served: TargetTimes, queue: Optional[QueueTimes]) -> Figure:
    if queue is None:
        return Figure(unknown="the server shows no counters of its queue")
    return _of_server(queue.waited, _own_requests(served))


def _own_requests(served: TargetTimes) -> int:
    return served.served.requests if served.served else 0


def _handling(served: TargetTimes, queue: Optional[QueueTimes]) -> Figure:
    """Return the time of handling, if it is that of this target."""
    if queue is None:
        return Figure(unknown="the server shows no counters of its requests")
    own = _own_requests(served)
    if queue.waited.mean_s is None:
        return _of_server(queue.waited, own)
    handled = queue.handled.get(served.operation)
    if handled is None:
        return Figure(unknown="no release of Lustre times the handling of metadata requests")
    if not own:
        return _figure(served.served or Timed())
    if handled.mean_s is not None and own < _OWN_SHARE * handled.requests:
        return Figure(
            unknown=f"only {own} of the server's {handled.requests} {served.operation}s were of "
            "this target"
        )
    return _of_server(handled, own)


def _disk(served: TargetTimes, handling: Figure) -> Figure:
    """Return the time of the disk: between its bounds, and within the times that contain it."""
    disk, times = served.disk, served.served
    if served.operation == REQUEST:
        return Figure(unknown="disk I/O of metadata targets is not timed")
    if disk is None or times is None:
        return Figure(unknown="the server shows no disk times")
    if disk.unknown or not times.requests:
        return Figure(unknown=disk.unknown or times.unknown)
    least_s, most_s = _bounds(disk, times.requests)
    if times.mean_s is not None:
        # reads: the time of obdfilter is exact, and holds little more than the disk
        return Figure(min(max(times.mean_s, least_s), most_s), times.requests)
    middle_s = (least_s + most_s) / 2
    if handling.seconds is not None:
        middle_s = min(middle_s, max(handling.seconds, least_s))
    return Figure(middle_s, times.requests)


def _bounds(disk: DiskTime, requests: int) -> tuple[float, float]:
    """Return the bounds of a request; I/O below a millisecond may not be counted (ZFS)."""
    uncounted_s = 1e-3 * max(0, requests - disk.ios)
    return disk.least_s / requests, (disk.most_s + uncounted_s) / requests


def _figure_of_target(served: TargetTimes, disk: Figure) -> Figure:
    """Return the time of the target itself without the server's: that of obdfilter, or the disk."""
    times = served.served
    return _figure(times) if times and times.mean_s is not None else disk


def _way(client: Figure, served: TargetTimes, parts: Sequence[Figure]) -> Figure:
    """Return the rest of a client's time, if the requests of client and server are the same."""
    if client.seconds is None:
        return client
    own = _own_requests(served)
    if client.requests < _OWN_SHARE * own:
        return Figure(unknown=f"{own - client.requests} of {own} requests were of other clients")
    return _less(client, parts)


def _less(whole: Figure, parts: Sequence[Figure]) -> Figure:
    unknown = next((part for part in (whole, *parts) if part.seconds is None), None)
    if unknown:
        return Figure(unknown=unknown.unknown)
    total = whole.seconds or 0.0
    rest = total - sum(part.seconds or 0.0 for part in parts)
    if rest < -_ROUNDING * total:
        return Figure(unknown="its parts take longer: they were not counted in the same requests")
    return Figure(max(0.0, rest), whole.requests)


def _sum(*parts: Figure) -> Figure:
    unknown = next((part for part in parts if part.seconds is None), None)
    if unknown:
        return Figure(unknown=unknown.unknown)
    return Figure(sum(part.seconds or 0.0 for part in parts), parts[-1].requests)


class Outlier(NamedTuple):
    """A target whose requests take longer than those of its peers."""

    target: str
    operation: str
    stage: Optional[Stage]
    """The stage that explains most of it; None if none does, or it is not known."""
    sentence: str


class Peers(NamedTuple):
    """Medians of the peers of a target; None if fewer than two are known."""

    targets: int
    whole: float
    stages: Mapping[Stage, float]
    waiting: Optional[float]


def outliers(stages: Sequence[TargetStages]) -> Iterator[Outlier]:
    """Yield the targets that stand out, the slowest in comparison with its peers first."""
    standing = []
    for item in stages:
        peers = peers_of(item, stages)
        if peers and _is_enough(item) and (item.whole.seconds or 0.0) >= _FACTOR * peers.whole:
            standing.append(((item.whole.seconds or 0.0) / max(peers.whole, 1e-9), item, peers))
    for _, item, peers in sorted(standing, key=lambda row: -row[0]):
        yield _outlier(item, peers)


def peers_of(item: TargetStages, stages: Sequence[TargetStages]) -> Optional[Peers]:
    """Return the medians of a target's peers, None if there are too few with requests."""
    peers = [
        other
        for other in stages
        if other.operation == item.operation
        and other.target != item.target
        and other.at_server == item.at_server
        and _is_enough(other)
    ]
    if len(peers) < _MIN_PEERS:
        return None
    medians = {}
    for stage in Stage:
        known = [seconds for peer in peers if (seconds := peer.seconds(stage)) is not None]
        if len(known) >= _MIN_PEERS:
            medians[stage] = median(known)
    waiting = [peer.waiting for peer in peers if peer.waiting is not None]
    return Peers(
        len(peers),
        median(peer.whole.seconds or 0.0 for peer in peers),
        medians,
        median(waiting) if waiting else None,
    )


def _is_enough(item: TargetStages) -> bool:
    return item.whole.seconds is not None and item.whole.requests >= _MIN_REQUESTS


def explanation(item: TargetStages, stages: Sequence[TargetStages]) -> str:
    """Return a sentence on where the time of a target goes, also without peers."""
    peers = peers_of(item, stages)
    if item.whole.seconds is None or not item.whole.requests:
        return f"{item.target}: the time of a {item.operation} is not known: {item.whole.unknown}"
    if peers and item.whole.seconds >= _FACTOR * peers.whole:
        return _outlier(item, peers).sentence
    begin = _begin(item)
    if peers:
        return f"{begin} ({peers.targets} peers: {shown(peers.whole)}), so no stage stands out"
    known = {stage: time for stage in item.stages if (time := item.seconds(stage)) is not None}
    if not known:
        return f"{begin}, where is not known: {_in_doubt(item)}"
    stage = max(known, key=lambda stage: known[stage])
    return f"{begin}, {shown(known[stage])} {_WORDS[stage]} (no peers in the same time)"


def _begin(item: TargetStages) -> str:
    where = " at the server" if item.at_server else ""
    return f"{item.target}: of {shown(item.whole.seconds or 0.0)} ms a {item.operation}{where}"


def _outlier(item: TargetStages, peers: Peers) -> Outlier:
    excess = {
        stage: seconds - peers.stages[stage]
        for stage in item.stages
        if (seconds := item.seconds(stage)) is not None and stage in peers.stages
    }
    whole_s = item.whole.seconds or 0.0
    stage = max(excess, key=lambda stage: excess[stage], default=None)
    begin = _begin(item)
    if stage is None or excess[stage] < _MIN_EXPLAINED * (whole_s - peers.whole):
        stage = None
        usual = shown(peers.whole)
        text = f"{begin} ({peers.targets} peers: {usual}), where is not known: {_in_doubt(item)}"
    else:
        own, usual = shown(item.seconds(stage) or 0.0), shown(peers.stages[stage])
        text = f"{begin}, {own} {_WORDS[stage]} ({peers.targets} peers: {usual})"
    if stage is Stage.QUEUE and item.waiting is not None and peers.waiting is not None:
        text += f"; {item.waiting:.1f} requests wait there (peers: {peers.waiting:.1f})"
    return Outlier(item.target, item.operation, stage, text + _slow_disk(item, peers, stage))


def _slow_disk(item: TargetStages, peers: Peers, stage: Optional[Stage]) -> str:
    """Return words on a slow disk that is not the stage itself: commits and threads wait for it."""
    disk_s, usual_s = item.seconds(Stage.DISK), peers.stages.get(Stage.DISK)
    if stage is Stage.DISK or disk_s is None or usual_s is None or disk_s < _FACTOR * usual_s:
        return ""
    return f"; its disk is slower too: {shown(disk_s)} (peers: {shown(usual_s)})"


def _in_doubt(item: TargetStages) -> str:
    """Return why no stage explains a target: those without figures, or that all grew a little."""
    reasons = [figure.unknown for figure in item.stages.values() if figure.seconds is None]
    return "; ".join(dict.fromkeys(reasons)) or "no stage takes most of it"


def shown(seconds: float) -> str:
    """Return seconds in milliseconds, without the unit: ``80``, ``4.3``."""
    return f"{seconds * 1e3:.0f}" if seconds >= 0.01 else f"{seconds * 1e3:.1f}"
