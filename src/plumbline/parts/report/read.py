"""Data of the report on a site: measurements, verdicts, suspects, and symptoms of its hosts.

For an hour of the past the data come from the history and from Prometheus, with the counters of
Lustre and LNet from ``plumbline counters``.  ``rate`` handles counters that restart at 0, and a sum
over hosts follows a target that fails over.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.phrases import date_of, moment
from plumbline.judge.symptoms import by_state
from plumbline.model import metric as counters
from plumbline.model import parts
from plumbline.model.errors import ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import BY_DEPTH, LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.layers.rdma import RDMA
from plumbline.model.limits import Limits
from plumbline.model.names import several
from plumbline.model.record import Record, step_name
from plumbline.model.space import SystemCourse
from plumbline.model.suspects import Suspects
from plumbline.model.trend import ConditionChange
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict, worst
from plumbline.parts.report import moment as charts
from plumbline.parts.report.moment import Line, Past
from plumbline.parts.report.rounds import DAYS, find_rounds
from plumbline.parts.report.site import Look, Site
from plumbline.site.forked import forked
from plumbline.site.kept import KeptJudgement
from plumbline.site.nodes import SiteJudgement
from plumbline.site.prometheus import Curve, Prometheus, Span
from plumbline.site.verdicts import freshness_by_host, judged_looks
from plumbline.store.collection import read_notes
from plumbline.store.facts import LastReport, collected_reports, has_report
from plumbline.store.plan import SitePlan, without_collector
from plumbline.store.recent import MAX_RUNS, PastHistory
from plumbline.store.trends import Pictures

_BY_SECOND = [layer.name for layer in reversed(BY_DEPTH) if not (layer.paired or layer.of_metadata)]
"""Layers whose runs may be drawn second by second: those that move bytes on storage."""


class SiteLooks(NamedTuple):
    """Last looks at the hosts of a site, and the hosts without looks."""

    looks: tuple[Look, ...]
    unseen: tuple[str, ...]


def looks_of(plan: SitePlan, history: Path, now: float) -> SiteLooks:
    """Return the looks at hosts as of ``now``, in seconds since the epoch.

    They include kinds without a service if a collector could look at them.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    freshness = freshness_by_host(plan.services)
    looks: list[Look] = []
    unseen: list[str] = []
    for host, collected in collected_reports(history, plan.nodes, now).items():
        if collected.report or host in freshness or has_report(history, host):
            looks += _looks(host, collected, freshness.get(host, {}))
        else:
            unseen.append(host)
    return SiteLooks(tuple(looks), tuple(unseen))


def _looks(host: str, collected: LastReport, freshness: Mapping[str, float]) -> Iterator[Look]:
    """Yield the look itself, and each kind with a service or a collector that could look."""
    report = collected.report
    for kind, verdict in judged_looks(host, collected, freshness):
        if report:
            own = [look for look in report.looks if look.kind == kind] if kind else []
            certain = verdict.reason in (Reason.SYMPTOM, Reason.FINE)
            symptoms = by_state(symptom for look in own for symptom in look.symptoms)
            yield Look(host, kind, verdict, symptoms if certain else (), report.looked_at)
        elif not kind:
            yield Look(host, "", verdict)


def read_site(plan: SitePlan, path: Path, now: float, days: int) -> Site:
    """Return all data of the report, read and judged at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan or a record is damaged.
    """
    looks = looks_of(plan, path, now)
    judged = KeptJudgement(plan.path, path, now).verdicts(members=True).verdicts
    measured = plan.measured()
    planned = [entry for entries in measured.values() for entry in entries]
    since = now - days * DAY_S
    with Pictures(path, since) as pictures:
        courses = pictures.courses()
        return Site(
            name=plan.site,
            now=now,
            expectations=planned,
            parts=plan.parts,
            verdicts={
                (verdict.layer, verdict.component): verdict
                for verdict in judged
                if not verdict.group
            },
            groups=_group_verdicts(verdict for verdict in judged if verdict.group),
            courses=courses,
            pairs=pictures.pairs(NET.name),
            rails=pictures.pairs(RDMA.name),
            run=pictures.latest_run(_BY_SECOND),
            notes=[note for note in read_notes(path) if note.at >= since],
            changes=pictures.version_changes(),
            conditions=condition_changes(plan, path, since),
            looks=looks.looks,
            unseen=looks.unseen,
            spaces=spaces_of(plan, path, now),
            rounds=find_rounds(courses, planned, plan.parts, now - DAYS * DAY_S),
            last_runs=pictures.last_runs(_used_by_others(planned), now - DAY_S, now),
            nodes={
                (entry.layer, entry.component): name
                for name, entries in measured.items()
                for entry in entries
            },
        )


def _used_by_others(planned: Iterable[Expectation]) -> dict[tuple[str, str], Limits]:
    """Return the limits of what is measured alone and others use as well: targets and devices."""
    return {
        (entry.layer, entry.component): entry.limits
        for entry in planned
        if LAYERS[entry.layer].of_storage and not LAYERS[entry.layer].whole
    }


def condition_changes(plan: SitePlan, history: Path, since: float) -> list[ConditionChange]:
    """Return the changes of conditions on all nodes since an epoch time, as far as known."""
    nothing: list[ConditionChange] = []
    return parts.ask("facts", "condition_changes", nothing, plan, history, since)


def spaces_of(plan: SitePlan, history: Path, now: float) -> list[SystemCourse]:
    """Return the weeks of each file system whose space is read, as far as known."""
    nothing: list[SystemCourse] = []
    return parts.ask("space", "courses", nothing, plan.nodes, history, now)


def find_suspects(plan: str, history: Path, now: float) -> Suspects:
    """Return the suspects of a site, or why nothing can be located.

    A separate process finds them, because a large site takes some 800 MB, which would not be freed
    before the page is drawn.  Call it before this process reads the plan: what it judges is kept
    for ``read_site``.

    Raises:
        DocumentError: the plan or a record is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    if not parts.is_installed("locate"):
        return Suspects(unknown="the part that locates is not installed on this host")
    locate = parts.load("locate", "contract")

    def find(path: str) -> Suspects:
        with without_collector():
            suspects: Suspects = locate.site_suspects(path, history, now)
        return suspects

    (suspects,) = forked(find, [plan], 1)
    return suspects


def _group_verdicts(judged: Iterable[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each group; the worst if several nodes measure it."""
    groups: dict[tuple[str, str], Verdict] = {}
    for verdict in judged:
        other = groups.setdefault((verdict.layer, verdict.component), verdict)
        if worst((verdict.state, other.state)) is not other.state:
            groups[verdict.layer, verdict.component] = verdict
    return groups


STEP_S = 60.0
BEFORE_S = AFTER_S = 1800.0
_WINDOW = "[2m]"
"""Window of a rate, which needs two scrapes."""

_MAX_SERIES = 5
"""Most series of each kind and column, once for the moment and once for the hour."""

_MAX_RECOVERING = 30
_PATIENCE_S = 120.0
"""Time limit of all queries together; the report is drawn without the rest."""


class _Kind(NamedTuple):
    """A kind of chart: the label that names a series, and an expression for each column.

    Placeholders of an expression: ``{by}`` is the grouping, ``{only}`` further matchers of labels,
    ``{range}`` the time.
    """

    name: str
    label: str
    columns: tuple[tuple[charts.Column, str], ...]


def _rate(metric: str, chosen: str) -> str:
    return f"sum{{by}}(rate({metric}{{{{{chosen}{{only}}}}}}{{range}}))"


def _mean(chosen: str) -> str:
    return f"{_rate(counters.SECONDS.name, chosen)} / {_rate(counters.OPERATIONS.name, chosen)}"


_SERVED = 'source="obdfilter"'
# obdfilter counts a write before it is on the disk
_DISK_WRITES = (
    f"histogram_quantile(0.9, sum by (target, le) (rate({counters.DISK_TIME.name}_bucket"
    '{{source="osd-ldiskfs",operation="write"{only}}}{range})))'
)
_KINDS = (
    _Kind(
        "OST",
        "target",
        (
            (charts.READ, _rate(counters.BYTES.name, f'{_SERVED},operation="read"')),
            (charts.WRITE, _rate(counters.BYTES.name, f'{_SERVED},operation="write"')),
            (charts.READ_LATENCY, _mean(f'{_SERVED},operation="read"')),
            (charts.DISK_WRITES, _DISK_WRITES),
        ),
    ),
    _Kind(
        "MDT",
        "target",
        (
            (charts.REQUESTS, _rate(counters.OPERATIONS.name, 'source="mdt"')),
            (charts.LATENCY, _mean('source="mdt"')),
        ),
    ),
    _Kind(
        "router",
        "instance",
        ((charts.MOVED, _rate(counters.LNET_BYTES.name, 'direction="route"')),),
    ),
    _Kind(
        "client",
        "instance",
        (
            (charts.READ, _rate(counters.BYTES.name, 'source="llite",operation="read"')),
            (charts.WRITE, _rate(counters.BYTES.name, 'source="llite",operation="write"')),
        ),
    ),
)
_STORAGE = f'{counters.OPERATIONS.name}{{source=~"obdfilter|mdt"}}'
_UNSETTLED = f'{counters.RECOVERY.name}{{status!~"{"|".join(counters.SETTLED)}"}}'


def look_back(
    prometheus: Prometheus, at: float, now: float, monotonic: Callable[[], float]
) -> Past:
    """Return Prometheus's data of the hour around ``at``, with remarks on missing data.

    ``at`` and ``now`` are in seconds since the epoch, ``monotonic`` returns the seconds of a clock.
    """
    span = Span(at - BEFORE_S, min(at + AFTER_S, now), STEP_S)
    past = Past(at, span.start, span.end)
    queries = _HourQueries(prometheus, at, span, monotonic)
    try:
        for kind in _KINDS:
            past = past._replace(charts=(*past.charts, *queries.charts(kind)))
        past = past._replace(recovering=queries.recovering())
        past = past._replace(remarks=tuple(queries.remarks(past)))
    except ToolError as error:
        past = past._replace(remarks=(*past.remarks, f"{error}; what is missing here is not drawn"))
    return past._replace(remarks=(*past.remarks, *prometheus.warnings))


class _HourQueries:
    """Queries about one hour; each may raise ToolError."""

    def __init__(
        self, prometheus: Prometheus, at: float, span: Span, monotonic: Callable[[], float]
    ) -> None:
        self._prometheus = prometheus
        self._at = at
        self._span = span
        self._moment = Span(at, at, STEP_S)
        self._monotonic = monotonic
        self._end = monotonic() + _PATIENCE_S
        self._hour = f"[{span.end - span.start:.0f}s] @ {span.end:.3f}"

    def charts(self, kind: _Kind) -> Iterator[charts.Chart]:
        names = self._foremost(kind)
        if not names:
            return
        matcher = json.dumps("|".join(map(re.escape, names)), ensure_ascii=False)
        only, by = f",{kind.label}=~{matcher}", f" by ({kind.label}) "
        for column, expression in kind.columns:
            curves = self._over(expression.format(by=by, only=only, range=_WINDOW))
            lines = [
                Line(curve.labels.get(kind.label, ""), curve.points)
                for curve in curves
                if curve.points
            ]
            if lines and column.adds:
                sums = self._over(expression.format(by="", only="", range=_WINDOW))
                lines += _others(lines, sums)
            if lines:
                yield charts.Chart(kind.name, column, tuple(lines))

    def recovering(self) -> tuple[tuple[str, Line], ...]:
        """Return the targets in recovery, with a line for each status."""
        hour = f"sum by (target) (count_over_time({_UNSETTLED}{self._hour}))"
        curves = self._over(
            f"max by (target, status) ({_UNSETTLED}) "
            f"and on (target) topk({_MAX_RECOVERING}, {hour})"
        )
        return tuple(
            (curve.labels.get("target", ""), Line(curve.labels.get("status", ""), curve.points))
            for curve in curves
            if curve.points
        )

    def remarks(self, past: Past) -> Iterator[str]:
        """Yield a sentence on each oddity in the counters of this hour."""
        if not past.charts and (reason := self._nothing()):
            yield reason
            return
        drawn = {(chart.kind, chart.column) for chart in past.charts}
        absent = [
            f"{kind.name} {column.name}"
            for kind in _KINDS
            for column, _ in kind.columns
            if (kind.name, column) not in drawn
        ]
        if absent:
            yield f"No figure above 0 in this hour of: {', '.join(absent)}"
        if not self._holds(counters.RECOVERY.name):
            yield "No state of recovery is held of this hour"
        counted = f"count by (target) (count_over_time({_STORAGE}{self._hour}))"
        present = f"count by (target) (count_over_time({_STORAGE}{_WINDOW}))"
        resets = f"sum by (target) (resets({_STORAGE}{self._hour})) > 0"
        servers = f"count by (target, instance) (count_over_time({_STORAGE}{self._hour}))"
        for expression, words in (
            (f"{counted} unless {present}", "Not counted at this moment, though in this hour"),
            (resets, "Counters began at 0 again in this hour (cleared, or the server restarted)"),
            (
                f"count by (target) ({servers}) > 1",
                "Counted by several servers in this hour (failed over)",
            ),
        ):
            names = sorted(self._now(expression, "target"))
            if names:
                yield f"{words}: {several(names)}"

    def _foremost(self, kind: _Kind) -> list[str]:
        """Return the names of the largest series by each column, at the moment or over the hour."""
        names: dict[str, None] = {}
        for _, expression in kind.columns:
            for range_ in (_WINDOW, self._hour):
                query = expression.format(by=f" by ({kind.label}) ", only="", range=range_)
                names.update(
                    dict.fromkeys(self._now(f"topk({_MAX_SERIES}, {query} > 0)", kind.label))
                )
        return list(names)

    def _nothing(self) -> str:
        """Return the reason why there are no data, with a remedy; empty if nothing has moved."""
        if self._holds(counters.LOOKED.name):
            return ""
        url, hour = self._prometheus.url, f"the hour around {moment(self._at)}"
        metrics = self._now('topk(1, count by (__name__) ({__name__=~"lustre_.+"}))', "__name__")
        if metrics:
            return (
                f"{url} holds counters of another exporter ({metrics[0]}), whose names are not "
                "known here; deploy plumbline counters beside it"
            )
        return (
            f"{url} holds no counters of {hour}; see how long it keeps them, and docs/counters.md"
        )

    def _holds(self, metric: str) -> bool:
        expression = f"count(count_over_time({metric}{self._hour}))"
        return any(curve.points for curve in self._query(expression, self._moment))

    def _now(self, expression: str, label: str) -> list[str]:
        """Return the values of a label in the result of an expression at the moment."""
        curves = self._query(expression, self._moment)
        return [name for curve in curves if curve.points and (name := curve.labels.get(label, ""))]

    def _over(self, expression: str) -> Sequence[Curve]:
        return self._query(expression, self._span)

    def _query(self, expression: str, span: Span) -> Sequence[Curve]:
        if self._monotonic() > self._end:
            raise ToolError(f"{self._prometheus.url} took more than {_PATIENCE_S:.0f} s to answer")
        return self._prometheus.over(expression, span)


def _others(lines: Sequence[Line], curves: Sequence[Curve]) -> Iterator[Line]:
    """Yield the sum of all series that have no line, if above zero."""
    drawn: dict[float, float] = {}
    for line in lines:
        for at, value in line.points:
            drawn[at] = drawn.get(at, 0.0) + value
    for total in curves:
        points = tuple((at, max(0.0, value - drawn.get(at, 0.0))) for at, value in total.points)
        # differences between sums of the same numbers in another order are rounding errors
        if any(rest > 1e-6 * value for (_, rest), (_, value) in zip(points, total.points)):
            yield Line(charts.OTHERS, points)


_Place = tuple[str, str]
"""Layer and component."""


def probed(plan: SitePlan, history: Path, past: Past, thinned_until: str) -> charts.Probed:
    """Return the measurements of a past time with their verdicts.

    ``thinned_until`` is the last day, as ISO date in UTC, with daily figures instead of records;
    empty without any.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    nodes: dict[_Place, str] = {}
    verdicts: dict[_Place, Verdict] = {}
    with PastHistory(history, past.end) as past_history:
        records = past_history.since(past.begin)
        places = {(record.layer, record.component) for record in records}
        site = SiteJudgement(plan, past_history, past.end)
        for name, measured in site.nodes.items():
            chosen = [entry for entry in measured if (entry.layer, entry.component) in places]
            for entry, verdict in zip(chosen, site.judging(name).components(chosen)):
                place = entry.layer, entry.component
                nodes[place], verdicts[place] = name, verdict
    runs = [_run(record, nodes, verdicts) for record in records]
    return charts.Probed(runs, _remark(past, runs, thinned_until))


def _run(
    record: Record, nodes: dict[_Place, str], verdicts: dict[_Place, Verdict]
) -> charts.PastRun:
    place = record.layer, record.component
    step = step_name(record.operation.value, record.scenario.value)
    verdict = verdicts.get(place)
    return charts.PastRun(
        *place,
        f"{step} with {record.partner}" if record.partner else step,
        nodes.get(place, ""),
        record.started_at,
        record.outcome.value,
        record.rate,
        record.coverage,
        verdict.state if verdict else State.UNKNOWN,
        verdict.sentence if verdict else "not in the plan of today",
        record.operation.quantity,
    )


def _remark(past: Past, runs: list[charts.PastRun], thinned_until: str) -> str:
    if len(runs) == MAX_RUNS:
        return f"The first {MAX_RUNS} of this time are shown."
    if not runs and date_of(past.begin) <= thinned_until:
        return f"up to {thinned_until} a day may be one figure, its runs are not kept any longer"
    return ""
