"""The drop-in for ALFWorld's environment, tried with the loop that ReAct-style scripts use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.adapters.alfworld import get_environment, load_config
from piase_gym.errors import ActionError, ConfigError, ResetNeededError, UnsupportedError
from tests.paths import SHARED
from tests.worlds.household.helpers import game_file

GAMES = SHARED / "data" / "alfworld" / "json_2.1.1"
PREFIXES = (
    "pick_and_place",
    "pick_clean_then_place",
    "pick_heat_then_place",
    "pick_cool_then_place",
    "look_at_obj",
    "pick_two_obj",
)
CONFIG = """
dataset:
  data_path: '%(data)s'
  eval_id_data_path: '$NO_SUCH_FOLDER/valid_seen'  # null to disable
  eval_ood_data_path: null
  num_train_games: -1
  num_eval_games: 12
env:
  type: 'AlfredTWEnv'
  domain_randomization: False
  task_types: [1, 2, 3, 4, 5, 6]
  expert_type: "%(expert)s"
general:
  training_method: 'dagger'
dagger:
  training:
    max_nb_steps_per_episode: 50
"""


def config(folder: Path, data: object = "$NO_SUCH_FOLDER", expert: str = "planner") -> Any:
    path = folder / "base_config.yaml"
    path.write_text(CONFIG % {"data": data, "expert": expert}, "utf-8")
    return load_config(path)


def played(env: Any, choose: Any) -> bool:
    """Play one game as published scripts do; returns whether it was won."""
    observations, info = env.reset()
    text = "\n".join(observations[0].split("\n\n")[1:])
    assert text.startswith("You are in the middle of a room.")
    assert "Your task is to: " in text
    name = "/".join(info["extra.gamefile"][0].split("/")[-3:-1])
    assert any(name.startswith(prefix) for prefix in PREFIXES)
    for _ in range(1, 60):
        action = choose(info)
        observation, reward, done, info = env.step([action])
        text, reward, over = observation[0], info["won"][0], done[0]
        assert isinstance(text, str)
        if over:
            return bool(reward)
    raise AssertionError("it does not end")


@pytest.mark.parametrize(("expert", "least"), [("planner", 12), ("handcoded", 10)])
def test_generated_homes_are_played(tmp_path: Path, expert: str, least: int) -> None:
    found = config(tmp_path, expert=expert)
    found["dataset"]["num_train_games"] = 12
    games = get_environment(found["env"]["type"])(found, train_eval="train")
    assert (games.num_games, games.generated) == (12, True)
    env = games.init_env(batch_size=1)
    won = [played(env, lambda info: info["extra.expert_plan"][0][0]) for _ in range(12)]
    assert sum(won) >= least


def test_a_batch_stays_where_it_is_over(tmp_path: Path) -> None:
    games = get_environment()(config(tmp_path), train_eval="eval_in_distribution")
    env = games.init_env(batch_size=3)
    with pytest.raises(ResetNeededError):
        env.step(["look"] * 3)
    _, infos = env.reset()
    assert "extra.expert_plan" not in infos
    with pytest.raises(ActionError, match="3 commands"):
        env.step(["look"])
    for _ in range(55):
        texts, scores, dones, infos = env.step(["look", "nonsense", ""])
    assert (scores, dones, infos["won"]) == ([0.0] * 3, [True] * 3, [False] * 3)
    assert texts[1] == "Nothing happens."
    env.close()


def test_the_order_of_the_games_is_by_the_seed(tmp_path: Path) -> None:
    games = get_environment()(config(tmp_path), train_eval="eval_out_of_distribution")
    one, two = games.init_env(1), games.init_env(1)
    names = [one.reset()[1]["extra.gamefile"][0] for _ in range(12)]
    assert sorted(names) == sorted(games.game_files)
    two.skip(5)
    assert two.reset()[1]["extra.gamefile"][0] == names[5]
    two.seed(7)
    assert [two.reset()[1]["extra.gamefile"][0] for _ in range(12)] != names


def test_games_of_files_are_played(tmp_path: Path) -> None:
    folder = tmp_path / "train" / "pick_clean_then_place_in_recep-Mug-None-Shelf-1" / "trial_T1"
    folder.mkdir(parents=True)
    path = game_file(folder)
    env = get_environment()(config(tmp_path, tmp_path / "train"), "train").init_env(1)
    assert env.num_games == 1
    assert played(env, lambda info: info["extra.expert_plan"][0][0])
    assert env.reset()[1]["extra.gamefile"] == [path]


def test_answers_are_not_escaped_and_what_is_won_from_the_beginning_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "train" / "pick_and_place_simple-Mug-None-Desk-1" / "trial_T1"
    folder.mkdir(parents=True)
    path = Path(game_file(folder, goal="(inReceptacle Mug_bar_1 Desk_bar_1)"))
    path.write_text(path.read_text("utf-8").replace("tidy up.", "boire un café."), "utf-8")
    env = get_environment()(config(tmp_path, tmp_path / "train"), "train").init_env(1)
    (text,), infos = env.reset()
    assert text.endswith("\n\nYour task is to: boire un café.")
    assert infos["won"] == [True]
    _, scores, dones, infos = env.step(["nonsense"])
    assert (scores, dones, infos["won"]) == ([1.0], [True], [True])


@pytest.mark.skipif(not GAMES.exists(), reason="the games are not here")
def test_the_given_games_are_played(tmp_path: Path) -> None:
    found = config(tmp_path, GAMES / "valid_train", expert="handcoded")
    games = get_environment()(found, "train")
    env = games.init_env(1)
    won = [played(env, lambda i: i["extra.expert_plan"][0][0]) for _ in range(games.num_games)]
    assert sum(won) >= 0.95 * games.num_games


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="simulator"):
        get_environment("AlfredThorEnv")
    with pytest.raises(ConfigError, match="unknown environment"):
        get_environment("AlfredTW")
    with pytest.raises(ConfigError, match="unknown train_eval"):
        get_environment()(config(tmp_path), train_eval="test")
    with pytest.raises(ConfigError, match="from 1 to 6"):
        get_environment()({"env": {"task_types": [7]}})
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path / "none.yaml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no game"):
        get_environment()(config(tmp_path, tmp_path / "empty"), "train")
    for name in ("traj_data.json", "game.tw-pddl"):
        for damaged, told in (("{", "cannot read"), ("[]", "is no mapping")):
            folder = tmp_path / name / "pick_and_place_simple-Mug-None-Desk-1" / "trial_T1"
            folder.mkdir(parents=True, exist_ok=True)
            game_file(folder)
            (folder / name).write_text(damaged, "utf-8")
            with pytest.raises(ConfigError, match=told):
                get_environment()(config(tmp_path, tmp_path / name), "train")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (5, "a config is a mapping or its path, not 5"),
        ({"env": None}, "env is a mapping, not None"),
        ({"env": {"task_types": 5}}, "env.task_types is a list of numbers from 1 to 6, not 5"),
        ({"env": {"task_types": [[1]]}}, "env.task_types is a list of numbers from 1 to 6"),
        ({"env": {"task_types": []}}, "env.task_types is a list of numbers from 1 to 6"),
        ({"dataset": None}, "dataset is a mapping, not None"),
        ({"dataset": {"num_train_games": "all"}}, "dataset.num_train_games is an integer"),
        ({"dataset": {"num_train_games": float("inf")}}, "dataset.num_train_games is an integer"),
        ({"general": None}, "general is a mapping, not None"),
        ({"dagger": {"training": None}}, "dagger.training is a mapping, not None"),
        (
            {"dagger": {"training": {"max_nb_steps_per_episode": [1]}}},
            r"dagger.training.max_nb_steps_per_episode is an integer, not \[1\]",
        ),
    ],
)
def test_an_entry_that_makes_no_sense_is_named(changes: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        get_environment()(changes).init_env(1)


def test_wrong_calls_are_refused_and_change_nothing(tmp_path: Path) -> None:
    games = get_environment()({"dataset": {"num_train_games": 2}})
    with pytest.raises(ConfigError, match=r"unknown train_eval \['train'\]"):
        get_environment()({}, train_eval=["train"])  # type: ignore[arg-type]
    env = games.init_env(np.int64(1))  # type: ignore[arg-type]
    env.reset()
    for commands in (None, 5, "look", "i", [], ["look", "look"]):
        with pytest.raises(ActionError, match="a list of 1 commands"):
            env.step(commands)  # type: ignore[arg-type]
    for seed in (-1, 1 << 32, "x"):
        with pytest.raises(ConfigError, match="a seed is an integer from 0 to"):
            env.seed(seed)  # type: ignore[arg-type]
    for count in (-1, "x"):
        with pytest.raises(ConfigError, match="nb_games is an integer from 0 on"):
            env.skip(count)  # type: ignore[arg-type]
    shown, *_ = env.step(["look"])
    env.games.world_config = fail  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="no such game"):
        env.reset()
    assert env.step(["look"])[0] == shown  # the game from before goes on


def fail(*_: Any) -> Any:
    raise ConfigError("no such game")
