"""``plumbline publish``: find suspects, and write the verdicts of check_path."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Mapping

from plumbline.cli.options import common, option
from plumbline.model.errors import UsageError
from plumbline.model.units import parse_duration
from plumbline.store.verdicts import PATHS

if TYPE_CHECKING:
    from plumbline.model.verdict import Verdict

STALE = "1 h"
NOTIFIED_AFTER = "30 min"


HELP = "find suspects and write the verdicts of check_path"
DESCRIPTION = """Name the components that explain slow measurements, as plumbline locate does,
and write for each file system and each shared component what check_path is to say."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common(parser, "--site-plan", "--site-history")
    option(parser, "--to FILE", "file for check_path", default=PATHS)
    option(parser, "--stale TIME", "how long the document is valid, such as 90m", default=STALE)
    option(
        parser, "--notified-after TIME", "delay of an alarm's notification", default=NOTIFIED_AFTER
    )
    option(parser, "--json", "print the document as well")


def run(arguments: argparse.Namespace) -> int:
    """Write the document and return 0, whatever it says."""
    from plumbline.site.publish import Terms, publish
    from plumbline.store.plan import load_plan

    stale_after_s = parse_duration(arguments.stale)
    if stale_after_s <= 0:
        raise UsageError(f"--stale {arguments.stale} is no time; write for example {STALE}")
    terms = Terms(stale_after_s, parse_duration(arguments.notified_after))
    plan, now = load_plan(arguments.plan), time.time()
    made = publish(plan, Path(arguments.history), Path(arguments.to), now, terms)
    for remark in made.remarks:
        print(f"plumbline: {remark}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(made.document, allow_nan=False))
    else:
        _print(made.verdicts)
    return 0


def _print(verdicts: Mapping[str, Verdict]) -> None:
    from plumbline.doors.table import render
    from plumbline.model.verdict import State

    odd = [verdict for verdict in verdicts.values() if verdict.state is not State.OK]
    if odd:
        print(
            render(
                ("state", "service", "suspects"),
                [(verdict.state.name, verdict.component, verdict.sentence) for verdict in odd],
            )
        )
    print(f"{len(verdicts)} services, {len(odd)} of them not OK")
