"""Parse the output of lfs and lctl, and the counters of Lustre targets.

Counters of targets are used by a server that samples itself, and by a client on the same node.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.record import Operation
from plumbline.model.validation import real, whole
from plumbline.observe.mounts import Space

ROOTS = ("/sys/kernel/debug/lustre", "/proc/fs/lustre")
"""By release; 2.17 has storage targets' statistics in the first, metadata's in the second."""
STORAGE = r"(?P<target>[\w.-]{1,64}-OST[0-9a-f]{4})"
METADATA = r"(?P<target>[\w.-]{1,64}-MDT[0-9a-f]{4})"

_SUM_PLACE = 6
MOVES = {"read_bytes": "read", "write_bytes": "write"}
"""The direction of each line that counts bytes."""

_OST = re.compile(r"\s*(\d+): (\S+)_UUID (\S+)\s*")
_HEAD = re.compile(r"([A-Za-z0-9_][^\s=]*)=(.*)")
_DF = re.compile(
    r"^(\S+)_UUID\s+\S+\s+(?P<used>\S+)\s+(?P<available>\S+)\s+\d+%\s.*"
    r"\[(?:OST|MDT):\d+\](?P<flags>.*)$",
    re.MULTILINE,
)
_DF_ERROR = re.compile(r"^(\S+?)(?:_UUID)?\s*: (.+)$", re.MULTILINE)
_IN_BYTES = re.compile(r"^UUID\s+bytes\s", re.MULTILINE)
_IN_NUMBERS = re.compile(r"^UUID\s+Inodes\s", re.MULTILINE)
_VERSION = re.compile(r"^(?:lustre: )?(\d\S*)$", re.MULTILINE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)")
_OBJECT = re.compile(r"^[ \t]+(\d+)[ \t]+\d+[ \t]+0x[0-9a-f]+[ \t]+\S+[ \t]*$", re.MULTILINE)

_LOCAL = "lo"
_CHOSEN = re.compile(r"\[(\S+)\]")

TUNABLES = ("checksums", "checksum_type", "max_rpcs_in_flight", "max_pages_per_rpc")
"""Client settings per OST that affect its rate."""


class Import(NamedTuple):
    """A client's connection to an OST, from ``osc.*.import``."""

    device: str
    state: str
    flags: frozenset[str]
    nids: tuple[str, ...]
    """The servers of the OST, primary first."""
    connection: str
    version: str

    @property
    def is_failed_over(self) -> bool:
        """Return whether the OST runs on a server other than its primary one."""
        return bool(self.primary) and self.connection != self.primary

    @property
    def primary(self) -> str:
        """Address of its primary server in the network in use, empty if unknown.

        A server has one address on each of its networks, so it is the first one in this network;
        ``<none>`` is no server.
        """
        network = self.connection.rpartition("@")[2]
        if network == _LOCAL:
            return self.nids[0] if self.nids else ""
        return next((nid for nid in self.nids if nid.rpartition("@")[2] == network), "")


class Layout(NamedTuple):
    """Layout of a file; ``indices`` are the OST indices of its objects."""

    composite: bool
    pattern: str
    stripes: int
    indices: tuple[int, ...]


class Objects(NamedTuple):
    """The OSTs of a file, each once, over all of its components and mirrors."""

    indices: tuple[int, ...]
    released: bool


class Usage(NamedTuple):
    """One line of ``lfs df``, or in inodes of ``lfs df -i``, and the letters after ``[OST:n]``."""

    space: Space
    flags: str


def parse_osts(text: str) -> dict[str, tuple[int, str]]:
    """Return index and state of each OST by name from ``lfs osts MOUNT``; MDTs: ``lfs mdts``."""
    lines = (_OST.fullmatch(line) for line in text.splitlines())
    return {match[2]: (_index(match[1]), match[3]) for match in lines if match}


def parameters(text: str, patterns: Sequence[str] = ("*",)) -> Iterator[tuple[str, str]]:
    """Yield name and value of each parameter in the output of ``lctl get_param PATTERN...``.

    A value may have many lines, the first one empty; without patterns each ``NAME=`` starts a
    parameter.
    """
    name, lines = "", list[str]()
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head and any(fnmatchcase(head[1], pattern) for pattern in patterns):
            if name:
                yield name, "\n".join(lines)
            name, lines = head[1], [head[2]]
        else:
            lines.append(line)
    if name:
        yield name, "\n".join(lines)


def parse_parameter(text: str, ost: str, name: str) -> dict[str, str]:
    """Return the values of ``osc.OST-osc-*.NAME`` by client device.

    The pattern also matches devices of an MDT on the same server, which are left out.
    """
    client = re.compile(rf"osc\.({re.escape(ost)}-osc-(?!MDT)\w+)\.{name}")
    values = ((client.fullmatch(parameter), value) for parameter, value in parameters(text))
    return {match[1]: value.strip() for match, value in values if match}


def parse_tunables(text: str, connection: Import) -> dict[str, str]:
    """Return the TUNABLES of a client's connection: checksums, size and number of RPCs.

    ``checksums`` is ``off`` or the algorithm in use, e.g. ``t10ip4K``.
    """
    ost = connection.device.partition("-osc-")[0]
    shown = {name: parse_parameter(text, ost, name).get(connection.device) for name in TUNABLES}
    chosen = _CHOSEN.search(shown["checksum_type"] or "")
    checksums = {"0": "off", "1": chosen[1] if chosen else "on"}.get(shown["checksums"] or "")
    tunables = {
        "checksums": checksums,
        "rpcs_in_flight": shown["max_rpcs_in_flight"],
        "pages_per_rpc": shown["max_pages_per_rpc"],
    }
    return {name: value for name, value in tunables.items() if value}


def parse_import(device: str, text: str) -> Import:
    """Parse one connection; raise SkipTarget if it has no state."""
    state = _field_of_line(text, "state")
    if not state:
        raise SkipTarget(f"lctl shows no state of the import {device}: {text[:80]!r}")
    return Import(
        device=device,
        state=state,
        flags=frozenset(map(_flag, _list(_field_of_line(text, "import_flags")))),
        nids=tuple(_list(_field_of_line(text, "failover_nids"))),
        connection=_field_of_line(text, "current_connection").strip('"'),
        version=_field_of_line(text, "target_version"),
    )


def _flag(word: str) -> str:
    """Return a flag in its newer form: 2.12 prints ``IMPF_INVALID`` as ``invalid``."""
    return word if word.startswith("IMPF_") else f"IMPF_{word.upper()}"


def parse_version(text: str) -> str:
    """Return the version in ``lctl get_param -n version``, empty if there is none."""
    match = _VERSION.search(text)
    return match[1] if match else ""


def parse_usage(text: str, target: str) -> Optional[Usage]:
    """Return the usage of one OST or MDT from ``lfs df``, None if it is not listed.

    The output may end early if a later target does not answer, and has no header for a single one:
    then numbers of ``lfs df -i`` are too large, but their ratio is right.
    """
    return next((usage for _, usage in parse_usages(text, target)), None)


def parse_usages(text: str, only: str = "") -> Iterator[tuple[str, Usage]]:
    """Yield each target of ``lfs df``, or of ``lfs df -i`` in inodes, or only one of them.

    Raises:
        SkipTarget: a size is not understood.
    """
    unit = 1 if _IN_BYTES.search(text) or _IN_NUMBERS.search(text) else 1024
    for match in _DF.finditer(text):
        if only in ("", match[1]):
            space = Space(_bytes(match["used"], unit), _bytes(match["available"], unit))
            yield match[1], Usage(space, match["flags"].strip())


def usage_errors(text: str) -> dict[str, str]:
    """Return the error of each target that ``lfs df -v`` could not ask."""
    return {match[1]: match[2].strip() for match in _DF_ERROR.finditer(text)}


def parse_layout(text: str) -> Layout:
    """Parse the layout from ``lfs getstripe FILE``; raise SkipTarget if it is incomplete."""
    count, pattern = _field_of_line(text, "lmm_stripe_count"), _field_of_line(text, "lmm_pattern")
    if not count.isdigit() or not pattern or not re.search(r"\b(obdidx|l_ost_idx)\b", text):
        raise SkipTarget(f"lfs getstripe printed output that is not understood: {text[:80]!r}")
    table = text.partition("obdidx")[2].partition("\n")[2]
    return Layout(
        composite=re.search(r"^[ \t]*lcme?_", text, re.MULTILINE) is not None,
        pattern=pattern,
        stripes=whole(count, "lmm_stripe_count", SkipTarget),
        indices=tuple(_index(index) for index in _OBJECT.findall(table)),
    )


def parse_objects(text: str) -> Optional[Objects]:
    """Return the OSTs from ``lfs getstripe -d -y FILE``, None for a directory.

    A directory has a template for its files' layout, without the prefixes of a layout.
    """
    if not re.search(r"^[ \t]*(lmm_pattern|lcm_entry_count):", text, re.MULTILINE):
        if re.search(r"^[ \t]*stripe_count:", text, re.MULTILINE):
            return None
        raise SkipTarget(f"lfs getstripe printed output that is not understood: {text[:80]!r}")
    indices = re.findall(r"\bl_ost_idx:\s*(\d+)", text)
    patterns = re.findall(r"^[ \t]*lmm_pattern:[ \t]*(\S+)", text, re.MULTILINE)
    return Objects(tuple(dict.fromkeys(map(_index, indices))), any(map(_is_released, patterns)))


def _is_released(pattern: str) -> bool:
    """Return whether a pattern is released; old lfs print LOV_PATTERN_F_RELEASED as 0x80000000."""
    if re.fullmatch(r"(0x)?[0-9a-f]+", pattern):
        return bool(whole(pattern, "lmm_pattern", SkipTarget, 16) & 0x80000000)
    return "released" in pattern.split(",")


def _index(text: str) -> int:
    return whole(text, "the index of an OST", SkipTarget)


def _field_of_line(text: str, name: str) -> str:
    """Return the text after a name and a colon, empty if no line starts with them."""
    return next(
        (
            line.partition(":")[2].strip()
            for line in text.splitlines()
            if line.lstrip().startswith(f"{name}:")
        ),
        "",
    )


def _list(text: str) -> list[str]:
    return [word.strip(' "') for word in text.strip("[] ").split(",") if word.strip(' "')]


def _bytes(text: str, unit: int) -> int:
    match = _SIZE.fullmatch(text)
    if not match:
        raise SkipTarget(f"lfs df shows {text[:40]!r} where a size is expected")
    number = real(match[1], "a size of lfs df", SkipTarget)
    return int(number * 1024 ** " KMGTPE".index(match[2] or " ") * unit)


_OPERATIONS = {word: Operation(direction) for word, direction in MOVES.items()}
OPERATIONS = tuple(_OPERATIONS.values())
"""Operations counted by a target; a server cannot tell a reread from a read."""

_JOB = "- job_id:"
# before 2.12 lines of bytes were named as operations
_JOB_WORDS = {**_OPERATIONS, "read": Operation.READ, "write": Operation.WRITE}

_REQUEST = re.compile(r"\w{1,64}", re.ASCII)


def statistics(text: str, path: str) -> list[list[str]]:
    """Return the words of each line of a statistics file.

    Raises:
        ToolError: the text has another form.
    """
    if not text.startswith("snapshot_time"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    return [words for line in text.splitlines() if (words := line.split())]


def sum_of(words: Sequence[str], path: str) -> int:
    """Return the sum in a line; raise ToolError if it has none."""
    if len(words) <= _SUM_PLACE:
        raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} has no sum")
    return whole(words[_SUM_PLACE], f"the sum of {words[0]} in {path}")


def lustre_stats(text: str, path: str) -> dict[Operation, int]:
    """Return bytes read and written by a target; 0 without a line, before the first transfer.

    Raises:
        ToolError: the text has another form.
    """
    moved = dict.fromkeys(OPERATIONS, 0)
    for words in statistics(text, path):
        operation = _OPERATIONS.get(words[0])
        if operation is None:
            continue
        if words[3:4] != ["[bytes]"]:
            raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} has no bytes")
        moved[operation] = sum_of(words, path)
    return moved


class Requests(NamedTuple):
    """Requests that a client has sent to a target, and the seconds until their answers."""

    number: int
    seconds: float

    def mean_since(self, before: Requests) -> Optional[float]:
        """Return the mean seconds of the requests since; None without one, or after a restart."""
        number, seconds = self.number - before.number, self.seconds - before.seconds
        return seconds / number if number > 0 and seconds > 0 else None


def client_requests(text: str, target: str, line: str) -> Optional[Requests]:
    """Return a client's requests to a target from ``lctl get_param *.TARGET-*.stats``.

    ``line`` is their line, such as ``ost_read``; several mounts count together.  None without a
    device of a client: those of an MDT on the same server are left out.

    Raises:
        ToolError: the text has another form.
    """
    client = re.compile(rf"(osc|mdc)\.{re.escape(target)}-\1-(?!MDT)\w+\.stats")
    texts = {name: value.strip() for name, value in parameters(text) if client.fullmatch(name)}
    times = [
        (whole(words[1], name), sum_of(words, name))
        for name, value in texts.items()
        for words in statistics(value, name)
        if words[0] == line and words[3:4] in (["[usecs]"], ["[usec]"])
    ]
    if not texts:
        return None
    return Requests(sum(number for number, _ in times), 1e-6 * sum(spent for _, spent in times))


KINDS_OF_RENAME = frozenset(
    (
        *("samedir_rename", "crossdir_rename", "rename_trylocks"),
        *("parallel_rename_file", "parallel_rename_dir"),
    )
)
"""Lines of ``md_stats`` that count a rename once more."""


def metadata_requests(text: str, path: str) -> int:
    """Return the requests that a metadata target has answered, by its ``md_stats``.

    Renames are counted twice there, by kind as well; lines of bytes are files stored on the target.

    Raises:
        ToolError: the text has another form.
    """
    return sum(
        whole(words[1], path)
        for words in statistics(text, path)
        if words[2:3] == ["samples"]
        and words[3:4] != ["[bytes]"]
        and words[0] not in KINDS_OF_RENAME
    )


def job_stats(text: str, path: str) -> dict[str, dict[str, int]]:
    """Return the bytes of each job on a target by operation; empty if no jobs are counted.

    A job is ``- job_id:  NAME`` and lines such as ``read_bytes: { samples: 1, unit: bytes, min: 4,
    max: 4, sum: 4, ... }``; special characters of a name stay as escaped by Lustre.

    Raises:
        ToolError: the text is no such list.
    """
    jobs: dict[str, dict[str, int]] = {}
    for job, word, fields in _job_lines(text, path):
        moved = jobs.setdefault(job, dict.fromkeys(OPERATIONS, 0))
        operation = _JOB_WORDS.get(word)
        if operation is not None and _field(fields, " unit:") == "bytes":
            moved[operation] = _count(fields, " sum:", job, path)
    return jobs


def job_requests(text: str, path: str) -> dict[str, dict[str, int]]:
    """Return the requests of each job to a metadata target, by operation, such as ``open``.

    The list has the form of a storage target's; lines of bytes are for files stored on the target.

    Raises:
        ToolError: the text is no such list.
    """
    jobs: dict[str, dict[str, int]] = {}
    for job, word, fields in _job_lines(text, path):
        requests = jobs.setdefault(job, {})
        if " samples:" not in fields or _field(fields, " unit:") == "bytes":
            continue
        count = _count(fields, " samples:", job, path)
        if count and _REQUEST.fullmatch(word):
            requests[word] = count
    return jobs


def _job_lines(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield job, word and fields of each line; word and fields are empty for the job itself."""
    if not text.startswith("job_stats:"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    job = ""
    for line in text.split("\n"):
        if line.startswith(_JOB):
            job = line[len(_JOB) :].strip().strip('"')
            if job:
                yield job, "", ""
        elif job:
            word, _, fields = line.partition(":")
            yield job, word.strip(), fields


def _count(fields: str, name: str, job: str, path: str) -> int:
    return whole(_field(fields, name), f"what job {job[:80]} did in {path}")


def _field(fields: str, name: str) -> str:
    return fields.partition(name)[2].partition(",")[0].strip(" }")
