"""What is under test: any PettingZoo ParallelEnv, or a world of piase_gym behind its envs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from piase_gym import registry
from piase_gym.core.config import WorldConfig
from piase_gym.core.world import Capabilities, Facts
from piase_gym.envs.aec import aec_env
from piase_gym.envs.arguments import resolve
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.envs.single import GymEnv
from piase_gym.names import parse_text
from piase_gym.testing.abroad import Abroad


class EnvSubject:
    """A ParallelEnv, through the function that makes it.

    Attributes:
        label: What it is called in reports.
        capabilities: What is claimed for it.
        strict: Whether all of the contract of piase_gym is asked of it.
        unruly: Whether actions that a mask forbids may be given to it.
        hints: Whether hints can be given to its agents.
        abroad: What it does in other processes.
    """

    capabilities = Capabilities(late_join=True)
    strict = False
    unruly = False
    hints = False

    def __init__(self, make: Callable[..., Any], modules: Sequence[str] = ()) -> None:
        """Take the function; nothing is made yet."""
        self.make = make
        self.modules = tuple(modules)
        self.label: str = getattr(make, "__qualname__", type(make).__name__)
        self.abroad = Abroad(self)
        self._made: list[Any] = []

    def env(self, **options: Any) -> Any:
        """Make an environment, which is closed when the check is over."""
        return self.noted(self.make(**options))

    def noted(self, env: Any) -> Any:
        """Close an environment when the check is over."""
        self._made.append(env)
        return env

    def close(self) -> None:
        """Close what was made; one of the checks looks at what `close` does."""
        for env in self._made:
            with contextlib.suppress(Exception):
                env.close()
        self._made.clear()

    def takes(self, argument: str) -> bool:
        """Tell whether environments can be made with this keyword argument."""
        try:
            parameters = inspect.signature(self.make).parameters
        except (TypeError, ValueError):
            return False
        return argument in parameters

    @property
    def how(self) -> dict[str, bool]:
        """How episodes of it are played: the keyword arguments of `play.play`."""
        return {"unruly": self.unruly, "hints": self.hints}

    def recipe(self) -> dict[str, Any] | None:
        """Return JSON from which another process makes it, or ``None`` if that cannot be."""
        module, name = getattr(self.make, "__module__", ""), getattr(self.make, "__qualname__", "")
        if not module or not name.isidentifier() or module == "__main__":
            return None
        return {"make": f"{module}:{name}", "modules": self.modules}


class WorldSubject(EnvSubject):
    """A world under one config; environments are made through the public environments.

    Attributes:
        target: The name, id or config that was given.
        fields: The fields of the config that were given.
        spec: The world's row in the registry.
        config: The checked config.
    """

    strict = True
    unruly = True
    hints = True

    def __init__(
        self, target: str | WorldConfig, fields: Mapping[str, Any], modules: Sequence[str] = ()
    ) -> None:
        """Find the world and check the config."""
        super().__init__(self._parallel, modules)
        self.target, self.fields = target, dict(fields)
        plain_fields = {key: value for key, value in fields.items() if key != "envelope"}
        self.config, self.spec, *_ = resolve(target, None, fields.get("envelope"), plain_fields)
        self.capabilities = registry.load(self.spec.world, self.spec).capabilities
        told = ", ".join(f"{key}={value!r}" for key, value in fields.items())
        self.label = f"{target if isinstance(target, str) else self.spec.name}({told})"

    @property
    def actions(self) -> str:
        """The kind of actions that checks use: indices, if the world has them."""
        kinds = ("discrete", "continuous")
        return next((kind for kind in kinds if getattr(self.capabilities, kind)), "text")

    def _parallel(self, **options: Any) -> WorldParallelEnv:
        """Make the parallel environment."""
        return parallel_env(self.target, **{"actions": self.actions, **self.fields, **options})

    def aec(self, **options: Any) -> Any:
        """Make the AEC environment."""
        return self.noted(
            aec_env(self.target, **{"actions": self.actions, **self.fields, **options})
        )

    def gym(self, **options: Any) -> GymEnv:
        """Make the Gymnasium environment."""
        env = GymEnv(self.target, **{"actions": self.actions, **self.fields, **options})
        self.noted(env)
        return env

    def takes(self, argument: str) -> bool:
        """Tell that the environments take a render mode."""
        return argument == "render_mode"

    def parse(self, text: str, config: Any = None) -> Facts:
        """Read a text with the world's own parser."""
        facts: Facts = parse_text(self.spec.name, text, config or self.config)
        return facts

    def plain_config(self) -> dict[str, Any]:
        """Return the fields of the config that were set, as JSON-able values."""
        fields: dict[str, Any] = self.config.model_dump(mode="json", exclude_unset=True)
        return fields

    def recipe(self) -> dict[str, Any] | None:
        """Return the rows of the registry, the name and the config."""
        rows = registry.list_worlds()
        return {
            "worlds": [asdict(registry.world_spec(name)) for name in rows],
            "world": self.spec.name,
            "config": self.plain_config(),
            "modules": self.modules,
        }


def subject_of(recipe: Mapping[str, Any]) -> EnvSubject:
    """Undo `EnvSubject.recipe` in another process."""
    if "make" in recipe:
        return EnvSubject(registry.load(recipe["make"]))
    for row in recipe["worlds"]:
        row["aliases"] = tuple(row["aliases"])
        registry.register_world(registry.WorldSpec(**row))
    return WorldSubject(recipe["world"], recipe["config"])
