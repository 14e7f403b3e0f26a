"""Rules for a single, complete post of each answer."""

from __future__ import annotations

import ast

from daemon.engine.context import StepContext
from daemon.engine.execution import Execution
from daemon.slack.inbox import Inbox
from daemon.turn.soul_program import (
    SoulProgram,
    announce_outage,
    finish_before_restart,
    finish_open_messages,
    has_said_everything,
)
from daemon.turn.speech import OutgoingMessage, Speech, own_messages_since
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, nth, returned, value_of
from tests.slack.test_answered import test_its_own_words_are_not_perceived
from tests.stories.test_again import test_what_breaks_off_says_so_once_however_often_it_is_ended
from tests.stories.test_approval_changed import (
    test_a_yes_is_void_when_the_action_was_edited,
    test_what_it_says_again_after_an_edit_is_said_once,
)
from tests.stories.test_faults import test_every_message_is_answered_once
from tests.stories.test_long import test_what_slack_does_in_the_middle_is_made_good
from tests.stories.test_model_breaks import (
    test_what_breaks_off_twice_stays_readable_and_is_answered_later,
)

ANSWERS_SAID_ONCE = (
    Mutant(
        "speech is looked for in Slack before it is repeated",
        OutgoingMessage._found,
        call_of(own_messages_since).becomes("[]"),
        "dm",
    ),
    Mutant(
        "a speech is known again by its key",
        OutgoingMessage._found,
        condition(2).never(),
        "repeatable/kills",
    ),
    Mutant(
        "what an entry claims is not adopted",
        OutgoingMessage._found,
        condition(4).part(2).dropped(),
        "dm/kills",
    ),
    Mutant(
        "an attempt that did not write the intent never streams",
        OutgoingMessage._show,
        condition().never(),
        "dm",
    ),
    Mutant(
        "what is told anew in fewer words leaves no message as it was",
        Speech._close,
        nth(ast.For).removed(),
        "shorter/kills",
    ),
    Mutant(
        "in a parallel context nothing is streamed, and no message without its key is adopted",
        Speech.update,
        condition().part(2).dropped(),
        "said-beside/kills",
    ),
    Mutant(
        "the messages of parallel contexts wait for each other",
        Speech.finish,
        nth(ast.AsyncWith).unwrapped(),
        "said-beside/kills",
    ),
    Mutant(
        "what a body began to say is settled before it is let go",
        SoulProgram.settle,
        call_of(finish_before_restart).removed(),
        "new-code",
    ),
    Mutant(
        "what it said since goes on",
        finish_before_restart,
        call_of(Execution.entries_left_open).calls(Execution.recorded_entries),
        "new-code",
    ),
    Mutant(
        "what was said before is known before anything new is heard",
        Speech._read_back,
        call_of(StepContext.read_back, 3).removed(),
        "half-said-and-stopped",
    ),
    Mutant(
        "what was half said answers nobody",
        has_said_everything,
        returned(3).part(2).dropped(),
        "killed-half-said",
    ),
    Mutant(
        "what was said answers only what was heard before",
        has_said_everything,
        condition(5).only(1),
        "killed-when-answered",
    ),
    Mutant(
        "a half sentence is closed before the outage is told",
        announce_outage,
        call_of(finish_open_messages).removed(),
        Case(test_what_breaks_off_twice_stays_readable_and_is_answered_later, "cut"),
    ),
    Mutant(
        "redelivery: a message is perceived once",
        Inbox._key_and_event,
        value_of("key", 2).becomes("__import__('uuid').uuid4().hex"),
        Case(test_every_message_is_answered_once, "redelivery"),
    ),
    Mutant(
        "answer-lost: in doubt, what was said is looked for",
        OutgoingMessage.posted_ts,
        condition().never(),
        Case(test_every_message_is_answered_once, "answer-lost"),
    ),
    Mutant(
        "answer-lost: a stream that nobody claims is adopted",
        OutgoingMessage._found,
        condition(4).never(),
        Case(test_what_slack_does_in_the_middle_is_made_good, "answer-lost-chat.startStream"),
    ),
    Mutant(
        "what an earlier attempt left half said stays as it stands",
        OutgoingMessage.break_off,
        condition(2).never(),
        test_what_breaks_off_says_so_once_however_often_it_is_ended,
    ),
    Mutant(
        "its own words are nothing to it",
        Inbox._record_message,
        condition().never(),
        test_its_own_words_are_not_perceived,
    ),
    Mutant(
        "what reads alike and asks for something else has buttons of its own",
        Speech._close,
        value_of("question", 2).becomes("''"),
        Case(test_a_yes_is_void_when_the_action_was_edited, "louder-THE FERRY IS LATE."),
    ),
    Mutant(
        "after a restart nothing is shown before it is known not to stand there",
        Speech.update,
        condition().part(1).dropped(),
        test_what_it_says_again_after_an_edit_is_said_once,
    ),
)
