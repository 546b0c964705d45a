"""``plumbline report``: draw a whole site as plain files that open from disk."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import timezone
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Iterable, Optional

from plumbline.cli.options import add_prometheus, common, option, prometheus_of
from plumbline.model.errors import DocumentError, StoreError, ToolError, UsageError

if TYPE_CHECKING:
    from plumbline.parallel.profile import Profile
    from plumbline.report.moment import Past
    from plumbline.report.page import Extras

DIRECTORY = "plumbline-report"
DAYS = 365
_MOST_DAYS = 4000
_INSTALL = "install both with: pip install 'plumbline[console]'"
_LIBRARY_FILE = "plotly.min.js"
_MOST_LIBRARY = 32 << 20
"""Six times what version 6 has."""


HELP = "draw a whole site as pages that open from disk"
DESCRIPTION = """Draw what a site should give, gives and gave, from its plan and the history of
all its nodes. The page needs no network and no server."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(parser, "-o, --output DIR", "folder to write", default=DIRECTORY)
    option(parser, "--days N", "period", type=int, default=DAYS)
    option(
        parser,
        "--against DATE",
        "compare with the two weeks before this day (default: the last change or note)",
    )
    option(
        parser,
        "--at TIME",
        "add the hour around this moment, such as '2026-11-20 03:12', from --prometheus",
    )
    add_prometheus(parser, required=False)
    option(parser, "--profile FILE", "draw the calls that plumbline probe fs --profile kept")
    option(parser, "--library FILE", "Plotly's plotly.min.js; default: that of the Python package")
    common(parser, "--site-plan", "--site-history", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Write the report and return 0, whatever it shows."""
    if not 1 <= arguments.days <= _MOST_DAYS:
        raise UsageError(f"--days {arguments.days}: write a number from 1 to {_MOST_DAYS}")
    if bool(arguments.at) is not bool(arguments.prometheus):
        raise UsageError("--at and --prometheus belong together: give both, or neither")
    library, now = _library(arguments.library), time.time()
    past = _past(arguments, now) if arguments.at else None
    from plumbline.report.figure import numbers
    from plumbline.report.overview import overview
    from plumbline.report.page import LIBRARY, PAGE, figures, pages
    from plumbline.report.site import find_metrics
    from plumbline.site.moment import probed
    from plumbline.site.nodes import without_collector
    from plumbline.site.report import read_site
    from plumbline.store.plan import load_plan

    extras = _extras(arguments, now)
    plan = load_plan(arguments.plan)
    with without_collector():
        site = read_site(plan, Path(arguments.history), now, arguments.days)
        metrics = find_metrics(site, extras.against)
        site = site.without_runs()
        if past:
            said = probed(plan, Path(arguments.history), past, site.thinned_until())
            extras = extras._replace(past=past, probed=said)
        drawn = figures(site, metrics, extras)
        files = pages(site, drawn, overview(site, metrics, extras.suspects))
        texts = ((name, [text]) for name, text in {**files, LIBRARY: library}.items())
        directory = Path(arguments.output)
        _write(directory, chain(numbers(drawn), texts))
    if arguments.json:
        absent = {figure.id: figure.absent for figure in drawn}
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
        with path.open("rb") as opened:
            # a device or pipe may have no end
            text = opened.read(_MOST_LIBRARY + 1)
        if len(text) > _MOST_LIBRARY:
            raise ToolError(f"{path} is longer than Plotly's library ever was; name plotly.min.js")
        return text.decode("utf-8")
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


def _past(arguments: argparse.Namespace, now: float) -> Past:
    """Return what Prometheus keeps of the hour that was asked for; say what it does not."""
    from plumbline.cli.options import parse_moment
    from plumbline.model.command import lines
    from plumbline.site.moment import look_back

    at = parse_moment(arguments.at, "--at", now)
    past = look_back(prometheus_of(arguments), at, now, time.monotonic)
    for remark in past.remarks:
        # names of targets are what somebody else has told Prometheus
        print(f"plumbline: {' '.join(lines(remark))}", file=sys.stderr)
    return past


def _extras(arguments: argparse.Namespace, now: float) -> Extras:
    from plumbline.report.page import Extras
    from plumbline.site.report import find_suspects

    found = find_suspects(arguments.plan, Path(arguments.history), now)
    return Extras(_moment(arguments.against), _profile(arguments.profile), found)


def _moment(against: Optional[str]) -> Optional[float]:
    """Return seconds since the epoch; a day begins at midnight UTC, as those of the pictures do."""
    from plumbline.cli.options import parse_date

    if against is None:
        return None
    found = parse_date(against, "--against")
    is_day = len(against) == len("2026-11-20")
    return (found.replace(tzinfo=timezone.utc) if is_day else found).timestamp()


def _profile(file: Optional[str]) -> Optional[Profile]:
    from plumbline.parallel.profile import unpack

    if file is None:
        return None
    try:
        return unpack(Path(file).read_bytes())
    except OSError as error:
        raise DocumentError(f"call profile {file} cannot be read: {error.strerror}") from error


def _write(directory: Path, files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Replace every file at once, so that whoever reads sees the old one or the new one."""
    from plumbline.store.replacing import replacing

    try:
        for name, text in files:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as new:
                _fill(new, text)
    except OSError as error:
        raise StoreError(
            f"report {directory} cannot be written: {error.strerror}; see that it is a directory "
            "with space that belongs to you"
        ) from error


def _fill(new: Path, text: Iterable[str]) -> None:
    from plumbline.store.replacing import begin

    # a name out of a damaged document may hold half a character
    with open(begin(new, 0o666), "w", encoding="utf-8", errors="replace") as file:
        file.writelines(text)
