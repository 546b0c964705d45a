"""Site as Nagios shows it: suspects as path services, and notes added to other verdicts.

One fault notifies once.  Notes name the service that bears an alarm, and the changes before the
loss of a whole group; both need the data of all nodes.

A suspect that explains only alarms already notified is shown as OK and names them.  A notified
suspect keeps its alarm for a while if services silenced by it are not healthy yet, because their
evidence of health may come in different nights, and a suspicion may move to another part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.judging import Alarming
from plumbline.judge.phrases import moment, several
from plumbline.locate.observation import Site as Measured
from plumbline.locate.observe import observe
from plumbline.locate.suspects import locate
from plumbline.model.codec import compact
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.service import NO_ALARMS, ActiveAlarms, PathService, Service, Suspicion
from plumbline.model.verdict import Judged, Reason, State, Verdict
from plumbline.observe.symptom import SiteSymptoms
from plumbline.site.locate import (
    SiteLocated,
    left_out,
    less_shared,
    locate_in,
    sentences,
    shared_losses,
)
from plumbline.site.nodes import SiteJudgement, in_alarm, judgement
from plumbline.site.paths import Site, causes, explained, path_verdicts
from plumbline.store.plan import SitePlan
from plumbline.store.replacing import replace_own
from plumbline.store.verdicts import document, load_standing

FADES_S = 36 * 3600.0
"""Seconds for which a former suspect may keep its alarm, to include one more night."""


class Scene(NamedTuple):
    """State of a site when suspects are published.

    ``alarms`` are the indices of services in alarm in the plan; ``explained`` has the path services
    that explain a component, by layer and name.  An alarm is notified after ``notified_after_s``.
    """

    paths: Sequence[PathService]
    services: Sequence[Service]
    alarms: Collection[int]
    explained: Mapping[tuple[str, str], Sequence[str]]
    now: float
    notified_after_s: float

    def speaks(self, index: int) -> bool:
        """Return whether a service is in alarm, and no other service bears its alarm."""
        behind = self.services[index].behind
        return index in self.alarms and not any(bearer in self.alarms for bearer in behind)


def settle(
    scene: Scene, verdicts: Mapping[str, Verdict], previous: ActiveAlarms
) -> tuple[dict[str, Verdict], ActiveAlarms]:
    """Return the verdicts with one bearer for each fault, and the new standing alarms."""
    settled = dict(verdicts)
    shared = [path for path in scene.paths if path.component]
    ended = [path for path in shared if _has_ended(settled[path.name], path, scene, previous)]
    for path in shared:
        verdict = settled[path.name]
        if verdict.reason is Reason.SUSPECT and path.name not in previous.suspicions:
            earlier = _earlier(scene, path, previous, ended)
            if earlier:
                settled[path.name] = _borne_by(verdict, earlier)
    suspicions = {
        path.name: _suspicion(settled[path.name], previous.suspicions.get(path.name), scene.now)
        for path in shared
        if settled[path.name].state.alarm
    }
    silenced = _behind(shared, suspicions)
    for path in ended:
        old = previous.suspicions[path.name]
        ended_at = scene.now if old.ended_at is None else old.ended_at
        unhealthy = _unhealthy(scene, path, previous, silenced)
        if unhealthy:
            suspicions[path.name] = old._replace(ended_at=ended_at)
            settled[path.name] = _fading(settled[path.name], old, ended_at, unhealthy)
    notified = dict(_notified(scene, previous, _behind(shared, suspicions)))
    return settled, ActiveAlarms(notified, suspicions)


def _has_ended(verdict: Verdict, path: PathService, scene: Scene, previous: ActiveAlarms) -> bool:
    """Return whether a notified suspect has recently ceased to be one."""
    old = previous.suspicions.get(path.name)
    if old is None or not old.slow or verdict.state.alarm:
        return False
    return old.ended_at is None or scene.now - old.ended_at <= FADES_S


def _suspicion(verdict: Verdict, old: Optional[Suspicion], now: float) -> Suspicion:
    since = now if old is None else old.since
    return Suspicion(since, verdict.state, slow=verdict.reason is Reason.SUSPECT)


def _unhealthy(
    scene: Scene, path: PathService, previous: ActiveAlarms, silenced: Collection[int]
) -> list[str]:
    """Return the services that would now notify, because no suspect silences them anymore."""
    services = ((place, scene.services[place]) for place in path.members if scene.speaks(place))
    return [
        service.description
        for place, service in services
        if place not in silenced and _key(service) not in previous.notified
    ]


def _earlier(
    scene: Scene, path: PathService, previous: ActiveAlarms, ended: Sequence[PathService]
) -> dict[str, float]:
    """Return the start of each alarm that a suspect explains, if all were notified, else nothing.

    An alarm silenced by a suspect that has ``ended`` was notified by that suspect.
    """
    alarms = {}
    for place in path.members:
        service = scene.services[place]
        if not scene.speaks(place) or not _explains(scene, path, service):
            continue
        since = previous.notified.get(_key(service))
        bearer = next((other for other in ended if place in other.members), None)
        name = service.description
        if since is None and bearer:
            name, since = bearer.description, previous.suspicions[bearer.name].since
        if since is None or scene.now - since < scene.notified_after_s:
            return {}
        alarms[name] = since
    return alarms


def _explains(scene: Scene, path: PathService, service: Service) -> bool:
    """Return whether a suspect explains the alarm of a service, or a whole group is in alarm."""
    if service.group:
        return True
    return path.name in scene.explained.get((service.layer, service.component), ())


def _borne_by(verdict: Verdict, earlier: Mapping[str, float]) -> Verdict:
    names, since = several(tuple(earlier)), moment(min(earlier.values()))
    text = f"{verdict.sentence} Its alarm is that of {names}, since {since}"
    return verdict._replace(state=State.OK, reason=Reason.ALARM_ELSEWHERE, sentence=text)


def _fading(verdict: Verdict, old: Suspicion, ended_at: float, unhealthy: Sequence[str]) -> Verdict:
    text = (
        f"{verdict.component} is no suspect since {moment(ended_at)}, but not yet shown to be "
        f"healthy: {several(tuple(unhealthy))}"
    )
    return verdict._replace(state=old.state, reason=Reason.SUSPECT, sentence=text)


def _behind(shared: Sequence[PathService], suspicions: Collection[str]) -> set[int]:
    return {place for path in shared if path.name in suspicions for place in path.members}


def _notified(
    scene: Scene, previous: ActiveAlarms, silenced: Collection[int]
) -> Iterator[tuple[str, float]]:
    """Yield the services that notify their own alarm, and its start."""
    for place in scene.alarms:
        key = _key(scene.services[place])
        if key in previous.notified:
            yield key, previous.notified[key]
        elif scene.speaks(place) and place not in silenced:
            yield key, scene.now


def _key(service: Service) -> str:
    return f"{service.host};{service.description}"


class Terms(NamedTuple):
    """Terms for finding and showing suspects.

    The document is valid for ``stale_after_s``; an alarm is notified after ``notified_after_s``.
    """

    stale_after_s: float
    notified_after_s: float


class Published(NamedTuple):
    """Verdicts by the names of their services, the document, and remarks for people."""

    verdicts: Mapping[str, Verdict]
    document: Mapping[str, Any]
    remarks: tuple[str, ...]


def publish(plan: SitePlan, history: Path, to: Path, now: float, terms: Terms) -> Published:
    """Write the verdicts of path services at ``now``, in seconds since the epoch.

    Raises:
        DocumentError: the plan has no such services, or is damaged.
        StoreError: the history cannot be read, or the file cannot be written.
    """
    if not plan.paths:
        raise DocumentError(
            f"plan {plan.path} names no services of check_path; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    previous, unknown = _standing(to)
    site = Site(plan.paths, plan.services, plan.parts)
    with judgement(plan, history, now) as judged:
        located = locate_in(judged)
        alarms = in_alarm(judged.services(), plan.services)
    unsettled = path_verdicts(site, located, sentences(plan, located), previous.suspicions)
    bearers = explained(site, located.located, previous.suspicions)
    scene = Scene(plan.paths, plan.services, alarms, bearers, now, terms.notified_after_s)
    verdicts, standing = settle(scene, unsettled, previous)
    fields = document(verdicts, now, terms.stale_after_s, standing)
    replace_own(to, compact(fields))
    return Published(verdicts, fields, (*unknown, *left_out(located.symptoms)))


def _standing(path: Path) -> tuple[ActiveAlarms, list[str]]:
    """Return the standing alarms; none, with a remark, if they cannot be read."""
    try:
        return load_standing(str(path)), []
    except DocumentError as error:
        return NO_ALARMS, [f"{error}; earlier alarms are not known"]


def with_notes(site: SiteJudgement) -> tuple[list[Judged], bool]:
    """Return the verdicts on what the nodes measure, and whether one of them may have a note."""
    judged = site.services()
    if not site.plan.paths or not any(_may_have_a_note(result.verdict) for result in judged):
        return judged, False
    notes = _notes(site)
    return [_noted(result, notes) for result in judged], True


def _may_have_a_note(verdict: Verdict) -> bool:
    if verdict.group:
        return verdict.reason is Reason.SLOW
    return verdict.state.alarm or verdict.reason is Reason.WATCHED


def _notes(site: SiteJudgement) -> dict[Subject, str]:
    """Return notes to append to the sentences on components and groups."""
    plan, located = site.plan, locate_in(site)
    borne = causes(Site(plan.paths, plan.services, plan.parts), located.located)
    return {
        **{(*place, False): f"explained by {text}" for place, text in borne.items()},
        **{
            (loss.layer, loss.group, True): f"since {loss.changes}"
            for loss in located.shared
            if loss.changes
        },
    }


def _noted(judged: Judged, notes: Mapping[Subject, str]) -> Judged:
    """Return a verdict with its note, if there is one."""
    verdict = judged.verdict
    note = notes.get((verdict.layer, verdict.component, verdict.group))
    if note is None or not _may_have_a_note(verdict):
        return judged
    return judged._replace(verdict=verdict._replace(sentence=f"{verdict.sentence}; {note}"))


_NOTIFIED_AFTER_S = 1800.0
"""Shorter than a day, so alarms of the day before count as notified."""


class DailySuspects:
    """Path services of one fleet in alarm, day after day and without symptoms."""

    def __init__(self, site: Site) -> None:
        """Begin without standing alarms."""
        self._site = site
        self._standing = NO_ALARMS

    def __call__(self, day: Alarming) -> frozenset[str]:
        """Return the names of the path services in alarm."""
        suspects, before = self._located(day), self._standing.suspicions
        verdicts = path_verdicts(self._site, suspects, [""] * len(suspects.located.sets), before)
        bearers = explained(self._site, suspects.located, before)
        paths, services = self._site.paths, self._site.services
        scene = Scene(paths, services, day.alarms, bearers, day.judging.now, _NOTIFIED_AFTER_S)
        settled, self._standing = settle(scene, verdicts, self._standing)
        return frozenset(name for name, verdict in settled.items() if verdict.state.alarm)

    def _located(self, day: Alarming) -> SiteLocated:
        judging = dict.fromkeys(day.nodes, day.judging)
        observed = list(observe(Measured(day.nodes).measurables(), judging, day.weighing))
        located, shared = less_shared(
            locate(observed), tuple(shared_losses(day.nodes, day.weighing))
        )
        return SiteLocated(located, (), SiteSymptoms(), {}, shared)
