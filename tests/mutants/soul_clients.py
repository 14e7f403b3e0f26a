"""Rules for clients of the soul's own MCP server."""

from __future__ import annotations

import ast

from daemon.console.asgi_route import AsgiExchange
from daemon.console.mcp_route import GuardedMcpRoute
from daemon.inner_life.note import source_of
from daemon.kinds import ConversationOpened
from daemon.knowledge.search import MessageSearch
from daemon.mind.pipeline import speakers
from daemon.tools.served_conversations import ServedConversations
from daemon.tools.served_tools import PublicTools
from daemon.tools.soul_server import SoulServer
from daemon.tools.tool_approvals import ToolApprovals
from daemon.turn.questions import ask
from daemon.turn.turn import Turn
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition, nth, value_of
from tests.tools.test_soul_server import (
    test_a_cancelled_question_is_stopped,
    test_a_conversation_in_slack_finds_nothing_that_a_client_asked,
    test_a_question_is_answered_as_any_other_and_nothing_is_posted_in_slack,
    test_a_question_with_buttons_is_answered_by_nobody_and_one_in_words_by_the_next_message,
    test_a_restart_in_the_middle_of_a_question_leaves_its_answer_in_the_journal,
    test_a_tool_that_asks_first_is_not_called_for_a_client,
    test_calls_an_hour_are_limited,
    test_clients_know_what_everyone_may_know_and_nothing_private,
    test_dollars_a_day_are_limited_for_clients_alone,
    test_the_inner_life_neither_hears_a_client_nor_speaks_to_one,
    test_the_owner_gets_the_pages_views_without_secrets,
    test_the_token_opens_the_server_alone_and_nothing_else_opens_it,
    test_what_needs_an_approval_is_declined_and_no_client_approves_anything,
)

SOUL_CLIENTS: tuple[Mutant, ...] = (
    Mutant(
        "no client presses a button",
        ask,
        condition().never(),
        test_a_question_with_buttons_is_answered_by_nobody_and_one_in_words_by_the_next_message,
    ),
    Mutant(
        "no owner reads what a client asks",
        Turn.readers_among,
        condition().always(),
        test_what_needs_an_approval_is_declined_and_no_client_approves_anything,
    ),
    Mutant(
        "no client approves its own call",
        ToolApprovals.approvers_of,
        condition().never(),
        test_a_tool_that_asks_first_is_not_called_for_a_client,
    ),
    Mutant(
        "no client is greeted",
        speakers,
        condition().never(),
        test_a_question_is_answered_as_any_other_and_nothing_is_posted_in_slack,
    ),
    Mutant(
        "the inner life does not hear clients",
        source_of,
        condition().never(),
        test_the_inner_life_neither_hears_a_client_nor_speaks_to_one,
    ),
    Mutant(
        "clients find what everyone may know",
        MessageSearch.search_public,
        nth(ast.Lambda).becomes("lambda: [*self._places._channels.values()]"),
        test_clients_know_what_everyone_may_know_and_nothing_private,
    ),
    Mutant(
        "nobody finds what a client asked",
        ServedConversations.open,
        call_of(ConversationOpened).part(6).becomes("'public'"),
        test_a_conversation_in_slack_finds_nothing_that_a_client_asked,
    ),
    Mutant(
        "a stop of the daemon cancels no question",
        SoulServer._run_tool,
        condition().always(),
        test_a_restart_in_the_middle_of_a_question_leaves_its_answer_in_the_journal,
    ),
    Mutant(
        "a client that leaves has cancelled",
        AsgiExchange.receive,
        condition(2).becomes("not self._ended.is_set()"),
        test_a_cancelled_question_is_stopped,
    ),
    Mutant(
        "clients call so often an hour",
        SoulServer._call,
        condition().never(),
        test_calls_an_hour_are_limited,
    ),
    Mutant(
        "clients cost so much a day",
        PublicTools._message,
        condition(5).never(),
        test_dollars_a_day_are_limited_for_clients_alone,
    ),
    Mutant(
        "clients show their token",
        GuardedMcpRoute.answer,
        condition(2).never(),
        test_the_token_opens_the_server_alone_and_nothing_else_opens_it,
    ),
    Mutant(
        "no secret reaches a client",
        SoulServer._finish,
        value_of("text").becomes("done.text"),
        test_the_owner_gets_the_pages_views_without_secrets,
    ),
)
