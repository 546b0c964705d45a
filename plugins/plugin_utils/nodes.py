# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run commands on several hosts of the inventory at once, from one action plug-in.

Ansible runs a task on many hosts, but a task cannot ask many hosts and go on by what they say.
This makes for each host the connection and the become plug-in that Ansible itself would make.
"""

from __future__ import annotations

import copy
import queue
import shlex
import threading
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, TypeVar

from ansible import constants
from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader, connection_loader

_NOTHING = b"\n"
"""As standard input: without any, ssh takes a terminal, which mixes both outputs."""

_SSH = {"smart": "ansible.builtin.ssh", "ssh": "ansible.builtin.ssh"}
"""By its whole name, which no strategy replaces by a connection of its kind."""

_GIVEN_UP_AFTER_S = 60.0
"""For a command that should take a moment; a longer one says so."""

Result = TypeVar("Result")


class NoAnswer(Exception):
    """A host that does not answer a question; the message says why."""


class Unreachable(NoAnswer):
    """A host that cannot be reached, or that does not end a command in time."""


class Done(NamedTuple):
    """How a command ended on a host."""

    code: int
    stdout: str
    stderr: str


class Node:
    """One host, and how to run a command there."""

    def __init__(self, name: str, action: ActionBase) -> None:
        """Take the name, and the action plug-in with the host's own connection."""
        self.name = name
        self._action = action

    def run(self, argv: Sequence[str], given: str = "", limit_s: float = _GIVEN_UP_AFTER_S) -> Done:
        """Run an argument list, ``given`` being its standard input.

        Raises:
            Unreachable: the host does not answer, or not within ``limit_s`` seconds.
        """

        def ask() -> Done:
            # Ansible's own: a strategy may have put one in its place for connections of its kind
            said = ActionBase._low_level_execute_command(
                self._action, shlex.join(argv), in_data=given.encode() or _NOTHING
            )
            return Done(said["rc"], said["stdout"], said["stderr"])

        try:
            return _within(ask, limit_s)
        # a connection that fails, or a host on which nobody can become root
        except AnsibleError as error:
            raise Unreachable(" ".join(str(error).split())) from error


class Nodes:
    """The hosts that a task may ask, each connected when it is first asked."""

    def __init__(self, action: ActionBase, hosts: Mapping[str, Any], forks: int) -> None:
        """Take the plug-in that asks, ``hostvars``, and how many hosts are asked at once."""
        self._action = action
        self._hosts = hosts
        self._forks = max(1, forks)
        self._nodes: dict[str, Node] = {}

    def each(
        self, names: Sequence[str], work: Callable[[Node], Result]
    ) -> dict[str, Result | NoAnswer]:
        """Return what came of the work on each host, or why there is no answer.

        What else the work raises is raised when all have ended.
        """
        waiting: queue.SimpleQueue[Node] = queue.SimpleQueue()
        found: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        for name in names:
            waiting.put(self._node(name))
        for _ in range(min(self._forks, len(names))):
            threading.Thread(target=_work_on, args=(waiting, found, work), daemon=True).start()
        ended = dict(found.get() for _ in names)
        for one in ended.values():
            if isinstance(one, Exception) and not isinstance(one, NoAnswer):
                raise one
        return {name: ended[name] for name in names}

    def _node(self, name: str) -> Node:
        if name not in self._nodes:
            action = copy.copy(self._action)
            action._play_context = copy.copy(self._action._play_context)
            variables = self._hosts[name]
            # connection plug-ins without an option for the address ask the context
            action._play_context.remote_addr = variables.get("ansible_host", name)
            action._connection = _connection(action, variables)
            self._nodes[name] = Node(name, action)
        return self._nodes[name]


def _work_on(
    waiting: queue.SimpleQueue[Node], found: queue.SimpleQueue[Any], work: Callable[[Node], Any]
) -> None:
    while True:
        try:
            node = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            found.put((node.name, work(node)))
        # whoever waits for a result would wait for ever
        except Exception as error:  # noqa: BLE001
            found.put((node.name, error))


def _within(ask: Callable[[], Done], limit_s: float) -> Done:
    """Return the answer; give up a command that a dead host holds longer than it may take."""
    found: queue.SimpleQueue[Done | Exception] = queue.SimpleQueue()

    def answer() -> None:
        try:
            found.put(ask())
        # it is raised again where somebody waits for it
        except Exception as error:  # noqa: BLE001
            found.put(error)

    threading.Thread(target=answer, daemon=True).start()
    try:
        said = found.get(timeout=limit_s)
    except queue.Empty:
        raise Unreachable(f"no answer within {limit_s:.0f} s") from None
    if isinstance(said, Exception):
        raise said
    return said


def _connection(action: ActionBase, variables: Mapping[str, Any]) -> Any:
    """Return a connection to a host as its variables and the task say, with its become plug-in."""
    task, context = action._task, action._play_context
    kind = variables.get("ansible_connection") or task.connection
    connection = connection_loader.get(_SSH.get(kind, kind), context, None)
    if connection is None:
        raise AnsibleError(f"there is no connection plug-in {kind}")
    keywords = {**task.dump_attrs(), "timeout": context.timeout}
    # the number of tries belongs to the task, not to the connection
    keywords.pop("retries", None)
    if context.password:
        keywords["password"] = context.password
    connection.set_become_plugin(_become(action, variables))
    _set_options("connection", connection, keywords, variables)
    _set_options("shell", connection._shell, keywords, variables)
    if connection.become is not None:
        if context.become_pass:
            keywords["become_pass"] = context.become_pass
        _set_options("become", connection.become, keywords, variables)
    return connection


def _become(action: ActionBase, variables: Mapping[str, Any]) -> Optional[Any]:
    task = action._task
    if not boolean(variables.get("ansible_become", task.become) or False):
        return None
    method = variables.get("ansible_become_method") or task.become_method
    plugin = become_loader.get(method)
    if plugin is None:
        raise AnsibleError(f"there is no become plug-in {method}")
    return plugin


def _set_options(
    kind: str, plugin: Any, keywords: Mapping[str, Any], variables: Mapping[str, Any]
) -> None:
    known = constants.config.get_plugin_vars(kind, plugin._load_name)
    given = {name: variables[name] for name in known if name in variables}
    plugin.set_options(task_keys=dict(keywords), var_options=given)
