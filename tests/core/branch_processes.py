"""Processes whose branches ask people through their roots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from daemon.actions.action import ActionContext, ActionDefinition
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import PROCESSES, ProcessDependencies, bind_processes
from daemon.engine.event import root_of
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, BranchAnswer, BranchQuestion, IncomingMessage, QuestionAsked
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.ports import Button
from daemon.process import Question, Transition, Turn
from daemon.turn.model_calls import call_model
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.core.open_thought_scripts import OVER, SPOKEN, final, written
from tests.core.unusual_processes import check_single_effect
from tests.crashes.json_lines import append_line
from tests.crashes.kill_points import KillPoint

STRANGER = "U8"
"""Person who cannot read the root's DM."""
OFFERED = "Remember"


def sending(home: Path) -> Mapping[str, Process]:
    """Let a branch delete with approval, and report."""

    async def delete() -> str:
        KillPoint.reach()
        append_line(home / "effects.jsonl", "deleted")
        KillPoint.reach()
        return "deleted"

    async def branch(turn: Turn) -> WorkingMemory:
        thought = await call_model(turn, "think", turn.memory, "fast")
        memory = turn.memory.with_memory(entry_as_memory(thought))
        people = (*turn.owners, STRANGER)
        choices = (Button(label="Yes", value="yes"), Button(label="No", value="no"))
        may = Question(text="May I?", to=people, owners=people, choices=choices)
        answered = await ask(turn, "approval", may)
        memory, result = memory.with_memory(*answered.memories), "nothing"
        if answered.value == "yes":
            done = await turn.effect("delete", {}, delete, repeatable=False)
            memory, result = memory.with_memory(entry_as_memory(done)), done.event.text.partition(":")[0]
        again = await call_model(turn, "think", memory, "fast")
        await turn.ctx.end_thread(f"{result}, said {answered.by or 'nobody'}")
        return memory.with_memory(entry_as_memory(again))

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        if not turn.addressed:
            return await branch(turn)
        if "delete" not in turn.answers[0].event.text:
            return await PROCESSES["conversation"](turn)
        thought = await call_model(turn, "think", turn.memory, "fast")
        wanted = IncomingMessage(
            user="", name="itself", text="delete the whole", ts="1.0", address="", bot=True
        )
        child = await turn.ctx.spawn("errand", wanted)
        [came] = await turn.ctx.join([child])
        spoken = await say(turn, f"It came to {came.result}")
        return turn.memory.with_memory(entry_as_memory(thought), *map(entry_as_memory, spoken))

    return {**PROCESSES, "conversation": conversation}


def thinking_of_it(home: Path) -> Mapping[str, Process]:
    """Think openly with an action that needs approval."""

    async def write(_context: ActionContext, _args: object) -> str:
        KillPoint.reach()
        append_line(home / "effects.jsonl", "written")
        KillPoint.reach()
        return "it is written"

    action = ActionDefinition(
        name=OFFERED, description="Write it.", perform=write, approval=True, effect=True, repeatable=False
    )
    return bind_processes(PROCESSES, ProcessDependencies(actions=ActionRegistry([action])))


def sent(seen: str, calls: int) -> ModelReply:
    """Spawn a branch that acts and reports."""
    words = SPOKEN.findall(seen)
    if not words and "it is written" in seen:
        return final("Written.")
    if not words and "outcome unknown" in seen:
        return final("Perhaps.")
    if not words:
        return written(f"<{OFFERED}/>")
    if "<next>" not in seen:
        return written(OVER)
    if "<spawn-thread" not in seen:
        inside = "<initial-payload>write it down</initial-payload>"
        return written(f'<spawn-thread suggested_sub_id="a">{inside}</spawn-thread>')
    for end in ("Written.", "Perhaps."):
        if end in seen:
            return final(f"The branch: {end}")
    return written("I wait.")


def check_relayed_once(home: Path) -> None:
    """Check one deed, one question to the owner, one report."""
    check_single_effect(home)
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        wished = len(journal.entries_of_kind(BranchQuestion))
        asked = [
            one.event.to
            for one in journal.entries_of_kind(QuestionAsked)
            if one.thread == root_of(one.thread)
        ]
        told = len(journal.entries_of_kind(BranchAnswer))
    assert (wished, asked, told) == (1, [("U9",)], 1), f"wished {wished}, asked {asked}, told {told} times"
