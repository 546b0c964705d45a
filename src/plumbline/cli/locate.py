"""``plumbline locate``: components that explain slow measurements, and the next measurement."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Sequence

from plumbline.cli.options import common, option

if TYPE_CHECKING:
    from plumbline.site.locate import SiteLocated
    from plumbline.store.plan import SitePlan


HELP = "find the components that explain slow measurements; exit code 1 if any"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(parser, "--history FILE", "history of all its nodes", required=True)
    common(parser, "--last-run", "--plan", "--json", "--verbose")


def run(arguments: argparse.Namespace) -> int:
    """Print the suspects and return 1 where something is slow, 3 where nothing could vote."""
    from plumbline.site.jobs import used_meanwhile
    from plumbline.site.locate import locate_site
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    found = locate_site(plan, Path(arguments.history), time.time(), last_run=arguments.last_run)
    jobs = used_meanwhile(plan, Path(arguments.history), found.located)
    if arguments.json:
        document = found.to_json(plan)
        document["remarks"] += jobs
        print(json.dumps(document, indent=1, allow_nan=False))
    else:
        _print(found, plan, arguments.verbose, jobs)
    return found.state


def _print(found: SiteLocated, plan: SitePlan, verbose: bool, jobs: Sequence[str]) -> None:
    from plumbline.doors.table import render
    from plumbline.locate.sentences import HEADERS, remarks, rows, summary
    from plumbline.site.locate import left_out, sentences

    located = found.located
    for ambiguity_set, text in zip(located.sets, sentences(plan, found)):
        print(text)
        if verbose:
            print(f"\n{render(HEADERS, list(rows(located, ambiguity_set)))}\n")
    for loss in found.shared:
        print(loss.sentence)
    for remark in [*found.missed(), *remarks(located, plan.parts), *left_out(found.said), *jobs]:
        print(remark)
    print(summary(located))
