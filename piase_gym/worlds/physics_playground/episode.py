"""An episode of PhysicsPlayground: what agents do, what becomes of it, and what they then know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Outcome, Result, Verb
from piase_gym.core.mailbox import EVERYONE, ChannelRules, Mailboxes
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.world import Capabilities, DecodedAction, StepResult, World
from piase_gym.worlds.physics_playground import actions
from piase_gym.worlds.physics_playground import facts as views
from piase_gym.worlds.physics_playground.bullet.client import Simulation
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import PhysicsFacts
from piase_gym.worlds.physics_playground.levels.generate import new_state
from piase_gym.worlds.physics_playground.observe import text
from piase_gym.worlds.physics_playground.observe.readings import Reading
from piase_gym.worlds.physics_playground.observe.sensors import SensorSet
from piase_gym.worlds.physics_playground.observe.text import Kept, RowTeller
from piase_gym.worlds.physics_playground.rules.rewards import Referee, Step
from piase_gym.worlds.physics_playground.simulation import Arena
from piase_gym.worlds.physics_playground.state import PlayState

RESULTS = {"won": Result.WON, "lost": Result.LOST, "ended": Result.ENDED}


class Playing(World[PhysicsPlaygroundConfig, PhysicsFacts]):
    """What `PhysicsPlayground` does between two snapshots."""

    capabilities: ClassVar[Capabilities] = Capabilities(continuous=True, messages=True)
    milestones: ClassVar[tuple[str, ...]] = ("gripped", "placed", "done")

    def __init__(self, config: PhysicsPlaygroundConfig) -> None:
        """Fix the spaces; Bullet starts with the first episode."""
        super().__init__(config)
        self.text_length = views.text_length(self.config)
        self.mailboxes: Mailboxes = self._new_mail()
        self._sim: Simulation | None = None
        self._channel = Stream(0, StreamId.CHANNEL)
        self.play: PlayState
        self.arena: Arena

    def _new_mail(self) -> Mailboxes:
        """Open empty mailboxes."""
        rules_ = ChannelRules(delay=self.config.delay, max_length=views.LONGEST)
        return Mailboxes(self.agents, rules_)

    # -- spaces and vocabulary ------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The primitives, ``drive``, and ``say`` if the envelope has room for messages."""
        said = (actions.SAY,) if self.config.fixed_sizes().messages else ()
        return (*actions.GRAMMAR, *said)

    @property
    def num_actions(self) -> int:
        """How many primitives there are."""
        return len(actions.PRIMITIVES)

    @property
    def noop(self) -> Command:
        """``wait``."""
        return actions.NOOP

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `views`."""
        return views.layout_of(self.config).box

    @property
    def action_box(self) -> Box:
        """Speed ahead, spin to the left, and the gripper (above 0.5 grip, below -0.5 release)."""
        return Box(-1.0, 1.0, (3,), np.float32)

    # -- an episode -----------------------------------------------------------------------

    @property
    def sim(self) -> Simulation:
        """The Bullet client; it is there from the first episode on."""
        if self._sim is None:
            self._sim = Simulation()
        return self._sim

    @property
    def reading(self) -> Reading:
        """Where everything is now."""
        return self.arena.reading

    def begin(self, seed: int) -> None:
        """Build the scene of an episode."""
        self._start(new_state(self.config, len(self.agents), seed))
        self._channel = Stream(seed, StreamId.CHANNEL)
        self.mailboxes = self._new_mail()
        self.referee.begin()

    def _start(
        self, play: PlayState, prepare: Callable[[Simulation], None] = lambda _sim: None
    ) -> None:
        """Build the scene of a state, prepare it, look for the first time, and take it up."""
        form = views.layout_of(self.config)
        arena = Arena(play, self.config, self.sim)
        referee = Referee(play, self.config, arena)
        senses = SensorSet(arena.scene, self.config, form, referee.total)
        prepare(self.sim)
        arena.look()
        self.play, self.arena, self.referee = play, arena, referee
        self._form, self._senses = form, senses
        self._forget()

    def _forget(self) -> None:
        """Drop what was worked out from an earlier state."""
        self._seen: tuple[NDArray[np.int64], NDArray[np.int8]] | None = None
        self._saved: bytes | None = None

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let everybody drive, grip and speak, run Bullet for one step, and see what came of it."""
        step = Step(list(self.alive), [Outcome.OK] * len(self.agents))
        drives = self._drives(plans, step)
        self.play.t += 1
        if not self.arena.run(drives):
            return self._explode(step)
        self._forget()
        if self.config.messages:
            self.mailboxes.deliver(self._channel)
        return self.referee.judge(step)

    def _drives(self, plans: Sequence[DecodedAction], step: Step) -> list[actions.Drive]:
        """Return what each body is to do, after grips and words were seen to."""
        drives = [actions.Drive()] * len(self.play.agents)
        for agent in self.play.order:
            plan = plans[agent]
            if isinstance(plan, InvalidAction):
                step.outcomes[agent] = plan.outcome
            elif plan is not None:
                if plan.verb == "say":
                    message = str(plan.parameters["message"])
                    self.mailboxes.send(self.agents[agent], EVERYONE, message)
                drives[agent] = actions.drive_of(plan)
                hand = drives[agent].hand
                if not self.arena.use_hand(agent, hand):
                    step.outcomes[agent] = Outcome.FAILED
                elif hand == "grip":
                    self.referee.announce(agent, "gripped", step)
        return drives

    def _explode(self, step: Step) -> StepResult:
        """End an episode whose numbers have become nonsense; things stay where they last were."""
        last = self.reading
        self.play.holds = [None] * len(self.play.holds)
        self.close()
        self._start(self.play, lambda sim: sim.place(last))
        return self.referee.stop(step)

    @property
    def alive(self) -> Sequence[bool]:
        """Who is in play."""
        return [status == "playing" for status in self.play.status]

    def result(self, agent: int) -> Result:
        """Won, lost, or ended by an explosion."""
        return RESULTS.get(self.play.status[agent], Result.LOST)

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents grip in this order."""
        self.play.order = list(order)

    def close(self) -> None:
        """Disconnect from Bullet."""
        if self._sim is not None:
            self._sim.close()
            self._sim = None

    # -- what agents know -----------------------------------------------------------------

    @property
    def rows(self) -> NDArray[np.int64]:
        """What every agent may know now, as whole numbers; see `views`."""
        return self._look()[0]

    def _look(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return rows and masks of now."""
        if self._seen is None:
            self.arena.scan(self.alive)
            self._seen = self._senses.look()
        return self._seen

    def capture(self) -> Sequence[Kept]:
        """Return rows, messages and hints of now."""
        table, heard = self.rows, self.mailboxes.heard
        return [
            Kept(table, i, tuple(heard[name]), self.hints[i]) for i, name in enumerate(self.agents)
        ]

    def facts(self, agent: int) -> PhysicsFacts:
        """Return what the agent may know now."""
        messages = tuple(self.mailboxes.heard[self.agents[agent]])
        row = self.rows[agent].tolist()
        return views.facts_of(row, self._form, messages, self.hints[agent])

    def vector(self, facts: PhysicsFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        form = views.layout_of(self.config)
        vector: NDArray[np.float32] = form.vectors(views.row_of(facts, form)[None, :])[0]
        form.code(vector, facts.messages, facts.hint)
        return vector

    def vectors(self, kept: Sequence[Kept] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        table: NDArray[np.float32] = self._form.vectors(kept[0].table)
        for vector, entry in zip(table, kept, strict=True):
            if entry.messages or entry.hint is not None:
                self._form.code(vector, entry.messages, entry.hint)
        return list(table)

    @staticmethod
    def to_text(facts: PhysicsFacts, config: PhysicsPlaygroundConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, config)

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function that writes texts from what `capture` kept."""
        return RowTeller(self.config)

    # -- what agents can do ---------------------------------------------------------------

    def admissible(self, agent: int) -> list[Command]:
        """Return the primitives that are legal; `drive` and `say` are always."""
        bits = self._look()[1][agent].tolist()
        return [command for command, bit in zip(actions.PRIMITIVES, bits, strict=True) if bit]

    def legal(self, agent: int, command: Command) -> bool:
        """Tell whether there is something to grip, to release, or a way to speak."""
        if command.verb in actions.HANDS:
            return bool(self._look()[1][agent, actions.GRIPS + actions.HANDS.index(command.verb)])
        return command.verb != "say" or self.config.messages

    def why_failed(self, agent: int) -> str | None:
        """Say why a hand found nothing to do."""
        if self.play.holds[agent] is not None:
            return "Your gripper holds something already."
        return "There is nothing within reach to grip, and nothing in the gripper to release."

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return a primitive."""
        return actions.PRIMITIVES[index]

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return which primitives are legal."""
        return list(self._look()[1].copy())

    def command_from_box(self, agent: int, action: NDArray[Any]) -> Command:
        """Return the `drive` of a point of the box."""
        ahead, turn, hand = (float(value) for value in action)
        return actions.drive_command(ahead, turn, hand)
