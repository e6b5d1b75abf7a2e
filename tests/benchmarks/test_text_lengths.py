"""How long texts are: stored for every id, and short."""

from __future__ import annotations

import json
from typing import Any

import pytest

from piase_gym.benchmarks.speed import text_lengths
from piase_gym.benchmarks.speed.text_lengths import MOST, PLAYERS, lengths_of, tasks, texts_of
from tests.helpers.needs import each

STORED: dict[str, Any] = json.loads(text_lengths.FILE.read_text("utf-8"))


def test_every_id_is_measured_and_short() -> None:
    assert set(tasks()) <= set(STORED)
    means = {task: [row[player]["mean"] for player in PLAYERS] for task, row in STORED.items()}
    assert {task: mean for task, mean in means.items() if max(mean) > MOST} == {}
    assert all(row["prompt"] < 900 for row in STORED.values())


@pytest.mark.parametrize(
    "task",
    each(
        [
            "piase/GridWorld-DoorKey-8x8-v1",
            "piase/Household-Hard-v4",
            "piase/ObjectSearch-Room-v3",
            "piase/SqlQuery-Extra-v3",
            "piase/SocialDilemma-PrisonersDilemma-v1",
            "piase/TextRoom-Quest-Hard-v3",
            "piase/WordCraft-Depth2-v2",
        ]
    ),
)
def test_what_is_stored_is_what_is_played(task: str) -> None:
    row = STORED[task]
    assert {player: lengths_of(task, named) for player, named in PLAYERS.items()} == {
        player: row[player] for player in PLAYERS
    }
    texts = texts_of(task, row["well"]["policy"], 0)
    assert all(text.startswith("Last step: ") for text in texts[-1:])
    shown = text_lengths.sections({task: row})["text_lengths"].markdown()
    assert f"{row['well']['mean']:.0f}" in shown
