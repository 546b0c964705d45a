"""Read this node's flows of shared parts at their moments, or judge the flows of all nodes."""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Iterator, Sequence

from plumbline.cli.measuring import history_of_run, run_options
from plumbline.cli.options import deployed
from plumbline.cli.output import show
from plumbline.cli.progress import print_calls, show_result, verdict_table
from plumbline.measure.flows import commands
from plumbline.measure.shared import flows_sentence, sentence
from plumbline.model.expectation import Expectations
from plumbline.model.record import Record
from plumbline.model.shared import Turn
from plumbline.model.verdict import State
from plumbline.site import shared
from plumbline.site.documents import read_text
from plumbline.site.measure import Result, interruptible
from plumbline.store.history import History


def probe(arguments: argparse.Namespace) -> int:
    """Read the flows or add them up; return the exit code."""
    expectations = deployed(arguments)
    if arguments.component:
        named = [shared.turn_of(expectations, text, time.time()) for text in arguments.component]
    else:
        named = shared.round_of(expectations, time.time())
    if arguments.dry_run:
        return print_calls(call for reads, _ in named for call in commands(expectations, reads))
    with history_of_run(arguments) as history:
        options = run_options(arguments)
        if arguments.flows:
            records = shared.records_in(read_text(arguments.flows, _FLOWS_REMEDY))
            return _sum_up(expectations, named[0][1], records, history, arguments)
        code = 0
        with interruptible():
            for record in shared.drive_turns(expectations, named, history, options.locks):
                turn = Turn.parse(record.run_id, [record.component])
                if shared.is_alone(expectations, turn):
                    code = max(code, _sum_up(expectations, turn, [record], history, arguments))
                else:
                    show(arguments, record, [flows_sentence(record)])
                    code = max(code, 0 if record.rate else State.UNKNOWN)
        return code


_FLOWS_REMEDY = "give the output of plumbline history --json --layer flows"


def _sum_up(
    expectations: Expectations,
    turn: Turn,
    records: Sequence[Record],
    history: History,
    arguments: argparse.Namespace,
) -> int:
    """Record and judge the sum of all nodes' flows; print it and return the exit code."""
    options = run_options(arguments)
    result = shared.keep_sum(expectations, turn, records, history, options)
    return show_result(arguments, result, partial(_sum_lines, expectations))


def _sum_lines(expectations: Expectations, result: Result) -> Iterator[str]:
    for record in result.records:
        (entry,) = expectations.find(record.layer, record.component)
        yield sentence(record, shared.ceiling_of(entry))
    yield from verdict_table(result)
