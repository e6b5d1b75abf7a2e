"""PointProbe: point masses in a square, pushed by forces; a continuous world in plain Python.

All arithmetic is IEEE addition, multiplication, division and square root on Python floats, so
states are bit-equal everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from piase_gym.core.commands import Command, InvalidAction, Outcome, Param, Result, Verb
from piase_gym.core.digest import canonical_json
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import Capabilities, DecodedAction, Manual, StepResult, World, shared
from piase_gym.errors import SnapshotError
from tests.probes import point_views
from tests.probes.point_config import MAX_SPEED, PointProbeConfig
from tests.probes.point_views import PointFacts, pair

__all__ = ["PointProbe", "PointProbeConfig"]

GRAMMAR = (
    Verb(
        "thrust",
        "push with a force from -1 to 1 along x and y",
        tuple(Param(axis, "number", minimum=-1.0, maximum=1.0) for axis in "xy"),
        ("push",),
    ),
    Verb("coast", "do not push", synonyms=("wait", "noop")),
)
PRIMITIVES = (
    Command("thrust", {"x": -1.0, "y": 0.0}),  # left
    Command("thrust", {"x": 1.0, "y": 0.0}),  # right
    Command("thrust", {"x": 0.0, "y": 1.0}),  # up
    Command("thrust", {"x": 0.0, "y": -1.0}),  # down
    Command("coast"),
)


@dataclass(config=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class PointState:
    """The whole state but for the streams; a list has an entry an agent."""

    t: int
    position: list[list[float]]
    velocity: list[list[float]]
    goal: list[list[float]]
    status: list[Literal["none", "playing", "won", "lost"]]


_STATE = TypeAdapter(PointState)


def push(state: PointState, agent: int, force: list[float], config: PointProbeConfig) -> None:
    """Advance one point by one step; walls stop it."""
    position, velocity = state.position[agent], state.velocity[agent]
    for axis in (0, 1):
        speed = velocity[axis] + config.dt * force[axis] / config.mass
        speed *= 1.0 - config.friction * config.dt
        speed = min(MAX_SPEED, max(-MAX_SPEED, speed))
        place = position[axis] + config.dt * speed
        if not -1.0 <= place <= 1.0:
            place, speed = min(1.0, max(-1.0, place)), 0.0
        position[axis], velocity[axis] = place, speed


def distance(state: PointState, agent: int) -> float:
    """Return how far an agent is from its goal (`math.hypot` differs between platforms)."""
    (x, y), (gx, gy) = state.position[agent], state.goal[agent]
    return math.sqrt((x - gx) * (x - gx) + (y - gy) * (y - gy))


class PointProbe(World[PointProbeConfig, PointFacts]):
    """Push every point to its goal."""

    name: ClassVar[str] = "PointProbe"
    capabilities: ClassVar[Capabilities] = Capabilities(continuous=True)
    milestones: ClassVar[tuple[str, ...]] = ("arrived",)

    def __init__(self, config: PointProbeConfig) -> None:
        """Lay out the square."""
        super().__init__(config)
        self.text_length = point_views.TEXT_LENGTH
        self.reset(0)

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """``thrust`` and ``coast``."""
        return GRAMMAR

    @property
    def num_actions(self) -> int:
        """Left, right, up, down, coast."""
        return len(PRIMITIVES)

    @property
    def noop(self) -> Command:
        """``coast``."""
        return PRIMITIVES[-1]

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `point_views`."""
        return point_views.vector_box(len(self.agents))

    @property
    def action_box(self) -> Box:
        """The force."""
        return Box(-1.0, 1.0, (2,), np.float32)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        high = [1.0, 1.0, MAX_SPEED, MAX_SPEED, 1.0, 1.0, 3.0] * len(self.agents) + [2.0**31]
        low = [-1.0, -1.0, -MAX_SPEED, -MAX_SPEED, -1.0, -1.0, 0.0] * len(self.agents) + [0.0]
        return Box(np.array(low), np.array(high), dtype=np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Put points and goals at random."""
        slots, playing = len(self.agents), self.config.agents
        self.dice = Stream(seed, StreamId.DYNAMICS)
        layout = Stream(seed, StreamId.LAYOUT)
        self.points = PointState(
            t=0,
            position=[[2.0 * layout.uniform() - 1.0 for _ in "xy"] for _ in range(slots)],
            velocity=[[0.0, 0.0] for _ in range(slots)],
            goal=[[2.0 * layout.uniform() - 1.0 for _ in "xy"] for _ in range(slots)],
            status=["playing" if i < playing else "none" for i in range(slots)],
        )

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Push every point once."""
        points, slots = self.points, len(self.agents)
        rewards, outcomes = [0.0] * slots, [Outcome.OK] * slots
        terminated, truncated = [False] * slots, [False] * slots
        notes: dict[int, dict[str, Any]] = {}
        playing = [agent for agent in range(slots) if points.status[agent] == "playing"]
        points.t += 1
        for agent in playing:
            plan = plans[agent]
            if isinstance(plan, InvalidAction):
                outcomes[agent] = plan.outcome
            push(points, agent, self._force(plan), self.config)
            left = distance(points, agent)
            rewards[agent] = -left
            if left <= self.config.arrival:
                rewards[agent] += self.config.bonus
                terminated[agent], points.status[agent] = True, "won"
                notes[agent] = {"milestones": ["arrived"]}
            elif points.t >= self.config.max_steps:
                truncated[agent], points.status[agent] = True, "lost"
        if self.config.shared_reward:
            rewards = shared(rewards, playing)
        return StepResult(
            rewards, terminated, truncated, outcomes, any(terminated) or any(truncated), notes
        )

    def _force(self, plan: DecodedAction) -> list[float]:
        """Return the force of a command, with noise."""
        force = [0.0, 0.0]
        if isinstance(plan, Command) and plan.verb == "thrust":
            force = [float(plan.parameters["x"]), float(plan.parameters["y"])]
        if self.config.noise > 0.0:
            force = [value + self.config.noise * self.dice.normal() for value in force]
        return force

    @property
    def alive(self) -> Sequence[bool]:
        """Who is still on the way."""
        return [status == "playing" for status in self.points.status]

    def result(self, agent: int) -> Result:
        """Won, if the agent arrived."""
        return Result.WON if self.points.status[agent] == "won" else Result.LOST

    # -- what agents know and can do ------------------------------------------------------

    def facts(self, agent: int) -> PointFacts:
        """Return what the agent may know now, in thousandths."""
        points = self.points
        others = [i for i, alive in enumerate(self.alive) if alive and i != agent]
        return PointFacts(
            agent=self.agents[agent],
            hint=self.hints[agent],
            position=pair(points.position[agent]),
            velocity=pair(points.velocity[agent]),
            goal=pair(points.goal[agent]),
            others=tuple((self.agents[i], pair(points.position[i])) for i in others),
        )

    def vector(self, facts: PointFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return point_views.vector_of(facts, self.agents)

    @staticmethod
    def to_text(facts: PointFacts, config: PointProbeConfig) -> str:
        """Return the prose of the facts."""
        return point_views.text_of(facts)

    def admissible(self, agent: int) -> list[Command]:
        """Return the primitives; forces between them are legal too."""
        return list(PRIMITIVES) if self.points.status[agent] == "playing" else []

    def legal(self, agent: int, command: Command) -> bool:
        """Every push is legal."""
        return True

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return a primitive."""
        return PRIMITIVES[index]

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return ones for agents in play: a push is always legal."""
        return [np.full(len(PRIMITIVES), alive, np.int8) for alive in self.alive]

    def command_from_box(self, agent: int, action: NDArray[Any]) -> Command:
        """Return the thrust of a force."""
        return Command("thrust", {"x": float(action[0]), "y": float(action[1])})

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return Manual(
            "You are a point in a square from -1 to 1. Pushes speed you up; friction slows you.",
            f"minus the distance to your goal; {self.config.bonus:+g} on arrival.",
            lambda _agent: "come to rest at your goal; passing close is enough.",
        )

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return position, velocity, goal and status of each agent, then the step."""
        points, codes = self.points, ("none", "playing", "won", "lost")
        rows = [
            [*points.position[i], *points.velocity[i], *points.goal[i], codes.index(status)]
            for i, status in enumerate(points.status)
        ]
        return np.array([*(value for row in rows for value in row), points.t], np.float64)

    def get_state(self) -> dict[str, Any]:
        """Return points and dice; JSON writes floats exactly."""
        return {"points": asdict(self.points), "dice": self.dice.get_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        try:
            points = _STATE.validate_json(canonical_json(state["points"]))
            dice = Stream(0)
            dice.set_state(state["dice"])
            lists = (points.position, points.velocity, points.goal)
            if any(len(part) != len(self.agents) for part in (*lists, points.status)):
                raise ValueError(f"it is not of {len(self.agents)} agents")
            if any(len(entry) != 2 for part in lists for entry in part):
                raise ValueError("points have two coordinates")
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise SnapshotError(f"{self.name}: the state does not fit: {error}") from None
        self.points, self.dice = points, dice

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the square with letters: digits for agents, ``x`` for their goals."""
        rows = [["."] * 21 for _ in range(21)]
        for agent, alive in enumerate(self.alive):
            if alive:
                for (x, y), mark in (
                    (self.points.goal[agent], "x"),
                    (self.points.position[agent], str(agent)),
                ):
                    rows[10 - round(10 * y)][10 + round(10 * x)] = mark
        return "\n".join("".join(row) for row in rows)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the square as a picture."""
        image = Image.new("RGB", (200, 200), (20, 20, 30))
        pen = ImageDraw.Draw(image)
        for agent, alive in enumerate(self.alive):
            for (x, y), shade in (
                (self.points.goal[agent], (80, 160, 80)),
                (self.points.position[agent], (220, 180, 60)),
            ):
                if alive:
                    middle = (100 + 95 * x, 100 - 95 * y)
                    pen.circle(middle, 5, fill=shade)
        return np.array(image, np.uint8)
