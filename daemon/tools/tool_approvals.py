"""Approvals of tool calls: who may give one, the question, and standing approvals.

Whatever is decided by the state of now (owners, user groups, audiences, newest lists) is a recorded step, so
that a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from daemon.actions.approvals import (
    APPROVE,
    DECLINE,
    ApprovalContext,
    arguments_for_approval,
    ask_for_approval,
    hear_what_came,
)
from daemon.engine.event import Entry, fingerprint
from daemon.engine.kinds import StepResult
from daemon.ism import ActionRefused
from daemon.kinds import INNER, TOOLS, PersonMessage, ReminderFired, StandingApproval
from daemon.knowledge.visibility import INSIDE
from daemon.ports import Button
from daemon.prompts.elements import clean_name_text, names_in_words
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.tools.tool_catalogue import OfferedTool, ToolCatalogue, ToolRules
from daemon.turn.questions import Answer, Question, two_buttons
from daemon.turn.speech import whisper
from daemon.turn.turn import Turn

ALWAYS_HERE = "always"
"""Value of the button that allows further calls in the channel."""

CHANGED_MEANWHILE = "changed"
"""Value of the answer to a question about a tool that has changed since."""

OWNER, ASKER = "owner", "asker"
"""Approvers that are no user groups."""

SHARED = "channel shared with outsiders"
NO_APPROVER = "giver may no longer approve"
"""Reasons for which a standing approval ends: meanings of labels."""

MOST_SHOWN = 40_000
"""Characters of arguments that are shown to people; a call with more is refused."""

MOST_ADDRESSED = 3
"""Approvers whom a question names."""

QUESTION = "prompts/sentences/approve_tool"
MAY_BE_DONE = "prompts/sentences/approve_again"
VOID = "prompts/sentences/changed"


class UserGroups(Protocol):
    """User groups of the workspace."""

    async def members_of(self, group: str) -> Collection[str] | None:
        """Return the ids of a group's members; None if they cannot be read now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApprovers:
    """People who may approve a call; `owners` only as long as they own the soul."""

    owners: Sequence[str] = ()
    others: Sequence[str] = ()
    is_whole: bool = True
    """False if a user group could not be read."""

    @property
    def people(self) -> Sequence[str]:
        return tuple(dict.fromkeys((*self.others, *self.owners)))


def askers_of(turn: Turn) -> Sequence[str]:
    """Return the ids of the people who asked for a turn's work; for reminders and the inner life, nobody."""
    return tuple(dict.fromkeys(asked.user for asked in _asked(turn)))


def _asked(turn: Turn) -> Sequence[PersonMessage]:
    if turn.root == INNER:
        return ()
    said = [entry.event for entry in turn.answers]
    return [event for event in said if not (event.bot or isinstance(event, ReminderFired))]


def has_begun(turn: Turn, tool: str) -> bool:
    """True if the call that a turn is about to make was begun before a crash: its outcome alone is left.

    A replay of a whole turn reads this back; a step that goes on within another one finds it here.
    """
    return turn.execution.record.find(f"{turn.ctx.path}/{tool}#{turn.ctx.uses_of(tool) + 1}") is not None


async def _address_of(turn: Turn, person: str) -> str:
    """Return a mention of an owner, or the name of somebody else, whom Slack would not be told to call."""
    if person in turn.owners:
        return f"<@{person}>"
    return clean_name_text(await turn.speaker.name(person)) or person


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovals:
    """Approvals of calls by the owner's rules; without `groups`, members of user groups cannot be read."""

    catalogue: ToolCatalogue
    groups: UserGroups | None = None

    async def obtain_approval(
        self,
        run: ApprovalContext,
        tool: OfferedTool,
        arguments: Mapping[str, Any],
        *,
        may_be_done: bool = False,
    ) -> None:
        """Return if the call may be made now; suspend the execution while people are asked.

        `may_be_done`: an earlier call with an unknown outcome may have done it. Raises ActionRefused.
        """
        if tool.asks_first or (may_be_done and not tool.is_repeatable):
            await self._ask(run, tool, arguments, may_be_done)
        if await self._is_changed(run.turn, tool):
            raise ActionRefused(run.label("tool changed"))

    async def _ask(
        self, run: ApprovalContext, tool: OfferedTool, arguments: Mapping[str, Any], may_be_done: bool
    ) -> None:
        choice = fingerprint(tool.name, tool.tool.digest, arguments, may_be_done)
        if choice in run.agreed:
            run.agreed.discard(choice)
            return
        found = await self._approvers(run.turn, tool)
        if found["standing"] and tool.approval != "always" and not may_be_done:
            return
        question = self._question(run, tool, arguments, found, may_be_done)
        answered = await ask_for_approval(run, question)
        await self._check_answer(run, tool, answered)
        await hear_what_came(run, answered, choice)

    async def _approvers(self, turn: Turn, tool: OfferedTool) -> Mapping[str, Any]:
        """Return those to ask (ids and names), and the seq of a standing approval (or 0), as of now."""

        async def look(_: Turn) -> StepResult:
            approvers = await self.approvers_of(turn, tool.rules)
            owners = turn.readers_among(approvers.owners)
            others = turn.readers_among(approvers.others)
            to = list(dict.fromkeys((*others, *owners)))
            found = {
                "to": to,
                "owners": list(owners),
                "names": [await _address_of(turn, person) for person in to[:MOST_ADDRESSED]],
                "standing": await self._standing(turn, tool, approvers),
                "whole": approvers.is_whole,
                "inside": self._is_inside(turn),
            }
            return StepResult(value=found)

        asked = [tool.name, tool.tool.digest, list(turn.owners)]
        found = await turn.step("approvers", asked, look, StepResult)
        value: Mapping[str, Any] = found.event.value
        return value

    async def approvers_of(self, turn: Turn, rules: ToolRules) -> CallApprovers:
        """Return the people who may approve a call that a turn makes, by the rules of its server."""
        askers = () if turn.is_served else askers_of(turn)  # a client of the MCP server approves nothing
        named = set(rules.approvers)
        if ASKER in named and not askers:
            named.add(OWNER)
        owners = turn.owners if OWNER in named else ()
        others = list(askers) if ASKER in named else []
        is_whole = True
        for group in sorted(named - {OWNER, ASKER}):
            members = await self.groups.members_of(group) if self.groups else None
            is_whole = is_whole and members is not None
            others += sorted(members or ())
        only = [owner for owner in owners if owner not in others]
        return CallApprovers(owners=only, others=tuple(dict.fromkeys(others)), is_whole=is_whole)

    # The question

    def _question(
        self,
        run: ApprovalContext,
        tool: OfferedTool,
        arguments: Mapping[str, Any],
        found: Mapping[str, Any],
        may_be_done: bool,
    ) -> Question:
        to = found["to"]
        if not to:
            raise ActionRefused(run.label("nobody can approve" if found["whole"] else "group away"))
        shown = arguments_for_approval(run, arguments, whole=True) or run.label("no arguments")
        if len(shown) > MOST_SHOWN:
            raise ActionRefused(run.label("arguments too long"))
        askers = [asked.name or asked.user for asked in _asked(run.turn)]
        text = run.prompt(
            QUESTION,
            approver=", ".join(found["names"]),
            tool=tool.name,
            server=tool.server,
            asker=names_in_words(askers) if askers else run.label("nobody asked"),
            args=shown,
        )
        if may_be_done:
            text = f"{run.prompt(MAY_BE_DONE)}\n{text}"
        return Question(
            text=text,
            to=to,
            owners=found["owners"],
            choices=self._choices(run, tool, found, may_be_done),
            about={"action": tool.name, "version": tool.tool.digest, "args": arguments},
        )

    def _choices(
        self, run: ApprovalContext, tool: OfferedTool, found: Mapping[str, Any], may_be_done: bool
    ) -> Sequence[Button]:
        two = two_buttons(run.turn.text(LABELS_TEXT), APPROVE, DECLINE)
        is_for_once = may_be_done or tool.approval == "always" or not found["inside"]
        if is_for_once or run.turn.opened is None:
            return two
        label = "always in direct messages" if run.turn.opened.event.where == "dm" else "always in channel"
        return *two, Button(label=run.label(label), value=ALWAYS_HERE)

    async def _check_answer(self, run: ApprovalContext, tool: OfferedTool, answered: Answer) -> None:
        """Raise ActionRefused unless an approver, who still is one, said yes to the tool as it is."""
        if answered.value == CHANGED_MEANWHILE:
            raise ActionRefused(run.label("tool changed"))
        if answered.value not in (APPROVE, ALWAYS_HERE):
            raise ActionRefused(run.label("tool declined"))
        turn = run.turn
        if await self._is_changed(turn, tool):
            if turn.addressed:
                await whisper(turn, "void", answered.by, turn.prompt(VOID))
            raise ActionRefused(run.label("tool changed"))
        if not await self._may_still_approve(turn, tool, answered.by):
            raise ActionRefused(run.label("approver gone"))
        if answered.value == ALWAYS_HERE:
            await self._allow(turn, tool, answered.by)

    async def _may_still_approve(self, turn: Turn, tool: OfferedTool, person: str) -> bool:
        async def look(_: Turn) -> StepResult:
            return StepResult(value=person in (await self.approvers_of(turn, tool.rules)).people)

        found = await turn.step("still-approver", [tool.name, person, list(turn.owners)], look, StepResult)
        return found.event.value is True

    async def _is_changed(self, turn: Turn, tool: OfferedTool) -> bool:
        """Return True, and record it, if the tool or the owner's rules for it are others by now."""

        def look() -> StepResult | None:
            newest = self.catalogue.newest(tool.name)
            if newest and newest.tool.digest == tool.tool.digest and newest.rules == tool.rules:
                return None
            if has_begun(turn, tool.name):
                return None
            return StepResult(value=newest.tool.digest if newest else "")

        return await turn.ctx.record_if_found("tool-changed", look) is not None

    # Standing approvals

    async def _allow(self, turn: Turn, tool: OfferedTool, by: str) -> None:
        assert turn.opened
        event = StandingApproval(
            tool=tool.name, digest=tool.tool.digest, channel=turn.opened.event.channel, by=by
        )
        # the key of the step makes a replay find it, even if it was taken back since
        key = f"tool-allowed:{turn.ctx.current_key}"
        await turn.journal.append(TOOLS, event, key=key, author="soul")

    async def _standing(self, turn: Turn, tool: OfferedTool, approvers: CallApprovers) -> int:
        """Return the seq of a standing approval for this call, or 0; record the end of others."""
        if turn.opened is None:
            return 0
        await turn.deps.people.places.update()
        for approval in self.catalogue.standing_for(tool, turn.opened.event.channel):
            why = self._why_over(turn, tool, approval, approvers)
            if why:
                await self.catalogue.end_standing(approval, why)
            elif self._is_inside(turn) and approval.event.by in approvers.people:
                return approval.seq
        return 0

    def _why_over(
        self, turn: Turn, tool: OfferedTool, approval: Entry[StandingApproval], approvers: CallApprovers
    ) -> str:
        """Return the reason for which a standing approval ends here; empty if it stands."""
        channel = turn.deps.people.places.channel_of(turn.thread)
        if channel and channel.audience and channel.audience not in INSIDE:
            return SHARED
        may_ask_again = ASKER in tool.rules.approvers  # it holds for calls that the giver asks for
        if approval.event.by in approvers.people or may_ask_again or not approvers.is_whole:
            return ""
        return NO_APPROVER

    def _is_inside(self, turn: Turn) -> bool:
        channel = turn.deps.people.places.channel_of(turn.thread)
        return channel is not None and channel.audience in INSIDE
