"""Verdicts and notes that a node publishes for its services; a check reads and prints them.

A published verdict changes with time only because results become stale.  These moments are known in
advance, so the document has a stage for each, and its texts leave ages open.
"""

from __future__ import annotations

from plumbline.model.ages import filled
from plumbline.model.codec import form, lenient, read
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import counts, numbers, same_schema, texts, times, unicode_text
from plumbline.model.verdict import Figure, Reason, State, Verdict

if TYPE_CHECKING:
    from typing import Annotated, Any, Mapping, Optional, Sequence

    from plumbline.model.ages import Parts

SCHEMA = 1

_REMEDY = "write it again with: plumbline judge --publish"


class Stage(NamedTuple):
    """Verdict of a service from ``since``, in epoch seconds, until the next stage."""

    since: float
    state: State
    reason: Reason
    sentence: Parts
    evidence: tuple[Parts, ...]
    figures: tuple[Figure, ...]

    def to_json(self, lines: dict[Parts, int]) -> list[Any]:
        """Return the document form; add its evidence to ``lines``, which numbers the lines."""
        evidence = [lines.setdefault(line, len(lines)) for line in self.evidence]
        words = self.state.name, self.reason.value
        return [self.since, *words, self.sentence, evidence, self.figures]

    @classmethod
    def from_json(cls, raw: Sequence[Any], lines: Sequence[Parts]) -> Stage:
        """Build from the document form; raise LookupError, TypeError or ValueError."""
        since, state, reason, sentence, evidence, figures = raw
        numbers(since=since)
        counts(**{str(place): line for place, line in enumerate(evidence)})
        figures = tuple(read(Figure, dict(zip(Figure._fields, cells))) for cells in figures)
        evidence = tuple(lines[line] for line in evidence)
        return cls(since, State[state], Reason(reason), _text(sentence), evidence, figures)


def _text(pieces: Any) -> Parts:
    if type(pieces) is not list:
        raise TypeError(f"text is {pieces!r:.60}, which is no list")
    for piece in pieces:
        if not isinstance(piece, str):
            times(moment=piece)
    return tuple(pieces)


class Published(NamedTuple):
    """Published verdict on one service.

    ``stamp`` identifies the expectations used, ``judged_at`` is in epoch seconds.  A run of the
    component hangs after ``hung_after_s``, None for a group, which has no runs of its own;
    ``running`` are the unfinished runs in document form.  There is at least one stage.
    """

    layer: str
    name: str
    group: bool
    stamp: str
    judged_at: float
    hung_after_s: Optional[float]
    running: tuple[Any, ...]
    stages: tuple[Stage, ...]

    def at(self, now: float) -> Verdict:
        """Return the verdict at ``now``, in epoch seconds, without regard to unfinished runs."""
        stage = self.stages[0]
        for later in self.stages[1:]:
            stage = later if now >= later.since else stage
        return Verdict(
            self.layer,
            self.name,
            stage.state,
            stage.reason,
            filled(stage.sentence, now),
            evidence=tuple(filled(line, now) for line in stage.evidence),
            figures=stage.figures,
            group=self.group,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        lines: dict[Parts, int] = {}
        stages = [stage.to_json(lines) for stage in self.stages]
        # stages share most lines of evidence
        return {"schema": SCHEMA, **self._asdict(), "stages": stages, "lines": list(lines)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], file: str) -> Published:
        """Build from the document form; raise DocumentError with the name of the file."""
        try:
            same_schema(raw, SCHEMA, f"verdict {file}", _REMEDY)
            values = {key: raw[key] for key in cls._fields}
            texts("verdict", (raw["layer"], raw["name"], raw["stamp"]))
            times(judged_at=raw["judged_at"])
            if raw["hung_after_s"] is not None:
                numbers(hung_after_s=raw["hung_after_s"])
            if type(raw["group"]) is not bool or type(raw["running"]) is not list:
                raise TypeError("group is no yes or no, or running is no list")
            values["running"] = tuple(raw["running"])
            lines = tuple(map(_text, raw["lines"]))
            values["stages"] = tuple(Stage.from_json(stage, lines) for stage in raw["stages"])
            values["stages"][0]  # raises IndexError if there is none
            return cls(**values)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(f"verdict {file} is damaged ({error!r}); {_REMEDY}") from error


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
