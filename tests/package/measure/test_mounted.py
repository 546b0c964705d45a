"""The targets of a mount are those that its own tools list, with their indices."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.measure.targets.mounted import (
    MountedSystem,
    in_pool,
    metadata_at,
    mounted_systems,
    name_of,
    servers_of_osts,
    system_at,
)
from plumbline.model.errors import PlumblineError, SkipTarget, UsageError
from plumbline.observe.mounts import Mount, parse_mount
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.recorded import data

LUSTRE = parse_mount("90 24 0:60 / /mnt/lustre rw - lustre 10.0.2.15@tcp:/lustre rw,flock")
GLUSTERFS = parse_mount("91 24 0:61 / /mnt/scratch rw - fuse.glusterfs oss1:/scratch rw")
LFS = {
    "lfs osts /mnt/lustre": data("lustre/st2_client_inactive_lfs_osts.txt"),
    "lctl get_param osc.lustre-OST*-osc-*.import": data("lustre/lctl_osc_import.txt"),
    "lctl get_param osc.lustre-OST*-osc-*.ost_conn_uuid": data("lustre/lctl_osc_conn_uuid.txt"),
    "stat --format=%n /sys/kernel/debug/.": "/sys/kernel/debug/.\n",
}
GRAPH = "cat /mnt/scratch/.meta/graphs/active/scratch"
DHT = data("glusterfs/dht-private.txt")
CLOSED = {
    "lctl get_param osc.lustre-OST*-osc-*.import": answer("", exit_code=2),
    "stat --format=%n /sys/kernel/debug/.": answer(
        "", stderr="stat: cannot statx '/sys/kernel/debug/.': Permission denied", exit_code=1
    ),
}


def of_bricks(dht: str = DHT) -> dict[str, Answer]:
    bricks: dict[str, Answer] = {f"{GRAPH}-dht/private": dht}
    for number in range(6):
        options = f"{GRAPH}-client-{number}/options"
        bricks[f"{options}/remote-host"] = f"oss{1 + number // 2}\n"
        bricks[f"{options}/remote-subvolume"] = f"/data/disk{1 + number % 2}/brick\n"
    return bricks


def listed(mount: Mount, answers: dict[str, Any]) -> MountedSystem:
    return system_at(FakeRunner(answers), mount)


def test_osts_of_lustre_have_index_server_and_state() -> None:
    system = listed(LUSTRE, LFS)
    assert [(m.name, m.number, m.server, m.state) for m in system.members] == [
        ("lustre-OST0000", 0, "0@lo", "ACTIVE"),
        ("lustre-OST0001", 1, "0@lo", "ACTIVE"),
        ("lustre-OST0002", 2, "0@lo", "ACTIVE"),
        ("lustre-OST0003", 3, "0@lo", "INACTIVE"),
    ]
    assert system.members[2].keys == {
        "kind": "lustre",
        "mount": "/mnt/lustre",
        "ost": "lustre-OST0002",
    }
    assert (system.base, system.note) == (16, "")


def test_mdts_of_lustre_have_index_server_and_state() -> None:
    server = "mdc.lustre-MDT0000-mdc-ffff888126cb0800.mds_conn_uuid"
    answers = {
        "lfs mdts /mnt/lustre": data("lustre/lfs_mdts.txt") + "26: lustre-MDT001a_UUID INACTIVE\n",
        "lctl get_param mdc.lustre-MDT*-mdc-*.import": data("lustre/lctl_mdc_import.txt"),
        "lctl get_param mdc.lustre-MDT*-mdc-*.mds_conn_uuid": f"{server}=10.0.2.15@tcp\n",
    }
    system = metadata_at(FakeRunner(answers), LUSTRE, "/mnt/lustre")
    assert [(m.name, m.number, m.server, m.state) for m in system.members] == [
        ("lustre-MDT0000", 0, "10.0.2.15@tcp", "ACTIVE"),
        ("lustre-MDT001a", 26, "", "INACTIVE"),
    ]
    assert system.members[0].keys == {
        "kind": "lustre-mdt",
        "mount": "/mnt/lustre",
        "mdt": "lustre-MDT0000",
    }
    assert (system.base, system.note) == (16, "")
    with pytest.raises(UsageError, match="plumbline probe mdt --directory a=/mnt/scratch"):
        metadata_at(FakeRunner({}), GLUSTERFS, "/mnt/scratch")


def test_nothing_is_asked_that_waits_for_an_ost() -> None:
    run = FakeRunner(LFS)
    system_at(run, LUSTRE)
    assert run.called("lfs df") == []
    assert run.called("stat --format=%n /mnt") == []


def test_an_ordinary_user_sees_servers_but_no_connections() -> None:
    system = listed(LUSTRE, {**LFS, **CLOSED})
    assert {member.keys["imports"] for member in system.members} == {"hidden"}
    assert {member.server for member in system.members} == {"0@lo"}
    assert "root sees more" in system.note


def test_bricks_of_glusterfs_have_server_and_path() -> None:
    system = listed(GLUSTERFS, of_bricks())
    names = [f"scratch-client-{number}" for number in range(6)]
    assert [member.name for member in system.members] == names
    brick = system.members[3]
    assert (brick.number, brick.server) == (3, "oss2")
    assert brick.keys["brick"] == "oss2:/data/disk2/brick"
    assert system.base == 10


@pytest.mark.parametrize("source", ["oss1:scratch", "oss1:/scratch/folder", "fe80::1:/scratch"])
def test_a_volume_is_known_by_each_form_of_its_mount(source: str) -> None:
    system = listed(GLUSTERFS._replace(source=source), of_bricks())
    assert len(system.members) == 6


def test_a_replicated_volume_has_no_brick_that_can_be_measured_alone() -> None:
    dht = "subvolumes[0] = cluster/replicate.scratch-replicate-0\n"
    with pytest.raises(UsageError, match="not of single bricks"):
        listed(GLUSTERFS, of_bricks(dht))


@pytest.mark.parametrize(
    ("mount", "answers", "error", "words"),
    [
        (LUSTRE, {**LFS, "lfs osts": "OBDS:\n"}, SkipTarget, "shows no targets"),
        (LUSTRE, {**LFS, "lfs osts": HANGING}, SkipTarget, "no answer"),
        (GLUSTERFS, of_bricks("subvol_cnt = 6\n"), SkipTarget, "shows no targets"),
        (LUSTRE._replace(kind="beegfs"), {}, UsageError, "or give one folder for each target"),
    ],
    ids=["none", "hanging", "no volume", "beegfs"],
)
def test_targets_that_cannot_be_listed_are_refused(
    mount: Mount, answers: dict[str, Any], error: type[PlumblineError], words: str
) -> None:
    answers = {**LFS, **answers} if mount.kind == "lustre" else answers
    if "lfs osts" in answers:
        answers["lfs osts /mnt/lustre"] = answers.pop("lfs osts")
    with pytest.raises(error, match=words):
        listed(mount, answers)


def test_a_pool_has_the_osts_that_lfs_lists() -> None:
    # the form of lfs pool_list in its manual page
    text = "Pool: lustre.flash\nlustre-OST0001_UUID\nlustre-OST0003_UUID\n"
    system = listed(LUSTRE, LFS)
    chosen = in_pool(FakeRunner({"lfs pool_list lustre.flash": text}), system, "flash")
    assert [member.number for member in chosen.members] == [1, 3]
    with pytest.raises(UsageError, match="--pool is of Lustre"):
        in_pool(FakeRunner({}), listed(GLUSTERFS, of_bricks()), "flash")


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-9,2a", [0, 3, 0x2A]), ("2A", [0x2A]), ("3,0", [0, 3])]
)
def test_indices_of_osts_are_hexadecimal(text: str, numbers: list[int]) -> None:
    osts = "OBDS:\n0: lustre-OST0000_UUID ACTIVE\n3: lustre-OST0003_UUID ACTIVE\n"
    osts += "42: lustre-OST002a_UUID ACTIVE\n"
    system = listed(LUSTRE, {**LFS, "lfs osts /mnt/lustre": osts})
    assert [member.number for member in system.numbered(text).members] == numbers
    assert system.indices(system.numbered(text).members) == ",".join(f"{n:x}" for n in numbers)


def test_only_mounts_of_file_systems_with_targets_are_found() -> None:
    text = (
        "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "90 24 0:60 / /mnt/lustre rw - lustre 10.0.2.15@tcp:/lustre rw\n"
        "91 24 0:61 / /mnt/scratch rw - fuse.glusterfs oss1:/scratch rw\n"
    )
    found = mounted_systems(FakeRunner({"cat /proc/self/mountinfo": text}))
    assert [mount.point for mount in found] == ["/mnt/lustre", "/mnt/scratch"]


def test_an_ost_belongs_to_its_first_server_or_to_the_present_one() -> None:
    pattern = "osc.lustre-OST*-osc-*.import"
    recorded = data("lustre/lctl_osc_import.txt")

    def servers(nids: str, present: str) -> dict[str, tuple[str, ...]]:
        text = recorded.replace('failover_nids: [ "0@lo" ]', f"failover_nids: [ {nids} ]")
        text = text.replace('current_connection: "0@lo"', f'current_connection: "{present}"')
        text += (
            "osc.lustre-OST0003-osc-MDT0000.import=\nimport:\n    state: FULL\n    connection:\n"
            '       failover_nids: [ "10.0.0.9@tcp" ]\n       current_connection: "10.0.0.9@tcp"\n'
        )
        return servers_of_osts(FakeRunner({f"lctl get_param {pattern}": text}), "lustre")

    both = '"10.0.0.1@tcp", "10.9.0.1@o2ib", "10.0.0.2@tcp", "10.9.0.2@o2ib"'
    assert servers(both, "10.9.0.1@o2ib")["lustre-OST0003"] == ("10.9.0.1@o2ib",)
    assert servers(both, "10.9.0.2@o2ib")["lustre-OST0003"] == ("10.9.0.1@o2ib", "10.9.0.2@o2ib")
    # connections of the MDT beside it are left out, and those within this host or to nowhere
    assert [*servers(both, "10.0.0.1@tcp")] == [f"lustre-OST000{index}" for index in range(4)]
    assert servers('"0@lo"', "0@lo") == servers(both, "<none>") == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("10.0.0.1@tcp:10.0.0.2@tcp:/scratch", "scratch"),
        ("10.0.0.1@tcp:/scratch/of:ada/now", "scratch"),
        ("oss1:/work", "work"),
        ("oss1:work", "work"),
    ],
)
def test_a_mount_tells_its_file_system_or_volume(source: str, name: str) -> None:
    assert name_of(parse_mount(f"92 24 0:62 / /mnt rw - lustre {source} rw")) == name
