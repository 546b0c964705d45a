"""The process of the forks serves all callers, whatever happens to one of them."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from tests.forks import Forks
from tests.project.repository import ROOT


@pytest.mark.slow
def test_a_caller_that_was_killed_ends_no_other_call() -> None:
    request = repr([["--version"], "/", None]).encode()
    with Forks(sys.executable, modules=[str(ROOT / "src")]) as forks:
        for asks in (False, True):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
                caller.connect(forks.path)
                if asks:
                    with open(os.devnull, "wb") as output:
                        socket.send_fds(caller, [request], [output.fileno()] * 2)
        assert forks.call(["--version"]).stdout.startswith("plumbline ")
