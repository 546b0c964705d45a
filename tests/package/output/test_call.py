"""Arguments of a check are read as the guidelines say, and refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline import __version__
from plumbline.errors import UsageError
from plumbline.model.threshold import Range
from plumbline.output.call import Call, parse
from tests.package.judgements import expectation

INF = float("inf")


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("--component a", {"component": "a"}),
        ("--component=a", {"component": "a"}),
        ("--group scratch", {"group": "scratch"}),
        ("--component a -w 85: -c60:", {"warning": Range(85, INF), "critical": Range(60, INF)}),
        ("--component a --warning=@10:20", {"warning": Range(10, 20, inside=True)}),
        ("-t 2.5 --component a", {"timeout_s": 2.5}),
        ("--component a -vv -v --verbose", {"verbosity": 4}),
        ("--component a -vw85:", {"verbosity": 1, "warning": Range(85, INF)}),
        ("--component a --snapshot s --expectations=e", {"snapshot": "s", "expectations": "e"}),
    ],
)
def test_arguments_are_understood(line: str, values: dict[str, Any]) -> None:
    wanted = {"component": "" if "group" in values else "a", **values}
    assert parse("check_ost", line.split()) == Call(**wanted)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "name either --component or --group; see check_ost --help"),
        ("--component a --group b", "name either --component or --group"),
        ("--component", "--component needs a value"),
        ("--component=", "name either"),
        ("--component a -w", "-w needs a value"),
        ("--component a -w fast", "--warning: threshold 'fast' is not a Nagios range"),
        ("--component a -c 20:10", "--critical: threshold '20:10' starts above its end"),
        ("--component a -t soon", "--timeout 'soon' is no number of seconds"),
        ("--component a -t 0", "--timeout '0' is no number of seconds"),
        ("--component a -t nan", "--timeout 'nan' is no number of seconds"),
        ("--component a -x", "argument '-x' is not understood"),
        ("--component a --verbose=3", "argument '--verbose=3' is not understood"),
        ("--component a b", "argument 'b' is not understood"),
        ("--component a -", "argument '-' is not understood"),
    ],
)
def test_what_is_not_understood_is_one_sentence(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse("check_ost", line.split())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("-V", f"check_ost {__version__} (plumbline)"),
        ("--version", f"check_ost {__version__} (plumbline)"),
        ("-h", "usage: check_ost (--component NAME | --group NAME)"),
        ("--help", "default /var/lib/plumbline/snapshot.json"),
    ],
)
def test_a_check_says_what_it_is(argument: str, text: str) -> None:
    assert text in parse("check_ost", [argument]).answer


def test_levels_of_the_call_take_the_place_of_the_expectations_own() -> None:
    limits = parse("check_ost", ["--component", "a", "-w", "90:"]).limited(expectation()).limits
    assert limits == expectation().limits._replace(warning=Range(90, INF))
