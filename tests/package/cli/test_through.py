"""``plumbline through PART`` shows what pairs of hosts carry at once through one part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Sequence

import pytest

from plumbline.model.errors import UsageError
from plumbline.model.record import Operation
from tests.package.cli.driver import Run, call
from tests.package.records import record
from tests.package.sites import site

GB = 1e9
HOSTS = [f"client{number}" for number in range(1, 9)]


@pytest.fixture
def plan(tmp_path: Path, run: Run) -> str:
    """Return the file with the plan of eight clients at two switches of 2 GB/s each."""
    document = site()
    document["file_systems"] = []
    document["parts"] = [
        {"name": "core", "kind": "switch"},
        {"name": "leaf[1-2]", "kind": "switch", "rate": "2 GB/s", "feeds": "core"},
        *(
            {"name": name, "kind": "client", "address": name, "rate": "1 GB/s", "feeds": leaf}
            for name, leaf in zip(HOSTS, ["leaf1"] * 4 + ["leaf2"] * 4)
        ),
    ]
    folder = tmp_path / "site" / "group_vars" / "all"
    folder.mkdir(parents=True)
    text = json.dumps({"plumbline_topology": document})
    (folder / "topology.yml").write_text(text, encoding="utf-8")
    path = tmp_path / "plan.json"
    planned = run("plan", "-i", str(tmp_path / "site"), "--json").out
    path.write_text(planned, encoding="utf-8")
    return str(path)


def measured(folder: Path, pairs: Sequence[Sequence[str]], slow: str = "") -> str:
    """Write records of pairs with half a GB/s, those of a slow host with a fifth of that."""
    records = [
        record(
            layer="net",
            component=one,
            partner=other,
            operation=operation,
            rate=0.1 * GB if slow in (one, other) else 0.5 * GB,
        )
        for one, other in pairs
        for operation in (Operation.SEND, Operation.RECEIVE)
    ]
    path = folder / "records.jsonl"
    path.write_text("".join(f"{json.dumps(one.to_json())}\n" for one in records))
    return str(path)


def test_the_slots_of_a_part_are_shown_with_their_ceiling(plan: str, run: Run) -> None:
    *_, row, last = run("through", "leaf1", "--plan", plan).out.splitlines()
    assert last.startswith("switch leaf1: ")
    assert last.endswith(" slots to measure, the pairs of each at once")
    assert row.split()[-2:] == ["leaf1,", "leaf2"]
    document = run("through", "leaf1", "--plan", plan, "--json").document
    for slot in document["slots"]:
        hosts = [host for pair in [*slot["leaving"], *slot["within"]] for host in pair]
        assert len(hosts) == len(set(hosts)) <= len(HOSTS)
        assert all(len({*pair} & {*HOSTS[:4]}) == 1 for pair in slot["leaving"])
        assert all({*pair} <= {*HOSTS[:4]} for pair in slot["within"])
    assert (document["part"], document["kind"], document["sums"]) == ("leaf1", "switch", [])


def test_a_balanced_slot_leaves_hosts_out(plan: str, run: Run) -> None:
    slots = run("through", "leaf1", "--plan", plan, "--balanced", "--json").document["slots"]
    assert max(len(slot["leaving"]) for slot in slots) == 2


def test_the_sum_of_each_slot_is_set_against_its_ceiling(
    plan: str, run: Run, tmp_path: Path
) -> None:
    slots = run("through", "leaf1", "--plan", plan, "--json").document["slots"]
    pairs = [pair for slot in slots for pair in [*slot["leaving"], *slot["within"]]]
    records = measured(tmp_path, pairs)
    words = ("through", "leaf1", "--plan", plan, "--records", records)
    text = run(*words).out
    assert (
        "switch leaf1, send: at most 2000.0 MB/s by 4 pairs at once, 100 % of 2000.0 MB/s, "
        "limited by leaf1, leaf2; "
    ) in text
    assert "slow by itself" not in text
    assert "no rate" not in text
    document = run(*words, "--json").document
    assert len(document["sums"]) == 2 * len(slots)
    assert document["lines"] == text.splitlines()
    crowded = next(one for one in document["sums"] if one["pairs"] == 4)
    assert crowded["moved_Bps"] == pytest.approx(2 * GB)
    assert crowded["limited_by"] == ["leaf1", "leaf2"]


def test_a_slow_host_and_pairs_without_a_rate_are_named(
    plan: str, run: Run, tmp_path: Path
) -> None:
    slots = run("through", "leaf1", "--plan", plan, "--json").document["slots"]
    first, *pairs = (pair for slot in slots for pair in [*slot["leaving"], *slot["within"]])
    records = measured(tmp_path, pairs, slow="client6")
    text = run("through", "leaf1", "--plan", plan, "--records", records).out
    assert "client6 is slow by itself in " in text
    assert "20 % to 20 % of what the others of a slot have" in text
    assert "client5 is slow" not in text
    assert text.splitlines()[-1] == (
        "no rate in some directions of 1 pair, which count in no sum: " + " with ".join(first)
    )


def test_records_of_no_pair_of_the_part_are_no_result(plan: str, run: Run, tmp_path: Path) -> None:
    records = measured(tmp_path, [("client1", "elsewhere")])
    text = run("through", "leaf1", "--plan", plan, "--records", records).out
    assert text == (
        "switch leaf1: no pair that crosses it has a rate; look at the messages above\n"
    )
    # no node answered
    assert run("through", "leaf1", "--plan", plan, "--records").out == text


def test_a_part_that_is_not_planned_is_refused(plan: str) -> None:
    with pytest.raises(UsageError, match="no part leaf3; pairs of hosts cross leaf1, core, leaf2"):
        call("through", "leaf3", "--plan", plan)


def test_pairs_that_measured_one_after_the_other_are_named(
    plan: str, run: Run, tmp_path: Path
) -> None:
    slots = run("through", "leaf1", "--plan", plan, "--json").document["slots"]
    records = measured(tmp_path, [pair for slot in slots for pair in slot["leaving"]])
    lines = Path(records).read_text(encoding="utf-8").splitlines()
    late = json.loads(lines[0])
    late["started_at"] += late["seconds"]
    late["finished_at"] += late["seconds"]
    Path(records).write_text("\n".join([json.dumps(late), *lines[1:]]), encoding="utf-8")
    text = run("through", "leaf1", "--plan", plan, "--records", records).out
    assert (
        f"slot {slots[0]['slot']}, send: its pairs measured together for 0 % of the time, so they "
        "have no sum; one began late or ended early, or a clock is wrong\n"
    ) in text
