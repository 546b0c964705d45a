"""The command ``plumbline``: its verbs, their arguments, and the handling of errors.

``people`` and ``machines`` declare every verb; the module of a verb is loaded when it is called, so
it may need libraries that this host does not have.
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
from plumbline.cli.output import CONSOLE_INSTALL, note, remark
from plumbline.cli.people import PEOPLE
from plumbline.model import parts
from plumbline.model.errors import (
    INTERRUPTED,
    PlumblineError,
    StoreError,
    ToolError,
    UsageError,
    reason_in,
)

__all__ = ["main"]

VERBS = tuple(name for name in PEOPLE if " " not in name)
"""Verbs that people call."""

MACHINE_VERBS = tuple(MACHINES)
"""Verbs that roles, timers and playbooks call."""

NODE_MODULES = (
    "topology",
    "probe",
    "probe_caches",
    "probe_confirm",
    "probe_directories",
    "probe_mount",
    "probe_planned",
    "probe_shared",
    "verdicts",
    "records",
    "receive",
    "sample",
)
"""Modules of this package on a node, with all their imports; the console has every module."""

NODE_PARTS = ("facts", "parallel", "space")
"""Parts on a node; the console has every part."""

CONSOLE_LIBRARIES = ("jinja2", "plotly", "pydantic", "rich", "yaml")
"""Libraries of the extra ``console``; a node and a bare installation do not have them."""

NODE_LIBRARY = "numpy"
"""Library for judging, needed on every host; a package of the distribution."""

_EPILOG = """\
for roles, timers and playbooks:
{machine_verbs}

TIME is written 90s, 10m or 10min, 36h, 2d, 1w; SIZE 512MiB or 1GB.

Without inventory and root: plumbline probe ost --mount /scratch
                            plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, 64 usage, 65 document, 69 tool, 74 store,
75 busy, 77 not permitted, 130 interrupted.

Shell completion, where argcomplete is installed: eval "$(register-python-argcomplete plumbline)"
"""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a full or failing disk, if standard output is a file."""


class _Parser(argparse.ArgumentParser):
    """Parser that raises UsageError; argparse's own exit code 2 would mean CRITICAL."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is not a choice, and suggest the nearest one."""
        if action.choices is not None and value not in action.choices:
            # slow to import, and most words are right
            from difflib import get_close_matches

            for choice in get_close_matches(str(value), map(str, action.choices), n=1):
                raise argparse.ArgumentError(action, f"{value!r}: did you mean {choice}?")
        super()._check_value(action, value)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; raise UsageError that names the help of the verb if an option is not known."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            verb = (getattr(parsed, name, None) for name in ("verb", "action"))
            called = " ".join([self.prog, *(word for word in verb if isinstance(word, str))])
            words = " ".join(unknown)
            raise UsageError(f"unrecognized arguments: {words} (see {called} --help)")
        return parsed

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def build_parser(called: Optional[str] = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of the verb ``called`` only.

    If ``called`` is empty, verbs have names and help, and no arguments.
    """
    parser = _Parser(
        prog="plumbline",
        description="Find the slow part of a parallel storage system.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"plumbline {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    actions: dict[str, Any] = {"": verbs}
    for name, verb in {**PEOPLE, **MACHINES}.items():
        parent, _, action = name.rpartition(" ")
        if called == "":
            if not parent:
                verbs.add_parser(name, **_summary(name, verb))
        elif called in (None, parent or action) and parent in actions:
            _add(name, verb, actions[parent], actions)
    lines = (f"    {name:12} {_help(verb)}" for name, verb in MACHINES.items())
    parser.epilog = _EPILOG.format(machine_verbs="\n".join(lines))
    return parser


def _add(name: str, verb: Verb, parsers: Any, actions: dict[str, Any]) -> None:
    """Declare a verb or an action; a verb absent from this host prints where to call it."""
    help_text = _summary(name, verb)
    if not _is_here(verb):
        # no character begins an option: accept all words that follow
        parser = parsers.add_parser(name, add_help=False, prefix_chars="\0", **help_text)
        parser.add_argument("given", nargs=argparse.REMAINDER)
        parser.set_defaults(run=partial(_refuse_absent_verb, verb))
        return
    parser = parsers.add_parser(
        name.rpartition(" ")[2],
        description=verb.description,
        epilog=verb.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **help_text,
    )
    declare(parser, verb.arguments)
    if f"{name} " in "".join(PEOPLE):
        actions[name] = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    else:
        parser.set_defaults(run=partial(_run, verb, name.rpartition(" ")[2]))


def _summary(name: str, verb: Verb) -> dict[str, Any]:
    """Return the line of a verb in the list of verbs; those of machines have another list."""
    return {} if name in MACHINES else {"help": _help(verb)}


def _is_here(verb: Verb) -> bool:
    if verb.part:
        return parts.is_installed(verb.part)
    return find_spec(f"plumbline.cli.{verb.module}") is not None


def _help(verb: Verb) -> str:
    return verb.help if _is_here(verb) else "on the console and the control host"


def _run(verb: Verb, function: str, arguments: argparse.Namespace) -> int:
    package = "plumbline.parts" if verb.part else "plumbline.cli"
    code: int = getattr(import_module(f"{package}.{verb.module}"), function)(arguments)
    return code


def _refuse_absent_verb(verb: Verb, arguments: argparse.Namespace) -> int:
    if verb.part:
        raise parts.missing(verb.part, f"plumbline {arguments.verb}")
    raise UsageError(
        f"this host has what nodes need, without plumbline {arguments.verb}; call it on the "
        "monitoring host or on the control host"
    )


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command line and return its exit code; print an expected error as one sentence."""
    _open_standard_files()
    # no matrix is multiplied, and threads of OpenBLAS cost half as much as the import of numpy
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser(_first_verb(words))
    _complete(parser)
    if not words:
        parser.print_help()
        return UsageError.exit_code
    verb = directories = ""
    try:
        arguments = parser.parse_args(words)
        verb, directories = arguments.verb, getattr(arguments, "directory", "")
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except PlumblineError as error:
        first, *rest = str(error).split("\n")
        remark(first)
        note(*rest)
        return error.exit_code
    except ImportError as error:
        remark(_library_trouble(error, verb))
        return ToolError.exit_code
    except BrokenPipeError:
        # the reader, such as head, has closed the pipe
        _discard_output()
        return 0
    except OSError as error:
        if error.filename is not None:
            remark(
                f"{error.filename}: {reason_in(error)}; give this user access to "
                "it, or name another path"
            )
            return StoreError.exit_code
        if error.errno not in _NO_ROOM:
            raise
        _discard_output()
        remark(f"the output cannot be written: {reason_in(error)}")
        return StoreError.exit_code
    except KeyboardInterrupt:
        kept = "nothing" if verb == "probe" and directories else "what was measured before"
        remark(f"interrupted; {kept} is kept")
        return INTERRUPTED
    return code


def _library_trouble(error: ImportError, verb: str) -> str:
    """Return the sentence on a missing or old library; raise any other error again."""
    library = (error.name or "").split(".")[0]
    if library not in (*CONSOLE_LIBRARIES, NODE_LIBRARY):
        raise error
    absent = isinstance(error, ModuleNotFoundError) and error.name == library
    state = "not installed" if absent else "too old"
    if library == NODE_LIBRARY:
        return f"{library} is {state} on this host; plumbline {verb} needs it: python3-numpy"
    part = {**PEOPLE, **MACHINES}[verb].part if verb else ""
    owner, remedy = (f"part {part}", parts.remedy(part)) if part else ("console", CONSOLE_INSTALL)
    return (
        f"{library} is {state} on this host; plumbline {verb} needs the libraries of the {owner}: "
        + remedy
    )


def _open_standard_files() -> None:
    """Open standard files that the caller has closed, else the next file would get their number."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - to the end
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _first_verb(words: list[str]) -> Optional[str]:
    """Return the first word if it is a verb, or nothing for the help of all and the version.

    None if all verbs may be needed: declaring them takes longer than what most of them do.
    """
    if "_ARGCOMPLETE" in os.environ:
        return None
    first = words[0] if words else "--help"
    if first in ("-h", "--help", "-V", "--version"):
        return ""
    return first if first in VERBS + MACHINE_VERBS else None


def _discard_output() -> None:
    """Discard unprinted output, or Python would report the error again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell's request for completions if argcomplete is installed."""
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ModuleNotFoundError):
            import_module("argcomplete").autocomplete(parser)
