"""Components that explain slow measurements: locate, latency, publish, investigate."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.cli.output import print_json, remark, show
from plumbline.doors.table import render
from plumbline.judge.phrases import several
from plumbline.locate.sentences import HEADERS, remarks, rows, summary
from plumbline.model.errors import UsageError
from plumbline.model.units import parse_duration
from plumbline.model.verdict import State, Verdict
from plumbline.site import investigate as investigating
from plumbline.site import publish as publishing
from plumbline.site.documents import read_records
from plumbline.site.jobs import used_meanwhile
from plumbline.site.latency import SiteLatencies, latencies, site_loads
from plumbline.site.locate import SiteLocated, left_out, locate_site, sentences
from plumbline.site.prometheus import Prometheus, Span
from plumbline.store.facts import keep_site
from plumbline.store.plan import SitePlan, load_plan


def locate(arguments: argparse.Namespace) -> int:
    """Print the suspects and return 1 where something is slow, 3 where nothing could vote."""
    plan = load_plan(arguments.plan)
    suspects = locate_site(plan, Path(arguments.history), time.time(), last_run=arguments.last_run)
    jobs = used_meanwhile(plan, Path(arguments.history), suspects.located)
    document = suspects.to_json(plan)
    document["remarks"] += jobs
    show(arguments, document, _located_lines(suspects, plan, arguments.verbose, jobs), indent=1)
    return suspects.state


def _located_lines(
    suspects: SiteLocated, plan: SitePlan, verbose: bool, jobs: Sequence[str]
) -> Iterator[str]:
    located = suspects.located
    for ambiguity_set, text in zip(located.sets, sentences(plan, suspects)):
        yield text
        if verbose:
            yield f"\n{render(HEADERS, list(rows(located, ambiguity_set)))}\n"
    yield from (loss.sentence for loss in suspects.shared)
    missed, silent = suspects.missed(), left_out(suspects.said)
    yield from (*missed, *remarks(located, plan.parts), *silent, *jobs)
    yield summary(located)


_MOST_WINDOWS = 10_000
"""Prometheus gives 11,000 moments of a series at most (web/api/v1/api.go)."""


def latency(arguments: argparse.Namespace) -> int:
    """Print the suspects; return 1 where there are any, 3 where nothing could be compared.

    With ``--save`` both are no trouble, and 0 is returned.
    """
    window_s, since_s = parse_duration(arguments.window), parse_duration(arguments.since)
    if window_s <= 0 or since_s < 2 * window_s:
        raise UsageError("--since takes at least two times --window, which is above zero")
    if window_s != int(window_s) or since_s > _MOST_WINDOWS * window_s:
        raise UsageError(
            f"--window takes whole seconds, and at most {_MOST_WINDOWS} of it lie in --since, "
            "the most that Prometheus answers"
        )
    _check_history(arguments.save)
    prometheus = Prometheus(arguments.prometheus, arguments.token_file, arguments.ca)
    # windows begin at the same moments whenever somebody asks
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
        "components": [latency.to_json() for latency in site_latencies.known],
        "unknown": list(site_latencies.unknown),
    }
    show(arguments, document, _latency_lines(site_latencies), indent=1)
    if arguments.save:
        keep_site(arguments.save, site_latencies.suspected(), time.time())
        return 0
    return 1 if site_latencies.slow else 0 if site_latencies.known else 3


def _check_history(history: Optional[Path]) -> None:
    """Raise UsageError where ``--save`` names a folder: nobody looks for suspicions beside it."""
    if history is not None and history.is_dir():
        raise UsageError(f"--save {history} is no history; name the file of the console's")


def _latency_lines(latencies: SiteLatencies) -> Iterator[str]:
    for latency in latencies.slow:
        yield latency.sentence
        entry = latency.measured.entry
        call = f"plumbline probe {entry.layer} --component {entry.component}"
        yield f"  Next: on {latency.measured.node}, {call}"
    compared = {component_latency.measured.entry.subject for component_latency in latencies.known}
    suspects = sum(map(len, latencies.suspected().values()))
    yield f"{suspects} suspected of {len(compared)} compared"
    if latencies.unknown:
        names = several(latencies.unknown)
        yield f"{len(latencies.unknown)} without enough load or peers, health unknown: {names}"


def publish(arguments: argparse.Namespace) -> int:
    """Write the document and return 0, whatever it says."""
    stale_after_s = parse_duration(arguments.stale)
    if stale_after_s <= 0:
        raise UsageError(f"--stale {arguments.stale} is no time; write for example 1 h")
    terms = publishing.Terms(stale_after_s, parse_duration(arguments.notified_after))
    plan, now = load_plan(arguments.plan), time.time()
    made = publishing.publish(plan, Path(arguments.history), Path(arguments.to), now, terms)
    remark(*made.remarks)
    show(arguments, made.document, _published_lines(made.verdicts))
    return 0


def _published_lines(verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    odd = [verdict for verdict in verdicts.values() if verdict.state is not State.OK]
    if odd:
        rows = [(verdict.state.name, verdict.component, verdict.sentence) for verdict in odd]
        yield render(("state", "service", "suspects"), rows)
    yield f"{len(verdicts)} services, {len(odd)} of them not OK"


def investigate(arguments: argparse.Namespace) -> int:
    """Print the answer and return 0."""
    plan = load_plan(arguments.plan)
    request = investigating.read_request(arguments.request)
    before = investigating.read_earlier(arguments.snapshots)
    records = read_records(arguments.records)
    answer = investigating.investigate(plan, request, records, before)
    table = [line for rows in answer.evidence for line in render(HEADERS, list(rows)).splitlines()]
    print_json({**answer.document, "table": table})
    return 0
