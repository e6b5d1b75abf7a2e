"""PointProbe holds the World contract to account: a continuous world with floats for facts."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import testing
from piase_gym.core.commands import Command, Outcome
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import ActionError, ConfigError, EnvelopeError, TextParseError
from piase_gym.testing.play import play
from tests import probes
from tests.probes import checks, library
from tests.probes.checks import CONTRACT
from tests.probes.point_config import MAX_SPEED, PointProbeConfig
from tests.probes.point_probe import PointProbe
from tests.probes.point_views import PointFacts, facts_of, pair, parse, text_of

probes.register()
NAME = "PointProbe"
CROWD: dict[str, Any] = {"agents": 3, "max_steps": 40, "noise": 0.2, "arrival": 0.3}
ROOMY: dict[str, Any] = {**CROWD, "agents": 2, "envelope": {"agents": 4}}


# -- what every world is held to -----------------------------------------------------------


@pytest.mark.parametrize("config", [{}, ROOMY])
def test_the_contract(config: dict[str, Any]) -> None:
    """The kit's own tests hold `CROWD` to it."""
    testing.check_world(NAME, checks=CONTRACT, **{**config, "max_steps": 20})


def test_damaged_states_are_refused() -> None:
    checks.check_damage(NAME, {"agents": 2}, agents=3)


def test_states_are_exact_to_the_last_bit() -> None:
    env = parallel_env(NAME, **CROWD)
    for _ in play(env, 5):
        before = env.world.points.position  # type: ignore[attr-defined]
        saved = json.loads(json.dumps(env.snapshot()))
        again = [[float(v).hex() for v in place] for place in saved["state"]["points"]["position"]]
        assert again == [[v.hex() for v in place] for place in before]


# -- the checkers of libraries -------------------------------------------------------------


@pytest.mark.parametrize("view", ["both", "vector", "text"])
@pytest.mark.parametrize("actions", ["discrete", "continuous", "text"])
def test_parallel_checkers(view: str, actions: str) -> None:
    library.check_parallel(NAME, view=view, actions=actions, **CROWD)


@pytest.mark.parametrize("view", ["both", "vector", "text"])
@pytest.mark.parametrize(
    "actions",
    ["discrete", "continuous", "text"],
)
def test_aec_checkers(view: str, actions: str) -> None:
    library.check_aec(NAME, view=view, actions=actions, **CROWD)


def test_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    library.check_render(NAME, monkeypatch, **CROWD)


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_gymnasium_checkers(actions: str) -> None:
    library.check_gymnasium("probe/Point-v0", actions=actions, agents=2)
    library.check_gymnasium("probe/Point-v0", actions=actions, view="text")
    library.check_sb3("probe/Point-v0", actions=actions, agents=2)


def test_gymnasium_checker_of_both_views() -> None:
    library.check_gymnasium("probe/Point-v0", view="both")


# -- text ------------------------------------------------------------------------------------

NAMES = PointProbeConfig(agents=4).names()


def pairs(limit: float) -> st.SearchStrategy[tuple[float, float]]:
    return st.lists(st.floats(-limit, limit), min_size=2, max_size=2).map(pair)


FACTS = st.builds(
    PointFacts,
    agent=st.just("agent_1"),
    position=pairs(1.0),
    velocity=pairs(MAX_SPEED),
    goal=pairs(1.0),
    others=st.lists(st.sampled_from([0, 2, 3]), unique=True)
    .map(sorted)
    .flatmap(lambda found: st.tuples(*(st.tuples(st.just(NAMES[i]), pairs(1.0)) for i in found))),
    hint=st.none() | st.text(max_size=200),
)


@given(FACTS)
@settings(max_examples=300, deadline=None)
def test_facts_text_and_vector_are_the_same(facts: PointFacts) -> None:
    config = PointProbeConfig(agents=4)
    world = PointProbe(config)
    text, vector = text_of(facts), world.vector(facts)
    assert parse(text, config) == facts
    assert facts_of(vector, NAMES, facts.hint) == facts
    assert "-0.000" not in text
    assert len(text) <= world.text_length
    assert world.vector_space.contains(vector)


@given(st.integers(-2000, 2000))
@settings(deadline=None)
def test_every_thousandth_survives_text_and_float32(thousandths: int) -> None:
    value = pair([thousandths / 1000, 0.0])[0]
    assert float(f"{value:.3f}") == value
    assert round(float(np.float32(value)), 3) == value


EXAMPLE = PointFacts(
    agent="agent_1",
    position=(0.125, -0.5),
    velocity=(1.25, 0.0),
    goal=(-1.0, 0.75),
    others=(("agent_0", (0.333, 0.444)),),
    hint="push 1 time",
)
EDITS = [
    ("agent_1 at", "agent_2 at", "agent"),
    ("0.125", "0.126", "position"),
    ("-0.500", "0.500", "position"),
    ("1.250", "1.251", "velocity"),
    ("0.750", "0.751", "goal"),
    ("agent_0 is", "agent_3 is", "others"),
    ("0.333", "0.334", "others"),
    ("push 1", "push 2", "hint"),
]


@pytest.mark.parametrize(("old", "new", "field"), EDITS)
def test_an_edit_changes_one_field(old: str, new: str, field: str) -> None:
    config = PointProbeConfig(agents=4)
    text = text_of(EXAMPLE)
    assert text.count(old) == 1
    found = parse(text.replace(old, new), config)
    changed = [f.name for f in fields(found) if getattr(found, f.name) != getattr(EXAMPLE, f.name)]
    assert changed == [field]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        text_of(EXAMPLE).replace("0.125", "0.12"),
        text_of(EXAMPLE).replace("0.125", "nan"),
        text_of(EXAMPLE).replace("agent_0", "agent_7"),
        text_of(EXAMPLE) + "\nHint: again",
        text_of(EXAMPLE).replace("push", "\\u{ffffff}"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(TextParseError):
        parse(text, PointProbeConfig(agents=4))


# -- actions -----------------------------------------------------------------------------------


def test_index_box_and_line_are_the_same_push() -> None:
    kinds: dict[str, list[Any]] = {
        "discrete": [0, 1, 2, 3, 4],
        "text": ["thrust -1 0", "push 1 0.0", "Thrust 0 1.", "thrust 0 -1", "coast."],
        "continuous": [(-1, 0), (1, 0), (0, 1), (0, -1), (0, 0)],
    }
    digests = {}
    for kind, actions in kinds.items():
        env = parallel_env(NAME, actions=kind, noise=0.1)
        env.reset(seed=1)
        for action in actions * 4:
            given_ = np.array(action, np.float32) if kind == "continuous" else action
            env.step({"agent_0": given_})
        digests[kind] = env.digest()
    assert len(set(digests.values())) == 1


def test_any_box_has_a_line() -> None:
    by_box = parallel_env(NAME, actions="continuous", **CROWD)
    by_text = parallel_env(NAME, actions="text", **CROWD)
    by_box.reset(seed=2)
    by_text.reset(seed=2)
    while by_box.agents:
        boxes = {name: by_box.action_space(name).sample() for name in by_box.agents}
        world = by_box.world
        lines = {
            name: world.write(world.command_from_box(i, boxes[name]))
            for i, name in enumerate(world.agents)
            if name in boxes
        }
        by_box.step(boxes)
        by_text.step(lines)
        assert by_box.digest() == by_text.digest()


@pytest.mark.parametrize(
    "line", ["thrust", "thrust 1", "thrust 1 2 3", "thrust nan 0", "thrust inf 0", "thrust 1.5 0"]
)
def test_bad_lines_are_explained(line: str) -> None:
    env = parallel_env(NAME, actions="text")
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": line})
    assert infos["agent_0"]["outcome"] is Outcome.UNPARSABLE
    assert "from -1 to 1" in infos["agent_0"]["feedback"]
    *_, infos = env.step({"agent_0": Command("thrust", {"x": float("nan"), "y": 0.0})})
    assert infos["agent_0"]["outcome"] is Outcome.UNPARSABLE


@pytest.mark.parametrize("action", [[np.nan, 0.0], [0.0], "left", None])
def test_bad_boxes_are_errors(action: Any) -> None:
    env = parallel_env(NAME, actions="continuous")
    env.reset(seed=0)
    before = env.digest()
    with pytest.raises(ActionError):
        env.step({"agent_0": action})
    assert env.digest() == before


# -- ends and configs ----------------------------------------------------------------------------


def test_agents_arrive_one_after_the_other() -> None:
    env = parallel_env(NAME, actions="continuous", agents=3, max_steps=80)
    env.reset(seed=0)
    left, results = [], {}
    while env.agents:
        pushes = {}
        for name in env.agents:
            facts = env.facts(name)
            assert isinstance(facts, PointFacts)
            gap = np.subtract(facts.goal, facts.position) * 4 - np.array(facts.velocity) * 3
            pushes[name] = np.clip(gap, -1, 1).astype(np.float32)
        _, rewards, terminated, truncated, infos = env.step(pushes)
        for name in pushes:
            assert not (terminated[name] and truncated[name])
            if terminated[name]:
                assert rewards[name] > 9
                results[name] = infos[name]["result"]
                assert infos[name]["milestones"] == ["arrived"]
        left.append(len(env.agents))
    assert results == dict.fromkeys(env.possible_agents, "won")
    assert len(set(left)) > 2


def test_those_who_do_not_arrive_lose() -> None:
    env = parallel_env(NAME, agents=2, max_steps=3)
    env.reset(seed=0)
    for _ in range(3):
        *_, truncated, infos = env.step(dict.fromkeys(env.agents, 4))
    assert truncated == {"agent_0": True, "agent_1": True}
    assert infos["agent_1"]["result"] == "lost"


def test_reconfiguring() -> None:
    env = parallel_env(NAME, **ROOMY)
    space = env.observation_space("agent_3")
    env.reset(seed=0)
    env.reconfigure({"agents": 4, "dt": 0.5})
    shown, _ = env.reset(seed=0)
    assert len(shown) == 4
    assert env.observation_space("agent_3") is space
    assert space.contains(dict(shown["agent_3"]))
    with pytest.raises(ConfigError, match="PointProbe"):
        env.reconfigure({"agents": 5})
    small = parallel_env(NAME)
    with pytest.raises(EnvelopeError, match="agents 2"):
        small.reconfigure({"agents": 2})


def test_configs_refuse_what_is_no_number() -> None:
    for value in (0.0, float("nan"), float("inf"), "heavy"):
        with pytest.raises(ConfigError, match="mass"):
            parallel_env(NAME, mass=value)


def test_partners_play_the_others() -> None:
    env = gym_env("probe/Point-v0", agents=3, actions="continuous")
    env.reset(seed=0)
    env.step(np.zeros(2, np.float32))
    velocities = env.world.points.velocity  # type: ignore[attr-defined]
    assert velocities[0] == [0.0, 0.0]
    assert piase_gym.list_tasks(NAME) == ("probe/Point-v0",)
