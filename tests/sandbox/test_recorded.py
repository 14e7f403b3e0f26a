"""Cells of real runs, with their recorded results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from daemon.sandbox.environment import CellResult, Function, Sandbox, SandboxLimits
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.session import open_session
from tests.sandbox.plain import Plain, open_plain
from tests.source import ROOT

CONTEXT = """
class Context:
    def __init__(self, text, agent):
        self.text = text
        self.agent = agent
    def read(self, start=0, end=None):
        return self.text[start:end]
    def lines(self, start=0, end=None):
        return self.text.splitlines()[start:end]
    def line_count(self):
        return len(self.text.splitlines())
    def info(self):
        return {"key": "context", "agent_id": self.agent, "chars": len(self.text),
                "approx_tokens": len(self.text) // 4, "lines": self.line_count()}
CONTEXT = Context(CONTEXT, AGENT)
"""
"""`Context` of the rlmkit dialect."""


def recorded() -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {}
    for line in (ROOT / "tests/data/rlm_cells.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells = runs.setdefault(row["run"], [])
        cells.append({**(cells[-1] if cells else {}), **row})
    return runs


RUNS = recorded()


class Dialect:
    """Functions that a run's cells may call, and the calls."""

    def __init__(self) -> None:
        self.final: Any = None
        self.subcalls: list[dict[str, Any]] = []

    async def ask(self, prompt: str) -> str:
        """Return a recorded reply, each once."""
        for call in self.subcalls:
            ends = call["prompt"] is None and len(prompt) == call["prompt_chars"]
            if call["prompt"] == prompt or (ends and prompt.startswith(call["prompt_head"])):
                self.subcalls.remove(call)
                return str(call["response"])
        raise AssertionError(f"not recorded: {prompt[:80]}")

    async def give(self, value: Any = None, **named: Any) -> None:
        self.final = named or value

    def functions(self) -> dict[str, Function]:
        given = dict.fromkeys(("FINAL", "FINAL_VAR", "SUBMIT", "done"), self.give)
        return {"llm_query": self.ask, **given}


async def prepare(sandbox: Sandbox, row: dict[str, Any]) -> None:
    inputs = dict(row["more"])
    if row["name"]:
        inputs[row["name"]] = row["context"]
    if row["name"] == "CONTEXT":
        inputs["AGENT"] = row["source"].split("/")[-2]
    await sandbox.bind(**inputs)
    if row["name"] == "CONTEXT":
        assert (await sandbox.execute_code(CONTEXT)).error == ""


def check(row: dict[str, Any], execution: CellResult, dialect: Dialect) -> None:
    assert bool(execution.error) == bool(row["error"]), execution.error
    assert dialect.subcalls == []
    if row["stdout"] is not None:
        got, want = execution.stdout.rstrip(), row["stdout"].rstrip()
        if row["truncated"] == "tail":
            got = got[-len(want) :]
        elif row["truncated"] == "head":
            got = got[: len(want)]
        assert got == want
    if row["final"] is not None:
        assert dialect.final == row["final"]


def plainly(cell: str) -> str:
    """Remove the awaits, for synchronous host functions."""
    return cell.replace("await llm_query(", "llm_query(")


async def values(sandbox: Sandbox, names: Mapping[str, str]) -> dict[str, str]:
    plain = ("int", "float", "str", "list", "dict", "tuple", "set", "bool", "NoneType")
    return {
        name: repr((await sandbox.execute_code(name)).value) for name, kind in names.items() if kind in plain
    }


@pytest.mark.parametrize("run", RUNS)
async def test_a_recorded_run_gives_what_it_gave(pool: MontyPool, run: str) -> None:
    ours, theirs = Dialect(), Dialect()
    session = await open_session("auto", ours.functions(), monty=pool.open_monty, cpython=open_plain)
    reference = Plain(theirs.functions())
    for row in RUNS[run]:
        ours.subcalls, theirs.subcalls = list(row["subcalls"]), list(row["subcalls"])
        await prepare(session, row)
        await prepare(reference, row)
        execution = await session.execute_code(row["cell"])
        expected = await reference.execute_code(plainly(row["cell"]))
        if row["exact"]:
            check(row, execution, ours)
        if row["exact"] and not row["stdout"]:
            assert await values(session, execution.variables) == await values(reference, expected.variables)


async def test_monty_alone_runs_all_of_them(pool: MontyPool) -> None:
    moved: list[str] = []

    async def moving(functions: Mapping[str, Function], bounds: SandboxLimits) -> Sandbox:
        moved.append("moved")
        return await open_plain(functions, bounds)

    for rows in RUNS.values():
        dialect = Dialect()
        session = await open_session("auto", dialect.functions(), monty=pool.open_monty, cpython=moving)
        for row in rows:
            dialect.subcalls = list(row["subcalls"])
            await prepare(session, row)
            await session.execute_code(row["cell"])
    exact = [row for rows in RUNS.values() for row in rows if row["exact"]]
    silent = [row for row in exact if not row["stdout"]]
    assert (len(exact), len(silent), moved) == (45, 15, [])
