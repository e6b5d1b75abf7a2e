"""What is measured of single worlds and of training, and how it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.benchmarks.speed import (
    c_kernel,
    household,
    object_search,
    physics,
    pictures,
    scaling,
    sql_query,
    throughput,
)
from piase_gym.benchmarks.speed.timing import Row

MACHINE = {
    "machine": "a machine",
    "versions": dict.fromkeys(("piase_gym", "python", "numpy", "numba"), "1.0"),
    "load": [0.25, 1.96],
}
ABOUT = (
    "Measured on a machine, with piase_gym 1.0, python 1.0, numpy 1.0, numba 1.0; the load of the "
    "machine was 0.2 and 2.0 at the start and at the end."
)


# -- physics ------------------------------------------------------------------------------


class OpenPeers:
    """No peers but one of four steps a microsecond."""

    def __init__(self, _: Any, field: Any) -> None:
        assert [peer.key for peer in field] == ["panda_gym"]
        self.timers = {"panda": lambda seconds: 4e6 / 0.2 * seconds}


def test_physics_is_measured_in_rows_beside_bullet_and_panda_gym(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    rows = iter(range(10, 20))

    def row(*given: Any, **options: Any) -> Any:
        made.append((*given, options))
        cost = float(next(rows))
        return lambda: cost

    counts: list[int] = []
    monkeypatch.setattr(physics, "raw_row", row)
    monkeypatch.setattr(physics, "world_row", row)
    monkeypatch.setattr(physics.peers, "OpenPeers", OpenPeers)
    monkeypatch.setattr(physics, "memory_after", lambda n: counts.append(n) or 100 + n)
    found = physics.measure_all(2, 5)
    assert found["costs"] == {
        "raw Bullet, 4 agents, 10 objects": 10.0,
        "raw Bullet without lidar": 11.0,
        "PhysicsPlayground, view=vector": 12.0,
        "PhysicsPlayground, view=both": 13.0,
        "reach, 1 agent, with resets": 14.0,
        "panda-gym's PandaReach-v3, with resets": 0.25,
    }
    alone = {"task": "reach", "agents": 1, "objects": None, "size": (6.0, 6.0), "max_steps": 200}
    more = {"fresh": False, **alone}
    assert made == [({},), ({"rays": False},), ({},), ({"view": "both"},), (400, more)]
    assert found["memory"] == {"cycles": 5, "before": 120, "after": 105}
    assert counts == [20, 5]
    rows = iter(range(10, 20))
    assert list(physics.measure_all(1, 0)) == ["costs"]


def test_what_physics_costs_is_told() -> None:
    costs = {physics.RAW: 200.0, physics.REACH: 50.0, physics.PANDA: 125.4}
    memory = {"cycles": 200, "before": 100 * 2**20, "after": 101 * 2**20}
    section = physics.sections({"costs": costs, "memory": memory})["physics"]
    assert section.tables[0].lines == [
        ("row", "µs a step", "steps per CPU-second", "x raw"),
        ("raw Bullet, 4 agents, 10 objects", "200", "5,000", "1.00"),
        ("reach, 1 agent, with resets", "50", "20,000", "0.25"),
        ("panda-gym's PandaReach-v3, with resets", "125", "7,974", "0.63"),
    ]
    assert section.words == [
        "The task reach makes 2.5 times the steps of panda-gym's. Memory after 20 make/close "
        "cycles is 100 MiB, after 200 more 101 MiB (+1.0%)."
    ]
    assert physics.sections({"costs": {physics.RAW: 200.0}})["physics"].words == [""]


def test_the_world_is_stepped_with_its_plan_from_the_start_or_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Any] = []
    now = [0.0]

    class World:
        agents = ["a", "b"]

        def reset(self, seed: int | None = None) -> None:
            self.agents = ["a", "b"]
            done.append(seed)

        def step(self, acts: dict[str, int]) -> None:
            now[0] += 0.5
            done.append(acts)
            if len(done) == 3:
                self.agents = []

    given: list[Any] = []
    monkeypatch.setattr(physics, "made", lambda **changes: given.append(changes) or World())
    monkeypatch.setattr("time.process_time", lambda: now[0])
    assert physics.world_row(view="both")() == 500_000.0
    acts = [one["a"] for one in done if isinstance(one, dict)]
    assert acts == [act for act in (1, 1, 1, 3, 1, 5, 4, 2) for _ in range(8)]
    assert done[0] == 0
    assert done[3] is None  # the episode had ended
    assert given == [{"view": "both"}]
    done.clear()
    physics.world_row(66, fresh=False)()
    steps = [one for one in done if isinstance(one, dict)]
    assert done[0] == {"a": 1, "b": 1}
    assert len(steps) == 66
    assert steps[64:] == [{"a": 1, "b": 1}] * 2


# -- SqlQuery -----------------------------------------------------------------------------


def test_gold_queries_are_sorted_by_how_they_do_on_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = [(1, 2.0004), (3, 4.0)]
    there: dict[str, Any] = {
        "equal": (None, [*here]),
        "digits": (None, [(1, 2.0), (3, 4.0)]),
        "order": (None, [(3, 4.0), (1, 2.0)]),
        "other": (None, [(1, 2.002), (3, 4.0)]),
        "refused": ("no", []),
    }
    asked: list[Any] = []

    class Server:
        def __init__(self, url: str) -> None:
            self.name = url.removeprefix("mysql://x/")

        def execute(self, gold: str) -> Any:
            asked.append((self.name, gold))
            reason, rows = there[self.name]
            return SimpleNamespace(reason=reason, rows=rows)

    monkeypatch.setattr(sql_query, "ServerEngine", Server)
    monkeypatch.setattr(sql_query, "gold_of", lambda *_: SimpleNamespace(reason=None, rows=here))
    tasks = [SimpleNamespace(database=n, gold=f"gold {n}", task_id=f"id {n}") for n in there]
    dataset: Any = SimpleNamespace(tasks=tasks, databases=dict.fromkeys(there))
    found = sql_query.compared(dataset, "mysql://x/{database}")
    assert found == {name: [f"id {name}"] for name in there}
    assert asked == [(name, f"gold {name}") for name in there]


def test_replies_are_the_same_but_for_the_types_and_digits_of_numbers() -> None:
    def episode(*replies: object) -> dict[str, Any]:
        return {"turn_history": {"observations": list(replies)}}

    there = episode("[(Decimal('2.3333'), b'int')]", "No SQL code was found", "[(1,)]", "[('b',)]")
    here = episode([(2.33333333, "int")], "Error", "[(2,)]", [("b",)])
    assert list(sql_query._same_replies(there, here)) == [True, False, True]
    assert list(sql_query._same_replies(episode("[(1.5,)]"), episode([(1.6,)], 3))) == [False]


def test_files_logs_and_servers_of_intercode_are_measured_where_they_are_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    own, theirs = (SimpleNamespace(tasks=[0] * count) for count in (3, 5))
    monkeypatch.setattr(sql_query, "own_questions", lambda: own)
    monkeypatch.setattr(sql_query, "load", lambda files: theirs if files == "files" else None)
    monkeypatch.setattr(sql_query, "gold_rates", lambda dataset: len(dataset.tasks))
    monkeypatch.setattr(sql_query, "again", lambda log, dataset: (log.name, len(dataset.tasks)))
    monkeypatch.setattr(sql_query, "compared", lambda dataset, url: [len(dataset.tasks), url])
    (tmp_path / "deep").mkdir()
    name = "ic_sql_multiturn_a_b_turns.json"
    for file in (name, "ic_sql_multiturn_human_turns.json", "other.json"):
        (tmp_path / "deep" / file).touch()

    def measured(**given: Any) -> dict[str, Any]:
        found = sql_query.measure_all(**given)
        return {key: value for key, value in found.items() if key not in MACHINE}

    none = {"rates": {"own questions": 3}, "sizes": {"own questions": 3}}
    assert measured() == {**none, "logs": {}, "server": {}}
    sizes = {"own questions": 3, "InterCode's tasks": 5}
    assert measured(files="files") == {"rates": sizes, "sizes": sizes, "logs": {}, "server": {}}
    assert measured(files="files", logs=str(tmp_path), server="url") == {
        "rates": sizes,
        "sizes": sizes,
        "logs": {"a b turns": (name, 5)},
        "server": [5, "url"],
    }
    for given in ({"logs": "logs"}, {"server": "url"}):
        with pytest.raises(sql_query.ConfigError, match="give files as well"):
            sql_query.measure_all(**given)


# -- throughput and scaling ---------------------------------------------------------------


def rows_are_noted(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[Any]:
    """Let tasks be noted and not made."""
    noted: list[Any] = []

    def task_row(label: str, task: str, num_envs: int, **config: Any) -> Row:
        noted.append((task, num_envs, config))
        return Row(label, num_envs, lambda _: None)

    monkeypatch.setattr(module, "task_row", task_row)
    return noted


def test_tables_of_throughput_are_of_these_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = rows_are_noted(monkeypatch, throughput)
    asked: list[Any] = []

    def measure(rows: list[Row], *given: Any) -> dict[str, float]:
        asked.append(given)
        return {row.name: float(number) for number, row in enumerate(rows, 1)}

    monkeypatch.setattr(throughput, "measure", measure)
    monkeypatch.setattr(throughput, "grid_rows", lambda: [Row("grid", 1, lambda _: None)])
    monkeypatch.setattr(throughput, "kernel_row", lambda n: Row(f"kernel {n}", n, lambda _: None))
    monkeypatch.setattr(throughput, "c_row", lambda n: Row(f"C {n}", n, lambda _: None))
    for there in (True, False):
        monkeypatch.setattr(c_kernel, "available", lambda there=there: there)
        tables = list(throughput.tables(3, 0.5))
        names = [[row["name"] for row in table["rates"]] for table in tables]
        noop = "no-op ParallelEnv, 8 agents"
        whole = "batch_env, piase/GridWorld-Everything-16x16-4p-v1"
        games = [f"batch_env, {game}" for game in ("prisoners_dilemma", "harvest", "cleanup")]
        assert names[0] == ["grid"]
        for shown, table, envs in zip(names[1:4], tables[1:4], (64, 1024, 4096), strict=True):
            bases = [noop, f"C {envs}"] if there else [noop]
            assert shown == [*bases, f"kernel {envs}", f"batch_env, {envs} environments"]
            assert list(table["rates"][0]["ratios"]) == bases
        assert names[4:] == [[noop, "batch_env, door-key rules", whole], [noop, *games]]
        for table in (tables[0], *tables[4:]):
            assert list(table["rates"][0]["ratios"]) == [table["rates"][0]["name"]]
    assert asked[:6] == [(3, 0.5, 200), *[(3, 0.5, 32)] * 5]
    door, fields = c_kernel.CONFIG, {"width": 32, "height": 32, "agents": 8}
    assert noted[:3] == [("GridWorld", envs, door) for envs in (64, 1024, 4096)]
    assert noted[3:5] == [("GridWorld", 1024, door), (throughput.EVERYTHING, 1024, {})]
    assert noted[5:8] == [
        ("SocialDilemma", 4096, {"game": "prisoners_dilemma"}),
        ("SocialDilemma", 256, {"game": "harvest", **fields}),
        ("SocialDilemma", 256, {"game": "cleanup", **fields}),
    ]


def test_scaling_changes_one_size_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = rows_are_noted(monkeypatch, scaling)
    monkeypatch.setattr(scaling, "SCALES", {"agents": (1, 32), "side": (8,), "batch": (7,)})
    asked: list[Any] = []

    def measure(rows: list[Row], *given: Any) -> dict[str, float]:
        asked.append(given)
        return {row.name: 10.0 * number for number, row in enumerate(rows, 1)}

    monkeypatch.setattr(scaling, "measure", measure)
    found = scaling.scaling(3, 0.5)
    assert asked == [(3, 0.5, 16)] * 3
    assert {axis: part["points"] for axis, part in found.items()} == {
        "agents": [{"agents": 1, "rate": 10.0}, {"agents": 32, "rate": 20.0}],
        "side": [{"side": 8, "rate": 10.0}],
        "batch": [{"batch": 7, "rate": 10.0}],
    }
    assert [(part["axis"], part["title"]) for part in found.values()] == [
        ("agents", "GridWorld, 64 environments of 16x16: agents grow"),
        ("side", "GridWorld, 64 environments of 4 agents: the map grows"),
        ("batch", "GridWorld of 16x16 with 4 agents: the batch grows"),
    ]
    sizes = [
        (task, envs, config["agents"], config["width"], config["height"])
        for task, envs, config in noted
    ]
    assert sizes == [
        ("GridWorld", 64, 1, 16, 16),
        ("GridWorld", 64, 32, 16, 16),
        ("GridWorld", 64, 4, 8, 8),
        ("GridWorld", 7, 4, 16, 16),
    ]
    assert all(config["border"] and config["max_steps"] == 1000 for *_, config in noted)


# -- other worlds -------------------------------------------------------------------------


def test_what_household_does_is_told() -> None:
    row = {"won": 0.746, "steps": 12.34}
    kinds = {"generated homes": {"oracle": row}, "given games": {"random": row}}
    costs = {"a plan": 1.256}
    found = {"players": kinds, "games": 7, "rates": {"native": 12_345.6}, "costs": costs, **MACHINE}
    parts = household.sections(found)
    assert list(parts) == ["players", "speed"]
    assert parts["players"].tables[0].lines == [
        ("games", "player", "won", "steps of those"),
        ("134 generated homes", "`oracle`", "75 %", "12.3"),
        ("7 given games", "`random`", "75 %", "12.3"),
    ]
    assert parts["players"].words == ["Within 50 steps a game."]
    assert parts["speed"].tables[0].lines == [
        ("what", "value"),
        ("steps per CPU-second, native text", "12,346"),
        ("a plan, CPU-ms", "1.26"),
    ]
    assert parts["speed"].words == [ABOUT]


def test_what_explorers_do_is_told() -> None:
    # of 1, 2, 3 and 6 the mean is 3, the sample's variance 14 / 3
    assert object_search.interval([1, 2, 3, 6]) == [3.0, pytest.approx(1.96 * (14 / 12) ** 0.5)]
    means = {"steps": (12.34, 0.56), "coverage": (0.5, 0.1), "duplicate_work": (0.25, 0.05)}
    measures = {**means, "reports_sent": (3.0, 0.25)}
    found = {
        "houses": 200,
        "players": {"oracle": measures},
        "ratio": [1.254, 1.1, 1.4],
        "gain": [20.04, 2.5],
        "house_ms": 0.1234,
        "rates": {object_search.NOOP: 2e6, "batch": 5e6},
        **MACHINE,
    }
    parts = object_search.sections(found)
    shown = ("12.3 ± 0.6", "0.50 ± 0.10", "0.25 ± 0.05", "3.0 ± 0.2")
    assert parts["players"].tables[0].lines[1:] == [("oracle", *shown)]
    assert parts["players"].words == [
        "Means of 200 houses of 16 by 16 with 8 objects, and their 95 % intervals. Explorers with "
        "reports take 1.25 times the steps of the coverage planner (1.10 to 1.40), and 20.0 ± 2.5 "
        "fewer than those without, in the same houses."
    ]
    assert parts["speed"].tables[0].lines[1:] == [
        ("no-op ParallelEnv, 8 agents", "2.00", "1.00"),
        ("batch", "5.00", "2.50"),
    ]
    assert parts["speed"].words == ["A house is made in 0.123 CPU-ms.", ABOUT]


def test_what_a_describer_does_is_told() -> None:
    names = ("precision", "recall", "overlap", "caption_precision", "caption_recall")
    scores = dict(zip(names, (0.1, 0.2, 0.3, 0.4, 0.5), strict=True))
    seen = {"both": 1500, "house": 100, "picture": 400}
    found = {"describer": "d", "pictures": 1234, "scores": scores, "seen": seen, **MACHINE}
    section = pictures.sections({**found, "milliseconds": 2.54})["scores"]
    assert section.tables[0].lines == [
        ("what", "precision", "recall", "overlap"),
        ("objects", "0.100", "0.200", "0.300"),
        ("names in captions", "0.400", "0.500", ""),
    ]
    assert section.words == [
        "The describer `d` on 1,234 pictures with something in them. Of 2,000 sights of an object, "
        "75 % were had by the camera and by the rules of `house` alike, 20 % by the camera alone "
        "and 5 % by the rules alone. A step with its picture and description takes 2.5 CPU-ms an "
        "agent.",
        ABOUT,
    ]


# -- training -----------------------------------------------------------------------------


def test_training_is_measured_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from piase_gym.benchmarks.speed import learning

    now = [0.0]
    made: list[Any] = []

    class Trainer:
        steps, policy = 100, "policy"

        def __init__(self, task: str, settings: Any, seed: int) -> None:
            made.append((task, settings, seed))

        def act(self) -> None:
            self.steps += 50

        def learn(self) -> None:
            now[0] += 0.25

        def train(self) -> None:
            now[0] += 12.34
            self.steps = 1000

    monkeypatch.setattr("time.process_time", lambda: now[0])
    monkeypatch.setattr(learning.ppo, "Trainer", Trainer)
    monkeypatch.setattr(learning.ppo, "evaluate", lambda *given: given)
    task = "piase/GridWorld-DoorKey-8x8-v1"
    assert learning.timer_of(memory=128)() == 200.0
    assert made == [(task, learning.ppo.Settings(memory=128), 0)]
    assert learning.solve(3, 777) == {
        "seed": 3,
        "steps": 1000,
        "cpu_seconds": 12.3,
        "success": ("policy", task),
        "episodes": len(learning.ppo.HELD_OUT),
    }
    settings = learning.ppo.Settings(total_steps=777, training_reward="small_costs")
    assert made[1] == (task, settings, 3)
    monkeypatch.setattr(learning, "timer_of", lambda **options: lambda: float(len(options)))
    monkeypatch.setattr(learning, "solve", lambda seed, steps: [seed, steps])
    found = learning.measure_all(1, 2, 55)
    assert list(found["rates"].values()) == [0.0, 1.0, 1.0, 1.0]
    assert found["solved"] == [[0, 55], [1, 55]]
    solved = {"seed": 3, "steps": 2_500_000, "cpu_seconds": 12.3, "success": 0.5, "episodes": 100}
    parts = learning.sections({"rates": {"layer": 1234.5}, "solved": [solved], **MACHINE})
    head = [f"`{task}`", "agent-steps per CPU-second"]
    assert parts["rates"].tables[0].lines == [head, ["layer", "1,234"]]
    # Wilson's interval of 50 in 100, as in textbooks
    assert parts["solved"].tables[0].lines == [
        ["seed", "agent steps", "CPU-seconds", "held-out levels won"],
        ["3", "2,500,000", "12", "50.0% (40.4% to 59.6%)"],
    ]
    assert parts["solved"].words == [ABOUT]
