"""Start and end background services: the hosts, the mirror, the forwarder.

Each service has its own control group, which identifies all its processes: with systemd that of a
transient unit with a delegated group, elsewhere a group made by the lab.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import Optional, Sequence

from plumbline_lab import cgroups, naming
from plumbline_lab.command import run, succeeds
from plumbline_lab.errors import LabError


def machine_has_systemd() -> bool:
    """Return True if systemd is PID 1 of this machine (sd_booted)."""
    return (
        Path("/run/systemd/system").is_dir()
        and Path("/proc/1/comm").read_text(encoding="utf-8") == "systemd\n"
    )


def unit(name: str) -> str:
    """Return the name of the transient unit."""
    return f"{naming.group()}-{name}.service"


def group(name: str) -> Optional[Path]:
    """Return the control group of a running service, None if there is none."""
    root = cgroups.unified_root()
    if root is None:
        return None
    if machine_has_systemd():
        path = run(["systemctl", "show", "--property=ControlGroup", "--value", unit(name)]).strip()
        return root / path.lstrip("/") if path else None
    path_plain = root / naming.group() / name
    return path_plain if path_plain.is_dir() else None


def running(name: str) -> bool:
    """Return True if any process of the service is alive."""
    path = group(name)
    return path is not None and bool(cgroups.pids(path))


def start(name: str, argv: Sequence[str], run_dir: Path) -> None:
    """Start a service; its output goes to a log below the run directory."""
    log = log_file(run_dir, name)
    log.parent.mkdir(parents=True, exist_ok=True)
    if machine_has_systemd():
        succeeds(["systemctl", "reset-failed", unit(name)])
        environment = [
            f"--setenv={key}={os.environ[key]}"
            for key in ("PATH", "PYTHONPATH")
            if key in os.environ
        ]
        options = ["--collect", "--quiet", "--property=Delegate=yes", "--property=KillMode=mixed"]
        output = [
            f"--property=StandardOutput=append:{log}",
            f"--property=StandardError=append:{log}",
        ]
        run(["systemd-run", f"--unit={unit(name)}", *options, *output, *environment, *argv])
        return
    supervisor = cgroups.ensure_group(run_dir, name) / "supervisor"
    supervisor.mkdir(exist_ok=True)
    with log.open("ab") as output_file:
        # The shell enters the group, then becomes the service, so it can always be found.
        subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(supervisor), *argv],
            stdin=subprocess.DEVNULL,
            stdout=output_file,
            stderr=output_file,
            cwd="/",
            start_new_session=True,
        )


def end(name: str, patience_s: float = 5) -> bool:
    """End a service, first with SIGTERM; return True if it was running."""
    path = group(name)
    was_running = path is not None and bool(cgroups.pids(path))
    if path is not None and was_running:
        for pid in cgroups.pids(path):
            _terminate(pid)
        if not cgroups.wait_empty(path, patience_s):
            kill(name)
    return was_running


def _terminate(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 15)


def kill(name: str) -> None:
    """Kill all processes of the service, and wait until they have ended."""
    path = group(name)
    if path is None:
        return
    for _attempt in range(3):
        cgroups.kill(path)
        if cgroups.wait_empty(path, 10):
            return
    raise LabError(
        f"Processes {cgroups.pids(path)} of {name} do not end when killed: see /proc/PID/stack."
    )


def log_file(run_dir: Path, name: str) -> Path:
    """Return the log file of a service."""
    return run_dir / "log" / f"{name}.log"


def tail(run_dir: Path, name: str) -> str:
    """Return the last lines of a service's log, for an error message."""
    try:
        lines: list[str] = (
            log_file(run_dir, name).read_text(encoding="utf-8", errors="replace").split("\n")
        )
    except OSError:
        return "(no log)"
    return " | ".join(line.strip() for line in lines[-6:] if line.strip()) or "(empty log)"


def wait_running(name: str, run_dir: Path, seconds: float) -> None:
    """Wait, and raise LabError if the service has ended right after its start."""
    end_time = time.monotonic() + seconds
    while time.monotonic() < end_time:
        time.sleep(0.05)
    if not running(name):
        raise LabError(f"{name} ended right after its start: {tail(run_dir, name)}")
