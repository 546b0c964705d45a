"""Settings of the package's tests, and the command line within their process."""

from __future__ import annotations

import signal
from typing import Optional

import pytest
from hypothesis import settings

from plumbline.cli import main
from plumbline.model.errors import UsageError
from tests.package.cli.driver import Printed, Run, call

# A shell makes background jobs ignore Ctrl-C, and their children too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The time of an example depends more on other load of the machine than on the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line, checks its exit code, and returns its output.

    Errors are raised unless their exit code is expected.
    """

    def printed(*words: str, code: Optional[int] = 0) -> Printed:
        capsys.readouterr()
        exit_code = main(words) if code and code >= UsageError.exit_code else call(*words)
        output = Printed(*capsys.readouterr())
        assert code in (None, exit_code), output.err
        return output

    return printed
