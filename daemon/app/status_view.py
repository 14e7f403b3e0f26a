"""State of the daemon's services for the page, the health and the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from daemon.app.discovery import OwnFiles
from daemon.app.machines import WorkspaceShare
from daemon.app.soul_clients import OwnerStatus
from daemon.app.start_lines import unusual_host
from daemon.app.tool_status import state_line
from daemon.app.wiring import DaemonServices, make_state, models_by_role
from daemon.console.overview import BudgetInfo, PageAnswers, PageOverview, SlackLinks
from daemon.console.routes import ConsoleSetup, ModelHealth, backend_as_json, mount_console, mount_overview
from daemon.console.tools_page import mount_tools
from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.inner_life.contexts import InnerLifeView
from daemon.kinds import ModelCall
from daemon.prompts.elements import parse_labels, soul_name_in
from daemon.prompts.prompt_catalogue import LABELS_TEXT, SOUL_TEXT
from daemon.settings.home import version
from daemon.slack.web_api import SLACK
from daemon.telemetry.metrics import Metrics
from daemon.tools.owner_tools_page import OwnerToolsPage
from daemon.turn.recall import memory_of_call

GAUGES = (
    ("soul_deaf", "deaf", "1 when no message can come in."),
    ("soul_sockets_alive", "sockets", "Sockets on which Slack sends events."),
    ("soul_inbound_age_seconds", "inbound_age", "Since Slack sent even a pong."),
    ("soul_event_age_seconds", "event_age", "Since Slack sent an event."),
    ("soul_caught_up_timestamp_seconds", "caught_up_until", "Until when all is read."),
    ("soul_catching_up", "catching_up", "1 until what was missed is read, failing or not."),
    ("soul_catch_up_left", "left_to_read", "Conversations and threads that are still to be read."),
)
"""Health metrics: name of the metric, field of the health, description."""


MOST_NAMED_FAULTS = 5
"""Most faulty files of the owner that are named."""


def mount_status(
    app: web.Application, services: DaemonServices, own_files: OwnFiles, machines: WorkspaceShare
) -> StatusView:
    view = StatusView(services, own_files, machines)
    console = ConsoleSetup(
        journal=services.journal,
        rebuild=view.rebuild,
        state=view.state,
        health=view.health,
        ready=services.budget.preload,
        details=view.details,
        inner=view.inside,
        thinking=machines.peers.show_thoughts(services.thinking),
        is_log_away=lambda: machines.is_log_away,
        lag=machines.lag,
    )
    mount_console(app, console)
    mount_overview(app, view.overview)
    mount_tools(app, view.tools)
    view.metrics().mount(app)
    return view


class StatusView:
    """State of the services, for the page and the metrics."""

    def __init__(self, services: DaemonServices, own_files: OwnFiles, machines: WorkspaceShare) -> None:
        self._services = services
        self._machines = machines
        self._own_files = own_files
        self._slack = slack = services.slack
        self._budget = budget = services.budget
        journal, settings, now = services.journal, services.settings, services.clock.now
        self._began, self._version = services.clock.steady(), version()
        self._models = ModelHealth(services.reach, services.claude.availability, now)
        self.inside = InnerLifeView(
            journal=journal,
            state=make_state(journal, services.index, slack.places),
            limits=settings.inner,
            now=now,
            spent=lambda: budget.today().inner,
        )
        purse = BudgetInfo(daily=budget.daily, now=now)
        link = slack.message_link if settings.slack == "real" else _no_link
        directory = SlackLinks(name_of=self._called, people_in=slack.people_in, link=link)
        answering = PageAnswers(journal, settings.owner_user_ids, slack.press)
        self.overview = PageOverview(journal, slack.places, purse, answering, directory)
        self.tools = OwnerToolsPage(
            catalogue=services.tools.catalogue,
            servers=services.tools.connected,
            consents=services.tools.consents,
            faults=lambda: services.tools.configuration.faults,
            places=slack.places,
            team=lambda: slack.team,
            name_of=self._called,
            label=self._label,
            viewer=answering.viewer,
        )

    def metrics(self) -> Metrics:
        hearing = self._slack.hearing
        metrics = Metrics(self._services.journal)
        faults = "Things that are wrong and that no restart mends; /healthz says which."
        metrics.gauge("soul_faults", faults, lambda: len(self._faults()))
        wanted = "Sockets that are kept (SLACK_CONNECTIONS)."
        metrics.gauge("soul_sockets_wanted", wanted, lambda: hearing.wanted)
        for name, part, help in GAUGES:
            metrics.gauge(name, help, partial(self._part_of_hearing, part))
        metrics.counter("soul_events", "Events that Slack sent.", "type", hearing.events)
        opened = "Sockets opened, by what made it necessary."
        metrics.counter("soul_connections", opened, "reason", hearing.opened)
        failed = "Attempts in vain, by what was lacking."
        metrics.counter("soul_connection_failures", failed, "lacking", hearing.failed)
        self._models.add_metrics(metrics)
        if self._machines.share.is_shared:
            self._add_log_metrics(metrics)
        return metrics

    def _add_log_metrics(self, metrics: Metrics) -> None:
        machines = self._machines
        metrics.gauge("soul_at_work", "1 while this daemon takes turns.", lambda: machines.is_at_work)
        reachable = "1 while the log answers."
        metrics.gauge("soul_log_reachable", reachable, lambda: not machines.is_log_away)
        behind = "Entries that this daemon's copy of the log lacks."
        metrics.gauge("soul_log_behind", behind, lambda: machines.health()["log"]["behind"])

    def rebuild(self, call: Entry[ModelCall]) -> tuple[Mapping[str, Any], bool]:
        """Rebuild the request of a call; return (request, True if its digest is the recorded one)."""
        memory = memory_of_call(call, self._services.texts.text_entry, self._services.journal.entry)
        seen = self._services.claude.request(memory, call.event.model, call.event.schema)
        return seen, digest(seen) == call.event.saw

    def state(self) -> Mapping[str, Any]:
        settings, budget = self._services.settings, self._budget
        today = budget.today()
        is_real = settings.slack == "real"
        return {
            "name": self._name(),
            "rehearsed": {"workspace": not is_real, "model": settings.claude == "rehearsed"},
            "workspace_at": unusual_host(settings.slack_api_url, SLACK) if is_real else "",
            "model_at": unusual_host(settings.model_url, ""),
            "budget": budget.daily,
            "spent": today.cost,
            "worth": today.worth,
            "wrong": self._faults(),
            "reports": [self._models.report_as_json(one) for one in self._models.reports],
            "models": {"speak": settings.claude_model, "fast": settings.claude_model_fast},
            "inner": self.inside.has_content,
            "questions": self.overview.open_question_count,
            "tools": self.tools.state_as_json(),
        }

    def _name(self) -> str:
        return soul_name_in(self._services.texts.newest_text(SOUL_TEXT))

    def _label(self, meaning: str) -> str:
        return parse_labels(self._services.texts.newest_text(LABELS_TEXT)).get(meaning, meaning)

    async def _called(self, id: str) -> str:
        if self._slack.is_me(id):
            return self._name()
        return await self._slack.name_of(id)

    def health(self) -> Mapping[str, Any]:
        """Return the health; `ok` if events arrive, the journal works and models answer.

        `restart`: a restart may help. `wrong`: faults that no restart mends.
        """
        journal = self._services.journal
        reports = self._models.reports
        is_away = self._machines.is_log_away
        restart = not is_away and (self._is_deaf or not journal.is_well)
        return {
            "ok": not (restart or is_away) and all(one.slow for one in reports),
            "restart": restart,
            "wrong": self._faults(),
            "reports": [self._models.report_as_json(one) for one in reports],
            **self._hearing_state(),
            **self._tool_state(),
            "writable": journal.is_writable,
            "damage": journal.damage,
            "seq": _last_seq(journal),
            **self._machines.health(),
        }

    @property
    def _is_deaf(self) -> bool:
        """True if events should arrive, and cannot. Other daemons may have all sockets."""
        hearing = self._slack.hearing
        return self._machines.is_at_work and hearing.is_disconnected and not hearing.allotment.is_empty

    def details(self) -> Mapping[str, Any]:
        services, hearing = self._services, self._slack.hearing
        return {
            **self._models.details_as_json(),
            "models": models_by_role(services.settings),
            "backend": backend_as_json(services.claude.backend),
            "version": self._version,
            "uptime": services.clock.steady() - self._began,
            "sockets": hearing.alive_count,
            "sockets_wanted": hearing.wanted,
        }

    def _hearing_state(self) -> Mapping[str, Any]:
        hearing = self._slack.hearing
        return {
            "deaf": self._is_deaf,
            "sockets": hearing.alive_count,
            "inbound_age": hearing.inbound_age,
            "event_age": hearing.event_age,
            **self._backfill_state(),
        }

    def _tool_state(self) -> Mapping[str, Any]:
        """Return a line for each tool server; empty without any."""
        servers = self._services.tools
        names = servers.configuration.current.servers
        lines = [f"{name}: {state_line(servers.connected.state_of(name))}" for name in names]
        return {"tools": lines} if lines else {}

    def _part_of_hearing(self, name: str) -> float | None:
        part: float | None = self._hearing_state()[name]
        return part

    def for_owner(self) -> OwnerStatus:
        return OwnerStatus(
            overview=self.overview,
            inner=self.inside,
            tools=self.tools,
            health=lambda: {**self.health(), **self.details()},
        )

    def _faults(self) -> Sequence[str]:
        reported = [self._models.report_as_json(one)["sentence"] for one in self._models.reports]
        lacking = self._services.claude.backend.check.wrong
        return [
            *self._machines.faults,
            *reported,
            *lacking,
            *self._slack.owner_advice,
            *self._budget.fault,
            *self._file_faults(),
        ]

    def _file_faults(self) -> Sequence[str]:
        found = [*self._services.texts.faults]
        if self._services.library:
            found += self._services.library.find_faults()
        found += self._own_files.changed
        found += self._services.tools.configuration.faults
        more = len(found) - MOST_NAMED_FAULTS
        if more > 0:
            found[MOST_NAMED_FAULTS:] = [
                f"So it is with {more} more of your files: `python -m daemon check` names all."
            ]
        return found

    def _backfill_state(self) -> Mapping[str, Any]:
        """Return the state of the backfill; empty before Slack's first hello.

        A failed backfill is reported as running, because it is retried.
        """
        if not self._slack.hearing.opened:
            return {"caught_up_until": None, "catching_up": False, "left_to_read": 0}
        catch_up = self._slack.catch_up
        left = 0
        if catch_up.is_reading_missed:
            left = catch_up.progress.conversations + catch_up.progress.threads
        return {
            "caught_up_until": catch_up.read_until,
            "catching_up": catch_up.is_reading_missed,
            "left_to_read": left,
        }


def _no_link(channel: str, ts: str, root: str) -> str:
    return ""


def _last_seq(journal: Journal) -> int | None:
    try:
        return journal.last_seq_of_all()
    except JournalError:
        return None
