"""The lab as the demonstration and the tests drive it: playbooks in, the status of Nagios out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
PAGE = "http://127.0.0.1:8477/nagios4/"
# statusjson.cgi gives states as bit flags (Nagios Core, include/statusdata.h)
STATES = {1: "PENDING", 2: "OK", 4: "WARNING", 8: "UNKNOWN", 16: "CRITICAL"}


class LabError(Exception):
    """A playbook failed or Nagios does not answer; the message says which."""


class Service(NamedTuple):
    """One service as Nagios sees it; times are seconds since the epoch."""

    state: str
    output: str
    last_check: float


def ansible(command: str, *arguments: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's commands of this environment against the lab's inventory."""
    program = Path(sys.executable).with_name(command)
    return subprocess.run(
        [str(program), "-i", "inventories/lab", *arguments],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_FORCE_COLOR": "0" if quiet else "1"},
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        check=False,
    )


def playbook(
    name: str, extra: Optional[Mapping[str, str]] = None, *arguments: str, quiet: bool = False
) -> str:
    """Run ``playbooks/NAME.yml`` with extra variables; return what it printed if ``quiet``.

    Raises:
        LabError: it did not end with 0; carries the output's end.
    """
    variables = [f"-e{key}={json.dumps(value)}" for key, value in (extra or {}).items()]
    done = ansible("ansible-playbook", f"playbooks/{name}.yml", *variables, *arguments, quiet=quiet)
    if done.returncode != 0:
        end = (done.stdout or "")[-6000:]
        raise LabError(f"playbook {name} {extra or ''} ended with {done.returncode}\n{end}")
    return done.stdout or ""


def on_host(host: str, command: str) -> str:
    """Run a shell command on a host of the lab and return what it printed."""
    done = ansible("ansible", host, "-m", "ansible.builtin.shell", "-a", command, quiet=True)
    header, _, output = (done.stdout or "").partition(">>\n")
    if done.returncode != 0:
        raise LabError(f"{command!r} on {host} failed: {header}{output}")
    return output.rstrip("\n")


class Console:
    """Nagios's own account of its services, through the forwarded page."""

    def __init__(self) -> None:
        """Read the page's password from the monitoring host."""
        self.user = "nagiosadmin"
        self.password = on_host("mon1", "cat /etc/nagios4/plumbline.password")
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, PAGE, self.user, self.password)
        self._open = urllib.request.build_opener(
            urllib.request.HTTPBasicAuthHandler(passwords)
        ).open

    def _query(self, query: str) -> dict[str, Any]:
        url = f"{PAGE}cgi-bin/statusjson.cgi?{query}"
        try:
            with self._open(url, timeout=20) as answer:
                data: dict[str, Any] = json.load(answer)["data"]
        except (urllib.error.URLError, KeyError, json.JSONDecodeError) as error:
            raise LabError(f"the page of Nagios does not answer at {url}: {error}") from error
        return data

    def services(self) -> dict[str, Service]:
        """Return every service that plumbline defined, by its description."""
        hosts = self._query("query=servicelist&details=true")["servicelist"]
        return {
            name: Service(
                STATES[service["status"]], service["plugin_output"], service["last_check"] / 1000
            )
            for services in hosts.values()
            for name, service in services.items()
            if name.startswith(("OST ", "RAW ", "NET "))
        }

    def checked_since(self, moment: float, patience_s: float = 120) -> dict[str, Service]:
        """Return the services once each was checked after ``moment`` (of the lab's one clock)."""
        limit = time.monotonic() + patience_s
        while time.monotonic() < limit:
            services = self.services()
            waiting = [name for name, one in services.items() if one.last_check < moment]
            if services and not waiting:
                return services
            time.sleep(1)
        raise LabError(f"Nagios did not check {waiting or 'anything'} within {patience_s:.0f} s")

    def not_ok(self, services: dict[str, Service]) -> dict[str, Service]:
        """Return what Nagios shows in another colour than green."""
        return {name: one for name, one in services.items() if one.state != "OK"}


def measure(console: Console) -> dict[str, Service]:
    """Run every probe as its schedule does, have Nagios check, and return what it then shows."""
    before = time.time()
    playbook("probe", {"layer": "all", "fail": "false"})
    return console.checked_since(before)
