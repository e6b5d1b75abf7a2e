"""One driver for each of the documents' interfaces: it asks the same few questions in its terms.

A driver knows its environment and nothing about worlds. It runs in this process or in one of its
own. What the environment answers is read by the names of its fields, so reimplementations of the
documents' models are accepted too.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from piase_gym.core.commands import Command, Outcome, Verb, write_command
from piase_gym.core.documents import PerceptionInterface, make_own
from piase_gym.core.jsonable import jsonable
from piase_gym.core.models import Action, ActionCommand
from piase_gym.worlds.own import actions
from piase_gym.worlds.own.actions import fields_of
from piase_gym.worlds.own.answers import (
    Answer,
    Turn,
    in_order,
    read_answer,
    read_letters,
    read_number,
    read_perception,
    said_result,
)
from piase_gym.worlds.own.facts import Shown
from piase_gym.worlds.own.faults import FaultyError, Reason, wrong

TELL = "tell"
"""The verb for sending messages, in environments that have them."""


def offers_tell(verbs: Sequence[Verb]) -> bool:
    """Return whether messages are sent by `TELL`, which is no verb of the environment's own."""
    return all(verb.name != TELL for verb in verbs)


class Driver(ABC):
    """Asks one environment.

    Args:
        env: The environment.
        agents: The names of its agents.
    """

    drawing: ClassVar = threading.RLock()
    """Held while an environment has the generators of the process, which all threads share."""

    def __init__(self, env: Any, agents: Sequence[str]) -> None:
        """Take the environment."""
        self.env, self.agents = env, tuple(agents)
        self.time = 0
        self._over: dict[str, tuple[bool, bool]] = {}
        self._dice: Any = None

    # -- what worlds ask ------------------------------------------------------------------

    def start(self, seed: int) -> Turn:
        """Start an episode; its draws from `random` and `numpy.random` follow from the seed."""
        self.time, self._over = 0, {}
        with self._guarded():
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002  what other people's code draws from
            self.begin(seed)
            return self._turn({})

    def turn(self, commands: Mapping[str, Command]) -> Turn:
        """Let agents act one after the other, in the order of the mapping."""
        answers: dict[str, Answer] = {}
        with self._guarded():
            for agent, command in commands.items():
                if command.verb == TELL and self.messages and offers_tell(self.verbs()):
                    answers[agent] = self._tell(agent, command)
                else:
                    answers[agent] = self.act(agent, command)
                found = answers[agent]
                if found.terminated or found.truncated:
                    self._over[agent] = found.terminated, found.truncated
            self.close_step()
            self.time += 1
            return self._turn(answers)

    def _turn(self, answers: Mapping[str, Answer]) -> Turn:
        shown = {}
        for agent in self.agents:
            seen = self.look(agent)
            terminated, truncated = self._over.get(agent, (False, False))
            shown[agent] = seen._replace(
                terminated=seen.terminated or terminated, truncated=seen.truncated or truncated
            )
        return Turn(answers, shown, self.verbs())

    def state(self) -> Any:
        """Return the state as a JSON-able value; only if `has_state`."""
        with self._guarded():
            return jsonable(self.read_state())

    def snapshot(self) -> dict[str, Any]:
        """Return everything that the future depends on; only if `has_snapshots`."""
        return {
            "env": self.state(),
            "time": self.time,
            "over": {name: list(over) for name, over in self._over.items()},
            "dice": _write_dice(self._dice),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> Turn:
        """Restore what `snapshot` returned."""
        dice = _read_dice(snapshot["dice"])
        over = {str(name): (bool(a), bool(b)) for name, (a, b) in snapshot["over"].items()}
        self.time, self._over, self._dice = int(snapshot["time"]), over, dice
        with self._guarded():
            self.env.set_state(snapshot["env"])
            return self._turn({})

    def call(self, name: str, *args: Any) -> Any:
        """Call a method of the environment by name."""
        with self._guarded():
            return getattr(self.env, name)(*args)

    def has(self, name: str) -> bool:
        """Return whether the environment has a method."""
        return callable(getattr(self.env, name, None))

    def about(self) -> dict[str, Any]:
        """Return what the environment says about itself, as fields."""
        with self._guarded():
            return jsonable(fields_of(self.info()))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the environment if it has a method for that."""
        if self.has("close"):
            with contextlib.suppress(Exception), self._guarded():
                self.env.close()

    # -- how each document says it --------------------------------------------------------

    has_state = False
    """Whether the document has a method that returns the whole state."""
    tells_available = False
    """Whether the environment says which actions are available now."""

    @property
    def has_snapshots(self) -> bool:
        """Whether the environment can restore the states that it returns."""
        return self.has_state and self.has("set_state")

    @property
    def messages(self) -> bool:
        """Whether agents can send messages."""
        return False

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Start an episode."""

    @abstractmethod
    def act(self, agent: str, command: Command) -> Answer:
        """Carry out the action of one agent."""

    def close_step(self) -> None:
        """End a step when all agents have acted."""

    @abstractmethod
    def look(self, agent: str) -> Shown:
        """Return what an agent is shown."""

    @abstractmethod
    def verbs(self) -> tuple[Verb, ...]:
        """Return the verbs."""

    def info(self) -> Any:
        """Return what the environment says about itself."""
        return self.env.get_environment_info()

    def read_state(self) -> Any:
        """Return the whole state."""
        return self.env.get_state()

    def _tell(self, agent: str, command: Command) -> Answer:
        recipient, message = command.parameters["recipient"], command.parameters["message"]
        self.env.send_message(agent, recipient, message)
        return Answer()

    # -- guarding -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn what the environment raises into a fault, and isolate its random generators."""
        with Driver.drawing:
            outside = random.getstate(), np.random.get_state()  # noqa: NPY002
            if self._dice is not None:
                random.setstate(self._dice[0])
                np.random.set_state(self._dice[1])  # noqa: NPY002
            try:
                yield
            except FaultyError:
                raise
            except (Exception, SystemExit) as error:
                raise FaultyError(Reason.RAISED, f"{type(error).__name__}: {error}") from error
            finally:
                self._dice = random.getstate(), np.random.get_state()  # noqa: NPY002
                random.setstate(outside[0])
                np.random.set_state(outside[1])  # noqa: NPY002

    def _reset(self, method: Callable[..., Any], seed: int) -> Any:
        """Call a reset, with the seed if it takes one."""
        known = inspect.signature(method).parameters
        takes = "seed" in known or any(p.kind is p.VAR_KEYWORD for p in known.values())
        return method(seed=seed) if takes else method()


if hasattr(os, "register_at_fork"):  # a thread that held the lock is not in the forked process
    os.register_at_fork(after_in_child=lambda: setattr(Driver, "drawing", threading.RLock()))


def _write_dice(dice: Any) -> Any:
    """Return the state of the random generators as a JSON-able value."""
    return None if dice is None else jsonable([list(dice[0]), list(dice[1])])


def _read_dice(value: Any) -> Any:
    """Undo `_write_dice`."""
    if value is None:
        return None
    (version, words, gauss), (name, keys, *rest) = value
    return (version, tuple(words), gauss), (name, np.asarray(keys, np.uint32), *rest)


class EnvironmentDriver(Driver):
    """Asks an `Environment` of the environment-layer document."""

    has_state = tells_available = True

    def begin(self, seed: int) -> None:
        """Start an episode."""
        read_perception(self._reset(self.env.reset, seed), self.agents[0])

    def act(self, agent: str, command: Command) -> Answer:
        """Carry out the action of one agent."""
        return read_answer(self.env.step(agent, self._command(command)))

    def _command(self, command: Command) -> ActionCommand:
        parameters = actions.parameters_of(command, self.verbs())
        return ActionCommand(action_type=command.verb, parameters=parameters)

    def look(self, agent: str) -> Shown:
        """Return what an agent is shown."""
        done = self.env.is_done(agent)
        if not isinstance(done, bool | np.bool_):
            raise wrong("is_done", done, "true or false")
        shown = read_perception(self.env.get_observation(agent), agent)
        offered = actions.verbs_of_schema(self._space(agent))
        available = tuple(write_command(row, offered) for row in actions.listed(offered))
        return shown._replace(available=available, terminated=bool(done) and not shown.truncated)

    def _space(self, agent: str | None = None) -> Any:
        takes = inspect.signature(self.env.get_action_space).parameters
        return self.env.get_action_space(agent) if takes else self.env.get_action_space()

    def verbs(self) -> tuple[Verb, ...]:
        """Return the verbs."""
        return actions.verbs_of_schema(self._space())


class AbstractDriver(Driver):
    """Asks an `AbstractEnvironment` of the PiaSE design document."""

    has_state = True

    def begin(self, seed: int) -> None:
        """Start an episode."""
        done = self._reset(self.env.reset_environment, seed)
        if done is False:
            raise FaultyError(Reason.RAISED, "reset_environment returned False")

    def act(self, agent: str, command: Command) -> Answer:
        """Carry out the action of one agent."""
        parameters = actions.parameters_of(command, self.verbs())
        given = ActionCommand(action_type=command.verb, parameters=parameters)
        return read_answer(self.env.apply_action_from_agent(agent, given))

    def close_step(self) -> None:
        """Let the environment do its own part of the step."""
        self.env.step(self.time)

    def look(self, agent: str) -> Shown:
        """Return what an agent is shown."""
        shown = read_perception(self.env.get_perceptual_data_for_agent(agent), agent)
        done = bool(self.env.is_done(agent)) if self.has("is_done") else False
        return shown._replace(terminated=shown.terminated or done)

    def verbs(self) -> tuple[Verb, ...]:
        """Return the verbs."""
        return actions.verbs_of_schema(
            fields_of(self.env.get_environment_info()).get("action_schema")
        )

    def read_state(self) -> Any:
        """Return the whole state."""
        return self.env.get_current_state_snapshot()


class PerceptionDriver(Driver):
    """Asks a `PerceptionInterface` of the explorer document."""

    def __init__(self, env: Any, agents: Sequence[str]) -> None:
        """Take the environment."""
        super().__init__(env, agents)
        self._used = False
        self._letters: dict[str, Any] = {}
        """What each agent has been told since the last step; it can be asked for only once."""
        self._restored: dict[str, Any] = {}
        """The same, of a snapshot that is being restored."""

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether the environment returns its whole state, for which the document has no method."""
        return self.has("get_state")

    @property
    def messages(self) -> bool:
        """Whether agents can send messages."""
        kind = type(self.env)
        return kind.send_message is not PerceptionInterface.send_message

    def begin(self, seed: int) -> None:
        """Start an episode: by ``reset`` if there is one, else with a new environment."""
        if self.has("reset"):
            self._reset(self.env.reset, seed)
        elif self._used:
            self.close()
            args, kwargs = self.env.made_with
            self.env = type(self.env)(*args, **kwargs)
        self._used = True

    def act(self, agent: str, command: Command) -> Answer:
        """Carry out the action of one agent."""
        parameters = actions.parameters_of(command, self.verbs())
        found = self.env.execute_action(agent, command.verb, parameters)
        if not isinstance(found, Mapping):
            raise wrong("the result of execute_action", found, "a dict")
        return read_answer(found)

    def look(self, agent: str) -> Shown:
        """Return what an agent is shown."""
        state = self.env.get_agent_state(agent)
        if not isinstance(state, Mapping):
            raise wrong("the state of an agent", state, "a dict")
        objects = self.env.get_visible_objects(agent, state.get("position"))
        if not isinstance(objects, list | tuple | set | frozenset):
            raise wrong("the visible objects", objects, "a list of names")
        names = [str(fields_of(thing).get("name", thing)) for thing in in_order(objects)]
        caption = state.get("visible_caption") or (
            f"position {state.get('position')}: {', '.join(names) or 'nothing'}"
        )
        if agent in self._restored:
            letters = self._restored.pop(agent)
        else:
            letters = self.env.poll_messages(agent) if self._polls else []
        data = {**state, "visible_objects": list(names)}
        data.pop("last_action_result", None)
        read = read_letters(letters, agent)
        self._letters[agent] = jsonable([fields_of(letter) for letter in letters])
        return Shown(
            str(caption),
            data,
            read,
            terminated=bool(state.get("done", False)) or bool(state.get("terminated", False)),
            truncated=bool(state.get("truncated", False)),
        )

    def snapshot(self) -> dict[str, Any]:
        """Return the same with what agents have just been told."""
        return {**super().snapshot(), "letters": dict(self._letters)}

    def restore(self, snapshot: Mapping[str, Any]) -> Turn:
        """Restore what `snapshot` returned."""
        self._restored = dict(snapshot["letters"])
        try:
            return super().restore(snapshot)
        finally:
            self._restored = {}

    @property
    def _polls(self) -> bool:
        return type(self.env).poll_messages is not PerceptionInterface.poll_messages

    def verbs(self) -> tuple[Verb, ...]:
        """Return the verbs that the environment names, else those of the document."""
        info = fields_of(self.env.get_environment_info())
        if info.get("action_schema"):
            return actions.verbs_of_schema(info["action_schema"])
        return actions.verbs_of_names(info.get("actions") or actions.EXPLORER)


class BaseEnvDriver(Driver):
    """Asks a `BaseEnv` of the LLM-environment document, which has one agent."""

    _last: Any = None
    _reported: Any = None

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        """Whether the environment returns its whole state, for which the document has no method."""
        return self.has("get_state")

    @property
    def tells_available(self) -> bool:  # type: ignore[override]
        """Whether the environment lists actions."""
        kind = type(self.env)
        base = next(c for c in kind.__mro__ if "over_worlds" in c.__dict__)
        return kind.get_available_actions is not base.__dict__["get_available_actions"]

    def begin(self, seed: int) -> None:
        """Start an episode."""
        self._last, self._reported = self._reset(self.env.reset, seed), None

    def snapshot(self) -> dict[str, Any]:
        """Return the same with the last observation, which the state need not contain."""
        with self._guarded():
            last = {"last": jsonable(fields_of(self._last)), "reported": jsonable(self._reported)}
        return {**super().snapshot(), **last}

    def restore(self, snapshot: Mapping[str, Any]) -> Turn:
        """Restore what `snapshot` returned."""
        self._last, self._reported = snapshot["last"], snapshot["reported"]
        return super().restore(snapshot)

    def act(self, agent: str, command: Command) -> Answer:
        """Carry out the action of the agent."""
        line = command.parameters["text"] if command.verb == actions.LINE else command.verb
        found = self.env.step(Action(text=line))
        if not isinstance(found, tuple) or len(found) != 4:
            raise wrong("the result of step", found, "(observation, reward, done, info)")
        self._last, reward, done, info = found
        if not isinstance(info, Mapping):
            raise wrong("the info of step", info, "a dict")
        if not isinstance(done, bool | np.bool_):
            raise wrong("the done flag of step", done, "true or false")
        self._reported = info
        failed = bool(info.get("error"))
        truncated = bool(info.get("truncated"))
        return Answer(
            read_number("the reward", reward),
            Outcome.FAILED if failed else Outcome.OK,
            str(info.get("error") or info.get("feedback") or ""),
            bool(done) and not truncated,
            truncated,
            said_result(info),
            jsonable(dict(info)),
        )

    def look(self, agent: str) -> Shown:
        """Return what the agent is shown."""
        given = fields_of(self._last)
        data = given.get("structured", {})
        if not given.keys() & {"structured", "text"} or not isinstance(data, Mapping):
            raise wrong("the observation", self._last, "an Observation")
        text = str(given.get("text") or data.get("text") or "")
        available = None
        if self.tells_available:
            listed = self.env.get_available_actions(self._reported)
            available = tuple(str(fields_of(action).get("text", action)) for action in listed)
        return Shown(text, {k: v for k, v in data.items() if k != "text"}, (), available)

    def verbs(self) -> tuple[Verb, ...]:
        """Return the verbs."""
        return actions.verbs_of_lines(self.env.get_action_space())

    def info(self) -> Any:
        """Return what the environment says about itself, if it has a method for that."""
        return self.env.get_environment_info() if self.has("get_environment_info") else {}


DRIVERS: Mapping[str, type[Driver]] = {
    "environment": EnvironmentDriver,
    "abstract": AbstractDriver,
    "perception": PerceptionDriver,
    "base_env": BaseEnvDriver,
}


def drive(env: Any, agents: Sequence[str]) -> Driver:
    """Return the driver of an environment."""
    return DRIVERS[env.document](env, agents)


def drive_new(kind: type[Any], settings: Mapping[str, Any], agents: Sequence[str]) -> Driver:
    """Make an environment and return its driver."""
    try:
        env = make_own(kind, settings)
    except (Exception, SystemExit) as error:
        raise FaultyError(Reason.RAISED, f"{type(error).__name__}: {error}") from error
    return drive(env, agents)
