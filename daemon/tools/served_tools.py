"""Tools that the soul offers as an MCP server: questions to it, and a search of what everyone may know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from string import Template
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from daemon.engine.event import Entry, storable_text
from daemon.kinds import IncomingMessage, ServedCallBegan, ServedOutcome
from daemon.knowledge.search import FoundMessage, MessageSearch
from daemon.prompts.elements import clean_name_text
from daemon.tools.served_calls import ServedCallLog
from daemon.tools.served_conversations import ServedConversations
from daemon.tools.served_speaker import Report

MOST_QUESTION_CHARACTERS = 50_000
USUAL_SECONDS = 300
MOST_SECONDS = 3_600
MOST_LINE_CHARACTERS = 600
"""Most characters of each message that a search shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedWords:
    """The owner's texts for clients, by name."""

    texts: Mapping[str, str]

    def sentence(self, name: str, **values: object) -> str:
        """Return a text with its placeholders filled; the name, if there is none."""
        return Template(self.texts.get(name, name)).safe_substitute(values)


class ServedCallRefused(Exception):
    """A call that cannot be answered; the text is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedText:
    """The result of a call, with the conversation that it is of."""

    text: str
    thread: str = ""
    outcome: ServedOutcome = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCall:
    """A recorded call, its checked arguments, and what to do if the client cancels it.

    `report` shows the client a line about the work.
    """

    entry: Entry[ServedCallBegan]
    arguments: Any
    report: Report
    cancels: list[Callable[[], Awaitable[None]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """A tool; its description is a text of the owner's. `run` may raise ServedCallRefused."""

    name: str
    arguments: type[BaseModel]
    run: Callable[[ServedCall], Awaitable[ServedText]]
    reads: bool = True


class ServedArguments(BaseModel):
    """Arguments of a tool. Unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", title="")


class AskArguments(ServedArguments):
    question: str = Field(
        default="",
        max_length=MOST_QUESTION_CHARACTERS,
        description="The question, with all that is needed to understand it. Leave it out to wait for the "
        "rest of an answer.",
    )
    conversation: str = Field(
        default="",
        max_length=200,
        description="The id of a conversation that goes on (sess-…). Leave it out to begin a new one.",
    )
    wait_seconds: int = Field(
        default=USUAL_SECONDS,
        ge=1,
        le=MOST_SECONDS,
        description="After so many seconds what was said so far is returned, and the soul goes on.",
    )


class SearchArguments(ServedArguments):
    query: str = Field(min_length=1, max_length=500, description="A few words that may have been said.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTools:
    """Tools of every client. They know what everyone in the workspace may know."""

    conversations: ServedConversations
    memories: MessageSearch
    team: Callable[[], str]
    calls: ServedCallLog
    words: ServedWords

    def make_tools(self) -> Sequence[ServedTool]:
        return [
            ServedTool(name="ask", arguments=AskArguments, run=self.ask, reads=False),
            ServedTool(name="search_memory", arguments=SearchArguments, run=self.search),
        ]

    async def ask(self, call: ServedCall) -> ServedText:
        given: AskArguments = call.arguments
        message = await self._message(call, given)
        call.cancels.append(partial(self.conversations.stop, message.thread))
        answer = await self.conversations.wait_for_answer(message, given.wait_seconds, call.report)
        parts = [answer.text]
        if not answer.is_whole:
            parts.append(self.words.sentence("unfinished"))
        elif not answer.text:
            parts.append(self.words.sentence("nothing said"))
        parts.append(f"[{self.words.sentence('conversation')}: {answer.thread}]")
        text = "\n\n".join(part for part in parts if part)
        return ServedText(text=text, thread=answer.thread, outcome="ok" if answer.is_whole else "unfinished")

    async def _message(self, call: ServedCall, given: AskArguments) -> Entry[IncomingMessage]:
        thread, question = given.conversation.strip(), storable_text(given.question).strip()
        if thread and not self.conversations.has(thread):
            raise ServedCallRefused(self.words.sentence("unknown conversation"))
        if not question:
            last = self.conversations.last_message(thread) if thread else None
            if last is None:
                raise ServedCallRefused(self.words.sentence("nothing asked"))
            return last
        if await self.calls.has_reached_daily_limit():
            raise ServedCallRefused(self.words.sentence("too dear", usd=f"{self.calls.limits.usd:g}"))
        if thread:
            return await self.conversations.say(thread, question)
        return await self.conversations.open(call.entry.seq, question)

    async def search(self, call: ServedCall) -> ServedText:
        given: SearchArguments = call.arguments
        found = await self.memories.search_public(storable_text(given.query), self.team())
        lines = [_found_line(said) for said in found] or [self.words.sentence("nothing found")]
        if self.memories.is_behind:
            lines.append(self.words.sentence("not all searched"))
        return ServedText(text="\n".join(lines))


def _found_line(said: FoundMessage) -> str:
    text = said.text
    if len(text) > MOST_LINE_CHARACTERS:
        text = f"{text[:MOST_LINE_CHARACTERS]}…"
    who = clean_name_text(said.name) or "the soul"
    if said.kind == "remembered":
        who = f"noted about {clean_name_text(said.name)}" if said.name else "noted"
    return f"{said.place}, {datetime.fromtimestamp(said.at, UTC):%Y-%m-%d %H:%M}, {who}: {text}"
