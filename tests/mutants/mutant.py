"""Mutant: one rule of the project, taken out of the function that keeps it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.places import Change, name_of, unwrapped
from tests.mutants.tree import Tree
from tests.source import ROOT


@dataclass(frozen=True)
class Mutant:
    """A rule, the code that keeps it, the change that takes it out, and the check that must fail then.

    `code` is a function, a method, a property or a class, by reference; of a nested function, the one around
    it. `shown_by` is a test (all of its cases), one `Case` of it, or `SCENARIO/WAY` of the crash harness.
    """

    rule: str
    code: object
    change: Change
    shown_by: Callable[..., Any] | Case | str

    @property
    def file(self) -> Path:
        """The file of the code, as it stands in the project."""
        return _file_of(unwrapped(self.code))

    def applied(self) -> str:
        """Return the text of the file without the rule. Raise ValueError if the place is not there."""
        text = (ROOT / self.file).read_text()
        tree = Tree(text, str(getattr(unwrapped(self.code), "__qualname__", "")))
        try:
            self.change.make(tree)
        except ValueError as error:
            raise ValueError(f"{self.rule}: {self.file}: {error}") from error
        return tree.text

    @property
    def check(self) -> str:
        """The node of pytest or the scenario that must fail."""
        if isinstance(self.shown_by, str):
            return self.shown_by
        chosen = self.shown_by if isinstance(self.shown_by, Case) else Case(self.shown_by, "")
        node = f"{_file_of(unwrapped(chosen.test))}::{name_of(chosen.test)}"
        return f"{node}[{chosen.parameters}]" if chosen.parameters else node


@dataclass(frozen=True)
class Case:
    """One set of parameters of a test, by the id that pytest gives it."""

    test: Callable[..., Any]
    parameters: str


def _file_of(defined: object) -> Path:
    file = sys.modules[str(defined.__module__)].__file__
    assert file
    return Path(file).resolve().relative_to(ROOT)
