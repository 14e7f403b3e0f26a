"""ISM run: repeatable lookups run concurrently; visible effects wait for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from daemon.actions.action import ActionArguments, ActionDefinition
from daemon.actions.action import RunContext as AnyRun
from daemon.engine.event import of_kind
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ActionObserved, ActionStarted, ModelCall, RunMessage
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.playbooks.built_in import respond
from daemon.playbooks.run import PlaybookRun, play_to_end
from daemon.process import Transition, Turn
from daemon.processes.problem_solving import NAME
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook
from daemon.turn.turn import Process
from tests.core.file_world import PhaseClock, echo
from tests.core.unusual_processes import check_single_effect
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint

ROUNDS = 8


class What(ActionArguments):
    """What to look at."""

    what: str


def running(home: Path) -> Mapping[str, Process]:
    """Look up twice, delete irreversibly, look up once more."""

    async def look(_run: AnyRun, args: What) -> str:
        append_line(home / "looks.jsonl", args.what)
        KillPoint.reach()
        return f"seen {args.what}, the {len(read_lines(home / 'looks.jsonl'))}th"

    async def delete(run: AnyRun, _args: object) -> str:
        assert isinstance(run.turn, Turn)
        known = run.turn.deps.journal.entries_under(run.turn.execution.id)
        begun = [entry.event.name for entry in of_kind(ActionStarted, known)]
        done = [entry.event.name for entry in of_kind(ActionObserved, known)]
        if "Delete" not in begun or sorted(begun) != sorted(["Delete", *done]):
            raise SystemExit(f"the world sees what is not on disk: {begun} were begun, {done} done")
        append_line(home / "effects.jsonl", "deleted")
        KillPoint.reach()
        return "deleted"

    actions = [
        ActionDefinition(name="Look", description="Look it up.", perform=look, args=What, effect=True),
        ActionDefinition(name="Delete", description="Delete.", perform=delete, effect=True, repeatable=False),
        respond.definition(),
    ]

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        book = parse_playbook(NAME, turn.text(f"{PLAYBOOK_FOLDER}{NAME}"))
        return await play_to_end(PlaybookRun(turn, book, actions, ROUNDS))

    return {"conversation": conversation}


def check_ism_run(home: Path) -> None:
    """Check one deletion, and that choices name all that the chooser was told."""
    check_single_effect(home)
    asyncio.run(_check_told(home))


async def _check_told(home: Path) -> None:
    async with Journal(home / "journal.db", PhaseClock(9), SOUL_KINDS) as journal:
        told = [entry.seq for entry in journal.entries_of_kind(RunMessage)]
        for call in journal.entries_of_kind(ModelCall):
            before = {seq for seq in told if seq < call.seq}
            assert call.event.name != "choose" or before <= {*call.event.seqs}, f"{call.key} was told more"


def choosing(seen: str, calls: int) -> ModelReply:
    if "## Goal" not in seen:
        return echo(seen, calls)
    if "seen first" not in seen or "seen second" not in seen:
        wanted = [{"name": "Look", "args": {"what": what}} for what in ("first", "second")]
    elif '<result of="Delete">' not in seen:
        wanted = [{"name": "Delete", "args": {}}]
    elif "seen third" not in seen:
        wanted = [{"name": "Look", "args": {"what": "third"}}]
    else:
        wanted = [{"name": "DONE", "args": {}}]
    return ModelReply(outcome="ok", model="echo", text=json.dumps({"why": "", "actions": wanted}))
