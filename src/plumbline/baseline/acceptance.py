"""Candidates become the reference, for a reason and under a name; nothing is replaced unsaid."""

from __future__ import annotations

from typing import Sequence

from plumbline.baseline.document import Baselines, Candidates, Key
from plumbline.errors import DocumentError, UsageError
from plumbline.model.reference import Baseline


def refuse_below_floor(candidates: Candidates, named: Sequence[str]) -> None:
    """Refuse candidates below their floor, of ``named`` components or of all.

    Raises:
        DocumentError: there is one; nobody has said that its rate is known to be so low.
    """
    low = {
        key: candidate.baseline.below_floor
        for key, candidate in sorted(candidates.items())
        if candidate.baseline.below_floor and (not named or key.component in named)
    }
    for key, below in low.items():
        more = f" (and {len(low) - 1} more)" if len(low) > 1 else ""
        raise DocumentError(
            f"{key}: {below}{more}; mend what limits it or correct the topology, or accept it "
            "with --below-floor and a --reason that says why so little is right"
        )


def accept(
    accepted: Baselines,
    candidates: Candidates,
    named: Sequence[str],
    accepted_by: str,
    reason: str,
) -> dict[Key, Baseline]:
    """Return the baselines with the candidates taken over; those without a candidate stay.

    ``named`` are the components to take over, all of them when it is empty.

    Raises:
        UsageError: the reason or the person is missing, or a name is no candidate's.
        DocumentError: a candidate is far below its peers and was not named; nothing is taken.
    """
    if not reason.strip() or not accepted_by.strip():
        raise UsageError("accepting a baseline needs a reason and a person: give --reason and --by")
    unknown = sorted(set(named) - {key.component for key in candidates})
    if unknown:
        raise UsageError(f"there is no candidate of {unknown[0]}; capture one first")
    chosen = {
        key: candidate
        for key, candidate in candidates.items()
        if not named or key.component in named
    }
    for key, candidate in sorted(chosen.items()):
        if candidate.outlier and key.component not in named:
            raise DocumentError(
                f"{key}: {candidate.outlier}; a slow part must not become the reference: repair "
                f"it, or accept it by name with --component {key.component}"
            )
    taken = {
        key: candidate.baseline._replace(accepted_by=accepted_by.strip(), reason=reason.strip())
        for key, candidate in chosen.items()
    }
    return {**accepted, **taken}
