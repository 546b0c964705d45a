"""Arguments of a check follow the plug-in guidelines; errors are one sentence."""

from __future__ import annotations

import sys

import pytest

from plumbline import __version__
from plumbline.doors.call import OF_COMPONENTS, OPTIONS, TIMEOUT_S, Refusal, number, parse
from plumbline.doors.no_verdict import about
from plumbline.model.layers import LAYERS
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


def time_limit(options: dict[str, str]) -> float:
    return number(options, "--timeout", "seconds", TIMEOUT_S, 86400)


@pytest.mark.parametrize(("line", "options", "timeout_s", "verbosity"), FILE["understood"])
def test_arguments_are_parsed(
    line: str, options: dict[str, str], timeout_s: float, verbosity: int
) -> None:
    parsed, counted = parse("ost", line.split())
    assert {name: parsed[name] for name in options} == options
    assert parsed.keys() - options.keys() <= {"--verbose"}
    assert (time_limit(parsed), counted) == (timeout_s, verbosity)


@pytest.mark.parametrize(("line", "message"), FILE["refused"])
def test_an_invalid_argument_is_one_sentence(line: str, message: str) -> None:
    with pytest.raises(Refusal) as error:
        _ = time_limit(parse("ost", line.split())[0])
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("kind", [*LAYERS, "node", "symptoms", "path"])
def test_the_options_of_the_help_are_those_that_are_parsed(kind: str) -> None:
    lines = [line for line in about(kind, help_wanted=True).splitlines() if line[:3] == "  -"]
    described = [line.replace(",", "").split() for line in lines]
    assert {"--timeout", *OPTIONS.get(kind, OF_COMPONENTS)} == {
        words[words[1].startswith("--")]
        for words in described
        if words[1 + words[1].startswith("--")].isupper()
    }
    for words in described:
        spellings = words[: 1 + words[1].startswith("--")]
        value = ["1"] if words[len(spellings)].isupper() else []
        for spelling in spellings:
            assert list(parse(kind, [spelling, *value])[0]) == [spellings[-1]]


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
