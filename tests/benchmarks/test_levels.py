"""Levels by what is drawn: how many there are, and that those kept apart are never met."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import TaskSpec, registry
from piase_gym.benchmarks import evaluate
from piase_gym.benchmarks.evaluation import levels
from piase_gym.benchmarks.evaluation.rollout import make_world, world_of
from piase_gym.benchmarks.evaluation.suites import Row, Setting, Suite
from piase_gym.benchmarks.evaluation.tables import HEAD, ONE_RUN, plain_table, result_rows
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import GenerationError, SuiteError
from tests.helpers.needs import each, here

DOOR = "piase/GridWorld-DoorKey-6x6-v1"
RANDOM = "piase/GridWorld-Empty-Random-{0}x{0}-v1"
ONE = "piase/GridWorld-Empty-5x5-v1"


def setting(task: str) -> Setting:
    """The setting of an id."""
    return Suite(name="s", rows=(Row(task=task),)).settings("dev")[0][0]


def drawn(world: Any, seed: int) -> Any:
    """What a seed draws in GridWorld, without `level`: cells, agents, goals."""
    world.reset(seed)
    state = world.get_state()
    return str([state[name] for name in ("cells", "x", "y", "heading", "goals", "carry")])


# -- what a level is ----------------------------------------------------------------------


def test_seeds_have_one_level_if_and_only_if_they_draw_the_same() -> None:
    world = make_world(setting(DOOR))
    pairs = {(levels.level_of(world, seed), drawn(world, seed)) for seed in range(4000)}
    assert len(pairs) == len({level for level, _ in pairs}) == len({told for _, told in pairs})
    assert len(pairs) == 272


@pytest.mark.parametrize("world", each(piase_gym.list_worlds()))
def test_a_level_is_the_same_whenever_and_wherever_it_is_drawn(world: str) -> None:
    if world == "ScreenSearch":
        pytest.skip("it shows what is outside")
    task = here(piase_gym.list_tasks(world))[0]
    made = make_world(setting(task))
    try:
        first = [levels.level_of(made, seed) for seed in (3, 4, 5, 3)]
        assert first[0] == first[3]
        again = make_world(setting(task))
        assert [levels.level_of(again, seed) for seed in (5, 4)] == [first[2], first[1]]
        again.close()
    finally:
        made.close()


def test_matrix_games_draw_nothing_so_noise_is_not_a_level() -> None:
    world = make_world(setting("piase/SocialDilemma-PrisonersDilemma-Noisy-v1"))
    assert len({levels.level_of(world, seed) for seed in range(50)}) == 1


# -- how many there are -------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 6])
def test_counts_are_those_of_arithmetic(size: int) -> None:
    cells = (size - 2) ** 2  # an agent and a goal on different cells of the floor
    count = levels.count_levels(make_world(setting(RANDOM.format(size))))
    assert (count.kind, count.count) == ("exact", cells * (cells - 1))
    assert levels.stored_counts()[RANDOM.format(size)] == count


def test_ids_that_draw_nothing_have_one_level_and_are_fixed() -> None:
    count = levels.count_levels(make_world(setting(ONE)))
    assert (count.kind, count.count, count.fixed) == ("exact", 1, True)
    assert str(count) == "1 (exact, fixed)"


def test_capture_and_recapture_holds_the_truth() -> None:
    truth, inside, estimates = 1000, [], []
    for seed in range(200):
        draws = np.random.default_rng(seed).integers(truth, size=800)
        count = levels.estimate(np.unique(draws, return_counts=True)[1].tolist())
        assert count.kind == "estimate"
        assert count.high is not None
        inside.append(count.low <= truth <= count.high)
        estimates.append(count.count)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.04)
    assert np.mean(estimates) == pytest.approx(truth, rel=0.02)


def test_chao_by_hand() -> None:
    count = levels.estimate([1] * 10 + [2] * 4 + [3])  # 15 + 10 * 9 / (2 * 5)
    assert (count.met, count.seeds, count.count) == (15, 21, 24.0)
    assert count.low - 15 == pytest.approx(81 / (count.high - 15))  # type: ignore[operator]
    variance = 9 + 5 * (2**3 + 2**4 / 4)
    assert count.high == pytest.approx(15 + 9 * math.exp(1.96 * math.log1p(variance / 81) ** 0.5))


def test_questions_that_are_the_same_are_one_level_whatever_their_number() -> None:
    world = make_world(setting("piase/SqlQuery-Extra-v3"))
    told: dict[str, set[str]] = {}
    for seed in range(400):
        level = levels.level_of(world, seed)
        told.setdefault(level, set()).add(world.setting.task.question)  # type: ignore[attr-defined]
    assert len(told) < 390
    assert all(len(questions) == 1 for questions in told.values())


def test_without_repeats_there_is_a_bound_that_holds() -> None:
    count = levels.estimate([1] * 100)
    assert (count.kind, count.high, count.fixed) == ("at least", None, False)
    free = math.prod(1 - i / count.low for i in range(100))  # no repeat, were there so many
    assert free == pytest.approx(0.05, abs=0.005)


def test_every_id_has_a_stored_count() -> None:
    found = levels.stored_counts()
    for world in here(piase_gym.list_worlds()):
        if world != "ScreenSearch":
            assert {t for t in piase_gym.list_tasks(world) if t[:6] == "piase/"} <= set(found)


@pytest.mark.parametrize(
    ("count", "told", "fixed"),
    [
        (("exact", 99, 99, 99), "99 (exact, fixed)", True),
        (("exact", 1200, 1200, 1200), "1,200 (exact)", False),
        (("estimate", 1234.6, 1000.4, 4567.8), "about 1,235 (1,000 to 4,568)", False),
        (("estimate", 60, 50, 99.9), "about 60 (50 to 100)", True),
        (("estimate", 60, 50, 100.0), "about 60 (50 to 100)", False),
        (("at least", 1670.4, 1670.4, None), "at least 1,670", False),
    ],
)
def test_counts_are_told_as_sure_as_they_are(count: Any, told: str, fixed: bool) -> None:
    found = levels.LevelCount(*(*count, 0, 0))
    assert (str(found), found.fixed) == (told, fixed)


def test_levels_are_all_known_when_each_was_drawn_eight_times() -> None:
    assert levels.estimate([8, 9, 20]) == levels.LevelCount("exact", 3, 3, 3, 37, 3)
    assert levels.estimate([7, 9, 20]) == levels.LevelCount("estimate", 3, 3, 3, 36, 3)
    assert levels.estimate([1, 9]) == levels.LevelCount("estimate", 2, 2, 2, 10, 2)


def test_seeds_are_drawn_until_levels_are_known() -> None:
    world = make_world(setting(ONE))
    seeds = [levels.count_levels(world, *least).seeds for least in ((), (8,), (7,), (3,))]
    assert seeds == [512, 8, 14, 12]
    many = levels.count_levels(make_world(setting(DOOR)), 4)
    assert (many.kind, many.seeds, many.met) == ("at least", 4, 4)  # none has come again


def test_tasks_with_fewer_than_a_hundred_levels_are_fixed() -> None:
    fixed = [levels.is_fixed(make_world(setting(RANDOM.format(size)))) for size in (5, 6)]
    assert fixed == [True, False]  # of 72 and 240


# -- what is kept apart -------------------------------------------------------------------


def test_the_parts_are_tenths_of_the_hashes() -> None:
    counts = dict.fromkeys(levels.PARTS, 0)
    for number in range(5000):
        counts[levels.part_of(f"{hash((number, 1)) % 2**64:016x}")] += 1
    assert sum(counts.values()) == 5000
    shares = [counts[part] / 5000 for part in ("train", "dev", "held_out")]
    assert shares == pytest.approx([0.7, 0.1, 0.2], abs=0.03)


def test_a_part_is_the_last_digit_of_a_hash() -> None:
    parts = [levels.part_of(f"{number:016x}") for number in range(10, 20)]
    assert parts == ["train"] * 7 + ["dev"] + ["held_out"] * 2
    assert levels.part_of("ffffffffffffffff") == "train"  # 18446744073709551615


def test_seeds_of_a_part_are_the_first_that_fit() -> None:
    world = make_world(setting(DOOR))
    fit = [n for n in range(50, 80) if levels.part_of(levels.level_of(world, n)) == "held_out"]
    assert levels.seeds_in(world, "held_out", range(50, 80), len(fit)) == fit
    assert levels.seeds_in(world, "held_out", itertools.count(50), 2) == fit[:2]
    told = f"only {len(fit)} of these seeds draw levels of the part 'held_out'; 30 are wanted"
    with pytest.raises(SuiteError, match=told):
        levels.seeds_in(world, "held_out", range(50, 80), 30)


def test_what_keeps_to_a_part_can_be_ended() -> None:
    free, kept = (piase_gym.batch_env(DOOR, num_envs=32) for _ in range(2))
    end = levels.keep_to(kept, "dev")
    kept.reset(0)
    assert {levels.part_of(kept.single(slot).level()) for slot in range(32)} == {"dev"}
    end()
    kept.reset(0)
    free.reset(0)
    assert kept.seeds().tolist() == free.seeds().tolist()


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_who_trains_on_one_part_never_meets_the_other(mode: str) -> None:
    env = piase_gym.batch_env(DOOR, num_envs=64, autoreset=mode, max_steps=5)
    levels.keep_to(env, "train")
    met, rng = set(), np.random.default_rng(0)
    env.reset(0)
    world = make_world(setting(DOOR))
    for _ in range(200):
        for slot in range(64) if mode != "disabled" else ():
            if env.batch.states["t"][slot] == 0:
                met.add(env.single(slot).level())
        if mode == "disabled":
            met |= {env.single(slot).level() for slot in range(64)}
            env.reset()
            continue
        obs, *_ = env.step(rng.integers(env.action_space.n, size=(64, 1)))
        single = env.single(7)
        assert obs[7] == pytest.approx(np.stack(single.vectors()))
    tested = {
        levels.level_of(world, seed)
        for seed in levels.seeds_in(world, "held_out", itertools.count(3_000_000), 300)
    }
    assert not met & tested
    every = {levels.level_of(world, seed) for seed in range(4000)}
    assert tested < every
    assert met == {level for level in every if levels.part_of(level) == "train"}


@pytest.mark.parametrize("world", ["GridWorld", "SocialDilemma", "ObjectSearch", "WordCraft"])
def test_a_batch_hashes_as_single_worlds_do(world: str) -> None:
    task = {
        "GridWorld": "piase/GridWorld-Orchard-12x12-4p-v1",
        "SocialDilemma": "piase/SocialDilemma-Harvest-4p-v1",
        "ObjectSearch": "piase/ObjectSearch-House-4p-v3",
        "WordCraft": "piase/WordCraft-Depth2-v2",
    }[world]
    env, one = piase_gym.batch_env(task, num_envs=40), make_world(setting(task))
    env.reset(0)
    slots = np.arange(39, -1, -1)
    told = [f"{int(level):016x}" for level in env.world.levels(env.batch.states, slots)]
    assert told == [levels.level_of(one, int(seed)) for seed in slots]
    assert len({*told}) > 30


def test_every_field_of_what_was_drawn_counts() -> None:
    world: Any = make_world(setting(DOOR))
    world.reset(0)
    before, states = world.level(), world.states
    for name in world.state_fields:
        flat = states[name].reshape(-1).view(np.uint8)
        for place in (0, len(flat) - 1):
            flat[place] ^= 128
            assert (world.level() == before) == (name in ("seed", "keys", "counters")), name
            flat[place] ^= 128
    assert world.level() == before


def test_what_is_logged_of_a_kept_batch_is_what_is_played() -> None:
    env, told = piase_gym.batch_env(DOOR, num_envs=16, autoreset="next_step", max_steps=3), []
    levels.keep_to(env, "train")
    env.events.subscribe(
        lambda event: told.append([env.single(slot).level() for slot in event.data["slots"]]),
        ("batch_reset",),
    )
    env.reset(0)
    for _ in range(20):
        env.step(np.zeros((16, 1), np.int64))
    found = [level for some in told for level in some]
    assert len(found) > 64
    assert {levels.part_of(level) for level in found} == {"train"}


# -- trainers ------------------------------------------------------------------------------


class Met:
    """The levels that environments of this process begin, whoever made them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.levels: set[str] = set()
        posted, begun = BatchEnv._post_resets, EpisodeRunner._draw_level

        def post(env: Any, slots: Any) -> None:
            posted(env, slots)
            if env.admits is not None:
                self.levels |= {env.at(int(slot)).level() for slot in slots}

        def draw(runner: Any, *given: int) -> tuple[int, int]:
            found = begun(runner, *given)
            if runner.admits is not None:
                self.levels.add(runner.world.level())
            return found

        monkeypatch.setattr(BatchEnv, "_post_resets", post)
        monkeypatch.setattr(EpisodeRunner, "_draw_level", draw)


SMALL: dict[str, Any] = {"num_envs": 32, "num_steps": 16, "minibatch": 128, "width": 16}


@pytest.mark.parametrize(
    ("task", "algo", "config"),
    [
        (DOOR, "batch_ppo", {"max_steps": 4}),
        (DOOR, "maskable_ppo", {"max_steps": 4}),
        ("piase/TextRoom-Quest-Easy-v3", "ippo", {"max_steps": 3}),
        (ONE, "batch_ppo", {"max_steps": 4}),
    ],
)
def test_a_training_meets_no_level_that_is_held_out(
    task: str, algo: str, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    from piase_gym.training.train import TrainSettings, train

    met = Met(monkeypatch)
    small = {**SMALL, "steps": 2000, "eval_every": 10**6, "eval_episodes": 1, "epochs": 1}
    small |= {"num_envs": 4} if algo == "ippo" else {}
    train(TrainSettings(task=task, algo=algo, config=config, **small), tmp_path)
    parts = {levels.part_of(level) for level in met.levels}
    if task == ONE:
        assert len(met.levels) == 1  # a fixed task, whatever part that level is of
    else:
        assert len(met.levels) > 60
        assert parts == {"train"}


def test_a_training_through_a_curriculum_meets_none_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    from piase_gym.training import ppo
    from piase_gym.training.curriculum_env import make_curriculum_env

    met = Met(monkeypatch)
    for world, fields in (
        ("GridWorld", {"layout": "door_key", "width": 6, "height": 6, "max_steps": 4}),
        ("TextRoom", {"rooms": 4, "depth": 2, "max_steps": 4}),
    ):
        before = len(met.levels)
        won = {"metric": "task_success", "operator": "==", "value": True}
        step = {"order": 1, "name": "as it is", "completion_criteria": [won]}
        plan = DevelopmentalCurriculum(name="plan", steps=[step])
        env = make_curriculum_env(plan, world=world, num_envs=4, config=fields, seed=0)
        ppo.Trainer(env, ppo.Settings(num_envs=4, num_steps=64), 0).act()
        assert len(met.levels) > before + 10, world
        env.close()
    assert {levels.part_of(level) for level in met.levels} == {"train"}


def test_levels_that_are_drawn_again_leave_the_step_that_ended_as_it_was() -> None:
    kept, free = (
        piase_gym.batch_env(DOOR, num_envs=32, autoreset="same_step", max_steps=1) for _ in range(2)
    )
    levels.keep_to(kept, "train")
    kept.reset(0)
    free.reset(0)
    again = [levels.part_of(free.single(s).level()) != "train" for s in range(32)]
    assert any(again)
    acts = np.zeros((32, 1), np.int64)
    for mine, other in zip(kept.step(acts)[1:4], free.step(acts)[1:4], strict=True):
        assert mine.shape == other.shape == (32, 1)
    assert kept.step(acts)[3].all()  # every episode has one step, and says so
    seeds = kept.seeds()
    world = make_world(setting(DOOR))
    assert [levels.level_of(world, int(s)) for s in seeds] == [
        kept.single(slot).level() for slot in range(32)
    ]


def test_an_id_with_one_level_cannot_be_kept_to_a_part() -> None:
    world = make_world(setting(ONE))
    own = levels.part_of(levels.level_of(world, 0))
    other = next(part for part in levels.PARTS if part != own)
    env, single = piase_gym.batch_env(ONE, num_envs=2), piase_gym.parallel_env(ONE)
    for kept in (env, single.runner):
        levels.keep_to(kept, other)
    for made in (env, single):
        with pytest.raises(GenerationError, match="too few levels"):
            made.reset(0)
    levels.keep_to(env, other, spare_fixed=True)
    env.reset(0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: levels.keep_to(piase_gym.batch_env(ONE, num_envs=1), "test"),
        lambda: levels.seeds_in(make_world(setting(ONE)), "test", range(9), 1),
        lambda: levels.seeds_in(make_world(setting(DOOR)), "train", range(9), 100),
    ],
)
def test_parts_that_there_are_not_are_refused(call: Any) -> None:
    with pytest.raises(SuiteError):
        call()


def test_new_levels_are_of_the_held_out_part_and_fixed_tasks_are_left_out() -> None:
    results = evaluate("scripted", [DOOR, ONE], split="new_levels", episodes=12)
    assert results.settings == (DOOR,)
    assert [p.where for p in results.skipped] == [ONE]
    assert "too few to keep some from training" in results.skipped[0].what
    world = make_world(setting(DOOR))
    seeds = [record.seed for record in results.episodes]
    assert len(set(seeds)) == 12
    parts = [levels.part_of(levels.level_of(world, s)) for s in range(3_000_000, max(seeds) + 1)]
    assert seeds == [3_000_000 + n for n, part in enumerate(parts) if part == "held_out"]


# Rows that have other levels than their id, and whether they have fewer than a hundred.
CHANGED = [
    (Row(task=RANDOM.format(8), config={"width": 5, "height": 5}), True),
    (Row(task=RANDOM.format(8), config={"max_steps": 9}), False),
    (Row(task=ONE, config={"start_pos": None, "goal_pos": None}), True),
    (Row(task=ONE, config={"start_pos": None, "goal_pos": None, "width": 9, "height": 9}), False),
]


@pytest.mark.parametrize(("row", "few"), CHANGED)
def test_what_counts_for_new_levels_is_the_config_as_for_trainers(row: Row, few: bool) -> None:
    (own,), _ = Suite(name="s", rows=(row,)).settings("new_levels")
    env = piase_gym.batch_env(row.task, num_envs=512, **row.config)
    assert levels.is_fixed(env.world) == few
    levels.train_apart(env)
    env.reset(0)
    met = {env.single(slot).level() for slot in range(512)}
    rows = [row, Row(task=DOOR)]
    results = evaluate("noop", rows, split="new_levels", episodes=20, references={})
    if few:
        assert results.settings == (DOOR,)
        (told,) = [problem.what for problem in results.skipped]
        assert told == "it has fewer than 100 levels: too few to keep some from training"
        assert {levels.part_of(level) for level in met} == {*levels.PARTS}
    else:
        world = make_world(own)
        played = {levels.level_of(world, record.seed) for record in results.of(own.label, "noop")}
        assert len(played) > 10
        assert not played & met
        assert not results.skipped


def test_ids_of_plug_ins_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("few", 5), ("many", 8)):
        fields = {"layout": "empty", "width": size, "height": size, "border": True}
        spec = TaskSpec(id=f"mine/{name}-v0", world="GridWorld", config=fields)
        monkeypatch.setitem(registry._tasks, spec.id, spec)
    rows = ["mine/few-v0", "mine/many-v0"]
    results = evaluate("noop", rows, split="new_levels", episodes=2, references={})
    assert results.settings == ("mine/many-v0",)
    assert [problem.where for problem in results.skipped] == ["mine/few-v0"]


def test_levels_are_looked_for_once_and_only_if_no_count_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(levels, "_FIXED", {})
    monkeypatch.setattr(levels, "is_fixed", lambda world: bool(asked.append(world.config.width)))

    def play(task: str, split: str, **config: Any) -> None:
        evaluate("noop", Row(task=task, config=config), split=split, episodes=1, references={})

    play(DOOR, "new_levels")
    play(DOOR, "held_out", width=7)
    assert asked == []
    for _ in range(2):
        play(DOOR, "new_levels", width=7)
    assert asked == [7]
    play(DOOR, "new_levels", width=8)
    assert asked == [7, 8]


def test_a_stored_count_is_of_the_config_of_its_id_alone() -> None:
    count = levels.stored_counts()[DOOR]
    assert levels.stored_count(DOOR, setting(DOOR).config_hash) == count
    assert levels.stored_count(DOOR, setting(ONE).config_hash) is None
    assert levels.stored_count("mine/none-v0", setting(ONE).config_hash) is None


def test_stored_counts_say_what_trainers_find() -> None:
    small = [task for task, count in levels.stored_counts().items() if count.count < 1000]
    told = {task: levels.stored_counts()[task].fixed for task in small}
    assert {*told.values()} == {True, False}
    found = {task: levels.is_fixed_config(*world_of(setting(task))) for task in here(small)}
    assert found == {task: told[task] for task in found}


def test_a_row_of_a_fixed_task_claims_no_generalisation() -> None:
    results = evaluate("scripted", [DOOR, ONE], split="held_out", episodes=2)
    told = {cells[0]: dict(zip(HEAD, cells, strict=True)) for cells in result_rows(results)}
    assert "nothing about generalisation" in told[ONE]["remarks"]
    assert "generalisation" not in told[DOOR]["remarks"]
    assert told[ONE]["runs"] == "1"
    assert ONE_RUN in plain_table(results)
