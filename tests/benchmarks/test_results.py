"""What episodes come to: each number by hand, and what files of results keep."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from piase_gym.benchmarks import Results
from piase_gym.benchmarks.evaluation.cross_play import cross_tables
from piase_gym.benchmarks.evaluation.protocol import EpisodeRecord
from piase_gym.benchmarks.evaluation.results import summarise
from piase_gym.benchmarks.evaluation.statistics import (
    difference_interval,
    mean_interval,
    share_interval,
)
from piase_gym.benchmarks.evaluation.suites import Problem, Row, Setting, expand
from piase_gym.benchmarks.references.references import ScoreRange
from piase_gym.errors import ConfigError, ProtocolError, UnknownNameError

TEAM = "piase/GridWorld-Foraging-8x8-2p-v1"
GAP = ScoreRange(0.0, 4.0, "random", "planner", False, None)
(SETTING,) = expand(Row(task=TEAM, label="a"), "dev")


def episode(seed: int, value: float | None, policy: str = "mine", **more: Any) -> EpisodeRecord:
    """An episode of two agents, which is drawn if nothing else is said."""
    told: dict[str, Any] = {"key": f"{seed}", "setting": "a", "run": 0, "seats": {}}
    told |= {"focal": ("x", "y"), "results": {"x": "drawn", "y": "drawn"}, **more}
    return EpisodeRecord(seed=seed, value=value, policy=policy, **told)


def results_of(*records: EpisodeRecord, gap: ScoreRange = GAP, **more: Any) -> Results:
    """Results that have these episodes, a row a policy and setting."""
    places = dict.fromkeys((record.setting, record.policy) for record in records)
    rows = tuple(
        summarise(replace(SETTING, label=label), policy, own, gap)
        for label, policy in places
        if (own := [r for r in records if (r.setting, r.policy) == (label, policy)])
    )
    told: dict[str, Any] = {"suite": {"name": "s"}, "split": "dev", **more}
    return Results(rows=rows, episodes=records, **told)


def test_a_row_has_the_means_and_shares_of_its_episodes() -> None:
    ends = {"x": "won", "y": "lost"}
    first: dict[str, Any] = {"steps": 3, "messages": 4, "hints": 1, "seconds": 0.5, "results": ends}
    second: dict[str, Any] = {"steps": 6, "messages": 1, "hints": 0, "seconds": 0.25}
    row = summarise(
        SETTING,
        "mine",
        [
            episode(1, 1.0, **first, milestones={"goal": 2}, outcomes={"ok": 3, "blocked": 1}),
            episode(2, 3.0, **second, milestones={"door": 1}, outcomes={"ok": 4}),
        ],
        GAP,
    )
    assert row.value == mean_interval([[1.0, 3.0]])
    assert row.score == mean_interval([[25.0, 75.0]])
    assert row.success == share_interval([[0.5, 0.0]])
    assert (row.runs, row.episodes, row.faults, row.complete) == (1, 2, {}, True)
    assert (row.steps, row.messages, row.hints, row.seconds) == (4.5, 2.5, 0.5, 0.75)
    assert row.milestones == {"door": 0.5, "goal": 1.0}
    assert row.outcomes == {"blocked": 0.125, "ok": 0.875}
    assert not replace(row, episodes=0).complete


def test_win_rates_have_the_intervals_of_shares() -> None:
    duel = replace(SETTING, measure="win_rate")
    records = [episode(s, v, run=r) for r, s, v in ((0, 1, 1.0), (0, 2, 0.5), (1, 1, 1.0))]
    row = summarise(duel, "mine", [*records, episode(2, 1.0, run=1)], GAP)
    assert row.value == share_interval([[1.0, 0.5], [1.0, 1.0]])
    assert row.value is not None
    assert row.value.high == 1.0


def test_episodes_that_failed_are_counted_and_take_the_score_alone() -> None:
    lost = episode(2, None, fault="fell", seconds=9.0, steps=99)
    row = summarise(SETTING, "mine", [episode(1, 3.0, steps=5, seconds=1.0), lost], GAP)
    assert (row.faults, row.episodes, row.complete) == ({"fell": 1}, 1, False)
    assert (row.value, row.score) == (mean_interval([[3.0]]), None)
    assert (row.steps, row.seconds) == (5.0, 1.0)
    none = summarise(SETTING, "mine", [lost, replace(lost, seed=3)], GAP)
    assert (none.faults, none.value, none.score, none.success) == ({"fell": 2}, None, None, None)
    assert (none.steps, none.milestones, none.outcomes, none.complete) == (0.0, {}, {}, False)
    closed = summarise(SETTING, "mine", [episode(1, 3.0)], replace(GAP, disqualified="noise"))
    assert (closed.value, closed.score) == (mean_interval([[3.0]]), None)


def test_who_can_only_draw_or_end_has_no_success() -> None:
    for end, success in (("drawn", False), ("ended", False), ("lost", True), ("won", True)):
        ends = {"x": "drawn", "y": end}
        row = summarise(SETTING, "mine", [episode(1, 0.0), episode(2, 0.0, results=ends)], GAP)
        assert (row.success is not None) == success, end


def test_runs_are_told_apart_whatever_the_order_of_episodes() -> None:
    order = [(1, 5), (0, 7), (1, 2), (0, 1)]
    row = summarise(SETTING, "mine", [episode(s, 10.0 * r + s, run=r) for r, s in order], GAP)
    assert row.value == mean_interval([[1.0, 7.0], [12.0, 15.0]])
    assert row.runs == 2


def test_a_row_is_found_by_its_names_and_the_first_policy_is_the_usual_one() -> None:
    found = results_of(episode(1, 1.0), episode(1, 2.0, "other"), episode(1, 4.0, setting="b"))
    assert found.row("a") is found.row("a", "mine") is found.rows[0]
    assert found.row("a", "other") is found.rows[1]
    with pytest.raises(UnknownNameError, match="b, other"):
        found.row("b", "other")
    assert found.find("b", "other") is None
    assert (found.policies, found.settings) == (("mine", "other"), ("a", "b"))
    assert found.scores() == found.scores("mine") == {"a": 25.0, "b": 100.0}
    assert found.scores("other") == {"a": 50.0}
    nothing = results_of()
    assert nothing.scores() == {}
    with pytest.raises(UnknownNameError):
        nothing.row("a")


def test_policies_are_compared_on_what_both_have() -> None:
    mine = [episode(s, v) for s, v in ((1, 1.0), (2, 3.0), (3, 9.0), (4, 8.0))]
    mine.append(episode(1, 0.0, setting="b"))
    first, second = ((1, 0.0), (2, 4.0), (4, 9.0)), ((2, 2.0), (1, 1.0), (3, 5.0))
    twice = [episode(s, v, "other", run=r) for r, run in enumerate((first, second)) for s, v in run]
    alone = episode(1, 8.0, "other", setting="c")
    found = results_of(*mine, *twice, alone)
    # Both runs of the other have the seeds 1 and 2, with means of 0.5 and 3.
    gap = found.difference("a", "mine", "other")
    assert gap == difference_interval([[1.0, 3.0]], [[0.0, 4.0], [1.0, 2.0]])
    assert gap.estimate == (0.5 + 0.0) / 2
    assert found.difference("a", "other", "mine").estimate == -gap.estimate
    better = found.improvement("mine", "other", resamples=5)
    assert better is not None
    assert better.estimate == 1.0  # 21 / 4 against 13 / 3 and 8 / 3 on the only common task
    assert found.improvement("mine", "nobody") is None
    assert (found.runs_of("mine"), found.runs_of("other")) == (1, 1)
    assert found.overall("nobody") is found.profile("nobody", [0.0]) is None
    with pytest.raises(ConfigError, match="1 and 1 values make no pairs"):
        found.difference("c", "other", "other")
    with pytest.raises(UnknownNameError, match="b, other"):
        found.difference("b", "mine", "other")


def test_results_are_whole_without_faults_and_problems() -> None:
    fine, failed = episode(1, 1.0), episode(2, None, fault="fell")
    assert results_of(fine).complete
    assert not results_of(fine, failed).complete
    assert not results_of(fine, problems=(Problem("here", "it hung"),)).complete
    assert results_of(fine, skipped=(Problem("there", "no oracle"),)).complete
    assert results_of(fine, failed).of("a", "mine") == [fine]


def test_a_value_with_a_partner_needs_every_episode() -> None:
    partners = {name: replace(SETTING, label=f"a with {name}", partner=name) for name in "pq"}

    def row(setting: Setting, *records: EpisodeRecord) -> Any:
        return summarise(setting, "mine", records, GAP)

    records = [episode(1, 1.0, setting="a with p"), episode(1, 3.0, setting="a with q")]
    lost = episode(2, None, setting="a with q", fault="fell")
    rows = row(partners["p"], records[0]), row(partners["q"], records[1], lost)
    (table,) = cross_tables(replace(results_of(*records), rows=(*rows, row(SETTING, records[0]))))
    assert (table.label, table.measure, table.partners) == ("a", "return", ("p", "q"))
    assert table.values == ((mean_interval([[1.0]]), None),)


# -- files --------------------------------------------------------------------------------


def test_what_others_have_stored_beside_results_is_kept(tmp_path: Path) -> None:
    path, times = tmp_path / "results.json", tmp_path / "timings.json"
    path.write_text('{"protocol": 1, "llm": {"model": "m"}, "old": 1}')
    times.write_text('{"protocol": 1, "throughput": 5, "seconds": []}')
    found = results_of(episode(1, 1.0, seconds=0.5), versions={"numpy": "2"})
    found.save(path)
    data, timings = (json.loads(file.read_text("utf-8")) for file in (path, times))
    assert data["llm"] == {"model": "m"}
    assert "old" not in data
    assert timings == {
        "protocol": 1,
        "throughput": 5,
        "seconds": [0.5],
        "versions": {"numpy": "2"},
    }
    assert Results.load(path) == found


def test_other_names_have_timings_of_their_own(tmp_path: Path) -> None:
    for name, value in (("one", 1.0), ("two", 2.0)):
        results_of(episode(1, value, seconds=value)).save(tmp_path / f"{name}.json")
    names = {"one.json", "one.timings.json", "two.json", "two.timings.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert Results.load(tmp_path / "one.json").episodes[0].seconds == 1.0


@pytest.mark.parametrize("timings", ["[1]", "{", '{"protocol": 0, "seconds": [7.0, 8.0]}'])
def test_timings_that_are_not_of_these_results_count_as_none(timings: str, tmp_path: Path) -> None:
    found = results_of(episode(1, 1.0, seconds=0.5), episode(2, 1.0, seconds=0.25))
    found.save(tmp_path / "r.json")
    (tmp_path / "r.timings.json").write_text(timings)
    again = Results.load(tmp_path / "r.json")
    assert [record.seconds for record in again.episodes] == [0.0, 0.0]
    assert (again.rows[0].seconds, again.versions) == (0.0, {})
    assert again.evidence() == found.evidence()
    (tmp_path / "r.timings.json").write_text('{"protocol": 1, "seconds": [7.0]}')
    assert Results.load(tmp_path / "r.json").rows[0].seconds == 0.0


def test_the_time_of_a_row_is_that_of_its_own_finished_episodes(tmp_path: Path) -> None:
    records = [episode(1, 1.0, seconds=1.0), episode(2, None, fault="fell", seconds=2.0)]
    records += [episode(1, 1.0, "other", seconds=4.0), episode(1, 1.0, setting="b", seconds=8.0)]
    results_of(*records).save(tmp_path / "r.json")
    rows = Results.load(tmp_path / "r.json").rows
    assert [row.seconds for row in rows] == [1.0, 4.0, 8.0]


@pytest.mark.parametrize("lacks", ["suite", "split", "rows", "episodes", "problems", "skipped"])
def test_results_that_lack_something_are_damaged(lacks: str) -> None:
    data = results_of(episode(1, 1.0)).to_json()
    del data[lacks]
    with pytest.raises(ProtocolError, match=f"the file are damaged: KeyError.'{lacks}'"):
        Results.from_json(data, "the file")


@pytest.mark.parametrize("changes", [{"gap": None}, {"gap": 5}, {"value": "x"}, {"value": [1]}])
def test_results_with_a_damaged_row_are_refused(changes: dict[str, Any]) -> None:
    data = results_of(episode(1, 1.0)).to_json()
    data["rows"][0] |= changes
    with pytest.raises(ProtocolError, match="the file are damaged"):
        Results.from_json(data, "the file")


def test_episodes_of_results_are_checked() -> None:
    data = results_of(episode(1, 1.0)).to_json()
    data["episodes"][0]["value"] = "x"
    with pytest.raises(ProtocolError, match=r"^the file: this is not an episode of protocol 1"):
        Results.from_json(data, "the file")


def test_an_episode_is_won_by_the_share_of_agents_that_won() -> None:
    pairs = (("won", "won"), ("won", "drawn"), ("lost", "ended"))
    ends: list[dict[str, str]] = [dict(zip("xy", pair, strict=True)) for pair in pairs] + [{}]
    assert [episode(1, 0.0, results=results).won for results in ends] == [1.0, 0.5, 0.0, 0.0]
