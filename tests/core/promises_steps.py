"""What was promised to whoever writes a process: each promise taken out, and the test that then fails."""

from __future__ import annotations

from tests.core.mutant import rule

OWN = "tests/processes/test_own_process.py::"
CHECK = "tests/tools/test_check.py::"
CHANGED = "tests/stories/test_changed.py::"

STEPS = (
    rule(
        "a step that is refused goes to the model that stands in",
        "mind/asking_model.py",
        'case "refused" if role != "fallback":',
        'case "refused" if role == "fallback":',
        OWN + "test_a_refusal_goes_to_the_model_that_stands_in[decision]",
    ),
    rule(
        "what was refused to the end is told and not kept",
        "mind/asking_model.py",
        "await speechless(turn, without_question(turn, memory)), None",
        "memory, None",
        OWN + "test_where_that_one_refuses_too_they_are_told_and_it_is_over[instruction]",
    ),
    rule(
        "limits are asked before each step",
        "mind/asking_model.py",
        "limited = await turn.limit()",
        "limited = None",
        OWN + "test_at_a_limit_an_owner_is_asked[Continue-summarize]",
    ),
    rule(
        "a stop is answered by the first step that sees it",
        "mind/asking_model.py",
        "    if not stops and (not heard or await turn.is_overtaken()):\n",
        "    if False:\n",
        OWN + "test_a_stop_ends_it_and_is_answered_once[extract]",
    ),
    rule(
        "an answer of another form is asked for again with what is wrong with it",
        "mind/steps.py",
        'asked = f"{question}\\n\\n{wrong}"',
        "asked = question",
        OWN + "test_an_answer_of_another_form_is_asked_for_again[{}-decision]",
    ),
    rule(
        "a monologue remembers to have said nothing",
        "mind/answer.py",
        "        if self.call.event.name == MONOLOGUE:\n",
        "        if False:\n",
        OWN + "test_a_monologue_says_nothing_aloud_whatever_stands_in_it",
    ),
    rule(
        "a thread whose process is gone is in the initial one from then on",
        "soul/soul_program.py",
        "self._known(past.process)",
        "past.process or self._world.initial",
        CHANGED + "test_a_thread_whose_process_is_gone_goes_on_in_the_initial_one",
    ),
    rule(
        "an afterthought of a process that is gone is let go",
        "soul/soul_program.py",
        "if turn.silent and turn.process not in self._world.processes:",
        "if False:",
        CHANGED + "test_an_afterthought_of_a_process_that_is_gone_is_let_go",
    ),
    rule(
        "a process that nothing leads to is named",
        "doctor/ways.py",
        "    for name in processes:\n        if name not in entered:",
        "    for name in processes:\n        if False:",
        CHECK + "test_what_a_process_lacks_is_said",
    ),
)
"""How a process thinks, and how one is gone into."""
