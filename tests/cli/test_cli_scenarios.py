"""``piase run``, ``piase scenario`` and ``piase play`` with scenarios, run as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.agents import make_agent
from piase_gym.cli.scenarios import prompt_models
from tests.helpers.cli_runner import OnTerminal, piase
from tests.worlds.text_room.helpers import SEVEN


def test_the_main_job() -> None:
    done = piase("run", "lost_key", "--agent", "oracle")
    assert done.returncode == 0
    assert "The Lost Key: won after 7 steps" in done.stdout
    assert done.stderr == ""


def test_writers_are_warned(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    library = Path(piase_gym.__file__).parent / "scenarios" / "library"
    own.write_text((library / "lost_key.yaml").read_text("utf-8"), "utf-8")
    done = piase("run", str(own), "--agent", "oracle")
    assert done.returncode == 0
    assert "document_secured" in done.stderr
    assert "document_secured" in piase("scenario", "lint", "lost_key").stdout


NOBODY = "llm:small@http://127.0.0.1:1/v1"
"""A model without a server."""


def test_a_model_without_a_server_is_told_at_once() -> None:
    done = piase("run", "lost_key", "--agent", NOBODY, "--max-steps", "2")
    assert done.returncode == 0
    assert done.stderr.count("warning: PiaAgent_001, llm:small@") == 1
    assert "cannot be reached" in done.stderr
    assert "the last that failed" in done.stdout


def test_whoever_plays_with_a_model_is_told_that_it_did_not_answer() -> None:
    pytest.importorskip("openai")
    words = ["GridWorld", "-c", "agents=2", "--partners", f"agent_1={NOBODY}"]
    done = piase("play", *words, stdin="stay\nquit\n")
    assert "agent_1, llm:small@http://127.0.0.1:1/v1: 1 call, 1 failed" in done.stdout
    assert "the last that failed: http://127.0.0.1:1/v1 cannot be reached" in done.stdout


def test_a_budget_holds_for_models_in_populations() -> None:
    pytest.importorskip("openai")
    mixed, alone = f"population:noop,{NOBODY}", NOBODY
    models = prompt_models([make_agent(mixed), make_agent("noop"), make_agent(alone)], None, 5)
    assert [model.budget.tokens for model in models] == [5, 5]
    assert models[0].budget is models[1].budget


def test_run_shows_worlds_and_saves_what_came_of_it(tmp_path: Path) -> None:
    done = piase(
        *("run", "stone_gate", "--agent", "ada=oracle", "--agent", "bela=oracle"),
        *("--render", "ansi", "--save", str(tmp_path), "--episodes", "2", "--seed", "3"),
    )
    assert done.returncode == 0
    assert "[side chamber]" in done.stdout
    assert "2 of 2 episodes won" in done.stdout
    saved = json.loads((tmp_path / "episode_2.json").read_text("utf-8"))
    assert saved["summary"]["won"]


def test_an_interrupt_leaves_the_sum_of_what_was_finished(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    words = ("run", "TextRoom", "--agent", "random", "--episodes", "500", "--log", str(log))
    with OnTerminal(*words) as terminal:
        shown = terminal.expect("episode 3 of 500: ")
        assert "of 2 won, mean length " in shown
        terminal.press("\x03")
        terminal.expect("interrupted in episode", "episodes won", "agent_0: won")
        assert terminal.finish() == 130
    assert runs.validate(log).ok
    assert "agent_0: won 2" in piase(
        *("run", "lost_key", "--agent", "oracle", "--episodes", "2")
    ).stdout.replace("PiaAgent_001", "agent_0")


def test_a_logged_run_replays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert piase("run", "lost_key", "--agent", "oracle", "--log", str(path)).returncode == 0
    report = runs.replay(path)
    assert report.ok
    assert report.steps == 7


def test_mistakes_of_run_are_one_line() -> None:
    for words, told in (
        (("nothing",), "unknown world, id or scenario"),
        (("lost_key", "--agent", "genius"), "unknown policy"),
        (("lost_key", "--agent", "eve=random"), "no agent 'eve'"),
        (("lost_key", "--render", "hologram"), "unknown --render"),
    ):
        done = piase("run", *words)
        assert done.returncode == 2
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_a_new_scenario_is_played_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "my_story.yaml"
    assert piase("scenario", "new", str(path)).returncode == 0
    assert "ok" in piase("scenario", "lint", str(path)).stdout
    assert "My Story: won" in piase("run", str(path), "--agent", "oracle").stdout
    again = piase("scenario", "new", str(path))
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_lint_names_places(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("scenario_name: x\nenvironment_type: TextRoom\nwin: 1\n")
    done = piase("scenario", "lint", str(path), "lost_key", columns=300)
    assert done.returncode == 1
    assert f"{path}:3:1: win: unknown key 'win'" in done.stdout
    assert "(warning)" in done.stdout
    assert piase("scenario", "lint", "lost_key").returncode == 0
    assert piase("scenario", "lint", "--strict", "lost_key").returncode == 1
    assert piase("scenario", "lint", "--strict", str(path), "lost_key").returncode == 1


def test_the_library_and_the_schema_are_shown() -> None:
    assert "lost_key" in piase("scenario", "list").stdout
    assert "$defs" in json.loads(piase("scenario", "schema").stdout)


def test_a_person_can_play_a_scenario() -> None:
    done = piase("play", "lost_key", stdin="\n".join(SEVEN) + "\n")
    assert done.returncode == 0, done.stderr
    assert "won" in done.stdout.lower()
