"""World outside a worker: Slack as an append-only file, inputs of people, a scripted model."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from daemon import kinds
from daemon.engine.event import digest
from daemon.engine.execution import Hold
from daemon.engine.journal.journal import Journal
from daemon.errors import ContentRefused, PostFailed
from daemon.memory import WorkingMemory
from daemon.model import Hear, ModelReply, Role
from daemon.ports import ButtonRow, EarlierMessage, EarlierMessages, MessagePage, PostedMessage, Speaker
from daemon.prompts.elements import SECTION_NAMES, SectionTags
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint, exclude_commits
from tests.crashes.scenario import ScenarioInput

T0 = 1_790_000_000.0
CHUNK = 12
PAGE = 200
"""Characters of a message."""
NO_MARKDOWN, NO_REWRITING, NO_FORM = "a wide table", "a fixed message", "a forbidden word"
"""Texts that Slack refuses: as Markdown, as an edit, in any form."""
ON_ITS_WAY = 10
"""Passes of the loop until Slack replies."""
LOST = "lost.jsonl"
"""Threads with pending inputs that a run left to another."""
LEARN = "L?"
"""Prompt of a background task, which yields to speakers."""
SUFFIXED = re.compile(rf"<(?P<tag>/?(?:{'|'.join(SECTION_NAMES)}))-(?P<suffix>\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreInput(ScenarioInput):
    """Event in Slack in a phase, or during the n-th model call."""

    ts: str
    text: str
    thread: str = "dm"
    root: str = ""
    """Ts of the root in a DM with many conversations."""
    user: str = "U1"
    during: int = 0
    heard: bool = False
    address: str = "dm"
    stops: bool = False
    edits: str = ""
    """Ts of the edited message."""
    answers: str = ""
    """Name of the button's question."""


class PhaseClock:
    def __init__(self, phase: int) -> None:
        self._now = T0 + 600.0 * phase
        self._asleep: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def steady(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asleep.append((self._now + seconds, woken))
        await woken

    def not_before(self, now: float) -> None:
        self._now = max(self._now, now)

    async def go_on(self, seconds: float) -> None:
        self._now += seconds
        for end, woken in self._asleep:
            if end <= self._now and not woken.done():
                woken.set_result(None)
        self._asleep = [one for one in self._asleep if not one[1].done()]
        await asyncio.sleep(0)


class FileSlack(Speaker):
    """Implements ports.Speaker on a file that outlives the daemon."""

    def __init__(self, home: Path) -> None:
        self._path = home / "slack.jsonl"
        self._answer: asyncio.Future[None] | None = None
        """Read that concurrent readers share."""

    async def _do(self, hold: Hold, ts: str | None, **op: Any) -> str:
        await asyncio.sleep(0)
        with exclude_commits(self._path.parent):
            await hold()
            ts = ts or f"0.{len(read_lines(self._path)) + 1:06d}"  # older than later messages of people
            append_line(self._path, {"ts": ts, **op})
        KillPoint.reach()
        return ts

    def pages(
        self, text: str, cuts: Sequence[int] = (), ended: Sequence[MessagePage] = ()
    ) -> Sequence[MessagePage]:
        ends = [cut for cut in cuts if 0 < cut < len(text)]
        ends += [*range((ends[-1] if ends else 0) + PAGE, len(text), PAGE), len(text)]
        starts = [0, *ends]
        return [MessagePage(text=text[start:end], upto=end) for start, end in zip(starts, ends, strict=False)]

    def page_end(self, text: str, since: int) -> int:
        return len(text)

    def status(self, thread: str, text: str, hold: Hold) -> None: ...

    async def start(self, thread: str, text: str, key: str, hold: Hold) -> str:
        return await self._do(hold, None, thread=thread, text=text)

    async def extend(self, thread: str, ts: str, text: str, hold: Hold) -> None:
        shown = next(message["text"] for message in self.messages() if message["ts"] == ts)
        await self._do(hold, ts, more=text.removeprefix(shown) if text.startswith(shown) else text)

    async def finish(
        self,
        thread: str,
        ts: str | None,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        buttons = "".join(f" [{choice.label}]" for choice in choices.choices) if choices else ""
        _judge(text, plain=plain, again=ts is not None)
        if ts in self._gone():
            return str(ts)
        return await self._do(hold, ts, thread=thread, text=text + buttons, key="" if ts else digest(key))

    async def leave_message(self, thread: str, ts: str, end: str, key: str, hold: Hold) -> str:
        shown = next(message["text"] for message in self.messages() if message["ts"] == ts)
        if not shown.endswith(end):  # else its stream has ended
            await self._do(hold, ts, more=end)
        return ""

    async def replace(
        self,
        thread: str,
        ts: str,
        text: str,
        key: str,
        hold: Hold,
        choices: ButtonRow | None = None,
        answers: Sequence[str] = (),
        *,
        plain: bool = False,
    ) -> str:
        _judge(text, plain=plain)
        mark = digest(f"{key} instead: {text}")
        known = [message["ts"] for message in self.messages() if message["key"] == mark]
        new = known[0] if known else await self._do(hold, None, thread=thread, text=text, key=mark)
        await self.retract(thread, ts, key, hold)
        return str(new)

    async def retract(self, thread: str, ts: str, key: str, hold: Hold) -> None:
        await self._do(hold, ts, thread=thread, text="", gone=True)

    def _gone(self) -> set[str]:
        return {str(op["ts"]) for op in read_lines(self._path) if op.get("gone")}

    def report_left_out(self, thread: str, word: str) -> None: ...

    async def show_card(
        self, thread: str, ts: str | None, plan: kinds.PlanState, key: str, hold: Hold
    ) -> str:
        return await self._do(hold, ts, thread=thread, text=f"[{plan.line()}]", key=digest(key))

    async def whisper(self, thread: str, person: str, text: str, hold: Hold) -> None:
        await hold()

    async def open_dm(self, person: str, hold: Hold) -> str:
        raise PostFailed("nobody has a door here")

    async def name(self, person: str) -> str:
        return ""

    async def own_messages(self, thread: str, since: float) -> Sequence[PostedMessage]:
        if self._answer is None or self._answer.done():
            self._answer = asyncio.ensure_future(_on_its_way())
        await asyncio.shield(self._answer)
        mine = [m for m in self.messages() if m["thread"] == thread]
        return [PostedMessage(ts=m["ts"], text=m["text"], key=m["key"]) for m in mine]

    def messages(self) -> list[dict[str, Any]]:
        """Return visible messages; one written by two daemons shows both texts."""
        seen: dict[str, dict[str, Any]] = {}
        for op in read_lines(self._path):
            message = seen.setdefault(op["ts"], {"ts": op["ts"], "thread": "", "text": "", "key": ""})
            message["text"] = message["text"] + op["more"] if "more" in op else op["text"]
            message |= {name: op[name] for name in ("thread", "key") if name in op}
        gone = self._gone()
        return [message for ts, message in seen.items() if ts not in gone]


def _judge(text: str, *, plain: bool, again: bool = False) -> None:
    if NO_FORM in text or (NO_MARKDOWN in text and not plain) or (NO_REWRITING in text and again):
        raise ContentRefused("invalid_blocks")


async def _on_its_way() -> None:
    for _ in range(ON_ITS_WAY):
        await asyncio.sleep(0)


Script = Callable[[str, int], ModelReply]
"""Reply by prompt since the last answer, and number of earlier calls."""


def echo(last: str, _calls: int) -> ModelReply:
    """Repeat messages since the last answer."""
    words = ", ".join(re.findall(r'<message from="[^"]*"[^>]*>\n(.*?)\n</message>', last))
    note = "after a break: " if "<note>" in last else ""
    return said(f"You said: {note}{words}", mood="engaged")


def hearing(seen: str, _calls: int) -> ModelReply:
    """Say all messages in order."""
    words = re.findall(r'<message from="[^"]*"[^>]*>\n(.*?)\n</message>', seen)
    return said(f"Heard: {', '.join(words)}", mood="engaged")


def as_edited(seen: str, _calls: int) -> ModelReply:
    """Say plain and edited messages in order."""
    words = re.findall(r'<message from="[^"]*"(?: note="edited")?>\n(.*?)\n</message>', seen)
    return said(f"Read: {', '.join(words)}", mood="engaged")


def since_spoken(messages: Sequence[Sequence[str]]) -> str:
    last = itertools.takewhile(lambda message: message[0] == "user", reversed(messages))
    return "\n".join(text for _, text in reversed(list(last)))


def said(text: str, mood: str = "neutral") -> ModelReply:
    raw = f"<aside>They want something.</aside><say>{text}</say><mood>{mood}</mood>"
    return ModelReply(outcome="ok", model="echo", text=raw, stop_reason="end_turn")


@dataclass(kw_only=True)
class FileModel:
    """Implements ports.LLM; a file logs calls, so that repeated payment shows."""

    home: Path
    journal: Journal
    script: Script
    inputs: Sequence[CoreInput]
    deliver: Callable[[Sequence[CoreInput]], Awaitable[bool]]
    """Deliver inputs; True if no other worker had."""
    price: float
    clock: PhaseClock
    pace: float
    thinks_for: float = 0.0
    sees_all: bool = False

    def request(
        self,
        memory: WorkingMemory,
        role: Role | str,
        schema: Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        stop_sequences: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        messages = [[m.role, m.content] for m in (*memory.system, *memory.conversation)]
        return {"model": "echo", "messages": messages, "trailing": memory.trailing}

    def bounded_request(
        self,
        request: Mapping[str, Any],
        max_tokens: int | None,
        stop_sequences: Sequence[str],
        *,
        likeliest: bool = False,
    ) -> Mapping[str, Any]:
        return request

    def highest_cost(self, request: Mapping[str, Any], size: int) -> float:
        return self.price

    def window(self, role: Role | str) -> int:
        return 1_000_000

    def excess_tokens(self, request: Mapping[str, Any], size: int, *, refused: bool = False) -> int:
        return 0

    def _answer(self, seen: str, trailing: str, calls: int) -> ModelReply:
        found = SUFFIXED.search(trailing)
        if found is None:
            return self.script(seen, calls)
        reply = self.script(SUFFIXED.sub(r"<\g<tag>>", seen), calls)
        return replace(reply, text=SectionTags(suffix=found["suffix"]).marked(reply.text))

    async def call(
        self, request: Mapping[str, Any], hear: Hear | None, hold: Hold, stop: asyncio.Event
    ) -> ModelReply:
        await hold()
        if stop.is_set():
            return ModelReply(outcome="cancelled", model="echo")
        saw = digest(request)
        paid = [
            entry.key
            for entry in self.journal.entries_of_kind(kinds.ModelCall)
            if entry.event.saw == saw and entry.event.outcome != "failed"
        ]
        assert not paid, f"a recorded call is paid again: {paid}"
        calls = len(read_lines(self.home / "llm.jsonl"))
        append_line(self.home / "llm.jsonl", {"saw": saw, **request})
        meanwhile = [event for event in self.inputs if event.during == calls + 1]
        came = await self.deliver(meanwhile)
        yields = LEARN in since_spoken(request["messages"])
        ends = any(yields or event.stops or event.edits for event in meanwhile)
        for _ in range(ON_ITS_WAY if ends else 0):  # the queue forwards what ends an unneeded call
            await asyncio.sleep(0)
        if came and ends and not stop.is_set():
            await hold()  # raises if another daemon answered meanwhile
            raise SystemExit("a call goes on after somebody ended it")
        if stop.is_set():
            KillPoint.reach()
            return ModelReply(outcome="cancelled", model="echo", text="<say>I was about", cost=self.price)
        seen = since_spoken(request["messages"])
        if self.sees_all:
            seen = "\n".join(text for role, text in request["messages"] if role != "system")
        trailing = str(request["trailing"])
        is_tick = "<context " in trailing
        reply = self._answer(trailing if is_tick else seen or trailing, trailing, calls)
        for _ in range(int(self.thinks_for)):
            await self.clock.go_on(1.0)
        for start in range(0, len(reply.text) if hear else 0, CHUNK):
            assert hear is not None
            await self.clock.go_on(self.pace)
            await hear(reply.text[start : start + CHUNK])
        KillPoint.reach()
        return replace(reply, cost=self.price)


class FileEarlier:
    """Implements ports.Surroundings: two messages after some refusals."""

    def __init__(self, home: Path, refusals: int = 0) -> None:
        self._path = home / "earlier.jsonl"
        self._refusals = refusals

    async def earlier_messages(self, thread: str) -> EarlierMessages | None:
        await asyncio.sleep(0)
        KillPoint.reach()
        append_line(self._path, thread)
        if len(read_lines(self._path)) <= self._refusals:
            return None
        return EarlierMessages(heard=[_before(1), _before(2)])


def _before(number: int) -> EarlierMessage:
    ts = f"0.00{number}"
    event = kinds.OverheardMessage(user="U2", name="Bob", text=f"before {number}", ts=ts)
    return EarlierMessage(key=f"heard:T:dm:{ts}", author="U2", event=event)


class NothingEarlier:
    """Implements ports.Surroundings without messages."""

    async def earlier_messages(self, thread: str) -> EarlierMessages:
        return EarlierMessages()
