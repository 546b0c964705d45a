"""Verdicts and notes that are published for services; a check reads and prints them.

A published verdict changes with time only because results become stale.  These moments are known in
advance, so the document has a stage for each, and its texts leave ages open.  An unfinished run is
published with what is true of it once it hangs or has been interrupted, which the check finds out.

:mod:`plumbline.doors.published_file` reads this form without this module.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.model.ages import CLOCK_STEP_S, seconds_since
from plumbline.model.ages import OPEN as OPEN_AGE
from plumbline.model.codec import form, lenient, read, write
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.series import Process
from plumbline.model.service import NODE
from plumbline.model.validation import counts, numbers, same_schema, texts, times, unicode_text
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.model.verdict_files import NODE_FILE, SCHEMA, file_name

Parts = tuple[Union[str, float, tuple[float]], ...]

_MARK = re.compile("\x02([0-9]{1,12}(?:[.][0-9]+)?)\x03")


def parts(text: str) -> Parts:
    """Split a text at its open ages; return texts and moments in turn."""
    pieces = _MARK.split(text)
    return tuple(float(piece) if place % 2 else piece for place, piece in enumerate(pieces))


def filled_figure(figure: Figure, now: float) -> Figure:
    """Return a figure with its age at ``now``; as it is unless the age is open."""
    if figure.unit != OPEN_AGE or figure.value is None:
        return figure
    value, unit = seconds_since(figure.value, now)
    return figure._replace(value=value, unit=unit)


class Stage(NamedTuple):
    """Verdict of a service from ``since``, in epoch seconds, until the next stage."""

    since: float
    state: State
    reason: Reason
    sentence: Parts
    evidence: tuple[Parts, ...] = ()
    figures: tuple[Figure, ...] = ()

    @classmethod
    def of(cls, since: float, verdict: Verdict) -> Stage:
        """Return the stage of a verdict that was judged at an open moment."""
        sentence, evidence = parts(verdict.sentence), tuple(map(parts, verdict.evidence))
        return cls(since, verdict.state, verdict.reason, sentence, evidence, verdict.figures)

    def to_json(self, lines: dict[Parts, int]) -> list[Any]:
        """Return the document form; add its evidence to ``lines``, which numbers the lines."""
        evidence = [lines.setdefault(line, len(lines)) for line in self.evidence]
        figures = [_without_defaults(figure) for figure in self.figures]
        return [self.since, self.state.name, self.reason.value, self.sentence, evidence, figures]


def _without_defaults(figure: Figure) -> Sequence[Any]:
    """Return the fields of a figure up to the last that is set, because a check reads them all."""
    cells = list(figure)
    while cells[-1] in ("", None) and len(cells) > 2:
        cells.pop()
    return cells


class Run(NamedTuple):
    """Unfinished run of a component.

    ``process`` is its process, None if that is on another node.  After ``hangs_at``, in epoch
    seconds, ``state`` and ``hanging`` replace the verdict.  ``remark`` is added to its sentence if
    the run was ``interrupted``, or its process is gone.
    """

    interrupted: bool
    process: Optional[Process]
    hangs_at: float
    state: State
    hanging: Parts
    remark: str

    def to_json(self) -> list[Any]:
        """Return the document form."""
        process = self.process and [*self.process]
        return [self.interrupted, process, self.hangs_at, self.state.name, *self[4:]]


class Part(NamedTuple):
    """Verdict on one service: at least one stage; ``title`` begins the texts of its document."""

    stages: tuple[Stage, ...]
    running: tuple[Run, ...] = ()
    title: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        lines: dict[Parts, int] = {}
        stages = [stage.to_json(lines) for stage in self.stages]
        running = [run.to_json() for run in self.running]
        # stages share most lines of evidence
        return {"title": self.title, "running": running, "stages": stages, "lines": list(lines)}


class Published(NamedTuple):
    """Published verdicts, by the names of their parts, judged at ``judged_at`` in epoch seconds.

    ``stamp`` identifies the expectations used, empty if there are none; ``locks`` is the folder of
    the locks of a node's runs.  If the clock is more than ``ahead_s`` behind ``judged_at``, the
    text ``ahead`` replaces all sentences.  If the document is older than ``stale_after_s``, or what
    a check is told instead, ``stale`` does, in which ``{limit}`` stands for that time.
    """

    layer: str
    name: str
    group: bool
    stamp: str
    judged_at: float
    parts: Mapping[str, Part]
    ahead: Parts
    ahead_s: float = CLOCK_STEP_S
    stale: Parts = ()
    stale_after_s: Optional[float] = None
    locks: str = ""

    @property
    def file(self) -> str:
        """Return the name of the file in the folder of the verdicts of a node."""
        subject: Subject = self.layer, self.name, self.group
        return NODE_FILE if self.layer == NODE else file_name(subject)

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **self._asdict(), "parts": write(dict(self.parts))}


def refuse_damaged(raw: Mapping[str, Any], what: str, remedy: str) -> None:
    """Raise DocumentError, naming the document, unless a check can read it."""
    try:
        same_schema(raw, SCHEMA, what, remedy)
        texts("verdict", (raw["layer"], raw["name"], raw["stamp"], raw["locks"]))
        times(judged_at=raw["judged_at"])
        numbers(ahead_s=raw["ahead_s"])
        if raw["stale_after_s"] is not None:
            numbers(stale_after_s=raw["stale_after_s"])
        if type(raw["group"]) is not bool:
            raise TypeError("group is no yes or no")
        _refuse_text(raw["ahead"])
        _refuse_text(raw["stale"])
        for part in raw["parts"].values():
            _refuse_part(part)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"{what} is damaged ({error!r}); {remedy}") from error


def _refuse_part(part: Mapping[str, Any]) -> None:
    if type(part["running"]) is not list:
        raise TypeError("running is no list")
    for interrupted, process, hangs_at, state, hanging, remark in part["running"]:
        if type(interrupted) is not bool:
            raise TypeError("interrupted is no yes or no")
        if process is not None:
            read(Process, process)
        times(hangs_at=hangs_at)
        State[state]
        _refuse_text(hanging)
        texts("remark", (remark,))
    for line in part["lines"]:
        _refuse_text(line)
    for stage in part["stages"]:
        _refuse_stage(stage, part["lines"])
    if part["stages"][0][0] != 0:
        raise ValueError("the first stage begins later")
    texts("title", (part["title"],))


def _refuse_stage(stage: Sequence[Any], lines: Sequence[Any]) -> None:
    since, state, reason, sentence, evidence, figures = stage
    numbers(since=since)
    State[state], Reason(reason)
    _refuse_text(sentence)
    counts(**{str(place): line for place, line in enumerate(evidence)})
    [lines[line] for line in evidence]
    for cells in figures:
        read(Figure, dict(zip(Figure._fields, cells)))


def _refuse_text(pieces: Any) -> None:
    if type(pieces) is not list:
        raise TypeError(f"text is {pieces!r:.60}, which is no list")
    for piece in pieces:
        if not isinstance(piece, str):
            times(moment=piece[0] if type(piece) is list else piece)


@lenient
@form(1, "note of a run", "the next run writes it again")
class Unrecorded(NamedTuple):
    """Note of the last run of a layer, which could not be recorded.

    ``at`` is in seconds since the epoch; ``state`` the folder whose history could not be written;
    ``trouble`` the reason, with a remedy.
    """

    layer: Annotated[str, unicode_text]
    at: Annotated[float, times]
    state: Annotated[str, unicode_text]
    trouble: Annotated[str, unicode_text]
