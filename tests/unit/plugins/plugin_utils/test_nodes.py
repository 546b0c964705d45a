"""Many hosts are queried at once; a silent one does not block the others."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.playbook.play_context import PlayContext
from ansible.plugins.action import ActionBase
from ansible_collections.hpcops.plumbline.plugins.plugin_utils import nodes as tested
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import (
    Completed,
    Node,
    Nodes,
    Unreachable,
)


class Connection:
    """Replaces the connection to a host; records its commands."""

    become = None
    allow_executable = False
    transport = "ssh"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.commands: list[tuple[str, Any]] = []

    def exec_command(self, command: str, in_data: Any, sudoable: bool) -> tuple[int, bytes, bytes]:
        assert sudoable
        self.commands.append((command, in_data))
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, threading.Event):
            self.answer.wait()
        return 0, b"out", b""


class Action(ActionBase):  # type: ignore[misc]
    """An action plug-in with such a connection, in a play whose strategy has its own commands."""

    def __init__(self, answer: Any = None) -> None:
        self._connection = Connection(answer)
        self._play_context = PlayContext()

    @property
    def commands(self) -> list[tuple[str, Any]]:
        return self._connection.commands

    def get_become_option(self, option: str, playcontext: Any = None) -> None:
        return None

    def _get_remote_user(self) -> str:
        return "root"

    def _low_level_execute_command(self, command: str, **_: Any) -> dict[str, Any]:
        raise AssertionError("a strategy's own way expects a strategy's own connection")

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        raise AssertionError("nothing runs it as a task")


def test_arguments_pass_the_shell_of_the_host_unchanged() -> None:
    action = Action()
    assert Node("oss1", action).run(["cat", "a $(b) 'c'"], "given") == Completed(0, "out", "")
    assert action.commands == [("cat 'a $(b) '\"'\"'c'\"'\"''", b"given")]


def test_commands_get_no_terminal_which_would_mix_their_outputs() -> None:
    action = Action()
    Node("oss1", action).run(["true"])
    assert action.commands == [("true", b"\n")]


def test_an_unreachable_host_is_one_sentence() -> None:
    trouble = AnsibleConnectionFailure("Failed to connect:\n No route to host")
    with pytest.raises(Unreachable, match="Failed to connect: No route to host"):
        Node("oss1", Action(trouble)).run(["true"])


def test_a_host_that_dies_during_a_command_is_given_up() -> None:
    never = threading.Event()
    with pytest.raises(Unreachable, match="no answer within 0 s"):
        Node("oss1", Action(never)).run(["true"], limit_s=0.01)
    never.set()


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    monkeypatch.setattr(Nodes, "_node", lambda _self, name: Node(name, Action()))
    return Nodes(Action(), {}, 3)


def test_all_hosts_are_queried_with_at_most_forks_at_once(many: Nodes) -> None:
    names = [f"oss{number}" for number in range(10)]
    working, most, guard = [0], [0], threading.Lock()

    def work(node: Node) -> str:
        with guard:
            working[0] += 1
            most[0] = max(most[0], working[0])
        threading.Event().wait(0.005)
        with guard:
            working[0] -= 1
        if node.name == "oss3":
            raise Unreachable("gone")
        return str(node.name).upper()

    results = many.each(names, work)
    assert list(results) == names
    assert isinstance(results.pop("oss3"), Unreachable)
    assert list(results.values()) == [name.upper() for name in results]
    assert most[0] <= 3


def test_an_error_in_the_work_is_raised(many: Nodes) -> None:
    with pytest.raises(ZeroDivisionError):
        many.each(["oss1"], lambda _: 1 // 0)


def test_no_names_need_no_query(many: Nodes) -> None:
    assert many.each([], lambda _: 1) == {}
    assert tested.Nodes is Nodes
