"""What reached the soul, and where: conversations, what is said in them, and what it set itself to do.

What becomes of a turn: how it begins and ends, what it waits for, and what stands in its way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

from daemon.engine.event import UNASKED, Event, Input, InputRank, Seqs, StepEvent, without_words
from daemon.engine.kinds import AnswerAwaited, AnswerReceived, Intent, ThreadOpened, TurnBegan, TurnEnded


def thread_key(team: str, channel: str, root: str) -> str:
    """The natural key of a conversation, by its first message; what is said in no thread has none."""
    return f"thread:{team}:{channel}:{root}"


def moment_of(ts: str) -> Decimal:
    """When something was said, for comparing: a ts is a string id, and a float loses its last digits."""
    return Decimal(ts)


TOO_LATE, ANSWERED, OWN_WORDS = "not answered", "answered before", "your own words"
"""Notes about what is only remembered: it was read too late; or it was answered, or said, in a life of the
soul whose journal is gone."""


REMINDER = "reminder"
"""The note of a reminder that is shown as one; before, the note was "a reminder"."""


CONTEXT = "context:"


def context_key(thread: str, ts: str) -> str:
    """The key of what stood above a call: context of that thread alone, which makes no message known."""
    return f"{CONTEXT}{thread}:{ts}"


def is_context(key: str) -> bool:
    """Is this the key of such an entry? Then it is no news: nobody said it there."""
    return key.startswith(CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOpened(ThreadOpened):
    """A conversation: the first entry of its thread, under its `thread_key`.

    `where` is what Slack calls it, `place` its name for a sentence, `audience` who can read it there,
    `user` who said the first message in it and `called_by` the ts of the message that called the soul.
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
        """Is it the soul's own from its first message on? Then Slack has nothing to show from before."""
        return not self.ts or (self.where == "dm" and self.begins_with_call)

    @property
    def begins_with_call(self) -> bool:
        """Was the soul called by the very first message of it? Then what was said before stands above it."""
        return self.ts == self.called_by

    def line(self) -> str:
        return f"{self.channel}:{self.ts}, {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChanged(Event):
    """Who can read a channel from now on."""

    kind = "audience"
    stays: ClassVar[tuple[str, ...]] = ("team", "channel", "audience")
    team: str
    channel: str
    audience: str

    def line(self) -> str:
        return f"{self.channel}: {self.audience}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameTaken(Event):
    """Somebody in a workspace is the first to be called so; the key holds a digest of the name."""

    kind = "name-taken"
    stays: ClassVar[tuple[str, ...]] = ("user",)
    user: str

    def line(self) -> str:
        return self.user


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A file that was added to what somebody said, as Slack described it then. A model sees its `name` only.

    `size` is in bytes (None: Slack did not say), `url` where its bytes are for who has the token. `mode` is
    what Slack keeps it as (hosted, snippet, external, tombstone, …); `access` is how much of it Slack shows
    (visible, check_file_info, …).
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
    """Something that somebody said: `ts` is when, as Slack dates it, and `files` is what was added to it.

    `name` is what they are shown as; where that is more than the name that they chose, this one is `chosen`.
    `owner`: they owned the soul then. `note` says what is special about it: edited, deleted, a reminder, or
    one of the notes above.
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
    """Something said around the soul that it need not answer."""

    kind = "heard"

    @property
    def is_own(self) -> bool:
        """Did the soul say it itself, as Slack shows it?"""
        return self.note == OWN_WORDS


MessageCommand = Literal["", "stop", "trace", "memory", "forget", "delete", "help", "unknown"]
"""Commands that a message can be; "unknown" is any other word after a `!`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage(PersonMessage, Input):
    """Something said to the soul, or where it listens. A `command` is no matter of the conversation."""

    kind = "message"
    stays: ClassVar[tuple[str, ...]] = ("address", "command")
    address: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest(PersonMessage, Input):
    """Somebody wants the soul to stop, `by` a word (empty), a reaction, or Slack's button."""

    kind = "stop"
    stays: ClassVar[tuple[str, ...]] = ("address", "by")
    rank = InputRank.STOP
    address: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPress(PersonMessage, Input):
    """Somebody pressed a button under a question; `text` is what it reads, `value` what it means."""

    kind = "answer"
    stays: ClassVar[tuple[str, ...]] = ("answers",)
    rank = InputRank.ANSWER
    answers: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderFired(PersonMessage, Input):
    """The time of a reminder has come, which the soul set for itself on behalf of somebody."""

    kind = "timer"

    @property
    def is_reminder(self) -> bool:
        """Is it shown as what it is? Older ones were shown as something that was said, and still are."""
        return self.note == REMINDER


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchQuestion(Input):
    """A branch, which has no address, has something to ask of people.

    `asks` is the key of its question; `choices` are its buttons (label, value, style). The other fields are
    those of a question.
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
    """What people answered to the question of a branch; all empty if nobody did, or can any more."""

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
    """Something for this process to do when nobody waits."""

    kind = "afterthought"
    stays: ClassVar[tuple[str, ...]] = ("process",)
    rank = InputRank.AFTER
    process: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.process


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCall(Input):
    """A thought that the soul addressed to itself, in its own thread: its next call goes on from there."""

    kind = "self-call"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalMessage(Input):
    """What came to a thread from within: from an action, a branch, another thread of its tree.

    Where `sender` is empty the core itself says it: `code` is what for, `count` how often in a row. `status`
    is how the branch ended that sent it.
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
    """A thread takes a turn, in this process; `texts` is the set of the owner's files as they are now, a
    digest.

    `apart` are the parameters of a process beside what the thread is about: it leaves the thread's process
    as it is.
    """

    stays: ClassVar[tuple[str, ...]] = ("process", "texts")
    process: str = ""
    texts: str = ""
    apart: Mapping[str, Any] | None = None

    def line(self) -> str:
        return f"{self.process}, over {', '.join(map(str, self.inputs))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnEnded(TurnEnded):
    """A turn is over. `keep` are the entries that the thread remembers of it, in order.

    `process` and `params` say where the thread is now; None where this turn does not say.
    """

    stays: ClassVar[tuple[str, ...]] = ("process",)
    keep: Seqs = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def without_words(self) -> Self:
        """A process whose parameters are forgotten cannot be gone on with."""
        if self.params:
            return without_words(replace(self, process=""))
        return without_words(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessChanged(StepEvent):
    """The thread goes over into another process; `now`: within this turn."""

    kind = "transition"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    params: Mapping[str, Any] = field(default_factory=dict)
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMade(Event):
    """What may happen once across threads, and the execution that got it; its key says what."""

    kind = "claim"
    stays: ClassVar[tuple[str, ...]] = ("by",)
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(StepEvent):
    """What an execution had done that could not go on, for the one that begins afresh."""

    kind = "log"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessagesFetched(StepEvent):
    """What was fetched of what was said before the soul was called in; `whole`: was that all of it?"""

    kind = "overheard"
    brings = True
    seqs: Seqs
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DmContextImported(StepEvent):
    """What was said in other conversations of a DM, and this one knows from here on: all before `before`.

    In order: what it begins with, or what the others kept since; then what waited there for an answer.
    """

    kind = "carried-over"
    brings = True
    seqs: Seqs
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DmSummaryPlanned(StepEvent):
    """What is to be summed up of a DM, in whichever of its conversations it was said."""

    kind = "gathered"
    brings = True
    seqs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(AnswerAwaited):
    """A question. `to` may answer; those in `owners` only as long as they own the soul.

    It is answered by a press of one of `choices`; with `words` by any message of theirs; with `resumes` by
    one that says no more than "go on". `said` are the receipts of its messages, `about` what it is for, and
    `labels` what the buttons of the choices read.
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
    """A question was answered by this person (empty: by nobody), with this choice or these words.

    `text` is how a choice is remembered, `meanwhile` what the thread kept since the question, `seqs` are the
    messages that were the answer, and `about` is what it was asked for.
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
    """Which bound stands in the way of another call; `resets` is what a consent begins anew.

    `final`: no consent would make room for the call.
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
    """One message is about to be said."""

    kind = "speech"
    pending = True
    closed_by = frozenset({"spoken", "unsaid", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechPosted(StepEvent):
    """The message stands in Slack, and grows."""

    kind = "speech-started"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "speech"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechFinished(StepEvent):
    """The message stands in Slack for good; `upto` is how far in the whole text it goes.

    `refused` is Slack's word where it took no form of what was to be said: then this stands there instead.
    `replaces` is the ts of a message that could not be rewritten, and is gone.
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
    """Nothing of the message stands in Slack."""

    kind = "unsaid"
    receipt_of = "speech"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStarted(Intent):
    """Something is about to be done in the world."""

    kind = "action"
    closed_by = frozenset({"observation", "turn-ended"})
    args: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.name} {json.dumps(self.args, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionObserved(StepEvent):
    """What came of it."""

    kind = "observation"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    receipt_of = "action"
    name: str
    text: str

    def line(self) -> str:
        return f"{self.name}: {self.text}"


TIMER_FIRED = "timer-fired"
