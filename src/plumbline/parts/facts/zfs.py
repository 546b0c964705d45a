"""Symptoms of ZFS pools, from ``zpool status`` (zpool-status(8)), open to all users."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from plumbline.model.errors import ToolError
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import whole
from plumbline.parts.facts.node import Node, ask
from plumbline.parts.facts.rules import rules

NAME = "zfs"

_POOL = re.compile(r"^ *pool: (\S+)\n *state: (\S+)$", re.MULTILINE)
_CONFIG = re.compile(r"^config:\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
# spares and removed groups have no counters
_DEVICE = re.compile(
    r"^\t( *)(\S+) +([A-Z]+)(?: +(\d+) +(\d+) +(\d+))?(?: +(\S.*?))? *$", re.MULTILINE
)
_WAS = re.compile(r"\bwas (/\S+?)(?:/old)?(?= |$)")
_WORK = re.compile(
    r"^ *(?:scan|expand|remove): (?:thorough )?"
    r"(scrub|error ?scrub|resilver|expansion|Evacuation)\b[^\n]*"
    r" in progress\b[^\n]*\n((?:\t[^\n]*\n)*)",
    re.MULTILINE,
)
_DONE = re.compile(r"(?<![\d.])([\d.]+)% done(?:, (?:(\d+ days )?([\d:]+|\d+h\d+m)) to go)?")
_OF_DEVICES = re.compile(r"\((trimming|initializing)\)")
_UNKNOWN_CONFIG = "config: The configuration cannot be determined"
_DATA_ERRORS = re.compile(r"^errors: (?:(\d+) data|(Permanent)) errors?\b", re.MULTILINE)
_BAD = ("DEGRADED", "FAULTED", "UNAVAIL", "REMOVED", "SUSPENDED")
_ERRORS = ("read", "write", "checksum")

# a degraded pool explains slowness while it is rebuilt
RULES = rules(
    NAME,
    """
    pool degraded | warning | pool {pool} is {state}{offline}
    pool rebuilt | warning lowers | pool {pool} is {state}{offline}
    pool failed | critical | pool {pool} is {state}{offline}
    data_errors | warning | pool {pool} has {number} data error{s}
    device | critical | {block} is {state} in pool {pool}{details}
    spare | warning | spare {block} of pool {pool} is {state}{details}
    read_errors, write_errors, checksum_errors | warning | {number:.0f} {kind} of {block} in pool \
        {pool}
    scrub, scrub error scrub, scrub errorscrub, expansion, removal Evacuation, trim trimming, \
        initialization initializing | ok lowers | {kind} of pool {pool} runs{progress}; slower is \
        expected
    resilver | warning lowers | {kind} of pool {pool} runs{progress}; slower is expected
    """,
)


class _Device(NamedTuple):
    """A line of the pool's configuration; ``errors`` is empty for a spare."""

    name: str
    state: str
    errors: tuple[int, ...]
    details: str

    @property
    def path(self) -> Optional[str]:
        """Return the path of a device, None for a group of devices.

        ``-P`` prints full paths.  A missing device has its GUID and its former path.
        """
        if self.name.startswith("/"):
            return self.name
        former = _WAS.search(self.details)
        return (former[1] if former else self.name) if self.name.isdecimal() else None


def look(node: Node) -> Look:
    """Look at all imported pools; raise ToolError without ZFS."""
    # -p: exact counters; -P: full paths, which give the kernel's names
    text = ask(node.system, ["zpool", "status", "-pP"])
    starts = [match.start() for match in _POOL.finditer(text)]
    if not starts and "no pools available" not in text:
        raise ToolError(f"zpool status printed output that is not understood: {text[:60]!r}")
    pools = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]
    symptoms = tuple(symptom for pool in pools for symptom in _pool_symptoms(node, pool))
    return Look(NAME, len(pools), symptoms)


def _pool_symptoms(node: Node, text: str) -> Iterator[Symptom]:
    match, config = _POOL.search(text), _CONFIG.search(text)
    if not match or not (config or _UNKNOWN_CONFIG in text):
        raise ToolError(f"zpool status printed output that is not understood: {text[:60]!r}")
    pool, state = match.groups()
    lines = map(_device, _DEVICE.finditer(config[1] if config else ""))
    devices = [(node.parts.block_name(device.path), device) for device in lines if device.path]
    component = node.parts.of_blocks([block for block, device in devices if device.errors])
    works = {work[1]: work[2] for work in _WORK.finditer(text)}
    for _, device in devices:
        works.update(dict.fromkeys(_OF_DEVICES.findall(device.details), ""))
    if state in _BAD:
        degraded = "rebuilt" if "resilver" in works else "degraded"
        rule = RULES[degraded if state == "DEGRADED" else "failed"]
        # taken offline by hand, so no fault of the disk
        off = ", ".join(block for block, device in devices if device.state == "OFFLINE")
        offline = f", {off} was taken offline" if off else ""
        yield rule.symptom(component, pool=pool, state=state, offline=offline)
    data_errors = _DATA_ERRORS.search(text)
    if data_errors:
        number = data_errors[1] or data_errors[2].lower()
        plural = "" if number == "1" else "s"
        yield RULES["data_errors"].symptom(component, pool=pool, number=number, s=plural)
    for block, device in devices:
        yield from _device_symptoms(node, pool, block, device)
    for work, work_text in works.items():
        done = _DONE.search(work_text)
        remaining = f", {done[2] or ''}{done[3]} left" if done and done[3] else ""
        progress = f", {done[1]} % done{remaining}" if done else ""
        yield RULES[work].symptom(component, pool=pool, progress=progress)


def _device_symptoms(node: Node, pool: str, block: str, device: _Device) -> Iterator[Symptom]:
    component = node.parts.of_block(block)
    if device.state in _BAD:
        details = f" ({device.details})" if device.details else ""
        rule = RULES["device" if device.errors else "spare"]
        yield rule.symptom(component, block=block, pool=pool, state=device.state, details=details)
    for kind, count in zip(_ERRORS, device.errors):
        growth = node.counters.growth(f"{NAME}/{pool}/{device.path}/{kind}", count)
        if growth:
            yield RULES[f"{kind}_errors"].symptom(
                component, growth.since, number=growth.amount, block=block, pool=pool
            )


def _device(match: re.Match[str]) -> _Device:
    _, name, state, *errors, details = match.groups()
    counts = tuple(whole(count, f"an error count of {name}") for count in errors if count)
    return _Device(name, state, counts, details or "")
