"""Sequential faces over simultaneous worlds: the one rule that the seed interfaces share.

With several live agents a submitted command waits until the last of them has submitted; then the
world ticks once, and each agent finds its result in `Seat.result`. A second submission replaces
the first. `execution_priority` (higher first), then the agents' order, settles conflicts. With
one agent the result is immediate. `SequentialEngine.close_tick` lets those who have not submitted
do the world's no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from piase_gym.commands import Outcome
from piase_gym.errors import ActionError, AgentError, ResetNeededError, SnapshotError
from piase_gym.faces.driver import Driver
from piase_gym.faces.partners import no_acts
from piase_gym.faces.seats import Act, Seat, Sight, changes, read_seat, write_seat
from piase_gym.faces.views import is_native
from piase_gym.mailbox import Letter
from piase_gym.models import ActionResult
from piase_gym.surroundings import Surroundings
from piase_gym.world import Facts, Tick
from piase_gym.world_state import DAMAGE

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


class SequentialEngine:
    """Drives a world with commands that come one after the other.

    Attributes:
        driver: The driver of the world.
        seats: What is kept about each of the caller's agents, by name.
        episodes: How many episodes have begun here.
    """

    def __init__(self, driver: Driver, wording: str = "canonical") -> None:
        """Take the driver; the first episode starts with `reset`."""
        self.driver = driver
        self.native = is_native(driver.world, wording)
        self.episodes = 0
        self._clear()

    def _clear(self) -> None:
        """Begin with empty seats."""
        names = self.driver.world.agents
        self.seats = {names[i]: Seat(i) for i in self.driver.own}

    # -- who is there ---------------------------------------------------------------------

    @property
    def agents(self) -> list[str]:
        """The caller's agents that are in play."""
        return [self.driver.world.agents[i] for i in self.driver.played]

    @property
    def over(self) -> bool:
        """Whether the episode is over for the caller: nobody is in play."""
        return not self.driver.played

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
        self.driver.require_episode()
        return self.place(agent)

    def place(self, agent: object) -> Seat:
        """Return the seat of an agent, also before the first reset."""
        self.driver.require_open()
        if isinstance(agent, str) and agent in self.seats:
            return self.seats[agent]
        names = ", ".join(self.seats)
        if isinstance(agent, str) and agent in self.driver.world.agents:
            raise AgentError(f"agent {agent!r} is played by a partner; yours are {names}")
        raise AgentError(f"there is no agent {agent!r:.60}; agents are {names}")

    def in_play(self, seat: Seat) -> bool:
        """Tell whether an agent is in play."""
        return seat.number in self.driver.played

    def done(self, seat: Seat) -> bool:
        """Tell whether the episode is over for an agent."""
        return seat.ended or (not self.in_play(seat) and not any(self.driver.world.alive))

    # -- episodes -------------------------------------------------------------------------

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode, up to the first step in which one of the caller's agents plays."""
        self.driver.reset(seed, options)
        self.episodes += 1
        self._clear()
        self.driver.wait_for_entry()
        for name in self.agents:
            self._enter(self.seats[name], {})

    def _enter(self, seat: Seat, notes: Mapping[str, Any]) -> None:
        """Let an agent look around for the first time."""
        seat.notes = notes
        seat.around = self._around(seat.number)
        seat.looked = (self.driver.steps, self.driver.steps - 1)
        seat.pockets = (seat.around.inventory or (),) * 2

    def _around(self, number: int) -> Surroundings:
        """Return the surroundings of an agent now."""
        world = self.driver.world
        return world.surroundings(world.facts(number))

    # -- commands -------------------------------------------------------------------------

    def submit(self, agent: object, act: Act, priority: float = 0.0) -> ActionResult:
        """Take the command of one agent, and tick if it is the last.

        Args:
            agent: The agent's name.
            act: A command of the grammar, or a misread, which costs a step.
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
            now = float(self.driver.steps)
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
        self.driver.require_episode()
        if tick < self.driver.steps:
            return False
        if tick > self.driver.steps:
            raise ActionError(f"tick {tick} is not open yet; the open one is {self.driver.steps}")
        if not any(self.driver.world.alive):
            raise ResetNeededError("the episode is over; reset before the next tick")
        self._tick()
        return True

    def _tick(self) -> None:
        """Let everybody act once."""
        driver, world = self.driver, self.driver.world
        playing = {name: self.seats[name] for name in self.agents}
        acts: list[Any] = no_acts(world)
        for seat in playing.values():
            acts[seat.number] = world.noop if seat.act is None else seat.act
        driver.set_order(self._order())
        tick = driver.step(acts)
        for name, seat in playing.items():
            self._note(name, seat, tick)
        driver.end_step(tick)
        for name in self.agents:
            if name not in playing:
                self._enter(self.seats[name], tick.notes.get(self.seats[name].number, {}))

    def _order(self) -> list[int]:
        """Return who acts first: by priority, then in the agents' order."""
        priorities = [0.0] * len(self.driver.world.agents)
        for seat in self.seats.values():
            priorities[seat.number] = seat.priority
        return sorted(range(len(priorities)), key=lambda i: (-priorities[i], i))

    def _note(self, name: str, seat: Seat, tick: Tick) -> None:
        """Write down what a tick did to one agent."""
        i, world, steps = seat.number, self.driver.world, self.driver.steps
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
        if self.driver.events.active:
            post = self.driver.events.post
            post("result", name, **seat.result.model_dump(mode="json", exclude_none=True))
            for _, letter in letters:
                post("letter", name, **letter._asdict())

    def _result(self, seat: Seat, tick: Tick, changed: dict[str, Any]) -> ActionResult:
        """Put what became of a command into the words of the seeds."""
        i = seat.number
        outcome = tick.outcomes[i]
        told = seat.notes.get("feedback")
        if not told and outcome is Outcome.FAILED:
            told = self.driver.world.why_failed(i)
        message = str(told or SENTENCES[outcome])
        details = {
            **seat.notes,
            "outcome": outcome.value,
            "terminated": bool(tick.terminated[i]),
            "truncated": bool(tick.truncated[i]),
        }
        if seat.ended:
            details["result"] = self.driver.world.result(i).value
        return ActionResult(
            status=outcome.status,
            timestamp=float(self.driver.steps),
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
        return self._sight(seat.number, self.driver.world.facts(seat.number))

    def _sight(self, number: int, facts: Facts) -> Sight:
        """Add the words to facts of now."""
        world = self.driver.world
        return Sight(facts, world.native_text(number) if self.native else world.text(facts))

    def vector(self, seat: Seat) -> NDArray[Any]:
        """Return the vector that belongs to `sight`, a fresh array."""
        if seat.last is not None:
            return seat.last[1].copy()
        return self.driver.world.vectors()[seat.number]

    def look(
        self, seat: Seat, peek: bool = False
    ) -> tuple[list[tuple[int, Letter]], tuple[str, ...]]:
        """Return what is new to an agent since the step before this one in which it looked.

        Looking again in the same step gives the same; a peek does not count as a look.

        Returns:
            Letters with the step of their delivery, and the inventory of then.
        """
        now = self.driver.steps
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
        """Take up a snapshot of this or of another face.

        A snapshot of another face has no submissions and results; what agents perceived when
        they ended is not in a snapshot at all.

        Raises:
            SnapshotError: If it is damaged or of something else.
        """
        self.driver.require_open()
        seats = self._read_seats(snapshot)
        self.driver.restore(snapshot)
        self.seats = seats
        late = self.driver.world.expecting
        for seat in seats.values():
            seat.around = self._around(seat.number)
            if "seats" not in snapshot:
                seat.ended = not self.in_play(seat) and not late
                seat.looked = (self.driver.steps, self.driver.steps - 1)
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
