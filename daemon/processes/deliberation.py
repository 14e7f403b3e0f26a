"""Open thought: one model call in each turn; self-calls, branches and actions become messages.

Only pending entries decide the next step. After the seeds on logic and iteration (xml-pipeline) and on
reasoning (AgentServer).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from daemon.actions.action import ActionDefinition
from daemon.actions.registry import ActionRegistry
from daemon.answers.repetition import repeats_last_answer
from daemon.engine.event import Entry, of_kind, seqs_of
from daemon.kinds import InternalMessage, LimitReached, PlanChanged, SelfCall, SystemMessage
from daemon.memory import WorkingMemory
from daemon.mind.asking import (
    ask_owner_to_continue,
    drop_too_long,
    handle_stop,
    limit_key,
    limit_that_refused,
    owner_sentence,
    posted_receipts,
    stop_at_limit,
    with_cut_note,
    without_refused_question,
)
from daemon.open_thought.executor import PayloadExecutor
from daemon.open_thought.payloads import ParsedAnswer, Payload, PayloadFault, parse_payloads, tag_slug
from daemon.open_thought.thought import OpenThought, ThoughtStep, closes_new_step, last_plan
from daemon.process import MentalProcess, Placeholders, Transition, Turn
from daemon.prompts.elements import (
    EXPLAIN_TAG,
    ROOT_TAGS,
    THOUGHT_TAG,
    TODO_UNTIL,
    escape_tags,
    make_element,
    parse_labels,
    soul_name_in,
)
from daemon.prompts.prompt_catalogue import (
    PLAYBOOK_FOLDER,
    SOUL_TEXT,
    parse_playbook,
    split_by_headings,
)
from daemon.settings.limits import CONTINUE, ITERATIONS
from daemon.turn.branches import Branches, budget_warning, count_self_calls, send_to_self
from daemon.turn.input_policy import DELIBERATION_PROCESS, SELF_CALL_TEXT
from daemon.turn.plan_card import open_plan_steps, plans_so_far, show_plan
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import Speech

NEXT_PROCESS = "conversation"


SELF_CALLS: Mapping[str, int] = {"high": 30, "medium": 10, "low": 3, "none": 0}
"""Most self-calls after a person's message, branches included."""


NO_ACTIONS = ActionRegistry(())


THREAD_TEXT = "prompts/open/thread"
"""Text that tells the thread's id; older executions lack it."""


BRANCH_TEXT = "prompts/open/branch"
"""Text that tells a branch its role; older executions lack it."""


OPEN_TOOLS_TEXT = "prompts/open/tools"
"""Text before the tools of MCP servers."""


TAGS_TEXT = "prompts/open/tags"
"""Text that explains the tags; older executions lack it."""


WARNED_SELF_CALLS = 3
"""Remaining self-calls at which the soul is warned."""


MOST_STEPS = 50


MOST_UNREADABLE = 3
"""Unreadable answers in a row after which only a final answer is asked for."""


REPEATED_REMARKS = frozenset({"repeated", "empty"})
"""Remarks that, if repeated, lead to a request for the final answer alone."""


ALONE_REMARKS = frozenset({"alone", "capped", "not-allowed", "three-times"})
"""Remarks that lead to a request for the final answer alone."""


async def deliberate(
    turn: Turn, actions: ActionRegistry = NO_ACTIONS, capacity: str = "medium"
) -> WorkingMemory | Transition:
    """Think in the open: plan, branch, and answer."""
    if turn.is_late:
        return turn.memory  # the input came too late for an answer
    book = parse_playbook(DELIBERATION_PROCESS, turn.text(f"{PLAYBOOK_FOLDER}{DELIBERATION_PROCESS}"))
    offered = await actions.callable_in_open_thought(turn, book)
    return await _DeliberationTurn(turn, capacity, offered, book.text).live()


class _DeliberationTurn:
    def __init__(
        self, turn: Turn, capacity: str, definitions: Sequence[ActionDefinition], rules: str
    ) -> None:
        self._turn = turn
        self._branches = Branches(turn)
        self._capacity = capacity
        self._definitions = definitions
        self._rules = rules
        self._actions = [one.name for one in definitions]
        self._listed = [one for one in definitions if one.listed]
        self._slug = tag_slug(soul_name_in(turn.text(SOUL_TEXT)))
        self._final_tag = f"{self._slug}-response"
        self._words = parse_labels(turn.text("prompts/open/words"))
        self._internal_messages = [entry.event for entry in of_kind(InternalMessage, turn.internal_inputs)]
        self._codes = {event.code for event in self._internal_messages}
        self._left = SELF_CALLS[capacity] - count_self_calls(turn)
        self._is_branch = bool(self._branches.parent)
        self._alone = bool(ALONE_REMARKS & self._codes)

    async def live(self) -> WorkingMemory | Transition:
        first = self._first_action()
        if first:
            return await self._begin_with(first)
        memory = self._turn.memory
        warning = await budget_warning(self._turn)
        if warning:
            memory = memory.with_memory(entry_as_memory(warning))
        limited = await self._turn.limit()
        if limited:
            if not await self._is_first_to_meet(limited):
                return memory
            memory, on = await self._at_bound(memory, limited)
            if not on:
                return await self._give_up(memory)
        thought, speech = await self._think(memory)
        if thought.call.event.outcome == "cancelled":
            memory = await handle_stop(self._turn, thought.memory, speech, thought.call, thought.final)
            if self._is_branch:
                return memory  # the next turn handles the stop
            return Transition(to=NEXT_PROCESS, memory=memory)
        if not thought.is_usable:
            return await self._handle_unusable(thought, speech)
        return await self._follow(thought, speech)

    def _first_action(self) -> Payload | None:
        if not self._is_branch or len(self._internal_messages) != 1:
            return None
        [begun_with] = self._internal_messages
        if len(self._turn.memory.conversation) > 1 or begun_with.sender != self._branches.parent:
            return None
        parsed = parse_payloads(begun_with.text, slug=self._slug, actions=self._actions)
        if len(parsed.payloads) != 1 or parsed.thought.strip():
            return None
        [first] = parsed.payloads
        if first.tag not in self._actions:
            return None
        return first

    async def _begin_with(self, action: Payload) -> WorkingMemory:
        executor = self._executor(self._turn.memory)
        await executor.carry_out([action])
        return executor.memory

    def _executor(self, memory: WorkingMemory) -> PayloadExecutor:
        return PayloadExecutor(self._turn, memory, self._definitions, self._words, self._explanations())

    def _explanations(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        if self._turn.has_text(TAGS_TEXT):
            found |= split_by_headings(self._turn.text(TAGS_TEXT))
        return found | {one.name: _described([one]) for one in self._listed}

    async def _is_first_to_meet(self, limited: LimitReached) -> bool:
        """True if these messages first reach this limit, so that people are asked once; branches and timers
        always ask.
        """
        if self._is_branch or "timer-fired" in self._codes:
            return True
        said = seqs_of(self._turn.answers)
        return await self._turn.claim(f"met:{self._turn.thread}:{said}:{limit_key(limited)}")

    async def _at_bound(self, memory: WorkingMemory, limited: LimitReached) -> tuple[WorkingMemory, bool]:
        if not self._is_branch:
            return await stop_at_limit(self._turn, memory, limited)
        if limited.final or not self._turn.deciders:
            return memory, False
        answered = await ask_owner_to_continue(self._turn, limited)
        return memory.with_memory(*answered.memories), answered.value == CONTINUE

    async def _give_up(self, memory: WorkingMemory) -> WorkingMemory | Transition:
        if self._is_branch:
            await self._branches.end("", status="limited")
            return memory
        await self._branches.cancel()
        return Transition(to=NEXT_PROCESS, memory=memory)

    async def _think(self, memory: WorkingMemory) -> tuple[OpenThought, Speech]:
        is_open = bool(self._open_steps())
        thinking = ThoughtStep(self._turn, memory, self._slug, self._actions, plan_is_open=is_open)
        thought = await thinking.ask(self._instruction(), alone=self._alone)
        if thought.call.event.outcome == "refused":
            self._alone = True
            thought = await thinking.ask(self._instruction(), "fallback", alone=True)
        if thought.gives_away:
            self._alone = True
            thought = await thinking.ask(self._instruction(), alone=True, private=False)
        return thought, thinking.speech

    def _instruction(self) -> str:
        if self._alone:
            return self._text("alone") + self._of_branch()
        capacity = self._text(self._capacity, left=str(max(self._left, 0)))
        actions = self._actions_in_words()
        asked = self._text("deliberation", actions=actions, rules=self._rules, capacity=capacity)
        if self._turn.has_text(THREAD_TEXT):
            asked += "\n\n" + self._turn.prompt(THREAD_TEXT, thread=self._turn.thread)
        return asked + self._of_branch()

    def _actions_in_words(self) -> str:
        own = _described([one for one in self._listed if not one.by_others])
        tools = _described([one for one in self._listed if one.by_others])
        if not tools:
            return own
        return f"{own}\n\n{self._turn.prompt(OPEN_TOOLS_TEXT, tools=tools)}"

    def _of_branch(self) -> str:
        if not self._is_branch or not self._turn.has_text(BRANCH_TEXT):
            return ""
        return "\n\n" + self._text("branch", parent=self._branches.parent)

    def _text(self, text: str, **words: str) -> str:
        name = f"prompts/open/{text}"
        return self._turn.prompt(name, self=self._slug, final=self._final_tag, **words)

    async def _handle_unusable(self, thought: OpenThought, speech: Speech) -> WorkingMemory | Transition:
        memory = thought.memory
        if thought.call.event.outcome == "over-budget":
            await speech.settle()
            memory, on = await self._at_bound(memory, limit_that_refused(thought.call))
            if on:
                await self._executor(memory).add_remark("continue")
                return memory
            return await self._give_up(memory)
        if thought.call.event.is_too_long:
            return await self._end_without_answer(await drop_too_long(self._turn, memory), speech, "too_long")
        return await self._end_without_answer(without_refused_question(self._turn, memory), speech)

    async def _end_without_answer(
        self, memory: WorkingMemory, speech: Speech, why: str = "lost_words"
    ) -> WorkingMemory | Transition:
        if self._is_branch:
            await self._branches.end("", status="failed")
            return memory
        await self._branches.cancel()
        words = ""
        if self._turn.must_answer:
            words = owner_sentence(self._turn, why)
        spoken = posted_receipts(await speech.finish(words))
        return Transition(to=NEXT_PROCESS, memory=memory.with_memory(*map(entry_as_memory, spoken)))

    async def _follow(self, thought: OpenThought, speech: Speech) -> WorkingMemory | Transition:
        """Carry out the answer, then report misspelt tags, which older executions did not do."""
        outcome = await self._carry_out_answer(thought, speech)
        told = [entry_as_memory(entry) for entry in await self._report_misspelt(thought.parsed)]
        if isinstance(outcome, Transition):
            return replace(outcome, memory=outcome.memory.with_memory(*told))
        return outcome.with_memory(*told)

    async def _carry_out_answer(self, thought: OpenThought, speech: Speech) -> WorkingMemory | Transition:
        executor = self._executor(thought.memory.with_memory(entry_as_memory(thought.call)))
        if self._repeats(thought):
            return await self._remarked("repeated", REPEATED_REMARKS, executor)
        plan = await self._record_plan(thought.parsed, executor)
        unreadable = await self._report_faults(thought.parsed, executor)
        if thought.final:
            return await self._answer(thought, speech, executor, plan)
        if self._alone:
            return await self._end_without_answer(executor.memory, speech)
        await speech.settle()
        await executor.carry_out(self._requests(thought))
        await self._call_itself(thought, executor)
        if executor.explained and not executor.called:
            await self._go_on(", ".join(f"<{EXPLAIN_TAG}> {tag}" for tag in executor.explained), executor)
        if executor.called or executor.waits or unreadable or self._branches.has_pending_waits:
            return executor.memory
        if plan and closes_new_step(plan, plans_so_far(self._turn)):
            await self._go_on(f"{plan.done_count}/{len(plan.steps)}: {plan.condition}", executor)
            return executor.memory
        return await self._remarked("empty", {"empty"}, executor)

    async def _remarked(self, meaning: str, before: Set[str], executor: PayloadExecutor) -> WorkingMemory:
        """Send a remark; if one of `before` was sent recently, ask for the final answer alone."""
        if self._codes & before:
            meaning = "alone"
        await executor.add_remark(meaning)
        return executor.memory

    def _self_calls(self, thought: OpenThought) -> Sequence[Payload]:
        return [one for one in thought.parsed.payloads if one.tag == self._slug]

    def _requests(self, thought: OpenThought) -> Sequence[Payload]:
        other = (self._slug, self._final_tag, TODO_UNTIL, THOUGHT_TAG)
        return [one for one in thought.parsed.payloads if one.tag not in other]

    def _repeats(self, thought: OpenThought) -> bool:
        """True if the answer repeats the last one, but is neither final nor unreadable.

        Compares recorded entries only, for replays.
        """
        if thought.final or self._alone or _unread(thought.parsed):
            return False
        return repeats_last_answer(entry_as_memory(thought.call).content, thought.memory.conversation)

    async def _answer(
        self, thought: OpenThought, speech: Speech, executor: PayloadExecutor, plan: PlanChanged | None
    ) -> WorkingMemory | Transition:
        """Post the final answer. If steps of the plan are open, ask about them first, but only one time."""
        again = self._self_calls(thought)
        still_open = self._open_steps()
        if plan:
            still_open = plan.open_steps
        if still_open and not (again or self._alone or "steps-open" in self._codes):
            await speech.settle()
            await executor.add_remark("steps open", "".join(f"\n- {step}" for step in still_open))
            return executor.memory
        for one in self._requests(thought):
            await executor.add_remark("not carried out", f": {one.tag}", calls=False)
        if self._is_branch:
            await self._branches.end(thought.final)
            return executor.memory
        words = thought.final
        if thought.unfinished:
            words = with_cut_note(self._turn, words)
        await speech.finish(words)
        if again and not self._alone:
            await self._call_itself(thought, executor)
            return executor.memory
        for ended in await self._branches.cancel():
            await executor.add_note(make_element("thread-cancelled", id=ended))
        return await self._after_the_end(executor)

    async def _after_the_end(self, executor: PayloadExecutor) -> WorkingMemory | Transition:
        if "capped" in self._codes and self._turn.deciders:
            limited = LimitReached(bound=ITERATIONS, resets=ITERATIONS)
            answered = await ask_owner_to_continue(self._turn, limited)
            executor.memory = executor.memory.with_memory(*answered.memories)
            if answered.value == CONTINUE:
                await executor.add_remark("continue")
                return executor.memory
        return Transition(to=NEXT_PROCESS, memory=executor.memory)

    async def _call_itself(self, thought: OpenThought, executor: PayloadExecutor) -> None:
        for call in self._self_calls(thought):
            convo = call.attributes.get("convo_id", "").strip()
            if convo and convo != self._turn.thread:
                await executor.report_unknown_thread(convo)
            else:
                await self._go_on(call.text.strip(), executor)

    async def _go_on(self, text: str, executor: PayloadExecutor) -> None:
        if self._left > 0:
            self._left -= 1
            executor.called = True
            await send_to_self(self._turn, "self", SelfCall(text=text))
            if 0 < self._left < WARNED_SELF_CALLS:
                await executor.add_remark("few left", f": {self._left}", calls=False)
        elif self._capacity == "none":
            await executor.add_remark("not allowed")
        else:
            await executor.add_remark("capped")

    def _open_steps(self) -> Sequence[str]:
        if "steps-open" in self._codes:
            return ()
        return open_plan_steps(self._turn)

    async def _record_plan(self, parsed: ParsedAnswer, executor: PayloadExecutor) -> PlanChanged | None:
        plan = last_plan(parsed)
        if plan is None:
            return None
        if len(plan.steps) > MOST_STEPS:
            await executor.add_remark("long plan")
            return None
        before = plans_so_far(self._turn)
        if before and not plan.title:  # without a title, its condition would become the title
            plan = replace(plan, title=before[-1].title)
        await self._turn.record(plan)
        await show_plan(self._turn, plan)
        return plan

    async def _report_faults(self, parsed: ParsedAnswer, executor: PayloadExecutor) -> bool:
        for fault in parsed.faults:
            if fault.repaired:
                await executor.add_note(
                    make_element("huh", fault.what, position=fault.position, repaired="true")
                )
        unread = _unread(parsed)
        if not unread:
            return False
        counts = [event.count for event in self._internal_messages if event.code == "huh"]
        count = 1 + max(counts, default=0)
        if count >= MOST_UNREADABLE and not self._alone:
            await executor.add_remark("three times")
            return True
        said = "\n".join(make_element("huh", fault.what, position=fault.position) for fault in unread)
        await executor.call_soul_again(said, code="huh", count=count)
        return True

    async def _report_misspelt(self, parsed: ParsedAnswer) -> Sequence[Entry[SystemMessage]]:
        told = []
        for wrong in parsed.misspelt:
            near, meaning = [*self._known_tags()], "no such tag, only"
            if wrong.nearest:
                near, meaning = [wrong.nearest], "no such tag, but"
            named = ", ".join(f"<{name}>" for name in near)
            said = f"<{wrong.tag}>: {self._words.get(meaning, meaning)} {named}."
            huh = make_element("huh", said, position=wrong.position, unknown_tag=wrong.tag)
            told.append(await self._turn.record(SystemMessage(text=huh)))
        return told

    def _known_tags(self) -> Iterator[str]:
        yield from (self._slug, self._final_tag, *ROOT_TAGS)
        yield from (one.name for one in self._listed)


def _unread(parsed: ParsedAnswer) -> Sequence[PayloadFault]:
    return [fault for fault in parsed.faults if not fault.repaired]


def _described(definitions: Sequence[ActionDefinition]) -> str:
    lines = []
    for one in definitions:
        if one.by_others:
            lines.append(_described_tool(one))
            continue
        inside = [
            f"`<{name}>` ({what.get('description', name)})"
            for name, what in one.schema.get("properties", {}).items()
        ]
        within = f" Inside it: {', '.join(inside)}." if inside else ""
        lines.append(f"- `<{one.name}>`: {one.description}{within}")
    return "\n".join(lines)


def _described_tool(tool: ActionDefinition) -> str:
    schema = escape_tags(json.dumps(tool.schema, ensure_ascii=False))
    described = escape_tags(tool.description)
    return (
        f"- `<{tool.name}>`: <described>{described}</described> JSON schema: <described>{schema}</described>"
    )


CAPACITY = Placeholders({"self", "final", "name", "left"})


PROCESS = MentalProcess(
    name=DELIBERATION_PROCESS,
    run=deliberate,
    when="they ask you to think something through, or it has several parts that deserve to be worked out one"
    " by one before you answer; then say nothing in <say> but a greeting that is due.",
    leads_to=(NEXT_PROCESS,),
    texts={
        "prompts/open/deliberation": Placeholders(
            {"self", "final", "name", "actions", "rules", "capacity"}, "final"
        ),
        "prompts/open/alone": Placeholders({"self", "final", "name"}, "final"),
        "prompts/open/words": Placeholders(None),
        SELF_CALL_TEXT: Placeholders({"name"}),
        BRANCH_TEXT: Placeholders({"parent", "self", "final", "name"}, "parent"),
        THREAD_TEXT: Placeholders({"thread", "name"}, "thread"),
        TAGS_TEXT: Placeholders(None),
        OPEN_TOOLS_TEXT: Placeholders({"tools", "name"}, "tools"),
        "prompts/open/high": CAPACITY,
        "prompts/open/medium": CAPACITY,
        "prompts/open/low": CAPACITY,
        "prompts/open/none": CAPACITY,
        f"{PLAYBOOK_FOLDER}{DELIBERATION_PROCESS}": Placeholders(None),
    },
)
