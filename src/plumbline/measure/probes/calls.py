"""calls: single metadata calls, timed by a program of plumbline's own (plumbline.measure.calls)."""

from __future__ import annotations

import json
import sys
from typing import Any, Mapping, Optional

import plumbline
from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed, Proof
from plumbline.model.errors import DocumentError, SkipTarget, ToolError
from plumbline.model.layers.mdt import FILES, MDT
from plumbline.model.quantity import LATENCIES
from plumbline.model.record import Flag, Measurement
from plumbline.model.spec import ProbeSpec
from plumbline.model.validation import read_json
from plumbline.observe.query import lacks_space

LAYERS = (MDT,)
VERSION_COMMAND = (sys.executable, "--version")

SPARE_S = 60.0
"""Time for removing what was created, and for a call that waits for its server to recover."""

_PROGRAM = f"{next(iter(plumbline.__path__))}/measure/calls.py"
_MISPLACED, _NOT_UNDERSTOOD = 76, 65
"""Exit codes of the program, as there."""
_MAX_SECONDS = MDT.spec.seconds
_FURTHER = {"create": ("stat", "open"), "mkdir": ("rmdir",)}
"""Steps whose rates are quantities of an operation's run."""


class UnprovedError(ToolError):
    """The place of files or folders is not proved: what ``lfs`` prints is not understood."""


def command(job: Job) -> tuple[str, ...]:
    """Return the command line for one run in the working folder.

    Raises:
        DocumentError: a term of the specification does not apply to single calls.
    """
    _refuse_terms(job.spec)
    terms = (job.operation.value, str(FILES), f"{job.spec.seconds:g}", _json(job.proof))
    return (sys.executable, "-IS", _PROGRAM, *terms)


def creation(proof: Proof, seconds: float) -> tuple[str, ...]:
    """Return the command line for creating and removing one file in the working folder."""
    return (sys.executable, "-IS", _PROGRAM, "creation", "1", f"{seconds:g}", _json(proof))


def tidying() -> tuple[str, ...]:
    """Return the command line that removes the run folders of killed runs in the working folder."""
    return (sys.executable, "-IS", _PROGRAM, "tidy", "0", "0", _json(None))


def creation_s(completed: Completed) -> float:
    """Return the seconds that one creation took.

    Raises:
        SkipTarget: the file lies elsewhere, or its place could not be chosen; the message is short.
        StorageError: an I/O error.
        ToolError: the call failed or did not end.
        UnprovedError: what ``lfs`` prints about its place is not understood.
    """
    if completed.exit_code == _MISPLACED:
        raise SkipTarget(completed.stderr.strip()[:300])
    _refuse_unproved(completed)
    if completed.hung or completed.timed_out or not completed.ok:
        answer.refuse_unfinished(completed, "calls")
        raise _failure(completed)
    return _number(_step(_steps(completed.stdout), "create"), "seconds")


def _refuse_unproved(completed: Completed) -> None:
    if completed.exit_code == _NOT_UNDERSTOOD:
        raise UnprovedError(
            f"where files and folders lie is not understood, so nothing was measured: "
            f"{completed.stderr.strip()[:300]}; run that command by hand, and report its output "
            "with that of lfs --version"
        )


def _json(proof: Optional[Proof]) -> str:
    return json.dumps(proof and proof._asdict())


def _refuse_terms(spec: ProbeSpec) -> None:
    answer.refuse_rate_cap(spec.tool, spec.rate_cap_Bps)
    for name in ("bytes", "transfer_bytes", "queue_depth", "direct"):
        if getattr(spec, name) != getattr(MDT.spec, name):
            raise DocumentError(
                f"calls moves no bytes, and makes one call at a time; remove "
                f"{name.partition('_bytes')[0]} from its specification"
            )
    if spec.seconds > _MAX_SECONDS:
        raise DocumentError(f"calls takes at most {_MAX_SECONDS:g} s; lower seconds")


def parse(job: Job, completed: Completed) -> Measurement:
    """Return rate and times of an operation's calls, and the rates of further steps."""
    answer.refuse_unfinished(completed, "calls")
    if completed.exit_code == _MISPLACED:
        raise SkipTarget(
            f"calls {completed.stderr.strip()[:300]}; see how {job.subject} was made, and deploy "
            "the role mdt_probe again"
        )
    _refuse_unproved(completed)
    if not completed.ok:
        raise _failure(completed)
    steps = _steps(completed.stdout)
    step = _step(steps, job.operation.value)
    rate = _rate(step)
    quantities = {name: _number(step, name) for name in LATENCIES}
    for name in _FURTHER.get(job.operation.value, ()):
        quantities[name] = _rate(_step(steps, name))
    short = _number(step, "calls") < FILES
    return Measurement(
        bytes=0,
        seconds=_number(step, "seconds"),
        rate=rate,
        quantities=quantities,
        flags=(Flag.SHORT,) if short else (),
    )


def _failure(completed: Completed) -> ToolError:
    """Return the error of a failed call; only an I/O error incriminates the storage."""
    error = answer.failure(completed, "calls")
    if lacks_space(completed.stderr):
        return ToolError(f"{error}; look for free space and inodes: df -i, or lfs df and lfs df -i")
    return answer.storage_failure(completed.stderr, str(error))


def _steps(text: str) -> Mapping[str, Any]:
    try:
        document = read_json(text)
    except ValueError as error:
        raise answer.not_understood("calls", "figures", text) from error
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(steps, dict):
        raise answer.not_understood("calls", "steps", text)
    return steps


def _step(steps: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    step = steps.get(name)
    if not isinstance(step, dict):
        raise answer.not_understood("calls", f"step {name}", str(steps))
    return step


def _number(step: Mapping[str, Any], name: str) -> float:
    return answer.number("calls", name, step.get(name))


def _rate(step: Mapping[str, Any]) -> float:
    seconds = _number(step, "seconds")
    if seconds <= 0:
        raise ToolError(f"calls took {seconds:g} s, which is no time; see this host's clock")
    return _number(step, "calls") / seconds
