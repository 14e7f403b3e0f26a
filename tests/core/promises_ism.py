"""What was promised of a soul that decides: each promise taken out, and the test that then fails."""

from __future__ import annotations

from tests.core.mutant import rule
from tests.core.promises_owner import OWNER
from tests.core.promises_steps import STEPS

CIRCLES = "tests/ism/test_stagnation.py::"
DECIDING = "tests/stories/test_deciding.py::"
FEEDBACK = "tests/ism/test_feedback.py::"
MIDWAY = "tests/stories/test_interrupts.py::"
PRIVATE = "tests/stories/test_private.py::"
RESEARCH = "tests/stories/test_research.py::"
STOPS = "tests/stories/test_stops.py::"
TRACES = "tests/stories/test_trace_asked.py::"

CHOOSES = (
    rule(
        "without ISM_ENABLED nothing is chosen",
        "behaviour.py",
        "    if not settings.ism_enabled:\n        return processes\n",
        "",
        DECIDING + "test_without_the_ism_nothing_is_chosen",
    ),
    rule(
        "prompts of a run only grow",
        "actions/telling.py",
        "WorkingMemory((*self._turn.memory.of(CORE), *self._told))",
        "WorkingMemory((*self._turn.memory.of(CORE), *self._told[::-1]))",
        "tests/stories/test_prompts.py::test_each_request_of_the_chooser_begins_with_the_one_before_it",
    ),
    rule(
        "a chooser that refuses is not asked again",
        "actions/run.py",
        '        if chose.outcome == "refused" or chose.too_long:\n            return None\n',
        '        if chose.outcome == "refused" or chose.too_long:\n            return ""\n',
        "tests/stories/test_run_trouble.py::"
        "test_a_chooser_that_refuses_to_the_end_is_asked_twice_and_the_run_says_so_honestly",
    ),
    rule(
        "what comes of an action is fenced",
        "mind/choosing.py",
        """f'<result of="{plain(name)}">\\n{fenced(text, MOST_FOUND)}\\n</result>'""",
        "fenced(text, MOST_FOUND)",
        RESEARCH + "test_it_looks_it_up_and_tells_what_it_found_and_where",
    ),
    rule(
        "nothing that was found ends its fence",
        "mind/choosing.py",
        "    return safe(shortened(text, most))",
        "    return shortened(text, most)",
        RESEARCH + "test_a_file_that_poses_as_an_instruction_stays_in_its_fence",
    ),
    rule(
        "without folders Research is not offered",
        "actions/function.py",
        "return not any(_is_missing(one, means) for one in self._parameters)",
        "return True",
        RESEARCH + "test_it_is_offered_where_there_are_folders[without]",
    ),
    rule(
        "DONE is refused as the name of an action",
        "mind/acting.py",
        'in ("", DONE.casefold())',
        'in ("",)',
        "tests/ism/test_seed.py::test_no_action_is_named_like_the_end",
    ),
    rule(
        "DONE is refused as the name of a definition",
        "actions/registry.py",
        "names[DONE.casefold()] += 1",
        "pass",
        "tests/actions/test_registry.py::test_a_name_means_one_thing_only",
    ),
    rule(
        "what is exclusive runs alone",
        "ism.py",
        "if action.exclusive and not alone:",
        "if False:",
        FEEDBACK + "test_an_exclusive_action_is_not_run_beside_others",
    ),
    rule(
        "what goes wrong in an action the chooser is told",
        "mind/acting.py",
        "    except Exception as error:\n",
        "    except ZeroDivisionError as error:\n",
        FEEDBACK + "test_a_handler_that_raises_is_told_and_logged",
    ),
    rule(
        "DONE waits for what was chosen beside it",
        "ism.py",
        "if not all(one.ok for one in beside):",
        "if False:",
        FEEDBACK + "test_a_run_is_not_done_by_what_failed",
    ),
    rule(
        "a run that goes round in circles ends",
        "mind/stagnation.py",
        'return "end"',
        'return "nudge"',
        CIRCLES + "test_the_same_choice_with_the_same_result_is_nudged_and_then_ended",
    ),
)
"""How it chooses, and what it is told."""

INTERRUPTS = (
    rule(
        "a stop word is the whole message",
        "slack/words.py",
        'return "_".join(once) in STOP',
        "return any(word in STOP for word in words)",
        STOPS + "test_dont_stop_does_not_stop",
    ),
    rule(
        "a stop waits in no queue",
        "slack/inbox.py",
        "if urgent and self._at_work(key):",
        "if False:",
        "tests/slack/test_words.py::"
        "test_where_it_works_a_stop_word_overtakes_a_message_that_waits_for_a_name",
    ),
    rule(
        "a sign stops for whoever began it or an owner",
        "slack/stop_signals.py",
        'if stop.by == "button" or stop.user in owners:',
        "if True:",
        STOPS + "test_a_sign_stops_for_whoever_began_it_or_an_owner[bob-False]",
    ),
    rule(
        "a stop closes the connection to the model",
        "claude/patience.py",
        "        self._end(Stopped())\n",
        "",
        STOPS + "test_a_stop_of_an_ordinary_answer_closes_it_too[before a word-typed]",
    ),
    rule(
        "after a stop nothing more of a choice is done",
        "ism.py",
        "        if await self.stopped():\n            return self.refuse(name",
        "        if False:\n            return self.refuse(name",
        "tests/ism/test_interrupts.py::test_a_stop_ends_the_run",
    ),
    rule(
        "what came first makes the rest of a choice stale",
        "ism.py",
        "        if self.news:\n            return self.refuse(name",
        "        if False:\n            return self.refuse(name",
        MIDWAY + "test_more_context[before an action]",
    ),
    rule(
        "a new matter sets the run aside",
        "actions/interrupts.py",
        "if await _is_new(turn, goal, messages):",
        "if await _is_new(turn, goal, messages) and False:",
        MIDWAY + "test_something_new[before a choice]",
    ),
    rule(
        "unsure whether it is something new means more of the same",
        "actions/interrupts.py",
        'return judged is not None and judged.kind == "new"',
        'return judged is None or judged.kind == "new"',
        MIDWAY + "test_what_cannot_be_told_apart_goes_on_with_the_run[unsure]",
    ),
)
"""What is said while it works."""

KEEPS_TO_ITSELF = (
    rule(
        "a private thought of a run is never posted",
        "actions/thinking.py",
        '    return thought or run.label("no thought came of it")\n',
        "    await run.turn.say(thought)\n    return thought\n",
        PRIVATE + "test_nothing_that_a_run_thinks_is_posted",
    ),
    rule(
        "what a run says outside of its dialogue is not spoken",
        "mind/answer.py",
        "self._sections.breaks_off:\n            return None\n",
        "self._sections.breaks_off:\n            return self._sections.outside.strip() or None\n",
        PRIVATE + "test_not_even_where_it_says_nothing_else",
    ),
    rule(
        "!trace is whispered",
        "processes/tracing.py",
        'await turn.whisper("trace", asked.event.user, traced(turn))',
        "await turn.say(traced(turn))",
        TRACES + "test_a_trace_tells_whoever_asks_and_nobody_else",
    ),
    rule(
        "!trace is whispered in the middle of a run",
        "actions/interrupts.py",
        'await turn.whisper("trace", asked.event.user, traced(turn))',
        "await turn.say(traced(turn))",
        TRACES + "test_a_trace_in_the_middle_of_a_run",
    ),
)
"""What nobody reads but the owner."""

ISM = (*CHOOSES, *INTERRUPTS, *KEEPS_TO_ITSELF, *STEPS, *OWNER)
