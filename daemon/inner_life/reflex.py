"""The reflex against repetition: detects an answer that says nothing new and chooses a strategy for the next
tick.

Detection and choice are pure (HMP seed, section 5; acceptance rows H18, H19, H22).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal

from daemon.answers.repetition import make_text_profile, text_hash
from daemon.engine.clock import DAY
from daemon.inner_life.contexts import TickContexts
from daemon.inner_life.grammar import Known, ParsedCommands, parse_commands
from daemon.inner_life.records import LLM_MEMORY, InnerRecord
from daemon.inner_life.tick_log import NEW_CONTENT_COMMANDS
from daemon.kinds import TickLogged
from daemon.memory import working_memory
from daemon.prompts.elements import escape_tags
from daemon.turn.model_calls import call_model
from daemon.turn.turn import Turn

COMPARE_PROMPT = "prompts/inner/compare"
"""Prompt that compares two answers; its placeholders `before` and `now` hold them, fenced."""


ADVICE = "prompts/inner/reflex/"
"""Prefix of the names of the advice texts."""


WAITS = frozenset({"cycle.idle", "cycle.pause"})


ALIKE = 0.6
"""Similarity above which even an answer with a new command is not new."""


SURELY = 0.95
"""Similarity of a repetition if the model's comparison was unclear."""


FRUITLESS = 3
"""Number of ticks in a row without new content after which a model always compares."""


OWNER_EVERY = 6 * 3600.0
"""Seconds between questions to an owner."""


SHORTEST = 60.0
"""Least pause in seconds, before it is doubled."""


RECENT = 12
"""Number of recent attempts in which a strategy's maximum applies."""


LONGEST_REPLY = 4_000
"""Most characters of the model's comparison."""


LOOSE = re.compile(r"""\bnew\b["']?\s*[:=]\s*["']?(true|false|yes|no)\b(?!\s+or\b)""", re.IGNORECASE)


MEANT = {"true": True, "yes": True, "false": False, "no": False}


GIST = 300


Verdict = Literal["new", "repeat", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionVerdict:
    """A decision on an answer; "ask" means that a model must compare it with `before`."""

    verdict: Verdict
    similarity: float = 0.0
    before: str = ""

    @property
    def novelty(self) -> float:
        """Novelty from 0 (the same words) to 1."""
        return 1.0 - self.similarity


def is_only_waiting(commands: Collection[str]) -> bool:
    """True if all commands only wait; such an answer is no repetition."""
    return bool(commands) and WAITS.issuperset(commands)


def judge_answer(
    now: str,
    before: str,
    *,
    waits: bool = False,
    news: bool = False,
    commands: bool = False,
    fruitless: int = 0,
) -> RepetitionVerdict:
    """Compare an answer with the previous one (empty if there is none), without a model.

    `waits`: the answer only waits. `news`: notes or results came since. `commands`: it has a new command.
    `fruitless`: number of ticks in a row without new content, this one included.
    """
    if not before:
        return RepetitionVerdict(verdict="new")
    similarity = make_text_profile(now).similarity_to(make_text_profile(before))
    verdict: Verdict = "new"
    if not waits and not news:
        if text_hash(now) == text_hash(before):
            verdict = "repeat"
        elif not commands or similarity > ALIKE or fruitless >= FRUITLESS:
            verdict = "ask"
    return RepetitionVerdict(verdict=verdict, similarity=similarity, before=before)


def read_comparison(reply: str | None) -> bool | None:
    """Return True if the model found anything new; None if its reply is unclear."""
    text = (reply or "")[:LONGEST_REPLY]
    said = _said(one.get("new") for one in _objects(text))
    if not said:
        said = _said(LOOSE.findall(text))
    if len(said) != 1:
        return None
    return said.pop()


def verdict_from_reply(reply: str | None, similarity: float) -> bool:
    """True for a repetition, by the reply or, if it is unclear, by the similarity."""
    new = read_comparison(reply)
    if new is None:
        return similarity > SURELY
    return not new


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    place = reply.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(reply, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield value
        place = reply.find("{", end)


def _said(words: Iterable[object]) -> set[bool]:
    said = set[bool]()
    for word in words:
        meant = MEANT.get(str(word).strip().casefold())
        if meant is not None:
            said.add(meant)
    return said


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexCandidate:
    id: int
    text: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexSituation:
    """Material for the choice of a strategy, visible in the next tick.

    `repeated` is the repeated answer; `seed` decides random choices. `diary` and `tasks` are not in the
    contexts. `owner_asked`: time of the last question to an owner.
    """

    repeated: str
    now: float
    seed: int
    pause: float = 0.0
    diary: Sequence[ReflexCandidate] = ()
    tasks: Sequence[ReflexCandidate] = ()
    neighbours: Sequence[str] = ()
    owners: Sequence[str] = ()
    owner_asked: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedStrategy:
    """A strategy that was tried; it `worked` if the next answer was new."""

    strategy: str
    worked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEffect:
    """Changes to the next tick: advice filled with `words`, records `shows`, pause in seconds (None:
    unchanged).
    """

    name: str
    words: Mapping[str, str] = field(default_factory=dict)
    shows: tuple[int, ...] = ()
    pause: float | None = None

    @property
    def advice(self) -> str:
        return f"{ADVICE}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexStrategy:
    """A strategy; lower `rung`s are cheaper. `most` is its maximum in recent attempts (0: none).

    `change` takes the number of tries since the last success; it returns None without material.
    """

    name: str
    rung: int
    most: int
    change: Callable[[ReflexSituation, int], StrategyEffect | None]


def _rephrase(situation: ReflexSituation, tried: int) -> StrategyEffect:
    return StrategyEffect(name="rephrase")


def _flashback(situation: ReflexSituation, tried: int) -> StrategyEffect | None:
    if not situation.diary:
        return None
    by_age = sorted(situation.diary, key=attrgetter("at", "id"))
    far = by_age[: max(1, len(by_age) // 2)]
    chosen = random.Random(situation.seed).choice(far)
    when = datetime.fromtimestamp(chosen.at, UTC).date().isoformat()
    return StrategyEffect(name="flashback", words={"id": str(chosen.id), "when": when}, shows=(chosen.id,))


def _switch(situation: ReflexSituation, tried: int) -> StrategyEffect | None:
    if not situation.tasks:
        return None
    chosen = random.Random(situation.seed).choice(sorted(situation.tasks, key=attrgetter("id")))
    words = {"id": str(chosen.id), "task": escape_tags(first_words(chosen.text))}
    return StrategyEffect(name="switch", words=words, shows=(chosen.id,))


def _neighbour(situation: ReflexSituation, tried: int) -> StrategyEffect | None:
    return _one_of("neighbour", situation.neighbours, situation)


def _owner(situation: ReflexSituation, tried: int) -> StrategyEffect | None:
    asked = situation.owner_asked
    # a time in the future comes from a wrong clock
    if asked is not None and 0 <= situation.now - asked < OWNER_EVERY:
        return None
    return _one_of("owner", situation.owners, situation)


def _one_of(name: str, people: Sequence[str], situation: ReflexSituation) -> StrategyEffect | None:
    if not people:
        return None
    return StrategyEffect(name=name, words={name: random.Random(situation.seed).choice(sorted(people))})


def _pause(situation: ReflexSituation, tried: int) -> StrategyEffect:
    base = max(situation.pause, SHORTEST)
    pause = min(base * 2.0 ** min(tried + 1, 32), max(DAY, situation.pause))
    return StrategyEffect(name="pause", words={"minutes": str(round(pause / 60))}, pause=pause)


PAUSE = ReflexStrategy(name="pause", rung=4, most=0, change=_pause)


LADDER: Sequence[ReflexStrategy] = (
    ReflexStrategy(name="rephrase", rung=1, most=0, change=_rephrase),
    ReflexStrategy(name="flashback", rung=2, most=3, change=_flashback),
    ReflexStrategy(name="switch", rung=2, most=3, change=_switch),
    ReflexStrategy(name="neighbour", rung=3, most=2, change=_neighbour),
    ReflexStrategy(name="owner", rung=3, most=2, change=_owner),
    PAUSE,
)
"""Ways out of a repeated tick, tried in this order: the cheapest first."""


def choose_strategy(history: Sequence[TriedStrategy], situation: ReflexSituation) -> ReflexStrategy:
    """Choose the cheapest strategy not tried since the last success, of equals the more successful; if all
    were tried, double the pause.
    """
    tried = _tried_since_new(history)
    recently = [one.strategy for one in history[-RECENT:]]
    left = list[ReflexStrategy]()
    for one in LADDER:
        too_often = 0 < one.most <= recently.count(one.name)
        if one.name not in tried and not too_often and one.change(situation, 0):
            left.append(one)
    if not left:
        return PAUSE
    best = left[0]
    for one in left:
        if one.rung == best.rung and success_rate(one.name, history) > success_rate(best.name, history):
            best = one
    return best


def strategy_effect(
    strategy: ReflexStrategy, history: Sequence[TriedStrategy], situation: ReflexSituation
) -> StrategyEffect:
    changed = strategy.change(situation, _tried_since_new(history).count(strategy.name))
    assert changed
    return replace(changed, words={"repeated": escape_tags(first_words(situation.repeated)), **changed.words})


def success_rate(name: str, history: Iterable[TriedStrategy]) -> float:
    """Return the share of successes, smoothed; 0.5 for a strategy never tried."""
    worked = [one.worked for one in history if one.strategy == name]
    return (sum(worked) + 1) / (len(worked) + 2)


def tried_strategies(ticks: Iterable[TickLogged]) -> list[TriedStrategy]:
    """Return the strategies tried, judged by the next answered tick; without one, as failed."""
    found: list[TriedStrategy] = []
    trying = ""
    for tick in ticks:
        if tick.outcome in ("thought", "repeated"):
            if trying:
                found.append(TriedStrategy(strategy=trying, worked=tick.outcome == "thought"))
            trying = tick.reflex
    if trying:
        found.append(TriedStrategy(strategy=trying, worked=False))
    return found


def first_words(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= GIST:
        return line
    return f"{line[:GIST]}…"


def _tried_since_new(history: Iterable[TriedStrategy]) -> Sequence[str]:
    tried = list[str]()
    for one in history:
        tried.append(one.strategy)
        if one.worked:
            tried.clear()
    return tried


FAR = 20
"""Diary entries from which a strategy chooses."""


TASKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReflex:
    """The reflex of one tick."""

    turn: Turn
    contexts: TickContexts
    known: Known

    async def judge_answer(
        self, answer: str, written: ParsedCommands, waits: bool
    ) -> tuple[bool, RepetitionVerdict]:
        """Return True for a repetition, and the decision.

        Unclear cases ask a small model. A command for new content makes an answer new.
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
        asked = self.turn.prompt(COMPARE_PROMPT, before=escape_tags(found.before), now=escape_tags(answer))
        memory = working_memory(()).with_region("instruction", asked)
        compared = await call_model(self.turn, "compare", memory, "fast")
        reply = compared.event.text
        if not compared.event.is_usable:
            reply = ""
        return verdict_from_reply(reply, found.similarity), found

    def choose_effect(self, answer: str, pause: float) -> tuple[StrategyEffect, str]:
        history = tried_strategies([line.tick for line in self.contexts.state.log.lines])
        situation = self._situation(answer, pause)
        chosen = strategy_effect(choose_strategy(history, situation), history, situation)
        return chosen, self.turn.prompt(chosen.advice, **chosen.words)

    def _situation(self, answer: str, pause: float) -> ReflexSituation:
        state, now = self.contexts.state, self.contexts.now
        notebook = state.records.of(LLM_MEMORY, now.view, TASKS)
        far = state.records.spread_of_older(now.view, now.tick, FAR)
        return ReflexSituation(
            repeated=answer,
            now=now.at,
            seed=now.tick,
            pause=pause,
            diary=_candidates(far),
            tasks=_candidates(notebook),
            neighbours=now.neighbours,
            owners=self.contexts.owners(),
            owner_asked=state.log.owner_asked,
        )


def adds_command(now: ParsedCommands, before: ParsedCommands) -> bool:
    """True if the answer has a command, even a faulty one, that the previous one lacks."""
    asked = [(one.name, one.given) for one in before.commands]
    if any((one.name, one.given) not in asked for one in now.commands):
        return True
    wrong = [fault.near for fault in before.faults]
    return any(fault.near not in wrong for fault in now.faults if not fault.repaired)


def _candidates(records: Sequence[InnerRecord]) -> Sequence[ReflexCandidate]:
    return [ReflexCandidate(id=one.id, text=one.text, at=one.at) for one in records]
