"""Which parameters of Lustre belong to the conditions of a node, as the policy says."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from plumbline.conditions.condition import is_secret
from plumbline.conditions.lustre import DEFAULT, PATTERN
from plumbline.topology.strict import Strict

_MOST = 200
_LONGEST = 100


class ConditionsPolicy(Strict):
    """The patterns of parameters that every node asks ``lctl get_param`` for; empty for none."""

    parameters: Annotated[list[str], Field(max_length=_MOST)] = list(DEFAULT)

    @field_validator("parameters")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        for text in patterns:
            if len(text) > _LONGEST or not PATTERN.fullmatch(text):
                raise ValueError(
                    f"{text[:60]!r} is no parameter of Lustre; write it as lctl get_param takes "
                    "it, for example osc.*.max_rpcs_in_flight"
                )
            if is_secret(text):
                raise ValueError(f"{text!r} may be a secret by its name; remove it")
        return list(dict.fromkeys(patterns))
