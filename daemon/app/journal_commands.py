"""CLI commands on a journal: trace of a thread, verification by the soul's rules, backup, table of kinds.

A trace shows private thoughts, so it is for the owner only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from daemon.console.group_dm_names import group_dm_title
from daemon.engine.event import Entry, Event, StepEvent, digest, execution_of, in_seq_order, of_kind, root_of
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.copy_mark import unmark_copy
from daemon.engine.journal.journal_file import open_readonly
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.engine.journal.verify import (
    JournalRule,
    KindFilter,
    ReplayState,
    VerifyResult,
    concerns_every_kind,
    verify,
)
from daemon.engine.kinds import ThreadSpawned, with_engine_kinds
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    CardShown,
    ClaimMade,
    ConversationOpened,
    ModelCall,
    PersonMessage,
    PromptChunk,
    PromptSet,
    PromptVersion,
    SoulTurnBegan,
    SpeechFinished,
    SpeechPosted,
    prompt_chunk_key,
)
from daemon.slack.block_text import MENTION


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a new private file that is renamed to `path` when complete.

    Raises JournalError if `path` exists or cannot be written.
    """
    part = path.parent / f"{path.name}.part"
    _check_free(path, part)
    try:
        part.touch(stat.S_IRUSR | stat.S_IWUSR, exist_ok=False)
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            _check_free(path)  # checked again, since a rename overwrites
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise JournalError(f"{path} cannot be written ({error.strerror}).") from error


def _check_free(*paths: Path) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise JournalError(f"{path} exists already. Name another file, or remove it.")


LINK = re.compile(r"/archives/([A-Z0-9]+)/p([0-9]+)([0-9]{6})$")


PLACE = re.compile(r"([A-Z0-9]+):([0-9]+\.[0-9]+)$")


LATEST = 10
"""Most threads named in an error if none matches."""


LISTED = 40
"""Most threads in a list by default."""


DEEPEST = 12
"""Deepest indentation of a trace, in levels: an outage makes long chains of causes."""


def find_thread(reading: JournalReader, asked: str) -> Entry[ConversationOpened]:
    """Find a thread by its id, the beginning of its id, a Slack link, or `C…:ts`.

    Raises LookupError that lists the latest threads.
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
    """Return the threads that have this message; a thread of overheard messages only if no other has it."""
    found = [one for one in threads if _holds_message(reading, one, channel, ts)]
    return [one for one in found if one.event.ts] or found


def list_threads(reading: JournalReader, *, everything: bool = False) -> Iterator[str]:
    """Yield a line for each thread, the latest last."""
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
    """Yield the entries of a thread and its branches as a tree by cause, in lines of at most `width`."""
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
    entries: list[Entry[Event]] = reading.thread_entries(thread)
    yield from entries
    for branch in of_kind(ThreadSpawned, entries):
        yield from _entries(reading, branch.event.thread)


def _several(count: int, one: str, more: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {more}"


def entry_in_words(entry: Entry[Event]) -> str:
    if isinstance(entry.event, ClaimMade):
        return entry.key
    return entry.event.line()


def _names(reading: JournalReader) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for *_, texts in reading.fields_of_kind([PersonMessage], ["$.user", "$.name"]):
        user, name = json.loads(texts)
        if name:
            names[user] = name
    return names


def _with_names(text: str, names: Mapping[str, str]) -> str:
    def named(mention: re.Match[str]) -> str:
        user = mention[1]
        if user not in names:
            return mention[0]
        return f"@{names[user]}"

    return MENTION.sub(named, text)


def _tree(entries: Sequence[Entry[Any]]) -> Iterator[tuple[int, Entry[Any]]]:
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
    if opened.event.channel != channel:
        return False
    if opened.event.ts == ts:
        return True
    messages: list[Entry[Any]] = reading.thread_entries(
        opened.thread, PersonMessage, SpeechFinished, CardShown
    )
    return ts in [message.event.ts for message in messages]


def _line_maker(reading: JournalReader) -> Callable[[Entry[ConversationOpened]], str]:
    """Look up all names once; return a function that formats a thread as a line."""
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
    """Return the text as one line, with spaces for control characters."""
    characters = [c if c.isprintable() else " " for c in text]
    return " ".join("".join(characters).split())


Violations = Iterator[tuple[int, str]]


CARD = 0
"""Mark of a card, which may change, in place of a speech."""


def verify_journal(reading: JournalReader) -> VerifyResult:
    """Verify a soul's journal. Raises JournalError if the journal is unreadable."""
    return verify(reading, SoulRules().all)


class SoulRules:
    """Rules of a soul's journal, with their state from the entries read so far."""

    def __init__(self) -> None:
        self._texts = set[str]()
        self._sets = dict[str, Mapping[str, str]]({"": {}})
        self._in_use = dict[str, Mapping[str, str]]()
        """Texts in use, by execution."""
        self._places = dict[str, tuple[str, str]]()
        """Team and channel, by thread."""
        self._claimed = dict[tuple[object, str], int | None]()
        """Seq of a message's speech, or CARD, by place and ts."""
        self._stamps = dict[int | None, str]()
        """Ts of the message, by seq of the speech."""

    @property
    def all(self) -> tuple[JournalRule, ...]:
        return (
            JournalRule(
                "texts", self.texts, KindFilter((PromptVersion, PromptSet, SoulTurnBegan, ModelCall))
            ),
            JournalRule("stretch", self.stretch, KindFilter((PromptChunk, ModelCall))),
            JournalRule("thread", self.thread, concerns_every_kind),
            JournalRule("brought", self.brought, lambda event: event.brings),
            JournalRule("stamp", self.stamp, KindFilter((CardShown, SpeechPosted, SpeechFinished))),
        )

    def texts(self, _: ReplayState, entry: Entry[Any]) -> Violations:
        """Yield a violation if a text in use is missing or was changed."""
        match entry.event:
            case PromptVersion():
                yield from self._text(entry)
            case PromptSet(texts=texts):
                yield from self._set(entry)
                yield from self._missing(entry, texts.values())
            case SoulTurnBegan():
                yield from self._begun(entry)
            case ModelCall(texts=used):
                yield from self._missing(entry, used)
                yield from self._worded(entry)

    def _text(self, entry: Entry[PromptVersion]) -> Violations:
        sha = hashlib.sha256(entry.event.text.encode()).hexdigest()
        if entry.key != f"text:{sha}":
            yield entry.seq, f"its key is {entry.key}, but its text gives {sha}"
        self._texts.add(entry.key.removeprefix("text:"))

    def _set(self, entry: Entry[PromptSet]) -> Violations:
        texts = entry.event.texts
        self._sets[entry.key.removeprefix("texts:")] = texts
        if entry.key != f"texts:{digest(texts)}":
            yield entry.seq, f"its key is {entry.key}, but its texts give {digest(texts)}"

    def _begun(self, entry: Entry[SoulTurnBegan]) -> Violations:
        texts = entry.event.texts
        if texts not in self._sets:
            yield entry.seq, f"the texts {texts} are not there"
        self._in_use.setdefault(entry.event.execution, self._sets.get(texts, {}))

    def _worded(self, entry: Entry[ModelCall]) -> Violations:
        """Yield a violation if a call used a text that its turn did not begin with."""
        there = self._in_use.get(execution_of(entry.key))
        for name in entry.event.wording:
            if there is not None and name not in there:
                yield entry.seq, f"its turn did not begin with the text {name}"

    def _missing(self, entry: Entry[Any], used: Iterable[str]) -> Violations:
        for sha in used:
            if sha not in self._texts:
                yield entry.seq, f"the text {sha} is not there"

    def stretch(self, ledger: ReplayState, entry: Entry[Any]) -> Violations:
        """Yield a violation for a prompt chunk with a wrong key, or a call that begins with another kind of
        entry.
        """
        match entry.event:
            case PromptChunk(seqs=seqs):
                key = prompt_chunk_key(entry.thread, seqs)
                if entry.key != key:
                    yield entry.seq, f"its key is {entry.key}, but what it names gives {key}"
            case ModelCall(stretches=named):
                for seq in named:
                    if not issubclass(ledger.event_class_of(seq), PromptChunk):
                        yield entry.seq, f"it begins with {seq}, which is no stretch of a conversation"

    def thread(self, _: ReplayState, entry: Entry[Any]) -> Violations:
        """Yield a violation if an entry opens a thread again, or a thread was never opened."""
        root = root_of(entry.thread)
        known = root in self._places or root == INNER
        if isinstance(entry.event, ConversationOpened):
            if known:
                yield entry.seq, f"it opens {entry.thread}, which is open"
            self._places[entry.thread] = entry.event.team, entry.event.channel
        elif entry.thread.startswith("sess-") and not known:
            yield entry.seq, f"{entry.thread} was never opened"

    def brought(self, ledger: ReplayState, entry: Entry[Any]) -> Violations:
        """Yield a violation if an entry uses a message from another channel or DM."""
        here = self._places.get(root_of(entry.thread))
        for _, seq in ledger.kinds.referenced_seqs(entry.event):
            there = ledger.thread_of(seq)
            if there and self._places.get(root_of(there)) != here:
                yield entry.seq, f"it brings {seq} here, which was said in another channel"

    def stamp(self, _: ReplayState, entry: Entry[Any]) -> Violations:
        """Yield a violation if two speeches claim one message, or a speech and a card."""
        event, speech = entry.event, entry.cause
        if isinstance(event, CardShown):
            message = self._places.get(entry.thread, entry.thread), event.ts
            if self._claimed.setdefault(message, CARD) != CARD:
                yield entry.seq, f"the card {event.ts} is claimed by a speech, too"
        if not isinstance(event, SpeechPosted | SpeechFinished) or event.taken_from:
            return
        message = self._places.get(entry.thread, entry.thread), event.ts
        claimer = self._claimed.get(message, speech)
        if claimer != speech:
            yield entry.seq, f"the message {event.ts} is claimed by the speech {claimer}, too"
        ts = self._stamps.get(speech, event.ts)
        is_replaced = isinstance(event, SpeechFinished) and event.replaces == ts
        if ts != event.ts and not is_replaced:
            yield entry.seq, f"its speech, {speech}, is the message {ts}, and not {event.ts}"
        self._claimed[message], self._stamps[speech] = speech, event.ts


KINDS_HEAD = "| kind | what it is | fields | pending until |\n|---|---|---|---|\n"


def kinds_table() -> str:
    """Return a Markdown table of all kinds."""
    return KINDS_HEAD + "".join(map(_kinds_row, with_engine_kinds(SOUL_KINDS)))


def _kinds_row(kind: type[Event]) -> str:
    said = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    closed = ""
    if kind.pending:
        closed = ", ".join(f"`{name}`" for name in sorted(kind.closed_by))
    return f"| `{kind.kind}` | {said} | {', '.join(_fields(kind))} | {closed} |\n"


def _fields(kind: type[Event]) -> Iterator[str]:
    engines = {field.name for field in fields(StepEvent)}
    for field in fields(kind):
        if field.name not in engines:
            yield field.name


def backup_journal(journal: Path, out: Path) -> str:
    """Copy the journal to a new private file and verify the copy; return a summary.

    Raises JournalError for a failure or a violation; then no file is left.
    """
    open_readonly(journal).close()  # reports a file that is no journal first
    with write_atomically(out) as copy:
        _copy_journal(journal, copy)
        _make_own(copy)
        return f"{out}: {_check_copy(copy)}"


def _copy_journal(journal: Path, out: Path) -> None:
    """Copy one state of a journal that is in use, by the statement `vacuum into`."""
    store = sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        store.execute("vacuum into ?", (str(out),))
    except sqlite3.Error as error:
        raise JournalError(f"{journal} could not be copied to {out} ({error}).") from error
    finally:
        store.close()


def _make_own(file: Path) -> None:
    """Make a copy of a log a journal of its own."""
    with closing(sqlite3.connect(file, isolation_level=None)) as store:
        unmark_copy(store)


def _check_copy(copy: Path) -> VerifyResult:
    with open_reader(copy, SOUL_KINDS) as copied:
        verdict = verify_journal(copied)
    if verdict.violations:
        raise JournalError(
            f"The copy breaks rules of the journal, as the journal itself may: {verdict.violations[0]}."
            " Run `python -m daemon verify`; a copy of the files of a stopped daemon keeps all that there is."
        )
    return verdict
