"""How the soul behaves: the mental processes, by name. They name each other and never import each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from daemon.actions.playing import Player
from daemon.mind.afterthoughts import LEARNING, SUMMARIZING
from daemon.ports import Role
from daemon.process import Process
from daemon.processes import (
    closing,
    conversation,
    greeting,
    learning,
    noticing,
    problem_solving,
    refusing,
    stopping,
    summarizing,
    tracing,
)

OFFERED = ("conversation", "problem_solving", "closing")
"""What a conversation may go over into; playbooks come to it. The first is where every thread begins."""
EXPERT = "expert"
"""The playbook that only Escalate leads to, with a model of its own."""
PROCESSES: Mapping[str, Process] = {
    "conversation": conversation.conversation,
    "greeting": greeting.greeting,
    "problem_solving": problem_solving.problem_solving,
    "closing": closing.closing,
    "stopping": stopping.stopping,
    "refusing": refusing.refusing,
    "tracing": tracing.tracing,
    "noticing": noticing.noticing,
    LEARNING: learning.learns_about_the_person,
    SUMMARIZING: summarizing.summarizes_conversation,
}
"""Everything in fixed steps, as it is without the ISM."""


def played(player: Player, playbooks: Iterable[str], *, expert: bool) -> Mapping[str, Process]:
    """All processes, where those that have a playbook find their own way; is there a model for the expert?"""
    roles: dict[str, Role] = {name: "speak" for name in playbooks}
    if expert:
        roles[EXPERT] = "expert"
    return {
        **PROCESSES,
        **{name: problem_solving.playing(player, name, role) for name, role in roles.items()},
    }
