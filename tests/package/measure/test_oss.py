"""``plumbline probe oss`` on a server, on real folders and with the real fio."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from plumbline.measure.targets.directory import DirectoryTarget
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.oss import OSS
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.observe.command import SystemRunner
from tests.forks import Fork
from tests.package.cli.driver import finish, start
from tests.package.waiting import eventually
from tests.project.repository import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio"),
]

NAME = "scratch-OST0003"
CEILING = Reference(Ceiling(1e12, ("oss1-disk1",), kinds=("disk",)), None)


class Server:
    """A server with a brick, and a folder beside it."""

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "data" / "plumbline"
        self._state = home / "state"
        for path in (self.folder, home / "data" / "brick" / ".glusterfs", self._state):
            path.mkdir(parents=True)
        (home / "tmp").mkdir()

    @property
    def places(self) -> list[str]:
        """Return the options for documents, records and locks."""
        expectations = ("--expectations", str(self.home / "expectations.json"))
        locks = ("--locks", str(self.home / "locks"))
        return [*expectations, "--state", str(self._state), *locks]

    def expect(self, folder: Optional[Path] = None, **keys: str) -> None:
        """Write the expectations of the target and of the same one through a client."""
        names = {"kind": "server-folder", "directory": str(folder or self.folder), **keys}
        entry = Expectation(
            layer="oss",
            component=NAME,
            host="oss1",
            group="scratch",
            target=names,
            path=("oss1", "oss1-disk1", NAME),
            spec=OSS.spec._replace(bytes=8 << 20, seconds=20.0, repeats=1),
            references={"write/single": CEILING, "read/single": CEILING},
            # other processes use the disk
            limits=Limits(min_coverage=0.0, fill_limit=0.98),
        )
        client = entry._replace(
            layer="ost", target={"kind": "directory", "directory": str(self.folder)}
        )
        entries = entry.to_json(), client.to_json()
        document = Expectations(os.uname().nodename, "site", entries).to_json()
        (self.home / "expectations.json").write_text(json.dumps(document))

    def probe(self) -> tuple[int, dict[str, dict[str, Any]]]:
        """Run the probe; return the exit code and the records by operation."""
        done = finish(self.home, "probe", "oss", *self.places, "--json", "--quiet")
        assert done.stdout, done.stderr
        records = json.loads(done.stdout)["records"]
        return done.returncode, {record["operation"]: record for record in records}

    def reason(self) -> tuple[str, str]:
        """Run the probe; return outcome and reason, which both operations have in common."""
        code, records = self.probe()
        outcomes = {(record["outcome"], record["reason"]) for record in records.values()}
        assert (code, set(records)) == (3, {"write", "read"})
        (outcome,) = outcomes
        return outcome

    def names(self) -> set[str]:
        """Return all that lies on the file system of the brick."""
        data = self.home / "data"
        return {str(path.relative_to(data)) for path in data.rglob("*")}


OWN = {"plumbline", "brick", "brick/.glusterfs"}
PROBED = {f"plumbline/.plumbline{name}" for name in ("", f"/oss-{NAME}", f"/oss-{NAME}/probe.dat")}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_server_writes_and_reads_a_file_beside_the_brick(server: Server) -> None:
    server.expect()
    _, records = server.probe()
    assert {record["outcome"] for record in records.values()} == {"ok"}
    write = records["write"]
    assert (write["layer"], write["component"], write["bytes"]) == ("oss", NAME, 8 << 20)
    assert write["path"] == ["oss1", "oss1-disk1", NAME]
    assert write["tool"]["name"] == "fio"
    assert set(write["versions"]) >= {"filesystem"}
    assert set(write["quantities"]) == {"mean", "p50", "p99", "max"}
    assert 0 < write["fill"] < 1
    assert server.names() == OWN | PROBED


def test_the_check_shows_the_verdict_that_the_run_has_published(server: Server) -> None:
    server.expect()
    server.probe()
    verdicts = ("--verdicts", str(server.home / "state" / "verdicts"))
    documents = ("--expectations", str(server.home / "expectations.json"))
    argv = [str(ROOT / "checks/check_oss"), "--component", NAME, *documents, *verdicts]
    shown = subprocess.run(argv, capture_output=True, text=True, check=False)
    text, _, figures = shown.stdout.partition(" | ")
    assert (shown.returncode, shown.stderr) == (3, "")
    assert text.startswith(f"OSS UNKNOWN - {NAME} write measured ")
    assert "nothing to compare with: no baseline yet, no peers in the same run" in text
    labels = [figure.partition("=")[0] for figure in figures.split()]
    assert labels == ["'write_Bps'", "'read_Bps'"]


def test_directories_of_a_server_are_compared_and_nothing_remains(server: Server) -> None:
    other = server.home / "data" / "other"
    other.mkdir()
    words = ("--directory", f"a={server.folder}", "--directory", f"b={other}", "--bytes", "4MiB")
    done = finish(server.home, "probe", "oss", *words)
    rows = [line.partition(" ")[0] for line in done.stdout.splitlines()]
    assert [name for name in rows if name in ("a", "b")] == ["a", "b"]
    assert server.names() == OWN | {"other"}


def test_the_brick_itself_is_refused(server: Server) -> None:
    brick = server.home / "data" / "brick"
    server.expect(brick)
    outcome, reason = server.reason()
    assert (outcome, reason.partition(";")[0]) == (
        "skipped",
        f"{brick} is in {brick}, a brick of GlusterFS, which may hold no other files",
    )
    assert server.names() == OWN


def test_a_missing_folder_is_not_made(server: Server) -> None:
    server.expect(server.home / "data" / "gone")
    assert server.reason() == ("skipped", f"{server.home}/data/gone: No such file or directory")
    assert server.names() == OWN


def test_a_folder_on_another_device_is_refused(server: Server) -> None:
    server.expect(device="/dev/null")
    outcome, reason = server.reason()
    assert (outcome, "lsblk" in reason, "/dev/null" in reason) == ("skipped", True, True)
    assert server.names() == OWN


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter any folder")
def test_a_folder_that_this_user_may_not_write_is_refused(server: Server) -> None:
    server.folder.chmod(0o500)
    server.expect()
    outcome, reason = server.reason()
    assert (outcome, "Permission denied" in reason) == ("skipped", True)
    server.folder.chmod(0o700)
    assert server.names() == OWN


def test_a_folder_that_others_may_write_is_refused(server: Server) -> None:
    own = server.folder / ".plumbline"
    own.mkdir()
    own.chmod(0o777)
    server.expect()
    outcome, reason = server.reason()
    assert (outcome, "(mode 0777) may be written by others" in reason) == ("skipped", True)
    assert reason.startswith(f"{own} of ")
    assert server.names() == {*OWN, "plumbline/.plumbline"}


def test_a_run_through_a_client_holds_the_same_lock(server: Server) -> None:
    server.expect()
    with holding(server, "ost") as process:
        done = finish(server.home, "probe", "oss", *server.places, "--quiet")
        assert (done.returncode, f"process {process.pid} on" in done.stderr) == (75, True)
        assert f"ost-{NAME} is being measured" in done.stderr


def test_after_kill_9_the_next_run_measures(server: Server) -> None:
    server.expect()
    with holding(server, "oss") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    _, records = server.probe()
    assert {record["outcome"] for record in records.values()} == {"ok"}
    assert server.names() == OWN | PROBED


@contextmanager
def holding(server: Server, layer: str) -> Iterator[Fork]:
    """Yield a run of a layer that holds its lock with a fio that does not end."""
    tools = server.home / "tools"
    tools.mkdir()
    (tools / "fio").write_text('#!/bin/sh\n: > "$HOLDS"\nsleep 60\n')
    (tools / "fio").chmod(0o755)
    started = server.home / "holds"
    path = f"{tools}:{os.environ['PATH']}"
    process = start(server.home, "probe", layer, *server.places, HOLDS=str(started), PATH=path)
    try:
        eventually(started.exists)
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_client_on_the_server_has_a_folder_of_its_own(server: Server) -> None:
    server.expect()
    server.probe()
    client = DirectoryTarget(str(server.folder), "", NAME, 0.98)
    run = SystemRunner()
    client.state(run)
    client.place(run, 4096)
    client.remove(run)
    assert server.names() == OWN | PROBED
