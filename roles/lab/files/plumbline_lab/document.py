"""Description of the lab: objects from the document that the role writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline_lab.errors import LabError
from plumbline_lab.rates import bits_per_second, bytes_per_second, size_bytes

FILE = "lab.json"


@dataclass(frozen=True)
class Shape:
    """Buffers of a healthy link, or of one with a bad cable (see tc-tbf)."""

    burst: str
    latency: str


@dataclass(frozen=True)
class Disk:
    """One disk of one server."""

    name: str  # unique in the lab: HOST-LABEL
    label: str  # unique in its host
    host: str


@dataclass(frozen=True)
class Host:
    """One machine of the lab."""

    name: str
    address: str
    release: str
    base: Path
    disks: tuple[Disk, ...]
    uplink: str  # between it and the bridge of the others, or empty


@dataclass(frozen=True)
class Lab:
    """The entire lab."""

    run_dir: Path
    control_address: str
    prefix: int
    link_rate_bit: int
    link: Shape
    cable: Shape
    uplinks_bit: dict[str, int]
    disk_size: int
    disk_rate_Bps: int
    launcher: str
    mirror_dir: Path
    page_port: int
    page_address: str
    hosts: dict[str, Host]

    @property
    def links_bit(self) -> dict[str, int]:
        """Healthy rates of all links, by the host at the end or the name of the uplink."""
        return {**dict.fromkeys(self.hosts, self.link_rate_bit), **self.uplinks_bit}

    @property
    def disks(self) -> dict[str, Disk]:
        """All disks of the lab, by name."""
        return {disk.name: disk for host in self.hosts.values() for disk in host.disks}


def load(run_dir: Path) -> Lab:
    """Read the document; raise LabError if there is none, because the lab was never up."""
    path = run_dir / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return _lab(run_dir, raw)
    except FileNotFoundError as error:
        raise LabError(
            f"The lab is not up: {path} does not exist; run playbooks/lab_up.yml first."
        ) from error
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise LabError(
            f"{path} is damaged ({error!r}); run playbooks/lab_down.yml, then lab_up.yml."
        ) from error


def _lab(run_dir: Path, raw: dict[str, Any]) -> Lab:
    return Lab(
        run_dir=run_dir,
        control_address=raw["control_address"],
        prefix=int(raw["prefix"]),
        link_rate_bit=bits_per_second(raw["link_rate"]),
        link=Shape(**raw["link"]),
        cable=Shape(**raw["cable"]),
        uplinks_bit={name: bits_per_second(rate) for name, rate in raw["uplinks"].items()},
        disk_size=size_bytes(raw["disk_size"]),
        disk_rate_Bps=bytes_per_second(raw["disk_rate"]),
        launcher=raw["launcher"],
        mirror_dir=Path(raw["mirror_dir"]),
        page_port=int(raw["page_port"]),
        page_address=raw["page_address"],
        hosts={name: _host(name, host) for name, host in raw["hosts"].items()},
    )


def _host(name: str, raw: dict[str, Any]) -> Host:
    disks = tuple(Disk(name=f"{name}-{label}", label=label, host=name) for label in raw["disks"])
    return Host(
        name=name,
        address=raw["address"],
        release=raw["release"],
        base=Path(raw["base"]),
        disks=disks,
        uplink=raw["uplink"],
    )
