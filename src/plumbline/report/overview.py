"""The first screen: what is wrong, since when, how sure, and what to do next.

It is a list of rows.  Each kind of row has a function here, and its place in ``Kind``.
"""

from __future__ import annotations

from enum import Enum
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.locate.sentences import advice, headline, listed, sentence
from plumbline.locate.suspects import AmbiguitySet
from plumbline.model.layers import LAYERS
from plumbline.model.names import anchor, group_anchor
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.report.figure import iso_day
from plumbline.report.marks import Mark, marks
from plumbline.report.site import Member, Metric, Metrics, Site, middle
from plumbline.report.suspects import Suspects
from plumbline.report.symptoms import Explanations, begun

_LOW = 0.95
"""Share of the reference: above it a component has lost nothing that could have a beginning."""

_GOOD_DAYS = 2
"""In a row that end a loss, looking back; a single one may be luck."""

_MOST_NAMED = 5


class Since(NamedTuple):
    """The first low day, and the last one before it that was measured, if any; in epoch days."""

    day: int
    before: Optional[int]

    def text(self, marks: Sequence[Mark]) -> str:
        """Return e.g. ``2026-11-16 (client 2.3.0 -> 2.4.0)``, with what happened in between."""
        text = iso_day(self.day)
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
        measured = [ratios for ratios in courses if ratios]
        if not measured:
            return None
        return _streak(min(measured, key=lambda ratios: ratios[max(ratios)]))

    def _ratios(self, metric: Metric, member: Member) -> Mapping[int, float]:
        """Return rate / reference of each day that has both."""
        if member.baseline_rate:
            return {day: rate / member.baseline_rate for day, rate in member.days.items()}
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
    """Kinds of rows, in the order of the page."""

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


class _Sources(NamedTuple):
    """Input of all kinds of rows; ``behind`` names the suspects of a component.

    ``hosts`` are by layer and component the one that has it and the one that measures it.
    """

    site: Site
    suspects: Optional[Suspects]
    behind: Mapping[tuple[str, str], str]
    beginnings: Beginnings
    marks: Sequence[Mark]
    hosts: Mapping[tuple[str, str], tuple[str, ...]]


def overview(site: Site, metrics: Metrics, suspects: Optional[Suspects]) -> list[Entry]:
    """Return all rows, the worst of each kind first; none where nothing is wrong."""
    behind = dict(_behind(suspects)) if suspects else {}
    hosts = {
        (expectation.layer, expectation.component): (
            expectation.host,
            site.nodes.get((expectation.layer, expectation.component), ""),
        )
        for expectation in site.expectations
    }
    sources = _Sources(site, suspects, behind, Beginnings(metrics), marks(site), hosts)
    rows = [*_suspects(sources), *_groups(sources), *_alarms(sources), *_symptoms(sources)]
    rows += [*_unmeasured(sources), *_watched(sources)]
    kinds = list(Kind)
    # rows of one kind and state keep their order: suspects begin with what explains most
    return sorted(rows, key=lambda row: (kinds.index(row.kind), RANK.index(row.state)))


def _behind(suspects: Suspects) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield layer and component of what suspects explain, with their names."""
    for ambiguity_set in suspects.located.sets:
        for index in ambiguity_set.explains:
            of = suspects.located.observations[index].of
            yield (of.layer, of.component), _names(ambiguity_set)


def _names(ambiguity: AmbiguitySet) -> str:
    return listed([" and ".join(names) for names in headline(ambiguity)], " or ")


def _suspects(sources: _Sources) -> Iterator[Entry]:
    """Yield each suspect with the measurement or remedy that comes next."""
    if sources.suspects is None:
        return
    located, parts = sources.suspects.located, sources.site.parts
    for ambiguity_set, probe in zip(located.sets, sources.suspects.probes):
        slow = [located.observations[index].of for index in ambiguity_set.explains]
        places = dict.fromkeys((of.layer, of.component) for of in slow)
        text = sentence(located, ambiguity_set, parts, probe) + advice(ambiguity_set, parts)
        facts, _, following = text.partition(_NEXT)
        yield Entry(
            Kind.SUSPECT,
            _names(ambiguity_set),
            located.state(ambiguity_set),
            _text(sources, next(iter(_beginnings(sources, places)), None), places),
            facts,
            following,
            "suspects",
        )


def _beginnings(sources: _Sources, places: Iterable[tuple[str, str]]) -> list[Since]:
    """Return since when those of some components that are low have been low, in that order."""
    beginnings = [since for place in places if (since := sources.beginnings.find(*place))]
    return sorted(beginnings, key=lambda since: since.day)


def _groups(sources: _Sources) -> Iterator[Entry]:
    """Yield groups that are low as a whole, which their members' verdicts excuse."""
    for (layer, name), verdict in sorted(sources.site.groups.items()):
        # a file system whose targets are driven at once has a row as a component
        if verdict.state in (State.CRITICAL, State.WARNING) and not LAYERS[layer].whole:
            members = {
                (expectation.layer, expectation.component): None
                for expectation in sources.site.expectations
                if (expectation.layer, expectation.group) == (layer, name)
            }
            beginnings = _beginnings(sources, members)
            # a single one may be low for long
            since = beginnings[len(beginnings) // 2] if beginnings else None
            following = "see in #change what happened on that day"
            if since:
                begun = since.text(()).partition(" ")[0]
                following += f"; draw it with plumbline report --against {begun}"
            yield Entry(
                Kind.GROUP,
                f"{layer} {name}",
                verdict.state,
                _text(sources, since, members),
                verdict.sentence,
                following,
                group_anchor(layer, name),
            )


def _alarms(sources: _Sources) -> Iterator[Entry]:
    """Yield the components that are WARNING or CRITICAL; a suspect explains some of them."""
    for (layer, name), verdict in sorted(sources.site.verdicts.items()):
        if verdict.state in (State.CRITICAL, State.WARNING):
            suspect = sources.behind.get((layer, name))
            following = f"see suspect {suspect}" if suspect else f"measure again: {_ASK}"
            if not suspect and not LAYERS[layer].whole:
                following += f" -e target={name}"
            kind = Kind.EXPLAINED if suspect else Kind.ALARM
            yield _entry(kind, verdict, _since(sources, verdict), following)


def _symptoms(sources: _Sources) -> Iterator[Entry]:
    """Yield the kinds of hosts that have an alarm; those of a suspect are behind it."""
    explanations = Explanations(sources.site, sources.suspects)
    for look in sources.site.looks:
        if look.verdict.state.alarm:
            first = explanations.find(look.symptoms[0].component)
            kind = Kind.EXPLAINED if first.suspect else Kind.SYMPTOM
            since = begun(look)
            text = moment(since) if since is not None else ""
            following = f"see {first.text}"
            if not first.suspect:
                following = f"on {look.host}: plumbline symptoms; may explain: {first.text}"
            yield _entry(kind, look.verdict, text, following)


def _watched(sources: _Sources) -> Iterator[Entry]:
    """Yield the components and groups that are watched: low in the last run, no alarm yet."""
    every = {
        (verdict.layer, verdict.component): verdict for verdict in sources.site.groups.values()
    }
    for (layer, name), verdict in sorted(every.items()):
        if verdict.reason is Reason.WATCHED:
            entry = _entry(Kind.WATCHED, verdict, "", "the next runs decide")
            yield entry._replace(anchor=group_anchor(layer, name))
    for _, verdict in sorted(sources.site.verdicts.items()):
        if verdict.reason is Reason.WATCHED:
            yield _entry(Kind.WATCHED, verdict, _since(sources, verdict), "the next runs decide")


def _since(sources: _Sources, verdict: Verdict) -> str:
    place = verdict.layer, verdict.component
    return _text(sources, sources.beginnings.find(*place), [place])


def _text(sources: _Sources, since: Optional[Since], places: Iterable[tuple[str, str]]) -> str:
    """Return since when components have been low, with what happened there on that day."""
    hosts = {host for place in places for host in sources.hosts.get(place, ())}
    return since.text([mark for mark in sources.marks if mark.concerns(hosts)]) if since else ""


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


def _unmeasured(sources: _Sources) -> Iterator[Entry]:
    """Yield the components without a verdict; a silent node, or a new layer, is one row."""
    layers: dict[str, dict[str, list[Verdict]]] = {}
    nodes = sources.site.nodes
    every = [
        (nodes.get(place, ""), verdict) for place, verdict in sorted(sources.site.verdicts.items())
    ]
    every += [(look.host, look.verdict) for look in sources.site.looks]
    for node, verdict in every:
        if verdict.state is State.UNKNOWN:
            layers.setdefault(verdict.layer, {}).setdefault(node, []).append(verdict)
    for layer, of_nodes in layers.items():
        if len(of_nodes) > _MOST_NODES:
            judged = [verdict for verdicts in of_nodes.values() for verdict in verdicts]
            yield _several(f"{layer} of {len(of_nodes)} nodes", judged)
            continue
        for node, verdicts in of_nodes.items():
            if len(verdicts) > _ALONE:
                yield _several(f"{layer} of {node}" if node else layer, verdicts)
            else:
                yield from (_entry(Kind.UNMEASURED, verdict, "", "") for verdict in verdicts)


def _several(name: str, verdicts: Sequence[Verdict]) -> Entry:
    """Return one row for many components that were not judged."""
    first = verdicts[0]
    return _entry(Kind.UNMEASURED, first, "", "")._replace(
        component=f"{name}: {len(verdicts)} components", sentence=f"for example {first.sentence}"
    )
