"""Attacks with files and folders in the way of a probe: refused or not.

As root: ``python -m tests.bench.attacks --rounds 100``.  Runs rounds with foreign files in place
before ``plumbline probe ost`` begins, and rounds of each exchange by an ordinary user just as fio
starts.  A round is refused if the run measures nothing and a private file of root is unchanged.
Ends with 1 if any is not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from stat import S_ISREG
from typing import Callable, Iterator, NamedTuple

from plumbline.model.record import Outcome
from tests.package.observe.test_folders import STATIC, Attack, folder_of
from tests.package.observe.test_folders_race import NOBODY, PRECIOUS, Site

ANY = 0o777
# Waits for the exchange, but not for ever.
TOOL = """#!/bin/sh
case " $* " in
*" --version "*) ;;
*)
    : > {home}/signs/begun
    for _ in $(seq 2000); do test -e {home}/signs/exchanged && break; sleep 0.005; done
    rm -f {home}/signs/exchanged
    ;;
esac
exec /usr/bin/fio "$@"
"""


class Round(NamedTuple):
    """Result of an attack: outcomes of the attacked target, and whether root's file was spared.

    ``attacked`` is whether the attack took place, ``foreign`` are files of root in folders
    of another user.
    """

    name: str
    attacked: bool
    outcomes: tuple[str, ...]
    spared: bool
    foreign: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Return whether nothing was measured and no foreign folder written."""
        measured = Outcome.OK.value in self.outcomes or not self.outcomes
        return self.attacked and self.spared and not measured and not self.foreign


def of_others(base: Path, precious: Path) -> None:
    """Create folders of an ordinary user, with a link in place of the probe file."""
    folder = folder_of(base)
    (folder / "probe.dat").symlink_to(precious)
    for path in (folder.parent, folder):
        os.chown(path, NOBODY, NOBODY)


def open_to_all(base: Path, _precious: Path) -> None:
    """Create world-writable folders."""
    folder = folder_of(base)
    for path in (folder.parent, folder):
        path.chmod(ANY)


def linked(base: Path, precious: Path) -> None:
    """Create a link to folders of another user."""
    (base / ".plumbline").symlink_to(precious.parent / "forged/.plumbline")


def planted(name: str) -> Attack:
    """Return a function that applies an attack on a file to a file system."""
    return lambda base, precious: STATIC[name](folder_of(base) / "probe.dat", precious)


LYING: dict[str, Attack] = {
    **{name: planted(name) for name in STATIC},
    "folders of another": of_others,
    "folders open to all": open_to_all,
    "link to a folder": linked,
}


def probe(site: Site) -> tuple[str, ...]:
    """Measure like an administrator; return the outcomes of the attacked target.

    The other target, needed for a comparison, is refused at once.
    """
    path = f"{site.home}/bin:{os.environ['PATH']}"
    words = ["--directory", f"a={site.base}", "--directory", f"b={site.home}/refused"]
    done = subprocess.run(
        [sys.executable, "-m", "plumbline.cli", "probe", "ost", *words]
        + ["--bytes", "1MiB", "--json", "--quiet"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    records = json.loads(done.stdout)["records"]
    return tuple(record["outcome"] for record in records if record["component"] == "a")


def foreign(site: Site) -> Iterator[str]:
    """Yield files of root in folders of another user."""
    for folder, _, files in os.walk(site.home / "forged"):
        for path in (Path(folder) / name for name in files):
            status = path.lstat()
            if S_ISREG(status.st_mode) and status.st_uid == 0 and os.stat(folder).st_uid != 0:
                yield str(path)


def ended(site: Site, name: str, outcomes: tuple[str, ...]) -> Round:
    """Return the result of a round, and restore the site."""
    exchanged = any(map(os.path.lexists, (site.base / "away", site.home / "above/away")))
    spared = site.precious.read_bytes() == PRECIOUS
    attacked = exchanged or name in LYING
    result = Round(name, attacked, outcomes, spared, tuple(foreign(site)))
    site.precious.write_bytes(PRECIOUS)
    site.reset()
    return result


def static(site: Site, rounds: int) -> Iterator[Round]:
    """Yield rounds with foreign files in place beforehand."""
    of_others(site.home / "forged", site.precious)
    for name in islice(cycle(LYING), rounds):
        LYING[name](site.base, site.precious)
        yield ended(site, name, probe(site))


def by_race(site: Site, rounds: int, name: str) -> Iterator[Round]:
    """Yield rounds with an exchange by an ordinary user as fio starts."""
    tool = site.home / "bin/fio"
    tool.write_text(TOOL.format(home=site.home))
    tool.chmod(0o755)
    with site.attacked(name, NOBODY):
        for _ in range(rounds):
            yield ended(site, name, probe(site))


ATTACKS: dict[str, Callable[[Site, int], Iterator[Round]]] = {
    "lying there before": static,
    "folder exchanged as fio starts": partial(by_race, name="folder"),
    "mount exchanged as fio starts": partial(by_race, name="parent"),
}


def made(home: Path) -> Site:
    """Create a file system to attack, and one that is refused."""
    home.chmod(0o711)
    site = Site(home)
    (home / "refused").mkdir()
    of_others(home / "refused", site.precious)
    (home / "bin").mkdir()
    return site


def main() -> int:
    """Run the rounds and print their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of each kind (default: 100)")
    rounds = parser.parse_args().rounds
    good = True
    for name, attack in ATTACKS.items():
        with tempfile.TemporaryDirectory() as folder:
            results = list(attack(made(Path(folder)), rounds))
        bad = [result for result in results if not result.refused]
        good = good and not bad and len(results) == rounds
        print(f"{name}: {len(results) - len(bad)} of {rounds} refused", flush=True)
        for result in bad:
            print(f"    {result}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit("plumbline: root alone has somebody else attack" if os.geteuid() else main())
