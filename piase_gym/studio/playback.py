"""A run, episode by episode and step by step: it is executed again from its log to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.last_step import LastStep
from piase_gym.core.world import World
from piase_gym.errors import PiaseError, RunError
from piase_gym.runs import Run
from piase_gym.runs.replayer import Replayer
from piase_gym.runs.schema import STATES, kind_of, looks_derived
from piase_gym.studio.playing import png

MOST_EPISODES = 5000
"""The most episodes that are listed."""
MOST_MOMENTS = 2000
"""The most states of an episode that are drawn."""
MOST_LINES = 200
"""The most other lines that are kept with a state."""


@dataclass
class Episode:
    """An episode of a run.

    Attributes:
        number: Its number in the run.
        slot: The environment of a batch that it was played in.
        seed: Its effective seed.
        start: The step of the run at which it begins.
        steps: How many steps it has lasted.
        results: Agent -> how the episode ended for it.
        returns: Agent -> the sum of its rewards.
    """

    number: int
    slot: int
    seed: int | None
    start: int
    steps: int = 0
    results: dict[str, str] = field(default_factory=dict)
    returns: dict[str, float] = field(default_factory=dict)


@dataclass
class Moment:
    """A state of an episode.

    Attributes:
        step: Steps of the episode until then.
        picture: The state as PNG.
        deeds: Agent -> what its command did in the step that led to it.
        texts: Agent -> what it reads now.
        lines: The other lines of the log from this state to the next: agent, type, data.
        returns: Agent -> the sum of its rewards so far.
    """

    step: int
    picture: bytes
    deeds: dict[str, LastStep]
    texts: dict[str, str]
    returns: dict[str, float]
    lines: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)


def episodes(run: Run) -> list[Episode]:
    """Return the episodes of a run, the first `MOST_EPISODES` of them.

    Raises:
        RunError: If it was logged at a level that leaves out its steps.
    """
    run.require_step_lines()
    found: dict[int, Episode] = {}
    going_on: set[int] = set()  # slots whose present episode is listed
    for event in run:
        data, number = event["event_data"], event["episode"]
        kind, slot = kind_of(event["event_type"], data), data.get("slot", 0)
        if kind in ("reset", "restore"):
            if number in found or len(found) < MOST_EPISODES:
                # A reset without a step passes its number on.
                found[number] = Episode(number, slot, data.get("seed"), event["step"])
                going_on.add(slot)
                continue
            going_on.discard(slot)
            if not going_on:
                break
        elif number not in found:
            continue
        elif kind == "step":
            episode = found[number]
            episode.steps += 1
            for agent, reward in data.get("rewards", {}).items():
                episode.returns[agent] = episode.returns.get(agent, 0.0) + (reward or 0.0)
            episode.results |= data.get("results", {})
        elif looks_derived(event["event_type"], data):  # the report of the episode
            found[number].results |= data.get("results", {})
    return [episode for episode in found.values() if episode.steps or len(found) == 1]


def moments(run: Run, episode: Episode) -> Iterator[Moment]:
    """Yield the states of an episode, the first `MOST_MOMENTS` of them; the run is executed again.

    Raises:
        RunError: If the log has no steps, or the run cannot be executed again.
    """
    alone = int(run.manifest.get("num_envs") or 1) == 1
    replayer, last, drawn, step = Replayer(run), None, 0, 0
    returns: dict[str, float] = {}
    for event in replayer.executed():
        data, number = event["event_data"], event["episode"]
        kind = kind_of(event["event_type"], data)
        if number != episode.number:
            if alone and last is not None and number > episode.number:
                break
        elif kind in STATES and data.get("slot", 0) == episode.slot:
            if last is not None and kind == "step":  # else the last reset was void
                yield last
                drawn += 1
                if drawn == MOST_MOMENTS:
                    return
            world = replayer.world(episode.slot)
            rows = zip(world.agents, world.last_steps(), strict=True) if kind == "step" else ()
            deeds = {agent: row for agent, row in rows if row is not None}
            step, returns = (step + 1, dict(returns)) if kind == "step" else (0, {})
            for agent, row in deeds.items():
                returns[agent] = returns.get(agent, 0.0) + row.reward
            last = Moment(step, png(world.rgb()), deeds, _texts(world), returns)
        elif last is not None and len(last.lines) < MOST_LINES:
            last.lines.append((event["agent_id"], event["event_type"], data))
    if last is None:
        raise RunError(f"{run.path}: there is no episode {episode.number}")
    yield last


def _texts(world: World[Any, Any]) -> dict[str, str]:
    """Return what the agents in play read."""
    found = {}
    for number, name in enumerate(world.agents):
        if world.alive[number]:
            try:
                found[name] = world.observation_text(number)
            except PiaseError as error:
                found[name] = str(error)
    return found
