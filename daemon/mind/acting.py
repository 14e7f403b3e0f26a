"""Actions, what they come to, and how a chosen one is carried out. For daemon/ism.py."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from daemon.errors import SoulError
from daemon.mind.choice import Chosen
from daemon.mind.choice_schema import DONE
from daemon.mind.choosing import Part, Wording, fenced, filled, result
from daemon.mind.recall import plain

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
    appended to it is told to the chooser. `terminal` ends the run; `exclusive` runs alone; `available` says
    why it is not available now. `repeatable` and `approval` are for whoever binds it, not for the run.
    """

    name: str
    description: str
    handler: Callable[..., Any]
    _: KW_ONLY
    args: type[BaseModel] | None = None
    repeatable: bool = True
    approval: bool = False
    terminal: bool = False
    exclusive: bool = False
    available: Callable[[], str | None] | None = None

    def __post_init__(self) -> None:
        if self.name.strip().casefold() in ("", DONE.casefold()):
            raise ValueError(f"an action cannot be named {self.name!r}: {DONE} is how a run ends")


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


class Waiting(str):
    """From a handler: what was found, where looking again is what one does: it is not repetition."""


class Declined(str):
    """From whoever is asked to choose: the model would not answer, and asking again is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of a chosen action, as the chooser is told. `ok`: it was carried out."""

    note: str
    ok: bool = True
    end: StopReason | None = None
    waits: bool = False


class Acting:
    """The actions of one run, its log, and what they have come to."""

    def __init__(self, context: str, actions: Iterable[Action], wording: Wording, most: int) -> None:
        self._context, self._wording, self._most = context, wording, most
        self.actions: dict[str, Action] = {}
        for one in actions:
            if self.actions.setdefault(one.name, one) is not one:
                raise ValueError(f"two actions of one run are named {one.name}")
        self.log: list[str] = []
        self.responses: list[str] = []
        self.next_process: str | None = None

    async def act(self, chosen: Chosen, place: int, *, alone: bool) -> Came:
        """Carry it out, if that is possible now. What goes wrong in it is told to the chooser.

        Raises what is no Exception, and SoulErrors: they are not the action's.
        """
        before = len(self.log)
        try:
            action = self._possible(chosen.name, place, alone=alone)
            args = self._arguments(action, chosen.args)
            outcome = await answer(action.handler(self._context, self.log, **args))
        except Refused as refused:
            return self.refuse(chosen.name, str(refused))
        except SoulError:
            raise
        except Exception as error:
            if isinstance(error, ExceptionGroup) and error.subgroup(SoulError):
                raise
            log.warning("the action %s raised %s", chosen.name, type(error).__name__, exc_info=True)
            text = filled(self._wording.raised, error=fenced(f"{type(error).__name__}: {error}"))
            return Came(note=self._told(chosen.name, text, before), ok=False)
        return self._came(action, outcome, before)

    def refuse(self, name: str, reason: str) -> Came:
        """It is not carried out, for this reason."""
        note = filled(self._wording.not_run, name=plain(name), reason=reason)
        self.log.append(note)
        return Came(note=note, ok=False)

    def _possible(self, name: str, place: int, *, alone: bool) -> Action:
        words, action = self._wording, self.actions.get(name)
        if action is None:
            raise Refused(filled(words.unknown, names=", ".join(sorted(self.actions))))
        if place >= self._most:
            raise Refused(filled(words.too_many, most=self._most))
        if action.exclusive and not alone:
            raise Refused(words.exclusive)
        if action.available and (reason := action.available()):
            raise Refused(filled(words.unavailable, reason=fenced(reason)))
        return action

    def _arguments(self, action: Action, given: object) -> dict[str, BaseModel]:
        if action.args is None:
            return {}
        try:
            return {"args": action.args.model_validate({} if given is None else given)}
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, one['loc'])) or 'args'}: {one['msg']}" for one in error.errors())
            raise Refused(filled(self._wording.bad_arguments, error=fenced("; ".join(faults)))) from None

    def _came(self, action: Action, outcome: object, before: int) -> Came:
        end: StopReason | None = "finished" if action.terminal or isinstance(outcome, Finish) else None
        found = outcome
        if isinstance(outcome, ISMResult | Finish):
            found = outcome.response
            self.responses += [] if outcome.response is None else [outcome.response]
        if isinstance(outcome, ISMResult) and outcome.next_process:
            self.next_process, end = outcome.next_process, "transition"
        note = self._told(action.name, "" if found is None else str(found), before)
        return Came(note=note, end=end, waits=isinstance(outcome, Waiting))

    def _told(self, name: str, text: str, before: int) -> str:
        """What the chooser is told: the lines that were added to the log, and what was found."""
        lines = [line for line in (*self.log[before:], text) if line]
        self.log += [f"{name}: {text}"] if text else []
        return result(name, "\n".join(lines) or self._wording.quiet)


class Refused(Exception):
    """A chosen action is not carried out; the text says why, for the chooser. A handler may raise it, too."""


async def answer(given: Any) -> Any:
    """What a callable gave, or what it promised."""
    return await given if inspect.isawaitable(given) else given


async def asked(invoke: Callable[[Any], Any], prompt: str) -> str:
    """What the model says to this. Raises TypeError where `invoke` is no async function to a str."""
    came = invoke(prompt)
    if not inspect.isawaitable(came):
        gave = type(came).__name__
        raise TypeError(f"invoke_llm has to be an async function from str to str; a call of it gave {gave}")
    reply = await came
    if not isinstance(reply, str):
        raise TypeError(f"invoke_llm has to return a str; it returned {type(reply).__name__}")
    return reply
