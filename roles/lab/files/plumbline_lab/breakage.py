"""Breaks parts of the running lab by name, and heals them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional, Sequence

from plumbline_lab import disks, hosts, network, repair, state
from plumbline_lab.command import run
from plumbline_lab.document import Disk, Lab
from plumbline_lab.errors import LabError
from plumbline_lab.rates import bits_per_second, bytes_per_second

WAYS = (
    "-e disk=DISK -e rate=40MB/s, -e link=HOST -e rate=100Mbit, -e cable=HOST, -e errors=DISK, "
    "-e heal=DISK, -e heal=HOST or -e heal=all"
)


def choose(lab: Lab, wishes: dict[str, str], rate: str) -> list[str]:
    """Do the one thing that was asked for."""
    given = {kind: name for kind, name in wishes.items() if name}
    if len(given) != 1:
        what = "and ".join(f"{kind}={name} " for kind, name in given.items()) or "nothing "
        raise LabError(
            f"Break or heal one thing at a time, but {what}was given; the ways are {WAYS}."
        )
    ((kind, name),) = given.items()
    if kind in ("disk", "link") and not rate:
        raise LabError(
            f"How slow shall {name} be? Add -e rate=40MB/s for a disk, -e rate=100Mbit for a link."
        )
    if kind not in ("disk", "link") and rate:
        raise LabError(f"A rate goes with disk or link alone, not with {kind}={name}.")
    if kind == "disk":
        return slow_disk(lab, _disk(lab, name), bytes_per_second(rate))
    if kind == "link":
        return change_link(lab, _host(lab, name), {"rate_bit": bits_per_second(rate)})
    if kind == "cable":
        return change_link(lab, _host(lab, name), {"cable": True})
    if kind == "errors":
        return unreadable_disk(lab, _disk(lab, name))
    return heal(lab, name)


def _known(name: str, kind: str, names: Sequence[str]) -> None:
    if name not in names:
        raise LabError(f"The lab has no {kind} '{name}'; it has {', '.join(names)}.")


def _disk(lab: Lab, name: str) -> Disk:
    _known(name, "disk", list(lab.disks))
    return lab.disks[name]


def _host(lab: Lab, name: str) -> str:
    _known(name, "host", list(lab.hosts))
    return name


def _note(lab: Lab, kind: str, name: str, value: Optional[dict[str, object]]) -> bool:
    """Write down what is broken now, or no longer; True when that is news."""
    now = state.load(lab.run_dir)
    if now[kind].get(name) == value:
        return False
    if value is None:
        del now[kind][name]
    else:
        now[kind][name] = value
    state.save(lab.run_dir, now)
    return True


def slow_disk(lab: Lab, disk: Disk, rate_Bps: int) -> list[str]:
    """Give a disk another rate."""
    news = _note(lab, "disks", disk.name, {"rate_Bps": rate_Bps})
    disks.set_rate(lab, disk, rate_Bps)
    return [f"disk {disk.name} runs at {rate_Bps / 1e6:g} MB/s"] if news else []


def change_link(lab: Lab, host: str, value: dict[str, object]) -> list[str]:
    """Give a link another rate, or the small buffers that lose packets as a bad cable does."""
    news = _note(lab, "links", host, value)
    network.shape_host(lab, host)
    rate = int(str(value.get("rate_bit", lab.link_rate_bit)))
    how = "loses packets" if value.get("cable") else f"runs at {rate / 1e6:g} Mbit/s"
    return [f"link of {host} {how}"] if news else []


def unreadable_disk(lab: Lab, disk: Disk) -> list[str]:
    """Make a disk fail: its image loses the tail and the room for one: real I/O errors there.

    The head stays, with ext4's structures and journal in it; the tail is kept aside until the disk
    is healed.
    """
    if disk.name in state.load(lab.run_dir)["errors"]:
        return []
    place, path = disks.folder(lab.run_dir, disk.name), disks.image(lab.run_dir, disk.name)
    saved = repair.saved_image(lab.run_dir, disk.name)
    saved.parent.mkdir(parents=True, exist_ok=True)
    hosts.inside(disk.host, ["sync", "--file-system", f"/data/{disk.label}"])
    fresh = saved.with_suffix(".new")
    run(["cp", "--sparse=always", str(path), str(fresh)])
    os.replace(fresh, saved)
    _note(lab, "errors", disk.name, {"readable_bytes": disks.HEAD_BYTES})
    with path.open("r+b") as stream:
        stream.truncate(disks.HEAD_BYTES)
        # No holes in the head: writing there shall not need room.
        os.posix_fallocate(stream.fileno(), 0, disks.HEAD_BYTES)
    room = path.stat().st_blocks * 512
    run(["mount", "-o", f"remount,size={room}", str(place)])
    _drop_cache(lab, disk)
    return [f"disk {disk.name} gives I/O errors beyond its first {disks.HEAD_BYTES // 2**20} MiB"]


def _drop_cache(lab: Lab, disk: Disk) -> None:
    number = disks.loop_of(lab.run_dir, disk.name)
    if number is not None:
        run(["blockdev", "--flushbufs", f"/dev/loop{number}"])


def heal(lab: Lab, name: str) -> list[str]:
    """Make a disk or a host's link as good as new, or everything."""
    if name != "all" and name not in lab.disks:
        _known(name, "disk or host", [*lab.disks, *lab.hosts])
    broken = state.load(lab.run_dir)
    done: list[str] = []
    for kind, table in broken.items():
        for part in sorted(table):
            if name in ("all", part):
                done += _heal_one(lab, kind, part)
    return done


def _heal_one(lab: Lab, kind: str, name: str) -> list[str]:
    if kind == "links":
        _note(lab, kind, name, None)
        network.shape_host(lab, name)
        return [f"link of {name} healed"]
    if kind == "disks":
        _note(lab, kind, name, None)
        disks.set_rate(lab, lab.disks[name], lab.disk_rate_Bps)
        return [f"disk {name} runs at its own rate again"]
    repair.restore(lab, lab.disks[name])
    _note(lab, kind, name, None)
    shutil.rmtree(repair.saved_image(lab.run_dir, name).parent, ignore_errors=True)
    return [f"disk {name} is readable again"]


def describe(run_dir: Path) -> list[str]:
    """What is broken now, one line each."""
    now = state.load(run_dir)
    lines = [
        f"disk {name}: {value['rate_Bps'] / 1e6:g} MB/s" for name, value in now["disks"].items()
    ]
    for name, value in now["links"].items():
        lines.append(
            f"link {name}: "
            + ("bad cable" if value.get("cable") else f"{value['rate_bit'] / 1e6:g} Mbit/s")
        )
    lines += [f"disk {name}: I/O errors" for name in now["errors"]]
    return lines or ["nothing is broken"]
