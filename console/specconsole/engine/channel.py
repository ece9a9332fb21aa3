"""HTTP over the host's link: httpcore's network on `Host.connect`, so that no local port is ever opened.

Python offers TLS on its own sockets only (before 3.11); here it runs over any stream, through `ssl`'s memory buffers.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from specconsole.host.base import Endpoint, Host
from specconsole.stream import within

READ_SIZE = 65536


class PortClosed(httpcore.ConnectError):
    """Nothing listens there."""


class HostStream(httpcore.AsyncNetworkStream):
    """A byte stream to a server on the host."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there; b"" is the end."""
        try:
            return await within(timeout, self._reader.read(max_bytes))
        except asyncio.TimeoutError:
            raise httpcore.ReadTimeout from None
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        try:
            self._writer.write(buffer)
            await within(timeout, self._writer.drain())
        except asyncio.TimeoutError:
            raise httpcore.WriteTimeout from None
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Close; what the other side thinks of it does not matter any more."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Speak TLS from here on."""
        stream = TlsStream(self, ssl_context, server_hostname)
        try:
            await within(timeout, stream.handshake())
        except ssl.SSLError as error:
            await self.aclose()
            raise httpcore.ConnectError(f"It speaks no TLS ({error.reason or error}).") from error
        except BaseException:
            self._writer.close()
            raise
        return stream

    def get_extra_info(self, info: str) -> Any:
        """Tell the pool whether an idle connection was closed by the server."""
        return self._reader.at_eof() if info == "is_readable" else None


class TlsStream(httpcore.AsyncNetworkStream):
    """TLS over another stream."""

    def __init__(self, inner: HostStream, context: ssl.SSLContext, server_hostname: str | None) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_hostname)

    async def handshake(self) -> None:
        """Agree on keys; raises ssl.SSLError when the other side speaks no TLS."""
        while True:
            try:
                self._tls.do_handshake()
                return await self._flush()
            except ssl.SSLWantReadError:  # noqa: PERF203  the protocol of memory buffers
                await self._exchange()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there; b"" is the end, also when it came without TLS's own farewell."""
        while True:
            try:
                return self._tls.read(max_bytes)
            except ssl.SSLWantReadError:  # noqa: PERF203  the protocol of memory buffers
                await self._exchange(timeout)
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""
            except ssl.SSLError as error:
                raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        self._tls.write(buffer)
        await self._flush(timeout)

    async def aclose(self) -> None:
        """Close the stream below."""
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        """As the stream below."""
        return self._tls if info == "ssl_object" else self._inner.get_extra_info(info)

    async def _exchange(self, timeout: float | None = None) -> None:
        await self._flush(timeout)
        if data := await self._inner.read(READ_SIZE, timeout):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self, timeout: float | None = None) -> None:
        if data := self._outgoing.read():
            await self._inner.write(data, timeout)


class HostBackend(httpcore.AsyncNetworkBackend):
    """Leads every connection to one endpoint on the host, whatever the URL says."""

    def __init__(self, host: Host, endpoint: Endpoint) -> None:
        self._host = host
        self._endpoint = endpoint

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002  the URL's name means nothing here
        port: int,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002  each request has a deadline as a whole
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Open a stream over the link; raises PortClosed where nothing listens, LinkLost as it is."""
        try:
            return HostStream(*await self._host.connect(self._endpoint))
        except OSError as error:
            raise PortClosed(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        """Only connection retries would use it, and there are none."""
        await asyncio.sleep(seconds)


def pool(host: Host, endpoint: Endpoint) -> httpcore.AsyncConnectionPool:
    """One kept connection to a server on the host, and room for a second one."""
    return httpcore.AsyncConnectionPool(
        ssl_context=unverified(), max_connections=2, network_backend=HostBackend(host, endpoint)
    )


def unverified() -> ssl.SSLContext:
    """TLS without a check of the certificate.

    The stream ends on the host itself, which SSH has proven; a server there mostly has a certificate for its public
    name, or a self-signed one, so that a check against 127.0.0.1 could only fail. What uses this says so.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
