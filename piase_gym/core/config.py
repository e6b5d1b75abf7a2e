"""Typed configs and envelopes: frozen, keyword-only, checked once, with errors of our own."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from piase_gym.core.limits import MOST_AGENTS, MOST_STEPS
from piase_gym.core.script.models import ChangeSetting, Script
from piase_gym.core.validation_messages import fields_at, in_words, short, without_branches
from piase_gym.errors import ConfigError, EnvelopeError, UnknownFieldError, suggest

WHOLE = "whole"
"""The context in which a config is written out with all its fields."""
ALIASES = {"max_cycles": "max_steps", "max_episode_steps": "max_steps"}
"""PettingZoo's and Gymnasium's words for the world's own `max_steps`."""


class Settings(BaseModel):
    """Fields that are checked once and never change."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    later: ClassVar[tuple[str, ...]] = ()
    """Fields that were added later: written out only if they differ from their default, so that old
    logs still have the same config."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return itself, which never changes; `model_copy`, which gives no memo, gets a copy."""
        return self if memo is not None else super().__deepcopy__(memo)

    @model_serializer(mode="wrap")
    def _without_later(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        """Leave out `later` fields at their defaults, unless the context asks for the whole."""
        found: dict[str, Any] = handler(self)
        if info.context == WHOLE:
            return found
        usual = {name: type(self).model_fields[name].default for name in self.later}
        return {k: value for k, value in found.items() if k not in usual or value != usual[k]}


class Envelope(Settings):
    """The largest sizes that the spaces of an environment allow for.

    Every field is an integer that only grows. A config fits if none of its sizes is larger.
    """

    agents: int = Field(1, ge=1, le=MOST_AGENTS, description="most agents")

    def union(self, other: Self) -> Self:
        """Return the smallest envelope that holds both."""
        mine, theirs = dict(self), dict(other)
        return type(self)(**{key: max(mine[key], theirs[key]) for key in mine})

    def excess(self, sizes: Self) -> list[str]:
        """List in words which of `sizes` do not fit into this envelope."""
        mine, theirs = dict(self), dict(sizes)
        return [f"{k} {theirs[k]} (at most {mine[k]})" for k in mine if theirs[k] > mine[k]]


# A name without spaces: letters, digits, ``_``, ``-`` and ``.``.
AgentId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=40)]
RESERVED_NAMES = ("all", "system")
"""What no agent is called: the recipient that is everyone else, and the sender of news and logs."""


class WorldConfig(Settings):
    """The fields that every world's config has.

    Raises:
        ConfigError: On construction, for an unknown field, a wrong type or a value out of range;
            the message names the world, the field and what is allowed.
    """

    world: ClassVar[str]
    later: ClassVar[tuple[str, ...]] = ("script",)
    agent_kind: ClassVar[str] = "agent"

    agents: int = Field(1, ge=1, le=MOST_AGENTS, description="how many agents take part")
    agent_ids: tuple[AgentId, ...] | None = Field(
        None, description="names of the agents in order; default: agent_0, agent_1, ..."
    )
    max_steps: int = Field(100, ge=1, le=MOST_STEPS, description="steps until truncation")
    shared_reward: bool = Field(False, description="give every agent the mean of all rewards")
    shared_memory: bool = Field(
        False,
        description="show each agent what all have seen and said, and where they are",
    )
    script: Script | None = Field(
        None, description="goals, conditions and events of a scenario; see Scenarios"
    )
    envelope: Envelope | None = Field(None, description="largest sizes; default: its own sizes")

    def __init__(self, **data: Any) -> None:
        """Check the fields; `max_cycles` and `max_episode_steps` mean `max_steps`."""
        try:
            super().__init__(**self.plain(data))
        except ValidationError as error:
            strange = any(item["type"] == "extra_forbidden" for item in error.errors())
            kind = UnknownFieldError if strange else ConfigError
            raise kind(explain(error, type(self))) from None

    @classmethod
    def plain(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields with aliases replaced by what they mean.

        Raises:
            ConfigError: If an alias and its field are both given.
        """
        plain: dict[str, Any] = {}
        keys: dict[str, str] = {}
        for key, value in fields.items():
            for name, part in cls.meaning(str(key), value).items():
                if name in plain:
                    both = f"{keys[name]!r} and {key!r}"
                    raise ConfigError(f"{cls.world}: {both} set the same; give one of them")
                plain[name], keys[name] = part, str(key)
        return plain

    @classmethod
    def meaning(cls, name: str, value: Any) -> dict[str, Any]:
        """Return the fields that one key stands for; worlds add aliases of their own."""
        return {ALIASES.get(name, name): value}

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        given = self.agent_ids or ()
        if len(set(given)) < len(given):
            raise ValueError(f"agent_ids must differ from each other: {', '.join(given)}")
        if len(given) > self.agents:
            raise ValueError(f"agent_ids names {len(given)} agents, but agents={self.agents}")
        names = self.names(max(self.agents, self.envelope.agents if self.envelope else 0))
        seen: set[str] = set()
        for name in names:
            if name in RESERVED_NAMES:
                raise ValueError(f"no agent can be called {name!r}; choose other agent_ids")
            if name in seen:
                raise ValueError(f"two agents would be called {name!r}; choose other agent_ids")
            seen.add(name)
        entries = len(getattr(self, "join_at", ()))
        if entries > self.agents:
            raise ValueError(f"join_at has {entries} entries for {self.agents} agents")
        if len(self.latecomers) == self.agents:
            raise ValueError("join_at leaves nobody at the start; give at least one agent 0")
        return self

    @property
    def remembers(self) -> bool:
        """Whether views end with what agents remember; see `piase_gym.core.recall`."""
        return False

    @property
    def hears_again(self) -> bool:
        """Whether views end with what agents have heard before, as in worlds of text."""
        return False

    @property
    def latecomers(self) -> dict[int, int | None]:
        """Agents that are absent at the start, with the step after which each enters, if fixed.

        Worlds whose agents can enter late have a field `join_at`.
        """
        return {agent: at for agent, at in enumerate(getattr(self, "join_at", ())) if at != 0}

    def sizes(self) -> Envelope:
        """Return this config's own sizes, as an envelope."""
        return Envelope(agents=self.agents)

    def largest_sizes(self) -> Envelope:
        """Return this config's sizes, with room for each value that its script sets in an episode.

        Values that are not allowed need none: `check_script` refuses them.
        """
        found = self.sizes()
        for change in () if self.script is None else self.script.responses(ChangeSetting):
            with contextlib.suppress(ConfigError):
                later = self.changed({change.setting: change.value, "script": None})
                found = found.union(later.sizes())
        return found

    def names(self, count: int | None = None) -> tuple[str, ...]:
        """Return the names of the first `count` agents (default: all of this config's)."""
        count = self.agents if count is None else count
        given = self.agent_ids or ()
        rest = tuple(f"{self.agent_kind}_{i}" for i in range(len(given), count))
        return (given + rest)[:count]

    @property
    def longest(self) -> int:
        """The number of steps after which every episode is over at the latest."""
        return self.max_steps

    def fixed_envelope(self) -> Any:
        """Return the envelope that fixes the spaces, of the world's own type.

        Raises:
            EnvelopeError: If the given envelope is smaller than `largest_sizes`, or these are more
                than any envelope of the world allows.
        """
        try:
            sizes = self.largest_sizes()
        except ValidationError as error:
            raise EnvelopeError(explain(error, type(self))) from None
        given = self.envelope.model_dump(exclude_unset=True) if self.envelope else {}
        envelope = sizes.model_copy(update=given)
        require_fit(self.world, envelope, sizes)
        return envelope

    def pinned(self, envelope: Envelope) -> Self:
        """Return this config with its envelope written out."""
        return self.model_copy(update={"envelope": envelope})

    def saved(self) -> dict[str, Any]:
        """Return the fields as snapshots and logs hold them: JSON-able, without the envelope."""
        return self.model_dump(mode="json", exclude={"envelope"})

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with some fields replaced, checked like a new config."""
        return type(self)(**{**self.kept(changes), **self.plain_changes(changes)})

    def plain_changes(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that changes of this config set, as `plain` does."""
        return self.plain(changes)

    def kept(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that these changes leave as they are: by default all that were given.

        Worlds leave out those that follow from others, which snapshots and logs write out, too.
        """
        return {name: getattr(self, name) for name in self.model_fields_set}

    def written(self, fields: Mapping[str, Any]) -> Self:
        """Return the config of which these are all fields, with the envelope of this one.

        Unlike in `changed`, what is not there has its default, and nothing follows from a change.
        """
        return type(self)(**{**fields, "envelope": self.envelope})

    def diff(self, other: Self) -> dict[str, Any]:
        """Return what changes from this config to `other`, as plain JSON-able values."""
        mine, theirs = (c.model_dump(mode="json", context=WHOLE) for c in (self, other))
        return {key: theirs[key] for key in theirs if theirs[key] != mine.get(key)}


class RecallConfig(WorldConfig):
    """The field of worlds whose agents perceive one part at a time and can be told the rest."""

    recall: Literal["map"] | None = Field(
        None,
        description="'map': agents are also told what they have perceived before in the episode, "
        "and when",
    )

    @property
    def remembers(self) -> bool:
        """Whether views end with what agents remember."""
        return self.recall == "map"


def require_fit(world: str, envelope: Envelope, sizes: Envelope) -> None:
    """Check that `sizes` fit into an envelope.

    Raises:
        EnvelopeError: If they do not; the message lists what is too large.
    """
    excess = envelope.excess(sizes)
    if excess:
        raise EnvelopeError(
            f"{world}: {', '.join(excess)} does not fit the envelope that fixed the spaces; "
            f"make the environment with envelope={envelope.union(sizes).model_dump()!r}"
        )


def require_same_additions(world: str, config: WorldConfig, other: WorldConfig) -> None:
    """Check that another config adds the same to the views of its world.

    Raises:
        EnvelopeError: If it does not: then it has other spaces.
    """
    for adds, setting in (("shared_memory", "shared_memory"), ("remembers", "recall")):
        if getattr(config, adds) != getattr(other, adds):
            mine, wanted = getattr(config, setting), getattr(other, setting)
            raise EnvelopeError(
                f"{world}: {setting}={wanted!r} has other spaces than {setting}={mine!r}; "
                "make another environment"
            )


def larger(config: Any, envelope: Envelope, more: Mapping[str, int]) -> Any:
    """Return a config with an envelope that also has room for `more`.

    Raises:
        EnvelopeError: If there is no such size, or it is not allowed.
    """
    kind = type(envelope)
    for name in more:
        if name not in kind.model_fields:
            hint = suggest(name, kind.model_fields)
            raise EnvelopeError(f"{config.world}: an envelope has no size {name!r}; {hint}")
    try:
        wanted = kind(**{**envelope.model_dump(), **more})
    except ValidationError as error:
        raise EnvelopeError(explain(error, type(config))) from None
    return config.changed({"envelope": envelope.union(wanted).model_dump()})


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Turn a pydantic error into one sentence per problem, with what is allowed."""
    title = getattr(model, "world", model.__name__)
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(map(str, without_branches(item["loc"])))
        if item["type"] == "extra_forbidden":
            hint = suggest(item["loc"][-1], fields_at(model, item["loc"][:-1]))
            lines.append(f"{title}: unknown key {where!r}; {hint}")
        else:
            text = str(item["msg"]).replace(f"Value error, {title}: ", "Value error, ")
            message, shown = in_words({**item, "msg": text}), short(item["input"])
            named = f"{title}.{where}: {message} (got {shown}){_nearest_choice(item)}"
            lines.append(named if where else f"{title}: {message}")
    return "\n".join(lines)


def _nearest_choice(item: Any) -> str:
    """Suggest the nearest literal for a misspelt choice."""
    if item["type"] not in ("literal_error", "enum"):
        return ""
    expected = str(item.get("ctx", {}).get("expected", ""))
    choices = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",")]
    close = difflib.get_close_matches(str(item["input"]), choices, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
