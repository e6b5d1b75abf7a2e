"""ObjectSearch's config: which place, what lies there, and what explorers can see and say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from piase_gym.core.config import Envelope, WorldConfig
from piase_gym.core.jsonable import jsonable
from piase_gym.core.limits import MOST_STEPS, Share, SmallReward
from piase_gym.errors import ConfigError
from piase_gym.worlds.channel.config import MAX_HISTORY, MessageConfig, history_field
from piase_gym.worlds.object_search.codes import MAX_AGENTS, MAX_LINE, MAX_OBJECTS, MAX_SIDE, NAMES

Backend = Literal["mock", "house", "camera"]
_NAME = re.compile(r"[A-Za-z0-9_'-]+( [A-Za-z0-9_'-]+)*")
MOST_DELAY = 1000
MAX_DELAY = 8
"""The most steps that a report can take."""
MOCK_STEPS = 20
"""The default number of steps of an episode on a line, as in the explorer document."""


class Rewards(BaseModel):
    """ObjectSearch's reward table."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    found: SmallReward = Field(1.0, description="being the first of the team to see an object")
    step: SmallReward = Field(-0.01, description="a step with a legal command")
    message: SmallReward = Field(-0.02, description="a report")
    illegal: SmallReward = Field(-0.1, description="an illegal or unreadable command")


class ObjectSearchEnvelope(Envelope):
    """The sizes that fix ObjectSearch's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    objects: int = Field(1, ge=1, le=MAX_OBJECTS, description="most names of objects")
    width: int = Field(1, ge=1, le=MAX_LINE, description="most columns, or positions")
    height: int = Field(1, ge=1, le=MAX_SIDE, description="most rows")
    house: int = Field(0, ge=0, le=1, description="1: vectors show columns ahead")
    channel: int = Field(0, ge=0, le=1, description="1: agents can report")
    delay: int = Field(0, ge=0, le=MAX_DELAY, description="most steps until a report is heard")
    found: int = Field(0, ge=0, le=1, description="1: vectors tell what the team has found")
    camera: int = Field(0, ge=0, le=1, description="1: vectors tell what is in a picture")
    message_history: int = Field(0, ge=0, le=MAX_HISTORY, description="most words kept")

    later: ClassVar[tuple[str, ...]] = ("message_history",)


class ObjectSearchConfig(MessageConfig):
    """Everything about an ObjectSearch that can be set; see `ObjectSearch` for what it means."""

    world: ClassVar[str] = "ObjectSearch"
    has_places: ClassVar[bool] = True
    length_unit: ClassVar[str] = "columns"
    later: ClassVar[tuple[str, ...]] = (
        *WorldConfig.later,
        *"message_cost message_topology message_history".split(),
    )

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    backend: Backend = Field(
        "house", description="what agents perceive: a line, a house, or pictures of a house"
    )
    describer: str = Field(
        "colours", min_length=1, max_length=100, description="who describes pictures, by name"
    )
    width: int = Field(16, ge=1, le=MAX_LINE, description="columns of a house; positions of a line")
    height: int = Field(16, ge=1, le=MAX_SIDE, description="rows of a house")
    room: int = Field(6, ge=3, le=MAX_SIDE, description="longest side of a room")
    furniture: Annotated[float, Field(ge=0.0, le=0.5)] = Field(
        0.15, description="share of a house that furniture takes up, at most"
    )
    objects: int = Field(8, ge=1, le=MAX_OBJECTS, description="how many objects lie there")
    object_names: tuple[str, ...] = Field(
        NAMES, description="what objects are called; each of a house lies there once"
    )
    line: tuple[tuple[str, ...], ...] | None = Field(
        None, description="what lies at each position of a line; default: at random"
    )
    wandering: int = Field(0, ge=0, le=MAX_OBJECTS, description="objects that move about")
    wander_period: int = Field(4, ge=1, le=1000, description="they move every so many steps")
    sight: int = Field(6, ge=1, le=6, description="how many columns far agents see")
    start: Literal["together", "apart"] = Field(
        "together", description="whether agents start near each other or anywhere in a house"
    )
    recall: Annotated[int, Field(strict=True, ge=0, le=MOST_DELAY)] | Literal["map"] | None = Field(
        None,
        description="'map': agents are also told what they have perceived before in the episode, "
        "and when; a number: steps between cue and choice, on a line of its own",
    )
    channel: bool = Field(True, description="whether agents can report what they see")
    speech: bool = Field(
        False, description="whether agents can also speak in words, which batches do not have"
    )
    message_delay: int = Field(0, ge=0, le=MAX_DELAY, description="steps until a report is heard")
    message_history: int = history_field()
    message_loss: Share = Field(0.0, description="share of reports that a listener does not get")
    message_range: int | None = Field(
        None, ge=0, le=MAX_LINE, description="how many columns far reports are heard; default: all"
    )
    show_found: bool = Field(False, description="whether agents know what the team has found")
    end_when_found: bool | None = Field(
        None, description="whether finding everything ends the episode; default: in a house"
    )
    join_at: tuple[Annotated[int, Field(ge=0, le=MOST_STEPS)] | None, ...] = Field(
        (),
        description="step after which each agent enters; 0 (default): there from the start; null: "
        "only when it is let in",
    )
    max_steps: int = Field(100, ge=1, le=65_535, description="steps until truncation")
    rewards: Rewards = Field(default_factory=lambda: Rewards(), description="the reward table")
    envelope: ObjectSearchEnvelope | None = Field(None, description="largest sizes")

    @property
    def delay(self) -> int | None:
        """Steps between cue and choice in a task of delayed recall, else ``None``."""
        return self.recall if isinstance(self.recall, int) else None

    @property
    def remembers(self) -> bool:
        """Whether views end with what agents remember."""
        return self.recall == "map"

    @property
    def hears_again(self) -> bool:
        """Whether there is room in views for words that agents have heard before."""
        sizes = self.envelope
        kept = max(self.message_history, 0 if sizes is None else sizes.message_history)
        return self.speech and kept > 0

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Also accept `positions` as the width of a line."""
        return {"width": value} if name == "positions" else super().meaning(name, value)

    @classmethod
    def plain(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Also take width and names from a line, which may be a mapping from positions."""
        plain = super().plain(fields)
        for name, value in recall_fields(plain.get("recall")).items():
            given = plain.setdefault(name, value)
            if name != "max_steps" and given not in (value, jsonable(value)):
                raise ConfigError(
                    f"ObjectSearch.recall={plain['recall']} is for {name}={value!r}, "
                    f"not {plain[name]!r:.60}"
                )
        if plain.get("backend") != "mock":
            return plain
        plain.setdefault("max_steps", MOCK_STEPS)
        line = plain.get("line")
        if line is None:
            return plain
        try:
            plain["line"] = line = _positions(line, plain.get("width"))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"ObjectSearch.line: {error}") from None
        names = tuple(dict.fromkeys(name for here in line for name in here))
        own = {
            "width": len(line),
            "object_names": names or NAMES[:1],
            "objects": max(1, len(names)),
        }
        for name, value in own.items():
            if plain.setdefault(name, value) != value and name != "object_names":
                count = f"{value} positions" if name == "width" else f"{len(names)} different names"
                raise ConfigError(
                    f"ObjectSearch.{name} is {plain[name]!r}, but the line has {count}"
                )
        return plain

    def kept(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Drop what the old `recall` or `line` has set, if that changes."""
        old = recall_fields(self.recall) if "recall" in changes else {}
        line = changes.get("line")
        if line is not None:
            old["objects"] = self.objects
        if self.line is not None and isinstance(line, list | tuple):
            old["width"] = self.width
        kept = super().kept(changes)
        return {
            name: value for name, value in kept.items() if name not in old or value != old[name]
        }

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.in_house:
            self._check_house()
        elif self.line is not None:
            lost = {name for here in self.line for name in here} - set(self.object_names)
            if lost:
                raise ValueError(f"line has {sorted(lost)[0]!r}, which is not in object_names")
        if len(self.object_names) > MAX_OBJECTS or len(set(self.object_names)) < len(
            self.object_names
        ):
            raise ValueError(f"object_names must be at most {MAX_OBJECTS}, all different")
        for name in self.object_names:
            if not _NAME.fullmatch(name) or len(name) > 40:
                raise ValueError(
                    f"object_names has {name!r:.60}; allowed are letters, digits, ', -, _ and "
                    "single spaces, at most 40"
                )
        if self.objects > len(self.object_names):
            raise ValueError(
                f"objects is {self.objects}, but there are {len(self.object_names)} names"
            )
        if self.delay is not None and (self.line is not None or self.wandering):
            raise ValueError("recall has a line of its own, on which nothing wanders")
        if self.wandering > self.objects:
            raise ValueError(f"wandering is {self.wandering}, but objects is {self.objects}")
        if self.message_history and not self.speech:
            raise ValueError("message_history is about words; give speech=True, or leave it out")
        return self

    def _check_house(self) -> None:
        if self.line is not None:
            raise ValueError("line needs backend='mock'")
        for name in ("width", "height"):
            if not 5 <= getattr(self, name) <= MAX_SIDE:
                raise ValueError(
                    f"{name} of a house must be in 5..{MAX_SIDE}, not {getattr(self, name)}"
                )

    @property
    def in_house(self) -> bool:
        """Whether the place is a house, however it is perceived."""
        return self.backend != "mock"

    @property
    def in_pictures(self) -> bool:
        """Whether agents see a house in pictures."""
        return self.backend == "camera"

    @property
    def ends_when_found(self) -> bool:
        """Whether finding everything ends the episode."""
        return self.in_house if self.end_when_found is None else self.end_when_found

    def sizes(self) -> ObjectSearchEnvelope:
        """Return this config's own sizes."""
        return ObjectSearchEnvelope(
            agents=self.agents,
            objects=len(self.object_names),
            width=self.width,
            height=self.height if self.in_house else 1,
            house=self.in_house,
            channel=self.channel,
            delay=self.message_delay,
            message_history=self.message_history,
            found=self.show_found,
            camera=self.in_pictures,
        )


RECALL_NAMES = ("forward sign", "backward sign", "lamp")
"""The two signs of a delayed recall, forward and backward, and the object that they lead to."""


def recall_fields(delay: Any) -> dict[str, Any]:
    """Return the fields that a delayed recall sets, none if there is none."""
    if type(delay) is not int or not 0 <= delay <= MOST_DELAY:
        return {}
    return {
        "backend": "mock",
        "agents": 1,
        "width": 3,
        "objects": 1,
        "object_names": RECALL_NAMES,
        "channel": False,
        "end_when_found": True,
        "max_steps": delay + 2,
    }


def _positions(line: Any, width: Any) -> tuple[tuple[str, ...], ...]:
    """Read what lies at each position, given as a list or as a mapping from positions."""
    if isinstance(line, Mapping):
        here = {_position(key): names for key, names in line.items()}
        count = max(here, default=0) + 1 if width is None else width
        if max(here, default=0) >= count:
            raise ValueError(f"position {max(here)} lies beyond width {count}")
        if not isinstance(count, int) or count > MAX_LINE:
            raise ValueError(f"a line has at most {MAX_LINE} positions")
        line = [here.get(position, ()) for position in range(count)]
    if not isinstance(line, list | tuple):
        raise ValueError(f"a list of what lies at each position is expected, not {line!r:.60}")
    found = tuple((names,) if isinstance(names, str) else names for names in line)
    for names in found:
        if not isinstance(names, list | tuple):
            raise ValueError(f"what lies at a position is a list of names, not {names!r:.60}")
    for name in (name for names in found for name in names):
        if not isinstance(name, str):
            raise ValueError(f"names of objects are strings, not {name!r:.60}")
    return tuple(map(tuple, found))


def _position(key: Any) -> int:
    """Read a position, which is a string where a line came as JSON."""
    if isinstance(key, bool) or not re.fullmatch(r"\d+", str(key)):
        raise ValueError(f"positions count from 0 in whole numbers; {key!r:.60} is none")
    return int(key)
