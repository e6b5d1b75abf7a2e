"""TextRoom, as a World: a story, its rules and its letters behind the contract."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.difficulty import DifficultyParameter, Element, PerAgentField
from piase_gym.core.objects import Objects
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities, DecodedAction, Manual, StepResult
from piase_gym.errors import AgentError
from piase_gym.worlds.text_room import actions, manual
from piase_gym.worlds.text_room.config import MAX_MESSAGE, TextRoomConfig, TextRoomEnvelope
from piase_gym.worlds.text_room.curriculum import DIFFICULTY_PARAMETERS, ELEMENTS, PER_AGENT_FIELDS
from piase_gym.worlds.text_room.facts import StepFacts, TextRoomFacts
from piase_gym.worlds.text_room.levels.generator import generate
from piase_gym.worlds.text_room.objects import objects
from piase_gym.worlds.text_room.observe import pictures, recall, text, twin, vector
from piase_gym.worlds.text_room.observe.view_cache import ObservedStep, ViewCache
from piase_gym.worlds.text_room.observe.visibility import VisibleThings
from piase_gym.worlds.text_room.rules.legality import Scene, is_legal, why_illegal
from piase_gym.worlds.text_room.rules.step import Episode, advance
from piase_gym.worlds.text_room.state import Plot, RoomState, check_sizes, compile_story, new_state
from piase_gym.worlds.texts.parser import CommandParser, unseen
from piase_gym.worlds.texts.wording import plain
from piase_gym.worlds.texts.world import TextWorld

_WAIT = Command("wait")


class TextRoom(TextWorld[TextRoomConfig, TextRoomFacts, RoomState, Plot]):
    """A text adventure: rooms, containers, locks and keys, hidden things, and things to read.

    ## Description

    With `story`, or a scenario such as `scenario="lost_key"`, a written adventure is played; else
    every episode is a new quest, always solvable, with `rooms` rooms, `depth` obstacles one
    behind the other (locked and closed containers, hiding places, locked doors) and `distractors`
    objects that nobody needs. 1 to 16 agents act at once; within a step they are served in order,
    and the first to take something gets it.

    Things are in a room, in each other, or in somebody's hands. A closed container hides what is
    in it. A locked one opens once its key has been used on it. Searching reveals what is hidden in
    a thing; so does opening a thing that is no container and cannot be taken. Reading a thing sets
    the reader's flag `has_read_<thing>`. Events of a story wait for actions, finds, flags, steps,
    and agents that come and go, and respond with messages, flags, changes and more.

    With `recall=d`, each episode requires memory: a lantern of a random colour is seen once, and
    after `d` steps of waiting, the casket of that colour, one of four, must be opened. A written
    story can vary between episodes too: the objects of a group in `shuffle` exchange places.

    ## Actions

    Commands have the parameters of the PiaSE design document: `go{direction}`, `take{item_name}`,
    `use{item_name, target_object}`, ... In text, nearly any wording will do: `grab the old
    document`, `n`, `unlock desk with brass key`. An index means the same command in every episode
    of a config: a fixed table of verbs and places for objects (see
    `piase_gym.worlds.text_room.actions.Table`); `take ... from`, `unlock` and free speech are legal
    as text, but not in the table. What is in sight or in hand can be referred to by its name or a
    part of it. Anything else is illegal and answered like a word that names nothing, whether or not
    such a thing exists. A command that does not work fails, and the answer says why.

    ## Observations

    Facts: room, description, exits, objects in sight, inventory, others here, stats, the goal of a
    generated quest, messages, feedback. The vector is float32; see `observe.vector.vector_of` for
    its layout. `wording="native"` shows them as the design document's text adventure does.

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
    - v1: what is out of sight cannot be named: it is answered like a word that names nothing, and
      is illegal. Letters to one agent name it. To handle what another agent took away in the same
      step fails.
    - v2: other texts; both views show locks, what was searched, and where walked exits lead.
      Containers without a lid take what is put into them.
    - v3: empty open containers are said to be empty; the prompt says how to walk to a known room.
    """

    scriptable: ClassVar[bool] = False
    name: ClassVar[str] = "TextRoom"
    version: ClassVar[int] = 3
    picture_reveals: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(
        late_join=True, native_text=True, messages=True
    )
    milestones: ClassVar[tuple[str, ...]] = manual.MILESTONES
    perception_types: ClassVar[Mapping[str, str]] = text.PERCEPTION_TYPES
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        "max_steps shared_reward rewards hearing message_delay message_loss "
        "message_cost message_range message_topology".split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = PER_AGENT_FIELDS

    max_message: ClassVar[int] = MAX_MESSAGE
    stream_ids: ClassVar[tuple[StreamId, ...]] = (StreamId.LAYOUT, StreamId.CHANNEL)
    state_key: ClassVar[str] = "room"
    state_adapter: ClassVar[TypeAdapter[RoomState]] = TypeAdapter(RoomState)

    envelope: TextRoomEnvelope

    def __init__(self, config: TextRoomConfig) -> None:
        """Fix the spaces; `reset` sets up the story."""
        super().__init__(config)
        self.text_length = text.longest_text(self.envelope)
        self._grammar = actions.grammar(len(self.agents) > 1)
        self._num_actions = actions.bases_of(self.envelope)["size"]
        self._written_plot: Plot | None = None
        self._take(self.config)
        self.reset(0)

    def _take(self, config: TextRoomConfig) -> None:
        """Prepare everything that depends on the config."""
        self._words = actions.vocabulary(config)
        self._table = actions.table_of(self._words)
        self._actions = self._table.actions
        self._parser = CommandParser(actions.WORDING, self.agents, self._grammar)
        self._written_plot = None if config.story is None else compile_story(config.story)

    def take_config(self, config: TextRoomConfig) -> None:
        """Take another config for the episodes that follow; agents keep their names.

        The agents that are here play those of another story, in its order.
        """
        if config.names(len(self.agents)) != self.agents:
            config = config.model_copy(update={"agent_ids": self.agents[: config.agents]})
        super().take_config(config)

    def hears(self, sender: str, recipient: str) -> bool:
        """Return whether the recipient hears the sender: it may also have to be near enough."""
        one, two = self.agents.index(sender), self.agents.index(recipient)
        rooms = self.state_of.rooms
        most = 0 if self.config.hearing == "room" else self.config.message_range
        near = most is None or self._ways_between(rooms[one], rooms[two], most) <= most
        return near and super().hears(sender, recipient)

    def _ways_between(self, start: int, end: int, most: float) -> float:
        """Return the number of ways between two rooms, ignoring doors; inf if not within `most`."""
        seen, steps = {start}, 0
        while end not in seen and steps + 1 <= most:
            ways = {room for here in seen for room, _ in self.plot.exits[here].values()}
            if ways <= seen:
                break
            seen, steps = seen | ways, steps + 1
        return steps if end in seen else math.inf

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def noop(self) -> Command:
        """``wait``."""
        return _WAIT

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `observe.vector.vector_of`."""
        return vector.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        e = self.envelope
        size = 1 + 5 * e.objects + e.agents * (4 + e.stats + e.flags) + e.events + e.metrics
        return Box(-(2.0**31), 2.0**31, (size,), np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Set up the written story, or generate one."""
        self.open_episode(seed)
        plot = self._plot_of(seed)
        self.take_up(plot, new_state(plot, len(self.agents), self.config.agents, seed))
        if self.config.recall == "map":
            recall.remember(plot, self.state_of)

    def setting_of(self, state: RoomState) -> Plot:
        """Return the story of a state."""
        if not 0 <= state.seed < 2**63:
            raise ValueError(f"its seed is {state.seed}")
        plot = self._plot_of(state.seed)
        check_sizes(plot, state, len(self.agents))
        return plot

    def take_up(self, setting: Plot, state: RoomState) -> None:
        """Continue from a state of a story."""
        self.plot, self.state_of = setting, state
        self._views = self._new_views()

    def _new_views(self) -> ViewCache:
        """Return an empty cache of views."""
        agents = range(len(self.agents))
        if self.config.story is None:
            goals = [self.plot.objects[self.plot.goals[0]] for _ in agents]
        else:
            goals = [manual.goal_of(self.plot, agent) for agent in agents]
        return ViewCache(self.plot, self._table, self.agents, tuple(goals))

    def _plot_of(self, seed: int) -> Plot:
        """Return the story of an episode as tables."""
        if self._written_plot is not None:
            return self._written_plot
        layout = Stream(seed, StreamId.LAYOUT)
        names = self.config.names(self.config.agents)
        return compile_story(generate(self.config, names, layout))

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let one step pass; see `rules.step.advance`."""
        mail, channel = self.mailboxes, self.streams[StreamId.CHANNEL]
        episode = Episode(self.config, self.plot, self.state_of, self.agents, mail, channel)
        sent, playing = mail.sent_before(), self.alive
        result = self.less_messages(advance(episode, plans), sent, playing)
        self._views.invalidate()
        return result

    def enter(self, agent: int) -> None:
        """Let an agent that was still to come, or that the config leaves out, enter now."""
        state = self.state_of
        if state.status[agent] not in ("none", "coming"):
            now = "in play" if state.status[agent] == "playing" else "done with this episode"
            raise AgentError(f"agent {self.agents[agent]!r} is {now} already")
        state.status[agent] = "playing"
        if self.config.recall == "map":
            recall.remember(self.plot, state)
        self._views.invalidate()

    # -- what agents know -----------------------------------------------------------------

    def sight(self, agent: int) -> VisibleThings:
        """Return what an agent sees and holds."""
        return self._views.of(agent, self.state_of).sight

    def knowledge_of(self, agent: int) -> ObservedStep:
        """Return what an agent knows, ready to be made into facts or a vector."""
        state = self.state_of
        heard = self.mailboxes.delivered[self.agents[agent]]
        stats, feedback = tuple(state.stats[agent].items()), state.feedback[agent]
        past = recall.past_of(self.plot, state, agent) if self.config.recall == "map" else ()
        step_facts = StepFacts(stats, tuple(heard), past, feedback, self.hints[agent])
        return ObservedStep(self._views, self._views.of(agent, state), step_facts)

    def vectors(self, kept: Sequence[ObservedStep] | None = None) -> Sequence[NDArray[np.float32]]:
        """Return the vector of every agent, in fresh memory."""
        return [known.vector() for known in (self.capture() if kept is None else kept)]

    def vector(self, facts: TextRoomFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return vector.vector_of(facts, self._words)

    @staticmethod
    def to_text(facts: TextRoomFacts, config: TextRoomConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts)

    def native_text(self, agent: int) -> str:
        """Return the facts in the wording of the design document's text adventure."""
        return text.native_of(self.facts(agent))

    def surroundings(self, facts: TextRoomFacts) -> Surroundings:
        """Return facts in the words of the documents: `room_name`, `objects_visible`, ..."""
        return text.surroundings_of(facts)

    def totals(self) -> dict[str, float]:
        """Return the metrics of the story, and those of the script."""
        return {**self.state_of.metrics, **super().totals()}

    def objects(self) -> Objects:
        """Return agents, things and doors, with the room, thing or agent where each is."""
        return objects(self.plot, self.state_of, self.agents)

    # -- what agents can do ---------------------------------------------------------------

    def decode(self, agent: int, act: Any) -> DecodedAction:
        """Decode one act; an illegal one is explained in words.

        An index of something out of sight is explained like one that stands for nothing.
        """
        if isinstance(act, int) and 0 <= act < self._num_actions:
            row = self._actions.commands[act]
            if row is not None and self._allows(agent, act):
                return row
        plan = super().decode(agent, act)
        illegal = isinstance(plan, InvalidAction) and plan.outcome is Outcome.ILLEGAL
        if not illegal or act is None:
            return plan
        command = act if isinstance(act, InvalidAction) else self._named(agent, act)
        if isinstance(command, InvalidAction):
            return command
        return InvalidAction(Outcome.ILLEGAL, why_illegal(self._scene(agent), command))

    def _named(self, agent: int, act: Any) -> Command | InvalidAction:
        """Return the command of an act, if all that it names is in sight or in hand."""
        if isinstance(act, Command):
            return self.check(agent, act)
        command = self.command(agent, act)
        if isinstance(command, InvalidAction):
            return command
        named = {command.parameters.get(key) for key in actions.WORDING.things} - {None}
        near = self._names_near(agent)
        return command if named <= {*near} else unseen(near)

    def _allows(self, agent: int, index: int) -> bool:
        """Return whether an agent's mask allows an index."""
        return bool(self._views.of(agent, self.state_of).mask[index])

    def _names_near(self, agent: int) -> list[str]:
        """Return the names of what an agent sees and holds."""
        return [self.plot.objects[k] for k in self.sight(agent).reach]

    def _scene(self, agent: int) -> Scene:
        """Return the data by which an agent's command is judged."""
        return Scene(self.plot, self.state_of, self.agents, agent, self.sight(agent))

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now; it need not be in the table."""
        return is_legal(self._scene(agent), command)

    def legal_indices(self, agent: int) -> list[int]:
        """Return the indices of an agent's legal commands, sorted."""
        return np.flatnonzero(self._views.of(agent, self.state_of).mask).tolist()

    def admissible(self, agent: int) -> list[Command]:
        """Return the legal commands of the table."""
        rows = self._actions.commands
        return [row for k in self.legal_indices(agent) if (row := rows[k]) is not None]

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command of an index."""
        row = self._actions.commands[index]
        return unseen(self._names_near(agent)) if row is None else row

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask over the table."""
        state, of = self.state_of, self._views.of
        return [of(agent, state).mask.copy() for agent in range(len(self.agents))]

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line, tolerantly."""
        index = self._actions.numbers.get(line) if isinstance(line, str) else None
        if index is not None and self._allows(agent, index):  # a line as `write` writes it
            return self.command(agent, index)
        return self._parser.read(line, self._names_near(agent), self._ways(agent))

    def _ways(self, agent: int) -> dict[str, str]:
        """Return the directions of the ways out, by the doors and rooms that can name them."""
        state = self.state_of
        ways = recall.ways_of(self.plot, state.walked[agent], state.rooms[agent])
        named = [(name, way.direction) for way in ways for name in (way.door, way.to) if name]
        return {plain(name): direction for name, direction in reversed(named)}

    def write(self, command: Command) -> str:
        """Return the line of a command, with names as texts show them."""
        index = self._actions.place(command)
        if index is not None:
            return self._actions.lines[index]
        return super().write(self._words.as_text(command))

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data; names may be written as in text."""
        index = self._actions.place(command)
        if index is not None and self._allows(agent, index):
            return command
        return self._parser.check(command, self._names_near(agent))

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return manual.manual(self.config, self._written_plot)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return every non-string fact of the world.

        In order: t; for each object place, hidden, found, open, locked; for each agent room,
        status, turn, milestones, stats, flags; how often each event has happened; metrics.
        """
        return vector.global_view(self.plot, self.state_of, self.envelope)

    def twin(self, agent: int) -> Self:
        """Return a copy that differs in what the agent has not found; see `observe.twin`."""
        found = super().twin(agent) or copy.deepcopy(self)
        reach, plot = self.sight(agent).reach, self.plot
        state = self.state_of
        seen = {plot.rooms[state.rooms[agent]], *(plot.objects[k] for k in reach)}
        seen |= {way.to for way in recall.ways_of(plot, state.walked[agent], state.rooms[agent])}
        seen |= recall.remembered_names(plot, state, agent)
        goal = [plot.objects[k] for k in plot.goals] if self.config.story is None else []
        other = twin.other_names(plot, {*seen, *goal}, self.instructions(agent))
        found._rename(other)
        twin.move_unseen_items(plot, found.state_of, agent, reach)
        twin.tell_others(found.state_of, found.mailboxes, self.agents, agent)
        return found

    def _rename(self, other: Mapping[str, str]) -> None:
        """Rename things and rooms in the story, the state and the table of commands."""
        self.plot = compile_story(twin.renamed_story(self.plot.story, other))
        self._written_plot = None if self._written_plot is None else self.plot
        self._words = twin.renamed_words(self._words, other)
        self._table = actions.table_of(self._words)
        self._actions = self._table.actions
        twin.rename_state(self.state_of, other)
        self._views = self._new_views()

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the rooms as a list."""
        return pictures.ansi(self.plot, self.state_of, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the rooms as a map."""
        return pictures.rgb(self.plot, self.state_of, self.agents)
