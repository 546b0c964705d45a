"""The readers of documents: what people write, what nodes and the console tell each other."""

from __future__ import annotations

import gzip
import json
import sqlite3
from argparse import Namespace
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator

import yaml

from plumbline.cli.inventory import parse_json, read_fields
from plumbline.doors.call import Refusal
from plumbline.doors.call import parse as parse_call
from plumbline.doors.check import valid
from plumbline.doors.icinga import icinga_objects
from plumbline.doors.monitored import ObjectOptions, monitored, read_options
from plumbline.doors.nagios import nagios_objects
from plumbline.doors.plugin import output, plugin_output, status_line
from plumbline.doors.prometheus import exposition, families
from plumbline.doors.published_file import published
from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks
from plumbline.measure.lock import read_holder
from plumbline.model.codec import compact, read_document, write
from plumbline.model.conditions import of_record
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.exchange import Begun, Cursor, Head, Request, Suspected
from plumbline.model.expectation import Expectations
from plumbline.model.limits import Range, Reference
from plumbline.model.profile import pack, unpack
from plumbline.model.quantity import SECONDS
from plumbline.model.ranks import parse_aggregation
from plumbline.model.record import Flag, Operation, Record
from plumbline.model.series import Process, Running, Sample
from plumbline.model.service import ActiveAlarms, Suspicion
from plumbline.model.shared import Turn, results_in
from plumbline.model.space import Amount, SpaceReport, SpaceTerms, TargetSpace
from plumbline.model.symptom import KINDS, Direction, Look, Report, Symptom, site_symptoms
from plumbline.model.units import parse_bytes, parse_duration, parse_line_rate, parse_rate
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.observe.command import LocalSystem
from plumbline.observe.coverage import OTHERS, Job, Others, others_of, samplings_of
from plumbline.parts.facts.darshan_logs import read_job_times, read_logs
from plumbline.parts.facts.jobs import Window, parse_slurm, sum_traffic
from plumbline.parts.facts.node import EarlierLook, Parts, Past
from plumbline.parts.facts.request_times import (
    CountRow,
    DiskTime,
    QueueTimes,
    Reading,
    RequestTimes,
    TargetTimes,
    Timed,
    times_between,
)
from plumbline.parts.facts.saved import load_fabric, load_site_commands, load_symptoms
from plumbline.parts.facts.stages import outliers, site_stages
from plumbline.parts.locate.investigate import read_earlier, read_request, sent_symptoms
from plumbline.parts.parallel.job import Job as RanksJob
from plumbline.parts.parallel.launch import parse_clients
from plumbline.parts.parallel.sweep import Ledger
from plumbline.parts.parallel.tally import read_results
from plumbline.parts.simulate.fleet import parse_fault, parse_losses
from plumbline.parts.space.history import look_of, record_of
from plumbline.parts.space.outlook import Look as SpaceLook
from plumbline.parts.space.outlook import system_space
from plumbline.parts.space.publish import published as space_document
from plumbline.parts.space.verdict import judge_space
from plumbline.plan.baseline import (
    CANDIDATES,
    Candidate,
    Key,
    read_baselines,
    read_candidates,
    write_baselines,
    write_candidates,
)
from plumbline.plan.expectations import Plan
from plumbline.site.answers import _parse, document_of
from plumbline.site.checks import Verdicts
from plumbline.site.conversation import RawAnswer, parse_answer
from plumbline.site.documents import read_records, read_verdicts
from plumbline.site.inventory import deployed_hosts, plan_of, read_inventory
from plumbline.site.inventory import read_document as read_yaml_document
from plumbline.site.published import symptoms_document
from plumbline.site.shared import records_in
from plumbline.site.verdicts import NodeVerdicts
from plumbline.store.facts import (
    collected_report,
    keep_collected,
    load_ledger,
    load_report,
    load_suspicions,
)
from plumbline.store.files import load_document, seal
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from plumbline.store.samples import read_samples
from plumbline.store.snapshot import load_expectations, load_snapshot
from plumbline.store.verdicts import load_standing, published_paths
from plumbline.store.version_changes import parse_versions
from plumbline.topology.names import HEXADECIMAL, expand
from tests.mutations.reader import Feed, Reader, encoded, put, text
from tests.package import recorded
from tests.package.fakes import FakeRunner, answer
from tests.package.judgements import (
    BASELINE,
    NOW,
    evidence,
    expectation,
    host_expectation,
    judge,
    judge_file_system,
    judge_group,
    judge_service,
    sent,
    series,
)
from tests.package.judgements import snapshot as snapshot_of
from tests.package.measure.test_shared import of_node
from tests.package.model import ledgers
from tests.package.model.test_profile import blocks
from tests.package.observe.servers import counted
from tests.package.parallel_runs import expected, ran
from tests.package.parts.facts.test_darshan import ANSWERS, named
from tests.package.parts.parallel.points import done, point
from tests.package.parts.parallel.test_job import JOB, RESULT
from tests.package.records import record
from tests.package.sites import INVENTORIES

LAB = INVENTORIES / "lab"
DOCUMENTS = ("topology", "policy", "baselines")
KEY = Key("ost", "scratch-OST0003", "write", "single")
RICH_BASELINE = BASELINE._replace(
    profile=(1.2, 0.9, 0.9), fill=0.4, terms="fio, 1 GiB", host="client1", versions={"a": "1"}
)
EARLIER = tuple(
    Sample(NOW - 3610 - day * 43200.0, 150e6 + 1e6 * day, 0.95, 200e6, 5, None)
    for day in range(1, 30)
)
EVIDENCE = {
    ("ost", "scratch-OST0003", False): evidence(),
    ("ost", "scratch-OST0004", False): evidence(alarm=False, odds=4.0),
    ("ost", "scratch", True): evidence(what="write"),
    ("net", "oss3", False): evidence(what="send", ratio=None, shared=True, alarm=False),
    ("fs", "OST2", False): evidence(what="write together"),
}
RICH: dict[str, Any] = {
    "coverage": 0.95,
    "fill": 0.4,
    "retransmits": 3,
    "versions": {"client": "2.17.57"},
    "flags": (Flag.SHORT,),
    "quantities": {"mean": 0.1, "p50": 0.1, "p99": 0.2, "max": 0.3},
    "details": {"form": [120, 90, 90, 100, 100]},
}


def _dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


# --- documents written by people


def _inventory_with(name: str) -> Feed:
    """Return a feed that replaces a document of the lab."""

    def feed(data: bytes, folder: Path) -> Plan:
        for other in DOCUMENTS:
            own = LAB / "group_vars" / "all" / f"{other}.yml"
            if other != name and own.exists():
                put(folder, f"group_vars/all/{other}.yml", own.read_bytes())
        put(folder, f"group_vars/all/{name}.yml", data)
        plan = plan_of(read_inventory(str(folder)))
        json.dumps(plan.to_json(), allow_nan=False)
        return plan

    return feed


def _own(name: str) -> bytes:
    return (LAB / "group_vars" / "all" / f"{name}.yml").read_bytes()


def _plain(document: dict[str, Any]) -> bytes:
    return yaml.safe_dump(document, sort_keys=False).encode()


TOPOLOGY_OF_LUSTRE = _dumped(
    {
        "plumbline_topology": {
            "schema": 1,
            "site": "hpc",
            "parts": [
                {"name": "net", "kind": "switch"},
                {
                    "name": "oss[1-2]",
                    "kind": "server",
                    "feeds": "net",
                    "link": "10 Gbit/s",
                    "encoding": "64b/66b",
                    "mtu": 1500,
                    "address": "10.0.0.[1-2]",
                },
                {
                    "name": "d[1-2]",
                    "kind": "disk",
                    "count": 8,
                    "rate": "78 MB/s",
                    "average": "66 MB/s",
                    "slowest": "43 MB/s",
                    "device": "/dev/mapper/{name}",
                    "feeds": "oss[1-2]",
                },
                {
                    "name": "client1",
                    "kind": "client",
                    "feeds": "net",
                    "read": "1 GB/s",
                    "write": "1 GB/s",
                },
            ],
            "file_systems": [
                {
                    "name": "work",
                    "kind": "lustre",
                    "mount": "/work",
                    "client": "client1",
                    "retired": "work-OST0001",
                    "targets": [{"name": "work-OST[0000-0001]", "part": "d[1-2]"}],
                    "metadata": [{"name": "work-MDT0000", "part": "oss1"}],
                },
                {
                    "name": "nfs",
                    "kind": "directory",
                    "client": "client1",
                    "targets": [
                        {
                            "name": "n[1-2]",
                            "part": "d[1-2]",
                            "directory": "/nfs/{name}",
                            "source": "nas:/{name}",
                        }
                    ],
                },
            ],
        }
    }
)
POLICY = _dumped(
    {
        "plumbline_policy": {
            "schema": 1,
            "limits": {"warning": "80:", "peer_loss": "10 %", "min_coverage": "80 %"},
            "layers": {
                "ost": {
                    "probe": {
                        "bytes": "1 GiB",
                        "transfer": "1 MiB",
                        "repeats": 3,
                        "queue_depth": 8,
                    },
                    "schedule": {"calendar": "*-*-* 01:06", "every": "1 d", "limit": "30 min"},
                    "groups": {"scratch": {"limits": {"critical": "50:", "max_age": "90 d"}}},
                    "components": {"scratch-OST0003": {"probe": {"rate_cap": "50 MB/s"}}},
                },
                "net": {"schedule": {"slot": "1 h", "window": "5 min"}, "port": 12865},
                "fs": {"clients": ["client1"], "memory": "8 GiB", "budget": "64 GiB"},
            },
        }
    }
)


def _line(record: Record) -> bytes:
    return compact(record).encode()


def _flows(data: bytes, _: Path) -> object:
    return [results_in(record) for record in records_in(text(data))]


def _candidates(data: bytes, folder: Path) -> object:
    return read_candidates(read_yaml_document(Path(put(folder, "c.yml", data)), CANDIDATES))


def _accepted(data: bytes, folder: Path) -> object:
    path = Path(put(folder, "b.yml", data))
    return read_baselines(read_yaml_document(path, "plumbline_baselines"))


def _hosts(data: bytes, folder: Path) -> object:
    for name in DOCUMENTS:
        own = LAB / "group_vars" / "all" / f"{name}.yml"
        if own.exists():
            put(folder, f"group_vars/all/{name}.yml", own.read_bytes())
    put(folder, "hosts.yml", data)
    return deployed_hosts(read_inventory(str(folder)))


OPTIONS = json.dumps(
    {
        "addresses": {"oss1": "10.0.0.1"},
        "notification_options": ["w", "c"],
        "report_url": "https://mon1/plumbline",
        "contact_groups": ["storage"],
    }
).encode()


def _options(data: bytes, folder: Path) -> object:
    return read_options(parse_json(data.decode(errors="surrogateescape"), "--options", "write {}"))


def _objects(data: bytes, folder: Path) -> object:
    site = read_fields(Namespace(inventory=None, plan=put(folder, "plan.json", data)))
    options = ObjectOptions()
    return [made(monitored(site, options), options) for made in (nagios_objects, icinga_objects)]


def _people() -> Iterator[Reader]:
    baselines = write_baselines({KEY: RICH_BASELINE})
    candidates = write_candidates({KEY: Candidate(RICH_BASELINE, "far below", "3 runs")})
    topologies = (_own("topology"), TOPOLOGY_OF_LUSTRE)
    yield Reader("topology", topologies, _inventory_with("topology"))
    yield Reader("policy", (_own("policy"), POLICY), _inventory_with("policy"))
    both = (_plain(baselines), _dumped(baselines))
    yield Reader("baselines of a plan", both, _inventory_with("baselines"))
    yield Reader("baselines", (*both, yaml.safe_dump(baselines).encode()), _accepted)
    yield Reader("candidates", (_plain(candidates), _dumped(candidates)), _candidates)
    yield Reader("hosts", ((LAB / "hosts.yml").read_bytes(),), _hosts)
    yield Reader("options of the objects", (OPTIONS,), _options)
    yield Reader("plan of the objects", (_lab_plan(),), _objects)


# --- documents read by checks


@cache
def _entries() -> tuple[bytes, bytes]:
    """Return the expectations and the snapshot of a node that measures in all layers."""
    baseline = BASELINE._replace(profile=RICH_BASELINE.profile, fill=0.4, versions=RICH["versions"])
    references = {
        key: reference._replace(baseline=baseline)
        for key, reference in expectation().references.items()
    }
    entries = [
        expectation(references=references),
        # judged only by its peers, its own runs and its profile
        expectation(
            component="scratch-OST0004", references={"read/single": Reference(None, baseline)}
        ),
        host_expectation("oss1", "oss2", target={"kind": "pair", "address": "10.0.0.3"}),
        *expected(even=90e6),
    ]
    node = Expectations("client1", "lab", tuple(entry.to_json() for entry in entries))
    low = series(80e6, 201e6, EARLIER, operation=Operation.WRITE, **RICH)
    snapshot = snapshot_of(
        low,
        series(150e6, 201e6, EARLIER, **RICH),
        series(175e6, 201e6, EARLIER, component="scratch-OST0004", **RICH),
        sent("oss1", 24e6, **RICH),
        sent("oss2", None),
        *ran([200e6, 200e6, 80e6, 200e6]),
        running=[
            Running("ost", "scratch-OST0003", NOW - 10),
            Running("net", "oss3", NOW - 10, Process(1, 1, "0b1e-", "08:01:7"), interrupted=False),
            Running("fs", "scratch", NOW - 10, interrupted=True),
        ],
        known=EVIDENCE,
    )
    return _dumped(node.to_json()), json.dumps(snapshot.to_json(), separators=(",", ":")).encode()


def _judged(expectations: str, snapshot: str) -> None:
    """Judge all services of this node, and a run, with full output."""
    for ask in (_low, _watched, _run, _host, _group, _whole):
        # a document damaged for one check may be valid for another
        with suppress(DocumentError):
            plugin_output("OST", ask(expectations, snapshot), 3)


def _low(expectations: str, snapshot: str) -> Verdict:
    return _component(expectations, snapshot, ("ost", "scratch-OST0003"))


def _watched(expectations: str, snapshot: str) -> Verdict:
    return _component(expectations, snapshot, ("ost", "scratch-OST0004"))


def _component(expectations: str, snapshot: str, only: tuple[str, str]) -> Verdict:
    read = load_snapshot(snapshot)
    (entry,) = load_expectations(expectations).find(*only)[:1]
    weighed = read.evidence((*only, False))
    return judge_service(entry, read.of(*only), read.running, NOW, weighed)


def _run(expectations: str, snapshot: str) -> Verdict:
    read = load_snapshot(snapshot)
    (entry,) = load_expectations(expectations).find("ost", "scratch-OST0003")[:1]
    return judge(entry, read.of("ost", "scratch-OST0003"), read.running, NOW)


def _host(expectations: str, snapshot: str) -> Verdict:
    read = load_snapshot(snapshot)
    (entry,) = load_expectations(expectations).find("net", "oss3")[:1]
    weighed = read.evidence(("net", "oss3", False))
    return judge_service(entry, read.of("net", "oss3"), read.running, NOW, weighed)


def _group(expectations: str, snapshot: str) -> Verdict:
    members = load_expectations(expectations).members("ost", "scratch")
    read = load_snapshot(snapshot)
    return judge_group(members, read, NOW, read)


def _whole(expectations: str, snapshot: str) -> Verdict:
    entries = load_expectations(expectations).find("fs")
    read = load_snapshot(snapshot)
    return judge_file_system(entries, "scratch", read, NOW, read)


def _expectations(data: bytes, folder: Path) -> None:
    path = put(folder, "e.json", data)
    _judged(path, put(folder, "s.json", _entries()[1]))
    Parts(load_expectations(path), LocalSystem(FakeRunner({}), folder))


@cache
def _of_server() -> bytes:
    """Return the expectations of a server of the lab, with devices and partners."""
    return _dumped(plan_of(read_inventory(str(LAB))).node("oss1").to_json())


def _versions(data: bytes, _: Path) -> object:
    return parse_versions.__wrapped__(text(data))


def _earlier(data: bytes, folder: Path) -> object:
    path = folder / "earlier.json"
    path.write_bytes(data)
    return read_earlier([str(path)])


def _snapshot(data: bytes, folder: Path) -> None:
    _judged(put(folder, "e.json", _entries()[0]), put(folder, "s.json", data))


def _kept(data: bytes, folder: Path) -> object:
    """Feed the evidence of a history."""
    path = folder / "history.sqlite"
    with History(path) as history:
        history.keep_evidence({("ost", "a", False): evidence()})
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE evidence SET body = ?", (text(data),))
        return history.evidence()


def _plan(data: bytes, folder: Path) -> None:
    plan = load_plan(put(folder, "plan.json", data))
    for node in plan.nodes.values():
        for layer in dict.fromkeys(entry["layer"] for entry in node.entries):
            for entry in node.find(layer):
                entry.to_json()


@cache
def _lab_plan() -> bytes:
    return _dumped(plan_of(read_inventory(str(LAB))).to_json())


def _checks() -> Iterator[Reader]:
    expectations, snapshot = _entries()
    yield Reader("expectations", (expectations, _of_server()), _expectations)
    yield Reader("snapshot", (snapshot,), _snapshot)
    yield Reader("sealed snapshot", (seal(snapshot.decode()).encode(),), _snapshot)
    yield Reader("earlier snapshot", (snapshot,), _earlier)
    yield Reader("verdict", (_verdict(expectations, snapshot),), _published)
    weighed = (evidence(), evidence(ratio=None, alarm=False, shared=True))
    yield Reader("evidence of a history", tuple(_dumped(item._asdict()) for item in weighed), _kept)
    versions = b'"versions":{"client":"2.15.5","server":"2.15.4"}'
    yield Reader("versions of a record", (versions,), _versions)
    yield Reader("plan", (_lab_plan(),), _plan)
    verdict = Verdict(
        "path", "server oss1", State.OK, Reason.FINE, "no suspect", figures=(Figure("s", 0),)
    )
    standing = ActiveAlarms(
        {"oss1;OST a": NOW - 9}, {"server oss1": Suspicion(NOW - 8, State.WARNING, slow=True)}
    )
    paths = published_paths({"server oss1": verdict}, NOW, 3600.0, standing)
    yield Reader("paths", (_dumped(paths),), _path)
    yield Reader(
        "verdicts on symptoms", (compact(symptoms_document(REPORT)).encode(),), _symptom_verdicts
    )
    yield Reader(
        "verdicts on space", (compact(space_document(SPACE_REPORT)).encode(),), _space_verdicts
    )
    yield Reader("report of space", (compact(SPACE_REPORT).encode(),), _space_report)
    yield Reader("record of space", (compact(record_of(SPACE_LOOK, "oss1")).encode(),), _look)


def _verdict(expectations: bytes, snapshot: bytes) -> bytes:
    """Return the verdict file, without its checksum, of a component that is being measured."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        read = load_snapshot(put(folder, "s.json", snapshot))
        running = (Running("ost", "scratch-OST0003", NOW - 9, Process(1, 2, "boot", "08:01:7")),)
        Verdicts(put(folder, "e.json", expectations), folder)(read._replace(running=running))
        raw = json.loads((folder / "ost-scratch-OST0003.json").read_text())
    return _dumped({key: value for key, value in raw.items() if key != "crc32"})


def _published(data: bytes, folder: Path) -> str:
    return _checked(folder, data, ("ost", "scratch-OST0003", False))


def _path(data: bytes, folder: Path) -> str:
    return repr(load_standing(put(folder, "p.json", data))) + _checked(folder, data, ("path",))


def _call(words: list[str]) -> object:
    try:
        return parse_call("ost", words)
    except Refusal as error:
        raise UsageError(str(error)) from error


def _symptom_verdicts(data: bytes, folder: Path) -> str:
    return _checked(folder, data, ("symptoms",))


SPACE_LOOK = SpaceLook(
    SpaceTerms("scratch"),
    NOW - 60,
    (
        TargetSpace("scratch-MDT0000", "mdt", Amount(1, 9), Amount(7, 3)),
        TargetSpace("scratch-OST0003", "ost", Amount(10**12, 10**9), None, "D"),
        TargetSpace("scratch-OST0004", "ost", trouble="it is gone"),
    ),
)
SPACE_REPORT = SpaceReport("oss1", (system_space([SPACE_LOOK]),))


def _space_verdicts(data: bytes, folder: Path) -> str:
    return _checked(folder, data, ("space",))


def _space_report(data: bytes, folder: Path) -> str:
    report = load_document(SpaceReport, put(folder, "space.json", data))
    return exposition(families([NodeVerdicts("oss1", (), (), None, space=report)], (), NOW))


def _look(data: bytes, _: Path) -> object:
    """Read a look as the console does, beside a sound one."""
    look = look_of(Record.from_json(_parse(text(data))))
    system = system_space([SPACE_LOOK, look])
    return plugin_output("SPACE", judge_space(system, NOW, 3600.0), 3)


def _checked(folder: Path, data: bytes, subject: tuple[Any, ...]) -> str:
    """Return what a check prints of all parts of a published document."""
    try:
        raw = published(put(folder, "v.json", data), subject)
        shown = [valid(raw, part, NOW + 9, 3600.0) for part in raw["parts"].values()]
    except Refusal as error:
        raise DocumentError(str(error)) from error
    return "".join(output(status_line("X", *verdict[:2]), *verdict[2:], 3) for verdict in shown)


# --- messages between nodes, ranks and programs


RECORD = record(
    **{**RICH, "spec": {"tool": "fio", "bytes": 1 << 30, "transfer_bytes": 1 << 20, "direct": True}}
)
SYMPTOM = Symptom("md", "oss1", "check", State.OK, Direction.LOWERS, "check runs", NOW - 60)
REPORT = Report(
    "oss1", NOW - 9, (Look("md", 2, (SYMPTOM,), ("a note",)), Look("zfs", 0, (), (), "no"))
)
PAST = Past(
    EarlierLook(NOW - 86400, {"a": 1.0}), EarlierLook(NOW - 43200, {"a": 2.0}), {"speed": 16.0}
)
STEP = {
    "layer": "ost",
    "component": "scratch-OST0003",
    "node": "client1",
    "words": "read it",
    "seconds": 60.0,
    "bytes": 1 << 30,
    "slots": [1, 2],
    "partner": "",
}
REQUEST = {
    "targets": ["scratch-OST0003"],
    "known": ["oss1"],
    "budget": "5m",
    "budget_bytes": "50 GB",
    "elapsed_s": 12.5,
    "done": [STEP],
    "begun": {"client1": NOW},
    "silent": ["oss3"],
    "outside": ["oss1"],
    "symptoms": {"oss1": write(REPORT)},
    "forks": 5,
}


(COUNTED, _) = counted(
    [0.0, 5e6, 7e6, 7e6, 1e6], jobs=[[1000.0, 1010.5, "4711", 5, 0]], merged=[[2, 2]], late_s=0.1
)


def _counted_by(data: bytes, _: Path) -> object:
    (sampling,) = samplings_of([Record.from_json(_parse(text(data)))])
    return sampling.covers(1000.0, 1003.0, 0.5), sampling.moved(1000.5, 1003.0, 0.5)


def _records(data: bytes, folder: Path) -> None:
    for result in read_records([put(folder, "r.jsonl", data)]):
        of_record(result)
        json.dumps(result.to_json(), allow_nan=False)


def _answer(data: bytes, _: Path) -> object:
    """Read an answer of a node like the console."""
    head, *lines = data.split(b"\n")
    end = lines.pop() if lines else b""
    return parse_answer(RawAnswer(head, tuple(lines), end), Request(Cursor()))


def _symptoms(data: bytes, folder: Path) -> object:
    path = put(folder, "symptoms.json", data)
    document_of(Path(path), "symptoms", 1 << 20)
    site_symptoms({"oss1": sent_symptoms(text(data))}, {"oss1": NOW})
    look = JudgedLook(load_report(path), NOW, 3600.0)
    verdicts = (judge_looks(look), *(judge_kind(look, kind) for kind in KINDS))
    shown = [plugin_output("SYMPTOMS", verdict, 3) for verdict in verdicts]
    collected_report("oss1", path, NOW)
    # its first collector may have found nothing to look at
    with suppress(ToolError):
        load_fabric(path, NOW)
    return shown, load_symptoms(path)


CONDITIONS = ledgers.ledger(
    ledgers.bill(ledgers.condition("kernel", "4.18"), ledgers.condition("OFED", "24.10")),
    ledgers.bill(ledgers.condition("kernel", "5.14"), day=1.0),
)


def _conditions(data: bytes, folder: Path) -> object:
    last = load_ledger(put(folder, "conditions.json", data))
    kept = last._replace(since=last.taken_at, changes=(), missing=()).after(CONDITIONS)
    keep_collected(folder / "history.sqlite", "oss1", sent_symptoms(text(data)))
    return kept.succeeding(CONDITIONS)


def _site_commands(data: bytes, folder: Path) -> object:
    return load_site_commands(put(folder, "commands.json", data))


def _request(data: bytes, folder: Path) -> object:
    return read_request(put(folder, "q.json", data))


def _ranks(data: bytes, folder: Path) -> object:
    put(folder, "write-000001.json", data)
    return [(r.rank, sum(r.curve), r.end_s + r.begin_s) for r in read_results(folder)]


def _holder(data: bytes, folder: Path) -> object:
    return read_holder(Path(put(folder, "lock", data)))


def _csv(data: bytes, folder: Path) -> object:
    return read_samples(Path(put(folder, "s.csv.gz" if data[:2] == b"\x1f\x8b" else "s.csv", data)))


def _darshan(data: bytes, folder: Path) -> object:
    runner = FakeRunner({"py -I -c": answer(), "py -I /": text(data)})
    logs, _ = read_logs(runner, "py", [folder / "a", folder / "b"])
    return sum_traffic((io for log in logs for io in log.traffic(named)), Window())


def _job_times(data: bytes, folder: Path) -> object:
    return read_job_times(Path(put(folder, "t.csv", data)))


def _jobs() -> Iterator[Reader]:
    yield Reader("Darshan logs", ("\n".join(ANSWERS[::-1]).encode(),), _darshan)
    lists = tuple(
        recorded.data(f"field/slurm-{name}.txt").partition("---\n")[2].encode()
        for name in ("json-of-sacct-and-squeue", "job-name-with-a-bar")
    )
    yield Reader("Slurm", lists, lambda data, _: parse_slurm(text(data), "f"))
    times = b"job,start,end,name,user\n7,1000,2000,climate,ada\n8,2026-11-20T02:00:00,,,\n"
    yield Reader("job times", (times,), _job_times)


def _programs() -> Iterator[Reader]:
    lines = b"\n".join(_dumped(result.to_json()) for result in (RECORD, record()))
    yield Reader("records", (lines,), _records)
    head = Head("0.1.0", NOW, False, (Begun("ost", "a", 1.0),), {"schema": 1})
    rows = [[7, RECORD.to_json()], {"end": 1, "more": False}]
    answer = b"\n".join(map(_dumped, (write(head), *rows)))
    yield Reader("answer of a node", (answer,), _answer)
    suspected = (Suspected("ost", "scratch-OST0003", NOW),)
    request = _dumped(write(Request(Cursor(7, "abc"), 20, suspected=suspected)))
    yield Reader(
        "suspicions",
        (_dumped({"schema": 1, "written_at": NOW, "suspected": suspected}),),
        lambda data, folder: load_suspicions(Path(put(folder, "s.json", data)), NOW),
    )
    yield Reader(
        "request of a console",
        (request,),
        lambda data, _: read_document(Request, _parse(text(data))),
    )
    yield Reader(
        "record",
        (_dumped(RECORD.to_json()),),
        lambda data, _: Record.from_json(_parse(text(data))),
    )
    others = Others("oss1", 0.29, 0.33, Job("4711", 38 * 10**9, 40.0))
    yield Reader(
        "others in a record",
        (_dumped(write(others)),),
        lambda data, _: others_of(RECORD._replace(details={OTHERS: _parse(text(data))})),
    )
    yield Reader("counted by a server", (_dumped(COUNTED.to_json()),), _counted_by)
    symptoms = _dumped({**write(REPORT), "past": write(PAST)})
    yield Reader("symptoms", (symptoms,), _symptoms)
    yield Reader("conditions", (_dumped(write(CONDITIONS)),), _conditions)
    command = {"name": "megaraid", "kind": "arrays", "argv": ["/usr/bin/cat"], "timeout_s": 5}
    commands = _dumped({"schema": 1, "commands": [command]})
    yield Reader("commands of the site", (commands,), _site_commands)
    yield Reader("request", (_dumped(REQUEST),), _request)
    verdict = Verdict(
        "ost", "OST0", State.OK, Reason.FINE, "fine", evidence=("a",), figures=(Figure("r", 1),)
    )
    judged = {"schema": 2, "node": "c1", "judged_at": NOW, "verdicts": [verdict.to_json()]}
    yield Reader("verdicts", (_dumped(judged) * 2,), _verdicts)
    ledger = Ledger({"test": "ost"}, 9).ended(done(point(1), 100, 200))
    yield Reader("sweep", (_dumped(write(ledger)),), _sweep)
    yield Reader(
        "job",
        (compact(JOB).encode(),),
        lambda data, _: read_document(RanksJob, _parse(text(data))),
    )
    yield Reader("request times", (_dumped(write(TIMES)),), _request_times)
    yield Reader("reading of counters", (_dumped(write(READING)),), _times_between)
    yield Reader("results of ranks", (compact(RESULT).encode(),), _ranks)
    yield Reader("call profile", (pack({"test": "ost"}, blocks()),), lambda data, _: unpack(data))
    flows = (of_node("oss1", 2e8, None), of_node("oss2", 2e8, 1.9e8))
    yield Reader("flows of shared parts", (b"\n".join(map(_line, flows)),), _flows)
    yield Reader("lock", (_dumped({"pid": 1, "host": "a", "since": 1.5}),), _holder)
    rows_ = (
        b"host,day,ts,component,latency,coverage,baseline\na,2026-11-20,1700006400,d1,50,0.9,40\n"
    )
    tokio = (
        b"_datetime_start,_file_system,darshan_agg_perf_by_slowest_posix,darshan_app,"
        b"darshan_nprocs,darshan_tot_bytes_read_posix,darshan_tot_bytes_written_posix,"
        b"fs_tot_gibs_read,fs_tot_gibs_written\n1700006400,s,5.5,a/ior,96,1e9,1e6,4,2\n"
    )
    yield Reader("samples", (rows_, tokio, gzip.compress(rows_, mtime=0)), _csv)


def _verdicts(data: bytes, folder: Path) -> object:
    return list(read_verdicts(put(folder, "v.json", data)))


TIMES = RequestTimes(
    "oss1",
    60.0,
    (
        TargetTimes("lustre-OST0000", "read", Timed(10, 0.08), Timed(9, 0.01), DiskTime(9, 0.1, 1)),
        TargetTimes("lustre-OST0000", "write", None, Timed(9, unknown="before the commit")),
    ),
    (QueueTimes("ost", Timed(20, 0.07), 1.5, 2.5, {"read": Timed(9, 0.01)}),),
)


def _request_times(data: bytes, folder: Path) -> object:
    return list(outliers(site_stages([load_document(RequestTimes, put(folder, "t.json", data))])))


_OSC = (("source", "osc"), ("target", "lustre-OST0000"), ("mount", "ffff888126c79000"))
READING = Reading(
    "client1",
    5.0,
    (
        CountRow("plumbline_lustre_operations_total", (*_OSC, ("operation", "ost_read")), 10),
        CountRow("plumbline_lustre_operation_seconds_total", (*_OSC, ("operation", "ost_read")), 1),
    ),
    (_OSC,),
)


def _times_between(data: bytes, folder: Path) -> object:
    later = load_document(Reading, put(folder, "r.json", data))
    nothing = READING._replace(node=later.node, at_s=0, counts=())
    return site_stages(times_between([nothing, later]))


def _sweep(data: bytes, folder: Path) -> object:
    return load_document(Ledger, put(folder, "sweep.json", data))


# --- arguments typed by people


def _typed() -> Iterator[Reader]:
    typed: list[tuple[str, str, Callable[[str], object]]] = [
        ("rate", "200 MB/s", parse_rate),
        ("turn of a shared part", "ctl@1795930000", lambda words: Turn.parse(words, ["ctl"])),
        ("line rate", "10 Gbit/s", parse_line_rate),
        ("figure", "0.25 s", SECONDS.parse),
        ("size", "512 MiB", parse_bytes),
        ("buffers", "2x32MiB", parse_aggregation),
        ("duration", "10 min", parse_duration),
        ("range", "@10:20.5", lambda word: str(Range.parse(word))),
        ("names", "oss[01-24]-disk[1,3-5]", expand),
        ("names of Lustre", "scratch-OST[0000-00af]", lambda word: expand(word, HEXADECIMAL)),
        ("clients", "oss1:4,oss2:4", parse_clients),
        ("hostfile", "oss1:4\noss2:4\n", lambda word: parse_clients(word, "\n")),
        ("fault", "oss03-hba=40%@12", parse_fault),
        ("losses", "15,20,30%", parse_losses),
        (
            "call of a check",
            "--component a --expectations /y -t 10 -vv --verdicts /x",
            lambda word: _call(word.split(" ")),
        ),
    ]
    for name, sample, reader in typed:
        yield Reader(name, encoded(sample), lambda data, _, reader=reader: reader(text(data)))  # type: ignore[misc]


DOCUMENTED = tuple(
    reader for group in (_people, _checks, _jobs, _programs, _typed) for reader in group()
)
