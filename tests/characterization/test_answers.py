"""Answers of the command line equal those from ``python -m tests.characterization.record``.

States, reasons, figures, names and exit codes are compared, but not sentences.
"""

from __future__ import annotations

import shutil
from itertools import islice

import pytest

from tests.characterization.answers import GOLDEN, questions
from tests.characterization.console import Consoles
from tests.characterization.question import Question
from tests.characterization.trees import differences, load, reduced

pytestmark = pytest.mark.skipif(shutil.which("faketime") is None, reason="there is no faketime")
SHOWN = 20


def _parameter(question: Question) -> object:
    marks = [pytest.mark.slow] if question.slow else []
    return pytest.param(question, id=question.name, marks=marks)


@pytest.fixture(scope="module")
def consoles(tmp_path_factory: pytest.TempPathFactory) -> Consoles:
    return Consoles(tmp_path_factory.mktemp("consoles"))


@pytest.mark.parametrize("question", map(_parameter, questions()))
def test_an_answer_equals_the_recorded_one(question: Question, consoles: Consoles) -> None:
    golden, answer = load(GOLDEN, question.name), reduced(question.tree(consoles))
    different = list(islice(differences(golden, answer), SHOWN))
    if different:
        pytest.fail("\n".join([f"the first {SHOWN} differences:", *different]), pytrace=False)
