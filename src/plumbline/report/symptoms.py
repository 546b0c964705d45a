"""Symptoms: what hardware and kernel of each host say, and which measurements it may explain."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.judge.symptoms import state_of
from plumbline.model.names import anchor
from plumbline.model.verdict import State
from plumbline.observe.symptom import KINDS, ORDER, Symptom
from plumbline.report.figure import Cell, Figure, Plot, Row, Table, counted, mark, shown
from plumbline.report.site import Looked, Site
from plumbline.report.suspects import Found
from plumbline.topology.names import fold

ABOUT = (
    "What hardware and kernel of each host say about themselves by the last look (plumbline "
    "symptoms): a row for each host, a column for each kind of its parts. Where no mark is, nobody "
    "could look, which is no sign of health."
)
HEADERS = ("host", "kind", "state", "since", "component", "symptom", "may explain")
NUMBERS = (
    *("host", "kind", "state", "since", "looked_at"),
    *("component", "symptom_kind", "severity", "suspicion", "found_by", "symptom"),
)
_ABSENT = (
    "no host was looked at; deploy the role symptoms (symptoms_enabled: true), then run plumbline "
    "collect"
)
_DRAWN = 40
"""Hosts in the picture, the worst first; the table has all."""


class Explained(NamedTuple):
    """What the component of a symptom slows, in words, and the place in the page to see it.

    ``suspect`` says that it is one.
    """

    text: str
    anchor: str = ""
    suspect: bool = False


class Explaining:
    """Finds what symptoms explain: the suspects, and the measurements that cross a component."""

    def __init__(self, site: Site, found: Optional[Found]) -> None:
        """Take what was judged and located."""
        sets = found.located.sets if found else ()
        self._suspects = {
            suspect.name for ambiguity_set in sets for suspect in ambiguity_set.suspects
        }
        self._crossing: dict[str, list[tuple[State, str, str]]] = {}
        for expectation in site.expectations:
            known = (
                site.state(expectation.layer, expectation.component),
                expectation.layer,
                expectation.component,
            )
            for name in {expectation.component, *expectation.path}:
                self._crossing.setdefault(name, []).append(known)

    def find(self, component: str) -> Explained:
        """Return what a component slows, as far as it is known."""
        if component in self._suspects:
            return Explained(f"suspect {component}", "suspects", suspect=True)
        crossing = self._crossing.get(component, [])
        if not crossing:
            return Explained("nothing that is measured")
        state, layer, name = min(crossing, key=lambda known: ORDER.index(known[0]))
        if not state.alarm:
            said = f"no alarm: {counted(len(crossing), 'measured component')} there"
            return Explained(said, anchor(layer, name))
        more = sum(one[0].alarm for one in crossing) - 1
        others = f" and {more} more" if more else ""
        return Explained(f"{layer} {name} {state.name}{others}", anchor(layer, name))


def symptoms_figure(site: Site, found: Optional[Found]) -> Figure:
    """Return the figure: a picture of hosts and kinds, and a table of every symptom."""
    figure = Figure("symptoms", "Symptoms", ABOUT)
    if not site.looks:
        return figure._replace(absent=_ABSENT)
    looks = sorted(site.looks, key=lambda looked: ORDER.index(looked.verdict.state))
    explaining = Explaining(site, found)
    if any(one.kind for one in looks):
        figure = figure._replace(plots=[_plot(looks)])
    else:
        figure = figure._replace(absent="no host has a look that can be read; the table says why")
    return figure._replace(
        finding=_finding(site),
        table=Table(HEADERS, [row for one in looks for row in _rows(one, explaining)]),
        numbers=[NUMBERS, *(line for one in looks for line in _numbers(one))],
    )


def begun(looked: Looked) -> Optional[float]:
    """Return since when the first of its alarms is known, in seconds since the epoch."""
    return min(
        (
            symptom.since
            for symptom in looked.symptoms
            if state_of(symptom).alarm and symptom.since is not None
        ),
        default=None,
    )


def _finding(site: Site) -> str:
    hosts = {one.host for one in site.looks}
    states = [one.verdict.state for one in site.looks]
    words = [f"{states.count(state)} {state.name}" for state in ORDER[:-1] if state in states]
    passing = sum(
        not state_of(symptom).alarm for looked in site.looks for symptom in looked.symptoms
    )
    said = f"{counted(len(hosts), 'host')}: {', '.join(words) or 'no symptom is an alarm'}."
    if passing:
        said += f" {counted(passing, 'symptom')} beside that will pass, or raise no suspicion."
    if site.unseen:
        said += f" Nobody looks at {counted(len(site.unseen), 'host')}: {fold(site.unseen)}."
    return said


def _plot(looks: Sequence[Looked]) -> Plot:
    """Return hosts by kinds, those with the worst states at the top."""
    hosts = list(dict.fromkeys(one.host for one in looks))
    drawn = {host: place for place, host in enumerate(hosts[:_DRAWN])}
    by_state: dict[State, list[Looked]] = {}
    for one in looks:
        if one.kind and one.host in drawn:
            by_state.setdefault(one.verdict.state, []).append(one)
    layout = {
        "xaxis": {
            "tickvals": list(range(len(KINDS))),
            "ticktext": list(KINDS),
            "range": [-0.5, len(KINDS) - 0.5],
            "zeroline": False,
        },
        "yaxis": {
            "tickvals": list(drawn.values()),
            "ticktext": [shown(host) for host in drawn],
            "range": [len(drawn) - 0.5, -0.5],
            "automargin": True,
            "zeroline": False,
        },
        "hovermode": "closest",
        "showlegend": True,
    }
    more = f", the worst {len(drawn)} of {len(hosts)}" if len(hosts) > len(drawn) else ""
    traces = [_trace(state, by_state[state], drawn) for state in ORDER if state in by_state]
    return Plot(f"hosts and kinds of parts{more}", traces, layout, 150 + 26 * len(drawn))


def _trace(state: State, looks: Sequence[Looked], places: Mapping[str, int]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": state.name,
        "x": [KINDS.index(one.kind) for one in looks],
        "y": [places[one.host] for one in looks],
        "text": [shown(one.verdict.component) for one in looks],
        "customdata": [shown(_first(one)) for one in looks],
        "marker": mark(state),
        "hovertemplate": f"%{{text}} {state.name}<br>%{{customdata}}<extra></extra>",
    }


def _first(looked: Looked) -> str:
    """Return the gravest symptom, without its host, or the sentence where there is none."""
    return looked.symptoms[0].sentence if looked.symptoms else looked.verdict.sentence


def _rows(looked: Looked, explaining: Explaining) -> Iterator[Row]:
    """Yield a row for each symptom, else one that says what was looked at."""
    verdict, kind = looked.verdict, looked.kind or "the look"
    place = anchor(verdict.layer, verdict.component)
    for symptom in looked.symptoms:
        explained = explaining.find(symptom.component)
        state = state_of(symptom).name
        cells = (
            looked.host,
            kind,
            state,
            _since(symptom, looked),
            symptom.component,
            _said(symptom),
        )
        yield Row((*cells, explained.text), place, explained.anchor)
        place = ""
    if not looked.symptoms:
        text = verdict.sentence.removeprefix(f"{verdict.component}: ")
        yield Row((looked.host, kind, verdict.state.name, "", "", text, ""), place)


def _since(symptom: Symptom, looked: Looked) -> str:
    """Return since when a symptom is there; it was seen at least by the last look."""
    if symptom.since is not None:
        return moment(symptom.since)
    return f"seen {moment(looked.at)}" if looked.at is not None else ""


def _said(symptom: Symptom) -> str:
    lowers = "" if state_of(symptom).alarm else " (no suspicion)"
    return f"{symptom.sentence}{lowers}"


def _numbers(looked: Looked) -> Iterator[Sequence[Cell]]:
    common = (looked.host, looked.kind, looked.verdict.state.name)
    for symptom in looked.symptoms:
        found = (
            symptom.component,
            symptom.kind,
            symptom.severity.name,
            symptom.direction.value,
            symptom.collector,
        )
        yield (*common, symptom.since, looked.at, *found, symptom.sentence)
    if not looked.symptoms:
        yield (*common, None, looked.at, "", "", "", "", "", looked.verdict.sentence)
