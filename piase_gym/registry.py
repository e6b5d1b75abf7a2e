"""One table of worlds and tasks, which fills the registries of Gymnasium and PettingZoo.

Rows hold strings, not classes: nothing is imported until a world is made, and every spec can be
written as JSON.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import pettingzoo

from piase_gym.core.documents import own_named
from piase_gym.errors import ConfigError, MissingExtraError, PiaseError, UnknownNameError

NAMESPACE = "piase"


def _missing(name: str, extra: str | None, module: str | None) -> str | None:
    """Return what is needed but not installed, or ``None``."""
    if extra is None or module is None or importlib.util.find_spec(module):
        return None
    return str(MissingExtraError(name, extra))


@dataclass(frozen=True, kw_only=True)
class WorldSpec:
    """One world: where its parts are.

    Attributes:
        name: The name users type, such as ``GridWorld``.
        summary: One sentence for lists.
        world: Entry point of the `World` class, ``module:name``.
        config: Entry point of its config class; importing it must be cheap.
        parser: Entry point of the function ``(text, config) -> facts``.
        oracle: Entry point of its oracle class, if there is one.
        scripted: Entry point of a rule-based player that knows only its facts, if there is one:
            made with ``(world)`` for one agent and one episode, it has ``act(agent number)``.
        extra: The optional part of the package that it needs.
        module: The module that this part provides: without it, the world is `missing`.
        outside: One sentence about what it plays in outside the package, such as a window of the
            user's; such a world is played only when asked for by itself, never in a sweep.
        aliases: Other names, such as those of the PiaSE documents.
    """

    name: str
    summary: str
    world: str
    config: str
    parser: str
    oracle: str | None = None
    scripted: str | None = None
    extra: str | None = None
    module: str | None = None
    outside: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def missing(self) -> str | None:
        """Return what the world needs that is not installed or at hand, or ``None``."""
        return _missing(self.name, self.extra, self.module) or self.outside


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One id: a world with a config and partners, pinned by a version.

    Attributes:
        id: Such as ``piase/GridWorld-DoorKey-8x8-v1``.
        world: Name of the world.
        config: Fields of the world's config.
        scenario: A scenario of the library that gives the other fields.
        partners: Policy names for agents that the Gymnasium environment's learner does not play;
            the key ``"*"`` stands for all of them.
        extra: The optional part of the package that it needs besides that of its world.
        module: The module that this part provides.
    """

    id: str
    world: str
    config: Mapping[str, Any] = field(default_factory=dict)
    scenario: str | None = None
    partners: Mapping[str, str] = field(default_factory=lambda: {"*": "random"})
    extra: str | None = None
    module: str | None = None

    @property
    def missing(self) -> str | None:
        """Return what the id needs that is not installed or at hand, or ``None``."""
        return world_spec(self.world).missing or _missing(self.id, self.extra, self.module)


TEAM = "piase/Team-v0"
"""The Gymnasium id under which all agents of any world act as one; ``task`` names the world."""


def _register_team(id: str, **kwargs: Any) -> None:
    """Register a team id in Gymnasium, without its checker, which expects no list of rewards."""
    gymnasium.register(
        id=id,
        entry_point="piase_gym.envs.team:make_team",
        kwargs=kwargs,
        order_enforce=False,
        disable_env_checker=True,
    )


if TEAM not in gymnasium.registry:
    _register_team(TEAM)


def team_id(task: str) -> str:
    """Return the Gymnasium id under which all agents of an id act as one.

    For clients that take an id but no arguments.
    """
    namespace, _, name = task.rpartition("/")
    return f"{namespace}-team/{name}" if namespace else f"team/{name}"


_worlds: dict[str, WorldSpec] = {}
_tasks: dict[str, TaskSpec] = {}
late: list[Callable[[], None]] = []
"""Called before the next look-up in the table, to register rows that were not ready earlier."""


def _take_late() -> None:
    """Let rows register that were not ready earlier."""
    while late:
        late.pop()()


def register_world(spec: WorldSpec) -> None:
    """Register a world under its name and aliases (a later registration replaces it)."""
    for name in (spec.name, *spec.aliases):
        _worlds[name] = spec


def register_task(spec: TaskSpec) -> None:
    """Register an id here, in Gymnasium and in PettingZoo (a registration is final).

    Raises:
        UnknownNameError: If its world is not registered.
    """
    world_spec(spec.world)
    if spec.id in _tasks:
        return
    gymnasium.register(
        id=spec.id,
        entry_point="piase_gym.envs.single:make_task",
        vector_entry_point="piase_gym.envs.vector:make_vector",
        kwargs={"world": spec.id},
        order_enforce=False,  # our own errors say more
        disable_env_checker=True,  # the conformance kit checks more, and not at every step
    )
    _register_team(team_id(spec.id), task=spec.id)
    for api in ("parallel", "aec"):
        entry_point = f"piase_gym.envs.{api}:make_task"
        pettingzoo.register(api, spec.id, entry_point, kwargs={"world": spec.id})
    _tasks[spec.id] = spec


def has_world(name: str) -> bool:
    """Return whether a world is registered under a name or alias."""
    return name in _worlds


def has_task(task: str) -> bool:
    """Return whether an id is registered."""
    return task in _tasks


def list_worlds() -> tuple[str, ...]:
    """Return the names of all worlds, sorted, without aliases."""
    _take_late()
    return tuple(sorted({spec.name for spec in _worlds.values()}))


def list_tasks(world: str | None = None) -> tuple[str, ...]:
    """Return the ids of all tasks, sorted, or those of one world."""
    _take_late()
    rows = _tasks.values()
    if world is not None:
        rows_world = world_spec(world).name
        return tuple(sorted(spec.id for spec in rows if spec.world == rows_world))
    return tuple(sorted(spec.id for spec in rows))


def own_row(name: str) -> WorldSpec | None:
    """Return the row of an environment of one's own, by the name of its class.

    Every subclass of the documents' abstract classes is known by its name as soon as it is defined.
    It is not listed unless this row is registered.
    """
    found = own_named(name) if str(name).isidentifier() else []
    if not found:
        return None
    place = "piase_gym.worlds.own"
    summary = (found[0].__doc__ or "").strip().split("\n")[0]
    return WorldSpec(
        name=name,
        summary=summary or f"{name}, an environment of one's own.",
        world=f"{place}.rows:{name}",
        config=f"{place}.rows:{name}Config",
        parser=f"{place}.facts:parse",
    )


def world_spec(name: str) -> WorldSpec:
    """Return the row of a world.

    Raises:
        UnknownNameError: If there is no such world.
    """
    _take_late()
    found = _worlds.get(name) or own_row(name)
    if found is None:
        raise UnknownNameError("world", name, list_worlds())
    return found


def task_spec(task: str) -> TaskSpec:
    """Return the row of an id, with or without ``piase_gym:`` before it.

    Raises:
        UnknownNameError: If there is no such id.
    """
    _take_late()
    task = task.rsplit(":", 1)[-1]
    if task not in _tasks:
        raise UnknownNameError("id", task, list_tasks())
    return _tasks[task]


def find(name: object) -> tuple[WorldSpec, TaskSpec | None]:
    """Return what a name stands for: a world, or the world and task of an id."""
    if not isinstance(name, str):
        kind = type(name).__name__
        raise ConfigError(f"a world is named by a string or given as a config, not by a {kind}")
    _take_late()
    if "/" in name:
        task = task_spec(name)
        return world_spec(task.world), task
    found = _worlds.get(name) or own_row(name)
    if found is not None:
        return found, None
    raise UnknownNameError("world or id", name, (*list_worlds(), *list_tasks()))


def missing(name: str) -> str | None:
    """Return what a world or id needs that is not installed or at hand, or ``None``."""
    spec, task = find(name)
    return (task or spec).missing


def literals(path: Path) -> dict[str, Any]:
    """Return the literals that a module assigns to names, and its docstring, without importing it.

    Names with values that are not literals are left out.
    """
    module = ast.parse(path.read_text("utf-8"))
    found: dict[str, Any] = {"__doc__": ast.get_docstring(module) or ""}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with contextlib.suppress(ValueError):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def load(entry_point: str, spec: WorldSpec | None = None) -> Any:
    """Import what ``module:name`` stands for.

    Raises:
        MissingExtraError: If the world needs an optional part that is not installed.
    """
    module, _, attribute = entry_point.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if spec is not None and spec.extra is not None:
            raise MissingExtraError(spec.name, spec.extra) from error
        raise


def load_named(name: str, entry_point: str) -> Any:
    """Import what a user has registered under a name as ``module:name``.

    Raises:
        ConfigError: If there is no such module, or nothing of this name in it.
    """
    try:
        return load(entry_point)
    except PiaseError:
        raise
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name}: {entry_point!r:.100} cannot be loaded: {error}") from error


def make_config(spec: WorldSpec, fields: Mapping[str, Any]) -> Any:
    """Return a checked config of a world.

    Raises:
        ConfigError: If a field is unknown, of a wrong type or out of range.
    """
    if not isinstance(fields, Mapping):
        raise ConfigError(f"{spec.name}: a config is a mapping, not {type(fields).__name__}")
    return load(spec.config, spec)(**{str(key): value for key, value in fields.items()})
