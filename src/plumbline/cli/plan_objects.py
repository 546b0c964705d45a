"""``plumbline plan --format``: print the objects of a monitoring system."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.errors import DocumentError, UsageError
from plumbline.model.json_text import read_json

if TYPE_CHECKING:
    from plumbline.output.monitored import Sited

FORMATS = ("nagios", "icinga2")

_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


def print_objects(arguments: argparse.Namespace) -> int:
    """Print the objects, as text or by the names of files, and return 0."""
    from plumbline.documents.inventory import need_console_libraries

    if arguments.node is not None:
        raise UsageError("--node shows expectations of one node; objects are those of the site")
    need_console_libraries()
    from plumbline.output.icinga_objects import icinga_objects
    from plumbline.output.monitored import monitored
    from plumbline.output.nagios_objects import nagios_objects
    from plumbline.output.object_options import read_options

    made = {"nagios": nagios_objects, "icinga2": icinga_objects}[arguments.format]
    raw = parse_json(arguments.options or "{}", "--options", "write an object, such as {}")
    options = read_options(raw)
    files = made(monitored(read_sited(arguments), options), options)
    print(json.dumps(files) if arguments.json else "\n".join(files.values()), end="")
    return 0


def read_sited(arguments: argparse.Namespace) -> Sited:
    """Return what is monitored, by an inventory or by a plan that was printed."""
    from plumbline.documents.inventory import plan_of, read_inventory
    from plumbline.output.monitored import printed_plan

    if arguments.inventory:
        return plan_of(read_inventory(arguments.inventory))
    raw = parse_json(_read(arguments.plan), f"plan {arguments.plan}", _REMEDY)
    if not isinstance(raw, dict):
        raise DocumentError(f"plan {arguments.plan} is damaged (no JSON object); {_REMEDY}")
    return printed_plan(raw)


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"plan {name}: {error.strerror}; {_REMEDY}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"plan {name} is no text ({error.reason}); {_REMEDY}") from error


def parse_json(text: str, what: str, remedy: str) -> Any:
    """Return what JSON says; raise DocumentError."""
    try:
        return read_json(text)
    except ValueError as error:
        raise DocumentError(f"{what} is no JSON ({error}); {remedy}") from error
