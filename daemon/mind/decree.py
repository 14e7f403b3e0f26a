"""The owner's words for the chooser of a run: one file, a part for each text of `Wording`. A pure reading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from string import Template

from daemon.mind.choosing import Wording

CHOOSING = "prompts/choosing"
PART = re.compile(r"^=== (\w+)[ \t]*\n", re.MULTILINE)


def wording(text: str) -> Wording:
    """The texts of a file of parts `=== name`; those that it lacks are the usual ones. Raises ValueError."""
    if problems := [*faults(text)]:
        raise ValueError("; ".join(problems))
    return Wording(**_parts(text))


def faults(text: str) -> Iterator[str]:
    """What is wrong with it, for the owner."""
    usual = asdict(Wording())
    for name, part in _parts(text).items():
        if name not in usual:
            yield f"it has a part `{name}`, which nobody reads: {', '.join(usual)} are read"
            continue
        template, known = Template(part), set(Template(usual[name]).get_identifiers())
        if not template.is_valid():
            yield f"its part `{name}` has a `$` that begins no placeholder (write `$$` for a dollar sign)"
        elif given := set(template.get_identifiers()) ^ known:
            yield f"its part `{name}` has other placeholders than it needs: ${', $'.join(sorted(given))}"


def _parts(text: str) -> dict[str, str]:
    _, *found = PART.split(text)
    return {name: part.strip() for name, part in zip(found[::2], found[1::2], strict=True)}
