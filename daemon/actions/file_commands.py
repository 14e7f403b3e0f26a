"""files.search and files.read: what stands in the owner's folders, for the inner life."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from daemon.actions.action import Definition, Strict, command
from daemon.inner.carrying_out import Done, Tick
from daemon.ism import Refused
from daemon.ports import Library


class Words(Strict):
    """What to look for."""

    query: str = Field(description="a few words that stand in the text", min_length=1, max_length=400)


class Place(Strict):
    """Where to read."""

    path: str = Field(
        description="the path of a file, as files.search names it", min_length=1, max_length=400
    )
    line: int = Field(default=1, description="the first line to read", ge=1, le=10_000_000)


def file_commands(library: Library) -> Sequence[Definition]:
    """Both, over these folders: anyone may know what is in them."""

    async def search(_tick: Tick, args: Words) -> Done:
        return Done(text=await library.search(args.query) or "Nothing was found.")

    async def read(_tick: Tick, args: Place) -> Done:
        lines = await library.read(args.path, args.line)
        if not lines:
            raise Refused("There is no such file, or no such line in it. Look for it by files.search.")
        numbered = [f"{args.path}:{number}: {line}" for number, line in enumerate(lines, args.line)]
        return Done(text="\n".join(numbered))

    return (
        command("files.search", "Search the files that your owner gave you to know.", search, Words),
        command("files.read", "Read some lines of such a file.", read, Place),
    )
