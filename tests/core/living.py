"""A soul that thinks on its own in the crash harness: what its life has, and the model that lives it.

What it thinks follows from what it is shown, and from how many steps of its plan stand in the journal: so it
thinks the same, wherever it is killed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import CommandDependencies, make_commands
from daemon.app.wiring import make_index, make_inner_life, make_state
from daemon.engine.clock import Clock
from daemon.engine.event import part_key
from daemon.engine.journal.journal import Journal
from daemon.engine.kinds import WaitBegan
from daemon.inner_life.commands.cycle_commands import help_command
from daemon.inner_life.contexts import InnerLifeSetup
from daemon.inner_life.recipients import RecipientDirectory
from daemon.kinds import INNER, InnerLifeStarted, ProgramEnded, ProgramStarted, TickLogged
from daemon.knowledge.person_notes import BotTraffic
from daemon.knowledge.visibility import KnownChannels
from daemon.model import ModelReply
from daemon.settings.limits import AllowedProgram, InnerLimits
from tests.core.outside import Script, echo
from tests.core.thinkers import final, written

PAUSE = 20.0
"""Seconds between two ticks."""
RUNS = 150.0
"""Seconds for which a program runs."""
WORDS = "Step"
"""How each answer begins that is a step of the plan."""

Step = Callable[[str], str | None]
"""What it answers to what it is shown; nothing, where what it needs is not there yet."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Implements reaching.Doors: what is open is known, and nothing else can be opened."""

    async def open_dm(self, person: str) -> str:
        return ""

    async def channel_thread(self, channel: str) -> str:
        return ""

    async def record_readers(self, thread: str) -> None:
        pass

    async def are_in(self, channel: str, user: str) -> bool:
        return False

    async def name(self, user: str) -> str:
        return ""


def life_of(journal: Journal, clock: Clock, stack: ExitStack, *, rewritten: bool = False) -> InnerLifeSetup:
    """All that the inner life has here. `rewritten`: its commands are explained in other words."""
    means = CommandDependencies(
        state=make_state(journal, stack.enter_context(make_index(journal))),
        reach=RecipientDirectory(
            journal, clock, Doors(), frozenset(), BotTraffic(journal, clock, 20, KnownChannels(journal))
        ),
        limits=InnerLimits(pause=PAUSE),
        recipes={
            "count": AllowedProgram(argv=("wc", "-w")),
            "list" if rewritten else "ls": AllowedProgram(argv=("ls",)),
        },
    )
    known = make_commands(means)
    return make_inner_life(means, ActionRegistry([help_command(known), *known]), journal, [])


# What happens outside


async def begin(journal: Journal) -> None:
    """The daemon was started, as daemon/within.py tells it."""
    await journal.append(INNER, InnerLifeStarted(), key=f"inner-began:{journal.last_seq_of_all()}")


async def end_programs(journal: Journal, clock: Clock) -> None:
    """Each program ends after a while, as the supervisor would write it down."""
    for started in journal.pending_entries(ProgramStarted):
        if started.at + RUNS <= clock.now():
            ended = ProgramEnded(process=started.seq, name=started.event.name, status="ok", result="3 words")
            key = part_key(started.key, "ended")
            await journal.append(INNER, ended, key=key, cause=started.seq, closes=[started.seq])


def asleep(journal: Journal) -> bool:
    """Does it sleep until something comes, or rest, since a tick failed?"""
    waits = [
        one.event.note for one in journal.pending_entries(WaitBegan, thread=INNER) if not one.event.resumes
    ]
    return any(note.get("idle") or note.get("inner") == "a tick failed" for note in waits)


# What the model answers


def living(journal: Journal, plan: Sequence[Step]) -> Script:
    """Follows this plan in its ticks; in a branch, it calls itself once and answers."""

    def script(seen: str, calls: int) -> ModelReply:
        if '<context n="5"' in seen:
            return written(_tick(journal, plan, seen))
        if "<before>" in seen:
            new = "all I know" not in seen.partition("<now>")[2]
            return written(json.dumps({"new": new, "why": "I see"}))
        if "two and two" in seen:
            return final("Four.") if "<claudius>" in seen else written("Hm.<claudius>Two more.</claudius>")
        return echo(seen, calls)

    return script


def _tick(journal: Journal, plan: Sequence[Step], seen: str) -> str:
    answers = [one.event.answer for one in journal.thread_entries(INNER, TickLogged) if one.event.answer]
    done = sum(journal.entry(seq).event.text.startswith(WORDS) for seq in answers)
    answer = plan[done](seen) if done < len(plan) else None
    return answer or said("Nothing yet.", idle(notes={}, seconds=50_000))


def command(type: str, **args: Any) -> dict[str, Any]:
    return {"type": type, "args": args}


def idle(**args: Any) -> dict[str, Any]:
    return command("cycle.idle", **args)


def said(thought: str, *wanted: dict[str, Any]) -> str:
    """An answer with these commands."""
    lines = [json.dumps({"cmd_id": f"c{number}", **one}) for number, one in enumerate(wanted, 1)]
    return "\n".join([thought, "# Commands:", *lines, "# End of commands"])


def ids(pattern: str, seen: str) -> list[int]:
    return [int(found) for found in re.findall(pattern, seen)]


# The plan


def begins(_seen: str) -> str:
    """Starts a program and a train of thought, and writes down what it is about."""
    return said(
        f"{WORDS} one: I want to know how many words there are.",
        command("diary.add", text="I began to count.", tags=["counting"]),
        command("process.start", name="count"),
        command("process.start", name="think", slots={"task": "What is two and two?"}),
        command("llm_memory.add", text="A count is under way."),
    )


def goes_on(_seen: str) -> str:
    """Makes a mistake or two."""
    return said(
        f"{WORDS} two: while that runs, I look at what I know.",
        command("concepts.add", name="word", description="what is counted"),
        command("process.list"),
        command("nonsense.do", text="no such thing"),
        {"cmd_id": "c1", **command("diary.add", text="Said under a name that is taken.")},
        command("cycle.pause", seconds=5),
    )


def says_it_again(_seen: str) -> str:
    """The same, but for blanks."""
    return goes_on("").replace("runs, I", "runs,  I")


def says_it_nearly(_seen: str) -> str:
    """The same in other words: a small call tells."""
    return goes_on("").replace("what I know", "all I know").replace("no such thing", "never carried out")


def deals_with_it(seen: str) -> str | None:
    """What has ended is marked; then it sleeps until anything comes."""
    ended = ids(r'<process id="(\d+)"[^>]*status="ok"', seen)
    running = ids(r'<process id="(\d+)"[^>]*status="in_progress"', seen)
    if running:
        until = idle(processes=running, notes={"priority": "normal"}, seconds=40_000)
        return said("Not yet: something runs.", until)
    thought = f"{WORDS} three: all that ran has ended, and I have dealt with it: {ended}."
    marks = [command("process.mark", id=one) for one in ended]
    return said(thought, *marks, idle(notes={"priority": "normal"}, seconds=40_000))


def reads(seen: str) -> str | None:
    """Somebody wrote: it reads that, where it was said."""
    came = ids(r"notes came: (\d+)", seen) or ids(r"note (\d+), ", seen)
    if not came:
        return None
    return said(
        f"{WORDS} four: somebody wrote to me, and I want to see it.",
        command("notes.read", ids=came[-1:]),
        command("notes.tag", ids=came[-1:], tags=["greeting"]),
    )


def answers(seen: str) -> str | None:
    """In the view of that conversation: says something there, and remembers it."""
    here = re.findall(r"in view: .*\((sess-\w+)\)", seen)
    if not here:
        return None
    return said(
        f"{WORDS} five: they told me a secret, and deserve a word.",
        command("message.send", to=here[0], text="I thought of you."),
        command("message.send", to=here[0], text="i thought  of you."),
        command("diary.add", text="They told me SECRET."),
        command("notes.hide", ids=ids(r'<note id="(\d+)"', seen) or [1]),
    )


def sleeps(_seen: str) -> str:
    """Until a time, and nothing else."""
    return said(f"{WORDS} six: that is enough, good night.", idle(seconds=300))


def fails(_seen: str) -> str:
    """Something that nobody thought of goes wrong, each time."""
    raise LookupError("poison")


PLAN = (begins, goes_on, says_it_again, says_it_nearly, deals_with_it, reads, answers, sleeps)
ALONE = (begins, goes_on, says_it_again, deals_with_it, reads, sleeps)
"""Where it hears what is said, and nobody is there to be spoken to."""
