"""Hosts: start and end them, find their PID 1, add devices to them."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Optional, Sequence

from plumbline_lab import access, cgroups, naming, services
from plumbline_lab.command import run
from plumbline_lab.document import Host, Lab
from plumbline_lab.errors import LabError

SERVICE = "host-"  # prefix of a host's service
LAUNCHER = Path(__file__).parent.parent / "lab-host"
SSH_PORT = 22
FUSE = (10, 229)  # Documentation/admin-guide/devices.txt


def up(lab: Lab) -> list[str]:
    """Start all missing hosts at once, and wait until each accepts ssh."""
    missing = [host for host in lab.hosts.values() if init_pid(host.name) is None]
    lost = [host.name for host in missing if _ready_file(lab, host).exists()]
    if lost:
        raise LabError(
            f"{', '.join(lost)} ended, and what was installed there was in memory; "
            "run playbooks/lab_down.yml, then lab_up.yml."
        )
    for host in missing:
        _start(lab, host)
    for host in missing:
        _wait_ready(lab, host)
        _ready_file(lab, host).touch()
    return [f"host {host.name} started, Debian {host.release}" for host in missing]


def all_lost(run_dir: Path) -> bool:
    """Return True if hosts have been up and all have ended, e.g. by a crash of the machine."""
    names = [path.stem for path in (run_dir / "hosts").glob("*.ready")]
    return bool(names) and all(init_pid(name) is None for name in names)


def _ready_file(lab: Lab, host: Host) -> Path:
    """Return the file that marks a host that has been up and may have been changed."""
    return lab.run_dir / "hosts" / f"{host.name}.ready"


def _start(lab: Lab, host: Host) -> None:
    name = SERVICE + host.name
    services.kill(name)  # a launcher without its host, after a crash
    work = lab.run_dir / "hosts" / host.name
    work.mkdir(parents=True, exist_ok=True)
    seed = access.seed(lab, host)
    blkio = cgroups.blkio_root()
    identity = [_launcher(lab), host.name, naming.namespace(host.name)]
    argv = [str(LAUNCHER), *identity, str(host.base), str(seed), str(work)]
    services.start(name, [*argv, str(blkio)] if blkio else argv, lab.run_dir)


def _launcher(lab: Lab) -> str:
    if lab.launcher != "auto":
        return lab.launcher
    return "nspawn" if shutil.which("systemd-nspawn") else "bare"


def _wait_ready(lab: Lab, host: Host, timeout_s: float = 180) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        pid = init_pid(host.name)
        if pid is not None and _listens(pid, SSH_PORT):
            add_device(host.name, "fuse", stat.S_IFCHR | 0o666, FUSE, "root")
            return
        if pid is None and not services.running(SERVICE + host.name):
            break
        time.sleep(0.05)
    raise LabError(
        f"Host {host.name} did not come up: {services.tail(lab.run_dir, SERVICE + host.name)}"
    )


def _listens(pid: int, port: int) -> bool:
    """Return True if a TCP port in the network of a process is open (state 0A)."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and fields[1].endswith(f":{port:04X}"):
                return True
    return False


def init_pid(host: str) -> Optional[int]:
    """Return the machine's PID of a host's systemd, None if the host is down."""
    group = services.group(SERVICE + host)
    for pid in cgroups.pids(group) if group else []:
        try:
            text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in text.splitlines())
        inner = fields["NSpid"].split()
        if len(inner) > 1 and inner[-1] == "1" and fields["Name"].strip() == "systemd":
            return pid
    return None


def require_init(host: str) -> int:
    """Return the PID of a host's systemd; raise LabError if the host is down."""
    pid = init_pid(host)
    if pid is None:
        raise LabError(f"Host {host} is not running; run playbooks/lab_up.yml.")
    return pid


def inside(host: str, argv: Sequence[str], timeout_s: float = 60) -> str:
    """Run a program inside a host."""
    namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/"]
    enter = ["nsenter", f"--target={require_init(host)}", *namespaces, "--"]
    return run([*enter, *argv], timeout_s)


def add_device(host: str, path: str, mode: int, numbers: tuple[int, int], group: str) -> bool:
    """Create a device node in a host's /dev; return True if it is new."""
    node = Path(f"/proc/{require_init(host)}/root/dev") / path
    device = os.makedev(*numbers)
    if node.exists():
        if node.stat().st_rdev == device:
            return False
        node.unlink()
    os.mknod(node, mode, device)
    node.chmod(stat.S_IMODE(mode))  # regardless of the umask
    os.chown(node, 0, group_id(host, group))
    return True


def add_link(host: str, path: str, target: str) -> None:
    """Create a symbolic link in a host's /dev."""
    link = Path(f"/proc/{require_init(host)}/root/dev") / path
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink() and os.readlink(link) == target:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def group_id(host: str, name: str) -> int:
    """Return the number of a group in a host."""
    table = Path(f"/proc/{require_init(host)}/root/etc/group").read_text(encoding="utf-8")
    for line in table.splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return int(fields[2])
    raise LabError(f"Host {host} has no group '{name}'.")


def down(names: Sequence[str], patience_s: float = 15) -> list[str]:
    """Halt hosts: ask systemd (SIGRTMIN+3, see systemd(1)), and kill hosts that do not end."""
    done: list[str] = []
    halting = [name for name in names if _ask_to_halt(name)]
    end = time.monotonic() + patience_s
    for name in names:
        service = SERVICE + name
        group = services.group(service)
        if group and name in halting:
            cgroups.wait_empty(group, max(0.0, end - time.monotonic()))
        killed = bool(group and cgroups.pids(group))
        if killed:
            services.kill(service)
        if killed or name in halting:
            done.append(f"host {name} {'killed' if killed else 'shut down'}")
    return done


def _ask_to_halt(name: str) -> bool:
    pid = init_pid(name)
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGRTMIN + 3)
    except ProcessLookupError:
        return False
    return True
