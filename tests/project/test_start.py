"""A check runs every minute on every host: what it loads at its start stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.repository import tracked

SLOW = {
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "pathlib",
    "pydantic",
    "rich",
    "sqlite3",
    "subprocess",
    "typing",
    "yaml",
}
# Without runpy, which itself loads some of them.
LOAD = """
import sys
path = sys.argv[1]
exec(compile(open(path).read(), path, "exec"), {"__name__": "check", "__file__": path})
print(*sys.modules)
"""


@pytest.mark.parametrize("check", tracked("checks/check_*"), ids=lambda path: path.name)
def test_a_check_loads_no_module_that_is_slow_to_start(check: Path) -> None:
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOAD, str(check)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "plumbline.output.runtime" in loaded
    assert sorted(SLOW.intersection(loaded)) == []
