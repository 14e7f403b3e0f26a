"""The model calls of a turn: what they may cost, how they are recorded, and what happens when nobody answers.

A call that cannot be made is Unavailable to the engine, which waits and tries again; that it failed is in the
journal all the same, for whoever watches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from daemon.claude.account import EVERYWHERE
from daemon.claude.models import is_listed
from daemon.claude.request_queue import QueuedRequest, RequestUrgency
from daemon.engine.context import Context
from daemon.engine.event import Entry, canonical_json, digest_of_json, of_kind
from daemon.engine.exceptions import Unavailable
from daemon.engine.keys import root_of
from daemon.engine.unawaited import retry_until_written
from daemon.kinds import GAVE_WAY, OUT_OF_TIME, TOO_DEAR, ModelCall, PersonMessage
from daemon.memory import WorkingMemory
from daemon.mind.answer import PLAIN_CALL
from daemon.mind.answer_limits import max_answer_tokens
from daemon.mind.plain_prompt import memory_as_shown
from daemon.mind.private_words import without_private_sections
from daemon.ports import Hear, Role
from daemon.reply import ModelReply
from daemon.soul.alarm import alert_owners
from daemon.soul.first_word_waits import FirstWordWait
from daemon.soul.fitting import fit_prompt, shrink_refused_prompt
from daemon.soul.ledger import ReadingAllowance
from daemon.soul.reach import USABLE_REPLIES
from daemon.soul.stretches import Parts, chunk_entries
from daemon.soul.urgency import urgency_of
from daemon.soul.world import TurnDependencies


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call that is to be made: under which name, with what in mind, and by which model.

    `hear` gets the text of the answer as it comes; `schema` is what the answer is held to. `wording` are the
    names of the owner's texts that were read so far, `people` the ids of those who are answered, `suffix`
    that of the tags in it. The first of the `stop_sequences` ends the answer. With `partial` an answer that
    broke off is an answer. Without `private`, the private sections of earlier answers are left out. With a
    `ledger` it is part of a reading, and its bounds hold, but for the `last` call.
    """

    name: str
    memory: WorkingMemory
    role: Role | str
    hear: Hear | None = None
    schema: Mapping[str, Any] | None = None
    wording: Sequence[str] = ()
    people: Sequence[str] = ()
    stop_sequences: Sequence[str] = ()
    suffix: str = ""
    partial: bool = False
    private: bool = True
    ledger: ReadingAllowance | None = None
    last: bool = False


async def call_once(world: TurnDependencies, ctx: Context, wanted: CallRequest) -> Entry[ModelCall]:
    """One model call, tried once and recorded whatever came of it; a recorded one is never paid again."""

    async def made(calling: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            wanted.name, calling.saw, calling.send, ModelCall, subject=calling.model, patient=False
        )

    done = await _fitted(world, ctx, wanted, made)
    if done.seq > ctx.execution.epoch:
        if done.event.outcome == "failed":
            await alert_owners(world, ctx.execution, done)
        elif done.event.outcome in USABLE_REPLIES:
            ctx.execution.around.succeeded(done.event.model)
    return done


async def call_interruptibly(
    world: TurnDependencies, ctx: Context, wanted: CallRequest
) -> Entry[ModelCall] | Sequence[Entry[PersonMessage]]:
    """One that waits until the model can be reached, unless somebody speaks meanwhile: then what they said,
    which is answered, too, by whoever asks again with it in mind."""

    async def made(calling: CallAttempt) -> Entry[Any]:
        return await ctx.step(
            wanted.name,
            calling.saw,
            calling.send_or_raise,
            ModelCall,
            subject=calling.model,
            interruptible=True,
        )

    came = await _fitted(world, ctx, wanted, made)
    if isinstance(came.event, ModelCall):
        return came
    said: list[Entry[Any]] = of_kind(PersonMessage, world.journal.entries_at(came.event.inputs))
    ctx.accept(said)
    return said


async def call_until_answered(world: TurnDependencies, ctx: Context, wanted: CallRequest) -> Entry[ModelCall]:
    """One that waits until the model can be reached, whatever is said meanwhile: for what runs in parallel.

    Raises Unavailable when it was tried for long enough.
    """

    async def made(calling: CallAttempt) -> Entry[ModelCall]:
        return await ctx.step(
            wanted.name, calling.saw, calling.send_or_raise, ModelCall, subject=calling.model
        )

    return await _fitted(world, ctx, wanted, made)


async def _fitted(
    world: TurnDependencies,
    ctx: Context,
    wanted: CallRequest,
    made: Callable[[CallAttempt], Awaitable[Entry[Any]]],
) -> Entry[Any]:
    """The call with a prompt that its model takes; asked once more, with less, where it was refused for its
    size."""
    async with AsyncExitStack() as purse:
        calling = CallAttempt(world, ctx, wanted, purse)
        memory = await fit_prompt(ctx, wanted.memory, calling.model, calling.excess_tokens())
        if memory is not wanted.memory:
            calling = CallAttempt(world, ctx, replace(wanted, memory=memory), purse)
        done = await made(calling)
    if not (isinstance(done.event, ModelCall) and done.event.is_too_long):
        return done
    less = await shrink_refused_prompt(ctx, wanted.memory, done, calling.excess_tokens(refused=True))
    if less is None:
        return done
    async with AsyncExitStack() as purse:
        return await made(CallAttempt(world, ctx, replace(wanted, memory=less), purse))


class CallAttempt:
    """A call on its way: its request, and the event that comes of it.

    `saw` stands for all that the request says, but for the bounds of the answer. What it may cost is held in
    `purse` until it is on disk.
    """

    def __init__(
        self, world: TurnDependencies, ctx: Context, wanted: CallRequest, purse: AsyncExitStack
    ) -> None:
        self._world = world
        self._ctx = ctx
        self._wanted = wanted
        self._purse = purse
        memory = memory_as_shown(wanted.name, wanted.memory)
        if not wanted.private:
            memory = without_private_sections(memory)
        asked = world.llm.request(memory, wanted.role, wanted.schema)
        self.model = str(asked["model"])
        written = canonical_json(asked)  # once: a prompt may be long
        self.saw = digest_of_json(written)
        self._size = len(written)
        # The bounds follow from the name, and are no part of what the model sees.
        self.request = world.llm.bounded_request(
            asked, max_answer_tokens(wanted.name), wanted.stop_sequences, likeliest=wanted.name == PLAIN_CALL
        )

    def excess_tokens(self, *, refused: bool = False) -> int:
        """How many tokens too many its prompt has; `refused`: the server would not take it as it is."""
        return self._world.llm.excess_tokens(self.request, self._size, refused=refused)

    async def send_or_raise(self) -> ModelCall:
        """Send it; raises Unavailable where the model cannot be reached."""
        may_be_partial = self._wanted.partial and not self._ctx.execution.is_in_outage
        made = await self.send()
        if made.is_too_long:
            return made
        if made.outcome == "failed" and not (may_be_partial and made.text):
            tried = await self._ctx.append_note(made, "tried")
            await self._purse.aclose()
            await alert_owners(self._world, self._ctx.execution, tried)
            subject = self.model
            if made.failure in EVERYWHERE:
                subject = ""
            raise Unavailable(made.failure, subject)
        return made

    async def send(self) -> ModelCall:
        """Send it, if the purse allows; again, where it was broken off so that a person need not wait."""
        made = await self._asked()
        while made.gave_way:
            await self._ctx.append_note(made, "tried")
            await self._purse.aclose()
            made = await self._asked()
        return made

    async def _asked(self) -> ModelCall:
        execution = self._ctx.execution
        hear = self._wanted.hear
        if execution.is_in_outage:
            hear = None  # half answers would pile up while it lasts
        root = root_of(execution.thread)
        self._purse.enter_context(self._world.gauge.count_call_in_flight(root))
        self._purse.enter_context(self._world.reach.track_call(self.model, root))
        amount = self._world.llm.highest_cost(self.request, self._size)
        reached = None
        if self._wanted.ledger:
            reserved = self._wanted.ledger.reserve(amount, last=self._wanted.last)
            reached = await self._purse.enter_async_context(reserved)
        reply = None
        if not reached:
            reply = await self._in_turn(amount, hear)
        if reply is None:
            reply = ModelReply(outcome="over-budget", model=self.model, failure=reached or self._why(amount))
        await execution.wait_until_all_saved()  # the call did not wait, but names what it saw
        made = await self._event(reply)
        self._world.reach.note_call(made)
        return made

    async def _in_turn(self, amount: float, hear: Hear | None) -> ModelReply | None:
        """The reply, when its turn has come in the queue; None where the budget does not allow it by then."""
        world, execution = self._world, self._ctx.execution
        held = world.budget.reserve(amount, execution.stopping)
        if not world.budget.can_spend(amount):  # nobody stands in a queue to be refused
            await self._purse.enter_async_context(held)
            return None
        urgency = urgency_of(execution, reading=self._wanted.ledger is not None)
        async with AsyncExitStack() as waiting:
            wait = None
            if urgency is RequestUrgency.PERSON:
                first_word = world.waits.track_wait(
                    execution, world.clock.steady(), anew=is_listed(self.model)
                )
                wait = await waiting.enter_async_context(first_word)
            in_queue = world.queue.admitted(self.model, urgency, execution.thread, execution.stopping)
            place = await waiting.enter_async_context(in_queue)
            if not await self._purse.enter_async_context(held):
                return None
            with self._looked_at(hear, wait) as heard:
                return await self._sent(heard, place)

    async def _sent(self, hear: Hear | None, place: QueuedRequest) -> ModelReply:
        """The reply to the request; a call of a reading is broken off when the time of that is over."""
        execution, ledger = self._ctx.execution, self._wanted.ledger
        send = self._world.llm.call
        if ledger is None:
            reply = await send(self.request, hear, execution.check_lease, place.over)
        else:
            async with ledger.stop_in_time(place.over, last=self._wanted.last) as over:
                reply = await send(self.request, hear, execution.check_lease, over)
        if reply.outcome != "cancelled" or execution.stopping.is_set():
            return reply
        why = OUT_OF_TIME
        if place.gives_way.is_set():
            why = GAVE_WAY
        return replace(reply, failure=why)

    def _why(self, amount: float) -> str:
        """Why the day's budget lets no call through that may cost so much; empty where another day may."""
        if amount > self._world.budget.daily:
            return TOO_DEAR
        return ""

    @contextmanager
    def _looked_at(self, hear: Hear | None, wait: FirstWordWait | None) -> Iterator[Hear | None]:
        """While inside, onlookers are told what `hear` is told, and before it.

        Nothing of an answer is heard while people are being told that it takes long.
        """
        onlookers = self._world.onlookers
        if onlookers is None:
            yield hear
            return
        with onlookers.attempt(self._ctx.execution.thread, self._ctx.current_key, self._wanted.name) as look:

            async def heard(delta: str) -> bool | None:
                look(delta)
                if wait is not None and wait.telling is not None:
                    await wait.finish_telling()
                if hear is not None:
                    return await hear(delta)
                return None

            yield heard

    async def _parts(self) -> Parts:
        """What names the entries that the conversation comes from; what was paid for waits for a journal
        that cannot be written."""
        world, seqs = self._world, tuple(self._seqs())
        return await retry_until_written(world.clock, chunk_entries, world.journal, self._ctx.execution, seqs)

    def _seqs(self) -> Iterator[int]:
        """The entries that the conversation comes from, in order."""
        record = self._ctx.execution.record
        for memory in self._wanted.memory.conversation:
            found = record.find(memory.key)
            if found:
                yield found.seq
            elif memory.seq is not None:
                yield memory.seq

    async def _event(self, reply: ModelReply) -> ModelCall:
        memory = self._wanted.memory
        stretches, seqs = await self._parts()
        return ModelCall(
            name=self._wanted.name,
            role=self._wanted.role,
            saw=self.saw,
            texts=tuple(text.name for text in memory.system if text.seq),
            stretches=stretches,
            seqs=seqs,
            trailing=memory.trailing,
            beginning=memory.beginning,
            wording=tuple(self._wanted.wording),
            people=tuple(self._wanted.people),
            suffix=self._wanted.suffix,
            schema=self._wanted.schema,
            private=self._wanted.private,
            reading=self._wanted.ledger is not None,
            outcome=reply.outcome,
            model=reply.model,
            text=reply.text,
            stop_reason=reply.stop_reason,
            failure=reply.failure,
            usage=reply.usage,
            cost=reply.cost,
            worth=reply.worth,
            first_text=reply.first_text,
            seconds=reply.seconds,
            tries=reply.tries,
        )
