"""Executes a run again from its log, and says where it first differs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.world import Act, World
from piase_gym.errors import PiaseError, RunError
from piase_gym.runs.agent_lines import goal_prefix
from piase_gym.runs.divergence import Divergence, ReplayReport, differences
from piase_gym.runs.history import History
from piase_gym.runs.json_values import encode
from piase_gym.runs.log_file import Problem
from piase_gym.runs.manifest import rebuild, require_steps
from piase_gym.runs.reader import Run, read
from piase_gym.runs.schema import LINE_DAMAGE, Event, kind_of, moment_of
from piase_gym.runs.seal import check_seal
from piase_gym.runs.verify import Verifier


def replay(path: str | os.PathLike[str] | Run, *, until: int | None = None) -> ReplayReport:
    """Execute a run again and compare it with its log.

    The seal is checked first. Then every line that follows from the run is compared: outcomes,
    rewards, states, perceptions, goals, milestones, messages, the summary.

    Args:
        path: The log, or a `Run` that `read` returned.
        until: Stop after this step of the run.

    Returns:
        Whether everything was reproduced, and if not, where the replay first differs.

    Raises:
        RunError: If the log is empty, has no manifest, is of a later version or of another
            version of its world, or has no steps because of its level.
        ConfigError: If `until` is no step.
        UnknownNameError: If its world does not exist here.
    """
    require_steps(until=until)
    replayer = Replayer(read(path) if not isinstance(path, Run) else path)
    run, report = replayer.run, replayer.report
    report.seal = check_seal(run.path, run.manifest["schema_version"])
    history: History | None = History()
    for number, event in replayer.events():
        if until is not None and event["step"] > until:
            return report
        history = _feed(replayer, history, event)
        replayer.play(number, event)
        if report.broken is not None or (report.first_divergence is not None and replayer.settled):
            return report
    replayer.verifier.end()
    return report


def _feed(replayer: Replayer, history: History | None, event: Event) -> History | None:
    """Feed an event to the history from which curriculum decisions are computed again.

    Returns:
        The history; ``None`` if the run has no curriculum, or its lines are damaged.
    """
    if history is None:
        return None
    if event["step"] > 0 and not replayer.verifier.decides:
        return None  # curricula begin before the first step
    try:
        history.feed(event)
    except (PiaseError, *LINE_DAMAGE):
        return None  # the line itself will be reported
    if event["event_type"] == "DSE_AGENT_CURRICULUM_START" and not replayer.verifier.decides:
        replayer.verifier.follow(history)
    return history


def _descriptions(run: Run) -> Mapping[str, Any] | None:
    """Return the descriptions of pictures in a run; ``None`` if it has none."""
    if run.manifest["config"].get("describer") in (None, "colours"):
        return None
    from piase_gym.worlds.describing import descriptions_in  # it loads scipy

    return descriptions_in(run) or None


class Replayer:
    """Drives worlds from the lines of a log; also used by forks, pictures and exports.

    Attributes:
        run: The run.
        report: What has been found so far.
        verifier: Compares the lines.
        settled: Whether a divergence is explained as far as the log allows.
        on_reset: Called with a slot after each reset or restore.
        on_step: Called with a slot, the step's event and the `StepResult` after each step.
    """

    def __init__(self, run: Run) -> None:
        """Make the world of the manifest.

        Raises:
            RunError: If it cannot be made, or the log has no steps because of its level.
        """
        self.run = run
        self.report = ReplayReport()
        self.settled = False
        self.on_reset: Callable[[int, Event], object] = lambda slot, event: None
        self.on_step: Callable[[int, Event, Any], object] = lambda slot, event, result: None
        self._recalled = _descriptions(run)
        self._worlds: dict[int, World[Any, Any]] = {0: self._rebuild()}
        self._pending: dict[int, Any] = {}
        self._clock = ""
        manifest = run.manifest
        self._prefix = goal_prefix(run.run_id, manifest["schema_version"])
        run.require_step_lines()
        shared = self._worlds[0] if manifest["num_envs"] == 1 else self._rebuild()
        self.verifier = Verifier(run, shared, self.report)

    def world(self, slot: int = 0) -> World[Any, Any]:
        """Return the world of a slot, which is made on first use."""
        if slot not in self._worlds:
            self._worlds[slot] = self._rebuild()
        return self._worlds[slot]

    def time_of(self, slot: int = 0) -> int:
        """Return how many steps the present episode of a slot has lasted."""
        records = self.verifier.records
        return self.verifier.time_of(records[None if None in records else slot])

    def _rebuild(self) -> World[Any, Any]:
        """Return the world of the manifest; a model's picture descriptions come from the log."""
        if self._recalled is None:
            return rebuild(self.run.manifest)
        from piase_gym.worlds.describing import recalling

        with recalling(self._recalled):
            return rebuild(self.run.manifest)

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the lines that can be read, and report the others."""

        def report(problem: Problem) -> None:
            if problem.drift is not None:
                step, episode, slot, was, now = problem.drift
                found = Divergence(step, episode, None, "digest", was, now, problem.line, slot)
                self.report.add(found)
            else:
                self.report.problems.append(problem)

        for raw, event in self.run.lines(report):
            self.verifier.raw = raw.data
            yield raw.number, event

    def play(self, number: int, event: Event) -> None:
        """Execute one line, and compare it with the line that is expected there."""
        data, kind = event["event_data"], event["event_type"]
        self._follow(number, event)
        if self.report.broken is not None:
            self.settled = True
            return
        if act := kind_of(kind, data):
            self._guard(getattr(self, f"_{act}"), number, event, data)
        elif kind == "SIMULATION_CONTROL" and data.get("control") == "end":
            self.report.complete = True
            self._guard(self.verifier.finished, number, event)
        elif kind == "SIMULATION_CONTROL" and not self.report.episodes:
            self._guard(self.verifier.manifest, number, event)
        else:
            self._guard(self.verifier.line, number, event)

    def executed(self, until: int | None = None) -> Iterator[Event]:
        """Yield every line after executing it; raise `RunError` where the run first differs.

        Args:
            until: Stop after this step of the run.
        """
        for number, event in self.events():
            if until is not None and event["step"] > until:
                return
            self.play(number, event)
            found = self.report.first_divergence or self.report.broken
            if found is not None:
                raise RunError(f"{self.run.path} cannot be executed again: {found}")
            yield event

    def _guard(self, do: Callable[..., None], number: int, event: Event, *data: Any) -> None:
        """Call a handler; an error that a damaged line causes is reported as its problem."""
        try:
            do(number, event, *data)
        except (PiaseError, *LINE_DAMAGE) as error:
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, KeyError):
                reason = f"the line lacks {error}"
            elif isinstance(error, PiaseError):
                reason = str(error)
            self.verifier.differ(number, event, None, "line", "an executable line", reason)
            self.report.problems.append(Problem(number, f"cannot be executed: {reason}"))
            self.settled = True

    def _follow(self, number: int, event: Event) -> None:
        """Check that no line is missing, repeated, from elsewhere, or older than the one before."""
        run, problems = self.run, self.report.problems
        for what, name, value in (
            ("run", "simulation_run_id", run.run_id),
            ("experiment", "experiment_id", run.experiment_id),
        ):
            if event[name] != value:
                problems.append(Problem(number, f"the line is of another {what}, {event[name]!r}"))
        if event["event_id"] != f"{self._prefix}{number}":
            reason = f"event_id {event['event_id']} stands where event {number} has to be"
            problems.append(Problem(number, reason))
        moment = moment_of(event["timestamp"])
        if moment < self._clock:
            why = "is before that of the line before" if moment else "is no time"
            problems.append(Problem(number, f"the timestamp {event['timestamp']!r:.60} {why}"))
        self._clock = moment

    # -- lines ----------------------------------------------------------------------------

    def _reset(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Begin an episode."""
        slot = data.get("slot", 0)
        world = self.world(slot)
        config = self._pending.pop(slot, None)
        if config is not None:
            world.configure(config)
        seed = data["seed"]
        if type(seed) is not int or not 0 <= seed < 1 << 63:
            raise RunError(f"seed {seed!r} is not a seed")
        world.reset(seed)
        self._enter(number, event, world, seed, 0)

    def _restore(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Restore the state in a line's snapshot."""
        slot = data.get("slot", 0)
        world, snapshot = self.world(slot), data["snapshot"]
        world.restore(snapshot)
        self._pending.pop(slot, None)
        waiting = snapshot.get("next_config")
        if waiting is not None:
            self._pending[slot] = world.config.written(waiting)
        episode = snapshot.get("episode") or {}
        known = 0 if world.states is None else int(world.states["t"][0])  # slots tell no episode
        seed, steps = episode.get("seed", data["seed"]), episode.get("steps", known)
        self._enter(number, event, world, seed, steps)

    def _enter(
        self, number: int, event: Event, world: World[Any, Any], seed: int, steps: int
    ) -> None:
        """Check the line of an episode that goes on from here."""
        self.report.episodes += 1
        self.verifier.entered(number, event, world, seed, steps)
        self.on_reset(event["event_data"].get("slot", 0), event)

    def _reconfigure(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Take note of a new config for the next reset."""
        slot = data.get("slot", 0)
        current = self._pending.get(slot, self.world(slot).base_config)
        config = current.written({**dict(current), **data["changes"]})
        self.world(slot).check_config(config)
        self._pending[slot] = config
        expected = {"kind": "reconfigure", "changes": current.diff(config)}
        self.verifier.take_input(number, event, expected)

    def _modify(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Change the config of the episode in progress."""
        world = self.world(data.get("slot", 0))
        before = world.config
        world.modify(data["changes"])
        expected = {"kind": "modify", "changes": before.diff(world.config)}
        self.verifier.take_input(number, event, expected)

    def _hint(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Give a hint."""
        world = self.world(data.get("slot", 0))
        agent, message = data["agent"], data["message"]
        world.give_hint(world.agents.index(agent), message)
        self.verifier.take_input(
            number, event, {"kind": "hint", "agent": agent, "message": message}
        )

    def _order(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Let agents act in another order."""
        self.world(data.get("slot", 0)).set_order(data["order"])
        self.verifier.take_input(number, event, {"kind": "order", "order": data["order"]})

    def _mail(self, data: dict[str, Any]) -> Mailbox:
        """Return the mailboxes that a line is about."""
        mail = self.world(data.get("slot", 0)).mailboxes
        if mail is None:
            raise RunError("this world has no mailboxes")
        return mail

    def _send(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Put a letter into a mailbox."""
        letter = self._mail(data).send(data["sender"], data["recipient"], data["message"])
        self.verifier.take_input(number, event, {"kind": "send", **letter._asdict()})

    def _poll(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Empty a mailbox."""
        expected = {"kind": "poll", "agent": data["agent"]}
        self.verifier.take_input(number, event, expected, self._mail(data).poll(data["agent"]))

    def _step(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Execute a step, and compare its results."""
        slot = data.get("slot", 0)
        world = self.world(slot)
        commands = data["commands"]
        acts = [read_act(commands.get(name)) for name in world.agents]
        result = world.step(acts)
        self.report.steps += 1
        self.verifier.stepped(number, event, world, acts, result)
        self.on_step(slot, event, result)

    def _snapshot(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Compare a stored snapshot field by field."""
        self.verifier.snapshot(number, event)
        world, logged_all = self.world(data.get("slot", 0)), data["snapshot"]
        now = orjson.loads(encode(world.snapshot()))
        if self.verifier.schema < 3:  # those logs do not have it yet
            del now["last_steps"]
        fields = logged_all.get("config")
        if isinstance(fields, dict) and now["config"].keys() - fields.keys():
            logged_all = {**logged_all, "config": _with_new_fields(fields, world)}
        for path, logged, found in differences(logged_all, now, ""):
            self.verifier.differ(number, event, None, path, logged, found)
        if self.report.first_divergence is not None:
            self.settled = True


def _with_new_fields(fields: dict[str, Any], world: World[Any, Any]) -> dict[str, Any]:
    """Return a logged config with the fields that its world gained since, at their defaults."""
    try:
        config = type(world.config)(**fields)
    except PiaseError:
        return fields  # damaged, as the comparison will show
    return {**config.saved(), **fields}


def read_act(value: Any) -> Act:
    """Return a logged command in the form that a world takes."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, Mapping):
        kind, parameters, misread = (value.get(k) for k in ("type", "parameters", "misread"))
        if misread in tuple(Outcome):
            return InvalidAction(Outcome(misread), str(value.get("message", "")))
        if isinstance(kind, str) and isinstance(parameters, Mapping):
            return Command(kind, parameters)
    raise RunError(f"a command is an index or has type and parameters; it is not {value!r:.60}")
