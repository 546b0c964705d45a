"""The first run that meets a dead OST names it, though the run's own query stays stuck."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Callable, Iterator, Optional, Sequence

import pytest

from plumbline.measure import lock
from plumbline.measure.lock import Locks
from plumbline.measure.ost import TargetUnit
from plumbline.measure.session import Session, SessionContext
from plumbline.measure.trial import Recorder
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome, Record
from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.measure.targets import ALL_IMPORTS, FILES, CaseRun, imports, of_ost
from tests.package.measure.units import FakeClock, expectation
from tests.package.recorded import data, text

OSTS = ("lustre-OST0001", "lustre-OST0003")
UP, DOWN = (text(FILES["lustre"]["parts"][name]) for name in ("up", "down"))
MDC = "lctl get_param mdc.lustre-MDT*-mdc-*.import"
KILL = os.kill

Measure = Callable[..., list[Record]]


def client(after: str, osts: Sequence[str], server: str, mdt: str) -> FakeRunner:
    """Return the answers of a client that loses OST0003 while it queries its usage."""
    answers: dict[str, Answer] = {}
    for ost in osts:
        get = f"lctl get_param osc.{ost}-osc-*"
        answers.update(of_ost(ost))
        answers[f"{get}.active"] = f"osc.{ost}-osc-ffff888120238800.active=1\n"
        answers[f"{get}.import"] = imports()
    answers["lctl get_param osc.lustre-OST0003-osc-*.import"] = [answer(UP), answer(after)]
    states = {f"OST000{index}": server for index in range(3)}
    answers[ALL_IMPORTS] = imports(OST0003="DISCONN", **states)
    answers[MDC] = data("lustre/lctl_mdc_import.txt").replace("state: FULL", f"state: {mdt}")
    answers["lfs getdirstripe -m"] = HANGING
    return FakeRunner({**answers, "lfs df": HANGING, "lfs df --ost=": HANGING})


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measure]:
    """Return a run over OSTs whose ``lfs df`` leaves an unkillable process with the lock."""
    monkeypatch.setattr(lock, "_ORPHAN_WAIT_S", 0.3)
    monkeypatch.setattr(os, "kill", lambda pid, number: KILL(pid, 0))
    lfs = tmp_path / "lfs"
    shutil.copy(shutil.which("sleep") or "sleep", lfs)
    stuck: list[subprocess.Popen[bytes]] = []

    def run(
        after: str, *osts: str, server: str = "FULL", mdt: str = "FULL", runs: int = 1
    ) -> list[Record]:
        answers, clock = client(after, osts, server, mdt), FakeClock()

        def runner(descriptors: Sequence[int], _stop: threading.Event) -> CommandRunner:
            def command(
                argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
            ) -> Completed:
                completed = answers(argv, timeout_s, within)
                if completed.hung and descriptors:
                    stuck.append(subprocess.Popen([lfs, "60"], pass_fds=descriptors))
                return completed

            return command

        with History(tmp_path / "history.sqlite") as history:
            for number in range(runs):
                context = SessionContext(
                    journal=history,
                    locks=Locks(tmp_path / "locks", clock),
                    clock=clock,
                    recorder=Recorder(f"run-{number}", "client1", clock),
                    runner=runner,
                    publish=lambda now: None,
                    progress=lambda step: None,
                )
                if number:
                    # as if in another process
                    sign(context.locks.directory)
                Session(context).run([TargetUnit(entry(ost)) for ost in osts])
            return list(history.records(Selection()))[-2 * len(osts) :]

    yield run
    for process in stuck:
        KILL(process.pid, signal.SIGKILL)
        process.wait()


def sign(directory: Path) -> None:
    """Change the locks to those of a dead run."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    for path in directory.glob("*.lock"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "pid": dead.pid}))


def entry(ost: str) -> Expectation:
    return expectation(ost, target={"kind": "lustre", "mount": "/mnt/lustre", "ost": ost})


@pytest.mark.parametrize("runs", [1, 2])
def test_a_dead_ost_measured_alone_is_broken_in_each_run(measure: Measure, runs: int) -> None:
    write, read = measure(DOWN, "lustre-OST0003", runs=runs)
    assert (write.outcome, read.outcome) == (Outcome.BROKEN, Outcome.BROKEN)
    assert write.reason.startswith("the import of lustre-OST0003 is DISCONN (process ")
    assert write.reason.endswith("server oss1 answers for others: the target is gone")
    assert f"of {'this run' if runs == 1 else 'a run'} " in write.reason


def test_a_dead_server_is_one_alarm_even_if_one_of_its_targets_is_measured_alone(
    measure: Measure,
) -> None:
    write, _ = measure(DOWN, "lustre-OST0003", server="DISCONN")
    assert write.outcome is Outcome.UNREACHABLE
    assert write.reason.startswith(
        "server oss1 does not answer: the import of lustre-OST0003 is DISC"
    )


def test_an_ost_is_hung_if_only_it_gives_no_answer(measure: Measure) -> None:
    write, _ = measure(UP, "lustre-OST0003")
    assert write.outcome is Outcome.HUNG
    assert "of this run" in write.reason
    assert write.reason.endswith("nothing else in this run hangs")


def test_an_ost_is_not_blamed_while_its_metadata_server_is_lost(measure: Measure) -> None:
    write, _ = measure(UP, "lustre-OST0003", mdt="DISCONN")
    assert write.outcome is Outcome.UNANSWERED
    assert write.reason.endswith("; lustre-MDT0000 is DISCONN")


def test_an_ost_is_hung_though_a_metadata_server_that_its_file_does_not_need_is_lost() -> None:
    case = CaseRun("lustre", {"does": ["waits_for_others"], "changes": {}})
    one = data("lustre/lctl_mdc_import.txt")
    two = one.replace("MDT0000", "MDT0001").replace("state: FULL", "state: DISCONN")
    answers: dict[str, Answer] = {MDC: f"{one}{two}", "lfs getdirstripe -m": "0\n"}
    case.run = FakeRunner(answers)
    assert case.do() == ""
    assert [call.split()[-1] for call in case.run.called("lfs getdirstripe")] == [
        *("/mnt/lustre", "/mnt/lustre/.plumbline", "/mnt/lustre/.plumbline/lustre-OST0003")
    ]
    # folders that an older release has made lie on any of them
    case.run = FakeRunner({**answers, "lfs getdirstripe -m": [answer(n) for n in "010"]})
    assert case.do() == "lustre-MDT0001 is DISCONN"
    case.run = FakeRunner({**answers, "lfs getdirstripe -m": HANGING})
    assert case.do() == "lustre-MDT0001 is DISCONN"
    case.run = FakeRunner({MDC: ""})
    assert case.do() == "lctl shows no metadata target of lustre"


def test_no_ost_is_blamed_for_a_stuck_query_while_another_gives_no_answer(
    measure: Measure,
) -> None:
    records = measure(UP, *OSTS)
    assert {record.component for record in records} == set(OSTS)
    assert {record.outcome for record in records} == {Outcome.UNANSWERED}
