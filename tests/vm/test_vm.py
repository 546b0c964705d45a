"""Symptoms and probes on a real kernel."""

from __future__ import annotations

from tests.vm.conftest import Node, Symptom

BY_ID = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_oss1-disk"
SECTORS = 131072


def speed(node: Node, limit: int) -> None:
    """Limit what arrays are rebuilt with, in 1000 bytes per second."""
    for name in ("max", "min"):
        node.output(f"echo {limit} > /proc/sys/dev/raid/speed_limit_{name}")


def of_arrays(node: Node) -> set[tuple[str, str]]:
    return {(each["kind"], each["direction"]) for each in node.looks()["md"]["symptoms"]}


def test_a_healthy_node_has_no_symptom(node: Node) -> None:
    looks = node.looks()
    assert [look["symptoms"] for look in looks.values() if look["symptoms"]] == []
    assert looks["smart"]["examined"] == 6
    assert looks["kernel"]["examined"] > 100


def test_an_array_is_degraded_then_recovers_then_is_silent(node: Node) -> None:
    before = node.symptoms()
    node.start(f"mdadm --create /dev/md0 --run --level=1 --raid-devices=2 {BY_ID}1 {BY_ID}2")
    node.output("mdadm --wait /dev/md0 || true")
    assert node.looks()["md"]["examined"] == 1
    assert node.symptoms() == before
    node.output(f"mdadm /dev/md0 --fail {BY_ID}2")
    block = node.output(f"basename $(readlink -f {BY_ID}2)").strip()
    assert node.symptoms() - before == {
        Symptom(
            "oss1-disk2", "member_failed", "CRITICAL", "raises", f"{block} has failed in array md0"
        ),
        Symptom(
            "oss1", "degraded", "WARNING", "raises", "array md0 is degraded, 1 of 2 members missing"
        ),
        Symptom(
            "oss1-disk2",
            "member_failed",
            "CRITICAL",
            "raises",
            f"kernel: failures of {block} in its array",
        ),
    }
    speed(node, 500)
    node.output(f"mdadm /dev/md0 --remove {BY_ID}2 && mdadm /dev/md0 --add {BY_ID}3")
    assert of_arrays(node) == {("degraded", "lowers"), ("recovery", "lowers")}
    speed(node, 500_000)
    node.output("mdadm --wait /dev/md0 || true")
    assert of_arrays(node) == set()
    node.output(f"mdadm --stop /dev/md0 && mdadm --zero-superblock {BY_ID}1 {BY_ID}2 {BY_ID}3")


def test_a_reshaping_array_is_named_as_such(node: Node) -> None:
    members = f"{BY_ID}4 {BY_ID}5 {BY_ID}6"
    node.start(f"mdadm --create /dev/md1 --run --level=5 --raid-devices=3 --assume-clean {members}")
    assert of_arrays(node) == set()
    speed(node, 500)
    node.output(f"mdadm /dev/md1 --add {BY_ID}1 && mdadm --grow /dev/md1 --raid-devices=4")
    assert of_arrays(node) == {("reshape", "lowers")}
    speed(node, 500_000)
    node.output("mdadm --wait /dev/md1 || true")
    assert of_arrays(node) == set()
    node.output(f"mdadm --stop /dev/md1 && mdadm --zero-superblock {BY_ID}1 {members}")


def test_errors_of_a_flaky_device_are_symptoms(node: Node) -> None:
    before = node.symptoms()
    node.start(f"dmsetup create oss1-flaky --table '0 {SECTORS} flakey {BY_ID}3 0 60 0'")
    assert node.symptoms() == before
    node.start(
        f"dmsetup reload oss1-flaky --table '0 {SECTORS} flakey {BY_ID}3 0 0 60'"
        " && dmsetup resume oss1-flaky"
    )
    assert node.run("dd if=/dev/mapper/oss1-flaky of=/dev/null bs=1M count=1").code == 1
    assert {symptom[:4] for symptom in node.symptoms() - before} == {
        ("oss1-flaky", "buffer_error", "CRITICAL", "raises")
    }
    node.output("dmsetup remove --retry oss1-flaky")


def test_a_slow_device_shows_in_the_raw_probe(node: Node) -> None:
    node.start(f"dmsetup create oss1-slow --table '0 {SECTORS} delay {BY_ID}4 0 40'")
    names = "oss1-disk4", "oss1-slow"
    components = " ".join(f"--component {name}" for name in names)
    records = node.document(f"probe raw {components}")["records"]
    rates = {
        name: [each["rate"] for each in records if each["component"] == name] for name in names
    }
    # 40 ms for each MiB
    assert max(rates["oss1-slow"]) < 2**20 / 40e-3
    assert min(rates["oss1-disk4"]) > 2 * max(rates["oss1-slow"])
    node.output("dmsetup remove --retry oss1-slow")
