"""What ``plumbline investigate`` is asked, and how it stands: a document, see docs/debugging.md."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from plumbline.errors import DocumentError, UsageError
from plumbline.locate.investigation import Budget
from plumbline.locate.step import ALL_AT_ONCE, Step
from plumbline.store.trusted import parse, read
from plumbline.units import parse_bytes, parse_duration

_REMEDY = "docs/debugging.md says what it holds"
_UNBOUNDED = "1000 TB"
_CLOSING_S = 30.0
"""Of the budget: to bring back what was measured, to judge it, and to have Nagios look at it."""

_KEYS = {
    "targets",
    "known",
    "budget",
    "budget_bytes",
    "elapsed_s",
    "done",
    "begun",
    "silent",
    "outside",
    "symptoms",
    "forks",
}


class Request(NamedTuple):
    """A question and how it stands.

    ``known`` are components that were not fine before, the worst first; ``begun`` says by each
    node's own clock, in seconds since the epoch, what counts; ``forks`` nodes are asked at once.
    ``outside`` are nodes that answer perhaps, and that nothing may be measured on.
    """

    targets: tuple[str, ...]
    known: tuple[str, ...]
    left: Budget
    done: tuple[Step, ...]
    begun: Mapping[str, float]
    silent: tuple[str, ...]
    outside: tuple[str, ...]
    symptoms: Mapping[str, Any]
    forks: int

    @property
    def unasked(self) -> tuple[str, ...]:
        """Return the nodes that measure nothing, whatever the reason."""
        return (*self.silent, *self.outside)


def read_request(name: str) -> Request:
    """Return the request in a file.

    Raises:
        DocumentError: it is missing or damaged.
        UsageError: a budget that allows nothing.
    """
    raw = parse(read(name, "request", _REMEDY), name, _REMEDY)
    try:
        if unknown := sorted(set(raw) - _KEYS):
            raise DocumentError(f"request {name} has the unknown key {unknown[0]!r}; leave it out")
        done = tuple(Step.from_json(step) for step in raw.get("done", ()))
        return Request(
            tuple(raw.get("targets", ())),
            tuple(raw.get("known", ())),
            _left(raw, done),
            done,
            {node: float(at) for node, at in raw.get("begun", {}).items()},
            tuple(raw.get("silent", ())),
            tuple(raw.get("outside", ())),
            dict(raw.get("symptoms", {})),
            max(1, int(raw.get("forks", ALL_AT_ONCE))),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DocumentError(f"request {name} is damaged ({error!r}); {_REMEDY}") from error


def _left(raw: Mapping[str, Any], done: tuple[Step, ...]) -> Budget:
    """Return what is left of the budget after the steps so far, less what the end takes."""
    allowed = _seconds(raw.get("budget", "5m")) - _CLOSING_S
    moved = sum(step.bytes for step in done)
    return Budget(
        allowed - float(raw.get("elapsed_s", 0)),
        _bytes(raw.get("budget_bytes", _UNBOUNDED)) - moved,
    )


def _seconds(text: str) -> float:
    seconds = parse_duration(text)
    if seconds <= _CLOSING_S:
        raise UsageError(
            f"a budget of {text} is no time to measure anything: {_CLOSING_S:.0f} s of it are kept "
            "for bringing the results back; write 5m"
        )
    return seconds


def _bytes(text: str) -> int:
    size = parse_bytes(text)
    if size <= 0:
        raise UsageError(f"a budget of {text} moves nothing; write for example 50 GB")
    return size
