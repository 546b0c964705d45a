"""ansible-playbook in a fork of a process that has imported Ansible."""

from __future__ import annotations

import atexit
import os
from typing import Sequence

import ansible.cli.playbook
from ansible import constants
from ansible.config.manager import cleanup_tmp_file, ensure_type


def main(words: Sequence[str]) -> None:
    """Run a playbook with a temporary folder of its own, as Ansible makes one when imported."""
    atexit.unregister(cleanup_tmp_file)
    folder = os.path.dirname(constants.DEFAULT_LOCAL_TMP)
    constants.DEFAULT_LOCAL_TMP = ensure_type(folder, "tmp")
    ansible.cli.playbook.main(["ansible-playbook", *words])
