"""A run continues despite failures of a unit, and closes the notes of a killed run."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Callable, Generator, Iterator, NamedTuple, Optional, Sequence, Union

import pytest

from plumbline.measure.lock import Locks, StuckError
from plumbline.measure.session import Session, SessionContext
from plumbline.measure.trial import Failure, Recorder, tasks_of
from plumbline.measure.unit_context import Retry, Step, UnitContext
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.errors import PrivilegeError, StoreError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.measure.units import NONE, FakeClock, expectation, is_free
from tests.package.waiting import eventually


def nothing(context: UnitContext) -> None:
    """Do nothing."""


class FakeUnit:
    """A unit that skips all its tasks after a test's own action in each."""

    def __init__(
        self,
        component: str,
        meanwhile: Callable[[UnitContext], None] = nothing,
        *others: Expectation,
        **changes: Any,
    ):
        entries = (expectation(component, **changes), *others)
        self.tasks = tuple(task for entry in entries for task in tasks_of(entry))
        self._meanwhile = meanwhile

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        for task in self.tasks:
            self._meanwhile(context)
            yield context.recorder.without(task, Failure(Outcome.SKIPPED, "only a test"))
            context.step(task.title)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        return ()


def no_command(argv: Sequence[str], timeout_s: float, within: Optional[Within] = None) -> Completed:
    raise AssertionError(argv)


class World(NamedTuple):
    """The surroundings of a session, with everything it publishes."""

    history: History
    locks: Locks
    clock: FakeClock
    published: list[tuple[Running, ...]]
    steps: list[Step]
    kept: list[int]
    stops: list[threading.Event]

    def session(self, limit_s: Optional[float] = None, *, by_hand: bool = False) -> Session:
        def runner(descriptors: Sequence[int], stop: threading.Event) -> CommandRunner:
            self.kept.append(len(set(descriptors)))
            self.stops.append(stop)
            return no_command

        return Session(
            SessionContext(
                journal=self.history,
                locks=self.locks,
                clock=self.clock,
                recorder=Recorder("run-1", "client1", self.clock),
                runner=runner,
                publish=lambda now: self.published.append(self.history.running()),
                progress=self.steps.append,
                limit_s=limit_s,
                by_hand=by_hand,
            )
        )

    def running(self) -> list[tuple[str, str, bool]]:
        return [
            (entry.layer, entry.component, entry.interrupted) for entry in self.history.running()
        ]

    def outcomes(self) -> list[tuple[str, str, str]]:
        records = self.history.records(Selection())
        return [(r.component, r.operation.value, r.outcome.value) for r in records]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = FakeClock()
    with History(tmp_path / "history.sqlite") as history:
        yield World(history, Locks(tmp_path / "locks", clock), clock, [], [], [], [])


def test_each_task_of_each_unit_gets_a_record(world: World) -> None:
    world.session().run([FakeUnit("a"), FakeUnit("b")])
    assert world.outcomes() == [
        ("a", "write", "skipped"),
        ("a", "read", "skipped"),
        ("b", "write", "skipped"),
        ("b", "read", "skipped"),
    ]
    assert [step.done for step in world.steps if step.record is None] == [1, 2, 3, 4]
    assert {step.total for step in world.steps} == {8}


def test_a_quantity_to_judge_has_a_record_but_no_step_of_its_own(world: World) -> None:
    judged = dict.fromkeys(("write/single", "write p99/single"), NONE)
    world.session().run([FakeUnit("a", references=judged), FakeUnit("b")])
    assert world.outcomes() == [
        ("a", "write", "skipped"),
        ("a", "write p99", "skipped"),
        ("b", "write", "skipped"),
        ("b", "read", "skipped"),
    ]
    assert [step.done for step in world.steps if step.record is None] == [1, 2, 3]
    assert len([step for step in world.steps if step.record]) == 3


def test_checks_see_the_beginning_and_end_of_a_measurement(world: World) -> None:
    world.session().run([FakeUnit("a")])
    (running,), ended = world.published
    assert (running[:3], ended) == (("ost", "a", 1000.0), ())
    assert running.process is not None
    assert running.process.pid == os.getpid()


def test_ranks_that_outlive_their_run_keep_its_targets_locked(world: World) -> None:
    world.session().run([FakeUnit("a")])
    assert world.kept == [1]
    world.kept.clear()
    world.session().run(
        [
            FakeUnit(
                "a", nothing, expectation("b"), expectation("whole", target={"kind": "parallel"})
            )
        ]
    )
    # a runner of one target keeps only the lock of that target
    assert sorted(world.kept) == [1, 1, 3]


def test_a_file_striped_over_several_targets_locks_all_of_them(world: World) -> None:
    free: list[bool] = []

    def look(context: UnitContext) -> None:
        free.extend(is_free(world.locks, "ost", name) for name in ("a", "b", "a+1", "c"))

    # neither has a record of its own
    unit = FakeUnit("a+1", look, target={"kind": "lustre-striped", "osts": "a,b"})
    world.session().run([unit])
    assert free == [False, False, False, True] * 2
    session = world.session()
    with world.locks.hold("ost", "b"):
        session.run([unit])
    assert len(session.busy) == 1


def test_a_target_busy_in_another_run_gets_no_record(world: World) -> None:
    session = world.session()
    with world.locks.hold("ost", "a"):
        session.run([FakeUnit("a"), FakeUnit("b")])
    assert [component for component, _, _ in world.outcomes()] == ["b", "b"]
    (busy,) = session.busy
    assert "ost-a is being measured by process" in str(busy)


def not_permitted(context: UnitContext) -> None:
    raise PrivilegeError("this user may not read /dev/sdb")


def test_a_measurement_a_person_may_not_do_leaves_no_record_and_names_the_unit(
    world: World,
) -> None:
    session = world.session(by_hand=True)
    session.run([FakeUnit("a", not_permitted), FakeUnit("a", not_permitted), FakeUnit("b")])
    assert [component for component, _, _ in world.outcomes()] == ["b", "b"]
    (refused,) = session.busy
    assert refused.exit_code == 77
    assert str(refused) == (
        "ost a: not measured, this user may not read /dev/sdb; "
        "as root: systemctl start plumbline-ost@a"
    )
    assert world.history.running() == ()


def test_a_measurement_a_unit_may_not_do_is_recorded_for_its_component(
    world: World,
) -> None:
    def forbidden(context: UnitContext) -> None:
        raise PrivilegeError("this user may not read /dev/sdb", "b")

    session = world.session()
    session.run([FakeUnit("a", forbidden, expectation("b"))])
    assert world.outcomes() == [("b", "write", "skipped"), ("b", "read", "skipped")]
    assert session.busy == []


def test_a_target_held_by_a_stuck_tool_is_hung_and_the_others_are_not_blamed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.locks, "hold", stuck(world.locks.hold, ["fio"] * 9))
    world.session().run([FakeUnit("b", nothing, expectation("a"))])
    assert world.outcomes() == [("a", "write", "hung"), ("a", "read", "hung")]


Hold = Callable[[str, str], AbstractContextManager[int]]


def stuck(hold: Hold, programs: list[str]) -> Hold:
    """Return ``hold`` for locks while these programs hold ``a`` one after another."""

    def hold_stuck(layer: str, component: str) -> AbstractContextManager[int]:
        if component == "a" and programs:
            text = "process 7 of a run 2 d ago is stuck in the kernel"
            raise StuckError(text, component, frozenset([programs.pop(0)]))
        return hold(layer, component)

    return hold_stuck


def test_a_target_with_a_stuck_query_is_tried_again_at_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.locks, "hold", stuck(world.locks.hold, ["stat"]))
    world.session().run([FakeUnit("a"), FakeUnit("b")])
    assert [component for component, _, _ in world.outcomes()] == ["b", "b", "a", "a"]


class SilentUnit(FakeUnit):
    """A unit whose target gives no answer."""

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        for task in self.tasks:
            yield context.recorder.without(task, Failure(Outcome.UNANSWERED, "only a test"))


@pytest.mark.parametrize(
    ("other", "outcome"), [(SilentUnit, "unanswered"), (FakeUnit, "hung"), (None, "hung")]
)
def test_a_target_whose_query_stays_stuck_is_hung_unless_another_is_silent_too(
    world: World, monkeypatch: pytest.MonkeyPatch, other: Optional[type[FakeUnit]], outcome: str
) -> None:
    monkeypatch.setattr(world.locks, "hold", stuck(world.locks.hold, ["stat", "cat"]))
    world.session().run([FakeUnit("a"), *([other("b")] if other else [])])
    assert [row[2] for row in world.outcomes() if row[0] == "a"] == [outcome] * 2


class LaterUnit(FakeUnit):
    """A unit to be retried after the others."""

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        yield Retry(FakeUnit("a"))


def test_a_retry_comes_after_all_other_units(world: World) -> None:
    world.session().run([LaterUnit("a"), FakeUnit("b")])
    assert [component for component, _, _ in world.outcomes()] == ["b", "b", "a", "a"]
    assert world.running() == []


def test_the_limit_of_a_run_skips_the_units_it_has_no_time_for(world: World) -> None:
    def work(context: UnitContext) -> None:
        world.clock.sleep(60.0)

    world.session(limit_s=100.0).run([FakeUnit("a", work), FakeUnit("b")])
    reasons = [r.reason for r in world.history.records(Selection(component="b"))]
    assert reasons == ["the run's limit of 100 s was used up before its turn; raise --limit"] * 2


def test_an_interrupt_keeps_earlier_records_and_leaves_nothing_running(world: World) -> None:
    calls = []

    def interrupt(context: UnitContext) -> None:
        calls.append(context)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.session().run([FakeUnit("a", interrupt), FakeUnit("b")])
    assert world.outcomes() == [("a", "write", "skipped")]
    assert world.history.running() == ()
    assert world.published[-1] == ()
    assert is_free(world.locks, "ost", "a")


EXPECTED = {("ost", "a"), ("ost", "b")}


def test_measurements_of_a_killed_run_are_noted_as_interrupted(world: World) -> None:
    world.history.begin("run-0", Running("ost", "a", 400.0))
    world.history.begin("run-0", Running("raw", "retired", 400.0))
    world.session().settle_killed(EXPECTED)
    assert world.outcomes() == []
    assert world.running() == [("ost", "a", True)]
    world.session().run([FakeUnit("a")])
    assert world.running() == []


def test_measurements_of_a_living_run_are_left_alone(world: World) -> None:
    world.history.begin("run-0", Running("ost", "a", 400.0))
    with world.locks.hold("ost", "a"):
        world.session().settle_killed(EXPECTED)
    assert world.running() == [("ost", "a", False)]


def test_two_units_of_the_same_components_take_their_locks_in_the_same_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = []
    hold = world.locks.hold

    def note(layer: str, component: str) -> Any:
        order.append(component)
        return hold(layer, component)

    monkeypatch.setattr(world.locks, "hold", note)
    world.session().run([FakeUnit("b", nothing, expectation("a"))])
    assert order == ["a", "b"]


class WaveUnit(FakeUnit):
    """A unit of the first wave that waits until the others have begun."""

    def __init__(
        self,
        component: str,
        met: threading.Barrier,
        then: Callable[[UnitContext], None] = nothing,
    ) -> None:
        super().__init__(component, then, wave=1)
        self._met = met

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        self._met.wait(timeout=300.0)
        yield from super().measure(context)


def test_units_of_a_wave_run_at_the_same_time_and_others_alone(world: World) -> None:
    met = threading.Barrier(2)
    alone = FakeUnit("c", lambda context: running.append(world.running()))
    running: list[list[tuple[str, str, bool]]] = []
    world.session().run([WaveUnit("a", met), alone, WaveUnit("b", met)])
    assert sorted(world.outcomes()) == [
        (name, operation, "skipped") for name in "abc" for operation in ("read", "write")
    ]
    assert running == [[("ost", "c", False)]] * 2
    assert [step.done for step in world.steps if step.record is None] == list(range(1, 7))
    assert world.history.running() == ()


def test_a_finished_unit_is_unlocked_while_its_wave_goes_on(world: World) -> None:
    met = threading.Barrier(2)

    def wait(context: UnitContext) -> None:
        eventually(lambda: is_free(world.locks, "ost", "a"))

    world.session().run([WaveUnit("a", met), WaveUnit("b", met, wait)])
    assert [component for component, _, _ in world.outcomes()] == ["a", "a", "b", "b"]


def test_a_busy_or_forbidden_unit_does_not_stop_the_rest_of_its_wave(
    world: World,
) -> None:
    met = threading.Barrier(2)
    session = world.session()
    with world.locks.hold("ost", "a"):
        units = [WaveUnit("a", met), WaveUnit("b", met), WaveUnit("c", met, not_permitted)]
        session.run(units)
    recorded = {(component, outcome) for component, _, outcome in world.outcomes()}
    assert recorded == {("b", "skipped"), ("c", "skipped")}
    reasons = {record.reason for record in world.history.records(Selection(component="c"))}
    assert reasons == {"this user may not read /dev/sdb"}
    assert len(session.busy) == 1


def test_retries_run_alone(world: World) -> None:
    met = threading.Barrier(2)

    class AgainUnit(WaveUnit):
        def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
            self._met.wait(timeout=300.0)
            # a barrier for two would never be passed
            yield Retry(WaveUnit(self.tasks[0].entry.component, threading.Barrier(1)))

    world.session().run([AgainUnit("a", met), AgainUnit("b", met)])
    assert sorted(component for component, _, _ in world.outcomes()) == ["a", "a", "b", "b"]


def test_an_error_in_a_wave_ends_its_other_units_and_leaves_nothing_running(world: World) -> None:
    met = threading.Barrier(2)

    def fail(context: UnitContext) -> None:
        raise StoreError("no space is left")

    class EndlessUnit(WaveUnit):
        def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
            self._met.wait(timeout=300.0)
            assert world.stops[1].wait(timeout=300.0)
            # the failure of an ended tool means nothing for the target
            yield context.recorder.without(self.tasks[0], Failure(Outcome.HUNG, "ended"))

    with pytest.raises(StoreError):
        world.session().run([WaveUnit("a", met, fail), EndlessUnit("b", met)])
    assert world.outcomes() == []
    assert world.history.running() == ()
    assert all(is_free(world.locks, "ost", name) for name in "ab")
