"""``plumbline latency``: devices and OSTs that are slow under the load of users."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from plumbline.cli.options import add_prometheus, common, option, prometheus_of
from plumbline.model.errors import UsageError
from plumbline.model.units import parse_duration

if TYPE_CHECKING:
    from plumbline.site.latency import SiteLatencies

_MOST_WINDOWS = 10_000
"""Prometheus gives 11,000 moments of a series at most (web/api/v1/api.go)."""

DESCRIPTION = """\
Compare the latency of each device and each OST with that of its peers at equal throughput, under
the load that they have anyway, from what Prometheus keeps of node exporter, of plumbline metrics
and of plumbline counters.  Nothing is measured.  A suspicion notifies nobody: it names the probe
that confirms it."""


HELP = "find devices and OSTs that are slow under user load; exit code 1 if any"
EPILOG = "For example: plumbline latency --plan plan.json --prometheus http://console:9090"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_prometheus(parser, required=True)
    option(parser, "--since TIME", "start of the comparison", default="1d")
    option(parser, "--window TIME", "length of a window, at least two scrapes", default="15min")
    option(
        parser,
        "--save HISTORY",
        "keep suspicions beside this history, for nodes to confirm; exit code 0",
        type=Path,
    )
    common(parser, "--plan", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print the suspects; return 1 where there are any, 3 where nothing could be compared.

    With ``--save`` both are no trouble, and 0 is returned.
    """
    from plumbline.site.latency import latencies, site_loads
    from plumbline.site.prometheus import Span
    from plumbline.store.facts import keep_site
    from plumbline.store.plan import load_plan

    window_s, since_s = parse_duration(arguments.window), parse_duration(arguments.since)
    if window_s <= 0 or since_s < 2 * window_s:
        raise UsageError("--since takes at least two times --window, which is above zero")
    if window_s != int(window_s) or since_s > _MOST_WINDOWS * window_s:
        raise UsageError(
            f"--window takes whole seconds, and at most {_MOST_WINDOWS} of it lie in --since, "
            "the most that Prometheus answers"
        )
    _check_history(arguments.save)
    prometheus = prometheus_of(arguments)
    # windows begin at the same moments whenever somebody asks
    end = time.time() // window_s * window_s
    span = Span(end - since_s // window_s * window_s + window_s, end, window_s)
    plan = load_plan(arguments.plan)
    try:
        loads = site_loads(prometheus, span)
    finally:
        for warned in prometheus.warnings:
            print(f"plumbline: {warned}", file=sys.stderr)
    site_latencies = latencies(plan, loads, window_s)
    if arguments.json:
        print(json.dumps(_document(site_latencies), indent=1, allow_nan=False))
    else:
        _print(site_latencies)
    if arguments.save:
        keep_site(arguments.save, site_latencies.suspected(), time.time())
        return 0
    return 1 if site_latencies.slow else 0 if site_latencies.known else 3


def _check_history(history: Optional[Path]) -> None:
    """Raise UsageError where ``--save`` names a folder: nobody looks for suspicions beside it."""
    if history is not None and history.is_dir():
        raise UsageError(f"--save {history} is no history; name the file of the console's")


def _document(latencies: SiteLatencies) -> dict[str, Any]:
    return {
        "schema": 1,
        "components": [latency.to_json() for latency in latencies.known],
        "unknown": list(latencies.unknown),
    }


def _print(latencies: SiteLatencies) -> None:
    from plumbline.judge.phrases import several

    for latency in latencies.slow:
        print(latency.sentence)
        entry = latency.measured.entry
        call = f"plumbline probe {entry.layer} --component {entry.component}"
        print(f"  Next: on {latency.measured.node}, {call}")
    compared = {component_latency.measured.entry.subject for component_latency in latencies.known}
    suspects = sum(map(len, latencies.suspected().values()))
    print(f"{suspects} suspected of {len(compared)} compared")
    if latencies.unknown:
        names = several(latencies.unknown)
        print(f"{len(latencies.unknown)} without enough load or peers, health unknown: {names}")
