"""check_path: arguments, and the verdict on one service."""

from __future__ import annotations

from plumbline.doors.runtime import run_check
from plumbline.model.errors import UsageError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.store.verdicts import COLLECTION, PATHS, load_collection, load_path

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from plumbline.doors.runtime import Call
    from plumbline.model.verdict import Verdict

_HELP = """\
{program} {version}: show the suspects of a file system or a shared component

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
    """Print the verdict for ``argv``, which begins with the program's name; end the process."""
    run_check(argv, _HELP, _judged, document=PATHS)


def _judged(call: Call, now: float) -> Verdict:
    document, service = call.options.get("--document", PATHS), call.options.get("--service")
    if not service:
        raise UsageError(f"name a service with --service; see {call.program} --help")
    if service == COLLECTION:
        return load_collection(document, now)
    return load_path(document, service, now)
