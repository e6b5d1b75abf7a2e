"""TextProbe holds the World contract to account: a text world with messages and late joiners."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import testing
from piase_gym.agents import Percept, make_agent
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.envs.aec import aec_env
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.envs.single import gym_env
from piase_gym.errors import ConfigError, EnvelopeError, TextParseError
from tests import probes
from tests.probes import checks, library
from tests.probes.checks import CONTRACT
from tests.probes.text_config import DIRECTIONS, ITEMS, MOODS, PASSAGES, ROOMS, TextProbeConfig
from tests.probes.text_probe import TextProbe
from tests.probes.text_views import TextFacts, parse, text_of

probes.register()
NAME = "TextProbe"
CROWD: dict[str, Any] = {"agents": 3, "items": 6, "max_steps": 40, "slip": 0.3}
LATE: dict[str, Any] = {**CROWD, "join_at": (0, 2, 5)}
ROOMY: dict[str, Any] = {**CROWD, "agents": 2, "envelope": {"agents": 4, "items": 7}}


def say(env: WorldParallelEnv, **lines: str) -> Any:
    """Let agents act by lines; the others wait."""
    return env.step({name: lines.get(name, "wait") for name in env.agents})


# -- what every world is held to -----------------------------------------------------------


@pytest.mark.parametrize("config", [{}, CROWD, ROOMY])
def test_the_contract(config: dict[str, Any]) -> None:
    """The kit's own tests hold `LATE` to it."""
    testing.check_world(NAME, checks=CONTRACT, **{**config, "max_steps": 20})


def test_damaged_states_are_refused() -> None:
    checks.check_damage(NAME, {"agents": 2}, agents=3)
    checks.check_damage(NAME, {"agents": 2}, items=5)
    checks.check_damage(NAME, {"agents": 2}, agent_ids=("bob",))


# -- the checkers of libraries -------------------------------------------------------------


@pytest.mark.parametrize("view", ["both", "vector", "text"])
@pytest.mark.parametrize("actions", ["discrete", "text"])
def test_parallel_checkers(view: str, actions: str) -> None:
    library.check_parallel(NAME, view=view, actions=actions, **CROWD)


@pytest.mark.parametrize("view", ["both", "vector", "text"])
@pytest.mark.parametrize("actions", ["discrete", "text"])
def test_aec_checkers(view: str, actions: str) -> None:
    library.check_aec(NAME, view=view, actions=actions, **CROWD)


def test_checkers_with_masks_in_the_observations() -> None:
    library.check_parallel(NAME, mask="obs", **CROWD)
    library.check_aec(NAME, view="vector", mask="obs", **CROWD)


def test_parallel_checkers_with_late_joiners() -> None:
    library.check_parallel(NAME, **{**LATE, "join_at": (0, 0, 1)})


def test_aec_checkers_with_late_joiners() -> None:
    library.check_aec(NAME, **{**LATE, "join_at": (0, 0, 1)})


def test_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    library.check_render(NAME, monkeypatch, **CROWD)


def test_gymnasium_checkers() -> None:
    library.check_gymnasium("probe/Text-v0", agents=2)
    library.check_gymnasium("probe/Text-v0", view="text")
    library.check_sb3("probe/Text-v0", agents=2)


def test_gymnasium_checker_of_both_views() -> None:
    library.check_gymnasium("probe/Text-v0", view="both")
    library.check_gymnasium("probe/Text-v0", view="both", mask="obs")


# -- text ------------------------------------------------------------------------------------


def words(known: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(known), unique=True).map(tuple)


NAMES = TextProbeConfig(agents=4).names()
FREE = st.none() | st.text(max_size=60)
FACTS = st.builds(
    TextFacts,
    agent=st.sampled_from(NAMES),
    room=st.sampled_from(ROOMS),
    mood=st.sampled_from(MOODS),
    exits=st.lists(
        st.tuples(st.sampled_from(DIRECTIONS), st.sampled_from(PASSAGES)),
        unique_by=lambda way: way[0],
    ).map(tuple),
    items=words(ITEMS[:3]),
    inventory=words(ITEMS[3:]),
    others=words(NAMES),
    messages=st.lists(
        st.builds(Message, st.sampled_from(NAMES), st.just(EVERYONE), st.text(max_size=80)),
        max_size=3,
    ).map(tuple),
    feedback=FREE,
    hint=FREE,
)


@given(FACTS)
@settings(max_examples=300, deadline=None)
def test_any_facts_survive_the_text(facts: TextFacts) -> None:
    config = TextProbeConfig(agents=4, items=7)
    world = TextProbe(config)
    text = text_of(facts)
    assert parse(text, config) == facts
    assert len(text) <= world.text_length
    assert world.vector_space.contains(world.vector(facts))


EDITS = [
    ("You are agent_0", "You are agent_1", "agent"),
    ("in the hall", "in the garden", "room"),
    ("looks dusty", "looks bright", "mood"),
    ("A stairway leads down", "A stairway leads up", "exits"),
    ("A locked door leads east", "An open door leads east", "exits"),
    ("you see a key", "you see a rope", "items"),
    ("a vial", "a book", "items"),
    ("You carry a lamp", "You carry a coin", "inventory"),
    ("agent_2 is here", "agent_3 is here", "others"),
    ("agent_2 says: 3 rooms", "agent_3 says: 3 rooms", "messages"),
    ("says: 3 rooms", "says: 4 rooms", "messages"),
    ("Result: You go up", "Result: You go down", "feedback"),
    ("Hint: 1 key", "Hint: 2 key", "hint"),
]
EXAMPLE = TextFacts(
    agent="agent_0",
    room="hall",
    mood="dusty",
    exits=(("down", "stairway"), ("east", "locked door")),
    items=("key", "vial"),
    inventory=("lamp",),
    others=("agent_2",),
    messages=(Message("agent_2", EVERYONE, "3 rooms"),),
    feedback="You go up.",
    hint="1 key",
)


@pytest.mark.parametrize(("old", "new", "field"), EDITS)
def test_an_edit_changes_one_field(old: str, new: str, field: str) -> None:
    config = TextProbeConfig(agents=4, items=7)
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
        text_of(EXAMPLE).replace("hall", "attic"),
        text_of(EXAMPLE).replace("a key", "a sword"),
        text_of(EXAMPLE) + "\nHint: again",
        text_of(EXAMPLE).replace("Hint: 1", "Hint: \\u{ffffff}"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(TextParseError):
        parse(text, TextProbeConfig(agents=4, items=7))


def test_native_text_is_another_wording() -> None:
    env = parallel_env(NAME, **CROWD)
    env.reset(seed=0)
    native = env.world.native_text(0)
    assert env.facts("agent_0").room.title() in native  # type: ignore[attr-defined]
    assert native != env.world.text(env.world.facts(0))


# -- commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "outcome", "words"),
    [
        ("look", "ok", "look around"),
        ("take lamp", "ok", "take the lamp"),
        ("take the jewel", "illegal", "cannot take jewel"),
        ("go east", "failed", "locked"),
        ("go sideways", "unparsable", "east"),
        ("dance", "unparsable", "how to"),
        ("use key on dor", "unparsable", "door"),
        ("x" * 1001, "too_long", "1001"),
        ("", "unparsable", "empty"),
        (None, "unparsable", "string"),
    ],
)
def test_outcomes_are_explained(line: Any, outcome: str, words: str) -> None:
    env = parallel_env(NAME, actions="text", items=4)
    env.reset(seed=0)
    env.world.house.rooms[0] = "hall"  # type: ignore[attr-defined]
    env.world.house.side = "east"  # type: ignore[attr-defined]
    env.world.house.places["lamp"] = "hall"  # type: ignore[attr-defined]
    shown, *_, infos = env.step({"agent_0": line})
    assert infos["agent_0"]["outcome"] == outcome
    assert words in infos["agent_0"]["feedback"]
    assert env.facts("agent_0").feedback == infos["agent_0"]["feedback"]  # type: ignore[attr-defined]
    assert env.observation_space("agent_0").contains(dict(shown["agent_0"]))


def test_data_that_is_no_command_is_unreadable() -> None:
    env = parallel_env(NAME)
    env.reset(seed=0)
    for act in (
        Command("fly"),
        Command("go", {"direction": 3}),
        InvalidAction(Outcome.TIMEOUT, "late"),
    ):
        *_, infos = env.step({"agent_0": act})
        expected = act.outcome if isinstance(act, InvalidAction) else Outcome.UNPARSABLE
        assert infos["agent_0"]["outcome"] == expected
        assert infos["agent_0"]["feedback"]


@given(st.text(alphabet=st.characters(), max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_line_is_answered_and_can_be_shown(line: str) -> None:
    env = parallel_env(NAME, agents=2, actions="text")
    env.reset(seed=0)
    for text in (line, f"say {line}"):
        shown = env.step({"agent_0": text, "agent_1": text})[0]
    shown = say(env)[0]
    for name, view in shown.items():
        assert env.observation_space(name).contains(dict(view))
        assert piase_gym.parse_text(NAME, view["text"], env.config) == env.facts(name)
    assert env.digest()


def test_the_first_of_two_gets_the_key() -> None:
    for order, winner in (((0, 1), "agent_0"), ((1, 0), "agent_1")):
        env = parallel_env(NAME, agents=2, actions="text")
        env.reset(seed=0)
        house = env.world.house  # type: ignore[attr-defined]
        house.rooms[:] = ["hall", "hall"]
        house.places["key"] = "hall"
        env.world.set_order(order)
        *_, infos = say(env, agent_0="take key", agent_1="take key")
        assert [name for name in env.agents if infos[name]["outcome"] == "ok"] == [winner]
        assert {info["outcome"] for info in infos.values()} == {"ok", "failed"}


# -- messages -----------------------------------------------------------------------------------


def test_messages_reach_others_after_one_step() -> None:
    env = parallel_env(NAME, actions="text", **CROWD)
    env.reset(seed=0)
    message = "The KEY is in the cellar. Isn't it? \\o/ ключ"
    assert say(env, agent_1=f"say {message}")[0]["agent_0"]["text"].count("says") == 0
    shown = say(env)[0]
    for name in ("agent_0", "agent_2"):
        assert env.facts(name).messages == (Message("agent_1", "all", message),)
        assert "agent_1 says: The KEY" in shown[name]["text"]
    assert env.facts("agent_1").messages == ()
    say(env)
    assert env.facts("agent_0").messages == ()


# -- ends and entries ----------------------------------------------------------------------------


def test_agents_end_at_different_times() -> None:
    env = parallel_env(NAME, actions="text", **{**CROWD, "slip": 0.0})
    env.reset(seed=0)
    house = env.world.house  # type: ignore[attr-defined]
    house.rooms[:] = ["hall", "garden", "cellar"]
    house.places["vial"] = "0"
    _, rewards, terminated, truncated, infos = say(
        env, agent_0="use vial", agent_1="take jewel", agent_2="wait"
    )
    assert terminated == {"agent_0": True, "agent_1": True, "agent_2": False}
    assert not any(truncated.values())
    assert rewards["agent_1"] > 0 > rewards["agent_0"]
    assert infos["agent_0"]["result"] == "lost"
    assert infos["agent_1"]["result"] == "won"
    assert infos["agent_1"]["milestones"] == ["jewel_taken"]
    assert "result" not in infos["agent_2"]
    assert env.agents == ["agent_2"]
    for _ in range(39):
        *_, terminated, truncated, infos = say(env)
    assert truncated == {"agent_2": True}
    assert terminated == {"agent_2": False}
    assert infos["agent_2"]["result"] == "lost"
    assert env.agents == []


def test_agents_join_late() -> None:
    env = parallel_env(NAME, actions="text", **LATE)
    shown, _ = env.reset(seed=0)
    assert list(shown) == ["agent_0"]
    present = []
    for _ in range(6):
        say(env, agent_0="say hello")
        present.append(len(env.agents))
    assert present == [1, 2, 2, 2, 3, 3]
    assert env.facts("agent_2").messages  # said one step after it came in
    assert sum(env.world.alive) == 3


def test_joiners_are_shown_when_they_join() -> None:
    env = parallel_env(NAME, **LATE)
    env.reset(seed=0)
    for _ in range(2):
        found = env.step(dict.fromkeys(env.agents, 1))
    assert env.agents == ["agent_0", "agent_1"]
    for part in found:
        assert set(part) == {"agent_0", "agent_1"}
    assert found[1]["agent_1"] == 0.0


def test_a_learner_may_join_late() -> None:
    env = gym_env(NAME, agent="agent_1", agents=2, join_at=(0, 3), partners={"*": "noop"})
    env.reset(seed=0)
    assert env.world.alive[1]
    env.step(0)


# -- configs --------------------------------------------------------------------------------------


def test_reconfiguring_within_the_envelope() -> None:
    env = parallel_env(NAME, **ROOMY)
    spaces = env.observation_space("agent_0"), env.action_space("agent_0"), env.state_space
    env.reset(seed=0)
    env.reconfigure({"agents": 4, "items": 7, "slip": 0.0})
    assert env.agents == ["agent_0", "agent_1"]
    shown, _ = env.reset(seed=0)
    assert list(shown) == [f"agent_{i}" for i in range(4)]
    assert len(env.world.house.places) == 7  # type: ignore[attr-defined]
    env.reset(seed=0, options={"config": {"agents": 1, "items": 3}})
    assert env.agents == ["agent_0"]
    assert spaces[0] is env.observation_space("agent_0")
    assert all(env.observation_space(name).contains(dict(v)) for name, v in shown.items())


@pytest.mark.parametrize("changes", [{"agents": 4, "items": 7}, {"items": 7}])
def test_reconfiguring_beyond_the_envelope(changes: dict[str, Any]) -> None:
    env = parallel_env(NAME, **CROWD)
    env.reset(seed=0)
    before = env.snapshot()
    with pytest.raises(EnvelopeError, match="items 7"):
        env.reconfigure(changes)
    assert env.snapshot() == before


@pytest.mark.parametrize(
    "config", [{"join_at": (1,)}, {"join_at": (0, 0)}, {"agents": 5}, {"items": 8}, {"slip": 2}]
)
def test_bad_configs(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="TextProbe"):
        parallel_env(NAME, **config)


def test_snapshots_of_other_envelopes_are_refused() -> None:
    small, large = parallel_env(NAME), parallel_env(NAME, envelope={"agents": 2})
    small.reset(seed=0)
    large.reset(seed=0)
    before = large.snapshot()
    with pytest.raises(piase_gym.errors.SnapshotError):
        large.restore(small.snapshot())
    assert large.snapshot() == before


# -- references ----------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", [0.0, 0.5])
def test_the_oracle_wins(slip: float) -> None:
    agent = make_agent("oracle")
    lengths = set()
    for seed in range(20):
        env = gym_env("probe/Text-v0", slip=slip)
        env.reset(seed=seed)
        done, steps, total = False, 0, 0.0
        while not done:
            agent.perceive(Percept(env.world, 0, steps))
            _, reward, terminated, truncated, info = env.step(agent.act())
            done, steps, total = terminated or truncated, steps + 1, total + reward
        assert info["result"] == "won"
        assert total > 5
        lengths.add(steps)
    assert len(lengths) > 1  # seeds make a difference


def test_worlds_do_not_share_anything() -> None:
    env = aec_env(NAME, **CROWD)
    env.reset(seed=0)
    twin = copy.deepcopy(env.unwrapped.world)
    assert np.array_equal(twin.state(), env.state())


def test_a_twin_hints_at_the_others_alone() -> None:
    env = piase_gym.parallel_env("TextProbe", agents=3)
    env.reset(seed=1)
    twin = env.world.twin(1)
    assert twin is not None
    told = [twin.facts(agent).hint for agent in range(3)]
    assert told == ["This is for agent_0 alone.", None, "This is for agent_2 alone."]
    assert [env.world.facts(agent).hint for agent in range(3)] == [None] * 3
