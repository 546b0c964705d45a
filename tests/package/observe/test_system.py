"""The reader of /proc and /sys says nothing where there is nothing, and stays below its root."""

from __future__ import annotations

from pathlib import Path

from plumbline.observe.gather import LocalSystem
from tests.package.fakes import FakeRunner


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    system = LocalSystem(FakeRunner({}), tmp_path)
    (tmp_path / "folder").mkdir()
    assert system.read("/missing") == ""
    assert system.read("/folder") == ""
    assert system.names("/missing") == ()


def test_text_has_no_blanks_at_its_ends_and_names_are_ordered(tmp_path: Path) -> None:
    for name, text in (("speed", b" 1000\n"), ("broken", b"\xff\n")):
        (tmp_path / name).write_bytes(text)
    system = LocalSystem(FakeRunner({}), tmp_path)
    assert system.read("/speed") == "1000"
    assert system.read("/broken") == "\ufffd"
    assert system.names("/") == ("broken", "speed")


def test_links_are_followed_as_seen_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "disk").symlink_to("sdb")
    assert LocalSystem(FakeRunner({}), tmp_path).real("/dev/disk") == "/dev/sdb"


def test_the_machine_itself_has_a_kernel() -> None:
    system = LocalSystem(FakeRunner({}))
    assert system.read("/proc/sys/kernel/ostype") == "Linux"
    assert system.real("/proc/sys/../sys") == "/proc/sys"
