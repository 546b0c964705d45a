"""The command ``plumbline``: one verb per stage, one module per verb.

A verb module has its line in the list of verbs (``HELP``), perhaps ``DESCRIPTION`` and ``EPILOG``,
``add(parser)``, which declares its arguments, and ``run(arguments) -> int``.
What a verb needs beyond the standard library it imports inside ``run``: nodes have nothing else.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn, Optional, Sequence

from plumbline import __version__
from plumbline.model.command import printable
from plumbline.model.errors import INTERRUPTED, PlumblineError, StoreError, ToolError, UsageError

__all__ = ["main"]

VERBS = (
    "topology",
    "ceiling",
    "plan",
    "simulate",
    "probe",
    "sweep",
    "sample",
    "baseline",
    "judge",
    "locate",
    "latency",
    "history",
    "collect",
    "report",
    "note",
    "status",
    "symptoms",
    "changes",
    "where",
    "jobs",
)
"""Those that people call."""

MACHINE_VERBS = ("investigate", "submit", "export", "publish", "metrics", "counters")
"""Those that roles, timers and playbooks call; the help lists them below the others."""

NODE_VERBS = (
    "topology",
    "probe",
    "sweep",
    "sample",
    "judge",
    "history",
    "note",
    "status",
    "symptoms",
    "changes",
    "where",
    "export",
    "metrics",
    "counters",
)
"""Those that a node has, with all that they import; the console has every verb."""

CONSOLE_LIBRARIES = ("jinja2", "plotly", "pydantic", "rich", "yaml")
"""Modules of the extra ``console``, which a node and a bare installation do not have."""

_EPILOG = """\
for roles, timers and playbooks:
{machine_verbs}

TIME is written 90s, 10m or 10min, 36h, 2d, 1w; SIZE 512MiB or 1GB.

Without inventory and root: plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, 64 usage, 65 document, 69 tool, 74 store,
75 busy, 77 not permitted, 130 interrupted.

Shell completion, where argcomplete is installed: eval "$(register-python-argcomplete plumbline)"
"""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why a file that standard output leads to takes no more."""


class _Unlisted:
    """Takes verbs as argparse does, and keeps their help for a list of its own."""

    def __init__(self, subparsers: Any) -> None:
        self._subparsers = subparsers
        self.listed: dict[str, str] = {}

    def add_parser(self, name: str, help: str, **kwargs: Any) -> argparse.ArgumentParser:  # noqa: A002
        """Return the parser of a verb that the main list leaves out."""
        self.listed[name] = help
        parser: argparse.ArgumentParser = self._subparsers.add_parser(name, **kwargs)
        return parser


class _Parser(argparse.ArgumentParser):
    """Ends with UsageError's code: argparse's own 2 would read as CRITICAL."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UsageError.exit_code, f"{self.prog}: {message}\n")


def build_parser(asked: Optional[str] = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of the verb that is ``asked`` for alone."""
    parser = _Parser(
        prog="plumbline",
        description="Find the slow part of a parallel storage system.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"plumbline {__version__}")
    subparsers = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    if asked:
        _add(asked, subparsers)
        return parser
    for verb in VERBS:
        _add(verb, subparsers)
    unlisted = _Unlisted(subparsers)
    for verb in MACHINE_VERBS:
        _add(verb, unlisted)
    lines = (f"    {verb:12} {text}" for verb, text in unlisted.listed.items())
    parser.epilog = _EPILOG.format(machine_verbs="\n".join(lines))
    return parser


def _add(verb: str, subparsers: Any) -> None:
    """Declare a verb; one that this host was not given says where it is."""
    name = f"plumbline.cli.{verb}"
    if find_spec(name):
        module = import_module(name)
        parser = subparsers.add_parser(
            verb,
            help=module.HELP,
            description=getattr(module, "DESCRIPTION", None),
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add(parser)
        parser.set_defaults(run=getattr(module, "run", None))
        return
    # no character begins an option: all that follows is taken as it is
    where = {"help": "on the console and the control host", "prefix_chars": "\0"}
    parser = subparsers.add_parser(verb, add_help=False, **where)
    parser.add_argument("given", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_absent)


def _absent(arguments: argparse.Namespace) -> int:
    raise UsageError(
        f"this host has what nodes need, without plumbline {arguments.verb}; call it on the "
        "monitoring host or on the control host"
    )


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command line and return its exit code; expected trouble is one sentence on stderr."""
    _open_standard_files()
    words = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser(_asked(words))
    _complete(parser)
    arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except PlumblineError as error:
        # it may quote what somebody else has written
        sentence = "\n".join(map(printable, str(error).split("\n")))
        print(f"plumbline: {sentence}", file=sys.stderr)
        return error.exit_code
    except ImportError as error:
        print(f"plumbline: {_library_trouble(error, arguments.verb)}", file=sys.stderr)
        return ToolError.exit_code
    except BrokenPipeError:
        # whoever reads has seen enough
        _print_no_more()
        return 0
    except OSError as error:
        # one of a named file is for whoever opened that
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        _print_no_more()
        print(f"plumbline: the output cannot be written: {error.strerror}", file=sys.stderr)
        return StoreError.exit_code
    except KeyboardInterrupt:
        print("plumbline: interrupted; what was measured before is kept", file=sys.stderr)
        return INTERRUPTED
    return code


def _library_trouble(error: ImportError, verb: str) -> str:
    """Return the sentence on a library of the console; raise any other error again."""
    library = (error.name or "").split(".")[0]
    if library not in CONSOLE_LIBRARIES:
        raise error
    absent = isinstance(error, ModuleNotFoundError) and error.name == library
    state = "not installed" if absent else "too old"
    return (
        f"{library} is {state} on this host; plumbline {verb} needs the libraries of the console: "
        "pip install 'plumbline[console]'"
    )


def _open_standard_files() -> None:
    """Open what the caller has closed: the next file would have its number and be printed into."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - to the end
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _asked(words: list[str]) -> Optional[str]:
    """Return the verb that a command line begins with: to load all takes a quarter of a second."""
    first = words[0] if words and "_ARGCOMPLETE" not in os.environ else ""
    return first if first in VERBS + MACHINE_VERBS else None


def _print_no_more() -> None:
    """Let go of what could not be printed: Python would complain once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks for completions, where argcomplete is installed."""
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ModuleNotFoundError):
            import_module("argcomplete").autocomplete(parser)
