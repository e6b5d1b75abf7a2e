"""ObjectSearch, as a World: the kernels behind the contract."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import Command, Outcome, Result, Verb
from piase_gym.core.difficulty import DifficultyParameter, Element
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable
from piase_gym.core.surroundings import Surroundings, Thing, surroundings_by_name
from piase_gym.core.world import Capabilities
from piase_gym.errors import EnvelopeError, MissingExtraError
from piase_gym.worlds.array_world import Modules
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.grids.world import GridArrayWorld
from piase_gym.worlds.object_search import codes, scripting, state
from piase_gym.worlds.object_search import facts as views
from piase_gym.worlds.object_search.actions import commands_of, grammar_of
from piase_gym.worlds.object_search.config import ObjectSearchConfig, ObjectSearchEnvelope
from piase_gym.worlds.object_search.curriculum import DIFFICULTY_PARAMETERS, ELEMENTS
from piase_gym.worlds.object_search.facts import ObjectSearchFacts
from piase_gym.worlds.object_search.form import Form, form_of
from piase_gym.worlds.object_search.geometry import SIDE
from piase_gym.worlds.object_search.manual import fault_sentence, manual
from piase_gym.worlds.object_search.objects import objects
from piase_gym.worlds.object_search.observe import pictures, text
from piase_gym.worlds.object_search.observe.obstacles import in_the_way
from piase_gym.worlds.object_search.observe.pieces import vector_writer_of
from piase_gym.worlds.object_search.observe.sight import KERNELS, enter_one

_OF_AGENTS = "x y z heading pitch roll alive fate marks reports".split()


class ObjectSearch(GridArrayWorld[ObjectSearchConfig, ObjectSearchFacts]):
    """Explorers look for things in a place that they do not know, and report what they see.

    ## Description

    1 to 8 agents explore a place together, until all objects in it are found: an object is found
    when one of them sees it. What agents perceive of the place comes from a `backend`:

    - `mock`, a line of positions, as in the explorer document. Agents start at position 0, and see
      what lies at their position. `line` says what lies where, as lists of names or as a
      mapping from positions; by default objects lie at random. An episode lasts 20 steps, whatever
      is found.
    - `house`, rooms with doorways and furniture, new in each episode. Over each column of the floor
      there are three levels; walls fill all of them, tall furniture the lower two, low furniture
      the lowest. Agents fly: they move in four directions, rise and sink; no two share a cell.
      An object lies on the floor, or on top of the furniture of its column. Everything can be seen
      from somewhere, as agents can rise above all furniture. The episode ends when all are found.
    - `camera`, the same house in pictures that PyBullet draws (the extra ``physics``). What agents
      see is what a `describer` finds in their pictures; the masks of the pictures are the ground
      truth that it is compared with: [cameras and windows](../cameras_and_windows.md).

    If `recall` is a number, there is one choice to make: an agent stands in the middle of three
    positions, where a sign says whether the object lies forward or backward. The sign is gone
    after the first step; after ``recall + 1`` steps the agent can go, once.

    An agent in a house sees with a camera: a pyramid about 93 degrees wide and 64 high, up to
    `sight` columns ahead and three to each side. Looking up or down turns it by 60 degrees, tilting
    the head by 45. An object is seen if its cell is in the pyramid and the straight line to it
    passes over everything in between. Independently of the camera, a range finder on the agent's
    level shows what fills the columns ahead, up to 45 degrees to each side and as far as nothing is
    in the way. The columns in view from each pose, and those that can be in the way, are sets that
    are computed once and combined with the state of the house, so they stay valid when objects
    move. With `wandering`, some do, every `wander_period` steps.

    Agents share nothing but what they `report`: their pose, the objects that they see and, in a
    house, the columns ahead, all as they were before the command. The others read it in the
    observation after the step. Reports can take `message_delay` steps, carry no farther than
    `message_range` columns, and get lost (`message_loss`), also in batches. With `speech`, agents
    can also ``say`` and ``tell`` each other anything in words, which takes the step; batches have
    only reports. What the team has found is in no observation, unless `show_found` is set.
    `join_at` lets agents enter later, where they would have started.

    ## Actions

    | index | command | in a house | on a line |
    |---|---|---|---|
    | 0 | `forward` | move one cell ahead | to the next higher position |
    | 1 | `backward` | move one cell back | to the next lower position |
    | 2, 3 | `move_left`, `move_right` | move sideways without turning | – |
    | 4, 5 | `move_up`, `move_down` | rise or sink by one level | – |
    | 6, 7 | `look_left`, `look_right` | turn by 90 degrees | – |
    | 8, 9 | `look_up`, `look_down` | turn the head by 60 degrees | – |
    | 10, 11 | `tilt_left`, `tilt_right` | tilt it by 45 degrees | – |
    | 12 | `stay` | nothing | nothing |

    With a `channel`, index ``13 + action`` also reports (`forward and report`). Moving into
    something, or turning the head beyond its limits, fails; the ends of a line cannot be left.

    ## Observations

    The facts hold size, position, heading, pitch, roll, the window of columns ahead, which objects
    and agents are in sight and where, steps, and what was reported. The vector is uint8:

    | part | numbers |
    |---|---|
    | in a house: columns ahead, 0 unseen, 2 floor, 3 wall, 8 low, 24 tall furniture | 7 x 7 |
    | with a channel, for each agent: what it reports, or zeros | (8 + window) x agents |
    | in a house, for each agent: 1 + x, y, level, heading; zeros if it is not seen | 4 x agents |
    | for each name of an object: 1 + x, y, or zeros if it is not seen | 2 x names |
    | with `show_found`: a bit for each name that the team has found | 2 |
    | number, width, height, x, y, level, heading, pitch, roll, objects | 10 |
    | steps done and maximum number of steps, 2 bytes each | 4 |
    | hashed hint | 8 |
    | with a camera: hashed caption; x and y of objects are hundredths of the picture then | 8 |

    The text says the same in prose, except for what the prompt says about the place: its size, and
    how many objects there are. A column ahead that it does not mention is dark if a wall, tall
    furniture or something dark stands on the line to it, and otherwise bare floor. Headings are
    compass directions, as on a map.

    ## Rewards

    Being the first of the team to see an object +1, a step with a legal command -0.01, a report
    -0.02, an illegal command -0.1: the fields of `rewards`. What is in sight at the start is found
    without a reward. With `shared_reward` every agent gets the mean.

    ## Start and end

    Agents in a house start on the middle level, near each other (`start="together"`) or anywhere,
    with random headings. When all objects are found, agents are terminated and have won; after
    `max_steps` they are truncated and have lost, unless all were found (`end_when_found` says
    whether that ends the episode). Milestones: `object_found`, `all_found`, `reported`.

    ## Measures

    `objects_found` and `coverage` are the shares of objects, and of columns, that somebody has
    seen; `mean_coverage` is the mean of the latter over all steps; `duplicate_work` is the share of
    agents' first looks at a column that came after another agent's look at it; `reports_sent`
    counts an agent's own reports. The usefulness of messages is what explorers gain by them:
    [Exploring with others](../exploring.md) compares scripted explorers with and without reports, a
    planner that knows the map but not the objects, and the oracle.

    The script explores frontiers by the next best view (Yamauchi, "A frontier-based approach for
    autonomous exploration", 1997; Burgard et al., "Coordinated multi-robot exploration", 2005). The
    oracle sees everything; for a lone agent in a small house, its plans are shortest.

    ## Scenarios and curriculum

    `found_objects` is the explorer document's line, `moving_in` a house for four (`piase run
    NAME`). The curriculum `explore` leads a lone explorer from a bare room to a whole house (`piase
    curriculum run explore`).

    ## Versions

    - v0: first version.
    - v1: other texts; the Camera id has 150 steps.
    - v2: texts are shorter; what an agent bumps into is named.
    - v3: columns are listed kind by kind, and what is dark follows from what stands before it;
      headings are compass directions; the size of the place is in the prompt.
    """

    name: ClassVar[str] = "ObjectSearch"
    version: ClassVar[int] = 3
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    scripting: ClassVar[Any] = scripting
    tells_limits: ClassVar[bool] = True
    milestones: ClassVar[tuple[str, ...]] = codes.MILESTONES
    measures: ClassVar[tuple[str, ...]] = (
        "objects_found",
        "coverage",
        "mean_coverage",
        "duplicate_work",
        "reports_sent",
    )
    picture_reveals: ClassVar[bool] = True
    outcome_of: ClassVar[Sequence[Outcome]] = codes.OUTCOMES
    entered: ClassVar[int] = codes.ENTER
    modules: ClassVar[Modules] = Modules(state, views, text, pictures, form_of, manual)
    result_of: ClassVar[Sequence[Result]] = codes.RESULTS
    kernels: Kernels = KERNELS
    capabilities: ClassVar[Capabilities] = Capabilities(batched=True, late_join=True)
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        (
            "max_steps shared_reward rewards sight show_found end_when_found wandering "
            "wander_period"
        ).split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    elements: ClassVar[tuple[Element, ...]] = ELEMENTS
    let_in: ClassVar[Any] = staticmethod(enter_one)
    cannot_enter: ClassVar[str] = "somebody is where it starts"

    envelope: ObjectSearchEnvelope
    form: Form

    @classmethod
    def kind_for(cls, config: ObjectSearchConfig) -> type[ObjectSearch]:
        """Return the class of a config's backend.

        Raises:
            MissingExtraError: If it needs pybullet, which is not installed.
        """
        kind = cls._kind_by_backend(config)
        if not config.speech:
            return kind
        from piase_gym.worlds.channel.speech import speaking
        from piase_gym.worlds.object_search.speech import SpeakingExplorers

        return speaking(kind, SpeakingExplorers)

    @classmethod
    def spawnable_in(cls, config: ObjectSearchConfig) -> tuple[str, ...]:
        """Return the names of the objects."""
        return config.object_names

    @classmethod
    def _kind_by_backend(cls, config: ObjectSearchConfig) -> type[ObjectSearch]:
        """Return the class of a config's backend, without speech."""
        if not config.in_pictures:
            return ObjectSearch
        if importlib.util.find_spec("pybullet") is None:
            raise MissingExtraError("ObjectSearch with backend='camera'", "physics")
        from piase_gym.worlds.object_search.camera_world import CameraSearch

        return CameraSearch

    def __init__(self, config: ObjectSearchConfig) -> None:
        """Choose the fields of the state: records for slow reports have one more."""
        self.canonical = state.canonical(config.fixed_envelope())  # type: ignore[misc]
        super().__init__(config)

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return the explorer document's twelve verbs, and ``stay``; also with ``and report``."""
        return grammar_of(bool(self.envelope.channel))

    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index: 13 * report + action."""
        return commands_of(bool(self.envelope.channel))

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as int32; see `state`."""
        return Box(-(2**31), 2**31 - 1, (self.state().size,), np.int32)

    # -- kernels --------------------------------------------------------------------------

    def explain_fault(self, fault: int, config: ObjectSearchConfig) -> str:
        """Say why no place could be made."""
        return fault_sentence(fault, config)

    def check_config(self, config: ObjectSearchConfig) -> None:
        """Check the envelope, that backend, names and speech stay, and that there is room."""
        for name in ("backend", "object_names", "speech"):
            mine, other = getattr(self.config, name), getattr(config, name)
            if mine != other:
                raise EnvelopeError(
                    f"ObjectSearch: {name}={other!r:.60} has other spaces than {mine!r:.60}; make "
                    "another environment"
                )
        super().check_config(config)

    # -- knowledge ------------------------------------------------------------------------

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function that writes texts from vectors."""
        return vector_writer_of(self.config)

    def facts(self, agent: int) -> ObjectSearchFacts:
        """Return what the agent may know now."""
        return views.facts_of(self._obs[agent], agent, self.form, self.hints[agent])

    @staticmethod
    def to_text(facts: ObjectSearchFacts, config: ObjectSearchConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, form_of(config))

    def surroundings(self, facts: ObjectSearchFacts) -> Surroundings:
        """Return facts in the terms of the PiaSE documents; a position on a line is a number."""
        house = facts.heading is not None
        turned = {"heading": facts.heading, "pitch": facts.pitch, "roll": facts.roll}
        return dataclasses.replace(
            surroundings_by_name(facts, self.agents),
            position=[*facts.position] if house else facts.position[0],
            rotation=turned if house else None,
            objects=tuple(
                Thing(thing.name, "object", {"position": [*thing.position]} if house else {})
                for thing in facts.objects
            ),
        )

    def perceived(self, facts: ObjectSearchFacts) -> Mapping[str, Any]:
        """Return what is in sight and where; for objects in pictures, where they were seen from."""
        own = facts.position if self.config.in_house else facts.position[0]
        there = self.config.in_house and not self.config.in_pictures
        found: dict[str, Any] = {o.name: o.position if there else own for o in facts.objects}
        return found | {other.name: other.position for other in facts.others}

    def position(self, agent: int) -> Any:
        """Return column, row and level of an agent in a house, or its position on a line."""
        place = [int(self.states[name][0, agent]) for name in "xyz"]
        return place if self.config.in_house else place[0]

    def positions(self, states: NDArray[Any]) -> NDArray[Any] | None:
        """Return column, row and level of all agents of many environments; ``None`` on a line."""
        if not self.config.in_house:
            return None
        slots = len(self.agents)
        return np.stack([states[name][:, :slots] for name in "xyz"], axis=-1)

    def objects(self) -> Objects:
        """Return agents with their poses, and the objects that there are to find."""
        return objects(self.states[0], self._scene(), self.agents[: self.config.agents])

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return what the team has achieved, and how many reports this agent has sent."""
        record = self.states[0]
        found, goal = int(record["found"]).bit_count(), int(record["goal"]).bit_count()
        covered, repeats = int(record["covered"]), int(record["repeats"])
        whole = max(1, int(record["open"]))
        return {
            "objects_found": found / max(1, goal),
            "coverage": covered / whole,
            "mean_coverage": int(record["area"]) / (whole * max(1, int(record["t"]))),
            "duplicate_work": repeats / max(1, covered + repeats),
            "reports_sent": float(record["reports"][agent]),
        }

    def why_failed(self, agent: int) -> str | None:
        """Say what an agent bumped into, or that it cannot turn its head further."""
        event = self._event_view[agent]
        if event != codes.BLOCKED:
            return codes.FAILURES.get(event)
        if self.config.delay is not None:
            return codes.FAILURES[codes.WAITING]
        verb = codes.VERBS[int(self.one["acts"][0, agent]) % codes.ACTIONS]
        return in_the_way(verb, self._obs_rows[agent], self.form)

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Swap two objects that nobody has found, and fill a column far from all agents."""
        record = self.states[0]
        changed: dict[str, Any] = {"repeats": int(record["repeats"]) + 1}
        goal, found = int(record["goal"]), int(record["found"])
        hidden = [i for i in range(len(self.config.object_names)) if goal & ~found & 1 << i]
        if len(hidden) >= 2 and not self.config.wandering:
            one, two = hidden[:2]
            place = record["place"].tolist()
            place[one], place[two] = place[two], place[one]
            shelf = [_swapped(here, one, two) for here in record["shelf"].tolist()]
            changed |= {"place": place, "shelf": shelf}
        if self.config.in_house:
            changed["cells"] = self._furnished_far_away()
        return changed

    def _furnished_far_away(self) -> list[int]:
        """Return the cells, with low furniture in a bare column that is far from all agents."""
        record, side = self.states[0], self.side
        cells: list[int] = record["cells"].tolist()
        taken = set(record["place"].tolist())
        agents = [(int(record["x"][a]), int(record["y"][a])) for a in range(self.config.agents)]
        for cell in np.flatnonzero(record["cells"] == FLOOR).tolist():
            far = min(max(abs(cell % side - x), abs(cell // side - y)) for x, y in agents)
            if far > SIDE + 1 and cell not in taken:
                cells[cell] = codes.LOW
                break
        return cells

    def state(self) -> NDArray[np.int32]:
        """Return t, width, height, agents, counts of columns, objects, then the fields of agents.

        After these come where objects lie, the reports that are heard in this step and, row by row
        of the envelope, what fills columns and which agents have looked at them.
        """
        record, slots, size = self.states[0], len(self.agents), self.envelope
        names = ("t", "width", "height", "agents", "open", "covered", "repeats", "goal", "found")
        counts = [record[name] for name in names]
        if self.config.in_house:
            sides = self.side, self.side
            grid = [
                record[name].reshape(sides)[: size.height, : size.width].ravel()
                for name in ("cells", "inspected")
            ]
        else:
            grid = [record["shelf"][: size.width], record["inspected"][: size.width]]
        parts = [
            counts,
            *(record[name][:slots] for name in _OF_AGENTS),
            record["place"][: size.objects],
            record["told"][: slots * state.ROOM],
            *grid,
        ]
        return np.concatenate(parts).astype(np.int32)


def _swapped(word: int, one: int, two: int) -> int:
    """Return a word with two of its bits swapped."""
    first, second = word >> one & 1, word >> two & 1
    return word & ~(1 << one | 1 << two) | first << two | second << one
