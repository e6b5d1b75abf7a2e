"""GridWorld's config: everything that a task can set, checked once."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from piase_gym.config import Envelope, WorldConfig
from piase_gym.errors import ConfigError
from piase_gym.worlds.grid_world.cells import MAX_AGENTS

MAX_SIDE = 64
MAX_GOALS = 16
Position = tuple[
    Annotated[int, Field(ge=0, lt=MAX_SIDE)],
    Annotated[int, Field(ge=0, lt=MAX_SIDE)],
]
"""(x, y) with (0, 0) at the top left."""

LAYOUTS = ("empty", "obstacles", "four_rooms", "door_key")


class Rewards(BaseModel):
    """GridWorld's reward table: what each event is worth to the agent that causes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    goal: float = Field(10.0, description="reaching a goal")
    move: float = Field(-0.1, description="entering a free cell")
    blocked: float = Field(-1.0, description="walking against something")
    stay: float = Field(-0.05, description="staying")
    interact: float = Field(-0.1, description="picking up, dropping, opening, closing")
    locked: float = Field(-0.1, description="trying a locked door without a key")
    illegal: float = Field(-1.0, description="an illegal or unreadable command")


class GridWorldEnvelope(Envelope):
    """The sizes that fix GridWorld's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    width: int = Field(1, ge=1, le=MAX_SIDE, description="widest map")
    height: int = Field(1, ge=1, le=MAX_SIDE, description="highest map")
    window: int = Field(1, ge=1, le=15, description="largest window")


class GridWorldConfig(WorldConfig):
    """Everything about a GridWorld that can be set; see `GridWorld` for what it means."""

    world: ClassVar[str] = "GridWorld"

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    layout: Literal["empty", "obstacles", "four_rooms", "door_key"] = Field(
        "empty", description="what stands on the grid"
    )
    width: int = Field(8, ge=2, le=MAX_SIDE, description="columns")
    height: int = Field(8, ge=2, le=MAX_SIDE, description="rows")
    border: bool = Field(False, description="surround the grid with a wall, inside its size")
    walls: tuple[Position, ...] = Field((), description="further walls, as (x, y)")
    obstacle_density: float = Field(
        0.2, ge=0.0, le=0.6, description="share of the cells that layout 'obstacles' blocks"
    )
    start_pos: Position | tuple[Position, ...] | None = Field(
        None, description="(x, y) of the first agent, or one for each; default random"
    )
    goal_pos: Position | tuple[Position, ...] | None = Field(
        None, description="(x, y) of the goal, or several; default one at random"
    )
    collisions: Literal["block", "pass"] = Field(
        "block", description="whether agents block each other or may share a cell"
    )
    observe: Literal["window", "grid"] = Field(
        "window", description="an egocentric window turned to the heading, or the whole grid"
    )
    window: int = Field(7, ge=3, le=15, description="side of the window, odd")
    see_through_walls: bool = Field(True, description="False hides what walls and doors cover")
    max_steps: int = Field(200, ge=1, le=2**31 - 1, description="steps until truncation")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: GridWorldEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Also take the reference project's keys: `grid_size` and `obstacles`."""
        if name == "obstacles":
            return {"walls": value}
        if name == "grid_size":
            if not isinstance(value, list | tuple) or len(value) != 2:
                raise ConfigError(f"GridWorld.grid_size must be (width, height), not {value!r}")
            return {"width": value[0], "height": value[1]}
        return super().meaning(name, value)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.window % 2 == 0:
            raise ValueError(f"window must be odd, from 3 to 15, not {self.window}")
        places = {"walls": self.walls, "start_pos": self.starts, "goal_pos": self.goals}
        for name, positions in places.items():
            for x, y in positions:
                if x >= self.width or y >= self.height:
                    raise ValueError(
                        f"{name}: {(x, y)} lies outside of the grid of {self.width} by "
                        f"{self.height}; x is 0..{self.width - 1}, y is 0..{self.height - 1}"
                    )
        if len(self.goals) > MAX_GOALS:
            raise ValueError(f"goal_pos has {len(self.goals)} goals; at most {MAX_GOALS}")
        if self.observe == "grid" and not self.see_through_walls:
            raise ValueError("see_through_walls=False needs observe='window'")
        if len(self.starts) > self.agents:
            raise ValueError(f"start_pos has {len(self.starts)} entries for {self.agents} agents")
        if self.collisions == "block" and len(set(self.starts)) < len(self.starts):
            raise ValueError("start_pos puts two agents on one cell; use collisions='pass'")
        self._check_layout()
        return self

    def _check_layout(self) -> None:
        inner = (self.width - 2 * self.border, self.height - 2 * self.border)
        least = {"four_rooms": (5, 5), "door_key": (4, 2)}.get(self.layout, (1, 1))
        if inner[0] < least[0] or inner[1] < least[1]:
            need = (least[0] + 2 * self.border, least[1] + 2 * self.border)
            raise ValueError(
                f"layout {self.layout!r} needs at least {need[0]} by {need[1]} cells"
                f"{' with a border' if self.border else ''}, not {self.width} by {self.height}"
            )

    @property
    def starts(self) -> tuple[Position, ...]:
        """`start_pos` as a list, one entry for each of the first agents."""
        return _positions(self.start_pos)

    @property
    def goals(self) -> tuple[Position, ...]:
        """`goal_pos` as a list."""
        return _positions(self.goal_pos)

    def fixed_sizes(self) -> GridWorldEnvelope:
        """Return `fixed_envelope` with its own type."""
        return GridWorldEnvelope(**self.fixed_envelope().model_dump())

    def sizes(self) -> GridWorldEnvelope:
        """Return this config's own sizes."""
        return GridWorldEnvelope(
            agents=self.agents,
            width=self.width,
            height=self.height,
            window=self.window,
        )


def _positions(value: Any) -> tuple[Position, ...]:
    """Read one position or several as a tuple of positions."""
    if not value:
        return ()
    return value if isinstance(value[0], tuple) else (value,)
