"""check_ost and similar checks: arguments, and the verdict published by this node."""

from __future__ import annotations

from plumbline.doors.runtime import run_check
from plumbline.model.ages import CLOCK_STEP_S
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.store.files import EXPECTATIONS, VERDICTS
from plumbline.store.verdicts import load_published

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from plumbline.doors.runtime import Call
    from plumbline.model.published import Published
    from plumbline.model.verdict import Verdict

HELP = """\
{program} {version}: show the verdict on one component that this node measures

usage: {program} (--component NAME | --group NAME) [options]

  --component NAME      the component
  --group NAME          a whole group of peers instead; a host has none
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence; up to three times
  --expectations FILE   default {expectations}
  --verdicts FOLDER     default {verdicts}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the verdict that the
node has written, when the expectations were replaced, and of a run that has not ended
whether its process is there (/proc).  Levels are those of the policy."""


def run(layer: str, argv: Sequence[str]) -> NoReturn:
    """Print the verdict for ``argv``, which begins with the program's name; end the process."""

    def judge(call: Call, now: float) -> Verdict:
        return _updated(_published(layer, call), now)

    run_check(argv, HELP, judge, expectations=EXPECTATIONS, verdicts=VERDICTS)


def _published(layer: str, call: Call) -> Published:
    component, group = call.options.get("--component", ""), call.options.get("--group", "")
    if bool(component) is bool(group):
        raise UsageError(f"name either --component or --group; see {call.program} --help")
    if group:
        from plumbline.model.layers import LAYERS

        if LAYERS[layer].site_wide:
            raise UsageError("--group: a node measures one host, its own; name it with --component")
    subject = layer, group or component, bool(group)
    expectations = call.options.get("--expectations", EXPECTATIONS)
    try:
        return load_published(call.options.get("--verdicts", VERDICTS), subject, expectations)
    except DocumentError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        # not needed by most checks, which find their verdict
        from plumbline.doors.unfinished import refuse_unexpected

        refuse_unexpected(expectations, subject)
        raise


def _updated(published: Published, now: float) -> Verdict:
    """Return a verdict updated by the clock and the running processes of this node."""
    verdict = published.at(now)
    if not published.running and now >= published.judged_at - CLOCK_STEP_S:
        return verdict
    # not needed by most checks
    from plumbline.doors.unfinished import with_clock, with_runs

    return with_clock(with_runs(verdict, published, now), published, now)
