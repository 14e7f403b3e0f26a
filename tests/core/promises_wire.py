"""What strangers may send and how much of it: each bound taken out. Run by soak.py."""

from __future__ import annotations

from tests.core.mutant import rule

CROWD = "tests/console/test_crowd.py::"
PAGES = "tests/console/test_pages.py::"
SLOW = "tests/console/test_slow_readers.py::"
BRAKE = "tests/console/test_brake.py::"
SESSIONS = "tests/console/test_sessions.py::"
NAMES = "tests/slack/test_names.py::"
BOTS = "tests/slack/test_bot_messages.py::"
ODD = "tests/slack/test_odd_envelopes.py::"

DOOR = (
    rule(
        "strangers: no more than so many come in",
        "console/crowd.py",
        "                self._show_out_for(address)\n\n",
        "                pass\n\n",
        CROWD + "test_strangers_who_wait_shut_nobody_out",
    ),
    rule(
        "strangers: no address takes the places of another",
        "console/crowd.py",
        "self._show_out(self._strangers, address)",
        "self._show_out(self._strangers)",
        CROWD + "test_no_address_takes_the_places_of_another",
    ),
    rule(
        "strangers: who has shown the token is none",
        "console/guard.py",
        "        self.crowd.vouch(request.protocol, session)\n",
        "",
        CROWD + "test_who_has_shown_the_token_stays_between_two_questions_too",
    ),
    rule(
        "strangers: a connection that asks nothing ends",
        "server.py",
        "keepalive_timeout=idle",
        "keepalive_timeout=3_600",
        CROWD + "test_who_asks_nothing_or_no_more_is_let_go",
    ),
    rule(
        "strangers: they leave files for what the daemon itself opens",
        "server.py",
        "min(MOST, soft // 2)",
        "MOST",
        "tests/stories/test_flooded.py::"
        "test_while_strangers_flood_it_it_is_well_and_its_owner_and_its_people_are_answered",
    ),
    rule(
        "strangers: what they send wrong is not in the log",
        "server.py",
        "faults.addFilter(ours)",
        "pass",
        CROWD + "test_what_is_no_request_is_no_news",
    ),
    rule(
        "the log says a thing once",
        "log.py",
        "if line in self._lines:",
        "if False:",
        "tests/test_log.py::test_a_line_that_comes_again_is_written_once_a_minute_with_how_often_it_came",
    ),
    rule(
        "a reader who takes nothing is dropped",
        "console/readers.py",
        "asyncio.timeout(self._patience)",
        "asyncio.timeout(None)",
        SLOW + "test_who_takes_nothing_is_dropped_and_others_go_on",
    ),
    rule(
        "what was forgotten while a page was read does not stand on it",
        "engine/journal.py",
        "if erasures == self.erasures:",
        "if True:",
        PAGES + "test_what_is_forgotten_while_a_page_is_read_does_not_stand_on_it",
    ),
    rule(
        "what was forgotten while a reader took its time is not sent",
        "console/event_stream.py",
        "if erasures != self._journal.erasures:",
        "if False:",
        SLOW + "test_what_is_forgotten_while_a_reader_takes_its_time_is_never_sent",
    ),
    rule(
        "what waits for a page of the rehearsal is bounded",
        "rehearsal/feed.py",
        "if self.waiting.qsize() < BEHIND:",
        "if True:",
        "tests/rehearsal/test_slow_readers.py::test_a_page_that_is_too_far_behind_is_dropped",
    ),
)
"""How many may come in, and for how long."""

TOKEN = (
    rule(
        "a wrong token costs time",
        "console/brake.py",
        "            await self._clock.sleep(seconds)\n",
        "            pass\n",
        BRAKE + "test_the_first_slips_are_free_and_then_each_one_waits_longer",
    ),
    rule(
        "a wrong token costs its own address alone",
        "console/guard.py",
        "whose(request.remote)",
        '""',
        BRAKE + "test_nobody_else_is_locked_out_and_the_right_one_is_always_let_in",
    ),
    rule(
        "a link opens the page once",
        "console/credentials.py",
        "        if self.links.remove(link):\n            return session\n",
        "        if True:\n            return session\n",
        SESSIONS + "test_a_link_opens_one_session_once",
    ),
    rule(
        "a link ends",
        "console/credentials.py",
        "if self.links.ends(link) <= self.now():",
        "if not self.links.ends(link):",
        SESSIONS + "test_a_link_ends_after_ten_minutes",
    ),
    rule(
        "a session that nobody uses ends",
        "console/credentials.py",
        "if self.sessions.ends(name) <= self.now():",
        "if not self.sessions.ends(name):",
        SESSIONS + "test_a_session_ends_after_seven_days_without_use",
    ),
    rule(
        "a session that is used goes on",
        "console/credentials.py",
        "        self.sessions.move_end(name, self.now() + IDLE)\n",
        "",
        SESSIONS + "test_a_session_ends_after_seven_days_without_use",
    ),
    rule(
        "another token ends all sessions",
        "console/credentials.py",
        "hmac.new(_bytes(self.key), ",
        'hmac.new(b"any", ',
        SESSIONS + "test_another_token_ends_all_sessions_and_links",
    ),
    rule(
        "what a session is sent ends with it",
        "console/session_routes.py",
        "        request.app[CROWD].part(name, request.protocol)\n",
        "",
        SESSIONS + "test_the_streams_of_a_session_end_with_it_and_those_of_others_go_on",
    ),
    rule(
        "the former cookie is taken away",
        "console/guard.py",
        "    if FORMER_COOKIE in request",
        "    if False and FORMER_COOKIE in request",
        "tests/console/test_guard.py::test_the_former_cookie_lets_nobody_in_and_is_taken_away",
    ),
    rule(
        "the page's token is closed to others",
        "console/token_file.py",
        "    os.fchmod(descriptor, mode & ~OTHERS)\n",
        "",
        "tests/console/test_token_file.py::test_one_that_others_could_read_is_closed_and_the_owner_is_told",
    ),
    rule(
        "a token that others could guess does not start",
        "setting.py",
        "if len(text) < least:",
        "if False:",
        "tests/stories/test_guarded.py::test_a_token_that_others_could_guess_does_not_start",
    ),
)
"""What guards the page."""

SENT = (
    rule(
        "odd: what nobody here takes is acked",
        "slack/line.py",
        'payload.get("type") not in TAKEN:\n        return None\n'
        "    body = {name: payload[name] for name in PARTS if name in payload}\n",
        "False:\n        return None\n    body = dict(payload)\n",
        ODD + "test_any_envelope_with_any_part_amiss_is_acked[12]",
    ),
    rule(
        "odd: what is nested too deeply is no JSON",
        "slack/payload.py",
        "except (ValueError, RecursionError):",
        "except ValueError:",
        ODD + "test_what_is_nested_too_deeply_is_acked_and_the_line_lives",
    ),
    rule(
        "odd: and so it is in the rehearsal",
        "rehearsal/wire.py",
        "except RecursionError as error:",
        "except MemoryError as error:",
        "tests/rehearsal/test_bad_json.py::test_a_route_takes_it_for_what_it_is",
    ),
    rule(
        "names: one message is worth a few",
        "slack/names.py",
        "len(chosen) == A_MESSAGE or ",
        "",
        NAMES + "test_one_message_with_thousands_of_mentions_asks_for_a_few",
    ),
    rule(
        "names: so many are asked for in a minute",
        "slack/names.py",
        " or not self._has_room()",
        "",
        NAMES + "test_many_messages_together_ask_for_so_many_in_a_minute",
    ),
    rule(
        "names: who was refused is not asked for again",
        "slack/names.py",
        "if not self._was_refused(id):",
        "if True:",
        NAMES + "test_who_is_refused_is_not_asked_for_again_until_later",
    ),
    rule(
        "its own words are nothing to it",
        "slack/inbox.py",
        "if self._me.said(message.user, message.bot):",
        "if False:",
        "tests/slack/test_answered.py::test_its_own_words_are_not_perceived",
    ),
    rule(
        "what Slack delivers too late is not answered",
        "slack/inbox.py",
        " or self._is_too_old(message))",
        ")",
        "tests/slack/test_late_events.py::test_what_comes_a_day_late_is_remembered_and_not_answered",
    ),
    rule(
        "bots: what may grow is taken when it is whole",
        "slack/inbox.py",
        "        return self._allowed.names(message)\n\n    async def _take_whole",
        "        return False\n\n    async def _take_whole",
        BOTS + "test_a_rewritten_question_is_taken_when_it_is_still",
    ),
    rule(
        "bots: what an earlier life held is looked up",
        "slack/bot_messages.py",
        "        for mark in self._journal.pending(MayGrow):",
        "        for mark in self._journal.pending(MayGrow)[:0]:",
        BOTS + "test_who_is_killed_meanwhile_takes_it_whole_and_once",
    ),
    rule(
        "bots: what is said to grow is waited for",
        "slack/bot_messages.py",
        "        if _grows(item) and now",
        "        if False and now",
        BOTS + "test_a_daemon_that_stops_short_is_waited_for",
    ),
    rule(
        "what is over within a moment has no sign",
        "slack/sign.py",
        "            moment = MOMENT\n",
        "            moment = 0.0\n",
        "tests/slack/test_status.py::test_what_is_over_before_slack_heard_of_it_is_never_told",
    ),
)
"""What comes from Slack."""

WIRE = (*DOOR, *TOKEN, *SENT)
