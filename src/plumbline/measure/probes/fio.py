"""fio: write and read one file of a storage target, or read a device at random places.

The file must exist at full size.  fio must never create, cut or remove it: it would unlink a file
that is too short, and the new one would lie on another target.  A device is opened read only.
"""

from __future__ import annotations

import errno
import json
import re
from typing import Any, Mapping, NamedTuple, NoReturn

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.layers.oss import OSS
from plumbline.model.layers.ost import OST
from plumbline.model.layers.shared import SHARED
from plumbline.model.names import DEVICE
from plumbline.model.quantity import LATENCIES
from plumbline.model.record import Flag, Measurement, Operation
from plumbline.model.small_reads import QUANTILES, RANDOM
from plumbline.model.spec import ProbeSpec
from plumbline.model.validation import whole

_START = re.compile(r"^\{", re.MULTILINE)
_VERSION = re.compile(r"fio-(\d+)\.")
_OLDEST_VERSION = 3
"""Older versions give ``io_bytes`` in KiB."""


class Ambiguous(NamedTuple):
    """Two different values of one key; not usable as a number."""

    first: object
    second: object


class Report(NamedTuple):
    """One JSON document of fio: its only job, the error of that job, and the version of fio."""

    error: int
    job: Mapping[str, Any]
    version: str = ""

    def direction(self, name: str) -> Mapping[str, Any]:
        """Return the section ``read`` or ``write``; raise ToolError if it is missing."""
        part = self.job.get(name)
        if not isinstance(part, dict):
            raise ToolError(f"fio's report has no part {name!r}; its version may be too new")
        return part


def read_report(text: str) -> tuple[list[Report], tuple[str, ...]]:
    """Return all documents in order, and the lines of text between them.

    Raises:
        ToolError: a document is truncated or damaged, or not the report of one job.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
    reports: list[Report] = []
    words: list[str] = []
    end = 0
    while True:
        start = _START.search(text, end)
        words += text[end : start.start() if start else None].splitlines()
        if start is None:
            break
        try:
            document, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise ToolError(
                f"fio's report is cut or damaged ({error}); was it killed, or the disk full?"
            ) from error
        reports.append(_report(document))
    return reports, tuple(line.strip() for line in words if line.strip())


def _report(document: object) -> Report:
    if not isinstance(document, dict):
        raise ToolError("fio's report is no JSON object; its version may be too new")
    jobs = document.get("jobs")
    if not isinstance(jobs, list) or len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise ToolError("fio's report is not that of one job; its version may be too new")
    error = jobs[0].get("error")
    if not isinstance(error, int):
        raise ToolError(f"fio's report gives {error!r} as the error of its job; run fio by hand")
    return Report(error, jobs[0], str(document.get("fio version", "")))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        unambiguous = key not in values or values[key] == value
        values[key] = value if unambiguous else Ambiguous(values[key], value)
    return values


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


LAYERS = (OST, OSS, SHARED)
VERSION_COMMAND = ("fio", "--version")

FILE = "/proc/self/fd/0"
"""Standard input; a path could lead to another file when fio opens it."""

KEEP_CACHED = "keep cached"
"""Pattern of a specification that leaves the file in the page cache when fio starts."""

_SECTOR = 512
"""Unit of O_DIRECT: a multiple of the storage's logical block (open(2))."""

SPARE_S = 60.0
"""Time for pending calls after the limit of fio itself."""

_TICK_S = 1.5
"""Tolerance of fio's clock and limit, which have whole seconds."""


def command(job: Job) -> tuple[str, ...]:
    """Return the command line for one write or read of the file on standard input, or a device.

    Raises:
        DocumentError: the job has neither, would write a device, has fewer bytes than one transfer,
            or a transfer size that no file system accepts with O_DIRECT.
    """
    spec = job.spec
    if spec.direct and spec.transfer_bytes % _SECTOR:
        raise DocumentError(
            f"direct: true needs transfers of whole {_SECTOR} bytes, not {spec.transfer_bytes} "
            "bytes; choose another transfer"
        )
    write = job.operation is Operation.WRITE
    name, limit, *rules = _device(job) if job.within is None else _file(job)
    return (
        "fio",
        "--name=plumbline",
        f"--filename={name}",
        f"--rw={'write' if write else 'randread' if is_random(spec) else 'read'}",
        f"--{limit}={size_bytes(spec)}",
        f"--bs={spec.transfer_bytes}",
        f"--runtime={max(1, round(spec.seconds))}",
        f"--ioengine={'libaio' if spec.queue_depth > 1 else 'psync'}",
        f"--iodepth={spec.queue_depth}",
        f"--direct={int(spec.direct)}",
        *(("--invalidate=0",) if spec.pattern == KEEP_CACHED else ()),
        *(("--end_fsync=1",) if write else ()),
        *((f"--rate={round(spec.rate_cap_Bps)}",) if spec.rate_cap_Bps else ()),
        *rules,
        # a map of all blocks of a large device takes hundreds of MB
        *(("--norandommap=1", "--random_generator=tausworthe64") if is_random(spec) else ()),
        # a new seed each time, so the target cannot deduplicate against older data
        "--randrepeat=0",
        "--zero_buffers=0",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        f"--percentile_list={':'.join(QUANTILES.values() if is_random(spec) else ('50', '99'))}",
        "--status-interval=1",
        "--eta=never",
        "--output-format=json",
    )


_MAKES_NONE = "--allow_file_create=0"


def _file(job: Job) -> tuple[str, ...]:
    if job.within is None or not job.within.opened:
        raise DocumentError(f"{job.subject!r} is no probe file; fio would make one")
    return FILE, "size", "--fallocate=none", _MAKES_NONE, "--create_on_open=1", "--unlink=0"


def _device(job: Job) -> tuple[str, ...]:
    """Return name, limit and further options of a device; the reads spread over all of it."""
    DEVICE.refuse("the device", job.subject)
    if not is_random(job.spec) or job.operation is Operation.WRITE:
        raise DocumentError(f"{job.subject} is a device, of which fio makes small reads alone")
    # fio separates files by colons, which names of PCI addresses contain
    name = job.subject.replace(":", "\\:")
    # flushing the page cache of a device needs root, and would slow its users
    return name, "io_size", "--readonly", _MAKES_NONE, "--invalidate=0"


def is_random(spec: ProbeSpec) -> bool:
    """Return whether a specification reads at random places."""
    return spec.pattern == RANDOM


def size_bytes(spec: ProbeSpec) -> int:
    """Return the bytes of one operation: whole transfers, at most the size of the file."""
    return answer.whole_transfers(spec) * spec.transfer_bytes


def parse(job: Job, completed: Completed) -> Measurement:
    """Return the measurement in the last report, with the rate in each second from all reports."""
    answer.refuse_unfinished(completed, "fio")
    reports, messages = read_report(completed.stdout)
    output = "\n".join((*messages, *completed.stderr.splitlines()))
    number = reports[-1].error if reports else 0
    if not completed.ok:
        message = str(answer.failure(completed, "fio", output))
        raise answer.storage_failure(output, message + _remedy(job, output, number), number)
    if not reports:
        raise answer.not_understood("fio", "report", output or completed.stdout)
    last = reports[-1]
    if last.error:
        message = f"fio ended with error {last.error}: {answer.quoted(output) or 'see errno(3)'}"
        raise answer.storage_failure(output, message + _remedy(job, output, number), number)
    _refuse_old(last)
    direction = "write" if job.operation is Operation.WRITE else "read"
    moved, seconds = _moved(last, direction)
    if moved == 0:
        reason = answer.quoted(output) or f"{job.subject} may hang"
        raise ToolError(f"fio moved nothing in {seconds:.0f} s; {reason}")
    if is_random(job.spec):
        return _small_reads(job, reports, moved, seconds)
    short = moved < size_bytes(job.spec)
    if short and seconds < job.spec.seconds - _TICK_S:
        raise ToolError(
            f"fio stopped after {moved} of {size_bytes(job.spec)} bytes with time left; "
            f"the file {job.subject} is shorter than that, look who cut it"
        )
    return Measurement(
        bytes=moved,
        seconds=seconds,
        rate=moved / seconds if seconds else float("nan"),
        profile=_profile(reports, direction),
        quantities=_latencies(last.direction(direction), _OF_STREAM),
        flags=(Flag.SHORT,) if short else (),
    )


def _small_reads(job: Job, reports: list[Report], moved: int, seconds: float) -> Measurement:
    """Return reads per second; their time is limited, so fewer bytes are nothing unusual."""
    size = job.spec.transfer_bytes
    return Measurement(
        bytes=moved,
        seconds=seconds,
        rate=moved / size / seconds if seconds else float("nan"),
        profile=tuple(rate / size for rate in _profile(reports, "read")),
        quantities=_latencies(reports[-1].direction("read"), _OF_SMALL_READS),
    )


def _refuse_old(report: Report) -> None:
    version = _VERSION.match(report.version)
    if version and whole(version[1], "the version of fio") < _OLDEST_VERSION:
        raise ToolError(
            f"{report.version:.40} counts in KiB, which this probe does not read; "
            f"install fio {_OLDEST_VERSION}.0 or newer"
        )


def _remedy(job: Job, output: str, number: int) -> str:
    """Return the remedy for a missing engine, or if O_DIRECT is refused (open(2)), else empty."""
    if "failed to load engine" in output or "not loadable" in output:
        return "; this fio lacks the engine: install fio-engine-libaio, or another fio"
    if job.within is None and ("specify size=" in output or "zero sized" in output):
        return f"; {job.subject} is gone, or empty"
    if "blocksize is larger" in output:
        return f"; {job.subject} is smaller than one read of {job.spec.transfer_bytes} bytes"
    refused = number == errno.EINVAL or "Invalid argument" in output or "support direct=" in output
    if not job.spec.direct or not refused:
        return ""
    if job.within is None:
        return (
            f"; the device may not take direct reads of {job.spec.transfer_bytes} bytes: look at "
            "its logical block size (lsblk -o NAME,LOG-SEC)"
        )
    return (
        f"; this file system may not take direct I/O of {job.spec.transfer_bytes} bytes: set "
        "direct: false in the policy, which then measures the page cache too"
    )


def _moved(report: Report, direction: str) -> tuple[int, float]:
    values = report.direction(direction)
    moved = answer.number("fio", "io_bytes", values.get("io_bytes"))
    return int(moved), answer.number("fio", "runtime", values.get("runtime")) / 1000


def _profile(reports: list[Report], direction: str) -> tuple[float, ...]:
    """Return the rates between reports; a last fraction of a second is left out."""
    points = [(0, 0.0), *(_moved(report, direction) for report in reports)]
    steps = [
        (after[0] - before[0], after[1] - before[1]) for before, after in zip(points, points[1:])
    ]
    return tuple(moved / seconds for moved, seconds in steps if seconds >= 0.5 and moved >= 0)


_OF_STREAM = dict(zip(LATENCIES, ("mean", "50.000000", "99.000000", "max")))
_OF_SMALL_READS = {name: f"{float(percent):.6f}" for name, percent in QUANTILES.items()}
"""fio's keys of the times of calls, by name."""


def _latencies(values: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, float]:
    """Return the times of entire calls if fio has their percentiles, else completion times."""
    for kind in ("lat_ns", "clat_ns"):
        times = values.get(kind)
        if isinstance(times, dict) and isinstance(times.get("percentile"), dict):
            figures = {**times, **times["percentile"]}
            return {
                name: answer.number("fio", kind, figures.get(key)) / 1e9
                for name, key in keys.items()
            }
    return {}
