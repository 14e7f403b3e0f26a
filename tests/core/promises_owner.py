"""What may be known where, and what only an owner may allow: each promise taken out. See promises_ism.py."""

from __future__ import annotations

from tests.core.mutant import rule

SHOWN = "tests/actions/test_agreement.py::test_"
APPROVAL = "tests/stories/test_approval.py::"
ANSWERS = "tests/stories/test_answering.py::"
BOUNDED = "tests/stories/test_bounded.py::"
COUNTS = "tests/soul/test_limits.py::test_each_bound_holds_where_it_is_reached_and_not_before"
LIMITS = "tests/stories/test_limits.py::"
FOLDED = "tests/knowledge/test_projection.py::"
PLACES = "tests/knowledge/test_places.py::"
GUESTS = "tests/stories/test_guests.py::"

KNOWS = (
    rule(
        "another team knows nothing",
        "knowledge/places.py",
        "if here.team != there.team:",
        "if False:",
        PLACES + "test_another_team_knows_nothing",
    ),
    rule(
        "where outsiders read nothing of elsewhere is known",
        "knowledge/places.py",
        " and here.audience in INSIDE",
        "",
        PLACES + "test_only_what_was_public_is_known_elsewhere_and_never_among_outsiders",
    ),
    rule(
        "who is a guest in a small private channel reads it",
        "slack/names.py",
        'if said not in ("group", "private"):',
        'if said != "group":',
        GUESTS + "test_in_a_private_channel_with_a_guest_it_is_not_known[alice]",
    ),
    rule(
        "a guest who has written in a channel reads it",
        "slack/names.py",
        "if self._guests.have_written(id):",
        "if False:",
        GUESTS + "test_in_a_public_channel_it_is_known_until_a_guest_writes_there",
    ),
    rule(
        "what a known guest says to others counts, too",
        "slack/inbox.py",
        "            await self._people.seen(message)\n",
        "",
        "tests/slack/test_guests.py::test_what_a_known_guest_says_to_others_counts_and_costs_no_question",
    ),
    rule(
        "what was forgotten is not taken when it comes late",
        "slack/inbox.py",
        "if self._workspace.is_forgotten(message.author, message.changed or message.ts):",
        "if False:",
        "tests/stories/test_forgetting.py::test_nor_does_what_comes_late",
    ),
    rule(
        "who Slack does not know is not asked for with each message",
        "slack/names.py",
        "(self._audience(id) or self._is_fresh(id))",
        "self._audience(id)",
        "tests/slack/test_guests.py::"
        "test_where_slack_does_not_know_a_member_nothing_is_guessed_nor_asked_each_time",
    ),
    rule(
        "what was not said in public is known nowhere else",
        "knowledge/places.py",
        'there.audience == "public" and ',
        "",
        "tests/stories/test_secret.py::test_in_a_channel_nobody_learns_it[bob]",
    ),
    rule(
        "a channel is as open as it is now",
        "knowledge/places.py",
        "self.audiences[last - 1] if last",
        "self.audiences[0] if last",
        PLACES + "test_a_channel_that_was_made_private_is_no_longer_known_elsewhere",
    ),
    rule(
        "nobody is told from half of what is folded",
        "knowledge/places.py",
        "if not self._whole or root not in self._of:",
        "if root not in self._of:",
        FOLDED + "test_whoever_asks_in_between_is_told_from_the_whole",
    ),
    rule(
        "a fold begins anew where words were forgotten",
        "knowledge/projection.py",
        "forgotten = self.holds_words and self._erasures != self.journal.erasures",
        "forgotten = False",
        "tests/knowledge/test_projection_of_then.py::test_what_was_forgotten_is_read_anew",
    ),
    rule(
        "a past that is folded in pieces holds nothing that was forgotten meanwhile",
        "soul/past.py",
        "while erasures != self._journal.erasures:",
        "while erasures == -1:",
        "tests/soul/test_past.py::test_what_is_forgotten_while_a_past_is_folded_is_in_no_part_of_it",
    ),
    rule(
        "a note of a DM is not found in a channel",
        "knowledge/memories.py",
        "return self._places.known(here)",
        "return [*self._places._channels.values()]",
        "tests/knowledge/test_memories.py::test_a_secret_of_a_dm_is_known_in_that_dm_alone",
    ),
    rule(
        "what may not be known crowds out nothing that may",
        "knowledge/memories.py",
        " and line.channel in (select value from json_each(:channels))",
        "",
        "tests/knowledge/test_memories.py::test_what_may_not_be_known_crowds_out_nothing_that_may",
    ),
    rule(
        "what was learned in a DM is not used in a channel",
        "knowledge/person_models.py",
        "if last and may_know(mine, self._audiences.before(channel, before)):",
        "if last:",
        "tests/knowledge/test_people.py::test_what_was_learned_in_a_dm_is_used_in_that_dm_alone",
    ),
    rule(
        "of two that were learned at once the first stands",
        "knowledge/person_models.py",
        "if not chain.seqs or learned.since >= chain.seqs[-1]:",
        "if True:",
        "tests/knowledge/test_people.py::"
        "test_of_two_that_were_learned_at_once_the_first_counts_and_the_second_is_told",
    ),
    rule(
        "learning rarely costs a call",
        "mind/afterthoughts.py",
        'if learned.casefold().startswith("yes"):',
        "if True:",
        "tests/stories/test_learning.py::test_where_nothing_was_told_it_costs_no_call",
    ),
)
"""What may be known where."""

ALLOWS = (
    rule(
        "an owner alone may press",
        "soul/taking.py",
        "if isinstance(given.event, Relayed) or may_answer(question, given.author, owners):",
        "if question:",
        LIMITS + "test_an_owner_lets_it_go_on[rounds]",
    ),
    rule(
        "a former owner answers nothing that was put to the owners",
        "soul/taking.py",
        "return person in owners or person not in question.event.owners",
        "return True",
        ANSWERS + "test_a_former_owner_s_yes_is_worth_nothing[button]",
    ),
    rule(
        "who may decide is part of what is asked: what a former owner agreed to is not done",
        "soul/questions.py",
        "        asks,\n        answered=keep,",
        "        replace(asks, to=(), owners=()),\n        answered=keep,",
        APPROVAL + "test_what_a_former_owner_agreed_to_is_not_done[chat.update-True]",
    ),
    rule(
        "whom it was put to answers, and no owner instead",
        "soul/taking.py",
        "    if person not in question.event.to:\n        return False\n",
        "",
        ANSWERS + "test_an_owner_to_whom_it_was_not_put_does_not_answer_it",
    ),
    rule(
        "approval is asked",
        "actions/binding.py",
        "        if one.approval:\n",
        "        if False:\n",
        APPROVAL + "test_it_is_done_when_an_owner_agrees_after_a_restart",
    ),
    rule(
        "where nobody can agree it is not done",
        "actions/binding.py",
        '        raise Refused(run.label("nobody can agree"))',
        "        return",
        APPROVAL + "test_where_there_is_nobody_to_ask_it_is_not_done",
    ),
    rule(
        "what an owner declined is not done",
        "actions/binding.py",
        '    if answered.value != "approve":',
        "    if False:",
        APPROVAL + "test_an_owner_says_no",
    ),
    rule(
        "other arguments have to be approved anew",
        "actions/binding.py",
        "this = fingerprint(given)",
        'this = ""',
        APPROVAL + "test_after_what_was_said_meanwhile_something_else_has_to_be_asked_for",
    ),
    rule(
        "what was said meanwhile is heard before an approved deed",
        "actions/binding.py",
        "    if answered.more or run.memory is not before:",
        "    if run.memory is not before:",
        APPROVAL + "test_what_is_said_meanwhile_is_heard_first",
    ),
    rule(
        "what waits beside the press is heard before an approved deed",
        "actions/binding.py",
        "    if answered.more or run.memory is not before:",
        "    if answered.more:",
        APPROVAL
        + "test_what_waits_beside_the_press_is_heard_before_it_is_done[no, do not publish it-finished-False]",
    ),
    rule(
        "a stop beside the press comes before an approved deed",
        "actions/binding.py",
        "    if await run.interrupted():",
        "    if False:",
        APPROVAL + "test_what_waits_beside_the_press_is_heard_before_it_is_done[stop-interrupted-False]",
    ),
    rule(
        "nothing in a value ends the block in which an owner reads it",
        "actions/agreement.py",
        'for character in line.replace("`", TICK):',
        "for character in line:",
        SHOWN + "nothing_in_a_value_ends_the_block_or_reads_like_another_name",
    ),
    rule(
        "no line of a value reads like another name",
        "actions/agreement.py",
        'yield f"| {line}"',
        "yield line",
        SHOWN + "nothing_in_a_value_ends_the_block_or_reads_like_another_name",
    ),
    rule(
        "what nobody could see in a value is spelled out",
        "actions/agreement.py",
        "if character.isprintable():",
        "if True:",
        SHOWN + "what_nobody_could_see_is_spelled_out",
    ),
    rule(
        "an owner reads the end of a long value, too",
        "actions/agreement.py",
        " …] {text[-END:]}",
        " …]",
        SHOWN + "of_a_long_value_both_ends_are_shown",
    ),
    rule(
        "where a value is shortened an owner is told where the whole stands",
        "actions/agreement.py",
        "    if _is_long(given):",
        "    if False:",
        SHOWN + "of_a_long_value_both_ends_are_shown",
    ),
)
"""What only an owner may allow."""

BOUNDS = (
    rule(
        "limits are asked before each choice of a run",
        "ism.py",
        "reason = await self.chooser.bound()",
        "reason = None",
        LIMITS + "test_why_a_run_ends[calls]",
    ),
    rule(
        "limits are asked before each call of a pipeline",
        "mind/pipeline.py",
        "limited = await turn.limit()",
        "limited = None",
        BOUNDED + "test_without_an_owner_it_says_so_and_offers_nothing",
    ),
    rule(
        "without an owner nobody is asked to let it go on",
        "actions/run.py",
        " or reason not in BOUNDS or limit.final or not self.turn.deciders:",
        " or reason not in BOUNDS or limit.final:",
        LIMITS + "test_why_a_run_ends[loops]",
    ),
    rule(
        "an owner may let a conversation go on whose day is spent",
        "mind/pipeline.py",
        'if answer.outcome == "over-budget" and owned:',
        "if False:",
        BOUNDED + "test_an_owner_lets_it_answer[day-I have used up what I may spend on thinking today.]",
    ),
    rule(
        "a consent resets the count of a turn",
        "soul/spent.py",
        'if lifts(entry.event, owners) == "turn"',
        "if False",
        COUNTS + "[turn-limits0-calls]",
    ),
    rule(
        "a consent resets the count of a thread",
        "soul/gauge.py",
        "elif lifts(entry.event, self._budget.owners) == resets or is_word(entry.event):",
        "elif is_word(entry.event):",
        COUNTS + "[thread-limits0-calls]",
    ),
    rule(
        "a consent resets the count of a person",
        "soul/budget.py",
        'case "person":',
        'case "nobody":',
        COUNTS + "[person-limits0-calls]",
    ),
    rule(
        "a former owner's consent is worth nothing",
        "soul/spent.py",
        " or event.by not in owners",
        "",
        "tests/soul/test_limits.py::test_what_a_former_owner_allowed_is_allowed_no_longer[thread]",
    ),
    rule(
        "a person's word begins the count of a thread anew",
        "soul/gauge.py",
        "elif lifts(entry.event, self._budget.owners) == resets or is_word(entry.event):",
        "elif lifts(entry.event, self._budget.owners) == resets:",
        "tests/soul/test_limits.py::test_a_thread_counts_what_it_does_since_a_person_spoke",
    ),
)
"""How far it goes by itself."""

OWNER = (*KNOWS, *ALLOWS, *BOUNDS)
