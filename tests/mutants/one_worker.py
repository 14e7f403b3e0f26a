"""Rules for one worker per thread, and for giving up failing turns."""

from __future__ import annotations

import fcntl

from daemon.engine.context import StepContext
from daemon.engine.execution import AnswerMatcher, Execution
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.journal_file import _try_lock
from daemon.engine.journal.writer import Fence, JournalWriter
from daemon.engine.retries import CrashGuard, must_give_up
from daemon.engine.worker import TurnRunner, Worker
from daemon.turn.turn import Turn
from tests.engine.test_failing import test_code_that_swallows_the_end_of_its_turn_does_not_go_on
from tests.engine.test_kills import test_an_execution_that_runs_again_after_each_step_comes_to_the_same
from tests.engine.test_leases import (
    test_a_turn_is_not_begun_beside_that_of_another_worker,
    test_a_turn_that_another_worker_has_ended_is_not_resumed,
    test_an_attempt_that_was_overtaken_does_nothing_in_the_world,
    test_an_attempt_that_was_overtaken_writes_nothing,
)
from tests.engine.test_suspects import test_two_poisons_are_given_up_alone
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, value_of
from tests.stories.test_attempts import test_a_turn_that_another_daemon_has_taken_over_claims_nothing
from tests.stories.test_process import test_a_second_daemon_on_the_same_journal_is_refused

ONE_WORKER = (
    Mutant(
        "appends are fenced by the attempt",
        JournalWriter._insert,
        condition().never(),
        "dm/split-brains",
    ),
    Mutant(
        "a fenced daemon does not sweep what it lost",
        Worker._take_turns,
        call_of(set.add).removed(),
        "dm/split-brains",
    ),
    Mutant(
        "a second daemon is refused",
        _try_lock,
        call_of(fcntl.flock).removed(),
        test_a_second_daemon_on_the_same_journal_is_refused,
    ),
    Mutant(
        "a claim is fenced",
        Turn.claim,
        call_of(Journal.append).part(6).dropped(),
        test_a_turn_that_another_daemon_has_taken_over_claims_nothing,
    ),
    Mutant(
        "engine: appends are fenced by the attempt",
        Execution.__init__,
        call_of(Fence).becomes("None"),
        test_an_attempt_that_was_overtaken_writes_nothing,
    ),
    Mutant(
        "engine: the lease is looked at before each effect",
        Journal.confirm_lease,
        condition().never(),
        test_an_attempt_that_was_overtaken_does_nothing_in_the_world,
    ),
    Mutant(
        "engine: no turn begins beside that of another worker",
        TurnRunner._begin,
        call_of(Journal.append).part(5).dropped(),
        test_a_turn_is_not_begun_beside_that_of_another_worker,
    ),
    Mutant(
        "engine: a turn that another worker has ended is not resumed",
        TurnRunner._resume,
        call_of(Journal.append).part(5).dropped(),
        test_a_turn_that_another_worker_has_ended_is_not_resumed,
    ),
    Mutant(
        "a turn of which the daemon dies is given up",
        must_give_up,
        condition().part(2).dropped(),
        "deadly",
    ),
    Mutant(
        "engine: after two restarts it has failed",
        TurnRunner._outcome,
        value_of("hopeless").part(1).dropped(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "at each press"),
    ),
    Mutant(
        "engine: code that swallows the end of its turn cannot go on",
        StepContext._check,
        condition(2).never(),
        test_code_that_swallows_the_end_of_its_turn_does_not_go_on,
    ),
    Mutant(
        "answers: each counts once",
        AnswerMatcher.find_answer,
        condition().part(1).dropped(),
        Case(test_an_execution_that_runs_again_after_each_step_comes_to_the_same, "two alike questions"),
    ),
    Mutant(
        "suspects: one at a time is at work",
        CrashGuard.may_take_turn,
        condition(5).removed(),
        test_two_poisons_are_given_up_alone,
    ),
)
