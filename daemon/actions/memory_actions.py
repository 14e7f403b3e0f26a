"""SearchMemory, ReadThread, Remember: what was said elsewhere, what was said here before, what to keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from daemon.actions.action import ActionContext
from daemon.actions.function import action
from daemon.kinds import MemoryNote
from daemon.mind.recall import clean_name_text
from daemon.ports import FoundMessage, Memories

MOST_QUERY = 400
MOST_TEXT = 4_000
MOST_NAME = 200
"""Characters of an argument."""
MOST_PAGES = 1_000_000
LETTERS = 600
"""Of one thing that was said; more of it is left out."""


@action(name="SearchMemory", effect=True)
async def search_memory(
    run: ActionContext,
    memories: Memories,
    query: Annotated[str, Field(min_length=1, max_length=MOST_QUERY), "a few words that may have been said"],
) -> str:
    """Search your notes, and what was said to you and by you in other conversations, as far as it may be
    known here.
    """
    found = await memories.search(query, run.turn.thread, _in_sight(run))
    return _told(run, memories, [f"{said.place}, {_line(said)}" for said in found])


@action(name="ReadThread", effect=True)
async def read_thread(
    run: ActionContext,
    memories: Memories,
    back: Annotated[
        int, Field(ge=1, le=MOST_PAGES), "which page: 1 is the one just before what you see, 2 before that"
    ] = 1,
) -> str:
    """Read what was said in this conversation before what you see of it, a page at a time."""
    found = await memories.earlier_page(run.turn.thread, _in_sight(run), back)
    return _told(run, memories, [_line(said) for said in found])


@action(name="Remember")
async def remember(
    run: ActionContext,
    text: Annotated[
        str,
        Field(min_length=1, max_length=MOST_TEXT),
        "what to remember, so that it can be understood alone",
    ],
    about: Annotated[
        str, Field(max_length=MOST_NAME), "the name of whom it is about, if it is about someone"
    ] = "",
) -> str:
    """Keep something for later: SearchMemory finds it wherever what is said here may be known."""
    await run.turn.record(MemoryNote(text=text, about=about))
    return run.label("noted")


def _in_sight(run: ActionContext) -> int:
    """The oldest entry of the conversation that the model sees; it knows what came since."""
    return min(run.memory.seqs, default=2**62)


def _told(run: ActionContext, memories: Memories, lines: Sequence[str]) -> str:
    """What was found; and that there may be more, where what was said last is not in the index yet."""
    told = [*lines]
    if not told:
        told.append(run.label("nothing found"))
    if memories.is_behind:
        told.append(run.label("not all searched"))
    return "\n".join(told)


def _line(said: FoundMessage) -> str:
    """Who said it when (UTC), and what."""
    text = said.text
    if len(text) > LETTERS:
        text = f"{text[:LETTERS]}…"
    return f"{datetime.fromtimestamp(said.at, UTC):%Y-%m-%d %H:%M}, {_who(said)}: {text}"


def _who(said: FoundMessage) -> str:
    name = clean_name_text(said.name)
    if said.kind != "remembered":
        return name or "you"
    if name:
        return f"your note about {name}"
    return "your note"
