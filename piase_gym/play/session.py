"""The game around a world: commands and their keys, levels, score, stars and records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from piase_gym.agents import OracleAgent, Percept
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result
from piase_gym.core.rng import MAX_SEED
from piase_gym.core.world import World
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError, PiaseError
from piase_gym.registry import load, world_spec
from piase_gym.worlds.texts.wording import counted

STARS = 3
"""Most stars of a level."""
CLOSE = 1.5
"""Times the best number of steps up to which a level is worth two stars."""


@dataclass
class CommandResult:
    """The result of the last command.

    Attributes:
        line: The command, as a line.
        outcome: Its outcome.
        reward: Its reward.
        feedback: What the world said about it.
        milestones: The milestones that it reached.
        steps: Steps of the level after it.
    """

    line: str
    outcome: Outcome
    reward: float
    feedback: str = ""
    milestones: tuple[str, ...] = ()
    steps: int = 0


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
    turn: CommandResult | None = None
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
        self.me = self.env.agent_index
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
        if self.first + level - 1 > MAX_SEED:
            raise ConfigError(f"there are no levels beyond seed {MAX_SEED}")
        self.level = level
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

    def act(self, command: Command | InvalidAction) -> CommandResult:
        """Carry out what an agent answered, and keep the score."""
        _, reward, terminated, truncated, info = self.env.step(command)
        self.steps = self.env.runner.steps
        self.score += float(reward)
        last = self.world.last_steps()[self.me]  # in the words of the agent's text
        milestones = last.milestones if last else tuple(info.get("milestones", ()))
        self.reached += [name for name in milestones if name not in self.reached]
        self.turn = CommandResult(
            (last and last.command)
            or ("" if isinstance(command, InvalidAction) else self.world.write(command)),
            info["outcome"],
            float(reward),
            str(info.get("feedback") or ""),
            milestones,
            self.steps,
        )
        if terminated or truncated:
            self.result = Result(info["result"])
            self._keep_record()
        return self.turn

    def reference(self) -> Reference | None:
        """Return how the oracle plays this level; it plays each level once."""
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
        """Keep the best results of this level."""
        record = self.records.setdefault(self.level, Record())
        record.score = max(record.score, self.score)
        record.stars = max(record.stars, self.stars())
        if self.result is Result.WON:
            record.steps = min(record.steps or self.steps, self.steps)

    def close(self) -> None:
        """Close the world."""
        self.env.close()


def _numbers(line: str) -> list[float]:
    """Return the numbers of a line that consists of numbers, else nothing."""
    try:
        values = [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return []
    return values if all(abs(value) < float("inf") for value in values) else []


def sentence(game: Game) -> str:
    """Say how the finished level went, against the oracle where there is one."""
    assert game.result is not None
    steps = counted(game.steps, "step")
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


def farewell(game: Game) -> str:
    """Sum up a session in one line."""
    if not game.records:
        return "No level finished. See you again!"
    level, record = max(game.records.items(), key=lambda item: (item[1].score, -item[0]))
    played, stars = len(game.records), STARS * len(game.records)
    return (
        f"{game.won_levels} of {counted(played, 'level')} won, "
        f"{game.total_stars} of {stars} stars; best score {record.score:.2f} in level {level}."
    )


WORDS = {
    "up": ("up", "north", "forward"),
    "down": ("down", "south", "backward", "back"),
    "left": ("left", "west"),
    "right": ("right", "east"),
}
"""For each arrow key, the words of a command that it stands for, the likeliest first."""
LETTERS = {"w": "up", "s": "down", "a": "left", "d": "right"}
ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
SPARE = "1234567890bcefgijklmopuvxyz"
"""Keys for other commands; ``h``, ``n``, ``q``, ``r`` and ``t`` are the game's own."""
MAX_TABLE = 64
"""Size of the largest table of indices that is read as a whole."""


@dataclass(frozen=True)
class Choice:
    """A command that the person can give with one key.

    Attributes:
        key: ``up``, ``down``, ``left``, ``right``, one character, or nothing if keys ran out.
        command: The command.
        line: The command as a line.
        legal: Whether it is legal now.
    """

    key: str
    command: Command
    line: str
    legal: bool

    @property
    def label(self) -> str:
        """The key as it is shown."""
        return ARROWS.get(self.key, self.key)


class Choices:
    """Lists what one agent can do.

    Attributes:
        fixed: Whether indices mean the same at every step; then keys do, too.
    """

    def __init__(self, world: World[Any, Any], agent: int) -> None:
        """Take the world and one of its agents."""
        self.world = world
        self.agent = agent
        self._table: list[Command] | None = None
        self.fixed = world.capabilities.discrete and world.num_actions <= MAX_TABLE

    def now(self) -> list[Choice]:
        """Return the choices of this step: directions first, then the others in their order."""
        legal = self.world.admissible(self.agent)
        commands = self._whole_table() or legal
        keys = dict(_directions(commands, legal))
        taken = set(map(id, keys.values()))
        rows = list(keys.items())
        others = [command for command in commands if id(command) not in taken]
        spare = [*SPARE[: len(others)], *[""] * (len(others) - len(SPARE))]
        rows += zip(spare, others, strict=True)
        return [Choice(key, c, self.world.write(c), c in legal) for key, c in rows]

    def _whole_table(self) -> list[Command]:
        """Return what all indices stand for, or nothing if that depends on the state."""
        if not self.fixed:
            return []
        found = [self.world.command(self.agent, i) for i in range(self.world.num_actions)]
        table = [command for command in found if not isinstance(command, InvalidAction)]
        if len(table) < len(found) or self._table not in (None, table):
            self.fixed = False
            return []
        self._table = table
        return table


def _directions(commands: list[Command], legal: list[Command]) -> list[tuple[str, Command]]:
    """Return the arrow keys and the commands that they stand for."""
    rows = []
    for key, words in WORDS.items():
        found = [c for word in words for c in commands if _way(c) == word]
        if found:
            rows.append((key, next((c for c in found if c in legal), found[0])))
    return rows


def _way(command: Command) -> str:
    """Return the direction in which a command goes, or nothing."""
    values = list(command.parameters.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return "" if values else command.verb.removeprefix("move_").removeprefix("turn_")


def find(choices: list[Choice], key: str) -> Choice | None:
    """Return the choice that a key stands for; ``w``, ``a``, ``s``, ``d`` are arrows too."""
    key = LETTERS.get(key, key)
    return next((choice for choice in choices if choice.key == key and key), None)


PATIENCE = 500
"""Most steps of an oracle's episode that a person waits for."""


class Reference(NamedTuple):
    """An episode that the oracle played in the person's place.

    Attributes:
        won: Whether it won.
        steps: How many steps it took.
        score: The sum of its rewards.
    """

    won: bool
    steps: int
    score: float


def certificate(world: World[Any, Any], agent: int) -> int | None:
    """Return the fewest steps in which an agent can win, where the oracle certifies it."""
    spec = world_spec(world.name)
    if spec.oracle is None:
        return None
    certify = getattr(load(spec.oracle, spec)(world), "certificate", None)
    if certify is None:
        return None
    try:
        steps = certify(agent)
    except PiaseError:
        return None
    return None if steps is None else int(steps)


def play_oracle(env: GymEnv, seed: int) -> Reference | None:
    """Return how the oracle plays a level with the same partners, or None if it cannot.

    It does not play together with a language model, whose calls would double.

    Args:
        env: An environment like the person's; it is closed afterwards.
        seed: The level's seed.
    """
    try:
        waits = any(partner.waits for partner in env.runner.partners.values())
        if waits or world_spec(env.world.name).oracle is None:
            return None
        env.reset(seed=seed)
        agent = OracleAgent(env.agent)
        agent.reset(seed)
        score = 0.0
        for step in range(PATIENCE):
            agent.perceive(Percept(env.world, env.agent_index, step))
            act = decode_answer(env.world, env.agent_index, agent.act())
            command = env.world.command(env.agent_index, act) if isinstance(act, int) else act
            _, reward, terminated, truncated, info = env.step(command or env.world.noop)
            score += float(reward)
            if terminated or truncated:
                return Reference(info["result"] == Result.WON, step + 1, score)
        return None
    except PiaseError:
        return None
    finally:
        env.close()
