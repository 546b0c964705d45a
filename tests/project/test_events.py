"""The role events in the real Simple Event Correlator: recorded messages in, results out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Optional

import jinja2
import pytest

from plumbline.model.symptom import Direction
from plumbline.model.verdict import State
from plumbline.parts.facts.kernel_messages import EVENTS, MESSAGES, Message
from tests.package.cli import nagios
from tests.package.recorded import table, text
from tests.package.waiting import eventually
from tests.project.playbook import run_play
from tests.project.repository import ROOT, document
from tests.project.test_nagios_objects import CONTACT, make, plan

pytestmark = pytest.mark.long

ROLE = ROOT / "roles" / "events"
DATA = ROOT / "tests" / "data"
HOSTS = ["client1", "oss1", "oss2", "oss3"]
NEVER = 10**12
FINE = "0;EVENTS OK - nothing open"
_SINCE = re.compile(r" ?since \d{4}-\d\d-\d\d \d\d:\d\d UTC")
_RESULT = re.compile(
    r"\[\d+\] PROCESS_SERVICE_CHECK_RESULT;([A-Za-z0-9_.-]+);Storage events;(\d;.*)"
)


def rendered(role: Path, template: str, **values: object) -> str:
    """Return a template rendered with the role's own defaults and variables."""
    variables = {**document(role / "defaults" / "main.yml"), **document(role / "vars" / "main.yml")}
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    text = (role / "templates" / template).read_text(encoding="utf-8")
    return environment.from_string(text).render({**variables, **values})


def rules() -> str:
    """Return the rules of the role, with the package's patterns of kernel messages."""
    return rendered(ROLE, "storage.sec.j2", __events_kernel=EVENTS)


class Correlator:
    """The real program with the role's rules, and the command pipe of Nagios."""

    def __init__(self, folder: Path, pipe: Optional[Path] = None, **options: Any) -> None:
        self.folder = folder
        self.pipe = pipe or folder / "nagios.cmd"
        self.hosts = options.get("__events_hosts", HOSTS)
        self.log = folder / "storage.log"
        self.log.touch()
        setup = rendered(
            ROLE,
            "setup.sec.j2",
            __events_directory=str(ROLE / "files"),
            __events_state=str(folder),
            __events_pipe=str(self.pipe),
            nagios_events_service=document(ROOT / "roles/nagios/defaults/main.yml")[
                "nagios_events_service"
            ],
            **{"events_heartbeat_min": NEVER, "__events_hosts": HOSTS, **options},
        )
        (folder / "setup.sec").write_text(setup, encoding="utf-8")
        (folder / "storage.sec").write_text(rules(), encoding="utf-8")
        if pipe is None:
            os.mkfifo(self.pipe)
        self._reader = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK) if pipe is None else None

    def command(self, *options: str) -> list[str]:
        files = [f"--conf={self.folder}/*.sec", f"--input={self.log}"]
        return ["sec", *files, "--intevents", "--intcontexts", "--nochildterm", *options]

    def feed(self, *texts: str) -> list[tuple[str, str]]:
        """Process a whole log; return the results for Nagios after the start."""
        self.log.write_text("".join(texts), encoding="utf-8")
        call = self.command("--notail", "--fromstart")
        ended = subprocess.run(call, capture_output=True, text=True, timeout=300, check=True)
        assert ended.stderr == ""
        return self.results()[len(self.hosts) :]

    def results(self) -> list[tuple[str, str]]:
        """Return host, and state with text without times, of each line in the pipe."""
        assert self._reader is not None
        try:
            lines = os.read(self._reader, 1 << 16).decode().splitlines()
        except BlockingIOError:
            return []
        matches = [_RESULT.fullmatch(line) for line in lines]
        assert all(matches), lines
        return [(m[1], _SINCE.sub("", m[2]).replace(" ()", "")) for m in matches if m]

    def close(self) -> None:
        if self._reader is not None:
            os.close(self._reader)


Start = Callable[..., Correlator]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that makes the correlator of a test with options."""
    with ExitStack() as stack:

        def correlator(**options: Any) -> Correlator:
            made = Correlator(tmp_path, **options)
            stack.callback(made.close)
            return made

        yield correlator


@pytest.fixture
def correlator(start: Start) -> Correlator:
    return start()


def recorded(name: str) -> str:
    return (DATA / "events" / f"{name}.log").read_text(encoding="utf-8")


def syslog(message: str, host: str = "oss1") -> str:
    return f"Nov 20 02:13:01 {host} kernel: [ 12.345678] {message}\n"


FALLEN = (
    "2;EVENTS CRITICAL - I/O errors of sde (3 times), disk sde went away, "
    "medium or hardware errors of sde (2 times), sde failed in array md2"
)


OUTAGE = [
    ("client1", "1;EVENTS WARNING - connection to scratch-OST0003 lost"),
    ("oss2", "1;EVENTS WARNING - scratch-OST0003 is in recovery after an outage (2 times)"),
]


def kernel(name: str, host: str = "oss1") -> list[str]:
    """Return the messages of a host during routine work."""
    text = (DATA / "messages" / "routine" / f"{name}.txt").read_text(encoding="utf-8")
    return [syslog(line.partition("] ")[2], host) for line in text.splitlines()]


REBOOT = "Nov 20 02:13:01 oss1 systemd-logind[560]: {}.\n"
SHUTDOWNS = ["System is rebooting", "The system will reboot now!", "System is powering down"]


@pytest.mark.parametrize("announcement", SHUTDOWNS)
def test_a_clean_boot_mount_umount_failback_and_shutdown_raise_nothing(
    correlator: Correlator, announcement: str
) -> None:
    shutdown = [*kernel("umount"), REBOOT.format(announcement), *kernel("shutdown")]
    start = [*kernel("boot"), *kernel("mount")]
    assert correlator.feed(*shutdown, *start, *kernel("failback")) == []
    # each reading of the log begins with the state file of the one before
    for lines in (kernel("failback"), shutdown, start):
        assert correlator.feed(*lines) == []


def test_a_boot_without_a_shutdown_is_an_event(correlator: Correlator) -> None:
    assert correlator.feed(*kernel("boot")) == [("oss1", "1;EVENTS WARNING - has booted")]


@pytest.mark.parametrize("case", table("events/feeds.yml")["cases"], ids=lambda case: case["case"])
def test_logs_give_these_results(start: Start, case: Mapping[str, Any]) -> None:
    correlator = start(**case.get("options", {}))
    for step in case["steps"]:
        if "older_s" in step:
            aged(correlator.folder / "open", step["older_s"])
        results = correlator.feed(text(step.get("log", "")))
        assert [" ".join(result) for result in results] == step["gives"]


def aged(state: Path, by_s: int) -> None:
    """Make the state of a correlator older by some seconds."""
    times = re.compile(r"(?<=\t)\d{10}(?=[\t\n])")
    text = state.read_text(encoding="utf-8")
    state.write_text(times.sub(lambda time: str(int(time[0]) - by_s), text), "utf-8")


NAMED = ["client1.site.example", "oss-1.site.example", "oss_2", "oss_3.site.example"]


@pytest.mark.parametrize(
    ("called", "host"),
    [
        ("client1", "client1.site.example"),
        ("client1.site.example", "client1.site.example"),
        ("client1.another.example", "client1.site.example"),
        ("oss-1", "oss-1.site.example"),
        ("oss_2", "oss_2"),
        ("oss_2.site.example", "oss_2"),
        ("oss_3", "oss_3.site.example"),
    ],
)
def test_a_host_is_recognised_by_its_short_name(start: Start, called: str, host: str) -> None:
    correlator = start(__events_hosts=NAMED)
    failing = syslog("Lustre: scratch-OST0003: Will be in recovery for at least 2:30", called)
    lost = syslog("md/raid6:md2: Disk failure on sde, disabling device.", called)
    back = syslog("md: md2: recovery done.", called)
    recovering = [(host, "1;EVENTS WARNING - scratch-OST0003 is in recovery after an outage")]
    assert correlator.feed(failing) == recovering
    # open events are kept under the same name
    assert [result[0] for result in correlator.feed(lost)] == [host]
    assert correlator.feed(back) == recovering


REFUSED: list[tuple[list[str], str]] = [
    (NAMED, ""),
    (HOSTS, ""),
    (["oss1", "oss1.site.example", "oss2"], "is the same of oss1, oss1.site.example;"),
    (["oss1.a.example", "oss1.b.example"], "is the same of oss1.a.example, oss1.b.example;"),
    (["oss1", "10.0.0.1"], "No line of a log can begin with the host 10.0.0.1;"),
    (["oss1", "oss+2"], "No line of a log can begin with the host oss+2;"),
    (["oss1", "site:oss2"], "No line of a log can begin with the host site:oss2;"),
]


def test_hosts_that_logs_cannot_distinguish_are_refused(tmp_path: Path) -> None:
    """Each plan is that of a console of its own in one play."""
    consoles = {
        f"console{number}": {"agent_plan": {"hosts": [{"name": name} for name in names]}}
        for number, (names, _) in enumerate(REFUSED)
    }
    done = run_play(tmp_path, "events", {}, hosts=consoles)
    failure = re.compile(r"fatal: \[(\w+)\](.*?)(?=fatal: |\nTASK|\nPLAY)", re.S)
    failures = dict(failure.findall(done.stdout))
    assert failures.keys() == {f"console{n}" for n, (_, text) in enumerate(REFUSED) if text}
    for console, output in failures.items():
        assert REFUSED[int(console[-1])][1] in " ".join(output.split())


def test_hundreds_of_slow_threads_are_one_event_until_the_last_completes(
    correlator: Correlator,
) -> None:
    slow = "Lustre: Service thread pid {} was inactive for 200.12s. The thread might be hung"
    done = "Lustre: Service thread pid {} completed after 212.12s. This indicates the system was "
    hung = [syslog(slow.format(pid)) for pid in range(1000, 1300)]
    assert correlator.feed(*hung) == [
        ("oss1", "1;EVENTS WARNING - service threads are slow or hang (300 times)")
    ]
    assert correlator.feed(*(syslog(done.format(pid)) for pid in range(1000, 1299))) == [
        ("oss1", "1;EVENTS WARNING - service threads are slow or hang")
    ]
    assert correlator.feed(syslog(done.format(1299))) == [("oss1", FINE)]


EDISON = [line.split("\t") for line in (DATA / "events" / "edison.tsv").read_text().splitlines()]


@pytest.mark.parametrize(
    ("state", "text", "message"), [row[1:] for row in EDISON], ids=[row[0] for row in EDISON]
)
def test_each_event_of_edisons_list_is_an_event(
    correlator: Correlator, state: str, text: str, message: str
) -> None:
    code = ("OK", "WARNING", "CRITICAL").index(state)
    line = f"Nov 20 02:13:01 oss1 {message}\n"
    assert correlator.feed(line) == [("oss1", f"{code};EVENTS {state} - {text}")]


RULE = re.compile(r"^pattern=(.*)\ndesc=.*\naction=(.*)$", re.MULTILINE)
TEMPLATE = (ROLE / "templates" / "storage.sec.j2").read_text(encoding="utf-8")
KERNEL_KIND = re.compile(r"__events_kernel\.(\w+)")


def test_patterns_of_kernel_messages_are_in_the_package_only() -> None:
    patterns = [pattern for pattern, _ in RULE.findall(TEMPLATE)]
    own = [text for text in patterns if "kernel: " in text and not KERNEL_KIND.search(text)]
    # syslog has the lines of systemd under its own name
    assert len(own) == 1
    assert "systemd-shutdown" in own[0]
    assert {kind for text in patterns for kind in KERNEL_KIND.findall(text)} <= EVENTS.keys()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_events_and_symptoms_have_the_same_severity(message: Message) -> None:
    severities = re.compile(rf"\b(?:{State.WARNING.name}|{State.CRITICAL.name})\b")
    actions = [
        severities.findall(action)
        for pattern, action in RULE.findall(TEMPLATE)
        if KERNEL_KIND.findall(pattern) == [message.kind]
    ]
    expected = message.kind not in NO_EVENT and message.direction is Direction.RAISES
    assert actions == ([[message.severity.name]] if expected else [[]] * len(actions))


NO_EVENT = {message.kind for message in MESSAGES}.difference(KERNEL_KIND.findall(TEMPLATE))
"""Kinds of messages that are evidence for a slow measurement but no event."""


def test_kernel_messages_that_are_symptoms_are_events_too(start: Start) -> None:
    """Each message comes from a host of its own."""
    rows = (DATA / "messages" / "kernel.tsv").read_text(encoding="utf-8").splitlines()
    messages = [row.split("\t") for row in rows]
    hosts = [f"host{number}" for number in range(40)]
    correlator = start(__events_hosts=hosts)
    silent = set()
    for first in range(0, len(messages), len(hosts)):
        (correlator.folder / "open").unlink(missing_ok=True)
        kinds = {host: kind for host, (kind, _, _) in zip(hosts, messages[first:])}
        lines = [syslog(text, host) for host, (_, _, text) in zip(hosts, messages[first:])]
        heard = {host for host, _ in correlator.feed(*lines)}
        silent |= {kind for host, kind in kinds.items() if host not in heard}
    assert silent == NO_EVENT | {"failover"}


def test_a_captured_outage_of_a_target_leaves_the_eviction_open(correlator: Correlator) -> None:
    text = (DATA / "messages" / "lustre-ost-down.txt").read_text(encoding="utf-8")
    lines = [f"Nov 20 02:13:01 oss1 kernel: {line}\n" for line in text.splitlines()]
    assert correlator.feed(*lines) == [
        ("oss1", "1;EVENTS WARNING - evicted by lustre-OST0003 (2 times)")
    ]


def test_no_text_is_longer_than_nagios_accepts(correlator: Correlator) -> None:
    lines = [syslog(f"I/O error, dev dm-{number}, sector 1") for number in range(3000)]
    ((host, text),) = correlator.feed(*lines)
    assert host == "oss1"
    assert text.endswith("and 995 more")
    assert len(text) < 700


def test_open_events_survive_a_restart_and_a_damaged_file_is_ignored(
    correlator: Correlator,
) -> None:
    correlator.feed(recorded("outage"))
    subprocess.run(correlator.command("--notail"), check=True, capture_output=True, timeout=300)
    assert correlator.results()[2] == OUTAGE[1]
    state = correlator.folder / "open"
    state.write_text("oss1\tx\nnonsense\noss1\tk\tCRITICAL\tbrief\tx\t1\t1\tt\n", encoding="utf-8")
    assert correlator.feed() == []


def test_without_nagios_no_file_is_created_in_place_of_its_pipe(correlator: Correlator) -> None:
    correlator.pipe.unlink()
    correlator.log.write_text(recorded("outage"), encoding="utf-8")
    call = correlator.command("--notail", "--fromstart")
    ended = subprocess.run(call, capture_output=True, text=True, timeout=300, check=True)
    assert "No such file or directory; the result of oss2 was not told" in ended.stderr
    assert not correlator.pipe.exists()


def test_each_host_is_reported_again_at_its_heartbeat(start: Start) -> None:
    # the first minute counts, and so does one that begins during the run
    results = start(events_heartbeat_min=1).feed()
    assert results[: len(HOSTS)] == [(host, FINE) for host in HOSTS]
    assert set(results) == set(results[: len(HOSTS)])


BURST_OVER_A_MINUTE = """
require "$ARGV[0]/correlate.pl";
package Plumbline::Events;
setup(hosts => [qw(oss1 oss2)], pipe => $ARGV[1], service => 'Storage events', state => $ARGV[2],
    lasting_s => 1000, brief_s => 1000, heartbeat_min => 1);
problem('oss1', 'WARNING', 'lasting', 'one', 'one');
minute();
problem('oss1', 'WARNING', 'lasting', 'other', 'other');
report_news();
"""


def test_a_heartbeat_does_not_split_a_burst(correlator: Correlator) -> None:
    given = (ROLE / "files", correlator.pipe, correlator.folder / "open")
    call = ["perl", "-e", BURST_OVER_A_MINUTE, *map(str, given)]
    subprocess.run(call, check=True, timeout=300)
    assert correlator.results() == [("oss2", FINE), ("oss1", "1;EVENTS WARNING - one, other")]


def results_within(correlator: Correlator, seconds: float) -> list[tuple[str, str]]:
    """Return the results within some seconds."""
    results = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.1)
        results += correlator.results()
    return results


def wait_for_results(
    correlator: Correlator, number: int, quiet_s: float = 0.0
) -> list[tuple[str, str]]:
    """Wait for some results; return them and further ones within ``quiet_s``."""
    results: list[tuple[str, str]] = []
    end = time.monotonic() + 300
    while len(results) < number:
        assert time.monotonic() < end, results
        time.sleep(0.05)
        results += correlator.results()
    return results + results_within(correlator, quiet_s)


def reads(process: subprocess.Popen[bytes], path: Path) -> bool:
    """Return whether a process has a file open."""
    with suppress(FileNotFoundError):
        links = Path(f"/proc/{process.pid}/fd").iterdir()
        return any(os.readlink(link) == str(path) for link in links)
    return False


@contextmanager
def running(correlator: Correlator, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a correlator that has reported all hosts, and end it."""
    command = correlator.command("--fromstart", *options)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            assert wait_for_results(correlator, len(HOSTS)) == [(host, FINE) for host in HOSTS]
            yield process
        finally:
            process.terminate()


def test_a_soft_restart_reads_new_logs_and_keeps_open_events(start: Start) -> None:
    correlator = start(events_burst_s=1)
    later = correlator.folder / "later.log"
    with running(correlator, f"--input={correlator.folder}/*.log") as process:
        with correlator.log.open("a", encoding="utf-8") as log:
            log.write(recorded("array-falls"))
        assert wait_for_results(correlator, 1) == [("oss2", FALLEN)]
        later.write_text("", encoding="utf-8")
        process.send_signal(signal.SIGABRT)
        eventually(lambda: reads(process, later))
        assert results_within(correlator, 2.0) == []
        with later.open("a", encoding="utf-8") as log:
            log.write(recorded("outage"))
        assert [host for host, _ in wait_for_results(correlator, 2)] == ["client1", "oss2"]
        assert "array-md2" in (correlator.folder / "open").read_text(encoding="utf-8")


def test_a_running_correlator_reports_a_burst_once_at_its_end(start: Start) -> None:
    correlator = start(events_burst_s=2)
    with running(correlator), correlator.log.open("a", encoding="utf-8") as log:
        for line in recorded("array-falls").splitlines(keepends=True):
            log.write(line)
            log.flush()
        assert wait_for_results(correlator, 1, quiet_s=3.0) == [("oss2", FALLEN)]


def test_nagios_counts_a_host_as_stale_after_three_heartbeats() -> None:
    minutes = document(ROLE / "defaults" / "main.yml")["events_heartbeat_min"]
    freshness = document(ROOT / "roles/nagios/defaults/main.yml")["nagios_events_freshness_s"]
    assert freshness == f"{{{{ events_heartbeat_min | default({minutes}) | int * 180 }}}}"


@pytest.mark.skipif(nagios.PROGRAM is None, reason="Nagios is not installed, or may not start here")
def test_the_real_nagios_shows_events_on_their_hosts(tmp_path: Path) -> None:
    objects = make(plan("lab"), events=True)
    with nagios.configured(CONTACT + "".join(objects.values())) as daemon:
        correlator = Correlator(tmp_path, pipe=daemon.pipe)
        correlator.log.write_text(recorded("array-falls") + recorded("hostile"), encoding="utf-8")
        call = correlator.command("--notail", "--fromstart")
        subprocess.run(call, check=True, capture_output=True, timeout=300)

        def shown() -> dict[str, str]:
            return {
                host: _SINCE.sub("", row["plugin_output"]).replace(" ()", "")
                for (host, service), row in daemon.checked().items()
                if service == "Storage events"
            }

        fine = dict.fromkeys(HOSTS, "EVENTS OK - nothing open")
        expected = {**fine, "oss2": FALLEN.partition(";")[2]}
        daemon.until(lambda: shown() == expected, f"not {expected}")
