"""A definition bound to a run, as the `Action` that `run_ism` knows: shown, agreed to, recorded."""

from __future__ import annotations

import json
import logging
from typing import Any, Protocol

from pydantic import BaseModel

from daemon.actions.action import Definition, Outcome, Run
from daemon.entry import digest
from daemon.errors import SoulError
from daemon.ism import Action
from daemon.ports import Choice
from daemon.process import Question

log = logging.getLogger(__name__)

NOBODY = "nobody can agree to it here: the soul has no owner (OWNER_USER_IDS)"
DECLINED = "an owner was asked, and said no"
HEAR_FIRST = "an owner agreed; but more was said meanwhile: choose it again if it is still right"


class Busy(Run, Protocol):
    """A run that shows what it does and notes what it found."""

    def label(self, meaning: str) -> str: ...
    async def doing(self, meaning: str) -> None: ...
    def found(self, action: str, outcome: Outcome) -> None: ...


def bound(run: Busy, one: Definition) -> Action:
    """The action of this run."""
    agreed: set[str] = set()

    async def handle(_context: str, _log: list[str], args: BaseModel | None = None) -> Outcome:
        await run.doing(one.name)
        given = args.model_dump(mode="json") if args else {}
        if one.approval and (refusal := await _refused(run, one, given, agreed)):
            return refusal
        outcome = await (_recorded(run, one, given, args) if one.effect else one.perform(run, args))
        run.found(one.name, outcome)
        return outcome

    return Action(
        one.name,
        one.description,
        handle,
        args=one.args,
        repeatable=one.repeatable,
        approval=one.approval,
        terminal=one.terminal,
        exclusive=one.exclusive,
    )


async def _recorded(run: Run, one: Definition, given: dict[str, Any], args: BaseModel | None) -> str:
    """Intent and observation; what goes wrong in it is observed, too."""

    async def do() -> str:
        try:
            return str(await one.perform(run, args) or "")
        except SoulError:
            raise
        except Exception as error:  # the action boundary: the chooser is told, the intent closed
            log.warning("The action %s went wrong.", one.name, exc_info=error)
            return f"it failed: {error.__class__.__name__}: {error}"

    entry = await run.turn.effect(one.name, given, do, repeatable=one.repeatable)
    return str(entry.body["text"])


async def _refused(run: Busy, one: Definition, given: dict[str, Any], agreed: set[str]) -> str:
    """Why it is not done: nobody can agree, an owner declined, or has to hear first what came meanwhile."""
    owners, this = tuple(run.turn.owners), digest(given)
    if this in agreed:
        return ""
    if not owners:
        return NOBODY
    args = json.dumps(given, ensure_ascii=False) if given else ""
    question = Question(
        text=run.words("prompts/sentences/approve", action=one.name, args=args),
        to=owners,
        choices=(
            Choice(label=run.label("approve"), value="approve", style="primary"),
            Choice(label=run.label("decline"), value="decline", style="danger"),
        ),
        about={"action": one.name, "args": given},
    )
    answered = await run.turn.ask("approval", question)
    run.hear(answered.memories)
    if answered.value != "approve":
        return DECLINED
    agreed.add(this)
    return HEAR_FIRST if answered.more else ""
