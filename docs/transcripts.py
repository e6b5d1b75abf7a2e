"""Plays the episodes in words that stand on the pages of the worlds, and stores them.

Run it with ``python docs/transcripts.py``; a test plays them again. An episode is what a player by
text sees: the prompt, then each observation, and the line that it answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import piase_gym
from piase_gym.errors import MissingExtraError

FILE = Path(__file__).with_name("transcripts.json")


class Played(NamedTuple):
    """An episode: the id, its seed, what was said, and fields of the config."""

    task: str
    seed: int
    lines: tuple[str, ...]
    config: dict[str, Any] = {}


EPISODES = {
    "PhysicsPlayground": Played(
        "piase/PhysicsPlayground-Push-v0",
        13,
        ("go to -1.9 -0.2", "go to -1.95 -0.66", "go to zone", "go to zone"),
    ),
    "SocialDilemma": Played(
        "piase/SocialDilemma-StagHunt-Talk-v0", 3, ("say 1", "stag", "say nothing", "let me think")
    ),
    "ObjectSearch": Played(
        "piase/ObjectSearch-v0", 1, ("look left", "forward and report", "forward", "move right")
    ),
}
"""Who played these knew the words alone."""


def play(episode: Played) -> str:
    """Return the prompt and what was seen and said, as Markdown."""
    env = piase_gym.gym_env(episode.task, view="text", actions="text", **episode.config)
    seen, _ = env.reset(seed=episode.seed)
    parts = [env.instructions(), seen]
    for line in episode.lines:
        seen, _, terminated, truncated, _ = env.step(line)
        parts += [f"> {line}", seen]
        if terminated or truncated:
            break
    env.close()
    prompt, *rest = parts
    shown = "\n\n".join(rest)
    return (
        f"`{episode.task}`, seed {episode.seed}. The prompt:\n\n```text\n{prompt}\n```\n\n"
        f"Then, with what the player answers after `>`:\n\n```text\n{shown}\n```"
    )


def stored() -> dict[str, str]:
    """Return the stored episodes, by world."""
    found: dict[str, str] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return found


def main() -> None:
    """Play all episodes, and store them; those whose extra is missing stay as they are."""
    found = stored()
    for world, episode in EPISODES.items():
        try:
            found[world] = play(episode)
        except MissingExtraError:
            continue
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
