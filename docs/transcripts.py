"""Episodes in words: what an agent reads and answers, for the pages of the worlds.

``python docs/make_pages.py`` plays them again; nothing of them is typed but the commands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import piase_gym


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
        "TextRoom", {"rooms": 6, "depth": 3, "distractors": 4}, 3, "take iron key|unlock desk"
    ),
    "Household": Episode("Household", {}, 3, "go to the shelf|grab saltshaker"),
    "SqlQuery": Episode(
        "SqlQuery", {}, 2, "SELECT nothing FROM nowhere|Action: describe the table"
    ),
    "WordCraft": Episode("WordCraft", {"depth": 2}, 3, "mix tree with mud|combine swamp and fire"),
}
"""What the page of each world shows: its prompt and three observations, with a slip."""
TRANSCRIPTS: dict[str, Episode] = {}
"""Whole episodes, by title."""


def messages(episode: Episode) -> list[str]:
    """Return the prompt, then each observation and the command that follows it in turn."""
    env = piase_gym.parallel_env(episode.world, view="text", actions="text", **episode.config)
    shown, _ = env.reset(seed=episode.seed)
    me = env.agents[0]
    found = [env.instructions(me), shown[me]]
    for line in episode.lines.split("|"):
        shown, *_ = env.step({name: line if name == me else "wait" for name in env.agents})
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
