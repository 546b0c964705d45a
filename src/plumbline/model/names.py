"""Names of a site: allowed characters, lists of names, and their form in addresses of the report.

Names end up in file names, commands, Nagios objects and terminals.  All characters that are not
listed here, such as line breaks, quotes, semicolons or a leading hyphen, are refused when a
document is read, before anything can fail on a node.

In an address other characters are replaced, and a hash keeps different names apart.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple, Sequence

from plumbline.model.errors import DocumentError

_MAX_NAME = 255
_MAX_QUOTED = 60


class Allowed(NamedTuple):
    """Kind of name: its pattern, and refusal and remedy for a text that does not match."""

    pattern: str
    refusal: str
    remedy: str

    def refuse(self, what: str, text: str) -> None:
        """Raise DocumentError, with ``what`` in the message, unless ``text`` is such a name."""
        self.match(what, text)

    def match(self, what: str, text: str) -> re.Match[str]:
        """Return the match of a name; raise as ``refuse`` does."""
        matched = re.fullmatch(self.pattern, text) if len(text) <= _MAX_NAME else None
        if not matched or {".", ".."} & set(text.split("/")):
            quoted = repr(text) if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]!r}..."
            raise DocumentError(f"{what} {quoted} {self.refusal}; {self.remedy}")
        return matched


NAME = Allowed(
    r"[A-Za-z0-9][A-Za-z0-9_.:@-]*",
    "is empty or has unsafe characters",
    "begin with a letter or digit and use these, and _ . : @ -",
)
"""Name of a part, a host, a target, a file system."""

SITE = Allowed(
    r"\w[\w.:@+-]*(?: [\w.:@+-]+)*",
    "is empty or has unsafe characters",
    "begin with a letter or digit and use these, single spaces, and _ . : @ + -",
)

_SEGMENT = r"[\w.:@+,=%~-]+(?: [\w.:@+,=%~-]+)*"

PATH = Allowed(
    rf"(?:/{_SEGMENT})+|/",
    "is not an absolute path of safe characters",
    "write letters, digits, single spaces and _ . : @ + , = % ~ -, and no .. in it",
)
"""Path of a mount or a folder."""

SCRATCH = Allowed(
    rf"(?!/(?:bin|boot|dev(?!/shm)|etc|lib\d*|proc|sbin|sys|usr)(?:/|$))(?:(?:/{_SEGMENT})+|/)",
    "belongs to the operating system, whose files no probe may come near",
    "name a folder on the storage that is measured",
)
"""Path outside the folders that the Filesystem Hierarchy Standard reserves for the system."""

DEVICE = Allowed(
    r"/dev(?:/[A-Za-z0-9_.:+@-]+)+",
    "is not a device under /dev",
    "write a path under /dev of letters, digits and _ . : + @ -",
)

RDMA_PORT = Allowed(
    r"[A-Za-z][A-Za-z0-9_.-]*/[1-9][0-9]?",
    "is not a port of an RDMA device",
    "write device and port as rdma link prints them, such as mlx5_0/1",
)

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"

ADDRESS = Allowed(
    # a host name needs more than digits and dots
    rf"(?![\d.]+$)[0-9A-Za-z:][0-9A-Za-z.:_%-]*|(?:{_OCTET}\.){{3}}{_OCTET}",
    "is not an address",
    "write a host name or an address of IPv4 or IPv6",
)

SUBVOLUME = Allowed(
    r"(?P<volume>[A-Za-z0-9_][A-Za-z0-9_-]*)-client-(?P<index>[0-9]{1,6})",
    "is not a subvolume of a distribute volume",
    "write for example scratch-client-0 for the first brick of the volume scratch",
)

BRICK = Allowed(
    rf"[0-9A-Za-z:][0-9A-Za-z.:_%-]*:(?:/{_SEGMENT})+",
    "is not a brick",
    "write HOST:/PATH, as gluster volume info shows it",
)

SOURCE = Allowed(
    r"[\w/\[.:@+][\w/.:@+,=%~\[\]-]*",
    "is not the source of a mount",
    "write what findmnt shows as the source of the mount",
)

OST = Allowed(
    r"(?P<file_system>[A-Za-z0-9_][A-Za-z0-9_-]{0,7})-OST(?P<index>[0-9a-f]{4})",
    "is not the name of an OST",
    "write it as lfs osts does, such as scratch-OST001a: its index is hexadecimal of four digits",
)

MDT = Allowed(
    r"(?P<file_system>[A-Za-z0-9_][A-Za-z0-9_-]{0,7})-MDT(?P<index>[0-9a-f]{4})",
    "is not the name of an MDT",
    "write it as lfs mdts does, such as scratch-MDT0001: its index is hexadecimal of four digits",
)

PROGRAM = Allowed(
    r"[A-Za-z0-9_./+][A-Za-z0-9_./+-]*",
    "is not a program",
    "write the name or the path of a program",
)

CALENDAR = Allowed(
    r"[A-Za-z0-9*][A-Za-z0-9*.,/:~_+-]*(?: [A-Za-z0-9*.,/:~_+-]+)*",
    "is not a calendar of systemd",
    "write it as systemd.time(7) says, for example '*-*-* 02:06'",
)


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_PLAIN_NAME = 80
_HASHED = 8


def several(names: Sequence[str], most: int = 3) -> str:
    """Return the first names joined, and the number of further ones: ``a, b, c and 2 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def anchor(layer: str, name: str) -> str:
    """Return the anchor of a component in the report, e.g. ``ost-scratch-OST0003``."""
    full_name = f"{layer}-{name}"
    plain = _UNSAFE.sub("_", full_name)[:_MAX_PLAIN_NAME]
    if plain == full_name:
        return plain
    return f"{plain}-{sha256(full_name.encode('utf-8', 'surrogatepass')).hexdigest()[:_HASHED]}"


def group_anchor(layer: str, group: str) -> str:
    """Return the anchor of a group of peers in the report."""
    return anchor(f"{layer}-group", group)
