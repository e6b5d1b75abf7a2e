"""What a curriculum adds to a step and to an episode: what is measured, and what is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from gymnasium import spaces

from piase_gym.benchmarks.speed import curriculum


class Text(dict[str, str]):
    """An observation that counts how often its text is read."""

    read = 0

    def __getitem__(self, key: str) -> str:
        Text.read += key == "text"
        return ""


class Noted:
    """An environment of two agents that notes what is done: one ends after two steps, then all."""

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]
        self.agents: list[str] = []
        self.done: list[Any] = []
        self.spaces = {name: spaces.Discrete(1000) for name in "ab"}

    def action_space(self, name: str) -> spaces.Discrete:
        return self.spaces[name]

    def reset(self, seed: int | None = None) -> None:
        self.agents, self.at = ["a", "b"], 0
        self.done.append(("reset", seed))

    def step(self, actions: dict[str, int]) -> Any:
        self.done.append({name: int(value) for name, value in actions.items()})
        seen = {name: Text() for name in self.agents}
        self.at += 1
        self.agents = {2: ["b"], 3: []}.get(self.at, self.agents)
        return seen, {}, {}, {}, {}


def test_a_measured_curriculum_stays_in_its_first_step() -> None:
    made = curriculum.curriculum("success_rate < 0", 3)
    assert made.name == "success_rate < 0"
    assert [step.name for step in made.steps] == ["step 0", "step 1", "step 2"]
    assert [step.order for step in made.steps] == [0, 1, 2]
    told = [step.environment_config_overrides["collisions"] for step in made.steps]
    assert told == ["block", "pass", "block"]
    assert len(curriculum.curriculum("mean_return > 1e9").steps) == 1


def turns_of(
    module: Any, monkeypatch: pytest.MonkeyPatch, costs: Sequence[float]
) -> list[tuple[dict[str, Any], int, int]]:
    """Let a module's runs cost so much each, after one real burst; return what it measured."""
    asked = []

    def in_turns(runs: dict[str, Any], steps: int, rounds: int) -> dict[str, list[float]]:
        asked.append((runs, steps, rounds))
        for run in runs.values():
            run(2)
        return {name: [cost] * rounds for name, cost in zip(runs, costs, strict=True)}

    monkeypatch.setattr(module, "in_turns", in_turns)
    return asked


class Followed:
    """An environment with a curriculum, as it was made."""

    def __init__(self, env: Any, given: Any, **options: Any) -> None:
        self.env, self.given, self.options = env, given, options
        self.possible_agents, self.reset, self.step = env.possible_agents, env.reset, env.step


class Made(Noted):
    """An environment that keeps what it was made with."""

    def __init__(self, *names: str, **options: Any) -> None:
        super().__init__()
        self.names, self.options = names, options

    def reconfigure(self, changes: dict[str, str]) -> None:
        self.done.append(changes)


def test_what_a_curriculum_adds_to_a_step_is_told_by_what_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    warmed: list[int] = []

    def steps_of(env: Any) -> Callable[[int], None]:
        made.append(env)
        return warmed.append

    monkeypatch.setattr(curriculum, "parallel_steps", steps_of)
    monkeypatch.setattr(curriculum.piase_gym, "parallel_env", Made)
    monkeypatch.setattr(curriculum, "CurriculumWrapper", Followed)
    asked = turns_of(curriculum, monkeypatch, [5.0, 5.5, 6.25, 8.12345])
    assert curriculum.measure_steps(3) == [
        {"name": "bare", "us": 5.0, "added": 0.0},
        {"name": "ends", "us": 5.5, "added": 0.5},
        {"name": "rewards", "us": 6.25, "added": 1.25},
        {"name": "outcomes", "us": 8.123, "added": 3.123},
    ]
    assert warmed == [5000] * 4 + [2] * 4
    assert [(steps, rounds) for _, steps, rounds in asked] == [(100, 3)]
    fields = {"agents": 4, "width": 12, "height": 12, "max_steps": 1_000_000}
    for env in (made[0], *(one.env for one in made[1:])):
        assert env.names == ("GridWorld",)
        assert env.options == {"view": "vector", "random_goals": 0, **fields}
    rules = ["success_rate < 0", "mean_return > 1e9", "illegal_rate > 2"]
    for one, rule in zip(made[1:], rules, strict=True):
        assert one.given == dict.fromkeys("ab", curriculum.curriculum(rule))


def test_episodes_of_two_steps_are_measured_by_the_length_of_the_curriculum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(curriculum, "episodes", lambda env: made.append(env) or warmed.append)
    monkeypatch.setattr(curriculum.piase_gym, "parallel_env", Made)
    monkeypatch.setattr(curriculum, "CurriculumWrapper", Followed)
    warmed: list[int] = []
    asked = turns_of(curriculum, monkeypatch, [10.0, 20.0, 30.0, 31.0, 32.0, 33.0, 40.0])
    found = curriculum.measure_episodes(1)
    assert [(row["name"], row["us"], row["added"]) for row in found] == [
        ("bare", 10.0, 0.0),
        ("bare, reconfigured each time", 20.0, 10.0),
        ("the same step again, of 1", 30.0, 20.0),
        ("the same step again, of 10", 31.0, 21.0),
        ("the same step again, of 100", 32.0, 22.0),
        ("the same step again, of 1,000", 33.0, 23.0),
        ("another step each time", 40.0, 30.0),
    ]
    assert asked[0][1:] == (20, 1)
    assert warmed == [100] * 7 + [2] * 7
    fields = {"agents": 1, "width": 12, "height": 12, "max_steps": 2, "random_goals": 0}
    for env in (made[0], *(one.env for one in made[1:])):
        assert env.options == {"view": "vector", **fields}
        assert env.done[-1] == ("reset", 0)
    assert isinstance(made[1], curriculum.Switching)
    assert [len(one.given.steps) for one in made[2:]] == [1, 10, 100, 1000, 2]
    assert [one.options for one in made[2:]] == [{}] * 4 + [{"director": "randomisation"}]


def test_an_episode_is_a_reset_and_two_steps_in_which_all_stay() -> None:
    env = Noted()
    curriculum.episodes(env)(2)
    assert env.done == [("reset", None), *[{"a": 4, "b": 4}] * 2] * 2


def test_the_bare_environment_is_reconfigured_before_each_episode() -> None:
    done: list[Any] = []

    class Bare(Noted):
        def reconfigure(self, changes: dict[str, str]) -> None:
            done.append(changes)

    bare = Bare()
    env = curriculum.Switching(bare)
    for seed in range(3):
        env.reset(seed=seed)
    assert done == [{"collisions": name} for name in ("pass", "block", "pass")]
    assert bare.done == [("reset", seed) for seed in range(3)]
    env.step({"a": 1})
    assert bare.done[-1] == {"a": 1}
    assert env.possible_agents == ["a", "b"]


def test_a_curriculum_is_measured_in_rounds_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"us": 1.238, "added": 0.0}
    more = {"name": "ends", "us": 12.5678, "added": 3.4567}
    rows = [{"name": "bare", **row}, more]
    asked: list[tuple[str, int]] = []
    for name in ("steps", "episodes"):

        def measured(rounds: int, name: str = name) -> Any:
            asked.append((name, rounds))
            return rows

        monkeypatch.setattr(curriculum, f"measure_{name}", measured)
    found = curriculum.measure_all(300)
    assert set(found) == {"machine", "versions", "load", "rounds", "steps", "episodes"}
    assert (found["rounds"], found["steps"], found["episodes"]) == (300, rows, rows)
    curriculum.measure_all(30)
    assert asked == [("episodes", 10), ("steps", 300), ("episodes", 5), ("steps", 30)]
    found |= {"machine": "a machine", "load": [0.25, 1.96]}
    (name, section), *none = curriculum.sections(found).items()
    assert (name, none) == ("curriculum", [])
    assert section.words == ["Measured on a machine, with a load of 0.2 and 2.0."]
    assert [table.lines for table in section.tables] == [
        [
            ["what is kept of a step", "µs a step", "added µs"],
            ["bare", "1.24", "–"],
            ["ends", "12.57", "3.46"],
        ],
        [
            ["one agent, episodes of two steps", "µs an episode", "added µs"],
            ["bare", "1", "–"],
            ["ends", "13", "3"],
        ],
    ]
