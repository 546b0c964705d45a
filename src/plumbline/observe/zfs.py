"""Pools of ZFS: ``zpool status``, which anybody may ask (zpool-status(8))."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from plumbline.model.errors import ToolError
from plumbline.model.validation import whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node, ask
from plumbline.observe.symptom import Direction, Look, Rule, Symptom

NAME = "zfs"

_POOL = re.compile(r"^ *pool: (\S+)\n *state: (\S+)$", re.MULTILINE)
_CONFIG = re.compile(r"^config:\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
# spares have no counters, groups that were removed have none either
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
_DATA_ERRORS = re.compile(r"^errors: (\d+) data errors?\b", re.MULTILINE)
_BAD = ("DEGRADED", "FAULTED", "UNAVAIL", "REMOVED", "SUSPENDED")
_ERRORS = ("read", "write", "checksum")

RULES = {
    "degraded": Rule("pool", State.WARNING, "pool {pool} is {state}"),
    # as long as it is made whole it is no worse than that
    "rebuilt": Rule("pool", State.WARNING, "pool {pool} is {state}", Direction.LOWERS),
    "failed": Rule("pool", State.CRITICAL, "pool {pool} is {state}"),
    "data_errors": Rule("data_errors", State.WARNING, "pool {pool} has {number} data errors"),
    "device": Rule("device", State.CRITICAL, "{block} is {state} in pool {pool}{details}"),
    "spare": Rule("spare", State.WARNING, "spare {block} of pool {pool} is {state}{details}"),
    **{
        kind: Rule(
            f"{kind}_errors",
            State.WARNING,
            f"{{number:.0f}} {kind} errors of {{block}} in pool {{pool}}",
        )
        for kind in _ERRORS
    },
    **{
        work: Rule(
            kind,
            State.WARNING if kind == "resilver" else State.OK,
            f"{kind} of pool {{pool}} runs{{progress}}; slower is expected",
            Direction.LOWERS,
        )
        for work, kind in {
            "scrub": "scrub",
            "error scrub": "scrub",
            "errorscrub": "scrub",
            "resilver": "resilver",
            "expansion": "expansion",
            "Evacuation": "removal",
            "trimming": "trim",
            "initializing": "initialization",
        }.items()
    },
}


class _Device(NamedTuple):
    """A line of the configuration; ``errors`` is empty for a spare."""

    name: str
    state: str
    errors: tuple[int, ...]
    details: str

    @property
    def path(self) -> Optional[str]:
        """Return the path of a device, None for a group of them.

        ``-P`` gives devices whole paths.  One that is gone has its GUID and the path that it had.
        """
        if self.name.startswith("/"):
            return self.name
        was = _WAS.search(self.details)
        return (was[1] if was else self.name) if self.name.isdecimal() else None


def look(node: Node) -> Look:
    """Look at all imported pools; raise ToolError where ZFS is not there."""
    # -p: counters in full; -P: whole paths, which lead to the kernel's names
    text = ask(node.system, ["zpool", "status", "-pP"])
    starts = [match.start() for match in _POOL.finditer(text)]
    if not starts and "no pools available" not in text:
        raise ToolError(f"zpool status printed what is not understood: {text[:60]!r}")
    pools = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]
    symptoms = tuple(symptom for pool in pools for symptom in _of_pool(node, pool))
    return Look(NAME, len(pools), symptoms)


def _of_pool(node: Node, text: str) -> Iterator[Symptom]:
    match, config = _POOL.search(text), _CONFIG.search(text)
    if not match or not (config or _UNKNOWN_CONFIG in text):
        raise ToolError(f"zpool status printed what is not understood: {text[:60]!r}")
    pool, state = match.groups()
    lines = map(_device, _DEVICE.finditer(config[1] if config else ""))
    devices = [(node.parts.block_name(device.path), device) for device in lines if device.path]
    component = node.parts.of_blocks([block for block, device in devices if device.errors])
    works = {work[1]: work[2] for work in _WORK.finditer(text)}
    for _, device in devices:
        works.update(dict.fromkeys(_OF_DEVICES.findall(device.details), ""))
    if state in _BAD:
        mends = "rebuilt" if "resilver" in works else "degraded"
        rule = RULES[mends if state == "DEGRADED" else "failed"]
        yield rule.symptom(NAME, component, pool=pool, state=state)
    lost = _DATA_ERRORS.search(text)
    if lost:
        yield RULES["data_errors"].symptom(NAME, component, pool=pool, number=lost[1])
    for block, device in devices:
        yield from _of_device(node, pool, block, device)
    for work, text_of_work in works.items():
        done = _DONE.search(text_of_work)
        remaining = f", {done[2] or ''}{done[3]} left" if done and done[3] else ""
        progress = f", {done[1]} % done{remaining}" if done else ""
        yield RULES[work].symptom(NAME, component, pool=pool, progress=progress)


def _of_device(node: Node, pool: str, block: str, device: _Device) -> Iterator[Symptom]:
    component = node.parts.of_block(block)
    if device.state in _BAD:
        details = f" ({device.details})" if device.details else ""
        rule = RULES["device" if device.errors else "spare"]
        yield rule.symptom(
            NAME, component, block=block, pool=pool, state=device.state, details=details
        )
    for kind, count in zip(_ERRORS, device.errors):
        grown = node.counters.growth(f"{NAME}/{pool}/{device.path}/{kind}", count)
        if grown:
            yield RULES[kind].symptom(
                NAME, component, grown.since, number=grown.amount, block=block, pool=pool
            )


def _device(match: re.Match[str]) -> _Device:
    _, name, state, *errors, details = match.groups()
    counted = tuple(whole(each, f"an error count of {name}") for each in errors if each)
    return _Device(name, state, counted, details or "")
