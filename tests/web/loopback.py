"""A small web server on loopback that notes what it is asked."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(kw_only=True)
class Loopback:
    """Server that answers as told by path; other paths get 200."""

    url: str = ""
    port: int = 0
    redirects: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.path in self.redirects:
            return web.Response(status=307, headers={"Location": self.redirects[request.path]})
        if request.path in self.answers:
            return await self.answers[request.path](request)
        return web.Response(text="here")


@asynccontextmanager
async def serve_loopback(tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    place = Loopback()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", place.answer)
    async with serve_app_on_loopback(app, tls) as url:
        place.url, place.port = url, int(url.rpartition(":")[2])
        yield place


@asynccontextmanager
async def serve_app_on_loopback(
    app: web.Application, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def self_signed(folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a server that signed its own certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1))
    certificate = made.not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    file.write_bytes(secret + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
