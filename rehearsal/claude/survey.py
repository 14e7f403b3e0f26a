"""Looks for words in a long text: how often they stand there, in how many lines, and in which.

What is here is at the same time the cell that the script writes: it is sent as it stands, and runs in
whatever sandbox the daemon has. So it uses but `re` and `Counter`, and no more Python than monty knows.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Mapping


def find(context: object, looked_for: dict[str, str]) -> list[str]:
    """Count each word in each part of the context; show the lines that hold most of them."""
    parts = context if isinstance(context, dict) else {"context": context}
    report = []
    for name, part in parts.items():
        lines = str(part).removesuffix("\n").split("\n")
        report.append(f"# {str(name)!r}: {len(lines)} lines, {len(str(part).split())} words")
        held: dict[int, int] = {}
        for word, pattern in looked_for.items():
            wanted = re.compile(pattern, re.I)
            hits = {n: len(wanted.findall(line)) for n, line in enumerate(lines, 1) if wanted.search(line)}
            report.append(f"“{word}”: {sum(hits.values())} times in {len(hits)} lines")
            for n in hits:
                held[n] = held.get(n, 0) + 1
        report.append(f"all: {list(held.values()).count(len(looked_for))} lines")
        best = sorted(held, key=lambda n: (-held[n], n))[: 5 // len(parts) or 1]
        report += [shown(lines, n, "|".join(looked_for.values())) for n in sorted(best)]
    return report


def look_over(context: object) -> list[str]:
    """Show the length of each part of the context, its frequent words, and its beginning."""
    parts = context if isinstance(context, dict) else {"context": context}
    report = []
    for name, part in parts.items():
        lines = str(part).removesuffix("\n").split("\n")
        report.append(f"# {str(name)!r}: {len(lines)} lines, {len(str(part).split())} words")
        words = re.findall(r"\b[^\W\d_]{5,20}\b", str(part)[:1000000].lower())
        report.append("often: " + ", ".join([f"{word} {n}" for word, n in Counter(words).most_common(15)]))
        begins = [n for n, line in enumerate(lines[:1000], 1) if re.search(r"\w", line) and line[0] != "["]
        report += [shown(lines, n, r"\w") for n in begins[:2]]
    return report


def shown(lines: list[str], n: int, pattern: str) -> str:
    """The number of a line, the page or message that it is of, and the words around what is looked for."""
    around = re.search(rf"(?:^|\s).{{0,60}}(?:{pattern}).{{0,90}}(?=\s|$)|{pattern}", lines[n - 1], re.I)
    heads = [line for line in lines[:n] if re.fullmatch(r"\[.+\]", line)]
    place = f" {heads[-1]}" if heads and heads[0] == lines[0] else ""
    return f"{n}{place}: {around[0].strip() if around else ''}"


def survey(context: object, looked_for: Mapping[str, str]) -> str:
    """Return the output of the cell for this context."""
    return "\n".join(find(context, dict(looked_for)) if looked_for else look_over(context))


def cell(looked_for: Mapping[str, str]) -> str:
    """The program that looks for these patterns in `context`, each under the word that it stands for.

    Without any it looks the context over.
    """
    if looked_for:
        begins = f"import re\n\nlooked_for = {dict(looked_for)!r}"
        looks, ends = inspect.getsource(find), 'print("\\n".join(find(context, looked_for)))'
    else:
        begins = "import re\nfrom collections import Counter"
        looks, ends = inspect.getsource(look_over), 'print("\\n".join(look_over(context)))'
    return "\n\n".join([begins, looks.strip(), inspect.getsource(shown).strip(), ends])
