"""PhysicsPlayground's physics against closed forms, and its tasks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

import pybullet as p

import piase_gym
from piase_gym.core.commands import Command, Outcome
from piase_gym.worlds.physics_playground.config import AGENT_RADIUS, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.generate import CLEAR, new_state
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.rules.grips import slipped
from piase_gym.worlds.physics_playground.state import EndReason, Hold
from tests.worlds.physics_playground.helpers import FULL, TASKS, make, oracle

G = 9.81


def bodies(env: Any) -> Any:
    """Return the positions of objects, then agents."""
    return env.world.reading.position


def drive(ahead: float, turn: float = 0.0, **more: Any) -> Command:
    return Command("drive", {"ahead": ahead, "turn": turn, **more})


def kick(env: Any, body: int, velocity: tuple[float, float, float]) -> None:
    """Give a body a speed."""
    sim = env.world.sim
    p.resetBaseVelocity(sim.bodies[body], velocity, [0, 0, 0], physicsClientId=sim.client)


@pytest.mark.parametrize(("body", "top"), [("rover", 1.2), ("sphere", 1.5)])
def test_full_drive_comes_to_top_speed(body: str, top: float) -> None:
    env = make("reach", body=body, size=(20.0, 20.0), start_pos=[(0.0, 0.0)], goal_pos=(9.0, 9.0))
    env.reset(seed=0)
    for _ in range(40):
        env.step({"agent_0": drive(1.0)})
    speed = float(np.hypot(*env.world.reading.velocity[-1][:2]))
    assert speed == pytest.approx(top, rel=0.03)


@pytest.mark.parametrize("body", ["rover", "sphere"])
def test_full_turn_comes_to_top_spin(body: str) -> None:
    env = make("reach", body=body)
    env.reset(seed=0)
    for _ in range(40):
        env.step({"agent_0": drive(0.0, 1.0)})
    assert env.world.reading.spin[-1][2] == pytest.approx(3.0, rel=0.03)


def test_a_rover_goes_where_it_faces_and_a_sphere_drifts() -> None:
    sideways = {}
    for body in ("rover", "sphere"):
        env = make("reach", body=body, start_pos=[(0.0, 0.0)], goal_pos=(2.0, 2.0))
        env.reset(seed=0)
        pose = env.world.arena.pose(0)
        left = (-pose.ahead[1], pose.ahead[0])
        kick(env, 0, (left[0], left[1], 0.0))
        for _ in range(8):
            env.step({"agent_0": 0})
        sideways[body] = float(bodies(env)[0][:2] @ left)
    assert sideways["rover"] < 0.15 < sideways["sphere"]


def test_a_box_slides_as_far_as_friction_lets_it() -> None:
    for friction in (0.3, 0.6):
        things = [{"kind": "box", "position": (0.0, 0.0)}]
        env = make("push", objects=things, friction=friction, start_pos=[(2.0, 2.0)])
        env.reset(seed=0)
        env.step({"agent_0": 0})
        start = bodies(env)[0].copy()
        kick(env, 0, (1.0, 0.0, 0.0))
        for _ in range(30):
            env.step({"agent_0": 0})
        assert np.hypot(*(bodies(env)[0] - start)[:2]) == pytest.approx(
            1.0 / (2.0 * friction * G), rel=0.12
        )


def test_a_ball_bounces_to_the_square_of_its_restitution() -> None:
    things = [{"kind": "ball", "position": (0.0, 0.0)}]
    env = make("push", objects=things, restitution=0.7, substeps=1, start_pos=[(2.0, 2.0)])
    env.reset(seed=0)
    drop = 1.0
    kick(env, 0, (0.0, 0.0, math.sqrt(2.0 * G * drop)))
    heights = []
    for _ in range(180):
        env.step({"agent_0": 0})
        heights.append(float(bodies(env)[0][2]) - 0.12)
    landed = next(i for i in range(60, 180) if heights[i] < 0.02)
    assert max(heights[:landed]) == pytest.approx(drop, rel=0.03)
    assert max(heights[landed + 3 :]) == pytest.approx(0.49 * drop, rel=0.15)


def test_gravity_is_that_of_the_config() -> None:
    for gravity in (1.6, 9.81):
        things = [{"kind": "ball", "position": (0.0, 0.0)}]
        env = make("push", objects=things, gravity=gravity, start_pos=[(2.0, 2.0)])
        env.reset(seed=0)
        kick(env, 0, (0.0, 0.0, 3.0))
        env.step({"agent_0": 0})
        assert env.world.reading.velocity[0][2] == pytest.approx(3.0 - gravity / 16.0)


@pytest.mark.parametrize("body", ["rover", "sphere"])
def test_the_crate_is_too_heavy_for_one(body: str) -> None:
    def pulled(pullers: int) -> float:
        env = make("carry", body=body, objects=[{"kind": "crate", "position": (0.0, 0.0)}])
        env.reset(seed=3)
        act = oracle(env)
        while env.agents and not all(env.world.play.holds):
            env.step(act())
        start = bodies(env)[0].copy()
        for _ in range(60):
            if not env.agents:
                break
            acts = act()
            env.step({name: acts[name] if i < pullers else 0 for i, name in enumerate(acts)})
        return float(np.hypot(*(bodies(env)[0] - start)[:2]))

    assert pulled(1) < 0.1
    assert pulled(2) > 0.5


def test_a_ramp_can_be_climbed() -> None:
    ramp = {"position": (0.0, 0.0), "length": 2.0, "width": 2.0, "height": 0.3}
    env = make("reach", ramps=[ramp], start_pos=[(-2.0, 0.0)], goal_pos=(2.4, 2.4))
    highest, on_ramp = 0.0, False
    for seed in range(20):
        env.reset(seed=seed)
        if abs(env.facts("agent_0").heading) > 15:
            continue
        for _ in range(50):
            env.step({"agent_0": drive(1.0)})
            highest = max(highest, float(bodies(env)[0][2]))
            on_ramp |= "ramp" in env.facts("agent_0").touching
    assert highest > 0.25
    assert on_ramp


# -- tasks --------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["rover", "sphere"])
@pytest.mark.parametrize("task", [task for task in TASKS if task != "keep_away"])
def test_the_scripted_controllers_do_their_task(task: str, body: str) -> None:
    env = make(task, body=body, max_steps=800)
    won = 0
    for seed in range(4):
        env.reset(seed=seed)
        act, infos = oracle(env), {}
        while env.agents:
            _, rewards, terminated, _, infos = env.step(act())
        for name, info in infos.items():
            if info["result"] == "won":
                assert terminated[name]
                assert info["reason"] == EndReason.TASK_DONE
                assert rewards[name] > 5.0
        won += all(info["result"] == "won" for info in infos.values())
    assert won >= 3


def test_random_play_does_worse_than_the_controllers() -> None:
    env = make("gather", max_steps=300)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    while env.agents:
        legal = np.flatnonzero(env.world.masks()[0])
        env.step({"agent_0": int(rng.choice(legal))})
    assert env.world.play.placed < 4
    assert str(env.world.result(0)) == "lost"


def test_keep_away_has_one_winning_side() -> None:
    sides = set()
    for config in ({}, {"hold_steps": 5}):
        env = make("keep_away", **config)
        env.reset(seed=1)
        act, infos, rewards = oracle(env), {}, {}
        while env.agents:
            _, rewards, _, _, infos = env.step(act())
        results = {name: info["result"] for name, info in infos.items()}
        assert sorted(results.values()) == ["lost", "won"]
        winner = next(name for name in results if results[name] == "won")
        assert max(rewards, key=lambda name: rewards[name]) == winner
        sides.add(winner)
    assert sides == {"agent_0", "agent_1"}


def test_whoever_arrives_ends_alone() -> None:
    env = make("reach", agents=3)
    env.reset(seed=2)
    act, ends = oracle(env), []
    while env.agents:
        step = env.step(act())
        ends += [name for name, done in step[2].items() if done]
    assert sorted(ends) == ["agent_0", "agent_1", "agent_2"]
    assert len(set(ends)) == 3


def test_grips_lift_slip_and_are_masked() -> None:
    env = make("gather", objects=[{"kind": "box", "position": (0.0, 0.0)}], lift=0.2)
    env.reset(seed=5)
    act = oracle(env)
    assert env.world.masks()[0].tolist() == [1, 1, 1, 1, 1, 1, 0, 0]
    assert env.step({"agent_0": Command("grip")})[4]["agent_0"]["outcome"] is Outcome.ILLEGAL
    tried = env.step({"agent_0": drive(0.0, hand="grip")})[4]["agent_0"]
    assert tried["outcome"] is Outcome.FAILED
    while env.world.play.holds[0] is None:
        info = env.step(act())[4]["agent_0"]
    assert info["milestones"] == ["gripped"]
    assert env.world.masks()[0][6:].tolist() == [0, 1]
    for _ in range(12):
        env.step({"agent_0": 0})
    assert bodies(env)[0][2] == pytest.approx(0.32, abs=0.03)
    assert env.facts("agent_0").holding == "red box"
    assert env.facts("agent_0").objects[0].place.startswith("held")
    sim = env.world.sim
    torn = (bodies(env)[0] + [0.0, 0.0, 1.5]).tolist()
    p.resetBasePositionAndOrientation(sim.objects[0], torn, [0, 0, 0, 1], sim.client)
    env.step({"agent_0": 0})
    assert env.world.play.holds[0] is None


def test_two_cannot_hold_what_is_light() -> None:
    env = make("gather", agents=2, objects=[{"position": (0.0, 0.0)}], size=(4.0, 4.0))
    env.reset(seed=5)
    act = oracle(env)
    while not any(env.world.play.holds):
        env.step(act())
    holder = 0 if env.world.play.holds[0] else 1
    x, y, _ = bodies(env)[0]
    arena, sim = env.world.arena, env.world.sim
    beside = sim.agents[1 - holder]
    p.resetBasePositionAndOrientation(beside, (x - 0.3, y, 0.07), (0, 0, 0, 1), sim.client)
    arena.look()
    assert arena.graspable(1 - holder) is None
    arena.release(holder)
    assert arena.graspable(1 - holder) == 0


# -- randomisation and explosions ---------------------------------------------------------


def test_randomisation_stays_in_its_range_and_reaches_bullet() -> None:
    spread = {"low": 0.5, "high": 2.0}
    env = make("gather", randomise={"mass": spread, "friction": spread, "gravity": spread})
    seen = []
    for seed in range(12):
        env.reset(seed=seed)
        play, sim = env.world.play, env.world.sim
        seen.append((play.gravity, *[body.mass for body in play.objects]))
        for number, body in zip(sim.objects, play.objects, strict=True):
            told = p.getDynamicsInfo(number, -1, physicsClientId=sim.client)
            assert (told[0], told[1]) == pytest.approx((body.mass, body.friction))
            assert 0.2 <= body.mass <= 0.8
            assert 0.3 <= body.friction <= 1.2
        assert 0.5 * G <= play.gravity <= 2.0 * G
    assert len(set(seen)) == 12


@pytest.mark.parametrize("speed", [1e9, math.nan])
def test_an_explosion_ends_the_episode_and_the_env_is_usable_again(speed: float) -> None:
    env = make("carry", view="both")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 1))
    kick(env, 0, (speed, 0.0, 0.0))
    observations, _, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, 1))
    assert env.agents == []
    for name in ("agent_0", "agent_1"):
        assert truncated[name]
        assert not terminated[name]
        assert infos[name]["reason"] is EndReason.EXPLODED
        assert infos[name]["result"] == "ended"
        assert env.observation_space(name).contains(dict(observations[name]))
    assert env.state_space.contains(env.state())
    assert len(env.digest()) == 16
    other = make("carry", view="both")
    env.reset(seed=4)
    other.reset(seed=4)
    for _ in range(20):
        env.step(dict.fromkeys(env.agents, 5))
        other.step(dict.fromkeys(other.agents, 5))
        assert env.digest() == other.digest()


def test_everything_on_the_floor_stays_there() -> None:
    for task in TASKS:
        env = make(task, **FULL[task], max_steps=60)
        env.reset(seed=9)
        rng = np.random.default_rng(1)
        while env.agents:
            env.step({name: int(rng.integers(0, 6)) for name in env.agents})
            places = bodies(env)
            assert (np.abs(places[:, :2]) < 3.05).all()
            assert (places[:, 2] > 0.03).all()


@pytest.mark.parametrize("act", ["push", "drive 1 0", 5])
def test_who_drives_against_a_wall_is_told_so(act: Any) -> None:
    actions = "text" if isinstance(act, str) else "discrete"
    env = piase_gym.parallel_env("PhysicsPlayground", goal_pos=(-2, 2), actions=actions)
    env.reset(seed=1)
    told, still = [], []
    for _ in range(80):
        infos = env.step({"agent_0": act})[-1]
        told.append(infos["agent_0"].get("feedback"))
        facts = env.facts("agent_0")
        still.append(facts.touching == ("wall",) and abs(facts.velocity[0]) < 5)
    assert told == [("The wall is in the way." if held else None) for held in still]
    assert still[-1]
    assert not still[0]
    infos = env.step({"agent_0": "back" if actions == "text" else 2})[-1]
    assert "feedback" not in infos["agent_0"]
    env.close()


@pytest.mark.parametrize("away", [0.29, 0.31])
def test_a_grip_slips_where_it_is_torn_by_more_than_0_3_m(away: float) -> None:
    still = (0.0, 0.0, 0.0)
    body, seat = (
        ((1.0, 2.0, 0.5), (0.0, 0.0, 0.0, 1.0)),
        ((1.0, 2.0 - away, 0.5), (0.0, 0.0, 0.0, 1.0)),
    )
    reading = BodyReadings([(*body, still, still), (*seat, still, still)])
    hold = Hold(0, True, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], 0)
    assert slipped(hold, reading, 1) == (away > 0.3)


def test_all_who_share_a_task_are_told_that_it_is_done() -> None:
    box = {"kind": "box", "position": (0.0, 0.0)}
    env = make("push", agents=2, objects=[box], goal_pos=(0.0, 0.0))
    env.reset(seed=0)
    infos = env.step(dict.fromkeys(env.agents, 0))[-1]
    for info in infos.values():
        assert (info["milestones"], info["reason"], info["result"]) == (
            ["done"],
            "task_done",
            "won",
        )
    env.close()


def test_time_that_is_up_is_the_reason() -> None:
    env = make("reach", max_steps=1)
    env.reset(seed=0)
    info = env.step({"agent_0": 0})[-1]["agent_0"]
    assert (info["reason"], info["result"]) == ("time_out", "lost")
    env.close()


def test_a_shared_reward_is_the_mean_of_those_in_play() -> None:
    own, together = (
        make("reach", agents=2, envelope={"agents": 4}, rays=0, shared_reward=shared)
        for shared in (False, True)
    )
    own.reset(seed=4)
    together.reset(seed=4)
    for act in (1, 5, 1):
        acts = {"agent_0": act, "agent_1": 2}
        mine, ours = own.step(acts)[1], together.step(acts)[1]
        assert list(ours.values()) == pytest.approx([sum(mine.values()) / 2] * 2)
    own.close()
    together.close()


def test_scenes_keep_their_distances_and_factors() -> None:
    factor = {"low": 0.5, "high": 2.0}
    wide = {"mass": factor, "friction": factor, "restitution": factor, "gravity": factor}
    kinds = ["box", "ball", "cylinder", "box", "ball"]
    config = PhysicsPlaygroundConfig(
        agents=3,
        tolerance=0.8,
        objects=[{"kind": kind} for kind in kinds],
        randomise=wide,
        restitution=0.4,
    )
    bounces = []
    for seed in range(40):
        state = new_state(config, 3, seed)
        sizes = [thing.reach for thing in config.things] + [AGENT_RADIUS] * 3
        circles = list(zip([*state.objects, *state.agents], sizes, strict=True))
        for (one, r), (two, s) in itertools.combinations(circles, 2):
            assert math.dist(one.position[:2], two.position[:2]) >= r + s + CLEAR
        for agent, target in zip(state.agents, state.targets, strict=True):
            assert math.dist(agent.position[:2], target) > 2.0 * config.tolerance
        for one, two in itertools.combinations(state.targets, 2):
            assert math.dist(one, two) > 2.0 * AGENT_RADIUS
        bounces += [body.restitution / 0.4 for body in state.objects]
    assert all(0.5 <= factor <= 2.0 for factor in bounces)
    assert (min(bounces) < 0.6, max(bounces) > 1.9) == (True, True)


def test_who_speaks_is_named() -> None:
    env = make("reach", agents=3, messages=True, delay=0, actions="text")
    env.reset(seed=0)
    env.step({"agent_0": "wait", "agent_1": "say over here", "agent_2": "wait"})
    heard = [[tuple(letter) for letter in env.facts(name).messages] for name in env.agents]
    letter = ("agent_1", "all", "over here")
    assert heard == [[letter], [], [letter]]
    env.close()


def test_a_twin_has_other_targets_for_others() -> None:
    env = make("reach", agents=3)
    env.reset(seed=3)
    mine = env.world.play.targets
    twin = env.world.twin(1)
    assert twin is not None
    theirs = twin.play.targets
    assert theirs[1] == mine[1]
    for other in (0, 2):
        assert tuple(theirs[other]) == tuple(-c for c in mine[other])
    assert twin.vectors()[1].tobytes() == env.world.vectors()[1].tobytes()
    twin.close()
    env.close()
