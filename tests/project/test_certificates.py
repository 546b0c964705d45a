"""Certificates of NRPE: made once, renewed in time, for one purpose; keys stay on their host.

Four calls of Ansible follow one another in one folder; each case is a host of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Sequence

import pytest

from plumbline.model.units import DAY_S
from plumbline.observe.certificate import ends_at
from tests.processes import may_act_for_others, run_to_end
from tests.project import certificates
from tests.project.certificates import GROUP

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not may_act_for_others(), reason="only root can give files to root"),
]
EARLIER_EXTENSIONS = """basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:earlier
"""
HOSTS = ("mon1", "mon2", "oss1", "expiring", "becomes_client", "bad_key", "bad_certificate")


def openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_to_end("openssl", *words, cwd=folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.parent != folder
    }


class Site(NamedTuple):
    """Copy of all files with owners and permissions, and the hosts that Ansible has changed."""

    folder: Path
    changed: frozenset[str]

    def files(self, *folders: str) -> dict[str, bytes]:
        """Return the files by path, of these folders or of all."""
        found = contents(self.folder)
        return {name: found[name] for name in found if not folders or name.startswith(folders)}

    def serves(self, host: str, purpose: str) -> bool:
        """Return whether the other hosts accept the certificate of a host for a purpose."""
        files = ["-CAfile", f"{'mon1' if host == 'oss1' else 'oss1'}/ca.pem", f"{host}/cert.pem"]
        return openssl(self.folder, "verify", "-purpose", purpose, *files).returncode == 0


def deploy(folder: Path, *words: str, these: Sequence[str] = HOSTS, **given: Any) -> Site:
    """Run the tasks and return the site after them."""
    done = certificates.play(folder, *words, these=these, given=given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout
    changed = re.findall(r"^(\w+) +: .*changed=[1-9]", done.stdout, re.M)
    copy = folder.with_name(f"{folder.name}-{len([*folder.parent.iterdir()])}")
    subprocess.run(["cp", "-a", str(folder), str(copy)], check=True)
    return Site(copy, frozenset(changed))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sites") / "site"
    path.mkdir()
    return path


@pytest.fixture(scope="module")
def made(folder: Path) -> Site:
    """Deploy everything once."""
    return deploy(folder, "-vvv", "--diff")


@pytest.fixture(scope="module")
def damaged(made: Site, folder: Path) -> dict[str, bytes]:
    """Damage files of two hosts."""
    for name in ("bad_certificate/cert.pem", "bad_key/key.pem"):
        (folder / name).write_bytes(b"\xff\x00no PEM")
    (folder / "bad_key/ca.pem").unlink()
    return contents(folder)


@pytest.fixture(scope="module")
def checked(damaged: dict[str, bytes], folder: Path) -> Site:
    """Use check mode; oss1 was deployed by an earlier version: only its authority has the package.

    The host ``empty`` and its authority have nothing.
    """
    bare = folder / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    state = "{{ 'unknown' if inventory_hostname == 'oss1' else 'installed' }}"
    query = {"Debian": ["printf", f"%s {state}\\n"]}
    these = ("mon1", "oss1", "bad_key")
    given = {"oss1_python": str(bare), "__agent_query": query, "others": ["empty"]}
    return deploy(folder, "--check", "--diff", these=these, **given)


@pytest.fixture(scope="module")
def later(checked: Site, folder: Path) -> Site:
    """Deploy everything again, after a change of three hosts."""
    days = "{{ {'mon2': 1650, 'expiring': 950}[inventory_hostname] | default(825) }}"
    renew = "{{ 900 if inventory_hostname == 'expiring' else 60 }}"
    client = "{{ inventory_hostname in ['mon1', 'mon2', 'becomes_client'] }}"
    return deploy(
        folder,
        nrpe_certificate_days=days,
        nrpe_renew_days=renew,
        nrpe_certificate_client=client,
    )


@pytest.fixture(scope="module")
def earlier(later: Site, folder: Path) -> dict[str, bytes]:
    """Make authority, key and certificate with openssl, as earlier versions did."""
    for name in ("other_authority", "earlier"):
        (folder / name).mkdir()
    (folder / "extensions").write_text(EARLIER_EXTENSIONS)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    authority = ["-keyout", "other_authority/ca.key", "-out", "other_authority/ca.pem"]
    own = ["-subj", "/CN=earlier", "-keyout", "earlier/key.pem", "-out", "request"]
    by = ["-CA", "other_authority/ca.pem", "-CAkey", "other_authority/ca.key"]
    result = ["-extfile", "extensions", "-days", "825", "-out", "earlier/cert.pem"]
    for words in (
        ["req", "-x509", *key, "-days", "8250", "-subj", "/CN=plumbline test", *authority],
        ["req", "-new", *key, *own],
        ["x509", "-req", "-in", "request", *by, "-set_serial", "0x7", *result],
    ):
        done = openssl(folder, *words)
        assert done.returncode == 0, done.stderr
    return contents(folder)


@pytest.fixture(scope="module")
def remade(earlier: dict[str, bytes], folder: Path) -> Site:
    """Deploy two hosts without their authority, and the one of an earlier version."""
    for name in ("ca.key", "ca.pem"):
        (folder / "authority" / name).unlink()
    return deploy(folder, these=("mon1", "oss1"), others=["earlier"])


def replaced(before: Site, after: Site, *folders: str) -> set[str]:
    """Return the files of these hosts that differ."""
    old, new = before.files(*folders), after.files(*folders)
    return {name for name in old | new if old.get(name) != new.get(name)}


def test_a_certificate_is_made_for_one_purpose(made: Site) -> None:
    own = {f"{host}/{name}.pem" for host in HOSTS for name in ("ca", "cert", "key")}
    assert set(made.files()) == own | {"authority/ca.key", "authority/ca.pem"}
    assert made.serves("oss1", "sslserver")
    assert not made.serves("oss1", "sslclient")
    assert made.serves("mon1", "sslclient")
    assert not made.serves("mon1", "sslserver")
    named = openssl(made.folder, "x509", "-in", "oss1/cert.pem", "-noout", "-ext", "subjectAltName")
    assert "DNS:oss1\n" in named.stdout
    key = made.folder / "oss1/key.pem"
    assert (key.owner(), key.group(), key.stat().st_mode & 0o777) == ("root", GROUP, 0o640)
    secret = made.folder / "authority"
    assert secret.stat().st_mode & 0o777 == 0o700
    assert (secret / "ca.key").stat().st_mode & 0o777 == 0o600


def test_a_certificate_is_made_once(made: Site, later: Site) -> None:
    assert made.changed == {*HOSTS}
    assert later.changed == {*HOSTS} - {"mon1", "oss1"}
    assert replaced(made, later, "mon1", "oss1", "authority") == set()


def test_the_certificate_of_who_asks_outlives_those_of_all_nodes(made: Site, later: Site) -> None:
    """Only nodes warn of the end of a certificate, so theirs must end first."""
    ends = {host: ends_at((made.folder / host / "cert.pem").read_text()) for host in HOSTS}
    assert ends["mon2"] - ends["oss1"] > 800 * DAY_S
    # a later node is made when that of mon2 has less than this left
    assert replaced(made, later, "mon2") == {"mon2/cert.pem"}


def test_check_mode_makes_nothing(checked: Site, damaged: dict[str, bytes]) -> None:
    assert {"empty", "bad_key"} <= checked.changed
    assert checked.files() == damaged
    for name in ("empty", "other_authority"):
        assert not (checked.folder / name).exists()


def test_check_mode_works_on_a_host_without_the_cryptography_package(checked: Site) -> None:
    assert "oss1" not in checked.changed


def test_a_certificate_that_expires_soon_is_replaced_and_its_key_kept(
    made: Site, later: Site
) -> None:
    # certificates of 825 days
    assert replaced(made, later, "expiring") == {"expiring/cert.pem"}
    assert later.serves("expiring", "sslserver")


def test_damaged_or_missing_files_are_made_again(made: Site, later: Site) -> None:
    assert replaced(made, later, "bad_certificate") == {"bad_certificate/cert.pem"}
    # the authority's certificate is the same again, and a new key needs a new certificate
    assert replaced(made, later, "bad_key") == {"bad_key/key.pem", "bad_key/cert.pem"}
    assert later.serves("bad_key", "sslserver")
    assert later.serves("bad_certificate", "sslserver")


def test_a_missing_authority_is_made_again_with_all_certificates(later: Site, remade: Site) -> None:
    hosts = ("mon1", "oss1")
    own = {f"{host}/{name}.pem" for host in hosts for name in ("ca", "cert")}
    folders = (*hosts, "authority")
    assert replaced(later, remade, *folders) == own | {"authority/ca.key", "authority/ca.pem"}
    assert remade.serves("oss1", "sslserver")


def test_a_host_that_becomes_a_client_gets_a_certificate_for_both_purposes(later: Site) -> None:
    assert later.serves("becomes_client", "sslclient")
    assert later.serves("becomes_client", "sslserver")


def test_certificates_of_earlier_versions_are_kept_by_a_limited_play(
    earlier: dict[str, bytes], remade: Site
) -> None:
    """The host of the authority is outside of the play."""
    folders = ("earlier", "other_authority")
    kept = {name: earlier[name] for name in earlier if name.startswith(folders)}
    own = {"earlier/ca.pem": kept["other_authority/ca.pem"]}
    assert remade.files(*folders) == {**kept, **own}
    files = ["-CAfile", "earlier/ca.pem", "earlier/cert.pem"]
    verified = openssl(remade.folder, "verify", "-purpose", "sslserver", *files)
    assert verified.returncode == 0, verified.stderr
