"""The kinds of hardware and software that have a service of their own, and who looks at each."""

from __future__ import annotations

ARRAYS = "arrays"
DISKS = "disks"
ENCLOSURES = "enclosures"
LINKS = "links"
LUSTRE = "lustre"
KERNEL = "kernel"

KINDS = (ARRAYS, DISKS, ENCLOSURES, LINKS, LUSTRE, KERNEL)
"""In the order in which they are shown."""

KIND_OF = {
    "md": ARRAYS,
    "zfs": ARRAYS,
    "smart": DISKS,
    "enclosure": ENCLOSURES,
    "ethernet": LINKS,
    "fibre_channel": LINKS,
    "infiniband": LINKS,
    "sas": LINKS,
    "lnet": LINKS,
    "lustre": LUSTRE,
    "kernel": KERNEL,
}
"""The kind that each collector of plumbline looks at; a command of the site says its own."""


def title(node: str, kind: str = "") -> str:
    """Return what a node is called to Nagios, or one kind of its parts; no host has a space."""
    return f"{node} {kind}" if kind else node
