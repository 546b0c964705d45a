"""Arguments of a check are read as the guidelines say, and refused in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from plumbline import __version__
from plumbline.doors.component_check import HELP
from plumbline.doors.runtime import parse
from plumbline.model.errors import UsageError
from tests.package.recorded import data

FILE = yaml.safe_load(data("check_calls.yml"))

CHECK = Path(__file__).parents[3] / "checks" / "check_ost"


def called(line: str) -> str:
    """Return what the check prints, which is UNKNOWN here."""
    done = subprocess.run(
        [sys.executable, str(CHECK), *line.split()], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, "")
    return done.stdout


@pytest.mark.parametrize(("line", "given", "timeout_s", "verbosity"), FILE["understood"])
def test_arguments_are_understood(
    line: str, given: dict[str, str], timeout_s: float, verbosity: int
) -> None:
    call = parse("check_ost", line.split(), HELP)
    assert {name: call.options[name] for name in given} == given
    assert call.options.keys() - given.keys() <= {"--verbose"}
    assert (call.timeout_s, call.verbosity) == (timeout_s, verbosity)


@pytest.mark.parametrize(("line", "message"), FILE["refused"])
def test_what_is_not_understood_is_one_sentence(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = parse("check_ost", line.split(), HELP).timeout_s
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("line", ["", "--component a --group b", "--component="])
def test_a_check_is_of_a_component_or_a_group(line: str) -> None:
    wanted = "OST UNKNOWN - name either --component or --group; see check_ost --help\n"
    assert called(line) == wanted


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("-V", f"check_ost {__version__} (plumbline)"),
        ("--version", f"check_ost {__version__} (plumbline)"),
        ("-h", "usage: check_ost (--component NAME | --group NAME)"),
        ("--help", "default /var/lib/plumbline/verdicts"),
    ],
)
def test_a_check_says_what_it_is(argument: str, text: str) -> None:
    assert text in called(argument)
