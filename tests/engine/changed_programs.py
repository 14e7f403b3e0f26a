"""Programs whose code changes while an execution waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.context import Context
from daemon.engine.kinds import AnswerAwaited, ExecutionRestarted
from tests.engine.scenario import Check, EffectFile, EngineScenario, MakeProgram, Pressed, Said
from tests.engine.toy_programs import Toy, call, do, hears, press


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking(AnswerAwaited):
    text: str = ""


KINDS = (Said, Pressed, Asking)


def plan(*steps: str) -> MakeProgram:
    """Parse a program: `call A`, `do A`, `in CONTEXT A`, `all A B …`, `ask A WORDS`, `return`."""

    async def body(ctx: Context, world: EffectFile) -> None:
        for step in steps:
            verb, *names = step.split()
            if verb == "return":
                return
            await STEPS[verb](ctx, world, names)

    return lambda world: Toy(body, world)


async def _call(ctx: Context, world: EffectFile, names: Sequence[str]) -> None:
    await call(ctx, world, names[0])


async def _do(ctx: Context, world: EffectFile, names: Sequence[str]) -> None:
    await do(ctx, world, names[0])


async def _in(ctx: Context, world: EffectFile, names: Sequence[str]) -> None:
    await ctx.gather((ctx.child_context(names[0]), lambda inner: do(inner, world, names[1])))


async def _all(ctx: Context, world: EffectFile, names: Sequence[str]) -> None:
    def one(name: str) -> tuple[Context, Callable[[Context], Awaitable[str]]]:
        return ctx.context_about(name), lambda inner: call(inner, world, f"ask-{name}")

    await ctx.gather(*[one(name) for name in names])


async def _ask(ctx: Context, world: EffectFile, names: Sequence[str]) -> None:
    answer = await ctx.ask(names[0], Asking(text=" ".join(names[1:])))
    assert answer is not None


STEPS = {"call": _call, "do": _do, "in": _in, "all": _all, "ask": _ask}


def check_restarts(restarts: int, **times: int) -> Check:
    """Check the restarts and the count of each effect, unless a kill left it unknown."""

    def check(world: EffectFile, entries: Sequence[Any]) -> None:
        done = Counter(line["name"] for line in world.done())
        begun = sum(isinstance(entry.event, ExecutionRestarted) for entry in entries)
        unknown = sum(getattr(entry.event, "unknown", False) for entry in entries)
        wrong = {
            name: done[name]
            for name, wanted in times.items()
            if done[name] > wanted or done[name] < wanted - unknown
        }
        kept = not wrong and begun == restarts
        assert kept, f"{begun} restarts, {wrong} of {dict(done)}, {unknown} unknown"

    return check


def changed(*programs: MakeProgram, check: Check, presses: int = 2, may_wait: bool = False) -> EngineScenario:
    """Make a scenario of the code of each phase; from the second on, the button is pressed."""
    comes = [hears(), *(press("yes", "/q", phase=1 + n) for n in range(presses))]
    return EngineScenario(
        programs=programs,
        inputs=comes,
        check=check,
        kinds=KINDS,
        last_phase=presses,
        may_wait=may_wait,
        by_phase=True,
        pausable=False,
    )


CHANGED_SCENARIOS: dict[str, EngineScenario] = {
    "nothing": changed(plan("call a", "ask q", "do E"), check=check_restarts(0, E=1), presses=1),
    "after the question": changed(
        plan("call a", "ask q", "do E"),
        plan("call a", "ask q", "do F"),
        check=check_restarts(0, E=0, F=1),
        presses=1,
    ),
    "two alike questions": changed(
        plan("call a", "ask q", "do E"),
        plan("call b", "ask q", "ask q", "do E"),
        check=check_restarts(1, E=0),
        presses=1,
        may_wait=True,
    ),
    "yes to X is not yes to Y": changed(
        plan("ask q X", "do delete-X"),
        plan("ask q Y", "do delete-Y"),
        check=check_restarts(1, **{"delete-X": 0, "delete-Y": 0}),
        presses=1,
        may_wait=True,
    ),
    "early return": changed(
        plan("call a", "do E", "ask q"), plan("call a", "return"), check=check_restarts(1, E=1), presses=1
    ),
    "early question": changed(
        plan("call a", "do E", "ask q"), plan("call a", "ask q"), check=check_restarts(1, E=1), presses=1
    ),
    "a step is inserted": changed(
        plan("call a", "do E", "ask q"),
        plan("call a", "do F", "do E", "ask q"),
        check=check_restarts(1, E=1, F=1),
        presses=1,
    ),
    "a context is renamed": changed(
        plan("in notify E", "ask q"), plan("in inform E", "ask q"), check=check_restarts(1, E=1), presses=1
    ),
    "another order, and one more": changed(
        plan("all p q r s", "ask q"), plan("all s p r q t", "ask q"), check=check_restarts(0), presses=1
    ),
    "one fewer": changed(
        plan("all p q r s", "ask q"), plan("all s p r", "ask q"), check=check_restarts(1), presses=1
    ),
    "what was done is read": changed(
        plan("do E", "do E", "ask q"),
        plan("call n", "do E", "do E", "do E", "ask q"),
        check=check_restarts(1, E=3),
        presses=1,
    ),
    "another question": changed(
        plan("do A", "ask q", "do E"),
        plan("do B", "ask q", "do E"),
        check=check_restarts(1, A=1, B=1, E=1),
        presses=1,
    ),
    "at each press": changed(
        *[plan(f"call n{n}", "do A", f"call m{n}", f"ask q{n}") for n in range(6)],
        check=check_restarts(3, A=1, failed=1),
        presses=5,
    ),
}
