"""Survey of a mount: all targets of a layer, each other's peers, without a plan or an inventory.

Its records are kept in the user's own state folder, one folder for each mount of this host, so that
the next survey is compared with the last one.  No files remain on the mount.
"""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from math import inf
from pathlib import Path
from socket import gethostname
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence
from urllib.parse import quote

from plumbline.measure.lock import Locks
from plumbline.measure.targets.metadata import ROOT, calls_of_root
from plumbline.measure.targets.mounted import (
    Member,
    MountedSystem,
    in_pool,
    metadata_at,
    system_at,
)
from plumbline.measure.targets.probe_file import OWN
from plumbline.measure.unit_context import Unit
from plumbline.measure.units import units_of
from plumbline.model.command import CommandRunner, Within
from plumbline.model.errors import (
    DocumentError,
    PrivilegeError,
    SkipTarget,
    ToolError,
    UsageError,
)
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.mdt import FILES
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import DAY_S, format_duration, format_size
from plumbline.observe.mounts import mount_holding
from plumbline.observe.query import QUICK_S, ask
from plumbline.site.comparison import REPEATS, SECONDS, own_locks
from plumbline.site.measure import Progress, Result, RunOptions, measure
from plumbline.store.files import DATABASE, EXPECTATIONS, SNAPSHOT_FILE, own_state
from plumbline.store.history import KEEP_DAYS, History
from plumbline.store.replacing import replace_own, writing
from plumbline.store.snapshot import load_expectations, load_snapshot

_DOCUMENT = "expectations.json"
_REMEDY = "remove it, and call plumbline probe with --mount again"
_PER_TARGET_S = 5.0
"""Seconds that queries of a healthy target take besides its measurements, about."""

Rates = Mapping[tuple[str, str], float]
"""Rates in B/s by component and operation."""


class Choice(NamedTuple):
    """Targets to survey: all of a mount, those of a pool, or those with some indices.

    ``user`` is the name of this process's user, ``root`` for root by any name.
    """

    folder: str
    """Real path of the mount or of a folder below it."""
    pool: str = ""
    indices: str = ""
    layer: Layer = OST
    user: str = ""


class Survey(NamedTuple):
    """The targets of a mount to measure, on files in ``folder``; ``state`` has its records.

    ``keeps_folders``: root has prepared the folders of metadata targets, and they stay.
    """

    system: MountedSystem
    folder: str
    entries: tuple[Expectation, ...]
    state: Path
    layer: Layer = OST
    keeps_folders: bool = False

    @property
    def units(self) -> list[Unit]:
        """Return the units, in the order of indices."""
        return units_of(self.layer.name, self.entries)

    def locks(self) -> Locks:
        """Return the locks of this user, which keep his surveys of a target apart."""
        point = self.system.mount.point
        return own_locks({entry.component: f"{point}/{entry.component}" for entry in self.entries})

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Return the operations with a column of their own."""
        return _operations(self.layer)

    def announcement(self) -> str:
        """Return what will be measured and where, and the most bytes and the most time it takes."""
        count, spec = len(self.entries), self.entries[0].spec
        runs = len(self.operations) * spec.repeats
        most_s = count * (runs * spec.seconds + _PER_TARGET_S)
        targets = self.layer.noun if self.layer.of_metadata else "target"
        return (
            f"{count} {targets if count == 1 else f'{targets}s'} of {self.system.mount.point}, one "
            f"after another: at most {self._amount(count, runs)} in {self.folder}/{OWN}, in at "
            f"most {format_duration(most_s)} if all of them answer; no file remains"
        )

    def _amount(self, count: int, runs: int) -> str:
        if self.layer.of_metadata:
            return f"{count * runs * FILES} files and folders are made and removed"
        moved = self.entries[0].spec.bytes * count * runs // len(self.operations)
        return f"{format_size(moved)} are written and as many read"


class SurveyResult(NamedTuple):
    """Result of a survey, and the rates of the last one before it, which ended at ``last_at``."""

    survey: Survey
    result: Result
    last: Rates
    last_at: Optional[float]

    def members(self) -> Iterator[Member]:
        """Yield the measured targets: lost ones, then by their odds to be slow, unknown ones."""
        verdicts = {verdict.component: verdict for verdict in self.result.verdicts}

        def weight(member: Member) -> float:
            verdict = verdicts[member.name]
            if verdict.component in self.rated:
                return -self.result.odds.get(verdict.component, 0.0)
            return -inf if verdict.state.alarm else inf

        yield from sorted(
            (member for member in self.survey.system.members if member.name in verdicts),
            key=weight,
        )

    @property
    def rates(self) -> Rates:
        """Return the rates of this survey."""
        return {
            (record.component, record.operation.value): record.rate
            for record in self.result.records
            if record.rate is not None
        }

    @property
    def rated(self) -> set[str]:
        """Return the targets with a rate."""
        return {name for name, _ in self.rates}

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        mount = self.survey.system.mount
        return {
            "schema": 1,
            "mount": {"point": mount.point, "kind": mount.kind, "source": mount.source},
            "note": self.survey.system.note,
            "targets": [
                {
                    "name": member.name,
                    "index": member.number,
                    "server": member.server,
                    "log_odds": self.result.odds.get(member.name),
                    "last": {
                        operation: rate
                        for (name, operation), rate in self.last.items()
                        if name == member.name
                    },
                }
                for member in self.members()
            ],
            "last_at": self.last_at,
            **self.result.to_json(),
        }


def survey_of(run: CommandRunner, choice: Choice, size_bytes: int) -> Survey:
    """Return the survey of a mount, with files of ``size_bytes`` on targets of data.

    Raises:
        UsageError: the mount's targets cannot be listed or are measured by a plan, the choice fits
            none of them, or this user may not work in the folder.
        ToolError: a tool is missing or gave no answer.
    """
    listed = metadata_at if choice.layer.of_metadata else system_at
    try:
        system = listed(run, mount_holding(run, choice.folder), choice.folder)
        _refuse_planned(system, choice.layer)
        if choice.pool:
            system = in_pool(run, system, choice.pool)
        if choice.indices:
            system = system.numbered(choice.indices)
    except SkipTarget as error:
        raise ToolError(str(error)) from error
    entries = tuple(
        _expectation(choice, member, system.mount.point, size_bytes) for member in system.members
    )
    state = mounts_folder() / quote(system.mount.point, safe="")
    keeps_folders = choice.layer.of_metadata and choice.user != ROOT
    return Survey(system, choice.folder, entries, state, choice.layer, keeps_folders)


def _operations(layer: Layer) -> tuple[Operation, ...]:
    return layer.operations if layer.of_metadata else (Operation.WRITE, Operation.READ)


def _refuse_planned(system: MountedSystem, layer: Layer) -> None:
    """Raise UsageError if the deployed plan of this host measures the targets of the mount.

    Its locks are those of its own user: a survey beside it would measure a target twice at once.
    """
    # a user who may not read the plan may not take its locks either
    with suppress(DocumentError):
        planned = load_expectations(EXPECTATIONS) if os.path.lexists(EXPECTATIONS) else None
        mounts = {
            entry["target"].get("mount")
            for entry in (planned.entries if planned else ())
            if LAYERS[entry["layer"]].of_metadata is layer.of_metadata
        }
        if system.mount.point in mounts:
            raise UsageError(
                f"the plan of this host measures the targets of {system.mount.point}, with its own "
                f"locks and history: call plumbline probe {layer.name} without --mount"
            )


def _expectation(choice: Choice, member: Member, point: str, size_bytes: int) -> Expectation:
    server, layer = member.server or f"of {member.name}", choice.layer
    spec = layer.spec if layer.of_metadata else ProbeSpec("fio", size_bytes, SECONDS)
    user = {"user": choice.user} if layer.of_metadata else {}
    return Expectation(
        layer=layer.name,
        component=member.name,
        host=server,
        group=f"{point} {choice.pool}".strip(),
        target={**member.keys, "folder": choice.folder, **user},
        path=(gethostname(), server, member.name),
        spec=spec._replace(repeats=REPEATS),
        references={
            f"{operation.value}/single": Reference(None, None) for operation in _operations(layer)
        },
        limits=Limits(baselines=False, stale_after_s=KEEP_DAYS * DAY_S),
    )


def refuse_unprepared(run: CommandRunner, survey: Survey) -> None:
    """Raise PrivilegeError if root has not yet made any folder of a user's metadata targets."""
    if not survey.keeps_folders:
        return
    own = f"{survey.folder}/{OWN}"
    # the names alone: a look at a folder would ask its metadata target
    names = run(["find", ".", "-mindepth", "1", "-maxdepth", "1"], QUICK_S, Within(own))
    prepared = {name.rpartition("/")[2] for name in names.stdout.splitlines()}
    if prepared.isdisjoint(member.name for member in survey.system.members):
        calls = [
            calls_of_root(member.number, f"{own}/{member.name}", entry.target["user"])
            for member, entry in zip(survey.system.members, survey.entries)
        ]
        raise PrivilegeError(
            f"only root may choose the MDT of a folder, so let root make them once, and call this "
            f"again: {'; '.join([f'install -d {shlex.quote(own)}', *calls])}"
        )


def refuse_folder(run: CommandRunner, survey: Survey) -> None:
    """Raise UsageError if this user may not work in the folder of a survey."""
    within = Within(survey.folder, (OWN,), make=True)
    try:
        ask(run, ["stat", "--format=%n", "--", "."], QUICK_S, within)
    except SkipTarget as error:
        raise UsageError(
            f"--mount {survey.folder}: {error}; or name a folder of your own below "
            f"{survey.system.mount.point}"
        ) from error


def carry_out(run: CommandRunner, survey: Survey, progress: Progress) -> SurveyResult:
    """Measure the targets of a survey, and return them with the rates of the last one.

    Raises:
        StoreError: the records cannot be kept.
        KeyboardInterrupt: the survey was interrupted before its first record.
    """
    document, snapshot = survey.state / _DOCUMENT, survey.state / SNAPSHOT_FILE
    with writing(survey.state):
        survey.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    earlier = _earlier(document, survey)
    last, last_at = _last_rates(snapshot, survey.entries)
    expectations = _expectations([*earlier, *survey.entries])
    options = RunOptions(survey.locks(), snapshot, progress, keep_files=survey.keeps_folders)
    try:
        with History(survey.state / DATABASE) as history:
            result = measure(expectations, survey.units, history, options)
    finally:
        options.locks.dissolve()
        # without a target that answers nothing else removes it
        removal = ["rmdir", "--ignore-fail-on-non-empty", "--", OWN]
        run(removal, QUICK_S, Within(survey.folder))
    measured = {record.component for record in result.records}
    kept = [*earlier, *(entry for entry in survey.entries if entry.component in measured)]
    replace_own(document, json.dumps(_expectations(kept).to_json()))
    return SurveyResult(survey, result, last, last_at)


def _expectations(entries: Sequence[Expectation]) -> Expectations:
    return Expectations(gethostname(), "", tuple(entry.to_json() for entry in entries))


def _earlier(document: Path, survey: Survey) -> list[Expectation]:
    """Return the targets of earlier surveys of a mount that this one leaves out."""
    if not document.exists():
        return []
    now = {entry.component for entry in survey.entries}
    known = load_expectations(str(document), _REMEDY)
    return [entry for entry in known.every() if entry.component not in now]


def _last_rates(snapshot: Path, entries: Sequence[Expectation]) -> tuple[Rates, Optional[float]]:
    """Return the rates of the last survey with the same files, and its end in epoch seconds."""
    rates: dict[tuple[str, str], float] = {}
    ends: list[float] = []
    if not snapshot.exists():
        return rates, None
    last = load_snapshot(str(snapshot))
    for entry in entries:
        for series in last.of(entry.layer, entry.component):
            record = series.latest
            if (
                record.rate is not None
                and record.spec_hash == entry.spec_of(record.operation).hash()
            ):
                rates[entry.component, record.operation.value] = record.rate
                ends.append(record.finished_at)
    return rates, max(ends, default=None)


def mounts_folder() -> Path:
    """Return the folder of the records of surveys: homes may be shared by many hosts."""
    return Path(own_state()) / "mounts" / quote(gethostname(), safe="")


def last_survey() -> Optional[tuple[Expectations, str]]:
    """Return the targets of the newest survey on this host and the path of its snapshot.

    None if there is none.

    Raises:
        DocumentError: its document is damaged.
    """
    # a survey that was interrupted before its first record has no document
    snapshots = [
        path
        for path in mounts_folder().glob(f"*/{SNAPSHOT_FILE}")
        if path.with_name(_DOCUMENT).exists()
    ]
    if not snapshots:
        return None
    newest = max(snapshots, key=lambda path: path.stat().st_mtime)
    return load_expectations(str(newest.with_name(_DOCUMENT)), _REMEDY), str(newest)
