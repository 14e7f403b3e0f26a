"""What the daemon shows of itself: the page's state, its health, how well it hears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from daemon.actions.own import OwnFiles
from daemon.connections import models_by_role
from daemon.console.answering import PageAnswers
from daemon.console.backend_table import backend_as_json
from daemon.console.inside import InnerLifeView
from daemon.console.metrics import Metrics
from daemon.console.model_health import ModelHealth
from daemon.console.overview import BudgetInfo, PageOverview, SlackLinks
from daemon.console.overview_routes import mount_overview
from daemon.console.routes import ConsoleSetup, mount_console
from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.introduction import unusual_host
from daemon.kinds import ModelCall
from daemon.mind.recall import memory_of_call
from daemon.mind.wording import SOUL_TEXT, soul_name_in
from daemon.project import version
from daemon.services import DaemonServices
from daemon.slack.access import SLACK
from daemon.within import make_state

GAUGES = (
    ("soul_deaf", "deaf", "1 when no message can come in."),
    ("soul_sockets_alive", "sockets", "Sockets on which Slack sends events."),
    ("soul_inbound_age_seconds", "inbound_age", "Since Slack sent even a pong."),
    ("soul_event_age_seconds", "event_age", "Since Slack sent an event."),
    ("soul_caught_up_timestamp_seconds", "caught_up_until", "Until when all is read."),
    ("soul_catching_up", "catching_up", "1 until what was missed is read, failing or not."),
    ("soul_catch_up_left", "left_to_read", "Conversations and threads that are still to be read."),
)
"""The parts of its health that a scraper sees as figures: the name of each there, and here."""
MOST_FILES = 5
"""The owner's files that are named, of those that cannot be used."""


def mount_status(app: web.Application, services: DaemonServices, own_files: OwnFiles) -> None:
    """Add the page, and what a scraper may know, to this application."""
    view = StatusView(services, own_files)
    console = ConsoleSetup(
        journal=services.journal,
        rebuild=view.rebuild,
        state=view.state,
        health=view.health,
        ready=services.budget.preload,
        details=view.details,
        inner=view.inside,
        thinking=services.thinking,
    )
    mount_console(app, console)
    mount_overview(app, view.overview)
    view.metrics().mount(app)


class StatusView:
    """What a page and a scraper may know of these services."""

    def __init__(self, services: DaemonServices, own_files: OwnFiles) -> None:
        self._services = services
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
        directory = SlackLinks(called=self._called, people_in=slack.people_in, link=link)
        answering = PageAnswers(journal, settings.owner_user_ids, slack.press)
        self.overview = PageOverview(journal, slack.places, purse, answering, directory)

    def metrics(self) -> Metrics:
        """What the journal says, and how well the soul hears."""
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
        return metrics

    def rebuild(self, call: Entry[ModelCall]) -> tuple[Mapping[str, Any], bool]:
        """What the model was sent in this call, made anew; and whether that is what it saw."""
        memory = memory_of_call(call, self._services.texts.text_entry, self._services.journal.entry)
        seen = self._services.claude.request(memory, call.event.model, call.event.schema)
        return seen, digest(seen) == call.event.saw

    def state(self) -> Mapping[str, Any]:
        """What stands at the top of the page."""
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
        }

    def _name(self) -> str:
        """The soul's, as soul.md says it now."""
        return soul_name_in(self._services.texts.newest_text(SOUL_TEXT))

    async def _called(self, id: str) -> str:
        """What a person or a channel is called; the soul is called as soul.md says."""
        if self._slack.is_me(id):
            return self._name()
        return await self._slack.name_of(id)

    def health(self) -> Mapping[str, Any]:
        """`ok`: it hears, remembers, and its models answer. Only with `restart` may a restart help.

        What is `wrong` no restart can mend, and messages wait for it, but where a model is only slow.
        """
        journal = self._services.journal
        reports = self._models.reports
        restart = self._slack.hearing.is_disconnected or not journal.is_well
        return {
            "ok": not restart and all(one.slow for one in reports),
            "restart": restart,
            "wrong": self._faults(),
            "reports": [self._models.report_as_json(one) for one in reports],
            **self._hearing_state(),
            "writable": journal.is_writable,
            "damage": journal.damage,
            "seq": _last(journal),
        }

    def details(self) -> Mapping[str, Any]:
        """What Health shows beside that: what runs here, for how long, and how its models fare."""
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
        """How well it hears, and what it has still to read."""
        hearing = self._slack.hearing
        return {
            "deaf": hearing.is_disconnected,
            "sockets": hearing.alive_count,
            "inbound_age": hearing.inbound_age,
            "event_age": hearing.event_age,
            **self._backfill_state(),
        }

    def _part_of_hearing(self, name: str) -> float | None:
        part: float | None = self._hearing_state()[name]
        return part

    def _faults(self) -> Sequence[str]:
        """Tell owners what is wrong: of models, the app in Slack, what may be spent, and their own files."""
        told = [self._models.report_as_json(one)["sentence"] for one in self._models.reports]
        lacking = self._services.claude.backend.check.wrong
        return [*told, *lacking, *self._slack.owner_advice, *self._budget.fault, *self._file_faults()]

    def _file_faults(self) -> Sequence[str]:
        """Tell why files of the owner's are not in use as they are now; of many, the first ones."""
        found = [*self._services.texts.faults]
        if self._services.library:
            found += self._services.library.find_faults()
        found += self._own_files.changed
        more = len(found) - MOST_FILES
        if more > 0:
            found[MOST_FILES:] = [
                f"So it is with {more} more of your files: `python -m daemon check` names all."
            ]
        return found

    def _backfill_state(self) -> Mapping[str, Any]:
        """How far what was missed is read; the log says it, too, where it takes long.

        There is none before Slack has said hello for the first time, or where the daemon never was away. It
        runs also while it fails and is tried again: then for long, and the time until which all is read
        stands still.
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
    """A rehearsed message stands on the page alone."""
    return ""


def _last(journal: Journal) -> int | None:
    """None where not even that can be read: then `damage` says why."""
    try:
        return journal.last_seq_of_all()
    except JournalError:
        return None
