"""Programs that take arguments as code or as a command, and which arguments these are.

A slot must not stand there: its value comes from a model, and so from what people wrote to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

IsSlot = Callable[[str], bool]

RUNNERS = re.compile(
    r"""
    chroot|chrt|entr|env|firejail|flock|ionice|ltrace|nice|nohup|parallel|script|setpriv|setsid|stdbuf
    |strace|systemd-run|taskset|time|timeout|unshare|watch|xargs  # that start another program
    |bwrap|busybox|docker|doas|kubectl|mosh|nsenter|pkexec|podman|rsh|runuser|screen|ssh|sshpass|su|sudo
    |tmux|toybox  # that start it elsewhere, or as somebody else
    |bunx?|crontab|deno|expect|g?make|np[mx]|pipx|pnpm|pwsh|tclsh|uvx?|wish|yarn  # that read code anywhere
    |ed|emacs|ex|gdb|lldb|mariadb|mysql|n?vim|psql|sqlite3|vi|view  # that have commands which start programs
    """,
    re.VERBOSE,
)
"""Programs that run what they are given, wherever it stands: none of their arguments may be a slot."""
RUN_BY_FIND = re.compile("-(exec|ok)(dir)?")
END_OF_OPTIONS = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A family of interpreters.

    `flags`: letters of options without a value. `code`: letters of options whose value is code. `inline`:
    without such an option its first operand is code, too, not the path of a script.
    """

    names: re.Pattern[str]
    flags: str
    code: str
    inline: bool = False

    def runs_slot(self, arguments: Sequence[str], is_slot: IsSlot) -> bool:
        """Return True if it would read a slot among these arguments as code, or as the path of a script.

        An option that is not known may have a value, so the operand after it is not taken for the code.
        """
        has_code, inline, expects = False, self.inline, "operand"
        for argument in arguments:
            if is_slot(argument):
                if not has_code or expects in ("code", "value"):
                    return True
                expects = "operand"
            elif argument == END_OF_OPTIONS:
                expects = "code" if expects == "code" else "operand"
            elif argument[:1] in ("-", "+"):
                expects = self._expected_after(argument, expects)
                inline = inline or expects == "code"
            else:
                has_code = has_code or expects != "value"
                expects = "operand"
                if has_code and not inline:
                    return False  # the rest belongs to the script
        return False

    def _expected_after(self, option: str, expected: str) -> str:
        """Return what follows an option: `code`, a `value`, or, as without it, what was expected before."""
        if re.fullmatch(f"-[{self.flags}]*[{self.code}]", option):
            return "code"
        if re.fullmatch(f"[-+][{self.flags}]+", option) or (option.startswith("--") and "=" in option):
            return "code" if expected == "code" else "operand"
        return "value"


INTERPRETERS = (
    Interpreter(names=re.compile("([akz]|ba|c|da|fi|mk|tc|ya)?sh"), flags="abefhiklmnprtuvxBCEHPT", code="c"),
    Interpreter(names=re.compile(r"(python|pypy)[\d.]*"), flags="bBdEiIOPqsSuvx", code="cm"),
    Interpreter(names=re.compile(r"perl[\d.]*"), flags="acfnpsStTuUvwWX", code="eE"),
    Interpreter(names=re.compile(r"ruby[\d.]*"), flags="aclnpsSvw", code="e"),
    Interpreter(names=re.compile("node(js)?"), flags="i", code="ep"),
    Interpreter(names=re.compile(r"php[\d.]*"), flags="nq", code="BEFRrf"),
    Interpreter(names=re.compile(r"lua(jit)?[\d.]*"), flags="Eiv", code="e"),
    Interpreter(names=re.compile("Rscript|osascript"), flags="s", code="e"),
    Interpreter(names=re.compile("[gmn]?awk"), flags="S", code="ef", inline=True),
    Interpreter(names=re.compile("g?sed"), flags="Einrsuz", code="ef", inline=True),
)


def would_run_slot(argv: Sequence[str], is_slot: IsSlot) -> bool:
    """Return True if a slot among these arguments would be read as code or as a command.

    `argv` begins with the program. A program that is not known may run an interpreter that it is given.
    """
    name, arguments = argv[0].rpartition("/")[2], argv[1:]
    if RUNNERS.fullmatch(name):
        return any(map(is_slot, arguments))
    for one in INTERPRETERS:
        if one.names.fullmatch(name):
            return one.runs_slot(arguments, is_slot)
    for place, argument in enumerate(arguments):
        rest = arguments[place:]
        if RUN_BY_FIND.fullmatch(argument) and rest[1:]:
            return is_slot(rest[1]) or would_run_slot(rest[1:], is_slot)
        if _is_started(rest) and would_run_slot(rest, is_slot):
            return True
    return False


def _is_started(argv: Sequence[str]) -> bool:
    """Return True for an interpreter with an option: without one it may be any word."""
    name = argv[0].rpartition("/")[2]
    return len(argv) > 1 and argv[1][:1] == "-" and any(one.names.fullmatch(name) for one in INTERPRETERS)
