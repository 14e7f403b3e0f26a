"""Definitions of actions, shared by runs, help and docs, and their binding to a turn."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from daemon.actions.approvals import (
    APPROVE,
    DECLINE,
    ApprovalContext,
    arguments_for_approval,
    ask_for_approval,
    hear_what_came,
)
from daemon.engine.event import digest, fingerprint
from daemon.engine.exceptions import EngineError
from daemon.errors import describe_error
from daemon.ism import Action, ActionRefused, FinalMemory, FinishRun, RunContinuation, parse_process_return
from daemon.memory import WorkingMemory
from daemon.model import Role
from daemon.prompts.chooser import ISMResult, fence_result, validation_fault
from daemon.prompts.elements import escape_tags, parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.model_calls import MemoryAndCall, Schema
from daemon.turn.questions import Question, two_buttons
from daemon.turn.turn import Turn

log = logging.getLogger(__name__)

TRANSITION_PREFIX = "To_"


MOST_WHOLE = 2**53 - 1
"""Largest integer that every JSON reader represents exactly; SQLite can store it, too."""


Outcome = str | ISMResult | FinishRun | RunContinuation | WorkingMemory | Sequence[Any] | None
"""Return value of an action: an observation, a response, a transition, or the run's end.

With a parameter `recurse` or `run` also `recurse(…)`, a working memory or `[memory, process, {"executeNow":
True}]`, as in the seed's first example.
"""


class ActionContext(ApprovalContext, Protocol):
    def show_status(self, meaning: str) -> None: ...

    def report_finding(self, action: str, outcome: Outcome) -> None:
        """Record an action's result as a finding for the final answer."""

    def is_new(self, text: str) -> bool:
        """True if no result or memory contains this text; a second call returns False."""


class RunContext(ActionContext, Protocol):
    """Context of an action in a playbook's run."""

    @property
    def role(self) -> Role: ...

    @property
    def notes(self) -> str:
        """Findings as text for the model; empty if there are none."""

    async def ask(
        self,
        name: str,
        memory: WorkingMemory,
        question: str,
        role: Role,
        schema: Schema | None = None,
        ends: Sequence[str] = (),
    ) -> MemoryAndCall:
        """Ask a cognitive step's question, waiting for outages; None without an answer."""

    def report_told(self, memory: WorkingMemory, *, stopped: bool = False) -> None:
        """Note that people know the result, unless `stopped`; `memory` is the conversation now."""


Perform = Callable[[Any, Any], Awaitable[Any]]
"""Function of an action, with its context, and `args` (None without arguments).

The context is an ActionContext; in runs a RunContext, for inner commands a TickContext. It returns an
Outcome; for inner commands a CommandResult.
"""


class BoundedNumbers(BaseModel):
    """A model whose whole numbers lie within ±MOST_WHOLE unless it names other limits, as its schema says."""

    @model_validator(mode="after")
    def _check_whole_numbers(self) -> Self:
        for place, number in _whole_numbers(self, ""):
            if abs(number) > MOST_WHOLE:
                raise ValueError(f"{place} should be between {-MOST_WHOLE} and {MOST_WHOLE}")
        return self

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return pydantic's JSON schema, with limits for all integers."""
        schema: dict[str, Any] = _with_limits(super().model_json_schema(*args, **kwargs))
        return schema


def _whole_numbers(value: object, place: str) -> Iterator[tuple[str, int]]:
    match value:
        case int():
            yield place, value
        case BaseModel() | Mapping():
            for name, inner in dict(value).items():
                yield from _whole_numbers(inner, f"{place}.{name}".removeprefix("."))
        case list() | tuple() | set() | frozenset():
            for inner in value:
                yield from _whole_numbers(inner, place)


def _with_limits(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_limits(one) for one in part]
    if not isinstance(part, dict):
        return part
    made = {key: _with_limits(value) for key, value in part.items()}
    if made.get("type") == "integer" and not made.keys() & {"enum", "const"}:
        if not made.keys() & {"minimum", "exclusiveMinimum"}:
            made["minimum"] = -MOST_WHOLE
        if not made.keys() & {"maximum", "exclusiveMaximum"}:
            made["maximum"] = MOST_WHOLE
    return made


class ActionArguments(BoundedNumbers):
    """What the arguments of an action are made of: a text that is only blank counts as none; nan and inf,
    which no JSON holds, are refused."""

    model_config = ConfigDict(str_strip_whitespace=True, allow_inf_nan=False)


class StrictArguments(ActionArguments):
    """Arguments that are all known."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(StrictArguments):
    """No arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDefinition:
    """Action that the soul may choose.

    `description` is for the model. `repeatable`: may run again after a crash. `approval`: an owner must
    agree. `terminal`: ends the run. `exclusive`: chosen alone. `effect`: one recorded step that returns text
    or None. `in_the_open`: available in open thought, too. `playbooks`: those that offer it without naming
    it. `inner`: for the inner life only. `by_others`: strangers wrote name, description and arguments.
    Without `listed`, no prompt shows it: it is found by a search. Without `logs_result`, a run's log does not
    quote its results. `stands_for` makes the whole action when it is used.
    """

    name: str
    description: str
    perform: Perform
    args: type[BaseModel] | None = None
    repeatable: bool = True
    approval: bool = False
    terminal: bool = False
    exclusive: bool = False
    effect: bool = False
    in_the_open: bool = True
    playbooks: tuple[str, ...] = ()
    inner: bool = False
    by_others: bool = False
    listed: bool = True
    logs_result: bool = True
    stands_for: Callable[[], ActionDefinition] | None = None

    version: str = field(init=False, default="")
    """Digest of text, arguments and code; empty if no approval is needed."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the arguments; empty if there are none."""
        if self.args is None:
            return {}
        return self.args.model_json_schema()

    def __post_init__(self) -> None:
        """Read the source code now: later edits must not change the version."""
        if self.approval:
            object.__setattr__(self, "version", _version(self))


def _version(definition: ActionDefinition) -> str:
    try:
        source = inspect.getsource(definition.perform)
    except (OSError, TypeError):  # the source is not available
        source = getattr(definition.perform, "__qualname__", type(definition.perform).__qualname__)
    return digest([definition.description, definition.schema, source])


class BaseActionContext:
    """Common part of action contexts.

    Owner's texts are as of the turn's begin. `shown` are results of actions, shared by parallel contexts.
    """

    def __init__(self, turn: Turn, memory: WorkingMemory, shown: list[str] | None = None) -> None:
        self.turn = turn
        self.memory = memory
        self.agreed = set[str]()
        self._shown = [] if shown is None else shown
        self._labels = parse_labels(turn.text(LABELS_TEXT))

    def prompt(self, name: str, **words: str) -> str:
        return self.turn.prompt(name, **words)

    def label(self, meaning: str) -> str:
        return self._labels.get(meaning, meaning)

    def is_new(self, text: str) -> bool:
        escaped = escape_tags(text)
        is_remembered = any(escaped in one.content for one in self.memory.memories)
        if is_remembered or any(text in one for one in self._shown):
            return False
        self._shown.append(text)
        return True


LONGEST_FAULT, LONGEST_SHOWN_SCHEMA = 600, 3_000
"""Most characters of the faults of arguments, and of the schema that they do not fit."""


def bind_action(run: ActionContext, definition: ActionDefinition) -> Action:
    """Bind an action to a context, so that a run can choose it."""

    async def handle(_context: object, log: list[str], args: BaseModel | None = None) -> Outcome:
        if definition.stands_for:
            return await _perform_found_action(run, definition.stands_for(), log, args)
        run.show_status(definition.name)
        given = dict[str, Any]()
        if args:
            given = args.model_dump(mode="json")
        if definition.approval:
            await _agree(run, definition, given)
        if definition.effect:
            outcome: Outcome = await _recorded(run, definition, given, args)
        else:
            outcome = _remembered(run, await definition.perform(run, args), log)
        run.report_finding(definition.name, outcome)
        return outcome

    return Action(
        definition.name,
        definition.description,
        handle,
        args=definition.args,
        terminal=definition.terminal,
        exclusive=definition.exclusive,
        by_others=definition.by_others,
        listed=definition.listed,
        logs_result=definition.logs_result,
    )


async def _perform_found_action(
    run: ActionContext, definition: ActionDefinition, log: list[str], args: BaseModel | None
) -> Outcome:
    """Perform an action whose arguments are not checked yet. Raises ActionRefused with its schema."""
    checked: BaseModel | None = None
    if definition.args:
        checked = checked_arguments(definition.args, args.model_dump() if args else {}, run.label)
    outcome: Outcome = await bind_action(run, definition).handler("", log, args=checked)
    return outcome


def checked_arguments(form: type[BaseModel], given: object, label: Callable[[str], str]) -> BaseModel:
    """Return the arguments of a tool by others. Raises ActionRefused with the faults and the schema."""
    try:
        return form.model_validate(given)
    except ValidationError as error:
        fault = fence_result(validation_fault(error, "args"), LONGEST_FAULT)
        schema = fence_result(json.dumps(form.model_json_schema(), ensure_ascii=False), LONGEST_SHOWN_SCHEMA)
        told = f"<described>{fault}\n{schema}</described>"
        raise ActionRefused(f"{label('wrong arguments')}: {told}") from None


def _remembered(run: ActionContext, outcome: Any, log: list[str]) -> Outcome:
    """Return an outcome without memories; added ones go to the run and its log.

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
    run: ActionContext, definition: ActionDefinition, given: dict[str, Any], args: BaseModel | None
) -> str:
    async def do() -> str:
        try:
            return _text(definition, await definition.perform(run, args))
        except EngineError:
            raise
        except Exception as error:  # a failed action must not end the turn
            log.warning("The action %s went wrong.", definition.name, exc_info=error)
            return f"{run.label('failed')}: {describe_error(error, run.label)}"

    if definition.repeatable:
        observed = await run.turn.effect_soon(definition.name, given, do)
        return observed.text
    entry = await run.turn.effect(definition.name, given, do, repeatable=False)
    return entry.event.text


def _text(definition: ActionDefinition, outcome: Outcome) -> str:
    if outcome is None or isinstance(outcome, str):
        return outcome or ""
    kind = type(outcome).__name__
    raise TypeError(f"{definition.name} returned a {kind}, and only a text is kept: it has to return a str")


async def _agree(run: ActionContext, definition: ActionDefinition, given: dict[str, Any]) -> None:
    owners = run.turn.deciders
    choice = fingerprint(definition.name, given)
    if choice in run.agreed:
        run.agreed.discard(choice)
        return
    if not owners:
        raise ActionRefused(run.label("nobody can agree"))
    args, owner = arguments_for_approval(run, given), f"<@{owners[0]}>"
    question = Question(
        text=run.prompt("prompts/sentences/approve", action=definition.name, args=args, owner=owner),
        to=owners,
        owners=owners,
        choices=two_buttons(run.turn.text(LABELS_TEXT), APPROVE, DECLINE),
        about={"action": definition.name, "version": definition.version, "args": given},
    )
    answered = await ask_for_approval(run, question)
    if answered.value != APPROVE:
        raise ActionRefused(run.label("declined"))
    await hear_what_came(run, answered, choice)
