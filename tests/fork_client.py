"""Stands in for a command whose process is a fork with this program's files and folder.

Arguments are the path of ``Forks`` and the words of the command.  Tests start it hundreds of times,
so it imports only what is built into Python.
"""

import _socket
import posix
import sys

connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
variables = {name.decode(): value.decode() for name, value in posix.environ.items()}
request = repr([sys.argv[2:], posix.getcwd(), variables]).encode()
files = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
connection.recv(1 << 10)
sys.exit(int(connection.recv(1 << 10)))
