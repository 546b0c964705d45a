"""Times of the requests of one node, between two readings of its own counters.

A client times a request from sending it to its answer (``ptlrpc_check_set`` in Lustre's
``client.c``).  A server times its wait for a thread and then its handling, by service: for all
targets of the server together (``service.c``).  Its disk's time is a histogram of each target
(``osd_io.c``); obdfilter times reads with the disk, writes only until their commit begins
(``ofd_io.c``), so its writes are counted here without their time.

Counters are subtracted only from themselves, so the clocks of two nodes may differ.
"""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import form, positional
from plumbline.model.metric import (
    BYTES,
    DISK_TIME,
    OPERATIONS,
    QUEUE_ACTIVE,
    QUEUE_REQUESTS,
    QUEUE_SECONDS,
    QUEUE_WAITING,
    SECONDS,
    Metric,
)
from plumbline.model.validation import amounts, counts, unicode_text
from plumbline.parts.facts.counters import (
    ALL_REQUESTS,
    DISK_BUCKETS,
    Count,
    CountersLook,
    Labels,
)

READ, WRITE, REQUEST = "read", "write", "request"
"""Operations: of storage targets, and all requests to a metadata target."""

IDLE = "there were none"
UNTIMED = "this release does not time them"


class Timed(NamedTuple):
    """Requests, and the mean seconds of one; without a mean ``unknown`` is the reason."""

    requests: Annotated[int, counts] = 0
    mean_s: Optional[Annotated[float, amounts]] = None
    unknown: Annotated[str, unicode_text] = ""


class DiskTime(NamedTuple):
    """Disk I/O of a target: bounds of the seconds that all of it took together.

    ``unknown`` is the reason if there are no bounds.
    """

    ios: Annotated[int, counts] = 0
    least_s: Annotated[float, amounts] = 0.0
    most_s: Annotated[float, amounts] = 0.0
    unknown: Annotated[str, unicode_text] = ""


class TargetTimes(NamedTuple):
    """Times of one operation on a target.

    ``client`` is None if the node is no client of it, ``served`` and ``disk`` if it does not serve
    it.
    """

    target: Annotated[str, unicode_text]
    operation: Annotated[str, unicode_text]
    client: Optional[Timed] = None
    served: Optional[Timed] = None
    disk: Optional[DiskTime] = None


class QueueTimes(NamedTuple):
    """The queue of a server for all its targets of a kind, ``ost`` or ``mds``.

    ``waiting`` and ``active`` are the mean numbers of requests that waited and were handled when
    one was taken up; ``handled`` are the times from then on, by operation.
    """

    kind: Annotated[str, unicode_text]
    waited: Timed
    waiting: Annotated[float, amounts] = 0.0
    active: Annotated[float, amounts] = 0.0
    handled: Mapping[str, Timed] = {}


@form(1, "request times", "print them again: plumbline stages --times")
class RequestTimes(NamedTuple):
    """Times of all requests of a node during ``seconds``."""

    node: Annotated[str, unicode_text]
    seconds: Annotated[float, amounts]
    targets: tuple[TargetTimes, ...] = ()
    queues: tuple[QueueTimes, ...] = ()


@positional
class CountRow(NamedTuple):
    """One count: name of its metric, labels, value."""

    metric: Annotated[str, unicode_text]
    labels: tuple[tuple[str, str], ...]
    value: Annotated[float, amounts]


@form(1, "reading of counters", "print it again: plumbline stages --reading")
class Reading(NamedTuple):
    """All counters of a node that times of requests follow from.

    ``at_s`` is the node's monotonic clock, and ``devices`` are those whose statistics were read.
    """

    node: Annotated[str, unicode_text]
    at_s: Annotated[float, amounts]
    counts: tuple[CountRow, ...]
    devices: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def of(cls, node: str, at_s: float, look: CountersLook) -> Reading:
        """Return the document of a look."""
        rows = (
            CountRow(metric.name, labels, value)
            for (metric, labels), value in _values(look).items()
        )
        return cls(node, at_s, tuple(rows), tuple(sorted(look.devices)))

    def look(self) -> CountersLook:
        """Return the look, without counters that another version has added."""
        counts = (
            Count(_BY_NAME[row.metric], row.labels, row.value)
            for row in self.counts
            if row.metric in _BY_NAME
        )
        return CountersLook(tuple(counts), (), frozenset(self.devices))


def times_between(readings: Iterable[Reading]) -> list[RequestTimes]:
    """Return the times of each node between its first and its last reading.

    A node with one reading is left out.
    """
    by_node: dict[str, list[Reading]] = {}
    for reading in readings:
        by_node.setdefault(reading.node, []).append(reading)
    times = []
    for node, looks in by_node.items():
        first, last = (end(looks, key=lambda reading: reading.at_s) for end in (min, max))
        if last.at_s > first.at_s:
            seconds = last.at_s - first.at_s
            times.append(request_times(node, seconds, first.look(), last.look()))
    return times


def request_times(
    node: str, seconds: float, before: CountersLook, after: CountersLook
) -> RequestTimes:
    """Return the times of a node's requests between two readings ``seconds`` apart.

    Targets without requests are left out.
    """
    growth = _Growth(before, after)
    targets = chain(_storage(growth), _metadata(growth))
    return RequestTimes(
        node,
        seconds,
        tuple(target for target in targets if not _is_idle(target)),
        tuple(_queues(growth)),
    )


class _Growth:
    """Growth of the counters of each device."""

    def __init__(self, before: CountersLook, after: CountersLook) -> None:
        self._devices = before.devices, after.devices
        self._values = _values(before), _values(after)
        earlier, later = self._values
        # a counter that fell, or is gone, began again, and with it all counters of its device
        self._restarted = {
            device_of(labels)
            for (metric, labels), value in earlier.items()
            if later.get((metric, labels), -1) < value
        }

    def devices(self, source: str) -> Iterator[tuple[str, Labels]]:
        """Yield target or service, and labels, of each device of a source, in order of name."""
        earlier, later = self._devices
        for labels in sorted(earlier | later):
            names = dict(labels)
            name = names.get("target") or names.get("service")
            if name and names.get("source") == source:
                yield name, labels

    def trouble(self, device: Labels) -> str:
        """Return why the growth of a device is not known, empty if it is."""
        earlier, later = self._devices
        if device not in later:
            return "its counters could not be read at the end"
        if device not in earlier:
            return "its counters could not be read at the beginning"
        return "its counters began again" if device in self._restarted else ""

    def of(self, metric: Metric, labels: Labels) -> Optional[float]:
        """Return the growth of one count, None if nothing is counted under this name."""
        earlier, later = self._values
        value = later.get((metric, labels))
        return None if value is None else value - earlier.get((metric, labels), 0)

    def timed(self, device: Labels, operation: str, moved: str = "") -> Timed:
        """Return the requests of one operation; ``moved`` is its direction in lines of bytes."""
        trouble = self.trouble(device)
        if trouble:
            return Timed(unknown=trouble)
        labels = (*device, ("operation", operation))
        requests, seconds = self.of(OPERATIONS, labels), self.of(SECONDS, labels)
        if not requests:
            has_bytes = moved and self.of(BYTES, (*device, ("operation", moved)))
            return Timed(unknown=UNTIMED if has_bytes else IDLE)
        if seconds is None:
            return Timed(int(requests), unknown=UNTIMED)
        return Timed(int(requests), seconds / requests)


METRICS = (
    *(BYTES, OPERATIONS, SECONDS, DISK_TIME),
    *(QUEUE_REQUESTS, QUEUE_SECONDS, QUEUE_WAITING, QUEUE_ACTIVE),
)
"""Metrics from which the times follow; all of them only grow."""


_BY_NAME = {metric.name: metric for metric in METRICS}


def _values(look: CountersLook) -> Mapping[tuple[Metric, Labels], float]:
    # those of a client's mount are of no use here, and many
    return {
        (count.metric, count.labels): count.value
        for count in look.counts
        if count.metric in METRICS and ("source", "llite") not in count.labels
    }


def device_of(labels: Labels) -> Labels:
    """Return the labels of the device of a count."""
    return tuple(label for label in labels if label[0] not in ("operation", "le"))


def _is_idle(times: TargetTimes) -> bool:
    parts = [part for part in (times.client, times.served) if part]
    return all(not part.requests and part.unknown == IDLE for part in parts)


def _storage(growth: _Growth) -> Iterator[TargetTimes]:
    clients = _by_target(growth, ("osc",))
    served = _by_target(growth, ("obdfilter",))
    disks = _by_target(growth, ("osd-ldiskfs", "osd-zfs"))
    for target in sorted({*clients, *served}):
        for operation in (READ, WRITE):
            yield TargetTimes(
                target,
                operation,
                _client(growth, clients.get(target), f"ost_{operation}", operation),
                _served(growth, served.get(target), operation),
                _disk_time(growth, disks.get(target), operation),
            )


def _metadata(growth: _Growth) -> Iterator[TargetTimes]:
    """Yield all requests to metadata targets; no release times the handling of most of them."""
    clients, served = _by_target(growth, ("mdc",)), _by_target(growth, ("mdt",))
    for target in sorted({*clients, *served}):
        client = _client(growth, clients.get(target), ALL_REQUESTS)
        here = Timed(unknown=UNTIMED) if target in served else None
        if client or here:
            yield TargetTimes(target, REQUEST, client, here)


def _by_target(growth: _Growth, sources: Sequence[str]) -> Mapping[str, list[Labels]]:
    devices: dict[str, list[Labels]] = {}
    for target, labels in chain.from_iterable(map(growth.devices, sources)):
        devices.setdefault(target, []).append(labels)
    return devices


def _client(
    growth: _Growth, devices: Optional[Sequence[Labels]], operation: str, moved: str = ""
) -> Optional[Timed]:
    """Return the requests of a client over all its mounts, None if it is none."""
    if not devices:
        return None
    return pooled(growth.timed(device, operation, moved) for device in devices)


def pooled(parts: Iterable[Timed]) -> Timed:
    """Return requests of several counters as one; unknown if one of them is."""
    known = []
    for part in parts:
        if part.mean_s is not None:
            known.append(part)
        elif part.unknown != IDLE:
            return part
    requests = sum(part.requests for part in known)
    if not requests:
        return Timed(unknown=IDLE)
    return Timed(requests, sum(part.requests * (part.mean_s or 0.0) for part in known) / requests)


def _served(
    growth: _Growth, devices: Optional[Sequence[Labels]], operation: str
) -> Optional[Timed]:
    if not devices:
        return None
    times = growth.timed(devices[0], operation, operation)
    if operation == WRITE and times.requests:
        return Timed(times.requests, unknown="obdfilter counts writes before their commit")
    return times


def _disk_time(
    growth: _Growth, devices: Optional[Sequence[Labels]], operation: str
) -> Optional[DiskTime]:
    if not devices:
        return None
    trouble = growth.trouble(devices[0])
    if trouble:
        return DiskTime(unknown=trouble)
    labels = (*devices[0], ("operation", operation))
    ios = growth.of(DISK_TIME, labels)
    if not ios:
        zfs = operation == WRITE and ("source", "osd-zfs") in labels
        reason = "ZFS does not time writes" if zfs else "no disk I/O of them was counted"
        return DiskTime(unknown=reason)
    least_s = most_s = 0.0
    below = 0.0
    for bucket, low_s, high_s in _bounds():
        up_to = max(below, growth.of(DISK_TIME, (*labels, ("le", bucket))) or 0.0)
        least_s += (up_to - below) * low_s
        most_s += (up_to - below) * high_s
        below = up_to
    return DiskTime(int(ios), least_s, most_s)


def _bounds() -> Iterator[tuple[str, float, float]]:
    """Yield label and bounds in seconds of each bucket of disk times.

    Lustre cuts a time down to whole milliseconds; the bucket of 1 ms holds 0 and 1, that of 2 ms
    holds 2, that of 4 ms 3 and 4 (``lprocfs_oh_tally_log2`` in ``lprocfs_status.c``).
    """
    for limit_s in DISK_BUCKETS:
        yield repr(limit_s), 0.0 if limit_s == 1e-3 else limit_s / 2 + 1e-3, limit_s + 1e-3
    yield "+Inf", DISK_BUCKETS[-1], 2 * DISK_BUCKETS[-1]


def _queues(growth: _Growth) -> Iterator[QueueTimes]:
    for kind in ("ost", "mds"):
        # reads and writes have a service of their own; metadata requests have several
        devices = [
            labels for name, labels in growth.devices(kind) if kind == "mds" or name == "ost_io"
        ]
        if devices:
            yield _queue(growth, kind, devices)


def _queue(growth: _Growth, kind: str, devices: Sequence[Labels]) -> QueueTimes:
    trouble = next(filter(None, map(growth.trouble, devices)), "")
    if trouble:
        return QueueTimes(kind, Timed(unknown=trouble))
    requests, seconds, waiting, active = (
        sum(growth.of(metric, device) or 0.0 for device in devices)
        for metric in (QUEUE_REQUESTS, QUEUE_SECONDS, QUEUE_WAITING, QUEUE_ACTIVE)
    )
    if not requests:
        return QueueTimes(kind, Timed(unknown=IDLE))
    handled = {
        operation: growth.timed(devices[0], f"ost_{operation}")
        for operation in (READ, WRITE)
        if kind == "ost"
    }
    waited = Timed(int(requests), seconds / requests)
    return QueueTimes(kind, waited, waiting / requests, active / requests, handled)
