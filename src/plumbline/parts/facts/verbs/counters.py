"""``plumbline counters``: Lustre's counters of this host for Prometheus, or as a live table."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional, Sequence

from plumbline.cli.options import until_signalled
from plumbline.cli.output import remark, say
from plumbline.doors.prometheus import Family, exposition
from plumbline.doors.table import render
from plumbline.model.errors import StoreError
from plumbline.model.metric import Metric
from plumbline.model.units import format_rate
from plumbline.observe.command import Clock, SystemClock, SystemRunner
from plumbline.parts.facts.counters import Count, Labels, Rates, rates
from plumbline.parts.facts.counting import MAX_BYTES, BoundedReads, Counters, LnetHealth
from plumbline.store.replacing import replace_own


def counters(arguments: argparse.Namespace) -> int:
    """Write the counters once, or repeatedly until a signal; return 0."""
    clock = SystemClock()
    runner = SystemRunner(grace_s=0.5, most_bytes=MAX_BYTES)
    lnet = LnetHealth(runner, clock) if arguments.lnet_health else None
    looks = Looks(Counters(BoundedReads(), clock, lnet=lnet), clock)
    if not arguments.every:
        looks.write(arguments.output)
        return 0
    with until_signalled() as ended:
        while not ended.is_set():
            begun = clock.monotonic()
            if arguments.output:
                looks.keep(arguments.output)
            else:
                looks.show()
            ended.wait(max(0.0, begun + arguments.every - clock.monotonic()))
    return 0


class Looks:
    """Successive reads of the counters; each error of reading or writing is reported once."""

    def __init__(self, counters: Counters, clock: Clock) -> None:
        self._counters = counters
        self._clock = clock
        self._before: tuple[Count, ...] = ()
        self._at = clock.monotonic()
        self._troubles: Sequence[str] = ()
        self._failure = ""

    def _look(self) -> tuple[Count, ...]:
        look = self._counters.look()
        remark(*(trouble for trouble in look.troubles if trouble not in self._troubles))
        self._troubles = look.troubles
        return look.counts

    def show(self) -> None:
        """Print a table of rates since the last look; the first look prints nothing."""
        counts, now = self._look(), self._clock.monotonic()
        if self._before:
            _show(rates(self._before, counts, now - self._at))
        self._before, self._at = counts, now

    def keep(self, output: str) -> None:
        """Write the metrics and report an error, because the next look may find room."""
        try:
            self.write(output)
            self._failure = ""
        except StoreError as error:
            if str(error) != self._failure:
                remark(str(error))
            self._failure = str(error)

    def write(self, output: str) -> None:
        """Write the metrics of a look; raise StoreError if it fails."""
        text = exposition(_families(self._look()))
        if output:
            replace_own(Path(output), text, mode=0o644)
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _show(rates: Sequence[Rates]) -> None:
    """Print rates; on a terminal clear it first, and print no more rows than it has lines."""
    terminal = sys.stdout.isatty()
    most = max(1, shutil.get_terminal_size().lines - 8) if terminal else len(rates)
    headers = ("source", "target", "read", "write", "operations", "latency", "recovery")
    rows = [
        (
            target.source,
            target.name,
            _or_dash(target.read_Bps, format_rate),
            _or_dash(target.write_Bps, format_rate),
            _or_dash(target.operations_per_s, lambda rate: f"{rate:.0f}/s"),
            _or_dash(target.latency_s, lambda seconds: f"{1000 * seconds:.2f} ms"),
            target.recovery,
        )
        for target in rates[:most]
    ]
    sys.stdout.write("\x1b[H\x1b[J" if terminal else "")
    say(render(headers, rows) if rows else "Lustre counts nothing on this host")
    say(*([f"{len(rates) - most} more"] if rates[most:] else []), "")


def _or_dash(value: Optional[float], form: Callable[[float], str]) -> str:
    return "-" if value is None else form(value)


def _families(counts: Iterable[Count]) -> Iterator[Family]:
    by_metric: dict[Metric, dict[Labels, float]] = {}
    for metric, labels, value in counts:
        by_metric.setdefault(metric, {})[labels] = value
    for metric, samples in by_metric.items():
        yield Family(metric.name, metric.help, samples, metric.kind)
