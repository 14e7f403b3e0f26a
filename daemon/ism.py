"""The Implicit Semantic Machine: a loop in which a model chooses among actions until its goal is reached.

A leaf: it talks only to what it is given. daemon/actions/ binds the actions, mental processes run it. The
public names, and what they mean, are those of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.mind.acting import (
    Action,
    Came,
    Finish,
    ISMResult,
    Part,
    Refused,
    StopReason,
    Waiting,
    carry_out,
    introduced,
)
from daemon.mind.choice import DONE, Choice, Chosen, Unreadable, choice_schema, read_choice
from daemon.mind.chooser import CheckInterrupt, Chooser, FunctionChooser, Interrupt, Invoke, Meanwhile, Prompt
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
    "Meanwhile",
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


async def run_ism(
    prompt_context: str,
    goal: str,
    playbook: str,
    actions: Sequence[Action],
    invoke_llm: Invoke | Chooser,
    max_loops: int = 5,
    check_interrupt: CheckInterrupt | None = None,
    *,
    wording: Wording = WORDING,
    most_actions: int = 5,
) -> ISMResult:
    """Let a model choose actions until the goal is reached, an action ends the run, or a bound does.

    `check_interrupt` is asked before each choice, when the model has answered, before each action and before
    DONE; it belongs to a function, since a Chooser says itself what came. More context makes what is left of
    a choice stale: it is not carried out, and the chooser is asked again with it. An answer that cannot be
    read is asked for again, three times at the most.

    Raises ValueError where two actions share a name, TypeError where `invoke_llm` is neither a Chooser nor an
    async function to a str, what the callables raise, and of what handlers raise only EngineErrors and what
    is no Exception: all else the chooser is told.
    """
    chooser = invoke_llm if isinstance(invoke_llm, Chooser) else FunctionChooser(invoke_llm, check_interrupt)
    if chooser is invoke_llm and check_interrupt:
        raise TypeError("a Chooser says itself what interrupts the run: check_interrupt would not be asked")
    run = _Run(
        context=prompt_context,
        actions=_by_name(actions),
        schema=choice_schema({one.name: one.args for one in actions}),
        chooser=chooser,
        rounds=max_loops,
        wording=wording,
        most_actions=most_actions,
    )
    listed = "\n".join(introduced(one, wording) for one in actions)
    run.tell(filled(wording.head, goal=goal, playbook=playbook, actions=listed))
    while True:
        reason = await run.round()
        if reason is None:
            continue
        result = run.result(reason)
        if not await chooser.goes_on(result):
            return result
        run.done = 0


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run: what it is given, what its chooser was told so far, and what came of it."""

    context: str
    actions: Mapping[str, Action]
    schema: Mapping[str, Any]
    chooser: Chooser
    rounds: int
    wording: Wording
    most_actions: int
    done: int = 0
    """The rounds since it began, or was last let go on."""
    loops: int = 0
    calls: int = 0
    parts: list[Part] = field(default_factory=list)
    news: list[Part] = field(default_factory=list)
    """What came since the chooser was last told."""
    log: list[str] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    next_process: str | None = None
    stagnation: Stagnation = field(default_factory=Stagnation)

    async def round(self) -> StopReason | None:
        """Ask for a choice, carry it out, tell what came of it; why the run ends here, if it does."""
        if await self.stopped():
            return "interrupted"
        self.tell()
        if self.done >= self.rounds:
            return "loops"
        choice = await self.choose()
        if not isinstance(choice, Choice):
            return choice
        self.log.append(f"Loop {self.loops}: chose {[one.name for one in choice.actions]} — {choice.why}")
        self.done += 1
        self.loops += 1
        came = await self.follow(choice)
        end = came[-1].end or self.circling(choice, came)
        results = "\n".join(one.note for one in came if one.note)
        if results:
            self.tell(filled(self.wording.results, results=results))
        return end

    async def stopped(self) -> bool:
        """Has someone stopped the run? More context is kept for the next prompt."""
        came = await self.chooser.interrupt()
        self.news += [part for part in came.parts if part.text]
        return came.stopped

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
        for _ in range(1 + REASKS):
            reason = await self.chooser.bound()
            if reason:
                return reason
            reply = await self.chooser.choose(self.prompt())
            self.calls += 1
            if reply is None:
                return "refused"
            if reply.strip():
                self.parts.append(Part("assistant", reply))
            if await self.stopped():
                return "interrupted"
            try:
                return read_choice(reply).among([*self.actions, DONE])
            except Unreadable as error:
                self.log.append(f"Loop {self.loops}: not readable: {error}")
                self.tell(filled(self.wording.unread, error=fenced(str(error))))
        return "failed"

    def prompt(self) -> Prompt:
        """What the chooser is shown now."""
        number = self.done + 1
        return Prompt(
            context=self.context,
            parts=tuple(self.parts),
            question=filled(self.wording.question, round=number, rounds=self.rounds),
            schema=self.schema,
            round=number,
            rounds=self.rounds,
            wording=self.wording,
        )

    async def follow(self, choice: Choice) -> list[Came]:
        """Do what was chosen, each once, in order, then DONE, until one of them ends the run."""
        once = choice.once()
        came: list[Came] = []
        for chosen in once[: self.most_actions]:
            one = await self.act(chosen, alone=len(once) == 1)
            came.append(one)
            if one.end:
                return came
        more = [one.name for one in once[self.most_actions :]]
        if more:
            came.append(self.refuse(", ".join(more), filled(self.wording.too_many, most=self.most_actions)))
        came += [Came(note=filled(self.wording.twice, name=plain(one.name))) for one in choice.twice()]
        if choice.ends():
            came.append(await self.end(came))
        return came

    async def act(self, chosen: Chosen, *, alone: bool) -> Came:
        """Carry it out, unless the run was stopped, or something new came first."""
        if await self.stopped():
            return self.refuse(chosen.name, self.wording.stopped, end="interrupted")
        if self.news:
            return self.refuse(chosen.name, self.wording.stale)
        try:
            action = self.possible(chosen.name, alone=alone)
            came = await carry_out(action, chosen.args, self.context, self.log, self.wording)
        except Refused as refused:
            return self.refuse(chosen.name, str(refused))
        if came.response is not None:
            self.responses.append(came.response)
        self.next_process = came.next_process
        return came

    def possible(self, name: str, *, alone: bool) -> Action:
        """The action of this name. Raises Refused where it cannot be carried out now."""
        action = self.actions.get(name)
        if action is None:
            raise Refused(filled(self.wording.unknown, names=", ".join(sorted(self.actions))))
        if action.exclusive and not alone:
            raise Refused(self.wording.exclusive)
        reason = action.available() if action.available else None
        if reason:
            raise Refused(filled(self.wording.unavailable, reason=fenced(reason)))
        return action

    def refuse(self, name: str, reason: str, *, end: StopReason | None = None) -> Came:
        """It is not carried out, for this reason."""
        note = filled(self.wording.not_run, name=plain(name), reason=reason)
        self.log.append(note)
        return Came(note=note, ok=False, end=end)

    async def end(self, beside: Sequence[Came]) -> Came:
        """DONE, unless something new came, or something that was chosen beside it was not carried out."""
        if await self.stopped():
            return self.refuse(DONE, self.wording.stopped, end="interrupted")
        if self.news:
            return self.refuse(DONE, self.wording.stale)
        if not all(one.ok for one in beside):
            return self.refuse(DONE, self.wording.undone)
        return Came(note="", end="done")

    def circling(self, choice: Choice, came: list[Came]) -> StopReason | None:
        """Does the run go round in circles? Adds a nudge to what the chooser is told, or ends it."""
        if any(one.waits for one in came):
            self.stagnation.forget()
            return None
        chosen = [one.identity for one in choice.once()]
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


def _by_name(actions: Sequence[Action]) -> Mapping[str, Action]:
    """The actions by their names. Raises ValueError where two have the same one."""
    named: dict[str, Action] = {}
    for one in actions:
        if one.name in named:
            raise ValueError(f"two actions of one run are named {one.name}")
        named[one.name] = one
    return named
