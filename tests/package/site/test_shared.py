"""What a whole group has lost accuses no part of it, unless that explains most of the group."""

from __future__ import annotations

import pytest

from plumbline.locate.observation import Measurable, Observation, Vote
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.site.locate import SharedLoss, less_shared

MEMBERS = ("OST0", "OST1", "OST2", "OST3", "OST4", "OST5")
DISK = "disk0"
LOSS = SharedLoss("ost", "s", "All lost a third.", frozenset(MEMBERS), frozenset({"OST5"}))


def observation(name: str) -> Observation:
    layer = "raw" if name == DISK else "ost"
    of = Measurable(f"{layer} {name} read", layer, name, "read", ("oss1", name), 200e6)
    return Observation(of, Vote.BAD, 130e6, 0.02, 0.0, 0.0, "slow")


OBSERVATIONS = tuple(map(observation, (*MEMBERS, DISK)))


def explaining(*names: str) -> AmbiguitySet:
    every = (*MEMBERS, DISK)
    return AmbiguitySet((("part",),), (), tuple(map(every.index, names)))


@pytest.mark.parametrize(
    ("names", "suspected", "shared"),
    [
        pytest.param(("OST0",), False, True, id="a member as slow as its group"),
        pytest.param(("OST5",), True, True, id="a member that is slower"),
        pytest.param(("OST0", "OST1"), False, True, id="a part of two as slow as their group"),
        pytest.param(("OST0", "OST5"), True, True, id="a part of which one is slower"),
        pytest.param(("OST0", "OST1", "OST2"), False, True, id="a part of half of the group"),
        pytest.param(("OST0", "OST1", "OST2", "OST3"), True, False, id="a part of most of it"),
        pytest.param((DISK,), True, True, id="a device, which is in no such group"),
        pytest.param(("OST0", DISK), True, True, id="a part that slows a device as well"),
    ],
)
def test_a_part_is_suspected_of_more_than_its_group_has_lost(
    names: tuple[str, ...], *, suspected: bool, shared: bool
) -> None:
    of = explaining(*names)
    located, losses = less_shared(Located(OBSERVATIONS, (of,), ()), [LOSS])
    assert located.sets == ((of,) if suspected else ())
    assert losses == ((LOSS,) if shared else ())


def test_without_a_shared_loss_all_suspects_remain() -> None:
    sets = (explaining("OST0"), explaining("OST1", "OST2"))
    assert less_shared(Located(OBSERVATIONS, sets, ()), []) == (
        Located(OBSERVATIONS, sets, ()),
        (),
    )
