"""Actions, what they come to, and how a chosen one is carried out. For daemon/ism.py."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from daemon.engine.exceptions import EngineError
from daemon.mind.choice import DONE
from daemon.mind.choosing import Wording, fenced, result_of, wrong_in
from daemon.mind.wording import fill

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
    returns None, a str (what was found), ISMResult or Finish. `internal_log` is a list of lines; what is
    appended to it is told to the chooser. `terminal` ends the run; `exclusive` runs alone.
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
class Part:
    """One message to the chooser, or of it."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ISMResult:
    """From a handler: a response, which is kept, or the process to go over into, which ends the run.

    From `run_ism`: the last response, all `responses`, why it ended, how many choices were carried out and
    calls made, the lines of its log, and the `parts` that a next prompt would have had.
    """

    response: str | None = None
    next_process: str | None = None
    _: KW_ONLY
    stop_reason: StopReason | None = None
    responses: tuple[str, ...] = ()
    loops: int = 0
    calls: int = 0
    log: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """From a handler: the run is over, perhaps with a response."""

    response: str | None = None


class Refused(Exception):
    """A chosen action is not carried out; the text says why, for the chooser. A handler may raise it, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a chosen action, as the chooser is told. `ok`: it was carried out."""

    note: str
    ok: bool = True
    end: StopReason | None = None
    response: str | None = None
    next_process: str | None = None


async def carry_out(action: Action, given: object, context: str, lines: list[str], wording: Wording) -> Came:
    """Carry out an action with what was given as its arguments; `lines` are the run's log.

    What goes wrong in it is told to the chooser. Raises Refused, what is no Exception, and EngineErrors: they
    are not the action's.
    """
    before = len(lines)
    try:
        outcome = await answer(action.handler(context, lines, **_arguments(action, given, wording)))
    except (Refused, EngineError):
        raise
    except Exception as error:
        if isinstance(error, ExceptionGroup) and error.subgroup(EngineError):
            raise
        log.warning("the action %s raised %s", action.name, type(error).__name__, exc_info=True)
        text = fill(wording.raised, error=fenced(f"{type(error).__name__}: {error}"))
        came = Came(note=text, ok=False)
    else:
        came = _came_of(outcome, action)
    told = lines[before:]
    if came.note:
        lines.append(f"{action.name}: {came.note}")
        told.append(came.note)
    note = "\n".join(line for line in told if line)
    return replace(came, note=result_of(action.name, note or wording.quiet))


def _came_of(outcome: object, action: Action) -> Came:
    """What a handler's outcome means for the run; the note is what was found."""
    end: StopReason | None = None
    if action.terminal:
        end = "finished"
    match outcome:
        case None:
            return Came(note="", end=end)
        case Finish(response=response):
            return Came(note=str(response or ""), end="finished", response=response)
        case ISMResult(response=response, next_process=process):
            if process:
                end = "transition"
            return Came(note=str(response or ""), end=end, response=response, next_process=process)
    return Came(note=str(outcome), end=end)


def introduced(action: Action, wording: Wording) -> str:
    """What the chooser is told of it first."""
    text = fill(wording.action, name=action.name, description=action.description)
    if action.args is None:
        return text
    schema = json.dumps(action.args.model_json_schema(), ensure_ascii=False)
    return f"{text}\n{fill(wording.arguments, schema=schema)}"


async def answer(given: Any) -> Any:
    """What a callable gave, or what it promised."""
    if inspect.isawaitable(given):
        return await given
    return given


def _arguments(action: Action, given: object, wording: Wording) -> dict[str, BaseModel]:
    """Its arguments, checked. Raises Refused where they are wrong."""
    if action.args is None:
        return {}
    if given is None:
        given = {}
    try:
        return {"args": action.args.model_validate(given)}
    except ValidationError as error:
        raise Refused(fill(wording.bad_arguments, error=fenced(wrong_in(error, "args")))) from None
