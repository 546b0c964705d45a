"""Rules for kernel messages: one row for each kind of fault.

The rows are used for symptoms and, through the role events, by the Simple Event Correlator.  So
patterns use only the common syntax of Python and Perl.  Each matches from the start of a message.
The texts are those of Linux 3.10 to 6.12, OpenZFS 0.8 to 2.3 and Lustre 2.12 to 2.17.

A message that does not clearly mean a fault has no row, or is in HARMLESS.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

from plumbline.model.symptom import Direction
from plumbline.model.verdict import State

NO_STORAGE = r"(?:loop|ram|zram|sr|fd|nbd|mtdblock)[0-9]+"
"""Pattern of block devices without storage, whose errors are no fault."""

_BLOCK = rf"(?P<name>(?!{NO_STORAGE}\b)[a-z][a-z0-9]*(?:-[0-9]+)?)"
_DISK = rf"sd [\d:]+: \[{_BLOCK}\] "
_SCSI = r"s(?:d|csi) (?P<name>\d+:\d+:\d+:\d+): "
_NVME = r"nvme (?P<name>nvme\d+): "
# the domain of an Intel VMD has five digits: 10000:0b:00.0
_PCI = r"\S+ (?P<name>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_SLOT = r"pcie(?:hp|port) (?P<name>[0-9a-f:.]+?)(?::pcie\w+)?: (?:pciehp: )?[Ss]lot\([\w-]+\): "
# the inode of a journal follows its device
_JOURNAL = rf"(?P<name>(?!{NO_STORAGE}\b)(?:dm-\d+|[a-z][a-z0-9]*))(?:-\d+)?\b"
_ARRAY = r"(?P<array>md[A-Za-z0-9_.-]*)"
_MD = rf"md/[^\s:]+:{_ARRAY}: "
_OF_ARRAY = r"md/[^\s:]+:(?P<name>md[A-Za-z0-9_.-]*): "
_POOL = r"'(?P<name>[A-Za-z][A-Za-z0-9_.:-]*)'"
_TARGET = r"(?P<name>[A-Za-z0-9_.-]+-(?:OST|MDT)[0-9a-f]{4})"
_MGC = r"(?P<name>MGC[A-Za-z0-9_.:@-]+)"
_INTERFACE = r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)"
# the last or the second last word before the colon: "ens1f0 NIC:"
_LINK = rf"(?:.*? )??{_INTERFACE}(?: \w+)?: (?:NIC )?[Ll]ink (?:is )?"
_SERVER = r"(?P<name>[^\s,]+)"
_FS = r"(?:LDISKFS|EXT[234])-fs"
_LNET = r"LNet(?:Error)?: .*?"
_FUSION = r"(?P<name>mpt[23]sas(?:_cm)?\d+|mpi3mr\d+): "
_IOC = r"mpt(?:base|scsih): (?P<name>ioc\d+): "
# kernels 4.18 to 5.2 print the operation as the last byte of the flags
_NO_DATA = (
    r"(?:\bop 0x[0-9a-f]+:\((?:DISCARD|SECURE_ERASE|WRITE_SAME|WRITE_ZEROES)\)"
    r"|\bflags (?:[0-9a-f]+0)?[3579]$)"
)


class Message(NamedTuple):
    """One kind of fault; ``about`` is what the group ``name`` of its patterns identifies.

    ``words`` fit one or many messages: ``I/O errors of {name}``.
    """

    kind: str
    severity: State
    about: str
    words: str
    texts: tuple[str, ...]
    direction: Direction


UNMOUNTED = "failover"
"""The kind of message of an unmounted target."""

LOST_LINKS = ("link_down", "bond_member_down", "bond_down", "remote_port_lost")
"""Kinds of messages that a boot or a shutdown may cause."""

LOST_CONNECTIONS = ("connection_lost", "evicted")


def _table(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield head and patterns of each entry of a table; ``#`` starts a comment.

    A head is not indented, each of its patterns is indented by four blanks, and deeper lines
    continue the pattern above.  ``[ ]`` is a blank at the end of a line.
    """
    head, patterns = "", list[str]()
    for line in filter(None, text.splitlines()):
        part = line.lstrip().replace("[ ]", " ")
        if line.startswith(" " * 8):
            patterns[-1] += part
        elif line.startswith(" "):
            patterns.append(part)
        elif not line.startswith("#"):
            if head:
                yield head, tuple(patterns)
            head, patterns = line, []
    yield head, tuple(patterns)


_FAULT_TABLE = rf"""
# --- disks
io_error | critical | block | I/O errors of <name>
    (?!.*{_NO_DATA}).*?(?:I/O|critical (?:medium|target|space allocation)|protection|timeout|
        transport) error, dev {_BLOCK},
    block {_BLOCK}: no available path - failing I/O
buffer_error | critical | block | lost reads or writes of <name>
    Buffer I/O error on dev(?:ice)? {_BLOCK}, logical block
# status code type 2: media and data integrity errors (NVMe base specification)
medium_error | critical | block | medium or hardware errors of <name>
    {_DISK}.*Sense Key : (?:(?:Medium|Hardware) Error|0x[34]\b)
    (?P<name>nvme\d+(?:c\d+)?n\d+): .*\(sct 0x2 / sc 0x8[0-4]\)
changed_data | critical | block | data that <name> has changed
    {_BLOCK}: (?:guard|ref(?:erence)?) tag error at
    {_DISK}.*Add\. Sense: Logical block (?:guard|reference tag|application tag) check failed
    device-mapper: (?:integrity|crypt): {_BLOCK}: (?:Checksum failed at|INTEGRITY AEAD ERROR)
    BTRFS (?:warning|error) \(device {_BLOCK}\): csum failed
disk_failing | critical | block | forecasts of <name> that it fails
    {_DISK}.*Add\. Sense: .*(?:prediction threshold exceeded(?! \([Ff])|[Ii]mpending failure)
transmission_error | warning | block | damaged transmissions to or from <name>
    {_DISK}.*Add\. Sense: (?:.*CRC error|S(?:CSI|csi) parity error|Data phase error|
        Nak received|Ack/nak timeout|Initiator response timeout|Connection lost)
transmission_error | warning | hba | damaged transmissions to or from <name>
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: Dropped frame\(s\) detected
disk_heat | warning | block | too much heat in <name>
    {_DISK}.*Add\. Sense: Warning - (?:specified temperature|
        high (?:critical|operating) temperature limit) exceeded
disk_warning | warning | block | warnings of <name> about itself
    {_DISK}.*Add\. Sense: Warning - (?:enclosure degraded|background self-test failed|
        background (?:pre-|medium )scan detected medium error|
        non-volatile cache now volatile|degraded power to non-volatile cache|power loss expected)
device_offline | critical | scsi | refusals of <name>, which is offline
    {_SCSI}(?:\[\w+\] )?(?:Device offlined|rejecting I/O to (?:offline|dead) device)
device_offline | critical | block | refusals of <name>, which is offline
    (?:blk_update_request: )?device offline error, dev {_BLOCK},
    {_DISK}.*Medium access timeout failure\. Offlining disk
command_reset | warning | block | aborted commands or resets of <name>
    {_DISK}(?:tag#\d+ )?(?:megasas: RESET\b|OCR is requested|task abort called)
command_reset | warning | scsi | aborted commands or resets of <name>
    {_SCSI}(?:\[\w+\] )?(?:[Aa]ttempting (?:task abort|abort task|
        (?:[Dd]evice|[Tt]arget)(?:\(\w+\))? [Rr]eset)|(?:task abort|
        (?:device|target) reset): |Power-on or device reset occurred)
    (?:hpsa|smartpqi) \S+: scsi (?P<name>\d+:\d+:\d+:\d+): resetting[ ]
    (?:hpsa|smartpqi) \S+: (?:resetting|attempting TASK ABORT on)[ ]
        scsi (?P<name>\d+:\d+:\d+:\d+)\b
command_reset | warning | nvme | aborted commands or resets of <name>
    {_NVME}(?:resetting controller due to |Failed status: 0x[0-9a-f]+, reset controller)
command_reset | warning | pci | aborted commands or resets of <name>
    nvme (?P<name>[0-9a-f:.]+): Failed status: 0x[0-9a-f]+, reset controller
command_reset | warning | next disk | aborted commands or resets of <name>
    {_IOC}(?:>> )?[Aa]ttempting (?:task abort|(?:device|target|bus|host) reset)
    {_FUSION}attempting (?:task abort|(?:device|target) reset)
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: (?:Abort command issued|
        (?:DEVICE|TARGET|BUS|LOOP) RESET ISSUED)
    lpfc (?P<name>[0-9a-f:.]+): .*(?:SCSI layer issued (?:Device|Target|Bus|Host) Reset|
        abort handler timed out)
    (?P<name>aacraid): Host (?:adapter|bus|device|target) (?:abort|reset) request
    (?P<name>arcmsr\d*): (?:abort device command|executing (?:bus|hw bus) reset)
    (?P<name>sas): Enter sas_scsi_recover_host busy: \d+ failed: [1-9]
    scsi (?P<name>host\d+): SRP (?:abort|reset_device|reset_host) called
command_timeout | warning | nvme | commands of <name> without an answer
    {_NVME}(?:I/O (?:tag )?\d+ .*timeout|controller is down)
    {_NVME}(?:starting error recovery|failed nvme_keep_alive_end_io|queue \d+: timeout[ ]|
        Failed reconnect attempt \d|
        NVME-FC\{{\d+\}}: (?:controller connectivity lost|transport association event|io failed))
command_timeout | warning | pci | commands of <name> without an answer
    nvme (?P<name>[0-9a-f:.]+): I/O \d+ QID \d+ timeout
command_timeout | warning | scsi | commands of <name> without an answer
    {_SCSI}(?:\[\w+\] )?(?:tag#\d+ )?timing out command, waited \d+
disk_lost | critical | nvme | losses of disk <name>, which does not answer its reset
    {_NVME}(?:Removing after probe failure|Disabling device after reset failure|
        Device not ready; aborting (?:reset|initiali[sz]ation)|
        failure state error detected, request disconnect|
        Removing controller(?: \(\d+\))?\.\.\.)
disk_lost | critical | pci | losses of disk <name>, which does not answer its reset
    nvme (?P<name>[0-9a-f:.]+): (?:Removing after probe failure|
        Device not ready; aborting (?:reset|initiali[sz]ation))
disk_lost | critical | block | losses of disk <name>, which has gone
    {_DISK}Synchronize Cache\(\d+\) failed: Result: hostbyte=DID_(?:NO_CONNECT|BAD_TARGET)
disk_lost | critical | node | losses of disk <name>, which does not answer its reset
    (?P<name>ata\d+(?:\.\d+)?): (?:disabled$|disable device|reset failed, giving up)
bus_error | warning | nvme | resets of <name> after errors of its PCIe link
    {_NVME}frozen state error detected, reset controller
bus_error | warning | pci | uncorrected errors of the PCIe device <name>
    {_PCI}: (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able) \((?:Non-)?Fatal\)
    {_PCI}(?::pcie\w+)?: (?:DPC:? containment event|(?:AER: )?[Dd]evice recovery failed)
    {_PCI}: (?:(?:Unable to|can't) change power state from \w+ to D0\b.*inaccessible|
        not ready \d+ms after .*; giving up)
slot_lost | warning | pci | losses of the link to the PCIe slot at <name>
    {_SLOT}(?:Link Down(?!/)|Card not present|Power fault)
ata_error | warning | node | errors or resets of port <name>
    (?P<name>ata\d+)(?:\.\d+)?: (?:exception Emask|
        (?:hard|soft) resetting link|COMRESET failed|limiting (?:SATA link )?speed to|
        revalidation failed|qc timeout|failed to IDENTIFY)
# --- adapters of disks
adapter_failed | critical | hba | faults of adapter <name>
    {_FUSION}(?:(?:fault|coredump)[_ ](?:state|code)\(0x|SAS host is non-operational|
        .*unrecoverable|.*(?:(?:diag|hard) reset: FAILED|failed going to))
    {_IOC}.*IOC is in FAULT state
    megaraid_sas (?P<name>[0-9a-f:.]+): (?:megasas: )?(?:(?:Found )?FW in FAULT state|
        Fatal firmware error|.*killing adapter|cannot recover from previous reset failures|
        \d+ \((?:boot \+ )?\d+s/0x[0-9a-f]+/(?:FATAL|DEAD)\) - )
    (?P<name>megasas): Found FW in FAULT state
    (?:hpsa|smartpqi) (?P<name>[0-9a-f:.]+): (?:[Cc]ontroller lockup|controller (?:is )?offline)
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: (?:ISP System Error|RISC paused|
        (?:detected PCI|PCI/Register) disconnect)
    lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?(?:0457 Adapter Hardware Error|
        0459 Adapter heartbeat failure|0479 Deferred Adapter)
    (?P<name>aacraid|AAC): Host adapter (?:BLINK LED|is dead)
adapter_reset | warning | hba | resets or warnings of adapter <name>
    {_FUSION}(?:sending diag reset|attempting host reset|host reset: |Command Timeout|
        controller reset is triggered by)
    {_IOC}(?:Issuing HardReset|Initiating recovery|Recovered from IOC FAULT)
    megaraid_sas (?P<name>[0-9a-f:.]+): (?:resetting fusion adapter|
        IO/DCMD timeout is detected|.*opcode: 0x[0-9a-f]+\) is timed out|
        \[ *\d+\] ?waiting for \d+ commands|
        \d+ \((?:boot \+ )?\d+s/0x[0-9a-f]+/CRIT\) - )
    (?P<name>megasas): (?:\[ *\d+\] ?waiting for \d+ commands|reset successful)
    (?P<name>megaraid_sas): no pending cmds after reset
    (?P<name>3w-\w+): scsi\d+: (?:AEN: (?:ERROR|WARNING) |.*timed out, resetting card)
    hisi_sas\w* (?P<name>[0-9a-f:.]+): controller resetting
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: (?:ADAPTER RESET ISSUED|
        Performing ISP error recovery|MBX Command timeout)
    lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?(?:2885 Port Status Event|
        0310 Mailbox command x[0-9a-f]+ timeout)
adapter_heat | warning | hba | too much heat in <name>
    {_FUSION}Temperature Threshold flags \S+ exceeded
# --- arrays and paths
member_failed | critical | block | failures of <name> in its array
# raid0 has no colon before its name
    md/[^\s:]+?:?{_ARRAY}: Disk failure on {_BLOCK}(?: detected)?,[ ]
        (?:disabling device|failing array)
    {_MD}Too many read errors, failing device {_BLOCK}
    {_MD}{_BLOCK}: (?:Failing raid device|failing drive|Raid device exceeded read_error threshold)
    {_MD}read error (?:not correctable|NOT corrected!!|on replacement device)[ ]
        \(sector \d+ on {_BLOCK}\)
    md: kicking non-fresh {_BLOCK} from array
member_read_error | warning | block | read errors of <name> that its array has corrected
    {_MD}read error corrected \(\d+ sectors at \d+ on {_BLOCK}\)
    {_MD}{_BLOCK}: (?:rescheduling|redirecting) sector \d+
    {_MD}redirecting sector \d+ to (?:an)?other mirror: {_BLOCK}
array_failed | critical | block | failures of array <name>
    {_OF_ARRAY}(?:Cannot continue operation|not enough operational (?:devices|mirrors)|
        cannot start dirty degraded array|journal disk is missing|
        failed to run raid set|.*unrecoverable I/O(?: read)? error)
    md: (?P<name>md[A-Za-z0-9_.-]*): raid0 array has a missing/failed member
# raid5 and raid6 only: those of a mirror that holds swap are no fault
parity_mismatch | warning | block | parity of array <name> that does not match its data
    (?P<name>md[A-Za-z0-9_.-]*): mismatch sector in range \d
thin_pool | critical | node | failures of thin pool <name>
    device-mapper: thin: (?P<name>\d+:\d+): switching pool to (?:out-of-(?:data|metadata)-space|
        read-only|failure|fail)
path_failed | warning | number | failures of path <name>
    device-mapper: multipath: (?:\S+ )?Failing path (?P<name>\d+:\d+)
remote_port_lost | warning | hba | losses of the remote port <name>
    [ ]*(?P<name>rport-\d+:\d+-\d+): blocked FC remote port time out: .*target\b(?! alone)
    lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?0203 Devloss timeout
    (?:dev_loss|fast_io_fail)_tmo expired for SRP (?P<name>port-\d+:\d+)
    scsi (?P<name>host\d+): (?:ib_srp: )?reconnect attempt \d+ failed
    [ ]*(?P<name>session\d+): session recovery timed out
    [ ]*(?P<name>connection\d+:\d+): (?:detected conn error|ping timeout of)
# --- file systems and pools
file_system | critical | block | errors of the file system on <name>
    {_FS} error \(device {_BLOCK}\)
    {_FS} \({_BLOCK}\): (?:Remounting filesystem read-only|I/O error while writing superblock|
        previous I/O error to superblock|Delayed block allocation failed .* error (?:5|30)$|
        .*potential data loss|error loading journal|group descriptors corrupted|corrupt root inode)
    {_FS} warning \(device {_BLOCK}\): (?:\w+_end_bio:\d+: I/O error|.*: error -5 reading[ ])
    (?:JBD2: )?Aborting journal on device {_JOURNAL}
    JBD2: (?:(?:Error -\d+|I/O error)(?: detected)? when updating journal superblock for|
        previous I/O error detected for journal superblock update for|
        Detected IO errors while flushing file data on) {_JOURNAL}
    {_BLOCK}: writeback error on inode \d+
    XFS \({_BLOCK}\): (?:(?:metadata|log) I/O error|Metadata CRC error detected|
        .*(?:[Cc]orruption\b|xfs_repair)|Internal error |writeback error on|
        (?:Log |Metadata )?I/O [Ee]rror .*[Dd]etected|Failing async write on buffer|
        [Ff]ilesystem has been shut down due to|xfs_log_force: error -5|
        log mount/recovery failed: error)
    BTRFS(?: critical|: error) \(device {_BLOCK}\b
    BTRFS error \(device \S+ bdev /dev/{_BLOCK} errs:[ ]
file_system_marked | warning | block | reminders of earlier errors of the file system on <name>
    {_FS} \({_BLOCK}\): (?:error count since last fsck: \d|warning: mounting fs with errors)
    {_FS} warning \(device {_BLOCK}\): \w+_clear_journal_err:\d+: Filesystem error recorded
mount_refused | warning | block | mounts of <name> while another node has it
    {_FS} warning \(device {_BLOCK}\): .*Device is already active on another node
pool_suspended | critical | node | suspensions of pool <name>
    WARNING: Pool {_POOL} has encountered an uncorrectable I/O failure and has been suspended
    WARNING: MMP writes to pool {_POOL} have not succeeded .*suspending pool
# types 1 and 2 of a zio are read and write; EIO, ENXIO, ENODEV, and what the kernel calls errors of
# the medium, transport, protection, time and target (bi_status_to_errno)
pool_member | warning | path | reads or writes of <name> that failed in its pool
    zio pool=\S+ vdev=(?P<name>/dev/[A-Za-z0-9_.:/-]+) error=(?:5|6|19|61|67|84|110|121)[ ]
        type=[12][ ]
# --- the host
hung_task | warning | node | reports of a hung task <name>
    INFO: task (?P<name>\S+):\d+ blocked (?:in I/O wait )?for more than \d+ seconds
    (?:NMI )?(?:watchdog: )?BUG: soft lockup - CPU#\d+ stuck for \d+s! \[
        (?P<name>[A-Za-z0-9_./:-]+):\d+\]
cpu_stall | warning | node | stalls of a CPU
    (?:rcu: )?INFO: rcu_\w+ (?:self-detected stall on CPU|
        detected (?:expedited )?stalls on (?:CPUs|tasks)(?!.*\}} \d{{1,3}} jiffies))
    BUG: workqueue lockup - pool[ ]
    (?:NMI )?watchdog: (?:CPU\d+: )?Watchdog detected hard LOCKUP
cpu_heat | warning | node | CPUs that are slowed for their heat
    (?:mce: )?CPU\d+: (?:Core|Package) temperature (?:is )?above threshold, cpu clock (?:is[ ]
        )?throttled
memory_error | critical | node | uncorrected errors of memory
    EDAC \S+: \d+ UE[ ]
    mce: Uncorrected hardware memory error
    Memory failure: 0x[0-9a-f]+: (?:recovery action for|Killing )
hardware_error | critical | node | uncorrected errors of the hardware
    (?:\{{\d+\}})?\[Hardware Error\]: event severity: (?:recoverable|fatal)
    mce: \[Hardware Error\]: CPU \d+: Machine Check Exception
    (?:mce: )?\[Hardware Error\]: Uncorrected\b
    NMI: (?:PCI system error \(SERR\)|memory parity error|IOCK error)
assertion | critical | node | failed assertions of Lustre or ZFS
    LustreError: .*\) LBUG$
    (?:SPL)?PANIC(?: at \w+\.c:\d+)?:
    VERIFY\w{{0,4}}\(.*failed
# --- targets of Lustre
unhealthy | critical | target | reports of <name>, which is unhealthy
    LustreError: .*\) {_TARGET}(?:-osd)?: device reported unhealthy
slow_operation | warning | target | slow operations on <name>
    Lustre: {_TARGET}: slow [a-z_ ]+ \d+s
failover | warning | target | unmounts of <name>, for a failover or by hand
    Lustre: Failing over {_TARGET}\b
client_evicted | warning | target | evictions of clients by <name>
    Lustre: {_TARGET}: haven't heard from client .* and I am evicting it
    LustreError: .*?{_TARGET}: A client on nid \S+ was evicted due to a lock
    Lustre: {_TARGET}: Recovery over after .* and [1-9]\d* (?:was|were) evicted
bulk_error | warning | target | failed bulk transfers of <name>
    Lustre: {_TARGET}: Bulk IO (?:read|write) error with .*: rc (?:= )?-\d+
    LustreError: .*?{_TARGET}-\S+: operation ost_(?:read|write) to node \S+ failed: rc = -(?:5|
        30)\b
checksum | warning | target | data of <name> that was changed on its way
    LustreError: (?!.*false positive)(?:.*? )?{_TARGET}(?:-\S+)?: BAD (?:READ|WRITE) CHECKSUM
    LustreError: (?!.*false positive).*?BAD (?:READ|WRITE) CHECKSUM: .*?{_TARGET}
mount_refused | warning | target | mounts of <name> that failed for want of the MGS
    LustreError: (?:\S+: )?{_TARGET}: (?:cannot register this server|the MGS refuses to allow)\b
lost_writes | critical | target | writes that <name> had confirmed and lost
    LustreError: .*?{_TARGET}_UUID went back in time\b
# --- connections to them
request_timeout | warning | target | requests to <name> without an answer in time
    .*?Request sent has (?:timed out for (?:slow reply|sent delay)|
        failed due to network error).*[ >]{_TARGET}-
    LustreError: .* {_TARGET}-osc-\S+: wait ext to \d+ timedout\b
connection_lost | warning | target | lost connections to <name>
    .*?Connection to {_TARGET} \(at \S+\) was lost
connection_lost | warning | node | lost connections to the MGS by <name>
    Lustre(?:Error)?: (?:\S+: )?{_MGC}: Connection to MGS \(at \S+\) was lost
evicted | warning | target | evictions of this client by <name>
    .*?This client was evicted by {_TARGET};
# --- other file systems
nfs_timeout | warning | node | requests that the NFS server <name> does not answer
    (?:nfs|lockd): server {_SERVER} not responding, (?:still trying|timed out)
# --- threads and locks of servers
slow_thread | warning | node | slow or hung service threads
    .*?[Ss]ervice thread pid (?P<pid>\d+) was inactive for [\d.]+ ?s
    Lustre(?:Error)?: .*?(?:Request took longer than estimated|
        Could(?:n't| not) add any time .*not sending early reply|
        This server is not able to keep up with request traffic|
        is processing requests too slowly|(?:unhealthy|notice) - request (?:has been )?waiting|
        Slow req_in handling|Dropping timed-out (?:read|write|request) from)
lock_timeout | warning | node | expired locks
    LustreError: .*?lock (?:callback timer expired|timed out)
# --- links
lnet_timeout | warning | link | LNet messages that timed out
    {_LNET}Timed out (?:tx\b|(?:for )?RDMA (?:with|on|connect)\b)
    {_LNET}Tx -> \S+ cookie \S+ sending \d+ waiting \d+: failed 1[23]\b
    {_LNET}RDMA \(tx: \S+\) failed: 1[23]\b
    {_LNET}Closing conn (?:\S+ )?to \S+: error -110\b
    {_LNET}(?:Error -110 on read from |took too long: that node may be hung|
        exceeded message deadline)
    LNet: [1-9]\d* local NIs in recovery\b
    {_LNET}(?:timed out; the network or (?:that )?node may be down|Timeout (?:receiving from|
        sending data to|error while writing to) |stale ZC_REQs? |
        was unreachable: the network or that node may be down|
        unexpected network error (?:while (?:writing|reading)|-?\d+ occurred))
    {_LNET}Fatal device error for NI
lnet_checksum | warning | link | LNet messages that were changed on their way
    {_LNET}(?:Checksum error, wire:|Bad checksum)
bulk_network_error | warning | link | bulk transfers that the network broke
    Lustre(?:Error)?: .*?(?:(?:network error|timeout) on bulk (?:READ|WRITE)|
        Unexpectedly long timeout: desc|failed bulk transfer with |Network is sluggish\?|
        bulk transfer failed \d+/\d+/-?\d)
    LustreError: .*?(?:server|client)_bulk_callback\(\)\) event type \d+, status -(?:5|103|110|
        113)\b
link_down | warning | interface | losses of link <name>
    {_LINK}[Dd]own(?! reason)
    (?:.*? )??{_INTERFACE} NIC Link is Down
    \[qede_link_update:\d+\({_INTERFACE}\)\]Link is down
link_down | warning | nic | losses of link <name>
    hfi1 (?P<name>[0-9a-f:.]+): hfi1_\d+: logical state changed to PORT_DOWN
link_down | warning | hba | losses of link <name>
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: LOOP DOWN detected
    lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?1305 Link Down Event
bond_member_down | warning | interface | losses of link <name> in its bond
    .*?link status definitely down for interface {_INTERFACE}, disabling
    .*?\(slave {_INTERFACE}\): link status definitely down, disabling
bond_down | warning | interface | losses of all links of <name>
    (?:bonding: )?{_INTERFACE}: now running without any active interface
transmit_timeout | warning | interface | stuck transmit queues of <name>
    NETDEV WATCHDOG: {_INTERFACE} .*transmit queue \d+ timed out
    (?:\S+ (?:\S+ )?)?{_INTERFACE}: (?:NETDEV WATCHDOG: .*transmit queue \d+ timed out|
        TX timeout (?:on queue|detected)|Detected (?:Tx|Hardware) Unit Hang|TX stuck with|
        (?:initiating reset due to )?tx[_ ]timeout|transmit timed out|tx hang \d+ detected)
    {_INTERFACE}: transmit timeout: latency \d+
transmit_timeout | warning | nic | stuck transmit queues of <name>
    {_PCI}: Detected Tx Unit Hang
module_fault | warning | nic | faults of cable or module of <name>
    {_PCI}(?: \S+)?: (?:.*: )?Port module event\[error\]
    {_PCI}(?: \S+)?: .*(?:Bus stuck \(I2C|unsupported (?:SFP|module)|
        [Uu]nqualified (?:SFP|module)|Rx/Tx is disabled on this device|Cannot start link$|
        SFP\+ module (?:is shutdown|has been removed to prevent))
adapter_heat | warning | nic | too much heat in <name>
    {_PCI}(?: \S+)?: .*(?:High temperature\b|it (?:has )?over ?heated|
        Fan (?:has stopped|Failure on)|
        Temperature Threshold was reached|temperature .*above the .*threshold)
# fatal errors 3 and 4 of mlx5 are a reset and a virtual function that is taken away
nic_failed | critical | nic | faults of network adapter <name>
    {_PCI}(?: \S+)?: .*(?:device's health compromised|health recovery (?:flow aborted|failed)|
        firmware internal error|synd 0x(?!0:)[0-9a-f]+:|Internal error detected|
        Fatal error [125] detected|
        [Ff]irmware (?:fatal (?:condition|error)|recovery mode detected)|PCIe link lost|
        timeout\. Will cause a leak of a command resource|
        command 0x[0-9a-f]+ timed out|Error \(timeout: \d+\) msg|Adapter removed$|
        Unrecoverable (?:HW )?[Ee]rror detected|encountered fatal error, adapter stopped)
"""
"""Kind, severity, about and words of each fault, with its patterns."""


def _fault(head: str, texts: tuple[str, ...]) -> Message:
    kind, severity, about, words = head.replace("<name>", "{name}").split(" | ")
    direction = Direction.LOWERS if kind == UNMOUNTED else Direction.RAISES
    return Message(kind, State[severity.upper()], about, words, texts, direction)


MESSAGES = tuple(_fault(head, texts) for head, texts in _table(_FAULT_TABLE))

HARMLESS = dict(
    _table(rf"""
a refused DISCARD, SECURE_ERASE, WRITE_SAME or WRITE_ZEROES: no data is lost
    .*?error, dev \w[\w-]*, .*{_NO_DATA}
errors of loop, floppy, CD-ROM, RAM and network block devices
    .*?error(?:,| on) dev(?:ice)? {NO_STORAGE}\b
commands that a reservation of another host forbids
    .*?(?:critical nexus|reservation conflict) error, dev[ ]
a checksum that a program made wrong, as by writing to mapped memory
    LustreError: .*BAD (?:READ|WRITE) CHECKSUM.*false positive
a slot of PCIe that tells no or little power, as many do at each boot
    mlx5_core \S+: .*Detected insufficient power on the PCIe slot
corrected errors of PCIe
    \S+ \S+: (?:AER: (?:Multiple )?Corrected error|PCIe Bus Error: severity=Corrected)
""")
)
"""Patterns of harmless messages that resemble a fault, by description."""

_CONTEXT_TABLE = rf"""
# --- the host
boot
    Linux version \d
# the journal keeps what systemd writes into the kernel's log without its name
shutdown
    (?:systemd-shutdown\[1\]: )?(?:Syncing filesystems and block devices|
        Sending SIGTERM to remaining processes)
# --- disks and arrays
disk_probed
    scsi (?P<name>\d+:\d+:\d+:\d+): .*\bPQ: \d+ ANSI: \d
disk_attached
    sd (?P<address>\d+:\d+:\d+:\d+): \[{_BLOCK}\] Attached SCSI\b
path_state
    sd (?P<address>[\d:]+): alua: port group [0-9a-f]+ state (?P<state>\w)
disk_detached
    sd [\d:]+: \[{_BLOCK}\] Synchronizing SCSI cache
nvme_attached
    nvme (?P<name>nvme\d+): \d+/\d+/\d+ default/read/poll queues
nvme_detached
    {_NVME}(?:controller is down|Removing after probe failure|
        Disabling device after reset failure)
# the result of an abort or reset that another line has announced
reset_begun
    {_SCSI}(?:\[\w+\] )?[Aa]ttempting (?P<step>task abort|(?:device|target) reset)\b
    {_FUSION}attempting (?P<step>host reset)
reset_ended
    {_SCSI}(?:\[\w+\] )?(?P<step>task abort|(?:device|target) reset):[ ]
    {_SCSI}(?:\[\w+\] )?(?P<step>Power-on or device reset) occurred
    {_FUSION}(?P<step>host reset):[ ]
command_failed
    {_DISK}.*(?:FAILED Result|Sense Key :)
# a path of an array that is not the active one (94h/01h is the same of RDAC), and a disk that is
# formatted, erased or tested by hand, or disconnected
command_refused
    {_DISK}.*(?:target port in (?:standby|unavailable) state|asymmetric access state transition|
        ASC=0x(?:94 ASCQ=0x1|4 ASCQ=0x[abc])\b|
        Add\. Sense: Medium not present|CDB: (?:Unmap|Write same)|
        Logical unit not ready, (?:format|sanitize|self-test) in progress)
    {_NVME}Removing ctrl: NQN[ ]
removable_attached
    sd [\d:]+: \[{_BLOCK}\] Attached SCSI removable disk
# a port without a disk tells that one was plugged in, and a disk is identified once
port_changed
    (?P<name>ata\d+): exception Emask 0x10 SAct 0x0[ ]
disk_identified
    (?P<name>ata\d+)\.\d+: (?:CF|ATA|ATAPI)(?:-\d+)?:[ ]
optical_identified
    (?P<name>ata\d+)\.\d+: ATAPI:[ ]
disk_stopped
    sd [\d:]+: \[{_BLOCK}\] Stopping disk
disk_stop_failed
    sd [\d:]+: \[{_BLOCK}\] (?:Start/Stop Unit|Synchronize Cache\(\d+\)) failed
slot_filled
    {_SLOT}(?:Link Up|Card present)
# what an administrator does
announced
    {_SLOT}(?:Powering off due to button press|Button press: will power off)
    Lustre: {_TARGET}: Aborting (?:MDT |client )?recovery
unsupported_request
    (?:{_PCI}: (?:AER: )? *\[20\] UnsupReq\b|\S*\[Hardware Error\]: +aer_uncor_status: 0x00100000)
disk
    {_DISK}
# from kernel 6.10 on by the names of sysfs: recover
array_recovered
    md: {_ARRAY}: (?:recovery?|resync) done
path_reinstated
    device-mapper: multipath: (?:\S+ )?Reinstating path (?P<name>\d+:\d+)
# --- targets of Lustre
unmounted
    Lustre: server umount {_TARGET} complete
in_recovery
    Lustre: {_TARGET}: (?:Will be in recovery|in recovery but waiting)
recovered
    Lustre: {_TARGET}: Recovery over after
# while a target is being stopped it says to its clients that it is not available
served
    Lustre: {_TARGET}: (?![Nn]ot available)
connection_restored
    Lustre: (?P<device>{_TARGET}-\S+): Connection restored to\b
    Lustre: (?P<device>{_MGC}): Connection restored to\b
deactivated
    Lustre: setting import {_TARGET}_UUID INACTIVE by administrator req
nfs_served
    (?:nfs|lockd): server {_SERVER} OK\b
thread_completed
    .*?[Ss]ervice thread pid (?P<pid>\d+) completed after [\d.]+
# libcfs leaves out repeats of one line of its source, and counts them with the next one
skipped
    (?P<log>(?:LNet|Lustre)(?:Error)?): (?:\d+:\d+:\((?P<place>[^()]+\(\))\) )?
        Skipped (?P<number>\d{{1,9}}) previous similar message
# so does the kernel with errors of disks, by the function that prints them
suppressed
    (?P<function>\w+): (?P<number>\d{{1,9}}) callbacks suppressed
# --- links
link_up
    {_LINK}[Uu]p
    (?:.*? )??{_INTERFACE} NIC Link is Up
    \[qede_link_update:\d+\({_INTERFACE}\)\]Link is up
    qla2xxx \[(?P<name>[0-9a-f:.]+)\]-[0-9a-f]+:\d+: LOOP UP detected
    lpfc (?P<name>[0-9a-f:.]+): \d+:(?:\(\d+\):)?1303 Link Up Event
    hfi1 (?P<name>[0-9a-f:.]+): hfi1_\d+: logical state changed to PORT_ACTIVE
    .*?link status definitely up for interface {_INTERFACE}\b
    .*?\(slave {_INTERFACE}\): link status definitely up
    (?:bonding: )?{_INTERFACE}: active interface up
"""
"""Messages that are no faults but explain others, by kind."""

CONTEXT = dict(_table(_CONTEXT_TABLE))


def _texts() -> dict[str, tuple[str, ...]]:
    texts = dict(CONTEXT)
    for message in MESSAGES:
        texts[message.kind] = texts.get(message.kind, ()) + message.texts
    return texts


EVENTS = {
    kind: texts[0] if len(texts) == 1 else f"(?:{'|'.join(texts)})"
    for kind, texts in _texts().items()
}
"""One Perl pattern for each kind; in Perl several groups may have the same name."""
