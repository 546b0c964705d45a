"""Symptoms beside what was located: they order ambiguous suspects, and are quoted.

They never make a suspect and never take one away: measurements do that.
"""

from __future__ import annotations

from typing import Sequence

from plumbline.locate.sentences import Parts, titled
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.symptoms.evidence import Suspicion, phrase, suspicion
from plumbline.symptoms.symptom import Symptom

_WEIGHTS = {Suspicion.RAISED: -1, Suspicion.NONE: 0, Suspicion.LOWERED: 1}


def ordered(located: Located, symptoms: Sequence[Symptom]) -> Located:
    """Return the same sets, in each the alternatives first that symptoms speak for.

    An alternative of several components counts as the mean of them, so that a longer one is not
    favoured by its length.
    """
    return located._replace(sets=tuple(_ordered(one, symptoms) for one in located.sets))


def _ordered(ambiguity: AmbiguitySet, symptoms: Sequence[Symptom]) -> AmbiguitySet:
    weights = {one.name: _WEIGHTS[suspicion(one.name, symptoms)] for one in ambiguity.suspects}
    alternatives = sorted(
        ambiguity.alternatives, key=lambda names: sum(weights[name] for name in names) / len(names)
    )
    suspects = sorted(ambiguity.suspects, key=lambda suspect: weights[suspect.name])
    return ambiguity._replace(alternatives=tuple(alternatives), suspects=tuple(suspects))


def quoted(ambiguity: AmbiguitySet, parts: Parts, symptoms: Sequence[Symptom]) -> str:
    """Return what is appended to a sentence: each suspect's symptoms, empty without any.

    For example `` Symptoms of disk oss2-disk1: kernel: I/O errors of sdb (14 times).``
    """
    phrases = [(one.name, phrase(one.name, symptoms)[2:]) for one in ambiguity.suspects]
    texts = [f" Symptoms of {titled(name, parts)}: {text}." for name, text in phrases if text]
    return "".join(texts)
