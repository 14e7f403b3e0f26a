"""Rules for private thoughts, other channels, and whispers."""

from __future__ import annotations

from daemon.answers.plain_answer import _parts
from daemon.answers.speech_gate import SpeechGate
from daemon.inner_life.contexts import TickContexts
from daemon.knowledge.person_notes import PersonModels
from daemon.knowledge.search import MessageSearch
from daemon.knowledge.visibility import KnownChannel, KnownChannels, may_know
from daemon.mind.pipeline import _DialogueReader
from daemon.open_thought.executor import PayloadExecutor
from daemon.settings.home import create_home, restrict_permissions
from daemon.slack.directory import PeopleDirectory
from daemon.slack.earlier_messages import EarlierMessageReader
from daemon.turn.branches import Branches
from daemon.turn.model_calls import CallAttempt
from daemon.turn.preparation import _waiting
from daemon.turn.recall import PipelineAnswer
from daemon.turn.speech import whisper
from daemon.turn.turn import Turn
from tests.answers.test_speech_gate import (
    test_json_that_is_private_broken_or_empty_is_never_an_answer,
)
from tests.inner_life.test_contexts_private import test_elsewhere_it_is_not
from tests.knowledge.test_memories import test_a_secret_of_a_dm_is_known_in_that_dm_alone
from tests.knowledge.test_people import test_what_was_learned_in_a_dm_is_used_in_that_dm_alone
from tests.knowledge.test_places import (
    test_a_channel_that_was_made_private_is_no_longer_known_elsewhere,
    test_another_team_knows_nothing,
    test_only_what_was_public_is_known_elsewhere_and_never_among_outsiders,
)
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, returned, value_of
from tests.slack.test_history import (
    test_above_a_call_only_those_are_heard_who_may_speak_to_it,
    test_what_was_said_to_it_and_not_answered_is_no_context,
)
from tests.stories.test_approval import test_in_a_conversation_that_no_owner_reads_nobody_is_asked
from tests.stories.test_dm_goes_on import test_nothing_of_one_dm_is_in_another
from tests.stories.test_guests import (
    test_in_a_private_channel_with_a_guest_it_is_not_known,
)
from tests.stories.test_hindered import test_nobody_else_can_read_what_it_remembers
from tests.stories.test_open_thought import test_a_thread_that_is_not_there_is_answered_like_a_foreign_one
from tests.stories.test_private import test_not_even_where_it_says_nothing_else
from tests.stories.test_private_words import (
    test_a_plain_question_after_an_aside_alone_shows_no_private_section,
    test_what_may_become_a_run_is_held_back_from_its_third_word,
    test_where_it_comes_again_there_is_an_apology,
)
from tests.stories.test_secret import test_in_a_channel_nobody_learns_it
from tests.stories.test_thoughts import test_nobody_ever_reads_it
from tests.stories.test_trace_asked import (
    test_a_trace_tells_whoever_asks_and_nobody_else,
)

PRIVACY = (
    Mutant(
        "what a run says outside of its dialogue is not spoken",
        PipelineAnswer.speakable_dialogue,
        returned(2).becomes("self._sections.text_outside.strip() or None"),
        test_not_even_where_it_says_nothing_else,
    ),
    Mutant(
        "!trace is whispered",
        whisper,
        call_of(Turn.effect).becomes("say(turn, text, name)"),
        test_a_trace_tells_whoever_asks_and_nobody_else,
    ),
    Mutant(
        "another team knows nothing",
        may_know,
        condition().never(),
        test_another_team_knows_nothing,
    ),
    Mutant(
        "where outsiders read nothing of elsewhere is known",
        may_know,
        value_of("open_to_all").part(2).dropped(),
        test_only_what_was_public_is_known_elsewhere_and_never_among_outsiders,
    ),
    Mutant(
        "who is a guest in a small private channel reads it",
        PeopleDirectory._audience_in,
        condition().always(),
        Case(test_in_a_private_channel_with_a_guest_it_is_not_known, "alice"),
    ),
    Mutant(
        "what was not said in public is known nowhere else",
        may_know,
        value_of("open_to_all").part(1).dropped(),
        Case(test_in_a_channel_nobody_learns_it, "bob"),
    ),
    Mutant(
        "a channel is as open as it is now",
        KnownChannel.audience_before,
        value_of("audience").part(1).part(2).becomes("0"),
        test_a_channel_that_was_made_private_is_no_longer_known_elsewhere,
    ),
    Mutant(
        "a note of a DM is not found in a channel",
        MessageSearch._known,
        call_of(KnownChannels.visible_channels).becomes("[*self._places._channels.values()]"),
        test_a_secret_of_a_dm_is_known_in_that_dm_alone,
    ),
    Mutant(
        "what was learned in a DM is not used in a channel",
        PersonModels.known_lines,
        condition(2).part(2).dropped(),
        test_what_was_learned_in_a_dm_is_used_in_that_dm_alone,
    ),
    Mutant(
        "what a former daemon left open to others is closed",
        create_home,
        call_of(restrict_permissions).removed(),
        test_nobody_else_can_read_what_it_remembers,
    ),
    Mutant(
        "thoughts: what may become a run of private words is held back",
        _DialogueReader.spoken_so_far,
        call_of(min).becomes("said"),
        test_what_may_become_a_run_is_held_back_from_its_third_word,
    ),
    Mutant(
        "thoughts: a run of private words is not said at the end either",
        PipelineAnswer.repeats_private_words,
        returned().never(),
        test_where_it_comes_again_there_is_an_apology,
    ),
    Mutant(
        "thoughts: a plain question shows no private section",
        CallAttempt.__init__,
        value_of("memory", 2).removed(),
        test_a_plain_question_after_an_aside_alone_shows_no_private_section,
    ),
    Mutant(
        "thoughts: what is private in JSON is not said",
        _parts,
        condition(5).always(),
        test_json_that_is_private_broken_or_empty_is_never_an_answer,
    ),
    Mutant(
        "thoughts: a lone mark takes back what stood before it",
        SpeechGate._thought,
        call_of(SpeechGate._take_back).removed(),
        Case(test_nobody_ever_reads_it, "7-closed and never opened"),
    ),
    Mutant(
        "of the owners only who reads a DM decides there",
        Turn._read_conversation,
        call_of(Turn.readers_among).only(1),
        test_in_a_conversation_that_no_owner_reads_nobody_is_asked,
    ),
    Mutant(
        "open thought: a foreign thread is as unknown as none",
        PayloadExecutor._send,
        call_of(Branches.has_thread).always(),
        test_a_thread_that_is_not_there_is_answered_like_a_foreign_one,
    ),
    Mutant(
        "own replies of the inner life are shown where they may be known",
        TickContexts.thoughts,
        condition().always(),
        Case(test_elsewhere_it_is_not, "llm_recent_responses-bob"),
    ),
    Mutant(
        "processes of the inner life are shown where they may be known",
        TickContexts._processes,
        value_of("processes").part(1).becomes("lambda *_: True"),
        Case(test_elsewhere_it_is_not, "process_log-bob"),
    ),
    Mutant(
        "results of commands of the inner life are shown where they may be known",
        TickContexts._result,
        condition().never(),
        Case(test_elsewhere_it_is_not, "process_log-nobody"),
    ),
    Mutant(
        "notes of the inner life are shown where they may be known",
        TickContexts._note_in_words,
        condition(2).never(),
        Case(test_elsewhere_it_is_not, "notes-bob"),
    ),
    Mutant(
        "what waits in the DM of somebody else is not heard",
        _waiting,
        value_of("elsewhere").part(2).dropped(),
        test_nothing_of_one_dm_is_in_another,
    ),
    Mutant(
        "what is said to the soul by somebody who may not speak to it is never context",
        EarlierMessageReader._may_be_context,
        returned(2).always(),
        test_what_was_said_to_it_and_not_answered_is_no_context,
    ),
    Mutant(
        "of those above a call only they are heard who may speak to the soul",
        EarlierMessageReader._is_heard,
        returned(2).part(1).dropped(),
        test_above_a_call_only_those_are_heard_who_may_speak_to_it,
    ),
)
