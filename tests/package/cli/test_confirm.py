"""``plumbline probe --confirm`` measures low and suspected components again."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import sys
import time
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Optional
from unittest.mock import patch

import pytest

from plumbline.model.exchange import Suspected
from plumbline.model.expectation import Confirm, Measured
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Record
from plumbline.model.series import Process, Running
from plumbline.model.spec import ProbeSpec
from plumbline.store.database import Selection
from plumbline.store.facts import (
    FOLDER,
    node_suspicions,
    save_node_suspicions,
    save_suspicions,
)
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from tests.package.cli.driver import SOURCE, call
from tests.package.cli.test_probe import Node
from tests.package.records import record

# --- ``plumbline probe ost --confirm``: components low last night are measured again.


NAMES = "abcdef"
NIGHTS = 10
DAY_S = 86400.0
HOUR_S = 3600.0
SPEC = ProbeSpec("fio", 1 << 20, 5.0, repeats=1)
EACH = 2 << 20
TERMS = Confirm(runs=6, every_s=HOUR_S, daily_bytes=0.0, most_bytes=100.0 * EACH)


class Client(Node):
    """A client with six targets, measured every night until three hours ago."""

    @property
    def database(self) -> Path:
        return self.state / "history.sqlite"

    def deploy(self, **changes: Any) -> Client:
        limits = Limits(min_coverage=0.0, alarm_odds=10_000.0)
        self.expect(NAMES, **{"spec": SPEC, "limits": limits, "confirm": TERMS, **changes})
        return self

    def nights(self, **last: float) -> Client:
        """Save some nights; in the last one, targets give these shares of their usual rate."""
        with History(self.database) as history:
            for night in range(NIGHTS):
                at = time.time() - 3 * HOUR_S - (NIGHTS - 1 - night) * DAY_S
                shares = last if night == NIGHTS - 1 else {}
                for number, name in enumerate(NAMES):
                    # single runs differ by some percent
                    usual = 200e6 * (1 + 0.01 * ((number + 3 * night) % 5 - 2))
                    rate = usual * shares.get(name, 1.0)
                    for operation in (Operation.WRITE, Operation.READ):
                        history.save(measured(name, operation, (f"night {night}", at), rate))
        return self

    def confirm(self, *words: str, **behaviour: str) -> str:
        """Confirm in this process, which is faster than a new one; return the output."""
        output = StringIO()
        with patch.dict(os.environ, self.variables(behaviour)), redirect_stdout(output):
            assert call("probe", "ost", *self.arguments(), "--confirm", "--quiet", *words) <= 2
        return output.getvalue()

    def confirmed(self) -> list[Measured]:
        with History(self.database) as history:
            return list(history.confirmed("ost"))

    def pass_time(self, hours: float) -> None:
        """Move all records and confirmations into the past."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            shift = (hours * HOUR_S,)
            connection.execute("UPDATE confirmed SET at = at - ?", shift)
            connection.execute(
                "UPDATE records SET started_at = started_at - ?, body = json_set(body, "
                "'$.started_at', json_extract(body, '$.started_at') - ?, "
                "'$.finished_at', json_extract(body, '$.finished_at') - ?)",
                shift * 3,
            )

    def alarms(self) -> list[str]:
        snapshot = load_snapshot(str(self.state / "snapshot.json"))
        evidence = {name: snapshot.evidence(("ost", name, False)) for name in NAMES}
        return [name for name, state in evidence.items() if state and state.alarm]


def measured(name: str, operation: Operation, run: tuple[str, float], rate: float) -> Record:
    run_id, at = run
    return record(
        run_id=run_id,
        component=name,
        operation=operation,
        started_at=at,
        finished_at=at + 5,
        rate=rate,
        repeats=(rate,),
        spec=SPEC.to_json(),
        spec_hash=SPEC.hash(),
    )


@pytest.fixture
def client(tmp_path: Path) -> Client:
    for folder in (*NAMES, "state", "tmp"):
        (tmp_path / folder).mkdir()
    return Client(tmp_path).deploy()


def test_without_a_low_component_confirmation_ends_at_once(client: Client) -> None:
    assert "nothing to confirm: history" in client.confirm()
    assert not client.database.exists()
    assert client.nights().confirm() == "nothing to confirm\n"
    assert not (client.home / "fio.log").exists()


def test_a_dry_run_prints_the_suspects_and_reasons_and_measures_nothing(client: Client) -> None:
    line, budget = client.nights(c=0.3).confirm("--dry-run").splitlines()
    assert line.startswith("c: odds ")
    assert "0 of 6 runs, measured now beside " in line
    assert "watching: " in line
    assert budget == "209.7 MB can be moved now"
    assert client.confirmed() == []
    assert not (client.home / "fio.log").exists()


@pytest.mark.slow
def test_a_low_component_is_measured_again_with_two_peers_and_not_too_early(client: Client) -> None:
    client.nights(c=0.3).confirm(c="60")
    run = client.confirmed()
    assert [(entry.component, entry.control, entry.bytes) for entry in run] == [
        ("a", True, EACH),
        ("c", False, EACH),
        ("b", True, EACH),
    ]
    with History(client.database) as history:
        records = list(history.records(Selection(run_id=run[0].run_id)))
    assert [(record.component, record.operation.value) for record in records] == [
        (name, operation) for name in "acb" for operation in ("write", "read")
    ]
    assert client.confirm(c="60") == "nothing to confirm\n"
    assert "1 of 6 runs, waits: measured 0 min ago" in client.confirm("--dry-run")


@pytest.mark.slow
def test_one_good_run_ends_the_confirmation_of_a_single_low_run(client: Client) -> None:
    client.nights(c=0.3).confirm()
    client.pass_time(1)
    assert client.confirm() == "nothing to confirm\n"
    assert client.alarms() == []
    assert len({entry.run_id for entry in client.confirmed()}) == 1


@pytest.mark.slow
def test_a_confirmation_waits_once_the_byte_budget_is_used_up(client: Client) -> None:
    client.deploy(confirm=TERMS._replace(most_bytes=3.0 * EACH)).nights(c=0.3)
    client.confirm(c="60")
    client.pass_time(1)
    assert client.confirm(c="60") == "nothing to confirm\n"
    output = client.confirm("--dry-run")
    assert "1 of 6 runs, waits: the bytes of confirmation are used up" in output
    assert "\n0 B can be moved now" in output


@pytest.mark.slow
def test_a_killed_run_counts_and_the_next_start_of_the_timer_continues(client: Client) -> None:
    client.nights(c=0.3)
    process = client.start(*client.arguments(), "--confirm", "--quiet", a="hang")
    client.wait_for_fio()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert [entry.component for entry in client.confirmed()] == ["a", "c", "b"]
    client.pass_time(1)
    # this also kills the tool of the killed run
    client.confirm(c="60")
    assert confirmed(client) == ["c", "c"]


@pytest.mark.slow
def test_confirmation_continues_after_a_reboot(client: Client) -> None:
    client.nights(c=0.3)
    with History(client.database) as history:
        process = Process(os.getpid(), 1, "another boot", "0:0:1")
        history.begin("night 9", Running("ost", "f", time.time() - HOUR_S, process))
    client.confirm(c="60")
    assert len(client.confirmed()) == 3


@pytest.mark.slow
def test_confirmation_does_not_start_while_another_run_measures(client: Client) -> None:
    client.nights(c=0.3)
    process = client.start(*client.arguments(), "--quiet", "--component", "f", f="hang")
    try:
        client.wait_for_fio()
        assert client.confirm() == (
            "another run measures f; the next moment of the timer confirms\n"
        )
        assert client.confirmed() == []
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.communicate()


# --- A suspicion by latency reaches the node; only the probe raises an alarm.


EXPORT = "PYTHONPATH=SRC exec PYTHON -m plumbline.cli export --state STATE # {node}"


class Console:
    """A console that reaches one client without ssh."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.history = client.home / "console" / "history.sqlite"
        self.plan = client.home / "plan.json"
        self.history.parent.mkdir()
        (client.state / FOLDER).mkdir()
        node = json.loads((client.home / "expectations.json").read_text())
        document = {"schema": 1, "site": "lab", "nodes": {"client1": node}, "services": []}
        self.plan.write_text(json.dumps(document))

    def suspect(self, *names: str) -> None:
        """Save suspicions of targets like ``plumbline latency --save``."""
        now = time.time()
        save_suspicions(
            self.history, {"client1": [Suspected("ost", name, now) for name in names]}, now
        )

    def collect(self) -> int:
        script = EXPORT.replace("SRC", str(SOURCE)).replace("STATE", str(self.client.state))
        remote = shlex.join(["sh", "-c", script.replace("PYTHON ", f"{sys.executable} ")])
        words = ["--plan", str(self.plan), "--history", str(self.history)]
        return call("collect", *words, "--remote", remote, "--quiet")

    def suspects(self) -> list[str]:
        return list(node_suspicions(self.client.state, "ost", time.time()))


@pytest.fixture
def console(client: Client) -> Console:
    return Console(client.nights())


def confirmed(client: Client) -> list[str]:
    return [entry.component for entry in client.confirmed() if not entry.control]


@pytest.mark.slow
def test_a_target_slow_under_load_raises_an_alarm_once_the_probe_measures_the_loss(
    console: Console,
) -> None:
    client = console.client
    # shifted over midnight UTC, runs are compared with fewer peers, and have lower odds
    client.deploy(limits=Limits(min_coverage=0.0, alarm_odds=1_000.0))
    console.suspect("c")
    assert console.collect() == 0
    assert console.suspects() == ["c"]
    output = client.confirm("--dry-run")
    assert "c: odds 1 to 1, 0 of 6 runs, measured now beside a, b; suspected since " in output
    client.confirm(c="60")
    assert client.alarms() == []
    client.pass_time(1)
    output, waits = "", "waits: it has the alarm, and was measured within a day"
    for _ in range(TERMS.runs):
        client.confirm(c="60")
        client.pass_time(1)
        output = client.confirm("--dry-run")
        if waits in output:
            break
    assert waits in output
    assert set(confirmed(client)) == {"c"}


@pytest.mark.slow
def test_a_withdrawn_suspicion_is_not_confirmed(console: Console) -> None:
    console.suspect("c")
    console.collect()
    console.suspect()
    console.collect()
    assert console.suspects() == []
    assert console.client.confirm() == "nothing to confirm\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "measured"),
    [
        # components of other nodes, other layers
        (["z", "oss1-disk1"], []),
        (["b", "f"], ["b", "f"]),
    ],
)
def test_only_single_components_of_this_node_are_confirmed(
    console: Console, names: list[str], measured: list[str]
) -> None:
    now = time.time()
    save_node_suspicions(console.client.state, [Suspected("ost", name, now) for name in names], now)
    console.client.confirm()
    assert confirmed(console.client) == measured


@pytest.mark.slow
@pytest.mark.parametrize("damage", ['{"schema": 1', '{"schema": 2}', None])
def test_damaged_suspicions_are_reported_and_confirmation_continues(
    client: Client, damage: Optional[str]
) -> None:
    client.nights(c=0.3)
    path = client.state / FOLDER / "suspected.json"
    path.parent.mkdir()
    if damage is None:
        path.symlink_to("/etc/passwd")
    else:
        path.write_text(damage)
    lines = client.confirm("--dry-run").splitlines()
    assert lines[0].startswith("suspicions ") or "suspicions" in lines[0]
    assert lines[1].startswith("c: odds ")
    client.confirm(c="60")
    assert confirmed(client) == ["c"]


@pytest.mark.slow
def test_old_suspicions_are_ignored(console: Console) -> None:
    now = time.time()
    save_node_suspicions(console.client.state, [Suspected("ost", "c", now)], now - 3 * 3600)
    assert console.suspects() == []
    save_suspicions(console.history, {"client1": [Suspected("ost", "c", now)]}, now - 3 * 3600)
    console.collect()
    assert console.suspects() == []


def test_a_node_without_the_suspicions_folder_sends_its_records_and_a_message(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    (console.client.state / FOLDER).rmdir()
    console.suspect("c")
    assert console.collect() == 0
    out = capsys.readouterr().out
    assert "what is suspected of it did not arrive" in out
    assert "deploy the role export again" in out
    assert "120 new records of 1 nodes; 0 did not answer" in out
