"""Settings of the kernel: network, memory, processors, and the options of storage's mounts."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.conditions.condition import Condition, is_secret
from plumbline.symptoms.system import System

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
"""Not tcp_mem, which the kernel sizes at each boot by the memory that is free then."""

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
_ESCAPED = re.compile(r"\\([0-7]{3})")


def look(system: System) -> Iterator[Condition]:
    """Yield the settings that are there."""
    for path in _SYSCTL:
        yield from _if_said("sysctl", path.replace("/", "."), system.read(f"/proc/sys/{path}"))
    for name, path in _ONCE.items():
        yield from _if_said("cpu", name, chosen(system.read(path)))
    cpus = [name for name in system.names(_CPU) if re.fullmatch(r"cpu[0-9]+", name)]
    for name, file in _EACH.items():
        for cpu in cpus:
            yield from _if_said("cpu", name, system.read(f"{_CPU}/{cpu}/cpufreq/{file}"))
    for line in system.read("/proc/self/mountinfo").splitlines():
        yield from _mount(line)


def chosen(text: str) -> str:
    """Return what is in brackets, as the kernel marks one of several choices; else the text."""
    found = _CHOSEN.search(text)
    return found[1] if found else text


def _if_said(area: str, name: str, value: str) -> Iterator[Condition]:
    if value:
        yield Condition(area, "", name, value)


def _mount(line: str) -> Iterator[Condition]:
    """Yield the options of a mount of storage (proc_pid_mountinfo(5)).

    A unit of systemd sees binds, and more mounts that cannot be written than a person does: binds
    are left out, and whether it can be written is taken from the file system.
    """
    before, _, after = line.partition(" - ")
    fields, of_system = before.split(), after.split()
    if len(fields) < 6 or len(of_system) < 3 or fields[3] != "/":
        return
    kind, options = of_system[0], of_system[2]
    if _TYPES.fullmatch(kind):
        flags = {*(one for one in fields[5].split(",") if one in _FLAGS), *_open(options)}
        point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[4])
        yield Condition("mount", point, f"{kind} options", ",".join(sorted(flags)), point)


def _open(options: str) -> Iterator[str]:
    """Yield the options that are no secret and not of this connection alone."""
    for option in options.split(","):
        name, has_value, _ = option.partition("=")
        if name not in _OF_THE_CONNECTION and not (has_value and is_secret(name)):
            yield option
