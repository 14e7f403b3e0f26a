"""What an approval is worth when code was edited, and how a branch asks: each defence taken out."""

from __future__ import annotations

from tests.core.mutant import rule

BRANCH = "tests/stories/test_asked_by_branch.py::"
OWN = "tests/stories/test_own_action.py::"
CHANGED = "tests/stories/test_approval_changed.py::"
VOID = CHANGED + "test_a_yes_is_void_when_the_action_was_edited[louder-THE FERRY IS LATE.]"
TO_SOMETHING_ELSE = CHANGED + "test_a_yes_to_something_else_counts_for_nothing"

AGAIN = (
    rule(
        "answered: whoever has answered a question is owed an answer",
        "soul/turn.py",
        "return self._was_told",
        "return False",
        "tests/stories/test_answered.py::test_what_is_refused_then_is_told",
    ),
    rule(
        "answered: they are told of an outage, too",
        "soul/unreachable.py",
        "turn.must_answer or bool(turn.execution.entries(Answered))",
        "turn.must_answer",
        "tests/stories/test_answered.py::test_of_an_outage_they_are_told",
    ),
    rule(
        "beside: no two steps wait for the same words",
        "soul/questions.py",
        "not question.choices and not turn.alone",
        "not question.choices and False",
        "tests/stories/test_beside.py::test_a_question_for_words_is_refused_beside_other_steps",
    ),
    rule(
        "a yes is to what the action does",
        "actions/binding.py",
        '"version": one.version, ',
        "",
        VOID,
    ),
    rule(
        "another handler is another version",
        "actions/action.py",
        "digest([one.description, one.schema, source])",
        "digest([one.description, one.schema])",
        CHANGED + "test_the_edit_is_seen_in_the_file_that_the_handler_stands_in",
    ),
    rule(
        "an action that is a function has the version of the function",
        "actions/function.py",
        "        @functools.wraps(self.function)\n",
        "",
        OWN + "test_a_yes_is_to_the_function_as_it_was[gone-does1]",
    ),
    rule(
        "whoever takes steps of its own is not one step",
        "actions/function.py",
        "return not self._given.keys() & WITH_STEPS",
        "return True",
        OWN + "test_it_speaks_with_what_it_is_given_and_the_soul_knows_that_it_was_said",
    ),
    rule(
        "another description is another version",
        "actions/action.py",
        "digest([one.description, one.schema, source])",
        "digest([one.schema, source])",
        CHANGED + "test_a_yes_is_void_when_the_action_was_edited[described-The ferry is late.]",
    ),
    rule(
        "what reads alike and asks for something else has buttons of its own",
        "soul/speech.py",
        "question = choices.question",
        "question = str(choices.choices)",
        VOID,
    ),
    rule(
        "whoever pressed what is asked no more is told so",
        "soul/again.py",
        '        await turn.whisper(f"void-{given.seq}", given.event.user, sentence)\n',
        "        assert sentence\n",
        TO_SOMETHING_ELSE,
    ),
    rule(
        "what is asked no more has no buttons",
        "soul/again.py",
        '        await questions.settle(turn, asked, "")',
        "        pass",
        TO_SOMETHING_ELSE,
    ),
    rule(
        "what nobody answered and is asked no more has no buttons",
        "engine/turns.py",
        "        if void or execution.abandoned:",
        "        if void:",
        CHANGED + "test_what_nobody_answered_and_is_asked_no_more_has_no_buttons",
    ),
    rule(
        "what is asked again keeps its buttons",
        "soul/again.py",
        "        if messages.isdisjoint(taken_over):\n",
        "        if messages:\n",
        CHANGED + "test_what_is_asked_again_with_the_same_words_keeps_its_buttons",
    ),
    rule(
        "what people said to it is known after a restart",
        "soul/again.py",
        "with_memory(turn.log, *said)",
        "with_memory(turn.log)",
        CHANGED + "test_what_people_said_to_it_is_known_after_a_restart",
    ),
    rule(
        "after a restart nothing is shown before it is known not to stand there",
        "soul/speech.py",
        "if self._scope.execution.log or not self._scope.alone:",
        "if not self._scope.alone:",
        CHANGED + "test_what_it_says_again_after_an_edit_is_said_once",
    ),
    rule(
        "what was said once is remembered once",
        "soul/ending.py",
        "        seqs = tuple(_original(journal, seq) for seq in seqs)\n",
        "        pass\n",
        CHANGED + "test_what_was_said_once_is_remembered_once",
    ),
    rule(
        "a consent from before a restart counts once",
        "soul/spent.py",
        "    if not isinstance(event, Answered) or event.taken_from:\n",
        "    if not isinstance(event, Answered):\n",
        "tests/soul/test_limits.py::test_what_was_allowed_before_a_restart_is_allowed_once[turn]",
    ),
)
"""When code was edited."""

BRANCHES = (
    rule(
        "in a DM a branch asks only whose it is",
        "soul/wishes.py",
        "to=turn.readers(wish.to)",
        "to=wish.to",
        BRANCH + "test_in_a_dm_that_no_owner_reads_nobody_is_asked",
    ),
    rule(
        "of the owners only who reads a DM decides there",
        "soul/turn.py",
        "return self.readers(self.owners)",
        "return self.owners",
        "tests/stories/test_approval.py::test_in_a_conversation_that_no_owner_reads_nobody_is_asked",
    ),
    rule(
        "what a branch asks of the owners a former one does not answer",
        "soul/wishes.py",
        "owners=turn.readers(wish.owners)",
        "owners=()",
        BRANCH + "test_the_yes_of_an_owner_who_is_none_any_more_does_not_reach_the_branch",
    ),
    rule(
        "a branch that nobody may answer is told so",
        "processes/relaying.py",
        "    await turn.relay(answer)\n",
        "    if question.to:\n        await turn.relay(answer)\n",
        BRANCH + "test_in_a_dm_that_no_owner_reads_nobody_is_asked",
    ),
    rule(
        "a branch is told that a stop ends what it asks",
        "soul/questions.py",
        "        await wishes.relay(turn, waits.event.execution, NO_ANSWER)\n",
        "        pass\n",
        BRANCH + "test_a_stop_in_the_root_ends_the_branch_that_waits_for_an_answer",
    ),
    rule(
        "a branch is told that its root gave up to ask",
        "soul/soul_program.py",
        '        await turn.relay(NO_ANSWER)\n        await turn.became("refused")\n',
        '        await turn.became("refused")\n',
        BRANCH + "test_what_asks_for_it_is_given_up_and_the_branch_is_told",
    ),
    rule(
        "a branch is told that its root may not speak any more",
        "soul/soul_program.py",
        '        await turn.relay(NO_ANSWER)\n        await turn.became("refused")\n',
        "        if not ending.is_refused(turn):\n"
        "            await turn.relay(NO_ANSWER)\n"
        '        await turn.became("refused")\n',
        BRANCH + "test_where_slack_does_not_take_the_question_the_branch_is_told",
    ),
    rule(
        "what a branch was told first stands",
        "soul/wishes.py",
        "    if turn.journal.get(key):\n        return\n",
        '    key += f":{answer.by}"\n',
        BRANCH + "test_what_the_branch_was_told_stands_when_the_root_fails_after_that",
    ),
    rule(
        "what a branch asks is part of its question",
        "soul/wishes.py",
        "    await turn.execution.append(wish, wished, thread=turn.root)\n",
        '    await turn.ctx.send("wish", turn.root, wish)\n',
        BRANCH + "test_what_the_branch_asks_after_an_edit_is_another_question",
    ),
    rule(
        "what a branch wishes is wished once, wherever it is cut off",
        "soul/wishes.py",
        'wished = part(key, "wish")',
        'wished = part(key, f"wish-{turn.world.journal.last()}")',
        "approved-for-a-branch/kills",
    ),
    rule(
        "what is no message is left to its own turn in an outage",
        "soul/calls.py",
        "    ctx.accept(said)\n",
        "    ctx.accept(world.journal.many(came.event.inputs))\n",
        BRANCH + "test_what_it_asks_while_the_root_cannot_think_is_asked_after_that",
    ),
)
"""A branch asks in its root's conversation."""

AGAIN_AND_BRANCHES = (*AGAIN, *BRANCHES)
