"""Reads of a fresh file, each with one more cache dropped, show which cache served it."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest

from plumbline.measure.caches import WITHOUT, CachesUnit
from plumbline.model.command import Completed
from plumbline.model.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome, Record
from plumbline.site.caches import Caches, caches_of
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.measure.targets import FILES, healthy
from tests.package.measure.units import FakeClock, expectation, fio_report, measured

OST = "lustre-OST0003"
SIZE = FILES["lustre"]["bytes"]
PAGE, LOCKS, SERVER = "dd if=/proc/self/fd/0", "lctl set_param ldlm.", "lfs ladvise"
RATES = {"": 4100.0, PAGE: 610.0, LOCKS: 580.0, SERVER: 190.0}
"""MB/s of a read, by the last cache dropped before it."""


class Storage(FakeRunner):
    """An OST that reads at the rate of the nearest cache with the file."""

    def __init__(
        self, rates: Mapping[str, float] = RATES, changes: Optional[Mapping[str, Answer]] = None
    ) -> None:
        self.dropped = [""]
        self.rates = rates
        drops = {start: self._dropping(start) for start in (PAGE, LOCKS, SERVER)}
        tools: dict[str, Answer] = {"fio --version": "fio-3.39\n", "fio": self._fio}
        ends: dict[str, Answer] = {"rm -f": "", "rmdir": ""}
        super().__init__({**healthy("lustre"), **tools, **ends, **drops, **(changes or {})})

    def _dropping(self, start: str) -> Answer:
        def drop(_argv: tuple[str, ...]) -> Completed:
            self.dropped.append(start)
            return answer()

        return drop

    def _fio(self, argv: tuple[str, ...]) -> Completed:
        last, self.dropped = self.dropped[-1], [""]
        return fio_report(argv, self.rates[last], SIZE)


def entry(**changes: Any) -> Expectation:
    target = {"kind": "lustre", "mount": "/mnt/lustre", "ost": OST}
    base = expectation(OST, target=target)
    return base._replace(spec=base.spec._replace(bytes=SIZE, **changes))


def sequence(runner: FakeRunner, **changes: Any) -> list[Record]:
    return measured(CachesUnit(entry(**changes)), runner, FakeClock(), keep_files=False)


def caches(rates: Mapping[str, float]) -> Caches:
    return caches_of(OST, sequence(Storage(rates)))


def test_each_read_drops_one_more_cache() -> None:
    runner = Storage()
    write, *reads = sequence(runner)
    assert write.outcome is Outcome.OK
    assert [read.rate for read in reads] == pytest.approx([rate * 1e6 for rate in RATES.values()])
    assert [(read.details or {})[WITHOUT] for read in reads] == [
        *("", "page cache", "lock cache", "server cache")
    ]
    assert [len(record.repeats) for record in (write, *reads)] == [1, 2, 2, 2, 2]


def test_caches_are_dropped_before_each_repeat() -> None:
    runner = Storage()
    sequence(runner)
    order = [
        next(
            (start for start in (PAGE, LOCKS, SERVER, "fio --name") if words.startswith(start)), ""
        )
        for words in runner.calls
    ]
    calls = [start for start in order if start]
    last = [PAGE, LOCKS, SERVER, "fio --name"]
    assert calls[-8:] == last * 2
    assert runner.called(LOCKS)[0] == (
        f"lctl set_param ldlm.namespaces.{OST}-osc-[!M]*.lru_size=clear"
    )
    assert runner.called(SERVER)[0] == (
        f"lfs ladvise --advice=dontneed --start=0 --length={SIZE} probe.dat"
    )


def test_no_other_parameter_is_set_and_the_permanent_file_is_untouched() -> None:
    runner = Storage()
    sequence(runner)
    assert {words for words in runner.calls if "set_param" in words} == set(runner.called(LOCKS))
    folders = {within.names[0] for within in runner.places if within and within.names}
    assert folders == {".plumbline-caches"}
    assert runner.called("rm -f")
    assert runner.called("rmdir")


def test_reads_are_buffered_and_fio_drops_no_cache_itself() -> None:
    runner = Storage()
    sequence(runner, transfer_bytes=16 << 20, queue_depth=32)
    for words in runner.called("fio --name"):
        assert "--direct=0 --invalidate=0" in words
        assert "--bs=1048576" in words
        assert "--ioengine=psync" in words


def test_a_cache_that_cannot_be_dropped_is_reported_and_the_others_are_distinguished() -> None:
    refused = answer(stderr="lfs ladvise: Operation not supported", exit_code=1)
    *reads, last = sequence(Storage(changes={SERVER: refused}))
    assert [read.outcome for read in reads] == [Outcome.OK] * 4
    assert last.outcome is Outcome.SKIPPED
    assert "not dropped: lfs ladvise" in last.reason
    assert "Operation not supported" in last.reason
    result = caches_of(OST, [*reads, last])
    assert "What a server or array caches was not dropped." in result.sentences


def test_a_hung_server_ends_the_sequence_and_nothing_waits_for_its_file() -> None:
    runner = Storage(changes={LOCKS: HANGING})
    reads = sequence(runner)
    assert [read.outcome for read in reads] == [*[Outcome.OK] * 3, Outcome.UNANSWERED]
    assert not runner.called(SERVER)
    assert not runner.called("rm -f")


def test_a_full_target_is_not_written() -> None:
    limits = expectation(OST).limits._replace(fill_limit=0.0)
    unit = CachesUnit(entry()._replace(limits=limits))
    runner = Storage()
    (record,) = measured(unit, runner, FakeClock())
    assert record.outcome is Outcome.SKIPPED
    assert not runner.called("fio --name")
    assert caches_of(OST, [record]).sentences[0].startswith(f"{OST}: nothing is known")


def test_a_device_has_no_cached_file() -> None:
    target = {"kind": "device", "device": "/dev/disk/by-id/a"}
    with pytest.raises(UsageError, match="has no file that caches keep"):
        CachesUnit(expectation("a", target=target))


@pytest.mark.parametrize(
    ("rates", "served", "worth"),
    [
        (RATES, [True, False, True], "reads from the server's memory, not from its storage"),
        (
            {"": 4100.0, PAGE: 610.0, LOCKS: 600.0, SERVER: 590.0},
            [True, False, False],
            "reads the storage at 590.0 MB/s",
        ),
        (
            {"": 600.0, PAGE: 610.0, LOCKS: 600.0, SERVER: 590.0},
            [False, False, False],
            "reads the storage at 590.0 MB/s",
        ),
        (
            {"": 600.0, PAGE: 600.0, LOCKS: 600.0, SERVER: 450.0},
            [False, False, None],
            "reads 1 GiB at 450.0 MB/s",
        ),
        (
            # the read without the page cache was disturbed, as no cache slows later reads
            {"": 600.0, PAGE: 300.0, LOCKS: 600.0, SERVER: 290.0},
            [True, False, False],
            "reads the storage at 290.0 MB/s",
        ),
    ],
)
def test_the_cache_that_served_a_read_follows_from_the_rates(
    rates: Mapping[str, float], served: list[Optional[bool]], worth: str
) -> None:
    result = caches(rates)
    assert [drop.served for drop in result.drops] == served
    assert worth in " ".join(result.sentences)
    certain = "not certain" in " ".join(result.sentences)
    assert certain is (None in served)


def test_the_sentences_name_each_cache_with_its_gain() -> None:
    assert caches(RATES).sentences == (
        "The page cache served 1 GiB just written: 6.7 times the rate without it.",
        "The server cache served 1 GiB just written: 3.1 times the rate without it.",
        "A probe of 1 GiB reads from the server's memory, not from its storage, which gives "
        "190.0 MB/s: raise bytes of the layer ost above what the server caches.",
        "What an array caches was not dropped.",
    )


def test_a_dry_run_shows_the_commands_that_drop_caches_between_the_reads() -> None:
    words = [argv[0] for argv in CachesUnit(entry()).commands()]
    assert words == ["fio", "fio", "dd", "fio", "lctl", "fio", "lfs", "fio"]
