"""Inner commands for the cycle of ticks, the owner's files, and help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from daemon.actions.action import ActionDefinition, NoArguments, Perform, StrictArguments
from daemon.actions.registry import help_text
from daemon.engine.clock import DAY
from daemon.errors import FileUnavailable
from daemon.inner_life.commands.command import CommandResult, TickContext, command, ids_in_words
from daemon.inner_life.commands.memory_commands import NoteFilterArguments
from daemon.inner_life.tick_log import ProgramLog
from daemon.ism import ActionRefused
from daemon.knowledge.library import MOST_NAMED_FILES
from daemon.ports import Library

YEAR = 366 * DAY


class ResponsesArguments(StrictArguments):
    """How many."""

    n: int = Field(description="how many of your own last replies you see", ge=0, le=20)


class ModeArguments(StrictArguments):
    """Which one."""

    mode: Literal["manual", "auto"] = Field(
        description="manual: you see how many notes there are, and their ids; auto: you see those that fit"
    )
    filter: NoteFilterArguments | None = Field(default=None, description="which notes you see in auto mode")


class PauseArguments(StrictArguments):
    """How long."""

    seconds: float = Field(description="seconds between two ticks", ge=0, le=DAY)


class IdleArguments(StrictArguments):
    """Until what: any of these is enough; without any, until a note comes or a process ends."""

    processes: list[int] = Field(
        default_factory=list, description="until one of these processes ends", max_length=50
    )
    notes: NoteFilterArguments | None = Field(default=None, description="until a note comes that fits")
    seconds: float | None = Field(default=None, description="for so many seconds", gt=0, le=YEAR)


async def _responses(_tick: TickContext, args: ResponsesArguments) -> CommandResult:
    return CommandResult(text=f"You see your last {args.n} replies from now on.")


async def _mode(_tick: TickContext, args: ModeArguments) -> CommandResult:
    return CommandResult(text=f"The mode is {args.mode} from now on.")


async def _filter(_tick: TickContext, _args: NoteFilterArguments) -> CommandResult:
    return CommandResult(text="In auto mode you see the notes that fit this from now on.")


async def _cleanup(_tick: TickContext, _args: NoArguments) -> CommandResult:
    return CommandResult(text="Your earlier replies are out of sight.")


def _idle(log: ProgramLog) -> Perform:
    async def idle(tick: TickContext, args: IdleArguments) -> CommandResult:
        await log.update()
        if not args.processes and args.notes is None and args.seconds is None:
            running = [one.id for one in log.all() if not one.ended]
            return CommandResult(text="You slept.", shows=running)
        knows = tick.views.make_check(tick.view)
        known = {one.id for one in log.all() if knows(one.view, one.id)}
        unknown = [id for id in args.processes if id not in known]
        if unknown:
            raise ActionRefused(
                f"There is no process {ids_in_words(unknown)} in sight."
                " process.list shows those that there are."
            )
        return CommandResult(text="You slept.")

    return idle


def _pause(min_pause: float) -> Perform:
    async def pause(_tick: TickContext, args: PauseArguments) -> CommandResult:
        if args.seconds < min_pause:
            raise ActionRefused(
                f"At least {min_pause:g} seconds pass between two ticks: your owner wants it so."
            )
        return CommandResult(text=f"{args.seconds:g} seconds pass between two ticks from now on.")

    return pause


def cycle_commands(min_pause: float, programs: ProgramLog) -> Sequence[ActionDefinition]:
    """Return the commands that control ticks; `min_pause` is the least number of seconds
    between two ticks.
    """
    return (
        command(
            "cycle.responses",
            "Set how many of your own last replies you see.",
            _responses,
            ResponsesArguments,
        ),
        command(
            "cycle.mode",
            "Choose whether notes are only counted and listed, or shown if they fit a filter.",
            _mode,
            ModeArguments,
        ),
        command(
            "cycle.filter",
            "Set which notes you see in auto mode; without arguments all of them.",
            _filter,
            NoteFilterArguments,
        ),
        command(
            "cycle.pause", "Set how long the pause between two ticks is.", _pause(min_pause), PauseArguments
        ),
        command(
            "cycle.idle",
            "Sleep, at no cost, until a process ends, a note comes that fits, or a time is over; without"
            " arguments, until something comes. First you see what you asked for in the same answer.",
            _idle(programs),
            IdleArguments,
        ),
        command(
            "cleanup.responses", "Put your own earlier replies out of your sight.", _cleanup, NoArguments
        ),
    )


UNSEARCHED = "Not searched, too large or no plain text: {paths}"


NO_LINE = "{path} has no line {line}, or is no plain text. The process `read` reads whole files, also PDF."


async def _why_nothing(library: Library, path: str, line: int) -> str:
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
    """Return the commands that search and read the owner's folders."""

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


class HelpArguments(StrictArguments):
    """What to say more of."""

    type: str = Field(
        default="", max_length=100, description="a command, or a family of them as `notes`; without it: all"
    )


def help_command(commands: Sequence[ActionDefinition]) -> ActionDefinition:
    async def perform(_: TickContext, about: HelpArguments) -> CommandResult:
        try:
            return CommandResult(text=help_text([itself, *commands], about.type))
        except LookupError as error:
            raise ActionRefused(str(error)) from None

    description = "Explain the commands, a line each, or one of them with all of its arguments."
    itself = command("help", description, perform, HelpArguments)
    return itself


COMMANDS = (cycle_commands, file_commands)
