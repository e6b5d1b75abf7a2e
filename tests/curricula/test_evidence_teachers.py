"""The evidence on curricula: its plan and runner, and what it says of stored lines."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("scipy")
pytest.importorskip("jinja2")

import numpy as np
from scipy import stats

from piase_gym import curricula
from piase_gym.benchmarks.studies.evidence import findings, plan, study, verdict
from piase_gym.benchmarks.studies.jobs import read_lines
from piase_gym.errors import MissingExtraError, StorageError
from piase_gym.runs.history import Episode
from piase_gym.training.curriculum_env import make_curriculum_env
from piase_gym.training.curriculum_settings import import_ppo
from tests.curricula.teacher_helpers import AGENT, opened
from tests.paths import DOCS

PAGE = (DOCS / "evidence_teachers.md").read_text("utf-8")
NAMES = list(plan.TARGETS)


def test_the_plan_is_what_the_page_says() -> None:
    text = " ".join(PAGE.split("## Results")[0].split())
    settings = import_ppo().Settings()
    fast, slow = plan.TARGETS["rooms"].learner, plan.TARGETS["text_quest"].learner
    assert f"{fast['num_envs']} environments, {fast['num_steps']} steps between updates" in text
    assert f"minibatches of {fast['minibatch']:,}, {fast['epochs']} epochs" in text
    assert (
        "TextRoom: {num_envs} environments, {num_steps} steps, {minibatch}, {epochs}".format(**slow)
        in text
    )
    assert f"learning rate {settings.learning_rate}" in text
    assert "the seeds 1000 and 1001" in text
    assert list(plan.TRIED) == [1000, 1001]
    assert f"tested on {plan.TESTS} levels of the part `held_out`" in text
    assert f"looked at {plan.MARKS} times on the way, on {plan.LOOKS} levels" in text
    assert "1 − 0.05/5" in text
    assert pytest.approx(1 - 0.05 / 5) == findings.CORRECTED
    assert re.findall(r"^\| `(\w+)` \| [A-Z]\w+ \|", PAGE, re.M) == NAMES
    assert len({curricula.load(name).world for name in NAMES}) >= 4
    every = study.jobs(dict.fromkeys(NAMES, 1))
    assert len(every) == len({job.key for job in every}) == 600
    assert {job.seed for job in every[:60]} == {0}  # a finished seed is a fair part
    assert not {job.seed for job in every} & set(plan.TRIED)
    assert verdict.arms() in PAGE


def test_arms_differ_in_what_they_are_named_for_alone() -> None:
    for name in NAMES:
        old, new = plan.curriculum(name), plan.curriculum(name, "repaired")
        least = plan.TARGETS[name].learner["num_envs"]
        for ours, ships in zip(new.steps, curricula.load(name).steps, strict=True):
            episodes = max(least, ships.episodes_per_attempt)
            assert ours == ships.model_copy(update={"episodes_per_attempt": episodes})
            assert old.step(ships.order).episodes_per_attempt == ships.episodes_per_attempt < least
        flat, bare = plan.curriculum(name, "unbranched"), plan.curriculum(name, "order")
        for steps in zip(old.steps, new.steps, flat.steps, bare.steps, strict=True):
            assert len({str(s.completion_criteria) + str(s.fields) for s in steps}) == 1
            was, now, unbranched, ordered = steps
            assert now.episodes_per_attempt == unbranched.episodes_per_attempt
            assert now.episodes_per_attempt == ordered.episodes_per_attempt
            assert was.max_attempts == now.patience == unbranched.patience
            assert was.patience is now.max_attempts is ordered.patience is None
            assert was.adaptation_rules == now.adaptation_rules
            kept = [r for r in now.adaptation_rules if "BRANCH" not in r[1]]
            assert list(unbranched.adaptation_rules) == kept
            assert (ordered.adaptation_rules, ordered.max_attempts) == ((), None)
    target = plan.TARGETS["door_key"]
    made = {name: plan.ARMS[name].make(target)[1] for name in plan.ARMS if name != "syllabus"}
    assert made["target_only"]._weights == {5: 1.0}
    assert (made["sequential"].share, made["domain_randomisation"].random) == (0.8, 1.0)
    assert made["sequential"].episodes(plan.curriculum("door_key").steps[0]) == 256
    assert made["alp_gmm"].random < 1.0
    assert (made["learning_progress"].rate, made["learning_progress"].fast_rate) == (0.002, 0.02)


def test_arms_play_the_steps_that_they_are_named_for() -> None:
    target = plan.TARGETS["door_key"]

    def widths(arm: str, num_envs: int = 4) -> set[int]:
        stages, director = plan.ARMS[arm].make(target)
        env = make_curriculum_env(stages, num_envs=num_envs, director=director)
        env.reset(0)
        return set(env.unwrapped.batch.states["width"].tolist())

    assert widths("target_only") == {10}
    assert widths("uniform", 64) == {6, 8, 10}
    assert widths("domain_randomisation", 64) == {6, 7, 8, 9, 10}
    for arm in ("sequential", "dse_shipped", "dse", "order_only", "no_branches"):
        assert widths(arm) == {6}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({}, None),
        ({10: [0.9, 0.9]}, None),  # what an untrained policy wins is not known
        ({0: [0.0, 0.0], 10: [0.1]}, None),
        ({0: [0.0, 0.0], 10: [0.05, 0.045]}, None),
        ({0: [0.06, 0.055], 10: [0.105, 0.11]}, 10),  # 5 points, as counts have them
        ({0: [0.0, 0.0], 10: [0.0, 0.2]}, 10),
        ({0: [0.1, 0.3], 10: [0.2, 0.2]}, None),
        ({0: [0.1, 0.3], 10: [0.2, 0.2], 20: [0.3, 0.3]}, 20),
        ({0: [0.0, 0.0], 10: [0.0, 0.0], 20: [0.0, 0.0]}, 20),
    ],
)
def test_budgets_follow_from_the_calibration(shares: Any, expected: int | None) -> None:
    target = dataclasses.replace(plan.TARGETS["rooms"], budgets=(10, 20))
    assert plan.budget(target, shares) == expected


SMALL = {"num_envs": 4, "num_steps": 32, "minibatch": 64, "epochs": 1}


def test_what_is_there_is_not_done_again_and_the_rest_comes_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = dataclasses.replace(plan.TARGETS["door_key"], budgets=(256,), learner=SMALL)
    monkeypatch.setattr(study, "TARGETS", {"door_key": tiny})
    arms = {name: plan.ARMS[name] for name in ("target_only", "dse", "plr")}
    for where in (plan, study):
        monkeypatch.setattr(where, "ARMS", arms)
    monkeypatch.setattr(plan, "SEEDS", range(1))
    monkeypatch.setattr(study.Job.__init__, "__defaults__", (6, 4, 2))
    monkeypatch.setattr(plan, "TESTS", 6)
    monkeypatch.setattr(plan, "UNTRAINED_TESTS", 9)
    out = tmp_path / "lines.jsonl"
    study.main(["--out", str(out)])
    first = out.read_text("utf-8").splitlines()
    lines = read_lines(out)
    tried = [("target_only", seed, steps) for steps in (0, 256) for seed in plan.TRIED]
    assert [(x["arm"], x["seed"], x["steps"]) for x in lines[:4]] == tried
    assert [(x["arm"], x["seed"]) for x in lines[4:]] == [(arm, 0) for arm in arms]
    for line in lines[:2]:  # untrained
        assert (line["trained"], line["curve"], line["steps_by_step"]) == (0, [], {})
        assert len(line["won"]) == 9
    for line in lines[2:]:
        assert len(line["won"]) == len(line["returns"]) == 6
        assert [look["steps"] for look in line["curve"]] == [128, 256]
        assert sum(line["steps_by_step"].values()) <= line["trained"] == 256
    assert set(lines[4]["steps_by_step"]) <= {"5"}
    assert set(lines[5]["steps_by_step"]) <= {"1"}
    out.write_text("\n".join([*first[:5], first[5][:90]]), "utf-8")  # broken off in mid-line
    study.main(["--out", str(out)])
    again = [{**line, "cpu_seconds": 0} for line in read_lines(out)]
    assert again == [{**line, "cpu_seconds": 0} for line in lines]


# -- the verdict ---------------------------------------------------------------------------------


def write(path: Path, won: Any, seeds: range = plan.SEEDS, arms: Any = None) -> findings.Evidence:
    """Write lines of trainings: `won(arm, target, seed)` of 200 tests; the budget is 1,000,000."""
    lines: list[Any] = []
    for target, seed in itertools.product(NAMES, plan.TRIED):
        steps = plan.TARGETS[target].budgets[0]
        untrained = study.Job("target_only", target, seed, 0, plan.UNTRAINED_TESTS)
        lines.append(line_of(untrained, 6))
        lines.append(line_of(study.Job("target_only", target, seed, steps), 20))
    budgets = {name: target.budgets[0] for name, target in plan.TARGETS.items()}
    for job in study.jobs(budgets):
        if job.seed in seeds and (arms is None or job.arm in arms):
            lines.append(line_of(job, won(job.arm, job.target, job.seed)))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return findings.Evidence.read(path)


def line_of(job: study.Job, won: int) -> dict[str, Any]:
    """Return a line of a training that has reached half of a look when its share of wins says."""
    looks = [(n + 1) * job.steps // 10 for n in range(10)]
    curve = [{"steps": at, "won": won / 200 * (n + 1) / 5} for n, at in enumerate(looks)]
    return {
        "plan": plan.PLAN,
        "key": job.key,
        **vars(job),
        "won": "1" * won + "0" * (200 - won),
        "curve": curve,
        "outcome": "running",
        "cpu_seconds": {"training": 36.0, "looks": 0.0},
    }


def better_by(points: int, arm: str = "dse", spread: int = 3) -> Any:
    """Return wins where an arm is so much better than all others."""
    return lambda a, target, seed: 60 + seed % spread + (2 * points if a == arm else seed % 2)


def test_the_verdict_goes_by_the_plans_rule(tmp_path: Path) -> None:
    found = write(tmp_path / "a", better_by(10))
    assert found.helps
    assert set(found.verdicts("uniform").values()) == {"better"}
    assert "**The DSE helps" not in (text := verdict.report(found))
    assert "**Verdict: the DSE helps: against `uniform` it helps" in text
    assert "600 of the 600 planned trainings are in" in text
    small = write(tmp_path / "b", better_by(4))  # certain, and smaller than what counts
    assert small.conclusion("uniform") == ""
    gap = small.gap("dse", "uniform", "rooms")
    assert gap is not None
    assert gap.low > 0
    worse = write(tmp_path / "c", better_by(10, "sequential"))
    assert (worse.conclusion("uniform"), worse.conclusion("sequential")) == ("", "hurts")
    assert "against `sequential` it hurts" in verdict.report(worse)
    mixed = write(
        tmp_path / "d", lambda a, t, s: 60 + s % 3 + (a == "dse") * (-20 if t == "rooms" else 20)
    )
    assert mixed.verdicts("uniform")["rooms"] == "worse"
    assert mixed.conclusion("uniform") == ""
    nothing = write(tmp_path / "e", lambda a, t, s: (40 if a == "dse" else 8) * (t == "rooms"))
    assert list(nothing.verdicts("uniform").values()).count("nothing learnt") == 4
    assert nothing.conclusion("uniform") == ""


def test_intervals_are_students_at_the_corrected_level(tmp_path: Path) -> None:
    def won(arm: str, target: str, seed: int) -> int:
        return 80 + 3 * seed if arm == "dse" else 80 + (seed * seed) % 7

    found = write(tmp_path / "a", won)
    gaps = [(won("dse", "", s) - won("plr", "", s)) / 200 for s in plan.SEEDS]
    for level, gap in (
        (0.99, found.gap("dse", "plr", "rooms")),
        (0.95, found.over_targets("dse", "plr")),
    ):
        theirs = stats.ttest_1samp(gaps, 0).confidence_interval(level)
        assert gap is not None
        assert (gap.low, gap.high) == pytest.approx((theirs.low, theirs.high))
    assert found.middle("dse", ["rooms"]).estimate == pytest.approx(
        stats.trim_mean([won("dse", "", s) / 200 for s in plan.SEEDS], 0.25)
    )


def test_steps_to_threshold_are_a_share_of_the_budget(tmp_path: Path) -> None:
    found = write(tmp_path / "a", lambda arm, target, seed: 200 if arm == "dse" else 50)
    assert set(found.values("dse", "rooms", findings.to_threshold)) == {0.3}
    assert set(found.values("plr", "rooms", findings.to_threshold)) == {1.0}
    early = found.gap("dse", "plr", "rooms", findings.to_threshold)
    assert early is not None
    assert early.estimate == pytest.approx(-0.7)


def test_what_is_not_complete_is_not_compared_and_said(tmp_path: Path) -> None:
    def without_the_last(arm: str, target: str, seed: int) -> int:
        return better_by(10)(arm, target, seed)  # type: ignore[no-any-return]

    part = write(tmp_path / "a", without_the_last, range(3))
    lines = read_lines(tmp_path / "a")
    last = next(x for x in reversed(lines) if (x["arm"], x["target"]) == ("plr", "explore"))
    (tmp_path / "a").write_text(
        "".join(json.dumps(x) + "\n" for x in lines if x["key"] != last["key"]), "utf-8"
    )
    cut = findings.Evidence.read(tmp_path / "a")
    assert (part.complete("explore"), cut.complete("explore")) == ([0, 1, 2], [0, 1])
    assert len(cut.values("dse", "explore")) == 2
    text = verdict.report(cut)
    assert "179 of the 600 planned trainings are in" in text
    assert "**Preliminary verdict: " in text
    assert "`explore` 2 of 10 seeds" in text
    ours = [name for name in plan.ARMS if name != "syllabus"]
    lacking = write(tmp_path / "b", better_by(10), range(2), ours)
    assert "The arm `syllabus` is left out" in verdict.report(lacking)
    assert lacking.complete("rooms") == [0, 1]
    empty = findings.Evidence.read(tmp_path / "none")
    assert "0 of 600 planned trainings" in verdict.report(empty)


def test_lines_of_other_plans_and_budgets_are_not_counted(tmp_path: Path) -> None:
    write(tmp_path / "a", better_by(10), range(1))
    strange = [
        line_of(study.Job("dse", "rooms", 0, 123), 200),
        {**line_of(study.Job("dse", "rooms", 0, 1_000_000), 200), "key": "other", "plan": 1},
    ]
    with (tmp_path / "a").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in strange)
    found = findings.Evidence.read(tmp_path / "a")
    assert (found.strange, len(found.lines)) == (2, 60)
    before = found.values("dse", "rooms")
    twice = line_of(study.jobs({"rooms": plan.TARGETS["rooms"].budgets[0]}, ["dse"])[0], 0)
    tried = line_of(study.Job("target_only", "rooms", 1000, 250_000), 200)
    with (tmp_path / "a").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in (twice, tried))
    found = findings.Evidence.read(tmp_path / "a")  # of two lines of a training the first counts
    assert (found.strange, found.values("dse", "rooms")) == (2, before)
    assert found.tried["rooms"][250_000] == [0.1, 0.1]


def test_the_page_says_what_the_stored_lines_say() -> None:
    results = PAGE.split("<!-- teachers -->\n")[1].split("<!-- end -->")[0]
    assert results == verdict.stored(), "run python docs/make_pages.py"
    assert f"]({verdict.PICTURE})" in results
    assert (DOCS / verdict.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    write(tmp_path / "a", better_by(10), range(1))
    picture = tmp_path / "deep" / "p.png"
    verdict.main(["--results", str(tmp_path / "a"), "--picture", str(picture)])
    assert "### `rooms` (1 seed)" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    (tmp_path / "b").write_text("{\n{}\n", "utf-8")
    with pytest.raises(StorageError, match="line 1"):
        read_lines(tmp_path / "b")
    with pytest.raises(SystemExit):
        verdict.main(["--results", str(tmp_path / "b")])
    assert "line 1 is damaged" in capsys.readouterr().err


def test_the_picture_has_a_dot_for_each_training_and_a_line_in_their_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    figures: list[Any] = []
    monkeypatch.setattr(verdict, "save_figure", lambda figure, path: figures.append(figure) or path)
    found = write(tmp_path / "a", lambda arm, _, seed: 40 + seed if arm == "dse" else 100)
    assert verdict.draw(found, tmp_path / "p.png") == tmp_path / "p.png"
    ((panel, *others),) = [figure.axes for figure in figures]
    assert [p.get_title() for p in (panel, *others)] == [f"{t} (10 seeds)" for t in NAMES]
    place = list(plan.ARMS).index("dse")
    dots, middle, ends = [
        (list(map(float, one.get_xdata())), list(map(float, one.get_ydata())))
        for one in panel.lines
        if abs(float(np.mean(one.get_ydata())) - place) < 0.01
    ]
    assert dots[0] == pytest.approx([20 + seed / 2 for seed in range(10)])
    assert dots[1] == pytest.approx(np.linspace(place - 0.2, place + 0.2, 10))
    assert middle == (pytest.approx([22.25] * 2), pytest.approx([place - 0.35, place + 0.35]))
    interval = found.middle("dse", ["door_key"])
    assert ends == ([100 * interval.low, 100 * interval.high], [place, place])
    none = findings.Evidence.read(tmp_path / "none")
    assert verdict.draw(none, tmp_path / "q.png") is None


def test_the_arm_of_others_is_named_where_their_package_is_missing() -> None:
    if "syllabus" in plan.available():
        pytest.skip("it is there")
    with pytest.raises(MissingExtraError, match="syllabus-rl"):
        plan.ARMS["syllabus"].make(plan.TARGETS["rooms"])


def test_syllabus_is_told_of_one_episode_of_each_environment_first() -> None:
    pytest.importorskip("syllabus")
    director: Any = opened("randomisation")
    theirs = plan.ARMS["syllabus"].director(plan.TARGETS["text_quest"], 5)
    theirs.open(director.manager, director.avt, 0, [AGENT])
    told: list[tuple[int, int]] = []
    theirs._report_episode = lambda agent, order, episode: told.append((order, episode.slot))
    ends = [(slot, length) for length in (1, 2) for slot in range(63)] + [(63, 1), (0, 3)]
    for slot, length in ends:
        theirs.observe(AGENT, 1, Episode(AGENT, 0, slot, 0, 0, 0, 5, length, 1.0, "won"))
    slots = [slot for _, slot in told]
    assert slots == [*range(63), 63, *range(63), 0]
