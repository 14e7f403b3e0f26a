"""Shared files and conversations of Slack as documents.

The bot's token goes only to https://files.slack.com and SLACK_API_URL, so redirects are not followed. A
document holds only what everybody who reads the result could read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from heapq import nlargest
from http import HTTPStatus

from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar
from slack_sdk.errors import SlackApiError

from daemon.documents.document import Document, DocumentError, document_of_parts
from daemon.documents.loading import read_document
from daemon.engine.clock import DAY
from daemon.engine.event import root_of
from daemon.errors import FileTemporarilyUnavailable, FileUnavailable
from daemon.kinds import ConversationOpened, PersonMessage, SharedFile
from daemon.ports import FileSource
from daemon.slack.archive import ConversationArchive, active_threads, message_if_said
from daemon.slack.incoming import SlackMessage, parse_shared_file
from daemon.slack.places import SlackWorkspace, make_permalink, slack_place
from daemon.slack.web_api import (
    FIX,
    LIMITED,
    LONGEST_WAIT,
    MISSING_SCOPE,
    OUT_OF_REACH,
    TIMEOUT,
    UNWELL,
    Item,
    SlackAccess,
    WebApi,
    describe_failure,
    retry_pause,
    seconds_of,
    slack_error,
    time_of,
)

MEGABYTE = 1_000_000
MOST = 50 * MEGABYTE

PATIENCE = 120.0
"""Most seconds per file, with waits for rate limits and retries."""

TRIES = 3
CHUNK = 64 * 1024
ADDRESS = re.compile(r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:/[^\s\\]*)?")
PORTS = {"http": 80, "https": 443}
SLACK_FILES = ("https", "files.slack.com", 443)
HTML = ("text/html", "application/xhtml+xml")
HTML_BEGINS = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)

CHECK = "check_file_info"
"""Marker of an external file that only files.info describes."""

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
"""Reasons not to fetch a file, by its mode in Slack."""

NO_ACCESS: Mapping[str, str] = {"access_denied": DENIED, "file_not_found": DELETED}

NO_WORD: Mapping[str, str] = {
    "access_denied": DENIED,
    "file_not_found": GONE,
    "file_deleted": DELETED,
}

NO_SCOPE = f"The Slack app lacks the scope files:read, without which it can read no file. {FIX}"

SIGN_IN = (
    "Slack asks to sign in where the file should be: most likely the app lacks the scope files:read, or was "
    f"not installed again since it was added. {FIX}"
)

NO_ADDRESS = "Slack does not say where its content is."
ELSEWHERE = "Slack does not keep its content, and the app's token goes nowhere else: upload the file itself."
LATER = "Try again in a moment."


class _RetryLater(FileTemporarilyUnavailable):
    """Failure that may pass in `after` seconds."""

    def __init__(self, said: str, after: int = 0) -> None:
        super().__init__(f"{said} {LATER}")
        self.after = after


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackFileSource:
    """Fetcher of files of at most `most` bytes each, within `patience` seconds of real time."""

    web: WebApi
    access: SlackAccess
    most: int = MOST
    patience: float = PATIENCE

    async def fetch(self, file: SharedFile) -> bytes:
        """Return a file's content. Raises FileUnavailable, or FileTemporarilyUnavailable."""
        try:
            async with asyncio.timeout(self.patience):
                return await self._download(await self._located(file))
        except TimeoutError:
            raise FileTemporarilyUnavailable(
                f"It did not come within {self.patience:g} seconds. {LATER}"
            ) from None

    async def _located(self, file: SharedFile) -> SharedFile:
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
        refusal = NO_MODE.get(file.mode) or NO_ACCESS.get(file.access)
        if refusal:
            raise FileUnavailable(refusal)
        if file.size is not None and file.size > self.most:
            raise self._too_large(file.size)

    def _trusts(self, url: str) -> bool:
        return url_origin(url) in (SLACK_FILES, url_origin(self.access.base_url))

    async def _described(self, id: str) -> SharedFile:
        try:
            answer = await self.web.call_readonly(self.web.client.files_info, file=id)
        except SlackApiError as refusal:
            code = slack_error(refusal)
            if code == MISSING_SCOPE:
                raise FileUnavailable(NO_SCOPE) from refusal
            if code == LIMITED or code in UNWELL:
                raise FileTemporarilyUnavailable(
                    f"Slack does not say where it is now ({describe_failure(refusal)}). {LATER}"
                ) from refusal
            raise FileUnavailable(NO_WORD.get(code, f"Slack does not show it ({code}).")) from refusal
        except OUT_OF_REACH as failure:
            raise FileTemporarilyUnavailable(
                f"Slack cannot be reached ({describe_failure(failure)}). {LATER}"
            ) from failure
        found = answer.get("file")
        if not isinstance(found, Mapping):
            raise FileUnavailable(NO_ADDRESS)
        return parse_shared_file(found)

    async def _download(self, file: SharedFile) -> bytes:
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
        """Send one request. Raised errors hold no client error, since a client error holds the token."""
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
        headers: dict[str, str] = {}
        if url_origin(url) == url_origin(self.access.base_url):
            headers.update(self.access.headers)
        headers["Authorization"] = f"Bearer {self.access.bot_token}"
        headers["Accept-Encoding"] = "identity"
        silence = ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)
        return ClientSession(headers=headers, timeout=silence, cookie_jar=DummyCookieJar())

    async def _content(self, file: SharedFile, response: ClientResponse) -> bytes:
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
    """Return scheme, host and port of an address; None if the address is not plain."""
    found = ADDRESS.fullmatch(url)
    if found is None:
        return None
    scheme, host, port = found.groups()
    return scheme, host.lower(), int(port or PORTS[scheme])


def _check_status(response: ClientResponse) -> None:
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
    said = "Slack takes no more requests from this app for now."
    seconds = seconds_of(after, LONGEST_WAIT)
    if seconds:
        return _RetryLater(said, seconds)
    return FileTemporarilyUnavailable(f"{said} Try again in some minutes.")


def _is_page(response: ClientResponse, content: bytearray) -> bool:
    if "Content-Type" in response.headers:
        return response.content_type in HTML
    return HTML_BEGINS.match(content) is not None


def _is_html(file: SharedFile, content: bytearray) -> bool:
    return file.mimetype in HTML and file.size == len(content)


MOST_FILES = 20

AT_ONCE = 2
"""Most files converted at once by all callers."""

MOST_THREADS = 200
"""Most threads of a channel whose replies are read, latest first."""

NOWHERE = "This conversation is not in Slack: there is nothing to read here."
NO_FILES = "Nobody has shared a file in this conversation yet: share one here, and ask again."
UNKNOWN_FILE = "There is no file called {name} in this conversation. There are: {known}."
TOO_MANY = "There are {count} files in this conversation; at most {most} are read: name those that matter."
AWAY = "Slack did not show it ({why}): ask again in a while."

UNKNOWN_CHANNEL = (
    "I cannot read {name} from here: I am not in it, or what is said there is not for all who read here. "
    "Ask me in that channel itself."
)

NO_MEMBER = "You are not a member of {name}: I read a channel only for those who are in it."


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSourceProvider:
    """Documents from one workspace. Methods raise DocumentError with a sentence for people."""

    workspace: SlackWorkspace
    archive: ConversationArchive
    fetcher: FileSource
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Limit of conversions at the same time: each may take a process and a gigabyte."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """Return the files with these names shared in this conversation up to `until`; all for no names."""
        wanted = self._within_reach(root_of(thread), names, until)
        if not wanted:
            raise DocumentError(NO_FILES)
        if names:
            wanted = _named(wanted, names)
        if len(wanted) > MOST_FILES:
            raise DocumentError(TOO_MANY.format(count=len(wanted), most=MOST_FILES))
        documents = [await self._read(file) for file in wanted]
        return _with_unique_names(documents)

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """Return this conversation as a document; each message is a part named by its permalink."""
        place = self._place(thread)
        with _asking_slack():
            items = await self.archive.read_replies(place.channel, place.ts, 0.0)
            return [await self._document("thread", place, items, until)]

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """Return the last `days` of a channel; without a name, of this conversation's channel."""
        place = self._place(thread)
        with _asking_slack():
            if name:
                place = await self._other_channel(thread, place, name, askers)
            items = await self._history(place, until - days * DAY)
            return [await self._document(place.place, place, items, until)]

    def _place(self, thread: str) -> ConversationOpened:
        try:
            return slack_place(self.workspace.journal, root_of(thread))
        except LookupError as nowhere:
            raise DocumentError(NOWHERE) from nowhere

    def _within_reach(self, root: str, names: Sequence[str], until: float) -> list[SharedFile]:
        """Return files shared in this conversation, oldest first.

        In a DM, missing files are searched in earlier threads.
        """
        shared = self._files_shared_in(root, until)
        if shared and all(_files_named(shared, name) for name in names):
            return shared
        for earlier in self._earlier(root):
            shared = self._files_shared_in(earlier, until) + shared
            if shared and not names:
                break
        return shared

    def _earlier(self, root: str) -> Iterator[str]:
        here = self.workspace.journal.latest_of_kind(root, ConversationOpened)
        if here is None or here.event.where != "dm":
            return
        for opened in reversed(self.workspace.journal.entries_of_kind(ConversationOpened)):
            if opened.event.channel == here.event.channel and opened.thread != root:
                yield opened.thread

    def _files_shared_in(self, root: str, until: float) -> list[SharedFile]:
        files: list[SharedFile] = []
        for entry in self.workspace.journal.thread_entries(root, PersonMessage):
            if float(entry.event.ts) <= until:
                files.extend(entry.event.files)
        return _each_once(files)

    async def _read(self, file: SharedFile) -> Document:
        try:
            data = await self.fetcher.fetch(file)
        except FileUnavailable as refused:
            raise DocumentError(f"{file.name}: {refused}") from refused
        async with self.room:
            return await read_document(file.name, data)

    async def _other_channel(
        self, thread: str, here: ConversationOpened, name: str, askers: Sequence[str]
    ) -> ConversationOpened:
        """Return a channel that all readers here may read and all `askers` are in. Raises DocumentError."""
        wanted = _plain(name)
        await self.workspace.places.update()
        channel = self.workspace.places.channel_of(thread)
        assert channel is not None
        for there in self.workspace.places.visible_channels(channel):
            if wanted not in (_plain(there.now), _plain(there.channel)):
                continue
            if there.channel != here.channel and not await self._are_members(askers, there.channel):
                raise DocumentError(NO_MEMBER.format(name=there.now))
            return replace(here, channel=there.channel, place=there.now, where="channel")
        raise DocumentError(UNKNOWN_CHANNEL.format(name=name))

    async def _are_members(self, people: Sequence[str], channel: str) -> bool:
        members = await self.archive.read_members(channel)
        return bool(people) and members.issuperset(people)

    async def _history(self, place: ConversationOpened, since: float) -> list[Item]:
        items = await self.archive.read_history(place.channel, since)
        live = active_threads(items, since)
        items = [item for item in items if time_of(item) >= since]
        for root in nlargest(MOST_THREADS, live, key=live.__getitem__):
            items += await self.archive.read_replies(place.channel, root, since)
        return items

    async def _document(
        self, name: str, place: ConversationOpened, items: Iterable[Item], until: float
    ) -> Document:
        """Return a document of the messages up to `until`, one part each, without forgotten ones."""
        unsaid = self.workspace.forgotten.forgotten_messages()
        parts: dict[str, str] = {}
        for item in sorted(items, key=time_of):
            if time_of(item) > until:
                break
            message = message_if_said(item, place.channel, place.where)
            if message is None or message.ts in unsaid:
                continue
            if not self.workspace.forgotten.covers(message.author, message.ts):
                parts[self._link(message)] = await self._line(message)
        if not parts:
            raise DocumentError(f"Nothing was said there in that time ({name}).")
        return await asyncio.to_thread(document_of_parts, name, parts.items(), kind="thread")

    async def _line(self, message: SlackMessage) -> str:
        me = self.workspace.me
        words = await self.workspace.people.describe(message)
        name = words["name"]
        if me.is_own_message(message.user, message.bot):
            name = me.name
        when = datetime.fromtimestamp(float(message.ts), UTC)
        files = "".join(f" [file: {file.name}]" for file in message.files)
        return f"{name} ({when:%Y-%m-%d %H:%M} UTC): {words['text']}{files}"

    def _link(self, message: SlackMessage) -> str:
        root = message.root
        if root == message.ts:
            root = ""
        return make_permalink(self.workspace.me.url, message.channel, message.ts, root)


@contextmanager
def _asking_slack() -> Iterator[None]:
    try:
        yield
    except (SlackApiError, *OUT_OF_REACH) as error:
        raise DocumentError(AWAY.format(why=describe_failure(error))) from error


def _plain(channel: str) -> str:
    return channel.strip().lstrip("#").casefold()


def _named(shared: Sequence[SharedFile], names: Iterable[str]) -> list[SharedFile]:
    """Return the files with these full or partial names. Raises DocumentError for an unknown name."""
    found: list[SharedFile] = []
    for name in names:
        fits = _files_named(shared, name)
        if not fits:
            known = ", ".join(dict.fromkeys(file.name for file in shared))
            raise DocumentError(UNKNOWN_FILE.format(name=name, known=known))
        found.extend(fits)
    return _each_once(found)


def _files_named(shared: Sequence[SharedFile], name: str) -> list[SharedFile]:
    wanted = name.strip().casefold()
    if not wanted:
        return []
    exact = [file for file in shared if file.name.casefold() == wanted]
    return exact or [file for file in shared if wanted in file.name.casefold()]


def _each_once(files: Iterable[SharedFile]) -> list[SharedFile]:
    known: dict[str, SharedFile] = {}
    for file in files:
        known[file.id or file.name] = file
    return list(known.values())


def _with_unique_names(documents: Sequence[Document]) -> list[Document]:
    found: dict[str, Document] = {}
    for document in documents:
        name = document.name
        number = 1
        while name in found:
            number += 1
            name = f"{document.name} ({number})"
        found[name] = replace(document, name=name)
    return list(found.values())
