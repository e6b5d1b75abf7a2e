"""Words between the players of a matrix game: in the steps of talk before each round."""

from __future__ import annotations

from piase_gym.worlds.channel.speech import SpeakingWorld


class SpeaksBetweenRounds(SpeakingWorld):
    """How players speak: while it is time to talk, when no choice counts."""

    @property
    def may_speak(self) -> bool:
        """Whether this is a time to talk."""
        return bool(self.states["talk"][0])
