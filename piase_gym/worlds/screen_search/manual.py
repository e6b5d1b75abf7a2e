"""The manual of ScreenSearch: its rules, rewards and goals in words."""

from __future__ import annotations

from piase_gym.core.world import Manual
from piase_gym.worlds.screen_search.config import ScreenSearchConfig


def manual(config: ScreenSearchConfig) -> Manual:
    """Return the words of the prompt."""
    together = ""
    if config.agents > 1:
        shares = "look at windows of their own" if len(config.targets) > 1 else "share the window"
        people = ", ".join(config.names(config.agents))
        together = f" {people} {shares}; what you say is heard a little later."
    rules = (
        "You look into a window of a real program, such as a game. What it shows is described to "
        "you: a caption, and objects with their places in hundredths of the picture, from the left "
        "and from the top. Each movement presses a key of the program; what that does, the next "
        f"picture shows.{together}"
    )
    table = config.rewards
    parts = [
        (table.found, "for an object that nobody had found before"),
        (table.message, "for a message"),
        (table.step, "for every step"),
        (table.illegal, "for a command that cannot be carried out or read"),
    ]
    goal = "see as many different objects as you can."
    ends = f"after {config.max_steps} steps, or when the window is closed."
    if config.objects:
        goal = f"find together: {', '.join(config.objects)}."
        ends = f"when all was found, {ends}"
    return Manual(
        rules,
        "; ".join(f"{value:+g} {why}" for value, why in parts if value) or "none.",
        lambda _agent: goal,
        f"An episode ends {ends}",
        example=("Object lamp: 20% across and 40% down, 5% wide and 9% high.", "look_left"),
    )
