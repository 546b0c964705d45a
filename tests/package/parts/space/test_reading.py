"""The space of targets as the tools of real file systems print it."""

from __future__ import annotations

import re
from typing import Any, Mapping

import pytest

from plumbline.model.errors import NoMount, SkipTarget
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.space import Amount, TargetSpace
from plumbline.model.spec import ProbeSpec
from plumbline.parts.space.reading import read_lustre, read_targets
from tests.package.fakes import Answer, FakeRunner, answer
from tests.package.recorded import DATA

MOUNTS = "999 24 0:99 / /mnt/lustre rw,relatime - lustre 10.0.2.15@tcp:/lustre rw,flock\n"
OTHER = "998 24 8:1 / /data rw,relatime - xfs /dev/sdb1 rw\n"
MDT, OST = "lustre-MDT0000", "lustre-OST0003"


def recorded(name: str) -> str:
    return (DATA / "lustre" / name).read_text(encoding="ascii")


def client(df: Answer, **answers: Answer) -> FakeRunner:
    """Return a client whose ``lfs df -v`` answers so."""
    return FakeRunner(
        {
            "cat /proc/self/mountinfo": MOUNTS + OTHER,
            "lfs osts": recorded("lfs_osts.txt"),
            "lfs mdts": recorded("lfs_mdts.txt"),
            "lfs df -v": df,
            "lfs df -i": recorded("lfs_df_i.txt"),
            "lfs pool_list": answer(stderr="No pools\n", exit_code=2),
            **{name.replace("lfs_", "lfs "): reply for name, reply in answers.items()},
        }
    )


def by_name(run: FakeRunner) -> Mapping[str, TargetSpace]:
    return {target.name: target for target in read_lustre(run, "/mnt/lustre")}


def test_all_targets_have_space_and_inodes_those_of_metadata_first() -> None:
    targets = read_lustre(client(recorded("lfs_df.txt")), "/mnt/lustre")
    assert [target.name for target in targets] == [MDT, *(f"{OST[:-1]}{n}" for n in range(4))]
    assert targets[0].kind == "mdt"
    assert targets[0].inodes == Amount(293, 838571)
    assert targets[1].space == Amount(469352 * 1024, 3136620 * 1024)
    assert not any(target.trouble for target in targets)


def test_a_target_that_fills_during_the_look_is_full() -> None:
    full = by_name(client(recorded("st5_ost_full_lfs_df2.txt")))[OST]
    assert full.space == Amount(3606144 * 1024, 876 * 1024)
    assert full.inodes is not None


def test_letters_after_a_line_are_kept() -> None:
    degraded = by_name(client(recorded("st1_degraded_lfs_df.txt")))
    assert degraded["lustre-OST0001"].flags == "D"
    assert degraded["lustre-OST0000"].flags == ""


def test_an_inactive_target_is_not_known() -> None:
    run = client(
        recorded("st2_client_inactive_lfs_df_v.txt"),
        lfs_osts=recorded("st2_client_inactive_lfs_osts.txt"),
    )
    lost = by_name(run)[OST]
    assert (lost.space, lost.inodes, lost.inactive) == (None, None, True)
    assert lost.trouble == "it is inactive on this client"


def test_the_error_of_a_target_is_its_reason() -> None:
    lost = by_name(client(recorded("st2_client_inactive_lfs_df_v.txt")))[OST]
    assert (lost.space, lost.inactive) == (None, False)
    assert lost.trouble == "Cannot send after transport endpoint shutdown"


def test_a_hanging_target_leaves_those_before_it_and_is_not_asked_again() -> None:
    text = recorded("st4_ost_down_lfs_df.txt")
    late = answer(text)._replace(exit_code=None, timed_out=True, hung=True, seconds=23.0)
    run = client(late)
    targets = by_name(run)
    assert targets["lustre-OST0002"].space == Amount(571756 * 1024, 3035264 * 1024)
    assert targets[OST] == TargetSpace(OST, "ost", trouble="lfs df gave no answer for it in 23 s")
    assert run.called("lfs df -i") == []


POOLS: dict[str, Answer] = {
    "lfs pool_list lustre": "Pools from lustre:\nlustre.flash\nlustre.disk\n",
    "lfs pool_list lustre.flash": "Pool: lustre.flash\nlustre-OST0000_UUID\nlustre-OST0001_UUID\n",
    "lfs pool_list lustre.disk": f"Pool: lustre.disk\nlustre-OST0002_UUID\n{OST}_UUID\n",
}


def test_a_pool_is_the_sum_of_its_osts() -> None:
    targets = by_name(client(recorded("lfs_df.txt"), **POOLS))
    assert [*targets][-2:] == ["lustre.flash", "lustre.disk"]
    flash = targets["lustre.flash"]
    assert flash.kind == "pool"
    assert flash.space == Amount((469352 + 468332) * 1024, (3136620 + 3138688) * 1024)


def test_a_pool_with_a_silent_ost_is_not_known_and_with_an_inactive_one_smaller() -> None:
    text = recorded("st2_client_inactive_lfs_df_v.txt")
    disk = by_name(client(text, **POOLS))["lustre.disk"]
    assert (disk.space, disk.trouble) == (None, f"{OST} is not known")
    inactive = {"lfs_osts": recorded("st2_client_inactive_lfs_osts.txt"), **POOLS}
    disk = by_name(client(text, **inactive))["lustre.disk"]
    assert disk.space == Amount(132464 * 1024, 3474556 * 1024)


@pytest.mark.parametrize(
    ("answers", "error", "text"),
    [
        ({"cat /proc/self/mountinfo": OTHER}, NoMount, "nothing is mounted at /mnt/lustre"),
        (
            {"cat /proc/self/mountinfo": OTHER.replace("/data", "/mnt/lustre")},
            SkipTarget,
            "/mnt/lustre is /dev/sdb1 (xfs), not Lustre",
        ),
        ({"lfs osts": "", "lfs mdts": ""}, SkipTarget, "lists no targets"),
        ({"lfs osts": answer(stderr="lfs: failed\n", exit_code=1)}, SkipTarget, "lfs osts"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    answers: dict[str, Answer], error: type[SkipTarget], text: str
) -> None:
    run = client(recorded("lfs_df.txt"), **answers)
    with pytest.raises(error, match=re.escape(text)):
        read_lustre(run, "/mnt/lustre")


def entry(name: str, **target: Any) -> Expectation:
    return Expectation(
        "ost", name, "oss1", "data", target, (), ProbeSpec("fio", 1, 1.0), {}, Limits()
    )


def test_a_directory_is_read_by_statvfs() -> None:
    run = FakeRunner(
        {
            "cat /proc/self/mountinfo": OTHER,
            "stat --file-system --format=%c %d": "1000 400\n",
            "stat --file-system --format=%S %b %f %a": "4096 1000 300 250\n",
        }
    )
    entries = [entry("a", kind="directory", directory="/data/a")]
    (target,) = read_targets(run, entries)
    assert target == TargetSpace("a", "", Amount(700 * 4096, 250 * 4096), Amount(600, 400))


def test_a_directory_on_another_device_is_not_known() -> None:
    run = FakeRunner({"cat /proc/self/mountinfo": OTHER})
    entries = [entry("a", kind="directory", directory="/data/a", source="/dev/sdc1")]
    (target,) = read_targets(run, entries)
    assert target.space is None
    assert target.trouble == "/data/a lies on /dev/sdb1, not on /dev/sdc1; mount that"


def test_a_file_system_may_count_no_inodes() -> None:
    run = FakeRunner(
        {
            "cat /proc/self/mountinfo": OTHER,
            "stat --file-system --format=%c %d": "0 0\n",
            "stat --file-system --format=%S %b %f %a": "4096 1000 300 250\n",
        }
    )
    (target,) = read_targets(run, [entry("a", kind="directory", directory="/data/a")])
    assert (target.inodes, target.trouble) == (None, "")
