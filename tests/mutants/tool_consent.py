"""Rules for the consent to tools and their calls."""

from __future__ import annotations

from daemon.processes.vetting import vetting
from daemon.tools.changed_tools import _is_void
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.tools.tool_definitions import _add_unique
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import condition, returned
from tests.stories.test_changed_tools import (
    test_a_change_voids_the_approval_that_waits_and_every_always,
    test_a_new_tool_of_an_untrusted_server_can_be_left_out,
    test_a_press_before_the_change_is_heard_calls_nothing,
    test_tools_that_cannot_be_offered_are_named_to_the_owner,
    test_what_an_untrusted_server_changes_is_not_offered_until_an_owner_says_so,
)
from tests.stories.test_tool_approvals import (
    test_a_client_of_the_soul_s_own_server_approves_nothing,
    test_a_member_of_a_user_group_approves_as_long_as_a_member,
    test_always_ends_when_people_from_outside_are_in_the_channel,
    test_always_holds_in_its_channel_until_it_is_taken_back,
    test_always_of_somebody_who_asked_holds_for_what_they_ask,
    test_declined_it_is_not_called,
)

TOOL_CONSENT = (
    Mutant(
        "a declined call of a tool is not made",
        ToolApprovals._check_answer,
        condition(2).never(),
        test_declined_it_is_not_called,
    ),
    Mutant(
        "a call of a tool that changed while it waited is not made",
        ToolApprovals._is_changed,
        condition(1).always(),
        test_a_press_before_the_change_is_heard_calls_nothing,
    ),
    Mutant(
        "whoever left a user group approves no call of a tool",
        ToolApprovals._check_answer,
        condition(5).never(),
        test_a_member_of_a_user_group_approves_as_long_as_a_member,
    ),
    Mutant(
        "a client of the soul's server approves no call of a tool",
        ToolApprovals.approvers_of,
        condition(1).never(),
        test_a_client_of_the_soul_s_own_server_approves_nothing,
    ),
    Mutant(
        "a standing approval of an asker is for what the asker asks",
        ToolApprovals._standing,
        condition(3).part(2).dropped(),
        test_always_of_somebody_who_asked_holds_for_what_they_ask,
    ),
    Mutant(
        "a standing approval ends in a channel that outsiders read",
        ToolApprovals._why_over,
        condition(1).never(),
        test_always_ends_when_people_from_outside_are_in_the_channel,
    ),
    Mutant(
        "a standing approval holds in its channel alone",
        ToolCatalogue.standing_for,
        condition(1).always(),
        test_always_holds_in_its_channel_until_it_is_taken_back,
    ),
    Mutant(
        "a tool that an untrusted server changed waits for an owner",
        ToolCatalogue._fold_entry,
        condition(1).always(),
        test_what_an_untrusted_server_changes_is_not_offered_until_an_owner_says_so,
    ),
    Mutant(
        "a changed tool that an owner leaves out is not accepted",
        vetting,
        condition(3).part(1).dropped(),
        test_a_new_tool_of_an_untrusted_server_can_be_left_out,
    ),
    Mutant(
        "a changed definition voids the approval that waits",
        _is_void,
        returned(1).never(),
        Case(test_a_change_voids_the_approval_that_waits_and_every_always, "True"),
    ),
    Mutant(
        "of two tools of one name none is offered",
        _add_unique,
        condition(1).never(),
        test_tools_that_cannot_be_offered_are_named_to_the_owner,
    ),
)
