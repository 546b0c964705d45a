"""A real Prometheus of the test's own, which holds one text and answers what it is asked.

It is not let scrape, because it takes up its first target only after five seconds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

PROGRAM = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")
_WAIT_S = 60.0
_HAS_TIME = re.compile(r"} \S+ \S+$")


class Answer(NamedTuple):
    """One series of an answer, and its value now."""

    labels: dict[str, str]
    value: float


class Prometheus(NamedTuple):
    """Where one listens."""

    address: str

    def ask(self, expression: str) -> list[Answer]:
        """Return what promtool gets as the answer to an expression of PromQL."""
        said = _promtool("query", "instant", "-o", "json", self.address, expression)
        return [Answer(one["metric"], float(one["value"][1])) for one in json.loads(said)]


def complaints(text: str) -> str:
    """Return what promtool finds wrong with metrics; skip where promtool is missing."""
    if PROMTOOL is None:
        pytest.skip("promtool is not installed")
    words = [PROMTOOL, "check", "metrics"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert bool(done.returncode) is bool(output)
    return output


@contextmanager
def holding(folder: Path, text: str) -> Iterator[Prometheus]:
    """Run one that has just read ``text``, and end it whatever happens.

    A sample with labels and a time stamp, in seconds, was read at that moment.
    """
    assert PROGRAM is not None
    (folder / "metrics.txt").write_text(_dated(text, time.time()), encoding="utf-8")
    (folder / "prometheus.yml").write_text("{}", encoding="utf-8")
    data, log = folder / "data", folder / "prometheus.log"
    _promtool("tsdb", "create-blocks-from", "openmetrics", str(folder / "metrics.txt"), str(data))
    settings = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": data,
        "web.listen-address": "127.0.0.1:0",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [PROGRAM, *(f"--{name}={value}" for name, value in settings.items())],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Prometheus(_address(process, log))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _dated(text: str, now: float) -> str:
    """Return the text with a time stamp for each sample, as blocks are made from it."""
    lines = [
        line if line.startswith("#") or _HAS_TIME.search(line) else f"{line} {now:.3f}"
        for line in text.splitlines()
    ]
    return "\n".join([*lines, "# EOF", ""])


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return where it listens as soon as it answers; fail with its log when it never does."""
    end = time.monotonic() + _WAIT_S
    while True:
        said = log.read_text(encoding="utf-8")
        found = re.search(r'msg="Listening on" address=(\S+)', said)
        if found and "ready to receive" in said:
            return f"http://{found[1]}"
        assert process.poll() is None, f"it ended: {said}"
        assert time.monotonic() < end, f"not in {_WAIT_S} s: {said}"
        time.sleep(0.05)


def _promtool(*words: str) -> str:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"promtool {' '.join(words)}: {done.stderr}"
    return done.stdout
