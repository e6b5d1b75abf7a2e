"""Household, as a World: a home, its rules and its letters behind the contract."""

from __future__ import annotations

import copy
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from pydantic import TypeAdapter

from piase_gym.core.answers import Answer, read_answer
from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Outcome, read_command
from piase_gym.core.config import require_fit
from piase_gym.core.difficulty import DifficultyParameter
from piase_gym.core.objects import Objects
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.script.observables import Observable
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities, DecodedAction, Manual, StepResult
from piase_gym.worlds.household import actions, scripting
from piase_gym.worlds.household.config import MAX_MESSAGE, HouseholdConfig, HouseholdEnvelope
from piase_gym.worlds.household.curriculum import DIFFICULTY_PARAMETERS
from piase_gym.worlds.household.facts import HouseholdFacts, options
from piase_gym.worlds.household.levels import files
from piase_gym.worlds.household.levels.game import Entry, Game, check_sizes, new_state
from piase_gym.worlds.household.levels.generator import GeneratedHome, generate
from piase_gym.worlds.household.manual import manual
from piase_gym.worlds.household.objects import objects
from piase_gym.worlds.household.observe import knowledge, pictures, text, twin, vector
from piase_gym.worlds.household.observe.knowledge import Knowledge
from piase_gym.worlds.household.rules import step
from piase_gym.worlds.household.rules.commands import introduction
from piase_gym.worlds.household.rules.legality import in_order, near_entries
from piase_gym.worlds.household.rules.reasons import why_illegal
from piase_gym.worlds.household.state import HomeState
from piase_gym.worlds.texts.letters import native_text
from piase_gym.worlds.texts.synonyms import fitting
from piase_gym.worlds.texts.world import AgentKnowledge, KnownFacts, TextWorld

_LOOK = Command("look")
_FOLLOWING = frozenset(("open", "close", "take", "move", "put"))
"""Verbs of commands that follow from what is near an agent; see `facts.options`."""
_ALWAYS = frozenset(("examine receptacle", "examine object"))
"""Commands that are always possible with what is near."""
_SURE = frozenset(("go", "look", "inventory", "help", "examine receptacle", "examine object"))
"""Verbs of commands that no other agent can get in the way of."""
_GOES_BY = {"move": "put"}
"""Verbs that share the synonyms of another verb."""


class Household(TextWorld[HouseholdConfig, HouseholdFacts, HomeState, tuple[Game, str]]):
    """ALFWorld's text games: find things in a home, clean, heat or cool them, put them away.

    ## Description

    A native engine for the text games of ALFWorld (Shridhar et al., 2021), which does not need
    ALFWorld to be installed. Without `game`, homes are generated: a room with its receptacles,
    objects where one would look for them, and a task of one of six kinds, always solvable. With
    `game`, the original files are played: one ``game.tw-pddl``, a folder of them, or
    ``$ALFWORLD_DATA`` with its `split`. 1 to 8 agents act at once, each with its own hand and its
    own sight; within a step they are served in order, and the first to take something gets it.

    [ALFWorld's games](../alfworld.md) says how to play the real ones, and how the engine was
    verified. `warm_supper` and `two_pairs_of_hands` are scenarios, `chores` is a curriculum.

    An agent stands at a receptacle or, at the beginning, in the middle of the room. It sees what
    is there, unless the receptacle is closed, and remembers what it has seen elsewhere.

    ## Actions

    The commands of the games, to the letter: ``go to desk 1``, ``open drawer 2``, ``take mug 1
    from desk 1``, ``move mug 1 to shelf 3`` (`grammar` 2.1.3) or ``put mug 1 in/on shelf 3``
    (2.1.1; ``"both"`` accepts either), ``clean``, ``heat``, ``cool``, ``slice``, ``use``,
    ``examine``, ``look``, ``inventory``, ``help``. With several agents, there are also ``say`` and
    ``tell``. An index stands for a place in the sorted list of the commands that are
    admissible now, so what it means changes from step to step; the vector says what each does.
    Anything else is answered with ``Nothing happens.``, or with the reason if `feedback` is
    ``"explain"``.

    ## Observations

    Facts: the task, each receptacle with what is known of it, what the agent carries, who is
    there, the admissible commands (unless `lists_commands` is false), messages, and the answer to
    the last command. `wording="native"` is the answer alone, as the games word it. The vector is
    float32; see `observe.vector.vector_of` for its layout.

    ## Rewards

    Win +1. With `rewards`, also for milestones (`subgoal`), steps, and illegal commands.

    ## Start and end

    When the task is done, everybody has won, and the episode terminates. Running out of
    `max_steps` truncates, and is lost. Milestones: `target_taken`, `target_changed`, `lamp_on`,
    `target_placed`. The infos say whether the task is done (`won`), and name the `gamefile`; for
    generated homes, only at the end.

    ## Versions

    - v0: first version.
    - v1: other texts, which say why a command had no effect; receptacles have another order in the
      vector; a milestone is paid once.
    - v2: texts are shorter, and say which open containers are empty.
    - v3: what is near and follows from the rest is not listed again; names are shortened.
    - v4: in generated homes, what lies in a closed receptacle can no longer be used or sliced.
    """

    name: ClassVar[str] = "Household"
    version: ClassVar[int] = 4
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    scripting: ClassVar[Any] = scripting
    picture_reveals: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(native_text=True, messages=True)
    milestones: ClassVar[tuple[str, ...]] = step.MILESTONES
    perception_types: ClassVar[Mapping[str, str]] = text.PERCEPTION_TYPES
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        (
            "max_steps shared_reward rewards feedback lists_commands message_delay message_loss"
        ).split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS

    max_message: ClassVar[int] = MAX_MESSAGE
    state_key: ClassVar[str] = "home"
    state_adapter: ClassVar[TypeAdapter[HomeState]] = TypeAdapter(HomeState)

    envelope: HouseholdEnvelope

    def __init__(self, config: HouseholdConfig) -> None:
        """Fix the spaces; `reset` sets up the home."""
        super().__init__(config)
        self.text_length = text.longest_text(self.envelope)
        several = len(self.agents) > 1
        self._speech = [
            actions.speech(self.agents, k) if several else [] for k in range(len(self.agents))
        ]
        said = [row for rows in self._speech for row in rows]
        self._said = {(verb, *values.values()): line for line, (verb, values), *_ in said}
        size = self._num_actions = self.envelope.actions
        self._masks = np.tri(size + 1, size, -1, np.int8)
        self._take(self.config)
        self.reset(0)

    def _take(self, config: HouseholdConfig) -> None:
        """Prepare everything that depends on the config."""
        own: Literal["2.1.1", "2.1.3"] = "2.1.3"
        self._paths: tuple[str, ...] = ()
        if config.game is not None:
            self._paths = files.paths_of(config.game, config.split)
            own = files.load_game(self._paths[config.problem_id or 0]).grammar
        wording: actions.Grammar = config.grammar or own
        self.placing = "put" if "2.1.1" in (wording, own if wording == "both" else "") else "move"
        self._either, self._asks = wording == "both", wording != "2.1.1"
        self._grammar = actions.verbs(wording, self.agents)

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def noop(self) -> Command:
        """``look``."""
        return _LOOK

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `observe.vector.vector_of`."""
        return vector.vector_box(self.envelope)

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        e = self.envelope
        return Box(-1.0, 2.0**31, (1 + 3 * e.agents + e.receptacles + 3 * e.objects,), np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Set up a home."""
        self.open_episode(seed)
        number = self.config.problem_id
        if number is None:
            count = len(self._paths)
            number = Stream(seed, StreamId.LAYOUT).integer(count) if count else seed
        home = self._home(number)
        slots = len(self.agents)
        state = new_state(home[0], slots, self.config.agents, seed, number)
        for agent in range(slots):
            state.feedback[agent] = introduction(home[0], state, agent)
        self.take_up(home, state)
        for known in self._knowledge:
            known.look(state)

    # -- what scripts do ------------------------------------------------------------------

    @classmethod
    def spawnable_in(cls, config: HouseholdConfig) -> tuple[str, ...] | None:
        """Return the objects of the home, or those that homes can have; ``None`` if unknown."""
        known = scripting.names_of(config)
        return None if known is None else tuple(known.accepts)

    def refresh(self) -> None:
        """Rebuild what is known of the home."""
        self.take_up((self.game, self.gamefile), self.state_of)

    def setting_of(self, state: HomeState) -> tuple[Game, str]:
        """Return the home of a state, and its path."""
        if self._paths and not 0 <= state.number < len(self._paths):
            raise ValueError(f"there is no game {state.number}")
        home = self._home(state.number)
        check_sizes(home[0], state, len(self.agents))
        return home

    def take_up(self, setting: tuple[Game, str], state: HomeState) -> None:
        """Continue from a state of a home."""
        (self.game, self.gamefile), self.state_of = setting, state
        self._rebuild_knowledge()

    def _home(self, number: int) -> tuple[Game, str]:
        """Return a home and its path: the game with a number, or the home of a seed."""
        if self._paths:
            path = self._paths[number]
            game = files.load_game(path).game
            mine = {"receptacles": len(game.receptacles), "objects": len(game.objects)}
            mine["commands"] = game.most_commands
            sizes = self.envelope.model_copy(update=mine)
            if sizes != self.envelope:
                require_fit(f"{self.name}: the game {path}", self.envelope, sizes)
            return game, path
        home = cached_home(self.config.home_key(), number)
        return home.game, home.path

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the lists of commands, as their objects belong to the game."""
        agents = len(self.agents)
        return {**self.__dict__, "_legal": [None] * agents, "_near": [[]] * agents}

    def _rebuild_knowledge(self) -> None:
        """Rebuild the agents' knowledge from the state."""
        slots = range(len(self.agents))
        self._knowledge = [Knowledge(self.game, self.state_of, agent) for agent in slots]
        self._legal: list[list[Entry] | None] = [None] * len(self.agents)
        self._near: list[list[Entry]] = [[]] * len(self.agents)

    def rows(self, agent: int) -> list[Entry]:
        """Return the commands of an agent now, sorted by their lines; after the end, too."""
        found = self._legal[agent]
        if found is None:
            game, state = self.game, self.state_of
            found = near = []
            if state.status[agent] != "none":
                near = near_entries(game, state, agent, self.placing, bool(self._paths))
                found = in_order(game, state.at[agent], self._asks, near)
                if self._speech[agent]:
                    mine = [r for r in self._speech[agent] if r.two < 0 or self._present(r.two)]
                    found = sorted([*found, *mine])
            self._legal[agent], self._near[agent] = found, near
        return found

    def _present(self, agent: int) -> bool:
        return self.state_of.status[agent] == "playing"

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Let one step pass; see `rules.step.advance`."""
        turn = step.Turn(
            self.config, self.game, self.state_of, self._entry, self.speak, self.placing == "move"
        )
        sent, costs = self.mailboxes.sent_before(), self.config.message_cost
        playing = self.alive if costs else ()
        result = step.advance(turn, plans)
        if costs:
            result = self.less_messages(result, sent, playing)
        self.mailboxes.deliver(self.streams[StreamId.CHANNEL])
        for agent, known in enumerate(self._knowledge):
            if self.state_of.status[agent] != "none":
                known.look(self.state_of)
            self._legal[agent] = None
        for note in result.notes.values() if result.ended or self._paths else ():
            note["gamefile"] = self.gamefile
        return result

    def _entry(self, agent: int, command: Command) -> Entry | None:
        """Return a command of this home that an agent can still carry out."""
        row = self.game.by_command.get(id(command))
        if row is None:
            line = super().write(command)
            row = self._row_of(line)
        if row is not None and len(self.agents) > 1 and row.verb not in _SURE:
            self._legal[agent] = None  # others may have acted since
            if row not in self.rows(agent):
                return None
        return row

    # -- what agents know -----------------------------------------------------------------

    def knowledge_of(self, agent: int) -> AgentKnowledge:
        """Return what an agent knows now."""
        state, known = self.state_of, self._knowledge[agent]
        holding, several = knowledge.held_by(self.game, state, agent), len(self.agents) > 1
        commands: tuple[str, ...] | None = None
        barred: tuple[str, ...] = ()
        away: tuple[str, ...] = ()
        if self.config.lists_commands:
            self.rows(agent)
            near = self._near[agent]
            following, lines = set(), set()
            for line, _, verb, _, _ in near:
                if verb in _FOLLOWING:
                    following.add(line)
                elif verb not in _ALWAYS:
                    lines.add(line)
            commands, could = tuple(sorted(lines)), options(known.here, holding, self.placing)
            barred = tuple([name for name, line in could if line not in following])
            away = self._away(agent) if several else ()
        facts = HouseholdFacts(
            agent=self.agents[agent],
            goal=self.game.goal_text,
            places=tuple(known.places),
            holding=holding,
            others=self._others(agent) if several else (),
            away=away,
            messages=tuple(self.mailboxes.delivered[self.agents[agent]]),
            commands=commands,
            barred=barred,
            feedback=(state.why[agent] or text.told_of(state.feedback[agent])) if state.t else None,
            hint=self.hints[agent],
        )
        return KnownFacts(facts, text.text_with, (known.written(), self.agents))

    def _others(self, agent: int) -> tuple[str, ...]:
        """Return the other agents in play at the same place."""
        at, status = self.state_of.at, self.state_of.status
        here = [k for k, place in enumerate(at) if place == at[agent] and k != agent]
        return tuple([self.agents[k] for k in here if status[k] == "playing"])

    def _away(self, agent: int) -> tuple[str, ...]:
        """Return the other agents that are not in play now."""
        others = enumerate(self.agents)
        return tuple([name for k, name in others if k != agent and not self._present(k)])

    def vector(self, facts: HouseholdFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        always = ["look", "inventory", *["help"] * self._asks]
        return vector.vector_of(facts, self.envelope, self.agents, always, self.placing)

    @staticmethod
    def to_text(facts: HouseholdFacts, config: HouseholdConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, config)

    def native_text(self, agent: int) -> str:
        """Return the answer to the last command as the games word it."""
        heard = self.mailboxes.delivered[self.agents[agent]]
        return native_text([self.state_of.feedback[agent]], heard, self.hints[agent])

    def surroundings(self, facts: HouseholdFacts) -> Surroundings:
        """Return facts in the words of the documents."""
        return text.surroundings_of(facts)

    def perceived(self, facts: HouseholdFacts) -> Mapping[str, Any]:
        """Return the receptacles and agents where the agent is; facts go on to list contents."""
        here = [place.name for place in facts.places if place.here]
        return dict.fromkeys(here) | dict.fromkeys(facts.others, here[0] if here else None)

    def position(self, agent: int) -> str | None:
        """Return the first receptacle where an agent stands."""
        here = self.game.at[self.state_of.at[agent]]
        return self.game.receptacles[here[0]] if here else None

    def objects(self) -> Objects:
        """Return agents, receptacles and objects."""
        return objects(self.game, self.state_of, self.agents)

    def in_sight(self, agent: int, objects: Objects) -> Collection[str]:
        """Leave out receptacles elsewhere, as an agent knows only what it saw there."""
        here = {self.game.receptacles[k] for k in self.game.at[self.state_of.at[agent]]}
        seen = super().in_sight(agent, objects)
        return {name for name in seen if name in here or objects[name]["kind"] != "receptacle"}

    # -- what agents can do ---------------------------------------------------------------

    def decode(self, agent: int, act: Any) -> DecodedAction:
        """Decode one act; an illegal one is explained in words."""
        if type(act) is int and 0 <= act < len(rows := self.rows(agent)):
            return rows[act].command
        row = self.game.by_command.get(id(act))
        if row is not None and row in self.rows(agent):
            return row.command
        plan = super().decode(agent, act)
        if isinstance(plan, InvalidAction) and plan.outcome is Outcome.ILLEGAL:
            command = self.check(agent, act) if isinstance(act, Command) else None
            if isinstance(command, Command):
                known = self._knowledge[agent]
                held = knowledge.held_by(self.game, self.state_of, agent)
                line = self.write(command)
                plan = plan._replace(message=why_illegal(command, known.places, held, line))
        return plan

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now; anything can be said."""
        if command.verb in ("say", "tell"):
            to = command.parameters.get("agent_id")
            others = [n for k, n in enumerate(self.agents) if k != agent and self._present(k)]
            return self._present(agent) and (command.verb == "say" or to in others)
        rows = self.rows(agent)
        row = self.game.by_command.get(id(command)) or self._row_of(super().write(command))
        return row is not None and row in rows

    def admissible(self, agent: int) -> list[Command]:
        """Return the commands of an agent now, sorted by their lines."""
        return [row.command for row in self.rows(agent)]

    def admissible_lines(self, agent: int) -> list[str]:
        """Return the lines of these commands."""
        return [row.line for row in self.rows(agent)]

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command at an index of the sorted list."""
        rows = self.rows(agent)
        if index < len(rows):
            return rows[index].command
        text = f"there are {len(rows)} commands now; the index {index} stands for none"
        return InvalidAction(Outcome.ILLEGAL, text)

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask: ones for the commands that it has now."""
        return [self._masks[len(self.rows(agent))].copy() for agent in range(len(self.agents))]

    def _row_of(self, line: str) -> Entry | None:
        """Return the command of this home that a line stands for."""
        row = self.game.by_line.get(line)
        if row is None or self._either:
            other = actions.reworded(line) if self._either else None
            mine = self.game.by_line.get(other) if other is not None else None
            row = mine if mine is not None and mine.verb == self.placing else row
        return row

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line to the letter; only blanks around it are ignored."""
        if not isinstance(line, str) or len(line) > MAX_LINE:
            return read_command(line, self._grammar)
        words = line.strip()
        self.rows(agent)
        row = self._row_of(words)
        if row is not None:
            return row.command
        spoken = next((row for row in self._speech[agent] if row.line == words), None)
        if spoken is not None:
            return spoken.command
        found = read_command(line, self._grammar)
        if isinstance(found, InvalidAction) or found.verb in ("say", "tell"):
            return found
        proper = self.write(found)
        if proper != words:
            text = f"I did not understand {words[:40]!r}; write it so: {proper[:80]}"
            return InvalidAction(Outcome.UNPARSABLE, text)
        return found

    def read_reply(self, agent: int, reply: object) -> Command | InvalidAction:
        """Read a text action in any form and in other words; see `texts.synonyms.fitting`.

        If the games' own wording is shown, commands are read to the letter, as in the games.
        """
        found = super().read_reply(agent, reply)
        exact = isinstance(found, Command) and self.legal(agent, found)
        if exact or not isinstance(reply, str) or self.shows_native:
            return found
        rows = [row.command for row in self.rows(agent)]

        def fits(line: str) -> Command | InvalidAction | None:
            turned = actions.reworded(line.strip())  # into the wording of other games, or out of it
            other = turned is not None and turned.startswith(self.placing)
            return None if other or len(line) > MAX_LINE else fitting(line, rows, _GOES_BY)

        answer = read_answer(reply, (lambda line: isinstance(fits(line), Command),))
        command = answer.command if isinstance(answer, Answer) else None
        return (fits(command) if isinstance(command, str) else None) or found

    def write(self, command: Command) -> str:
        """Return the line of a command."""
        row = self.game.by_command.get(id(command))
        if row is None and command.verb in ("say", "tell"):
            said = self._said.get((command.verb, *command.parameters.values()))
            return super().write(command) if said is None else said
        return super().write(command) if row is None else row.line

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return manual(self.config, self.placing, self._asks)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return every non-string fact of the world.

        In order: t; for each agent its location, the object in its hand (or -1), 1 if it is in
        play; 1 for each open receptacle; for each object the receptacle that it is in (or -1), how
        many it is in, and what has become of it, as bits.
        """
        state, e = self.state_of, self.envelope
        row = np.zeros(1 + 3 * e.agents + e.receptacles + 3 * e.objects)
        row[0] = state.t
        for k, at in enumerate(state.at):
            row[1 + 3 * k : 4 + 3 * k] = at, state.holding[k], self._present(k)
        start = 1 + 3 * e.agents
        row[start : start + len(state.opened)] = state.opened
        start += e.receptacles
        for k, marks in enumerate(state.marks):
            within = [r for r, things in enumerate(state.contents) if k in things]
            row[start + 3 * k : start + 3 * k + 3] = within[0] if within else -1, len(within), marks
        return row

    def twin(self, agent: int) -> Self | None:
        """Return a copy that differs in what the agent has not seen; see `observe.twin`."""
        found = super().twin(agent)
        base = found or copy.deepcopy(self)
        moved = twin.differ(base.game, base.state_of, base.mailboxes, self.agents, agent)
        if found is None and not moved:
            return None
        base._rebuild_knowledge()
        return base

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Draw the receptacles as a list."""
        return pictures.ansi(self.game, self.state_of, self.agents)

    def rgb(self) -> NDArray[np.uint8]:
        """Draw the receptacles as cupboards with what is in them."""
        return pictures.rgb(self.game, self.state_of, self.agents)


@functools.lru_cache(maxsize=512)
def cached_home(key: Any, seed: int) -> GeneratedHome:
    """Return the home of a seed, given the config's fields that determine it."""
    return generate(HouseholdConfig(**dict(key)), seed)
