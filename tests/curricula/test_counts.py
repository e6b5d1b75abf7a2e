"""Episodes of attempts are counted once each, in whichever order they end."""

from __future__ import annotations

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


def course_of(director: str, slots: int, wanted: int, progress: Any = None) -> CurriculumController:
    won = [{"metric": "success_rate", "operator": ">=", "value": 0.5}]
    common = {"completion_criteria": won, "episodes_per_attempt": wanted}
    plan = curriculum(step(1, **common), step(2, **common))
    spec = find("GridWorld")[0]
    world = load(spec.world, spec)(load(spec.config, spec)())
    options = CurriculumOptions.of(plan, [AGENT], director=director, progress=progress)
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
            st.sampled_from(["won", "lost", "broken", "absent"]),
            st.booleans(),  # whether somebody looks after it
        ),
        max_size=40,
    ),
)
def test_every_episode_that_ends_is_counted_once(
    director: str, slots: int, wanted: int, script: list[Any]
) -> None:
    course = course_of(director, slots, wanted)
    course.next_configs(range(slots))
    for slot in range(slots):
        course.start_episode(slot, [AGENT])
    seen, summed = EpisodeCounts(), EpisodeCounts()
    number = finished = 0
    for order, count, fate, look in script:
        course.step += 1
        for slot in [slot for slot in order if slot < slots][:count]:
            participation = course.participants[slot][AGENT]
            number += 1
            row = Episode(
                AGENT, number, slot, participation.number, 0, course.step - 1, course.step, 1
            )
            row.result = "abandoned" if fate == "broken" else fate
            if fate == "broken":
                course.abort_episode(slot, {AGENT: EpisodeRecord(row)})
            else:
                course.end_episode(slot, {} if fate == "absent" else {AGENT: EpisodeRecord(row)})
                finished += fate != "absent"
        course.process_ended_episodes()
        idle = [slot for slot in range(slots) if not course.participants[slot]]
        course.next_configs(idle)
        for slot in idle:
            course.start_episode(slot, [AGENT])
        if look:
            new = course.counts[AGENT].since(seen)
            seen = course.counts[AGENT].copy()
            for step_order, n in new.counted.items():
                for k in range(n):
                    summed.add(step_order, k < new.won[step_order])
            summed.uncounted += new.uncounted
    counts, tried = course.counts[AGENT], course.under_way(AGENT)
    new = counts.since(seen)
    assert {o: summed.counted.get(o, 0) + new.counted.get(o, 0) for o in counts.counted} == (
        counts.counted
    )
    assert summed.uncounted + new.uncounted == counts.uncounted
    assert sum(counts.counted.values()) + counts.uncounted == finished
    # the history, from which metrics come, says the same
    rows = [r for r in course.metrics.history.of(AGENT).episodes if r.finished]
    attempts = course.metrics.history.of(AGENT).attempts
    from_rows = EpisodeCounts()
    for row in rows:
        if row.attempt in (SPARE, 0):
            from_rows.uncounted += 1
        else:
            from_rows.add(attempts[row.attempt - 1].order or 0, row.result == "won")
    assert from_rows == counts
    # so do decisions and progress, but for the attempt that is under way
    progress = course.progress[AGENT]
    decided = dict(counts.counted)
    if tried is not None:
        assert tried.ended <= tried.begun <= tried.wanted == wanted
        decided[tried.step.order] = decided.get(tried.step.order, 0) - tried.ended
    assert {o: n for o, n in decided.items() if n} == progress.step_episodes
    assert sum(progress.step_episodes.values()) == progress.episodes
    if not course.director.per_slot:
        assert progress.episodes == sum(d.episodes for d in course.decisions)
        assert all(d.episodes == wanted for d in course.decisions)


def test_a_decision_says_how_many_episodes_go_on_for_nothing() -> None:
    course = course_of("scripted", 3, 1)
    told: list[Any] = []
    course.events.subscribe(lambda event: told.append(event.data), ("log",))
    course.next_configs(range(3))
    for slot in range(3):
        course.start_episode(slot, [AGENT])
    course.step = 1
    course.end_episode(0, {AGENT: EpisodeRecord(Episode(AGENT, 1, 0, 1, 0, 0, 1, 1, result="won"))})
    course.process_ended_episodes()
    (data,) = [d["data"] for d in told if d["event_type"] == "DSE_ADAPTATION_EVAL"]
    assert (data["episodes"], data["in_play"]) == (1, 2)


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
    course = course_of("randomisation", 1, 1, store)
    for number in range(1, 2 * UNSAVED + 2):
        course.next_configs([0])
        course.start_episode(0, [AGENT])
        course.step += 1
        row = Episode(AGENT, number, 0, 1, 0, course.step - 1, course.step, 1, "lost")
        course.end_episode(0, {AGENT: EpisodeRecord(row)})
        course.process_ended_episodes()
        assert store.saves == [k * UNSAVED for k in (1, 2) if k * UNSAVED <= number]
    course.finish()
    course.finish()
    assert store.saves == [UNSAVED, 2 * UNSAVED, 2 * UNSAVED + 1]
    assert UNSAVED == 200
    assert ProgressStore(store.path).read()[AGENT].episodes == 401
