"""Each probe reads what its tool really prints, and says what it does not understand."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.measure.probes import probe_for
from plumbline.measure.probes.interface import quoted
from plumbline.model.command import Completed
from plumbline.model.errors import (
    DocumentError,
    NoSpaceError,
    PlumblineError,
    StorageError,
    ToolError,
)
from plumbline.model.record import Flag, Measurement, Operation
from tests.package.measure.jobs import completed, data, job


class Good(NamedTuple):
    """An output with what it says."""

    tool: str
    file: str
    rate_MBps: float
    changes: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    exit_code: int = 0
    flags: tuple[Flag, ...] = ()
    seconds: Optional[int] = None
    retransmits: Optional[int] = None


RECEIVE = {"operation": Operation.RECEIVE}
WRITE = {"operation": Operation.WRITE}

GOOD = [
    Good("fio", "fio/read-3.39.json", 82.24),
    Good("fio", "fio/write-3.39.json", 58.20, WRITE),
    Good("fio", "fio/read-each-second-3.39.json", 119.41, {}, {"bytes": 128 << 20}, seconds=1),
    Good("fio", "fio/short-3.33.json", 10.48, WRITE, {"seconds": 2.0}, 0, (Flag.SHORT,), 2),
    Good("sgp_dd", "sgp_dd/read.txt", 123.54),
    Good("sgp_dd", "sgp_dd/read_thr.txt", 274.14, {}, {"bytes": 256 << 20}),
    Good("sgp_dd", "sgp_dd/read-5.77.txt", 229.57),
    Good("sgp_dd", "sgp_dd/read-5.93.txt", 202.23, {}, {"bytes": 256 << 20}),
    Good("sgp_dd", "sgp_dd/interrupted-5.93.txt", 197.78, {}, {"bytes": 10**9}, 124, (Flag.SHORT,)),
    Good(
        "sgp_dd", "sgp_dd/interrupted-5.77.txt", 19.69, {}, {"bytes": 256 << 20}, 124, (Flag.SHORT,)
    ),
    Good("netperf", "netperf/send.txt", 119.57, retransmits=0),
    Good("netperf", "netperf/receive.txt", 119.17, RECEIVE, retransmits=0),
    Good(
        "netperf",
        "netperf/conf.txt",
        119.42,
        {"confidence_pct": 0.01},
        flags=(Flag.CONFIDENCE_MISSED,),
        retransmits=0,
    ),
    Good("iperf3", "iperf3/send-3.18.json", 23.86, seconds=2, retransmits=0),
    Good("iperf3", "iperf3/receive-3.12.json", 10.49, RECEIVE, seconds=2, retransmits=1),
]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case.file))
def test_a_good_output_is_read(case: Good) -> None:
    text = data(case.file)
    # sgp_dd speaks on standard error
    streams = {"stderr": text} if case.tool == "sgp_dd" else {"stdout": text}
    done = completed(**streams, exit_code=case.exit_code)
    measurement = probe_for(case.tool).parse(job(case.tool, case.spec, **case.changes), done)
    assert measurement.rate_Bps / 1e6 == pytest.approx(case.rate_MBps, abs=0.01)
    assert measurement.bytes / measurement.seconds == pytest.approx(measurement.rate_Bps, rel=0.01)
    assert measurement.flags == case.flags
    assert measurement.retransmits == case.retransmits
    assert case.seconds is None or len(measurement.profile_Bps) == case.seconds


FIO = data("fio/read-3.39.json")
NETPERF = data("netperf/send.txt")
IPERF3 = data("iperf3/send-3.18.json")
SGP_DD = data("sgp_dd/read.txt")

BROKEN = [
    (
        "fio",
        completed(data("fio/no-space-3.33.json"), data("fio/no-space-3.33.txt"), 1),
        "No space",
    ),
    ("fio", completed(data("fio/missing-file-3.33.json"), "", 1), "failed with exit code 1"),
    ("fio", completed(data("fio/file-ends-3.33.json")), "shorter than that"),
    ("fio", completed("fio: engine libaio not loadable\n", "", 1), "libaio not loadable"),
    ("fio", completed("", "fio: \x1b]0;x\x07\x1b[2J\tgone\r\nbad\n", 1), "\ufffd\\[2J gone; bad$"),
    (
        "fio",
        completed("fio: one\n" + FIO.replace('"error" : 0', '"error" : 5'), "two\nthree\n"),
        "error 5: fio: one; two; three",
    ),
    (
        "fio",
        completed("fio: out of memory\n" + FIO.replace('"error" : 0', '"error" : 5')),
        "error 5",
    ),
    ("fio", completed(FIO[:3000]), "cut or damaged"),
    ("fio", completed(FIO + FIO[:2000]), "cut or damaged"),
    ("fio", completed(""), "no report"),
    ("fio", completed("{}\n"), "not that of one job"),
    ("fio", completed('{"jobs": [{"error": null}]}'), "None as the error"),
    ("fio", completed('{"jobs": [{"error": 0}]}'), "no part 'read'"),
    ("fio", completed(FIO.replace("816,", '816, "runtime" : 3,', 1)), "no runtime"),
    ("fio", completed(FIO.replace("67108864,", "NaN,", 1)), "cut or damaged"),
    ("fio", completed(FIO.replace("67108864,", "0,", 1)), "time left|moved nothing"),
    ("fio", completed(FIO.replace("816,", "0,", 1)), "measured seconds"),
    ("fio", completed(FIO.replace("816,", "-816,", 1)), "measured seconds"),
    (
        "sgp_dd",
        completed("", data("sgp_dd/pastend.txt"), 22),
        "Some error occurred.*hold 134217728",
    ),
    ("sgp_dd", completed("", data("sgp_dd/pastend.txt")), "error finishing sg"),
    ("sgp_dd", completed("", data("sgp_dd/device-ends-5.93.txt"), 99), "Some error occurred"),
    (
        "sgp_dd",
        completed("", data("sgp_dd/io-error-5.93.txt"), 99),
        "failed with exit code 99: error in normal read, Input/output error$",
    ),
    ("sgp_dd", completed("", data("sgp_dd/badbs.txt")), "residual counts=409600"),
    ("sgp_dd", completed("", data("sgp_dd/nodev.txt"), 15), "unable to access /dev/sg99"),
    ("sgp_dd", completed("", data("sgp_dd/notime.txt")), "no time"),
    ("sgp_dd", completed("", data("sgp_dd/verbose.txt")), "65536 out instead of 262144"),
    ("sgp_dd", completed("", SGP_DD.replace("262144+0 records out", "")), "no records in and out"),
    (
        "sgp_dd",
        completed("", SGP_DD.replace("262144+0 records in", "262143+1 records in")),
        "instead",
    ),
    ("sgp_dd", completed("", SGP_DD.replace("1.086413", "0.000000")), "measured seconds"),
    ("sgp_dd", completed("", SGP_DD, 124), "exit code 124"),
    ("sgp_dd", completed("", "time to copy data: 1.0"), "no time"),
    (
        "netperf",
        completed(data("netperf/refused.txt"), "", 255),
        "are you sure there is a netserver",
    ),
    ("netperf", completed(""), "no throughput"),
    ("netperf", completed(NETPERF[:30]), "no throughput"),
    ("netperf", completed(NETPERF.replace("956.57", "nan")), "no THROUGHPUT"),
    ("netperf", completed(NETPERF.replace("956.57", "0.00")), "measured"),
    ("netperf", completed(NETPERF.replace("956.57", "1e308")), "no THROUGHPUT"),
    ("netperf", completed(NETPERF.replace("956.57", "9e17")), "measured .* plausible"),
    ("netperf", completed(NETPERF.replace("10^6bits/s", "Trans/s")), "no throughput"),
    ("netperf", completed(NETPERF.replace("ELAPSED_TIME=3.03\n", "")), "no ELAPSED_TIME"),
    ("iperf3", completed(data("iperf3/refused-3.12.json")), "Connection refused; is its server"),
    ("iperf3", completed(data("iperf3/refused-3.12.json"), "", 1), "Connection refused"),
    ("iperf3", completed(IPERF3[:900]), "no report"),
    ("iperf3", completed("", "iperf3: parameter error - unrecognized", 1), "unrecognized"),
    ("iperf3", completed("[]"), "no report"),
    ("iperf3", completed('{"end": {}}'), "no end.sum_received"),
    ("iperf3", completed(IPERF3.replace('"intervals":', '"i":')), "no intervals"),
    ("iperf3", completed(IPERF3.replace("47972352", "0")), "measured"),
]


@pytest.mark.parametrize(("tool", "done", "reason"), BROKEN)
def test_a_broken_output_is_said_in_one_sentence(tool: str, done: Completed, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        probe_for(tool).parse(job(tool), done)
    assert "\n" not in str(caught.value)


ENDED = [
    (
        Completed((), None, "", "", 65.0, timed_out=True, hung=True),
        "stuck in the kernel after 65 s",
    ),
    (Completed((), -15, "", "", 65.0, timed_out=True), "ran for more than 65 s"),
    (Completed((), -9, "", "", 1.0), "killed by signal 9"),
    (Completed((), 3, "", "", 1.0), "without a word"),
]


@pytest.mark.parametrize("tool", ["fio", "sgp_dd", "netperf", "iperf3"])
@pytest.mark.parametrize(("done", "reason"), ENDED)
def test_a_tool_that_hangs_or_is_killed_is_said(tool: str, done: Completed, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        probe_for(tool).parse(job(tool), done)


def test_even_a_complete_report_of_a_killed_tool_is_no_measurement() -> None:
    with pytest.raises(ToolError, match="killed by signal 9"):
        probe_for("fio").parse(job("fio"), completed(FIO, exit_code=-9))


@pytest.mark.parametrize(
    ("tool", "text", "version"),
    [
        ("fio", "fio-3.39\n", "3.39"),
        ("sgp_dd", "sgp_dd: 5.93 20230717\n", "5.93"),
        ("netperf", "Netperf version 2.7.1\n", "2.7.1"),
        ("iperf3", "iperf 3.18 (cJSON 1.7.15)\nLinux client1 6.12\n", "3.18"),
    ],
)
def test_the_version_is_the_number_alone(tool: str, text: str, version: str) -> None:
    probe = probe_for(tool)
    assert probe.parse_version(completed(text)) == version
    with pytest.raises(ToolError, match="no version"):
        probe.parse_version(completed("what?\n"))
    assert probe.VERSION_COMMAND[0] == tool


def test_an_unknown_tool_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"no probe 'dd'.*fio, iperf3, netperf, sgp_dd"):
        probe_for("dd")


_TEXTS = {"fio": FIO, "sgp_dd": SGP_DD, "netperf": NETPERF, "iperf3": IPERF3}


@pytest.mark.slow
@pytest.mark.parametrize("tool", sorted(_TEXTS))
@given(values=st.data())
def test_no_output_however_damaged_causes_a_traceback(tool: str, values: st.DataObject) -> None:
    text = _TEXTS[tool]
    start = values.draw(st.integers(0, len(text)))
    end = values.draw(st.integers(start, min(len(text), start + 60)))
    junk = values.draw(
        st.one_of(st.text(max_size=20), st.sampled_from(["1e999", "-1", "[" * 5000]))
    )
    damaged = text[:start] + junk + text[end:]
    try:
        measurement = probe_for(tool).parse(job(tool), completed(damaged, damaged))
    except PlumblineError:
        return
    assert isinstance(measurement, Measurement)


def test_what_a_tool_says_is_cut_between_words_and_never_within_one() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    said = quoted(f"first\n{words}")
    assert said.startswith("first; word0 word1 ")
    assert len(said) <= 300
    assert said.endswith(" ...")
    assert said.removesuffix(" ...").rpartition(" ")[2] in words.split()


IO_ERRORS = [
    (
        "fio",
        completed("", "fio: io_u error on file x: Input/output error: read offset=0\n", 1),
        StorageError,
    ),
    ("fio", completed(FIO.replace('"error" : 0', '"error" : 5')), StorageError),
    ("fio", completed(FIO.replace('"error" : 0', '"error" : 122')), ToolError),
    (
        "fio",
        completed(data("fio/no-space-3.33.json"), data("fio/no-space-3.33.txt"), 1),
        NoSpaceError,
    ),
    ("fio", completed("fio: engine libaio not loadable\n", "", 1), ToolError),
    (
        "sgp_dd",
        completed("", data("sgp_dd/io-error-5.93.txt"), 99),
        StorageError,
    ),
    ("sgp_dd", completed("", data("sgp_dd/device-ends-5.93.txt"), 99), ToolError),
    ("sgp_dd", completed("", data("sgp_dd/pastend.txt"), 22), ToolError),
]


@pytest.mark.parametrize(("tool", "done", "kind"), IO_ERRORS)
def test_an_io_error_of_the_storage_is_told_from_a_tool_that_failed(
    tool: str, done: Completed, kind: type[ToolError]
) -> None:
    with pytest.raises(ToolError) as caught:
        probe_for(tool).parse(job(tool), done)
    assert type(caught.value) is kind
