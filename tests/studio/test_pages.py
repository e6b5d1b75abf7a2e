"""The pages of the studio, as a browser without a screen meets them."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui")

from nicegui import ui
from nicegui.testing import User

import piase_gym
from piase_gym import curricula
from piase_gym.curricula import simulated_learner
from piase_gym.studio import curriculum_page, layout, playback, training_page
from piase_gym.wrappers import AvtLogger
from tests.studio.test_workspace import SCENARIO, put
from tests.studio.visits import PATIENCE, listener, one, press, see, studio, visit

BRANCHES = """{"name": "Back and forth", "world": "GridWorld", "steps": [
  {"order": 1, "name": "Walk [far] \\"on\\"", "episodes_per_attempt": 2,
   "completion_criteria": [{"metric": "success_rate", "operator": ">=", "value": 0.5}],
   "environment_config_overrides": {"width": 4, "height": 4, "max_steps": 40},
   "adaptation_rules": [["step_attempts >= 4", "FAIL_CURRICULUM"]]},
  {"order": 2, "name": "Further",
   "adaptation_rules": [["success_rate < 0.2", "BRANCH_TO_1"], ["step_attempts >= 2", "PROCEED"]],
   "environment_config_overrides": {"width": 5, "height": 5, "max_steps": 60}}]}"""


# -- runs ---------------------------------------------------------------------------------


def test_a_run_is_found_and_shown_step_by_step(tmp_path: Path) -> None:
    env: Any = AvtLogger(piase_gym.parallel_env("GridWorld", agents=2), tmp_path / "two.jsonl")
    for seed in (1, 2):
        env.reset(seed=seed)
        env.step({"agent_0": 0, "agent_1": 1})
        env.step({"agent_0": 4, "agent_1": 4})
    env.close()
    begun: Any = AvtLogger(piase_gym.parallel_env("GridWorld"), tmp_path / "one" / "begun.jsonl")
    begun.reset(seed=1)
    begun.close()

    async def steps(user: User) -> None:
        await user.open("/runs")
        await user.should_see(kind=ui.table, retries=PATIENCE)
        [table] = user.find(kind=ui.table).elements
        assert [row["name"] for row in table.rows] == ["one/begun.jsonl", "two.jsonl"]
        await user.open("/run?name=one/begun.jsonl")
        await see(user, "step 0 of 0")
        [slider] = user.find(kind=ui.slider).elements
        assert not slider.enabled
        await user.open("/run?name=two.jsonl")
        await see(user, "the episode begins", "seed 2, 2 steps")
        press(user, "chevron_right")
        await see(user, "move north", "move south")
        press(user, "chevron_right")
        await see(user, "stay", "step 2 of 2")
        press(user, "chevron_left")
        await see(user, "move north", "step 1 of 2")
        press(user, "play_arrow")
        await see(user, "step 2 of 2")
        await user.should_see(kind=ui.button, content="play_arrow", retries=PATIENCE)
        press(user, "play_arrow")  # from the beginning, for it is over
        await see(user, "the episode begins", "step 0 of 2", "step 1 of 2", "step 2 of 2")
        one(user, ui.select, "episode, one of 2").value = 0
        await see(user, "the episode begins")
        press(user, "Replay")
        await see(user, "equal")
        press(user, "Validate")
        await see(user, "sound")

    visit(tmp_path, steps)


def test_of_two_episodes_chosen_at_once_the_last_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env: Any = AvtLogger(piase_gym.parallel_env("GridWorld"), tmp_path / "run.jsonl")
    for seed in (1, 2, 3):
        env.reset(seed=seed)
        for _ in range(seed):
            env.step({"agent_0": 4})
    env.close()
    monkeypatch.setattr(playback, "MOST_MOMENTS", 3)

    async def steps(user: User) -> None:
        await user.open("/run?name=run.jsonl")
        await see(user, "step 0 of 2; not shown are those up to 3")
        choice = one(user, ui.select, "episode, one of 3")
        for value in (0, 1, 0, 1):
            choice.value = value
            await asyncio.sleep(0.01)
        await user.should_not_see("not shown are", retries=PATIENCE)
        await see(user, "step 0 of 2")
        await asyncio.sleep(0.5)  # in which it could be laid out once more
        assert len(user.find(kind=ui.slider).elements) == 1
        await user.should_not_see("not shown are")
        await user.should_not_see("This should not have happened")
        [chart] = user.find(kind=ui.echart).elements
        keys = ("seriesType", "seriesIndex", "seriesName", "name", "data", "value")
        point = {**dict.fromkeys(keys), "componentType": "series", "dataIndex": 0}
        chart._handle_event({"listener_id": listener(chart, "componentClick"), "args": point})
        await see(user, "step 0 of 1")

    visit(tmp_path, steps)


def test_a_run_that_cannot_be_shown_says_why(tmp_path: Path) -> None:
    put(tmp_path, "broken.jsonl", "{}\n")
    env: Any = AvtLogger(
        piase_gym.parallel_env("GridWorld"), tmp_path / "few.jsonl", level="critical"
    )
    env.reset(seed=1)
    env.close()

    async def steps(user: User) -> None:
        for name, words in (
            ("broken.jsonl", "line 1"),
            ("none.jsonl", "none.jsonl"),
            ("few.jsonl", "leaves out the steps"),
            ("../x.jsonl", "only what is in it"),
        ):
            await user.open(f"/run?name={name}")
            await see(user, words)
        await user.open("/run?name=few.jsonl")
        await see(user, "Validate")
        press(user, "Validate")
        await see(user, "sound")

    visit(tmp_path, steps)


# -- curricula and trainings --------------------------------------------------------------


def test_a_curriculum_is_read_changed_checked_and_saved(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/curricula")
        await see(user, "Shipped with piase_gym", "Doors and keys")
        await user.open("/curriculum?name=door_key")
        await see(user, "Doors and keys", "1. Cross the room")
        [editor] = user.find(kind=ui.codemirror).elements
        editor.value = editor.value.replace('"order": 2', '"order": 1', 1)
        press(user, "Check")
        await see(user, "door_key:")
        editor.value = BRANCHES
        press(user, "Check")
        await see(user, "Back and forth", "2. Further")
        one(user, ui.input, "save as").value = "own.json"
        press(user, "Save")
        await see(user, "2. Further")

    visit(tmp_path, steps)
    assert (tmp_path / "own.json").read_text() == BRANCHES


def test_a_curriculum_in_yaml_or_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    put(tmp_path, "own.yaml", "name: Mine\nsteps:\n- {order: 1, name: Walk}\n")
    put(tmp_path, "own.json", "\ufeff" + BRANCHES)

    async def steps(user: User) -> None:
        await user.open("/curriculum?name=own.yaml")
        await see(user, "1 step in any world")
        [editor] = user.find(kind=ui.codemirror).elements
        editor.value = "name: Mine\nsteps: [\n"
        press(user, "Check")
        await see(user, "own.yaml:3:1: this is not YAML")
        await user.open("/curriculum?name=own.json")
        await see(user, "Back and forth", "2 steps in GridWorld")

    visit(tmp_path, steps)


def test_a_simulated_learner_is_sent_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curriculum_page, "MOST_EPISODES", 30)
    put(tmp_path, "own.json", BRANCHES)
    truth = simulated_learner.simulate(curricula.loads(BRANCHES), 1.0, most=30)

    async def steps(user: User) -> None:
        await user.open("/curriculum?name=own.json")
        await see(user, "Send a simulated learner through")
        skill, _ = sorted(user.find(kind=ui.slider).elements, key=lambda slider: slider.id)
        skill.value = 1.0
        press(user, "Send")
        await see(user, f"{truth.episodes} episodes; the skill is 1.00")
        await see(user, f"{truth.path.end:,} environment steps")
        [editor] = user.find(kind=ui.codemirror).elements
        editor.value = "[]"
        sent: list[object] = []
        monkeypatch.setattr(simulated_learner, "simulate", sent.append)
        press(user, "Send")
        await see(user, "a curriculum is a mapping of keys")
        await asyncio.sleep(0.2)
        assert not sent  # not through the one that was read before

    visit(tmp_path, steps)
    assert truth.path.outcome == "finished"


def test_the_ways_through_a_curriculum() -> None:
    assert curriculum_page.ways(curricula.loads(BRANCHES)).splitlines() == [
        "flowchart LR",
        '  s1["1 · Walk far on"]',
        '  s2["2 · Further"]',
        "  s1 --> s2",
        '  s1 -. "step_attempts ≥ 4" .-> failed',
        '  s2 -. "success_rate ‹ 0.2" .-> s1',
    ]


def test_a_training_is_followed_while_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.wrappers import CurriculumWrapper

    env = CurriculumWrapper(
        piase_gym.parallel_env("GridWorld"),
        {"agent_0": curricula.loads(BRANCHES)},
        progress=tmp_path / "run" / "progress.json",
    )
    env.reset(seed=0)

    def episode() -> None:
        while env.agents:
            env.step({"agent_0": 0})
        env.reset()

    episode()
    episode()

    async def steps(user: User) -> None:
        await user.open("/runs")
        await see(user, "Trainings through a curriculum")
        user.find("run").click()
        await see(user, "agent_0 in “Back and forth”, which goes on")
        [table] = user.find(kind=ui.table).elements
        before = [row["attempts"] for row in table.rows]
        for _ in range(6):
            episode()
        await see(user, "which is failed")
        [table] = user.find(kind=ui.table).elements
        assert [row["attempts"] for row in table.rows] != before

    visit(tmp_path, steps)


def test_the_chart_of_a_training_has_room_for_all_that_is_judged_by() -> None:
    path = simulated_learner.simulate(curricula.loads(BRANCHES), 1.0, most=30).path
    *_, judged = training_page.path_chart(path)["yAxis"]
    assert (judged["min"], judged["max"]) == (0, 1)
    move = path.moves[0]
    decision = dataclasses.replace(move.decision, values={path.judged_by: -7.5})
    path.moves[0] = dataclasses.replace(move, decision=decision)
    *_, judged = training_page.path_chart(path)["yAxis"]
    assert "min" not in judged


# -- scenarios ----------------------------------------------------------------------------


def test_a_scenario_is_read_changed_drawn_saved_and_played(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/scenarios")
        await see(user, "The Lost Key")
        await user.open("/scenario?name=grid_rooms")
        await see(user, "GridWorld, agents")
        press(user, "Draw the first state")
        await see(user, "The first state")
        [editor] = user.find(kind=ui.codemirror).elements
        editor.value = "scenario_name: Mine\nenvironment_type: Nowhere\n"
        press(user, "Check")
        await see(user, "Nowhere")
        editor.value = SCENARIO
        press(user, "Check")
        await see(user, "nothing is wrong with it")
        one(user, ui.input, "save as").value = "deep/room.yaml"
        press(user, "Save")
        await see(user, "wrote")
        await user.open("/scenario?name=deep/room.yaml")
        await see(user, "Mine")
        press(user, "Play")
        await see(user, "What agent_0 reads", "5 columns")
        [table] = user.find(kind=ui.table).elements
        assert [row["value"] for row in table.rows if row["key"] == "width"] == ["5"]

    visit(tmp_path, steps)
    assert (tmp_path / "deep" / "room.yaml").read_text() == SCENARIO


def test_a_file_is_not_overwritten_unawares(tmp_path: Path) -> None:
    put(tmp_path, "room.yaml", SCENARIO)

    async def steps(user: User) -> None:
        await user.open("/scenario?name=room.yaml")
        await see(user, "Mine")
        [editor] = user.find(kind=ui.codemirror).elements
        editor.value = SCENARIO.replace("Mine", "Yours")
        press(user, "Save")
        await see(user, "exists")
        assert (tmp_path / "room.yaml").read_text() == SCENARIO
        [switch] = user.find(kind=ui.switch).elements
        switch.value = True
        press(user, "Save")
        await see(user, "Yours")

    visit(tmp_path, steps)
    assert "Yours" in (tmp_path / "room.yaml").read_text()


# -- what all pages share -----------------------------------------------------------------


def test_an_error_of_a_timer_is_told_once(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        failed: list[int] = []

        def fail() -> None:
            failed.append(1)
            raise ValueError("an odd thing")

        @ui.page("/timer")
        def page() -> None:
            with layout.frame("Timer"):
                ui.timer(0.02, fail)

        await user.open("/timer")
        while len(failed) < 5:
            await asyncio.sleep(0.02)
        said = "This should not have happened: ValueError: an odd thing"
        assert user.notify.messages == [said]

    visit(tmp_path, steps)


def test_what_a_page_has_made_is_closed_when_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    told: list[str] = []

    class Thing:
        def __init__(self) -> None:
            told.append(f"made in {threading.current_thread().name}")

        def close(self) -> None:
            told.append(f"closed in {threading.current_thread().name}")

    async def whole() -> None:
        async with studio(tmp_path) as user:
            pages: list[layout.PageThread] = []

            @ui.page("/thing")
            async def page() -> None:
                pages.append(layout.PageThread())
                await pages[0].make(Thing)
                await pages[0].make(Thing)
                ui.label("here")

            client = await user.open("/thing")
            await see(user, "here")
            assert len(told) == 3  # the first is closed already
            client.delete()
            for _ in range(PATIENCE):
                if len(told) == 4:
                    break
                await asyncio.sleep(0.1)
            with pytest.raises(asyncio.CancelledError):
                await pages[0].do(print)

    asyncio.run(whole())
    assert [words.split()[0] for words in told] == ["made", "made", "closed", "closed"]
    assert len({words.partition(" ")[2] for words in told}) == 1
    assert "piase-studio" in told[0]
