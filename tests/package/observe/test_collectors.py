"""What each collector finds in what kernels and tools really print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable, Mapping, Optional

import pytest

from plumbline.model.errors import PrivilegeError, ToolError
from plumbline.observe import enclosure, kernel, lnet, lustre, md, smart, zfs
from plumbline.observe.links import FIBRE_CHANNEL, INFINIBAND, SAS, Kind, look_at_ethernet
from plumbline.observe.node import Past, Seen
from plumbline.observe.symptom import Direction, Look, Suspicion, suspicion
from tests.package.fakes import HANGING, Answer, answer
from tests.package.observe.symptoms_nodes import NOW, data, make_node
from tests.project.repository import ROOT

EARLIER = NOW - 50_000


def said(look: Look) -> list[tuple[str, str, str, str]]:
    """Return component, severity, direction and sentence of each symptom."""
    return [
        (one.component, one.severity.name, one.direction.value, one.sentence)
        for one in look.symptoms
    ]


def before(values: Mapping[str, float], highest: Mapping[str, float] = {}) -> Past:
    return Past(None, Seen(EARLIER, values), highest)


# --- md


def test_md_arrays_in_order_say_nothing(tmp_path: Path) -> None:
    look = md.look(make_node(tmp_path, {"/proc/mdstat": data("md/mdstat-healthy.txt")}))
    assert look == Look("md", 2)


def test_md_tells_failed_members_degraded_arrays_and_rebuilds(tmp_path: Path) -> None:
    look = md.look(make_node(tmp_path, {"/proc/mdstat": data("md/mdstat-rebuild.txt")}))
    assert look.examined == 4
    slower = "slower is expected"
    assert said(look) == [
        ("oss1", "OK", "lowers", f"check of array md1 runs, 7.5 % done, 84 min left; {slower}"),
        ("oss1-disk1", "CRITICAL", "raises", "sdb has failed in array md0"),
        ("oss1", "WARNING", "lowers", "array md0 is degraded, 1 of 10 members missing"),
        (
            "oss1",
            "WARNING",
            "lowers",
            f"recovery of array md0 runs, 12.6 % done, 128 min left; {slower}",
        ),
        ("oss1", "WARNING", "lowers", f"resync of array md2 runs, delayed; {slower}"),
        ("oss1", "CRITICAL", "raises", "array md127 is inactive"),
    ]


def test_md_array_that_is_a_target_is_that_target(tmp_path: Path) -> None:
    node = make_node(
        tmp_path,
        {"/proc/mdstat": data("md/mdstat-rebuild.txt")},
        links={"/dev/disk/by-id/oss1-disk2": "../../md0"},
    )
    degraded = [one for one in md.look(node).symptoms if one.kind == "degraded"]
    assert [one.component for one in degraded] == ["oss1-disk2"]


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("recovery = 12.6%", Suspicion.LOWERED),
        ("reshape = 0.1%", Suspicion.LOWERED),
        ("recovery=DELAYED", Suspicion.RAISED),
        ("check = 12.6%", Suspicion.RAISED),
        ("", Suspicion.RAISED),
    ],
)
def test_md_array_that_is_being_made_whole_is_slower_for_a_reason(
    tmp_path: Path, work: str, expected: Suspicion
) -> None:
    text = data("md/mdstat-rebuild.txt").replace("recovery = 12.6%", work)
    links = {"/dev/disk/by-id/oss1-disk2": "../../md0"}
    symptoms = md.look(make_node(tmp_path, {"/proc/mdstat": text}, links=links)).symptoms
    assert suspicion("oss1-disk2", symptoms) is expected
    # the member that has failed is at fault all the time
    assert suspicion("oss1-disk1", symptoms) is Suspicion.RAISED


def test_md_is_told_as_the_document_shows_it(tmp_path: Path) -> None:
    text = data("md/mdstat-rebuild.txt").replace("sdb[1](F) ", "").replace("md0", "md3")
    links = {"/dev/disk/by-id/oss1-disk2": "../../md3"}
    look = md.look(make_node(tmp_path, {"/proc/mdstat": text}, links=links))
    shown = (ROOT / "docs" / "symptoms.md").read_text(encoding="utf-8")
    told = [one for one in said(look) if one[0] == "oss1-disk2"]
    assert len(told) == 2
    for _, severity, direction, sentence in told:
        assert f"\n{severity:<8}  oss2-disk1  {direction:<9}  md        {sentence}\n" in shown


# --- zfs


def test_zfs_pools_in_order_say_nothing(tmp_path: Path) -> None:
    node = make_node(tmp_path, answers={"zpool status -pP": data("zfs/status-healthy.txt")})
    assert zfs.look(node) == Look("zfs", 1)


def test_zfs_pool_that_nothing_makes_whole_is_at_fault(tmp_path: Path) -> None:
    text = data("zfs/status-degraded.txt").replace("resilver in progress", "resilver paused")
    look = zfs.look(make_node(tmp_path, answers={"zpool status -pP": text}))
    assert said(look)[0] == ("oss1", "WARNING", "raises", "pool ost0 is DEGRADED")


def test_zfs_tells_devices_pools_resilvers_and_errors_that_grow(tmp_path: Path) -> None:
    first = "zfs/ost0//dev/disk/by-id/oss1-disk1-part1/checksum"
    second = "zfs/ost0//dev/disk/by-id/oss1-disk2-part1/read"
    look = zfs.look(
        make_node(
            tmp_path,
            answers={"zpool status -pP": data("zfs/status-degraded.txt")},
            past=before({first: 12, second: 10}),
        )
    )
    assert look.examined == 2
    assert said(look) == [
        ("oss1", "WARNING", "lowers", "pool ost0 is DEGRADED"),
        (
            "oss1-disk2",
            "CRITICAL",
            "raises",
            "sdc1 is FAULTED in pool ost0 (too many errors)",
        ),
        ("oss1-disk2", "WARNING", "raises", "8 read errors of sdc1 in pool ost0"),
        (
            "oss1",
            "WARNING",
            "lowers",
            "resilver of pool ost0 runs, 2.50 % done, 1 days 03:44:20 left; slower is expected",
        ),
        (
            "oss1",
            "OK",
            "lowers",
            "scrub of pool scratch runs, 25.00 % done, 04:01:12 left; slower is expected",
        ),
    ]
    assert look.symptoms[2].since == EARLIER


def test_zfs_without_pools_was_looked_at(tmp_path: Path) -> None:
    node = make_node(tmp_path, answers={"zpool status": answer(stdout="no pools available\n")})
    assert zfs.look(node) == Look("zfs", 0)


# --- smart

SMARTCTL = "smartctl --json -n standby -H -A -l error /dev/"
BOTH_WELL: dict[str, Answer] = {
    f"{SMARTCTL}sdb": data("smartctl/ata-healthy.json"),
    f"{SMARTCTL}sdc": data("smartctl/scsi-healthy.json"),
}


def test_smart_of_healthy_disks_says_nothing(tmp_path: Path) -> None:
    assert smart.look(make_node(tmp_path, answers=BOTH_WELL)) == Look("smart", 2)


def test_smart_tells_failing_disks_and_what_has_grown(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{SMARTCTL}sdb": answer(data("smartctl/ata-failing.json"), exit_code=8),
        f"{SMARTCTL}sdc": data("smartctl/scsi-defects.json"),
    }
    seen = before(
        {"smart/sdb/ata_5": 20, "smart/sdc/grown_defects": 3, "smart/sdc/uncorrected_read": 2}
    )
    look = smart.look(make_node(tmp_path, answers=answers, past=seen))
    assert said(look) == [
        ("oss1-disk1", "CRITICAL", "raises", "sdb says that it is failing"),
        ("oss1-disk1", "WARNING", "raises", "sdb has 8 sectors waiting to be reallocated"),
        ("oss1-disk1", "WARNING", "raises", "sdb has 4 more reallocated sectors"),
        ("oss1-disk2", "WARNING", "raises", "sdc has 8 more grown defects"),
    ]


def test_smart_counters_without_an_earlier_look_are_no_symptom(tmp_path: Path) -> None:
    answers = {**BOTH_WELL, f"{SMARTCTL}sdc": data("smartctl/scsi-defects.json")}
    assert said(smart.look(make_node(tmp_path, answers=answers))) == []


def test_smart_of_nvme_tells_its_own_warning(tmp_path: Path) -> None:
    answers = {**BOTH_WELL, f"{SMARTCTL}sdc": answer(data("smartctl/nvme-warning.json"), "", 8)}
    assert said(smart.look(make_node(tmp_path, answers=answers))) == [
        ("oss1-disk2", "CRITICAL", "raises", "sdc says that it is failing"),
        ("oss1-disk2", "CRITICAL", "raises", "sdc warns of itself (critical warning 0x04)"),
        ("oss1-disk2", "WARNING", "raises", "sdc has 9 % of its spare left, below 10 %"),
    ]


def test_smart_notes_a_disk_that_cannot_be_asked(tmp_path: Path) -> None:
    answers = {**BOTH_WELL, f"{SMARTCTL}sdc": answer(data("smartctl/not-opened.json"), "", 1)}
    look = smart.look(make_node(tmp_path, answers=answers))
    assert look == Look("smart", 1, (), ("sdc: /dev/null: Unable to detect device type",))


# --- enclosure


def enclosure_files(status: str, fault: str) -> dict[str, str]:
    folder = "/sys/class/enclosure/0:0:9:0"
    return {
        f"{folder}/SLOT 01/status": status,
        f"{folder}/SLOT 01/fault": fault,
        f"{folder}/SLOT 01/device/block/sdc/size": "1",
        f"{folder}/SLOT 02/status": "not installed",
        f"{folder}/device/scsi_generic/sg9/dev": "21:9",
    }


def test_enclosure_tells_slots_fans_and_supplies_at_fault(tmp_path: Path) -> None:
    answers = {"sg_ses --join /dev/sg9": data("sg_ses/join.txt")}
    look = enclosure.look(make_node(tmp_path, enclosure_files("critical", "1"), answers))
    assert said(look) == [
        (
            "oss1-disk2",
            "CRITICAL",
            "raises",
            "slot SLOT 01 with sdc of enclosure 0:0:9:0 shows fault",
        ),
        ("oss1", "CRITICAL", "raises", "power supply PSU B of enclosure 0:0:9:0 is critical"),
        ("oss1", "WARNING", "raises", "cooling FAN ENCL 2 of enclosure 0:0:9:0 is noncritical"),
    ]


def test_enclosure_without_sg_ses_still_tells_its_slots(tmp_path: Path) -> None:
    look = enclosure.look(make_node(tmp_path, enclosure_files("OK", "0")))
    assert look.symptoms == ()
    assert look.notes == (
        "fans and power of enclosure 0:0:9:0: sg_ses is not installed on this host",
    )


# --- links and ports


def link(**files: str) -> dict[str, str]:
    values = {
        "operstate": "up",
        "speed": "1000",
        "carrier_changes": "2",
        "statistics/rx_errors": "40",
        "statistics/rx_packets": "1000040",
        **files,
    }
    return {f"/sys/class/net/ens1f0/{name}": text for name, text in values.items()}


LINK_BEFORE = {
    "ethernet/ens1f0/rx_errors": 10.0,
    "ethernet/ens1f0/rx_packets": 40.0,
    "ethernet/ens1f0/carrier_changes": 2.0,
}


@pytest.mark.parametrize(
    ("files", "past", "expected"),
    [
        (link(), Past(), []),
        (
            link(),
            before(LINK_BEFORE),
            [("oss1-nic", "WARNING", "raises", "30 errors in 1000000 packets of link ens1f0")],
        ),
        # below what a link that is in order may lose
        (link(**{"statistics/rx_packets": "90000000"}), before(LINK_BEFORE), []),
        (
            link(operstate="down"),
            Past(),
            [("oss1-nic", "CRITICAL", "raises", "link ens1f0 is down")],
        ),
        (
            link(speed="100"),
            Past(),
            [
                (
                    "oss1-nic",
                    "WARNING",
                    "raises",
                    "link ens1f0 runs at 100 Mbit/s, less than the rated speed of oss1-nic",
                )
            ],
        ),
        (
            link(),
            before({}, {"ethernet/ens1f0/speed": 10000}),
            [
                (
                    "oss1-nic",
                    "WARNING",
                    "raises",
                    "link ens1f0 runs at 1000 Mbit/s, after 10000 Mbit/s before",
                )
            ],
        ),
        (
            link(carrier_changes="8", **{"statistics/rx_errors": "10"}),
            before(LINK_BEFORE),
            [("oss1-nic", "WARNING", "raises", "link ens1f0 went down or up 6 times")],
        ),
        # a virtual link has no speed, and another reboot began its counters again
        (link(speed="-1", **{"statistics/rx_errors": "0"}), before(LINK_BEFORE), []),
    ],
)
def test_ethernet_tells_what_is_wrong_with_the_storage_link(
    tmp_path: Path, files: dict[str, str], past: Past, expected: list[tuple[str, str, str, str]]
) -> None:
    look = look_at_ethernet(make_node(tmp_path, files, past=past))
    assert look.examined == 1
    assert said(look) == expected


def test_ethernet_looks_at_all_links_that_are_up_where_the_address_is_not_known(
    tmp_path: Path,
) -> None:
    files = {
        **link(carrier="1", **{"device/vendor": "0x8086"}),
        "/sys/class/net/lo/operstate": "unknown",
        "/sys/class/net/eno2/device/vendor": "0x8086",
        "/sys/class/net/eno2/carrier": "0",
    }
    past = before({}, {"ethernet/ens1f0/speed": 10000})
    look = look_at_ethernet(make_node(tmp_path, files, {"ip -json": "[]"}, past=past))
    assert look.examined == 1
    assert [one.component for one in look.symptoms] == ["oss1"]


HEX = "0xffffffffffffffff"
PORTS = [
    (
        FIBRE_CHANNEL,
        {
            "/sys/class/fc_host/host3/port_state": "Online",
            "/sys/class/fc_host/host3/speed": "8 Gbit",
            "/sys/class/fc_host/host3/statistics/invalid_crc_count": "0x1f",
            "/sys/class/fc_host/host3/statistics/link_failure_count": HEX,
            "/sys/class/fc_host/host4/port_state": "Linkdown",
            "/sys/class/fc_host/host4/speed": "unknown",
        },
        before(
            {"fibre_channel/host3/statistics/invalid_crc_count": 16.0},
            {"fibre_channel/host3/speed": 16.0},
        ),
        (
            2,
            [
                "fibre_channel host3 runs at 8 Gbit, after 16 Gbit before",
                "15 frames with a wrong checksum of fibre_channel host3",
            ],
        ),
    ),
    (
        FIBRE_CHANNEL,
        {
            "/sys/class/fc_host/host3/port_state": "Linkdown",
            "/sys/class/fc_host/host3/speed": "unknown",
        },
        before({}, {"fibre_channel/host3/speed": 16.0}),
        (1, ["fibre_channel host3 is down"]),
    ),
    (
        INFINIBAND,
        {
            "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
            "/sys/class/infiniband/mlx5_0/ports/1/rate": "50 Gb/sec (2X EDR)",
            "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "150",
            "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed": "3",
        },
        before(
            {
                "infiniband/mlx5_0 port 1/counters/symbol_error": 100.0,
                "infiniband/mlx5_0 port 1/counters/link_downed": 1.0,
            },
            {"infiniband/mlx5_0 port 1/speed": 100.0},
        ),
        (
            1,
            [
                "infiniband mlx5_0 port 1 runs at 50 Gb/sec, after 100 Gb/sec before",
                "2 losses of the link of infiniband mlx5_0 port 1",
            ],
        ),
    ),
    (
        SAS,
        {
            "/sys/class/sas_phy/phy-0:0/negotiated_linkrate": "6.0 Gbit",
            "/sys/class/sas_phy/phy-0:0/invalid_dword_count": "4100",
            "/sys/class/sas_phy/phy-0:1/negotiated_linkrate": "Unknown",
        },
        before({"sas/phy-0:0/invalid_dword_count": 100.0}, {"sas/phy-0:0/speed": 12.0}),
        (
            2,
            [
                "sas phy-0:0 runs at 6 Gbit, after 12 Gbit before",
                "4000 damaged words of sas phy-0:0",
            ],
        ),
    ),
]


@pytest.mark.parametrize(("kind", "files", "past", "expected"), PORTS)
def test_ports_tell_what_they_have_lost(
    tmp_path: Path,
    kind: Kind,
    files: dict[str, str],
    past: Past,
    expected: tuple[int, list[str]],
) -> None:
    look = kind.look(make_node(tmp_path, files, past=past))
    assert (look.examined, [one.sentence for one in look.symptoms]) == expected


@pytest.mark.parametrize(("kind", "files"), [row[:2] for row in PORTS])
def test_ports_that_were_never_otherwise_are_no_symptom(
    tmp_path: Path, kind: Kind, files: dict[str, str]
) -> None:
    assert kind.look(make_node(tmp_path, files)).symptoms == ()


# --- lnet

LNET_LOADED = "/sys/module/lnet/refcnt"
LNET = data("lustre/lnetctl_net_show.txt")


def lnet_look(tmp_path: Path, said: Answer, past: Past = Past()) -> Look:
    return lnet.look(make_node(tmp_path, {LNET_LOADED: "1"}, {"lnetctl net": said}, past=past))


def test_lnet_interfaces_in_full_health_say_nothing(tmp_path: Path) -> None:
    assert lnet_look(tmp_path, LNET) == Look("lnet", 2)
    lost = LNET.replace("timeouts: 0", "timeouts: 7")
    assert lnet_look(tmp_path, lost, before({"lnet/10.0.2.15@tcp/errors": 0})) == Look("lnet", 2)


def test_lnet_interfaces_below_full_health_tell_how_many_messages_they_lost(tmp_path: Path) -> None:
    head, tail = LNET.split("net type: tcp")
    tail = tail.replace("health value: 1000", "health value: 700")
    tail = tail.replace("timeouts: 0", "timeouts: 30").replace("fatal_error: 0", "fatal_error: 1")
    look = lnet_look(
        tmp_path, f"{head}net type: tcp{tail}", before({"lnet/10.0.2.15@tcp/errors": 9})
    )
    health = "LNet interface 10.0.2.15@tcp has health 700 of 1000, 21 messages lost"
    assert said(look) == [
        ("oss1-nic", "WARNING", "raises", "the device of LNet interface 10.0.2.15@tcp has failed"),
        ("oss1-nic", "WARNING", "raises", health),
    ]
    assert [one.since for one in look.symptoms] == [None, EARLIER]


def test_lnet_that_keeps_its_health_to_others_is_told_with_the_remedy(tmp_path: Path) -> None:
    refusal = answer("", data("lustre/lnetctl_net_show_nobody.err"), 234)
    with pytest.raises(PrivilegeError, match="is refused to this user; set symptoms_lnet"):
        lnet_look(tmp_path, refusal)


# --- lustre

GET = "lctl get_param osc.*.import mdc.*.import"


def imports(state: str) -> str:
    """Return a captured import of OST0003 with the name that ``-n`` leaves out."""
    head = "osc.lustre-OST0003-osc-ffff888120238800.import=\n"
    return head + data(f"lustre/{state}_osc_import.txt")


def test_lustre_targets_that_are_connected_or_idle_say_nothing(tmp_path: Path) -> None:
    text = data("lustre/lctl_osc_import.txt")
    for text_of_state in (text, text.replace("state: FULL", "state: IDLE")):
        shown = answer(text_of_state, "error: get_param: 'mdc/*/import': not found", 2)
        look = lustre.look(make_node(tmp_path, answers={GET: shown}))
        assert look.symptoms == ()
        assert look.examined == text.count(".import=")


@pytest.mark.parametrize(
    ("text", "past", "expected"),
    [
        (
            imports("st4_ost_down"),
            before(
                {
                    "lustre/lustre-OST0003-osc-ffff888120238800/connects": 28,
                    "lustre/lustre-OST0003-osc-ffff888120238800/replied": 14,
                }
            ),
            [
                ("lustre-OST0003", "CRITICAL", "raises", "lustre-OST0003 is DISCONN"),
                (
                    "lustre-OST0003",
                    "WARNING",
                    "raises",
                    "113 attempts to connect to lustre-OST0003 without an answer",
                ),
            ],
        ),
        (
            imports("st2_client_inactive"),
            Past(),
            [
                (
                    "lustre-OST0003",
                    "WARNING",
                    "lowers",
                    "lustre-OST0003 was set inactive on this node",
                )
            ],
        ),
        (
            imports("st2_client_inactive")
            .replace("IMPF_DEACTIVE, ", "")
            .replace('failover_nids: [ "0@lo" ]', 'failover_nids: [ "10.0.0.1@tcp", "0@lo" ]')
            .replace("state: FULL", "state: REPLAY_LOCKS"),
            Past(),
            [
                (
                    "lustre-OST0003",
                    "WARNING",
                    "lowers",
                    "lustre-OST0003 is in recovery (REPLAY_LOCKS)",
                ),
                (
                    "lustre-OST0003",
                    "WARNING",
                    "lowers",
                    "lustre-OST0003 is failed over to 0@lo, which serves two servers' targets",
                ),
            ],
        ),
    ],
)
def test_lustre_tells_how_targets_are_connected(
    tmp_path: Path, text: str, past: Past, expected: list[tuple[str, str, str, str]]
) -> None:
    assert said(lustre.look(make_node(tmp_path, answers={GET: text}, past=past))) == expected


def test_lustre_clients_that_let_go_of_idle_targets_and_come_back_say_nothing(
    tmp_path: Path,
) -> None:
    later = data("lustre/lctl_osc_import.txt")
    # what the same client showed when it had connected to each target once
    earlier = re.sub(r"connects: \d+, replied: \d+", "connects: 1, replied: 1", later)
    earlier = re.sub(r"connection_attempts: \d+", "connection_attempts: 1", earlier)
    assert earlier != later
    first = make_node(tmp_path, answers={GET: earlier})
    lustre.look(first)
    past = first.counters.after(EARLIER)
    assert lustre.look(make_node(tmp_path, answers={GET: later}, past=past)).symptoms == ()


def test_lustre_attempts_that_were_under_way_at_the_last_look_are_no_news(tmp_path: Path) -> None:
    head = "lustre/lustre-OST0003-osc-ffff888120238800"
    past = before({f"{head}/connects": 143, f"{head}/replied": 15})
    text = imports("st4_ost_down").replace("state: DISCONN", "state: FULL")
    assert lustre.look(make_node(tmp_path, answers={GET: text}, past=past)).symptoms == ()


def both(text: str) -> str:
    """Return what lctl shows where client and metadata server see a target alike."""
    return text + text.replace("-osc-ffff888120238800", "-osc-MDT0000")


def attempts(connects: int) -> Past:
    devices = ("lustre-OST0003-osc-ffff888120238800", "lustre-OST0003-osc-MDT0000")
    every = {f"lustre/{device}/connects": connects for device in devices}
    return before({**every, **{f"lustre/{device}/replied": 15 for device in devices}})


@pytest.mark.parametrize(
    ("connects", "text"),
    [
        (100, "84 attempts to connect to lustre-OST0003 without an answer"),
        (142, None),
    ],
)
def test_lustre_tells_once_what_two_imports_of_a_target_miss(
    tmp_path: Path, connects: int, text: Optional[str]
) -> None:
    shown = both(imports("st4_ost_down"))
    look = lustre.look(make_node(tmp_path, answers={GET: shown}, past=attempts(connects)))
    expected = ["lustre-OST0003 is DISCONN", *([text] if text else [])]
    assert [one.sentence for one in look.symptoms] == expected


def test_lustre_tells_one_attempt_as_one(tmp_path: Path) -> None:
    past = before(
        {
            "lustre/lustre-OST0003-osc-ffff888120238800/connects": 142,
            "lustre/lustre-OST0003-osc-ffff888120238800/replied": 16,
        }
    )
    look = lustre.look(make_node(tmp_path, answers={GET: imports("st4_ost_down")}, past=past))
    assert look.symptoms[-1].sentence == "1 attempt to connect to lustre-OST0003 without an answer"


@pytest.mark.parametrize("state", ["FULL", "IDLE", "REPLAY_WAIT"])
def test_lustre_targets_that_were_away_and_are_back_are_no_suspects(
    tmp_path: Path, state: str
) -> None:
    shown = both(imports("st4_ost_down").replace("state: DISCONN", f"state: {state}"))
    look = lustre.look(make_node(tmp_path, answers={GET: shown}, past=attempts(28)))
    assert [one for one in look.symptoms if one.direction is Direction.RAISES] == []


CLOSED = answer(stderr="stat: cannot statx '/sys/kernel/debug/.': Permission denied", exit_code=1)


@pytest.mark.parametrize(
    ("files", "debugfs", "error"),
    [
        ({"/sys/fs/lustre/version": "2.17.57"}, CLOSED, PrivilegeError),
        ({"/sys/fs/lustre/version": "2.17.57"}, answer(), ToolError),
        ({}, CLOSED, ToolError),
    ],
)
def test_lustre_that_keeps_imports_to_root_is_told_from_one_that_is_not_there(
    tmp_path: Path, files: dict[str, str], debugfs: Answer, error: type[Exception]
) -> None:
    answers = {GET: answer(exit_code=2), "stat --format=%n /sys/kernel/debug/.": debugfs}
    with pytest.raises((PrivilegeError, ToolError), match="without a word") as caught:
        lustre.look(make_node(tmp_path, files, answers=answers))
    assert type(caught.value) is error


# --- kernel

JOURNAL = "journalctl --dmesg --boot=all --no-pager --output=json"


def entry(at: float, message: object) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": f"{at * 1e6:.0f}", "MESSAGE": message})


def test_the_kernels_messages_are_counted_and_dated_by_their_component(tmp_path: Path) -> None:
    error = "I/O error, dev sdb, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
    lines = [
        entry(NOW - 300, error),
        entry(NOW - 200, list(error.encode() + b"\xff")),
        entry(NOW - 100, "sd 0:0:1:0: attempting task abort!scmd(0x01), outstanding for 30336 ms"),
        entry(NOW - 90, "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Down"),
        entry(NOW - 80, "INFO: task fio:77 blocked for more than 120 seconds."),
        entry(NOW - 70, "Lustre: Failing over scratch-OST0003"),
        entry(NOW - 60, "EXT4-fs (sda1): mounted filesystem"),
    ]
    look = kernel.look(make_node(tmp_path, answers={JOURNAL: "\n".join(lines)}))
    assert look.examined == 7
    assert said(look) == [
        ("oss1-disk1", "CRITICAL", "raises", "kernel: I/O errors of sdb (2 times)"),
        ("oss1-disk1", "WARNING", "raises", "kernel: aborted commands or resets of 0:0:1:0"),
        ("oss1-nic", "WARNING", "raises", "kernel: losses of link ens1f0"),
        ("oss1", "WARNING", "raises", "kernel: reports of a hung task fio"),
        (
            "scratch-OST0003",
            "WARNING",
            "lowers",
            "kernel: unmounts of scratch-OST0003, for a failover or by hand",
        ),
    ]
    assert look.symptoms[0].since == NOW - 300


def test_without_the_right_to_the_journal_the_kernels_buffer_is_read(tmp_path: Path) -> None:
    old = "2026-11-19T06:49:48,000001+00:00 I/O error, dev sdb, sector 8 op 0x0:(READ)"
    new = "2026-11-21T06:00:00,000001+00:00 I/O error, dev sdc, sector 8 op 0x0:(READ)"
    node = make_node(tmp_path, answers={JOURNAL: "", "dmesg": f"{old}\n{new}\n"})
    look = kernel.look(node)
    assert look.examined == 1
    assert [one.component for one in look.symptoms] == ["oss1-disk2"]


# --- not available


UNAVAILABLE: list[tuple[Callable[..., Look], dict[str, str], dict[str, Answer], str]] = [
    (md.look, {}, {}, "/proc/mdstat is not there: the kernel has no md arrays"),
    (
        md.look,
        {"/proc/mdstat": "Personalities : \nmd0 : \nunused devices: <none>\n"},
        {},
        "not understood",
    ),
    (zfs.look, {}, {}, "zpool is not installed"),
    (zfs.look, {}, {"zpool": "Segmentation fault"}, "not understood"),
    (zfs.look, {}, {"zpool": HANGING}, "stuck in the kernel"),
    (zfs.look, {}, {"zpool": answer("", "Permission denied", 1)}, "Permission denied"),
    (smart.look, {}, {}, "smartctl is not installed"),
    (smart.look, {}, {"smartctl": HANGING}, "smartctl gave no answer about sdb in 10 s"),
    (smart.look, {}, {"smartctl": "nonsense"}, "smartctl printed no JSON"),
    (smart.look, {}, {"smartctl": "[]"}, "not understood"),
    (
        smart.look,
        {},
        {"smartctl": '{"smartctl": {}, "ata_smart_attributes": {"table": [{}]}}'},
        "not understood",
    ),
    (enclosure.look, {}, {}, "/sys/class/enclosure is empty"),
    (look_at_ethernet, {}, {}, "/sys/class/net has no network adapter that is up"),
    (FIBRE_CHANNEL.look, {}, {}, "/sys/class/fc_host is not there"),
    (INFINIBAND.look, {}, {}, "/sys/class/infiniband is not there"),
    (SAS.look, {}, {}, "/sys/class/sas_phy is not there"),
    (lnet.look, {}, {}, "LNet is not loaded"),
    (lnet.look, {LNET_LOADED: "1"}, {}, "lnetctl is not installed"),
    (
        lnet.look,
        {LNET_LOADED: "1"},
        {"lnetctl": answer("", data("lustre/lnetctl_net_show_nonet.err"), 234)},
        "LNet has no interface",
    ),
    (lnet.look, {LNET_LOADED: "1"}, {"lnetctl": HANGING}, "stuck in the kernel"),
    (lnet.look, {LNET_LOADED: "1"}, {"lnetctl": LNET[:-5]}, "not understood"),
    (lustre.look, {}, {}, "lctl is not installed"),
    (lustre.look, {}, {"lctl": ""}, "lctl shows no import"),
    (lustre.look, {}, {"lctl": HANGING}, "stuck in the kernel"),
    (lustre.look, {}, {"lctl": answer("", "Permission denied", 13)}, "Permission denied"),
    (lustre.look, {}, {"lctl": "osc.a-OST0000-osc-ffff.import=\nimport:\n"}, "no state"),
    (kernel.look, {}, {}, "journalctl is not installed on this host; and dmesg is not installed"),
    (
        kernel.look,
        {},
        {JOURNAL: "", "dmesg": answer("", "dmesg: Operation not permitted", 1)},
        "see its groups; and dmesg",
    ),
    (kernel.look, {}, {JOURNAL: "{}", "dmesg": "nonsense"}, "not understood"),
]


@pytest.mark.parametrize(("look", "files", "answers", "reason"), UNAVAILABLE)
def test_what_cannot_be_looked_at_is_said_and_never_healthy(
    tmp_path: Path,
    look: Callable[..., Look],
    files: dict[str, str],
    answers: dict[str, Answer],
    reason: str,
) -> None:
    node = make_node(tmp_path, files, answers)
    with pytest.raises(ToolError, match=r"^.+$") as caught:
        look(node)
    assert reason in str(caught.value)
