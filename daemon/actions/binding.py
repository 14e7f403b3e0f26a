"""A definition bound to where it was chosen, as an `Action` of `run_ism`: shown, agreed to, recorded."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import BaseModel

from daemon.actions.action import ActionContext, ActionDefinition, Outcome
from daemon.actions.agreement import arguments_for_approval
from daemon.engine.event import fingerprint
from daemon.engine.exceptions import EngineError
from daemon.errors import describe_error
from daemon.ism import Action, ActionRefused, FinishRun, ISMResult, RunContinuation
from daemon.memory import WorkingMemory
from daemon.mind.recurse import FinalMemory
from daemon.mind.wording import LABELS_TEXT, two_buttons
from daemon.process import Question, parse_process_return

log = logging.getLogger(__name__)


def bind_action(run: ActionContext, one: ActionDefinition) -> Action:
    """The action, as it is carried out here."""
    agreed: set[str] = set()

    async def handle(_context: object, log: list[str], args: BaseModel | None = None) -> Outcome:
        run.show_status(one.name)
        given = dict[str, Any]()
        if args:
            given = args.model_dump(mode="json")
        if one.approval:
            await _agree(run, one, given, agreed)
        if one.effect:
            outcome: Outcome = await _recorded(run, one, given, args)
        else:
            outcome = _remembered(run, await one.perform(run, args), log)
        run.report_finding(one.name, outcome)
        return outcome

    return Action(
        one.name,
        one.description,
        handle,
        args=one.args,
        terminal=one.terminal,
        exclusive=one.exclusive,
    )


def _remembered(run: ActionContext, outcome: Any, log: list[str]) -> Outcome:
    """Return an action's outcome without its memories: the run hears, and its log gets, what is new in them.

    Raises TypeError for a list or tuple that names no process.
    """
    memory: object = None
    match outcome:
        case list() | tuple():
            to = parse_process_return(outcome)
            memory = to.memory
            outcome = ISMResult(next_process=to.to, execute_now=to.execute_now, params=to.params)
        case RunContinuation(working=memory, internal=lines):
            log += [line for line in lines if line not in log]
            outcome = RunContinuation()
        case WorkingMemory():
            memory, outcome = outcome, FinishRun()
        case FinalMemory(memory=found):
            outcome = FinishRun(found)
    if isinstance(memory, WorkingMemory):
        known = {*run.memory.memories}
        run.add_memories([one for one in memory.conversation if one not in known])
    return outcome  # type: ignore[no-any-return]


async def _recorded(
    run: ActionContext, one: ActionDefinition, given: dict[str, Any], args: BaseModel | None
) -> str:
    """Intent and observation; what goes wrong in it is observed, too."""

    async def do() -> str:
        try:
            return _text(one, await one.perform(run, args))
        except EngineError:
            raise
        except Exception as error:  # the action boundary: the chooser is told, the intent closed
            log.warning("The action %s went wrong.", one.name, exc_info=error)
            return f"{run.label('failed')}: {describe_error(error, run.label)}"

    if one.repeatable:
        observed = await run.turn.effect_soon(one.name, given, do)
        return observed.text
    entry = await run.turn.effect(one.name, given, do, repeatable=False)
    return entry.event.text


def _text(one: ActionDefinition, outcome: Outcome) -> str:
    """What is recorded of it. Raises TypeError for what would be lost: only its own steps could say it."""
    if outcome is None or isinstance(outcome, str):
        return outcome or ""
    kind = type(outcome).__name__
    raise TypeError(f"{one.name} returned a {kind}, and only a text is kept: it has to return a str")


async def _agree(run: ActionContext, one: ActionDefinition, given: dict[str, Any], agreed: set[str]) -> None:
    """An owner agrees. Raises Refused: nobody can, one declined, or there is something to hear first."""
    owners = run.turn.deciders
    this = fingerprint(given)
    if this in agreed:
        agreed.discard(this)  # one agreement, one deed
        return
    if not owners:
        raise ActionRefused(run.label("nobody can agree"))
    args, owner = arguments_for_approval(run, given), f"<@{owners[0]}>"
    question = Question(
        text=run.prompt("prompts/sentences/approve", action=one.name, args=args, owner=owner),
        to=owners,
        owners=owners,
        choices=two_buttons(run.turn.text(LABELS_TEXT), "approve", "decline"),
        about={"action": one.name, "version": one.version, "args": given},
    )
    answered = await run.turn.ask("approval", question)
    run.add_memories(answered.memories)
    if answered.value != "approve":
        raise ActionRefused(run.label("declined"))
    before = run.memory
    if await run.is_interrupted():
        raise ActionRefused(run.label("stopped"))
    if answered.more or run.memory is not before:
        agreed.add(this)
        raise ActionRefused(run.label("hear first"))
