"""A file over several OSTs is made, proven and refused as one on a single OST is."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, SkipTarget
from plumbline.parallel.crew import Member, Share
from plumbline.parallel.terms import TESTS
from tests.package.fakes import NO_FILE, Answer, FakeRunner, answer, file_status
from tests.package.measure.targets import FILES, of_ost
from tests.package.measure.units import expectation
from tests.package.recorded import data, text

NAMES = [f"lustre-OST000{index}" for index in range(4)]
FILE = "/mnt/lustre/.plumbline/lustre-OST0000.fs-0/probe.dat"
SIZE = 1 << 30


def described(names: list[str]) -> dict[str, Any]:
    return {
        "kind": "lustre-striped",
        "mount": "/mnt/lustre",
        "osts": ",".join(names),
        "stripe_bytes": 1 << 20,
    }


def target(names: Optional[list[str]] = None, limit: float = 0.9) -> Any:
    return target_for(described(names or NAMES), "lustre-OST0000.fs-0", limit)


def stat() -> Completed:
    return answer(file_status(SIZE, SIZE // 512))


def all_healthy(**changes: Answer) -> dict[str, Answer]:
    """What a healthy client answers about four OSTs."""
    answers: dict[str, Answer] = {}
    made: list[str] = []

    def truncate(argv: tuple[str, ...]) -> Completed:
        made.append(argv[-1])
        return answer()

    for index, name in enumerate(NAMES):
        active = data("lustre/st3_mds_inactive_osc_active.txt").replace("OST0003", name[-7:])
        own = of_ost(
            name,
            active=active,
            imports=text(FILES["lustre"]["parts"]["up"]).replace("OST0003", name[-7:]),
            getstripe=data("lustre/lfs_getstripe_v_wide.txt"),
        )
        own.pop("lfs df --ost=")
        answers.update(own)
        answers[f"lfs df --ost={index}"] = data("lustre/lfs_df.txt").splitlines()[2 + index]
    answers["truncate"] = truncate
    answers["stat --format="] = lambda argv: stat() if made else NO_FILE
    return {**answers, **changes}


def test_the_file_has_one_stripe_on_each_ost() -> None:
    run = FakeRunner(all_healthy())
    assert target().place(run, SIZE) == FILE
    (made,) = run.called("lfs setstripe")
    assert made == "lfs setstripe -c 4 -S 1048576 -L raid0 -o 0,1,2,3 probe.dat"


def test_the_state_is_that_of_the_fullest_and_of_all_settings() -> None:
    state = target().state(FakeRunner(all_healthy()))
    assert state.fill == pytest.approx(469352 / (469352 + 3136620))
    assert "nid" not in state.versions
    assert state.versions["server"] == "2.17.57.0"


def test_one_ost_that_cannot_be_measured_keeps_all_from_it() -> None:
    inactive = data("lustre/st2_client_inactive_lfs_osts.txt")
    with pytest.raises(SkipTarget, match="INACTIVE on this client"):
        target().state(FakeRunner(all_healthy(**{"lfs osts /mnt/lustre": inactive})))


def test_each_ost_must_have_room_for_its_stripe() -> None:
    """The first has 3136620 KiB left: a stripe on each is a quarter of the file."""
    run = FakeRunner(all_healthy())
    target(limit=1.0).refuse_without_room(run, 4 * 3136620 * 1024)
    with pytest.raises(SkipTarget, match="free space, or raise fill_limit"):
        target(limit=1.0).refuse_without_room(run, 4 * 3136620 * 1024 + 1)


@pytest.mark.parametrize(
    ("names", "layout", "reason"),
    [
        (NAMES[:3], "lfs_getstripe_v_wide.txt", "has 4 stripes .raid0. instead of 3"),
        (NAMES, "lfs_getstripe.txt", "has 1 stripes .raid0. instead of 4"),
        (
            [*NAMES[:3], "lustre-OST0007"],
            "lfs_getstripe_v_wide.txt",
            "lies on OST index 0, 1, 2, 3 instead of 0, 1, 2, 7",
        ),
        (NAMES, "lfs_getstripe_pfl.txt", "composite layout"),
    ],
)
def test_a_file_that_lies_elsewhere_is_not_measured(
    names: list[str], layout: str, reason: str
) -> None:
    striped = target(names)
    answers = all_healthy(**{"lfs getstripe": data(f"lustre/{layout}")})
    answers["lfs df --ost=7"] = answers["lfs df --ost=3"] = data("lustre/lfs_df.txt").splitlines()[
        5
    ]
    if "lustre-OST0007" in names:
        answers["lfs df --ost=7"] = (
            data("lustre/lfs_df.txt").splitlines()[5].replace("OST0003", "OST0007")
        )
    with pytest.raises(SkipTarget, match=reason):
        striped.place(FakeRunner(answers), SIZE)


def test_an_ost_that_is_named_twice_is_refused() -> None:
    with pytest.raises(DocumentError, match="name an OST twice"):
        target([*NAMES, NAMES[0]])


def test_ranks_that_share_a_striped_file_have_a_part_of_it_each() -> None:
    """It is named after its first OST, so that the next run there finds what a kill has left."""
    share = Share(ranks=8, rank_bytes=SIZE // 8, shared=TESTS["mpiio-shared-1m2"].shared)
    entry = expectation("lustre-OST0000+3", target=described(NAMES))
    find: dict[str, Answer] = {"find": "lustre-OST0000.fs-7\n", "rmdir": ""}
    run = FakeRunner(all_healthy(**find))
    member = Member(entry, "oss1", share, run)
    member.look()
    member.make()
    assert member.failure is None
    places = list(member.places)
    assert {place.path for place in places} == {FILE}
    assert [place.offset for place in places] == [rank * SIZE // 8 for rank in range(8)]
    assert {place.target for place in places} == {"lustre-OST0000+3"}
