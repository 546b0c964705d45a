"""Matching of kernel messages with the rules for them.

The patterns are compiled here, for those who read messages: a plan only writes them down.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping, Optional

from plumbline.parts.facts.kernel_messages import CONTEXT, HARMLESS, MESSAGES, Message


def _any(texts: Iterable[str]) -> re.Pattern[str]:
    """Compile one pattern that matches if any of these does."""
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", text) for text in texts))


_CONTEXT = tuple((kind, re.compile(text)) for kind, texts in CONTEXT.items() for text in texts)
_FAULTS = tuple((message, re.compile(text)) for message in MESSAGES for text in message.texts)
# nearly all messages match nothing, which one pattern shows faster than 200
_ANY_CONTEXT = _any(text for texts in CONTEXT.values() for text in texts)
_ANY_FAULT = _any(text for message in MESSAGES for text in message.texts)
_ANY_HARMLESS = _any(text for texts in HARMLESS.values() for text in texts)

_MAX_MESSAGE = 1024
"""Most characters of a message, LOG_LINE_MAX of the kernel (kernel/printk/printk.c)."""


def find_context(text: str) -> Mapping[str, re.Match[str]]:
    """Return the matches of a message by kind of CONTEXT."""
    line = text[:_MAX_MESSAGE]
    if not _ANY_CONTEXT.match(line):
        return {}
    return {kind: match for kind, pattern in reversed(_CONTEXT) if (match := pattern.match(line))}


def parse_fault(text: str) -> tuple[Optional[Message], str]:
    """Return the fault in a message, None if there is none, and the name it is about, if any."""
    line = text[:_MAX_MESSAGE]
    if _ANY_FAULT.match(line) and not _ANY_HARMLESS.match(line):
        for message, pattern in _FAULTS:
            if matched := pattern.match(line):
                return message, matched.groupdict().get("name") or ""
    return None, ""
