"""Commands end at their limit; the runner abandons those that do not."""

from __future__ import annotations

import errno
import os
import pwd
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Iterator, NoReturn, Optional

import pytest

from plumbline.model.command import Completed
from plumbline.model.errors import ForbiddenTool, ToolError
from plumbline.observe import command
from plumbline.observe.command import SystemRunner
from plumbline.observe.starter import Helper
from tests.package.waiting import alive
from tests.processes import may_act_for_others

RUN = SystemRunner(grace_s=0.5)


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def stopped(folder: Path, text: str, grace_s: float) -> Completed:
    """Run a program and end it, as at its limit, after it has reached the line READY."""
    ready, stop = folder / "ready", threading.Event()

    def wait() -> None:
        while not ready.exists():
            time.sleep(0.05)
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    text = text.replace("READY", f"open('{ready}', 'w').close()")
    return SystemRunner(stop=stop, grace_s=grace_s)(python(text), 60)


def test_a_command_gives_output_errors_and_exit_code() -> None:
    done = RUN(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"), 20)
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 7)
    assert (done.ok, done.timed_out, done.hung) == (False, False, False)


def test_a_command_runs_in_the_c_locale_without_input_at_low_priority() -> None:
    text = "import os, sys; print(os.environ['LC_ALL'], repr(sys.stdin.read()), os.nice(0))"
    assert RUN(python(text), 20).stdout == "C '' 19\n"


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Become nobody if the tests run as a root who can enter any folder."""
    if not may_act_for_others():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_command_starts_in_a_readable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    assert RUN(["pwd"], 20).stdout == f"{tmp_path}\n"
    tmp_path.chmod(0o600)
    request.getfixturevalue("as_nobody")
    assert RUN(["pwd"], 20).stdout == "/\n"


def test_the_recorded_argv_is_the_requested_one() -> None:
    assert RUN(["true"], 20).argv == ("true",)


@pytest.mark.parametrize(
    ("tool", "sentence"),
    [
        ("sgp_dd", "sgp_dd is not installed on this host; install the package sg3-utils"),
        ("no-such-tool", "no-such-tool is not installed on this host; install it or correct"),
    ],
)
def test_a_missing_tool_names_its_package(
    tool: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=sentence):
        RUN([tool], 1)


def test_a_tool_that_this_user_may_not_execute_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Debian /usr/sbin/lldpctl belongs to a group, and no package is missing."""
    tool = tmp_path / "fio"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o644)
    monkeypatch.setattr(command, "SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ForbiddenTool) as caught:
        RUN(["fio"], 1)
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert str(caught.value) == (
        f"this user ({user}) may not execute {tool}; look at its mode and owner: ls -l {tool}"
    )


def test_a_file_that_cannot_be_executed_is_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "fio"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    done = RUN([str(broken)], 20)
    assert done.exit_code in (126, 127)
    assert "fio" in done.stderr


def test_a_command_that_ignores_sigterm_is_killed_at_its_limit(tmp_path: Path) -> None:
    text = (
        "import signal, time\n"
        "signal.signal(15, signal.SIG_IGN)\n"
        "print('up', flush=True)\n"
        "READY\n"
        "time.sleep(60)"
    )
    started = time.monotonic()
    done = stopped(tmp_path, text, grace_s=0.5)
    assert time.monotonic() - started < 30
    assert (done.stdout, done.timed_out, done.hung, done.exit_code) == ("up\n", True, False, -9)


def test_sigterm_lets_a_tool_print_its_progress(tmp_path: Path) -> None:
    text = (
        "import signal, sys, time\n"
        "signal.signal(15, lambda *_: (print('so far', flush=True), sys.exit(0)))\n"
        "READY\n"
        "time.sleep(60)"
    )
    done = stopped(tmp_path, text, grace_s=30.0)
    assert (done.stdout, done.timed_out, done.ok) == ("so far\n", True, False)


def test_a_process_name_that_is_no_text_is_accepted(tmp_path: Path) -> None:
    """The kernel cuts a name after 15 bytes, even within a letter."""
    text = "import time\nopen('/proc/self/comm', 'wb').write(b'\\xc3')\nREADY\ntime.sleep(60)"
    done = stopped(tmp_path, text, grace_s=5.0)
    assert (done.timed_out, done.hung, done.exit_code) == (True, False, -15)


def test_a_grandchild_that_keeps_the_output_open_does_not_block_the_runner() -> None:
    started = time.monotonic()
    done = RUN(["sh", "-c", "sleep 600 & echo $!"], 300)
    assert time.monotonic() - started < 200
    assert not alive(int(done.stdout))


def test_a_process_that_survives_all_signals_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uninterruptible sleep cannot be caused at will, so here the signals get lost."""
    sent = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    started = time.monotonic()
    done = SystemRunner(grace_s=0.2)(["sleep", "60"], 0.3)
    assert time.monotonic() - started < 30
    assert (done.hung, done.timed_out, done.exit_code) == (True, True, None)
    assert [number for _, number in sent if number] == [15, 9]
    assert command.any_abandoned()
    monkeypatch.undo()
    os.killpg(sent[0][0], 9)
    command.ABANDONED[-1].wait()
    assert not command.any_abandoned()
    command.ABANDONED.pop()


def test_a_killed_process_that_waits_for_its_turn_is_not_abandoned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine cannot be made that busy at will, so here the signal comes late."""
    kill, timers = os.killpg, []

    def late(group: int, number: int) -> None:
        if number == signal.SIGKILL:
            timers.append(threading.Timer(2.0, kill, (group, number)))
            timers[-1].start()
        elif not number:
            kill(group, number)

    monkeypatch.setattr(os, "killpg", late)
    done = SystemRunner(grace_s=0.5)(python("while True: pass"), 0.3)
    timers[-1].join()
    assert (done.hung, done.timed_out, done.exit_code) == (False, True, -9)
    assert len(timers) == 1


def test_the_exit_code_of_a_killed_process_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper that tells it waits for its turn as well."""
    kill, tell, killed_at = os.killpg, Helper.exit_code, []

    def without_term(group: int, number: int) -> None:
        if number != signal.SIGTERM:
            kill(group, number)
        if number == signal.SIGKILL:
            killed_at.append(time.monotonic())

    def late(helper: Helper, wait_s: Optional[float]) -> Optional[int]:
        if killed_at and time.monotonic() < killed_at[0] + 1.0:
            time.sleep(min(0.05, wait_s or 0.0))
            return None
        return tell(helper, wait_s)

    monkeypatch.setattr(os, "killpg", without_term)
    monkeypatch.setattr(Helper, "exit_code", late)
    done = SystemRunner(grace_s=0.2)(python("while True: pass"), 0.3)
    assert (done.hung, done.timed_out, done.exit_code) == (False, True, -9)


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.mark.slow
@pytest.mark.skipif(
    not os.access(FREEZER, os.W_OK), reason="needs root and the freezer of cgroup v1"
)
def test_a_frozen_process_survives_the_kill_and_is_abandoned(tmp_path: Path) -> None:
    """A frozen process survives SIGKILL until it is thawed, like one in uninterruptible sleep."""
    group = FREEZER / f"plumbline-test-{os.getpid()}"
    group.mkdir()
    try:
        script = f"echo begun; echo $$ > {group}/cgroup.procs; echo FROZEN > {group}/freezer.state"
        done = RUN(["sh", "-c", f"{script}; sleep 60"], 1.0)
        assert (done.stdout, done.hung, done.exit_code) == ("begun\n", True, None)
        assert done.seconds < 5
    finally:
        (group / "freezer.state").write_text("THAWED")
        command.ABANDONED.pop().wait()
        group.rmdir()


@pytest.mark.parametrize("where", ["", " >&2"])
def test_a_tool_with_endless_output_is_ended_and_counts_as_failed(where: str) -> None:
    with pytest.raises(ToolError, match="sh printed more than 1 MiB and was ended; run it by hand"):
        SystemRunner(most_bytes=1 << 20)(["sh", "-c", f"exec yes{where}"], 30)


def test_endless_output_of_a_tool_that_ignores_signals_fills_no_memory() -> None:
    """The runner stops reading its output, even during the grace time."""
    text = (
        "import os, signal\n"
        "signal.signal(15, signal.SIG_IGN)\n"
        "while True: os.write(1, b'x' * 65536)"
    )
    measure = (
        "import resource, sys\n"
        "from plumbline.model.errors import ToolError\n"
        "from plumbline.observe.command import SystemRunner\n"
        "try:\n"
        f"    SystemRunner(grace_s=0.5)([sys.executable, '-c', {text!r}], 30)\n"
        "except ToolError:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)\n"
    )
    before = RUN(
        python(
            "import resource; from plumbline.observe import command; "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)"
        ),
        20,
    )
    after = RUN(python(measure), 60)
    assert int(after.stdout) - int(before.stdout) < 64, after.stderr


def test_long_output_is_complete_and_a_tool_never_waits_for_its_reader() -> None:
    text = "import sys; sys.stdout.write('o' * 3_000_000); sys.stderr.write('e' * 3_000_000)"
    done = RUN(python(text), 20)
    assert (done.ok, done.stdout, done.stderr) == (True, "o" * 3_000_000, "e" * 3_000_000)


def test_an_interrupt_ends_the_tool(tmp_path: Path) -> None:
    text = (
        "import os, signal, threading, time\n"
        "from pathlib import Path\n"
        "from plumbline.observe.command import SystemRunner\n"
        "def interrupt():\n"
        f"    while not Path('{tmp_path}/pid').exists():\n"
        "        time.sleep(0.05)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "note = 'echo $$ > $0.new; mv $0.new $0; exec sleep 60'\n"
        f"SystemRunner()(['sh', '-c', note, '{tmp_path}/pid'], 50)\n"
    )
    done = RUN(python(text), 60)
    assert "KeyboardInterrupt" in done.stderr
    assert not alive(int((tmp_path / "pid").read_text()))


def test_the_kernels_lists_are_read_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EAGAIN, "no process can be made")

    monkeypatch.setattr(command, "Command", refuse)
    listed = RUN(["cat", "/proc/self/mountinfo"], 5.0)
    assert (listed.ok, listed.stdout) == (True, Path("/proc/self/mountinfo").read_text())
    gone = RUN(["cat", "/sys/dev/block/0:0/stat"], 5.0)
    assert (gone.exit_code, gone.stdout) == (1, "")
    assert gone.stderr == "cat: /sys/dev/block/0:0/stat: No such file or directory\n"
    with pytest.raises(ToolError, match="no process can be made"):
        RUN(["cat", "/proc/self/stat"], 5.0)


def test_another_cat_before_the_systems_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "cat", "echo mounts")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert RUN(["cat", "/proc/self/mountinfo"], 20).stdout == "mounts\n"


def test_a_tool_is_asked_for_its_version_until_it_is_another(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    script(tool, f"echo asked >> {tmp_path}/log; echo tool 1")
    answers = [RUN([str(tool), "--version"], 20).stdout for _ in range(3)]
    assert answers == ["tool 1\n"] * 3
    assert (tmp_path / "log").read_text() == "asked\n"
    script(tmp_path / "new", "echo tool 2; exit 1")
    (tmp_path / "new").replace(tool)
    assert RUN([str(tool), "--version"], 20).stdout == "tool 2\n"
    # a failure is no answer
    script(tmp_path / "new", "echo tool 3")
    (tmp_path / "new").replace(tool)
    assert RUN([str(tool), "--version"], 20).stdout == "tool 3\n"


def script(path: Path, lines: str) -> None:
    """Write a program of the shell."""
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
