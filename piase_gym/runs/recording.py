"""`record`: log any environment of piase_gym."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from piase_gym.core.events import Events
from piase_gym.core.interrupts import uninterrupted
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ConfigError, require_known, suggest
from piase_gym.runs.batch_recorder import BatchRecorder
from piase_gym.runs.columns import ENDING, ColumnRecorder
from piase_gym.runs.lines import Out
from piase_gym.runs.options import Options
from piase_gym.runs.recorder import EnvRecorder, Recorder
from piase_gym.runs.schema import DSE, LOG_LEVELS, SYSTEM, level_of
from piase_gym.runs.sinks import FileSink, LoggerInterface
from piase_gym.runs.writer import Sinks, Writer, writer_thread

FACES = {
    "WorldParallelEnv": "parallel",
    "WorldAECEnv": "aec",
    "GymEnv": "gymnasium",
    "BatchEnv": "batch",
    "BatchVectorEnv": "vector",
}


def record(
    env: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    level: str = "actions",
    levels: Mapping[str, str] | None = None,
    experiment_id: str = "default",
    run_id: str | None = None,
    sinks: Iterable[LoggerInterface] = (),
    snapshot_every: int = 1000,
    on_error: str = "warn",
    overwrite: bool = False,
    digest_every: int = 100,
    more: Mapping[str, Any] | None = None,
) -> Recorder | ColumnRecorder:
    """Log an environment from now on, without wrapping it.

    Args:
        env: An environment of piase_gym with any API, or a wrapper around one.
        path: A file that ends with ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst`` or, for a batch
            logged as columns, with ``.arrow``; ``None`` if there are `sinks`.
        level: ``"critical"``, ``"actions"``, ``"events"`` or ``"full"``, or one of the names in
            the PiaSE design document: ``"CRITICAL_EVENTS_ONLY"``, ``"INFO"`` (``events``) or
            ``"DEBUG"`` (``full``).
        levels: Other levels for some agents and components; the name of a component has a dot.
        experiment_id: The experiment that the run belongs to.
        run_id: Name of the run; by default a new one.
        sinks: Further sinks for the lines.
        snapshot_every: Steps between two full snapshots of the state.
        digest_every: For columns, steps between two digests of all states.
        on_error: What to do when lines cannot be written: ``"warn"`` or ``"stop"``.
        overwrite: Whether an existing log at `path` may be overwritten.
        more: Further entries of the manifest, under names of your own.

    Returns:
        The recorder; its `finish` completes the log, and so does closing the environment.

    Raises:
        ConfigError: If the environment is not one of ours, or an argument is not allowed.
        ClosedError: If the environment is closed.
        LogWriteError: If the file exists, has another writer, or cannot be opened.

    Example:
        >>> import piase_gym
        >>> from piase_gym import runs
        >>> env = piase_gym.parallel_env("GridWorld", agents=2)
        >>> memory = runs.MemorySink()
        >>> recorder = runs.record(env, sinks=[memory])
        >>> _ = env.reset(seed=0)
        >>> _ = env.step({"agent_0": 0, "agent_1": 1})
        >>> env.close()
        >>> [event["event_type"] for event in memory.events][:2]
        ['SIMULATION_CONTROL', 'ENVIRONMENT_EVENT_OCCURRED']
    """
    if not isinstance(more, Mapping | None):
        raise ConfigError(f"more is a mapping of names to entries, not {more!r:.60}")
    if isinstance(levels, Mapping):  # others are refused later
        levels = {name: level_of(own) for name, own in levels.items()}
    kept, name = dict(more or {}), level_of(level)
    options = Options(name, levels, experiment_id, run_id, snapshot_every, kept, digest_every)
    options = options.checked()
    if not isinstance(path, str | os.PathLike | None):
        raise ConfigError(f"path names a file, and is not {path!r:.60}")
    if not isinstance(sinks, Iterable):
        raise ConfigError(f"sinks is a list of sinks, not {type(sinks).__name__}")
    places = list(sinks)
    wrong = [sink for sink in places if not isinstance(sink, LoggerInterface)]
    if wrong:
        raise ConfigError(f"a sink is a LoggerInterface, not {type(wrong[0]).__name__}")
    if path is None and not places:
        raise ConfigError("a log needs a place to go: give a path, or sinks")
    logged, env_kind = _logged(env)
    logged.require_open()
    if isinstance(levels, Mapping):
        _check_names(levels, logged.world.agents)
    columns = path is not None and Path(path).suffix == ENDING
    if columns and not _is_batch(logged):
        raise ConfigError(
            f"columns ({ENDING}) are for batches; allowed here: .jsonl, .jsonl.gz, .jsonl.zst"
        )
    if columns and places:
        raise ConfigError(f"sinks take lines, and a log that ends with {ENDING} has none")
    if path is not None:
        writer_thread.sweep()  # it may have been the log of an environment that is gone
        places.insert(0, FileSink(path, overwrite))
    try:
        out = Sinks(places, on_error)
        if columns:
            return ColumnRecorder(logged, out, options, env_kind)
        writer = Writer(out)
        recorder = follow(env, writer, options)
        writer_thread.take(writer)
        return recorder
    except BaseException:
        for sink in places:
            sink.close()
        raise


def _check_names(levels: Iterable[object], agents: Sequence[str]) -> None:
    """Raise `ConfigError` if something with a level of its own is neither agent nor component."""
    known = (*agents, SYSTEM)
    for name in levels:
        if name not in known and "." not in str(name):
            raise ConfigError(
                f"levels names {name!r}, which is no agent; {suggest(name, known)}, "
                f"or a component, such as {DSE!r}"
            )


def follow(env: Any, out: Out, options: Options) -> Recorder:
    """Return a recorder that writes the lines of an environment from now on.

    Args:
        env: The environment, or a wrapper around it.
        out: Where the lines go.
        options: How to log.

    Raises:
        ConfigError: If the environment is not one of ours.
    """
    logged, env_kind = _logged(env)
    kind = BatchRecorder if _is_batch(logged) else EnvRecorder
    recorder: Recorder = kind(logged, out, options, env_kind)
    recorder.release = uninterrupted.watch_for(recorder)
    return recorder


def _logged(env: Any) -> tuple[Any, str]:
    """Return the runner, or the batch, of an environment, and its name for the manifest."""
    core = env.unwrapped if hasattr(env, "unwrapped") else env
    name = type(core).__name__
    for logged in (core, getattr(core, "runner", None), getattr(core, "batch", None)):
        if isinstance(logged, EpisodeRunner) or _is_batch(logged):
            return logged, FACES.get(name, name)
    if name == "SingleVectorEnv":
        raise ConfigError(
            "these environments have no batched kernel and run one after the other, so none has "
            "the whole run; log one that gymnasium.make or parallel_env makes"
        )
    raise ConfigError(
        f"{name} is not an environment of piase_gym; allowed: a ParallelEnv, AEC, "
        "Gymnasium or batched environment of one of its worlds, or a wrapper around one"
    )


def _is_batch(logged: Any) -> bool:
    """Return whether something is a batch of environments."""
    return hasattr(logged, "digests")


def declare_curriculum(
    env: Any, agent: str, name: str, version: str, sha256: str, **more: Any
) -> None:
    """Record which curriculum an agent follows in the manifests of logs that begin later.

    Logs that are already being written get a line ``DSE_AGENT_CURRICULUM_START``.

    Args:
        env: The environment, or a wrapper around it.
        agent: The agent that follows it.
        name: The curriculum's name.
        version: Its version.
        sha256: The SHA-256 of its canonical JSON, in hexadecimal digits.
        more: Further entries of the line.
    """
    entry = {"name": name, "version": version, "sha256": sha256}
    log(env, "DSE_AGENT_CURRICULUM_START", {**entry, **more}, agent)
    _bus(env).origin.setdefault("curricula", {})[agent] = entry


def log(
    env: Any,
    event_type: str,
    data: Mapping[str, Any],
    agent: str | None = None,
    *,
    component: str | None = None,
    log_level: str | None = None,
) -> None:
    """Write a line of your own into the logs of an environment; without a log nothing happens.

    Args:
        env: The environment, or a wrapper around it.
        event_type: Such as ``EMOTION_STATE_UPDATED`` or ``MODEL_PARAMETER_UPDATE``.
        data: Plain values, the line's `event_data`.
        agent: The agent that it concerns; by default ``system``.
        component: The `source_component_id`; by default what is usual for the event type.
        log_level: The `log_level`; by default what is usual for the event type.

    Raises:
        ConfigError: If PiaAVT would refuse the line: a name is blank or no string, the level is
            unknown, or data are no mapping.
    """
    for name, value in (("event_type", event_type), ("agent", agent), ("component", component)):
        blank = not isinstance(value, str) or not value.strip()
        if blank and (name == "event_type" or value is not None):
            raise ConfigError(f"{name} must be a string that is not blank, not {value!r:.60}")
    if log_level is not None:
        require_known("log_level", log_level, LOG_LEVELS)
    if not isinstance(data, Mapping):
        raise ConfigError(f"the data of a line are a mapping, not {type(data).__name__}")
    events = _bus(env)
    if events.active:
        more = {"component": component, "log_level": log_level}
        events.post("log", agent, event_type=event_type, data=data, **more)


def _bus(env: Any) -> Events:
    """Return the event bus of an environment, or of the batch in it."""
    core = env.unwrapped if hasattr(env, "unwrapped") else env
    for owner in (core, getattr(core, "batch", None)):
        events = getattr(owner, "events", None)
        if isinstance(events, Events):
            return events
    raise ConfigError(f"{type(core).__name__} has no events bus")
