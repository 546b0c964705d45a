"""Outputs of lfs and lctl of all Lustre versions."""

from __future__ import annotations

from plumbline.observe.lustre_output import (
    Usage,
    parse_import,
    parse_layout,
    parse_osts,
    parse_parameter,
    parse_usage,
)
from plumbline.observe.mounts import Space
from tests.package.recorded import data

DF = data("lustre/lfs_df.txt")


def test_a_header_in_bytes_changes_the_unit() -> None:
    text = data("lustre/lfs_df_h.txt")
    assert parse_usage(text, "lustre-OST0001") == Usage(
        Space(int(457.4 * 1024**2), int(3.0 * 1024**3)), ""
    )
    plain = DF.replace("1K-blocks", "    bytes")
    assert parse_usage(plain, "lustre-OST0001") == Usage(Space(468332, 3138688), "")


def test_one_ost_alone_has_no_header() -> None:
    line = DF.splitlines()[3] + "\n"
    assert parse_usage(line, "lustre-OST0001") == Usage(Space(468332 << 10, 3138688 << 10), "")


def test_an_old_lfs_ends_the_line_at_the_bracket() -> None:
    text = (
        "UUID                       1K-blocks        Used   Available Use% Mounted on\n"
        "testfs-OST000a_UUID       7759448      443208     6877776   6% /mnt/testfs[OST:10]\n"
        "OST000b             : inactive device\n"
    )
    assert parse_usage(text, "testfs-OST000a") == Usage(Space(443208 << 10, 6877776 << 10), "")
    assert parse_usage(text, "testfs-OST000b") is None


def test_indices_may_be_sparse_and_states_anything() -> None:
    text = "OBDS:\n0: a-OST0000_UUID ACTIVE\n17: a-OST0011_UUID INACTIVE\n"
    assert parse_osts(text) == {"a-OST0000": (0, "ACTIVE"), "a-OST0011": (17, "INACTIVE")}


def test_only_client_devices_count() -> None:
    text = data("lustre/lctl_osc_active.txt")
    assert parse_parameter(text, "lustre-OST0002", "active") == {
        "lustre-OST0002-osc-ffff888120238800": "1"
    }


def test_the_import_of_an_old_lustre_has_no_quotes() -> None:
    old = (
        "import:\n    state: FULL\n    import_flags: [replayable, pingable]\n"
        "    connection:\n       failover_nids: [10.0.0.1@o2ib, 10.0.0.2@o2ib]\n"
        "       current_connection: 10.0.0.2@o2ib\n       target_version: 2.10.8.0\n"
    )
    client_import = parse_import("d", old)
    assert client_import.nids == ("10.0.0.1@o2ib", "10.0.0.2@o2ib")
    assert (client_import.connection, client_import.version) == ("10.0.0.2@o2ib", "2.10.8.0")


def test_the_group_column_is_no_index() -> None:
    assert parse_layout(data("lustre/lfs_getstripe.txt")).indices == (2,)
    wide = parse_layout(data("lustre/lfs_getstripe_v_wide.txt"))
    assert (wide.stripes, wide.indices) == (4, (0, 1, 2, 3))
