"""iperf3: TCP streams to or from a partner, for systems without a netperf package.

Before 3.16 iperf3 is single-threaded, and several streams share one core.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.measure.probes.netperf import check_addresses
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.layers.net import NET
from plumbline.model.record import Measurement, Operation
from plumbline.model.validation import read_json

LAYERS = (NET,)
VERSION_COMMAND = ("iperf3", "--version")

_CONNECT_S = 5.0
SPARE_S = 30.0
"""Time after which the partner counts as lost."""

_LARGEST_BLOCK = 1 << 20
_MAX_STREAMS = 128


def command(job: Job) -> tuple[str, ...]:
    """Return the command line, limited by time.

    Raises:
        DocumentError: an address is unusable, or there are more streams than iperf3 supports.
    """
    spec = job.spec
    if spec.queue_depth > _MAX_STREAMS:
        raise DocumentError(
            f"iperf3 sends {_MAX_STREAMS} streams at most, not {spec.queue_depth}; "
            "lower queue_depth"
        )
    check_addresses(job)
    cap = spec.rate_cap_Bps
    return (
        *("iperf3", "--client", job.subject, "--port", str(job.port), "--json"),
        *(("--bind", job.own_address) if job.own_address else ()),
        *("--time", f"{max(1, round(spec.seconds))}", "--parallel", str(spec.queue_depth)),
        *("--length", str(min(spec.transfer_bytes, _LARGEST_BLOCK))),
        *("--connect-timeout", f"{_CONNECT_S * 1000:.0f}"),
        # the cap is per stream, in bits
        *(("--bitrate", f"{cap * 8 / spec.queue_depth:.0f}") if cap is not None else ()),
        *(("--reverse",) if job.operation is Operation.RECEIVE else ()),
    )


def parse(job: Job, completed: Completed) -> Measurement:
    """Return the receiver's rate, the rate in each second, and the sender's retransmits."""
    answer.refuse_unfinished(completed, "iperf3")
    document = _document(completed)
    if "error" in document:
        message = f"{document['error']!s:.300}"
        raise ToolError(f"iperf3 to {job.subject}: {message}{_remedy(message)}")
    answer.refuse_failed(completed, f"iperf3 to {job.subject}")
    received = _part(document, "end", "sum_received")
    sent = _part(document, "end", "sum_sent")
    count = sent.get("retransmits")
    retransmits = None if count is None else int(answer.number("iperf3", "retransmits", count))
    moved = int(answer.number("iperf3", "bytes", received.get("bytes")))
    seconds = answer.number("iperf3", "seconds", received.get("seconds"))
    if not moved and seconds:
        sent_bytes = answer.number("iperf3", "bytes", sent.get("bytes"))
        raise answer.nothing_arrived(job, "iperf3", seconds, retransmits, sent_bytes)
    return Measurement(
        bytes=moved,
        seconds=seconds,
        rate=moved / seconds if seconds else float("nan"),
        profile=_profile(document),
        retransmits=retransmits,
    )


_REMEDIES = (
    ("unable to connect", "; is its server running?"),
    (
        "server is busy",
        "; another test runs there, or a dead client holds it: wait, or restart its server",
    ),
    ("client has terminated", "; this client was ended, measure again"),
    ("server has terminated", "; its server was ended, measure again"),
)
"""Remedies by a part of iperf3's message."""


def _remedy(message: str) -> str:
    return next((remedy for words, remedy in _REMEDIES if words in message), "")


def _document(completed: Completed) -> Mapping[str, Any]:
    text = completed.stdout
    # warnings may stand before and after the document
    start, end = max(0, text.find("{")), text.rfind("}") + 1
    try:
        document: Optional[object] = read_json(text[start : end or None])
    except ValueError as error:
        if not completed.ok:
            raise answer.failure(completed, "iperf3") from error
        raise answer.not_understood("iperf3", "report", text) from error
    if not isinstance(document, dict):
        raise answer.not_understood("iperf3", "report", text)
    return document


def _part(document: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    part: object = document
    for key in keys:
        part = part.get(key) if isinstance(part, dict) else None
    if not isinstance(part, dict):
        raise answer.not_understood("iperf3", ".".join(keys), str(dict(document))[:200])
    return part


def _profile(document: Mapping[str, Any]) -> tuple[float, ...]:
    intervals = document.get("intervals")
    if not isinstance(intervals, list):
        raise answer.not_understood("iperf3", "intervals", repr(intervals))
    parts = [_part({"interval": interval}, "interval", "sum") for interval in intervals]
    rates = (
        answer.number("iperf3", "bits_per_second", part.get("bits_per_second")) for part in parts
    )
    return tuple(rate / 8 for rate in rates)
