from __future__ import annotations

import os
import signal
import subprocess
import sys

from plumbline.parallel.launch import end_ranks

SLEEPS = "import time; print(flush=True); time.sleep(60)"


def test_a_stopped_rank_of_the_job_is_ended_and_that_of_another_is_not() -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SLEEPS, "-m", "plumbline.parallel.rank", job],
            stdout=subprocess.PIPE,
        )
        for job in ("/w/one/job.json", "/w/other/job.json")
    ]
    own, other = ranks
    try:
        for rank in ranks:
            # while a program is being started it has no command line yet
            assert rank.stdout is not None
            assert rank.stdout.readline()
        os.kill(own.pid, signal.SIGSTOP)
        end_ranks("/w/one/job.json")
        assert own.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
