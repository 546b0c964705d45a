"""What runs on a node: kernel with its options, release, Lustre, OFED, and modules with theirs."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.conditions.condition import Condition, is_secret
from plumbline.errors import ToolError
from plumbline.symptoms.system import System, ask

_MODULES = "/sys/module"
_TIMEOUT_S = 2.0

LUSTRE, KERNEL = "Lustre", "kernel"

_MODULES_OF_LUSTRE = (
    *("lnet", "ksocklnd", "ko2iblnd", "kkfilnd", "libcfs", "obdclass", "ptlrpc", "lov", "osc"),
    *("ofd", "ost", "osd_zfs", "osd_ldiskfs"),
)
"""Their version is that of Lustre, which is said once."""

KNOWN_MODULES = (
    *_MODULES_OF_LUSTRE,
    *("zfs", "dm_multipath", "dm_mod", "md_mod", "raid456"),
    *("scsi_mod", "sd_mod", "nvme_core", "nvme", "nvme_rdma", "nvme_tcp", "mpt3sas", "mpi3mr"),
    *("megaraid_sas", "smartpqi", "hpsa", "qla2xxx", "lpfc", "ib_srp", "ib_core", "ib_ipoib"),
    *("mlx4_core", "mlx4_en", "mlx5_core", "mlx5_ib", "hfi1", "ice", "i40e", "ixgbe", "bnxt_en"),
)
"""Modules of storage and its networks whose version and parameters count."""

_BOOT_OPTION = re.compile(
    r"(?:mitigations|nopti|pti|spectre_v2|nosmt|idle|intel_idle\.max_cstate|processor\.max_cstate|"
    r"intel_pstate|amd_pstate|cpufreq\.default_governor|cpuidle\.off|clocksource|tsc|numa|"
    r"numa_balancing|isolcpus|nohz|nohz_full|rcu_nocbs|iommu|iommu\.strict|iommu\.passthrough|"
    r"intel_iommu|amd_iommu|pcie_aspm|pci|transparent_hugepage|hugepages|hugepagesz|"
    r"default_hugepagesz|mem|maxcpus|nr_cpus|elevator|scsi_mod\.use_blk_mq|dm_mod\.use_blk_mq|"
    r"nvme_core\.[a-z_]+|selinux|audit|preempt|skew_tick|nmi_watchdog)(?:=.*)?"
)
"""Of the kernel's command line; anything else on it may be a secret and is dropped."""


def look(system: System) -> Iterator[Condition]:
    """Yield what runs; what is not there has nothing to say."""
    yield from _named(system)
    for module in KNOWN_MODULES:
        yield from _module(system, module)


def _named(system: System) -> Iterator[Condition]:
    options = filter(_BOOT_OPTION.fullmatch, system.read("/proc/cmdline").split())
    said = {
        LUSTRE: _lustre(system),
        KERNEL: system.read("/proc/sys/kernel/osrelease"),
        "boot options": " ".join(options) or "none",
        "operating system": _release(system),
        "OFED": _ofed(system),
    }
    for name, value in said.items():
        if value:
            yield Condition("software", "", name, value)


def _lustre(system: System) -> str:
    """Return the version of Lustre; releases before 2.12 have it of their modules alone."""
    said = system.read("/sys/fs/lustre/version") or system.read(f"{_MODULES}/obdclass/version")
    return said.rpartition(" ")[2]


def _release(system: System) -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', system.read("/etc/os-release"), re.MULTILINE)
    return found[1] if found else ""


def _ofed(system: System) -> str:
    """Return the version of OFED; the kernel's own has none."""
    try:
        return ask(system, ["ofed_info", "-s"], _TIMEOUT_S).strip().rstrip(":")
    except ToolError:
        return ""


def _module(system: System, module: str) -> Iterator[Condition]:
    version = system.read(f"{_MODULES}/{module}/version")
    if version and module not in _MODULES_OF_LUSTRE:
        yield Condition("software", module, "version", version, module)
    folder = f"{_MODULES}/{module}/parameters"
    for name in system.names(folder):
        # a number of the host is no setting
        if is_secret(name) or "hostid" in name:
            continue
        value = system.read(f"{folder}/{name}")
        if value:
            yield Condition("module", module, name, value, module)
