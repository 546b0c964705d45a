"""A target is measured only if it is certainly usable and the file certainly lies on it."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest

from tests.package.fakes import HANGING, Answer, FakeRunner
from tests.package.measure.targets import (
    ALL_IMPORTS,
    CASES,
    CaseRun,
    check,
    healthy,
    imports,
    target,
)
from tests.package.observe.lustre_server import OST_STATS
from tests.package.recorded import data


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_a_target_is_ready_or_has_a_reason(kind: str, case: Mapping[str, Any]) -> None:
    check(kind, case)


@pytest.mark.parametrize("kind", ["lustre", "lustre-striped", "lustre-mdt"])
def test_a_query_of_lustre_that_hangs_costs_twenty_seconds_at_most(kind: str) -> None:
    """Each run tries a silent target twice; only making a file may wait longer for its server."""
    asked = CaseRun(kind, {"does": ["state", "place", "verify"]})
    asked.do()
    limits_s = dict(zip(asked.run.calls, asked.run.limits_s))
    queries = ("lfs get", "lfs df", "lfs mdts", "lfs osts", "lctl get_param")
    waits = {call: limit for call, limit in limits_s.items() if call.startswith(queries)}
    assert len(waits) > 3
    assert {call: limit for call, limit in waits.items() if limit > 20} == {}


def test_the_traffic_of_an_ost_is_read_on_its_server() -> None:
    run = FakeRunner(healthy("lustre", stats=OST_STATS))
    traffic = target("lustre").traffic(run)
    assert traffic is not None
    assert sorted(traffic) == [478150656, 747634688]
    assert traffic.bytes == 478150656 + 747634688


IDLE: dict[str, Answer] = {"lfs df --ost=0": data("lustre/lfs_df.txt").splitlines()[2]}


@pytest.mark.parametrize(
    ("states", "answers", "expected"),
    [
        (("FULL", "FULL", "FULL", "DISCONN"), {}, True),
        (("DISCONN", "DISCONN", "DISCONN", "DISCONN"), {}, False),
        # an idle connection means nothing until its OST has answered
        (("IDLE", "DISCONN", "DISCONN", "DISCONN"), {}, None),
        (("IDLE", "DISCONN", "DISCONN", "DISCONN"), IDLE, True),
    ],
)
def test_a_server_answers_if_another_of_its_osts_does(
    states: tuple[str, ...], answers: Mapping[str, Answer], expected: Optional[bool]
) -> None:
    output = imports(**{f"OST000{index}": state for index, state in enumerate(states)})
    hanging = {"lfs df --ost=0": HANGING, "lfs df --ost=1": HANGING}
    run = FakeRunner({**healthy("lustre"), ALL_IMPORTS: output, **hanging, **answers})
    assert target("lustre").server_answers(run) is expected
