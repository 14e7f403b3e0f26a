"""Rules of reading, each taken out: then a test or a scenario fails that shows what it is for."""

from __future__ import annotations

from tests.core.mutant import Mutant, rule

READING = "tests/stories/test_reading.py::test_"
BOUNDS = "tests/stories/test_reading_bounds.py::test_"
LOST = "tests/stories/test_reading_lost.py::test_"
MEANWHILE = "tests/stories/test_reading_meanwhile.py::test_"
HOSTILE = "tests/stories/test_reading_hostile.py::test_"
ODD = "tests/stories/test_reading_odd.py::test_the_model_is_told_and_goes_on"
DEEP = "tests/stories/test_deep_reading.py::test_"
LEDGER = "tests/soul/test_ledger.py::test_"
WRITING = "tests/mind/test_writing.py::test_"
SHELF = "tests/slack/test_shelf.py::test_"
MANY = f"{LEDGER}however_many_ask_no_bound_is_passed_and_all_come_to_an_end"

CELLS: tuple[Mutant, ...] = (
    rule(
        "reading: a cell that runs again reads back what it asked for",
        "soul/notebook.py",
        "cell = Cell(ctx=self._ctx.inside(ran.key))",
        'cell = Cell(ctx=self._ctx.inside(f"{ran.key}-again"))',
        f"{LOST}the_next_cell_finds_all_that_the_cells_before_had[calls]",
    ),
    rule(
        "reading: after a kill, too",
        "soul/notebook.py",
        "cell = Cell(ctx=self._ctx.inside(key))",
        "cell = Cell(ctx=self._ctx.inside(f\"{key}-{__import__('os').getpid()}\"))",
        "reads/kills",
    ),
    rule(
        "reading: a cell that was lost does not run again",
        "soul/notebook.py",
        "            if not ran.lost:\n",
        "            if True:\n",
        f"{LOST}what_a_lost_cell_asked_is_paid_but_the_cell_does_not_run_again",
    ),
    rule(
        "reading: a sandbox that was lost is replaced",
        "soul/notebook.py",
        "        if execution.lost:\n            await self.close()\n        elif",
        "        if",
        f"{LOST}the_next_cell_finds_all_that_the_cells_before_had[calls]",
    ),
    rule(
        "reading: one that breaks over a value is replaced, too",
        "soul/notebook.py",
        "        if held.lost:\n            await self.close()\n",
        "",
        f"{LOST}a_sandbox_that_breaks_over_a_value_takes_no_other_cell_with_it",
    ),
    rule(
        "reading: a cell that runs again sees the variables of then",
        "soul/notebook.py",
        "                self._variables = ran.variables\n",
        "",
        f"{LOST}a_cell_that_runs_again_sees_the_variables_of_then",
    ),
    rule(
        "reading: a stop ends a cell that computes for ever",
        "soul/notebook.py",
        "asyncio.wait({running, stopping},",
        "asyncio.wait({running},",
        f"{MEANWHILE}a_stop_ends_a_cell_that_computes_for_ever[in monty]",
    ),
    rule(
        "reading: what a program said before it failed is not final",
        "soul/notebook.py",
        "        if not execution.error:\n            final =",
        "        if True:\n            final =",
        "tests/stories/test_reading_odd.py::test_what_was_final_before_an_error_is_not",
    ),
    rule(
        "reading: a variable that is not there is no answer",
        "soul/notebook.py",
        "execution = replace(execution, error=held.error)",
        "execution = replace(execution, error=execution.error)",
        f"{ODD}[a variable that is not there]",
    ),
    rule(
        "reading: a call with wrong arguments is an error of the code",
        "sandbox/monty_run.py",
        "            inspect.signature(function).bind(*args, **kwargs)\n",
        "            inspect.signature(function)\n",
        f"{ODD}[no arguments]",
    ),
    rule(
        "reading: what leaves a sandbox is counted",
        "sandbox/monty_run.py",
        "plain(given, refuse, bounded=True)",
        "plain(given, refuse)",
        f"{ODD}[lists that hold each other twice]",
    ),
)

LOOP: tuple[Mutant, ...] = (
    rule(
        "reading: what is said meanwhile is heard by the next round",
        "mind/recursion.py",
        "        self._memory = self._memory.with_memory(*came)\n",
        "",
        f"{MEANWHILE}more_of_the_same_is_seen_by_the_next_round",
    ),
    rule(
        "reading: between two rounds it looks what came",
        "mind/recursion.py",
        "            if await self._interrupted():\n",
        "            if False:\n",
        f"{MEANWHILE}something_new_is_answered_first_and_then_it_goes_on",
    ),
    rule(
        "reading: answers with nothing to run come to an end",
        "mind/recursion.py",
        "        if self._silent >= SILENT:\n",
        "        if False:\n",
        f"{BOUNDS}answers_with_nothing_to_run_are_no_answers",
    ),
    rule(
        "reading: going in circles comes to an end",
        "mind/recursion.py",
        '            case "end":\n                return await self._unfinished("stuck")\n',
        '            case "end":\n                return None\n',
        f"{BOUNDS}it_notices_that_it_goes_in_circles",
    ),
    rule(
        "reading: rounds are bounded",
        "mind/recursion.py",
        "if self._iterations >= self._node.limits.iterations:",
        "if False:",
        f"{BOUNDS}out_of_rounds_it_says_what_it_knows",
    ),
    rule(
        "reading: at a bound it says what it knows",
        "mind/recursion.py",
        'self._node.ask("extract", asked, last=True)',
        'self._node.ask("extract", asked)',
        f"{BOUNDS}out_of_calls_the_code_sees_it_and_then_the_reading_ends",
    ),
    rule(
        "reading: what is short is read in one call",
        "soul/node.py",
        "short = whole and is_short(context, min(self.limits.threshold * LETTERS, most))",
        "short = False",
        f"{READING}what_is_short_is_read_in_one_plain_call",
    ),
    rule(
        "reading: an observation is cut",
        "mind/observing.py",
        'text = cut("\\n".join(shown))',
        'text = "\\n".join(shown)',
        f"{READING}an_observation_shows_both_ends_and_how_much_is_left_out",
    ),
    rule(
        "reading: a value is shown beside what was printed",
        "mind/observing.py",
        "    if execution.value is not None:\n",
        "    if execution.value is not None and not execution.stdout:\n",
        f"{READING}a_cell_that_prints_shows_its_last_value_too[monty]",
    ),
    rule(
        "reading: a block on one line runs",
        "mind/writing.py",
        "            cells += inline\n",
        "",
        f"{WRITING}a_block_on_one_line_is_a_cell",
    ),
    rule(
        "reading: code within a sentence does not run",
        "mind/writing.py",
        "    if cells and BEFORE_INLINE.fullmatch(line[:end].strip()):\n",
        "    if cells:\n",
        f"{WRITING}code_within_a_sentence_or_in_another_block_does_not_run",
    ),
    rule(
        "reading: a final answer may stand after its label",
        "mind/writing.py",
        "    if whole and not finals:\n",
        "    if False:\n",
        f"{READING}a_final_answer_may_come_in_each_dialect",
    ),
    rule(
        "reading: two final answers are none",
        "mind/writing.py",
        "    if len(found) != 1:\n",
        "    if not found:\n",
        f"{WRITING}two_different_ones_are_none",
    ),
    rule(
        "reading: half a cell does not run",
        "mind/writing.py",
        "        elif is_code and (whole or end < len(lines)):",
        "        elif is_code:",
        f"{WRITING}a_cell_that_is_not_closed_counts_where_the_answer_is_whole",
    ),
    rule(
        "reading: a fence in a string ends no cell",
        "mind/writing.py",
        "if not fault or not (passed or fault.startswith(OPEN_STRING)):",
        "if True:",
        f"{WRITING}a_fence_in_a_string_does_not_end_the_cell",
    ),
    rule(
        "reading: a line ends where it does for Python",
        "mind/writing.py",
        "lines = LINE.split(text)",
        "lines = text.splitlines()",
        f"{WRITING}cells_come_as_they_were_written",
    ),
)

BUDGET: tuple[Mutant, ...] = (
    rule(
        "reading: calls on their way count",
        "soul/ledger.py",
        "if self.calls + len(self._on_their_way) >= limits.calls:",
        "if self.calls >= limits.calls:",
        MANY,
    ),
    rule(
        "reading: what is on its way is waited for where it alone stands in the way",
        "soul/ledger.py",
        "            while not last and self._waits(amount):\n",
        "            while False:\n",
        f"{LEDGER}where_only_what_is_on_its_way_stands_in_the_way_it_is_waited_for",
    ),
    rule(
        "reading: when its time is over, calls on their way end",
        "soul/ledger.py",
        "asyncio.create_task(self._clock.sleep(left))]",
        "asyncio.create_task(self._clock.sleep(left + 3_600))]",
        f"{BOUNDS}out_of_time_calls_on_their_way_end",
    ),
    rule(
        "reading: so many calls are on their way at once",
        "soul/ledger.py",
        "asyncio.Semaphore(limits.concurrency)",
        "asyncio.Semaphore(1_000)",
        MANY,
    ),
    rule(
        "reading: a call counts once",
        "soul/ledger.py",
        "if call.seq in self._counted or",
        "if",
        f"{LEDGER}each_call_counts_once",
    ),
    rule(
        "reading: no bound of dollars is no bound",
        "soul/ledger.py",
        "        if not self._limits.usd:\n            return math.inf\n",
        "",
        f"{BOUNDS}without_a_bound_of_dollars_it_may_cost_what_it_costs",
    ),
    rule(
        "reading: what earlier lives used counts",
        "soul/reader.py",
        "return Ledger(limits, self.world.clock, only(ModelCall, mine), seconds)",
        "return Ledger(limits, self.world.clock, [], seconds)",
        f"{LOST}what_a_lost_cell_asked_counts_after_a_restart",
    ),
    rule(
        "reading: what was answered before a bound stays answered",
        "soul/reader.py",
        'if reached and not ctx.recorded("llm_query"):',
        "if reached:",
        f"{LOST}a_bound_that_stood_in_the_way_stands_there_when_the_cell_runs_again",
    ),
    rule(
        "reading: a prompt that no model reads is not sent",
        "soul/reader.py",
        "        if size > most:\n",
        "        if False:\n",
        f"{BOUNDS}a_prompt_that_no_model_reads_is_an_error_before_it_is_paid",
    ),
    rule(
        "reading: its calls and its time do not count for the turn",
        "soul/spent.py",
        "counts = not (call.reading or call.gave_way)",
        "counts = True",
        f"{BOUNDS}its_calls_and_its_time_do_not_count_for_the_turn_but_its_dollars_do",
    ),
)

PEOPLE: tuple[Mutant, ...] = (
    rule(
        "reading: what a cell printed is material",
        "mind/recall.py",
        'return framed("observation", text)',
        'return f"<observation>\\n{text}\\n</observation>"',
        f"{HOSTILE}what_a_cell_prints_is_material_and_no_answer",
    ),
    rule(
        "reading: how it begins is material",
        "mind/recall.py",
        "{framed('shape', shape)}",
        "<shape>\\n{shape}\\n</shape>",
        f"{HOSTILE}a_shape_shows_a_hostile_beginning_as_material",
    ),
    rule(
        "reading: what is read in one call is material",
        "mind/recursion.py",
        "context=fenced(began.shape)",
        "context=began.shape",
        f"{HOSTILE}what_is_read_in_one_call_is_material[content]",
    ),
    rule(
        "reading: a citation that does not hold is left out of what was found",
        "actions/read_deeply.py",
        '{"text": checked.text, "dropped"',
        '{"text": answer, "dropped"',
        f"{DEEP}a_file_is_read_and_what_it_says_is_told_with_its_place",
    ),
    rule(
        "reading: and of what is said",
        "processes/deep_reading.py",
        "revise=Cited(documents),",
        "revise=Cited(()),",
        f"{DEEP}a_file_is_read_and_what_it_says_is_told_with_its_place",
    ),
    rule(
        "reading: what is said is held against the texts once",
        "mind/pipeline.py",
        "    return str(came.event.value)\n",
        "    return revise(said, True)\n",
        f"{DEEP}an_owner_lets_it_go_on_though_the_file_cannot_be_had_again",
    ),
    rule(
        "reading: another channel is read for its members",
        "slack/shelf.py",
        "if there.channel != here.channel and not await",
        "if not there.channel and not await",
        f"{SHELF}another_public_channel_is_read_for_its_members[attic]",
    ),
    rule(
        "reading: what is private is read where it was said",
        "slack/shelf.py",
        "for there in self.workspace.places.known(channel):",
        "for there in self.workspace.places._channels.values():",
        f"{SHELF}another_private_channel_is_read_for_nobody",
    ),
    rule(
        "reading: so many files are read at once",
        "slack/shelf.py",
        "        if len(wanted) > MOST_FILES:\n",
        "        if False:\n",
        f"{SHELF}more_files_than_are_read_at_once_want_names",
    ),
)

READ: tuple[Mutant, ...] = (*CELLS, *LOOP, *BUDGET, *PEOPLE)
