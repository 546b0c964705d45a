"""Nagios Core 4: objects of a plan, one file for each kind.

A semicolon begins a comment, an exclamation mark separates the arguments of a check, a dollar sign
begins a macro: all are escaped.
"""

from __future__ import annotations

import shlex
from typing import Iterable

from plumbline.doors.monitored import Monitored, ObjectOptions, templates
from plumbline.model.errors import DocumentError

_FILES = ("templates", "commands", "groups", "hosts", "services", "dependencies")
"""Files in their reading order."""


def nagios_objects(watched: Monitored, options: ObjectOptions) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        DocumentError: a value cannot be written as one line.
    """
    environment = templates(one_line)
    environment.filters.update(argument=argument, word=shell_word, states=states_text)
    return {
        f"{name}.cfg": environment.get_template(f"nagios/{name}.cfg").render(
            watched=watched, options=options
        )
        for name in _FILES
    }


def one_line(value: object) -> str:
    """Return a value as one line, escaped for Nagios."""
    text = str(value)
    if not text.isprintable() or text.endswith("\\"):
        raise DocumentError(
            f"{text!r:.80} cannot be written for Nagios, which reads one line; "
            "remove line breaks, control characters and a backslash at its end"
        )
    return text.replace(";", "\\;")


def argument(text: str) -> str:
    """Return one argument of a check command."""
    return text.replace("\\", "\\\\").replace("!", "\\!").replace("$", "$$")


def shell_word(path: str) -> str:
    """Return a path as one word for the shell that Nagios starts."""
    return shlex.quote(path).replace("$", "$$")


def states_text(states: Iterable[str]) -> str:
    """Return notified states as Nagios lists them; n for none."""
    return ",".join(states) or "n"
