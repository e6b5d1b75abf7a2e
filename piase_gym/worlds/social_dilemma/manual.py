"""The words of SocialDilemma's prompts."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.channel.manual import channel_rules, further_rules
from piase_gym.worlds.grids.moves import scene_manual
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import GAMES_BY_NAME
from piase_gym.worlds.social_dilemma.matrix.text import payoffs_text
from piase_gym.worlds.texts.wording import counted


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
        payoffs_text(config),
    ]
    if config.noise:
        rules.append(
            f"With a chance of {config.noise:g} a choice turns into the other one; all see what it "
            "turned into."
        )
    if config.symbols:
        rules.append(
            f"With a choice you can say a symbol {_symbols(config)} ({first} saying 1), which all "
            f"others hear before they choose the next time.{further_rules(config)}"
        )
    if config.talk:
        said = f"a symbol {_symbols(config)} (say 1)" if config.symbols else "something in words"
        rules.append(
            f"Each round begins with {counted(config.talk, 'step')} of talk, in which you only say "
            f"{said} or nothing (say nothing)."
        )
    if config.coin:
        rules.append(
            f"Before each round a coin is thrown, which {config.names()[0]} alone sees. Where it "
            f"shows tails, {first} pays as {second} does, and {second} as {first}, for everybody."
        )
    if config.reputation:
        rules.append(f"Everybody sees how often each of the others chose {first}.")
    rules.append(
        f"A command that cannot be read pays as {second} does, and is shown to all as unreadable."
    )
    return Manual(
        "\n".join(rules),
        "in each round what you get by these payoffs.",
        lambda _agent: "get as many points as you can for yourself.",
        end=_end(config),
        example=(f"Choose now: {first} or {second}.", second),
    )


def _symbols(config: SocialDilemmaConfig) -> str:
    """Say which symbols there are."""
    return f"from 1 to {config.symbols}" if config.symbols > 1 else "1"


def _end(config: SocialDilemmaConfig) -> str:
    """Say when the game is over."""
    if config.known_rounds is not None:
        return f"The game is over after {counted(config.known_rounds, 'round')}.{_cut_off(config)}"
    goes_on = f"After each round the game goes on with a chance of {config.chance:g}."
    return f"{goes_on}{_cut_off(config)}"


def _cut_off(config: SocialDilemmaConfig) -> str:
    """Say after how many steps a game is cut off, if it can go on for longer.

    Games that go on by chance are over long before the default, in practice.
    """
    rounds, usual = config.known_rounds, type(config).model_fields["max_steps"].default
    if config.max_steps >= (rounds * (1 + config.talk) if rounds else usual):
        return ""
    return f" It is cut off, and lost, after {counted(config.max_steps, 'step')}."


def commons_manual(config: SocialDilemmaConfig) -> Manual:
    """Return the words of the prompt of a commons."""
    rules = [
        f"You live on a grid with {config.agents} agents in all. Columns count from 0 in the west, "
        "rows from 0 in the north.",
        _walking(config),
        "Stepping onto an apple eats it.",
        _growth(config),
    ]
    if config.timeout:
        rules.append(
            f"A zap flies {config.zap_range} cells ahead and sends the first agent that it meets "
            f"into time-out for {config.timeout} steps. In time-out you see nothing and can only "
            "stay; then you come back at a random free cell, facing north."
        )
    if config.symbols:
        rules.append(channel_rules(config))
    if config.reputation:
        seen = "eaten, cleaned and fired" if config.game == "cleanup" else "eaten and fired"
        rules.append(f"Everybody sees what each of the others has {seen}.")
    rules.append(scene_manual(config.frame, config.window, "bare floor"))
    if config.remembers:
        rules.append("What is remembered at (3, 5) is in column 3, row 5.")
    costs = f"a zap {0 - config.zap_cost:+g}"
    if config.zap_fine:
        costs += f", being zapped {0 - config.zap_fine:+g}"
    zapping = ("zapped_another", "was_zapped") if config.timeout else ()
    cleaning = ("waste_cleaned",) if config.game == "cleanup" else ()
    side = "north" if config.frame == "grid" else "ahead"
    return Manual(
        " ".join(rules),
        f"an apple {config.apple:+g}{', ' + costs if config.timeout else ''}; all else 0.",
        lambda _agent: "get as much reward as you can for yourself.",
        end=f"The game is over after {config.length} steps.{_cut_off(config)}",
        milestones=("apple_eaten", *zapping, *cleaning),
        example=(
            f"You see an apple 1 {side}.",
            "move north" if config.frame == "grid" else "forward",
        ),
    )


def _walking(config: SocialDilemmaConfig) -> str:
    """Explain how to walk in the frame of reference."""
    if config.frame == "grid":
        return (
            "A move turns you that way, even if somebody is there, and then takes you to the next "
            "cell if nobody is there."
        )
    return "You step ahead, and turn on the spot; ahead, left and right are yours."


def _growth(config: SocialDilemmaConfig) -> str:
    """Explain how apples grow."""
    if config.game == "harvest":
        chances = ", ".join(f"{chance:g}" for chance in config.regrowth)
        return (
            "Where an apple was eaten another may grow, with a chance in each step that depends on "
            f"how many apples hang within 2 cells: with 0, 1, 2 and more it is {chances}. A patch "
            "of which the last apple is eaten may never recover."
        )
    first = config.width - config.orchard
    half = config.apple_chance / 2
    return (
        f"The river fills {_columns(0, config.river)} in the west; you can walk in it. Apples grow "
        f"in the orchard, {_columns(first, config.orchard)} in the east. A share of "
        f"{config.start_waste:g} of the river is waste at the start. While the share is below "
        f"{config.most_waste:g}, another cell of water turns to waste in each step with a chance "
        f"of {config.waste_chance:g}. On each bare cell of the orchard an apple grows in each step "
        f"with a chance of {config.apple_chance:g} if the river has no waste, {half:g} if the "
        f"share is {config.most_waste / 2:g}, and none from {config.most_waste:g} on. To clean "
        f"turns the first waste within {config.clean_range} cells ahead of you to water, and pays "
        "nothing."
    )


def _columns(first: int, count: int) -> str:
    """Name some columns."""
    return f"column {first}" if count == 1 else f"columns {first} to {first + count - 1}"
