"""A suspicion by latency reaches the node and is confirmed; the probe alone makes an alarm."""

from __future__ import annotations

import json
import shlex
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Iterator, Optional
from urllib.parse import parse_qs

import pytest

from plumbline.model.exchange import Suspected
from plumbline.store.facts import FOLDER, keep_here, keep_site, suspected_here
from tests.package.cli.driver import SOURCE, call
from tests.package.cli.test_confirm import EACH, NAMES, TERMS, Client, client
from tests.package.serving import serving

__all__ = ["client"]

WINDOWS = 96
EXPORT = "PYTHONPATH=SRC exec PYTHON -m plumbline.cli export --state STATE # {node}"


@contextmanager
def prometheus(slow: str) -> Iterator[str]:
    """Answer as a Prometheus whose OSTs all have the same load, one of them three times as long."""

    def tell(request: BaseHTTPRequestHandler, text: str) -> None:
        asked = {key: values[0] for key, values in parse_qs(text).items()}
        request.send_response(200)
        request.end_headers()
        request.wfile.write(json.dumps(answer(asked, slow)).encode())

    with serving(tell) as url:
        yield url


def answer(asked: dict[str, str], slow: str) -> object:
    start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
    moments = [start + number * step for number in range(int((end - start) / step) + 1)]
    grown = {"operations": 5000.0, "bytes": 5e9, "operation_seconds": 100.0}
    found = [value for name, value in grown.items() if f"lustre_{name}_total" in asked["query"]]
    ours = found and 'operation="write"' in asked["query"]
    series = [
        {
            "metric": {"target": name},
            "values": [
                [at, str(found[0] * (1 + number / 100) * (3 if lasts(name, slow, found[0]) else 1))]
                for at in moments
            ],
        }
        for number, name in enumerate(NAMES if ours else "")
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": series}}


def lasts(name: str, slow: str, value: float) -> bool:
    return name == slow and value == 100.0


class Console:
    """A console beside one client, which it reaches without ssh."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.history = client.home / "console" / "history.sqlite"
        self.plan = client.home / "plan.json"
        self.history.parent.mkdir()
        (client.state / FOLDER).mkdir()
        node = json.loads((client.home / "expectations.json").read_text())
        document = {"schema": 1, "site": "lab", "nodes": {"client1": node}, "services": []}
        self.plan.write_text(json.dumps(document))

    def latency(self, slow: str) -> int:
        words = ["--plan", str(self.plan), "--save", str(self.history)]
        with prometheus(slow) as url:
            return call("latency", *words, "--prometheus", url)

    def collect(self) -> int:
        script = EXPORT.replace("SRC", str(SOURCE)).replace("STATE", str(self.client.state))
        remote = shlex.join(["sh", "-c", script.replace("PYTHON ", f"{sys.executable} ")])
        words = ["--plan", str(self.plan), "--history", str(self.history)]
        return call("collect", *words, "--remote", remote, "--quiet")

    def suspects(self) -> list[str]:
        return list(suspected_here(self.client.state, "ost", time.time()))


@pytest.fixture
def console(client: Client) -> Console:
    return Console(client.nights())


def confirmed(client: Client) -> list[str]:
    return [one.component for one in client.confirmed() if not one.control]


@pytest.mark.slow
def test_what_is_slow_under_load_is_an_alarm_after_the_probe_has_seen_it(console: Console) -> None:
    client = console.client
    assert console.latency("c") == 0
    assert console.collect() == 0
    assert console.suspects() == ["c"]
    said = client.confirm("--dry-run")
    assert "c: odds 1 to 1, 0 of 6 runs, measured now beside a, b; suspected since " in said
    client.confirm(c="60")
    assert client.alarms() == []
    for _ in range(TERMS.runs):
        client.pass_time(1)
        client.confirm(c="60")
        if client.alarms():
            break
    assert client.alarms() == ["c"]
    assert set(confirmed(client)) == {"c"}


@pytest.mark.slow
def test_a_suspect_that_the_probe_finds_well_is_measured_once_a_day_and_never_alarms(
    console: Console,
) -> None:
    client = console.client
    console.latency("c")
    console.collect()
    for _ in range(5):
        client.confirm()
        client.pass_time(1)
    assert confirmed(client) == ["c"]
    assert "waits: confirmed within a day" in client.confirm("--dry-run")
    assert client.alarms() == []


@pytest.mark.slow
def test_a_suspicion_that_is_withdrawn_is_not_confirmed(console: Console) -> None:
    console.latency("c")
    console.collect()
    console.latency("nobody")
    console.collect()
    assert console.suspects() == []
    assert console.client.confirm() == "nothing to confirm\n"


@pytest.mark.slow
def test_it_moves_no_more_than_confirmation_may(console: Console) -> None:
    client = console.client.deploy(confirm=TERMS._replace(most_bytes=2.0 * EACH))
    console.latency("c")
    console.collect()
    assert client.confirm() == "nothing to confirm\n"
    assert "the bytes of confirmation are used up" in client.confirm("--dry-run")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "left"),
    [
        # others' components, other layers
        (["z", "oss1-disk1"], []),
        # what more than half of a group shows is no single one's matter
        (list("abcd"), []),
        (["b", "f"], ["b", "f"]),
    ],
)
def test_only_single_components_of_the_node_itself_are_measured(
    console: Console, names: list[str], left: list[str]
) -> None:
    now = time.time()
    keep_here(console.client.state, [Suspected("ost", name, now) for name in names], now)
    console.client.confirm()
    assert confirmed(console.client) == left


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    ['{"schema": 1', '{"schema": 2}', '{"schema": 1, "written_at": 5}', "[]", "", None],
)
def test_damaged_suspicions_are_a_sentence_and_stop_nobody(
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
def test_old_suspicions_mean_nothing(console: Console) -> None:
    now = time.time()
    keep_here(console.client.state, [Suspected("ost", "c", now)], now - 3 * 3600)
    assert console.suspects() == []
    keep_site(console.history, {"client1": [Suspected("ost", "c", now)]}, now - 3 * 3600)
    console.collect()
    assert console.suspects() == []


def test_a_node_without_the_folder_gives_its_records_and_says_why(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    (console.client.state / FOLDER).rmdir()
    console.latency("c")
    assert console.collect() == 0
    out = capsys.readouterr().out
    assert "what is suspected of it did not arrive" in out
    assert "deploy the role export again" in out
    assert "120 new records of 1 nodes; 0 did not answer" in out
