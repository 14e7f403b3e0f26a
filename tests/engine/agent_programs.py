"""Five toy programs: demands of agents on the engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemon.engine.context import Context
from daemon.engine.event import Entry
from daemon.engine.kinds import AnswerAwaited, CancelRequest, EntryMatch, StepResult, WaitEnded
from tests.engine.scenario import Check, EffectFile, EngineInput, EngineScenario, Pressed, Said
from tests.engine.toy_programs import call, check_effects, do, hears, press, texts, toy


async def talks_to_itself(ctx: Context, world: EffectFile) -> None:
    """Send a message to itself per step; the second asks."""
    steps = [text for text in texts(ctx) if text.startswith("step")]
    for text in texts(ctx):
        if text not in steps:
            await do(ctx, world, f"hear-{text}")
    if texts(ctx) == ["go"]:
        await ctx.send("first", "t", Said(text="step 1"))
    for step in steps:
        number = int(step.split()[1])
        if number == 2:
            await ctx.ask("shall I go on", AnswerAwaited())
        await do(ctx, world, f"step-{number}")
        if number < 3:
            await ctx.send("next", "t", Said(text=f"step {number + 1}"))


async def branches_out(ctx: Context, world: EffectFile) -> None:
    """Join two of three branches, and stop the third."""
    if any(isinstance(entry.event, CancelRequest) for entry in ctx.execution.inputs):
        await ctx.end_thread(status="cancelled")
        return
    if ctx.execution.parent_thread:
        if ctx.execution.thread.endswith("slow"):
            await ctx.sleep(86_400)
        await ctx.end_thread(await call(ctx, world, ctx.execution.thread))
        return
    children = [await ctx.spawn(label, Said(text=label)) for label in ("a", "b", "slow")]
    joined = await ctx.join(children, within=60)
    assert [one.status for one in joined] == ["completed", "completed", "missing"]
    await ctx.cancel([children[2]])
    await do(ctx, world, "sum")
    [last] = await ctx.join([children[2]])
    await do(ctx, world, f"slow-{last.status}")


async def reads_all(ctx: Context, world: EffectFile) -> None:
    """Make a hundred concurrent sub-calls."""

    def one(number: int) -> tuple[Context, Callable[[Context], Awaitable[int]]]:
        async def ask(inner: Context) -> int:
            async def answer() -> StepResult:
                assert ctx.execution.journal.get(f"{inner.path}/ask#1") is None
                await asyncio.sleep(0.0001 * (number * 37 % 11))
                return StepResult(value=number * number)

            return int((await inner.step("ask", number, answer, StepResult)).event.value)

        return ctx.context_about(number), ask

    squares = await ctx.gather(*[one(number) for number in range(100)])
    await do(ctx, world, f"sum-{sum(squares)}")


async def ticks(ctx: Context, world: EffectFile) -> None:
    """Set the timer of the next tick in each tick."""
    notes = [entry.event.note for entry in ctx.execution.inputs if isinstance(entry.event, WaitEnded)]
    number = notes[0] if notes else 1
    await do(ctx, world, f"tick-{number}")
    if number < 3:
        await ctx.watch(within=600, note=number + 1)


async def asks_by_its_parent(ctx: Context, world: EffectFile) -> None:
    """Ask a question through the root, since a child has no person."""
    if ctx.execution.parent_thread:
        if texts(ctx) == ["delete it"]:
            await ctx.send("wish", "t", Said(text=f"wish {ctx.execution.thread}"))
            granted = EntryMatch(kinds=("said",), fields={"text": "granted"})
            await ctx.wait(matching=granted)
            await do(ctx, world, "delete")
            await ctx.end_thread()
        return
    for text in texts(ctx):
        if text == "go":
            await ctx.join([await ctx.spawn("child", Said(text="delete it"))])
            await do(ctx, world, "tell")
        elif text.startswith("wish"):
            answer = await ctx.ask("may it", AnswerAwaited())
            if answer and isinstance(answer.event, Pressed) and answer.event.text == "yes":
                await ctx.send("grant", text.split()[1], Said(text="granted"))


def check_paid_once(name: str) -> Check:
    """Check a hundred recorded answers and one sum."""

    def check(world: EffectFile, entries: Sequence[Entry[Any]]) -> None:
        answers = Counter(entry.key for entry in entries if entry.key.endswith("/ask#1"))
        assert len(answers) == 100, f"{len(answers)} answers"
        check_effects(name)(world, entries)

    return check


AGENT_SCENARIOS: dict[str, EngineScenario] = {
    "self-calls": EngineScenario(
        programs=[toy(talks_to_itself)],
        inputs=[hears(), hears("faster", phase=1), press("yes", "shall I go on")],
        check=check_effects("hear-go", "hear-faster", "step-1", "step-2", "step-3"),
        last_phase=1,
    ),
    "three branches": EngineScenario(
        programs=[toy(branches_out)],
        inputs=[hears()],
        check=check_effects("sum", "slow-cancelled"),
        last_phase=1,
    ),
    "a hundred": EngineScenario(
        programs=[toy(reads_all)], inputs=[hears()], check=check_paid_once("sum-328350")
    ),
    "ticks": EngineScenario(
        programs=[toy(ticks)],
        inputs=[EngineInput(thread="inner", event=Said(text="begin"))],
        check=check_effects("tick-1", "tick-2", "tick-3"),
        last_phase=2,
    ),
    "approval": EngineScenario(
        programs=[toy(asks_by_its_parent)],
        inputs=[hears(), press("yes", "may it")],
        check=check_effects("delete", "tell"),
        last_phase=1,
    ),
}
