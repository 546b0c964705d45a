"""Work is dealt out to copies of a process, and what becomes of one is never waited for in vain."""

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
    held = object()
    assert list(forked(lambda item: (item * item, held is not None), ITEMS, count)) == [
        (item * item, True) for item in ITEMS
    ]


def test_several_processes_do_the_work() -> None:
    assert os.getpid() not in set(forked(lambda _: os.getpid(), ITEMS, 2))


def test_trouble_of_one_is_that_of_all() -> None:
    def refuse(item: int) -> int:
        raise ToolError(f"no {item}")

    with pytest.raises(ToolError, match="no 0"):
        list(forked(refuse, ITEMS, 2))


def test_a_process_that_is_killed_is_a_sentence() -> None:
    with pytest.raises(ToolError, match="ended from outside"):
        list(forked(lambda _: os.kill(os.getpid(), signal.SIGKILL), ITEMS, 2))


def test_an_interrupt_ends_the_processes_at_once_and_quietly(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        "import os, time\n"
        "from plumbline.site.forked import forked\n"
        "def work(item):\n"
        # one write, so that two processes do not mix their lines
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
        begun = {process.stdout.readline(), process.stdout.readline()}
        # as a terminal does, to the parent and its children
        os.killpg(process.pid, signal.SIGINT)
        output, trouble = process.communicate(timeout=60)
    assert begun == {"0\n", "1\n"}
    assert (output, trouble) == ("interrupted\n", "")
