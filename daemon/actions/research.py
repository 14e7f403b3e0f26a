"""Research: looks something up in the owner's folders. Offered where there are any."""

from __future__ import annotations

from pydantic import Field

from daemon.actions.action import ActionContext, Args, Definition
from daemon.ports import Library


class Topic(Args):
    """What to look for."""

    query: str = Field(description="a few words that stand in the text, in its language", min_length=1)


def research(library: Library) -> Definition:
    """The action over this library."""

    async def perform(run: ActionContext, topic: Topic) -> str:
        return await library.search(topic.query) or run.label("nothing found")

    return Definition(
        name="Research",
        description="Search the files that your owner gave you to know; the answer is lines of them, "
        "each with its path and number.",
        perform=perform,
        args=Topic,
        effect=True,
    )
