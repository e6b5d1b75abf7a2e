"""Agents that enter a GridWorld after the reset: the rules, every env, logs and curricula."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from piase_gym import runs, testing
from piase_gym.core.commands import OUTCOMES
from piase_gym.envs.batch import batch_env
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.envs.vector import BatchVectorEnv, make_vector
from piase_gym.errors import AgentError, ConfigError, GenerationError, UnsupportedError
from piase_gym.simulation.simulation import Simulation
from piase_gym.worlds.grid_world.cells import BOX, FLOOR
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.world import GridWorld
from piase_gym.wrappers import AvtLogger
from tests.probes import library
from tests.worlds.grid_world.reference_objects import ReferenceGridRules
from tests.worlds.grid_world.test_objects import compare, random_act, random_config, step_both

CROWD: dict[str, Any] = {
    "agents": 4,
    "width": 4,
    "height": 4,
    "join_at": (0, 3, 0, 6),
    "max_steps": 25,
}
SEEN: set[str] = set()


def random_world(rng: random.Random) -> GridWorld:
    """Draw configs in which somebody comes late until one has a level."""
    while True:
        try:
            config = random_config(rng)
            steps = [rng.choice([0, 1, 2, 5, 12, 39, None]) for _ in range(config.agents)]
            steps[rng.randrange(config.agents)] = 0
            if any(steps):
                return GridWorld(config.changed({"join_at": tuple(steps)}))
        except (GenerationError, ValueError):
            continue


# -- the rules -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(24))
def test_kernels_equal_the_reference(number: int) -> None:
    rng = random.Random(number)
    world = random_world(rng)
    config = world.config
    for episode in range(2):
        seed = rng.randrange(2**40)
        try:
            world.reset(seed)
        except GenerationError:  # this map has a way for some starts only
            continue
        reference = ReferenceGridRules(config, world.get_state(), seed)
        compare(world, reference, f"{episode} start")
        while any(world.alive):
            masks, before = world.masks(), list(world.alive)
            acts = [random_act(rng, mask, config.symbols, 0.5) for mask in masks[: config.agents]]
            result = step_both(world, reference, acts, episode)
            joined = {a for a, note in result.notes.items() if note.get("joined")}
            assert joined == {a for a, now in enumerate(world.alive) if now and not before[a]}
        SEEN.update(reference.events)


def test_the_reference_runs_reach_everything_about_entries() -> None:
    """Guard the test above, if it was run in full."""
    if len(SEEN) > 15:
        assert {"entered", "made room", "tagged", "cleared"} <= SEEN


def crowded(signs: str, join_at: tuple[int, ...], **edits: Any) -> Any:
    """Return a corridor in which the state of a reset was edited."""
    fields: dict[str, Any] = {"agents": len(join_at), "random_goals": 0, "join_at": join_at}
    env = parallel_env("GridWorld", map=(signs, "#" * len(signs)), **fields)
    env.reset(seed=0)
    state = env.world.get_state()
    for name, values in edits.items():
        state[name][: len(values)] = values
    env.world.set_state(state)
    env.restore(env.snapshot())
    return env


def test_who_finds_its_start_taken_appears_near_it() -> None:
    env = crowded("@@@", (0, 0, 1), x=[1, 2, 2])
    env.step(dict.fromkeys(env.agents, 4))
    assert env.agents == ["agent_0", "agent_1", "agent_2"]
    assert env.world.position(2) == [0, 0]


def test_who_finds_no_room_waits() -> None:
    env = crowded("@@", (0, 1), cells=[FLOOR, BOX])
    for _ in range(3):
        env.step({"agent_0": 4})
        assert env.agents == ["agent_0"]
    with pytest.raises(AgentError, match="no free floor"):
        env.world.enter(1)
    env = crowded("@@.", (0, 1), cells=[FLOOR, BOX, FLOOR])
    env.step({"agent_0": 4})
    assert env.world.position(1) == [2, 0]


def test_levels_are_those_of_agents_who_are_all_there() -> None:
    fields = {"agents": 3, "layout": "door_key", "width": 8, "height": 8}
    early = GridWorld(GridWorldConfig(**fields))
    late = GridWorld(GridWorldConfig(**fields, join_at=(0, 4, 9)))
    for seed in range(20):
        early.reset(seed)
        late.reset(seed)
        one, two = early.get_state(), late.get_state()
        assert [name for name in one if one[name] != two[name]] == ["alive"]


def test_tagger_waits_for_the_runner_to_come() -> None:
    fields: dict[str, Any] = {"layout": "tag", "agents": 3, "width": 6, "height": 6}
    for join_at, over in (((0, 0, 5), False), ((0, 0, None), True)):
        world = GridWorld(GridWorldConfig(**fields, join_at=join_at, max_steps=20))
        world.reset(0)
        state = world.get_state()
        state["x"][:2], state["y"][:2] = [1, 2], [1, 1]
        world.set_state(state)
        result = world.step([3, 4, None])
        assert list(result.terminated) == [over, True, False]


def test_what_agents_are_told() -> None:
    env = parallel_env("GridWorld", **CROWD)
    observations, infos = env.reset(seed=3)
    assert list(observations) == env.agents == ["agent_0", "agent_2"]
    assert "Some agents enter later" in env.world.instructions(0)
    assert "agent_1 is still to come" in env.world.ansi()
    assert not env.world.masks()[1][:4].any()
    assert env.world.admissible(1) == []
    for _ in range(3):
        observations, rewards, terminated, _, infos = env.step(dict.fromkeys(env.agents, 4))
    assert env.agents == ["agent_0", "agent_1", "agent_2"]
    assert infos["agent_1"]["joined"]
    assert infos["agent_1"]["seed"] == 3
    assert (rewards["agent_1"], terminated["agent_1"]) == (0.0, False)
    facts = env.facts("agent_1")
    assert (
        f"column {facts.position[0]}, row {facts.position[1]} of"
        in (observations["agent_1"]["text"])
    )
    assert "agent_1 is still to come" not in env.world.ansi()
    assert env.state() in env.state_space


def test_wrong_entries_are_refused() -> None:
    with pytest.raises(ConfigError, match="join_at leaves nobody at the start"):
        GridWorldConfig(agents=2, join_at=(1, None))
    with pytest.raises(ConfigError, match="join_at has 3 entries for 2 agents"):
        GridWorldConfig(agents=2, join_at=(0, 1, 1))
    with pytest.raises(ConfigError, match="at least 0"):
        GridWorldConfig(agents=2, join_at=(0, -1))
    env = parallel_env("GridWorld", agents=2, join_at=(0, 3), max_steps=5, envelope={"agents": 3})
    env.reset(seed=0)
    for agent, words in ((0, "in play already"), (2, "no part in this config: agents=2")):
        with pytest.raises(AgentError, match=words):
            env.world.enter(agent)
    env.world.enter(1)
    with pytest.raises(AgentError, match="in play already"):
        env.world.enter(1)
    for _ in range(5):
        env.world.step([4, 4, None])
    with pytest.raises(AgentError, match="done with this episode"):
        env.world.enter(1)
    env.reset(seed=0)
    env.reconfigure({"max_steps": 1})
    env.reset(seed=0)
    env.step({"agent_0": 4})
    with pytest.raises(AgentError, match="the episode is over"):
        env.world.enter(1)


# -- faces ---------------------------------------------------------------------------------


def test_checkers_are_content(monkeypatch: pytest.MonkeyPatch) -> None:
    library.check_parallel("GridWorld", view="both", **CROWD)
    library.check_aec("GridWorld", view="vector", **CROWD)
    library.check_render("GridWorld", monkeypatch, **CROWD)


def test_the_kit_is_content() -> None:
    report = testing.check_world("GridWorld", **{**CROWD, "join_at": (0, 3, None, 6)})
    assert report.finding("late_joiners_enter").status == "passed"


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_batches_are_as_single_environments(autoreset: str) -> None:
    batch = batch_env("GridWorld", num_envs=4, autoreset=autoreset, **CROWD)
    singles = [parallel_env("GridWorld", view="vector", **CROWD) for _ in range(4)]
    obs, infos = batch.reset(seed=40)
    assert infos["alive"].tolist() == [[True, False, True, False]] * 4
    for slot, env in enumerate(singles):
        shown, _ = env.reset(seed=40 + slot)
        for k, name in enumerate(batch.agents):
            expected = shown.get(name, np.zeros_like(obs[slot, k]))
            np.testing.assert_array_equal(obs[slot, k], expected)
    rng = np.random.default_rng(1)
    for _ in range(70):
        acts = rng.integers(0, 6, (4, 4))
        obs, rewards, terminated, truncated, infos = batch.step(acts)
        for slot, env in enumerate(singles):
            if not env.agents:
                if autoreset == "next_step":
                    env.reset()
                continue
            before = list(env.agents)
            chosen = {n: int(acts[slot, int(n[-1])]) for n in before}
            shown, given, ends, cuts, notes = env.step(chosen)
            for k, name in enumerate(batch.agents):
                if name in given:
                    assert rewards[slot, k] == given[name]
                    assert (terminated[slot, k], truncated[slot, k]) == (ends[name], cuts[name])
                if name in before:
                    assert OUTCOMES[infos["outcome"][slot, k]] == notes[name]["outcome"]
            if autoreset == "same_step" and not env.agents:
                shown, _ = env.reset()
            for k, name in enumerate(batch.agents):
                expected = shown.get(name, np.zeros_like(obs[slot, k]))
                np.testing.assert_array_equal(obs[slot, k], expected)
        assert batch.digests() == [env.digest() for env in singles]


def test_snapshots_hold_who_is_to_come() -> None:
    one, two = parallel_env("GridWorld", **CROWD), parallel_env("GridWorld", **CROWD)
    one.reset(seed=8)
    two.reset(seed=1)
    one.step(dict.fromkeys(one.agents, 1))
    two.restore(one.snapshot())
    third = copy.deepcopy(one)
    for _ in range(9):
        for env in (one, two, third):
            env.step(dict.fromkeys(env.agents, 0))
        assert one.agents == two.agents == third.agents
        assert one.digest() == two.digest() == third.digest()
    assert len(one.agents) == 4


def test_a_learner_may_come_late() -> None:
    late = {**CROWD, "join_at": (0, 3, 0, 6)}
    env = gym_env("GridWorld", agent="agent_1", partners={"*": "noop"}, **late)
    env.reset(seed=5)
    assert env.runner.steps == 3
    assert env.step(4)[4]["outcome"] == "ok"
    many: Any = make_vector("GridWorld", num_envs=2, agent="agent_1", **late)
    assert isinstance(many, SyncVectorEnv)
    many.reset(seed=5)
    many.step(np.array([4, 4]))
    many.close()
    many = make_vector("GridWorld", num_envs=2, **late)
    assert isinstance(many, BatchVectorEnv)
    many.reset(seed=5)
    with pytest.raises(UnsupportedError, match="'agent_0' is not there at the reset"):
        many.batch.reconfigure({"join_at": (1, 0)})
    by_id = gymnasium.make("piase_gym:piase/GridWorld-v1", agents=2, join_at=(0, 2))
    by_id.reset(seed=0)
    by_id.step(0)


def test_to_sb3_a_wait_is_an_episode_that_does_not_count() -> None:
    pytest.importorskip("stable_baselines3")
    from piase_gym.adapters import sb3_vec

    env = sb3_vec(GridWorldConfig(**{**CROWD, "max_steps": 10}), num_envs=2)
    env.seed(3)
    obs = env.reset()
    assert not obs[[1, 3, 5, 7]].any()
    told: dict[int, list[int]] = {slot: [] for slot in range(8)}
    for step in range(1, 11):
        obs, _, dones, infos = env.step(np.full(8, 4))
        late = {3: [1, 5], 6: [3, 7], 10: list(range(8))}.get(step, [])
        assert np.flatnonzero(dones).tolist() == late
        for slot in late:
            if step < 10:
                assert obs[slot].any()
                assert not infos[slot]["terminal_observation"].any()
                assert "episode" not in infos[slot]
            else:
                told[slot].append(infos[slot]["episode"]["l"])
    assert [told[slot] for slot in range(4)] == [[10], [7], [10], [4]]


# -- oracle, logs, simulation --------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"agents": 3, "layout": "door_key", "width": 8, "height": 8, "join_at": (0, 4, 9)},
        {"agents": 4, "layout": "maze", "width": 9, "height": 9, "join_at": (0, 1, 2, 12)},
        {"agents": 3, "layout": "foraging", "join_at": (0, 5, 0)},
    ],
)
def test_the_oracle_plans_for_who_is_there(fields: dict[str, Any]) -> None:
    entries = 0
    for seed in range(4):
        summary = Simulation(GridWorldConfig(**fields), "oracle", seed=seed).run()
        entered = {name for name, result in summary.results.items() if result is not None}
        assert {summary.results[name] for name in entered} == {"won"}
        entries += len(entered) - 1
    assert entries >= 4


def walk(env: Any, episodes: int, seed: int) -> int:
    """Play at random; return how many entries there were."""
    rng, entries = np.random.default_rng(seed), 0
    for episode in range(episodes):
        env.reset(seed=seed + episode)
        while env.agents:
            before = set(env.agents)
            env.step({name: int(rng.integers(6)) for name in env.agents})
            entries += len(set(env.agents) - before)
    return entries


@pytest.mark.parametrize("level", ["actions", "full"])
def test_logs_are_replayed(level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(parallel_env("GridWorld", **CROWD), path, level=level)
    assert walk(env, 4, seed=0) >= 6
    env.close()
    report = runs.replay(path)
    assert report.ok, str(report)
    assert runs.validate(path).ok


def test_logs_of_batches_are_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = batch_env("GridWorld", num_envs=3, **CROWD)
    log = AvtLogger(env, path, level="events")
    env.reset(seed=7)
    rng = np.random.default_rng(0)
    returns = np.zeros(4)
    for _ in range(24):
        returns += env.step(rng.integers(0, 6, (3, 4)))[1].sum(axis=0)
    log.close()
    report = runs.replay(path)
    assert report.ok, str(report)
    assert runs.validate(path).ok


def test_who_was_let_in_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    simulation = Simulation(
        GridWorldConfig(**{**CROWD, "join_at": (0, None, 0, 6)}),
        "random",
        seed=3,
        wrap=(lambda env: AvtLogger(env, path, level="full"),),
    )
    simulation.initialize()
    simulation.run_simulation(4)
    if any(simulation.world.alive):
        simulation.join("agent_1")
    simulation.run()
    report = runs.replay(path)
    assert report.ok, report


def test_who_turns_on_the_spot_has_not_entered() -> None:
    env = parallel_env("GridWorld", agents=2, frame="agent", join_at=(0, 3), width=9)
    env.reset(seed=1)
    turn = next(k for k, c in enumerate(env.world.commands) if "left" in str(c.parameters))
    joined = []
    for _ in range(5):
        infos = env.step(dict.fromkeys(env.agents, turn))[4]
        joined.append([bool(infos.get(name, {}).get("joined")) for name in env.possible_agents])
    assert joined == [[False, False], [False, False], [False, True], [False, False], [False, False]]
