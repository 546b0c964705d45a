"""The whole chain on real hosts: deployment, measurement, verdicts and the real Nagios.

The tests run in file order: each first heals the fault of the test before it, and so also sees that
component recover.  ``make test`` runs those with the mark ``story``, ``make test-all`` the others.
"""

from __future__ import annotations

import json
import shutil
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator
from urllib.parse import urlencode

import pytest

from plumbline.model.limits import Limits
from plumbline.model.profile import distance
from tests.lab.conftest import (
    brought_up,
    changes,
    traces,
    with_baselines,
    without_a_firm_baseline,
)
from tests.lab.lab import Console, Lab, Service, control, not_ok
from tests.package.parts.report.browser import Browser
from tests.package.parts.report.test_browser import PLOTS

ALL_AT_ONCE = "FS scratch write read"
AS_PROBE = "runuser -u plumbline -- plumbline"
# In an order in which no read meets what is still being written.
LAYERS = ("ost", "raw", "fs", "mdt", "net")
# Their runs would disturb the measurements of the tests.
TIMERS = [
    f"plumbline-{name}.timer*"
    for name in ("ost*", "raw*", "fs", "net", "netserver", "mdt", "space", "console", "report")
]
# Timers stay active, and elapse when all of this is over.
LATER = """
mkdir -p /run/systemd/system/plumbline-.timer.d
printf '[Timer]\\nOnCalendar=\\nOnCalendar=2100-01-01\\n' \
    > /run/systemd/system/plumbline-.timer.d/lab.conf
systemctl daemon-reload
"""
NO_LATER = "rm -r /run/systemd/system/plumbline-.timer.d; systemctl daemon-reload"
FS_HISTORY = f"{AS_PROBE} history --layer fs --json scratch"
PLANNED = "systemctl start plumbline-ost.service"
QUEUE = f"{AS_PROBE} probe ost --confirm --dry-run"


@pytest.fixture(scope="module")
def deployed() -> Iterator[Lab]:
    yield from brought_up(Lab("inventories/lab", 8477))


@pytest.fixture(scope="module")
def measured(deployed: Lab) -> Callable[[], None]:
    """Return what takes two runs of everything, once, as timers start them."""
    return cache(partial(measure_all, deployed))


def measure_all(lab: Lab) -> None:
    with sampling(lab):
        for run in range(2):
            lab.measure_layers(LAYERS, run)


@pytest.fixture(scope="module")
def lab(deployed: Lab) -> Lab:
    deployed.on_host("all", " ".join(("systemctl stop", *(f"'{timer}'" for timer in TIMERS))))
    return deployed


@contextmanager
def sampling(lab: Lab) -> Iterator[None]:
    """Let the servers sample their counters, as the playbooks do while they measure."""
    try:
        lab.on_host("storage_servers", "systemctl restart plumbline-sample.service")
        yield
    finally:
        lab.on_host("storage_servers", "systemctl stop plumbline-sample.service")


@pytest.fixture(scope="module")
def console(lab: Lab, measured: Callable[[], None]) -> Console:
    """Two runs of everything become the baselines."""
    measured()
    console = with_baselines(lab, 0)
    weak = sorted(without_a_firm_baseline(console.services()))
    assert not weak, f"this machine is too busy for baselines of {weak}: no fault of plumbline"
    return console


def break_only(lab: Lab, breakage: dict[str, str]) -> None:
    lab.break_now(heal="all")
    lab.break_now(**breakage)


def slow_disk(lab: Lab, rate: str) -> None:
    lab.break_now(heal="all")
    lab.break_now(disk="oss2-disk1", rate=rate)


def check_sentences(services: dict[str, Service], broken: Iterable[str]) -> None:
    """Check that each bad service names its component and its figures."""
    for name in broken:
        assert name.split()[1] in services[name].output
        assert "MB/s" in services[name].output


def investigate(lab: Lab, folder: Path) -> list[list[list[str]]]:
    """Search the whole site for slow components; return the sets of suspects with alternatives."""
    result = folder / "result.json"
    lab.playbook("debug_slow_storage", {"json": str(result), "budget": "10min"})
    return sorted(
        suspects["alternatives"] for suspects in json.loads(result.read_text())["slow"]["sets"]
    )


@pytest.mark.story
def test_a_second_deployment_changes_nothing(deployed: Lab, measured: Callable[[], None]) -> None:
    """It comes before the timers are stopped, which it would start again.

    oss2 and oss3 have less than oss1, which drives all targets too, and are left out.  Meanwhile
    probes run, as on any site: they wait for disks and links, and have no priority.
    """
    deployed.on_host("all", LATER)
    with ThreadPoolExecutor(1) as thread:
        recap = thread.submit(deployed.recap, "site", "--limit=all,!oss2,!oss3", nice=15)
        measured()
    deployed.on_host("all", NO_LATER)
    assert changes(recap.result()) == {}


def test_service_links_work_before_the_first_measurement(lab: Lab) -> None:
    assert Console(lab).links() == {"/plumbline/index.html": 200}


def test_a_command_without_the_rights_of_its_unit_changes_no_service(
    lab: Lab, console: Console
) -> None:
    history = "plumbline history --layer raw --json oss3-disk1"
    lab.on_host("oss3", "systemctl start plumbline-raw@oss3-disk1")
    before = lab.on_host("oss3", history)
    by_hand = f"{AS_PROBE} probe raw --component oss3-disk1 2>&1; echo ended with $?"
    output = lab.on_host("oss3", by_hand)
    assert "as root: systemctl start plumbline-raw@oss3-disk1" in output
    assert output.endswith("ended with 77")
    assert lab.on_host("oss3", history) == before
    assert console.services()["RAW oss3-disk1 read"].state == "OK"


def test_the_nrpe_user_cannot_read_the_history(lab: Lab, console: Console) -> None:
    """Both files exist; a shell of the NRPE user shows which it can read."""
    assert console.services()
    names = "snapshot.json history.sqlite"
    command = f"for name in {names}; do test -r /var/lib/plumbline/$name && echo $name; done; true"
    assert lab.on_host("oss3", f"runuser -u nagios -- sh -c '{command}'") == "snapshot.json"


def test_a_disk_that_is_slow_in_one_run_is_watched_and_raises_no_alarm(
    lab: Lab, console: Console
) -> None:
    start, before = time.time(), not_ok(console.services())
    slow_disk(lab, "40MB/s")
    watched = lab.measure(console, "raw")
    lab.break_now(heal="all")
    healed = lab.measure(console, "raw")
    name = "RAW oss2-disk1 read"
    assert not_ok(watched) == before
    assert "watching: read" in watched[name].output
    assert not_ok(healed) == before
    assert alarms(console, start) == []


SURVEY = """
install -d -o nobody /mnt/scratch/nobody
cd / && runuser -u nobody -- env XDG_STATE_HOME=/tmp/survey-of-nobody \
    plumbline probe ost --mount /mnt/scratch/nobody --bytes 16MiB --json --quiet
echo; find /mnt/scratch/nobody -mindepth 1
rm -rf /mnt/scratch/nobody /tmp/survey-of-nobody
"""


def test_a_user_who_knows_no_plan_surveys_the_bricks_of_a_mount(lab: Lab, console: Console) -> None:
    assert console.services()
    slow_disk(lab, "20MB/s")
    document, *files = lab.on_host("client1", SURVEY).split("\n")
    lab.break_now(heal="all")
    survey = json.loads(document)
    slow = survey["targets"][0]
    assert (slow["name"], slow["server"]) == ("scratch-client-2", "oss2")
    verdicts = {verdict["component"]: verdict["state"] for verdict in survey["verdicts"]}
    assert len(verdicts) == 6
    assert [name for name, state in verdicts.items() if state != "OK"] == ["scratch-client-2"]
    assert list(filter(None, files)) == []
    refused = lab.on_host("client1", "plumbline probe ost --mount /mnt/scratch 2>&1; true")
    assert "the plan of this host measures the targets of /mnt/scratch" in refused


def alarms(console: Console, since: float) -> list[tuple[str, str]]:
    """Return the notifications since a moment, without recoveries."""
    return [(service, state) for service, state in console.notifications(since) if state != "OK"]


# As an administrator would do; the lab's policy allows a run every 5 s.
BY_THE_MINUTE = """
mkdir -p /run/systemd/system/plumbline-ost-confirm.timer.d
cat > /run/systemd/system/plumbline-ost-confirm.timer.d/lab.conf <<'EOF'
[Timer]
OnCalendar=
OnCalendar=*:*:0/5
RandomizedDelaySec=0
EOF
systemctl daemon-reload
systemctl start plumbline-ost-confirm.timer
"""
AS_BEFORE = """
systemctl stop plumbline-ost-confirm.timer
rm -r /run/systemd/system/plumbline-ost-confirm.timer.d
systemctl daemon-reload
"""
DECIDED_S = 480.0
# the lab's nagios_notification_delay_min, in minutes of 5 s, and one as its clock has no fractions
NOTIFIED_S = 6.0
CABLE = "NET oss1 send receive"
SLOW_OST = "OST scratch-OST0002 write read"
SLOW_RAW = "RAW oss2-disk1 read"


@contextmanager
def confirming(lab: Lab) -> Iterator[None]:
    """Run the confirmation timer every few seconds; a site has hours between."""
    try:
        lab.on_host("client1", BY_THE_MINUTE)
        yield
    finally:
        lab.on_host("client1", AS_BEFORE)


@pytest.mark.story
def test_a_disk_that_stays_slow_pages_once_and_needs_no_manual_probe(
    lab: Lab, console: Console
) -> None:
    assert targets(lab)["scratch-OST0002"] == "OK"
    start = time.time()
    slow_disk(lab, "20MB/s")
    lab.on_host("client1", PLANNED)
    assert targets(lab)["scratch-OST0002"] == "OK"
    with confirming(lab):
        limit = time.monotonic() + DECIDED_S
        while targets(lab)["scratch-OST0002"] != "CRITICAL":
            assert time.monotonic() < limit, lab.on_host("client1", QUEUE)
            time.sleep(2)
        alarm = console.check_now()[SLOW_OST]
        # the first check sends the notification, the second finds it sent
        shown = [console.check_after(alarm, NOTIFIED_S) for _ in range(2)][-1]
        queue = lab.on_host("client1", QUEUE)
    assert shown[SLOW_OST].state == "CRITICAL"
    assert alarms(console, start) == [(SLOW_OST, "CRITICAL")]
    waiting = [line for line in queue.splitlines() if line.startswith("scratch-OST0002")]
    assert all("waits: it has the alarm, and was measured within a day" in line for line in waiting)


def of_the_disk(services: dict[str, Service]) -> dict[str, str]:
    """Return the bad services except the cable of oss1 and the targets behind it."""
    behind = {f"OST scratch-OST000{number} write read" for number in (0, 1)}
    bad = not_ok(services)
    # a run of all targets at once crosses the cable too
    return {name: bad[name] for name in bad if name not in {*behind, CABLE, ALL_AT_ONCE}}


@pytest.mark.story
def test_a_slow_disk_and_a_bad_cable_are_named_and_nothing_else(
    lab: Lab, console: Console, tmp_path: Path
) -> None:
    break_only(lab, {"cable": "oss1"})
    # as an administrator does
    lab.playbook("lab_break", {"disk": "oss2-disk1", "rate": "40MB/s"})
    assert investigate(lab, tmp_path) == [[["oss1-nic"]], [["oss2-disk1"]]]
    before = of_the_disk(console.services())
    slow = {SLOW_OST, SLOW_RAW}
    services = lab.measure_until(
        console,
        ost=lambda shown: SLOW_OST in not_ok(shown),
        raw=lambda shown: SLOW_RAW in not_ok(shown),
        net=lambda shown: CABLE in not_ok(shown),
    )
    bad = of_the_disk(services)
    assert bad.keys() - before.keys() <= slow <= bad.keys()
    assert {bad[name] for name in slow} <= {"WARNING", "CRITICAL"}
    # the loss through a bad cable varies
    assert services[CABLE].state in ("WARNING", "CRITICAL")
    check_sentences(services, slow)
    assert "retransmitted (limit 1.5 %)" in services[CABLE].output


def follow(browser: Browser, console: Console, host: str, service: str) -> str:
    """Follow the link on a service's page in Nagios to its report; return the anchor."""
    query = urlencode({"type": 2, "host": host, "service": service})
    browser.call("Page.navigate", url=f"{console.page}cgi-bin/extinfo.cgi?{query}")
    link = "document.querySelector(\"a[href*='/plumbline/']\")"
    browser.wait(f"{link} !== null")
    browser.ask(f"(() => {{ const at = {link}; at.target = '_self'; at.click(); }})()")
    browser.wait("document.documentElement?.dataset.drawn === 'all'")
    anchor: str = browser.ask("location.hash.slice(1)")
    return anchor


@contextmanager
def healing(lab: Lab) -> Iterator[None]:
    """Heal all, and measure the targets meanwhile: good runs end alarms."""
    lab.break_now(heal="all")
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(lab.on_host, "client1", PLANNED)
        yield
        running.result()


@pytest.mark.story
def test_the_service_page_of_nagios_links_to_its_section_of_the_report(
    lab: Lab, console: Console, tmp_path: Path
) -> None:
    # one after the other: the report shows what is collected
    lab.on_host("mon1", "systemctl start plumbline-console; systemctl start plumbline-report")
    program = shutil.which("chromium")
    assert program, "requirements/tests.txt names chromium"
    secret = b64encode(f"{console.user}:{console.password}".encode()).decode()
    with healing(lab), Browser(program, tmp_path) as browser:
        browser.call("Network.enable")
        browser.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {secret}"})
        assert follow(browser, console, "lab", "PATH file system scratch") == "suspects"
        shown = browser.ask("document.getElementById('suspects').textContent")
        assert "disk oss2-disk1" in shown
        assert follow(browser, console, "oss2", "RAW oss2-disk1 read") == "raw-oss2-disk1"
        browser.wait("document.querySelector(':target')?.getBoundingClientRect().height > 0")
        assert "CRITICAL" in browser.ask("document.querySelector(':target').textContent")
        assert [name for name, traces in browser.ask(PLOTS) if not traces] == []
        composite = browser.ask("document.getElementById('composite').textContent")
        assert "6 counters of 3 servers" in composite
        assert browser.complaints == []


@pytest.mark.story
def test_a_slow_link_shows_on_its_own_service_only(lab: Lab, console: Console) -> None:
    break_only(lab, {"link": "oss3", "rate": "100Mbit"})
    slow = {"NET oss3 send receive": "CRITICAL"}
    services = lab.measure_until(
        console,
        net=lambda shown: of_the_network(shown) == slow,
        # beside the network, as the next stories need disks without an alarm
        raw=healthy("RAW "),
    )
    assert of_the_network(services) == slow
    check_sentences(services, slow)


def of_the_network(services: dict[str, Service]) -> dict[str, str]:
    return {name: state for name, state in not_ok(services).items() if name.startswith("NET")}


def test_a_failing_disk_is_broken_rather_than_slow_and_quotes_the_tool(
    lab: Lab, console: Console
) -> None:
    break_only(lab, {"errors": "oss2-disk1"})
    try:
        lab.playbook("probe", {"layer": "raw", "target": "oss2-disk1", "fail": "false"})
        service = console.services()["RAW oss2-disk1 read"]
    finally:
        lab.break_now(heal="all")
    assert service.state == "CRITICAL", service.output
    assert "it is broken" in service.output
    assert "sgp_dd" in service.output
    name = "RAW oss2-disk1 read"
    services = lab.measure_until(console, raw=lambda shown: shown[name].state == "OK")
    assert services[name].state == "OK", services[name].output


JUDGE = f"{AS_PROBE} judge --json --layer ost; test $? -le 3"


def targets(lab: Lab) -> dict[str, str]:
    """Return the states of all targets and their group, judged by their client."""
    verdicts = json.loads(lab.on_host("client1", JUDGE))["verdicts"]
    return {verdict["component"]: verdict["state"] for verdict in verdicts}


def measure_until_healthy(lab: Lab) -> None:
    """Measure the targets until all are OK: alarms end, and a client reconnects within seconds."""
    limit = time.monotonic() + 240
    while set(targets(lab).values()) != {"OK"}:
        assert time.monotonic() < limit, targets(lab)
        lab.on_host("client1", PLANNED)


@pytest.mark.story
def test_a_server_that_dies_during_a_run_is_named_and_its_targets_are_not(
    lab: Lab, console: Console
) -> None:
    assert console.services()
    lab.break_now(heal="all")
    # the bad cable of an earlier test may have raised alarms of the targets behind it
    measure_until_healthy(lab)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(lab.on_host, "client1", PLANNED)
        try:
            lab.wait_for_bytes("client1", "tx")
            control("ip", "link", "set", "to-oss2", "down")
            running.result()
            dead = targets(lab)
        finally:
            control("ip", "link", "set", "to-oss2", "up")
    assert dead == {
        **{f"scratch-OST000{number}": "OK" for number in (0, 1, 4, 5)},
        **{f"scratch-OST000{number}": "UNKNOWN" for number in (2, 3)},
        "scratch": "CRITICAL",
    }
    measure_until_healthy(lab)


def test_a_run_of_all_targets_at_once_names_a_slow_disk(lab: Lab, console: Console) -> None:
    lab.break_now(heal="all")
    # the bad cable of an earlier test may have raised this alarm too
    services = lab.measure_until(console, fs=lambda shown: shown[ALL_AT_ONCE].state == "OK")
    assert services[ALL_AT_ONCE].state == "OK", services[ALL_AT_ONCE].output
    break_only(lab, {"disk": "oss2-disk1", "rate": "8MB/s"})
    try:
        services = lab.measure_until(
            console, fs=lambda shown: shown[ALL_AT_ONCE].state == "CRITICAL"
        )
        service = services[ALL_AT_ONCE]
    finally:
        lab.playbook("lab_break", {"heal": "all"})
    assert service.state == "CRITICAL", service.output
    assert service.output.startswith("FS CRITICAL - file system scratch - scratch-OST0002 ")
    assert lab.on_host("client1", "find /mnt/scratch -name '*.fs-*'") == ""
    (late,) = of_all(lab.on_host("client1", FS_HISTORY))["details"]["stragglers"]
    assert (late["target"], late["server"], late["kind"]) == ("scratch-OST0002", "oss2", "slow")


# At 500 Mbit/s the read takes six seconds, at these it takes twelve.
FALLING_MBIT = (425, 350, 275, 200, 125)
STEP_S = 2.0


def test_a_declining_read_differs_from_a_flat_one(lab: Lab, console: Console) -> None:
    """The two profiles of Edison's figure 7."""
    assert console.services()
    flat = of_all(lab.on_host("client1", by_hand("--keep 512MiB")))
    try:
        with ThreadPoolExecutor(1) as thread:
            reading = thread.submit(lab.on_host, "client1", by_hand("--reread-kept"))
            lab.wait_for_bytes("client1", "rx")
            start = time.monotonic()
            for number, rate in enumerate(FALLING_MBIT, 1):
                lab.break_now(link="client1", rate=f"{rate}Mbit")
                time.sleep(max(0.0, start + number * STEP_S - time.monotonic()))
            falls = of_all(reading.result())
    finally:
        lab.break_now(heal="all")
    assert flat["operation"] == falls["operation"] == "reread"
    assert abs(flat["details"]["shape"]["decline"]) < 0.1
    assert falls["details"]["shape"]["decline"] > 0.3
    assert distance(falls["profile"], flat["profile"]).beyond(Limits().profile_distance)


# Several times what the other ranks need, but less than network.ping-timeout (10 s in the lab),
# after which the client gives up its bricks.
DELAY_S = 6.0


def test_ranks_delayed_by_the_network_are_late_to_start(lab: Lab, console: Console) -> None:
    """The second kind of straggler in BlueGene/L's figure 5; the slow disk above is the first."""
    assert console.services()
    break_only(lab, {"link": "oss3", "rate": "1Mbit"})
    with ThreadPoolExecutor(1) as thread:
        driving = thread.submit(lab.on_host, "client1", by_hand("", "20MiB"))
        try:
            lab.wait_for_bytes("client1", "tx")
            time.sleep(DELAY_S)
        finally:
            lab.break_now(heal="all")
        written = json.loads(driving.result().splitlines()[-3])
    late = {
        straggler["target"]: straggler["kind"] for straggler in written["details"]["stragglers"]
    }
    assert written["operation"] == "write"
    assert late == {"scratch-OST0004": "late", "scratch-OST0005": "late"}


def by_hand(options: str, rank_bytes: str = "56MiB") -> str:
    """Return a command that measures all targets and prints their history."""
    run = f"{AS_PROBE} probe fs --bytes {rank_bytes} --quiet {options} > /dev/null"
    return f"{run}; test $? -le 3 && {FS_HISTORY}"


def of_all(lines: str) -> dict[str, Any]:
    """Return the newest record, the last of the JSON lines."""
    last: dict[str, Any] = json.loads(lines.splitlines()[-1])
    return last


# Moves the records of the targets back by a day.
ANOTHER_DAY = """
runuser -u plumbline -- python3 - <<'EOF'
import sqlite3
from contextlib import closing
day = ", ".join(f"'$.{key}', json_extract(body, '$.{key}') - 86400"
                for key in ("started_at", "finished_at"))
with closing(sqlite3.connect("/var/lib/plumbline/history.sqlite")) as history, history:
    history.execute("UPDATE records SET started_at = started_at - 86400, "
                 f"body = json_set(body, {day}) WHERE layer = 'ost'")
EOF
"""
# The mount itself has the release of its client.
RELEASE = "/mnt/scratch/.meta/version"
ANOTHER_RELEASE = f"""
sed 's/"Package Version": "[0-9.]*/&.9/' {RELEASE} > /run/plumbline-release
mount --bind /run/plumbline-release {RELEASE}
"""
NIGHTS = 2


def healthy(kind: str) -> Callable[[dict[str, Service]], bool]:
    """Return a condition: no service of a kind is in trouble."""
    return lambda shown: not any(name.startswith(kind) for name in not_ok(shown))


@pytest.mark.story
def test_a_loss_of_all_targets_after_an_upgrade_is_one_alarm_of_the_group(
    lab: Lab, console: Console
) -> None:
    lab.break_now(heal="all")
    # alarms of earlier stories, which an upgrade would let notify on their own
    lab.measure_until(console, collect=True, net=healthy("NET "), raw=healthy("RAW "))
    start = time.time()
    try:
        lab.on_host("clients:oss1", ANOTHER_RELEASE)
        for disk in (f"oss{host}-disk{number}" for host in (1, 2, 3) for number in (1, 2)):
            lab.break_now(disk=disk, rate="35MB/s")
        for _ in range(NIGHTS):
            lab.on_host("client1", f"{ANOTHER_DAY}\n{PLANNED}")
            shown = console.check_now()
        console.check_after(shown["OST group scratch"], NOTIFIED_S)
    finally:
        lab.on_host("clients:oss1", f"umount {RELEASE}; rm /run/plumbline-release")
        lab.break_now(heal="all")
    group = shown["OST group scratch"]
    assert group.state in ("WARNING", "CRITICAL"), group.output
    assert "the baseline from before client 11" in group.output
    assert [name for name in not_ok(shown) if name.startswith("OST scratch")] == []
    assert alarms(console, start) == [("OST group scratch", group.state)]


def test_every_verdict_shows_its_evidence(lab: Lab, console: Console) -> None:
    assert console.services()
    judged = json.loads(lab.on_host("oss2", "runuser -u plumbline -- plumbline judge --json"))
    verdicts = judged["verdicts"]
    assert verdicts
    assert [verdict for verdict in verdicts if not verdict["evidence"]] == []


@pytest.mark.story
def test_removal_leaves_nothing_and_nagios_keeps_running(lab: Lab) -> None:
    hosts = ("mon1", "oss1", "oss2", "oss3", "client1")
    assert "/usr/lib/plumbline" in traces(lab, "oss1")
    lab.playbook("remove")
    assert {host: traces(lab, host) for host in hosts} == dict.fromkeys(hosts, "")
    assert lab.on_host("mon1", "systemctl is-active nagios4") == "active"
