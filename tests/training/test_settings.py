"""What a run may be told: the least and the most of each setting, defaults, and who has a seat."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from piase_gym.benchmarks.studies import training_report
from piase_gym.errors import AgentError, ConfigError, PolicyError, TrainingError
from piase_gym.training.checkpoints import Folder
from piase_gym.training.ppo_settings import OPTIONS, Settings
from piase_gym.training.settings import (
    TrainResult,
    TrainSettings,
    check_run_folder,
    equal_minibatch,
    partners_of,
    read_settings_of,
)

COUNTS = ("steps", "num_envs", "num_steps", "epochs", "width", "eval_every", "save_every")
ENDS: list[dict[str, Any]] = [
    {**dict.fromkeys((*COUNTS, "eval_episodes", "threads"), 1), "algo": "batch_ppo"},
    {"num_envs": 1, "num_steps": 2, "minibatch": 2},
    {"seed": 0, "minibatch": 2, "gamma": 0, "gae_lambda": 0, "entropy": 0, "value_weight": 0},
    {"seed": 999_999, "num_envs": 1 << 16, "gamma": 1, "gae_lambda": 1, "stop_at": 1},
    {"eval_episodes": 1000, "learning_rate": 1e-9, "clip": 1e-9, "stop_at": 1e-9},
    {"algo": "batch_ppo", "memory": 0, "self_play": 1, "reward_scale": 1e-9},
]
BEYOND = [
    *((name, 0) for name in (*COUNTS, "eval_episodes", "threads")),
    *(("seed", -1), ("seed", 1_000_000), ("num_envs", (1 << 16) + 1), ("minibatch", 1)),
    *(("learning_rate", 0), ("learning_rate", float("inf")), ("clip", 0)),
    *((name, -0.01) for name in ("gamma", "gae_lambda", "entropy", "value_weight")),
    *(("gamma", 1.01), ("gae_lambda", 1.01), ("stop_at", 0), ("stop_at", 1.01)),
    *(("eval_episodes", 1001), ("reward_scale", 0), ("memory", -1)),
    *(("self_play", -0.01), ("self_play", 1.01)),
]


def made(**changes: Any) -> TrainSettings:
    """Settings of a run of two agents."""
    config = {"width": 4, "height": 4, "agents": 2}
    return TrainSettings(**{"task": "GridWorld", "config": config, **changes})


def fast(**changes: Any) -> Settings:
    """Settings of the fast learner."""
    return Settings(**changes)


@pytest.mark.parametrize("ends", ENDS, ids=range(len(ENDS)))
def test_the_least_and_the_most_are_allowed(ends: dict[str, Any]) -> None:
    settings = made(**ends)
    assert {name: getattr(settings, name) for name in ends} == ends


@pytest.mark.parametrize(("name", "value"), BEYOND)
def test_what_is_beyond_is_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        made(algo="batch_ppo", **{name: value})


@pytest.mark.parametrize("width", [0, -3])
def test_hidden_layers_have_units(width: int) -> None:
    with pytest.raises(ConfigError, match=rf"layers.1: it must be at least 1 \(got {width}\)"):
        made(layers=(8, width))
    assert made(layers=()).layers == ()


def test_settings_stay_as_they_were_checked() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        made().steps = 5  # type: ignore[misc]


def test_defaults_are_those_that_the_stored_results_were_made_with() -> None:
    usual = made().model_dump(mode="json")
    for run in training_report.read("solve"):
        told = run["settings"]
        own = {"task", "algo", "config", "stop_at"}
        assert {name: usual[name] for name in told if name not in own} == {
            name: value for name, value in told.items() if name not in own
        }
    stored = json.loads((training_report.FOLDER / "ppo_batch.json").read_text("utf-8"))
    assert Settings().stored_fields() == stored["settings"]


def test_a_setting_of_the_fast_learner_is_told_if_it_is_not_the_usual_one() -> None:
    found = fast(memory=4, past_kept=3).stored_fields()
    assert {name: found[name] for name in found.keys() & {*OPTIONS}} == {
        "memory": 4,
        "past_kept": 3,
    }


@pytest.mark.parametrize("name", ["num_envs", "num_steps", "epochs", "minibatch", "width"])
def test_the_fast_learner_is_content_with_one_of_each(name: str) -> None:
    assert asdict(fast(**{name: 1}))[name] == 1
    with pytest.raises(ConfigError, match=rf"{name}: it must be at least 1 \(got 0\)"):
        fast(**{name: 0})


@pytest.mark.parametrize("name", ["gamma", "gae_lambda", "self_play"])
def test_shares_of_the_fast_learner_are_from_zero_to_one(name: str) -> None:
    for value in (0, 1):
        assert getattr(fast(**{name: value}), name) == value
    for value, words in ((-0.01, "at least 0.0"), (1.01, "at most 1.0")):
        with pytest.raises(ConfigError, match=rf"{name}: it must be {words} \(got {value}\)"):
            fast(**{name: value})


@pytest.mark.parametrize("name", ["entropy", "value_weight", "shaping", "memory", "total_steps"])
def test_weights_and_sizes_of_the_fast_learner_may_be_zero_but_not_less(name: str) -> None:
    assert getattr(fast(**{name: 0}), name) == 0
    with pytest.raises(ConfigError, match=rf"{name}: it must be at least 0.* \(got -1\)"):
        fast(**{name: -1})


@pytest.mark.parametrize("name", ["learning_rate", "clip", "reward_scale", "max_grad_norm"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), None, True, "1"])
def test_what_has_to_be_above_zero_is_a_finite_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: (it must be more than 0|a (finite )?number)"):
        fast(**{name: value})


@pytest.mark.parametrize("name", ["gamma", "entropy", "shaping_until"])
def test_what_is_no_number_is_no_weight_and_no_share(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: .* \(got nan\)"):
        fast(**{name: float("nan")})


def test_the_fast_learner_takes_the_ends_of_every_range() -> None:
    ends: dict[str, Any] = {"shaping_until": 1.0, "past_every": 1, "past_kept": 1, "memory": 0}
    assert fast(**ends, self_play=1.0).stored_fields() == {
        **fast().stored_fields(),
        **{name: ends[name] for name in ("shaping_until", "past_every", "past_kept")},
        "self_play": 1.0,
    }
    for name, value in (("past_every", 0), ("self_play", -0.1), ("shaping_until", 1.1)):
        with pytest.raises(ConfigError, match=rf"{name}: it must be at .* \(got {value}\)"):
            fast(**{name: value})


# -- settings that do not fit together ------------------------------------------------------


@pytest.mark.parametrize(
    ("algo", "name", "value", "words"),
    [
        ("batch_ppo", "layers", (128, 128), "the other algorithms"),
        ("batch_ppo", "normalize_rewards", False, "the other algorithms"),
        ("ppo", "self_play", 0.5, "batch_ppo alone"),
        ("ippo", "reward_scale", 1.0, "batch_ppo alone"),
    ],
)
def test_a_setting_of_another_algorithm_is_refused(
    algo: str, name: str, value: Any, words: str
) -> None:
    with pytest.raises(ConfigError, match=f"{name} is a setting of {words}, not of {algo}"):
        made(algo=algo, **{name: value})


def test_past_selves_need_somebody_to_play_against() -> None:
    for alone in ({"config": {"agents": 1}}, {"partners": {"agent_1": "noop"}}):
        with pytest.raises(ConfigError, match=r"self_play is 0\.5, and only one agent learns"):
            made(algo="batch_ppo", self_play=0.5, **alone)
        assert made(algo="batch_ppo", **alone).self_play == 0.0
    assert made(algo="batch_ppo", self_play=0.5).self_play == 0.5


@pytest.mark.parametrize(
    ("asked", "samples", "size"), [(4, 12, 4), (5, 12, 4), (64, 12, 12), (2, 6, 2), (8, 20, 5)]
)
def test_minibatches_of_sb3_are_equal(asked: int, samples: int, size: int) -> None:
    assert equal_minibatch(asked, samples) == size
    plan = made(algo="ppo", num_envs=1, num_steps=samples, minibatch=asked)
    assert plan.minibatch == asked


@pytest.mark.parametrize(
    ("algo", "sizes", "fitting"),
    [
        ("ppo", (3, 127, 64), "minibatch is 64, and the 381 samples .* that fit: 3, 127. Or"),
        ("maskable_ppo", (1, 4099, 4096), "that fit: 4099. Or change num_steps"),
        ("ppo", (1, 1, 2), "that fit: none. Or"),
        ("ppo", (1, 3, 2), "that fit: 3. Or"),
        ("ippo", (1, 127, 64), "the 254 samples .* that fit: 2, 127"),  # of two learners
    ],
)
def test_a_minibatch_that_would_be_another_one_is_refused(
    algo: str, sizes: tuple[int, int, int], fitting: str
) -> None:
    told = dict(zip(("num_envs", "num_steps", "minibatch"), sizes, strict=True))
    made(algo="batch_ppo", **told)  # whose last minibatch may be smaller
    with pytest.raises(ConfigError, match=fitting):
        made(algo=algo, **told)


# -- who has a seat ----------------------------------------------------------------------


def test_beside_one_learner_sit_those_who_are_given_and_else_those_of_the_task() -> None:
    agents = [f"agent_{n}" for n in range(3)]
    alone = made(config={"agents": 3}, partners={"agent_0": "noop"})
    assert partners_of(alone, agents) == {"agent_0": "noop", "agent_2": "random"}
    every = made(algo="maskable_ppo", config={"agents": 3}, partners={"*": "noop"})
    assert partners_of(every, agents) == {"agent_1": "noop", "agent_2": "noop"}
    shared = made(algo="ippo", config={"agents": 3}, partners={"agent_1": "noop"})
    assert partners_of(shared, agents) == {"agent_1": "noop"}


@pytest.mark.parametrize("algo", ["ippo", "batch_ppo"])
def test_where_all_learn_a_partner_has_a_seat_of_its_own(algo: str) -> None:
    with pytest.raises(AgentError, match=r"no agent '\*'; agents are agent_0, agent_1"):
        made(algo=algo, partners={"*": "noop"})


def test_a_partner_whose_model_is_not_there_is_refused() -> None:
    with pytest.raises(PolicyError, match="no-such"):
        made(partners={"agent_1": "sb3:no-such.zip"})


def test_numbers_of_numpy_are_stored_as_pythons(tmp_path: Path) -> None:
    config = {"max_steps": np.int64(9), "rewards": {"goal": np.float32(2)}, "start_pos": (0, 0)}
    settings = made(steps=np.int64(64), learning_rate=np.float64(0.5), config=config)
    Folder(tmp_path).settings.write_text(settings.model_dump_json(), "utf-8")
    assert read_settings_of(tmp_path) == settings
    own = fast(num_envs=np.int64(4), clip=np.float32(0.5), total_steps=np.uint8(8))
    assert (own.num_envs, own.clip, own.total_steps) == (4, 0.5, 8)
    assert {type(own.num_envs), type(own.total_steps), type(own.clip)} == {int, float}


# -- settings in a folder ----------------------------------------------------------------


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    settings = made(algo="ippo", layers=(8, 4), stop_at=0.5)
    Folder(tmp_path).settings.write_text(settings.model_dump_json(), "utf-8")
    assert read_settings_of(tmp_path) == settings
    check_run_folder(Folder(tmp_path), settings, resume=True)
    with pytest.raises(ConfigError, match=r"another run: width is 128 there and 8 here; layers is"):
        check_run_folder(Folder(tmp_path), made(width=8, algo="ippo"), True)


@pytest.mark.parametrize("text", ["{", "[]", '{"task": 3}', '{"task": "GridWorld", "stops": 1}'])
def test_damaged_settings_are_a_sentence(text: str, tmp_path: Path) -> None:
    Folder(tmp_path).settings.write_text(text, "utf-8")
    with pytest.raises(TrainingError, match=r"settings\.json cannot be read: "):
        read_settings_of(tmp_path)


def test_a_best_policy_has_the_name_that_plays_it() -> None:
    rest: dict[str, Any] = {"steps": 1, "reason": "finished", "dev": 1.0, "wilson95": (0.0, 1.0)}
    rest |= {"best_steps": 1, "cpu_seconds": 1.0}
    names = [TrainResult(policy=Path("a", file), **rest).name for file in ("p.zip", "p.pt")]
    assert names == ["sb3:a/p.zip", "ppo:a/p.pt"]
