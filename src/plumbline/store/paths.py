"""The document that check_path reads: the verdict of each path service, and until when it holds."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.kinds import numbers, same_schema, times
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.store.snapshot import parse, read

if TYPE_CHECKING:
    from typing import Any, Mapping

PATHS = "/var/lib/plumbline-console/paths.json"
SCHEMA = 2

_AHEAD_S = 300.0
"""A document may be this far ahead: clocks are stepped."""

_REMEDY = "write it on the console with: systemctl start plumbline-console.service"


def document(verdicts: Mapping[str, Verdict], now: float, stale_after_s: float) -> dict[str, Any]:
    """Return the document form; times in seconds (since the epoch)."""
    return {
        "schema": SCHEMA,
        "written_at": now,
        "stale_after_s": stale_after_s,
        "services": {name: _lean(verdict) for name, verdict in verdicts.items()},
    }


def _lean(verdict: Verdict) -> dict[str, Any]:
    """Return the document form without what stands for nothing: a check parses them all."""
    raw = {name: value for name, value in verdict.to_json().items() if value not in (None, (), [])}
    raw["figures"] = [{"label": one.label, "value": one.value} for one in verdict.figures]
    return raw


def load_path(file: str, name: str, now: float) -> Verdict:
    """Return the verdict of one service; one that is too old, or of the future, is UNKNOWN.

    Raises:
        DocumentError: naming file and remedy.
    """
    raw = parse(read(file, "suspects", _REMEDY), file, _REMEDY)
    try:
        same_schema(raw, SCHEMA, file, _REMEDY)
        times(written_at=raw["written_at"])
        numbers(stale_after_s=raw["stale_after_s"])
        age_s = now - raw["written_at"]
        found = raw["services"].get(name)
        if found is None:
            raise DocumentError(
                f"{file} says nothing about {name}; deploy the roles nagios and console again"
            )
        verdict = Verdict.from_json(found)
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {_REMEDY}") from error
    if not -_AHEAD_S <= age_s <= raw["stale_after_s"]:
        when = f"{age_s / 60:.0f} min ago" if age_s > 0 else f"{-age_s / 60:.0f} min ahead of now"
        text = (
            f"{name}: suspects were looked for {when}, which is too old; see "
            "journalctl -u plumbline-console.service on the console"
        )
        verdict = verdict._replace(state=State.UNKNOWN, reason=Reason.STALE)
        return verdict._replace(sentence=text, evidence=(), figures=())
    return verdict
