"""``plumbline collect`` brings each record of each node over once, whatever happens meanwhile.

The nodes are folders of this machine; ``--remote`` starts ``plumbline export`` for them, where a
site has ssh.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union
from uuid import uuid4

import pytest

from plumbline.cli import main
from plumbline.model.errors import StoreError, ToolError
from plumbline.model.exchange import MOST_RECORDS, Head
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.observe.conditions import Bill
from plumbline.site.gather import GatherOptions, _Collection, gather
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import read_clocks
from plumbline.store.database import Selection, Store
from plumbline.store.facts import collected_ledgers, keep_bill
from plumbline.store.history import History
from plumbline.store.trends import Pictures
from tests.package.observe.nodes import bill, condition
from tests.package.records import record, save

SRC = str(Path(__file__).parents[3] / "src")
NODES = ("client1", "oss1")
EXPORT = """
test -d STATE/{node} || { echo 'ssh: connect to host {node}: No route' >&2; exit 255; }
PYTHONPATH=SRC exec PYTHON -m plumbline.cli export --state STATE/{node}
""".strip()


class Site:
    """Nodes in folders, and a console."""

    def __init__(self, folder: Path, nodes: tuple[str, ...] = NODES) -> None:
        self.folder, self.nodes = folder, nodes
        self.history = folder / "console" / "history.sqlite"
        self.history.parent.mkdir()
        self.plan = folder / "plan.json"
        self._documents = {
            node: {"schema": 1, "node": node, "site": "lab", "entries": []} for node in nodes
        }
        for node in nodes:
            (folder / node).mkdir()
            self.planned(node, [])

    def planned(self, node: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Plan what a node measures."""
        self._documents[node]["entries"] = entries
        plan = {"schema": 1, "site": "lab", "nodes": self._documents, "services": []}
        self.plan.write_text(json.dumps(plan), encoding="utf-8")

    @property
    def remote(self) -> list[str]:
        script = EXPORT.replace("STATE", str(self.folder)).replace("SRC", SRC)
        return ["sh", "-c", script.replace("PYTHON ", f"{sys.executable} ")]

    def argv(self, *more: str) -> list[str]:
        words = ["--plan", str(self.plan), "--history", str(self.history)]
        return ["collect", *words, "--remote", shlex.join(self.remote), *more]

    def collect(self, *more: str) -> int:
        return main(self.argv("--quiet", *more))

    def measure(self, node: str, count: int = 1, **changes: Any) -> list[Record]:
        """Add records to a node's history as runs do."""
        values = {"started_at": time.time(), **changes}
        made = [record(id=uuid4().hex, host=node, **values) for _ in range(count)]
        save(self.folder / node / "history.sqlite", made)
        return made

    def kept(self) -> list[str]:
        with History(self.history) as history:
            return [one.id for one in history.records(Selection())]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def result(site: Site, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Collect and return what came of each node."""
    capsys.readouterr()
    site.collect("--json")
    said = json.loads(capsys.readouterr().out)
    return {one["node"]: one for one in said["nodes"]}


def test_records_of_all_nodes_come_together_whole(site: Site) -> None:
    made = site.measure("client1", 3) + site.measure("oss1", 2, layer="raw", component="disk")
    assert site.collect() == 0
    with History(site.history) as history:
        found = {one.id: one for one in history.records(Selection())}
    assert found == {one.id: one for one in made}
    assert {one.host for one in found.values()} == {"client1", "oss1"}


def test_how_the_clock_of_each_node_stands_is_kept(site: Site) -> None:
    site.measure("client1")
    site.collect()
    with Store(site.history) as store:
        clocks = read_clocks(store)
    assert {one.node for one in clocks} == {*NODES}
    # all nodes are this machine: what is in doubt is the way to them alone
    assert all(abs(one.ahead_s) <= one.within_s < 10 for one in clocks)


@pytest.mark.slow
def test_only_what_is_new_is_asked_for(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.measure("client1", 5)
    assert result(site, capsys)["client1"]["new"] == 5
    (new,) = site.measure("client1")
    found = result(site, capsys)["client1"]
    assert (found["new"], found["cursor"]) == (1, {"seq": 6, "id": new.id})
    assert result(site, capsys)["client1"]["new"] == 0
    assert len(site.kept()) == 6


@pytest.mark.slow
def test_records_of_a_node_keep_their_order(site: Site) -> None:
    ids = [one.id for one in site.measure("client1", 1203)]
    assert site.collect() == 0
    assert site.kept() == ids


def test_a_node_that_cannot_be_reached_does_not_stop_the_others(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", 2)
    (site.folder / "oss1").rename(site.folder / "away")
    assert site.collect() == 69
    out = capsys.readouterr().out
    assert "client1  2" in out
    assert "no answer: ssh: connect to host oss1: No route" in out
    assert "2 new records of 1 nodes; 1 did not answer" in out
    (site.folder / "away").rename(site.folder / "oss1")
    site.measure("oss1", 3)
    assert site.collect() == 0
    assert len(site.kept()) == 5


def test_a_node_that_has_measured_nothing_is_no_trouble(site: Site) -> None:
    assert site.collect() == 0
    assert site.kept() == []


@pytest.mark.slow
def test_a_history_that_was_begun_anew_is_asked_for_whole(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", 4)
    site.collect()
    (site.folder / "client1" / "history.sqlite").unlink()
    # the new history soon has a record at the place where the old one was read up to
    site.measure("client1", 6)
    found = result(site, capsys)["client1"]
    assert (found["new"], found["again"], found["cursor"]["seq"]) == (6, True, 6)
    assert len(site.kept()) == 10
    assert result(site, capsys)["client1"]["again"] is False


def test_a_history_restored_from_a_copy_brings_no_doubles(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site.folder / "client1" / "history.sqlite"
    site.measure("client1", 4)
    copy = path.read_bytes()
    site.measure("client1", 4)
    site.collect()
    path.write_bytes(copy)
    site.measure("client1", 5)
    found = result(site, capsys)["client1"]
    assert (found["new"], found["again"]) == (5, True)
    assert len(site.kept()) == len(set(site.kept())) == 13


@pytest.mark.slow
def test_a_history_that_is_gone_and_not_yet_begun_is_no_trouble(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", 4)
    site.collect()
    (site.folder / "client1" / "history.sqlite").unlink()
    assert result(site, capsys)["client1"]["cursor"] == {"seq": 0, "id": ""}
    site.measure("client1", 1)
    assert result(site, capsys)["client1"]["new"] == 1


def test_the_clock_of_a_node_neither_loses_a_record_nor_stays_unsaid(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", started_at=time.time() + 9e6)
    site.measure("client1", started_at=86400.0)
    site.measure("client1")
    ahead = "import time; at = time.time; time.time = lambda: at() + 7800; "
    code = f"{ahead}from plumbline.cli import main; main(['export', '--state', '{{}}/{{node}}'])"
    words = ["env", f"PYTHONPATH={SRC}", sys.executable, "-c", code.replace("{}", str(site.folder))]
    assert site.collect("--node", "client1", "--remote", shlex.join(words)) == 0
    assert "its clock is 2 h ahead" in capsys.readouterr().out
    assert len(site.kept()) == 3


def test_what_a_node_measures_now_is_known_until_it_falls_silent(site: Site) -> None:
    site.measure("client1")
    running = Running("ost", "OST0", 1795241041.0)
    with History(site.folder / "client1" / "history.sqlite") as history:
        history.begin("run-1", running)
    site.collect()
    with History(site.history) as history:
        assert history.running() == (running,)
    (site.folder / "client1").rename(site.folder / "away")
    site.collect()
    with History(site.history) as history:
        assert history.running() == ()


def test_symptoms_travel_with_the_records(site: Site) -> None:
    site.measure("client1")
    (site.folder / "client1" / "symptoms.json").write_text('{"schema": 1, "md": []}')
    (site.folder / "oss1" / "symptoms.json").write_text("{cut")
    assert site.collect() == 0
    kept = site.history.parent / "symptoms"
    assert json.loads((kept / "client1.json").read_text()) == {"schema": 1, "md": []}
    assert "cannot be read" in json.loads((kept / "oss1.json").read_text())["trouble"]
    (site.folder / "oss1" / "symptoms.json").unlink()
    site.collect()
    assert not (kept / "oss1.json").exists()


def changed(site: Site, node: str, *bills: Bill) -> None:
    for one in bills:
        keep_bill(site.folder / node, one._replace(node=node))


def kept_changes(site: Site) -> dict[str, list[str]]:
    return {
        one.node: [f"{change.then} -> {change.now}" for change in one.changes]
        for one in collected_ledgers(site.history, site.nodes)[0]
    }


def test_changes_of_conditions_travel_with_the_records(site: Site) -> None:
    changed(site, "client1", bill(condition("kernel", "4")), bill(condition("kernel", "5"), day=1))
    assert site.collect() == 0
    assert kept_changes(site) == {"client1": ["4 -> 5"]}
    changed(site, "client1", bill(condition("kernel", "6"), day=1.5))
    assert site.collect() == 0
    assert kept_changes(site) == {"client1": ["4 -> 5", "5 -> 6"]}
    # a node without its ledger takes none away
    (site.folder / "client1" / "conditions.json").unlink()
    assert site.collect() == 0
    assert kept_changes(site) == {"client1": ["4 -> 5", "5 -> 6"]}


def test_a_ledger_without_news_is_not_sent_again(site: Site) -> None:
    changed(site, "oss1", bill(condition("kernel", "4")))
    site.collect()
    copy = site.history.parent / "conditions" / "oss1.json"
    before = copy.stat().st_ino
    changed(site, "oss1", bill(condition("kernel", "4"), day=0.5))
    site.collect()
    assert copy.stat().st_ino == before
    changed(site, "oss1", bill(condition("kernel", "4"), day=1))
    site.collect()
    assert copy.stat().st_ino != before


@pytest.mark.slow
def test_a_damaged_ledger_is_told_and_replaces_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledgers = {
        "cut": "{cut",
        "list": "[]",
        "empty": "{}",
        "change": '{"schema": 1, "changes": [[]]}',
        "long": " " * (8 << 20) + "{}",
    }
    site = Site(tmp_path, tuple(ledgers))
    for node in ledgers:
        changed(site, node, bill(condition("kernel", "4")), bill(condition("kernel", "5"), day=1))
    site.collect()
    new = [one.id for node in ledgers for one in site.measure(node)]
    for node, sent in ledgers.items():
        (site.folder / node / "conditions.json").write_text(sent)
    capsys.readouterr()
    assert site.collect() == 0
    assert capsys.readouterr().out.count("without its changes: ") == len(ledgers)
    assert kept_changes(site) == {node: ["4 -> 5"] for node in ledgers}
    assert sorted(site.kept()) == sorted(new)


def test_symptoms_that_do_not_come_are_told(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    (site.folder / "oss1" / "symptoms.json").write_text(" " * (1 << 20) + "{}")
    assert site.collect() == 0
    assert "without its symptoms: " in (out := capsys.readouterr().out)
    assert "symptoms.json has more than 1048576 bytes and was left out" in out


def spoil(site: Site, body: str, place: int = 2) -> None:
    path = site.folder / "client1" / "history.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE records SET body = ? WHERE seq = ?", (body, place))


HALF = "\ud800"
"""What JSON may hold, and no file, database or terminal."""


DAMAGES: tuple[Union[str, dict[str, Any]], ...] = (
    *("{cut", "{}", 'a\nb"]', '{"schema": 1, "id": "x"}'),
    # no database takes these
    *({"run_id": None}, {"id": ["a"]}, {"id": HALF}),
    *({"partner": {"a": "b"}}, {"partner": HALF}, {"component": HALF}),
)


@pytest.mark.slow
def test_damaged_records_are_named_and_hold_up_no_other(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    made = site.measure("client1", len(DAMAGES) + 2)
    site.measure("oss1")
    for place, damage in enumerate(DAMAGES, 2):
        whole = made[place - 1].to_json()
        spoil(site, damage if isinstance(damage, str) else json.dumps({**whole, **damage}), place)
    assert site.collect() == 65
    assert f"{len(DAMAGES)} records left out, first: record" in capsys.readouterr().out
    assert len(site.kept()) == 3
    site.measure("client1")
    assert site.collect() == 0
    assert len(site.kept()) == 4


@pytest.mark.slow
def test_a_damaged_record_at_the_end_of_a_part_does_not_begin_it_anew(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", MOST_RECORDS + 1)
    spoil(site, "{cut", MOST_RECORDS)
    found = result(site, capsys)["client1"]
    assert (found["new"], found["again"], len(found["damaged"])) == (MOST_RECORDS, False, 1)


def answering(site: Site, *lines: object) -> str:
    """Return a remote on which client1 says these lines, and the other nodes answer as they do."""
    said = " ".join(shlex.quote(json.dumps(line)) for line in lines)
    (script,) = site.remote[2:]
    own = f"read -r request; printf '%s\\n' {said}; exit"
    return shlex.join(["sh", "-c", f"test {{node}} = oss1 || {{ {own}; }}; {script}"])


def head(**changes: Any) -> dict[str, Any]:
    return {**Head("1", time.time(), False).to_json(), **changes}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            (head(), [2**63, record().to_json()], {"end": 1, "more": False}),
            "no answer: its answer is damaged at [9223372036854775808,",
        ),
        ((head(running=[["ost", HALF, 1.0]]),), "which is no Unicode text"),
        (({"error": HALF},), "no answer: it says: ?"),
    ],
    ids=["a place that no database takes", "half a character", "half a character as error"],
)
def test_what_cannot_be_kept_is_trouble_of_its_node_alone(
    site: Site, lines: tuple[object, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("oss1")
    assert site.collect("--remote", answering(site, *lines)) == 69
    assert said in capsys.readouterr().out
    assert len(site.kept()) == 1


def test_what_nobody_has_thought_of_is_trouble_of_its_node_alone(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.measure("oss1")
    kept = Collection.replace_running

    def replace_running(self: Collection, node: str, said: Sequence[Running]) -> None:
        if node == "client1":
            raise OverflowError("too large")
        kept(self, node, said)

    monkeypatch.setattr(Collection, "replace_running", replace_running)
    assert site.collect() == 69
    out = capsys.readouterr().out
    assert "its answer cannot be kept: OverflowError('too large')" in out
    assert len(site.kept()) == 1


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_node_that_nothing_can_watch_over_is_told(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Timer, "start", no_thread)
    assert site.collect() == 69
    assert "no thread can be had to watch sh; ask fewer at once" in capsys.readouterr().out


def test_where_no_thread_can_be_had_fewer_are_to_be_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    options = GatherOptions(site.history, site.remote, 30.0, 2)
    with pytest.raises(ToolError, match="can't start new thread; ask fewer at once"):
        list(gather(NODES, options))


def test_whoever_stops_early_waits_for_no_node(site: Site) -> None:
    site.measure("client1")
    work = _Collection(GatherOptions(site.history, site.remote, 30.0, 1))
    work.stop()
    assert work.node("client1").trouble == ""
    assert site.kept() == []


def test_records_of_a_newer_plumbline_wait_until_the_console_is_updated(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    made = site.measure("client1", 3)
    spoil(site, json.dumps({**made[1].to_json(), "schema": 2}))
    assert site.collect() == 69
    assert "deploy the role console again" in capsys.readouterr().out
    assert site.kept() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "limit", "reason"),
    [
        ("exit 3", "1 min", "the connection ended with code 3"),
        ("echo Welcome to {node}", "1 min", "its answer begins with 'Welcome to"),
        ("echo '{}'", "1 min", "its answer is damaged"),
        ("echo '[1, 2]'", "1 min", "its answer is damaged"),
        ("head -c 99999999 /dev/zero", "1 min", "it sent a line of more than"),
        ("sleep 60", "1 s", "it did not finish within 1 s"),
    ],
)
def test_who_does_not_answer_as_a_node_does_is_told_with_the_reason(
    site: Site, script: str, limit: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.join(["sh", "-c", f"read -r request; {script} # {{node}}"])
    assert site.collect("--remote", words, "--limit", limit) == 69
    assert reason in capsys.readouterr().out
    assert site.kept() == []


@pytest.mark.slow
def test_an_answer_that_was_cut_is_not_kept(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.measure("client1", 5)
    (script,) = site.remote[2:]
    words = shlex.join(["sh", "-c", script.replace("exec", "") + " | head -n 3"])
    assert site.collect("--remote", words, "--limit", "3 s") == 69
    assert site.kept() == []
    assert site.collect() == 0
    assert len(site.kept()) == 5


def test_what_ssh_gets_is_a_list_of_words_with_the_name_of_the_node(
    tmp_path: Path, site: Site
) -> None:
    words = f"{sys.executable} -c 'import sys; print(sys.argv[1:], file=sys.stderr)' a\\ b {{node}}"
    assert site.collect("--remote", words) == 69
    with Pictures(site.history, 0.0) as history:
        troubles = {one.node: one.trouble for one in history.unanswered()}
    assert troubles["oss1"] == "['a b', 'oss1']"


def test_a_history_that_cannot_be_written_ends_all_with_a_sentence(site: Site) -> None:
    site.measure("client1", 3)
    options = GatherOptions(site.folder / "nowhere" / "x.sqlite", site.remote, 30.0, 2)
    with pytest.raises(StoreError, match="cannot be opened"):
        list(gather(NODES, options))


@pytest.mark.slow
def test_ten_thousand_records_take_seconds_and_little_memory(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site.folder / "client1" / "history.sqlite"
    with Collection(path) as begun:
        records = [
            record(id=uuid4().hex, host="client1", profile=(2e8,) * 30) for _ in range(10_000)
        ]
        begun.keep("client1", records, begun.cursor("client1"), 0.0)
    run = "import sys; from plumbline.cli import main; code = main(sys.argv[1:]); "
    run += "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    begun_at = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", run, *site.argv("--quiet", "--json")],
        env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - begun_at
    said, peak_kib = done.stdout.splitlines()
    assert json.loads(said)["nodes"][0]["new"] == 10_000
    # 1.2 s and 36 MiB on two idle cores
    assert seconds < 30
    assert int(peak_kib) < 100 << 10


def start(site: Site) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "plumbline.cli", *site.argv("--quiet")],
        env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def count(path: Path) -> int:
    """Return how many records are in a history, 0 where there is none yet."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            found: Optional[tuple[int]] = database.execute(
                "SELECT count(*) FROM records"
            ).fetchone()
    except sqlite3.Error:
        return 0
    return found[0] if found else 0


@pytest.mark.slow
def test_kill_at_any_moment_loses_and_doubles_nothing(site: Site) -> None:
    ids = {one.id for node in NODES for one in site.measure(node, 1200)}
    kills = 0
    for reached in (0, 1, 400, 900, 1400, 1900):
        process = start(site)
        while process.poll() is None and count(site.history) < reached:
            time.sleep(0.002)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        ids |= {one.id for one in site.measure("client1", 10)}
    assert site.collect() == 0
    assert kills >= 3
    assert sorted(site.kept()) == sorted(ids)


@pytest.mark.slow
def test_two_that_collect_at_once_do_not_double(site: Site) -> None:
    ids = [one.id for node in NODES for one in site.measure(node, 1500)]
    both = [start(site), start(site)]
    assert [one.wait() for one in both] == [0, 0]
    assert sorted(site.kept()) == sorted(ids)
