"""Names of the lab's groups and namespaces, derived from the name of its run directory.

Labs with different run directories, and different ports for the page, do not conflict.
"""

from __future__ import annotations

from pathlib import Path

_SUFFIX = "-lab"
_run_dir = Path("/run/plumbline-lab")


def use(run_dir: Path) -> None:
    """Set the run directory, once, at the start of the program."""
    global _run_dir  # noqa: PLW0603 (one lab for each run of the program)
    _run_dir = run_dir


def group() -> str:
    """Return the control group above all others; unit names begin with it."""
    return _run_dir.name


def namespace(host: str) -> str:
    """Return the network namespace of a host, which is also its name in nspawn."""
    return f"{_prefix()}{host}"


def control() -> str:
    """Return the network namespace of the bridge."""
    return namespace("control")


def _prefix() -> str:
    name = _run_dir.name
    return (name[: -len(_SUFFIX)] if name.endswith(_SUFFIX) else name) + "-"
