"""Updates of a published verdict by a check: unfinished runs, and a clock set back."""

from __future__ import annotations

from plumbline.judge.absence import run_texts
from plumbline.judge.phrases import moment
from plumbline.model.ages import CLOCK_STEP_S, age
from plumbline.model.codec import read_all
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Running
from plumbline.model.verdict import Reason, State
from plumbline.store.snapshot import load_expectations, mark_interrupted

if TYPE_CHECKING:
    from plumbline.model.evidence import Subject
    from plumbline.model.published import Published
    from plumbline.model.verdict import Verdict


def with_runs(verdict: Verdict, published: Published, now: float) -> Verdict:
    """Return a verdict updated with its unfinished runs.

    Raises:
        DocumentError: the published runs are damaged.
    """
    if published.hung_after_s is None:
        return verdict
    try:
        running = [mark_interrupted(run) for run in read_all(Running, published.running)]
    except TypeError as error:
        raise DocumentError(
            f"the verdict on {published.name} is damaged ({error!r}); write it again with: "
            "plumbline judge --publish"
        ) from error
    words = run_texts(running, published.hung_after_s, published.layer, now)
    if words.hanging:
        verdict = verdict._replace(
            state=State.CRITICAL,
            reason=Reason.HANGS,
            sentence=f"{published.name} {words.hanging}",
        )
    return verdict._replace(sentence=verdict.sentence + words.interrupted)


def with_clock(verdict: Verdict, published: Published, now: float) -> Verdict:
    """Replace a verdict from the future by UNKNOWN, because the age of its records is unknown."""
    if now >= published.judged_at - CLOCK_STEP_S or verdict.reason is Reason.HANGS:
        return verdict
    return verdict._replace(
        state=State.UNKNOWN,
        reason=Reason.AHEAD,
        sentence=f"{published.name} was judged {moment(published.judged_at)}, "
        f"{age(published.judged_at, now)} of the clock; set the clock of this node (chronyc "
        "tracking) and probe again",
    )


def refuse_unexpected(expectations: str, subject: Subject) -> None:
    """Raise DocumentError if a component or group is not planned on this node."""
    layer, name, is_group = subject
    node = load_expectations(expectations)
    if not is_group:
        node.find(layer, name)
    elif not LAYERS[layer].whole:
        node.members(layer, name)
    elif not any(
        expectation.parallel and expectation.component == name for expectation in node.find(layer)
    ):
        raise DocumentError(
            f"expectations have no file system {name} in layer {layer}; name its first client in "
            "the policy and deploy the role agent again"
        )
