"""The one registry of actions: what may be chosen here, and what is said of it to the owner.

A run asks it what a playbook offers, the inner life which commands there are; `check` and `actions` the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from daemon.actions.action import ActionDefinition
from daemon.inner.helping import argument_lines, help_page
from daemon.mind.choice import DONE
from daemon.mind.playbook import Playbook

INTRODUCTION = """\
# Actions

What the soul may choose to do where it decides by itself (`ISM_ENABLED=true`). A playbook (`playbooks/*.md`)
names those that it offers; one that cannot work here (`Research` without `KNOWLEDGE_DIRS`) is left out.

This file is what `python -m daemon actions` prints: change `daemon/actions/`, then write it anew.
"""


COMMANDS = """\
# Commands of the inner life

What the soul may write in a tick of its inner life (`INNER_LIFE_ENABLED=true`), between `# Commands:` and
`# End of commands`, or in Russian `# Команды:` and `# Конец команд`: a JSON object a line. Nobody else is
offered them. What has a question mark may be left out.
"""


class ActionRegistry:
    """Actions and commands by name, in the order given."""

    def __init__(self, definitions: Sequence[ActionDefinition]) -> None:
        """Raises ValueError for names that differ by upper and lower case at the most, or mean the end."""
        names = Counter(one.name.casefold() for one in definitions)
        names[DONE.casefold()] += 1
        taken = [one.name for one in definitions if names[one.name.casefold()] > 1]
        if taken:
            raise ValueError(f"{', '.join(taken)}: each action needs a name of its own, and none is {DONE}")
        self.named: dict[str, ActionDefinition] = {}
        """All that may be offered, by name."""
        self.commands: list[ActionDefinition] = []
        """Those of the inner life, which are offered to nobody else."""
        for one in definitions:
            if one.inner:
                self.commands.append(one)
            else:
                self.named[one.name] = one

    @property
    def known(self) -> Mapping[str, type[BaseModel] | None]:
        """What the grammar of commands reads: their names, with their arguments."""
        return {one.name: one.args for one in self.commands}

    def offered_by(self, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Those that there are of a playbook, in its order, and those that say that it offers them."""
        names = [*playbook.actions]
        names += [one.name for one in self.named.values() if playbook.name in one.playbooks]
        return [self.named[name] for name in dict.fromkeys(names) if name in self.named]

    def callable_in_open_thought(self, playbook: Playbook) -> Sequence[ActionDefinition]:
        """Those of them that may be called in open thought."""
        return [one for one in self.offered_by(playbook) if one.in_the_open and not one.terminal]

    def as_markdown(self) -> str:
        """All of them as a page of Markdown: actions by the alphabet, commands in their order."""
        parts = [INTRODUCTION]
        parts += [_section(self.named[name]) for name in sorted(self.named)]
        if self.commands:
            parts.append(COMMANDS)
        parts += [_command(one) for one in self.commands]
        return "\n".join(parts)


def _command(one: ActionDefinition) -> str:
    """A command, in the words of its help."""
    line, _, more = help_page(one).partition("\n")
    form = line.removesuffix(f": {one.description}")
    return _paragraphs(f"## {one.name}", f"`{form}`", one.description, more)


def _section(one: ActionDefinition) -> str:
    """An action with its arguments and what holds for it."""
    arguments = "\n".join(argument_lines(one.args))
    return _paragraphs(f"## {one.name}", one.description, arguments, _conditions(one))


def _paragraphs(*texts: str) -> str:
    """Those that are not empty, with a line between them."""
    return "\n\n".join(text for text in texts if text) + "\n"


def _conditions(one: ActionDefinition) -> str:
    """What holds for an action, a sentence each; empty where it is as usual."""
    said = list[str]()
    if one.terminal:
        said.append("It ends the run.")
    if one.exclusive:
        said.append("It is chosen alone.")
    if one.approval:
        said.append("An owner has to agree first.")
    if not one.repeatable:
        said.append("It is not done again where nobody knows whether it was done.")
    return " ".join(said)
