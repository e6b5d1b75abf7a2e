"""Ray itself, unmodified: a cluster of two nodes on this machine; ``make test-ray``.

Without a cluster only what needs none is tested here.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks import evaluate
from piase_gym.benchmarks.evaluation.suites import Row, Suite
from piase_gym.errors import ClusterError
from piase_gym.jobs import LineFile, Processes, RayCluster, do_missing, run_jobs
from tests.helpers.ray_nodes import Nodes
from tests.jobs import jobs_to_do as own
from tests.jobs.jobs_to_do import Draw

ray = pytest.importorskip("ray")
JOBS = [Draw(number) for number in range(8)]
TRUTH = [own.draw(job) for job in JOBS]


def values(perform: Any, backend: Any, jobs: Any = JOBS) -> list[Any]:
    """Return values in the order of the jobs."""
    found = sorted(run_jobs(jobs, perform, backend), key=lambda outcome: jobs.index(outcome.job))
    assert [str(outcome.error) for outcome in found if outcome.error] == []
    return [outcome.value for outcome in found]


def test_results_are_those_of_this_process(nodes: Nodes) -> None:
    assert values(own.draw, RayCluster(nodes.whole())) == TRUTH


def test_both_nodes_work(nodes: Nodes) -> None:
    def where(_job: int) -> str:
        time.sleep(1.0)
        return str(ray.get_runtime_context().get_node_id())

    assert len(set(values(where, RayCluster(nodes.whole()), [1, 2, 3, 4]))) == 2


def test_results_json_is_byte_for_byte_that_of_this_machine(nodes: Nodes, tmp_path: Path) -> None:
    suite = Suite(
        name="three",
        rows=(
            Row(task="piase/GridWorld-Empty-5x5-v1"),
            Row(task="piase/TextRoom-Quest-Easy-v*"),
            Row(task="piase/SocialDilemma-PrisonersDilemma-v*"),
        ),
    )
    policies = {"random": "random", "noop": "noop", "scripted": "scripted"}
    for name, who in (("local", {"workers": 2}), ("ray", {"ray": nodes.whole()})):
        results = evaluate(policies, suite, episodes=12, out=tmp_path / name, **who)
        assert results.complete, [row.faults for row in results.rows]
    one, other = (tmp_path / name / "results.json" for name in ("local", "ray"))
    assert one.read_bytes() == other.read_bytes()
    assert len(json.loads(one.read_bytes())["episodes"]) == 9 * 12
    assert sum(json.loads((tmp_path / "ray" / "timings.json").read_bytes())["seconds"]) > 0.0


def test_a_killed_node_costs_at_most_the_jobs_it_held(nodes: Nodes, tmp_path: Path) -> None:
    notes, lines = tmp_path / "notes", tmp_path / "lines.jsonl"
    notes.mkdir()
    jobs = [Draw(number, 1.0, str(notes)) for number in range(10)]
    backend, finished = RayCluster(nodes.whole()), list[str]()

    def kill(outcome: Any, done: int, whole: int) -> None:
        finished.append(outcome.name)
        if done == 3:
            nodes.kill_second()

    do_missing(jobs, own.draw, lines, backend, progress=kill)
    assert nodes.second is None
    found = sorted(LineFile(lines).found, key=json.dumps)
    assert found == sorted((own.draw(Draw(n)) for n in range(10)), key=json.dumps)
    begun = [len(list(notes.glob(f"begun-{number}-*"))) for number in range(10)]
    assert sum(begun) <= 10 + 2  # the job under way there, and one that Ray had sent ahead
    assert sum(begun) >= 10


def test_a_job_that_kills_its_worker_is_named(nodes: Nodes) -> None:
    backend = RayCluster(nodes.whole())
    found = {outcome.job: outcome for outcome in run_jobs(JOBS, own.draw_or_die, backend)}
    assert "number=2" in str(found[JOBS[2]].error)
    assert "the worker died" in str(found[JOBS[2]].error)
    assert [found[job].value for job in JOBS if job.number != 2] == TRUTH[:2] + TRUTH[3:]


@pytest.mark.parametrize(
    ("perform", "said"),
    [
        (own.draw_or_raise, "on node .*ZeroDivisionError: lost my way"),
        (own.draw_or_fill_the_disk, "on node .*No space left on device"),
        (own.unsendable, "on node .*cannot be sent"),
    ],
)
def test_what_fails_on_a_node_names_job_and_node(nodes: Nodes, perform: Any, said: str) -> None:
    backend = RayCluster(nodes.whole())
    failed = [outcome.error for outcome in run_jobs(JOBS[1:3], perform, backend) if outcome.error]
    assert failed
    with pytest.raises(type(failed[-1]), match=f"number=2.*{said}"):
        raise next(error for error in failed if "number=2" in str(error))


def test_a_job_that_never_ends_is_given_up(nodes: Nodes) -> None:
    jobs = [Draw(0), Draw(1, seconds=600.0)]
    backend = RayCluster(nodes.whole(), timeout=1.0)
    found = {outcome.job: outcome for outcome in run_jobs(jobs, own.draw, backend)}
    assert found[jobs[0]].value == TRUTH[0]
    assert "the worker died" in str(found[jobs[1]].error)


def test_a_worker_of_another_version_stops_the_run(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import piase_gym.jobs.ray as module

    facts = {**module.code_facts(), "numpy": "1.0"}
    monkeypatch.setattr(module, "code_facts", lambda: facts)
    with pytest.raises(ClusterError, match=r"numpy .* instead of 1.0.*install the same"):
        list(run_jobs(JOBS, own.draw, RayCluster(nodes.whole())))


def test_a_worker_without_a_module_stops_the_run(nodes: Nodes) -> None:
    with pytest.raises(ClusterError, match=r"cannot import a module.*only_on_the_driver"):
        list(run_jobs(JOBS, own.draw, RayCluster(nodes.whole(), ["only_on_the_driver"])))


def test_collected_files_are_those_of_this_machine(nodes: Nodes, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from piase_gym.collection import collect

    task, small = "piase/GridWorld-Empty-5x5-v1", {"steps": 480, "num_envs": 8, "shards": 4}
    here = collect(task, tmp_path / "here", **small)
    there = collect(task, tmp_path / "there", **small, ray=nodes.whole())
    assert here == there
    for shard in here["shards"]:
        [name] = shard["files"]
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # of Ray, about options of its own
def test_ray_data_reads_what_was_collected(nodes: Nodes, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from piase_gym.collection import collect
    from piase_gym.jobs.ray import connect

    made = collect("piase/GridWorld-Empty-5x5-v1", tmp_path, steps=480, num_envs=8, shards=4)
    connect(ray, nodes.whole())
    try:
        found = ray.data.read_parquet(str(tmp_path)).take_all()
    finally:
        ray.shutdown()
    rows = [
        row
        for shard in made["shards"]
        for name in shard["files"]
        for row in parquet.read_table(tmp_path / name).to_pylist()
    ]
    assert len(rows) == 480

    def told(row: dict[str, Any]) -> str:
        return repr([row[name] for name in ("env", "seed", "step", "agent", "action", "reward")])

    assert sorted(map(told, found)) == sorted(map(told, rows))


def test_demonstrations_are_those_of_this_process(nodes: Nodes, tmp_path: Path) -> None:
    from piase_gym.runs import demonstrate

    for name, who in (("here", {}), ("there", {"ray": nodes.whole()})):
        out = tmp_path / f"{name}.jsonl"
        demonstrate("piase/TextRoom-Quest-Easy-v3", out, episodes=20, policy="oracle", **who)
    here, there = ((tmp_path / f"{name}.jsonl").read_bytes() for name in ("here", "there"))
    assert here == there


def test_a_search_for_a_curriculum_ends_as_in_this_process(nodes: Nodes, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from piase_gym.training.curriculum_search import search
    from tests.training.test_curriculum_search import jobs, lines

    todo = jobs("scripted", "randomisation")
    here = search(todo, tmp_path / "here")
    assert search(todo, tmp_path / "there", RayCluster(nodes.whole())) == here
    assert lines(tmp_path / "there") == lines(tmp_path / "here")


def test_one_director_decides_for_environments_on_all_nodes(nodes: Nodes) -> None:
    from piase_gym.curricula.central import follow, start_director
    from piase_gym.jobs.ray import connect
    from tests.curricula import test_central as central

    class Player:
        """Plays one slot."""

        def __init__(self, slot: int) -> None:
            self.env = follow("director", slot)
            self.env.reset()
            self.dice = np.random.default_rng(slot)

        def play(self, episodes: int) -> str:
            for _ in range(episodes):
                central.play(self.env, self.dice)
                self.env.reset()
            return str(ray.get_runtime_context().get_node_id())

    connect(ray, nodes.whole())
    try:
        director = start_director("director", "GridWorld", central.PLAN, slots=3, seed=7)
        make = ray.remote(Player).options(num_cpus=0.5, scheduling_strategy="SPREAD")
        players = []
        for slot in range(3):
            players.append(make.remote(slot))
            ray.get(players[-1].play.remote(0))  # they begin in this order
        used = set[str]()
        for _ in range(8):  # in rounds: who is slow would else have all others wait for a decision
            used |= set(ray.get([player.play.remote(1) for player in players]))
        told = ray.get(director.report.remote())
    finally:
        ray.shutdown()
    assert len(used) == 2
    order = [slot for slot, *_ in told["arrivals"]]
    assert sorted(order) == [0] * 8 + [1] * 8 + [2] * 8
    assert len(told["decisions"]) >= 2
    assert central.run(order, apart=False).report() == told


# -- without a cluster --------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:no", "127.0.0.1:99999"])
def test_no_cluster_is_a_sentence(address: str) -> None:
    start = time.monotonic()
    with pytest.raises(ClusterError, match=f"there is no Ray cluster at {address}"):
        RayCluster(address)
    assert time.monotonic() - start < 60.0  # Ray itself takes minutes
    assert values(own.draw, Processes(1), JOBS[:2]) == TRUTH[:2]  # this process lives on


@pytest.mark.parametrize("said", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b"SSH-2.0\r\n", b""])
def test_what_is_no_cluster_is_told_within_seconds(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("piase_gym.jobs.ray.PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            line, _ = server.accept()
            with line, contextlib.suppress(ConnectionError):
                line.sendall(said)
                line.recv(1 << 10)
                line.recv(1)  # until the other side closes

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"there is no Ray cluster at {address}"):
            RayCluster(address)
        thread.join()


def test_no_cluster_here_is_a_sentence() -> None:
    if "PIASE_RAY" in os.environ:
        pytest.skip("there is one")
    with pytest.raises(ClusterError, match="ray start --head"):
        RayCluster("auto")
