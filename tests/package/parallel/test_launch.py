from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.parallel.launch import Client, Launch, parse_clients


@pytest.mark.parametrize(
    ("text", "separator", "clients"),
    [
        ("", ",", ()),
        ("c1,c2", ",", (Client("c1"), Client("c2"))),
        ("c1:4,c2:2", ",", (Client("c1", 4), Client("c2", 2))),
        ("# ours\nc1 slots=4\n\nc2:1 # the other\n", "\n", (Client("c1", 4), Client("c2", 1))),
        ("10.0.0.1:3", ",", (Client("10.0.0.1", 3),)),
    ],
)
def test_clients_are_read_as_launchers_read_them(
    text: str, separator: str, clients: tuple[Client, ...]
) -> None:
    assert parse_clients(text, separator) == clients


@pytest.mark.parametrize("text", ["c1;c2", "-np", "c1:0", "c1,c1:2", "c1:x", "c1:6,c2"])
def test_what_is_no_client_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"is no client|is named twice|c2 has no number of"):
        parse_clients(text)


def test_ranks_are_shared_out_equally_where_nobody_says_how() -> None:
    launch = Launch(clients=parse_clients("c1,c2,c3"))
    assert launch.slots(7) == (("c1", 3), ("c2", 2), ("c3", 2))
    assert launch.slots(2) == (("c1", 1), ("c2", 1))
    with pytest.raises(DocumentError, match="slots for fewer than 5 ranks"):
        Launch(clients=parse_clients("c1:2,c2:2")).slots(5)
