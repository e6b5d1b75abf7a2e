"""The drop-in for InterCode's environment: its calls, its infos, its protocol."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.adapters.intercode import (
    SqlEnv,
    Summary,
    evaluate,
    read_log,
    replay,
    summarise,
)
from piase_gym.errors import ActionError, ConfigError, ResetNeededError, UnsupportedError
from tests.worlds.sql_query.intercode_files import (
    FILES,
    needs_files,
    needs_sqlglot,
    original,
    write_files,
)

LOGS = Path(os.environ.get("INTERCODE_LOGS", FILES.parent / "intercode_logs"))
"""Logs of InterCode's own evaluations, where they are at hand."""
TASKS: list[dict[str, Any]] = [
    {"db": "Shop", "query": "Which goods?", "gold": "SELECT Code FROM goods ORDER BY Code"},
    {"db": "Shop", "query": "Who?", "gold": "SELECT ID FROM Makers", "hardness": "hard"},
    {"db": "Shop", "query": "Nobody?", "gold": "SELECT ID FROM Makers WHERE ID > 9"},
]
GOODS = "SELECT Code FROM goods ORDER BY Code"

pytestmark = needs_sqlglot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("intercode"), tasks=TASKS)


@pytest.fixture
def env(folder: Path) -> SqlEnv:
    return SqlEnv("docker-env-sql", data_path=folder / "ic_small_dev.json", verbose=True)


def test_an_episode_is_as_in_intercode(env: SqlEnv) -> None:
    assert (env.name, len(env.data_loader)) == ("ic_sql", 3)
    assert env.reset(0) == ("Which goods?", {})
    assert (env.query, env.gold, env.query_idx) == ("Which goods?", GOODS, 0)
    assert env.record["db_tables"]["makers"] == ["ID", "Name", "Since"]
    assert env.step("submit") == (
        "Which goods?",
        0.0,
        True,
        {
            "agent_obs": "Which goods?",
            "eval_obs": "[('a',), ('b',)]",
            "corrupt_gold": False,
            "reward": 0.0,
            "action_executed": True,
        },
    )
    assert env.step("SELECT Code FROM goods ORDER BY Code DESC") == (
        [("b",), ("a",)], 0, False, {**env.info, "action_executed": True},
    )  # fmt: skip
    assert env.step("submit")[1] == -1.0
    assert env.step(GOODS + ";")[0] == [("a",), ("b",)]
    observation, reward, done, info = env.step("submit the answer")
    assert (observation, reward, done) == ([("a",), ("b",)], 1.0, True)
    assert info["agent_obs"] == info["eval_obs"] == "[('a',), ('b',)]"
    observation, reward, done, info = env.step("SELECT x FROM goods")
    assert observation.startswith("Error executing query: ")
    assert (reward, done, info["action_executed"]) == (0, False, False)
    assert env.step("submit")[1] == 0.0
    assert env.step("USE shop")[::2] == (None, False)
    assert env.step("submit")[1] == 0.0
    assert env.step("skip") == ("skipped", 0, True, {})
    assert env.get_available_actions() is None
    assert [action for action, _ in env.trajectory][-1] == "submit"


def test_tasks_are_told_as_their_file_tells_them(tmp_path: Path) -> None:
    more = {"db_tables": {"Goods": ["Code"]}, "evidence": "codes name goods", "note": None}
    write_files(tmp_path, tasks=[{**TASKS[1], **more}, TASKS[0]])
    first, second = SqlEnv(data_path=tmp_path).data_loader
    assert first == {**TASKS[1], "db_tables": more["db_tables"], "evidence": more["evidence"]}
    assert (second["hardness"], [*second["db_tables"]]) == ("easy", ["goods", "makers"])


@needs_files
def test_tasks_of_intercode_are_told_as_its_data_loader_tells_them() -> None:
    told = json.loads((FILES / "ic_spider_dev.json").read_text())
    assert list(SqlEnv(dataset=original()).data_loader) == told


def test_no_rows_are_right_where_there_are_none(env: SqlEnv) -> None:
    env.reset(2)
    assert env.step("submit")[1] == 0.0
    env.step("SELECT 1 WHERE 0")
    assert env.step("submit")[1] == 1.0


def test_reset_without_an_index_chooses(folder: Path) -> None:
    chosen = []
    for _ in range(2):
        env = SqlEnv(data_path=folder, seed=3)
        chosen.append([env.reset()[0] for _ in range(12)])
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) == 3


def test_preprocess_is_run(folder: Path) -> None:
    def use(record: dict[str, Any]) -> list[str]:
        return [f"use {record['db']}"]

    env = SqlEnv(data_path=folder, preprocess=use)
    assert env.reset(0) == (None, {"action_executed": True})
    env = SqlEnv(data_path=folder, preprocess=lambda record: ["use bank"])
    with pytest.raises(UnsupportedError, match=r"cannot run 'use bank': .*Unknown database"):
        env.reset(0)
    with pytest.raises(ResetNeededError):
        env.step("SELECT 1")


def test_a_trajectory_is_saved(folder: Path, tmp_path: Path) -> None:
    env = SqlEnv(data_path=folder, traj_dir=tmp_path)
    env.reset(0)
    env.step(GOODS)
    env.step("submit")
    (path,) = (tmp_path / "logs_ic_sql").glob("log_*.json")
    found = json.loads(path.read_text())
    assert found["trajectory"] == [
        {"action": GOODS, "observation": "('a',)('b',)"},
        {"action": "submit", "observation": "None"},
    ]
    assert (found["environment"], found["query_idx"], found["reward"]) == ("ic_sql", 0, 1.0)
    assert (found["query"], found["gold"]) == ("Which goods?", GOODS)
    assert found["info"]["eval_obs"] == "[('a',), ('b',)]"


def test_what_is_wrong_is_said(env: SqlEnv, folder: Path) -> None:
    with pytest.raises(ResetNeededError):
        env.step("SELECT 1")
    for index in (3, -4, "0", 0.0):
        with pytest.raises(ConfigError, match="there are 3"):
            env.reset(index)  # type: ignore[arg-type]
    env.reset(np.int64(0))  # type: ignore[arg-type]
    assert env.reset(-1)[0] == env.data_loader.get(2)["query"]
    with pytest.raises(ActionError, match="an action is a text, not int"):
        env.step(3)  # type: ignore[arg-type]
    for options in ({}, {"data_path": folder, "dataset": env.dataset}):
        with pytest.raises(ConfigError, match="give one"):
            SqlEnv(**options)
    with pytest.raises(ConfigError, match="cannot read"):
        SqlEnv(data_path=folder, dump=folder / "none.sql")
    with pytest.raises(ConfigError, match="turns must be at least 1, not 0"):
        evaluate(Scripted(["skip"]), env, turns=0)
    with pytest.raises(ConfigError, match="turns must be at least 1, not 'many'"):
        evaluate(Scripted(["skip"]), env, turns="many")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown answer 'last'"):
        evaluate(Scripted(["skip"]), env, answer="last")  # type: ignore[arg-type]
    with pytest.raises(ActionError, match="an action is a text, not int"):
        evaluate(Scripted([3]), env, [0])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="unknown mode 'strict'"):
        SqlEnv(dataset=env.dataset, mode="strict")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="seed 'x' is not allowed"):
        SqlEnv(dataset=env.dataset, seed="x")  # type: ignore[arg-type]


def test_an_evaluation_that_fails_leaves_no_episode_open(env: SqlEnv) -> None:
    def fail(*_: Any) -> str:
        raise ValueError("no idea")

    with pytest.raises(ValueError, match="no idea"):
        evaluate(fail, env, [0])
    with pytest.raises(ResetNeededError):
        env.step("SELECT 1")


class Scripted:
    """Plays given actions, and keeps what it was told."""

    def __init__(self, *scripts: list[str | None]) -> None:
        self.scripts, self.told = list(scripts), []  # type: ignore[var-annotated]

    def reset(self) -> None:
        self.left = iter(self.scripts.pop(0))

    def __call__(self, query: str, observation: Any, reward: float | None) -> str | None:
        self.told.append((query, observation, reward))
        return next(self.left)


def test_the_protocol_keeps_the_best_of_all_turns(env: SqlEnv) -> None:
    player = Scripted(
        ["SELECT nothing", "SELECT Code FROM goods LIMIT 1", None, GOODS, "unused"],
        ["SELECT ID FROM makers LIMIT 2", "SELECT 7", "SELECT 8"],
        ["SELECT 1", "skip", "unused"],
    )
    found = evaluate(player, env, turns=3)
    assert player.told[:3] == [
        ("Which goods?", None, None),
        ("Which goods?", player.told[1][1], 0.0),
        ("Which goods?", [("a",)], 0.5),
    ]
    assert found["0"]["turn_history"]["rewards"] == [0.0, 0.5, 0.0]
    assert found["0"]["turn_history"]["valid_action"] == [False, True, False]
    assert found["0"]["summary"] == {
        "max_reward": 0.5, "max_reward_idx": 1, "turns_taken": 3, "turns_max": 3,
    }  # fmt: skip
    assert found["1"]["turn_history"]["rewards"] == [0.67, 0.0, 0.0]
    assert found["2"]["turn_history"]["actions"] == ["SELECT 1", "skip"]
    assert found["2"]["summary"]["max_reward"] == 0.0
    assert summarise(found) == {
        "easy": Summary(2, 0.0, 0.25, 2.5, 2 / 5),
        "hard": Summary(1, 0.0, 0.67, 3.0, 0.0),
        "all": Summary(3, 0.0, pytest.approx(1.17 / 3), pytest.approx(8 / 3), 2 / 8),
    }
    won = evaluate(Scripted(["SELECT 1", GOODS, "unused"]), env, [0])
    assert won["0"]["summary"]["turns_taken"] == 2
    assert summarise(won)["all"].success == 1.0


def test_a_log_is_played_again(env: SqlEnv, tmp_path: Path) -> None:
    episodes = evaluate(
        Scripted(["SELECT 1", GOODS], ["SELECT 5", "SELECT 6"]), env, [0, 1], turns=2
    )
    del episodes["1"]
    react = {"0": {**episodes["0"], "turn_history": {"actions": [f"execute[{GOODS}]"]}}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(episodes))
    assert replay(path, env) == read_log(path) == episodes
    path.write_text(json.dumps(react))
    assert replay(path, env)["0"]["summary"]["max_reward"] == 1.0
    for text, told in (
        ("[]", "is no log"),
        ('{"0": {}}', "is no log of episodes with task_id"),
        ('{"0', "cannot read"),
        (json.dumps({"0": {**episodes["0"], "task_id": 7}}), "has a task 7"),
        (json.dumps({"0": {**episodes["0"], "task_id": "first"}}), "is no log"),
        (json.dumps({"0": {**episodes["0"], "turn_history": []}}), "is no log"),
        (json.dumps({"0": {**episodes["0"], "turn_history": {"actions": 1}}}), "is no log"),
        (json.dumps({"0": {**episodes["0"], "summary": {}}}), "is no log"),
        (json.dumps({"0": {k: v for k, v in react["0"].items() if k != "query"}}), "is no log"),
        (json.dumps({"0": {**episodes["0"], "query": "?"}}), "another question"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=told):
            replay(path, env)


def test_of_a_log_of_react_what_is_submitted_counts(env: SqlEnv, tmp_path: Path) -> None:
    right, wrong = f"execute[{GOODS}; SELECT 1]\nObservation 2", "execute[SELECT 5]"
    told = {"task_id": 0, "query": "Which goods?", "summary": {"max_reward": 0.0}}
    path = tmp_path / "log.json"
    late = "EXCEEDED MAX TURNS: submit"
    for actions, rewards, taken in (
        ([right, "I think so", "submit"], [0.0, 0.0, 1.0], 3),
        ([right, wrong, "submit"], [0.0, 0.0, 0.0], 3),
        ([wrong, f"I will {right}", "submit"], [0.0, 0.0, 1.0], 3),
        ([wrong, right.capitalize(), "submit"], [0.0, 0.0, 0.0], 3),  # InterCode does not read it
        ([wrong, right, late], [0.0, 0.0, 1.0], 2),
        ([right.replace(" ", "\n"), "submit"], [0.0, 1.0], 2),
        ([late], [0.0], 1),
    ):
        history = {"thoughts": actions, "actions": [*actions[:-1], "submit"]}
        path.write_text(json.dumps({"0": {**told, "turn_history": history}}))
        found = replay(path, env)["0"]
        assert found["turn_history"]["rewards"] == rewards
        assert found["summary"]["max_reward"] == rewards[-1]
        assert found["summary"]["turns_taken"] == taken


def test_where_what_is_submitted_counts_the_last_turn_is_followed_by_a_submission(
    env: SqlEnv,
) -> None:
    player = Scripted([GOODS, "SELECT 1", GOODS], [GOODS, "submit"], [GOODS, "skip"])
    found = evaluate(player, env, [0], turns=3, answer="submitted")["0"]
    assert found["turn_history"]["actions"] == [GOODS, "SELECT 1", GOODS, "submit"]
    assert found["turn_history"]["rewards"] == [0.0, 0.0, 0.0, 1.0]
    assert (found["summary"]["max_reward"], found["summary"]["turns_taken"]) == (1.0, 3)
    for rewards in ([0.0, 1.0], [0.0, 0.0]):
        found = evaluate(player, env, [0], turns=2, answer="submitted")["0"]
        assert found["turn_history"]["rewards"] == rewards


def test_logs_of_plans_are_read(env: SqlEnv, tmp_path: Path) -> None:
    episode = {
        "task_id": 0,
        "query": "Which goods?",
        "turn_history": {"actions": ["SELECT 1", GOODS], "rewards": [0.0, 1.0], "steps": ["", ""]},
        "summary": {"max_reward": 1.0, "max_reward_idx": 1},
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"meta": {"env": "sql"}, "logs": {"0": episode}}))
    assert read_log(path) == {"0": episode}
    assert summarise(read_log(path))["all"][:4] == (1, 1.0, 1.0, 2.0)
    assert replay(path, env)["0"]["turn_history"]["rewards"] == [0.0, 1.0]


@needs_files
@pytest.mark.skipif(not LOGS.exists(), reason="no logs of InterCode (INTERCODE_LOGS says where)")
@pytest.mark.parametrize("name", ["gpt-4_1_turns", "text-bison-001_10_turns"])
def test_published_logs_have_the_published_results(name: str) -> None:
    (log,) = LOGS.rglob(f"ic_sql_multiturn_{name}.json")
    env = SqlEnv(dataset=original(), mode="order_aware")
    found, told = replay(log, env), read_log(log)
    differ = [
        key
        for key in found
        if (found[key]["summary"]["max_reward"] == 1) != (told[key]["summary"]["max_reward"] == 1)
    ]
    assert len(differ) <= 5, differ
