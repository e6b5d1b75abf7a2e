"""Sequential play of simultaneous worlds: the one rule that the document interfaces share.

With several live agents a submitted command waits until the last of them has submitted; then the
world ticks once, and each agent finds its result in `AgentRecord.result`. A second submission
replaces the first. `execution_priority` (higher first), then the agents' order, settles conflicts.
With one agent the result is immediate. `TurnEngine.close_tick` makes agents that have not submitted
do the world's no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.mailbox import Message
from piase_gym.core.models import ActionResult
from piase_gym.core.objects import object_changes, seen_changes
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Facts, StepResult
from piase_gym.envs.actions import no_acts
from piase_gym.envs.observations import is_native
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ActionError, AgentError, ResetNeededError, SnapshotError
from piase_gym.interfaces.results import action_result, changes_summary


class TurnEngine:
    """Drives a world with commands that come one after the other.

    Attributes:
        runner: The runner of the world.
        records: What is kept about each of the caller's agents, by name.
        episodes: How many episodes have begun here.
    """

    def __init__(self, runner: EpisodeRunner, wording: str = "canonical") -> None:
        """Take the runner; the first episode starts with `reset`."""
        self.runner = runner
        self.native = runner.world.shows_native = is_native(runner.world, wording)
        self.episodes = 0
        self._clear()

    def _clear(self) -> None:
        """Begin with empty records."""
        names = self.runner.world.agents
        self.records = {names[i]: AgentRecord(i) for i in self.runner.caller_agents}

    # -- who is there ---------------------------------------------------------------------

    @property
    def agents(self) -> list[str]:
        """The caller's agents that are in play."""
        return [self.runner.world.agents[i] for i in self.runner.live]

    @property
    def over(self) -> bool:
        """Whether the episode is over for the caller: nobody is in play."""
        return not self.runner.live

    @property
    def waiting_for(self) -> list[str]:
        """The agents that have not submitted for the open tick."""
        return [name for name in self.agents if self.records[name].act is None]

    def record(self, agent: object) -> AgentRecord:
        """Return the record of an agent, in an episode.

        Raises:
            ClosedError, ResetNeededError: If there is no episode.
            AgentError: If there is no such agent, or a partner plays it.
        """
        self.runner.require_episode()
        return self.find(agent)

    def find(self, agent: object) -> AgentRecord:
        """Return the record of an agent, also before the first reset."""
        self.runner.require_open()
        if isinstance(agent, str) and agent in self.records:
            return self.records[agent]
        names = ", ".join(self.records)
        if isinstance(agent, str) and agent in self.runner.world.agents:
            raise AgentError(f"agent {agent!r} is played by a partner; yours are {names}")
        raise AgentError(f"there is no agent {agent!r:.60}; agents are {names}")

    def in_play(self, record: AgentRecord) -> bool:
        """Return whether an agent is in play."""
        return record.number in self.runner.live

    def done(self, record: AgentRecord) -> bool:
        """Return whether the episode is over for an agent."""
        return record.ended or (not self.in_play(record) and not any(self.runner.world.alive))

    # -- episodes -------------------------------------------------------------------------

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode, up to the first step in which one of the caller's agents plays."""
        self.runner.reset(seed, options)
        self.episodes += 1
        self._clear()
        self.runner.wait_for_entry()
        for name in self.agents:
            self._enter(self.records[name])

    def _enter(self, record: AgentRecord) -> None:
        """Let an agent look around for the first time."""
        record.surroundings = self._surroundings(record.number)
        record.perceived_at = (self.runner.steps, self.runner.steps - 1)
        record.inventories = (record.surroundings.inventory or (),) * 2

    def _surroundings(self, number: int) -> Surroundings:
        """Return the surroundings of an agent now."""
        world = self.runner.world
        return world.surroundings(world.facts(number))

    # -- commands -------------------------------------------------------------------------

    def submit(
        self, agent: object, act: Act, priority: float | None = None, sequence: str | None = None
    ) -> ActionResult:
        """Take the command of one agent, and tick if it is the last.

        Args:
            agent: The agent's name.
            act: A command of the grammar, or an invalid action, which costs a step.
            priority: Higher goes first where commands conflict; ``None`` counts as 0.
            sequence: The sequence that the command belongs to; logs record it.

        Returns:
            What became of the command, or that it is in progress.

        Raises:
            AgentError: If the agent does not exist or is not in play.
            ResetNeededError: If there is no episode or it is over.
        """
        record = self.record(agent)
        self._require_play(str(agent), record)
        replaced = record.act is not None
        record.act, record.priority = act, priority or 0.0
        more = {"sequence_id": sequence, "execution_priority": priority}
        record.submitted = {key: value for key, value in more.items() if value is not None}
        waiting = self.waiting_for
        if waiting:
            details = {"waiting_for": waiting} | ({"replaced": True} if replaced else {})
            message = f"Waiting for {', '.join(waiting)}."
            now = float(self.runner.steps)
            record.result = ActionResult(
                status="in_progress", timestamp=now, message=message, details=details
            )
        else:
            self._tick()
        assert record.result is not None
        return record.result

    def _require_play(self, agent: str, record: AgentRecord) -> None:
        """Raise unless an agent can act now."""
        if self.in_play(record):
            return
        if self.over:
            raise ResetNeededError(f"{self.runner.why_idle}; reset before the next command")
        what = "has ended" if record.ended else "is not in play yet"
        raise AgentError(f"agent {agent!r} {what}; agents in play: {', '.join(self.agents)}")

    def close_tick(self, tick: int) -> bool:
        """Close tick number `tick`: agents that have not submitted do the world's no-op.

        Returns:
            Whether the world has ticked: False if that tick has happened already.

        Raises:
            ActionError: If the tick is not open yet.
            ResetNeededError: If there is no episode or it is over.
        """
        self.runner.require_episode()
        if tick < self.runner.steps:
            return False
        if tick > self.runner.steps:
            raise ActionError(f"tick {tick} is not open yet; the open one is {self.runner.steps}")
        if not any(self.runner.world.alive):
            raise ResetNeededError("the episode is over; reset before the next tick")
        self._tick()
        return True

    def _tick(self) -> None:
        """Let everybody act once."""
        runner, world = self.runner, self.runner.world
        playing = {name: self.records[name] for name in self.agents}
        acts: list[Any] = no_acts(world)
        for record in playing.values():
            acts[record.number] = world.noop if record.act is None else record.act
        runner.set_order(self._order())
        before = world.objects()
        sights = {name: world.in_sight(self.records[name].number, before) for name in playing}
        submitted = {name: r.submitted for name, r in playing.items() if r.submitted}
        if submitted and runner.events.active:
            runner.events.post("submitted", commands=submitted)
        tick = runner.play(acts)
        after = world.objects()
        changes = object_changes(before, after)
        for name, record in playing.items():
            seen = world.in_sight(record.number, after)
            self._note(name, record, tick, seen_changes(changes, name, sights[name], seen))
        runner.end_step(tick)
        for name in self.agents:
            if name not in playing:
                self._enter(self.records[name])

    def _order(self) -> list[int]:
        """Return the order in which agents act: by priority, then in the agents' order."""
        priorities = [0.0] * len(self.runner.world.agents)
        for record in self.records.values():
            priorities[record.number] = record.priority
        return sorted(range(len(priorities)), key=lambda i: (-priorities[i], i))

    def _note(
        self, name: str, record: AgentRecord, tick: StepResult, seen: list[dict[str, Any]]
    ) -> None:
        """Write down what a tick did to one agent, and what it saw change."""
        i, world, steps = record.number, self.runner.world, self.runner.steps
        facts = world.facts(i)
        before, record.surroundings = record.surroundings, world.surroundings(facts)
        record.total += tick.rewards[i]
        record.ended = bool(tick.terminated[i] or tick.truncated[i])
        if record.ended:
            record.last = self._with_text(i, facts), world.vectors()[i]
        changed = changes_summary(name, before, record.surroundings, seen)
        record.result = action_result(world, i, tick, steps, changed)
        record.act, record.priority, record.submitted = None, 0.0, {}
        messages = [(steps, letter) for letter in facts.messages]
        record.messages += messages
        if self.runner.events.active:
            post = self.runner.events.post
            post("result", name, **record.result.model_dump(mode="json", exclude_none=True))
            for _, letter in messages:
                post("letter", name, **letter._asdict())

    # -- what agents perceive -------------------------------------------------------------

    def perceived(self, record: AgentRecord) -> Perceived | None:
        """Return what an agent perceives now, or perceived when it ended.

        ``None`` stands for an agent that is not in play yet.
        """
        if record.last is not None:
            return record.last[0]
        if not self.in_play(record) and not record.ended:
            return None
        return self.view(record)

    def view(self, record: AgentRecord) -> Perceived:
        """Return what the world shows an agent now, in play or not."""
        return self._with_text(record.number, self.runner.world.facts(record.number))

    def _with_text(self, number: int, facts: Facts) -> Perceived:
        """Add the text to present facts."""
        world = self.runner.world
        return Perceived(
            facts, world.native_text(number) if self.native else world.observation_text(number)
        )

    def vector(self, record: AgentRecord) -> NDArray[Any]:
        """Return the vector that belongs to `perceived`, a fresh array."""
        if record.last is not None:
            return record.last[1].copy()
        return self.runner.world.vectors()[record.number]

    def news(
        self, record: AgentRecord, peek: bool = False
    ) -> tuple[list[tuple[int, Message]], tuple[str, ...]]:
        """Return what is new to an agent since it last looked in an earlier step.

        Looking again in the same step gives the same; a peek does not count as a look.

        Returns:
            Messages with the step of their delivery, and the inventory at that earlier look.
        """
        now = self.runner.steps
        perceived_at, inventories = record.perceived_at, record.inventories
        if perceived_at[0] != now:
            perceived_at = (now, perceived_at[0])
            inventories = (record.surroundings.inventory or (), inventories[0])
        messages = [item for item in record.messages if item[0] > perceived_at[1]]
        if not peek:
            record.perceived_at, record.inventories, record.messages = (
                perceived_at,
                inventories,
                messages,
            )
        return messages, inventories[1]

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return what the engine keeps, as a JSON-serializable value."""
        return {name: write_record(record) for name, record in self.records.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot of this or of another environment.

        A snapshot of another environment has no submissions and results; what agents perceived when
        they ended is not in a snapshot at all.

        Raises:
            SnapshotError: If it is damaged or of something else.
        """
        self.runner.require_open()
        records = self._read_records(snapshot)
        self.runner.restore(snapshot)
        self.records = records
        late = self.runner.world.awaiting_agents
        for record in records.values():
            record.surroundings = self._surroundings(record.number)
            if "seats" not in snapshot:
                record.ended = not self.in_play(record) and not late
                self._enter(record)

    def _read_records(self, snapshot: Mapping[str, Any]) -> dict[str, AgentRecord]:
        """Read the records of a snapshot, if it has any, before anything changes."""
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
        if "seats" not in snapshot:
            return {name: AgentRecord(record.number) for name, record in self.records.items()}
        try:
            rows = snapshot["seats"]
            return {
                name: read_record(rows[name], record.number)
                for name, record in self.records.items()
            }
        except DAMAGE as error:
            raise SnapshotError(f"the seats of this snapshot are damaged: {error!r:.200}") from None


Act = Command | InvalidAction


class Perceived(NamedTuple):
    """What one agent knows at one moment, and the same in words."""

    facts: Facts
    text: str


@dataclass
class AgentRecord:
    """What a sequential environment keeps about one of the caller's agents.

    Attributes:
        number: The agent's number in the world.
        act: What it has submitted for the open tick.
        priority: The priority of that command.
        submitted: Its ``sequence_id`` and ``execution_priority``, where given.
        result: What became of its last command, or that it is in progress.
        surroundings: Its surroundings after the last tick.
        last: What it perceived when it ended, and the vector of that.
        ended: Whether it has ended.
        total: The sum of its rewards.
        messages: Letters delivered to it that can still be asked for, with the step.
        perceived_at: The step in which it last perceived, and the one before that.
        inventories: Its inventory at these two steps.
    """

    number: int
    act: Act | None = None
    priority: float = 0.0
    submitted: dict[str, Any] = field(default_factory=dict)
    result: ActionResult | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    last: tuple[Perceived, NDArray[Any]] | None = None
    ended: bool = False
    total: float = 0.0
    messages: list[tuple[int, Message]] = field(default_factory=list)
    perceived_at: tuple[int, int] = (0, -1)
    inventories: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def write_record(record: AgentRecord) -> dict[str, Any]:
    """Return a record as a JSON-serializable value."""
    act = record.act
    return {
        "command": [act.verb, dict(act.parameters)] if isinstance(act, Command) else None,
        "misread": [act.outcome.value, act.message] if isinstance(act, InvalidAction) else None,
        "priority": record.priority,
        "submitted": record.submitted,
        "result": record.result and record.result.model_dump(mode="json"),
        "ended": record.ended,
        "total": record.total,
        "letters": [[step, list(letter)] for step, letter in record.messages],
        "looked": list(record.perceived_at),
        "pockets": [list(items) for items in record.inventories],
    }


def read_record(row: Mapping[str, Any], number: int) -> AgentRecord:
    """Undo `write_record`."""
    record = AgentRecord(number, priority=float(row["priority"]), ended=bool(row["ended"]))
    record.submitted = dict(row.get("submitted", {}))
    if row["command"] is not None:
        verb, parameters = row["command"]
        record.act = Command(str(verb), dict(parameters))
    elif row["misread"] is not None:
        outcome, message = row["misread"]
        record.act = InvalidAction(Outcome(outcome), str(message))
    record.result = None if row["result"] is None else ActionResult.model_validate(row["result"])
    record.total = float(row["total"])
    record.messages = [(int(step), Message(*map(str, letter))) for step, letter in row["letters"]]
    now, before = row["looked"]
    new, old = row["pockets"]
    record.perceived_at, record.inventories = (int(now), int(before)), (tuple(new), tuple(old))
    return record
