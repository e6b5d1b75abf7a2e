"""TextRoom, as a World: a story, its rules and its letters behind the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.commands import Command, Misread, Outcome, Result, Verb, check_command, unparsable
from piase_gym.digest import canonical_json
from piase_gym.errors import AgentError, SnapshotError
from piase_gym.mailbox import ChannelRules, Letter, Mailboxes
from piase_gym.modifiers import Dial, Element, Personal
from piase_gym.rng import Stream, StreamId
from piase_gym.surroundings import Surroundings
from piase_gym.world import Capabilities, Manual, Plan, Tick, World, shared
from piase_gym.worlds.text_room import endings, outlook, prompt, render, rules, triggers, views
from piase_gym.worlds.text_room.config import (
    MAX_FEEDBACK,
    MAX_MESSAGE,
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.generator import generate
from piase_gym.worlds.text_room.lexicon import bases_of, table_of, vocabulary
from piase_gym.worlds.text_room.modifiers import DIALS, ELEMENTS, PERSONAL
from piase_gym.worlds.text_room.outlook import Known, Outlooks
from piase_gym.worlds.text_room.parser import Reader
from piase_gym.worlds.text_room.sight import Scene, Sight, is_legal
from piase_gym.worlds.text_room.state import (
    STATUSES,
    Plot,
    RoomState,
    compile_story,
    new_state,
)
from piase_gym.worlds.text_room.views import SYSTEM, Passing, TextRoomFacts

STREAMS = (StreamId.LAYOUT, StreamId.CHANNEL)
MILESTONES = ("first_find", "first_lock_opened", "first_text_read")
"""What every story has as milestones; events of a story log others."""
_STATE = TypeAdapter(RoomState)
_WAIT = Command("wait")


class TextRoom(World[TextRoomConfig, TextRoomFacts]):
    """A text adventure: rooms, containers, locks and keys, hidden things, and things to read.

    ## Description

    With `story`, or `scenario="lost_key"` and the like, a written adventure is played; without one
    every episode is a new quest of `rooms` rooms, `depth` obstacles one behind the other (locked
    and closed containers, hiding places, locked doors) and `distractors` objects that nobody
    needs, always solvable. 1 to 16 agents act at once; within a step they are served in order, and
    the first to take something has it.

    Things are in a room, in each other, or in somebody's hands. A closed container hides what is
    in it. A locked one opens when its key was used on it. Searching brings to light what is hidden
    in a thing; so does opening a thing that is no container. Reading a thing sets the reader's flag
    `has_read_<thing>`. Events of a story wait for actions, finds, flags, steps, and agents that
    come and go, and answer with messages, flags, changes and more.

    ## Actions

    Commands have the parameters of seed 000: `go{direction}`, `take{item_name}`,
    `use{item_name, target_object}`, ... In text nearly any wording will do: `grab the old
    document`, `n`, `unlock desk with brass key`. An index means the same command in every episode
    of a config: a fixed table of verbs and places for objects (see
    `piase_gym.worlds.text_room.lexicon.Table`); `take ... from`, `unlock` and free speech are legal
    as text, and not in the table. What is in sight or in hand can be named; what does not work
    fails, and says why.

    ## Observations

    Facts: room, description, exits, objects in sight, inventory, others here, stats, the goal of a
    generated quest, messages, feedback. The vector is float32; its layout is in
    `piase_gym.worlds.text_room.views.vector_of`. `wording="native"` shows them as the seed's text
    adventure does.

    ## Rewards

    Win +10, lose -10, each step -0.1, a milestone +1, illegal -1: the fields of `rewards`. Events
    can add others.

    ## Start and end

    Win and lose conditions terminate, for all agents at once or (`ends: each`) for each by itself;
    running out of `max_steps` truncates, and is lost. Milestones: `first_find`,
    `first_lock_opened`, `first_text_read`, and those of the story. At the end the infos have the
    story's `metrics`.

    ## Versions

    - v0: first version.
    """

    name: ClassVar[str] = "TextRoom"
    spoils: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(
        late_join=True, native_text=True, messages=True
    )
    milestones: ClassVar[tuple[str, ...]] = MILESTONES
    perception_types: ClassVar[Mapping[str, str]] = views.PERCEPTION_TYPES
    dials: ClassVar[tuple[Dial, ...]] = DIALS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    personal: ClassVar[Mapping[str, Personal]] = PERSONAL

    envelope: TextRoomEnvelope

    def __init__(self, config: TextRoomConfig) -> None:
        """Fix the spaces; `reset` sets up the story."""
        super().__init__(config)
        self.text_length = views.longest_text(self.envelope)
        self._grammar = prompt.grammar(len(self.agents) > 1)
        self._size = bases_of(self.envelope).size
        self._told: Plot | None = None
        self._take(self.config)
        self.mailboxes: Mailboxes = self._new_mail()
        self.reset(0)

    def _take(self, config: TextRoomConfig) -> None:
        """Prepare what follows from a config."""
        self._words = vocabulary(config)
        self._table = table_of(self._words)
        self._reader = Reader(tuple(self._words.objects), self.agents, self._grammar)
        self._told = None if config.story is None else compile_story(config.story)

    def configure(self, config: TextRoomConfig) -> None:
        """Take another config for the episodes that follow; agents keep their names.

        The agents of another story are played, in its order, by those that are here.
        """
        if config.names(len(self.agents)) != self.agents:
            config = config.model_copy(update={"agent_ids": self.agents[: config.agents]})
        super().configure(config)
        self._take(self.config)

    def _new_mail(self) -> Mailboxes:
        """Open empty mailboxes."""
        config = self.config
        channel = ChannelRules(
            delay=config.message_delay, max_length=MAX_MESSAGE, drop=config.message_loss
        )
        return Mailboxes(self.agents, channel, self._hears)

    def _hears(self, sender: str, recipient: str) -> bool:
        """Let those in play hear, if need be only in the same room."""
        one, two = self.agents.index(sender), self.agents.index(recipient)
        near = (
            self.config.hearing == "everywhere"
            or self.state_of.rooms[one] == (self.state_of.rooms[two])
        )
        return near and self.state_of.status[two] == "playing"

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs; see `prompt.grammar`."""
        return self._grammar

    @property
    def num_actions(self) -> int:
        """The size of the table; see `lexicon.Table`."""
        return self._size

    @property
    def noop(self) -> Command:
        """``wait``."""
        return _WAIT

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `views.vector_of`."""
        return views.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        e = self.envelope
        size = 1 + 5 * e.objects + e.agents * (4 + e.stats + e.flags) + e.events + e.metrics
        return Box(-(2.0**31), 2.0**31, (size,), np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Set up the story, or make one."""
        self.streams = {stream: Stream(seed, stream) for stream in STREAMS}
        self.plot = self._plot_of(seed)
        self.state_of = new_state(self.plot, len(self.agents), self.config.agents, seed)
        self.mailboxes = self._new_mail()
        self._outlooks = self._new_outlooks()

    def _new_outlooks(self) -> Outlooks:
        """Remember nothing of what was seen."""
        return Outlooks(self.plot, self._table, self.agents, self.config.story is None)

    def _plot_of(self, seed: int) -> Plot:
        """Return the story of an episode as tables."""
        if self._told is not None:
            return self._told
        layout = Stream(seed, StreamId.LAYOUT)
        names = self.config.names(self.config.agents)
        return compile_story(generate(self.config, names, layout))

    def advance(self, plans: Sequence[Plan]) -> Tick:
        """Let the agents in play act, then time pass, then letters arrive, then others enter."""
        state, slots = self.state_of, len(self.agents)
        playing = [agent for agent in state.order if state.status[agent] == "playing"]
        outcomes = [Outcome.OK] * slots
        turn = rules.Turn(self.plot, state, self.agents, [0.0] * slots)
        state.told = [None] * slots
        notes: dict[int, dict[str, Any]] = {}
        for agent in playing:
            effect = self._act(turn, agent, plans[agent])
            outcomes[agent] = effect.outcome
            turn.rewards[agent] += self._worth(effect.outcome)
            state.feedback[agent] = effect.told[:MAX_FEEDBACK]
            notes[agent] = {"feedback": state.feedback[agent]}
        endings.pass_time(turn)
        self._carry_letters(turn)
        truncated = endings.judge(turn, self.config.max_steps)
        for agent, reached in turn.milestones.items():
            notes.setdefault(agent, {})["milestones"] = reached
            turn.rewards[agent] += self.config.rewards.milestone * len(reached)
        ended = [agent for agent in playing if state.status[agent] != "playing"]
        terminated = [False] * slots
        for agent in ended:
            terminated[agent] = not truncated[agent]
            if terminated[agent]:
                turn.rewards[agent] += self._prize(state.status[agent])
            if state.metrics:
                notes[agent]["metrics"] = dict(state.metrics)
        if "coming" in state.status:
            self._let_in(notes)
        self._outlooks.look_again()
        rewards = shared(turn.rewards, playing) if self.config.shared_reward else turn.rewards
        return Tick(rewards, terminated, truncated, outcomes, bool(ended), notes)

    def _act(self, turn: rules.Turn, agent: int, plan: Plan) -> rules.Effect:
        """Let a command take effect, unless an event has ended the agent's part meanwhile."""
        if isinstance(plan, Misread):
            return rules.Effect(plan.outcome, plan.message)
        if plan is None or self.state_of.status[agent] != "playing":
            return rules.Effect(Outcome.FAILED, "It is over.")
        deed = rules.deed_of(self.plot, self.agents, agent, plan)
        return endings.with_milestones(turn, deed, rules.perform(turn, deed))

    def _worth(self, outcome: Outcome) -> float:
        """Return the reward of a step with this outcome."""
        table = self.config.rewards
        if outcome is Outcome.OK:
            return table.step
        failed = outcome in (Outcome.FAILED, Outcome.TIMEOUT)
        return table.step + (table.failed if failed else table.illegal)

    def _prize(self, status: str) -> float:
        """Return the reward of who has won or lost by a condition."""
        table = self.config.rewards
        return {"won": table.win, "lost": table.lose}.get(status, 0.0)

    def _carry_letters(self, turn: rules.Turn) -> None:
        """Hand over what agents say, and what the system tells them."""
        for letter in turn.letters:
            self.mailboxes.send(*letter)
        self.mailboxes.deliver(self.streams[StreamId.CHANNEL])
        for agent, told in enumerate(self.state_of.told):
            if told is not None:
                self._tell(self.agents[agent], told[: 2 * MAX_MESSAGE])

    def _tell(self, agent: str, told: str) -> None:
        """Put a letter of the system into an agent's box."""
        letter = Letter(SYSTEM, agent, told)
        mail = self.mailboxes
        mail.history.append(letter)
        mail.heard[agent].append(letter)
        mail.boxes[agent].append(letter)
        del mail.boxes[agent][: max(0, len(mail.boxes[agent]) - mail.rules.box_size)]

    def _let_in(self, notes: dict[int, dict[str, Any]]) -> None:
        """Let agents in whose step has come, unless time is up or nobody is left in play."""
        state = self.state_of
        if state.t >= self.config.max_steps or "playing" not in state.status:
            return
        setups = self.plot.story.agent_setup
        for agent, status in enumerate(state.status):
            if status == "coming" and setups[agent].join_at <= state.t:
                state.status[agent] = "playing"
                notes[agent] = {"joined": True}

    def enter(self, agent: int) -> None:
        """Let an agent that was still to come, or that the config leaves out, enter now."""
        state = self.state_of
        if state.status[agent] not in ("none", "coming"):
            told = "in play" if state.status[agent] == "playing" else "done with this episode"
            raise AgentError(f"agent {self.agents[agent]!r} is {told} already")
        state.status[agent] = "playing"
        self._outlooks.look_again()

    @property
    def alive(self) -> Sequence[bool]:
        """Who is there and still in play."""
        return [status == "playing" for status in self.state_of.status]

    def result(self, agent: int) -> Result:
        """Return how it ended for an agent."""
        status = self.state_of.status[agent]
        return Result(status) if status in list(Result) else Result.ENDED

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed."""
        self.state_of.order = list(order)

    # -- what agents know -----------------------------------------------------------------

    def sight(self, agent: int) -> Sight:
        """Return what an agent sees and holds."""
        return self._outlooks.of(agent, self.state_of).sight

    def facts(self, agent: int) -> TextRoomFacts:
        """Return what the agent may know now."""
        return self._known(agent).facts()

    def _known(self, agent: int) -> Known:
        """Return the same, ready to be made into facts or a vector."""
        state = self.state_of
        heard = self.mailboxes.heard[self.agents[agent]]
        passing = Passing(
            tuple(state.stats[agent].items()),
            tuple(map(views.to_you, heard)) if heard else (),
            state.feedback[agent],
            self.hints[agent],
        )
        return Known(self._outlooks, self._outlooks.of(agent, state), passing)

    def keep(self) -> Sequence[Known]:
        """Return what each agent knows; see `outlook.Known`."""
        return [self._known(agent) for agent in range(len(self.agents))]

    def vectors(self, kept: Sequence[Known] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent, in fresh memory."""
        return [known.vector() for known in (self.keep() if kept is None else kept)]

    def teller(self) -> Callable[[Known, int], str]:
        """Return what writes texts of what `keep` returned."""
        return outlook.tell

    def vector(self, facts: TextRoomFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return views.vector_of(facts, self._words)

    @staticmethod
    def tell(facts: TextRoomFacts, config: TextRoomConfig) -> str:
        """Return the prose of the facts."""
        return views.text_of(facts)

    def native_text(self, agent: int) -> str:
        """Return the facts as the seed's text adventure words them."""
        return views.native_of(self.facts(agent))

    def surroundings(self, facts: TextRoomFacts) -> Surroundings:
        """Return facts in the words of seed 000: `room_name`, `objects_visible`, ..."""
        return views.surroundings_of(facts)

    # -- what agents can do ---------------------------------------------------------------

    def plan(self, agent: int, act: Any) -> Plan:
        """Decode one act; an illegal one is explained in words."""
        if isinstance(act, int) and 0 <= act < self._size:
            row = self._table.commands[act]
            if row is not None and self._outlooks.of(agent, self.state_of).mask[act]:
                return row
        plan = super().plan(agent, act)
        if isinstance(plan, Misread) and plan.outcome is Outcome.ILLEGAL and act is not None:
            command = self.command(agent, act) if not isinstance(act, Command) else act
            if isinstance(command, Command):
                told = prompt.why_illegal(self._scene(agent), command)
                return Misread(Outcome.ILLEGAL, told)
        return plan

    def _scene(self, agent: int) -> Scene:
        """Return what an agent's command is judged by."""
        return Scene(self.plot, self.state_of, self.agents, agent, self.sight(agent))

    def legal(self, agent: int, command: Command) -> bool:
        """Tell whether a command is legal now; more are than the table holds."""
        return is_legal(self._scene(agent), command)

    def legal_indices(self, agent: int) -> list[int]:
        """Return the indices of an agent's legal commands, sorted."""
        return np.flatnonzero(self._outlooks.of(agent, self.state_of).mask).tolist()

    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands of the table."""
        rows = self._table.commands
        return [row for k in self.legal_indices(agent) if (row := rows[k]) is not None]

    def command(self, agent: int, index: int) -> Command | Misread:
        """Return the command of an index."""
        row = self._table.commands[index]
        if row is None:
            return Misread(Outcome.ILLEGAL, f"Action {index} stands for nothing in this story.")
        return row

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask over the table."""
        state, of = self.state_of, self._outlooks.of
        return [of(agent, state).mask.copy() for agent in range(len(self.agents))]

    def read(self, agent: int, line: object) -> Command | Misread:
        """Read a line, tolerantly."""
        index = self._table.numbers.get(line) if isinstance(line, str) else None
        if index is not None:  # a line as `write` writes it
            return self.command(agent, index)
        near = [self.plot.objects[k] for k in self.sight(agent).reach]
        return self._reader.read(line, near)

    def write(self, command: Command) -> str:
        """Return the line of a command."""
        index = self._table.place(command)
        return super().write(command) if index is None else self._table.lines[index]

    def check(self, agent: int, command: Command) -> Command | Misread:
        """Check a command that came as data; names may be written as in text."""
        if self._table.place(command) is not None:
            return command
        parameters = prompt.rename(command.verb, command.parameters, self._grammar)
        checked = check_command(Command(command.verb, parameters), self._grammar)
        if isinstance(checked, Misread):
            return checked
        settled = self._reader.settle_names(checked.parameters)
        return settled if isinstance(settled, Misread) else Command(checked.verb, settled)

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return prompt.manual(self.config, self._told)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return every non-string fact of the world.

        In order: t; for each object place, hidden, found, open, locked; for each agent room,
        status, turn, milestones, stats, flags; how often each event has happened; metrics.
        """
        return render.global_view(self.plot, self.state_of, self.envelope)

    def get_state(self) -> dict[str, Any]:
        """Return state, letters and streams."""
        return {
            "room": asdict(self.state_of),
            "mail": self.mailboxes.get_state(),
            "streams": [self.streams[stream].get_state() for stream in STREAMS],
        }

    def digest_state(self) -> Any:
        """Leave out the history of letters, which changes nothing."""
        return {**self.get_state(), "mail": self.mailboxes.digest_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        try:
            room = _STATE.validate_json(canonical_json(state["room"]))
            if not 0 <= room.seed < 2**63:
                raise ValueError(f"its seed is {room.seed}")
            plot = self._plot_of(room.seed)
            mail = self._new_mail()
            mail.set_state(state["mail"])
            streams = {stream: Stream(0, stream) for stream in STREAMS}
            for stream, value in zip(STREAMS, state["streams"], strict=True):
                streams[stream].set_state(value)
            render.check_sizes(plot, room, len(self.agents))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise SnapshotError(f"{self.name}: the state does not fit: {error}") from None
        self.plot, self.state_of = plot, room
        self.mailboxes, self.streams = mail, streams
        self._outlooks = self._new_outlooks()

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the rooms as a list."""
        return render.ansi(self.plot, self.state_of, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the rooms as a map."""
        return render.rgb(self.plot, self.state_of, self.agents)


__all__ = ["MILESTONES", "STATUSES", "TextRoom", "triggers", "unparsable"]
