"""The lab's network: a bridge in a namespace of its own, a shaped veth pair to each host's.

Nothing is put into the machine's own network, and no host has a route to anywhere else.
"""

from __future__ import annotations

from pathlib import Path

from plumbline_lab import state
from plumbline_lab.command import run, succeeds
from plumbline_lab.document import Host, Lab, Shape

PREFIX = "plumbline-"
CONTROL = PREFIX + "control"
BRIDGE = "br0"


def namespace(host: str) -> str:
    """The network namespace of a host."""
    return PREFIX + host


def namespaces() -> list[str]:
    """All of the lab's namespaces that exist."""
    folder = Path("/run/netns")
    return sorted(path.name for path in folder.glob(PREFIX + "*")) if folder.is_dir() else []


def up(lab: Lab) -> list[str]:
    """Make what is missing of the network."""
    done: list[str] = []
    if not succeeds(["ip", "-n", CONTROL, "link", "show", BRIDGE]):
        _control(lab)
        done.append(f"namespace {CONTROL} with the bridge {lab.control_address}/{lab.prefix}")
    for host in lab.hosts.values():
        if not succeeds(["ip", "-n", namespace(host.name), "link", "show", "eth0"]):
            _cable(lab, host)
            done.append(f"link of {host.name}, {host.address}")
    return done


def _control(lab: Lab) -> None:
    _fresh_namespace(CONTROL)
    run(["ip", "-n", CONTROL, "link", "add", BRIDGE, "type", "bridge"])
    run(
        [
            "ip",
            "-n",
            CONTROL,
            "address",
            "add",
            f"{lab.control_address}/{lab.prefix}",
            "dev",
            BRIDGE,
        ]
    )
    run(["ip", "-n", CONTROL, "link", "set", BRIDGE, "up"])


def _fresh_namespace(name: str) -> None:
    if name not in namespaces() or not succeeds(["ip", "-n", name, "link", "show", "lo"]):
        if name in namespaces():
            run(["ip", "netns", "delete", name])  # a file without a namespace: left by a crash
        run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])


def _cable(lab: Lab, host: Host) -> None:
    name, far = namespace(host.name), interface(host.name)
    _fresh_namespace(name)
    succeeds(["ip", "-n", CONTROL, "link", "delete", far])
    run(
        [
            "ip",
            "link",
            "add",
            far,
            "netns",
            CONTROL,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            name,
        ]
    )
    run(["ip", "-n", CONTROL, "link", "set", far, "master", BRIDGE, "up"])
    run(["ip", "-n", name, "address", "add", f"{host.address}/{lab.prefix}", "dev", "eth0"])
    run(["ip", "-n", name, "link", "set", "eth0", "up"])
    shape_host(lab, host.name)


def interface(host: str) -> str:
    """The bridge's end of a host's link; the kernel allows 15 characters."""
    return ("to-" + host)[:15]


def shape_host(lab: Lab, host: str) -> None:
    """Give a host's link the rate that its state asks for: both ends, so both directions."""
    broken: dict[str, object] = state.load(lab.run_dir)["links"].get(host, {})
    shape: Shape = lab.cable if broken.get("cable") else lab.link
    rate = int(str(broken.get("rate_bit", lab.link_rate_bit)))
    for where, device in ((namespace(host), "eth0"), (CONTROL, interface(host))):
        tbf = ["tbf", "rate", f"{rate}bit", "burst", shape.burst, "latency", shape.latency]
        run(["tc", "-n", where, "qdisc", "replace", "dev", device, "root", *tbf])


def down() -> list[str]:
    """Remove every namespace of the lab; the links go with them."""
    found = namespaces()
    for name in found:
        run(["ip", "netns", "delete", name])
    return [f"namespace {name} removed" for name in found]
