"""Errors of links whose switch did not tell its counters are not known."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.parts.facts.fabric_output import parse_errors, parse_links

COMPLAINT = "ibwarn: [815] print_errors: IB_GSI_PORT_COUNTERS query failed on {}, Lid 5 port 255\n"
COUNTED = "   GUID 0x2 port 7: [SymbolErrorCounter == 3]\n## Summary: 2 nodes checked\n"


def port(guid: int, name: str, number: int, far: int, far_name: str) -> str:
    return (
        f'0x{guid:016x} "{name}"      4    {number}[  ] ==( 4X          10.0 Gbps Active/  LinkUp)'
        f'==>  0x{far:016x}      5    {number}[  ] "{far_name}" ( )\n'
    )


@pytest.mark.parametrize(
    ("names", "silent", "number", "known"),
    [
        (("leaf1", "spine1"), "leaf2", 7, 3),
        (("leaf1", "spine1"), "leaf1", 7, None),
        # a switch that fell silent after it had told this port
        (("leaf1", "spine1"), "spine1", 7, 3),
        (("leaf1", "spine1"), "spine1", 8, None),
        # two switches of one name
        (("MF0;switch:MQM8700/U1", "MF0;switch:MQM8700/U1"), "MF0;switch:MQM8700/U1", 8, None),
        (("leaf1", "spine1"), "leaf2", 8, 0),
    ],
)
def test_errors_of_a_switch_that_did_not_answer_are_not_known(
    names: tuple[str, str], silent: str, number: int, known: Optional[int]
) -> None:
    near, far = names
    both = port(1, near, number, 2, far) + port(2, far, number, 1, near)
    (link,) = parse_links(both).links
    errors = parse_errors(COUNTED, COMPLAINT.format(silent))
    assert errors.sum_of("SymbolErrorCounter", link) == known
