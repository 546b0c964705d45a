"""A slow target's sentence has the time of its requests, compared with its peers in the run."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.judge.judging import Basis, Judging
from plumbline.model.series import Series
from tests.package.judgements import NOW, REFERENCE, expectation, series, snapshot

SLOW = "scratch-OST0003"


def target(name: str, rate: float, request_s: Optional[float], **changes: Any) -> Series:
    quantities = {"mean": 0.1, **({"request": request_s} if request_s else {})}
    values = {"component": name, "quantities": quantities, "run_id": "run-1", **changes}
    return series(rate, **values)


def sentence(*measured: Series, basis: Basis = Basis.LAST_RUN) -> str:
    names = [item.latest.component for item in measured]
    entries = [
        expectation(
            component=name,
            group="other" if name.startswith("other") else "scratch",
            references={"read/single": REFERENCE._replace(baseline=None)},
        )
        for name in names
    ]
    memory = snapshot(*measured)
    judging = Judging(memory, memory, NOW, basis=basis).among(entries)
    return judging.component(entries[0]).sentence


PEERS = [target(f"scratch-OST000{number}", 200e6, 0.001 * number) for number in (4, 5, 9)]


@pytest.mark.parametrize("basis", Basis)
def test_a_slow_target_shows_its_requests_beside_those_of_its_peers(basis: Basis) -> None:
    text = sentence(target(SLOW, 80.3e6, 0.08), *PEERS, basis=basis)
    assert "read 80.3 MB/s (a request takes 80.0 ms at the client, its 3 peers' 5.0 ms), " in text


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ([PEERS[0]], "at the client, its peer's 4.0 ms), "),
        ([], "(a request takes 80.0 ms at the client), "),
        # of another run, another file system, or not counted
        ([target("scratch-OST0004", 200e6, 0.004, run_id="run-0")], "at the client), "),
        ([target("other-OST0004", 200e6, 0.004)], "at the client), "),
        ([target("scratch-OST0004", 200e6, None)], "at the client), "),
    ],
)
def test_only_counted_requests_of_peers_in_the_same_run_are_compared(
    measured: list[Series], words: str
) -> None:
    assert words in sentence(target(SLOW, 80.3e6, 0.08), *measured)


def test_requests_that_are_not_counted_are_not_named() -> None:
    assert "request" not in sentence(target(SLOW, 80.3e6, None), *PEERS)


def test_a_healthy_target_does_not_show_its_requests() -> None:
    assert "request" not in sentence(target(SLOW, 200e6, 0.08), *PEERS)


def test_a_damaged_record_of_a_peer_does_not_void_the_verdict() -> None:
    slow, *peers = target(SLOW, 80.3e6, 0.08), *PEERS
    entries = [
        expectation(
            component=item.latest.component,
            references={"read/single": REFERENCE._replace(baseline=None)},
        )
        for item in (slow, *peers)
    ]
    memory = snapshot(slow, *peers)
    memory.series["ost/scratch-OST0009"]["operations"][0]["latest"]["rate"] = "fast"
    verdict = Judging(memory, memory, NOW).among(entries).component(entries[0])
    assert "at the client, its 2 peers' 4.5 ms), " in verdict.sentence
