"""Inputs of the judge for tests: a healthy OST or host with the changes of a test."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.doors.check import valid
from plumbline.doors.node_check import judged
from plumbline.doors.published_file import published as read_published
from plumbline.judge.component import decide, rulings_on
from plumbline.judge.fs import file_systems, judge_whole
from plumbline.judge.judging import Judging
from plumbline.judge.pair import judge_pair_host
from plumbline.judge.service import evidence as evidence_of
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation, Expectations, Partner
from plumbline.model.limits import Baseline, Ceiling, Limits, Reference
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.series import Running, Sample, Series, Snapshot
from plumbline.model.spec import ProbeSpec
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.model.verdict_files import file_name
from plumbline.site.checks import Verdicts
from tests.package.records import record

if TYPE_CHECKING:
    from plumbline.doors.published_file import Shown
    from plumbline.judge.memory import EvidenceSource, Memory

DAY_S = 86400.0
NOW = 20_000 * DAY_S
"""Midnight UTC, long after the first records of tests."""

CEILING = Ceiling(250e6, ("oss2-disk1",), ("disk",))
BASELINE = Baseline(202.1e6, 0.01, 12, "2026-11-01", "2026-11-20", "abc", {}, "ada", "new disks")
REFERENCE = Reference(CEILING, BASELINE)


def expectation(**changes: Any) -> Expectation:
    """Return the expectation of scratch-OST0003, write and read."""
    values: dict[str, Any] = {
        "layer": "ost",
        "component": "scratch-OST0003",
        "host": "oss2",
        "group": "scratch",
        "target": {"kind": "lustre", "mount": "/scratch"},
        "path": ("client1", "oss2", "oss2-disk1"),
        "spec": ProbeSpec("fio", 1 << 30, 60.0),
        "references": {"write/single": REFERENCE, "read/single": REFERENCE},
        "limits": Limits(),
    }
    return Expectation(**{**values, **changes})


def host_expectation(*partners: str, **changes: Any) -> Expectation:
    """Return the expectation of the link of host oss3, for sending only."""
    ceiling = Ceiling(118e6, ("oss3-link",), ("nic",))
    values: dict[str, Any] = {
        "layer": "net",
        "component": "oss3",
        "host": "oss3",
        "group": "servers",
        "references": {"send/single": Reference(None, BASELINE._replace(median=117e6))},
        "partners": tuple(
            Partner(name, "10.0.0.1", ("oss3", "switch", name), ceiling) for name in partners
        ),
    }
    return expectation(**{**values, **changes})


def series(
    rate: Optional[float] = 200e6,
    peers_rate: Optional[float] = 201e6,
    earlier: Sequence[Sample] = (),
    **changes: Any,
) -> Series:
    """Return a read of five minutes ago with five peers; ``earlier`` are the samples before it.

    Without a rate it has failed by default.
    """
    failure = {"outcome": Outcome.FAILED, "reason": "fio: no", "repeats": ()}
    values: dict[str, Any] = {
        "component": "scratch-OST0003",
        "started_at": NOW - 310,
        "finished_at": NOW - 300,
        "rate": rate,
        "repeats": (rate,) * 3,
        "spec_hash": "abc",
        **(failure if rate is None else {}),
    }
    latest = record(**{**values, **changes})
    peers = 5 if peers_rate is not None else 0
    first = Sample(
        latest.started_at, latest.rate, latest.coverage, peers_rate, peers, latest.partner
    )
    return Series(latest, (first, *earlier))


def sent(partner: str, rate: Optional[float], **changes: Any) -> Series:
    """Return a send test from oss3 to a partner five minutes ago."""
    values = {"layer": "net", "component": "oss3", "operation": Operation.SEND, "partner": partner}
    return series(rate, None, **{**values, **changes})


def evidence(**changes: Any) -> Evidence:
    """Return an alarm: reads at 40 % of the baseline over three runs."""
    values: dict[str, Any] = {
        "odds": 11.0,
        "needed": 9.0,
        "alarm": True,
        "since": NOW - 2 * DAY_S,
        "moments": 3,
        "what": "read",
        "ratio": 0.4,
        "against": "its baseline",
    }
    return Evidence(**{**values, **changes})


def snapshot(
    *all_series: Series,
    running: Sequence[Running] = (),
    now: float = NOW,
    known: Mapping[Subject, Evidence] = MappingProxyType({}),
) -> Snapshot:
    """Return a snapshot with these series, and the evidence of subjects."""
    raw: dict[str, Any] = {}
    for item in all_series:
        layer, component = item.latest.layer, item.latest.component
        own = known.get((layer, component, False))
        entry = raw.setdefault(
            f"{layer}/{component}", {"evidence": own and own._asdict(), "operations": []}
        )
        entry["operations"].append({"latest": item.latest.to_json(), "samples": list(item.samples)})
    groups = {
        f"{layer}/{name}": item._asdict()
        for (layer, name, is_group), item in known.items()
        if is_group
    }
    return Snapshot("client1", now, tuple(running), groups, json.loads(json.dumps(raw)))


class Node(NamedTuple):
    """A node by its snapshot and the moment of its last change of versions."""

    snapshot: Snapshot
    changed: Optional[float] = None

    @property
    def running(self) -> tuple[Running, ...]:
        """Return the unfinished runs."""
        return self.snapshot.running

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return all series of a component."""
        return self.snapshot.of(layer, component)

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return when the versions of a record's series changed, None if never."""
        return self.changed if latest.versions else None


def judge(
    expectation: Expectation, series: Sequence[Series], running: Sequence[Running], now: float
) -> Verdict:
    """Return the verdict on the last run of a component alone, with its evidence."""
    rulings = rulings_on(expectation, series, now)
    lines = tuple(line for ruling in rulings for line in evidence_of(ruling, now))
    return decide(expectation, rulings, running, now)._replace(evidence=lines)


class ComponentMemory(NamedTuple):
    """Series, unfinished runs and evidence of one component."""

    series: Sequence[Series]
    running: tuple[Running, ...]
    known: Optional[Evidence]

    def of(self, _layer: str, _component: str) -> tuple[Series, ...]:
        """Return the series."""
        return tuple(self.series)

    def evidence(self, _subject: Subject) -> Optional[Evidence]:
        """Return the evidence."""
        return self.known


def judge_service(
    expectation: Expectation,
    series: Sequence[Series],
    running: Sequence[Running],
    now: float,
    known: Optional[Evidence],
) -> Verdict:
    """Return the verdict on a component by the evidence of its runs."""
    memory = ComponentMemory(series, tuple(running), known)
    return Judging(memory, memory, now).component(expectation)


def judge_host(
    expectation: Expectation, series: Sequence[Series], running: Sequence[Running], now: float
) -> Verdict:
    """Return the verdict on the last run of a host with each partner."""
    return judge_pair_host(expectation, ComponentMemory(series, tuple(running), None), now)


def judge_file_system(
    entries: Sequence[Expectation],
    name: str,
    memory: Memory,
    now: float,
    known: Optional[EvidenceSource] = None,
) -> Verdict:
    """Return the verdict on the last run of a file system, or by the evidence of its runs."""
    (system,) = [system for system in file_systems(entries) if system.whole.component == name]
    if known:
        return Judging(memory, known, now).file_system(system)
    return judge_whole(system, memory, now)


def judge_group(
    members: Sequence[Expectation], memory: Memory, now: float, known: EvidenceSource
) -> Verdict:
    """Return the verdict on a group by the evidence of its runs."""
    return Judging(memory, known, now).group(members)


def write(folder: Path, entries: Sequence[Expectation], snapshot_: Snapshot) -> list[str]:
    """Write both documents of a node; return the arguments that name them."""
    documents: dict[str, Union[Expectations, Snapshot]] = {
        "expectations": Expectations("client1", "lab", tuple(entry.to_json() for entry in entries)),
        "snapshot": snapshot_,
    }
    arguments = []
    for name, content in documents.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content.to_json()), encoding="utf-8")
        arguments += [f"--{name}", str(path)]
    return arguments


def published(folder: Path, entries: Sequence[Expectation], snapshot_: Snapshot) -> list[str]:
    """Write the documents that a check reads on a node; return the arguments that name them."""
    write(folder, entries, snapshot_)
    verdicts, expectations = folder / "verdicts", str(folder / "expectations.json")
    Verdicts(expectations, verdicts)(snapshot_)
    return ["--expectations", expectations, "--verdicts", str(verdicts)]


def checked(folder: Path, subject: Subject, expectations: str, now: float) -> Verdict:
    """Return the published verdict that a check shows at a time, without a reason."""
    raw = read_published(f"{folder}/{file_name(subject)}", subject, expectations)
    return _shown(subject, valid(raw, raw["parts"][""], now))


def checked_node(folder: Path, expectations: str, now: float) -> Verdict:
    """Return the verdict on the probes that check_node shows at a time, without a reason."""
    words = {"--verdicts": str(folder), "--expectations": expectations, "--certificates": "/none"}
    return _shown(("node", "client1", False), judged("node", words, now))


def _shown(subject: Subject, shown: Shown) -> Verdict:
    state, sentence, evidence, rows = shown
    layer, name, is_group = subject
    verdict = Verdict(layer, name, State[state], Reason.NOT_JUDGED, sentence, group=is_group)
    figures = tuple(Figure(*row) for row in rows)
    return verdict._replace(evidence=tuple(evidence), figures=figures)
