"""A node that sends without end takes neither memory, disk nor time from the others.

The answering programs are processes; the limits are small, so that a test takes a second.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from plumbline.model.exchange import Cursor, Request
from plumbline.site.conversation import Conversation, RawAnswer, Unreachable
from plumbline.site.gather import GatherOptions, NodeResult, Quota, gather
from plumbline.site.scope import Scopes
from plumbline.store.collection import ConsoleHistory
from plumbline.store.plan import load_plan
from tests.package.records import record
from tests.package.site.test_gather import Site, head

SMALL = Quota(answer=64 << 10, run=100 << 10, day=1 << 20)
BATCH = 20

NODE = """
import json, sys
record, head = (json.loads(text) for text in sys.argv[1:3])
batch, size, place = int(sys.argv[3]), int(sys.argv[4]), 0
for request in sys.stdin:
    seq = json.loads(request)["after"][0]
    print(json.dumps(head))
    for place in range(seq + 1, seq + batch + 1):
        print(json.dumps([place, {**record, "id": f"id {place}", "reason": "x" * size}]))
    print(json.dumps({"end": batch, "more": True}), flush=True)
"""
"""Sends batches of records without end, each with a reason of some letters."""


def endless(site: Site, batch: int = BATCH, size: int = 1000) -> list[str]:
    """Return the command of a node client1 that sends without end, and of honest others."""
    stub = site.folder / "endless.py"
    stub.write_text(NODE, encoding="utf-8")
    words = [
        json.dumps(record(host="client1").to_json()),
        json.dumps(head()),
        str(batch),
        str(size),
    ]
    call = shlex.join([sys.executable, str(stub), *words])
    (script,) = site.remote[2:]
    return ["sh", "-c", f"test {{node}} = oss1 || exec {call}; {script}"]


def collect(site: Site, quota: Quota, remote: list[str]) -> dict[str, NodeResult]:
    options = GatherOptions(site.history, remote, 60.0, 2, quota)
    results = gather(site.nodes, Scopes(load_plan(str(site.plan)).nodes), options)
    return {result.node: result for result in results}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.measure("oss1", 3)
    return made


def test_one_collection_takes_no_more_than_its_share_and_the_next_goes_on(site: Site) -> None:
    first = collect(site, SMALL, endless(site))
    assert (first["client1"].trouble, first["client1"].new) == ("", 4 * BATCH)
    assert first["client1"].waiting == "100 KiB read, the rest waits there for the next collection"
    assert (first["oss1"].new, first["oss1"].waiting) == (3, "")
    second = collect(site, SMALL, endless(site))["client1"]
    assert (second.new, second.cursor.seq) == (4 * BATCH, 8 * BATCH)


def test_a_day_has_a_quota_and_the_cursor_stays_behind_it(site: Site) -> None:
    quota = Quota(run=1 << 20, day=20 << 10)
    result = collect(site, quota, endless(site))["client1"]
    assert "it sent 20 KiB of new records today, the rest waits there until" in result.waiting
    assert result.trouble == ""
    again = collect(site, quota, endless(site))["client1"]
    assert (again.new, again.cursor) == (0, result.cursor)
    assert "20 KiB of new records today" in again.waiting
    with ConsoleHistory(site.history) as history:
        assert history.kept_bytes("client1", time.time() + 86400) == 0


def test_records_that_the_console_has_already_use_no_quota(site: Site) -> None:
    site.measure("client1", 5)
    options = Quota(day=1 << 20)
    collect(site, options, site.remote)
    with ConsoleHistory(site.history) as history:
        kept = history.kept_bytes("client1", time.time())
        history.change("UPDATE collected SET seq = 0, id = ''")
    assert collect(site, options, site.remote)["client1"].new == 0
    with ConsoleHistory(site.history) as history:
        assert history.kept_bytes("client1", time.time()) == kept > 0


@pytest.mark.parametrize(
    ("batch", "size", "reason"),
    [
        (10, 10_000, "it sent more than 64 KiB in one answer, or more than 4 MiB of records"),
        (501, 0, "it sent more than the 500 records asked for"),
        (0, 0, "it promises more records and sends none"),
    ],
)
def test_a_long_answer_fails_its_node_only(site: Site, batch: int, size: int, reason: str) -> None:
    quota = SMALL if size else Quota()
    results = collect(site, quota, endless(site, batch, size))
    assert results["client1"].trouble == reason
    assert (results["client1"].new, results["oss1"].new) == (0, 3)


def ask(script: str) -> RawAnswer:
    """Ask a shell script."""
    with Conversation(["sh", "-c", f"read -r request; {script}"], 10.0) as conversation:
        return conversation.ask(Request(Cursor()))


def test_values_that_take_much_memory_are_refused_before_they_are_parsed() -> None:
    lists = f"{sys.executable} -c 'print([1, [[]] * 350000])'"
    with pytest.raises(Unreachable, match="an answer with more values than any node has"):
        ask(f"echo {shlex.quote(json.dumps(head()))}; {lists}")


def test_complaints_without_end_take_no_memory() -> None:
    """The file of complaints does not grow, so a program that writes more ends with an error."""
    with pytest.raises(Unreachable, match=r"^a co"):
        ask("yes a complaint >&2; exit 3")
