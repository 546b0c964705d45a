"""Verdicts as metrics in Prometheus's text format.

https://prometheus.io/docs/instrumenting/exposition_formats/

Names follow https://prometheus.io/docs/practices/naming/: base units, and the unit in the name.  An
age is exported as a time stamp, so it grows even if nothing is written anymore.
"""

from __future__ import annotations

from math import isfinite
from operator import attrgetter
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline import __version__
from plumbline.model.layers import LAYERS
from plumbline.model.quantity import Quantity
from plumbline.model.service import DEVICE_INFO
from plumbline.model.space import SystemSpace, TargetOutlook, TargetSpace
from plumbline.model.symptom import KINDS, Report
from plumbline.model.verdict import State, Verdict
from plumbline.site.verdicts import NodeVerdicts, Step

Labels = tuple[tuple[str, str], ...]
"""Names and values in output order; a label with an empty value is omitted."""


class Family(NamedTuple):
    """A metric with its sample for each set of labels.

    A histogram has a sample for each bucket, its label ``le`` last, and the count without ``le``.
    """

    name: str
    help: str
    samples: Mapping[Labels, float]
    kind: str = "gauge"


def exposition(families: Iterable[Family]) -> str:
    """Return the metrics as text; omit a family without samples.

    Raises:
        ValueError: a sample is not finite, so it is no measurement.
    """
    # most labels are those of several metrics
    texts: dict[Labels, str] = {}
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines.append(f"# HELP {family.name} {_escaped(family.help)}\n")
            lines.append(f"# TYPE {family.name} {family.kind}\n")
        # of labels that are the same text the last counts
        samples: dict[str, float] = {}
        histogram = family.kind == "histogram"
        for labels, value in family.samples.items():
            if not isfinite(value):
                raise ValueError(f"{family.name} of {dict(labels)} is {value!r}")
            text = texts.get(labels)
            if text is None:
                text = texts[labels] = _labelled(labels)
            name = _of_histogram(family, labels) if histogram else family.name
            samples[name + text] = value
        # repr is the shortest text of the same number
        lines += [f"{name} {value!r}\n" for name, value in samples.items()]
    return "".join(lines)


def _labelled(labels: Labels) -> str:
    """Return the labels with a value, encodable as UTF-8."""
    joined = "".join([text for _, text in labels])
    # nearly all
    plain = not ('"' in joined or "\\" in joined or "\n" in joined)
    pairs = ",".join(
        [f'{key}="{text if plain else _quoted(text)}"' for key, text in labels if text]
    )
    pairs = pairs if pairs.isascii() else pairs.encode("utf-8", "replace").decode("utf-8")
    return f"{{{pairs}}}" if pairs else ""


def _of_histogram(family: Family, labels: Labels) -> str:
    return (
        f"{family.name}_bucket" if labels[-1:] and labels[-1][0] == "le" else f"{family.name}_count"
    )


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


_STATES = "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN."
STATE = ("plumbline_verdict_state", f"Verdict on the component: {_STATES}")
GROUP_STATE = ("plumbline_group_state", f"Verdict on the group of peers: {_STATES}")
GROUP_RATIO = (
    "plumbline_group_baseline_ratio",
    "Upper median of rate / baseline over the members of the group.",
)
NODE_STATE = ("plumbline_node_state", f"Verdict on the probes of the node: {_STATES}")
SYMPTOMS = (
    "plumbline_symptoms",
    "Symptoms found by the last look, for each kind at which a collector could look.",
)
LOOKED = ("plumbline_symptoms_timestamp_seconds", "When the node was last looked at for symptoms.")
JUDGED = ("plumbline_judged_timestamp_seconds", "When all this was judged.")
DEVICES = (DEVICE_INFO, "Always 1; the component that a device of this host is.")
BUILD = ("plumbline_build_info", "Always 1; the version of plumbline is a label.")


_OnStep = tuple[Labels, Step]


class _StepMetric(NamedTuple):
    """A metric of each operation of a component, one of its figures.

    If ``rates``, it is one metric for each quantity.
    """

    name: str
    help: str
    figure: str
    rates: bool = False

    def families(
        self, steps: Sequence[_OnStep], by_quantity: Mapping[Quantity, Sequence[_OnStep]]
    ) -> Iterator[Family]:
        """Yield the metric, or one for each quantity with the unit at the end of its name."""
        value: Callable[[Step], Optional[float]] = attrgetter(self.figure)
        if not self.rates:
            yield _family(self[:2], ((labels, value(step)) for labels, step in steps))
            return
        for quantity, of_quantity in by_quantity.items():
            rates = ((labels, value(step)) for labels, step in of_quantity)
            figures = ((on, None if rate is None else quantity.figure(rate)) for on, rate in rates)
            yield _family((f"{self.name}_{quantity.metric}", self.help), figures)


STEPS = (
    _StepMetric(
        "plumbline_rate",
        "Rate of the latest measurement; absent where there is none to judge.",
        "rate",
        rates=True,
    ),
    _StepMetric(
        "plumbline_ceiling",
        "What the hardware on the path can give.",
        "ceiling",
        rates=True,
    ),
    _StepMetric(
        "plumbline_baseline",
        "Accepted baseline; absent where it does not hold for the latest measurement.",
        "baseline",
        rates=True,
    ),
    _StepMetric(
        "plumbline_peers",
        "Median rate of the peers in the same run.",
        "peers_rate",
        rates=True,
    ),
    _StepMetric("plumbline_baseline_ratio", "Rate / baseline.", "baseline_ratio"),
    _StepMetric(
        "plumbline_coverage_ratio",
        "Bytes of the measurement / all bytes that the target moved meanwhile.",
        "coverage",
    ),
    _StepMetric(
        "plumbline_retransmitted_ratio",
        "TCP segments retransmitted / all segments, lower median over the partners.",
        "retransmitted",
    ),
    _StepMetric(
        "plumbline_run_timestamp_seconds",
        "When the latest measurement ended, whether or not it gave a rate.",
        "finished_at",
    ),
    _StepMetric(
        "plumbline_run_duration_seconds", "How long the latest measurement took.", "duration_s"
    ),
)


class _SpaceMetric(NamedTuple):
    """A metric of the space of each target, absent where that is not known."""

    name: str
    help: str
    value: Callable[[TargetOutlook], Optional[float]]

    def family(self, systems: Iterable[SystemSpace]) -> Family:
        rows = [(system.name, item) for system in systems for item in system.targets]
        return _family(
            self[:2],
            ((_of_space(name, item.target), self.value(item)) for name, item in rows),
        )


SPACE_READ = (
    "plumbline_space_timestamp_seconds",
    "When the node last read the space of the file system.",
)
SPACE = (
    _SpaceMetric(
        "plumbline_space_used_bytes",
        "Bytes used on the target, at the last look.",
        lambda item: item.target.space and item.target.space.used,
    ),
    _SpaceMetric(
        "plumbline_space_free_bytes",
        "Bytes that users can still write to the target.",
        lambda item: item.target.space and item.target.space.free,
    ),
    _SpaceMetric(
        "plumbline_space_used_inodes",
        "Inodes used on the target.",
        lambda item: item.target.inodes and item.target.inodes.used,
    ),
    _SpaceMetric(
        "plumbline_space_free_inodes",
        "Inodes that are free on the target.",
        lambda item: item.target.inodes and item.target.inodes.free,
    ),
    _SpaceMetric(
        "plumbline_space_full_seconds",
        "Time from the last look until no byte is free, at the earlier end of the forecast.",
        lambda item: item.space and item.space.near_s,
    ),
    _SpaceMetric(
        "plumbline_space_out_of_inodes_seconds",
        "The same until no inode is free.",
        lambda item: item.inodes and item.inodes.near_s,
    ),
)


def families(
    nodes: Iterable[NodeVerdicts], steps: Iterable[Step], judged_at: float
) -> Iterator[Family]:
    """Yield all metrics of nodes and of their steps; ``judged_at`` is in epoch seconds."""
    verdicts = tuple(nodes)
    components = [pair for node in verdicts for pair in node.components]
    groups = [(_of_group(node.node, group), group) for node in verdicts for group in node.groups]
    probes = [(node.node, node.probes) for node in verdicts if node.probes]
    reports = [(node.node, node.symptoms) for node in verdicts if node.symptoms]
    devices = [pair for node in verdicts for pair in node.devices.items()]
    measured = [(_of_step(step), step) for step in steps]
    yield _family(BUILD, [((("version", __version__),), 1)])
    yield _family(JUDGED, [((), judged_at)])
    yield _family(STATE, ((_of_component(*pair), int(pair[1].state)) for pair in components))
    yield _family(GROUP_STATE, ((labels, int(verdict.state)) for labels, verdict in groups))
    yield _family(GROUP_RATIO, ((labels, verdict.ratio_baseline) for labels, verdict in groups))
    yield _family(NODE_STATE, (((("node", node),), int(verdict.state)) for node, verdict in probes))
    yield _family(SYMPTOMS, (pair for report in reports for pair in _symptom_counts(*report)))
    yield _family(LOOKED, (((("node", node),), report.looked_at) for node, report in reports))
    yield _family(
        DEVICES, (((("device", device), ("component", name)), 1) for name, device in devices)
    )
    by_quantity = _by_quantity(measured)
    for metric in STEPS:
        yield from metric.families(measured, by_quantity)
    spaces = [node.space for node in verdicts if node.space]
    systems = [system for report in spaces for system in report.systems]
    for space_metric in SPACE:
        yield space_metric.family(systems)
    yield _family(
        SPACE_READ,
        (
            ((("node", report.node), ("file_system", system.name)), system.at)
            for report in spaces
            for system in report.systems
        ),
    )


def _family(metric: tuple[str, str], pairs: Iterable[tuple[Labels, Optional[float]]]) -> Family:
    return Family(*metric, {labels: value for labels, value in pairs if value is not None})


def _by_quantity(steps: Iterable[_OnStep]) -> Mapping[Quantity, Sequence[_OnStep]]:
    layers = LAYERS.values()
    operations = [
        op for layer in layers for op in (*layer.operations, *layer.chosen, *layer.quantities)
    ]
    of: dict[Quantity, list[_OnStep]] = {op.quantity: [] for op in operations}
    for labels, step in steps:
        of.setdefault(step.operation.quantity, []).append((labels, step))
    return of


def _symptom_counts(node: str, report: Report) -> Iterator[tuple[Labels, int]]:
    """Yield the number of symptoms by kind and severity; omit kinds that could not be looked at."""
    for kind in KINDS:
        looks = [look for look in report.looks if look.kind == kind and not look.unavailable]
        states = [symptom.severity for look in looks for symptom in look.symptoms]
        for severity in (State.OK, State.WARNING, State.CRITICAL) if looks else ():
            labels = ("node", node), ("kind", kind), ("severity", severity.name.lower())
            yield labels, states.count(severity)


def _of_component(file_system: str, item: Union[Step, Verdict]) -> Labels:
    return ("layer", item.layer), ("component", item.component), ("file_system", file_system)


def _of_step(step: Step) -> Labels:
    return (
        *_of_component(step.file_system, step),
        ("operation", step.operation),
        ("scenario", step.scenario.value),
    )


def _of_group(node: str, verdict: Verdict) -> Labels:
    # several clients may measure targets of one file system, and each judges its own group
    return ("layer", verdict.layer), ("group", verdict.component), ("node", node)


def _of_space(file_system: str, target: TargetSpace) -> Labels:
    # a pool repeats the bytes of its OSTs, so that sums need the kind
    kind = target.kind or "target"
    return ("file_system", file_system), ("target", target.name), ("kind", kind)
