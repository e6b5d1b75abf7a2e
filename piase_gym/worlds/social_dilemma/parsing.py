"""Reads SocialDilemma's texts back."""

from __future__ import annotations

from piase_gym.core.world import Facts
from piase_gym.worlds.social_dilemma.commons import text as commons_text
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix import text as matrix_text


def parse(text: str, config: SocialDilemmaConfig) -> Facts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that the world writes; the message shows the line.
    """
    if config.is_commons:
        return commons_text.parse(text, config)
    return matrix_text.parse(text, config)
