"""The curricula that ship: every step can be done, none by chance, and some not in silence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

import piase_gym
from piase_gym import curricula
from piase_gym.agents import Agent, Percept, make_agent
from piase_gym.curricula import AdaptationDecisionModule, CurriculumManager
from piase_gym.curricula.lint import lint
from piase_gym.curricula.prompts import prompt_of
from piase_gym.wrappers import CurriculumWrapper
from tests.curricula.helpers import Table
from tests.helpers.needs import need

NAMES = curricula.names()
load = cache(curricula.load)
CONFIGS = {(name, step.order): config for name in NAMES for step, config in load(name).configs()}


FIXED = ("envelope", "agent_ids")


def learner(name: str) -> str:
    """Return the agent that a curriculum is for."""
    return load(name).agent or "agent_0"


def metric_of(name: str) -> str:
    """Return the metric by which a curriculum's steps are judged."""
    (metric,) = {c.metric for step in load(name).steps for c in step.completion_criteria}
    return metric


def success_by_chance(name: str, order: int, episodes: int) -> float:
    """Play episodes of a step; returns the mean of what the step is judged by.

    All play at random, but for the curriculum's partners.
    """
    need(load(name).world)
    made, agent, found = load(name), learner(name), []
    env = piase_gym.parallel_env(CONFIGS[name, order], view="vector")  # texts take long
    world = env.unwrapped.world
    seats = {n: make_agent(made.partners.get(n, "random")) for n in world.agents}
    for number in range(episodes):
        env.reset(seed=7 + number)
        for place, seat in enumerate(seats.values()):
            seat.reset(1000 * number + place)
        result = play_on(env, seats)[agent]
        measured = world.measure(world.agents.index(agent))
        values = {f"measure.{key}": value for key, value in measured.items()}
        found.append({"success_rate": float(result == "won"), **values}[metric_of(name)])
    env.close()
    return sum(found) / episodes


def play_on(env: Any, seats: Mapping[str, Agent]) -> dict[str, str]:
    """Play an episode to its end; returns the result of every agent."""
    world, step, results = env.unwrapped.world, 0, {}
    while env.agents:
        acts = {}
        for agent in env.agents:
            seats[agent].perceive(Percept(world, world.agents.index(agent), step))
            acts[agent] = seats[agent].act()
        infos = env.step(acts)[4]
        results |= {agent: info["result"] for agent, info in infos.items() if "result" in info}
        step += 1
    return results


def test_what_ships() -> None:
    first = ("apprentice", "ask_the_data", "chores", "door_key", "explore", "give_and_take")
    assert (*first, "hands_on", "pantry", "rooms", "speak_up", "text_quest") == NAMES
    counts = {name: len(load(name).steps) for name in NAMES}
    assert counts == {**dict.fromkeys(NAMES, 5), "speak_up": 9}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_what_ships(name: str) -> None:
    need(load(name).world)
    assert load(name).warnings == ()
    assert [f for f in lint(name) if f.level != "note"] == []


@pytest.mark.parametrize("name", NAMES)
def test_spaces_hold_every_step(name: str) -> None:
    need(load(name).world)
    made = load(name)
    assert made.world is not None
    env = piase_gym.parallel_env(made.world, envelope=made.envelope())
    env.reset(seed=0)
    space = env.observation_space(env.possible_agents[0])
    for _, config in made.configs():
        fields = {n: getattr(config, n) for n in type(config).model_fields if n not in FIXED}
        env.unwrapped.runner.reconfigure(fields)
        observations, _ = env.reset(seed=1)
        assert env.observation_space(env.possible_agents[0]) is space
        assert all(observation in space for observation in observations.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_oracle_goes_straight_through(name: str) -> None:
    need(load(name).world)
    made, agent, table = load(name), learner(name), Table()
    measured = {decision.step: decision.values for decision in led_by_oracle(name).decisions}
    manager, module = CurriculumManager(made), AdaptationDecisionModule(table)
    manager.start(agent)
    while (step := manager.get_current_step_object(agent)) is not None:
        table.values = measured[step.order]
        attempt, stages = manager.progress(agent).attempt, manager.progress(agent).stages
        manager.apply(module.decide(agent, made, step, attempt, stages=stages))
    progress = manager.progress(agent)
    assert progress.finished
    assert progress.completed_steps == [step.order for step in made.steps]
    assert len(progress.decisions) == len(made.steps)
    assert progress.stage == made.target_developmental_stage


@pytest.mark.parametrize(("name", "order"), CONFIGS)
def test_no_step_is_done_by_chance(name: str, order: int) -> None:
    step = load(name).step(order)
    (criterion,) = step.completion_criteria
    is_rate = criterion.metric == "success_rate"
    rate = success_by_chance(name, order, 20 if is_rate else 40)
    assert rate < float(criterion.value) - (0.25 if is_rate else 0.2)
    if order == 1:
        assert rate > 0.1  # a beginner finds something to learn from


def test_a_random_agent_is_hinted_sent_back_and_failed() -> None:
    made, table = load("door_key"), Table()
    manager, module = CurriculumManager(made), AdaptationDecisionModule(table)
    manager.start("agent_0")
    made_up = {1: 0.95, 2: 0.0}  # it can walk, and no more
    decided = []
    while (step := manager.get_current_step_object("agent_0")) is not None:
        table.values = {"success_rate": made_up[step.order]}
        attempt = manager.progress("agent_0").attempt
        decided.append(manager.apply(module.decide("agent_0", made, step, attempt)))
    kinds = [d.decision for d in manager.progress("agent_0").decisions]
    assert kinds.count("APPLY_HINT_01") == 1
    assert kinds.count("BRANCH_TO_1") == 2
    assert kinds[-1] == "FAIL_CURRICULUM"
    assert manager.progress("agent_0").step_attempts == {1: 3, 2: 100}


def test_quests_come_with_a_prompt() -> None:
    made = load("text_quest")
    for step in made.steps:
        prompt = prompt_of(made, step)
        assert prompt is not None
        assert prompt.placeholders == ()
        assert isinstance(step.learning_objectives, tuple)
        assert step.learning_objectives[0] in prompt.text()


# -- the one that cannot be done in silence -------------------------------------------------------

WAYS = {**dict.fromkeys(range(1, 8), (-1, 1)), **dict.fromkeys((8, 9), (-3, -1, 1, 3))}
"""Rows of the ways, counted from where both agents start, in each step."""
SEEN_FROM = 6
"""How far ahead agents see along a way."""


def best_in_silence(order: int) -> float:
    """Return the best share of episodes that a listener can win who is told nothing.

    Every plan is searched: where to walk, and what to do after having seen how a way ends. To
    see it, the listener must stand in that way's row, near enough; which is more than it needs.
    """
    config = CONFIGS["speak_up", order]
    plan, ways, hazards = config.map, WAYS[order], config.hazards
    start = next(
        (x, y) for y, row in enumerate(plan) for x, s in enumerate(row) if s == "@" and x > 3
    )
    free = {(x, y) for y, row in enumerate(plan) for x, s in enumerate(row) if s in ".,G"} | {start}
    ends = {start[1] + way: plan[start[1] + way].index(".") for way in ways}
    rows = tuple(sorted(ends))
    safe_ones = 2 if not hazards else 1
    cases = [frozenset(rows)] if safe_ones == 2 else [frozenset({row}) for row in rows]

    @cache
    def best(place: tuple[int, int], left: int, possible: frozenset[int]) -> float:
        """Return the expected wins, summed over the cases that are still possible."""
        x, y = place
        if plan[y][x] == "G":
            return float(len(possible))
        if left == 0:
            return 0.0
        found = best(place, left - 1, possible)
        for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            there = (x + dx, y + dy)
            if there not in free:
                continue
            found = max(found, after(there, left - 1, possible))
        return found

    def after(place: tuple[int, int], left: int, possible: frozenset[int]) -> float:
        """Return the expected wins after a step, which may show how a way ends."""
        x, y = place
        split = [possible]
        if y in ends and x - ends[y] <= SEEN_FROM:
            safe = frozenset(n for n in possible if y in cases[n])
            split = [safe, possible - safe]
        total = 0.0
        for part in split:
            if not part:
                continue
            dead = place == (ends.get(y), y) and y not in cases[next(iter(part))]
            total += 0.0 if dead else best(place, left, part)
        return total

    return best(start, config.max_steps, frozenset(range(len(cases)))) / len(cases)


def test_the_steps_that_count_cannot_be_done_in_silence() -> None:
    # The short ones of before leave room for this listener, who sees more than it would.
    assert [best_in_silence(order) for order in (1, 7, 9)] == [1.0, 0.5, 0.25]


Listen = Callable[[Any], int | None]


def way_of(speaker: Any, ways: tuple[int, ...]) -> int:
    """Return the number of the safe way, from what the speaker sees (it looks to the right)."""
    side = len(speaker.cells) // 2
    safe = [n for n, way in enumerate(ways) if speaker.cells[-4][side + way] != "hazard"]
    return safe[0]


def play(order: int, seed: int, hears: bool) -> bool:
    """Let a pair play that has agreed on symbols; tells whether the listener has won."""
    ways = WAYS[order]
    env = piase_gym.parallel_env(CONFIGS["speak_up", order], actions="text")
    env.reset(seed=seed)
    world = env.unwrapped.world
    told: int | None = None if hears else 0
    walked = 0
    while env.agents:
        speaker, listener = (world.facts(number) for number in (0, 1))
        commands = {"agent_0": f"stay saying {way_of(speaker, ways) + 1}"} if not walked else {}
        if told is None and listener.messages:
            told = int(listener.messages[0].message) - 1
        command = "stay"
        if told is not None:
            up_or_down = "move up" if ways[told] < 0 else "move down"
            command = up_or_down if walked < abs(ways[told]) else "move left"
            walked += 1
        commands["agent_1"] = command
        acts = {name: commands.get(name, "stay") for name in env.agents}
        _, _, _, _, infos = env.step(acts)
        if "result" in infos["agent_1"]:
            return bool(infos["agent_1"]["result"] == "won")
    raise AssertionError


@pytest.mark.parametrize("order", range(2, 10))
def test_a_pair_that_speaks_does_it_and_a_deaf_one_does_not(order: int) -> None:
    assert all(play(order, seed, hears=True) for seed in range(40))
    deaf = [play(order, seed, hears=False) for seed in range(40)]
    assert 0 < sum(deaf) < 40 * (1 / len(WAYS[order]) + 0.2)


@pytest.mark.parametrize("order", range(2, 10))
def test_the_speaker_sees_the_way_and_the_listener_does_not(order: int) -> None:
    env = piase_gym.parallel_env(CONFIGS["speak_up", order])
    seen: dict[str, set[bytes]] = {"agent_0": set(), "agent_1": set()}
    for seed in range(60):
        observations, _ = env.reset(seed=seed)
        for name, observation in observations.items():
            seen[name].add(observation["vector"].tobytes())
    assert len(seen["agent_0"]) == len(WAYS[order])
    assert len(seen["agent_1"]) == 1


# -- through the wrapper --------------------------------------------------------------------------


def lead_through(name: str, policy: str, attempts: int) -> Any:
    """Play a curriculum in an environment, every seat by the same policy; returns the wrapper."""
    made = load(name)
    bare = piase_gym.parallel_env(str(made.world), envelope=made.envelope(), view="vector")
    env = CurriculumWrapper(bare, made)
    seats = {n: make_agent(made.partners.get(n, policy)) for n in env.possible_agents}
    for seed in range(attempts * 20):
        if len(env.decisions) >= attempts or not env.progress[learner(name)].active:
            break
        env.reset(seed=seed)
        for agent, seat in seats.items():
            seat.set_id(agent)
            seat.reset(seed)
        play_on(env, seats)
    return env


@cache
def led_by_oracle(name: str) -> Any:
    """Lead the oracle through a curriculum; it is done with every step in one attempt."""
    return lead_through(name, "oracle", attempts=len(load(name).steps))


@pytest.mark.parametrize("name", NAMES)
def test_an_oracle_is_led_through(name: str) -> None:
    need(load(name).world)
    orders = [step.order for step in load(name).steps]
    env = led_by_oracle(name)
    progress = env.progress[learner(name)]
    assert progress.finished
    assert [d.decision for d in env.decisions] == ["PROCEED"] * len(orders)
    assert progress.completed_steps == orders
    for decision in env.decisions:
        (criterion,) = load(name).step(decision.step).completion_criteria
        assert set(decision.values) == {metric_of(name)}
        assert float(criterion.value) <= decision.values[metric_of(name)] <= 1.0
        assert decision.values[metric_of(name)] == 1.0 or name == "give_and_take"


@pytest.mark.parametrize("name", NAMES)
def test_a_random_agent_stays_behind(name: str) -> None:
    need(load(name).world)
    env = lead_through(name, "random", attempts=5)
    made, agent = load(name), learner(name)
    assert [d.step for d in env.decisions] == [1] * 5
    assert sum(d.decision == "APPLY_HINT_01" for d in env.decisions) <= 1
    for decision in env.decisions:  # each can be taken again from the values that it names
        step = made.step(decision.step)
        again = AdaptationDecisionModule(Table(decision.values)).decide(
            agent,
            made,
            step,
            decision.attempt,
            env_steps=decision.env_steps,
            episodes=decision.episodes,
        )
        assert again.to_bytes() == decision.to_bytes()
        assert decision.episodes == step.episodes_per_attempt
