"""Metrics of Lustre and LNet, as ``plumbline counters`` exports them and reports query them.

Names follow https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """A metric: ``kind`` is counter, gauge or histogram."""

    name: str
    kind: str
    help: str


def _counter(name: str, words: str) -> Metric:
    return Metric(f"plumbline_{name}_total", "counter", words)


def _gauge(name: str, words: str) -> Metric:
    return Metric(f"plumbline_{name}", "gauge", words)


BYTES = _counter(
    "lustre_bytes", "Bytes moved: counted by a server for all clients (obdfilter), or by a client."
)
OPERATIONS = _counter("lustre_operations", "Operations done.")
SECONDS = _counter("lustre_operation_seconds", "Seconds that all operations took.")
DISK_TIME = Metric(
    "plumbline_lustre_disk_io_seconds", "histogram", "Duration of disk I/O; the sum is not known."
)
DISK_SIZE = Metric(
    "plumbline_lustre_disk_io_bytes", "histogram", "Size of disk I/O; the sum is not known."
)
QUEUE_REQUESTS = _counter("lustre_queue_requests", "Requests that a service of a server took up.")
QUEUE_SECONDS = _counter("lustre_queue_seconds", "Seconds that they waited for a thread.")
QUEUE_WAITING = _counter(
    "lustre_queue_waiting", "Requests still waiting when each was taken up, added up."
)
QUEUE_ACTIVE = _counter(
    "lustre_queue_active", "Requests being handled when each was taken up, added up."
)
RECOVERY = _gauge("lustre_recovery_status", "Always 1; how the recovery of a target stands.")
SETTLED = ("complete", "inactive")
"""In any other recovery state a target does not serve all clients."""

REMAINING = _gauge("lustre_recovery_remaining_seconds", "Until a running recovery ends.")
EVICTED = _gauge("lustre_recovery_evicted_clients", "Clients that a running recovery has lost.")
LNET_MESSAGES = _counter("lnet_messages", "LNet messages of this host.")
LNET_BYTES = _counter("lnet_bytes", "Bytes of LNet messages.")
LNET_ERRORS = _counter("lnet_errors", "Errors that LNet counts.")
NI_UP = _gauge("lnet_interface_up", "1 where an LNet interface is up.")
NI_CREDITS = _gauge("lnet_interface_credits", "Credits to send; below 0: waits.")
NI_LOWEST = _gauge("lnet_interface_credits_lowest", "Lowest credits to send since the start.")
NI_HEALTH = _gauge("lnet_interface_health", "Health of an LNet interface: 1000 is full.")
NI_FATAL = _gauge("lnet_interface_fatal_error", "1 where the device of an interface has failed.")
NI_ERRORS = _counter("lnet_interface_errors", "Messages that an LNet interface lost.")
PEERS = _gauge("lnet_peers", "Interfaces of other hosts that LNet knows.")
PEERS_BELOW = _gauge("lnet_peers_unhealthy", "Those below full health.")
PEER_HEALTH = _gauge("lnet_peer_health", "Health of the least healthy of them; 1000 is full.")
ROUTE_UP = _gauge("lnet_route_up", "1 where an LNet route is up.")
BUFFERS = _gauge("lnet_router_buffers", "Buffers of a router.")
BUFFER_CREDITS = _gauge("lnet_router_buffer_credits", "Free buffers; below 0: messages wait.")
BUFFER_LOWEST = _gauge("lnet_router_buffer_credits_lowest", "Fewest free buffers since the start.")
TIMEOUTS = _counter(
    "lustre_read_timeouts",
    "Times that a file of Lustre gave no answer in time, since the collector started.",
)
UNREADABLE = _gauge(
    "lustre_unreadable_files", "Files of Lustre that this look could not use, by reason."
)
LOOKED = _gauge("lustre_looked_timestamp_seconds", "When Lustre's counters were read.")
