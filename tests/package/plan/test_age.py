"""A baseline is renewed when old or of other conditions, removed when nothing uses it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from plumbline.model.limits import Baseline, Limits
from plumbline.model.record import Flag
from plumbline.model.spec import terms
from plumbline.plan.baseline import Key
from plumbline.plan.capture import REMOVE, RENEW, Ages, ages, newest_conditions
from tests.package.plan.test_capture import SITE, SPEC, expected, key, run

VERSIONS = {"client": "2.17.0"}
TODAY = date(2026, 11, 21)
HELD = Baseline(
    200e6, 0.01, 12, "2026-11-01", "2026-11-20", SPEC.hash(), VERSIONS, "ada", "new disks"
)._replace(terms=terms(SPEC.to_json()), host="client1", tool="fio fio-3.39", fill=0.31)


def aged(baseline: Baseline, records: Any = (), site: Any = None) -> tuple[str, ...]:
    site = site or SITE
    found = ages({key("a"): baseline}, site, newest_conditions(records, site), TODAY)
    return found.aged[0].reasons if found.aged else ()


def test_a_baseline_of_today_holds() -> None:
    assert aged(HELD) == ()
    assert aged(HELD, [run(9, fill=0.4)]) == ()


@pytest.mark.parametrize(
    ("last", "reasons"),
    [
        ("2026-05-26", ()),
        ("2026-05-25", ()),
        ("2026-05-24", ("181 d old, limit 180 d",)),
        ("2027-01-01", ("dated 41 d in the future",)),
    ],
)
def test_a_baseline_ages_by_the_date_of_its_last_run(last: str, reasons: tuple[str, ...]) -> None:
    assert aged(HELD._replace(last=last)) == reasons


def test_the_limit_is_that_of_the_component() -> None:
    site = {("ost", "a"): expected("a")._replace(limits=Limits(max_age_s=30 * 86400.0))}
    assert aged(HELD._replace(last="2026-10-01"), site=site) == ("51 d old, limit 30 d",)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"versions": {"client": "2.18.0"}}, ("client 2.17.0 -> 2.18.0",)),
        ({"host": "client2", "fill": 0.9}, ("host client1 -> client2", "fill 31 % -> 90 %")),
        ({"versions": {"client": "2.18.0"}, "spec_hash": "other"}, ()),
        ({"versions": {"client": "2.18.0"}, "flags": (Flag.FAILED_OVER,)}, ()),
    ],
)
def test_the_newest_sound_record_tells_the_conditions(
    changes: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    before, after = run(8, fill=0.31), run(9, **changes)
    assert aged(HELD, [after, before]) == reasons


def test_other_terms_than_the_policys_show_without_any_record() -> None:
    other = SPEC._replace(transfer_bytes=4 << 20)
    baseline = HELD._replace(spec_hash=other.hash(), terms=terms(other.to_json()))
    assert aged(baseline) == ("terms transfer 4 MiB -> transfer 1 MiB",)


def test_what_is_not_measured_any_more_is_to_be_removed() -> None:
    gone = {Key("ost", "z", "read", "single"): HELD, key("a", "reread"): HELD, key("a"): HELD}
    found = ages(gone, SITE, {}, TODAY)
    assert [(one.key.component, one.remedy) for one in found.aged] == [("a", REMOVE), ("z", REMOVE)]
    assert found.total == 3


def test_what_is_measured_without_a_baseline_is_listed() -> None:
    found = ages({key("a"): HELD}, SITE, {}, TODAY)
    assert [one.component for one in found.missing] == ["b", "c", "d", "lonely"]
    empty = ages({}, {("ost", "a"): expected("a")._replace(references={})}, {}, TODAY)
    assert empty == Ages(0, (), ())


def test_programs_get_the_reasons_and_the_remedy() -> None:
    found = ages({key("a"): HELD._replace(last="2026-01-01")}, SITE, {}, TODAY)
    (one,) = found.to_json()["aged"]
    assert one["remedy"] == RENEW
    assert (one["component"], one["age_days"]) == ("a", 324)
