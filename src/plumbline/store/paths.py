"""The document that check_path reads: the verdict of each path service, and until when it holds."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.reason import Reason
from plumbline.model.standing import NOTHING, Standing
from plumbline.model.state import State
from plumbline.model.validation import numbers, same_schema, times
from plumbline.model.verdict import Figure, Verdict
from plumbline.store.trusted import parse, read

if TYPE_CHECKING:
    from typing import Any, Mapping

PATHS = "/var/lib/plumbline-console/paths.json"
SCHEMA = 2
COLLECTION = "collection"
"""What is asked for in the place of a service: whether suspects are looked for at all."""

_AHEAD_S = 300.0
"""A document may be this far ahead: clocks are stepped."""

_JOURNAL = "see journalctl -u plumbline-console.service on the console"
_REMEDY = "write it on the console with: systemctl start plumbline-console.service"


def document(
    verdicts: Mapping[str, Verdict], now: float, stale_after_s: float, standing: Standing = NOTHING
) -> dict[str, Any]:
    """Return the document form; times in seconds (since the epoch)."""
    return {
        "schema": SCHEMA,
        "written_at": now,
        "stale_after_s": stale_after_s,
        "standing": standing.to_json(),
        "services": {name: _lean(verdict) for name, verdict in verdicts.items()},
    }


def _lean(verdict: Verdict) -> dict[str, Any]:
    """Return the document form without what stands for nothing: a check parses them all."""
    raw = {name: value for name, value in verdict.to_json().items() if value not in (None, (), [])}
    raw["figures"] = [{"label": one.label, "value": one.value} for one in verdict.figures]
    return raw


def load_standing(file: str) -> Standing:
    """Return which alarms stood when a document was written; none where there is no document.

    Raises:
        DocumentError: it is damaged.
    """
    try:
        raw = parse(read(file, "suspects", _REMEDY), file, _REMEDY)
        return Standing.from_json(raw["standing"]) if "standing" in raw else NOTHING
    except DocumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return NOTHING
        raise
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {_REMEDY}") from error


def load_collection(file: str, now: float) -> Verdict:
    """Return the verdict on the document itself: UNKNOWN where it is too old, or of the future.

    Raises:
        DocumentError: naming file and remedy.
    """
    raw = parse(read(file, "suspects", _REMEDY), file, _REMEDY)
    try:
        age_s = _age_s(raw, file, now)
        count = len(raw["services"])
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {_REMEDY}") from error
    text = f"suspects were looked for {_when(age_s)}"
    if _is_old(raw, age_s):
        stale = State.UNKNOWN, Reason.STALE, f"{text}, which is too old; {_JOURNAL}"
        return Verdict("path", COLLECTION, *stale)
    figures = (Figure("age", max(0, round(age_s)), "s"),)
    text = f"{text}, for {count} services"
    return Verdict("path", COLLECTION, State.OK, Reason.FINE, text, figures=figures)


def load_path(file: str, name: str, now: float) -> Verdict:
    """Return the verdict of one service; one that is too old, or of the future, is UNKNOWN.

    Raises:
        DocumentError: naming file and remedy.
    """
    raw = parse(read(file, "suspects", _REMEDY), file, _REMEDY)
    try:
        age_s = _age_s(raw, file, now)
        found = raw["services"].get(name)
        if found is None:
            raise DocumentError(
                f"{file} says nothing about {name}; deploy the roles nagios and console again"
            )
        verdict = Verdict.from_json(found)
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {_REMEDY}") from error
    if _is_old(raw, age_s):
        when = _when(age_s)
        text = f"{name}: suspects were looked for {when}, which is too old; {_JOURNAL}"
        verdict = verdict._replace(state=State.UNKNOWN, reason=Reason.STALE)
        return verdict._replace(sentence=text, evidence=(), figures=())
    return verdict


def _age_s(raw: Mapping[str, Any], file: str, now: float) -> float:
    same_schema(raw, SCHEMA, file, _REMEDY)
    times(written_at=raw["written_at"])
    numbers(stale_after_s=raw["stale_after_s"])
    return now - float(raw["written_at"])


def _is_old(raw: Mapping[str, Any], age_s: float) -> bool:
    return not -_AHEAD_S <= age_s <= float(raw["stale_after_s"])


def _when(age_s: float) -> str:
    return f"{age_s / 60:.0f} min ago" if age_s > 0 else f"{-age_s / 60:.0f} min ahead of now"
