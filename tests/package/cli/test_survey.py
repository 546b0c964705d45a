"""``plumbline probe ost --mount`` and other verbs on a client of Lustre without any deployment.

The client is replayed: lfs and lctl answer with what a real one printed.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import pytest

from tests.package.cli.driver import finish, start
from tests.package.cli.lustre import OSTS, Client, frozen, ost
from tests.package.waiting import eventually


class Survey(Client):
    """A client that surveys its OSTs."""

    def survey(
        self, *words: str, rates: Mapping[int, Any] = {}, folder: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return self.call(*self.words(folder), *words, rates=rates)

    def words(self, folder: str = "") -> tuple[str, ...]:
        return "probe", "ost", "--mount", str(self.mount / folder), "--bytes", "1MiB"


@pytest.fixture
def client(tmp_path: Path) -> Survey:
    client = Survey.at(tmp_path)
    assert isinstance(client, Survey)
    return client


def rows(text: str) -> list[list[str]]:
    """Return the words of each target's row in a table."""
    return [line.split() for line in text.splitlines() if line.startswith("lustre-OST")]


def measured(commands: str) -> list[str]:
    """Return the OSTs that a dry run would measure."""
    names = (line.rpartition("-ON-")[2] for line in commands.splitlines())
    return list(dict.fromkeys(names))


@pytest.mark.slow
def test_all_osts_of_a_mount_are_compared_and_the_slow_one_comes_first(client: Survey) -> None:
    ended = client.survey(rates={3: 80, 0x1A: 196})
    assert ended.returncode == 2, ended.stderr
    table = rows(ended.stdout)
    assert sorted(row[0] for row in table) == sorted(map(ost, OSTS))
    assert table[0][:5] == ["lustre-OST0003", "10.0.0.2@tcp", "80.0", "MB/s", "40%"]
    assert table[0][-1] == "CRITICAL"
    assert {row[-1] for row in table[1:]} == {"OK"}
    assert "CRITICAL lustre-OST0003 write 80.0 MB/s, 40 % of its 4 peers' median" in ended.stdout
    # with four healthy ones, without which it could not be judged
    again = f"plumbline probe ost --mount {client.mount} --index "
    (numbers,) = [line.partition(again)[2] for line in ended.stdout.splitlines() if again in line]
    assert numbers == "0,1,2,3,1a"
    assert "on 10.0.0.2@tcp; there plumbline symptoms reads them" in ended.stdout
    assert f"5 targets of {client.mount}, one after another: at most 10 MiB" in ended.stderr
    assert client.files() == []


@pytest.mark.slow
def test_the_second_survey_is_compared_with_the_first(client: Survey) -> None:
    first = client.survey("--quiet", "--index", "0-1")
    assert (first.returncode, first.stderr) == (0, "")
    assert "of last" not in first.stdout
    second = client.survey("--quiet", "--index", "0-1", rates={0: 120, 1: 120})
    assert second.returncode == 0
    # all have lost as much, which no peer shows
    assert "median of all since 20" in second.stdout
    assert "UTC: write 60%, read 60%" in second.stdout
    assert [row[5] for row in rows(second.stdout)] == ["60%", "60%"]
    screen = client.call("status")
    assert "0 CRITICAL, 0 UNKNOWN, 0 WARNING, 2 OK" in screen.stdout
    assert "write 120.0 MB/s" in screen.stdout


@pytest.mark.slow
def test_an_ordinary_user_surveys_from_a_folder_of_his_own_and_is_told_what_is_hidden(
    client: Survey,
) -> None:
    client.become(hidden=True)
    (client.mount / "eve").mkdir()
    ended = client.survey("--json", "--index", "0-1,1a", folder="eve", rates={1: 80})
    assert "in debugfs, which this user may not read" in ended.stderr
    document = json.loads(ended.stdout)
    assert document["mount"]["point"] == str(client.mount)
    assert [(t["name"], t["index"], t["server"]) for t in document["targets"]] == [
        ("lustre-OST0001", 1, "10.0.0.1@tcp"),
        ("lustre-OST0000", 0, "10.0.0.1@tcp"),
        ("lustre-OST001a", 26, "10.0.0.14@tcp"),
    ]
    assert {record["outcome"] for record in document["records"]} == {"ok"}
    assert [path.name for path in client.files()] == ["eve"]


def test_a_pool_or_indices_choose_osts(client: Survey) -> None:
    client.become(pools={"flash": [2, 0x1A], "empty": []})
    for words, chosen in (
        ((), OSTS),
        (("--index", "1-3,1a"), (1, 2, 3, 0x1A)),
        (("--index", "1A"), (0x1A,)),
        (("--pool", "flash"), (2, 0x1A)),
        (("--pool", "lustre.flash", "--index", "0-9"), (2,)),
    ):
        ended = client.survey("--dry-run", *words)
        assert measured(ended.stdout) == [ost(index) for index in chosen], ended.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--index", "7"),
            "--index 7: MOUNT has no target with this index; its targets are lu",
        ),
        (("--index", "3-1"), "'3-1' is no index and no range; write for example 0-9,2a"),
        (("--index", "x"), "'x' is no index and no range"),
        (("--pool", "gone"), "--pool gone: lfs pool_list lustre.gone failed"),
        (("--pool", "empty"), "--pool empty: no OST of MOUNT is in lustre.empty"),
        (("--component", "a"), "--mount chooses what it measures; leave out --component"),
        (("--state", "/tmp/a"), "--mount has records and locks of its own; leave out --state"),
        (("--locks", "/tmp/a"), "--mount has records and locks of its own; leave out --locks"),
    ],
)
def test_a_choice_that_fits_no_ost_is_refused(
    client: Survey, words: Sequence[str], sentence: str
) -> None:
    client.become(pools={"empty": []})
    ended = client.survey(*words)
    assert (ended.returncode, ended.stdout) == (64, "")
    assert sentence.replace("MOUNT", str(client.mount)) in ended.stderr


def test_a_mount_whose_targets_cannot_be_listed_is_refused_with_another_way(
    client: Survey,
) -> None:
    ended = client.call("probe", "ost", "--mount", str(client.home))
    assert ended.returncode == 64
    assert f"plumbline: {client.home} lies on " in ended.stderr
    assert "whose targets plumbline cannot list; name a mount of Lustre or Glust" in ended.stderr
    where = client.call("where", str(client.home / "client.json"))
    assert (where.returncode, "which holds no target" in where.stderr) == (64, True)


def test_a_folder_of_somebody_else_is_refused_before_anything_is_measured(client: Survey) -> None:
    (client.mount / ".plumbline").symlink_to(client.home)
    ended = client.survey()
    assert ended.returncode == 64
    assert f"or name a folder of your own below {client.mount}" in ended.stderr
    assert not (client.home / "fio.log").exists()


@pytest.mark.slow
def test_osts_in_other_states_have_their_reason_and_the_others_are_measured(
    client: Survey,
) -> None:
    client.become(
        imports={"1": "DISCONN"}, used={"2": 95}, inactive=[3], df={"4": "D"}, osts=[*OSTS, 4]
    )
    ended = client.survey()
    assert ended.returncode == 2
    states = {row[0]: row[-1] for row in rows(ended.stdout)}
    assert states == {
        "lustre-OST0001": "CRITICAL",
        "lustre-OST0000": "OK",
        "lustre-OST001a": "OK",
        "lustre-OST0004": "WARNING",
        "lustre-OST0002": "UNKNOWN",
        "lustre-OST0003": "UNKNOWN",
    }
    assert rows(ended.stdout)[0][0] == "lustre-OST0001"
    for reason in (
        "server 10.0.0.1@tcp answers for others: the target is gone",
        "lustre-OST0002 is 95% full, the limit is 90%",
        "lustre-OST0003 is INACTIVE on this client",
        "degraded (rebuilding), slower is expected",
        "Next: look at lustre-OST0001 on 10.0.0.1@tcp",
    ):
        assert reason in ended.stdout
    assert "Next: measure again" not in ended.stdout
    assert client.files() == []


@pytest.mark.slow
def test_a_survey_that_is_interrupted_leaves_no_files_and_keeps_its_records(
    client: Survey,
) -> None:
    log = client.home / "fio.log"
    process = start(client.home, *client.words(), **client.variables({1: "hang"}))
    eventually(lambda: log.exists() and "lustre-OST0001" in log.read_text())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert [row[0] for row in rows(out)] == ["lustre-OST0000"]
    assert client.files() == []
    screen = client.call("status")
    assert "ost    lustre-OST0000 " in screen.stdout
    assert "lustre-OST0001" not in screen.stdout


@pytest.fixture
def namespace(client: Survey) -> Iterator[int]:
    with frozen(client.home) as holder:
        yield holder


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("hidden", [False, True], ids=["root", "hidden"])
def test_a_dead_ost_that_no_signal_ends_is_critical_and_the_others_are_measured(
    client: Survey, namespace: int, hidden: bool
) -> None:
    client.become(hidden=hidden, dead=3, frozen=str(client.home / "frozen"))
    inside = ("nsenter", f"--target={namespace}", "--mount", f"--wd={client.home}")
    words = (*client.words(), "--index", "1-3")
    ended = finish(client.home, *words, inside=inside, **client.variables({}))
    assert ended.returncode == 2, ended.stderr
    assert "is stuck in the kernel" in ended.stdout
    assert [(row[0], row[-1]) for row in rows(ended.stdout)] == [
        ("lustre-OST0003", "CRITICAL"),
        ("lustre-OST0001", "OK"),
        ("lustre-OST0002", "OK"),
    ]


def test_a_file_is_traced_to_its_ost_and_server_without_a_plan(client: Survey) -> None:
    (client.mount / "u").mkdir()
    (client.mount / "u" / "f").touch()
    (client.home / "client.json.places").write_text(json.dumps({str(client.mount / "u"): 26}))
    ended = client.call("where", str(client.mount / "u" / "f"))
    assert (ended.returncode, ended.stdout) == (0, "lustre-OST001a on 10.0.0.14@tcp\n")
    document = json.loads(client.call("where", "--json", str(client.mount / "u" / "f")).stdout)
    (holder,) = document["holders"]
    assert (holder["name"], holder["server"]) == ("lustre-OST001a", "10.0.0.14@tcp")


def test_the_osts_of_all_mounts_are_listed_where_there_is_nothing_to_compare_with(
    client: Survey,
) -> None:
    client.become(inactive=[3])
    ended = client.call("topology", "check", "--live")
    assert ended.returncode == 0
    assert f"{client.mount}: 5 targets of 10.0.2.15@tcp:/lustre" in ended.stdout
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert [str(client.mount), "lustre-OST001a", "1a", "10.0.0.14@tcp", "ACTIVE"] in lines
    assert [str(client.mount), "lustre-OST0003", "3", "10.0.0.2@tcp", "INACTIVE"] in lines


def test_a_user_without_a_survey_is_told_how_to_make_one(client: Survey) -> None:
    ended = client.call("status")
    assert ended.returncode == 65
    assert "call plumbline probe ost --mount /scratch first" in ended.stderr


@pytest.mark.slow
def test_symptoms_are_read_without_a_plan_and_kept_for_the_user(client: Survey) -> None:
    client.become(imports={"1": "DISCONN"})
    first = client.call("symptoms", "--save", "--json")
    document = json.loads(first.stdout)
    assert first.returncode == 1
    signs = [sign for look in document["looks"] for sign in look["symptoms"]]
    found = [(sign["component"], sign["kind"]) for sign in signs]
    assert ("lustre-OST0001", "disconnected") in found
    assert "no plan is deployed here" in first.stderr
    assert "counters have no earlier look to compare with" in first.stderr
    second = client.call("symptoms")
    assert "no earlier look" not in second.stderr
