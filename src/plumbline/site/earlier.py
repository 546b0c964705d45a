"""The snapshots that a playbook brings of the nodes: what they had measured before a question."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.series import Snapshot
from plumbline.store.snapshot import load_snapshot


class Earlier(NamedTuple):
    """The snapshots by node, and a remark on each file that could not be used."""

    memories: Mapping[str, Snapshot]
    remarks: tuple[str, ...] = ()


def read_earlier(files: Sequence[str]) -> Earlier:
    """Return the snapshots; without one a node is judged as if it had measured nothing before."""
    remarks: list[str] = []
    memories = [found for name in files if (found := _snapshot(name, remarks))]
    return Earlier({found.host: found for found in memories}, tuple(remarks))


def _snapshot(name: str, remarks: list[str]) -> Optional[Snapshot]:
    try:
        return load_snapshot(name)
    except DocumentError as error:
        remarks.append(f"Earlier runs are left out: {error}.")
        return None
