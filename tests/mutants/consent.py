"""Rules for approval by owners only."""

from __future__ import annotations

from daemon.actions.action import _agree, bind_action
from daemon.actions.approvals import hear_what_came, in_code_block
from daemon.engine.event import fingerprint
from daemon.process import Question
from daemon.turn.input_policy import _select_answer, may_answer
from tests.actions.test_approval import test_nothing_in_a_value_ends_the_block_or_reads_like_another_name
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, returned
from tests.stories.test_answering import test_a_former_owner_s_yes_is_worth_nothing
from tests.stories.test_approval import (
    test_after_what_was_said_meanwhile_something_else_has_to_be_asked_for,
    test_an_owner_says_no,
    test_it_is_done_when_an_owner_agrees_after_a_restart,
    test_what_is_said_meanwhile_is_heard_first,
)
from tests.stories.test_approval_changed import test_a_yes_is_void_when_the_action_was_edited
from tests.stories.test_limits import test_an_owner_lets_it_go_on

CONSENT = (
    Mutant(
        "an owner alone may press",
        _select_answer,
        condition(2).always(),
        Case(test_an_owner_lets_it_go_on, "rounds"),
    ),
    Mutant(
        "a former owner answers nothing that was put to the owners",
        may_answer,
        returned(2).always(),
        Case(test_a_former_owner_s_yes_is_worth_nothing, "button"),
    ),
    Mutant(
        "approval is asked",
        bind_action,
        condition(2).never(),
        test_it_is_done_when_an_owner_agrees_after_a_restart,
    ),
    Mutant(
        "what an owner declined is not done",
        _agree,
        condition(3).never(),
        test_an_owner_says_no,
    ),
    Mutant(
        "other arguments have to be approved anew",
        _agree,
        call_of(fingerprint).becomes("''"),
        test_after_what_was_said_meanwhile_something_else_has_to_be_asked_for,
    ),
    Mutant(
        "what was said meanwhile is heard before an approved deed",
        hear_what_came,
        condition(2).part(1).dropped(),
        test_what_is_said_meanwhile_is_heard_first,
    ),
    Mutant(
        "a yes is to what the action does",
        _agree,
        call_of(Question).part(5).part(1).part(2).dropped(),
        Case(test_a_yes_is_void_when_the_action_was_edited, "louder-THE FERRY IS LATE."),
    ),
    Mutant(
        "nothing in a value ends the block in which an owner reads it",
        in_code_block,
        call_of(str.replace).part(2).becomes("'`'"),
        test_nothing_in_a_value_ends_the_block_or_reads_like_another_name,
    ),
)
