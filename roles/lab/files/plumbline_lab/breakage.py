"""Break parts of the running lab by name, and heal them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable, Mapping, NamedTuple, Optional

from plumbline_lab import disks, hosts, network, repair, state
from plumbline_lab.command import run
from plumbline_lab.document import Lab
from plumbline_lab.errors import LabError
from plumbline_lab.rates import bits_per_second, bytes_per_second

HEAL = "heal"


def choose(lab: Lab, wishes: dict[str, str], rate: str) -> list[str]:
    """Break or heal one part."""
    chosen = {wish: name for wish, name in wishes.items() if name}
    if len(chosen) != 1:
        text = "and ".join(f"{wish}={name} " for wish, name in chosen.items()) or "nothing "
        ways = ", ".join(f"-e {wish}={fault.example}" for wish, fault in FAULTS.items())
        raise LabError(
            f"Break or heal one thing at a time, but {text}was given; the ways are {ways}, "
            "-e heal=DISK, -e heal=HOST or -e heal=all."
        )
    ((wish, name),) = chosen.items()
    fault = FAULTS.get(wish)
    if rate and not (fault and fault.rate):
        rated = " or ".join(other for other, fault in FAULTS.items() if fault.rate)
        raise LabError(f"A rate goes with {rated} alone, not with {wish}={name}.")
    if fault is None:
        return heal(lab, name)
    parts: dict[str, Mapping[str, object]] = {
        "disk": lab.disks,
        "host": lab.hosts,
        "link": lab.links_bit,
    }
    _refuse_unknown(name, fault.part, parts[fault.part])
    if not fault.rate:
        return fault.inflict(lab, name, 0)
    if not rate:
        raise LabError(f"How slow shall {name} be? Add the rate: -e {wish}={fault.example}.")
    return fault.inflict(lab, name, fault.rate(rate))


def _refuse_unknown(name: str, part: str, names: Mapping[str, object]) -> None:
    if name not in names:
        raise LabError(f"The lab has no {part} '{name}'; it has {', '.join(names)}.")


def _note(lab: Lab, kind: str, name: str, value: Optional[dict[str, object]]) -> bool:
    """Record a fault, or with None its end; return True if this is a change."""
    faults = state.load(lab.run_dir)
    if faults[kind].get(name) == value:
        return False
    if value is None:
        del faults[kind][name]
    else:
        faults[kind][name] = value
    state.save(lab.run_dir, faults)
    return True


def slow_disk(lab: Lab, name: str, rate_Bps: int) -> list[str]:
    """Give a disk another rate."""
    changed = _note(lab, "disks", name, {"rate_Bps": rate_Bps})
    disks.set_rate(lab, lab.disks[name], rate_Bps)
    return [f"disk {name} runs at {rate_Bps / 1e6:g} MB/s"] if changed else []


def slow_link(lab: Lab, name: str, rate_bit: int) -> list[str]:
    """Give a host's link or an uplink another rate."""
    return _change_link(lab, name, {"rate_bit": rate_bit}, f"runs at {rate_bit / 1e6:g} Mbit/s")


def bad_cable(lab: Lab, host: str, _rate: int) -> list[str]:
    """Give a link small buffers, which lose packets like a bad cable."""
    return _change_link(lab, host, {"cable": True}, "loses packets")


def _change_link(lab: Lab, name: str, value: dict[str, object], change: str) -> list[str]:
    changed = _note(lab, "links", name, value)
    network.shape_link(lab, name)
    return [f"{_link(lab, name)} {change}"] if changed else []


def _link(lab: Lab, name: str) -> str:
    return f"link of {name}" if name in lab.hosts else f"uplink {name}"


def unreadable_disk(lab: Lab, name: str, _rate: int) -> list[str]:
    """Make a disk fail: without the tail of its image and space for it, there are real I/O errors.

    The head with ext4's structures and journal stays; a copy of the image is kept until the disk is
    healed.
    """
    if name in state.load(lab.run_dir)["errors"]:
        return []
    disk = lab.disks[name]
    place, path = disks.folder(lab.run_dir, name), disks.image(lab.run_dir, name)
    saved = repair.saved_image(lab.run_dir, name)
    saved.parent.mkdir(parents=True, exist_ok=True)
    hosts.inside(disk.host, ["sync", "--file-system", f"/data/{disk.label}"])
    fresh = saved.with_suffix(".new")
    run(["cp", "--sparse=always", str(path), str(fresh)])
    os.replace(fresh, saved)
    _note(lab, "errors", name, {"readable_bytes": disks.HEAD_BYTES})
    with path.open("r+b") as stream:
        stream.truncate(disks.HEAD_BYTES)
        # No holes in the head: writing there must not need space.
        os.posix_fallocate(stream.fileno(), 0, disks.HEAD_BYTES)
    room = path.stat().st_blocks * 512
    run(["mount", "-o", f"remount,size={room}", str(place)])
    number = disks.loop_of(lab.run_dir, name)
    if number is not None:
        run(["blockdev", "--flushbufs", f"/dev/loop{number}"])
    return [f"disk {name} gives I/O errors beyond its first {disks.HEAD_BYTES // 2**20} MiB"]


class Fault(NamedTuple):
    """A way to break a part; ``inflict`` gets its name and the rate, 0 without one."""

    example: str
    part: str
    inflict: Callable[[Lab, str, int], list[str]]
    rate: Optional[Callable[[str], int]] = None


FAULTS = {
    "disk": Fault("DISK -e rate=40MB/s", "disk", slow_disk, bytes_per_second),
    "link": Fault("HOST -e rate=100Mbit", "link", slow_link, bits_per_second),
    "cable": Fault("HOST", "host", bad_cable),
    "errors": Fault("DISK", "disk", unreadable_disk),
}
"""Faults by the names of their options."""


def heal(lab: Lab, name: str) -> list[str]:
    """Heal a disk, a link, or everything."""
    if name != "all" and name not in lab.disks:
        _refuse_unknown(name, "disk, host or uplink", {**lab.disks, **lab.links_bit})
    broken = state.load(lab.run_dir)
    done: list[str] = []
    for kind, table in broken.items():
        for part in sorted(table):
            if name in ("all", part):
                done += _heal_part(lab, kind, part)
    return done


def _heal_part(lab: Lab, kind: str, name: str) -> list[str]:
    if kind == "links":
        _note(lab, kind, name, None)
        network.shape_link(lab, name)
        return [f"{_link(lab, name)} healed"]
    if kind == "disks":
        _note(lab, kind, name, None)
        disks.set_rate(lab, lab.disks[name], lab.disk_rate_Bps)
        return [f"disk {name} runs at its own rate again"]
    repair.restore(lab, lab.disks[name])
    _note(lab, kind, name, None)
    shutil.rmtree(repair.saved_image(lab.run_dir, name).parent, ignore_errors=True)
    return [f"disk {name} is readable again"]


def describe(run_dir: Path) -> list[str]:
    """Return a line for each fault."""
    faults = state.load(run_dir)
    lines = [
        f"disk {name}: {value['rate_Bps'] / 1e6:g} MB/s" for name, value in faults["disks"].items()
    ]
    for name, value in faults["links"].items():
        lines.append(
            f"link {name}: "
            + ("bad cable" if value.get("cable") else f"{value['rate_bit'] / 1e6:g} Mbit/s")
        )
    lines += [f"disk {name}: I/O errors" for name in faults["errors"]]
    return lines or ["nothing is broken"]
