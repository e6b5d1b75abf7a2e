"""The sentences of prompts about channels: what can be said, who hears it when, and its cost."""

from __future__ import annotations

from piase_gym.worlds.channel.config import MessageConfig, SymbolConfig
from piase_gym.worlds.texts.wording import counted


def channel_rules(config: SymbolConfig, said_with_what: str = "each command") -> str:
    """Return the sentences of a prompt about the channel; none if it is off.

    Args:
        config: The config.
        said_with_what: What a message can be said with.
    """
    if not config.symbols:
        return ""
    least = f"a symbol from 1 to {config.symbols}"
    if config.message_length > 1:
        least = f"a message of 1 to {config.message_length} symbols from 1 to {config.symbols}"
    to = ", or to one of them (saying 1 to NAME)" if config.message_to else ""
    sentences = [f"With {said_with_what} you can say {least} to all others{to}."]
    return " ".join([*sentences, *channel_conditions(config)])


def further_rules(config: SymbolConfig) -> str:
    """Return what a prompt adds about a channel beyond single symbols to all; often nothing."""
    sentences = channel_conditions(config)
    if config.message_to:
        sentences.insert(0, "A symbol can be for one of them alone (saying 1 to NAME).")
    if config.message_length > 1:
        sentences.insert(0, f"A message has up to {config.message_length} symbols (saying 1 2).")
    return " ".join(["", *sentences])


def channel_conditions(config: MessageConfig) -> list[str]:
    """Return sentences about when and by whom messages are heard, and what they cost."""
    sentences: list[str] = []
    if config.message_delay:
        sentences.append(f"What is said is heard {counted(config.message_delay, 'step')} later.")
    sentences += limit_rules(config)
    if config.message_loss:
        sentences.append(f"A listener misses a message with a chance of {config.message_loss:g}.")
    return sentences + history_rules(config)


def heard_when(config: MessageConfig) -> str:
    """Say when words are heard: ``soon``, or as in ``2 steps later, if it is not lost``."""
    when = f"{counted(config.message_delay, 'step')} later" if config.message_delay else "soon"
    return f"{when}{', if it is not lost' if config.message_loss else ''}"


def history_rules(config: MessageConfig) -> list[str]:
    """Return a sentence about the earlier messages that are shown, if any are."""
    history = getattr(config, "message_history", 0)
    return [f"You are shown the last {history} messages of each of the others."] * bool(history)


def limit_rules(config: MessageConfig) -> list[str]:
    """Return sentences about how far and by whom messages are heard, and what they cost."""
    sentences: list[str] = []
    if config.message_range is not None:
        sentences.append(f"It is heard up to {config.message_range:g} {config.length_unit} away.")
    if config.message_topology is not None:
        sentences.append("Not everybody hears everybody.")
    if config.message_cost:
        sentences.append(f"Each message costs {config.message_cost:g}.")
    return sentences
