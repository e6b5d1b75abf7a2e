"""TextRoom, as a World: a story, its rules and its letters behind the contract."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.commands import Command, InvalidAction, Outcome, Verb, check_command, unparsable
from piase_gym.core.difficulty import DifficultyParameter, Element, PerAgentField
from piase_gym.core.digest import canonical_json
from piase_gym.core.mailbox import Letter
from piase_gym.core.rng import Stream
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities, DecodedAction, Manual
from piase_gym.errors import SnapshotError
from piase_gym.worlds.text_room import (
    disguise,
    native,
    picture,
    prompt,
    prose,
    render,
    triggers,
    views,
)
from piase_gym.worlds.text_room.config import (
    TextRoomConfig,
    TextRoomEnvelope,
)
from piase_gym.worlds.text_room.episode import STREAMS, Episodes
from piase_gym.worlds.text_room.lexicon import table_of
from piase_gym.worlds.text_room.modifiers import DIALS, ELEMENTS, PERSONAL
from piase_gym.worlds.text_room.parser import OBJECT_KEYS, unseen
from piase_gym.worlds.text_room.sight import Scene, is_legal
from piase_gym.worlds.text_room.state import (
    STATUSES,
    RoomState,
    compile_story,
)
from piase_gym.worlds.text_room.views import SYSTEM, TextRoomFacts

MILESTONES = ("first_find", "first_lock_opened", "first_text_read")
"""What every story has as milestones; events of a story log others."""
_STATE = TypeAdapter(RoomState)
_WAIT = Command("wait")


class TextRoom(Episodes):
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

    Commands have the parameters of the PiaSE design document: `go{direction}`, `take{item_name}`,
    `use{item_name, target_object}`, ... In text nearly any wording will do: `grab the old
    document`, `n`, `unlock desk with brass key`. An index means the same command in every episode
    of a config: a fixed table of verbs and places for objects (see
    `piase_gym.worlds.text_room.lexicon.Table`); `take ... from`, `unlock` and free speech are legal
    as text, and not in the table. What is in sight or in hand can be named, by its name or a part
    of it. Anything else is illegal and answered as a word that names nothing, whether there is such
    a thing somewhere or not. What does not work fails, and says why.

    ## Observations

    Facts: room, description, exits, objects in sight, inventory, others here, stats, the goal of a
    generated quest, messages, feedback. The vector is float32; its layout is in
    `piase_gym.worlds.text_room.views.vector_of`. `wording="native"` shows them as the design
    document's text adventure does.

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
    - v1: what is out of sight cannot be named: it is answered as a word that names nothing, and is
      illegal. Letters to one agent name it. What another has taken away in the same step fails.
    """

    name: ClassVar[str] = "TextRoom"
    version: ClassVar[int] = 1
    picture_reveals: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(
        late_join=True, native_text=True, messages=True
    )
    milestones: ClassVar[tuple[str, ...]] = MILESTONES
    perception_types: ClassVar[Mapping[str, str]] = native.PERCEPTION_TYPES
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIALS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = PERSONAL

    envelope: TextRoomEnvelope

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

    # -- what agents know -----------------------------------------------------------------

    def vector(self, facts: TextRoomFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return views.vector_of(facts, self._words)

    @staticmethod
    def to_text(facts: TextRoomFacts, config: TextRoomConfig) -> str:
        """Return the prose of the facts."""
        return prose.text_of(facts)

    def native_text(self, agent: int) -> str:
        """Return the facts as the design document's text adventure words them."""
        return native.native_of(self.facts(agent))

    def surroundings(self, facts: TextRoomFacts) -> Surroundings:
        """Return facts in the design document's words: `room_name`, `objects_visible`, ..."""
        return native.surroundings_of(facts)

    # -- what agents can do ---------------------------------------------------------------

    def decode(self, agent: int, act: Any) -> DecodedAction:
        """Decode one act; an illegal one is explained in words.

        An index of something out of sight is explained as one that stands for nothing.
        """
        if isinstance(act, int) and 0 <= act < self._size:
            row = self._table.commands[act]
            if row is not None and self._allows(agent, act):
                return row
        plan = super().decode(agent, act)
        if (
            not isinstance(plan, InvalidAction)
            or plan.outcome is not Outcome.ILLEGAL
            or act is None
        ):
            return plan
        command = act if isinstance(act, InvalidAction) else self._named(agent, act)
        if isinstance(command, InvalidAction):
            return command
        return InvalidAction(Outcome.ILLEGAL, prompt.why_illegal(self._scene(agent), command))

    def _named(self, agent: int, act: Any) -> Command | InvalidAction:
        """Return the command of an act, if all that it names is in sight or in hand."""
        if isinstance(act, Command):
            return self.check(agent, act)
        command = self.command(agent, act)
        if isinstance(command, InvalidAction):
            return command
        named = {command.parameters.get(key) for key in OBJECT_KEYS} - {None}
        near = self._near(agent)
        return command if named <= {*near} else unseen(near)

    def _allows(self, agent: int, index: int) -> bool:
        """Tell whether an agent's mask allows an index."""
        return bool(self._outlooks.of(agent, self.state_of).mask[index])

    def _near(self, agent: int) -> list[str]:
        """Return the names of what an agent sees and holds."""
        return [self.plot.objects[k] for k in self.sight(agent).reach]

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

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command of an index."""
        row = self._table.commands[index]
        return unseen(self._near(agent)) if row is None else row

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask over the table."""
        state, of = self.state_of, self._outlooks.of
        return [of(agent, state).mask.copy() for agent in range(len(self.agents))]

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line, tolerantly."""
        index = self._table.numbers.get(line) if isinstance(line, str) else None
        if index is not None and self._allows(agent, index):  # a line as `write` writes it
            return self.command(agent, index)
        return self._reader.read(line, self._near(agent))

    def write(self, command: Command) -> str:
        """Return the line of a command."""
        index = self._table.place(command)
        return super().write(command) if index is None else self._table.lines[index]

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data; names may be written as in text."""
        index = self._table.place(command)
        if index is not None and self._allows(agent, index):
            return command
        parameters = prompt.rename(command.verb, command.parameters, self._grammar)
        checked = check_command(Command(command.verb, parameters), self._grammar)
        if isinstance(checked, InvalidAction):
            return checked
        settled = self._reader.settle_names(checked.parameters, self._near(agent))
        return settled if isinstance(settled, InvalidAction) else Command(checked.verb, settled)

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

    def twin(self, agent: int) -> Self:
        """Return a copy that differs in what the agent has not found; see `disguise`."""
        found = super().twin(agent) or copy.deepcopy(self)
        reach, plot = self.sight(agent).reach, self.plot
        seen = {plot.rooms[self.state_of.rooms[agent]], *(plot.objects[k] for k in reach)}
        goal = [plot.objects[k] for k in plot.goals] if self.config.story is None else []
        other = disguise.other_names(plot, {*seen, *goal}, self.instructions(agent))
        found._rename(other)
        state = found.state_of
        disguise.scatter(plot, state, agent, reach)
        for number, name in enumerate(self.agents):
            if number != agent:
                state.feedback[number] = "Only you are told this."
                found.mailboxes.heard[name].append(Letter(SYSTEM, name, "You alone hear this."))
        return found

    def _rename(self, other: Mapping[str, str]) -> None:
        """Call things and rooms otherwise, in the story, the state and the table of commands."""
        self.plot = compile_story(disguise.renamed_story(self.plot.story, other))
        self._told = None if self._told is None else self.plot
        self._words = disguise.renamed_words(self._words, other)
        self._table = table_of(self._words)
        disguise.rename_state(self.state_of, other)
        self._outlooks = self._new_outlooks()

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the rooms as a list."""
        return render.ansi(self.plot, self.state_of, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the rooms as a map."""
        return picture.rgb(self.plot, self.state_of, self.agents)


__all__ = ["MILESTONES", "STATUSES", "TextRoom", "triggers", "unparsable"]
