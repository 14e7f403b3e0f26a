"""Inner life in the crash harness and its scripted model.

Thoughts depend only on prompt and journal, so kills do not change them.
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
from daemon.knowledge.bot_traffic import BotTraffic
from daemon.knowledge.visibility import KnownChannels
from daemon.model import ModelReply
from daemon.settings.limits import AllowedProgram, InnerLimits
from tests.core.file_world import Script, echo
from tests.core.open_thought_scripts import final, written

PAUSE = 20.0
"""Seconds between ticks."""
RUNS = 150.0
"""Seconds of a program."""
WORDS = "Step"

Step = Callable[[str], str | None]
"""Answer to a prompt; None if something it needs is missing."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Implements reaching.Doors: nothing new can be opened."""

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


def make_life(journal: Journal, clock: Clock, stack: ExitStack, *, rewritten: bool = False) -> InnerLifeSetup:
    """Make the inner life; `rewritten` changes descriptions of commands."""
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


# Outside


async def begin_inner_life(journal: Journal) -> None:
    await journal.append(INNER, InnerLifeStarted(), key=f"inner-began:{journal.last_seq_of_all()}")


async def end_programs(journal: Journal, clock: Clock) -> None:
    """End due programs like the supervisor."""
    for started in journal.pending_entries(ProgramStarted):
        if started.at + RUNS <= clock.now():
            ended = ProgramEnded(process=started.seq, name=started.event.name, status="ok", result="3 words")
            key = part_key(started.key, "ended")
            await journal.append(INNER, ended, key=key, cause=started.seq, closes=[started.seq])


def is_asleep(journal: Journal) -> bool:
    """True if it idles, or rests after a failed tick."""
    waits = [
        one.event.note for one in journal.pending_entries(WaitBegan, thread=INNER) if not one.event.resumes
    ]
    return any(note.get("idle") or note.get("inner") == "a tick failed" for note in waits)


# Model


def scripted_life(journal: Journal, plan: Sequence[Step]) -> Script:
    """Return a script that follows the plan in ticks."""

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
    lines = [json.dumps({"cmd_id": f"c{number}", **one}) for number, one in enumerate(wanted, 1)]
    return "\n".join([thought, "# Commands:", *lines, "# End of commands"])


def ids(pattern: str, seen: str) -> list[int]:
    return [int(found) for found in re.findall(pattern, seen)]


# Plan


def begins(_seen: str) -> str:
    return said(
        f"{WORDS} one: I want to know how many words there are.",
        command("diary.add", text="I began to count.", tags=["counting"]),
        command("process.start", name="count"),
        command("process.start", name="think", slots={"task": "What is two and two?"}),
        command("llm_memory.add", text="A count is under way."),
    )


def goes_on(_seen: str) -> str:
    return said(
        f"{WORDS} two: while that runs, I look at what I know.",
        command("concepts.add", name="word", description="what is counted"),
        command("process.list"),
        command("nonsense.do", text="no such thing"),
        {"cmd_id": "c1", **command("diary.add", text="Said under a name that is taken.")},
        command("cycle.pause", seconds=5),
    )


def says_it_again(_seen: str) -> str:
    """Repeat the answer with other blanks."""
    return goes_on("").replace("runs, I", "runs,  I")


def says_it_nearly(_seen: str) -> str:
    """Repeat it in other words, which a small call detects."""
    return goes_on("").replace("what I know", "all I know").replace("no such thing", "never carried out")


def deals_with_it(seen: str) -> str | None:
    """Mark ended programs, then sleep until any note."""
    ended = ids(r'<process id="(\d+)"[^>]*status="ok"', seen)
    running = ids(r'<process id="(\d+)"[^>]*status="in_progress"', seen)
    if running:
        until = idle(processes=running, notes={"priority": "normal"}, seconds=40_000)
        return said("Not yet: something runs.", until)
    thought = f"{WORDS} three: all that ran has ended, and I have dealt with it: {ended}."
    marks = [command("process.mark", id=one) for one in ended]
    return said(thought, *marks, idle(notes={"priority": "normal"}, seconds=40_000))


def reads(seen: str) -> str | None:
    came = ids(r"notes came: (\d+)", seen) or ids(r"note (\d+), ", seen)
    if not came:
        return None
    return said(
        f"{WORDS} four: somebody wrote to me, and I want to see it.",
        command("notes.read", ids=came[-1:]),
        command("notes.tag", ids=came[-1:], tags=["greeting"]),
    )


def answers(seen: str) -> str | None:
    """Answer in the conversation in view, and remember it."""
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
    return said(f"{WORDS} six: that is enough, good night.", idle(seconds=300))


def fails(_seen: str) -> str:
    raise LookupError("poison")


PLAN = (begins, goes_on, says_it_again, says_it_nearly, deals_with_it, reads, answers, sleeps)
ALONE = (begins, goes_on, says_it_again, deals_with_it, reads, sleeps)
"""Plan without anybody to speak to."""
