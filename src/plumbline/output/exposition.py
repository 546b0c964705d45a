"""The text format in which Prometheus reads metrics, version 0.0.4: its few lines.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from math import isfinite
from typing import Iterable, Iterator, Mapping, NamedTuple

Labels = tuple[tuple[str, str], ...]
"""Names and values, in the order in which they are written; an empty value is no label."""


class Family(NamedTuple):
    """A metric, with what it says of each set of labels.

    A histogram has a sample for each bucket, its label ``le`` last, and one without: their count.
    """

    name: str
    help: str
    samples: Mapping[Labels, float]
    kind: str = "gauge"


def _with_samples(families: Iterable[Family]) -> Iterator[Family]:
    """Yield the families that have samples, with texts that can be written and labels that say it.

    Raises:
        ValueError: a sample is no finite number; it would be no measurement.
    """
    for family in families:
        if family.samples:
            samples = {_sound(labels): value for labels, value in family.samples.items()}
            for labels, value in samples.items():
                if not isfinite(value):
                    raise ValueError(f"{family.name} of {dict(labels)} is {value!r}")
            yield family._replace(samples=samples)


def exposition(families: Iterable[Family]) -> str:
    """Return the text; a family without samples is left out.

    Raises:
        ValueError: a sample is no finite number; it would be no measurement.
    """
    lines: list[str] = []
    for family in _with_samples(families):
        lines.append(f"# HELP {family.name} {_escaped(family.help)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [_sample(_name(family, one[0]), *one) for one in family.samples.items()]
    return "".join(f"{line}\n" for line in lines)


def _sound(labels: Labels) -> Labels:
    """Return labels that say something, in letters that UTF-8 has."""
    return tuple(
        (key, text.encode("utf-8", "replace").decode("utf-8")) for key, text in labels if text
    )


def _name(family: Family, labels: Labels) -> str:
    if family.kind != "histogram":
        return family.name
    return (
        f"{family.name}_bucket" if labels[-1:] and labels[-1][0] == "le" else f"{family.name}_count"
    )


def _sample(name: str, labels: Labels, value: float) -> str:
    pairs = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels)
    # repr is the shortest text that reads as the same number
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
