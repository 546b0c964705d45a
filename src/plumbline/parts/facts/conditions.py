"""Conditions of a node: software, firmware, parameters, links and mount options."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.model.command import System
from plumbline.model.errors import MissingTool, PlumblineError, ToolError
from plumbline.model.ledger import MAX_CONDITIONS, Condition, is_secret
from plumbline.observe.lustre_output import parameters
from plumbline.observe.mounts import parse_mount
from plumbline.observe.query import complaint
from plumbline.parts.facts.kernel_messages import NO_STORAGE
from plumbline.parts.facts.node import ask

_MAX_VALUE = 160
_KEY_MATERIAL = re.compile(r"-----BEGIN|[0-9a-fA-F]{32}|[A-Za-z0-9+/]{60}")


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """Return a value as one line of at most 160 printable characters.

    A longer one keeps its beginning and a checksum, so that changes are still noticed.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    line = "; ".join(line for line in lines if line)
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    if len(line) <= _MAX_VALUE:
        return line
    digest = sha256(line.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{line[:100]}... ({len(line)} characters, checksum {digest})"


def merge_values(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield each condition once, with all values if paths or instances of a subject differ.

    Possible secrets, by name or form, are left out, and files without text: only a parameter of
    Lustre and the options of a mount may be empty.
    """
    values_by_key: dict[tuple[str, str, str, str], set[str]] = {}
    for area, subject, name, value, among in conditions:
        exists = value or area in ("lustre", "mount")
        if exists and not is_secret(name) and not _KEY_MATERIAL.search(value):
            values_by_key.setdefault((area, subject, name, among), set()).add(tidy(value))
    for (area, subject, name, among), values in values_by_key.items():
        yield Condition(
            area, tidy(subject), tidy(name), tidy(", ".join(sorted(values))), tidy(among)
        )


_SYSCTL = (
    *("net/core/rmem_max", "net/core/wmem_max", "net/core/rmem_default", "net/core/wmem_default"),
    *("net/core/optmem_max", "net/core/netdev_max_backlog", "net/core/netdev_budget"),
    *("net/core/netdev_budget_usecs", "net/core/default_qdisc", "net/core/busy_poll"),
    *("net/core/busy_read", "net/core/somaxconn", "net/core/rps_sock_flow_entries"),
    *("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_congestion_control"),
    *("net/ipv4/tcp_window_scaling", "net/ipv4/tcp_timestamps", "net/ipv4/tcp_sack"),
    *("net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_slow_start_after_idle", "net/ipv4/tcp_low_latency"),
    *("net/ipv4/tcp_moderate_rcvbuf", "net/ipv4/tcp_adv_win_scale", "net/ipv4/tcp_no_metrics_save"),
    *("net/ipv4/conf/all/rp_filter", "net/ipv4/conf/all/arp_ignore"),
    *("net/ipv4/conf/all/arp_announce", "net/ipv4/neigh/default/gc_thresh1"),
    *("net/ipv4/neigh/default/gc_thresh2", "net/ipv4/neigh/default/gc_thresh3"),
    *("vm/swappiness", "vm/dirty_ratio", "vm/dirty_background_ratio", "vm/dirty_bytes"),
    *("vm/dirty_background_bytes", "vm/dirty_expire_centisecs", "vm/dirty_writeback_centisecs"),
    *("vm/vfs_cache_pressure", "vm/min_free_kbytes", "vm/watermark_scale_factor"),
    *("vm/zone_reclaim_mode", "vm/nr_hugepages", "vm/overcommit_memory", "vm/overcommit_ratio"),
    *("kernel/numa_balancing", "kernel/nmi_watchdog"),
)
"""Without tcp_mem: the kernel sets it at each boot by the free memory."""

_CPU = "/sys/devices/system/cpu"
_ONCE = {
    "frequency driver": f"{_CPU}/cpu0/cpufreq/scaling_driver",
    "hyper-threading": f"{_CPU}/smt/control",
    "intel_pstate no_turbo": f"{_CPU}/intel_pstate/no_turbo",
    "boost": f"{_CPU}/cpufreq/boost",
    "idle driver": f"{_CPU}/cpuidle/current_driver",
    "idle governor": f"{_CPU}/cpuidle/current_governor_ro",
    "processors": f"{_CPU}/online",
    "NUMA nodes": "/sys/devices/system/node/online",
    "clock source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "transparent huge pages": "/sys/kernel/mm/transparent_hugepage/enabled",
}
_EACH = {
    "governor": "scaling_governor",
    "energy preference": "energy_performance_preference",
    "highest frequency": "scaling_max_freq",
}
_CHOSEN = re.compile(r"\[([^]]+)\]")

_TYPES = re.compile(r"lustre|ldiskfs|ext4|xfs|btrfs|zfs|nfs4?|gpfs|beegfs|wekafs|ceph|fuse\.\w*fs")
_FLAGS = frozenset(("noatime", "nodiratime", "relatime", "strictatime", "sync", "dirsync"))
_OF_THE_CONNECTION = frozenset(
    ("addr", "clientaddr", "mountaddr", "port", "mountport", "name", "user", "username")
)


def look_at_settings(system: System) -> Iterator[Condition]:
    """Yield settings of the kernel, the processors and mounts."""
    for path in _SYSCTL:
        yield Condition("sysctl", "", path.replace("/", "."), system.read(f"/proc/sys/{path}"))
    for name, path in _ONCE.items():
        yield Condition("cpu", "", name, choice(system.read(path)))
    for cpu in filter(re.compile(r"cpu[0-9]+").fullmatch, system.names(_CPU)):
        for name, file in _EACH.items():
            yield Condition("cpu", "", name, system.read(f"{_CPU}/{cpu}/cpufreq/{file}"))
    for line in filter(None, system.read("/proc/self/mountinfo").split("\n")):
        yield from _mount(line)


def choice(text: str) -> str:
    """Return the text in brackets, which marks the kernel's active choice; else the whole text."""
    match = _CHOSEN.search(text)
    return match[1] if match else text


def _mount(line: str) -> Iterator[Condition]:
    """Yield the options of a storage mount.

    A unit of systemd sees bind mounts, and more read-only mounts than a login shell.  So bind
    mounts are left out, and the read-only flag is taken from the file system.
    """
    mount = parse_mount(line)
    if mount.root == "/" and _TYPES.fullmatch(mount.kind):
        options = ",".join(sorted({*(mount.own & _FLAGS), *_public_options(mount.of_system)}))
        yield Condition("mount", mount.point, f"{mount.kind} options", options, mount.point)


def _public_options(options: Iterable[str]) -> Iterator[str]:
    """Yield the options that are neither secret nor specific to the connection."""
    for option in options:
        name, has_value, _ = option.partition("=")
        if name not in _OF_THE_CONNECTION and not (has_value and is_secret(name)):
            yield option


_ROOT = "/sys/block"
_MAX_DISKS = 4000
_NOT_STORAGE = re.compile(NO_STORAGE)
_QUEUE = (
    *("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "write_cache"),
    *("wbt_lat_usec", "rq_affinity", "nomerges"),
)
_SCSI = re.compile(r"/[0-9]+:([0-9]+:[0-9]+:[0-9]+)/block/")
"""A disk's channel, target and LUN, after the SCSI host."""
_PCI_PATH = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def look_at_disks(system: System) -> Iterator[Condition]:
    """Yield queue settings and firmware of all block devices with storage."""
    disks = [name for name in system.names(_ROOT) if not _NOT_STORAGE.fullmatch(name)]
    for name in disks[:_MAX_DISKS]:
        folder = f"{_ROOT}/{name}"
        subject, among = _identity(system, name)
        for file in _QUEUE:
            yield Condition(
                "disk", subject, file, choice(system.read(f"{folder}/queue/{file}")), among
            )
        depth = system.read(f"{folder}/device/queue_depth")
        yield Condition("disk", subject, "queue depth", depth, among)
        for file in ("rev", "firmware_rev"):
            firmware = system.read(f"{folder}/device/{file}")
            yield Condition("firmware", subject, "disk firmware", firmware, among)


def _identity(system: System, name: str) -> tuple[str, str]:
    """Return a name of a block device that survives reboots, and its class.

    All paths of a disk have the same name.
    """
    folder = f"{_ROOT}/{name}"
    mapped = system.read(f"{folder}/dm/name")
    if mapped:
        return mapped, f"{system.read(f'{folder}/dm/uuid').partition('-')[0]} devices"
    level = system.read(f"{folder}/md/level")
    if level:
        return name, f"{level} arrays"
    among = system.read(f"{folder}/device/model") or re.sub(r"[0-9]+$|(?<=[hsv]d)[a-z]+$", "", name)
    for file in ("wwid", "device/wwid", "serial", "device/serial"):
        number = " ".join(system.read(f"{folder}/{file}").split())
        if number:
            return number, among
    return _serial(system, folder) or _location(system, folder) or name, among


def _serial(system: System, folder: str) -> str:
    """Return the serial number of a SCSI disk's page 0x80: four bytes of head, then text."""
    text = system.read(f"{folder}/device/vpd_pg80")[4:]
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _location(system: System, folder: str) -> str:
    """Return adapter and SCSI address of a disk that has no serial number.

    Without the number of the SCSI host, which may differ after each boot.
    """
    adapter, scsi = pci_address(system, folder), _SCSI.search(system.real(folder))
    return f"{adapter} disk {scsi[1]}" if adapter and scsi else adapter


def pci_address(system: System, path: str) -> str:
    """Return the PCI address of the adapter nearest to a device, empty if there is none."""
    addresses: list[str] = _PCI_PATH.findall(system.real(path))
    return addresses[-1] if addresses else ""


_PCI, _NET = "/sys/bus/pci/devices", "/sys/class/net"
_MAX_DEVICES = 2000
_MAX_INTERFACES = 16
_ADAPTERS_TIMEOUT_S = 2.0
_STORAGE_OR_NETWORK = re.compile(r"0x(?:01|02|0c04|0c06)")
"""The classes of PCI devices by their codes."""
_ADAPTER_FIRMWARE = "adapter firmware"
_DRIVER_VERSIONS = {"firmware-version": _ADAPTER_FIRMWARE, "version": "driver version"}
_HOST_FIRMWARE = ("version_fw", "fw_version", "fwrev", "firmware_revision", "firmware_version")
"""Names in mpt3sas, qla2xxx, lpfc, smartpqi and others."""


def look_at_adapters(system: System) -> Iterator[Condition]:
    """Yield the firmware and links that adapters show under /sys."""
    yield from _pci(system)
    yield from _infiniband(system)
    yield from _scsi(system)
    yield from _ethernet(system)


def _pci(system: System) -> Iterator[Condition]:
    for address in system.names(_PCI)[:_MAX_DEVICES]:
        folder = f"{_PCI}/{address}"
        if not _STORAGE_OR_NETWORK.match(system.read(f"{folder}/class")):
            continue
        speed = system.read(f"{folder}/current_link_speed")
        width = system.read(f"{folder}/current_link_width")
        # virtual and built-in functions have none
        if speed and width not in ("", "0"):
            among = f"{system.read(f'{folder}/vendor')}:{system.read(f'{folder}/device')}"
            yield Condition("link", address, "PCIe link", f"{speed} x{width}", among)


def _infiniband(system: System) -> Iterator[Condition]:
    root = "/sys/class/infiniband"
    for name in system.names(root):
        folder = f"{root}/{name}"
        subject = pci_address(system, f"{folder}/device") or name
        among = system.read(f"{folder}/board_id") or system.read(f"{folder}/hca_type")
        firmware = system.read(f"{folder}/fw_ver")
        yield Condition("firmware", subject, _ADAPTER_FIRMWARE, firmware, among)
        for port in system.names(f"{folder}/ports"):
            # a link that is down is a symptom, not a setting
            if "ACTIVE" in system.read(f"{folder}/ports/{port}/state"):
                rate = system.read(f"{folder}/ports/{port}/rate")
                yield Condition("link", f"{subject} port {port}", "rate", rate, among)


def _scsi(system: System) -> Iterator[Condition]:
    for name in system.names("/sys/class/scsi_host"):
        folder = f"/sys/class/scsi_host/{name}"
        subject, among = pci_address(system, folder), system.read(f"{folder}/proc_name")
        for file in _HOST_FIRMWARE if subject else ():
            firmware = system.read(f"{folder}/{file}")
            yield Condition("firmware", subject, _ADAPTER_FIRMWARE, firmware, among)
    for name in system.names("/sys/class/fc_host"):
        folder = f"/sys/class/fc_host/{name}"
        speed = system.read(f"{folder}/speed")
        if "Gbit" in speed:
            port = system.read(f"{folder}/port_name")
            yield Condition("link", port, "Fibre Channel speed", speed, "Fibre Channel")
    for name in system.names("/sys/class/sas_phy")[:_MAX_DEVICES]:
        folder = f"/sys/class/sas_phy/{name}"
        rate = system.read(f"{folder}/negotiated_linkrate")
        if "Gbit" in rate:
            address = system.read(f"{folder}/sas_address")
            phy = f"{address} phy {system.read(f'{folder}/phy_identifier')}"
            yield Condition("link", phy, "SAS speed", rate, "SAS")


def _ethernet(system: System) -> Iterator[Condition]:
    for name in system.names(_NET):
        folder = f"{_NET}/{name}"
        if any(file == "device" or file.startswith("lower_") for file in system.names(folder)):
            yield Condition("link", name, "MTU", system.read(f"{folder}/mtu"), name)
            speed = system.read(f"{folder}/speed")
            if speed.isdigit():
                shown = f"{speed} Mbit/s {system.read(f'{folder}/duplex')} duplex"
                yield Condition("link", name, "speed", shown, name)


def look_at_interfaces(system: System) -> Iterator[Condition]:
    """Yield driver and firmware of network interfaces; raise ToolError without ethtool."""
    links = [link for link in system.names(_NET) if "device" in system.names(f"{_NET}/{link}")]
    for name in links[:_MAX_INTERFACES]:
        driver = _driver(system, name)
        for key, label in _DRIVER_VERSIONS.items():
            among = driver.get("driver", "")
            yield Condition("firmware", name, label, driver.get(key, ""), among)


def _driver(system: System, name: str) -> dict[str, str]:
    try:
        text = ask(system, ["ethtool", "-i", name], _ADAPTERS_TIMEOUT_S)
    except MissingTool:
        raise
    except ToolError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs if value.strip() != "N/A"}


_LUSTRE_TIMEOUT_S = 5.0
_LUSTRE_MODULES = "/sys/module/obdclass"
_INSTANCE = re.compile(r"-[0-9a-f]{8,16}(?=\.)")
"""The address of a client's mount, which differs at each mount."""
_ALIASES = {
    "osp": re.compile(r"osc(?=\.[^.]+-osc-MDT[0-9a-f]{4}\.)"),
    "lod": re.compile(r"lov(?=\.[^.]+-MDT[0-9a-f]{4}-mdtlov\.)"),
}
"""Aliases of a module's parameters on an MDS; before release 2.4 the only names."""
_TARGET = re.compile(r"[^.]*-(?:OST|MDT)[0-9a-f]{4}[^.]*")


def look_at_lustre(system: System, patterns: Sequence[str]) -> Iterator[Condition]:
    """Yield the existing parameters; none without Lustre's modules.

    Raises:
        ToolError: lctl is missing or prints nothing.
    """
    if not patterns or not system.names(_LUSTRE_MODULES):
        return
    # it fails if one pattern has no match (a client has no obdfilter), but prints the others
    completed = system.run(["lctl", "get_param", *patterns], _LUSTRE_TIMEOUT_S)
    if completed.timed_out or completed.hung or not completed.stdout:
        raise ToolError(complaint(completed))
    aliases = {
        module: name for module, name in _ALIASES.items() if system.names(f"/sys/module/{module}")
    }
    for name, value in parameters(completed.stdout, patterns):
        path, _, last = _INSTANCE.sub("", _own_name(name, aliases)).rpartition(".")
        if not is_secret(name):
            yield Condition("lustre", path, last, _value(name, value), _TARGET.sub("*", path))


def _own_name(name: str, aliases: Mapping[str, re.Pattern[str]]) -> str:
    """Return a parameter's name with its own module instead of an alias."""
    for module, alias in aliases.items():
        name = alias.sub(module, name)
    return name


def _value(name: str, value: str) -> str:
    """Return a value; of several lines that with the parameter's own name, if any.

    ``max_cached_mb`` also prints the current usage.
    """
    prefix = f"{name.rpartition('.')[2]}:"
    lines = (line.strip() for line in value.splitlines())
    return next((line[len(prefix) :] for line in lines if line.startswith(prefix)), value).strip()


_MODULES = "/sys/module"
_SOFTWARE_TIMEOUT_S = 2.0

LUSTRE, KERNEL = "Lustre", "kernel"

_MODULES_OF_LUSTRE = (
    *("lnet", "ksocklnd", "ko2iblnd", "kkfilnd", "libcfs", "obdclass", "ptlrpc", "lov", "osc"),
    *("ofd", "ost", "osd_zfs", "osd_ldiskfs"),
)
"""Their version is that of Lustre, which is reported once."""

KNOWN_MODULES = (
    *_MODULES_OF_LUSTRE,
    *("zfs", "dm_multipath", "dm_mod", "md_mod", "raid456"),
    *("scsi_mod", "sd_mod", "nvme_core", "nvme", "nvme_rdma", "nvme_tcp", "mpt3sas", "mpi3mr"),
    *("megaraid_sas", "smartpqi", "hpsa", "qla2xxx", "lpfc", "ib_srp", "ib_core", "ib_ipoib"),
    *("mlx4_core", "mlx4_en", "mlx5_core", "mlx5_ib", "hfi1", "ice", "i40e", "ixgbe", "bnxt_en"),
)
"""Modules of storage and networks whose version and parameters are conditions."""

_BOOT_OPTION = re.compile(
    r"(?:mitigations|nopti|pti|spectre_v2|nosmt|idle|intel_idle\.max_cstate|processor\.max_cstate|"
    r"intel_pstate|amd_pstate|cpufreq\.default_governor|cpuidle\.off|clocksource|tsc|numa|"
    r"numa_balancing|isolcpus|nohz|nohz_full|rcu_nocbs|iommu|iommu\.strict|iommu\.passthrough|"
    r"intel_iommu|amd_iommu|pcie_aspm|pci|transparent_hugepage|hugepages|hugepagesz|"
    r"default_hugepagesz|mem|maxcpus|nr_cpus|elevator|scsi_mod\.use_blk_mq|dm_mod\.use_blk_mq|"
    r"nvme_core\.[a-z_]+|selinux|audit|preempt|skew_tick|nmi_watchdog)(?:=.*)?"
)
"""Options of the kernel's command line; all others may be secret and are dropped."""


def look_at_software(system: System) -> Iterator[Condition]:
    """Yield versions, boot options and module parameters."""
    yield from _versions(system)
    for module in KNOWN_MODULES:
        yield from _module(system, module)


def _versions(system: System) -> Iterator[Condition]:
    options = filter(_BOOT_OPTION.fullmatch, system.read("/proc/cmdline").split())
    release = re.search(r'^PRETTY_NAME="?([^"\n]*)', system.read("/etc/os-release"), re.MULTILINE)
    versions = {
        LUSTRE: _lustre(system),
        KERNEL: system.read("/proc/sys/kernel/osrelease"),
        "boot options": " ".join(options) or "none",
        "operating system": release[1] if release else "",
        "OFED": _ofed(system),
    }
    for name, version in versions.items():
        yield Condition("software", "", name, version)


def _lustre(system: System) -> str:
    """Return the version of Lustre; before 2.12 only its modules have one."""
    version = system.read("/sys/fs/lustre/version") or system.read(f"{_MODULES}/obdclass/version")
    return version.rpartition(" ")[2]


def _ofed(system: System) -> str:
    """Return the version of OFED, empty for the kernel's own InfiniBand."""
    try:
        return ask(system, ["ofed_info", "-s"], _SOFTWARE_TIMEOUT_S).strip().rstrip(":")
    except ToolError:
        return ""


def _module(system: System, module: str) -> Iterator[Condition]:
    if module not in _MODULES_OF_LUSTRE:
        version = system.read(f"{_MODULES}/{module}/version")
        yield Condition("software", module, "version", version, module)
    folder = f"{_MODULES}/{module}/parameters"
    for name in system.names(folder):
        # the host's id is not a setting
        if not is_secret(name) and "hostid" not in name:
            yield Condition("module", module, name, system.read(f"{folder}/{name}"), module)


def collect(
    system: System, parameters: Sequence[str]
) -> tuple[tuple[Condition, ...], tuple[str, ...]]:
    """Return the conditions of a node, and the errors of collectors.

    ``parameters`` are patterns for ``lctl get_param``.
    """
    conditions: list[Condition] = []
    notes: list[str] = []
    for look in (
        look_at_software(system),
        look_at_lustre(system, parameters),
        look_at_settings(system),
        look_at_disks(system),
        look_at_adapters(system),
        look_at_interfaces(system),
    ):
        conditions += _collected(look, notes)
    if len(conditions) > MAX_CONDITIONS:
        notes.append(
            f"{len(conditions) - MAX_CONDITIONS} conditions beyond {MAX_CONDITIONS} were left out"
        )
    return tuple(conditions[:MAX_CONDITIONS]), tuple(notes)


def _collected(look: Iterator[Condition], notes: list[str]) -> list[Condition]:
    try:
        return list(merge_values(look))
    except PlumblineError as error:
        notes.append(str(error))
        return []
