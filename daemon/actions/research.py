"""Research: looks something up in the owner's folders. Offered where there are any."""

from __future__ import annotations

from pydantic import BaseModel, Field

from daemon.actions.action import Definition, Run
from daemon.ports import Library

NOTHING = "nothing found"


class Topic(BaseModel):
    """What to look for."""

    query: str = Field(description="a few words that stand in the text, in its language")


def research(library: Library) -> Definition:
    """The action over this library."""

    async def perform(_run: Run, topic: Topic) -> str:
        return await library.search(topic.query) or NOTHING

    return Definition(
        name="Research",
        description="Search the files that your owner gave you to know; the answer is lines of them, "
        "each with its path and number.",
        perform=perform,
        args=Topic,
        effect=True,
    )
