"""A thread as a tree of causes, for its owner's terminal.

What the soul thought stands in it, too: it is for nobody but the owner.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from daemon.console.group_names import group_dm_title
from daemon.engine.event import Entry, Event, in_seq_order, of_kind
from daemon.engine.keys import root_of
from daemon.engine.kinds import ThreadSpawned
from daemon.engine.reading import JournalReader
from daemon.kinds import CardShown, ClaimMade, ConversationOpened, ModelCall, PersonMessage, SpeechFinished
from daemon.slack.text import MENTION

LINK = re.compile(r"/archives/([A-Z0-9]+)/p([0-9]+)([0-9]{6})$")
PLACE = re.compile(r"([A-Z0-9]+):([0-9]+\.[0-9]+)$")
LATEST = 10
"""How many threads are named to who asks for one that is not there."""
LISTED = 40
"""How many are listed to who asks for none."""
DEEPEST = 12
"""Levels that are indented: an outage goes on for many."""


def find_thread(reading: JournalReader, asked: str) -> Entry[ConversationOpened]:
    """The `thread` entry of what is meant: an id or its beginning, a link of Slack's, or `C…:ts`.

    Raises LookupError, which names the latest threads.
    """
    threads = reading.entries_of_kind(ConversationOpened)
    place = _asked_place(asked)
    found = _threads_with_message(reading, threads, *place) if place else _thread_by_prefix(threads, asked)
    if len(found) == 1:
        return found[0]
    lines = [f"No thread is {printable_text(asked)}."]
    if found:
        lines = [f"{len(found)} threads begin with {printable_text(asked)}:"]
    elif not threads:
        lines.append("The journal holds none yet.")
    lines.extend(map(_line_maker(reading), (found or threads)[-LATEST:]))
    raise LookupError("\n".join(lines))


def _thread_by_prefix(
    threads: Sequence[Entry[ConversationOpened]], asked: str
) -> list[Entry[ConversationOpened]]:
    """The one that has this id, or those whose ids begin like it."""
    found = []
    for one in threads:
        if one.thread == asked:
            return [one]
        if asked and one.thread.startswith(asked):
            found.append(one)
    return found


def _threads_with_message(
    reading: JournalReader, threads: Sequence[Entry[ConversationOpened]], channel: str, ts: str
) -> list[Entry[ConversationOpened]]:
    """Those with this message; what was noticed in a channel only where no thread has it."""
    found = [one for one in threads if _holds_message(reading, one, channel, ts)]
    return [one for one in found if one.event.ts] or found


def list_threads(reading: JournalReader, *, everything: bool = False) -> Iterator[str]:
    """The threads that can be asked for, a line each, the latest last; the latest few, or all."""
    opened = reading.entries_of_kind(ConversationOpened)
    if not opened:
        yield "The journal holds no thread yet."
    line = _line_maker(reading)
    more = len(opened) - LISTED
    if everything or more <= 0:
        yield from map(line, opened)
        return
    yield from map(line, opened[more:])
    yield f"{more} more: --full"


def trace_lines(reading: JournalReader, opened: Entry[ConversationOpened], width: float) -> Iterator[str]:
    """Yield the lines of a thread's tree, with its branches, none longer than `width`.

    What causes something stands above it.
    """
    entries = in_seq_order(_entries(reading, opened.thread))
    names = _names(reading)
    costs = [call.event.cost for call in of_kind(ModelCall, entries) if not call.event.taken_from]
    counted = _several(len(entries), "entry", "entries")
    called = _several(len(costs), "call", "calls")
    yield f"{_line_maker(reading)(opened)}, {counted}, {called}, ${sum(costs):.4f}"
    for depth, entry in _tree(
        [entry for entry in entries if not isinstance(entry.event, ConversationOpened)]
    ):
        indent = "  " * min(depth, DEEPEST)
        said = printable_text(_with_names(entry_in_words(entry), names))
        line = f"{entry.seq:>7}  {_time(entry)}  {indent}{entry.kind}  {said}".rstrip()
        if len(line) > width:
            line = f"{line[: int(width) - 1]}…"
        yield line


def _entries(reading: JournalReader, thread: str) -> Iterator[Entry[Event]]:
    """Those of a thread, and of the branches under it."""
    entries: list[Entry[Event]] = reading.thread_entries(thread)
    yield from entries
    for branch in of_kind(ThreadSpawned, entries):
        yield from _entries(reading, branch.event.thread)


def _several(count: int, one: str, more: str) -> str:
    """`1 call`, `2 calls`"""
    return f"1 {one}" if count == 1 else f"{count} {more}"


def entry_in_words(entry: Entry[Event]) -> str:
    """What an entry says, in a line."""
    if isinstance(entry.event, ClaimMade):
        return entry.key
    return entry.event.line()


def _names(reading: JournalReader) -> Mapping[str, str]:
    """What people are called who have said something, by their ids."""
    names: dict[str, str] = {}
    for *_, fields in reading.fields_of_kind([PersonMessage], ["$.user", "$.name"]):
        user, name = json.loads(fields)
        if name:
            names[user] = name
    return names


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """A text that mentions people by their names, where these are known."""

    def named(mention: re.Match[str]) -> str:
        user = mention[1]
        if user not in names:
            return mention[0]
        return f"@{names[user]}"

    return MENTION.sub(named, text)


def _tree(entries: Sequence[Entry[Any]]) -> Iterator[tuple[int, Entry[Any]]]:
    """Each entry with its depth, directly below its cause; what the thread itself caused stands leftmost."""
    caused: dict[int, list[Entry[Any]]] = {}
    leftmost: list[Entry[Any]] = []
    for entry in entries:
        caused[entry.seq] = []
    for entry in entries:
        if entry.cause in caused:
            caused[entry.cause].append(entry)
        else:
            leftmost.append(entry)
    depths: dict[int | None, int] = {}
    waiting = leftmost[::-1]
    while waiting:
        entry = waiting.pop()
        depths[entry.seq] = depths.get(entry.cause, -1) + 1
        yield depths[entry.seq], entry
        waiting += reversed(caused[entry.seq])


def _asked_place(asked: str) -> tuple[str, str] | None:
    """The channel and the ts that are meant; of a link to a reply, those of its root."""
    found = PLACE.match(asked)
    if found:
        return found[1], found[2]
    link = urlsplit(asked)
    found = LINK.search(link.path)
    if not found:
        return None
    channel, seconds, fraction = found.groups()
    roots = parse_qs(link.query).get("thread_ts", [f"{seconds}.{fraction}"])
    return channel, roots[0]


def _holds_message(reading: JournalReader, opened: Entry[ConversationOpened], channel: str, ts: str) -> bool:
    """Is the message of this ts in this thread, or its root?"""
    if opened.event.channel != channel:
        return False
    if opened.event.ts == ts:
        return True
    messages: list[Entry[Any]] = reading.thread_entries(
        opened.thread, PersonMessage, SpeechFinished, CardShown
    )
    return ts in [message.event.ts for message in messages]


def _line_maker(reading: JournalReader) -> Callable[[Entry[ConversationOpened]], str]:
    """Return the function that makes a thread's line in a list.

    It names a group DM by the people who spoke in it, who are looked up here once for all threads.
    """
    groups = {
        one.thread: one.event.channel
        for one in reading.entries_of_kind(ConversationOpened)
        if one.event.where == "group"
    }
    spoke: dict[str, dict[str, str]] = {channel: {} for channel in groups.values()}
    if groups:
        for _, thread, *_, fields in reading.fields_of_kind([PersonMessage], ["$.user", "$.name", "$.bot"]):
            user, name, bot = json.loads(fields)
            if root_of(thread) in groups and name and not bot:
                spoke[groups[root_of(thread)]][user] = name
    return partial(_line, spoke)


def _line(spoke: Mapping[str, Mapping[str, str]], opened: Entry[ConversationOpened]) -> str:
    event = opened.event
    where = printable_text(event.place or event.channel)
    if event.where == "group":
        where = printable_text(group_dm_title(spoke.get(event.channel, {}).values()))
    elif event.audience == "private":
        where = f"{where} (private)"
    return f"{opened.thread}  {event.channel}:{event.ts}  {where}, since {_time(opened)} UTC"


def _time(entry: Entry[Any]) -> str:
    return f"{datetime.fromtimestamp(entry.at, UTC):%m-%d %H:%M:%S}"


def printable_text(text: str) -> str:
    """The text on one line, and nothing in it that a terminal would obey."""
    characters = [c if c.isprintable() else " " for c in text]
    return " ".join("".join(characters).split())
