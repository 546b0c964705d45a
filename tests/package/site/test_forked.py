"""Work is distributed to forked processes; errors, kills and interrupts end all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.model.errors import ToolError
from plumbline.site.forked import forked

ITEMS = range(7)


@pytest.mark.parametrize("count", [1, 3])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    inherited = object()
    assert list(forked(lambda item: (item * item, inherited is not None), ITEMS, count)) == [
        (item * item, True) for item in ITEMS
    ]


def test_several_processes_do_the_work() -> None:
    assert os.getpid() not in set(forked(lambda _: os.getpid(), ITEMS, 2))


def test_an_error_in_one_process_is_raised() -> None:
    def refuse(item: int) -> int:
        raise ToolError(f"no {item}")

    with pytest.raises(ToolError, match="no 0"):
        list(forked(refuse, ITEMS, 2))


def test_a_killed_process_is_an_error_message() -> None:
    with pytest.raises(ToolError, match="ended from outside"):
        list(forked(lambda _: os.kill(os.getpid(), signal.SIGKILL), ITEMS, 2))


def test_an_interrupt_ends_all_processes_quietly(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        "import os, time\n"
        "from plumbline.site.forked import forked\n"
        "def work(item):\n"
        # one write, so lines of two processes do not mix
        "    os.write(1, b'%d\\n' % item)\n"
        "    time.sleep(600)\n"
        "try:\n"
        "    list(forked(work, range(2), 2))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        started = {process.stdout.readline(), process.stdout.readline()}
        # a terminal also signals the parent and its children
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert started == {"0\n", "1\n"}
    assert (out, err) == ("interrupted\n", "")
