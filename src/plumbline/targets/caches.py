"""Caches between a reader and the storage, and what drops what they have of a probe file.

No setting is changed, so nothing is left to restore.  The page cache drops the one file, the
server the one object; of locks a client drops all that nobody uses of the one OST.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.model.command import Within
from plumbline.targets.probe_file import NAME, ProbeFile


class Cache(NamedTuple):
    """A cache by its ``name``, the call that drops what it has, and where that is run."""

    name: str
    argv: tuple[str, ...]
    within: Optional[Within] = None


def page_cache(opened: Optional[Within]) -> Cache:
    """Return the cache of this host; dd reads nothing and advises the kernel (coreutils)."""
    argv = ("dd", "if=/proc/self/fd/0", "iflag=nocache", "count=0", "status=none")
    return Cache("page cache", argv, opened)


def lock_cache(ost: str) -> Cache:
    """Return the client's locks of an OST (LDLM), with which go the pages that they cover.

    ``clear`` cancels locks that are not in use and leaves the setting as it is (lru_size_store in
    lustre/ldlm/ldlm_resource.c); the connections of an MDT to the OST are not the client's.
    """
    parameter = f"ldlm.namespaces.{ost}-osc-[!M]*.lru_size=clear"
    return Cache("lock cache", ("lctl", "set_param", parameter))


def server_cache(file: ProbeFile, size_bytes: int) -> Cache:
    """Return the server's cache of a file on Lustre; ZFS does not take the advice (lfs-ladvise)."""
    span = ("--start=0", f"--length={size_bytes}")
    argv = ("lfs", "ladvise", "--advice=dontneed", *span, NAME)
    return Cache("server cache", argv, file.within())
