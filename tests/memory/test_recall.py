"""Delayed recall: what the cue decides, what it leaves no trace of, and who finds it again."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.speed import memory as benchmark
from piase_gym.core.last_step import without_last_step
from piase_gym.core.rng import Stream
from piase_gym.errors import ConfigError
from piase_gym.worlds.text_room.levels.recall import COLOURS, recall_story
from piase_gym.worlds.text_room.levels.validation import problems
from piase_gym.wrappers import AddMemory

EPISODES = 60


def at_the_caskets(delay: int, seed: int, agents: int = 1) -> tuple[Any, str, dict[str, Any]]:
    """Wait for the caskets. Returns the environment, the cue, and what the agents see then."""
    env = piase_gym.parallel_env("TextRoom", recall=delay, agents=agents, actions="text")
    shown, _ = env.reset(seed=seed)
    (cue,) = [word for word in COLOURS if f"{word} lantern" in shown["agent_0"]["text"]]
    for step in range(delay + 1):
        assert "You see the red casket" not in shown["agent_0"]["text"]
        assert step == 0 or f"{cue} lantern" not in shown["agent_0"]["text"]
        shown = env.step(dict.fromkeys(env.agents, "wait"))[0]
    assert "You see the red casket" in shown["agent_0"]["text"]
    return env, cue, shown


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_nothing_at_the_choice_tells_the_cue(delay: int) -> None:
    cues, seen = set(), set()
    for seed in range(EPISODES):
        _, cue, shown = at_the_caskets(delay, seed)
        cues.add(cue)
        seen.add((shown["agent_0"]["text"], shown["agent_0"]["vector"].tobytes()))
    assert cues == set(COLOURS)
    assert len(seen) == 1


@pytest.mark.parametrize("agents", [1, 3])
def test_the_casket_of_the_cue_wins_and_any_other_loses(agents: int) -> None:
    for seed in range(6):
        for colour in COLOURS:
            env, cue, _ = at_the_caskets(2, seed, agents)
            acts = dict.fromkeys(env.agents, "wait") | {"agent_0": f"open {colour} casket"}
            infos = env.step(acts)[-1]
            wanted = "won" if colour == cue else "lost"
            assert {info["result"] for info in infos.values()} == {wanted}


def test_who_does_not_choose_loses_by_time() -> None:
    env, _, _ = at_the_caskets(3, 0)
    steps = 0
    while env.agents:
        *_, truncated, infos = env.step({"agent_0": "wait"})
        steps += 1
    assert (steps, truncated["agent_0"], infos["agent_0"]["result"]) == (5, True, "lost")


def test_cues_are_drawn_evenly_and_from_the_seed_alone() -> None:
    env = piase_gym.parallel_env("TextRoom", recall=1, view="text")
    first = [env.reset(seed=seed)[0]["agent_0"] for seed in range(400)]
    assert [env.reset(seed=seed)[0]["agent_0"] for seed in range(20)] == first[:20]
    counts = [sum(f"{colour} lantern" in text for text in first) for colour in COLOURS]
    assert sum(counts) == 400
    assert all(70 < count < 130 for count in counts)  # expected 100, one deviation is 8.7


def test_a_curriculum_can_change_the_delay() -> None:
    env = piase_gym.parallel_env("TextRoom", recall=1, actions="text")
    env.reset(seed=0)
    env.reconfigure({"recall": 30})
    env.reset(seed=0)
    assert (env.config.recall, env.config.max_steps) == (30, 36)
    for _ in range(31):
        shown = env.step({"agent_0": "wait"})[0]
    assert "red casket" in shown["agent_0"]["text"]
    for wrong in (-1, 1001, 1.5, "far"):
        with pytest.raises(ConfigError, match="recall"):
            piase_gym.parallel_env("TextRoom", recall=wrong)


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (["red_lantern", "lamp"], "unknown object 'lamp'"),
        (["red_lantern", "red_lantern"], "'red_lantern' is shuffled twice"),
        (["red_lantern", "key"], "'key' is in 'red_casket'; only what lies in a room is shuffled"),
        (["red_lantern", "coin"], "'coin' lies in no room"),
    ],
)
def test_only_what_lies_in_rooms_is_shuffled(group: list[str], told: str) -> None:
    story = recall_story(1).model_dump(exclude_unset=True)
    story["object_details"]["red_casket"]["contains"] = ["key"]
    story["object_details"]["coin"] = {}
    assert not [p for p in problems(recall_story(1).model_validate(story)) if p.fatal]
    story["shuffle"] = [group]
    found = [p for p in problems(recall_story(1).model_validate(story)) if p.fatal]
    assert [p.path[:2] for p in found] == [("shuffle", 0)]
    assert told in found[0].message


@pytest.mark.parametrize(("name", "chance"), [("TextRoom", 0.25), ("ObjectSearch", 0.5)])
def test_a_script_with_a_memory_recalls_and_one_without_guesses(name: str, chance: float) -> None:
    """At every delay the interval of the one lies above that of the other."""
    pytest.importorskip("faiss")
    task = benchmark.TASKS[name]
    for delay in (1, 16):
        plain, memory = task.make(delay), AddMemory(task.make(delay))
        script, guess = benchmark.reader(task, Stream(0)), benchmark.guesser(Stream(1))
        wins = sum(task.play(memory, seed, script) for seed in range(EPISODES))
        luck = sum(task.play(plain, seed, guess) for seed in range(EPISODES))
        assert wilson(wins, EPISODES).low > wilson(luck, EPISODES).high
        assert wilson(luck, EPISODES).low < chance < wilson(luck, EPISODES).high


def test_a_learner_learns_to_use_its_memory() -> None:
    pytest.importorskip("faiss")
    found = benchmark.recall(benchmark.TASKS["TextRoom"], 40, 600, (4,))
    assert set(found) == {"guess", "learner", "learner with memory", "script with memory"}
    for wins in found["learner with memory"].values():
        assert wilson(wins, 40).low > 0.25
    for wins in found["learner"].values():
        assert wilson(wins, 40).low < 0.25


def test_a_scenario_can_draw_lots() -> None:
    """`two_lamps` of the library: the lamp on the quay decides at the fork, ten steps later."""
    lamps = []
    for seed in range(30):
        env = piase_gym.parallel_env("two_lamps", actions="text")
        shown = env.reset(seed=seed)[0]["pilot"]["text"]
        (lamp,) = [colour for colour in ("red", "green") if f"{colour} lamp" in shown]
        for _ in range(11):
            assert " gate (" not in shown
            shown = env.step({"pilot": "wait"})[0]["pilot"]["text"]
        assert "red gate" in shown
        assert f"{lamp} lamp" not in shown
        infos = env.step({"pilot": "open the red gate"})[-1]
        assert infos["pilot"]["result"] == ("won" if lamp == "red" else "lost")
        lamps.append(lamp)
    assert 5 < lamps.count("red") < 25


@pytest.mark.parametrize("delay", [0, 3])
def test_the_sign_of_object_search_is_seen_once_and_decides(delay: int) -> None:
    signs, later = set(), set()
    for seed in range(12):
        for way in ("forward", "backward"):
            env = piase_gym.parallel_env("ObjectSearch", recall=delay, actions="text")
            shown, _ = env.reset(seed=seed)
            (sign,) = [thing.name for thing in env.facts("agent_0").objects]
            signs.add(sign)
            for _ in range(delay + 1):
                shown, _, _, _, infos = env.step({"agent_0": way})
                assert infos["agent_0"]["outcome"] == "failed"
                assert env.facts("agent_0").objects == ()
            told = without_last_step(shown["agent_0"]["text"])  # it repeats the command
            later.add((told, shown["agent_0"]["vector"].tobytes()))
            _, rewards, ended, _, infos = env.step({"agent_0": way})
            won = sign == f"{way} sign"
            assert (ended["agent_0"], infos["agent_0"]["result"]) == (
                True,
                "won" if won else "lost",
            )
            assert rewards["agent_0"] == pytest.approx(won - 0.01)
    assert signs == {"forward sign", "backward sign"}
    assert len(later) == 1


def test_what_does_not_go_with_a_recall_is_refused() -> None:
    for fields in ({"agents": 2}, {"backend": "house"}, {"width": 5}, {"wandering": 1}):
        with pytest.raises(ConfigError, match="recall"):
            piase_gym.parallel_env("ObjectSearch", recall=2, **fields)
    for delay in (-1, 1001, 1.5, "far"):
        with pytest.raises(ConfigError, match="recall"):
            piase_gym.parallel_env("ObjectSearch", recall=delay)
    env = piase_gym.parallel_env("piase/ObjectSearch-Recall-4-v3")
    env.reset(seed=0)
    env.reconfigure({"recall": 9})
    env.reset(seed=0)
    assert (env.config.recall, env.config.max_steps) == (9, 11)
