"""Kinds for conversations, inputs and turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

from daemon.engine.event import UNASKED, Event, Input, InputRank, Seqs, StepEvent, without_words
from daemon.engine.kinds import AnswerAwaited, AnswerReceived, Intent, ThreadOpened, TurnBegan, TurnEnded


def thread_key(team: str, channel: str, root: str) -> str:
    """Return the key of a conversation; empty without a thread."""
    return f"thread:{team}:{channel}:{root}"


def moment_of(ts: str) -> Decimal:
    """Return a ts for comparison; a float loses digits."""
    return Decimal(ts)


TOO_LATE, ANSWERED, OWN_WORDS = "not answered", "answered before", "your own words"
"""Notes: read too late, or handled or said by a soul whose journal is gone."""


REMINDER = "reminder"


CONTEXT = "context:"


def context_key(thread: str, ts: str) -> str:
    """Return the key of a message above a call: context of that thread alone."""
    return f"{CONTEXT}{thread}:{ts}"


def is_context(key: str) -> bool:
    return key.startswith(CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOpened(ThreadOpened):
    """A conversation, the first entry of its thread, keyed by `thread_key`.

    `where`: Slack's type; `place`: name in sentences; `user`: first author; `called_by`: ts of the calling
    message.
    """

    stays: ClassVar[tuple[str, ...]] = (
        *("team", "channel", "ts", "where", "place", "audience", "user", "called_by"),
    )
    team: str
    channel: str
    ts: str
    where: str
    place: str
    audience: str
    user: str
    called_by: str

    @property
    def is_whole(self) -> bool:
        return not self.ts or (self.where == "dm" and self.begins_with_call)

    @property
    def begins_with_call(self) -> bool:
        """True if the first message called the soul; earlier ones stand above it."""
        return self.ts == self.called_by

    def line(self) -> str:
        return f"{self.channel}:{self.ts}, {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChanged(Event):
    """A channel's audience from now on."""

    kind = "audience"
    stays: ClassVar[tuple[str, ...]] = ("team", "channel", "audience")
    team: str
    channel: str
    audience: str

    def line(self) -> str:
        return f"{self.channel}: {self.audience}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameTaken(Event):
    """First use of a name in a workspace; its digest is in the key."""

    kind = "name-taken"
    stays: ClassVar[tuple[str, ...]] = ("user",)
    user: str

    def line(self) -> str:
        return self.user


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """Shared file, as Slack described it; models see only its `name`.

    `size`: bytes or None; `url` needs the token; `mode`: hosted, snippet, external, tombstone, ….
    """

    name: str
    id: str = ""
    mimetype: str = ""
    filetype: str = ""
    size: int | None = None
    url: str = ""
    mode: str = ""
    access: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonMessage(Event):
    """A person's message, dated by `ts`, with shared `files`.

    `name`: as displayed; `chosen`: the name they chose, if different. `owner`: by an owner. `note`: edited,
    deleted, a reminder, or one above.
    """

    stays: ClassVar[tuple[str, ...]] = ("user", "ts", "note")
    user: str
    name: str
    text: str
    ts: str
    bot: bool = False
    files: tuple[SharedFile, ...] = ()
    note: str = ""
    chosen: str = ""
    owner: bool = False

    def line(self) -> str:
        return f"{self.name or self.user}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheardMessage(PersonMessage):
    """A message around the soul that needs no answer."""

    kind = "heard"

    @property
    def is_own(self) -> bool:
        return self.note == OWN_WORDS


MessageCommand = Literal["", "stop", "trace", "memory", "forget", "delete", "help", "unknown"]
"""Commands that a message can be; "unknown" is any other word after a `!`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage(PersonMessage, Input):
    """A message to the soul, or in a place it listens to. A `command` is outside the conversation."""

    kind = "message"
    stays: ClassVar[tuple[str, ...]] = ("address", "command")
    address: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest(PersonMessage, Input):
    """A person's stop request, `by` a word (empty), reaction, or button."""

    kind = "stop"
    stays: ClassVar[tuple[str, ...]] = ("address", "by")
    rank = InputRank.STOP
    address: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPress(PersonMessage, Input):
    """A press of a button; `text` is its label."""

    kind = "answer"
    stays: ClassVar[tuple[str, ...]] = ("answers",)
    rank = InputRank.ANSWER
    answers: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderFired(PersonMessage, Input):
    """A due reminder, set by the soul on a person's behalf."""

    kind = "timer"

    @property
    def is_reminder(self) -> bool:
        """True if shown as a reminder; older ones are not."""
        return self.note == REMINDER


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchQuestion(Input):
    """A question to people from a branch, which has no address.

    `asks`: the question's key; `choices`: label, value, style.
    """

    kind = "wish"
    stays: ClassVar[tuple[str, ...]] = ("branch", "asks", "to", "owners")
    branch: str
    text: str
    asks: str
    to: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    choices: tuple[tuple[str, str, Literal["", "primary", "danger"]], ...] = ()
    wait: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.branch}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchAnswer(Input):
    """The answer to a branch's question; empty if none came."""

    kind = "relayed"
    stays: ClassVar[tuple[str, ...]] = ("answers", "by")
    rank = InputRank.ANSWER
    answers: str
    value: str
    by: str
    text: str

    def line(self) -> str:
        return f"{self.by}: {self.text or self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask(Input):
    """A task for this process in idle time."""

    kind = "afterthought"
    stays: ClassVar[tuple[str, ...]] = ("process",)
    rank = InputRank.AFTER
    process: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.process


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCall(Input):
    """A thought of the soul to itself."""

    kind = "self-call"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalMessage(Input):
    """An internal message from an action, a branch, or another thread of the tree.

    Without `sender` it is the core's: `code` is the reason, `count` its repetitions.
    """

    kind = "inner-message"
    stays: ClassVar[tuple[str, ...]] = ("sender", "status", "code")
    sender: str = ""
    text: str
    status: str = ""
    code: str = ""
    count: int = 0

    def line(self) -> str:
        return f"{self.sender or 'the core'}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnBegan(TurnBegan):
    """The start of a turn in a process; `texts` is the digest of the owner's files.

    `apart`: parameters of a side process, which leaves the thread's own unchanged.
    """

    stays: ClassVar[tuple[str, ...]] = ("process", "texts")
    process: str = ""
    texts: str = ""
    apart: Mapping[str, Any] | None = None

    def line(self) -> str:
        return f"{self.process}, over {', '.join(map(str, self.inputs))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnEnded(TurnEnded):
    """The end of a turn; `keep` are the entries remembered. `process` None: unchanged."""

    stays: ClassVar[tuple[str, ...]] = ("process",)
    keep: Seqs = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def without_words(self) -> Self:
        """Copy without process: it cannot continue without parameters."""
        if self.params:
            return without_words(replace(self, process=""))
        return without_words(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessChanged(StepEvent):
    """A transition to another process; `now`: within this turn."""

    kind = "transition"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    params: Mapping[str, Any] = field(default_factory=dict)
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMade(Event):
    """A claim on something unique across threads."""

    kind = "claim"
    stays: ClassVar[tuple[str, ...]] = ("by",)
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(StepEvent):
    """Results of an execution that could not continue, for its successor."""

    kind = "log"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessagesFetched(StepEvent):
    """Messages from before the soul was called in; `whole`: all of them."""

    kind = "overheard"
    brings = True
    seqs: Seqs
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DmContextImported(StepEvent):
    """Messages imported from a DM's other conversations, all before `before`; unanswered ones are last."""

    kind = "carried-over"
    brings = True
    seqs: Seqs
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DmSummaryPlanned(StepEvent):
    """The messages of a DM to summarize."""

    kind = "gathered"
    brings = True
    seqs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(AnswerAwaited):
    """A question to `to`; those in `owners` only while they are owners.

    Answered by `choices`, any message (`words`), or "go on" (`resumes`). `said`: receipts.
    """

    stays: ClassVar[tuple[str, ...]] = ("to", "owners")
    text: str = ""
    to: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    words: bool = False
    resumes: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    said: Seqs = ()
    labels: tuple[str, ...] = field(default=(), metadata=UNASKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(AnswerReceived):
    """An answer by a person (empty: nobody): a choice or words.

    `text`: remembered form; `meanwhile`: entries kept since.
    """

    stays: ClassVar[tuple[str, ...]] = ("by",)
    asked: int = 0
    value: str = ""
    by: str = ""
    text: str = ""
    meanwhile: Seqs = ()
    seqs: Seqs = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.text or self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(StepEvent):
    """A limit that blocks another call.

    `resets`: usage that an approval resets; `final`: none would help.
    """

    kind = "limit"
    stays: ClassVar[tuple[str, ...]] = ("bound", "resets", "person", "consents")
    bound: str
    resets: str
    person: str = ""
    consents: str = ""
    final: bool = False

    def line(self) -> str:
        return f"{self.bound} of the {self.resets}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechBegan(StepEvent):
    """The start of a message."""

    kind = "speech"
    pending = True
    closed_by = frozenset({"spoken", "unsaid", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechPosted(StepEvent):
    """A posted message that still grows."""

    kind = "speech-started"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "speech"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechFinished(StepEvent):
    """A final message in Slack; `upto` is its end in the text.

    `refused`: Slack's error for all forms, so this stands instead. `replaces`: ts of a deleted, uneditable
    message.
    """

    kind = "spoken"
    stays: ClassVar[tuple[str, ...]] = ("ts", "refused", "replaces")
    receipt_of = "speech"
    ts: str
    text: str
    upto: int = 0
    refused: str = ""
    replaces: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechDropped(StepEvent):
    """A message that is not in Slack."""

    kind = "unsaid"
    receipt_of = "speech"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStarted(Intent):
    """An action about to change the world."""

    kind = "action"
    closed_by = frozenset({"observation", "turn-ended"})
    args: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.name} {json.dumps(self.args, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionObserved(StepEvent):
    """The result of an action."""

    kind = "observation"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    receipt_of = "action"
    name: str
    text: str

    def line(self) -> str:
        return f"{self.name}: {self.text}"


TIMER_FIRED = "timer-fired"
