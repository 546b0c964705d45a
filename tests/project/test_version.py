"""The version is defined in one place, galaxy.yml."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement

from plumbline import __version__
from tests.project.repository import ROOT, document, tracked


def test_the_package_has_the_version_of_the_collection() -> None:
    assert __version__ == document(ROOT / "galaxy.yml")["version"]


def test_the_build_reads_the_version_of_the_collection() -> None:
    assert version("hpcops-plumbline") == __version__, "run `make venv`: the version has changed"


def test_no_text_has_pip_install_the_other_project_called_plumbline() -> None:
    named = re.compile(r"pip3? install\b[^`\n]*?[ '\"]plumbline\b(?!/)")
    places = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in tracked("*.py", "*.md", "*.yml", "*.j2", "*.toml", "Makefile", ".ci/*")
        if path != Path(__file__)
        for line in path.read_text(encoding="utf-8").splitlines()
        if named.search(line)
    ]
    assert places == []
    assert named.search("run pip install 'plumbline[console]'")


def test_galaxy_accepts_the_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", __version__)


def test_the_libraries_of_the_console_are_bounded_and_tested_within_the_bounds() -> None:
    pins = (ROOT / "requirements/constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in pins if "==" in line)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^console = (\[.*\])$", project, flags=re.M)
    for requirement in map(Requirement, json.loads(line)):
        assert requirement.specifier.contains(pinned[requirement.name])
        assert [bound for bound in requirement.specifier if bound.operator == "<"]
