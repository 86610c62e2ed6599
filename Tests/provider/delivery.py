# SPDX-License-Identifier: Apache-2.0
"""Puts an answer on the wire, exactly as it was told to."""

from __future__ import annotations

import asyncio
import http
import math
import socket
import struct
import zlib
from email.utils import formatdate

from .answer import Answer, Cut, Response

_PIECE = 64 * 1024


class Ended(Exception):
    """The connection is over; nothing more may be sent or read on it."""


async def deliver(writer: asyncio.StreamWriter, answer: Answer, response: Response, *, head_only: bool) -> bool:
    """True when the connection can carry another request. Raises Ended when it was cut."""
    if answer.delay == math.inf:
        await _until_client_goes()
    if answer.delay:
        await asyncio.sleep(answer.delay)
    if answer.gate is not None:
        await answer.gate.passed()
    await _cut_in_place_of_an_answer(writer, answer.cut)
    if answer.raw is not None:
        await _send(writer, answer.raw, answer.drip)
        return False

    streamed = answer.endless or answer.pad is not None
    body = b"" if streamed else _compressed(response.body) if answer.gzip else response.body
    head, keep_alive = _head(response, answer, None if streamed else len(body))
    if head_only:
        await _send(writer, head, None)
        return keep_alive
    halved = answer.cut in (Cut.HALF_BODY, Cut.HALF_BODY_RESET)
    shown = body[: len(body) // 2] if halved else body
    if answer.drip is None:
        # In one piece, as a server that buffers does.
        await _send(writer, head + shown, None)
    else:
        await _send(writer, head, None)
        await _send(writer, shown, answer.drip)
    if streamed:
        await _stream(writer, answer, response.body)
        return False
    if answer.cut is Cut.HALF_BODY_RESET:
        # The half must have reached the client: a reset throws away what is still on its way.
        await asyncio.sleep(0.05)
        reset(writer)
    if halved:
        raise Ended
    return keep_alive


def reset(writer: asyncio.StreamWriter) -> None:
    """RST in place of FIN: what a crashed peer or a strict firewall sends."""
    plain = writer.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _cut_in_place_of_an_answer(writer: asyncio.StreamWriter, cut: Cut | None) -> None:
    match cut:
        case Cut.BEFORE_READING | Cut.AFTER_READING:
            raise Ended
        case Cut.RESET:
            reset(writer)
            raise Ended
        case Cut.HALF_CLOSE:
            # Over TLS there is no half-close: the client sees nothing until it gives up.
            if writer.can_write_eof():
                writer.write_eof()
            await _until_client_goes()
        case _:
            pass


async def _until_client_goes() -> None:
    # The server cancels a delivery when the client's side of the connection ends.
    await asyncio.get_running_loop().create_future()


def _head(response: Response, answer: Answer, length: int | None) -> tuple[bytes, bool]:
    headers = list(response.headers)
    gone = {name.lower() for name in answer.remove_headers}

    def default(name: str, value: str) -> None:
        if response.header(name) is None and name.lower() not in gone:
            headers.append((name, value))

    default("Date", formatdate(usegmt=True))
    if answer.gzip:
        default("Content-Encoding", "gzip")
    framed = length is not None
    if framed and response.status not in (204, 304):
        default("Content-Length", str(length))
    else:
        framed = response.status in (204, 304)
    if not framed:
        default("Connection", "close")
    try:
        phrase = http.HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {phrase}"] + [f"{name}: {value}" for name, value in headers]
    own_framing = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in response.headers)
    closes = any(name.lower() == "connection" and value.lower() == "close" for name, value in headers)
    # Whoever frames by hand, or takes the framing away, means to lie: such a connection carries nothing further.
    keep_alive = framed and not own_framing and not closes and "content-length" not in gone
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"), keep_alive


async def _send(writer: asyncio.StreamWriter, data: bytes, drip: float | None) -> None:
    if drip is None:
        writer.write(data)
        await writer.drain()
        return
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(drip)


def _compressed(body: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    return squeeze.compress(body) + squeeze.flush()


async def _stream(writer: asyncio.StreamWriter, answer: Answer, body: bytes) -> None:
    """The body, then blanks: still the same JSON to whoever reads it all. Ended by the connection's end."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31) if answer.gzip else None

    async def put(data: bytes) -> None:
        out = squeeze.compress(data) if squeeze else data
        if out:
            writer.write(out)
            await writer.drain()

    await put(body)
    left = math.inf if answer.endless else answer.pad or 0
    while left > 0:
        piece = int(min(left, _PIECE))
        await put(b" " * piece)
        left -= piece
        # A client that reads fast must not starve the other connections.
        await asyncio.sleep(answer.drip or 0)
    if squeeze:
        writer.write(squeeze.flush())
        await writer.drain()
