"""Forward a port of 127.0.0.1 on the machine to the page of the monitoring host.

The forwarder listens in the machine's own network, then enters the control namespace, where the
bridge is, and connects from there.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import socket

from plumbline_lab.errors import LabError

CLONE_NEWNET = 0x40000000  # linux/sched.h
BLOCK = 2**16
LOCALHOST = "127.0.0.1"


def port_is_free(port: int) -> None:
    """Raise LabError if another program uses the port."""
    _listen(port).close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOCALHOST, port))
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise LabError(
            f"Port {port} of {LOCALHOST}, meant for the Nagios page, is in use; "
            "choose another with -e lab_page_port=PORT."
        ) from error
    listener.listen(64)
    return listener


def _enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{namespace}", "rb") as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise LabError(f"The namespace {namespace} cannot be entered: {reason}.")


def forward(port: int, namespace: str, remote: tuple[str, int]) -> None:
    """Forward connections until ended."""
    listener = _listen(port)
    _enter(namespace)
    asyncio.run(_serve(listener, remote))


async def _serve(listener: socket.socket, remote: tuple[str, int]) -> None:
    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            remote_reader, remote_writer = await asyncio.open_connection(*remote)
        except OSError:  # the page is not up yet
            writer.close()
            return
        await asyncio.gather(_pump(reader, remote_writer), _pump(remote_reader, writer))

    server = await asyncio.start_server(connection, sock=listener)
    async with server:
        await server.serve_forever()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(BLOCK):
            writer.write(data)
            await writer.drain()
    except OSError:  # one end has closed the connection
        pass
    finally:
        writer.close()
