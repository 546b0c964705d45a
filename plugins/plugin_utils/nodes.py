# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run commands on several hosts of the inventory at once, from one action plug-in.

Ansible runs a task on many hosts, but one task cannot query many hosts and act on their answers.
This module builds for each host the connection and the become plug-in that Ansible would use.
"""

from __future__ import annotations

import copy
import queue
import shlex
import threading
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, TypeVar

from ansible import constants
from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader, connection_loader
from ansible.utils.display import Display

_NOTHING = b"\n"
"""Standard input: without any, ssh allocates a terminal, which mixes both outputs."""

_SSH = {"smart": "ansible.builtin.ssh", "ssh": "ansible.builtin.ssh"}
"""Full names, which no strategy replaces with its own connections."""

_LIMIT_S = 60.0
"""Default limit, for quick commands."""

Result = TypeVar("Result")


class NoAnswer(Exception):
    """A host does not answer; the message has the reason."""


class Unreachable(NoAnswer):
    """A host cannot be reached, or does not finish a command in time."""


class Completed(NamedTuple):
    """Result of a command on a host."""

    code: int
    stdout: str
    stderr: str


class Node:
    """One host, with its connection."""

    def __init__(self, name: str, action: ActionBase) -> None:
        """Take the name, and the action plug-in with the host's connection."""
        self.name = name
        self._action = action

    def run(self, argv: Sequence[str], stdin: str = "", limit_s: float = _LIMIT_S) -> Completed:
        """Run a command with ``given`` as its standard input.

        Raises:
            Unreachable: the host does not answer, or not within ``limit_s`` seconds.
        """

        def ask() -> Completed:
            # the method of Ansible itself: a strategy may have replaced it for its own connections
            reply = ActionBase._low_level_execute_command(
                self._action, shlex.join(argv), in_data=stdin.encode() or _NOTHING
            )
            return Completed(reply["rc"], reply["stdout"], reply["stderr"])

        try:
            return _within(ask, limit_s)
        # the connection failed, or this user cannot become root on the host
        except AnsibleError as error:
            raise Unreachable(" ".join(str(error).split())) from error


_CAPABILITY = "-all,+dac_read_search"


def display(lines: Iterable[str]) -> None:
    """Show lines to the user of the playbook at once."""
    for line in lines:
        Display().display(line)


def restricted(user: str) -> list[str]:
    """Return the start of a command whose only privilege is to enter the folders of others."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        f"--inh-caps={_CAPABILITY}",
        f"--ambient-caps={_CAPABILITY}",
        f"--bounding-set={_CAPABILITY}",
        "--no-new-privs",
    ]


class Nodes:
    """Hosts that a task may query; each is connected at its first query."""

    def __init__(self, action: ActionBase, hosts: Mapping[str, Any], forks: int) -> None:
        """Take the action plug-in, ``hostvars``, and the number of hosts to query at once."""
        self._action = action
        self._hosts = hosts
        self._forks = max(1, forks)
        self._nodes: dict[str, Node] = {}

    def each(
        self, names: Sequence[str], work: Callable[[Node], Result]
    ) -> dict[str, Result | NoAnswer]:
        """Run the work on each host; return the result or NoAnswer of each.

        Any other exception of the work is raised when all hosts are done.
        """
        waiting: queue.SimpleQueue[Node] = queue.SimpleQueue()
        results: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        for name in names:
            waiting.put(self._node(name))
        for _ in range(min(self._forks, len(names))):
            threading.Thread(target=_work_on, args=(waiting, results, work), daemon=True).start()
        by_name = dict(results.get() for _ in names)
        for result in by_name.values():
            if isinstance(result, Exception) and not isinstance(result, NoAnswer):
                raise result
        return {name: by_name[name] for name in names}

    def _node(self, name: str) -> Node:
        if name not in self._nodes:
            action = copy.copy(self._action)
            action._play_context = copy.copy(self._action._play_context)
            variables = self._hosts[name]
            # connection plug-ins without an option for the address read it from the context
            action._play_context.remote_addr = variables.get("ansible_host", name)
            action._connection = _connection(action, variables)
            self._nodes[name] = Node(name, action)
        return self._nodes[name]


def _work_on(
    waiting: queue.SimpleQueue[Node], results: queue.SimpleQueue[Any], work: Callable[[Node], Any]
) -> None:
    while True:
        try:
            node = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            results.put((node.name, work(node)))
        # without a result the caller would wait for ever
        except Exception as error:  # noqa: BLE001
            results.put((node.name, error))


def _within(ask: Callable[[], Completed], limit_s: float) -> Completed:
    """Return the answer; give up if a dead host blocks the command beyond the limit."""
    results: queue.SimpleQueue[Completed | Exception] = queue.SimpleQueue()

    def answer() -> None:
        try:
            results.put(ask())
        # raised again in the waiting thread
        except Exception as error:  # noqa: BLE001
            results.put(error)

    threading.Thread(target=answer, daemon=True).start()
    try:
        result = results.get(timeout=limit_s)
    except queue.Empty:
        raise Unreachable(f"no answer within {limit_s:.0f} s") from None
    if isinstance(result, Exception):
        raise result
    return result


def _connection(action: ActionBase, variables: Mapping[str, Any]) -> Any:
    """Return a connection to a host, from its variables and the task, with its become plug-in."""
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
    names = constants.config.get_plugin_vars(kind, plugin._load_name)
    values = {name: variables[name] for name in names if name in variables}
    plugin.set_options(task_keys=dict(keywords), var_options=values)
