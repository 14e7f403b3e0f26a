"""A playbook played: the ISM runs, and what comes of it is told. Handed to the processes that play."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from daemon.actions.action import TO, Definition, Outcome
from daemon.actions.action import Run as AnyRun
from daemon.actions.registry import Registry
from daemon.actions.run import Run
from daemon.actions.thinking import respond
from daemon.ism import ISMResult
from daemon.limits import CONTINUE
from daemon.memory import WorkingMemory
from daemon.mind.consent import DAY, consent
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.recall import remember
from daemon.ports import Role
from daemon.process import Transition, Turn

Phase = Callable[[str, Run, Callable[[], Awaitable[bool | tuple[str, ...]]]], Awaitable[ISMResult]]
"""A run of the ISM: the conversation as a text, what chooses, what looks for interrupts."""
BOUNDS = frozenset({"loops", "calls", "tokens", "money", "time"})
"""Why a run ended that an owner may let go on."""
WELL = frozenset({"done", "finished"})
"""Why a run ended that has come to what it was for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """The actions that there are, and how many rounds a run has where its playbook does not say."""

    registry: Registry
    loops: int

    async def play(self, turn: Turn, name: str, phase: Phase, role: Role = "speak") -> Transition:
        """Play this playbook to its end, tell them what came of it, and go over into what follows."""
        book = playbook(name, turn.text(f"{PLAYBOOKS}{name}"))
        definitions = [*self.registry.offered(book), *map(_going, book.transitions.items())]
        run = Run(turn, book, definitions, book.loops or self.loops, role)
        while True:
            run.begin()
            result = await phase(run.context, run, run.interrupt)
            await run.keep(result.parts)
            reason = "interrupted" if run.stopped else result.stop_reason
            ended = {"reason": reason, "loops": result.loops, "calls": result.calls, "log": list(result.log)}
            await turn.once("ism-ended", ended)
            if result.next_process and not run.stopped:
                return Transition(to=result.next_process, memory=run.memory, execute_now=True)
            penniless = run.limit == DAY and turn.deciders  # there is no partial answer, only the question
            if not (run.stopped or run.spoke or penniless):
                await respond(run, None, "prompts/conclude" if reason in WELL else "prompts/unfinished")
            if run.stopped or reason not in BOUNDS or not await _goes_on(run, str(reason)):
                break
        if run.stopped:
            await turn.withdraw()  # what was set aside in this thread is stopped with it
        return Transition(to=book.then, memory=await _last_word(run))


def _going(transition: tuple[str, str]) -> Definition:
    """A transition of a playbook, as an action."""
    to, when = transition

    async def perform(_run: AnyRun, _args: object) -> Outcome:
        return ISMResult(next_process=to)

    return Definition(name=f"{TO}{to}", description=when, perform=perform, terminal=True)


async def _goes_on(run: Run, reason: str) -> bool:
    """At a bound an owner decides; where there is none, the run ends with its partial answer."""
    if not run.turn.deciders:
        return False
    answered = await consent(run.turn, run.limit or {"resets": "turn", "bound": reason, "person": ""})
    run.hear(answered.memories)
    return answered.value == CONTINUE


async def _last_word(run: Run) -> WorkingMemory:
    """Whoever stopped it before it said anything hears that it has stopped."""
    if run.spoke or not run.stopped:
        return run.memory
    spoken = await run.turn.say(run.words("prompts/sentences/stopped"))
    return run.memory.with_memory(*map(remember, spoken))
