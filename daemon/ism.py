"""The Implicit Semantic Machine: a loop in which a model chooses among actions until its goal is reached.

A leaf: it talks only to what it is given. daemon/actions/ binds the actions, mental processes run it. The
public names, and what they mean, are those of the seed.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.mind.acting import (
    Action,
    Bound,
    Came,
    Finish,
    ISMResult,
    Part,
    Refused,
    StopReason,
    Waiting,
    answer,
    carry_out,
)
from daemon.mind.choice import DONE, Choice, Chosen, Unreadable, choice_schema, meant, read_choice
from daemon.mind.choosing import Wording, fenced, filled
from daemon.mind.recall import plain
from daemon.mind.stagnation import Stagnation

__all__ = [
    "DONE",
    "Action",
    "Chooser",
    "Finish",
    "ISMResult",
    "Interrupt",
    "Invoke",
    "Part",
    "Prompt",
    "Refused",
    "StopReason",
    "Waiting",
    "Wording",
    "run_ism",
]

REASKS = 3
WORDING = Wording()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """All that the chooser is shown: the context, the parts, and the question.

    The next prompt of a run begins with these parts. `schema` is the JSON schema that the answer is to be
    held to; `round`, of `rounds`, counts from 1.
    """

    context: str
    parts: tuple[Part, ...]
    question: str
    schema: Mapping[str, Any]
    round: int
    rounds: int
    wording: Wording

    @property
    def text(self) -> str:
        """It as one text, in which `wording.chose` marks what the chooser itself said.

        The next one of a run begins with this one less its question, byte for byte.
        """
        texts = [self.context]
        for part in self.parts:
            own = part.role == "assistant"
            texts.append(filled(self.wording.chose, choice=part.text) if own else part.text)
        return "\n\n".join([*texts, self.question])


class Chooser(ABC):
    """Who chooses in a run, where that is more than a function of a text."""

    @abstractmethod
    async def choose(self, prompt: Prompt) -> str | None:
        """The answer to this; None where there is none to be had, and asking again is of no use."""


Invoke = Callable[[str], Awaitable[str]]
Interrupt = bool | str | Part | tuple[str | Part, ...] | None
"""What interrupts a run: nothing, a stop (True), or more context: what the chooser is shown as it is."""


async def run_ism(
    prompt_context: str,
    goal: str,
    playbook: str,
    actions: Sequence[Action],
    invoke_llm: Invoke | Chooser,
    max_loops: int = 5,
    check_interrupt: Callable[[], Interrupt | Awaitable[Interrupt]] | None = None,
    *,
    bound: Callable[[], str | Awaitable[str | None] | None] | None = None,
    goes_on: Callable[[ISMResult], bool | Awaitable[bool]] | None = None,
    wording: Wording = WORDING,
    most_actions: int = 5,
) -> ISMResult:
    """Let a model choose actions until the goal is reached, an action ends the run, or a bound does.

    `check_interrupt` is asked before each choice, when the model has answered, and before each action. More
    context makes what is left of a choice stale: it is not carried out, and the chooser is asked again with
    it. `bound` names the limit that stands in the way of another model call, or nothing. `goes_on` is told
    how the run would end, and may let it go on for as many rounds again. An answer that cannot be read is
    asked for again, three times at the most.

    Raises ValueError where two actions share a name, TypeError where `invoke_llm` is neither a Chooser nor an
    async function to a str, what the callables raise, and of what handlers raise only EngineErrors and what
    is no Exception: all else the chooser is told.
    """
    named: dict[str, Action] = {}
    for one in actions:
        if named.setdefault(one.name, one) is not one:
            raise ValueError(f"two actions of one run are named {one.name}")
    run = _Run(
        context=prompt_context,
        actions=named,
        schema=choice_schema({one.name: one.args for one in actions}),
        chooser=invoke_llm if isinstance(invoke_llm, Chooser) else _Function(invoke_llm),
        rounds=max_loops,
        interrupt=check_interrupt or _nothing,
        bound=bound or _nothing,
        wording=wording,
        most_actions=most_actions,
    )
    run.tell(_head(goal, playbook, actions, wording))
    while True:
        reason = await run.round()
        if reason is None:
            continue
        result = run.result(reason)
        if goes_on is None or not await answer(goes_on(result)):
            return result
        run.before = run.loops


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run: what it is given, what its chooser was told so far, and what came of it."""

    context: str
    actions: Mapping[str, Action]
    schema: Mapping[str, Any]
    chooser: Chooser
    rounds: int
    interrupt: Callable[[], Any]
    bound: Callable[[], Any]
    wording: Wording
    most_actions: int
    loops: int = 0
    before: int = 0
    """The rounds before it was last let go on."""
    calls: int = 0
    parts: list[Part] = field(default_factory=list)
    news: list[Part] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    next_process: str | None = None
    stagnation: Stagnation = field(default_factory=Stagnation)

    async def round(self) -> StopReason | None:
        """Ask for a choice and carry it out; why the run ends here, if it does."""
        if await self.stopped():
            return "interrupted"
        self.tell()
        if self.loops - self.before >= self.rounds:
            return "loops"
        choice = await self.choose()
        if not isinstance(choice, Choice):
            return choice
        self.loops += 1
        return await self.follow(choice)

    async def stopped(self) -> bool:
        """Has someone stopped the run? More context is kept for the next prompt."""
        came = await answer(self.interrupt())
        if isinstance(came, str | Part):
            came = (came,)
        if not isinstance(came, tuple):
            return bool(came)
        for one in came:
            part = Part("user", one) if isinstance(one, str) else one
            if part.text:
                self.news.append(part)
        return False

    def tell(self, text: str = "") -> None:
        """This, then what came meanwhile, is in the next prompt."""
        if text:
            self.parts.append(Part("user", text))
        if self.news:
            self.stagnation.forget()
            self.parts += self.news
            self.news.clear()

    async def choose(self) -> Choice | StopReason:
        """What the chooser wants done next, or why the run ends."""
        number = self.loops - self.before + 1
        question = filled(self.wording.question, round=number, rounds=self.rounds)
        for _ in range(1 + REASKS):
            reason: Bound | None = await answer(self.bound())
            if reason:
                return reason
            prompt = Prompt(
                context=self.context,
                parts=tuple(self.parts),
                question=question,
                schema=self.schema,
                round=number,
                rounds=self.rounds,
                wording=self.wording,
            )
            reply = await self.chooser.choose(prompt)
            self.calls += 1
            if reply is None:
                return "refused"
            if reply.strip():
                self.parts.append(Part("assistant", reply))
            if await self.stopped():
                return "interrupted"
            try:
                return read_choice(reply)
            except Unreadable as error:
                self.log.append(f"Loop {self.loops}: not readable: {error}")
                self.tell(filled(self.wording.unread, error=fenced(str(error))))
        return "failed"

    async def follow(self, choice: Choice) -> StopReason | None:
        """Do what was chosen, each once, in order, then DONE; tell the chooser what came of it."""
        names = [*self.actions, DONE]
        chosen = [replace(one, name=meant(one.name, names) or one.name) for one in choice.actions]
        self.log.append(f"Loop {self.loops - 1}: chose {[one.name for one in chosen]} — {choice.why}")
        once = {one.identity: one for one in chosen if one.name != DONE}
        came: list[Came] = []
        for place, one in enumerate(once.values()):
            came.append(await self.act(one, place, alone=len(once) == 1))
            if came[-1].end:
                break
        else:
            times = Counter(one.identity for one in chosen)
            for identity, one in once.items():
                if times[identity] > 1:
                    came.append(Came(note=filled(self.wording.twice, name=plain(one.name))))
            if any(one.name == DONE for one in chosen):
                came.append(self.done(came))
        end = came[-1].end or self.circling([*once], came)
        notes = [one.note for one in came if one.note]
        if notes:
            self.tell(filled(self.wording.results, results="\n".join(notes)))
        return end

    async def act(self, chosen: Chosen, place: int, *, alone: bool) -> Came:
        """Carry it out, unless the run was stopped, or something new came first."""
        if await self.stopped():
            return replace(self.refuse(chosen.name, self.wording.stopped), end="interrupted")
        if self.news:
            return self.refuse(chosen.name, self.wording.stale)
        try:
            action = self.possible(chosen.name, place, alone=alone)
            came = await carry_out(action, chosen.args, self.context, self.log, self.wording)
        except Refused as refused:
            return self.refuse(chosen.name, str(refused))
        if came.response is not None:
            self.responses.append(came.response)
        self.next_process = came.next_process or self.next_process
        return came

    def possible(self, name: str, place: int, *, alone: bool) -> Action:
        """The action of this name. Raises Refused where it cannot be carried out now."""
        action = self.actions.get(name)
        if action is None:
            raise Refused(filled(self.wording.unknown, names=", ".join(sorted(self.actions))))
        if place >= self.most_actions:
            raise Refused(filled(self.wording.too_many, most=self.most_actions))
        if action.exclusive and not alone:
            raise Refused(self.wording.exclusive)
        reason = action.available() if action.available else None
        if reason:
            raise Refused(filled(self.wording.unavailable, reason=fenced(reason)))
        return action

    def refuse(self, name: str, reason: str) -> Came:
        """It is not carried out, for this reason."""
        note = filled(self.wording.not_run, name=plain(name), reason=reason)
        self.log.append(note)
        return Came(note=note, ok=False)

    def done(self, beside: Sequence[Came]) -> Came:
        """The end, unless something new came, or something that was chosen beside it was not carried out."""
        if self.news:
            return self.refuse(DONE, self.wording.stale)
        if not all(one.ok for one in beside):
            return self.refuse(DONE, self.wording.undone)
        return Came(note="", end="done")

    def circling(self, chosen: Sequence[str], came: list[Came]) -> StopReason | None:
        """Does the run go round in circles? Adds a nudge to what the chooser is told, or ends it."""
        if any(one.waits for one in came):
            self.stagnation.forget()
            return None
        seen = self.stagnation.notice("\n".join([*chosen, *(one.note for one in came)]))
        if seen == "nudge":
            came.append(Came(note=self.wording.nudge))
        return "stagnation" if seen == "end" else None

    def result(self, reason: StopReason) -> ISMResult:
        """What the run came to."""
        return ISMResult(
            self.responses[-1] if self.responses else None,
            self.next_process,
            stop_reason=reason,
            responses=tuple(self.responses),
            loops=self.loops,
            calls=self.calls,
            log=tuple(self.log),
            parts=tuple(self.parts),
        )


class _Function(Chooser):
    """A function from a text to a text that chooses, as the seed has it."""

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke

    async def choose(self, prompt: Prompt) -> str:
        return await asked(self._invoke, prompt.text)


async def asked(invoke: Invoke, prompt: str) -> str:
    """What the model says to this. Raises TypeError where `invoke` is no async function to a str."""
    came: object = invoke(prompt)
    if not inspect.isawaitable(came):
        gave = type(came).__name__
        raise TypeError(f"invoke_llm has to be an async function from str to str; a call of it gave {gave}")
    reply = await came
    if not isinstance(reply, str):
        raise TypeError(f"invoke_llm has to return a str; it returned {type(reply).__name__}")
    return reply


def _head(goal: str, playbook: str, actions: Sequence[Action], wording: Wording) -> str:
    """What the chooser is told first."""
    lines = []
    for one in actions:
        lines.append(filled(wording.action, name=one.name, description=one.description))
        if one.args:
            schema = json.dumps(one.args.model_json_schema(), ensure_ascii=False)
            lines.append(filled(wording.arguments, schema=schema))
    return filled(wording.head, goal=goal, playbook=playbook, actions="\n".join(lines))


def _nothing() -> None:
    """Nothing came, and nothing stands in the way."""
