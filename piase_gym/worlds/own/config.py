"""`OwnConfig`: which environment of your own, and its settings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from piase_gym.core.config import WorldConfig
from piase_gym.core.documents import (
    agent_fields,
    entry_point,
    own_classes,
    own_named,
    unknown_settings,
)
from piase_gym.core.limits import MOST_STEPS
from piase_gym.errors import ConfigError, UnknownFieldError, suggest

HOOKS = ("adjust_difficulty", "introduce_element")
"""Methods of the DSE document that change an environment between two episodes."""

SHARED = ("agents", "max_steps")
"""Fields that, where they are given, are settings of a class with such arguments, too."""


class OwnConfig(WorldConfig):
    """The config of an environment of your own; unknown fields are settings of the environment."""

    world: ClassVar[str] = "OwnEnvironment"

    environment: str = Field(description="the class, as module:name; it must already be imported")
    max_steps: int = Field(1000, ge=1, le=MOST_STEPS, description="steps until truncation")
    settings: dict[str, Any] | None = Field(
        default_factory=dict,
        description="arguments of the environment; null if they cannot be written as JSON",
    )
    changes: tuple[tuple[str, dict[str, Any]], ...] = Field(
        (), description="calls of adjust_difficulty and introduce_element, in order"
    )
    timeout: float | None = Field(
        None,
        gt=0,
        le=1e6,
        description="limit of each call in seconds, in a process of its own; null: none",
    )

    def __init__(self, **data: Any) -> None:
        """Check the fields; any other argument is a setting."""
        given = self.plain(data)
        if "environment" not in given:
            found = [entry_point(kind) for kind in own_named(self.world)]
            if len(found) > 1:
                message = " or ".join(f"environment={place!r}" for place in found)
                raise ConfigError(f"several environments are called {self.world}; give {message}")
            if found:
                given["environment"] = found[0]
        unknown = {name: given.pop(name) for name in list(given) if name not in self.field_names()}
        kind = own_classes.get(given.get("environment", ""))
        if kind is not None and "settings" not in given:  # it may count on these, too
            known = inspect.signature(kind).parameters
            unknown |= {name: given[name] for name in SHARED if name in given and name in known}
        if "agents" not in given and given.get("agent_ids") is None:
            given |= agent_fields(kind)
        settings = given.get("settings", {})
        if unknown and isinstance(settings, Mapping | None):
            if settings is None:
                raise ConfigError(
                    f"{self.world} was made with what cannot be written as JSON, so it cannot be "
                    f"made again with another {next(iter(unknown))!r}"
                )
            given["settings"] = {**settings, **unknown}
        super().__init__(**given)
        strange = unknown_settings(self.kind, self.settings or {})
        if strange:
            names = [*self.field_names(), *inspect.signature(self.kind).parameters]
            raise UnknownFieldError(
                f"{self.world}: unknown key {strange[0]!r}; {suggest(strange[0], names)}"
            )

    def kept(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was given, and the settings: of these, only changes of settings make more."""
        return {**super().kept(changes), "settings": self.settings}

    @classmethod
    def field_names(cls) -> frozenset[str]:
        """Return the names of the fields."""
        return frozenset(cls.model_fields)

    @model_validator(mode="after")
    def _check_environment(self) -> Self:
        if self.environment not in own_classes:
            module = self.environment.partition(":")[0]
            raise ValueError(
                f"there is no environment {self.environment!r:.80}; import {module!r:.60} first"
            )
        wrong = [name for name, _ in self.changes if name not in HOOKS]
        if wrong:
            raise ValueError(f"changes are calls of {' and '.join(HOOKS)}, not of {wrong[0]!r:.40}")
        return self

    @property
    def kind(self) -> type[Any]:
        """The class of the environment."""
        return own_classes[self.environment]
