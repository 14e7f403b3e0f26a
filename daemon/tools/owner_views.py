"""Views of the page as tools of the soul's MCP server, for its owner."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from daemon.console.conversation_list import ConversationFilter
from daemon.console.entry_text import search_words
from daemon.console.journal_view import JournalPager, PageRequest
from daemon.console.overview import PageOverview
from daemon.console.routes import InnerLifePage
from daemon.console.tools_page import ToolsPage
from daemon.engine.journal.reader import ALWAYS
from daemon.tools.served_tools import (
    ServedArguments,
    ServedCall,
    ServedCallRefused,
    ServedText,
    ServedTool,
    ServedWords,
)

Json = Mapping[str, Any]

LATEST = 2**53 - 1
"""Number above each seq that every JSON reader represents exactly."""


class ViewArguments(ServedArguments):
    pass


class ThreadsArguments(ServedArguments):
    words: str = Field(default="", max_length=500, description="Words that were said there, or of its names.")
    person: str = Field(default="", max_length=50, description="The id of somebody who takes part.")
    channel: str = Field(default="", max_length=50, description="The id of the channel.")
    state: Literal["", "failed", "waits"] = Field(
        default="", description="`failed`, or `waits` for a person; empty: all."
    )
    before: int = Field(default=LATEST, ge=0, description="The `older` of the page before this one.")
    limit: int = Field(default=20, ge=1, le=100)


class TraceArguments(ServedArguments):
    thread: str = Field(
        min_length=1, max_length=300, description="sess-… or its beginning, a Slack link, or C…:ts."
    )


class PersonArguments(ServedArguments):
    id: str = Field(max_length=50, description="The id of a person; empty: notes about unknown people.")


class CostsArguments(ServedArguments):
    days: int = Field(default=30, ge=1, le=366)


class JournalArguments(ServedArguments):
    words: str = Field(min_length=1, max_length=500, description="All of these stand in each entry.")
    thread: str = Field(default="", max_length=200, description="Search this conversation alone.")
    before: int = Field(default=LATEST, ge=0, description="The `older` of the page before this one.")
    limit: int = Field(default=20, ge=1, le=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerViews:
    """Views for the owner.

    `trace` returns the text of a trace, and raises LookupError with a sentence; `health` returns JSON.
    """

    overview: PageOverview
    inner: InnerLifePage
    tools: ToolsPage
    pages: JournalPager
    trace: Callable[[str], Awaitable[str]]
    health: Callable[[], Json]
    words: ServedWords

    def make_tools(self) -> Sequence[ServedTool]:
        return [
            ServedTool(name="list_threads", arguments=ThreadsArguments, run=self.list_threads),
            ServedTool(name="trace", arguments=TraceArguments, run=self.show_trace),
            ServedTool(name="open_questions", arguments=ViewArguments, run=self.list_questions),
            ServedTool(name="people", arguments=ViewArguments, run=self.list_people),
            ServedTool(name="person", arguments=PersonArguments, run=self.show_person),
            ServedTool(name="costs", arguments=CostsArguments, run=self.show_costs),
            ServedTool(name="inner_life", arguments=ViewArguments, run=self.show_inner_life),
            ServedTool(name="tools", arguments=ViewArguments, run=self.show_tools),
            ServedTool(name="health", arguments=ViewArguments, run=self.show_health),
            ServedTool(name="search_journal", arguments=JournalArguments, run=self.search_journal),
        ]

    async def list_threads(self, call: ServedCall) -> ServedText:
        given: ThreadsArguments = call.arguments
        wanted = ConversationFilter(
            person=given.person,
            channel=given.channel,
            process="",
            state=given.state,
            words=search_words(given.words),
            before=given.before,
            limit=given.limit,
        )
        found = dict(await self.overview.threads(wanted))
        found.pop("choices", None)  # the page's own menus
        return _as_text(found)

    async def show_trace(self, call: ServedCall) -> ServedText:
        given: TraceArguments = call.arguments
        try:
            return ServedText(text=await self.trace(given.thread))
        except LookupError as unknown:
            raise ServedCallRefused(str(unknown.args[0])) from unknown

    async def list_questions(self, _: ServedCall) -> ServedText:
        return _as_text(await self.overview.questions())

    async def list_people(self, _: ServedCall) -> ServedText:
        return _as_text(await self.overview.people())

    async def show_person(self, call: ServedCall) -> ServedText:
        given: PersonArguments = call.arguments
        return _as_text(await self.overview.person(given.id))

    async def show_costs(self, call: ServedCall) -> ServedText:
        given: CostsArguments = call.arguments
        return _as_text(await self.overview.costs(given.days))

    async def show_inner_life(self, _: ServedCall) -> ServedText:
        return _as_text(await self.inner.overview_as_json())

    async def show_tools(self, _: ServedCall) -> ServedText:
        return _as_text(await self.tools.overview_as_json())

    async def show_health(self, _: ServedCall) -> ServedText:
        return _as_text(self.health())

    async def search_journal(self, call: ServedCall) -> ServedText:
        given: JournalArguments = call.arguments
        if not search_words(given.words):
            return ServedText(text=self.words.sentence("nothing found"))
        before = ALWAYS if given.before == LATEST else given.before
        asked = PageRequest(root=given.thread, words=given.words, before=before, limit=given.limit)
        page = await self.pages.page(asked)
        return ServedText(
            text=f'{{"older": {json.dumps(page.older)}, "entries": [{", ".join(page.entries)}]}}'
        )


def _as_text(shown: Json) -> ServedText:
    return ServedText(text=json.dumps(shown, ensure_ascii=False))
