"""Research: looks something up in the owner's folders. Offered where there are any."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from daemon.actions.action import ActionContext
from daemon.actions.function import action
from daemon.ports import Library


@action(effect=True)
async def research(
    run: ActionContext,
    library: Library,
    query: Annotated[
        str, Field(min_length=1, max_length=400), "a few words that stand in the text, in its language"
    ],
) -> str:
    """Search the files that your owner gave you to know; the answer is lines of them, each with its path and
    number.
    """
    return await library.search(query) or run.label("nothing found")
