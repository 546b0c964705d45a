"""Order of severity of the states."""

from plumbline.model.verdict import State, worst


def test_unknown_outranks_a_warning_and_never_hides_a_critical() -> None:
    assert worst([State.OK, State.WARNING, State.UNKNOWN]) is State.UNKNOWN
    assert worst([State.UNKNOWN, State.CRITICAL]) is State.CRITICAL


def test_without_any_state_the_worst_is_unknown() -> None:
    assert worst([]) is State.UNKNOWN
