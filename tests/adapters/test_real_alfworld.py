"""ALFWorld's own environment and the drop-in play the same homes, equal at every step."""

from __future__ import annotations

import importlib
import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from piase_gym.adapters.alfworld import get_environment
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.words import TASKS
from piase_gym.worlds.household.world import Household

STEPS = 60
NONSENSE = (
    "",
    "Look",
    "look  ",
    "go to",
    "take all",
    "go  to desk 1",
    "open desk 99",
    "put it away",
)


def in_pddl(part: Any) -> str:
    return part if isinstance(part, str) else f"({' '.join(map(in_pddl, part))})"


def write_home(folder: Path, config: HouseholdConfig, seed: int, domain: str, grammar: str) -> None:
    """Write a generated home in the form of ALFWorld's games."""
    world = Household(config)
    world.reset(seed)
    problem = world.game.problem
    assert problem is not None
    things = [word for name, kind in problem.types.items() for word in (name, "-", kind)]
    facts = [[name, *row] for name, rows in problem.facts.items() for row in rows]
    parts = [[":domain", "alfred"], [":objects", *things], [":init", *facts]]
    parts.append([":goal", problem.goal])
    game = {
        "pddl_domain": domain,
        "grammar": grammar.replace("UNKNOWN GOAL.", world.game.goal_text),
        "pddl_problem": in_pddl(["define", ["problem", "home"], *parts]),
        "solvable": True,
    }
    path = folder / world.gamefile
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(game), "utf-8")
    kind = path.parent.parent.name.split("-")[0]
    path.with_name("traj_data.json").write_text(json.dumps({"task_type": kind}), "utf-8")


@pytest.mark.skipif(find_spec("alfworld") is None, reason="needs alfworld: make test-alfworld")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_random_play_is_that_of_the_real_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))  # ALFWorld sets it when it is imported
    info = importlib.import_module("alfworld.info")
    domain = Path(info.ALFRED_PDDL_PATH).read_text("utf-8")
    grammar = Path(info.ALFRED_TWL2_PATH).read_text("utf-8")
    for seed, task in enumerate([*TASKS, *TASKS]):
        config = HouseholdConfig(tasks=(task,), receptacles=8, objects=14)
        write_home(tmp_path, config, seed, domain, grammar)
    found = {
        "dataset": dict.fromkeys(("data_path", "eval_id_data_path"), str(tmp_path / "train"))
        | {"num_train_games": -1, "num_eval_games": -1},
        "env": {
            "goal_desc_human_anns_prob": 0,
            "domain_randomization": False,
            "task_types": [1, 2, 3, 4, 5, 6],
            "expert_type": "planner",
        },
        "general": {"training_method": "dagger"},
        "dagger": {"training": {"max_nb_steps_per_episode": STEPS}},
    }
    theirs: Any = importlib.import_module("alfworld.agents.environment").get_environment(
        "AlfredTWEnv"
    )(found, train_eval="eval_in_distribution")
    ours = get_environment("AlfredTWEnv")(found, train_eval="train")  # here, infos have plans
    theirs.game_files.sort()
    assert theirs.game_files == ours.game_files
    real, env, rng, won = theirs.init_env(1), ours.init_env(1), random.Random(0), 0
    for _ in range(env.num_games):
        texts, infos = real.reset()
        mine: tuple[Any, ...] = env.reset()
        assert mine[0] == [*texts]
        for name, value in infos.items():
            assert mine[1][name] == value
        for t in range(STEPS + 1):
            (plan,), (admissible,) = mine[-1]["extra.expert_plan"], infos["admissible_commands"]
            command = rng.choice(admissible if rng.random() < 0.8 else NONSENSE)
            if t >= STEPS // 2:
                command = plan[0]
            *said, infos = real.step([command])
            mine = env.step([command])
            assert [*mine[:3]] == [[*column] for column in said], command
            for name in ("won", "admissible_commands"):
                assert mine[-1][name] == infos[name], command
        won += infos["won"][0]
    assert won == env.num_games
