"""The game around a world: levels, score, stars and records; no terminal in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from piase_gym.cli.game.choices import Choices
from piase_gym.cli.game.reference import Reference, certificate, play_oracle
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result
from piase_gym.core.rng import MAX_SEED
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError

STARS = 3
"""Most stars of a level."""
CLOSE = 1.5
"""Times the best number of steps up to which a level is worth two stars."""


@dataclass
class Turn:
    """What came of the last command.

    Attributes:
        line: The command, as a line.
        outcome: Its outcome.
        reward: What it brought.
        feedback: What the world said about it.
        milestones: What was reached by it.
    """

    line: str
    outcome: Outcome
    reward: float
    feedback: str = ""
    milestones: tuple[str, ...] = ()


@dataclass
class Record:
    """The best that was done in a level: fewest steps to win, highest score, most stars."""

    steps: int | None = None
    score: float = float("-inf")
    stars: int = 0


@dataclass
class Game:
    """A person plays level after level; level n has the seed ``first + n - 1``.

    Attributes:
        make: Returns a new environment of a name, with the person's seat free.
        names: Worlds or ids; level after level takes the next one, over and over.
        first: The seed of level 1.
    """

    make: Callable[[str], GymEnv]
    names: tuple[str, ...]
    first: int
    level: int = 0
    steps: int = 0
    score: float = 0.0
    par: int | None = None
    turn: Turn | None = None
    result: Result | None = None
    reached: list[str] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    _references: dict[int, Reference | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the first world."""
        self._take(self.names[0])

    def _take(self, name: str) -> None:
        """Make a world and sit down in it."""
        self.task = name
        self.env = self.make(name)
        self.world = self.env.world
        self.me = self.env.number
        self.name = self.env.agent
        self.choices = Choices(self.world, self.me)

    @property
    def seed(self) -> int:
        """The seed of the level."""
        return self.first + self.level - 1

    @property
    def total_stars(self) -> int:
        """All stars so far."""
        return sum(record.stars for record in self.records.values())

    @property
    def won_levels(self) -> int:
        """How many levels were won."""
        return sum(record.steps is not None for record in self.records.values())

    def start(self, level: int) -> None:
        """Begin a level, or begin it again.

        Raises:
            ConfigError: If its seed would be too large.
        """
        self.level = level
        if self.seed > MAX_SEED:
            raise ConfigError(f"there are no levels beyond seed {MAX_SEED}")
        name = self.names[(level - 1) % len(self.names)]
        if name != self.task:
            self.env.close()
            self._take(name)
        self.env.reset(seed=self.seed)
        self.steps, self.score = 0, 0.0
        self.turn, self.result, self.reached = None, None, []
        self.par = certificate(self.world, self.me)

    def read(self, line: str) -> Command | InvalidAction:
        """Read what the person typed: a command's line, or the numbers of a box."""
        numbers = _numbers(line)
        if self.world.capabilities.continuous and numbers:
            box = self.world.action_box
            if len(numbers) == box.low.size:
                array = np.array(numbers, box.dtype).reshape(box.shape)
                return self.world.command_from_box(self.me, array.clip(box.low, box.high))
        return self.world.read(self.me, line)

    def refusal(self, command: Command | InvalidAction) -> str | None:
        """Say why a command cannot be given now; a person is told so at no cost."""
        if isinstance(command, InvalidAction):
            return command.message
        plan = self.world.decode(self.me, command)
        return plan.message if isinstance(plan, InvalidAction) else None

    def act(self, command: Command) -> Turn:
        """Carry out a command, and keep the score."""
        _, reward, terminated, truncated, info = self.env.step(command)
        self.steps += 1
        self.score += float(reward)
        milestones = tuple(info.get("milestones", ()))
        self.reached += [name for name in milestones if name not in self.reached]
        self.turn = Turn(
            self.world.write(command),
            info["outcome"],
            float(reward),
            str(info.get("feedback") or ""),
            milestones,
        )
        if terminated or truncated:
            self.result = Result(info["result"])
            self._keep_record()
        return self.turn

    def reference(self) -> Reference | None:
        """Return what the oracle makes of this level; it is asked once a level."""
        if self.seed not in self._references:
            self._references[self.seed] = play_oracle(self.make(self.task), self.seed)
        return self._references[self.seed]

    def best_steps(self) -> int | None:
        """Return the fewest steps known to win: the certificate, else the oracle's own."""
        if self.par is not None:
            return self.par
        reference = self.reference()
        return reference.steps if reference is not None and reference.won else None

    def stars(self) -> int:
        """Return what the finished level is worth: three stars for the best, none for a loss."""
        if self.result is not Result.WON:
            return 0
        best = self.best_steps()
        if best is None or self.steps <= best:
            return STARS
        return STARS - 1 if self.steps <= CLOSE * best else 1

    def _keep_record(self) -> None:
        """Keep what was best in this level."""
        record = self.records.setdefault(self.level, Record())
        record.score = max(record.score, self.score)
        record.stars = max(record.stars, self.stars())
        if self.result is Result.WON:
            record.steps = min(record.steps or self.steps, self.steps)

    def close(self) -> None:
        """Close the world."""
        self.env.close()


def _numbers(line: str) -> list[float]:
    """Return the numbers of a line that has nothing else, or nothing."""
    try:
        values = [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return []
    return values if all(abs(value) < float("inf") for value in values) else []


def sentence(game: Game) -> str:
    """Say how the finished level went, against the oracle where there is one."""
    assert game.result is not None
    steps = count(game.steps, "step")
    best, reference = game.best_steps(), game.reference()
    if game.result is Result.WON:
        said = f"You won in {steps}"
        if best is None:
            said += "!"
        elif game.steps < best:
            said += f"; the oracle needed {best}. You beat it!"
        elif game.steps == best and game.par is not None:
            said += "; nobody can do it in fewer. Perfect!"
        elif game.steps == best:
            said += ", as the oracle did. Well played!"
        else:
            said += f"; {best} would do."
    else:
        said = {
            Result.LOST: f"You lost after {steps}.",
            Result.DRAWN: f"A draw after {steps}.",
            Result.ENDED: f"It is over after {steps}.",
        }[game.result]
        if best is not None:
            said += f" It can be won in {best}."
    said += f" Your score: {game.score:.2f}"
    if reference is not None:
        said += f", the oracle's: {reference.score:.2f}"
    return said + "."


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 step``, ``2 steps``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def farewell(game: Game) -> str:
    """Sum up a session in one line."""
    if not game.records:
        return "No level finished. See you again!"
    level, record = max(game.records.items(), key=lambda item: (item[1].score, -item[0]))
    played, stars = len(game.records), STARS * len(game.records)
    return (
        f"{game.won_levels} of {count(played, 'level')} won, {game.total_stars} of {stars} stars; "
        f"best score {record.score:.2f} in level {level}."
    )


__all__: list[Any] = ["STARS", "Game", "Record", "Turn", "count", "farewell", "sentence"]
