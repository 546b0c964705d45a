"""The metrics that Lustre's counters become, named after the conventions of Prometheus.

https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Names and values, in the order in which they are written."""


class Metric(NamedTuple):
    """A metric: ``kind`` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str


class Count(NamedTuple):
    """What a metric says of one set of labels; of a histogram one bucket, or its count."""

    metric: Metric
    labels: Labels
    value: float


BYTES = Metric(
    "plumbline_lustre_bytes_total",
    "counter",
    "Bytes moved: counted by a server for all clients (obdfilter), or by a client.",
)
OPERATIONS = Metric("plumbline_lustre_operations_total", "counter", "Operations done.")
SECONDS = Metric(
    "plumbline_lustre_operation_seconds_total", "counter", "Seconds that all operations took."
)
DISK_TIME = Metric(
    "plumbline_lustre_disk_io_seconds", "histogram", "Duration of disk I/O; the sum is not known."
)
DISK_SIZE = Metric(
    "plumbline_lustre_disk_io_bytes", "histogram", "Size of disk I/O; the sum is not known."
)
RECOVERY = Metric(
    "plumbline_lustre_recovery_status", "gauge", "Always 1; how the recovery of a target stands."
)
SETTLED = ("complete", "inactive")
"""A target in any other state of recovery serves nobody, or not everybody."""

REMAINING = Metric(
    "plumbline_lustre_recovery_remaining_seconds", "gauge", "Until a running recovery ends."
)
EVICTED = Metric(
    "plumbline_lustre_recovery_evicted_clients",
    "gauge",
    "Clients that a running recovery has lost.",
)
LNET_MESSAGES = Metric("plumbline_lnet_messages_total", "counter", "LNet messages of this host.")
LNET_BYTES = Metric("plumbline_lnet_bytes_total", "counter", "Bytes of LNet messages.")
LNET_ERRORS = Metric("plumbline_lnet_errors_total", "counter", "Errors that LNet counts.")
NI_UP = Metric("plumbline_lnet_interface_up", "gauge", "1 where an LNet interface is up.")
NI_CREDITS = Metric("plumbline_lnet_interface_credits", "gauge", "Credits to send; below 0: waits.")
NI_LOWEST = Metric(
    "plumbline_lnet_interface_credits_lowest", "gauge", "Lowest credits to send since the start."
)
NI_HEALTH = Metric(
    "plumbline_lnet_interface_health", "gauge", "Health of an LNet interface: 1000 is full."
)
NI_FATAL = Metric(
    "plumbline_lnet_interface_fatal_error",
    "gauge",
    "1 where the device of an interface has failed.",
)
NI_ERRORS = Metric(
    "plumbline_lnet_interface_errors_total", "counter", "Messages that an LNet interface lost."
)
PEERS = Metric("plumbline_lnet_peers", "gauge", "Interfaces of other hosts that LNet knows.")
PEERS_BELOW = Metric("plumbline_lnet_peers_unhealthy", "gauge", "Those below full health.")
PEER_HEALTH = Metric(
    "plumbline_lnet_peer_health", "gauge", "Health of the least healthy of them; 1000 is full."
)
BUFFERS = Metric("plumbline_lnet_router_buffers", "gauge", "Buffers of a router.")
BUFFER_CREDITS = Metric(
    "plumbline_lnet_router_buffer_credits", "gauge", "Free buffers; below 0: messages wait."
)
BUFFER_LOWEST = Metric(
    "plumbline_lnet_router_buffer_credits_lowest", "gauge", "Fewest free buffers since the start."
)
TIMEOUTS = Metric(
    "plumbline_lustre_read_timeouts_total",
    "counter",
    "Times that a file of Lustre gave no answer in time, since the collector started.",
)
UNREADABLE = Metric(
    "plumbline_lustre_unreadable_files",
    "gauge",
    "Files of Lustre that this look could not use, by reason.",
)
LOOKED = Metric(
    "plumbline_lustre_looked_timestamp_seconds", "gauge", "When Lustre's counters were read."
)
