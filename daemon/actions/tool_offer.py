"""Tools of MCP servers on offer: all with their arguments if they are few, else in a line each, else counted.

Whoever wrote a tool also wrote its name, description and schema: these are material, never instructions.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Protocol

from pydantic import ConfigDict, Field

from daemon.actions.action import ActionArguments, ActionContext, ActionDefinition, StrictArguments
from daemon.kinds.tool_kinds import RecordedTool
from daemon.knowledge.text_ranking import best_matches
from daemon.prompts.chooser import fence_result
from daemon.prompts.elements import truncate
from daemon.turn.turn import Turn

MOST_WITH_SCHEMAS = 20
"""Most tools that a prompt shows with their schemas."""


MOST_LINES = 100
"""Most tools that a prompt shows in a line each."""


LONGEST_WHOLE = 24_000
"""Most characters of descriptions and schemas together that a prompt shows whole."""


LONGEST_DESCRIPTION = 1_000


LONGEST_LINE = 100


MOST_SERVERS = 50
"""Most servers that a prompt counts the tools of."""


FIND_TEXT = "prompts/tools/find"
"""Description of FindTool, with the tools that there are."""


FIND_TOOL = "FindTool"


FIND_TOOL_SUMMARY = (
    "Find tools of MCP servers by words, with their arguments. It is offered by itself where a prompt cannot"
    " show all."
)
"""Description of FindTool where no tools are known."""


FOUND_TOOLS = 5
"""Most tools that a search brings."""


LONGEST_SEARCHED = 2_000
"""Most characters of a description in which a search looks for words."""


LONGEST_SCHEMA = 3_000


WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[._\-]")
"""Border of two words in a tool's name: createIssue, create_issue."""


class AnyArguments(ActionArguments):
    """Arguments that are checked when the tool is used."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTool:
    """A tool that may be offered in a turn; `make` returns its action. `asks_first`: people approve calls."""

    server: str
    tool: RecordedTool
    asks_first: bool = True
    make: Callable[[], ActionDefinition]

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def line(self) -> str:
        """The description's beginning in one line."""
        return truncate(one_line(self.tool.description), LONGEST_LINE)

    @property
    def schema_text(self) -> str:
        return json.dumps(self.tool.input_schema, ensure_ascii=False)


class ToolSource(Protocol):
    """Source of the tools of MCP servers, as of a turn's begin."""

    async def tools_of(self, turn: Turn, view: str | None = None) -> Sequence[TurnTool]:
        """Return the tools that may be offered to those who asked where the turn speaks, sorted by name.

        `view` is the conversation that a tick of the inner life sees, empty if it sees public content alone.
        """

    def resource_reader(self, turn: Turn, tools: Sequence[TurnTool]) -> Sequence[ActionDefinition]:
        """Return the action that reads what the servers of these tools linked; none without tools."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def matching_tools(tools: Sequence[TurnTool], patterns: Sequence[str]) -> Sequence[TurnTool]:
    """Return the tools that one of the patterns names: `github.*`, `github.create_issue`, `*.*`."""
    return [one for one in tools if any(fnmatchcase(one.name, pattern) for pattern in patterns)]


@dataclass(frozen=True)
class ToolOffer:
    """Tools of a turn as actions; no more of them are described than a prompt can hold."""

    turn: Turn
    tools: Sequence[TurnTool]

    @cached_property
    def shows_all(self) -> bool:
        """True if each tool is shown with its arguments."""
        if len(self.tools) > MOST_WITH_SCHEMAS:
            return False
        return sum(len(one.tool.description) + len(one.schema_text) for one in self.tools) <= LONGEST_WHOLE

    def definitions(self) -> Sequence[ActionDefinition]:
        """Return the actions; unless all are shown, FindTool comes first and shows what there is."""
        if self.shows_all:
            return [_shown(one) for one in self.tools]
        return [find_tool(self.tools, self._find_text()), *map(_unlisted, self.tools)]

    def _find_text(self) -> str:
        if len(self.tools) <= MOST_LINES:
            lines = [f"{one.name}: {one.line}" for one in self.tools]
        else:
            lines = [*_counts(self.tools)]
        return self.turn.prompt(FIND_TEXT, tools=fence_result("\n".join(lines), LONGEST_WHOLE))


def _counts(tools: Sequence[TurnTool]) -> Iterator[str]:
    counts = Counter(one.server for one in tools)
    for server, count in sorted(counts.items())[:MOST_SERVERS]:
        yield f"{server}: {count}"
    left = len(counts) - MOST_SERVERS
    if left > 0:
        yield f"… ({left})"


def _shown(one: TurnTool) -> ActionDefinition:
    made = one.make()
    described = truncate(one_line(made.description), LONGEST_DESCRIPTION)
    return replace(made, description=described, by_others=True, logs_result=False)


def _unlisted(one: TurnTool) -> ActionDefinition:
    async def perform(_run: ActionContext, _args: object) -> str:
        raise TypeError(f"{one.name} is performed by the action that it stands for")

    return ActionDefinition(
        name=one.name,
        description=one.line,
        perform=perform,
        args=AnyArguments,
        by_others=True,
        listed=False,
        logs_result=False,
        stands_for=one.make,
    )


class FindToolArguments(StrictArguments):
    model_config = ConfigDict(title=FIND_TOOL)

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=400,
            description="a few words that say what the tool is to do, in English, or a part of its name",
        ),
    ]


def find_tool(tools: Sequence[TurnTool], description: str) -> ActionDefinition:
    """Return the action that finds tools by words and shows their arguments."""

    async def perform(run: ActionContext, args: FindToolArguments) -> str:
        found = await asyncio.to_thread(search_tools, tools, args.query)
        if not found:
            return run.label("nothing found")
        return "\n\n".join(map(described_tool, found))

    return ActionDefinition(
        name=FIND_TOOL,
        description=description,
        perform=perform,
        args=FindToolArguments,
        effect=True,
        logs_result=False,
    )


def described_tool(one: TurnTool) -> str:
    """Return a tool's name, description and arguments as text."""
    described = truncate(one_line(one.tool.description), LONGEST_DESCRIPTION)
    return f"{one.name}: {described}\nargs: {truncate(one.schema_text, LONGEST_SCHEMA)}"


def search_tools(tools: Sequence[TurnTool], query: str) -> Sequence[TurnTool]:
    """Return the tools that fit best, by full text search over names and descriptions."""
    exact = [one for one in tools if one.name == query.strip()]
    if exact:
        return exact
    texts = [(f"{one.name} {_words(one.name)}", one.tool.description[:LONGEST_SEARCHED]) for one in tools]
    return [tools[place] for place in best_matches(texts, f"{query} {_words(query)}", FOUND_TOOLS)]


def _words(name: str) -> str:
    return WORD_BORDER.sub(" ", name)
