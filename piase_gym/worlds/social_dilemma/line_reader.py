"""Reads the lines of one text in order, for SocialDilemma's parsers; errors show the line."""

from __future__ import annotations

from piase_gym.worlds.channel.heard import Heard
from piase_gym.worlds.channel.symbols import ChannelForm
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.texts import lines as texts


class LineReader(texts.LineReader):
    """The lines of one text under a config.

    Attributes:
        config: The config under which the text was shown.
        names: The agents of its envelope.
    """

    def __init__(self, text: str, config: SocialDilemmaConfig) -> None:
        """Begin at the first line."""
        expected, left_over = "another line is expected here", "the text ends before it"
        super().__init__("SocialDilemma", text, expected, left_over)
        self.config = config
        self.names = config.names(config.fixed_envelope().agents)

    def heard(self, agent: str, form: ChannelForm) -> Heard:
        """Read what the others say, and have said."""
        found = Heard(())
        while more := form.take(self.line, agent, found, self._allow):
            found, self.place = more, self.place + 1
        return found

    def _allow(self, fits: bool, _line: str, allowed: str) -> None:
        """Refuse the present line unless it fits."""
        if not fits:
            self.refuse(allowed)
