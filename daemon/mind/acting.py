"""Actions, what they come to, and how a chosen one is carried out."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from inspect import Parameter
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from daemon.engine.exceptions import EngineError
from daemon.errors import describe_error
from daemon.memory import WorkingMemory
from daemon.mind.choice import DONE
from daemon.mind.choosing import ChooserTexts, fence_result, result_element, validation_fault
from daemon.mind.recurse import FinalMemory, RecurseFunction, RunContinuation, added_memory
from daemon.mind.schemas import arguments_in_words
from daemon.mind.wording import fill_placeholders
from daemon.process import ProcessReturn, parse_process_return, process_name

log = logging.getLogger(__name__)

Bound = Literal["calls", "tokens", "money", "time"]
End = Literal["done", "finished", "transition", "interrupted", "loops", "stagnation", "refused", "failed"]
StopReason = End | Bound
"""Why a run ended: DONE; an action that ends it; another process; a stop; circles; a bound; the chooser
would not answer; none readable."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the model may choose. Raises ValueError for a name that has another meaning.

    `await handler(prompt_context, internal_log)`, plus `args=` (an instance) where `args` are declared,
    returns None, a str (what was found), ISMResult, Finish, a WorkingMemory, which ends the run, or
    `[memory, process, {"executeNow": True}]`. `internal_log` is a list of lines; what is
    appended to it is told to the chooser. `terminal` ends the run; `exclusive` runs alone.

    A handler that takes a third argument, or one named `recurse`, is the seed's first example: the run goes
    on where it returns `recurse(…)`, and else it is over, with the memory that the handler returns.
    """

    name: str
    description: str
    handler: Callable[..., Any]
    _: KW_ONLY
    args: type[BaseModel] | None = None
    terminal: bool = False
    exclusive: bool = False

    def __post_init__(self) -> None:
        if self.name.strip().casefold() in ("", DONE.casefold()):
            raise ValueError(f"an action cannot be named {self.name!r}: {DONE} is how a run ends")


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One message to the chooser, or of it."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ISMResult:
    """From a handler: a response, which is kept, or the process to go over into, which ends the run.

    That process (its name, function or module) goes to work at once unless `execute_now` is False, with these
    `params`. From `run_ism`: the name of the process, the last response, all `responses`, why it ended, how
    many choices were carried out and calls made, the lines of its log, the `parts` that a next prompt would
    have had, and the working `memory` as its actions left it.
    """

    response: str | None = None
    next_process: str | None = None
    _: KW_ONLY
    execute_now: bool = True
    params: Mapping[str, Any] = field(default_factory=dict)
    memory: str | WorkingMemory | None = None
    stop_reason: StopReason | None = None
    responses: tuple[str, ...] = ()
    loops: int = 0
    calls: int = 0
    log: tuple[str, ...] = ()
    parts: tuple[PromptPart, ...] = ()


@dataclass(frozen=True, slots=True)
class FinishRun:
    """From a handler: the run is over, perhaps with a response."""

    response: str | None = None


class ActionRefused(Exception):
    """A chosen action is not carried out; the text says why, for the chooser. A handler may raise it, too."""

    recorded_name = "Refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """What came of a chosen action, as the chooser is told. `ok`: it was carried out.

    `next` is the process to go over into; `memory` is the working memory from now on, None if it
    stays, and `internal` are lines that its handler wants in the log.
    """

    note: str
    ok: bool = True
    end: StopReason | None = None
    response: str | None = None
    next: ProcessReturn | None = None
    memory: str | WorkingMemory | None = None
    internal: tuple[str, ...] = ()


async def carry_out_action(
    action: Action, given: object, memory: str | WorkingMemory, lines: list[str], wording: ChooserTexts
) -> ActionOutcome:
    """Carry out an action with what was given as its arguments; `lines` are the run's log.

    What goes wrong in it is told to the chooser. Raises Refused, what is no Exception, and EngineErrors: they
    are not the action's.
    """
    before = len(lines)
    recurse = RecurseFunction()
    try:
        arguments = _arguments(action, given, wording)
        places, names = _recursing(action.handler, recurse)
        outcome = await await_result(action.handler(memory, lines, *places, **names, **arguments))
        if places or names:
            outcome = settle_outcome(outcome, recurse)
        came = _came_of(outcome, action, memory)
    except (ActionRefused, EngineError):
        raise
    except Exception as error:
        if isinstance(error, ExceptionGroup) and error.subgroup(EngineError):
            raise
        log.warning("the action %s raised %s", action.name, type(error).__name__, exc_info=True)
        text = fill_placeholders(wording.raised, error=fence_result(describe_error(error, wording.label)))
        came = ActionOutcome(note=text, ok=False)
    lines += _new_lines(came, memory, lines)
    told = lines[before:]
    if came.note:
        lines.append(f"{action.name}: {came.note}")
        told.append(came.note)
    note = "\n".join(line for line in told if line)
    return replace(came, note=result_element(action.name, note or wording.quiet))


def settle_outcome(outcome: object, recurse: RecurseFunction) -> object:
    """Return the outcome of a handler that was given `recurse`: its run is over unless it says otherwise."""
    if outcome is None:
        return recurse.asked or FinishRun()
    if isinstance(outcome, str):
        return FinalMemory(outcome)
    return outcome


def _came_of(outcome: object, action: Action, memory: str | WorkingMemory) -> ActionOutcome:
    """Return what a handler's outcome means for the run; the note is what was found. Raises TypeError."""
    end: StopReason | None = None
    if action.terminal:
        end = "finished"
    match outcome:
        case None:
            return ActionOutcome(note="", end=end)
        case RunContinuation(working=working, internal=internal):
            return ActionOutcome(note=_news(memory, working), memory=working, internal=internal)
        case (WorkingMemory() as left) | FinalMemory(memory=left):
            return ActionOutcome(note=_news(memory, left), end="finished", memory=left)
        case FinishRun(response=response):
            return ActionOutcome(note=str(response or ""), end="finished", response=response)
        case ISMResult(response=response, next_process=process):
            if not process:
                return ActionOutcome(note=str(response or ""), end=end, response=response)
            to = ProcessReturn(
                to=process_name(process), execute_now=outcome.execute_now, params=outcome.params
            )
            return ActionOutcome(note=str(response or ""), end="transition", response=response, next=to)
        case list() | tuple():
            to = parse_process_return(outcome)
            return ActionOutcome(note="", end="transition", next=to, memory=_memory(to.memory))
    return ActionOutcome(note=str(outcome), end=end)


def _memory(given: object) -> str | WorkingMemory | None:
    """Return the memory in a process return. Raises TypeError for anything else."""
    if given is None or isinstance(given, str | WorkingMemory):
        return given
    raise TypeError(f"expected a text or a WorkingMemory before the process, got a {type(given).__name__}")


def _news(before: str | WorkingMemory, now: str | WorkingMemory | None) -> str:
    """Return the part of a memory that was not there before; empty where nothing is new."""
    if now is None:
        return ""
    return added_memory(before, now)[0]


def _new_lines(came: ActionOutcome, memory: str | WorkingMemory, lines: list[str]) -> list[str]:
    """The lines of an internal memory that neither the log nor the working memory has."""
    found = [added_memory(memory, line)[0] for line in came.internal if line not in lines]
    return [line for line in found if line and line != came.note]


def _recursing(
    handler: Callable[..., Any], recurse: RecurseFunction
) -> tuple[list[RecurseFunction], dict[str, RecurseFunction]]:
    """Return `recurse` among the arguments by place or by name, as this handler takes it, or in neither."""
    try:
        parameters = [*inspect.signature(handler).parameters.values()]
    except (TypeError, ValueError):  # it is built in
        return [], {}
    if any(one.name == "recurse" and one.kind is not Parameter.POSITIONAL_ONLY for one in parameters):
        return [], {"recurse": recurse}
    needed = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = [one for one in parameters if one.kind in needed and one.default is one.empty]
    if len([one for one in places if one.name != "args"]) == 3:
        return [recurse], {}
    return [], {}


def action_introduction(action: Action, wording: ChooserTexts) -> str:
    """What the chooser is told of it first."""
    text = fill_placeholders(wording.action, name=action.name, description=action.description)
    if action.exclusive and wording.alone:
        text += f" {wording.alone}"
    if action.args is None:
        return text
    schema = json.dumps(action.args.model_json_schema(), ensure_ascii=False)
    arguments = fill_placeholders(wording.arguments, arguments=arguments_in_words(action.args), schema=schema)
    return f"{text}\n{arguments}"


async def await_result(given: Any) -> Any:
    """What a callable gave, or what it promised."""
    if inspect.isawaitable(given):
        return await given
    return given


def _arguments(action: Action, given: object, wording: ChooserTexts) -> dict[str, BaseModel]:
    """Its arguments, checked. Raises Refused where they are wrong."""
    if action.args is None:
        return {}
    if given is None:
        given = {}
    try:
        return {"args": action.args.model_validate(given)}
    except ValidationError as error:
        raise ActionRefused(
            fill_placeholders(wording.bad_arguments, error=fence_result(validation_fault(error, "args")))
        ) from None
