"""Keys and certificates of the role nrpe, on hosts that are folders of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping

from tests.project.playbook import run_play

GROUP = "nogroup"


def play(
    folder: Path, *words: str, given: Mapping[str, Any] = {}
) -> subprocess.CompletedProcess[str]:
    """Run the tasks for mon1, which has the authority, and oss1, each in a folder of its name."""
    values = {
        "agent_plan": {"site": "test", "services": [{"node": "oss1"}]},
        "oss1_python": sys.executable,
        "nrpe_authority_directory": str(folder / "authority"),
        "nrpe_certificate_group": GROUP,
        "nrpe_tls_directory": f"{folder}/{{{{ inventory_hostname }}}}",
        # the Python of the tests has the content of the package
        "__agent_query": {"Debian": ["printf", "%s installed\\n"]},
        **given,
    }
    return run_play(folder, "certificates", values, *words)
