"""Probes: the command line of each tool, and the parser of its output."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from plumbline.measure.probes.interface import Job, Probe
from plumbline.model.errors import DocumentError
from plumbline.model.layers.layer import Layer

__all__ = ["TOOLS", "Job", "Probe", "probe_for", "tools_of"]

TOOLS = ("fio", "sgp_dd", "netperf", "iperf3", "perftest", "calls")
"""Tools, each a module here, which is loaded when it is asked for."""


def probe_for(tool: str) -> Probe:
    """Return the probe for a ``tool``; raise DocumentError for an unknown one."""
    if tool not in TOOLS:
        tools = ", ".join(sorted(TOOLS))
        raise DocumentError(f"there is no probe {tool!r}; set the tool to one of: {tools}")
    return cast(Probe, import_module(f"{__name__}.{tool}"))


def tools_of(layer: Layer) -> tuple[str, ...]:
    """Return the tools that the policy may choose for a layer."""
    return tuple(tool for tool in TOOLS if layer in probe_for(tool).LAYERS)
