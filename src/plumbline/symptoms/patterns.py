r"""What kernels print about I/O, as regular expressions: their one home.

Symptoms read the log of a node with them, and the role events gives them to the Simple Event
Correlator, so they are written in what Python and Perl have in common.  Each matches from the
beginning of a message.  The texts are those of Linux 3.10 to 6.12 and Lustre 2.12 to 2.17.
"""

from __future__ import annotations

import re
from typing import Optional

_BLOCK = r"(?P<name>[a-z][a-z0-9]*(?:-[0-9]+)?)"
_ARRAY = r"(?P<array>md[A-Za-z0-9_.-]*)"
_TARGET = r"(?P<name>[A-Za-z0-9_.-]+-(?:OST|MDT)[0-9a-f]{4})"
# the last word before the colon, or the one before that: "ens1f0 NIC:"
_LINK = r"(?:.*? )??(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?: \w+)?: (?:NIC )?[Ll]ink (?:is )?"

_TEXTS = {
    # --- the host
    "boot": r"Linux version \d",
    # the journal keeps what systemd writes into the kernel's log without its name
    "shutdown": r"(?:systemd-shutdown\[1\]: )?"
    r"(?:Syncing filesystems and block devices|Sending SIGTERM to remaining processes)",
    "hung_task": r"INFO: task (?P<name>\S+):\d+ blocked for more than \d+ seconds",
    # --- disks, arrays and paths
    "io_error": r".*?(?:I/O|critical (?:medium|target|nexus)|protection|timeout|transport) error, "
    rf"dev {_BLOCK},",
    "medium_error": rf"sd [\d:]+: \[{_BLOCK}\] .*Sense Key : (?:Medium|Hardware) Error",
    "command_reset": r"sd (?P<name>\d+:\d+:\d+:\d+): (?:\[\w+\] )?(?:attempting "
    r"(?:task abort|device reset)|(?:task abort|device reset): |Power-on or device reset occurred)",
    "command_timeout": r"nvme (?P<name>nvme\d+): (?:I/O (?:tag )?\d+ .*timeout|controller is down)",
    "ata_error": r"(?P<name>ata\d+)(?:\.\d+)?: (?:exception Emask|(?:hard|soft) resetting link)",
    "disk_probed": r"scsi (?P<name>\d+:\d+:\d+:\d+): .*\bPQ: \d+ ANSI: \d",
    "disk_attached": rf"sd (?P<address>\d+:\d+:\d+:\d+): \[{_BLOCK}\] Attached SCSI\b",
    "disk_detached": rf"sd [\d:]+: \[{_BLOCK}\] Synchronizing SCSI cache",
    "nvme_attached": r"nvme (?P<name>nvme\d+): \d+/\d+/\d+ default/read/poll queues",
    "nvme_detached": r"nvme (?P<name>nvme\d+): (?:controller is down|Removing after probe failure|"
    r"Disabling device after reset failure)",
    "member_failed": rf"md/[^\s:]+:{_ARRAY}: Disk failure on {_BLOCK}, disabling device",
    "array_recovered": rf"md: {_ARRAY}: (?:recovery|resync) done",
    "path_failed": r"device-mapper: multipath: (?:\S+ )?Failing path (?P<name>\d+:\d+)",
    "path_reinstated": r"device-mapper: multipath: (?:\S+ )?Reinstating path (?P<name>\d+:\d+)",
    # --- targets of Lustre
    # what any unmount says
    "failover": rf"Lustre: Failing over {_TARGET}\b",
    "unmounted": rf"Lustre: server umount {_TARGET} complete",
    "in_recovery": rf"Lustre: {_TARGET}: (?:Will be in recovery|in recovery but waiting)",
    "recovered": rf"Lustre: {_TARGET}: Recovery over after",
    # while a target is being stopped it says to its clients that it is not available
    "served": rf"Lustre: {_TARGET}: (?![Nn]ot available)",
    "slow_operation": rf"Lustre: {_TARGET}: slow [a-z_ ]+ \d+s",
    # --- connections to them
    "request_timeout": r".*?Request sent has "
    rf"(?:timed out for (?:slow reply|sent delay)|failed due to network error).*[ >]{_TARGET}-",
    "connection_lost": rf".*?Connection to {_TARGET} \(at \S+\) was lost",
    "connection_restored": rf"Lustre: (?P<device>{_TARGET}-\S+): Connection restored to\b",
    "evicted": rf".*?This client was evicted by {_TARGET};",
    "deactivated": rf"Lustre: setting import {_TARGET}_UUID INACTIVE by administrator req",
    # --- threads and locks of servers
    "slow_thread": r".*?[Ss]ervice thread pid (?P<pid>\d+) was inactive for [\d.]+ ?s",
    "thread_completed": r".*?[Ss]ervice thread pid (?P<pid>\d+) completed after [\d.]+",
    "lock_timeout": r"LustreError: .*?lock (?:callback timer expired|timed out)",
    # --- links
    "link_down": rf"{_LINK}[Dd]own",
    "link_up": rf"{_LINK}[Uu]p",
    "transmit_timeout": r"NETDEV WATCHDOG: (?P<name>[A-Za-z][A-Za-z0-9_.-]*) "
    r".*transmit queue \d+ timed out",
}

PATTERNS = {kind: re.compile(text) for kind, text in _TEXTS.items()}

_LONGEST = 1024
"""Characters of a message, LOG_LINE_MAX of the kernel (kernel/printk/printk.c)."""


def match(kind: str, text: str) -> Optional[re.Match[str]]:
    """Return what a message of this kind says, None if it is of another; none is longer."""
    return PATTERNS[kind].match(text, 0, _LONGEST)
