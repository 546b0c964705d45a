"""Files of a Lustre 2.17 server, with the contents of a real one."""

from __future__ import annotations

from pathlib import Path

from tests.package.recorded import data, text

OST_STATS = text({"data": "lustre/lctl_obdfilter_n_stats.txt", "lines": [1, 14]})
"""The stats file of one OST."""


def make_server(root: Path, osts: int = 1) -> None:
    """Create the folders of a server with OSTs and one MDT."""
    debug = root / "sys/kernel/debug"
    for number in range(osts):
        name = f"lustre-OST{number:04x}"
        put(debug / f"lustre/obdfilter/{name}/stats", OST_STATS)
        put(debug / f"lustre/obdfilter/{name}/recovery_status", "status: INACTIVE\n")
        put(debug / f"lustre/osd-ldiskfs/{name}/brw_stats", data("lustre/brw_stats.txt"))
        put(root / f"proc/fs/lustre/obdfilter/{name}/job_stats", "job_stats:\n")
    put(root / "proc/fs/lustre/mdt/lustre-MDT0000/md_stats", data("lustre/md_stats.txt"))
    put(debug / "lustre/osc/lustre-OST0000-osc-MDT0000/stats", data("lustre/osc_stats.txt"))
    put(debug / "lnet/stats", data("lustre/lnet_stats.txt"))
    put(debug / "lnet/nis", data("lustre/lnet_nis.txt"))
    put(debug / "lnet/buffers", data("lustre/lnet_buffers_off.txt"))


def put(path: Path, content: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
