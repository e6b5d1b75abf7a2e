"""The first line of a run: all that is needed to execute it again."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from piase_gym.agents.base import Agent
from piase_gym.agents.policy_registry import policy_of_agent
from piase_gym.core.commands import Command
from piase_gym.core.digest import digest_json
from piase_gym.core.documents import own_classes
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, PiaseError, RunError, require_count, whole_number
from piase_gym.registry import WorldSpec, load, make_config, world_spec
from piase_gym.runs.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv
    from piase_gym.envs.runner import EpisodeRunner
    from piase_gym.runs.options import Options

LIBRARIES = ("piase-gym", "gymnasium", "numba", "numpy", "orjson", "pettingzoo", "pydantic")
CALLER = "caller"
"""The policy of agents that the user's own code plays."""


def command_value(command: Command) -> dict[str, Any]:
    """Return a command in the form used in logs."""
    return {"type": command.verb, "parameters": dict(command.parameters)}


def command_table(world: World[Any, Any]) -> list[dict[str, Any]]:
    """Return the commands of all indices, if the world's table never changes, else []."""
    if not world.fixed_actions:
        return []
    commands: Sequence[Command] = getattr(world, "commands", ())
    return [command_value(command) for command in commands]


def plain_config(config: Any) -> dict[str, Any]:
    """Return a config, its envelope included, as JSON-able values."""
    found: dict[str, Any] = config.model_dump(mode="json")
    envelope = getattr(config, "envelope", None)
    if envelope is not None:
        found["envelope"] = envelope.model_dump(mode="json")
    return found


def policy_of(agent: Agent | None) -> str:
    """Return the name of a policy, or the class of an agent that has none."""
    return CALLER if agent is None else policy_of_agent(agent)


def make_manifest(env: EpisodeRunner | BatchEnv, env_kind: str, options: Options) -> dict[str, Any]:
    """Return the `event_data` of the first line.

    Args:
        env: What is logged: the runner of a single environment, or a batch.
        env_kind: ``parallel``, ``gymnasium``, ``batch``, or another name.
        options: How the run is logged.
    """
    world, origin = env.world, env.events.origin
    config = plain_config(world.config)
    return {
        "control": "start",
        "schema_version": SCHEMA_VERSION,
        "world": world.name,
        "world_version": world.version_of(world.config),
        "config": config,
        "config_hash": digest_json(config),
        "scenario": origin.get("scenario"),
        "curricula": origin.get("curricula", {}),
        "face": env_kind,
        "num_envs": getattr(env, "num_envs", 1),
        "agents": list(world.agents),
        "policies": {name: policy_of(env.partners.get(i)) for i, name in enumerate(world.agents)},
        "actions": command_table(world),
        "milestones": list(world.milestone_names),
        "measures": list(world.measure_names),
        "level": options.level,
        "levels": dict(options.levels or {}),
        "versions": versions(),
        **options.more,
    }


def noted_names(config: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the milestones and the measures that the events of a scenario note, in order.

    Args:
        config: Fields of a config as plain data, of which ``script`` and ``story`` are read.
    """
    script = config.get("script")
    milestones = _noted([script, config.get("story")], "log_milestone", "milestone_name")
    return milestones, _noted([script], "add_metric", "metric")


def _noted(rules: Any, kind: str, field: str) -> tuple[str, ...]:
    """Return the names that the responses of one kind give, each once."""
    found: dict[str, None] = {}
    waiting = [rules]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if part.get("type") == kind:
                found[str(part[field])] = None
            part = list(part.values())
        if isinstance(part, list | tuple):
            waiting += reversed(part)
    return tuple(found)


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python, the platform and the libraries that a run depends on."""
    found = {
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
    }
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            import piase_gym

            found[name] = piase_gym.__version__ if name == "piase-gym" else "unknown"
    return found


def require_slot(manifest: Mapping[str, Any], slot: object) -> None:
    """Check that a run has an environment of this number.

    Raises:
        ConfigError: If it has none.
    """
    count = manifest["num_envs"]
    number = whole_number(slot)
    if number is None or not 0 <= number < count:
        last = f" to {count - 1}" if count > 1 else ""
        raise ConfigError(f"there is no slot {slot!r:.60} in this run; allowed: 0{last}")


def require_steps(**steps: object) -> None:
    """Check that arguments are steps of a run, or ``None``.

    Raises:
        ConfigError: If one is not.
    """
    for name, step in steps.items():
        if step is not None:
            require_count(f"{name} is a step of the run, 0 or more", step, 0)


def spec_of(manifest: Mapping[str, Any]) -> WorldSpec:
    """Return the registered world of a manifest, after checking the manifest.

    Raises:
        RunError: If the manifest is damaged, or the world is an own environment not imported yet.
        UnknownNameError: If there is no such world here.
    """
    check_manifest(manifest)
    own = manifest["config"].get("environment")
    if isinstance(own, str) and own not in own_classes:
        module = own.partition(":")[0]
        remedy = f"import {module!r:.60} first; for a command, with --module {module:.60}"
        if module == "__main__":
            remedy = "only the script that defines it can replay it; put the class into a module"
        raise RunError(
            f"line 1: this run is of {own!r:.80}, an environment of somebody's own; {remedy}"
        )
    return world_spec(manifest["world"])


def rebuild(manifest: Mapping[str, Any]) -> World[Any, Any]:
    """Return the world of a manifest, with the config from the start of the run.

    Raises:
        RunError: If the manifest is damaged, or of a later schema or another version of the world.
        UnknownNameError: If there is no such world here.
    """
    spec = spec_of(manifest)
    try:
        config = make_config(spec, manifest["config"])
    except PiaseError as error:
        raise RunError(
            f"line 1: the manifest's config is not one of {spec.name}: {error}"
        ) from None
    world: World[Any, Any] = load(spec.world, spec)(config)
    version = world.version_of(world.config)
    if version != manifest["world_version"]:
        raise RunError(
            f"line 1: this run is of {spec.name} version {manifest['world_version']!r}; "
            f"here is version {version}, whose rules differ"
        )
    if list(world.agents) != list(manifest["agents"]):
        raise RunError(f"line 1: the manifest's agents are not those of its config: {world.agents}")
    return world


_NEEDED: Mapping[str, type] = {
    "world": str,
    "world_version": int,
    "config": dict,
    "agents": list,
    "num_envs": int,
    "actions": list,
    "level": str,
}


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Check that a manifest has what reading and replay need.

    Raises:
        RunError: If not.
    """
    version = manifest.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RunError(f"line 1: schema_version is {version!r}, not a version of this schema")
    if version > SCHEMA_VERSION:
        raise RunError(
            f"line 1: this log has schema version {version}; this piase_gym reads versions up to "
            f"{SCHEMA_VERSION}; install a newer one"
        )
    for key, kind in _NEEDED.items():
        if not isinstance(manifest.get(key), kind):
            raise RunError(f"line 1: the manifest's {key!r} is missing or not a {kind.__name__}")
    for key in ("policies", "levels"):
        if not isinstance(manifest.get(key, {}), dict):
            raise RunError(f"line 1: the manifest's {key!r} is not a dict")
    for key in ("agents", "milestones", "measures"):
        names = manifest.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise RunError(f"line 1: the manifest's {key!r} is not a list of names")
    if not all(isinstance(command, dict) for command in manifest["actions"]):
        raise RunError("line 1: the manifest's 'actions' is not a list of commands")
