"""``plumbline report``: draw a whole site as plain files that open from disk."""

from __future__ import annotations

import argparse
import json
import time
from datetime import timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Optional

from plumbline.cli.runs import add_runs, asked_runs
from plumbline.errors import DocumentError, StoreError, ToolError, UsageError
from plumbline.model.state import worst
from plumbline.store.places import HISTORY, PLAN
from plumbline.units import DAY_S

if TYPE_CHECKING:
    from plumbline.model.verdict import Verdict
    from plumbline.profile.calls import Profile
    from plumbline.report.drawing import Extras
    from plumbline.report.site import Site
    from plumbline.report.suspects import Found
    from plumbline.store.plan import SitePlan

DIRECTORY = "plumbline-report"
DAYS = 365
_MOST_DAYS = 4000
_INSTALL = "install both with: pip install 'plumbline[console]'"
_LIBRARY_FILE = "plotly.min.js"


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "report",
        help="draw a whole site as pages that open from disk",
        description="Draw what a site should give, gives and gave, from its plan and the history "
        "of all its nodes.  The page needs no network and no server.",
    )
    parser.add_argument("--plan", metavar="FILE", default=PLAN, help="default %(default)s")
    parser.add_argument("--history", metavar="FILE", default=HISTORY, help="default %(default)s")
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=DIRECTORY, help="default %(default)s"
    )
    parser.add_argument(
        "--days", metavar="N", type=int, default=DAYS, help="how far back, default %(default)s"
    )
    parser.add_argument(
        "--against",
        metavar="DATE",
        help="compare with the two weeks before this day, e.g. 2026-11-20; default: the latest "
        "note or change of version that was measured since, or a month ago",
    )
    parser.add_argument(
        "--profile", metavar="FILE", help="draw the calls that plumbline probe fs --profile kept"
    )
    parser.add_argument(
        "--library",
        metavar="FILE",
        help="Plotly's plotly.min.js; default: that of the Python package",
    )
    add_runs(parser)
    parser.add_argument("--json", action="store_true", help="print what was drawn for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the report and return 0, whatever it shows."""
    if not 1 <= arguments.days <= _MOST_DAYS:
        raise UsageError(f"--days {arguments.days}: write a number from 1 to {_MOST_DAYS}")
    library = _library(arguments.library)
    from plumbline.report.drawing import figures
    from plumbline.report.overview import overview
    from plumbline.report.page import LIBRARY, PAGE, pages
    from plumbline.report.site import find_cohorts
    from plumbline.site.garbage import without_collector
    from plumbline.store.plan import load_plan

    plan, now = load_plan(arguments.plan), time.time()
    with without_collector():
        site = read_site(plan, Path(arguments.history), now, arguments.days)
        cohorts, extras = find_cohorts(site), _extras(arguments, plan, now)
        drawn = figures(site, cohorts, extras)
        files = pages(site, drawn, overview(site, cohorts, extras.found))
    directory = Path(arguments.output)
    _write(directory, {**files, LIBRARY: library})
    if arguments.json:
        absent = {one.id: one.absent for one in drawn}
        print(json.dumps({"schema": 1, "page": str(directory / PAGE), "absent": absent}))
    else:
        print(directory / PAGE)
    return 0


def _library(file: Optional[str]) -> str:
    """Return Plotly's own file; raise ToolError when something of the console is missing."""
    path = Path(file) if file else _installed_library()
    if find_spec("jinja2") is None:
        raise ToolError(f"plumbline report needs Jinja2; {_INSTALL}")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"Plotly's library cannot be read: {error}; name plotly.min.js with --library, or "
            f"{_INSTALL}"
        ) from error


def _installed_library() -> Path:
    found = find_spec("plotly")
    if found is None or not found.origin:
        raise ToolError(
            f"plumbline report needs Plotly's library; name plotly.min.js with --library, or "
            f"{_INSTALL}"
        )
    return Path(found.origin).parent / "package_data" / _LIBRARY_FILE


def read_site(plan: SitePlan, path: Path, now: float, days: int) -> Site:
    """Return everything that is drawn, read and judged at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan or a record is damaged.
    """
    from plumbline.report.site import Site
    from plumbline.site.judge import judge_site
    from plumbline.store.course import Pictures
    from plumbline.store.notes import read_notes

    judged = [one.verdict for one in judge_site(plan, path, now, members=True)]
    measured = plan.measured()
    since = now - days * DAY_S
    with Pictures(path, since) as pictures:
        return Site(
            name=next((node.site for node in plan.nodes.values()), "site without nodes"),
            now=now,
            expectations=[each for found in measured.values() for each in found],
            parts=plan.parts,
            verdicts={(one.layer, one.component): one for one in judged if not one.group},
            groups=_groups(one for one in judged if one.group),
            courses=pictures.courses(),
            pairs=pictures.pairs(),
            run=pictures.latest_run(("fs", "ost", "raw")),
            notes=[one for one in read_notes(path) if one.at >= since],
            changes=pictures.version_changes(),
            nodes={
                (each.layer, each.component): name
                for name, found in measured.items()
                for each in found
            },
        )


def _groups(judged: Iterable[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each group, the worst where several nodes measure it."""
    found: dict[tuple[str, str], Verdict] = {}
    for one in judged:
        other = found.setdefault((one.layer, one.component), one)
        if worst((one.state, other.state)) is not other.state:
            found[one.layer, one.component] = one
    return found


def _extras(arguments: argparse.Namespace, plan: SitePlan, now: float) -> Extras:
    from plumbline.report.drawing import Extras

    return Extras(
        _moment(arguments.against), _profile(arguments.profile), _found(plan, arguments, now)
    )


def _moment(against: Optional[str]) -> Optional[float]:
    """Return seconds since the epoch; a day begins at midnight UTC, as those of the pictures do."""
    from plumbline.cli.dates import parse_date

    if against is None:
        return None
    found = parse_date(against, "--against")
    is_day = len(against) == len("2026-11-20")
    return (found.replace(tzinfo=timezone.utc) if is_day else found).timestamp()


def _profile(file: Optional[str]) -> Optional[Profile]:
    from plumbline.profile.calls import unpack

    if file is None:
        return None
    try:
        return unpack(Path(file).read_bytes())
    except OSError as error:
        raise DocumentError(f"call profile {file} cannot be read: {error.strerror}") from error


def _found(plan: SitePlan, arguments: argparse.Namespace, now: float) -> Optional[Found]:
    """Return what explains what is slow; None for a plan that does not say what the parts are."""
    from plumbline.report.suspects import Found
    from plumbline.site.locate import locate_site

    if not plan.parts:
        return None
    found = locate_site(plan, Path(arguments.history), now, asked_runs(arguments))
    return Found(found.located, found.probes)


def _write(directory: Path, files: dict[str, str]) -> None:
    """Replace every file at once, so that whoever reads sees the old one or the new one."""
    from plumbline.store.replacing import replacing

    try:
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as new:
                # a name out of a damaged document may hold half a character
                new.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StoreError(
            f"report {directory} cannot be written: {error.strerror}; see that it is a directory "
            "with space that belongs to you"
        ) from error
