"""The policy: defaults, what overrides them, and what is refused."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits, Range
from plumbline.model.spec import ProbeSpec
from plumbline.plan.policy import goal_of, limits_of, load, spec_of
from plumbline.plan.schedule import Slots, Timer
from plumbline.topology.strict import parse


def layers(**said: Any) -> dict[str, Any]:
    return {"schema": 1, "layers": said}


@pytest.mark.parametrize("raw", [None, {}, {"schema": 1}])
def test_without_a_word_all_defaults_hold(raw: Any) -> None:
    policy = load(raw)
    for layer in LAYERS:
        limits = limits_of(policy, layer, "g", "c")
        assert limits == Limits(min_efficiency=limits.min_efficiency)
    assert spec_of(policy, "ost", "g", "c") == ProbeSpec("fio", 1 << 30, 60.0)
    assert spec_of(policy, "raw", "g", "c").tool == "sgp_dd"
    assert spec_of(policy, "net", "g", "c").tool == "netperf"


@pytest.mark.parametrize("raw", [[], 0, False, ""])
def test_what_is_no_mapping_is_not_taken_for_an_empty_one(raw: object) -> None:
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
    assert floors == {"ost": 0.3, "raw": 0.5, "net": 0.1, "fs": 0.35}
    policy = load({"limits": {"min_efficiency": "0 %"}})
    assert [limits_of(policy, layer, "g", "c").min_efficiency for layer in LAYERS] == [0.0] * 4


def test_a_goal_is_of_a_group_and_may_differ_between_directions() -> None:
    groups = {
        "scratch": {"goal": "50 GB/s"},
        "home": {"goal": {"write": "4 GB/s", "read": "6 GB/s"}},
        "old": {"goal": {"read": "1 GB/s"}},
    }
    policy = load(layers(ost={"groups": groups}))
    found = {
        group: [goal_of(policy, "ost", group, way) for way in ("write", "read", "")]
        for group in (*groups, "other")
    }
    assert found == {
        "scratch": [50e9, 50e9, None],
        "home": [4e9, 6e9, None],
        "old": [None, 1e9, None],
        "other": [None, None, None],
    }
    assert goal_of(policy, "fs", "scratch", "read") is None


def test_the_most_particular_word_wins_and_leaves_the_rest() -> None:
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


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({"limit": {}}, "plumbline_policy: the key 'limit' is unknown; did you mean 'limits'"),
        ({"limits": {"warning": "80-90"}}, "limits warning: threshold '80-90' is not a Nagios"),
        ({"limits": {"warning": 80}}, "80 is no range; write for example '80:'"),
        ({"limits": {"min_runs": 0}}, "greater than or equal to 1, not 0"),
        (layers(lnet={}), "layers: the key 'lnet' is unknown"),
        (layers(ost={"probe": {"bytes": "1 Gib"}}), "layers ost probe bytes: size '1 Gib'"),
        (layers(ost={"schedule": {"calendar": "daily"}}), "calendar and every belong together"),
        (layers(ost={"schedule": {"stale_after": "2 h"}}), "stale_after is shorter than every"),
        (layers(net={"schedule": {"slot": "7 min"}}), "slot must divide an hour or a day evenly"),
        (layers(net={"schedule": {"slot": "5 h"}}), "slot must divide an hour or a day evenly"),
        (layers(net={"schedule": {"slot": "90 min"}}), "slot must divide an hour or a day evenly"),
        (layers(net={"schedule": {"window": "2 h"}}), "window must be shorter than slot"),
        (layers(net={"schedule": {"stale_after": "1 min"}}), "stale_after is shorter than slot"),
        (layers(net={"groups": {"net": {"goal": "1 GB/s"}}}), "groups net has a goal, but hosts"),
        (layers(ost={"groups": {"g": {"goal": "fast"}}}), "groups g goal key 'write': rate 'fast'"),
        (layers(ost={"components": {"c": {"goal": "1 GB/s"}}}), "the key 'goal' is unknown"),
        (layers(ost={"limits": {"min_efficiency": "120 %"}}), "limits min_efficiency"),
        (layers(net={"port": 0}), "greater than or equal to 1024, not 0"),
        (layers(net={"port": 873}), "greater than or equal to 1024, not 873"),
        (layers(fs={"work": "/"}), "work is the folder of all"),
        (layers(ost={"schedule": {"randomized_delay": "1 d"}}), "randomized_delay is as long as"),
        ({"limits": {"warning": "80"}}, "limits warning: '80' alarms at 100 % of the reference"),
        ({"limits": {"critical": "@50:"}}, "limits critical: '@50:' alarms at 100 %"),
        ({"limits": {"warning": "180:"}}, "limits warning: '180:' alarms at 100 %"),
        ({"limits": {"warning": "0.8:"}}, "'0.8:' is in percent; write '80:'"),
        (layers(fs={"test": "posix"}), "layers fs test: there is no test 'posix'; known are ost"),
        (layers(fs={"clients": ["a", "a"]}), "clients names a twice"),
        (layers(fs={"clients": ["a", "b"]}), "several clients need work, a folder that all"),
        (layers(fs={"work": "scratch"}), "work 'scratch' is not an absolute path"),
        (layers(fs={"ranks_per_target": 0}), "greater than or equal to 1, not 0"),
        (layers(fs={"probe": {"repeats": 3}}), "probe has no repeats; known are bytes, direct"),
        (layers(fs={"groups": {"work": {"probe": {"tool": "fio"}}}}), "groups work probe has no"),
        (layers(fs={"components": {"o": {"probe": {"bytes": "1 B"}}}}), "are measured alike"),
    ],
)
def test_a_policy_that_says_something_impossible_is_refused(
    raw: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        load(raw)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("slot", "calendar"),
    [
        ("15 min", "*-*-* *:0/15:00 UTC"),
        ("1 h", "*-*-* 0/1:00:00 UTC"),
        ("4 h", "*-*-* 0/4:00:00 UTC"),
        ("24 h", "*-*-* 00:00:00 UTC"),
    ],
)
def test_slots_begin_with_the_epochs_own(slot: str, calendar: str) -> None:
    assert parse(Slots, {"slot": slot}, "slots").calendar() == calendar


def test_a_result_is_stale_half_a_period_late_unless_said() -> None:
    assert parse(Timer, {}, "timer").stale_after_s() == 129600
    weekly = {"calendar": "Sun 02:00", "every": "7 d"}
    assert parse(Timer, weekly, "timer").stale_after_s() == 907200
    assert parse(Timer, {**weekly, "stale_after": "8 d"}, "timer").stale_after_s() == 691200


def test_all_targets_at_once_are_driven_by_nobody_and_once_a_week_unless_told() -> None:
    layer = load({}).layers.fs
    assert (layer.clients, layer.test, layer.launcher, layer.work) == ([], "ost", "mpirun", "")
    assert (layer.schedule.calendar, layer.schedule.stale_after_s()) == ("Sun *-*-* 04:06", 907200)
    longer = load(layers(fs={"schedule": {"limit": "2 h"}})).layers.fs.schedule
    assert (longer.calendar, longer.limit) == ("Sun *-*-* 04:06", 7200)


def test_ranks_have_the_terms_of_their_test_unless_told() -> None:
    def spec(**fs: Any) -> ProbeSpec:
        return spec_of(load(layers(fs=fs)), "fs", "scratch", "scratch")

    assert spec() == ProbeSpec("mpi", 1 << 30, 60.0, 1 << 20, queue_depth=1, repeats=1)
    assert spec(test="posix-fpp-10k").transfer_bytes == 10_000
    assert not spec(test="mpiio-shared-1m2").direct
    assert spec(test="posix-fpp-10k", probe={"transfer": "20 kB"}).transfer_bytes == 20_000
    assert spec(groups={"scratch": {"probe": {"bytes": "2 GiB"}}}).bytes == 2 << 30
