"""An OST is measured only when it is certain that it can be, and that the file lies on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.command import Completed, Within
from plumbline.model.errors import BrokenTarget, DocumentError, PrivilegeError, SkipTarget
from plumbline.model.record import Flag
from tests.package.fakes import (
    HANGING,
    NO_FILE,
    REMOVED,
    Answer,
    FakeRunner,
    answer,
    file_status,
    unsafe,
)

DATA = Path(__file__).parents[2] / "data/lustre"
FOLDER = "/mnt/lustre/.plumbline/lustre-OST0003"
FILE = f"{FOLDER}/probe.dat"
MOUNTS = (
    "24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "90 24 0:60 / /mnt/lustre {options} - lustre 10.0.2.15@tcp:/lustre {options},flock\n"
)
SIZE = 1 << 30


def data(name: str) -> str:
    return (DATA / name).read_text()


CLIENT = "ffff888120238800"


def tunables(**changes: str) -> str:
    """The settings of all OSTs' clients, as they were captured; ``changes`` replace values."""
    text = data("lctl_osc_tunables.txt")
    for name, value in changes.items():
        text = re.sub(rf"\.{name}=.*", f".{name}={value}", text)
    return text


def imports(ost: str = "OST0003") -> str:
    """The import of one OST with the header that lctl prints without -n."""
    if ost != "OST0003":
        return data("lctl_osc_import.txt")
    header = "osc.lustre-OST0003-osc-ffff888120238800.import=\n"
    return header + data("st3_mds_inactive_osc_import.txt")


def stat(size: int = SIZE, blocks: int = SIZE // 512, inode: int = 7) -> Completed:
    return answer(file_status(size, blocks, inode=inode))


def healthy(ost: str = "lustre-OST0003", /, **changes: Answer) -> dict[str, Answer]:
    """What a healthy client answers about the OST; ``changes`` replace one answer each."""
    answers: dict[str, tuple[str, Answer]] = {
        "mounts": ("cat /proc/self/mountinfo", MOUNTS.format(options="rw")),
        "osts": ("lfs osts /mnt/lustre", data("lfs_osts.txt")),
        "active": (
            f"lctl get_param osc.{ost}-osc-*.active",
            data("st3_mds_inactive_osc_active.txt"),
        ),
        "imports": (f"lctl get_param osc.{ost}-osc-*.import", imports()),
        "tunables": (f"lctl get_param osc.{ost}-osc-{CLIENT}.checksums", tunables()),
        "df": ("lfs df --ost=", data("lfs_df.txt").splitlines()[5]),
        "df_all": ("lfs df /mnt/lustre", data("lfs_df.txt")),
        "version": ("lctl get_param -n version", data("lctl_get_param_n_version.txt")),
        "stat": ("stat --format=", stat()),
        "getstripe": (
            "lfs getstripe",
            data("lfs_getstripe.txt").replace("     2\t", "     3\t", 1),
        ),
        "setstripe": ("lfs setstripe", ""),
        "truncate": ("truncate", ""),
        "rm": ("rm -f", ""),
        "stats": ("lctl get_param -n obdfilter", answer(stderr="error: get_param", exit_code=2)),
        "debugfs": ("stat --format=%n /sys/kernel/debug/.", "/sys/kernel/debug/.\n"),
    }
    return {start: changes.get(key, value) for key, (start, value) in answers.items()}


def target(ost: str = "lustre-OST0003", limit: float = 0.9) -> Any:
    return target_for({"kind": "lustre", "mount": "/mnt/lustre", "ost": ost}, ost, limit)


def test_a_healthy_ost_has_fill_and_versions_and_no_flags() -> None:
    state = target().state(FakeRunner(healthy()))
    assert state.fill == pytest.approx(468332 / (468332 + 3138688))
    assert state.flags == ()
    assert state.versions == {
        "client": "2.17.57",
        "server": "2.17.57.0",
        "checksums": "t10ip4K",
        "rpcs_in_flight": "8",
        "pages_per_rpc": "1024",
        "nid": "0@lo",
    }


CLOSED = answer(stderr="stat: cannot statx '/sys/kernel/debug/.': Permission denied", exit_code=1)


def test_an_import_in_a_debugfs_that_is_closed_is_a_matter_of_privileges() -> None:
    closed = {"imports": answer(exit_code=2), "debugfs": CLOSED}
    with pytest.raises(PrivilegeError, match="agent_lustre_capabilities of the role agent"):
        target().state(FakeRunner(healthy(**closed)))


def test_what_always_answers_is_asked_before_what_can_hang() -> None:
    run = FakeRunner(healthy())
    target().state(run)
    order = [" ".join(call.split()[:2]) for call in run.calls]
    assert order == [
        "cat /proc/self/mountinfo",
        "lfs osts",
        "lctl get_param",
        "lctl get_param",
        "lfs df",
        "lctl get_param",
        "lctl get_param",
    ]


@pytest.mark.parametrize(
    ("shown", "settings"),
    [
        ({"checksums": "0"}, {"checksums": "off"}),
        ({"checksum_type": "adler [crc32c]"}, {"checksums": "crc32c"}),
        ({"checksum_type": "adler"}, {"checksums": "on"}),
        ({"max_pages_per_rpc": "256"}, {"pages_per_rpc": "256", "rpcs_in_flight": "8"}),
        ("", {"checksums": None, "rpcs_in_flight": None, "pages_per_rpc": None}),
        (HANGING, {"checksums": None, "rpcs_in_flight": None, "pages_per_rpc": None}),
    ],
)
def test_settings_are_taken_as_shown_and_left_out_where_they_are_not(
    shown: Any, settings: dict[str, Any]
) -> None:
    shown = tunables(**shown) if isinstance(shown, dict) else shown
    state = target().state(FakeRunner(healthy(tunables=shown)))
    assert {name: state.versions.get(name) for name in settings} == settings


def test_an_ost_that_is_failed_over_is_still_at_home() -> None:
    """Only the flag says where it is now, so that its baseline stays the expectation."""
    text = imports().replace('failover_nids: [ "0@lo" ]', 'failover_nids: [ "1@tcp", "0@lo" ]')
    state = target().state(FakeRunner(healthy(imports=text)))
    assert (state.flags, state.versions["nid"]) == ((Flag.FAILED_OVER,), "1@tcp")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mounts": "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"}, "nothing is mounted at /mnt/lustre"),
        ({"mounts": MOUNTS.format(options="ro")}, "mounted read-only"),
        (
            {"mounts": MOUNTS.format(options="rw").replace(":/lustre ", ":/other ")},
            "not the Lustre file system lustre",
        ),
        ({"mounts": "90 24 0:60 / /mnt/lustre rw\n"}, "not understood"),
        ({"osts": data("st2_client_inactive_lfs_osts.txt")}, "INACTIVE on this client"),
        ({"osts": "OBDS:\n0: lustre-OST0000_UUID ACTIVE\n"}, "has no OST lustre-OST0003"),
        ({"osts": "OBDS:\n4: lustre-OST0003_UUID ACTIVE\n"}, "the index 4, not 3"),
        ({"osts": answer(stderr="error: osts: failed on /mnt", exit_code=1)}, "osts: failed on"),
        ({"osts": HANGING}, "no answer in 10 s and cannot be ended"),
        ({"active": data("st2_client_inactive_osc_active.txt")}, "is deactivated on this client"),
        ({"active": "osc.lustre-OST0003-osc-MDT0000.active=1\n"}, "for a client on this node"),
        (
            {
                "imports": "osc.lustre-OST0003-osc-ffff8.import=\n"
                + data("st4_ost_down_osc_import.txt")
            },
            "is DISCONN",
        ),
        (
            {
                "imports": "osc.lustre-OST0003-osc-ffff8.import=\n"
                + data("st2_client_inactive_osc_import.txt")
            },
            "import of lustre-OST0003 is deactivated",
        ),
        (
            {"imports": answer(stderr="error: get_param: Input/output error", exit_code=5)},
            "Input/output error",
        ),
        ({"imports": "osc.lustre-OST0003-osc-ffff8.import=\nimport:\n"}, "shows no state"),
        ({"df": data("st5_ost_full_lfs_df2.txt")}, "100% full, the limit is 90%"),
        ({"df": data("st5_ost_full_lfs_df.txt")}, "97% full, the limit is 90%"),
        ({"df": data("lfs_df.txt").replace("[OST:3] ", "[OST:3] DR")}, "is read-only"),
        ({"df": data("lfs_df.txt").replace("[OST:3] ", "[OST:3] S")}, "has no space"),
        ({"df": data("lfs_df.txt").replace("[OST:3] ", "[OST:3] I")}, "has no inodes"),
        ({"df": data("lfs_df.txt").replace("[OST:3] ", "[OST:3] (0400)")}, "unknown state"),
        ({"df": "", "df_all": data("st4_ost_down_lfs_df.txt")}, "does not list lustre-OST0003"),
        ({"df": "", "df_all": HANGING}, "lfs df /mnt/lustre gave no answer"),
        ({"df": HANGING}, "lfs df --ost=3 /mnt/lustre gave no answer"),
        ({"version": "unknown\n"}, "version"),
    ],
)
def test_an_ost_that_cannot_be_measured_is_skipped_with_the_reason(
    changes: dict[str, Answer], reason: str
) -> None:
    with pytest.raises(SkipTarget, match=reason.replace("(", r"\(")) as caught:
        target().state(FakeRunner(healthy(**changes)))
    assert "\n" not in str(caught.value)


def test_a_dead_ost_is_never_asked_how_full_it_is() -> None:
    text = "osc.lustre-OST0003-osc-ffff8.import=\n" + data("st4_ost_down_osc_import.txt")
    run = FakeRunner(healthy(imports=text))
    with pytest.raises(SkipTarget):
        target().state(run)
    assert run.called("lfs df") == run.called("stat") == []


def test_a_degraded_ost_is_measured_and_flagged() -> None:
    answers = healthy("lustre-OST0001", imports=imports("all"), df=data("st1_degraded_lfs_df.txt"))
    state = target("lustre-OST0001").state(FakeRunner(answers))
    assert state.flags == (Flag.DEGRADED,)


def draining(**changes: Answer) -> FakeRunner:
    df = data("lfs_df.txt").splitlines()[5].replace("[OST:3] ", "[OST:3] N")
    return FakeRunner(healthy(df=df, **changes))


def test_a_draining_ost_is_measured_on_the_file_that_is_there_and_flagged() -> None:
    draining_ost, run = target(), draining()
    assert draining_ost.state(run).flags == (Flag.DRAINING,)
    assert draining_ost.place(run, SIZE) == FILE
    assert run.called("lfs setstripe") == []


def test_a_draining_ost_without_a_file_says_how_it_is_retired() -> None:
    draining_ost, run = target(), draining(stat=NO_FILE)
    draining_ost.state(run)
    with pytest.raises(SkipTarget) as caught:
        draining_ost.place(run, SIZE)
    assert str(caught.value) == (
        "lustre-OST0003 creates no objects (no_create, it is drained) and has no probe file; name "
        "it in retired of the topology, or end it with obdfilter.lustre-OST0003.no_create=0 on its "
        "server"
    )
    assert run.called("lfs setstripe") == run.called("mkdir") == []


def test_an_ost_on_another_server_than_its_first_is_flagged_failed_over() -> None:
    text = imports().replace(
        'failover_nids: [ "0@lo" ]', 'failover_nids: [ "10.0.0.1@o2ib", "10.0.0.2@o2ib" ]'
    )
    moved = text.replace('current_connection: "0@lo"', 'current_connection: "10.0.0.2@o2ib"')
    home = text.replace('current_connection: "0@lo"', "current_connection: 10.0.0.1@o2ib")
    assert target().state(FakeRunner(healthy(imports=moved))).flags == (Flag.FAILED_OVER,)
    assert target().state(FakeRunner(healthy(imports=home))).flags == ()


def test_an_idle_import_is_good() -> None:
    idle = imports().replace("state: FULL", "state: IDLE")
    assert target().state(FakeRunner(healthy(imports=idle))).flags == ()


def test_an_ost_listed_before_a_hanging_one_is_measured_all_the_same() -> None:
    cut = Completed((), -9, data("st4_ost_down_lfs_df.txt"), "", 20.0, timed_out=True)
    answers = healthy(
        "lustre-OST0001",
        imports=imports("all"),
        df=answer(stderr="lfs: unrecognized option '--ost=1'", exit_code=4),
        df_all=cut,
    )
    assert target("lustre-OST0001").state(FakeRunner(answers)).fill == pytest.approx(
        0.1667, abs=1e-4
    )


def test_a_file_of_the_right_size_in_the_right_place_is_kept() -> None:
    run = FakeRunner(healthy())
    assert target().place(run, SIZE) == FILE
    assert run.called("lfs setstripe") == run.called("rm") == run.called("truncate") == []


def test_a_missing_file_is_made_with_both_protections_and_full_size_at_once() -> None:
    run = FakeRunner(healthy(stat=[NO_FILE, stat(blocks=0)]))
    target().place(run, SIZE)
    made = [call for call in run.calls if call.split()[0] == "truncate" or "set" in call]
    assert made == [
        "lfs setstripe -c 1 -i 3 .",
        "lfs setstripe -c 1 -S 4M -L raid0 -o 3 probe.dat",
        f"truncate --size={SIZE} -- probe.dat",
    ]
    names = (".plumbline", "lustre-OST0003")
    folder = Within("/mnt/lustre", names, make=True, file="probe.dat")
    assert run.placed("lfs setstripe") == [folder, folder]
    assert run.placed("lfs getstripe") == [folder._replace(make=False)]


def test_the_index_in_the_name_is_hexadecimal() -> None:
    name = "lu-9-OST001a"
    run = FakeRunner({"lfs setstripe": ""})
    target(name)._create(run)
    assert run.called("lfs setstripe")[1].startswith("lfs setstripe -c 1 -S 4M -L raid0 -o 26 ")


@pytest.mark.parametrize(
    ("first", "layout"),
    [
        (stat(size=SIZE // 2), data("lfs_getstripe.txt").replace("     2\t", "     3\t", 1)),
        (stat(), data("lfs_getstripe.txt")),
        (stat(), data("lfs_getstripe_pfl.txt")),
    ],
)
def test_our_own_file_of_a_wrong_size_or_place_is_made_anew(first: Completed, layout: str) -> None:
    good = data("lfs_getstripe.txt").replace("     2\t", "     3\t", 1)
    gone = NO_FILE
    stripes = [answer(good)] if "4194304" in first.stdout else [answer(layout), answer(good)]
    if str(SIZE // 2) in first.stdout:
        stripes = [answer(good)]
    run = FakeRunner(healthy(stat=[first, gone, stat()], getstripe=stripes))
    assert target().place(run, SIZE) == FILE
    assert run.called("rm -f") == [REMOVED]


def test_what_is_not_safe_is_neither_measured_nor_removed() -> None:
    run = FakeRunner(healthy(stat=unsafe(f"{FILE} is no plain file")))
    with pytest.raises(SkipTarget, match="is no plain file"):
        target().place(run, SIZE)
    assert run.called("rm") == []


def test_a_file_that_would_fill_the_ost_is_not_made() -> None:
    run = FakeRunner(healthy(stat=NO_FILE))
    with pytest.raises(SkipTarget, match=r"13% full and 4000\.0 MB more are needed"):
        target().place(run, 4_000_000_000)
    assert run.called("lfs setstripe") == []


@pytest.mark.parametrize(
    ("said", "exit_code", "hint"),
    [
        (data("lfs_setstripe_badidx.err"), 22, "Invalid argument"),
        ("lfs setstripe: setstripe error for 'f': Permission denied", 13, "enable_setstripe_gid"),
        (
            "lfs setstripe: setstripe error for 'f': No buffer space available",
            105,
            r"max_create_count=0 on the MDT, or no_create\); if it is drained, name it in retired",
        ),
        (
            "lfs setstripe: setstripe error for 'f': inactive OST among your specified 1 OST(s)",
            22,
            r"is inactive on the MDT, .*osp\.lustre-OST0003-osc-MDT\*\.active=1 on the MDS, or",
        ),
        ("lfs setstripe: setstripe error for 'f': Disk quota exceeded", 122, "quota of the meas"),
        (
            "lfs setstripe: setstripe warning for 'f': Setstripe is restricted by your "
            "administrator, default striping applied",
            0,
            "enable_setstripe_gid",
        ),
    ],
)
def test_a_refused_setstripe_says_why(said: str, exit_code: int, hint: str) -> None:
    run = FakeRunner(healthy(stat=NO_FILE, setstripe=answer(stderr=said, exit_code=exit_code)))
    with pytest.raises(SkipTarget, match=hint):
        target().place(run, SIZE)


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (answer(data("lfs_getstripe.txt")), "lies on OST index 2 instead of 3"),
        (answer(data("lfs_getstripe_pfl.txt")), "composite layout"),
        (answer(data("lfs_getstripe_v_wide.txt")), "has 4 stripes"),
        (answer(data("lfs_getstripe.txt")[:60]), "not understood"),
        (answer(stderr=data("lfs_getstripe_nofile.err"), exit_code=2), "No such file"),
        (answer(stderr=data("lfs_getstripe_notlustre.err"), exit_code=25), "Inappropriate ioctl"),
    ],
)
def test_a_file_that_moved_during_the_run_voids_it(layout: Completed, reason: str) -> None:
    good = answer(data("lfs_getstripe.txt").replace("     2\t", "     3\t", 1))
    run = FakeRunner(healthy(getstripe=[good, good, layout]))
    ost = target()
    path = ost.place(run, SIZE)
    with pytest.raises(SkipTarget, match=reason):
        ost.verify(run, path)


def test_a_file_that_changed_its_size_or_is_gone_voids_the_run() -> None:
    ost = target()
    path = ost.place(FakeRunner(healthy()), SIZE)
    with pytest.raises(SkipTarget, match="bytes instead of"):
        ost.verify(FakeRunner(healthy(stat=stat(size=5))), path)
    with pytest.raises(SkipTarget, match="is another file than the one that was placed"):
        ost.verify(FakeRunner(healthy(stat=stat(inode=8))), path)
    with pytest.raises(SkipTarget, match="is gone"):
        ost.verify(FakeRunner(healthy(stat=NO_FILE)), path)
    with pytest.raises(SkipTarget, match="no answer"):
        ost.verify(FakeRunner(healthy(stat=HANGING)), path)


def test_nothing_that_was_not_placed_is_ever_proven() -> None:
    with pytest.raises(SkipTarget, match="place it first"):
        target().verify(FakeRunner(healthy()), "/mnt/lustre/other")


def test_traffic_is_known_on_the_server_alone() -> None:
    assert target().traffic(FakeRunner(healthy())) is None
    stats = "snapshot_time" + data("lctl_obdfilter_n_stats.txt").split("snapshot_time")[1]
    assert target().traffic(FakeRunner(healthy(stats=stats))) == 478150656 + 747634688


def test_statistics_that_are_not_understood_cost_no_measurement() -> None:
    assert target().traffic(FakeRunner(healthy(stats="what a new release prints"))) is None


@pytest.mark.parametrize("name", ["lustre-OST3", "OST0003", "lustre-MDT0000", "a/b-OST0003", ""])
def test_a_name_that_is_no_ost_is_refused(name: str) -> None:
    with pytest.raises(DocumentError):
        target_for({"kind": "lustre", "mount": "/mnt/lustre", "ost": name}, "c", 0.9)


STATES = (
    "osc.lustre-OST0003-osc-MDT0000.state=\ncurrent_state: FULL\nstate_history:\n"
    " - [ 1795193999, EVICTED ]\n"
    "osc.lustre-OST0003-osc-ffff888120238800.state=\ncurrent_state: FULL\nstate_history:\n"
    " - [ 1795192513, FULL ]\n - [ 1795193390, DISCONN ]\n - [ 1795193391, EVICTED ]\n"
    " - [ 1795193392, RECOVER ]\n - [ 1795193392, FULL ]\n"
)
IO_ERROR = "fio failed with exit code 1: fio: io_u error on file f: Input/output error"


@pytest.mark.parametrize(
    ("since", "states", "evicted"),
    [
        (1795193380.9, answer(STATES), True),
        (1795193391.7, answer(STATES), True),
        # an earlier eviction is no cause, and neither is that of the MDT on the same node
        (1795193393.0, answer(STATES), False),
        (1795193380.0, answer(stderr="error: get_param: Permission denied", exit_code=13), False),
        (1795193380.0, HANGING, False),
    ],
)
def test_an_eviction_during_the_run_is_named(
    since: float, states: Completed, evicted: bool
) -> None:
    run = FakeRunner({"lctl get_param osc.lustre-OST0003-osc-*.state": states})
    cause = target().cause(run, IO_ERROR, since)
    assert cause.startswith("the server of lustre-OST0003 evicted this client") is evicted
    assert evicted or cause == ""


def test_an_exceeded_quota_says_what_to_raise() -> None:
    run = FakeRunner({"lctl get_param osc.": data("st3_mds_inactive_osc_active.txt")})
    cause = target().cause(run, "fio: io_u error on file f: Disk quota exceeded", 0.0)
    assert cause == (
        "the quota of the measuring user for /mnt/lustre is used up; raise it for user plumbline"
    )


EVERY = "lctl get_param osc.lustre-OST*-osc-*.import"


def lost(**states: str) -> dict[str, Answer]:
    """What the client knows of all OSTs while it has lost OST0003, of one server unless said."""
    text = imports("all")
    for ost, state in states.items():
        head, name, tail = text.partition(f"osc.lustre-{ost}-osc-{CLIENT}.import=")
        text = head + name + tail.replace("state: FULL", f"state: {state}", 1)
    return {**healthy(), EVERY: text, "lfs df --ost=1": HANGING, "lfs df --ost=0": HANGING}


def test_a_server_answers_while_it_is_connected_for_another_ost() -> None:
    assert target().server_answers(FakeRunner(lost(OST0003="DISCONN"))) is True


def test_a_server_that_is_connected_for_none_of_its_osts_does_not_answer() -> None:
    states = {f"OST000{index}": "DISCONN" for index in range(4)}
    assert target().server_answers(FakeRunner(lost(**states))) is False


def test_an_idle_connection_says_nothing_until_its_ost_has_answered() -> None:
    states = {"OST0003": "DISCONN", "OST0001": "DISCONN", "OST0002": "DISCONN", "OST0000": "IDLE"}
    answers = lost(**states)
    assert target().server_answers(FakeRunner(answers)) is None
    answers["lfs df --ost=0"] = data("lfs_df.txt").splitlines()[2]
    assert target().server_answers(FakeRunner(answers)) is True


def test_an_ost_that_gave_up_writing_is_broken() -> None:
    df = data("lfs_df.txt").replace("[OST:3] ", "[OST:3] R")
    with pytest.raises(BrokenTarget, match="is read-only, says lfs df"):
        target().state(FakeRunner(healthy(df=df)))
