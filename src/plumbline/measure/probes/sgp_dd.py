"""sgp_dd of sg3-utils: read a raw device; this module never writes.

sgp_dd prints messages to standard error, and a rate even if it failed; its MB is 10^6 bytes.
"""

from __future__ import annotations

import re

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.layers.raw import RAW
from plumbline.model.layers.shared import SHARED
from plumbline.model.names import DEVICE
from plumbline.model.record import Flag, Measurement, Operation
from plumbline.model.validation import whole
from plumbline.observe.query import breaks

LAYERS = (RAW, SHARED)
VERSION_COMMAND = ("sgp_dd", "--version")

# sg3-utils 1.46: "time to transfer data was 1.0 secs, 2.0 MB/sec"
# and 1.48: "time to copy data: 1.0 secs at 2.0 MB/sec", below 1 MB/s "at 837.6 kB/sec";
# the rate is missing if nothing was copied, and has a delta after a report on the way
_TIME = re.compile(
    r"^time to (?:transfer|copy) data(?: was|:) (\d+\.\d+) secs"
    r"(?:,? (?:at )?\d+\.\d+ [a-zA-Z]?B/sec(?: \(delta [^\n]*\))?)?$",
    re.M,
)
_RECORDS = re.compile(r"^(\d+)\+(\d+) records (in|out)$", re.M)
_REMAINING = re.compile(r"^ *remaining block count=(\d+)$", re.M)
_TROUBLE = re.compile(r"^.*(?:error|residual|remaining block|unable|could not).*$", re.M | re.I)
_INTERRUPTED = re.compile(r"^sgp_dd: interrupted by SIGINT$|^Interrupted by signal SIGINT", re.M)
_EXIT_OF_TIMEOUT = 124
SPARE_S = 30.0
"""Time after which sgp_dd is stuck: it ignored its interruption."""

_MAX_THREADS = 1024
_BLOCK_BYTES = 512
"""Unit of its counts, whatever the logical block of the device: a call reads a whole transfer."""


def command(job: Job) -> tuple[str, ...]:
    """Return the command line that reads the first bytes of a device.

    At the time limit sgp_dd is interrupted, and reports the number of blocks so far.

    Raises:
        DocumentError: the job does not read, or not a device under /dev; the transfer is no
            multiple of the block size; or there are more threads than sgp_dd supports.
    """
    spec = job.spec
    if job.operation is not Operation.READ:
        raise DocumentError(f"sgp_dd only reads; it cannot do {job.operation.value}")
    DEVICE.refuse("the device", job.subject)
    if spec.transfer_bytes % _BLOCK_BYTES:
        raise DocumentError(
            f"sgp_dd reads blocks of {_BLOCK_BYTES} bytes; make transfer_bytes "
            f"{spec.transfer_bytes} a multiple of that"
        )
    if spec.queue_depth > _MAX_THREADS:
        raise DocumentError(
            f"sgp_dd has {_MAX_THREADS} threads at most, not {spec.queue_depth}; lower queue_depth"
        )
    answer.refuse_rate_cap("sgp_dd", spec.rate_cap_Bps)
    return (
        *("timeout", "--foreground", "--signal=INT", f"{max(1, round(spec.seconds))}", "sgp_dd"),
        f"if={job.subject}",
        "of=/dev/null",
        f"bs={_BLOCK_BYTES}",
        f"bpt={spec.transfer_bytes // _BLOCK_BYTES}",
        f"count={_count(job)}",
        f"thr={spec.queue_depth}",
        *(("iflag=direct",) if spec.direct else ()),
        "time=1",
    )


def parse(job: Job, completed: Completed) -> Measurement:
    """Return the rate from the blocks read and the time that sgp_dd measured."""
    answer.refuse_unfinished(completed, "sgp_dd")
    text = f"{completed.stdout}\n{completed.stderr}"
    interrupted = completed.exit_code == _EXIT_OF_TIMEOUT and _INTERRUPTED.search(text) is not None
    if not completed.ok and not interrupted:
        lines = [match[0] for match in _TROUBLE.finditer(text)]
        # errors of the device, not their consequences
        device_lines = [line for line in lines if breaks(line)]
        output = "\n".join(device_lines or lines) or text
        ends = f"does the device hold {_count(job) * _BLOCK_BYTES} bytes?"
        more = f"\n{ends}" if "remaining block" in output else ""
        failure = answer.failure(completed, f"sgp_dd on {job.subject}", output + more)
        raise answer.storage_failure(text, str(failure))
    trouble = _TROUBLE.search(text)
    if trouble and not interrupted:
        message = f"sgp_dd on {job.subject} reports: {trouble[0].strip()}"
        raise answer.storage_failure(text, message)
    time = _TIME.search(text)
    if not time:
        raise answer.not_understood("sgp_dd", "time", text)
    seconds = answer.number("sgp_dd", "time", time[1])
    blocks = _blocks(job, text, interrupted)
    if not blocks:
        raise ToolError(
            f"sgp_dd read nothing from {job.subject} in {seconds:.0f} s; the device may hang"
        )
    moved = blocks * _BLOCK_BYTES
    return Measurement(
        bytes=moved,
        seconds=seconds,
        rate=moved / seconds if seconds else float("nan"),
        flags=(Flag.SHORT,) if interrupted else (),
    )


def _count(job: Job) -> int:
    transfer = job.spec.transfer_bytes // _BLOCK_BYTES
    return answer.whole_transfers(job.spec) * transfer


def _blocks(job: Job, text: str, interrupted: bool) -> int:
    """Return the number of blocks copied; raise ToolError unless all counts agree.

    From sg3-utils 1.49 on nothing that goes to /dev/null counts as written: "0+0 records out".
    """
    records = {
        way: (whole(full, f"sgp_dd: records {way}"), whole(part, f"sgp_dd: records {way}"))
        for full, part, way in _RECORDS.findall(text)
    }
    if set(records) != {"in", "out"}:
        raise answer.not_understood("sgp_dd", "records in and out", text)
    expected = _count(job)
    remaining = _REMAINING.search(text)
    copied = expected - (whole(remaining[1], "sgp_dd: remaining blocks") if remaining else 0)
    counted = records["out"] in ((0, 0), (copied, 0))
    complete = records["in"] == (expected, 0) and copied == expected
    if not (counted and (complete or (interrupted and 0 <= copied <= records["in"][0]))):
        written = f" and {records['out'][0]} out" if records["out"][0] else ""
        raise ToolError(
            f"sgp_dd on {job.subject} copied {records['in'][0]} blocks in{written} "
            f"instead of {expected}; the device may be smaller than that"
        )
    return copied
