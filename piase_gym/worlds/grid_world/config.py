"""GridWorld's config: everything that a task can set, checked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from piase_gym.core.limits import MOST_STEPS, Reward, Share
from piase_gym.errors import ConfigError
from piase_gym.worlds.channel.config import ChannelEnvelope, SymbolConfig
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.levels import LAYOUTS, custom, of_layout
from piase_gym.worlds.grid_world.limits import MAX_GOALS, MAX_MOVERS, MAX_PATCHES, MAX_SIDE

Position = tuple[Annotated[int, Field(ge=0, lt=MAX_SIDE)], Annotated[int, Field(ge=0, lt=MAX_SIDE)]]
"""(x, y) with (0, 0) at the top left."""
if TYPE_CHECKING:
    Layout = str
else:
    Layout = Literal[LAYOUTS]
Doors = Literal["open", "closed", "locked", "gates", "mixed"]
DOORS: tuple[str, ...] = Doors.__args__  # type: ignore[attr-defined]


class Rewards(BaseModel):
    """GridWorld's reward table: what each event is worth to the agent that causes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    goal: Reward = Field(10.0, description="reaching a goal")
    move: Reward = Field(-0.1, description="entering a free cell")
    blocked: Reward = Field(-1.0, description="walking against something")
    stay: Reward = Field(-0.05, description="staying")
    interact: Reward = Field(-0.1, description="picking up, dropping, opening, closing, switching")
    locked: Reward = Field(-0.1, description="trying a locked door without a key, a jammed switch")
    illegal: Reward = Field(-1.0, description="an illegal or unreadable command")
    hazard: Reward = Field(-10.0, description="stepping onto a hazard")
    fruit: Reward = Field(1.0, description="eating a fruit")
    food: Reward = Field(10.0, description="all food of a level, shared by weight and strength")
    heavy: Reward = Field(-0.1, description="lifting food that is too heavy")
    tag: Reward = Field(10.0, description="tagging a runner")
    caught: Reward = Field(-10.0, description="being tagged")
    starved: Reward = Field(-10.0, description="running out of energy")


class GridWorldEnvelope(ChannelEnvelope):
    """The sizes that fix GridWorld's spaces."""

    agents: int = Field(1, ge=1, le=kinds.MAX_AGENTS, description="most agents")
    width: int = Field(1, ge=1, le=MAX_SIDE, description="widest map")
    height: int = Field(1, ge=1, le=MAX_SIDE, description="highest map")
    window: int = Field(1, ge=1, le=15, description="largest window")
    status: int = Field(0, ge=0, le=1, description="1: vectors tell energy, level, role and food")
    recall: int = Field(0, ge=0, le=1, description="1: vectors tell what agents remember")

    @property
    def wide(self) -> bool:
        """Whether vectors hold more than the frame and the scalars."""
        return bool(self.symbols or self.status or self.recall)


class GridWorldConfig(SymbolConfig):
    """Everything about a GridWorld that can be set; see `GridWorld` for what it means."""

    world: ClassVar[str] = "GridWorld"
    has_places: ClassVar[bool] = True

    agents: int = Field(1, ge=1, le=kinds.MAX_AGENTS, description="how many agents take part")
    layout: Layout = Field("empty", description="what stands on the grid")
    width: int = Field(8, ge=2, le=MAX_SIDE, description="columns")
    height: int = Field(8, ge=2, le=MAX_SIDE, description="rows")
    border: bool = Field(False, description="surround the grid with a wall, inside its size")
    map: tuple[str, ...] | None = Field(
        None,
        description="rows of signs for layout 'custom': one string with line breaks, or a list",
    )
    walls: tuple[Position, ...] = Field((), description="further walls, as (x, y)")
    difficulty: Share | tuple[Share, Share] | None = Field(
        None, description="0 to 1, or a range to draw from; default: as the other fields say"
    )
    obstacle_density: float = Field(
        0.2, ge=0.0, le=0.6, description="share of the cells that layout 'obstacles' blocks"
    )
    rooms: int = Field(4, ge=2, le=16, description="maximum number of rooms in layout 'multi_room'")
    doors: Doors = Field("closed", description="what joins the rooms of layout 'multi_room'")
    boxes: int = Field(
        0, ge=0, le=32, description="boxes at random places; walking into one pushes it"
    )
    hazards: int = Field(0, ge=0, le=64, description="hazards at random places")
    hazard_ends: bool = Field(True, description="whether a hazard ends the episode of its victim")
    fruits: int = Field(0, ge=0, le=MAX_PATCHES, description="bushes with fruit at random places")
    regrow: Share = Field(0.02, description="chance per step that a bare bush bears fruit again")
    movers: int = Field(0, ge=0, le=MAX_MOVERS, description="drones at random places")
    mover_period: int = Field(1, ge=1, le=1000, description="drones move once in this many steps")
    mover_chance: Share = Field(0.0, description="chance that a drone turns before it moves")
    food: int | None = Field(
        None, ge=0, le=32, description="pieces of food; default: 3 in layout 'foraging', else 0"
    )
    min_food_level: int = Field(1, ge=1, le=kinds.MAX_FOOD, description="least weight of food")
    food_level: int = Field(
        2, ge=1, le=kinds.MAX_FOOD, description="greatest weight of food, in agents' strength"
    )
    levels: tuple[Annotated[int, Field(ge=1, le=kinds.MAX_FOOD)], ...] = Field(
        (), description="each agent's strength in lifting food; default: 1"
    )
    taggers: int = Field(
        1, ge=1, le=kinds.MAX_AGENTS, description="agents that chase in layout 'tag'"
    )
    energy: int = Field(0, ge=0, le=255, description="steps until an agent starves; 0: never")
    fruit_energy: int = Field(20, ge=0, le=255, description="energy in a fruit")
    join_at: tuple[Annotated[int, Field(ge=0, le=MOST_STEPS)] | None, ...] = Field(
        (),
        description="step after which each agent enters; 0 (default): there from the start; null: "
        "only when somebody lets it in",
    )
    start_pos: Position | tuple[Position, ...] | None = Field(
        None, description="(x, y) of the first agent, or one for each; default: random"
    )
    goal_pos: Position | tuple[Position, ...] | None = Field(
        None, description="(x, y) of the goal, or several; default: one at random"
    )
    random_goals: int = Field(
        1, ge=0, le=MAX_GOALS, description="goals at random places, where none is fixed"
    )
    collisions: Literal["block", "pass"] = Field(
        "block", description="whether agents block each other or may share a cell"
    )
    observe: Literal["window", "grid"] = Field(
        "window", description="an egocentric window turned to the heading, or the whole grid"
    )
    window: int = Field(7, ge=3, le=15, description="side length of the window, odd")
    see_through_walls: bool = Field(True, description="False hides what is behind walls and doors")
    frame: Literal["grid", "agent"] = Field(
        "grid",
        description="the frame of reference of commands and texts: 'grid' has north, east, south "
        "and west, 'agent' ahead, behind, left and right",
    )
    recall: Literal["map"] | None = Field(
        None,
        description="'map': agents are also shown what they have seen before in the episode, and "
        "how many steps ago",
    )
    max_steps: int = Field(200, ge=1, le=MOST_STEPS, description="steps until truncation")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: GridWorldEnvelope | None = Field(None, description="largest sizes")

    @classmethod
    def plain(cls, fields: Any) -> dict[str, Any]:
        """Also let a map bring its size and layout, and a layout its own rewards."""
        plain = super().plain(fields)
        if plain.get("map") is not None:
            rows = custom.split(plain["map"])
            plain.setdefault("layout", "custom")
            plain["map"] = rows
            for name, size in (("width", len(rows[0])), ("height", len(rows))):
                if plain.setdefault(name, size) != size:
                    raise ConfigError(
                        f"GridWorld.{name} is {plain[name]!r}, but the map has {size}; leave it out"
                    )
        own = of_layout(str(plain.get("layout")), "REWARDS", None)
        given = plain.get("rewards") or {}
        if own and isinstance(given, dict):
            plain["rewards"] = {**own, **given}
        return plain

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

    @field_validator("difficulty")
    @classmethod
    def _check_difficulty(cls, value: Any) -> Any:
        if isinstance(value, tuple) and value[0] > value[1]:
            raise ValueError(f"a range goes from low to high, not from {value[0]} to {value[1]}")
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.window % 2 == 0:
            raise ValueError(f"window must be odd, from 3 to 15, not {self.window}")
        if (self.layout == "custom") != (self.map is not None):
            raise ValueError("layout 'custom' and map belong together; give both or only the map")
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
        if self.observe == "grid" and self.recall is not None:
            raise ValueError("recall='map' needs observe='window': else all is seen")
        if len(self.starts) > self.agents:
            raise ValueError(f"start_pos has {len(self.starts)} entries for {self.agents} agents")
        if self.collisions == "block" and len(set(self.starts)) < len(self.starts):
            raise ValueError("start_pos puts two agents on one cell; use collisions='pass'")
        if len(self.levels) > self.agents:
            raise ValueError(f"levels has {len(self.levels)} entries for {self.agents} agents")
        self._check_map()
        self._check_layout()
        return self

    def _check_map(self) -> None:
        """Check that goals, walls and the border are where the map has nothing else."""
        sides = (0, self.width - 1), (0, self.height - 1)
        rim = tuple(p for p in self.plan if self.border and (p[0] in sides[0] or p[1] in sides[1]))
        for name, places, code in (
            ("goal_pos", _positions(self.goal_pos), kinds.GOAL),
            ("walls", self.walls, kinds.WALL),
            ("border", rim, kinds.WALL),
        ):
            for place in places:
                there = self.plan.get(place, code)
                if there != code:
                    raise ValueError(
                        f"{name}: {place} of the map is {kinds.NAMES[there]}, not free floor"
                    )

    def _check_layout(self) -> None:
        inner = (self.width - 2 * self.border, self.height - 2 * self.border)
        least = of_layout(self.layout, "LEAST_INSIDE", (1, 1))
        if inner[0] < least[0] or inner[1] < least[1]:
            need = (least[0] + 2 * self.border, least[1] + 2 * self.border)
            raise ValueError(
                f"layout {self.layout!r} needs at least {need[0]} by {need[1]} cells"
                f"{' with a border' if self.border else ''}, not {self.width} by {self.height}"
            )
        if self.layout == "tag" and self.taggers >= self.agents:
            raise ValueError(
                f"layout 'tag' needs agents to chase: {self.agents} agents, {self.taggers} taggers"
            )
        codes = list(self.plan.values())
        movers = codes.count(kinds.MOVER)
        fruits = codes.count(kinds.FRUIT) + codes.count(kinds.BARE)
        if movers + self.movers > MAX_MOVERS:
            raise ValueError(f"map and movers make {movers + self.movers}; at most {MAX_MOVERS}")
        if fruits + self.fruits > MAX_PATCHES:
            raise ValueError(f"map and fruits make {fruits + self.fruits}; at most {MAX_PATCHES}")
        if self.min_food_level > self.food_level:
            raise ValueError(
                f"min_food_level={self.min_food_level} is above food_level={self.food_level}"
            )
        if self.layout == "foraging" and self.goal_pos:
            raise ValueError("layout 'foraging' has food instead of goals; leave out goal_pos")

    @property
    def starts(self) -> tuple[Position, ...]:
        """Where the first agents start: `start_pos`, or else the signs of the map."""
        return _positions(self.start_pos) or (custom.starts(self.map)[: self.agents])

    @property
    def goals(self) -> tuple[Position, ...]:
        """Where fixed goals are: at `goal_pos`, and at the signs of the map."""
        given = _positions(self.goal_pos)
        marked = tuple(place for place, code in self.plan.items() if code == kinds.GOAL)
        return given + tuple(place for place in marked if place not in given)

    @property
    def plan(self) -> dict[Position, int]:
        """The objects of the map, by place."""
        return custom.plan(self.map)

    @property
    def num_food(self) -> int:
        """Pieces of food at random places."""
        return (3 if self.layout == "foraging" else 0) if self.food is None else self.food

    @property
    def clearing(self) -> bool:
        """Whether the task is to gather all food, rather than to reach a goal."""
        food = any(code in kinds.FOODS for code in self.plan.values()) or self.num_food > 0
        return food and not self.goals

    @property
    def num_taggers(self) -> int:
        """How many agents chase the others."""
        return self.taggers if self.layout == "tag" else 0

    @property
    def any_goals(self) -> int:
        """How many goals stand at random places."""
        return 0 if self.goals or self.clearing or self.layout == "tag" else self.random_goals

    @property
    def surviving(self) -> bool:
        """Whether the only task is to last to the end."""
        return not (self.goals or self.any_goals or self.clearing or self.num_taggers)

    @property
    def has_keys(self) -> bool:
        """Whether its levels can contain keys."""
        doors = self.layout == "multi_room" and self.doors in ("locked", "mixed")
        return doors or self.layout == "door_key" or kinds.KEY in self.plan.values()

    @property
    def difficulties(self) -> tuple[float, float] | None:
        """The range of `difficulty`, if it is given."""
        if self.difficulty is None or isinstance(self.difficulty, tuple):
            return self.difficulty
        return self.difficulty, self.difficulty

    @property
    def must_check(self) -> bool:
        """Whether some levels of this config may have no solution."""
        fixed = bool(self.goals or self.starts or self.walls or self.map)
        scattered = bool(self.boxes or self.hazards or self.movers or self.num_food)
        return (
            scattered
            or of_layout(self.layout, "MAY_FAIL", True)
            or (self.layout != "empty" and fixed)
            or bool(self.walls)
        )

    @property
    def plain_rules(self) -> bool:
        """Whether nothing beyond doors, keys and goals is in use, and walls do not hide cells."""
        extras = (self.boxes, self.hazards, self.fruits, self.movers, self.num_food, self.energy)
        return (
            not any(extras)
            and not self.surviving
            and of_layout(self.layout, "PLAIN_RULES", True)
            and self.collisions == "block"
            and self.see_through_walls
            and not self.shared_reward
            and not self.latecomers
            and self.observe == "window"
            and self.frame == "grid"
            and self.recall is None
        )

    def sizes(self) -> GridWorldEnvelope:
        """Return this config's own sizes."""
        return GridWorldEnvelope(
            agents=self.agents,
            width=self.width,
            height=self.height,
            window=self.window,
            **self.channel_sizes(),
            recall=self.recall is not None,
            status=bool(self.energy or self.levels or self.num_taggers or self.clearing),
        )


def _positions(value: Any) -> tuple[Position, ...]:
    """Read one position or several as a tuple of positions."""
    if not value:
        return ()
    return value if isinstance(value[0], tuple) else (value,)


__all__ = [
    "DOORS",
    "LAYOUTS",
    "MAX_GOALS",
    "MAX_MOVERS",
    "MAX_PATCHES",
    "MAX_SIDE",
    "GridWorldConfig",
    "GridWorldEnvelope",
    "Rewards",
]
