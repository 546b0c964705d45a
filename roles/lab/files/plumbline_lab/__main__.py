"""Command line of the lab: run one verb, and print its changes."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import sys
from pathlib import Path
from typing import Callable, Iterator

from plumbline_lab import (
    access,
    breakage,
    disks,
    document,
    forwarder,
    hosts,
    kernel,
    mirror_server,
    naming,
    network,
    services,
    sources,
    teardown,
)
from plumbline_lab.command import run
from plumbline_lab.document import Lab
from plumbline_lab.errors import LabError

MIRROR, PAGE = "mirror", "page"
WISHES = (*breakage.FAULTS, breakage.HEAL)


def prepare(run_dir: Path) -> list[str]:
    """Create the run directory in memory; first remove a lab whose hosts have all ended."""
    done = teardown.down(run_dir) if hosts.all_lost(run_dir) else []
    if os.path.ismount(run_dir):
        return done
    run_dir.mkdir(parents=True, exist_ok=True)
    # The default size, half of the memory, is only a limit; it has room for copies of disks.
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(run_dir)])
    seed = run_dir / "seed"
    seed.mkdir(mode=0o700)
    return [*done, f"{run_dir} made"]


def mirror_up(lab: Lab) -> list[str]:
    """Serve the packages on the bridge."""
    if services.running(MIRROR):
        return []
    inside = ["ip", "netns", "exec", naming.control()]
    argv = [*_myself(lab), "serve-mirror"]
    services.start(MIRROR, [*inside, *argv], lab.run_dir)
    services.wait_running(MIRROR, lab.run_dir, 0.5)
    return [f"mirror served at http://{lab.control_address}"]


def page_up(lab: Lab) -> list[str]:
    """Forward the Nagios page to 127.0.0.1 of the machine."""
    if services.running(PAGE):
        return []
    forwarder.port_is_free(lab.page_port)
    services.start(PAGE, [*_myself(lab), "serve-page"], lab.run_dir)
    services.wait_running(PAGE, lab.run_dir, 0.5)
    return [f"page of {lab.page_address} at http://127.0.0.1:{lab.page_port}"]


def _myself(lab: Lab) -> list[str]:
    files = Path(__file__).parent.parent
    call = [sys.executable, "-B", "-m", "plumbline_lab"]
    return ["env", f"PYTHONPATH={files}", *call, "--run-dir", str(lab.run_dir)]


def check_kernel() -> list[str]:
    """Refuse a machine that cannot run a lab."""
    sentences = kernel.missing()
    if sentences:
        raise LabError(" ".join(sentences))
    return []


def down(run_dir: Path) -> list[str]:
    """Remove everything of the lab."""
    done = teardown.down(run_dir)
    _lock_file(run_dir).unlink(missing_ok=True)
    return done


UP: dict[str, Callable[[Lab], list[str]]] = {
    "network": network.up,
    "access": access.up,
    "mirror": mirror_up,
    "hosts": hosts.up,
    "disks": disks.up,
    "page": page_up,
}


def _perform(options: argparse.Namespace) -> list[str]:
    run_dir: Path = options.run_dir
    if options.verb == "kernel":
        return check_kernel()
    with _locked(run_dir):
        if options.verb == "prepare":
            return prepare(run_dir)
        if options.verb == "down":
            return down(run_dir)
        lab = document.load(run_dir)
        if options.verb == "break":
            return breakage.choose(
                lab, {wish: getattr(options, wish) for wish in WISHES}, options.rate
            )
        return UP[options.verb](lab)


def _lock_file(run_dir: Path) -> Path:
    return run_dir.with_name(run_dir.name + ".lock")


@contextlib.contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    """Lock the run directory: a second run waits, as two would disturb each other."""
    with _lock_file(run_dir).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="plumbline_lab", description="The lab of plumbline, one verb at a time."
    )
    parser.add_argument(
        "--run-dir", type=Path, default=Path("/run/plumbline-lab"), help="where the lab's state is"
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in (
        "kernel",
        "prepare",
        "down",
        *UP,
        "debian-mirror",
        "status",
        "serve-mirror",
        "serve-page",
    ):
        verbs.add_parser(verb)
    breaking = verbs.add_parser("break")
    for wish in (*WISHES, "rate"):
        breaking.add_argument(f"--{wish}", default="")
    return parser.parse_args()


def main() -> None:
    """Run the verb; print one sentence and exit with 1 if it fails."""
    options = _arguments()
    naming.use(options.run_dir)
    try:
        if options.verb == "debian-mirror":
            print(sources.of_machine())
        elif options.verb == "status":
            print("\n".join(breakage.describe(options.run_dir)))
        elif options.verb == "serve-mirror":
            lab = document.load(options.run_dir)
            mirror_server.serve(lab.control_address, lab.mirror_dir)
        elif options.verb == "serve-page":
            lab = document.load(options.run_dir)
            forwarder.forward(lab.page_port, naming.control(), (lab.page_address, 80))
        else:
            for line in _perform(options):
                print(f"changed: {line}")
    except (LabError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
