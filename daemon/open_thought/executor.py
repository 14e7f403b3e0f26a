"""Execution of payloads: actions in parallel, the rest in order.

Results are messages to the soul's own thread, which begin its next turn. Notes begin none.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from daemon.actions.action import ActionDefinition, BaseActionContext, Outcome, bind_action
from daemon.engine.clock import DAY
from daemon.engine.event import Entry, seqs_of
from daemon.engine.exceptions import EngineError
from daemon.engine.kinds import ThreadSpawned
from daemon.errors import describe_error
from daemon.ism import ActionRefused
from daemon.kinds import ContextCleared, InternalMessage, SystemMessage
from daemon.memory import Memory, WorkingMemory
from daemon.open_thought.payloads import Payload
from daemon.prompts import elements
from daemon.prompts.chooser import MOST_FOUND, validation_fault
from daemon.prompts.elements import make_element, truncate
from daemon.settings.parse import read_duration
from daemon.turn.branches import Branches, send_to_self
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import show_status
from daemon.turn.turn import Turn

log = logging.getLogger(__name__)


class OpenThoughtContext(BaseActionContext):
    """Context of an action in open thought, which nobody interrupts."""

    async def is_interrupted(self) -> bool:
        return False

    def add_memories(self, memories: Iterable[Memory], *, news: bool = True) -> None:
        self.memory = self.memory.with_memory(*memories)

    def show_status(self, meaning: str) -> None:
        base = self.turn.current_mood().status
        show_status(self.turn, f"{base} · {self.label(meaning)}")

    def report_finding(self, action: str, outcome: Outcome) -> None:
        """Do nothing, since the result is sent as a message."""


UNKNOWN_THREAD = "Unknown thread; emit <spawn-thread/> to create."


YEAR = 366 * DAY
"""Most seconds until a timer fires."""


KEPT, MOST_KEPT = 10, 1_000
"""Messages that are kept when the context is cleared: the default and the most."""


Job = Callable[[Turn], Awaitable[None]]
"""Function that carries out one action."""


class PayloadExecutor:
    """Executor of an answer's payloads. `words` are the owner's texts by meaning, `explanations` by tag."""

    def __init__(
        self,
        turn: Turn,
        memory: WorkingMemory,
        definitions: Sequence[ActionDefinition],
        words: Mapping[str, str],
        explanations: Mapping[str, str],
    ) -> None:
        self._turn = turn
        self._branches = Branches(turn)
        self._explanations = explanations
        self._definitions = {one.name: one for one in definitions}
        self._words = words
        self.memory = memory
        self.called = False
        """True if a message was sent that begins another turn of the thread."""
        self.waits = False
        """True if a message to this thread is still to come."""
        self.explained: list[str] = []
        self._shown: list[str] = []

    async def carry_out(self, asked: Sequence[Payload]) -> None:
        """Carry out plans, messages, branches and timers first, then the actions; an exclusive action runs
        alone.
        """
        parallel, exclusive = list[Job](), list[Job]()
        for payload in asked:
            definition = self._definitions.get(payload.tag)
            if definition is None:
                await self._carry_out_by_core(payload)
                continue
            job: Job = partial(self._perform, definition=definition, payload=payload)
            if definition.exclusive:
                exclusive.append(job)
            else:
                parallel.append(job)
        await self._turn.run_beside(parallel)
        for job in exclusive:
            await self._turn.run_beside([job])
        if parallel or exclusive:
            self.called = True

    async def add_note(self, text: str) -> None:
        told = await self._turn.record(SystemMessage(text=text))
        self.memory = self.memory.with_memory(entry_as_memory(told))

    async def call_soul_again(self, text: str, *, code: str, count: int = 0) -> None:
        """Send the thread a message that begins a turn."""
        self.called = True
        await send_to_self(self._turn, code, InternalMessage(text=text, code=code, count=count))

    async def add_remark(self, meaning: str, more: str = "", *, calls: bool = True) -> None:
        """Send the thread a remark, worded by the owner; without `calls` it begins no turn."""
        code = meaning.replace(" ", "-")
        text = make_element("system-note", f"{self._wording(meaning)}{more}", code=code)
        if calls:
            await self.call_soul_again(text, code=code)
        else:
            await self.add_note(text)

    async def report_unknown_thread(self, thread: str) -> None:
        await self._thread_error(unknown_id=thread, code="unknown_thread", message=UNKNOWN_THREAD)

    async def _thread_error(self, **what: str) -> None:
        await self.call_soul_again(make_element("system-thread-error", **what), code="thread-error")

    def _wording(self, meaning: str) -> str:
        return self._words.get(meaning, meaning)

    async def _carry_out_by_core(self, payload: Payload) -> None:
        match payload.tag:
            case elements.SPAWN_THREAD:
                await self._spawn(payload)
            case elements.FAN_OUT:
                await self._fan_out(payload)
            case elements.SEND:
                await self._send(payload)
            case elements.SET_TIMER:
                await self._set_timer(payload)
            case elements.CANCEL_TIMER:
                await self._cancel_timer(payload)
            case elements.CLEAR_CONTEXT:
                await self._clear_context(payload)
            case elements.EXPLAIN_TAG:
                await self._explain(payload)

    async def _explain(self, payload: Payload) -> None:
        tag = (_attribute(payload, "tag") or payload.text).strip(" <>/")
        self.explained.append(tag)
        if tag in self._explanations:
            text = f'<system-note code="explained">\n{self._explanations[tag]}\n</system-note>'
        else:
            known = f"{self._wording('no such tag, only')} {', '.join(self._explanations)}."
            text = make_element("system-note", known, code="no-such-tag")
        await self.add_note(text)

    async def _spawn(self, payload: Payload) -> None:
        first = payload.inner
        if payload.children:
            first = payload.children[0].inner
        if not first.strip():
            await self.add_remark("nothing to send")
            return
        if await self._is_refused(1):
            return
        label = payload.attributes.get("suggested_sub_id", "")
        branch = await self._spawn_branch(label, first)
        await self._branches.await_answers([branch], collect=False)

    async def _fan_out(self, payload: Payload) -> None:
        items = [child.inner for child in payload.children if child.inner.strip()]
        if not items:
            await self.add_remark("no items")
            return
        if await self._is_refused(len(items)):
            return
        branches = []
        for number, item in enumerate(items, 1):
            branches.append(await self._spawn_branch(f"item-{number}", item))
        collect = _attribute(payload, "collect").casefold() != "false"
        await self._branches.await_answers(branches, collect=collect)
        together = str(collect).lower()
        await self.add_note(make_element("fan-out-started", total=len(branches), collect=together))

    async def _spawn_branch(self, label: str, first: str) -> Entry[ThreadSpawned]:
        message = InternalMessage(sender=self._turn.thread, text=first.strip())
        branch = await self._branches.spawn(label, message)
        self.memory = self.memory.with_memory(entry_as_memory(branch))
        self.waits = True
        return branch

    async def _is_refused(self, count: int) -> bool:
        """True if `count` more branches are refused; then the thread is told the reason."""
        why = self._branches.refusal(count)
        if not why:
            return False
        await self._thread_error(code=why, message=self._wording(why))
        return True

    async def _send(self, payload: Payload) -> None:
        to, text = _attribute(payload, "to"), payload.inner.strip()
        if not self._branches.has_thread(to):
            await self.report_unknown_thread(to)
            return
        if not text:
            await self.add_remark("nothing to send")
            return
        message = InternalMessage(sender=self._turn.thread, text=text)
        if not await self._branches.send("send", to, message):
            await self._thread_error(id=to, code="thread_ended")
            return
        await self.add_note(make_element("sent", to=to))
        if to == self._turn.thread:
            self.called = True

    async def _set_timer(self, payload: Payload) -> None:
        try:
            seconds = read_duration(_attribute(payload, "in"))
        except ValueError:
            seconds = 0.0
        if not 1.0 <= seconds <= YEAR:
            await self.add_remark("time")
            return
        label = _attribute(payload, "label")
        timer = await self._branches.set_timer(label, seconds)
        self.waits = True
        await self.add_note(make_element("timer-set", id=timer, label=label, seconds=f"{seconds:.0f}"))

    async def _cancel_timer(self, payload: Payload) -> None:
        timer = _attribute(payload, "id")
        if await self._branches.cancel_timer(timer):
            await self.add_note(make_element("timer-cancelled", id=timer))
        else:
            await self.add_remark("no timer")

    async def _clear_context(self, payload: Payload) -> None:
        """Hide older messages from the next turn on; the journal keeps them."""
        keep, text = KEPT, _attribute(payload, "keep")
        if text.isascii() and text.isdigit():
            keep = min(int(text[:10]), MOST_KEPT)
        seen = self.memory.seqs
        came = set(seqs_of(self._turn.inputs))
        before = [seq for seq in seen if seq < self._turn.began_seq and seq not in came]
        gone = before[: max(len(seen) - keep, 0)]
        kept = len(seen) - len(gone)
        if gone:
            cleared = ContextCleared(text="", last=gone[-1], kept=kept)
            entry = await self._turn.record(cleared)
            self.memory = self.memory.with_memory(entry_as_memory(entry))
        else:
            await self.add_note(make_element("context-cleared", kept_messages=kept))

    async def _perform(self, turn: Turn, *, definition: ActionDefinition, payload: Payload) -> None:
        context = OpenThoughtContext(turn, self.memory, self._shown)
        text = await self._result_of(context, definition, payload)
        result = InternalMessage(sender=definition.name, text=truncate(text, MOST_FOUND))
        await send_to_self(turn, "result", result)

    async def _result_of(
        self, context: OpenThoughtContext, definition: ActionDefinition, payload: Payload
    ) -> str:
        action = bind_action(context, definition)
        try:
            outcome = await action.handler("", [], args=payload_arguments(definition, payload))
        except ValidationError as error:
            return f"{self._wording('unknown arguments')}: {validation_fault(error)}"
        except (ActionRefused, ValueError) as error:
            return str(error) or describe_error(error, context.label)
        except EngineError:
            raise
        except Exception as error:  # a failed action must not end the turn
            if isinstance(error, ExceptionGroup) and error.subgroup(EngineError):
                raise
            log.warning("The action %s went wrong.", definition.name, exc_info=error)
            return f"{context.label('failed')}: {describe_error(error, context.label)}"
        return str(outcome or "")


def _attribute(payload: Payload, name: str) -> str:
    return payload.attributes.get(name, "").strip()


def payload_arguments(definition: ActionDefinition, payload: Payload) -> BaseModel | None:
    """Return the arguments in a payload: an element for each; a list takes the element's parts, without empty
    ones. Those of a tool by others are a JSON object.

    Raises ValidationError.
    """
    if definition.args is None:
        return None
    if definition.by_others and payload.text.startswith("{"):
        return definition.args.model_validate_json(payload.text)
    known = definition.schema.get("properties", {})
    texts: dict[str, list[str]] = {}
    for child in payload.children:
        texts.setdefault(child.tag, []).append(child.text)
    given: dict[str, Any] = {}
    for name, found in texts.items():
        if _may_be_list(known.get(name, {})):
            given[name] = [text for text in found if text]
        elif len(found) == 1:
            given[name] = found[0]
        else:
            given[name] = found
    return definition.args.model_validate(given)


def _may_be_list(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("anyOf", [schema])
    return any(kind.get("type") == "array" for kind in kinds)
