"""Arguments of a check are read as the guidelines say, and refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline import __version__
from plumbline.errors import UsageError
from plumbline.output.call import Call, parse


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("--component a", {"component": "a"}),
        ("--component=a", {"component": "a"}),
        ("--group scratch", {"group": "scratch"}),
        ("-t 2.5 --component a", {"timeout_s": 2.5}),
        ("--component a -vv -v --verbose", {"verbosity": 4}),
        ("--component a -vt5", {"verbosity": 1, "timeout_s": 5.0}),
        ("--component a --verdicts v --expectations=e", {"verdicts": "v", "expectations": "e"}),
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
        ("--component a -t", "-t needs a value"),
        ("--component a -w 80:", "argument '-w' is not understood"),
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
        ("--help", "default /var/lib/plumbline/verdicts"),
    ],
)
def test_a_check_says_what_it_is(argument: str, text: str) -> None:
    assert text in parse("check_ost", [argument]).answer
