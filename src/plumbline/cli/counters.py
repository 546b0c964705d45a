"""``plumbline counters``: what Lustre counts on this host, for Prometheus."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Sequence

from plumbline.cli.signalled import until_signalled
from plumbline.errors import StoreError, UsageError
from plumbline.units import parse_duration

if TYPE_CHECKING:
    from plumbline.counters.metric import Count, Labels, Metric
    from plumbline.output.exposition import Family
    from plumbline.run.count import Counters

_DESCRIPTION = """\
Read what Lustre counts on this server, client or router, and write it as metrics for the textfile
collector of Prometheus's node exporter.  A file that gives no answer is left out until it does."""


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "counters",
        help="tell Prometheus what Lustre counts on this host",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="replace this file, which everybody may read then; default: standard output",
    )
    parser.add_argument(
        "--every", metavar="TIME", help="write again and again, so often; needs --output"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the counters once, or until somebody ends it; return 0."""
    from plumbline.run.bounded_reads import BoundedReads
    from plumbline.run.clock import SystemClock
    from plumbline.run.count import Counters

    every_s = parse_duration(arguments.every) if arguments.every else 0.0
    if arguments.every and (not arguments.output or not 1 <= every_s <= 3600):
        raise UsageError("--every takes a time from 1s to 60min, and --output with it")
    clock = SystemClock()
    counters = Counters(BoundedReads(clock), clock)
    if not arguments.every:
        _write(counters, arguments.output, ())
        return 0
    told: Sequence[str] = ()
    with until_signalled() as ended:
        while not ended.is_set():
            begun = clock.monotonic()
            told = _kept(counters, arguments.output, told)
            ended.wait(max(0.0, begun + every_s - clock.monotonic()))
    return 0


def _kept(counters: Counters, output: str, told: Sequence[str]) -> Sequence[str]:
    """Write as ``_write`` does, and go on where that fails: the next look may find room."""
    try:
        return _write(counters, output, told)
    except StoreError as error:
        if str(error) in told:
            return told
        print(f"plumbline: {error}", file=sys.stderr, flush=True)
        return (*told, str(error))


def _write(counters: Counters, output: str, told: Sequence[str]) -> Sequence[str]:
    """Look and write; say what could not be used unless it is among ``told``; return all of it."""
    from plumbline.output.exposition import exposition
    from plumbline.store.replacing import replace_own

    looked = counters.look()
    for sentence in looked.troubles:
        if sentence not in told:
            print(f"plumbline: {sentence}", file=sys.stderr, flush=True)
    text = exposition(_families(looked.counts))
    if output:
        replace_own(Path(output), text, mode=0o644)
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return looked.troubles


def _families(counts: Iterable[Count]) -> Iterator[Family]:
    from plumbline.output.exposition import Family

    found: dict[Metric, dict[Labels, float]] = {}
    for metric, labels, value in counts:
        found.setdefault(metric, {})[labels] = value
    for metric, samples in found.items():
        yield Family(metric.name, metric.help, samples, metric.kind)
