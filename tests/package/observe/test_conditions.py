"""What a bill has of a node, by names that last, and what it never has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline.observe.changes import grouped
from plumbline.observe.conditions import DEFAULT, Bill, Condition, is_secret, merged, take, tidy
from plumbline.observe.node import System
from tests.package.fakes import HANGING, answer
from tests.package.observe.nodes import DISK, FILES, HBA, NOW, condition, ledger, system
from tests.package.recorded import data

MOUNTS = "/proc/self/mountinfo"


def values(found: Bill) -> dict[str, str]:
    """Return the values by subject and name."""
    return {f"{one.subject} {one.name}".strip(): one.value for one in found.conditions}


def test_a_bill_has_software_firmware_links_and_settings(tmp_path: Path) -> None:
    found = take("oss1", system(tmp_path), (), NOW)
    assert values(found) == {
        "Lustre": "2.15.5",
        "kernel": "5.14.0-427.el9.x86_64",
        "boot options": "mitigations=off",
        "operating system": "Rocky Linux 9.4 (Blue Onyx)",
        "mpt3sas version": "43.100.00.00",
        "mpt3sas max_queue_depth": "-1",
        "net.ipv4.tcp_rmem": "4096 131072 33554432",
        "vm.swappiness": "10",
        "governor": "performance, powersave",
        "transparent huge pages": "madvise",
        "naa.5000c500d8f1a2b3 scheduler": "mq-deadline",
        "naa.5000c500d8f1a2b3 read_ahead_kb": "4096",
        "naa.5000c500d8f1a2b3 queue depth": "32",
        "naa.5000c500d8f1a2b3 disk firmware": "E004",
        "0000:3b:00.0 PCIe link": "8.0 GT/s PCIe x8",
        "0000:3b:00.0 adapter firmware": "16.00.12.00",
        "mlx5_0 adapter firmware": "20.39.2048",
        "mlx5_0 port 1 rate": "200 Gb/sec (4X HDR)",
        "ens1f0 MTU": "9000",
        "ens1f0 speed": "25000 Mbit/s full duplex",
    }
    assert found.notes == ("ethtool is not installed on this host",)


def test_an_old_lustre_has_its_version_of_its_modules(tmp_path: Path) -> None:
    root = system(tmp_path, {"/sys/module/obdclass/version": "2.10.8"})
    (tmp_path / "sys/fs/lustre/version").unlink()
    found = take("oss1", root, (), NOW).conditions
    assert [one.name for one in found if one.value == "2.10.8"] == ["Lustre"]


def test_nothing_secret_is_in_a_bill(tmp_path: Path) -> None:
    files = {
        MOUNTS: data("conditions/mountinfo-server.txt"),
        "/sys/module/lnet/parameters/x": "A" * 64,
    }
    found = take("oss1", system(tmp_path, files), (), NOW)
    text = repr(found)
    assert "hunter2" not in text
    assert "AQCkd3" not in text
    assert "AAAA" not in text
    assert "root=" not in text


@pytest.mark.parametrize(
    "name",
    ["password", "gss_shared_key", "tcp_fastopen_key", "secretfile", "auth_token", "srpc_passwd"],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["keepalive", "checksums", "peer_credits", "bypass_io"])
def test_a_setting_is_none(name: str) -> None:
    assert not is_secret(name)


def test_a_disk_keeps_its_name_when_its_letter_changes(tmp_path: Path) -> None:
    before = take("oss1", system(tmp_path / "a"), (), NOW)
    moved = {path: text for path, text in FILES.items() if "sda" in path}
    root = tmp_path / "b"
    after = system(
        root,
        {path.replace("sda", "sdq"): text for path, text in moved.items()},
        links={"/sys/block/sdq": f"../..{DISK}/block/sdq", f"{DISK}/block/sdq/device": "../.."},
    )
    (root / "sys/block/sda").unlink()
    assert take("oss1", after, (), NOW).conditions == before.conditions


def test_two_paths_of_a_disk_are_one(tmp_path: Path) -> None:
    path = DISK.replace("host1", "host2")
    files = {f"{path}/wwid": "naa.5000c500d8f1a2b3", f"{path}/block/sdb/queue/scheduler": "[none]"}
    files[f"{path}/model"] = "ST16000NM004J"
    links = {"/sys/block/sdb": f"../..{path}/block/sdb", f"{path}/block/sdb/device": "../.."}
    found = values(take("oss1", system(tmp_path, files, links=links), (), NOW))
    assert found["naa.5000c500d8f1a2b3 scheduler"] == "mq-deadline, none"


def two_disks(root: Path, **serials: str) -> System:
    """Return a node with two disks of one adapter, neither with a WWN."""
    second = DISK.replace("1:0:0:0", "1:0:1:0")
    files = {f"{second}/block/sdb/queue/read_ahead_kb": "256", f"{second}/model": "QEMU HARDDISK"}
    for path, name in ((DISK, "sda"), (second, "sdb")):
        if name in serials:
            files[f"{path}/vpd_pg80"] = f"\0\x80\0\x14{serials[name]}"
    links = {"/sys/block/sdb": f"../..{second}/block/sdb", f"{second}/block/sdb/device": "../.."}
    node = system(root, files, links=links)
    (root / f"{DISK}/wwid".lstrip("/")).unlink()
    return node


def test_a_disk_without_a_wwn_has_its_serial_number(tmp_path: Path) -> None:
    found = values(take("oss1", two_disks(tmp_path, sda="lus1-disk0  ", sdb="lus1-disk1"), (), NOW))
    assert found["lus1-disk0 read_ahead_kb"] == "4096"
    assert found["lus1-disk1 read_ahead_kb"] == "256"


def test_disks_of_an_adapter_without_any_number_are_told_apart_by_their_address(
    tmp_path: Path,
) -> None:
    found = values(take("oss1", two_disks(tmp_path), (), NOW))
    assert found["0000:3b:00.0 disk 0:0:0 read_ahead_kb"] == "4096"
    assert found["0000:3b:00.0 disk 0:1:0 read_ahead_kb"] == "256"


def test_links_that_are_down_have_no_speed(tmp_path: Path) -> None:
    files = {
        "/sys/class/net/ens1f0/speed": "-1",
        "/sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN",
        f"{HBA}/current_link_width": "0",
    }
    found = values(take("oss1", system(tmp_path, files), (), NOW))
    assert not {"ens1f0 speed", "mlx5_0 port 1 rate", "0000:3b:00.0 PCIe link"} & {*found}


def mounts(root: Path, name: str) -> dict[str, str]:
    found = take("oss1", system(root, {MOUNTS: data(f"conditions/{name}")}), (), NOW)
    return {one.subject: one.value for one in found.conditions if one.area == "mount"}


def test_mounts_of_storage_have_their_options_in_order(tmp_path: Path) -> None:
    assert mounts(tmp_path, "mountinfo-server.txt") == {
        "/": "discard,errors=remount-ro,relatime,rw",
        "/lustre": "checksum,flock,lazystatfs,lruresize,nouser_xattr,rw",
        "/mnt/ceph pool": "acl,relatime,rw",
        "/mnt/ost0": "errors=remount-ro,mgsnode=10.0.2.15@tcp,osd=osd-ldiskfs,relatime,rw,"
        "svname=lustre-OST0000",
        "/scratch": "hard,noatime,proto=tcp,rsize=1048576,rw,sec=sys,vers=4.2,wsize=1048576",
    }


def test_a_unit_of_systemd_sees_the_mounts_that_a_person_sees(tmp_path: Path) -> None:
    by_hand = mounts(tmp_path / "a", "mountinfo-server.txt")
    assert mounts(tmp_path / "b", "mountinfo-unit.txt") == by_hand


def lustre(root: Path, printed: str, *patterns: str) -> list[Condition]:
    lctl = answer(printed, "error: get_param: param_path 'mdt/*/x': No such file or directory", 2)
    found = take("oss1", system(root, answers={"lctl get_param": lctl}), patterns, NOW)
    return [one for one in found.conditions if one.area == "lustre"]


def test_parameters_of_a_node_with_clients_and_servers(tmp_path: Path) -> None:
    found = lustre(tmp_path, data("lustre/drift_values.txt"), *DEFAULT)
    by_name = {f"{one.subject}.{one.name}".lstrip("."): one for one in found}
    assert len(by_name) == len(found)
    assert by_name["osc.lustre-OST0002-osc.max_dirty_mb"].value == "491"
    assert by_name["osc.lustre-OST0002-osc.max_dirty_mb"].among == "osc.*"
    assert by_name["osd-ldiskfs.lustre-OST0000.readcache_max_filesize"].among == "osd-ldiskfs.*"
    assert by_name["ost.OSS.ost_io.threads_max"].among == "ost.OSS.ost_io"
    assert by_name["timeout"].subject == ""
    # what it uses now is no setting
    assert by_name["llite.lustre.max_cached_mb"].value == "1960"
    assert not [one for one in found if "ffff" in one.subject]


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (
            ("osp", "lod"),
            [
                "lod.qos_prio_free 90% -> 50% of lustre-MDT0000",
                "osp.max_rpcs_in_flight 8 -> 12 of lustre-OST0001-osc-MDT0000",
            ],
        ),
        # as in release 2.3, which has no other name for them
        (
            (),
            [
                "lov.qos_prio_free 90% -> 50% of lustre-MDT0000",
                "osc.max_rpcs_in_flight 8 -> 12 of lustre-OST0001-osc-MDT0000",
            ],
        ),
    ],
)
def test_a_change_of_a_parameter_with_two_names_on_an_mds_is_one_change(
    tmp_path: Path, modules: tuple[str, ...], expected: list[str]
) -> None:
    for module in modules:
        (tmp_path / f"sys/module/{module}/holders").mkdir(parents=True)
    own = "os[cp]|lo[dv]" if modules else "osc|lov"
    lines = data("lustre/drift_values.txt").splitlines(keepends=True)
    asked = re.compile(rf"({own})\..*-MDT0000.*\.(max_rpcs_in_flight|qos_prio_free)=")
    before = "".join(line for line in lines if asked.match(line))
    after = before.replace("90%", "50%")
    after = re.sub("(OST0001-osc-MDT0000.max_rpcs_in_flight)=8", r"\1=12", after)
    patterns = ("os[cp].*.max_rpcs_in_flight", "lo[dv].*.qos_prio_free")
    bills = [
        Bill("mds1", NOW + day, tuple(lustre(tmp_path, printed, *patterns)))
        for day, printed in enumerate((before, after))
    ]
    changes = ledger(*bills).changes
    assert sorted(change.text for change in grouped(("mds1", one) for one in changes)) == expected


def test_a_value_of_many_lines_is_one_line(tmp_path: Path) -> None:
    printed = (
        "ost.OSS.ost_io.nrs_policies=\n\nregular_requests:\n  - name: fifo\n    state: started\n"
    )
    (one,) = lustre(tmp_path, printed, "ost.OSS.*.nrs_policies")
    assert one.value == "regular_requests:; - name: fifo; state: started"


def test_a_value_with_an_equals_sign_is_no_other_parameter(tmp_path: Path) -> None:
    printed = "a.b.c=\nx=1\ny=2\na.c.c=3\n"
    found = lustre(tmp_path, printed, "a.*.c")
    assert [(one.subject, one.value) for one in found] == [("a.b", "x=1; y=2"), ("a.c", "3")]


def test_a_node_without_lustre_is_not_asked_for_its_parameters(tmp_path: Path) -> None:
    root = system(tmp_path)
    (tmp_path / "sys/module/obdclass/version").unlink()
    found = take("oss1", root, DEFAULT, NOW)
    assert found.notes == ("ethtool is not installed on this host",)


def test_lctl_that_hangs_is_a_note_and_no_change(tmp_path: Path) -> None:
    found = take("oss1", system(tmp_path, answers={"lctl": HANGING}), DEFAULT, NOW)
    assert not [one for one in found.conditions if one.area == "lustre"]
    assert "lctl" in found.notes[0]


def test_firmware_of_network_adapters_comes_from_ethtool(tmp_path: Path) -> None:
    printed = "driver: mlx5_core\nversion: 5.14.0\nfirmware-version: 26.39.1002 (DEL0000000031)\n"
    found = take("oss1", system(tmp_path, answers={"ethtool -i": printed}), (), NOW)
    assert (
        condition(
            "adapter firmware", "26.39.1002 (DEL0000000031)", "firmware", "ens1f0", "mlx5_core"
        )
        in found.conditions
    )


def test_a_long_value_keeps_its_beginning_and_changes_when_its_end_does() -> None:
    one, other = tidy("x" * 300), tidy("x" * 299 + "y")
    assert one != other
    assert max(len(one), len(other)) <= 160
    assert one.startswith("x" * 100)


def test_what_a_terminal_would_obey_is_replaced() -> None:
    (one,) = merged([condition("kernel", "5\x1b[31m\n6")])
    assert one.value.isprintable()


def test_a_bill_is_bounded(tmp_path: Path) -> None:
    names = (f"osc.fs-OST{index:04x}-osc.max_dirty_mb={index}\n" for index in range(11_000))
    lctl = answer("".join(names))
    found = take("c1", system(tmp_path, answers={"lctl get_param": lctl}), ("osc.*.*",), NOW)
    assert len(found.conditions) == 10_000
    assert "left out" in found.notes[-1]
