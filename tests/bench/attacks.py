"""Somebody else's files and folders in the way of a probe: what is refused, what is overwritten.

As root: ``python -m tests.bench.attacks --rounds 100``.  So many rounds of what lies there when
``plumbline probe ost`` begins, and so many of each exchange that an ordinary user makes at the
moment at which fio starts.  A round is refused where the run measures nothing and a file of root
alone is as it was.  Ends with 1 where one is not.
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
# What begins waits for the exchange, but not for one that never comes.
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
    """What came of an attack: the outcomes of the attacked target, and whether a file was spared.

    ``attacked`` says that the attack came about, ``foreign`` names files that root wrote into a
    folder of somebody else.
    """

    name: str
    attacked: bool
    outcomes: tuple[str, ...]
    spared: bool
    foreign: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Return whether nothing was measured, and nothing of others written."""
        measured = Outcome.OK.value in self.outcomes or not self.outcomes
        return self.attacked and self.spared and not measured and not self.foreign


def of_others(base: Path, precious: Path) -> None:
    """Make folders of an ordinary user, with a link in the place of the probe file."""
    folder = folder_of(base)
    (folder / "probe.dat").symlink_to(precious)
    for one in (folder.parent, folder):
        os.chown(one, NOBODY, NOBODY)


def open_to_all(base: Path, _precious: Path) -> None:
    """Make folders in which everybody may write."""
    folder = folder_of(base)
    for one in (folder.parent, folder):
        one.chmod(ANY)


def linked(base: Path, precious: Path) -> None:
    """Lead to the folders of somebody else by a link."""
    (base / ".plumbline").symlink_to(precious.parent / "forged/.plumbline")


def planted(name: str) -> Attack:
    """Return what puts one of the attacks on a file into a file system."""
    return lambda base, precious: STATIC[name](folder_of(base) / "probe.dat", precious)


LYING: dict[str, Attack] = {
    **{name: planted(name) for name in STATIC},
    "folders of another": of_others,
    "folders open to all": open_to_all,
    "link to a folder": linked,
}


def probe(site: Site) -> tuple[str, ...]:
    """Measure as an administrator does; return the outcomes of the target that is attacked.

    The other one, which a comparison needs, is refused at once.
    """
    path = f"{site.home}/bin:{os.environ['PATH']}"
    words = ["--directory", f"a={site.base}", "--directory", f"b={site.home}/refused"]
    done = subprocess.run(
        [sys.executable, "-m", "plumbline.cli", "probe", "ost", *words]
        + ["--bytes", "1MiB", "--locks", f"{site.home}/locks", "--json", "--quiet"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    records = json.loads(done.stdout)["records"]
    return tuple(one["outcome"] for one in records if one["component"] == "a")


def foreign(site: Site) -> Iterator[str]:
    """Yield what root has written into folders of somebody else."""
    for folder, _, files in os.walk(site.home / "forged"):
        for path in (Path(folder) / name for name in files):
            found = path.lstat()
            if S_ISREG(found.st_mode) and found.st_uid == 0 and os.stat(folder).st_uid != 0:
                yield str(path)


def ended(site: Site, name: str, outcomes: tuple[str, ...]) -> Round:
    """Return what came of a round, and put everything back."""
    exchanged = any(os.path.lexists(one) for one in (site.base / "away", site.home / "above/away"))
    spared = site.precious.read_bytes() == PRECIOUS
    attacked = exchanged or name in LYING
    found = Round(name, attacked, outcomes, spared, tuple(foreign(site)))
    site.precious.write_bytes(PRECIOUS)
    site.reset()
    return found


def static(site: Site, rounds: int) -> Iterator[Round]:
    """Yield rounds of what lies there before."""
    of_others(site.home / "forged", site.precious)
    for name in islice(cycle(LYING), rounds):
        LYING[name](site.base, site.precious)
        yield ended(site, name, probe(site))


def by_race(site: Site, rounds: int, name: str) -> Iterator[Round]:
    """Yield rounds of what an ordinary user exchanges while fio starts."""
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
    """Make a file system to be attacked, and one that is refused."""
    home.chmod(0o711)
    site = Site(home)
    (home / "refused").mkdir()
    of_others(home / "refused", site.precious)
    (home / "bin").mkdir()
    return site


def main() -> int:
    """Carry out the rounds that were asked for, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="of each kind (default: 100)")
    rounds = parser.parse_args().rounds
    good = True
    for name, attack in ATTACKS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = list(attack(made(Path(folder)), rounds))
        bad = [one for one in found if not one.refused]
        good = good and not bad and len(found) == rounds
        print(f"{name}: {len(found) - len(bad)} of {rounds} refused", flush=True)
        for one in bad:
            print(f"    {one}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit("plumbline: root alone has somebody else attack" if os.geteuid() else main())
