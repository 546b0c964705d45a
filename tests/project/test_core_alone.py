"""The core works without any part: plan, probe, record, judge, check, console, Nagios.

The tests use a copy of the package without ``parts``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

import pytest

from plumbline.model.parts import PARTS
from tests.characterization.product import inventories
from tests.forks import Forks
from tests.package.cli.driver import environment, finish
from tests.package.cli.test_probe import Node
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import SICK
from tests.package.parts.report.years import document, plan_of, records, write
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a package without parts."""
    return package_without("parts", tmp_path_factory)


@pytest.fixture(scope="module")
def alone(core: str) -> Iterator[Forks]:
    """Yield a process that has imported a package without parts."""
    modules = (core, "plumbline.site.inventory", "plumbline.cli.probe")
    with Forks(sys.executable, modules=modules) as forks:
        yield forks


def package_without(name: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a package without the folders of this name."""
    folder = tmp_path_factory.mktemp(name)
    ignored = shutil.ignore_patterns(name)
    shutil.copytree(ROOT / "src" / "plumbline", folder / "plumbline", ignore=ignored)
    return str(folder)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the options that name a plan, and a history with a slow disk."""
    plan = plan_of(lab())
    paths = write(tmp_path_factory.mktemp("site"), document(plan), records(plan, SICK, time.time()))
    return "--plan", str(paths[0]), "--history", str(paths[1])


def call(alone: Forks, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb with temporary files and state in a folder."""
    process = alone.start(words, folder, environment(folder, {}))
    out, err = process.communicate()
    assert "Traceback" not in err
    return subprocess.CompletedProcess(words, process.wait(), out, err)


def test_a_node_measures_judges_and_checks(core: str, alone: Forks, tmp_path: Path) -> None:
    node = Node(tmp_path)
    for folder in ("a", "b", "c", "state"):
        (tmp_path / folder).mkdir()
    node.expect()
    rates = {"a": "200", "b": "201", "c": "199"}
    variables = {**node.variables(rates), "PYTHONPATH": core}
    measured = finish(tmp_path, "probe", "ost", *node.arguments(), **variables)
    assert measured.returncode == 0, measured.stderr
    assert len(node.records()) == 6
    expectations = ("--expectations", f"{tmp_path}/expectations.json")
    snapshot = ("--snapshot", f"{node.state}/snapshot.json")
    judged = call(alone, tmp_path, "judge", "--json", *expectations, *snapshot)
    assert {verdict["component"] for verdict in json.loads(judged.stdout)["verdicts"]} >= {*rates}
    checked = subprocess.run(
        [
            *(sys.executable, ROOT / "checks" / "check_ost", "--component", "a"),
            *(*expectations, "--verdicts", node.state / "verdicts"),
        ],
        env={**os.environ, "PYTHONPATH": core},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout.startswith("OST OK - a "), checked.stdout + checked.stderr
    metrics = call(alone, tmp_path, "metrics", *expectations, *snapshot)
    assert (metrics.returncode, metrics.stderr) == (0, "")
    assert "plumbline_rate" in metrics.stdout


def test_a_console_plans_and_writes_what_nagios_reads(alone: Forks, tmp_path: Path) -> None:
    inventory = str(inventories() / "lab")
    for words in (
        ("topology", "check"),
        ("ceiling",),
        ("plan", "--json"),
        ("plan", "--format", "nagios", "--json"),
    ):
        done = call(alone, tmp_path, *words, "-i", inventory)
        assert (done.returncode, done.stderr) == (0, ""), words
    # only the part of facts knows the messages of the kernel
    assert (
        json.loads(call(alone, tmp_path, "plan", "--json", "-i", inventory).stdout)[
            "kernel_messages"
        ]
        == {}
    )


def test_a_console_judges_and_hands_over(
    alone: Forks, site: tuple[str, ...], tmp_path: Path
) -> None:
    batch = tmp_path / "results"
    submitted = call(alone, tmp_path, "submit", *site, "--batch", str(batch))
    assert submitted.returncode == 0, submitted.stderr
    lines = batch.read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if ";RAW oss2-disk1 " in line)
    assert ";2;RAW CRITICAL - oss2-disk1 read " in line
    # without the part that locates nobody says who bears the alarm
    assert not [line for line in lines if "explained by" in line]
    status = call(alone, tmp_path, "status", *site)
    assert (status.returncode, "oss2-disk1" in status.stdout) == (2, True)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("facts", ("symptoms",)),
        ("facts", ("changes",)),
        ("facts", ("counters",)),
        ("facts", ("jobs",)),
        ("facts", ("stages",)),
        ("facts", ("latency", "--prometheus", "http://localhost")),
        ("locate", ("locate",)),
        ("report", ("report", "--output", "out")),
        ("simulate", ("simulate", "-i", "inventory")),
        ("space", ("space", "--mount", "/scratch")),
        ("parallel", ("sweep", "--directory", "a=/tmp")),
        ("parallel", ("probe", "fs", "--directory", "a=/tmp")),
    ],
)
def test_a_verb_of_a_missing_part_says_how_to_get_it(
    alone: Forks, part: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = call(alone, tmp_path, *words)
    assert (done.returncode, done.stdout) == (69, "")
    assert f"the part {part} ({PARTS[part]}), which this host does not have" in done.stderr
    assert f"pip install '.[{part}]'" in done.stderr


def test_a_console_without_facts_locates_and_reports(
    site: tuple[str, ...], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = package_without("facts", tmp_path_factory)
    located = finish(tmp_path, "locate", *site, PYTHONPATH=folder)
    assert (located.returncode, located.stderr) == (1, "")
    assert "oss2-disk1" in located.stdout
    pages = ("--output", str(tmp_path / "pages"))
    reported = finish(tmp_path, "report", *site, *pages, PYTHONPATH=folder)
    assert (reported.returncode, reported.stderr) == (0, "")
    assert (tmp_path / "pages" / "index.html").exists()
