"""Parts beside the core, and whether they are installed on this host.

The core imports none of them: it finds a part by its name here, and says what is missing if a host
lacks it.  A node has the core and what it runs; docs/parts.md has a page for each part.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from plumbline.model.errors import ToolError

T = TypeVar("T")

PARTS = {
    "facts": "symptoms, conditions, counters, stages and jobs; latency under load",
    "locate": "suspects, the service that bears an alarm, the next measurement",
    "parallel": "all targets at once, call by call, and sweeps",
    "report": "pages and figures of a site, periods compared",
    "space": "how full each target is, and when it is full",
    "simulate": "what a policy finds, and how often it is wrong",
}
"""Abilities of each part."""


def is_installed(part: str) -> bool:
    """Return whether a part is on this host; its libraries may still be missing."""
    try:
        return find_spec(f"plumbline.parts.{part}") is not None
    except ModuleNotFoundError:
        # a host may have no part at all
        return False


def load(part: str, module: str) -> Any:
    """Return a module of a part.

    Raises:
        ToolError: the part is not installed here.
        ImportError: a library of the part is not installed here.
    """
    if not is_installed(part):
        raise missing(part, "this")
    return import_module(f"plumbline.parts.{part}.{module}")


def ask(part: str, question: str, otherwise: T, *given: Any) -> T:
    """Return what a function of a part's contract answers, ``otherwise`` without the part.

    Raises what the function raises.
    """
    if not is_installed(part):
        return otherwise
    answer: T = getattr(load(part, "contract"), question)(*given)
    return answer


def missing(part: str, user: str) -> ToolError:
    """Return the error that a part is missing which ``user`` needs."""
    return ToolError(
        f"{user} needs the part {part} ({PARTS[part]}), which this host does not have; call "
        f"it on the monitoring host or on the control host, or install it: {remedy(part)}"
    )


def remedy(part: str) -> str:
    """Return the call that installs a part and its libraries.

    No name for PyPI: what is called plumbline there is another project.
    """
    return f"in a clone of plumbline, pip install '.[{part}]'"
