"""``plumbline stages``: where the time of requests goes, live on one node or over several."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from socket import gethostname
from typing import Callable, Iterable, Iterator, Sequence

from plumbline.cli.options import parse_span, until_signalled
from plumbline.cli.output import print_json, remark, say
from plumbline.doors.table import render
from plumbline.model.errors import UsageError
from plumbline.model.names import several
from plumbline.observe.command import Clock, SystemClock
from plumbline.parts.facts.collected_times import collected_times
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.request_times import Reading, RequestTimes, request_times
from plumbline.parts.facts.stages import (
    Outlier,
    Stage,
    TargetStages,
    outliers,
    shown,
    site_stages,
)
from plumbline.site.prometheus import Prometheus
from plumbline.store.files import load_document

_MAX_BYTES = 64 << 20
"""Times of 10,000 targets on one node take 10 MB."""
_COLUMNS = {
    "way": Stage.WAY,
    "queue": Stage.QUEUE,
    "server": Stage.SERVER,
    "disk": Stage.DISK,
    "server + disk": Stage.HANDLING,
    "all but queue, disk": Stage.REMAINDER,
}


def stages(arguments: argparse.Namespace) -> int:
    """Print the stages of all targets; return 1 if one stands out, 3 if no time is known.

    With ``--times`` print the times of this node for another call; return 0.  With ``--reading``
    print the counters as they are now.
    """
    if arguments.during and not arguments.prometheus:
        raise UsageError("--during looks back: give it --prometheus, which keeps the counters")
    if arguments.reading:
        clock = SystemClock()
        look = Counters(BoundedReads(), clock).look()
        remark(*look.troubles)
        print_json(Reading.of(gethostname(), clock.monotonic(), look))
        return 0
    if arguments.prometheus:
        nodes = _collected(arguments)
    elif arguments.files:
        nodes = [load_document(RequestTimes, name, _MAX_BYTES) for name in arguments.files]
        _refuse_repeated(nodes)
    else:
        nodes = [_own_times(arguments.over)]
    if arguments.times:
        for node in nodes:
            print_json(node)
        return 0
    items = site_stages(nodes)
    standing = list(outliers(items))
    if arguments.json:
        print_json({"schema": 1, "targets": [_row(item) for item in items], "slow": standing})
    else:
        say(*_lines(items, standing))
    if standing:
        return 1
    return 0 if any(item.whole.seconds is not None for item in items) else 3


def _collected(arguments: argparse.Namespace) -> list[RequestTimes]:
    if arguments.files:
        raise UsageError("--prometheus takes no FILE: it has the counters of all nodes")
    end, seconds = time.time(), arguments.over
    if arguments.during:
        begin, end = parse_span(arguments.during, "--during", end)
        seconds = end - begin
    prometheus = Prometheus(arguments.prometheus, arguments.token_file, arguments.ca)
    try:
        return collected_times(prometheus, end, seconds)
    finally:
        remark(*prometheus.warnings)


def _refuse_repeated(nodes: Sequence[RequestTimes]) -> None:
    name, times = Counter(node.node for node in nodes).most_common(1)[0]
    if times > 1:
        raise UsageError(f"{times} of the files are of {name}; give one file for each node")


def _own_times(seconds: float) -> RequestTimes:
    clock = SystemClock()
    with until_signalled() as ended:
        return watch(Counters(BoundedReads(), clock), clock, lambda: ended.wait(seconds))


def watch(counters: Counters, clock: Clock, wait: Callable[[], object]) -> RequestTimes:
    """Return the times of this host's requests between two looks, one before and one after."""
    before, begun = counters.look(), clock.monotonic()
    wait()
    after, ended = counters.look(), clock.monotonic()
    remark(*dict.fromkeys((*before.troubles, *after.troubles)))
    return request_times(gethostname(), ended - begun, before, after)


def _row(item: TargetStages) -> dict[str, object]:
    stages = {stage.value: figure for stage, figure in item.stages.items()}
    return {**item._asdict(), "stages": stages}


def _lines(items: Sequence[TargetStages], standing: Sequence[Outlier]) -> Iterator[str]:
    """Yield a table in milliseconds, sentences on slow targets, and what is not known."""
    if not items:
        yield "No request to a Lustre target was counted in this time."
        return
    columns = {
        name: stage
        for name, stage in _COLUMNS.items()
        if any(item.seconds(stage) is not None for item in items)
    }
    headers = ["target", "operation", "requests", "ms", *columns]
    yield render(headers, [_cells(item, columns.values()) for item in items])
    yield from (outlier.sentence for outlier in standing)
    unknown: dict[str, list[str]] = {}
    for item in items:
        for name, stage in _COLUMNS.items():
            figure = item.stages.get(stage)
            if figure and figure.seconds is None:
                unknown.setdefault(f"{name}: {figure.unknown}", []).append(item.target)
    for reason, targets in unknown.items():
        yield f"not known, {reason} ({several(list(dict.fromkeys(targets)))})"


def _cells(item: TargetStages, columns: Iterable[Stage]) -> list[str]:
    seconds = (item.whole.seconds, *map(item.seconds, columns))
    times = ("-" if time is None else shown(time) for time in seconds)
    return [item.target, item.operation, f"{item.whole.requests}", *times]
