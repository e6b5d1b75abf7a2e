"""`piase curriculum run|simulate|explain|plot`, and what lies behind them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import piase_gym
from piase_gym import curricula
from piase_gym.cli.curriculum import path_lines
from piase_gym.core.commands import RESULTS, Result
from piase_gym.curricula import AgentProgress, ProgressStore
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.learning_path import (
    EpisodeCountsAt,
    LearningPath,
    OpenAttempt,
    describe_open,
    explain,
    headings,
    judged_by,
    read_paths,
    table_rows,
)
from piase_gym.curricula.simulated_learner import SkilledLearner, simulate
from piase_gym.errors import (
    AgentError,
    ConfigError,
    PiaseError,
    ProgressError,
    RunError,
    StorageError,
    TrainingError,
)
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import CORNER, RIGHT, STAY, curriculum, step
from tests.helpers.cli_runner import environment, piase
from tests.helpers.warm_python import run_python


def decided(learning_path: LearningPath) -> list[tuple[int, int, str]]:
    return [(m.decision.step, m.decision.attempt, m.decision.decision) for m in learning_path.moves]


# -- simulated learners --------------------------------------------------------------------------


def test_a_perfect_learner_goes_straight_through_and_a_bad_one_is_failed() -> None:
    perfect = simulate(curricula.load(CORNER), 1.0, world="GridWorld")
    assert decided(perfect.path) == [(1, 1, "PROCEED"), (2, 1, "PROCEED")]
    assert perfect.path.outcome == "finished"
    far = curriculum(step(1, config={"width": 16, "goal_pos": [15, 0]}, max_attempts=3))
    bad = simulate(far, 0.0, world="GridWorld")
    assert [kind for _, _, kind in decided(bad.path)] == ["REPEAT_STEP"] * 2 + ["FAIL_CURRICULUM"]
    assert bad.episodes == 3
    assert bad.steps == bad.path.end == 18


def test_what_a_simulated_learner_wins_is_told_whatever_it_is_judged_by() -> None:
    path = simulate(curriculum(step(1)), 1.0, world="GridWorld").path  # by task_success
    assert headings(path)[6] == "won"
    assert table_rows(path)[0][6] == "100%"


def test_the_seed_decides_the_whole_path() -> None:
    plan = curricula.load("door_key")
    first, again, other = (simulate(plan, 0.2, seed=s, most=25) for s in (4, 4, 5))
    assert [m.decision for m in first.path.moves] == [m.decision for m in again.path.moves]
    assert first.steps == again.steps != other.steps


def test_skill_is_the_share_of_steps_that_follow_the_oracle_and_grows_by_practice() -> None:
    learner = SkilledLearner(0.5, learning=0.1, seed=3)
    for _ in range(20):
        learner.improve()
    assert learner.skill == pytest.approx(1 - 0.5 * 0.9**20)
    # Along the upper side of an empty map, the oracle always goes east.
    env = piase_gym.parallel_env(
        "GridWorld", width=60, height=2, start_pos=(0, 0), goal_pos=(59, 0)
    )
    env.reset(seed=0)
    from piase_gym.agents.base import Percept

    learner, easts = SkilledLearner(0.3, seed=1), 0
    world = env.unwrapped.world
    legal = len(world.admissible(0))
    for _ in range(3000):
        learner.perceive(Percept(world, 0, 0))
        act: Any = learner.act()
        easts += "east" in str(act if not isinstance(act, int) else world.commands[act])
    assert easts / 3000 == pytest.approx(0.3 + 0.7 / legal, abs=0.03)


@pytest.mark.parametrize("wrong", [{"skill": 1.5}, {"skill": -0.1}, {"learning": 2.0}])
def test_numbers_of_a_learner_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="number from 0 to 1"):
        SkilledLearner(**{"skill": 0.5, **wrong})


def test_a_simulation_needs_a_world_and_the_agent() -> None:
    bare = curriculum(step(1))
    with pytest.raises(ConfigError, match="--world"):
        simulate(bare, 1.0)
    strange = curriculum(step(1), agent="agent_7")
    with pytest.raises(AgentError, match="agent_7"):
        simulate(strange, 1.0, world="GridWorld")
    with pytest.raises(ConfigError, match="1 or more"):
        simulate(bare, 1.0, world="GridWorld", most=0)


# -- learning paths read back --------------------------------------------------------------------


def walk(folder: Path) -> Any:
    """Let an agent that never moves follow a curriculum, with a log and with progress."""
    batch = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=2), folder / "run.jsonl")
    env = CurriculumWrapper(batch, CORNER, progress=folder / "p.json")
    env.reset(seed=0)
    for _ in range(400):
        env.step(np.full((2, 1), STAY))
    env.close()
    return env


def test_log_and_progress_tell_the_same_path(tmp_path: Path) -> None:
    env = walk(tmp_path)
    (logged,) = read_paths(tmp_path / "run.jsonl")
    (kept,) = read_paths(tmp_path / "p.json")
    want = [(d.step, d.attempt, d.decision) for d in env.decisions]
    assert decided(logged) == decided(kept) == want
    assert len(want) == 6
    assert logged.outcome == kept.outcome == "failed"
    assert [m.decision for m in logged.moves] == [m.decision for m in kept.moves] == env.decisions
    # The log knows all steps of both environments; progress those of the counted episodes.
    assert kept.end == sum(d.env_steps for d in env.decisions)
    assert logged.end >= kept.end
    assert logged.moves[0].at == 2 * 20
    assert {m.at for m in logged.moves} <= {counts.at for counts in logged.episode_counts}


def test_success_is_that_of_the_last_episodes() -> None:
    """Where no decision has a rate, the last rows count, until they have 100 episodes."""
    rows = [({1: 90}, {1: 0}), ({1: 60, 2: 9}, {1: 30, 2: 9}), ({1: 50}, {1: 50})]
    learning_path = LearningPath("agent_0", "c", "steps")
    learning_path.episode_counts = [EpisodeCountsAt(n, *row) for n, row in enumerate(rows)]
    assert [row[6] for row in table_rows(learning_path)] == ["73%", "100%"]


def test_a_table_of_many_steps_judges_a_path_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learning_path, asked = LearningPath("agent_0", "c", "steps"), list[str]()
    monkeypatch.setattr(LearningPath, "rates", property(lambda _path: asked.append("rates") or []))
    assert len(table_rows(learning_path, range(9))) == 9
    assert asked == ["rates"]


def test_an_open_attempt_says_how_many_episodes_are_in_play() -> None:
    learning_path = LearningPath("agent_0", "c", "steps", names={1: "Walk"})
    for begun, more in ((None, ""), (2, ""), (3, ", 1 in play")):
        learning_path.under_way = OpenAttempt(1, 5, ended=2, wanted=4, begun=begun)
        told = f"Now in step 1 'Walk', attempt 5: 2 of 4 episodes ended{more}."
        assert list(describe_open(learning_path)) == [told]


def test_attempts_are_judged_by_success_wherever_it_was_read() -> None:
    """Else by the first share, by name, that every decision has read."""

    def made(**values: Any) -> Decision:
        return Decision("agent_0", "c", 1, "a", 1, "PROCEED", None, "", values)

    share, both = made(b=0.5, a=0.0, count=3), made(b=1.0, a=1.0, success_rate=0.0)
    assert judged_by([]) == judged_by([share, both]) == judged_by([both]) == "success_rate"
    assert judged_by([share]) == "a"
    assert judged_by([share, made(b=0.1)]) == "b"
    assert judged_by([share, made(count=1)]) == "success_rate"


def test_what_was_won_is_told_of_attempts_that_were_judged_by_something_else(
    tmp_path: Path,
) -> None:
    by_success = {"metric": "success_rate", "operator": ">=", "value": 0.5}
    by_length = {"metric": "episode_length", "operator": ">", "value": 3}
    short = ["step_attempts == 1 and success_rate == 1", "REPEAT_STEP"]
    plan = curriculum(
        step(1, completion_criteria=[by_success], episodes_per_attempt=2),
        step(2, completion_criteria=[by_length], episodes_per_attempt=2, adaptation_rules=[short]),
    )
    env = CurriculumWrapper(piase_gym.parallel_env("GridWorld"), plan)
    env = AvtLogger(env, tmp_path / "run.jsonl")
    for right in (True, True, True, True, True, False):  # three attempts
        env.reset(seed=0)
        while env.agents:
            env.step({"agent_0": RIGHT if right else STAY})
    env.close()
    (path,) = read_paths(tmp_path / "run.jsonl")
    assert decided(path) == [(1, 1, "PROCEED"), (2, 1, "REPEAT_STEP"), (2, 2, "PROCEED")]
    assert "success_rate" not in path.moves[-1].decision.values
    assert path.rates == [1.0, 1.0, 0.5]
    assert [row[6] for row in table_rows(path)] == ["100%", "50%"]
    assert list(path_lines(path))[-1] == "step 2 'step 2', attempt 2, 50% won: PROCEED"


def test_every_decision_is_explained_with_its_rule_and_values(tmp_path: Path) -> None:
    walk(tmp_path)
    (learning_path,) = read_paths(tmp_path / "run.jsonl")
    text = "\n".join(explain(learning_path))
    for move in learning_path.moves:
        d = move.decision
        assert f"'{d.name}', attempt {d.attempt}" in text
        assert d.reason in text
        assert d.rule is None or d.rule in text
    assert "with the hint HINT_01" in text
    assert "the curriculum is failed" in text
    assert f"step_attempts = {learning_path.moves[-1].decision.attempt}" in text


def test_tables_count_attempts_hints_and_episodes(tmp_path: Path) -> None:
    walk(tmp_path)
    (learning_path,) = read_paths(tmp_path / "p.json")
    rows = table_rows(learning_path, [1, 2, 3])
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[2] for row in rows] == ["3", "3", "0"]
    assert [row[3] for row in rows] == ["0", "1", "0"]


def test_what_is_no_learning_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgressError, match="there is no"):
        read_paths(tmp_path / "nothing.json")
    with pytest.raises(ProgressError, match="progress"):
        read_paths(tmp_path)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ProgressError, match="no progress"):
        read_paths(tmp_path / "x.json")
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), tmp_path / "plain.jsonl")
    env.reset(seed=0)
    env.close()
    with pytest.raises(RunError, match="nobody follows"):
        read_paths(tmp_path / "plain.jsonl")


def test_the_rows_of_a_run_say_when_and_what_is_open(tmp_path: Path) -> None:
    def row(steps: int, **more: Any) -> dict[str, Any]:
        episodes = {"1": (steps, 1), "2": (3, 0)}
        entry = {"order": 2, "attempt": 2, "outcome": "", "episodes": episodes, **more}
        return {"steps": steps, "won": 0.5, "agents": {"agent_0": {"decided_at": [], **entry}}}

    progress = AgentProgress("agent_0", "c", current_step_order=2, step_attempts={2: 2})
    with pytest.raises(ProgressError, match=r"has no progress.json; give the folder"):
        read_paths(tmp_path)
    store = ProgressStore(tmp_path / "progress.json")
    store.save({"agent_0": progress})
    (learning_path,) = read_paths(tmp_path)
    assert (learning_path.under_way, learning_path.episode_counts) == (OpenAttempt(2, 2), [])
    made = [Decision("agent_0", "c", 1, "Walk", n, "PROCEED", None, "") for n in (1, 2, 3)]
    progress.decisions += made
    store.save({"agent_0": progress})
    (learning_path,) = read_paths(tmp_path)
    assert [move.at for move in learning_path.moves] == [0] * 3
    told = {"step": 2, "attempt": 2, "ended": 1, "wanted": 4, "begun": 3}
    more: list[dict[str, Any]] = [
        {"under_way": {**told, "ended": 0}, "uncounted": 2, "decided_at": [4, 9]},
        {"under_way": told, "uncounted": 5, "names": {"2": "Run"}, "director": "spaced"},
        {"under_way": None},
    ]
    rows = [row(steps, **each) for steps, each in zip((10, 20, 30), more, strict=True)]
    (tmp_path / "path.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    for place in (tmp_path, tmp_path / "path.jsonl"):
        (learning_path,) = read_paths(place)
        assert learning_path.under_way == OpenAttempt(**told)
        assert [move.at for move in learning_path.moves] == [4, 9, 30]  # one is not in the rows yet
        assert learning_path.rates == [0.1, 0.1, None]
        assert learning_path.episode_counts == [
            EpisodeCountsAt(steps, {1: steps, 2: 3}, {1: 1, 2: 0}) for steps in (10, 20, 30)
        ]
        assert (learning_path.names, learning_path.uncounted) == ({1: "Walk", 2: "Run"}, 7)
        assert (learning_path.director, learning_path.counted) == ("spaced", "environment steps")


def test_learning_paths_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from PIL import Image

    from piase_gym.training.curriculum_plot import plot_paths

    walk(tmp_path)
    learning_paths = read_paths(tmp_path / "run.jsonl")
    picture = Image.open(plot_paths(learning_paths, tmp_path / "path.png")).convert("RGB")
    colours = {colour for _, colour in picture.getcolors(1 << 24) or ()}
    assert {(0, 114, 178), (230, 159, 0)} <= colours  # attempts and hints
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.pdf"):
        plot_paths(learning_paths, tmp_path / "path.txt")
    with pytest.raises(ConfigError, match="nothing to draw"):
        plot_paths([LearningPath("agent_0", "c", "steps")], tmp_path / "path.png")


# -- training ------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"num_envs": 8, "num_steps": 16, "steps": 1024, "world": "GridWorld"}


def run_of(tmp_path: Path, **changes: Any) -> Any:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    from piase_gym.training.curriculum_run import CurriculumTraining, CurriculumTrainingSettings

    resume = changes.pop("resume", False)
    settings = CurriculumTrainingSettings(**{"curriculum": str(CORNER), **SMALL, **changes})
    return CurriculumTraining(settings, tmp_path, resume)


@pytest.mark.parametrize(
    ("ppo", "match"),
    [
        ({"nothing": 3}, "unknown setting 'nothing'; allowed: clip, entropy"),
        ({"num_envs": 4}, "unknown setting 'num_envs'; allowed: clip, entropy"),
        ({"total_steps": 64}, "unknown setting 'total_steps'; allowed: clip, entropy"),
        ({"minibatch": "abc"}, r"minibatch: an integer is expected \(got 'abc'\)"),
        ({"minibatch": True}, r"minibatch: an integer is expected \(got True\)"),
        ({"epochs": 1.5}, r"epochs: an integer is expected \(got 1\.5\)"),
        ({"learning_rate": None}, r"learning_rate: a number is expected \(got None\)"),
        ({"learning_rate": -1}, r"learning_rate: it must be more than 0\.0 \(got -1\)"),
        ({"gamma": 3}, r"gamma: it must be at most 1\.0 \(got 3\)"),
        ({"minibatch": 0}, r"minibatch: it must be at least 1 \(got 0\)"),
    ],
)
def test_wrong_settings_of_the_ppo_are_named_and_leave_nothing(
    ppo: dict[str, Any], match: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=match):
        run_of(tmp_path / "run", ppo=ppo)
    assert not (tmp_path / "run").exists()


def test_settings_of_the_ppo_reach_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, ppo={"minibatch": 48, "learning_rate": 1})
    settings = run.trainer.settings
    assert (settings.minibatch, settings.learning_rate, settings.epochs) == (48, 1, 3)
    run.close()


def test_a_run_leaves_its_path_and_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    runs = []
    for name, source in (("a", CORNER), ("b", tmp_path / "a" / "curriculum.json")):
        run = run_of(tmp_path / name, seed=2, whole=True, curriculum=str(source))
        look = run.train()
        run.close()
        assert look.steps == run.trainer.steps == 1024
        (learning_path,) = read_paths(tmp_path / name)
        assert [m.decision for m in learning_path.moves] == run.controller.decisions != []
        times = [m.at for m in learning_path.moves]
        assert times == sorted(times)
        assert 0 < times[0] <= times[-1] <= 1024
        files = "progress.json", "path.jsonl", "actions.bin", "curriculum.json"
        runs.append([(tmp_path / name / file).read_bytes() for file in files])
    assert runs[0] == runs[1]


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first = run_of(tmp_path, whole=True, director="threshold")
    first.train(lambda _look: setattr(first, "interrupted", True))
    first.close()
    assert first.trainer.steps == 128
    count = len(first.controller.progress["agent_0"].decisions)
    again = run_of(tmp_path, whole=True, director="threshold", resume=True)
    assert again.trainer.steps == 128
    before, after = first.trainer.policy.state_dict(), again.trainer.policy.state_dict()
    assert all((before[name] == after[name]).all() for name in before)
    assert len(again.controller.progress["agent_0"].decisions) == count
    again.train()
    again.close()
    steps = [json.loads(x)["steps"] for x in (tmp_path / "path.jsonl").read_text().splitlines()]
    assert steps == list(range(128, 1025, 128))
    with pytest.raises(StorageError, match="--resume"):
        run_of(tmp_path)
    with pytest.raises(StorageError, match="no run"):
        run_of(tmp_path / "empty", resume=True)


@pytest.mark.parametrize("name", ["door_key", "text_quest"])
def test_the_policy_of_a_run_plays_the_last_step(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, curriculum=name, world=None, steps=128)
    run.train()
    run.close()
    import torch

    from piase_gym.agents import make_agent
    from piase_gym.agents.base import Percept

    plan, trained = curricula.load(name), run.trainer.policy
    fields = {**plan.steps[-1].fields, "max_steps": 10}
    env = piase_gym.gym_env(plan.world or "", envelope=plan.envelope(), **fields)
    player = make_agent(f"ppo-greedy:{tmp_path / 'policy.pt'}")
    observation, info = env.reset(seed=0)
    for t in range(10):
        player.perceive(Percept(env.unwrapped.world, 0, t))
        mask = torch.as_tensor(info["action_mask"])[None]
        with torch.no_grad():
            choice, _ = trained(torch.as_tensor(observation)[None], mask)
        action = player.act()
        assert action == int(choice.logits.argmax())
        observation, _, terminated, truncated, info = env.step(action)
    assert terminated or truncated
    env.close()


def test_a_run_whose_policy_did_not_play_goes_on(tmp_path: Path) -> None:
    run = run_of(tmp_path, whole=True)
    run.train(lambda _look: setattr(run, "interrupted", True))
    run.close()
    import torch

    from piase_gym.agents import make_agent
    from piase_gym.errors import PolicyError

    path = tmp_path / "policy.pt"
    old = torch.load(path, weights_only=True)
    del old["card"], old["policies"]
    torch.save(old, path)
    with pytest.raises(PolicyError, match="holds no policies"):
        make_agent(f"ppo:{path}")
    again = run_of(tmp_path, whole=True, resume=True)
    assert again.train().steps == 1024
    again.close()
    make_agent(f"ppo:{path}")


def test_every_session_has_a_log_of_its_own(tmp_path: Path) -> None:
    for session in range(3):
        run = run_of(tmp_path, log=True, resume=session > 0)
        run.train(lambda _look, run=run: setattr(run, "interrupted", True))
        run.close()
    logs = ("log.jsonl", "log-2.jsonl", "log-3.jsonl")
    assert sorted(path.name for path in tmp_path.glob("log*")) == sorted(logs)
    ends = [json.loads((tmp_path / log).read_bytes().splitlines()[-1]) for log in logs]
    assert len({end["simulation_run_id"] for end in ends}) == 3
    assert all("seal" in end["event_data"] for end in ends)


@pytest.mark.parametrize("director", ["scripted", "randomisation"])
def test_decisions_log_path_table_and_progress_have_one_count(
    director: str, tmp_path: Path
) -> None:
    half = [{"metric": "success_rate", "operator": ">=", "value": 0.9}]
    steps = [step(n, episodes_per_attempt=3, completion_criteria=half) for n in (1, 2)]
    plan = tmp_path / "plan.json"
    plan.write_text(curriculum(*steps, world="GridWorld").model_dump_json(exclude_none=True))
    run = run_of(tmp_path / "run", curriculum=str(plan), director=director, log=True, steps=2048)
    looks: list[Any] = []
    run.train(looks.append)
    run.close()
    controller, agent = run.controller, run.agent
    counts, tried = controller.counts[agent], controller.under_way(agent)
    by_order: dict[int, int] = {}
    for decision in controller.decisions:
        by_order[decision.step] = by_order.get(decision.step, 0) + decision.episodes
    decided = dict(by_order) if director == "scripted" else dict(counts.counted)
    if tried is not None:
        by_order[tried.step.order] = by_order.get(tried.step.order, 0) + tried.ended
    if director == "scripted":
        assert counts.counted == {order: n for order, n in by_order.items() if n}
        assert counts.uncounted > 0
    ended = [row for row in controller.metrics.history.of(agent).episodes if row.finished]
    assert sum(counts.counted.values()) + counts.uncounted == len(ended)
    assert sum(counts.won.values()) == sum(r.result == "won" for r in ended if r.attempt > 0)
    assert sum(look.episodes for look in looks) == sum(counts.counted.values())
    tables = []
    for source in ("run", "run/log.jsonl", "run/progress.json"):
        (learning_path,) = read_paths(tmp_path / source)
        tables.append([row[5] for row in table_rows(learning_path, [1, 2])])
        if source == "run/progress.json":
            continue
        totals: dict[int, list[int]] = {}
        for entry in learning_path.episode_counts:
            for order, n in entry.played.items():
                total = totals.setdefault(order, [0, 0])
                total[0], total[1] = total[0] + n, total[1] + entry.won[order]
        assert totals == {order: [n, counts.won[order]] for order, n in counts.counted.items()}
        assert learning_path.uncounted == counts.uncounted
        now = learning_path.under_way
        assert (now and (now.step, now.attempt, now.ended, now.wanted)) == (
            tried and (tried.step.order, tried.attempt, tried.ended, tried.wanted)
        )
    assert tables == [[str(decided.get(order, 0)) for order in (1, 2)]] * 3
    if tried is not None:
        assert (looks[-1].attempt, looks[-1].ended) == (tried.attempt, tried.ended)


def kept_of(folder: Path) -> tuple[bytes, bytes, bytes, Any]:
    """What a run has left: progress, path, actions, and the checkpoint."""
    from piase_gym.training.curriculum_settings import load_policy

    files = ("progress.json", "path.jsonl", "actions.bin")
    one, two, three = ((folder / name).read_bytes() for name in files)
    return one, two, three, load_policy(folder)


def assert_same_run(one: Path, two: Path) -> None:
    """Two folders hold the same run, to the last bit."""
    first, second = kept_of(one), kept_of(two)
    assert first[:3] == second[:3]
    mine, theirs = first[3], second[3]
    assert (mine["steps"], mine["updates"]) == (theirs["steps"], theirs["updates"])
    assert (mine["random"] == theirs["random"]).all()
    for name, values in mine["policy"].items():
        assert (values == theirs["policy"][name]).all(), name
    moments = [m for entry in mine["optimizer"]["state"].values() for m in entry.values()]
    others = [m for entry in theirs["optimizer"]["state"].values() for m in entry.values()]
    assert all((m == o).all() for m, o in zip(moments, others, strict=True))


PLACES: dict[str, dict[str, Any]] = {
    "batch": {"whole": True, "seed": 2},
    "drawn": {"director": "learning_progress"},
    "replayed": {"director": {"name": "plr", "robust": True, "warm_up": 4}},
    "slots": {"curriculum": "text_quest", "world": None, "steps": 2048, "seed": 1},
}


@pytest.mark.parametrize("name", PLACES)
def test_a_run_that_was_broken_off_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    whole = run_of(tmp_path / "whole", **PLACES[name])
    whole.train()
    whole.close()
    for updates in (1, 4, 2):
        resume = (tmp_path / "parts").exists()
        part, looks = run_of(tmp_path / "parts", resume=resume, **PLACES[name]), []

        def stop(look: Any, part: Any = part, looks: Any = looks, most: int = updates) -> None:
            looks.append(look)
            part.interrupted = len(looks) == most

        part.train(stop)
        part.close()
    last = run_of(tmp_path / "parts", resume=True, **PLACES[name])
    assert last.trainer.steps < whole.trainer.steps
    last.train()
    last.close()
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_robust_level_replay_learns_nothing_before_there_is_a_replay(tmp_path: Path) -> None:
    for warm_up, learns in ((500, False), (4, True)):
        director = {"name": "plr", "robust": True, "warm_up": warm_up}
        run = run_of(tmp_path / str(warm_up), director=director)
        begun = {name: value.clone() for name, value in run.trainer.policy.state_dict().items()}
        run.train()
        known = run.controller.progress["agent_0"].memory["teacher"].known
        assert 20 < len(known) < 500
        ended = run.trainer.policy.state_dict()
        # The first layer gets a row for each code that occurs, whether anything is learnt or not.
        symbols = ("encoder.table", "encoder.rows", "encoder.first")
        own = [name for name in begun if name not in symbols]
        assert len(own) > 4
        assert any((begun[name] != ended[name]).any() for name in own) == learns
        run.close()


BREAK = """
import os, signal, sys
from pathlib import Path
from piase_gym.training import curriculum_run
from piase_gym.training.curriculum_run import CurriculumTraining, CurriculumTrainingSettings
curriculum_run.SAVED = 0.05
settings = CurriculumTrainingSettings(**eval(sys.argv[2]))
run = CurriculumTraining(settings, sys.argv[1], resume=sys.argv[3] == "again")
inner, left = run.controller.process_ended_episodes, [int(sys.argv[4])]
def settle(*args):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(*args)
run.controller.process_ended_episodes = settle
run.train()
"""


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    fields = {"curriculum": str(CORNER), **SMALL, "whole": True, "seed": 5, "steps": 2048}
    whole = run_of(tmp_path / "whole", **fields)
    whole.train()
    whole.close()
    for how, steps in (("anew", 100), ("again", 70), ("again", 40)):
        words = [str(tmp_path / "parts"), repr(fields), how, str(steps)]
        done = run_python("-c", BREAK, *words, warm="with_torch")
        assert done.returncode == -9, done.stderr
    last = run_of(tmp_path / "parts", resume=True, **fields)
    last.train()
    last.close()
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_what_cannot_go_on_is_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    run.train()
    run.close()
    with pytest.raises(ConfigError, match="has seed 0, so it cannot go on with 7"):
        run_of(tmp_path, seed=7, resume=True)
    import torch

    policy = torch.load(tmp_path / "policy.pt", weights_only=True)
    buffer = io.BytesIO()
    torch.save({**policy, "policy": {}}, buffer)
    played = (tmp_path / "actions.bin").read_bytes()
    path = (tmp_path / "path.jsonl").read_text()
    settings, progress = ((tmp_path / n).read_text() for n in ("settings.json", "progress.json"))
    buffer_of_list = io.BytesIO()
    torch.save([1], buffer_of_list)
    changes: list[tuple[str, bytes | str, type[PiaseError], str]] = [
        ("actions.bin", bytes(b ^ 1 for b in played), TrainingError, "is another one than"),
        ("actions.bin", played[:-1], StorageError, "too short"),
        ("actions.bin", b"\xfa" * len(played), StorageError, "there is no such action"),
        ("actions.bin", played + b"more", TrainingError, "is another one than"),
        ("path.jsonl", path.replace('"steps": 128', '"steps": "128"'), ProgressError, "line 1 is"),
        ("path.jsonl", path.replace('"episodes"', '"epis"'), ProgressError, "line 1 is damaged"),
        ("path.jsonl", "x" + path, ProgressError, "line 1 is damaged"),
        ("path.jsonl", "", StorageError, "does not reach"),
        (
            "settings.json",
            settings.replace('"seed": 0', '"seed": "0"'),
            StorageError,
            "damaged: se",
        ),
        ("settings.json", settings.replace('"seed": 0', '"seed": -1'), StorageError, "damaged"),
        ("settings.json", settings.replace('"whole"', '"hole"'), StorageError, "damaged: hole"),
        ("settings.json", settings.replace('"ppo": {}', '"ppo": []'), StorageError, "damaged: ppo"),
        ("settings.json", "[" * 3000, StorageError, "damaged"),
        (
            "progress.json",
            progress.replace('"attempt": 1', '"attempt": null'),
            ProgressError,
            "dam",
        ),
        ("policy.pt", b"no archive", StorageError, "is damaged"),
        ("policy.pt", buffer.getvalue(), TrainingError, "other spaces"),
        ("policy.pt", buffer_of_list.getvalue(), StorageError, "no checkpoint"),
    ]
    kept = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for name, content, error, told in changes:
        wrong = content.encode() if isinstance(content, str) else content
        if told == "is another one than" and wrong.endswith(b"more"):
            # what came after the checkpoint is forgotten, but only if the run goes on
            flipped = kept["path.jsonl"].replace(b'"attempt": 1', b'"attempt": 7')
            (tmp_path / "path.jsonl").write_bytes(flipped)
        assert wrong != kept[name], name
        (tmp_path / name).write_bytes(wrong)
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        with pytest.raises(error, match=told):
            run_of(tmp_path, resume=True)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
        for file, bytes_of_it in kept.items():
            (tmp_path / file).write_bytes(bytes_of_it)


def test_drawn_steps_are_counted_and_told(tmp_path: Path) -> None:
    run = run_of(tmp_path, director="randomisation")
    run.train()
    run.close()
    (learning_path,) = read_paths(tmp_path)
    assert learning_path.drawn
    assert set(learning_path.drawn) == {1, 2}
    assert "each episode's step was drawn" in "\n".join(explain(learning_path))
    played = sum(sum(s.played.values()) for s in learning_path.episode_counts)
    assert 0 < played <= sum(learning_path.drawn.values())


def test_slots_between_two_episodes_count_for_nothing() -> None:
    pytest.importorskip("torch")
    from piase_gym.training.curriculum_run import make_curriculum_env

    plan = curriculum(step(1), world="GridWorld")
    from piase_gym.curricula.parallel import ParallelCurricula
    from piase_gym.training.curriculum_env import SlotBatch

    slots = ParallelCurricula("GridWorld", plan, slots=2, workers=0)
    env = SlotBatch(slots, "agent_0", slots.controller.workers.runners[0].world)
    _, infos = env.reset(seed=0)
    alive = []
    for _ in range(7):
        _, rewards, _, _, infos = env.step(np.full((2, 1), STAY))
        alive.append(infos["alive"].all())
        assert infos["action_mask"].any(axis=-1).all()
    assert alive == [True] * 5 + [False, True]
    assert not rewards.any()
    env.close()
    kind = type(make_curriculum_env(curricula.load("text_quest"), num_envs=2))
    assert kind is SlotBatch


def test_slots_say_how_episodes_have_ended() -> None:
    pytest.importorskip("torch")
    from piase_gym.training.curriculum_env import SlotBatch

    results = [Result.WON, Result.LOST, None, Result.ENDED]
    ends = np.array([True, True, False, False]), np.array([False, False, False, True])
    slots = SimpleNamespace(
        num_envs=4,
        single_action_space=Discrete(2),
        single_observation_space=Box(0, 9, (3,), np.uint8),
        step=lambda acts: (
            np.zeros((4, 3), np.uint8), np.ones(4), *ends, {"result": np.array(results, object)}
        ),
    )  # fmt: skip
    shown, rewards, terminated, truncated, infos = SlotBatch(
        slots, "agent_0", cast(Any, None)
    ).step(np.zeros((4, 1), np.int64))
    assert [RESULTS[code] for (code,) in infos["result"]] == results
    assert infos["result"].shape == rewards.shape == terminated.shape == truncated.shape == (4, 1)
    assert (shown.shape, infos["alive"][:, 0].tolist()) == ((4, 1, 3), [False, False, True, False])


# -- the command line ----------------------------------------------------------------------------


def test_the_commands_go_together(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    words = ["--world", "GridWorld", "--steps", "512", "--num-envs", "8", "--num-steps", "16"]
    done = piase("curriculum", "run", str(CORNER), *words, "--out", "run", "--log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "environment steps" in done.stdout
    for source in ("run", "run/log.jsonl", "run/progress.json"):
        told = piase("curriculum", "explain", source, cwd=tmp_path)
        assert "why:" in told.stdout, told.stderr
    drawn = piase("curriculum", "plot", "run", "-o", "new/p.svg", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "new" / "p.svg").stat().st_size > 5000
    (tmp_path / "run" / "log.jsonl").rename(tmp_path / "log.jsonl")
    compared = piase("curriculum", "plot", "run", "log.jsonl", "-o", "both.png", cwd=tmp_path)
    assert (compared.returncode, compared.stderr) == (0, "wrote both.png\n")
    assert (tmp_path / "both.png").stat().st_size > 5000
    for option, code in (((), 2), (("--overwrite",), 0)):
        drawn = piase("curriculum", "plot", "run", "-o", "new/p.svg", *option, cwd=tmp_path)
        assert drawn.returncode == code
        assert ("exists; give another name, or --overwrite" in drawn.stderr) == (code == 2)
    twice = piase("curriculum", "run", str(CORNER), *words, "--out", "run", cwd=tmp_path)
    assert twice.returncode == 2
    assert "--resume" in twice.stderr
    assert "Traceback" not in twice.stderr


def test_a_simulation_is_told_and_repeats_itself() -> None:
    words = ["curriculum", "simulate", str(CORNER), "--world", "GridWorld", "--skill", "0.4"]
    first, again = piase(*words), piase(*words)
    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert "step 1" in first.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "door_kye", "--skill", "1"], "door_key"),
        (["simulate", "door_key", "--skill", "7"], "number from 0 to 1"),
        (["simulate", "door_key", "--skill", "1", "--director", "sripted"], "scripted"),
        (["explain", "nowhere"], "there is no file 'nowhere'"),
        (["plot", "nowhere"], "there is no file 'nowhere'"),
        (["plot", "a", "b", "a"], "a is given twice; it would count as two runs"),
        (["plot", "a", "b/../a/log.jsonl"], "log.jsonl is given twice; it would count as two runs"),
        (["run", "door_key", "--out", "empty", "--resume"], "no run"),
        (["run", "door_key", "--out", "/dev/null"], "it is no folder"),
        (["run", "door_key", "--out", "x" * 300], "File name too long"),
        (["export", "door_key", "--out", "/dev/null", "--force"], "is no file"),
    ],
)
def test_mistakes_are_sentences(words: list[str], said: str, tmp_path: Path) -> None:
    done = piase("curriculum", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


NAMES = [
    ["curriculum", "run", "door_kye"],
    ["curriculum", "run", "door_key", "--director", "sripted"],
    ["curriculum", "run", "door_key", "--world", "GridWrold"],
    ["curriculum", "run", "door_key", "-c", "widht=3"],
    ["curriculum", "run", "door_key", "--steps", "0"],
    ["curriculum", "run", "door_key", "--resume"],
]
TRY_NAMES = """
import os, sys
from piase_gym.cli.app import app
from piase_gym.errors import PiaseError
for words in eval(sys.argv[1]):
    try:
        app(words, standalone_mode=False)
    except PiaseError as error:
        print(error)
    else:
        print("no error:", words)
    print("torch" in sys.modules, os.listdir())
"""


def test_mistakes_in_names_are_told_before_torch_is_loaded(tmp_path: Path) -> None:
    done = run_python("-c", TRY_NAMES, repr(NAMES), cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1::2] == ["False []"] * len(NAMES)
    assert not [line for line in lines[::2] if line.startswith("no error")]
    assert len(lines) == 2 * len(NAMES)


def test_a_director_with_options_comes_from_a_file(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "plr.yaml").write_text("{name: plr, replay: 0.9, score: return, warm_up: 3}")
    sizes = ["--steps", "256", "--num-envs", "8", "--num-steps", "16"]
    done = piase("curriculum", "run", "door_key", "--director", "plr.yaml", *sizes, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "curriculum" / "door_key-plr-0"
    kept = json.loads((folder / "settings.json").read_text())["director"]
    assert kept == {"name": "plr", "replay": 0.9, "score": "return", "warm_up": 3}
    assert (
        json.loads((folder / "path.jsonl").read_text().splitlines()[0])["agents"]["agent_0"][
            "director"
        ]
        == "plr"
    )
    (tmp_path / "plr.yaml").write_text("{name: plr, replay: 9}")
    done = piase("curriculum", "run", "door_key", "--director", "plr.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "director plr: replay is a number from 0 to 1, not 9" in done.stderr
    words = ["simulate", "door_key", "--skill", "0.5", "--director", "learnability"]
    done = piase("curriculum", *words, "--episodes", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_run_is_not_saved_again_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, whole=True)
    saved: list[int] = []
    inner = run._save
    monkeypatch.setattr(run, "_save", lambda: (saved.append(run.trainer.steps), inner()))
    run.train()
    assert run._updates > 1
    assert saved == [run.trainer.steps]
    run.close()
