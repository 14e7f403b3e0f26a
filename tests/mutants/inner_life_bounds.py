"""Rules for the inner life's pauses, commands and waits."""

from __future__ import annotations

import ast

from config import Settings
from daemon.engine.kinds import EntryMatch
from daemon.inner_life.commands.cycle_commands import _idle, _pause
from daemon.inner_life.reflex import judge_answer
from daemon.processes.inner_life import TickRun
from daemon.turn.branches import begin_wait, input_of_ended_wait
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition, nth, returned, value_of
from tests.stories.test_inner_bounds import (
    test_a_pause_shorter_than_its_owner_wants_is_refused,
    test_a_sleep_until_what_is_no_process_ends_is_refused,
    test_what_comes_while_it_thinks_ends_the_sleep_that_it_then_begins,
    test_what_it_says_again_is_not_done_again,
    test_what_wakes_it_too_soon_is_thought_about_when_the_pause_is_over,
    test_what_woke_it_is_known_after_two_more_starts,
    test_without_an_inner_life_nothing_is_thought,
)
from tests.stories.test_inner_reflex import test_the_same_words_about_something_new_are_no_repeat

INNER_LIFE_BOUNDS = (
    Mutant(
        "inner life: a command is carried out once",
        TickRun._carry_out,
        nth(ast.For).part(1).becomes("[*written.commands, *written.commands]"),
        test_what_it_says_again_is_not_done_again,
    ),
    Mutant(
        "inner life: the commands of a repeat are not carried out",
        TickRun._follow,
        condition(3).always(),
        test_what_it_says_again_is_not_done_again,
    ),
    Mutant(
        "inner life: without one nothing is thought",
        Settings.inner,
        condition().never(),
        test_without_an_inner_life_nothing_is_thought,
    ),
    Mutant(
        "inner life: nobody sleeps until what is no process ends",
        _idle,
        condition(5).never(),
        test_a_sleep_until_what_is_no_process_ends_is_refused,
    ),
    Mutant(
        "inner life: whatever wakes it, the pause is kept",
        TickRun._too_early,
        returned().never(),
        test_what_wakes_it_too_soon_is_thought_about_when_the_pause_is_over,
    ),
    Mutant(
        "inner life: it sets no pause shorter than its owner wants",
        _pause,
        condition().part(2).becomes("0"),
        test_a_pause_shorter_than_its_owner_wants_is_refused,
    ),
    Mutant(
        "inner life: a wait takes the place of the one before",
        begin_wait,
        condition().never(),
        test_what_woke_it_is_known_after_two_more_starts,
    ),
    Mutant(
        "inner life: what woke it is kept over more than one start",
        TickRun._later,
        condition().part(1).part(1).becomes("'woken'"),
        test_what_woke_it_is_known_after_two_more_starts,
    ),
    Mutant(
        "inner life: a note that woke it too soon comes into view later",
        input_of_ended_wait,
        value_of("notes").part(2).dropped(),
        test_what_woke_it_is_known_after_two_more_starts,
    ),
    Mutant(
        "inner life: what comes while it thinks ends its sleep",
        TickRun._sleep,
        call_of(EntryMatch).part(4).becomes("ran[-1].seq"),
        test_what_comes_while_it_thinks_ends_the_sleep_that_it_then_begins,
    ),
    Mutant(
        "inner life: the same words about something new are no repeat",
        judge_answer,
        condition(2).part(2).dropped(),
        test_the_same_words_about_something_new_are_no_repeat,
    ),
)
