"""Whole episodes, as collected, against a count of everything that an environment tells."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.curricula.episode_collector import BatchEpisodeCollector, EpisodeCollector
from piase_gym.curricula.metrics import EpisodeRecord, MetricInputs
from piase_gym.runs.history import Episode
from piase_gym.runs.recent_events import Step

CROWD: dict[str, Any] = {
    "agents": 3,
    "width": 5,
    "height": 4,
    "boxes": 1,
    "fruits": 3,
    "hazards": 1,
    "join_at": (0, 3, 0),
    "start_pos": ((0, 0), (4, 0), (0, 3)),
    "max_steps": 14,
}
"""Agents that enter late, end at different times, and reach several milestones."""
TARGETS = {"agent_0": [1, 0], "agent_1": [4, 1], "agent_2": [1, 3]}
ATTEMPTS = {"agent_0": 3, "agent_2": 4}


class Recount:
    """Episodes as a reader of rewards, infos and places would write them down."""

    def __init__(self, agents: list[str]) -> None:
        self.agents, self.step = agents, 0

    def begin(self, number: int, seed: int, slot: int) -> None:
        self.number, self.seed, self.slot = number, seed, slot
        self.rows: dict[str, list[tuple[int, float, str]]] = {}
        self.found: dict[str, dict[str, int]] = {}
        self.arrived: dict[str, int] = {}
        self.results: dict[str, str] = {}

    def act(self, agent: str, reward: float, info: Any, place: Any) -> None:
        rows = self.rows.setdefault(agent, [])
        rows.append((self.step, reward, str(info["outcome"])))
        for name in info.get("milestones", ()):
            assert name not in self.found.setdefault(agent, {})
            self.found[agent][name] = self.step
        if list(place) == TARGETS[agent] and agent not in self.arrived:
            self.arrived[agent] = self.step
        if "result" in info:
            self.results[agent] = str(info["result"])

    def records(self) -> dict[str, EpisodeRecord]:
        found = {}
        for agent in self.agents:
            rows = self.rows.get(agent)
            if not rows:
                continue
            row = Episode(agent, self.number, self.slot, ATTEMPTS.get(agent, 0), self.seed, 0)
            row.start, row.end, row.length = rows[0][0] - 1, rows[-1][0], len(rows)
            for _, reward, _ in rows:
                row.total += reward
            row.result = self.results.get(agent, "abandoned")
            row.outcomes = Counter(outcome for *_, outcome in rows)
            row.milestones = self.found.get(agent, {})
            row.arrived = self.arrived.get(agent, 0)
            steps = [
                Step(at, self.number, self.slot, row.attempt, outcome, reward, 0)
                for at, reward, outcome in rows
            ]
            found[agent] = EpisodeRecord(row, steps)
        return found


class Tally:
    """What came up over all episodes, so that nothing is compared that never happens."""

    def __init__(self) -> None:
        self.ends, self.reached = Counter[str](), Counter[str]()

    def add(self, records: dict[str, EpisodeRecord]) -> None:
        rows = [record.episode for record in records.values()]
        self.ends.update(row.result for row in rows)
        self.ends["apart"] += len({row.end for row in rows}) > 1
        self.ends["late"] += len({row.start for row in rows}) > 1
        self.reached.update(name for row in rows for name in row.milestones)
        self.reached["arrived"] += sum(bool(row.arrived) for row in rows)

    def check(self, broken: bool) -> None:
        assert min(self.ends[n] for n in ("won", "lost", "apart", "late")) > 1
        assert (self.ends["abandoned"] > 1) == broken
        names = ("goal_reached", "box_pushed", "fruit_eaten", "arrived")
        assert min(self.reached[name] for name in names) > 1


def check(found: dict[str, EpisodeRecord], wanted: dict[str, EpisodeRecord]) -> None:
    assert list(found) == list(wanted)
    for agent, record in wanted.items():
        mine = found[agent]
        assert list(mine.steps) == list(record.steps)
        mine.episode.measures = {}
        assert mine.episode == record.episode


@pytest.mark.parametrize("cut", [0, 5])
def test_episodes_of_one_environment_are_what_was_told(cut: int) -> None:
    env: Any = piase_gym.parallel_env("GridWorld", view="vector", **CROWD)
    runner, agents = env.runner, list(env.possible_agents)
    collector = EpisodeCollector(runner, agents, MetricInputs())
    recount, rng = Recount(agents), np.random.default_rng(1)
    for agent, place in TARGETS.items():
        collector.set_target(agent, {"target_coords": place})
    tally = Tally()
    env.reset(seed=3)
    for number in range(60):
        if number:
            env.reset()
        collector.begin()
        recount.begin(number, runner.seed, 0)
        for _ in range(cut if cut and number % 3 == 0 else 99):
            playing = list(env.agents)
            _, rewards, _, _, infos = env.step({a: int(rng.integers(6)) for a in playing})
            recount.step += 1
            for agent in playing:
                place = runner.world.position(agents.index(agent))
                recount.act(agent, rewards[agent], infos[agent], place)
            if collector.record_step():
                break
            assert env.agents
        assert collector.step == recount.step
        wanted = recount.records()
        check(collector.finish_episode(ATTEMPTS), wanted)
        tally.add(wanted)
    tally.check(broken=bool(cut))


SLOTS = 4


def test_episodes_of_a_batch_are_what_single_environments_tell() -> None:
    batch: Any = piase_gym.batch_env("GridWorld", num_envs=SLOTS, **CROWD)
    envs: list[Any] = [
        piase_gym.parallel_env("GridWorld", view="vector", **CROWD) for _ in range(SLOTS)
    ]
    agents, rng, tally = list(batch.agents), np.random.default_rng(2), Tally()
    collector = BatchEpisodeCollector(batch, agents, MetricInputs())
    recounts = [Recount(agents) for _ in range(SLOTS)]
    finished: list[tuple[int, dict[str, EpisodeRecord]]] = []

    def follow(event: Any) -> None:
        data = event.data
        if event.kind == "batch_step":
            collector.record_step(data["alive"][:, : len(agents)], data["over"])
        for slot in data["slots"] if event.kind == "batch_ended" else ():
            finished.append((slot, collector.finish_episode(slot, ATTEMPTS)))
        for slot in data["slots"] if event.kind == "batch_begun" else ():
            collector.begin(slot)

    for agent, place in TARGETS.items():
        collector.set_target(agent, {"target_coords": place})
    batch.events.subscribe(follow, ("batch_step", "batch_ended", "batch_begun"))
    batch.reset(seed=5)
    numbers = [1] * SLOTS
    for slot, env in enumerate(envs):
        env.reset(seed=5 + slot)
        recounts[slot].begin(1, env.runner.seed, slot)
    for step in range(1, 200):
        actions = rng.integers(6, size=(SLOTS, len(agents)))
        batch.step(actions)
        ended = []
        for slot, (env, recount) in enumerate(zip(envs, recounts, strict=True)):
            recount.step = step
            if not env.agents:  # this step began the slot's next episode
                env.reset()
                numbers[slot] += 1
                recount.begin(numbers[slot], env.runner.seed, slot)
                continue
            playing = list(env.agents)
            _, rewards, _, _, infos = env.step(
                {a: int(actions[slot, agents.index(a)]) for a in playing}
            )
            for agent in playing:
                place = env.runner.world.position(agents.index(agent))
                recount.act(agent, rewards[agent], infos[agent], place)
            if not env.agents:
                ended.append(slot)
        assert [slot for slot, _ in finished] == ended
        for slot, records in finished:
            wanted = recounts[slot].records()
            check(records, wanted)
            tally.add(wanted)
        finished.clear()
    tally.check(broken=False)
    for slot, recount in enumerate(recounts):
        check(
            collector.finish_episode(slot, ATTEMPTS), recount.records() if envs[slot].agents else {}
        )


def test_messages_count_for_the_step_in_which_they_are_sent() -> None:
    env: Any = piase_gym.parallel_env("TextRoom", agents=2, actions="text", max_steps=6)
    collector = EpisodeCollector(env.runner, env.possible_agents, MetricInputs())
    said = {"agent_0": "0 1 0 0 1 1", "agent_1": "1 0 0 0 0 1"}
    env.reset(seed=1)
    for _ in range(2):
        collector.begin()
        for t in range(6):
            lines = {a: "say hello" if row.split()[t] == "1" else "wait" for a, row in said.items()}
            env.step(lines)
            collector.record_step()
        records = collector.finish_episode({})
        for agent, row in said.items():
            counts = [int(sent) for sent in row.split()]
            assert [step.messages for step in records[agent].steps] == counts
            assert records[agent].episode.messages == sum(counts)
        env.reset()
