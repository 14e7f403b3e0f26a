"""What the daemon shows of itself: the page's state, its health, how well it hears. Made by app.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from daemon.claude.models import model
from daemon.claude.request import request
from daemon.console.inside import Inside
from daemon.console.metrics import Metrics
from daemon.console.overview import Directory, Overview, Purse
from daemon.console.overview_routes import mount_overview
from daemon.console.routes import Console, mount
from daemon.engine.event import Entry, digest
from daemon.engine.exceptions import JournalError
from daemon.engine.journal import Journal
from daemon.introduction import elsewhere
from daemon.kinds import ModelCall
from daemon.mind.recall import seen_by
from daemon.mind.wording import SOUL, name_of
from daemon.services import Services
from daemon.slack.access import SLACK
from daemon.slack.surface import Slack
from daemon.soul.texts import Texts
from daemon.within import state_of


def show(app: web.Application, services: Services) -> None:
    """Add the page, and what a scraper may know, to this application."""
    journal, settings, budget, slack = services.journal, services.settings, services.budget, services.slack
    inside = Inside(
        journal=journal,
        state=state_of(journal, services.index, slack.places),
        limits=settings.inner,
        now=services.clock.now,
        spent=lambda: budget.today().inner,
    )
    purse = Purse(daily=budget.daily, now=services.clock.now)
    link = slack.link if settings.slack == "real" else _no_link
    directory = Directory(called=slack.called, link=link)
    overview = Overview(journal, slack.places, purse, settings.owner_user_ids, directory)
    console = Console(
        journal=journal,
        rebuild=partial(_rebuild, journal, services.texts),
        state=partial(_state, services, inside, overview),
        health=partial(_health, services),
        inner=inside,
        thinking=services.thinking,
    )
    mount(app, console)
    mount_overview(app, overview)
    _metrics(services).mount(app)


def _metrics(services: Services) -> Metrics:
    """What a scraper may know: what the journal says, and how well the soul hears."""
    slack = services.slack
    shown, hearing = Metrics(services.journal), slack.hearing
    gauge, counter = shown.gauge, shown.counter
    gauge(
        "soul_faults",
        "Things that only an owner can mend; /healthz says which.",
        lambda: len(_wrong(services)),
    )
    gauge("soul_deaf", "1 when no message can come in.", lambda: hearing.deaf)
    gauge("soul_sockets_alive", "Sockets on which Slack sends events.", lambda: hearing.alive)
    gauge("soul_sockets_wanted", "Sockets that are kept (SLACK_CONNECTIONS).", lambda: hearing.wanted)
    gauge("soul_inbound_age_seconds", "Since Slack sent even a pong.", lambda: hearing.inbound_age)
    gauge("soul_event_age_seconds", "Since Slack sent an event.", lambda: hearing.event_age)
    gauge("soul_caught_up_timestamp_seconds", "Until when all is read.", lambda: _read_until(slack))
    gauge("soul_catching_up", "1 until what was missed is read, failing or not.", lambda: _reading(slack))
    gauge("soul_catch_up_left", "Conversations and threads that are still to be read.", lambda: _left(slack))
    counter("soul_events", "Events that Slack sent.", "type", hearing.events)
    counter("soul_connections", "Sockets opened, by what made it necessary.", "reason", hearing.opened)
    counter("soul_connection_failures", "Attempts in vain, by what was lacking.", "lacking", hearing.failed)
    return shown


def _no_link(channel: str, ts: str, root: str) -> str:
    """A rehearsed message stands on the page alone."""
    return ""


def _rebuild(journal: Journal, texts: Texts, call: Entry[ModelCall]) -> tuple[Mapping[str, Any], bool]:
    memory = seen_by(call, texts.read, journal.at)
    seen = request(memory, model(call.event.model), call.event.schema)
    return seen, digest(seen) == call.event.saw


def _state(services: Services, inside: Inside, overview: Overview) -> Mapping[str, Any]:
    settings, budget = services.settings, services.budget
    return {
        "name": name_of(services.texts.as_it_is(SOUL)),
        "rehearsed": {"workspace": settings.slack == "rehearsed", "model": settings.claude == "rehearsed"},
        "workspace_at": elsewhere(settings.slack_api_url, SLACK) if settings.slack == "real" else "",
        "model_at": elsewhere(settings.anthropic_base_url, ""),
        "budget": budget.daily,
        "spent": budget.today().cost,
        "worth": budget.today().worth,
        "wrong": _wrong(services),
        "models": {"speak": settings.claude_model, "fast": settings.claude_model_fast},
        "inner": inside.there,
        "questions": overview.waiting,
    }


def _wrong(services: Services) -> Sequence[str]:
    """What only an owner can mend: of the model's account, the app in Slack, and what may be spent."""
    return [*services.reach.wrong, *services.slack.wrong, *services.budget.wrong]


def _health(services: Services) -> Mapping[str, Any]:
    """`ok` is for whoever restarts it: what is `wrong` no restart can mend, and messages wait for it."""
    journal, slack = services.journal, services.slack
    hearing = slack.hearing
    return {
        "ok": journal.well and not hearing.deaf,
        "wrong": _wrong(services),
        "deaf": hearing.deaf,
        "sockets": hearing.alive,
        "inbound_age": hearing.inbound_age,
        "event_age": hearing.event_age,
        "caught_up_until": _read_until(slack),
        "catching_up": _reading(slack),
        "left_to_read": _left(slack),
        "writable": journal.writable,
        "damage": journal.damage,
        "seq": _last(journal),
    }


def _last(journal: Journal) -> int | None:
    """None where not even that can be read: then `damage` says why."""
    try:
        return journal.last()
    except JournalError:
        return None


def _read_until(slack: Slack) -> float | None:
    """None before Slack has said hello for the first time: whoever asks that early finds no catch-up."""
    return slack.catch_up.until if slack.hearing.opened else None


def _reading(slack: Slack) -> bool:
    """Also while it fails and is tried again: then for long, and `_read_until` stands still."""
    return bool(slack.hearing.opened) and slack.catch_up.running


def _left(slack: Slack) -> int:
    """How many conversations and threads are known to be left; the log says it, too, where it takes long."""
    if not _reading(slack):
        return 0
    progress = slack.catch_up.progress
    return progress.conversations + progress.threads
