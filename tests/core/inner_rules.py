"""Rules of the inner life, each taken out: then a test or a scenario fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

BOUNDS = "tests/stories/test_inner_bounds.py::test_"
PRIVATE = "tests/inner/test_contexts_private.py::test_"
AGAIN = "tests/core/test_core.py::test_each_step_may_be_read_back_at_once"
NEW_CODE = "tests/core/test_core.py::test_a_tick_whose_code_changed_begins_again_with_its_log"
LIFE = "processes/inner_life.py"
CONTEXTS = "inner/contexts.py"
REFLEX = "tests/stories/test_inner_reflex.py::test_"
ELSEWHERE = f"{PRIVATE}elsewhere_it_is_not"

TICKS: tuple[Mutant, ...] = (
    rule(
        "inner life: a tick sees what was there as it began",
        LIFE,
        "await self._state.update(self._turn.number)",
        "await self._state.update()",
        f"{AGAIN}[inner-life-alone]",
    ),
    rule(
        "inner life: a command is carried out once",
        LIFE,
        "for command in written.commands:",
        "for command in [*written.commands, *written.commands]:",
        f"{BOUNDS}what_it_says_again_is_not_done_again",
    ),
    rule(
        "inner life: the commands of a repeat are not carried out",
        LIFE,
        "        if repeated:\n",
        "        if repeated is None:\n",
        f"{BOUNDS}what_it_says_again_is_not_done_again",
    ),
    rule(
        "inner life: the same words about something new are no repeat",
        "inner/reflex.py",
        "    if not waits and not news:\n",
        "    if not waits:\n",
        f"{REFLEX}the_same_words_about_something_new_are_no_repeat",
    ),
    rule(
        "inner life: the end of a process is something new",
        CONTEXTS,
        "        return any(process.ended_by > last for",
        "        return any(process.ended_by < last < 0 for",
        f"{REFLEX}the_same_words_when_a_program_has_ended_are_no_repeat",
    ),
    rule(
        "inner life: an answer is compared with the one directly before it",
        CONTEXTS,
        "        return self.said(last.tick.answer)\n",
        "        return self.said(self.thoughts()[0].tick.answer)\n",
        f"{REFLEX}the_same_as_two_ticks_ago_is_no_repeat",
    ),
    rule(
        "inner life: what adds no command is compared by its meaning",
        "inner/reflex.py",
        "        elif not commands or similarity > ALIKE or fruitless",
        "        elif similarity > ALIKE or fruitless",
        f"{REFLEX}words_without_a_command_are_compared_however_unlike_they_are",
    ),
    rule(
        "inner life: what it was shown is recorded",
        LIFE,
        "view=now.view, saw=saw)",
        "view=now.view)",
        f"{AGAIN}[inner-life-alone]",
    ),
    rule(
        "inner life: a tick that begins again is told what it had done",
        LIFE,
        "        if self._turn.log:",
        "        if self._turn.log and not self._turn.log.content:",
        NEW_CODE,
    ),
    Mutant(
        rule="inner life: without one nothing is thought",
        file="config.py",
        old="        if not self.inner_life_enabled:",
        new="        if self.inner_life_enabled is None:",
        shown_by=f"{BOUNDS}without_an_inner_life_nothing_is_thought",
    ),
)

WAITS: tuple[Mutant, ...] = (
    rule(
        "inner life: a sleep until something comes ends with a program, too",
        "actions/cycle_commands.py",
        "running = [one.id for one in log.all() if not one.ended]",
        "running = list[int]()",
        "tests/stories/test_inner_idle.py::test_without_arguments_it_sleeps_until_something_comes",
    ),
    rule(
        "inner life: what it asked for in the same answer is seen before it sleeps",
        LIFE,
        "elif any(_is_to_be_seen(one.event) for one in ran):",
        "elif not ran:",
        "tests/stories/test_inner_idle.py::test_what_it_asked_for_it_sees_before_it_sleeps_as_it_wanted",
    ),
    rule(
        "inner life: what is null in a filter says nothing",
        "inner/note.py",
        "for name, value in about.items() if value is not None}",
        "for name, value in about.items()}",
        "tests/inner/test_notes.py::test_a_filter_is_read_as_it_is_meant",
    ),
    rule(
        "inner life: what is no filter fits nothing",
        "inner/notes.py",
        "        except ValueError:\n            return False\n",
        "        except LookupError:\n            return False\n",
        "tests/inner/test_notes.py::test_whether_an_entry_fits_is_known_from_it_alone",
    ),
    rule(
        "inner life: nobody sleeps until what is no process ends",
        "actions/cycle_commands.py",
        "        if unknown:\n",
        "        if not known and not unknown:\n",
        f"{BOUNDS}a_sleep_until_what_is_no_process_ends_is_refused",
    ),
    rule(
        "inner life: what comes while it thinks ends its sleep",
        LIFE,
        "after=self._turn.number)",
        "after=ran[-1].seq)",
        f"{BOUNDS}what_comes_while_it_thinks_ends_the_sleep_that_it_then_begins",
    ),
    rule(
        "inner life: whatever wakes it, the pause is kept",
        LIFE,
        "return 0 <= self._since_last <",
        "return 0 > self._since_last <",
        f"{BOUNDS}what_wakes_it_too_soon_is_thought_about_when_the_pause_is_over",
    ),
    rule(
        "inner life: it sets no pause shorter than its owner wants",
        "actions/cycle_commands.py",
        "        if args.seconds < min_pause:",
        "        if args.seconds < 0:",
        f"{BOUNDS}a_pause_shorter_than_its_owner_wants_is_refused",
    ),
    rule(
        "inner life: a wait takes the place of the one before",
        "soul/voice.py",
        "        if before:\n            await self.ctx.unwatch",
        "        if before and not before.seq:\n            await self.ctx.unwatch",
        f"{BOUNDS}what_woke_it_is_known_after_two_more_starts",
    ),
    rule(
        "inner life: its next tick does not end the wait for a branch",
        "soul/voice.py",
        "if not entry.event.resumes and INNER_WAIT in entry.event.note]",
        "if not entry.event.resumes]",
        f"{BOUNDS}its_branch_comes_to_an_answer_that_it_hears_of",
    ),
    rule(
        "inner life: what woke it is kept over more than one start",
        LIFE,
        'if note.get("woke") or',
        'if note.get("woken") or',
        f"{BOUNDS}what_woke_it_is_known_after_two_more_starts",
    ),
    rule(
        "inner life: a note that woke it too soon comes into view later",
        "soul/reminding.py",
        'woke.matched or tuple(note.get("woke", ()))',
        "woke.matched",
        f"{BOUNDS}what_woke_it_is_known_after_two_more_starts",
    ),
    rule(
        "inner life: a tick that failed is followed by another",
        "soul/soul_program.py",
        "            await _tick_failed(turn)\n",
        "            pass\n",
        f"{AGAIN}[inner-life-fails]",
    ),
    rule(
        "inner life: the wait that the last words set stays",
        "engine/execution.py",
        "stays = is_watch(entry) and context_of(entry.key) in told",
        "stays = False",
        f"{AGAIN}[inner-life-fails]",
    ),
)

VIEWS: tuple[Mutant, ...] = (
    rule(
        "inner life: own replies are shown where they may be known",
        CONTEXTS,
        "log.thoughts if self.knows(line.tick.view, line.seq)",
        "log.thoughts",
        f"{ELSEWHERE}[llm_recent_responses-bob]",
    ),
    rule(
        "inner life: so are processes",
        CONTEXTS,
        "processes.processes(self.knows)",
        "processes.processes(lambda *_: True)",
        f"{ELSEWHERE}[process_log-bob]",
    ),
    rule(
        "inner life: so is what commands came to",
        CONTEXTS,
        "        if not self.knows(ran.view, command.seq):",
        "        if self.knows(ran.view, command.seq) is None:",
        f"{ELSEWHERE}[process_log-nobody]",
    ),
    rule(
        "inner life: so are records",
        CONTEXTS,
        "self.state.records.shown(asked, self.now.view)",
        "self.state.records.everywhere(asked)",
        f"{ELSEWHERE}[records-bob]",
    ),
    rule(
        "inner life: so is the notebook",
        CONTEXTS,
        "llm_memory(self.now.view, LONGEST_MEMORY)",
        "llm_memory(self.state.log.lines[-1].tick.view, LONGEST_MEMORY)",
        f"{ELSEWHERE}[llm_memory-bob]",
    ),
    rule(
        "inner life: so are notes",
        CONTEXTS,
        "        if not self.knows(note.thread):",
        "        if self.knows(note.thread) is None:",
        f"{ELSEWHERE}[notes-bob]",
    ),
    rule(
        "inner life: so are settings",
        CONTEXTS,
        "        if not self.knows(setting.view, setting.wrote):",
        "        if self.knows(setting.view) is None:",
        f"{ELSEWHERE}[settings-bob]",
    ),
    rule(
        "inner life: so is what the reflex says",
        CONTEXTS,
        "if self.knows(last.tick.view, last.seq):",
        "if last.seq:",
        f"{ELSEWHERE}[anti_stagnation-bob]",
    ),
    rule(
        "inner life: a note that was shown is known as such",
        CONTEXTS,
        "        self.saw.append(note.said)\n",
        "",
        f"{PRIVATE}it_is_known_whose_words_it_was_shown",
    ),
)

FOLDED: tuple[Mutant, ...] = (
    rule(
        "inner life: a fold goes back",
        "knowledge/projection.py",
        "if forgotten or self.folded >= before:",
        "if forgotten:",
        "tests/knowledge/test_projection_of_then.py::test_it_goes_on_and_back",
    ),
    rule(
        "inner life: a record that was taken over is there once",
        "inner/record.py",
        "if not ran.ok or ran.taken_from or",
        "if not ran.ok or",
        f"{PRIVATE}a_record_that_was_taken_over_is_there_once",
    ),
    rule(
        "inner life: what runs for somebody who is forgotten is ended",
        "inner/process_folder.py",
        "    if pid is not None:\n",
        "    if pid is not None and pid < 1:\n",
        "tests/inner/test_supervisor_dies.py::"
        "test_what_runs_for_somebody_who_is_forgotten_ends_though_nobody_supervises_it",
    ),
    rule(
        "inner life: a record that was taken over is told by the id that it is known by",
        CONTEXTS,
        "its id is {self._first(command)}",
        "its id is {command.seq}",
        f"{PRIVATE}a_record_that_was_taken_over_is_told_by_the_id_that_it_is_known_by",
    ),
    rule(
        "inner life: a program that was begun is not begun by a tick that begins again",
        "actions/process_commands.py",
        "_begun(log, tick, wanted) or await",
        "await",
        NEW_CODE,
    ),
    rule(
        "inner life: a message that was taken over is counted once",
        "inner/agent_log.py",
        "if not entry.event.ok or entry.event.taken_from:",
        "if not entry.event.ok:",
        f"{PRIVATE}a_record_that_was_taken_over_is_there_once",
    ),
    rule(
        "inner life: a branch that was forgotten runs no more",
        "inner/process_log.py",
        "if entry.thread == INNER and not entry.forgotten:",
        "if entry.thread == INNER:",
        "tests/inner/test_process_log.py::test_a_branch_that_is_forgotten_is_in_the_log_no_more",
    ),
    rule(
        "inner life: a tick that began again is one line",
        "inner/agent_log.py",
        "                kept.pop()",
        "                pass",
        f"{PRIVATE}a_tick_that_began_again_is_one_line",
    ),
    rule(
        "inner life: the same is never said twice",
        "actions/message_commands.py",
        "if reach.was_wanted(thread, text):",
        "if not text:",
        f"{AGAIN}[inner-life]",
    ),
)

INNER: tuple[Mutant, ...] = (*TICKS, *WAITS, *VIEWS, *FOLDED)
