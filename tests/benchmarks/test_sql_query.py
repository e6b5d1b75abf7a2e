"""What is measured of SqlQuery, and how it is told."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from piase_gym.adapters.intercode import SqlEnv, evaluate
from piase_gym.benchmarks.speed import sql_query
from piase_gym.benchmarks.speed.sql_query import PASSES, again, gold_rates, own_questions
from piase_gym.errors import ConfigError
from piase_gym.worlds.sql_query.rules.hardness import hardness


def test_gold_queries_of_own_questions_are_right_and_as_hard_as_they_say() -> None:
    dataset = own_questions(12)
    assert len(dataset.tasks) == len(dataset.databases) == 12
    assert [hardness(task.gold) for task in dataset.tasks] == [t.hardness for t in dataset.tasks]
    rates = gold_rates(dataset)
    assert list(rates) == list(PASSES)
    assert rates["all known"] > rates["nothing known"] > 0
    wrong = dataclasses.replace(dataset.tasks[0], gold="SELECT nothing")
    with pytest.raises(RuntimeError, match="the gold query of task 0 is not worth 1"):
        gold_rates(dataclasses.replace(dataset, tasks=(wrong,)))


def test_a_log_is_compared_with_what_its_actions_come_to(tmp_path: Path) -> None:
    dataset = own_questions(4)
    golds = iter([dataset.tasks[0].gold, "SELECT 'x'", dataset.tasks[2].gold, "nonsense"])
    episodes = evaluate(lambda *_: next(golds), SqlEnv(dataset=dataset), turns=1)
    episodes["1"]["summary"]["max_reward"] = 1.0  # another engine said so
    path = tmp_path / "log.json"
    path.write_text(json.dumps(episodes))
    row = again(path, dataset)
    assert row["episodes"] == 4
    assert row["published"]["all"]["success"] == 0.75
    assert row["published"]["all"]["errors"] == 0.25
    for mode in ("original", "order_aware"):
        assert row["here"][mode]["levels"]["all"]["success"] == 0.5
        assert row["here"][mode]["agreement"] == 0.75
    with pytest.raises(ConfigError, match="give files as well"):
        sql_query.measure_all(logs=str(tmp_path))


def test_what_was_measured_is_told() -> None:
    level = {"episodes": 2, "success": 0.5, "score": 0.5, "turns": 3.0, "errors": 0.125}
    levels = dict.fromkeys(("easy", "medium", "hard", "extra", "all"), level)
    here = {"agreement": 0.975, "levels": {"all": {**level, "success": 0.25}}}
    found: dict[str, Any] = {
        "rates": {"own questions": dict(zip(PASSES, (1000.0, 2000.4, 3e4), strict=True))},
        "sizes": {"own questions": 1300},
        "logs": {
            "model 1": {
                "published": levels,
                "here": {"original": here, "order_aware": here},
                "episodes": 2,
                "replies": 0.625,
            }
        },
        "server": {"equal": ["1", "2"], "other": ["3"]},
        "machine": "a machine",
        "versions": dict.fromkeys(("piase_gym", "python", "numpy", "numba"), "1.0"),
        "load": [0.0, 0.0],
    }
    parts = {name: part.markdown() for name, part in sql_query.sections(found).items()}
    assert "| 1,300 own questions | 1,000 | 2,000 | 30,000 |" in parts["speed"]
    published = "| model 1 | 50.0 | 50.0 | 50.0 | 50.0 | 50.0 | 3.0 | 12.5 |"
    assert published in parts["published"]
    assert "| model 1 | 50.0 | 25.0 | 25.0 | 97.5 | 62.5 |" in parts["here"]
    assert "| the same rows in the same order | 2 |" in parts["server"]
    assert "| refused by the server" in parts["server"]
