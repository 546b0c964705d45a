"""A brick is measured only when the client is connected to it, and the file lies on it alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.command import Completed, Within
from plumbline.model.errors import (
    BrokenTarget,
    DisturbedTarget,
    DocumentError,
    LostTarget,
    NoMount,
    SkipTarget,
)
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

DATA = Path(__file__).parents[2] / "data/glusterfs"
GRAPH = "/mnt/scratch/.meta/graphs/active"
FOLDER = "/mnt/scratch/.plumbline/scratch-OST0003"
FILE = f"{FOLDER}/probe.dat"
SIZE = 128 << 20


def data(name: str) -> str:
    return (DATA / name).read_text()


def stat(size: int = SIZE) -> Completed:
    # an inode is a hash of 64 bits there
    return answer(file_status(size, 0, inode=12406096516039519570))


def healthy(**changes: Answer) -> dict[str, Answer]:
    answers: dict[str, tuple[str, Answer]] = {
        "mounts": ("cat /proc/self/mountinfo", data("mountinfo.txt")),
        "version": ("cat /mnt/scratch/.meta/version", data("version.txt")),
        "client": (f"cat {GRAPH}/scratch-client-3/private", data("client-3-private.txt")),
        "host": (f"cat {GRAPH}/scratch-client-3/options/remote-host", "oss2\n"),
        "brick": (f"cat {GRAPH}/scratch-client-3/options/remote-subvolume", "/data/disk2/brick\n"),
        "dht": (f"cat {GRAPH}/scratch-dht/private", data("dht-private.txt")),
        "pathinfo": ("getfattr --absolute-names", data("pathinfo.txt")),
        "stat": ("stat --format=", stat()),
        "touch": ("touch", ""),
        "rm": ("rm -f", ""),
        "truncate": ("truncate", ""),
        "names": ("getent hosts", "10.77.0.12      oss2.lab oss2\n"),
    }
    return {start: changes.get(key, value) for key, (start, value) in answers.items()}


def target(limit: float = 0.9, /, **keys: str) -> Any:
    description = {"kind": "glusterfs", "mount": "/mnt/scratch", "subvolume": "scratch-client-3"}
    return target_for({**description, **keys}, "scratch-OST0003", limit)


def test_the_state_is_that_of_one_brick_not_of_the_volume() -> None:
    run = FakeRunner(healthy())
    state = target(brick="oss2:/data/disk2/brick").state(run)
    share = data("dht-private.txt").split("du_stats[3].avail_percent = ")[1].split(".")[0]
    assert state.fill == pytest.approx(1 - int(share) / 100)
    assert state.versions == {"client": "11.1"}


def test_the_client_is_made_to_look_at_its_bricks_by_a_trial_that_is_removed() -> None:
    run = FakeRunner(healthy())
    target().state(run)
    folder = Within("/mnt/scratch", (".plumbline", "scratch-OST0003"), file="probe.dat")
    assert run.called("touch") == ["touch -- trial@scratch-dht:scratch-client-3"]
    assert run.called("rm") == ["rm -f -- trial"]
    assert run.placed("touch") == [folder._replace(make=True)]
    assert run.placed("rm") == [folder]


@pytest.mark.parametrize(
    ("changes", "keys", "reason"),
    [
        ({"mounts": "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"}, {}, "nothing is mounted"),
        ({"mounts": data("mountinfo.txt").replace("fuse.glusterfs", "ext4")}, {}, "not GlusterFS"),
        (
            {"mounts": data("mountinfo.txt").replace("scratch rw,rel", "scratch ro,rel")},
            {},
            "read-o",
        ),
        ({"client": "connected = 0\n"}, {}, "no connection to scratch-client-3"),
        ({"client": answer(stderr="cat: x: No such file", exit_code=1)}, {}, "No such file"),
        ({}, {"brick": "oss1:/data/disk2/brick"}, "is the brick oss2:/data/disk2/brick, not oss1"),
        ({"version": "?"}, {}, "not understood"),
        ({"touch": unsafe("/mnt/scratch/.plumbline belongs to eve")}, {}, "belongs to eve"),
        ({"touch": answer(stderr="touch: No space left", exit_code=1)}, {}, "No space left"),
        ({"touch": HANGING}, {}, "no answer"),
        ({"dht": "subvol_cnt = 6\n"}, {}, "does not say how full"),
        ({"dht": data("dht-private.txt").replace("du_stats[3].avail_space", "x")}, {}, "how full"),
    ],
)
def test_a_brick_that_cannot_be_measured_is_skipped_with_the_reason(
    changes: dict[str, Answer], keys: dict[str, str], reason: str
) -> None:
    with pytest.raises(SkipTarget, match=reason):
        target(**keys).state(FakeRunner(healthy(**changes)))


@pytest.mark.parametrize("share", ["9", "0"])
def test_a_brick_above_the_fill_limit_is_skipped(share: str) -> None:
    lines = data("dht-private.txt").splitlines()
    text = "\n".join(
        f"du_stats[3].avail_percent = {share}.000000" if "[3].avail_percent" in line else line
        for line in lines
    )
    with pytest.raises(SkipTarget, match="full, the limit is 90%"):
        target().state(FakeRunner(healthy(dht=text)))


def test_a_missing_file_is_created_on_its_brick() -> None:
    run = FakeRunner(healthy(stat=[NO_FILE, stat()]))
    assert target().place(run, SIZE) == FILE
    assert run.called("touch") == ["touch -- probe.dat@scratch-dht:scratch-client-3"]
    assert run.called("truncate") == [f"truncate --size={SIZE} -- probe.dat"]


def test_a_file_on_another_brick_is_removed_before_it_is_created_anew() -> None:
    wrong = answer(data("pathinfo.txt").replace("oss2", "oss1"))
    gone = NO_FILE
    right = answer(data("pathinfo.txt"))
    run = FakeRunner(healthy(stat=[stat(), gone, stat()], pathinfo=[wrong, right]))
    target().place(run, SIZE)
    commands = [call.split()[0] for call in run.calls]
    assert commands.index("rm") < commands.index("touch")


def test_a_twin_on_another_brick_is_not_left_there() -> None:
    """Two bricks can hold a file of one name; removing it once uncovers the other."""
    wrong = answer(data("pathinfo.txt").replace("oss2", "oss1"))
    run = FakeRunner(healthy(pathinfo=wrong))
    with pytest.raises(SkipTarget, match="still there after it was removed"):
        target().place(run, SIZE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            answer(data("pathinfo.txt").replace("oss2", "oss3")),
            "lies on oss3:/data/disk2/brick instead",
        ),
        (answer(data("pathinfo.txt").replace("disk2", "disk1")), "lies on oss2:/data/disk1/brick"),
        (answer(data("pathinfo.txt") * 2), "lies on oss2:/data/disk2/brick, oss2"),
        (answer("(<DISTRIBUTE:scratch-dht>)"), "does not tell where it lies"),
        (answer(stderr="probe.dat: No such attribute", exit_code=1), "No such attribute"),
    ],
)
def test_a_file_that_moved_voids_the_run(text: Completed, reason: str) -> None:
    right = answer(data("pathinfo.txt"))
    run = FakeRunner(healthy(pathinfo=[right, right, text]))
    brick = target()
    path = brick.place(run, SIZE)
    with pytest.raises(SkipTarget, match=reason):
        brick.verify(run, path)


def test_a_server_named_by_address_is_proven_by_its_names() -> None:
    brick = target()
    path = brick.place(FakeRunner(healthy(host="10.77.0.12\n")), SIZE)
    with pytest.raises(SkipTarget, match="lies on oss2:/data/disk2/brick instead of 10"):
        brick.verify(FakeRunner(healthy(host="10.77.0.11\n", names="10.77.0.11 oss1\n")), path)


def test_a_server_may_be_named_with_its_domain() -> None:
    target().place(FakeRunner(healthy(host="oss2.example.org\n")), SIZE)


def test_traffic_of_a_brick_is_not_known_to_the_client() -> None:
    assert target().traffic(FakeRunner({})) is None


def test_a_subvolume_of_another_kind_is_refused() -> None:
    with pytest.raises(DocumentError, match="not a subvolume of a distribute volume"):
        target(subvolume="scratch-replicate-0")


def beside(connected: int) -> dict[str, Answer]:
    """What the client knows of all bricks: two on each server, those of oss2 connected or not."""
    found: dict[str, Answer] = {"stat --file-system": answer()}
    for index in range(6):
        folder = f"cat {GRAPH}/scratch-client-{index}"
        found[f"{folder}/options/remote-host"] = f"oss{index // 2 + 1}\n"
        known = 0 if index == 3 else connected if index == 2 else 1
        found[f"{folder}/private"] = f"connected = {known}\n"
    return found


@pytest.mark.parametrize(("connected", "answers"), [(1, True), (0, False)])
def test_a_server_answers_while_another_of_its_bricks_is_connected(
    connected: int, answers: bool
) -> None:
    run = FakeRunner({**healthy(), **beside(connected)})
    with pytest.raises(LostTarget):
        target().state(run)
    assert target().server_answers(run) is answers
    # a brick that is asked nothing is missed by nobody
    assert run.calls.index("stat --file-system -- /mnt/scratch") < len(run.calls) - 1


def test_of_a_server_with_one_brick_nobody_knows_whether_it_answers() -> None:
    alone = {f"cat {GRAPH}/scratch-client-2/options/remote-host": "oss9\n"}
    assert target().server_answers(FakeRunner({**healthy(), **beside(0), **alone})) is None


def test_a_client_that_has_died_is_no_fault_of_a_brick() -> None:
    dead = "cat: /mnt/scratch/.meta/version: Transport endpoint is not connected\n"
    with pytest.raises(NoMount, match="has died; unmount and mount it again"):
        target().state(FakeRunner(healthy(version=answer(stderr=dead, exit_code=1))))


def test_an_io_error_of_the_brick_is_told_from_one_of_the_folder_that_all_bricks_share() -> None:
    own = answer("", "stat: cannot statx 'probe.dat': Input/output error\n", 1)
    with pytest.raises(BrokenTarget, match="Input/output error"):
        target().state(FakeRunner(healthy(stat=own)))
    for shared in ("stat: cannot statx '..'", "/mnt/scratch/.plumbline", FOLDER):
        failed = answer("", f"{shared}: Input/output error\n", 1)
        with pytest.raises(DisturbedTarget, match="Input/output error"):
            target().state(FakeRunner(healthy(stat=failed)))
    touch = answer("", "touch: cannot touch 'trial': Read-only file system\n", 1)
    with pytest.raises(BrokenTarget, match="Read-only file system"):
        target().state(FakeRunner(healthy(touch=touch)))


def test_a_folder_that_cannot_be_made_while_another_brick_is_down_accuses_nobody() -> None:
    refused = answer(stderr=f"{FOLDER}: Transport endpoint is not connected\n", exit_code=1)
    with pytest.raises(DisturbedTarget, match="not connected"):
        target().state(FakeRunner(healthy(touch=refused)))


DOWN = (
    "touch: cannot touch '{}@scratch-dht:scratch-client-3': Transport endpoint is not connected\n"
)
LOST = "touch: cannot touch '{}@scratch-dht:scratch-client-3': Input/output error\n"


def refusing(*names: str, said: str) -> dict[str, Answer]:
    """What touch says while a brick to which these names hash is not in order."""
    return {f"touch -- {name}@": answer(stderr=said.format(name), exit_code=1) for name in names}


def refusing_all(said: str) -> dict[str, Answer]:
    """What touch says while no name at all can be made."""

    def refuse(argv: tuple[str, ...]) -> Completed:
        return answer(stderr=said.format(argv[-1].partition("@")[0]), exit_code=1)

    return {"touch": refuse}


@pytest.mark.parametrize("said", [DOWN, LOST])
def test_a_trial_that_hashes_to_a_brick_that_is_gone_is_made_by_another_name(said: str) -> None:
    run = FakeRunner({**healthy(), **refusing("trial", "trial-1", said=said)})
    assert target().state(run).fill is not None
    names = ("trial", "trial-1", "trial-2")
    assert run.called("touch") == [
        f"touch -- {name}@scratch-dht:scratch-client-3" for name in names
    ]
    assert run.called("rm") == ["rm -f -- trial-2"]


@pytest.mark.parametrize("said", [DOWN, LOST])
def test_a_file_that_hashes_to_a_brick_that_is_gone_accuses_nobody(said: str) -> None:
    run = FakeRunner({**healthy(stat=NO_FILE), **refusing("probe.dat", said=said)})
    with pytest.raises(DisturbedTarget, match="scratch-client-3 works: the name hashes to"):
        target().place(run, SIZE)


def test_a_brick_that_takes_no_file_of_any_name_is_broken() -> None:
    run = FakeRunner({**healthy(stat=NO_FILE), **refusing_all(LOST)})
    with pytest.raises(BrokenTarget, match=r"Input/output error$"):
        target().place(run, SIZE)
    assert len(run.called("touch")) == 1 + 6
    with pytest.raises(BrokenTarget, match=r"Input/output error$"):
        target().state(FakeRunner({**healthy(), **refusing_all(LOST)}))


def test_bricks_that_are_down_elsewhere_are_no_fault_of_one_that_is_connected() -> None:
    """Also where all names hash to them, as with one server of two."""
    lost = answer(stderr="stat: cannot statx 'probe.dat': Transport endpoint is not connected\n")
    for changes in (refusing_all(DOWN), {"stat --format=": lost._replace(exit_code=1)}):
        with pytest.raises(DisturbedTarget, match="another brick"):
            target().state(FakeRunner({**healthy(), **changes}))


def test_a_brick_that_goes_down_while_it_is_asked_is_no_fault_of_another() -> None:
    first, then = answer(data("client-3-private.txt")), answer("connected = 0\n")
    run = FakeRunner({**healthy(client=[first, then]), **refusing_all(DOWN)})
    with pytest.raises(BrokenTarget, match=r"not connected$"):
        target().state(run)


def test_every_name_of_a_trial_is_removed_with_the_file() -> None:
    """A killed run may have left any of them."""
    run = FakeRunner(healthy(stat=[stat(SIZE // 2), NO_FILE, stat()]))
    target().place(run, SIZE)
    assert run.called("rm") == [REMOVED]
