"""Every sentence of the worlds of rooms and words is read aloud, by rule."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import piase_gym
from piase_gym import scenarios
from tests.helpers.grammar import text_faults as faults
from tests.helpers.grammar import unended

ROWS = ("| ", "Result: ", "Query: ", "Failed ", "Told: ", "Hint: ", "- ", "News for ")
"""How lines begin that show what the world does not word, or that have no verb."""
OTHERS = re.compile(
    r"^Last step: .*; (?:unparsable|illegal); .*$|^\S+ (?:says|tells \S+): .*$|<[^>]*>|\b\w+_id\b",
    re.MULTILINE,
)
"""What the worlds do not word: slips told by the reader of lines, letters, usages, columns."""
TEXTS: dict[str, dict[str, Any]] = {
    "house": {"world": "TextRoom", "rooms": 8, "depth": 8, "distractors": 8, "recall": "map"},
    "castle": {"world": "TextRoom", "rooms": 8, "depth": 8, "theme": "castle", "agents": 2},
    "ship": {"world": "TextRoom", "rooms": 8, "depth": 8, "distractors": 8, "theme": "ship"},
    "lost key": {"world": "TextRoom", "scenario": "lost_key"},
    "stone gate": {"world": "TextRoom", "scenario": "stone_gate", "recall": "map"},
    "levers": {"world": "TextRoom", "scenario": "three_levers"},
    "sluice": {"world": "TextRoom", "scenario": "sluice"},
    "recall": {"world": "TextRoom", "recall": 2},
    "home": {"world": "Household", "feedback": "explain"},
    "team": {"world": "Household", "agents": 2, "receptacles": 8, "objects": 24},
    "sql": {"world": "SqlQuery"},
    "sql to write": {"world": "SqlQuery", "writes": 1.0, "discover": True, "agents": 2},
    "crafts": {"world": "WordCraft", "depth": 2},
    "trade": {"world": "WordCraft", "depth": 2, "agents": 3, "trade": True},
}


def texts(config: dict[str, Any], steps: int = 25) -> Any:
    """Yield the prompt and the observations of episodes played at random, with mistakes."""
    fields = dict(config)
    world, scenario = fields.pop("world"), fields.pop("scenario", None)
    if scenario:
        fields = {**scenarios.load(scenario).fields, **fields}
    env = piase_gym.parallel_env(world, view="text", actions="text", **fields)
    dice = random.Random(1)
    for seed in range(3):
        shown, _ = env.reset(seed=seed)
        names = tuple(env.possible_agents)
        yield from ((env.instructions(name), names) for name in env.agents)
        for step in range(steps):
            yield from ((text, names) for text in shown.values())
            if not env.agents:
                break
            lines = {name: dice.choice(env.admissible_commands(name)) for name in env.agents}
            if step % 5 == 4:
                lines[env.agents[0]] = dice.choice(("take nothing", "dance", "go nowhere 1", ""))
            shown, *_ = env.step(lines)


def body(text: str) -> str:
    """Return a prompt without its list of commands, whose lines are no sentences."""
    head, mark, rest = text.partition(" The commands:\n")
    return head + "\n\n" + rest.partition("\n\n")[2] if mark else text


@pytest.mark.parametrize("name", TEXTS)
def test_every_text_is_grammatical(name: str) -> None:
    wrong: dict[str, None] = {}
    count = 0
    for text, names in texts(TEXTS[name]):
        count += 1
        said = OTHERS.sub("Ada", body(text))
        wrong |= dict.fromkeys(faults(said, *names))
        shown = said.partition("\n\nExample: ")[0]
        wrong |= dict.fromkeys(unended(shown, *ROWS, "Ada"))
    assert count > 12
    assert not wrong, "\n".join(wrong)


def test_the_rules_find_what_they_are_for() -> None:
    for said in (
        *("a umbrella", "an desk", "the the door", "made of golden", "1 steps", "3 step"),
        *("You carry .", "You can go  north", "the iron_key", "you have the flag 'done'"),
    ):
        assert list(faults(said)), said
    assert list(unended("You carry nothing")) == ["no full stop: 'You carry nothing'"]
    assert not list(faults("You see an iron door; it is 1 step away, made of gold."))
