"""``plumbline publish``: look for suspects, and write what check_path says of each service."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.cli.runs import add_runs, asked_runs
from plumbline.errors import DocumentError, StoreError, UsageError
from plumbline.store.paths import PATHS
from plumbline.store.places import HISTORY, PLAN
from plumbline.units import parse_duration

if TYPE_CHECKING:
    from plumbline.model.standing import Standing
    from plumbline.model.verdict import Verdict

STALE = "1 h"
NOTIFIED_AFTER = "30 min"


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "publish",
        help="look for suspects and write what check_path says",
        description="Name the components that explain what is slow, as plumbline locate does, and "
        "write for each file system and each shared component what check_path is to say.",
    )
    parser.add_argument("--plan", metavar="FILE", default=PLAN, help="default %(default)s")
    parser.add_argument("--history", metavar="FILE", default=HISTORY, help="default %(default)s")
    parser.add_argument("--to", metavar="FILE", default=PATHS, help="default %(default)s")
    parser.add_argument(
        "--stale",
        metavar="TIME",
        default=STALE,
        help="how long it holds, such as 90m; default %(default)s",
    )
    parser.add_argument(
        "--notified-after",
        metavar="TIME",
        default=NOTIFIED_AFTER,
        help="how long a component has been in alarm when its notification is out; a suspect that "
        "comes later is none of its own; default %(default)s",
    )
    add_runs(parser)
    parser.add_argument("--json", action="store_true", help="print the document as well")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the document and return 0, whatever it says."""
    from plumbline.site.judge import judge_services
    from plumbline.site.locate import left_out, locate_site, sentences
    from plumbline.site.paths import Site, explained, path_verdicts
    from plumbline.site.services import in_alarm
    from plumbline.site.standing import Scene, settle
    from plumbline.store.paths import document
    from plumbline.store.plan import load_plan

    runs, stale_after_s = asked_runs(arguments), parse_duration(arguments.stale)
    if stale_after_s <= 0:
        raise UsageError(f"--stale {arguments.stale} is no time; write for example {STALE}")
    notified_after_s = parse_duration(arguments.notified_after)
    plan, now = load_plan(arguments.plan), time.time()
    if not plan.paths:
        raise DocumentError(
            f"plan {plan.path} names no services of check_path; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    found = locate_site(plan, Path(arguments.history), now, runs)
    site = Site(plan.paths, plan.services, plan.parts)
    told = path_verdicts(site, found.located, sentences(plan, found), found.cut_off)
    alarms = in_alarm(judge_services(plan, Path(arguments.history), now), plan.services)
    by = explained(site, found.located)
    scene = Scene(plan.paths, plan.services, alarms, by, now, notified_after_s)
    verdicts, standing = settle(scene, told, _standing(arguments.to))
    made = document(verdicts, now, stale_after_s, standing)
    _write(Path(arguments.to), made)
    for remark in left_out(found.said):
        print(f"plumbline: {remark}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(made, allow_nan=False))
    else:
        _print(verdicts)
    return 0


def _standing(path: str) -> Standing:
    """Return what stood before; where that cannot be read, each alarm is a first one."""
    from plumbline.model.standing import NOTHING
    from plumbline.store.paths import load_standing

    try:
        return load_standing(path)
    except DocumentError as error:
        print(f"plumbline: {error}; earlier alarms are not known", file=sys.stderr)
        return NOTHING


def _write(path: Path, made: dict[str, Any]) -> None:
    from plumbline.store.replacing import replace

    try:
        replace(path, json.dumps(made, allow_nan=False, separators=(",", ":")))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {os.strerror(error.errno or 0)}; see that {path.parent} is "
            "there, has space and belongs to you"
        ) from error


def _print(verdicts: dict[str, Verdict]) -> None:
    from plumbline.model.state import State
    from plumbline.output.table import render

    odd = [one for one in verdicts.values() if one.state is not State.OK]
    if odd:
        print(
            render(
                ("state", "service", "suspects"),
                [(one.state.name, one.component, one.sentence) for one in odd],
            )
        )
    print(f"{len(verdicts)} services, {len(odd)} of them not OK")
