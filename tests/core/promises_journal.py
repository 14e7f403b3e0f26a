"""What was promised of a journal on a machine that is not what it should be. Run by soak.py."""

from __future__ import annotations

from tests.core.mutant import rule

AHEAD = "tests/stories/test_wrong_clock.py::"
DAMAGE = "tests/stories/test_damage.py::"
HINDERED = "tests/stories/test_hindered.py::"
INDEX = "tests/knowledge/test_journal_index.py::"
MARKS = "tests/slack/test_wrong_clock.py::"
PROMPTS = "tests/stories/test_long_prompts.py::"

CLOCKS = (
    rule(
        "what Slack keeps is dated by Slack's clock",
        "slack/web.py",
        "        return self.answered_at\n",
        "        return self.clock.now()\n",
        f"{MARKS}test_the_marks_are_in_slacks_time",
    ),
    rule(
        "a watermark of the future is not believed",
        "slack/watermarks.py",
        "values(), 0.0) <= now:",
        "values(), 0.0) >= 0:",
        f"{MARKS}test_a_mark_of_the_future_is_not_believed",
    ),
    rule(
        "where no watermark can be believed it is read from the first call",
        "slack/watermarks.py",
        "first = min(first, ",
        "first = max(first, ",
        f"{MARKS}test_where_all_marks_are_of_the_future_it_is_read_from_the_first_call",
    ),
    rule(
        "a wait that was set while the clock was ahead ends in its time",
        "engine/outage.py",
        "left = min(wait.entry.event.due - self._around.clock.now(), wait.seconds)",
        "left = wait.entry.event.due - self._around.clock.now()",
        f"{AHEAD}test_what_was_postponed_is_answered_in_a_minute",
    ),
    rule(
        "a wait that was set while the clock was ahead ends not before its time",
        "engine/outage.py",
        "left = min(wait.entry.event.due - self._around.clock.now(), wait.seconds)",
        "left = 0.0",
        f"{AHEAD}test_what_was_postponed_is_answered_in_a_minute",
    ),
    rule(
        "what was said is looked for from what Slack dated before it",
        "soul/utterance.py",
        "    since = 0.0\n",
        "    since = intent.at if intent else 0.0\n",
        f"{AHEAD}test_what_slack_took_without_a_word_is_not_said_twice",
    ),
    rule(
        "a day counts what was spent on it, and nothing of the future",
        "soul/budget.py",
        "if not self.began <= entry.at < self.began + DAY:",
        "if not self.began <= entry.at:",
        f"{AHEAD}test_a_day_that_was_ahead_spends_nothing_of_today",
    ),
    rule(
        "a clock that is set back takes no time away",
        "soul/spent.py",
        "max(then.at - before.at, 0.0)",
        "then.at - before.at",
        "tests/soul/test_limits.py::test_a_clock_that_is_set_back_takes_no_time_away",
    ),
    rule(
        "how long nothing was heard is told by a clock that nobody sets",
        "slack/line.py",
        "self._clock.steady() - at",
        "self._clock.now() - at",
        f"{AHEAD}test_a_clock_that_is_set_makes_nobody_deaf",
    ),
)
"""A clock that was once ahead, or is set."""

OPENED = (
    rule(
        "a claim is fenced",
        "soul/voice.py",
        "            fence=Fence(thread=self.thread, epoch=self.execution.epoch),\n",
        "",
        "tests/stories/test_attempts.py::test_a_turn_that_another_daemon_has_taken_over_claims_nothing",
    ),
    rule(
        "projections are compared with a replay when a journal is opened",
        "engine/opening.py",
        "            if stored == replayed:\n",
        "            if True:\n",
        f"{DAMAGE}test_a_projection_that_is_gone_is_made_anew[delete from-pending]",
    ),
    rule(
        "a journal of another version is not touched",
        "engine/opening.py",
        "if version not in (0, UNDIGESTED, VERSION):",
        "if False:",
        f"{DAMAGE}test_a_journal_without_entries_or_of_another_version_is_not_touched",
    ),
    rule(
        "a journal without entries is none",
        "engine/opening.py",
        'if "entry" not in tables and (tables or version):',
        "if False:",
        f"{DAMAGE}test_a_journal_without_entries_or_of_another_version_is_not_touched",
    ),
    rule(
        "damage is shown by the health",
        "engine/journal.py",
        "return self.writable and not self.damage",
        "return self.writable",
        f"{DAMAGE}test_a_damaged_entry_stops_its_own_thread_and_no_other",
    ),
    rule(
        "damage is said once",
        "engine/journal.py",
        "        if not self.damage:\n",
        "        if True:\n",
        f"{DAMAGE}test_a_damaged_entry_stops_its_own_thread_and_no_other",
    ),
    rule(
        "one damaged entry hides no others",
        "engine/reading.py",
        "            except JournalDamaged as damage:\n                self._found(damage)\n",
        "            except JournalDamaged:\n                raise\n",
        f"{DAMAGE}test_a_damaged_entry_stops_its_own_thread_and_no_other",
    ),
    rule(
        "a column that holds something else is damage",
        "engine/rows.py",
        "            yield name\n",
        "            yield from ()\n",
        "tests/tools/test_verify.py::test_a_damaged_cell_is_named_with_its_seq[key-of-bytes]",
    ),
)
"""A journal that is damaged, or not what it should be."""

PRIVATE = (
    rule(
        "what a former daemon left open to others is closed",
        "project.py",
        "    tighten(home)\n",
        "",
        f"{HINDERED}test_nobody_else_can_read_what_it_remembers",
    ),
    rule(
        "an export is private",
        "private.py",
        "part.touch(stat.S_IRUSR | stat.S_IWUSR, exist_ok=False)",
        "part.touch(0o777 + 0 * os.umask(0), exist_ok=False)",
        "tests/tools/test_commands.py::test_export_makes_a_file_that_nobody_else_can_read",
    ),
)
"""Private thoughts are in its files."""

INDEXED = (
    rule(
        "what is forgotten goes out of what is kept beside the journal, too",
        "engine/store.py",
        "        delete_database(index_path(self.path))\n",
        "",
        f"{INDEX}test_no_byte_of_what_is_forgotten_is_left_in_it",
    ),
    rule(
        "an index from before words were forgotten is not looked at",
        "knowledge/journal_index.py",
        "if (version, before) != (self._version, erased):",
        "if version != self._version:",
        f"{INDEX}test_an_index_from_before_it_was_forgotten_is_not_looked_at",
    ),
    rule(
        "an index that goes on is made anew when words are forgotten",
        "knowledge/journal_index.py",
        "if self._database is None or erased != self._erased:",
        "if self._database is None:",
        f"{INDEX}test_no_byte_of_what_is_forgotten_is_left_in_it",
    ),
    rule(
        "an index of another journal is not looked at",
        "knowledge/journal_index.py",
        "if seq == 0 or there == [last] else None",
        "",
        f"{INDEX}test_where_it_may_be_wrong_it_is_made_anew[other_journal]",
    ),
    rule(
        "an index is searched when it is up to date",
        "knowledge/journal_index.py",
        "            self.behind = not await self.update()\n",
        "",
        f"{INDEX}test_it_is_kept_and_goes_on_where_it_was",
    ),
)
"""What was said is found by an index that is kept beside the journal."""

STRETCHES = (
    rule(
        "what is forgotten is found in a stretch of a conversation",
        "kinds/thoughts.py",
        '    kind = "stretch"\n    seqs: Seqs\n',
        '    kind = "stretch"\n    seqs: tuple[int, ...]\n',
        f"{PROMPTS}test_what_stands_in_a_stretch_is_forgotten_with_the_calls_that_saw_it_and_no_others",
    ),
    rule(
        "what is forgotten is found in the calls that begin with it",
        "kinds/thoughts.py",
        "    stretches: Seqs = ()\n",
        "    stretches: tuple[int, ...] = ()\n",
        f"{PROMPTS}test_what_stands_in_a_stretch_is_forgotten_with_the_calls_that_saw_it_and_no_others",
    ),
    rule(
        "what a call begins with is shown with it",
        "mind/recall.py",
        "        yield from at(stretch).event.seqs\n",
        "        yield from ()\n",
        f"{PROMPTS}test_each_call_of_a_long_thread_is_small_and_shows_all_that_the_model_saw",
    ),
    rule(
        "each stretch of a thread is written once",
        "kinds/thoughts.py",
        'f"stretch:{thread}:{digest(seqs)}"',
        'f"stretch:{thread}:{digest(seqs)}:{id(seqs)}"',
        f"{PROMPTS}test_a_kill_around_a_stretch_leaves_nothing_double_and_nothing_lost",
    ),
    rule(
        "what is asked once in a conversation makes no stretch",
        "soul/stretches.py",
        "        if _is_first(journal, execution):\n",
        "        if False:\n",
        f"{PROMPTS}test_what_is_asked_once_in_a_conversation_of_a_dm_needs_no_stretch",
    ),
    rule(
        "a call that was paid for is not lost over a damaged stretch",
        "soul/stretches.py",
        "    except JournalDamaged:",
        "    except ZeroDivisionError:",
        f"{PROMPTS}test_where_a_stretch_is_damaged_its_entries_are_named_one_by_one",
    ),
)
"""What a long conversation begins with is named once, and not by each call."""

JOURNAL = (*CLOCKS, *OPENED, *PRIVATE, *INDEXED, *STRETCHES)
