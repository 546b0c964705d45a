"""The first screen: problems, their begin, their evidence, and the next steps.

It is a list of rows.  Each kind of row has a function here, and a position in ``Kind``.
"""

from __future__ import annotations

from enum import Enum
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.model.layers import LAYERS
from plumbline.model.names import anchor, group_anchor
from plumbline.model.suspects import NEXT, Suspects
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.report.figure import iso_day
from plumbline.parts.report.marks import Mark, marks
from plumbline.parts.report.site import Member, Metric, Metrics, Site, middle
from plumbline.parts.report.symptoms import Explanations, begun

_LOW = 0.95
"""Share of the reference above which a component has no loss to date."""

_GOOD_DAYS = 2
"""Consecutive good days that end a loss, looking back; a single one may be luck."""

_MAX_NAMED = 5


class Since(NamedTuple):
    """First low day, and the last measured day before it, if any; in days since the epoch."""

    day: int
    before: Optional[int]

    def text(self, marks: Sequence[Mark]) -> str:
        """Return e.g. ``2026-11-16 (client 2.3.0 -> 2.4.0)``, with the events in between."""
        text = iso_day(self.day)
        if self.before is None:
            return f"{text} or earlier"
        begin, end = self.before * DAY_S, (self.day + 1) * DAY_S
        events = [mark.text for mark in marks if begin <= mark.at < end]
        hidden = len(events) - _MAX_NAMED
        named = "; ".join(events[:_MAX_NAMED]) + (f"; {hidden} more" if hidden > 0 else "")
        return f"{text} ({named})" if events else text


class Beginnings:
    """Finds the first low day of components of a site."""

    def __init__(self, metrics: Metrics) -> None:
        self._members: dict[tuple[str, str], list[tuple[Metric, Member]]] = {}
        self._groups: dict[tuple[Metric, str], list[Member]] = {}
        self._peers: dict[tuple[Metric, str], Mapping[int, float]] = {}
        for metric, members in metrics.items():
            for member in members:
                self._members.setdefault((metric.layer, member.name), []).append((metric, member))
                self._groups.setdefault((metric, member.entry.group), []).append(member)

    def find(self, layer: str, component: str) -> Optional[Since]:
        """Return the first low day of a component, by the operation that has lost most.

        None if it is not low compared with its baseline or, without one, with its group.
        """
        pairs = self._members.get((layer, component), ())
        courses = [self._ratios(metric, member) for metric, member in pairs]
        measured = [ratios for ratios in courses if ratios]
        if not measured:
            return None
        return _streak(min(measured, key=lambda ratios: ratios[max(ratios)]))

    def _ratios(self, metric: Metric, member: Member) -> Mapping[int, float]:
        """Return rate / reference by day, for days with both."""
        if member.baseline_rate:
            return {day: rate / member.baseline_rate for day, rate in member.days.items()}
        peers = self._group(metric, member.entry.group)
        return {day: rate / peers[day] for day, rate in member.days.items() if peers.get(day)}

    def _group(self, metric: Metric, group: str) -> Mapping[int, float]:
        """Return the median of a group by day, for days with at least two members measured."""
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
    """Return the first of the consecutive days with at least half of the latest loss."""
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
"""Most unjudged components of a node and layer with a row each; more share one row."""

_MAX_NODES = 5
"""Most nodes with their own rows of unjudged components; more share one row per layer."""

_ASK = "ansible-playbook playbooks/debug_slow_storage.yml"


class Kind(str, Enum):
    """Kinds of rows, in page order."""

    SUSPECT = "suspect"
    GROUP = "group"
    ALARM = "alarm"
    SYMPTOM = "symptom"
    UNMEASURED = "not judged"
    EXPLAINED = "behind a suspect"
    WATCHED = "watched"


class Entry(NamedTuple):
    """One row; ``since`` and ``next`` are empty if unknown.

    ``sentence`` has the figures and their evidence; ``anchor`` is a place in the page.
    """

    kind: Kind
    component: str
    state: State
    since: str
    sentence: str
    next: str
    anchor: str


class _Sources(NamedTuple):
    """Input of all kinds of rows; ``behind`` has the suspects of a component.

    ``hosts`` has by layer and component its own host and the measuring host.
    """

    site: Site
    suspects: Suspects
    behind: Mapping[tuple[str, str], str]
    beginnings: Beginnings
    marks: Sequence[Mark]
    hosts: Mapping[tuple[str, str], tuple[str, ...]]


def overview(site: Site, metrics: Metrics, suspects: Suspects) -> list[Entry]:
    """Return all rows, the worst of each kind first; empty if there is no problem."""
    behind = dict(_behind(suspects))
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
    # rows of one kind and state keep their order: suspects that explain most come first
    return sorted(rows, key=lambda row: (kinds.index(row.kind), RANK.index(row.state)))


def _behind(suspects: Suspects) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield layer and name of each explained component, with its suspects."""
    for suspect_set in suspects.sets:
        for place in suspect_set.explains:
            yield place, suspect_set.title


def _suspects(sources: _Sources) -> Iterator[Entry]:
    for suspect_set in sources.suspects.sets:
        places = suspect_set.explains
        yield Entry(
            Kind.SUSPECT,
            suspect_set.title,
            suspect_set.state,
            _text(sources, next(iter(_beginnings(sources, places)), None), places),
            suspect_set.sentence.partition(NEXT)[0],
            suspect_set.following,
            "suspects",
        )


def _beginnings(sources: _Sources, places: Iterable[tuple[str, str]]) -> list[Since]:
    """Return the first low days of all low components among ``places``, the earliest first."""
    beginnings = [since for place in places if (since := sources.beginnings.find(*place))]
    return sorted(beginnings, key=lambda since: since.day)


def _groups(sources: _Sources) -> Iterator[Entry]:
    """Yield groups that are low as a whole, as their members' verdicts do not show it."""
    for (layer, name), verdict in sorted(sources.site.groups.items()):
        # a file system whose targets are driven at once has a row as a component
        if verdict.state in (State.CRITICAL, State.WARNING) and not LAYERS[layer].whole:
            members = {
                (expectation.layer, expectation.component): None
                for expectation in sources.site.expectations
                if (expectation.layer, expectation.group) == (layer, name)
            }
            beginnings = _beginnings(sources, members)
            # the median, because a single member may have been low for long
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
    """Yield components in WARNING or CRITICAL, with the suspect that explains them, if any."""
    for (layer, name), verdict in sorted(sources.site.verdicts.items()):
        if verdict.state in (State.CRITICAL, State.WARNING):
            suspect = sources.behind.get((layer, name))
            following = f"see suspect {suspect}" if suspect else f"measure again: {_ASK}"
            if not suspect and not LAYERS[layer].whole:
                following += f" -e target={name}"
            kind = Kind.EXPLAINED if suspect else Kind.ALARM
            yield _entry(kind, verdict, _since(sources, verdict), following)


def _symptoms(sources: _Sources) -> Iterator[Entry]:
    """Yield kinds of symptoms in alarm; those of a suspect are shown as explained by it."""
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
    """Yield watched components and groups: low in the last run, without an alarm yet."""
    groups = {
        (verdict.layer, verdict.component): verdict for verdict in sources.site.groups.values()
    }
    for (layer, name), verdict in sorted(groups.items()):
        if verdict.reason is Reason.WATCHED:
            entry = _entry(Kind.WATCHED, verdict, "", "")
            yield entry._replace(anchor=group_anchor(layer, name))
    for _, verdict in sorted(sources.site.verdicts.items()):
        if verdict.reason is Reason.WATCHED:
            yield _entry(Kind.WATCHED, verdict, _since(sources, verdict), "")


def _since(sources: _Sources, verdict: Verdict) -> str:
    place = verdict.layer, verdict.component
    return _text(sources, sources.beginnings.find(*place), [place])


def _text(sources: _Sources, since: Optional[Since], places: Iterable[tuple[str, str]]) -> str:
    """Return the first low day of components, with the events on their hosts."""
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
    """Yield components without a verdict; many of one node or layer share one row."""
    layers: dict[str, dict[str, list[Verdict]]] = {}
    nodes = sources.site.nodes
    pairs = [
        (nodes.get(place, ""), verdict) for place, verdict in sorted(sources.site.verdicts.items())
    ]
    pairs += [(look.host, look.verdict) for look in sources.site.looks]
    for node, verdict in pairs:
        if verdict.state is State.UNKNOWN:
            layers.setdefault(verdict.layer, {}).setdefault(node, []).append(verdict)
    for layer, by_node in layers.items():
        if len(by_node) > _MAX_NODES:
            unjudged = [verdict for verdicts in by_node.values() for verdict in verdicts]
            yield _several(f"{layer} of {len(by_node)} nodes", unjudged)
            continue
        for node, verdicts in by_node.items():
            if len(verdicts) > _ALONE:
                yield _several(f"{layer} of {node}" if node else layer, verdicts)
            else:
                yield from (_entry(Kind.UNMEASURED, verdict, "", "") for verdict in verdicts)


def _several(name: str, verdicts: Sequence[Verdict]) -> Entry:
    """Return one row for several unjudged components."""
    first = verdicts[0]
    return _entry(Kind.UNMEASURED, first, "", "")._replace(
        component=f"{name}: {len(verdicts)} components", sentence=f"for example {first.sentence}"
    )
