"""``plumbline latency``: devices that are slow under the load that they have anyway."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from plumbline.cli.prometheus import add_prometheus, prometheus_of
from plumbline.errors import UsageError
from plumbline.units import parse_duration

if TYPE_CHECKING:
    from plumbline.site.latency import SiteLatencies

_DESCRIPTION = """\
Compare the latency of each device with that of its peers at equal throughput, under the load that
the file system gives them, from what Prometheus keeps of node exporter and of plumbline metrics.
Nothing is measured.  A suspicion notifies nobody: it names the probe that confirms it."""


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "latency",
        help="name devices that are slow under their own load; ends with 1 if there are any",
        description=_DESCRIPTION,
        epilog="For example: plumbline latency --plan plan.json --prometheus http://console:9090",
    )
    parser.add_argument(
        "--plan", metavar="FILE", required=True, help="what plumbline plan --json printed"
    )
    add_prometheus(parser, required=True)
    parser.add_argument(
        "--since", metavar="TIME", default="1d", help="how long back, default %(default)s"
    )
    parser.add_argument(
        "--window",
        metavar="TIME",
        default="15min",
        help="one comparison, at least two scrapes long, default %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="print all devices for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the suspects and return 1 where there are any, 3 where no device could be compared."""
    from plumbline.collect.device_loads import device_loads
    from plumbline.collect.prometheus import Span
    from plumbline.site.latency import latencies
    from plumbline.store.plan import load_plan

    window_s, since_s = parse_duration(arguments.window), parse_duration(arguments.since)
    if window_s <= 0 or since_s < 2 * window_s:
        raise UsageError("--since takes at least two times --window, which is above zero")
    prometheus = prometheus_of(arguments)
    # windows begin at the same moments whenever somebody asks
    end = time.time() // window_s * window_s
    span = Span(end - since_s // window_s * window_s + window_s, end, window_s)
    plan = load_plan(arguments.plan)
    found = latencies(plan, device_loads(prometheus, span), window_s)
    if arguments.json:
        print(json.dumps(_document(found), indent=1, allow_nan=False))
    else:
        _print(found)
    return 1 if found.slow else 0 if found.known else 3


def _document(found: SiteLatencies) -> dict[str, Any]:
    return {
        "schema": 1,
        "devices": [one.to_json() for one in found.known],
        "unknown": list(found.unknown),
    }


def _print(found: SiteLatencies) -> None:
    from plumbline.judge.phrases import several

    for one in found.slow:
        print(one.sentence)
        print(f"  Next: on {one.host}, plumbline probe raw --component {one.latency.device}")
    compared = {one.latency.device for one in found.known}
    print(f"{len(found.slow)} suspected of {len(compared)} devices compared")
    if found.unknown:
        names = several(found.unknown)
        print(f"{len(found.unknown)} without enough load or peers, health unknown: {names}")
