"""Household's texts: names in short, what follows from what is near, and what is barred."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.facts import HouseholdFacts, KnownReceptacle, lids, options
from piase_gym.worlds.household.observe.text import parse, text_of
from piase_gym.worlds.household.world import Household
from tests.worlds.household.helpers import game_file

ALWAYS = ("go to ", "examine ", "look", "inventory", "help", "say ", "tell ")
NAMES = st.builds("{} {}".format, st.sampled_from(["mug", "pen", "shelf"]), st.integers(0, 12))


def facts(*places: KnownReceptacle) -> HouseholdFacts:
    return HouseholdFacts(
        agent="agent_0",
        messages=(),
        hint=None,
        goal="tidy up.",
        places=places,
        holding=(),
        others=(),
        away=(),
        commands=(),
        barred=(),
        feedback=None,
    )


def test_names_are_told_in_short() -> None:
    things = ("mug 1", "mug 3", "mug 4", "mug 5", "pen 1", "spoon 2", "old lamp", "pen 2", "pen 1")
    here = KnownReceptacle("desk 1", True, "plain", things[:-1])
    there = KnownReceptacle("shelf 1", False, "open", ("pen 3", "pen 2"))
    closed = [KnownReceptacle(f"drawer {k}", False, "closed", None) for k in (1, 2, 4)]
    told = text_of(facts(here, *closed, there), HouseholdConfig())
    assert told.split("\n") == [
        "Task: tidy up.",
        "At desk 1: mug 1,3-5, pen, spoon 2, 'old lamp', pen 2.",
        "Seen shelf (open): pen 3,2.",
        "Closed: drawer 1-2,4.",
    ]


@given(st.lists(NAMES | st.sampled_from(["old lamp", "it"]), unique=True, min_size=1))
def test_any_names_are_read_back(names: list[str]) -> None:
    place = KnownReceptacle("desk 1", True, "plain", tuple(names))
    told = facts(place, KnownReceptacle("shelf 1", False, "plain", tuple(reversed(names))))
    assert parse(text_of(told, HouseholdConfig()), HouseholdConfig()) == told


@pytest.mark.parametrize("agents", [1, 2])
def test_what_is_possible_is_listed_or_follows_from_what_is_near(agents: int) -> None:
    env = piase_gym.parallel_env("Household", agents=agents, view="text", actions="text")
    dice, bars = Stream(2), 0
    for seed in range(6):
        env.reset(seed=seed)
        for _ in range(40):
            for name in env.agents:
                known: Any = env.facts(name)
                could = options(known.places, known.holding, "move")
                hands = [line for thing, line in could if thing not in known.barred]
                told = sorted([*known.commands, *lids(known.places), *hands])
                lines = env.admissible_commands(name)
                assert told == [line for line in lines if not line.startswith(ALWAYS)]
                bars += "You cannot " in env.world.text(known)
            if not env.agents:
                break
            acts = {name: env.admissible_commands(name) for name in env.agents}
            env.step({name: lines[dice.integer(len(lines))] for name, lines in acts.items()})
    assert bars > 0


def test_what_was_written_before_is_the_text_of_the_facts() -> None:
    env = piase_gym.parallel_env("Household", agents=2, receptacles=14, view="text")
    dice, world = Stream(3), env.runner.world
    assert isinstance(world, Household)
    for seed in range(4):
        env.reset(seed=seed)
        while env.agents:
            for name in env.agents:
                known = world.knowledge_of(env.runner.number(name))
                assert known.text() == text_of(known.facts(), world.config)
            lines = {name: env.admissible_commands(name) for name in env.agents}
            env.step({name: dice.integer(len(row)) for name, row in lines.items()})


def test_others_are_in_the_way_of_what_they_take_and_of_nothing_else(tmp_path: Path) -> None:
    env = piase_gym.parallel_env("Household", game=game_file(tmp_path), agents=2, actions="text")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, "go to desk 1"))
    first = {"agent_0": "take mug 1 from desk 1"}
    for line, outcome in (("take mug 1 from desk 1", "failed"), ("examine desk 1", "ok")):
        infos = env.step({**first, "agent_1": line})[-1]
        assert infos["agent_1"]["outcome"] == outcome
        first = {"agent_0": "move mug 1 to desk 1"}
    infos = env.step({"agent_0": "take mug 2 from desk 1", "agent_1": "go to fridge 1"})[-1]
    assert infos["agent_1"]["outcome"] == "ok"


def test_what_cannot_be_taken_or_put_down_is_told(tmp_path: Path) -> None:
    env = piase_gym.parallel_env("Household", game=game_file(tmp_path), view="text", actions="text")
    env.reset(seed=0)
    shown, *_ = env.step({"agent_0": "go to desk 1"})
    assert shown["agent_0"].split("\n")[2:] == [
        "At desk 1: knife, lamp, mug 2,1.",
        "At shelf 1: nothing.",
        "Unseen: fridge, sinkbasin.",
        "You cannot take lamp.",
        "You can also: use lamp 1.",
    ]
    for line in ("take knife 1 from desk 1", "go to fridge 1", "open fridge 1"):
        shown, *_ = env.step({"agent_0": line})
    assert shown["agent_0"].split("\n")[2:] == [
        "At fridge 1 (open): apple.",
        "Seen desk: lamp, mug 2,1.",
        "Empty: shelf.",
        "Unseen: sinkbasin.",
        "You carry knife 1.",
        "You cannot put it in or on fridge.",
        "You can also: slice apple 1 with knife 1.",
    ]


def test_a_kind_without_a_number_is_the_first_of_its_kind() -> None:
    env = piase_gym.parallel_env("Household", view="text", actions="text")
    env.reset(seed=1)
    kinds = [line for line in env.admissible_commands("agent_0") if line.endswith(" 2")]
    shown, *_ = env.step({"agent_0": kinds[0][:-2]})
    assert shown["agent_0"].startswith(f"Last step: {kinds[0][:-1]}1; ok")


@pytest.mark.parametrize("grammar", ["2.1.1", "2.1.3", "both"])
def test_things_without_numbers_are_put_down(grammar: str) -> None:
    form = {"view": "text", "actions": "text", "grammar": grammar}
    env, twin = (piase_gym.gym_env("Household", **form) for _ in range(2))
    placed = 0
    for seed in range(12):
        env.reset(seed=seed)
        for line in env.expert_plan():
            if line.startswith(("move", "put")):
                verb, *rest = (word for word in line.split() if not word.isdigit())
                before = env.snapshot()
                for words in (rest, ["the", rest[0], rest[1], "the", *rest[2:]]):
                    twin.reset(seed=seed)
                    twin.restore(before)
                    _, _, _, _, info = twin.step(" ".join([verb, *words]))
                    assert info["outcome"] == "ok", words
                    placed += 1
            env.step(line)
    assert placed > 20


def test_reasons_know_names_without_numbers() -> None:
    env = piase_gym.gym_env("Household", view="text", actions="text", feedback="explain")
    env.reset(seed=5)
    *_, info = env.step("move mug to coffeemachine")
    places = [place.name for place in env.facts().places]
    place = next(name for name in places if name.startswith("coffeemachine"))
    assert info["feedback"] == f"You are not at the {place}; go to it first."
