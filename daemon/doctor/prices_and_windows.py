"""What is known of the models that the settings name: what they cost, and how much they take."""

from __future__ import annotations

from collections.abc import Iterator

from config import Settings
from daemon.claude.client import ClaudeClient
from daemon.claude.models import is_listed
from daemon.doctor.finding import Finding, ill_finding, well_finding
from daemon.introduction import budget_warning_line
from daemon.playbook_faults import suggest_name


def examine_models(settings: Settings, llm: ClaudeClient) -> Iterator[Finding]:
    """Yield what each model costs and takes, by the settings or its server, and settings of no use."""
    table, names = settings.table, settings.model_names
    costs = [f"{name} {table.model(name).price}" for name in names]
    yield well_finding("prices", f"{', '.join(costs)} (input/output/cached, in dollars for a million tokens)")
    yield well_finding("windows", "; ".join(_window(settings, llm, name) for name in names))
    yield well_finding("form", _form(settings))
    small = budget_warning_line(settings).removeprefix("; ")
    if small and settings.budget_daily_usd:
        yield ill_finding("budget", small)
    for key, given in (("MODEL_PRICES", settings.model_prices), ("MODEL_WINDOW", settings.model_window)):
        for name, _ in given:
            if name and name not in names:
                guess = suggest_name(name, names)
                said = f"{key} names {name}, and no setting names such a model"
                yield Finding(name="unused", said=f"{said}; {guess}".rstrip("; "), ok=not guess)


def _form(settings: Settings) -> str:
    match settings.model_form:
        case "auto" if all(map(is_listed, settings.model_names)):
            return "answers in sections"
        case "auto":
            return "answers in sections; in plain words where a model does not keep them (MODEL_FORM=auto)"
        case form:
            return f"answers in {'plain words' if form == 'plain' else form} (MODEL_FORM={form})"


def _window(settings: Settings, llm: ClaudeClient, name: str) -> str:
    said = f"{name} {llm.window(name):,} tokens"
    if llm.backend.window(name):
        return said
    told = dict(settings.model_window)
    if is_listed(name) or name in told or "" in told:
        return said
    return f"{said}, as nobody says it: set MODEL_WINDOW to what its server takes (16000 is usual)"
