"""Probes: the command line of each tool, and the parser of its output."""

from __future__ import annotations

from plumbline.measure.probes import calls, fio, iperf3, netperf, perftest, sgp_dd
from plumbline.measure.probes.interface import Job, Probe
from plumbline.model.errors import DocumentError
from plumbline.model.layers.layer import Layer

__all__ = ["PROBES", "Job", "Probe", "probe_for", "tools_of"]

PROBES: dict[str, Probe] = {
    "fio": fio,
    "sgp_dd": sgp_dd,
    "netperf": netperf,
    "iperf3": iperf3,
    "perftest": perftest,
    "calls": calls,
}


def probe_for(tool: str) -> Probe:
    """Return the probe for a ``tool``; raise DocumentError for an unknown one."""
    if tool not in PROBES:
        tools = ", ".join(sorted(PROBES))
        raise DocumentError(f"there is no probe {tool!r}; set the tool to one of: {tools}")
    return PROBES[tool]


def tools_of(layer: Layer) -> tuple[str, ...]:
    """Return the tools that the policy may choose for a layer."""
    return tuple(tool for tool, probe in PROBES.items() if layer in probe.LAYERS)
