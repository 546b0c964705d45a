"""One fault notifies once, whichever alarm came first: what stood before decides who bears it.

A suspect that explains nothing but alarms of which somebody was notified is shown as OK and names
them.  A suspect that was notified keeps its alarm for a while where what it silenced is not healthy
yet: evidence for health may come at different nights, and a suspicion may move from one part to
another.
"""

from __future__ import annotations

from typing import Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment, several
from plumbline.model.path_service import PathService
from plumbline.model.reason import Reason
from plumbline.model.service import Service
from plumbline.model.standing import Standing, Suspicion
from plumbline.model.state import State
from plumbline.model.verdict import Verdict

FADES_S = 36 * 3600.0
"""How long a suspect that is none any more may keep its alarm: one more night."""


class Scene(NamedTuple):
    """What is known when suspects are published.

    ``alarms`` are the places of services in alarm in the plan; ``explained`` names the path
    services that explain a component, by its layer and name.  An alarm that has stood for
    ``notified_after_s`` has been notified.  What is behind another service in alarm has none of
    its own.
    """

    paths: Sequence[PathService]
    services: Sequence[Service]
    alarms: Collection[int]
    explained: Mapping[tuple[str, str], Sequence[str]]
    now: float
    notified_after_s: float

    def speaks(self, index: int) -> bool:
        """Return whether a service is in alarm, and no other one bears its alarm."""
        behind = self.services[index].behind
        return index in self.alarms and not any(bearer in self.alarms for bearer in behind)


def settle(
    scene: Scene, verdicts: Mapping[str, Verdict], before: Standing
) -> tuple[dict[str, Verdict], Standing]:
    """Return the verdicts with one bearer for each fault, and what stands from now on."""
    found = dict(verdicts)
    shared = [path for path in scene.paths if path.component]
    ended = [path for path in shared if _has_ended(found[path.name], path, scene, before)]
    for path in shared:
        verdict = found[path.name]
        if verdict.reason is Reason.SUSPECT and path.name not in before.suspicions:
            earlier = _earlier(scene, path, before, ended)
            if earlier:
                found[path.name] = _borne_by(verdict, earlier)
    suspicions = {
        path.name: _suspicion(found[path.name], before.suspicions.get(path.name), scene.now)
        for path in shared
        if found[path.name].state.alarm
    }
    silenced = _behind(shared, suspicions)
    for path in ended:
        old = before.suspicions[path.name]
        ended_at = scene.now if old.ended_at is None else old.ended_at
        ill = _ill(scene, path, before, silenced)
        if ill:
            suspicions[path.name] = old._replace(ended_at=ended_at)
            found[path.name] = _fading(found[path.name], old, ended_at, ill)
    notified = dict(_notified(scene, before, _behind(shared, suspicions)))
    return found, Standing(notified, suspicions)


def _has_ended(verdict: Verdict, path: PathService, scene: Scene, before: Standing) -> bool:
    """Return whether a suspect that was notified is none any more, not long ago."""
    old = before.suspicions.get(path.name)
    if old is None or not old.slow or verdict.state.alarm:
        return False
    return old.ended_at is None or scene.now - old.ended_at <= FADES_S


def _suspicion(verdict: Verdict, old: Optional[Suspicion], now: float) -> Suspicion:
    since = now if old is None else old.since
    return Suspicion(since, verdict.state, slow=verdict.reason is Reason.SUSPECT)


def _ill(scene: Scene, path: PathService, before: Standing, silenced: Collection[int]) -> list[str]:
    """Return what would notify of its own alarm now that it is behind no suspect."""
    services = ((place, scene.services[place]) for place in path.members if scene.speaks(place))
    return [
        service.description
        for place, service in services
        if place not in silenced and _key(service) not in before.notified
    ]


def _earlier(
    scene: Scene, path: PathService, before: Standing, ended: Sequence[PathService]
) -> dict[str, float]:
    """Return the alarms that a suspect explains with their beginnings, if all were notified.

    What was silent behind a suspect that has ``ended`` was notified by the alarm of that one.
    """
    found = {}
    for place in path.members:
        service = scene.services[place]
        if not scene.speaks(place) or not _explains(scene, path, service):
            continue
        since = before.notified.get(_key(service))
        bearer = next((other for other in ended if place in other.members), None)
        name = service.description
        if since is None and bearer:
            name, since = bearer.description, before.suspicions[bearer.name].since
        if since is None or scene.now - since < scene.notified_after_s:
            return {}
        found[name] = since
    return found


def _explains(scene: Scene, path: PathService, service: Service) -> bool:
    """Return whether a suspect explains the alarm of a service, or it is that of a whole group."""
    if service.group:
        return True
    return path.name in scene.explained.get((service.layer, service.component), ())


def _borne_by(verdict: Verdict, earlier: Mapping[str, float]) -> Verdict:
    names, since = several(tuple(earlier)), moment(min(earlier.values()))
    text = f"{verdict.sentence} Its alarm is that of {names}, since {since}"
    return verdict._replace(state=State.OK, reason=Reason.ALARM_ELSEWHERE, sentence=text)


def _fading(verdict: Verdict, old: Suspicion, ended_at: float, ill: Sequence[str]) -> Verdict:
    text = (
        f"{verdict.component} is no suspect since {moment(ended_at)}, but not yet shown to be "
        f"healthy: {several(tuple(ill))}"
    )
    return verdict._replace(state=old.state, reason=Reason.SUSPECT, sentence=text)


def _behind(shared: Sequence[PathService], suspicions: Collection[str]) -> set[int]:
    return {place for path in shared if path.name in suspicions for place in path.members}


def _notified(
    scene: Scene, before: Standing, silenced: Collection[int]
) -> Iterator[tuple[str, float]]:
    """Yield the services that notify of their own alarm, and since when they are in it."""
    for place in scene.alarms:
        key = _key(scene.services[place])
        if key in before.notified:
            yield key, before.notified[key]
        elif scene.speaks(place) and place not in silenced:
            yield key, scene.now


def _key(service: Service) -> str:
    return f"{service.host};{service.description}"
