"""All collectors together."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

from plumbline.observe.command import LocalSystem
from plumbline.parts.facts.gather import COLLECTORS, gather
from plumbline.parts.facts.node import EarlierLook, Past
from tests.package.fakes import Answer, FakeRunner
from tests.package.parts.facts.symptoms_nodes import NOW, journal, make_node
from tests.package.recorded import data


def test_a_bare_node_has_a_reason_for_each_collector_that_did_not_run(tmp_path: Path) -> None:
    report = gather(make_node(tmp_path))
    assert [look.collector for look in report.looks] == list(COLLECTORS)
    assert all(look.unavailable for look in report.looks)
    assert report.symptoms == ()


def test_a_failing_collector_does_not_stop_the_others(tmp_path: Path) -> None:
    files = {"/proc/mdstat": data("md/mdstat-rebuild.txt")}
    report = gather(make_node(tmp_path, files, {"zpool": "nonsense"}))
    assert {symptom.collector for symptom in report.symptoms} == {"md"}


IMPORTS = "lctl get_param osc.*.import mdc.*.import"
UNMOUNTED = "kernel: unmounts of lustre-OST0003, for a failover or by hand"


def imports() -> str:
    """Return the captured import of an OST without a server, as client and MDT see it."""
    text = "osc.lustre-OST0003-osc-ffff888120238800.import=\n"
    text += data("lustre/st4_ost_down_osc_import.txt")
    return text + text.replace("ffff888120238800", "MDT0000")


def past() -> Past:
    """Return the counters before the outage."""
    devices = ("lustre-OST0003-osc-ffff888120238800", "lustre-OST0003-osc-MDT0000")
    values = {f"lustre/{device}/connects": 28.0 for device in devices}
    replied = {f"lustre/{device}/replied": 15.0 for device in devices}
    return Past(None, EarlierLook(NOW - 50_000, {**values, **replied}))


def symptoms(folder: Path, log: Iterable[str], shown: str) -> list[tuple[str, str]]:
    """Return direction and sentence of the symptoms of an OST on its server and client node."""
    answers: dict[str, Answer] = {IMPORTS: shown, "journalctl": journal(log)}
    report = gather(make_node(folder, answers=answers, past=past()))
    of_ost = [symptom for symptom in report.symptoms if symptom.component == "lustre-OST0003"]
    return [(symptom.direction.value, symptom.sentence) for symptom in of_ost]


def test_a_target_unmounted_on_purpose_is_absent_and_not_a_suspect(tmp_path: Path) -> None:
    lines = data("messages/lustre-ost-down.txt").splitlines()
    log = [line.partition("] ")[2] for line in lines]
    log = log[next(n for n, text in enumerate(log) if "Failing over" in text) :]
    away = f"{UNMOUNTED}; lustre-OST0003 is DISCONN until it is mounted again"
    assert symptoms(tmp_path, log, imports()) == [("lowers", away)]


def test_a_target_lost_without_an_unmount_is_a_suspect(tmp_path: Path) -> None:
    assert symptoms(tmp_path, ["EXT4-fs (sda1): mounted filesystem"], imports()) == [
        ("raises", "lustre-OST0003 is DISCONN"),
        ("raises", "114 attempts to connect to lustre-OST0003 without an answer"),
    ]


def test_a_target_mounted_again_is_no_suspect(tmp_path: Path) -> None:
    lines = data("messages/routine/failback.txt").splitlines()
    log = [line.partition("] ")[2].replace("OST0001", "OST0003") for line in lines]
    assert symptoms(tmp_path, log, imports().replace("state: DISCONN", "state: FULL")) == []


# --- The reader of /proc and /sys gives empty text for missing files and stays below its root


def test_an_unreadable_file_is_empty(tmp_path: Path) -> None:
    system = LocalSystem(FakeRunner({}), tmp_path)
    (tmp_path / "folder").mkdir()
    assert system.read("/missing") == ""
    assert system.read("/folder") == ""
    assert system.names("/missing") == ()


def test_text_is_stripped_and_names_are_sorted(tmp_path: Path) -> None:
    for name, text in (("speed", b" 1000\n"), ("broken", b"\xff\n")):
        (tmp_path / name).write_bytes(text)
    system = LocalSystem(FakeRunner({}), tmp_path)
    assert system.read("/speed") == "1000"
    assert system.read("/broken") == "\ufffd"
    assert system.names("/") == ("broken", "speed")


def test_links_are_resolved_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "disk").symlink_to("sdb")
    assert LocalSystem(FakeRunner({}), tmp_path).real("/dev/disk") == "/dev/sdb"


def test_this_machine_has_a_kernel() -> None:
    system = LocalSystem(FakeRunner({}))
    assert system.read("/proc/sys/kernel/ostype") == "Linux"
    assert system.real("/proc/sys/../sys") == "/proc/sys"
