"""Network of the lab: a bridge in its own namespace, with a shaped veth pair to each host.

Hosts behind an uplink share a bridge of their own, and a shaped pair from there to the first one.

The machine's own network is not changed, and no host has a route out of the lab.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from plumbline_lab import naming, state
from plumbline_lab.command import run, succeeds
from plumbline_lab.document import Host, Lab, Shape
from plumbline_lab.errors import LabError

BRIDGE = "br0"
NAMESPACES = Path("/run/netns")


def _marks(run_dir: Path) -> Path:
    """Return the folder with a file for each namespace of this lab; names may be another lab's."""
    return run_dir / "namespaces"


def up(lab: Lab) -> list[str]:
    """Create the missing parts of the network."""
    done: list[str] = []
    _note([naming.control(), *(naming.namespace(name) for name in lab.hosts)], _marks(lab.run_dir))
    if not _is_up(naming.control(), BRIDGE):
        _control(lab)
        done.append(f"bridge {lab.control_address}/{lab.prefix} in {naming.control()}")
    for name, rate_bit in lab.uplinks_bit.items():
        if not _is_up(naming.control(), _beyond(name)):
            _uplink(lab, name)
            done.append(f"uplink {name}, {rate_bit / 1e6:g} Mbit/s")
    for host in lab.hosts.values():
        if not _is_up(naming.namespace(host.name), "eth0"):
            _cable(lab, host)
            done.append(f"link of {host.name}, {host.address}")
    return done


def _note(names: list[str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()


def _is_up(namespace: str, device: str) -> bool:
    """Return True if a device is up; this is the last step, so it is complete."""
    if not (NAMESPACES / namespace).exists():
        return False
    try:
        return device in run(["ip", "-n", namespace, "link", "show", "dev", device, "up"])
    except LabError:
        return False


def _control(lab: Lab) -> None:
    _fresh_namespace(naming.control())
    _ip(naming.control(), "link", "add", BRIDGE, "type", "bridge")
    _ip(naming.control(), "address", "add", f"{lab.control_address}/{lab.prefix}", "dev", BRIDGE)
    _ip(naming.control(), "link", "set", BRIDGE, "up")


def _uplink(lab: Lab, name: str) -> None:
    """Connect a second bridge to the first; its own end comes up last."""
    near, far, bridge = interface(name), _beyond(name), _bridge(name)
    for device in (near, bridge):
        succeeds(["ip", "-n", naming.control(), "link", "delete", device])
    _ip(naming.control(), "link", "add", bridge, "type", "bridge")
    _ip(naming.control(), "link", "set", bridge, "up")
    _ip(naming.control(), "link", "add", near, "type", "veth", "peer", "name", far)
    shape_link(lab, name)
    _ip(naming.control(), "link", "set", near, "master", BRIDGE, "up")
    _ip(naming.control(), "link", "set", far, "master", bridge, "up")


def _bridge(uplink: str) -> str:
    """Return the bridge of the hosts behind an uplink, or the first bridge for none."""
    return ("br-" + uplink)[:15] if uplink else BRIDGE


def _beyond(uplink: str) -> str:
    """Return the end of an uplink at the bridge of the hosts behind it."""
    return ("of-" + uplink)[:15]


def _ip(namespace: str, *argv: str) -> None:
    run(["ip", "-n", namespace, *argv])


def _fresh_namespace(name: str) -> None:
    """Create a namespace with only lo; first remove remains of a crash."""
    if (NAMESPACES / name).exists():
        run(["ip", "netns", "delete", name])
    run(["ip", "netns", "add", name])
    _ip(name, "link", "set", "lo", "up")


def _cable(lab: Lab, host: Host) -> None:
    name, far = naming.namespace(host.name), interface(host.name)
    _fresh_namespace(name)
    succeeds(["ip", "-n", naming.control(), "link", "delete", far])
    peer = ["type", "veth", "peer", "name", "eth0", "netns", name]
    run(["ip", "link", "add", far, "netns", naming.control(), *peer])
    _ip(naming.control(), "link", "set", far, "master", _bridge(host.uplink), "up")
    shape_link(lab, host.name)
    _ip(name, "address", "add", f"{host.address}/{lab.prefix}", "dev", "eth0")
    _ip(name, "link", "set", "eth0", "up")


def interface(name: str) -> str:
    """Return the bridge's end of a host's link or of an uplink; the kernel allows 15 characters."""
    return ("to-" + name)[:15]


def shape_link(lab: Lab, name: str) -> None:
    """Set the rate of a host's link or of an uplink from its state, in both directions."""
    broken: dict[str, object] = state.load(lab.run_dir)["links"].get(name, {})
    shape: Shape = lab.cable if broken.get("cable") else lab.link
    rate = int(str(broken.get("rate_bit", lab.links_bit[name])))
    own = (
        (naming.namespace(name), "eth0") if name in lab.hosts else (naming.control(), _beyond(name))
    )
    for netns, device in (own, (naming.control(), interface(name))):
        tbf = ["tbf", "rate", f"{rate}bit", "burst", shape.burst, "latency", shape.latency]
        run(["tc", "-n", netns, "qdisc", "replace", "dev", device, "root", *tbf])


def down(run_dir: Path) -> list[str]:
    """Remove all namespaces of the lab, and with them the links."""
    names = sorted(path.name for path in _marks(run_dir).glob("*"))
    existing = [name for name in names if (NAMESPACES / name).exists()]
    for name in existing:
        run(["ip", "netns", "delete", name])
    done = [f"namespace {name} removed" for name in existing]
    return done + (_remove_mount() if names else [])


def _remove_mount() -> list[str]:
    """Remove the folder that `ip netns add` mounts onto itself, unless others have namespaces."""
    if not NAMESPACES.is_dir() or any(NAMESPACES.iterdir()):
        return []
    # Path.is_mount() misses a folder that is mounted onto itself
    unmounted = succeeds(["umount", str(NAMESPACES)])
    # not empty if somebody has just added a namespace
    with contextlib.suppress(OSError):
        NAMESPACES.rmdir()
    return [f"{NAMESPACES} unmounted"] if unmounted else []
