"""The page on which worlds are played."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from nicegui import ui
from nicegui.testing import User

from piase_gym import runs
from piase_gym.studio import play_page, workspace
from piase_gym.studio.playing import Play
from tests.studio.test_workspace import put
from tests.studio.visits import PATIENCE, listener, one, press, see, until, visit

DOOR_KEY = "piase/GridWorld-DoorKey-6x6-v1"


def test_all_worlds_are_listed_and_those_that_cannot_be_played_say_why(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/")
        await see(user, "GridWorld", "Household", "SqlQuery", "WordCraft", "ScreenSearch needs")

    visit(tmp_path, steps)


def test_a_person_plays_by_buttons_lines_and_levels(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=lost_key")
        await see(user, "What PiaAgent_001 reads", "Get the old document.", "step 0 of")
        press(user, "go north")
        await see(user, "You go north to the hallway.", "step 1 of")
        user.find(kind=ui.input).type("dance wildly").trigger("keydown.enter")
        await see(user, "dance")
        await see(user, "step 1 of")
        one(user, ui.input, "a command, as agents write it").value = "search grandfather clock"
        user.find(kind=ui.input).trigger("keydown.enter")
        await see(user, "step 2 of", "brass key")
        press(user, "Next level")
        await see(user, "level 2 (seed 2)", "step 0 of")

    visit(tmp_path, steps)


def test_a_policy_plays_and_the_level_ends_with_stars(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open(f"/play?name={DOOR_KEY}")
        await see(user, "who plays")
        one(user, ui.select, "who plays").value = "oracle"
        await see(user, "Go on")
        press(user, "One step")
        await see(user, "step 1 of")
        press(user, "Go on")
        await see(user, "★★☆", "You won in 9 steps; 8 would do.")

    visit(tmp_path, steps)


def test_a_setup_is_changed_and_what_is_wrong_is_told(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "What agent_0 reads")
        [settings] = user.find(kind=ui.textarea).elements
        settings.value = "width=0"
        press(user, "Begin anew")
        await see(user, "width")
        await see(user, "8 columns")  # the game before goes on
        settings.value = "agents=2\n\nwidth=9"
        press(user, "Begin anew")
        await see(user, "9 columns")
        one(user, ui.select, "your seat").value = "agent_1"
        press(user, "Begin anew")
        await see(user, "What agent_1 reads")

    visit(tmp_path, steps)


def test_a_recorded_game_can_be_looked_at(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open(f"/play?name={DOOR_KEY}")
        await see(user, "who plays")
        [switch] = user.find(kind=ui.switch).elements
        switch.value = True
        press(user, "Begin anew")
        await see(user, "the run so far")
        one(user, ui.select, "who plays").value = "oracle"
        await see(user, "Go on")
        press(user, "Go on")
        await see(user, "★★☆")
        user.find("the run so far").click()
        await see(user, "What agents did")

    visit(tmp_path, steps)
    [log] = (tmp_path / "runs" / "studio").glob("*.jsonl")
    assert runs.replay(log).ok


def test_a_game_goes_on_with_its_log_if_another_cannot_be_made(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "What agent_0 reads")
        await user.should_not_see("the run so far")
        [record] = user.find(kind=ui.switch).elements
        record.value = True
        press(user, "Begin anew")
        await see(user, "the run so far")
        [record] = user.find(kind=ui.switch).elements
        assert record.value
        [settings] = user.find(kind=ui.textarea).elements
        settings.value = "width=0"
        press(user, "Begin anew")
        await see(user, "width: ")
        press(user, "stay")
        await see(user, "step 1 of", "the run so far")
        [link] = user.find("the run so far").elements
        [log] = (tmp_path / "runs" / "studio").glob("*.jsonl")
        assert log.name in link.props["href"]

    visit(tmp_path, steps)


def test_a_refused_line_stays_and_a_policy_can_be_typed(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "What agent_0 reads")
        line = one(user, ui.input, "a command, as agents write it")
        for text, left, words in (
            ("dance", "dance", "step 0 of"),
            ("stay", "", "step 1 of"),
            (" ", "", "step 1 of"),
        ):
            line.value = text
            user.find(kind=ui.input).trigger("keydown.enter")
            user.find(kind=ui.input).trigger("keydown.enter")
            await see(user, words)
            if left:
                await until(lambda: bool(user.notify.messages))
            await until(lambda left=left: line.value == left)  # type: ignore[misc]
        who = one(user, ui.select, "who plays")
        who._handle_event({"listener_id": listener(who, "inputValue"), "args": "nobody"})
        who._handle_event({"listener_id": listener(who, "blur"), "args": None})
        assert who.value == "nobody"
        await see(user, "Go on")
        press(user, "Go on")
        await see(user, "unknown policy 'nobody'", "Go on")  # it rests again

    visit(tmp_path, steps)


def test_a_policy_of_the_folder_is_offered_and_arrows_do_not_scroll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")  # without it, that is what the page says
    put(tmp_path, "runs/mine/policy.pt", "no model")
    asked: list[str] = []
    monkeypatch.setattr(ui, "run_javascript", asked.append)

    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "who plays")
        assert asked == [play_page.STAND_STILL]
        who, others = (one(user, ui.select, name) for name in ("who plays", "all other agents"))
        assert "ppo:runs/mine/policy.pt" in others.options
        who.value = "ppo:runs/mine/policy.pt"
        await see(user, "One step")
        press(user, "One step")
        await see(user, f"{tmp_path}/runs/mine/policy.pt holds no")
        others.value = "ppo:runs/mine/policy.pt"
        [settings] = user.find(kind=ui.textarea).elements
        settings.value = "agents=2"
        user.notify.messages.clear()
        press(user, "Begin anew")
        await see(user, f"{tmp_path}/runs/mine/policy.pt holds no")

    visit(tmp_path, steps)


def test_nothing_that_a_person_does_is_lost_while_a_policy_thinks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let = Play.let

    def slowly(play: Play, policy: str) -> str | None:
        time.sleep(0.5)
        return let(play, policy)

    monkeypatch.setattr(Play, "let", slowly)

    async def steps(user: User) -> None:
        await user.open("/play?name=lost_key")
        await see(user, "step 0 of")
        one(user, ui.select, "who plays").value = "oracle"
        await see(user, "One step")
        press(user, "One step")
        press(user, "One step")
        await asyncio.sleep(0.1)
        press(user, "Next level")
        await see(user, "level 2 (seed 2)", "nothing yet")
        [show] = [e for e in user.find(kind=ui.switch).elements if "map" in e.text]
        show.value = True
        await user.should_see(kind=ui.image, retries=PATIENCE)
        press(user, "Begin anew")
        await see(user, "level 1 (seed 1)")
        await user.should_not_see(kind=ui.image)  # it was that of the other game

    visit(tmp_path, steps)


def test_an_error_that_is_not_ours_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("an odd thing")

    monkeypatch.setattr(Play, "choose", fail)
    monkeypatch.setattr(workspace.Workspace, "runs", fail)

    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "move north")
        press(user, "move north")
        await see(user, "This should not have happened: ValueError: an odd thing")
        await user.open("/runs")
        await see(user, "This should not have happened: ValueError: an odd thing")

    visit(tmp_path, steps)


def test_commands_are_found_by_their_words_while_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play_page, "SHOWN_CHOICES", 5)

    async def steps(user: User) -> None:
        await user.open("/play?name=GridWorld")
        await see(user, "and 1 more")
        one(user, ui.input, "find one of 6 commands").value = "interact"
        await user.should_not_see(kind=ui.button, content="move north")
        monkeypatch.setattr(play_page, "SHOWN_CHOICES", 6)
        press(user, "Next level")
        await see(user, "level 2")
        await user.should_see(kind=ui.button, content="move north")

    visit(tmp_path, steps)


def test_a_page_without_such_a_world_says_so(tmp_path: Path) -> None:
    async def steps(user: User) -> None:
        await user.open("/play?name=Nowhere")
        await see(user, "unknown world")
        await user.open("/play?name=../other.yaml")
        await see(user, "only what is in it can be used")

    visit(tmp_path, steps)
