"""Quotas of projects and groups as ``lfs quota`` of several releases prints them."""

from __future__ import annotations

import pytest

from plumbline.model.command import Completed
from plumbline.model.space import QUOTA, Amount, SpaceTerms, TargetSpace
from plumbline.model.units import HOUR_S
from plumbline.model.verdict import State
from plumbline.parts.space.outlook import Look, system_space
from plumbline.parts.space.quotas import parse_quota, read_quotas
from plumbline.parts.space.verdict import judge_space
from tests.package.fakes import Answer, FakeRunner, answer

NEW = """Disk quotas for prj 1001 (pid 1001):
     Filesystem  kbytes  bquota  blimit  bgrace   files  iquota  ilimit  igrace
       /scratch {bytes}  {inodes}
"""
OLD = """Disk quotas for group climate (gid 501):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
/mnt/storage_5/scratch
                {bytes}  {inodes}
gid 501 is using default file quota setting
"""
FREE = "0       0       -"
NOW = 1_790_000_000.0


def read(space: str, inodes: str = f"12 {FREE}", form: str = NEW) -> TargetSpace:
    point = "/scratch" if form is NEW else "/mnt/storage_5/scratch"
    return parse_quota(form.format(bytes=space, inodes=inodes), point, "project 1001")


@pytest.mark.parametrize("form", [NEW, OLD])
def test_a_quota_is_a_target_as_large_as_its_hard_limit(form: str) -> None:
    found = read("300000    400000  500000       -", "24566  0 1048576 -", form)
    assert (found.name, found.kind, found.trouble) == ("project 1001", QUOTA, "")
    assert found.space == Amount(300000 * 1024, 200000 * 1024)
    assert found.inodes == Amount(24566, 1048576 - 24566)
    assert found.grace_s is None


@pytest.mark.parametrize(
    ("columns", "amount", "grace_s"),
    [
        ("500000* 0 500000 -", Amount(500000 * 1024, 0), None),
        ("500100* 0 500000 -", Amount(500100 * 1024, 0), None),
        ("450000* 400000 500000 6d23h59m1s", Amount(450000 * 1024, 50000 * 1024), 604741.0),
        # the grace is over, so the soft limit holds
        ("450000* 400000 500000 none", Amount(450000 * 1024, 0), None),
        ("450000* 400000 500000 expired", Amount(450000 * 1024, 0), None),
        ("300000 400000 0 -", Amount(300000 * 1024, 100000 * 1024), None),
    ],
    ids=["hard", "above hard", "in grace", "grace over", "grace over since 2.16", "soft alone"],
)
def test_limits_and_grace(columns: str, amount: Amount, grace_s: float) -> None:
    found = read(columns)
    assert (found.space, found.inodes, found.grace_s) == (amount, None, grace_s)


@pytest.mark.parametrize(
    ("columns", "form", "says"),
    [
        (f"300000 {FREE}", NEW, "it has no limit; set one with lfs setquota"),
        (f"300000 {FREE}", OLD, "it has no limit of its own; set one with lfs setquota"),
        ("[300000] 0 500000 -", NEW, "not all targets of the file system answered"),
        ("300000 0", NEW, "output that is not understood"),
        ("many 0 500000 -", NEW, "'many'"),
    ],
)
def test_a_quota_that_is_not_known_has_a_reason(columns: str, form: str, says: str) -> None:
    inodes = "" if columns == "300000 0" else f"12 {FREE}"
    found = read(columns, inodes, form)
    assert (found.space, found.inodes) == (None, None)
    assert says in found.trouble


def test_another_mount_is_not_understood() -> None:
    text = NEW.format(bytes=f"1 {FREE}", inodes=f"1 {FREE}")
    assert "not understood" in parse_quota(text, "/home", "project 1001").trouble


DENIED = answer(stderr="Permission denied.\n", exit_code=1)
OFF = answer(stderr="prj quotas are not enabled.\n", exit_code=3)
LATE: Completed = answer()._replace(exit_code=None, timed_out=True, hung=True, seconds=10.0)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (DENIED, "lfs shows the quota of a group to its members and to root alone"),
        (OFF, "quotas of groups are not enabled"),
        (answer(stderr="lfs quota: invalid id 'climat'\n", exit_code=1), "invalid id 'climat'"),
    ],
)
def test_what_lfs_refuses_is_said(reply: Answer, says: str) -> None:
    run = FakeRunner({"lfs quota -g climate /scratch": reply})
    (found,) = read_quotas(run, "/scratch", ["group climate"])
    assert (found.name, found.kind) == ("group climate", QUOTA)
    assert says in found.trouble


def test_after_one_without_an_answer_the_others_are_not_asked() -> None:
    run = FakeRunner({"lfs quota -p 1": LATE})
    first, second = read_quotas(run, "/scratch", ["project 1", "project 2"])
    assert "gave no answer in 10 s" in first.trouble
    assert second.trouble == "it was not asked, as project 1 gave no answer"
    assert len(run.calls) == 1


def judged(*columns: str) -> tuple[State, str]:
    quotas = tuple(read(text)._replace(name=f"project {n}") for n, text in enumerate(columns, 1))
    ost = TargetSpace("scratch-OST0000", "ost", Amount(10, 90))
    look = Look(SpaceTerms("scratch"), NOW, (ost, *quotas))
    verdict = judge_space(system_space([look]), NOW, 3 * HOUR_S)
    return verdict.state, verdict.sentence


@pytest.mark.parametrize(
    ("columns", "state", "says"),
    [
        ("300000 400000 500000 -", State.OK, "scratch: 10 % full, 90 B free; "),
        ("460000 0 500000 -", State.WARNING, "project 1 is 92 % full, 41.0 MB free (limit 90 %)"),
        (
            "450000* 400000 500000 6d",
            State.WARNING,
            "project 1 is full in 6 d, as it is above its soft limit (limit 14 d)",
        ),
        ("450000* 400000 500000 2d", State.CRITICAL, "project 1 is full in 2 d, as it is above"),
        ("450000* 400000 500000 none", State.CRITICAL, "project 1 is full (0 B free)"),
        (f"450000 {FREE}", State.UNKNOWN, "not known: project 1 (it has no limit; set one"),
    ],
)
def test_a_quota_alarms_as_a_target_does(columns: str, state: State, says: str) -> None:
    found, sentence = judged(columns)
    assert (found, says in sentence) == (state, True), sentence


def test_the_fill_of_the_whole_is_that_of_its_targets() -> None:
    _, sentence = judged("499000 0 500000 -", "100000 0 500000 -")
    assert sentence.startswith("scratch: project 1 is 99 % full")
