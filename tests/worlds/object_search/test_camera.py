"""Pictures of a house: held against a pinhole camera reckoned here, and against the house."""

from __future__ import annotations

import copy
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import testing
from piase_gym.agents import Percept, make_agent
from piase_gym.core.commands import Command
from piase_gym.errors import MissingExtraError, PiaseError, UnknownNameError, UnsupportedError
from piase_gym.worlds.describing import (
    Description,
    Picture,
    SeenObject,
    objects_in,
    register_describer,
)
from tests.paths import ROOT

pytest.importorskip("pybullet")
from piase_gym.worlds.bullet_client import live_clients
from piase_gym.worlds.grids.codes import WALL
from piase_gym.worlds.object_search.geometry import HALF as THING
from piase_gym.worlds.object_search.observe.camera import (
    HUES,
    LEAST,
    LINES,
    MOST_CAMERAS,
    WIDTH,
)
from piase_gym.worlds.object_search.players.oracle import ObjectSearchOracle

SIDE = 11
HALL = {"width": SIDE, "height": SIDE, "room": 32, "furniture": 0.0}


def search(**config: Any) -> Any:
    """Return an environment with pictures."""
    return piase_gym.parallel_env("ObjectSearch", **{"backend": "camera", **config})


@pytest.fixture(scope="module")
def hall() -> Iterator[Any]:
    """One large room with one agent and two objects, which tests put where they like."""
    env = search(agents=1, objects=2, object_names=("cup", "red lamp"), **HALL)
    env.reset(seed=0)
    yield env
    env.close()


def put(env: Any, places: list[tuple[int, int]], pose: tuple[int, ...], **more: Any) -> Any:
    """Put the objects and the first agent; return what the agent sees."""
    world = env.world
    state = {**world.get_state(), **more}
    for number, (x, y) in enumerate(places):
        state["place"][number] = y * world.side + x
    for name, value in zip(("x", "y", "z", "heading", "pitch", "roll"), pose, strict=True):
        state[name][0] = value
    world.set_state(state)
    return world.shots[0]


def projected(pose: tuple[int, ...], place: tuple[int, int]) -> tuple[float, float, float]:
    """Return column, line and depth of an object on the floor, by a pinhole camera of our own."""
    x, y, z, heading, pitch, roll = pose
    east, south, up = place[0] - x, place[1] - y, THING - (z + 0.5)
    turn = math.radians(90 * heading)
    right = east * math.cos(turn) + south * math.sin(turn)
    ahead = east * math.sin(turn) - south * math.cos(turn)
    lift = math.radians(60 * (pitch - 1))
    depth = ahead * math.cos(lift) + up * math.sin(lift)
    above = up * math.cos(lift) - ahead * math.sin(lift)
    lean = math.radians(45 * (roll - 1))
    across = right * math.cos(lean) - above * math.sin(lean)
    above = right * math.sin(lean) + above * math.cos(lean)
    depth = depth or 1e-9
    column = WIDTH / 2 * (1 + across / depth / 1.05)
    line = LINES / 2 * (1 - above / depth / 0.62)
    return column, line, depth


# -- what is in a picture -----------------------------------------------------------------


def test_things_are_where_a_pinhole_camera_has_them(hall: Any) -> None:
    dice = np.random.default_rng(5)
    compared = 0
    for _ in range(800):
        pose = (*dice.integers(2, SIDE - 2, 2), *dice.integers(0, (3, 4, 3, 3)))
        place = tuple(dice.integers(1, SIDE - 1, 2).tolist())
        pose = tuple(int(value) for value in pose)
        column, line, depth = projected(pose, place)
        radius = 1.5 * THING / max(depth, 0.1) * WIDTH / 2.1
        inside = radius < column < WIDTH - radius and radius < line < LINES - radius
        if not (inside and 1.0 < depth < 6.0):
            continue
        shot = put(hall, [place, (1, 1) if place != (1, 1) else (2, 1)], pose)
        (cup,) = [seen for seen in shot.truth.objects if seen.name == "cup"]
        left, top, right, bottom = cup.box
        assert (left + right) / 2 == pytest.approx(column, abs=1.6), pose
        assert (top + bottom) / 2 == pytest.approx(line, abs=1.6), pose
        assert right - left == pytest.approx(2 * THING / depth * WIDTH / 2.1, rel=0.35, abs=2)
        compared += 1
    assert compared > 30


def test_walls_and_the_end_of_sight_hide_things(hall: Any) -> None:
    pose = (5, 9, 0, 0, 1, 1)
    near, far = (5, 4), (5, 2)
    names = [seen.name for seen in put(hall, [near, (9, 9)], pose).truth.objects]
    assert names == ["cup"]
    assert put(hall, [far, (9, 9)], pose).truth.objects == ()  # 7 columns ahead, 6 are in sight
    cells = hall.world.get_state()["cells"]
    walled = list(cells)
    walled[6 * hall.world.side + 5] = walled[0]
    assert put(hall, [near, (9, 9)], pose, cells=walled).truth.objects == ()
    assert put(hall, [near, (9, 9)], pose, cells=cells).truth.objects != ()


def test_facts_tell_what_is_in_the_picture(hall: Any) -> None:
    shot = put(hall, [(5, 6), (6, 6)], (5, 9, 0, 0, 1, 1))
    facts = hall.facts("agent_0")
    boxes = {seen.name: seen.box for seen in shot.truth.objects}
    assert [thing.name for thing in facts.objects] == ["cup", "red lamp"]
    for name, (across, down) in facts.objects:
        left, top, right, bottom = boxes[name]
        assert across == pytest.approx(50 * (left + right) / WIDTH, abs=2)
        assert down == pytest.approx(50 * (top + bottom) / LINES, abs=2)
    cup, lamp = facts.objects
    assert cup.position[0] == 50 < lamp.position[0]
    assert facts.caption in (
        "A cup in the middle and a red lamp in the middle.",
        "A red lamp in the middle and a cup in the middle.",
    )
    text = hall.world.text(facts)
    assert f"You see a cup at 50%, {cup.position[1]}%; a red lamp at" in text
    assert f"Caption: {facts.caption}\n" in text + "\n"


def test_hues_are_far_apart_whatever_the_light() -> None:
    shares = np.array(HUES) / np.sum(HUES, axis=1, keepdims=True)
    gaps = np.linalg.norm(shares[:, None] - shares[None], axis=-1) + np.eye(len(HUES))
    assert gaps.min() > 0.2


# -- the same house -----------------------------------------------------------------------


def test_the_house_is_the_same_and_so_is_most_of_what_is_seen() -> None:
    fields = {"agents": 2, "objects": 12, "end_when_found": False, "max_steps": 60, "room": 9}
    pictures, house = search(**fields), search(**fields, backend="house")
    dice = np.random.default_rng(2)
    both = only_house = only_pictures = 0
    for seed in range(3):
        pictures.reset(seed=seed)
        house.reset(seed=seed)
        while pictures.agents:
            acts = {name: int(dice.integers(13)) for name in pictures.agents}
            outcomes = [
                {name: info["outcome"] for name, info in env.step(acts)[4].items()}
                for env in (pictures, house)
            ]
            assert outcomes[0] == outcomes[1]
            for agent, name in enumerate(house.world.agents):
                one, other = pictures.world.facts(agent), house.world.facts(agent)
                assert (one.pose, one.cells, one.others) == (other.pose, other.cells, other.others)
                seen = {thing.name for thing in pictures.world.shots[agent].truth.objects}
                known = {thing.name for thing in other.objects}
                both += len(seen & known)
                only_house += len(known - seen)
                only_pictures += len(seen - known)
                assert name in pictures.possible_agents
    assert both > 60
    assert only_house < 0.35 * both
    assert only_pictures < 0.6 * both


def test_the_script_that_reads_pixels_is_nearly_right() -> None:
    env = search(agents=4, objects=16, end_when_found=False, max_steps=30)
    dice, objects, captions = np.random.default_rng(3), [], []
    for seed in range(2):
        env.reset(seed=seed)
        while env.agents:
            env.step({name: int(dice.integers(12)) for name in env.agents})
            for agent in range(4):
                if env.world.shots[agent].truth.objects:
                    one, other = env.world.score(agent)
                    objects.append(one.f1)
                    captions.append(other.f1)
    assert len(objects) > 50
    assert np.mean(objects) > 0.9
    assert np.mean(captions) > 0.9


# -- who describes ------------------------------------------------------------------------


def test_only_what_is_there_and_told_is_found() -> None:
    answers = {"liar": "CUP", "blind": "", "parrot": "red_lamp"}
    for name, said in answers.items():
        told = (SeenObject(said, (0, 0, 40, 40)),) if said else ()
        register_describer(name, lambda palette, told=told: lambda picture: Description(told, "x"))
    found: dict[str, tuple[Any, ...]] = {}
    for name in answers:
        env = search(agents=1, objects=2, object_names=("cup", "red_lamp"), describer=name, **HALL)
        env.reset(seed=0)
        state = env.world.get_state()
        put(env, [(1, 1), (5, 7)], (5, 9, 0, 0, 1, 1), found=0)  # the lamp is in the picture
        assert state["goal"] == 3
        _, rewards, *_ = env.step({"agent_0": 12})
        names = [thing.name for thing in env.facts("agent_0").objects]
        found[name] = (names, env.world.get_state()["found"], round(rewards["agent_0"], 2))
        env.close()
    assert found == {
        "liar": (["cup"], 0, -0.01),
        "blind": ([], 0, -0.01),
        "parrot": (["red_lamp"], 2, 0.99),
    }


def test_the_episode_goes_on_when_nobody_can_describe() -> None:
    class Tired(PiaseError):
        pass

    def describe(picture: Picture) -> Description:
        raise Tired("no answer in time")

    register_describer("tired", lambda palette: describe)
    env = search(agents=1, describer="tired")
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": 12})
    assert infos["agent_0"]["outcome"] == "ok"
    assert env.facts("agent_0").caption == "The picture is not described: no answer in time"
    env.close()
    with pytest.raises(UnknownNameError, match="describer 'colors'"):
        search(describer="colors")


def test_reports_hold_what_was_told(hall: Any) -> None:
    env = search(agents=2, objects=2, object_names=("cup", "lamp"), actions="text", **HALL)
    env.reset(seed=0)
    put(env, [(5, 7), (9, 9)], (5, 9, 0, 0, 1, 1))
    env.step({"agent_0": "stay and report", "agent_1": "stay"})
    (letter,) = env.facts("agent_1").messages
    assert letter.message.endswith("I see a cup.")
    env.close()


# -- worlds and clients -------------------------------------------------------------------


def test_few_clients_serve_many_worlds_and_go_with_the_last() -> None:
    before = live_clients()
    worlds = [search(agents=1) for _ in range(MOST_CAMERAS + 4)]
    for seed, env in enumerate(worlds):
        env.reset(seed=seed)
    seen = [env.world.shots[0].picture for env in worlds]
    assert live_clients() <= before + MOST_CAMERAS
    for env, picture in zip(worlds, seen, strict=True):
        env.world.refresh()
        np.testing.assert_array_equal(env.world.shots[0].picture, picture)
    twin = copy.deepcopy(worlds[0])
    for env in (worlds[0], twin):
        env.step({"agent_0": 7})
    np.testing.assert_array_equal(worlds[0].world.shots[0].picture, twin.world.shots[0].picture)
    assert worlds[0].digest() == twin.digest()
    for env in (*worlds, twin):
        env.close()
    del env, worlds, twin
    other = search(agents=1)
    other.reset(seed=0)
    other.close()
    assert live_clients() <= before + 1


def test_without_pybullet_the_house_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(MissingExtraError, match=r"camera' .*piase-gym\[physics\]"):
        search()
    search(backend="house").close()
    assert "physics" in (piase_gym.registry.missing("piase/ObjectSearch-Camera-v3") or "")
    assert piase_gym.registry.missing("piase/ObjectSearch-v3") is None


def test_there_is_no_kernel_but_a_vector_of_environments() -> None:
    with pytest.raises(UnsupportedError, match="no batched kernel"):
        piase_gym.batch_env("ObjectSearch", num_envs=2, backend="camera")
    import gymnasium

    env = gymnasium.make_vec("piase/ObjectSearch-Camera-v3", num_envs=2)
    observations, _ = env.reset(seed=0)
    assert observations.shape[0] == 2
    env.close()


def test_a_snapshot_brings_the_picture_back() -> None:
    env = search(agents=2)
    env.reset(seed=4)
    env.step(dict.fromkeys(env.agents, 9))
    kept, shots = env.snapshot(), list(env.world.shots)
    env.step(dict.fromkeys(env.agents, 6))
    other = search(agents=2)
    other.restore(kept)
    for one, two in zip(shots, other.world.shots, strict=True):
        np.testing.assert_array_equal(one.picture, two.picture)
        assert one.told == two.told
    assert other.world.rgb().shape[2] == 3
    env.close()
    other.close()


def test_a_damaged_snapshot_is_refused_and_changes_nothing() -> None:
    env = search(agents=2)
    env.reset(seed=4)
    env.step(dict.fromkeys(env.agents, 9))
    kept = env.snapshot()
    env.step(dict.fromkeys(env.agents, 6))
    digest, shots = env.digest(), list(env.world.shots)
    texts = [env.world.text(env.facts(name)) for name in env.possible_agents]
    damage: dict[str, Any] = {
        "cells": [WALL] * len(kept["state"]["cells"]),
        "place": [-5] * len(kept["state"]["place"]),
        "x": [99] * len(kept["state"]["x"]),
        "goal": "all",
        "found": None,
    }
    broken = [{**kept, "state": {**kept["state"], name: value}} for name, value in damage.items()]
    broken += [
        {**kept, "state": {name: v for name, v in kept["state"].items() if name != "place"}},
        {**kept, "state": None},
        {**kept, "world": "GridWorld"},
        {**kept, "config": {**kept["config"], "describer": "nobody"}},
    ]
    for snapshot in broken:
        with pytest.raises(PiaseError):
            env.restore(snapshot)
        assert env.digest() == digest
        assert [env.world.text(env.facts(name)) for name in env.possible_agents] == texts
        for one, two in zip(shots, env.world.shots, strict=True):
            np.testing.assert_array_equal(one.picture, two.picture)
    env.restore(kept)
    assert env.digest() != digest
    env.close()


def test_the_script_finds_everything_in_pictures() -> None:
    for seed in (2, 3, 5, 7):
        env = piase_gym.parallel_env("piase/ObjectSearch-Camera-v3", view="vector")
        env.reset(seed=seed)
        team = {name: make_agent("scripted") for name in env.agents}
        while env.agents:
            for name, agent in team.items():
                agent.perceive(Percept(env.world, env.world.agents.index(name), 0))
            _, _, _, _, infos = env.step({name: team[name].act() for name in env.agents})
        assert {info["result"] for info in infos.values()} == {"won"}, seed
        env.close()


@pytest.mark.parametrize("seed", [2_000_001, 2_000_005])
def test_the_oracle_looks_from_elsewhere_where_a_picture_does_not_show(seed: int) -> None:
    env = search(agents=2, max_steps=100)
    env.reset(seed=seed)
    oracle, world = ObjectSearchOracle(env.world), env.world
    assert oracle.certificate(0) is None
    while any(world.alive):
        world.step([oracle.act(a) if world.alive[a] else None for a in range(2)])
    assert world.result(0) == "won"
    env.close()


def test_the_truth_needs_a_few_pixels() -> None:
    mask = np.full((8, 8), -1, np.int32)
    mask[2, 1 : 1 + LEAST] = 4
    mask[5, 1:LEAST] = 9
    truth = objects_in(mask, {4: "cup", 9: "vase"}, LEAST)
    assert truth.objects == (SeenObject("cup", (1, 2, 1 + LEAST, 3)),)


def test_the_page_shows_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "cameras_and_windows.md").read_text("utf-8")
    block = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    exec(compile(block, "cameras_and_windows.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Caption: " in printed
    assert printed.splitlines()[-1].endswith(" 1.0 1.0")


@pytest.mark.slow
def test_the_contract_is_kept() -> None:
    names = [
        "observations_fit",
        "text_reads_back",
        "an_edit_changes_one_fact",
        "vector_is_that_of_the_facts",
        "vector_tells_facts_apart",
        "masks_are_legality",
        "restored_go_on_alike",
        "same_seed_same_episode",
        "secrets_are_kept",
        "perceptions_fit_their_schema",
        "reconfigured_spaces_stay",
        "late_joiners_enter",
    ]
    testing.check_world("ObjectSearch", checks=names, backend="camera", agents=2, max_steps=8)


def test_commands_are_those_of_the_house() -> None:
    env = search()
    assert env.world.commands[0] == Command("forward")
    assert len(env.world.commands) == 26
    env.close()
