"""Prompts as sent, with token counts; writes `prompts.md`.

A rehearsed soul, with the script as model, hears the tour's messages. The script estimates cached tokens like
Anthropic. `--figures` prints JSON, as kept in `prompts_before.json`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.conversation import Line
from benchmarks.rehearsed_soul import Backend, RehearsedSoul, rehearsed_soul
from daemon.engine.event import Entry
from daemon.kinds import ModelCall
from daemon.settings.home import project_root
from rehearsal.claude.prompt import last_text
from rehearsal.people import PEOPLE
from rehearsal.tour import sample

Request = Mapping[str, Any]
BEFORE = Path(__file__).parent / "prompts_before.json"
SHOWN = 6_000
"""Characters shown per block; longer ones lose their middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Kind of prompt: its title, and its call's name and index."""

    title: str
    name: str
    nth: int = 0


KINDS = (
    Shown(title="A first meeting", name="pipeline"),
    Shown(title="An ordinary message, from the second on", name="pipeline", nth=1),
    Shown(title="What is learned about a person", name="learn"),
    Shown(title="A choice of the ISM: the first of a run", name="choose"),
    Shown(title="A choice of the ISM: the second of a run", name="choose", nth=1),
    Shown(title="A thought in a run", name="think"),
    Shown(title="Open thought: the first step", name="deliberate"),
    Shown(title="Open thought: a branch", name="deliberate", nth=1),
    Shown(title="A reading: what they want to know", name="extract"),
    Shown(title="A deep reading: the first round", name="recurse"),
    Shown(title="A deep reading: the second round", name="recurse", nth=1),
    Shown(title="A tick of the inner life", name="tick"),
)
SAID = (
    Line(by="Alice", text="Good morning!"),
    Line(by="Alice", text="I am allergic to walnuts, and I like my tea strong."),
    Line(by="Alice", text="The ferry was late today."),
    Line(by="Alice", text="Which cake can I have on Friday?"),
    Line(
        by="Alice",
        text="Compare the Mill, the Lighthouse and the Barn for our summer meeting. Think it through.",
    ),
)
FILE = "harbour-log.txt"
QUESTION = "How often does “thick fog” stand in this log?"
"""Question about Carol's file."""


async def sent(folder: Path, **settings: Any) -> tuple[Sequence[Entry[ModelCall]], Mapping[int, Request]]:
    """Send all kinds of prompts; return the calls, and requests by their seqs."""
    more = {
        "ism_enabled": True,
        "inner_life_enabled": True,
        "knowledge_dirs": (project_root() / "examples" / "cafe",),
        "owner_user_ids": frozenset({PEOPLE[0].id}),
        **settings,
    }
    async with rehearsed_soul(folder, Backend(), **more) as here:
        thread = ""
        for line in SAID:
            _, ts = await here.say(line, thread)
            thread = thread or ts
        await _share(here)
        await here.say(Line(by="Bob", channel="general", text="The harbour café has a new oven."), "")
        await here.until(lambda: any(call.event.name == "tick" for call in here.calls()))
        return here.calls(), _requests_of(here.calls(), [*here.model.requests])


async def _share(here: RehearsedSoul) -> None:
    client = here.client("Carol")
    await client.files_upload_v2(
        channel=await here.channel(client, ""),
        filename=FILE,
        content=sample(FILE).read_text(),
        initial_comment=QUESTION,
    )
    await here.settled()


def _requests_of(calls: Sequence[Entry[ModelCall]], requests: list[Request]) -> Mapping[int, Request]:
    """Match requests and calls by trailing text."""
    found = {}
    for call in calls:
        [request, *_] = [one for one in requests if last_text(one) == call.event.trailing.strip()]
        requests.remove(request)
        found[call.seq] = request
    return found


def figures(calls: Sequence[Entry[ModelCall]], requests: Mapping[int, Request]) -> dict[str, dict[str, int]]:
    """Return token counts by title."""
    found = {}
    for kind, call in _of_kinds(calls):
        usage = call.event.usage
        found[kind.title] = {
            "cached": usage.cache_read,
            "uncached": usage.input + usage.cache_write,
            "after the mark": usage.input,
            "answer": requests[call.seq]["max_tokens"],
        }
    return found


def _of_kinds(calls: Sequence[Entry[ModelCall]]) -> Iterator[tuple[Shown, Entry[ModelCall]]]:
    for kind in KINDS:
        named = [call for call in calls if call.event.name == kind.name]
        if len(named) > kind.nth:
            yield kind, named[kind.nth]


def page(calls: Sequence[Entry[ModelCall]], requests: Mapping[int, Request]) -> str:
    """Return the page: token counts before and now, then each prompt."""
    before = json.loads(BEFORE.read_text())
    now = figures(calls, requests)
    lines = [INTRODUCTION, *_table(before, now)]
    for kind, call in _of_kinds(calls):
        lines += ["", f"## {kind.title}", *_blocks(requests[call.seq])]
    return "\n".join(lines)


INTRODUCTION = """# The prompts as they are sent

`python -m benchmarks.sent_prompts > benchmarks/prompts.md` writes this page. A soul in a rehearsed workspace
is spoken to, and these are requests that it really sent to the model, which is the script of the rehearsal.

Tokens are counted with three characters to one, about as Claude counts English. *Cached* is what was read
from the cache, *new* is all else, and *after the mark* that part of it which stands behind the last cache
mark, and is never cached. *Answer* is the most that the answer may have. Before (28 November 2026) → now:
"""
COLUMNS = ("cached", "uncached", "after the mark", "answer")


def _table(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    yield "| prompt | cached | new | after the mark | answer |"
    yield "|---|---|---|---|---|"
    for title, found in now.items():
        was = before.get(title, {})
        cells = [f"{_before(was, column)}{found[column]:,}" for column in COLUMNS]
        yield f"| {title} | {' | '.join(cells)} |"


def _before(was: Mapping[str, int], column: str) -> str:
    if column not in was:
        return ""
    return f"{was[column]:,} → "


def _blocks(request: Mapping[str, Any]) -> Iterator[str]:
    for block in request.get("system", ()):
        yield from _block("system", block)
    for message in request["messages"]:
        for block in message["content"]:
            yield from _block(message["role"], block)
    schema = request.get("output_config", {}).get("format")
    if schema:
        yield from _block("schema", {"text": json.dumps(schema, ensure_ascii=False)})


def _block(role: str, block: Mapping[str, Any]) -> Iterator[str]:
    mark = ", cache mark" if "cache_control" in block else ""
    text = str(block["text"])
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n[… {len(text) - SHOWN:,} characters …]\n{text[-SHOWN // 2 :]}"
    yield f"\n*{role}{mark}*\n"
    yield from ("````", text, "````")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="prompts-") as folder:
        calls, requests = await sent(Path(folder))
    if "--figures" in sys.argv[1:]:
        print(json.dumps(figures(calls, requests), indent=1))
    else:
        print(page(calls, requests))


if __name__ == "__main__":
    asyncio.run(main())
