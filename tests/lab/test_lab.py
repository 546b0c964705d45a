"""The whole chain on real hosts: deployed, measured, judged, and seen on the real Nagios.

The tests run in the order in which they stand: each begins by healing what the one before broke,
so that each also sees the part before it recover.
"""

from __future__ import annotations

import json
import shutil
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator
from urllib.parse import urlencode

import pytest

from plumbline.model.limits import Limits
from plumbline.parallel.profile import distance
from tests.lab.conftest import brought_up, with_baselines, without_a_firm_baseline
from tests.lab.lab import Console, Lab, Service, control, not_ok
from tests.package.report.browser import Browser
from tests.package.report.test_browser import PLOTS, save_pictures

ALL_AT_ONCE = "FS scratch write read"
AS_PROBE = "runuser -u plumbline -- plumbline"
# What they start would meet what is measured by hand.
TIMERS = [
    f"plumbline-{name}.timer*"
    for name in ("ost*", "raw*", "fs", "net", "netserver", "console", "report")
]
KNOWN = f"{AS_PROBE} history --layer fs --json scratch"
PLANNED = "systemctl start plumbline-ost.service"
QUEUE = f"{AS_PROBE} probe ost --confirm --dry-run"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield from brought_up(Lab("inventories/lab", 8477), TIMERS)


@pytest.fixture(scope="module")
def console(lab: Lab) -> Console:
    found = with_baselines(lab, 2)
    weak = sorted(without_a_firm_baseline(found.services()))
    assert not weak, f"no fault of plumbline: this machine is too busy for baselines of {weak}"
    return found


def break_only(lab: Lab, breakage: dict[str, str]) -> None:
    lab.break_now(heal="all")
    lab.playbook("lab_break", breakage)


def slow_disk(lab: Lab, rate: str) -> None:
    lab.break_now(heal="all")
    lab.break_now(disk="oss2-disk1", rate=rate)


def check_sentences(services: dict[str, Service], broken: Iterable[str]) -> None:
    """Each bad service names its component and its figures."""
    for name in broken:
        assert name.split()[1] in services[name].output
        assert "MB/s" in services[name].output


def investigate(lab: Lab, folder: Path) -> list[list[list[str]]]:
    """Ask what is slow at the whole site, and return the suspects' alternatives."""
    found = folder / "found.json"
    lab.playbook("debug_slow_storage", {"json": str(found), "budget": "10min"})
    return sorted(one["alternatives"] for one in json.loads(found.read_text())["slow"]["sets"])


def test_every_link_of_a_service_leads_to_a_page_from_the_first_day_on(lab: Lab) -> None:
    assert Console(lab).links() == {"/plumbline/index.html": 200}


def test_a_command_without_the_rights_of_its_unit_changes_no_service(
    lab: Lab, console: Console
) -> None:
    known = "plumbline history --layer raw --json oss3-disk1"
    lab.on_host("oss3", "systemctl start plumbline-raw@oss3-disk1")
    before = lab.on_host("oss3", known)
    by_hand = f"{AS_PROBE} probe raw --component oss3-disk1 2>&1; echo ended with $?"
    said = lab.on_host("oss3", by_hand)
    assert "as root: systemctl start plumbline-raw@oss3-disk1" in said
    assert said.endswith("ended with 77")
    assert lab.on_host("oss3", known) == before
    assert console.services()["RAW oss3-disk1 read"].state == "OK"


def test_who_checks_has_no_way_to_the_history(lab: Lab, console: Console) -> None:
    """Both files are there; the shell of the user of NRPE says which it may open."""
    assert console.services()
    names = "snapshot.json history.sqlite"
    look = f"for name in {names}; do test -r /var/lib/plumbline/$name && echo $name; done; true"
    assert lab.on_host("oss3", f"runuser -u nagios -- sh -c '{look}'") == "snapshot.json"


def test_a_disk_that_is_slow_for_one_run_is_watched_and_no_alarm(
    lab: Lab, console: Console
) -> None:
    begun, before = time.time(), not_ok(console.services())
    slow_disk(lab, "40MB/s")
    watched = lab.measure(console, "raw")
    lab.break_now(heal="all")
    healed = lab.measure(console, "raw")
    name = "RAW oss2-disk1 read"
    assert not_ok(watched) == before
    assert "watching: read" in watched[name].output
    assert not_ok(healed) == before
    assert alarms(console, begun) == []


def alarms(console: Console, since: float) -> list[tuple[str, str]]:
    """Return what was told since a moment, but for what is over."""
    return [(service, state) for service, state in console.told(since) if state != "OK"]


# As an administrator would: the policy of the lab lets a minute lie between two runs.
BY_THE_MINUTE = """
mkdir -p /run/systemd/system/plumbline-ost-confirm.timer.d
cat > /run/systemd/system/plumbline-ost-confirm.timer.d/lab.conf <<'EOF'
[Timer]
OnCalendar=
OnCalendar=*:*:0/15
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
# nagios_notification_delay_min of the lab, and what a check takes
TOLD_S = 65.0
CABLE = "NET oss1 send receive"
SLOW_OST = "OST scratch-OST0002 write read"


@contextmanager
def confirming(lab: Lab) -> Iterator[None]:
    """Let the timer of confirmation elapse every few seconds, where a site has hours."""
    try:
        lab.on_host("client1", BY_THE_MINUTE)
        yield
    finally:
        lab.on_host("client1", AS_BEFORE)


def test_a_disk_that_stays_slow_pages_once_and_nobody_has_measured_it_again(
    lab: Lab, console: Console
) -> None:
    assert targets(lab)["scratch-OST0002"] == "OK"
    begun = time.time()
    slow_disk(lab, "20MB/s")
    lab.on_host("client1", PLANNED)
    assert targets(lab)["scratch-OST0002"] == "OK"
    with confirming(lab):
        limit = time.monotonic() + DECIDED_S
        while targets(lab)["scratch-OST0002"] != "CRITICAL":
            assert time.monotonic() < limit, lab.on_host("client1", QUEUE)
            time.sleep(5)
        console.asked()
        time.sleep(TOLD_S)
        # the first time it is told, the second time it was
        shown = [console.asked() for _ in range(2)][-1]
        left = lab.on_host("client1", QUEUE)
    assert shown[SLOW_OST].state == "CRITICAL"
    assert alarms(console, begun) == [(SLOW_OST, "CRITICAL")]
    waiting = [line for line in left.splitlines() if line.startswith("scratch-OST0002")]
    assert all("waits: it has the alarm, and was measured within a day" in line for line in waiting)


def of_the_disk(services: dict[str, Service]) -> dict[str, str]:
    """Return what is not OK, less what may be behind a bad cable of oss1 or is that."""
    behind = {f"OST scratch-OST000{number} write read" for number in (0, 1)}
    bad = not_ok(services)
    # a run of all targets at once crosses the cable too
    return {name: bad[name] for name in bad if name not in {*behind, CABLE, ALL_AT_ONCE}}


def test_a_slow_disk_and_a_bad_cable_are_each_named_and_nothing_else_is(
    lab: Lab, console: Console, tmp_path: Path
) -> None:
    break_only(lab, {"cable": "oss1"})
    lab.playbook("lab_break", {"disk": "oss2-disk1", "rate": "40MB/s"})
    assert investigate(lab, tmp_path) == [[["oss1-nic"]], [["oss2-disk1"]]]
    before = of_the_disk(console.services())
    slow = {"OST scratch-OST0002 write read", "RAW oss2-disk1 read"}
    services = lab.measure_until(
        console, "all", lambda shown: {*slow, CABLE} <= not_ok(shown).keys()
    )
    found = of_the_disk(services)
    assert found.keys() - before.keys() <= slow <= found.keys()
    assert {found[name] for name in slow} <= {"WARNING", "CRITICAL"}
    # how much a host loses by its cable differs each time
    assert services[CABLE].state in ("WARNING", "CRITICAL")
    check_sentences(services, slow)
    assert "retransmitted (limit 1.5 %)" in services[CABLE].output


def follow(browser: Browser, console: Console, host: str, service: str) -> str:
    """Go from a service's page in Nagios to its report by the link there; return the anchor."""
    query = urlencode({"type": 2, "host": host, "service": service})
    browser.call("Page.navigate", url=f"{console.page}cgi-bin/extinfo.cgi?{query}")
    link = "document.querySelector(\"a[href*='/plumbline/']\")"
    browser.wait(f"{link} !== null")
    browser.ask(f"(() => {{ const at = {link}; at.target = '_self'; at.click(); }})()")
    browser.wait("document.documentElement?.dataset.drawn === 'all'")
    anchor: str = browser.ask("location.hash.slice(1)")
    return anchor


def test_the_page_of_nagios_leads_to_the_place_in_the_report(
    lab: Lab, console: Console, tmp_path: Path
) -> None:
    lab.on_host("mon1", "systemctl start plumbline-console plumbline-report")
    program = shutil.which("chromium")
    assert program, "requirements/tests.txt names chromium"
    secret = b64encode(f"{console.user}:{console.password}".encode()).decode()
    with Browser(program, tmp_path) as browser:
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
        save_pictures(browser, "lab")


def test_a_slow_link_is_seen_on_exactly_its_service(lab: Lab, console: Console) -> None:
    break_only(lab, {"link": "oss3", "rate": "100Mbit"})
    slow = {"NET oss3 send receive": "CRITICAL"}
    services = lab.measure_until(console, "net", lambda shown: of_the_network(shown) == slow)
    assert of_the_network(services) == slow
    check_sentences(services, slow)


def of_the_network(services: dict[str, Service]) -> dict[str, str]:
    return {name: state for name, state in not_ok(services).items() if name.startswith("NET")}


def test_a_failing_disk_is_critical_with_the_tool_s_words_and_not_slow(
    lab: Lab, console: Console
) -> None:
    break_only(lab, {"errors": "oss2-disk1"})
    try:
        lab.playbook("probe", {"layer": "raw", "target": "oss2-disk1", "fail": "false"})
        service = console.services()["RAW oss2-disk1 read"]
    finally:
        lab.playbook("lab_break", {"heal": "all"})
    assert service.state == "CRITICAL", service.output
    assert "it is broken" in service.output
    assert "sgp_dd" in service.output
    name = "RAW oss2-disk1 read"
    services = lab.measure_until(console, "raw", lambda shown: shown[name].state == "OK")
    assert services[name].state == "OK", services[name].output


JUDGE = f"{AS_PROBE} judge --json --layer ost; test $? -le 3"


def targets(lab: Lab) -> dict[str, str]:
    """Return the states of all targets and their group, as their client judges them."""
    verdicts = json.loads(lab.on_host("client1", JUDGE))["verdicts"]
    return {one["component"]: one["state"] for one in verdicts}


def test_a_server_that_dies_in_a_run_is_named_and_no_target_is(lab: Lab, console: Console) -> None:
    assert console.services()
    lab.break_now(heal="all")
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
    # the client makes its connections again within some seconds
    limit = time.monotonic() + 120
    while set(targets(lab).values()) != {"OK"}:
        assert time.monotonic() < limit, targets(lab)
        lab.on_host("client1", PLANNED)


def test_a_slow_disk_is_named_by_runs_of_all_targets_at_once(lab: Lab, console: Console) -> None:
    lab.break_now(heal="all")
    # the bad cable of an earlier test may have been an alarm of it
    services = lab.measure_until(console, "fs", lambda shown: shown[ALL_AT_ONCE].state == "OK")
    assert services[ALL_AT_ONCE].state == "OK", services[ALL_AT_ONCE].output
    break_only(lab, {"disk": "oss2-disk1", "rate": "8MB/s"})
    try:
        services = lab.measure_until(
            console, "fs", lambda shown: shown[ALL_AT_ONCE].state == "CRITICAL"
        )
        service = services[ALL_AT_ONCE]
    finally:
        lab.playbook("lab_break", {"heal": "all"})
    assert service.state == "CRITICAL", service.output
    assert service.output.startswith("FS CRITICAL - file system scratch - scratch-OST0002 ")
    assert lab.on_host("client1", "find /mnt/scratch -name '*.fs-*'") == ""
    (late,) = of_all(lab.on_host("client1", KNOWN))["details"]["stragglers"]
    assert (late["target"], late["server"], late["kind"]) == ("scratch-OST0002", "oss2", "slow")


# At 500 Mbit/s the read takes six seconds, at these it takes twelve.
FALLING_MBIT = (425, 350, 275, 200, 125)
STEP_S = 2.0


def test_a_read_that_declines_is_told_from_one_that_is_flat(lab: Lab, console: Console) -> None:
    """The two kinds of profile of Edison's figure 7."""
    assert console.services()
    flat = of_all(lab.on_host("client1", by_hand("--keep 512MiB")))
    try:
        with ThreadPoolExecutor(1) as thread:
            reading = thread.submit(lab.on_host, "client1", by_hand("--reread-kept"))
            lab.wait_for_bytes("client1", "rx")
            begun = time.monotonic()
            for number, rate in enumerate(FALLING_MBIT, 1):
                lab.break_now(link="client1", rate=f"{rate}Mbit")
                time.sleep(max(0.0, begun + number * STEP_S - time.monotonic()))
            falls = of_all(reading.result())
    finally:
        lab.break_now(heal="all")
    assert flat["operation"] == falls["operation"] == "reread"
    assert abs(flat["details"]["shape"]["decline"]) < 0.1
    assert falls["details"]["shape"]["decline"] > 0.3
    assert distance(falls["profile"], flat["profile"]).beyond(Limits().profile_distance)


# Several times what the others need; after network.ping-timeout, 10 s in the lab, the client would
# give the bricks up.
HELD_UP_S = 6.0


def test_ranks_that_the_network_held_up_at_first_are_late_to_start(
    lab: Lab, console: Console
) -> None:
    """The second kind of straggler of BlueGene/L's figure 5; the first is the slow disk's above."""
    assert console.services()
    break_only(lab, {"link": "oss3", "rate": "1Mbit"})
    with ThreadPoolExecutor(1) as thread:
        driving = thread.submit(lab.on_host, "client1", by_hand("", "20MiB"))
        try:
            lab.wait_for_bytes("client1", "tx")
            time.sleep(HELD_UP_S)
        finally:
            lab.break_now(heal="all")
        written = json.loads(driving.result().splitlines()[-3])
    late = {one["target"]: one["kind"] for one in written["details"]["stragglers"]}
    assert written["operation"] == "write"
    assert late == {"scratch-OST0004": "late", "scratch-OST0005": "late"}


def by_hand(options: str, each: str = "56MiB") -> str:
    """Drive all targets on terms of one's own, whatever the verdict; say what is known."""
    run = f"{AS_PROBE} probe fs --bytes {each} --quiet {options} > /dev/null"
    return f"{run}; test $? -le 3 && {KNOWN}"


def of_all(lines: str) -> dict[str, Any]:
    """Return the last of JSON lines, the newest record."""
    last: dict[str, Any] = json.loads(lines.splitlines()[-1])
    return last


# What is known of the targets seems to be of the day before.
ANOTHER_DAY = """
runuser -u plumbline -- python3 - <<'EOF'
import sqlite3
from contextlib import closing
day = ", ".join(f"'$.{key}', json_extract(body, '$.{key}') - 86400"
                for key in ("started_at", "finished_at"))
with closing(sqlite3.connect("/var/lib/plumbline/history.sqlite")) as kept, kept:
    kept.execute("UPDATE records SET started_at = started_at - 86400, "
                 f"body = json_set(body, {day}) WHERE layer = 'ost'")
EOF
"""
# A client says of which release it is in the mount itself.
RELEASE = "/mnt/scratch/.meta/version"
ANOTHER_RELEASE = f"""
sed 's/"Package Version": "[0-9.]*/&.9/' {RELEASE} > /run/plumbline-release
mount --bind /run/plumbline-release {RELEASE}
"""
NIGHTS = 2


def test_what_all_targets_lost_with_a_new_release_is_one_alarm_of_their_group(
    lab: Lab, console: Console
) -> None:
    lab.break_now(heal="all")
    assert console.services()
    begun = time.time()
    try:
        lab.on_host("clients:oss1", ANOTHER_RELEASE)
        for disk in (f"oss{host}-disk{number}" for host in (1, 2, 3) for number in (1, 2)):
            lab.break_now(disk=disk, rate="35MB/s")
        for _ in range(NIGHTS):
            lab.on_host("client1", f"{ANOTHER_DAY}\n{PLANNED}")
            shown = console.asked()
        time.sleep(TOLD_S)
        console.asked()
    finally:
        lab.on_host("clients:oss1", f"umount {RELEASE}; rm /run/plumbline-release")
        lab.break_now(heal="all")
    group = shown["OST group scratch"]
    assert group.state in ("WARNING", "CRITICAL"), group.output
    assert "the baseline from before client 11" in group.output
    assert [name for name in not_ok(shown) if name.startswith("OST scratch")] == []
    assert alarms(console, begun) == [("OST group scratch", group.state)]


def test_every_verdict_shows_its_evidence(lab: Lab, console: Console) -> None:
    assert console.services()
    judged = json.loads(lab.on_host("oss2", "runuser -u plumbline -- plumbline judge --json"))
    verdicts = judged["verdicts"]
    assert verdicts
    assert [verdict for verdict in verdicts if not verdict["evidence"]] == []
