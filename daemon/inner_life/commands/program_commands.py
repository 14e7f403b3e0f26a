"""Inner commands for the owner's programs and branches of open thought.

An entry requests a program; the supervisor runs it. Results appear in the process log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from daemon.actions.action import ActionDefinition, NoArguments, StrictArguments
from daemon.engine.event import Entry, context_of, step_of
from daemon.inner_life.commands.command import CommandResult, TickContext, command
from daemon.inner_life.tick_log import CLEANUP_COMMAND, MARK_COMMAND, ProgramLog, ProgramRun
from daemon.ism import ActionRefused
from daemon.kinds import (
    INNER,
    CommandRan,
    InternalMessage,
    ProgramEnded,
    ProgramStarted,
    ProgramStopRequested,
)
from daemon.knowledge.visibility import always_visible
from daemon.prompts.elements import make_element
from daemon.settings.limits import LONGEST_SLOT_VALUE, AllowedProgram
from daemon.turn.branches import Branches

LONGEST = 8_000
"""Characters of a branch's slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchProgram:
    """A kind of branch: its slots, and its first input made from them."""

    slots: Sequence[str]
    first: Callable[[Mapping[str, str]], str]

    async def start(self, tick: TickContext, name: str, slots: Mapping[str, str]) -> CommandResult:
        """Spawn the branch. Raises ActionRefused if it cannot be."""
        if set(slots) != set(self.slots):
            raise ActionRefused(f"{name} has the slots {', '.join(self.slots)}, and needs a value for each.")
        if not all(value.strip() for value in slots.values()):
            raise ActionRefused("A slot is empty: write what it is about.")
        if sum(map(len, slots.values())) > LONGEST:
            raise ActionRefused(f"At most {LONGEST:,} characters begin a branch.")
        tree = Branches(tick.turn)
        if tree.refusal():
            raise ActionRefused("Too many branches are at work. Wait until one of them has ended.")
        message = InternalMessage(sender=tree.thread, text=self.first(slots))
        branch = await tree.spawn(name, message)
        await tree.await_answers([branch], collect=False)
        return CommandResult(
            text=f"Process {branch.seq} ({name}) is started. You hear of it when it has ended."
        )


def _task(slots: Mapping[str, str]) -> str:
    return slots["task"]


def _reading(slots: Mapping[str, str]) -> str:
    asked = make_element("question", slots["question"])
    where = make_element("source", "folders") + make_element("names", slots["path"])
    return f"<ReadDeeply>{asked}{where}</ReadDeeply>"


def make_branch_programs(*, folders: bool) -> Mapping[str, BranchProgram]:
    """Return the branch programs by name; `read` needs the owner's folders."""
    own = {"think": BranchProgram(slots=("task",), first=_task)}
    if folders:
        own["read"] = BranchProgram(slots=("question", "path"), first=_reading)
    return own


MOST_RUNNING = 16
"""Most programs running or queued when another starts."""


MOST_KEPT = 100
"""Most programs in the log when another starts: each has a folder."""


SHOWN = 300


class StartProgramArguments(StrictArguments):
    """What to run."""

    name: str = Field(description="the name of one of the owner's programs", min_length=1, max_length=100)
    slots: dict[str, Annotated[str, Field(max_length=LONGEST_SLOT_VALUE)]] = Field(
        default_factory=dict, description="a text for each of its slots: {slot: text}", max_length=20
    )


class ProgramId(StrictArguments):
    """Which process."""

    id: int = Field(description="the id of a process, or the mark of a failed command", ge=1)


def program_commands(
    programs: ProgramLog,
    recipes: Mapping[str, AllowedProgram],
    branch_programs: Mapping[str, BranchProgram] | None = None,
) -> Sequence[ActionDefinition]:
    return [
        _start(programs, recipes, branch_programs or {}),
        _stop(programs),
        _mark(programs),
        _list(programs, recipes),
        _cleanup(programs),
    ]


def _start(
    log: ProgramLog, recipes: Mapping[str, AllowedProgram], own: Mapping[str, BranchProgram]
) -> ActionDefinition:
    async def perform(tick: TickContext, args: StartProgramArguments) -> CommandResult:
        if args.name in own:
            return await own[args.name].start(tick, args.name, args.slots)
        _check_program(recipes, args)
        await _check_room(log, tick)
        wanted = ProgramStarted(name=args.name, slots=args.slots, view=tick.view)
        started = _begun(log, tick, wanted) or await tick.turn.record(wanted)
        return CommandResult(
            text=f"Process {started.seq} ({args.name}) is started. You hear of it when it has ended."
        )

    return command(
        "process.start",
        "Run a program of the owner's, or a branch of your own; its result comes when it ends.",
        perform,
        StartProgramArguments,
    )


def _check_program(recipes: Mapping[str, AllowedProgram], args: StartProgramArguments) -> None:
    """Raise ActionRefused if the program is unknown or its slots do not fit."""
    recipe = recipes.get(args.name)
    if recipe is None:
        raise ActionRefused(f"There is no program {args.name!r:.60}. There are: {_programs(recipes)}.")
    try:
        recipe.fill(args.slots)
    except ValueError as error:
        raise ActionRefused(f"{error}. Write it as {program_usage(args.name, recipe)}.") from None


async def _check_room(log: ProgramLog, tick: TickContext) -> None:
    """Raise ActionRefused if no more may start, counted as of the tick's start for replays."""
    pending = log.journal.pending_entries(ProgramStarted, thread=INNER)
    running = [one for one in pending if one.seq < tick.id]
    if len(running) >= MOST_RUNNING:
        raise ActionRefused(f"{MOST_RUNNING} programs run already. Wait until one of them has ended.")
    await log.update()
    kept = [one for one in log.all() if one.id < tick.id and not one.branch]
    if len(kept) >= MOST_KEPT:
        raise ActionRefused(
            f"{MOST_KEPT} programs are in the log."
            f" Write {MARK_COMMAND} for what is dealt with, then {CLEANUP_COMMAND}."
        )


def _begun(log: ProgramLog, tick: TickContext, wanted: ProgramStarted) -> Entry[ProgramStarted] | None:
    """Find a request by an interrupted command of this tick: a restarted tick has other keys."""
    for one in log.journal.thread_entries(INNER, ProgramStarted, since=tick.id):
        same = one.event.name == wanted.name and one.event.slots == wanted.slots
        if same and log.journal.get(step_of(context_of(one.key))) is None:
            return one
    return None


def _stop(log: ProgramLog) -> ActionDefinition:
    async def perform(tick: TickContext, args: ProgramId) -> CommandResult:
        started = _started(log, tick, args.id)
        ended = log.journal.thread_entries(INNER, ProgramEnded, since=started.seq)
        if any(one.event.process == args.id and one.seq < tick.id for one in ended):
            raise ActionRefused(f"Process {args.id} has ended. If it is dealt with, write process.mark.")
        await tick.turn.record(ProgramStopRequested(process=args.id))
        return CommandResult(text=f"Process {args.id} is asked to end. You hear of it when it has.")

    return command(
        "process.stop",
        "End a program that runs.",
        perform,
        ProgramId,
    )


def _started(log: ProgramLog, tick: TickContext, id: int) -> Entry[ProgramStarted]:
    """Return a program's request. Raises ActionRefused if it is unknown or invisible; the
    same in a replay.
    """
    try:
        found = log.journal.entry(id)
    except KeyError:
        found = None
    if found is None or not isinstance(found.event, ProgramStarted):
        raise ActionRefused(f"There is no program of the id {id}. process.list shows those that there are.")
    if not tick.views.may_know(tick.view, found.event.view, wrote=id):
        raise ActionRefused(f"Process {id} was started elsewhere. End it where it may be known.")
    return found


def _mark(log: ProgramLog) -> ActionDefinition:
    async def perform(tick: TickContext, args: ProgramId) -> CommandResult:
        await log.update()
        if any(one.seq == args.id for one in log.failed(tick.views.make_check(tick.view))):
            return CommandResult(text=f"The failed command {args.id} is dealt with, and out of sight.")
        one = log.get(args.id)
        if one is None or not tick.views.may_know(tick.view, one.view, wrote=one.id):
            raise ActionRefused(
                f"There is no process {args.id} in sight. process.list shows those that there are."
            )
        if one.ended is None:
            raise ActionRefused(f"Process {args.id} has not ended. process.stop would end it.")
        return CommandResult(text=f"Process {args.id} is dealt with, and out of sight.")

    return command(
        MARK_COMMAND,
        "A process that has ended, or a command that failed (its mark), is dealt with: take it out of your"
        " sight.",
        perform,
        ProgramId,
    )


def _list(log: ProgramLog, recipes: Mapping[str, AllowedProgram]) -> ActionDefinition:
    async def perform(tick: TickContext, _: NoArguments) -> CommandResult:
        await log.update()
        here = log.processes(tick.views.make_check(tick.view))
        lines = [_line(one) for one in here] or ["No process runs, and none waits to be dealt with."]
        lines += [_failure(one) for one in log.failed(tick.views.make_check(tick.view))]
        elsewhere = len(log.processes(always_visible)) - len(here)
        if elsewhere:
            lines.append(f"{elsewhere} more were started elsewhere.")
        return CommandResult(text="\n".join([*lines, f"Programs: {_programs(recipes)}."]))

    return command(
        "process.list",
        "Which processes run or have ended, which commands failed, and which programs there are.",
        perform,
        NoArguments,
    )


def _cleanup(log: ProgramLog) -> ActionDefinition:
    async def perform(_: TickContext, __: NoArguments) -> CommandResult:
        await log.update()
        closed = sum(one.status == "close" for one in log.all())
        return CommandResult(text=f"{closed} processes that were dealt with are dropped from the log.")

    return command(
        CLEANUP_COMMAND,
        "Drop the processes that were dealt with, with what they left in their folders.",
        perform,
        NoArguments,
    )


def program_usage(name: str, recipe: AllowedProgram) -> str:
    if not recipe.slots:
        return f"{name} without slots"
    return f"{name} with the slots {', '.join(recipe.slots)}"


def _programs(recipes: Mapping[str, AllowedProgram]) -> str:
    return "; ".join(program_usage(name, recipe) for name, recipe in sorted(recipes.items())) or "none"


def _failure(one: Entry[CommandRan]) -> str:
    text = " ".join(one.event.text.split())[:SHOWN]
    return f"{one.seq} {one.event.name or 'a command'} failed: {text}"


def _line(one: ProgramRun) -> str:
    line = f"{one.id} {one.name}: {one.status}"
    if one.stopping and one.ended is None:
        line += ", asked to end"
    if one.result:
        line += f", {' '.join(one.result.split())[:SHOWN]}"
    return line


COMMANDS = (program_commands,)
