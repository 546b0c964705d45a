"""Messages of the kernel that tell of slow or failing I/O, and what each is about.

The texts are those of Linux 3.10 to 6.12 and Lustre 2.12 to 2.17; roles/events has the same for the
Simple Event Correlator, and the same recorded messages test both.  Which of them are no fault in
their place is known to plumbline.symptoms.routine.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Pattern

from plumbline.model.state import State
from plumbline.symptoms.symptom import Direction


class Message(NamedTuple):
    """One kind of message: ``about`` says what the group ``name`` of the pattern names.

    ``words`` are for one or many: ``I/O errors of {name}``.
    """

    kind: str
    severity: State
    about: str
    pattern: Pattern[str]
    words: str
    direction: Direction = Direction.RAISES


class ParsedMessage(NamedTuple):
    """A message that was understood; ``name`` is empty where it is about the node."""

    message: Message
    name: str


_BLOCK = r"(?P<name>[a-z][a-z0-9]*(?:-[0-9]+)?)"
TARGET = r"(?P<name>[A-Za-z0-9_.-]+-(?:OST|MDT)[0-9a-f]{4})"
LINK = r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)"


def _message(kind: str, severity: State, about: str, pattern: str, words: str) -> Message:
    return Message(kind, severity, about, re.compile(pattern), words)


MESSAGES = (
    _message(
        "io_error",
        State.CRITICAL,
        "block",
        r"(?:I/O|critical (?:medium|target|nexus)|protection|timeout|transport) error, "
        rf"dev {_BLOCK},",
        "I/O errors of {name}",
    ),
    _message(
        "medium_error",
        State.CRITICAL,
        "block",
        rf"\[{_BLOCK}\] .*Sense Key : (?:Medium|Hardware) Error",
        "medium or hardware errors of {name}",
    ),
    _message(
        "command_reset",
        State.WARNING,
        "scsi",
        r"^sd (?P<name>\d+:\d+:\d+:\d+): (?:\[\w+\] )?(?:attempting (?:task abort|device reset)|"
        r"(?:task abort|device reset): |Power-on or device reset occurred)",
        "aborted commands or resets of {name}",
    ),
    _message(
        "command_timeout",
        State.WARNING,
        "nvme",
        r"^nvme (?P<name>nvme\d+): (?:I/O (?:tag )?\d+ .*timeout|controller is down)",
        "commands of {name} without an answer",
    ),
    _message(
        "ata_error",
        State.WARNING,
        "node",
        r"^(?P<name>ata\d+)(?:\.\d+)?: (?:exception Emask|(?:hard|soft) resetting link)",
        "errors or resets of port {name}",
    ),
    _message(
        "member_failed",
        State.CRITICAL,
        "block",
        rf"^md/\S+: Disk failure on {_BLOCK}, disabling device",
        "failures of {name} in its array",
    ),
    _message(
        "path_failed",
        State.WARNING,
        "node",
        r"multipath: (?:\S+ )?Failing path (?P<name>\d+:\d+)",
        "failures of path {name}",
    ),
    _message(
        "hung_task",
        State.WARNING,
        "node",
        r"^INFO: task (?P<name>\S+):\d+ blocked for more than \d+ seconds",
        "reports of a hung task {name}",
    ),
    _message(
        "slow_thread",
        State.WARNING,
        "node",
        r"[Ss]ervice thread pid \d+ was inactive for [\d.]+ ?s",
        "slow or hung service threads",
    ),
    _message(
        "slow_operation",
        State.WARNING,
        "target",
        rf"^Lustre: {TARGET}: slow [a-z_ ]+ \d+s",
        "slow operations on {name}",
    ),
    _message(
        "request_timeout",
        State.WARNING,
        "target",
        rf"Request sent has (?:timed out for (?:slow reply|sent delay)|failed due to network error)"
        rf".*[ >]{TARGET}-",
        "requests to {name} without an answer in time",
    ),
    _message(
        "connection_lost",
        State.WARNING,
        "target",
        rf"Connection to {TARGET} \(at \S+\) was lost",
        "lost connections to {name}",
    ),
    _message(
        "evicted",
        State.WARNING,
        "target",
        rf"This client was evicted by {TARGET};",
        "evictions of this client by {name}",
    ),
    _message(
        "lock_timeout",
        State.WARNING,
        "node",
        r"lock (?:callback timer expired|timed out)",
        "expired locks",
    ),
    _message(
        "failover",
        State.WARNING,
        "target",
        rf"^Lustre: Failing over {TARGET}\b",
        "unmounts of {name}, for a failover or by hand",
    )._replace(direction=Direction.LOWERS),
    _message(
        "link_down",
        State.WARNING,
        "interface",
        rf"(?:^|[ ]){LINK}(?: \w+)?: (?:NIC )?[Ll]ink (?:is )?[Dd]own",
        "losses of link {name}",
    ),
    _message(
        "transmit_timeout",
        State.WARNING,
        "interface",
        rf"NETDEV WATCHDOG: {LINK} .*transmit queue \d+ timed out",
        "stuck transmit queues of {name}",
    ),
)


_LONGEST = 1024
"""Characters of a message, LOG_LINE_MAX of the kernel (kernel/printk/printk.c)."""


def understand(text: str) -> Optional[ParsedMessage]:
    """Return what a message tells, None if it is none of these; the kernel's are never longer."""
    for message in MESSAGES:
        match = message.pattern.search(text, 0, _LONGEST)
        if match:
            return ParsedMessage(message, match.groupdict().get("name", ""))
    return None
