"""Every verb after a plain ``pip install``: a Python with only the standard library."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Iterator

import pytest
import tomllib

from plumbline.cli import CONSOLE_LIBRARIES, build_parser
from tests.forks import Forks
from tests.project.repository import ROOT

INVENTORY = str(ROOT / "inventories" / "example")
SENTENCE = re.compile(
    rf"plumbline: (?:{'|'.join(CONSOLE_LIBRARIES)}) is not installed on this host; plumbline \w+ "
    r"needs the libraries of the (?:part )?(\w+): in a clone of plumbline, pip install '\.\[\1\]'\n"
    r"|plumbline: numpy is not installed on this host; plumbline \w+ needs it: python3-numpy\n"
)
EXIT_CODES = {0, 1, 2, 3, 64, 65, 69, 74, 75, 77}


def leaves(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield the words and the parser of every verb and action."""
    groups = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    if not groups:
        yield words, parser
    for action in groups:
        for name, verb in action.choices.items():
            yield from leaves(verb, (*words, name))


VERBS = [pytest.param(*leaf, id=" ".join(leaf[0])) for leaf in leaves(build_parser())]


def arguments(parser: argparse.ArgumentParser, folder: Path) -> Iterator[str]:
    """Yield the arguments that a verb needs; no path exists on this machine."""
    nowhere = str(folder / "nowhere")
    for action in parser._actions:
        option = action.option_strings[-1:]
        value = next(iter(action.choices)) if action.choices else nowhere
        if action.dest == "inventory":
            yield from (*option, INVENTORY)
        elif action.required or (
            option and (action.dest == "expectations" or str(action.default).startswith("/"))
        ):
            yield from (*option, value)


@pytest.fixture(scope="module")
def bare() -> Iterator[Forks]:
    """Return the command line in a Python that has only the standard library."""
    with Forks(sys.executable, "-I", "-S", modules=(str(ROOT / "src"),)) as forks:
        yield forks


@pytest.mark.parametrize(("words", "parser"), VERBS)
def test_a_verb_ends_without_a_traceback_and_names_a_library_that_it_lacks(
    words: tuple[str, ...], parser: argparse.ArgumentParser, bare: Forks, tmp_path: Path
) -> None:
    ended = bare.call([*words, *arguments(parser, tmp_path)])
    assert "Traceback" not in ended.stderr
    assert ended.returncode in EXIT_CODES
    if "-i" in parser._option_string_actions:
        assert (ended.returncode, ended.stdout) == (69, "")
        assert SENTENCE.fullmatch(ended.stderr)


def test_the_libraries_are_those_of_the_extra() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extra = tomllib.loads(text)["project"]["optional-dependencies"]["console"]
    names = {re.split(r"\W", line)[0].lower() for line in extra}
    assert {"pyyaml" if name == "yaml" else name for name in CONSOLE_LIBRARIES} == names
