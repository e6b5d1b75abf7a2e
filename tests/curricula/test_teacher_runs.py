"""Automatic teachers in environments: levels, settings, scores, logs, progress, bad options."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import curricula, runs
from piase_gym.curricula import ParallelCurricula
from piase_gym.curricula.directors import make_director
from piase_gym.errors import ConfigError, CurriculumError, UnknownNameError
from piase_gym.simulation import Simulation
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import curriculum, dse, step

AGENT = "agent_0"
ROOM = {"layout": "obstacles", "obstacle_density": 0.2, "start_pos": None, "goal_pos": None}
PLAN = curriculum(
    step(1, config={"width": 5, "height": 5, **ROOM}),
    step(2, config={"width": 6, "height": 6, **ROOM}),
)
TEACHERS: dict[str, dict[str, Any]] = {
    "plr": {"name": "plr", "score": "return", "warm_up": 4},
    "plr steps": {"name": "plr", "over": "steps", "score": "return"},
    "plr settings": {
        "name": "plr",
        "score": "return",
        "warm_up": 4,
        "settings": {"obstacle_density": [0.0, 0.3]},
    },
    "alp_gmm": {"name": "alp_gmm", "period": 12, "components": [2, 3]},
    "alp_gmm settings": {
        "name": "alp_gmm",
        "period": 12,
        "components": [2, 3],
        "settings": {"obstacle_density": [0.0, 0.3], "width": [5, 8]},
    },
    "learnability": {"name": "learnability"},
    "learnability levels": {
        "name": "learnability",
        "over": "levels",
        "candidates": 4,
        "tries": 2,
        "best": 2,
        "period": 10,
    },
    "self_paced": {"name": "self_paced", "period": 6, "measure": "return"},
    "self_paced settings": {
        "name": "self_paced",
        "period": 6,
        "settings": {"obstacle_density": [0.0, 0.3], "width": [5, 8]},
        "start": {"obstacle_density": [0.05, 0.05], "width": [5, 1]},
    },
}


def single(director: Any, **options: Any) -> Any:
    return CurriculumWrapper(
        piase_gym.parallel_env("GridWorld"), PLAN, director=director, **options
    )


def batch(director: Any, autoreset: str = "same_step", **options: Any) -> Any:
    inner = piase_gym.batch_env("GridWorld", num_envs=5, autoreset=autoreset)
    return CurriculumWrapper(inner, PLAN, director=director, **options)


def play(env: Any, episodes: int, first: int = 0) -> list[tuple[Any, ...]]:
    """What each of the next episodes was: its config, and the level as its first state."""
    found = []
    for number in range(first, first + episodes):
        env.reset()
        world, runner = env.unwrapped.world, env.unwrapped.runner
        config = world.config
        found.append((config.width, config.obstacle_density, runner.seed, world.digest()))
        rng = np.random.default_rng(number)
        while env.agents:
            env.step({AGENT: int(rng.integers(4))})
    return found


# -- levels and settings ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEACHERS)
def test_progress_goes_on_exactly_and_the_log_replays(name: str, tmp_path: Path) -> None:
    log, kept = tmp_path / "run.jsonl", tmp_path / "progress.json"
    env = AvtLogger(single(TEACHERS[name], seed=3), log)
    env.reset(seed=0)  # without a step it is no episode
    whole = play(env, 40)
    env.close()
    assert runs.replay(log).ok
    drawn = [data["drawn_by"] for kind, data in dse(log) if kind == "DSE_STEP_ATTEMPT_START"]
    for told, (width, density, seed, _) in zip(drawn, whole, strict=False):
        assert told.get("level", seed) == seed
        assert told.get("setting_width", width) == width
        assert told.get("setting_obstacle_density", density) == density
    first = single(TEACHERS[name], seed=3, progress=kept)
    first.reset(seed=0)
    begun = play(first, 25)
    first.close()
    again = single(TEACHERS[name], seed=3, progress=kept)
    if "level" not in drawn[0]:  # the world's own levels go on from where they are told
        again.unwrapped.runner._base, again.unwrapped.runner._episode = 0, 25
    assert begun + play(again, 15, first=25) == whole
    again.close()


def test_a_replayed_level_is_the_same_level() -> None:
    found = play(single({**TEACHERS["plr"], "replay": 0.8}, seed=1), 60)
    levels: dict[int, set[Any]] = {}
    for width, density, seed, digest in found:
        levels.setdefault(seed, set()).add((width, density, digest))
    assert all(len(seen) == 1 for seen in levels.values())
    assert 5 < len(levels) < 40
    assert len({digest for _, _, _, digest in found}) > 5


def test_a_seed_given_to_the_reset_is_the_level_that_is_scored() -> None:
    env = single({**TEACHERS["plr"], "warm_up": 50}, seed=1)
    for seed in (77, 78):
        env.reset(seed=seed)
        assert env.unwrapped.runner.seed == seed
        while env.agents:
            env.step({AGENT: 0})
    known = env.progress[AGENT].memory["teacher"].known
    assert [entry.task.seed for entry in known] == [77, 78]


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_every_slot_of_a_batch_plays_the_level_that_it_drew(autoreset: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.batch_env("GridWorld", num_envs=5, autoreset=autoreset)
    env = AvtLogger(CurriculumWrapper(inner, PLAN, director=TEACHERS["plr settings"]), path)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(80):
        env.step(rng.integers(4, size=(5, 1)))
    env.close()
    assert runs.replay(path).ok
    drawn: dict[int, list[Any]] = {slot: [] for slot in range(5)}
    for kind, data in dse(path):
        if kind == "DSE_STEP_ATTEMPT_START":
            drawn[data["slot"]].append(data["drawn_by"])
    assert any(told["replayed"] for told in drawn[0])
    rows = runs.Metrics(path).history.of(AGENT).episodes
    for slot in range(5):
        levels = [row.seed for row in rows if row.slot == slot]
        assert len(levels) > 5
        assert levels == [told["level"] for told in drawn[slot]][: len(levels)]


def test_slots_of_workers_play_the_levels_that_they_drew() -> None:
    env = ParallelCurricula("GridWorld", PLAN, slots=3, workers=0, director=TEACHERS["plr"])
    _, infos = env.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        env.step(rng.integers(4, size=3))
    known = env.controller.progress[AGENT].memory["teacher"].known
    rows = [row for row in env.controller.metrics.history.of(AGENT).episodes if row.finished]
    assert {row.seed for row in rows} == {entry.task.seed for entry in known}
    assert set(infos["seed"].tolist()) <= {entry.task.seed for entry in known}
    assert len(rows) > len(known)  # some came again
    env.close()


# -- advantages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_episodes_are_scored_by_the_advantages_of_their_own_steps(autoreset: str) -> None:
    director = {"name": "plr", "replay": 0.0, "buffer": 500}
    env, rng = batch(director, autoreset, seed=2), np.random.default_rng(4)
    env.reset()
    scores: dict[int, float] = {}
    sums: list[list[float]] = [[] for _ in range(5)]
    for length in (3, 1, 9, 7, 20, 4, 16):
        advantages = rng.normal(size=(length, 5))
        for t in range(length):
            seeds = env.unwrapped.seeds().tolist()
            playing = ~env.unwrapped.batch.states["over"].astype(bool)
            _, _, terminated, truncated, _ = env.step(rng.integers(4, size=(5, 1)))
            for slot in np.flatnonzero(playing).tolist():
                sums[slot].append(abs(advantages[t, slot]))
                if (terminated | truncated)[slot, 0]:
                    scores[seeds[slot]] = float(np.mean(sums[slot]))
                    sums[slot] = []
        env.controller.report_advantages(AGENT, advantages)
        known = env.progress[AGENT].memory["teacher"].known
        assert {entry.task.seed for entry in known} == set(scores)
    assert len(scores) > 20
    for entry in known:
        assert entry.score == pytest.approx(scores[entry.task.seed])


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_learners_learn_from_replayed_levels_alone(autoreset: str) -> None:
    director = {"name": "plr", "robust": True, "warm_up": 3}
    env, rng = batch(director, autoreset, seed=5), np.random.default_rng(4)
    told: dict[tuple[int, int], bool] = {}  # whether the last draw of a level in a slot was again

    def hear(_agent: str, data: Any) -> None:
        told[data["slot"], data["drawn_by"]["level"]] = data["drawn_by"]["replayed"]

    env.controller.attempt_listeners.append(hear)
    env.reset()
    everything = []
    for length in (12, 5, 30, 30):
        wanted, advantages = np.zeros((length, 5), bool), rng.normal(size=(length, 5))
        played = np.zeros((length, 5), bool)
        for t in range(length):
            for slot, seed in enumerate(env.unwrapped.seeds().tolist()):
                wanted[t, slot] = told[slot, seed]
            played[t] = ~env.unwrapped.batch.states["over"].astype(bool)
            env.step(rng.integers(4, size=(5, 1)))
        env.controller.report_advantages(AGENT, advantages)
        found = env.controller.learning_mask(AGENT, length)
        assert found[played].tolist() == wanted[played].tolist()
        everything += found[played].tolist()
    assert set(everything) == {True, False}
    assert not everything[0]


def test_a_single_environment_tells_advantages_too() -> None:
    env = single({"name": "plr", "replay": 0.0}, seed=1)
    played = play(env, 2)
    taken = env.controller.metrics.history.of(AGENT).episodes
    lengths = [row.length for row in taken]
    advantages = np.concatenate([np.full(n, k + 1.0) for k, n in enumerate(lengths)])[:, None]
    env.controller.report_advantages(AGENT, advantages)
    known = env.progress[AGENT].memory["teacher"].known
    assert [(k.task.seed, k.score) for k in known] == [(played[0][2], 1.0), (played[1][2], 2.0)]


def test_nothing_piles_up_where_no_learner_asks_what_to_learn_from() -> None:
    env = single({"name": "plr", "score": "return"}, seed=1)
    play(env, 2)
    before = len(pickle.dumps(env.controller._feedback))
    play(env, 30)
    assert len(pickle.dumps(env.controller._feedback)) == before
    assert env.controller.learning_mask(AGENT, 3).all()


def test_an_episode_of_which_a_part_was_not_told_is_not_scored() -> None:
    env = single({"name": "plr", "replay": 0.0}, seed=1)
    played = play(env, 3)
    first, *others = [row.length for row in env.controller.metrics.history.of(AGENT).episodes]
    assert first > 1
    env.controller.report_advantages(AGENT, np.ones((first - 1 + sum(others), 1)))
    known = env.progress[AGENT].memory["teacher"].known
    assert [k.task.seed for k in known] == [seed for _, _, seed, _ in played[1:]]


def test_the_next_seed_is_that_of_one_episode() -> None:
    for many in (False, True):
        env: Any = piase_gym.parallel_env("GridWorld")
        if many:
            env = piase_gym.batch_env("GridWorld", num_envs=1)
        seeds = []
        for given in (3, None, None, None):
            env.reset(seed=given)
            seeds.append(env.seeds()[0] if many else env.runner.seed)
            if len(seeds) == 1:
                (env.set_next_seed(0, 9) if many else env.runner.set_next_seed(9))
        env.reset(seed=9)
        after = []
        for _ in range(2):
            env.reset()
            after.append(env.seeds()[0] if many else env.runner.seed)
        assert seeds == [3, 9, *after]
        assert len(set(seeds)) == 4


def test_advantages_that_cannot_be_are_refused() -> None:
    env = batch({"name": "plr"})
    env.reset(seed=0)
    env.step(np.zeros((5, 1), np.int64))
    for wrong in (np.zeros(5), np.zeros((1, 4)), np.zeros((2, 5)), [["a"] * 5], [[np.nan] * 5]):
        with pytest.raises(ConfigError, match=r"advantages are finite numbers of shape"):
            env.controller.report_advantages(AGENT, wrong)
    env.controller.report_advantages(AGENT, np.zeros((1, 5)))


def test_nobody_tells_advantages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piase_gym.curricula.learner_feedback.MOST_WAITING", 6)
    with pytest.raises(ConfigError, match=r"report_advantages.*score='return'"):
        play(single({"name": "plr"}), 7)


# -- by name, with options -------------------------------------------------------------------------

FILE = {
    "name": "Levels",
    "world": "GridWorld",
    "director": {"name": "plr", "score": "return", "warm_up": 2, "replay": 0.9},
    "steps": [{"order": 1, "name": "Room", "max_interactions": 5}],
}
YAML = """
name: Levels
world: GridWorld
director: {name: plr, score: return, warm_up: 2, replay: 0.9}
steps:
- {order: 1, name: Room, max_interactions: 5}
"""


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_names_its_director_and_simulations_follow_it(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"levels.curriculum.{suffix}"
    path.write_text(json.dumps(FILE) if suffix == "json" else YAML)
    plan = curricula.load(path)
    assert plan.sha256 == curricula.load(FILE).sha256
    assert plan.sha256 != curricula.load({**FILE, "director": None}).sha256
    simulation = Simulation("GridWorld", "random", path, seed=1)
    simulation.run(episodes=12)
    levels = {summary.seed for summary in simulation.summaries}
    assert type(simulation.controller.director).__name__ == "PrioritisedLevelReplay"
    assert len(levels) < 9
    other = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), path, director="randomisation")
    assert type(other.controller.director).__name__ == "Randomisation"


WRONG: list[tuple[Any, str]] = [
    (
        {"name": "plr", "temprature": 1},
        r"director plr: there is no option 'temprature'.*temperature",
    ),
    ({"name": "plr", "temperature": 0}, "temperature is a number above 0, not 0"),
    ({"name": "plr", "replay": 1.5}, "replay is a number from 0 to 1, not 1.5"),
    ({"name": "plr", "replay": True}, "replay is a number"),
    ({"name": "plr", "staleness": float("nan")}, "staleness is a number"),
    ({"name": "plr", "over": "worlds"}, "over is one of levels, steps, not 'worlds'"),
    ({"name": "plr", "score": "loss"}, "score is one of gae, positive, return"),
    ({"name": "plr", "priority": 3}, "priority is one of rank, proportional"),
    ({"name": "plr", "robust": 1}, "robust is true or false"),
    ({"name": "plr", "robust": True, "replay": 0}, "replay is above 0"),
    ({"name": "plr", "buffer": 10}, "buffer has room for 10"),
    ({"name": "plr", "over": "steps", "step": 1}, "step and settings are of levels"),
    ({"name": "plr", "settings": {"width": 3}}, r"width is drawn from \[least, largest\]"),
    ({"name": "plr", "settings": {"width": [5, 3]}}, r"width is drawn from"),
    ({"name": "plr", "settings": ["width"]}, "settings are a mapping"),
    ({"name": "plr", "settings": {f"f{n}": [0, 1] for n in range(7)}}, "at most 6"),
    ({"name": "alp_gmm", "components": [5, 2]}, "components"),
    ({"name": "alp_gmm", "components": 3}, "components"),
    ({"name": "alp_gmm", "measure": "score"}, "measure is one of success, return"),
    ({"name": "alp_gmm", "period": 250, "history": 20}, "history"),
    ({"name": "alp_gmm", "step": 1}, "step is that of settings"),
    ({"name": "learnability", "best": 300}, "best"),
    ({"name": "learnability", "window": 2.5}, "window is a whole number from 1 on"),
    ({"name": "self_paced", "settings": {"width": [3, 5]}}, "start="),
    (
        {"name": "self_paced", "settings": {"width": [3, 5]}, "start": {"width": [9, 1]}},
        "width has .mean, standard deviation",
    ),
    ({"name": "self_paced", "max_kl": -1}, "max_kl is a number above 0"),
    ({"name": "self_paced", "start": [1]}, "weights are a mapping"),
    ({"name": "scripted", "replay": 1}, "director scripted: there is no option 'replay'"),
    ({"name": "randomisation", "weights": 3}, "weights are a mapping"),
    ({"name": "randomisation", "weights": {1.5: 1}}, "weights are a mapping"),
    ({"name": "randomisation", "weights": {1: 1, "1": 2}}, "weights are a mapping"),
    ({"name": "plr", "step": [1]}, "step is an order or the name of a step, not"),
    ({"name": "plr", "step": True}, "step is an order or the name of a step, not True"),
    ({"name": "threshold", "episodes": "5"}, "episodes is a whole number from 1 on, not '5'"),
    ({"name": "learning_progress", "speed": "x"}, "speed is a number from 1 on, not 'x'"),
    ({"replay": 1}, "the name of a director is one of"),
    ({"name": ["plr"]}, "the name of a director is one of"),
    (["plr"], "a director is a Director, a name, or a mapping"),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_options_that_are_not_allowed(given: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make_director(given)


def test_a_wrong_director_in_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "levels.curriculum.yaml"
    path.write_text(YAML.replace("replay: 0.9", "replay: 9"))
    with pytest.raises(CurriculumError, match=r"yaml:4:\d+: director plr: replay is a number"):
        curricula.load(path)
    path.write_text(YAML.replace("name: plr", "name: pir"))
    with pytest.raises(CurriculumError, match=r"yaml:4:\d+: unknown director 'pir'.*plr"):
        curricula.load(path)
    path.write_text(YAML.replace("replay: 0.9", "step: 7"))
    with pytest.raises(CurriculumError, match=r"director: .*no step 7"):
        curricula.load(path)


def test_a_director_that_does_not_suit_is_told_before_anything_changes() -> None:
    with pytest.raises(UnknownNameError, match="pir"):
        single("pir")
    inner = piase_gym.parallel_env("GridWorld", agents=2)
    with pytest.raises(
        ConfigError, match="one agent can follow a curriculum, not agent_0, agent_1"
    ):
        CurriculumWrapper(inner, dict.fromkeys(inner.possible_agents, curricula.load(FILE)))
    settings = {"obstacle_densty": [0.0, 0.3]}
    with pytest.raises(ConfigError, match=r"the director may draw obstacle_densty=0.0 at.*step 1"):
        single({"name": "plr", "settings": settings})
    settings = {"obstacle_density": [0.0, 3.0]}
    with pytest.raises(ConfigError, match=r"the director may draw obstacle_density=3.0 at.*step 2"):
        single({"name": "alp_gmm", "settings": settings})
    with pytest.raises(ConfigError, match=r"start has a weight above 0 for each step \(1, 2\)"):
        single({"name": "self_paced", "start": {1: 1.0}})
    with pytest.raises(CurriculumError, match="no step 9"):
        single({"name": "plr", "step": 9})


def test_agents_with_different_directors() -> None:
    inner = piase_gym.parallel_env("GridWorld", agents=2)
    plans = {
        name: curricula.load({**FILE, "director": director})
        for name, director in zip(inner.possible_agents, ("learnability", "threshold"), strict=True)
    }
    with pytest.raises(ConfigError, match="all agents have one director"):
        CurriculumWrapper(inner, plans)


def test_settings_make_room_for_themselves() -> None:
    settings = {"width": [4, 9]}
    env = single({"name": "alp_gmm", "settings": settings, "period": 300}, seed=0)
    assert env.unwrapped.world.envelope.width == 9
    assert {width for width, *_ in play(env, 40)} == {4, 5, 6, 7, 8, 9}
