"""Progress in files: whole or not at all, and never lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from piase_gym.curricula import (
    AdaptationDecisionModule,
    AgentProgress,
    CurriculumManager,
    ProgressStore,
    RequiredMetric,
)
from piase_gym.curricula.window_memory import check, load_windows, save_windows
from piase_gym.errors import CurriculumError, ProgressError, StorageError
from piase_gym.runs.history import SPARE, Attempt, Episode, History
from tests.curricula.helpers import Table, curriculum
from tests.paths import ROOT

MADE = curriculum({"max_attempts": 900}, {})


def tried(attempts: int, agent: str = "a") -> CurriculumManager:
    """Return a manager whose agent has tried the first step so often."""
    manager = CurriculumManager(MADE)
    manager.start(agent)
    try_again(manager, agent, attempts)
    return manager


def try_again(manager: CurriculumManager, agent: str, attempts: int) -> None:
    module = AdaptationDecisionModule(Table())
    for _ in range(attempts):
        attempt = manager.progress(agent).attempt
        manager.apply(module.decide(agent, MADE, MADE.steps[0], attempt, env_steps=7, episodes=1))


@pytest.mark.parametrize("inline", [False, True])
def test_progress_is_refused_once_a_scenario_of_a_step_was_edited(
    inline: bool, tmp_path: Path
) -> None:
    file, path = tmp_path / "hall.json", tmp_path / "progress.json"
    text = {"world": "GridWorld", "scenario_name": "Hall", "initial_state": {"width": 4}}
    file.write_text(json.dumps(text))
    named = {"base": str(file)} if inline else str(file)
    made = curriculum({"environment_config": {"scenario": named}}, {})
    manager = CurriculumManager(made)
    manager.start("a")
    store = ProgressStore(path)
    store.save(manager.agent_progress)
    known = store.load({"a": made})["a"]
    assert known.scenarios_hash
    file.write_text(json.dumps({**text, "initial_state": {"width": 5}}))
    with pytest.raises(ProgressError, match="as it was before its scenarios were changed"):
        store.load({"a": made})
    of_before = {name: v for name, v in known.as_json().items() if name != "scenarios_hash"}
    manager.resume(AgentProgress.from_json(of_before), made)  # it does not tell
    assert manager.progress("a").scenarios_hash not in (None, known.scenarios_hash)
    file.unlink()
    with pytest.raises(CurriculumError, match=r"step 1 .*hall\.json"):
        manager.resume(known, made)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "progress.json"
    store = ProgressStore(path)
    assert store.load({"a": MADE}) == {}
    manager = tried(3)
    store.save(manager.agent_progress)
    loaded = ProgressStore(path).load({"a": MADE})
    assert loaded == manager.agent_progress
    assert loaded["a"].env_steps == 21
    text = json.loads(path.read_bytes())
    assert text["agents"]["a"] == json.loads(json.dumps(manager.progress("a").as_json()))
    try_again(manager, "a", 2)
    store.save(manager.agent_progress)
    assert ProgressStore(path).load({"a": MADE})["a"].attempt == 6
    assert [entry.name for entry in path.parent.iterdir()] == ["progress.json"]


def test_other_agents_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    ProgressStore(path).save(tried(1, "a").agent_progress)
    store = ProgressStore(path)
    assert store.load({"b": MADE}) == {}
    store.save(tried(2, "b").agent_progress)
    assert sorted(ProgressStore(path).read()) == ["a", "b"]


def test_a_file_that_was_not_read_or_has_changed_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    store = ProgressStore(path)
    store.save(tried(1).agent_progress)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"was not read.* is in .*progress.json.1$"):
        ProgressStore(path).save(tried(5).agent_progress)
    assert path.read_bytes() == before
    assert ProgressStore(tmp_path / "progress.json.1").read()["a"].attempt == 6
    other = ProgressStore(path)
    other.load({"a": MADE})
    other.save(tried(2).agent_progress)
    with pytest.raises(StorageError, match=r"has changed.* is in .*progress.json.2$"):
        store.save(tried(9).agent_progress)
    assert ProgressStore(path).read()["a"].attempt == 3
    assert ProgressStore(tmp_path / "progress.json.2").read()["a"].attempt == 10
    other.save(tried(3).agent_progress)  # who wrote it may go on
    assert ProgressStore(path).read()["a"].attempt == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not even JSON"),
        ('{"format": "piase_gym progress", "schema": 1, "agents": {"a"', "not even JSON"),
        ("[]", "no progress of agents"),
        ('{"name": "Corner"}', "no progress of agents"),
        ('{"format": "piase_gym progress", "schema": 2, "agents": {}}', "version 2; this"),
        ('{"format": "piase_gym progress", "schema": true, "agents": {}}', "version True; this"),
        ('{"format": "piase_gym progress", "schema": 1}', "there are no agents"),
        (
            '{"format": "piase_gym progress", "schema": 1, "agents": {"a": {"schema": 9}}}',
            "a: this",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_and_kept(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text)
    store = ProgressStore(path)
    with pytest.raises(ProgressError, match=told) as caught:
        store.load({"a": MADE})
    assert str(path) in str(caught.value)
    with pytest.raises(StorageError, match="was not read"):
        store.save(tried(1).agent_progress)
    assert path.read_text() == text


def test_progress_in_another_curriculum_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    ProgressStore(path).save(tried(4).agent_progress)
    before = path.read_bytes()
    other = curriculum({}, {}, version="2.0")
    with pytest.raises(ProgressError, match=r"progress of a is in 'Test' version 1.0, and the"):
        ProgressStore(path).load({"a": other})
    assert path.read_bytes() == before
    assert ProgressStore(path).load({"b": other}) == {}


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ProgressStore(tmp_path / "file" / "progress.json")
    with pytest.raises(ProgressError, match="cannot be read"):
        store.load({})
    (tmp_path / "progress.json").mkdir()
    with pytest.raises(ProgressError, match="cannot be read"):
        ProgressStore(tmp_path / "progress.json").load({})


def test_a_save_that_is_cut_short_leaves_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "progress.json"
    store = ProgressStore(path)
    manager = tried(1)
    store.save(manager.agent_progress)
    before = path.read_bytes()

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    try_again(manager, "a", 1)
    with pytest.raises(StorageError, match="No space left on device; what was there before"):
        store.save(manager.agent_progress)
    assert path.read_bytes() == before
    monkeypatch.undo()
    store.save(manager.agent_progress)
    assert ProgressStore(path).read()["a"].attempt == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["progress.json"]


KILLED = """
import os, sys
from pathlib import Path
from tests.curricula.test_store import ProgressStore, tried, try_again
store, manager = ProgressStore(sys.argv[1]), tried(1)
store.load({})
while True:
    try_again(manager, "a", 1)
    store.save(manager.agent_progress)
    print(manager.progress("a").attempt, flush=True)
"""


def test_a_killed_run_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    root = ROOT
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
    assert ProgressStore(path).load({"a": MADE})["a"].attempt >= told[-1]


def test_bytes_are_the_same_for_the_same_progress(tmp_path: Path) -> None:
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        ProgressStore(path).save({**tried(2, "a").agent_progress, **tried(1, "b").agent_progress})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert AgentProgress.from_json(tried(2).progress("a").as_json()) == tried(2).progress("a")


EPISODES = [(0, 5, 0), (5, 10, 1), (10, 12, 2), (12, 18, SPARE), (12, 20, 3), (20, 21, 3)]
"""Start, end and attempt of an agent's episodes in three attempts; the last goes on."""


@pytest.mark.parametrize(
    ("windows", "ends", "hints"),
    [
        ([], None, None),
        ([("attempts", 1)], None, None),
        ([None, None], None, None),
        ([("attempts", 2), ("attempts", 1)], [12, 20, 21], [11, 13]),
        ([("attempts", 3)], [10, 12, 20, 21], [6, 11, 13]),
        ([("episodes", 1)], [20, 21], [13]),  # of attempts the last, of episodes the last finished
        ([("episodes", 2)], [12, 20, 21], [11, 13]),
        ([None, ("episodes", 3), ("episodes", 2)], [10, 12, 20, 21], [6, 11, 13]),
        ([("env_steps", 10)], [12, 20, 21], [11, 13]),
        ([("env_steps", 11)], [12, 20, 21], [11, 13]),
        ([("env_steps", 12)], [10, 12, 20, 21], [6, 11, 13]),
    ],
)
def test_what_windows_reach_into_is_kept(windows: list[Any], ends: Any, hints: Any) -> None:
    progress, history = AgentProgress("a", "c"), History()
    history.step = 21
    for start, end, attempt in EPISODES:
        ended = "" if end == 21 else "lost"
        row = Episode("a", start, 0, attempt, 0, start, end, end - start, result=ended)
        history.of("a").add(row)
    history.of("a").hints += [(2, 0, 0), (6, 1, 0), (11, 2, 0), (13, 3, 0)]
    history.of("a").attempts += [Attempt(n, 1, None, False, 0, 0) for n in (1, 2, 3)]
    save_windows(history, progress, [RequiredMetric("mean_return", window) for window in windows])
    if ends is None:
        assert progress.memory == {}
    else:
        kept = progress.memory["recent"]
        assert kept["step"] == 21
        assert [row["end"] for row in kept["episodes"]] == ends
        assert [step for step, *_ in kept["hints"]] == hints
        progress.decisions += tried(3).progress("a").decisions  # so many attempts were there
        assert check(progress).step == 21
        kept["episodes"][0]["sequence"] = kept["step"] = 0
        assert check(progress).step == 0
        for wrong in (-1, 1 << 60):
            kept["step"] = wrong
            with pytest.raises(ProgressError, match="too large or small"):
                check(progress)


@pytest.mark.parametrize("times", [1, 2])
def test_an_attempt_that_begins_anew_is_judged_by_its_own_episodes(
    times: int, tmp_path: Path
) -> None:
    """What was played before it was broken off counts for longer windows alone."""
    import piase_gym
    from piase_gym.wrappers import CurriculumWrapper
    from tests.curricula import example_curricula

    lately = {"metric": "success_rate", "operator": ">=", "value": 0.99, "window": {"episodes": 5}}
    rules = [["success_rate > 0.99 or hints_used > 0", "PROCEED"]]
    plan = example_curricula.curriculum(
        example_curricula.step(
            1, completion_criteria=[lately], episodes_per_attempt=3, adaptation_rules=rules
        )
    )

    def go_on(player: Any, episodes: int) -> Any:
        env = CurriculumWrapper(
            piase_gym.parallel_env("GridWorld"), plan, progress=tmp_path / "progress.json"
        )
        for _ in range(episodes):
            env.reset(seed=0)
            env.modifier.provide_indirect_hint(
                "agent_0", "Go."
            ) if player is example_curricula.arrive else 0
            while env.agents:
                env.step({"agent_0": player(env, "agent_0")})
        env.close()
        return env.decisions

    for _ in range(times):
        assert go_on(example_curricula.arrive, 2) == []
    (made,) = go_on(example_curricula.stay, 3)
    assert (made.attempt, made.episodes) == (1, 3)
    share = 0.4
    assert made.values == {
        "success_rate over 5 episodes": share, "success_rate": 0.0, "hints_used": 0,
    }  # fmt: skip
    # so the second attempt, in yet another process, looks back over what was decided on
    (made,) = go_on(example_curricula.stay, 3)
    assert (made.attempt, made.values["success_rate over 5 episodes"]) == (2, 0.0)


@pytest.mark.parametrize(
    "window", [{"attempts": 3}, {"episodes": 5}, {"env_steps": 13}, {"env_steps": 31}]
)
def test_windows_look_back_over_resumptions(window: dict[str, int], tmp_path: Path) -> None:
    import piase_gym
    from piase_gym.wrappers import CurriculumWrapper
    from tests.curricula import example_curricula

    criteria = [
        {"metric": metric, "operator": ">=", "value": 1000, "window": window}
        for metric in ("mean_return", "hints_used")
    ]
    plan = example_curricula.curriculum(
        example_curricula.step(
            1,
            completion_criteria=criteria,
            episodes_per_attempt=2,
            adaptation_rules=[["step_attempts > 0", "REPEAT_STEP"]],
        )
    )

    def play(parts: list[int], path: Path) -> list[Any]:
        made, number = [], 0
        for episodes in parts:
            env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan, progress=path)
            for _ in range(episodes):
                env.reset(seed=number)
                if number % 4 == 1:
                    env.modifier.provide_indirect_hint("agent_0", "Go.")
                player = example_curricula.stay if number % 3 else example_curricula.arrive
                while env.agents:
                    env.step({"agent_0": player(env, "agent_0")})
                number += 1
            env.close()
            made += env.decisions
        return [(one.attempt, one.env_steps, one.values) for one in made]

    whole = play([14], tmp_path / "whole.json")
    assert len(whole) == 7
    assert play([2] * 7, tmp_path / "each.json") == whole


def test_a_history_goes_on_with_what_was_noted() -> None:
    manager = tried(2)
    progress, history = manager.progress("a"), History()
    assert load_windows(history, progress, MADE) == 0
    assert history.of("a").attempts == []
    history.step = 30
    numbers = ((0, 4), (1, 6), (3, 9), (2, 8))  # the third attempt was broken off
    rows = [
        Episode("a", n, 0, attempt, 5, n, n + 1, 1, result="lost", sequence=sequence)
        for n, (attempt, sequence) in enumerate(numbers)
    ]
    for row in rows:
        history.of("a").add(row)
    history.of("a").hints += [(3, 2, 0), (4, 3, 1)]
    history.of("a").attempts += [Attempt(n, 1, None, False, 0, 0) for n in (1, 2, 3)]
    assert save_windows(history, progress, [RequiredMetric("mean_return", ("episodes", 9))]) is None
    again = History()
    again.step = 31
    assert load_windows(again, progress, MADE) == 9
    assert again.step == 31
    known = again.of("a")
    assert [row.attempt for row in known.episodes] == [0, 1, 2, 0]
    assert [row.sequence for row in known.episodes] == [4, 6, 8, 9]
    assert known.hints == [(3, 2, 0), (4, 0, 1)]
    assert known.attempts == [Attempt(n, 1, None, False, 0, 0, 1) for n in (1, 2)]
    other = History()
    load_windows(other, progress, MADE)
    assert other.step == 30
    noted = progress.memory["recent"]
    noted["hints"] = [[4, 4, 0]]  # two were decided on, so the third goes on
    with pytest.raises(ProgressError, match="not so many attempts"):
        check(progress)
    for number, wrong in ((2**53, False), (2**53 + 1, True), (-1, True)):
        noted["hints"], noted["episodes"][0]["sequence"] = [], number
        if wrong:
            with pytest.raises(ProgressError, match="too large or small"):
                check(progress)
        else:
            check(progress)


# -- damage ---------------------------------------------------------------------------------------

ODD = (None, True, 0, -1, 1, 2**31, 2**63, 10**30, 1.5, 1e308, "", "1", "running", "0" * 3000)
ODD_PARTS = ([], {}, [1], [None], [[1]], {"a": 1}, {"1": None})


def ways(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all parts of JSON data."""
    found = [way] if way else []
    if not isinstance(value, dict | list):
        return found
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        found += ways(entry, (*way, key))
    return found


def damaged(good: Any, rng: random.Random) -> Any:
    """Progress with one or two parts replaced, taken away or moved."""
    data = json.loads(json.dumps(good))
    for _ in range(rng.choice([1, 1, 2])):
        *way, last = rng.choice(ways(data))
        node = data
        for key in way:
            node = node[key]
        chance = rng.random()
        if chance < 0.15:
            del node[last]
        elif chance < 0.25 and isinstance(node, dict):
            node[rng.choice(["new", "1", "7", "-1"])] = node[last]
        else:
            node[last] = rng.choice([*ODD, *ODD_PARTS])
    return data


@pytest.mark.parametrize(
    "director",
    [
        "scripted",
        "learning_progress",
        {"name": "plr", "score": "return", "warm_up": 2},
        {"name": "learnability", "over": "levels", "candidates": 2, "tries": 2, "best": 1},
        {"name": "self_paced", "period": 3},
        {"name": "alp_gmm", "period": 3, "components": [1, 2]},
    ],
    ids=str,
)
def test_damaged_progress_is_refused_or_can_be_gone_on_with(director: Any, tmp_path: Path) -> None:
    import piase_gym
    from piase_gym.curricula.learning_path import explain, headings, read_paths, table_rows
    from piase_gym.wrappers import CurriculumWrapper
    from tests.curricula import example_curricula

    lately = {"metric": "success_rate", "operator": ">=", "value": 0.5, "window": {"episodes": 3}}
    common = {"completion_criteria": [lately], "max_attempts": 6}
    rules = [["step_attempts >= 2", "APPLY_HINT_H"]]
    hints = {"H": {"data": {"message": "Go."}}}
    plan = example_curricula.curriculum(
        example_curricula.step(1, adaptation_rules=rules, hints=hints, **common),
        example_curricula.step(2, config={"width": 9, "goal_pos": [8, 0]}, **common),
    )
    path = tmp_path / "progress.json"

    def go_on() -> None:
        inner = piase_gym.parallel_env("GridWorld")
        config, space = inner.unwrapped.world.config, inner.observation_space("agent_0")
        try:
            env = CurriculumWrapper(inner, {"agent_0": plan}, progress=path, director=director)
        except ProgressError:
            assert inner.unwrapped.world.config == config
            assert inner.observation_space("agent_0") is space
            assert "curricula" not in inner.unwrapped.events.origin
            raise
        for _ in range(2):
            env.reset(seed=0)
            while env.agents:
                env.step({"agent_0": example_curricula.STAY})
        env.close()

    for _ in range(2):
        go_on()
    good, rng, refused = json.loads(path.read_bytes()), random.Random(1), 0
    for _ in range(120):
        wrong = json.dumps(damaged(good, rng)).encode()
        path.write_bytes(wrong)
        try:
            go_on()
        except ProgressError:
            refused += 1
            assert path.read_bytes() == wrong
            assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
        path.write_bytes(wrong)
        try:
            for learning_path in read_paths(path):
                assert [
                    *explain(learning_path),
                    *table_rows(learning_path, [1, 2]),
                    *headings(learning_path),
                ]
        except ProgressError:
            assert path.read_bytes() == wrong
    assert 60 < refused < 120
