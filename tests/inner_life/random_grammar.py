"""Fuzzer of the command grammar, with any text that a model might write."""

from __future__ import annotations

import json
import re
import sys
from random import Random

from daemon.inner_life.grammar import MOST_COMMANDS, MOST_ITEMS, ParsedCommand, ParsedCommands, parse_commands
from tests.inner_life.some_commands import KNOWN

COMMANDS = (
    '{"type": "notes.list"}',
    '{"cmd_id": "a", "type": "diary.add", "args": {"text": "# Commands: } ] ``` "}}',
    '{"cmd_id": 2, "type": "notes.read", "args": {"ids": [5]}, "description": "what they said"}',
    '{"type": "graph_add", "args": {"from": 1, "to": 2, "relation": "\\ud800 \\u0000"}}',
    '{"type": "notes.read", "args": {"ids": [1e999, NaN]}}',
    '{"type": "shell", "args": {"name": "date", "slots": {"a": "b", "a": "c"}}}',
    '{\n  "type": "notes.list",\n  "args": {}\n}',
    '{"commands": [{"type": "notes.list"}, {"type": "no"}]}',
)
PIECES = (
    *COMMANDS,
    *COMMANDS,
    *(f"\n{one}\n" for one in COMMANDS),
    *("# Commands:", "\n# Commands:\n", "\n## команды\n", "\n# End of commands\n", "\n# Конец команд:\n"),
    *("\n```json\n", "\n```\n", "\n~~~\n", "```", "`", "> ", "- ", "1. ", "\n", "\n\n", "  ", "\t", "\r\n"),
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\",
        "//",
        "null",
        "5",
        "-",
        "#",
        "I think.",
        "Ещё",
        "\ud800",
        "\x00",
    ),
    *(
        '"type": "notes.list"',
        '"args":',
        '{"type": "notes.list"',
        '{"type": "notes.list"},',
        "{\n",
        "[\n",
        "\n]",
    ),
    *("[[" * 15, "]" * 25, '{"a":' * 30, "}" * 30, "9" * 30, "[" * 3_000),
)
BEGIN = re.compile(r" {0,3}#{1,6}\s*(commands|команды)\s*:?\s*", re.IGNORECASE)
END = re.compile(r" {0,3}#{1,6}\s*(end\s+of\s+commands|конец\s+команд)\s*:?\s*", re.IGNORECASE)
ALIASES = {"graph_add": ("concepts.add", "links.add"), "shell": ("process.start",)}


def answer(seed: int) -> str:
    random = Random(seed)
    return "".join(random.choice(PIECES) for _ in range(random.randint(1, 30)))


def problem(text: str) -> str:
    """Return a parsing fault; empty if none."""
    written = parse_commands(text, KNOWN)
    found = "; ".join(filter(None, (_whole(text, written), *(_one(text, one) for one in written.commands))))
    return f"{found} of {text!r}" if found else ""


def _whole(text: str, written: ParsedCommands) -> str:
    if parse_commands(text, KNOWN) != written:
        return "it is read otherwise the second time"
    if len(written.commands) > MOST_COMMANDS or len(written.faults) > MOST_ITEMS + 2:
        return "there is no end of commands and faults"
    if len({one.cmd_id for one in written.commands}) < len(written.commands):
        return "two commands are called the same"
    places = [one.position for one in written.commands]
    if places != sorted(set(places)):
        return "a command stands twice"
    written.thought.encode()
    if not all(one.line().isprintable() and one.line().encode() for one in written.faults):
        return "a fault cannot be shown"
    return ""


def _one(text: str, one: ParsedCommand) -> str:
    value, upto = json.JSONDecoder().raw_decode(text, one.position)
    if one.name not in (value["type"], *ALIASES.get(value["type"], ())):
        return f"{one.name} is not what was written"
    if one.given != (value.get("args") or {}) and "\\" not in text[one.position : upto]:
        return f"{one.given} is not what was written"
    model = KNOWN[one.name]
    if (one.args is None) != (model is None) or (model and not isinstance(one.args, model)):
        return f"{one.args} are not the arguments of {one.name}"
    json.dumps(one.given, ensure_ascii=False, allow_nan=False).encode()
    return "" if _within(text, one.position) else f"{one.name} stands in no section and in no block"


def _within(text: str, position: int) -> bool:
    """True if commands are written here, by rules independent of the grammar."""
    lines = text.split("\n")
    has_sections, fence, inside, late = False, "", False, False
    at, places = 0, []
    for line in lines:
        bare = re.sub(r"^\s*([-*+]\s+|\d+[.)]\s+)?", "", line)
        if END.fullmatch(line):
            late = inside and bool(fence)
            inside, fence = False, "" if inside else fence
        elif BEGIN.fullmatch(line) and not fence:
            has_sections = inside = True
        elif late and bare.startswith(("```", "~~~")) and not bare.strip().strip("`~"):
            late = False  # end of a fence whose section ended before
        elif bare.startswith(("```", "~~~")) and not (bare[0] == "`" and "`" in bare.lstrip("`")):
            ended = fence and bare.strip().startswith(fence.split()[0]) and not bare.strip("`~").strip()
            fence = "" if ended else fence or bare.strip() or bare
            fence = fence.replace("```", "``` ", 1) if fence.startswith("```") else fence
        late = late and (not line.strip() or bool(END.fullmatch(line)))
        places.append((at, at + len(line), inside, "json" in fence.lower()))
        at += len(line) + 1
    [(_, _, inside, in_json)] = [one for one in places if one[0] <= position <= one[1]]
    return inside if has_sections else in_json


def main(count: int) -> int:
    wrong = [found for seed in range(count) if (found := problem(answer(seed)))]
    print(f"{count} answers with commands  {len(wrong)} went wrong", *wrong[:5], sep="\n    ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
