"""Rules for kernel messages: one row for each fault that a kernel tells of.

The rows serve the symptoms and, through the role events, the Simple Event Correlator, so patterns
are written in what Python and Perl have in common.  Each matches from the beginning of a message.
The texts are those of Linux 3.10 to 6.12, OpenZFS 0.8 to 2.3 and Lustre 2.12 to 2.17.

A message that only may mean a fault has no row, or is in HARMLESS.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Optional

from plumbline.model.verdict import State
from plumbline.observe.symptom import Direction

NO_STORAGE = r"(?:loop|ram|zram|sr|fd|nbd)[0-9]+"
"""Pattern of block devices that are no storage and no fault when empty."""

_BLOCK = rf"(?P<name>(?!{NO_STORAGE}\b)[a-z][a-z0-9]*(?:-[0-9]+)?)"
_DISK = rf"sd [\d:]+: \[{_BLOCK}\] "
_SCSI = r"s(?:d|csi) (?P<name>\d+:\d+:\d+:\d+): "
_NVME = r"nvme (?P<name>nvme\d+): "
_PCI = r"\S+ (?P<name>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
# the inode of a journal follows its device
_JOURNAL = rf"(?P<name>(?!{NO_STORAGE}\b)(?:dm-\d+|[a-z][a-z0-9]*))(?:-\d+)?\b"
_ARRAY = r"(?P<array>md[A-Za-z0-9_.-]*)"
_MD = rf"md/[^\s:]+:{_ARRAY}: "
_OF_ARRAY = r"md/[^\s:]+:(?P<name>md[A-Za-z0-9_.-]*): "
_POOL = r"'(?P<name>[A-Za-z][A-Za-z0-9_.:-]*)'"
_TARGET = r"(?P<name>[A-Za-z0-9_.-]+-(?:OST|MDT)[0-9a-f]{4})"
_MGC = r"(?P<name>MGC[A-Za-z0-9_.:@-]+)"
_INTERFACE = r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)"
# the last word before the colon, or the one before that: "ens1f0 NIC:"
_LINK = rf"(?:.*? )??{_INTERFACE}(?: \w+)?: (?:NIC )?[Ll]ink (?:is )?"
_FS = r"(?:LDISKFS|EXT[234])-fs"
_LNET = r"LNet(?:Error)?: .*?"
_FUSION = r"(?P<name>mpt[23]sas(?:_cm)?\d+|mpi3mr\d+): "
_IOC = r"mpt(?:base|scsih): (?P<name>ioc\d+): "
_OF_NO_DATA = r"(?!.*\bop 0x[0-9a-f]+:\((?:DISCARD|SECURE_ERASE|WRITE_SAME|WRITE_ZEROES)\))"


class Message(NamedTuple):
    """One fault; ``about`` says what the group ``name`` of its patterns names.

    ``words`` are for one or many: ``I/O errors of {name}``.
    """

    kind: str
    severity: State
    about: str
    words: str
    texts: tuple[str, ...]
    direction: Direction


UNMOUNTED = "failover"
"""The kind of message with which a server unmounts a target."""

LOST_LINKS = ("link_down", "bond_member_down", "bond_down")
"""Kinds of messages that a boot or a shutdown explains."""

LOST_CONNECTIONS = ("connection_lost", "evicted")

_CRITICAL, _WARNING = State.CRITICAL, State.WARNING

_ROWS: Mapping[tuple[str, State, str, str], tuple[str, ...]] = {
    # --- disks
    ("io_error", _CRITICAL, "block", "I/O errors of {name}"): (
        (
            rf"{_OF_NO_DATA}.*?(?:I/O|critical (?:medium|target|space allocation)|protection|"
            rf"timeout|transport) error, dev {_BLOCK},"
        ),
    ),
    ("buffer_error", _CRITICAL, "block", "lost reads or writes of {name}"): (
        rf"Buffer I/O error on dev(?:ice)? {_BLOCK}, logical block",
    ),
    ("medium_error", _CRITICAL, "block", "medium or hardware errors of {name}"): (
        rf"{_DISK}.*Sense Key : (?:Medium|Hardware) Error",
        # status code type 2: media and data integrity errors (NVMe base specification)
        r"(?P<name>nvme\d+n\d+): .*@ LBA \d+, .*\(sct 0x2 / sc 0x8[0-4]\)",
    ),
    ("disk_failing", _CRITICAL, "block", "forecasts of {name} that it fails"): (
        (
            rf"{_DISK}.*Add\. Sense: (?!.*\(FALSE\))"
            r"(?:Failure prediction threshold exceeded|.*[Ii]mpending failure)"
        ),
    ),
    ("transmission_error", _WARNING, "block", "damaged transmissions to or from {name}"): (
        (
            rf"{_DISK}.*Add\. Sense: (?:Information unit .*CRC error|SCSI parity error|"
            r"Scsi parity error|Data phase (?:CRC )?error|Nak received|Ack/nak timeout)"
        ),
    ),
    ("disk_heat", _WARNING, "block", "too much heat in {name}"): (
        rf"{_DISK}.*Add\. Sense: Warning - specified temperature exceeded",
    ),
    ("device_offline", _CRITICAL, "scsi", "refusals of {name}, which is offline"): (
        rf"{_SCSI}(?:\[\w+\] )?(?:Device offlined|rejecting I/O to (?:offline|dead) device)",
    ),
    ("device_offline", _CRITICAL, "block", "refusals of {name}, which is offline"): (
        rf"(?:blk_update_request: )?device offline error, dev {_BLOCK},",
    ),
    ("command_reset", _WARNING, "block", "aborted commands or resets of {name}"): (
        rf"{_DISK}(?:tag#\d+ )?(?:megasas: RESET\b|OCR is requested|task abort called)",
    ),
    ("command_reset", _WARNING, "scsi", "aborted commands or resets of {name}"): (
        (
            rf"{_SCSI}(?:\[\w+\] )?(?:attempting (?:task abort|(?:device|target) reset)|"
            r"(?:task abort|(?:device|target) reset): |Power-on or device reset occurred)"
        ),
        r"(?:hpsa|smartpqi) \S+: scsi (?P<name>\d+:\d+:\d+:\d+): resetting ",
        r"(?:hpsa|smartpqi) \S+: resetting scsi (?P<name>\d+:\d+:\d+:\d+)\b",
    ),
    ("command_reset", _WARNING, "next disk", "aborted commands or resets of {name}"): (
        rf"{_IOC}(?:>> )?[Aa]ttempting (?:task abort|(?:device|target|bus|host) reset)",
        (
            r"qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: "
            r"(?:Abort command issued|(?:DEVICE|TARGET|BUS|LOOP) RESET ISSUED)"
        ),
        r"lpfc (?P<name>[0-9a-f:.]+): .*SCSI layer issued (?:Device|Target|Bus|Host) Reset",
        r"(?P<name>aacraid): Host (?:adapter abort|bus reset) request",
        r"(?P<name>arcmsr\d*): (?:abort device command|executing (?:bus|hw bus) reset)",
    ),
    ("command_timeout", _WARNING, "nvme", "commands of {name} without an answer"): (
        rf"{_NVME}(?:I/O (?:tag )?\d+ .*timeout|controller is down)",
        rf"{_NVME}(?:starting error recovery|failed nvme_keep_alive_end_io)",
    ),
    ("command_timeout", _WARNING, "scsi", "commands of {name} without an answer"): (
        rf"{_SCSI}(?:\[\w+\] )?(?:tag#\d+ )?timing out command, waited \d+",
    ),
    ("disk_lost", _CRITICAL, "nvme", "losses of disk {name}, which does not answer its reset"): (
        (
            rf"{_NVME}(?:Removing after probe failure|Disabling device after reset failure|"
            r"Device not ready; aborting (?:reset|initiali[sz]ation)|"
            r"failure state error detected, request disconnect)"
        ),
    ),
    ("disk_lost", _CRITICAL, "node", "losses of disk {name}, which does not answer its reset"): (
        r"(?P<name>ata\d+(?:\.\d+)?): (?:disabled$|disable device|reset failed, giving up)",
    ),
    ("bus_error", _WARNING, "nvme", "resets of {name} after errors of its PCIe link"): (
        rf"{_NVME}frozen state error detected, reset controller",
    ),
    ("bus_error", _WARNING, "pci", "uncorrected errors of the PCIe device {name}"): (
        rf"{_PCI}: (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\)",
        rf"{_PCI}: (?:DPC: containment event|AER: device recovery failed)",
    ),
    ("ata_error", _WARNING, "node", "errors or resets of port {name}"): (
        (
            r"(?P<name>ata\d+)(?:\.\d+)?: (?:exception Emask|(?:hard|soft) resetting link|"
            r"COMRESET failed|limiting (?:SATA link )?speed to|revalidation failed)"
        ),
    ),
    # --- adapters of disks
    ("adapter_failed", _CRITICAL, "hba", "faults of adapter {name}"): (
        (
            rf"{_FUSION}(?:(?:fault|coredump)_(?:state|code)\(0x|SAS host is non-operational|"
            r".*unrecoverable)"
        ),
        rf"{_IOC}.*IOC is in FAULT state",
        (
            r"megaraid_sas (?P<name>[0-9a-f:.]+): (?:megasas: )?"
            r"(?:Found FW in FAULT state|FW in FAULT state|Fatal firmware error|"
            r"\d+ \((?:boot \+ )?\d+s/0x[0-9a-f]+/(?:FATAL|DEAD)\) - )"
        ),
        r"(?P<name>megasas): Found FW in FAULT state",
        (
            r"(?:hpsa|smartpqi) (?P<name>[0-9a-f:.]+): (?:[Cc]ontroller lockup|"
            r"controller is offline|controller offline)"
        ),
        r"qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: ISP System Error",
    ),
    ("adapter_reset", _WARNING, "hba", "resets or warnings of adapter {name}"): (
        rf"{_FUSION}(?:sending diag reset|attempting host reset|host reset: )",
        rf"{_IOC}(?:Issuing HardReset|Recovered from IOC FAULT)",
        (
            r"megaraid_sas (?P<name>[0-9a-f:.]+): (?:resetting fusion adapter|"
            r"\d+ \((?:boot \+ )?\d+s/0x[0-9a-f]+/CRIT\) - )"
        ),
        r"(?P<name>megasas): (?:\[ *\d+\] ?waiting for \d+ commands|reset successful)",
        r"(?P<name>megaraid_sas): no pending cmds after reset",
        (
            r"qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: (?:ADAPTER RESET ISSUED|"
            r"Performing ISP error recovery)"
        ),
    ),
    # --- arrays and paths
    ("member_failed", _CRITICAL, "block", "failures of {name} in its array"): (
        rf"{_MD}Disk failure on {_BLOCK}, disabling device",
        rf"{_MD}Too many read errors, failing device {_BLOCK}",
        rf"{_MD}{_BLOCK}: (?:Failing raid device|Raid device exceeded read_error threshold)",
        rf"{_MD}read error (?:not correctable|NOT corrected!!) \(sector \d+ on {_BLOCK}\)",
        rf"md: kicking non-fresh {_BLOCK} from array",
    ),
    (
        "member_read_error",
        _WARNING,
        "block",
        "read errors of {name} that its array has corrected",
    ): (
        rf"{_MD}read error corrected \(\d+ sectors at \d+ on {_BLOCK}\)",
        rf"{_MD}{_BLOCK}: (?:rescheduling|redirecting) sector \d+",
        rf"{_MD}redirecting sector \d+ to (?:an)?other mirror: {_BLOCK}",
    ),
    ("array_failed", _CRITICAL, "block", "failures of array {name}"): (
        (
            rf"{_OF_ARRAY}(?:Cannot continue operation|not enough operational (?:devices|mirrors)|"
            r"cannot start dirty degraded array|.*unrecoverable I/O(?: read)? error)"
        ),
    ),
    ("thin_pool", _CRITICAL, "node", "failures of thin pool {name}"): (
        (
            r"device-mapper: thin: (?P<name>\d+:\d+): switching pool to "
            r"(?:out-of-(?:data|metadata)-space|read-only|failure|fail)"
        ),
    ),
    ("path_failed", _WARNING, "node", "failures of path {name}"): (
        r"device-mapper: multipath: (?:\S+ )?Failing path (?P<name>\d+:\d+)",
    ),
    ("remote_port_lost", _WARNING, "hba", "losses of the remote port {name}"): (
        r" *(?P<name>rport-\d+:\d+-\d+): blocked FC remote port time out",
        r" *(?P<name>session\d+): session recovery timed out",
        r" *(?P<name>connection\d+:\d+): (?:detected conn error|ping timeout of)",
    ),
    # --- file systems and pools
    ("file_system", _CRITICAL, "block", "errors of the file system on {name}"): (
        rf"{_FS} error \(device {_BLOCK}\)",
        (
            rf"{_FS} \({_BLOCK}\): (?:Remounting filesystem read-only|I/O error while writing "
            r"superblock|previous I/O error to superblock|Delayed block allocation failed .* error "
            r"(?:5|30)$|failed to convert unwritten extents)"
        ),
        rf"(?:JBD2: )?Aborting journal on device {_JOURNAL}",
        (
            rf"JBD2: (?:(?:Error -\d+|I/O error) detected when updating journal superblock for|"
            rf"Detected IO errors while flushing file data on) {_JOURNAL}"
        ),
        (
            rf"XFS \({_BLOCK}\): (?:(?:metadata|log) I/O error|Metadata (?:corruption|CRC error) "
            r"detected|.*[Cc]orruption of in-memory data|(?:Log )?I/O [Ee]rror .*[Dd]etected)"
        ),
        rf"BTRFS(?: critical|: error) \(device {_BLOCK}\b",
        rf"BTRFS error \(device \S+ bdev /dev/{_BLOCK} errs: ",
    ),
    (
        "file_system_marked",
        _WARNING,
        "block",
        "reminders of earlier errors of the file system on {name}",
    ): (
        (
            rf"{_FS} \({_BLOCK}\): (?:error count since last fsck: \d|warning: mounting fs with "
            r"errors)"
        ),
    ),
    ("pool_suspended", _CRITICAL, "node", "suspensions of pool {name}"): (
        (
            rf"WARNING: Pool {_POOL} has encountered an uncorrectable I/O failure and has been "
            r"suspended"
        ),
        rf"WARNING: MMP writes to pool {_POOL} have not succeeded .*suspending pool",
    ),
    ("pool_member", _WARNING, "path", "reads or writes of {name} that failed in its pool"): (
        # types 1 and 2 of a zio are read and write, 5 is EIO
        r"zio pool=\S+ vdev=(?P<name>/dev/[A-Za-z0-9_.:/-]+) error=5 type=[12] ",
    ),
    # --- the host
    ("hung_task", _WARNING, "node", "reports of a hung task {name}"): (
        r"INFO: task (?P<name>\S+):\d+ blocked (?:in I/O wait )?for more than \d+ seconds",
        (
            r"(?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#\d+ stuck for \d+s! "
            r"\[(?P<name>[A-Za-z0-9_./:-]+):\d+\]"
        ),
    ),
    ("assertion", _CRITICAL, "node", "failed assertions of Lustre or ZFS"): (
        r"LustreError: .*\) LBUG$",
        r"(?:SPL)?PANIC at \w+\.c:\d+:",
        r"VERIFY3?\w?\(.*failed",
    ),
    # --- targets of Lustre
    ("slow_operation", _WARNING, "target", "slow operations on {name}"): (
        rf"Lustre: {_TARGET}: slow [a-z_ ]+ \d+s",
    ),
    (UNMOUNTED, _WARNING, "target", "unmounts of {name}, for a failover or by hand"): (
        rf"Lustre: Failing over {_TARGET}\b",
    ),
    ("client_evicted", _WARNING, "target", "evictions of clients by {name}"): (
        rf"Lustre: {_TARGET}: haven't heard from client .* and I am evicting it",
        rf"LustreError: .*?{_TARGET}: A client on nid \S+ was evicted due to a lock",
    ),
    ("bulk_error", _WARNING, "target", "failed bulk transfers of {name}"): (
        rf"Lustre: {_TARGET}: Bulk IO (?:read|write) error with .*: rc (?:= )?-\d+",
        (
            rf"LustreError: .*?{_TARGET}-\S+: operation ost_(?:read|write) to node \S+ failed: "
            r"rc = -(?:5|30)\b"
        ),
    ),
    ("checksum", _WARNING, "target", "data of {name} that was changed on its way"): (
        (
            rf"LustreError: (?!.*false positive)(?:.*? )?{_TARGET}(?:-\S+)?: BAD (?:READ|WRITE) "
            r"CHECKSUM"
        ),
        rf"LustreError: (?!.*false positive).*?BAD (?:READ|WRITE) CHECKSUM: .*?{_TARGET}",
    ),
    # --- connections to them
    ("request_timeout", _WARNING, "target", "requests to {name} without an answer in time"): (
        (
            r".*?Request sent has (?:timed out for (?:slow reply|sent delay)|failed due to network "
            rf"error).*[ >]{_TARGET}-"
        ),
    ),
    ("connection_lost", _WARNING, "target", "lost connections to {name}"): (
        rf".*?Connection to {_TARGET} \(at \S+\) was lost",
    ),
    ("connection_lost", _WARNING, "node", "lost connections to the MGS by {name}"): (
        rf"Lustre(?:Error)?: (?:\S+: )?{_MGC}: Connection to MGS \(at \S+\) was lost",
    ),
    ("evicted", _WARNING, "target", "evictions of this client by {name}"): (
        rf".*?This client was evicted by {_TARGET};",
    ),
    # --- threads and locks of servers
    ("slow_thread", _WARNING, "node", "slow or hung service threads"): (
        r".*?[Ss]ervice thread pid (?P<pid>\d+) was inactive for [\d.]+ ?s",
        (
            r"Lustre(?:Error)?: .*?(?:Request took longer than estimated|"
            r"Couldn't add any time .*not sending early reply|"
            r"This server is not able to keep up with request traffic)"
        ),
    ),
    ("lock_timeout", _WARNING, "node", "expired locks"): (
        r"LustreError: .*?lock (?:callback timer expired|timed out)",
    ),
    # --- links
    ("lnet_timeout", _WARNING, "link", "LNet messages that timed out"): (
        rf"{_LNET}Timed out (?:tx\b|RDMA (?:with|on)\b)",
        rf"{_LNET}Tx -> \S+ cookie \S+ sending \d+ waiting \d+: failed 1[23]\b",
        rf"{_LNET}Closing conn to \S+: error -110\b",
        (
            rf"{_LNET}(?:timed out; the network or (?:that )?node may be down|"
            r"Timeout (?:receiving from|sending data to) |"
            r"unexpected network error (?:while (?:writing|reading)|-?\d+ occurred))"
        ),
        rf"{_LNET}Fatal device error for NI",
    ),
    ("bulk_network_error", _WARNING, "link", "bulk transfers that the network broke"): (
        r"LustreError: .*?(?:network error|timeout) on bulk (?:READ|WRITE)",
        (
            r"LustreError: .*?(?:server|client)_bulk_callback\(\)\) event type \d+, "
            r"status -(?:5|103|110|113)\b"
        ),
    ),
    ("link_down", _WARNING, "interface", "losses of link {name}"): (
        rf"{_LINK}[Dd]own",
        rf"(?:.*? )??{_INTERFACE} NIC Link is Down",
        rf"\[qede_link_update:\d+\({_INTERFACE}\)\]Link is down",
    ),
    ("link_down", _WARNING, "hba", "losses of link {name}"): (
        r"qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: LOOP DOWN detected",
        r"lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?1305 Link Down Event",
    ),
    ("bond_member_down", _WARNING, "interface", "losses of link {name} in its bond"): (
        rf".*?link status definitely down for interface {_INTERFACE}, disabling",
        rf".*?\(slave {_INTERFACE}\): link status definitely down, disabling",
    ),
    ("bond_down", _WARNING, "interface", "losses of all links of {name}"): (
        rf"(?:bonding: )?{_INTERFACE}: now running without any active interface",
    ),
    ("transmit_timeout", _WARNING, "interface", "stuck transmit queues of {name}"): (
        rf"NETDEV WATCHDOG: {_INTERFACE} .*transmit queue \d+ timed out",
        (
            rf"\S+ \S+ {_INTERFACE}: (?:NETDEV WATCHDOG: .*transmit queue \d+ timed out|"
            r"TX timeout (?:on queue|detected)|Detected (?:Tx|Hardware) Unit Hang|"
            r"(?:initiating reset due to )?tx[_ ]timeout|transmit timed out)"
        ),
        rf"{_INTERFACE}: transmit timeout: latency \d+",
    ),
    ("module_fault", _WARNING, "nic", "faults of cable or module of {name}"): (
        rf"{_PCI}(?: \S+)?: (?:.*: )?Port module event\[error\]",
        rf"{_PCI}(?: \S+)?: .*(?:Bus stuck \(I2C|unsupported SFP|[Uu]nqualified (?:SFP|module))",
    ),
    ("adapter_heat", _WARNING, "nic", "too much heat in {name}"): (
        (
            rf"{_PCI}(?: \S+)?: .*(?:High temperature on sensors|it has over ?heated|"
            r"Temperature Threshold was reached|temperature .*above the .*threshold)"
        ),
    ),
    ("nic_failed", _CRITICAL, "nic", "faults of network adapter {name}"): (
        (
            rf"{_PCI}(?: \S+)?: .*(?:device's health compromised|firmware internal error|"
            r"Internal error detected|[Ff]irmware fatal (?:condition|error)|"
            r"timeout\. Will cause a leak of a command resource)"
        ),
    ),
}
"""Kind, severity, about and words of each fault, and its patterns."""

MESSAGES = tuple(
    Message(*head, texts, Direction.LOWERS if head[0] == UNMOUNTED else Direction.RAISES)
    for head, texts in _ROWS.items()
)

HARMLESS = (
    (
        "a refused DISCARD, SECURE_ERASE, WRITE_SAME or WRITE_ZEROES: no data is lost",
        (
            r".*?error, dev \w[\w-]*, .*op 0x[0-9a-f]+:\((?:DISCARD|SECURE_ERASE|WRITE_SAME|"
            r"WRITE_ZEROES)\)"
        ),
    ),
    (
        "errors of loop, floppy, CD-ROM, RAM and network block devices",
        rf".*?error(?:,| on) dev(?:ice)? {NO_STORAGE}\b",
    ),
    (
        "commands that a reservation of another host forbids",
        r".*?(?:critical nexus|reservation conflict) error, dev ",
    ),
    (
        "a checksum that a program made wrong, as by writing to mapped memory",
        r"LustreError: .*BAD (?:READ|WRITE) CHECKSUM.*false positive",
    ),
    (
        "a slot of PCIe that tells no or little power, as many do at each boot",
        r"mlx5_core \S+: .*Detected insufficient power on the PCIe slot",
    ),
    (
        "corrected errors of PCIe",
        r"\S+ \S+: (?:AER: (?:Multiple )?Corrected error|PCIe Bus Error: severity=Corrected)",
    ),
)
"""Harmless messages that resemble a fault: words and pattern."""

TURNS: Mapping[str, tuple[str, ...]] = {
    # --- the host
    "boot": (r"Linux version \d",),
    # the journal keeps what systemd writes into the kernel's log without its name
    "shutdown": (
        (
            r"(?:systemd-shutdown\[1\]: )?"
            r"(?:Syncing filesystems and block devices|Sending SIGTERM to remaining processes)"
        ),
    ),
    # --- disks and arrays
    "disk_probed": (r"scsi (?P<name>\d+:\d+:\d+:\d+): .*\bPQ: \d+ ANSI: \d",),
    "disk_attached": (rf"sd (?P<address>\d+:\d+:\d+:\d+): \[{_BLOCK}\] Attached SCSI\b",),
    "disk_detached": (rf"sd [\d:]+: \[{_BLOCK}\] Synchronizing SCSI cache",),
    "nvme_attached": (r"nvme (?P<name>nvme\d+): \d+/\d+/\d+ default/read/poll queues",),
    "nvme_detached": (
        (
            rf"{_NVME}(?:controller is down|Removing after probe failure|"
            r"Disabling device after reset failure)"
        ),
    ),
    "command_failed": (rf"{_DISK}.*(?:FAILED Result|Sense Key :)",),
    "command_refused": (
        # a path of an array that is not the active one; 94h/01h is the same of RDAC
        (
            rf"{_DISK}.*(?:target port in (?:standby|unavailable) state|asymmetric access state "
            r"transition|ASC=0x94 ASCQ=0x1\b|Add\. Sense: Medium not present|"
            r"CDB: (?:Unmap|Write same))"
        ),
    ),
    "disk": (_DISK,),
    "array_recovered": (rf"md: {_ARRAY}: (?:recovery|resync) done",),
    "path_reinstated": (r"device-mapper: multipath: (?:\S+ )?Reinstating path (?P<name>\d+:\d+)",),
    # --- targets of Lustre
    "unmounted": (rf"Lustre: server umount {_TARGET} complete",),
    "in_recovery": (rf"Lustre: {_TARGET}: (?:Will be in recovery|in recovery but waiting)",),
    "recovered": (rf"Lustre: {_TARGET}: Recovery over after",),
    # while a target is being stopped it says to its clients that it is not available
    "served": (rf"Lustre: {_TARGET}: (?![Nn]ot available)",),
    "connection_restored": (
        rf"Lustre: (?P<device>{_TARGET}-\S+): Connection restored to\b",
        rf"Lustre: (?P<device>{_MGC}): Connection restored to\b",
    ),
    "deactivated": (rf"Lustre: setting import {_TARGET}_UUID INACTIVE by administrator req",),
    "thread_completed": (r".*?[Ss]ervice thread pid (?P<pid>\d+) completed after [\d.]+",),
    # libcfs leaves out repeats of one line of its source, and counts them with the next one
    "skipped": (
        (
            r"(?P<log>(?:LNet|Lustre)(?:Error)?): (?:\d+:\d+:\((?P<place>[^()]+\(\))\) )?"
            r"Skipped (?P<number>\d{1,9}) previous similar message"
        ),
    ),
    # --- links
    "link_up": (
        rf"{_LINK}[Uu]p",
        rf"(?:.*? )??{_INTERFACE} NIC Link is Up",
        rf"\[qede_link_update:\d+\({_INTERFACE}\)\]Link is up",
        r"qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: LOOP UP detected",
        r"lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?1303 Link Up Event",
        rf".*?link status definitely up for interface {_INTERFACE}\b",
        rf".*?\(slave {_INTERFACE}\): link status definitely up",
        rf"(?:bonding: )?{_INTERFACE}: active interface up",
    ),
}
"""Messages that are no faults and explain others."""


def _texts() -> dict[str, tuple[str, ...]]:
    texts = dict(TURNS)
    for message in MESSAGES:
        texts[message.kind] = texts.get(message.kind, ()) + message.texts
    return texts


EVENTS = {
    kind: texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"
    for kind, texts in _texts().items()
}
"""One pattern of Perl for each kind; Perl lets several groups have one name."""

_PATTERNS = {kind: tuple(map(re.compile, texts)) for kind, texts in TURNS.items()}
_FAULTS = tuple((message, tuple(map(re.compile, message.texts))) for message in MESSAGES)
_NONE = tuple(re.compile(text) for _, text in HARMLESS)

_LONGEST = 1024
"""Characters of a message, LOG_LINE_MAX of the kernel (kernel/printk/printk.c)."""


class ParsedMessage(NamedTuple):
    """A message that was understood; ``name`` is empty where it is about the node."""

    message: Message
    name: str


def match(kind: str, text: str) -> Optional[re.Match[str]]:
    """Return what a message of one of TURNS says, None if it is of another kind."""
    matches = (pattern.match(text, 0, _LONGEST) for pattern in _PATTERNS[kind])
    return next(filter(None, matches), None)


def understand(text: str) -> Optional[ParsedMessage]:
    """Return what a message tells, None if it tells of no fault."""
    if any(pattern.match(text, 0, _LONGEST) for pattern in _NONE):
        return None
    for message, patterns in _FAULTS:
        for pattern in patterns:
            matched = pattern.match(text, 0, _LONGEST)
            if matched:
                return ParsedMessage(message, matched.groupdict().get("name") or "")
    return None
