"""Policy: defaults, overrides and refusals."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
import yaml

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits, Range
from plumbline.model.ranks import TESTS
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import DAY_S
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import goal_of, limits_of, load, spec_of
from plumbline.plan.schedule import Slots, Timer
from plumbline.topology.graph import build
from plumbline.topology.strict import parse
from tests.package.sites import DATA, site


def layers(**rules: Any) -> dict[str, Any]:
    return {"schema": 1, "layers": rules}


@pytest.mark.parametrize("raw", [None, {}, {"schema": 1}])
def test_an_empty_policy_has_all_defaults(raw: Any) -> None:
    policy = load(raw)
    for layer in LAYERS:
        limits = limits_of(policy, layer, "g", "c")
        assert limits == Limits(min_efficiency=limits.min_efficiency)
    assert spec_of(policy, "ost", "g", "c") == ProbeSpec("fio", 1 << 30, 60.0)
    assert spec_of(policy, "raw", "g", "c").tool == "sgp_dd"
    assert spec_of(policy, "net", "g", "c").tool == "netperf"


@pytest.mark.parametrize("raw", [[], 0, False, ""])
def test_an_empty_value_that_is_no_mapping_is_refused(raw: object) -> None:
    with pytest.raises(DocumentError, match="plumbline_policy: the document: must be a mapping"):
        load(raw)


def test_all_keys_are_read() -> None:
    limits = {
        "warning": "85:",
        "critical": "60:",
        "peer_loss": "15 %",
        "min_coverage": "80 %",
        "invalid_above": 1.1,
        "min_efficiency": "60 %",
        "retransmit_share": "0.5 %",
        "fill_limit": "95 %",
        "min_runs": 3,
        "max_spread": "20 %",
        "fill_change": "30 %",
        "profile_distance": "15 %",
        "max_age": "90 d",
        "hung_after": "10 min",
    }
    probe = {
        "tool": "iperf3",
        "bytes": "2 GiB",
        "seconds": "20 s",
        "transfer": "4 MiB",
        "queue_depth": 4,
        "repeats": 5,
        "rate_cap": "500 MB/s",
        "direct": False,
    }
    policy = load(layers(ost={"limits": limits, "probe": probe}))
    assert limits_of(policy, "ost", "g", "c") == Limits(
        Range(85, inf),
        Range(60, inf),
        peer_loss=0.15,
        min_coverage=0.8,
        invalid_above=1.1,
        min_efficiency=0.6,
        retransmit_share=0.005,
        fill_limit=0.95,
        min_runs=3,
        max_spread=0.2,
        fill_change=0.3,
        profile_distance=0.15,
        max_age_s=90 * 86400.0,
        hung_after_s=600,
    )
    assert spec_of(policy, "ost", "g", "c") == ProbeSpec(
        "iperf3", 2 << 30, 20.0, 4 << 20, 4, 5, 500e6, direct=False
    )


def test_each_layer_has_a_floor_of_its_own_which_the_site_may_set() -> None:
    floors = {layer: limits_of(load({}), layer, "g", "c").min_efficiency for layer in LAYERS}
    assert {"ost": 0.3, "raw": 0.5, "net": 0.1, "fs": 0.5}.items() <= floors.items()
    # ranks that write one file are slower on healthy systems too
    shared = load(layers(fs={"tests": ["mpiio-shared-1m2"]}))
    assert limits_of(shared, "fs", "g", "c").min_efficiency == 0.25
    policy = load({"limits": {"min_efficiency": "0 %"}})
    assert [limits_of(policy, layer, "g", "c").min_efficiency for layer in LAYERS] == [0.0] * len(
        LAYERS
    )


def test_clients_are_written_as_ranges() -> None:
    policy = load(layers(fs={"clients": ["login1", "io[08-11]"], "work": "/scratch/probe"}))
    assert policy.layers.fs.clients == ["login1", "io08", "io09", "io10", "io11"]
    for wrong, sentence in (
        ("io[11-08]", r"fs clients: name 'io\[11-08\]': the range \[11-08\] runs backwards"),
        ("io[01-", "fs clients: name 'io\\[01-' has a bracket without its partner"),
        ("io[10-12]", "clients names io10 twice; name each client once"),
    ):
        with pytest.raises(DocumentError, match=sentence):
            load(layers(fs={"clients": ["io10", wrong], "work": "/scratch/probe"}))


def test_a_goal_belongs_to_a_group_and_may_differ_between_directions() -> None:
    groups = {
        "scratch": {"goal": "50 GB/s"},
        "home": {"goal": {"write": "4 GB/s", "read": "6 GB/s"}},
        "old": {"goal": {"read": "1 GB/s"}},
    }
    policy = load(layers(ost={"groups": groups}))
    goals = {
        group: [goal_of(policy, "ost", group, way) for way in ("write", "read", "")]
        for group in (*groups, "other")
    }
    assert goals == {
        "scratch": [50e9, 50e9, None],
        "home": [4e9, 6e9, None],
        "old": [None, 1e9, None],
        "other": [None, None, None],
    }
    assert goal_of(policy, "fs", "scratch", "read") is None


def test_the_most_specific_setting_wins_and_keeps_the_others() -> None:
    policy = load(
        {
            "limits": {"warning": "70:", "min_runs": 9},
            "layers": {
                "ost": {
                    "limits": {"warning": "75:"},
                    "groups": {"scratch": {"limits": {"warning": "85:"}, "probe": {"repeats": 7}}},
                    "components": {"old": {"limits": {"warning": "60:"}}},
                }
            },
        }
    )
    warning = {
        names: limits_of(policy, *names).warning.start
        for names in [
            ("raw", "scratch", "new"),
            ("ost", "home", "new"),
            ("ost", "scratch", "new"),
            ("ost", "scratch", "old"),
        ]
    }
    assert list(warning.values()) == [70, 75, 85, 60]
    assert limits_of(policy, "ost", "scratch", "old").min_runs == 9
    assert spec_of(policy, "ost", "scratch", "old").repeats == 7
    assert spec_of(policy, "ost", "home", "new").repeats == 3


REFUSED = yaml.safe_load((DATA / "refused_policies.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["says"])
def test_a_policy_that_is_impossible_or_does_not_fit_the_site_is_refused(
    case: dict[str, Any],
) -> None:
    with pytest.raises(DocumentError) as caught:
        compile_plan(build(site()), load(case["policy"]), {})
    assert str(caught.value).startswith("plumbline_policy: ")
    assert case["says"] in str(caught.value)


@pytest.mark.parametrize(
    ("slot", "calendar"),
    [
        ("15 min", "*-*-* *:0/15:00 UTC"),
        ("1 h", "*-*-* 0/1:00:00 UTC"),
        ("4 h", "*-*-* 0/4:00:00 UTC"),
        ("24 h", "*-*-* 00:00:00 UTC"),
    ],
)
def test_slots_begin_at_the_epoch(slot: str, calendar: str) -> None:
    assert parse(Slots, {"slot": slot}, "slots").calendar() == calendar


def test_a_result_is_stale_half_a_period_late_by_default() -> None:
    assert parse(Timer, {}, "timer").stale_after_s() == 129600
    weekly = {"calendar": "Sun 02:00", "every": "7 d"}
    assert parse(Timer, weekly, "timer").stale_after_s() == 907200
    assert parse(Timer, {**weekly, "stale_after": "8 d"}, "timer").stale_after_s() == 691200


def test_by_default_no_client_drives_all_targets_and_one_test_runs_a_night() -> None:
    layer = load({}).layers.fs
    assert (layer.clients, layer.launcher, layer.work) == ([], "mpirun", "")
    assert (layer.tests, layer.period_s()) == (list(TESTS), 7 * DAY_S)
    longer = load(layers(fs={"schedule": {"limit": "2 h"}})).layers.fs.schedule
    assert (longer.calendar, longer.limit) == ("*-*-* 04:06", 7200)


def test_ranks_have_the_terms_of_their_test_by_default() -> None:
    def spec(**fs: Any) -> ProbeSpec:
        return spec_of(load(layers(fs=fs)), "fs", "scratch", "scratch")

    assert spec() == ProbeSpec("mpi", 1 << 30, 60.0, 1 << 20, queue_depth=1, repeats=1)
    assert spec(tests=["posix-fpp-10k"]).transfer_bytes == 10_000
    assert not spec(tests=["mpiio-shared-1m2"]).direct
    assert spec(tests=["posix-fpp-10k"], probe={"transfer": "20 kB"}).transfer_bytes == 20_000
    assert spec(groups={"scratch": {"probe": {"bytes": "2 GiB"}}}).bytes == 2 << 30
