"""WordCraft, as a World: its kernels behind the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result, Verb
from piase_gym.core.difficulty import DifficultyParameter
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.things import ThingPlaces
from piase_gym.core.world import Act, StepResult
from piase_gym.worlds.array_world import ArrayWorld, Batch, Modules
from piase_gym.worlds.batch_arrays import bytes_of, places_of
from piase_gym.worlds.word_craft import actions, facts, scripting, state
from piase_gym.worlds.word_craft.config import WordCraftConfig, WordCraftEnvelope
from piase_gym.worlds.word_craft.curriculum import DIFFICULTY_PARAMETERS
from piase_gym.worlds.word_craft.facts import Kept, WordCraftFacts
from piase_gym.worlds.word_craft.levels.book import read_book
from piase_gym.worlds.word_craft.manual import manual
from piase_gym.worlds.word_craft.objects import TABLE, objects
from piase_gym.worlds.word_craft.observe import pictures, text
from piase_gym.worlds.word_craft.rules.step import KERNELS, PAIRS
from piase_gym.worlds.word_craft.state import Arrays

OUTCOMES = (
    Outcome.OK,
    *[Outcome.OK] * 4,
    *[Outcome.FAILED] * 2,
    *[outcome for outcome in ALL_OUTCOMES if outcome not in (Outcome.OK, Outcome.FAILED)],
)
"""The outcome of every event of `state`."""


class WordBatch(Batch):
    """Many environments, whose tables hold the addresses of the arrays of their books."""

    pointed = True

    def __getstate__(self) -> dict[str, Any]:
        """Leave addresses behind."""
        return {**super().__getstate__(), "pointed": False}


class WordCraft(ArrayWorld[WordCraftConfig, WordCraftFacts]):
    """Things are combined to make others, until the goal is made: common sense as a game.

    ## Description

    After WordCraft (Jiang et al., 2020). Some things lie on a table. Combining two of them, or one
    with itself, may make others, which then lie on the table too; nothing is used up. A task names
    a goal and lays out what it takes, with `distractors` that are no use. A task of `depth` d takes
    d recipes: d - 1 things have to be made on the way.

    The book that ships with the package has {entities} entities and {recipes} recipes. With
    `recipes` a JSON file in the original's schema is played instead, such as its own
    ``alchemy2.json``. See [recipe books](../wordcraft.md).

    Tasks up to depth 3 are listed, and drawn with equal chances; deeper ones are grown from those.
    With `train_ratio` below 1 a part is held out, and `tasks="test"` plays it: tasks with a goal
    (`split="by_goal"`) or a recipe (`"by_recipe"`) that does not occur in training, or tasks that
    do not occur there themselves (`"by_task"`). The original's `"by_goal_train_terminals"` takes
    goals that make nothing else into training first; `"by_recipe_train_all_goals"` trains on at
    least one recipe with each entity, and `"debug"` holds nothing out.

    Several agents share the table and the goal; with `trade` each has a table of its own, what the
    task takes is dealt out, and things can be given away.

    The names of the original's arguments are accepted: `data_path`, `max_depth`, `num_distractors`,
    `max_mix_steps`, `feature_type`, `random_feature_size`.

    ## Actions

    With S slots on a table:

    | index | command | effect |
    |---|---|---|
    | 0 to S-1 | `pick 1` to `pick S`, or `pick fire` | the second is combined with the first |
    | with trade: S + S * agent + slot | `give 2 to agent_1` | the thing leaves the giver's table |
    | the last | `wait` | nothing |
    | none | `combine fire and water` | both in one step; what was held is put back |

    Choosing an empty slot is illegal, and so is picking when no mixes are left. A pair that makes
    nothing, or nothing new, fails.

    ## Observations

    The facts hold the goal, what lies on the table by slot, what is held, what was combined last
    and what it makes, the mixes and steps left, and what is seen of the others. The vector is
    float32:

    | part | numbers |
    |---|---|
    | own number, agents, mixes left, steps left | 4 |
    | goal, and the two things that were combined last | 3 x F |
    | what each agent holds | agents x F |
    | what lies on the table (with trade, on each agent's) | slots x F |
    | hashed hint | 8 |

    F numbers stand for a thing: with `features="index"` its number from 1, with `"one_hot"` a flag
    for each thing of the book, with `"random"` `feature_size` numbers between -1 and 1, with
    `"embeddings"` the 384 of a sentence encoder (the extra `semantic`). `shuffle_features` shuffles
    the features among things. Zeros stand for nothing. The text states the same facts in prose.

    ## Rewards

    | what was made | reward |
    |---|---|
    | the goal | +1, for everybody |
    | something needed on the way, for the first time | +1; 0 without `subgoal_rewards` |
    | the same again | 0 |
    | nothing, or nothing that is needed | -0.1 |

    The amounts are the fields of `rewards`. With `evaluation` only the goal is rewarded. Where a
    pair makes several things, the best of these counts.

    ## Start and end

    When the goal is made, all agents have won and are terminated. When none may combine any more
    (`mixes` each, by default `depth`), or after `max_steps` (by default twice the mixes, with
    `trade` more), all are truncated and have lost. Milestones: `made_something`,
    `made_what_is_needed`, `made_the_goal`, `gave`.

    ## Unlike the original

    A pair that makes several things makes all of them, while the original keeps only the last, so
    every task can be done. A thing lies on a table at most once. Choosing an empty slot is illegal,
    while the original takes the last thing of the book. Nothing depends on the order of hashes.
    `by_goal` splits only the things that can be made, not also those that cannot, and
    `by_goal_train_terminals` trains on the goals that make nothing else; in the original these are
    on neither side.

    ## Scenarios and curricula

    `bake_bread` and `market_day` are scenarios (`piase run NAME`). The curriculum `apprentice`
    leads from two recipes of a pantry to tasks of depth 4 (`piase curriculum run apprentice`);
    `pantry` stays in a pantry of 40 things, whose recipes a network can learn.

    ## Versions

    - v0: first version.
    - v1: other texts; records of small tables are smaller.
    - v2: reasons begin as sentences do.
    """

    name: ClassVar[str] = "WordCraft"
    version: ClassVar[int] = 2
    observables: ClassVar[Mapping[str, Observable]] = scripting.OBSERVABLES
    picture_reveals: ClassVar[bool] = True
    tells_limits: ClassVar[bool] = True
    milestones: ClassVar[tuple[str, ...]] = state.MILESTONES
    live_fields: ClassVar[tuple[str, ...]] = tuple(
        "max_steps shared_reward subgoal_rewards evaluation rewards".split()
    )
    difficulty_parameters: ClassVar[tuple[DifficultyParameter, ...]] = DIFFICULTY_PARAMETERS
    perception_types: ClassVar[Mapping[str, str]] = {
        "goal": "string",
        "inventory": "list[string]",
        "holding": "string | None",
        "combined": "list[string] | None",
        "made": "list[string]",
        "mixes_left": "integer",
        "steps_left": "integer",
    }
    canonical: ClassVar[Sequence[str]] = state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = OUTCOMES
    result_of: ClassVar[Sequence[Result]] = (Result.ENDED, Result.WON, Result.LOST)
    vector_type: ClassVar[type[Any]] = np.float32
    batch_type: ClassVar[type[Batch]] = WordBatch
    kernels: Kernels = KERNELS
    modules: ClassVar[Modules] = Modules(state, facts, text, pictures, facts.form_of, manual)

    envelope: WordCraftEnvelope
    form: facts.Form

    def __init__(self, config: WordCraftConfig) -> None:
        """Read the book and start once, to check that a task can be drawn.

        Raises:
            ConfigError: If the book cannot be read, or has no such task.
        """
        self._arrays: dict[int, Arrays] = {}
        super().__init__(config)

    # -- memory ---------------------------------------------------------------------------

    def new_table(self, config: WordCraftConfig) -> NDArray[Any]:
        """Return the table of a config, whose arrays are kept as long as this world."""
        arrays = state.arrays_of(config.pool_key, state.feature_key(config))
        known = [number for number, kept in self._arrays.items() if kept is arrays]
        number = known[0] if known else len(self._arrays)
        self._arrays[number] = arrays
        return state.new_table(config, self.envelope, arrays, number)

    def _point(self, tables: NDArray[Any]) -> None:
        """Set the addresses in tables to those of their arrays in this process."""
        for table in tables:
            self._arrays[int(table["arrays"])].point(table)

    def _bind(self) -> None:
        """Keep a view of all numbers of the state, and the names of the book."""
        super()._bind()
        self._point(self.tables)
        (place,) = places_of(self.states.dtype, state.NUMBERS)
        self._numbers = bytes_of(self.states)[0, place].view(np.int32)[: state.shown(self.envelope)]

    def __getstate__(self) -> dict[str, Any]:
        """Leave views behind."""
        kept = super().__getstate__()
        del kept["_numbers"]
        return kept

    def _records(self, batch: Batch) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return states and tables of a batch as kernels take them."""
        if isinstance(batch, WordBatch) and not batch.pointed:
            self._point(batch.tables)
            batch.pointed = True
        return super()._records(batch)

    def explain_fault(self, fault: int, config: WordCraftConfig) -> str:
        """Say that no task could be drawn."""
        return (
            f"{self.name}: no task of depth {config.depth} was found in tasks={config.tasks!r} of "
            f"split={config.split!r}; ask for less depth"
        )

    # -- what can be said and seen --------------------------------------------------------

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return ``combine``, ``pick`` and ``wait``; with trade also ``give``."""
        return actions.grammar_of(self.envelope, self.agents)

    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index."""
        return actions.commands_of(self.envelope, self.agents)

    @property
    def noop(self) -> Command:
        """``wait``."""
        return actions.WAIT

    @property
    def thing_places(self) -> ThingPlaces | None:
        """Goal, things combined, things held and tables, with `features="index"`."""
        return facts.thing_places(self.config, self.envelope)

    @property
    def state_space(self) -> Box:
        """Every fact of the world as float64; see `state`."""
        return Box(0.0, 2.0**31, self.state().shape, np.float64)

    # -- commands that name things --------------------------------------------------------

    def _slots_here(self, agent: int) -> dict[str, int]:
        """Return the slots, from 1, of what lies on an agent's table, by lower-case names."""
        row = self.table_of(agent)
        names = self.form.names
        return {str(names[thing]).lower(): slot for slot, thing in enumerate(row, 1) if thing}

    def table_of(self, agent: int) -> list[int]:
        """Return what lies on an agent's table, by slot."""
        return self.form.table(self._numbers.tolist(), agent)

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a text action; things may be named, or numbered by their slots."""
        named = actions.read_names(line, self._slots_here(agent), self.form.by_name)
        if named is None:
            return super().read(agent, line)
        return self.check(agent, named) if isinstance(named, Command) else named

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data; names become those of the book."""
        found = super().check(agent, command)
        if not isinstance(found, Command) or found.verb != "combine":
            return found
        names = []
        for key in ("first", "second"):
            given = found.parameters[key]
            name = actions.name_read(given, self.form.by_name)
            if not name:
                return actions.missing(given, list(self._slots_here(agent)))
            names.append(self.form.names[self.form.by_name[name]])
        return Command("combine", dict(zip(("first", "second"), names, strict=True)))

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now; pairs to combine have no index."""
        if command.verb != "combine":
            return super().legal(agent, command)
        used = int(self.states["used"][0, agent])
        here = self._slots_here(agent)
        able = self.alive[agent] and used < self.config.allowed_mixes
        return able and all(str(name).lower() in here for name in command.parameters.values())

    def _step_decoded(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step; commands that cannot be carried out are explained."""
        return super()._step_decoded([self._explained(k, act) for k, act in enumerate(acts)])

    def _explained(self, agent: int, act: Act) -> Act:
        """Return an act, or an invalid action that says why it cannot be carried out now."""
        found = self.check(agent, act) if isinstance(act, Command) else act
        if not isinstance(found, Command) or self.legal(agent, found) or not self.alive[agent]:
            return act
        here = self._slots_here(agent)
        if found.verb == "combine":
            lacking = [str(n) for n in found.parameters.values() if str(n).lower() not in here]
            why = f"there is no {lacking[0]} on your table" if lacking else "no mixes are left"
        elif found.parameters.get("slot") not in here.values():
            why = f"nothing lies in place {found.parameters.get('slot')}"
        elif found.verb == "pick":
            why = "no mixes are left"
        else:
            me = found.parameters.get("agent_id") == self.agents[agent]
            why = "that is you" if me else "nobody of that name has a table"
        return InvalidAction(Outcome.ILLEGAL, f"You cannot {self.write(found)}: {why}.")

    def _code(self, agent: int, act: Act) -> int:
        """Translate an act into the number that the kernel takes; pairs have numbers, too."""
        if isinstance(act, InvalidAction) and act.outcome is Outcome.ILLEGAL:
            return PAIRS
        if not isinstance(act, Command) or act.verb != "combine":
            return super()._code(agent, act)
        here = self._slots_here(agent)
        slots = [here.get(str(name).lower()) for name in act.parameters.values()]
        if None in slots:
            return PAIRS
        one, two = (int(slot or 0) - 1 for slot in slots)
        return PAIRS - 1 - (one * self.envelope.slots + two)

    # -- knowledge ------------------------------------------------------------------------

    def capture(self) -> Sequence[Kept]:
        """Keep all numbers and each agent's hint: every fact follows from them."""
        numbers: list[int] = self._numbers.tolist()
        kept: list[Kept] = []
        for hint in self.hints:
            kept.append((numbers, hint))
        return kept

    def vectors(self, kept: Sequence[Kept] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent, each in a fresh array."""
        if kept is None or kept == self.capture():
            return super().vectors()
        return [self.vector(self.form.facts(entry, agent)) for agent, entry in enumerate(kept)]

    def facts(self, agent: int) -> WordCraftFacts:
        """Return what the agent may know now."""
        return self.form.facts((self._numbers.tolist(), self.hints[agent]), agent)

    @staticmethod
    def to_text(facts: WordCraftFacts, config: WordCraftConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts)

    def perceived(self, facts: WordCraftFacts) -> Mapping[str, Any]:
        """Return the pair that was combined last, with what it makes."""
        if facts.combined is None:
            return {}
        return {" and ".join(sorted(facts.combined)): ", ".join(facts.made) or "nothing"}

    def position(self, agent: int) -> None:
        """Return ``None``: nobody is anywhere."""

    def surroundings(self, facts: WordCraftFacts) -> Surroundings:
        """Return facts in the words of the documents: what lies on the table is the inventory."""
        mine = tuple(thing for thing in facts.table if thing)
        others = [Thing(other.name, "agent", {"holding": other.holding}) for other in facts.others]
        seen = [
            Thing(thing, properties={"on_table_of": other.name})
            for other in facts.others
            for thing in other.table
            if thing
        ]
        perceptions = {
            "goal": facts.goal,
            "inventory": list(mine),
            "holding": facts.holding,
            "combined": None if facts.combined is None else list(facts.combined),
            "made": list(facts.made),
            "mixes_left": facts.mixes_left,
            "steps_left": facts.steps_left,
        }
        return Surroundings(objects=(*others, *seen), inventory=mine, perceptions=perceptions)

    def objects(self) -> Objects:
        """Return agents, and the things on the tables."""
        record, count = self.states[0], self.config.agents
        hands = [self.form.names[thing] for thing in record["hand"][:count].tolist()]
        used, alive = record["used"][:count].tolist(), self.alive[:count]
        tables = range(count if self.config.trade else 1)
        things = [self.form.things(self.table_of(k)) for k in tables]
        return objects(things, self.agents[:count], list(zip(hands, used, alive, strict=True)))

    def in_sight(self, agent: int, objects: Objects) -> Collection[str]:
        """Return the agent, and the things on its table: its own, or the shared one."""
        mine = (self.agents[agent], TABLE)
        return {
            name for name, found in objects.items() if name == mine[0] or found.get("place") in mine
        }

    def state(self) -> NDArray[np.float64]:
        """Return all numbers of the state, then the agents' ``alive``, ``fate`` and ``marks``."""
        record, slots = self.states[0], len(self.agents)
        parts = [self._numbers, *(record[name][:slots] for name in ("alive", "fate", "marks"))]
        return np.concatenate(parts).astype(np.float64)

    # -- pictures -------------------------------------------------------------------------

    def _scene(self) -> pictures.Scene:
        """Describe the state for the painters."""
        record, names, count = self.states[0], self.form.names, self.config.agents
        depth = int(record["depth"])
        rows = [record[name][:depth].tolist() for name in ("chain", "first", "second")]
        recipes = [tuple(str(names[thing]) for thing in row) for row in zip(*rows, strict=True)]
        made = {recipes[k][0] for k in range(depth) if int(record["made"]) >> k & 1}
        tables = [self.form.things(self.table_of(k)) for k in range(count)]
        hands = [names[thing] for thing in record["hand"][:count].tolist()]
        left = (self.config.allowed_mixes - record["used"][:count]).tolist()
        shown = tables if self.config.trade else tables[:1]
        agents, slots = self.agents[:count], self.envelope.slots
        return pictures.Scene(recipes, made, shown, hands, left, agents, slots)


_OWN = read_book()
WordCraft.__doc__ = (
    (WordCraft.__doc__ or "")
    .replace("{entities}", str(len(_OWN.entities)))
    .replace("{recipes}", str(len(_OWN.recipes)))
)
