"""Words between explorers: ``say`` and ``tell``, in an ObjectSearch with ``speech`` in its config.

Reports are made by the kernel, and batches have them. Words travel under the rules of reports
(delay, loss, range, cost). A text has them after everything else, one per line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from piase_gym.core.commands import MAX_LINE
from piase_gym.worlds.channel.heard import Heard, heard_lines
from piase_gym.worlds.channel.manual import history_rules
from piase_gym.worlds.channel.speech import SpeakingWorld
from piase_gym.worlds.object_search.facts import ObjectSearchFacts, Spoken
from piase_gym.worlds.object_search.observe.text import words_line
from piase_gym.worlds.object_search.state import WORDS


class SpeakingExplorers(SpeakingWorld):
    """How explorers speak, besides their reports."""

    words_stream: ClassVar[int] = WORDS
    longest_message: ClassVar[int] = MAX_LINE
    wordless: ClassVar[str] = "reports"

    @property
    def _playing(self) -> Sequence[bool]:
        """Which agents are in play."""
        return self.alive

    @property
    def cost_of_words(self) -> float:
        """What a report costs."""
        return float(self.config.message_cost - self.config.rewards.message)

    def _letters_heard(self) -> list[Heard]:
        """Return what each agent is told now."""
        by_agent = super()._letters_heard()
        return [
            Heard(tuple(Spoken(*letter) for letter in heard.messages), heard.earlier)
            for heard in by_agent
        ]

    @staticmethod
    def apart(facts: ObjectSearchFacts) -> tuple[ObjectSearchFacts, Heard]:
        """Return facts without what was said in words, and those words."""
        letters = tuple(letter for letter in facts.messages if isinstance(letter, Spoken))
        reports = tuple(letter for letter in facts.messages if not isinstance(letter, Spoken))
        return replace(facts, messages=reports, earlier=()), Heard(letters, facts.earlier)

    @staticmethod
    def with_words(text: str, heard: Heard) -> str:
        """Return a text with what was said in words at its end."""
        now = map(words_line, heard.messages)
        return "\n".join([text, *now, *heard_lines((), heard.earlier)])

    def words_told(self) -> str:
        """Return what the prompt says about speaking."""
        if not self.config.channel:
            return super().words_told()
        text = "You can also stay and say something in words, under the same rules as reports."
        return " ".join([text, *history_rules(self.config)])
