"""Wrappers that show memories, the shared memory, and embedded texts."""

from __future__ import annotations

import copy
import functools
import json
import pickle
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

import piase_gym
from piase_gym.errors import ActionError, AgentError, ConfigError, SnapshotError
from piase_gym.interfaces import PerceptionInterface
from piase_gym.memory import FaissMemory, HashedEmbedder
from piase_gym.memory.embedders import CachedEmbedder
from piase_gym.wrappers import (
    AddActuators,
    AddMemory,
    AddSensors,
    AddSharedMemory,
    KeepAgents,
    TextEmbedding,
    TextEmbeddingEnv,
)
from piase_gym.wrappers.add_to_views import Lines
from tests.helpers.checkers import parallel_api_test

pytest.importorskip("faiss")


ROOM: dict[str, Any] = {"agents": 2, "rooms": 1, "depth": 0}


def two(view: str = "both", **config: Any) -> Any:
    """Return a room with two agents that hear each other at once."""
    return piase_gym.parallel_env(
        "TextRoom", message_delay=0, view=view, actions="text", **{**ROOM, **config}
    )


def remembered(text: str) -> list[str]:
    """Return what the lines of a text say is remembered."""
    return [line.partition(": ")[2] for line in text.splitlines() if line[:5] == "You r"]


class Lengths:
    """Tells of a text how long it is, in tenths, and the opposite."""

    name, size = "lengths", 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = [[len(text) / 10, -len(text) / 10] for text in texts]
        return np.array(found, np.float32).reshape(-1, 2)


def test_lines_are_their_weights_and_embeddings_at_the_end_of_a_vector() -> None:
    lines = Lines(3, CachedEmbedder(Lengths(), 8))
    space = lines.box(spaces.Box(0, 9, (2,), np.uint8))
    assert space.dtype == np.float32
    assert space.low.tolist() == [0, 0, *[0, -1, -1] * 3]
    assert space.high.tolist() == [9, 9, *[1, 1, 1] * 3]
    seen, told = np.array([4, 5], np.uint8), [("You recall", "abcd", 0.5), ("Also", "a" * 20, 1.5)]
    added = lines.vector(seen, told)
    assert added.dtype == np.float32
    # a weight and an embedding for each line, within their bounds; zeros where there is none
    assert added.tolist() == pytest.approx([4, 5, 0.5, 0.4, -0.4, 1, 1, -1, 0, 0, 0])
    assert lines.vector(seen, []).tolist() == [4, 5, *[0] * 9]
    assert space.contains(added)


def test_lines_are_cut_and_never_two_in_a_text() -> None:
    lines = Lines(2, CachedEmbedder(Lengths(), 8))
    long = lines.text("You are here.", [("A", "b\nc", 1.0), ("D", "e" * 900, 1.0)])
    assert long == f"You are here.\nA: b\\u{{a}}c\nD: {'e' * 597}"
    assert lines.text("You are here.", []) == "You are here."
    assert lines.text_length == 2 * 601


def test_every_step_is_remembered_in_the_words_of_the_document() -> None:
    env = AddMemory(two())
    env.reset(seed=0)
    room = env.unwrapped.facts("agent_0").room
    seen = PerceptionInterface("TextRoom", agents=2, rooms=1, depth=0)
    seen.reset(seed=0)
    things = seen.get_visible_objects("agent_0")
    assert things
    env.reasons["agent_0"] = "nobody knows me"
    env.step({"agent_0": "say I found a lamp", "agent_1": "wait"})
    env.step({"agent_0": "hop", "agent_1": "wait"})
    first, second = env.memory("agent_0").texts
    assert first == (
        f"At position {room}, I saw {things}. I decided to say I found a lamp. "
        "Reason: nobody knows me"
    )
    assert second == f"At position {room}, I saw {things}. I decided to say 'hop'. Reason: "
    assert (
        env.memory("agent_1")
        .texts[1]
        .endswith("I decided to wait. Reason:  | Context from others: agent_0: I found a lamp")
    )
    assert env.query("agent_0") == (
        f"What do I know about position {room} with what I see: {', '.join(things)}?"
    )


def test_an_agent_asks_about_what_it_sees_or_else_the_text_and_about_its_hint() -> None:
    far: dict[str, Any] = {"width": 9, "height": 9, "start_pos": (1, 1), "goal_pos": (8, 8)}
    env = AddMemory(piase_gym.parallel_env("GridWorld", view="text", window=3, **far))
    shown = env.reset(seed=0)[0]["agent_0"]
    assert env.query("agent_0") == (
        f"What do I know about position [1, 1] with what I see: {shown}?"
    )
    env = AddMemory(piase_gym.parallel_env("GridWorld", view="text", map="@.k\n.k.\n..G"))
    env.reset(seed=0)
    seen = [thing.name for thing in env.unwrapped.world.surroundings(env.facts("agent_0")).objects]
    assert len(seen) > len({*seen}) > 1
    names = ", ".join(dict.fromkeys(seen))
    env.unwrapped.give_hint("agent_0", "Look up.")
    assert env.query("agent_0").endswith(f"with what I see: {names}. Look up.?")


@pytest.mark.parametrize("world", ["TextRoom", "GridWorld"])
def test_both_views_show_the_nearest_memories(world: str) -> None:
    env = AddMemory(piase_gym.parallel_env(world, agents=2, mask="obs"))
    plain = piase_gym.parallel_env(world, agents=2, mask="obs")
    longer, own = (each.observation_space("agent_0")["observation"] for each in (env, plain))
    assert longer["text"].max_length == own["text"].max_length + 3 * 601
    shown, _ = env.reset(seed=3)
    bare, _ = plain.reset(seed=3)
    rng = np.random.default_rng(0)
    for step in range(12):
        for name, whole in shown.items():
            assert env.observation_space(name).contains(whole)
            view = whole["observation"]
            memory = FaissMemory()
            for text in env.memory(name).texts:
                memory.add(text)
            assert len(memory) == len({*memory.texts}) <= step
            assert len(memory) >= min(step, 1)
            wanted = memory.search(env.query(name), 3)
            assert remembered(view["text"]) == [text for text, _ in wanted]
            added = view["vector"][-3 * 385 :].reshape(3, 385)
            for row, (text, distance) in zip(added, wanted, strict=False):
                assert row[0] == pytest.approx(1 / (1 + distance))
                np.testing.assert_array_equal(row[1:], HashedEmbedder().embed([text])[0])
            assert not added[len(wanted) :].any()
            before = bare[name]["observation"]
            assert view["text"].startswith(before["text"])
            np.testing.assert_array_equal(view["vector"][: -3 * 385], before["vector"])
        acts = {n: int(rng.choice(o["action_mask"].nonzero()[0])) for n, o in shown.items()}
        shown, bare = env.step(acts)[0], plain.step(acts)[0]


def test_memories_are_private_and_of_one_episode_unless_they_are_kept() -> None:
    for keep in (False, True):
        env = AddMemory(two("text"), k=1, **{"keep": True} if keep else {})
        env.reset(seed=0)
        env.reasons["agent_0"] = "a secret"
        env.step({"agent_0": "wait", "agent_1": "wait"})
        assert "a secret" in env.memory("agent_0").texts[0]
        assert "a secret" not in env.memory("agent_1").texts[0]
        shown, _ = env.reset(seed=1)
        assert len(remembered(shown["agent_0"])) == int(keep)
        assert len(env.memory("agent_0")) == int(keep)
    with pytest.raises(AgentError, match="there is no agent 'agent_9'"):
        env.memory("agent_9")


def test_a_reason_of_the_last_episode_is_not_that_of_the_next() -> None:
    env = AddMemory(two("text"), k=1, keep=True)
    env.reset(seed=0)
    env.reasons["agent_0"] = "a reason without a step"
    env.reset(seed=1)
    assert env.reasons == {}
    env.step({"agent_0": "wait", "agent_1": "wait"})
    (text,) = env.memory("agent_0").texts
    assert "without a step" not in text


def test_long_and_strange_memories_stay_in_the_space() -> None:
    env = AddMemory(two("text"), k=1)
    env.reset(seed=0)
    env.reasons["agent_0"] = "clé 鍵 \n" * 300
    shown = env.step({"agent_0": "wait", "agent_1": "wait"})[0]
    assert env.observation_space("agent_0").contains(shown["agent_0"])


def test_an_action_that_is_refused_is_not_remembered() -> None:
    env = AddMemory(two())
    env.reset(seed=0)
    with pytest.raises(AgentError):
        env.step({"agent_0": "wait", "agent_1": "wait", "nobody": "wait"})
    assert len(env.memory("agent_0")) == 0


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("wrap", [AddMemory, AddSharedMemory, TextEmbedding])
def test_wrappers_are_copied_in_the_middle_of_an_episode(wrap: Any, twin: Any) -> None:
    env, acts = wrap(two()), {"agent_0": "wait", "agent_1": "look"}
    env.reset(seed=0)
    env.step(acts)
    other = twin(env)
    assert str(other.step(acts)) == str(env.step(acts))
    if wrap is AddMemory:
        other.memory("agent_0").add("a lamp")
        assert len(other.memory("agent_0")) == len(env.memory("agent_0")) + 1


@pytest.mark.parametrize("wrap", [AddMemory, AddSharedMemory, TextEmbedding, KeepAgents])
def test_play_goes_on_from_a_snapshot_in_what_wrappers_show(wrap: Any) -> None:
    env, other = (wrap(two("text", rooms=3, depth=1)) for _ in range(2))
    before = env.reset(seed=0)[0]
    assert str(other.reset(seed=9)[0]) != str(before)
    saved = json.loads(json.dumps(env.snapshot()))
    env.step({"agent_0": "say I found it", "agent_1": "wait"})
    for each in (env, other):
        each.restore(saved)
        shown, infos = each.observe_all()
        assert list(shown) == list(infos) == each.possible_agents
        assert all(each.observation_space(name).contains(shown[name]) for name in shown)
        assert wrap is AddMemory or str(shown) == str(before)  # memories are in no snapshot
        if wrap is AddSharedMemory:
            assert each.shared_memory == env.shared_memory
            with pytest.raises(SnapshotError, match="lacks a list of names, 'found'"):
                each.restore({**saved, "seen": 3})
            assert str(each.observe_all()[0]) == str(before)
            each.restore({key: saved[key] for key in saved if key != "seen"})
            assert str(each.observe_all()[0]) == str(before)


@pytest.mark.parametrize(
    "wrap", [AddActuators, AddMemory, AddSensors, AddSharedMemory, TextEmbedding, KeepAgents]
)
def test_resets_are_passed_on(wrap: Any) -> None:
    env = wrap(two())
    env.reset(seed=3, options={"config": {"max_steps": 7}})
    assert (env.unwrapped.runner.seed, env.unwrapped.config.max_steps) == (3, 7)


@pytest.mark.parametrize("wrap", [AddMemory, AddSharedMemory, TextEmbedding, KeepAgents])
@pytest.mark.parametrize("actions", [None, 3, ["wait", "wait"]])
def test_actions_in_wrappers_are_a_dict(wrap: Any, actions: Any) -> None:
    env = wrap(two())
    env.reset(seed=0)
    with pytest.raises(ActionError, match="a dict of actions by agent"):
        env.step(actions)


@pytest.mark.filterwarnings("ignore:reset option .options.:UserWarning")
def test_pettingzoo_accepts_the_wrappers() -> None:
    for wrap in (AddMemory, AddSharedMemory, TextEmbedding):
        parallel_api_test(wrap(piase_gym.parallel_env("TextRoom", agents=2, rooms=2)), 30)


@pytest.mark.parametrize("wrap", [AddMemory, AddSharedMemory])
def test_environments_of_others_are_refused(wrap: Any) -> None:
    class Other(ParallelEnv[str, Any, Any]):
        possible_agents = ["agent_0"]

    with pytest.raises(ConfigError, match=f"{wrap.__name__} needs a world of piase_gym, not Other"):
        wrap(Other())

    class Pictures(Other):
        facts = None

        def observation_space(self, agent: str) -> Any:
            return spaces.Box(0, 1, (2, 2))

    with pytest.raises(ConfigError, match=f"{wrap.__name__} adds to vectors and texts, not to a B"):
        wrap(Pictures())


def test_embedders_of_ones_own_and_how_many_texts_are_kept() -> None:
    plain = two("vector").observation_space("agent_0").shape[0]
    for wrap, added in ((functools.partial(AddMemory, k=2), 2 * 3), (AddSharedMemory, 3 * 3)):
        env = wrap(two("vector"), embedder=Lengths())
        assert env.observation_space("agent_0").shape == (plain + added,)
        assert env.reset(seed=0)[0]["agent_0"].shape == (plain + added,)
    single = gymnasium.make("piase_gym:piase/TextRoom-v3", view="text")
    for env in (TextEmbedding(two("text"), Lengths(), 1), TextEmbeddingEnv(single, Lengths(), 1)):
        space = env.observation_space
        assert (space("agent_0") if callable(space) else space).shape == (2,)
        assert [len(env.encoder.embed([text])) for text in "abab"] == [1] * 4
        assert env.encoder.hits == 0  # one text is kept, and each is another than the one before


@pytest.mark.parametrize("wrap", [AddActuators, AddMemory, AddSensors, KeepAgents, TextEmbedding])
@pytest.mark.parametrize("make", [piase_gym.gym_env, piase_gym.aec_env, piase_gym.batch_env, str])
def test_what_is_no_parallel_env_is_refused(wrap: Any, make: Any) -> None:
    env = make("GridWorld", num_envs=2) if make is piase_gym.batch_env else make("GridWorld")
    told = f"{wrap.__name__} wraps a ParallelEnv, such as parallel_env returns, not a "
    with pytest.raises(ConfigError, match=f"{told}{type(env).__name__}"):
        wrap(env)


def test_wrong_arguments_are_refused() -> None:
    for k in (0, 1.5, True):
        with pytest.raises(ConfigError, match="k is a number from 1"):
            AddMemory(two(), k=k)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="make the environment with view='text' or 'both'"):
        TextEmbedding(two("vector"))


# -- shared memory --------------------------------------------------------------------------


def test_the_shared_memory_is_hidden_unless_it_is_shown() -> None:
    plain, env, talk = two(), AddSharedMemory(two()), PerceptionInterface(two().config)
    bare, _ = plain.reset(seed=5)
    shown, _ = env.reset(seed=5)
    talk.reset(seed=5)
    for acts in ({"agent_0": "say I found it", "agent_1": "wait"}, dict.fromkeys(bare, "wait")):
        for name in plain.agents:
            view = shown[name]
            assert env.observation_space(name).contains(view)
            lines = view["text"].removeprefix(bare[name]["text"]).strip().splitlines()
            memory = env.shared_memory
            assert [line.split(": ")[0] for line in lines] == [
                "Seen by anybody",
                "Everybody's place",
                "Said",
            ]
            assert set(lines[0].split(": ")[1].split("; ")) == memory["objects"]
            for other, place in memory["agent_positions"].items():
                assert f"{other} at {place}" in lines[1]
            said = "agent_0 to all: I found it" if memory["message_history"] else "nothing"
            assert lines[2] == f"Said: {said}"
            added = view["vector"][len(bare[name]["vector"]) :].reshape(3, 385)
            words = [line.split(": ", 1)[1] for line in lines]
            np.testing.assert_array_equal(added[:, 1:], HashedEmbedder().embed(words))
            assert added[:, 0].tolist() == [1, 1, 1]
        assert env.shared_memory == talk.shared_memory
        bare, shown = plain.step(acts)[0], env.step(acts)[0]
        for name, line in acts.items():
            talk.execute_action(name, line)
    assert env.shared_memory["message_history"] == [
        {"sender": "agent_0", "recipient": "all", "message": "I found it"}
    ]
    env.reset(seed=6)
    assert env.shared_memory["message_history"] == []


def test_the_last_messages_are_shown_and_a_reset_forgets_what_was_seen() -> None:
    env, fresh = (AddSharedMemory(two("text", rooms=3, depth=1)) for _ in range(2))
    env.reset(seed=0)
    for number in range(7):
        shown = env.step({"agent_0": f"say {number}", "agent_1": "wait"})[0]
    said = "; ".join(f"agent_0 to all: {number}" for number in range(2, 7))
    assert shown["agent_1"].splitlines()[-1] == f"Said: {said}"
    assert env.reset(seed=9)[0] == fresh.reset(seed=9)[0]


def test_a_world_without_mailboxes_shows_what_there_is() -> None:
    env = AddSharedMemory(piase_gym.parallel_env("GridWorld", agents=2, view="text"))
    shown, _ = env.reset(seed=0)
    assert shown["agent_0"].splitlines()[-1] == "Said: nothing"
    assert env.shared_memory["message_mailboxes"] == {}


# -- texts as numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("view", ["text", "both"])
def test_texts_become_their_embeddings(view: str) -> None:
    env, plain = TextEmbedding(two(view)), two(view)
    shown, _ = env.reset(seed=0)
    bare, _ = plain.reset(seed=0)
    for _ in range(3):
        for name in bare:
            assert env.observation_space(name).contains(shown[name])
            own, text = (
                (shown[name], bare[name])
                if view == "text"
                else (
                    shown[name]["text"],
                    bare[name]["text"],
                )
            )
            np.testing.assert_array_equal(own, HashedEmbedder().embed([text])[0])
            if view == "both":
                np.testing.assert_array_equal(shown[name]["vector"], bare[name]["vector"])
        acts = dict.fromkeys(bare, "wait")
        shown, bare = env.step(acts)[0], plain.step(acts)[0]
    assert env.encoder.hits > 0 < env.encoder.misses


def test_texts_become_embeddings_in_gymnasium() -> None:
    env = TextEmbeddingEnv(gymnasium.make("piase_gym:piase/TextRoom-v3", view="text"))
    shown, _ = env.reset(seed=0)
    assert env.observation_space.contains(shown)
    assert shown.shape == (384,)
    assert env.observation_space.contains(env.step(env.action_space.sample())[0])
    with pytest.raises(ConfigError, match="make the environment with view='text'"):
        TextEmbeddingEnv(gymnasium.make("piase_gym:piase/TextRoom-v3", view="vector"))
