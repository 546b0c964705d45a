"""``plumbline probe mdt`` on a client whose ``lfs`` and ``lctl`` print what Lustre does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.mdt import MDT
from plumbline.model.limits import Limits, Reference
from tests.package.recorded import data
from tests.package.waiting import eventually
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow

NAME = "lustre-MDT0000"

LFS = """#!/bin/sh
# the state of the MDT is in files of $BED
case "$1 $2" in
"mdts "*) cat "$BED/mdts" ;;
"df -i") cat "$BED/df" ;;
"getdirstripe -m") echo "$(cat "$BED/index")" ;;
"getdirstripe -c") echo 0 ;;
"getstripe -m")
    if [ -e "$BED/hangs" ]; then trap '' TERM; sleep 60; fi
    echo "$(cat "$BED/index")" ;;
"getstripe -d") cat "$BED/layout" ;;
"getdirstripe "*)
    [ -d "$2" ] || { echo "lfs: '$2' failed: No such file or directory" >&2; exit 2; }
    echo "lmv_stripe_count: 0 lmv_stripe_offset: $(cat "$BED/folder") lmv_hash_type: none" ;;
*) echo "lfs $*: not known" >&2; exit 1 ;;
esac
"""
LCTL = """#!/bin/sh
case "$*" in
"get_param mdc."*) cat "$BED/import" ;;
"get_param -n version") cat "$BED/version" ;;
*) exit 2 ;;
esac
"""
CAT = """#!/bin/sh
[ "$1" != /proc/self/mountinfo ] || exec /bin/cat "$BED/mountinfo"
exec /bin/cat "$@"
"""


class Client:
    """A client of a file system with one MDT."""

    def __init__(self, folder: Path) -> None:
        self.mount, self._bed, self._state = folder / "mnt", folder / "bed", folder / "state"
        self.folder = self.mount / ".plumbline" / NAME
        tools = folder / "bin"
        for path in (self._bed, self._state, tools, self.folder):
            path.mkdir(parents=True, mode=0o700)
        for name, text in (("lfs", LFS), ("lctl", LCTL), ("cat", CAT)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        source = f"90 24 0:60 / {self.mount} rw - lustre 10.0.2.15@tcp:/lustre rw\n"
        self.state("mountinfo", f"24 1 8:1 / / rw - ext4 /dev/sda1 rw\n{source}")
        for name, file in (
            ("mdts", "lfs_mdts"),
            ("df", "lfs_df_i_larger"),
            ("import", "lctl_mdc_import"),
            ("version", "lctl_get_param_n_version"),
            ("layout", "lfs_getstripe_d_dir3"),
        ):
            self.state(name, data(f"lustre/{file}.txt"))
        self.state("index", "0\n")
        self.state("folder", "0")
        self._environment = {
            **os.environ,
            "BED": str(self._bed),
            "PATH": f"{tools}:{os.environ['PATH']}",
        }

    def state(self, name: str, text: str) -> None:
        """Change what the tools print."""
        (self._bed / name).write_text(text)

    def argv(self, seconds: float = 10.0, hung_after_s: float = 190.0) -> list[str]:
        """Return the call of a planned run."""
        keys = [
            f"{operation}/single" for operation in (*MDT.operations, "create p99", "mkdir rmdir")
        ]
        entry = Expectation(
            layer="mdt",
            component=NAME,
            host="mds1",
            group="lustre",
            target={"kind": "lustre-mdt", "mount": str(self.mount), "mdt": NAME},
            path=("client1", "mds1", NAME),
            spec=MDT.spec._replace(seconds=seconds, repeats=1),
            references={key: Reference(None, None) for key in keys},
            limits=Limits(hung_after_s=hung_after_s),
        )
        node = os.uname().nodename
        document = Expectations(node, "site", (entry.to_json(),)).to_json()
        path = self._state / "expectations.json"
        path.write_text(json.dumps(document))
        places = ("--state", str(self._state), "--locks", str(self._state / "locks"))
        options = ("--expectations", str(path), *places, "--quiet")
        return [sys.executable, "-m", "plumbline.cli", "probe", "mdt", *options, "--json"]

    def probe(self, **terms: float) -> tuple[int, dict[str, dict[str, Any]]]:
        """Run the probe; return the exit code and the records by operation."""
        done = subprocess.run(
            self.argv(**terms), env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.stdout, done.stderr
        records = json.loads(done.stdout)["records"]
        return done.returncode, {record["operation"]: record for record in records}

    def check(self) -> subprocess.CompletedProcess[str]:
        """Run the check of the MDT."""
        places = ("--expectations", str(self._state / "expectations.json"))
        verdicts = ("--verdicts", str(self._state / "verdicts"))
        argv = [str(ROOT / "checks/check_mdt"), "--component", NAME, *places, *verdicts]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the probe."""
        output = subprocess.DEVNULL
        return subprocess.Popen(self.argv(), env=self._environment, stdout=output, stderr=output)

    def reasons(self, **terms: float) -> set[tuple[str, str]]:
        """Run the probe; return outcome and reason of all records."""
        _, records = self.probe(**terms)
        assert set(MDT.operations) <= set(records)
        return {(record["outcome"], record["reason"]) for record in records.values()}

    def names(self) -> list[str]:
        """Return what is in the folder of the MDT."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def test_all_operations_are_recorded_with_their_quantities(client: Client) -> None:
    code, records = client.probe()
    assert (code, client.names()) == (3, [])
    assert set(records) == {*MDT.operations, "create p99", "mkdir rmdir"}
    create, mkdir = records["create"], records["mkdir"]
    assert {record["outcome"] for record in records.values()} == {"ok"}
    assert create["fill"] == pytest.approx(0.000175, abs=1e-5)
    assert create["versions"] == {"client": "2.17.57", "server": "2.17.57.0"}
    assert set(create["quantities"]) == {"mean", "p50", "p99", "max", "stat", "open"}
    assert records["create p99"]["rate"] == pytest.approx(1 / create["quantities"]["p99"])
    assert records["mkdir rmdir"]["rate"] == pytest.approx(mkdir["quantities"]["rmdir"])
    assert create["rate"] == pytest.approx(1000 / create["seconds"])
    assert create["bytes"] == 0


def test_the_check_shows_the_verdict_that_the_run_has_published(client: Client) -> None:
    client.probe()
    shown = client.check()
    text, _, figures = shown.stdout.partition(" | ")
    assert (shown.returncode, shown.stderr) == (3, "")
    assert text.startswith(f"MDT UNKNOWN - {NAME} create measured ")
    assert "ops/s but nothing to compare with: no baseline yet, no peers in the same run" in text
    labels = [
        "create_ops",
        "mknod_ops",
        "unlink_ops",
        "mkdir_ops",
        "create_p99_s",
        "mkdir_rmdir_ops",
    ]
    assert [figure.partition("=")[0].strip("'") for figure in figures.split()] == labels


def test_a_run_folder_on_another_mdt_voids_the_run(client: Client) -> None:
    client.state("index", "1\n")
    for outcome, reason in client.reasons():
        assert outcome == "skipped"
        assert reason.startswith("calls created something in another place: lfs getdirstripe -m r")
        assert "printed '1' instead of 0" in reason
    assert client.names() == []


def test_a_missing_folder_names_the_role_that_makes_it(client: Client) -> None:
    client.folder.rmdir()
    assert client.reasons() == {
        (
            "skipped",
            f"{client.folder} is missing; deploy the role mdt_probe, which makes it as root",
        )
    }
    assert not client.folder.exists()


def test_a_lost_mdt_is_broken_and_not_touched(client: Client) -> None:
    lost = data("lustre/lctl_mdc_import.txt").replace("state: FULL", "state: DISCONN")
    client.state("import", lost)
    client.folder.chmod(0)
    ((outcome, reason),) = client.reasons()
    assert (outcome, reason) == (
        "broken",
        f"the import of {NAME} is DISCONN; the target, its server or the network to it is down",
    )


def test_a_call_that_does_not_end_is_ended_and_the_next_run_tidies_up(client: Client) -> None:
    client.state("hangs", "")
    _, records = client.probe(seconds=1.0, hung_after_s=3.0)
    assert records["create"]["outcome"] == "hung"
    assert f"calls on {client.folder} did not end in " in records["create"]["reason"]
    (obstacle,) = {records[name]["reason"] for name in ("mknod", "unlink", "mkdir")}
    assert obstacle.startswith("not tried, because create ended hung")
    (client._bed / "hangs").unlink()
    _, records = client.probe()
    assert {record["outcome"] for record in records.values()} == {"ok"}
    assert client.names() == []


def test_after_kill_9_the_next_run_measures_and_leaves_nothing(client: Client) -> None:
    client.state("hangs", "")
    process = client.start()
    eventually(lambda: list(client.folder.glob("run-*/f000999")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert client.names() != []
    (client._bed / "hangs").unlink()
    _, records = client.probe()
    assert {record["outcome"] for record in records.values()} == {"ok"}
    assert client.names() == []
