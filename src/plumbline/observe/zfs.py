"""Pools of ZFS: ``zpool status``, which anybody may ask (zpool-status(8))."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from plumbline.model.errors import ToolError
from plumbline.model.validation import whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node, ask
from plumbline.observe.symptom import Direction, Look, Symptom

NAME = "zfs"

_POOL = re.compile(r"^ *pool: (\S+)\n *state: (\S+)$", re.MULTILINE)
_CONFIG = re.compile(r"^config:\n\n(.*?)\n\n", re.MULTILINE | re.DOTALL)
_DEVICE = re.compile(r"^\t( *)(\S+) +([A-Z]+) +(\d+) +(\d+) +(\d+)(?: +(.*))?$", re.MULTILINE)
_SCAN = re.compile(r"^ *scan: (scrub|resilver) in progress", re.MULTILINE)
_DONE = re.compile(r"(?<![\d.])([\d.]+)% done(?:, (?:(\d+ days )?([\d:]+)) to go)?")
_BAD = ("DEGRADED", "FAULTED", "UNAVAIL", "REMOVED", "SUSPENDED")
_ERRORS = ("read", "write", "checksum")


class _Device(NamedTuple):
    path: str
    state: str
    errors: tuple[int, ...]
    said: str

    @property
    def is_leaf(self) -> bool:
        """Return whether it is a device and no group of them; ``-P`` gives devices whole paths."""
        return self.path.startswith("/")


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
    if not match or not config:
        raise ToolError(f"zpool status printed what is not understood: {text[:60]!r}")
    pool, state = match.groups()
    devices = [_device(found) for found in _DEVICE.finditer(config[1])]
    leaves = [device for device in devices if device.is_leaf]
    component = node.parts.of_blocks([node.parts.block_name(leaf.path) for leaf in leaves])
    scan = _SCAN.search(text)
    if state in _BAD:
        severity = State.WARNING if state == "DEGRADED" else State.CRITICAL
        # as long as it is made whole it is no worse than that
        mends = state == "DEGRADED" and scan and scan[1] == "resilver"
        direction = Direction.LOWERS if mends else Direction.RAISES
        yield Symptom(NAME, component, "pool", severity, direction, f"pool {pool} is {state}")
    for leaf in leaves:
        yield from _of_leaf(node, pool, leaf)
    if scan:
        yield _working(component, pool, scan[1], text[scan.end() :])


def _of_leaf(node: Node, pool: str, leaf: _Device) -> Iterator[Symptom]:
    block = node.parts.block_name(leaf.path)
    component = node.parts.of_block(block)
    if leaf.state in _BAD:
        said = f" ({leaf.said})" if leaf.said else ""
        sentence = f"{block} is {leaf.state} in pool {pool}{said}"
        yield Symptom(NAME, component, "device", State.CRITICAL, Direction.RAISES, sentence)
    for kind, count in zip(_ERRORS, leaf.errors):
        grown = node.counters.growth(f"{NAME}/{pool}/{leaf.path}/{kind}", count)
        if grown:
            sentence = f"{grown.amount:.0f} {kind} errors of {block} in pool {pool}"
            yield Symptom(
                NAME,
                component,
                f"{kind}_errors",
                State.WARNING,
                Direction.RAISES,
                sentence,
                grown.since,
            )


def _working(component: str, pool: str, kind: str, text: str) -> Symptom:
    done = _DONE.search(text)
    left = f", {done[2] or ''}{done[3]} left" if done and done[3] else ""
    progress = f", {done[1]} % done{left}" if done else ""
    severity = State.OK if kind == "scrub" else State.WARNING
    sentence = f"{kind} of pool {pool} runs{progress}; slower is expected"
    return Symptom(NAME, component, kind, severity, Direction.LOWERS, sentence)


def _device(match: re.Match[str]) -> _Device:
    _, path, state, *errors, said = match.groups()
    counted = tuple(whole(each, f"an error count of {path}") for each in errors)
    return _Device(path, state, counted, said or "")
