"""Asks whether an answer of the inner life says anything new, and what is tried where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.inner.agent_log import NEW_CONTENT_COMMANDS
from daemon.inner.contexts import TickContexts
from daemon.inner.grammar import Known, ParsedCommands, parse_commands
from daemon.inner.record import LLM_MEMORY, InnerRecord
from daemon.inner.reflex import (
    COMPARE_PROMPT,
    ReflexCandidate,
    ReflexSituation,
    RepetitionVerdict,
    StrategyEffect,
    choose_strategy,
    judge_answer,
    strategy_effect,
    tried_strategies,
    verdict_from_reply,
)
from daemon.memory import working_memory
from daemon.mind.recall import escape_tags
from daemon.mind.wording import fill_prompt
from daemon.process import Turn

FAR = 20
"""Entries of the diary of which one may be shown again."""
TASKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReflex:
    """The reflex of one tick. All that it looks at is as of the tick's begin."""

    turn: Turn
    contexts: TickContexts
    known: Known

    async def judge_answer(
        self, answer: str, written: ParsedCommands, waits: bool
    ) -> tuple[bool, RepetitionVerdict]:
        """Return whether it only says again what it said directly before, and how that was judged.

        Where that is not plain, a small call says. With a command that would leave a record it is no tick
        without fruit.
        """
        names = [one.name for one in written.commands]
        news = self.contexts.has_news()
        fruitless = 0
        if not news and NEW_CONTENT_COMMANDS.isdisjoint(names):
            fruitless = 1 + self.contexts.state.log.count_fruitless()
        previous = self.contexts.previous_answer()
        found = judge_answer(
            answer,
            previous,
            waits=waits,
            news=news,
            commands=adds_command(written, parse_commands(previous, self.known)),
            fruitless=fruitless,
        )
        if found.verdict != "ask":
            return found.verdict == "repeat", found
        asked = fill_prompt(
            self.turn, COMPARE_PROMPT, before=escape_tags(found.before), now=escape_tags(answer)
        )
        memory = working_memory(()).with_region("instruction", asked)
        compared = await self.turn.call("compare", memory, "fast")
        reply = compared.event.text
        if not compared.event.is_usable:
            reply = ""
        return verdict_from_reply(reply, found.similarity), found

    def choose_effect(self, answer: str, pause: float) -> tuple[StrategyEffect, str]:
        """What is to be other in the next tick, and the words for it."""
        history = tried_strategies([line.tick for line in self.contexts.state.log.lines])
        around = self._around(answer, pause)
        chosen = strategy_effect(choose_strategy(history, around), history, around)
        return chosen, fill_prompt(self.turn, chosen.advice, **chosen.words)

    def _around(self, answer: str, pause: float) -> ReflexSituation:
        state, now = self.contexts.state, self.contexts.now
        notebook = state.records.of(LLM_MEMORY, now.view, TASKS)
        far = state.records.spread_of_older(now.view, now.tick, FAR)
        return ReflexSituation(
            repeated=answer,
            now=now.at,
            seed=now.tick,
            pause=pause,
            diary=_things(far),
            tasks=_things(notebook),
            neighbours=now.neighbours,
            owners=self.contexts.owners(),
            owner_asked=state.log.owner_asked,
        )


def adds_command(now: ParsedCommands, before: ParsedCommands) -> bool:
    """Return whether an answer has a command, or a try at one, that the answer before it has not."""
    asked = [(one.name, one.given) for one in before.commands]
    if any((one.name, one.given) not in asked for one in now.commands):
        return True
    wrong = [fault.near for fault in before.faults]
    return any(fault.near not in wrong for fault in now.faults if not fault.repaired)


def _things(records: Sequence[InnerRecord]) -> Sequence[ReflexCandidate]:
    return [ReflexCandidate(id=one.id, text=one.text, at=one.at) for one in records]
