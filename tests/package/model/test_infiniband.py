"""Ceilings of verbs follow from width, speed, encoding and headers."""

from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.infiniband import (
    LANES,
    port_rate,
    roce_mtu,
    verbs_on_ethernet,
    verbs_on_infiniband,
)

GBIT = 125e6


@pytest.mark.parametrize(
    ("port", "gbit"),
    [
        ("4X SDR", 8.0),
        ("4X DDR", 16.0),
        ("4X QDR", 32.0),
        ("4X FDR10", 40.0),
        ("4X FDR", 54.5454),
        ("4X EDR", 100.0),
        ("2X HDR", 100.0),
        ("4x hdr", 200.0),
        ("4X NDR", 400.0),
        ("4X XDR", 800.0),
    ],
)
def test_the_data_rate_of_a_port_is_that_of_its_lanes_after_their_encoding(
    port: str, gbit: float
) -> None:
    assert port_rate(port) == pytest.approx(gbit * GBIT, rel=1e-4)


def test_lanes_of_pam4_give_the_whole_rate_of_their_name() -> None:
    assert LANES["HDR"] == pytest.approx(50.0, rel=1e-12)
    assert LANES["NDR"] == pytest.approx(100.0, rel=1e-12)


@pytest.mark.parametrize("text", ["", "HDR", "3X HDR", "4X ABC", "4X", "100 Gb/s", "4X HDR x"])
def test_no_other_port_is_known(text: str) -> None:
    with pytest.raises(DocumentError, match=r"no width and speed of InfiniBand.*4X HDR"):
        port_rate(text)


def test_headers_take_their_part() -> None:
    assert verbs_on_infiniband() == pytest.approx(0.99369, abs=1e-5)
    assert [roce_mtu(mtu) for mtu in (9000, 4200, 4191, 1500, 576)] == [4096, 4096, 2048, 1024, 256]
    assert verbs_on_ethernet(9000) == pytest.approx(0.98037, abs=1e-5)
    assert verbs_on_ethernet(1500) == pytest.approx(0.92586, abs=1e-5)
