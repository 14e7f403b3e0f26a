"""Rules for removal of all copies of forgotten words."""

from __future__ import annotations

from daemon.console.journal_view import EventFeed
from daemon.engine.event import EventCodec, without_content_names
from daemon.engine.journal.journal import Journal, Projection, RecentEntries
from daemon.engine.journal.rows import delete_database
from daemon.engine.journal.writer import (
    WritableTables,
    _without_names,
    clear_hashes,
    clear_hashes_of,
    find_executions,
    finish_erasing,
)
from daemon.inner_life.programs.program_folder import end_and_remove
from daemon.inner_life.tick_log import ProgramLog
from daemon.kinds.thought_kinds import ModelCall
from daemon.knowledge.search import FullTextIndex
from daemon.slack.inbox import Inbox
from daemon.turn.history import DmHistories, ThreadHistories, _read_on
from tests.console.test_pages import test_what_is_forgotten_while_a_page_is_read_does_not_stand_on_it
from tests.console.test_slow_readers import test_what_is_forgotten_while_a_reader_takes_its_time_is_never_sent
from tests.engine.test_erasing import test_the_words_are_gone_and_all_else_stays
from tests.engine.test_unhashing import (
    test_a_copy_of_the_same_hash_goes_with_it,
    test_a_key_that_is_told_elsewhere_holds_none_of_it,
    test_a_kill_at_any_commit_leaves_none,
    test_no_hash_of_what_was_said_is_left_in_any_file,
)
from tests.inner_life.programs.test_supervisor_dies import (
    test_what_runs_for_somebody_who_is_forgotten_ends_though_nobody_supervises_it,
)
from tests.inner_life.test_tick_log import test_a_branch_that_is_forgotten_is_in_the_log_no_more
from tests.knowledge.test_journal_index import (
    test_an_index_from_before_it_was_forgotten_is_not_looked_at,
    test_no_byte_of_what_is_forgotten_is_left_in_it,
)
from tests.knowledge.test_projection_of_then import test_what_was_forgotten_is_read_anew
from tests.mutants.mutant import Case, Mutant
from tests.mutants.places import call_of, condition, type_of, value_of
from tests.stories.test_forgetting import test_nor_does_what_comes_late
from tests.stories.test_forgetting_dm import (
    test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations,
)
from tests.stories.test_long_prompts import (
    test_what_stands_in_a_stretch_is_forgotten_with_the_calls_that_saw_it_and_no_others,
)
from tests.test_kinds import test_a_request_hash_goes_also_where_the_call_stays
from tests.turn.test_history import test_what_is_forgotten_while_a_past_is_folded_is_in_no_part_of_it

FORGETTING = (
    Mutant(
        "what was forgotten is not taken when it comes late",
        Inbox._judge,
        condition().never(),
        test_nor_does_what_comes_late,
    ),
    Mutant(
        "a fold begins anew where words were forgotten",
        Projection._reset_if_invalid,
        value_of("forgotten").never(),
        test_what_was_forgotten_is_read_anew,
    ),
    Mutant(
        "a past that is folded in pieces holds nothing that was forgotten meanwhile",
        ThreadHistories._pieces,
        condition().never(),
        test_what_is_forgotten_while_a_past_is_folded_is_in_no_part_of_it,
    ),
    Mutant(
        "what was forgotten while a page was read does not stand on it",
        Journal.read_in_background,
        condition(2).always(),
        test_what_is_forgotten_while_a_page_is_read_does_not_stand_on_it,
    ),
    Mutant(
        "what was forgotten while a reader took its time is not sent",
        EventFeed.follow,
        condition(3).never(),
        test_what_is_forgotten_while_a_reader_takes_its_time_is_never_sent,
    ),
    Mutant(
        "what is forgotten goes out of what is kept beside the journal, too",
        WritableTables.scrub,
        call_of(delete_database).removed(),
        test_no_byte_of_what_is_forgotten_is_left_in_it,
    ),
    Mutant(
        "an index from before words were forgotten is not looked at",
        FullTextIndex._kept,
        condition(2).never(),
        test_an_index_from_before_it_was_forgotten_is_not_looked_at,
    ),
    Mutant(
        "what is forgotten is found in the calls that begin with it",
        ModelCall,
        type_of("stretches").becomes("tuple[int, ...]"),
        test_what_stands_in_a_stretch_is_forgotten_with_the_calls_that_saw_it_and_no_others,
    ),
    Mutant(
        "inner life: what runs for somebody who is forgotten is ended",
        end_and_remove,
        condition().never(),
        test_what_runs_for_somebody_who_is_forgotten_ends_though_nobody_supervises_it,
    ),
    Mutant(
        "inner life: a branch that was forgotten runs no more",
        ProgramLog._fold_entry,
        condition().part(2).dropped(),
        test_a_branch_that_is_forgotten_is_in_the_log_no_more,
    ),
    Mutant(
        "what a DM has at hand is made anew when any of it is forgotten",
        DmHistories._reset,
        value_of("_at_hand").becomes("getattr(self, '_at_hand', {})"),
        test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations,
    ),
    Mutant(
        "a sum of a DM that is forgotten stands for nothing any more",
        _read_on,
        condition(4).part(2).dropped(),
        test_a_note_is_forgotten_with_all_that_was_made_of_it_in_other_conversations,
    ),
    Mutant(
        "at hand: what was forgotten is not",
        RecentEntries.add,
        call_of(list.clear).removed(),
        test_the_words_are_gone_and_all_else_stays,
    ),
    Mutant(
        "forgetting: fingerprints go with the words",
        clear_hashes_of,
        call_of(EventCodec.unhash).only(2),
        test_no_hash_of_what_was_said_is_left_in_any_file,
    ),
    Mutant(
        "forgetting: names that are made of content go with the words",
        clear_hashes_of,
        call_of(without_content_names).only(1),
        test_no_hash_of_what_was_said_is_left_in_any_file,
    ),
    Mutant(
        "forgetting: such a name goes also where a key is told",
        clear_hashes_of,
        call_of(_without_names).only(1),
        test_a_key_that_is_told_elsewhere_holds_none_of_it,
    ),
    Mutant(
        "forgetting: the hashes of an execution go that recorded some of the words",
        find_executions,
        condition().never(),
        test_a_copy_of_the_same_hash_goes_with_it,
    ),
    Mutant(
        "forgetting: a later start clears the hashes, too",
        finish_erasing,
        call_of(clear_hashes).removed(),
        Case(test_a_kill_at_any_commit_leaves_none, "3-"),
    ),
    Mutant(
        "forgetting: a request hash goes with the words",
        ModelCall,
        value_of("hashes").removed(),
        test_a_request_hash_goes_also_where_the_call_stays,
    ),
)
