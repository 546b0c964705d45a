"""A name given by hand may lead to anything: each call ends soon, with one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

import pytest

from plumbline.cli import main
from plumbline.model.errors import DocumentError
from plumbline.observe.given import open_given, read_given
from plumbline.site.documents import read_records
from plumbline.site.inventory import read_document
from plumbline.store.samples import read_samples
from tests.package.cli.driver import SOURCE, inventory
from tests.processes import may_act_for_others

GIB = 1 << 30
DOCUMENTS = "group_vars/all"


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 * GIB)


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "it is a pipe and no plain file"),
    "endless": (lambda path: path.symlink_to("/dev/zero"), "it is a device and no plain file"),
    "folder": (Path.mkdir, "Is a directory"),
    "large": (large, "has more than"),
    "dangling": (lambda path: path.symlink_to("nowhere"), "it is a link that leads nowhere"),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_what_is_no_plain_file_of_usual_size_is_refused(tmp_path: Path, kind: str) -> None:
    make, reason = KINDS[kind]
    make(tmp_path / "given")
    with pytest.raises(OSError, match=reason):
        read_given(tmp_path / "given", GIB)


CALLS = {
    f"{DOCUMENTS}/topology.yml": ["plan", "-i", "site"],
    f"{DOCUMENTS}/policy.yml": ["topology", "check", "-i", "site"],
    f"{DOCUMENTS}/baselines.yml": ["plan", "-i", "site"],
    "hosts.yml": ["topology", "check", "-i", "site"],
    "candidates.yml": ["baseline", "diff", "-i", "site", "--candidates", "site/candidates.yml"],
    "records": ["baseline", "age", "-i", "site", "--records", "site/records"],
    "plan.json": ["plan", "--format", "nagios", "--plan", "site/plan.json"],
    "verdicts": ["submit", "site/verdicts", "--plan", "plan.json", "--batch", "-"],
    "slurm": ["jobs", "--slurm", "site/slurm", "--history", "history.sqlite"],
    "times": ["jobs", "--times", "site/times", "--history", "history.sqlite"],
    "samples.csv": ["judge", "--replay", "site/samples.csv"],
}


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Fail if something hangs."""

    def ring(*_: object) -> None:
        raise AssertionError(f"not done within {seconds} s")

    handler = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_each_document_given_by_hand_ends_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inventory(tmp_path / "site")
    plan = {"schema": 1, "site": "lab", "nodes": {}, "services": []}
    Path("plan.json").write_text(json.dumps(plan))
    path = Path("site", name)
    for make, reason in KINDS.values():
        if path.exists():
            path.unlink()
        make(path)
        with limited(60):
            assert main(CALLS[name]) == 65
        err = capsys.readouterr().err
        assert reason in err
        assert path.name in err
        assert err.count("\n") == 1
        (path.rmdir if path.is_dir() else path.unlink)()


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    for read in (lambda: list(read_records([str(path)])), lambda: read_samples(path)):
        with pytest.raises(DocumentError, match=r"records cannot be read: a line has more than"):
            read()


def test_a_file_that_the_shell_has_opened_may_be_a_pipe() -> None:
    words = "import sys; from plumbline.observe.given import read_given;"
    words += "print(read_given(sys.argv[1], 100).decode())"
    script = f'"{sys.executable}" -c "{words}" <(sleep 0.1; echo text)'
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "text"


def test_a_link_to_a_document_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.yml").write_text("a: 1\n")
    (tmp_path / "notes.yml").symlink_to("real.yml")
    assert read_document(tmp_path / "notes.yml", "a") == 1


@pytest.mark.skipif(not may_act_for_others(), reason="root alone may read what others may not")
def test_root_shows_the_maker_of_a_link_no_file_that_only_root_may_read(tmp_path: Path) -> None:
    secret, link = tmp_path / "secret", tmp_path / "policy.yml"
    secret.write_text("root:*:20228:0")
    link.symlink_to(secret)
    for mode, owner, shown in ((0o600, 0, True), (0o644, 65534, True), (0o640, 65534, False)):
        secret.chmod(mode)
        os.chown(link, owner, owner, follow_symlinks=False)
        if shown:
            open_given(link).close()
        else:
            with pytest.raises(DocumentError, match="owner of the link may not read") as raised:
                read_document(link, "plumbline_policy")
            assert "20228" not in str(raised.value)
