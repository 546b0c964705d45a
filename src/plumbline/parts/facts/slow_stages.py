"""Stages of the requests to slow targets during an investigation, from readings of all nodes."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.suspects import SlowRun
from plumbline.parts.facts.request_times import Reading, times_between
from plumbline.parts.facts.stages import explanation, site_stages
from plumbline.parts.facts.usage import Names
from plumbline.store.files import load_document
from plumbline.store.plan import SitePlan

_MAX_BYTES = 64 << 20


def stages_of_slow_targets(
    plan: SitePlan, files: Sequence[str], slow: Sequence[SlowRun]
) -> list[str]:
    """Return a sentence on the stages of each slow operation of a Lustre target, in their order.

    ``files`` are readings of nodes, at least two of each; a damaged one is left out and named.
    """
    sentences: list[str] = []
    readings = [reading for file in files if (reading := _reading(file, sentences))]
    if not readings:
        return sentences
    stages = site_stages(times_between(readings))
    for name, operation in dict.fromkeys(_operations(plan, slow)):
        of_target = (item for item in stages if (item.target, item.operation) == (name, operation))
        sentences += (f"{explanation(item, stages)}." for item in of_target)
    return sentences


def _reading(file: str, sentences: list[str]) -> Optional[Reading]:
    try:
        return load_document(Reading, file, _MAX_BYTES)
    except DocumentError as error:
        sentences.append(f"Where the time goes is known in part: {error}.")
        return None


def _operations(plan: SitePlan, slow: Sequence[SlowRun]) -> Iterator[tuple[str, str]]:
    names = Names(plan)
    for run in slow:
        if LAYERS[run.layer].per_target:
            for ost in names.osts(run.component):
                yield ost, run.operation
