# SPDX-License-Identifier: Apache-2.0
"""A listening socket that does to each connection what a test says, and keeps every byte that came over it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType

PATIENCE = 20.0


class Connection:
    """One accepted connection, read and written by hand."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.settimeout(PATIENCE)
        self._socket = accepted
        self.received = b""
        """What was read, as plain text once the connection is secured."""
        self.requests: list[bytes] = []
        """What of it was a whole request, head and body."""
        self.protocol: str | None = None
        """What the TLS handshake agreed on (RFC 7301)."""

    def secure(self, context: ssl.SSLContext) -> None:
        self._socket = context.wrap_socket(self._socket, server_side=True)
        self.protocol = self._socket.selected_alpn_protocol()

    def read(self, most: int = 65536) -> bytes:
        """Empty when the client has ended the connection."""
        data = self._socket.recv(most)
        self.received += data
        return data

    def read_request(self) -> bytes:
        """Empty when the client has ended the connection before it was whole."""
        begin = len(self.received)
        while (end := self.received.find(b"\r\n\r\n", begin)) < 0:
            if not self.read():
                return b""
        head = self.received[begin:end].lower()
        _, _, length = head.partition(b"content-length:")
        wanted = end + 4 + int(length.split(b"\r\n")[0] or 0)
        while len(self.received) < wanted:
            if not self.read():
                return b""
        self.requests.append(self.received[begin:wanted])
        return self.requests[-1]

    def wait_for_bytes(self) -> None:
        """Until some can be read; they are not."""
        self._socket.recv(1, socket.MSG_PEEK)

    def wait_for_end(self) -> None:
        while self.read():
            pass

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def reset(self) -> None:
        """RST in place of FIN; what was sent before is on its way to be read."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            # Also wakes whoever reads.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


Act = Callable[[Connection], None]


class Wire:
    """Use as a context: its end raises what went wrong in an act itself."""

    def __init__(self, act: Act, *, receive_buffer: int | None = None) -> None:
        self.act = act
        self._lock = threading.Lock()
        self._connections: list[Connection] = []
        self._defects: list[Exception] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        if receive_buffer is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            connection.close()
        for thread in self._threads:
            thread.join(PATIENCE)
        if self._defects and error is None:
            raise RuntimeError("the wire itself failed") from self._defects[0]

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def connections(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)

    @property
    def received(self) -> bytes:
        return b"".join(connection.received for connection in self.connections)

    @property
    def requests(self) -> list[bytes]:
        return [request for connection in self.connections for request in connection.requests]

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """What a client has sent may not have been read yet when it gives up."""
        deadline = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.005)
        return condition()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            connection = Connection(accepted)
            with self._lock:
                self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            self.act(connection)
        except OSError:
            # TLS errors are among them: the client's ways to end a connection.
            pass
        except Exception as defect:
            self._defects.append(defect)
        finally:
            connection.close()
