"""Files of a Lustre server as 2.17 has them, with what a real one printed."""

from __future__ import annotations

from pathlib import Path

from tests.project.repository import ROOT

DATA = ROOT / "tests" / "data" / "lustre"
_OBDFILTER = (DATA / "lctl_obdfilter_n_stats.txt").read_text(encoding="utf-8")
OST_STATS = "snapshot_time" + _OBDFILTER.split("snapshot_time")[1]


def text(name: str) -> str:
    """Return what Lustre printed."""
    return (DATA / name).read_text(encoding="utf-8")


def make_server(root: Path, osts: int = 1) -> None:
    """Make the folders of a server with storage targets and one metadata target."""
    debug = root / "sys/kernel/debug"
    for number in range(osts):
        name = f"lustre-OST{number:04x}"
        put(debug / f"lustre/obdfilter/{name}/stats", OST_STATS)
        put(debug / f"lustre/obdfilter/{name}/recovery_status", "status: INACTIVE\n")
        put(debug / f"lustre/osd-ldiskfs/{name}/brw_stats", text("brw_stats.txt"))
        put(root / f"proc/fs/lustre/obdfilter/{name}/job_stats", "job_stats:\n")
    put(root / "proc/fs/lustre/mdt/lustre-MDT0000/md_stats", text("md_stats.txt"))
    put(debug / "lustre/osc/lustre-OST0000-osc-MDT0000/stats", text("osc_stats.txt"))
    put(debug / "lnet/stats", text("lnet_stats.txt"))
    put(debug / "lnet/nis", text("lnet_nis.txt"))
    put(debug / "lnet/buffers", text("lnet_buffers_off.txt"))


def put(path: Path, said: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said, encoding="utf-8")
