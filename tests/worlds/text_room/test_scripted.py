"""TextRoom's script: it wins by what it has seen alone, and tries nothing twice in vain."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.levels.ids import QUESTS
from piase_gym.worlds.text_room.players.scripted import TextRoomScript


def played(name: str, seed: int, **config: Any) -> tuple[list[str], bool]:
    """Return the lines that the script writes alone, and whether it wins."""
    env = piase_gym.parallel_env(name, view="vector", **config)
    env.reset(seed=seed)
    (agent,) = env.agents
    player, lines, infos = TextRoomScript(env.world), [], {}
    while env.agents:
        command = player.act(0)
        lines.append(env.world.write(command))
        infos = env.step({agent: command})[4]
    return lines, infos[agent]["result"] == "won"


@pytest.mark.parametrize(("task", "most"), [("Easy", 15), ("Medium", 40), ("Hard", 100)])
def test_quests_are_won_and_nearly_everything_is_tried_once(task: str, most: int) -> None:
    for seed in range(8):
        lines, won = played("TextRoom", seed, **QUESTS[task])
        assert won
        assert len(lines) <= most
        others = [line for line in lines if not line.startswith(("go ", "unlock "))]
        assert len(others) == len(set(others))


@pytest.mark.parametrize("delay", [1, 16])
def test_what_was_seen_elsewhere_is_remembered(delay: int) -> None:
    wins = [played("TextRoom", seed, recall=delay)[1] for seed in range(6)]
    assert all(wins)


def test_the_lost_key_is_found_step_by_step() -> None:
    lines, won = played("lost_key", 0)
    assert won
    assert lines[-1] == "take old document"
    assert len(lines) <= 12


def test_a_lock_is_tried_again_only_with_something_new_in_hand() -> None:
    for seed in range(8):
        env = piase_gym.parallel_env("TextRoom", view="vector", **QUESTS["Hard"])
        env.reset(seed=seed)
        player = TextRoomScript(env.world)
        tried: dict[str, set[str]] = {}
        while env.agents:
            held = {thing.name for thing in env.world.facts(0).inventory}
            command = player.act(0)
            if command.verb == "unlock":
                known = tried.setdefault(str(command.parameters["target_object"]), set())
                assert held - known
                known |= held
            env.step({"agent_0": command})


def test_it_is_blind_to_what_its_agent_cannot_know() -> None:
    """Two games that look alike are played alike, until something is seen that differs."""
    alike = 0
    for seed in range(12):
        env = piase_gym.parallel_env("TextRoom", view="vector", **QUESTS["Medium"])
        env.reset(seed=seed)
        player, other = TextRoomScript(env.world), TextRoomScript(env.world.twin(0))
        assert player.world.facts(0) == other.world.facts(0)
        while player.world.alive[0] and player.world.facts(0) == other.world.facts(0):
            command = player.act(0)
            assert other.act(0) == command
            for world in (player.world, other.world):
                world.step([command])
            alike += 1
    assert alike > 12


def test_what_is_refused_is_not_tried_for_ever() -> None:
    """The document that the goal names cannot be had: the script goes on to other things."""
    env = piase_gym.parallel_env("lost_key", view="vector")
    env.reset(seed=0)
    player, lines = TextRoomScript(env.world), []
    while env.agents and len(lines) < 40:
        command = player.act(0)
        lines.append(env.world.write(command))
        wanted = lines[-1] == "take old document"
        env.step({env.agents[0]: env.world.noop if wanted else command})
    assert "take old document" in lines
    assert all(one != two for one, two in itertools.pairwise(lines))


def test_several_agents_have_minds_of_their_own() -> None:
    env = piase_gym.parallel_env("TextRoom", agents=2, rooms=6, depth=3, view="vector")
    env.reset(seed=4)
    agents = {name: make_agent("scripted") for name in env.possible_agents}
    for agent in agents.values():
        agent.reset(4)
    infos: dict[str, Any] = {}
    step = 0
    while env.agents:
        acts: dict[str, Any] = {}
        for number, name in enumerate(env.possible_agents):
            agents[name].perceive(Percept(env.world, number, step))
            acts[name] = agents[name].act()
            assert isinstance(acts[name], Command)
        infos, step = env.step(acts)[4], step + 1
    assert any(info["result"] == "won" for info in infos.values())


def test_an_idle_script_waits_and_begins_anew() -> None:
    """At the gate of stone it cannot know what to do alone, and still acts until the end."""
    env = piase_gym.parallel_env("stone_gate", view="vector", partners={"bela": "noop"})
    env.reset(seed=0)
    player, verbs = TextRoomScript(env.world), []
    while env.agents:
        command = player.act(0)
        verbs.append(command.verb)
        env.step({"ada": command})
    assert "wait" in verbs
    assert len(verbs) == env.world.config.max_steps
