"""End the lab and remove every trace of it, in any state after a crash.

Teardown finds the existing control groups, namespaces, loop devices and mounts of this lab, so it
needs no document and can be repeated.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from plumbline_lab import cgroups, disks, hosts, naming, network, services
from plumbline_lab.command import run, succeeds


def down(run_dir: Path) -> list[str]:
    """Remove everything, users of a resource before the resource."""
    done = _close_ssh(run_dir)
    names = _services(run_dir)
    done += hosts.down(
        [name[len(hosts.SERVICE) :] for name in names if name.startswith(hosts.SERVICE)]
    )
    for name in names:
        if not name.startswith(hosts.SERVICE) and services.end(name):
            done.append(f"{name} ended")
    done += network.down(run_dir)
    done += disks.down(run_dir)
    done += _remove_groups(names)
    done += _unmount(run_dir)
    if run_dir.exists():
        shutil.rmtree(run_dir)
        done.append(f"{run_dir} removed")
    return done


def _close_ssh(run_dir: Path) -> list[str]:
    """Close persistent ssh connections, which would keep the namespaces alive."""
    sockets = list((run_dir / "ssh").glob("cm-*")) if (run_dir / "ssh").is_dir() else []
    for path in sockets:
        succeeds(["ssh", "-o", f"ControlPath={path}", "-O", "exit", "lab"])
    return [f"{len(sockets)} ssh connections closed"] if sockets else []


def _services(run_dir: Path) -> list[str]:
    """Return the names of all existing services, running or not."""
    if services.machine_has_systemd():
        pattern = services.unit("*")
        lines = run(
            ["systemctl", "list-units", "--all", "--plain", "--no-legend", pattern]
        ).splitlines()
        units = [line.split()[0] for line in lines if line.split()]
        names = [name[len(naming.group()) + 1 : -len(".service")] for name in units]
        # units of another lab may have the same prefix, but their logs are elsewhere
        return [name for name in names if services.log_file(run_dir, name).exists()]
    root = cgroups.unified_root()
    parent = root / naming.group() if root else None
    return (
        sorted(path.name for path in parent.iterdir() if path.is_dir())
        if parent and parent.is_dir()
        else []
    )


def _remove_groups(names: list[str]) -> list[str]:
    if services.machine_has_systemd():
        for name in names:
            succeeds(["systemctl", "stop", services.unit(name)])
            succeeds(["systemctl", "reset-failed", services.unit(name)])
        return []
    root = cgroups.unified_root()
    if root is None or not (root / naming.group()).is_dir():
        return []
    cgroups.remove(root / naming.group())
    return [f"control group {root / naming.group()} removed"]


def _unmount(run_dir: Path) -> list[str]:
    done: list[str] = []
    for _attempt in range(50):
        points = _mount_points(run_dir)
        if not points:
            break
        for point in points:
            done += [f"{point} unmounted"] if succeeds(["umount", point]) else []
        time.sleep(0.1)
    for point in _mount_points(run_dir):
        run(["umount", "--lazy", point])  # used by somebody's shell: it disappears when that ends
        done.append(f"{point} unmounted, but something still uses it")
    return done


def _mount_points(run_dir: Path) -> list[str]:
    """Return the mount points of the lab, innermost first."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    points = [line.split()[1] for line in lines]
    return [
        point
        for point in reversed(points)
        if point == str(run_dir) or point.startswith(f"{run_dir}/")
    ]
