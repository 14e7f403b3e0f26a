"""Sizes of prompts with tools of MCP servers, by their number; writes `tool_prompts.md`.

A rehearsed soul whose journal lists so many tools is spoken to, and the requests that it sends are measured.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

from benchmarks.conversation import Line
from benchmarks.rehearsed_soul import Backend, RehearsedSoul, rehearsed_soul
from daemon.settings.mcp_servers import ToolServerSettings
from rehearsal.people import PEOPLE

COUNTS = (0, 5, 50, 500)
CHARACTERS_PER_TOKEN = 3
"""About as Claude counts English."""
MOST_OF_A_SERVER = 40
"""Most tools of one server, about as many as those of well-known ones."""
VERBS = ("create", "update", "close", "list", "search", "get", "assign", "comment_on", "archive", "export")
NOUNS = (
    *("issue", "pull_request", "branch", "release", "milestone", "page", "database", "ticket", "customer"),
    *("invoice", "contract", "deployment", "alert", "incident", "dashboard", "query", "table", "report"),
    *("event", "calendar", "room", "employee", "team", "project", "sprint", "order", "shipment", "product"),
    *("warehouse", "supplier", "campaign", "contact", "deal", "channel", "file", "folder", "comment"),
    *("label", "webhook", "secret_scan", "workflow", "job", "artifact", "backup", "certificate", "domain"),
    *("server", "volume", "network", "policy", "role"),
)
KINDS: Mapping[str, str] = {
    "An ordinary message": "pipeline",
    "A choice in an errand, the first of a run": "choose",
    "Open thought, the first step": "deliberate",
    "A tick of the inner life": "tick",
}
"""Prompts by title, with the beginning of their call's name."""


def raw_tool(verb: str, noun: str) -> dict[str, Any]:
    """Return a tool as a server lists it: a sentence, three arguments."""
    words = f"{verb} {noun}".replace("_", " ")
    properties = {
        "id": {"type": "string", "description": f"The id of the {noun}, as the server names it."},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "Fields of the answer."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Most of them."},
    }
    schema = {"type": "object", "properties": properties, "required": ["id"]}
    description = f"{words.capitalize()} in the connected account, and return it with its newest changes."
    return {"name": f"{verb}_{noun}", "description": description, "inputSchema": schema}


async def give_tools(here: RehearsedSoul, count: int) -> None:
    """Record servers with so many tools altogether."""
    pairs = product(NOUNS, VERBS)
    for number in range(1, count // MOST_OF_A_SERVER + 2):
        left = count - (number - 1) * MOST_OF_A_SERVER
        tools = [raw_tool(verb, noun) for noun, verb in islice(pairs, min(left, MOST_OF_A_SERVER))]
        if tools:
            server = ToolServerSettings(name=f"server{number}", command="any", trusted=True)
            await here.soul.services.tools.catalogue.record_list(server, "2026-07-28", tools)


async def sizes(folder: Path, count: int) -> Mapping[str, int]:
    """Return the tokens of each prompt with so many tools, by title."""
    owner = frozenset({PEOPLE[0].id})
    async with rehearsed_soul(
        folder, Backend(), ism_enabled=True, inner_life_enabled=True, owner_user_ids=owner
    ) as here:
        await give_tools(here, count)
        await _speak(here)
        await here.until(lambda: any(call.event.name == "tick" for call in here.calls()))
        names = [call.event.name for call in here.calls()]
        found = {}
        for title, begins in KINDS.items():
            for name, request in zip(names, here.model.requests, strict=False):
                if name.startswith(begins):
                    found[title] = tokens(request)
        return found


async def _speak(here: RehearsedSoul) -> None:
    said = "<aside>Hm.</aside><next>{to}</next><say>Good.</say><mood>neutral</mood>"
    here.model.say(said.format(to="conversation"), asks="<aside")
    await here.say(Line(by="Alice", text="Good morning!"), "")
    here.model.say(said.format(to="errands"), asks="<aside")
    here.model.say(json.dumps({"why": "It is done.", "actions": ["Respond"]}), asks="This is round")
    await here.say(Line(by="Alice", text="Close the ticket about the broken oven, please."), "")
    here.model.say(said.format(to="deliberation"), asks="<aside")
    here.model.say("<claudius-response>Done.</claudius-response>", asks="in the open")
    await here.say(Line(by="Alice", text="Think through what is left to do."), "")


def tokens(request: Mapping[str, Any]) -> int:
    """Return the tokens of system text, messages and the schema of the answer."""
    texts = [block["text"] for block in request.get("system", ())]
    for message in request["messages"]:
        texts += [block["text"] for block in message["content"]]
    schema = request.get("output_config", {}).get("format")
    if schema:
        texts.append(json.dumps(schema, ensure_ascii=False))
    return sum(map(len, texts)) // CHARACTERS_PER_TOKEN


INTRODUCTION = """# Prompts with tools

`python -m benchmarks.tool_prompts > benchmarks/tool_prompts.md` writes this page. A soul in a rehearsed
workspace, with so many tools of MCP servers (a sentence and three arguments each, 40 on a server), is spoken
to; these are the tokens of the requests that it sent: system text, messages and the schema of the answer,
three characters to one.

Up to 20 tools are shown with their schemas, up to 100 in a line each; beyond that, only the servers with
their number of tools. The action `FindTool` brings the schemas that fit, after the conversation.
"""


def page(found: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Yield the lines of the page, given the sizes for each of COUNTS."""
    yield INTRODUCTION
    yield f"| prompt | no tools | {' | '.join(f'{count} tools' for count in COUNTS[1:])} |"
    yield f"|---|{'---|' * len(COUNTS)}"
    for title in KINDS:
        cells = [f"{one[title]:,}" if title in one else "none" for one in found]
        yield f"| {title} | {' | '.join(cells)} |"


async def main() -> None:
    found = []
    for count in COUNTS:
        with tempfile.TemporaryDirectory(prefix="tool-prompts-") as folder:
            found.append(await sizes(Path(folder), count))
    print("\n".join(page(found)))


if __name__ == "__main__":
    asyncio.run(main())
