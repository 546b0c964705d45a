"""Action plug-ins run plumbline on the control host and pass on its refusals."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.console import Plumbline


def command(script: str, **options: Any) -> Plumbline:
    return Plumbline({"command": [sys.executable, "-c", script], "source": None, **options})


def test_the_output_of_the_command_is_returned() -> None:
    script = "import os, sys; print(sys.argv[1:], os.environ['PYTHONPATH'])"
    assert command(script, source="/srv").ask(["investigate"]) == "['investigate'] /srv/src\n"


def test_a_refusal_is_the_sentence_of_the_command() -> None:
    script = "import sys; print('plumbline: oss9 is no part', file=sys.stderr); sys.exit(64)"
    with pytest.raises(AnsibleActionFail, match=r"^plumbline: oss9 is no part$"):
        command(script).ask(["investigate"])


def test_a_missing_command_is_named() -> None:
    with pytest.raises(AnsibleActionFail, match="/nowhere cannot be run: No such file"):
        Plumbline({"command": ["/nowhere"], "source": None}).ask([])
