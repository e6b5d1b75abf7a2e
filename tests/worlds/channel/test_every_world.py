"""Channels in every world: one set of keys, one set of rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailbox, Message
from piase_gym.errors import ConfigError, EnvelopeError, TextParseError
from piase_gym.interfaces import EnvironmentInterface
from tests.helpers.needs import need

SPEAKING: dict[str, tuple[str, dict[str, Any]]] = {
    "GridWorld": ("GridWorld", {"width": 6, "height": 6, "speech": True}),
    "commons": ("SocialDilemma", {"game": "harvest", "speech": True}),
    "matrix": ("SocialDilemma", {"game": "public_goods", "talk": 3, "speech": True}),
    "PhysicsPlayground": ("PhysicsPlayground", {"task": "gather", "speech": True}),
    "ObjectSearch": ("ObjectSearch", {"speech": True, "rewards": {"message": 0.0}}),
    "TextRoom": ("TextRoom", {}),
    "Household": ("Household", {}),
    "SqlQuery": ("SqlQuery", {}),
}


def told(case: str, **rules: Any) -> tuple[list[list[str]], dict[str, float]]:
    """Let agent_0 speak once; return what each of three hears in four steps, and first pays."""
    world, fields = SPEAKING[case]
    need(world)
    env = piase_gym.parallel_env(world, agents=3, actions="text", **{**fields, **rules})
    env.reset(seed=1)
    noop = env.world.write(env.world.noop)
    if case == "matrix":
        noop = "say nothing"
    heard: list[list[str]] = [[], [], []]
    line, paid = "say hello there", dict[str, float]()
    for step in range(4):
        rewards = env.step({**dict.fromkeys(env.agents, noop), "agent_0": line})[1]
        paid = paid or rewards
        line = noop
        for agent, found in enumerate(heard):
            letters = env.facts(f"agent_{agent}").messages
            found += [f"{step}: {letter.sender} {letter.message}" for letter in letters]
    env.close()
    return heard, paid


@pytest.mark.parametrize("case", SPEAKING)
def test_configurable_communication_channels_between_agents_in_every_world(case: str) -> None:
    """To all, with delay, cost, loss, and who hears whom."""
    rows = [[0, 0, 1], [1, 0, 1], [1, 1, 0]]
    heard, paid = told(case, message_delay=2, message_topology=rows, message_cost=0.25)
    assert heard == [[], [], ["2: agent_0 hello there"]]
    free = told(case, message_delay=0)[1]
    assert paid["agent_0"] == pytest.approx(free["agent_0"] - 0.25)
    assert paid["agent_1"] == free["agent_1"]
    assert told(case, message_delay=0)[0] == [[], *[["0: agent_0 hello there"]] * 2]
    assert told(case, message_delay=0, message_loss=1.0)[0] == [[], [], []]


def test_rooms_apart_are_a_range() -> None:
    """Agents of a generated quest start in one room; one that has left is one room away."""
    for most, hears in ((0, False), (1, True), (None, True)):
        env = piase_gym.parallel_env(
            "TextRoom", agents=2, actions="text", message_delay=0, message_range=most
        )
        for seed in range(30):  # until the way out is no closed door
            env.reset(seed=seed)
            going = next(c for c in env.world.admissible(1) if c.verb == "go")
            env.step({"agent_0": "wait", "agent_1": env.world.write(going)})
            rooms = env.world.state_of.rooms  # type: ignore[attr-defined]
            if rooms[0] != rooms[1]:
                break
        assert rooms[0] != rooms[1]
        env.step({"agent_0": "say hello", "agent_1": "wait"})
        assert (env.facts("agent_1").messages != ()) is hears


@pytest.mark.parametrize("world", ["Household", "SqlQuery"])
def test_a_range_is_refused_where_nobody_is_anywhere(world: str) -> None:
    need(world)
    with pytest.raises(ConfigError, match="message_range needs agents that are somewhere"):
        piase_gym.parallel_env(world, agents=2, message_range=2)


@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("said", ["say hello", "stay saying 1"])
def test_who_was_zapped_speaks_and_hears_where_it_was_hit(said: str, most: int) -> None:
    """In words and in symbols alike, until it comes back."""
    channel = {"speech": True} if said == "say hello" else {"symbols": 2}
    rules: dict[str, Any] = {"agents": 2, "message_range": most, "timeout": 9, **channel}
    env = piase_gym.parallel_env("SocialDilemma", game="harvest", actions="text", **rules)
    env.reset(seed=0)
    world: Any = env.world
    world.states["x"][0, :2], world.states["y"][0, :2] = 4, (4, 3)  # agent_1 is just ahead
    world.states["heading"][0, :2] = 0
    world.refresh()
    env.step({"agent_0": "zap", "agent_1": "stay"})
    assert world.position(1) is None
    for speaker, listener in (("agent_0", "agent_1"), ("agent_1", "agent_0")):
        env.step({speaker: said, listener: "stay"})
        assert bool(env.facts(listener).messages) is (most == 1)
        assert env.facts(speaker).messages == ()
    world.states["x"][0, 0] = 0
    world.refresh()
    env.step({"agent_0": said, "agent_1": "stay"})
    assert env.facts("agent_1").messages == ()


def test_symbols_of_the_playground_are_those_of_the_grid() -> None:
    need("PhysicsPlayground")
    env = piase_gym.parallel_env(
        "PhysicsPlayground",
        task="gather",
        agents=2,
        actions="text",
        symbols=3,
        message_length=2,
        message_to=True,
        message_delay=0,
        message_history=2,
    )
    env.reset(seed=0)
    env.step({"agent_0": "forward saying 3 1 to agent_1", "agent_1": "wait"})
    letter = Message("agent_0", "agent_1", "3 1")
    assert env.facts("agent_1").messages == (letter,)
    env.step({"agent_0": "wait", "agent_1": "wait"})
    facts = env.facts("agent_1")
    assert facts.messages == ()
    assert facts.earlier == ((letter, 1),)
    kept = env.snapshot()
    env.restore(kept)
    assert env.facts("agent_1") == facts
    form = env.world._form  # type: ignore[attr-defined]
    vector = env.world.vectors()[1][form.symbols : form.hint]
    assert vector[:4].tolist() == [3.0, 1.0, 1.0, 2.0]
    assert not vector[4:].any()
    env.close()


def test_a_mailbox_keeps_the_last_messages_of_each_sender() -> None:
    mail = Mailbox(["ann", "bob", "cid"], ChannelRules(delay=0, history=2))
    for word in "abc":
        mail.send("ann", EVERYONE, word)
        mail.send("cid", "bob", word)
        mail.deliver()
    assert [(letter.message, steps) for letter, steps in mail.recent["bob"]] == [
        *[("c", 0), ("b", 1)],
        *[("c", 0), ("b", 1)],
    ]
    other = Mailbox(["ann", "bob", "cid"], ChannelRules(delay=0, history=2))
    other.set_state(mail.get_state())
    assert other.recent == mail.recent


@pytest.mark.parametrize("case", SPEAKING)
def test_words_have_a_history(case: str) -> None:
    """In the text, read back from it, in the vector, and as facts; newest first, two a sender."""
    world, fields = SPEAKING[case]
    need(world)
    rules = {"message_delay": 0, "message_history": 2}
    env = piase_gym.parallel_env(world, agents=3, actions="text", **{**fields, **rules})
    env.reset(seed=1)
    noop = "say nothing" if case == "matrix" else env.world.write(env.world.noop)
    lines = ["say one", "say two", "tell agent_2 na\u00efve", noop]
    vectors = []
    for step, line in enumerate(lines):
        env.step({**dict.fromkeys(env.agents, noop), "agent_0": line})
        facts = env.facts("agent_2")
        vectors.append(np.asarray(env.world.vector(facts)))
        space = env.world.vector_space
        assert space.contains(vectors[-1])
        text = env.world.text(facts)
        assert piase_gym.parse_text(world, text, env.config) == facts
        assert len(text) <= env.world.text_length
        if step == 2:
            assert [e.steps for e in facts.earlier] == [1]
    told, letters = [(e.letter.message, e.steps) for e in facts.earlier], facts.messages
    assert told == [("na\u00efve", 1), ("two", 2)]
    assert letters == ()
    assert "agent_0 told you 1 step ago: na\\u{ef}ve\nagent_0 said 2 steps ago: two" in text
    before = [(e.letter.message, e.steps) for e in env.facts("agent_1").earlier]
    assert before == [("two", 2), ("one", 3)]
    assert env.facts("agent_0").earlier == ()
    other = piase_gym.parallel_env(world, agents=3, actions="text", **{**fields, **rules})
    other.restore(env.snapshot())
    assert other.facts("agent_2") == facts
    assert other.digest() == env.digest()
    silent = replace(facts, earlier=())
    changed = vectors[-1] != np.asarray(env.world.vector(silent))
    assert 4 <= changed.sum() <= 2 * 10  # steps, whether to all, hashed words, of two letters
    env.close()
    other.close()


def test_texts_have_room_for_a_whole_history() -> None:
    """Eight who have said the longest message for sixteen steps are in the space of texts."""
    rules = {"symbols": 4, "message_length": 4, "message_history": 16}
    small = {"width": 3, "height": 3, "window": 3, "random_goals": 0}
    env = piase_gym.parallel_env("GridWorld", agents=8, view="text", **rules, **small)
    observations, _ = env.reset(seed=0)
    words = {"symbol": 4, "symbol_2": 4, "symbol_3": 4, "symbol_4": 4}
    said = next(
        i for i, c in enumerate(env.world.commands) if words.items() <= c.parameters.items()
    )
    for _ in range(18):
        observations = env.step(dict.fromkeys(env.agents, said))[0]
    texts = [env.world.text(env.facts(name)) for name in env.agents]
    assert min(text.count(" ago: 4 4 4 4") for text in texts) == 7 * 15
    assert max(map(len, texts)) <= env.world.text_length
    assert all(env.observation_space(name).contains(observations[name]) for name in env.agents)


TEXTS = ["TextRoom", "Household", "SqlQuery"]


@pytest.mark.parametrize("case", [*TEXTS, "ObjectSearch"])
def test_what_was_heard_before_is_perceived_and_told_in_the_prompt(case: str) -> None:
    world, fields = SPEAKING[case]
    need(world)
    rules = {**fields, "agents": 2, "message_delay": 0, "message_history": 3}
    env = EnvironmentInterface(world, **rules)
    env.reset(seed=1)
    row = env.get_environment_info()["perception_schema"]["message_history"]
    assert (row["type"], row["is_optional"]) == ("list[object]", True)
    assert "the last 3 messages of each" in env.instructions("agent_1")
    noop = env.world.noop
    for command in (Command("say", {"message": "hello"}), noop):
        env.submit_action("agent_0", command)
        env.submit_action("agent_1", noop)
    said = {"sender": "agent_0", "content": "hello", "timestamp": 1.0, "recipient": "all"}
    assert env.get_perceptions("agent_1")["message_history"] == [said]
    assert env.get_perceptions("agent_0")["message_history"] == []
    env.close()


@pytest.mark.parametrize("world", TEXTS)
def test_a_history_of_words_grows_within_its_envelope(world: str) -> None:
    rules = {"agents": 2, "message_delay": 0, "actions": "text"}
    room = {"message_history": 2}
    env = piase_gym.parallel_env(world, envelope=room, **rules)
    plain = piase_gym.parallel_env(world, **rules)
    env.reset(seed=1)
    size = env.world.vector_space.shape[0]
    assert size == plain.world.vector_space.shape[0] + 2 * 2 * 10
    noop = env.world.write(env.world.noop)
    for history in (0, 2):
        env.reconfigure({"message_history": history})
        env.reset(seed=1)
        env.step({"agent_0": "say hello", "agent_1": noop})
        env.step(dict.fromkeys(env.agents, noop))
        facts = env.facts("agent_1")
        assert len(facts.earlier) == (history > 0)
        assert env.world.vector(facts).shape == (size,)
        assert piase_gym.parse_text(world, env.world.text(facts), env.config) == facts
    for one, wanted in ((plain, 1), (env, 3)):
        with pytest.raises(EnvelopeError, match="message_history"):
            one.reconfigure({"message_history": wanted})


def test_a_history_of_reports_is_refused() -> None:
    with pytest.raises(ConfigError, match="message_history is about words; give speech=True"):
        piase_gym.parallel_env("ObjectSearch", agents=2, message_history=2)


@pytest.mark.parametrize(
    "line",
    [
        "agent_2 said 1 step ago: x",  # it is oneself
        "agent_0 said 1 steps ago: x",
        "agent_0 said 255 steps ago: x",
        "agent_0 told agent_2 1 step ago: x",
        "agent_0 said 2 steps ago: x\nagent_0 said 1 step ago: x",
        "agent_1 said 1 step ago: x\nagent_0 said 1 step ago: x",
        "agent_0 said 1 step ago: x\nagent_0 said 2 steps ago: x\nagent_0 said 3 steps ago: x",
    ],
)
def test_a_history_that_nobody_writes_is_not_read(line: str) -> None:
    env = piase_gym.parallel_env("TextRoom", agents=3, message_history=2)
    env.reset(seed=1)
    text = env.world.text(env.facts("agent_2"))
    assert piase_gym.parse_text("TextRoom", text, env.config).earlier == ()
    with pytest.raises(TextParseError):
        piase_gym.parse_text("TextRoom", f"{text}\n{line}", env.config)


@pytest.mark.parametrize("world", ["TextRoom", "Household", "SqlQuery"])
def test_in_worlds_of_words_a_message_costs_the_one_who_says_it(world: str) -> None:
    paid = {}
    for cost in (0.0, 0.25):
        env = piase_gym.parallel_env(world, agents=2, actions="text", message_cost=cost)
        env.reset(seed=0)
        first, second = env.agents
        steps = [{first: "say hello", second: "wait"}, {first: "wait", second: "wait"}]
        paid[cost] = [env.step(step)[1] for step in steps]
    (spoke, quiet), (free, silent) = paid[0.25], paid[0.0]
    assert quiet == silent
    assert {name: spoke[name] - free[name] for name in free} == pytest.approx(
        {first: -0.25, second: 0.0}
    )


@pytest.mark.parametrize("case", SPEAKING)
def test_text_and_infos_agree_that_nobody_speaks_to_itself(case: str) -> None:
    world, fields = SPEAKING[case]
    need(world)
    env = piase_gym.parallel_env(world, agents=2, actions="text", **fields)
    env.reset(seed=1)
    noop = env.world.write(env.world.noop)
    line = "tell agent_0 hello there"
    shown, *_, infos = env.step({"agent_0": line, "agent_1": noop})
    assert infos["agent_0"]["outcome"] == "illegal"
    assert shown["agent_0"]["text"].startswith(f"Last step: {line}; illegal; ")
    env.close()


@pytest.mark.parametrize("case", SPEAKING)
def test_prompts_say_when_words_are_heard_by_whom_and_what_they_cost(case: str) -> None:
    world, fields = SPEAKING[case]
    need(world)
    rows = [[0, 1], [0, 0]]
    rules: dict[str, Any] = {"message_topology": rows, "message_delay": 3}
    rules |= {"message_loss": 0.5, "message_cost": 0.25}
    for silent in [{}, {"channel": False}] if world == "ObjectSearch" else [{}]:
        env = piase_gym.parallel_env(world, agents=2, **{**fields, **rules, **silent})
        prompt = env.instructions("agent_0")
        assert "Not everybody hears everybody." in prompt
        assert "3 steps later" in prompt
        losses = ("if it is not lost", "get lost", "misses a message with a chance of 0.5")
        assert any(words in prompt for words in losses)
        priced = case == "ObjectSearch" and not silent
        assert ("a report -0.25" if priced else "Each message costs 0.25.") in prompt
        env.close()
