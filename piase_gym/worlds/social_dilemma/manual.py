"""The words of SocialDilemma's prompts."""

from __future__ import annotations

from piase_gym.world import Manual
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import WORDS


def matrix_manual(config: SocialDilemmaConfig) -> Manual:
    """Return the words of the prompt of a matrix game."""
    words = WORDS[config.game]
    others = "the other player" if config.agents == 2 else f"{config.agents - 1} other players"
    rules = [
        f"You play {words.title} with {others}, round after round. In each round everybody chooses "
        f"at once and without knowing what the others choose: to cooperate, which is to "
        f"{words.cooperate}, or to defect, which is to {words.defect}. What you get for it is in "
        "every observation, and so is what was chosen before.",
    ]
    if config.noise:
        rules.append(
            f"With a chance of {config.noise:g} a choice turns into the other one; all see what it "
            "turned into."
        )
    if config.symbols:
        rules.append(
            f"With a command you can say a symbol from 1 to {config.symbols}, which all others "
            "hear before their next choice."
        )
    if config.talk:
        rules.append(
            f"Steps of talk before each round: {config.talk}. In these only symbols count."
        )
    if config.reputation:
        rules.append("Everybody sees how often each of the others has cooperated.")
    rules.append("What cannot be read counts as defecting in silence.")
    shared = " Everybody gets the mean of all." if config.shared_reward else ""
    return Manual(
        " ".join(rules),
        f"what the table of payoffs says, in each round.{shared}",
        lambda _agent: "get as many points as you can for yourself.",
        end=_end(config),
    )


def _end(config: SocialDilemmaConfig) -> str:
    """Say when the game is over."""
    if config.known_rounds is not None:
        return f"The game is over after {config.known_rounds} rounds."
    return f"After each round the game goes on with a chance of {config.chance:g}."
