"""What is under test: any PettingZoo ParallelEnv, or a world of piase_gym behind its envs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from piase_gym import registry
from piase_gym.core.config import WorldConfig
from piase_gym.core.world import Capabilities, Facts
from piase_gym.envs.aec import aec_env
from piase_gym.envs.arguments import resolve
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import GymEnv
from piase_gym.names import parse_text


class Subject:
    """What makes the environments under test, and closes them when a check is over.

    Attributes:
        make: The function that makes an environment.
        label: The name of the subject in reports.
        capabilities: What is claimed for it.
        world: The world behind it, if it is one of piase_gym; then the whole contract is checked:
            it is also given actions that a mask forbids, and its agents get hints.
        recipe: JSON from which another process makes it, or ``None`` if that is impossible.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        label: str,
        capabilities: Capabilities,
        world: WorldUnderTest | None = None,
        recipe: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the function; nothing is made yet."""
        self.make, self.label, self.capabilities = make, label, capabilities
        self.world: Any = world
        self.recipe = recipe
        self._made: list[Any] = []

    def env(self, **options: Any) -> Any:
        """Make an environment, which is closed when the check is over."""
        return self.noted(self.make(**options))

    def aec(self, **options: Any) -> Any:
        """Make the AEC environment of a world."""
        return self.noted(aec_env(self.world.target, **{**self.world.options, **options}))

    def gym(self, **options: Any) -> Any:
        """Make the Gymnasium environment of a world."""
        return self.noted(GymEnv(self.world.target, **{**self.world.options, **options}))

    def noted(self, env: Any) -> Any:
        """Return an environment, which is closed when the check is over."""
        self._made.append(env)
        return env

    @contextlib.contextmanager
    def for_a_moment(self) -> Iterator[Any]:
        """Make an environment that is closed at the end of the block, so that there may be many."""
        made = self.make()
        try:
            yield made
        finally:
            _close(made)

    def close(self) -> None:
        """Close what was made."""
        for env in self._made:
            _close(env)
        self._made.clear()

    @property
    def strict(self) -> bool:
        """Whether it is held to the whole contract of piase_gym."""
        return self.world is not None

    @property
    def how(self) -> dict[str, bool]:
        """How episodes of it are played: the keyword arguments of `play.play`."""
        return {"unruly": self.strict, "hints": self.strict}

    def takes(self, argument: str) -> bool:
        """Return whether environments can be made with this keyword argument."""
        if self.strict:
            return argument == "render_mode"
        try:
            return argument in inspect.signature(self.make).parameters
        except (TypeError, ValueError):
            return False


def _close(env: Any) -> None:
    """Close an environment and ignore errors: one of the checks looks at what `close` does."""
    with contextlib.suppress(Exception):
        env.close()


class WorldUnderTest:
    """A world under one config.

    Attributes:
        target: The name, id or config that was given.
        fields: The fields of the config that were given.
        spec: The world's row in the registry.
        config: The checked config.
        capabilities: What the world claims.
        actions: The kind of actions that checks use: indices, if the world has them.
    """

    def __init__(self, target: str | WorldConfig, fields: Mapping[str, Any]) -> None:
        """Find the world and check the config."""
        self.target, self.fields = target, dict(fields)
        plain_fields = {key: value for key, value in fields.items() if key != "envelope"}
        self.config, self.spec, *_ = resolve(target, None, fields.get("envelope"), plain_fields)
        kind = registry.load(self.spec.world, self.spec)
        self.capabilities: Capabilities = kind.capabilities_of(self.config)
        kinds = ("discrete", "continuous")
        self.actions = next((kind for kind in kinds if getattr(self.capabilities, kind)), "text")

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that environments are made with."""
        return {"actions": self.actions, **self.fields}

    def parallel(self, **options: Any) -> Any:
        """Make the parallel environment."""
        return parallel_env(self.target, **{**self.options, **options})

    def parse(self, text: str) -> Facts:
        """Read a text with the world's own parser."""
        facts: Facts = parse_text(self.spec.name, text, self.config)
        return facts

    def with_agents(self, count: int) -> WorldConfig:
        """Return the config with `count` agents; some worlds refuse it."""
        config: WorldConfig = type(self.config)(
            **{**self.plain_config(), "envelope": None, "agents": count}
        )
        return config

    def plain_config(self) -> dict[str, Any]:
        """Return the fields of the config that were set, as JSON-able values."""
        fields: dict[str, Any] = self.config.model_dump(mode="json", exclude_unset=True)
        return fields


def env_subject(make: Callable[..., Any]) -> Subject:
    """Return any ParallelEnv as a subject."""
    module, name = getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
    known = module and name.isidentifier() and module != "__main__"
    recipe = {"make": f"{module}:{name}", "modules": ()} if known else None
    label = getattr(make, "__qualname__", type(make).__name__)
    return Subject(make, label, Capabilities(late_join=True), recipe=recipe)


def world_subject(
    target: str | WorldConfig, fields: Mapping[str, Any], modules: Sequence[str] = ()
) -> Subject:
    """Return a world under one config as a subject."""
    world = WorldUnderTest(target, fields)
    text = ", ".join(f"{key}={value!r}" for key, value in fields.items())
    recipe = {
        "worlds": [asdict(registry.world_spec(name)) for name in registry.list_worlds()],
        "world": world.spec.name,
        "config": world.plain_config(),
        "modules": tuple(modules),
    }
    label = f"{target if isinstance(target, str) else world.spec.name}({text})"
    return Subject(world.parallel, label, world.capabilities, world, recipe)


def subject_of(recipe: Mapping[str, Any]) -> Subject:
    """Make a subject from its recipe, in another process."""
    if "make" in recipe:
        return env_subject(registry.load(recipe["make"]))
    for row in recipe["worlds"]:
        row["aliases"] = tuple(row["aliases"])
        registry.register_world(registry.WorldSpec(**row))
    return world_subject(recipe["world"], recipe["config"])
