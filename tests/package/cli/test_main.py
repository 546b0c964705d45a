"""Exit codes, help and error messages of the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline import __version__
from plumbline.cli import MACHINE_VERBS, VERBS, build_parser, main
from plumbline.cli.machines import MACHINES
from plumbline.cli.people import PEOPLE
from plumbline.store.history import History
from tests.package.cli.driver import COMMAND, SOURCE
from tests.package.records import record
from tests.processes import run_to_end

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"plumbline {__version__}\n"


def test_the_command_without_a_verb_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 64
    assert capsys.readouterr().out.startswith("usage: plumbline")


def test_a_misspelt_verb_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prob"]) == 64
    assert "did you mean probe?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["ost"], "what was measured before is kept"),
        (["ost", "--directory", "a=/"], "nothing is kept"),
    ],
)
def test_an_interruption_reports_what_is_kept(
    words: list[str],
    kept: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("plumbline.cli.probe.probe", interrupted)
    assert main(["probe", *words]) == 130
    assert capsys.readouterr().err == f"plumbline: interrupted; {kept}\n"


@pytest.mark.parametrize("verb", [*VERBS, *MACHINE_VERBS])
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        build_parser().parse_args([verb, "--help"])
    among_all = capsys.readouterr().out
    assert f"usage: plumbline {verb}" in among_all
    with pytest.raises(SystemExit, match="0"):
        main([verb, "--help"])
    assert capsys.readouterr().out == among_all


def test_declaring_verbs_imports_none_of_their_modules() -> None:
    code = "import sys, plumbline.cli; plumbline.cli.build_parser(); print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], env=ENVIRONMENT, text=True)
    modules = {f"plumbline.cli.{verb.module}" for verb in (*PEOPLE.values(), *MACHINES.values())}
    assert modules & set(loaded.split()) == set()


def test_the_help_lists_the_verbs_of_people_before_those_of_machines() -> None:
    people, _, machines = build_parser().format_help().partition("for roles, timers and playbooks:")
    listed = [set(re.findall(r"^    (\w+) ", text, re.MULTILINE)) for text in (people, machines)]
    assert listed == [set(VERBS), set(MACHINE_VERBS)]


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        for _ in range(300):
            history.save(record())
    command = f"{sys.executable} -m plumbline.cli history --state {tmp_path} --json | head -n 1"
    ended = run_to_end("bash", "-o", "pipefail", "-c", command, env=ENVIRONMENT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("\n") == 1


def test_output_to_a_full_disk_is_an_error_message(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record())
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*COMMAND, "history", "--state", str(tmp_path)],
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    sentence = "plumbline: the output cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (74, sentence)


def test_a_path_that_the_system_refuses_is_an_error_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = f"/{'a' * 300}"
    assert main(["history", "--state", path]) == 74
    assert f"{path}/history.sqlite: File name too long; " in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "verb", ["note --history {}/history.sqlite", "counters", "history --state {}"]
)
def test_closed_standard_files_cause_no_error(closed: str, verb: str, tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record())
    command = f"{sys.executable} -m plumbline.cli {verb.format(tmp_path)} {closed}"
    ended = run_to_end("sh", "-c", command, env=ENVIRONMENT)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 0


def test_control_characters_in_errors_are_neutralized(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("\x1b[2Jhost,\x9bx,ts\n1,2,3\n", encoding="utf-8")
    assert main(["judge", "--replay", str(path)]) == 65
    mark = "\N{REPLACEMENT CHARACTER}"
    assert f"it has {mark}[2Jhost, {mark}x, ts\n" in capsys.readouterr().err


COUNT_THREADS = """
import os
from plumbline.cli import main
main(["judge"])
import numpy
print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize("choice", [{}, {"OPENBLAS_NUM_THREADS": "2"}])
def test_numpy_has_one_thread_unless_the_caller_asks_for_more(choice: dict[str, str]) -> None:
    environment = {**ENVIRONMENT}
    environment.pop("OPENBLAS_NUM_THREADS", None)
    ended = run_to_end(sys.executable, "-c", COUNT_THREADS, env={**environment, **choice})
    allowed, threads = ended.stdout.split()
    assert allowed == choice.get("OPENBLAS_NUM_THREADS", "1"), ended.stderr
    assert int(threads) <= int(allowed)
