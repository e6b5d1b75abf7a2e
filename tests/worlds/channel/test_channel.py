"""The channel of array worlds is the mailbox in plain Python: same sends, same deliveries."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import parse_text
from piase_gym.core.commands import Command
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailbox, Message
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import World
from piase_gym.envs.batch import batch_env
from piase_gym.errors import ConfigError
from piase_gym.worlds.channel.config import MAX_MESSAGES
from piase_gym.worlds.channel.symbols import words_of

WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("GridWorld", {"agents": 4, "width": 5, "height": 5, "join_at": [0, 3, 0, 7]}),
    "matrix": ("SocialDilemma", {"game": "public_goods", "agents": 4, "rounds": 40, "talk": 1}),
    "pair": ("SocialDilemma", {"game": "stag_hunt", "rounds": 40}),
    "commons": ("SocialDilemma", {"game": "harvest", "agents": 4, "width": 9, "height": 9}),
}


def rules(dice: random.Random, name: str) -> dict[str, Any]:
    """Draw the keys of a channel that has more than a symbol for all."""
    agents = WORLDS[name][1].get("agents", 2)
    rows = [[dice.randint(0, 3) > 0 for _ in range(agents)] for _ in range(agents)]
    found: dict[str, Any] = {
        "symbols": dice.choice([1, 2, 3]),
        "message_length": dice.choice([1, 2, 3]),
        "message_delay": dice.choice([0, 1, 2, 5]),
        "message_loss": dice.choice([0.0, 0.3, 0.9]),
        "message_to": dice.random() < 0.5,
        "message_history": dice.choice([0, 1, 3]),
        "message_topology": rows if dice.random() < 0.5 else None,
    }
    if name in ("grid", "commons") and dice.random() < 0.6:
        found["message_range"] = dice.choice([0, 1, 2, 2.5])
    return found


class Truth:
    """The mailbox, told what agents say, and where they are when letters arrive."""

    def __init__(self, world: World[Any, Any]) -> None:
        """Start the episode that the world has just begun."""
        self.world, config = world, world.config
        kept = {"history": config.message_history, "drop": config.message_loss}
        self.mail = Mailbox(
            world.agents, ChannelRules(delay=config.message_delay, **kept), self.hears
        )
        self.stream = Stream(int(world.states["seed"][0]), StreamId.CHANNEL)  # type: ignore[attr-defined]
        self.playing = list(world.alive)

    def hears(self, sender: str, recipient: str) -> bool:
        """Follow the three rules in words: in play, wired to each other, and near enough."""
        world, config = self.world, self.world.config
        one, other = world.agents.index(sender), world.agents.index(recipient)
        wired = config.message_topology is None or config.message_topology[one][other] == 1
        near = True
        if config.message_range is not None:
            x, y = world.states["x"][0].tolist(), world.states["y"][0].tolist()  # type: ignore[attr-defined]
            near = max(abs(x[one] - x[other]), abs(y[one] - y[other])) <= config.message_range
        return self.playing[other] and wired and near

    def step(self, acts: list[int | None]) -> None:
        """Let the world and the mailbox do the same."""
        world, before = self.world, list(self.world.alive)
        result = world.step(acts)
        self.playing = [a or b for a, b in zip(before, world.alive, strict=True)]
        for agent, act in enumerate(acts):
            if act is None or not before[agent] or result.outcomes[agent] == "illegal":
                continue
            said = world.commands[act].parameters  # type: ignore[attr-defined]
            symbols = [str(said[k]) for k in ("symbol", "symbol_2", "symbol_3") if k in said]
            if symbols:
                to = said.get("agent_id", EVERYONE)
                self.mail.send(world.agents[agent], to, " ".join(symbols))
        self.mail.deliver(self.stream)


def check(truth: Truth) -> int:
    """Compare what each agent in play is told with what the mailbox delivers; count letters."""
    world, total = truth.world, 0
    for agent, name in enumerate(world.agents):
        if not truth.playing[agent]:
            continue
        facts = world.facts(agent)
        assert list(facts.messages) == truth.mail.delivered[name]
        earlier = [entry for entry in truth.mail.recent[name] if entry[1]]
        assert [tuple(entry) for entry in facts.earlier] == earlier
        assert (world.vector(facts) == world.vectors()[agent]).all()
        assert world.vector_space.contains(world.vectors()[agent])
        text = type(world).to_text(facts, world.config)
        assert parse_text(world.name, text, world.config) == facts
        total += len(facts.messages) + len(facts.earlier)
    return total


def draw(dice: random.Random, world: World[Any, Any]) -> list[int | None]:
    """Draw an act for each agent, mostly a legal one that says something."""
    masks, acts = world.masks(), []
    for agent in range(len(world.agents)):
        legal = np.flatnonzero(masks[agent]).tolist()
        any_act = dice.randrange(world.num_actions)
        acts.append(any_act if dice.random() < 0.1 else dice.choice(legal))
    return [act if alive else None for act, alive in zip(acts, world.alive, strict=True)]


@pytest.mark.parametrize("name", WORLDS)
def test_the_compiled_channel_is_the_mailbox(name: str) -> None:
    """Same sends, same deliveries, delays and losses, in sixteen channels of each world."""
    dice, heard = random.Random(name), 0
    for seed in range(16):
        world_name, fields = WORLDS[name]
        env = piase_gym.parallel_env(world_name, **fields, **rules(dice, name), max_steps=60)
        env.reset(seed=seed)
        truth = Truth(env.world)
        for _ in range(25):
            if not any(env.world.alive):
                break
            truth.step(draw(dice, env.world))
            heard += check(truth)
    assert heard > 300


RICH = {
    "symbols": 2,
    "message_length": 2,
    "message_delay": 2,
    "message_to": True,
    "message_history": 2,
    "message_loss": 0.25,
    "message_cost": 0.5,
}


@pytest.mark.parametrize("name", WORLDS)
def test_a_batch_is_its_single_environments_step_for_step(name: str) -> None:
    world_name, fields = WORLDS[name]
    envs = [piase_gym.parallel_env(world_name, **fields, **RICH, view="vector") for _ in range(3)]
    batch = batch_env(world_name, num_envs=3, **fields, **RICH)
    obs = batch.reset(seed=5)[0]
    for slot, env in enumerate(envs):
        env.reset(seed=5 + slot)
    dice = random.Random(0)
    for _ in range(20):
        acts = [draw(dice, env.world) for env in envs]
        told = np.array([[0 if act is None else act for act in row] for row in acts], np.int32)
        obs, rewards, *_ = batch.step(told)
        for slot, env in enumerate(envs):
            given = zip(env.world.agents, acts[slot], strict=True)
            found = env.step({agent: act for agent, act in given if act is not None})
            for agent, vector in found[0].items():
                place = env.world.agents.index(agent)
                assert (obs[slot, place] == vector).all()
                assert rewards[slot, place] == found[1][agent]
            assert batch.digests()[slot] == env.digest()


@pytest.mark.parametrize("name", WORLDS)
def test_snapshots_hold_what_is_on_its_way_and_what_was_heard(name: str) -> None:
    world_name, fields = WORLDS[name]
    env, other = (piase_gym.parallel_env(world_name, **fields, **RICH) for _ in range(2))
    env.reset(seed=3)
    dice = random.Random(1)

    def go(which: Any, acts: list[int | None]) -> Any:
        given = zip(which.world.agents, acts, strict=True)
        return which.step({agent: act for agent, act in given if act is not None})

    for _ in range(9):
        go(env, draw(dice, env.world))
    other.restore(json.loads(json.dumps(env.snapshot())))
    told = 0
    for _ in range(9):
        acts = draw(dice, env.world)
        mine, theirs = go(env, acts), go(other, acts)
        assert mine[1:4] == theirs[1:4]
        assert env.digest() == other.digest()
        told += sum(" sa" in obs["text"] or " t" in obs["text"] for obs in mine[0].values())
        assert [obs["text"] for obs in mine[0].values()] == [
            obs["text"] for obs in theirs[0].values()
        ]
    assert told


def test_a_message_costs_the_one_who_says_it() -> None:
    plain = {"agents": 2, "width": 5, "height": 5, "symbols": 1}
    for more, shares in ({}, (0.5, 0.0)), ({"shared_reward": True}, (0.25, 0.25)):
        paid = []
        for cost in (0.0, 0.5):
            env = piase_gym.parallel_env("GridWorld", **plain, **more, message_cost=cost)
            env.reset(seed=0)
            paid.append(env.step({"agent_0": 6 + 4, "agent_1": 4})[1])
        found = [paid[0][agent] - paid[1][agent] for agent in ("agent_0", "agent_1")]
        assert found == pytest.approx(shares)


@pytest.mark.parametrize("shared", [False, True])
def test_a_message_in_a_matrix_game_costs_too(shared: bool) -> None:
    fields = {"game": "stag_hunt", "symbols": 2, "message_cost": 0.5, "shared_reward": shared}
    env = piase_gym.parallel_env("SocialDilemma", **fields)
    env.reset(seed=0)
    rewards = env.step({"agent_0": 2, "agent_1": 0})[1]  # both hunt the stag, worth 4
    assert list(rewards.values()) == ([3.75, 3.75] if shared else [3.5, 4.0])


def test_late_joiners_hear_from_their_first_observation_on_and_nothing_from_before() -> None:
    fields = {"agents": 2, "width": 4, "height": 4, "join_at": [0, 2], "symbols": 3}
    for delay, first in ((0, "2"), (1, "1")):
        env = piase_gym.parallel_env(
            "GridWorld", **fields, message_delay=delay, message_history=4, actions="text"
        )
        env.reset(seed=0)
        for symbol in (1, 2):
            env.step({"agent_0": f"stay saying {symbol}"})
        facts = env.facts("agent_1")
        assert facts.messages == (Message("agent_0", EVERYONE, first),)
        assert facts.earlier == ()


def test_text_commands_say_messages_to_one_and_to_all() -> None:
    fields = {"agents": 3, "width": 6, "height": 6, "symbols": 3, "message_length": 2}
    env = piase_gym.parallel_env("GridWorld", **fields, message_to=True, actions="text")
    env.reset(seed=1)
    lines = {"agent_0": "go north saying 3 1 to agent_2", "agent_1": "stay saying 2"}
    obs, _, _, _, infos = env.step({**lines, "agent_2": "stay"})
    assert {infos[agent]["outcome"] for agent in env.agents} <= {"ok", "failed"}
    assert "agent_0 tells you: 3 1\nagent_1 says: 2" in obs["agent_2"]["text"]
    assert "tells" not in obs["agent_1"]["text"]
    lines = {"agent_0": "stay saying 1 to agent_0", "agent_1": "stay saying 4", "agent_2": "stay"}
    infos = env.step(lines)[4]
    assert infos["agent_0"]["outcome"] == "illegal"
    assert infos["agent_1"]["outcome"] == "unparsable"


def test_every_index_is_the_message_that_its_command_says() -> None:
    fields = {"agents": 3, "width": 6, "height": 6, "symbols": 2, "message_length": 3}
    env = piase_gym.parallel_env("GridWorld", **fields, message_to=True)
    world = env.world
    count = len(words_of(2, 3))
    assert count == 2 + 4 + 8
    assert world.num_actions == 6 * (1 + count * 4)
    assert len(set(world.commands)) == world.num_actions
    assert world.commands[6 * 1] == Command("move", {"direction": "north", "symbol": 1})
    last = world.commands[-1].parameters
    assert last == {"symbol": 2, "symbol_2": 2, "symbol_3": 2, "agent_id": "agent_2"}
    for index in range(0, world.num_actions, 7):
        assert world.read(0, world.write(world.commands[index])) == world.commands[index]


def test_a_smaller_channel_fits_into_the_envelope_of_a_larger_one() -> None:
    sizes = {"agents": 3, "symbols": 3, "message_length": 2, "message_to": 1, "message_history": 2}
    fields = {"agents": 2, "width": 5, "height": 5, "symbols": 2}
    env = piase_gym.parallel_env("GridWorld", **fields, envelope=sizes, actions="text")
    env.reset(seed=0)
    mask = env.world.masks()[0].reshape(-1, 6)[:, 4]
    legal = [env.world.commands[6 * k + 4].parameters for k in np.flatnonzero(mask).tolist()]
    assert legal == [{}, {"symbol": 1}, {"symbol": 2}]
    infos = env.step({"agent_0": "stay saying 3", "agent_1": "stay"})[4]
    assert infos["agent_0"]["outcome"] == "illegal"
    env.step({"agent_0": "stay saying 2", "agent_1": "stay"})
    assert env.facts("agent_1").messages == (Message("agent_0", EVERYONE, "2"),)


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "delay absurd": (
        "GridWorld",
        {"symbols": 2, "message_delay": 999},
        "delay.*at most 64",
    ),
    "delay negative": (
        "GridWorld",
        {"symbols": 2, "message_delay": -1},
        "delay.*at least 0",
    ),
    "range negative": (
        "GridWorld",
        {"symbols": 2, "message_range": -1},
        "range.*at least 0",
    ),
    "no places": ("SocialDilemma", {"symbols": 2, "message_range": 2}, "message_range belongs to"),
    "loss": ("GridWorld", {"symbols": 2, "message_loss": 1.5}, "message_loss.*at most 1"),
    "cost": ("GridWorld", {"symbols": 2, "message_cost": -0.1}, "message_cost.*at least 0"),
    "too long": ("GridWorld", {"symbols": 2, "message_length": 5}, "message_length.*at most 4"),
    "rows": (
        "GridWorld",
        {"symbols": 2, "agents": 3, "message_topology": [[0, 1], [1, 0]]},
        "message_topology has rows of 2, 2 entries; with agents=3 it has 3 rows of 3",
    ),
    "ragged": (
        "SocialDilemma",
        {"symbols": 2, "message_topology": [[0, 1], [1]]},
        "message_topology has rows of 2, 1 entries; with agents=2 it has 2 rows of 2",
    ),
    "no bits": ("GridWorld", {"symbols": 2, "message_topology": [[7]]}, "topology.*at most 1"),
    "no channel": (
        "GridWorld",
        {"message_delay": 2},
        "delay needs a channel; give",
    ),
    "too many": (
        "GridWorld",
        {"symbols": 16, "message_length": 4},
        f"make 69904 messages; at most {MAX_MESSAGES}",
    ),
    "unknown": ("GridWorld", {"symbols": 2, "message_lenght": 2}, "message_length"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_channel_that_cannot_be_is_one_clear_error(case: str) -> None:
    world, fields, said = BAD[case]
    with pytest.raises(ConfigError, match=said) as caught:
        piase_gym.parallel_env(world, **fields)
    assert len(str(caught.value).splitlines()) == 1


def test_runs_with_a_channel_are_replayed(tmp_path: Path) -> None:
    from piase_gym import runs
    from piase_gym.wrappers.avt_log import AvtLogger

    world_name, fields = WORLDS["grid"]
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env(world_name, **fields, **RICH, max_steps=20), path)
    env.reset(seed=1)
    dice = random.Random(4)
    while env.agents:
        acts = draw(dice, env.unwrapped.world)
        names = env.unwrapped.world.agents
        env.step({name: acts[names.index(name)] for name in env.agents})
    env.close()
    report = runs.replay(path)
    assert report.verdict == "sound", str(report)


def test_a_channel_that_is_off_costs_nothing() -> None:
    """Neither a byte of state or vector, nor an index, nor a field of a written config."""
    for world, fields in (
        ("GridWorld", {}),
        ("SocialDilemma", {}),
        ("SocialDilemma", {"game": "harvest"}),
    ):
        env = piase_gym.parallel_env(world, **fields)
        assert "mail" not in env.world.states.dtype.names
        assert int(env.world.tables["mail"][0]) == -1
        written = env.world.config.model_dump(mode="json")
        assert not [key for key in written if key.startswith("message_") or key == "speech"]
        routed = piase_gym.parallel_env(world, **fields, symbols=2, message_delay=1)
        assert "mail" in routed.world.states.dtype.names


@pytest.mark.parametrize(
    ("fields", "routed"),
    [
        ({}, False),
        ({"message_length": 2}, True),
        ({"message_delay": 1}, True),
        ({"message_history": 1}, True),
        ({"message_to": 1}, True),
        ({"symbols": 0}, False),
    ],
)
def test_whatever_needs_a_box_of_letters_has_one(fields: dict[str, Any], routed: bool) -> None:
    env = piase_gym.parallel_env("GridWorld", **{"agents": 2, "symbols": 2, **fields})
    assert ("mail" in env.world.states.dtype.names) is routed
