"""The example of docs/ENGINE.md, suspended and resumed."""

from __future__ import annotations

import inspect
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.context import Context
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.verify import verify
from daemon.engine.kinds import TurnEnded
from daemon.engine.worker import Worker
from tests.clock import FakeClock

PAGE = (Path(__file__).parents[2] / "docs" / "ENGINE.md").read_text(encoding="utf-8")
STARTS = "asyncio.run(main())\n"


def example(clock: FakeClock, *, replays_always: bool) -> dict[str, Any]:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code.endswith(STARTS)
    names: dict[str, Any] = {"__name__": "orders"}
    exec(compile(code.removesuffix(STARTS), "orders.py", "exec", dont_inherit=True), names)
    names["SystemClock"] = lambda: clock
    names["Worker"] = partial(Worker, replays_always=replays_always)
    return names


@pytest.mark.parametrize("replays_always", [False, True])
async def test_the_example_of_the_page_does_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    replays_always: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    clock = FakeClock()
    names = example(clock, replays_always=replays_always)
    for _ in range(3):
        await names["main"]()
    assert capsys.readouterr().out == "charged 5\n"
    await clock.advance(2)
    for _ in range(2):
        await names["main"]()
    assert capsys.readouterr().out == "shipped tea\n"
    kinds = [names["Order"], names["Yes"], names["MayCharge"]]
    async with Journal(tmp_path / "orders.db", clock, kinds) as journal:
        assert [one.event.outcome for one in journal.entries_of_kind(TurnEnded)] == [
            "suspended",
            "suspended",
            "completed",
        ]
        assert not journal.pending_entries()
        assert verify(journal).violations == []


def signature(verb: str) -> str:
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in inspect.signature(getattr(Context, verb)).parameters.values()
    ]
    bare = inspect.Signature(parameters[1:])
    return re.sub(r"<function .*? at \w+>", "…", str(bare)).replace("'", '"')


def test_the_verbs_of_the_page_are_called_as_it_says() -> None:
    verbs = re.findall(r"`ctx\.(\w+)(\([^`]*\))`", PAGE[PAGE.index("| verb |") : PAGE.index("**How a child")])
    assert len(verbs) == 22
    assert dict(verbs) == {verb: signature(verb) for verb, _ in verbs}


@pytest.mark.parametrize(
    "name",
    [
        "ENGINE.md",
        "toy_programs.py",
        "agent_programs.py",
        "changed_programs.py",
        "function_programs.py",
        "test_teaching.py",
    ],
)
def test_the_example_and_the_toys_need_nothing_else_of_the_daemon(name: str) -> None:
    text = PAGE if name == "ENGINE.md" else (Path(__file__).parent / name).read_text(encoding="utf-8")
    rooms = set(re.findall(r"^(?:from|import) daemon\.(\w+)", text, re.MULTILINE))
    assert rooms == {"engine"}
