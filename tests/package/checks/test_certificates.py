"""check_node warns before a certificate of NRPE ends; the certificates are real ones."""

from __future__ import annotations

import shutil
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from plumbline.model.units import DAY_S
from plumbline.observe.certificate import ends_at
from tests.package.checks.test_checks import execute
from tests.package.judgements import REFERENCE, expectation, published, series, snapshot

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")

NOW = time.time()


def certificate(path: Path, days: int, *options: str) -> Path:
    """Write a certificate that ends in so many days."""
    words = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"]
    words += ["ec_paramgen_curve:P-256", "-subj", "/CN=oss1", "-keyout", str(path) + ".key"]
    words += ["-days", str(days), "-out", str(path), *options]
    subprocess.run(words, check=True, capture_output=True)
    return path


def shown(path: Path) -> float:
    """Return the end of a certificate as openssl says it."""
    words = ["openssl", "x509", "-noout", "-enddate", "-in", str(path)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    end = text.strip().partition("=")[2].replace("GMT", "+0000")
    return datetime.strptime(end, "%b %d %H:%M:%S %Y %z").timestamp()


@pytest.mark.parametrize(
    ("days", "options"),
    [
        (825, ()),
        (8250, ()),
        # a year of four digits, and an issuer and a serial number that are long
        (36500, ("-subj", "/CN=" + "x" * 60 + "/O=" + "y" * 60, "-set_serial", "0x" + "f1" * 20)),
    ],
)
def test_the_end_is_that_which_openssl_reads(
    tmp_path: Path, days: int, options: tuple[str, ...]
) -> None:
    path = certificate(tmp_path / "cert.pem", days, *options)
    assert ends_at(path.read_text()) == shown(path)
    assert abs(shown(path) - NOW - days * DAY_S) < DAY_S


@pytest.mark.parametrize("keep", [0, 10, 100, 300])
def test_a_cut_certificate_is_an_error(tmp_path: Path, keep: int) -> None:
    lines = certificate(tmp_path / "cert.pem", 100).read_text().splitlines()
    body = "".join(lines[1:-1])[: keep // 4 * 4]
    with pytest.raises(ValueError, match="certificate"):
        ends_at("\n".join([lines[0], body, lines[-1]]))


@pytest.fixture
def node(tmp_path: Path) -> list[str]:
    """Return the options of a node whose probes run."""
    entry = expectation(references={"read/single": REFERENCE})
    run = series(started_at=NOW - 610, finished_at=NOW - 600)
    documents = published(tmp_path, [entry], snapshot(run, now=NOW))
    return [*documents, "--certificates", str(tmp_path)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "code", "text"),
    [
        (100, 0, ""),
        (59, 1, "cert.pem ends in 59 d, all checks over NRPE fail then; deploy this node with"),
        (5, 2, "cert.pem ends in 5 d, all checks over NRPE fail then; deploy this node with"),
    ],
)
def test_a_node_warns_before_its_certificate_ends(
    tmp_path: Path, node: list[str], days: int, code: int, text: str
) -> None:
    assert execute("check_node", *node).returncode == 0
    certificate(tmp_path / "ca.pem", 8000)
    certificate(tmp_path / "cert.pem", days)
    process = execute("check_node", *node)
    assert process.returncode == code
    assert text in process.stdout
    assert "1 of 1 measured" in process.stdout
    assert execute("check_node", *node, "--renew-days", "3").returncode == 0


@pytest.mark.slow
def test_the_authority_and_a_damaged_certificate_are_named(tmp_path: Path, node: list[str]) -> None:
    certificate(tmp_path / "ca.pem", 30)
    text = execute("check_node", *node).stdout
    assert text.startswith("NODE WARNING - certificate ")
    assert "ca.pem ends in 30 d" in text
    (tmp_path / "cert.pem").write_text("no PEM")
    text = execute("check_node", *node).stdout
    assert "cert.pem: it is no certificate in PEM form; deploy" in text
    (tmp_path / "cert.pem").write_text("x" * (1 << 20) + "x")
    text = execute("check_node", *node).stdout
    assert "cert.pem: 1.0 MB are more than plumbline writes (1 MiB at most); deploy" in text
