"""Arguments of verbs: functions that declare them, and arguments common to several verbs.

An option is spelled as in the help: ``-o, --output FILE``, or ``--json`` for a switch.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.units import parse_bytes, parse_duration
from plumbline.store.files import EXPECTATIONS, HISTORY, LOCKS, PLAN, SNAPSHOT, STATE

Container = argparse._ActionsContainer
Argument = Callable[[Container], object]
"""Function that declares an argument in a parser or group."""


def option(spelling: str, text: str, default: Any = None, **more: Any) -> Argument:
    """Return an option with its help ``text``, to which the default is added.

    A SIZE is read as bytes and a TIME as seconds; if the default is a number, the value must have
    its type. ``more`` goes to argparse.
    """
    *short, long = spelling.split(", ")
    name, _, metavar = long.partition(" ")
    more["help"] = text
    if not metavar and "choices" not in more:
        more["action"] = "store_true"
    else:
        more.update(metavar=metavar or None, default=default)
        if isinstance(default, (int, float)):
            more.setdefault("type", type(default))
        kind = more.get("type", metavar)
        more["type"] = _TYPES.get(kind, more.get("type"))
        if default or default == 0:
            more["help"] += " (default: %(default)s)"
    return lambda container: container.add_argument(*short, name, **more)


def _number(kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        whole = "whole " if kind is int else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a {whole}number") from error


def _quantity(parse: Callable[[str], float], text: str) -> float:
    try:
        return parse(text)
    except DocumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _pair(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH; write for example a=/mnt/a")
    return name, path


def within(kind: object, least: str, most: str = "") -> Callable[[str], Any]:
    """Return the type of an option with bounds, which are included and written like its values."""
    read = _READERS[kind]

    def bounded(text: str) -> Any:
        value = read(text)
        if not read(least) <= value <= read(most or text):
            bounds = f"{least} to {most}" if most else f"{least} or more"
            raise argparse.ArgumentTypeError(f"{text!r} is out of range; give {bounds}")
        return value

    return bounded


_READERS: dict[object, Callable[[str], Any]] = {
    "SIZE": partial(_quantity, parse_bytes),
    "TIME": partial(_quantity, parse_duration),
    "NAME=PATH": _pair,
    **{kind: partial(_number, kind) for kind in (int, float)},
}
_TYPES = {**_READERS, "SIZE": within("SIZE", "1B")}
"""Functions that read a value, by its type or its name in the help; argparse reports the error."""

COUNT = within(int, "1")


def positional(name: str, **more: Any) -> Argument:
    """Return an argument without a name on the command line."""
    return lambda container: container.add_argument(name, **more)


def declare(container: Container, arguments: tuple[Argument, ...]) -> None:
    """Declare arguments in a parser or group."""
    for argument in arguments:
        argument(container)


def group(title: str, *arguments: Argument) -> Argument:
    """Return arguments shown under a title in the help."""
    return lambda container: declare(container.add_argument_group(title), arguments)


def either(*arguments: Argument, required: bool = False) -> Argument:
    """Return mutually exclusive arguments."""
    return lambda container: declare(
        container.add_mutually_exclusive_group(required=required), arguments
    )


class Verb(NamedTuple):
    """A verb or an action of a verb, and the module with its function.

    The module is one of ``plumbline.cli``, or ``PART.MODULE`` of a part.  The function has the name
    of the verb or action; a verb with actions has no function.
    """

    module: str
    help: str
    arguments: tuple[Argument, ...]
    description: Optional[str] = None
    epilog: Optional[str] = None

    @property
    def part(self) -> str:
        """Return the name of the part that has the verb, empty for the core."""
        return self.module.partition(".")[0] if "." in self.module else ""


class Verbs(dict[str, Verb]):
    """Verbs by name; an action is named ``VERB ACTION`` and follows its verb."""

    def add(self, place: str, text: str, *arguments: Argument, **more: str) -> None:
        """Add ``MODULE.VERB`` with its help; ``more`` has its description and epilog."""
        module, _, name = place.rpartition(".")
        self[name] = Verb(module, text, arguments, **more)


INVENTORY = option("-i, --inventory DIR", "folder of the inventory", required=True)
SITE_PLAN = option("--plan FILE", "output of plumbline plan --json", required=True)
DEPLOYED = option("--expectations FILE", "deployed plan", EXPECTATIONS)
NEWEST = option("--snapshot FILE", "newest records", SNAPSHOT)
RECORDS = option("--state DIR", "folder of records", STATE)
LOCK_FOLDER = option("--locks DIR", "folder of locks", LOCKS)
QUIET = option("--quiet", "show no progress")
CONSOLE_PLAN = option("--plan FILE", "plan of the site", PLAN)
CONSOLE_HISTORY = option("--history FILE", "history of the site", HISTORY)
LAST_RUN = option("--last-run", "judge the last run alone, without earlier ones")
OUTPUT = option("-o, --output FILE", "file to replace (default: standard output)")
JSON = option("--json", "print the result as JSON")
VERBOSE = option("-v, --verbose", "show the evidence")
OWN_EXPECTATIONS = option("--expectations PATH", "expectations of this node")

SITE = (
    option(
        "--plan FILE",
        "whole site: output of plumbline plan --json; the console's own where no node is deployed",
    ),
    option("--history FILE", "with --plan: history of all its nodes"),
)
"""Options that choose a whole site instead of this node."""

SOURCE = (DEPLOYED, NEWEST, *SITE)
"""Options that choose the node or site to judge."""

AUTHORITY = (
    option("--token-file FILE", "bearer token, one line", type=Path),
    option("--ca FILE", "certificate of its authority (default: system's)", type=Path),
)

RANKS = (
    option("--test NAME", "I/O pattern: posix-fpp-10k, ... (default: ost)"),
    option("--clients HOST,...", "HOST or HOST:RANKS (default: this host)"),
    option("--hostfile FILE", "clients, one host per line"),
    option("--seconds TIME", "limit per operation (default: 60s)"),
    option("--fixed-time", "run for --seconds instead of --bytes"),
    option("--budget SIZE", "most bytes to write (default: 64GiB)"),
    option("--direct", "bypass the page cache (default: off)"),
    option("--launcher PROGRAM", "mpirun or srun (default: mpirun)"),
    option("--launcher-option WORD", "option for the launcher, repeatable", action="append"),
    option("--python PATH", "Python interpreter that has mpi4py (default: python3)"),
    option("--work DIR", "folder shared by all clients"),
    option("--file-system NAME", "file system, or one of its planned tests: NAME:TEST"),
)
"""Arguments of every verb that starts ranks."""
