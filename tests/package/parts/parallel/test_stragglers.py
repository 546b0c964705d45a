from __future__ import annotations

from random import Random

import pytest

from plumbline.parts.parallel.stragglers import Kind, Track, stragglers
from tests.package.model.curves import MB, Rate, rank, walled

SIZE = 1000 * MB


def steady(rate_MBps: float = 50) -> Rate:
    return lambda moment: rate_MBps * MB


def backing_off(until: float) -> Rate:
    """Return a rate with little progress for most of the test, then as fast as any."""
    return lambda moment: (1 if moment < until else 50) * MB


def ended_later(track: Track, seconds: float) -> Track:
    return track._replace(result=track.result._replace(end_s=track.result.end_s + seconds))


def without_curve(track: Track) -> Track:
    return track._replace(result=track.result._replace(curve=()))


def normal_ranks(count: int = 9, seed: int = 1) -> list[Track]:
    random = Random(seed)
    return [rank(number, steady(random.uniform(48, 52)), SIZE) for number in range(count)]


def test_fixed_data_shows_delayed_starts_and_ranks_slow_from_start_to_finish() -> None:
    # BlueGene/L figure 5 (a): an even right edge, two kinds of stragglers
    tracks = [
        *normal_ranks(28),
        rank(28, backing_off(18), SIZE),
        rank(29, backing_off(15), SIZE),
        rank(30, steady(20), SIZE, server="s7", client="c2"),
        rank(31, steady(22), SIZE, server="s7", client="c2"),
    ]
    slowed = {straggler.ranks: straggler.kind for straggler in stragglers(tracks)}
    assert slowed == {(28,): Kind.LATE, (29,): Kind.LATE, (30,): Kind.SLOW, (31,): Kind.SLOW}


def test_stonewalling_shows_slow_ranks_by_their_bytes() -> None:
    # BlueGene/L figure 5 (b): an even top edge, no delayed starts
    tracks = [walled(number, steady(48 + number % 5), 30.0) for number in range(12)]
    tracks += [walled(12, steady(30), 30.0), walled(13, backing_off(20), 30.0)]
    late, slow = stragglers(tracks)
    assert (late.ranks, late.kind) == ((13,), Kind.LATE)
    assert (slow.ranks, slow.kind) == ((12,), Kind.SLOW)
    assert slow.missing == pytest.approx(0.4, abs=0.03)
    assert slow.sentence.startswith("rank 12 on t12 moved 39 % less than the others in the same")


def test_slow_ranks_of_one_client_on_one_server_name_each_other() -> None:
    tracks = [rank(number, steady(), SIZE, client=f"c{number}") for number in range(8)]
    tracks += [rank(number, steady(20), SIZE, client="c9", server="s9") for number in (8, 9)]
    slowed = stragglers(tracks)
    assert {straggler.ranks: straggler.beside for straggler in slowed} == {(8,): (9,), (9,): (8,)}
    assert slowed[0].sentence == (
        "rank 8 on t8 finished 30 s after the others: slow from start to finish, "
        "beside rank 9 of its client on server s9"
    )


@pytest.mark.parametrize(
    ("rate", "kind"),
    [
        (steady(30), Kind.SLOW),
        (lambda moment: 40 * MB * (1 + 0.3 * (int(moment) % 4 < 2)) * 0.8, Kind.SLOW),
        (lambda moment: 0 if moment < 12 else 50 * MB, Kind.LATE),
        (backing_off(12), Kind.LATE),
        (lambda moment: 0 if 8 < moment < 20 else 50 * MB, Kind.PAUSED),
        (lambda moment: 50 * MB if moment < 17 else 10 * MB, Kind.TAIL),
    ],
)
def test_a_straggler_has_the_kind_of_its_delay(rate: Rate, kind: Kind) -> None:
    (slowed,) = stragglers([*normal_ranks(), rank(9, rate, SIZE)])
    assert (slowed.ranks, slowed.kind) == ((9,), kind)


def test_a_long_last_flush_is_a_tail() -> None:
    own = rank(9, steady(), SIZE)
    (slowed,) = stragglers([*normal_ranks(), ended_later(own, 9)])
    assert slowed.kind is Kind.TAIL
    assert slowed.late_s == pytest.approx(9, abs=0.5)


def test_a_rank_that_catches_up_is_late_by_its_delay_at_the_end() -> None:
    def slow_then_fast(moment: float) -> float:
        return 0 if moment < 10 else 80 * MB

    (slowed,) = stragglers([*normal_ranks(), rank(9, slow_then_fast, SIZE)])
    assert slowed.kind is Kind.LATE
    assert slowed.late_s == pytest.approx(2.5, abs=0.3)


def test_one_of_two_ranks_is_compared_with_the_other() -> None:
    (slowed,) = stragglers([rank(0, steady(), SIZE), rank(1, steady(31.25), SIZE)])
    assert (
        slowed.sentence == "rank 1 on t1 finished 12 s after the others: slow from start to finish"
    )


def test_ranks_of_one_target_and_kind_are_one_straggler() -> None:
    both = [rank(number, steady(number), SIZE, target="OST0004") for number in (20, 25)]
    (slowed,) = stragglers([*normal_ranks(), *both])
    assert slowed.ranks == (20, 25)
    assert slowed.sentence.startswith("ranks 20, 25 on OST0004 finished 30 s after the others")


@pytest.mark.parametrize(
    "tracks",
    [
        [],
        [rank(0, steady(), SIZE)],
        normal_ranks(12),
        # two kinds of hardware, half of each
        [rank(number, steady(50 if number % 2 else 25), SIZE) for number in range(8)],
        # an odd number, and fewer than half are as fast as the first
        [rank(number, steady(50 if number < 1 else 20), SIZE) for number in range(3)],
        [rank(number, steady(50 if number < 2 else 20), SIZE) for number in range(5)],
        # no group to be behind: all differ
        [rank(number, steady(20 + 3 * number), SIZE) for number in range(12)],
        # less than a second
        [*normal_ranks(3), rank(3, steady(48.5), SIZE)],
        # without its curve the kind is unknown
        [*normal_ranks(3), without_curve(rank(3, steady(20), SIZE))],
    ],
)
def test_ranks_without_a_slower_group_are_no_stragglers(tracks: list[Track]) -> None:
    assert stragglers(tracks) == ()


def test_the_document_form_names_the_kind_and_has_the_sentence() -> None:
    (slowed,) = stragglers([*normal_ranks(), rank(9, steady(30), SIZE)])
    raw = slowed.to_json()
    assert raw["kind"] == "slow"
    assert raw["sentence"] == slowed.sentence
    assert raw["late_s"] == round(raw["late_s"], 3)
