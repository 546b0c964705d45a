"""``plumbline export``: answer a console that collects, on standard input and output.

It takes its questions from standard input alone, so that it can be the forced command of an ssh
key: whatever the other side wants to run, this is what runs.  It reads, and all that it writes is
what the console suspects of components of this node, a few names.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from plumbline.cli.options import common, option
from plumbline.model.errors import PlumblineError
from plumbline.model.units import parse_duration

HELP = "send the records of this node to a console"
DESCRIPTION = """Answer the requests of plumbline collect, one line of JSON each on standard
input, with what this node has measured since."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common(parser, "--state")
    option(parser, "--wait TIME", "how long to wait for a request", default="1min")


def run(arguments: argparse.Namespace) -> int:
    """Answer until there are no more requests, and return 0; trouble is an answer too."""
    from plumbline.site.answers import answer

    state, wait_s = Path(arguments.state), parse_duration(arguments.wait)
    try:
        answer(state, wait_s)
    except PlumblineError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return error.exit_code
    return 0
