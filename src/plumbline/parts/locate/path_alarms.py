"""Alarms of path services over time: one fault notifies once.

A suspect that explains only alarms already notified notifies nobody.  If all of them were notified
by a path service that encloses it, the alarm moves: the suspect's service turns red, and the other
is UNKNOWN and names it.  UNKNOWN notifies nobody, keeps the suspect from notifying, and leaves the
recovery to the service that has notified.  Otherwise the suspect's service is OK and names the
alarm.

A notified suspect keeps its alarm for a while if services silenced by it are not healthy yet,
because their evidence of health may come in different nights.
"""

from __future__ import annotations

from typing import Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.model.names import several
from plumbline.model.service import ActiveAlarms, PathService, Service, Suspicion, enclosing
from plumbline.model.verdict import Reason, State, Verdict

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
        """Return whether a service raises its own alarm, and no other service for it."""
        behind = self.services[index].behind
        return index in self.alarms and not any(bearer in self.alarms for bearer in behind)


def settle(
    scene: Scene, verdicts: Mapping[str, Verdict], previous: ActiveAlarms
) -> tuple[dict[str, Verdict], ActiveAlarms]:
    """Return the verdicts with one notification for each fault, and the new standing alarms."""
    settling = _Settling(scene, verdicts, previous)
    settling.move()
    settling.fade()
    settling.unhide()
    silenced = _behind(settling.shared, settling.suspicions)
    notified = dict(_notified(scene, previous, silenced))
    return settling.settled, ActiveAlarms(notified, settling.suspicions)


class _Settling:
    """Verdicts and suspicions of one publication, step by step."""

    def __init__(
        self, scene: Scene, verdicts: Mapping[str, Verdict], previous: ActiveAlarms
    ) -> None:
        self._scene = scene
        self._verdicts = verdicts
        self._previous = previous.suspicions
        self._active = previous
        self.settled = dict(verdicts)
        self.suspicions: dict[str, Suspicion] = {}
        self.shared = [path for path in scene.paths if path.component]
        self._ended = [
            path for path in self.shared if _has_ended(verdicts[path.name], path, scene, previous)
        ]
        self._outer: dict[str, list[PathService]] = {}
        for outer, path in enclosing(self.shared):
            self._outer.setdefault(path.name, []).append(outer)
        self._moved: dict[str, str] = {}

    def move(self) -> None:
        """Take the notification from suspects whose alarms were all notified before."""
        for path in self.shared:
            verdict = self._verdicts[path.name]
            if verdict.reason is Reason.SUSPECT and self._may_be_notified(path):
                self._move_to(path, verdict)
        for path in self.shared:
            old, verdict = self._previous.get(path.name), self.settled[path.name]
            if verdict.state.alarm:
                self.suspicions[path.name] = _suspicion(verdict, old, self._scene.now)
            elif old and self._verdicts[path.name].reason is Reason.SUSPECT:
                self.suspicions[path.name] = old

    def _may_be_notified(self, path: PathService) -> bool:
        """Return whether another service may have notified of a suspect, not its own."""
        old = self._previous.get(path.name)
        return old is None or bool(old.moved_to) or path.name in self._active.heirs

    def _move_to(self, path: PathService, verdict: Verdict) -> None:
        earlier = _earlier(self._scene, path, self._active, self._ended)
        left = [
            outer.name
            for outer in self._outer.get(path.name, ())
            if outer in self._ended and outer.description in earlier
        ]
        self._moved.update(dict.fromkeys(left, path.name))
        if earlier:
            text = f"{verdict.sentence} {_borne(earlier)}"
            self.settled[path.name] = verdict._replace(sentence=text)
        if earlier and not left:
            # a service that has notified would recover if it were OK
            state = State.UNKNOWN if path.name in self._previous else State.OK
            self.settled[path.name] = self.settled[path.name]._replace(
                state=state, reason=Reason.ALARM_ELSEWHERE
            )

    def fade(self) -> None:
        """Keep the alarms of former suspects that have moved, or whose services are slow still."""
        silenced = _behind(self.shared, self.suspicions)
        for path in sorted(self._ended, key=lambda path: bool(self._previous[path.name].moved_to)):
            old = self._previous[path.name]
            now = self._scene.now
            kept = old._replace(ended_at=now if old.ended_at is None else old.ended_at)
            unhealthy = _unhealthy(self._scene, path, self._active, silenced)
            heir = self._heir(path, old)
            recent = kept.ended_at is not None and now - kept.ended_at <= FADES_S
            if unhealthy and recent and old.state.alarm:
                self.suspicions[path.name] = kept._replace(moved_to=heir)
                self.settled[path.name] = self._fading(path, kept, unhealthy)
            elif heir:
                moved = kept._replace(moved_to=heir, state=State.UNKNOWN)
                self.suspicions[path.name] = moved
                self.settled[path.name] = self._moved_away(path, old, heir)

    def _heir(self, path: PathService, old: Suspicion) -> str:
        """Return the service that shows the fault of ``path``, empty if none does.

        A suspect that explains new alarms is a fault of its own, one that fades remains the heir.
        """
        suspect = self._verdicts.get(old.moved_to)
        fading = suspect is not None and suspect.reason is not Reason.SUSPECT
        heir = old.moved_to if fading and old.moved_to in self.suspicions else ""
        return self._moved.get(path.name, heir)

    def _fading(self, path: PathService, old: Suspicion, unhealthy: Sequence[str]) -> Verdict:
        verdict, causes = self.settled[path.name], self._causes(path)
        cause = f"{several(causes)} {_are(causes)} the cause; " if causes else ""
        text = (
            f"{cause}{path.name} is cleared since {moment(old.ended_at or 0)}; waiting for good "
            f"runs of {several(tuple(unhealthy))}"
        )
        return verdict._replace(state=old.state, reason=Reason.SUSPECT, sentence=text)

    def _causes(self, path: PathService) -> tuple[str, ...]:
        """Return the suspects of today that explain the services behind a former one."""
        return tuple(
            other.name
            for other in self.shared
            if other is not path
            and self._verdicts[other.name].reason is Reason.SUSPECT
            and not set(other.members).isdisjoint(path.members)
        )

    def _moved_away(self, path: PathService, old: Suspicion, heir: str) -> Verdict:
        text = (
            f"{heir} is the cause; this alarm was raised for {path.name} at {moment(old.since)} "
            "and ends with it"
        )
        return self.settled[path.name]._replace(
            state=State.UNKNOWN, reason=Reason.ALARM_ELSEWHERE, sentence=text
        )

    def unhide(self) -> None:
        """Let file systems notify of suspects that another path service keeps from notifying."""
        heirs = ActiveAlarms({}, self.suspicions).heirs
        for path in self.shared:
            suspicion, old = self.suspicions.get(path.name), self._previous.get(path.name)
            outer = self._outer.get(path.name, ())
            if suspicion is None or not suspicion.state.alarm or path.name in heirs:
                continue
            muted = any(self.settled[other.name].state is not State.OK for other in outer)
            if muted and (old is None or old.hidden or path.name in self._active.heirs):
                self.suspicions[path.name] = suspicion._replace(hidden=True)
                self._show(path)

    def _show(self, path: PathService) -> None:
        """Show a hidden suspect in its file systems; in all if no target is behind it."""
        systems = [other for other in self._scene.paths if other.file_system]
        members = set(path.members)
        own = [system for system in systems if not members.isdisjoint(system.members)]
        text = f"silent behind another alarm: {self.settled[path.name].sentence}"
        for system in own or systems:
            verdict = self.settled[system.name]
            sentence = f"{verdict.sentence} {text}" if verdict.reason is Reason.SILENCED else text
            self.settled[system.name] = verdict._replace(
                state=State.CRITICAL, reason=Reason.SILENCED, sentence=sentence
            )


def _has_ended(verdict: Verdict, path: PathService, scene: Scene, previous: ActiveAlarms) -> bool:
    """Return whether a notified suspect has recently ceased to be one."""
    old = previous.suspicions.get(path.name)
    if old is None or not old.slow or verdict.state.alarm:
        return False
    return bool(old.moved_to) or old.ended_at is None or scene.now - old.ended_at <= FADES_S


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


def _borne(earlier: Mapping[str, float]) -> str:
    """Return the sentence on the services that have notified, and when the first of them did."""
    return f"Its alarm is that of {several(tuple(earlier))}, since {moment(min(earlier.values()))}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _behind(shared: Sequence[PathService], suspicions: Mapping[str, Suspicion]) -> set[int]:
    red = ActiveAlarms({}, suspicions).red
    return {place for path in shared if path.name in red for place in path.members}


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
