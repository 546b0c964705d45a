"""All that a verdict rests on, as lines; the deeper a line is indented, the less often one asks."""

from __future__ import annotations

from math import isinf
from typing import Iterator

from plumbline.judge.contention import coverage_words
from plumbline.judge.finding import Ruling
from plumbline.judge.floor import evidence_of_floor
from plumbline.judge.measured import Measured
from plumbline.judge.operations import label
from plumbline.judge.phrases import limited, peers, repeats
from plumbline.judge.profile import course_words
from plumbline.model.ages import age
from plumbline.model.record import Record
from plumbline.model.series import Sample
from plumbline.model.threshold import Range
from plumbline.model.verdict import Figure
from plumbline.units import format_rate

_SAMPLES_SHOWN = 10


def evidence(ruling: Ruling, now: float, name: str = "") -> Iterator[str]:
    """Yield the lines about one operation; ``name`` goes before it, e.g. a partner's."""
    record, of = ruling.record, ruling.measured
    why = f"{ruling.finding.state.name}, {ruling.finding.reason.words}"
    if record is None or of is None:
        yield f"{name}{ruling.finding.text} [{why}]"
        return
    rate = format_rate(of.rate_Bps)
    yield f"{name}{of.what} {rate} {age(record.finished_at, now)}, repeats {repeats(of)} [{why}]"
    yield from (f"  {line}" for line in _references(of))
    yield f"  {_conditions(record)}"
    yield from (f"    {_earlier(sample, now)}" for sample in of.samples[1 : _SAMPLES_SHOWN + 1])


def figure(ruling: Ruling) -> Figure:
    """Return the performance datum of one operation, levels and rates in bytes per second."""
    name = label(ruling.operation, ruling.scenario).replace(" ", "_")
    of = ruling.measured
    if of is None:
        return Figure(f"{name}_Bps", None)
    levels = ("", "")
    if of.reference_Bps is not None:
        factor = of.reference_Bps / 100
        levels = (_level(of.limits.warning, factor), _level(of.limits.critical, factor))
    maximum = of.ceiling.rate_Bps if of.ceiling else None
    return Figure(f"{name}_Bps", of.rate_Bps, "", *levels, maximum)


def _level(percent: Range, factor: float) -> str:
    """Return a range in percent as one in whole bytes per second."""
    start, end, inside = percent.scaled(factor)
    return str(Range(_whole(start), _whole(end), inside))


def _whole(value: float) -> float:
    return value if isinf(value) else round(value)


def _references(measured: Measured) -> Iterator[str]:
    if measured.baseline:
        known = measured.baseline
        yield (
            f"baseline {format_rate(known.median_Bps)}, spread {100 * known.spread:.1f} %, "
            f"{known.runs} runs {known.first} to {known.last}, accepted by {known.accepted_by}: "
            f"{known.reason}"
        )
    else:
        yield f"baseline not used: {measured.doubt}"
    yield from evidence_of_floor(measured)
    course = course_words(measured)
    if course:
        yield course
    if measured.ceiling:
        reached = 100 * measured.rate_Bps / measured.ceiling.rate_Bps
        yield f"{limited(measured.ceiling)}, reached to {reached:.0f} %"
    if measured.peers_Bps:
        percent = 100 * measured.rate_Bps / measured.peers_Bps
        yield f"{percent:.0f} % of {peers(measured)} in the same run"
    else:
        yield "no peers in the same run"


def _conditions(record: Record) -> str:
    tool = f"{record.tool.name} {record.tool.version}" if record.tool else "tool unknown"
    parts = [tool, f"specification {record.spec_hash or 'unknown'}"]
    parts += [f"{name} {version}" for name, version in sorted((record.versions or {}).items())]
    if record.fill is not None:
        parts.append(f"filled to {100 * record.fill:.0f} %")
    parts.append(coverage_words(record))
    if record.latency:
        parts.append(f"latency p99 {1e3 * record.latency.p99_s:.1f} ms")
    if record.retransmits is not None:
        parts.append(f"{record.retransmits} retransmits")
    return ", ".join(parts + [flag.value for flag in record.flags])


def _earlier(sample: Sample, now: float) -> str:
    rate = "no rate" if sample.rate_Bps is None else format_rate(sample.rate_Bps)
    line = f"{age(sample.started_at, now)} {rate}"
    if sample.peers_Bps is not None:
        line += f", {sample.peers} peers {format_rate(sample.peers_Bps)}"
    return line if sample.coverage is None else f"{line}, coverage {sample.coverage:.2f}"
