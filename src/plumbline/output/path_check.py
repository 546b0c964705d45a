"""check_path: its arguments, and what it says of one service."""

from __future__ import annotations

import time

from plumbline import __version__
from plumbline.errors import UsageError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.state import State
from plumbline.output.call import TIMEOUT_S, pairs, timeout
from plumbline.output.plugin import plugin_output
from plumbline.output.runtime import conclude, limited
from plumbline.store.paths import COLLECTION, PATHS, load_collection, load_path

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from plumbline.model.verdict import Verdict

_WITH_VALUE = {
    "--service": "--service",
    "-s": "--service",
    "--timeout": "--timeout",
    "-t": "--timeout",
    "--document": "--document",
}
_HELP = """\
{program} {version}: say which components are suspects, of a file system or a shared component

usage: {program} --service NAME [options]

  -s, --service NAME    kind and name, for example 'file system scratch' or 'server oss2';
                        'collection': whether suspects are looked for at all
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence
  --document FILE       default {document}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the document and nothing else."""


def run(argv: Sequence[str]) -> NoReturn:
    """Say what ``argv``, the program's name first, asks for; end the process."""
    conclude(argv, lambda program, service: _outcome(program, service, argv[1:]))


def _outcome(program: str, service: str, argv: Sequence[str]) -> tuple[State, str]:
    options = tuple(pairs(program, argv, _WITH_VALUE))
    given = dict(options)
    if "--help" in given:
        words = {"program": program, "version": __version__}
        return State.UNKNOWN, f"{_HELP.format(**words, timeout=TIMEOUT_S, document=PATHS)}\n"
    if "--version" in given:
        return State.UNKNOWN, f"{program} {__version__} (plumbline)\n"
    if not given.get("--service"):
        raise UsageError(f"name a service with --service; see {program} --help")
    with limited(timeout(given)):
        found = _found(given.get("--document", PATHS), given["--service"], time.time())
    verbosity = sum(name == "--verbose" for name, _ in options)
    return found.state, plugin_output(service, found, verbosity)


def _found(document: str, service: str, now: float) -> Verdict:
    if service == COLLECTION:
        return load_collection(document, now)
    return load_path(document, service, now)
