"""Interface of a probe, and errors that quote a failed tool."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Protocol

from plumbline.model.command import Completed, Proof, Within, lines
from plumbline.model.errors import DocumentError, NoSpaceError, StorageError, ToolError
from plumbline.model.layers.layer import Layer
from plumbline.model.record import Measurement, Operation
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import LARGEST, format_bytes
from plumbline.model.validation import real
from plumbline.observe.query import breaks, lacks_space


class Job(NamedTuple):
    """One operation for one process to carry out once.

    ``subject`` is the path of the probe file, the device, or the partner's address.  ``within`` is
    folder and name of the probe file, the tool's standard input; None without a file.  ``proof``
    checks what the tool creates; None if that needs no check.
    For host pairs ``own_address`` is the address to send from, and ``port`` the port of the
    partner's server; ``adapter`` is this host's device and its port, ``mlx5_0/1``, if it counts.
    """

    operation: Operation
    spec: ProbeSpec
    subject: str
    own_address: str = ""
    port: int = 0
    within: Optional[Within] = None
    proof: Optional[Proof] = None
    adapter: str = ""


class Probe(Protocol):
    """Module for one tool."""

    @property
    def LAYERS(self) -> tuple[Layer, ...]:  # noqa: N802
        """Layers that the tool can measure."""
        ...

    @property
    def VERSION_COMMAND(self) -> tuple[str, ...]:  # noqa: N802
        """Command line that prints the tool's version."""
        ...

    def command(self, job: Job) -> tuple[str, ...]:
        """Return the command line; raise DocumentError for an impossible job."""
        ...

    @property
    def SPARE_S(self) -> float:  # noqa: N802
        """Seconds beyond those of its job after which a process is stuck, not slow."""
        ...

    def parse(self, job: Job, completed: Completed) -> Measurement:
        """Return the measurement; raise ToolError, quoting the tool, if there is none."""
        ...


_NUMBER = re.compile(r"\d+(?:\.\d+)+\w*|\d{8}")
_NUMBERS = re.compile(r"\d+")
_MAX_QUOTATION = 300


def refuse_unfinished(completed: Completed, tool: str) -> None:
    """Raise ToolError if the process was killed, ran into its limit, or is stuck."""
    if completed.hung:
        raise ToolError(
            f"{tool} is stuck in the kernel after {completed.seconds:.0f} s and cannot be ended; "
            "look at the kernel log here and at the server"
        )
    if completed.timed_out:
        raise ToolError(f"{tool} was ended because it ran for more than {completed.seconds:.0f} s")
    if completed.exit_code is not None and completed.exit_code < 0:
        raise ToolError(f"{tool} was killed by signal {-completed.exit_code}; run it again")


def refuse_failed(completed: Completed, tool: str) -> None:
    """Raise ToolError, quoting the tool, unless it ended with exit code 0 before its limit."""
    refuse_unfinished(completed, tool)
    if not completed.ok:
        raise failure(completed, tool)


def failure(completed: Completed, tool: str, output: Optional[str] = None) -> ToolError:
    """Return an error that quotes ``output``, or else the tool's last lines."""
    text = output if output is not None else completed.stderr.strip() or completed.stdout
    return ToolError(
        f"{tool} failed with exit code {completed.exit_code}: "
        f"{quoted(text) or 'without a word; run it by hand'}"
    )


def storage_failure(output: str, message: str, number: int = 0) -> ToolError:
    """Return the error for a failed tool on storage; output or errno decides its class.

    ``message`` is the text of the error.
    """
    if lacks_space(output, number):
        return NoSpaceError(message)
    return StorageError(message) if breaks(output, number) else ToolError(message)


def quoted(text: str) -> str:
    """Return the last lines of a tool as one line, cut between words, without repetitions.

    fio repeats its message for each failed call, with another offset.
    """
    unique = {_NUMBERS.sub("", line): line for line in reversed(lines(text))}
    quotation = "; ".join(reversed(list(unique.values())[:3]))
    if len(quotation) <= _MAX_QUOTATION:
        return quotation
    return f"{quotation[: _MAX_QUOTATION - 4].rpartition(' ')[0]} ..."


def not_understood(tool: str, what: str, text: str) -> ToolError:
    """Return the error for truncated output, or output of an unknown version."""
    start = text.strip()[:80]
    return ToolError(f"{tool} printed no {what} that is understood, but {start!r}; run it by hand")


def nothing_arrived(
    job: Job, tool: str, seconds: float, retransmits: Optional[int], sent: float = 0.0
) -> ToolError:
    """Return the error for a stream of which no byte arrived; ``sent`` in bytes, 0 if unknown."""
    way = "from" if job.operation is Operation.RECEIVE else "at"
    bytes_sent = f" of {format_bytes(sent)} sent" if sent else ""
    counted = "" if retransmits is None else f", {retransmits} retransmits"
    return ToolError(
        f"{tool}: nothing{bytes_sent} arrived {way} {job.subject} in {seconds:.0f} s{counted}; "
        "look at the links and switches between the two hosts"
    )


def number(tool: str, what: str, value: object) -> float:
    """Return a number from the tool's text or JSON; raise ToolError for anything else."""
    if isinstance(value, str):
        try:
            return real(value, what)
        except ToolError as error:
            raise not_understood(tool, what, repr(value[:_MAX_QUOTATION])) from error
    # a calculation with larger numbers could overflow
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return float(value)
    raise not_understood(tool, what, f"{value!r:.80}")


def parse_version(tool: str, completed: Completed) -> str:
    """Return the first version number in a tool's output; raise ToolError if there is none."""
    # perftest ends with exit code 1 after its version
    if not completed.stdout.startswith("Version: "):
        refuse_failed(completed, tool)
    refuse_unfinished(completed, tool)
    match = _NUMBER.search(f"{completed.stdout}\n{completed.stderr}")
    if not match:
        raise not_understood(tool, "version", completed.stdout)
    return match[0]


def whole_transfers(spec: ProbeSpec) -> int:
    """Return the number of whole transfers in a specification.

    Raises:
        DocumentError: there is not even one.
    """
    if not 0 < spec.transfer_bytes <= spec.bytes:
        raise DocumentError(
            f"{spec.tool} cannot move {spec.bytes} bytes in transfers of {spec.transfer_bytes}; "
            "correct its specification"
        )
    return spec.bytes // spec.transfer_bytes


def refuse_rate_cap(tool: str, cap_Bps: Optional[float]) -> None:
    """Raise DocumentError for a rate cap: the tool has none."""
    if cap_Bps is not None:
        raise DocumentError(f"{tool} cannot cap its rate; remove rate_cap from its specification")
