"""A command of the site's own that prints symptoms which only a vendor's tool knows, as JSON.

Its form is described in docs/symptoms.md, "A command of the site".  Nothing of it is believed that
is not understood: one wrong word and the whole look is not available.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple

from plumbline.model.command import lines
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.names import NAME, PATH
from plumbline.model.units import format_duration
from plumbline.model.validation import counts, names, read_json, texts, times, within
from plumbline.model.validation import whole_text as whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node, ask
from plumbline.observe.reported import HOLDS_S
from plumbline.observe.symptom import KIND_OF, KINDS, Direction, Look, Symptom

SCHEMA = 1
MOST_BYTES = 1 << 20
"""What a command may print: a symptom has some 200 bytes."""

_MOST_SYMPTOMS = 1000
_MOST_LETTERS = 300
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
_SEVERITIES = ("OK", "WARNING", "CRITICAL")
_KEYS = frozenset({"schema", "examined", "symptoms", "notes", "looked_at"})
_SYMPTOM_KEYS = frozenset({"component", "kind", "severity", "direction", "sentence", "since"})


class SiteCommand(NamedTuple):
    """What is run, without a shell: its name, one of KINDS, arguments, and seconds at most."""

    name: str
    kind: str
    argv: tuple[str, ...]
    timeout_s: float = 60.0

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> SiteCommand:
        """Build from the document form; raise DocumentError, or KeyError, TypeError, ValueError."""
        command = cls(**{**raw, "argv": tuple(raw["argv"])})
        names("command", (command.name, command.kind, *command.argv))
        NAME.refuse("the command's name", command.name)
        PATH.refuse(f"the program of {command.name}", command.argv[0] if command.argv else "")
        if command.name in KIND_OF:
            raise DocumentError(f"{command.name} is a collector of plumbline; give another name")
        if command.kind not in KINDS:
            raise DocumentError(
                f"the kind of {command.name} is {command.kind!r:.60}; write one of "
                f"{', '.join(KINDS)}"
            )
        within(1, 3600, timeout_s=command.timeout_s)
        return command


def look(node: Node, command: SiteCommand) -> Look:
    """Run the command and return what it prints; raise ToolError, naming it, for anything else."""
    program = command.argv[0]
    try:
        text = ask(node.system, command.argv, command.timeout_s)
    except ToolError as error:
        # what it says may be of any length
        raise ToolError(_clean(str(error))) from error
    try:
        return _look(node, command.name, read_json(text))
    except (KeyError, TypeError, ValueError, AttributeError, DocumentError) as error:
        said = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise ToolError(
            _clean(f"{program} printed no symptoms ({said}); see docs/symptoms.md for their form")
        ) from error


def _look(node: Node, name: str, raw: Any) -> Look:
    if not isinstance(raw, dict):
        raise TypeError("no JSON object")
    _refuse_strange(raw, _KEYS, "the report")
    if raw["schema"] != SCHEMA:
        raise TypeError(f"schema {raw['schema']!r:.20}, this version reads {SCHEMA}")
    counts(examined=raw["examined"])
    _refuse_old(node.now, raw.get("looked_at"))
    found, notes = raw["symptoms"], raw.get("notes", [])
    if not isinstance(found, list) or not isinstance(notes, list):
        raise TypeError("symptoms and notes must be lists")
    if len(found) + len(notes) > _MOST_SYMPTOMS:
        raise TypeError(f"more than {_MOST_SYMPTOMS} symptoms")
    texts("notes", notes)
    known = node.parts.known
    symptoms = tuple(_symptom(name, one, known) for one in found)
    return Look(name, raw["examined"], symptoms, tuple(map(_clean, notes)))


def _refuse_old(now: float, looked_at: Any) -> None:
    """Refuse what was looked at too long ago, where the report says when that was."""
    if looked_at is None:
        return
    times(looked_at=looked_at)
    if now - looked_at > HOLDS_S:
        raise ValueError(f"its look is {format_duration(now - looked_at)} old")


def _symptom(collector: str, raw: Any, known: frozenset[str]) -> Symptom:
    if not isinstance(raw, dict):
        raise TypeError(f"a symptom is {raw!r:.60}, no JSON object")
    _refuse_strange(raw, _SYMPTOM_KEYS, "a symptom")
    values = (raw["component"], raw["kind"], raw["severity"], raw["direction"], raw["sentence"])
    texts("a symptom", values)
    component, kind, severity, direction, sentence = values
    if component not in known:
        raise ValueError(f"the component {component!r:.60} is none that this node knows")
    if not _KIND.fullmatch(kind):
        raise ValueError(f"the kind {kind!r:.60} is no word of small letters, digits and _")
    if severity not in _SEVERITIES:
        raise ValueError(f"the severity {severity!r:.60} is none of {', '.join(_SEVERITIES)}")
    since, said = raw.get("since"), _clean(sentence)
    if since is not None:
        times(since=since)
    if not said:
        raise ValueError("a sentence is empty")
    return Symptom(collector, component, kind, State[severity], Direction(direction), said, since)


def _refuse_strange(raw: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    strange = sorted(raw.keys() - known)
    if strange:
        raise ValueError(f"{what} has the unknown key {strange[0]!r:.60}")


def _clean(text: str) -> str:
    """Return a text on one line that a terminal does not obey, and not longer than a sentence."""
    said = " ".join(lines(whole(text)))
    return said if len(said) <= _MOST_LETTERS else f"{said[: _MOST_LETTERS - 4]} ..."
