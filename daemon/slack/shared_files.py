"""Files that people shared, fetched with the bot's token: the Files port.

The token goes to https://files.slack.com and to where SLACK_API_URL is, to nobody else: no redirect is
followed. What is read is bounded in size and time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from slack_sdk.errors import SlackApiError

from daemon.errors import FileTemporarilyUnavailable, FileUnavailable
from daemon.kinds import SharedFile
from daemon.slack.access import SlackAccess
from daemon.slack.message import parse_shared_file
from daemon.slack.refusals import (
    FIX,
    LIMITED,
    MISSING_SCOPE,
    OUT_OF_REACH,
    UNWELL,
    describe_failure,
    slack_error,
)
from daemon.slack.web import LONGEST_WAIT, TIMEOUT, WebApi, retry_pause, seconds_of

MEGABYTE = 1_000_000
MOST = 50 * MEGABYTE
"""The largest file that is fetched, in bytes."""
PATIENCE = 120.0
"""Seconds for all of it: asking where it is, waiting for a rate limit, every try."""
TRIES = 3
CHUNK = 64 * 1024
ADDRESS = re.compile(r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:/[^\s\\]*)?")
"""A plain address. One with a name and password in it, or anything else that is odd, is none."""
PORTS = {"http": 80, "https": 443}
SLACK_FILES = ("https", "files.slack.com", 443)
HTML = ("text/html", "application/xhtml+xml")
HTML_BEGINS = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
CHECK = "check_file_info"
"""Slack's word for a file of another company's, of which files.info alone tells."""

DELETED = "It was deleted from Slack."
DENIED = (
    "Slack does not let this app have it. Invite the app to the conversation where the file was shared; "
    "in a channel that is shared with another company, that company may forbid it."
)
GONE = "It was deleted, or this app is not in the conversation where it was shared: then invite it."
PAGE = (
    "It is a page that lives in Slack (a post, a canvas or a list), and no file: copy its text into a "
    "message, or share it as a file."
)
NO_MODE: Mapping[str, str] = {
    "external": "It is kept by another service, to which Slack has only a link: upload the file itself.",
    "tombstone": DELETED,
    "hidden_by_limit": "Slack hides it, since the workspace has reached the limit of its plan.",
    "post": PAGE,
    "space": PAGE,
    "quip": PAGE,
    "canvas": PAGE,
    "list": PAGE,
}
"""What Slack keeps so cannot be had, and why."""
NO_ACCESS: Mapping[str, str] = {"access_denied": DENIED, "file_not_found": DELETED}
NO_WORD: Mapping[str, str] = {
    "access_denied": DENIED,
    "file_not_found": GONE,
    "file_deleted": DELETED,
}
"""Slack's words in the answer of files.info."""
NO_SCOPE = f"The Slack app lacks the scope files:read, without which it can read no file. {FIX}"
SIGN_IN = (
    "Slack asks to sign in where the file should be: most likely the app lacks the scope files:read, or was "
    f"not installed again since it was added. {FIX}"
)
NO_ADDRESS = "Slack does not say where its content is."
ELSEWHERE = "Slack does not keep its content, and the app's token goes nowhere else: upload the file itself."
LATER = "Try again in a moment."


class _RetryLater(FileTemporarilyUnavailable):
    """It may come when it is asked for again, after so many seconds."""

    def __init__(self, said: str, after: int = 0) -> None:
        super().__init__(f"{said} {LATER}")
        self.after = after


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackFileSource:
    """Fetches files of one workspace: at most `most` bytes each, within `patience` seconds of real time."""

    web: WebApi
    access: SlackAccess
    most: int = MOST
    patience: float = PATIENCE

    async def fetch(self, file: SharedFile) -> bytes:
        """The content of this file. Raises FileRefused, or FileAway where it may be had later."""
        try:
            async with asyncio.timeout(self.patience):
                return await self._download(await self._found(file))
        except TimeoutError:
            raise FileTemporarilyUnavailable(
                f"It did not come within {self.patience:g} seconds. {LATER}"
            ) from None

    async def _found(self, file: SharedFile) -> SharedFile:
        """The same file with an address that the token may be sent to; Slack is asked where it has none."""
        self._check(file)
        if file.id and (file.access == CHECK or not self._trusts(file.url)):
            file = await self._described(file.id)
            self._check(file)
        if not file.url or file.access == CHECK:
            raise FileUnavailable(NO_ADDRESS)
        if not self._trusts(file.url):
            raise FileUnavailable(ELSEWHERE)
        return file

    def _check(self, file: SharedFile) -> None:
        """Raise FileRefused for what is known to be of no use to ask for."""
        refusal = NO_MODE.get(file.mode) or NO_ACCESS.get(file.access)
        if refusal:
            raise FileUnavailable(refusal)
        if file.size is not None and file.size > self.most:
            raise self._too_large(file.size)

    def _trusts(self, url: str) -> bool:
        """May the token be sent there?"""
        return url_origin(url) in (SLACK_FILES, url_origin(self.access.base_url))

    async def _described(self, id: str) -> SharedFile:
        """The file as Slack describes it now."""
        try:
            answer = await self.web.call_readonly(self.web.client.files_info, file=id)
        except SlackApiError as refusal:
            word = slack_error(refusal)
            if word == MISSING_SCOPE:
                raise FileUnavailable(NO_SCOPE) from refusal
            if word == LIMITED or word in UNWELL:
                raise FileTemporarilyUnavailable(
                    f"Slack does not say where it is now ({describe_failure(refusal)}). {LATER}"
                ) from refusal
            raise FileUnavailable(NO_WORD.get(word, f"Slack does not show it ({word}).")) from refusal
        except OUT_OF_REACH as failure:
            raise FileTemporarilyUnavailable(
                f"Slack cannot be reached ({describe_failure(failure)}). {LATER}"
            ) from failure
        found = answer.get("file")
        if not isinstance(found, Mapping):
            raise FileUnavailable(NO_ADDRESS)
        return parse_shared_file(found)

    async def _download(self, file: SharedFile) -> bytes:
        """Its content, after a few tries at the most."""
        patience = LONGEST_WAIT
        attempt = 1
        while True:
            await self.web.clock.sleep(retry_pause(attempt))
            try:
                return await self._request(file)
            except _RetryLater as failure:
                patience -= failure.after
                if attempt == TRIES or patience < 0:
                    raise
                await self.web.clock.sleep(failure.after)
            attempt += 1

    async def _request(self, file: SharedFile) -> bytes:
        """One request. Nothing that it raises holds on to an error of the client's, which knows the token."""
        try:
            async with self._session(file.url) as session:
                get = session.get(file.url, allow_redirects=False, proxy=self.web.client.proxy)
                async with get as response:
                    _check_status(response)
                    return await self._content(file, response)
        except OUT_OF_REACH as failure:
            broken = _RetryLater(f"The connection to Slack broke ({describe_failure(failure)}).")
        raise broken

    def _session(self, url: str) -> ClientSession:
        """What may be shown to that address, and for how long it may be silent."""
        headers: dict[str, str] = {}
        if url_origin(url) == url_origin(self.access.base_url):
            headers.update(self.access.headers)
        headers["Authorization"] = f"Bearer {self.access.bot_token}"
        headers["Accept-Encoding"] = "identity"
        silence = ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)
        return ClientSession(headers=headers, timeout=silence, cookie_jar=DummyCookieJar())

    async def _content(self, file: SharedFile, response: ClientResponse) -> bytes:
        """What was sent, if it is the file."""
        expected = response.content_length
        if expected is not None and expected > self.most:
            raise self._too_large(expected)
        content = bytearray()
        async for chunk in response.content.iter_chunked(CHUNK):
            content += chunk
            if len(content) > self.most:
                raise self._too_large(None)
        if _is_page(response, content) and not _is_html(file, content):
            raise FileUnavailable(SIGN_IN)
        return bytes(content)

    def _too_large(self, size: int | None) -> FileUnavailable:
        most = f"{self.most / MEGABYTE:.3g} MB"
        has = f"It has more than {most}"
        if size is not None:
            has = f"It has {size / MEGABYTE:.0f} MB"
        return FileUnavailable(
            f"{has}, and files of more than {most} are not read: share the part that matters."
        )


def url_origin(url: str) -> tuple[str, str, int] | None:
    """Where this address leads: scheme, host and port. None where it is no plain address."""
    found = ADDRESS.fullmatch(url)
    if found is None:
        return None
    scheme, host, port = found.groups()
    return scheme, host.lower(), int(port or PORTS[scheme])


def _check_status(response: ClientResponse) -> None:
    """Raise what an answer means that is not the file."""
    status = response.status
    if status == HTTPStatus.OK:
        return
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise FileUnavailable(SIGN_IN)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise FileUnavailable(f"{DENIED} It needs the scope files:read, too. {FIX}")
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise FileUnavailable(GONE)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise _limited(response.headers.get("Retry-After", "1"))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise _RetryLater(f"Slack's own machines failed ({status}).")
    raise FileUnavailable(f"Slack answered with the status {status}, which is no file.")


def _limited(after: str) -> FileTemporarilyUnavailable:
    """Slack takes no more requests for a while; for a long one it is not waited."""
    said = "Slack takes no more requests from this app for now."
    seconds = seconds_of(after, LONGEST_WAIT)
    if seconds:
        return _RetryLater(said, seconds)
    return FileTemporarilyUnavailable(f"{said} Try again in some minutes.")


def _is_page(response: ClientResponse, content: bytearray) -> bool:
    """Is it HTML, as it says, or looks like where it says nothing?"""
    if "Content-Type" in response.headers:
        return response.content_type in HTML
    return HTML_BEGINS.match(content) is not None


def _is_html(file: SharedFile, content: bytearray) -> bool:
    """Is this page of HTML the file itself? The sign-in page has another size."""
    return file.mimetype in HTML and file.size == len(content)
