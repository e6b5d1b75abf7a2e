"""GridWorld, as a World: the kernels behind the contract."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import (
    MAX_LINE,
    Command,
    InvalidAction,
    Outcome,
    Result,
    Verb,
    unparsable,
)
from piase_gym.core.difficulty import DifficultyParameter, Element, PerAgentField
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities
from piase_gym.errors import EnvelopeError
from piase_gym.worlds.array_world import Modules
from piase_gym.worlds.channel.symbols import message_params, said_with
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world import facts as views
from piase_gym.worlds.grid_world import scripting, state
from piase_gym.worlds.grid_world.actions import deed_events, grammar_of, silent_commands
from piase_gym.worlds.grid_world.config import MAX_SIDE, GridWorldConfig, GridWorldEnvelope
from piase_gym.worlds.grid_world.curriculum import DIFFICULTY_PARAMETERS, ELEMENTS, PER_AGENT_FIELDS
from piase_gym.worlds.grid_world.facts import GridWorldFacts
from piase_gym.worlds.grid_world.form import Form, form_of
from piase_gym.worlds.grid_world.levels import LAYOUTS, PAGES
from piase_gym.worlds.grid_world.manual import deeds_of, fault_sentence, manual
from piase_gym.worlds.grid_world.objects import objects
from piase_gym.worlds.grid_world.observe import pictures, surroundings
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grid_world.rules.kernels import KERNELS, PLAIN, SEARCHED, enter_one
from piase_gym.worlds.grid_world.state import BEHIND, CANONICAL, STATUS
from piase_gym.worlds.grids.codes import AHEAD, on_map
from piase_gym.worlds.grids.hidden_cells import unseen_floor
from piase_gym.worlds.grids.moves import in_the_way, plain_line
from piase_gym.worlds.grids.words import cell_noun
from piase_gym.worlds.grids.world import WalkingWorld

_USE = kinds.CELLS.array("use")
_OF_AGENTS = "x y heading carry alive fate marks role level said energy".split()


class GridWorld(WalkingWorld[GridWorldConfig, GridWorldFacts]):
    """Agents on a grid: find the goal, fetch the key, share the food, keep out of each other's way.

    ## Description

    A grid of `width` by `height` cells, (0, 0) at the top left; `layout` says what stands on it
    (see Levels). Boxes, hazards, bushes, drones and food can be strewn over every layout, and
    `difficulty` scales what is random. Every level can be solved: those in which an agent has no
    way to its task are drawn again.

    1 to 32 agents act at once; within a step they are served in order, and the first to claim a
    cell gets it. What is legal is judged before anybody acts; an agent that comes too late only
    fails, and so does an agent that is tagged before its turn.

    ## Actions

    `frame` chooses the frame of reference of commands and texts. With `"grid"`, the default:

    | index | command | effect |
    |---|---|---|
    | 0 | `move north` | turn up, then step if the cell is free |
    | 1 | `move south` | turn down, then the same |
    | 2 | `move west` | turn left, then the same |
    | 3 | `move east` | turn right, then the same |
    | 4 | `stay` | nothing |
    | 5 | `interact` | act on the cell ahead |

    With `"agent"` the first four are `forward`, `turn around`, `turn left` and `turn right`; a turn
    takes a step on the spot, and is rewarded like a move. Lines such as `north`, `go north`,
    `move up` and `forward` are also understood, and so are lines that say what interacting would do
    now: `pick up the key`, `open the door`.

    With `symbols=n`, index ``6 * symbol + action`` also says a symbol to all others (`move north
    saying 2`); symbol 0 is silence. What is said is heard in the observation after the step. The
    page [Channels](../channels.md) has more: longer messages, messages to one agent, delay, loss,
    range, who hears whom, cost, history, and words.

    `interact` picks up a key with empty hands, puts down what is carried on free floor, opens and
    closes doors, unlocks a locked door with the key, turns a switch, and lifts food. With nothing
    to act on, it is illegal and masked. Walking against something, trying a locked door without the
    key, and lifting food that is too heavy are legal but fail. A tagger tags a runner by walking
    into it.

    ## Observations

    `observe="window"`: an egocentric square of `window` by `window` cells, turned so that the
    heading is up; the agent stands in the middle of the nearest row. `observe="grid"`: the whole
    grid. With `see_through_walls=False`, walls, gates and closed doors hide what is behind them.

    The vector is uint8: the cells row by row (codes as under Cells; an agent is ``32 + 4 * agent +
    turn``), then width, height, x, y, heading (0 up, 1 right, 2 down, 3 left), what is carried, the
    direction of the nearest visible goal (two bytes, 0 0 if none is in sight) and 8 bytes of hashed
    hint. If the envelope has `status` (it does where energy, levels, roles or gathering matter),
    energy, strength, role and pieces of food left follow; if it has `symbols`, one byte per agent
    with what it said.

    The text names the same facts in prose, in the frame of reference: things one by one, the
    nearest first, and walls in summary; what it does not mention is free floor. [Grids in
    words](../grids_in_words.md) shows episodes.

    With `recall="map"`, agents are also shown what they have seen before in the episode and do not
    see now: in facts (`recall`), in the text (`Seen 3 steps ago: a key at column 2, row 4.`) and at
    the end of the vector: one byte per cell of the envelope's grid with its code, then one byte per
    cell with the steps since then (up to 255).

    ## Rewards

    Goal +10, move -0.1, blocked -1, stay -0.05, interact -0.1, a locked door without a key -0.1,
    illegal -1, hazard -10, fruit +1, tagging +10, being tagged -10, starving -10: the fields of
    `rewards`. All food of a level together is worth 10, by weight, and shared by strength among
    those who lift it, as in level-based foraging. In `foraging` and `tag`, moving, staying and
    bumping cost less. With `shared_reward`, every agent gets the mean.

    ## Start and end

    Agents start facing east, at `start_pos` (or the first free cell, if that one is not free) or
    at random. With `join_at`, some enter later: after that many steps, or (`null`) when somebody
    lets them in, as `Simulation.join` does. They appear where they would have started, or on the
    nearest free floor that can be walked to from there; if there is none, they wait. The episode
    is over when nobody is in play, even if somebody was still to come. An agent is terminated, and
    has won, on a goal, when all food is gathered, or when every runner is tagged; it is terminated,
    and has lost, on a hazard, when tagged, or without energy. After `max_steps` it is truncated,
    and has lost, unless its task was to last that long. Milestones: `key_found`, `door_opened`,
    `goal_reached`, `box_pushed`, `switch_used`, `fruit_eaten`, `food_gathered`, `tagged`.

    ## Beside MiniGrid

    Walls, doors, keys, goals, hazards (lava there), and what `see_through_walls=False` hides, are
    as in MiniGrid: `make test-originals` plays both step by step. Otherwise than there, a move also
    turns (`frame="agent"` turns on the spot), one command picks up, puts down, opens and closes,
    and rewards are those of the table; walls are seen through by default, any key opens any door
    and boxes are pushed; agents start facing east, in `Empty-Random` the goal is anywhere too, a
    door of `DoorKey` may be in the last row, and `FourRooms` and `MultiRoom` have other sizes.

    ## Versions

    - v0: first version.
    - v1, layout `tag`: an agent that is tagged before its turn is told when its command was
      illegal or unreadable, and pays for it; in v0 every such command had failed.
    - v1, and v2 with layout `tag`: other texts and names of directions, in one frame of reference.
    """

    name: ClassVar[str] = "GridWorld"
    version: ClassVar[int] = 1
    milestones: ClassVar[tuple[str, ...]] = events.MILESTONES
    canonical: ClassVar[Sequence[str]] = CANONICAL
    optional: ClassVar[Sequence[str]] = BEHIND
    outcome_of: ClassVar[Sequence[Outcome]] = events.OUTCOMES
    entered: ClassVar[int] = events.ENTER
    modules: ClassVar[Modules] = Modules(state, views, views, pictures, form_of, manual)
    result_of: ClassVar[Sequence[Result]] = events.RESULTS
    capabilities: ClassVar[Capabilities] = Capabilities(batched=True, late_join=True)
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        (
            "max_steps shared_reward rewards hazard_ends regrow mover_period mover_chance "
            "fruit_energy collisions see_through_walls"
        ).split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    per_agent_fields: ClassVar[Mapping[str, PerAgentField]] = PER_AGENT_FIELDS
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    spawnable: ClassVar[tuple[str, ...]] = scripting.SPAWNABLE
    scripting: ClassVar[Any] = scripting
    let_in: ClassVar[Any] = staticmethod(enter_one)
    cannot_enter: ClassVar[str] = "there is no free floor near its start"

    envelope: GridWorldEnvelope
    form: Form

    @classmethod
    def kind_for(cls, config: GridWorldConfig) -> type[GridWorld]:
        """Return this world, or one whose agents also speak in words."""
        if not config.speech:
            return GridWorld
        from piase_gym.worlds.channel.speech import speaking

        return speaking(GridWorld)

    @classmethod
    def version_of(cls, config: GridWorldConfig) -> int:
        """Return 2 with layout `tag`, else 1; see Versions."""
        return cls.version + (config.layout == "tag")

    @staticmethod
    def page_sections() -> dict[str, str]:
        """Return what the world's page says beyond the docstring: kinds of cells, and levels."""
        signs = {kind: f"`{kind.sign}`" if kind.sign.strip() else "" for kind in kinds.CELLS.kinds}
        cells = [f"| {k.code} | {sign} | {k.name} | {k.does} |" for k, sign in signs.items()]
        levels = [
            f"- {text}{f' Layout `{name}`.' if name in LAYOUTS else ''}"
            for name, text in PAGES.items()
        ]
        return {
            "Cells": "\n".join(
                (
                    "| code | sign | cell | what it does |",
                    "|---|---|---|---|",
                    *cells,
                    f"| | `{kinds.START}` | start of an agent, in a `map` | |",
                )
            ),
            "Levels": "\n".join(levels),
        }

    def _bind(self) -> None:
        """Keep views of the record's fields, and the kernels."""
        super()._bind()
        self.kernels = self.kernels_for(self.tables)

    def take_config(self, config: GridWorldConfig) -> None:
        """Take another config, which can need other kernels."""
        super().take_config(config)
        self.kernels = self.kernels_for(self.tables)

    def kernels_for(self, tables: NDArray[Any]) -> Kernels:
        """Return the faster kernels if no config has more than plain rules."""
        if tables["full"].any():
            return KERNELS
        return SEARCHED if tables["search"].any() else PLAIN

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return ``move <direction>``, or ``forward`` and ``turn``; ``stay`` and ``interact``."""
        config = self.config
        said = message_params(self.envelope, self.agents)
        return grammar_of(said, config.frame, deeds_of(config))

    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index: message * 6 + action."""
        return said_with(silent_commands(self.config.frame), self.envelope, self.agents)

    @property
    def vector_space(self) -> Box:
        """A uint8 Box; see `piase_gym.worlds.grid_world.facts`."""
        form = self.form
        high = np.full(form.length, 255, np.uint8)
        area = form.rows * form.columns
        high[:area] = kinds.MAX_CODE
        high[area : area + 8] = (*(MAX_SIDE,) * 4, 3, 31, 2 * MAX_SIDE, 2 * MAX_SIDE)
        if self.envelope.symbols:
            first = form.status_start + STATUS * form.status
            high[first : first + form.channel.length] = form.channel.high
        if form.recall:
            half = form.length - form.recall // 2
            high[form.length - form.recall : half] = kinds.MAX_CODE
        return Box(np.zeros(form.length, np.uint8), high, dtype=np.uint8)

    # -- what scripts do ------------------------------------------------------------------

    @classmethod
    def verbs_of(cls, config: GridWorldConfig) -> Sequence[str]:
        """Return the verbs."""
        return [verb.name for verb in grammar_of((), config.frame)]

    # -- kernels --------------------------------------------------------------------------

    def explain_fault(self, fault: int, config: GridWorldConfig) -> str:
        """Say why no level could be made."""
        return fault_sentence(fault, config)

    def check_config(self, config: GridWorldConfig) -> None:
        """Check the envelope, that `observe` stays, and that a level can be made."""
        if config.observe != self.config.observe:
            raise EnvelopeError(
                f"GridWorld: observe={config.observe!r} has other spaces than "
                f"observe={self.config.observe!r}; make another environment"
            )
        super().check_config(config)

    # -- knowledge ------------------------------------------------------------------------

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a writer of texts from vectors."""
        return views.VectorWriter(self.form, self.agents)

    def facts(self, agent: int) -> GridWorldFacts:
        """Return what the agent may know now."""
        return views.facts_of(self._obs[agent], self.agents[agent], self.form, self.hints[agent])

    @staticmethod
    def to_text(facts: GridWorldFacts, config: GridWorldConfig) -> str:
        """Return the prose of the facts."""
        return views.text_of(facts, form_of(config))

    def surroundings(self, facts: GridWorldFacts) -> Surroundings:
        """Return facts in the PiaSE documents' words; what is in sight has its place on the map."""
        return surroundings.surroundings(facts, self.agents)

    def position(self, agent: int) -> list[int]:
        """Return the column and the row of an agent."""
        return [int(self.states["x"][0, agent]), int(self.states["y"][0, agent])]

    def positions(self, states: NDArray[Any]) -> NDArray[Any]:
        """Return the column and the row of every agent of many environments."""
        slots = len(self.agents)
        return np.stack([states["x"][:, :slots], states["y"][:, :slots]], axis=-1)

    def objects(self) -> Objects:
        """Return agents, doors, keys, boxes and everything else that stands on the grid."""
        names, energy = self.agents[: self.config.agents], bool(self.config.energy)
        return objects(self.states[0], self.side, names, energy)

    def ends_at(self, place: Any) -> bool:
        """Return whether the config fixes a goal at a place."""
        return isinstance(place, list | tuple) and tuple(place) in self.config.goals

    def wins_by_lasting(self, agent: int) -> bool:
        """Return whether the agent runs from taggers, or the only task is to last."""
        if self.config.script is not None and self.config.script.tasks:
            return False
        runs = self.states["role"][0, agent] == events.ROLES.index("runner")
        return bool(self.config.surviving or runs)

    def why_failed(self, agent: int) -> str | None:
        """Say what an agent bumped into, or why what is ahead of it did not budge."""
        event = self._event_view[agent]
        if event != events.BLOCKED:
            return events.FAILURES.get(event)
        code, carries = self._ahead(agent)
        advice = events.ADVICE.get(int(_USE[int(carries), code]), "")
        return in_the_way(self.form.cell_names[code]) + advice

    def _ahead(self, agent: int) -> tuple[int, bool]:
        """Return the code of the cell ahead of an agent, and whether it carries something."""
        form, vector = self.form, self._obs_rows[agent]
        x, y, heading, carry = vector[form.area + 2 : form.area + 6].tolist()
        column, row = form.columns // 2, form.rows - 2
        if form.whole_grid:
            dx, dy = AHEAD[kinds.HEADINGS[heading]]
            column, row = x + dx, y + dy
            if not (0 <= row < form.rows and 0 <= column < form.columns):
                return kinds.OUTSIDE, bool(carry)
        return int(vector[row * form.columns + column]), bool(carry)

    # -- reading --------------------------------------------------------------------------

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a text action; it may also say what interacting would do now: ``open the door``."""
        found = super().read(agent, line)
        if isinstance(found, Command) or not isinstance(line, str) or len(line) > MAX_LINE:
            return found
        plain = plain_line(line)
        deed = deed_events(plain)
        if deed is None:
            return found
        code, carries = self._ahead(agent)
        event = int(_USE[int(carries), code])
        if event in deed[0]:
            return super().read(agent, f"interact{deed[1]}")
        named = cell_noun(self.form, code)
        return unparsable(
            f"{plain[:40]!r} is not what to interact would do now: ahead of you is {named}"
        )

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Change what the others carry, and put a wall where the agent's window does not reach."""
        record, count = self.states[0], self.config.agents
        carry, cells = record["carry"].tolist(), record["cells"].tolist()
        for other in range(count):
            if other != agent:
                carry[other] = 0 if carry[other] else kinds.KEY
        if self.config.observe == "window":
            for place in unseen_floor(record, agent, self.config.window)[:1]:
                cells[place] = kinds.WALL
        return {"carry": carry, "cells": cells}

    def state(self) -> NDArray[np.int32]:
        """Return t, width, height, agents and food left, then the fields of all agents.

        These are x, y, heading, carry, alive, fate, marks, role, level, symbol said and energy.
        After them come the goals and the objects, row by row of the envelope's grid.
        """
        record, slots = self.states[0], len(self.agents)
        cells = record["cells"].reshape(self.side, self.side)
        parts = [
            [record[name] for name in ("t", "width", "height", "agents", "num_food")],
            *(record[name][:slots] for name in _OF_AGENTS),
            record["goals"].ravel(),
            cells[: self.envelope.height, : self.envelope.width].ravel(),
        ]
        return np.concatenate(parts).astype(np.int32)

    # -- pictures -------------------------------------------------------------------------

    def _scene(self) -> pictures.Scene:
        """Describe the state for the painters."""
        scene = pictures.scene(self.states[0], self.side, self.agents)
        if self.config.observe == "grid" or not scene.present:
            return scene
        form, width, height = self.form, self.config.width, self.config.height
        lit = np.zeros((height, width), np.bool_)
        for agent in scene.present:
            frame = self._obs[agent.number, : form.area].reshape(form.rows, form.columns)
            cells, place = np.nonzero(frame != kinds.UNSEEN), (agent.x, agent.y)
            x, y = on_map(frame.shape, (cells[0], cells[1]), place, kinds.HEADINGS[agent.heading])
            inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
            lit[y[inside], x[inside]] = True
        return dataclasses.replace(scene, lit=lit)
