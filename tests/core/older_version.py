"""Journal of an older version with every kind of wait, for newer code.

`python -m tests.core.older_version` writes it if missing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from daemon.actions.action import ActionContext, ActionDefinition
from daemon.app.discovery import PROCESSES
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, SuffixDrawn
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.playbooks.run import PlaybookRun, play_to_end
from daemon.process import Question, Transition, Turn
from daemon.processes.problem_solving import NAME
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook
from daemon.turn.model_calls import call_model
from daemon.turn.prompt_files import JOURNAL_THREAD, SUFFIX_KEY
from daemon.turn.questions import ask
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Process
from tests.core.file_world import PhaseClock, echo
from tests.core.harness import CoreTrial
from tests.core.open_thought_scripts import branching
from tests.core.scenario import CoreScenario, dm
from tests.core.waiting_scenarios import pressed
from tests.core.worker_run import open_home
from tests.crashes.json_lines import append_line
from tests.engine.golden import as_line

FOLDER = Path(__file__).parent / "golden"
JOURNAL, SLACK = FOLDER / "upheld.jsonl", FOLDER / "upheld-slack.jsonl"
ROUNDS = 8


def processes(home: Path) -> Mapping[str, Process]:
    """Return a process that asks, publishes with approval, or converses."""

    async def publish(_context: ActionContext, _args: object) -> str:
        append_line(home / "effects.jsonl", "published")
        return "it is published"

    action = ActionDefinition(
        name="Publish",
        description="Publish it.",
        perform=publish,
        approval=True,
        effect=True,
        repeatable=False,
    )

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        words = turn.answers[0].event.text
        if "publish" in words:
            return await play_to_end(
                PlaybookRun(
                    turn, parse_playbook(NAME, turn.text(f"{PLAYBOOK_FOLDER}{NAME}")), [action], ROUNDS
                )
            )
        if "ferry" not in words:
            return await PROCESSES["conversation"](turn)
        thought = await call_model(turn, "think", turn.memory, "fast")
        answered = await ask(turn, "ask", Question(text="Which one?", to=tuple(turn.people)))
        memory = turn.memory.with_memory(entry_as_memory(thought), *answered.memories)
        return memory.with_memory(*map(entry_as_memory, await say(turn, f"So: {answered.value}")))

    return {**PROCESSES, "conversation": conversation}


def answers(seen: str, calls: int) -> ModelReply:
    if "publish" in seen and "## Goal" in seen:
        name = "DONE" if '<result of="Publish">' in seen else "Publish"
        return ModelReply(
            outcome="ok", model="echo", text=json.dumps({"why": "", "actions": [{"name": name}]})
        )
    if "both" in seen or "look at" in seen:
        return branching(seen, calls)
    return echo(seen, calls)


def away(seen: str, calls: int) -> ModelReply:
    if "storm" in seen:
        return ModelReply(outcome="failed", model="echo", failure="unreachable")
    return answers(seen, calls)


BEFORE = CoreScenario(
    inputs=[
        dm(1, "hello", thread="ended"),
        dm(2, "the ferry?", thread="asked"),
        dm(3, "publish it", thread="approved"),
        dm(4, "both", thread="open"),
        dm(5, "the storm?", thread="away", phase=1),
    ],
    endings=[],
    script=away,
    processes=processes,
    sees_all=True,
)
AFTER = CoreScenario(
    inputs=[
        dm(6, "the first", thread="asked", phase=2),
        pressed(7, "approve", phase=2, thread="approved"),
        dm(8, "enough", thread="open", phase=2),
        pressed(9, "approve", phase=3, thread="approved"),
    ],
    endings=[],
    script=answers,
    processes=processes,
    sees_all=True,
    restarts=True,
)
"""Events after the update; a changed action is approved again."""


async def _mark(home: Path) -> None:
    async with Journal(home / "journal.db", PhaseClock(0), SOUL_KINDS) as journal:
        await journal.append(JOURNAL_THREAD, SuffixDrawn(suffix="k7"), key=SUFFIX_KEY, author="core")


def write() -> None:
    """Run until all conversations wait; keep journal and Slack file."""
    with open_home("upheld") as home:
        asyncio.run(_mark(home))
        assert CoreTrial(home, BEFORE).run_phases(range(BEFORE.phases)) is None
        with open_reader(home / "journal.db", SOUL_KINDS) as journal:
            lines = [as_line(journal.kinds.dump(one.event), one) for one in journal.entries_since(0, 100_000)]
        JOURNAL.write_text("".join(f"{line}\n" for line in lines))
        SLACK.write_text((home / "slack.jsonl").read_text())


if __name__ == "__main__" and not JOURNAL.exists():
    write()
