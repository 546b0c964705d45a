"""Survey all targets of a mount, or create a file on each OST from each MDT."""

from __future__ import annotations

import argparse
import os
import pwd
from contextlib import suppress
from functools import partial

from plumbline.cli.options import real_path
from plumbline.cli.output import note, remark, show
from plumbline.cli.progress import end, print_calls, print_commands, progress
from plumbline.doors.ranks import creations
from plumbline.doors.ranks import survey as survey_table
from plumbline.measure.targets.metadata import ROOT
from plumbline.model.command import CommandRunner
from plumbline.model.errors import INTERRUPTED
from plumbline.model.layers import LAYERS
from plumbline.observe.command import SystemRunner, locate
from plumbline.site import matrix as matrices
from plumbline.site import survey as surveys
from plumbline.site.comparison import FILE_BYTES


def probe(arguments: argparse.Namespace) -> int:
    """Measure all targets of a mount, print them by their odds, and return the exit code."""
    run, folder = SystemRunner(), real_path(arguments.mount, "--mount")
    pool = "" if arguments.matrix else arguments.pool or ""
    layer, user = LAYERS[arguments.layer], _user()
    choice = surveys.Choice(folder, pool, arguments.index or "", layer, user)
    survey = surveys.survey_of(run, choice, arguments.bytes or FILE_BYTES)
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
