"""How the soul behaves: the mental processes, by name. They name each other and never import each other."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.ports import Process
from daemon.processes.conversation import conversation
from daemon.processes.greeting import greeting

INITIAL = "conversation"
PROCESSES: Mapping[str, Process] = {"conversation": conversation, "greeting": greeting}
