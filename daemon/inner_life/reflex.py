"""The anti-stagnation reflex: says an answer of the inner life anything new, and what is tried where not?

Pure: what was said and tried comes as arguments, and what a strategy changes in the next tick is an `Effect`.
HMP seed, section 5; rows H18, H19 and H22 of its acceptance.

Asks whether an answer of the inner life says anything new, and what is tried where it does not.
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
from daemon.engine.event import DAY
from daemon.inner_life.contexts import TickContexts
from daemon.inner_life.grammar import Known, ParsedCommands, parse_commands
from daemon.inner_life.records import LLM_MEMORY, InnerRecord
from daemon.inner_life.tick_log import NEW_CONTENT_COMMANDS
from daemon.kinds import TickLogged
from daemon.memory import working_memory
from daemon.prompts.elements import escape_tags
from daemon.prompts.prompt_catalogue import fill_prompt
from daemon.turn.model_calls import call_model
from daemon.turn.turn import Turn

COMPARE_PROMPT = "prompts/inner/compare"
"""The text that asks a model to compare two answers. Its placeholders: `before` and `now`, both fenced."""


ADVICE = "prompts/inner/reflex/"
"""How the names of the texts begin that say what the next tick is to do, one for each strategy."""


WAITS = frozenset({"cycle.idle", "cycle.pause"})
"""The commands that only wait."""


ALIKE = 0.6
"""Above this similarity to the answer before, it is asked for new things though it adds a command."""


SURELY = 0.95
"""Above this one there is nothing new, where nobody could say so."""


FRUITLESS = 3
"""After so many ticks in a row without a new record or note it is asked in any case."""


OWNER_EVERY = 6 * 3600.0
"""Seconds after which an owner may be asked again."""


SHORTEST = 60.0
"""Seconds that a pause is doubled from, where there is none."""


RECENT = 12
"""Of so many attempts each source may have no more than its share, or the soul would listen to it alone."""


LONGEST_REPLY = 4_000
"""Characters of what the model says of two answers that are read."""


LOOSE = re.compile(r"""\bnew\b["']?\s*[:=]\s*["']?(true|false|yes|no)\b(?!\s+or\b)""", re.IGNORECASE)


MEANT = {"true": True, "yes": True, "false": False, "no": False}


GIST = 300
"""Characters of an answer or a task that it is named by."""


Verdict = Literal["new", "repeat", "ask"]


# Is there anything new?


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionVerdict:
    """What is to be thought of an answer; `similarity` is that to `before`, the answer directly before it.

    "ask": a model is to say, without any context, whether there is anything new in it (see `verdict_of`).
    """

    verdict: Verdict
    similarity: float = 0.0
    before: str = ""

    @property
    def novelty(self) -> float:
        """How new it is, from 0 (the same words) to 1."""
        return 1.0 - self.similarity


def is_only_waiting(commands: Collection[str]) -> bool:
    """Are these all of its commands, and does it only wait by them? Then it is no repetition."""
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
    """Judge an answer by the one directly before it (empty: there is none), at no call.

    `waits`: it only waits. `news`: something happened since, and the same words are about something else.
    `commands`: it has one that the answer before has not. `fruitless`: so many ticks in a row, this one
    included, left no new record and saw no new note.
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
    """Is there anything new in the later answer, as the model said it: in JSON as asked for, also among other
    words? None: it did not say, or both."""
    text = (reply or "")[:LONGEST_REPLY]
    said = _said(one.get("new") for one in _objects(text))
    if not said:
        said = _said(LOOSE.findall(text))
    if len(said) != 1:
        return None
    return said.pop()


def verdict_from_reply(reply: str | None, similarity: float) -> bool:
    """Is it a repetition, by what the model said of it? Where it did not say, its similarity says so."""
    new = read_comparison(reply)
    if new is None:
        return similarity > SURELY
    return not new


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in it, one after the other."""
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
    """What is said with these words of whether there is anything new."""
    said = set[bool]()
    for word in words:
        meant = MEANT.get(str(word).strip().casefold())
        if meant is not None:
            said.add(meant)
    return said


# What is tried where there is nothing new


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexCandidate:
    """An entry of the diary, or an open task: its id, its text, and when it was written (Unix seconds)."""

    id: int
    text: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexSituation:
    """What there is to break out with. All of it may be known in the view of the next tick.

    `repeated` is the answer that said nothing new, `seed` picks where there are several (the tick's id),
    `pause` is what the soul or its owner set. `diary` are entries that the next tick would not see by itself,
    `tasks` the other open ones. `owner_asked` is when an owner was last asked, by the soul or by this reflex.
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
    """A strategy that was tried, and whether the next tick that thought said something new."""

    strategy: str
    worked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEffect:
    """What is other in the next tick by the strategy of this name.

    It reads the text `advice` filled with `words`, sees the records `shows`, and comes `pause` seconds later
    (None: as ever).
    """

    name: str
    words: Mapping[str, str] = field(default_factory=dict)
    shows: tuple[int, ...] = ()
    pause: float | None = None

    @property
    def advice(self) -> str:
        """The name of the text that says what the next tick is to do."""
        return f"{ADVICE}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexStrategy:
    """One way out. `rung` says how dear it is, `most` how often of the last attempts it may be (0: always).

    `change` says what it changes, where it has been tried so often since there was anything new; None: there
    is nothing to do it with.
    """

    name: str
    rung: int
    most: int
    change: Callable[[ReflexSituation, int], StrategyEffect | None]


def _rephrase(around: ReflexSituation, tried: int) -> StrategyEffect:
    return StrategyEffect(name="rephrase")


def _flashback(around: ReflexSituation, tried: int) -> StrategyEffect | None:
    """One of the older half of the diary."""
    if not around.diary:
        return None
    by_age = sorted(around.diary, key=attrgetter("at", "id"))
    far = by_age[: max(1, len(by_age) // 2)]
    chosen = random.Random(around.seed).choice(far)
    when = datetime.fromtimestamp(chosen.at, UTC).date().isoformat()
    return StrategyEffect(name="flashback", words={"id": str(chosen.id), "when": when}, shows=(chosen.id,))


def _switch(around: ReflexSituation, tried: int) -> StrategyEffect | None:
    """Another open task."""
    if not around.tasks:
        return None
    chosen = random.Random(around.seed).choice(sorted(around.tasks, key=attrgetter("id")))
    words = {"id": str(chosen.id), "task": escape_tags(first_words(chosen.text))}
    return StrategyEffect(name="switch", words=words, shows=(chosen.id,))


def _neighbour(around: ReflexSituation, tried: int) -> StrategyEffect | None:
    return _one_of("neighbour", around.neighbours, around)


def _owner(around: ReflexSituation, tried: int) -> StrategyEffect | None:
    asked = around.owner_asked
    if asked is not None and 0 <= around.now - asked < OWNER_EVERY:  # a later date says nothing
        return None
    return _one_of("owner", around.owners, around)


def _one_of(name: str, people: Sequence[str], around: ReflexSituation) -> StrategyEffect | None:
    if not people:
        return None
    return StrategyEffect(name=name, words={name: random.Random(around.seed).choice(sorted(people))})


def _pause(around: ReflexSituation, tried: int) -> StrategyEffect:
    """Twice as long each time."""
    base = max(around.pause, SHORTEST)
    pause = min(base * 2.0 ** min(tried + 1, 32), max(DAY, around.pause))
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
"""The registry, the cheap ones first."""


def choose_strategy(history: Sequence[TriedStrategy], around: ReflexSituation) -> ReflexStrategy:
    """Choose what to try next: the cheapest that has not been tried since there was anything new.

    Of those that are as dear, the one that worked most often. When all have been tried it is a pause, and a
    longer one each time.
    """
    tried = _tried_since_new(history)
    recently = [one.strategy for one in history[-RECENT:]]
    left = list[ReflexStrategy]()
    for one in LADDER:
        too_often = 0 < one.most <= recently.count(one.name)
        if one.name not in tried and not too_often and one.change(around, 0):
            left.append(one)
    if not left:
        return PAUSE
    best = left[0]
    for one in left:
        if one.rung == best.rung and success_rate(one.name, history) > success_rate(best.name, history):
            best = one
    return best


def strategy_effect(
    strategy: ReflexStrategy, history: Sequence[TriedStrategy], around: ReflexSituation
) -> StrategyEffect:
    """What this strategy changes in the next tick. It has something to do it with."""
    changed = strategy.change(around, _tried_since_new(history).count(strategy.name))
    assert changed
    return replace(changed, words={"repeated": escape_tags(first_words(around.repeated)), **changed.words})


def success_rate(name: str, history: Iterable[TriedStrategy]) -> float:
    """How often this strategy led to anything new, from 0 to 1; one half for one that was never tried."""
    worked = [one.worked for one in history if one.strategy == name]
    return (sum(worked) + 1) / (len(worked) + 2)


def tried_strategies(ticks: Iterable[TickLogged]) -> list[TriedStrategy]:
    """What was tried in these ticks. Whether it worked says the next tick that neither failed nor waited.

    Where there is none yet it did not: this is asked in a tick that said nothing new.
    """
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
    """The first words of it, on one line."""
    line = " ".join(text.split())
    if len(line) <= GIST:
        return line
    return f"{line[:GIST]}…"


def _tried_since_new(history: Iterable[TriedStrategy]) -> Sequence[str]:
    """The strategies that were tried since one last worked."""
    tried = list[str]()
    for one in history:
        tried.append(one.strategy)
        if one.worked:
            tried.clear()
    return tried


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
        compared = await call_model(self.turn, "compare", memory, "fast")
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
