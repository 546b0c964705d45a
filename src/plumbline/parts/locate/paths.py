"""Verdicts of check_path from suspects, one for each path service of the plan.

One cause raises one alarm: if components explain the same measurements equally well, one of them
bears the alarm, preferably a host, and Nagios silences the services behind it.  A cause that slows
only one component is the alarm of that component.  A file system names all its suspects; it alarms
only for a fault that would be silenced otherwise, because the component before it is also at fault.
"""

from __future__ import annotations

from typing import Collection, Iterable, Mapping, NamedTuple, Sequence

from plumbline.judge.phrases import moment
from plumbline.model.layers import LAYERS
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst
from plumbline.parts.locate.document import explained_by, explanations
from plumbline.parts.locate.failures import FailedHost
from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.sentences import headline, listed
from plumbline.parts.locate.site import SiteLocated
from plumbline.parts.locate.suspects import AmbiguitySet, Located
from plumbline.store.plan import SitePlan

LAYER = "path"
_HOSTS = ("server", "client")


class Site(NamedTuple):
    """Part of a plan: path services, all other services, parts."""

    paths: Sequence[PathService]
    services: Sequence[Service]
    parts: Mapping[str, SitePart]

    @classmethod
    def of(cls, plan: SitePlan) -> Site:
        """Return the part of a plan."""
        return cls(plan.paths, plan.services, plan.parts)


class _Alarm(NamedTuple):
    """An ambiguity set, its sentence, and the components whose services raise the alarm."""

    cause: AmbiguitySet
    sentence: str
    notifying: tuple[str, ...]


class Votes(NamedTuple):
    """Number of slow and of good measurements that cross a path service."""

    slow: int
    good: int

    @classmethod
    def of(cls, votes: Sequence[Vote]) -> Votes:
        """Count votes."""
        return cls(votes.count(Vote.BAD), votes.count(Vote.GOOD))


def path_votes(site: Site, located: Located) -> list[Votes]:
    """Return the votes on each path service, those of their targets on a file system."""
    crossing: dict[str, list[Vote]] = {}
    for observation in located.observations:
        for name in observation.of.path:
            crossing.setdefault(name, []).append(observation.vote)
    return [
        Votes.of(crossing.get(path.component, ()))
        if path.component
        else Votes.of([located.observations[i].vote for i in _own(path, site, located)])
        for path in site.paths
    ]


def path_verdicts(
    site: Site,
    suspects: SiteLocated,
    texts: Sequence[str],
    votes: Sequence[Votes],
    standing: Collection[str] = (),
) -> dict[str, Verdict]:
    """Return the verdict of each path service by name; ``texts`` are sentences on the sets.

    ``votes`` are those on each path service, ``standing`` the names of path services that raise an
    alarm so far.
    """
    located, failed_hosts = suspects.located, suspects.failed_hosts
    shared = _shared(site)
    alarms = [
        _Alarm(
            ambiguity_set,
            text + _since(located, ambiguity_set),
            _notifying(located, ambiguity_set, shared, site, standing),
        )
        for ambiguity_set, text in zip(located.sets, texts)
    ]
    site_alarms = _Alarms(alarms, _silenced(site, located, alarms))
    verdicts = {}
    for path, counted in zip(site.paths, votes):
        if path.component:
            verdict = _component_verdict(path, located, alarms, counted, shared)
            missed = failed_hosts.get(path.component)
            verdicts[path.name] = _with_failed_host(verdict, missed) if missed else verdict
        else:
            verdicts[path.name] = _file_system_verdict(path, site, suspects, site_alarms, counted)
    return verdicts


def shown_states(site: Site, located: Located) -> list[State]:
    """Return the state of each ambiguity set as Nagios shows it.

    A set without a path service of its own is WARNING, as at its file system; its component alarms.
    """
    shared = _shared(site)
    return [
        located.state(ambiguity_set)
        if _notifying(located, ambiguity_set, shared, site, ())
        else State.WARNING
        for ambiguity_set in located.sets
    ]


def causes(site: Site, located: Located) -> dict[tuple[str, str], str]:
    """Return by slow component, layer and name, a list of the path services that raise its alarm.

    Of several faults, the one that explains most counts.
    """
    shared = _shared(site)
    services = {
        place: [shared[name] for name in _notifying(located, ambiguity_set, shared, site, ())]
        for place, ambiguity_set in explanations(located).items()
    }
    return {place: listed(names, " and ") for place, names in services.items() if names}


def explained(
    site: Site, located: Located, standing: Collection[str] = ()
) -> dict[tuple[str, str], list[str]]:
    """Return by slow component, layer and name, the path services that raise its alarm.

    All of several faults count; components with only their own alarm are left out.  ``standing`` is
    as in ``path_verdicts``.
    """
    shared = _shared(site)
    services: dict[tuple[str, str], list[str]] = {}
    for ambiguity_set in located.sets:
        names = [
            shared[name] for name in _notifying(located, ambiguity_set, shared, site, standing)
        ]
        for place in explained_by(located, ambiguity_set) if names else ():
            services.setdefault(place, []).extend(names)
    return services


def _shared(site: Site) -> dict[str, str]:
    """Return the names of path services by component."""
    return {path.component: path.name for path in site.paths if path.component}


def _notifying(
    located: Located,
    ambiguity: AmbiguitySet,
    shared: Mapping[str, str],
    site: Site,
    standing: Collection[str],
) -> tuple[str, ...]:
    """Return the components that raise the alarm: those of the likeliest alternative to notify.

    They keep their alarm, because other possible causes are no second alarm.  A cause that slows
    a single component is the alarm of that component, so no other one raises it.
    """

    def priority(names: tuple[str, ...]) -> tuple[int, int, int]:
        shared_names = [name for name in names if name in shared]
        standing_names = [name for name in shared_names if shared[name] in standing]
        hosts = [name for name in shared_names if name in parts and parts[name].kind in _HOSTS]
        return len(standing_names), len(shared_names), len(hosts)

    parts = site.parts
    best = max(headline(ambiguity), key=priority)
    if len(explained_by(located, ambiguity)) == 1 and not priority(best)[0]:
        return ()
    return tuple(name for name in best if name in shared)


def _since(located: Located, ambiguity: AmbiguitySet) -> str:
    """Return a sentence with the start of the slow runs, empty without rates."""
    slow = (located.observations[index] for index in ambiguity.explains)
    since = min(
        (observation.since for observation in slow if observation.of.is_rate and observation.since),
        default=None,
    )
    return "" if since is None else f" Slow since {moment(since)}."


def _component_verdict(
    path: PathService,
    located: Located,
    alarms: Sequence[_Alarm],
    votes: Votes,
    shared: Mapping[str, str],
) -> Verdict:
    own = [
        alarm for alarm in alarms if any(path.component in alt for alt in alarm.cause.alternatives)
    ]
    own_raised = [alarm for alarm in own if path.component in alarm.notifying]
    slow, good = votes
    figures = _figures(slow=slow, good=good)
    evidence = _evidence(located, (index for alarm in own for index in alarm.cause.explains))
    if own_raised:
        state, reason = worst(located.state(alarm.cause) for alarm in own_raised), Reason.SUSPECT
        text = " ".join(alarm.sentence for alarm in own_raised)
    elif own:
        state, reason = State.OK, Reason.ALARM_ELSEWHERE
        services = [shared[name] for alarm in own for name in alarm.notifying]
        others = listed(services or _explained_names(located, own), " and ")
        text = f"{path.name} may be at fault too; the alarm is that of {others}"
    elif not slow + good:
        state, reason = State.UNKNOWN, Reason.NOT_JUDGED
        text = f"no measurement that crosses {path.name} could be judged"
    else:
        state, reason = State.OK, Reason.FINE
        text = f"{path.name} is no suspect: {good} good measurements cross it"
        text += f", {slow} slow ones have another cause" if slow else ""
    return Verdict(LAYER, path.name, state, reason, text, evidence=evidence, figures=figures)


def _explained_names(located: Located, alarms: Sequence[_Alarm]) -> list[str]:
    """Return the components explained by alarms, each once with its layer."""
    places = {place: None for alarm in alarms for place in explained_by(located, alarm.cause)}
    return [" ".join(place) for place in places]


def _with_failed_host(verdict: Verdict, missed: FailedHost) -> Verdict:
    """Return the verdict on a host that prevents measurements and so bears their alarm."""
    slow = verdict.state.alarm
    sentence = f"{missed.text}; {verdict.sentence}" if slow else missed.text
    return verdict._replace(state=State.CRITICAL, reason=missed.reason, sentence=sentence)


def _file_system_verdict(
    path: PathService,
    site: Site,
    suspects: SiteLocated,
    alarms: _Alarms,
    votes: Votes,
) -> Verdict:
    located, (slow, good) = suspects.located, votes
    targets, indices = _targets_of(path, site), _own(path, site, located)
    own = [alarm for alarm in alarms.raised if not indices.keys().isdisjoint(alarm.cause.explains)]
    unexplained = [located.observations[i].of.name for i in located.unexplained if i in indices]
    hidden = [
        fault.text for fault in alarms.silenced if not fault.targets or fault.targets & targets
    ]
    texts = [alarm.sentence for alarm in own]
    if unexplained:
        texts.append(f"Not explained by any component: {listed(unexplained, ', ')}.")
    # the group has the alarm, no path
    shared = (loss for loss in suspects.shared if LAYERS[loss.layer].per_target)
    texts += [loss.sentence for loss in shared if loss.members & targets]
    if hidden:
        state, reason = State.CRITICAL, Reason.SILENCED
        text = f"silent behind another alarm: {' '.join(hidden)}"
    elif texts:
        state, reason = State.WARNING, Reason.SUSPECT if own else Reason.UNEXPLAINED
        text = " ".join(texts)
    elif not slow + good:
        state, reason = State.UNKNOWN, Reason.NOT_JUDGED
        text = f"no measurement of {path.name} could be judged"
    else:
        state, reason = State.OK, Reason.FINE
        text = f"{path.name} has no suspect: {good} good measurements"
    evidence = (*texts, *_evidence(located, (i for i in indices if _is_bad(located, i))))
    figures = _figures(suspects=len(own), slow=slow, good=good)
    return Verdict(LAYER, path.name, state, reason, text, evidence=evidence, figures=figures)


def _targets_of(path: PathService, site: Site) -> set[str]:
    return {site.services[place].component for place in path.members}


def _own(path: PathService, site: Site, located: Located) -> dict[int, None]:
    """Return the observations of the targets of a file system (indices)."""
    targets = _targets_of(path, site)
    return {
        index: None
        for index, observation in enumerate(located.observations)
        if _is_of(observation, targets)
    }


class _SilencedFault(NamedTuple):
    """A fault whose services are silenced by Nagios, and the targets that it slows."""

    text: str
    targets: frozenset[str]


class _Alarms(NamedTuple):
    """Alarms of a site, and the faults that are silent behind them."""

    raised: Sequence[_Alarm]
    silenced: Sequence[_SilencedFault]


def _silenced(site: Site, located: Located, alarms: Sequence[_Alarm]) -> list[_SilencedFault]:
    """Return other faults behind a component with an alarm."""
    faults, over = [], _over(site)
    for alarm in alarms:
        others = {name for other in alarms if other is not alarm for name in other.notifying}
        if not alarm.notifying and _crosses(located, alarm.cause.explains, others, over):
            faults.append(_SilencedFault(alarm.sentence, _targets(located, alarm.cause.explains)))
    services = {name for alarm in alarms for name in alarm.notifying}
    for index in located.unexplained:
        if _crosses(located, (index,), services, over):
            name = located.observations[index].of.name
            faults.append(_SilencedFault(f"{name} is slow.", _targets(located, (index,))))
    return faults


_Over = Mapping[tuple[str, str], frozenset[str]]
"""Components crossed by the targets on a device, by layer and name of the device."""


def _over(site: Site) -> _Over:
    """Return the components whose alarm silences a device, through the targets on it."""
    crossing: dict[int, set[str]] = {}
    for path in site.paths:
        for place in path.members if path.component else ():
            crossing.setdefault(place, set()).add(path.component)
    return {
        (service.layer, service.component): frozenset().union(
            *(crossing.get(bearer, ()) for bearer in service.behind)
        )
        for service in site.services
        if service.behind
    }


def _crosses(located: Located, indices: Iterable[int], names: set[str], over: _Over) -> bool:
    measurables = (located.observations[index].of for index in indices)
    return any(
        not names.isdisjoint(measurable.path)
        or not names.isdisjoint(over.get((measurable.layer, measurable.component), ()))
        for measurable in measurables
    )


def _targets(located: Located, indices: Iterable[int]) -> frozenset[str]:
    measurables = (located.observations[index].of for index in indices)
    return frozenset(item.component for item in measurables if LAYERS[item.layer].per_target)


def _is_of(observation: Observation, targets: set[str]) -> bool:
    return LAYERS[observation.of.layer].per_target and observation.of.component in targets


def _is_bad(located: Located, index: int) -> bool:
    return located.observations[index].vote is Vote.BAD


def _evidence(located: Located, indices: Iterable[int]) -> tuple[str, ...]:
    observations = (located.observations[index] for index in dict.fromkeys(indices))
    return tuple(f"{observation.of.name}: {observation.reason}" for observation in observations)


def _figures(**counts: int) -> tuple[Figure, ...]:
    return tuple(Figure(name, count) for name, count in counts.items())
