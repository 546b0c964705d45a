"""The command ``plumbline``: its verbs, their arguments, and what becomes of errors.

``people`` and ``machines`` declare every verb; the module that carries it out is loaded when it is
called, so it may need what this host does not have.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn, Optional, Sequence

from plumbline import __version__
from plumbline.cli.arguments import Verb, declare
from plumbline.cli.machines import MACHINES
from plumbline.cli.output import remark
from plumbline.cli.people import PEOPLE
from plumbline.model.command import printable
from plumbline.model.errors import INTERRUPTED, PlumblineError, StoreError, ToolError, UsageError

__all__ = ["main"]

VERBS = tuple(name for name in PEOPLE if " " not in name)
"""Verbs that people call."""

MACHINE_VERBS = tuple(MACHINES)
"""Verbs that roles, timers and playbooks call."""

NODE_MODULES = (
    "topology",
    "probe",
    "sweep",
    "verdicts",
    "records",
    "symptoms",
    "counters",
)
"""Modules of this room that a node has, with all that they import; the console has every one."""

CONSOLE_LIBRARIES = ("jinja2", "plotly", "pydantic", "rich", "yaml")
"""Modules of the extra ``console``, which a node and a bare installation do not have."""

NODE_LIBRARY = "numpy"
"""The library that judging takes on every host, a package of the distribution."""

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


class _Parser(argparse.ArgumentParser):
    """Ends with UsageError's code: argparse's own 2 would read as CRITICAL."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is no choice, with the one that may have been meant."""
        if action.choices is not None and value not in action.choices:
            # most words are right, and do not wait for it
            from difflib import get_close_matches

            for near in get_close_matches(str(value), map(str, action.choices), n=1):
                raise argparse.ArgumentError(action, f"{value!r}: did you mean {near}?")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UsageError.exit_code, f"{self.prog}: {message}\n")


def build_parser(called: Optional[str] = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of the verb that is ``called`` alone."""
    parser = _Parser(
        prog="plumbline",
        description="Find the slow part of a parallel storage system.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"plumbline {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    actions: dict[str, Any] = {"": verbs}
    for name, verb in {**PEOPLE, **MACHINES}.items():
        of, _, action = name.rpartition(" ")
        if called in (None, of or action) and of in actions:
            _add(name, verb, actions[of], actions)
    lines = (f"    {name:12} {_help(verb)}" for name, verb in MACHINES.items())
    parser.epilog = _EPILOG.format(machine_verbs="\n".join(lines))
    return parser


def _add(name: str, verb: Verb, parsers: Any, actions: dict[str, Any]) -> None:
    """Declare a verb, or an action of one; one that this host was not given says where it is."""
    more: dict[str, Any] = {} if name in MACHINES else {"help": _help(verb)}
    if not _is_here(verb):
        # no character begins an option: all that follows is taken as it is
        parser = parsers.add_parser(name, add_help=False, prefix_chars="\0", **more)
        parser.add_argument("given", nargs=argparse.REMAINDER)
        parser.set_defaults(run=_absent)
        return
    parser = parsers.add_parser(
        name.rpartition(" ")[2],
        description=verb.description,
        epilog=verb.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )
    declare(parser, verb.arguments)
    if f"{name} " in "".join(PEOPLE):
        actions[name] = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    else:
        parser.set_defaults(run=partial(_run, verb.module, name.rpartition(" ")[2]))


def _is_here(verb: Verb) -> bool:
    return find_spec(f"plumbline.cli.{verb.module}") is not None


def _help(verb: Verb) -> str:
    return verb.help if _is_here(verb) else "on the console and the control host"


def _run(module: str, function: str, arguments: argparse.Namespace) -> int:
    code: int = getattr(import_module(f"plumbline.cli.{module}"), function)(arguments)
    return code


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
    if not words:
        parser.print_help()
        return UsageError.exit_code
    arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except PlumblineError as error:
        # it may quote what somebody else has written
        remark("\n".join(map(printable, str(error).split("\n"))))
        return error.exit_code
    except ImportError as error:
        remark(_library_trouble(error, arguments.verb))
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
        remark(f"the output cannot be written: {error.strerror}")
        return StoreError.exit_code
    except KeyboardInterrupt:
        remark("interrupted; what was measured before is kept")
        return INTERRUPTED
    return code


def _library_trouble(error: ImportError, verb: str) -> str:
    """Return the sentence on a library of the console; raise any other error again."""
    library = (error.name or "").split(".")[0]
    if library not in (*CONSOLE_LIBRARIES, NODE_LIBRARY):
        raise error
    absent = isinstance(error, ModuleNotFoundError) and error.name == library
    state = "not installed" if absent else "too old"
    if library == NODE_LIBRARY:
        return f"{library} is {state} on this host; plumbline {verb} needs it: python3-numpy"
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
