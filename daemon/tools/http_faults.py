"""Faults of a server that is reached over HTTP, as sentences without secrets.

A fault says whether the request may have been carried out, and what the owner can do. Texts of the server and
of exceptions are left out: they may hold tokens, or orders to a model.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import httpx2

from daemon.web.address_policy import AddressRefused, parse_address


class FaultCode(IntEnum):
    """Codes of faults in JSON-RPC errors that no server sent; those of the protocol are negative."""

    NOT_DONE = 7_001
    UNCLEAR = 7_002
    NEEDS_CONSENT = 7_003


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFault:
    """A failed request: its code and a sentence for people and models."""

    code: FaultCode
    sentence: str


class RequestFault(Exception):
    """A request that failed before or after it was sent, with its fault."""

    recorded_name = "RequestFault"

    def __init__(self, fault: HttpFault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


class ResponseCutOff(httpx2.StreamError):
    """A response that was not read to its end; the text is a sentence for people."""

    recorded_name = "ResponseCutOff"


RETRY_SECONDS = re.compile(r"[0-9]{1,5}")

CERTIFICATE_FAULTS = {
    10: "has expired",
    18: "is signed by itself",
    19: "is signed by an unknown authority",
    20: "is signed by an unknown authority",
    62: "is for another host",
    64: "is for another address",
}
"""Faults by OpenSSL's verify code."""

SENT = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.WriteError, httpx2.WriteTimeout, httpx2.ProtocolError)
"""Errors after which the request may have arrived."""


def not_done(sentence: str) -> HttpFault:
    return HttpFault(code=FaultCode.NOT_DONE, sentence=sentence)


def unclear(sentence: str) -> HttpFault:
    return HttpFault(code=FaultCode.UNCLEAR, sentence=sentence)


def needs_consent(server: str, why: str) -> HttpFault:
    sentence = f"{server} needs consent ({why}): run `python -m daemon connect {server}`."
    return HttpFault(code=FaultCode.NEEDS_CONSENT, sentence=sentence)


def fault_of_status(server: str, response: httpx2.Response) -> HttpFault | None:
    """Return the fault of a response; None for a success and for errors that belong to the protocol."""
    status = response.status_code
    if response.is_redirect:
        return _fault_of_redirect(server, response)
    if status == 401:
        return not_done(
            f"{server} does not accept its credentials (401): mend `headers` or `oauth` in mcp.json."
        )
    if status == 403:
        return not_done(
            f"{server} forbids this (403): its credentials lack a right; give it, or use other credentials."
        )
    if status == 407:
        return not_done(f"A proxy before {server} asks for credentials (407): write them into HTTPS_PROXY.")
    if status == 429:
        return not_done(f"{server} takes no more requests for now (429): {_retry_hint(response)}.")
    if status >= 500:
        return unclear(f"{server} failed with an error of its own ({status}): try again later.")
    return None


def _retry_hint(response: httpx2.Response) -> str:
    seconds = response.headers.get("retry-after", "")
    if RETRY_SECONDS.fullmatch(seconds):
        return f"try again in {int(seconds)} seconds"
    return "try again later"


def _fault_of_redirect(server: str, response: httpx2.Response) -> HttpFault | None:
    """Return the fault of a redirect to another origin, or of one that would drop the message."""
    origin = parse_address(str(response.request.url)).origin
    try:
        to = parse_address(str(response.request.url.join(response.headers["location"]))).origin
    except (AddressRefused, httpx2.InvalidURL):
        return not_done(f"{server} redirects to an address that cannot be used: mend `url` in mcp.json.")
    if to != origin:
        return not_done(
            f"{server} redirects to {to}, and nothing was sent there: "
            "if the server has moved, write its new address as `url` into mcp.json."
        )
    if response.status_code in (307, 308) or response.request.method == "GET":
        return None
    return not_done(f"{server} redirects ({response.status_code}): write its final address into mcp.json.")


def fault_of_error(server: str, host: str, error: BaseException) -> HttpFault:
    """Return the fault of an exception of the HTTP client."""
    if isinstance(error, RequestFault):
        return error.fault
    if isinstance(error, AddressRefused):
        return not_done(f"{server} leads to an address that is not allowed: {error}.")
    if isinstance(error, ResponseCutOff):
        return unclear(str(error))
    refused = _certificate_fault(error)
    if refused:
        return not_done(
            f"The certificate of {host} {refused}: {server} is not used until the certificate is mended."
        )
    if any(isinstance(one, ssl.SSLError) for one in _causes(error)):
        return not_done(f"No secure connection to {host} comes about (TLS): check `url` of {server}.")
    if isinstance(error, SENT):
        return unclear(f"The connection to {server} broke before its answer was complete: try again later.")
    if isinstance(error, httpx2.TimeoutException):
        return not_done(f"{server} cannot be reached: {host} does not answer in time.")
    return not_done(f"{server} cannot be reached at {host}: check that it runs, its `url` and the network.")


def _certificate_fault(error: BaseException) -> str:
    for one in _causes(error):
        if isinstance(one, ssl.SSLCertVerificationError):
            return CERTIFICATE_FAULTS.get(one.verify_code, "is not valid")
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
