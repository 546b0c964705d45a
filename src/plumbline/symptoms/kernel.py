"""What the kernel has said in the last day, from the journal or, without it, from its own buffer.

The journal is open to the groups systemd-journal and adm; the buffer may need CAP_SYSLOG.
"""

from __future__ import annotations

from datetime import datetime
from typing import Collection, Iterator, Sequence

from plumbline.errors import ToolError
from plumbline.model.json_text import read_json
from plumbline.model.printed import whole
from plumbline.model.validation import times
from plumbline.symptoms import lustre
from plumbline.symptoms.messages import Told
from plumbline.symptoms.node import Node
from plumbline.symptoms.routine import Said, faults
from plumbline.symptoms.symptom import Look, Symptom
from plumbline.symptoms.system import ask
from plumbline.units import DAY_S

NAME = "kernel"

_TIMEOUT_S = 20.0
_MOST = 20_000


def look(node: Node) -> Look:
    """Read the messages of a day; raise ToolError where neither source may be read."""
    said = _messages(node)
    grouped: dict[tuple[str, str], tuple[Told, list[float]]] = {}
    for at, told in faults(said, lambda: _connected(node)):
        key = told.message.kind, told.name
        grouped.setdefault(key, (told, []))[1].append(at)
    found = tuple(_symptom(node, told, times) for told, times in grouped.values())
    return Look(NAME, len(said), found)


def _connected(node: Node) -> Collection[str]:
    """Return the devices of Lustre that have their target; without lctl the log stands alone."""
    try:
        return lustre.connected(node)
    except ToolError:
        return ()


def _messages(node: Node) -> list[Said]:
    try:
        return list(_journal(node))
    except ToolError as journal:
        try:
            return list(_buffer(node))
        except ToolError as error:
            raise ToolError(f"{journal}; and {error}") from error


def _journal(node: Node) -> Iterator[Said]:
    text = ask(
        node.system,
        [
            *("journalctl", "--dmesg", "--boot=all", "--no-pager", "--output=json"),
            *("--output-fields=MESSAGE", f"--lines={_MOST}"),
            f"--since=@{node.now - DAY_S:.0f}",
        ],
        _TIMEOUT_S,
    )
    # without the right to read it, journalctl shows nothing and ends well
    if not text.strip():
        raise ToolError("journalctl shows no message of the kernel; see its groups")
    for line in text.splitlines():
        yield _entry(line)


def _entry(line: str) -> Said:
    try:
        entry = read_json(line)
        at = whole(str(entry["__REALTIME_TIMESTAMP"]), "the time of a message") / 1e6
        times(at=at)
        return Said(at, _text(entry["MESSAGE"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"journalctl printed what is not understood: {line[:60]!r}") from error


def _text(message: object) -> str:
    """Return a message; what is not UTF-8 comes as a list of bytes (systemd: JSON format)."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def _buffer(node: Node) -> Iterator[Said]:
    text = ask(node.system, ["dmesg", "--time-format=iso", "--nopager"], _TIMEOUT_S)
    for line in text.splitlines()[-_MOST:]:
        said = _line(line)
        if said.at >= node.now - DAY_S:
            yield said


def _line(line: str) -> Said:
    stamp, _, message = line.partition(" ")
    try:
        # fromisoformat of Python 3.9 takes no comma
        at = datetime.fromisoformat(stamp.replace(",", ".")).timestamp()
        times(at=at)
        return Said(at, message)
    except (ValueError, TypeError, OverflowError) as error:
        raise ToolError(f"dmesg printed what is not understood: {line[:60]!r}") from error


def _symptom(node: Node, told: Told, times: Sequence[float]) -> Symptom:
    message = told.message
    often = f" ({len(times)} times)" if len(times) > 1 else ""
    sentence = f"kernel: {message.words.format(name=told.name)}{often}"
    return Symptom(
        NAME,
        _component(node, message.about, told.name),
        message.kind,
        message.severity,
        message.direction,
        sentence,
        min(times),
    )


def _component(node: Node, about: str, name: str) -> str:
    if about == "target":
        return name
    if about == "scsi":
        blocks = node.system.names(f"/sys/class/scsi_device/{name}/device/block")
        return node.parts.of_blocks(blocks) if blocks else node.parts.node
    if about == "nvme":
        blocks = tuple(
            one for one in node.system.names("/sys/class/block") if one.startswith(f"{name}n")
        )
        return node.parts.of_blocks(blocks) if blocks else node.parts.node
    if about == "interface" and name in node.parts.storage_interfaces():
        return node.parts.of_kind("nic", "link")[0]
    return node.parts.of_block(name) if about == "block" else node.parts.node
