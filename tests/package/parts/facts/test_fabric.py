"""The fabric of a simulator, ibsim, asked by the real tools: slow, missing and faulty links."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from shutil import which
from typing import Iterator, Optional, Sequence

import pytest

from plumbline.model.command import Completed, Within
from plumbline.observe.command import LocalSystem, SystemRunner
from plumbline.parts.facts.fabric import look
from plumbline.parts.facts.node import Counters, Node, Parts, Past
from tests.package.parts.facts.symptoms_nodes import expectations
from tests.package.recorded import DATA

_LIBRARY = next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), None)
_MISSING = [
    name for name in ("ibsim", "opensm", "iblinkinfo", "ibqueryerrors") if which(name) is None
]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        bool(_MISSING) or _LIBRARY is None,
        reason=f"without {', '.join(_MISSING) or 'libumad2sim.so'}; see requirements/tests.txt",
    ),
]
_PATIENCE_S = 30


class Fabric:
    """A simulated fabric with a subnet manager, and a host that asks it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner = SystemRunner()
        simulated = {
            "LD_PRELOAD": str(_LIBRARY),
            "SIM_HOST": "client1 HCA-1",
            "IBSIM_SOCKNAME": f"plumbline-{os.getpid()}",
            "OSM_CACHE_DIR": str(folder),
        }
        self._prefix = ["env", *(f"{name}={value}" for name, value in simulated.items())]
        (folder / "sys/class/infiniband/mlx5_0").mkdir(parents=True)
        own = {**os.environ, "IBSIM_SOCKNAME": simulated["IBSIM_SOCKNAME"]}
        self._simulator = self._start(["ibsim", "-s", str(DATA / "fabric/degraded.net")], own)
        manager = ["opensm", "-f", str(folder / "opensm.log")]
        self._manager = self._start([*self._prefix, *manager], dict(os.environ))

    def _start(self, argv: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            cwd=self._folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        return self._runner([*self._prefix, *argv], timeout_s, within)

    def tell(self, *commands: str) -> None:
        """Give commands to the simulator's console."""
        assert self._simulator.stdin is not None
        self._simulator.stdin.write("".join(f"{command}\n" for command in commands).encode())
        self._simulator.stdin.flush()

    def wait(self, words: str, argv: Sequence[str]) -> None:
        """Wait until a tool prints some words."""
        end = time.monotonic() + _PATIENCE_S
        while words not in self.run(argv, _PATIENCE_S).stdout:
            assert time.monotonic() < end, f"no {words!r} from {argv}"
            time.sleep(0.2)

    def node(self, past: Past, now: float) -> Node:
        system = LocalSystem(self.run, self._folder)
        return Node(system, Parts(expectations("oss1"), system), Counters(past), now)

    def stop(self) -> None:
        for process in (self._manager, self._simulator):
            process.kill()
            process.communicate()


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    simulated = Fabric(tmp_path)
    try:
        simulated.wait("Summary", ["ibqueryerrors", "--switch"])
        yield simulated
    finally:
        simulated.stop()


def test_a_simulated_fabric_shows_slow_missing_and_faulty_links(fabric: Fabric) -> None:
    first = fabric.node(Past(), 1e9)
    seen = look(first)
    assert (seen.examined, seen.notes) == (27, ())
    assert sorted(symptom.sentence for symptom in seen.symptoms) == [
        "the link from spine1 port 3 to leaf2 port 9 runs at 1X QDR, 13 of 15 links between "
        "switches at 4X QDR or faster",
        "the link from spine2 port 5 to leaf3 port 11 runs at 4X SDR, 13 of 15 links between "
        "switches at 4X QDR or faster",
    ]
    fabric.tell(
        'PerformanceSet "leaf4"[9] PortCounters.SymbolErrorCounter=4711',
        'PerformanceSet "spine2"[7] PortCounters.LinkDownedCounter=3',
        'Unlink "leaf1"[9]',
    )
    fabric.wait("LinkDownedCounter == 3", ["ibqueryerrors", "--switch"])
    later = look(fabric.node(first.counters.after(1e9), 1e9 + 86_400))
    assert later.examined == 26
    fresh = {symptom.kind: symptom.sentence for symptom in later.symptoms}
    assert fresh["missing_link"] == "the link from leaf1 port 9 to spine1 port 1 is gone"
    assert (
        fresh["symbol_error"] == "4711 symbol errors on the link from spine1 port 7 to leaf4 port 9"
    )
    assert fresh["link_downed"] == ("3 losses of the link from spine2 port 7 to leaf4 port 11")
