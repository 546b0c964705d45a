"""``plumbline submit`` sends every verdict to its service and reports those it cannot send."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from pathlib import Path
from typing import Any, Iterator, Sequence

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError, ToolError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.service import Service
from plumbline.model.space import Amount, SpaceTerms, TargetSpace
from plumbline.model.symptom import Direction, Look, Report
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.parts.space.history import record_of
from plumbline.parts.space.outlook import Look as SpaceLook
from plumbline.store.history import History
from tests.package.cli.driver import Run, call
from tests.package.cli.nagios import PROGRAM, nagios
from tests.package.cli.test_metrics import DEGRADED
from tests.package.judgements import REFERENCE, expectation
from tests.package.recorded import table
from tests.package.records import every_night, save
from tests.processes import is_powerless_root

FILE = table("submitted.yml")

READ = {"read/single": REFERENCE}
NODES = 200
MEMBERS = 50


def service(host: str, component: str, node: str = "client1", **changes: Any) -> Service:
    name = f"OST {component} read"
    values = (host, node, name, "c", "check_ost", (), "ost", component, "", 129600)
    return Service(*values)._replace(**changes)


def write_plan(
    folder: Path, services: Sequence[Service], expected: Sequence[Expectation] = ()
) -> str:
    node = Expectations("client1", "lab", tuple(entry.to_json() for entry in expected))
    path = folder / "plan.json"
    document = {
        "schema": 1,
        "site": "lab",
        "nodes": {"client1": node.to_json()} if expected else {},
        "services": [write(service) for service in services],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def document(*verdicts: Verdict, node: str = "client1", **changes: Any) -> str:
    raw = {"schema": 2, "node": node, "verdicts": [verdict.to_json() for verdict in verdicts]}
    return json.dumps({**raw, **changes})


def verdict(component: str = "OST0", sentence: str = "fine", **changes: Any) -> Verdict:
    return Verdict("ost", component, State.OK, Reason.FINE, sentence)._replace(**changes)


def lines(folder: Path, *verdicts: Verdict, **changes: Any) -> list[str]:
    """Submit verdicts on OST0, OST1 and their group; return the lines of the batch."""
    group = service("client1", "", description="OST group scratch", group="scratch")
    plan = write_plan(folder, [service("oss1", "OST0"), service("oss2", "OST1"), group])
    (folder / "verdicts.json").write_text(document(*verdicts, **changes))
    batch = folder / "batch"
    call("submit", str(folder / "verdicts.json"), "--plan", plan, "--batch", str(batch))
    return batch.read_text().splitlines()


def test_each_verdict_goes_to_the_host_and_service_of_the_plan(tmp_path: Path) -> None:
    figures = (Figure("read_Bps", 2e8, "", "160000000:", "100000000:", 2.5e8),)
    batch = lines(
        tmp_path,
        verdict("OST1", "OST1 read 200.0 MB/s", figures=figures),
        verdict("OST0", "OST0 hangs", state=State.CRITICAL),
        verdict("scratch", "group scratch fine", group=True),
        judged_at=1795241041.4,
    )
    start = "[1795241041] PROCESS_SERVICE_CHECK_RESULT;"
    data = "'read_Bps'=200000000;160000000:;100000000:;0;250000000"
    assert batch == [
        f"{start}oss2;OST OST1 read;0;OST OK - OST1 read 200.0 MB/s | {data}",
        f"{start}oss1;OST OST0 read;2;OST CRITICAL - OST0 hangs",
        f"{start}client1;OST group scratch;0;OST OK - group scratch fine",
    ]


@pytest.mark.parametrize(
    ("sentence", "output"),
    [
        ("two\nlines\r\nand a half", "two lines  and a half"),
        ("a | bar", "a / bar"),
        (r"C:\new\table", "C:/new/table"),
        ("bell\a and \x00", "bell? and ?"),
        ("x" * 20_000, "x" * 596 + " ..."),
    ],
)
def test_a_sentence_stays_one_line_of_text(tmp_path: Path, sentence: str, output: str) -> None:
    (line,) = lines(tmp_path, verdict(sentence=sentence))
    assert line.split(";", 4)[4] == f"OST OK - {output}"


def test_a_line_fits_the_nagios_limit(tmp_path: Path) -> None:
    figures = tuple(Figure(f"figure{number}", 1.0) for number in range(2000))
    (line,) = lines(tmp_path, verdict(figures=figures))
    output = line.split(";", 4)[4]
    assert 8000 < len(output) <= 8192
    assert output.endswith(";;;0")


def test_components_of_the_same_name_are_distinguished_by_node(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, [service("a", "sda", node="a"), service("b", "sda", node="b")])
    path = tmp_path / "verdicts.json"
    path.write_text(
        document(verdict("sda", "one"), node="a") + "\n" + document(verdict("sda", "two"), node="b")
    )
    assert call("submit", str(path), "--plan", plan, "--batch", str(tmp_path / "batch")) == 0
    results = [line.split(";") for line in (tmp_path / "batch").read_text().splitlines()]
    assert [(result[1], result[4]) for result in results] == [
        ("a", "OST OK - one"),
        ("b", "OST OK - two"),
    ]


def test_a_verdict_without_a_service_is_reported_and_the_others_are_submitted(
    tmp_path: Path, run: Run
) -> None:
    plan = write_plan(tmp_path, [service("oss1", "OST0"), service("oss2", "OST1")])
    path = tmp_path / "verdicts.json"
    path.write_text(document(verdict("OST0"), verdict("OST7")))
    output = run("submit", str(path), "--plan", plan, "--batch", str(tmp_path / "batch"), code=65)
    assert output.err.startswith("plumbline: 1 verdicts have no service in ")
    assert "ost OST7 of client1; write the plan again" in output.err
    assert output.out.splitlines() == [
        f"1 of 2 services to {tmp_path / 'batch'}: 1 OK, 0 WARNING, 0 CRITICAL, 0 UNKNOWN",
        "without a verdict: OST OST1 read of oss2",
    ]
    assert len((tmp_path / "batch").read_text().splitlines()) == 1


def test_counts_are_printed_as_json(tmp_path: Path, run: Run) -> None:
    plan = write_plan(tmp_path, [service("oss1", "OST0")])
    path = tmp_path / "verdicts.json"
    path.write_text(document(verdict("OST0", state=State.WARNING), verdict("OST7")))
    assert run(
        "submit", str(path), "--plan", plan, "--batch", str(tmp_path / "batch"), "--json", code=None
    ).document == {
        "to": str(tmp_path / "batch"),
        "results": 1,
        "states": {"OK": 0, "WARNING": 1, "CRITICAL": 0, "UNKNOWN": 0},
        "without_service": ["ost OST7 of client1"],
        "without_verdict": [],
    }


def test_a_batch_replaces_a_link_without_following_it(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("of root")
    (tmp_path / "batch").symlink_to(precious)
    assert lines(tmp_path, verdict("OST1"))
    assert precious.read_text() == "of root"


def test_documents_can_be_read_from_standard_input(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_plan(tmp_path, [service("oss1", "OST0")])
    monkeypatch.setattr("sys.stdin", io.StringIO(document(verdict("OST0"))))
    assert (
        run("submit", "-", "--plan", plan, "--batch", "-")
        .out.splitlines()[0]
        .endswith("oss1;OST OST0 read;0;OST OK - fine")
    )


def test_submitting_judge_output_equals_submitting_the_history(tmp_path: Path, run: Run) -> None:
    now = time.time()
    expected = [expectation(component=f"OST{n}", references=READ) for n in range(2)]
    plan = write_plan(tmp_path, [service("oss1", f"OST{n}") for n in range(2)], expected)
    for name, rate in (("OST0", 200e6), ("OST1", 80e6)):
        common: dict[str, Any] = {"repeats": (rate,) * 3, "spec_hash": "abc", "rate": rate}
        save(tmp_path / "all.sqlite", every_night(now - 60, component=name, **common))
    arguments = ["--plan", plan, "--history", str(tmp_path / "all.sqlite")]
    (tmp_path / "judged.json").write_text(run("judge", *arguments, "--json", code=2).out)
    direct, documents = (
        {
            tuple(line.split(";", 4)[2:])
            for line in run("submit", *words, code=None).out.splitlines()
        }
        for words in (
            (*arguments, "--batch", "-"),
            (str(tmp_path / "judged.json"), "--plan", plan, "--batch", "-"),
        )
    )
    assert {(name, state) for name, state, _ in direct} == {
        ("OST OST0 read", "0"),
        ("OST OST1 read", "2"),
    }
    assert documents == direct


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "nagios.cmd"
    os.mkfifo(path)
    return path


def submit(folder: Path, pipe: Path, *arguments: str) -> int:
    """Submit one verdict and wait half a second at most."""
    plan = write_plan(folder, [service("oss1", "OST0")])
    path = folder / "verdicts.json"
    path.write_text(document(verdict("OST0")))
    options = ("--pipe", str(pipe), "--wait", "0.5")
    return call("submit", str(path), "--plan", plan, *options, *arguments)


def test_a_pipe_without_a_reader_is_an_error_within_seconds(pipe: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(ToolError, match=r"no daemon reads .*nagios.cmd; start it \(systemctl"):
        submit(tmp_path, pipe)
    assert time.monotonic() - start < 60
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "nagios.cmd",
        "plan.json",
        "verdicts.json",
    ]


def test_submit_waits_for_a_restarting_daemon(tmp_path: Path, spool: Path) -> None:
    pipe = tmp_path / "nagios.cmd"
    readers: list[Reader] = []

    def restart() -> None:
        time.sleep(0.3)
        os.mkfifo(pipe)
        readers.append(Reader(pipe, takes=True))

    thread = threading.Thread(target=restart)
    thread.start()
    assert submit(tmp_path, pipe, "--spool", str(spool), "--wait", "60") == 0
    thread.join()
    readers[0].join()
    assert readers[0].batch.count("PROCESS_SERVICE_CHECK_RESULT") == 1


def test_a_regular_file_is_not_used_as_the_pipe(tmp_path: Path) -> None:
    path = tmp_path / "nagios.cmd"
    path.write_text("left behind")
    with pytest.raises(ToolError, match=r"nagios.cmd is no pipe, nothing was written to it"):
        submit(tmp_path, path)
    assert path.read_text() == "left behind"


def test_a_missing_pipe_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no command pipe .*nagios.cmd: Nagios makes it when"):
        submit(tmp_path, tmp_path / "nagios.cmd")
    assert not (tmp_path / "nagios.cmd").exists()


def test_a_link_is_not_followed(pipe: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(pipe)
    with pytest.raises(ToolError, match="is no pipe"):
        submit(tmp_path, link)


class Reader:
    """Reader of a pipe like the daemon; with ``takes`` it reads and removes the file."""

    def __init__(self, pipe: Path, *, takes: bool) -> None:
        self._pipe = pipe
        self._takes = takes
        self.command = ""
        self.batch = ""
        self.mode = 0
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe.open() as stream:
            self.command = stream.readline()
        file = Path(self.command.split(";")[1])
        if self._takes:
            self.batch, self.mode = file.read_text(), file.stat().st_mode & 0o777
            file.unlink()

    def join(self) -> None:
        self._thread.join(60)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    if is_powerless_root():
        pytest.skip("this root may not take the rights of the pipe's owner")
    path = tmp_path / "spool"
    path.mkdir()
    return path


def test_one_command_in_the_pipe_names_a_file_with_all_results(
    pipe: Path, tmp_path: Path, spool: Path
) -> None:
    reader = Reader(pipe, takes=True)
    assert submit(tmp_path, pipe, "--spool", str(spool), "--wait", "10") == 0
    reader.join()
    words, path, delete = reader.command.split(";")
    assert (words.partition(" ")[2], delete) == ("PROCESS_FILE", "1\n")
    assert Path(path).parent == spool
    assert reader.batch.endswith(";oss1;OST OST0 read;0;OST OK - fine\n")
    assert reader.mode == 0o644
    assert list(spool.iterdir()) == []


@pytest.mark.slow
def test_a_file_that_the_daemon_ignores_is_reported_and_removed(
    pipe: Path, tmp_path: Path, spool: Path
) -> None:
    reader = Reader(pipe, takes=False)
    with pytest.raises(ToolError, match=r"Nagios has not taken .*spool/plumbline-batch-.* 5 s"):
        submit(tmp_path, pipe, "--spool", str(spool), "--wait", "5")
    reader.join()
    assert list(spool.iterdir()) == []


def test_old_files_of_a_killed_call_are_removed(pipe: Path, tmp_path: Path, spool: Path) -> None:
    names = ("plumbline-batch-old", ".plumbline-batch-old", "plumbline-batch-new", "other")
    for name in names:
        (spool / name).touch()
        if not name.endswith("new"):
            os.utime(spool / name, (0, 0))
    reader = Reader(pipe, takes=True)
    submit(tmp_path, pipe, "--spool", str(spool), "--wait", "10")
    reader.join()
    assert sorted(path.name for path in spool.iterdir()) == ["other", "plumbline-batch-new"]


def test_a_missing_spool_is_an_error_message(pipe: Path, tmp_path: Path, spool: Path) -> None:
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StoreError, match=r"no batch can be written to .*nowhere: No such file"):
        submit(tmp_path, pipe, "--spool", str(spool / "nowhere"))
    os.close(descriptor)


@pytest.mark.parametrize(("text", "trouble"), FILE["documents"])
def test_damaged_documents_are_an_error_message(tmp_path: Path, text: str, trouble: str) -> None:
    path = tmp_path / "verdicts.json"
    path.write_text(text)
    plan = write_plan(tmp_path, [])
    with pytest.raises(DocumentError, match=trouble):
        call("submit", str(path), "--plan", plan, "--batch", "-")


@pytest.mark.parametrize(("raw", "trouble"), FILE["plans"])
def test_a_damaged_plan_is_an_error_message(tmp_path: Path, raw: str, trouble: str) -> None:
    (tmp_path / "plan.json").write_text(raw)
    with pytest.raises(DocumentError, match=trouble):
        call("submit", "-", "--plan", str(tmp_path / "plan.json"), "--batch", "-")


def service_names(number: int) -> tuple[str, str, str]:
    """Return node, host and component of the service of this number."""
    return f"client{number % NODES}", f"oss{number % NODES}", f"scratch-OST{number:04x}"


def verdicts_of(node: int) -> Iterator[Verdict]:
    """Yield the verdicts of a node, with all states among them."""
    for number in range(node, NODES * MEMBERS, NODES):
        name = service_names(number)[2]
        sentence = f"{name} read 80.3 MB/s; 40 % of | baseline\nby C:\\new, disk é{number}"
        figures = (Figure("read_Bps", number * 1e4, "", "160000000:", "100000000:", 2.5e8),)
        yield Verdict("ost", name, State(number % 4), Reason.FINE, sentence, figures=figures)


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="nagios4 is not installed, or may not start here")
def test_a_real_nagios_shows_ten_thousand_results(tmp_path: Path, run: Run) -> None:
    rows = [service_names(number) for number in range(NODES * MEMBERS)]
    services = [service(host, name, node=node) for node, host, name in rows]
    plan, judged_at = write_plan(tmp_path, services), int(time.time()) - 300
    paths = [tmp_path / f"client{node}.json" for node in range(NODES)]
    for node, path in enumerate(paths):
        path.write_text(document(*verdicts_of(node), node=f"client{node}", judged_at=judged_at))
    with nagios(services) as daemon:
        names = [str(path) for path in paths]
        pipe_options = ("--pipe", str(daemon.pipe), "--wait", "30")
        output = run("submit", *names, "--plan", plan, *pipe_options).out
        daemon.until(lambda: len(daemon.checked()) == len(services), "not all results")
        shown = daemon.checked()
        assert not [path for path in daemon.folder.iterdir() if "batch" in path.name]
    counts = "2500 OK, 2500 WARNING, 2500 CRITICAL, 2500 UNKNOWN"
    assert f"10000 of 10000 services to {daemon.pipe}: {counts}" in output
    for number, (_, host, name) in enumerate(rows):
        status = shown[host, f"OST {name} read"]
        # Nagios replaces a semicolon in the text with a colon
        text = f"{name} read 80.3 MB/s: 40 % of / baseline by C:/new, disk é{number}"
        assert status["current_state"] == str(number % 4)
        assert status["plugin_output"] == f"OST {State(number % 4).name} - {text}"
        data = f"'read_Bps'={number * 10000 or 0};160000000:;100000000:;0;250000000"
        assert status["performance_data"] == data
        assert (status["long_plugin_output"], status["last_check"]) == ("", str(judged_at))


def symptoms_plan(folder: Path) -> tuple[str, Path]:
    """Return a plan with symptom services and the history of its site."""
    node = service("client1", "client1", layer="symptoms", freshness_s=3600)
    services = [
        node._replace(description="NODE client1 symptoms"),
        node._replace(description="SYMPTOMS client1 arrays", component="client1 arrays"),
        node._replace(description="SYMPTOMS client1 disks", component="client1 disks"),
    ]
    history = folder / "history.sqlite"
    with History(history):
        pass
    (folder / "symptoms").mkdir()
    return write_plan(folder, services), history


def save_symptoms(folder: Path, **changes: Any) -> None:
    look = Look("md", 1, (DEGRADED._replace(direction=Direction.LOWERS),), kind="arrays")
    report = write(Report("client1", time.time() - 60, (look,)))
    (folder / "symptoms" / "client1.json").write_text(json.dumps({**report, **changes}))


def test_collected_symptoms_are_submitted(tmp_path: Path, run: Run) -> None:
    plan, history = symptoms_plan(tmp_path)
    words = ["--plan", plan, "--history", str(history), "--batch", "-"]
    save_symptoms(tmp_path)
    out, err = run("submit", *words)
    assert err == ""
    looks, arrays, disks = (line.partition(";")[2] for line in out.splitlines())
    assert looks.startswith("client1;NODE client1 symptoms;0;SYMPTOMS OK - client1: looked at 6")
    assert arrays.startswith(
        "client1;SYMPTOMS client1 arrays;1;SYMPTOMS WARNING - client1 arrays: array md0 is degraded"
    )
    assert disks.startswith("client1;SYMPTOMS client1 disks;3;")


def test_collected_space_is_submitted(tmp_path: Path, run: Run) -> None:
    node = service("client1", "client1", layer="space", freshness_s=10_800)
    services = [
        node._replace(description=f"SPACE {name}", component=name) for name in ("scratch", "home")
    ]
    plan, history = write_plan(tmp_path, services), tmp_path / "history.sqlite"
    full = TargetSpace("scratch-OST0003", "ost", Amount(970, 30))
    look = SpaceLook(SpaceTerms("scratch"), time.time() - 60, (full,))
    with History(history) as console:
        console.save(record_of(look, "client1"))
        # another node does not speak for the one of the plan
        console.save(record_of(look._replace(targets=(), at=time.time()), "client2"))
    out, err = run("submit", "--plan", plan, "--history", str(history), "--batch", "-")
    assert err == ""
    used, home = (line.partition(";")[2] for line in out.splitlines())
    assert used.startswith(
        "client1;SPACE scratch;1;SPACE WARNING - scratch: scratch-OST0003 is 97 % full, 30 B free "
    )
    assert home.startswith("client1;SPACE home;3;SPACE UNKNOWN - home: no look has arrived; ")


@pytest.mark.parametrize(("changes", "part"), FILE["symptoms"])
def test_unusable_symptoms_are_unknown(tmp_path: Path, run: Run, changes: Any, part: str) -> None:
    plan, history = symptoms_plan(tmp_path)
    if changes is not None:
        save_symptoms(tmp_path, **changes)
    out, err = run("submit", "--plan", plan, "--history", str(history), "--batch", "-")
    assert (err, out.count(";3;SYMPTOMS UNKNOWN - client1")) == ("", 3)
    assert out.count(part) == 3
