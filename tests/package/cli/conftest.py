"""The command line within the process of the test."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.cli import main
from plumbline.model.errors import UsageError
from tests.package.cli.driver import Printed, Run, call


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what calls the command line, compares its exit code, and returns what it printed.

    An error is raised, unless its exit code is expected.
    """

    def printed(*words: str, code: Optional[int] = 0) -> Printed:
        capsys.readouterr()
        ended = main(words) if code and code >= UsageError.exit_code else call(*words)
        output = Printed(*capsys.readouterr())
        assert code in (None, ended), output.err
        return output

    return printed
