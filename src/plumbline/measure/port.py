"""Port of an RDMA adapter: whether it is as the topology has it, and its counters.

All of it lies in ``/sys/class/infiniband``, which everybody may read.
"""

from __future__ import annotations

import re
from typing import Mapping

from plumbline.model.command import Files

_CLASS = "/sys/class/infiniband"
_ACTIVE = "4: ACTIVE"
_RATE = re.compile(r"([\d.]+) Gb/sec \((\d+X \w+)\)")
_MAX_NAMED = 16
"""Most devices named in a message."""

ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
)
"""Counters of faults of a link: of cable, connector or port."""

CONGESTION = ("port_xmit_wait",)
"""Counter of the ticks in which a port had data to send and no credit."""

_OF_DRIVER = ("out_of_sequence", "packet_seq_err", "rcvd_seq_err", "retry_exceeded_err")
"""Counters of drivers (mlx5, rxe) of lost packets, on RoCE mostly."""


class Port:
    """One port of an adapter, ``mlx5_0/1``."""

    def __init__(self, files: Files, adapter: str) -> None:
        self._files = files
        self._name = adapter
        self._device, _, self._number = adapter.partition("/")
        self._folder = f"{_CLASS}/{self._device}/ports/{self._number}"

    def fault(self, negotiated: str) -> str:
        """Return why the port cannot be measured, empty if it can.

        ``negotiated`` are its width and speed, ``4X HDR``, or its rate, ``100 Gb/sec``, in the
        topology; empty if unknown.
        """
        devices = self._files.names(_CLASS)
        if self._device not in devices:
            others = ", ".join(devices[:_MAX_NAMED]) or "none"
            return (
                f"this host has no RDMA device {self._device} (it has {others}); was it renamed? "
                "correct rdma in plumbline_topology, or look at rdma link"
            )
        state = self._files.read(f"{self._folder}/state")
        if not state:
            return f"{self._device} has no port {self._number}: correct rdma in the topology"
        if state != _ACTIVE:
            physical = self._files.read(f"{self._folder}/phys_state") or "unknown"
            return (
                f"port {self._name} is {_words(state)} (physical state {_words(physical)}); look "
                "at the cable, the port of the switch and, on InfiniBand, the subnet manager"
            )
        return self._difference(negotiated)

    def _difference(self, negotiated: str) -> str:
        """Return how the negotiated rate differs from the topology; empty if it does not."""
        if not negotiated:
            return ""
        text = self._files.read(f"{self._folder}/rate")
        match = _RATE.fullmatch(text)
        if not match:
            return f"port {self._name} has the rate {text[:40]!r}, which is not understood"
        gbit, port = match.groups()
        if negotiated in (port, f"{float(gbit):g} Gb/sec"):
            return ""
        return (
            f"port {self._name} runs at {gbit} Gb/s ({port}), and plumbline_topology has "
            f"{negotiated}; reseat or replace the cable, or correct the topology"
        )

    def counters(self) -> dict[str, int]:
        """Return the counters of errors, congestion and lost packets that the port has."""
        names = [f"counters/{name}" for name in (*ERRORS, *CONGESTION)]
        names += [f"hw_counters/{name}" for name in _OF_DRIVER]
        texts = {name: self._files.read(f"{self._folder}/{name}") for name in names}
        return {
            name.rpartition("/")[2]: int(text)
            for name, text in texts.items()
            if text.isascii() and text.isdigit()
        }


def increases(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return by how much counters rose, without those that did not; a reset one is left out."""
    return {
        name: after[name] - count
        for name, count in before.items()
        if name in after and after[name] > count
    }


def _words(state: str) -> str:
    """Return a state of the kernel without its number: ``1: DOWN`` is ``DOWN``."""
    return state.partition(": ")[2] or state
