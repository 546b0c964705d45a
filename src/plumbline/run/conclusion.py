"""Whose fault a failure is, once it has come twice: the target's, its server's, this node's.

The first time the run goes on with other targets.  The last word is asked of the target's state and
of what else this node knows of the server: an error in the midst of a write may be a server that
has just gone down.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.errors import LostTarget, NoMount, SkipTarget, ToolError
from plumbline.model.command import CommandRunner
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome
from plumbline.run.trial import Failure, Silence
from plumbline.run.watched import Watch, explanation
from plumbline.targets.interface import Target

UNSURE = (Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED)
"""What may pass, or may be the fault of another one, and is tried twice."""


class Suspicion(NamedTuple):
    """What is asked when a target fails; ``last`` says that this is the second try.

    ``since`` is when it began, in seconds since the epoch; ``others_answer`` whether the run got
    an answer from all other targets.
    """

    entry: Expectation
    target: Target
    runner: CommandRunner
    since: float
    last: bool
    others_answer: bool = False

    def waits(self, failure: Failure) -> bool:
        """Return whether a failure is to be tried again when the other targets are done."""
        return not self.last and failure.outcome in UNSURE

    def concluded(self, failure: Failure) -> Failure:
        """Return a failure with the outcome that it has for good."""
        closer = failure
        if failure.outcome is Outcome.BROKEN:
            explained = explanation(self.target, self.runner, failure, self.since)
            if explained is not None:
                return explained
        if failure.outcome in (Outcome.BROKEN, Outcome.HUNG):
            closer = self._elsewhere() or failure
        elif failure.outcome is Outcome.UNANSWERED:
            closer = self._silent(failure)
        if closer.outcome is Outcome.UNREACHABLE:
            return self._lost(failure, closer.reason)
        return closer

    def _lost(self, failure: Failure, reason: str) -> Failure:
        """Return whose fault it is that there is no connection to a target."""
        answers, server = self._answers(), self.entry.host
        if answers is False:
            text = f"server {server} does not answer: {reason}, nor to its other targets"
            return Failure(Outcome.UNREACHABLE, text)
        if failure.outcome is Outcome.HUNG:
            return failure
        if isinstance(failure, Silence):
            reason = f"{reason} ({failure.reason})"
        known = f"server {server} answers for others: the target is gone"
        unknown = "the target, its server or the network to it is down"
        return Failure(Outcome.BROKEN, f"{reason}; {known if answers else unknown}")

    def _silent(self, failure: Failure) -> Failure:
        """Return the cause of a question without an answer: the connection, the target, unknown.

        A question may wait for another target, so one is at fault only if no other is silent.
        """
        twice = Failure(failure.outcome, f"{failure.reason}, twice in this run")
        if not isinstance(failure, Silence):
            return twice
        watch = Watch(self.runner)
        try:
            self.target.refuse_lost(watch)
            unsure = not self.others_answer or self.target.waits_for_others(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return twice
        if unsure:
            return twice
        return Failure(Outcome.HUNG, f"{failure.reason}; nothing else in this run hangs")

    def _elsewhere(self) -> Optional[Failure]:
        """Return what keeps the target from being measured that may not be its own fault.

        That is its connection, or this node's mount, also one that does not answer.
        """
        watch = Watch(self.runner)
        try:
            self.target.state(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return None
        return None

    def _answers(self) -> Optional[bool]:
        """Return whether the server answers for other targets, None where nobody knows."""
        try:
            return self.target.server_answers(self.runner)
        except (SkipTarget, ToolError):
            return None
