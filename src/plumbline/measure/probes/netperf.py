"""netperf: one TCP stream to or from a partner's netserver, with its retransmits."""

from __future__ import annotations

import re
from typing import Optional

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError
from plumbline.model.layers.net import NET
from plumbline.model.names import ADDRESS
from plumbline.model.record import Measurement, Operation

LAYERS = (NET,)
VERSION_COMMAND = ("netperf", "-V")

_TESTS = {Operation.SEND: "TCP_STREAM", Operation.RECEIVE: "TCP_MAERTS"}
_KEYS = (
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
    "ELAPSED_TIME",
    "LOCAL_TRANSPORT_RETRANS",
    "REMOTE_TRANSPORT_RETRANS",
)
_VALUE = re.compile(r"^([A-Z_]+)=(.*)$", re.MULTILINE)
_UNITS = {"10^6bits/s": 125000.0, "10^3bits/s": 125.0, "10^9bits/s": 125000000.0}
SPARE_S = 30.0
"""Time after which the partner counts as lost."""


def command(job: Job) -> tuple[str, ...]:
    """Return the command line, limited by time: netperf cannot be limited by bytes as well.

    Raises:
        DocumentError: the job has several streams or a rate cap, or an address is unusable.
    """
    spec = job.spec
    if spec.queue_depth != 1:
        raise DocumentError(
            f"netperf sends one stream, not {spec.queue_depth}; set queue_depth to 1 or use iperf3"
        )
    answer.refuse_rate_cap("netperf", spec.rate_cap_Bps)
    check_addresses(job)
    transfer = str(spec.transfer_bytes)
    return (
        *("netperf", "-P", "0", "-t", _TESTS[job.operation], "-H", job.subject),
        *(("-L", job.own_address) if job.own_address else ()),
        *("-p", str(job.port), "-l", f"{max(1, round(spec.seconds))}"),
        *("--", "-m", transfer, "-M", transfer, "-k", ",".join(_KEYS)),
    )


def parse(job: Job, completed: Completed) -> Measurement:
    """Return throughput and the sender's retransmits."""
    answer.refuse_failed(completed, f"netperf to {job.subject}")
    values = dict(_VALUE.findall(completed.stdout))
    unit = _UNITS.get(values.get("THROUGHPUT_UNITS", "").strip())
    if unit is None:
        raise answer.not_understood("netperf", "throughput", completed.stdout)
    rate = answer.number("netperf", "THROUGHPUT", values.get("THROUGHPUT")) * unit
    seconds = answer.number("netperf", "ELAPSED_TIME", values.get("ELAPSED_TIME"))
    sender = "LOCAL" if job.operation is Operation.SEND else "REMOTE"
    retransmits = _retransmits(values.get(f"{sender}_TRANSPORT_RETRANS"))
    if not rate and seconds:
        raise answer.nothing_arrived(job, "netperf", seconds, retransmits)
    return Measurement(
        bytes=round(rate * seconds),
        seconds=seconds,
        rate=rate,
        retransmits=retransmits,
    )


def check_addresses(job: Job) -> None:
    """Raise DocumentError unless both addresses and the port are valid."""
    for address in (job.subject, job.own_address or job.subject):
        ADDRESS.refuse("the address", address)
    if not 0 < job.port < 1 << 16:
        raise DocumentError(
            f"port {job.port} for {job.subject} is not 1 to 65535; correct the policy"
        )


def _retransmits(text: Optional[str]) -> Optional[int]:
    """Return the count; None if it is -1 or missing, which means unknown."""
    count = answer.number("netperf", "TRANSPORT_RETRANS", -1 if text is None else text)
    return None if count < 0 else int(count)
