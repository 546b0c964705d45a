"""A story on one screen: a line for each stage and signs of life; a file has the rest."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Iterator

START = time.monotonic()
QUIET_S = 20.0
TASK = re.compile(r"(?:TASK|RUNNING HANDLER) \[(?:\S+ : )?(.*)\] \*")
"""Ansible's line for the start of a task; the name of the role is left out."""


def clock() -> str:
    """Return the time since the start, such as `` 4:05``."""
    minutes, seconds = divmod(int(time.monotonic() - START), 60)
    return f"{minutes:2d}:{seconds:02d}"


def say(text: str) -> None:
    """Print a heading with the elapsed time."""
    print(f"\n\033[1m[{clock()}] {text}\033[0m", flush=True)


class Screen:
    """Headings and signs of life on the screen; what Ansible prints goes to ``log``."""

    def __init__(self, log: Path, quiet_s: float = QUIET_S) -> None:
        """Empty the log; a sign of life comes after ``quiet_s`` seconds without a line."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
        self.log = log
        self._quiet_s = quiet_s
        self._step = ""

    def keep(self, line: str) -> None:
        """Write a line of a program's output to the log; a task of Ansible is the new step."""
        with self.log.open("a", encoding="utf-8") as stream:
            stream.write(line)
        task = TASK.match(line)
        if task:
            self._step = task[1]

    def step(self, text: str) -> None:
        """Set what the next sign of life names."""
        self._step = text
        self.keep(f"\n[{clock()}] {text}\n")

    @contextmanager
    def stage(self, text: str) -> Iterator[None]:
        """Print a heading now and the duration at the end; show signs of life in between."""
        say(text)
        start, over = time.monotonic(), Event()
        self.step(text)
        signs = Thread(target=self._show_signs, args=(over,), daemon=True)
        signs.start()
        try:
            yield
        finally:
            over.set()
            signs.join()
        print(f"  took {time.monotonic() - start:.0f} s", flush=True)

    def _show_signs(self, over: Event) -> None:
        while not over.wait(self._quiet_s):
            print(f"  {clock()}  {self._step}", flush=True)
