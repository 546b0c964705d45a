"""Messages of the kernel that tell of slow or failing I/O, and what each is about.

Which of them are no fault in their place is known to plumbline.symptoms.routine.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.model.state import State
from plumbline.symptoms.patterns import match
from plumbline.symptoms.symptom import Direction

UNMOUNTED = "failover"
"""The kind of message with which a server unmounts a target."""


class Message(NamedTuple):
    """One kind of message: ``about`` says what the group ``name`` of its pattern names.

    ``words`` are for one or many: ``I/O errors of {name}``.
    """

    kind: str
    severity: State
    about: str
    words: str
    direction: Direction = Direction.RAISES


class ParsedMessage(NamedTuple):
    """A message that was understood; ``name`` is empty where it is about the node."""

    message: Message
    name: str


MESSAGES = (
    Message("io_error", State.CRITICAL, "block", "I/O errors of {name}"),
    Message("medium_error", State.CRITICAL, "block", "medium or hardware errors of {name}"),
    Message("command_reset", State.WARNING, "scsi", "aborted commands or resets of {name}"),
    Message("command_timeout", State.WARNING, "nvme", "commands of {name} without an answer"),
    Message("ata_error", State.WARNING, "node", "errors or resets of port {name}"),
    Message("member_failed", State.CRITICAL, "block", "failures of {name} in its array"),
    Message("path_failed", State.WARNING, "node", "failures of path {name}"),
    Message("hung_task", State.WARNING, "node", "reports of a hung task {name}"),
    Message("slow_thread", State.WARNING, "node", "slow or hung service threads"),
    Message("slow_operation", State.WARNING, "target", "slow operations on {name}"),
    Message(
        "request_timeout", State.WARNING, "target", "requests to {name} without an answer in time"
    ),
    Message("connection_lost", State.WARNING, "target", "lost connections to {name}"),
    Message("evicted", State.WARNING, "target", "evictions of this client by {name}"),
    Message("lock_timeout", State.WARNING, "node", "expired locks"),
    Message(
        UNMOUNTED,
        State.WARNING,
        "target",
        "unmounts of {name}, for a failover or by hand",
        Direction.LOWERS,
    ),
    Message("link_down", State.WARNING, "interface", "losses of link {name}"),
    Message("transmit_timeout", State.WARNING, "interface", "stuck transmit queues of {name}"),
)


def understand(text: str) -> Optional[ParsedMessage]:
    """Return what a message tells, None if it is none of these."""
    for message in MESSAGES:
        matched = match(message.kind, text)
        if matched:
            return ParsedMessage(message, matched.groupdict().get("name", ""))
    return None
