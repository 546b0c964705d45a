"""Readers of the output of tools and kernels, each with real output."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Optional

import yaml

from plumbline.measure.probes import probe_for
from plumbline.measure.probes.interface import parse_version
from plumbline.measure.sample import diskstats
from plumbline.measure.targets import target_for
from plumbline.measure.targets.lustre import eviction
from plumbline.measure.targets.mounted import system_at
from plumbline.measure.targets.whereabouts import whereabouts
from plumbline.model.codec import read_document, write
from plumbline.model.command import Completed
from plumbline.model.ledger import DEFAULT_PARAMETERS as PARAMETERS
from plumbline.model.ledger import Ledger
from plumbline.model.symptom import quote
from plumbline.observe.command import LocalSystem
from plumbline.observe.lustre_output import (
    client_requests,
    job_requests,
    job_stats,
    lustre_stats,
    metadata_requests,
    parse_import,
    parse_layout,
    parse_objects,
    parse_osts,
    parse_parameter,
    parse_tunables,
    parse_usage,
    parse_usages,
    usage_errors,
)
from plumbline.parts.facts.conditions import collect
from plumbline.parts.facts.counters import (
    Parse,
    buffers,
    disk_io,
    interfaces,
    lnet_stats,
    recovery,
    service,
    stats,
)
from plumbline.parts.facts.gather import COLLECTORS, DAILY
from plumbline.parts.facts.links import PORTS
from plumbline.parts.facts.lnet_output import interface_health, peer_health, route_states
from plumbline.parts.facts.node import Counters, EarlierLook, Node, Parts, Past
from plumbline.parts.facts.site_command import SiteCommand
from plumbline.parts.facts.site_command import look as site_look
from plumbline.parts.parallel.launch import Launch, find_launcher
from plumbline.parts.space.quotas import parse_quota
from plumbline.parts.space.reading import read_lustre, read_targets
from plumbline.site.drafting import drafted
from plumbline.site.prometheus import parse_answer, parse_complaint
from tests.mutations.reader import Reader, encoded, put, text
from tests.package.fakes import Answer, FakeRunner, answer, file_status
from tests.package.judgements import expectation
from tests.package.measure import targets, test_mounted, test_whereabouts
from tests.package.measure.jobs import GOOD, VERSIONS, Good, completed
from tests.package.parts.facts import nodes as conditions
from tests.package.parts.facts import symptoms_nodes as nodes
from tests.package.recorded import data

NOW = nodes.NOW
SIZE = targets.FILES["lustre"]["bytes"]
UNFORESEEN = answer(stderr="no such thing", exit_code=1)
"""Answer of commands that run only after a changed answer."""


# --- probes


def _probes() -> Iterator[Reader]:
    for good in GOOD:

        def parse(given: bytes, _: Path, good: Good = good) -> object:
            return probe_for(good.tool).parse(good.job, good.ended(text(given)))

        yield Reader(f"{good.tool}, {Path(good.file).stem}", encoded(data(good.file)), parse)
    for tool, version in VERSIONS.items():
        yield Reader(
            f"version of {tool}",
            encoded(version["prints"]),
            lambda given, _, tool=tool: parse_version(tool, completed(text(given))),  # type: ignore[misc]
        )


# --- targets


def _by_answer(
    name: str, answers: Mapping[str, Answer], use: Callable[[FakeRunner], object]
) -> Iterator[Reader]:
    """Yield a reader for each non-empty answer of a system."""
    for start, value in answers.items():
        output = value if isinstance(value, str) else getattr(value, "stdout", "")
        if output:

            def feed(given: bytes, _: Path, start: str = start) -> object:
                return use(FakeRunner({"": UNFORESEEN, **answers, start: text(given)}))

            yield Reader(f"{name}: {start}", encoded(output), feed)


def _measured(target: Any, size: int) -> Callable[[FakeRunner], object]:
    def use(run: FakeRunner) -> object:
        subject = target()
        state = subject.state(run)
        subject.traffic(run)
        subject.leftovers(run)
        path = subject.place(run, size)
        subject.verify(run, path)
        return state

    return use


MOUNTED = (
    "24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "90 24 8:17 / /mnt/a rw shared:1 master:2 - xfs /dev/sdb1 rw\n"
    "91 24 0:61 / /mnt/b\\040c rw - nfs4 nfs1:/b rw\n"
)
MOUNTED_LUSTRE = "999 24 0:99 / /mnt/lustre rw,relatime - lustre 10.0.2.15@tcp:/lustre rw,flock\n"
DIRECTORY: dict[str, Answer] = {
    "cat /proc/self/mountinfo": MOUNTED,
    "realpath": "/mnt/a\n",
    "stat --file-system": "4096 2621440 1310720 1300000\n",
    "stat --format=": file_status(SIZE, SIZE // 512),
    "cat /sys/dev/block/8:17/stat": "1 0 100 5 2 0 200 7 0 0 0\n",
    "mkdir": "",
    "touch": "",
    "truncate": "",
}
DEVICE: dict[str, Answer] = {
    "stat --dereference": "block special file/fd/a\n",
    "test -r": "",
    "cat /sys/dev/block/253:10/stat": "1 0 100 5 2 0 200 7 0 0 0\n",
}


def _lustre_answers() -> dict[str, Answer]:
    stats = data("lustre/lctl_obdfilter_n_stats.txt")
    return {
        **targets.healthy("lustre"),
        "lctl get_param -n obdfilter": stats,
    }


def _targets() -> Iterator[Reader]:
    lustre = {"kind": "lustre", "mount": "/mnt/lustre"}
    yield from _by_answer(
        "lustre", _lustre_answers(), _measured(lambda: target_for(lustre, "lustre-OST0003"), SIZE)
    )
    yield from _by_answer(
        "glusterfs",
        targets.healthy("glusterfs"),
        _measured(partial(targets.target, "glusterfs"), targets.FILES["glusterfs"]["bytes"]),
    )
    directory = {"kind": "directory", "directory": "/mnt/a", "source": "/dev/sdb1"}
    yield from _by_answer(
        "directory", DIRECTORY, _measured(lambda: target_for(directory, "a1"), SIZE)
    )
    space: dict[str, Answer] = {
        "cat /proc/self/mountinfo": MOUNTED_LUSTRE,
        "lfs osts": data("lustre/lfs_osts.txt"),
        "lfs mdts": data("lustre/lfs_mdts.txt"),
        "lfs df -v": data("lustre/lfs_df.txt"),
        "lfs df -i": data("lustre/lfs_df_i.txt"),
        "lfs pool_list lustre": "Pools from lustre:\nlustre.flash\n",
        "lfs pool_list lustre.flash": "Pool: lustre.flash\nlustre-OST0003_UUID\n",
    }
    yield from _by_answer("space of Lustre", space, lambda run: read_lustre(run, "/mnt/lustre"))
    numbers: dict[str, Answer] = {**DIRECTORY, "stat --file-system --format=%c %d": "1000 400\n"}
    yield from _by_answer(
        "space of a directory",
        numbers,
        lambda run: read_targets(run, [expectation(component="a1", target=directory)]),
    )
    for kind, size in (("lustre-mdt", 0), ("directory-metadata", 0), ("server-folder", 4096)):
        yield from _by_answer(
            kind, targets.healthy(kind), _measured(partial(targets.target, kind), size)
        )
    device = {"kind": "device", "device": "/dev/x"}
    yield from _by_answer("device", DEVICE, _measured(lambda: target_for(device, "d1"), SIZE))


def _lost_metadata() -> Iterator[Reader]:
    """The folders of a probe file are on MDT0000, and MDT0001 is lost."""
    imports = data("lustre/lctl_mdc_import.txt")
    lost = imports.replace("MDT0000", "MDT0001").replace("state: FULL", "state: DISCONN")
    answers: dict[str, Answer] = {
        "lctl get_param mdc.lustre-MDT*-mdc-*.import": f"{imports}{lost}",
        "lfs getdirstripe -m": "0\n",
    }
    target = partial(target_for, {"kind": "lustre", "mount": "/mnt/lustre"}, "lustre-OST0003")
    yield from _by_answer("lost metadata", answers, lambda run: target().waits_for_others(run))


def _mounted() -> Iterator[Reader]:
    """Lists of the targets of a mount, and indices that a person chooses."""
    sites = (
        ("OSTs of a mount", test_mounted.LUSTRE, test_mounted.LFS),
        ("bricks of a mount", test_mounted.GLUSTERFS, test_mounted.of_bricks()),
    )
    for name, mount, answers in sites:
        yield from _by_answer(name, answers, partial(system_at, mount=mount))
    answers = {**test_mounted.LFS, "lctl list_nids": "10.0.0.9@tcp\n", "getent hosts": "1 oss1\n"}
    # the recorded system runs on one host: other addresses make it one with servers
    answers = {start: said.replace("0@lo", "10.0.0.1@tcp") for start, said in answers.items()}
    yield from _by_answer("draft of a topology", answers, _drafted)
    system = system_at(FakeRunner(test_mounted.LFS), test_mounted.LUSTRE)
    yield Reader("--index", encoded("0-2,3"), lambda given, _: system.numbered(text(given)))


def _drafted(run: FakeRunner) -> object:
    """Return a draft, which must be YAML whatever a tool has printed."""
    site = drafted(run, [test_mounted.LUSTRE], "client1")
    return yaml.safe_load(site.text), site.troubles


def _quota(output: str) -> object:
    return parse_quota(output, "/mnt/lustre", "project 1001")


def _lustre_output() -> Iterator[Reader]:
    connection = parse_import(
        f"lustre-OST0003-osc-{targets.CLIENT}", data("lustre/st3_mds_inactive_osc_import.txt")
    )
    parsers: list[tuple[str, str, Callable[[str], object]]] = [
        ("lfs osts", "lfs_osts.txt", parse_osts),
        (
            "get_param",
            "lctl_osc_active.txt",
            lambda output: parse_parameter(output, "lustre-OST0003", "active"),
        ),
        ("tunables", "lctl_osc_tunables.txt", lambda output: parse_tunables(output, connection)),
        ("import", "st3_mds_inactive_osc_import.txt", lambda output: parse_import("d", output)),
        ("lfs df", "lfs_df.txt", lambda output: parse_usage(output, "lustre-OST0003")),
        ("lfs df -i", "lfs_df_i.txt", lambda output: dict(parse_usages(output))),
        ("lfs df -v", "st2_client_inactive_lfs_df_v.txt", usage_errors),
        ("lfs quota", "lfs_quota_v.txt", _quota),
        ("getstripe", "lfs_getstripe.txt", parse_layout),
        ("getstripe of PFL", "lfs_getstripe_pfl.txt", parse_layout),
        ("getstripe -y", "lfs_getstripe_y.txt", parse_objects),
        ("getstripe -y of PFL", "lfs_getstripe_y_pfl.txt", parse_objects),
        ("obdfilter stats", "lctl_obdfilter_n_stats.txt", _counted),
        ("job_stats", "lctl_job_stats_n.txt", _jobs),
        ("md_stats", "md_stats_rename.txt", _answered),
        ("osc stats", "osc_stats.txt", _sent),
        ("job_stats of metadata", "mdt_job_stats.txt", _requests),
    ]
    for name, file, parse in parsers:
        yield Reader(
            f"lustre output: {name}",
            encoded(data(f"lustre/{file}")),
            lambda given, _, parse=parse: parse(text(given)),  # type: ignore[misc]
        )
    yield Reader(
        "lustre output: state of a connection",
        encoded(targets.FILES["lustre"]["parts"]["states"]),
        _eviction,
    )
    for name, file, counted in _COUNTERS:
        yield Reader(
            f"counters: {name}",
            encoded(data(f"lustre/{file}")),
            lambda given, _, counted=counted: list(counted(text(given), (), "path")),  # type: ignore[misc]
        )
    yield Reader("diskstats", encoded(data("diskstats/kernel.txt")), _diskstats)


_COUNTERS: tuple[tuple[str, str, Parse], ...] = (
    ("statistics of a metadata target", "md_stats.txt", stats),
    ("disk I/O", "brw_stats.txt", disk_io),
    ("a service of a server", "ost_io_stats.txt", service),
    ("recovery", "recovery_status.txt", recovery),
    ("LNet", "lnet_stats.txt", lnet_stats),
    ("interfaces of LNet", "lnet_nis.txt", interfaces),
    ("buffers of a router", "lnet_buffers_off.txt", buffers),
    ("health of LNet", "lnetctl_net_show.txt", interface_health),
    ("health of LNet's peers", "lnetctl_peer_show.txt", peer_health),
    ("routes of LNet", "lnetctl_route_show_2.15.txt", route_states),
)


def _eviction(given: bytes, _: Path) -> object:
    return eviction(text(given), "lustre-OST0003", 0.0)


def _counted(output: str) -> object:
    return lustre_stats(output, "stats")


def _sent(output: str) -> object:
    text = f"osc.lustre-OST0003-osc-{targets.CLIENT}.stats=\n{output}"
    return client_requests(text, "lustre-OST0003", "ost_read")


def _answered(output: str) -> object:
    return metadata_requests(output, "md_stats")


def _jobs(output: str) -> object:
    return job_stats(output, "job_stats")


def _requests(output: str) -> object:
    return job_requests(output, "job_stats")


def _diskstats(given: bytes, _: Path) -> object:
    return diskstats(text(given))


def _where() -> Iterator[Reader]:
    lustre = test_whereabouts.FILE["lustre"]
    for file in ("lfs_getstripe_y_pfl.txt", "lfs_getstripe_y_wide.txt"):
        answers = test_whereabouts.answers({"data": f"lustre/{file}"})
        for start in ("getfattr", *(start for start in answers if ".meta" in start)):
            del answers[start]

        def use(run: FakeRunner) -> object:
            return whereabouts(run, "/mnt/lustre/u/f", lustre)

        yield from _by_answer(f"where, {file}", answers, use)


def _launchers() -> Iterator[Reader]:
    answers: dict[str, Answer] = {
        "mpirun --version": "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n",
        "": "/usr/lib/python3/dist-packages\n",
    }
    yield from _by_answer(
        "launcher", answers, lambda run: find_launcher(Launch("mpirun", (), "python3", (), 1), run)
    )


# --- collectors


def _refill(folder: Path, files: Mapping[str, str], answers: Mapping[str, Answer]) -> Node:
    """Return a node without a past; its fixed files are written once per folder."""
    if not (folder / "dev").exists():
        return nodes.make_node(folder, files, answers)
    for path, output in files.items():
        put(folder, path.lstrip("/"), output.encode("utf-8", "surrogateescape"))
    all_answers: dict[str, Answer] = {"": nodes.missing, "ip -json": nodes.ADDRESSES, **answers}
    system = LocalSystem(FakeRunner(all_answers), folder)
    return Node(system, Parts(_expectations(), system), Counters(Past()), NOW)


_EVERY = {**COLLECTORS, **DAILY}


@cache
def _expectations() -> Any:
    return nodes.expectations("oss1")


def _look(
    name: str, folder: Path, files: Mapping[str, str], answers: Mapping[str, Answer]
) -> object:
    """Look twice, the second time with grown counters and formerly faster links."""
    node = _refill(folder, files, answers)
    _EVERY[name](node)
    past = node.counters.after(NOW - 50_000)
    values = past.newer.values if past.newer else {}
    grown = Past(
        None,
        EarlierLook(NOW - 50_000, dict.fromkeys(values, 0.0)),
        {k: 2 * v for k, v in past.highest.items()},
    )
    look = _EVERY[name](node._replace(counters=Counters(grown)))
    for symptom in look.symptoms:
        quote(symptom)
    return write(look)


def _of_collector(
    name: str, files: Mapping[str, str], answers: Mapping[str, Answer]
) -> Iterator[Reader]:
    """Yield a reader for each file and each answer of a node."""
    for path, output in files.items():

        def feed_file(given: bytes, folder: Path, path: str = path) -> object:
            return _look(
                name, folder, {**files, path: given.decode("utf-8", "surrogateescape")}, answers
            )

        yield Reader(f"{name}: {path}", encoded(output), feed_file)
    for start, value in answers.items():
        output = value if isinstance(value, str) else getattr(value, "stdout", "")

        def feed(given: bytes, folder: Path, start: str = start) -> object:
            return _look(name, folder, files, {**answers, start: text(given)})

        if output:
            yield Reader(f"{name}: {start}", encoded(output), feed)


def _of_networks() -> Iterator[Reader]:
    """Yield the readers of LNet, of an InfiniBand fabric and of LLDP."""
    lnetctl: dict[str, Answer] = {
        "lnetctl net": data("lustre/lnetctl_net_show.txt"),
        "lnetctl route": data("lustre/lnetctl_route_show_2.12.txt"),
        "lnetctl peer": data("lustre/lnetctl_peer_show.txt"),
        "lnetctl ping": data("lustre/lnetctl_ping.txt"),
        "lctl get_param": data("lustre/lctl_osc_import.txt").replace("0@lo", "10.0.2.99@tcp"),
    }
    lnet_files = {"/sys/module/lnet/refcnt": "", "/sys/fs/lustre/version": "2.15"}
    yield from list(_of_collector("lnet", lnet_files, lnetctl))[2:]
    ibdiags: dict[str, Answer] = {
        "iblinkinfo": data("fabric/degraded.links"),
        "ibqueryerrors": data("fabric/degraded.errors"),
    }
    yield from _of_collector("fabric", {"/sys/class/infiniband/mlx5_0/node_type": "1"}, ibdiags)
    neighbours = data("lldp/one-link.json0").replace("Leaf1.example.com", "switch1")
    yield from _of_collector("lldp", {}, {"lldpctl -f json0": neighbours})


def _site_command(given: bytes, folder: Path) -> object:
    node = _refill(folder, {}, {"/usr/bin/vendor": text(given)})
    return write(site_look(node, SiteCommand("megaraid", "arrays", ("/usr/bin/vendor",))))


def _bill(
    given: bytes, folder: Path, path: str = "", start: str = "", files: Mapping[str, str] = {}
) -> object:
    """Take a bill twice, the second time with changed answers, and keep both."""
    answers: dict[str, Answer] = {"ethtool -i": "driver: ice\nfirmware-version: 4.40\n"}
    if start:
        answers[start] = text(given)
    node = conditions.system(folder, files, answers)
    before = Ledger("oss1", NOW, NOW, (), (), collect(node, PARAMETERS)[0])
    if path:
        put(folder, path.lstrip("/"), given)
    later = NOW + 600
    after = Ledger("oss1", later, later, (), (), collect(node, PARAMETERS)[0])
    return read_document(Ledger, json.loads(json.dumps(write(after.after(before)))))


def _conditions() -> Iterator[Reader]:
    for path, output in {
        "/proc/self/mountinfo": data("conditions/mountinfo-server.txt"),
        "/proc/cmdline": conditions.FILES["/proc/cmdline"],
        f"{conditions.DISK}/wwid": conditions.FILES[f"{conditions.DISK}/wwid"],
    }.items():
        yield Reader(f"conditions: {path}", encoded(output), partial(_bill, path=path))
    serial = f"{conditions.DISK}/vpd_pg80"
    without_wwn = partial(_bill, path=serial, files={f"{conditions.DISK}/wwid": ""})
    yield Reader(f"conditions: {serial}", (b"\0\x80\0\x0alus1-disk0",), without_wwn)
    for start, output in {
        "lctl get_param": "".join(data("lustre/drift_values.txt").splitlines(True)[:40]),
        "ethtool -i": "driver: mlx5_core\nversion: 5.14.0\nfirmware-version: 26.39.1002\n",
    }.items():
        yield Reader(f"conditions: {start}", encoded(output), partial(_bill, start=start))


def _collectors() -> Iterator[Reader]:
    symptom = {"component": "oss1-disk1", "kind": "degraded", "severity": "WARNING"}
    symptom |= {"direction": "raises", "sentence": "virtual drive 0/1 is degraded"}
    output = {"schema": 1, "examined": 2, "symptoms": [{**symptom, "since": NOW - 60}]}
    report = json.dumps({**output, "notes": ["no battery"], "looked_at": NOW - 9})
    yield Reader("command of the site", encoded(report), _site_command)
    yield from _of_collector("md", {"/proc/mdstat": data("md/mdstat-rebuild.txt")}, {})
    yield from _of_collector("zfs", {}, {"zpool status -pP": data("zfs/status-degraded.txt")})
    healthy = nodes.answers_of(nodes.CASES["smart"][0])
    smartctl = next(iter(healthy)).removesuffix("sdb")
    for disk in ("ata-failing", "nvme-warning", "scsi-defects"):
        answers = {**healthy, f"{smartctl}sdb": data(f"smartctl/{disk}.json")}
        first = next(_of_collector("smart", {}, {f"{smartctl}sdb": data(f"smartctl/{disk}.json")}))

        def smart(given: bytes, folder: Path, answers: Any = answers) -> object:
            return _look("smart", folder, {}, {**answers, f"{smartctl}sdb": text(given)})

        yield first._replace(name=f"smart: {disk}", feed=smart)
    refused: Completed = answer(data("smartctl/not-opened.json"), "", 1)

    def unopened(given: bytes, folder: Path) -> object:
        again = refused._replace(stdout=text(given))
        return _look("smart", folder, {}, {**healthy, f"{smartctl}sdc": again})

    yield Reader("smart: not-opened", encoded(refused.stdout), unopened)
    join: dict[str, Answer] = {"sg_ses --join /dev/sg9": data("sg_ses/join.txt")}
    enclosure, ethernet = nodes.CASES["enclosure"][0], nodes.CASES["ethernet"][0]
    yield from _of_collector("enclosure", nodes.files_of(enclosure), join)
    yield from _of_collector("ethernet", nodes.files_of(ethernet), {"ip -json": nodes.ADDRESSES})
    for ports in PORTS:
        for case in nodes.CASES[ports.name]:
            yield from _of_collector(ports.name, nodes.files_of(case), {})
    device = "/sys/bus/pci/devices/0000:3b:00.0"
    speeds = {"current_link_speed": "8.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
    widths = {"class": "0x010802", "current_link_width": "1", "max_link_width": "4"}
    link_files = {f"{device}/{name}": value for name, value in {**speeds, **widths}.items()}
    yield from _of_collector("pcie", link_files, {})
    yield from _of_networks()
    head = "osc.lustre-OST0003-osc-ffff888120238800.import=\n"
    imports = head + data("lustre/st3_mds_inactive_osc_import.txt")
    yield from _of_collector("lustre", {}, {"lctl get_param osc.*.import mdc.*.import": imports})
    journal = "journalctl --dmesg --boot=all --no-pager --output=json"
    messages = "\n".join(
        json.dumps({"__REALTIME_TIMESTAMP": f"{(NOW - 60) * 1e6:.0f}", "MESSAGE": line})
        for line in (
            "I/O error, dev sdb, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
            "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Down",
            "Lustre: 1:0:(client.c:1:f()) @@@ Request sent has timed out for slow reply: [sent 1] "
            "req@0 x1/t0(0) o8->lustre-OST0003-osc-ffff@10.0.0.1@tcp:28/4 lens 520/544",
            "INFO: task fio:77 blocked for more than 120 seconds.",
            "Lustre: Skipped 24 previous similar messages",
        )
    )
    yield from _of_collector("kernel", {}, {journal: messages})
    buffer = "2026-11-21T06:00:00,000001+00:00 I/O error, dev sdc, sector 8 op 0x0:(READ)\n" * 3

    def dmesg(given: bytes, folder: Path) -> object:
        return _look("kernel", folder, {}, {journal: "", "dmesg": text(given)})

    yield Reader("kernel: dmesg", encoded(buffer), dmesg)


def _prometheus() -> Iterator[Reader]:
    curve = (
        '{"metric": {"component": "disk1"}, "values": [[1795243788, "5.5"], [1795244688, "NaN"]]}'
    )
    data = f'{{"resultType": "matrix", "result": [{curve}]}}'
    good = f'{{"status": "success", "data": {data}, "warnings": ["store oss2 is away"]}}'
    refused = '{"status": "error", "errorType": "timeout", "error": "query timed out"}'
    url = "http://console:9090"
    yield Reader("prometheus: curves", encoded(good), lambda data, _: parse_answer(data, url))
    yield Reader("prometheus: refusal", encoded(refused), lambda data, _: parse_complaint(data))


def _unique() -> tuple[Reader, ...]:
    readers: dict[str, Reader] = {}
    makers = (
        _probes,
        _targets,
        _lost_metadata,
        _mounted,
        _lustre_output,
        _where,
        _launchers,
        _collectors,
        _prometheus,
        _conditions,
    )
    for maker in makers:
        for reader in maker():
            number: Optional[int] = None
            name = reader.name
            while name in readers:
                number = (number or 1) + 1
                name = f"{reader.name} ({number})"
            readers[name] = reader._replace(name=name)
    return tuple(readers.values())


PRINTED = _unique()
