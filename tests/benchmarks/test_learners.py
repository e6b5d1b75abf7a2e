"""Trainings of every id: they go on where they stopped, and what is stored says which are open."""

from __future__ import annotations

import copy
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import evaluate
from piase_gym.benchmarks.evaluation.statistics import Interval
from piase_gym.benchmarks.evaluation.suites import Row, Suite, expand
from piase_gym.benchmarks.references import learned
from piase_gym.benchmarks.references.models import ModelFolder
from piase_gym.errors import UnknownNameError
from tests.helpers.cli_runner import piase
from tests.paths import ROOT

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.benchmarks.references import learners, store  # noqa: E402  # needs the extra
from piase_gym.training.train import TrainSettings, train  # noqa: E402

EASY, HARD = "piase/GridWorld-Empty-5x5-v1", "piase/GridWorld-DoorKey-8x8-v1"


# -- what is open --------------------------------------------------------------------------


def told(
    values: Any, won: Any, noop: Any, random: Any, random_won: Any, low: Any = learned.BLIND
) -> learned.Learned:
    """What a learner came to beside policies that do not look."""
    blind = {"noop": {"values": noop}, "random": {"values": random, "won": random_won}}
    entry = {"algo": "batch_ppo", "reward": "own", "memory": 0, "budget": 1, "split": "new_levels"}
    return learned._of_trainings(entry, {"values": values, "won": won, **blind}, low)


def test_a_task_is_open_where_the_best_learner_is_at_random_level() -> None:
    rng = np.random.default_rng(0)
    low, high = (rng.normal(mean, 1.0, (5, 100)).tolist() for mean in (0.0, 2.0))
    floor, lower = rng.normal(0.0, 1.0, 100).tolist(), [-9.0] * 100
    never, often = [[0.0] * 100] * 5, [[1.0] * 100] * 5
    half = [0.0, 1.0] * 50
    assert told(low, never, floor, lower, [0.0] * 100).at_random_level  # no more than noop
    assert told(low, [half] * 5, lower, floor, half).at_random_level  # no more than random
    assert not told(low, often, lower, floor, half).at_random_level  # but it wins
    assert not told(high, [half] * 5, lower, floor, half).at_random_level  # but it gets more
    assert not told(high, often, floor, lower, half).at_random_level
    assert told(high, never, floor, lower, half).at_random_level  # it wins less often
    one = [high[0], *low[1:]]
    assert told(one, never, floor, lower, [0.0] * 100).at_random_level  # one lucky run of five
    assert not told(low, [half] * 5, floor, lower, half, ["random"]).at_random_level
    row = told(high, often, floor, lower, half)
    assert row.gain.estimate == pytest.approx(np.mean(high) - np.mean(floor))
    assert row.gain.high - row.gain.low < 1.0
    assert (row.edge.estimate, row.random_success) == (0.5, 0.5)  # type: ignore[union-attr]


def test_the_best_learner_is_above_random_level_then_trained_again_and_then_wins_most() -> None:
    def row(runs: int, won: float, gain: float, low: float = 0.5) -> learned.Learned:
        gained, share = Interval(gain, low, gain + 1), Interval(won, won, won)
        return learned.Learned("ppo", runs, gained, share, gained, None, None, True)

    ranked = [row(1, 0.1, 1), row(2, 0.1, 1), row(2, 0.1, 2), row(2, 0.2, 1)]
    ranked = [row(9, 0.9, 9, low=-1.0), *ranked]
    for place, worse in enumerate(ranked):
        for better in ranked[place + 1 :]:
            assert learned.best([worse, better]) is learned.best([better, worse]) is better
    assert [learned._training_words(one) for one in ranked[:2]] == ["ppo, 9 runs", "ppo, 1 run"]
    known = {"a": {"mean": 1.0}, "b": {"mean": 2.5}, "c": {}, "d": {"mean": None}}
    assert learned._best_known(known) == ("b", "2.50")


def test_partners_are_named_in_their_order() -> None:
    partners = {f"agent_{n}": name for n, name in enumerate("fedcbaf", 1)}
    entry = {"algo": "batch_ppo", "reward": "own", "memory": 0, "budget": 1, "split": "dev"}
    rows = {name: {"values": [1.0, 2.0], "won": None} for name in ("random", "noop")}
    found = {**rows, "values": [[1.0, 2.0]] * 2}
    made = learned._of_trainings({**entry, "partners": partners}, found, ["random"])
    assert "".join(f", with {name}" for name in "fedcba") + ", up to" in made.learner


def test_the_floor_is_that_of_the_row() -> None:
    low = learned._low_by_label()
    assert low["piase/SocialDilemma-BattleOfTheSexes-v1"] == ["random"]
    assert low["piase/SocialDilemma-Chicken-v1"] == ["random", "noop"]
    for wanted, noop in (("random", 50.0), ("noop", 0.0)):
        policies = {"random": {"values": [20.0, 22.0]}, "noop": {"values": [noop]}}
        assert learned._floor(policies, [wanted]) == policies[wanted]["values"]
        best = max(policies.values(), key=lambda policy: policy["values"][0])
        assert learned._floor(policies, learned.BLIND) == best["values"]


def test_every_reward_of_training_is_told_apart() -> None:
    from piase_gym.training.rewards import REWARDS

    assert set(learned.REWARDS_TOLD) == set(REWARDS)
    assert len(set(learned.REWARDS_TOLD.values())) == len(REWARDS)


def test_a_better_learner_closes_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def policy(values: list[float]) -> dict[str, Any]:
        return {"values": values * 4, "mean": float(np.mean(values)), "training": {}}

    policies = {"random": [0.0, 1.0], "noop": [0.5, 0.0], "ppo": [0.0, 0.5], "oracle": [9.0, 9.0]}
    entry = {"policies": {name: policy(values) for name, values in policies.items()}}
    monkeypatch.setattr(learned, "shipped", lambda: {"settings": {"task": entry}})
    monkeypatch.setattr(learned, "stored_learners", dict)
    assert set(learned.open_problems()) == {"task"}
    table = learned.open_problems_table()
    assert "| task | ppo, 0 M steps, 1 run | 0.25" in table
    assert table.strip().endswith("| oracle | 9.00 |")
    episodes = {
        "values": [[5.0, 5.1] * 4, [5.2, 5.0] * 4],
        **{b: {"values": [0.0, 1.0] * 4} for b in ("noop", "random")},
    }
    row = {"algo": "batch_ppo", "reward": "own", "memory": 8, "budget": 2_000_000}
    row |= {"split": "held_out", "labels": {"task": episodes}}
    monkeypatch.setattr(learned, "stored_learners", lambda: {"task": row})
    assert learned.open_problems() == {}
    assert learned.best(learned.learned()["task"]).learner.endswith("8, up to 2 M steps")
    entry["policies"]["ppo"] = policy([7.0, 8.0])
    several, single = learned.learned()["task"]
    assert single.gain.estimate > several.gain.estimate
    assert learned.best([single, several]) is several
    row["labels"]["task"]["values"] = [[0.0, 1.0] * 4, [0.0, 0.5] * 4]
    several, single = learned.learned()["task"]
    assert learned.best([single, several]) is single


@pytest.mark.parametrize(("wins", "is_open"), [(2, True), (9, False)])
def test_who_gets_more_but_wins_less_than_random_play_is_at_random_level(
    monkeypatch: pytest.MonkeyPatch, wins: int, is_open: bool
) -> None:
    """Of older measurements only the share that random play won is stored."""
    won = [1.0] * wins + [0.0] * (10 - wins)
    model = {"values": [5.0, 5.1] * 50, "won": [won * 10], "training": {}}
    blind = {"values": [0.0, 1.0] * 50, "success": 0.7}
    entry = {"policies": {"ppo": model, "random": blind, "noop": {**blind, "success": 0.0}}}
    monkeypatch.setattr(learned, "stored_learners", dict)
    monkeypatch.setattr(learned, "shipped", lambda: {"settings": {"task": entry}})
    assert ("task" in learned.open_problems()) == is_open
    (row,) = learned.learned()["task"]
    assert row.random_success == 0.7
    assert row.edge is not None
    assert row.edge.estimate == pytest.approx(wins / 10 - 0.7)


def test_what_is_learned_in_part_is_told_with_its_best_learner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trained(share: int) -> dict[str, Any]:
        wins = [1.0] * share + [0.0] * (100 - share)
        luck = [1.0] * 10 + [0.0] * 90
        blind = {"values": luck, "won": luck}
        episodes = {"values": [wins] * 2, "won": [wins] * 2, "random": blind, "noop": blind}
        told = {"algo": "batch_ppo", "reward": "own", "memory": 0, "budget": 2_000_000}
        return {**told, "split": "held_out", "labels": {f"W-{share}": episodes}}

    stored = {str(share): trained(share) for share in (10, 90, 50, 94, 95)}
    monkeypatch.setattr(learned, "stored_learners", lambda: stored)
    monkeypatch.setattr(learned, "shipped", dict)
    assert set(learned.open_problems()) == {"W-10"}
    assert set(learned.partly_learned()) == {"W-50", "W-90", "W-94"}
    rows = learned.partly_learned_table().splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["W-50", "W-90", "W-94"]
    assert rows[0].startswith("| W-50 | fast PPO, up to 2 M steps, 2 runs | 50% (")
    assert rows[0].endswith(" | 10% |")
    assert "| W | 5 | 4 | 1 of 5 | 1 |" in learned.learners_table()


def test_what_has_no_training_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"values": [0.0, 1.0], "mean": 0.5}
    both = {"policies": {"random": policy, "noop": policy, "ppo": policy}}
    monkeypatch.setattr(learned, "stored_learners", dict)
    trained = {"piase/GridWorld-Empty-5x5-v1": both}
    left = {f"piase/{name}-v1": {"policies": {"random": policy}} for name in ("B-2", "B", "A")}
    monkeypatch.setattr(learned, "shipped", lambda: {"settings": {**trained, **left}})
    table = learned.learners_table()
    assert "| GridWorld | 1 | 0 | – | 1 |" in table
    assert table.endswith("without a stored training: A 1, B 2.\n")
    monkeypatch.setattr(learned, "shipped", lambda: {"settings": trained})
    assert "Left out" not in learned.learners_table()


def test_the_page_of_open_problems_has_them_all_and_no_other() -> None:
    page = (ROOT / "docs" / "open_problems.md").read_text("utf-8")
    page = page.split("<!-- learners: open -->")[1].split("<!-- end -->")[0]
    shown = {
        line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| piase/")
    }
    assert shown == set(learned.open_problems())
    result = piase("bench", "standard", "--references")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    for split in ("held_out", "dev"):
        for setting in learned_suite(split):
            (line,) = (line for line in lines if line.startswith(f"{setting.label}  "))
            assert line.endswith("  open") == (setting.label in shown), line


def learned_suite(split: str) -> Any:
    """The settings of the standard suite."""
    from piase_gym.benchmarks.evaluation.suites import standard

    return standard().settings(split)[0]


def test_a_training_is_told_in_one_line_however_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from piase_gym.cli import bench

    played = {"steps": 12_345_678, "cpu_seconds": 98.7, "reason": "stopped " * 12 + "at last"}
    monkeypatch.setattr(learners, "train_one", lambda *_: played)
    monkeypatch.setattr(learners, "PASSES", (small(2048),))
    monkeypatch.setenv("COLUMNS", "80")
    bench.learners(tmp_path, seeds=2, task=[EASY])
    lines = capsys.readouterr().out.splitlines()
    name = EASY.removeprefix("piase/")
    end = f"{played['reason']} after 12,345,678 steps, 99 CPU-seconds"
    assert lines == [f"short {name} {seed}: {end}" for seed in (0, 1)]
    passes = tuple(replace(small(2048), name=name) for name in ("short", "long", "memory"))
    monkeypatch.setattr(learners, "PASSES", passes)
    bench.learners(tmp_path, seeds=1, task=[EASY], only=["memory", "short"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"short {name} 0: {end}", f"memory {name} 0: {end}"]
    with pytest.raises(UnknownNameError, match="unknown pass 'lang'; did you mean 'long'"):
        bench.learners(tmp_path, task=[EASY], only=["lang"])


# -- trainings -----------------------------------------------------------------------------


def small(steps: int, **options: Any) -> learners.Pass:
    """A pass of a few seconds."""
    tiny = {"num_envs": 32, "minibatch": 256, "width": 16, "eval_episodes": 10, **options}
    return learners.Pass("short", {"GridWorld": steps}, tiny, False)


def test_every_id_has_a_budget_and_what_is_to_test_with_is_not_trained_on() -> None:
    rows = learners.tasks()
    for name, own in rows.items():
        setting = learners.setting_of(own[0])
        plans = [learners.settings_for(setting, attempt, 0) for attempt in learners.PASSES]
        found = [plan for plan in plans if plan is not None]
        assert found, name
        assert all(plan.config.get("tasks") != "test" for plan in found)
        kernel = found[0].algo == "batch_ppo"
        assert len(found) > 1 or not kernel or "SocialDilemma" in name
    assert "WordCraft-NewGoals-v2-tasks-test" in rows
    against = learners.setting_of(rows["SocialDilemma-PrisonersDilemma-TitForTat-v1"][0])
    plan = learners.settings_for(against, learners.PASSES[0], 0)
    assert plan is not None
    assert plan.partners == {"agent_1": "tit_for_tat"}  # the anchor is the best response to it
    pennies = learners.setting_of(rows["SocialDilemma-MatchingPennies-v1"][0])
    plan = learners.settings_for(pennies, learners.PASSES[0], 0)
    assert plan is not None
    assert plan.partners == {}  # its two seats are not alike
    costs = learners.settings_for(learners.setting_of(Row(task=EASY)), learners.PASSES[0], 3)
    assert costs is not None
    assert (costs.training_reward, costs.seed) == ("small_costs", 3)


def test_a_folder_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = replace(small(4096), name="long", unsolved_only=True)
    monkeypatch.setattr(learners, "PASSES", (small(2048), second))
    monkeypatch.setattr(learners, "EPISODES", 10)
    rows, done = learners.tasks([HARD]), []

    def report(name: str, played: Any) -> None:
        done.append(name)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learners.train_all(tmp_path, rows, seeds=2, report=report)
    name = "GridWorld-DoorKey-8x8-v1"
    assert done == [f"short {name} 0", f"short {name} 1"]
    done.append("")
    assert learners.train_all(tmp_path, rows, seeds=2, report=report) == []
    assert done[3:] == [f"long {name} 0", f"long {name} 1"]  # two thousand steps solve nothing
    assert learners.train_all(tmp_path, rows, seeds=2, report=report) == []
    assert len(done) == 5
    run = learners.runs_of(tmp_path, name, "short")[1]
    assert (run["split"], run["budget"], run["steps"]) == ("new_levels", 2048, 2048)
    assert run["curve"][0][0] == 0
    assert run["curve"][-1][0] == 2048
    dev, _, steps = max((dev, got, steps) for steps, dev, got in run["curve"])
    assert learners.kept_look(run)[:2] == (run["kept"], dev) == (steps, dev)
    suite = Suite(name="one", rows=(Row(task=HARD),))
    policy = str(Path(run["folder"]) / run["policy"])
    players = {"trained": policy, "random": "random", "noop": "noop"}  # seed 0 played the blind
    again = evaluate(players, suite, episodes=10, split="new_levels", references={})
    assert run["labels"][HARD].keys() == players.keys()
    for player, found in run["labels"][HARD].items():
        records = again.of(HARD, player)
        assert found["values"] == [record.value for record in records]
        assert found["won"] == [record.won for record in records]


def test_processes_train_what_this_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners, "PASSES", (small(2048),))
    rows, told = learners.tasks([EASY]), []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        report = lambda name, _: told.append(name)  # noqa: E731
        assert learners.train_all(folder, rows, seeds=2, workers=workers, report=report) == []
        assert [path.name for path in folder.iterdir()] == ["short"]
    name = EASY.removeprefix("piase/")
    assert sorted(told) == sorted(2 * [f"short {name} 0", f"short {name} 1"])
    one, two = (learners.runs_of(tmp_path / n, name, "short") for n in ("1", "2"))
    for run in (*one, *two):
        assert Path(run.pop("folder"), run["policy"]).is_file()
        del run["cpu_seconds"]
    assert one == two


def test_a_training_elsewhere_sends_what_says_that_it_is_there_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.jobs.folders import OutFolder

    monkeypatch.setattr(learners, "EPISODES", 10)
    [(name, rows)] = learners.tasks([EASY]).items()
    settings = learners.settings_for(learners.setting_of(rows[0]), small(2048), 0)
    assert settings is not None
    out = OutFolder(tmp_path, ".not-here")
    job = learners.Training(Path("short", name, "0"), settings, tuple(rows), out)
    played, files = learners.perform(job)
    assert list(tmp_path.iterdir()) == []
    assert list(files)[-1] == f"short/{name}/0/{learners.PLAYED}"
    out.take(files)
    [run] = learners.runs_of(tmp_path, name, "short")
    assert run["labels"] == played["labels"]
    assert Path(run["folder"], run["policy"]).is_file()


def test_a_training_that_fails_is_told_and_tried_in_no_other_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fails(place: Path, settings: Any, _rows: Any) -> Any:
        tried.append((place.parts[-3], settings.seed))
        raise ZeroDivisionError("lost my way")

    monkeypatch.setattr(learners, "train_one", fails)
    monkeypatch.setattr(learners, "PASSES", (small(2048), replace(small(4096), name="long")))
    [problem] = learners.train_all(tmp_path, learners.tasks([EASY]), seeds=2)
    assert tried == [("short", 0), ("short", 1)]
    assert problem.where == EASY.removeprefix("piase/")
    assert problem.what == "seed 0 of short: ZeroDivisionError: lost my way"


def test_a_training_that_a_signal_ended_counts_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import piase_gym.training.train as module
    from piase_gym.benchmarks.references.dilemmas import _trained
    from piase_gym.benchmarks.references.train import trained
    from piase_gym.benchmarks.studies import sample_efficiency, solve

    whole = module.train

    def stopped(settings: TrainSettings, *given: Any, **named: Any) -> Any:
        small = {"steps": 256, "num_envs": 8, "num_steps": 32, "minibatch": 64, "eval_episodes": 2}
        result = whole(settings.model_copy(update=small), *given, **named)
        return replace(result, reason="interrupted")

    monkeypatch.setattr(module, "train", stopped)
    plan = TrainSettings(task=EASY, algo="batch_ppo")
    setting = learners.setting_of(Row(task=EASY))
    for number, train_half in enumerate(
        (
            lambda folder: learners.train_one(folder, plan, [Row(task=EASY)]),
            lambda _: trained(setting, {"algo": "ippo"}),
            lambda _: solve.perform(solve.Job(plan)),
            lambda folder: sample_efficiency.ours(0, folder),
            lambda folder: _trained(folder, plan),
        )
    ):
        with pytest.raises(KeyboardInterrupt):
            train_half(tmp_path / str(number))
    assert not list(tmp_path.rglob(learners.PLAYED))


def test_the_best_pass_and_its_median_run_are_kept(tmp_path: Path) -> None:
    def write(attempt: str, seed: int, won: list[float], value: float) -> None:
        place = tmp_path / attempt / "task" / str(seed)
        place.mkdir(parents=True)
        episodes = {"values": [value] * len(won), "won": won}
        played = {"trained": episodes, "random": episodes, "noop": episodes}
        curve = [[0, 0.0, -1.0], [seed, sum(won) / len(won), value]]
        told = {"labels": {"task": played}, "steps": seed, "cpu_seconds": 1.0, "curve": curve}
        told |= dict.fromkeys(("task", "algo", "reward", "split"), "x")
        told |= dict.fromkeys(("version", "memory", "budget", "episodes"), 1)
        (place / learners.PLAYED).write_text(json.dumps(told))

    for seed, won in enumerate(([1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0])):
        write("short", seed, [float(w) for w in won], 1.0)
    runs = learners.best_runs(tmp_path, "task")
    assert learners.median_run(runs)["folder"].endswith("1")
    assert not learners.solved(tmp_path, "task", 3)
    for seed in range(3):
        write("long", seed, [1.0, 1.0, 1.0, 1.0], 0.5 + seed)
    assert {run["pass"] for run in learners.best_runs(tmp_path, "task")} == {"long"}
    assert learners.solved(tmp_path, "task", 3)
    assert not learners.solved(tmp_path, "task", 4)  # a seed is lacking
    found = learners.collect(tmp_path, {"task": [], "none": []})
    assert set(found) == {"task"}
    assert found["task"]["labels"]["task"]["won"] == [[1.0] * 4] * 3
    assert found["task"]["steps"] == found["task"]["kept"] == [0, 1, 2]


def test_passes_are_ranked_by_the_looks_whose_policies_were_kept(tmp_path: Path) -> None:
    def write(attempt: str, curve: Any, **more: Any) -> None:
        place = tmp_path / attempt / "task" / "0"
        place.mkdir(parents=True)
        (place / learners.PLAYED).write_text(json.dumps({"curve": curve, **more}))

    def best() -> str:
        (run,) = learners.best_runs(tmp_path, "task")
        return str(run["pass"])

    write("short", [[0, 0.5, 9.0], [10, 0.5, 1.0], [20, 0.4, 5.0]])  # by wins alone, the newest
    assert learners.kept_look(learners.runs_of(tmp_path, "task", "short")[0]) == (10, 0.5, 1.0)
    write("long", [[0, 0.5, 1.5], [10, 0.5, -1.0]], kept=0)
    assert best() == "long"
    write("costs", [[0, 0.5, 1.0], [10, 0.5, 2.0], [20, 0.9, 0.0]], kept=10)
    assert best() == "costs"
    write("shaped", [[0, 0.6, None], [10, 0.1, None]], kept=0)
    assert best() == "shaped"


@pytest.mark.parametrize(
    ("config", "split"), [({}, "new_levels"), ({"width": 5, "height": 5}, "held_out")]
)
def test_what_trainings_play_is_chosen_by_the_config(
    config: dict[str, int], split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_: Any, **options: Any) -> None:
        raise LookupError(options["split"])

    monkeypatch.setattr(learners, "evaluate", play)
    row = Row(task="piase/GridWorld-Empty-Random-8x8-v1", config=config)
    with pytest.raises(LookupError, match=split):
        learners.play_rows(SimpleNamespace(policy="noop"), [row], {})  # type: ignore[arg-type]


def run_of(values: list[float], won: list[float] | None, name: str = "") -> dict[str, Any]:
    """What is kept of a training, of its first label; the second does not count."""
    trained = {"values": values} | ({} if won is None else {"won": won})
    other = {"values": [99.0], "won": [1.0]}
    return {"labels": {"a": {"trained": trained}, "b": {"trained": other}}, "name": name}


def test_the_middle_of_runs_is_by_success_then_by_value() -> None:
    runs = [
        run_of([3.0, 1.0], [0.0, 1.0], "x"),
        run_of([9.0], [0.0], "y"),
        run_of([1.0], [0.5], "z"),
    ]
    assert [learners.success_of(run) for run in runs] == [0.5, 0.0, 0.5]
    assert [learners.value_of(run) for run in runs] == [2.0, 9.0, 1.0]
    assert learners.median_run(runs)["name"] == "z"
    assert learners.median_run(runs[:2])["name"] == "y"  # of two the worse
    assert learners.success_of(run_of([1.0], None)) is None
    payoffs = [run_of([value], None, str(value)) for value in (5.0, 1.0, 3.0)]
    assert learners.median_run(payoffs)["name"] == "3.0"


def test_what_is_solved_is_won_often_enough_and_payoffs_are_tried_once(tmp_path: Path) -> None:
    def write(attempt: str, name: str, *runs: Any) -> None:
        for seed, run in enumerate(runs):
            place = tmp_path / attempt / name / str(seed)
            place.mkdir(parents=True)
            (place / learners.PLAYED).write_text(json.dumps(run))

    often, enough = run_of([1.0], [1.0] * 94 + [0.0] * 6), run_of([1.0], [1.0] * 95 + [0.0] * 5)
    write("short", "open", enough, often, often)
    write("short", "late", often)
    write("long", "late", often, enough, enough)
    write("short", "game", run_of([1.0], None), run_of([1.0], None))
    for name, count, solved in (("open", 3, 0), ("late", 3, 1), ("game", 2, 1), ("game", 3, 0)):
        assert learners.solved(tmp_path, name, count) == bool(solved), name
    assert not learners.solved(tmp_path, "nothing", 1)
    write("slow", "many", *(run_of([float(seed)], None) for seed in range(11)))
    told = [learners.value_of(run) for run in learners.runs_of(tmp_path, "many", "slow")]
    assert told == list(range(11))  # by number: 10 comes last


def test_budgets_are_looked_at_and_shared_as_stated() -> None:
    by_name = {attempt.name: attempt for attempt in learners.PASSES}

    def plan(task: str, attempt: str) -> TrainSettings:
        setting = learners.setting_of(learners.tasks([task]).popitem()[1][0])
        found = learners.settings_for(setting, by_name[attempt], 2)
        assert found is not None
        return found

    one, four = plan(EASY, "short"), plan("piase/GridWorld-Tag-10x10-4p-v2", "short")
    assert (one.steps, one.eval_every, one.num_envs, one.seed) == (4_000_000, 500_000, 512, 2)
    assert (four.num_envs, one.stop_at, one.memory) == (128, learned.SOLVED, 0)
    costs, memory = plan(EASY, "costs"), plan(EASY, "memory")
    assert (costs.training_reward, costs.stop_at) == ("own_costs_later", None)
    assert (memory.memory, memory.steps) == (128, 16_000_000)
    slow = plan("piase/TextRoom-Quest-Easy-v3", "slow")
    assert (slow.algo, slow.steps, slow.eval_every) == ("ippo", 100_000, 33_333)
    assert (slow.save_every, slow.stop_at) == (100_000, learned.SOLVED)
    words = plan("piase/Household-Team-2p-v4", "words")
    assert (words.algo, words.steps, words.eval_every) == ("batch_ppo", 300_000, 50_000)
    assert (words.num_envs, words.stop_at, words.memory) == (32, learned.SOLVED, 0)
    recall = plan("piase/TextRoom-Recall-4-v3", "words_memory")
    assert (recall.steps, recall.memory, recall.num_steps) == (500_000, 128, 64)
    together = plan("piase/SocialDilemma-VolunteersDilemma-4p-v1", "prosocial")
    assert (together.training_reward, together.roles) == ("prosocial", (0, 1, 2, 3))
    assert plan("piase/SocialDilemma-Chicken-v1", "prosocial").roles == (0, 1)
    assert plan("piase/SocialDilemma-Chicken-v1", "short").roles == ()
    for game in ("MatchingPennies", "PrisonersDilemma-TitForTat"):  # others play a seat
        _, rows = learners.tasks([f"piase/SocialDilemma-{game}-v1"]).popitem()
        assert learners.settings_for(learners.setting_of(rows[0]), by_name["prosocial"], 0) is None
    text = learners.setting_of(Row(task="piase/TextRoom-Quest-Easy-v3"))
    assert learners.settings_for(text, by_name["short"], 0) is None
    river = plan("piase/SocialDilemma-Cleanup-4p-v1", "commons")
    assert (river.steps, river.eval_every, river.roles) == (12_000_000, 1_500_000, ())
    assert plan("piase/SocialDilemma-Cleanup-8p-v1", "commons").steps == 24_000_000
    orchard = learners.setting_of(Row(task="piase/SocialDilemma-Harvest-4p-v1"))
    assert learners.settings_for(orchard, by_name["commons"], 0) is None


# -- models --------------------------------------------------------------------------------


def test_a_slim_model_plays_as_the_whole_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"num_envs": 64, "num_steps": 32, "minibatch": 512, "width": 32}
    options |= {"steps": 60_000, "eval_every": 60_000, "eval_episodes": 4, "central": True}
    plan = TrainSettings(task=EASY, algo="batch_ppo", training_reward="small_costs", **options)
    whole, half = train(plan, tmp_path / "run").policy, tmp_path / "half.pt"
    half.write_bytes(store.slim(whole))
    assert half.stat().st_size < whole.stat().st_size / 4
    assert store.slim(whole) == half.read_bytes()
    found = torch.load(half, weights_only=True)
    assert not any(name.startswith(("critic", "central")) for name in found["policies"][0])
    players = {"whole": str(whole), "half": f"ppo:{half}", "random": "random"}
    results = evaluate(players, EASY, episodes=60, references={})
    won = {name: np.mean([r.won for r in results.of(EASY, name)]) for name in players}
    steps = {name: np.mean([r.steps for r in results.of(EASY, name)]) for name in players}
    assert won["half"] >= won["whole"] - 0.05
    assert steps["whole"] < 0.8 * steps["random"]
    assert abs(steps["half"] - steps["whole"]) < 0.1 * steps["whole"]


def test_a_model_is_put_in_the_place_of_one_that_gets_less(tmp_path: Path) -> None:
    rows = [Row(task="piase/WordCraft-Pantry-v2")]
    name = learners.setting_of(rows[0]).name
    shipped = ModelFolder(Path(store.__file__).with_name("ppo")).path(learners.setting_of(rows[0]))
    policy = Path(shutil.copy(shipped, tmp_path / "policy.pt"))
    models = ModelFolder(tmp_path / "models")
    models.folder.mkdir()
    old, new = (models.folder / f"{name}.{ending}" for ending in ("zip", "pt"))

    def references(value: float) -> Any:
        played = {"values": [value] * 50 + [99.0] * 50, "success": 0.0}
        return {"settings": {rows[0].task: {"policies": {"ppo": played}}}}

    told = store._ship(policy, models, rows, {"settings": {}})
    assert told.startswith("replaced: ")
    assert told.endswith(" after nan")
    assert new.read_bytes() == store.slim(policy)
    new.unlink()
    old.write_bytes(b"old")
    assert store._ship(policy, models, rows, references(50.0)).startswith(
        "the model that ships is as good (50, here "
    )
    assert [path.name for path in models.folder.iterdir()] == [old.name]
    assert store._ship(policy, models, rows, references(-50.0)).endswith(" after -50")
    assert [path.name for path in models.folder.iterdir()] == [new.name]
    size = len(store.slim(policy))
    (models.folder / "other.pt").write_bytes(b"x" * (store.LARGEST - size))
    assert store._ship(policy, models, rows, references(-50.0)).startswith("replaced: ")
    (models.folder / "other.pt").write_bytes(b"x" * (store.LARGEST - size + 1))
    told = f"too large to ship: {size:,} bytes, and {size - 1:,} are left"
    assert store._ship(policy, models, rows, references(-50.0)) == told
    assert new.read_bytes() == store.slim(policy)


def test_a_slim_model_has_no_critic_and_no_symbols_that_were_never_met(tmp_path: Path) -> None:
    rows = torch.tensor([0, 2, 1])
    state = {"encoder.rows": rows, "encoder.table": torch.arange(10.0).reshape(5, 2) / 3.0}
    state |= {name: torch.ones(3) / 3.0 for name in ("actor.weight", "critic.x", "central.x")}
    torch.save({"card": {"a": 1}, "policies": [state, {"actor.steps": rows}]}, tmp_path / "p.pt")
    for half, kind in ((True, torch.float16), (False, torch.float32)):
        (tmp_path / "slim.pt").write_bytes(store.slim(tmp_path / "p.pt", half))
        found = torch.load(tmp_path / "slim.pt", weights_only=True)
        first, second = found["policies"]
        assert found["card"] == {"a": 1}
        assert set(first) == {"encoder.rows", "encoder.table", "actor.weight"}
        assert (first["encoder.rows"].tolist(), first["encoder.rows"].dtype) == (
            [0, 2, 1],
            torch.int16,
        )
        assert torch.equal(first["encoder.table"], state["encoder.table"][:3].to(kind))
        assert first["actor.weight"].dtype == kind
        assert second["actor.steps"].dtype == torch.int64


def test_models_that_ship_are_small() -> None:
    folder = Path(store.__file__).with_name("ppo")
    files = [path for path in folder.iterdir() if path.suffix in (".pt", ".zip")]
    assert sum(path.stat().st_size for path in files) < store.LARGEST
    assert len({path.stem for path in files}) == len(files)  # one for each task


def test_models_that_ship_are_read_by_a_line_of_plain_torch() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    (own,), (sb3,) = (
        re.findall(f"^{name} = (torch.*)$", page, re.M) for name in ("policies", "policy")
    )
    known, folder = {"torch": torch, "zipfile": zipfile}, Path(store.__file__).with_name("ppo")
    found = [policy for path in folder.glob("*.pt") for policy in eval(own, {**known, "own": path})]
    found += [eval(sb3, {**known, "sb3": path}) for path in folder.glob("*.zip")]
    assert found
    assert all(torch.is_tensor(values) for policy in found for values in policy.values())


# -- dilemmas ------------------------------------------------------------------------------


def measure_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings of dilemmas, and what is played after them, take seconds."""
    from piase_gym.benchmarks.references import dilemmas

    tiny = {"num_envs": 64, "num_steps": 16, "minibatch": 256, "width": 16, "eval_episodes": 2}
    attempt = learners.Pass("short", {"SocialDilemma": 40_000}, tiny, unsolved_only=False)
    for module in (learners, dilemmas):
        monkeypatch.setattr(module, "PASSES", (attempt,))
    monkeypatch.setattr(learners, "EPISODES", 4)
    monkeypatch.setattr(dilemmas, "EPISODES", 6)
    monkeypatch.setattr(dilemmas, "SEEDS", 1)


def test_a_best_response_exploits_who_always_gives_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.benchmarks.references import dilemmas

    measure_little(monkeypatch)
    (name,) = rows = learners.tasks(["piase/SocialDilemma-Chicken-v1"])
    assert learners.train_all(tmp_path, rows, seeds=2) == []
    for run in learners.runs_of(tmp_path, name, "short"):  # now they always swerve, whatever comes
        path = Path(run["folder"]) / run["policy"]
        state = torch.load(path, weights_only=True)
        state["policies"][0]["actor.weight"].zero_()
        state["policies"][0]["actor.bias"][:] = torch.tensor([20.0, 0.0])
        torch.save(state, path)
    found = dilemmas.measure(tmp_path, name, rows[name][0])
    assert found is not None
    both = np.mean(found["self_play"])
    assert np.ptp(found["self_play"]) == 0.0
    assert np.mean(found["strangers"]) == np.mean(found["in_its_place"]) == both
    assert np.mean(found["best_response"]) > both + 1.0
    assert {len(found[kind]) for kind in ("self_play", "strangers")} == {2}


def test_each_seat_of_a_game_of_two_has_its_best_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from piase_gym.benchmarks.references import dilemmas

    measure_little(monkeypatch)
    with pytest.raises(SystemExit):
        dilemmas.main([str(tmp_path)])
    assert "has no trainings of SocialDilemma" in capsys.readouterr().err
    rows = learners.tasks(["piase/SocialDilemma-MatchingPennies-v1"])
    assert learners.train_all(tmp_path / "runs", rows, seeds=1) == []
    (name,) = rows
    [run] = learners.runs_of(tmp_path / "runs", name, "short")
    path = Path(run["folder"]) / run["policy"]
    state = torch.load(path, weights_only=True)
    state["policies"][0]["actor.weight"].zero_()
    state["policies"][0]["actor.bias"][:] = torch.tensor([20.0, 0.0])  # heads, always
    torch.save(state, path)
    out = tmp_path / "found.json"
    dilemmas.main([str(tmp_path / "runs"), "--out", str(out)])
    found = json.loads(out.read_text("utf-8"))[name]
    # who matches shows heads, who does not shows tails: in both seats all rounds can be won
    ((*best,), (*own,)) = found["best_response"], found["in_its_place"]
    rounds = max(own[0])
    assert sorted(own[0]) == [-rounds] * 3 + [rounds] * 3
    assert min(best[0]) > 0.5 * rounds
    assert "strangers" not in found  # of one run there are none


def test_a_model_that_is_replaced_is_forgotten_as_a_player_and_as_a_partner() -> None:
    row = Row(
        task="piase/GridWorld-FourRooms-8x8-v1",
        config={"agents": 4},
        focal=1,
        partners=("random",),
        held_out_partners=("ppo",),
        label="guests",
    )
    dev, held_out = (expand(row, split)[0] for split in ("dev", "held_out"))
    played = {"policies": {"ppo": {}, "random": {}}}
    references: Any = {"settings": {s.label: copy.deepcopy(played) for s in (dev, held_out)}}
    for setting in (dev, held_out):
        store._forget(references, setting)
    assert references["settings"] == {"guests with random": {"policies": {"random": {}}}}


def test_the_page_says_of_every_open_problem_why() -> None:
    page = (ROOT / "docs" / "open_problems.md").read_text("utf-8")
    reasons = page.split("## Why they are open")[1].split("\n## ")[0]
    named = {
        name
        for item in reasons.split("\n- ")[1:]
        for name in re.findall(r"`([\w-]+)`", item.split(":")[0])
    }
    known = {label: label.split()[0].removeprefix("piase/") for label in learned.open_problems()}
    assert [one for one in known if not known[one].startswith(tuple(named))] == []
    assert [name for name in named if not any(k.startswith(name) for k in known.values())] == []
