"""The owner's class in RLM_SANDBOX, and errors at the start."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from config import Settings
from daemon.app.check import check_texts, find_owner_code
from daemon.app.doctor import examine_sandbox
from daemon.app.wiring import make_sandboxes
from daemon.sandbox.environment import CellResult, Function, SandboxError, SandboxLimits
from daemon.settings.home import project_root
from daemon.settings.parse import ConfigError

HERE = "tests.sandbox.test_own_class"


class Counting:
    """Sandbox that counts its cells."""

    def __init__(self) -> None:
        self.cells = 0

    @classmethod
    async def open(cls, functions: Mapping[str, Function], bounds: SandboxLimits) -> Self:
        return cls()

    async def execute_code(self, code: str) -> CellResult:
        self.cells += 1
        return CellResult(value=self.cells)

    async def bind(self, **names: Any) -> None: ...

    async def close(self) -> None: ...


class Outer:
    class Inner(Counting): ...


class Broken(Counting):
    @classmethod
    async def open(cls, functions: Mapping[str, Function], bounds: SandboxLimits) -> Self:
        raise RuntimeError("no room")


class Failing(Counting):
    async def execute_code(self, code: str) -> CellResult:
        raise TypeError("no such keyword")


class Half:
    def open(self) -> None: ...

    async def bind(self, **names: Any) -> None: ...


class Unmade(Counting):
    async def open(self, functions: Mapping[str, Function], bounds: SandboxLimits) -> Self:  # type: ignore[override]
        return self


a_value = 7


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))


def named(name: str) -> Settings:
    return Settings.from_env({"RLM_SANDBOX": name})


@pytest.mark.parametrize("name", [f"{HERE}.Counting", f"{HERE}:Counting", f"{HERE}:Outer.Inner"])
async def test_a_class_is_found_by_its_dotted_name(name: str) -> None:
    async with make_sandboxes(named(name)) as sandboxes:
        opened = await sandboxes.open({})
        assert [(await opened.execute_code("x")).value for _ in range(2)] == [1, 2]
        await opened.close()


@pytest.mark.parametrize("name", ["docker", "a.b.", ".a.b", "a b.C", "a-b.C", "a.1b", "a:b:c", "auto,monty"])
def test_what_is_no_name_of_a_class_is_no_setting(name: str) -> None:
    with pytest.raises(ConfigError, match="RLM_SANDBOX is not auto or monty or cpython, nor the dotted name"):
        named(name)


@pytest.mark.parametrize("word", ["Monty", "CPYTHON", "auto"])
def test_the_words_are_taken_in_any_case(word: str) -> None:
    assert named(word).rlm_sandbox == word.lower()


WRONG = {
    "nowhere.at_all.Sandbox": "there is no module nowhere",
    "tests.sandbox.nothing.Sandbox": "there is no module tests.sandbox.nothing",
    f"{HERE}.Nothing": f"{HERE} is there, but has no Nothing in it",
    f"{HERE}:Outer.Nothing": "has no Nothing in it",
    f"{HERE}.a_value": "is no class but a int",
    f"{HERE}.Half": "is a class without async open, execute_code, close",
    f"{HERE}.Unmade": "is a class without async open as a class method",
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_cannot_be_used_is_said_with_what_was_expected(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as wrong:
        make_sandboxes(named(name))
    assert f"RLM_SANDBOX={name}" in str(wrong.value)
    assert WRONG[name] in str(wrong.value)
    assert "open (a class method), execute_code, bind and close" in str(wrong.value)
    found = await examine_sandbox(name)
    assert not found.ok
    assert WRONG[name] in found.said
    assert check_texts(project_root(), find_owner_code(project_root(), owned=True, sandbox=name)) == 1
    assert WRONG[name] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import a_thing_that_nobody_has", "a_thing_that_nobody_has is not installed"),
        ("x = (", "cannot be read (SyntaxError"),
        ("x = 1 / 0", "cannot be read (ZeroDivisionError"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_said_to_be(folder: Path, code: str, why: str) -> None:
    name = f"own_{abs(hash(code))}"
    (folder / f"{name}.py").write_text(f"{code}\n")
    with pytest.raises(ConfigError) as wrong:
        make_sandboxes(named(f"{name}.Sandbox"))
    assert why in str(wrong.value)


async def test_one_that_fails_as_it_opens_is_a_sandbox_error_and_a_finding(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with make_sandboxes(named(f"{HERE}.Broken")) as sandboxes:
        with pytest.raises(SandboxError, match="Broken could not be opened"):
            await sandboxes.open({})
    assert "no room" in caplog.text
    found = await examine_sandbox(f"{HERE}.Broken")
    assert (found.ok, "could not be opened" in found.said) == (False, True)


async def test_the_doctor_runs_a_cell_in_it() -> None:
    found = await examine_sandbox(f"{HERE}.Counting")
    assert not found.ok
    assert "6 * 7 came to 1 in it" in found.said
    found = await examine_sandbox(f"{HERE}.Failing")
    assert not found.ok
    assert "Failing failed (TypeError): the log says why" in found.said
