"""What a mutant is: a rule, and how the project looks without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A rule, how it is taken out, and the scenario or the test that then fails."""

    rule: str
    file: str
    old: str
    new: str
    shown_by: str

    def taken_from(self, text: str) -> str:
        """This file without the rule. Raises ValueError where the patch does not fit."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.rule}: {self.file} holds its text {text.count(self.old)} times")
        return text.replace(self.old, self.new)


def rule(name: str, file: str, old: str, new: str, shown_by: str) -> Mutant:
    """One of the daemon (or of its rehearsal) that a scenario of the harness shows, or one way through it."""
    path = file if file.startswith("rehearsal/") else f"daemon/{file}"
    return Mutant(rule=name, file=path, old=old, new=new, shown_by=shown_by)
