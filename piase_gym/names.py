"""What a name stands for: a world, an id or a scenario. All look-ups of names are done here.

A name is that of a world or its alias (``GridWorld``, ``TextBasedRoom``), an id
(``piase/GridWorld-v1``), a scenario of the library (``lost_key``) or the path of a scenario file.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from piase_gym import registry
from piase_gym.core.config import WorldConfig
from piase_gym.core.documents import agent_fields, entry_point, is_own, settings_of
from piase_gym.core.files import SCENARIO_SUFFIXES
from piase_gym.core.last_step import without_last_step
from piase_gym.core.recall import parse_remembered
from piase_gym.core.shared_memory import parse_shared
from piase_gym.errors import ConfigError, TextParseError, UnknownNameError
from piase_gym.registry import TaskSpec, WorldSpec


class ResolvedName(NamedTuple):
    """What a name stands for.

    Attributes:
        spec: The world.
        task: The id, if the name is one.
        scenario: The `Scenario`, if the name is one.
        own: The environment of one's own, or its class, if that was given.
    """

    spec: WorldSpec
    task: TaskSpec | None = None
    scenario: Any = None
    own: Any = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the world's config that the id or scenario sets."""
        if self.scenario is not None:
            return dict(self.scenario.fields)
        if self.own is not None:
            return own_fields(self.own)
        return {} if self.task is None else task_fields(self.task)


def task_fields(task: TaskSpec) -> dict[str, Any]:
    """Return the config fields of an id: those of its scenario, if it has one, and its own."""
    if task.scenario is None:
        return dict(task.config)
    from piase_gym import scenarios

    return {**scenarios.load(task.scenario).fields, **task.config}


def own_fields(env: Any) -> dict[str, Any]:
    """Return the config fields of an environment of one's own, or of its class."""
    kind = env if isinstance(env, type) else type(env)
    fields: dict[str, Any] = {"environment": entry_point(kind)}
    if not isinstance(env, type):
        fields["settings"] = settings_of(env)
    return fields | agent_fields(env)


def look_up(name: object) -> ResolvedName:
    """Return what a name stands for; a config and a scenario stand for themselves.

    So do an environment of one's own and its class.

    Raises:
        UnknownNameError: If it stands for nothing.
        ConfigError: If it is no name at all.
        ScenarioError: If it is a scenario that cannot be read.
    """
    if is_own(name):
        called = (name if isinstance(name, type) else type(name)).__name__
        spec = registry.own_row(called)
        if spec is None:
            raise ConfigError(f"{called} is no name for a world; rename the class")
        return ResolvedName(spec, own=name)
    if isinstance(name, WorldConfig):
        return ResolvedName(*registry.find(name.world))
    if isinstance(name, str) and not name.lower().endswith(SCENARIO_SUFFIXES):
        try:
            return ResolvedName(*registry.find(name))
        except UnknownNameError:
            if "/" in name:
                raise
            from piase_gym import scenarios

            if name not in scenarios.names():
                known = (*registry.list_worlds(), *scenarios.names(), *registry.list_tasks())
                raise UnknownNameError("world, id or scenario", name, known) from None
    from piase_gym import scenarios  # which reads YAML, and is rarely needed

    if not isinstance(name, str | Path | Mapping | scenarios.Scenario | scenarios.ScenarioHead):
        kind = type(name).__name__
        raise ConfigError(f"a world is named by a string or given as a config, not by a {kind}")
    scenario = scenarios.load(name)
    return ResolvedName(registry.world_spec(scenario.world), scenario=scenario)


def parse_text(world: str, text: str, config: Any = None) -> Any:
    """Read a text back into the facts it was written from (pure).

    The line of the last step, with which observations begin, is skipped: it is not a fact.

    Args:
        world: A world, an id or a scenario.
        text: What a text view showed.
        config: The config under which it was shown: the config object, a dict of its fields, or
            ``None`` for the defaults of `world`.

    Returns:
        The facts record of that world.

    Raises:
        TextParseError: If the text is not one that the world writes.
    """
    named = look_up(world)
    spec = named.spec
    if not isinstance(text, str):
        raise TextParseError(f"{spec.name}: a text is a string, not {type(text).__name__}")
    model = registry.load(spec.config, spec)
    if not isinstance(config, Mapping | model | None):
        kind = type(config).__name__
        raise ConfigError(f"{spec.name}: a config is a {model.__name__} or a mapping, not a {kind}")
    if config is None or isinstance(config, Mapping):
        config = registry.make_config(spec, {**named.fields, **(config or {})})
    parse, text = registry.load(spec.parser, spec), without_last_step(text)
    if config.hears_again:
        from piase_gym.worlds.channel.history import parse_heard

        parse = functools.partial(parse_heard, parse=parse)
    if config.remembers:
        parse = functools.partial(parse_remembered, parse=parse)
    return parse_shared(text, config, parse) if config.shared_memory else parse(text, config)
