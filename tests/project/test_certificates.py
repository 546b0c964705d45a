"""Certificates of NRPE: made once, renewed in time, for one purpose; keys stay on their host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.units import DAY_S
from plumbline.observe.certificate import ends_at
from tests.processes import run_to_end
from tests.project import certificates
from tests.project.certificates import GROUP

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to root"),
]
EARLIER_EXTENSIONS = """basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:oss1
"""


def deploy(folder: Path, *words: str, **given: Any) -> bool:
    """Run the tasks and return whether they changed anything."""
    done = certificates.play(folder, *words, given=given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PRIVATE KEY" not in done.stdout
    return bool(re.search(r"changed=[1-9]", done.stdout))


def openssl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_to_end("openssl", *words, cwd=folder)


def serves(folder: Path, host: str, purpose: str) -> bool:
    """Return whether the other hosts accept the certificate of a host for a purpose."""
    files = ["-CAfile", f"{'mon1' if host == 'oss1' else 'oss1'}/ca.pem", f"{host}/cert.pem"]
    return openssl(folder, "verify", "-purpose", purpose, *files).returncode == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.parent != folder
    }


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before | after if before.get(name) != after.get(name)}


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deploy certificates once; other tests change copies of them."""
    folder = tmp_path_factory.mktemp("made")
    assert deploy(folder, "-vvv", "--diff")
    return folder


@pytest.fixture
def deployed(made_once: Path, tmp_path: Path) -> Path:
    """Return a copy with the same owners and permissions."""
    subprocess.run(["cp", "-a", f"{made_once}/.", str(tmp_path)], check=True)
    return tmp_path


def test_a_certificate_is_made_once_for_one_purpose(deployed: Path) -> None:
    made = contents(deployed)
    own = {f"{host}/{name}.pem" for host in ("mon1", "oss1") for name in ("ca", "cert", "key")}
    assert set(made) == own | {"authority/ca.key", "authority/ca.pem"}
    assert serves(deployed, "oss1", "sslserver")
    assert not serves(deployed, "oss1", "sslclient")
    assert serves(deployed, "mon1", "sslclient")
    assert not serves(deployed, "mon1", "sslserver")
    named = openssl(deployed, "x509", "-in", "oss1/cert.pem", "-noout", "-ext", "subjectAltName")
    assert "DNS:oss1\n" in named.stdout
    key = deployed / "oss1/key.pem"
    assert (key.owner(), key.group(), key.stat().st_mode & 0o777) == ("root", GROUP, 0o640)
    secret = deployed / "authority"
    assert secret.stat().st_mode & 0o777 == 0o700
    assert (secret / "ca.key").stat().st_mode & 0o777 == 0o600
    assert not deploy(deployed)
    assert contents(deployed) == made


def test_the_certificate_of_who_asks_outlives_those_of_all_nodes(deployed: Path) -> None:
    """Only nodes warn of the end of a certificate, so theirs must end first."""
    ends = {host: ends_at((deployed / host / "cert.pem").read_text()) for host in ("mon1", "oss1")}
    assert ends["mon1"] - ends["oss1"] > 800 * DAY_S
    # a later node is made when that of mon1 has less than this left
    made = contents(deployed)
    assert deploy(deployed, nrpe_certificate_days=1650)
    assert changed(made, contents(deployed)) == {"mon1/cert.pem"}


def test_check_mode_makes_nothing(tmp_path: Path) -> None:
    assert deploy(tmp_path, "--check", "--diff", these="oss1")
    assert contents(tmp_path) == {}
    assert not (tmp_path / "authority").exists()


def test_check_mode_works_on_a_host_without_the_cryptography_package(deployed: Path) -> None:
    """Like a host deployed by an earlier version, whose authority has the package."""
    made = contents(deployed)
    bare = deployed / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    state = "{{ 'installed' if inventory_hostname == 'mon1' else 'unknown' }}"
    query = {"Debian": ["printf", f"%s {state}\\n"]}
    deploy(deployed, "--check", oss1_python=str(bare), __agent_query=query)
    assert contents(deployed) == made


def test_a_certificate_that_expires_soon_is_replaced_and_its_key_kept(deployed: Path) -> None:
    made = contents(deployed)
    # certificates of 825 days
    assert deploy(deployed, these="oss1", nrpe_certificate_days=950, nrpe_renew_days=900)
    assert changed(made, contents(deployed)) == {"oss1/cert.pem"}
    assert serves(deployed, "oss1", "sslserver")


def test_damaged_or_missing_files_are_made_again(deployed: Path) -> None:
    made = contents(deployed)
    for name in ("mon1/cert.pem", "oss1/key.pem"):
        (deployed / name).write_bytes(b"\xff\x00no PEM")
    (deployed / "oss1/ca.pem").unlink()
    before = contents(deployed)
    assert deploy(deployed, "--check", these="oss1")
    assert contents(deployed) == before
    assert deploy(deployed)
    # the authority's certificate is the same again, and a new key needs a new certificate
    remade = {"mon1/cert.pem", "oss1/key.pem", "oss1/cert.pem"}
    assert changed(made, contents(deployed)) == remade
    assert serves(deployed, "oss1", "sslserver")
    assert serves(deployed, "mon1", "sslclient")


def test_a_missing_authority_is_made_again_with_all_certificates(deployed: Path) -> None:
    made = contents(deployed)
    for name in ("ca.key", "ca.pem"):
        (deployed / "authority" / name).unlink()
    assert deploy(deployed)
    assert {name for name in made if "key.pem" not in name} == changed(made, contents(deployed))
    assert serves(deployed, "oss1", "sslserver")


def test_a_host_that_becomes_a_client_gets_a_certificate_for_both_purposes(deployed: Path) -> None:
    assert deploy(deployed, these="oss1", nrpe_certificate_client=True)
    assert serves(deployed, "oss1", "sslclient")
    assert serves(deployed, "oss1", "sslserver")


def test_certificates_of_earlier_versions_are_kept_by_a_limited_play(tmp_path: Path) -> None:
    """Earlier versions made authority, key and certificate with openssl.

    The authority is outside of the play.
    """
    for folder in ("authority", "oss1"):
        (tmp_path / folder).mkdir()
    (tmp_path / "extensions").write_text(EARLIER_EXTENSIONS)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    ca = ["-subj", "/CN=plumbline test", "-keyout", "authority/ca.key", "-out", "authority/ca.pem"]
    own = ["-subj", "/CN=oss1", "-keyout", "oss1/key.pem", "-out", "request"]
    by = ["-CA", "authority/ca.pem", "-CAkey", "authority/ca.key", "-set_serial", "0x7"]
    result = ["-extfile", "extensions", "-days", "825", "-out", "oss1/cert.pem"]
    for words in (
        ["req", "-x509", *key, "-days", "8250", *ca],
        ["req", "-new", *key, *own],
        ["x509", "-req", "-in", "request", *by, *result],
    ):
        done = openssl(tmp_path, *words)
        assert done.returncode == 0, done.stderr
    made = contents(tmp_path)
    files = ["-CAfile", "authority/ca.pem", "oss1/cert.pem"]
    assert openssl(tmp_path, "verify", *files).returncode == 0
    deploy(tmp_path, these="oss1")
    assert contents(tmp_path) == {**made, "oss1/ca.pem": made["authority/ca.pem"]}
    assert openssl(tmp_path, "verify", "-purpose", "sslserver", *files).returncode == 0
