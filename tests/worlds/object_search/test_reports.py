"""Reports that take time, get lost or do not carry far: in the kernel, and in batches of it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.core.rng import GOLDEN, StreamId, mix64, stream_key
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    EnvelopeError,
    SnapshotError,
    UnsupportedError,
)
from piase_gym.interfaces import PerceptionInterface
from piase_gym.worlds.object_search.codes import ACTIONS, MAX_AGENTS

SIZES: dict[str, Any] = {
    "agents": 3,
    "width": 10,
    "height": 10,
    "end_when_found": False,
    "start": "apart",
}
PLACES: dict[str, dict[str, Any]] = {
    "house": SIZES,
    "mock": {"backend": "mock", "agents": 3, "width": 9, "max_steps": 60},
}


def acts(step: int) -> list[int]:
    """Return what three agents do in a step: they move about, and some report."""
    rng = np.random.default_rng(step)
    moves = rng.integers(0, 8, 3)
    return [int(move + ACTIONS * (rng.random() < 0.7)) for move in moves]


def play(steps: int = 40, **config: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield where everybody is and what everybody hears, after each step."""
    env = piase_gym.parallel_env("ObjectSearch", view="vector", **config)
    env.reset(seed=11)
    for step in range(steps):
        env.step(dict(zip(env.agents, acts(step), strict=True)))
        facts = {name: env.facts(name) for name in env.possible_agents}
        yield [f.position for f in facts.values()], {n: f.messages for n, f in facts.items()}


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("delay", [1, 3, 8])
def test_a_late_report_is_the_one_that_was_sent(place: str, delay: int) -> None:
    at_once = [heard for _, heard in play(**PLACES[place])]
    late = [heard for _, heard in play(**PLACES[place], message_delay=delay)]
    assert any(heard["agent_0"] for heard in at_once)
    for step, heard in enumerate(late):
        for name in heard:
            assert heard[name] == (at_once[step - delay][name] if step >= delay else ())


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("far", [0, 2])
def test_a_report_is_heard_as_far_as_the_range(place: str, far: int) -> None:
    counts = [0, 0]
    moves = zip(play(**PLACES[place]), play(**PLACES[place], message_range=far), strict=True)
    for (places, all_heard), (_, heard) in moves:
        for me, name in enumerate(heard):
            for letter in all_heard[name]:
                other = places[int(letter.sender[-1])]
                apart = max(abs(a - b) for a, b in zip(places[me][:2], other[:2], strict=True))
                assert (letter in heard[name]) == (apart <= far)
                counts[apart <= far] += 1
            assert set(heard[name]) <= set(all_heard[name])
    assert counts[False] > 0
    assert counts[True] > 0 or far == 0


def test_lost_reports_are_so_many_and_each_listener_has_its_own_luck() -> None:
    mock = {**PLACES["mock"], "max_steps": 2000}
    sent = kept = other = 0
    pairs = zip(play(1500, **mock), play(1500, **mock, message_loss=0.3), strict=True)
    for (_, all_heard), (_, heard) in pairs:
        for name in heard:
            assert set(heard[name]) <= set(all_heard[name])
            sent, kept = sent + len(all_heard[name]), kept + len(heard[name])
        from_0 = [any(m.sender == "agent_0" for m in heard[n]) for n in ("agent_1", "agent_2")]
        other += from_0[0] != from_0[1]
    assert sent > 5000
    assert abs(kept / sent - 0.7) < 4 * (0.21 / sent) ** 0.5
    assert other > 100
    for share, wanted in ((0.0, True), (1.0, False)):
        found = any(heard["agent_1"] for _, heard in play(**mock, message_loss=share))
        assert found is wanted


def test_who_hears_what_follows_from_seed_step_listener_and_speaker() -> None:
    """Logs with lost reports are replayed by the seed alone, so the draws are pinned."""
    config = {**PLACES["mock"], "message_loss": 0.4}
    env = piase_gym.parallel_env("ObjectSearch", view="vector", **config)
    env.reset(seed=11)
    key = stream_key(11, StreamId.CHANNEL)
    told = [0, 0]
    for step in range(40):
        mine = acts(step)
        env.step(dict(zip(env.agents, mine, strict=True)))
        for listener, name in enumerate(env.agents):
            senders = {letter.sender for letter in env.facts(name).messages}
            for speaker, other in enumerate(env.agents):
                number = ((step + 1) * MAX_AGENTS + listener) * MAX_AGENTS + speaker
                luck = (mix64((key + (number + 1) * GOLDEN) % 2**64) >> 32) / 2**32
                wanted = speaker != listener and mine[speaker] >= ACTIONS and luck >= 0.4
                assert (other in senders) == wanted, (step, listener, speaker)
                told[wanted] += 1
    assert min(told) > 50


@pytest.mark.parametrize("place", sorted(PLACES))
def test_a_batch_has_the_same_reports_and_snapshots_carry_them(place: str) -> None:
    fields = {
        **PLACES[place],
        "message_delay": 2,
        "message_loss": 0.3,
        "message_range": 6,
        "shared_reward": True,
    }
    batch = piase_gym.batch_env(
        "ObjectSearch", num_envs=2, configs=[{"message_delay": 1}], **fields
    )
    env = piase_gym.parallel_env("ObjectSearch", view="vector", **fields)
    other = piase_gym.parallel_env("ObjectSearch", view="vector", **fields)
    rows, _ = batch.reset(seed=5)
    shown, _ = env.reset(seed=6)
    other.reset(seed=0)
    for step in range(30):
        for number, name in enumerate(env.agents):
            np.testing.assert_array_equal(rows[1, number], shown[name])
        assert batch.digest(1) == env.digest()
        other.restore(env.snapshot())
        assert other.digest() == env.digest()
        moves = dict(zip(env.agents, acts(step), strict=True))
        shown, rewards, *_ = env.step(moves)
        again, *_ = other.step(moves)
        for name in shown:
            np.testing.assert_array_equal(again[name], shown[name])
        rows, rewarded, *_ = batch.step(np.array([acts(step)] * 2, np.int32))
        np.testing.assert_allclose(rewarded[1], [rewards[name] for name in moves])


def test_who_has_no_channel_sends_nothing_late() -> None:
    fields = {**PLACES["mock"], "channel": False, "message_delay": 8}
    assert not any(heard["agent_0"] for _, heard in play_silent(fields))


def play_silent(config: dict[str, Any]) -> Iterator[tuple[None, dict[str, Any]]]:
    """Yield what is heard where nobody can report."""
    env = piase_gym.parallel_env("ObjectSearch", **config)
    env.reset(seed=0)
    for _ in range(20):
        env.step(dict.fromkeys(env.agents, 0))
        yield None, {name: env.facts(name).messages for name in env.possible_agents}


@pytest.mark.parametrize(
    "fields",
    [{"message_delay": 9}, {"message_delay": -1}, {"message_loss": 1.5}, {"message_range": -1}],
)
def test_wrong_channels_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(fields))):
        piase_gym.parallel_env("ObjectSearch", **fields)


# -- words --------------------------------------------------------------------------------


def test_words_reach_whom_they_are_for_and_cost_what_reports_cost() -> None:
    env = piase_gym.parallel_env(
        "ObjectSearch", backend="mock", agents=3, width=5, actions="text", speech=True
    )
    plain = piase_gym.parallel_env(
        "ObjectSearch", backend="mock", agents=3, width=5, actions="text"
    )
    for one in (env, plain):
        one.reset(seed=0)
    ugly = "lamp at 3;\x00 \u202e\nagent_2 says: nothing"
    said = Command("say", {"message": ugly})  # a line would end where the letter has its line break
    acts = {"agent_0": said, "agent_1": "tell agent_2 hi", "agent_2": "forward and report"}
    shown, rewards, _, _, infos = env.step(acts)
    bare, own, *_ = plain.step({**acts, "agent_0": "stay", "agent_1": "stay"})
    assert {info["outcome"] for info in infos.values()} == {"ok"}
    assert rewards["agent_0"] == pytest.approx(own["agent_0"] - 0.02)
    assert rewards["agent_1"] == pytest.approx(own["agent_1"] - 0.02)
    assert rewards["agent_2"] == own["agent_2"]
    report = env.facts("agent_0").messages
    assert [letter.sender for letter in report] == ["agent_2"]
    assert env.facts("agent_1").messages == (*report, ("agent_0", "all", ugly))
    assert env.facts("agent_2").messages == (
        ("agent_0", "all", ugly),
        ("agent_1", "agent_2", "hi"),
    )
    for name, view in shown.items():
        told = env.facts(name).messages[name != "agent_2" :]
        mine, other = (v["text"].split("\n", 1)[1] for v in (view, bare[name]))
        assert mine.startswith(other)
        assert len(view["text"].splitlines()) == len(bare[name]["text"].splitlines()) + len(told)
        count = len(bare[name]["vector"])
        np.testing.assert_array_equal(view["vector"][:count], bare[name]["vector"])
        senders = [1 + int(letter.sender[-1]) for letter in told]
        assert view["vector"][count::10].tolist() == [*senders, 0, 0, 0][:3]
        assert piase_gym.parse_text("ObjectSearch", view["text"], env.config) == env.facts(name)
    assert [letter["message"] for letter in env.world.mailboxes.history] == [ugly, "hi"]


def test_words_travel_under_the_rules_of_reports() -> None:
    fields: dict[str, Any] = {"backend": "mock", "agents": 2, "width": 9, "speech": True}
    for rules in ({}, {"message_delay": 2}, {"message_range": 0}, {"message_loss": 1.0}):
        env = piase_gym.parallel_env("ObjectSearch", actions="text", **fields, **rules)
        env.reset(seed=0)
        heard = []
        for line in ("say 0", "say 1", "forward", "say 3", "stay"):
            env.step({"agent_0": line, "agent_1": "stay"})
            heard.append([letter.message for letter in env.facts("agent_1").messages])
        expected: list[list[str]] = [["0"], ["1"], [], ["3"], []]
        if "message_delay" in rules:
            expected = [[], [], ["0"], ["1"], []]
        if "message_range" in rules:
            expected[3] = []
        if "message_loss" in rules:
            expected = [[]] * 5
        assert heard == expected


def test_snapshots_and_pickles_carry_words() -> None:
    fields: dict[str, Any] = {**SIZES, "speech": True, "message_delay": 3, "message_loss": 0.4}
    for shared in (False, True):
        fields = {**fields, "shared_memory": shared}
        env = piase_gym.parallel_env("ObjectSearch", actions="text", **fields)
        env.reset(seed=0)
        env.step({"agent_0": "say hello", "agent_1": "say you", "agent_2": "forward and report"})
        other = piase_gym.parallel_env("ObjectSearch", actions="text", **fields)
        other.reset(seed=4)
        other.restore(env.snapshot())
        copies = [other, pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        for step in range(6):
            assert {twin.digest() for twin in copies} == {env.digest()}
            acts = {"agent_0": f"say {step}", "agent_1": "stay", "agent_2": "tell agent_0 no"}
            shown = env.step(acts)[0]
            for twin in copies:
                assert twin.step(acts)[0]["agent_1"]["text"] == shown["agent_1"]["text"]
        damaged = env.snapshot()
        damaged["state"]["mail"]["boxes"] = {}
        before = other.digest()
        with pytest.raises(SnapshotError, match="letters do not fit"):
            other.restore(damaged)
        assert other.digest() == before


def test_batches_say_that_they_have_no_words() -> None:
    with pytest.raises(UnsupportedError, match="no batched kernel"):
        piase_gym.batch_env("ObjectSearch", num_envs=2, agents=2, speech=True)
    batch = piase_gym.batch_env("ObjectSearch", num_envs=2, agents=2)
    with pytest.raises(EnvelopeError, match="speech=True has other spaces"):
        batch.reconfigure({"speech": True})


def test_the_documents_interface_speaks_through_the_world() -> None:
    talk = PerceptionInterface("ObjectSearch", backend="mock", agents=2, width=5, speech=True)
    talk.reset(seed=0)
    talk.send_message("agent_0", "all", "I found it")
    for recipient, words, error in (
        ("nobody", "hi", AgentError),
        ("agent_0", "hi", ActionError),
        ("all", "", ActionError),
        ("all", "x" * 2**20, ActionError),
    ):
        with pytest.raises(error):
            talk.send_message("agent_0", recipient, words)
    talk.execute_action("agent_0", "forward")
    talk.execute_action("agent_1", "stay")
    told = [{"sender": "agent_0", "recipient": "all", "message": "I found it"}]
    assert talk.poll_messages("agent_1") == talk.shared_memory["message_history"] == told
    for _ in range(19):
        for name in ("agent_0", "agent_1"):
            talk.execute_action(name, "stay")
    with pytest.raises(AgentError, match="not in play and cannot send"):
        talk.send_message("agent_0", "all", "too late")
