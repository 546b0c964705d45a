"""Rates of targets compared with their peers, surveys, and stragglers of a parallel run."""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, Sequence

from plumbline.doors.table import render
from plumbline.judge.creations import Pair, mdts_and_osts, summary
from plumbline.judge.phrases import moment, odds
from plumbline.measure.targets.mounted import Member
from plumbline.model.evidence import CONFIRMED_ODDS
from plumbline.model.names import several
from plumbline.model.record import Operation, Record
from plumbline.model.units import format_duration, format_rate
from plumbline.model.verdict import Verdict
from plumbline.site.matrix import MatrixResult
from plumbline.site.measure import Result
from plumbline.site.survey import SurveyResult

_MAX_STRAGGLERS = 5
"""Stragglers shown per operation; a run with more has another problem."""

_TILTED = 0.2
_SAGGING = 0.3
_TRAILING = 0.1
"""Share of the time."""
_TRAILING_S = 3

_SURE = 3.0
"""Number of standard errors, from the scatter of single seconds."""


def course_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield a line for each straggler, and for each operation whose rate was not constant."""
    for record in records:
        details = record.details or {}
        if "stragglers" not in details:
            continue
        operation, stragglers = record.operation.value, details["stragglers"]
        for straggler in stragglers[:_MAX_STRAGGLERS]:
            yield f"{operation}: {straggler['sentence']}"
        if len(stragglers) > _MAX_STRAGGLERS:
            more = len(stragglers) - _MAX_STRAGGLERS
            yield f"{operation}: {more} more were late; --json has all of them"
        shape = details.get("shape")
        words = list(_words(shape, len(record.profile))) if shape is not None else []
        if words:
            yield f"{operation} of {record.component}: {', '.join(words)}"


def _words(shape: Mapping[str, Any], seconds: int) -> Iterator[str]:
    body = seconds - shape["tail_s"]
    # standard error of a line's rise over n points with the scatter s: s sqrt(12 / n)
    least_decline = max(_TILTED, _SURE * shape["spread"] * sqrt(12 / body))
    if abs(shape["decline"]) > least_decline:
        verb = "declines" if shape["decline"] > 0 else "rises"
        start, end = format_rate(shape["start_Bps"]), format_rate(shape["end_Bps"])
        yield f"{verb} from {start} to {end}"
    if shape["sag"] > max(_SAGGING, _SURE * shape["spread"]):
        at = format_duration(shape["sag_at_s"])
        yield f"sags by {100 * shape['sag']:.0f} % about {at} after the start"
    if shape["tail_s"] >= max(_TRAILING_S, _TRAILING * seconds):
        yield f"ends in a tail of {format_duration(shape['tail_s'])}"


_OPERATIONS = (Operation.WRITE, Operation.READ, Operation.REREAD)
_HEADERS = ("target", "write", "of others", "read", "of others", "reread", "of others", "state")


def table(result: Result, whole: str) -> list[str]:
    """Return a table of rates and their ratio to the other targets, with verdicts below.

    If there is a verdict on the whole, it is the only one shown.
    """
    states = {verdict.component: verdict.state.name for verdict in result.verdicts}
    names = dict.fromkeys(record.component for record in result.records)
    rows = [
        (name, *_rates(result, name, _OPERATIONS, whole), states.get(name, "")) for name in names
    ]
    judged = [verdict for verdict in result.verdicts if verdict.group] or result.verdicts
    return [render(_HEADERS, rows), *_sentences(judged), *course_lines(result.records)]


def comparison(result: Result, operations: Sequence[Operation]) -> list[str]:
    """Return a table of rates of directories and their ratio to the others, with verdicts below.

    More than two operations do not fit beside one another: each has a row.
    """
    rows = {
        verdict.component: list(_rates(result, verdict.component, operations))
        for verdict in result.verdicts
    }
    states = {verdict.component: verdict.state.name for verdict in result.verdicts}
    if len(operations) > _MAX_BESIDE:
        table = render(
            ("directory", "measured", "", "of peers", "state"),
            [
                (name, operation.value, *row[2 * place : 2 * place + 2], states[name])
                for place, operation in enumerate(operations)
                for name, row in rows.items()
            ],
        )
    else:
        headers = [word for operation in operations for word in (operation.value, "of peers")]
        wide = [(name, *row, states[name]) for name, row in rows.items()]
        table = render(("directory", *headers, "state"), wide)
    return [table, *_sentences(result.verdicts)]


_MAX_BESIDE = 2
"""Operations beside one another in a table of 80 columns."""


def survey(surveyed: SurveyResult) -> list[str]:
    """Return a table of the targets of a mount, the worst first, with verdicts and what to do."""
    result, last = surveyed.result, surveyed.last
    states = {verdict.component: verdict.state.name for verdict in result.verdicts}
    headers = ["target", "server"]
    for operation in surveyed.survey.operations:
        headers += [operation.value, "of peers", *["of last"] * bool(last)]
    rows = [
        (
            member.name,
            member.server,
            *_surveyed_rates(surveyed, member.name),
            _odds_of(surveyed, member.name),
            states[member.name],
        )
        for member in surveyed.members()
    ]
    order = [row[0] for row in rows]
    bad = sorted(
        (verdict for verdict in result.verdicts if not verdict.reason.fine),
        key=lambda verdict: order.index(verdict.component),
    )
    table = render((*headers, "odds", "state"), rows)
    return [table, *_sentences(bad), *_since_last(surveyed), *_next_steps(surveyed)]


def _surveyed_rates(surveyed: SurveyResult, name: str) -> Iterator[str]:
    """Yield for each operation rate, ratio to the peers and, after an earlier survey, to that."""
    operations = surveyed.survey.operations
    pairs = iter(_rates(surveyed.result, name, operations))
    for operation, rate, ratio in zip(operations, pairs, pairs):
        yield from (rate, ratio)
        if surveyed.last:
            now = surveyed.rates.get((name, operation.value))
            before = surveyed.last.get((name, operation.value))
            yield f"{now / before:.0%}" if now and before else ""


def _odds_of(surveyed: SurveyResult, name: str) -> str:
    """Return the odds that a target is slow, empty if they are within chance."""
    logarithm = surveyed.result.odds.get(name, 0.0)
    shown = logarithm >= CONFIRMED_ODDS and name in surveyed.rated
    return f"{odds(logarithm)} to 1" if shown else ""


def _since_last(surveyed: SurveyResult) -> Iterator[str]:
    """Yield a line on what all targets lost or gained together, which no peer can show."""
    shares = []
    for operation in surveyed.survey.operations:
        ratios = [
            rate / surveyed.last[place]
            for place, rate in surveyed.rates.items()
            if place[1] == operation.value and surveyed.last.get(place)
        ]
        if ratios:
            shares.append(f"{operation.value} {median(ratios):.0%}")
    if shares and surveyed.last_at:
        yield f"median of all since {moment(surveyed.last_at)}: {', '.join(shares)}"


_LOOKS = {
    False: ("disks, controller and links", "plumbline symptoms reads them"),
    True: ("users, disks and links", "plumbline stages and plumbline symptoms read them"),
}
"""Parts of a slow target's server and their readers, by whether it holds metadata."""

_COLUMNS = 8
"""OSTs in one table: a terminal has room for no more."""


def creations(result: MatrixResult) -> list[str]:
    """Return tables of milliseconds, MDTs by OSTs, what is wrong, and what was left out."""
    mdts, osts = mdts_and_osts(result.pairs)
    cells = {(pair.mdt, pair.ost): _cell(pair) for pair in result.pairs}
    lines: list[str] = []
    for first in range(0, len(osts), _COLUMNS):
        shown = osts[first : first + _COLUMNS]
        headers = ("ms", *(ost.rpartition("-")[2] for ost in shown))
        lines.append(render(headers, [(mdt, *(cells[mdt, ost] for ost in shown)) for mdt in mdts]))
    lines += (f"{finding.state.name} {finding.sentence}" for finding in result.findings)
    lines += filter(None, [summary(result.pairs, result.findings)])
    if result.untried:
        lines.append(f"{result.untried} of {len(result.pairs)} pairs were not tried")
    return [*lines, *(f"left out: {part.name}: {part.reason}" for part in result.left_out)]


def _cell(pair: Pair) -> str:
    if pair.typical_s is not None:
        return f"{1000 * pair.typical_s:.2f}"
    return "hung" if pair.hung else "failed" if pair.failed else "-"


_CONTROLS = 4
"""Healthy targets to measure with slow ones: with fewer peers a slow one cannot be told."""


def _next_steps(surveyed: SurveyResult) -> Iterator[str]:
    layer = surveyed.survey.layer
    verdicts = {verdict.component: verdict for verdict in surveyed.result.verdicts}
    members = list(surveyed.members())
    alarms = [member for member in members if verdicts[member.name].state.alarm]
    lost = [member for member in alarms if member.name not in surveyed.rated]
    slow = [member for member in alarms if verdicts[member.name].reason.single_run]
    if lost:
        yield (
            f"Next: look at {_places(lost)}: does its server run and serve it, what does the "
            "kernel log say there and here"
        )
    if slow:
        fine = [member for member in members if verdicts[member.name].reason.fine]
        again = surveyed.survey.system.indices([*slow, *fine[-_CONTROLS:]])
        yield (
            "Next: measure again at another hour with healthy ones, to exclude chance and other "
            f"users: plumbline probe {layer.name} --mount {surveyed.survey.folder} --index {again}"
        )
        parts, readers = _LOOKS[layer.of_metadata]
        yield f"Then look at {parts} of {_places(slow)}; there {readers}"


def _places(members: Sequence[Member]) -> str:
    """Return targets with their servers, the first of many."""
    names = [f"{member.name} on {member.server}".removesuffix(" on ") for member in members]
    return several(names)


def _sentences(verdicts: Iterable[Verdict]) -> Iterator[str]:
    return (f"{verdict.state.name} {verdict.sentence}" for verdict in verdicts)


def _rates(
    result: Result, component: str, operations: Sequence[Operation], whole: str = ""
) -> Iterator[str]:
    """Yield the rate of each operation, and its ratio to the median of the other targets."""
    for operation in operations:
        rates = {
            record.component: record.rate
            for record in result.records
            if record.operation is operation and record.rate is not None
        }
        rate = rates.pop(component, None)
        peers = [] if component == whole else [r for name, r in rates.items() if name != whole]
        yield "none" if rate is None else operation.quantity.format(rate)
        yield "" if rate is None or not peers else _ratio(operation, rate, median(peers))


def _ratio(operation: Operation, rate: float, other: float) -> str:
    """Return a rate as a share of another one, a time as a multiple: twice as long is twice as bad.

    Both are rates, of which more is better.
    """
    return f"{other / rate:.1f} x" if operation.quantity.less_is_better else f"{rate / other:.0%}"
