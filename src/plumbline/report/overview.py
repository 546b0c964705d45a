"""The first screen: what is wrong, since when, how sure, and what to do next.

It is a list of rows.  Each kind of row has a function here, and its place in ``Kind``.
"""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.locate.sentences import advice, headline, listed, sentence
from plumbline.locate.suspects import AmbiguitySet
from plumbline.model.layers import LAYERS
from plumbline.model.names import anchor, group_anchor
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.report.marks import Mark, marks
from plumbline.report.site import Member, Metric, Metrics, Site, middle
from plumbline.report.suspects import Found
from plumbline.report.symptoms import Explaining, begun

_LOW = 0.95
"""Of its reference: a component above it has lost nothing that could have a beginning."""

_GOOD_DAYS = 2
"""In a row that end a loss, looking back; a single one may be luck."""

_MOST_NAMED = 5
_EPOCH = date(1970, 1, 1).toordinal()


class Since(NamedTuple):
    """The first low day, and the last one before it that was measured, if any; in epoch days."""

    day: int
    before: Optional[int]

    def text(self, marks: Sequence[Mark]) -> str:
        """Return e.g. ``2026-11-16 (client 2.3.0 -> 2.4.0)``, with what happened in between."""
        text = date.fromordinal(_EPOCH + self.day).isoformat()
        if self.before is None:
            return f"{text} or earlier"
        begin, end = self.before * DAY_S, (self.day + 1) * DAY_S
        happened = [mark.text for mark in marks if begin <= mark.at < end]
        more = len(happened) - _MOST_NAMED
        named = "; ".join(happened[:_MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
        return f"{text} ({named})" if happened else text


class Beginnings:
    """Finds since when components of a site have been low."""

    def __init__(self, metrics: Metrics) -> None:
        self._members: dict[tuple[str, str], list[tuple[Metric, Member]]] = {}
        self._groups: dict[tuple[Metric, str], list[Member]] = {}
        self._peers: dict[tuple[Metric, str], Mapping[int, float]] = {}
        for of, members in metrics.items():
            for member in members:
                self._members.setdefault((of.layer, member.name), []).append((of, member))
                self._groups.setdefault((of, member.of.group), []).append(member)

    def find(self, layer: str, component: str) -> Optional[Since]:
        """Return since when a component has been low, by the operation that has lost most.

        None where it is not low against its baseline or, without one, against its group.
        """
        courses = [
            self._ratios(of, member) for of, member in self._members.get((layer, component), ())
        ]
        known = [ratios for ratios in courses if ratios]
        if not known:
            return None
        return _streak(min(known, key=lambda ratios: ratios[max(ratios)]))

    def _ratios(self, metric: Metric, member: Member) -> Mapping[int, float]:
        """Return rate / reference of each day that has both."""
        if member.baseline_Bps:
            return {day: rate / member.baseline_Bps for day, rate in member.days.items()}
        peers = self._group(metric, member.of.group)
        return {day: rate / peers[day] for day, rate in member.days.items() if peers.get(day)}

    def _group(self, metric: Metric, group: str) -> Mapping[int, float]:
        """Return the median of a group on each day on which two members were measured."""
        if (metric, group) not in self._peers:
            days: dict[int, list[float]] = {}
            for member in self._groups[metric, group]:
                for day, rate in member.days.items():
                    days.setdefault(day, []).append(rate)
            self._peers[metric, group] = {
                day: value
                for day, rates in days.items()
                if len(rates) > 1 and (value := middle(rates))
            }
        return self._peers[metric, group]


def _streak(ratios: Mapping[int, float]) -> Optional[Since]:
    """Return the first of the days up to now that lost half of today's loss or more."""
    days = sorted(ratios, reverse=True)
    if ratios[days[0]] >= _LOW:
        return None
    level = (1 + ratios[days[0]]) / 2
    first, good = days[0], 0
    for day in days:
        if ratios[day] < level:
            first, good = day, 0
        else:
            good += 1
        if good == _GOOD_DAYS:
            break
    return Since(first, max((day for day in days if day < first), default=None))


RANK = (State.CRITICAL, State.UNKNOWN, State.WARNING, State.OK)
"""States, the worst first."""

_ALONE = 3
"""Components of one node and layer that were not judged and have a row each; more share one."""

_MOST_NODES = 5
"""Nodes that have rows of their own for what was not judged; more share one for each layer."""

_NEXT = " Next: "
_ASK = "ansible-playbook playbooks/debug_slow_storage.yml"


class Kind(str, Enum):
    """What a row is about, in the order of the page."""

    SUSPECT = "suspect"
    GROUP = "group"
    ALARM = "alarm"
    SYMPTOM = "symptom"
    UNMEASURED = "not judged"
    EXPLAINED = "behind a suspect"
    WATCHED = "watched"


class Entry(NamedTuple):
    """One row; ``since`` and ``next`` are empty where nothing is known.

    ``sentence`` has the figures and how sure they are; ``anchor`` is a place in the page.
    """

    kind: Kind
    component: str
    state: State
    since: str
    sentence: str
    next: str
    anchor: str


class _Known(NamedTuple):
    """What all kinds of rows are made from; ``behind`` names the suspects of a component.

    ``hosts`` are by layer and component the one that has it and the one that measures it.
    """

    site: Site
    found: Optional[Found]
    behind: Mapping[tuple[str, str], str]
    beginnings: Beginnings
    marks: Sequence[Mark]
    hosts: Mapping[tuple[str, str], tuple[str, ...]]


def overview(site: Site, metrics: Metrics, found: Optional[Found]) -> list[Entry]:
    """Return all rows, the worst of each kind first; none where nothing is wrong."""
    behind = dict(_behind(found)) if found else {}
    hosts = {
        (expectation.layer, expectation.component): (
            expectation.host,
            site.nodes.get((expectation.layer, expectation.component), ""),
        )
        for expectation in site.expectations
    }
    known = _Known(site, found, behind, Beginnings(metrics), marks(site), hosts)
    rows = [*_suspects(known), *_groups(known), *_alarms(known), *_symptoms(known)]
    rows += [*_unmeasured(known), *_watched(known)]
    kinds = list(Kind)
    # rows of one kind and state keep their order: suspects begin with what explains most
    return sorted(rows, key=lambda row: (kinds.index(row.kind), RANK.index(row.state)))


def _behind(found: Found) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield layer and component of what suspects explain, with their names."""
    for ambiguity_set in found.located.sets:
        for index in ambiguity_set.explains:
            of = found.located.observations[index].of
            yield (of.layer, of.component), _names(ambiguity_set)


def _names(ambiguity: AmbiguitySet) -> str:
    return listed([" and ".join(one) for one in headline(ambiguity)], " or ")


def _suspects(known: _Known) -> Iterator[Entry]:
    """Yield what explains slow measurements, and the measurement or remedy that comes next."""
    if known.found is None:
        return
    located, parts = known.found.located, known.site.parts
    for ambiguity_set, probe in zip(located.sets, known.found.probes):
        slow = [located.observations[index].of for index in ambiguity_set.explains]
        places = dict.fromkeys((of.layer, of.component) for of in slow)
        said = sentence(located, ambiguity_set, parts, probe) + advice(ambiguity_set, parts)
        text, _, following = said.partition(_NEXT)
        yield Entry(
            Kind.SUSPECT,
            _names(ambiguity_set),
            located.state(ambiguity_set),
            _earliest(known, places),
            text,
            following,
            "suspects",
        )


def _earliest(known: _Known, places: Mapping[tuple[str, str], object]) -> str:
    """Return since when the first of some components has been low, empty where none is."""
    found = [since for place in places if (since := known.beginnings.find(*place))]
    return _text(known, min(found, key=lambda since: since.day), places) if found else ""


def _mostly(known: _Known, places: Iterable[tuple[str, str]]) -> Optional[Since]:
    """Return since when most of those are low that are: one may have been so for long."""
    found = [since for place in places if (since := known.beginnings.find(*place))]
    return sorted(found, key=lambda since: since.day)[len(found) // 2] if found else None


def _groups(known: _Known) -> Iterator[Entry]:
    """Yield groups that are low as a whole, which their members' verdicts excuse."""
    for (layer, name), verdict in sorted(known.site.groups.items()):
        # a file system whose targets are driven at once has a row as a component
        if verdict.state in (State.CRITICAL, State.WARNING) and not LAYERS[layer].whole:
            members = {
                (expectation.layer, expectation.component): None
                for expectation in known.site.expectations
                if (expectation.layer, expectation.group) == (layer, name)
            }
            since = _mostly(known, members)
            following = "see in #change what happened on that day"
            if since:
                begun = since.text(()).partition(" ")[0]
                following += f"; draw it with plumbline report --against {begun}"
            yield Entry(
                Kind.GROUP,
                f"{layer} {name}",
                verdict.state,
                _text(known, since, members) if since else "",
                verdict.sentence,
                following,
                group_anchor(layer, name),
            )


def _alarms(known: _Known) -> Iterator[Entry]:
    """Yield what is WARNING or CRITICAL; behind a suspect it is no trouble of its own."""
    for (layer, name), verdict in sorted(known.site.verdicts.items()):
        if verdict.state in (State.CRITICAL, State.WARNING):
            suspect = known.behind.get((layer, name))
            following = f"see suspect {suspect}" if suspect else f"measure again: {_ASK}"
            if not suspect and not LAYERS[layer].whole:
                following += f" -e target={name}"
            kind = Kind.EXPLAINED if suspect else Kind.ALARM
            yield _entry(kind, verdict, _since(known, verdict), following)


def _symptoms(known: _Known) -> Iterator[Entry]:
    """Yield the kinds of hosts that have an alarm; those of a suspect are behind it."""
    explaining = Explaining(known.site, known.found)
    for one in known.site.looks:
        if one.verdict.state.alarm:
            first = explaining.find(one.symptoms[0].component)
            kind = Kind.EXPLAINED if first.suspect else Kind.SYMPTOM
            since = begun(one)
            text = moment(since) if since is not None else ""
            following = f"see {first.text}"
            if not first.suspect:
                following = f"on {one.host}: plumbline symptoms; may explain: {first.text}"
            yield _entry(kind, one.verdict, text, following)


def _watched(known: _Known) -> Iterator[Entry]:
    """Yield what was low in its last run, or may be, and is no alarm yet."""
    every = {(one.layer, one.component): one for one in known.site.groups.values()}
    for (layer, name), verdict in sorted(every.items()):
        if verdict.reason is Reason.WATCHED:
            entry = _entry(Kind.WATCHED, verdict, "", "the next runs decide")
            yield entry._replace(anchor=group_anchor(layer, name))
    for _, verdict in sorted(known.site.verdicts.items()):
        if verdict.reason is Reason.WATCHED:
            yield _entry(Kind.WATCHED, verdict, _since(known, verdict), "the next runs decide")


def _since(known: _Known, verdict: Verdict) -> str:
    found = known.beginnings.find(verdict.layer, verdict.component)
    return _text(known, found, [(verdict.layer, verdict.component)]) if found else ""


def _text(known: _Known, since: Since, places: Iterable[tuple[str, str]]) -> str:
    """Return since when components have been low, with what happened there on that day."""
    hosts = {host for place in places for host in known.hosts.get(place, ())}
    return since.text([mark for mark in known.marks if mark.concerns(hosts)])


def _entry(kind: Kind, verdict: Verdict, since: str, following: str) -> Entry:
    return Entry(
        kind,
        f"{verdict.layer} {verdict.component}",
        verdict.state,
        since,
        verdict.sentence,
        following,
        anchor(verdict.layer, verdict.component),
    )


def _unmeasured(known: _Known) -> Iterator[Entry]:
    """Yield what nothing is known about; a node that is silent, or a new layer, is one row."""
    layers: dict[str, dict[str, list[Verdict]]] = {}
    nodes = known.site.nodes
    every = [(nodes.get(place, ""), one) for place, one in sorted(known.site.verdicts.items())]
    every += [(one.host, one.verdict) for one in known.site.looks]
    for node, verdict in every:
        if verdict.state is State.UNKNOWN:
            layers.setdefault(verdict.layer, {}).setdefault(node, []).append(verdict)
    for layer, of_nodes in layers.items():
        if len(of_nodes) > _MOST_NODES:
            found = [verdict for some in of_nodes.values() for verdict in some]
            yield _several(f"{layer} of {len(of_nodes)} nodes", found)
            continue
        for node, verdicts in of_nodes.items():
            if len(verdicts) > _ALONE:
                yield _several(f"{layer} of {node}" if node else layer, verdicts)
            else:
                yield from (_entry(Kind.UNMEASURED, one, "", "") for one in verdicts)


def _several(name: str, verdicts: Sequence[Verdict]) -> Entry:
    """Return one row for many components that were not judged."""
    first = verdicts[0]
    return _entry(Kind.UNMEASURED, first, "", "")._replace(
        component=f"{name}: {len(verdicts)} components", sentence=f"for example {first.sentence}"
    )
