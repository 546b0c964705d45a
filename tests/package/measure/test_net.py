"""A host measures its partner of the slot in both directions once the partner answers."""

from __future__ import annotations

import socket
from typing import Any, Iterator

import pytest

from plumbline.measure.net import ANSWER_LIMIT_S, PairUnit
from plumbline.measure.slots import Slot, slot_of
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.limits import Ceiling
from plumbline.model.record import Operation, Outcome
from plumbline.model.rounds import Role, Turn
from plumbline.model.spec import ProbeSpec
from tests.package.fakes import FakeRunner, answer
from tests.package.measure.units import NONE, FakeClock, expectation, measured

PATH = ("oss1", "switch", "oss2")
NETPERF = """THROUGHPUT=950.00
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=10.00
LOCAL_TRANSPORT_RETRANS=3
REMOTE_TRANSPORT_RETRANS=5
"""


@pytest.fixture
def receiver() -> Iterator[int]:
    """Listen like the partner's netserver; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def pair(port: int, **changes: Any) -> Expectation:
    target = {
        "kind": "pair",
        "address": "127.0.0.1",
        "hosts": ["oss1", "oss2", "oss3"],
        "slot_s": 3600.0,
        "window_s": 300.0,
        "port": port,
    }
    values: dict[str, Any] = {
        "layer": "net",
        "target": target,
        "path": ("oss1",),
        "spec": ProbeSpec("netperf", 0, 10.0, queue_depth=1, repeats=1, direct=False),
        "references": {"send/single": NONE, "receive/single": NONE},
        "partners": (Partner("oss2", "127.0.0.1", PATH, Ceiling(125e6, ("oss1",))),),
    }
    return expectation("oss1", **{**values, **changes})


def netperf() -> FakeRunner:
    return FakeRunner({"netperf -V": "Netperf version 2.7.1\n", "netperf": NETPERF})


def test_both_directions_are_measured_with_the_path_of_the_pair(receiver: int) -> None:
    runner = netperf()
    send, receive = measured(PairUnit(pair(receiver), "oss2"), runner, FakeClock())
    assert (send.operation, receive.operation) == (Operation.SEND, Operation.RECEIVE)
    assert send.rate == pytest.approx(118.75e6)
    assert (send.partner, send.path) == ("oss2", PATH)
    assert (send.retransmits, receive.retransmits) == (3, 5)
    assert all("-L 127.0.0.1" in call for call in runner.called("netperf -P"))


RESET = answer(stderr="netperf: recv_response: partner closed connection\n", exit_code=1)


def test_a_connection_that_the_receiver_resets_is_tried_once_more(receiver: int) -> None:
    ended = [RESET, answer(NETPERF), answer(NETPERF)]
    runner = FakeRunner({"netperf -V": "Netperf version 2.7.1\n", "netperf": ended})
    clock = FakeClock()
    send, receive = measured(PairUnit(pair(receiver), "oss2"), runner, clock)
    assert (send.outcome, receive.outcome) == (Outcome.OK, Outcome.OK)
    assert len(runner.called("netperf -P")) == 3
    assert clock.now == 1001.0


def test_two_resets_of_a_receiver_are_a_failure(receiver: int) -> None:
    runner = FakeRunner({"netperf -V": "Netperf version 2.7.1\n", "netperf": [RESET]})
    send, receive = measured(PairUnit(pair(receiver), "oss2"), runner, FakeClock())
    assert (send.outcome, receive.outcome) == (Outcome.FAILED, Outcome.FAILED)
    assert "partner closed connection" in send.reason
    assert len(runner.called("netperf -P")) == 4


def test_a_partner_without_an_answer_in_time_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    clock = FakeClock()
    send, receive = measured(PairUnit(pair(closed), "oss2"), netperf(), clock)
    assert (send.outcome, receive.outcome) == (Outcome.FAILED, Outcome.FAILED)
    assert f"oss2 (127.0.0.1 port {closed}) did not answer within 20 s: Connection" in send.reason
    assert clock.now == 1000.0 + ANSWER_LIMIT_S


def test_a_slightly_late_receiver_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    opened: list[socket.socket] = []

    class OpeningClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(opened) == 0:
                opened.append(socket.create_server(("127.0.0.1", port)))

    send, _ = measured(PairUnit(pair(port), "oss2"), netperf(), OpeningClock())
    opened[0].close()
    assert send.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (Slot(7, None), "oss1 has no partner in slot 7; nothing to measure"),
        (Slot(7, Turn("oss2", Role.RESPONDER)), "oss1 is the receiving end of oss2 in slot 7"),
        (Slot(7, Turn("oss2", Role.INITIATOR)), ""),
    ],
)
def test_a_host_without_a_turn_gives_the_reason(slot: Slot, text: str) -> None:
    assert slot.idle("oss1").startswith(text)
    assert bool(slot.idle("oss1")) is bool(text)


def test_the_slot_follows_from_the_clock_by_default() -> None:
    assert slot_of(pair(1), 7200.0, None).number == 2
    assert slot_of(pair(1), 7200.0, 5).number == 5


def test_the_hosts_of_a_slot_agree_on_the_initiator() -> None:
    hosts = ["oss1", "oss2", "oss3"]
    for number in range(12):
        roles = []
        for host in hosts:
            entry = pair(1)._replace(component=host)
            own_turn = slot_of(entry, 0.0, number).turn
            roles.append(own_turn.role if own_turn else None)
        assert sorted(map(str, roles)) == sorted(map(str, [Role.INITIATOR, Role.RESPONDER, None]))


@pytest.mark.parametrize(("partner", "missing"), [("oss9", None), ("oss2", "port")])
def test_an_undescribed_pair_is_refused(partner: str, missing: str) -> None:
    entry = pair(1)
    target = {key: value for key, value in entry.target.items() if key != missing}
    with pytest.raises(DocumentError, match="deploy the role agent again"):
        PairUnit(entry._replace(target=target), partner)
