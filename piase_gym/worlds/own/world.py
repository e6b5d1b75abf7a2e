"""`OwnWorld`: an environment of one's own that takes the place of a world."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import (
    Command,
    InvalidAction,
    Outcome,
    Param,
    Result,
    Verb,
    check_command,
    read_command,
    unparsable,
    write_command,
)
from piase_gym.core.digest import digest_json
from piase_gym.core.documents import settings_of
from piase_gym.core.facts import Capabilities, DecodedAction, StepResult, shared
from piase_gym.core.jsonable import jsonable
from piase_gym.core.manual import Manual
from piase_gym.core.objects import Objects
from piase_gym.core.script.observables import Observable, named, row_of
from piase_gym.core.snapshot import DAMAGE
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, OwnEnvironmentError, SnapshotError, UnsupportedError
from piase_gym.worlds.own import actions
from piase_gym.worlds.own.answers import Answer, Turn
from piase_gym.worlds.own.config import OwnConfig
from piase_gym.worlds.own.drivers import TELL, drive, drive_new, offers_tell
from piase_gym.worlds.own.facts import MOST_TEXT, Layout, OwnFacts, Shown, at, to_text
from piase_gym.worlds.own.faults import Fault, FaultyError, Reason, log_fault
from piase_gym.worlds.own.pictures import picture
from piase_gym.worlds.own.worker import RemoteDriver

PLAYING = "playing"


def _texts(world: Any, _states: Any, _of: Any) -> NDArray[Any]:
    return row_of([world.facts(agent).text for agent in range(len(world.agents))])


def _numbers(world: Any, _states: Any, of: str) -> NDArray[Any]:
    """Return a number that each agent is shown, by its path (``a.b``); NaN where there is none."""
    shown = [at(world.facts(agent).data, of.split(".")) for agent in range(len(world.agents))]
    return np.array([[float(v) if isinstance(v, int | float) else np.nan for v in shown]])


class OwnWorld(World[OwnConfig, OwnFacts]):
    """A world with the rules of an environment of one's own.

    The environment is made, and reset once, to learn its actions and its observation. If it fails,
    the episode of all agents ends, with ``fault`` (a reason and a message) in their infos.

    Args:
        config: The config.
        env: The environment; by default one is made from the config.

    Raises:
        OwnEnvironmentError: If the environment cannot be made, reset or asked.
    """

    name = "OwnEnvironment"
    observables = named(
        Observable(name="text", about="what it is shown, in words", read=_texts, kind="text"),
        Observable(
            name="number",
            about="a number that it is shown",
            read=_numbers,
            of="word",
            subjects=lambda _config: None,  # they are known when an environment is made
        ),
    )
    text_length = 2 * MOST_TEXT
    tells_last_step = False  # its words are those of its author
    _driver: Any = None
    _restoring = False

    def __init__(self, config: OwnConfig, env: Any = None) -> None:
        """Make the environment and learn its actions and observation."""
        super().__init__(config)
        same = env is not None and config.settings == settings_of(env)
        self._given = env if same else None  # other settings are for another environment
        self._fault: Fault | None = None
        self._turn: Turn | None = None
        try:
            self._open(self.config)
            first = self._driver.start(0)
            self._about = self._driver.about()
            self._learn(first)
        except FaultyError as error:
            self.close()
            message = f"{self.name} cannot be used: {error.fault.reason}: {error.fault.message}"
            raise OwnEnvironmentError(message, error.fault) from error

    def _open(self, config: OwnConfig) -> None:
        """Make the driver, with a new environment unless one was given."""
        if config.settings is None and self._given is None:
            raise FaultyError(
                Reason.RAISED, "it was made with what cannot be written as JSON, so not again"
            )
        if self._given is not None:
            make: Any = drive
            args: tuple[Any, ...] = (self._given, self.agents)
        else:
            make, args = drive_new, (config.kind, config.settings, self.agents)
        if config.timeout is None:
            self._driver = make(*args)
        else:
            self._driver = RemoteDriver(make, args, config.timeout)
        for hook, argument in config.changes:
            self._driver.call(hook, argument)
        self._made_for = config

    def _learn(self, first: Turn) -> None:
        """Fix spaces and capabilities from what the environment shows first."""
        driver = self._driver
        self._verbs = first.verbs
        noop = actions.noop_of(first.verbs)
        self._waits = noop is None
        more: tuple[Verb, ...] = (actions.WAIT,) if noop is None else ()
        if driver.messages and offers_tell(first.verbs):
            everybody = (*self.agents, "all")
            recipient = Param("recipient", choices=everybody)
            more += (Verb(TELL, "Send a message.", (recipient, Param("message", "text"))),)
        self._grammar = (*first.verbs, *more)
        self._noop = Command((noop or actions.WAIT).name)
        self.any_line = any(  # type: ignore[misc]  # each environment has its own
            verb.name == actions.LINE for verb in first.verbs
        )
        table = actions.listed(first.verbs)
        if self.any_line:
            offered = [line for row in first.shown.values() for line in row.available or ()]
            table = tuple(Command(actions.LINE, {"text": line}) for line in dict.fromkeys(offered))
        self.commands = table
        self._lines = {self.write(command): command for command in table}
        with _readable():
            self.layout = Layout.of([shown.data for shown in first.shown.values()])
        names = {str(name) for shown in first.shown.values() for name in shown.data}
        self.perception_types = {  # type: ignore[misc]  # as above
            "text": "string",
            **dict.fromkeys(sorted(names), "object | None"),
            MORE: "object",
        }
        self._masked = bool(driver.tells_available) and bool(table)
        self.has_state = bool(driver.has_state)
        self.capabilities = Capabilities(  # type: ignore[misc]  # each environment has its own
            snapshot=bool(driver.has_snapshots),
            discrete=bool(table),
            messages=False,
            masks=self._masked,
            digest=self.has_state,
            readable=False,
        )

    @classmethod
    def capabilities_of(cls, config: OwnConfig) -> Capabilities:
        """Return what an environment under a config can do."""
        world = cls(config)
        world.close()
        return world.capabilities

    # -- spaces and vocabulary ------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs of the environment."""
        return self._grammar

    @property
    def num_actions(self) -> int:
        """How many indices there are; at least one."""
        return max(1, len(self.commands))

    @property
    def noop(self) -> Command:
        """The environment's own no-op, or `actions.WAIT`."""
        return self._noop

    @property
    def vector_space(self) -> Box:
        """A float32 Box for the numbers of the first observation and the code of words."""
        return Box(-np.inf, np.inf, (self.layout.size,), np.float32)

    @property
    def state_space(self) -> Box:
        """A float32 Box for the vectors of all agents, one after the other."""
        return Box(-np.inf, np.inf, (self.layout.size * len(self.agents),), np.float32)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Start an episode; if that fails, the episode ends with the first step."""
        self.steps, self._fault = 0, None
        self._status = [PLAYING] * len(self.agents)
        self._said: list[Result | None] = [None] * len(self.agents)
        self._told: dict[int, str] = {}
        self.order = list(range(len(self.agents)))
        before = self._turn
        try:
            self._remake()
            self._take(self._driver.start(seed))
        except FaultyError as error:
            self._fail(error, before)

    def _remake(self) -> None:
        """Remake the environment if its settings have changed, and call hooks not yet called."""
        made, now = self._made_for, self.config
        known = len(made.changes)
        settings_differ = (made.settings, made.timeout) != (now.settings, now.timeout)
        if settings_differ or now.changes[:known] != made.changes:
            self._driver.close()
            self._given = None
            self._open(now)
            return
        for hook, argument in now.changes[known:]:
            self._driver.call(hook, argument)
        self._made_for = now

    def _take(self, turn: Turn) -> None:
        """Check what the environment shows, and keep it."""
        if turn.verbs != self._verbs:
            names = [verb.name for verb in turn.verbs]
            raise FaultyError(
                Reason.SPACES_CHANGED,
                f"its actions were {[v.name for v in self._verbs]}, now they are {names}",
            )
        read: dict[str, Shown] = {}
        for name, shown in turn.shown.items():
            with _readable():
                self.layout.check(shown.data)
                read[name] = shown._replace(data=jsonable(shown.data))
            strange = [line for line in shown.available or () if line not in self._lines]
            if strange and not self.any_line:
                raise FaultyError(
                    Reason.SPACES_CHANGED, f"{strange[0]!r:.80} is available, but no action of it"
                )
        self._turn = turn._replace(shown=read)

    def _fail(self, error: FaultyError, shown: Turn | None) -> None:
        """Keep a fault, log it, and go on showing what was shown before it."""
        self._fault = error.fault
        log_fault(self.config.kind, error)
        nothing = {name: Shown("", {}) for name in self.agents}
        self._turn = shown or Turn({}, nothing, self._verbs)

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Hand the commands to the environment, one agent after the other."""
        count = len(self.agents)
        playing = [i for i in range(count) if self._status[i] == PLAYING]
        self.steps += 1
        outcomes = [
            plan.outcome if isinstance(plan, InvalidAction) else Outcome.OK for plan in plans
        ]
        before = self._turn
        answers: Mapping[str, Answer] = {}
        if self._fault is None:
            try:
                turn = self._driver.turn(self._sent(plans, playing))
                answers = turn.answers
                self._take(turn)
            except FaultyError as error:
                self._fail(error, before)
        if self._fault is not None:
            return self._end_by_fault(self._fault, playing, outcomes)
        rewards, notes = [0.0] * count, dict[int, dict[str, Any]]()
        self._told = {}
        for i in playing:
            answer = answers.get(self.agents[i])
            if answer is not None:
                rewards[i], outcomes[i] = answer.reward, answer.outcome
                notes[i] = _infos(answer.notes)
                if answer.message:
                    self._told[i] = answer.message
                if answer.result is not None:
                    self._said[i] = answer.result
        terminated, truncated = self._ends(playing, rewards)
        if self.config.shared_reward:
            rewards = shared(rewards, playing)
        ended = any(terminated) or any(truncated)
        return StepResult(
            rewards, terminated, truncated, outcomes, ended, {k: v for k, v in notes.items() if v}
        )

    def _sent(self, plans: Sequence[DecodedAction], playing: list[int]) -> dict[str, Command]:
        """Return the commands that the environment gets, in the order of acting."""
        return {
            self.agents[i]: cast("Command", plans[i])
            for i in self.order
            if i in playing
            and isinstance(plans[i], Command)
            and not (self._waits and plans[i] == self._noop)
        }

    def _ends(self, playing: list[int], rewards: Sequence[float]) -> tuple[list[bool], list[bool]]:
        """Find out which agents end in this step, and how."""
        assert self._turn is not None
        terminated, truncated = [False] * len(self.agents), [False] * len(self.agents)
        for i in playing:
            shown = self._turn.shown[self.agents[i]]
            late = self.steps >= self.config.max_steps
            terminated[i] = shown.terminated
            truncated[i] = not shown.terminated and (shown.truncated or late)
            if shown.terminated or shown.truncated:
                good = shown.terminated and rewards[i] > 0
                self._status[i] = str(self._said[i] or (Result.WON if good else Result.LOST))
            elif late:
                self._status[i] = str(Result.LOST)
        return terminated, truncated

    def _end_by_fault(
        self, fault: Fault, playing: list[int], outcomes: list[Outcome]
    ) -> StepResult:
        """End the episode of all agents in play."""
        for i in playing:
            self._status[i] = str(Result.LOST)
        count = len(self.agents)
        text = f"The environment failed ({fault.reason}): {fault.message}"
        notes = {i: {"fault": fault.as_dict(), "feedback": text} for i in playing}
        flags = [i in playing for i in range(count)]
        return StepResult([0.0] * count, [False] * count, flags, outcomes, bool(playing), notes)

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result) -> None:
        """End the episode of some agents; the environment is not told."""
        for agent in np.flatnonzero(who[0]).tolist():
            self._status[agent] = str(result)

    @property
    def alive(self) -> Sequence[bool]:
        """Which agents are in play."""
        return [status == PLAYING for status in self._status]

    def result(self, agent: int) -> Result:
        """Return how the episode ended: as the environment says, else by the last reward's sign."""
        return Result(self._status[agent])

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed."""
        self.order = list(order)

    def close(self) -> None:
        """Release the environment."""
        if self._driver is not None:
            self._driver.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnWorld:
        """Copy everything; an environment that runs in a process of its own cannot be copied."""
        if isinstance(self._driver, RemoteDriver):
            raise UnsupportedError(f"{self.name} runs in a process of its own and cannot be copied")
        made = copy.copy(self)
        memo[id(self)] = made
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    # -- what agents know -----------------------------------------------------------------

    def _shown(self, agent: int) -> Shown:
        assert self._turn is not None
        return self._turn.shown[self.agents[agent]]

    def facts(self, agent: int) -> OwnFacts:
        """Return what the agent may know now."""
        shown = self._shown(agent)
        return OwnFacts(
            agent=self.agents[agent],
            messages=shown.messages,
            hint=self.hints[agent],
            text=shown.text,
            data=shown.data,
        )

    def vector(self, facts: OwnFacts) -> NDArray[np.float32]:
        """Return the numbers of the facts, and the code of their words."""
        return self.layout.vector(facts)

    to_text = staticmethod(to_text)

    def surroundings(self, facts: OwnFacts) -> Surroundings:
        """Return facts in the words of the documents, as far as the data use the same names."""
        data = facts.data
        things = data.get("visible_entities") or data.get("visible_objects") or data.get("objects")
        rows = things if isinstance(things, list) else []
        carried = data.get("inventory")
        stats = data.get("self_stats_feedback")
        return Surroundings(
            position=data.get("position", data.get("room_name")),
            rotation=data.get("rotation"),
            objects=tuple(_thing(row, self.agents) for row in rows),
            inventory=tuple(map(str, carried)) if isinstance(carried, list) else None,
            stats=stats if isinstance(stats, Mapping) else None,
            perceptions=self._perceptions(facts),
        )

    def _perceptions(self, facts: OwnFacts) -> dict[str, Any]:
        """Return the data by the names of the first observation, and new names under `MORE`."""
        known = [name for name in self.perception_types if name not in ("text", MORE)]
        more = {name: value for name, value in facts.data.items() if name not in known}
        return {"text": facts.text, **{n: facts.data.get(n) for n in known}, MORE: more}

    def why_failed(self, agent: int) -> str | None:
        """Return what the environment said about an agent's last action."""
        return self._told.get(agent)

    def give_hint(self, agent: int, hint: str | None) -> None:
        """Show a hint; an environment with `provide_indirect_hint` is told too."""
        super().give_hint(agent, hint)
        if self._restoring:
            return  # the environment was told before the snapshot was made
        if hint is not None and self._driver.has("provide_indirect_hint"):
            try:
                self._driver.call("provide_indirect_hint", self.agents[agent], self.hints[agent])
            except FaultyError as error:
                self._fail(error, self._turn)

    def objects(self) -> Objects:
        """Return the ``objects`` of the state that the environment returns, and the agents."""
        state = self._state_of_env() if self.has_state and self._fault is None else None
        rows = state.get("objects") if isinstance(state, Mapping) else None
        things = rows.items() if isinstance(rows, Mapping) else ()
        named = {
            str(name): {"kind": "object", **jsonable(properties)}
            for name, properties in things
            if isinstance(properties, Mapping)
        }
        return {**named, **super().objects()}

    # -- what agents can do ---------------------------------------------------------------

    def _bits(self, agent: int) -> list[bool]:
        """Return which commands of the table are available to an agent."""
        available = self._shown(agent).available if self._masked else None
        if available is None:
            return [True] * len(self.commands)
        return [self.write(command) in available for command in self.commands]

    def admissible(self, agent: int) -> list[Command]:
        """Return the listed commands that are available now; the no-op if there are none."""
        found = [
            command for command, bit in zip(self.commands, self._bits(agent), strict=True) if bit
        ]
        return found or [self._noop]

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command may be given: a listed command must be available."""
        if command == self._noop or self.any_line or not self._masked:
            return True
        return command not in self.commands or command in self.admissible(agent)

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the command of an index."""
        return self.commands[index] if self.commands else self._noop

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return which commands are available to each agent."""
        return [np.array(self._bits(i) or [True], np.int8) for i in range(len(self.agents))]

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        """Read a line: by an exact match with a listed line, else by the grammar."""
        if isinstance(line, str) and line in self._lines:
            return self._lines[line]
        if self.any_line and isinstance(line, str) and line != self._noop.verb:
            found = read_command(f"{actions.LINE} {line}", self._grammar)
            if isinstance(found, InvalidAction) and found.outcome is Outcome.UNPARSABLE:
                return unparsable("the line is empty; any other line is an action")
            return Command(actions.LINE, {"text": line}) if isinstance(found, Command) else found
        return read_command(line, self._grammar)

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        """Check a command that came as data."""
        return check_command(actions.in_words(command, self._grammar), self._grammar)

    def write(self, command: Command) -> str:
        """Return the line of a command."""
        if command.verb == actions.LINE and self.any_line:
            return str(command.parameters["text"])
        return write_command(command, self._grammar)

    @property
    def manual(self) -> Manual:
        """What the environment says about itself."""
        limit = self.config.max_steps
        text = self._about.get("description") or (self.config.kind.__doc__ or "").strip()
        return Manual(
            rules=str(text or f"{self.name} says nothing of its rules."),
            rewards="as the environment gives them.",
            end=f"An episode ends when the environment says so, or after {limit} steps.",
        )

    # -- the state is a value -------------------------------------------------------------

    def _state_of_env(self) -> Any:
        """Return the environment's state, or the fault if it fails."""
        try:
            return self._driver.state()
        except FaultyError as error:
            return error.fault.as_dict()

    def digest_state(self) -> Any:
        """Return the environment's own state if it has one, else what all agents are shown."""
        if self._fault is not None:
            value: Any = self._fault.as_dict()
        elif self.has_state:
            value = self._state_of_env()
        else:
            value = [jsonable(self._shown(i)) for i in range(len(self.agents))]
        return [self.steps, self._status, value]

    def digest(self) -> str:
        """Return a digest of the state, or of what is shown if the environment has no state."""
        return digest_json([jsonable(self.digest_state()), self.hints])

    def get_state(self) -> dict[str, Any]:
        """Return the state of the environment, and the status of the agents."""
        if not self.capabilities.snapshot:
            raise UnsupportedError(
                f"{self.name} has no get_state and set_state, so there are no snapshots of it"
            )
        try:
            if self._fault is not None:
                raise FaultyError(*self._fault)
            inside = self._driver.snapshot()
        except FaultyError as error:
            raise UnsupportedError(f"{self.name} tells no state: {error.fault.message}") from None
        return {
            "driver": inside,
            "steps": self.steps,
            "status": list(self._status),
            "said": list(self._said),
            "order": list(self.order),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        if not self.capabilities.snapshot:
            raise UnsupportedError(f"{self.name} has no set_state, so it takes up no snapshots")
        status, order, steps = list(state["status"]), list(state["order"]), state["steps"]
        said = list(state["said"])
        count = len(self.agents)
        good = len(status) == len(said) == count and sorted(order) == list(range(count))
        wrong = {*status} - {PLAYING, *Result} or {*said} - {None, *Result}
        if not good or wrong or type(steps) is not int:
            raise SnapshotError(f"{self.name}: the state does not fit")
        before = None
        try:
            before = None if self._turn is None else self._driver.snapshot()
            self._take(self._driver.restore(state["driver"]))
        except (FaultyError, *DAMAGE) as error:
            if before is not None:
                self._driver.restore(before)
            if isinstance(error, FaultyError):
                raise SnapshotError(f"{self.name}: {error.fault.message}") from None
            raise
        self.steps, self._status, self.order = steps, status, order
        self._said = [None if word is None else Result(word) for word in said]
        self._fault, self._told = None, {}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; see `World.restore`."""
        self._restoring = True
        try:
            super().restore(snapshot)
        finally:
            self._restoring = False

    def state(self) -> NDArray[Any]:
        """Return the vectors of all agents."""
        return np.concatenate(list(self.vectors()))

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Return what each agent is shown."""
        texts = [self.text(self.facts(i)) for i in range(len(self.agents))]
        return "\n\n".join(
            f"[{name}] step {self.steps}\n{text}"
            for name, text in zip(self.agents, texts, strict=True)
        )

    def rgb(self) -> NDArray[np.uint8]:
        """Return the picture that the environment's `render` returns, else one of its words."""
        if self._fault is None and self._driver.has("render"):
            try:
                drawn = self._driver.call("render")
            except FaultyError:
                drawn = None
            if isinstance(drawn, np.ndarray) and drawn.ndim == 3 and drawn.shape[2] == 3:
                return drawn.astype(np.uint8)
        return picture(self.ansi())

    def modify(self, changes: Mapping[str, Any]) -> None:
        """Apply another limit or reward sharing; the environment itself waits for the reset."""
        self.take_config(self.changed_now(changes))

    # -- hooks ----------------------------------------------------------------------------

    def _hook_changes(
        self, hook: str, config: OwnConfig, argument: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the fields that change when a hook of the environment is called."""
        if not self._driver.has(hook):
            raise UnsupportedError(f"{self.name} has no {hook}")
        if not isinstance(argument, Mapping):
            raise ConfigError(f"{hook} takes a mapping, not {type(argument).__name__}")
        return {"changes": (*config.changes, (hook, jsonable(argument)))}

    def adjusted(self, config: OwnConfig, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that change when the environment adjusts its difficulty."""
        return self._hook_changes("adjust_difficulty", config, params)

    def introduced(self, config: OwnConfig, element: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that change when something is put into the environment."""
        return self._hook_changes("introduce_element", config, element)


MORE = "more"
"""The name in perceptions for what the first observation did not have."""
RESERVED = frozenset(
    "outcome action_mask result seed feedback terminated truncated fault "
    "episode final_info final_obs terminal_observation".split()
)
"""Infos that environments cannot set, because they have a meaning elsewhere."""


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Turn errors from reading an observation, such as one that contains itself, into faults."""
    try:
        yield
    except FaultyError:
        raise
    except Exception as error:  # what an observation is made of may raise anything
        message = f"the observation cannot be read: {type(error).__name__}: {error}"
        raise FaultyError(Reason.WRONG_TYPE, message) from error


def _infos(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an environment says about a step, without what is reserved or malformed."""
    found = {name: value for name, value in said.items() if name not in RESERVED}
    reached = found.get("milestones", [])
    if not isinstance(reached, list) or not all(isinstance(name, str) for name in reached):
        del found["milestones"]
    if not isinstance(found.get("metrics", {}), Mapping):
        del found["metrics"]
    return found


def _thing(row: Any, agents: Sequence[str]) -> Thing:
    """Return one thing in sight."""
    if isinstance(row, Mapping):
        name = str(row.get("id") or row.get("name") or row.get("type") or "thing")
        return Thing(
            name, "agent" if name in agents else "object", dict(row.get("properties") or {})
        )
    return Thing(str(row), "agent" if str(row) in agents else "object")
