"""The matrix games, as a World: their kernels behind the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.compiled.stepping import Kernels
from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result, Verb
from piase_gym.core.last_step import LastStep
from piase_gym.core.objects import Objects
from piase_gym.core.rng import StreamId
from piase_gym.core.script.observables import Observable
from piase_gym.core.world import Act, Manual, StepResult
from piase_gym.worlds.array_world import Modules
from piase_gym.worlds.channel.config import SPOKEN
from piase_gym.worlds.channel.symbols import message_params, said_with
from piase_gym.worlds.social_dilemma import objects, scripting
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import RESULTS
from piase_gym.worlds.social_dilemma.games import DEFECT, GAMES_BY_NAME, ROLES, UNIT
from piase_gym.worlds.social_dilemma.manual import matrix_manual
from piase_gym.worlds.social_dilemma.matrix import facts, pictures, state, text
from piase_gym.worlds.social_dilemma.matrix.facts import COIN_SIDES, MatrixFacts
from piase_gym.worlds.social_dilemma.matrix.rules import KERNELS
from piase_gym.worlds.social_dilemma.metrics import matrix_measures
from piase_gym.worlds.social_dilemma.world import SocialDilemma

OUTCOMES = (Outcome.OK, *(outcome for outcome in ALL_OUTCOMES if outcome is not Outcome.FAILED))
"""The outcome of every event of `matrix.state`."""
_SILENCE = ("say nothing", "nothing", "silence", "stay silent")
_OF_AGENTS = "alive fate marks said cooperated".split()
_SYNONYMS = (("c",), ("d", "wait", "noop"))
_OTHERWISE = {"defected": 1, "cooperated": 0, "all_defected": 1, "all_cooperated": 0}


class MatrixGames(SocialDilemma[MatrixFacts]):
    """Everybody chooses at once, and a table says what everybody gets; see `SocialDilemma`."""

    milestones: ClassVar[tuple[str, ...]] = state.MILESTONES
    measures: ClassVar[tuple[str, ...]] = ("cooperation_rate", "efficiency", "equality")
    canonical: ClassVar[Sequence[str]] = state.CANONICAL
    outcome_of: ClassVar[Sequence[Outcome]] = OUTCOMES
    result_of: ClassVar[Sequence[Result]] = RESULTS
    stream_ids: ClassVar[Sequence[StreamId]] = (StreamId.DYNAMICS,)
    vector_type: ClassVar[type[Any]] = np.float32
    kernels: Kernels = KERNELS
    modules: ClassVar[Modules] = Modules(state, facts, text, pictures, facts.form_of, matrix_manual)
    observables: ClassVar[Mapping[str, Observable]] = scripting.MATRIX

    # -- what can be said and seen --------------------------------------------------------

    def make_grammar(self) -> tuple[Verb, ...]:
        """Return the choices by their names in texts; with symbols, ``... saying <symbol>``."""
        game, named = GAMES_BY_NAME[self.config.game], self.config.words
        meant = game.cooperate, game.defect
        rows = zip(named, meant, ROLES, game.names, ("a", "b"), _SYNONYMS, strict=True)
        message = message_params(self.envelope, self.agents)
        verbs = [
            Verb(name, meaning, message, tuple(sorted({*more, *also} - {name})))
            for name, meaning, *more, also in rows
        ]
        if message:
            symbol = replace(message[0], before="", optional=False)
            meaning = "say a symbol, while it is time to talk"
            verbs.append(Verb("say", meaning, (symbol, *message[1:])))
        return tuple(verbs)

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line; choices are commands by their roles."""
        if isinstance(line, str) and line.strip(" .").lower() in _SILENCE:
            return self._symbol_command({}) if self._talks else self._too_late
        return self._by_role(super().read(agent, line))

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command; choices may have any of their names."""
        return self._by_role(super().check(agent, command))

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now, under any of its names."""
        named = () if "message" in command.parameters else (*self.config.words, "say")
        found = self._by_role(command) if command.verb in named else command
        return isinstance(found, Command) and super().legal(agent, found)

    @property
    def _talks(self) -> bool:
        """Whether this is a time to talk."""
        return bool(self.states["talk"][0])

    @property
    def _too_late(self) -> InvalidAction:
        """What is made of talk when it is time to choose."""
        how = "; a symbol is said with a choice, after the word saying" * bool(self.config.symbols)
        return InvalidAction(Outcome.UNPARSABLE, f"It is time to choose{how}.")

    def _symbol_command(self, parameters: Mapping[str, Any]) -> Command:
        """Return the command that says a symbol, whose choice does not count."""
        return Command(ROLES[DEFECT], parameters)

    def _by_role(self, found: Command | InvalidAction) -> Command | InvalidAction:
        """Return a command under its verb as data."""
        if not isinstance(found, Command):
            return found
        if "message" in found.parameters:  # it is said in words
            return found
        if found.verb == "say":
            fits = self._symbol_command(found.parameters)
            return fits if self._talks else self._too_late
        return Command(ROLES[self.config.words.index(found.verb)], found.parameters)

    def write(self, command: Command) -> str:
        """Return the line of a choice, by its name in texts."""
        if command.verb in ROLES:
            name = self.config.words[ROLES.index(command.verb)]
            command = Command(name, command.parameters)
        return super().write(command)

    def describe_step(self, acts: Sequence[Act], result: StepResult) -> list[LastStep | None]:
        """Describe milestones by the names of choices, and steps of talk by what was said."""
        return [last and self._by_names(last) for last in super().describe_step(acts, result)]

    def _by_names(self, last: LastStep) -> LastStep:
        """Return the line of the last step in the words of the text."""
        line = last.command
        in_words = (line or "").startswith(SPOKEN)
        if line and not in_words and self.states["talk"][0] < self.config.talk:  # a step of talk
            line = f"say {line.rpartition(' saying ')[2] if ' saying ' in line else 'nothing'}"
        reached = tuple([self._called(name) for name in last.milestones if line])
        if line == last.command and reached == last.milestones:
            return last
        return replace(last, command=line, milestones=reached)

    def _called(self, milestone: str) -> str:
        """Return the name of a milestone in texts; other milestones, of scripts, keep theirs."""
        if milestone not in _OTHERWISE:
            return milestone
        everybody = "all " if milestone.startswith("all_") else ""
        return f"{everybody}chose {self.config.words[_OTHERWISE[milestone]]}"

    def make_commands(self) -> tuple[Command, ...]:
        """Return the command of every index: 2 * symbol + choice."""
        choices = [Command("cooperate"), Command("defect")]
        return said_with(choices, self.envelope, self.agents)

    @property
    def noop(self) -> Command:
        """``defect``."""
        return Command("defect")

    @property
    def state_space(self) -> Box:
        """Every non-string fact of the world as float64; see `state`."""
        return Box(-(2.0**62), 2.0**62, (self.state().size,), np.float64)

    # -- knowledge ------------------------------------------------------------------------

    def capture(self) -> Sequence[Any]:
        """Keep vectors, exact scores and hints: together they hold every fact."""
        scores = self._scores()
        return [
            (row.copy(), scores[agent], self.hints[agent])
            for agent, row in enumerate(self._obs_rows)
        ]

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return each agent's vector, a fresh array each."""
        return super().vectors() if kept is None else [entry[0] for entry in kept]

    def facts(self, agent: int) -> MatrixFacts:
        """Return what the agent may know now."""
        score = self._scores()[agent]
        vector = self._obs[agent]
        return facts.facts_of(vector, agent, score, self.form, self.hints[agent])

    @staticmethod
    def to_text(facts: MatrixFacts, config: SocialDilemmaConfig) -> str:
        """Return the prose of the facts."""
        return text.text_of(facts, config)

    def _scores(self) -> list[float]:
        """Return everybody's score."""
        units: list[int] = self.states["score"][0, : len(self.agents)].tolist()
        return [score / UNIT for score in units]

    def position(self, agent: int) -> None:
        """Return ``None``: nobody is anywhere."""

    def objects(self) -> Objects:
        """Return the game, and agents with scores and choices."""
        names = self.agents[: self.config.agents]
        return objects.of_matrix(self.states[0], names, self._scores())

    def measure(self, agent: int) -> Mapping[str, float]:
        """Return how often the agent cooperated, and how efficient and equal the game was."""
        state, count = self.states[0], self.config.agents
        return matrix_measures(
            self.config,
            int(state["played"]),
            state["cooperated"][:count].tolist(),
            self._scores()[:count],
            agent,
        )

    def unknown_to(self, agent: int) -> dict[str, Any]:
        """Return changed scores of the others, which the agent is not told."""
        score = self.states["score"][0].tolist()
        for other in range(self.config.agents):
            if other != agent:
                score[other] += UNIT
        return {"score": score}

    def state(self) -> NDArray[np.float64]:
        """Return the step, rounds played, steps of talk and agents, then what is known of each.

        That is alive, fate, marks, symbol said, cooperations and score; then, by agent, whether it
        cooperated in each of the last rounds of the envelope's memory, newest first; then, in the
        same order, whether its choice could not be read; then, with a coin, what it shows.
        """
        record, slots = self.states[0], len(self.agents)
        shifts = np.arange(self.envelope.memory, dtype=np.uint64)
        bits = np.concatenate([record["past"][:slots], record["unread"][:slots]])
        past = (bits[:, None] >> shifts) & np.uint64(1)
        parts = [
            [record[name] for name in ("t", "played", "talk", "agents")],
            *(record[name][:slots] for name in _OF_AGENTS),
            self._scores(),
            past.ravel(),
            self._coin(),
        ]
        return np.concatenate(parts).astype(np.float64)

    def _coin(self) -> list[int]:
        """Return what the coin shows, 1 for heads and 2 for tails, where there can be one."""
        return [COIN_SIDES.index(self.facts(0).coin)] * self.envelope.coin

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return replace(
            super().manual,
            milestones=tuple(map(self._called, self.milestones)),
            unused=() if self.config.talk else ("say",),
        )

    # -- pictures -------------------------------------------------------------------------

    def _scene(self) -> pictures.Match:
        """Describe the state for the painters."""
        return pictures.match_of(self.states[0], self.config, self.agents)
