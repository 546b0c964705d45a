"""The services of symptoms: one for each host and kind of part, and one for the look itself.

They bear no alarm of a target and are behind none.  One is of all parts of its kind in a host: a
disk of it that fails must not silence the target on another one that is slow, nor the other way
round.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from plumbline.model.anchor import anchor
from plumbline.model.service import SYMPTOMS, Service
from plumbline.plan.assignment import Assignment
from plumbline.plan.symptoms import SymptomsPolicy, kinds_of
from plumbline.symptoms.kinds import LUSTRE, title

CHECK = "check_symptoms"


def symptom_services(
    rules: SymptomsPolicy, hosts: Sequence[str], measured: Sequence[Assignment]
) -> tuple[Service, ...]:
    """Return the services of all hosts in their order; a site without Lustre has none of it.

    Raises:
        DocumentError: the policy names a host that is none.
    """
    lustre = any(one.target.get("kind") == LUSTRE for one in measured)
    return tuple(
        service
        for host, kinds in kinds_of(rules, hosts).items()
        for service in _of_host(host, [kind for kind in kinds if kind != LUSTRE or lustre], rules)
    )


def _of_host(host: str, kinds: Sequence[str], rules: SymptomsPolicy) -> Iterator[Service]:
    terms = ("--node", host, "--stale-after", f"{rules.stale_after:.0f}", "-v")
    common = Service(host, host, "", "", CHECK, terms, SYMPTOMS, host, "", round(rules.stale_after))
    if kinds:
        yield common._replace(
            description=f"NODE {host} symptoms",
            command=f"plumbline_{SYMPTOMS}_looks",
            anchor=anchor(SYMPTOMS, host),
        )
    for kind in kinds:
        yield common._replace(
            description=f"SYMPTOMS {title(host, kind)}",
            command=f"plumbline_{SYMPTOMS}_{kind}",
            arguments=("--kind", kind, *terms),
            component=title(host, kind),
            anchor=anchor(SYMPTOMS, title(host, kind)),
        )
