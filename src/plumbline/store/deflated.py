"""The text of a record in few bytes, as the history of a console keeps it.

Records have more in common with one another than a record has with itself: zlib alone makes 720
bytes of the 1,270 of one by fio, and 250 where it knows typical ones (RFC 1950, preset dictionary).
"""

from __future__ import annotations

import zlib

# Histories are read by it for good: another one needs a place beside it, not its place.
_TYPICAL = (
    b'{"schema":1,"id":"","run_id":"20260101T000000Z-","layer":"server","component":"",'
    b'"operation":"read","scenario":"single","outcome":"unknown","host":"","started_at":179,'
    b'"finished_at":179,"reason":"","path":[],"partner":"","bytes":0,"seconds":0.0,"rate_Bps":null,'
    b'"repeats_Bps":[],"profile_Bps":[],"latency":null,"retransmits":0,"tool":{"name":"netperf",'
    b'"version":"2.7.0","argv":["timeout","--foreground","--signal=INT","30","sgp_dd",'
    b'"if=/dev/disk/by-id/","of=/dev/null","bs=512","bpt=2048","count=524288","thr=8",'
    b'"iflag=direct","time=1"]},"spec":{"tool":"sgp_dd","bytes":268435456,"seconds":30.0,'
    b'{"schema":1,"id":"","run_id":"","layer":"raw","component":"","operation":"write",'
    b'"scenario":"single","outcome":"ok","host":"","latency":{"mean_s":0.0,"p50_s":0.0,"p99_s":0.0,'
    b'"max_s":0.0},"retransmits":null,"tool":{"name":"fio","version":"fio-3.3","argv":["fio",'
    b'"--name=plumbline","--filename=/proc/self/fd/0","--rw=write","--size=67108864",'
    b'"--bs=1048576","--runtime=10","--ioengine=libaio","--iodepth=8","--direct=1","--end_fsync=1",'
    b'"--fallocate=none","--allow_file_create=0","--create_on_open=1","--unlink=0",'
    b'"--randrepeat=0","--zero_buffers=0","--lat_percentiles=1","--clat_percentiles=0",'
    b'"--percentile_list=50:99","--status-interval=1","--eta=never","--output-format=json"]},'
    b'"spec":{"tool":"fio","bytes":67108864,"seconds":10.0,"block_bytes":1048576,"queue_depth":8,'
    b'"repeats":2,"rate_cap_Bps":null,"direct":true},"spec_hash":"","fill":null,"coverage":1.0,'
    b'"versions":{"filesystem":"","client":"","server":""},"flags":[],"details":null}'
)

_MOST_BYTES = 64 << 20
"""More than any record has: a damaged one must not take all memory."""


def deflated(text: str) -> bytes:
    """Return the text of a record in few bytes."""
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=_TYPICAL)
    return packer.compress(text.encode()) + packer.flush()


def inflated(kept: object) -> str:
    """Return the text of a record, whether it was kept as it is or deflated.

    It is empty, and so no JSON, where it is damaged.
    """
    if not isinstance(kept, bytes):
        return str(kept)
    unpacker = zlib.decompressobj(zdict=_TYPICAL)
    try:
        text = unpacker.decompress(kept, _MOST_BYTES)
        return text.decode() if unpacker.eof else ""
    except (zlib.error, UnicodeDecodeError):
        return ""
