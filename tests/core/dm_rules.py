"""How a DM goes on over all its conversations, and what is said at its top: each rule taken out."""

from __future__ import annotations

from tests.core.mutant import rule

DM = "tests/stories/test_dm_goes_on.py::"
COMMANDS = "tests/stories/test_memory_commands.py::test_"
CONFIRMED = f"{COMMANDS}what_is_confirmed_is_forgotten_though_slack_refuses_to_take_that_it_begins"
GONE = "tests/stories/test_forgetting_dm.py::"
TOP = "tests/stories/test_top_of_dm.py::"
BURST = f"{DM}test_of_a_burst_each_root_hears_what_waits_in_the_others"
APART = f"{DM}test_nothing_of_one_dm_is_in_another"
KILLED = "dm-goes-on/kills"

CARRIED = (
    rule(
        "what a turn of a DM knows is fixed as it begins first",
        "soul/carrying.py",
        "recorded: Entry[CarriedOver] | None = turn.ctx.read(key)",
        "recorded: Entry[CarriedOver] | None = None",
        KILLED,
    ),
    rule(
        "a conversation of a DM begins with what was said before it",
        "soul/carrying.py",
        "kept = dms.beginning(turn.thread, turn.number)",
        "kept = list[Memory]()",
        KILLED,
    ),
    rule(
        "what others of a DM kept since is known at the next turn",
        "soul/carrying.py",
        "kept = dms.elsewhere(turn.thread, past.carried, turn.number)",
        "kept = list[Memory]()",
        KILLED,
    ),
    rule(
        "what was said elsewhere in a DM is appended",
        "soul/turn.py",
        "known = [*self.past.kept, *self._carried]",
        "known = [*self._carried, *self.past.kept]",
        KILLED,
    ),
    rule(
        "what was said elsewhere in a DM stays where it was appended",
        "soul/past.py",
        "kept.update(dict.fromkeys(entry.event.seqs))",
        "kept = dict.fromkeys([*entry.event.seqs, *kept])",
        BURST,
    ),
    rule(
        "what waits in other conversations of a DM is heard",
        "soul/carrying.py",
        "[*kept, *recall(_waiting(turn))]",
        "kept",
        BURST,
    ),
    rule(
        "what waits in the DM of somebody else is not heard",
        "soul/carrying.py",
        "said.thread != turn.thread and dms.are_one(said.thread, turn.thread)",
        "said.thread != turn.thread",
        APART,
    ),
    rule(
        "what was kept in the DM of somebody else is not known",
        "soul/dms.py",
        'rows = journal.fields_below(thread_key(*channel, ""), ',
        'rows = journal.fields_below("thread:", ',
        APART,
    ),
    rule(
        "the mood is the DM's",
        "soul/turn.py",
        "world.pasts.dms.mood(self.thread, self.number) or self.past.mood",
        "self.past.mood",
        f"{DM}test_a_new_root_begins_with_what_was_said_in_the_dm",
    ),
)
FORGOTTEN = (
    rule(
        "what is confirmed is recorded before anything is said of it",
        "processes/remembering.py",
        "        await turn.forget(person, seqs, deletes=answer == BOTH)\n"
        '        await _tell(turn, "forgetting")\n',
        '        await _tell(turn, "forgetting")\n'
        "        await turn.forget(person, seqs, deletes=answer == BOTH)\n",
        CONFIRMED,
    ),
    rule(
        "what somebody confirms is what they were asked",
        "processes/remembering.py",
        "text=meant.text)",
        "text=(await self.notes.about(person, turn.thread))[number - 1].text)",
        f"{COMMANDS}what_is_confirmed_is_forgotten_though_it_reads_otherwise_by_then",
    ),
    rule(
        "what a list of notes said it says after a kill",
        "processes/remembering.py",
        "notes=shown.event.text)",
        "notes=_listed(turn, await self.notes.about(person, turn.thread)))",
        f"{COMMANDS}killed_before_it_has_answered_it_says_what_it_meant_to",
    ),
    rule(
        "what is seen through beside a turn is not closed where that fails",
        "engine/execution.py",
        "return TurnEnded.kind in entry.event.closed_by and",
        "return",
        CONFIRMED,
    ),
    rule(
        "what a DM has at hand is made anew when any of it is forgotten",
        "soul/dms.py",
        "self._at_hand = dict[tuple[int, str], Memory | None]()",
        'self._at_hand: dict[tuple[int, str], Memory | None] = getattr(self, "_at_hand", {})',
        f"{GONE}test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations",
    ),
    rule(
        "what is to be summed up of a DM is brought to where it is",
        "processes/summarizing.py",
        "await turn.once(Gathered(seqs=made_of))",
        "pass",
        f"{GONE}test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations",
    ),
    rule(
        "a sum of a DM that is forgotten stands for nothing any more",
        "soul/dms.py",
        "kind == ContextCleared.kind and text and seqs",
        "kind == ContextCleared.kind and seqs",
        f"{GONE}test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations",
    ),
)
SUMMED_UP = (
    rule(
        "the sum of a DM names what it was made of",
        "processes/summarizing.py",
        "last=last, seqs=made_of)",
        "last=last, seqs=made_of[-1:])",
        f"{DM}test_over_three_days_with_a_kill_and_a_summary_it_remembers",
    ),
    rule(
        "one conversation alone is summed up once, by itself",
        "soul/dms.py",
        "dm.turns[ended - 1].alone <= dm.last_sum(before).turn",
        "False",
        "tests/stories/test_summarizing.py::test_a_long_thread_is_summed_up_once_and_grows_again_from_there",
    ),
    rule(
        "what a DM begins with moves in blocks",
        "soul/dms.py",
        "gone >= blocks * BLOCK",
        "gone >= too_much",
        f"{DM}test_where_no_sum_could_be_made_the_oldest_go_in_blocks",
    ),
)
AT_THE_TOP = (
    rule(
        "an answer at the top of a DM goes to what asked",
        "slack/meant.py",
        "found = _waiting_for(journal, message, me, owners)",
        "found = None",
        "answered-at-the-top/kills",
    ),
    rule(
        "go on at the top of a DM goes to what waits",
        "slack/meant.py",
        "question.event.words or (question.event.resumes and onward(message.text))",
        "question.event.words",
        f"{TOP}test_go_on_at_the_top_brings_back_what_was_set_aside",
    ),
    rule(
        "what asks in a channel is not answered in a DM",
        "slack/meant.py",
        "if found.event.channel == message.channel and found.event.ts",
        "if found.event.ts",
        f"{TOP}test_what_asks_in_a_channel_is_not_answered_in_a_dm",
    ),
    rule(
        "who may not answer any more answers nothing at the top of a DM",
        "slack/meant.py",
        "theirs = may_answer(question, message.author, owners) and is_newer",
        "theirs = is_newer",
        f"{TOP}test_who_was_asked_as_an_owner_and_is_none_any_more_begins_anew",
    ),
    rule(
        "what was an answer stays where it went",
        "slack/meant.py",
        "    if known:\n",
        "    if known and not message.change:\n",
        f"{TOP}test_what_was_an_answer_stays_there_when_it_is_changed",
    ),
)
DMS = (*CARRIED, *FORGOTTEN, *SUMMED_UP, *AT_THE_TOP)
