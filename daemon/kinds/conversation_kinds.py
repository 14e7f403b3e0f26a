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
    """Return the key of a conversation. `root` is the ts of its first message, or empty
    for a whole channel.
    """
    return f"thread:{team}:{channel}:{root}"


def moment_of(ts: str) -> Decimal:
    """Convert a ts to a number. A float would lose digits."""
    return Decimal(ts)


TOO_LATE, ANSWERED, OWN_WORDS = "not answered", "answered before", "your own words"
"""Notes on overheard messages: read too late, or handled or written by a soul whose journal is lost."""

SERVED_PLACE = "mcp"
"""The place of a conversation with a client of the soul's own MCP server: nothing of it is in Slack."""

SERVED_CALLER = "MCP"
"""The user id of all clients of the soul's own MCP server."""

REMINDER = "reminder"
TIMER_FIRED = "timer-fired"
CONTEXT = "context:"


def context_key(thread: str, ts: str) -> str:
    """Return the key of a message that is only context of this thread."""
    return f"{CONTEXT}{thread}:{ts}"


def is_context(key: str) -> bool:
    return key.startswith(CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOpened(ThreadOpened):
    """A conversation: the first entry of its thread, under its `thread_key`.

    `place` is the channel's name in sentences; `called_by` is the ts of the message that called the soul.
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
        return self.ts == self.called_by

    def line(self) -> str:
        return f"{self.channel}:{self.ts}, {self.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChanged(Event):
    """A change of a channel's audience."""

    kind = "audience"
    stays: ClassVar[tuple[str, ...]] = ("team", "channel", "audience")
    team: str
    channel: str
    audience: str

    def line(self) -> str:
        return f"{self.channel}: {self.audience}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameTaken(Event):
    """The first use of a person's name in a workspace. The entry's key contains the name's digest."""

    kind = "name-taken"
    stays: ClassVar[tuple[str, ...]] = ("user",)
    user: str

    def line(self) -> str:
        return self.user


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A file shared in Slack. Models see only its `name`; `url` needs the bot token."""

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
    """A message that somebody wrote at `ts`.

    `name` is the displayed name; `chosen`, the one chosen by the author, if different.
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
    """A message that the soul has read but need not answer."""

    kind = "heard"

    @property
    def is_own(self) -> bool:
        return self.note == OWN_WORDS


MessageCommand = Literal["", "stop", "trace", "memory", "forget", "delete", "help", "allowed", "unknown"]
"""Commands that a message can contain. "unknown" is any other word after a `!`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage(PersonMessage, Input):
    """A message to the soul, or in a channel where it may join in."""

    kind = "message"
    stays: ClassVar[tuple[str, ...]] = ("address", "command")
    address: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequest(PersonMessage, Input):
    """A person's request to stop. `by` is "reaction" or "button"; empty if it was a message."""

    kind = "stop"
    stays: ClassVar[tuple[str, ...]] = ("address", "by")
    rank = InputRank.STOP
    address: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPress(PersonMessage, Input):
    """A press of a button; `text` is its label. `fields` are the values of a form, if one was sent."""

    kind = "answer"
    stays: ClassVar[tuple[str, ...]] = ("answers",)
    rank = InputRank.ANSWER
    answers: str
    value: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderFired(PersonMessage, Input):
    """A due reminder that the soul set for a person."""

    kind = "timer"

    @property
    def is_reminder(self) -> bool:
        return self.note == REMINDER


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchQuestion(Input):
    """A question of a branch to people, passed on to the root thread. Each choice is (label, value, button
    style).
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
    """The answer to a branch's question, empty if nobody answered."""

    kind = "relayed"
    stays: ClassVar[tuple[str, ...]] = ("answers", "by")
    rank = InputRank.ANSWER
    answers: str
    value: str
    by: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.by}: {self.text or self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask(Input):
    """A task for the mental process `process`, to be done in idle time."""

    kind = "afterthought"
    stays: ClassVar[tuple[str, ...]] = ("process",)
    rank = InputRank.AFTER
    process: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.process


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCall(Input):
    """A thought that the soul sends to itself."""

    kind = "self-call"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalMessage(Input):
    """A message from an action, a branch, or another thread of the same tree. Without `sender` it is from the
    daemon.
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
    """The start of a turn in a mental process. `apart` has the parameters of a background task."""

    stays: ClassVar[tuple[str, ...]] = ("process", "texts")
    process: str = ""
    texts: str = ""
    apart: Mapping[str, Any] | None = None

    def line(self) -> str:
        return f"{self.process}, over {', '.join(map(str, self.inputs))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulTurnEnded(TurnEnded):
    """The end of a turn. `keep` lists the entries to remember."""

    stays: ClassVar[tuple[str, ...]] = ("process",)
    keep: Seqs = ()
    process: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def without_words(self) -> Self:
        """Return a copy without texts. If this removes parameters, the process is removed, too."""
        if self.params:
            return without_words(replace(self, process=""))
        return without_words(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessChanged(StepEvent):
    """A transition to another mental process, within this turn if `now`."""

    kind = "transition"
    stays: ClassVar[tuple[str, ...]] = ("to",)
    to: str
    params: Mapping[str, Any] = field(default_factory=dict)
    now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMade(Event):
    """A claim of an execution to something that only one may do."""

    kind = "claim"
    stays: ClassVar[tuple[str, ...]] = ("by",)
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(StepEvent):
    """Results of an execution that had to restart, for its next run."""

    kind = "log"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessagesFetched(StepEvent):
    """Messages from before the soul was called. `whole`: none is missing."""

    kind = "overheard"
    brings = True
    seqs: Seqs
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DmContextImported(StepEvent):
    """Messages that a DM takes over from its other conversations, all older than the entry `before`."""

    kind = "carried-over"
    brings = True
    seqs: Seqs
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DmSummaryPlanned(StepEvent):
    """The messages of a DM that are to be summarized."""

    kind = "gathered"
    brings = True
    seqs: Seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(AnswerAwaited):
    """A question to the people in `to`, and to those in `owners` while they are owners.

    It accepts one of the `choices`, any message if `words`, or "go on" if `resumes`.
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
    """A person's answer to a question. `by` is empty if nobody answered; `text` is the
    answer as remembered, `fields` the values of its form.
    """

    stays: ClassVar[tuple[str, ...]] = ("by",)
    asked: int = 0
    value: str = ""
    by: str = ""
    text: str = ""
    meanwhile: Seqs = ()
    seqs: Seqs = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return self.text or self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(StepEvent):
    """A limit that forbids another model call.

    `resets` names the usage that an approval would reset. `final`: no approval would help.
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
    """A message that the soul is about to post."""

    kind = "speech"
    pending = True
    closed_by = frozenset({"spoken", "unsaid", "turn-ended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechPosted(StepEvent):
    """A message that is posted and still growing."""

    kind = "speech-started"
    stays: ClassVar[tuple[str, ...]] = ("ts",)
    receipt_of = "speech"
    ts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechFinished(StepEvent):
    """A message that is complete in Slack. It ends at the position `upto` of the soul's text.

    `refused` is Slack's error if this text replaces a refused one.
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
    """A message of the soul that did not get into Slack."""

    kind = "unsaid"
    receipt_of = "speech"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStarted(Intent):
    """An action that is about to change the world."""

    kind = "action"
    closed_by = frozenset({"observation", "turn-ended"})
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_tool_call(self) -> bool:
        """True for a call of an MCP server's tool; `args` then names `arguments`, `for` and `digest`."""
        return "." in self.name and self.args.keys() >= {"arguments", "for", "digest"}

    def line(self) -> str:
        return f"{self.name} {json.dumps(self.args, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionObserved(StepEvent):
    """The result of an action.

    `details` of a tool call: `links` to resources, `input` that it needs, `document` with its long result,
    `unknown` if nobody knows what came of it.
    """

    kind = "observation"
    stays: ClassVar[tuple[str, ...]] = ("name",)
    receipt_of = "action"
    name: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        return f"{self.name}: {self.text}"
