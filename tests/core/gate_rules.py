"""Mutants of the gate, and of what keeps halves of characters out."""

from __future__ import annotations

from tests.core.mutant import rule

THOUGHTS = "tests/stories/test_thoughts.py::"
TAGS = "tests/stories/test_section_tags.py::"
PRIVATE = "tests/stories/test_private_words.py::"
HALVES = "tests/stories/test_halves.py::"

GATE = (
    rule(
        "thoughts: what may become a run of private words is held back",
        "mind/pipeline.py",
        "        return min((watch.shown(said) for watch in self._watches), key=len)\n",
        "        return said\n",
        f"{PRIVATE}test_what_may_become_a_run_is_held_back_from_its_third_word",
    ),
    rule(
        "thoughts: an instruction of ours is held back while it comes",
        "mind/pipeline.py",
        "hidden = [self.private, HiddenWords(told, self._conversation)]",
        "hidden = [self.private]",
        f"{PRIVATE}test_the_example_of_our_form_is_held_back_while_it_comes",
    ),
    rule(
        "thoughts: a run of private words is not said at the end either",
        "mind/answer.py",
        "return self._private is not None and self._private.are_in(self._words)",
        "return False",
        f"{PRIVATE}test_where_it_comes_again_there_is_an_apology",
    ),
    rule(
        "thoughts: a plain question shows no private section",
        "soul/calls.py",
        "memory = without_private(memory)",
        "pass",
        f"{PRIVATE}test_a_plain_question_after_an_aside_alone_shows_no_private_section",
    ),
    rule(
        "thoughts: a final answer of open thought is looked at, too",
        "mind/open_thought.py",
        "gives_away = self._speaks and self._private.are_in(final)",
        "gives_away = False",
        f"{PRIVATE}test_a_final_answer_of_open_thought_is_looked_at_too",
    ),
    rule(
        "thoughts: what people know already is not private",
        "mind/private_words.py",
        """return () if f" {' '.join(run)} " in self._known else run""",
        "return run",
        f"{PRIVATE}test_words_that_people_said_may_be_said",
    ),
    rule(
        "thoughts: what is private in JSON is not said",
        "mind/json_answer.py",
        "        elif not _is_private(name):\n",
        "        elif _is_private(name):\n            yield SAY, str(inner)\n        else:\n",
        "tests/mind/test_gate.py::test_json_that_is_private_broken_or_empty_is_never_an_answer",
    ),
    rule(
        "thoughts: JSON is not shown before it is known to be public",
        "mind/json_answer.py",
        '        if _is_private(key["name"]):\n            return said[: key.start()]\n',
        "        pass\n",
        "tests/mind/test_gate.py::test_private_json_is_not_shown_while_it_comes",
    ),
    rule(
        "thoughts: a lone private tag of ours takes back what stands before it",
        "mind/scanner.py",
        '            return replace(mark, kind="thought")\n',
        "            pass\n",
        "tests/mind/test_gate.py::test_what_stands_before_a_lone_private_mark_in_any_notation_is_not_said",
    ),
    rule(
        "thoughts: a sentence about their tags is said whole",
        "mind/mentions.py",
        "        self._may_speak_of_tags = all(map(self._is_mention, marks))\n",
        "        self._may_speak_of_tags = False\n",
        "tests/mind/test_gate.py::test_a_sentence_about_the_tags_of_thoughts_is_said_whole",
    ),
    rule(
        "thoughts: a tag of another model's kind opens one",
        "mind/marks.py",
        'if any(word in THOUGHTS or word in hidden or word.removesuffix("s") in hidden for word in words):',
        'if any(word in hidden or word.removesuffix("s") in hidden for word in words):',
        f"{THOUGHTS}test_nobody_ever_reads_it[7-after words]",
    ),
    rule(
        "thoughts: a lone mark takes back what stood before it",
        "mind/sections.py",
        "        if mark.closing:\n            self._take_back()",
        "        if mark.closing:\n            pass",
        f"{THOUGHTS}test_nobody_ever_reads_it[7-closed and never opened]",
    ),
    rule(
        "thoughts: channels are known without their marks",
        "mind/unmarked.py",
        "return first.isalpha() and not first.islower()",
        "return False",
        f"{THOUGHTS}test_nobody_ever_reads_it[7-channels without their marks]",
    ),
    rule(
        "thoughts: what was shown of one is replaced at once",
        "soul/speech.py",
        "if self._heard and not text:",
        "if False:",
        f"{THOUGHTS}test_what_was_shown_before_it_proved_a_thought_is_replaced_at_once",
    ),
    rule(
        "tags: from the first with the suffix on, bare ones are words",
        "mind/scanner.py",
        'if kind != "tag" or exact or not self._code.is_marked:',
        "if True:",
        f"{TAGS}test_an_answer_about_the_format_arrives_whole[7]",
    ),
    rule(
        "tags: an earlier answer is shown with the suffix",
        "mind/recall.py",
        "return Answer(cast(Entry[ModelCall], entry), suffix).kept",
        "return Answer(cast(Entry[ModelCall], entry)).call.event.text",
        f"{TAGS}test_an_earlier_answer_is_shown_with_marked_tags_though_it_came_with_bare_ones",
    ),
    rule(
        "tags: an execution has the suffix as of its begin",
        "soul/tag_suffix.py",
        "if self._drawn is None or self._drawn.seq >= before:",
        "if self._drawn is None:",
        "tests/soul/test_past.py::test_answers_are_shown_with_the_suffix_as_of_the_seq",
    ),
    rule(
        "an entity outside code is said as its character",
        "slack/quiet.py",
        "text = writable(decoded(text))",
        "text = writable(text)",
        f"{TAGS}test_an_entity_outside_code_is_read_as_its_character[1000]",
    ),
    rule(
        "halves of characters never reach a request",
        "claude/request.py",
        '"text": writable(text)',
        '"text": text',
        f"{HALVES}test_a_tool_that_finds_half_a_character[False]",
    ),
)
"""Each is shown by a story over the wire."""
