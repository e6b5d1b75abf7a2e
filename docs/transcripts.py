"""Episodes in words: what an agent reads and answers, for the pages of the worlds.

``python docs/make_pages.py`` plays them again; nothing of them is typed but the commands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import piase_gym
from piase_gym import scenarios


class Episode(NamedTuple):
    """An episode that somebody played from the words alone.

    Attributes:
        world: The world.
        config: Its config.
        seed: The seed.
        lines: The commands of the first agent, parted by ``|``; the others wait.
    """

    world: str
    config: dict[str, Any]
    seed: int
    lines: str


SHOWN = {
    "TextRoom": Episode(
        "TextRoom", {"rooms": 6, "depth": 3, "distractors": 4}, 3, "go north|take iron key"
    ),
    "Household": Episode("Household", {}, 3, "take saltshaker 2 from shelf 1|go to the shelf"),
    "SqlQuery": Episode(
        "SqlQuery",
        {},
        5,
        "SELECT post, COUNT(*) FROM player GROUP BY post|"
        "SELECT position, COUNT(*) FROM player GROUP BY position",
    ),
    "WordCraft": Episode("WordCraft", {"depth": 2}, 3, "combine fire and water|mix tree with mud"),
    "GridWorld": Episode(
        "GridWorld",
        {"layout": "door_key", "border": True, "goal_pos": (6, 6)},
        101,
        "pick up the key|south|east",
    ),
    "SocialDilemma": Episode(
        "SocialDilemma",
        {"game": "stag_hunt", "symbols": 2, "talk": 1, "rounds": 10},
        3,
        "say 1|stag|say nothing|let me think",
    ),
    "PhysicsPlayground": Episode(
        "PhysicsPlayground",
        {"task": "push", "max_steps": 400},
        13,
        "go to -1.9 -0.2|go to -1.95 -0.66|go to zone|go to zone",
    ),
    "ObjectSearch": Episode(
        "ObjectSearch", {}, 1, "look left|forward and report|forward|move right"
    ),
}
"""What the page of each world shows: its prompt and three observations, with a slip."""
TRANSCRIPTS: dict[str, Episode] = {
    "The lost key": Episode(
        "TextRoom",
        {"scenario": "lost_key"},
        1,
        "go north|search clock|take brass key|go south|unlock desk|open desk|take old document",
    ),
    "A medium quest": Episode(
        "TextRoom",
        {"rooms": 6, "depth": 3, "distractors": 4},
        2,
        "go south|go east|go east|take iron key|unlock cupboard|go west|go west|go north|"
        "unlock oak door|open oak door|go east|take silver key|unlock desk|open desk|"
        "take brass key|go east|go west|go west|go south|go east|go east|unlock cupboard|"
        "open cupboard|take lantern",
    ),
    "A hard quest": Episode(
        "TextRoom",
        {"rooms": 12, "depth": 6, "distractors": 10, "max_steps": 400},
        1,
        "open wardrobe|go east|go west|go south|take glass key|go east|go west|go north|"
        "go east|unlock dresser|unlock trunk|unlock oak door|open oak door|go north|"
        "open cupboard|go west|take brass key|unlock desk|open desk|take golden key|"
        "go east|unlock pine door|open pine door|go east|unlock cedar door|go east|"
        "take silver key|go west|unlock cedar door|go west|go south|unlock dresser|"
        "unlock trunk|open trunk|take iron key|unlock dresser|open dresser|"
        "take copper key|go north|go east|unlock cedar door|open cedar door|go south|"
        "take teapot",
    ),
}
"""Whole episodes, by title."""


def messages(episode: Episode) -> list[str]:
    """Return the prompt, then each observation and the command that follows it in turn."""
    fields = dict(episode.config)
    if "scenario" in fields:
        fields = dict(scenarios.load(fields["scenario"]).fields)
    env = piase_gym.parallel_env(episode.world, view="text", actions="text", **fields)
    shown, _ = env.reset(seed=episode.seed)
    me = env.agents[0]
    found = [env.instructions(me), shown[me]]
    for line in episode.lines.split("|"):
        idle = env.world.write(env.world.noop)
        shown, *_ = env.step({name: line if name == me else idle for name in env.agents})
        found += [f"> {line}", shown[me]]
    return found


def in_words(name: str) -> str:
    """Return the section about how an agent reads a world, as Markdown, or ""."""
    if name not in SHOWN:
        return ""
    prompt, *rest = messages(SHOWN[name])
    return (
        "What a language model is told before the first step:\n\n"
        f"```text\n{prompt}\n```\n\nand three observations, with what was answered to them:\n\n"
        "```text\n" + "\n\n".join(rest) + "\n```"
    )


def page() -> str:
    """Return the page of whole episodes, as Markdown."""
    parts = [
        "# Played from the words alone",
        "Quests of TextRoom that somebody played who read the prompt and the observations and "
        "nothing else, command by command. `docs/transcripts.py` plays them again.",
    ]
    for title, episode in TRANSCRIPTS.items():
        _, *rest = messages(episode)
        parts += [f"## {title}", "```text\n" + "\n\n".join(rest) + "\n```"]
    return "\n\n".join(parts) + "\n"
