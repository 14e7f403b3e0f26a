"""How the soul behaves: the mental processes, by name. They name each other and never import each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from daemon.actions.playing import Player
from daemon.mind.afterthoughts import LEARNING, SUMMARIZING
from daemon.ports import Role
from daemon.process import Process
from daemon.processes.closing import closing
from daemon.processes.conversation import conversation
from daemon.processes.greeting import greeting
from daemon.processes.learning import learns_about_the_person
from daemon.processes.noticing import noticing
from daemon.processes.problem_solving import playing, problem_solving
from daemon.processes.refusing import refusing
from daemon.processes.stopping import stopping
from daemon.processes.summarizing import summarizes_conversation
from daemon.processes.tracing import tracing

OFFERED = ("conversation", "problem_solving", "closing")
"""What a conversation may go over into; playbooks come to it. The first is where every thread begins."""
EXPERT = "expert"
"""The playbook that only Escalate leads to, with a model of its own."""
PROCESSES: Mapping[str, Process] = {
    "conversation": conversation,
    "greeting": greeting,
    "problem_solving": problem_solving,
    "closing": closing,
    "stopping": stopping,
    "refusing": refusing,
    "tracing": tracing,
    "noticing": noticing,
    LEARNING: learns_about_the_person,
    SUMMARIZING: summarizes_conversation,
}
"""Everything in fixed steps, as it is without the ISM."""


def played(player: Player, playbooks: Iterable[str], *, expert: bool) -> Mapping[str, Process]:
    """All processes, where those that have a playbook find their own way; is there a model for the expert?"""
    roles: dict[str, Role] = {name: "speak" for name in playbooks}
    if expert:
        roles[EXPERT] = "expert"
    return {**PROCESSES, **{name: playing(player, name, role) for name, role in roles.items()}}
