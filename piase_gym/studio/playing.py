"""A game in the studio: a person, or a policy in the person's seat, plays level after level."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Agent, Feedback, Percept, ask
from piase_gym.agents.policy_registry import make_agent
from piase_gym.core.commands import Command, InvalidAction, Result
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.partners import post_asides
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError
from piase_gym.names import look_up
from piase_gym.play.describing import describe
from piase_gym.play.session import STARS, Choice, Choices, CommandResult, Game, sentence
from piase_gym.play.settings import read_partners, read_settings
from piase_gym.runs import record

ME, PERSON = "me", "human"
"""What the page calls who plays by hand, and the policy that would ask the terminal."""
OVER = "the level is over: begin it again, or the next one"


def png(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture of shape (height, width, 3) as PNG."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    return buffer.getvalue()


@dataclass(frozen=True)
class Setup:
    """What is played.

    Attributes:
        name: A world, an id, a scenario's name or its path.
        agent: The agent in whose seat the person sits; default the first.
        partners: The policy of all other agents; default the id's own.
        settings: Fields of the config, each ``key=value``.
        seed: The seed of level 1.
        log: The log of all levels, if there is to be one.
    """

    name: str
    agent: str | None = None
    partners: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 1
    log: Path | None = None


@dataclass(frozen=True)
class GameView:
    """All that a page shows of a game, as plain values.

    Attributes:
        title: The id, world or scenario.
        agent: The agent in the person's seat.
        agents: All agents.
        level: Number of the level.
        seed: Its seed.
        steps: Steps so far.
        longest: The most steps of an episode.
        score: The sum of the rewards.
        par: The fewest steps in which it can be won, where that is known.
        goal: What there is to do, in words.
        text: What the agent reads.
        picture: The state as PNG; ``None`` where it would show what agents must find out.
        choices: The commands.
        turn: What the last command did.
        over: How the level went, in words, once it is over.
        stars: How many stars it was worth, once it is over and won.
    """

    title: str
    agent: str
    agents: tuple[str, ...]
    level: int
    seed: int
    steps: int
    longest: int
    score: float
    par: int | None
    goal: str
    text: str
    picture: bytes | None
    choices: tuple[Choice, ...]
    turn: CommandResult | None
    over: str | None
    stars: int | None


@dataclass
class Play:
    """A game and the policies that take turns with the person.

    All of it is used in one thread; some worlds ask for that.
    """

    setup: Setup
    game: Game = field(init=False)
    _choices: tuple[Choice, ...] = ()
    _policies: dict[str, Agent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the world, and begin level 1.

        Raises:
            PiaseError: If there is no such world, or a setting, agent or policy is not allowed.
        """
        setup, named = self.setup, look_up(self.setup.name)
        scenario = named.scenario
        name = named.spec.name if scenario is not None else setup.name
        base = None if scenario is None else scenario.fields
        fields = {**read_settings(name, setup.settings, base), "scenario": scenario}
        partners = read_partners(name, [setup.partners] if setup.partners else None)

        def make(task: str) -> GymEnv:
            return GymEnv(
                task, agent=setup.agent, view="text", actions="text", partners=partners, **fields
            )

        self.game = Game(make, (name,), setup.seed)
        try:
            if setup.log is not None:
                record(self.game.env, setup.log)  # closing the world completes it
            self.start(1)
        except BaseException:
            self.game.close()
            raise

    def start(self, level: int) -> None:
        """Begin a level, or begin it again."""
        self.game.start(level)
        for agent in self._policies.values():
            agent.reset(self.game.seed)

    def choose(self, number: int) -> str | None:
        """Carry out one of the choices that were shown; see `type`."""
        return OVER if self.over else self._give(self._choices[number].command)

    def type(self, line: str) -> str | None:
        """Carry out a line; what cannot be done now is refused, and the reason returned."""
        return OVER if self.over else self._give(self.game.read(line))

    def _give(self, command: Command | InvalidAction) -> str | None:
        """Carry out a command, or return why it is refused."""
        refusal = self.game.refusal(command)
        if refusal is None:
            self.game.act(command)
        return refusal

    def let(self, policy: str) -> str | None:
        """Let a policy choose one command in the person's place; return why it cannot, once over.

        Raises:
            UnknownNameError: If there is no such policy.
            ConfigError: If it is that of a person.
            PolicyError: If it cannot be loaded, or cannot play this world.
        """
        game = self.game
        if self.over:
            return OVER
        if policy == PERSON:
            raise ConfigError("a person plays by the buttons of the page, or by lines")
        if policy not in self._policies:
            agent = make_agent(policy)
            agent.set_id(game.name)
            agent.reset(game.seed)
            self._policies[policy] = agent
        agent = self._policies[policy]
        agent.perceive(Percept(game.world, game.me, game.steps))
        [answer] = ask([agent])
        act = decode_answer(game.world, game.me, answer)
        post_asides(agent, game.me, game.world, game.env.runner.events)
        if isinstance(act, int):
            act = game.world.command(game.me, act)
        turn = game.act(game.world.noop if act is None else act)
        step = game.env.runner.last_step
        assert step is not None
        ended = step.terminated[game.me], step.truncated[game.me]
        agent.learn(Feedback(turn.reward, *ended, turn.outcome))
        return None

    @property
    def over(self) -> bool:
        """Whether the level is over."""
        return self.game.result is not None

    def look(self) -> GameView:
        """Return what there is to see now."""
        game, world = self.game, self.game.world
        self._choices = () if self.over else tuple(Choices(world, game.me).now())
        goal = world.manual.goals(game.me) or ""
        return GameView(
            title=self.setup.name,
            agent=game.name,
            agents=tuple(world.agents),
            level=game.level,
            seed=game.seed,
            steps=game.steps,
            longest=world.config.longest,
            score=game.score,
            par=game.par,
            goal=goal[:1].upper() + goal[1:],
            text=world.text(game.env.facts()),
            picture=None if world.picture_reveals else png(world.rgb()),
            choices=self._choices,
            turn=game.turn,
            over=sentence(game) if self.over else None,
            stars=game.stars() if game.result is Result.WON else None,
        )

    def line_words(self) -> str:
        """Return what can be typed: commands, in some worlds numbers too."""
        world = self.game.world
        more = f", or {world.action_box.low.size} numbers" if world.capabilities.continuous else ""
        return f"a command, as agents write it{more}"

    def instructions(self) -> str:
        """Return the rules as a language model is told them."""
        return self.game.world.instructions(self.game.me)

    def picture(self) -> bytes:
        """Return the state as PNG, even where it shows what agents must find out."""
        return png(self.game.world.rgb())

    def close(self) -> None:
        """Close the world; a log is complete then."""
        self.game.close()


def stars(number: int) -> str:
    """Return stars as they are drawn."""
    return "★" * number + "☆" * (STARS - number)


def fields_of(name: str) -> list[Mapping[str, Any]]:
    """Return the config fields of what is played: key, type, default, value and description."""
    found: list[Mapping[str, Any]] = describe(name, {})["config"]
    return found
