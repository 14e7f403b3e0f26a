"""SearchMemory, ReadThread, Remember: what was said elsewhere, what was said here before, what to keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import Field

from daemon.actions.action import ActionContext, Args, Definition
from daemon.kinds import Remembered
from daemon.mind.recall import plain
from daemon.ports import Memories, Said

LETTERS = 600
"""Of one thing that was said; more of it is left out."""


class Topic(Args):
    """What to look for."""

    query: str = Field(description="a few words that may have been said", min_length=1)


class Back(Args):
    """How far back to read."""

    back: int = Field(
        default=1, description="which page: 1 is the one just before what you see, 2 before that", ge=1
    )


class Note(Args):
    """What to keep."""

    text: str = Field(description="what to remember, so that it can be understood alone", min_length=1)
    about: str = Field(default="", description="the name of whom it is about, if it is about someone")


def search_memory(memories: Memories) -> Definition:
    """Finds what was said, here and elsewhere, as far as it may be known here."""

    async def perform(run: ActionContext, topic: Topic) -> str:
        found = await memories.search(topic.query, run.turn.thread, _in_sight(run))
        lines = [f"{said.place}, {_line(said)}" for said in found]
        return _told(run, memories, lines)

    return Definition(
        name="SearchMemory",
        description="Search your notes, and what was said to you and by you in other conversations, "
        "as far as it may be known here.",
        perform=perform,
        args=Topic,
        effect=True,
    )


def read_thread(memories: Memories) -> Definition:
    """Reads this conversation further back than it is in sight."""

    async def perform(run: ActionContext, page: Back) -> str:
        found = await memories.earlier(run.turn.thread, _in_sight(run), page.back)
        return _told(run, memories, [_line(said) for said in found])

    return Definition(
        name="ReadThread",
        description="Read what was said in this conversation before what you see of it, a page at a time.",
        perform=perform,
        args=Back,
        effect=True,
    )


async def _remember(run: ActionContext, note: Note) -> str:
    await run.turn.once(Remembered(text=note.text, about=note.about))
    return run.label("noted")


REMEMBER = Definition(
    name="Remember",
    description="Keep something for later: SearchMemory finds it wherever what is said here may be known.",
    perform=_remember,
    args=Note,
)


def _in_sight(run: ActionContext) -> int:
    """The oldest entry of the conversation that the model sees; it knows what came since."""
    return min(run.memory.seqs, default=2**62)


def _told(run: ActionContext, memories: Memories, lines: Sequence[str]) -> str:
    """What was found; and that there may be more, where what was said last is not in the index yet."""
    more = [run.label("not all searched")] if memories.behind else []
    return "\n".join([*(lines or [run.label("nothing found")]), *more])


def _line(said: Said) -> str:
    """Who said it when (UTC), and what."""
    name = plain(said.name)
    who = f"your note{name and f' about {name}'}" if said.kind == "remembered" else name or "you"
    text = said.text if len(said.text) <= LETTERS else f"{said.text[:LETTERS]}…"
    return f"{datetime.fromtimestamp(said.at, UTC):%Y-%m-%d %H:%M}, {who}: {text}"
