"""A story on one screen: a line for each stage and signs of life; a file has the rest."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Iterator, Optional

START = time.monotonic()
QUIET_S = {True: 2.0, False: 20.0}
"""Seconds between signs of life, on a terminal and in a file."""
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

    def __init__(
        self, log: Path, *, terminal: bool = sys.stdout.isatty(), quiet_s: Optional[float] = None
    ) -> None:
        """Empty the log; on a terminal each sign of life takes the place of the one before."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
        self.log = log
        self._quiet_s = QUIET_S[terminal] if quiet_s is None else quiet_s
        self._over, self._end = ("\r\033[K", "") if terminal else ("", "\n")
        self._step = ""

    def line(self, text: str) -> None:
        """Print a line, over a sign of life on a terminal."""
        print(f"{self._over}  {text}", flush=True)

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
        self.line(f"took {time.monotonic() - start:.0f} s")

    def _show_signs(self, over: Event) -> None:
        while not over.wait(self._quiet_s):
            print(f"{self._over}  {clock()}  {self._step}", end=self._end, flush=True)
