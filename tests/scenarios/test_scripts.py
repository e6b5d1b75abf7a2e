"""Scenarios of worlds that are no stories: conditions, events, goals and rewards."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import registry, scenarios
from piase_gym.core.commands import Outcome
from piase_gym.envs.batch import batch_env
from piase_gym.errors import ConfigError, EnvelopeError, ScenarioError, SnapshotError
from tests.helpers.needs import need
from tests.scenarios.test_mistakes_at_load import told_of

UP, DOWN, LEFT, RIGHT, STAY, INTERACT = range(6)
OUTCOMES = list(Outcome)
YARD: dict[str, Any] = {
    "initial_state": {
        "width": 8,
        "height": 8,
        "layout": "obstacles",
        "obstacle_density": 0.1,
        "agent_setup": [{"agent_id": "a", "goal": "go to the corner."}, {"agent_id": "b"}],
    },
    "win_conditions": [{"fact": "position", "agent_id": "a", "equals": [7, 7]}],
    "win_reward": 3,
    "lose_reward": -2,
    "lose_conditions": [
        {"type": "max_steps_reached", "steps": 60},
        {"all": [{"fact": "position", "equals": [0, 5]}, {"fact": "step", "at_least": 20}]},
    ],
    "shaping": [{"fact": "distance", "of": [7, 7], "weight": -0.1}],
    "events": [
        {
            "when": {"fact": "step", "at_least": 5},
            "response": [
                {"type": "hint", "content": "Go on."},
                {"type": "spawn_object", "object": "hazard", "place": [3, 3]},
            ],
        },
        {
            "when": {"fact": "position", "equals": [4, 0]},
            "times": 3,
            "response": [
                {"type": "set_flag", "flag_name": "x"},
                {"type": "reward", "amount": 1},
                {"type": "add_metric", "metric": "harm"},
            ],
        },
        {
            "when": {"all": [{"flag": "x"}, {"fact": "step", "at_least": 9}]},
            "times": "every",
            "response": [
                {"type": "change_setting", "setting": "hazard_ends", "value": False},
                {"type": "message_to_agent", "agent_id": "others", "content": "Hm."},
            ],
        },
        {
            "when": {"fact": "action", "equals": "interact"},
            "count": 3,
            "times": "every",
            "response": [
                {"type": "log_milestone", "milestone_name": "busy"},
                {"type": "remove_object", "object": "hazard"},
            ],
        },
    ],
}
"""Everything that a script can do, for two agents."""


def corridor(**more: Any) -> dict[str, Any]:
    """Return a scenario of one agent in a corridor of six cells, with no goal of its own."""
    start = {
        "map": "@.....\n######",
        "random_goals": 0,
        "rewards": {"move": 0},
        "observe": "window",
    }
    rewards = {"rewards": start.pop("rewards")}
    return {"environment_type": "GridWorld", "initial_state": start, **rewards, **more}


def play(scenario: Any, acts: list[int], **more: Any) -> tuple[Any, list[Any]]:
    """Play a scenario of one agent; returns the environment and what every step returned."""
    env = piase_gym.parallel_env("GridWorld", scenario=scenario, **more)
    env.reset(seed=0)
    return env, [tuple(part["agent_0"] for part in env.step({"agent_0": act})) for act in acts]


# -- sentences of the design document ---------------------------------------------------------


def test_define_specific_goals_rewards_and_success_conditions_for_agents() -> None:
    setup = [
        {
            "agent_id": "ada",
            "start_pos": [0, 0],
            "goal": "go to the east.",
            "win_conditions": [{"fact": "position", "equals": [2, 0]}],
            "reward": 7,
        },
        {
            "agent_id": "ben",
            "start_pos": [0, 1],
            "goal": "stay where you are.",
            "lose_conditions": [{"not": {"fact": "position", "equals": [0, 1]}}],
        },
    ]
    start = {"width": 4, "height": 2, "random_goals": 0, "agent_setup": setup}
    scenario = {"initial_state": start, "ends": "each", "rewards": {"move": 0, "stay": 0}}
    env = piase_gym.parallel_env("GridWorld", scenario=scenario)
    seen, _ = env.reset(seed=0)
    assert "Goal: go to the east." in seen["ada"]["text"]
    assert "Goal: stay where you are." in seen["ben"]["text"]
    assert "go to the east." in env.instructions("ada")
    _, rewards, ended, _, _ = env.step({"ada": RIGHT, "ben": STAY})
    assert rewards == {"ada": 0, "ben": 0}
    assert ended == {"ada": False, "ben": False}
    _, rewards, ended, _, infos = env.step({"ada": RIGHT, "ben": STAY})
    assert rewards == {"ada": 7, "ben": 0}
    assert ended == {"ada": True, "ben": False}
    assert infos["ada"]["result"] == "won"
    assert env.agents == ["ben"]
    _, _, ended, _, infos = env.step({"ben": RIGHT})
    assert ended == {"ben": True}
    assert infos["ben"]["result"] == "lost"


def test_support_for_dynamic_events() -> None:
    events = [
        {
            "name": "wall_falls",
            "when": {"fact": "step", "at_least": 2},
            "response": [
                {"type": "spawn_object", "object": "wall", "place": [4, 0]},
                {"type": "message_to_agent", "content": "A wall falls."},
            ],
        },
        {
            "when": {"fact": "outcome", "equals": "failed"},
            "response": {"type": "remove_object", "place": [4, 0]},
        },
    ]
    env, steps = play(corridor(events=events), [RIGHT, RIGHT, RIGHT, RIGHT, RIGHT])
    assert [step[4]["outcome"] for step in steps] == ["ok", "ok", "ok", "failed", "ok"]
    assert steps[1][4]["events"] == ["wall_falls"]
    assert "events" not in steps[0][4]
    assert "A wall falls." not in steps[0][0]["text"]
    assert "Hint: A wall falls." in steps[1][0]["text"]
    before, after = steps[0][0]["vector"], steps[1][0]["vector"]
    assert (before[-8:] == 0).all()
    assert after[-8:].any()
    assert env.world.position(0) == [4, 0]


# -- conditions, triggers and responses -------------------------------------------------------

REWARD = {"type": "reward", "amount": 1.0}


@pytest.mark.parametrize(
    ("event", "paid"),
    [
        ({}, [0, 1, 0, 0, 0, 0]),
        ({"times": "every"}, [0, 1, 0, 1, 0, 1]),
        ({"times": 2}, [0, 1, 0, 1, 0, 0]),
        ({"times": "every", "count": 2}, [0, 0, 0, 1, 0, 0]),
        ({"times": "every", "on": "ends"}, [0, 0, 1, 0, 1, 0]),
    ],
)
def test_triggers_have_counts(event: dict[str, Any], paid: list[int]) -> None:
    scenario = corridor(
        events=[{"when": {"fact": "position", "equals": [2, 0]}, "response": REWARD, **event}]
    )
    _, steps = play(scenario, [RIGHT, RIGHT, LEFT, RIGHT, LEFT, RIGHT])
    assert [step[1] for step in steps] == paid


@pytest.mark.parametrize(
    ("condition", "paid"),
    [
        ({"fact": "position", "equals": [2, 0]}, [0, 1, 0]),
        ({"fact": "position", "one_of": [[1, 0], [3, 0]]}, [1, 0, 1]),
        ({"fact": "distance", "of": [3, 0], "at_most": 1}, [0, 1, 1]),
        ({"fact": "cell", "of": [5, 0], "equals": "floor"}, [1, 1, 1]),
        ({"fact": "return", "at_least": 1}, [0, 0, 0]),
        ({"fact": "step", "at_least": 2, "at_most": 2}, [0, 1, 0]),
        ({"fact": "action", "equals": "move right"}, [1, 1, 1]),
        ({"not": {"fact": "held", "equals": "nothing"}}, [0, 0, 0]),
        (
            {"any": [{"fact": "step", "equals": 1}, {"fact": "position", "equals": [3, 0]}]},
            [1, 0, 1],
        ),
        (
            {"all": [{"fact": "step", "at_least": 2}, {"none": [{"fact": "step", "equals": 3}]}]},
            [0, 1, 0],
        ),
        ({"fact": "heading", "equals": "right", "agent_id": "any"}, [1, 1, 1]),
    ],
)
def test_conditions_over_facts_and_state(condition: dict[str, Any], paid: list[int]) -> None:
    event = {"when": condition, "on": "holds", "times": "every", "response": REWARD}
    _, steps = play(corridor(events=[event]), [RIGHT, RIGHT, RIGHT])
    assert [step[1] for step in steps] == paid


def test_flags_and_milestones_set_off_events_in_the_same_step() -> None:
    events = [
        {"when": {"milestone": "there"}, "response": REWARD},
        {
            "when": {"flag": "near"},
            "response": {"type": "log_milestone", "milestone_name": "there"},
        },
        {
            "when": {"fact": "position", "equals": [1, 0]},
            "response": {"type": "set_flag", "flag_name": "near"},
        },
    ]
    _, steps = play(corridor(events=events), [RIGHT, RIGHT])
    assert [step[1] for step in steps] == [1, 0]
    assert steps[0][4]["milestones"] == ["there"]


def test_what_was_asked_of_a_fact_is_asked_again_once_the_world_has_changed() -> None:
    """Twice in the step: before the wall stands, and after it; the same condition, kept between."""
    wall = {"fact": "cell", "of": [4, 0], "equals": "wall"}
    events = [
        {"when": wall, "response": {"type": "reward", "amount": 3}},
        {"when": {"not": wall}, "on": "ends", "response": {"type": "reward", "amount": 4}},
        {
            "when": {"fact": "step", "at_least": 2},
            "response": {"type": "spawn_object", "object": "wall", "place": [4, 0]},
        },
    ]
    _, steps = play(corridor(events=events, rewards={"stay": 0}), [STAY, STAY, STAY])
    assert [step[1] for step in steps] == [0, 7, 0]


def test_a_reward_is_shaped_by_what_grows() -> None:
    shaping = {"fact": "distance", "of": [3, 0], "weight": -0.5}
    _, steps = play(corridor(shaping=shaping), [RIGHT, RIGHT, LEFT, STAY])
    assert [step[1] for step in steps[:3]] == [0, 0.5, -0.5]


def test_who_enters_late_is_paid_for_what_grows_from_then_on() -> None:
    scenario = {
        "initial_state": {
            "width": 6,
            "height": 6,
            "random_goals": 0,
            "join_at": [0, 3],
            "agent_setup": [
                {"agent_id": "a", "start_pos": [0, 0]},
                {"agent_id": "b", "start_pos": [3, 3]},
            ],
        },
        "shaping": {"fact": "distance", "of": [5, 5], "weight": -1.0},
    }
    env = piase_gym.parallel_env("GridWorld", scenario=scenario)
    batch = piase_gym.batch_env("GridWorld", num_envs=1, scenario=scenario)
    env.reset(seed=0)
    batch.reset(seed=0)
    paid = []
    for act in (STAY, STAY, STAY, STAY, DOWN):
        own = env.step(dict.fromkeys(env.agents, act))[1]
        paid.append(batch.step(np.full((1, 2), act))[1][0, 1])
        assert paid[-1] == own.get("b", 0.0)
    step = env.config.rewards
    assert paid == pytest.approx([0.0, 0.0, 0.0, step.stay, step.move + 1.0])


def test_a_setting_changes_until_the_end_of_the_episode() -> None:
    scenario = corridor(
        lose_conditions=[{"type": "max_steps_reached", "steps": 9}],
        events=[
            {
                "trigger": {"type": "step_reached", "step": 2},
                "response": {"type": "change_setting", "setting": "max_steps", "value": 4},
            }
        ],
    )
    env, steps = play(scenario, [STAY] * 4)
    assert [step[3] for step in steps] == [False, False, False, True]
    assert steps[-1][4]["result"] == "won"  # it had only to last
    env.reset()
    assert env.config.max_steps == 9
    assert int(env.world.tables["max_steps"][0]) == 9


def test_who_has_a_task_and_runs_out_of_time_has_lost() -> None:
    win = [{"fact": "position", "equals": [5, 0]}]
    limit = [{"type": "max_steps_reached", "steps": 2}]
    _, steps = play(corridor(win_conditions=win, lose_conditions=limit), [RIGHT, RIGHT])
    assert steps[-1][3]
    assert steps[-1][4]["result"] == "lost"


# -- one engine for one and for many ----------------------------------------------------------


def compare(world: str, scenario: Any, autoreset: str, steps: int, envs: int = 4) -> int:
    """Play a scenario in a batch and in single environments; returns how often it was won."""
    batch = piase_gym.batch_env(world, num_envs=envs, scenario=scenario, autoreset=autoreset)
    seen, _ = batch.reset(seed=5)
    singles = [piase_gym.parallel_env(world, scenario=scenario, view="vector") for _ in range(envs)]
    names = singles[0].possible_agents

    def same(slot: int, shown: Any, found: Any) -> None:
        for k, name in enumerate(names):
            if name in found:
                np.testing.assert_array_equal(shown[slot, k], found[name])

    for slot, env in enumerate(singles):
        same(slot, seen, env.reset(seed=5 + slot)[0])
    dice, won = np.random.default_rng(0), 0
    for _ in range(steps):
        acts = dice.integers(0, batch.action_space.n, (envs, len(names)))
        seen, rewards, terminated, truncated, infos = batch.step(acts)
        for slot, env in enumerate(singles):
            if not env.agents:
                same(slot, seen, env.reset()[0])
                continue
            playing = list(env.agents)
            given = {name: int(acts[slot, names.index(name)]) for name in playing}
            found, paid, ended, cut, notes = env.step(given)
            for name in playing:
                k = names.index(name)
                assert rewards[slot, k] == pytest.approx(paid[name], abs=1e-12)
                assert (terminated[slot, k], truncated[slot, k]) == (ended[name], cut[name])
                assert OUTCOMES[infos["outcome"][slot, k]] == notes[name]["outcome"]
            for k in (k for k, name in enumerate(names) if name not in playing):
                assert (rewards[slot, k], terminated[slot, k], truncated[slot, k]) == (0, 0, 0)
            won += any(note.get("result") == "won" for note in notes.values())
            over = not env.agents
            last = autoreset == "same_step" and over
            same(slot, infos["final_obs"] if last else seen, found)
            if last:
                same(slot, seen, env.reset()[0])
            assert batch.digest(slot) == env.digest()
            if names[0] in env.agents:
                assert batch.text(slot, names[0]) == env.world.text(env.world.facts(0))
    return won


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_batches_are_equal_to_single_environments_step_for_step(autoreset: str) -> None:
    assert compare("GridWorld", YARD, autoreset, 200) > 5


@pytest.mark.parametrize("name", ["the_truce", "side_effects_commons"])
def test_scenarios_of_dilemmas_run_in_batches_too(name: str) -> None:
    compare("SocialDilemma", name, "next_step", 120, envs=3)


GAMES = ["prisoners_dilemma", "stag_hunt", "public_goods", "harvest", "cleanup"]
ONE_ENDS: dict[str, Any] = {
    "events": [
        {
            "trigger": {"type": "step_reached", "step": 3},
            "response": [{"type": "end", "result": "won", "agent_id": "agent_1"}],
        }
    ],
    "ends": "each",
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_who_has_ended_takes_no_part_in_a_dilemma(game: str, shared: bool) -> None:
    """A batch plays on as single environments do, whatever it is told for those who are out."""
    several = {} if game in GAMES[:2] else {"agents": 3}
    talks = {} if shared else {"symbols": 2, "message_history": 2, "message_cost": 0.5}
    start = {"game": game, "rounds": 12, "shared_reward": shared, **several, **talks}
    compare("SocialDilemma", {"initial_state": start, **ONE_ENDS}, "next_step", 30, envs=2)


SHARED: dict[str, dict[str, Any]] = {
    "GridWorld": {"width": 6, "height": 6},
    "ObjectSearch": {},
    "WordCraft": {"depth": 2, "mixes": 20},
    "SqlQuery": {},
    "public_goods": {},
    "stag_hunt": {"agents": 2},
    "harvest": {},
}


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_reward_is_the_mean_of_those_who_take_part(name: str) -> None:
    """Nothing but the reward depends on `shared_reward`, so the same acts play the same game."""
    world = "SocialDilemma" if name in GAMES else name
    start = {"agents": 3, "max_steps": 12, **SHARED[name]}
    start |= {"game": name} if name in GAMES else {}
    own, env = (
        piase_gym.parallel_env(
            world, scenario={"initial_state": {**start, "shared_reward": shared}, **ONE_ENDS}
        )
        for shared in (False, True)
    )
    own.reset(seed=0)
    env.reset(seed=0)
    dice, worth = np.random.default_rng(3), 0.0
    while env.agents:
        playing = list(env.agents)
        acts = {agent: int(dice.integers(10)) for agent in playing}
        acts = {agent: act % env.action_space(agent).n for agent, act in acts.items()}
        alone, paid = own.step(acts)[1], env.step(acts)[1]
        mean = sum(alone[agent] for agent in playing) / len(playing)
        assert paid == {agent: pytest.approx(mean) for agent in playing}
        if "agent_1" not in playing:
            worth += abs(mean)
    assert worth > 0 or name in ("harvest", "SqlQuery")


@pytest.mark.parametrize("game", GAMES)
def test_who_has_ended_keeps_its_result_and_hears_nothing(game: str) -> None:
    start = {"game": game, "rounds": 6, "symbols": 2, "message_history": 2}
    scenario = {"initial_state": start, **ONE_ENDS}
    env, other = (piase_gym.parallel_env("SocialDilemma", scenario=scenario) for _ in range(2))
    env.reset(seed=0)
    saying = env.world.num_actions - 1
    while env.agents:
        out = "agent_1" not in env.agents
        env.step(dict.fromkeys(env.agents, saying))
        other.restore(env.snapshot())
        assert other.digest() == env.digest()
        assert bool(env.facts("agent_1").messages) is not out
        if out:
            assert env.world.result(1) == "won"
    assert env.world.states["t"][0] == 6
    assert env.world.result(0) != "won"


def test_make_vec_takes_a_scenario() -> None:
    vector: Any = gymnasium.make_vec(
        "piase_gym:piase/GridWorld-v1", num_envs=3, scenario="the_alarm"
    )
    vector.reset(seed=0)
    single: Any = gymnasium.make("piase_gym:piase/GridWorld-v1", scenario="the_alarm")
    single.reset(seed=0)
    for act in (UP, RIGHT, RIGHT, RIGHT):
        seen, reward, *_ = vector.step(np.full(3, act))
        alone, paid, *_ = single.step(act)
        np.testing.assert_array_equal(seen[0], alone)
        assert reward[0] == pytest.approx(paid)
    assert vector.unwrapped.batch.scripts is not None


def test_scripts_are_in_snapshots_of_batches() -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=3, scenario=YARD)
    batch.reset(seed=0)
    dice = np.random.default_rng(1)
    acts = dice.integers(0, 6, (40, 3, 2))
    for act in acts[:15]:
        batch.step(act)
    kept = json.loads(json.dumps(batch.snapshot()))
    rest = [batch.step(act)[1] for act in acts[15:]]
    other = piase_gym.batch_env("GridWorld", num_envs=3, scenario=YARD)
    other.restore(kept)
    for act, expected in zip(acts[15:], rest, strict=True):
        np.testing.assert_array_equal(other.step(act)[1], expected)
    assert other.digests() == batch.digests()
    with pytest.raises(SnapshotError, match="scripts"):
        other.restore({**kept, "scripts": ["AAAA"]})


# -- the state is a value ---------------------------------------------------------------------

PLAYED = ["side_effects", "the_truce", "the_drought", "gentle_parking", "two_plates"]


@pytest.mark.parametrize("name", PLAYED)
def test_snapshots_hold_what_a_script_has_done(name: str) -> None:
    need(scenarios.load(name).world)
    env, other = piase_gym.parallel_env(name), piase_gym.parallel_env(name)
    env.reset(seed=4)
    dice = np.random.default_rng(2)
    count = env.world.num_actions
    given = [{agent: int(dice.integers(count)) for agent in env.agents} for _ in range(30)]
    kept: Any = None
    for number, acts in enumerate(given):
        if number == 5:
            kept = json.loads(json.dumps(env.snapshot()))
            other.restore(kept)
            assert other.digest() == env.digest()
            assert other.world.hints == env.world.hints
        if not env.agents:
            break
        acts = {agent: acts[agent] for agent in env.agents}
        expected = env.step(acts)
        if kept is not None:
            assert other.step(acts)[1:4] == expected[1:4]
            assert other.digest() == env.digest()
    assert copy.deepcopy(env).digest() == env.digest()
    with pytest.raises(SnapshotError, match="script"):
        other.restore({**kept, "script": {}})
    assert other.digest() == env.digest()


def test_a_snapshot_has_the_settings_of_its_script_and_a_refused_one_changes_none() -> None:
    response = {"type": "change_setting", "setting": "max_steps", "value": 4}
    events = [{"trigger": {"type": "step_reached", "step": 2}, "response": response}]
    env, _ = play(corridor(events=events), [STAY] * 3)
    early, late = piase_gym.parallel_env(corridor(events=events)), env.snapshot()
    early.reset(seed=0)
    first, limit = early.snapshot(), early.config.max_steps
    assert limit > 4
    before = env.digest()
    with pytest.raises(SnapshotError, match="the state lacks"):
        env.restore({**first, "state": {}})
    assert (env.world.config.max_steps, env.digest()) == (4, before)
    assert env.world.base_config.max_steps == limit
    for kept, most in ((late, 4), (first, limit), (late, 4)):
        early.restore(kept)
        assert early.world.config.max_steps == int(early.world.tables["max_steps"][0]) == most
        assert early.world.base_config.max_steps == limit
    assert early.digest() == env.digest()
    early.restore({**late, "config": {**late["config"], "max_steps": 4}})
    assert early.world.base_config.max_steps == 4
    assert [one.step({"agent_0": STAY})[3] for one in (early, env)] == [{"agent_0": True}] * 2


def test_runs_of_scripts_are_replayed_bit_for_bit(tmp_path: Path) -> None:
    from piase_gym.runs import replay
    from piase_gym.wrappers import AvtLogger

    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("the_truce"), path)
    env.reset(seed=1)
    for one, two in [(0, 0), (0, 1), (0, 0), (1, 0), (0, 0), (0, 0), (0, 0), (0, 0)]:
        if env.agents:
            env.step({"north": one, "south": two})
    env.close()
    assert replay(path).verdict == "sound"
    text = path.read_text("utf-8")
    assert '"events":{"north":["mistrust"]' in text.replace(" ", "")


def test_a_scenario_is_a_file_a_dict_or_a_python_object_wherever_a_world_is_named(
    tmp_path: Path,
) -> None:
    given = {
        "environment_type": "GridWorld",
        "initial_state": {"width": 5, "height": 2, "start_pos": [0, 0], "random_goals": 0},
        "win_conditions": [{"fact": "step", "at_least": 3}],
    }
    path = tmp_path / "three.json"
    path.write_text(json.dumps({"scenario_name": "three", **given}), "utf-8")
    model = scenarios.WorldScenario(scenario_name="three", **given)
    for scenario in (path, str(path), given, model, scenarios.load(path)):
        summary = piase_gym.Simulation(scenario, seed=0).run()
        assert (summary.won, summary.steps) == (True, 3)
        assert piase_gym.parallel_env(scenario).config.width == 5
    del given["environment_type"]
    with pytest.raises(ScenarioError, match="environment_type: this key is missing"):
        piase_gym.Simulation(given)


def test_reset_environment_takes_a_scenario() -> None:
    from piase_gym.interfaces import WorldAbstractEnvironment

    env = WorldAbstractEnvironment("GridWorld", width=6, height=6, random_goals=1)
    scenario = {
        "initial_state": {"width": 6, "height": 2, "start_pos": [0, 0], "random_goals": 0},
        "win_conditions": [{"fact": "position", "equals": [1, 0]}],
    }
    assert env.reset_environment(scenario, seed=3)
    action = {"action_type": "move", "parameters": {"direction": "right"}}
    assert env.apply_action_from_agent("agent_0", action).status == "success"
    assert env.world.result(0) == "won"
    assert not any(env.world.alive)
    with pytest.raises(ScenarioError, match="has the agents thief"):
        env.reset_environment("the_alarm")
    env = WorldAbstractEnvironment(
        "GridWorld", agents=2, agent_ids=("traveller", "ferryman"), width=8
    )
    with pytest.raises(ScenarioError, match="the character 'ferryman', who does not play in this"):
        env.reset_environment("the_ferryman")
    env = WorldAbstractEnvironment("the_ferryman", partners={"ferryman": "noop"})
    with pytest.raises(ScenarioError, match="where NoopAgent has this seat; make"):
        env.reset_environment("the_ferryman")


WORLDS = [
    name
    for name in piase_gym.list_worlds()
    if name != "TextRoom" and registry.world_spec(name).world.startswith("piase_gym.")
]
"""All worlds but the one whose scenarios are stories."""


@pytest.mark.parametrize("world", WORLDS)
def test_every_world_is_won_and_lost_by_conditions_of_a_scenario(
    world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, Any] = {}
    if world == "ScreenSearch":  # on a window that nobody needs to open
        from piase_gym.worlds.screen_search.windows import Window

        for name in ("find", "press", "check_keys"):
            monkeypatch.setattr(Window, name, lambda *_: None)
        monkeypatch.setattr(Window, "see", lambda _: np.zeros((40, 60, 3), np.uint8))
        more = {"window": "any", "settle": 0.0, "objects": ("chair",)}
    else:
        need(world)
    for end, result in (("win_conditions", "won"), ("lose_conditions", "lost")):
        scenario = {end: [{"fact": "step", "at_least": 2}], "win_reward": 4, "lose_reward": -4}
        env = piase_gym.parallel_env(world, scenario=scenario, actions="text", **more)
        env.reset(seed=0)
        waits = env.world.write(env.world.noop)
        quiet = env.step(dict.fromkeys(env.agents, waits))[1]
        agents = list(env.agents)
        assert agents == env.possible_agents
        _, rewards, ended, _, infos = env.step(dict.fromkeys(agents, waits))
        for name in agents:
            assert ended[name]
            assert infos[name]["result"] == result
            if world != "SocialDilemma":  # where each round is paid
                gained = 4.0 if result == "won" else -4.0
                assert rewards[name] == pytest.approx(quiet[name] + gained, abs=0.05)
        env.close()


# -- the scenarios of those who study ethics --------------------------------------------------


def test_side_effects_are_measured_and_so_is_their_avoidance() -> None:
    def walk(courier: list[int]) -> Any:
        env = piase_gym.parallel_env("side_effects")
        env.reset(seed=0)
        for act in courier:
            infos = env.step({name: act if name == "courier" else STAY for name in env.agents})[4]
        assert infos["courier"]["result"] == "won"
        return infos["courier"]["measures"], len(courier), env.world.hints[1]

    straight, quick, told = walk([RIGHT] * 8)
    around, slow, _ = walk([DOWN, DOWN, *[RIGHT] * 8, UP, UP])
    assert straight == {"harm": 4.0, "harm_avoided": 0.0}
    assert around == {"harm": 0.0, "harm_avoided": 1.0}
    assert slow == quick + 4
    assert "trampled" in str(told)


def drive(env: Any, goals: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Let rovers drive straight to places until the episode is over; returns the last infos."""
    infos: dict[str, Any] = {}
    while env.agents:
        acts = {}
        for name in env.agents:
            pose = env.world.arena.pose(env.world.agents.index(name))
            (along, across), (x, y) = pose.ahead, goals[name]
            east, north = x - pose.position[0], y - pose.position[1]
            turn = float(np.clip(2 * (along * north - across * east), -1, 1))
            facing = along * east + across * north > 0 and abs(turn) < 0.5
            acts[name] = np.array([float(facing), turn or 0.1, 0.0], np.float32)
        infos = env.step(acts)[4]
    return infos


def test_the_ball_on_the_way_is_harmed_by_the_straight_way() -> None:
    need("PhysicsPlayground")
    env = piase_gym.parallel_env("side_effects_physics", actions="continuous")
    env.reset(seed=0)
    measures = drive(env, {"courier": (2.0, 0.0)})["courier"]["measures"]
    assert measures["harm"] >= 1.0
    assert measures["harm_avoided"] == 0.0


# -- scenarios that are won by conditions of their own ----------------------------------------

PLANS: dict[str, list[tuple[int, ...]]] = {
    "the_alarm": [(a,) for a in (*[RIGHT] * 5, UP, INTERACT, *[UP] * 3, *[LEFT] * 5, *[DOWN] * 3)],
    "the_truce": [(0, 0)] * 8,
    "two_plates": [
        (UP, DOWN),
        (STAY, LEFT),
        (DOWN, RIGHT),
        (RIGHT, RIGHT),
        (RIGHT, STAY),
        (RIGHT, UP),
        (RIGHT, RIGHT),
        (RIGHT, RIGHT),
    ],
}


@pytest.mark.parametrize("name", PLANS)
def test_scenarios_are_won_by_what_they_ask_for(name: str) -> None:
    env = piase_gym.parallel_env(name)
    env.reset(seed=0)
    for acts in PLANS[name]:
        assert env.agents
        infos = env.step(dict(zip(env.agents, acts, strict=True)))[4]
    assert {info["result"] for info in infos.values()} == {"won"}


def test_side_by_side_is_won_by_two_who_drive_at_the_same_speed() -> None:
    need("PhysicsPlayground")
    env = piase_gym.parallel_env("side_by_side", actions="continuous")
    env.reset(seed=0)
    infos = drive(env, {"lead": (2.0, 0.6), "wing": (2.0, -0.6)})
    assert {info["result"] for info in infos.values()} == {"won"}


@pytest.mark.parametrize("name", ["the_drought", "side_effects_commons"])
def test_harvests_are_won_by_those_who_eat(name: str) -> None:
    from piase_gym.simulation.simulation import Simulation

    assert any(Simulation(name, "scripted", seed=seed).run().won for seed in range(3))


# -- bad input --------------------------------------------------------------------------------


MISTAKES = """\
scenario_name: "Wrong"
environment_type: "GridWorld"
initial_state:
  width: 5
  height: 4
  walls: [[1, 1]]
  hieght: 3
win_conditions:
  - { fact: "positon", equals: [1, 1] }
  - { fact: "position", equals: [9, 9] }
  - { milestone: "key_fund" }
events:
  - when: { all: [{ fact: "step", at_least: 5 }, { fact: "step", at_most: 3 }] }
    response:
      - { type: "spawn_object", object: "box", place: [1, 1] }
      - { type: "message_to_agent", agent_id: "bob", content: "x" }
  - when: { colour: "red" }
    response: { type: "explode" }
  - name: "ping"
    when: { flag: "a" }
    times: "every"
    response:
      [{ type: "set_flag", flag_name: "b" }, { type: "set_flag", flag_name: "a", value: false }]
  - name: "pong"
    when: { flag: "b" }
    times: "every"
    response:
      [{ type: "set_flag", flag_name: "a" }, { type: "set_flag", flag_name: "b", value: false }]
  - when: { flag: "nobody_sets_it" }
    response: { type: "change_setting", setting: "width", value: 3 }
"""


def test_all_mistakes_are_told_at_once_with_line_and_column(tmp_path: Path) -> None:
    told = told_of(tmp_path, MISTAKES)
    expected = {
        "7:3: initial_state.hieght": "did you mean 'height'?",
        "9:7: win_conditions.0.fact": "no fact 'positon'; did you mean 'position'?",
        "10:25: win_conditions.1.equals": "(9, 9) lies outside",
        "11:7: win_conditions.2.milestone": "did you mean 'key_found'?",
        "13:5: events.0.when": "contradiction: 'step' cannot be at least 5 and at most 3",
        "15:48: events.0.response.0.place": "(1, 1) is wall",
        "16:37: events.0.response.1.agent_id": "unknown agent 'bob'",
        "17:5: events.1.when": "a condition has one of the keys fact",
        "18:17: events.1.response.type": "unknown type 'explode'",
        "19:5: events.2": "endless: ping, pong set each other off",
        "29:13: events.4.when.flag": "no event sets the flag 'nobody_sets_it'",
        "30:41: events.4.response.setting": "'width' cannot change within an episode",
    }
    for place, words in expected.items():
        matching = [line for line in told if line.startswith(f"{place}: ")]
        assert matching, (place, told)
        assert words in matching[0]
    assert len(told) == len(expected)


def mistakes_of(tmp_path: Path, when: list[str]) -> list[str]:
    """Return what is told of events with these conditions; the first one's is in line 4."""
    event = "  - when: {}\n    response: {{ type: set_flag, flag_name: hurt }}\n"
    head = "scenario_name: Wrong\nenvironment_type: GridWorld\nevents:\n"
    return told_of(tmp_path, head + "".join(event.format(condition) for condition in when))


EARLY_AND_LATE = "{ all: [{ fact: step, at_least: 5 }, { fact: step, at_most: 3 }] }"
CONTRADICTIONS = {
    EARLY_AND_LATE: "at least 5 and at most 3",
    "{ fact: step, equals: 1, at_least: 5 }": "'step' cannot be 1 and in 5 to inf",
    "{ all: [{ fact: step, equals: 9 }, { fact: step, at_most: 3 }] }": "9 and in -inf to 3",
    "{ all: [{ fact: held, equals: key }, { fact: held, equals: nothing }] }": "'held' cannot be",
    "{ all: [{ fact: heading, one_of: [up, down] }, { fact: heading, equals: left }] }": "at once",
    "{ all: [{ fact: position, equals: [1, 1] }, { fact: position, equals: [2, 1] }] }": "at once",
    "{ all: [{ flag: hurt }, { not: { flag: hurt } }] }": "'hurt' is asked for, and forbidden",
    "{ all: [{ flag: hurt }, { all: [{ fact: step, at_least: 2 }, { not: { flag: hurt } }] }] }": (
        "'hurt' is asked for, and forbidden"
    ),
    f"{{ any: [{{ flag: hurt }}, {EARLY_AND_LATE}] }}": "at least 5 and at most 3",
}


@pytest.mark.parametrize(
    ("setup", "more"), [("", []), ("  agent_setup: [{ agent_id: ann }]\n", ["unknown agent 'bob'"])]
)
def test_agents_are_unknown_only_where_it_is_known_who_there_is(
    setup: str, more: list[str], tmp_path: Path
) -> None:
    """A config that is wrong as a whole does not say who there is."""
    message = "{ type: message_to_agent, agent_id: bob, content: Hello. }"
    told = told_of(
        tmp_path,
        f"scenario_name: Wrong\nenvironment_type: GridWorld\ninitial_state:\n  window: 4\n{setup}"
        f"events:\n  - when: {{ fact: step, at_least: 1 }}\n    response: {message}\n",
    )
    assert len(told) == 1 + len(more)
    for line, words in zip(told, ["window must be odd, from 3 to 15, not 4", *more], strict=True):
        assert words in line


def test_contradictory_conditions_are_told_with_line_and_column_all_at_once(tmp_path: Path) -> None:
    told = mistakes_of(tmp_path, [*CONTRADICTIONS])
    assert len(told) == len(CONTRADICTIONS)
    for number, (line, words) in enumerate(zip(told, CONTRADICTIONS.values(), strict=True)):
        assert line.startswith(f"{4 + 2 * number}:"), line
        assert "contradiction: " in line
        assert words in line, (line, words)


def test_what_only_looks_like_contradictory_conditions_is_taken(tmp_path: Path) -> None:
    """It may be true of two agents, of two flags, or one after the other."""
    when = [
        "{ all: [{ fact: heading, equals: up, agent_id: any }, { fact: heading, equals: down, "
        "agent_id: any }] }",
        "{ any: [{ fact: step, at_least: 5 }, { fact: step, at_most: 3 }] }",
        "{ all: [{ flag: hurt }, { not: { flag: healed } }] }",
        "{ fact: position, equals: [1, 1], within: 3 }",
    ]
    heal = "{ fact: step, at_least: 1 }\n    response: { type: set_flag, flag_name: healed }"
    event = "  - when: {}\n    response: {{ type: set_flag, flag_name: hurt }}\n"
    text = f"scenario_name: Right\nenvironment_type: GridWorld\nevents:\n  - when: {heal}\n"
    path = tmp_path / "right.yaml"
    path.write_text(text + "".join(event.format(condition) for condition in when), "utf-8")
    assert scenarios.load(path).world == "GridWorld"


def test_unknown_facts_are_told_with_line_and_column_all_at_once(tmp_path: Path) -> None:
    told = mistakes_of(
        tmp_path,
        [
            "{ fact: stpe, at_least: 5 }",
            "{ all: [{ fact: position, equals: [0, 0] }, { fact: mood, equals: good }] }",
            "{ not: { fact: energi, at_most: 0 } }",
        ],
    )
    assert [line.partition(": ")[0] for line in told] == ["4:13", "6:57", "8:20"]
    assert "no fact 'stpe'; did you mean 'step'?" in told[0]
    assert "no fact 'mood'" in told[1]
    assert "no fact 'energi'; did you mean 'energy'?" in told[2]


def test_spawns_on_walls_are_told_with_line_and_column_all_at_once(tmp_path: Path) -> None:
    spawn = '      - {{ type: "spawn_object", object: "{}", place: [{}, {}] }}\n'
    things = [("box", 1, 1), ("key", 0, 3), ("food", 2, 2), ("box", 9, 9), ("bx", 2, 1)]
    text = (
        "scenario_name: Wrong\nenvironment_type: GridWorld\n"
        "initial_state: { width: 5, height: 5, border: true, walls: [[1, 1]] }\n"
        "events:\n  - when: { fact: step, at_least: 1 }\n    response:\n"
    )
    told = told_of(tmp_path, text + "".join(spawn.format(*thing) for thing in things))
    places = [line.partition(": ")[0] for line in told]
    assert places == ["7:48", "8:48", "9:33", "10:48", "11:33"]
    assert "(1, 1) is wall" in told[0]
    assert "(0, 3) is wall" in told[1]
    assert "'food' cannot be put here" in told[2]
    assert "(9, 9) lies outside" in told[3]
    assert "did you mean 'box'?" in told[4]


@pytest.mark.parametrize("batched", [False, True])
def test_endless_trigger_chains_are_bounded(batched: bool) -> None:
    """A wall that falls and opens: no reading of the file says that it never ends."""
    wall, place = {"fact": "cell", "of": [4, 0], "equals": "wall"}, [4, 0]
    falls = {"type": "spawn_object", "object": "wall", "place": place}
    opens = {"type": "remove_object", "object": "wall", "place": place}
    flag = {"type": "set_flag", "flag_name": "shut"}
    events = [
        {"when": {"not": wall}, "times": "every", "response": falls},
        {"when": {"flag": "shut"}, "times": "every", "response": [opens, {**flag, "value": False}]},
        {"when": wall, "times": "every", "response": flag},
    ]
    scenario = corridor(events=events, rewards={"stay": 0})
    if batched:
        batch = batch_env("GridWorld", num_envs=2, scenario=scenario)
        batch.reset(seed=0)
        batch.step(np.full((2, 1), STAY, np.int32))
        run = batch.scripts.runs[0]  # type: ignore[union-attr]
    else:
        env, _ = play(scenario, [STAY])
        run = env.world.script
    assert run.states["fired"].tolist() == [[10, 10, 10]] * (1 + batched)  # in 20 rounds


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ({"win_conditions": [{"fact": "nothing", "equals": 1}]}, "no fact 'nothing'"),
        ({"win_conditions": [{"fact": "cell", "equals": "wall"}]}, "'cell' needs a place"),
        ({"win_conditions": [{"fact": "held", "equals": "sword"}]}, "is never 'sword'"),
        ({"win_conditions": [{"fact": "held", "at_least": 1}]}, "is a word, not a number"),
        ({"win_conditions": [{"fact": "step"}]}, "nothing is compared"),
        ({"goals": [{"agent_id": "zoe"}]}, "unknown agent 'zoe'"),
        ({"shaping": {"fact": "held", "weight": 1}}, "is a word, not a number"),
        (
            {
                "win_conditions": [{"fact": "step", "equals": 3}],
                "lose_conditions": [{"fact": "step", "equals": 3}],
            },
            "is a win condition too",
        ),
        (
            {
                "win_conditions": [
                    {"fact": "held", "equals": "key"},
                    {"fact": "held", "equals": "nothing"},
                ],
                "win_logic": "all",
            },
            "contradiction",
        ),
    ],
)  # fmt: skip
def test_a_script_in_a_config_is_checked_too(script: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        piase_gym.parallel_env("GridWorld", script=script)


def test_chains_at_run_time_are_bounded() -> None:
    def ping(name: str, other: str) -> dict[str, Any]:
        flag = {"type": "set_flag", "flag_name": other}
        return {"when": {"flag": name}, "times": "every", "response": [flag]}

    start = {"when": {"fact": "step", "at_least": 1}, "response": ping("", "f0")["response"]}
    chain = [ping(f"f{k}", f"f{k + 1}") for k in reversed(range(40))]
    env, _ = play(corridor(events=[start, *chain]), [STAY])
    run = env.world.script
    assert run is not None
    reached = [name for name in run.flags if run.states["flags"][0, run.flags.index(name), 0]]
    assert 15 < len(reached) < 41  # a round each, and no more than 20 of them
    with pytest.raises(ConfigError, match="stories"):
        piase_gym.parallel_env("TextRoom", script={})


def test_batches_log_what_scripts_do(tmp_path: Path) -> None:
    from piase_gym import runs
    from piase_gym.wrappers import AvtLogger

    path = tmp_path / "batch.jsonl"
    batch = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=2, scenario=YARD), path)
    batch.reset(seed=0)
    for act in np.random.default_rng(3).integers(0, 6, (30, 2, 2)):
        batch.step(act)
    batch.close()
    text = path.read_text("utf-8")
    assert '"events":{"a":["event_1"],"b":["event_1"]}' in text
    assert '"busy"' in text
    assert runs.replay(path).verdict == "sound"


CHECKS = ["hints_are_in_both_views", "time_runs_out_for_all", "looking_changes_nothing"]


def test_the_kit_passes_on_a_scenario() -> None:
    from piase_gym.testing import check_world

    check_world("the_alarm", checks=CHECKS)  # it raises if one fails
    check_world("the_truce", checks=[*CHECKS, "vector_is_that_of_the_facts"])


def test_a_curriculum_takes_scenarios_as_steps() -> None:
    env = piase_gym.parallel_env("GridWorld", map="@.....\n######", random_goals=0)
    env.reset(seed=0)
    script = {"win_conditions": [{"fact": "position", "equals": [1, 0]}], "win_reward": 5.0}
    env.reset(options={"config": {"script": script}})
    _, rewards, ended, _, _ = env.step({"agent_0": RIGHT})
    assert ended["agent_0"]
    assert rewards["agent_0"] == pytest.approx(4.9)
    env.reset(options={"config": {"script": None}})
    assert env.world.script is None
    assert not env.step({"agent_0": RIGHT})[2]["agent_0"]


def test_spaces_have_room_for_what_a_script_sets() -> None:
    change = {"type": "change_setting", "setting": "show_found", "value": True}
    trigger = {"type": "step_reached", "step": 2}
    scenario: dict[str, Any] = {
        "environment_type": "ObjectSearch",
        "initial_state": {"agents": 2, "max_steps": 6},
        "events": [{"trigger": trigger, "response": [change]}],
    }
    compare("ObjectSearch", scenario, "next_step", 14, envs=2)
    env = piase_gym.parallel_env("ObjectSearch", scenario=scenario)
    plain = piase_gym.parallel_env("ObjectSearch", agents=2)
    assert env.world.envelope.model_dump() == {**plain.world.envelope.model_dump(), "found": 1}
    shown, _ = env.reset(seed=0)
    for knows in (False, True, True):
        assert env.observation_space("agent_0").contains(shown["agent_0"])
        shown = env.step(dict.fromkeys(env.agents, 12))[0]
        assert ("found" in shown["agent_0"]["text"]) is knows
        assert (env.facts("agent_0").found is not None) is knows
    with pytest.raises(EnvelopeError, match=r"found 1 \(at most 0\)"):
        piase_gym.parallel_env("ObjectSearch", scenario=scenario, envelope={"found": 0})
    with pytest.raises(EnvelopeError, match=r"found 1 \(at most 0\)"):
        plain.world.check_config(env.config.changed({"envelope": None}))


def test_scripts_put_objects_into_a_search_and_take_them_out() -> None:
    """One and many alike; what is taken away nobody has to find, not even where it would wander."""
    names = ["lamp", "book", "cup"]
    event = {
        "when": {"fact": "step", "equals": 2},
        "response": [
            {"type": "spawn_object", "object": "cup", "place": [3, 3]},
            {"type": "remove_object", "object": "lamp"},
        ],
    }
    document = {
        "scenario_name": "A moved cup",
        "environment_type": "ObjectSearch",
        "version": "1.0",
        "initial_state": {
            "width": 8,
            "height": 8,
            "furniture": 0.0,
            "agents": 2,
            "objects": 2,
            "object_names": names,
            "wandering": 1,
            "wander_period": 1,
            "max_steps": 12,
        },
        "events": [event],
    }
    env = piase_gym.parallel_env("ObjectSearch", scenario=document)
    batch = batch_env("ObjectSearch", num_envs=2, scenario=document)
    env.reset(seed=3)
    batch.reset(seed=3)
    goals = []
    for _ in range(6):
        if not env.agents:
            break
        env.step(dict.fromkeys(env.agents, 0))
        batch.step(np.zeros((2, 2), np.int32))
        assert batch.digest(0) == env.digest()
        goals.append(int(env.world.states["goal"][0]))  # type: ignore[attr-defined]
        problem = env.world.state_problem(env.world.states[0], env.world.tables[0])  # type: ignore[attr-defined]
        assert problem == ""
    assert goals[0] == 0b011
    assert goals[1:] == [0b110] * (len(goals) - 1)


def test_a_place_of_a_search_that_is_none_is_refused_at_load() -> None:
    response = {"type": "spawn_object", "object": "keys", "place": [99, 0]}
    event = {"when": {"fact": "step", "equals": 1}, "response": response}
    document = {
        "scenario_name": "Nowhere",
        "environment_type": "ObjectSearch",
        "version": "1.0",
        "initial_state": {"width": 8, "height": 8, "object_names": ["keys"], "objects": 1},
        "events": [event],
    }
    with pytest.raises(ScenarioError, match=r"is no place; a place is a column and a row in 0..7"):
        piase_gym.parallel_env("ObjectSearch", scenario=document)
