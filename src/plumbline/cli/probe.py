"""``plumbline probe``: measure this node's components, all targets of a mount, or directories."""

from __future__ import annotations

import argparse
import os
import pwd
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.cli.measuring import history_of_run, refuse_parallel, run_options
from plumbline.cli.options import (
    deployed,
    named_directories,
    own_expectations,
    real_path,
    refuse_both,
    refuse_elsewhere,
    spelled,
)
from plumbline.cli.output import note, remark, say, show
from plumbline.cli.progress import (
    end,
    print_calls,
    print_commands,
    progress,
    show_result,
    verdict_table,
)
from plumbline.doors.ranks import comparison, creations
from plumbline.doors.ranks import survey as survey_table
from plumbline.doors.table import render
from plumbline.judge.confirm import QueuePlace
from plumbline.judge.phrases import odds, several
from plumbline.measure.caches import CachesUnit
from plumbline.measure.flows import commands
from plumbline.measure.lock import Locks
from plumbline.measure.net import PairUnit, slot_of
from plumbline.measure.ost import TargetUnit
from plumbline.measure.rdma import AdapterUnit
from plumbline.measure.session import units_of
from plumbline.measure.shared import flows_sentence, sentence
from plumbline.measure.targets.metadata import ROOT
from plumbline.measure.unit_context import Unit
from plumbline.model import parts
from plumbline.model.command import CommandRunner
from plumbline.model.errors import INTERRUPTED, PrivilegeError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.ost import OST
from plumbline.model.record import Record
from plumbline.model.shared import Turn
from plumbline.model.small_reads import SMALL_READS, TAILS
from plumbline.model.units import format_bytes, format_rate
from plumbline.model.verdict import State, worst
from plumbline.observe.command import LocalSystem, SystemClock, SystemRunner, locate
from plumbline.site import matrix as matrices
from plumbline.site import measure as runs
from plumbline.site import shared
from plumbline.site import survey as surveys
from plumbline.site.documents import read_text
from plumbline.store.files import DATABASE
from plumbline.store.history import History

_FILE_BYTES = 256 << 20


def probe(arguments: argparse.Namespace) -> int:
    """Measure, print the result, and return the exit code."""
    layer = LAYERS[arguments.layer]
    if layer.by_ranks and not arguments.confirm and not arguments.caches:
        parallel = parts.load("parallel", "verbs")
        plan = parallel.planned(arguments)
        _refuse_contradictions(arguments)
        probe_fs = parallel.probe_fs if plan is None else partial(parallel.probe_planned, plan)
        code: int = probe_fs(arguments)
        return code
    _refuse_contradictions(arguments)
    if arguments.caches:
        return _compare_caches(arguments)
    if arguments.directory:
        return _compare(arguments)
    if arguments.mount:
        return _survey(arguments)
    expectations = deployed(arguments)
    if layer.joint:
        return _read_together(expectations, arguments)
    if arguments.confirm:
        return _confirm(expectations, arguments)
    return _measure(expectations, arguments)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together; fill in the defaults of ``fs``."""
    name, layer = arguments.layer, LAYERS[arguments.layer]
    if arguments.confirm and not layer.confirmable:
        confirmable = " or ".join(kind.name for kind in LAYERS.values() if kind.confirmable)
        raise UsageError(
            f"--confirm measures single targets and devices again; layer {name} has none: call "
            f"plumbline probe {confirmable}"
        )
    for chosen in ("component", "directory", "another_client", "json") if arguments.confirm else ():
        if getattr(arguments, chosen):
            raise UsageError(f"--confirm chooses what it measures; leave out {spelled(chosen)}")
    _refuse_of_other_layers(arguments, layer)
    _refuse_around_mount(arguments)
    refuse_parallel(arguments)
    refuse_both(arguments)
    if arguments.bytes and layer.of_metadata:
        raise UsageError(f"--bytes moves bytes, and layer {name} moves none: leave it out")
    if arguments.bytes and not (arguments.directory or arguments.mount or layer.by_ranks):
        raise UsageError(
            "--bytes belongs to --directory and --mount; otherwise the policy says how much"
        )


def _refuse_of_other_layers(arguments: argparse.Namespace, layer: Layer) -> None:
    """Raise UsageError for options that belong to another layer."""
    name = layer.name
    if arguments.slot is not None and not layer.paired:
        raise UsageError(f"--slot pairs hosts; layer {name} has none: leave it out")
    if arguments.directory and not layer.on_targets:
        raise UsageError("--directory compares storage targets: call plumbline probe ost or fs")
    if arguments.flows and (not layer.joint or len(arguments.component or ()) != 1):
        raise UsageError(
            "--flows has the flows of one shared part: call plumbline probe shared with one "
            "--component PART@SECONDS"
        )
    if arguments.random_reads and not (arguments.directory and layer.per_target):
        raise UsageError(
            "--random-reads reads files of directories: call plumbline probe ost --directory; the "
            "policy chooses file systems by random_reads, the topology devices by media"
        )
    if arguments.another_client and not (layer.per_target and arguments.expectations):
        raise UsageError(
            "--another-client measures the targets of another client: call plumbline probe ost "
            "with its --expectations"
        )


def _refuse_around_mount(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go with ``--mount``, or only with it."""
    if not arguments.mount:
        for name in ("pool", "index", "matrix"):
            if getattr(arguments, name):
                raise UsageError(f"{spelled(name)} needs the targets of a mount: give it --mount")
        return
    layer = LAYERS[arguments.layer]
    if not layer.per_target and not layer.of_metadata:
        raise UsageError(
            "--mount measures the targets of a file system: plumbline probe ost, or probe mdt"
        )
    if arguments.matrix and not layer.of_metadata:
        raise UsageError("--matrix creates files from each MDT: call plumbline probe mdt")
    if arguments.pool and layer.of_metadata and not arguments.matrix:
        raise UsageError(
            "--pool chooses OSTs, and metadata targets have no pools: leave it out, or add --matrix"
        )
    for name in ("directory", "component", "expectations", "confirm", "caches", "limit"):
        if getattr(arguments, name):
            raise UsageError(f"--mount chooses what it measures; leave out {spelled(name)}")


def _measure(expectations: Expectations, arguments: argparse.Namespace) -> int:
    """Measure all components planned for this node, or the named ones."""
    chosen = _chosen(expectations, arguments)
    expectations = own_expectations(arguments, expectations, chosen)
    if LAYERS[arguments.layer].paired:
        units = _pairs(chosen, arguments.slot)
    else:
        units = units_of(arguments.layer, chosen)
    if arguments.dry_run:
        return print_commands(units)
    if not units:
        return 0
    with history_of_run(arguments) as history:
        options = run_options(arguments, keep_files=True)
        result = runs.measure(expectations, units, history, options)
    return show_result(arguments, result, verdict_table)


def _read_together(expectations: Expectations, arguments: argparse.Namespace) -> int:
    """Read this node's flows of shared parts at their moments, or judge the flows of all nodes."""
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
        with runs.interruptible():
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


def _sum_lines(expectations: Expectations, result: runs.Result) -> Iterator[str]:
    for record in result.records:
        (entry,) = expectations.find(record.layer, record.component)
        yield sentence(record, shared.ceiling_of(entry))
    yield from verdict_table(result)


def _chosen(expectations: Expectations, arguments: argparse.Namespace) -> list[Expectation]:
    """Return the expectations to measure, in measuring order; refuse an unknown name."""
    if not arguments.component:
        return list(expectations.find(arguments.layer))
    for name in arguments.component:
        refuse_elsewhere(expectations, arguments.layer, name)
    entries = [
        entry for name in arguments.component for entry in expectations.find(arguments.layer, name)
    ]
    return list({entry.component: entry for entry in entries}.values())


def _pairs(entries: Sequence[Expectation], number: Optional[int]) -> list[Unit]:
    """Return the pairs of this slot; print the reason for each host without a partner."""
    units: list[Unit] = []
    for entry in entries:
        slot = slot_of(entry, time.time(), number)
        if slot.turn is None or slot.idle(entry.component):
            say(slot.idle(entry.component))
        else:
            units.append(_pair(entry, slot.turn.partner))
    return units


def _pair(entry: Expectation, partner: str) -> Unit:
    if LAYERS[entry.layer].by_verbs:
        return AdapterUnit(entry, partner, LocalSystem(SystemRunner()))
    return PairUnit(entry, partner)


def _compare(arguments: argparse.Namespace) -> int:
    """Measure directories given as NAME=PATH, print how they compare, and return the exit code."""
    layer = LAYERS[arguments.layer]
    # one metadata target has no peers on most sites either
    directories = named_directories(arguments.directory, least=1 if layer.of_metadata else 2)
    size = 0 if layer.of_metadata else arguments.bytes or _FILE_BYTES
    operations = layer.operations
    if arguments.random_reads:
        operations = (*operations, *SMALL_READS, *TAILS)
    expectations = runs.expected(directories, size, layer, operations)
    units = [TargetUnit(entry) for entry in expectations.find(layer.name)]
    if arguments.dry_run:
        return print_commands(units)
    # report a missing tool once, not for each directory
    locate(units[0].commands()[0][0])
    caveat = runs.caveat(directories, size, runs.memory_bytes(), size)
    if caveat and not arguments.json:
        say(caveat)
    locks, steps = runs.own_locks(directories), partial(progress, arguments.quiet)
    result = runs.measure_once(expectations, units, locks, steps)
    return show_result(arguments, result, partial(comparison, operations=operations))


def _survey(arguments: argparse.Namespace) -> int:
    """Measure all targets of a mount, print them by their odds, and return the exit code."""
    run, folder = SystemRunner(), real_path(arguments.mount, "--mount")
    pool = "" if arguments.matrix else arguments.pool or ""
    layer, user = LAYERS[arguments.layer], _user()
    choice = surveys.Choice(folder, pool, arguments.index or "", layer, user)
    survey = surveys.survey_of(run, choice, arguments.bytes or _FILE_BYTES)
    if arguments.matrix:
        return _cross(run, survey, arguments)
    if arguments.dry_run:
        return print_commands(survey.units)
    # report a missing tool once, not for each target
    locate(survey.units[0].commands()[0][0])
    _announce(run, survey, survey.announcement(), arguments)
    surveyed = surveys.carry_out(run, survey, partial(progress, arguments.quiet))
    show(arguments, surveyed, survey_table(surveyed))
    return end(surveyed.result)


def _announce(
    run: CommandRunner, survey: surveys.Survey, announcement: str, arguments: argparse.Namespace
) -> None:
    """Print what will be done on a mount; raise an error if this user may not do it."""
    surveys.refuse_unprepared(run, survey)
    surveys.refuse_folder(run, survey)
    if survey.system.note:
        remark(survey.system.note)
    if not arguments.quiet:
        note(announcement)


def _cross(run: CommandRunner, survey: surveys.Survey, arguments: argparse.Namespace) -> int:
    """Create a file on each OST from each MDT, print the times, and return the exit code."""
    matrix = matrices.matrix_of(run, survey, arguments.pool or "")
    if arguments.dry_run:
        return print_calls(matrix.commands())
    _announce(run, survey, matrix.announcement(), arguments)
    result = matrices.carry_out(run, matrix, partial(progress, arguments.quiet))
    show(arguments, result.to_json(), creations(result))
    return INTERRUPTED if result.interrupted else int(result.state)


def _user() -> str:
    """Return the name of this process's user, or its number if it has no name."""
    number = os.geteuid()
    with suppress(KeyError):
        return pwd.getpwuid(number).pw_name if number else ROOT
    return str(number)


def _compare_caches(arguments: argparse.Namespace) -> int:
    """Measure with and without caches; return 0, or 3 if caches cannot be told apart."""
    if arguments.layer != OST.name or arguments.confirm or arguments.limit:
        raise UsageError("--caches goes with plumbline probe ost, without --confirm and --limit")
    expectations, locks = (_directory if arguments.directory else _component)(arguments)
    (entry,) = expectations.find(OST.name)
    unit = CachesUnit(entry)
    if arguments.dry_run:
        return print_commands([unit])
    steps = partial(progress, arguments.quiet)
    result = runs.measure_once(expectations, [unit], locks, steps)
    remark(*map(str, result.busy))
    if result.busy:
        return result.busy[0].exit_code
    caches = runs.caches_of(entry.component, result.records)
    show(arguments, {"schema": 1, **caches.to_json()}, _caches_lines(caches))
    if result.interrupted:
        return INTERRUPTED
    return State.OK if caches.drops else State.UNKNOWN


def _directory(arguments: argparse.Namespace) -> tuple[Expectations, Locks]:
    directories = named_directories(arguments.directory, least=1)
    if len(directories) > 1:
        raise UsageError("--caches tells those of one target apart: give one --directory")
    expectations = runs.expected(directories, arguments.bytes or _FILE_BYTES)
    return expectations, runs.own_locks(directories)


def _component(arguments: argparse.Namespace) -> tuple[Expectations, Locks]:
    """Return a target of this node; raise PrivilegeError if its caches may not be dropped."""
    if len(arguments.component or ()) != 1:
        raise UsageError("--caches tells those of one target apart: give one --component")
    expectations = deployed(arguments)
    (entry,) = expectations.find(OST.name, arguments.component[0])
    expectations = own_expectations(arguments, expectations, [entry])
    if not expectations.drops_caches:
        raise PrivilegeError(
            f"{expectations.node} is not named in drop_caches of plumbline_policy, and dropping "
            f"locks takes from all users of a client what it has cached of {entry.component}; name "
            "a client that may, and deploy the role agent"
        )
    if os.geteuid() != 0:
        raise PrivilegeError("caches of Lustre are dropped by root alone; run it as root")
    single = expectations._replace(entries=(entry.to_json(),))
    return single, Locks(Path(arguments.locks), SystemClock())


def _caches_lines(caches: runs.Caches) -> Iterator[str]:
    rows = [
        (
            phase.name,
            "none" if phase.rate_Bps is None else format_rate(phase.rate_Bps),
            phase.reason,
        )
        for phase in caches.phases
    ]
    if rows:
        yield render(("read of a file just written", "rate", "why not"), rows)
    yield from caches.sentences


_NOTHING = "nothing to confirm"


def _confirm(expectations: Expectations, arguments: argparse.Namespace) -> int:
    """Confirm the due targets, print the verdicts, and return the worst state."""
    path = Path(arguments.state) / DATABASE
    if not path.exists():
        say(f"{_NOTHING}: history {path}: nothing was measured here yet")
        return 0
    if arguments.dry_run:
        with History(path) as history:
            say(*_queue(runs.confirmation(expectations, arguments.layer, history, time.time())))
        return 0
    with history_of_run(arguments) as history:
        if busy := runs.busy_components(history):
            say(f"another run measures {several(busy)}; the next moment of the timer confirms")
            return 0
        options = run_options(arguments, keep_files=True)
        return _print_confirmed(runs.confirm(expectations, arguments.layer, history, options))


def _queue(moment: runs.Confirmation) -> list[str]:
    """Return the queue as text: each suspicious target, the reason, and the next step."""
    troubles = [moment.trouble] if moment.trouble else []
    if not moment.queue:
        return [*troubles, _NOTHING]
    controls = {
        target.component: several([expectation.component for expectation in turn.controls])
        or "nobody"
        for turn in moment.due
        for target in turn.targets
    }
    lines = [_line(place, controls) for place in moment.queue]
    allowed = format_bytes(round(max(0.0, moment.left_bytes)))
    return [*troubles, *lines, f"{allowed} can be moved now"]


def _line(queued: QueuePlace, controls: Mapping[str, str]) -> str:
    candidate = queued.candidate
    name, evidence = candidate.entry.component, candidate.evidence
    progress = f"{queued.runs} of {candidate.entry.confirm.runs} runs"
    if queued.obstacle:
        plan = f"waits: {queued.obstacle}"
    elif name in controls:
        plan = f"measured now beside {controls[name]}"
    else:
        plan = "waits: the bytes of confirmation are used up"
    return f"{name}: odds {odds(evidence.odds)} to 1, {progress}, {plan}; {candidate.sentence}"


def _print_confirmed(results: Sequence[runs.Result]) -> int:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    if not results:
        say(_NOTHING)
        return 0
    say(*verdict_table(*results))
    codes = [end(result) for result in results if result.busy or result.interrupted]
    return codes[0] if codes else int(worst(verdict.state for verdict in verdicts))
