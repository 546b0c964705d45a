"""Which function judges a component, by its layer; a check loads that of its own alone."""

from __future__ import annotations

from plumbline.layers import layer_of
from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Callable, Optional, Sequence

    from plumbline.model.evidence import Evidence
    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Running, Series
    from plumbline.model.verdict import Verdict

    Judge = Callable[
        [Expectation, Sequence[Series], Sequence[Running], float, Optional[Evidence]], Verdict
    ]


def judge_of(layer: str) -> Judge:
    """Return what judges a component of a layer, by what its last runs say together.

    Raises:
        DocumentError: there is no such layer.
    """
    if layer_of(layer).paired:
        from plumbline.judge.pair import judge_pair_service

        return judge_pair_service
    from plumbline.judge.component import judge_service

    return judge_service
