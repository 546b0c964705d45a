"""What lnetctl printed becomes health; an output that is not whole is refused."""

from __future__ import annotations

import re

import pytest

from plumbline.model.errors import ToolError
from plumbline.observe.counters import Parse
from plumbline.observe.lnet import MOST_PEERS, interface_health, peer_health
from tests.package.observe.lustre_server import text
from tests.package.observe.test_counters import counted

NET = text("lnetctl_net_show.txt")
PEER = text("lnetctl_peer_show.txt")

OLDER = """\
net:
    - net type: o2ib
      local NI(s):
        - nid: 10.0.0.7@o2ib
          status: down
          interfaces:
              0: ib0
          statistics:
              send_count: 1
          health stats:
              health value: 700
              interrupts: 1
              dropped: 2
              aborted: 3
              no route: 4
              timeouts: 5
              error: 6
        - nid: 2001:db8::1@tcp
          health stats:
              health value: 0
              interrupts: 0
              dropped: 0
              aborted: 0
              no route: 0
              timeouts: 0
              error: 0
          tunables:
              error: 9
"""
"""As release 2.12 indents it, by its source: no fatal_error; and with a nid of IPv6."""


def test_each_interface_has_its_health_and_its_errors() -> None:
    found = counted(interface_health, NET)
    assert found["lnet_interface_health", "10.0.2.15@tcp"] == 1000
    assert found["lnet_interface_fatal_error", "0@lo"] == 0
    assert found["lnet_interface_errors_total", "10.0.2.15@tcp", "no_route"] == 0
    assert len(found) == 2 * 8


def test_the_form_of_an_older_release_is_read() -> None:
    found = counted(interface_health, OLDER)
    kinds = ("interrupts", "dropped", "aborted", "no_route", "timeouts", "error")
    errors = [found["lnet_interface_errors_total", "10.0.0.7@o2ib", kind] for kind in kinds]
    assert errors == [1, 2, 3, 4, 5, 6]
    assert found["lnet_interface_health", "10.0.0.7@o2ib"] == 700
    assert found["lnet_interface_health", "2001:db8::1@tcp"] == 0
    assert found["lnet_interface_errors_total", "2001:db8::1@tcp", "error"] == 0


def test_peers_in_full_health_are_only_counted() -> None:
    assert counted(peer_health, PEER) == {("lnet_peers",): 3, ("lnet_peers_unhealthy",): 0}
    assert counted(peer_health, "") == {("lnet_peers",): 0, ("lnet_peers_unhealthy",): 0}


def test_of_many_peers_the_least_healthy_are_named() -> None:
    one = PEER.split("\n", 1)[1].split("-     primary nid: 10.0.2.99@tcp")[0]
    many = "peer:\n" + "".join(
        one.replace("10.0.2.15", f"10.0.3.{number}").replace(
            "health value: 1000", f"health value: {900 - number}"
        )
        for number in range(100)
    )
    found = counted(peer_health, many)
    assert (found.pop(("lnet_peers",)), found.pop(("lnet_peers_unhealthy",))) == (100, 100)
    assert len(found) == MOST_PEERS
    assert found["lnet_peer_health", "10.0.3.99@tcp"] == 801
    assert max(found.values()) == 900 - 100 + MOST_PEERS


@pytest.mark.parametrize(("parse", "said"), [(interface_health, NET), (peer_health, PEER)])
def test_an_output_that_was_cut_is_refused_or_ends_before_an_interface(
    parse: Parse, said: str
) -> None:
    whole = counted(parse, said)
    heads = [match.start() for match in re.finditer(r"^ *(- +)?", said, re.MULTILINE)]
    for end in (*heads[1:], *range(1, len(said), 7)):
        try:
            found = counted(parse, said[:end])
        except ToolError:
            continue
        # all that it tells is true, and it was cut at a line's end
        assert end in heads
        assert all(whole[key] >= value for key, value in found.items())


@pytest.mark.parametrize(
    "said",
    [
        "",
        "net:\n",
        "Permission denied",
        text("lnetctl_net_show_nobody.err"),
        OLDER + OLDER.split("\n", 1)[1],
        OLDER.replace("700", "1001"),
        OLDER.replace("700", "good"),
        OLDER.replace("10.0.0.7@o2ib", "10.0.0.7"),
        OLDER.replace("no route", "no way"),
    ],
)
def test_what_is_not_understood_is_refused(said: str) -> None:
    with pytest.raises(ToolError):
        counted(interface_health, said)


@pytest.mark.parametrize(
    "said", [NET, "error: x\n", PEER.replace("network timeout", "timeout of all"), PEER + PEER[6:]]
)
def test_peers_that_are_not_understood_are_refused(said: str) -> None:
    with pytest.raises(ToolError):
        counted(peer_health, said)
