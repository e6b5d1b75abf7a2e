"""The words of SocialDilemma's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import GAMES_BY_NAME
from piase_gym.worlds.social_dilemma.line_reader import times
from piase_gym.worlds.social_dilemma.matrix.text import payoffs_told


def matrix_manual(config: SocialDilemmaConfig) -> Manual:
    """Return the words of the prompt of a matrix game."""
    game, (first, second) = GAMES_BY_NAME[config.game], config.words
    others = "the other player" if config.agents == 2 else f"{config.agents - 1} other players"
    meaning = (
        ""
        if config.choice_names == "native"
        else f" ({first}: {game.cooperate}; {second}: {game.defect})"
    )
    rules = [
        f"You play {game.title} with {others}, round after round. In each round everybody chooses "
        f"at once, without knowing what the others choose: {first} or {second}{meaning}.",
        payoffs_told(config),
    ]
    if config.noise:
        rules.append(
            f"With a chance of {config.noise:g} a choice turns into the other one; all see what it "
            "turned into."
        )
    if config.symbols:
        rules.append(
            f"With a choice you can say a symbol {_symbols(config)} ({first} saying 1), which all "
            "others hear before they choose the next time."
        )
    if config.talk:
        rules.append(
            f"Each round begins with {times(config.talk, 'step')} of talk, in which you only say a "
            f"symbol {_symbols(config)} (say 1) or nothing (say nothing)."
        )
    if config.reputation:
        rules.append(f"Everybody sees how often each of the others chose {first}.")
    rules.append(
        f"A command that cannot be read pays as {second} does, and is shown to all as unreadable."
    )
    shared = " Everybody gets the mean of all." if config.shared_reward else ""
    return Manual(
        "\n".join(rules),
        f"in each round what you get by these payoffs.{shared}",
        lambda _agent: "get as many points as you can for yourself.",
        end=_end(config),
        example=(f"Choose now: {first} or {second}.", second),
    )


def _symbols(config: SocialDilemmaConfig) -> str:
    """Tell which symbols there are."""
    return f"from 1 to {config.symbols}" if config.symbols > 1 else "1"


def _end(config: SocialDilemmaConfig) -> str:
    """Say when the game is over."""
    if config.known_rounds is not None:
        return f"The game is over after {times(config.known_rounds, 'round')}."
    return f"After each round the game goes on with a chance of {config.chance:g}."


def commons_manual(config: SocialDilemmaConfig) -> Manual:
    """Return the words of the prompt of a commons."""
    rules = [
        "You live on a grid with others. Columns and rows count from 0 at the top left, and up, "
        "down, left and right are the directions of the grid. A move turns you that way, even if "
        f"somebody is there. You see a square of {config.window} by {config.window} cells, turned "
        "so that you look ahead: you stand in the middle of its nearest row. Cells that an "
        "observation does not mention are bare floor. Stepping onto an apple eats it.",
        _growth(config),
    ]
    if config.timeout:
        rules.append(
            f"A zap flies {config.zap_range} cells ahead and sends the first agent that it meets "
            f"into time-out for {config.timeout} steps, after which it comes back somewhere else."
        )
    if config.symbols:
        rules.append(
            f"With each command you can say a symbol from 1 to {config.symbols} to all others."
        )
    if config.reputation:
        rules.append("Everybody sees what each of the others has eaten, cleaned and fired.")
    costs = f"a zap {0 - config.zap_cost:+g}, being zapped {0 - config.zap_fine:+g}"
    shared = " Everybody gets the mean of all." if config.shared_reward else ""
    return Manual(
        " ".join(rules),
        f"an apple {config.apple:+g}{', ' + costs if config.timeout else ''}.{shared}",
        lambda _agent: "get as much reward as you can for yourself.",
        end=f"The game is over after {config.length} steps.",
    )


def _growth(config: SocialDilemmaConfig) -> str:
    """Explain how apples grow."""
    if config.game == "harvest":
        chances = ", ".join(f"{chance:g}" for chance in config.regrowth)
        return (
            "Where an apple was eaten another may grow, with a chance in each step that depends on "
            f"how many apples hang within 2 cells: with 0, 1, 2 and more it is {chances}. A patch "
            "of which the last apple is eaten may never recover."
        )
    return (
        f"Apples grow on the {config.orchard} columns on the right, with a chance of up to "
        f"{config.apple_chance:g} in each step, less the more of the river on the left is waste; "
        f"from a share of {config.most_waste:g} on none grows. Waste keeps coming. To clean turns "
        f"the first waste within {config.clean_range} cells ahead of you to water, which serves "
        "all, but feeds nobody at once."
    )
