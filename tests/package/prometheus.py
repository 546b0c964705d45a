"""A real Prometheus of a test, which holds one text of metrics and answers queries.

The metrics are imported, as the first scrape begins only after five seconds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

import pytest

from tests.processes import run_to_end

PROGRAM = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")
_WAIT_S = 300.0
_HAS_TIME = re.compile(r"} \S+ \S+$")


class Sample(NamedTuple):
    """A sample of a metric at a time, with its labels as text."""

    metric: str
    labels: str
    value: float
    at: float


def openmetrics(samples: Iterable[Sample]) -> str:
    """Return the text of samples for :func:`holding`."""
    families: dict[str, list[str]] = {}
    for sample in samples:
        lines = families.setdefault(sample.metric, [f"# TYPE {sample.metric} unknown"])
        lines.append(f"{sample.metric}{{{sample.labels}}} {sample.value} {sample.at}")
    return "\n".join(line for lines in families.values() for line in lines)


class Answer(NamedTuple):
    """One series of an answer, and its value now."""

    labels: dict[str, str]
    value: float


class Prometheus(NamedTuple):
    """A running Prometheus, by its address."""

    address: str

    def ask(self, expression: str) -> list[Answer]:
        """Return the answer of promtool to a PromQL expression."""
        text = _promtool("query", "instant", "-o", "json", self.address, expression)
        return [Answer(item["metric"], float(item["value"][1])) for item in json.loads(text)]


def complaints(text: str) -> str:
    """Return the complaints of promtool about metrics; skip without promtool."""
    if PROMTOOL is None:
        pytest.skip("promtool is not installed")
    done = run_to_end(PROMTOOL, "check", "metrics", input=text)
    output = done.stdout + done.stderr
    assert bool(done.returncode) is bool(output)
    return output


@contextmanager
def holding(folder: Path, text: str) -> Iterator[Prometheus]:
    """Run a Prometheus with the metrics of ``text``, and stop it at the end.

    A sample with labels and a time stamp, in seconds, has that time.
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
    """Return the text with a time stamp for each sample, as blocks need it."""
    lines = [
        line if line.startswith("#") or _HAS_TIME.search(line) else f"{line} {now:.3f}"
        for line in text.splitlines()
    ]
    return "\n".join([*lines, "# EOF", ""])


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the address as soon as it listens; fail with the log if it never does."""
    end = time.monotonic() + _WAIT_S
    while True:
        output = log.read_text(encoding="utf-8")
        match = re.search(r'msg="Listening on" address=(\S+)', output)
        if match and "ready to receive" in output:
            return f"http://{match[1]}"
        assert process.poll() is None, f"it ended: {output}"
        assert time.monotonic() < end, f"not in {_WAIT_S} s: {output}"
        time.sleep(0.05)


def _promtool(*words: str) -> str:
    assert PROMTOOL is not None
    done = run_to_end(PROMTOOL, *words)
    assert done.returncode == 0, f"promtool {' '.join(words)}: {done.stderr}"
    return done.stdout
