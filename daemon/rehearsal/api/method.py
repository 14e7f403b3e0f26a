"""What a Web API method is: the function that answers it, the scope it wants, the tokens that may call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daemon.rehearsal.api.call import Call
from daemon.rehearsal.people import Caller
from daemon.rehearsal.refusal import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """`kinds` are the kinds of token that Slack takes for it."""

    answer: Callable[[Call], dict[str, Any]]
    scope: str = ""
    kinds: tuple[str, ...] = ("user", "bot")

    def check(self, caller: Caller) -> None:
        """Refuse a token of the wrong kind or without the scope."""
        if caller.kind not in self.kinds:
            raise Refused("not_allowed_token_type")
        granted = caller.app.scopes if caller.app and caller.kind == "bot" else (self.scope,)
        if self.scope and self.scope not in granted:
            raise Refused("missing_scope", needed=self.scope, provided=",".join(granted))
