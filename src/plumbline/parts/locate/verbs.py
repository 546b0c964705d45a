"""Verbs that locate: locate, publish, investigate."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from plumbline.cli.output import print_json, remark, show
from plumbline.doors.table import render
from plumbline.model.verdict import State, Verdict
from plumbline.parts.locate import investigate as investigating
from plumbline.parts.locate import publish as publishing
from plumbline.parts.locate.sentences import HEADERS, remarks, rows, summary
from plumbline.parts.locate.site import (
    SiteLocated,
    jobs_on_slow_targets,
    left_out,
    locate_site,
    sentences,
)
from plumbline.site.documents import read_records
from plumbline.store.plan import SitePlan, load_plan, without_collector


def locate(arguments: argparse.Namespace) -> int:
    """Print the suspects; return 1 if something is slow, 3 if no measurement can vote."""
    plan = load_plan(arguments.plan)
    suspects = locate_site(plan, Path(arguments.history), time.time(), last_run=arguments.last_run)
    jobs = jobs_on_slow_targets(plan, Path(arguments.history), suspects.located.slow_runs())
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
            yield from ("", render(HEADERS, list(rows(located, ambiguity_set))), "")
    yield from (loss.sentence for loss in suspects.shared)
    missed, silent = suspects.missed(), left_out(suspects.symptoms)
    yield from (*missed, *remarks(located, plan.parts), *silent, *jobs)
    yield summary(located)


def publish(arguments: argparse.Namespace) -> int:
    """Write the document and return 0 for any verdict."""
    terms = publishing.Terms(arguments.stale, arguments.notified_after)
    history, to = Path(arguments.history), Path(arguments.to)
    with without_collector():
        published = publishing.publish(arguments.plan, history, to, time.time(), terms)
    remark(*published.remarks)
    show(arguments, published.document, _published_lines(published.verdicts))
    return 0


def _published_lines(verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    not_ok = [verdict for verdict in verdicts.values() if verdict.state is not State.OK]
    if not_ok:
        rows = [(verdict.state.name, verdict.component, verdict.sentence) for verdict in not_ok]
        yield render(("state", "service", "suspects"), rows)
    yield f"{len(verdicts)} services, {len(not_ok)} of them not OK"


def investigate(arguments: argparse.Namespace) -> int:
    """Print the answer and return 0."""
    plan = load_plan(arguments.plan)
    request = investigating.read_request(arguments.request)
    earlier = investigating.read_earlier(arguments.snapshots, arguments.readings)
    records = read_records(arguments.records)
    answer = investigating.investigate(plan, request, records, earlier)
    table = [line for rows in answer.evidence for line in render(HEADERS, list(rows)).splitlines()]
    print_json({**answer.document, "table": table})
    return 0
