"""``plumbline counters``: Lustre's counters of this host, for Prometheus."""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Callable, Iterable, Iterator, Optional, Sequence

from plumbline.cli.options import until_signalled
from plumbline.cli.output import remark
from plumbline.doors.prometheus import Family, exposition
from plumbline.doors.table import render
from plumbline.model.errors import StoreError, UsageError
from plumbline.model.units import format_rate, parse_duration
from plumbline.observe.command import Clock, SystemClock, SystemRunner
from plumbline.observe.counters import Count, Labels, Metric, Rates, rates
from plumbline.observe.counting import MOST_BYTES, BoundedReads, Counters, LnetHealth
from plumbline.store.replacing import replace_own


def counters(arguments: argparse.Namespace) -> int:
    """Write the counters once, or until somebody ends it; return 0."""
    every_s = parse_duration(arguments.every) if arguments.every else 0.0
    if arguments.every and not 1 <= every_s <= 3600:
        raise UsageError("--every takes a time from 1s to 60min")
    clock = SystemClock()
    lnet = _lnet(clock) if arguments.lnet_health else None
    counters = Counters(BoundedReads(clock), clock, lnet=lnet)
    if not arguments.every:
        _write(counters, arguments.output, ())
        return 0
    show = (
        partial(_kept, counters, arguments.output) if arguments.output else _Live(counters, clock)
    )
    complaints: Sequence[str] = ()
    with until_signalled() as ended:
        while not ended.is_set():
            begun = clock.monotonic()
            complaints = show(complaints)
            ended.wait(max(0.0, begun + every_s - clock.monotonic()))
    return 0


def _lnet(clock: Clock) -> LnetHealth:
    return LnetHealth(SystemRunner(grace_s=0.5, most_bytes=MOST_BYTES), clock)


class _Live:
    """Shows what has moved since the last look."""

    def __init__(self, counters: Counters, clock: Clock) -> None:
        self._counters = counters
        self._clock = clock
        self._before: tuple[Count, ...] = ()
        self._at = clock.monotonic()

    def __call__(self, complaints: Sequence[str]) -> Sequence[str]:
        """Print a table, but for the first look, and what is not among ``complaints``."""
        looked, now = self._counters.look(), self._clock.monotonic()
        if self._before:
            _show(rates(self._before, looked.counts, now - self._at))
        self._before, self._at = looked.counts, now
        return _remarked(looked.troubles, complaints)


def _show(rates: Sequence[Rates]) -> None:
    """Print rates; a terminal has as many of them as it has lines, in the place of those before."""
    terminal = sys.stdout.isatty()
    most = max(1, shutil.get_terminal_size().lines - 8) if terminal else len(rates)
    headers = ("source", "target", "read", "write", "operations", "latency", "recovery")
    rows = [
        (
            each.source,
            each.name,
            _or_dash(each.read_Bps, format_rate),
            _or_dash(each.write_Bps, format_rate),
            _or_dash(each.operations_per_s, lambda rate: f"{rate:.0f}/s"),
            _or_dash(each.latency_s, lambda seconds: f"{1000 * seconds:.2f} ms"),
            each.recovery,
        )
        for each in rates[:most]
    ]
    print("\x1b[H\x1b[J" if terminal else "", end="")
    print(render(headers, rows) if rows else "Lustre counts nothing on this host")
    print(f"{len(rates) - most} more\n" if rates[most:] else "", flush=True)


def _or_dash(value: Optional[float], form: Callable[[float], str]) -> str:
    return "-" if value is None else form(value)


def _kept(counters: Counters, output: str, complaints: Sequence[str]) -> Sequence[str]:
    """Write as ``_write`` does, and go on where that fails: the next look may find room."""
    try:
        return _write(counters, output, complaints)
    except StoreError as error:
        if str(error) in complaints:
            return complaints
        remark(str(error))
        return (*complaints, str(error))


def _write(counters: Counters, output: str, complaints: Sequence[str]) -> Sequence[str]:
    """Look and write; return what could not be used."""
    looked = counters.look()
    text = exposition(_families(looked.counts))
    if output:
        replace_own(Path(output), text, mode=0o644)
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return _remarked(looked.troubles, complaints)


def _remarked(troubles: Sequence[str], before: Sequence[str]) -> Sequence[str]:
    """Print the troubles that are not among ``before``; return all of them."""
    remark(*(sentence for sentence in troubles if sentence not in before))
    return troubles


def _families(counts: Iterable[Count]) -> Iterator[Family]:
    by_metric: dict[Metric, dict[Labels, float]] = {}
    for metric, labels, value in counts:
        by_metric.setdefault(metric, {})[labels] = value
    for metric, samples in by_metric.items():
        yield Family(metric.name, metric.help, samples, metric.kind)
