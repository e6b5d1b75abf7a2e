"""PhysicsPlayground against the laws of mechanics: what is kept, what is lost, and what rests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

import pybullet as p
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.core.commands import Command
from piase_gym.worlds.physics_playground.actions import GRIPS
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.rules.tasks import too_heavy
from tests.worlds.physics_playground.helpers import make

G = 9.81
FAR: dict[str, Any] = {"size": (20.0, 20.0), "start_pos": [(9.0, 9.0)], "goal_pos": (-9.0, -9.0)}
"""A floor on which the agent and the zone are far from everything."""


def loose(things: list[dict[str, Any]], **config: Any) -> Any:
    """Return an environment at its start, with objects around the middle of a wide floor."""
    env = make("push", objects=things, **{**FAR, "max_steps": 10_000, **config})
    env.reset(seed=0)
    return env


def kick(env: Any, body: int, velocity: Any) -> None:
    """Give a body a speed."""
    sim = env.world.sim
    p.resetBaseVelocity(sim.bodies[body], velocity, [0.0] * 3, physicsClientId=sim.client)


def put(env: Any, places: dict[int, Any]) -> None:
    """Put bodies elsewhere, upright and at rest."""
    raw = list(env.world.reading.raw)
    for body, place in places.items():
        raw[body] = (tuple(place), (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3)
    env.world.sim.place(BodyReadings(raw))
    env.world.arena.look()


def wait(env: Any, steps: int = 1) -> None:
    """Let time pass while the agents brake."""
    for _ in range(steps):
        env.step(dict.fromkeys(env.agents, 0))


def masses(env: Any) -> Any:
    """Return the mass of every object."""
    return np.array([body.mass for body in env.world.play.objects])


def momentum(env: Any) -> Any:
    """Return the momentum of all objects together."""
    return masses(env) @ env.world.reading.velocity[: len(masses(env))]


def energy(env: Any) -> float:
    """Return the kinetic and potential energy of all objects; balls and boxes alone."""
    reading, total = env.world.reading, 0.0
    for i, body in enumerate(env.world.play.objects):
        # Both are the same about any axis: 2/5 m r2, and 1/6 m (2 h)2.
        inertia = (0.4 if body.shape == "ball" else 2.0 / 3.0) * body.mass * body.half[0] ** 2
        v, w = reading.velocity[i], reading.spin[i]
        height = env.world.play.gravity * (reading.position[i][2] - body.half[2])
        total += 0.5 * body.mass * v @ v + 0.5 * inertia * w @ w + body.mass * height
    return float(total)


PUSHED = 0.035
"""m/s by which balls part faster than they should."""
BALLS = [
    {"kind": "ball", "position": (-0.6, 0.0), "mass": 0.4},
    {"kind": "ball", "position": (0.0, 0.0), "mass": 1.2},
]


@pytest.mark.parametrize("bounce", [0.0, 0.5, 0.9, 1.0])
def test_a_collision_keeps_momentum_and_what_its_bounce_leaves_of_energy(bounce: float) -> None:
    env = loose(BALLS, gravity=0.0, restitution=bounce, friction=0.0)
    kick(env, 0, (1.5, 0.0, 0.0))
    wait(env)
    before, start = momentum(env), energy(env)
    wait(env, 30)
    one, other = env.world.reading.velocity[:2]
    assert momentum(env) == pytest.approx(before, abs=1e-9)
    both = bounce * bounce  # Bullet multiplies the bounce of two bodies
    # It also pushes apart what has come to overlap: here by 0.034 m/s.
    apart = 1.5 * both + PUSHED
    assert other[0] - one[0] == pytest.approx(apart, abs=PUSHED)
    reduced = 0.4 * 1.2 / 1.6
    left = start - 0.5 * reduced * (1.5**2 - (other[0] - one[0]) ** 2)
    assert energy(env) == pytest.approx(left, rel=1e-6)


def test_what_flies_keeps_its_energy_and_its_way() -> None:
    env = loose([{"kind": "ball", "position": (0.0, 0.0)}], substeps=1)
    put(env, {0: (0.0, 0.0, 1.0)})
    kick(env, 0, (1.0, -0.5, 3.0))
    wait(env)
    start, level = energy(env), momentum(env)[:2]
    for step in range(2, 70):
        wait(env)
        t = step / 128.0
        x, y, z = env.world.reading.position[0]
        assert (x, y) == pytest.approx((t, -0.5 * t), abs=1e-9)
        assert z == pytest.approx(1.0 + 3.0 * t - 0.5 * G * t * t, abs=0.05)
        assert momentum(env)[:2] == pytest.approx(level, abs=1e-12)
        assert energy(env) == pytest.approx(start, rel=0.02)


@settings(max_examples=5, deadline=None)
@given(
    speeds=st.lists(st.tuples(*[st.floats(-1.5, 1.5)] * 3), min_size=4, max_size=4),
    friction=st.floats(0.0, 1.5),
    bounce=st.floats(0.0, 0.5),  # near 1 a bounce of Bullet's adds some energy
)
def test_energy_never_grows_and_no_body_sinks_or_leaves(
    speeds: list[Any], friction: float, bounce: float
) -> None:
    kinds = ("box", "ball", "box", "ball")
    places = [(-0.3, 0.0), (0.1, 0.0), (0.0, 0.35), (0.1, -0.35)]
    things = [{"kind": k, "position": at} for k, at in zip(kinds, places, strict=True)]
    env = loose(things, friction=friction, restitution=bounce, size=(4.0, 4.0), **CORNER)
    for body, (x, y, z) in enumerate(speeds):
        kick(env, body, (x, y, abs(z)))
    wait(env)
    start = last = energy(env)
    for _ in range(40):
        wait(env)
        now = energy(env)
        assert now <= last + 0.05
        assert now <= 1.02 * start + 0.02
        last = now
        at = env.world.reading.position[:4]
        assert (np.abs(at[:, :2]) < 2.0).all()
        assert (at[:, 2] > 0.11).all()


CORNER: dict[str, Any] = {"start_pos": [(1.7, 1.7)], "goal_pos": (-1.7, -1.7)}


@pytest.mark.parametrize(("count", "friction"), [(2, 0.3), (3, 0.6), (4, 0.3), (4, 1.0)])
def test_a_tower_rests(count: int, friction: float) -> None:
    things = [{"kind": "box", "position": (0.6 * i - 1.5, 0.0)} for i in range(count)]
    env = loose(things, friction=friction)
    put(env, {i: (0.02 * (i % 2), 0.0, 0.12 + 0.24 * i) for i in range(count)})
    wait(env, 20)
    before = env.world.reading.position[:count].copy()
    wait(env, 160)  # ten seconds
    after = env.world.reading
    assert np.abs(after.position[:count] - before).max() < 0.01  # it creeps, 1 mm a second
    assert np.abs(after.velocity[:count]).max() < 0.02
    assert np.diff(after.position[:count, 2]) == pytest.approx(0.24, abs=0.004)
    assert after.table[:count, 6] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("angle", [10.0, 40.0])
def test_a_box_rests_on_a_slope_that_its_friction_holds_and_slides_on_a_steeper(
    angle: float,
) -> None:
    rise = 2.0 * float(np.tan(np.radians(angle)))
    ramp = {"position": (0.0, 0.0), "length": 2.0, "width": 1.0, "height": min(rise, 2.0)}
    env = loose([{"kind": "box", "position": (0.0, 2.0)}], friction=0.6, ramps=[ramp])
    tilt = np.radians(angle)
    away = 0.121 / np.cos(tilt)
    raw = list(env.world.reading.raw)
    turn = (0.0, -float(np.sin(tilt / 2.0)), 0.0, float(np.cos(tilt / 2.0)))
    raw[0] = (
        (0.2, 0.0, rise / 2.0 + 0.2 * float(np.tan(tilt)) + away),
        turn,
        (0.0,) * 3,
        (0.0,) * 3,
    )
    env.world.sim.place(BodyReadings(raw))
    wait(env, 4)
    start, t = env.world.reading.position[0].copy(), 8 / 16.0
    speed = float(np.linalg.norm(env.world.reading.velocity[0]))
    wait(env, 8)
    slid = float(np.linalg.norm(env.world.reading.position[0] - start))
    pull = float(np.sin(tilt) - 0.8 * 0.6 * np.cos(tilt))  # a ramp's friction is 0.8
    wanted = max(0.0, speed * t + 0.5 * G * pull * t * t) if pull > 0.0 else 0.0
    assert slid == pytest.approx(wanted, rel=0.1, abs=0.01)


def test_what_is_taken_away_costs_what_the_table_says() -> None:
    table = {"step": 0.0, "progress": 0.0, "placed": 3.0, "taken": -0.75, "done": 50.0}
    things = [{"position": (-8.0 + i, -6.0)} for i in range(3)]
    env = loose(things, rewards=table, zone=2.0)
    inside = [(-9.0, -9.0, 0.12), (-8.5, -9.0, 0.12), (-8.0, -9.0, 0.12)]
    outside = [(0.0, float(i), 0.12) for i in range(3)]

    def worth(*there: bool) -> float:
        put(env, {i: (inside if t else outside)[i] for i, t in enumerate(there)})
        return float(env.step({"agent_0": 0})[1]["agent_0"])

    assert worth(True, False, False) == 3.0
    assert worth(True, True, False) == 3.0
    assert worth(True, True, False) == 0.0
    assert worth(False, False, False) == -1.5
    assert worth(False, True, True) == 6.0
    assert worth(True, False, True) == 0.0
    assert worth(True, False, False) == -0.75
    assert worth(True, True, True) == 56.0


def test_rewards_and_ends_are_those_of_the_table_to_the_step() -> None:
    table = {"step": -0.25, "progress": 0.0, "illegal": -0.5, "kept": 0.125, "lost": -7.0}
    env = make("gather", **FAR, objects=[{"position": (0.0, 0.0)}], rewards=table, max_steps=3)
    env.reset(seed=0)
    assert env.step({"agent_0": GRIPS})[1]["agent_0"] == -0.75  # there is nothing to grip
    tried = Command("drive", {"ahead": 0.0, "turn": 0.0, "hand": "grip"})
    assert env.step({"agent_0": tried})[1]["agent_0"] == -0.25  # allowed, in vain
    _, rewards, terminated, truncated, _ = env.step({"agent_0": 0})
    assert rewards["agent_0"] == -0.25
    assert truncated["agent_0"]
    assert not terminated["agent_0"]
    far = {"start_pos": [(9.0, 9.0), (-9.0, -9.0)], "size": (20.0, 20.0)}
    env = make("keep_away", **far, objects=[{"kind": "ball"}], rewards=table, hold_steps=4)
    env.reset(seed=0)
    for _ in range(3):
        assert env.step(dict.fromkeys(env.agents, 0))[1] == {"agent_0": -0.125, "agent_1": -0.375}
    last = env.step(dict.fromkeys(env.agents, 0))
    assert last[1] == {"agent_0": 9.875, "agent_1": -7.375}
    assert all(last[2].values())


@pytest.mark.parametrize(
    ("gravity", "mass", "towed"), [(0.5, 9.0, False), (0.5, 10.0, False), (0.5, 11.0, True)]
)
def test_where_things_weigh_little_their_mass_still_tells(
    gravity: float, mass: float, towed: bool
) -> None:
    env = loose([{"position": (0.0, 0.0), "mass": mass}], gravity=gravity)
    assert too_heavy(env.world.play, 0, env.world.config) is towed


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_who_acts_first_gets_what_both_grip(order: tuple[int, int]) -> None:
    env = make("gather", agents=2, **{**FAR, "start_pos": []}, objects=[{"position": (0.0, 0.0)}])
    env.reset(seed=0)
    x = 0.12 + 0.18 + 0.1
    raw = list(env.world.reading.raw)
    still = ((0.0,) * 3, (0.0,) * 3)
    raw[0] = ((0.0, 0.0, 0.12), (0.0, 0.0, 0.0, 1.0), *still)
    raw[1] = ((-x, 0.0, 0.07), (0.0, 0.0, 0.0, 1.0), *still)
    raw[2] = ((x, 0.0, 0.07), (0.0, 0.0, 1.0, 0.0), *still)
    env.world.sim.place(BodyReadings(raw))
    wait(env)
    env.world.set_order(order)
    assert env.world.masks()[0][GRIPS]
    assert env.world.masks()[1][GRIPS]
    env.step(dict.fromkeys(env.agents, GRIPS))
    holds = env.world.play.holds
    assert holds[order[0]] is not None
    assert holds[order[1]] is None
