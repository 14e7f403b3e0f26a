"""Rules for limits of a turn, a thread, a person and a day."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import replace

from daemon.ism import _RunLoop
from daemon.mind.asking import ask_for_person
from daemon.mind.pipeline import converse
from daemon.playbooks.run import PlaybookRun
from daemon.process import Turn
from daemon.processes.deliberation import _DeliberationTurn
from daemon.prompts.chooser import Chooser
from daemon.reading.loop import ReadingLoop
from daemon.turn.reservations import ProcessReservations
from daemon.turn.usage_limits import (
    DailySpending,
    LimitChecker,
    ReadingAllowance,
    resets_limit,
    usage_of_execution,
)
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, nth
from tests.processes.test_own_process import test_at_a_limit_an_owner_is_asked
from tests.stories.test_bounded import test_without_an_owner_it_says_so_and_offers_nothing
from tests.stories.test_limits import test_why_a_run_ends
from tests.stories.test_open_thought import (
    test_at_the_cap_it_gives_what_it_has_and_an_owner_may_let_it_go_on,
    test_fifty_branches_meet_the_bound_of_their_root_and_an_owner_is_asked_once,
)
from tests.stories.test_reading_bounds import (
    test_out_of_rounds_it_says_what_it_knows,
    test_without_a_bound_of_dollars_it_may_cost_what_it_costs,
)
from tests.turn.test_budget import test_what_is_in_flight_is_waited_for_and_counts
from tests.turn.test_ledger import (
    test_however_many_ask_no_bound_is_passed_and_all_come_to_an_end,
    test_where_only_what_is_on_its_way_stands_in_the_way_it_is_waited_for,
)
from tests.turn.test_limits import (
    test_a_thread_counts_what_it_does_since_a_person_spoke,
    test_each_bound_holds_where_it_is_reached_and_not_before,
    test_what_a_former_owner_allowed_is_allowed_no_longer,
    test_what_was_allowed_before_a_restart_is_allowed_once,
)

MONEY = (
    Mutant(
        "what is in flight counts against the budget",
        ProcessReservations.reserve,
        condition().never(),
        test_what_is_in_flight_is_waited_for_and_counts,
    ),
    Mutant(
        "limits are asked before each step",
        ask_for_person,
        call_of(Turn.limit).becomes("None"),
        Case(test_at_a_limit_an_owner_is_asked, "Continue-summarize"),
    ),
    Mutant(
        "limits are asked before each choice of a run",
        _RunLoop.choose,
        call_of(Chooser.reached_limit).becomes("None"),
        Case(test_why_a_run_ends, "calls"),
    ),
    Mutant(
        "limits are asked before each call of a pipeline",
        converse,
        call_of(Turn.limit).becomes("None"),
        test_without_an_owner_it_says_so_and_offers_nothing,
    ),
    Mutant(
        "without an owner nobody is asked to let it go on",
        PlaybookRun.may_continue,
        condition(3).part(4).dropped(),
        Case(test_why_a_run_ends, "loops"),
    ),
    Mutant(
        "a consent resets the count of a turn",
        usage_of_execution,
        condition().never(),
        Case(test_each_bound_holds_where_it_is_reached_and_not_before, "turn-limits0-calls"),
    ),
    Mutant(
        "a consent resets the count of a thread",
        LimitChecker.usage_of_tree,
        condition(2).part(1).dropped(),
        Case(test_each_bound_holds_where_it_is_reached_and_not_before, "thread-limits0-calls"),
    ),
    Mutant(
        "a consent resets the count of a person",
        DailySpending.with_entry,
        nth(ast.MatchValue, 2).part(1).becomes("'nobody'"),
        Case(test_each_bound_holds_where_it_is_reached_and_not_before, "person-limits0-calls"),
    ),
    Mutant(
        "a former owner's consent is worth nothing",
        resets_limit,
        condition(2).part(2).dropped(),
        Case(test_what_a_former_owner_allowed_is_allowed_no_longer, "thread"),
    ),
    Mutant(
        "a person's word begins the count of a thread anew",
        LimitChecker.usage_of_tree,
        condition(2).part(2).dropped(),
        test_a_thread_counts_what_it_does_since_a_person_spoke,
    ),
    Mutant(
        "a consent from before a restart counts once",
        resets_limit,
        condition().part(2).dropped(),
        Case(test_what_was_allowed_before_a_restart_is_allowed_once, "turn"),
    ),
    Mutant(
        "reading: calls on their way count",
        ReadingAllowance.reached_limit,
        condition().part(1).only(1),
        test_however_many_ask_no_bound_is_passed_and_all_come_to_an_end,
    ),
    Mutant(
        "reading: what is on its way is waited for where it alone stands in the way",
        ReadingAllowance.reserve,
        condition().never(),
        test_where_only_what_is_on_its_way_stands_in_the_way_it_is_waited_for,
    ),
    Mutant(
        "reading: so many calls are on their way at once",
        ReadingAllowance.__init__,
        call_of(asyncio.Semaphore).part(1).becomes("1000"),
        test_however_many_ask_no_bound_is_passed_and_all_come_to_an_end,
    ),
    Mutant(
        "reading: no bound of dollars is no bound",
        ReadingAllowance._left,
        condition().never(),
        test_without_a_bound_of_dollars_it_may_cost_what_it_costs,
    ),
    Mutant(
        "open thought: calls on their way count",
        LimitChecker.exceeded_in_tree,
        call_of(replace).only(1),
        test_fifty_branches_meet_the_bound_of_their_root_and_an_owner_is_asked_once,
    ),
    Mutant(
        "open thought: calls to itself are bounded",
        _DeliberationTurn._go_on,
        condition().always(),
        test_at_the_cap_it_gives_what_it_has_and_an_owner_may_let_it_go_on,
    ),
    Mutant(
        "reading: rounds are bounded",
        ReadingLoop._reached_limit,
        condition().never(),
        test_out_of_rounds_it_says_what_it_knows,
    ),
)
