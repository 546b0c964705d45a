"""``plumbline report`` draws a whole site, ``plumbline compare`` compares two periods of it."""

from __future__ import annotations

import argparse
import time
from datetime import timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Iterable, Iterator, Optional

from plumbline.cli.options import parse_date, parse_moment
from plumbline.cli.output import remark, show
from plumbline.doors.table import render
from plumbline.judge.phrases import moment
from plumbline.model import parts
from plumbline.model.command import lines
from plumbline.model.errors import DocumentError, StoreError, ToolError, UsageError, reason_in
from plumbline.model.names import several
from plumbline.model.profile import Profile, unpack
from plumbline.model.units import DAY_S
from plumbline.observe.given import read_given
from plumbline.parts.report import compare as comparing
from plumbline.parts.report.change import signed
from plumbline.parts.report.compare import Comparison, Period, Test
from plumbline.parts.report.figure import numbers
from plumbline.parts.report.moment import Past
from plumbline.parts.report.overview import overview
from plumbline.parts.report.page import LIBRARY, PAGE, Extras, figures, pages
from plumbline.parts.report.read import find_suspects, look_back, probed, read_site
from plumbline.parts.report.site import find_metrics
from plumbline.site.prometheus import Prometheus
from plumbline.store.plan import load_plan, without_collector
from plumbline.store.replacing import replacing

_MAX_LIBRARY = 32 << 20
"""Six times the size of version 6."""
_MAX_PROFILE = 1 << 30


def report(arguments: argparse.Namespace) -> int:
    """Write the report and return 0."""
    if bool(arguments.at) is not bool(arguments.prometheus):
        raise UsageError("--at and --prometheus belong together: give both, or neither")
    library, now = _library(arguments.library), time.time()
    past = _past(arguments, now) if arguments.at else None
    history, directory = Path(arguments.history), Path(arguments.output)
    # before the plan is read here: see find_suspects
    suspects = find_suspects(arguments.plan, history, now)
    extras = Extras(_moment(arguments.against), _profile(arguments.profile), suspects)
    plan = load_plan(arguments.plan)
    with without_collector():
        site = read_site(plan, history, now, arguments.days)
        metrics = find_metrics(site, extras.against)
        site = site.without_runs()
        if past:
            at_that_time = probed(plan, history, past, site.thinned_until())
            extras = extras._replace(past=past, probed=at_that_time)
        drawn, entries = figures(site, metrics, extras), overview(site, metrics, suspects)
        _write(directory, numbers(drawn))
        # the page of a large site needs the memory of all rates, which are written now
        drawn = [figure.with_numbers_written() for figure in drawn]
        del metrics
        files = pages(site, drawn, entries)
        files[LIBRARY] = library.decode()
        _write(directory, ((name, [text]) for name, text in files.items()))
    page, absent = str(directory / PAGE), {figure.id: figure.absent for figure in drawn}
    show(arguments, {"schema": 1, "page": page, "absent": absent}, [page])
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Print two periods side by side and return 0."""
    history = Path(arguments.history)
    before, after = (
        Period.of([_period(part.strip(), history) for part in text.split(",")])
        for text in (arguments.before, arguments.after)
    )
    compared = comparing.compare(load_plan(arguments.plan), history, before, after)
    if not compared.tests:
        raise UsageError(
            f"nothing was measured both in {before.name} and in {after.name}; choose days or runs "
            "that plumbline history shows"
        )
    document = {
        "schema": 1,
        "before": before,
        "after": after,
        "tests": [{**test._asdict(), **_figures(test)} for test in compared.tests],
        "lost": compared.lost,
        "between": [{"at": at, "text": text} for at, text in compared.between],
    }
    show(arguments, document, _compared(compared))
    return 0


def _figures(test: Test) -> dict[str, object]:
    rates = {"ceiling": test.ceiling, "before": test.before, "after": test.after}
    figures = {
        name: None if rate is None else test.quantity.figure(rate) for name, rate in rates.items()
    }
    return {**figures, "quantity": test.quantity.unit}


def _period(text: str, history: Path) -> Period:
    """Return a day, days as FROM..TO, or a run by its name; days are in UTC."""
    first, _, last = text.partition("..")
    try:
        begin, end = (
            parse_date(day, "a period").replace(tzinfo=timezone.utc).timestamp()
            for day in (first, last or first)
        )
    except UsageError:
        if run := comparing.period_of_run(history, text):
            return run
        raise UsageError(
            f"{text!r} is no day, such as 2026-11-20, no days, such as 2026-11-20..2026-11-27, and "
            "no run of this history; plumbline history shows its runs"
        ) from None
    if end < begin:
        raise UsageError(f"{text!r} ends before it begins")
    return Period(begin, end + DAY_S, text)


_COMPARED = ("test", "measured", "ceiling", "before", "after", "change", "of ceiling")
_MAX_APART = 4


def _compared(compared: Comparison) -> Iterator[str]:
    yield render(_COMPARED, [_row(test) for test in compared.tests])
    for test in compared.tests:
        if test.apart:
            texts = [f"{name} {signed(change)}" for name, change in test.apart]
            yield f"{test.name}, apart from the others: {several(texts, _MAX_APART)}"
    if compared.lost:
        yield f"Measured in only one of the periods: {', '.join(compared.lost)}"
    for at, text in compared.between:
        yield f"{moment(at)}: {text}"


def _row(test: Test) -> tuple[str, ...]:
    shown = test.quantity.format
    return (
        test.name,
        str(test.members),
        "unknown" if test.ceiling is None else shown(test.ceiling),
        shown(test.before),
        shown(test.after),
        signed(test.change) + ("" if test.error is None else f" ± {100 * test.error:.0f} %"),
        ""
        if test.ceiling is None
        else f"{test.before / test.ceiling:.0%} -> {test.after / test.ceiling:.0%}",
    )


def _library(file: Optional[str]) -> bytes:
    """Return Plotly's JavaScript, which is half as long as its text in memory.

    Raises:
        ToolError: it is missing, or no text.
    """
    if file:
        path = Path(file)
    elif (package := find_spec("plotly")) and package.origin:
        path = Path(package.origin).parent / "package_data" / "plotly.min.js"
    else:
        raise ToolError(
            f"plumbline report needs Plotly's library; name plotly.min.js with --library, or "
            f"install it: {parts.remedy('report')}"
        )
    try:
        library = read_given(path, _MAX_LIBRARY)
        library.decode()
        return library
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"Plotly's library {path} cannot be read: {reason_in(error)}; name plotly.min.js "
            f"with --library, or install it: {parts.remedy('report')}"
        ) from error


def _past(arguments: argparse.Namespace, now: float) -> Past:
    """Return Prometheus's data of the hour around ``--at``, and print what is missing."""
    at = parse_moment(arguments.at, "--at", now)
    prometheus = Prometheus(arguments.prometheus, arguments.token_file, arguments.ca)
    past = look_back(prometheus, at, now, time.monotonic)
    # target names come from Prometheus and may contain newlines
    remark(*(" ".join(lines(sentence)) for sentence in past.remarks))
    return past


def _moment(against: Optional[str]) -> Optional[float]:
    """Return seconds since the epoch; a day begins at midnight UTC, as in the figures."""
    if against is None:
        return None
    date = parse_date(against, "--against")
    is_day = len(against) == len("2026-11-20")
    return (date.replace(tzinfo=timezone.utc) if is_day else date).timestamp()


def _profile(file: Optional[str]) -> Optional[Profile]:
    if file is None:
        return None
    try:
        return unpack(read_given(file, _MAX_PROFILE))
    except OSError as error:
        raise DocumentError(
            f"call profile {file} cannot be read: {error.strerror}; name the file of --profile"
        ) from error


def _write(directory: Path, files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Replace each file atomically, so that readers see the old or the new one."""
    try:
        for name, text in files:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # a name from a damaged document may have half a character
            with (
                replacing(path, 0o666) as new,
                open(new, "w", encoding="utf-8", errors="replace", closefd=False) as file,
            ):
                file.writelines(text)
    except OSError as error:
        raise StoreError(
            f"report {directory} cannot be written: {error.strerror}; see that it is a directory "
            "with space that belongs to you"
        ) from error
