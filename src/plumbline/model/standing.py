"""Which alarms stand: of which services somebody was notified, and which parts are suspects."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.state import State
from plumbline.model.validation import times

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional


class Suspicion(NamedTuple):
    """Since when a path service is in alarm, in which state; ``ended_at`` since when it fades.

    Only what was ``slow`` fades: a server that answers again answers.
    """

    since: float
    state: State
    slow: bool
    ended_at: Optional[float] = None


class Standing(NamedTuple):
    """``notified`` has the beginnings of alarms of services, by host and description.

    Times are in seconds since the epoch.  A service that was silent behind a suspect is no part of
    it.  ``suspicions`` are by the names of path services.
    """

    notified: Mapping[str, float]
    suspicions: Mapping[str, Suspicion]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "notified": dict(self.notified),
            "suspicions": {
                name: {**one._asdict(), "state": one.state.name}
                for name, one in self.suspicions.items()
            },
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Standing:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        suspicions = {name: _suspicion(one) for name, one in raw["suspicions"].items()}
        for name, since in raw["notified"].items():
            times(**{str(name): since})
        return cls(dict(raw["notified"]), suspicions)


NOTHING = Standing({}, {})


def _suspicion(raw: Mapping[str, Any]) -> Suspicion:
    found = Suspicion(raw["since"], State[raw["state"]], raw["slow"] is True, raw["ended_at"])
    times(since=found.since)
    if found.ended_at is not None:
        times(ended_at=found.ended_at)
    return found
