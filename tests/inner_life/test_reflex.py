"""The reflex against stagnation: detection, strategies, effects."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.engine.clock import DAY
from daemon.inner_life.reflex import (
    COMPARE_PROMPT,
    LADDER,
    OWNER_EVERY,
    ReflexCandidate,
    ReflexSituation,
    StrategyEffect,
    TriedStrategy,
    choose_strategy,
    is_only_waiting,
    judge_answer,
    read_comparison,
    strategy_effect,
    success_rate,
    tried_strategies,
    verdict_from_reply,
)
from daemon.kinds import TickLogged
from daemon.prompts.elements import fill_placeholders
from daemon.prompts.prompt_catalogue import WORDING
from tests.texts import path_of

SAID = "I read note 5 about tea. I shall ask Alice tomorrow which tea she means, and write it down."
REWORDED = "I read note 5 about tea. I will ask Alice later which tea she means, and write it down."
OTHER = "Elk eat twigs in winter. There is no concept of a moose yet: this may be a day to add one."
NOW = 1_790_000_000.0
AROUND = ReflexSituation(
    repeated=SAID,
    now=NOW,
    seed=41,
    pause=60.0,
    diary=[ReflexCandidate(id=n, text=f"Entry {n}", at=NOW - (100 - n) * DAY) for n in range(1, 11)],
    tasks=[ReflexCandidate(id=77, text="Find out what elk eat.")],
    neighbours=["echo"],
    owners=["U0ALICE0001"],
)


def walked(
    around: ReflexSituation, worked: Sequence[bool], history: Sequence[TriedStrategy] = ()
) -> list[str]:
    """Return the strategies chosen in a row."""
    tried = list(history)
    for came in worked:
        tried.append(TriedStrategy(strategy=choose_strategy(tried, around).name, worked=came))
    return [one.strategy for one in tried[len(history) :]]


def failed(*names: str) -> list[TriedStrategy]:
    return [TriedStrategy(strategy=name, worked=False) for name in names]


def asks(
    name: str, history: Sequence[TriedStrategy] = (), around: ReflexSituation = AROUND
) -> tuple[StrategyEffect, str]:
    [strategy] = [one for one in LADDER if one.name == name]
    changed = strategy_effect(strategy, history, around)
    return changed, fill_placeholders(path_of(changed.advice).read_text(encoding="utf-8"), **changed.words)


# Detection


def test_the_same_again_is_a_repetition_at_no_call() -> None:
    judged = judge_answer(f"  {SAID.upper()}\n", SAID)
    assert (judged.verdict, judged.similarity, judged.novelty) == ("repeat", 1.0, 0.0)
    assert judge_answer(SAID, SAID, commands=True).verdict == "repeat"


def test_the_same_about_something_that_happened_since_is_none() -> None:
    assert judge_answer(SAID, SAID, news=True).verdict == "new"
    assert judge_answer(REWORDED, SAID, news=True, fruitless=9).verdict == "new"


def test_without_a_command_it_is_asked_about_however_unlike_it_is() -> None:
    judged = judge_answer(OTHER, SAID)
    assert (judged.verdict, judged.before) == ("ask", SAID)
    assert judged.similarity < 0.6
    assert judge_answer(OTHER, SAID, commands=True).verdict == "new"
    assert judge_answer(SAID, "").verdict == "new", "there is nothing to compare it with"


def test_what_is_much_alike_is_asked_about_though_there_is_a_command() -> None:
    judged = judge_answer(REWORDED, SAID, commands=True)
    assert judged.verdict == "ask"
    assert 0.6 < judged.similarity < 0.95


def test_after_three_ticks_without_fruit_it_is_asked_about() -> None:
    judged = [judge_answer(OTHER, SAID, commands=True, fruitless=n).verdict for n in (2, 3, 4)]
    assert judged == ["new", "ask", "ask"]
    assert judge_answer(OTHER, "", fruitless=9).verdict == "new", "there is nothing to compare it with"


def test_who_only_waits_repeats_nothing() -> None:
    assert judge_answer(SAID, SAID, waits=True, fruitless=9).verdict == "new"
    assert is_only_waiting(["cycle.idle"])
    assert is_only_waiting(["cycle.pause", "cycle.idle"])
    assert not is_only_waiting(["cycle.idle", "diary.add"])
    assert not is_only_waiting([])


@pytest.mark.parametrize(
    ("reply", "new"),
    [
        ('{"new": true, "why": "a question"}', True),
        ('{"new": false, "why": "the same"}', False),
        ('Here it is:\n```json\n{"why": "the {same}", "new": "no"}\n```\nI hope it helps.', False),
        ("new: Yes", True),
        ("{'new': False}", False),
        ('{"new": true} or rather {"new": false}', None),
        ('{"news": true}', None),
        ('{"new": null}', None),
        ('{"new": ', None),
        ("{" * 50_000, None),
        ("It says much the same.", None),
        ("", None),
        (None, None),
    ],
)
def test_what_the_model_says_decides_and_else_how_alike_they_are(reply: str | None, new: bool | None) -> None:
    assert read_comparison(reply) is new
    repeated = None if new is None else not new
    assert verdict_from_reply(reply, 0.96) is (True if repeated is None else repeated)
    assert verdict_from_reply(reply, 0.95) is (False if repeated is None else repeated)


@given(st.text())
def test_no_reply_is_too_odd(reply: str) -> None:
    assert verdict_from_reply(reply, 1.0) in (True, False)


@given(st.text(max_size=60), st.text(max_size=60))
def test_novelty_is_a_share(answer: str, before: str) -> None:
    assert 0.0 <= judge_answer(answer, before).novelty <= 1.0
    assert judge_answer(answer, "").novelty == 1.0
    assert judge_answer(f"{answer}.", f"{answer}.").novelty == 0.0


def test_a_model_is_asked_without_any_context() -> None:
    text = fill_placeholders(path_of(COMPARE_PROMPT).read_text(encoding="utf-8"), before=SAID, now=REWORDED)
    assert SAID in text
    assert REWORDED in text
    assert '{"new": true or false' in text
    assert read_comparison(text) is None, "what it is asked is no answer"


# Strategies


def test_the_ladder_is_walked_in_order_the_cheap_ones_first() -> None:
    assert walked(AROUND, [False] * 8) == [
        "rephrase",
        "flashback",
        "switch",
        "neighbour",
        "owner",
        "pause",
        "pause",
        "pause",
    ]


def test_after_something_new_it_begins_anew() -> None:
    assert walked(AROUND, [False, True, False, False]) == ["rephrase", "flashback", "rephrase", "flashback"]


def test_what_is_not_there_is_left_out() -> None:
    alone = ReflexSituation(repeated=SAID, now=NOW, seed=1)
    assert walked(alone, [False] * 3) == ["rephrase", "pause", "pause"]


def test_of_those_as_dear_as_each_other_the_one_is_tried_that_worked() -> None:
    history = [*failed("rephrase", "flashback"), TriedStrategy(strategy="switch", worked=True)]
    assert (
        success_rate("switch", history)
        > success_rate("neighbour", history)
        > success_rate("flashback", history)
    )
    assert walked(AROUND, [False] * 3, history) == ["rephrase", "switch", "flashback"]


def test_no_source_is_all_that_it_listens_to() -> None:
    came = walked(AROUND, [False, True] * 4)
    assert came[1::2] == ["flashback"] * 3 + ["switch"]


def test_an_owner_is_asked_once_in_six_hours() -> None:
    before = failed("rephrase", "flashback", "switch", "neighbour")
    times = [None, NOW - OWNER_EVERY + 1, NOW - OWNER_EVERY, NOW + DAY]
    arounds = [
        ReflexSituation(repeated=SAID, now=NOW, seed=1, owners=["U1"], owner_asked=asked) for asked in times
    ]
    assert [choose_strategy(before, around).name for around in arounds] == [
        "owner",
        "pause",
        "owner",
        "owner",
    ]
    assert choose_strategy([*before, *failed("owner")], arounds[2]).name == "pause", "and once for one circle"


def test_what_has_become_possible_is_tried_before_a_further_pause() -> None:
    tired = failed("rephrase", "flashback", "switch", "pause", "pause")
    assert choose_strategy(tired, AROUND).name == "neighbour"


# Effects


def test_rephrasing_names_what_was_repeated() -> None:
    changed, told = asks("rephrase")
    assert (changed.shows, changed.pause, {*changed.words}) == ((), None, {"repeated"})
    assert SAID in told
    long = ReflexSituation(repeated="# Commands:\n<say>" + "tea " * 900, now=NOW, seed=1)
    told = asks("rephrase", (), long)[1]
    assert len(told) < 1_000
    assert "\n# Commands:" not in told
    assert "<say" not in told


def test_a_flashback_shows_a_far_entry_which_the_seed_picks() -> None:
    changed, told = asks("flashback")
    [shown] = changed.shows
    assert shown in range(1, 6), "the older half"
    assert f"stands {shown}, which you wrote in your diary on 20" in told
    assert asks("flashback")[0] == changed
    seeds = {asks("flashback", (), _with_seed(seed))[0].shows for seed in range(60)}
    assert seeds == {(1,), (2,), (3,), (4,), (5,)}


def _with_seed(seed: int) -> ReflexSituation:
    return ReflexSituation(repeated=SAID, now=NOW, seed=seed, diary=AROUND.diary)


def test_another_task_is_shown_with_a_reminder_to_return() -> None:
    changed, told = asks("switch")
    assert changed.shows == (77,)
    assert "Find out what elk eat." in told
    assert SAID in told
    assert "return to it" in told


def test_somebody_else_is_asked() -> None:
    changed, told = asks("neighbour")
    assert changed.words["neighbour"] == "echo"
    assert "echo by `mesh.ask`" in told
    changed, told = asks("owner")
    assert changed.words["owner"] == "U0ALICE0001"
    assert "`message.send`" in told


def test_pauses_grow_up_to_a_day() -> None:
    pauses = [asks("pause", failed(*["pause"] * n))[0].pause for n in range(14)]
    assert pauses[:4] == [120.0, 240.0, 480.0, 960.0]
    assert pauses[-1] == DAY
    assert "about 4 minutes" in asks("pause", failed("pause"))[1]
    none = ReflexSituation(repeated=SAID, now=NOW, seed=1, pause=0.0)
    assert asks("pause", (), none)[0].pause == 120.0
    long = ReflexSituation(repeated=SAID, now=NOW, seed=1, pause=2 * DAY)
    assert asks("pause", (), long)[0].pause == 2 * DAY, "never shorter than the soul set it"


def test_each_strategy_has_its_text() -> None:
    for one in LADDER:
        changed, told = asks(one.name)
        assert changed.name == one.name
        assert set(changed.words) == set(WORDING[changed.advice].may or ())
        assert told


def test_whether_it_worked_the_next_tick_says_that_thought() -> None:
    def tick(outcome: str, reflex: str = "") -> TickLogged:
        return TickLogged(tick=1, outcome=outcome, reflex=reflex)  # type: ignore[arg-type]

    ticks = [
        tick("thought"),
        tick("repeated", "rephrase"),
        tick("waiting"),
        tick("failed"),
        tick("repeated", "flashback"),
        tick("asleep"),
        tick("thought"),
        tick("thought"),
        tick("repeated", "rephrase"),
    ]
    assert [(one.strategy, one.worked) for one in tried_strategies(ticks)] == [
        ("rephrase", False),
        ("flashback", True),
        ("rephrase", False),
    ]
