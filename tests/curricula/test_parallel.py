"""One learner in many slots: the same decisions whoever hosts them, and in whichever order."""

from __future__ import annotations

import functools
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import make_agent
from piase_gym.curricula import slot_workers
from piase_gym.curricula.metrics import EpisodeRecord
from piase_gym.curricula.parallel import AsyncCurricula, ParallelCurricula, date_in_run
from piase_gym.errors import (
    ActionError,
    ClosedError,
    ConfigError,
    ProgressError,
    ResetNeededError,
    UnknownNameError,
    UnsupportedError,
)
from piase_gym.runs.history import Episode
from piase_gym.runs.recent_events import Step
from piase_gym.wrappers import CurriculumWrapper
from tests.curricula.example_curricula import CORNER, STAY, curriculum, step
from tests.interfaces.own_envs import Lamps

NEVER = [{"metric": "success_rate", "operator": ">", "value": 1.0}]
RULES = [["mean_return < -50 or illegal_rate > 0.9", "FAIL_CURRICULUM"]]


@functools.cache
def stages() -> Any:
    won = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    common = {"completion_criteria": won, "episodes_per_attempt": 5, "adaptation_rules": RULES}
    return curriculum(
        step(1, **common),
        step(2, config={"width": 5, "goal_pos": [4, 1]}, **common),
        step(3, config={"width": 4, "height": 3, "goal_pos": [3, 2]}, **common),
    )


def run(workers: int, steps: int = 150, **options: Any) -> tuple[list[bytes], Any]:
    """Play by a policy that sees nothing; return decisions and the sum of all observations."""
    env = ParallelCurricula("GridWorld", stages(), slots=5, workers=workers, **options)
    rng = np.random.default_rng(0)
    seen = env.reset(seed=7)[0].astype(np.int64)
    for _ in range(steps):
        seen += env.step(rng.choice([1, 3, 3, 4], 5))[0]
    env.close()
    return [decision.to_bytes() for decision in env.decisions], seen


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_the_same_decisions_from_any_number_of_workers(workers: int) -> None:
    decisions, seen = run(workers)
    here, sum_here = run(0)
    assert len(decisions) >= 4
    assert decisions == here
    assert np.array_equal(seen, sum_here)


def test_workers_end_where_progress_cannot_be_saved(tmp_path: Path) -> None:
    folder = tmp_path / "progress"
    env = ParallelCurricula(
        "GridWorld", stages(), slots=2, workers=1, progress=folder / "progress.json"
    )
    env.reset(seed=7)
    folder.touch()
    env.controller._unsaved = 1
    children = multiprocessing.active_children()
    assert children
    with pytest.raises(ProgressError, match="cannot be read"):
        env.close()
    assert not {child.pid for child in children if child.is_alive()}


def test_environments_are_closed_where_progress_cannot_be_saved(tmp_path: Path) -> None:
    folder = tmp_path / "progress"
    env = CurriculumWrapper(
        piase_gym.parallel_env("GridWorld"), stages(), progress=folder / "progress.json"
    )
    env.reset(seed=7)
    folder.touch()
    env.controller._unsaved = 1
    with pytest.raises(ProgressError, match="cannot be read"):
        env.close()
    with pytest.raises(ClosedError):
        env.unwrapped.reset()


@pytest.mark.parametrize("lag", [1, 4])
def test_slots_in_processes_decide_as_a_batch_does(lag: int) -> None:
    found, _ = run(0, lag=lag)
    batch = piase_gym.batch_env("GridWorld", num_envs=5)
    env = CurriculumWrapper(batch, stages(), lag=lag)
    rng = np.random.default_rng(0)
    env.reset(seed=7)
    for _ in range(150):
        env.step(rng.choice([1, 3, 3, 4], 5)[:, None])
    env.close()
    assert [decision.to_bytes() for decision in env.decisions] == found


@pytest.mark.parametrize("director", ["learning_progress", {"name": "plr", "score": "return"}])
def test_drawing_directors_do_not_care_who_hosts_a_slot(director: Any) -> None:
    def drawn(workers: int) -> Any:
        env = ParallelCurricula(
            "GridWorld", stages(), slots=3, workers=workers, director=director, seed=4
        )
        begun: list[Any] = []
        env.events.subscribe(
            lambda event: begun.append((event.data["event_type"], dict(event.data["data"]))),
            ["log"],
        )
        rng = np.random.default_rng(1)
        env.reset(seed=1)
        for _ in range(60):
            env.step(rng.choice([1, 3, 3, 4], 3))
        env.close()
        return [(d["order"], d["slot"]) for kind, d in begun if kind == "DSE_STEP_ATTEMPT_START"]

    here = drawn(0)
    assert len(here) > 15
    assert len({order for order, _ in here}) == 3
    assert drawn(2) == here


@pytest.mark.parametrize("view", ["vector", "text"])
def test_hints_reach_slots_of_slow_worlds_too(view: str) -> None:
    rules = [["step_attempts == 1", "APPLY_HINT_01"]]
    hints = {"HINT_01": {"data": {"message": "Open the chest."}}}
    plan = curriculum(
        {
            "order": 1,
            "name": "Quest",
            "max_interactions": 4,
            "environment_config_overrides": {"rooms": 2, "depth": 1},
            "adaptation_rules": rules,
            "hints": hints,
        },
        name="quest",
    )
    env = ParallelCurricula("TextRoom", plan, slots=2, workers=0, view=view)
    observations, _ = env.reset(seed=0)
    assert observations in env.observation_space
    texts = []
    for _ in range(12):
        observations = env.step(env.action_space.sample())[0]
        assert observations in env.observation_space
        texts.append([view == "text" and "Open the chest." in text for text in observations])
    shown = np.array(texts).sum(axis=0).tolist()
    assert shown == ([5, 0] if view == "text" else [0, 0])
    assert [d.attempt for d in env.decisions] == [1, 2]
    env.close()


def test_progress_of_slots_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    first, _ = run(0, steps=60, progress=path)
    env = ParallelCurricula("GridWorld", stages(), slots=2, workers=0, progress=path)
    assert [d.to_bytes() for d in env.progress["agent_0"].decisions] == first
    env.close()


@pytest.mark.parametrize("actions", [[STAY], [STAY] * 3, None, 5])
def test_there_is_one_action_for_each_slot(actions: Any) -> None:
    env = ParallelCurricula("GridWorld", CORNER, slots=2, workers=0)
    env.reset(seed=0)
    with pytest.raises(ActionError, match="one action for each of the 2 slots, not "):
        env.step(actions)
    env.step([STAY, STAY])
    env.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_workers_that_cannot_be_started_leave_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    process = multiprocessing.get_context("fork").Process
    start, before = process.start, multiprocessing.active_children()

    def once(self: Any) -> None:
        if len(multiprocessing.active_children()) > len(before):
            raise BlockingIOError(11, "too many processes")
        start(self)

    monkeypatch.setattr(process, "start", once)
    with pytest.raises(UnsupportedError, match=r"of 2 workers only 1 .* too many processes"):
        ParallelCurricula("GridWorld", CORNER, slots=2, workers=2, context="fork")
    assert multiprocessing.active_children() == before


def test_a_worker_that_dies_is_named() -> None:
    env = ParallelCurricula("GridWorld", CORNER, slots=2, workers=1)
    env.reset(seed=0)
    (process,) = env.controller.workers._processes
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ClosedError, match="worker 0 of 1 has died"):
        env.step(np.full(2, STAY))
    env.close()


@pytest.mark.parametrize("context", ["forkserver", "spawn", "fork"])
def test_workers_host_a_class_that_no_module_has(context: str) -> None:
    class Lanterns(Lamps):
        """As if it were defined in a cell of a notebook."""

    lit = [{"metric": "success_rate", "operator": ">=", "value": 0.9}]
    steps = [{"order": 1, "name": "one", "completion_criteria": lit}]
    path = {"name": "Light", "world": "Lanterns", "steps": steps}
    env = ParallelCurricula(Lanterns, path, slots=2, workers=1, context=context)
    env.reset(seed=0)
    assert env.step([2, 2])[1].tolist() == [1.0, 1.0]
    env.close()


def test_a_worker_that_does_not_know_an_id_says_so(spare_registries: None) -> None:
    piase_gym.register_env(Lamps, "tests/Nowhere-v0")
    path = curriculum(step(1, environment_config_overrides={}))
    env = ParallelCurricula("tests/Nowhere-v0", path, slots=2, workers=1)
    with pytest.raises(UnknownNameError, match=r"'tests/Nowhere-v0' in a worker process"):
        env.reset(seed=0)
    env.close()


@pytest.fixture
def usual_handler() -> Iterator[None]:
    """Python's handler of SIGINT, which may be ignored where tests run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_handler")
def test_slots_can_be_stepped_on_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    env, twin = (ParallelCurricula("GridWorld", CORNER, slots=2, workers=1) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    send, (process,) = env.controller.workers.send, env.controller.workers._processes

    def send_and_interrupt(commands: Any) -> None:
        send(commands)
        os.kill(process.pid, signal.SIGINT)  # as a terminal and Jupyter do
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(env.controller.workers, "send", send_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        env.step(np.full(2, STAY))
    monkeypatch.undo()
    twin.step(np.full(2, STAY))
    for _ in range(30):
        found, expected = (e.step(np.full(2, STAY)) for e in (env, twin))
        assert (found[2] == expected[2]).all()
        assert (found[3] == expected[3]).all()
    assert env.decisions == twin.decisions
    env.close()
    twin.close()


@pytest.mark.parametrize(
    ("platform", "context"), [("linux", "forkserver"), ("darwin", "spawn"), ("win32", "spawn")]
)
def test_workers_are_started_as_the_system_allows(
    platform: str, context: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert runpy.run_path(slot_workers.__file__)["CONTEXT"] == context


@pytest.mark.parametrize("context", ["forkserver", "spawn"])
def test_a_script_without_a_main_guard_is_told_what_it_needs(context: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from piase_gym.curricula import ParallelCurricula\n"
        f"env = ParallelCurricula('TextRoom', 'text_quest', slots=2, context={context!r})\n"
        "env.reset(seed=0)\n",
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
    )
    needed = 'a script that starts workers needs `if __name__ == "__main__":`'
    wanted = f"worker 0 of 1 has died (exit code 1); {needed}"
    assert done.stderr.splitlines()[-1] == f"piase_gym.errors.ClosedError: {wanted}"


KILLED = """
import os, signal
from piase_gym.curricula import ParallelCurricula
env = ParallelCurricula("TextRoom", "text_quest", slots=2, workers=2, context="fork")
print("started", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_forked_workers_end_with_a_caller_that_is_killed() -> None:
    # The workers hold the pipe, too, so that it ends when the last of them has.
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, timeout=60)
    assert done.stdout == b"started\n"


def test_what_goes_wrong_in_a_slot_is_raised_here() -> None:
    env = ParallelCurricula("GridWorld", CORNER, slots=2, workers=1)
    with pytest.raises(ResetNeededError):
        env.step(np.full(2, STAY))
    env.reset(seed=0)
    with pytest.raises(ActionError, match="99"):
        env.step(np.array([STAY, 99]))
    env.close()
    env = ParallelCurricula("GridWorld", CORNER, slots=2, workers=2)
    env.reset(seed=0)
    late = env.controller.workers._processes[1].pid
    os.kill(late, signal.SIGSTOP)
    threading.Timer(0.3, os.kill, (late, signal.SIGCONT)).start()
    with pytest.raises(ActionError, match="99"):
        env.step(np.array([99, STAY]))
    assert not any(pipe.poll(0.5) for pipe in env.controller.workers._pipes)  # nothing is left over
    env.step(np.full(2, STAY))
    env.close()
    with pytest.raises(ConfigError, match=r"unknown context 'threads'; .*'spawn'"):
        ParallelCurricula("GridWorld", CORNER, slots=2, context="threads")
    for wrong in ({"slots": 0}, {"slots": 2, "workers": -1}, {"slots": True}):
        with pytest.raises(ConfigError, match="is a number from"):
            ParallelCurricula("GridWorld", CORNER, **wrong)


# -- slots that do not wait --------------------------------------------------------------------


def play_async(workers: int, arrivals: Any = (), answers: int = 300, decisions: int = 0) -> Any:
    """Answer so often, and then until there are enough decisions: a busy machine may favour one."""
    env = AsyncCurricula(
        "GridWorld", stages(), slots=3, workers=workers, arrivals=arrivals, max_steps=6
    )
    rngs = [np.random.default_rng(slot) for slot in range(3)]
    env.reset(seed=2)
    for answer in range(100 * answers):
        if answer >= answers and len(env.decisions) >= decisions:
            break
        slot = env.recv().slot
        env.send(slot, int(rngs[slot].choice([1, 3, 3, 4])))
    env.close()
    return env


def test_a_recorded_order_of_arrivals_decides_the_same() -> None:
    first = play_async(2, decisions=3)
    assert len(first.decisions) >= 3
    again = play_async(1, first.arrivals, len(first.arrivals))
    assert again.arrivals == first.arrivals
    assert [d.to_bytes() for d in again.decisions] == [d.to_bytes() for d in first.decisions]


def test_another_order_of_arrivals_may_decide_otherwise() -> None:
    alone = [0, 1, 2] + [0] * 297
    found = play_async(0, alone)
    assert found.arrivals == alone
    turns = play_async(0, [0, 1, 2] * 100)
    assert [d.values for d in found.decisions] != [d.values for d in turns.decisions]


def test_an_episode_counts_for_the_step_in_whose_world_it_is_played() -> None:
    plan = curriculum(
        step(1, episodes_per_attempt=2), step(2, config={"width": 6, "goal_pos": [5, 0]})
    )
    env = AsyncCurricula("GridWorld", plan, slots=3, workers=0)
    env.reset(seed=0)
    while len(env.decisions) < 2:
        for slot in [env.recv().slot for _ in range(3)]:  # the decision falls before any is sent
            env.send(slot, 3)
    assert [(d.step, d.decision, d.env_steps) for d in env.decisions] == [
        (1, "PROCEED", 6),
        (2, "PROCEED", 5),
    ]
    env.close()


@pytest.mark.parametrize("kind", [ParallelCurricula, AsyncCurricula])
def test_steps_of_slots_have_the_dates_of_the_run(kind: Any) -> None:
    """Each slot's answers are dated here as they come, and compared with what was recorded."""
    plan = curriculum(step(1, adaptation_rules=RULES, completion_criteria=NEVER))
    env = kind("GridWorld", plan, slots=3, workers=0)
    rng, dates, wanted = np.random.default_rng(0), {0: [], 1: [], 2: []}, []
    env.reset(seed=0)
    clock, begun = 0, [0, 0, 0]
    if kind is ParallelCurricula:
        over = np.zeros(3, bool)
        for clock in range(1, 60):
            begins = over
            _, _, terminated, truncated, _ = env.step(rng.choice([1, 3, 3, 4], 3))
            over = terminated | truncated
            for slot in range(3):
                dates[slot] += [] if begins[slot] else [clock]
                begun[slot] = clock if begins[slot] else begun[slot]
                if over[slot]:
                    wanted.append((slot, begun[slot], dates[slot]))
                    dates[slot] = []
    else:
        for clock in range(1, 200):
            answer = env.recv()
            dates[answer.slot].append(clock)
            if answer.terminated or answer.truncated:
                # The first date is that of the reset's answer.
                wanted.append((answer.slot, begun[answer.slot], dates[answer.slot][1:]))
                dates[answer.slot], begun[answer.slot] = [], clock
            env.send(answer.slot, int(rng.choice([1, 3, 3, 4])))
    known = env.controller.metrics.history.of("agent_0")
    rows = sorted(known.episodes, key=lambda row: (row.end, row.slot))
    found = [(r.slot, r.start, [s.step for s in known.steps if _in(s, r)]) for r in rows]
    counted = [row.attempt != -1 for row in rows]
    assert sum(counted) > 8
    assert [row.end for row in rows] == [ended[-1] for *_, ended in wanted]
    for one, other, counts in zip(found, wanted, counted, strict=True):
        assert not counts or one == other
    env.close()


def _in(one: Any, row: Any) -> bool:
    return (one.slot, one.episode) == (row.slot, row.episode)


@pytest.mark.parametrize(
    ("arrived", "dates"),
    [([100], [97, 98, 99, 100]), ([90, 91, 93, 95, 99], [91, 93, 95, 99])],
)
def test_steps_are_just_before_the_last_one_where_that_alone_is_known(
    arrived: list[int], dates: list[int]
) -> None:
    episode = Episode("agent_0", 3, 0, 0, None, 40, 44, 4, milestones={"goal": 43}, arrived=42)
    steps = [Step(at, 3, 0, 0, "ok", 0.0, 0) for at in range(41, 45)]
    moved = date_in_run(EpisodeRecord(episode, steps), 2, 7, 60, arrived)
    assert [one.step for one in moved.steps] == dates
    assert {(one.slot, one.attempt) for one in moved.steps} == {(2, 7)}
    row = moved.episode
    assert (row.slot, row.attempt, row.start, row.end) == (2, 7, 60, dates[-1])
    assert (row.milestones, row.arrived) == ({"goal": dates[2]}, dates[1])


def test_what_a_reset_breaks_off_is_played_again() -> None:
    env = ParallelCurricula("GridWorld", curriculum(step(1)), slots=2, workers=0)
    for _ in range(2):
        env.reset(seed=0)
        env.step([3, STAY])
    env.step([3, STAY])
    env.step([3, STAY])
    assert [decision.decision for decision in env.decisions] == ["PROCEED"]
    env.close()


def test_windows_of_steps_count_what_all_slots_have_played() -> None:
    late = {"metric": "success_rate", "window": {"env_steps": 8}}
    won = [{"metric": "late", "operator": ">=", "value": 1.0}]
    plan = curriculum(step(1, completion_criteria=won), metrics={"late": late})
    env = AsyncCurricula("GridWorld", plan, slots=8, workers=0)
    env.reset(seed=0)
    while not env.decisions:
        env.send(env.recv().slot, 3)
    assert env.decisions[0].decision == "PROCEED"
    assert env.decisions[0].values == {"late": 1.0}
    env.close()


def test_slots_answer_as_a_vector_of_environments() -> None:
    env = ParallelCurricula("GridWorld", CORNER, slots=3, workers=0)
    shown, infos = env.reset(seed=[5, 9, 2])
    shape = (3, int(env.single_action_space.n))
    assert infos.keys() == {"seed", "action_mask"}
    assert (infos["seed"].tolist(), infos["action_mask"].shape) == ([5, 9, 2], shape)
    assert shown in env.observation_space
    seen, rewards, terminated, truncated, infos = env.step([1, STAY, 3])
    assert infos.keys() == {"result", "action_mask"}
    assert (infos["result"].shape, infos["action_mask"].shape) == ((3,), shape)
    assert seen in env.observation_space
    assert (seen != shown).any(axis=1).tolist() == [True, False, True], "the second stays"
    assert (rewards.shape, terminated.any(), truncated.any()) == ((3,), False, False)
    east, stayed = env.render()[2], env.render()[1]
    assert east.shape == stayed.shape
    assert (east != stayed).any()
    env.close()


def test_an_episode_of_who_enters_late_has_its_own_steps_alone() -> None:
    plan = curriculum({"order": 1, "name": "late", "adaptation_rules": RULES})
    team: dict[str, Any] = {"agents": 2, "agent": "agent_1", "partners": {"agent_0": "random"}}
    env = ParallelCurricula("GridWorld", plan, slots=1, workers=0, join_at=(0, 3), **team)
    env.reset(seed=0)
    rng, paid, over = np.random.default_rng(0), list[float](), np.zeros(1, bool)
    while not over.any():
        _, reward, terminated, truncated, _ = env.step(rng.integers(0, 4, 1))
        paid, over = [*paid, *reward], terminated | truncated
    (row,) = env.controller.metrics.history.of("agent_1").episodes
    assert (row.length, row.total) == (len(paid), pytest.approx(sum(paid)))
    env.close()


def test_each_slot_has_partners_of_its_own() -> None:
    agent = make_agent("random")
    plan = curriculum({"order": 1, "name": "alone"})
    team: dict[str, Any] = {"agents": 2, "agent": "agent_0", "partners": {"agent_1": agent}}
    env = ParallelCurricula("GridWorld", plan, slots=2, workers=0, **team)
    seated = [runner.partners[1] for runner in env.controller.workers.runners]
    assert len({id(one) for one in (agent, *seated)}) == 3
    env.close()
    for runner in env.controller.workers.runners:
        with pytest.raises(ClosedError):
            runner.require_open()


def test_slots_are_told_one_thing_at_a_time() -> None:
    env = AsyncCurricula("GridWorld", CORNER, slots=2, workers=0)
    with pytest.raises(ResetNeededError):
        env.send(0, STAY)
    env.reset(seed=3)
    with pytest.raises(ConfigError, match=r"slot 0 .* free slots are \[\]"):
        env.send(0, STAY)
    with pytest.raises(ConfigError, match="busy"):
        env.reset()
    assert {env.recv().info["seed"], env.recv().info["seed"]} == {3, 4}
    with pytest.raises(ConfigError, match=r"slot 2 .* free slots are \[0, 1\]"):
        env.send(2, STAY)
    with pytest.raises(ConfigError, match="nobody is busy"):
        env.recv()
    env.close()


def test_a_slot_is_free_again_after_what_went_wrong_in_it() -> None:
    env = AsyncCurricula("GridWorld", CORNER, slots=2, workers=0)
    env.reset(seed=0)
    assert [env.recv().slot, env.recv().slot] == [0, 1]
    env.send(0, 99)
    env.send(1, STAY)
    with pytest.raises(ActionError, match="99"):
        env.recv()
    assert env.recv().slot == 1
    env.send(0, STAY)
    assert env.recv().slot == 0
    env.close()


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("director", ["scripted", "randomisation"])
def test_every_slot_sees_that_its_target_is_reached(director: str, slots: int) -> None:
    target = {"motivation": {"current_goal_details": {"target_coords": [1, 0]}}}
    plan = curriculum(step(1, max_interactions=2, agent_config_overrides=target))
    env = ParallelCurricula("GridWorld", plan, slots=slots, workers=0, director=director)
    env.reset(seed=0)
    for _ in range(2):
        env.step([3] * slots)
    episodes = env.controller.metrics.history.of("agent_0").episodes
    assert [(row.slot, row.arrived) for row in episodes] == [(0, 1), (1, 1)][:slots]
    env.close()


@pytest.mark.parametrize("kind", [ParallelCurricula, AsyncCurricula])
def test_who_is_closed_leaves_no_process_behind(kind: Any) -> None:
    before = {*multiprocessing.active_children()}
    env = kind("GridWorld", stages(), slots=3, workers=2)
    env.reset(seed=1)
    assert len({*multiprocessing.active_children()} - before) == 2
    env.close()
    assert {*multiprocessing.active_children()} == before
