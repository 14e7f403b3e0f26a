"""files.search and files.read: what stands in the owner's folders, for the inner life."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from daemon.actions.action import ActionDefinition, StrictArguments, command
from daemon.actions.research import MOST_NAMED_FILES
from daemon.errors import FileUnavailable
from daemon.inner.carrying_out import CommandResult, TickContext
from daemon.ism import ActionRefused
from daemon.ports import Library

UNSEARCHED = "Not searched, too large or no plain text: {paths}"
NO_LINE = "{path} has no line {line}, or is no plain text. The process `read` reads whole files, also PDF."


async def _why_nothing(library: Library, path: str, line: int) -> str:
    """Return the reason for which no line of this file can be had, in a sentence or two."""
    try:
        await library.load(path)
    except FileUnavailable as refused:
        return f"{refused} Look for it by files.search."
    return NO_LINE.format(path=path, line=line)


class SearchFilesArguments(StrictArguments):
    """What to look for."""

    query: str = Field(description="a few words that stand in the text", min_length=1, max_length=400)


class ReadFileArguments(StrictArguments):
    """Where to read."""

    path: str = Field(
        description="the path of a file, as files.search names it", min_length=1, max_length=400
    )
    line: int = Field(default=1, description="the first line to read", ge=1, le=10_000_000)


def file_commands(library: Library) -> Sequence[ActionDefinition]:
    """Both, over these folders: anyone may know what is in them."""

    async def search(_tick: TickContext, args: SearchFilesArguments) -> CommandResult:
        found = await library.search(args.query)
        told = [found or "Nothing was found."]
        unsearched = await library.unsearched(args.query if found else "")
        if unsearched:
            told.append(UNSEARCHED.format(paths=", ".join(unsearched[:MOST_NAMED_FILES])))
        return CommandResult(text="\n".join(told))

    async def read(_tick: TickContext, args: ReadFileArguments) -> CommandResult:
        lines = await library.read(args.path, args.line)
        if not lines:
            raise ActionRefused(await _why_nothing(library, args.path, args.line))
        numbered = [f"{args.path}:{number}: {line}" for number, line in enumerate(lines, args.line)]
        return CommandResult(text="\n".join(numbered))

    return (
        command(
            "files.search", "Search the files that your owner gave you to know.", search, SearchFilesArguments
        ),
        command("files.read", "Read some lines of such a file.", read, ReadFileArguments),
    )
