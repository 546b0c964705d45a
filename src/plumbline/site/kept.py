"""Verdicts kept from one judgement of a site to the next, so that only what is new is judged.

A verdict follows from the plan, the records of its node, the runs that have not ended, the clock
and the code.  The clock counts by comparisons of ages with limits and by ages in texts: texts are
kept with their ages open, and :class:`~plumbline.model.ages.WatchedMoment` says when the first
comparison will come out otherwise.  All else is in what a kept verdict rests on.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

import plumbline
from plumbline.errors import DocumentError, StoreError
from plumbline.model.ages import OPEN, WatchedMoment, filled, parts, seconds_since
from plumbline.model.expectation import Expectations
from plumbline.model.json_text import read_json
from plumbline.model.verdict import Verdict
from plumbline.site.nodes import require
from plumbline.store.conditions import collected_stamp
from plumbline.store.database import Component
from plumbline.store.kept import Kept, KeptAnswers
from plumbline.store.plan import SitePlan

_LOCAL_TIME = "/etc/localtime"


CAUSES, PATHS = "causes", "paths"
"""The names of what explains the alarms of a site, and of what is shown of its paths; each node's
verdicts have its own name."""


class Known(NamedTuple):
    """What was kept, by name, and what the verdicts on each node rest on now."""

    rests_on: Mapping[str, str]
    answers: Mapping[str, Kept]

    def holding(self, name: str, rests_on: str, now: float) -> Optional[Kept]:
        """Return what was kept by a name if it would be found again, else None."""
        found = self.answers.get(name)
        return found if found and found.holds(rests_on, now) else None


def name_of(node: str) -> str:
    """Return the name of the verdicts on a node."""
    return f"node {node}"


def known(
    history: Path, terms: Sequence[object], nodes: Sequence[Expectations], name: str = ""
) -> Known:
    """Return what verdicts on nodes rest on, and the answers that were kept, whatever they rest on.

    ``terms`` is what all of them rest on beside code, time zone and history; of a ``name`` that
    answer alone is read.

    Raises:
        StoreError: the history cannot be read.
    """
    common = repr((*terms, _code(), _time_zone()))
    with KeptAnswers(history) as kept:
        revisions, running = kept.revisions(), kept.running()
        answers = {one.name: one for one in kept.every(name)}
    rests_on = {}
    for node in nodes:
        places = _places(node)
        found = [(place, revisions.get(place, 0), running.get(place)) for place in places]
        rests_on[node.node] = digest((common, found))
    return Known(rests_on, answers)


def keep(history: Path, answers: Sequence[Kept], nodes: Iterable[str]) -> None:
    """Keep new answers, and drop those on nodes that the plan has no longer.

    Where that is not possible, as on a full disk, they are found again next time.
    """
    if answers:
        with suppress(StoreError), KeptAnswers(history) as kept:
            kept.keep(answers, (CAUSES, PATHS, *map(name_of, nodes)))


class Question(NamedTuple):
    """What is asked about a whole site: the name of the answer, and how it is found.

    ``find`` makes it, of JSON's own types, at a moment that is watched; it rests on plan, history
    and conditions, and on what ``rests_on`` says besides, such as symptoms.  ``read`` makes of
    these types what is asked for, and raises what :func:`kept_of_site` suppresses where they are
    others.
    """

    name: str
    rests_on: object
    find: Callable[[float], Any]
    read: Callable[[Any], Any]


def kept_of_site(plan: SitePlan, history: Path, now: float, question: Question) -> Any:
    """Return an answer as it was kept where it still holds, else find it and keep it.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    require(history)
    name, rests_on, find, read_answer = question
    before = known(history, (plan.digest,), tuple(plan.nodes.values()), name)
    stamp = digest((tuple(before.rests_on.values()), collected_stamp(history), rests_on))
    held = before.holding(name, stamp, now)
    if held:
        # what was damaged is found again
        with suppress(ValueError, TypeError, KeyError, DocumentError):
            return read_answer(read_json(held.body))
    moment = WatchedMoment(now)
    found = find(moment)
    body = json.dumps(found, separators=(",", ":"))
    keep(history, [Kept(name, stamp, now, moment.until, body)], plan.nodes)
    return read_answer(found)


def digest(value: object) -> str:
    """Return what tells a value from others, by how it is written."""
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


def written(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as they are kept: with open ages."""
    return json.dumps([one.to_json() for one in verdicts], separators=(",", ":"))


def read(kept: Kept) -> Optional[list[Verdict]]:
    """Return verdicts with open ages; None where what was kept is damaged."""
    try:
        return [Verdict.from_json(one) for one in read_json(kept.body)]
    except (ValueError, TypeError, DocumentError):
        return None


def closed(verdict: Verdict, now: float) -> Verdict:
    """Return a verdict with its ages at a moment, in epoch seconds."""
    figures = tuple(
        one._replace(value=value, unit=unit) if one.unit == OPEN and one.value is not None else one
        for one in verdict.figures
        for value, unit in (seconds_since(one.value or 0.0, now),)
    )
    sentence, *evidence = (
        filled(parts(text), now) for text in (verdict.sentence, *verdict.evidence)
    )
    return verdict._replace(sentence=sentence, evidence=tuple(evidence), figures=figures)


def _places(node: Expectations) -> list[Component]:
    return [(entry["layer"], entry["component"]) for entry in node.entries]


@cache
def _code() -> str:
    """Return what tells this code from any other, by the files that it was read from."""
    folder = Path(plumbline.__file__).parent
    found = [(str(path), path.stat()) for path in sorted(folder.rglob("*.py"))]
    return digest([(name, one.st_size, one.st_mtime_ns) for name, one in found])


def _time_zone() -> tuple[Any, ...]:
    """Return what the dates in texts depend on."""
    try:
        changed = os.stat(_LOCAL_TIME).st_mtime_ns
    except OSError:
        changed = 0
    return os.environ.get("TZ"), os.path.realpath(_LOCAL_TIME), changed
