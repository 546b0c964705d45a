"""The lab for the demonstration and the tests: runs playbooks, reads the status of Nagios."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence
from urllib.parse import urljoin

from plumbline.model.rounds import Role, cycle, pairing

ROOT = Path(__file__).resolve().parents[2]
# more than programs exchange before they measure
MOVING_BYTES = 16_000_000
# keeps one interpreter on each host; Ansible would start one for each task
FAST = {
    "ANSIBLE_STRATEGY": "all_cores",
    "ANSIBLE_STRATEGY_PLUGINS": str(ROOT / "tests/lab/strategy"),
    # roles do not need a second copy of all facts
    "ANSIBLE_INJECT_FACT_VARS": "0",
    # hides the warning that later versions of Ansible may lack these plugins
    "ANSIBLE_DEPRECATION_WARNINGS": "0",
}
# of today and of earlier days
LOGS = "$(ls /var/log/nagios4/archives/*.log 2>/dev/null) /var/log/nagios4/nagios.log"
# lines of a host and a service
CHECK = """
now=$(date +%s)
while IFS=';' read -r host service; do
    echo "[$now] SCHEDULE_FORCED_SVC_CHECK;$host;$service;$now"
done > /var/lib/nagios4/rw/nagios.cmd << EOF"""
APART = ("raw", "net")
"""Layers that share no disk and no link: the one reads disks, the other tests links."""
MAX_RUNS = 8
# statusjson.cgi gives states as bit flags (Nagios Core, include/statusdata.h)
STATES = {1: "PENDING", 2: "OK", 4: "WARNING", 8: "UNKNOWN", 16: "CRITICAL"}


def print_line(line: str) -> None:
    """Print a line that ends in a newline."""
    print(line, end="", flush=True)


class LabError(Exception):
    """Failure of a playbook, or of Nagios to answer."""


class Service(NamedTuple):
    """State of a service in Nagios; ``last_check`` is in epoch seconds."""

    state: str
    output: str
    last_check: float


class Lab:
    """An inventory of hosts in containers, and the port of its Nagios page on 127.0.0.1."""

    def __init__(
        self,
        inventory: str,
        page_port: int,
        *,
        fast: bool = True,
        show: Callable[[str], object] = print_line,
    ) -> None:
        """Use an inventory; ``fast`` halves the time of playbooks with Mitogen, unlike a site.

        ``show`` gets each line of a playbook's output.
        """
        self.inventory = inventory
        self._fast = fast
        self._show = show
        self.page = f"http://127.0.0.1:{page_port}/nagios4/"

    def playbook(self, name: str, extra: Optional[Mapping[str, str]] = None) -> None:
        """Run ``playbooks/NAME.yml`` and show its output; raise LabError if it fails."""
        self._play(self._show, _playbook(name, extra))

    def start(self) -> None:
        """Bring up the lab and deploy plumbline in it; one Ansible needs one way to each host."""
        self._play(self._show, [*_playbook("lab_up", None), *_playbook("site", None)])

    def recap(self, name: str, *arguments: str, nice: int = 0) -> str:
        """Run a playbook quietly and return its recap; raise LabError if it fails."""
        output = self._play(None, [*_playbook(name, None), *arguments], nice)
        return output.rpartition("PLAY RECAP")[2]

    def on_host(self, pattern: str, command: str) -> str:
        """Run a shell command on hosts at once; return their output, or raise LabError.

        ``pattern`` is hosts and groups between colons.  ssh alone is faster than a playbook's.
        """
        hosts = self._hosts(pattern)
        with ThreadPoolExecutor(len(hosts)) as threads:
            outputs = list(threads.map(lambda host: self._ssh(host, command), hosts))
        return "\n".join(outputs)

    def _ssh(self, host: str, command: str) -> str:
        words = ("ssh", *self._ssh_options, host, f"sh -c {shlex.quote(command)}")
        return _output([*words]).rstrip("\n")

    @property
    def _ssh_options(self) -> Sequence[str]:
        """Options of the connections, which playbooks share and lab_down closes."""
        folder = f"{self._run_dir}/ssh"
        alive = ("-oServerAliveInterval=10", "-oServerAliveCountMax=3")
        shared = ("-oControlMaster=auto", "-oControlPersist=60s", f"-oControlPath={folder}/cm-%C")
        return ("-F", f"{folder}/config", *alive, *shared)

    def _hosts(self, pattern: str) -> list[str]:
        """Return the hosts of a pattern, each once."""
        names = [name for part in pattern.split(":") for name in self._members(part)]
        return list(dict.fromkeys(names))

    def _members(self, name: str) -> list[str]:
        if name in self._inventory["_meta"]["hostvars"]:
            return [name]
        # an empty group is left out
        group = self._inventory.get(name, {})
        deeper = [host for child in group.get("children", ()) for host in self._members(child)]
        return [*group.get("hosts", ()), *deeper]

    @cached_property
    def _inventory(self) -> dict[str, Any]:
        """Groups and variables of the hosts."""
        program = str(Path(sys.executable).with_name("ansible-inventory"))
        groups: dict[str, Any] = json.loads(_output([program, "-i", self.inventory, "--list"]))
        return groups

    @property
    def _run_dir(self) -> str:
        hosts: dict[str, dict[str, str]] = self._inventory["_meta"]["hostvars"]
        return next(iter(hosts.values()))["lab_run_dir"]

    def break_now(self, **breakage: str) -> None:
        """Break or heal components like the playbook lab_break, but faster."""
        options = [f"--{key}={value}" for key, value in breakage.items()]
        _output(
            [
                sys.executable,
                "-B",
                "-m",
                "plumbline_lab",
                "--run-dir",
                self._run_dir,
                "break",
                *options,
            ],
            {"PYTHONPATH": str(ROOT / "roles/lab/files")},
        )

    def wait_for_bytes(self, host: str, direction: str, timeout_s: float = 120) -> None:
        """Wait until a host has moved data, not just set up its run."""
        limit = time.monotonic() + timeout_s
        before = _carried(host, direction)
        while _carried(host, direction) < before + MOVING_BYTES:
            if time.monotonic() > limit:
                raise LabError(f"{host} has not begun within {timeout_s:.0f} s")
            time.sleep(0.05)

    def measure(self, console: Console, layer: str = "all") -> dict[str, Service]:
        """Run the scheduled probes and return the services of Nagios afterwards."""
        before = time.time()
        self.playbook("probe", {"layer": layer, "fail": "false"})
        return console.checked_since(before)

    def measure_until(
        self,
        console: Console,
        *,
        collect: bool = False,
        **layers: Callable[[dict[str, Service]], bool],
    ) -> dict[str, Service]:
        """Measure each layer until its condition is true; return the last services.

        One slow run is only watched: an alarm takes several runs, and so does its end.  A run of
        the network has half of its slots.  In between Nagios checks what was measured, at the end
        everything, also suspects if it is to ``collect`` first.
        """
        services = console.services()
        for run in range(MAX_RUNS):
            due = [layer for layer, shown in layers.items() if not shown(services)]
            if not due:
                break
            self.measure_layers(due, run)
            services = {**services, **console.check_now(due, collect=False)}
        return console.check_now(collect=collect)

    def measure_layers(self, layers: Sequence[str], run: Optional[int] = None) -> None:
        """Measure layers one after another; those that share nothing at the same time."""
        for layer in layers:
            if layer not in APART:
                self.measure_only(layer, run)
        apart = [layer for layer in layers if layer in APART]
        with ThreadPoolExecutor(len(APART)) as threads:
            list(threads.map(lambda layer: self.measure_only(layer, run), apart))

    def measure_only(self, layer: str, run: Optional[int] = None) -> None:
        """Start the units of a layer, and wait for their end.

        A timer starts the same units; a playbook takes longer.  Of the network, one of several
        runs has half of the slots.
        """
        if layer == "net":
            runs = (0, 1) if run is None else (run,)
            self._measure_network([slot for each in runs for slot in self._half_of_slots(each)])
        else:
            self.on_host(f"plumbline_{layer}", f"systemctl start plumbline-{layer}.service")

    def _half_of_slots(self, run: int) -> list[int]:
        """Return slots in which each pair measures once, the other way round in the next run.

        Of two slots of a pair one host starts in the first and its partner in the second; taken
        like this, each of four hosts starts at least once.
        """
        pairs = range(cycle(len(self._hosts("plumbline_net"))) // 2)
        return [2 * pair + (run + (pair > 0)) % 2 for pair in pairs]

    def _measure_network(self, slots: Sequence[int]) -> None:
        """Measure slot by slot: in a slot each host has one partner, whose window is open."""
        receiver, hosts = "plumbline-netserver.service", self._hosts("plumbline_net")
        try:
            for slot in slots:
                roles = {host: turn.role for host, turn in pairing(hosts, slot).items()}
                first, second = (
                    ":".join(host for host, own in roles.items() if own is role)
                    for role in (Role.INITIATOR, Role.RESPONDER)
                )
                self.on_host(second, f"systemctl restart {receiver}")
                self.on_host(first, f"systemctl start plumbline-net@{slot}.service")
        finally:
            self.on_host("plumbline_net", f"systemctl stop {receiver}")

    def _play(
        self, show: Optional[Callable[[str], object]], arguments: Sequence[str], nice: int = 0
    ) -> str:
        # the template of the inventory, which each task on each host would render anew
        ssh = json.dumps({"ansible_ssh_args": " ".join(self._ssh_options)})
        settings = (f"-e{ssh}",) if self._fast else ()
        words = ["ansible-playbook", "-i", self.inventory, *settings, *arguments]
        lines = []
        with subprocess.Popen(
            ["nice", f"-n{nice}", str(Path(sys.executable).with_name(words[0])), *words[1:]],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_FORCE_COLOR": "0", **(FAST if self._fast else {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    lines.append(line)
                    if show:
                        show(line)
            except KeyboardInterrupt:
                # a terminal interrupts Ansible too, a signal to this process alone does not
                process.send_signal(signal.SIGINT)
                process.wait()
                raise
        output = "".join(lines)
        if process.returncode != 0:
            code = process.returncode
            raise LabError(f"{' '.join(words)} ended with {code}: {_failure(output)}")
        return output


def _carried(host: str, direction: str) -> int:
    """Return the bytes that a host of the lab has received (``rx``) or sent (``tx``)."""
    link = _output(["ip", "-n", f"plumbline-{host}", "-s", "-j", "link", "show", "dev", "eth0"])
    carried: int = json.loads(link)[0]["stats64"][direction]["bytes"]
    return carried


def _output(command: list[str], environment: Optional[Mapping[str, str]] = None) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def control(command: str, *arguments: str) -> None:
    """Run ip(8) or its like in the namespace of the lab's bridge; raise LabError if it fails."""
    _output(["ip", "netns", "exec", "plumbline-control", command, *arguments])


def _failure(output: str) -> str:
    """Return Ansible's output for the first failed task, or else the end of its output."""
    failed = re.search(r"^(fatal|failed): ", output, re.MULTILINE)
    if failed is None:
        return output[-2000:]
    task = output.rfind("\nTASK ", 0, failed.start()) + 1
    return output[task : failed.start() + 2000]


def _playbook(name: str, extra: Optional[Mapping[str, str]]) -> list[str]:
    variables = [f"-e{key}={json.dumps(value)}" for key, value in (extra or {}).items()]
    return [f"playbooks/{name}.yml", *variables]


class Console:
    """Services in Nagios, read through the forwarded page."""

    def __init__(self, lab: Lab) -> None:
        """Read the page's password from the monitoring host."""
        self.page = lab.page
        self._on_host = lab.on_host
        self.user = "nagiosadmin"
        self.password = lab.on_host("mon1", "cat /etc/nagios4/plumbline.password")
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, urljoin(self.page, "/"), self.user, self.password)
        self._open = urllib.request.build_opener(
            urllib.request.HTTPBasicAuthHandler(passwords)
        ).open

    def services(self) -> dict[str, Service]:
        """Return the services of plumbline's components by description."""
        return {
            name: service
            for (_, name), service in self.page_services().items()
            if name.startswith(("OST ", "OSS ", "RAW ", "NET ", "FS ", "SHARED ", "SYMPTOMS "))
        }

    def page_services(self) -> dict[tuple[str, str], Service]:
        """Return all services that the page shows, by host and description."""
        hosts = self._query("query=servicelist&details=true")["servicelist"]
        return {
            (host, name): Service(
                STATES[service["status"]], service["plugin_output"], service["last_check"] / 1000
            )
            for host, services in hosts.items()
            for name, service in services.items()
        }

    def links(self) -> dict[str, int]:
        """Return the pages that services link to, and the HTTP status of each."""
        hosts = self._query("query=servicelist&details=true", "objectjson.cgi")["servicelist"]
        paths = {
            service[kind].partition("#")[0]
            for services in hosts.values()
            for service in services.values()
            for kind in ("action_url", "notes_url")
            if service[kind]
        }
        return {path: self._status(urljoin(self.page, path)) for path in sorted(paths)}

    def _status(self, url: str) -> int:
        try:
            with self._open(url, timeout=20) as response:
                status: int = response.status
        except urllib.error.HTTPError as error:
            return error.code
        return status

    def checked_since(
        self, moment: float, layers: Sequence[str] = (), timeout_s: float = 120
    ) -> dict[str, Service]:
        """Wait until all services, or those of some layers, were checked after ``moment``."""
        limit = time.monotonic() + timeout_s
        while True:
            every = self.services()
            services = {name: every[name] for name in every if _is_of(name, layers)}
            waiting = [name for name, service in services.items() if service.last_check < moment]
            if services and not waiting:
                return services
            if time.monotonic() > limit:
                late = ", ".join(waiting) or "anything"
                raise LabError(f"Nagios did not check {late} within {timeout_s:.0f} s")
            time.sleep(0.3)

    def check_now(self, layers: Sequence[str] = (), *, collect: bool = True) -> dict[str, Service]:
        """Let Nagios check all services at once, or those of some layers; return them.

        Timers and check intervals do the same within minutes.  Services of suspects alone
        (``PATH``) follow from what is collected before.
        """
        due = [f"{host};{name}" for host, name in self.page_services() if _is_of(name, layers)]
        # the times of Nagios are whole seconds: a check of this one may have been before
        before = math.ceil(time.time())
        time.sleep(max(0.0, before - time.time()))
        first = "systemctl start plumbline-console" if collect else ""
        self._on_host("mon1", "\n".join((first + CHECK, *due, "EOF")))
        return self.checked_since(before, layers)

    def check_after(self, service: Service, seconds: float) -> dict[str, Service]:
        """Let Nagios check all services so long after its check of one, and return them."""
        time.sleep(max(0.0, service.last_check + seconds - time.time()))
        return self.check_now(collect=False)

    def notifications(self, since: float) -> list[tuple[str, str]]:
        """Return service and state of each notification since a moment, in order."""
        lines = self._on_host("mon1", f"grep -h 'SERVICE NOTIFICATION: ' {LOGS} || true")
        matches = re.findall(r"^\[(\d+)\] SERVICE NOTIFICATION: (.*)$", lines, re.MULTILINE)
        words = [text.split(";") for at, text in matches if int(at) >= since]
        return [(service, state) for _, _, service, state, *_ in words]

    def _query(self, query: str, program: str = "statusjson.cgi") -> dict[str, Any]:
        url = f"{self.page}cgi-bin/{program}?{query}"
        try:
            with self._open(url, timeout=20) as response:
                data: dict[str, Any] = json.load(response)["data"]
        except (urllib.error.URLError, KeyError, json.JSONDecodeError) as error:
            raise LabError(f"the page of Nagios does not answer at {url}: {error}") from error
        return data


def _is_of(service: str, layers: Sequence[str]) -> bool:
    """Return whether a service is of one of some layers; without layers, of any."""
    return not layers or service.partition(" ")[0].lower() in layers


def not_ok(services: Mapping[str, Service]) -> dict[str, str]:
    """Return the states of all services that are not OK; print their output."""
    bad = {name: service for name, service in services.items() if service.state != "OK"}
    for service in bad.values():
        print(service.output)
    return {name: service.state for name, service in bad.items()}
