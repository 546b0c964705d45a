"""Looks of the policy: at conditions, symptoms and space, beside the measurements."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Sequence

from pydantic import AfterValidator, Field, field_validator, model_validator

from plumbline.model.errors import DocumentError
from plumbline.model.ledger import DEFAULT_PARAMETERS, PARAMETER_PATTERN, is_secret
from plumbline.model.symptom import VALID_S
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.topology.names import expand
from plumbline.topology.strict import Duration, Fill, Strict

_MAX_PATTERNS = 200
_MAX_PATTERN = 100


class ConditionsPolicy(Strict):
    """Patterns of the parameters that each node queries with ``lctl get_param``."""

    parameters: Annotated[list[str], Field(max_length=_MAX_PATTERNS)] = list(DEFAULT_PARAMETERS)

    @field_validator("parameters")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        for text in patterns:
            if len(text) > _MAX_PATTERN or not PARAMETER_PATTERN.fullmatch(text):
                raise ValueError(
                    f"{text[:60]!r} is no parameter of Lustre; write it as lctl get_param takes "
                    "it, for example osc.*.max_rpcs_in_flight"
                )
            if is_secret(text):
                raise ValueError(f"{text!r} may be a secret by its name; remove it")
        return list(dict.fromkeys(patterns))


Kind = Literal["arrays", "disks", "enclosures", "links", "lustre", "kernel"]


def _refuse_stale_looks(every_s: float, stale_after_s: float) -> None:
    if stale_after_s < 2 * every_s:
        raise ValueError(
            f"stale_after is shorter than two times every ({every_s / 60:.0f} min), so each "
            "look would go stale before the next one"
        )


class SymptomsPolicy(Strict):
    """Kinds of symptoms for all hosts, with overrides by host.

    ``hosts`` is by name or range, such as ``client[1-2]``; an empty list means none.
    ``every`` is the period of looks on all nodes, ``stale_after`` the age at which a look is
    outdated, both in seconds.  ``fabric`` are the hosts that look at the InfiniBand fabric daily.
    """

    kinds: list[Kind] = []
    hosts: dict[str, list[Kind]] = {}
    fabric: list[str] = []
    every: Duration = 600.0
    stale_after: Duration = VALID_S

    @model_validator(mode="after")
    def _holds_until_the_next_look(self) -> SymptomsPolicy:
        if self.every % 60 or 3600 % self.every or self.every > VALID_S / 2:
            raise ValueError(
                "every must be minutes that divide an hour, at most 30 min, for a look holds for "
                "an hour; for example 10 min"
            )
        _refuse_stale_looks(self.every, self.stale_after)
        return self

    @property
    def calendar(self) -> str:
        """Return the systemd calendar of looks."""
        return f"*:0/{self.every / 60:.0f}"


_QUOTA = re.compile(r"(project|group) [A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MAX_QUOTAS = 100


def _quota(text: str) -> str:
    if not _QUOTA.fullmatch(text):
        raise ValueError(
            f"{text[:60]!r} is no quota that can be read: write project and its number or name, "
            "or group and its name; that of a user is shown to this user and root alone"
        )
    return text


_Quota = Annotated[str, AfterValidator(_quota)]


class SpacePolicy(Strict):
    """Limits of the space of all file systems.

    A target that is full within ``warning`` or ``critical`` seconds raises an alarm, and one whose
    inodes are used above ``inode_limit``, a fraction; the limit of bytes is ``fill_limit``.
    ``every`` is the period of looks, ``stale_after`` the age at which a look is outdated.
    ``quotas`` names quotas of Lustre by file system.
    """

    warning: Duration = 14 * DAY_S
    critical: Duration = 3 * DAY_S
    inode_limit: Fill = 0.90
    every: Duration = HOUR_S
    stale_after: Duration = 3 * HOUR_S
    quotas: dict[str, Annotated[list[_Quota], Field(max_length=_MAX_QUOTAS)]] = {}

    @model_validator(mode="after")
    def _warns_first(self) -> SpacePolicy:
        if self.critical > self.warning:
            raise ValueError("critical is longer than warning; the later alarm is the graver one")
        return self

    @model_validator(mode="after")
    def _holds_until_the_next_look(self) -> SpacePolicy:
        minutes = self.every % 60 == 0 and HOUR_S % self.every == 0
        hours = self.every % HOUR_S == 0 and DAY_S % self.every == 0
        if not minutes and not hours:
            raise ValueError(
                "every must be minutes that divide an hour, or hours that divide a day; for "
                "example 1 h"
            )
        _refuse_stale_looks(self.every, self.stale_after)
        return self

    @property
    def calendar(self) -> str:
        """Return the systemd calendar of looks."""
        if self.every < HOUR_S:
            return f"*:0/{self.every / 60:.0f}"
        return f"0/{self.every / HOUR_S:.0f}:12"


def kinds_of(rules: SymptomsPolicy, hosts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of symptoms of each host, without duplicates.

    Raises:
        DocumentError: a host is unknown, or named twice.
    """
    by_host: dict[str, tuple[str, ...]] = dict.fromkeys(hosts, tuple(dict.fromkeys(rules.kinds)))
    named: set[str] = set()
    for text, kinds in rules.hosts.items():
        for name in expand(text):
            if name not in by_host:
                raise DocumentError(
                    f"plumbline_policy: symptoms hosts {name} is no host of plumbline_topology; "
                    "correct its name, or remove it"
                )
            if name in named:
                raise DocumentError(
                    f"plumbline_policy: symptoms hosts names {name} twice; name it once"
                )
            named.add(name)
            by_host[name] = tuple(dict.fromkeys(kinds))
    return by_host
