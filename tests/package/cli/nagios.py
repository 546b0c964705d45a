"""A Nagios daemon for a test: configuration, command pipe and status lie in one folder."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Callable, Iterator, Mapping, Optional, Sequence

from plumbline.model.service import Service
from tests.package.recorded import data
from tests.processes import is_powerless_root, run_to_end

PROGRAM = shutil.which("nagios4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
if is_powerless_root():
    # the daemon does not stay root, and here it cannot become its own user
    PROGRAM = None

_WAIT_S = 300.0
_MAIN = data("nagios/main.cfg")
_COMMON = data("nagios/common.cfg")


class Daemon:
    """A running daemon; its command pipe is ``nagios.cmd`` in ``folder``."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.pipe = folder / "nagios.cmd"
        self._process = process
        self._numbers = count()

    @property
    def log(self) -> str:
        """Return the log of the daemon."""
        return (self.folder / "nagios.log").read_text(encoding="utf-8", errors="replace")

    def checked(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return the entries of the status file for services with a result."""
        try:
            text = (self.folder / "status.dat").read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        blocks = (block.partition("}")[0] for block in text.split("servicestatus {")[1:])
        entries = (
            dict(line.strip().split("=", 1) for line in block.strip().splitlines())
            for block in blocks
        )
        return {
            (entry["host_name"], entry["service_description"]): entry
            for entry in entries
            if entry["has_been_checked"] == "1"
        }

    def submit(self, states: Mapping[tuple[str, str], int]) -> None:
        """Submit a result for each service, and wait until the daemon has it."""
        text = f"result {next(self._numbers)}"
        lines = [
            f"[{int(time.time())}] PROCESS_SERVICE_CHECK_RESULT;{host};{service};{state:d};{text}\n"
            for (host, service), state in states.items()
        ]
        with self.pipe.open("w") as pipe:
            pipe.writelines(lines)

        def accepted() -> bool:
            checked = self.checked()
            return all(checked.get(key, {}).get("plugin_output") == text for key in states)

        self.until(accepted, "results were not accepted")

    @property
    def notifications(self) -> list[tuple[str, str]]:
        """Return service and state of each notification, in order."""
        lines = (line for line in self.log.splitlines() if "SERVICE NOTIFICATION: " in line)
        return [(parts[2], parts[3]) for parts in (line.split(";") for line in lines)]

    def listens(self) -> bool:
        """Return whether the daemon reads its command pipe."""
        try:
            os.close(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True

    def until(self, condition: Callable[[], bool], failure: str) -> None:
        """Wait for a condition; fail with the log after a timeout."""
        deadline = time.monotonic() + _WAIT_S
        while not condition():
            assert self._process.poll() is None, f"the daemon ended: {self.log}"
            assert time.monotonic() < deadline, f"{failure} in {_WAIT_S} s: {self.log}"
            time.sleep(0.1)


@contextmanager
def nagios(services: Sequence[Service]) -> Iterator[Daemon]:
    """Run a daemon with these services, and stop it in any case."""
    with configured(_objects(services)) as daemon:
        yield daemon


@contextmanager
def configured(objects: str, *settings: str) -> Iterator[Daemon]:
    """Run a daemon with these objects and additional settings."""
    assert PROGRAM is not None
    process: Optional[subprocess.Popen[bytes]] = None
    with _folder(objects, settings) as folder:
        try:
            with (folder / "out.txt").open("wb") as out:
                process = subprocess.Popen(
                    [PROGRAM, str(folder / "nagios.cfg")], stdout=out, stderr=subprocess.STDOUT
                )
            daemon = Daemon(folder, process)
            # the log reports the reader of the pipe before the pipe exists
            daemon.until(daemon.listens, "no command pipe")
            yield daemon
        finally:
            if process is not None:
                _end(process)


def verify(objects: str) -> subprocess.CompletedProcess[str]:
    """Return the result of the daemon's own check of these objects."""
    assert PROGRAM is not None
    with _folder(objects, ()) as folder:
        return run_to_end(PROGRAM, "-v", folder / "nagios.cfg")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _folder(objects: str, settings: Sequence[str]) -> Iterator[Path]:
    """Create a folder with the configuration, and remove it at the end."""
    # socket paths must be short, and the daemon's user needs access
    folder = Path(tempfile.mkdtemp(prefix="plumbline-nagios-"))
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
        (folder / "spool").mkdir()
        (folder / "nagios.log").touch()
        main = _MAIN.format(folder=folder, user=user) + "".join(f"{line}\n" for line in settings)
        (folder / "nagios.cfg").write_text(main, encoding="utf-8")
        (folder / "objects.cfg").write_text(objects, encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _objects(services: Sequence[Service]) -> str:
    hosts = "".join(
        f"define host {{\nuse any\nhost_name {name}\naddress 127.0.0.1\n}}\n"
        for name in dict.fromkeys(service.host for service in services)
    )
    blocks = "".join(
        f"define service {{\nuse any\nhost_name {service.host}\n"
        f"service_description {service.description}\n}}\n"
        for service in services
    )
    return _COMMON + hosts + blocks
