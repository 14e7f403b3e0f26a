"""Research: looks something up in the owner's folders. Offered where there are any."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from daemon.actions.action import ActionContext
from daemon.actions.function import action
from daemon.ports import Library

MOST_NAMED_FILES = 20
"""Files that are named where a search cannot look into them."""


@action(name="Research", effect=True)
async def research(
    run: ActionContext,
    library: Library,
    query: Annotated[
        str, Field(min_length=1, max_length=400), "a few words that stand in the text, in its language"
    ],
) -> str:
    """Search the files that your owner gave you to know; the answer is paragraphs of them that you have not
    been shown yet, each line with its path and number.
    """
    known = 0

    def is_new(passage: str) -> bool:
        nonlocal known
        if run.is_new(passage):
            return True
        known += 1
        return False

    found = await library.search(query, is_new)
    nothing = "nothing new found" if known else "nothing found"
    told = [found or run.label(nothing)]
    unsearched = await library.unsearched(query if found else "")
    if unsearched:
        named = ", ".join(unsearched[:MOST_NAMED_FILES])
        more = "" if len(unsearched) <= MOST_NAMED_FILES else ", …"
        told.append(f"{run.label('not searched')}: {named}{more}")
    return "\n".join(told)
