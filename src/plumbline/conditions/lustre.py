"""Parameters of Lustre by ``lctl get_param``, the patterns of which are the policy's."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Iterator, Mapping, Sequence

from plumbline.conditions.condition import Condition, is_secret
from plumbline.errors import ToolError
from plumbline.symptoms.system import System
from plumbline.targets.query import complaint

PATTERN = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.*?:@\[\]-]*")
"""What ``lctl get_param`` takes and no option of it looks like."""

DEFAULT = (
    *("timeout", "ldlm_timeout", "at_min", "at_max", "jobid_var", "debug", "subsystem_debug"),
    *("osc.*.max_rpcs_in_flight", "osc.*.max_pages_per_rpc", "osc.*.max_dirty_mb"),
    *("osc.*.checksums", "osc.*.checksum_type", "osc.*.short_io_bytes"),
    *("mdc.*.max_rpcs_in_flight", "mdc.*.max_mod_rpcs_in_flight"),
    *("llite.*.max_cached_mb", "llite.*.max_read_ahead_mb", "llite.*.max_read_ahead_per_file_mb"),
    *("llite.*.max_read_ahead_whole_mb", "llite.*.max_read_ahead_async_active"),
    *("llite.*.checksums", "llite.*.fast_read", "llite.*.statahead_max"),
    *("obdfilter.*.brw_size", "obdfilter.*.readcache_max_filesize", "obdfilter.*.sync_journal"),
    *("obdfilter.*.read_cache_enable", "obdfilter.*.writethrough_cache_enable"),
    *("obdfilter.*.sync_on_lock_cancel", "obdfilter.*.checksum_t10pi_enforce"),
    *("osd-*.*.readcache_max_filesize", "osd-*.*.readcache_max_io_mb", "osd-*.*.nonrotational"),
    *("osd-*.*.read_cache_enable", "osd-*.*.writethrough_cache_enable", "osd-*.*.auto_scrub"),
    *("osp.*.max_rpcs_in_flight", "osp.*.max_rpcs_in_progress"),
    *("ost.OSS.*.threads_min", "ost.OSS.*.threads_max", "mds.MDS.*.threads_max"),
    *("lod.*.stripecount", "lod.*.stripesize", "lod.*.stripeoffset", "lod.*.qos_prio_free"),
    *("lod.*.qos_threshold_rr", "lov.*.stripecount", "lov.*.stripesize", "lov.*.stripeoffset"),
)
"""Settings that rates depend on, of clients and servers from 2.3 on; statistics are no settings."""

_TIMEOUT_S = 5.0
_MODULES = "/sys/module/obdclass"
_INSTANCE = re.compile(r"-[0-9a-f]{8,16}(?=\.)")
"""The address of a client's mount, another one at every mount."""
_ALIASES = {
    "osp": re.compile(r"osc(?=\.[^.]+-osc-MDT[0-9a-f]{4}\.)"),
    "lod": re.compile(r"lov(?=\.[^.]+-MDT[0-9a-f]{4}-mdtlov\.)"),
}
"""Second names that an MDS gives the parameters of a module; before release 2.4 the only ones."""
_TARGET = re.compile(r"[^.]*-(?:OST|MDT)[0-9a-f]{4}[^.]*")
_HEAD = re.compile(r"([A-Za-z0-9_][^\s=]*)=(.*)")


def look(system: System, patterns: Sequence[str]) -> Iterator[Condition]:
    """Yield the parameters of which there are some; a node without Lustre's modules has none.

    Raises:
        ToolError: there is no lctl, or it shows nothing.
    """
    if not patterns or not system.names(_MODULES):
        return
    # it fails for a pattern that nothing has, as a client has no obdfilter, and shows the others
    shown = system.run(["lctl", "get_param", *patterns], _TIMEOUT_S)
    if shown.timed_out or shown.hung or not shown.stdout:
        raise ToolError(complaint(shown))
    aliases = {
        module: name for module, name in _ALIASES.items() if system.names(f"/sys/module/{module}")
    }
    for name, value in _values(shown.stdout, patterns):
        path, _, last = _INSTANCE.sub("", _own_name(name, aliases)).rpartition(".")
        if not is_secret(name):
            yield Condition("lustre", path, last, value, _TARGET.sub("*", path))


def _own_name(name: str, aliases: Mapping[str, re.Pattern[str]]) -> str:
    """Return a parameter's name with the module it belongs to; an alias names another one."""
    for module, alias in aliases.items():
        name = alias.sub(module, name)
    return name


def _values(text: str, patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each parameter; a value may have many lines, the first one empty."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head and any(fnmatchcase(head[1], pattern) for pattern in patterns):
            if name:
                yield name, _value(name, lines)
            name, lines = head[1], [head[2]]
        else:
            lines.append(line)
    if name:
        yield name, _value(name, lines)


def _value(name: str, lines: Sequence[str]) -> str:
    """Return a value; of several lines the one with the parameter's own name, if there is one.

    ``max_cached_mb`` prints beside itself what is used now.
    """
    own = f"{name.rpartition('.')[2]}:"
    for line in lines:
        if line.strip().startswith(own):
            return line.strip()[len(own) :].strip()
    return "\n".join(lines).strip()
