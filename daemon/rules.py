"""What must be true of a soul's journal beside the engine's rules: of texts, conversations and speech."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daemon.engine.event import Entry, digest
from daemon.engine.journal_rules import JournalRule, KindFilter, ReplayState, concerns_every_kind
from daemon.engine.keys import execution_of, root_of
from daemon.engine.reading import JournalReader
from daemon.engine.verify import VerifyResult
from daemon.engine.verify import verify as replay
from daemon.kinds import (
    INNER,
    CardShown,
    ConversationOpened,
    ModelCall,
    PromptChunk,
    PromptSet,
    PromptVersion,
    SoulTurnBegan,
    SpeechFinished,
    SpeechPosted,
    prompt_chunk_key,
)

Findings = Iterator[tuple[int, str]]
CARD = 0
"""Stands for the speech where a message is a card: that one may change."""


def verify_journal(reading: JournalReader) -> VerifyResult:
    """Look at the whole journal of a soul. Raises JournalError where it cannot be read."""
    return replay(reading, SoulRules().all)


class SoulRules:
    """The rules, with what they know of the entries so far."""

    def __init__(self) -> None:
        self._texts = set[str]()
        self._sets = dict[str, Mapping[str, str]]({"": {}})
        self._in_use = dict[str, Mapping[str, str]]()
        """Execution to the texts that it began with."""
        self._places = dict[str, tuple[str, str]]()
        """Thread to its team and channel."""
        self._claimed = dict[tuple[object, str], int | None]()
        """A message in Slack, by its place and ts, and the speech that it is."""
        self._stamps = dict[int | None, str]()
        """A speech, and the ts of its message."""

    @property
    def all(self) -> tuple[JournalRule, ...]:
        """In the order in which they are asked."""
        return (
            JournalRule(
                "texts", self.texts, KindFilter((PromptVersion, PromptSet, SoulTurnBegan, ModelCall))
            ),
            JournalRule("stretch", self.stretch, KindFilter((PromptChunk, ModelCall))),
            JournalRule("thread", self.thread, concerns_every_kind),
            JournalRule("brought", self.brought, lambda event: event.brings),
            JournalRule("stamp", self.stamp, KindFilter((CardShown, SpeechPosted, SpeechFinished))),
        )

    def texts(self, _: ReplayState, entry: Entry[Any]) -> Findings:
        """The owner's texts that were used are in the journal, as they were."""
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

    def _text(self, entry: Entry[PromptVersion]) -> Findings:
        sha = hashlib.sha256(entry.event.text.encode()).hexdigest()
        if entry.key != f"text:{sha}":
            yield entry.seq, f"its key is {entry.key}, but its text gives {sha}"
        self._texts.add(entry.key.removeprefix("text:"))

    def _set(self, entry: Entry[PromptSet]) -> Findings:
        texts = entry.event.texts
        self._sets[entry.key.removeprefix("texts:")] = texts
        if entry.key != f"texts:{digest(texts)}":
            yield entry.seq, f"its key is {entry.key}, but its texts give {digest(texts)}"

    def _begun(self, entry: Entry[SoulTurnBegan]) -> Findings:
        """The set of texts that it begins with is there."""
        texts = entry.event.texts
        if texts not in self._sets:
            yield entry.seq, f"the texts {texts} are not there"
        self._in_use.setdefault(entry.event.execution, self._sets.get(texts, {}))

    def _worded(self, entry: Entry[ModelCall]) -> Findings:
        """What was read of the owner's is of those texts that its turn began with."""
        there = self._in_use.get(execution_of(entry.key))
        for name in entry.event.wording:
            if there is not None and name not in there:
                yield entry.seq, f"its turn did not begin with the text {name}"

    def _missing(self, entry: Entry[Any], used: Iterable[str]) -> Findings:
        for sha in used:
            if sha not in self._texts:
                yield entry.seq, f"the text {sha} is not there"

    def stretch(self, ledger: ReplayState, entry: Entry[Any]) -> Findings:
        """A stretch of a conversation has the key of what it names; what a call begins with are such."""
        match entry.event:
            case PromptChunk(seqs=seqs):
                key = prompt_chunk_key(entry.thread, seqs)
                if entry.key != key:
                    yield entry.seq, f"its key is {entry.key}, but what it names gives {key}"
            case ModelCall(stretches=named):
                for seq in named:
                    if not issubclass(ledger.event_class_of(seq), PromptChunk):
                        yield entry.seq, f"it begins with {seq}, which is no stretch of a conversation"

    def thread(self, _: ReplayState, entry: Entry[Any]) -> Findings:
        """A conversation is opened by one entry, before all else that is said in it."""
        root = root_of(entry.thread)
        known = root in self._places or root == INNER
        if isinstance(entry.event, ConversationOpened):
            if known:
                yield entry.seq, f"it opens {entry.thread}, which is open"
            self._places[entry.thread] = entry.event.team, entry.event.channel
        elif entry.thread.startswith("sess-") and not known:
            yield entry.seq, f"{entry.thread} was never opened"

    def brought(self, ledger: ReplayState, entry: Entry[Any]) -> Findings:
        """What was said elsewhere is brought into a conversation only within one channel, or one DM."""
        here = self._places.get(root_of(entry.thread))
        for _, seq in ledger.kinds.referenced_seqs(entry.event):
            there = ledger.thread_of(seq)
            if there and self._places.get(root_of(there)) != here:
                yield entry.seq, f"it brings {seq} here, which was said in another channel"

    def stamp(self, _: ReplayState, entry: Entry[Any]) -> Findings:
        """A message in Slack is claimed by one speech, and a speech is one message; or it is a card."""
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
