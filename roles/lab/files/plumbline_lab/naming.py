"""The names that the lab gives to things of the machine, all from the name of its run directory.

So two labs with different run directories (and different ports for the page) do not meet.
"""

from __future__ import annotations

from pathlib import Path

_SUFFIX = "-lab"
_run_dir = Path("/run/plumbline-lab")


def use(run_dir: Path) -> None:
    """Settle the names, once, at the start of the program."""
    global _run_dir  # noqa: PLW0603 (one lab for each run of the program)
    _run_dir = run_dir


def group() -> str:
    """The control group that holds all others, and the first part of units' names."""
    return _run_dir.name


def namespace(host: str) -> str:
    """The network namespace of a host; nspawn calls the host so, too."""
    return f"{_prefix()}{host}"


def control() -> str:
    """The network namespace of the bridge."""
    return namespace("control")


def _prefix() -> str:
    name = _run_dir.name
    return (name[: -len(_SUFFIX)] if name.endswith(_SUFFIX) else name) + "-"
