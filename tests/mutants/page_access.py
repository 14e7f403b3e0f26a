"""Rules for strangers at the page."""

from __future__ import annotations

import os

from daemon.console.access import (
    AccessGuard,
    LoginRateLimit,
    PageCredentials,
    SessionRoutes,
    refuse_wrong_token,
)
from daemon.console.secret_store import SecretStore, secret_bytes
from daemon.console.server import ConnectionLimit, rate_limit_key, serve_app
from daemon.engine.clock import Clock
from daemon.settings.parse import password_reader
from daemon.settings.token_file import _close_to_others
from tests.console.test_brake import (
    test_nobody_else_is_locked_out_and_the_right_one_is_always_let_in,
    test_the_first_slips_are_free_and_then_each_one_waits_longer,
)
from tests.console.test_crowd import (
    test_no_address_takes_the_places_of_another,
    test_strangers_who_wait_shut_nobody_out,
    test_who_asks_nothing_or_no_more_is_let_go,
    test_who_has_shown_the_token_stays_between_two_questions_too,
)
from tests.console.test_sessions import (
    test_a_link_ends_after_ten_minutes,
    test_a_link_opens_one_session_once,
    test_a_session_ends_after_seven_days_without_use,
    test_another_token_ends_all_sessions_and_links,
    test_the_streams_of_a_session_end_with_it_and_those_of_others_go_on,
)
from tests.console.test_token_file import test_one_that_others_could_read_is_closed_and_the_owner_is_told
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition, value_of
from tests.stories.test_guarded import test_a_token_that_others_could_guess_does_not_start

PAGE_ACCESS = (
    Mutant(
        "strangers: no more than so many come in",
        ConnectionLimit.add,
        call_of(ConnectionLimit._make_room_for).removed(),
        test_strangers_who_wait_shut_nobody_out,
    ),
    Mutant(
        "strangers: no address takes the places of another",
        ConnectionLimit._make_room_for,
        call_of(ConnectionLimit._close_oldest).part(2).dropped(),
        test_no_address_takes_the_places_of_another,
    ),
    Mutant(
        "strangers: who has shown the token is none",
        AccessGuard._holds,
        call_of(ConnectionLimit.mark_trusted).removed(),
        test_who_has_shown_the_token_stays_between_two_questions_too,
    ),
    Mutant(
        "strangers: a connection that asks nothing ends",
        serve_app,
        value_of("runner").part(5).becomes("3600"),
        test_who_asks_nothing_or_no_more_is_let_go,
    ),
    Mutant(
        "a wrong token costs time",
        LoginRateLimit.delay_wrong_token,
        call_of(Clock.sleep).removed(),
        test_the_first_slips_are_free_and_then_each_one_waits_longer,
    ),
    Mutant(
        "a wrong token costs its own address alone",
        refuse_wrong_token,
        call_of(rate_limit_key).becomes("''"),
        test_nobody_else_is_locked_out_and_the_right_one_is_always_let_in,
    ),
    Mutant(
        "a link opens the page once",
        PageCredentials.open_session,
        condition(3).always(),
        test_a_link_opens_one_session_once,
    ),
    Mutant(
        "a link ends",
        PageCredentials.open_session,
        condition(2).never(),
        test_a_link_ends_after_ten_minutes,
    ),
    Mutant(
        "a session that nobody uses ends",
        PageCredentials.session_of,
        condition().never(),
        test_a_session_ends_after_seven_days_without_use,
    ),
    Mutant(
        "another token ends all sessions",
        SecretStore.hashed_name,
        call_of(secret_bytes).becomes("b'any'"),
        test_another_token_ends_all_sessions_and_links,
    ),
    Mutant(
        "what a session is sent ends with it",
        SessionRoutes.end,
        call_of(ConnectionLimit.close_session).removed(),
        test_the_streams_of_a_session_end_with_it_and_those_of_others_go_on,
    ),
    Mutant(
        "the page's token is closed to others",
        _close_to_others,
        call_of(os.fchmod).removed(),
        test_one_that_others_could_read_is_closed_and_the_owner_is_told,
    ),
    Mutant(
        "a token that others could guess does not start",
        password_reader,
        condition().never(),
        test_a_token_that_others_could_guess_does_not_start,
    ),
)
