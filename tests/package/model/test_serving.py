"""OSTs are compared with the servers that Lustre names; what may be right is no difference."""

from __future__ import annotations

from typing import Mapping

import pytest

from plumbline.model.serving import serving

A, B, C = "10.0.0.1@tcp", "10.0.0.2@tcp", "10.9.0.1@o2ib"
DRAWN = {"f-OST0": "oss1", "f-OST1": "oss1", "f-OST2": "oss2", "f-OST3": "oss2"}
ADDRESSES = {"10.0.0.1": "oss1", "10.0.0.2": "oss2"}
WRONG = ": a fault would be blamed on the wrong server"


@pytest.mark.parametrize(
    ("seen", "differences", "proven"),
    [
        ({"f-OST0": [A], "f-OST1": [A], "f-OST2": [B], "f-OST3": [B]}, [], 4),
        # a server that took over, and one that is listed second among two that take over
        ({"f-OST0": [A, B], "f-OST3": [A, B]}, [], 2),
        (
            {"f-OST0": [A], "f-OST1": [B], "f-OST2": [A], "f-OST3": [B]},
            [
                f"f-OST1 is served by oss2 ({B}), but the topology has it behind oss1{WRONG}",
                f"f-OST2 is served by oss1 ({A}), but the topology has it behind oss2{WRONG}",
            ],
            2,
        ),
        (
            {"f-OST2": [A], "f-OST3": [A]},
            [
                f"f-OST2, f-OST3 are served by oss1 ({A}), but the topology has them behind "
                f"oss2{WRONG}"
            ],
            0,
        ),
        # of an address that is not in the topology only so much is known: it is one host
        ({"f-OST0": [C], "f-OST1": [C]}, [], 0),
        (
            {"f-OST1": [C], "f-OST2": [C]},
            [
                f"f-OST1, f-OST2 are all served by {C}, but the topology has them behind oss1, "
                f"oss2{WRONG}"
            ],
            0,
        ),
        # one of the two may be the drawn server
        ({"f-OST1": [C, B], "f-OST2": [C, A]}, [], 0),
        # not in the topology, or nothing is known
        ({"f-OST9": [A], "f-OST0": []}, [], 0),
    ],
)
def test_only_a_certain_difference_is_named(
    seen: Mapping[str, list[str]], differences: list[str], proven: int
) -> None:
    found = serving(DRAWN, seen, ADDRESSES)
    assert (list(found.differences), len(found.proven)) == (differences, proven)
