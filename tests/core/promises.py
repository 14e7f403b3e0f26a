"""What was promised besides: each promise taken out, and the test that then fails. Run by soak.py."""

from __future__ import annotations

from tests.core.cut_off import CUT_OFF
from tests.core.giving_up import GIVES_UP
from tests.core.mutant import rule

AWAY = "tests/stories/test_away.py::"
LONG = "tests/stories/test_long.py::"
HEARING = "tests/stories/test_hearing.py::"
MODEL = "tests/stories/test_model.py::"
DISK = "tests/stories/test_disk.py::"
STATUS = "tests/slack/test_status.py::"
TROUBLE = "tests/stories/test_trouble.py::"
CATCH_UP = "tests/slack/test_catch_up.py::"
MISSED = "tests/slack/test_catch_up_trouble.py::"
LONG_AWAY = "tests/slack/test_catch_up_long.py::"
FORGED = "tests/tools/test_commands.py::test_verify_gives_each_violation_a_line_with_its_seq"

HEARS = (
    rule(
        "a peer that is half open is noticed",
        "slack/sockets.py",
        "            heartbeat=self.beat,\n",
        "",
        "tests/slack/test_sockets.py::test_a_peer_that_is_half_open_is_noticed_and_replaced",
    ),
    rule(
        "a token that is taken back ends the daemon",
        "slack/access.py",
        "in FATAL:",
        "in ():",
        f"{HEARING}test_it_does_not_live_on_when_its_token_is_taken_back",
    ),
    rule(
        "there are as many sockets as are wanted",
        "slack/sockets.py",
        "for _ in range(self.hearing.wanted)",
        "for _ in range(1)",
        f"{HEARING}test_its_health_tells_whether_it_hears",
    ),
    rule(
        "what was said while the daemon was away is read",
        "slack/sockets.py",
        "                self._first.set()\n                self.began()\n",
        "                self._first.set()\n",
        f"{AWAY}test_what_nobody_heard_is_answered_in_one_breath_for_each_thread",
    ),
    rule(
        "only a completed catch-up moves the watermark",
        "slack/missed.py",
        "        while self._new:\n",
        "        await self.marks.read_all(self.begun, {})\n        while self._new:\n",
        f"{MISSED}test_a_run_that_is_killed_in_the_middle_is_made_up_for",
    ),
    rule(
        "what was heard says nothing about what was said before it",
        "slack/watermarks.py",
        "            return mark\n",
        "            heard = [entry.at for entry in journal.kind(Opened)]\n"
        "            return CaughtUp(until=max(mark.until, *heard, 0.0), behind=mark.behind)\n",
        f"{MISSED}test_a_run_that_is_killed_in_the_middle_is_made_up_for",
    ),
    rule(
        "catching up goes on where Slack went away",
        "slack/catch_up.py",
        "if self._missed is None or self._anew:",
        "if True:",
        f"{LONG_AWAY}test_hundreds_of_threads_slack_away_and_a_kill_in_the_middle",
    ),
    rule(
        "catching up goes on where it was killed",
        "slack/watermarks.py",
        "        for channel, threads in entry.event.threads.items():\n",
        "        for channel, threads in ():\n",
        f"{LONG_AWAY}test_hundreds_of_threads_slack_away_and_a_kill_in_the_middle",
    ),
    rule(
        "what is missed while it catches up is looked for soon",
        "slack/missed.py",
        "if self._read >= most and anew():",
        "if False:",
        f"{LONG_AWAY}test_what_is_missed_while_it_reads_waits_for_no_end_of_that",
    ),
    rule(
        "a thread that was read is read again where something came since",
        "slack/missed.py",
        "latest is not None and latest <= read",
        "True",
        f"{LONG_AWAY}test_a_thread_that_was_read_is_read_once_more_where_something_came_since",
    ),
    rule(
        "what is too old is not answered",
        "slack/missed.py",
        "        if at(item) < too_old:\n",
        "        if False:\n",
        f"{AWAY}test_what_is_too_old_for_an_answer_is_known_when_its_thread_goes_on",
    ),
    rule(
        "what is too old is remembered",
        "slack/inbox.py",
        'if address == "late":',
        "if False:",
        f"{AWAY}test_what_is_too_old_for_an_answer_is_known_when_its_thread_goes_on",
    ),
    rule(
        "what was said before the first start is not answered",
        "slack/catch_up.py",
        "mark = CaughtUp(until=self.archive.now())",
        "mark = CaughtUp(until=0.0)",
        f"{CATCH_UP}test_nothing_from_before_its_first_start_is_answered",
    ),
    rule(
        "every page is read",
        "slack/web.py",
        "        if not cursor:\n            return\n",
        "        if True:\n            return\n",
        f"{CATCH_UP}test_every_page_is_read",
    ),
)
"""The socket that never goes deaf, and catch-up."""

SPEAKS = (
    rule(
        "a long answer goes on in a new message",
        "slack/pages.py",
        "if size(page) < PARAGRAPH:",
        "if True:",
        f"{LONG}test_a_very_long_answer_arrives_whole",
    ),
    rule(
        "code and tables survive the split",
        "slack/pages.py",
        "start, again = resume(text, upto, block)",
        'start, again = resume(text, upto, block)[0], ""',
        f"{LONG}test_a_very_long_answer_arrives_whole",
    ),
    rule(
        "code that is cut is closed",
        "slack/pages.py",
        "said = shown + block.end",
        "said = shown",
        f"{LONG}test_a_very_long_answer_arrives_whole",
    ),
    rule(
        "a stream without its end is no answer",
        "claude/client.py",
        "        if not answer.complete:\n            raise Broken",
        "        if False:\n            raise Broken",
        f"{MODEL}test_what_passes_in_a_moment_nobody_notices[no message_stop]",
    ),
    rule(
        "an answer that is too long says so",
        "claude/streamed.py",
        "        if self.stop_reason in CUT:\n",
        "        if False:\n",
        "tests/stories/test_model_answers.py::"
        "test_a_long_answer_is_said_as_far_as_it_came_and_can_be_gone_on_with",
    ),
    rule(
        "what waits for the model is answered when its time has come",
        "engine/outage.py",
        "alarm.add_done_callback(lambda _: stirred.set())",
        "alarm.add_done_callback(lambda _: None)",
        f"{TROUBLE}test_an_outage_is_told_once_and_the_message_answered_later",
    ),
    rule(
        "a watch that woke is paid",
        "engine/waits.py",
        "            closes = [waiting.seq]\n",
        "",
        "tests/tools/test_verify.py::test_a_journal_of_the_real_daemon_is_clean",
    ),
)
"""Speech, and a model that fails."""

KEEPS = (
    rule(
        "where nothing may be said a turn ends at once",
        "slack/speaker.py",
        "if closed(failure):",
        "if False:",
        "tests/stories/test_scopes.py::test_where_nothing_may_be_said_the_turn_ends_and_the_journal_says_why",
    ),
    rule(
        "each conversation hears of an outage",
        "soul/unreachable.py",
        "if waits and turn.addressed:",
        "if waits and turn.addressed and turn.silent:",
        "tests/stories/test_account_later.py::test_each_message_of_a_dm_hears_of_an_outage_and_each_thread_once",
    ),
    rule(
        "what a full disk cannot take is not acked",
        "slack/inbox.py",
        """Slack will send it again. %s", error)
            return BoltResponse(status=503)""",
        """Slack will send it again. %s", error)
            return await context.ack()""",
        f"{DISK}test_a_full_disk_loses_nothing_and_needs_no_restart",
    ),
    rule(
        "a journal that can be written again says so",
        "engine/writer.py",
        "            self._well()\n",
        "            pass\n",
        f"{DISK}test_a_locked_database_is_waited_for",
    ),
    rule(
        "a second daemon is refused",
        "engine/lock.py",
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        "tests/stories/test_process.py::test_a_second_daemon_on_the_same_journal_is_refused",
    ),
    rule(
        "verify: an entry that is gone is named",
        "engine/verify.py",
        "if missing < seq:",
        "if missing < 0:",
        f"{FORGED}[gone]",
    ),
    rule(
        "verify: a projection is compared with a replay",
        "engine/verify.py",
        "yield from _folded(reading.folded(), ledger)",
        "yield from ()",
        f"{FORGED}[pending]",
    ),
    rule(
        "verify: a receipt is there once",
        "engine/journal_rules.py",
        "seq in entry.closes[:n] or not ledger.is_pending(seq)",
        "False",
        f"{FORGED}[doubled]",
    ),
)
"""The journal, and who looks at it."""

SHOWS = (
    rule(
        "only the newest of what is to be shown is told",
        "slack/sign.py",
        "        spot.wanted, spot.hold = value, hold\n",
        "        if not spot.task:\n            spot.wanted, spot.hold = value, hold\n",
        f"{STATUS}test_whoever_shows_something_never_waits_and_only_the_newest_is_told",
    ),
    rule(
        "a status is told until Slack takes it",
        "slack/sign.py",
        "            if failures and self._closing:\n",
        "            if failures:\n",
        "tests/slack/test_status_trouble.py::test_what_slack_does_not_take_away_is_taken_away_as_soon_as_it_does[500]",
    ),
    rule(
        "statuses stay below Slack's pace",
        "slack/sign.py",
        "        return wait\n",
        "        return 0.0\n",
        f"{STATUS}test_many_threads_stay_below_slack_s_pace_and_each_has_its_turn",
    ),
    rule(
        "what a dead daemon has left standing is taken away",
        "slack/surface.py",
        "            self.speaker.begin()\n",
        "",
        "tests/slack/test_status.py::test_the_next_life_takes_away_what_a_killed_one_has_shown",
    ),
    rule(
        "whatever ends a turn, nothing of it is shown any more",
        "soul/soul_program.py",
        "        finally:\n            turn.show(after)\n",
        "        finally:\n            pass\n",
        "tests/stories/test_status.py::test_while_a_question_waits_nobody_is_at_work",
    ),
)
"""What Slack shows of its work."""

PROMISES = (*CUT_OFF, *GIVES_UP, *HEARS, *SPEAKS, *KEEPS, *SHOWS)
