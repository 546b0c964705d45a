"""The lab's network: a bridge in a namespace of its own, a shaped veth pair to each host's.

Nothing is put into the machine's own network, and no host has a route to anywhere else.
"""

from __future__ import annotations

from pathlib import Path

from plumbline_lab import naming, state
from plumbline_lab.command import run, succeeds
from plumbline_lab.document import Host, Lab, Shape
from plumbline_lab.errors import LabError

BRIDGE = "br0"
NAMESPACES = Path("/run/netns")


def _made(run_dir: Path) -> Path:
    """A file for each namespace of this lab: by its name alone it could be of another lab."""
    return run_dir / "namespaces"


def up(lab: Lab) -> list[str]:
    """Make what is missing of the network."""
    done: list[str] = []
    _note([naming.control(), *(naming.namespace(name) for name in lab.hosts)], _made(lab.run_dir))
    if not _is_up(naming.control(), BRIDGE):
        _control(lab)
        done.append(f"bridge {lab.control_address}/{lab.prefix} in {naming.control()}")
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
    """Devices are switched on last: one that is up is complete."""
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


def _ip(namespace: str, *argv: str) -> None:
    run(["ip", "-n", namespace, *argv])


def _fresh_namespace(name: str) -> None:
    """A namespace without anything but lo: what a crash left of it goes."""
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
    _ip(naming.control(), "link", "set", far, "master", BRIDGE, "up")
    shape_host(lab, host.name)
    _ip(name, "address", "add", f"{host.address}/{lab.prefix}", "dev", "eth0")
    _ip(name, "link", "set", "eth0", "up")


def interface(host: str) -> str:
    """The bridge's end of a host's link; the kernel allows 15 characters."""
    return ("to-" + host)[:15]


def shape_host(lab: Lab, host: str) -> None:
    """Give a host's link the rate that its state asks for: both ends, so both directions."""
    broken: dict[str, object] = state.load(lab.run_dir)["links"].get(host, {})
    shape: Shape = lab.cable if broken.get("cable") else lab.link
    rate = int(str(broken.get("rate_bit", lab.link_rate_bit)))
    for where, device in ((naming.namespace(host), "eth0"), (naming.control(), interface(host))):
        tbf = ["tbf", "rate", f"{rate}bit", "burst", shape.burst, "latency", shape.latency]
        run(["tc", "-n", where, "qdisc", "replace", "dev", device, "root", *tbf])


def down(run_dir: Path) -> list[str]:
    """Remove every namespace of the lab; the links go with them."""
    made = sorted(path.name for path in _made(run_dir).glob("*"))
    found = [name for name in made if (NAMESPACES / name).exists()]
    for name in found:
        run(["ip", "netns", "delete", name])
    return [f"namespace {name} removed" for name in found]
