"""Episodes of attempts are counted once each, in whichever order they end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.core.events import Events
from piase_gym.curricula.attempts import EpisodeCounts
from piase_gym.curricula.controller import UNSAVED, CurriculumController
from piase_gym.curricula.metrics import EpisodeRecord
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.store import ProgressStore
from piase_gym.registry import find, load
from piase_gym.runs.history import SPARE, Episode
from tests.curricula.example_curricula import curriculum, step

AGENT = "agent_0"
DIRECTORS = ("scripted", "threshold", "randomisation", "learning_progress")


def make_run(director: str, slots: int, wanted: int, progress: Any = None) -> CurriculumController:
    won = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    common = {"completion_criteria": won, "episodes_per_attempt": wanted}
    plan = curriculum(step(1, **common), step(2, **common))
    spec = find("GridWorld")[0]
    world = load(spec.world, spec)(load(spec.config, spec)())
    options = CurriculumOptions(plan, [AGENT], director=director, progress=progress)
    return CurriculumController(world, options, Events(), slots)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(DIRECTORS),
    st.integers(1, 5),
    st.integers(1, 4),
    st.lists(
        st.tuples(
            st.permutations(range(5)),  # who ends in this step, in which order it is told
            st.integers(0, 5),  # how many of them
            st.sampled_from(["won", "lost", "broken", "left", "absent"]),
            st.booleans(),  # whether somebody looks after it
        ),
        max_size=40,
    ),
)
def test_every_episode_that_ends_is_counted_once(
    director: str, slots: int, wanted: int, script: list[Any]
) -> None:
    run = make_run(director, slots, wanted)
    run.next_configs(range(slots))
    for slot in range(slots):
        run.start_episode(slot, [AGENT])
    seen, summed = EpisodeCounts(), EpisodeCounts()
    number = finished = 0
    for order, count, fate, look in script:
        run.step += 1
        for slot in [slot for slot in order if slot < slots][:count]:
            participation = run.participants[slot][AGENT]
            number += 1
            row = Episode(AGENT, number, slot, participation.number, 0, run.step - 1, run.step, 1)
            row.result = {"broken": "abandoned", "left": "won"}.get(fate, fate)
            if fate in ("broken", "left"):  # left: others went on when it was broken off
                run.abort_episode(slot, {AGENT: EpisodeRecord(row)})
                finished += fate == "left"
            else:
                run.end_episode(slot, {} if fate == "absent" else {AGENT: EpisodeRecord(row)})
                finished += fate != "absent"
        run.process_ended_episodes()
        idle = [slot for slot in range(slots) if not run.participants[slot]]
        run.next_configs(idle)
        for slot in idle:
            run.start_episode(slot, [AGENT])
        if look:
            new = run.counts[AGENT].since(seen)
            seen = run.counts[AGENT].copy()
            for step_order, n in new.counted.items():
                for k in range(n):
                    summed.add(step_order, k < new.won[step_order])
            summed.uncounted += new.uncounted
    counts, tried = run.counts[AGENT], run.under_way(AGENT)
    new = counts.since(seen)
    assert {o: summed.counted.get(o, 0) + new.counted.get(o, 0) for o in counts.counted} == (
        counts.counted
    )
    assert summed.uncounted + new.uncounted == counts.uncounted
    assert sum(counts.counted.values()) + counts.uncounted == finished
    # the history, from which metrics come, says the same
    rows = [r for r in run.metrics.history.of(AGENT).episodes if r.finished]
    attempts = run.metrics.history.of(AGENT).attempts
    from_rows = EpisodeCounts()
    for row in rows:
        if row.attempt in (SPARE, 0):
            from_rows.uncounted += 1
        else:
            from_rows.add(attempts[row.attempt - 1].order or 0, row.result == "won")
    assert sum(counts.steps.values()) == sum(row.length for row in rows)
    assert from_rows == replace(counts, steps=from_rows.steps)
    # so do decisions and progress, but for the attempt that is under way
    progress = run.progress[AGENT]
    decided = dict(counts.counted)
    if tried is not None:
        assert tried.ended <= tried.begun <= tried.wanted == wanted
        decided[tried.step.order] = decided.get(tried.step.order, 0) - tried.ended
    assert {o: n for o, n in decided.items() if n} == progress.step_episodes
    assert sum(progress.step_episodes.values()) == progress.episodes
    assert progress.env_steps == progress.episodes  # each has one step
    if not run.director.per_slot:
        assert progress.episodes == sum(d.episodes for d in run.decisions)
        assert all(d.episodes == wanted for d in run.decisions)


def test_a_decision_says_how_many_episodes_go_on_for_nothing() -> None:
    run = make_run("scripted", 3, 1)
    told: list[Any] = []
    run.events.subscribe(lambda event: told.append(event.data), ("log",))
    run.next_configs(range(3))
    for slot in range(3):
        run.start_episode(slot, [AGENT])
    run.step = 1
    run.end_episode(0, {AGENT: EpisodeRecord(Episode(AGENT, 1, 0, 1, 0, 0, 1, 1, result="won"))})
    run.process_ended_episodes()
    (data,) = [d["data"] for d in told if d["event_type"] == "DSE_ADAPTATION_EVAL"]
    assert (data["episodes"], data["in_play"]) == (1, 2)


def ended(run: CurriculumController, slot: int, result: str) -> None:
    """Let the episode of a slot end now, and leave it to be counted."""
    part = run.participants[slot][AGENT]
    row = Episode(AGENT, 1, slot, part.number, 0, 0, run.step, 1, result=result)
    run.end_episode(slot, {AGENT: EpisodeRecord(row)})


def test_an_episode_without_the_agent_is_played_again() -> None:
    """It never acted in it, so its attempt has one more to begin."""
    run = make_run("scripted", 1, 2)
    numbers = []
    for absent in (True, False, True, False):
        run.next_configs([0])
        run.start_episode(0, [AGENT])
        numbers.append(run.participants[0][AGENT].number)
        run.step += 1
        if absent:
            run.end_episode(0, {})
        else:
            ended(run, 0, "won")
        run.process_ended_episodes()
    assert numbers == [1, 1, 1, 1]
    assert [(d.step, d.episodes) for d in run.decisions] == [(1, 2)]


def test_episodes_are_counted_in_the_order_of_their_ends() -> None:
    """Those that wait together are told by step first, and by slot within one step."""
    run = make_run("scripted", 3, 3)
    run.next_configs(range(3))
    for slot in range(3):
        run.start_episode(slot, [AGENT])
    seen: list[int] = []
    run.director.observe = (  # type: ignore[method-assign]
        lambda agent, order, episode: seen.append(episode.slot)
    )
    run.step = 1
    ended(run, 2, "lost")
    run.step = 2
    ended(run, 1, "lost")
    ended(run, 0, "won")
    run.process_ended_episodes()
    assert seen == [2, 0, 1]
    assert [d.values["success_rate"] for d in run.decisions] == [1 / 3]


def test_whoever_has_come_to_the_end_is_measured_over_the_whole_run(tmp_path: Path) -> None:
    """Its episodes count for no attempt of this run, for there is none."""
    path = tmp_path / "progress.json"
    for numbers in ([1, 2], [0]):
        run, told = make_run("scripted", 1, 1, path), []
        for _ in numbers:
            run.next_configs([0])
            run.start_episode(0, [AGENT])
            told.append(run.participants[0][AGENT].number)
            run.step += 1
            ended(run, 0, "won")
            run.process_ended_episodes()
        assert told == numbers
        assert run.over
    assert run.metrics.get_performance_metric(AGENT, "success_rate") == 1.0


def test_a_config_is_posted_when_it_is_another_one() -> None:
    run = make_run("scripted", 1, 1)
    posted: list[Any] = []
    run.events.subscribe(lambda event: posted.append(event.data), ("log",))
    for result in ("lost", "lost", "won"):
        run.next_configs([0])
        run.start_episode(0, [AGENT])
        run.step += 1
        ended(run, 0, result)
        run.process_ended_episodes()
    run.next_configs([0])
    rows = [p["data"]["orders"] for p in posted if p["event_type"] == "DSE_ENV_RECONFIG_APPLIED"]
    assert rows == [{AGENT: 1}, {AGENT: 2}]


class CountingStore(ProgressStore):
    """Remembers after how many episodes progress was saved."""

    saves: list[int]

    def save(self, progress: Any) -> None:
        """Save as always."""
        super().save(progress)
        self.saves.append(progress[AGENT].episodes)


def test_progress_is_saved_after_so_many_episodes_without_a_decision(tmp_path: Path) -> None:
    """Where steps are sampled nothing is ever decided, and progress is kept all the same."""
    store = CountingStore(tmp_path / "progress.json")
    store.saves = []
    run = make_run("randomisation", 1, 1, store)
    for number in range(1, 2 * UNSAVED + 2):
        run.next_configs([0])
        run.start_episode(0, [AGENT])
        run.step += 1
        row = Episode(AGENT, number, 0, 1, 0, run.step - 1, run.step, 1, "lost")
        run.end_episode(0, {AGENT: EpisodeRecord(row)})
        run.process_ended_episodes()
        assert store.saves == [k * UNSAVED for k in (1, 2) if k * UNSAVED <= number]
    run.close()
    run.close()
    assert store.saves == [UNSAVED, 2 * UNSAVED, 2 * UNSAVED + 1]
    assert UNSAVED == 200
    assert ProgressStore(store.path).read()[AGENT].episodes == 401
