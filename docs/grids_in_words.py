"""Writes the page with episodes of the grids in words, as a player by text sees them.

Run it with ``python docs/grids_in_words.py``; a test keeps the page fresh.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import piase_gym

PAGE = Path(__file__).with_name("grids_in_words.md")


class Played(NamedTuple):
    """An episode: its title, the id, its seed, what was said, and fields of the config."""

    title: str
    task: str
    seed: int
    lines: tuple[str, ...]
    config: dict[str, Any] = {}


EPISODES = (
    Played(
        "GridWorld",
        "piase/GridWorld-DoorKey-8x8-v1",
        101,
        (
            *("pick up the key", "south", "go south", "move south", "move east", "unlock door"),
            *("forward", "move east", "move east", "move east", "move south"),
        ),
    ),
    Played(
        "GridWorld in the frame of the agent, with a memory",
        "piase/GridWorld-DoorKey-8x8-v1",
        101,
        ("interact", "turn right", "forward"),
        {"frame": "agent", "recall": "map"},
    ),
    Played(
        "A commons",
        "piase/SocialDilemma-Cleanup-4p-v1",
        7,
        ("west", "west", "clean"),
    ),
)
"""The first was played by somebody who knew the words alone, in as few steps as the oracle."""


def play(episode: Played) -> str:
    """Return the prompt and what was seen and said, as Markdown."""
    env = piase_gym.gym_env(episode.task, view="text", actions="text", **episode.config)
    seen, _ = env.reset(seed=episode.seed)
    parts = [seen]
    for line in episode.lines:
        seen, _, terminated, truncated, _ = env.step(line)
        parts += [f"> {line}", seen]
        if terminated or truncated:
            break
    prompt, shown = env.instructions(), "\n\n".join(parts)
    env.close()
    text = "".join(f", `{name}={value!r}`" for name, value in episode.config.items())
    return (
        f"## {episode.title}\n\n`{episode.task}`{text}, seed {episode.seed}. The prompt:\n\n"
        f"```text\n{prompt}\n```\n\nThen, with what the player answers after `>`:\n\n"
        f"```text\n{shown}\n```\n"
    )


def page() -> str:
    """Return the page."""
    head = (
        "# Grids in words\n\nWhat a player by text reads in [GridWorld](worlds/GridWorld.md) and "
        "the commons of [SocialDilemma](worlds/SocialDilemma.md). `frame` chooses the frame of "
        "reference, the same for texts and commands: `grid` (the default) has north, east, south "
        "and west; `agent` has ahead, behind, left and right.\n"
    )
    return "\n".join([head, *map(play, EPISODES)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
