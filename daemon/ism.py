"""The Implicit Semantic Machine: a loop in which a model chooses among actions until its goal is reached.

A leaf: it talks only to the callables that it is given. daemon/actions/ binds the actions, mental
processes run it. The public names, and what they mean, are those of the seed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.mind.acting import (
    Acting,
    Action,
    Bound,
    Came,
    Declined,
    Finish,
    ISMResult,
    Refused,
    StopReason,
    Waiting,
    answer,
    asked,
)
from daemon.mind.choice import Choice, Chosen, Unreadable, meant, read_choice
from daemon.mind.choice_schema import DONE, choice_schema
from daemon.mind.choosing import Part, Prompt, Wording, fenced, filled
from daemon.mind.recall import plain
from daemon.mind.stagnation import Stagnation

__all__ = [
    "DONE",
    "Action",
    "Declined",
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

Invoke = Callable[[Prompt], Awaitable[str]]
Interrupt = bool | str | tuple[str, ...] | None
"""What interrupts a run: nothing, a stop (True), or more context: texts that the chooser sees as they are."""
REASKS = 3
WORDING = Wording()


async def run_ism(
    prompt_context: str,
    goal: str,
    playbook: str,
    actions: Sequence[Action],
    invoke_llm: Invoke,
    max_loops: int = 5,
    check_interrupt: Callable[[], Interrupt | Awaitable[Interrupt]] | None = None,
    *,
    bound: Callable[[], str | Awaitable[str | None] | None] | None = None,
    wording: Wording = WORDING,
    most_actions: int = 5,
) -> ISMResult:
    """Let a model choose actions until the goal is reached, an action ends the run, or a bound does.

    `check_interrupt` is asked before each choice, when the model has answered, and before each action. More
    context makes what is left of a choice stale: it is not carried out, and the chooser is asked again with
    it. `bound` names the limit that stands in the way of another model call ("calls", "tokens", "money",
    "time"), or nothing. An answer that cannot be read is asked for again, three times at the most; one that
    is `Declined` ends the run.

    Raises ValueError where two actions share a name, TypeError where `invoke_llm` is no async function to a
    str, what the callables raise, and of what handlers raise only SoulErrors and what is no Exception: all
    else the chooser is told.
    """
    run = _Run(
        acting=Acting(prompt_context, actions, wording, most_actions),
        schema=choice_schema({one.name: one.args for one in actions}),
        context=prompt_context,
        wording=wording,
        invoke=invoke_llm,
        max_loops=max_loops,
        interrupt=check_interrupt or _nothing,
        bound=bound or _nothing,
    )
    run.tell(_head(goal, playbook, actions, wording))
    return run.result(await run.live())


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run: what it is given, and what its chooser was told so far."""

    acting: Acting
    schema: Mapping[str, Any]
    context: str
    wording: Wording
    invoke: Invoke
    max_loops: int
    interrupt: Callable[[], Any]
    bound: Callable[[], Any]
    loops: int = 0
    calls: int = 0
    parts: list[Part] = field(default_factory=list)
    news: list[str] = field(default_factory=list)
    stagnation: Stagnation = field(default_factory=Stagnation)

    def tell(self, *texts: str) -> None:
        """These, then what came meanwhile, are in the next prompt."""
        if self.news:
            self.stagnation.forget()
        self.parts += [("user", text) for text in (*texts, *self.news)]
        self.news.clear()

    def result(self, reason: StopReason) -> ISMResult:
        """What the run came to."""
        return ISMResult(
            self.acting.responses[-1] if self.acting.responses else None,
            self.acting.next_process,
            stop_reason=reason,
            responses=tuple(self.acting.responses),
            loops=self.loops,
            calls=self.calls,
            log=tuple(self.acting.log),
            parts=tuple(self.parts),
        )

    async def live(self) -> StopReason:
        """Choose and act, round by round, to the end."""
        while True:
            if await self._stopped():
                return "interrupted"
            self.tell()
            if self.loops >= self.max_loops:
                return "loops"
            choice = await self._choose()
            if not isinstance(choice, Choice):
                return choice
            self.loops += 1
            if ended := await self._carry_out(choice):
                return ended

    async def _stopped(self) -> bool:
        """Has someone stopped the run? More context is kept for the next prompt."""
        came = await answer(self.interrupt())
        texts = (came,) if isinstance(came, str) else came
        if isinstance(texts, tuple):
            self.news += filter(None, texts)
            return False
        return bool(texts)

    async def _choose(self) -> Choice | StopReason:
        question = filled(self.wording.question, round=self.loops + 1, rounds=self.max_loops)
        for _ in range(1 + REASKS):
            reason: Bound | None = await answer(self.bound())
            if reason:
                return reason
            prompt = Prompt(self.context, self.parts, question, self.schema, self.wording, self.loops + 1)
            reply = await asked(self.invoke, prompt)
            self.calls += 1
            if isinstance(reply, Declined):
                return "refused"
            if reply.strip():
                self.parts.append(("assistant", reply))
            if await self._stopped():
                return "interrupted"
            try:
                return read_choice(reply)
            except Unreadable as error:
                self.acting.log.append(f"Loop {self.loops}: not readable: {error}")
                self.tell(filled(self.wording.unread, error=fenced(str(error))))
        return "failed"

    async def _carry_out(self, choice: Choice) -> StopReason | None:
        """Run what was chosen, each once, in order, then DONE; tell the chooser what came of it."""
        names = [*self.acting.actions, DONE]
        meaning = [replace(one, name=meant(one.name, names) or one.name) for one in choice.actions]
        chosen = {one.identity: one for one in meaning if one.name != DONE}
        self.acting.log.append(f"Loop {self.loops - 1}: chose {[one.name for one in meaning]} — {choice.why}")
        came: list[Came] = []
        for place, one in enumerate(chosen.values()):
            if await self._stopped():
                came.append(replace(self.acting.refuse(one.name, self.wording.stopped), end="interrupted"))
            else:
                came.append(await self._act(one, place, alone=len(chosen) == 1))
            if came[-1].end:
                break
        else:
            came += self._repeated(meaning)
            if any(one.name == DONE for one in meaning):
                came.append(self._done(came))
        end = came[-1].end or self._circling([*chosen], came)
        if notes := [one.note for one in came if one.note]:
            self.tell(filled(self.wording.results, results="\n".join(notes)))
        return end

    async def _act(self, one: Chosen, place: int, *, alone: bool) -> Came:
        if self.news:
            return self.acting.refuse(one.name, self.wording.stale)
        return await self.acting.act(one, place, alone=alone)

    def _repeated(self, chosen: Sequence[Chosen]) -> list[Came]:
        """What was chosen again within one choice, once each."""
        times = Counter(one.identity for one in chosen if one.name != DONE)
        again = {one.identity: plain(one.name) for one in chosen if times[one.identity] > 1}
        return [Came(note=filled(self.wording.twice, name=name)) for name in again.values()]

    def _done(self, beside: Sequence[Came]) -> Came:
        """The end, unless something new came, or something that was chosen beside it was not carried out."""
        if self.news or not all(one.ok for one in beside):
            return self.acting.refuse(DONE, self.wording.stale if self.news else self.wording.undone)
        return Came(note="", end="done")

    def _circling(self, chosen: Sequence[str], came: list[Came]) -> StopReason | None:
        """Does the run go round in circles? Adds a nudge to what the chooser is told, or ends it."""
        if any(one.waits for one in came):
            self.stagnation.forget()
            return None
        seen = self.stagnation.notice("\n".join([*chosen, *(one.note for one in came)]))
        if seen == "nudge":
            came.append(Came(note=self.wording.nudge))
        return "stagnation" if seen == "end" else None


def _head(goal: str, playbook: str, actions: Sequence[Action], wording: Wording) -> str:
    lines = []
    for one in actions:
        lines.append(filled(wording.action, name=one.name, description=one.description))
        if one.args:
            schema = json.dumps(one.args.model_json_schema(), ensure_ascii=False)
            lines.append(filled(wording.arguments, schema=schema))
    return filled(wording.head, goal=goal, playbook=playbook, actions="\n".join(lines))


def _nothing() -> None:
    """Nothing came, and nothing stands in the way."""
