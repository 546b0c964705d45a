"""Arguments of a check follow the plug-in guidelines; errors are one sentence."""

from __future__ import annotations

import sys

import pytest

from plumbline import __version__
from plumbline.doors.component_check import HELP
from plumbline.doors.runtime import parse
from plumbline.model.errors import UsageError
from tests.package.recorded import table
from tests.processes import run_to_end
from tests.project.repository import ROOT

FILE = table("check_calls.yml")

CHECK = ROOT / "checks" / "check_ost"


def output(line: str) -> str:
    """Call the check, which exits with UNKNOWN, and return its output."""
    process = run_to_end(sys.executable, CHECK, *line.split())
    assert (process.returncode, process.stderr) == (3, "")
    return process.stdout


@pytest.mark.parametrize(("line", "options", "timeout_s", "verbosity"), FILE["understood"])
def test_arguments_are_parsed(
    line: str, options: dict[str, str], timeout_s: float, verbosity: int
) -> None:
    call = parse("check_ost", line.split(), HELP)
    assert {name: call.options[name] for name in options} == options
    assert call.options.keys() - options.keys() <= {"--verbose"}
    assert (call.timeout_s, call.verbosity) == (timeout_s, verbosity)


@pytest.mark.parametrize(("line", "message"), FILE["refused"])
def test_an_invalid_argument_is_one_sentence(line: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        _ = parse("check_ost", line.split(), HELP).timeout_s
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("line", ["", "--component a --group b", "--component="])
def test_a_check_needs_either_a_component_or_a_group(line: str) -> None:
    message = "OST UNKNOWN - name either --component or --group; see check_ost --help\n"
    assert output(line) == message


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("-V", f"check_ost {__version__} (plumbline)"),
        ("--version", f"check_ost {__version__} (plumbline)"),
        ("-h", "usage: check_ost (--component NAME | --group NAME)"),
        ("--help", "default /var/lib/plumbline/verdicts"),
    ],
)
def test_a_check_prints_its_version_and_help(argument: str, text: str) -> None:
    assert text in output(argument)
