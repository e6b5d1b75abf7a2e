"""Sequential play of simultaneous worlds: the one rule that the document interfaces share.

With several live agents a submitted command waits until the last of them has submitted; then the
world ticks once, and each agent finds its result in `Seat.result`. A second submission replaces
the first. `execution_priority` (higher first), then the agents' order, settles conflicts. With
one agent the result is immediate. `TurnEngine.close_tick` lets those who have not submitted
do the world's no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import Letter
from piase_gym.core.models import ActionResult
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Facts, StepResult
from piase_gym.envs.observations import is_native
from piase_gym.envs.partners import no_acts
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ActionError, AgentError, ResetNeededError, SnapshotError

SENTENCES = {
    Outcome.OK: "Done.",
    Outcome.FAILED: "That was allowed, but had no effect.",
    Outcome.ILLEGAL: "That cannot be done now.",
    Outcome.UNPARSABLE: "That is no command of this world.",
    Outcome.TOO_LONG: "That command is too long.",
    Outcome.TIMEOUT: "No command came in time.",
    Outcome.REFUSED: "The command was refused.",
}
"""What is said of an outcome where the world itself says nothing."""


class TurnEngine:
    """Drives a world with commands that come one after the other.

    Attributes:
        runner: The runner of the world.
        seats: What is kept about each of the caller's agents, by name.
        episodes: How many episodes have begun here.
    """

    def __init__(self, runner: EpisodeRunner, wording: str = "canonical") -> None:
        """Take the runner; the first episode starts with `reset`."""
        self.runner = runner
        self.native = is_native(runner.world, wording)
        self.episodes = 0
        self._clear()

    def _clear(self) -> None:
        """Begin with empty seats."""
        names = self.runner.world.agents
        self.seats = {names[i]: Seat(i) for i in self.runner.own}

    # -- who is there ---------------------------------------------------------------------

    @property
    def agents(self) -> list[str]:
        """The caller's agents that are in play."""
        return [self.runner.world.agents[i] for i in self.runner.played]

    @property
    def over(self) -> bool:
        """Whether the episode is over for the caller: nobody is in play."""
        return not self.runner.played

    @property
    def waiting_for(self) -> list[str]:
        """Who has not submitted for the open tick."""
        return [name for name in self.agents if self.seats[name].act is None]

    def seat(self, agent: object) -> Seat:
        """Return the seat of an agent, in an episode.

        Raises:
            ClosedError, ResetNeededError: If there is no episode.
            AgentError: If there is no such agent, or a partner plays it.
        """
        self.runner.require_episode()
        return self.place(agent)

    def place(self, agent: object) -> Seat:
        """Return the seat of an agent, also before the first reset."""
        self.runner.require_open()
        if isinstance(agent, str) and agent in self.seats:
            return self.seats[agent]
        names = ", ".join(self.seats)
        if isinstance(agent, str) and agent in self.runner.world.agents:
            raise AgentError(f"agent {agent!r} is played by a partner; yours are {names}")
        raise AgentError(f"there is no agent {agent!r:.60}; agents are {names}")

    def in_play(self, seat: Seat) -> bool:
        """Tell whether an agent is in play."""
        return seat.number in self.runner.played

    def done(self, seat: Seat) -> bool:
        """Tell whether the episode is over for an agent."""
        return seat.ended or (not self.in_play(seat) and not any(self.runner.world.alive))

    # -- episodes -------------------------------------------------------------------------

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode, up to the first step in which one of the caller's agents plays."""
        self.runner.reset(seed, options)
        self.episodes += 1
        self._clear()
        self.runner.wait_for_entry()
        for name in self.agents:
            self._enter(self.seats[name], {})

    def _enter(self, seat: Seat, notes: Mapping[str, Any]) -> None:
        """Let an agent look around for the first time."""
        seat.notes = notes
        seat.around = self._around(seat.number)
        seat.looked = (self.runner.steps, self.runner.steps - 1)
        seat.pockets = (seat.around.inventory or (),) * 2

    def _around(self, number: int) -> Surroundings:
        """Return the surroundings of an agent now."""
        world = self.runner.world
        return world.surroundings(world.facts(number))

    # -- commands -------------------------------------------------------------------------

    def submit(self, agent: object, act: Act, priority: float = 0.0) -> ActionResult:
        """Take the command of one agent, and tick if it is the last.

        Args:
            agent: The agent's name.
            act: A command of the grammar, or an invalid action, which costs a step.
            priority: Higher goes first where commands conflict.

        Returns:
            What became of the command, or that it is in progress.

        Raises:
            AgentError: If the agent does not exist or is not in play.
            ResetNeededError: If there is no episode or it is over.
        """
        seat = self.seat(agent)
        self._require_play(str(agent), seat)
        replaced = seat.act is not None
        seat.act, seat.priority = act, priority
        waiting = self.waiting_for
        if waiting:
            details = {"waiting_for": waiting} | ({"replaced": True} if replaced else {})
            message = f"Waiting for {', '.join(waiting)}."
            now = float(self.runner.steps)
            seat.result = ActionResult(
                status="in_progress", timestamp=now, message=message, details=details
            )
        else:
            self._tick()
        assert seat.result is not None
        return seat.result

    def _require_play(self, agent: str, seat: Seat) -> None:
        """Raise unless an agent can act now."""
        if self.in_play(seat):
            return
        if self.over:
            raise ResetNeededError("the episode is over; reset before the next command")
        what = "has ended" if seat.ended else "is not in play yet"
        raise AgentError(f"agent {agent!r} {what}; agents in play: {', '.join(self.agents)}")

    def close_tick(self, tick: int) -> bool:
        """Close tick number `tick`: who has not submitted does the world's no-op.

        Returns:
            Whether the world has ticked; not if that tick has happened already.

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
        playing = {name: self.seats[name] for name in self.agents}
        acts: list[Any] = no_acts(world)
        for seat in playing.values():
            acts[seat.number] = world.noop if seat.act is None else seat.act
        runner.set_order(self._order())
        tick = runner.step(acts)
        for name, seat in playing.items():
            self._note(name, seat, tick)
        runner.end_step(tick)
        for name in self.agents:
            if name not in playing:
                self._enter(self.seats[name], tick.notes.get(self.seats[name].number, {}))

    def _order(self) -> list[int]:
        """Return who acts first: by priority, then in the agents' order."""
        priorities = [0.0] * len(self.runner.world.agents)
        for seat in self.seats.values():
            priorities[seat.number] = seat.priority
        return sorted(range(len(priorities)), key=lambda i: (-priorities[i], i))

    def _note(self, name: str, seat: Seat, tick: StepResult) -> None:
        """Write down what a tick did to one agent."""
        i, world, steps = seat.number, self.runner.world, self.runner.steps
        facts = world.facts(i)
        before, seat.around = seat.around, world.surroundings(facts)
        seat.notes = tick.notes.get(i, {})
        seat.total += tick.rewards[i]
        seat.ended = bool(tick.terminated[i] or tick.truncated[i])
        if seat.ended:
            seat.last = self._sight(i, facts), world.vectors()[i]
        seat.result = self._result(seat, tick, changes(before, seat.around))
        seat.act, seat.priority = None, 0.0
        letters = [(steps, letter) for letter in facts.messages]
        seat.letters = [item for item in seat.letters if item[0] > seat.looked[1]] + letters
        if self.runner.events.active:
            post = self.runner.events.post
            post("result", name, **seat.result.model_dump(mode="json", exclude_none=True))
            for _, letter in letters:
                post("letter", name, **letter._asdict())

    def _result(self, seat: Seat, tick: StepResult, changed: dict[str, Any]) -> ActionResult:
        """Put what became of a command into the words of the seeds."""
        i = seat.number
        outcome = tick.outcomes[i]
        told = seat.notes.get("feedback")
        if not told and outcome in (Outcome.OK, Outcome.FAILED):
            told = self.runner.world.why_failed(i)
        message = str(told or SENTENCES[outcome])
        details = {
            **seat.notes,
            "outcome": outcome.value,
            "terminated": bool(tick.terminated[i]),
            "truncated": bool(tick.truncated[i]),
        }
        if seat.ended:
            details["result"] = self.runner.world.result(i).value
        return ActionResult(
            status=outcome.status,
            timestamp=float(self.runner.steps),
            message=message,
            state_changes_summary=changed or None,
            rewards_obtained={"reward": float(tick.rewards[i])},
            error_details=None if outcome is Outcome.OK else message,
            details=details,
        )

    # -- what agents perceive -------------------------------------------------------------

    def sight(self, seat: Seat) -> Sight | None:
        """Return what an agent perceives now, or perceived when it ended.

        ``None`` stands for an agent that is not in play yet.
        """
        if seat.last is not None:
            return seat.last[0]
        if not self.in_play(seat) and not seat.ended:
            return None
        return self._sight(seat.number, self.runner.world.facts(seat.number))

    def _sight(self, number: int, facts: Facts) -> Sight:
        """Add the words to facts of now."""
        world = self.runner.world
        return Sight(facts, world.native_text(number) if self.native else world.text(facts))

    def vector(self, seat: Seat) -> NDArray[Any]:
        """Return the vector that belongs to `sight`, a fresh array."""
        if seat.last is not None:
            return seat.last[1].copy()
        return self.runner.world.vectors()[seat.number]

    def look(
        self, seat: Seat, peek: bool = False
    ) -> tuple[list[tuple[int, Letter]], tuple[str, ...]]:
        """Return what is new to an agent since the step before this one in which it looked.

        Looking again in the same step gives the same; a peek does not count as a look.

        Returns:
            Letters with the step of their delivery, and the inventory of then.
        """
        now = self.runner.steps
        looked, pockets = seat.looked, seat.pockets
        if looked[0] != now:
            looked = (now, looked[0])
            pockets = (seat.around.inventory or (), pockets[0])
        letters = [item for item in seat.letters if item[0] > looked[1]]
        if not peek:
            seat.looked, seat.pockets, seat.letters = looked, pockets, letters
        return letters, pockets[1]

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return what the engine keeps, as a JSON-able value."""
        return {name: write_seat(seat) for name, seat in self.seats.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot of this or of another environment.

        A snapshot of another environment has no submissions and results; what agents perceived when
        they ended is not in a snapshot at all.

        Raises:
            SnapshotError: If it is damaged or of something else.
        """
        self.runner.require_open()
        seats = self._read_seats(snapshot)
        self.runner.restore(snapshot)
        self.seats = seats
        late = self.runner.world.awaiting_agents
        for seat in seats.values():
            seat.around = self._around(seat.number)
            if "seats" not in snapshot:
                seat.ended = not self.in_play(seat) and not late
                seat.looked = (self.runner.steps, self.runner.steps - 1)
                seat.pockets = (seat.around.inventory or (),) * 2

    def _read_seats(self, snapshot: Mapping[str, Any]) -> dict[str, Seat]:
        """Read the seats of a snapshot, if it has any, before anything changes."""
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"a snapshot is a mapping, not {type(snapshot).__name__}")
        if "seats" not in snapshot:
            return {name: Seat(seat.number) for name, seat in self.seats.items()}
        try:
            rows = snapshot["seats"]
            return {name: read_seat(rows[name], seat.number) for name, seat in self.seats.items()}
        except DAMAGE as error:
            raise SnapshotError(f"the seats of this snapshot are damaged: {error!r:.200}") from None


Act = Command | InvalidAction


class Sight(NamedTuple):
    """What one agent knows at one moment, and the same in words."""

    facts: Facts
    text: str


@dataclass
class Seat:
    """What a sequential environment keeps about one of the caller's agents.

    Attributes:
        number: The agent's number in the world.
        act: What it has submitted for the open tick.
        priority: The priority of that.
        result: What became of its last command, or that it is in progress.
        around: Its surroundings after the last tick.
        last: What it perceived when it ended, and the vector of that.
        ended: Whether it has ended.
        notes: What the world noted about it in the last tick.
        total: The sum of its rewards.
        letters: Letters delivered to it, with the step, as far as they can still be asked for.
        looked: The step in which it last perceived, and the one in which it did so before that.
        pockets: Its inventory at these two steps.
    """

    number: int
    act: Act | None = None
    priority: float = 0.0
    result: ActionResult | None = None
    around: Surroundings = field(default_factory=Surroundings)
    last: tuple[Sight, NDArray[Any]] | None = None
    ended: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    total: float = 0.0
    letters: list[tuple[int, Letter]] = field(default_factory=list)
    looked: tuple[int, int] = (0, -1)
    pockets: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def changes(before: Surroundings, after: Surroundings) -> dict[str, Any]:
    """Return what has changed of an agent's own: position, rotation, inventory, stats."""
    names = ("position", "rotation", "inventory", "stats")
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    return {name: jsonable(new) for name, old, new in pairs if new != old}


def write_seat(seat: Seat) -> dict[str, Any]:
    """Return a seat as a JSON-able value."""
    act = seat.act
    return {
        "command": [act.verb, dict(act.parameters)] if isinstance(act, Command) else None,
        "misread": [act.outcome.value, act.message] if isinstance(act, InvalidAction) else None,
        "priority": seat.priority,
        "result": seat.result and seat.result.model_dump(mode="json"),
        "ended": seat.ended,
        "notes": jsonable(seat.notes),
        "total": seat.total,
        "letters": [[step, list(letter)] for step, letter in seat.letters],
        "looked": list(seat.looked),
        "pockets": [list(items) for items in seat.pockets],
    }


def read_seat(row: Mapping[str, Any], number: int) -> Seat:
    """Undo `write_seat`."""
    seat = Seat(number, priority=float(row["priority"]), ended=bool(row["ended"]))
    if row["command"] is not None:
        verb, parameters = row["command"]
        seat.act = Command(str(verb), dict(parameters))
    elif row["misread"] is not None:
        outcome, message = row["misread"]
        seat.act = InvalidAction(Outcome(outcome), str(message))
    seat.result = None if row["result"] is None else ActionResult.model_validate(row["result"])
    seat.notes, seat.total = dict(row["notes"]), float(row["total"])
    seat.letters = [(int(step), Letter(*map(str, letter))) for step, letter in row["letters"]]
    now, before = row["looked"]
    new, old = row["pockets"]
    seat.looked, seat.pockets = (int(now), int(before)), (tuple(new), tuple(old))
    return seat
