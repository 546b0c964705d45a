"""check_node: the verdict on the probes of this node, and on the certificates of NRPE.

The file with the verdict cannot show what happens when nothing is written: a run that could not be
recorded leaves a note, and all certificates of NRPE end on one day, when every check of the site
would fail at once.  Hence this check reads both itself.
"""

from __future__ import annotations

import os

from plumbline.doors.call import CERTIFICATES, RENEW_DAYS, number
from plumbline.doors.published_file import published, read, stage
from plumbline.model.ages import CLOCK_STEP_S, age, filled
from plumbline.model.verdict_files import EXPECTATIONS, NODE_FILE, VERDICTS, note_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from plumbline.doors.published_file import Shown

_LAST_DAYS = 7.0
_DAY_S = 86400.0
_MAX_CERTIFICATE_BYTES = 1 << 20
_SEVERITY = ("OK", "WARNING", "UNKNOWN", "CRITICAL")
"""As :func:`plumbline.model.verdict.worst`."""
_REMEDIES = {
    "cert.pem": "deploy this node with site.yml to renew it",
    "ca.pem": "move ca.key and ca.pem of the authority aside, and deploy all hosts with site.yml",
}


def judged(layer: str, options: dict[str, str], now: float) -> Shown:
    """Return the verdict; raise Refusal with the remedy if there is none."""
    folder = options.get("--certificates", CERTIFICATES)
    days = number(options, "--renew-days", "days", RENEW_DAYS, 36500.0)
    verdicts = options.get("--verdicts", VERDICTS)
    raw = published(
        f"{verdicts}/{NODE_FILE}", (layer,), options.get("--expectations", EXPECTATIONS)
    )
    state, text, evidence, figures = _probes(raw, os.path.dirname(os.path.abspath(verdicts)), now)
    for name, remedy in _REMEDIES.items():
        found, words = _certificate(f"{folder}/{name}", remedy, days, now)
        if not words:
            continue
        worse = _SEVERITY.index(found) > _SEVERITY.index(state)
        state, text = (found, f"{words}; {text}") if worse else (state, f"{text}; {words}")
    return state, text, evidence, figures


def _probes(raw: Any, state_folder: str, now: float) -> Shown:
    """Return the verdict on the probes: the worst layers decide."""
    notes = _notes(raw["parts"], (state_folder, raw["locks"]))
    layers = [
        _with_note(stage(part, now)[0], notes.get(name), now) for name, part in raw["parts"].items()
    ]
    state = max((layer[0] for layer in layers), key=_SEVERITY.index, default="UNKNOWN")
    text = "; ".join(layer[1] for layer in layers if layer[0] == state)
    sentence = f"{raw['name']}: {text or 'nothing is expected to be measured here'}"
    if now < raw["judged_at"] - CLOCK_STEP_S:
        state, sentence = "UNKNOWN", filled(raw["ahead"], now)
    evidence = [line for layer in layers for line in (layer[1], *layer[2])]
    return state, sentence, evidence, [figure for layer in layers for figure in layer[3]]


def _notes(layers: Any, folders: tuple[str, str]) -> dict[str, Any]:
    files = [note_file(folder, layer) for layer in layers for folder in folders]
    if not any(map(os.path.lexists, files)):
        return {}
    from plumbline.doors.no_verdict import notes

    return notes(layers, *folders)


def _with_note(layer: Shown, note: Any, now: float) -> Shown:
    """Return the verdict on a layer; WARNING at least if its last run could not be recorded."""
    if note is None:
        return layer
    state, text, evidence, figures = layer
    text = f"{text}; the run {age(note.at, now)} could not be recorded: {note.trouble}"
    return max(state, "WARNING", key=_SEVERITY.index), text, evidence, figures


def _certificate(path: str, remedy: str, days: float, now: float) -> tuple[str, str]:
    """Return the state and the end of a certificate that ends soon, else no words."""
    from plumbline.observe.certificate import ends_at

    try:
        data = read(path, _MAX_CERTIFICATE_BYTES)
        left = (ends_at(data.decode("ascii", "replace")) - now) / _DAY_S
    except (FileNotFoundError, PermissionError):
        # a node without NRPE has none, and a user who may not read it is not asked over NRPE
        return "OK", ""
    except (OSError, ValueError) as error:
        from plumbline.doors.no_verdict import unreadable

        return "WARNING", unreadable(path, "certificate", remedy, error, _MAX_CERTIFICATE_BYTES)
    if left > days:
        return "OK", ""
    state = "WARNING" if left > _LAST_DAYS else "CRITICAL"
    text = f"ends in {left:.0f} d" if left >= 0 else "has ended"
    return state, f"certificate {path} {text}, all checks over NRPE fail then; {remedy}"
