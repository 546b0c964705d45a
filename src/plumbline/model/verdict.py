"""A verdict: state, the ratios it rests on, the sentence, and the evidence."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.model.validation import numbers_or_none, texts

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional


class Figure(NamedTuple):
    """One performance datum; ``value`` None is Nagios's ``U``.  Levels are in the same unit."""

    label: str
    value: Optional[float]
    unit: str = ""
    warning: str = ""
    critical: str = ""
    maximum: Optional[float] = None


class Verdict(NamedTuple):
    """The judgement of one component in one layer, or of a ``group`` of them named so.

    ``reason`` is that of the finding that decided (docs/verdicts.md), ``sentence`` what is said on
    the first line, ``ratio_*`` are measured / reference of the deciding operation,
    ``ratio_runs`` the same of the runs that say most together, whatever their reference,
    ``counts`` is False where the sample must not count against the component, and for a group of
    which nothing is known but that its members are fine.
    """

    layer: str
    component: str
    state: State
    reason: Reason
    sentence: str
    ratio_ceiling: Optional[float] = None
    ratio_baseline: Optional[float] = None
    ratio_peers: Optional[float] = None
    ratio_runs: Optional[float] = None
    counts: bool = True
    evidence: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    group: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the document form; the state by name, the reason by value."""
        raw = self._asdict()
        raw["state"] = self.state.name
        raw["reason"] = self.reason.value
        raw["figures"] = [figure._asdict() for figure in self.figures]
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Verdict:
        """Build from the document form; raise DocumentError for missing or wrong values."""
        try:
            values = dict(raw)
            values["state"] = State[raw["state"]]
            values["reason"] = Reason(raw["reason"])
            values["evidence"] = tuple(raw.get("evidence", ()))
            values["figures"] = tuple(figure_of(figure) for figure in raw.get("figures", ()))
            verdict = cls(**values)
            texts("verdict", (verdict.layer, verdict.component, verdict.sentence))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"a verdict is damaged ({error!r}); judge again with plumbline judge --json"
            ) from error
        return verdict


def figure_of(raw: Mapping[str, Any]) -> Figure:
    """Build a performance datum from its document form; raise TypeError where it is damaged."""
    figure = Figure(**raw)
    texts("figure", (figure.label, figure.unit, figure.warning, figure.critical))
    numbers_or_none(value=figure.value, maximum=figure.maximum)
    return figure
