"""Show an owner which tools a server has changed, and ask if they may be used; not remembered.

Only tools that are shown whole are accepted by the button; the others are named, and stand on the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.actions.approvals import FENCE, in_code_block
from daemon.engine.kinds import StepResult
from daemon.memory import WorkingMemory, working_memory
from daemon.ports import Button
from daemon.process import MentalProcess, Placeholders, Question, Turn, ask, say
from daemon.prompts.elements import names_in_words, parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.tools.changed_tools import VETTING, ChangedTool, ListNews, news_of
from daemon.tools.tool_catalogue import ToolCatalogue

TEXTS = "prompts/sentences/tools/"

USE, LEAVE_OUT = "use it", "leave it out"
"""Values of the buttons, and keys of their labels."""

MOST_CHARACTERS = 30_000
"""Characters of differences in one message; further tools are only named."""

MOST_NAMED = 50
"""Tools without a difference that a message names; further ones are counted."""


async def vetting(turn: Turn, tools: ToolCatalogue | None = None) -> WorkingMemory:
    """Tell an owner what has changed; ask where the owner has to decide."""
    listed = turn.journal.entry(turn.params["list"])
    if tools is None:
        return working_memory(())
    news = news_of(tools, listed, turn.params["since"])
    shown, named = _that_fit(news.changed)
    text = "\n".join([*_parts(turn, news, shown, named)])
    if news.is_trusted or not shown:
        await say(turn, text)
        return working_memory(())
    known = parse_labels(turn.text(LABELS_TEXT))
    choices = [
        Button(label=known.get(USE, USE), value=USE, style="primary"),
        Button(label=known.get(LEAVE_OUT, LEAVE_OUT), value=LEAVE_OUT),
    ]
    about = {"tools": [[tool.now.name, tool.now.digest] for tool in shown]}
    question = Question(text=text, to=turn.deciders, owners=turn.deciders, choices=choices, about=about)
    answer = await ask(turn, "use", question)
    if answer.value == USE and answer.by in turn.owners:
        await _accept(turn, tools, shown, answer.by)
    return working_memory(())


def _that_fit(changed: Sequence[ChangedTool]) -> tuple[Sequence[ChangedTool], Sequence[ChangedTool]]:
    """Return the tools whose differences fit into the message, and the others."""
    shown, named = list[ChangedTool](), list[ChangedTool]()
    left = MOST_CHARACTERS
    for tool in changed:
        if left >= 0:  # a difference takes time: those of thousands would hold everybody up
            left -= len(tool.difference())
        (named if left < 0 else shown).append(tool)
    return shown, named


def _parts(
    turn: Turn, news: ListNews, shown: Sequence[ChangedTool], named: Sequence[ChangedTool]
) -> Sequence[str]:
    parts = list[str]()
    if shown:
        parts.append(turn.prompt(f"{TEXTS}{_kind_of(news)}", server=news.server))
    for tool in shown:
        sentence = "changed_tool" if tool.before else "new_tool"
        difference = f"{FENCE}\n{tool.difference()}\n{FENCE}"
        parts.append(turn.prompt(f"{TEXTS}{sentence}", tool=tool.now.name, difference=difference))
        if tool.now.invisible:
            parts.append(turn.prompt(f"{TEXTS}hidden", number=str(tool.now.invisible)))
    if named:
        parts.append(turn.prompt(f"{TEXTS}not_shown", tools=_named(named), server=news.server))
    if news.left_out:
        parts.append(turn.prompt(f"{TEXTS}left_out", server=news.server, tools=_left_out(turn, news)))
    return parts


def _named(tools: Sequence[ChangedTool]) -> str:
    names = [tool.now.name for tool in tools[:MOST_NAMED]]
    if len(tools) > MOST_NAMED:
        names.append(f"… ({len(tools) - MOST_NAMED})")
    return names_in_words(names)


def _kind_of(news: ListNews) -> str:
    return "changed_by_trusted" if news.is_trusted else "changed"


def _left_out(turn: Turn, news: ListNews) -> str:
    known = parse_labels(turn.text(LABELS_TEXT))
    lines = [f"{in_code_block(name)}: {known.get(why, why)}" for name, why in news.left_out.items()]
    return f"{FENCE}\n" + "\n".join(lines) + f"\n{FENCE}"


async def _accept(turn: Turn, tools: ToolCatalogue, shown: Sequence[ChangedTool], by: str) -> None:
    for tool in shown:
        await tools.accept(tool.now.name, tool.now.digest, by)

    def look() -> StepResult | None:
        newest = [tools.newest(tool.now.name) for tool in shown]
        pairs = zip(newest, shown, strict=True)
        over = [tool.now.name for now, tool in pairs if now is None or now.tool.digest != tool.now.digest]
        return StepResult(value=over) if over else None

    changed_again = await turn.ctx.record_if_found("changed-again", look)
    if changed_again:
        names = names_in_words(changed_again.event.value)
        await say(turn, turn.prompt(f"{TEXTS}changed_again", tools=names))


PROCESS = MentalProcess(
    name=VETTING,
    run=vetting,
    called="a server of tools has changed its tools",
    texts={
        f"{TEXTS}changed": Placeholders({"server"}, "server"),
        f"{TEXTS}changed_by_trusted": Placeholders({"server"}, "server"),
        f"{TEXTS}changed_tool": Placeholders({"tool", "difference"}, "difference"),
        f"{TEXTS}new_tool": Placeholders({"tool", "difference"}, "difference"),
        f"{TEXTS}hidden": Placeholders({"number"}),
        f"{TEXTS}not_shown": Placeholders({"tools", "server"}, "tools"),
        f"{TEXTS}left_out": Placeholders({"tools", "server"}, "tools"),
        f"{TEXTS}changed_again": Placeholders({"tools"}, "tools"),
    },
)
