"""A call whose options contradict one another is one sentence, and nothing is begun."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.package.cli.driver import Run

DIRECTORIES = "--directory a=a --directory b=b"
LATENCY = "latency --plan p --prometheus http://127.0.0.1:1"
SWEEP = f"sweep {DIRECTORIES} --state state"
REPLAY = "--replay judges all of a file"
SUBMIT = "name either documents of plumbline judge --json, or --history"
NOTE = "between 1 and 500 characters"
TOGETHER = "--plan and --history belong together"
CALLS = [
    ("baseline capture -i i --records r --last 0", "--last 0 leaves no run"),
    ("probe raw --caches", "--caches goes with plumbline probe ost"),
    ("probe ost --caches --confirm", "without --confirm"),
    ("probe ost --caches", "give one --component"),
    ("probe ost --caches --component a --component b", "give one --component"),
    ("probe ost --caches --directory a=/ --directory b=/tmp", "give one --directory"),
    ("probe net --confirm", "layer net has none: call plumbline probe ost or raw"),
    ("probe fs --confirm", "layer fs has none: call plumbline probe ost or raw"),
    ("probe ost --confirm --component a", "leave out --component"),
    ("probe ost --confirm --directory a=b", "leave out --directory"),
    ("probe ost --confirm --another-client", "leave out --another-client"),
    ("probe ost --confirm --json", "leave out --json"),
    ("probe ost --directory a", "--directory 'a' is not NAME=PATH"),
    ("probe ost --directory a=a", "--directory is given once"),
    ("probe ost --directory a=a --directory a=b", "--directory a is given twice"),
    ("probe ost --directory a=a --directory b=nowhere", "No such file or directory"),
    (f"probe ost {DIRECTORIES} --slot 3", "--slot pairs hosts"),
    ("probe ost --directory 'a\nb=a'", "its name cannot be printed; choose another"),
    ("probe ost --bytes 1MiB", "--bytes belongs to --directory"),
    (f"probe ost {DIRECTORIES} --component x", "--directory needs no --component"),
    (f"{SWEEP} --writers 0", "--writers '0' is no list of values from 1 on"),
    (f"{SWEEP} --writers many", "--writers 'many' is no list"),
    (f"{SWEEP} --transfer ,", "--transfer ',' is no list"),
    (f"{SWEEP} --stripes 3", "3 stripes needs more than the 2 targets"),
    (f"{SWEEP} --stripes 1,all", "files over several targets are made on Lustre alone"),
    (f"{SWEEP} --oversubscribe 1,4", "4-fold over-subscription leaves 0 of them"),
    (f"{SWEEP} --stripe-size 1MiB", "made on Lustre alone: leave --stripe-size out"),
    (f"{SWEEP} --hints cb_nodes=1", "--hints go to MPI-IO, which ost does not use"),
    (f"{SWEEP} --test posix-fpp-1m2 --aggregate 1,2 --writers 2", "gathers data by itself"),
    (f"{SWEEP} --targets 3", "needs more than the"),
    (f"{SWEEP} --bytes 1MiB --bytes-per-rank 1MiB", "--bytes and --bytes-per-rank do not go"),
    (f"{SWEEP} --writers 1 --total-ranks 1", "--writers and --total-ranks do not go together"),
    (f"{SWEEP} --advice", "has a figure yet; leave --advice out"),
    (f"{SWEEP} --oversubscribe 1,2 --alone", "leave --oversubscribe out"),
    (f"{SWEEP} --bytes 1MiB", "less than one transfer of 1048576 bytes; raise --bytes"),
    (f"{SWEEP} --transfer 1B --bytes 1GiB", "would need"),
    (f"{SWEEP} --writers {','.join(map(str, range(1, 1200)))}", "make 1199 points; give fewer"),
    (f"{SWEEP} --component a", "--directory needs no --component"),
    ("judge --last-run --plan p --history h", "--last-run is of one node"),
    ("judge --publish --layer ost", "--publish is of all that this node measures"),
    ("judge --replay s.csv --component a", REPLAY),
    ("judge --replay s.csv --layer ost", REPLAY),
    ("judge --replay s.csv --explain a", REPLAY),
    ("judge --replay s.csv --last-run", REPLAY),
    ("judge --replay s.csv --plan p --history h", REPLAY),
    ("judge --together 10min", "--together belongs to --replay FILE.csv"),
    ("status --plan p", TOGETHER),
    ("metrics --plan p", TOGETHER),
    ("changes --history h", TOGETHER),
    ("changes --differences", "--differences compares nodes: give --plan and --history"),
    (f"{LATENCY} --window 20h", "--since takes at least two times --window"),
    (f"{LATENCY} --since 1000w", "takes whole seconds, and at most 10000 of it"),
    (f"{LATENCY} --window 1s", "takes whole seconds, and at most 10000 of it"),
    (f"{LATENCY} --window 90.5s", "takes whole seconds, and at most 10000 of it"),
    (f"{LATENCY} --save a", "--save a is no history; name the file"),
    ("note ' '", NOTE),
    (f"note {'x' * 501}", NOTE),
    ("note upgrade --at soon", "--at 'soon' is no date"),
    ("note --at 2026-11-02", "--at needs the text"),
    ("plan --plan p", "--plan and --options belong to --format"),
    ("plan --plan p --format nagios --node c", "--node shows expectations of one node"),
    ("publish --stale 0", "--stale 0 is no time"),
    ("report --days 0", "a number from 1 to 4000"),
    ("report --at 03:12", "--at and --prometheus belong together"),
    ("report --prometheus http://127.0.0.1:1", "--at and --prometheus belong together"),
    ("submit --plan p", SUBMIT),
    ("submit --plan p a.json --history b", SUBMIT),
    ("submit --plan p a.json --wait 0", "--wait 0 is no time to wait"),
    ("submit --plan p a.json --batch - --json", "choose one"),
    ("topology check", "name the folder of the inventory with -i"),
]


@pytest.mark.parametrize(("words", "sentence"), CALLS, ids=lambda text: text[:60])
def test_a_call_that_makes_no_sense_is_one_sentence(
    words: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    said = run(*shlex.split(words), code=64)
    assert said.err.startswith("plumbline: ")
    assert sentence in said.err
    assert said.out == ""
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["a", "b"]
