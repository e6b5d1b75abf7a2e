"""PhysicsPlayground, as a World: Bullet behind the contract."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Outcome, Result, Verb
from piase_gym.core.difficulty import DifficultyParameter, Element, PerAgentField
from piase_gym.core.last_step import LastStep
from piase_gym.core.mailbox import EVERYONE, Mailbox, Message, charged
from piase_gym.core.objects import Objects
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.script.observables import Observable
from piase_gym.core.world import Act, Capabilities, DecodedAction, Manual, StepResult, World
from piase_gym.errors import SnapshotError
from piase_gym.worlds.channel.config import SPOKEN
from piase_gym.worlds.channel.heard import EarlierMessage, Heard, heard_before, new_mail
from piase_gym.worlds.channel.symbols import sayable, why_unsayable
from piase_gym.worlds.physics_playground import actions, naming, scripting, snapshots
from piase_gym.worlds.physics_playground import facts as views
from piase_gym.worlds.physics_playground import manual as words
from piase_gym.worlds.physics_playground.bullet.client import Simulation
from piase_gym.worlds.physics_playground.config import PhysicsEnvelope, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.curriculum import (
    DIFFICULTY_PARAMETERS,
    ELEMENTS,
    PER_AGENT_FIELDS,
)
from piase_gym.worlds.physics_playground.facts import PhysicsPlaygroundFacts
from piase_gym.worlds.physics_playground.levels.generate import new_state
from piase_gym.worlds.physics_playground.levels.items import Point
from piase_gym.worlds.physics_playground.levels.tasks import tasks_table
from piase_gym.worlds.physics_playground.objects import objects
from piase_gym.worlds.physics_playground.observe import pictures, text
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.observe.sensors import SensorSet
from piase_gym.worlds.physics_playground.observe.text import CapturedRow
from piase_gym.worlds.physics_playground.rules import strides
from piase_gym.worlds.physics_playground.rules.rewards import Referee, Step
from piase_gym.worlds.physics_playground.rules.strides import Driver, Stride, lasts
from piase_gym.worlds.physics_playground.rules.tasks import total
from piase_gym.worlds.physics_playground.simulation import Arena
from piase_gym.worlds.physics_playground.state import PlayState

STUCK = 5
"""An agent that drives but advances by fewer centimetres a second is held up by what it touches."""
MOST_LINES = 1024
"""The largest number of lines of commands that are kept."""
_AT_REST = actions.Drive(), False
RESULTS = {"won": Result.WON, "lost": Result.LOST, "ended": Result.ENDED}


class PhysicsPlayground(World[PhysicsPlaygroundConfig, PhysicsPlaygroundFacts]):
    """Rovers and spheres push, grip, stack and carry things that have mass (PyBullet).

    ## Description

    A floor with a wall around it, (0, 0) in its middle, x to the east, y to the north, in metres.
    On it stand walls and ramps, and boxes, balls, cylinders and crates that can be moved, each of
    a colour of its own. Agents are rovers (two driven wheels: a rover goes where it faces and
    turns on the spot) or spheres (driven by a force along their heading, turned by a torque; they
    drift). A step is `substeps` of 1/128 s, 8 by default. What drives agents is set for short
    steps: with more than 12 substeps spheres come to more than their full speed, and with 16 or
    more two rovers no longer move the crate of `carry`. The tasks:

    {tasks}

    In `keep_away`, keepers win if they hold out for `hold_steps`. The crate of `carry` resists with
    1.45 times the thrust of one agent. `randomise` draws mass, friction and bounce of every
    object, and the gravity, for each episode. Needs the extra `physics`.

    ## Actions

    | index | command | effect |
    |---|---|---|
    | 0 | `wait` | brake and stay |
    | 1 | `forward` | drive ahead at walking pace, 0.6 of full speed |
    | 2 | `back` | the same backwards |
    | 3 | `turn left` | turn on the spot |
    | 4 | `turn right` | the same to the right |
    | 5 | `push` | drive ahead at full speed |
    | 6 | `grip` | grip the nearest thing ahead; masked if there is none |
    | 7 | `release` | let go; masked with empty hands |

    With `actions="continuous"`, an action is a point of a Box of 3 from -1 to 1: speed ahead, spin
    to the left, and the gripper (above 0.5 grip, below -0.5 release). Its command is
    `drive <ahead> <turn> [hand]`, which text agents can use too; a `drive` with nothing to grip or
    release has the outcome `failed`. Full speed is 1.2 m/s for a rover and 1.5 m/s for a sphere,
    full spin 3 rad/s. Light objects are held in front and raised by `lift`; those that weigh more
    than half an agent's thrust are dragged by a rod. A grip that is pulled apart by more than 0.3 m
    slips. With `speech=True` there are `say <message>`, for all others, and
    `tell <agent> <message>`; with `symbols=n`, index ``8 * message + primitive`` says symbols too
    (`forward saying 2`), and so can every command in text, which says them once; see
    [Channels](../channels.md).

    Strides: in text (or as data) commands can have an amount, or name what they are about:
    `forward 1.0`, `back 0.5`, `push 0.8` (metres), `turn left 45` (degrees), `wait 2` (seconds),
    `face red box`, `go to zone`, `go to 1.2 -0.5`. They last until they are done and the body is
    at rest, until it is blocked (outcome `failed`), or for `stride` steps; `go to` stops where a
    thing can be gripped, and goes around nothing. Things are called `red box`, `red`, `box_1`
    (the first box), or `box` if there is only one; agents go by their names; other targets are
    `goal` or `zone`, a place as x and y, and for `face` also `east` and the like. With
    ``indices="strides"``, indices 1 to 5 are strides of 0.5 m and 30 degrees, and 0 waits half a
    second; the Box stays as it is.

    In an environment, a stride is one call of `step`: rewards and milestones add up, and logs,
    watchers and partners see every single step. If the caller plays several agents, all of them
    are asked again as soon as the command of one ends; an agent that repeats its command continues
    it, and any other command replaces it. Partners, and agents in a `Simulation` or in
    `piase bench`, are asked when their own command has ended. Commands under way are part of the
    state: snapshots and logs continue them bit for bit.

    ## Observations

    Own place, heading, speed and spin; what the agent holds and touches; distance and bearing of
    the target or the zone; how many things are placed; the `nearest` objects in egocentric polar
    form (distance, bearing, height, how fast the distance grows, and whether it is held or in the
    zone); the other agents in the same form; `rays` lidar ranges, counterclockwise from ahead.
    Every number is a whole number of centimetres, centimetres a second or degrees, so that vector
    and text state the same facts. The vector is float32: metres, metres a second, codes, then the
    sine and cosine of every bearing, then hashed words of messages and hint; see `facts.Layout`.

    Pictures (`camera="overhead"` or `"egocentric"`, 512 pixels wide by default) are drawn only
    when they are asked for, because one costs more than many steps.

    ## Rewards

    +10 when the task is done, +1 for every metre that the task comes nearer to its end, +2 for
    every additional thing in its place and -2 for every one fewer, -0.01 every step, -0.1 for an
    illegal command. In `keep_away`, keepers get +0.02 a step and chasers -0.02, and agents that
    lose get -10. All are fields of `rewards`. With `shared_reward`, every agent gets the mean.

    ## Start and end

    Agents, objects, target and zone are placed at random unless the config says where. An agent
    is terminated when its task ends (`info["reason"]` is `task_done`, or `outplayed` in
    `keep_away`), and truncated after `max_steps` (`time_out`). If Bullet's numbers become nonsense,
    the episode is truncated with `simulation_exploded` and the result `ended`; the next reset
    starts afresh.
    Milestones: `gripped`, `placed`, `done`.

    ## State

    A snapshot holds Bullet's own file and our fields; an episode continues from it bit for bit in
    another process, with contacts and with grips in whatever order they were made. States, digests
    and golden rollouts hold for one platform and version of pybullet.

    A snapshot, or a log with snapshots in it, may come from anybody: Bullet never reads its
    bytes. Every number is taken out, checked and written into a file that Bullet has saved here
    of the same scene; what does not fit is refused with `SnapshotError`, and nothing is changed.
    A pickle is another matter, as always in Python: load only your own.

    Each environment holds a Bullet client, with its memory, from its first episode until it is
    closed. At most 100 clients may be live in a process; the environment variable
    `PIASE_BULLET_CLIENTS` sets another number, and opening one more raises `CapacityError`.

    The laws of mechanics hold within what Bullet's steps of 1/128 s allow: colliding things keep
    their momentum, and part up to 0.04 m/s faster than their bounce says; towers creep by 1 mm a
    second; with a restitution near 1, bodies that bounce and rub can gain energy.

    ## Players, scenarios and curriculum

    The oracle is a controller with the whole state in view, and the script is one that knows only
    its facts; both do every task. `ramp_run` and `heavy_crate` are scenarios (`piase run NAME`).
    The curriculum `hands_on` has five steps from driving to a place to building a tower
    (`piase curriculum run hands_on`).

    Scripts can take away any object of the config (`remove_object`, by name or place), and
    put objects that are away somewhere (`spawn_object`); `absent: true` lets an object be away at
    the start. Where an object would touch another one, an agent or a wall, nothing appears. Objects
    that are away are in no view and in no task, and no agent is rewarded when they come or go.

    ## Versions

    - v0: first version.
    - v1: other texts; commands may last for several steps.
    - v2: texts use the singular for one step and one degree.
    """

    name: ClassVar[str] = "PhysicsPlayground"
    version: ClassVar[int] = 2
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        (
            "max_steps shared_reward rewards tolerance zone hold_steps message_delay substeps "
            "range message_loss message_cost message_range message_topology"
        ).split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = PER_AGENT_FIELDS
    capabilities: ClassVar[Capabilities] = Capabilities(continuous=True, messages=True)
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    scripting: ClassVar[Any] = scripting
    milestones: ClassVar[tuple[str, ...]] = words.MILESTONES
    lasting: ClassVar[bool] = True

    envelope: PhysicsEnvelope

    def __init__(self, config: PhysicsPlaygroundConfig) -> None:
        """Fix the spaces; Bullet starts with the first episode."""
        super().__init__(config)
        self.text_length = views.text_length(self.config)
        self.mailboxes: Mailbox = self._new_mail()
        self.strides: list[Stride | None] = [None] * len(self.agents)
        """For each agent, the command for several steps that is under way or just ended, if any."""
        self._sim: Simulation | None = None
        self._channel = Stream(0, StreamId.CHANNEL)
        self._lines: dict[int, tuple[Command | int, str]] = {}
        """The lines of commands by `id`; a command that is kept here keeps its `id`."""
        self.play: PlayState
        self.arena: Arena

    def _new_mail(self) -> Mailbox:
        """Return empty mailboxes."""
        return new_mail(self.config, self.agents, views.LONGEST, self._hears)

    def _hears(self, sender: str, recipient: str) -> bool:
        """Return whether the recipient is in play, may hear the sender, and is near enough."""
        one, other = self.agents.index(sender), self.agents.index(recipient)
        if not self.alive[other] or not self.config.hears(one, other):
            return False
        here, there = (self.arena.pose(agent).position[:2] for agent in (one, other))
        return self.config.reaches(here, there)

    @property
    def carries_words(self) -> bool:
        """Whether the envelope has room for words; mailboxes carry symbols too."""
        return any(verb.name in SPOKEN for verb in self.grammar)

    def _letters(self, agent: int) -> tuple[Message, ...]:
        """Return the messages an agent hears now; without speech, only the last of each sender."""
        letters = self.mailboxes.delivered[self.agents[agent]]
        if self.config.speech or not letters:
            return tuple(letters)
        last = {letter.sender: letter for letter in letters}
        return tuple(last[name] for name in self.agents if name in last)

    def _earlier(self, agent: int) -> tuple[EarlierMessage, ...]:
        """Return the earlier messages that an agent is shown."""
        return heard_before(self.mailboxes, self.agents[agent])

    # -- spaces and vocabulary ------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """All verbs, with ``say`` and ``tell`` if the envelope has room for messages."""
        return self._verbs

    @functools.cached_property
    def _verbs(self) -> tuple[Verb, ...]:
        return actions.grammar_of(self.envelope, self.agents)

    @functools.cached_property
    def _tables(self) -> Mapping[str, tuple[Command, ...]]:
        """The commands of the indices, for each value of `indices`."""
        return {name: actions.table_of(name, self.envelope, self.agents) for name in actions.TABLES}

    @property
    def num_actions(self) -> int:
        """How many indices there are: the primitives with every message."""
        return len(self._table)

    @property
    def _table(self) -> tuple[Command, ...]:
        """The commands of the indices."""
        return self._tables[self.config.indices]

    @property
    def noop(self) -> Command:
        """``wait``."""
        return actions.NOOP

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `facts`."""
        return views.layout_of(self.config).box

    @property
    def action_box(self) -> Box:
        """Speed ahead, spin to the left, and the gripper (above 0.5 grip, below -0.5 release)."""
        return Box(-1.0, 1.0, (3,), np.float32)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `snapshots.state_vector`."""
        length = snapshots.state_length(self.envelope)
        return Box(-1e6, 1e6, (length,), np.float64)

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return words.manual(self.config)

    # -- an episode -----------------------------------------------------------------------

    @property
    def sim(self) -> Simulation:
        """The Bullet client; it exists from the first episode on."""
        if self._sim is None:
            self._sim = Simulation()
        return self._sim

    @property
    def reading(self) -> BodyReadings:
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
        """Build and prepare the scene of a state, look at it, and make it the present one."""
        form = views.layout_of(self.config)
        arena = Arena(play, self.config, self.sim)
        referee = Referee(play, self.config, arena)
        senses = SensorSet(arena.scene, self.config, form)
        prepare(self.sim)
        arena.look()
        self.play, self.arena, self.referee = play, arena, referee
        self._form, self._senses = form, senses
        self._driver = Driver(self.config)
        self.strides = [None] * len(self.agents)
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed from an earlier state."""
        self._drove: dict[int, tuple[actions.Drive, bool]] = {}
        self._seen: tuple[NDArray[np.int64], NDArray[np.int8]] | None = None
        self._saved: bytes | None = None

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let all agents drive, grip and speak, run Bullet for one step, and judge the outcome."""
        step = Step([*self.alive], [Outcome.OK] * len(self.agents))
        sent = self.mailboxes.sent_before()
        drives = self._drives(plans, step)
        self.play.t += 1
        if not self.arena.run(drives):
            return self._explode(step)
        self._forget()
        failed = [outcome is Outcome.FAILED for outcome in step.outcomes]
        for agent, stride in self._under_way():
            self._driver.look(stride, self.arena.pose(agent), self._target(agent, stride))
            if stride.end == "blocked":
                step.outcomes[agent] = Outcome.FAILED
        self._drove = dict(enumerate(zip(drives, failed, strict=False)))
        config = self.config
        if config.speech or config.symbols:
            self.mailboxes.deliver(self._channel)
        result = self.referee.judge(step)
        if config.message_cost and (spoke := self.mailboxes.senders(sent)):
            cost, shared = config.message_cost, config.shared_reward
            playing = [agent for agent, plays in enumerate(step.playing) if plays]
            rewards = charged(result.rewards, spoke, playing, cost, shared)
            result = result._replace(rewards=rewards)
        for agent, lasting in enumerate(self.strides):
            if lasting is not None:
                lasting.reward += result.rewards[agent]
                lasting.milestones += result.notes.get(agent, {}).get("milestones", ())
        return result

    def _drives(self, plans: Sequence[DecodedAction], step: Step) -> list[actions.Drive]:
        """Carry out grips and speech, and return the drive of each body."""
        drives = [actions.Drive()] * len(self.play.agents)
        for agent in self.play.order:
            plan, before = plans[agent], self.strides[agent]
            stride = self._stride_of(agent, plan)
            goes_on = stride is not None and stride is before
            if isinstance(plan, Command) and plan.parameters and not goes_on:
                self._speak(agent, plan)  # an agent that continues a stride has said it already
            if isinstance(plan, InvalidAction):
                step.outcomes[agent] = plan.outcome
            elif stride is not None:
                target = self._target(agent, stride)
                drives[agent] = self._driver.drive(stride, self.arena.pose(agent), target)
            elif plan is not None:
                drives[agent] = actions.drive_of(plan)
                hand = drives[agent].hand
                if not self.arena.use_hand(agent, hand):
                    step.outcomes[agent] = Outcome.FAILED
                elif hand == "grip":
                    self.referee.announce(agent, "gripped", step)
        return drives

    def _speak(self, agent: int, command: Command) -> None:
        """Send what is said with a command, if anything."""
        message = str(command.parameters.get("message", "")) or actions.symbols_of(command)
        if message:
            to = command.parameters.get("agent_id", EVERYONE)
            self.mailboxes.send(self.agents[agent], to, message)

    # -- commands that last ---------------------------------------------------------------

    def _under_way(self) -> list[tuple[int, Stride]]:
        """Return the agents that have a stride under way, with their strides."""
        found = enumerate(self.strides)
        return [(i, stride) for i, stride in found if stride is not None and not stride.end]

    def under_way(self, agent: int) -> Command | None:
        """Return the command of the stride that an agent continues, if any."""
        stride = self.strides[agent]
        playing = self.play.status[agent] == "playing"
        return stride.command if playing and stride is not None and not stride.end else None

    def _stride_of(self, agent: int, plan: DecodedAction) -> Stride | None:
        """Return the stride of this step: the one that goes on, a new one, or none."""
        stride = None
        if isinstance(plan, Command) and lasts(plan):
            stride = self.strides[agent]
            if stride is None or stride.end or stride.command != plan:
                stride = strides.begin(plan, self.arena.pose(agent))
        self.strides[agent] = stride
        return stride

    def _target(self, agent: int, stride: Stride) -> tuple[Point, float] | None:
        """Return where a stride goes and how near it has to come; ``None`` if it names nothing."""
        what = stride.parameters.get("what")
        if what is None:
            return None
        return naming.target_of(str(what), agent, self.play, self.reading, self.config)

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command, and replace what it names by the proper name."""
        found = super().check(agent, command)
        if not isinstance(found, Command) or "what" not in found.parameters or not self._begun:
            return found
        if found == self.under_way(agent):
            return found
        what = actions.without_units(str(found.parameters["what"])).lower()
        facts = self.facts(agent)
        name = naming.proper_name(what, found.verb, facts, self.play, self.config)
        if name is None:
            return naming.unknown(what, facts, self.config)
        return Command(found.verb, {**found.parameters, "what": name})

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line of text; units, brackets and fillers may be in it."""
        found = super().read(agent, line)
        if isinstance(found, InvalidAction) and isinstance(line, str):
            again = super().read(agent, actions.without_units(line))
            found = again if isinstance(again, Command) else found
        return found

    def write(self, command: Command) -> str:
        """Return the line of a command; whole numbers of strides have no decimals."""
        line = super().write(command)
        return line.removesuffix(".0") if lasts(command) else line

    def line_of(self, agent: int, act: Command | int) -> str:
        """Return the line of a command for people, with at most two decimals."""
        kept = self._lines.get(id(act))
        if kept is None:
            if len(self._lines) >= MOST_LINES:
                self._lines.clear()
            line = re.sub(r"(\.\d\d)\d+", r"\1", super().line_of(agent, act))
            kept = self._lines[id(act)] = act, line
        return kept[1]

    def describe_step(self, acts: Sequence[Act], result: StepResult) -> list[LastStep | None]:
        """Describe a stride as a whole: its rewards and milestones add up."""
        pairs = zip(super().describe_step(acts, result), self.strides, strict=True)
        return [last and stride.added_up(last) if stride else last for last, stride in pairs]

    def _explode(self, step: Step) -> StepResult:
        """End an episode after its numbers became nonsense; things stay where they last were."""
        last = self.reading
        self.play.holds = [None] * len(self.play.holds)
        self.close()
        self._start(self.play, lambda sim: sim.place(last))
        return self.referee.stop(step)

    @property
    def alive(self) -> Sequence[bool]:
        """Whether each agent is in play."""
        return [status == "playing" for status in self.play.status]

    def result(self, agent: int) -> Result:
        """Won, lost, or ended by an explosion."""
        return RESULTS.get(self.play.status[agent], Result.LOST)

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result) -> None:
        """End the episode for some agents."""
        for agent in np.flatnonzero(who[0]).tolist():
            self.play.status[agent] = "won" if result is Result.WON else "lost"
        self._seen = None

    @classmethod
    def spawnable_in(cls, config: PhysicsPlaygroundConfig) -> tuple[str, ...]:
        """Return the objects of the config; those that are away can appear."""
        return config.thing_names

    def change_settings(self, fields: Mapping[str, Any]) -> None:
        """Apply changed fields of the config; the scene continues under them from where it is."""
        super().change_settings(fields)
        if fields and self._begun:
            drove = self._drove
            self.set_state(self.get_state())
            self._drove = drove
            self.look_again()

    def look_again(self) -> None:
        """Look again after objects came or went; nobody is rewarded, or goes to what is away."""
        names = [self.config.thing_names[number] for number in self.play.away]
        for _, stride in self._under_way():
            if stride.parameters.get("what") in names:
                stride.end = "blocked"
        self.refresh()

    def refresh(self) -> None:
        """Note which things are in their place now, so that no agent is rewarded for the change."""
        self.referee.begin()
        self._seen = self._saved = None

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
        """What every agent may know now, as whole numbers; see `facts`."""
        return self._look()[0]

    def _look(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return the present rows and masks."""
        if self._seen is None:
            self.arena.scan(self.alive)
            self._seen = self._senses.look(total(self.play, self.config))
        return self._seen

    def capture(self) -> Sequence[CapturedRow]:
        """Return the present rows, messages and hints."""
        table, everyone = self.rows, range(len(self.agents))
        return [
            CapturedRow(table, i, self._letters(i), self.hints[i], self._earlier(i))
            for i in everyone
        ]

    def facts(self, agent: int) -> PhysicsPlaygroundFacts:
        """Return what the agent may know now."""
        row, earlier = self.rows[agent].tolist(), self._earlier(agent)
        return views.facts_of(row, self._form, self._letters(agent), self.hints[agent], earlier)

    def vector(self, facts: PhysicsPlaygroundFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        form = views.layout_of(self.config)
        vector: NDArray[np.float32] = form.vectors(views.row_of(facts, form)[None, :])[0]
        form.code(vector, Heard(facts.messages, facts.earlier), facts.hint)
        return vector

    def vectors(self, kept: Sequence[CapturedRow] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        table: NDArray[np.float32] = self._form.vectors(kept[0].table)
        for vector, entry in zip(table, kept, strict=True):
            if entry.messages or entry.earlier or entry.hint is not None:
                self._form.code(vector, Heard(entry.messages, entry.earlier), entry.hint)
        return list(table)

    @staticmethod
    def to_text(facts: PhysicsPlaygroundFacts, config: PhysicsPlaygroundConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, config)

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function that writes texts from what `capture` kept."""
        return functools.partial(text.write_kept, self.config, views.layout_of(self.config))

    def perceived(self, facts: PhysicsPlaygroundFacts) -> Mapping[str, Any]:
        """Return the objects and agents that are sensed, with where they are in metres."""
        return {
            seen.name: text.place_of(facts, seen.distance, seen.bearing)
            for seen in (*facts.objects, *facts.others)
        }

    def objects(self) -> Objects:
        """Return agents and movable objects, with places rounded to centimetres."""
        return objects(self.play, self.reading, self.agents)

    # -- what agents can do ---------------------------------------------------------------

    def admissible(self, agent: int) -> list[Command]:
        """Return the legal primitives; `drive` and, with speech, `say` are always legal."""
        bits = self.masks()[agent].tolist()
        return [command for command, bit in zip(self._table, bits, strict=True) if bit]

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether there is something to grip or to release, or a way to speak."""
        values = command.parameters
        name, spoken = self.agents[agent], command.verb in SPOKEN
        if not spoken and why_unsayable(command, name, self.config) is not None:
            return False
        if command.verb == "tell" and not self._can_tell(agent, values["agent_id"]):
            return False
        if command.verb in actions.HANDS:
            return bool(self._look()[1][agent, actions.GRIPS + actions.HANDS.index(command.verb)])
        return not spoken or self.config.speech

    def _can_tell(self, agent: int, other: str) -> bool:
        """Return whether another agent of that name is in play."""
        return other != self.agents[agent] and self.alive[self.agents.index(other)]

    def why_failed(self, agent: int) -> str | None:
        """Say why a hand found nothing, what keeps an agent from moving, or how a stride went."""
        drive, failed = self._drove.get(agent, _AT_REST)
        if failed and self.play.holds[agent] is not None:
            return "Your gripper holds something already."
        if failed:
            return "There is nothing within reach to grip, and nothing in the gripper to release."
        stride, said = self.strides[agent], []
        stuck = drive.ahead and abs(self.rows[agent, 4]) < STUCK
        if not (stride or stuck):
            return None
        if stride.end == "blocked" if stride else stuck:
            said = [naming.in_the_way(self.facts(agent), self.agents)]
        if stride is not None:
            left = self.config.max_steps - self.play.t
            playing = self.play.status[agent] == "playing"
            said.append(strides.progress(stride, self.config.seconds, left if playing else None))
        return " ".join(filter(None, said)) or None

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the primitive of an index."""
        return self._table[index]

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return the masks of all agents: which primitives are legal."""
        base, sizes = self._look()[1], self.envelope
        if not sizes.symbols:
            return list(base.copy())
        may = sayable(self.config, sizes, self.agents)
        return list((may[:, :, None] * base[:, None, :]).reshape(len(base), -1).astype(np.int8))

    def command_from_box(self, agent: int, action: NDArray[Any]) -> Command:
        """Return the `drive` command for a point of the box."""
        ahead, turn, hand = (float(value) for value in action)
        return actions.drive_command(ahead, turn, hand)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return all numbers of the state; see `snapshots.state_vector`."""
        return snapshots.state_vector(self.play, self.reading, self.envelope)

    def get_state(self) -> dict[str, Any]:
        """Return Bullet's file, our fields, mail and the random stream."""
        return {
            **self.digest_state(),
            "strides": [stride and asdict(stride) for stride in self.strides],
            "bullet": snapshots.pack(self._file, self.sim.joined),
            "mail": self.mailboxes.get_state(),
        }

    @property
    def _file(self) -> bytes:
        """What Bullet knows, as the bytes of its own file."""
        if self._saved is None:
            self._saved = self.sim.save()
        return self._saved

    def digest_state(self) -> Any:
        """Return poses, speeds and our fields: what `digest` hashes.

        It is valid for one platform and version of pybullet.
        """
        going = [stride and asdict(stride) for stride in self.strides]
        return {
            **({"strides": going} if self._under_way() else {}),
            "play": self.play.value(),
            "poses": [[list(part) for part in raw] for raw in self.reading.raw],
            "mail": self.mailboxes.digest_state(),
            "channel": self._channel.get_state(),
        }

    def level_state(self) -> Any:
        """Return what was drawn; poses, which hold for one platform only, follow from it."""
        return self.play.value()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned: rebuild, load Bullet's file, and join grips again.

        A state may come from anywhere: one that is damaged or does not fit is refused, and then
        nothing is changed.

        Raises:
            SnapshotError: If it is damaged, or Bullet restores something else.
        """
        mail = self._new_mail()
        saved = snapshots.unpack(state, self.config, len(self.agents), mail)
        before = (self._file, list(self.sim.joined)) if self._begun else None

        def prepare(sim: Simulation) -> None:
            sim.load(saved.bullet, saved.play.holds, saved.joined)
            snapshots.compare(sim.read(), saved.poses)

        try:
            self._start(saved.play, prepare)
        except Exception as error:
            if before is not None:
                self.arena.rebuild(*before)
            if isinstance(error, SnapshotError):
                raise
            raise SnapshotError(f"PhysicsPlayground: the state does not fit: {error}") from error
        self.mailboxes, self._channel, self._saved = mail, saved.channel, saved.bullet
        self.strides = saved.strides

    def twin(self, agent: int) -> Self | None:
        """Return a copy in which the others have other targets, which only they are told."""
        found = super().twin(agent)
        if found is not None and self.play.targets and not self.config.shared_reward:
            state = found.get_state()
            for other, (x, y) in enumerate(self.play.targets):
                if other != agent:
                    state["play"]["targets"][other] = [-x, -y]
            found.set_state(state)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in this or another process needs."""
        script = self.script
        return {
            "config": self.config,
            "hints": list(self.hints),
            "last_steps": list(self.last_steps()),
            "state": self.get_state() if self._begun else None,
            "script": None if script is None else (script.base, script.get_state()),
        }

    @property
    def _begun(self) -> bool:
        """Whether an episode has begun, so that its state can be asked for."""
        return self._sim is not None and hasattr(self, "arena")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with a Bullet client of its own."""
        self.__init__(state["config"])  # type: ignore[misc]
        self.hints = list(state["hints"])
        if self.script is not None:
            self.script.base, done = state["script"]
            self.script.set_state(done)
        if state["state"] is not None:
            self.set_state(state["state"])
        self.set_last_steps(state["last_steps"])

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the floor from above with letters."""
        return pictures.ansi(self.play, self.reading, self.config)

    def rgb(self) -> NDArray[np.uint8]:
        """Take a picture with the config's camera; an egocentric one is the first agent's."""
        return self.picture()

    def picture(
        self, camera: str | None = None, agent: int = 0, side: int | None = None
    ) -> NDArray[np.uint8]:
        """Take a picture.

        Args:
            camera: ``overhead`` or ``egocentric``; by default the config's.
            agent: The agent that an egocentric camera belongs to.
            side: The side in pixels; by default the config's.

        Returns:
            Shape (side, side, 3).
        """
        eyes = (camera or self.config.camera) == "egocentric"
        viewer, side = agent if eyes else None, side or self.config.picture
        return pictures.picture(self.play, self.reading, self.config, viewer, side)


PhysicsPlayground.__doc__ = inspect.cleandoc(PhysicsPlayground.__doc__ or "").replace(
    "{tasks}", tasks_table()
)
