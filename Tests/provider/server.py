# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 on loopback sockets, in a thread with an event loop of its own. Parsing is h11's."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import weakref
from collections.abc import Awaitable
from dataclasses import dataclass

import h11

from .answer import Answer, Cut, Response
from .delivery import Ended, deliver, reset
from .script import Accept


@dataclass(frozen=True)
class Incoming:
    """A request on its way in: its head, and where it came from."""

    connection: int
    place: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]


class Handler:
    """What a server serves."""

    def accepted(self) -> Accept | None:
        """A fault for the connection that was just accepted."""
        return None

    def plan(self, incoming: Incoming) -> Answer:
        """Called with the head: what shall be answered, and whether the body is to be read."""
        return Answer()

    async def respond(self, incoming: Incoming, body: bytes, answer: Answer) -> Response:
        raise NotImplementedError


class Server:
    """Listens from `start` to `stop`; both may be called again, on the same port."""

    def __init__(self, handler: Handler, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._handler = handler
        self._host = host
        self.port = port
        self.tls: ssl.SSLContext | None = None
        self._connections = 0
        self.defects: list[Exception] = []
        """What went wrong in the handlers themselves; a client only sees its connection end."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()
        self._listener: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="provider", daemon=True)
        self._thread.start()

    def start(self) -> None:
        self._run(self._start())

    def stop(self) -> None:
        """Stops listening and cuts every connection: from now on connecting is refused."""
        self._run(self._stop())

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)  # type: ignore[arg-type]

    async def _start(self) -> None:
        self._listener = await asyncio.start_server(
            self._serve, self._host, self.port, ssl=self.tls, reuse_address=True, backlog=1024
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._listener is not None:
            for listening in self._listener.sockets:
                self._loop.remove_reader(listening.fileno())
            # Who was accepted a moment ago is served some turns of the loop later; a listener closed by then loses it.
            for _ in range(10):
                await asyncio.sleep(0)
            self._listener.close()
            self._listener = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # A TLS connection that we closed waits for the client's farewell, which an idle client never sends.
        for transport in self._transports:
            transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._transports.add(writer.transport)
        task.add_done_callback(self._tasks.discard)
        number = self._connections
        self._connections += 1
        try:
            match self._handler.accepted():
                case Accept.CLOSE:
                    return
                case Accept.RESET:
                    return reset(writer)
                case Accept.STALL:
                    await asyncio.get_running_loop().create_future()
                case None:
                    await self._converse(_Conversation(reader, writer), number)
        except (Ended, ConnectionError, h11.RemoteProtocolError, ssl.SSLError, asyncio.CancelledError):
            # The client's and the script's ways to end a connection; the journal has what came before.
            pass
        except Exception as defect:
            self.defects.append(defect)
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    async def _converse(self, conversation: _Conversation, number: int) -> None:
        place = 0
        while (head := await conversation.head()) is not None:
            incoming = Incoming(number, place, *head)
            answer = self._handler.plan(incoming)
            body = b"" if answer.cut is Cut.BEFORE_READING else await conversation.body()
            response = await self._handler.respond(incoming, body, answer)
            if not await self._deliver(conversation, incoming, answer, response) or not conversation.next_request():
                return
            place += 1

    async def _deliver(
        self, conversation: _Conversation, incoming: Incoming, answer: Answer, response: Response
    ) -> bool:
        """Delivers for as long as the client stays: nobody waits for a gate or drips to a client that has gone."""
        delivery = asyncio.ensure_future(
            deliver(conversation.writer, answer, response, head_only=incoming.method == "HEAD")
        )
        gone = asyncio.ensure_future(conversation.client_gone())
        try:
            await asyncio.wait({delivery, gone}, return_when=asyncio.FIRST_COMPLETED)
            return await delivery if delivery.done() else False
        finally:
            for one in (delivery, gone):
                one.cancel()
            await asyncio.gather(delivery, gone, return_exceptions=True)


class _Conversation:
    """One connection's requests, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self._reader = reader
        self._parser = h11.Connection(h11.SERVER)
        self._early = b""

    async def head(self) -> tuple[str, str, tuple[tuple[str, str], ...]] | None:
        event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items())
        return event.method.decode(), event.target.decode("latin-1"), headers

    async def body(self) -> bytes:
        if self._parser.they_are_waiting_for_100_continue:
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts = []
        while isinstance(event := await self._event(), h11.Data):
            parts.append(bytes(event.data))
        return b"".join(parts)

    def next_request(self) -> bool:
        """The answer went out by hand, so the parser starts anew. False: the client wants no more."""
        if self._parser.their_state is not h11.DONE:
            return False
        early = self._parser.trailing_data[0] + self._early
        self._parser = h11.Connection(h11.SERVER)
        self._early = b""
        # An empty piece would mean the end of the connection.
        if early:
            self._parser.receive_data(early)
        return True

    async def client_gone(self) -> None:
        """Returns when the client's side of the connection ended; what it sent early is kept."""
        while data := await self._reader.read(4096):
            self._early += data

    async def _event(self) -> object:
        while (event := self._parser.next_event()) is h11.NEED_DATA:
            self._parser.receive_data(await self._reader.read(65536))
        return event
