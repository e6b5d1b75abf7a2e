"""The simulation: its phases in order, its budgets, who takes part, and what it says at the end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import Simulation, runs
from piase_gym.agents import Agent
from piase_gym.core.commands import Command
from piase_gym.core.events import Event
from piase_gym.core.models import ActionCommand
from piase_gym.errors import (
    AgentError,
    ClosedError,
    ConfigError,
    ResetNeededError,
    StorageError,
    UnknownNameError,
    UnsupportedError,
)
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.wrappers import AvtLogger
from tests.worlds.text_room.helpers import AGENT, SEVEN, story

PAIR = story(
    agent_setup=[{"agent_id": name, "start_room": "hall"} for name in ("ann", "bob")],
    win_conditions=[{"type": "agent_in_room", "agent_id": "ann", "room": "den"}],
)
LATE = {
    **PAIR,
    "agent_setup": [*PAIR["agent_setup"][:1], {**PAIR["agent_setup"][1], "join_at": 90}],
}


class Scripted(Agent):
    """Says one line after the other, and notes what is asked of it."""

    def __init__(self, *lines: Any, log: list[str] | None = None) -> None:
        super().__init__()
        self.lines, self.log = list(lines), [] if log is None else log
        self.settings: dict[str, Any] = {}

    def perceive(self, percept: Any) -> None:
        self.log.append(f"{self.get_id()} perceives")
        super().perceive(percept)

    def act(self) -> Any:
        self.log.append(f"{self.get_id()} acts")
        line = self.lines.pop(0) if self.lines else "wait"
        if isinstance(line, Exception | KeyboardInterrupt):
            raise line
        return line

    def learn(self, feedback: Any) -> None:
        self.log.append(f"{self.get_id()} learns {feedback.outcome}")

    def configure(self, config: Any) -> None:
        self.settings |= dict(config)

    def get_state(self) -> dict[str, Any]:
        return {"left": len(self.lines)}


def listen(simulation: Simulation) -> list[Event]:
    events: list[Event] = []
    simulation.events.subscribe(events.append)
    return events


# -- the main job --------------------------------------------------------------------------


def test_the_oracle_wins_the_lost_key() -> None:
    summary = Simulation("lost_key", "oracle").run()
    assert summary.won
    assert summary.steps == 7
    assert "key_found_by_agent" in summary.milestones
    assert summary.results == {AGENT: "won"}
    assert summary.returns[AGENT] == pytest.approx(7 * -0.1 + 3 + 10)
    assert summary.stopped == "episode"
    assert "won after 7 steps" in str(summary)


def test_the_seeds_commands_as_data_win_too() -> None:
    lines = [
        ActionCommand(action_type="go", parameters={"direction": "north"}),
        ActionCommand(action_type="open", parameters={"target_object": "grandfather_clock"}),
        Command("take", {"item_name": "brass_key"}),
        *SEVEN[3:],
    ]
    assert Simulation("lost_key", {AGENT: Scripted(*lines)}).run().won


def test_states_are_those_of_the_parallel_env() -> None:
    simulation = Simulation("lost_key", {AGENT: Scripted(*SEVEN)}, seed=4)
    env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text")
    env.reset(seed=4)
    simulation.initialize()
    for line in SEVEN:
        assert simulation.world.digest() == env.digest()
        simulation.step()
        env.step({AGENT: line})
    assert simulation.world.digest() == env.digest()


# -- phases --------------------------------------------------------------------------------


def test_phases_come_in_the_seeds_order() -> None:
    log: list[str] = []

    class Curriculum:
        def after_step(self, simulation: Simulation) -> None:
            log.append(f"B9 after {simulation.summary().steps}")

        def after_episode(self, simulation: Simulation) -> None:
            log.append("after the episode")

    agents = {"ann": Scripted("open box", "east", log=log), "bob": Scripted(log=log)}
    simulation = Simulation("TextRoom", agents, Curriculum(), story=PAIR)
    simulation.events.subscribe(
        lambda event: log.append(f"bus {event.kind}"),
    )
    simulation.initialize()
    log.clear()
    simulation.step()
    steps = [entry for entry in log if entry != "bus log"]
    assert steps == [
        "ann perceives",
        "bob perceives",
        "ann acts",
        "bob acts",
        "bus step",
        "ann learns ok",
        "bob learns ok",
        "B9 after 1",
    ]
    assert simulation.step() is False
    simulation.finish()
    assert log[-1] == "after the episode"


def test_events_of_scenarios_come_before_perception() -> None:
    simulation = Simulation("grid_crossing", "noop", seed=0)
    heard: list[tuple[int, str | None]] = []

    class Listener(Scripted):
        def act(self) -> Any:
            assert self.percept is not None
            heard.append((self.percept.step, self.percept.facts.hint))
            return "stay"

    simulation.manager.seat("walker", Listener())
    simulation.run_simulation(25)
    assert heard[19] == (19, "Goal: reach the goal in the upper right.")
    told = "Goal: reach the goal in the upper right. The gap is in the middle of the wall."
    assert heard[20] == (20, told)


def test_agents_get_their_settings(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "base: lost_key\nscenario_name: x\nenvironment_type: TextRoom\n"
        "initial_state:\n  agent_setup:\n    initial_agent_config: {self_model: {mood: curious}}\n"
        "    prompt_reference: prompts/one.md\n"
    )
    agent = Scripted()
    Simulation(path, {AGENT: agent})
    assert agent.settings == {
        "self_model": {"mood": "curious"},
        "prompt_reference": "prompts/one.md",
    }
    assert agent.get_id() == AGENT


def test_higher_priority_goes_first() -> None:
    given = {**PAIR, "win_conditions": [{"type": "item_in_inventory", "item_name": "gem"}]}
    first = ActionCommand(
        action_type="take", parameters={"item_name": "gem"}, execution_priority=2.0
    )
    agents = {"ann": Scripted("open box", "take gem"), "bob": Scripted("wait", first)}
    simulation = Simulation("TextRoom", agents, story={**given, "ends": "each"})
    simulation.run_simulation(2)
    assert simulation.summary().results["bob"] == "won"
    assert simulation.summary().results["ann"] is None


# -- who takes part ------------------------------------------------------------------------


def test_suspended_agents_do_nothing_and_go_on_later() -> None:
    agents = {"ann": Scripted(), "bob": Scripted("open box")}
    simulation = Simulation("TextRoom", agents, story=PAIR)
    simulation.initialize()
    simulation.suspend("bob")
    simulation.run_simulation(3)
    assert agents["bob"].log == []
    assert simulation.world.state_of.feedback[1] == "Time passes."
    with pytest.raises(AgentError, match="is suspended"):
        simulation.suspend("bob")
    simulation.resume("bob")
    simulation.step()
    assert simulation.world.state_of.feedback[1].startswith("You open the box")


def test_agents_that_leave_are_truncated() -> None:
    agents = {"ann": Scripted(), "bob": Scripted()}
    simulation = Simulation("TextRoom", agents, story=PAIR)
    simulation.initialize()
    simulation.leave("bob")
    assert simulation.agents == ["ann"]
    simulation.step()
    assert agents["bob"].log == []
    with pytest.raises(AgentError, match="is left"):
        simulation.resume("bob")
    simulation.leave("ann")
    assert simulation.step() is False
    summary = simulation.finish()
    assert summary.stopped == "left"
    assert summary.truncated == {"ann": True, "bob": True}


def test_agents_join_where_the_world_lets_them() -> None:
    simulation = Simulation("TextRoom", "noop", story=LATE)
    simulation.initialize()
    assert simulation.agents == ["ann"]
    agent = Scripted("open box")
    simulation.join("bob", agent)
    assert simulation.agents == ["ann", "bob"]
    simulation.step()
    assert agent.log == ["bob perceives", "bob acts", "bob learns ok"]
    with pytest.raises(AgentError, match="in play already"):
        simulation.join("bob")
    with pytest.raises(AgentError, match="there is no agent 'eve'"):
        simulation.join("eve")
    games = Simulation("SocialDilemma", agents=None)
    games.initialize()
    with pytest.raises(UnsupportedError, match="late_join"):
        games.join(games.agents[0])


def test_agents_join_a_grid() -> None:
    simulation = Simulation(GridWorldConfig(agents=3, join_at=(0, None, 0)), "noop", seed=2)
    with pytest.raises(ResetNeededError):
        simulation.join("agent_1")
    simulation.initialize()
    assert simulation.agents == ["agent_0", "agent_2"]
    simulation.step()
    agent = Scripted("move up")
    simulation.join("agent_1", agent)
    simulation.step()
    assert simulation.agents == ["agent_0", "agent_1", "agent_2"]
    assert agent.log[:2] == ["agent_1 perceives", "agent_1 acts"]
    for name in ("agent_1", "agent_2"):
        with pytest.raises(AgentError, match="in play already"):
            simulation.join(name)
    simulation.leave("agent_1")
    with pytest.raises(AgentError, match="agent 'agent_1' has left"):
        simulation.join("agent_1")


# -- ends ----------------------------------------------------------------------------------


def test_budgets_truncate() -> None:
    summary = Simulation("lost_key", "noop", max_steps=5).run()
    assert (summary.steps, summary.stopped) == (5, "steps")
    assert summary.truncated == {AGENT: True}
    summary = Simulation("lost_key", Scripted(), max_wall_seconds=1e-6).run()
    assert summary.stopped == "wall_clock"


def test_an_interrupt_stops_cleanly(tmp_path: Path) -> None:
    agent = Scripted("go north", KeyboardInterrupt())
    simulation = Simulation("lost_key", {AGENT: agent}, folder=tmp_path)
    summary = simulation.run(episodes=3)
    assert (summary.stopped, summary.steps) == ("interrupted", 1)
    assert (tmp_path / "episode_1.json").exists()
    with pytest.raises(ClosedError):
        simulation.initialize()


def test_the_final_state_can_be_taken_up(tmp_path: Path) -> None:
    simulation = Simulation(
        "lost_key", {AGENT: Scripted(*SEVEN[:3], "x")}, folder=tmp_path, max_steps=3
    )
    simulation.run()
    saved = json.loads((tmp_path / "episode_1.json").read_text("utf-8"))
    assert saved["agents"] == {AGENT: {"left": 1}}
    assert saved["summary"]["steps"] == 3
    env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text")
    env.restore(saved["world"])
    assert {held.name for held in env.facts(AGENT).inventory} == {"flashlight", "brass_key"}


def test_what_cannot_be_saved_is_told_before_anything_is_played(tmp_path: Path) -> None:
    place = tmp_path / "states"
    place.write_text("notes")
    with pytest.raises(StorageError, match="states is a file; name a folder"):
        Simulation("lost_key", "noop", folder=place)
    simulation = Simulation("lost_key", "noop", max_steps=1)
    simulation.initialize()
    with pytest.raises(StorageError, match="states is a file"):
        simulation.save(place)
    assert place.read_text() == "notes"
    assert simulation.save(tmp_path / "new").name == "final.json"


def test_episodes_follow_from_one_seed() -> None:
    def seeds() -> list[int]:
        simulation = Simulation("piase/TextRoom-Quest-Easy-v3", "oracle", seed=8)
        assert simulation.run(episodes=3).won
        return [summary.seed for summary in simulation.summaries]

    first = seeds()
    assert first == seeds()
    assert first[0] == 8
    assert len(set(first)) == 3


def test_random_agents_repeat_themselves() -> None:
    runs = [Simulation("sluice", "random", seed=2, max_steps=30).run() for _ in range(2)]
    assert runs[0].outcomes == runs[1].outcomes
    assert runs[0].returns == runs[1].returns


# -- time ----------------------------------------------------------------------------------


class Slow(Scripted):
    def act(self) -> Any:
        time.sleep(0.5)
        return super().act()


def test_the_world_does_not_wait_in_real_time() -> None:
    agents = {"ann": Scripted("wait", "wait", "wait", "wait"), "bob": Slow("open box")}
    simulation = Simulation("TextRoom", agents, story=PAIR, time_model="real_time_ms", step_ms=100)
    events = listen(simulation)
    summary = simulation.run_simulation(8)
    simulation.close()
    assert summary.steps == 8
    assert summary.outcomes["bob"]["timeout"] >= 4
    assert summary.outcomes["ann"].get("ok", 0) >= 1
    assert summary.late["bob"] >= 1
    notes = [e.data["data"]["engine"] for e in events if e.kind == "log"]
    assert "late_answer" in notes


def test_errors_of_agents_reach_the_caller_in_both_time_models() -> None:
    for model in ("discrete_steps", "real_time_ms"):
        broken = Scripted(ZeroDivisionError("broken"))
        simulation = Simulation("lost_key", broken, time_model=model, step_ms=50)
        with pytest.raises(ZeroDivisionError, match="broken"):
            simulation.run()


# -- the bus, and bad input ----------------------------------------------------------------


def test_everything_is_on_the_bus() -> None:
    simulation = Simulation("lost_key", "oracle", expose_states=True)
    events = listen(simulation)
    simulation.initialize()
    simulation.post_event("tutor", {"word": "well done"}, AGENT)
    simulation.run()
    kinds = [event.kind for event in events]
    for kind in ("reset", "step", "milestone", "state", "log", "close", "tutor"):
        assert kind in kinds


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: Simulation("lost_kee"), UnknownNameError, "lost_key"),
        (lambda: Simulation(5), ConfigError, "named by a string"),
        (lambda: Simulation("lost_key", "genius"), UnknownNameError, "unknown policy"),
        (lambda: Simulation("lost_key", {"eve": "random"}), AgentError, "no agent 'eve'"),
        (lambda: Simulation("lost_key", time_model="bullet"), UnknownNameError, "real_time_ms"),
        (lambda: Simulation("lost_key", max_steps=0), ConfigError, "max_steps"),
        (lambda: Simulation("lost_key").run(episodes=0), ConfigError, "episodes"),
        (lambda: Simulation("sluice", Scripted()), ConfigError, "several seats"),
    ],
)
def test_mistakes_are_one_sentence(make: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


def test_a_simulation_that_has_run_is_closed() -> None:
    simulation = Simulation("GridWorld", "random", seed=0, max_steps=2)
    simulation.run()
    with pytest.raises(ClosedError, match="make another one"):
        simulation.run()  # not the same episode once more
    assert len(simulation.summaries) == 1


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("summary", ()),
        ("finish", ()),
        ("suspend", (AGENT,)),
        ("leave", (AGENT,)),
        ("submit", (AGENT, "wait")),
    ],
)
def test_what_belongs_to_an_episode_waits_for_one(name: str, given: Any) -> None:
    simulation = Simulation("lost_key", time_model="event_based")
    with pytest.raises(ResetNeededError, match="call initialize"):
        getattr(simulation, name)(*given)


# -- logs ----------------------------------------------------------------------------------


def test_a_logged_simulation_replays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    agents = {"ann": "random", "bob": "random"}
    simulation = Simulation(
        "TextRoom",
        agents,
        story=LATE,
        seed=3,
        max_steps=25,
        expose_states=True,
        wrap=(lambda env: AvtLogger(env, path, level="full"),),
    )
    simulation.initialize()
    simulation.run_simulation(4)
    simulation.join("bob")
    simulation.run_simulation(4)
    simulation.suspend("bob")
    simulation.run()
    report = runs.replay(path)
    assert report.ok, report
    assert report.steps == simulation.summaries[0].steps


def test_logs_name_who_plays() -> None:
    players: dict[str, Any] = {"ann": "population:random,noop", "bob": Scripted("wait")}
    simulation = Simulation("TextRoom", players, story=PAIR)
    events = listen(simulation)
    simulation.initialize()
    (start,) = [e.data["data"] for e in events if e.kind == "log"]
    own = f"{Scripted.__module__}:Scripted"
    assert start == {"engine": "start", "agents": {"ann": "population:random,noop", "bob": own}}


def test_a_with_block_closes_what_it_opened() -> None:
    with Simulation("GridWorld", "random", seed=0) as simulation:
        simulation.initialize()
        simulation.env.reset(seed=1)
    with pytest.raises(ClosedError):
        simulation.env.reset(seed=1)
