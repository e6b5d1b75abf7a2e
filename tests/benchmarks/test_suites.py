"""Rows of suites: with whom they are played, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks.evaluation.suites import (
    Row,
    Suite,
    expand,
    read_suite,
    smoke,
    standard,
)
from piase_gym.errors import ProtocolError, SuiteError, UnknownNameError
from tests import probes

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


def test_a_pattern_may_leave_out_one_letter_or_name_several() -> None:
    for pattern in ("?x?", "[68]x*"):
        found = expand(Row(task=f"piase/GridWorld-DoorKey-{pattern}-v1"), "dev")
        assert [setting.task[-6:-3] for setting in found] == ["6x6", "8x8"]


def test_what_a_row_changes_is_told_in_the_order_of_the_alphabet() -> None:
    row = Row(task=TEAM, config={"width": 9, "agents": 3}, focal=2, partners=("noop",))
    (setting,) = expand(row, "dev")
    assert setting.label == f"{TEAM} (agents=3, width=9) with noop"
    assert setting.name == "GridWorld-Foraging-8x8-2p-v1-agents-3-width-9"
    assert setting.config == {**expand(Row(task=TEAM), "dev")[0].config, **row.config}
    assert (setting.focal, setting.partner, len(setting.agents)) == (2, "noop", 3)


@pytest.mark.parametrize("focal", [0, 2, 3])
def test_a_policy_has_a_seat_and_so_has_its_partner(focal: int) -> None:
    with pytest.raises(SuiteError, match=f"focal={focal} leaves no partner among 2 agents"):
        expand(Row(task=TEAM, focal=focal, partners=("noop",)), "dev")


def test_seats_and_partners_are_named_together_or_not_at_all() -> None:
    for partners in ("partners", "held_out_partners"):
        some: dict[str, Any] = {partners: ("noop",)}
        assert Row(task=TEAM, focal=1, **some).focal == 1
        with pytest.raises(SuiteError, match="partners need focal="):
            Row(task=TEAM, **some)
    with pytest.raises(SuiteError, match="focal=1 needs partners for the other seats"):
        Row(task=TEAM, focal=1)


def test_without_an_oracle_the_script_is_the_best_of_a_world() -> None:
    probes.register()
    best = [expand(Row(task="probe/Point-v0", high=h), "dev")[0].high for h in ("oracle", "random")]
    assert best == ["scripted", "random"]


def test_rows_that_come_to_the_same_are_one_setting() -> None:
    settings, problems = Suite(name="s", rows=(Row(task=TEAM), Row(task=TEAM))).settings()
    assert ([setting.label for setting in settings], problems) == ([TEAM], [])


def test_what_is_held_out_is_played_by_who_asks_for_it() -> None:
    held_out = "piase/GridWorld-DoorKey-16x16-v1"
    assert [s.label for s in read_suite(held_out).settings("dev")[0]] == [held_out]
    assert held_out not in [s.label for s in standard().settings("dev")[0]]


def test_a_suite_is_called_by_what_it_was_asked_for() -> None:
    asked = [TEAM, Row(task=TEAM), Row(task=TEAM, label="mine"), [TEAM], "smoke", smoke()]
    names = [read_suite(suite).name for suite in asked]  # type: ignore[arg-type]
    assert names == [TEAM, TEAM, "mine", "own", "smoke", "smoke"]


def test_what_is_reported_are_a_hundred_episodes_that_nobody_has_trained_on() -> None:
    suites = [(s.episodes, s.split) for s in (standard(), smoke(), Suite(name="own", rows=()))]
    assert suites == [(100, "held_out"), (20, "dev"), (20, "dev")]


# -- manifests ----------------------------------------------------------------------------


def test_a_manifest_may_name_tasks_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    row = {"task": TEAM, "focal": 1, "partners": ["noop"]}
    path.write_text(json.dumps({"protocol": 1, "rows": [TEAM, row]}))
    declared = read_suite(TEAM).rows
    rows = (*declared, Row(task=TEAM, focal=1, partners=("noop",)))
    assert read_suite(path) == read_suite(str(path)) == Suite(name="mine", rows=rows)
    named = {"protocol": 1, "rows": [], "name": "ours", "split": "held_out", "episodes": 7}
    path.write_text(json.dumps(named))
    assert read_suite(path) == Suite(name="ours", rows=(), split="held_out", episodes=7)


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ([], "a manifest is a mapping with a key 'rows'"),
        ({"protocol": 1}, "a manifest is a mapping with a key 'rows'"),
        ({"rows": TEAM}, "a key 'rows', which is a list"),
        ({"rows": [3]}, "a row is a mapping with a key 'task', not 3"),
        ({"rows": [{"focal": 1}]}, "a row is a mapping with a key 'task'"),
        (
            {"rows": [{"task": TEAM, "focl": 1}]},
            "unknown key 'focl' in a row; did you mean",
        ),
        (
            {"rows": [{"task": TEAM, "focal": 1, "partners": "noop"}]},
            r"partners of a row: .* \(got 'noop'\)",
        ),
        ({"rows": [{"task": TEAM, "focal": "1"}]}, r"focal of a row: .* \(got '1'\)"),
        ({"rows": [{"task": TEAM, "config": []}]}, "config of a row: "),
        ({"rows": [], "episodes": 0}, "mine.json: episodes must be an integer from 1 to 1000"),
        ({"rows": [], "episodes": 1001}, "mine.json: episodes must be an integer from 1 to 1000"),
        ({"rows": [], "split": "held_ot"}, "unknown split 'held_ot'; did you mean 'held_out'"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_told(manifest: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    whole = {"protocol": 1, **manifest} if manifest else manifest
    path.write_text(json.dumps(whole))
    with pytest.raises(SuiteError, match=told) as caught:
        read_suite(path)
    assert str(path) in str(caught.value)


def test_a_manifest_of_another_protocol_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"protocol": 2, "rows": []}')
    with pytest.raises(ProtocolError, match="is of protocol 2; allowed here: 1"):
        read_suite(path)


def test_a_task_alone_is_played_as_its_row_says() -> None:
    by_pattern = "piase/GridWorld-Empty-Random-5x5-v1"
    by_name = "piase/GridWorld-Orchard-12x12-4p-v1"
    for name in (by_pattern, f"piase_gym:{by_pattern}"):
        assert read_suite([name]).rows == (Row(task=by_pattern, certified=True),)
    assert read_suite(by_name).rows == (Row(task=by_name, without=("scripted",)),)
    in_none = "piase/GridWorld-Empty-5x5-v1"
    assert read_suite(in_none).rows == (Row(task=in_none),)
