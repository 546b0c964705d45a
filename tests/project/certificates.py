"""Keys and certificates of the role nrpe, on hosts that are folders of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

from tests.project.playbook import run_play

GROUP = "nogroup"


SERVERS = ("oss1", "expiring", "becomes_client", "bad_key", "bad_certificate", "empty", "earlier")


def play(
    folder: Path,
    *words: str,
    these: Sequence[str] = ("mon1", "oss1"),
    given: Mapping[str, Any] = {},
) -> subprocess.CompletedProcess[str]:
    """Run the tasks for these hosts, each in a folder of its name; mon1 has the authority."""
    values = {
        "these": [*these],
        "agent_plan": {"site": "test", "services": [{"node": name} for name in SERVERS]},
        "oss1_python": sys.executable,
        "nrpe_authority_directory": f"{folder}/{{{{ authority | default('authority') }}}}",
        "nrpe_certificate_group": GROUP,
        "nrpe_tls_directory": f"{folder}/{{{{ inventory_hostname }}}}",
        # the Python of the tests has the content of the package
        "__agent_query": {"Debian": ["printf", "%s installed\\n"]},
        **given,
    }
    return run_play(folder, "certificates", values, *words)
