"""A call whose options contradict one another is one sentence, and nothing is begun."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from plumbline.parallel.terms import TESTS
from tests.package.cli.driver import Run, inventory
from tests.package.locate.scenes import Scene, lab

DIRECTORIES = "--directory a=a --directory b=b"
LATENCY = "latency --plan p --prometheus http://127.0.0.1:1"
FS = f"probe fs {DIRECTORIES}"
SWEEP = f"sweep {DIRECTORIES} --state state"
REPLAY = "--replay judges all of a file"
SUBMIT = "name either documents of plumbline judge --json, or --history"
NOTE = "between 1 and 500 characters"
TOGETHER = "--plan and --history belong together"
EVERY = "--every takes a time from 1s to 60min"
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
    ("counters --every 0.5s", EVERY),
    ("counters --every 0s -o x", EVERY),
    ("counters --every 2h -o x", EVERY),
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


RUNS = [
    ("--test posix", f"known are {', '.join(TESTS)}"),
    ("--bytes 1GiB --budget 1GiB", "would write 2147.5 MB, its budget is 1073.7"),
    ("--bytes 10B", "less than one transfer of 1048576 bytes"),
    ("--bytes 1GiB --transfer 1B", "would need 17.2 GB of memory; lower --bytes"),
    ("--ranks 0", "give 1 or more"),
    ("--direct --transfer 10000B", "transfers and buffers of whole 4096 bytes"),
    ("--transfer 0B", "--transfer 0B moves nothing"),
    ("--gather 2x0B", "write 2x32MiB or none"),
    ("--test mpiio-shared-10k --gather 2x1MiB", "--gather with one buffer alone"),
    ("--test mpiio-shared-1m1 --gather 1x1MiB", "writes collectively"),
    ("--gather many", "write 2x32MiB or none"),
    ("--keep 1MiB --bytes 1MiB", "would keep 2.1 MB, --keep allows 1.0 MB; lower"),
    ("--keep 1GiB --reread-kept", "reads what --keep has left; give one of them"),
    ("--keep 1GiB --fixed-time", "leaves files with holes"),
    ("--stripes 3", "--stripes 3 does not divide 2 targets into equal parts"),
    ("--stripes all", "files over several targets are made on Lustre alone"),
    ("--clients c1,c2", "--work names a folder that c1, c2 see as well"),
    ("--launcher srun", "--clients names the hosts that srun is to use; give it"),
    ("--clients c1 --hostfile h", "say the same; give one of them"),
    ("--hostfile nowhere", "--hostfile nowhere: No such file"),
    ("--profile nowhere/calls", "--profile nowhere/calls cannot be written"),
    ("--directory all=.", "that is the name of all together"),
]
FAULT = "simulate -i {site} --days 5 --fault"
NO_HISTORY = "there is no history none.sqlite"
PAST = "--plan {plan} --history none.sqlite"
COLLECT = "collect --plan {plan} --history h"
SAMPLE = "sample --state . --expectations none.json"
CALLS += [(f"{FS} {words}", sentence) for words, sentence in RUNS]
CALLS += [
    (f"probe {words} --another-client", "--another-client measures the targets of another client")
    for words in ("raw --expectations e", "ost", "fs")
]
CALLS += [
    (f"{FAULT} oss9=40%", "no measurement of this site crosses 'oss9'"),
    (f"{FAULT} oss1", "fault 'oss1' is not understood"),
    (f"{FAULT} oss1=40%@99", "begins after the last day"),
    (f"{FAULT} release-2.4.0/home=40%", "it has scratch"),
    (f"{FAULT} switch1+neighbour=40%", "it has no neighbour"),
    ("simulate -i {site} --random-faults 999", "is more than the"),
    ("simulate -i {site} --loss much --random-faults 1", "loss"),
    ("simulate -i {site} --healthy baselines", "baselines.yml has no baselines; accept some, or"),
    ("plan -i {site} --node oss9", "'oss9' is no client or server of lab; its hosts are"),
    (f"{COLLECT} --node nobody", "'nobody' is no node of the plan, which has oss1, oss2"),
    (f"{COLLECT} --remote 'ssh host'", "does not say where {node} stands"),
    (f'{COLLECT} --remote "ssh \'"', "is not understood"),
    (f"{COLLECT} --remote 'ssh {{node}}' --at-once 0", "between 1 and 256"),
    (f"{COLLECT} --remote 'ssh {{node}}' --limit 0", "is no time to wait"),
    (f"{SAMPLE} --device sdb", "write NAME=PATH"),
]
ENDINGS = [
    *((64, words, sentence) for words, sentence in CALLS),
    (65, f"{FS} --clients c1:6,c2", "the client c2 has no number of ranks and others have one"),
    (65, f"{SAMPLE} --limit 2h --device a=/nowhere", "nothing counts here"),
    (65, f"{SAMPLE} --device a=/nowhere", "a: /nowhere cannot be found"),
    (65, SAMPLE, "none.json: no such file"),
    (65, "changes --since '5 M'", "has no known unit"),
    (65, "changes --since 1e17s", "more than three centuries"),
    (65, "changes --state .", "plumbline symptoms --save"),
    (65, "judge --replay ''", "cannot be read"),
    (65, "symptoms --expectations none.json --state .", "deploy the role agent"),
    (65, "probe ost --expectations none.json --state .", "deploy the role agent; without it dir"),
    (65, "latency --plan none.json --prometheus http://127.0.0.1:1", "plan"),
    (69, "latency --plan {plan} --prometheus http://127.0.0.1:1", "127.0.0.1:1 does not answer"),
    (74, "counters -o absent/x.prom", "x.prom cannot be written"),
    (74, "history --state .", "nothing was measured here yet; run plumbline probe"),
    (74, "jobs --history none.sqlite", NO_HISTORY),
    (74, f"publish {PAST} --to paths.json", NO_HISTORY),
    (74, f"report {PAST} -o report", NO_HISTORY),
    *(
        (74, f"{verb} {PAST}", NO_HISTORY)
        for verb in ("changes", "judge", "locate", "metrics", "status", "submit")
    ),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an inventory, and the plan of the lab."""
    folder = tmp_path_factory.mktemp("documents")
    plan = folder / "plan.json"
    plan.write_text(json.dumps(Scene(lab()).plan.to_json()), encoding="utf-8")
    return {"site": inventory(folder / "site"), "plan": str(plan), "node": "{node}"}


@pytest.mark.parametrize(("code", "words", "sentence"), ENDINGS, ids=lambda text: str(text)[:60])
def test_a_call_that_makes_no_sense_is_one_sentence(
    *,
    code: int,
    words: str,
    sentence: str,
    documents: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    given = words.format(**documents) if "{" in words else words
    said = run(*shlex.split(given), code=code)
    assert said.err.startswith("plumbline: ")
    assert sentence in said.err
    assert code == 65 or said.err.count("\n") == 1
    assert said.out == ""
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["a", "b"]
