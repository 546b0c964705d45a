"""All targets of a file system at once: a component each, and the whole, on the first client."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.assignments import Assignment, assignments
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import site


def planned(document: dict[str, Any], **fs: Any) -> dict[str, Assignment]:
    found = assignments(build(document), load({"layers": {"fs": {"clients": ["client1"], **fs}}}))
    return {one.component: one for one in found if one.layer == "fs"}


def test_every_target_and_the_whole_are_measured_together() -> None:
    found = planned(site())
    assert list(found) == [*(f"scratch-OST{index}" for index in range(4)), "scratch"]
    one, whole = found["scratch-OST2"], found["scratch"]
    assert (one.node, one.host, one.group) == ("client1", "oss2", "scratch")
    assert (whole.node, whole.host, whole.group) == ("client1", "client1", "scratch as a whole")
    steps = [f"{operation.value}/{scenario.value}" for operation, scenario in whole.steps]
    assert steps == ["write/together", "read/together", "reread/together"]
    assert one.steps == whole.steps


def test_the_path_begins_at_the_client_that_launches() -> None:
    found = planned(site(), clients=["client1", "oss1"], work="/mnt/scratch")
    assert found["scratch-OST0"].path[0] == "client1"


def test_all_have_the_same_terms_which_say_how_many_take_part() -> None:
    found = planned(site(), ranks_per_target=2, clients=["client1", "oss1"], work="/mnt/scratch")
    assert {one.spec.pattern for one in found.values()} == {
        "ost, fixed data, 8 ranks on 4 targets, 2 clients"
    }
    assert len({one.spec.hash() for one in found.values()}) == 1


def test_a_run_hangs_when_every_operation_has_had_twice_its_time() -> None:
    assert planned(site())["scratch"].limits.hung_after_s == 60 + 3 * 120 + 60
    given = planned(site(), limits={"hung_after": "20 min"})
    assert given["scratch"].limits.hung_after_s == 1200


def test_the_whole_has_the_limits_of_its_file_system_or_its_own() -> None:
    group = planned(site(), groups={"scratch": {"limits": {"min_runs": 3}}})
    assert [one.limits.min_runs for one in group.values()] == [3] * 5
    own = planned(site(), components={"scratch": {"limits": {"min_runs": 3}}})
    assert [one.limits.min_runs for one in own.values()] == [5, 5, 5, 5, 3]


GIB = 1 << 30


@pytest.mark.parametrize(
    ("fs", "size"),
    [
        ({}, GIB),
        ({"probe": {"bytes": "2 GiB"}, "memory": "8 GiB"}, 2 * GIB),
        ({"groups": {"scratch": {"probe": {"bytes": "3 GiB"}}}, "memory": "8 GiB"}, 3 * GIB),
        # four targets: one client has four ranks, of two each has two
        ({"memory": "8 GiB"}, 3 * GIB),
        ({"memory": "8 GiB", "clients": ["client1", "oss1"], "work": "/mnt/scratch"}, 6 * GIB),
        ({"memory": "8 GiB", "ranks_per_target": 2}, 3 * GIB // 2),
        ({"memory": "1 TiB"}, 16 * GIB),
        ({"memory": "1 TiB", "budget": "400 GiB"}, 100 * GIB),
    ],
)
def test_a_run_moves_what_is_said_or_one_and_a_half_memories_within_the_budget(
    fs: dict[str, Any], size: int
) -> None:
    assert {one.spec.bytes for one in planned(site(), **fs).values()} == {size}


def test_runs_of_other_memory_are_not_compared() -> None:
    one, other = (planned(site(), memory=size)["scratch"].spec for size in ("8 GiB", "16 GiB"))
    assert one.hash() != other.hash()


def test_a_retired_target_takes_no_part() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST1"]
    found = planned(document)
    assert "scratch-OST1" not in found
    assert "3 ranks on 3 targets" in found["scratch"].spec.pattern


@pytest.mark.parametrize(
    ("fs", "sentence"),
    [
        ({"clients": ["client7"]}, "'client7' is no client or server of the topology"),
        ({"clients": ["switch1"]}, "'switch1' is no client or server of the topology"),
        ({"probe": {"bytes": "1 kB"}}, "less than one transfer of 1048576 bytes; raise bytes"),
        (
            {"probe": {"transfer": "1 MB"}},
            "direct: true needs transfers and buffers of whole 4096 bytes",
        ),
        ({"test": "mpiio-shared-1m2", "probe": {"direct": True}}, "has no direct: true; choose"),
        (
            {"probe": {"transfer": "8 B", "direct": False}},
            "of memory; lower bytes, or raise transfer",
        ),
        ({"groups": {"work": {}}}, "layer fs has no group 'work'"),
        ({"budget": "3 GiB"}, "would write 4 GiB, its budget is 3 GiB; lower bytes"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(fs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError) as caught:
        planned(site(), **fs)
    assert sentence in str(caught.value)


def test_a_target_named_as_its_file_system_is_refused() -> None:
    document = site()
    document["file_systems"][0]["name"] = "scratch-OST0"
    with pytest.raises(DocumentError, match="has the name of a target"):
        planned(document)
