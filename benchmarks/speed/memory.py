"""What a memory is good for, and what it costs: delayed recall, and 10,000 memories.

Run it with ``python -m piase_gym.benchmarks.memory``; what is found is stored in
``benchmarks/measured/memory.json``, from which ``docs/make_pages.py`` writes a part of
docs/memory.md. Times are CPU-seconds. What needs an extra that is not there is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import piase_gym
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import milliseconds
from piase_gym.core.rng import Stream
from piase_gym.errors import MissingExtraError
from piase_gym.memory import FaissMemory, find_embedder, memory_text, query_text
from piase_gym.worlds.text_room.levels.recall import COLOURS
from piase_gym.wrappers import AddMemory

FILE = OUT = Path(__file__).parents[1] / "measured" / "memory.json"
DELAYS = (1, 4, 16, 64)
EPISODES = 400
MEMORIES = 10_000
LESSONS = 4000
"""Episodes that the learner learns from, all at the shortest delay."""
AGENT = "agent_0"
Policy = Callable[[str, NDArray[np.float32], Sequence[str]], str]
"""Chooses one of some marks, given an agent's text and vector."""


@dataclass(frozen=True)
class Recall:
    """A task of delayed recall for one agent: a cue is seen once, and decides a later choice.

    Attributes:
        world: The name of the world.
        cue: A pattern of the cue in texts; its group is the mark that is to be chosen.
        marks: What can be chosen.
        wait: The command until then.
        choice: The command that chooses a mark.
    """

    world: str
    cue: str
    marks: Sequence[str]
    wait: str
    choice: str

    def make(self, delay: int) -> Any:
        """Return its environment for a delay, with text actions and both views."""
        return piase_gym.parallel_env(self.world, recall=delay, actions="text")

    def play(self, env: Any, seed: int, choose: Policy) -> bool:
        """Play an episode; return whether the choice was right."""
        shown, infos = env.reset(seed=seed)
        delay, step = env.unwrapped.config.recall, 0
        while env.agents:
            line = self.wait
            if step > delay:
                mark = choose(shown[AGENT]["text"], shown[AGENT]["vector"], self.marks)
                line = self.choice.format(mark)
            shown, _, _, _, infos = env.step({AGENT: line})
            step += 1
        return bool(infos[AGENT]["result"] == "won")


TASKS = {
    "TextRoom": Recall("TextRoom", r"(\w+)_lantern", COLOURS, "wait", "open {} casket"),
    "ObjectSearch": Recall("ObjectSearch", r"(\w+) sign", ("forward", "backward"), "stay", "{}"),
}


def guesser(dice: Stream) -> Policy:
    """Return a policy that chooses at random: the best there is without a memory."""
    return lambda _text, _vector, marks: marks[dice.integer(len(marks))]


def reader(task: Recall, dice: Stream) -> Policy:
    """Return a policy that takes the first mark that it reads in its memories, else any."""

    def choose(text: str, _vector: NDArray[np.float32], marks: Sequence[str]) -> str:
        drawn = marks[dice.integer(len(marks))]
        return str(next(iter(re.findall(task.cue, text)), drawn))

    return choose


class Learner:
    """A linear policy over a part of the vector, taught by its wins (REINFORCE).

    Args:
        start: Where in the vector the part begins that it looks at.
        rate: How far one win moves it.
    """

    def __init__(self, start: int, rate: float = 2.0) -> None:
        self.start, self.rate = start, rate
        self.rng = np.random.default_rng(0)
        self.weights: dict[str, NDArray[np.float64]] = {}
        self.last: tuple[Sequence[str], NDArray[np.float64], NDArray[np.float64]]

    def __call__(self, _text: str, vector: NDArray[np.float32], marks: Sequence[str]) -> str:
        """Draw a mark."""
        seen = vector[self.start :].astype(np.float64)
        seen /= max(float(np.linalg.norm(seen)), 1e-9)
        scores = [self.weights.setdefault(mark, np.zeros(len(seen))) @ seen for mark in marks]
        shares = np.exp(np.array(scores) - max(scores))
        shares /= shares.sum()
        drawn = int(self.rng.choice(len(marks), p=shares))
        self.last = marks, seen, np.eye(len(marks))[drawn] - shares
        return marks[drawn]

    def learn(self, won: bool) -> None:
        """Move towards a choice that won, and away from one that lost."""
        marks, seen, direction = self.last
        for mark, step in zip(marks, direction, strict=True):
            self.weights[mark] += self.rate * (won - 1 / len(marks)) * step * seen


def players_of(task: Recall, lessons: int) -> dict[str, tuple[int, Policy]]:
    """Return how many memories each player is shown, and its policy."""
    plain, memory = task.make(DELAYS[0]), AddMemory(task.make(DELAYS[0]))
    without_memory = plain.observation_space(AGENT)["vector"].shape[0]
    blind, learner = Learner(0), Learner(without_memory)
    for seed in range(10**6, 10**6 + lessons):
        blind.learn(task.play(plain, seed, blind))
        learner.learn(task.play(memory, seed, learner))
    return {
        "guess": (0, guesser(Stream(1))),
        "learner": (0, blind),
        "learner with memory": (3, learner),
        "script with memory": (3, reader(task, Stream(2))),
    }


def recall(
    task: Recall, episodes: int, lessons: int, delays: Sequence[int] = DELAYS
) -> dict[str, dict[str, int]]:
    """Return the wins of each player at each delay."""
    found: dict[str, dict[str, int]] = {}
    for name, (shown, policy) in players_of(task, lessons).items():
        for delay in delays:
            env = AddMemory(task.make(delay), k=shown) if shown else task.make(delay)
            won = sum(task.play(env, seed, policy) for seed in range(episodes))
            found.setdefault(name, {})[str(delay)] = won
    return found


# -- costs ----------------------------------------------------------------------------------


def _step_text(number: int) -> str:
    """Return a memory such as an explorer has."""
    message = {"sender": "agent_1", "recipient": "all", "message": f"I found box_{number % 53}"}
    seen = [f"thing_{number % 37}", "lamp", f"door_{number % 11}"]
    return memory_text(number % 101, seen, "forward", "explore", [message] if number % 3 else [])


def costs(memories: int) -> dict[str, float]:
    """Return what adding and asking cost with so many memories, in CPU-milliseconds."""
    memory = FaissMemory()
    for number in range(memories):
        memory.add(_step_text(number))
    question = [query_text(k, visible_objects=[f"thing_{k % 37}", "lamp"]) for k in range(101)]

    def both(number: int) -> None:
        memory.search(question[number % 101])
        memory.add(_step_text(number))

    found = {
        "add + query": milliseconds(both, range(300)),
        "of these, two hashed embeddings": 2
        * milliseconds(lambda k: memory.embedder.embed([question[k % 101]]), range(300)),
    }
    try:
        semantic = find_embedder("semantic")
    except MissingExtraError:
        return found
    embed = milliseconds(lambda k: semantic.embed([question[k % 101]]), range(30))
    return {**found, "an embedding by all-MiniLM-L6-v2": embed}


@described
def measure_all(
    episodes: int = EPISODES, lessons: int = LESSONS, memories: int = MEMORIES
) -> dict[str, Any]:
    """Measure delayed recall and costs.

    Args:
        episodes: Of each player at each delay.
        lessons: Episodes that a learner learns from.
        memories: How many memories there are when adding and asking is timed.

    Returns:
        JSON-able: ``recall`` (task -> player -> delay -> wins), ``episodes``, ``costs``,
        ``memories`` and what was measured on.
    """
    return {
        "recall": {name: recall(task, episodes, lessons) for name, task in TASKS.items()},
        "episodes": episodes,
        "costs": costs(memories),
        "memories": memories,
    }


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    episodes, tables = found["episodes"], []
    for task, players in found["recall"].items():
        lines = [("player", *(f"delay {delay}" for delay in DELAYS))]
        for player, wins in players.items():
            shares = [wilson(wins[str(delay)], episodes) for delay in DELAYS]
            lines.append(
                (player, *(f"{s.estimate:.2f} [{s.low:.2f}, {s.high:.2f}]" for s in shares))
            )
        tables.append(Table(lines, task))
    words = (
        f"Share of {episodes} episodes won, with Wilson's interval of 95 %. "
        f"Learners learn at delay {DELAYS[0]} only."
    )
    spent = [("what", "CPU-ms"), *((k, f"{v:.2f}") for k, v in found["costs"].items())]
    title = f"With {found['memories']:,} memories"
    return {
        "recall": Section(tables, [words]),
        "costs": Section([Table(spent, title)], [about(found)]),
    }


OPTIONS = {
    "episodes": "of each player at each delay",
    "lessons": "episodes that a learner learns from",
    "memories": "when adding and asking is timed",
}
