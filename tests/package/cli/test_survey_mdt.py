"""``plumbline probe mdt --mount`` on a replayed client of Lustre without any deployment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from ast import literal_eval
from pathlib import Path
from typing import Sequence

import pytest

from tests.package.cli.driver import start
from tests.package.cli.lustre import Client, mdt
from tests.package.waiting import eventually

MDTS = (0, 1, 0x1A)
STRANGER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""Runs a command as an ordinary user, to whom the files of this user seem to belong."""


@pytest.fixture
def client(tmp_path: Path) -> Client:
    client = Client.at(tmp_path)
    client.become(mdts=MDTS)
    return client


@pytest.fixture
def stranger() -> Sequence[str]:
    """Return the call of a command as an ordinary user."""
    if os.geteuid() != 0:
        return ()
    if not shutil.which("unshare") or subprocess.run([*STRANGER, "true"], check=False).returncode:
        pytest.skip("no namespace of users can be made here")
    return STRANGER


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may choose an MDT")


def words(client: Client, *more: str) -> tuple[str, ...]:
    return ("probe", "mdt", "--mount", str(client.mount), *more)


def prepare(client: Client, *indices: int) -> None:
    """Make the folders of an ordinary user as root does."""
    places = {}
    for index in indices:
        folder = client.mount / ".plumbline" / mdt(index)
        folder.mkdir(parents=True, mode=0o700)
        places[str(folder)] = index
    (client.home / "client.json.folders").write_text(json.dumps(places))


def states(text: str) -> dict[str, str]:
    rows = [line.split() for line in text.splitlines() if line.startswith("lustre-MDT")]
    return {row[0]: row[-1] for row in rows}


@as_root
@pytest.mark.slow
def test_root_surveys_all_mdts_of_a_mount_and_leaves_no_folder(client: Client) -> None:
    ended = client.call(*words(client))
    assert set(states(ended.stdout)) == set(map(mdt, MDTS)), ended.stderr
    head = ended.stdout.splitlines()[0].split()
    assert head[:5] == ["target", "server", "create", "of", "peers"]
    assert [word for word in head if word in ("mknod", "unlink", "mkdir")] == [
        *("mknod", "unlink", "mkdir"),
    ]
    assert "10.0.1.27@tcp" in ended.stdout
    assert f"3 metadata targets of {client.mount}, one after another: at most 24000 f" in (
        ended.stderr
    )
    assert client.files() == []
    again = client.call(*words(client, "--json", "--quiet", "--index", "1a"))
    document = json.loads(again.stdout)
    assert [target["name"] for target in document["targets"]] == ["lustre-MDT001a"]
    assert set(document["targets"][0]["last"]) == {"create", "mknod", "unlink", "mkdir"}
    assert {record["outcome"] for record in document["records"]} == {"ok"}
    assert client.files() == []


@pytest.mark.slow
def test_an_ordinary_user_is_told_what_root_has_to_do_once(
    client: Client, stranger: Sequence[str]
) -> None:
    client.become(mdts=MDTS, user=True, hidden=True)
    ended = client.call(*words(client), inside=stranger)
    assert (ended.returncode, ended.stdout) == (77, "")
    assert "only root may choose the MDT of a folder, so let root make them once" in ended.stderr
    folder = f"{client.mount}/.plumbline/lustre-MDT001a"
    assert f"lfs mkdir -i 26 -c 1 -o 0700 {folder} && lfs setdirstripe -D -i 26" in ended.stderr
    assert list(client.mount.iterdir()) == []


@pytest.mark.slow
def test_an_ordinary_user_measures_in_prepared_folders_which_stay(
    client: Client, stranger: Sequence[str]
) -> None:
    client.become(mdts=MDTS, user=True, hidden=True)
    prepare(client, 0, 1)
    ended = client.call(*words(client), inside=stranger)
    assert set(states(ended.stdout)) == set(map(mdt, MDTS)), ended.stderr
    assert states(ended.stdout)["lustre-MDT001a"] == "UNKNOWN"
    assert "lustre-MDT001a is missing; only root may choose an MDT, so let root" in ended.stdout
    assert "in debugfs, which this user may not read: each MDT is asked" in ended.stderr
    left = {path.name for path in client.files()}
    assert left == {".plumbline", "lustre-MDT0000", "lustre-MDT0001"}


@as_root
@pytest.mark.slow
def test_mdts_in_other_states_have_their_reason_and_are_not_touched(client: Client) -> None:
    client.become(
        mdts=(0, 1, 2, 3), mdt_imports={"1": "DISCONN"}, mdt_df={"2": "R"}, mdt_inactive=[3]
    )
    ended = client.call(*words(client))
    assert ended.returncode == 2
    assert "the import of lustre-MDT0001 is DISCONN" in ended.stdout
    assert "lustre-MDT0002 is read-only (lfs df)" in ended.stdout
    assert "lfs mdts shows lustre-MDT0003 as 3: INACTIVE, not ACTIVE" in ended.stdout
    folders = literal_eval((client.home / "client.json.folders").read_text())
    assert [Path(folder).name for folder in folders] == ["lustre-MDT0000"]
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_after_kill_9_the_next_survey_leaves_nothing(client: Client) -> None:
    process = start(client.home, *words(client, "--index", "1"), **client.variables({}))
    eventually(lambda: list(client.mount.rglob("f0001*")) != [])
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert client.files() != []
    ended = client.call(*words(client, "--index", "1", "--json"))
    records = json.loads(ended.stdout)["records"]
    assert {record["outcome"] for record in records} == {"ok"}
    assert client.files() == []


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--index", "7"), "--index 7: MOUNT has no target with this index; its targets are lu"),
        (("--pool", "flash"), "--pool chooses OSTs, and metadata targets have no pools"),
        (("--bytes", "1MiB"), "--bytes moves bytes, and layer mdt moves none"),
    ],
)
def test_a_choice_that_fits_no_mdt_is_refused(
    client: Client, more: Sequence[str], sentence: str
) -> None:
    ended = client.call(*words(client, *more))
    assert (ended.returncode, ended.stdout) == (64, "")
    assert sentence.replace("MOUNT", str(client.mount)) in ended.stderr


def test_a_mount_without_metadata_targets_is_refused_with_another_way(client: Client) -> None:
    ended = client.call("probe", "mdt", "--mount", str(client.home))
    assert ended.returncode == 64
    assert "which lists no metadata targets; measure the folder: plumbline probe mdt " in (
        ended.stderr
    )
    assert f"--directory a={client.home}" in ended.stderr
