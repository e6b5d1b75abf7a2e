"""Executes a run again from its log, and says where it first differs.

The world is made from the manifest; resets, commands, hints, reconfigurations and restores are
taken from the log. No agent and no curriculum runs: what they decided is in the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from piase_gym.commands import Command, Misread, Outcome
from piase_gym.errors import PiaseError, RunError
from piase_gym.runs.divergence import Divergence, ReplayReport, differences, same
from piase_gym.runs.manifest import rebuild
from piase_gym.runs.plain import encode
from piase_gym.runs.reader import Event, Run, read
from piase_gym.runs.source import Problem
from piase_gym.world import Act, World


def replay(path: str | os.PathLike[str] | Run, *, until: int | None = None) -> ReplayReport:
    """Execute a run again and compare.

    Args:
        path: The log, or a run that was read.
        until: Stop after this step of the run.

    Returns:
        Whether all came out again, and if not, where it first differs.

    Raises:
        RunError: If the log is empty, has no manifest, is of a later version or of another
            version of its world, or has no steps because of its level.
        UnknownNameError: If its world does not exist here.
    """
    player = Player(read(path) if not isinstance(path, Run) else path)
    report = player.report
    for number, event in player.events():
        if until is not None and event["step"] > until:
            break
        player.play(number, event)
        if report.first_divergence is not None and player.settled:
            break
    return report


class Player:
    """Drives worlds by the lines of a log. Also used by forks, pictures and exports.

    Attributes:
        run: The run.
        report: What was found so far.
        settled: Whether a divergence is explained as far as the log allows.
        on_reset: Called with a slot after each reset or restore.
        before_step: Called with a slot and the step's event before each step.
        on_step: Called with a slot, the step's event and the `Tick` after each step.
    """

    def __init__(self, run: Run) -> None:
        """Make the world of the manifest."""
        self.run = run
        self.report = ReplayReport()
        self.settled = False
        self.on_reset: Callable[[int, Event], None] | None = None
        self.before_step: Callable[[int, Event], None] | None = None
        self.on_step: Callable[[int, Event, Any], None] | None = None
        self._worlds: dict[int, World[Any, Any]] = {0: rebuild(run.manifest)}
        self._start = self._worlds[0].config
        self._pending: dict[int, Any] = {}
        self._checks = True
        self._last_id = 0
        if run.manifest["level"] == "critical":
            raise RunError(f"{run.path}: logged at level 'critical', which leaves out the steps")

    def world(self, slot: int = 0) -> World[Any, Any]:
        """Return the world of one environment, made when it is first asked for."""
        if slot not in self._worlds:
            self._worlds[slot] = rebuild(self.run.manifest)
        return self._worlds[slot]

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the lines that can be read, and report the others."""

        def report(problem: Problem) -> None:
            self.report.problems.append(problem)

        yield from self.run.numbered(report)

    def play(self, number: int, event: Event) -> None:
        """Do what one line says."""
        data, kind = event["event_data"], event["event_type"]
        self._follow(number, event)
        act = data.get("kind")
        if kind == "ENVIRONMENT_EVENT_OCCURRED" and act == "step":
            self._guard(self._step, number, event, data)
        elif kind in ("ENVIRONMENT_EVENT_OCCURRED", "ENVIRONMENT_STATE_CHANGED"):
            handler = _HANDLERS.get(str(act))
            if handler is not None:
                self._guard(getattr(self, handler), number, event, data)
        elif kind == "PERCEPTION_INPUT_RECEIVED" and self._checks:
            self._guard(self._percept, number, event, data)
        elif kind == "SIMULATION_CONTROL" and data.get("control") == "end":
            self.report.complete = True

    def _guard(
        self, do: Callable[[int, Event, dict[str, Any]], None], number: int, event: Event, data: Any
    ) -> None:
        """Do it; what a damaged line leads to is a problem with that line, not an accident."""
        try:
            do(number, event, data)
        except (PiaseError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, KeyError):
                reason = f"the line lacks {error}"
            elif isinstance(error, PiaseError):
                reason = str(error)
            self.report.problems.append(Problem(number, f"cannot be executed: {reason}"))
            self._differ(number, event, None, "line", "an executable line", reason)
            self.settled = True

    def _follow(self, number: int, event: Event) -> None:
        """Check that no line is missing, doubled or from elsewhere."""
        found = int(event["event_id"]) if event["event_id"].isdecimal() else -1
        if event["simulation_run_id"] != self.run.run_id:
            reason = f"the line is of another run, {event['simulation_run_id']!r}"
            self.report.problems.append(Problem(number, reason))
        elif found != self._last_id + 1:
            reason = f"event_id {event['event_id']} follows {self._last_id}"
            self.report.problems.append(Problem(number, reason))
        self._last_id = found if found >= 0 else self._last_id + 1

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
        self.report.episodes += 1
        self._compare_state(number, event, data, world)
        if self.on_reset is not None:
            self.on_reset(slot, event)

    def _restore(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Take up a state from elsewhere."""
        slot = data.get("slot", 0)
        world, snapshot = self.world(slot), data["snapshot"]
        world.restore(snapshot)
        self._pending.pop(slot, None)
        waiting = snapshot.get("next_config")
        if waiting is not None:
            self._pending[slot] = world.config.changed(waiting)
        self.report.episodes += 1
        self._compare_state(number, event, data, world)
        if self.on_reset is not None:
            self.on_reset(slot, event)

    def _reconfigure(self, _number: int, _event: Event, data: dict[str, Any]) -> None:
        """Take note of another config."""
        slot = data.get("slot", 0)
        current = self._pending.get(slot, self.world(slot).config)
        config = current.changed(data["changes"])
        self.world(slot).admit(config)
        self._pending[slot] = config

    def _hint(self, _number: int, _event: Event, data: dict[str, Any]) -> None:
        """Give a hint."""
        world = self.world(data.get("slot", 0))
        world.give_hint(world.agents.index(data["agent"]), data["message"])

    def _order(self, _number: int, _event: Event, data: dict[str, Any]) -> None:
        """Let agents act in another order."""
        self.world(data.get("slot", 0)).set_order(data["order"])

    def _send(self, _number: int, _event: Event, data: dict[str, Any]) -> None:
        """Put a letter into a mailbox."""
        mail = self.world(data.get("slot", 0)).mailboxes
        if mail is not None:
            mail.send(data["sender"], data["recipient"], data["message"])

    def _poll(self, _number: int, _event: Event, data: dict[str, Any]) -> None:
        """Empty a mailbox."""
        mail = self.world(data.get("slot", 0)).mailboxes
        if mail is not None:
            mail.poll(data["agent"])

    def _step(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Do a step, and compare what followed."""
        slot = data.get("slot", 0)
        world = self.world(slot)
        commands = data["commands"]
        if self.before_step is not None:
            self.before_step(slot, event)
        tick = world.step([read_act(commands.get(name)) for name in world.agents])
        report = self.report
        report.steps += 1
        if report.first_divergence is None:
            self._compare(number, event, data, world, tick)
        if self.on_step is not None:
            self.on_step(slot, event, tick)

    def _compare(
        self, number: int, event: Event, data: dict[str, Any], world: World[Any, Any], tick: Any
    ) -> None:
        """Compare a step line with what happened now; quick where all is equal."""
        outcomes, rewards = data["outcomes"], data["rewards"]
        terminated, truncated = data["terminated"], data["truncated"]
        for i, name in enumerate(world.agents):
            if name in outcomes and (
                outcomes[name] != tick.outcomes[i]
                or rewards[name] != tick.rewards[i]
                or terminated[name] != tick.terminated[i]
                or truncated[name] != tick.truncated[i]
            ):
                for key, logged, now in (
                    ("outcome", outcomes[name], str(tick.outcomes[i])),
                    ("reward", rewards[name], tick.rewards[i]),
                    ("terminated", terminated[name], bool(tick.terminated[i])),
                    ("truncated", truncated[name], bool(tick.truncated[i])),
                ):
                    if not same(logged, now):
                        self._differ(number, event, name, key, logged, now)
        if tick.ended:
            for name, result in data.get("results", {}).items():
                now = str(world.result(world.agents.index(name)))
                if now != result:
                    self._differ(number, event, name, "result", result, now)
        if data.get("digest") is not None:
            self._compare_digest(number, event, data, world)

    def _compare_state(
        self, number: int, event: Event, data: dict[str, Any], world: World[Any, Any]
    ) -> None:
        """Compare the state after a reset or a restore."""
        if self.report.first_divergence is None and data.get("digest") is not None:
            self._compare_digest(number, event, data, world)

    def _compare_digest(
        self, number: int, event: Event, data: dict[str, Any], world: World[Any, Any]
    ) -> None:
        """Compare the digest of the state."""
        now = world.digest()
        if now != data["digest"]:
            self._differ(number, event, None, "digest", data["digest"], now)

    def _snapshot(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Compare a stored snapshot field by field."""
        world, logged_all = self.world(data.get("slot", 0)), data["snapshot"]
        now = orjson.loads(encode(world.snapshot()))
        fields = logged_all.get("config")
        if isinstance(fields, dict) and now["config"].keys() - fields.keys():
            logged_all = {**logged_all, "config": _with_new_fields(fields, world)}
        for path, logged, found in differences(logged_all, now, ""):
            self._differ(number, event, None, path, logged, found)
        if self.report.first_divergence is not None:
            self.settled = True

    def _percept(self, number: int, event: Event, data: dict[str, Any]) -> None:
        """Compare what an agent perceived."""
        world, name = self.world(data.get("slot", 0)), event["agent_id"]
        agent = world.agents.index(name)
        now: dict[str, Any] = {"sensor_data": {"vector": world.vectors()[agent]}}
        if "visible_text" in data:
            now["visible_text"] = world.text(world.facts(agent))
        plain = orjson.loads(encode(now))
        logged = {key: data.get(key) for key in plain}
        for path, was, found in differences(logged, plain, ""):
            self._differ(number, event, name, path, was, found)

    def _differ(
        self, number: int, event: Event, agent: str | None, what: str, logged: Any, now: Any
    ) -> None:
        """Take note of a difference."""
        slot = event["event_data"].get("slot")
        found = Divergence(event["step"], event["episode"], agent, what, logged, now, number, slot)
        report = self.report
        if report.first_divergence is None:
            report.first_divergence = found
        elif len(report.details) < 100:
            report.details.append(found)


def _with_new_fields(fields: dict[str, Any], world: World[Any, Any]) -> dict[str, Any]:
    """Return a logged config with the fields that its world got later, at their defaults."""
    try:
        config = type(world.config)(**fields)
    except PiaseError:
        return fields  # damaged, as the comparison will show
    return {**config.model_dump(mode="json", exclude={"envelope"}), **fields}


_HANDLERS: Mapping[str, str] = {
    "reset": "_reset",
    "restore": "_restore",
    "reconfigure": "_reconfigure",
    "hint": "_hint",
    "order": "_order",
    "snapshot": "_snapshot",
    "send": "_send",
    "poll": "_poll",
}


def read_act(value: Any) -> Act:
    """Return a logged command as what a world takes."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, Mapping):
        kind, parameters, misread = (value.get(k) for k in ("type", "parameters", "misread"))
        if misread in tuple(Outcome):
            return Misread(Outcome(misread), str(value.get("message", "")))
        if isinstance(kind, str) and isinstance(parameters, Mapping):
            return Command(kind, parameters)
    raise RunError(f"a command is an index or has type and parameters; it is not {value!r:.60}")
