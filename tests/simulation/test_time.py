"""Time models: late answers in a queue, clocks that repeat themselves, and events."""

from __future__ import annotations

import io
import math
import time
from pathlib import Path
from typing import Any

import pytest

from piase_gym import EnvironmentInterface, Simulation, runs
from piase_gym.agents import Agent, HumanAgent
from piase_gym.core.commands import Command, Verb
from piase_gym.errors import ConfigError, PiaseError, UnknownNameError, UnsupportedError
from piase_gym.simulation.actuators import Actuator
from piase_gym.wrappers import AvtLogger

ROOM = {"width": 12, "height": 2, "start_pos": (0, 0), "goal_pos": (11, 0)}
RIGHT, STAY = "move right", "stay"


class Walker(Agent):
    """Goes right, and remembers where it was asked."""

    def __init__(self, line: str = RIGHT, sleep: float = 0.0) -> None:
        super().__init__()
        self.line, self.sleep = line, sleep
        self.asked: list[tuple[int, Any]] = []

    def act(self) -> str:
        assert self.percept is not None
        self.asked.append((self.percept.step, self.percept.facts.position))  # type: ignore[attr-defined]
        time.sleep(self.sleep)
        return self.line


def listen(simulation: Simulation, kind: str = "step") -> list[Any]:
    events: list[Any] = []
    simulation.events.subscribe(events.append, (kind,))
    return events


def places(simulation: Simulation, steps: int) -> list[int]:
    """Return where the first agent is after each step."""
    found = []
    for _ in range(steps):
        simulation.step()
        found.append(simulation.world.position(0)[0])
    return found


def real_time(agent: Agent, late: str, times: Any, **options: Any) -> Simulation:
    """Return a simulation in real time whose clock is simulated."""
    return Simulation(
        "GridWorld",
        agent,
        seed=0,
        time_model="real_time",
        step_ms=100,
        late=late,
        answer_times={"agent_0": times},
        **options,
        **ROOM,
    )


def test_turn_based_real_time_with_event_queues() -> None:
    """The same walk by turns, where all wait for all, and by a clock that waits for nobody."""
    env = EnvironmentInterface("GridWorld", agents=2, **{**ROOM, "start_pos": ((0, 0), (0, 1))})
    env.reset(seed=0)
    right = {"action_type": "move", "parameters": {"direction": "right"}}
    assert env.submit_action("agent_1", right)["status"] == "in_progress"
    assert env.get_perceptions("agent_1")["position"] == [0, 1]
    assert env.submit_action("agent_0", right)["status"] == "success"
    assert env.get_perceptions("agent_1")["position"] == [1, 1]
    assert env.get_perceptions("agent_1")["last_action_result"]["status"] == "success"
    clocked = real_time(Walker(), "queue", 250)
    assert places(clocked, 3) == [0, 0, 1]  # the answer of the first tick is due in the third
    assert clocked.summary().late == {"agent_0": 1}


def test_real_time_keeps_a_late_answer_in_a_queue_and_applies_it_at_the_next_tick() -> None:
    agent = Walker()
    simulation = real_time(agent, "queue", 250)
    assert places(simulation, 9) == [0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert [step for step, _ in agent.asked] == [0, 3, 6]
    summary = simulation.summary()
    assert summary.outcomes["agent_0"] == {"timeout": 6, "ok": 3}
    assert summary.late == {"agent_0": 3}


def test_a_model_that_is_slower_than_the_clock_plays() -> None:
    summary = real_time(Walker(), "queue", 250).run()
    assert (summary.won, summary.steps) == (True, 33)
    summary = real_time(Walker(), "drop", 250, max_steps=40).run()
    assert (summary.won, summary.returns["agent_0"] < 0) == (False, True)
    assert "ok" not in summary.outcomes["agent_0"]


def test_the_policies_differ_where_several_answers_wait() -> None:
    found = {}
    for late in ("queue", "latest", "drop"):
        simulation = real_time(Walker(STAY), late, [950.0])
        simulation.initialize()
        for line in (RIGHT, RIGHT, STAY):
            simulation.submit("agent_0", line)
        found[late] = places(simulation, 5)
    assert found == {
        "queue": [1, 2, 2, 2, 2],
        "latest": [0, 0, 0, 0, 0],
        "drop": [1, 2, 2, 2, 2],  # they are not late
    }


def test_who_answers_within_the_step_plays_as_with_discrete_steps() -> None:
    one = real_time(Walker(), "queue", 99).run()
    two = Simulation("GridWorld", Walker(), seed=0, **ROOM).run()
    assert (one.steps, one.returns, one.outcomes) == (two.steps, two.returns, two.outcomes)
    late = real_time(Walker(), "queue", 100).run()
    assert late.steps == 2 * one.steps


def test_a_simulated_clock_repeats_itself_and_is_replayed(tmp_path: Path) -> None:
    seen = []
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        simulation = real_time(
            Walker(),
            "queue",
            lambda count: 70.0 * count,
            wrap=(lambda env, path=path: AvtLogger(env, path),),
            max_steps=30,
        )
        events = listen(simulation)
        simulation.run(episodes=2)
        assert runs.replay(path).ok
        text = path.read_text("utf-8")
        assert '"engine":"late_answer"' in text
        assert '"policy":"queue"' in text
        seen.append([event.data["commands"] for event in events])
    assert seen[0] == seen[1]


def test_a_recorded_clock_repeats_a_run_in_real_time() -> None:
    walker = Walker(sleep=0.05)
    first = Simulation(
        "GridWorld", walker, seed=0, time_model="real_time_ms", step_ms=20, max_steps=16, **ROOM
    )
    events = listen(first)
    first.run(episodes=2)
    assert sum(s.late["agent_0"] for s in first.summaries) >= 2
    again = Simulation(
        "GridWorld",
        Walker(),
        seed=0,
        time_model="real_time_ms",
        step_ms=20,
        max_steps=16,
        answer_times=first.answer_times,
        **ROOM,
    )
    heard = listen(again)
    again.run(episodes=2)
    assert [e.data["commands"] for e in heard] == [e.data["commands"] for e in events]
    assert again.answer_times == first.answer_times


def test_an_answer_to_the_last_episode_comes_to_nothing() -> None:
    agent = Walker()
    simulation = real_time(agent, "queue", [350.0, 0.0, 0.0, 0.0], max_steps=2)
    assert simulation.run(episodes=2).outcomes["agent_0"] == {"timeout": 2}
    assert len(agent.asked) == 1


# -- events ----------------------------------------------------------------------------------------

PAIR = {"agents": 2, "width": 12, "height": 2, "start_pos": [(0, 0), (0, 1)], "goal_pos": (11, 0)}


def event_based(periods: Any, durations: Any = None, **options: Any) -> Simulation:
    players = {"agent_0": Walker(), "agent_1": Walker()}
    return Simulation(
        "GridWorld",
        players,
        seed=0,
        time_model="event_based",
        periods=periods,
        durations=durations,
        **options,
        **PAIR,
    )


def timeline(simulation: Simulation, steps: int) -> list[tuple[float, int, int]]:
    """Return the time and where both are after each step."""
    found = []
    for _ in range(steps):
        simulation.step()
        at = [simulation.world.position(n)[0] for n in (0, 1)]
        found.append((simulation.time_ms, at[0], at[1]))
    return found


def test_event_based_moves_the_clock_to_the_next_due_event() -> None:
    simulation = event_based({"agent_0": 100, "agent_1": 250})
    assert timeline(simulation, 6) == [
        (0, 1, 1),
        (100, 2, 1),
        (200, 3, 1),
        (250, 3, 2),
        (300, 4, 2),
        (400, 5, 2),
    ]


def test_actions_have_durations_of_their_own() -> None:
    simulation = event_based(100, {"agent_0": {"move": 30}, "agent_1": {"*": 170}})
    assert timeline(simulation, 5) == [
        (30, 1, 0),
        (130, 2, 0),
        (170, 2, 1),
        (230, 3, 1),
        (330, 4, 1),
    ]
    # who is done perceives what it did, before it decides again
    agent = simulation.manager.agents["agent_1"]
    assert agent.asked == [(0, (0, 1)), (3, (1, 1))]  # type: ignore[attr-defined]


def test_commands_of_actuators_have_durations_too() -> None:
    def step_right(command: Command, facts: Any) -> Command:
        return Command("move", {"direction": "east"})

    hop = Actuator("hop", step_right, (Verb("hop", "step to the right"),))
    durations = {"agent_0": {"hop": 40, "move": 90}, "agent_1": {"*": 70}}
    simulation = event_based(200, durations, actuators=[hop])
    simulation.manager.agents["agent_0"] = Walker("hop")
    assert timeline(simulation, 3) == [(40, 1, 0), (70, 1, 1), (240, 2, 1)]


@pytest.mark.parametrize("answer_times", [None, {"agent_0": math.inf}])
def test_a_person_at_the_end_of_the_input_interrupts_real_time(answer_times: Any) -> None:
    def at_end(prompt: str) -> str:
        raise EOFError

    person = HumanAgent(read=at_end, out=io.StringIO())
    real = {"time_model": "real_time", "step_ms": 20, "answer_times": answer_times}
    summary = Simulation("GridWorld", person, seed=0, max_steps=500, **real).run()
    assert summary.stopped == "interrupted"


def test_the_world_goes_on_where_nobody_acts() -> None:
    simulation = event_based({"agent_0": 1000, "agent_1": 1000, "world": 300})
    assert [row[0] for row in timeline(simulation, 6)] == [0, 300, 600, 900, 1000, 1200]


def test_events_are_logged_and_replayed_and_repeat_themselves(tmp_path: Path) -> None:
    seen = []
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        simulation = event_based(
            {"agent_0": 90, "agent_1": 70},
            40,
            wrap=(lambda env, path=path: AvtLogger(env, path),),
            max_steps=25,
        )
        events = listen(simulation)
        simulation.run(episodes=2)
        assert runs.replay(path).ok
        assert '"engine":"clock","time_ms":40.0' in path.read_text("utf-8")
        seen.append([event.data["commands"] for event in events])
    assert seen[0] == seen[1]
    assert simulation.time_ms > 0


def test_who_is_suspended_does_not_act_and_comes_back() -> None:
    simulation = event_based(100)
    simulation.initialize()
    simulation.step()
    simulation.suspend("agent_1")
    assert timeline(simulation, 2) == [(100, 2, 1), (200, 3, 1)]
    simulation.resume("agent_1")
    assert timeline(simulation, 1) == [(300, 4, 2)]
    simulation.submit("agent_1", RIGHT)
    assert timeline(simulation, 1) == [(300, 4, 3)]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"late": "never"}, ConfigError, "late means nothing with time_model='discrete_steps'"),
        ({"time_model": "real_time", "late": "never"}, UnknownNameError, "'queue'"),
        ({"periods": 5}, ConfigError, "periods means nothing"),
        ({"time_model": "event_based", "periods": 0}, ConfigError, "a period must be"),
        ({"time_model": "event_based", "periods": {"eve": 5}}, UnknownNameError, "agent 'eve'"),
        ({"time_model": "event_based", "durations": {"move": -1}}, ConfigError, "from 0 on"),
        ({"time_model": "event_based", "durations": {"mvoe": 1}}, UnknownNameError, "mean 'move'"),
        ({"time_model": "event_based", "periods": {"world": 0}}, ConfigError, "of the world"),
        ({"answer_times": {"agent_0": 5}}, ConfigError, "answer_times means nothing"),
        ({"time_model": "real_time", "answer_times": {"eve": 5}}, UnknownNameError, "agent 'eve'"),
        ({"time_model": "real_time", "answer_times": 5}, ConfigError, "a mapping of agents to"),
        ({"time_model": "event_based", "periods": math.inf}, ConfigError, "a period must be"),
    ],
)
def test_bad_arguments(options: dict[str, Any], error: type[PiaseError], told: str) -> None:
    with pytest.raises(error, match=told):
        Simulation("GridWorld", **options)


def test_bad_times_and_submissions() -> None:
    with pytest.raises(ConfigError, match="from 0 on"):
        real_time(Walker(), "queue", -5).step()
    simulation = Simulation("GridWorld")
    simulation.initialize()
    with pytest.raises(UnsupportedError, match="when they are asked"):
        simulation.submit("agent_0", STAY)
