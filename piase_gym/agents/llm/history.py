"""What a model is shown of earlier steps: all, the last ones, or a summary and the last ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from piase_gym.errors import ConfigError

Messages = list[dict[str, str]]
KEPT = 2000
"""Most characters of a model's own reply that are kept."""
SUMMARISE = (
    "Sum up what you have seen, done and learned so far, for yourself, in at most 150 words: what "
    "there is and where, what worked, what did not, and what you are up to. Give no command."
)


@dataclass(frozen=True)
class HistoryPolicy:
    """How much of an episode a model is shown.

    Attributes:
        kind: ``full``, ``last`` or ``summary``.
        size: How many steps ``last`` shows, and ``summary`` keeps when it sums up older ones.
    """

    kind: str
    size: int

    @classmethod
    def read(cls, text: object) -> HistoryPolicy:
        """Return the policy that ``full``, ``last:8`` or ``summary:8`` names.

        Raises:
            ConfigError: If it names none.
        """
        known = r"(full)|(last|summary):(\d{1,4})"
        match = re.fullmatch(known, text) if isinstance(text, str) else None
        if match is None or (match[2] == "summary" and match[3] == "0"):
            allowed = "'full', 'last:K' and 'summary:K', such as 'last:8'"
            raise ConfigError(f"history {text!r:.60} is not known; allowed: {allowed}")
        return cls(match[1] or match[2], int(match[3] or 0))


class History:
    """The steps of one episode, as a model saw them.

    Attributes:
        turns: What it was told and what it answered in the steps that are still shown.
        summary: Its summary of the steps before those.
    """

    def __init__(self, policy: HistoryPolicy) -> None:
        """Begin with nothing."""
        self.policy = policy
        self.turns: list[tuple[str, str]] = []
        self.summary = ""

    def add(self, shown: str, answered: str) -> None:
        """Keep a step."""
        self.turns.append((shown, answered[:KEPT] or "(no answer)"))
        if self.policy.kind == "last":
            del self.turns[: max(0, len(self.turns) - self.policy.size)]

    def messages(self) -> Messages:
        """Return what is shown of earlier steps."""
        found: Messages = []
        if self.summary:
            content = f"Your own summary of the steps before:\n{self.summary}"
            found += [_user(content), _assistant("I remember.")]
        for shown, answered in self.turns:
            found += [_user(shown), _assistant(answered)]
        return found

    @property
    def is_long(self) -> bool:
        """Whether a summary is due: twice `size` steps have been kept."""
        return self.policy.kind == "summary" and len(self.turns) >= 2 * self.policy.size

    def question(self) -> Messages:
        """Return the messages that ask for a summary."""
        return [*self.messages(), _user(SUMMARISE)]

    def shorten(self, summary: str) -> None:
        """Replace the older steps by a summary; an empty one only drops them."""
        self.turns = self.turns[-self.policy.size :]
        self.summary = (summary or self.summary)[:KEPT]

    def get_state(self) -> dict[str, Any]:
        """Return everything as a JSON-able value."""
        return {"turns": [list(turn) for turn in self.turns], "summary": self.summary}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self.turns = [(str(shown), str(answered)) for shown, answered in state["turns"]]
        self.summary = str(state["summary"])


def _user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def _assistant(content: str) -> dict[str, str]:
    return {"role": "assistant", "content": content}
