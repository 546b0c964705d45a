"""Old runs become daily figures: who judges, locates, captures or draws says the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Callable, Iterator

import pytest

from plumbline.model.layers import LAYERS
from plumbline.model.record import Record
from plumbline.model.units import DAY_S
from plumbline.plan.capture import capture
from plumbline.report.site import find_metrics
from plumbline.site.judge import judge_site
from plumbline.site.locate import locate_site, sentences
from plumbline.site.report import read_site
from plumbline.store.history import History, Selection
from plumbline.store.thinning import Thinned, Thinning
from tests.package.site.test_kept import Life

NIGHTS = 75


def thin(life: Life, go_on: Callable[[], bool] = lambda: True) -> Thinned:
    with Thinning(life.history) as thinning:
        return thinning.thin(life.now, go_on)


def records(life: Life) -> list[Record]:
    with History(life.history) as history:
        return list(history.records(Selection()))


def answers(life: Life) -> Iterator[Any]:
    """Yield what the consumers of a history say."""
    afresh = life.plan._replace(digest="")
    yield judge_site(afresh, life.history, life.now, evidence=True, members=True)
    located = locate_site(life.plan, life.history, life.now)
    yield located.to_json(life.plan), sentences(life.plan, located)
    yield captured(life)
    yield drawn(life)


def captured(life: Life) -> Any:
    expected = {
        (each.layer, each.component): each
        for node in life.plan.nodes.values()
        for each in node.every()
    }
    return capture(records(life), expected).candidates


def drawn(life: Life) -> Any:
    """Return the days of each member of a report, with pairs, changes of versions and the run.

    Of a host the days are medians over all its partners, which a daily figure of each cannot give.
    """
    site = read_site(life.plan, life.history, life.now, 365)
    members = [
        (str(of), one.name, one.days, one.now_Bps, one.now_at)
        for of, found in find_metrics(site).items()
        for one in found
        if not LAYERS[of.layer].paired
    ]
    return members, site.pairs, site.changes, site.run


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3))])
def test_answers_are_the_same_with_a_thinned_history(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed, NIGHTS)
    life.keep_days = 400
    chance = Random(seed)
    for _ in range(2):
        for _ in range(chance.randrange(12)):
            life.happen()
        before = list(answers(life))
        assert thin(life).runs > 0
        assert list(answers(life)) == before
        life.now += 25 * DAY_S


@pytest.mark.slow
def test_thinning_leaves_what_was_kept_of_verdicts(tmp_path: Path) -> None:
    life = Life(tmp_path, 0, NIGHTS)
    with History(life.history) as history:
        before = history.revisions()
    assert thin(life).runs > 0
    with History(life.history) as history:
        assert history.revisions() == before
