from __future__ import annotations

from pathlib import Path
from time import monotonic

from plumbline.model.record import Operation
from plumbline.parallel.job import Job, State
from plumbline.parallel.operation import Attempt, PosixFile, Work, brief_of, result_of
from plumbline.parallel.terms import Method

CALLS = 1000
WHO = (3, "client1", "OST0003")


def test_what_is_kept_first_says_the_same_as_the_whole_but_for_the_curve(tmp_path: Path) -> None:
    """A rank that is being ended may have no time for more."""
    path = tmp_path / "file"
    path.touch()
    test = Method("simple", 4096)
    job = Job(str(tmp_path), test, (Operation.WRITE,), (), CALLS * 4096, 20.0)
    file = PosixFile(str(path), 0, write=True, direct=False)
    work = Work(Operation.WRITE, job, CALLS, bool)
    attempt = Attempt(work, file)
    attempt.make(monotonic())
    file.close()
    brief = brief_of(work, attempt, WHO)
    whole = result_of(work, attempt, WHO)
    assert brief == whole._replace(curve=(), durations=None)
    assert (brief.bytes, brief.state) == (CALLS * 4096, State.DONE)
    assert 0 <= brief.begin_s < brief.end_s
    assert sum(whole.curve) == brief.bytes
