"""Toy programs that use every primitive of the engine, and their checks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry, StepEvent
from daemon.engine.exceptions import Unavailable
from daemon.engine.kinds import (
    AnswerAwaited,
    EntryMatch,
    InputsReceived,
    Intent,
    OutageBegan,
    Outcome,
    StepResult,
    WaitEnded,
)
from daemon.engine.program import Program
from tests.engine.scenario import Check, EffectFile, EngineInput, EngineScenario, MakeProgram, Pressed, Said

Body = Callable[[Context, EffectFile], Awaitable[Any]]


class Toy(Program):
    def __init__(self, body: Body, world: EffectFile) -> None:
        self._body = body
        self._world = world

    async def run(self, ctx: Context) -> object:
        return await self._body(ctx, self._world)

    async def failed(self, ctx: Context) -> None:
        await do(ctx, self._world, "failed")


def toy(body: Body) -> MakeProgram:
    return lambda world: Toy(body, world)


async def do(ctx: Context, world: EffectFile, name: str, *, repeatable: bool = False, **more: Any) -> Any:
    async def act() -> Outcome:
        return Outcome(result=await world.do(name, **more))

    unknown = Outcome(result="unknown", unknown=True)
    done = await ctx.effect(Intent(name=name), act, unknown, repeatable=repeatable)
    return done.event.result


async def call(ctx: Context, world: EffectFile, name: str, asks: object = None) -> str:
    return str(await ctx.run(name, lambda: world.do(f"call:{name}", asks=asks), asks))


def texts(ctx: Context) -> list[str]:
    return [entry.event.text for entry in ctx.execution.inputs if isinstance(entry.event, Said)]


def assert_once(world: EffectFile, *names: str) -> None:
    """Assert that each of these was done exactly once."""
    done = Counter(line["name"] for line in world.done())
    wrong = {name: done[name] for name in names if done[name] != 1}
    assert not wrong, f"done {wrong}, all in all {dict(done)}"


async def order(ctx: Context, world: EffectFile) -> None:
    await call(ctx, world, "price", texts(ctx))
    await do(ctx, world, "charge")
    await call(ctx, world, "thank")


async def branches(ctx: Context, world: EffectFile) -> None:
    """Run two branches, one with an effect; then read their results."""

    async def a(ctx: Context) -> str:
        await asyncio.sleep(0)
        return await call(ctx, world, "think")

    async def b(ctx: Context) -> str:
        await do(ctx, world, "notify")
        return await call(ctx, world, "think")

    ctx.accept(await ctx.receive())
    await ctx.gather((ctx.child_context("a"), a), (ctx.child_context("b"), b))
    ctx.accept(await ctx.receive())
    await call(ctx, world, "sum", texts(ctx))


async def asks_owner(ctx: Context, world: EffectFile) -> None:
    """Ask; the answer comes in a later phase."""
    await call(ctx, world, "choose")
    answer = await ctx.ask("may I", AnswerAwaited())
    if answer and isinstance(answer.event, Pressed) and answer.event.text == "yes":
        await do(ctx, world, "delete")


async def asks_in_vain(ctx: Context, world: EffectFile) -> None:
    answer = await ctx.ask("may I", AnswerAwaited(), within=60)
    await do(ctx, world, "deleted" if answer else "left alone")


async def sleeps(ctx: Context, world: EffectFile) -> None:
    await do(ctx, world, "before")
    await ctx.sleep(600)
    await do(ctx, world, "after")


async def family(ctx: Context, world: EffectFile) -> None:
    """Start children three deep, of which one never ends."""
    stop = any(entry.kind == "cancel" for entry in ctx.execution.inputs)
    if stop:
        await ctx.withdraw()
        await ctx.end_thread(status="cancelled")
        return
    depth = ctx.execution.thread.count(".")
    if ctx.execution.thread.endswith("slow"):
        await ctx.sleep(3600 * 24)
    if depth == 2:
        await ctx.end_thread(await call(ctx, world, "leaf"))
        return
    children = [
        await ctx.spawn(label, Said(text=label)) for label in (["a", "b", "slow"] if not depth else ["c"])
    ]
    joined = await ctx.join(children, within=60)
    if not depth:
        await do(ctx, world, "sum", found=[one.status for one in joined])
    await ctx.end_thread([one.result for one in joined])


async def pieces(ctx: Context, world: EffectFile) -> None:
    def one(text: str) -> tuple[Context, Callable[[Context], Awaitable[str]]]:
        return ctx.context_about(text), lambda inner: call(inner, world, f"ask {text}", text)

    await ctx.gather(*(one(str(n)) for n in range(12)))
    await call(ctx, world, "sum")


async def letters(ctx: Context, world: EffectFile) -> None:
    if ctx.execution.thread == "ann":
        await ctx.send("to bob", "bob", Said(text=f"hi {texts(ctx)}"))
    elif len(texts(ctx)) and texts(ctx)[0].startswith("hi"):
        await do(ctx, world, "bob heard")


async def reminded(ctx: Context, world: EffectFile) -> None:
    """Set a timer that becomes its own turn."""
    notes = [entry.event.note for entry in ctx.execution.inputs if isinstance(entry.event, WaitEnded)]
    if notes:
        await do(ctx, world, f"reminded of {notes[0]}")
        return
    await ctx.watch(within=60, note="tea")
    await do(ctx, world, "promised")


async def expects(ctx: Context, world: EffectFile) -> None:
    """Wait for a message in another thread or a time."""
    if ctx.execution.thread == "ann":
        return
    tea = EntryMatch(kinds=(Said.kind,), thread="ann", fields={"text": "tea"})
    woke = await ctx.wait(matching=tea, within=86_400, want="any")
    await do(ctx, world, f"{len(woke.event.matched)} came")


async def hears_late(ctx: Context, world: EffectFile) -> None:
    """Receive a message that comes while two branches think; a replay sees it at the same point."""
    ctx.accept(await ctx.receive())
    heard = texts(ctx)

    async def think() -> str:
        await ctx.execution.journal.append("t", Said(text="late"), key="comes:late", author="world")
        return await world.do("think")

    async def branch(inner: Context) -> str:
        return str(await inner.run("think", think, heard))

    await ctx.gather((ctx.child_context("a"), branch), (ctx.child_context("b"), branch))
    ctx.accept(await ctx.receive())
    await do(ctx, world, f"heard-{len(texts(ctx))}")


class OutageToy(Toy):
    def __init__(self, world: EffectFile) -> None:
        super().__init__(self._answer, world)

    async def _answer(self, ctx: Context, world: EffectFile) -> None:
        async def reach() -> StepResult:
            tried = [line["name"] for line in world.done()].count("try")
            if tried == 1:
                await ctx.execution.journal.append("t", Said(text="more"), key="comes:more", author="world")
            if tried < 3:
                await world.do("try")
                raise Unavailable("unreachable")
            await world.do(f"answer {len(texts(ctx))}")
            return StepResult(value=texts(ctx))

        done: Entry[Any] | None = None
        while done is None or isinstance(done.event, InputsReceived):
            done = await ctx.step("answer", texts(ctx), reach, StepResult, interruptible=True)
            if isinstance(done.event, InputsReceived):
                ctx.accept(ctx.execution.mark_received(done.event.inputs))
        await do(ctx, world, "say")

    async def went_down(self, ctx: Context, outage: Entry[OutageBegan]) -> None:
        await do(ctx, self._world, "tell")


async def looks_up(ctx: Context, world: EffectFile) -> None:
    """Look up changing things without awaiting their records."""

    async def look() -> Outcome:
        await world.do("look")
        return Outcome(result=len(world.done()))

    for _ in range(2):
        found = [(await ctx.effect_soon(Intent(name="look"), look)).result for _ in range(2)]
        _, told = await ctx.record_soon(StepResult(value=found), "told")
        await call(ctx, world, "think", told.value)
    found = [(await ctx.effect_soon(Intent(name="look"), look)).result]
    await ctx.record_soon(StepResult(value=found), "told")
    await do(ctx, world, "charge")


def check_order(world: EffectFile, entries: Sequence[Any]) -> None:
    steps = [entry.key.partition("/")[2] for entry in entries if isinstance(entry.event, StepEvent)]
    assert sorted(steps[-2:]) == ["charge#1", "charge#1!done"], f"the end was recorded before {steps[-1]}"
    check_effects("charge")(world, entries)


def check_outage(world: EffectFile, entries: Sequence[Any]) -> None:
    waiting, most = set[int](), 0
    for entry in entries:
        waiting -= {*entry.closes}
        if isinstance(entry.event, OutageBegan):
            waiting.add(entry.seq)
        most = max(most, len(waiting))
    assert most == 1, f"{most} waits at a time"
    check_effects("say", "tell")(world, entries)


def hears(text: str = "go", thread: str = "t", phase: int = 0) -> EngineInput:
    return EngineInput(thread=thread, event=Said(text=text), phase=phase)


def press(text: str, answers: str, thread: str = "t", phase: int = 1) -> EngineInput:
    return EngineInput(thread=thread, event=Pressed(text=text), phase=phase, answers=answers)


def check_done_once(*names: str) -> Check:
    return lambda world, _entries: assert_once(world, *names)


def check_effects(*names: str) -> Check:
    """Check that each was done once, or not at all if a kill left it unknown."""

    def check(world: EffectFile, entries: Sequence[Any]) -> None:
        done = Counter(line["name"] for line in world.done())
        unknown = sum(getattr(entry.event, "unknown", False) for entry in entries)
        twice = {name: done[name] for name in names if done[name] > 1}
        missing = [name for name in names if not done[name]]
        kept = not twice and len(missing) <= unknown
        assert kept, f"twice {twice}, missing {missing}, {unknown} unknown"

    return check


TOY_SCENARIOS: dict[str, EngineScenario] = {
    "order": EngineScenario(programs=[toy(order)], inputs=[hears()], check=check_effects("charge")),
    "branches": EngineScenario(
        programs=[toy(branches)], inputs=[hears(), hears("more")], check=check_effects("notify")
    ),
    "question": EngineScenario(
        programs=[toy(asks_owner)],
        inputs=[hears(), press("yes", "may I")],
        check=check_effects("delete"),
        last_phase=1,
    ),
    "deadline": EngineScenario(
        programs=[toy(asks_in_vain)],
        inputs=[hears()],
        check=check_effects("left alone"),
        last_phase=1,
    ),
    "sleep": EngineScenario(
        programs=[toy(sleeps)],
        inputs=[hears()],
        check=check_effects("before", "after"),
        last_phase=1,
    ),
    "set right": EngineScenario(
        programs=[toy(sleeps)],
        inputs=[hears()],
        check=check_effects("before", "after"),
        last_phase=2,
        ahead=[86_400],
    ),
    "expected": EngineScenario(
        programs=[toy(expects)],
        inputs=[hears(), hears("coffee", "ann"), hears("tea", "ann", phase=1)],
        check=check_effects("1 came"),
        last_phase=1,
    ),
    "family": EngineScenario(
        programs=[toy(family)], inputs=[hears()], check=check_effects("sum"), last_phase=1
    ),
    "pieces": EngineScenario(programs=[toy(pieces)], inputs=[hears()], check=check_done_once()),
    "letters": EngineScenario(
        programs=[toy(letters)], inputs=[hears(thread="ann")], check=check_effects("bob heard")
    ),
    "received late": EngineScenario(
        programs=[toy(hears_late)], inputs=[hears()], check=check_effects("heard-2")
    ),
    "looks up": EngineScenario(programs=[toy(looks_up)], inputs=[hears()], check=check_order),
    "outage": EngineScenario(programs=[OutageToy], inputs=[hears()], check=check_outage),
    "reminded": EngineScenario(
        programs=[toy(reminded)],
        inputs=[hears()],
        check=check_effects("promised", "reminded of tea"),
        last_phase=1,
    ),
}
