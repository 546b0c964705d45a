"""perftest: RDMA writes, reads and times of reads between two adapters, ``ib_write_bw`` and others.

Its server takes one client and ends, so each operation has a port of its own, and whoever opens the
receiving ends (:mod:`plumbline.measure.receiver`) starts each of them again.  Both ends need the
same size, number and duration.

All three are one-sided: the server only waits for the end of its client.  ``ib_write_lat`` is not
used, because both of its ends watch their memory, forever if the other one has died.
"""

from __future__ import annotations

import re
from signal import SIGKILL
from typing import Mapping

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.measure.probes.netperf import check_addresses
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.layers.rdma import LATENCY, RDMA, READS
from plumbline.model.names import RDMA_PORT
from plumbline.model.record import Measurement, Operation

LAYERS = (RDMA,)
VERSION_COMMAND = ("ib_write_bw", "--version")
SPARE_S = 30.0
"""Time after which perftest is stuck: it ignored the signal of its own limit."""

_LOST_S = 20
"""Time after which the partner counts as lost."""
_KILLED = 128 + SIGKILL
"""Exit code of ``timeout --signal=KILL`` at its limit, unless it killed itself too (coreutils)."""

PROGRAMS = {Operation.WRITE: "ib_write_bw", Operation.READ: "ib_read_bw", LATENCY: "ib_read_lat"}
"""Program of each operation, in the order of their ports."""

MARGIN_S = 1
"""Seconds at the start and at the end that do not count: perftest's ``--margin``."""

_MIN_RUN_S = 3
_MAX_BYTES = 1 << 30
_MAX_DEPTH = 8192

_BANDWIDTH = "BW average[Gb/sec]"
_GBPS = 125e6
_TYPICAL, _MEAN = "t_typical[usec]", "t_avg[usec]"
_TIMES = {
    "mean": _MEAN,
    "p99": "99% percentile[usec]",
    "max": "t_max[usec]",
}
"""Column of each quantity."""
_USEC = 1e-6

_COLUMN = re.compile(r"#?[A-Za-z0-9_.%]+(?: [a-z]+)?(?:\[[A-Za-z/]+\])?")
_RULE = re.compile(r"^-+$")


def command(job: Job) -> tuple[str, ...]:
    """Return the command line of the end that measures.

    Raises:
        DocumentError: the job has a rate cap, or its terms, adapter or addresses are unusable.
    """
    check_addresses(job)
    # even a client whose caller was killed ends in time
    return ("timeout", "--signal=KILL", str(_limit_s(job)), *server_command(job), job.subject)


def _limit_s(job: Job) -> int:
    return round(job.spec.seconds) + _LOST_S


def _is_silent(job: Job, completed: Completed) -> bool:
    """Return whether ``timeout`` ended a client at its limit; it kills its whole process group."""
    late = completed.exit_code == -SIGKILL and completed.seconds >= _limit_s(job)
    return late or completed.exit_code == _KILLED


def server_command(job: Job) -> tuple[str, ...]:
    """Return the command line of the end that waits; raises as ``command`` does."""
    spec = job.spec
    answer.refuse_rate_cap("perftest", spec.rate_cap_Bps)
    if not 1 <= spec.transfer_bytes <= _MAX_BYTES or spec.queue_depth > _MAX_DEPTH:
        raise DocumentError(
            f"perftest sends messages of 1 B to 1 GiB with at most {_MAX_DEPTH} in flight; correct "
            "transfer or queue_depth"
        )
    device, _, port = RDMA_PORT.match("the adapter", job.adapter)[0].partition("/")
    return (
        *(PROGRAMS[job.operation], "-F", "-d", device, "-i", port),
        *("-p", str(port_of(job)), "-s", str(spec.transfer_bytes)),
        *(_of_latency() if job.operation is LATENCY else _of_bandwidth(job)),
    )


def _of_latency() -> tuple[str, ...]:
    return "-n", str(READS)


def _of_bandwidth(job: Job) -> tuple[str, ...]:
    seconds = round(job.spec.seconds)
    if seconds < _MIN_RUN_S:
        raise DocumentError(
            f"perftest does not count its first and last second, so {job.spec.seconds:g} s are too "
            f"short; set seconds to {_MIN_RUN_S} or more"
        )
    depth = str(job.spec.queue_depth)
    return "-t", depth, "-D", str(seconds), "-f", str(MARGIN_S), "--report_gbits"


def port_of(job: Job) -> int:
    """Return the TCP port of a job's operation; ``port`` of the job is that of the first one."""
    return job.port + list(PROGRAMS).index(job.operation)


def parse(job: Job, completed: Completed) -> Measurement:
    """Return the average bandwidth, or the median time of a read with further times.

    Raises:
        ToolError: perftest failed or printed no result; without a sample it prints zeros and ends
            with exit code 0.
    """
    program = PROGRAMS[job.operation]
    if _is_silent(job, completed):
        raise ToolError(
            f"{program} on {job.adapter} to {job.subject} {NO_END} "
            f"{completed.seconds:.0f} s and was killed; its partner died, or the link between the "
            "two was lost: look at both"
        )
    answer.refuse_unfinished(completed, program)
    if not completed.ok:
        raise _failure(job, completed)
    columns = _columns(program, completed.stdout)
    return _latency(job, columns) if job.operation is LATENCY else _bandwidth(job, columns)


def _bandwidth(job: Job, columns: Mapping[str, str]) -> Measurement:
    program = PROGRAMS[job.operation]
    seconds = float(round(job.spec.seconds) - 2 * MARGIN_S)
    rate = answer.number(program, _BANDWIDTH, columns.get(_BANDWIDTH)) * _GBPS
    if not rate:
        messages = columns.get("#iterations", "no")
        raise ToolError(
            f"{program} to {job.subject} ended with exit code 0 and a bandwidth of 0 after "
            f"{messages} messages: no sample was taken; measure again, and look at its partner"
        )
    return Measurement(bytes=round(rate * seconds), seconds=seconds, rate=rate)


def _latency(job: Job, columns: Mapping[str, str]) -> Measurement:
    program = PROGRAMS[job.operation]
    times = {
        name: answer.number(program, name, columns.get(name)) * _USEC
        for name in (_TYPICAL, *_TIMES.values())
    }
    if not times[_TYPICAL] or not times[_MEAN]:
        raise ToolError(
            f"{program} to {job.subject} ended with exit code 0 and times of 0; measure again, and "
            "look at its partner"
        )
    return Measurement(
        bytes=0,
        seconds=times[_MEAN] * READS,
        rate=1 / times[_TYPICAL],
        quantities={name: times[column] for name, column in _TIMES.items()},
    )


def _columns(program: str, text: str) -> dict[str, str]:
    """Return the only row of the report by the names of its columns.

    The report ends with a rule, so one that is cut is not understood.
    """
    head, row, rule = _report(text)
    names, values = _COLUMN.findall(head), row.split()
    if not names or len(names) != len(values) or not _RULE.match(rule):
        raise answer.not_understood(program, "result", f"{head} {row}".strip() or text)
    return dict(zip(names, values))


def _report(text: str) -> tuple[str, str, str]:
    """Return heading, row and rule of a report; empty texts for missing ones."""
    lines = [line.strip() for line in text.splitlines()]
    start = next((number for number, line in enumerate(lines) if line.startswith("#bytes")), None)
    found = [] if start is None else lines[start : start + 3]
    head, row, rule = (*found, "", "", "")[:3]
    return head, row, rule


NO_RECEIVER = "Couldn't connect to"
"""Words of perftest if nobody waits on the other end."""
NO_END = "did not end within"
"""Words of a failure if the other end was silent."""

_REMEDIES = (
    (
        (NO_RECEIVER,),
        "did not answer",
        "see that plumbline-receiver.timer runs there, its port is up and both clocks are right",
    ),
    (
        ("Unable to find the Infiniband",),
        "cannot begin: this host has no such device",
        "look at rdma link, and correct rdma in plumbline_topology",
    ),
    (
        ("state is", "Unable to query port"),
        "cannot begin: this port is not active",
        "look at rdma link, at the cable and at the port of the switch",
    ),
    (
        ("Completion with error", "Failed to exchange data", "Failed to complete", "Couldn't read"),
        "was cut off",
        "its partner ended, or the link between the two was lost: look at both",
    ),
    (
        ("allocate MR", "Couldn't allocate", "register"),
        "cannot begin: this user may not lock enough memory",
        "raise LimitMEMLOCK of the unit, or ulimit -l",
    ),
)
"""Words of perftest, what they mean for the measurement, and the remedy."""


def _failure(job: Job, completed: Completed) -> ToolError:
    """Return the error of a failed run with its remedy; what perftest printed follows."""
    program = PROGRAMS[job.operation]
    output = completed.stderr.strip() or completed.stdout
    for words, meaning, remedy in _REMEDIES:
        if any(word in output for word in words):
            return ToolError(
                f"{program} on {job.adapter} to {job.subject} {meaning} ("
                f"{answer.quoted(output)}); {remedy}"
            )
    return answer.failure(completed, f"{program} on {job.adapter} to {job.subject}", output)
