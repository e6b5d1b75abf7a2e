"""Episodes in words: what an agent reads and answers, for the pages of the worlds.

``python docs/make_pages.py`` plays them again; nothing of them is typed but the commands.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import piase_gym
from piase_gym.play.session import play_oracle


class Episode(NamedTuple):
    """An episode that somebody played from the words alone.

    Attributes:
        world: The world, or an id.
        config: Its config, or what changes that of the id.
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
"""What the page of each world shows: its prompt and three observations or more, with a slip."""
TRANSCRIPTS: dict[str, Episode] = {
    "The lost key": Episode(
        "piase/TextRoom-LostKey-v3",
        {},
        2026,
        "search bookshelf|go north|search clock|take brass key|south|"
        "unlock desk with brass key|open desk|take document",
    ),
    "A medium quest": Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        2026,
        "go north|take silver key|unlock oak door|open oak door|go east|go west|go east|"
        "go south|unlock desk|unlock dresser|open desk|take brass key|unlock dresser|"
        "open dresser|take iron key|go north|unlock oak door|open oak door|go east|go south|"
        "go east|take umbrella",
    ),
    "A hard quest": Episode(
        "piase/TextRoom-Quest-Hard-v3",
        {},
        2026,
        "take compass|go south|go west|search wardrobe|take glass key|go north|go east|"
        "unlock oak door|unlock desk|open desk|take copper key|unlock cupboard|"
        "unlock oak door|open oak door|go east|take brass key|unlock pine door|"
        "open pine door|go north|go north|take silver key|go east|open locker|"
        "unlock cedar door|go to the conservatory|go west|go south|go to bedroom|go west|"
        "unlock cupboard|open cupboard|take golden key|go east|go north|go north|go east|"
        "unlock cedar door|open cedar door|go east|take teapot",
    ),
    "A key and a door": Episode(
        "piase/GridWorld-DoorKey-8x8-v1",
        {},
        2027,
        "south|south|interact|north|north|north|north|east|interact|east|east|east|east|east|"
        "south|south|south|south|south",
    ),
    "A box pushed home": Episode(
        "piase/PhysicsPlayground-Push-v2",
        {},
        2026,
        "go to 0.75 -2.3|go to 0.7 -2.4|face red box|face zone|push 2.4",
    ),
}
"""Whole episodes, by title."""
OTHERS = (
    Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        11,
        "go south|go south|take silver key|unlock oak door|go north|go north|go west|search "
        "wardrobe|take iron key|go east|go south|go south|unlock oak door|open oak door|go "
        "west|go north|take brass key|unlock desk|open desk|take teapot",
    ),
    Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        12,
        "go west|take silver key|unlock desk|unlock wardrobe|open wardrobe|take brass "
        "key|unlock desk|go east|unlock oak door|open oak door|go east|go east|go west|go "
        "south|open dresser|go south|take iron key|go north|go north|go west|go west|unlock "
        "desk|open desk|take lantern",
    ),
    Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        13,
        "open cupboard|take teapot",
    ),
    Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        14,
        "go north|open cupboard|take silver key|go west|go west|search dresser|take iron "
        "key|go east|go east|go south|unlock desk|unlock oak door|open oak door|go east|take "
        "brass key|go west|unlock desk|open desk|take umbrella",
    ),
    Episode(
        "piase/TextRoom-Quest-Medium-v3",
        {},
        15,
        "open desk|go east|go south|take silver key|unlock dresser|go west|open cupboard|go "
        "east|go north|unlock oak door|go west|unlock wardrobe|open wardrobe|take brass "
        "key|go east|unlock oak door|go south|unlock dresser|open dresser|take iron key|go "
        "north|unlock oak door|open oak door|go north|take teapot",
    ),
    Episode(
        "piase/GridWorld-DoorKey-8x8-v1",
        {},
        11,
        "move north|move north|interact|move south|move south|move east|interact|move "
        "east|move east|move east|move east|move east|move south|move south",
    ),
    Episode(
        "piase/TextRoom-Quest-Hard-v3",
        {},
        11,
        "go east|take copper key|unlock desk|unlock oak door|go south|go west|take brass "
        "key|search cupboard|take silver key|search cabinet|take glass key|go east|go "
        "north|unlock desk|unlock oak door|open oak door|go east|go north|take golden "
        "key|unlock pine door|open pine door|go north|go west|open dresser|go west|go east|go"
        " north|unlock cedar door|open cedar door|go west|take iron key|open drawer|go "
        "west|go east|go east|go south|go east|go south|go south|go west|unlock desk|open "
        "desk|take candle",
    ),
    Episode(
        "piase/TextRoom-Quest-Hard-v3",
        {},
        12,
        "go north|go east|open drawer|search trunk|take silver key|unlock locker|go west|go "
        "south|unlock oak door|open oak door|go south|go east|go north|take brass key|take "
        "golden key|go south|go south|take copper key|open wardrobe|take iron key|unlock pine"
        " door|open pine door|go east|unlock cedar door|open cedar door|go north|go "
        "north|take glass key|go north|go south|go south|go south|go south|open desk|go "
        "north|go west|go north|go west|go north|go north|go east|unlock locker|open "
        "locker|take mirror",
    ),
    Episode(
        "piase/TextRoom-LostKey-v3",
        {},
        11,
        "search bookshelf|go north|search grandfather clock|take brass key|go south|unlock "
        "desk|open desk|read old document|take old document",
    ),
    Episode(
        "piase/PhysicsPlayground-Push-v2",
        {},
        11,
        "go to red box|back 0.1|go to 0.15, 2.25|go to -0.46, 2.48|face zone|push 2|push 2",
    ),
    Episode(
        "piase/Household-Medium-v4",
        {},
        11,
        "go to sidetable 1|go to sidetable 2|go to armchair 1|go to armchair 2|go to shelf "
        "1|go to shelf 2|go to shelf 3|take book from shelf 3|go to shelf 1|use floorlamp",
    ),
)
"""Episodes of another player, of which the page tells only how many commands they took."""


def messages(episode: Episode) -> list[str]:
    """Return the prompt, then each observation and the command that follows it in turn."""
    env = piase_gym.parallel_env(episode.world, view="text", actions="text", **episode.config)
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
        f"```text\n{prompt}\n```\n\n"
        f"and {len(rest) // 2 + 1} observations in a row, with what was answered to them:\n\n"
        "```text\n" + "\n\n".join(rest) + "\n```"
    )


def _needed(episode: Episode) -> int | None:
    """Return how many commands the oracle needs, where its commands are steps, too."""
    env = piase_gym.gym_env(episode.world)
    if env.unwrapped.world.capabilities.continuous:
        return None
    oracle = play_oracle(env, episode.seed)
    return oracle.steps if oracle else None


def _beside(episode: Episode) -> str:
    """Say what the oracle needs."""
    needed = _needed(episode)
    return f"; the oracle, which knows all, needs {needed}" if needed else ""


def _row(episode: Episode) -> str:
    """Return the row of an episode in the table of those that are not shown."""
    _, *rest = messages(episode)
    count, needed = len(episode.lines.split("|")), _needed(episode)
    ratio = f"{count / needed:.2f}" if needed else ""
    reward = re.findall(r"reward (-?[0-9.]*[0-9])", rest[-1])[0]
    row = (f"`{episode.world}`", episode.seed, count, needed or "", ratio, reward)
    return f"| {' | '.join(map(str, row))} |"


def page() -> str:
    """Return the page of whole episodes, as Markdown."""
    parts = [
        "# Played from the words alone",
        "Episodes that somebody played who read the prompt and the observations and nothing else, "
        "command by command. `docs/transcripts.py` plays them again.",
    ]
    for title, episode in TRANSCRIPTS.items():
        _, *rest = messages(episode)
        count = len(episode.lines.split("|"))
        head = f"`{episode.world}`, seed {episode.seed}: {count} commands{_beside(episode)}."
        parts += [f"## {title}", head, "```text\n" + "\n\n".join(rest) + "\n```"]
    table = (
        "| id | seed | commands | of the oracle | ratio | last reward |",
        "|---|---|---|---|---|---|",
        *map(_row, OTHERS),
    )
    text = "By another player, every one of them won; the commands are in `docs/transcripts.py`."
    parts += ["## More of them in short", text, "\n".join(table)]
    return "\n\n".join(parts) + "\n"
