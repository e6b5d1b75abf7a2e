"""PhysicsPlayground's kernels against the slow reference: invented scenes, and played ones."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.compiled import readable
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import layout_of
from piase_gym.worlds.physics_playground.levels.generate import new_state
from piase_gym.worlds.physics_playground.levels.items import KINDS
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.observe.sensors import SensorSet
from piase_gym.worlds.physics_playground.rules import driving, tasks
from piase_gym.worlds.physics_playground.rules.record import (
    AT_AGENT,
    AT_OBJECT,
    AT_WALL,
    GROUNDED,
    ON_RAMP,
    new_scene,
)
from piase_gym.worlds.physics_playground.state import Hold
from tests.worlds.physics_playground import reference as slow
from tests.worlds.physics_playground.helpers import FULL, TASKS, elsewhere, make, oracle, seen_in

BODIES = ("rover", "sphere")
SCENES = 60
"""Invented scenes a task and a body."""


def compare(moment: Any, found: Any, shown: tuple[Any, Any]) -> None:
    """Hold what kernels found out against the reference, to the last bit."""
    state, reading, config = moment.state, moment.reading, moment.config
    form, count = layout_of(config), len(moment.state.agents)
    objects = range(len(state.objects))
    assert found["togo"][:count].tolist() == slow.togo(state, reading, config)
    assert found["standing"] == slow.placed(state, reading, config)
    assert found["caught"] == slow.caught(state, moment.touches, config)
    inside = [bool(found["inside"][i]) for i in objects]
    assert inside == slow.inside(state, reading, config)
    for agent in range(count):
        grasp = slow.graspable(state, reading, agent, config)
        assert found["grasp"][agent] == (-1 if grasp is None else grasp)
    rows, masks = shown
    vectors = form.vectors(rows)
    for slot in range(form.sizes.agents):
        assert masks[slot].tolist() == slow.mask_of(state, reading, slot, config)
    for agent in range(count):
        seen = moment.touches[agent], moment.shares[agent]
        row = slow.row_of_agent(agent, state, reading, config, form, *seen)
        assert rows[agent].tolist() == row
        assert vectors[agent].tobytes() == slow.vector_of(row, form).tobytes()


# -- invented scenes ----------------------------------------------------------------------


def invent(task: str, body: str, seed: int) -> SimpleNamespace:
    """Return a moment of an invented episode: nothing of it has come about in Bullet."""
    dice = np.random.default_rng([seed, TASKS.index(task), BODIES.index(body)])
    need: dict[str, list[str]] = {
        "push": ["box"],
        "stack": ["box"] * 4,
        "gather": ["ball"],
        "keep_away": ["ball"],
        "carry": ["crate"],
    }
    kinds = need.get(task, []) + dice.choice(KINDS, dice.integers(0, 6)).tolist()
    dice.shuffle(kinds)
    config = PhysicsPlaygroundConfig(
        task=task,
        body=body,
        agents=int(dice.integers(2, 9)),
        objects=[{"kind": kind, "radius": dice.uniform(0.08, 0.3)} for kind in kinds],
        size=(20.0, 20.0),
        nearest=int(dice.integers(0, 12)),
        rays=int(dice.integers(0, 12)),
        zone=dice.uniform(0.2, 3.0),
        substeps=int(dice.choice([1, 8, 64])),
        gripper=bool(dice.random() < 0.8),
        envelope={"agents": 8, "objects": 16, "nearest": 16, "rays": 16}
        if dice.random() < 0.3
        else None,
    )
    slots = config.fixed_envelope().agents
    state = new_state(config, slots, seed)
    state.placed = int(dice.integers(0, 5))
    moment = SimpleNamespace(config=config, state=state, dice=dice)
    moment.reading = BodyReadings(places(moment))
    hold_something(moment)
    for agent in range(config.agents):
        if dice.random() < 0.2:
            state.status[agent] = "won"
    moment.touches = [touch(moment, agent) for agent in range(config.agents)]
    moment.shares = dice.random((config.agents, config.rays)).tolist()
    moment.drives = dice.uniform(-1.0, 1.0, (config.agents, 2)).tolist()
    return moment


def places(moment: Any) -> list[tuple[Any, ...]]:
    """Return where all bodies are: many of them close together, or on each other."""
    dice, state = moment.dice, moment.state
    raw: list[tuple[Any, ...]] = []
    for number, body in enumerate([*state.objects, *state.agents]):
        place = [*dice.uniform(-3.0, 3.0, 2), body.half[2] * dice.uniform(0.9, 1.5)]
        face = turn(dice)
        if number and dice.random() < 0.6:
            other = int(dice.integers(0, number))
            beside = 0.25 if number >= len(state.objects) else 0.1
            place[:2] = [v + dice.normal(0.0, beside) for v in raw[other][0][:2]]
            if number < len(state.objects):
                both = body.half[2] + state.objects[other].half[2]
                place[2] = raw[other][0][2] + both * dice.uniform(0.7, 1.3)
            elif dice.random() < 0.5:
                towards = [raw[other][0][i] - place[i] for i in (1, 0)]
                yaw = math.atan2(*towards) / 2.0
                face = 0.0, 0.0, math.sin(yaw), math.cos(yaw)
        speed = 10.0 ** dice.uniform(-3.0, 1.0)
        motion = dice.normal(0.0, speed, 3).tolist(), dice.normal(0.0, 20.0 * speed, 3).tolist()
        raw.append((tuple(map(float, place)), face, *map(tuple, motion)))
    return raw


def turn(dice: np.random.Generator) -> tuple[float, ...]:
    """Return a quaternion: mostly upright, now and then nose up, or anything."""
    kind = dice.random()
    if kind < 0.05:
        return 0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)
    if kind < 0.1:
        return tuple(dice.normal(size=4).tolist())
    if kind < 0.2:
        return 0.0, 0.0, 1.0, 0.0
    tilt = dice.normal(0.0, 0.02, 2)
    yaw = dice.uniform(-math.pi, math.pi) / 2.0
    found = np.array([*tilt, math.sin(yaw), math.cos(yaw)])
    return tuple((found / np.linalg.norm(found)).tolist())


def hold_something(moment: Any) -> None:
    """Let some agents hold something, and some of them the same."""
    dice, state = moment.dice, moment.state
    for agent in range(len(state.agents)):
        if state.objects and dice.random() < 0.25:
            number = int(dice.integers(0, len(state.objects)))
            nothing = [0.0, 0.0, 0.0]
            towed = bool(dice.random() < 0.5)
            state.holds[agent] = Hold(number, towed, nothing, nothing, [*nothing, 1.0], 3)


def touch(moment: Any, agent: int) -> slow.Touch:
    """Return what an agent touches."""
    dice, state = moment.dice, moment.state
    wall, ramp, grounded = (bool(dice.random() < share) for share in (0.3, 0.3, 0.8))
    objects = tuple(i for i in range(len(state.objects)) if dice.random() < 0.2)
    others = (i for i in range(len(state.agents)) if i != agent and dice.random() < 0.2)
    return slow.Touch(wall, ramp, objects, tuple(others), grounded)


def scene_of(moment: Any) -> Any:
    """Return the scene of a moment, as the arena would fill it in."""
    state, config = moment.state, moment.config
    scene = new_scene(state, config, tasks.wanted(state, config))
    one, agents = scene[0], slice(0, config.agents)
    one["table"][: len(moment.reading.raw)] = moment.reading.table
    one["share"][agents, : config.rays] = np.reshape(moment.shares, (config.agents, config.rays))
    one["drives"][agents] = moment.drives
    one["playing"][agents] = [status == "playing" for status in state.status[agents]]
    one["placed"] = state.placed
    for agent, felt in enumerate(moment.touches):
        columns = [AT_OBJECT + i for i in felt.objects] + [AT_AGENT + i for i in felt.agents]
        flags = {GROUNDED: felt.grounded, AT_WALL: felt.wall, ON_RAMP: felt.ramp}
        one["touch"][agent, [*columns, *(column for column in flags if flags[column])]] = 1
        hold = state.holds[agent]
        one["held"][agent] = hold.object if hold else -1
        one["towed"][agent] = bool(hold and hold.towed)
    return scene


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("task", TASKS)
def test_invented_scenes_are_seen_and_judged_as_the_reference_does(task: str, body: str) -> None:
    grasped = 0
    for seed in range(SCENES):
        moment = invent(task, body, seed)
        scene = scene_of(moment)
        form = layout_of(moment.config)
        total = tasks.total(moment.state, moment.config)
        senses = SensorSet(readable(scene), moment.config, form)
        assert tasks.measure(readable(scene))
        compare(moment, scene[0], senses.look(total))
        driving.drive(readable(scene))
        check_forces(moment, scene[0]["force"], scene[0]["torque"])
        grasped += int((scene[0]["grasp"][: moment.config.agents] >= 0).sum())
    assert task == "reach" or grasped >= SCENES / 4


def check_forces(moment: Any, forces: Any, torques: Any) -> None:
    """Compare forces and torques with the reference, to the last bit."""
    config = moment.config
    agents = moment.reading.raw[len(moment.state.objects) :]
    for agent, raw in enumerate(agents):
        pushed = slow.forces(
            config.body,
            slow.pose_of(raw),
            *moment.drives[agent],
            moment.touches[agent].grounded,
            config.seconds,
        )
        assert (list(forces[agent]), list(torques[agent])) == pushed


def test_towers_of_every_height_are_counted() -> None:
    heights = set()
    for seed in range(40):
        moment = invent("stack", "rover", seed)
        dice, state = moment.dice, moment.state
        boxes = slow.wanted(state, moment.config)
        floor = 0.0
        for number in boxes[: int(dice.integers(1, len(boxes) + 1))]:
            half = state.objects[number].half[2]
            still = (0.0, 0.0, 0.0)
            moment.reading.raw[number] = ((0.0, 0.0, floor + half), (0, 0, 0, 1), still, still)
            floor += 2.0 * half
        state.holds = [None] * len(state.holds)
        scene = scene_of(SimpleNamespace(**{**vars(moment), "reading": fresh(moment.reading)}))
        assert tasks.measure(readable(scene))
        found = int(scene[0]["standing"])
        assert found == slow.placed(state, moment.reading, moment.config)
        heights.add(found)
    assert {1, 2, 3, 4} <= heights


def fresh(reading: BodyReadings) -> BodyReadings:
    """Return a reading whose table is that of its parts as they are now."""
    return BodyReadings(reading.raw)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (0, math.nan),
        (1, 61.0),
        (2, -61.0),
        (4, math.nan),
        (8, math.inf),
        (9, -60.0),
        (12, math.inf),
    ],
)
def test_numbers_that_cannot_be_are_refused(column: int, value: float) -> None:
    moment = invent("push", "rover", 3)
    for body in (0, len(moment.reading.raw) - 1):
        scene = scene_of(moment)
        assert tasks.measure(readable(scene))
        before = scene[0]["togo"].copy()
        scene[0]["table"][body, column] = value
        assert not tasks.measure(readable(scene))
        assert (scene[0]["togo"] == before).all()


# -- played episodes ----------------------------------------------------------------------


def felt(env: Any, agent: int) -> slow.Touch:
    """Return what an agent touches, from Bullet's contact points."""
    sim = env.world.sim
    points = [point for point in sim.contacts(agent) if point[8] < 0.005]
    numbers = {point[2] for point in points}
    solid = {*sim.edges, *sim.statics} - {*sim.ramps}
    return slow.Touch(
        wall=bool(numbers & solid),
        ramp=bool(numbers & {*sim.ramps}),
        objects=tuple(i for i, number in enumerate(sim.objects) if number in numbers),
        agents=tuple(i for i, number in enumerate(sim.agents) if number in numbers),
        grounded=any(point[7][2] > 0.5 for point in points),
    )


def moment_of(env: Any) -> SimpleNamespace:
    """Return what there is to see now."""
    world = env.world
    agents = range(len(world.play.agents))
    rays = world.arena._rays
    return SimpleNamespace(
        state=world.play,
        config=world.config,
        reading=world.reading,
        touches=[felt(env, agent) for agent in agents],
        shares=[world.sim.lidar(agent, *rays) for agent in agents],
    )


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("task", TASKS)
def test_played_episodes_are_as_the_reference_says(task: str, body: str) -> None:
    pytest.importorskip("pybullet")
    env = make(task, **{**FULL[task], "body": body}, max_steps=120)
    pushes: list[tuple[Any, ...]] = []
    push = env.world.sim.push

    def noted(agent: int, place: Any, force: Any, torque: Any) -> None:
        pushes.append((force, torque))
        push(agent, place, force, torque)

    held = 0
    for seed in (4, 5):
        env.reset(seed=seed)
        env.world.sim.push = noted
        act, dice = oracle(env), np.random.default_rng(seed)
        while env.agents:
            moment = moment_of(env)
            world = env.world
            compare(moment, world.arena.scene[0], world._look())
            drives = note_drives(env)
            acts = act()
            if dice.random() < 0.2:
                acts = {name: int(dice.integers(0, 6)) for name in acts}
            pushes.clear()
            env.step(acts)
            moment.drives = drives[0]
            check_forces(moment, *zip(*pushes, strict=True))
            held += any(world.play.holds)
    assert held or task not in ("stack", "gather", "carry")


def note_drives(env: Any) -> list[Sequence[Any]]:
    """Return a list in which the drives of the next step will be."""
    found: list[Sequence[Any]] = []
    arena = env.world.arena
    run = type(arena).run

    def noted(drives: Sequence[Any]) -> bool:
        found.append([each[:2] for each in drives])
        return bool(run(arena, drives))

    arena.run = noted
    return found


@pytest.mark.slow
@pytest.mark.parametrize("task", ["reach", "stack", "carry"])
def test_plain_python_sees_what_machine_code_sees(task: str) -> None:
    pytest.importorskip("pybullet")
    found = elsewhere("seen_in", task, 6, warm="with_others", NUMBA_DISABLE_JIT="1")
    assert found == seen_in(task, 6)


def test_a_scene_is_packed_as_numpy_has_it() -> None:
    moment = invent("gather", "sphere", 1)
    scene = scene_of(moment)
    flat = [*moment.reading.flat]
    assert scene[0]["table"].tobytes().startswith(struct.pack(f"={len(flat)}d", *flat))
