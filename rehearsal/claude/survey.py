"""Looks for words in a long text: how often they stand there, in how many lines, and in which.

What is here is at the same time the cell that the script writes: it is sent as it stands, and runs in
whatever sandbox the daemon has. So it uses but `re` and `Counter`, and no more Python than monty knows.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Mapping

MODULES = "import re\nfrom collections import Counter"
"""What the cell has to import."""


def survey(context: object, looked_for: dict[str, str], most: int = 6) -> list[str]:
    """A report on each part of this context; of many parts, on those where most was found."""
    parts = context if isinstance(context, dict) else {"context": context}
    reports = []
    for name, part in parts.items():
        text = part if isinstance(part, str) else repr(part)
        reports.append(survey_text(str(name)[:200], text, looked_for, 5 if len(parts) == 1 else 2))
    reports.sort(key=lambda report: -report[0])
    lines = [line for found, report in reports[:most] for line in report]
    rest = [found for found, report in reports[most:]]
    if rest:
        lines.append(f"{len(rest)} more parts: {sum(rest)} lines")
    return lines


def survey_text(name: str, text: str, looked_for: dict[str, str], most: int) -> tuple[int, list[str]]:
    """How many lines hold a word that is looked for, and the report: figures, then the best lines."""
    lines = text.removesuffix("\n").split("\n")
    report = [f"# {name!r}: {len(lines)} lines, {len(text.split())} words"]
    anything = re.compile("|".join(looked_for.values()) or r"\w", re.I)
    held: dict[int, int] = {}
    if looked_for:
        held = {number: 0 for number, line in enumerate(lines, 1) if anything.search(line)}
        for word, pattern in looked_for.items():
            wanted = re.compile(pattern, re.I)
            times = {number: len(wanted.findall(lines[number - 1])) for number in held}
            holding = [number for number in held if times[number]]
            for number in holding:
                held[number] += 1
            report.append(f"“{word}”: {sum(times.values())} times in {len(holding)} lines")
        together = [number for number in held if held[number] == len(looked_for)]
        report.append(f"any: {len(held)} lines, all: {len(together)} lines")
        best = sorted(held, key=lambda number: (-held[number], number))[:most]
    else:
        # what stands there often, and how it begins
        common = Counter(re.findall(r"\b[^\W\d_]{5,20}\b", text[:1000000].lower())).most_common(15)
        report.append("often: " + ", ".join([f"{word} {count}" for word, count in common]))
        best = [n for n, line in enumerate(lines[:1000], 1) if re.search(r"\w", line) and line[0] != "["][:2]
    return len(held), report + [shown(lines, number, anything) for number in sorted(best)]


def shown(lines: list[str], number: int, wanted: re.Pattern[str]) -> str:
    """A line with its number, and its page or message; of a long one the words around what was found."""
    line = lines[number - 1]
    found = wanted.search(line)
    start = found.start() if found else 0
    begin, end = 0, len(line)
    if start > 80:
        begin = line.find(" ", start - 60, start) + 1 or start
    if end > begin + 160:
        end = line.rfind(" ", begin, begin + 160)
        end = end if end > start else begin + 160
    place = ""
    heading = re.compile(r"\[(https?://\S+|.{1,200} p\.\d+)\]")
    if heading.fullmatch(lines[0]):
        above = [one for one in lines[max(number - 50, 0) : number] if heading.fullmatch(one)]
        place = f" {above[-1]}" if above else ""
    return f"{number}{place}: {line[begin:end]}"


def cell(looked_for: Mapping[str, str]) -> str:
    """The program that surveys `context` for these patterns, each under the word that it stands for."""
    functions = [inspect.getsource(one).strip() for one in (shown, survey_text, survey)]
    asked = f"looked_for = {dict(looked_for)!r}"
    return "\n\n".join([MODULES, asked, *functions, 'print("\\n".join(survey(context, looked_for)))'])
