"""``plumbline probe mdt --mount DIR --matrix`` on a replayed client of Lustre."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any, Iterator, Sequence

import pytest

from plumbline.measure.targets.metadata import ROOT
from plumbline.model.layers.mdt import MDT
from plumbline.observe.command import SystemRunner
from plumbline.site import matrix as matrices
from plumbline.site import survey as surveys
from tests.package.cli.driver import start
from tests.package.cli.lustre import Client, frozen, mdt, ost
from tests.package.cli.test_survey_mdt import prepare, stranger
from tests.package.waiting import eventually

__all__ = ["stranger"]

MDTS = (0, 1)
OSTS = (0, 3, 0x1A)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may choose an MDT")


@pytest.fixture
def client(tmp_path: Path) -> Client:
    client = Client.at(tmp_path)
    become(client)
    return client


@pytest.fixture
def namespace(client: Client) -> Iterator[int]:
    with frozen(client.home) as holder:
        yield holder


def become(client: Client, **state: Any) -> None:
    client.become(**{"mdts": MDTS, "osts": OSTS, **state})


def words(client: Client, *more: str) -> tuple[str, ...]:
    return ("probe", "mdt", "--mount", str(client.mount), "--matrix", *more)


def cells(text: str) -> dict[str, list[str]]:
    rows = [line.split() for line in text.splitlines() if line.startswith("lustre-MDT")]
    return {row[0]: row[1:] for row in rows}


def pairs(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(pair["mdt"], pair["ost"]): pair for pair in document["pairs"]}


@as_root
@pytest.mark.slow
def test_every_pair_has_its_time_and_no_file_remains(client: Client) -> None:
    ended = client.call(*words(client))
    assert ended.returncode in (0, 1), ended.stderr
    assert ended.stdout.splitlines()[0].split() == ["ms", *(ost(i)[7:] for i in OSTS)]
    assert set(cells(ended.stdout)) == set(map(mdt, MDTS))
    assert all(float(cell) > 0 for row in cells(ended.stdout).values() for cell in row)
    assert f"2 MDTs and 3 OSTs of {client.mount}: at most 30 files are created and" in ended.stderr
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_a_broken_connection_is_named_as_a_pair_with_its_meaning(client: Client) -> None:
    become(client, pairs={"1:3": "elsewhere", "0:26": "fail"})
    ended = client.call(*words(client, "--json", "--quiet"))
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["state"]) == (2, "CRITICAL")
    broken = [found for found in document["findings"] if found["state"] == "CRITICAL"]
    assert {(found["mdt"], found["ost"]) for found in broken} == {
        ("lustre-MDT0001", "lustre-OST0003"),
        ("lustre-MDT0000", "lustre-OST001a"),
    }
    sentences = {found["ost"]: found["sentence"] for found in broken}
    assert sentences["lustre-OST0003"] == (
        "lustre-MDT0001 cannot create on lustre-OST0003: its file was created on OST index 0 "
        "instead; lustre-MDT0000 can, so its connection to the OST is broken or inactive, or has "
        "no objects created in advance: look at lctl get_param "
        "osp.lustre-OST0003-osc-MDT0001.state osp.lustre-OST0003-osc-MDT0001.active "
        "osp.lustre-OST0003-osc-MDT0001.prealloc_status on "
        "the server of lustre-MDT0001"
    )
    assert "setstripe error for" in sentences["lustre-OST001a"]
    failed = pairs(document)["lustre-MDT0001", "lustre-OST0003"]
    assert (failed["failed"], failed["typical_s"], failed["hung"]) == (5, None, False)
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_an_answer_of_lfs_that_is_not_understood_accuses_nobody(client: Client) -> None:
    become(client, words="lmm_stripe_offset: ")
    ended = client.call(*words(client, "--quiet"))
    assert (ended.returncode, ended.stdout) == (69, "")
    assert ended.stderr == (
        "plumbline: where files and folders lie is not understood, so nothing was measured: lfs "
        "getstripe -i printed 'lmm_stripe_offset: 0', no index; run that command by hand, and "
        "report its output with that of lfs --version\n"
    )
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_an_answer_that_is_not_understood_of_one_pair_keeps_the_times_of_the_others(
    client: Client,
) -> None:
    become(client, pairs={"1:3": "odd"})
    ended = client.call(*words(client, "--quiet", "--json"))
    assert ended.returncode == 2
    by_name = pairs(json.loads(ended.stdout))
    odd = by_name.pop((mdt(1), ost(3)))
    assert "is not understood" in odd["reason"]
    assert all(pair["seconds"] and not pair["failed"] for pair in by_name.values())


@as_root
@pytest.mark.slow
def test_an_ost_or_an_mdt_of_which_all_pairs_fail_is_named_itself(client: Client) -> None:
    become(client, pairs={"0:3": "fail", "1:3": "fail"})
    ended = client.call(*words(client, "--quiet"))
    assert ended.returncode == 2
    assert "CRITICAL no MDT can create on lustre-OST0003: " in ended.stdout
    assert "cannot create on" not in ended.stdout
    become(client, pairs={f"1:{index}": "fail" for index in OSTS})
    ended = client.call(*words(client, "--quiet"))
    assert "CRITICAL lustre-MDT0001 can create on none of 3 OSTs: " in ended.stdout
    assert "nothing is judged: times of 1 MDT and 3 OSTs, and it takes 2 and 3" in ended.stdout


@as_root
@pytest.mark.slow
def test_targets_that_take_no_file_are_left_out_with_the_reason(client: Client) -> None:
    become(
        client,
        mdts=(0, 1, 2),
        osts=[0, 1, 2, 3, 0x1A, 4],
        used={"2": 95},
        inactive=[3],
        df={"4": "N"},
        imports={"1": "DISCONN"},
        mdt_df={"2": "R"},
    )
    ended = client.call(*words(client, "--quiet"))
    assert ended.returncode == 3
    for reason in (
        "left out: lustre-MDT0002: lustre-MDT0002 is read-only (lfs df)",
        "left out: lustre-OST0001: the import of lustre-OST0001 is DISCONN",
        "left out: lustre-OST0002: lustre-OST0002 is 95% full, the limit is 90%",
        "left out: lustre-OST0003: lustre-OST0003 is INACTIVE on this client",
        "left out: lustre-OST0004: lustre-OST0004 creates no objects (no_create, it is drained)",
        "nothing is judged: times of 2 MDTs and 2 OSTs, and it takes 2 and 3",
    ):
        assert reason in ended.stdout
    assert ended.stdout.splitlines()[0].split() == ["ms", "OST0000", "OST001a"]
    assert client.files() == []


@pytest.mark.slow
def test_an_ordinary_user_needs_prepared_folders_which_stay(
    client: Client,
    stranger: Sequence[str],
) -> None:
    become(client, user=True, hidden=True)
    refused = client.call(*words(client), inside=stranger)
    assert (refused.returncode, refused.stdout) == (77, "")
    prepare(client, *MDTS)
    ended = client.call(*words(client, "--quiet"), inside=stranger)
    assert ended.returncode in (0, 1), ended.stderr
    assert set(cells(ended.stdout)) == set(map(mdt, MDTS))
    assert {path.name for path in client.files()} == {".plumbline", *map(mdt, MDTS)}


@as_root
@pytest.mark.slow
def test_after_kill_9_the_next_matrix_leaves_nothing(client: Client) -> None:
    process = start(client.home, *words(client), **client.variables({}))
    eventually(lambda: list(client.mount.rglob("f000000")) != [])
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert client.files() != []
    ended = client.call(*words(client, "--quiet"))
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_a_matrix_that_is_interrupted_shows_what_it_has(client: Client) -> None:
    process = start(client.home, *words(client), **client.variables({}))
    eventually(lambda: list(client.mount.rglob("f000000")) != [])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "pairs were not tried" in out
    assert client.files() == []


@as_root
@pytest.mark.slow
def test_a_creation_that_does_not_end_is_ended_and_the_others_are_measured(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(client, pairs={"1:3": "hang"})
    for name, value in client.variables({}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TMPDIR", str(client.home))
    monkeypatch.setenv("XDG_STATE_HOME", str(client.home / "state"))
    run = SystemRunner()
    choice = surveys.Choice(str(client.mount), layer=MDT, user=ROOT)
    matrix = matrices.matrix_of(run, surveys.survey_of(run, choice, 0), "")
    quick = matrix._replace(creation_s=8.0, repeats=2)
    result = matrices.carry_out(run, quick, _silent)
    document = json.loads(json.dumps(result.to_json()))
    hung = [pair for pair in document["pairs"] if pair["hung"]]
    assert [(pair["mdt"], pair["ost"], pair["failed"]) for pair in hung] == [
        ("lustre-MDT0001", "lustre-OST0003", 1)
    ]
    times = {len(pair["seconds"]) for pair in document["pairs"] if not pair["hung"]}
    assert times == {2}
    (found,) = [found for found in result.findings if found.times is None]
    assert "the creation gave no answer in " in found.sentence
    assert [path.name for path in client.mount.rglob("*")] == []


def _silent() -> Any:
    from contextlib import nullcontext

    return nullcontext(lambda _step: None)


@pytest.mark.long
@pytest.mark.slow
def test_a_creation_that_no_signal_ends_is_named_and_its_mdt_stays_locked(
    client: Client, namespace: int
) -> None:
    become(client, pairs={"1:3": "hang"}, frozen=str(client.home / "frozen"))
    inside = ("nsenter", f"--target={namespace}", "--mount", f"--wd={client.home}")
    ended = client.call(*words(client, "--quiet"), inside=inside)
    assert ended.returncode == 2, ended.stderr
    assert cells(ended.stdout)["lustre-MDT0001"][1] == "hung"
    assert all(float(cell) > 0 for cell in cells(ended.stdout)["lustre-MDT0000"])
    assert "and is stuck in the kernel, where no signal ends it; lustre-MDT0000 can" in ended.stdout
    become(client, frozen=str(client.home / "frozen"))
    again = client.call(*words(client, "--quiet"), inside=inside)
    assert again.returncode == 3
    assert "left out: lustre-MDT0001: process " in again.stdout
    assert "is stuck in the kernel and keeps " in again.stdout


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("probe", "mdt", "--matrix"), "--matrix needs the targets of a mount: give it --mount"),
        (("probe", "ost", "--matrix", "--mount", "MOUNT"), "--matrix creates files from each MDT"),
        (("probe", "mdt", "--matrix", "--mount", "MOUNT", "--index", "7"), "has no target with th"),
        (("probe", "mdt", "--matrix", "--mount", "MOUNT", "--pool", "x"), "--pool x: lfs pool_l"),
    ],
)
def test_what_makes_no_matrix_is_refused(
    client: Client, more: Sequence[str], sentence: str
) -> None:
    ended = client.call(*(word.replace("MOUNT", str(client.mount)) for word in more))
    assert (ended.returncode, ended.stdout) == (64, "")
    assert sentence in ended.stderr


def test_a_large_file_system_has_no_more_than_1000_files(client: Client) -> None:
    become(client, mdts=range_of(8), osts=range_of(300), pools={"flash": [1, 2, 3]})
    all_osts = client.call(*words(client, "--dry-run")).stdout.splitlines()
    assert len(all_osts) == 1000
    pool = client.call(*words(client, "--dry-run", "--pool", "flash")).stdout.splitlines()
    assert len(pool) == 24
    assert "-i" in pool[0]


def range_of(number: int) -> list[int]:
    return list(range(number))
