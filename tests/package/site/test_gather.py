"""``plumbline collect`` copies each record of each node exactly once.

The nodes are folders of this machine; ``--remote`` starts ``plumbline export`` for them in place of
ssh.
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
from plumbline.model.codec import write
from plumbline.model.errors import StoreError, ToolError
from plumbline.model.exchange import MAX_RECORDS, Head
from plumbline.model.ledger import Ledger
from plumbline.model.record import SCHEMA, Record
from plumbline.model.series import Running
from plumbline.site.gather import GatherOptions, _Collection, gather
from plumbline.site.scope import Scopes
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import read_clocks
from plumbline.store.database import Selection, Store
from plumbline.store.facts import collected_ledgers, keep_conditions
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from plumbline.store.trends import Pictures
from tests.package.cli.driver import client
from tests.package.model.ledgers import bill, condition
from tests.package.records import record, save
from tests.processes import run_to_end

SRC = str(Path(__file__).parents[3] / "src")
NODES = ("client1", "oss1")
EXPORT = """
test -d STATE/{node} || { echo 'ssh: connect to host {node}: No route' >&2; exit 255; }
exec COMMAND export --state STATE/{node}
""".strip()


class Site:
    """Nodes as folders, and a console."""

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
            self.set_entries(node, [])

    def set_entries(self, node: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write the plan with these entries of a node."""
        self._documents[node]["entries"] = entries
        plan = {"schema": 1, "site": "lab", "nodes": self._documents, "services": []}
        self.plan.write_text(json.dumps(plan), encoding="utf-8")

    @property
    def remote(self) -> list[str]:
        script = EXPORT.replace("STATE", str(self.folder))
        return ["sh", "-c", script.replace("COMMAND", shlex.join(client()))]

    def argv(self, *options: str) -> list[str]:
        words = ["--plan", str(self.plan), "--history", str(self.history)]
        return ["collect", *words, "--remote", shlex.join(self.remote), *options]

    def collect(self, *options: str) -> int:
        return main(self.argv("--quiet", *options))

    def measure(self, node: str, count: int = 1, **changes: Any) -> list[Record]:
        """Add records to the history of a node."""
        values = {"started_at": time.time(), **changes}
        records = [record(id=uuid4().hex, host=node, **values) for _ in range(count)]
        save(self.folder / node / "history.sqlite", records)
        return records

    def record_ids(self) -> list[str]:
        with History(self.history) as history:
            return [record.id for record in history.records(Selection())]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def result(site: Site, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Collect and return the result of each node."""
    capsys.readouterr()
    site.collect("--json")
    document = json.loads(capsys.readouterr().out)
    return {node["node"]: node for node in document["nodes"]}


def test_records_of_all_nodes_are_collected_unchanged(site: Site) -> None:
    records = site.measure("client1", 3) + site.measure("oss1", 2, layer="raw", component="disk")
    assert site.collect() == 0
    with History(site.history) as history:
        collected = {record.id: record for record in history.records(Selection())}
    assert collected == {record.id: record for record in records}
    assert {record.host for record in collected.values()} == {"client1", "oss1"}


def test_the_clock_offset_of_each_node_is_saved(site: Site) -> None:
    site.measure("client1")
    site.collect()
    with Store(site.history) as store:
        clocks = read_clocks(store)
    assert {clock.node for clock in clocks} == {*NODES}
    # all nodes are this machine, so the offset is within the uncertainty of the connection
    assert all(abs(clock.ahead_s) <= clock.within_s < 10 for clock in clocks)


@pytest.mark.slow
def test_only_new_records_are_requested(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.measure("client1", 5)
    assert result(site, capsys)["client1"]["new"] == 5
    (new,) = site.measure("client1")
    second = result(site, capsys)["client1"]
    assert (second["new"], second["cursor"]) == (1, {"seq": 6, "id": new.id})
    assert result(site, capsys)["client1"]["new"] == 0
    assert len(site.record_ids()) == 6


@pytest.mark.slow
def test_records_of_a_node_keep_their_order(site: Site) -> None:
    ids = [record.id for record in site.measure("client1", 1203)]
    assert site.collect() == 0
    assert site.record_ids() == ids


def test_an_unreachable_node_does_not_stop_the_others(
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
    assert len(site.record_ids()) == 5


def test_a_node_without_measurements_is_no_error(site: Site) -> None:
    assert site.collect() == 0
    assert site.record_ids() == []


@pytest.mark.slow
def test_a_new_history_is_collected_from_its_start(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", 4)
    site.collect()
    (site.folder / "client1" / "history.sqlite").unlink()
    # the new history has more records than were read from the old one
    site.measure("client1", 6)
    node = result(site, capsys)["client1"]
    assert (node["new"], node["again"], node["cursor"]["seq"]) == (6, True, 6)
    assert len(site.record_ids()) == 10
    assert result(site, capsys)["client1"]["again"] is False


def test_a_restored_history_gives_no_duplicates(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site.folder / "client1" / "history.sqlite"
    site.measure("client1", 4)
    copy = path.read_bytes()
    site.measure("client1", 4)
    site.collect()
    path.write_bytes(copy)
    site.measure("client1", 5)
    node = result(site, capsys)["client1"]
    assert (node["new"], node["again"]) == (5, True)
    assert len(site.record_ids()) == len(set(site.record_ids())) == 13


@pytest.mark.slow
def test_a_deleted_history_is_no_error(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.measure("client1", 4)
    site.collect()
    (site.folder / "client1" / "history.sqlite").unlink()
    assert result(site, capsys)["client1"]["cursor"] == {"seq": 0, "id": ""}
    site.measure("client1", 1)
    assert result(site, capsys)["client1"]["new"] == 1


def test_a_wrong_clock_loses_no_records_and_is_reported(
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
    assert len(site.record_ids()) == 3


def test_running_probes_of_a_node_are_known_until_it_is_unreachable(site: Site) -> None:
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


def test_symptoms_are_collected_with_the_records(site: Site) -> None:
    site.measure("client1")
    (site.folder / "client1" / "symptoms.json").write_text('{"schema": 1, "md": []}')
    (site.folder / "oss1" / "symptoms.json").write_text("{cut")
    assert site.collect() == 0
    folder = site.history.parent / "symptoms"
    assert json.loads((folder / "client1.json").read_text()) == {"schema": 1, "md": []}
    assert "cannot be read" in json.loads((folder / "oss1.json").read_text())["trouble"]
    (site.folder / "oss1" / "symptoms.json").unlink()
    site.collect()
    assert not (folder / "oss1.json").exists()


def save_bills(site: Site, node: str, *bills: Ledger) -> None:
    for entry in bills:
        keep_conditions(site.folder / node, entry._replace(node=node))


def collected_changes(site: Site) -> dict[str, list[str]]:
    return {
        ledger.node: [f"{change.then} -> {change.now}" for change in ledger.changes]
        for ledger in collected_ledgers(site.history, site.nodes)[0]
    }


def test_changes_of_conditions_are_collected_with_the_records(site: Site) -> None:
    save_bills(
        site, "client1", bill(condition("kernel", "4")), bill(condition("kernel", "5"), day=1)
    )
    assert site.collect() == 0
    assert collected_changes(site) == {"client1": ["4 -> 5"]}
    save_bills(site, "client1", bill(condition("kernel", "6"), day=1.5))
    assert site.collect() == 0
    assert collected_changes(site) == {"client1": ["4 -> 5", "5 -> 6"]}
    # a node without a ledger removes no changes
    (site.folder / "client1" / "conditions.json").unlink()
    assert site.collect() == 0
    assert collected_changes(site) == {"client1": ["4 -> 5", "5 -> 6"]}


def test_an_unchanged_ledger_is_not_sent_again(site: Site) -> None:
    save_bills(site, "oss1", bill(condition("kernel", "4")))
    site.collect()
    copy = site.history.parent / "conditions" / "oss1.json"
    inode = copy.stat().st_ino
    save_bills(site, "oss1", bill(condition("kernel", "4"), day=0.5))
    site.collect()
    assert copy.stat().st_ino == inode
    save_bills(site, "oss1", bill(condition("kernel", "4"), day=1))
    site.collect()
    assert copy.stat().st_ino != inode


@pytest.mark.slow
def test_a_damaged_ledger_is_reported_and_replaces_nothing(
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
        save_bills(
            site, node, bill(condition("kernel", "4")), bill(condition("kernel", "5"), day=1)
        )
    site.collect()
    new = [record.id for node in ledgers for record in site.measure(node)]
    for node, text in ledgers.items():
        (site.folder / node / "conditions.json").write_text(text)
    capsys.readouterr()
    assert site.collect() == 0
    assert capsys.readouterr().out.count("without its changes: ") == len(ledgers)
    assert collected_changes(site) == {node: ["4 -> 5"] for node in ledgers}
    assert sorted(site.record_ids()) == sorted(new)


def test_missing_symptoms_are_reported(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    (site.folder / "oss1" / "symptoms.json").write_text(" " * (1 << 20) + "{}")
    assert site.collect() == 0
    assert "without its symptoms: " in (out := capsys.readouterr().out)
    assert "symptoms.json has more than 1048576 bytes and was left out" in out


def spoil(site: Site, body: str, place: int = 2) -> None:
    path = site.folder / "client1" / "history.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE records SET body = ? WHERE seq = ?", (body, place))


HALF = "\ud800"
"""A character that JSON can encode, but no file, database or terminal."""


DAMAGES: tuple[Union[str, dict[str, Any]], ...] = (
    *("{cut", "{}", 'a\nb"]', '{"schema": 1, "id": "x"}'),
    # values that no database can store
    *({"run_id": None}, {"id": ["a"]}, {"id": HALF}),
    *({"partner": {"a": "b"}}, {"partner": HALF}, {"component": HALF}),
)


@pytest.mark.slow
def test_damaged_records_are_named_and_do_not_stop_others(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    records = site.measure("client1", len(DAMAGES) + 2)
    site.measure("oss1")
    for place, damage in enumerate(DAMAGES, 2):
        raw = records[place - 1].to_json()
        spoil(site, damage if isinstance(damage, str) else json.dumps({**raw, **damage}), place)
    assert site.collect() == 65
    assert f"{len(DAMAGES)} records left out, first: record" in capsys.readouterr().out
    assert len(site.record_ids()) == 3
    site.measure("client1")
    assert site.collect() == 0
    assert len(site.record_ids()) == 4


@pytest.mark.slow
def test_a_damaged_record_at_the_end_of_a_batch_does_not_restart_it(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("client1", MAX_RECORDS + 1)
    spoil(site, "{cut", MAX_RECORDS)
    node = result(site, capsys)["client1"]
    assert (node["new"], node["again"], len(node["damaged"])) == (MAX_RECORDS, False, 1)


def answering(site: Site, *lines: object) -> str:
    """Return a remote command that prints these lines for client1 and exports other nodes."""
    text = " ".join(shlex.quote(json.dumps(line)) for line in lines)
    (script,) = site.remote[2:]
    stub = f"read -r request; printf '%s\\n' {text}; exit"
    return shlex.join(["sh", "-c", f"test {{node}} = oss1 || {{ {stub}; }}; {script}"])


def head(**changes: Any) -> dict[str, Any]:
    return {**write(Head("1", time.time(), False)), **changes}


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            (head(), [2**63, record().to_json()], {"end": 1, "more": False}),
            "no answer: its answer is damaged at [9223372036854775808,",
        ),
        (
            (head(running=[["ost", HALF, 1.0]]), {"end": 0, "more": False}),
            "which is no Unicode text",
        ),
        (({"error": HALF},), "no answer: it says: ?"),
    ],
    ids=["a place that no database takes", "half a character", "half a character as error"],
)
def test_an_answer_that_cannot_be_stored_affects_only_its_node(
    site: Site, lines: tuple[object, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site.measure("oss1")
    assert site.collect("--remote", answering(site, *lines)) == 69
    assert text in capsys.readouterr().out
    assert len(site.record_ids()) == 1


def test_an_unexpected_error_affects_only_its_node(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.measure("oss1")
    original = Collection.replace_running

    def replace_running(self: Collection, node: str, running: Sequence[Running]) -> None:
        if node == "client1":
            raise OverflowError("too large")
        original(self, node, running)

    monkeypatch.setattr(Collection, "replace_running", replace_running)
    assert site.collect() == 69
    out = capsys.readouterr().out
    assert "its answer cannot be kept: OverflowError('too large')" in out
    assert len(site.record_ids()) == 1


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_missing_watchdog_thread_is_reported(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Timer, "start", no_thread)
    assert site.collect() == 69
    assert "no thread can be had to watch sh; ask fewer at once" in capsys.readouterr().out


def test_without_threads_fewer_nodes_at_once_are_suggested(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    options = GatherOptions(site.history, site.remote, 30.0, 2)
    with pytest.raises(ToolError, match="can't start new thread; ask fewer at once"):
        list(gather(NODES, Scopes(load_plan(str(site.plan)).nodes), options))


def test_a_stopped_collection_waits_for_no_node(site: Site) -> None:
    site.measure("client1")
    scopes = Scopes(load_plan(str(site.plan)).nodes)
    work = _Collection(scopes, GatherOptions(site.history, site.remote, 30.0, 1))
    work.stop()
    assert work.node("client1").trouble == ""
    assert site.record_ids() == []


def test_records_of_a_newer_plumbline_wait_until_the_console_is_updated(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    records = site.measure("client1", 3)
    spoil(site, json.dumps({**records[1].to_json(), "schema": SCHEMA + 1}))
    node = result(site, capsys)["client1"]
    assert "deploy the role console again" in node["trouble"]
    assert (node["cursor"]["seq"], site.record_ids()) == (0, [])
    # as after the update: nothing was passed over
    spoil(site, json.dumps(records[1].to_json()))
    assert site.collect() == 0
    assert site.record_ids() == [record.id for record in records]


def test_a_node_with_an_old_plumbline_is_collected(site: Site) -> None:
    """Its records have schema 1, other names of rates, and times of calls apart."""
    (sent,) = site.measure("client1")
    raw = sent.to_json()
    old = {f"{name}_Bps": raw.pop(name) for name in ("rate", "repeats", "profile")}
    spoil(site, json.dumps({**raw, **old, "latency": None, "schema": 1}), place=1)
    assert site.collect() == 0
    with History(site.history) as history:
        (collected,) = history.records(Selection())
    assert collected == sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "limit", "reason"),
    [
        ("exit 3", "1 min", "the connection ended with code 3"),
        ("echo Welcome to {node}", "1 min", "its answer begins with 'Welcome to"),
        ("echo '{}'", "1 min", "its answer is damaged"),
        ("echo '[1, 2]'", "1 min", "its answer is damaged"),
        ("head -c 99999999 /dev/zero", "1 min", "it sent more than 12 MiB in one answer"),
        ("sleep 60", "1 s", "it did not finish within 1 s"),
    ],
)
def test_a_wrong_answer_is_reported_with_the_reason(
    site: Site, script: str, limit: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.join(["sh", "-c", f"read -r request; {script} # {{node}}"])
    assert site.collect("--remote", words, "--limit", limit) == 69
    assert reason in capsys.readouterr().out
    assert site.record_ids() == []


@pytest.mark.slow
def test_a_truncated_answer_is_not_saved(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.measure("client1", 5)
    (script,) = site.remote[2:]
    words = shlex.join(["sh", "-c", script.replace("exec", "") + " | head -n 3"])
    assert site.collect("--remote", words, "--limit", "3 s") == 69
    assert site.record_ids() == []
    assert site.collect() == 0
    assert len(site.record_ids()) == 5


def test_the_remote_command_is_a_list_of_words_with_the_node_name(
    tmp_path: Path, site: Site
) -> None:
    words = f"{sys.executable} -c 'import sys; print(sys.argv[1:], file=sys.stderr)' a\\ b {{node}}"
    assert site.collect("--remote", words) == 69
    with Pictures(site.history, 0.0) as history:
        troubles = {node.node: node.trouble for node in history.unanswered()}
    assert troubles["oss1"] == "['a b', 'oss1']"


def test_a_history_that_cannot_be_written_ends_the_collection(site: Site) -> None:
    site.measure("client1", 3)
    options = GatherOptions(site.folder / "nowhere" / "x.sqlite", site.remote, 30.0, 2)
    with pytest.raises(StoreError, match="cannot be opened"):
        list(gather(NODES, Scopes(load_plan(str(site.plan)).nodes), options))


@pytest.mark.slow
def test_ten_thousand_records_take_seconds_and_little_memory(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site.folder / "client1" / "history.sqlite"
    with Collection(path) as history:
        records = [
            record(id=uuid4().hex, host="client1", profile=(2e8,) * 30) for _ in range(10_000)
        ]
        history.keep("client1", records, history.cursor("client1"), 0.0)
    run = "import sys, time; from plumbline.cli import main; code = main(sys.argv[1:]); "
    run += "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); "
    run += "print(time.process_time()); sys.exit(code)"
    words = (sys.executable, "-c", run, *site.argv("--quiet", "--json"))
    process = run_to_end(*words, env={**os.environ, "PYTHONPATH": SRC})
    output, peak_kib, processor_s = process.stdout.splitlines()
    assert json.loads(output)["nodes"][0]["new"] == 10_000
    # about a second and 36 MiB; other load of the machine costs it no processor time
    assert float(processor_s) < 15
    assert int(peak_kib) < 100 << 10


def start(site: Site) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "plumbline.cli", *site.argv("--quiet")],
        env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def count(path: Path) -> int:
    """Return the number of records in a history, 0 without one."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            row: Optional[tuple[int]] = database.execute("SELECT count(*) FROM records").fetchone()
    except sqlite3.Error:
        return 0
    return row[0] if row else 0


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_and_duplicates_no_records(site: Site) -> None:
    ids = {record.id for node in NODES for record in site.measure(node, 1200)}
    kills = 0
    for reached in (0, 1, 400, 900, 1400, 1900):
        process = start(site)
        while process.poll() is None and count(site.history) < reached:
            time.sleep(0.002)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        ids |= {record.id for record in site.measure("client1", 10)}
    assert site.collect() == 0
    assert kills >= 3
    assert sorted(site.record_ids()) == sorted(ids)


@pytest.mark.slow
def test_two_collections_at_once_give_no_duplicates(site: Site) -> None:
    ids = [record.id for node in NODES for record in site.measure(node, 500)]
    processes = [start(site), start(site)]
    assert [process.wait() for process in processes] == [0, 0]
    assert sorted(site.record_ids()) == sorted(ids)
