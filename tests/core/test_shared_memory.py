"""The shared memory in facts, texts and vectors, where the config shows it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.core.facts import Facts, SharedView
from piase_gym.core.mailbox import Message
from piase_gym.core.shared_memory import (
    LETTERS,
    SharedKnowledge,
    SharedMemoryAddition,
    parse_shared,
    shared_lines,
)
from piase_gym.core.surroundings import Surroundings
from piase_gym.errors import EnvelopeError, SnapshotError, TextParseError, UnsupportedError
from piase_gym.interfaces import PerceptionInterface
from piase_gym.worlds.text_room.config import TextRoomConfig
from tests.helpers.needs import need

WORLDS = {
    "GridWorld": {"agents": 3},
    "SocialDilemma": {"game": "cleanup", "agents": 3},
    "ObjectSearch": {"agents": 3, "width": 8, "height": 8},
    "WordCraft": {},
    "TextRoom": {"agents": 2, "message_delay": 0},
    "Household": {},
    "SqlQuery": {},
    "PhysicsPlayground": {"agents": 2},
}
LINE = {0: ["chair"], 3: ["keyboard", "lamp"]}


def shown_lines(text: str) -> list[str]:
    """Return the lines of a text that tell of the shared memory."""
    return [line for line in text.splitlines() if line.startswith("Shared memory")]


def test_the_documents_trace_is_shown_line_by_line() -> None:
    env = piase_gym.parallel_env(
        "ObjectSearch", backend="mock", line=LINE, agents=2, actions="text", shared_memory=True
    )
    shown, _ = env.reset(seed=0)
    for step in range(4):
        found = "chair" if step < 3 else "chair; keyboard; lamp"
        for view in shown.values():
            assert shown_lines(view["text"])[:2] == [
                f"Shared memory, objects: {found}",
                f"Shared memory, positions: agent_0 at {step}; agent_1 at 0",
            ]
            start = len(view["vector"]) - SharedMemoryAddition(env.possible_agents).length
            places = view["vector"][start + 64 : start + 72].tolist()
            assert places == [1, step, 0, 0, 1, 0, 0, 0]
        shown = env.step({"agent_0": "forward", "agent_1": "backward"})[0]
    assert env.reset(seed=1)[0]["agent_1"]["text"].count("chair; keyboard") == 0


def test_letters_wait_and_are_shown() -> None:
    env = piase_gym.parallel_env(
        "TextRoom", agents=2, message_delay=0, actions="text", shared_memory=True
    )
    env.reset(seed=0)
    shown = env.step({"agent_0": "say a lamp; here", "agent_1": "wait"})[0]
    for name, view in shown.items():
        assert shown_lines(view["text"])[2:] == [
            "Shared memory, letters waiting: agent_0 0; agent_1 1",
            "Shared memory, said: agent_0 to all: a lamp; here",
        ]
        start = len(view["vector"]) - SharedMemoryAddition(env.possible_agents).length
        assert view["vector"][start + 72 : start + 76].tolist() == [0, 1, 1, 3]
        assert env.facts(name).shared_memory.said == (("agent_0", "all", "a lamp; here"),)
    env.world.mailboxes.poll("agent_1")
    for number in range(7):
        env.step({"agent_0": f"say {number}", "agent_1": "wait"})
    view = env.facts("agent_1").shared_memory
    assert [letter.message for letter in view.said] == ["2", "3", "4", "5", "6"]
    assert view.waiting == (("agent_0", 0), ("agent_1", 7))


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_every_world_shows_what_its_interface_knows(world: str) -> None:
    need(world)
    env = piase_gym.parallel_env(world, shared_memory=True, **WORLDS[world])
    bare = piase_gym.parallel_env(world, **WORLDS[world])
    talk = PerceptionInterface(world, **WORLDS[world])
    shown, infos = env.reset(seed=4)
    plain, _ = bare.reset(seed=4)
    talk.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(12):
        known = talk.shared_memory
        for name, view in shown.items():
            assert env.observation_space(name).contains(view)
            assert piase_gym.parse_text(world, view["text"], env.config) == env.facts(name)
            seen = env.facts(name).shared_memory
            assert set(seen.objects) == known["objects"]
            assert {n for n, _ in seen.positions} == set(known["agent_positions"])
            for agent, place in seen.positions:
                expected = known["agent_positions"][agent]
                assert place == (tuple(expected) if isinstance(expected, list) else expected)
            assert view["text"].startswith(plain[name]["text"] + "\nShared memory, objects: ")
            count = len(plain[name]["vector"])
            np.testing.assert_array_equal(view["vector"][:count], plain[name]["vector"])
            code = SharedMemoryAddition(env.possible_agents).code(seen).astype(view["vector"].dtype)
            np.testing.assert_array_equal(view["vector"][count:], code)
            assert "Shared memory" not in plain[name]["text"]
            assert bare.facts(name).shared_memory is None
        if len(shown) < len(env.possible_agents) or not env.agents:
            break
        acts = {n: int(rng.choice(infos[n]["action_mask"].nonzero()[0])) for n in env.agents}
        for name, act in acts.items():
            command = bare.world.command(bare.world.agents.index(name), act)
            talk.execute_action(name, bare.world.write(command))
        shown, _, _, _, infos = env.step(acts)
        plain = bare.step(acts)[0]


def test_snapshots_copies_and_pickles_carry_it() -> None:
    fields: dict[str, Any] = {"agents": 2, "width": 8, "height": 8, "shared_memory": True}
    env = piase_gym.parallel_env("ObjectSearch", **fields)
    env.reset(seed=0)
    for step in range(30):
        env.step({"agent_0": step % 13, "agent_1": (5 * step) % 13})
    view, digest = env.facts("agent_0").shared_memory, env.digest()
    assert view.objects
    kept = env.snapshot()
    other = piase_gym.parallel_env("ObjectSearch", **fields)
    other.reset(seed=9)
    assert other.digest() != digest
    other.restore(kept)
    assert (other.digest(), other.facts("agent_1").shared_memory) == (digest, view)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.digest() == digest
        assert twin.step(dict.fromkeys(twin.agents, 0))[0]["agent_0"]["text"]
    changed = copy.deepcopy(kept)
    changed["state"]["shared_memory"]["found"].append("ghost")
    other.restore(changed)
    assert other.digest() != digest
    assert "ghost" in other.facts("agent_0").shared_memory.objects
    for damage in ({"found": 3}, {"found": [1], "positions": {}}, None, {"found": []}):
        changed["state"]["shared_memory"] = damage
        before = other.snapshot()
        with pytest.raises(SnapshotError, match="shared memory"):
            other.restore(changed)
        assert other.snapshot() == before
    changed["state"]["shared_memory"] = {"found": [], "positions": {"agent_7": [0, 0, 0]}}
    with pytest.raises(SnapshotError, match="not of these agents"):
        other.restore(changed)


def test_batches_say_what_to_use_and_make_vec_shows_it() -> None:
    with pytest.raises(UnsupportedError, match="no batched kernel for shared_memory=True; use p"):
        piase_gym.batch_env("GridWorld", num_envs=2, shared_memory=True)
    vec = gymnasium.make_vec("piase_gym:piase/GridWorld-v1", num_envs=2, shared_memory=True)
    env = gymnasium.make("piase_gym:piase/GridWorld-v1", shared_memory=True)
    np.testing.assert_array_equal(vec.reset(seed=3)[0][0], env.reset(seed=3)[0])
    assert "Shared memory" in env.unwrapped.instructions()
    vec.close()


def test_learners_without_a_batched_kernel_step_single_environments() -> None:
    pytest.importorskip("stable_baselines3")
    from piase_gym.adapters import sb3_vec

    vec = sb3_vec("GridWorld", num_envs=2, shared_memory=True)
    vec.seed(5)
    env = piase_gym.parallel_env("GridWorld", view="vector", shared_memory=True)
    np.testing.assert_array_equal(vec.reset()[0], env.reset(seed=5)[0]["agent_0"])
    vec.close()


def test_it_cannot_be_shown_or_hidden_later() -> None:
    for first in (False, True):
        env = piase_gym.parallel_env("TextRoom", shared_memory=first)
        with pytest.raises(EnvelopeError, match="has other spaces"):
            env.reconfigure({"shared_memory": not first})


ODD = SharedView(
    objects=(" a", "3", "a\nb", "a; b", "kéy", "nothing"),
    positions=(("agent_0", (1, -2.5, 1e-7)), ("agent_1", "(1, 2)"), ("agent_2", "a; agent_0 at 3")),
    waiting=(("agent_0", 12), ("agent_1", 0), ("agent_2", 1)),
    said=(Message("system", "agent_0", "x\nShared memory, objects: y"),),
)


def parsed(lines: list[str]) -> SharedView:
    """Read lines back as the end of a text."""
    config = TextRoomConfig(agents=3, shared_memory=True)
    facts = parse_shared("\n".join(["You.", *lines]), config, lambda text, _: Facts(agent=text))
    assert facts.agent == "You."
    return facts.shared_memory or SharedView()


def test_odd_names_and_places_are_read_back() -> None:
    assert parsed(shared_lines(ODD)) == ODD
    assert parsed(shared_lines(SharedView())) == SharedView()
    addition = SharedMemoryAddition(("agent_0", "agent_1", "agent_2"))
    assert not addition.code(ODD)[addition.length - 10 :].any()


def test_a_place_without_a_name_is_nowhere() -> None:
    knowledge = SharedKnowledge()
    knowledge.note("agent_0", Surroundings(position=""))
    assert parsed(shared_lines(knowledge.view(None))).positions == (("agent_0", None),)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (0, "Shared memory, objects: b; a"),
        (0, "Shared memory, objects: a; a"),
        (1, "Shared memory, positions: agent_9 at 3"),
        (1, "Shared memory, positions: agent_1 at 3; agent_0 at 3"),
        (1, "Shared memory, positions: agent_0 in 3"),
        (2, "Shared memory, letters waiting: agent_0 -1"),
        (3, "Shared memory, said: hello"),
    ],
)
def test_other_lines_are_refused(line: int, instead: str) -> None:
    lines = shared_lines(ODD)
    lines[line] = instead
    with pytest.raises(TextParseError, match="of the shared memory"):
        parsed(lines)


def test_one_letter_too_many_is_named() -> None:
    said = [f"Shared memory, said: agent_0 to agent_1: {k}" for k in range(LETTERS + 1)]
    head = shared_lines(SharedView())[:2]
    with pytest.raises(TextParseError, match=f"'?agent_0 to agent_1: {LETTERS}'?"):
        parsed([*head, *said])
