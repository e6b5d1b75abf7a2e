"""What is remembered of a run, and its windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.runs.history import SPARE, Attempt, Episode, History
from piase_gym.runs.recent_events import Step
from piase_gym.runs.windows import WINDOWS, check_window, look
from tests.helpers.costs import Compared, Unread


class Lines:
    """Feeds a history with the lines of a run."""

    def __init__(self, retain: int = 100) -> None:
        self.history, self.step = History(retain), 0

    def say(self, event: str, whose: str = "SYSTEM", number: int = 0, /, **data: Any) -> None:
        """Feed a line."""
        self.history.feed(
            {
                "event_type": event,
                "agent_id": whose,
                "step": self.step,
                "episode": number,
                "simulation_run_id": "r",
                "event_data": data,
            }
        )

    def reset(self, *agents: str, **more: Any) -> None:
        """Let an episode begin."""
        self.say("ENVIRONMENT_EVENT_OCCURRED", kind="reset", agents=[*agents], **more)

    def do(self, episode: int, rewards: dict[str, Any], **more: Any) -> None:
        """Let agents do a step."""
        self.step += 1
        data = {
            "kind": "step",
            "commands": dict.fromkeys(rewards, 0),
            "outcomes": {name: "ok" if reward else "failed" for name, reward in rewards.items()},
            "rewards": rewards,
            **more,
        }
        self.say("ENVIRONMENT_EVENT_OCCURRED", "SYSTEM", episode, **data)

    def hint(self, agent: str, **more: Any) -> None:
        """Let an agent be given a hint."""
        self.say("ENVIRONMENT_EVENT_OCCURRED", kind="hint", agent=agent, **more)

    def rows(self, agent: str) -> list[tuple[Any, ...]]:
        """Return the most of an agent's episodes."""
        names = "episode slot attempt seed start end length total result hints sequence".split()
        return [tuple(getattr(r, n) for n in names) for r in self.history.of(agent).episodes]


def test_a_reset_does_not_look_through_all_slots() -> None:
    run, slots, before = Lines(), [Compared(number) for number in range(50)], Compared.times
    for step in range(3):
        for slot in slots:
            run.say("DSE_STEP_ATTEMPT_START", "a", order=1, slot=slot, episodes=1)
        for slot in slots:
            run.reset("a", slot=slot)
        for slot in slots:
            run.do(step, {"a": 1.0}, slot=slot)
    assert len(run.rows("a")) == 150
    assert Compared.times - before < 50 * 50


def test_episodes_are_remembered_as_they_were_played() -> None:
    run = Lines()
    run.reset("a", "b", seed=5)  # event 1
    run.hint("b")  # 2, before its first step
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    run.do(0, {"a": 1.0, "b": None}, messages=[letter, letter])  # 3
    run.hint("a")  # 4
    run.do(0, {"a": 0.5, "b": 2.0}, milestones={"a": ["door"]}, targets=["a"])  # 5
    run.do(0, {"a": 0.5, "b": 2.0}, milestones={"a": ["door"]}, targets=["a"], results={"a": "won"})
    run.do(0, {"b": 0.0}, results={"b": "lost"})  # 7
    measures = {"a": {"way": 3.0}, "c": {"way": 1.0}}
    run.say("LEARNING_EPISODE_END", seed=5, results={}, measures=measures)  # 8
    run.reset("a", seed=6)  # 9
    run.do(1, {"a": 1.0})  # 10
    run.reset("a", seed=7, slot=1)  # 11
    run.say("ENVIRONMENT_STATE_CHANGED", kind="restore", agents=["a"], seed=8)  # 12
    run.do(2, {"a": 1.0})  # 13
    assert run.rows("a") == [
        (0, 0, 0, 5, 0, 3, 3, 2.0, "won", 1, 3),
        (1, 0, 0, 6, 4, 5, 1, 1.0, "abandoned", 0, 10),
        (2, 0, 0, 8, 5, 6, 1, 1.0, "", 0, 13),
    ]
    assert run.rows("b") == [(0, 0, 0, 5, 0, 4, 4, 4.0, "lost", 1, 3)]
    one, two = run.history.agents["a"].episodes[0], run.history.agents["b"].episodes[0]
    assert (one.milestones, one.arrived, one.messages) == ({"door": 2}, 2, 2)
    assert (one.outcomes, one.measures) == ({"ok": 3}, {"way": 3.0})
    assert (two.milestones, two.arrived, two.messages) == ({}, 0, 0)
    assert (two.outcomes, two.measures) == ({"failed": 2, "ok": 2}, {})
    assert [row.finished for row in run.history.agents["a"].episodes] == [True, False, False]
    assert run.history.agents["a"].hints == [(1, 0, 0)]
    assert (run.history.step, run.history.sequence) == (6, 13)
    run.say("REWARD_SIGNAL_ISSUED", "a", reward_value=1.0)  # a step line says it too
    assert run.history.sequence == 13


def test_a_hint_before_the_first_step_is_of_its_own_slot() -> None:
    run = Lines()
    run.reset("a", slot=0)
    run.reset("a", slot=1)
    run.hint("a", slot=1)
    run.do(0, {"a": 1.0}, slot=0)
    run.do(1, {"a": 1.0}, slot=1)
    assert [(row.slot, row.hints) for row in run.history.of("a").episodes] == [(0, 0), (1, 1)]


def test_episodes_count_for_the_attempt_at_their_reset() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.say(begin, "a", order=4, episodes=1, target_coords=[0, 0])
    run.reset("a")
    run.do(0, {"a": 1.0})
    run.reset("a")  # broken off: the attempt has an episode to come again
    run.do(1, {"a": 1.0}, results={"a": "won"})
    run.reset("a")
    run.do(2, {"a": 1.0}, results={"a": "won"})
    run.say(begin, "a", order=5, slot=1)
    run.hint("a", slot=1)
    run.reset("a", slot=1)
    run.reset("a")
    run.do(3, {"a": 1.0}, slot=1, results={"a": "won"})
    run.do(4, {"a": 1.0, "b": 1.0})  # b entered after the reset
    attempts = [(row.episode, row.slot, row.attempt) for row in run.history.of("a").episodes]
    assert attempts == [(0, 0, 1), (1, 0, 1), (2, 0, SPARE), (3, 1, 2), (4, 0, SPARE)]
    assert [row.attempt for row in run.history.of("b").episodes] == [0]
    one, two = run.history.of("a").attempts
    told = (one.number, one.order, one.slot, one.aimed, one.step, one.sequence, one.episodes)
    assert told == (1, 4, None, True, 0, 1, 1)
    told = (two.number, two.order, two.slot, two.aimed, two.step, two.sequence, two.episodes)
    assert told == (2, 5, 1, False, 3, 8, None)
    assert run.history.of("a").hints == [(3, 2, 1)]
    assert [run.history.of("a").attempt_in(slot) for slot in (0, 1)] == [1, 2]


def test_windows_show_what_they_reach() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.reset("a", seed=1)  # event 1
    run.hint("a")
    run.do(0, {"a": 1.0})  # 3: step 1
    run.do(0, {"a": 0.0}, results={"a": "won"})
    run.say(begin, "a", order=1)  # 5
    run.reset("a", seed=2)
    run.hint("a")
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    run.do(1, {"a": 1.0}, messages=[letter])  # step 3
    run.hint("a")
    run.do(1, {"a": 1.0}, results={"a": "lost"})  # 10: step 4
    run.say(begin, "a", order=2)
    run.reset("a", seed=3)
    run.do(2, {"a": 0.0})  # step 5

    def seen(window: Any, slot: int | None = None) -> tuple[Any, ...]:
        view = look(run.history, "a", check_window(window), slot)
        rows, steps = [row.episode for row in view.episodes], [step.step for step in view.steps]
        current = [attempt.number for attempt in view.current]
        lines = [(line["event_type"], line["step"]) for line in view.lines()]
        return rows, steps, current, view.hints, view.messages, dict(view.outcomes), len(lines)

    # Each step is three lines of its agent: command, outcome, reward; a letter is one more.
    assert seen(None) == ([2], [5], [2], 0, 0, {"failed": 1}, 1 + 3)
    assert seen({"attempts": 1}) == seen(None)
    two = ([1, 2], [3, 4, 5], [1, 2], 2, 1, {"ok": 2, "failed": 1}, 2 + 2 + 3 * 3 + 1)
    assert seen({"attempts": 2}) == two
    assert seen({"attempts": 2}, 0) == two
    # Lines that name no slot concern all.
    assert seen({"attempts": 2}, 1) == ([], [], [1, 2], 0, 0, {}, two[-1])
    # The window of episodes begins with the first step of the first of them.
    one = ([1], [3, 4], [1, 2], 2, 1, {"ok": 2}, 1 + 1 + 3 * 3 + 1)
    assert seen({"episodes": 1}) == one
    assert seen({"episodes": 2})[:4] == ([0, 1], [1, 2, 3, 4], [1, 2], 3)
    last = ([1, 2], [4, 5], [1, 2], 0, 0, {"ok": 1, "failed": 1}, 1 + 3 * 2)
    assert seen({"env_steps": 2}) == last
    assert seen({"env_steps": 3})[:5] == ([1, 2], [3, 4, 5], [1, 2], 1, 1)
    assert look(run.history, "a", ("attempts", 2), None).finished[0].episode == 1
    fresh = Lines()
    fresh.history.of("a")
    empty = look(fresh.history, "a", ("episodes", 1), None)
    assert (empty.finished, empty.steps, list(empty.lines()), empty.after) == ([], [], [], -1)


def test_without_attempts_a_window_is_the_whole_run() -> None:
    run = Lines()
    run.reset("a")
    for _ in range(3):
        run.do(0, {"a": 1.0})
    whole = look(run.history, "a", check_window(None), None)
    assert ([row.episode for row in whole.episodes], whole.current) == ([0], [])
    assert [step.step for step in whole.steps] == [1, 2, 3]
    assert len([*whole.lines()]) == 3 * 3
    last = look(run.history, "a", check_window({"env_steps": 2}), None)
    assert [line["step"] for line in last.lines()] == [2] * 3 + [3] * 3
    unfinished = look(run.history, "a", check_window({"episodes": 1}), None)
    assert (unfinished.episodes, [*unfinished.lines()]) == ([], [])


def test_a_window_counts_the_attempts_and_steps_of_its_slot() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.say(begin, "a", slot=1)
    run.reset("a", slot=1)
    run.do(0, {"a": 1.0}, slot=1)

    def numbers(slot: int | None) -> list[int]:
        return [a.number for a in look(run.history, "a", ("attempts", 2), slot).attempts]

    assert [numbers(slot) for slot in (None, 0, 1)] == [[1], [], [1]]
    steps = run.history.of("a").steps  # episodes that were handed over whole
    for step, slot in ((0, 1), (1, 1), (2, 1), (2, 0)):
        steps.append(Step(step, 0, slot, 1, "ok", 0.0, 0))
    seen = look(run.history, "a", ("attempts", 1), None).steps
    assert [(step.step, step.slot) for step in seen] == [(1, 1), (2, 1), (1, 1)]


@pytest.mark.parametrize("window", [{"attempts": 1}, {"episodes": 1}, {"env_steps": 1}])
def test_a_question_about_the_last_does_not_look_at_all(window: dict[str, int]) -> None:
    run = Lines()
    for number in range(5):
        run.say("DSE_STEP_ATTEMPT_START", "a", order=1)
        run.reset("a")
        run.do(number, {"a": 1.0}, results={"a": "won"})
    known = run.history.of("a")
    known.episodes, known.attempts = Unread(known.episodes), Unread(known.attempts)
    known.by_slot = {slot: Unread(rows) for slot, rows in known.by_slot.items()}
    view = look(run.history, "a", check_window(window), None)
    assert [row.episode for row in view.finished] == [4]


@pytest.mark.parametrize("seed", range(5))
def test_windows_hold_what_a_search_of_all_episodes_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    history = History()
    known, history.step = history.of("a"), 100
    known.attempts += [Attempt(n, 0, (None, 0, 1)[n % 3], False, 0, 0) for n in range(1, 6)]
    every, starts = [], np.sort(rng.integers(90, size=60)).tolist()
    for sequence in rng.permutation(60).tolist():
        attempt, slot = rng.integers([-1, 0], [6, 2]).tolist()
        start = starts[sequence]
        result = ("won", "lost", "abandoned", "")[rng.integers(4)]
        row = Episode("a", sequence, slot, attempt, 0, start, start + 9, result=result)
        row.sequence = sequence
        known.add(row)
        every.append(row)
    every.sort(key=lambda row: row.sequence)
    assert known.episodes == every
    for slot in (None, 0, 1):
        mine = [row for row in every if row.attempt != SPARE and slot in (None, row.slot)]
        numbers = [a.number for a in known.attempts if slot is None or a.slot in (None, slot)]
        for count in (1, 2, 9, 99):
            found = {kind: look(history, "a", (kind, count), slot).episodes for kind in WINDOWS}
            assert found["attempts"] == [r for r in mine if r.attempt in numbers[-count:]]
            assert found["episodes"] == [r for r in mine if r.result in ("won", "lost")][-count:]
            assert found["env_steps"] == [r for r in mine if r.end > 100 - count]
