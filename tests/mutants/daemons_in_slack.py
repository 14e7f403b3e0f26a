"""Rules for daemons that share a log, and with it a Slack app."""

from __future__ import annotations

from daemon.slack.archive import BotMessageTracker
from daemon.slack.backfill import BackfillTask
from daemon.slack.directory import PeopleDirectory
from daemon.slack.early_messages import EarlyMessages
from daemon.slack.inbox import Inbox
from daemon.slack.places import AudienceTracker
from daemon.slack.socket_allotment import SocketAllotment
from daemon.slack.status import SlackStatus
from tests.mutants.mutant import Mutant
from tests.mutants.places import call_of, condition, value_of
from tests.slack.test_bots_at_two_daemons import test_the_limit_of_bots_holds_for_all_daemons_together
from tests.slack.test_daemon_dies import (
    test_a_daemon_without_the_role_asks_the_one_that_has_it,
    test_the_status_of_a_dead_daemon_is_cleared_and_those_of_others_stay,
)
from tests.slack.test_shared_sockets import (
    test_a_replacement_waits_for_the_end_of_the_old_one_only_if_no_socket_is_free,
    test_sockets_close_while_the_log_is_away_and_open_again_after,
)
from tests.slack.test_two_audiences import (
    test_a_daemon_does_not_put_its_old_public_over_the_shared_of_another,
    test_two_audiences_at_once_leave_the_readers_unknown_until_the_next_look,
)
from tests.slack.test_two_daemons import (
    test_a_reply_at_one_daemon_before_its_call_at_another_is_answered,
    test_an_edit_waits_while_another_daemon_records_its_message,
)

DAEMONS_IN_SLACK = (
    Mutant(
        "sockets close while the log is away",
        SocketAllotment.follow,
        condition(2).never(),
        test_sockets_close_while_the_log_is_away_and_open_again_after,
    ),
    Mutant(
        "all daemons together open at most ten sockets",
        SocketAllotment.take_spare,
        condition(2).never(),
        test_a_replacement_waits_for_the_end_of_the_old_one_only_if_no_socket_is_free,
    ),
    Mutant(
        "a reply is looked at again when another daemon opens its thread",
        EarlyMessages.follow,
        condition(2).never(),
        test_a_reply_at_one_daemon_before_its_call_at_another_is_answered,
    ),
    Mutant(
        "a change waits for the message that another daemon records",
        Inbox._record_message,
        call_of(Inbox._wait_for_original).removed(),
        test_an_edit_waits_while_another_daemon_records_its_message,
    ),
    Mutant(
        "a look-up from before another daemon's record counts for nothing",
        PeopleDirectory._is_fresh,
        condition(2).never(),
        test_a_daemon_does_not_put_its_old_public_over_the_shared_of_another,
    ),
    Mutant(
        "of two audiences at once none is believed",
        AudienceTracker._doubt,
        condition().never(),
        test_two_audiences_at_once_leave_the_readers_unknown_until_the_next_look,
    ),
    Mutant(
        "a dead daemon's statuses alone are cleared",
        SlackStatus._clear_left,
        value_of("is_left").always(),
        test_the_status_of_a_dead_daemon_is_cleared_and_those_of_others_stay,
    ),
    Mutant(
        "after a death messages are read again until Slack knows of it",
        BackfillTask._take_request,
        condition().never(),
        test_a_daemon_without_the_role_asks_the_one_that_has_it,
    ),
    Mutant(
        "bots' messages are judged by one daemon",
        BotMessageTracker.hold,
        condition(4).never(),
        test_the_limit_of_bots_holds_for_all_daemons_together,
    ),
)
