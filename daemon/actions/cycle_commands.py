"""The commands with which the inner life sets its cycle: what it sees, how long it waits, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from daemon.actions.action import Definition, Nothing, Perform, Strict, command, named
from daemon.actions.note_commands import NoteFilter
from daemon.inner.carrying_out import Done, Tick
from daemon.inner.process_log import ProcessLog
from daemon.ism import Refused
from daemon.limits import DAY

YEAR = 366 * DAY


class Responses(Strict):
    """How many."""

    n: int = Field(description="how many of your own last replies you see", ge=0, le=20)


class Mode(Strict):
    """Which one."""

    mode: Literal["manual", "auto"] = Field(
        description="manual: you see how many notes there are, and their ids; auto: you see those that fit"
    )
    filter: NoteFilter | None = Field(default=None, description="which notes you see in auto mode")


class Pause(Strict):
    """How long."""

    seconds: float = Field(description="seconds between two ticks", ge=0, le=DAY)


class Idle(Strict):
    """Until what: any of these is enough; without any, until a note comes or a process ends."""

    processes: list[int] = Field(
        default_factory=list, description="until one of these processes ends", max_length=50
    )
    notes: NoteFilter | None = Field(default=None, description="until a note comes that fits")
    seconds: float | None = Field(default=None, description="for so many seconds", gt=0, le=YEAR)


async def _responses(_tick: Tick, args: Responses) -> Done:
    return Done(text=f"You see your last {args.n} replies from now on.")


async def _mode(_tick: Tick, args: Mode) -> Done:
    return Done(text=f"The mode is {args.mode} from now on.")


async def _filter(_tick: Tick, _args: NoteFilter) -> Done:
    return Done(text="In auto mode you see the notes that fit this from now on.")


async def _cleanup(_tick: Tick, _args: Nothing) -> Done:
    return Done(text="Your earlier replies are out of sight.")


def _idle(log: ProcessLog) -> Perform:
    async def idle(tick: Tick, args: Idle) -> Done:
        await log.update()
        if not args.processes and args.notes is None and args.seconds is None:
            running = [one.id for one in log.all() if not one.ended]
            return Done(text="You slept.", shows=running)
        knows = tick.views.make_check(tick.view)
        known = {one.id for one in log.all() if knows(one.view, one.id)}
        unknown = [id for id in args.processes if id not in known]
        if unknown:
            raise Refused(
                f"There is no process {named(unknown)} in sight. process.list shows those that there are."
            )
        return Done(text="You slept.")

    return idle


def cycle_commands(min_pause: float, log: ProcessLog) -> Sequence[Definition]:
    """All of them: ticks are `min_pause` seconds apart at the least, and those in `log` are waited for."""

    async def pause(_tick: Tick, args: Pause) -> Done:
        if args.seconds < min_pause:
            raise Refused(f"At least {min_pause:g} seconds pass between two ticks: your owner wants it so.")
        return Done(text=f"{args.seconds:g} seconds pass between two ticks from now on.")

    return (
        command("cycle.responses", "Set how many of your own last replies you see.", _responses, Responses),
        command(
            "cycle.mode",
            "Choose whether notes are only counted and listed, or shown if they fit a filter.",
            _mode,
            Mode,
        ),
        command(
            "cycle.filter",
            "Set which notes you see in auto mode; without arguments all of them.",
            _filter,
            NoteFilter,
        ),
        command("cycle.pause", "Set how long the pause between two ticks is.", pause, Pause),
        command(
            "cycle.idle",
            "Sleep, at no cost, until a process ends, a note comes that fits, or a time is over; without"
            " arguments, until something comes. First you see what you asked for in the same answer.",
            _idle(log),
            Idle,
        ),
        command("cleanup.responses", "Put your own earlier replies out of your sight.", _cleanup, Nothing),
    )
