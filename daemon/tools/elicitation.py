"""Questions of MCP servers to people, during a call: forms and pages, asked in Slack and answered once.

Whoever asked for the call or may approve it answers; a page is for those who asked alone. A server never asks
for a secret here: such a request is declined, and people are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from daemon.actions.action import ActionContext
from daemon.actions.approvals import TICK, arguments_for_approval
from daemon.engine.event import fingerprint
from daemon.engine.kinds import StepResult
from daemon.ports import Button
from daemon.prompts.elements import clean_name_text, parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.tools.requested_forms import RequestRefused, is_page_request, read_request
from daemon.tools.tool_approvals import ToolApprovals, askers_of
from daemon.tools.tool_call import InputNeeded
from daemon.tools.tool_catalogue import OfferedTool
from daemon.turn.forms import (
    NOT_GIVEN,
    OPEN_FORM,
    SUBMITTED,
    FormField,
    QuestionForm,
    form_as_json,
    form_words,
    read_entered,
)
from daemon.turn.open_questions import StepQuestions
from daemon.turn.questions import Answer, Question, ask
from daemon.turn.speech import say
from daemon.turn.turn import TERMINAL_PLACE, Turn
from daemon.web.address_policy import AddressPolicy, AddressRefused, parse_address
from daemon.web.name_resolution import Resolve, check_resolved, resolve_host

MOST_REQUESTS = 5
"""Requests of one round that people are asked; more are declined."""

FEW = 10
"""Most choices that are shown as buttons."""

MOST_MENTIONED = 3
CHOICE, CONFIRM = "choice-", "confirm"
"""Values of buttons: a choice by its place, and consent to a request without fields."""

MARGIN = 1.0
"""Seconds by which an answer to an open call precedes its end."""

DECLINED: Mapping[str, Any] = {"action": "decline"}
CANCELLED: Mapping[str, Any] = {"action": "cancel"}

ASKS = "prompts/sentences/tool_asks"
ASKS_PAGE = "prompts/sentences/tool_asks_page"
SECRET_WANTED = "prompts/sentences/secret_wanted"
REQUEST_DECLINED = "prompts/sentences/request_declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCircumstances:
    """People who may answer (`owners` among them as long as they own the soul), and the server's origin.

    `fault` says why the page of a request may not be named, by the addresses of its host.
    """

    to: Sequence[str] = ()
    owners: Sequence[str] = ()
    own: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolQuestions:
    """Questions of tools. `url_of` returns the address of a server in the owner's file, or an empty text.

    `resolve` returns the addresses of a host.
    """

    approvals: ToolApprovals
    url_of: Callable[[str], str] = lambda _server: ""
    resolve: Resolve = resolve_host

    async def answer_input(
        self, run: ActionContext, tool: OfferedTool, needed: InputNeeded, step: str
    ) -> Mapping[str, Any]:
        """Ask people for the input of a call, in steps named `step`; return the responses by key.

        Suspends the execution while it waits. After a refusal the other requests are declined, too.
        """
        responses = dict[str, Any].fromkeys(needed.requests, DECLINED)
        if len(needed.requests) > MOST_REQUESTS:
            await self._tell(run, tool, RequestRefused("form too large"))
            return responses
        for key, request in needed.requests.items():
            responses[key] = await self._answer(run, tool, request, step)
            if responses[key]["action"] != "accept":
                break
        return responses

    def ask_during_call(self, run: ActionContext, tool: OfferedTool) -> CallQuestions:
        """Return the questions of a server of the older era during an open call."""
        return CallQuestions(run, tool, self)

    async def _answer(
        self, run: ActionContext, tool: OfferedTool, request: Mapping[str, Any], step: str
    ) -> Mapping[str, Any]:
        asked = await self._recorded_circumstances(run.turn, tool, request)
        try:
            question, form = self.make_question(run, tool, request, asked)
        except RequestRefused as refusal:
            await self._tell(run, tool, refusal)
            return DECLINED
        if not question.to:
            return DECLINED
        answered = await ask(run.turn, step, question)
        run.add_memories(answered.memories)
        return response(form, answered)

    # What holds when a question is put

    async def _recorded_circumstances(
        self, turn: Turn, tool: OfferedTool, request: Mapping[str, Any]
    ) -> QuestionCircumstances:
        async def look(_: Turn) -> StepResult:
            return StepResult(value=asdict(await self.circumstances(turn, tool, request)))

        given = [tool.name, is_page_request(request), list(turn.owners)]
        found = await turn.step("may-answer", given, look, StepResult)
        return QuestionCircumstances(**found.event.value)

    async def circumstances(
        self, turn: Turn, tool: OfferedTool, request: Mapping[str, Any]
    ) -> QuestionCircumstances:
        """Return who may answer now, and the origin of the server, whose pages may be private."""
        own = _origin(self.url_of(tool.server))
        if turn.opened is None or turn.is_served or turn.opened.event.where == TERMINAL_PLACE:
            return QuestionCircumstances(own=own)  # nobody can be asked there
        askers = list(turn.readers_among(askers_of(turn)))
        if is_page_request(request):
            fault = await self.fault_of_page(request, own)
            return QuestionCircumstances(to=askers, own=own, fault=fault)
        approvers = await self.approvals.approvers_of(turn, tool.rules)
        owners = [one for one in turn.readers_among(approvers.owners) if one not in askers]
        others = [one for one in turn.readers_among(approvers.others) if one not in askers]
        return QuestionCircumstances(to=[*askers, *others, *owners], owners=owners, own=own)

    async def fault_of_page(self, request: Mapping[str, Any], own: str) -> str:
        """Return why nobody may be sent to a page, by the addresses of its host; empty if they are public."""
        try:
            await check_resolved(_pages_beside(own), str(request["params"].get("url")), self.resolve)
        except AddressRefused as refused:
            return str(refused)
        return ""

    def make_question(
        self, run: ActionContext, tool: OfferedTool, request: Mapping[str, Any], asked: QuestionCircumstances
    ) -> tuple[Question, QuestionForm]:
        """Return a request of a server as a question with a form. Raises RequestRefused."""
        words = form_words(parse_labels(run.turn.text(LABELS_TEXT)))
        form = read_request(request, tool.name, words, _pages_beside(asked.own))
        if asked.fault:
            raise RequestRefused("page not allowed", asked.fault)
        text = run.prompt(
            ASKS_PAGE if form.link else ASKS,
            person=", ".join(_called(run.turn, person) for person in asked.to[:MOST_MENTIONED]),
            tool=tool.name,
            server=tool.server,
            asks=arguments_for_approval(run, _shown(run, form), whole=True),
        )
        question = Question(
            text=text,
            to=tuple(asked.to),
            owners=tuple(asked.owners),
            choices=_buttons(run, form),
            about={"tool": tool.name, **form_as_json(form)},
        )
        return question, form

    async def _tell(self, run: ActionContext, tool: OfferedTool, refusal: RequestRefused) -> None:
        if run.turn.addressed:
            text = _refusal_in_words(run, tool, refusal)
            await say(run.turn, text, "input-declined", answers=False)


class CallQuestions:
    """Questions that a server asks while a call is open; each waits as long as a call may take."""

    def __init__(self, run: ActionContext, tool: OfferedTool, questions: ToolQuestions) -> None:
        self._run = run
        self._tool = tool
        self._questions = questions
        self._open = StepQuestions(run.turn)

    async def __call__(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask people, and return the response of the protocol."""
        run, tool, questions = self._run, self._tool, self._questions
        mark = fingerprint(request)[:8]
        asked = await questions.circumstances(run.turn, tool, request)
        try:
            question, form = questions.make_question(run, tool, request, asked)
        except RequestRefused as refusal:
            await self._open.tell(f"declined-{mark}", _refusal_in_words(run, tool, refusal))
            return DECLINED
        if not question.to:
            return DECLINED
        seconds = max(tool.rules.timeout - MARGIN, 0.0)
        return response(form, await self._open.ask(f"input-{mark}", question, seconds))

    async def end(self) -> None:
        """End what is being asked, as the call is over."""
        await self._open.end()


def _refusal_in_words(run: ActionContext, tool: OfferedTool, refusal: RequestRefused) -> str:
    """Return why a request was declined, and what people can do."""
    if refusal.meaning == "secret wanted":
        field = refusal.subject.replace("`", TICK) or "…"
        return run.prompt(SECRET_WANTED, tool=tool.name, field=f"`{field}`")
    return run.prompt(REQUEST_DECLINED, tool=tool.name, why=run.label(refusal.meaning))


def _origin(url: str) -> str:
    """Return the origin of an address, without what may be secret in it; empty if it has none."""
    try:
        return str(parse_address(url).origin)
    except AddressRefused:
        return ""


def _pages_beside(own: str) -> AddressPolicy:
    """Return which pages people may be sent to; those of the server's own origin may be private."""
    return AddressPolicy([own], https_only=True)


def _called(turn: Turn, person: str) -> str:
    """Return a mention of an owner, the name of anybody else: others are never mentioned."""
    names = {entry.event.user: entry.event.name for entry in turn.answers}
    if person in turn.owners or person not in names:
        return f"<@{person}>"
    return clean_name_text(names[person])


def _shown(run: ActionContext, form: QuestionForm) -> Mapping[str, str]:
    shown = {run.label("page"): form.host} if form.host else {}
    return {**shown, run.label("asks"): form.text or "…"}


def _buttons(run: ActionContext, form: QuestionForm) -> Sequence[Button]:
    decline = Button(label=run.label("decline"), value=NOT_GIVEN, style="danger")
    if form.link:
        return Button(label=run.label("open"), value=OPEN_FORM, style="primary"), decline
    if not form.fields:
        return Button(label=run.label("confirm"), value=CONFIRM, style="primary"), decline
    if not _is_choice(form):
        return Button(label=run.label("fill in"), value=OPEN_FORM, style="primary"), decline
    [only] = form.fields
    return *[
        Button(label=label, value=f"{CHOICE}{place}", style="primary" if is_default else "")
        for place, (label, is_default) in enumerate(_labels(run, only))
    ], decline


def _is_choice(form: QuestionForm) -> bool:
    """True if one press answers: there is one field, a choice of few."""
    if len(form.fields) != 1:
        return False
    [only] = form.fields
    return only.kind == "yes or no" or (only.kind == "one" and len(only.choices) <= FEW)


def _labels(run: ActionContext, only: FormField) -> Sequence[tuple[str, bool]]:
    if only.kind == "yes or no":
        return [
            (run.label("button yes"), only.default is True),
            (run.label("button no"), only.default is False),
        ]
    return [(choice.label, choice.value == only.default) for choice in only.choices]


def response(form: QuestionForm, answer: Answer) -> Mapping[str, Any]:
    """Return an answer as the protocol says it."""
    if not answer.by:
        return CANCELLED
    if answer.value == SUBMITTED and form.link:
        return {"action": "accept"}
    if answer.value == SUBMITTED:
        missing = [one for one in form.fields if one.required and one.name not in answer.fields]
        return DECLINED if missing else {"action": "accept", "content": dict(answer.fields)}
    if answer.value == CONFIRM:
        return {"action": "accept", "content": {}}
    if _is_choice(form) and answer.value.startswith(CHOICE):
        return _chosen(form, answer.value.removeprefix(CHOICE))
    return DECLINED


def _chosen(form: QuestionForm, place: str) -> Mapping[str, Any]:
    [only] = form.fields
    if only.kind == "yes or no":
        return {"action": "accept", "content": {only.name: place == "0"}}
    values, faults = read_entered(form, {only.name: place})
    return DECLINED if faults else {"action": "accept", "content": values}
