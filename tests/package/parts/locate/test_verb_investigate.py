"""``plumbline investigate`` names the next step, and finally the suspects, from records."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.record import Record
from plumbline.model.series import Sample, Series, Snapshot
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.units import parse_bytes
from plumbline.model.verdict import State
from plumbline.parts.facts.node import Past
from plumbline.parts.facts.request_times import Reading
from plumbline.parts.facts.saved import SavedLook, save_symptoms
from plumbline.store.publish import operation_entry
from tests.package.cli.driver import Run
from tests.package.parts.facts.request_counters import Load, look, put_client, put_server
from tests.package.parts.locate.scenes import LAB, both, with_baselines
from tests.package.parts.locate.test_verb_locate import measured, plan
from tests.package.records import failed

BEGUN = dict.fromkeys(("client1", "oss1", "oss2", "oss3"), 0.0)
SLOW_DISK = {"oss2-disk1": both(80e6)}
LAYERS = ("net", "ost", "raw")


Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path, run: Run) -> Ask:
    """Return a function that answers a request from records."""

    def answer(
        records: Iterable[Record],
        document: Any = None,
        snapshots: Sequence[str] = (),
        readings: Sequence[str] = (),
        **request: Any,
    ) -> Any:
        texts = {
            "plan": json.dumps(document or plan()),
            "request": json.dumps({"begun": BEGUN, **request}),
            "records": "".join(json.dumps(record.to_json()) + "\n" for record in records),
        }
        words = []
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
            words += [f"--{name}", str(tmp_path / name)]
        words += ["--readings", *readings]
        return run("investigate", *words, "--snapshots", *snapshots).document

    return answer


def step(layer: str, component: str = "", node: str = "", slots: Sequence[int] = ()) -> Any:
    costs = {"seconds": 1.0, "bytes": 1, "words": layer, "partner": ""}
    return {"layer": layer, "component": component, "node": node, "slots": slots, **costs}


def done(*layers: str) -> list[Any]:
    return [step(layer, slots=[*range(6)] if layer == "net" else ()) for layer in layers]


def test_the_network_is_measured_first(ask: Ask) -> None:
    answer = ask([])
    assert answer["next"]["layer"] == "net"
    assert answer["next"]["slots"] == [0, 1, 2, 3, 4, 5]
    assert answer["left_s"] == 300 - 30


def test_the_next_step_divides_the_suspects_and_the_last_answer_names_the_suspect(ask: Ask) -> None:
    records = [record for record in measured(SLOW_DISK) if record.layer != "raw"]
    answer = ask(records, done=done("net", "ost"), budget="20min")
    assert (answer["next"]["layer"], answer["next"]["component"]) == ("raw", "oss2-disk1")
    answer = ask(measured(SLOW_DISK), done=done(*LAYERS))
    assert (answer["next"], answer["reason"]) == (None, "certain")
    assert answer["sentences"][0].startswith("Suspect: disk oss2-disk1 (1 of 1 slow target")
    assert " Next: read its SMART values" in answer["sentences"][0]
    assert any("raw oss2-disk1 read" in line for line in answer["table"])
    assert answer["commands"] == ["client1: fio --rw=read"]


def test_symptoms_are_quoted_and_order_the_suspects(tmp_path: Path, ask: Ask) -> None:
    records = [record for record in measured(SLOW_DISK) if record.layer != "raw"]
    without_symptoms = ask(records, done=done("net", "ost"))["sentences"][0]
    assert without_symptoms.startswith(
        "Suspects, ambiguous: disk oss2-disk1 or target scratch-OST0002"
    )
    symptom = Symptom(
        "lustre", "scratch-OST0002", "import", State.WARNING, Direction.RAISES, "reconnected"
    )
    report = Report("oss2", 1.0, (Look("lustre", 1, (symptom,)),))
    save_symptoms(tmp_path / "symptoms.json", SavedLook(report, Past()))
    saved = json.loads((tmp_path / "symptoms.json").read_text(encoding="utf-8"))
    answer = ask(records, done=done("net", "ost"), symptoms={"oss2": saved})
    [sentence] = answer["sentences"]
    assert sentence.startswith("Suspects, ambiguous: target scratch-OST0002 or disk oss2-disk1")
    assert sentence.endswith(" Symptoms of target scratch-OST0002: reconnected.")
    assert answer["slow"]["sets"][0]["alternatives"][0] == ["scratch-OST0002"]
    healthy = ask(measured({}), done=done(*LAYERS), symptoms={"oss2": saved})
    assert healthy["sentences"] == ["Nothing that could be judged is slow."]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_slow_target_shows_where_its_time_goes(tmp_path: Path, ask: Ask) -> None:
    slow = "scratch-OST0002"
    loads = {f"scratch-OST000{index}": Load() for index in range(3)}
    loads[slow] = Load(client=80, queue=70, handled=8, disk=1.9, waiting=12)
    readings = []
    for when, requests in enumerate((100, 400)):
        grown = {ost: load._replace(requests=requests) for ost, load in loads.items()}
        for host, put_files, given in (
            ("client1", put_client, grown),
            *((f"oss of {ost}", put_server, {ost: load}) for ost, load in grown.items()),
        ):
            put_files(tmp_path / host, given)
            reading = Reading.of(host, float(when), look(tmp_path / host))
            readings.append(str(tmp_path / f"{host}.{when}"))
            Path(readings[-1]).write_text(json.dumps(write(reading)), encoding="utf-8")
    answer = ask(measured(SLOW_DISK), done=done(*LAYERS), readings=readings)
    expected = f"{slow}: of 80 ms a read, 70 wait in the server's queue (2 peers: 1.0); 12.0 "
    (sentence,) = (text for text in answer["sentences"] if text.startswith(slow))
    assert sentence.startswith(expected)
    Path(readings[0]).write_text("{}", encoding="utf-8")
    answer = ask(measured(SLOW_DISK), done=done(*LAYERS), readings=readings)
    # the client's first reading is lost, and with it the whole
    assert any("Where the time goes is known in part" in text for text in answer["sentences"])
    assert any(f"{slow}: of 78 ms a read at the server" in text for text in answer["sentences"])
    healthy = ask(measured({}), done=done(*LAYERS), readings=readings[1:])
    assert healthy["sentences"] == ["Nothing that could be judged is slow."]


def test_unusable_symptoms_are_reported_and_clear_no_suspect(ask: Ask) -> None:
    now = 1_795_140_780.0
    old = write(Report("oss2", now - 7300, ()))
    [sentence] = ask(measured(SLOW_DISK), done=done(*LAYERS))["sentences"]
    # a playbook passes the text of the file
    symptoms = {"oss1": "{cut", "oss2": json.dumps(old), "oss3": {"schema": 7}}
    begun = {**BEGUN, "oss2": now}
    records = [
        record._replace(started_at=now + 60, finished_at=now + 70)
        if record.host == "oss2"
        else record
        for record in measured(SLOW_DISK)
    ]
    answer = ask(records, done=done(*LAYERS), symptoms=symptoms, begun=begun)["sentences"]
    assert answer[0] == sentence
    assert answer[1].startswith("Left out are the symptoms of oss1 (its symptoms are damaged (")
    assert ", of oss2 (its last look is 2 h old), of oss3 (the report of symptoms" in answer[1]


def test_measurements_from_before_the_start_do_not_vote(ask: Ask) -> None:
    records = list(measured(SLOW_DISK))
    start = dict.fromkeys(BEGUN, time.time())
    answer = ask(records, done=done(*LAYERS), begun=start)
    assert answer["summary"].startswith("0 slow, 0 good, ")


def test_a_failure_is_reported_with_the_tool_s_message_and_not_as_slow(ask: Ask) -> None:
    behind = ("oss2-disk1", "scratch-OST0002")
    records = [record for record in measured({}) if record.component not in behind]
    [good] = [record for record in measured({}) if record.component == "oss2-disk1"][:1]
    keys = {"layer": "raw", "component": good.component, "operation": good.operation}
    records.append(failed(**keys, started_at=good.started_at))
    answer = ask(records, done=done(*LAYERS))
    assert answer["sentences"] == [
        "Failing: disk oss2-disk1 (1 of 1 failed measurement crosses it): fio said no. Next: read "
        "its server's kernel messages and SMART values, and save its data before it is touched."
    ]
    assert answer["slow"]["sets"] == []
    [failure] = answer["failed"]
    assert answer["sentences"][0].startswith(f"{failure['sentence']}. Next: ")
    assert failure["alternatives"] == [["oss2-disk1"]]
    # a failed measurement has no rate, and its suspect no remaining or needed rate
    [measurement] = failure["slow"]
    assert (measurement["name"], measurement["reason"]) == ("raw oss2-disk1 read", "fio said no")
    assert {measurement[key] for key in ("measured_Bps", "expected_Bps", "error")} == {None}
    [loss] = failure["suspects"][0]["losses"]
    assert (loss["left_Bps"], loss["needed_Bps"]) == (None, None)
    heading, row = answer["table"]
    assert heading.split()[:2] == ["vote", "measurement"]
    assert row.split() == ["failed", "raw", "oss2-disk1", "read", "oss2-disk1", "fio", "said", "no"]
    records += [record for record in measured({}) if record.component == "scratch-OST0002"]
    answer = ask(records, done=done(*LAYERS))
    assert answer["reason"] == "not explained by one part"
    assert answer["sentences"] == [
        "Failing in part: disk oss2-disk1 (raw oss2-disk1 read failed, other measurements that "
        "cross it did not): fio said no"
    ]


def test_lost_segments_point_to_the_cable(ask: Ask) -> None:
    answer = ask(measured({}, ["oss1-nic"]), done=done(*LAYERS))
    assert answer["sentences"] == [
        "Suspect: nic oss1-nic (3 of 3 pairs of hosts that lose segments cross it, 3 healthy "
        "ones do not). Segments are lost, which slows each connection by another amount. Network "
        "rates fine, targets fine. Next: change its cable and transceiver, one at a time; ethtool "
        "-S counts what is lost."
    ]


def follow(ask: Ask, **request: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return all steps in order, and the last answer."""
    steps: list[Any] = []
    while True:
        elapsed = sum(step["seconds"] for step in steps)
        answer = ask([], done=steps, elapsed_s=elapsed, **request)
        if answer["next"] is None:
            return steps, answer
        steps.append(answer["next"])


@pytest.mark.parametrize("seconds", [31, 60, 90, 120, 200, 300, 600])
def test_steps_and_the_collection_after_them_fit_into_the_time_budget(
    ask: Ask, seconds: int
) -> None:
    steps, end = follow(ask, budget=f"{seconds}s")
    assert sum(step["seconds"] for step in steps) + 30 <= seconds
    assert (end["reason"] == "budget") is bool(end["beyond"])
    assert bool(end["beyond"]) is (len(steps) < len(LAYERS))


def test_nodes_that_take_turns_take_longer(ask: Ask) -> None:
    at_once, in_turns = (
        ask([], done=done("net", "ost"), budget="1h", **forks)["next"]
        for forks in ({}, {"forks": 1})
    )
    assert (at_once["layer"], in_turns["seconds"]) == ("raw", 3 * at_once["seconds"])


@pytest.mark.parametrize("size", ["1 kB", "10 GB", "50 GB", "1 TB"])
def test_steps_fit_into_the_byte_budget(ask: Ask, size: str) -> None:
    steps, end = follow(ask, budget="1h", budget_bytes=size)
    assert sum(step["bytes"] for step in steps) <= parse_bytes(size)
    assert len(steps) + len(end["beyond"]) == len(LAYERS)


def test_components_that_were_not_ok_are_measured_if_the_budget_is_too_small_for_all(
    ask: Ask,
) -> None:
    known = ["scratch as a whole", "scratch-OST0002", "oss1-disk1"]
    steps, end = follow(ask, budget="1h", budget_bytes="45 GB", known=known)
    assert [step["component"] for step in steps if step["layer"] != "net"] == known[1:]
    assert any(text.startswith("write and read of all targets (") for text in end["beyond"])
    steps, _ = follow(ask, budget="1h", known=known)
    assert [step["component"] for step in steps] == ["", "", ""]


def test_a_target_without_a_reference_is_compared_with_its_siblings(ask: Ask) -> None:
    name = "scratch-OST0002"
    records = [
        record._replace(spec_hash="another", run_id=f"{record.run_id} alone")
        for record in measured(SLOW_DISK)
        if record.component == name
    ]
    steps = [*done("net", "raw"), step("ost", name, "client1")]
    answer = ask(records, targets=[name], done=steps, budget="20min")
    assert (answer["next"]["layer"], answer["next"]["component"]) == ("ost", "")
    end = ask(records, targets=[name], done=[*steps, *done("ost")], budget="20min")
    assert end["sentences"] == [
        "Nothing that could be judged is slow; 2 measurements could not be, and say nothing."
    ]


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ({"targets": ["nonsense"]}, UsageError, "is no part of this site"),
        ({"budget": "0s"}, UsageError, "is no time to measure anything"),
        ({"budget": "30s"}, UsageError, "30 s of it are kept for bringing the results back"),
        ({"budget_bytes": "0 GB"}, UsageError, "moves nothing"),
        ({"budget": "soon"}, DocumentError, "soon"),
        ({"nonsense": 1}, DocumentError, "'nonsense' is no key"),
        ({"done": [{}]}, DocumentError, "is damaged"),
    ],
)
def test_a_wrong_request_is_refused_with_a_message(
    ask: Ask,
    request_: dict[str, Any],
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        ask([], **request_)


# --- An investigation without firm baselines names the slow component and its reference.


NAME, DISK = "scratch-OST0002", "oss2-disk1"
SLOWER_DISK = {DISK: both(8e6)}


class Site:
    """The lab with faults: each step returns the records of its measurements."""

    def __init__(self, ask: Ask, budget: str, document: Any = None) -> None:
        self._ask, self._budget = ask, budget
        self._document = document or LAB.plan.to_json()
        self._night = list(measured(SLOWER_DISK))
        self._records: list[Record] = []
        self.done: list[dict[str, Any]] = []
        self.snapshots: list[str] = []

    def follow(self, max_steps: int = 20) -> dict[str, Any]:
        """Return the last answer, or the one after ``max_steps`` steps."""
        while True:
            request = {"targets": [NAME], "budget": self._budget, "done": self.done}
            request["elapsed_s"] = sum(step["seconds"] for step in self.done)
            answer = self._ask(self._records, self._document, self.snapshots, **request)
            if answer["next"] is None or len(self.done) == max_steps:
                return dict(answer)
            self.done.append(answer["next"])
            self._records += self._measure(answer["next"])
            assert len(self.done) < 20, "it does not end"

    def _measure(self, step: dict[str, Any]) -> Iterable[Record]:
        for record in self._night:
            if record.layer != step["layer"] or step["component"] not in ("", record.component):
                continue
            together = record.scenario.value == "together"
            if step["layer"] == "net" or (step["component"] and together):
                continue
            number = len(self.done)
            yield record._replace(
                id=f"{record.id} {number}",
                run_id=f"{record.run_id} {number}",
                started_at=record.started_at + number,
            )

    def save_run(self, path: Path) -> None:
        """Add a run of the target five hours ago to a snapshot of client1."""
        now = time.time()
        series: list[Mapping[str, Any]] = []
        for record in self._night:
            if (record.layer, record.component) == ("ost", NAME):
                at = now - 5 * 3600
                latest = record._replace(started_at=at, finished_at=at + 1)
                sample = Sample(at, latest.rate, None, 119e6, 5, None)
                series.append(operation_entry(Series(latest, (sample,))))
        known = {f"ost/{NAME}": {"evidence": None, "operations": series}}
        document = Snapshot("client1", now, (), {}, known).to_json()
        path.write_text(json.dumps(document), encoding="utf-8")
        self.snapshots = [str(path)]


def layers(done: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(step["layer"], step["component"]) for step in done]


@pytest.mark.parametrize("budget", ["5min", "20min", "1h"])
def test_a_slow_target_without_a_baseline_is_found_by_comparison_with_its_peers(
    ask: Ask, budget: str
) -> None:
    site = Site(ask, budget)
    end = site.follow()
    assert end["slow"]["sets"][0]["alternatives"] == [[DISK]], layers(site.done)
    assert end["sentences"][0].startswith(f"Suspect: disk {DISK}")
    assert end["unused"] == []


def test_all_targets_are_measured_first_if_they_take_less_than_half_of_the_budget(ask: Ask) -> None:
    rich = Site(ask, "1h")
    rich.follow()
    assert layers(rich.done)[0] == ("ost", "")
    poor = Site(ask, "5min")
    poor.follow()
    first = layers(poor.done)[:3]
    assert first[0] == ("ost", NAME)
    assert [layer for layer, _ in first] == ["ost"] * 3
    # targets on other servers share least with it
    assert "scratch-OST0003" not in dict.fromkeys(name for _, name in first)


@pytest.mark.slow
def test_a_provisional_baseline_is_enough_for_a_gross_loss(ask: Ask) -> None:
    site = Site(ask, "20min", with_baselines(LAB.plan, runs=3))
    first = site.follow(max_steps=1)
    assert layers(site.done)[0] == ("ost", NAME)
    assert "its provisional baseline (rests on 3 runs of 5 needed)" in " ".join(first["table"])
    assert site.follow()["sentences"][0].startswith(f"Suspect: disk {DISK}")


def test_peers_of_the_night_before_are_a_reference_for_one_target(tmp_path: Path, ask: Ask) -> None:
    site = Site(ask, "5min")
    site.save_run(tmp_path / "client1.snapshot")
    first = site.follow(max_steps=1)
    assert layers(site.done) == [("ost", NAME)]
    assert "the median of its 5 peers in its last run" in " ".join(first["table"])


def test_earlier_runs_do_not_vote(tmp_path: Path, ask: Ask) -> None:
    site = Site(ask, "31s")
    site.save_run(tmp_path / "client1.snapshot")
    end = site.follow()
    assert (site.done, end["slow"]["sets"]) == ([], [])


def test_a_damaged_snapshot_is_reported_and_the_investigation_continues(
    tmp_path: Path, ask: Ask
) -> None:
    site = Site(ask, "20min")
    damaged = tmp_path / "client1.snapshot"
    damaged.write_text("{cut", encoding="utf-8")
    site.snapshots = [str(damaged)]
    end = site.follow()
    assert end["slow"]["sets"]
    assert any(text.startswith("Earlier runs are left out: ") for text in end["sentences"])
