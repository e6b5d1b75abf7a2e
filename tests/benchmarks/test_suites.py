"""Rows of suites: with whom they are played, and where."""

from __future__ import annotations

import pytest

from piase_gym.benchmarks.evaluation.suites import Row, expand
from piase_gym.errors import UnknownNameError

TEAM = "piase/GridWorld-Foraging-8x8-2p-v1"


def partners(row: Row, split: str) -> list[str]:
    """Return the partners of the settings of a row."""
    return [setting.label.partition(" with ")[2] for setting in expand(row, split)]


@pytest.mark.parametrize(
    ("split", "expected"),
    [("train", ["noop"]), ("dev", ["noop"]), ("held_out", ["random"]), ("new_levels", ["random"])],
)
def test_held_out_partners_are_met_in_what_is_reported_alone(
    split: str, expected: list[str]
) -> None:
    row = Row(task=TEAM, focal=1, partners=("noop",), held_out_partners=("random",))
    assert partners(row, split) == expected


def test_partners_are_met_everywhere_where_none_is_held_out() -> None:
    row = Row(task=TEAM, focal=1, partners=("noop", "random"))
    for split in ("dev", "held_out"):
        assert partners(row, split) == ["noop", "random"]


def test_a_row_of_many_ids_is_a_setting_each_and_an_unknown_id_is_refused() -> None:
    found = expand(Row(task="piase/GridWorld-DoorKey-*"), "dev")
    assert [setting.task for setting in found] == [
        f"piase/GridWorld-DoorKey-{size}-v1" for size in ("16x16", "6x6", "8x8")
    ]
    with pytest.raises(UnknownNameError, match="DoorKeys"):
        expand(Row(task="piase/GridWorld-DoorKeys-*"), "dev")
