"""Ask lnetctl how healthy LNet is: not at each look, and never beside one that hangs.

LNet's messages wait for the moment in which lnetctl reads, so it is asked once a minute; what it
said holds until then.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable, Mapping, Sequence

from plumbline.counters.lnet_health import (
    INTERFACES,
    PEER_INTERFACES,
    interface_health,
    peer_health,
    why_nothing,
)
from plumbline.counters.places import Place
from plumbline.errors import ToolError
from plumbline.model.command import CommandRunner
from plumbline.run.bounded_reads import Answer
from plumbline.run.clock import Clock
from plumbline.run.command import any_abandoned
from plumbline.targets.query import complaint

MOST_BYTES = 32 << 20
"""Of 17,000 peers; each takes 1.9 kB at detail 4."""

PLACES: Mapping[Sequence[str], Place] = {
    argv: Place(" ".join(argv), parse, ())
    for argv, parse in ((INTERFACES, interface_health), (PEER_INTERFACES, peer_health))
}

_EVERY_S = 60.0
_LIMIT_S = 5.0


class LnetHealth:
    """What lnetctl said last, and how often it gave no answer."""

    def __init__(
        self, runner: CommandRunner, clock: Clock, hangs: Callable[[], bool] = any_abandoned
    ) -> None:
        """Take who runs commands, and who knows whether one of them cannot be ended."""
        self._runner = runner
        self._clock = clock
        self._hangs = hangs
        self._asked_at = -_EVERY_S
        self._answers: tuple[Answer, ...] = ()
        self.timeouts: Counter[str] = Counter()

    def answers(self) -> tuple[Answer, ...]:
        """Return what each command printed, at most a minute ago, or why it printed nothing."""
        now = self._clock.monotonic()
        if not self._answers or now - self._asked_at >= _EVERY_S:
            self._asked_at = now
            self._answers = tuple(self._ask(argv) for argv in PLACES)
        return self._answers

    def _ask(self, argv: Sequence[str]) -> Answer:
        path = PLACES[argv].path
        if self._hangs():
            return Answer(path, "", "hung")
        try:
            done = self._runner(argv, _LIMIT_S)
        except ToolError as error:
            return Answer(path, str(error), "failed")
        if done.ok:
            return Answer(path, done.stdout)
        if done.timed_out or done.hung:
            self.timeouts[path] += 1
            return Answer(path, "", "timeout")
        why = why_nothing(done.stderr + done.stdout)
        return Answer(path, complaint(done) if why == "failed" else "", why)
