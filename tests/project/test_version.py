"""The version is defined in one place, galaxy.yml."""

from __future__ import annotations

import re
from importlib.metadata import version

from plumbline import __version__
from tests.project.repository import ROOT, document


def test_the_package_has_the_version_of_the_collection() -> None:
    assert __version__ == document(ROOT / "galaxy.yml")["version"]


def test_the_build_reads_the_version_of_the_collection() -> None:
    assert version("plumbline") == __version__, "run `make venv`: the version has changed"


def test_galaxy_accepts_the_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", __version__)
