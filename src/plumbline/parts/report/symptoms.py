"""Symptoms of hardware and kernel of each host, and the measurements they may explain."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment, number
from plumbline.judge.symptoms import state_of
from plumbline.model.names import anchor
from plumbline.model.suspects import Suspects
from plumbline.model.symptom import KINDS, ORDER, Symptom
from plumbline.model.verdict import State
from plumbline.parts.report.figure import (
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    mark,
    name_axis,
    scatter,
    shown,
)
from plumbline.parts.report.site import Look, Site
from plumbline.topology.names import fold

ABOUT = (
    "Signs of faults in hardware and kernel, from the last look at each host (plumbline symptoms): "
    "a row for each host, a column for each kind of its parts. Without a mark, nothing could be "
    "read, which is no sign of health."
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
"""Most hosts in the plot, the worst first; the table has all."""


class Explanation(NamedTuple):
    """Measurements that a symptom may slow, as text, and their place in the page.

    ``suspect`` is True if the component is a suspect.
    """

    text: str
    anchor: str = ""
    suspect: bool = False


class Explanations:
    """Finds the suspects or measurements that symptoms explain."""

    def __init__(self, site: Site, suspects: Suspects) -> None:
        """Index the suspects, and the measurements by crossed component."""
        self._suspects = suspects.names
        self._crossing: dict[str, list[tuple[State, str, str]]] = {}
        for expectation in site.expectations:
            measurement = (
                site.state(expectation.layer, expectation.component),
                expectation.layer,
                expectation.component,
            )
            for name in {expectation.component, *expectation.path}:
                self._crossing.setdefault(name, []).append(measurement)

    def find(self, component: str) -> Explanation:
        """Return the suspect or the worst measurement explained by a symptom of a component."""
        if component in self._suspects:
            return Explanation(f"suspect {component}", "suspects", suspect=True)
        crossing = self._crossing.get(component, [])
        if not crossing:
            return Explanation("nothing that is measured")
        state, layer, name = min(crossing, key=lambda measurement: ORDER.index(measurement[0]))
        if not state.alarm:
            text = f"no alarm: {number(len(crossing), 'measured component')} there"
            return Explanation(text, anchor(layer, name))
        others = sum(measurement[0].alarm for measurement in crossing) - 1
        suffix = f" and {others} more" if others else ""
        return Explanation(f"{layer} {name} {state.name}{suffix}", anchor(layer, name))


def symptoms_figure(site: Site, suspects: Suspects) -> Figure:
    """Return the figure: a plot of hosts and kinds, and a table of every symptom."""
    figure = Figure("symptoms", "Symptoms", ABOUT)
    if not site.looks:
        return figure._replace(absent=_ABSENT)
    looks = sorted(site.looks, key=lambda look: ORDER.index(look.verdict.state))
    explanations = Explanations(site, suspects)
    if any(look.kind for look in looks):
        figure = figure._replace(plots=[_plot(looks)])
    else:
        figure = figure._replace(absent="no host has a look that can be read; the table says why")
    return figure._replace(
        finding=_finding(site),
        table=Table(HEADERS, [row for look in looks for row in _rows(look, explanations)]),
        numbers=[NUMBERS, *(line for look in looks for line in _numbers(look))],
    )


def begun(look: Look) -> Optional[float]:
    """Return the begin of its earliest alarm, in seconds since the epoch, None if unknown."""
    return min(
        (
            symptom.since
            for symptom in look.symptoms
            if state_of(symptom).alarm and symptom.since is not None
        ),
        default=None,
    )


def _finding(site: Site) -> str:
    hosts = {look.host for look in site.looks}
    states = [look.verdict.state for look in site.looks]
    words = [f"{states.count(state)} {state.name}" for state in ORDER[:-1] if state in states]
    passing = sum(not state_of(symptom).alarm for look in site.looks for symptom in look.symptoms)
    text = f"{number(len(hosts), 'host')}: {', '.join(words) or 'no symptom is an alarm'}."
    if passing:
        text += f" {number(passing, 'symptom')} besides will pass, or raise no suspicion."
    if site.unseen:
        text += f" No symptoms are read on {number(len(site.unseen), 'host')}: {fold(site.unseen)}."
    return text


def _plot(looks: Sequence[Look]) -> Plot:
    """Return a plot of hosts by kinds, the worst states at the top."""
    hosts = list(dict.fromkeys(look.host for look in looks))
    drawn = {host: place for place, host in enumerate(hosts[:_DRAWN])}
    by_state: dict[State, list[Look]] = {}
    for look in looks:
        if look.kind and look.host in drawn:
            by_state.setdefault(look.verdict.state, []).append(look)
    layout = {
        "xaxis": name_axis(KINDS),
        "yaxis": name_axis(list(drawn), downwards=True),
        "showlegend": True,
    }
    more = f", the worst {len(drawn)} of {len(hosts)}" if len(hosts) > len(drawn) else ""
    traces = [_trace(state, by_state[state], drawn) for state in ORDER if state in by_state]
    return Plot(f"hosts and kinds of parts{more}", traces, layout, 150 + 26 * len(drawn))


def _trace(state: State, looks: Sequence[Look], places: Mapping[str, int]) -> dict[str, Any]:
    return scatter(
        "markers",
        state.name,
        f"%{{text}} {state.name}<br>%{{customdata}}",
        x=[KINDS.index(look.kind) for look in looks],
        y=[places[look.host] for look in looks],
        text=[shown(look.verdict.component) for look in looks],
        customdata=[shown(_first(look)) for look in looks],
        marker=mark(state),
    )


def _first(look: Look) -> str:
    """Return the most severe symptom without its host, or the verdict if there is none."""
    return look.symptoms[0].sentence if look.symptoms else look.verdict.sentence


def _rows(look: Look, explanations: Explanations) -> Iterator[Row]:
    """Yield a row for each symptom, or one row with the verdict."""
    verdict, kind = look.verdict, look.kind or "the look"
    place = anchor(verdict.layer, verdict.component)
    for symptom in look.symptoms:
        explained = explanations.find(symptom.component)
        state = state_of(symptom).name
        cells = (look.host, kind, state, _since(symptom, look), symptom.component, _text(symptom))
        yield Row((*cells, explained.text), place, explained.anchor)
        place = ""
    if not look.symptoms:
        text = verdict.sentence.removeprefix(f"{verdict.component}: ")
        yield Row((look.host, kind, verdict.state.name, "", "", text, ""), place)


def _since(symptom: Symptom, look: Look) -> str:
    """Return the begin of a symptom, or the time of the last look that saw it."""
    if symptom.since is not None:
        return moment(symptom.since)
    return f"seen {moment(look.at)}" if look.at is not None else ""


def _text(symptom: Symptom) -> str:
    lowers = "" if state_of(symptom).alarm else " (no suspicion)"
    return f"{symptom.sentence}{lowers}"


def _numbers(look: Look) -> Iterator[Sequence[Cell]]:
    common = (look.host, look.kind, look.verdict.state.name)
    for symptom in look.symptoms:
        facts = (
            symptom.component,
            symptom.kind,
            symptom.severity.name,
            symptom.direction.value,
            symptom.collector,
        )
        yield (*common, symptom.since, look.at, *facts, symptom.sentence)
    if not look.symptoms:
        yield (*common, None, look.at, "", "", "", "", "", look.verdict.sentence)
