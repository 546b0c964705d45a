"""Documents of an inventory: the only module that reads and writes its YAML files.

YAML is read strictly, and written with one value per line: a repeated key, and a word that looks
like a date or number but is none, are errors with their line.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional

import yaml

from plumbline.model.errors import DocumentError, StoreError, reason_in
from plumbline.model.expectation import Expectation
from plumbline.observe.given import read_given
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import read_baselines
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.places import Assignment
from plumbline.plan.policy import Policy, load
from plumbline.plan.references import PairLimits, expectation, find_ceilings, find_goals
from plumbline.store.plan import without_collector
from plumbline.store.replacing import replace, writing
from plumbline.topology.document import Zone
from plumbline.topology.graph import Topology, build
from plumbline.topology.names import expand

FOLDER = Path("group_vars") / "all"

MAX_BYTES = 64 << 20
"""Largest document; a site of 10,000 targets has baselines of some 10 MB."""

_DEEPEST = 100

_READABLE = "see that it is a file that you may read"

_NEVER = 1 << 30
"""Line width of YAML, so that no line is broken."""

_TAG = "tag:yaml.org,2002:"
_WORDS = {
    f"{_TAG}int": "whole number",
    f"{_TAG}float": "number",
    f"{_TAG}timestamp": "date",
    f"{_TAG}bool": "yes or no",
}
"""Types that YAML derives from the form of a text or from a tag."""

# the classes of libyaml are ten times as fast, if PyYAML was built with it
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Inventory(NamedTuple):
    """The parsed documents of a site; policy and baselines are empty if they do not exist."""

    folder: Path
    topology: Any
    policy: Any
    baselines: Any

    @property
    def baselines_file(self) -> Path:
        """The file that ``plumbline baseline accept`` writes."""
        return self.folder / FOLDER / "baselines.yml"

    @property
    def candidates_file(self) -> Path:
        """The file of captured baselines to accept; hidden, so Ansible does not read it."""
        return self.folder / ".plumbline-candidates.yml"


def read_inventory(path: str) -> Inventory:
    """Return the documents of the inventory folder ``path``, or of the folder of the file ``path``.

    Raises:
        DocumentError: there is no such inventory, it has no topology, or its YAML is damaged.
    """
    folder = _folder(Path(path))
    topology = folder / FOLDER / "topology.yml"
    if not os.path.lexists(topology):
        raise DocumentError(
            f"inventory {path} has no {FOLDER / 'topology.yml'}; "
            "describe the site's parts there as in docs/topology.md"
        )
    return Inventory(
        folder,
        read_document(topology, "plumbline_topology"),
        _optional(folder / FOLDER / "policy.yml", "plumbline_policy"),
        _optional(folder / FOLDER / "baselines.yml", "plumbline_baselines"),
    )


def topology_of(inventory: Inventory, zone: str = "fastest") -> Topology:
    """Return the topology of the site with the rates of disks in ``zone`` (topology.document).

    Raises:
        DocumentError: the parts do not fit together.
    """
    return build(inventory.topology, Zone(zone))


def plan_of(inventory: Inventory, topology: Optional[Topology] = None) -> Plan:
    """Return the plan of the site; raise DocumentError.

    ``topology`` is the inventory's topology if it is already built.
    """
    return compiled(inventory, topology_of(inventory) if topology is None else topology).plan


class Compiled(NamedTuple):
    """Plan of a site, the measurements that it is made of, and the policy behind both."""

    plan: Plan
    measured: tuple[Assignment, ...]
    policy: Policy


def compiled(inventory: Inventory, topology: Topology) -> Compiled:
    """Return the plan of the site, and its measurements for further questions about them.

    Raises:
        DocumentError: the documents do not fit together.
    """
    policy, accepted = load(inventory.policy), read_baselines(inventory.baselines)
    with without_collector():
        measured = assignments(topology, policy)
        return Compiled(compile_plan(topology, policy, accepted, measured), measured, policy)


def expectations_of(inventory: Inventory) -> dict[tuple[str, str], Expectation]:
    """Return the expectations by layer and component, without baselines.

    Raises:
        DocumentError: the documents do not fit together.
    """
    topology = topology_of(inventory)
    policy = load(inventory.policy)
    measured = assignments(topology, policy)
    ceilings = find_ceilings(topology, measured)
    goals = find_goals(policy, measured, ceilings)
    pair_limits = PairLimits(topology, measured)
    return {
        (assignment.layer, assignment.component): expectation(
            assignment, ceilings, {}, goals, pair_limits
        )
        for assignment in measured
    }


def deployed_hosts(inventory: Inventory) -> frozenset[str]:
    """Return the hosts in Ansible's ``hosts.yml``; empty without this file.

    Raises:
        DocumentError: the file is damaged.
    """
    path = inventory.folder / "hosts.yml"
    groups = [_parse(path)] if os.path.lexists(path) else []
    names: set[str] = set()
    while groups:
        group = groups.pop()
        if isinstance(group, Mapping):
            hosts = group.get("hosts") or {}
            if not isinstance(hosts, (Mapping, list)):
                raise DocumentError(
                    f"{path}: hosts is {hosts!r:.60}, which names none; write a host a line"
                )
            # Ansible writes oss[01:24] for the topology's oss[01-24]
            patterns = [str(name).replace(":", "-") for name in hosts]
            names.update(name for text in patterns for name in expand(text))
            groups += [subgroup for key, subgroup in group.items() if key not in ("hosts", "vars")]
    return frozenset(names)


def read_document(path: Path, key: str) -> Any:
    """Return the value of the only ``key`` of a YAML file.

    Raises:
        DocumentError: the file cannot be read, is damaged, or has other keys than ``key``.
    """
    raw = _parse(path)
    if not isinstance(raw, Mapping) or list(raw) != [key]:
        keys = ", ".join(map(repr, raw)) if isinstance(raw, Mapping) and raw else "nothing of it"
        raise DocumentError(f"{path} must have the one key {key!r}, but has {keys}; correct it")
    return raw[key]


def _folder(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        raise DocumentError(
            f"there is no inventory {path}; give its folder, for example -i inventories/lab"
        )
    return folder


def _optional(path: Path, key: str) -> Any:
    # a link that leads nowhere is no file that does not exist, but one that somebody misses
    return read_document(path, key) if os.path.lexists(path) else {}


def _parse(path: Path) -> Any:
    try:
        return read_yaml(_text(path))
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}; {_READABLE}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path} is no UTF-8 text (byte {error.start}); save it so") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}" if mark else ""
        raise DocumentError(f"{path}{line} is no valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise DocumentError(f"{path} is no valid YAML: {error!s:.300}") from error


def _text(path: Path) -> str:
    return read_given(path, MAX_BYTES).decode("utf-8")


def read_yaml(text: str) -> Any:
    """Return the value of a document, None for an empty one.

    Raises:
        yaml.YAMLError: it is no YAML; with the line if known.
    """
    # libyaml ends the process at a depth of some ten thousand
    depth = 0
    for event in yaml.parse(text, _SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise _refusal(event, f"it is more than {_DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return yaml.load(text, _Loader)  # noqa: S506 - it is a safe loader


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Safe loader that refuses repeated keys, and words that look like a number but are none."""

    def construct_mapping(self, node: Any, deep: bool = True) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise _refusal(key, f"the key {key.value[:64]!r} is given twice")
                seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        # PyYAML lets the errors of Python's conversions to numbers and dates through
        except (ValueError, LookupError, AttributeError, OverflowError) as error:
            word = _WORDS.get(node.tag, "value")
            problem = f"{node.value!r:.64} is no {word}; quote it if it is text"
            raise _refusal(node, problem) from error


# constructed at once, so that an alias for what contains it is an error
_Loader.add_constructor(f"{_TAG}map", _Loader.construct_mapping)
_Loader.add_constructor(
    f"{_TAG}seq", lambda loader, node: loader.construct_sequence(node, deep=True)
)


def _refusal(node: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """Dumper that writes every text on one line, and repeated mappings without aliases."""

    def ignore_aliases(self, *_: Any) -> bool:
        return True


def _one_line(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(f"{_TAG}str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _one_line)


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a mapping of mappings, texts and integers; the last line is empty."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NEVER)
    yield from text.split("\n")


_QUOTED = re.compile(r"((?:^|: |[-?] |[\[{,])\s*)(?:'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\")")
"""A quoted text at a place where it can begin: the quote in ``it's`` begins none.

It is replaced by another text, so a directly following ``#`` begins no comment.
"""
_COMMENT = re.compile(r"(?:^|\s)#")


class Revision(NamedTuple):
    """The present text of a file, empty if there is none, and the new text."""

    path: Path
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Return whether there is anything to write."""
        return self.before != self.after

    def write(self) -> None:
        """Replace the file atomically if it changes.

        Raises:
            StoreError: the file cannot be written; the message says why.
        """
        if self.changed:
            _replace(self.path, self.after)


def revise(path: Path, document: Mapping[str, Any], comment: str) -> Revision:
    """Return the revision of a YAML file without writing it.

    ``comment`` becomes the last line before the document; other comments there stay.

    Raises:
        DocumentError: a comment of the old file, further down, would be lost.
        StoreError: the file cannot be read; the message says why.
    """
    # a link stays a link
    path = path.resolve()
    old = _read(path)
    _refuse_loss(path, old)
    comments = [line for line in _header(old) if line != f"# {comment}"]
    text = "\n".join(["---", *comments, f"# {comment}", *_lines(document)])
    return Revision(path, old, text)


def write_document(path: Path, document: Mapping[str, Any], comment: str) -> bool:
    """Replace a YAML file atomically; return False if its text does not change.

    Raises:
        DocumentError: a comment of the old file, further down, would be lost.
        StoreError: the file cannot be read or written; the message says why.
    """
    revision = revise(path, document, comment)
    revision.write()
    return revision.changed


def _read(path: Path) -> str:
    try:
        return _text(path) if os.path.lexists(path) else ""
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path} cannot be read: {reason_in(error)}; nothing changed; {_READABLE}"
        ) from error


def _header(text: str) -> Iterator[str]:
    """Yield the comment lines before the document."""
    for line in text.splitlines():
        if line.startswith("#"):
            yield line
        elif line.strip() not in ("", "---"):
            return


def _refuse_loss(path: Path, text: str) -> None:
    remaining = sum(1 for _ in _header(text))
    for number, line in enumerate(text.splitlines(), 1):
        if "#" not in line or not _COMMENT.search(_QUOTED.sub(r"\1x", line)):
            continue
        remaining -= 1
        if remaining < 0:
            raise DocumentError(
                f"{path} line {number} has a comment that would be lost; say it in the reason of "
                "the baseline, or move it above the first key"
            )


def _replace(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        replace(path, text, mode=mode)
