"""Mutant: one rule of the project, taken out of its function."""

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
    """A rule, its code, the change that removes it, and the check that must fail then.

    `code`: a function, method, property or class; for a nested function, the outer one. `shown_by`: a test
    (all of its cases), one `Case`, or `SCENARIO/FAULTS` of the crash harness.
    """

    rule: str
    code: object
    change: Change
    shown_by: Callable[..., Any] | Case | str

    @property
    def file(self) -> Path:
        return _file_of(unwrapped(self.code))

    def applied(self) -> str:
        """Return the file's text without the rule. Raise ValueError if the place is missing."""
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
    test: Callable[..., Any]
    parameters: str


def _file_of(defined: object) -> Path:
    file = sys.modules[str(defined.__module__)].__file__
    assert file
    return Path(file).resolve().relative_to(ROOT)
