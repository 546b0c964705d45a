"""A verdict: state, the ratios it rests on, the sentence, and the evidence."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.state import State

if TYPE_CHECKING:
    from typing import Any, Optional


class Figure(NamedTuple):
    """One performance datum; ``value`` None is Nagios's ``U``.  Levels are in the same unit."""

    label: str
    value: Optional[float]
    unit: str = ""
    warning: str = ""
    critical: str = ""
    maximum: Optional[float] = None


class Verdict(NamedTuple):
    """The judgement of one component in one layer.

    ``rule`` is the number of the rule that decided (DESIGN "The verdict"), ``sentence`` what is
    said on the first line, ``ratio_*`` are measured / reference of the deciding operation,
    ``counts`` is False where the sample must not count against the component.
    """

    layer: str
    component: str
    state: State
    rule: int
    sentence: str
    ratio_ceiling: Optional[float] = None
    ratio_baseline: Optional[float] = None
    ratio_peers: Optional[float] = None
    counts: bool = True
    evidence: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document form; the state by name."""
        raw = self._asdict()
        raw["state"] = self.state.name
        raw["figures"] = [figure._asdict() for figure in self.figures]
        return raw
