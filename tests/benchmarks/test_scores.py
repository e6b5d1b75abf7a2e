"""References, scores, disqualification, cross-play."""

from __future__ import annotations

import heapq
import json
import math
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.agents import Agent
from piase_gym.benchmarks import Row, Suite, evaluate
from piase_gym.benchmarks.evaluation.cross_play import cross_play
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.benchmarks.evaluation.rollout import Job, play
from piase_gym.benchmarks.evaluation.suites import Setting, smoke, standard
from piase_gym.benchmarks.evaluation.tables import HEAD, percent, result_rows, rounded
from piase_gym.benchmarks.references.learned import stored_learners
from piase_gym.benchmarks.references.measure import (
    check_certificates,
    compare,
    measure_references,
    reference_suite,
    settings_of,
    write_references,
)
from piase_gym.benchmarks.references.references import (
    ScoreRange,
    read_references,
    score_range_of,
    shipped,
    stored_runs,
)
from piase_gym.errors import ProtocolError, SuiteError, UnknownNameError
from piase_gym.registry import task_spec, world_spec
from tests.benchmarks import bench_policies as own
from tests.helpers.needs import each, here
from tests.paths import ROOT

EMPTY = "piase/GridWorld-Empty-Random-5x5-v1"
SHIPPED = ROOT / "benchmarks" / "references" / "references.json"


def setting_of(row: Row, split: str = "dev") -> Setting:
    """Return the only setting of a row."""
    (setting,), _ = Suite(name="s", rows=(row,)).settings(split)
    return setting


def fake(setting: Setting, **values: list[float]) -> dict[str, Any]:
    """References of one setting."""
    entry = {"version": setting.version, "config_hash": setting.config_hash}
    policies = {name: {"values": found} for name, found in values.items()}
    return {"protocol": 1, "settings": {setting.label: {**entry, "policies": policies}}}


# -- points -------------------------------------------------------------------------------


def test_points_are_linear_between_the_better_floor_and_the_top() -> None:
    setting = setting_of(Row(task=EMPTY))
    gap = score_range_of(
        setting, fake(setting, random=[0.0, 2.0], noop=[2.0, 4.0], oracle=[8.0, 8.0])
    )
    assert (gap.low_policy, gap.low, gap.high) == ("noop", 3.0, 8.0)
    assert [gap.score(x) for x in (3.0, 8.0, 5.5, -2.0)] == [0.0, 100.0, 50.0, -100.0]


def test_a_hundred_points_are_the_best_known_and_who_is_beaten_is_a_script() -> None:
    setting = setting_of(Row(task=EMPTY))
    values = {"random": [0.0, 0.0], "noop": [1.0, 1.0], "oracle": [8.0, 9.0]}
    gap = score_range_of(setting, fake(setting, **values, ppo=[7.0, 8.0]))
    assert (gap.low_policy, gap.high, gap.high_policy, gap.beaten) == ("noop", 8.5, "planner", "")
    gap = score_range_of(setting, fake(setting, **values, ppo=[7.0, 9.5]))  # on one level
    assert (gap.high, gap.high_policy, gap.beaten) == (8.5, "script", "ppo on 1 of 2 levels")
    gap = score_range_of(setting, fake(setting, **values, ppo=[9.0, 9.5]))
    assert (gap.high, gap.high_policy, gap.score(9.25)) == (9.25, "ppo", 100.0)
    proved = setting_of(Row(task=EMPTY, certified=True))
    gap = score_range_of(proved, fake(proved, **values, ppo=[9.0, 9.5]))
    assert (gap.high, gap.high_policy, gap.beaten) == (8.5, "oracle", "")
    lucky = {**values, "random": [0.0, 9.5]}  # who does not look is not the best that is known
    assert score_range_of(setting, fake(setting, **lucky)).high_policy == "planner"


def test_what_is_stored_says_which_planners_are_scripts() -> None:
    kinds = {}
    for setting, _ in settings_that_ship():
        gap = score_range_of(setting, shipped())
        kinds[setting.label] = bool(gap.beaten), gap.certified
        assert gap.score(gap.low or 0.0) == 0.0
        assert not (gap.beaten and gap.high_policy in ("oracle", "planner"))
    expected = {"piase/TextRoom-LostKey-v3": True, "piase/GridWorld-FourRooms-8x8-v1": False}
    expected |= {
        label: True for label in kinds if "FourRooms-8x8-1of4" in label or "Physics" in label
    }
    expected = {k: v for k, v in expected.items() if "KeepAway" not in k}
    assert {label: kinds[label][0] for label in expected if label in kinds} == {
        label: beaten for label, beaten in expected.items() if label in kinds
    }


def test_old_results_have_no_anchors_and_are_read() -> None:
    old = asdict(score_range_of(setting_of(Row(task=EMPTY)), shipped()))
    whole = ScoreRange.from_json(json.loads(json.dumps(old)))
    assert asdict(whole) == old
    assert whole.anchors is not None
    del old["anchors"], old["beaten"]
    assert ScoreRange.from_json(old).anchors is None


def test_only_a_certified_oracle_is_called_one() -> None:
    names = []
    for certified in (True, False):
        setting = setting_of(Row(task=EMPTY, certified=certified))
        values = fake(setting, random=[0.0, 0.0], noop=[0.0, 0.0], oracle=[1.0, 1.0])
        names.append(score_range_of(setting, values).high_policy)
    assert names == ["oracle", "planner"]


def test_where_nobody_can_win_there_is_no_success_and_the_oracle_is_explained() -> None:
    row = next(r for r in standard().rows if r.partners == ("tit_for_tat",) and "Prison" in r.task)
    results = evaluate("oracle", Suite(name="s", rows=(row,)), episodes=3)
    (told,) = result_rows(results)
    cells = dict(zip(HEAD, told, strict=True))
    assert float(cells["score"].split()[0]) == pytest.approx(
        100 * (30 - 24.53) / (32 - 24.53), abs=0.1
    )
    assert cells["success"] == "–"
    assert "good of all" in cells["remarks"]
    assert "0 points are random, 100 are best_response:tit_for_tat" in cells["remarks"]
    (lost,) = evaluate("noop", EMPTY, episodes=3).rows
    assert lost.success is not None
    assert lost.success.estimate == 0.0


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "no reference of random and noop and oracle"),
        ({"random": [0.0], "noop": [0.0], "oracle": [9.0]}, "same seeds"),
        ({"random": [0.0, 1.0], "noop": [0.0], "oracle": [9.0]}, "same seeds"),
        ({"random": [0.0, 9.0] * 9, "noop": [0.0] * 18, "oracle": [9.0, 1.0] * 9}, "noise"),
        ({"random": [1.0] * 9, "noop": [1.0] * 9, "oracle": [1.0] * 9}, "noise"),
        ({"random": [5.0] * 9, "noop": [1.0] * 9, "oracle": [1.0] * 9}, "noise"),
    ],
)
def test_a_gap_that_cannot_be_told_from_noise_disqualifies(values: Any, why: str) -> None:
    setting = setting_of(Row(task=EMPTY))
    gap = score_range_of(setting, fake(setting, **values))
    assert why in str(gap.disqualified)
    assert gap.score(1.0) is None


def test_a_disqualified_task_has_raw_values_and_no_score() -> None:
    setting = setting_of(Row(task=EMPTY))
    flat = fake(setting, random=[1.0] * 9, noop=[1.0] * 9, oracle=[1.0] * 9)
    row = evaluate("scripted", EMPTY, episodes=3, references=flat).rows[0]
    assert row.score is None
    assert row.value is not None


def test_references_of_another_version_or_config_give_no_score() -> None:
    setting = setting_of(Row(task=EMPTY))
    values = fake(setting, random=[0.0, 0.0], noop=[0.0, 0.0], oracle=[1.0, 1.0])
    other = setting_of(Row(task=EMPTY, label=setting.label, config={"max_steps": 7}))
    assert "another version or config" in str(score_range_of(other, values).disqualified)


def test_references_of_another_protocol_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    for text in ("{}", "[", '{"protocol": 99, "settings": {}}'):
        path.write_text(text)
        with pytest.raises(ProtocolError):
            read_references(path)


# -- what ships ---------------------------------------------------------------------------


def settings_that_ship() -> list[tuple[Setting, str]]:
    """Return every setting of the suites and the split of its references."""
    found = {}
    for suite in (smoke(), standard()):
        for split in ("held_out", "dev"):
            for setting in suite.settings(split)[0]:
                found.setdefault(setting.label, (setting, split))
    known = here(piase_gym.list_worlds())
    shipped_worlds = [w for w in known if world_spec(w).world[:10] == "piase_gym."]
    return [row for row in found.values() if task_spec(row[0].task).world in shipped_worlds]


def test_stored_references_are_what_the_policies_do_today() -> None:
    pytest.importorskip("torch")  # of `ppo`
    stored = shipped()["settings"]
    checked = 0
    for setting, split in settings_that_ship():
        entry = stored.get(setting.label)
        long = "16x16" in setting.task or "-8p-" in setting.task  # and they say no more
        if entry is None or long:
            continue
        assert entry["split"] == split
        for name, episodes in {"random": 2, "oracle": 1}.items():
            policy = read_policy(name)
            seeds = tuple(range(entry["seeds"][0], entry["seeds"][0] + episodes))
            values = [record.value for record in play(Job(setting, policy, seeds))]
            assert values == entry["policies"][name]["values"][:episodes], (setting.label, name)
            assert policy.fingerprint == entry["policies"][name]["fingerprint"]
            checked += 1
    assert checked >= 10


def test_grid_world_has_references_and_none_is_disqualified() -> None:
    for setting, _ in settings_that_ship():
        if task_spec(setting.task).world == "GridWorld":
            assert score_range_of(setting, shipped()).disqualified is None, setting.label


@pytest.mark.parametrize("world", each(["PhysicsPlayground", "SocialDilemma"]))
def test_every_task_of_these_worlds_has_a_row_and_references(world: str) -> None:
    rows = [
        setting
        for setting, _ in settings_that_ship()
        if setting.task in piase_gym.list_tasks(world)
    ]
    assert {setting.task for setting in rows} == set(piase_gym.list_tasks(world))
    trained = {label for entry in stored_learners().values() for label in entry["labels"]}
    for setting in rows:
        gap = score_range_of(setting, shipped())
        assert gap.disqualified is None, (setting.label, gap)
        found = set(shipped()["settings"][setting.label]["policies"])
        assert {*setting.low, setting.high, "random", "noop", "scripted"} <= found
        assert "ppo" in found or setting.label in trained, setting.label  # large models do not ship


def best_return(setting: Setting, seed: int) -> float:
    """The highest return of one agent: a search over states with snapshots, no planner of ours.

    Undiscounted rewards are lost step by step and won at the end, so this is a shortest path with
    `-reward` as length, shifted by the largest reward to be positive where the goal is entered.
    """
    env = piase_gym.parallel_env(setting.task, view="vector", **dict(setting.config))
    env.reset(seed=seed)
    top = 10.0
    queue: list[tuple[float, int, dict[str, Any]]] = [(0.0, 0, env.snapshot())]
    seen, count = set(), 0
    while queue:
        lost, _, state = heapq.heappop(queue)
        if state is None:
            return top - lost
        env.restore(state)
        key = env.state()[1:].tobytes()  # all but the clock
        if key in seen:
            continue
        seen.add(key)
        for action in range(6):
            env.restore(state)
            _, rewards, ended, _, _ = env.step({"agent_0": action})
            count += 1
            reward = rewards["agent_0"]
            if ended["agent_0"]:
                heapq.heappush(queue, (lost + top - reward, count, None))  # type: ignore[arg-type]
            else:
                heapq.heappush(queue, (lost - reward, count, env.snapshot()))
    raise AssertionError("there is no way")


@pytest.mark.parametrize("size", [5, 6])
def test_certified_means_optimal(size: int) -> None:
    setting = setting_of(Row(task=f"piase/GridWorld-Empty-Random-{size}x{size}-v1"))
    seeds = (1_000_003, 1_000_004)
    for record in play(Job(setting, read_policy("oracle"), seeds)):
        assert record.value == pytest.approx(best_return(setting, record.seed))


def test_certificates_are_compared() -> None:
    setting = setting_of(Row(task=EMPTY, certified=True))
    oracle = list(play(Job(setting, read_policy("oracle"), (1_000_000, 1_000_001))))
    assert check_certificates(setting, oracle) == []
    others = list(play(Job(setting, read_policy("random"), (1_000_000, 1_000_001))))
    assert "certificate" in check_certificates(setting, others)[0].what


@pytest.mark.parametrize(
    ("certificates", "told"),
    [
        ({}, ""),
        ({"best_return": [7.5]}, ""),
        ({"best_return": [7.5 + 9e-7, 0.0], "certificate": [4]}, ""),
        ({"best_return": [7.5 + 2e-6]}, "returned 7.5; its certificate is 7.500002"),
        ({"best_return": [None]}, "has no certificate"),
        ({"certificate": [3, 0]}, ""),
        ({"certificate": [4, 3]}, "took 3 steps; its certificate is 4"),
    ],
)
def test_a_certificate_is_the_return_or_else_the_steps(
    certificates: dict[str, list[Any]], told: str
) -> None:
    oracle = SimpleNamespace(**{name: known.__getitem__ for name, known in certificates.items()})
    record: Any = SimpleNamespace(value=7.5, steps=3)
    assert compare(oracle, record) == told


def test_an_episode_without_a_value_does_not_have_its_certificate() -> None:
    record: Any = SimpleNamespace(value=None, steps=3)
    found = compare(SimpleNamespace(best_return=[7.5].__getitem__), record)
    assert found == "returned None; its certificate is 7.5"


# -- measuring references -----------------------------------------------------------------


def test_references_are_measured_with_versions_seeds_and_hashes(tmp_path: Path) -> None:
    suite = Suite(name="one", rows=(Row(task=EMPTY, certified=True),))
    found, problems = measure_references(suites=[suite], episodes=12, out=tmp_path)
    assert problems == []
    again, _ = measure_references(suites=[suite], episodes=12, out=tmp_path)
    assert json.dumps(found, sort_keys=True) == json.dumps(again, sort_keys=True)
    entry = found["settings"][EMPTY]
    assert entry["seeds"] == [2_000_000, 2_000_012]
    assert entry["versions"]["numpy"]
    assert {"random", "noop", "scripted", "oracle"} <= set(entry["policies"])
    results = evaluate("oracle", EMPTY, split="held_out", episodes=12, references=found)
    assert results.scores() == {EMPTY: pytest.approx(100.0)}


def test_references_that_only_some_rows_name_play_only_there(tmp_path: Path) -> None:
    own_floor = f"{own.__name__}:first_legal"
    rows = (Row(task=EMPTY), Row(task=EMPTY, label="special", low=("random", own_floor)))
    suite = Suite(name="two", rows=rows)
    found, problems = measure_references(suites=[suite], episodes=12, out=tmp_path)
    assert problems == []
    plain, special = found["settings"][EMPTY], found["settings"]["special"]
    assert own_floor not in plain["policies"]
    assert len(special["policies"][own_floor]["values"]) == 12
    assert special["seeds"] == plain["seeds"] == [2_000_000, 2_000_012]
    gap = score_range_of(suite.settings()[0][1], found)
    assert gap.disqualified is None
    assert gap.low_policy in ("random", own_floor)


def test_a_task_without_a_model_is_told_and_keeps_what_the_others_found() -> None:
    pytest.importorskip("torch")  # of `ppo`
    recall = "piase/TextRoom-Recall-4-v3"
    suite = Suite(name="one", rows=(Row(task=recall),))
    found, problems = measure_references(
        suites=[suite], episodes=2, stored={"protocol": 1, "settings": {}}
    )
    assert {*found["settings"][recall]["policies"]} == {"random", "noop", "scripted", "oracle"}
    assert [problem.where for problem in problems] == ["ppo"]
    assert "no model TextRoom-Recall-4-v3.zip" in problems[0].what


def test_references_that_are_there_are_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")  # of `ppo`
    other = "piase/GridWorld-Empty-Random-6x6-v1"
    suite = Suite(name="one", rows=(Row(task=EMPTY),))
    stored, _ = measure_references(suites=[suite], episodes=3)
    del stored["settings"][EMPTY]["policies"]["noop"]
    both = Suite(name="two", rows=(Row(task=EMPTY), Row(task=other)))
    played: list[tuple[str, str]] = []
    found, problems = measure_references(
        suites=[both],
        episodes=3,
        stored=stored,
        progress=lambda record, *_: played.append((record.setting, record.policy)),
    )
    assert problems == []
    assert {policy for label, policy in played if label == EMPTY} == {"noop"}
    fresh, _ = measure_references(suites=[both], episodes=3)
    assert found["settings"] == fresh["settings"]
    again, _ = measure_references(suites=[both], episodes=3, stored=found)
    assert again["settings"] == {}
    moved = json.loads(json.dumps(found))
    moved["settings"][other]["config_hash"] = "another"
    again, _ = measure_references(suites=[both], episodes=3, stored=moved)
    assert again["settings"] == {other: fresh["settings"][other]}


def test_a_reference_that_fails_is_a_problem() -> None:
    suite = Suite(name="one", rows=(Row(task=EMPTY),))
    found, problems = measure_references(
        suites=[suite], episodes=2, policies={"bad": own.not_a_number}
    )
    assert "bad" not in found["settings"][EMPTY]["policies"]
    assert any("the reference failed" in problem.what for problem in problems)


def test_a_world_without_an_oracle_is_not_a_fault() -> None:
    from tests import probes

    probes.register()
    results = evaluate({"oracle": "oracle", "random": "random"}, "probe/Point-v0", episodes=2)
    assert [row.policy for row in results.rows] == ["random"]
    assert results.complete
    assert "PointProbe has no oracle" in results.skipped[0].what
    with pytest.raises(SuiteError, match="no oracle"):
        evaluate("oracle", "probe/Point-v0", episodes=2)


def test_runs_of_a_reference_are_stored_and_read(tmp_path: Path) -> None:
    suite = Suite(name="one", rows=(Row(task=EMPTY),))
    found, _ = measure_references(
        suites=[suite], episodes=4, policies={"two": [Sloppy(0), Sloppy(9)]}
    )
    stored = found["settings"][EMPTY]["policies"]
    assert [len(run) for run in stored["two"]["runs"]] == [4, 4]
    assert [len(run) for run in stored["two"]["won"]] == [4, 4]
    assert stored["two"]["values"] == pytest.approx(
        [sum(p) / 2 for p in zip(*stored["two"]["runs"], strict=True)]
    )
    assert "runs" not in stored["random"]
    assert stored_runs(stored["random"]) == [stored["random"]["values"]]
    write_references(tmp_path / "r.json", found)
    assert read_references(tmp_path / "r.json") == found
    assert stored_runs(stored["two"]) == stored["two"]["runs"]
    again, _ = measure_references(
        suites=[suite], episodes=4, policies={"two": [Sloppy(0), Sloppy(9)]}, stored=found
    )
    assert again["settings"] == {}


def test_what_is_played_on_held_out_seeds_only_with_some_is_played_on_dev_with_others(
    tmp_path: Path,
) -> None:
    row = Row(
        task=EMPTY,
        config={"agents": 2},
        label="guest",
        focal=1,
        partners=("noop",),
        held_out_partners=("random",),
        without=("scripted",),
    )
    suite = Suite(name="one", rows=(row,))
    found, problems = measure_references(suites=[suite], episodes=2, out=tmp_path)
    assert problems == []
    told = {label: (e["split"], e["seeds"]) for label, e in found["settings"].items()}
    assert told == {
        "guest with random": ("held_out", [2_000_000, 2_000_002]),
        "guest with noop": ("dev", [1_000_000, 1_000_002]),
    }
    for split in ("held_out", "dev"):
        assert (tmp_path / split / "episodes.jsonl").is_file()
    entry = found["settings"]["guest with noop"]
    assert set(entry["policies"]) == {"random", "noop", "oracle"}
    again, _ = measure_references(
        suites=[suite], episodes=2, stored=found, policies={"ppo": "noop"}
    )
    assert all(
        set(e["policies"]) == {*entry["policies"], "ppo"} for e in again["settings"].values()
    )
    assert [s.label for s in settings_of(suite)] == ["guest with random", "guest with noop"]


def test_rows_are_chosen_by_label_task_or_id_and_each_once() -> None:
    plain, other = Row(task=EMPTY), Row(task=EMPTY, config={"max_steps": 9}, label="short")
    family = Row(task="piase/GridWorld-DoorKey-*")
    suites = [Suite(name="a", rows=(plain, family)), Suite(name="b", rows=(plain, other))]

    def chosen(*patterns: str) -> tuple[Row, ...]:
        return reference_suite(suites, patterns).rows

    assert chosen() == (plain, family, other)
    assert chosen("short") == (other,)
    assert chosen(EMPTY) == (plain, other)
    assert chosen("*DoorKey-6x6*", "short") == (family, other)
    with pytest.raises(UnknownNameError, match="did you mean 'short'"):
        chosen("shor")


# -- several runs, several policies -------------------------------------------------------


class Sloppy(Agent):
    """Plays the first legal action after some waiting."""

    def __init__(self, wait: int) -> None:
        super().__init__()
        self.wait = wait

    def act(self) -> int:
        percept: Any = self.percept
        return 4 if percept.step < self.wait else int(percept.mask.nonzero()[0][-1])


def test_runs_of_one_method_are_one_row() -> None:
    results = evaluate({"sloppy": [Sloppy(0), Sloppy(5), Sloppy(9)]}, EMPTY, episodes=4)
    (row,) = results.rows
    assert (row.runs, row.episodes) == (3, 12)
    assert row.value is not None
    singles = [evaluate(Sloppy(n), EMPTY, episodes=4).rows[0].value for n in (0, 5, 9)]
    means = [value.estimate for value in singles if value is not None]
    assert row.value.estimate == pytest.approx(sum(means) / 3)


def test_cross_play_is_a_square() -> None:
    row = Row(
        task="piase/GridWorld-FourRooms-8x8-v1", config={"agents": 2}, measure="win_rate", label="x"
    )
    table, results = cross_play(["noop", "oracle"], row, episodes=6)
    assert table.policies == table.partners == ("noop", "oracle")
    rates = [[value.estimate for value in line if value] for line in table.values]
    assert rates == [[0.0, 0.0], [1.0, 1.0]]  # who stands still never arrives
    low = table.values[0][0]
    assert low is not None
    assert low.high == pytest.approx(0.39, abs=0.01)  # Wilson, 0 of 6
    assert len(results.rows) == 4
    seats = {record.focal for record in results.episodes}
    assert seats == {("agent_0",), ("agent_1",)}


def test_cross_play_keeps_the_label_and_the_seats_of_its_row() -> None:
    row = Row(
        task="piase/GridWorld-FourRooms-8x8-v1",
        config={"agents": 3},
        focal=2,
        partners=("random",),
        measure="per_capita",
    )
    table, results = cross_play(["noop"], row, episodes=2, split="held_out")
    assert (table.label, table.measure, table.partners) == (row.task, "per_capita", ("noop",))
    assert table.values == ((results.rows[0].value,),)
    assert {len(record.focal) for record in results.episodes} == {2}


def test_cross_play_needs_policies() -> None:
    with pytest.raises(SuiteError):
        cross_play([], Row(task=EMPTY))


def test_differences_are_paired_by_seed() -> None:
    results = evaluate({"scripted": "scripted", "noop": "noop"}, EMPTY, episodes=6)
    found = results.difference(EMPTY, "scripted", "noop")
    values = {p: [r.value for r in results.of(EMPTY, p)] for p in results.policies}
    pairs = zip(values["scripted"], values["noop"], strict=True)
    assert found.estimate == pytest.approx(sum((a or 0) - (b or 0) for a, b in pairs) / 6)
    assert found.low > 0


@pytest.mark.parametrize(
    ("value", "digits", "told"),
    [
        (80.85, 1, "80.9"),
        (100 * (math.fsum([0.8085] * 7) / 7), 1, "80.9"),
        (math.nextafter(80.85, 0), 1, "80.9"),  # a sum whose last bit differs
        (math.nextafter(80.85, 99), 1, "80.9"),
        (80.8499, 1, "80.8"),
        (-80.85, 1, "-80.9"),
        (2.5, 0, "3"),
        (0.0, 1, "0.0"),
    ],
)
def test_numbers_are_rounded_as_they_are_read(value: float, digits: int, told: str) -> None:
    assert rounded(value, digits) == told
    assert percent(value / 100, digits) == f"{told}%"


def test_references_are_written_as_they_ship(tmp_path: Path) -> None:
    write_references(tmp_path / "r.json", read_references(SHIPPED))
    assert (tmp_path / "r.json").read_bytes() == SHIPPED.read_bytes()
