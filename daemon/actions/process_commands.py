"""process.start, stop, mark and list, cleanup.process_log: the owner's programs, and what became of them.

A program is never begun here: an entry says that it is to run, and a supervisor sees that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from daemon.actions.action import Definition, Nothing, Strict, command
from daemon.actions.own_processes import Own
from daemon.engine.event import Entry
from daemon.engine.keys import context_of, step_of
from daemon.inner.carrying_out import Done, Tick
from daemon.inner.process_log import CLEANUP, MARK, Process, ProcessLog
from daemon.ism import Refused
from daemon.kinds import INNER, CommandRan, ProcessEnded, ProcessStarted, ProcessStop
from daemon.knowledge.views import anywhere
from daemon.recipe import LONGEST, Recipe

MOST_RUNNING = 16
"""Programs that may be running or waiting to as a tick begins, for it to start more."""
MOST_KEPT = 100
"""Programs that may be in the log as a tick begins, for it to start more: each has left a folder."""
SHOWN = 300
"""Characters of a result in the list."""


class Start(Strict):
    """What to run."""

    name: str = Field(description="the name of one of the owner's programs", min_length=1, max_length=100)
    slots: dict[str, Annotated[str, Field(max_length=LONGEST)]] = Field(
        default_factory=dict, description="a text for each of its slots: {slot: text}", max_length=20
    )


class One(Strict):
    """Which process."""

    id: int = Field(description="the id of a process, or the mark of a failed command", ge=1)


def process_commands(
    log: ProcessLog, recipes: Mapping[str, Recipe], own: Mapping[str, Own] | None = None
) -> Sequence[Definition]:
    """The commands over this log, which start these programs, and what is the soul's own."""
    return [_start(log, recipes, own or {}), _stop(log), _mark(log), _list(log, recipes), _cleanup(log)]


def _start(log: ProcessLog, recipes: Mapping[str, Recipe], own: Mapping[str, Own]) -> Definition:
    async def perform(tick: Tick, args: Start) -> Done:
        if args.name in own:
            return await own[args.name].start(tick, args.name, args.slots)
        _check_program(recipes, args)
        await _check_room(log, tick)
        wanted = ProcessStarted(name=args.name, slots=args.slots, view=tick.view)
        started = _begun(log, tick, wanted) or await tick.turn.record(wanted)
        return Done(text=f"Process {started.seq} ({args.name}) is started. You hear of it when it has ended.")

    return command(
        "process.start",
        "Run a program of the owner's, or a branch of your own; its result comes when it ends.",
        perform,
        Start,
    )


def _check_program(recipes: Mapping[str, Recipe], args: Start) -> None:
    """Look whether there is such a program with such slots. Raises Refused."""
    recipe = recipes.get(args.name)
    if recipe is None:
        raise Refused(f"There is no program {args.name!r:.60}. There are: {_programs(recipes)}.")
    try:
        recipe.fill(args.slots)
    except ValueError as error:
        raise Refused(f"{error}. Write it as {usage(args.name, recipe)}.") from None


async def _check_room(log: ProcessLog, tick: Tick) -> None:
    """Look whether one more may be started, as of the tick's begin: the same whenever this runs again.

    Raises Refused.
    """
    pending = log.journal.pending_entries(ProcessStarted, thread=INNER)
    running = [one for one in pending if one.seq < tick.id]
    if len(running) >= MOST_RUNNING:
        raise Refused(f"{MOST_RUNNING} programs run already. Wait until one of them has ended.")
    await log.update()
    kept = [one for one in log.all() if one.id < tick.id and not one.branch]
    if len(kept) >= MOST_KEPT:
        raise Refused(
            f"{MOST_KEPT} programs are in the log. Write {MARK} for what is dealt with, then {CLEANUP}."
        )


def _begun(log: ProcessLog, tick: Tick, wanted: ProcessStarted) -> Entry[ProcessStarted] | None:
    """The same program, where a command of this tick has begun it and was killed before it was recorded: the
    tick may have begun again since, under other keys."""
    for one in log.journal.thread_entries(INNER, ProcessStarted, since=tick.id):
        same = one.event.name == wanted.name and one.event.slots == wanted.slots
        if same and log.journal.get(step_of(context_of(one.key))) is None:
            return one
    return None


def _stop(log: ProcessLog) -> Definition:
    async def perform(tick: Tick, args: One) -> Done:
        started = _started(log, tick, args.id)
        ended = log.journal.thread_entries(INNER, ProcessEnded, since=started.seq)
        if any(one.event.process == args.id and one.seq < tick.id for one in ended):
            raise Refused(f"Process {args.id} has ended. If it is dealt with, write process.mark.")
        await tick.turn.record(ProcessStop(process=args.id))
        return Done(text=f"Process {args.id} is asked to end. You hear of it when it has.")

    return command(
        "process.stop",
        "End a program that runs.",
        perform,
        One,
    )


def _started(log: ProcessLog, tick: Tick, id: int) -> Entry[ProcessStarted]:
    """The entry that began this program, if it may be known in this tick. The same whenever it is asked."""
    try:
        found = log.journal.entry(id)
    except KeyError:
        found = None
    if found is None or not isinstance(found.event, ProcessStarted):
        raise Refused(f"There is no program of the id {id}. process.list shows those that there are.")
    if not tick.views.may_know(tick.view, found.event.view, wrote=id):
        raise Refused(f"Process {id} was started elsewhere. End it where it may be known.")
    return found


def _mark(log: ProcessLog) -> Definition:
    async def perform(tick: Tick, args: One) -> Done:
        await log.update()
        if any(one.seq == args.id for one in log.failed(tick.views.make_check(tick.view))):
            return Done(text=f"The failed command {args.id} is dealt with, and out of sight.")
        one = log.get(args.id)
        if one is None or not tick.views.may_know(tick.view, one.view, wrote=one.id):
            raise Refused(f"There is no process {args.id} in sight. process.list shows those that there are.")
        if one.ended is None:
            raise Refused(f"Process {args.id} has not ended. process.stop would end it.")
        return Done(text=f"Process {args.id} is dealt with, and out of sight.")

    return command(
        MARK,
        "A process that has ended, or a command that failed (its mark), is dealt with: take it out of your"
        " sight.",
        perform,
        One,
    )


def _list(log: ProcessLog, recipes: Mapping[str, Recipe]) -> Definition:
    async def perform(tick: Tick, _: Nothing) -> Done:
        await log.update()
        here = log.processes(tick.views.make_check(tick.view))
        lines = [_line(one) for one in here] or ["No process runs, and none waits to be dealt with."]
        lines += [_failure(one) for one in log.failed(tick.views.make_check(tick.view))]
        elsewhere = len(log.processes(anywhere)) - len(here)
        if elsewhere:
            lines.append(f"{elsewhere} more were started elsewhere.")
        return Done(text="\n".join([*lines, f"Programs: {_programs(recipes)}."]))

    return command(
        "process.list",
        "Which processes run or have ended, which commands failed, and which programs there are.",
        perform,
        Nothing,
    )


def _cleanup(log: ProcessLog) -> Definition:
    async def perform(_: Tick, __: Nothing) -> Done:
        await log.update()
        closed = sum(one.status == "close" for one in log.all())
        return Done(text=f"{closed} processes that were dealt with are dropped from the log.")

    return command(
        CLEANUP,
        "Drop the processes that were dealt with, with what they left in their folders.",
        perform,
        Nothing,
    )


def usage(name: str, recipe: Recipe) -> str:
    """How a program is started, for the soul."""
    if not recipe.slots:
        return f"{name} without slots"
    return f"{name} with the slots {', '.join(recipe.slots)}"


def _programs(recipes: Mapping[str, Recipe]) -> str:
    return "; ".join(usage(name, recipe) for name, recipe in sorted(recipes.items())) or "none"


def _failure(one: Entry[CommandRan]) -> str:
    text = " ".join(one.event.text.split())[:SHOWN]
    return f"{one.seq} {one.event.name or 'a command'} failed: {text}"


def _line(one: Process) -> str:
    line = f"{one.id} {one.name}: {one.status}"
    if one.stopping and one.ended is None:
        line += ", asked to end"
    if one.result:
        line += f", {' '.join(one.result.split())[:SHOWN]}"
    return line
