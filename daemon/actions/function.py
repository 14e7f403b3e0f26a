"""An action written as a function: its docstring describes it, its typed parameters are its arguments.

A parameter that has a name of GIVEN is no argument: the daemon gives what it stands for. The owner's own are
found in `actions/` (own.py); docs/FIRST_ACTION.md shows one.

Where what is to be read comes from: files that people shared, a thread, a channel's history.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Protocol, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from daemon.actions.action import (
    ActionArguments,
    ActionContext,
    ActionDefinition,
    BoundedNumbers,
    Outcome,
    Perform,
    RunContext,
)
from daemon.documents.document import Document
from daemon.ism import FinishRun, RecurseFunction, RunContinuation, settle_outcome
from daemon.knowledge.search import MessageSearch
from daemon.memory import WorkingMemory
from daemon.ports import Library
from daemon.prompts.chooser import ISMResult
from daemon.prompts.prompt_catalogue import Placeholders, are_prompt_texts
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from daemon.turn.turn import Turn


class SourceProvider(Protocol):
    """Where what is to be read comes from. Each raises DocumentError, with a sentence for whoever asked."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """The files that were shared in this conversation by then: those of these names, or all."""

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """All that was said in this conversation by then; a message is a part, named by its permalink."""

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """What was said in a channel in so many days up to then; without a name, in this one.

        Of another channel only what may be known here, and where all who ask are members.
        """


Function = Callable[..., Awaitable[Outcome]]


Expert = NewType("Expert", bool)
"""Is there a model for the process `expert`?"""


class Say(Protocol):
    """Says something to the people of this conversation, once."""

    async def __call__(self, text: str) -> None: ...


GIVEN: Mapping[str, tuple[object, ...]] = {
    "run": (ActionContext, RunContext),
    "turn": (Turn,),
    "memory": (WorkingMemory,),
    "say": (Say,),
    "recurse": (RecurseFunction,),
    "memories": (MessageSearch,),
    "library": (Library, Library | None),
    "shelf": (SourceProvider,),
    "expert": (Expert,),
    "soul_home": (Path,),
}
"""What the daemon gives, by the name of the parameter, with the types that may be written there."""


WITH_STEPS = frozenset({"run", "turn", "say", "recurse"})
"""Whoever is given one of these may take steps of its own, and decide how its run goes on; any other action
is one step, which is recorded."""


NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")


VARIADIC = frozenset({Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD, Parameter.POSITIONAL_ONLY})


class InvalidAction(ValueError):
    """A function cannot be an action. The text says why, and what to do."""

    recorded_name = "Misshapen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """What this daemon has for its actions; one that needs what is None is not offered."""

    memories: MessageSearch | None = None
    library: Library | None = None
    shelf: SourceProvider | None = None
    expert: Expert = Expert(False)
    soul_home: Path | None = None


NOTHING = ActionDependencies()


@dataclass(frozen=True, kw_only=True)
class ActionFunction:
    """A function that is an action. What it may say besides stands in Definition.

    `effect` is worked out where it is None. `texts` are those of the owner's that it needs, by their paths.
    It has no slots, since it keeps what was worked out of its function: that takes long, and stays the same.
    """

    function: Function
    name: str
    repeatable: bool
    approval: bool = False
    terminal: bool = False
    exclusive: bool = False
    effect: bool | None = None
    playbooks: Sequence[str] = ()
    texts: Mapping[str, Placeholders] = field(default_factory=dict)

    @functools.cached_property
    def faults(self) -> Sequence[str]:
        """Why it cannot be an action, and what to do."""
        return tuple(self._faults())

    def _faults(self) -> Iterator[str]:
        if not NAME.fullmatch(self.name):
            yield f"{self.name} is no name for an action: use a-z, A-Z and 0-9, a letter first"
        if not inspect.iscoroutinefunction(self.function):
            yield "it does not wait: write `async def`"
        if not self.description:
            yield "it is not described: give it a docstring, a sentence by which the model chooses it"
        try:
            parameters = self._parameters
        except (NameError, TypeError, SyntaxError) as error:
            yield f"its types cannot be read ({error}): import what they name, not under TYPE_CHECKING"
            return
        for one in parameters:
            fault = _fault(one)
            if fault:
                yield fault
        fault = self._fault_of_return()
        if fault:
            yield fault
        if isinstance(self.playbooks, str):
            yield f'`playbooks` is a text where a list belongs: write `playbooks=["{self.playbooks}"]`'
        if not are_prompt_texts(self.texts):
            yield 'its `texts` name no `Placeholders`: write `texts={"prompts/…": Placeholders()}`'

    def _fault_of_return(self) -> str:
        """What is wrong with what it says that it returns; empty where nothing is."""
        kept: list[type] = [str, NoneType]
        if not self._is_one_step:
            kept += [ISMResult, FinishRun, RunContinuation, WorkingMemory, list, tuple, Sequence]
        returned = get_type_hints(self.function).get("return")
        kinds: Sequence[Any] = [returned]
        if isinstance(returned, UnionType):
            kinds = get_args(returned)
        for kind in kinds:
            named = get_origin(kind) or kind
            if named is object and not self._is_one_step:  # says nothing; what comes is looked at
                continue
            if isinstance(named, type) and not issubclass(named, tuple(kept)):
                return f"it returns a {inspect.formatannotation(returned)}, and {self._what_is_kept}"
        return ""

    @property
    def _what_is_kept(self) -> str:
        if self._is_one_step:
            return "only a text is kept: write `-> str`, and return a str"
        return (
            "a run takes a text, its memory, `recurse()` or `[memory, process]`: write `-> str`,"
            " `-> WorkingMemory`, `-> RunContinuation` or `-> list[object]`"
        )

    @property
    def _is_one_step(self) -> bool:
        """Is it one step, which is recorded?"""
        if self.effect is not None:
            return self.effect
        return not self._given.keys() & WITH_STEPS

    @property
    def _is_for_runs_alone(self) -> bool:
        """True if it speaks, thinks or goes on as a run does. In open thought no action does."""
        return bool(self._given.keys() & {"say", "recurse"}) or self._given.get("run") is RunContext

    @functools.cached_property
    def _parameters(self) -> Sequence[Parameter]:
        return _parameters(self.function)

    @functools.cached_property
    def _given(self) -> Mapping[str, object]:
        """What the daemon gives it, by name, and the type that is written there."""
        return {one.name: one.annotation for one in self._parameters if one.name in GIVEN}

    @functools.cached_property
    def _arguments(self) -> Sequence[Parameter]:
        return [one for one in self._parameters if one.name not in GIVEN]

    @property
    def _whole(self) -> Parameter | None:
        """The only argument, if it is a pydantic model: then it is the form of all that the model writes."""
        if len(self._arguments) != 1:
            return None
        [only] = self._arguments
        if isinstance(only.annotation, type) and issubclass(only.annotation, BaseModel):
            return only
        return None

    @functools.cached_property
    def _form(self) -> type[BaseModel] | None:
        """The form of what the model writes; None where there are no arguments."""
        if self._whole:
            own: type[BaseModel] = self._whole.annotation
            return create_model(own.__name__, __base__=(own, BoundedNumbers), __doc__=own.__doc__)
        if not self._arguments:
            return None
        fields: dict[str, Any] = {}
        for one in self._arguments:
            default = one.default
            if default is one.empty:
                default = ...
            fields[one.name] = (_described(one.annotation), default)
        return create_model(self.name, __base__=ActionArguments, **fields)

    @property
    def description(self) -> str:
        """The first paragraph of its docstring, in one line."""
        text = inspect.getdoc(self.function) or ""
        paragraph, _, _ = text.partition("\n\n")
        return " ".join(paragraph.split())

    def works_with(self, means: ActionDependencies) -> bool:
        """Is all there that it needs?"""
        return not any(_is_missing(one, means) for one in self._parameters)

    def definition(self, means: ActionDependencies = NOTHING) -> ActionDefinition:
        """The action with what it is given. Raises Misshapen."""
        if self.faults:
            raise InvalidAction("; ".join(self.faults))
        return ActionDefinition(
            name=self.name,
            description=self.description,
            perform=self._perform(means),
            args=self._form,
            repeatable=self.repeatable,
            approval=self.approval,
            terminal=self.terminal,
            exclusive=self.exclusive,
            effect=self._is_one_step,
            in_the_open=not self._is_for_runs_alone,
            playbooks=tuple(self.playbooks),
        )

    def _perform(self, means: ActionDependencies) -> Perform:
        """Calls it with what it is given and what the model wrote; the source of that is the function's."""

        @functools.wraps(self.function)
        async def perform(run: ActionContext, args: BaseModel | None) -> Outcome:
            values = {name: _value_of(name, run, means) for name in self._given}
            if self._whole:
                values[self._whole.name] = args
            elif args:
                values |= dict(args)
            outcome: Any = await self.function(**values)
            recurse = values.get("recurse")
            if isinstance(recurse, RecurseFunction):
                outcome = settle_outcome(outcome, recurse)
            return outcome  # type: ignore[no-any-return]

        return perform


@overload
def action(function: Function, /) -> ActionFunction: ...


@overload
def action(
    *,
    name: str = "",
    repeatable: bool | None = None,
    approval: bool = False,
    terminal: bool = False,
    exclusive: bool = False,
    effect: bool | None = None,
    playbooks: Sequence[str] = (),
    texts: Mapping[str, Placeholders] = ...,
) -> Callable[[Function], ActionFunction]: ...


def action(
    function: Function | None = None, /, *, name: str = "", repeatable: bool | None = None, **how: Any
) -> ActionFunction | Callable[[Function], ActionFunction]:
    """Make an action of a function: `look_up_deploys` becomes `LookUpDeploys`, if it is given no name.

    What needs approval is not repeated, unless it says so.
    """

    def made(function: Function) -> ActionFunction:
        called = name or function.__name__.title().replace("_", "")
        again = repeatable
        if again is None:
            again = not how.get("approval")
        return ActionFunction(function=function, name=called, repeatable=again, **how)

    if function is None:
        return made
    return made(function)


def _parameters(function: Function) -> Sequence[Parameter]:
    """With their types. Raises NameError, TypeError or SyntaxError where these cannot be read."""
    types = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    return [one.replace(annotation=types.get(one.name, one.empty)) for one in signature.parameters.values()]


def _fault(one: Parameter) -> str:
    """What is wrong with a parameter, and what to do; empty where nothing is."""
    if one.kind in VARIADIC:
        return f"it takes `{one}`: write each argument with a name and a type of its own"
    if one.name in GIVEN:
        types = GIVEN[one.name]
        if one.annotation in types:
            return ""
        named = " or ".join(inspect.formatannotation(kind) for kind in types)
        return f"`{one.name}` is what the daemon gives it: write `{one.name}: {named}`, or name it otherwise"
    if one.annotation is one.empty:
        return f"its argument `{one.name}` has no type: write `{one.name}: str`, or what it is"
    if one.name.startswith("_") or hasattr(ActionArguments, one.name):
        return f"no argument can be named `{one.name}`: give it another name"
    try:
        TypeAdapter(one.annotation).json_schema()
    except PydanticUserError:
        kind = inspect.formatannotation(one.annotation)
        return (
            f"no model can write a {kind}, as its argument `{one.name}` is: take a str, int, float or bool, a"
            " list of them, a Literal or a pydantic model"
        )
    return ""


def _is_missing(one: Parameter, means: ActionDependencies) -> bool:
    """Is this not here, though it is needed?"""
    if not hasattr(means, one.name) or one.default is not one.empty:
        return False
    return getattr(means, one.name) is None


def _described(annotation: Any) -> Any:
    """A text beside a type, as in `Annotated[str, "its name"]`, is what the model is told of it."""
    if get_origin(annotation) is not Annotated:
        return annotation
    parts = [*get_args(annotation)]
    for place, part in enumerate(parts):
        if isinstance(part, str):
            parts[place] = Field(description=part)
    annotated: Any = Annotated
    return annotated[tuple(parts)]


def _value_of(name: str, run: ActionContext, means: ActionDependencies) -> object:
    """What the daemon gives under this name."""
    match name:
        case "run":
            return run
        case "turn":
            return run.turn
        case "memory":
            return run.memory
        case "say":
            return functools.partial(_say, run)
        case "recurse":
            return RecurseFunction()
    return getattr(means, name)


async def _say(run: ActionContext, text: str) -> None:
    """Say it, and know that it was said."""
    spoken = await say(run.turn, text, answers=False)
    run.add_memories(map(entry_as_memory, spoken), news=False)
