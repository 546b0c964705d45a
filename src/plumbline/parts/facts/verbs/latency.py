"""``plumbline latency``: devices and OSTs that are slow under the load of users."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Iterator, Optional

from plumbline.cli.output import remark, show
from plumbline.model.errors import UsageError
from plumbline.model.names import several
from plumbline.parts.facts.loads import SiteLatencies, latencies, site_loads
from plumbline.site.prometheus import Prometheus, Span
from plumbline.store.facts import save_suspicions
from plumbline.store.plan import load_plan

_MAX_WINDOWS = 10_000
"""Prometheus returns at most 11,000 points of a series (web/api/v1/api.go)."""


def latency(arguments: argparse.Namespace) -> int:
    """Print the suspects; return 1 if there are any, 3 if nothing could be compared.

    With ``--save`` the exit code is always 0.
    """
    window_s, since_s = arguments.window, arguments.since
    if window_s <= 0 or since_s < 2 * window_s:
        raise UsageError("--since takes at least two times --window, which is above zero")
    if window_s != int(window_s) or since_s > _MAX_WINDOWS * window_s:
        raise UsageError(
            f"--window takes whole seconds, and at most {_MAX_WINDOWS} of it lie in --since, "
            "the most that Prometheus answers"
        )
    _check_history(arguments.save)
    prometheus = Prometheus(arguments.prometheus, arguments.token_file, arguments.ca)
    # windows begin at fixed times, independent of the time of the call
    end = time.time() // window_s * window_s
    span = Span(end - since_s // window_s * window_s + window_s, end, window_s)
    plan = load_plan(arguments.plan)
    try:
        loads = site_loads(prometheus, span)
    finally:
        remark(*prometheus.warnings)
    site_latencies = latencies(plan, loads, window_s)
    document = {
        "schema": 1,
        "components": site_latencies.latencies,
        "unknown": site_latencies.unknown,
    }
    show(arguments, document, _latency_lines(site_latencies), indent=1)
    if arguments.save:
        save_suspicions(arguments.save, site_latencies.suspected(), time.time())
        return 0
    return 1 if site_latencies.slow else 0 if site_latencies.latencies else 3


def _check_history(history: Optional[Path]) -> None:
    """Raise UsageError if ``--save`` names a folder: suspicions belong beside a history file."""
    if history is not None and history.is_dir():
        raise UsageError(f"--save {history} is no history; name the file of the console's")


def _latency_lines(latencies: SiteLatencies) -> Iterator[str]:
    for latency in latencies.slow:
        yield latency.sentence
        entry = latency.measured.entry
        call = f"plumbline probe {entry.layer} --component {entry.component}"
        yield f"  Next: on {latency.measured.node}, {call}"
    compared = {latency.measured.entry.subject for latency in latencies.latencies}
    suspects = sum(map(len, latencies.suspected().values()))
    yield f"{suspects} suspected of {len(compared)} compared"
    if latencies.unknown:
        names = several(latencies.unknown)
        yield f"{len(latencies.unknown)} without enough load or peers, health unknown: {names}"
