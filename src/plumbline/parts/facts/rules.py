"""Rules of collectors: the symptoms that each can report, as lines of a table."""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.model.symptom import Direction, Symptom
from plumbline.model.verdict import State


class Rule(NamedTuple):
    """Template of a symptom that a collector can report; ``words`` has placeholders in braces."""

    collector: str
    kind: str
    severity: State
    direction: Direction
    words: str

    def symptom(self, component: str, since: Optional[float] = None, **values: object) -> Symptom:
        """Return the symptom of a component, with the placeholders filled in."""
        sentence = self.words.format(**values)
        return Symptom(self.collector, component, *self[1:4], sentence, since)


def rules(collector: str, table: str) -> dict[str, Rule]:
    """Return the rules of a collector by name, from lines of ``KINDS | WEIGHT | WORDS``.

    KINDS is a list of ``KIND``, or ``KIND NAME`` if the name is another; ``{kind}`` in WORDS is the
    kind.  WEIGHT is a severity, with ``lowers`` if the symptom lowers the suspicion.
    """
    by_name = {}
    for line in filter(str.strip, table.splitlines()):
        kinds, weight, words = (" ".join(part.split()) for part in line.split("|"))
        severity, *effect = weight.split()
        direction = Direction(effect[0]) if effect else Direction.RAISES
        for names in kinds.split(", "):
            kind, _, name = names.partition(" ")
            own_words = words.replace("{kind}", kind.replace("_", " "))
            rule = Rule(collector, kind, State[severity.upper()], direction, own_words)
            by_name[name or kind] = rule
    return by_name
