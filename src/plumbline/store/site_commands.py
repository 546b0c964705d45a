"""Read the commands of the site's own that print symptoms, as the role symptoms wrote them."""

from __future__ import annotations

import os

from plumbline.errors import DocumentError
from plumbline.model.validation import same_schema
from plumbline.store.trusted import parse, read
from plumbline.symptoms.site_command import SiteCommand

SCHEMA = 1

_REMEDY = "correct symptoms_commands and deploy the role symptoms again"


def load_site_commands(path: str) -> tuple[SiteCommand, ...]:
    """Return the commands in their order; none where there is no such file.

    Raises:
        DocumentError: the file is damaged, or somebody else's; naming file and remedy.
    """
    if not os.path.lexists(path):
        return ()
    raw = parse(read(path, "commands", _REMEDY), path, _REMEDY)
    try:
        same_schema(raw, SCHEMA, f"commands {path}", _REMEDY)
        found = tuple(map(SiteCommand.from_json, raw["commands"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"commands {path} are damaged ({error!r}); {_REMEDY}") from error
    except DocumentError as error:
        raise DocumentError(f"commands {path}: {error}; {_REMEDY}") from error
    taken = [one.name for one in found]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice:
        raise DocumentError(f"commands {path} name {twice} twice; {_REMEDY}")
    return found
