"""Actuators: a command is translated into another one before the rules see it.

An actuator has verbs of its own, such as ``approach``, which it turns into commands of the world;
or it changes the world's own commands, such as legs that always go left when they mean right. It
knows what its agent may know, and its result is judged by the rules like any command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym import plugins
from piase_gym.core.commands import (
    Command,
    InvalidAction,
    Outcome,
    Verb,
    check_command,
    read_command,
)
from piase_gym.core.models import ActionCommand
from piase_gym.core.world import Act, Facts, World
from piase_gym.errors import ConfigError, PluginError


@dataclass(frozen=True)
class Actuator:
    """A function that translates commands.

    Attributes:
        name: Its name.
        translate: A pure function of a command and the agent's facts: the command that the world
            gets; or ``None``, which leaves a command of the world as it is, and refuses a command
            of the actuator's own as not possible now (the outcome `refused`).
        verbs: Commands of its own. If there are none, every command of the world goes through it.
    """

    name: str
    translate: Callable[[Command, Any], Command | None]
    verbs: tuple[Verb, ...] = ()

    def concerns(self, command: Command) -> bool:
        """Return whether a command goes through it."""
        return not self.verbs or any(command.verb == verb.name for verb in self.verbs)

    def apply(self, command: Command, facts: Facts) -> Command | InvalidAction:
        """Translate one command.

        Raises:
            PluginError: If its function fails, or does not return a command.
        """
        try:
            found = self.translate(command, facts)
        except Exception as error:  # a third-party function may raise anything
            message = f"{type(error).__name__}: {error}"
            raise PluginError(f"the actuator {self.name!r} failed ({message})") from error
        if isinstance(found, Command):
            return found
        if found is not None:
            kind = type(found).__name__
            raise PluginError(f"the actuator {self.name!r} gave a {kind}, not a Command or None")
        if self.verbs:
            return InvalidAction(Outcome.REFUSED, f"You cannot {command.verb} now.")
        return command


def actuators() -> tuple[str, ...]:
    """Return the names of the actuators of all plug-ins, sorted."""
    return plugins.names("actuators")


def find_actuator(actuator: str | Actuator) -> Actuator:
    """Return an actuator by name, or the given one itself.

    Raises:
        UnknownNameError: If there is none of this name.
        PluginError: If it is a plug-in that cannot be loaded, or no `Actuator`.
    """
    return plugins.find("actuators", actuator, Actuator)


class ActuatorSet:
    """Several actuators over one world; what one gives, the next may translate further.

    Args:
        world: The world whose rules carry commands out.
        names: Actuators, or their names.

    Raises:
        UnknownNameError: If there is no such actuator.
        ConfigError: If a verb of theirs is one of the world's, or of two of them.
    """

    def __init__(self, world: World[Any, Any], names: Iterable[str | Actuator]) -> None:
        self.world = world
        self.actuators = tuple(find_actuator(name) for name in names)
        self.verbs = tuple(verb for actuator in self.actuators for verb in actuator.verbs)
        taken = {name for verb in world.grammar for name in (verb.name, *verb.synonyms)}
        for actuator in self.actuators:
            for name in (n for verb in actuator.verbs for n in (verb.name, *verb.synonyms)):
                if name in taken:
                    message = f"{actuator.name!r} has the verb {name!r}, which is there already"
                    raise ConfigError(f"the actuator {message} in {world.name}")
                taken.add(name)
        self._remaps = any(not actuator.verbs for actuator in self.actuators)

    def act(self, agent: int, answer: Any, read: Callable[[int, Any], Act]) -> Act:
        """Return what the world is given for an agent's answer.

        Args:
            agent: Its number.
            answer: A line, a command, an index, an array.
            read: Reads answers that are not commands of the actuators' own.
        """
        found = self.own(answer)
        act = read(agent, answer) if found is None else found
        if isinstance(act, int) and 0 <= act < self.world.num_actions:
            act = self.world.command(agent, act)
        return self.translate(agent, act) if isinstance(act, Command) else act

    def translate(self, agent: int, command: Command) -> Command | InvalidAction:
        """Send one command through all actuators."""
        facts: Facts | None = None
        for actuator in self.actuators:
            if actuator.concerns(command):
                facts = self.world.facts(agent) if facts is None else facts
                found = actuator.apply(command, facts)
                if isinstance(found, InvalidAction):
                    return found
                command = found
        return self.world.check(agent, command)

    def own(self, answer: Any) -> Command | InvalidAction | None:
        """Return an answer as a command of the actuators' own, or ``None`` if it is none."""
        if isinstance(answer, ActionCommand):
            answer = Command(answer.action_type, answer.parameters)
        if isinstance(answer, Command):
            known = any(answer.verb in (verb.name, *verb.synonyms) for verb in self.verbs)
            return check_command(answer, self.verbs) if known else None
        if not isinstance(answer, str) or not self.verbs:
            return None
        found = read_command(answer, self.verbs)
        if isinstance(found, Command) or found.outcome is Outcome.TOO_LONG:
            return found
        words = f"{' '.join(answer.lower().split())} "
        mine = (name for verb in self.verbs for name in (verb.name, *verb.synonyms))
        return found if any(words.startswith(f"{name} ") for name in mine) else None

    # -- what agents are told --------------------------------------------------------------

    def mask(self, agent: int, mask: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return which indices are legal once they are translated, shape (K,)."""
        if not self._remaps:
            return mask
        legal = [self.legal(agent, self.world.command(agent, i)) for i in range(len(mask))]
        return np.asarray(legal, np.int8)

    def legal(self, agent: int, command: Command | InvalidAction) -> bool:
        """Return whether a command is legal once it is translated."""
        if isinstance(command, Command):
            command = self.translate(agent, command)
        return isinstance(command, Command) and self.world.legal(agent, command)

    def commands(self, agent: int) -> list[Command]:
        """Return the legal commands: the world's, and the actuators' own without parameters."""
        own = [Command(verb.name) for verb in self.verbs if not verb.params]
        return [c for c in (*self.world.admissible(agent), *own) if self.legal(agent, c)]

    def instructions(self, text: str) -> str:
        """Return a prompt with the actuators' own commands at its end."""
        if not self.verbs:
            return text
        rows = [f"- {verb.usage}: {verb.description}" for verb in self.verbs]
        return "\n".join([f"{text}\n\nFurther commands:", *rows])
