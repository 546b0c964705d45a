"""Settings of all tests of the package, and the command line within their process."""

from __future__ import annotations

import signal
from typing import Optional

import pytest
from hypothesis import settings

from plumbline.cli import main
from plumbline.model.errors import UsageError
from tests.package.cli.driver import Printed, Run, call

# A shell that starts the tests in the background ignores Ctrl-C for them and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


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
