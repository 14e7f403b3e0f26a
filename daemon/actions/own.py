"""The owner's own actions: each file of the folder `actions/` that holds some is read when the daemon starts.

What stands there is the owner's code, and runs as the daemon does. A file whose name begins with `_` is no
action, but may be needed by one.
"""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemon.actions.built_in import all_actions
from daemon.actions.function import ActionFunction
from daemon.errors import UNLOADED, unloadable_reason
from daemon.mind.choice import DONE
from daemon.printable import escaped_line

ACTIONS = "actions/"
"""The folder, beside `playbooks/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerActions:
    """The actions of the owner's that can be offered; and of each file or action that cannot, why not."""

    actions: Sequence[ActionFunction] = ()
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)


class OwnFiles:
    """The Python files of this folder's `actions/`, as they stand when this is made: just before a read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / ACTIONS
        self._read = self._now()

    @property
    def changed(self) -> list[str]:
        """A sentence for each that was changed, added or taken away since."""
        before, now = self._read, self._now()
        return [
            f"{ACTIONS}{name} was changed after the start: start the daemon anew to use it as it is now;"
            " `python -m daemon check` says whether it can be used."
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
        ]

    def _now(self) -> Mapping[str, bytes]:
        """The digest of each by its name; what cannot be read counts as empty."""
        found = {}
        for file in self._folder.glob("[!.]*.py"):
            content = b""
            with suppress(OSError):
                if file.is_file():  # a pipe would wait for a writer
                    content = file.read_bytes()
            found[escaped_line(file.name)] = hashlib.sha256(content).digest()
        return found


def find_owner_actions(folder: Path) -> OwnerActions:
    """What stands in this folder's `actions/`, in the order of the files."""
    actions: list[ActionFunction] = []
    faults: dict[str, Sequence[str]] = {}
    known = all_actions()
    taken = {name.casefold() for name in (DONE, *known.named, *known.known)}
    for file in sorted((folder / ACTIONS).glob("[!._]*.py")):
        name = f"{ACTIONS}{file.stem}"
        try:
            found = _in(file)
        except UNLOADED as error:
            faults[name] = [f"{unloadable_reason(error, file)}: mend it, or take it away"]
            continue
        if not found:
            faults[name] = ["it holds no action: write `@action` above a function of it, or take it away"]
        for one in found:
            wrong = [*one.faults]
            if one.name.casefold() in taken:
                wrong.append("there is another action of this name: give its function another one")
            if wrong:
                faults[f"{name}: {one.name}"] = wrong
            else:
                actions.append(one)
            taken.add(one.name.casefold())
    return OwnerActions(actions=actions, faults=faults)


def with_samples(own: OwnerActions, folder: Path) -> OwnerActions:
    """These, and what stands in this folder's `actions/`, but for what is called as one of the owner's."""
    taken = {one.name.casefold() for one in own.actions}
    samples = [one for one in find_owner_actions(folder).actions if one.name.casefold() not in taken]
    return replace(own, actions=[*own.actions, *samples])


def _in(file: Path) -> Sequence[ActionFunction]:
    """What is defined in this file, as it stands now."""
    names = runpy.run_path(str(file), run_name=f"{ACTIONS}{file.stem}")
    return [one for one in names.values() if isinstance(one, ActionFunction)]
