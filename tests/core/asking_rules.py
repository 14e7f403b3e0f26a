"""The rules of questions and of what a thread takes next, and how each is taken out; see looking_rules.py."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

ASKING: tuple[Mutant, ...] = (
    rule(
        "a body first hears what its thread kept meanwhile",
        "soul/questions.py",
        "    meanwhile = tuple(_meanwhile(turn, asked))\n",
        "    meanwhile = ()\n",
        "approved/kills",
    ),
    rule(
        "a stranger's press leaves the question open",
        "soul/taking.py",
        "if isinstance(given.event, Relayed) or may_answer(question, given.author, owners):",
        "if question:",
        "approved/kills",
    ),
    rule(
        "an answer pays the watch of its question",
        "engine/asking.py",
        "        if deadline:\n            over.append(deadline.seq)\n",
        "",
        "looked/kills",
    ),
    rule(
        "a stop lets go of what waits",
        "soul/taking.py",
        "    stops = _ranked(waiting, Rank.STOP)\n",
        "    stops = [stop for stop in _ranked(waiting, Rank.STOP) if not _words(stop)]\n",
        "withdrawn/kills",
    ),
    rule(
        "what was let go of is recorded at once",
        "engine/asking.py",
        "        if found is None:\n            self.goes_live(key)\n            pending",
        "        if True:\n            self.goes_live(key)\n            pending",
        "withdrawn/kills",
    ),
    rule(
        "what was let go of loses its buttons, though its turn is stopped",
        "soul/soul_program.py",
        "for gone in only(Withdrawn, done):",
        "for gone in list[Entry[Withdrawn]]():",
        "tests/stories/test_limits.py::test_a_stop_that_fails_halfway_and_is_stopped_takes_them_away_all_the_same",
    ),
    rule(
        "what was let go of loses its buttons, though its turn is given up when all was said",
        "soul/soul_program.py",
        """            await _let_go(turn)
            if not was_answered:
                await""",
        """            if not was_answered:
                await _let_go(turn)
                await""",
        "killed-withdrawing/kills",
    ),
    rule(
        "an answer comes before messages",
        "soul/taking.py",
        "    if answers:\n",
        "    if len(answers) == len(waiting):\n",
        "woken-beside/kills",
    ),
    rule(
        "a stop comes before an answer",
        "soul/taking.py",
        "    if stops:\n",
        "    if stops and not any(entry.event.rank is Rank.ANSWER for entry in waiting):\n",
        "withdrawn-first/kills",
    ),
    rule(
        "a stop is for all that came before it",
        "soul/taking.py",
        "if entry in stops or _is_ended(entry, stops)]",
        "if entry in stops]",
        "withdrawn-first/kills",
    ),
    rule(
        "a stop that comes late ends nothing that is newer",
        "slack/inbox.py",
        "(self._is_late(known, message) or self._is_too_old(message))",
        "self._is_too_old(message)",
        "tests/stories/test_came_late.py::test_a_stop_that_was_missed_ends_nothing_that_was_asked_since",
    ),
    rule(
        "a stop is meant for no newer conversation",
        "slack/meant.py",
        "if is_here and not is_late(journal, one.thread, message.ts):",
        "if is_here:",
        "tests/stories/test_came_late.py::test_there_it_ends_what_was_at_work_when_it_was_written",
    ),
    rule(
        "words from before a question answer it nowhere",
        "soul/taking.py",
        "moment(ts) > moment(first.ts)",
        "True",
        "tests/stories/test_came_late.py::test_words_that_were_missed_are_no_answer_to_a_newer_question",
    ),
    rule(
        "words from before a question are taken as what they are",
        "soul/taking.py",
        "        theirs = [entry for entry in theirs if is_newer(journal, question, _ts(entry))]\n",
        "",
        "tests/stories/test_came_late.py::test_nor_are_those_that_crossed_with_it",
    ),
    rule(
        "only who was asked answers in words",
        "soul/taking.py",
        "theirs = [entry for entry in messages if may_answer(question, entry.author, owners)]",
        "theirs = list(messages)",
        "asked/kills",
    ),
    rule(
        "whoever says go on brings back what was set aside",
        "soul/taking.py",
        "if question.event.resumes and first in theirs and onward(_words(first)):",
        "if False:",
        "looked-late/kills",
    ),
    rule(
        "what says more than go on leaves aside what was set aside",
        "soul/taking.py",
        "first in theirs and onward(_words(first))",
        "first in theirs",
        "looked-late/kills",
    ),
    rule(
        "a time that comes too late brings nothing back",
        "engine/turns.py",
        "if not has_ended and not is_stale(self._journal, entry):",
        "if not has_ended:",
        "looked-late/kills",
    ),
    rule(
        "an answer answers the one question that it was for",
        "engine/answers.py",
        "        if self._named(given) == waits.key:\n            return True\n",
        "        if given:\n            return True\n",
        "asked/kills",
    ),
    rule(
        "a question that was answered has no buttons any more",
        "soul/questions.py",
        "    await settle(turn, asked, answer.event.text)\n",
        "",
        "approved/kills",
    ),
    rule(
        "a question that was let go has no buttons any more",
        "soul/questions.py",
        '        await settle(turn, question, "")',
        "        pass",
        "withdrawn/kills",
    ),
    rule(
        "of a long question the last message has the buttons",
        "soul/speech.py",
        "            if queue.is_last:\n",
        "            if True:\n",
        "approved-at-length/kills",
    ),
)
