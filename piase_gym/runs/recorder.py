"""Writes a run: manifest, goals, steps, snapshots, summary. It knows events and no files.

`Recorder` has what single environments and batches share; `piase_gym.runs.taps` feeds it.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from piase_gym.runs.aims import Aims
from piase_gym.runs.book import Book
from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.expand import task_event
from piase_gym.runs.levels import Levels
from piase_gym.runs.lines import Group, Line, StepItem
from piase_gym.runs.options import Options, Tally
from piase_gym.runs.plain import encode
from piase_gym.runs.press import Block
from piase_gym.runs.schema import EVENTS, GOAL_OF_RESULT, SYSTEM, UNSEALED
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.stretch import Notation, Stretch
from piase_gym.runs.writer import LONG
from piase_gym.world import World

NEVER = 2**62
"""The `snapshot_every` of those who want no snapshots."""
PRIORITY = 5
"""Initial priority of an episode's goal, of 0 to 10."""


Parts = list[tuple[str, str, str]]
"""Events of one moment: agents, event types, data as JSON."""


class Recorder:
    """Writes one run.

    Attributes:
        step: Steps of the run so far.
        episodes: Episodes of the run so far, void ones not counted.
        writer: What turns events into lines.
    """

    def __init__(
        self,
        world: World[Any, Any],
        sinks: Sequence[LoggerInterface],
        options: Options,
    ) -> None:
        """Open the run; `start` writes its first line."""
        options.check()
        self.world, self.options = world, options
        self.agents = world.agents
        self.levels = Levels(options.level, options.levels, world.name)
        self.run_id = options.run_id or f"{world.name}-{uuid.uuid4().hex[:16]}"
        encoder = BulkEncoder(self.run_id, options.experiment_id, world.name, self.levels.wants)
        encoder.set_detail(self.levels.highest, self.levels.steps)
        self.writer = options.writer(encoder, sinks, options.on_error)
        self.wants = self.levels.wants
        self.stretch: Stretch | None = None
        """Where plain steps go, as long as nothing else happens."""
        self._last_ns = 0
        self.step, self.episodes = 0, 0
        self.closed = False
        self.aims = Aims()
        self._tallies = {name: Tally() for name in self.agents}
        self._messages = self._hints = self._void = 0
        self._began = time.monotonic_ns()
        self._goals: dict[int, str] = {}
        self._described: Any = None
        self._leave: list[Callable[[], None]] = []
        method = weakref.WeakMethod(self.finish)
        self.writer.finish = method

    def take_world(self, world: World[Any, Any]) -> None:
        """Go on with another world, before the first episode."""
        self.world, self.agents = world, world.agents
        self._tallies = {name: Tally() for name in self.agents}
        self._described = None

    # -- lines ----------------------------------------------------------------------------

    def start(self, manifest: Mapping[str, Any]) -> None:
        """Write the first line, at once: a run that dies early still says what it was."""
        self.writer.encoder.table = manifest["actions"]
        self.writer.encoder.agents = self.agents
        self.post("SIMULATION_CONTROL", manifest)
        self.writer.flush()

    def post(
        self,
        event_type: str,
        data: Mapping[str, Any],
        agent: str | None = None,
        *,
        episode: int | None = None,
        ns: int | None = None,
        component: str | None = None,
        log_level: str | None = None,
    ) -> None:
        """Queue one line, if the levels want it."""
        name = agent or SYSTEM
        self.aims.hear(event_type, agent, data)
        if self.wants(name, event_type, component):
            number = self.present if episode is None else episode
            clock = time.monotonic_ns() if ns is None else ns
            text = encode(data)
            line = Line(clock, name, event_type, self.step, number, text, component, log_level)
            self.put(line)
            if len(self.writer.queue) >= LONG:
                self.writer.flush()

    def put(self, item: Line | Group | StepItem | Block) -> None:
        """Queue something."""
        self.interrupt()
        self._last_ns = item[0]
        self.writer.queue.append(item)

    def interrupt(self) -> None:
        """Let no plain step follow those before."""
        if self.stretch is not None:
            self.settle()
            self.stretch.closed, self.stretch = True, None

    def open_stretch(self, book: Book, notation: Notation, time: int) -> None:
        """Let plain steps follow; they become text later, all at once."""
        self.stretch = Stretch(book, notation, self.step, time)
        self.writer.queue.append(self.stretch)

    def settle(self) -> None:
        """Add up the rewards of all plain steps so far."""
        if self.stretch is not None:
            with self.writer.lock:  # others may take steps out of the stretch
                self.stretch.settle()

    @property
    def present(self) -> int:
        """The number of the present episode, for lines that belong to no particular one."""
        return max(0, self.episodes - 1)

    def flush(self) -> None:
        """Write everything that has happened so far."""
        self.writer.flush()

    # -- episodes and their goals ---------------------------------------------------------

    def open_book(self, old: Book | None, slot: int | None, seed: int, totals: Any = None) -> Book:
        """Begin an episode, after the one before was closed; a void one lends its number."""
        if old is not None and not old.begun:
            self._void += 1
            number = old.episode
        else:
            number, self.episodes = self.episodes, self.episodes + 1
        self.aims.again(slot or 0)
        return Book(self.agents, slot, number, seed, time.monotonic_ns(), self.step, totals)

    def describe_goals(self) -> None:
        """Put the goals of agents into words, if the config has changed."""
        if self._described is self.world.config:
            return
        self._described = self.world.config
        goals = self.world.manual.goals
        for number in range(len(self.agents)):
            text = goals(number) or f"take part in {self.world.name}"
            self._goals[number] = encode(text)

    def begin(self, book: Book) -> None:
        """Open the goals of those in play, in the first step of an episode."""
        book.begun = True
        ns = max(book.ns, self._last_ns)  # lines stay in the order of their clocks
        parts: Parts = []
        if self.wants(SYSTEM, "LEARNING_EPISODE_START"):
            data = {"seed": book.seed, "agents": list(book.names), **book.where}
            parts.append((SYSTEM, "LEARNING_EPISODE_START", encode(data)))
        for agent in book.playing:
            self.open_goal(book, agent, parts)
        self.put_parts(parts, book, ns)

    def put_parts(self, parts: Parts, book: Book, ns: int) -> None:
        """Queue events of one moment."""
        if parts:
            self.put(Group(ns, self.step, book.episode, parts))

    def open_goal(self, book: Book, agent: int, parts: Parts) -> None:
        """Add to `parts` that an agent has an episode to master."""
        name, goal = self.agents[agent], encode(book.goal(agent))
        book.joined[agent] = self.step
        if not self.wants(name, "GOAL_CREATED"):
            return
        self.describe_goals()
        slot = "" if book.slot is None else f',"slot":{book.slot}'
        created = (
            f'{{"goal_id":{goal},"description":{self._goals[agent]},'
            f'"type":"EXTRINSIC_TASK","initial_priority":{PRIORITY}{slot}}}'
        )
        activated = f'{{"goal_id":{goal},"reason":"the episode begins"{slot}}}'
        parts += ((name, "GOAL_CREATED", created), (name, "GOAL_ACTIVATED", activated))
        if self.levels.highest >= EVENTS:
            self._add_task(name, "GOAL_ACTIVATED", {"goal_id": book.goal(agent)}, parts)

    def close_goal(self, book: Book, agent: int, reason: str, parts: Parts) -> None:
        """Add to `parts` how an agent's episode ended, after all steps were settled.

        Args:
            book: The episode.
            agent: The agent's number.
            reason: ``won``, ``lost``, ``drawn``, ``ended``, or why it was broken off.
            parts: Events of the present moment.
        """
        name, goal = self.agents[agent], book.goal(agent)
        joined = book.joined.pop(agent)
        state = GOAL_OF_RESULT.get(reason, "ABANDONED")
        total, steps = book.total(agent), self.step - joined
        tally = self._tallies[name]
        tally.states[state] += 1
        tally.total += total
        tally.steps += steps
        book.returns[name], book.lengths[name], book.results[name] = total, steps, reason
        if not self.wants(name, "GOAL_STATUS_CHANGED"):
            return
        metrics = {"return": total, "steps": steps}
        change = {
            "goal_id": goal,
            "old_state": "ACTIVE",
            "new_state": state,
            "reason": reason,
            "metrics": metrics,
            **book.where,
        }
        text = encode(change)
        # One analysis of the toolkit reads the first name, another the second.
        parts += ((name, "GOAL_STATUS_CHANGED", text), (name, "GOAL_STATE_CHANGED", text))
        if self.levels.highest >= EVENTS:
            self._add_task(name, "GOAL_STATUS_CHANGED", change, parts)

    def _add_task(self, agent: str, event_type: str, data: Mapping[str, Any], parts: Parts) -> None:
        """Add the task update that goes with a goal line."""
        found = task_event(agent, event_type, data)
        if found is not None and self.wants(agent, found[1]):
            parts.append((agent, found[1], encode(found[2])))

    def end_episode(self, book: Book, parts: Parts) -> None:
        """Add to `parts` the report of an episode."""
        if not self.wants(SYSTEM, "LEARNING_EPISODE_END"):
            return
        data = {
            "seed": book.seed,
            "steps": self.step - book.start,
            "results": book.results,
            "returns": book.returns,
            "lengths": book.lengths,
            **({"measures": book.measures} if book.measures else {}),
            **book.where,
        }
        parts.append((SYSTEM, "LEARNING_EPISODE_END", encode(data)))

    def break_off(self, book: Book | None, reason: str) -> None:
        """End an episode that did not come to its own end."""
        if book is None or not book.begun or (book.over and not book.joined):
            return
        ns, parts = time.monotonic_ns(), list[tuple[str, str, str]]()
        self.settle()
        for agent in sorted(book.joined):
            self.close_goal(book, agent, reason, parts)
        self.end_episode(book, parts)
        self.put_parts(parts, book, ns)
        book.seat(())

    # -- the end --------------------------------------------------------------------------

    def books(self) -> Sequence[Book | None]:
        """Return the books of all environments."""
        return ()

    def final_state(self) -> None:
        """Write the last state, where that is of use."""

    def finish(self, reason: str = "the process ended") -> None:
        """Write the summary and close the sinks; finishing twice does no harm."""
        if self.closed:
            return
        self.closed = True
        for leave in self._leave:
            leave()
        for book in self.books():
            self.break_off(book, reason)
        if self.options.snapshot_every < NEVER:
            self.final_state()
        self.writer.drain()
        with self.writer.lock:
            self.post("SIMULATION_CONTROL", self.summary(reason))
            self.writer.seal()
        self.writer.close()

    def summary(self, reason: str) -> dict[str, Any]:
        """Return the `event_data` of the last line."""
        void = sum(book is not None and not book.begun for book in self.books())
        return {
            "control": "end",
            "reason": reason,
            "summary": {
                "steps": self.step,
                "episodes": self.episodes - void,
                "void_resets": self._void + void,
                "seconds": (time.monotonic_ns() - self._began) / 1e9,
                "messages": self._messages,
                "hints": self._hints,
                "agents": {name: tally.value() for name, tally in self._tallies.items()},
            },
            "lines": self.writer.encoder.count + 1,
            "checksum": self.writer.checksum,
            "seal": UNSEALED,
        }
