"""ScreenSearch, as a World: real windows behind the contract."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import Command, InvalidAction, Outcome, Result, Verb
from piase_gym.core.mailbox import EVERYONE, Mailbox
from piase_gym.core.rng import Stream, StreamId
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import (
    Capabilities,
    DecodedAction,
    LogEntry,
    Manual,
    StepResult,
    World,
    shared,
)
from piase_gym.errors import MissingExtraError, PiaseError, UnsupportedError, WindowError
from piase_gym.worlds.channel.heard import new_mail
from piase_gym.worlds.describing import Describer, Picture, describer, tidy
from piase_gym.worlds.screen_search import facts as views
from piase_gym.worlds.screen_search.actions import STAY, TABLE, verbs
from piase_gym.worlds.screen_search.config import MAX_MESSAGE, MOST_FOUND, ScreenSearchConfig
from piase_gym.worlds.screen_search.facts import ScreenSearchFacts, Sighting
from piase_gym.worlds.screen_search.manual import manual
from piase_gym.worlds.screen_search.windows import Window


@dataclass
class ScreenState:
    """What is known about an episode.

    Attributes:
        t: Steps so far.
        status: For each agent, ``playing``, ``absent`` or how it ended.
        captions: For each window, what it shows, in words.
        objects: For each window, what is in its picture.
        found: What anybody has found, in the order of discovery.
        own: For each agent, what it has found.
        feedback: For each agent, what there is to say about its last command.
    """

    t: int
    status: list[str]
    captions: list[str]
    objects: list[tuple[Sighting, ...]]
    found: list[str] = field(default_factory=list)
    own: list[list[str]] = field(default_factory=list)
    feedback: list[str | None] = field(default_factory=list)


class ScreenSearch(World[ScreenSearchConfig, ScreenSearchFacts]):
    """Explore what a real window shows: it is seen as a picture and driven with keys.

    ## Description

    The explorer document's mode for a running game: any window of this machine, such as a Unity
    player, is captured with mss, described, and driven with keys through pyautogui (the extra
    ``screen``). It is found by a part of its title (`window`), or a `region` of the screen is
    given; then keys go where the focus is. Several agents have a window each (`windows`), or share
    one and press their keys one after the other.

    A describer turns the picture into objects with their places, and a caption. ``colours`` finds
    patches of known colours; `piase_gym.worlds.describing.register_describer` makes others known.
    [Cameras and windows](../cameras_and_windows.md) has an example, and says what can go wrong.

    No episode can be played again: the world is not deterministic, has no snapshots to go back to,
    and runs in real time.

    ## Actions

    The twelve movements of the explorer document, one key each (`keys`), and ``stay``. With several
    agents there are also ``say`` and ``tell``, as text.

    ## Observations

    Facts: the caption, the objects in the picture with their places in hundredths of it, what the
    agent has found (with `shared_memory`, what anybody has), what has yet to be found, messages,
    and what went wrong. `facts.vector_of` describes the vector, which is float32. `render` shows
    the picture itself.

    ## Rewards

    +1 for an object that nobody had found before; see `rewards`.

    ## Start and end

    The window is looked for at the reset, which raises `WindowError` if there is no display
    (`reason` ``no_display``) or no such window (``no_window``). When all `objects` are found, all
    agents have won; if there are no `objects`, all there is to do is look around. If a window
    closes during an episode (``window_closed``), or the user moves the mouse into a corner of the
    screen (``stopped``), the agents of the window are truncated, with the `reason` in their infos.

    ## Versions

    - v0: first version.
    - v1: other texts.
    """

    name: ClassVar[str] = "ScreenSearch"
    version: ClassVar[int] = 1
    says_why = True
    capabilities: ClassVar[Capabilities] = Capabilities(
        deterministic=False, snapshot=False, messages=True
    )
    perception_types: ClassVar[Mapping[str, str]] = views.PERCEPTION_TYPES
    mailboxes: Mailbox

    def __init__(self, config: ScreenSearchConfig) -> None:
        """Fix the spaces; `reset` finds the windows.

        Raises:
            MissingExtraError: If mss or pyautogui is not installed.
            UnknownNameError: If there is no such describer.
        """
        if not all(map(importlib.util.find_spec, ("mss", "pyautogui"))):
            raise MissingExtraError(self.name, "screen")
        super().__init__(config)
        self.text_length = views.TEXT_LENGTH + len(self.agents) * views.LETTER_LENGTH
        self._grammar = verbs(self.agents)
        self._windows: list[Window] = []
        self._describe: Describer = describer(config.describer, {})
        self._order = list(range(len(self.agents)))
        self._start(0)

    def _start(self, seed: int) -> None:
        """Begin with nothing seen."""
        slots = len(self.agents)
        self.stream = Stream(seed, StreamId.CHANNEL)
        config = self.config
        self.mailboxes = new_mail(config, self.agents, MAX_MESSAGE, self._hears)
        status = ["playing" if k < config.agents else "absent" for k in range(slots)]
        count = max(1, len(config.targets))
        self.pictures: list[Picture] = [np.zeros((48, 64, 3), np.uint8)] * count
        self.state_of = ScreenState(
            0, status, [""] * count, [()] * count, [], [[] for _ in range(slots)], [None] * slots
        )

    def _hears(self, _sender: str, recipient: str) -> bool:
        return self.alive[self.agents.index(recipient)]

    # -- vocabulary -----------------------------------------------------------------------

    @property
    def grammar(self) -> tuple[Verb, ...]:
        """The verbs; see `actions.verbs`."""
        return self._grammar

    @property
    def num_actions(self) -> int:
        """Twelve movements, and ``stay``."""
        return len(TABLE)

    @property
    def noop(self) -> Command:
        """``stay``."""
        return TABLE[-1]

    @property
    def vector_space(self) -> Box:
        """A float32 Box; see `facts.vector_of`."""
        return views.vector_box(len(self.agents))

    @property
    def state_space(self) -> Box:
        """A float64 Box; see `state`."""
        return Box(0.0, 2.0**31, (2 + 3 * len(self.agents),), np.float64)

    # -- an episode -----------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Find the windows and look at them.

        Raises:
            WindowError: If there is no display or no such window.
            ConfigError: If no window is named, or there is no such key.
        """
        targets = self.config.targets
        if not targets:
            message = "no window is named; give window='a part of its title' or region=(x, y, w, h)"
            raise WindowError("no_window", message)
        self._describe = describer(self.config.describer, {})
        self._windows = [Window(title, region) for title, region in targets]
        for window in self._windows:
            window.find()
        self._windows[0].check_keys(list(self.config.keys.values()))
        self._start(seed)
        for number in range(len(self._windows)):
            self._look(number)
        self._note_found([0.0] * len(self.agents), {})

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the describer, which may not be copyable."""
        return {k: v for k, v in self.__dict__.items() if k != "_describe"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with a new describer of the same name."""
        self.__dict__.update(state)
        self._describe = describer(self.config.describer, {})

    def window_of(self, agent: int) -> int:
        """Return the number of an agent's window."""
        return min(agent, len(self.state_of.captions) - 1)

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        """Press the keys, wait, and look again."""
        state, config, table = self.state_of, self.config, self.config.rewards
        slots = len(plans)
        outcomes, rewards = [Outcome.OK] * slots, [0.0] * slots
        notes: dict[int, dict[str, Any]] = {}
        playing = [agent for agent in self._order if self.alive[agent]]
        sent = self.mailboxes.sent_before()
        gone: dict[int, WindowError] = {}
        state.feedback = [None] * slots
        for agent in playing:
            plan, rewards[agent] = plans[agent], table.step
            if isinstance(plan, InvalidAction):
                outcomes[agent], state.feedback[agent] = plan.outcome, plan.message[:400]
                rewards[agent] += table.illegal
            elif plan is not None and plan.verb in ("say", "tell"):
                to = plan.parameters.get("agent_id", EVERYONE)
                self.mailboxes.send(self.agents[agent], to, str(plan.parameters["message"]))
            elif plan is not None and plan.verb != STAY:
                self._press(agent, plan.verb, gone)
        for agent in self.mailboxes.senders(sent):
            rewards[agent] += table.message
        time.sleep(config.settle)
        for number in range(len(self._windows)):
            if number not in gone and any(self.window_of(k) == number for k in playing):
                try:
                    self._look(number)
                except WindowError as error:
                    gone[number] = error
        state.t += 1
        self._note_found(rewards, notes)
        self.mailboxes.deliver(self.stream)
        won = bool(config.objects) and set(config.objects) <= set(state.found)
        late = not won and state.t >= config.max_steps
        terminated, truncated = [False] * slots, [False] * slots
        for agent in playing:
            loss = gone.get(self.window_of(agent))
            terminated[agent] = won
            truncated[agent] = not won and (late or loss is not None)
            if won or late:
                lasting = self.wins_by_lasting(agent)
                state.status[agent] = "won" if won or lasting else "lost"
            if loss is not None:
                outcomes[agent], state.feedback[agent] = Outcome.FAILED, str(loss)[:400]
                notes.setdefault(agent, {})["reason"] = loss.reason
                if not won:
                    state.status[agent] = "ended"
            if state.feedback[agent] is not None:
                notes.setdefault(agent, {})["feedback"] = state.feedback[agent]
        if config.shared_reward:
            rewards = shared(rewards, playing)
        ended = any(terminated) or any(truncated)
        return StepResult(rewards, terminated, truncated, outcomes, ended, notes)

    def _press(self, agent: int, verb: str, gone: dict[int, WindowError]) -> None:
        """Press the key of a movement, and note a window that has gone."""
        number = self.window_of(agent)
        if number in gone:
            return
        try:
            self._windows[number].press(self.config.keys[verb], self.config.hold)
        except WindowError as error:
            gone[number] = error

    def _look(self, number: int) -> None:
        """Capture a window and have it described; if that fails, the last description stays."""
        picture = self._windows[number].see()
        self.pictures[number] = picture
        height, width = picture.shape[:2]
        try:
            described = tidy(self._describe(picture), height, width)
        except PiaseError as error:
            for agent in range(len(self.agents)):
                if self.window_of(agent) == number:
                    self.state_of.feedback[agent] = f"The picture is not described: {error}"[:400]
            return
        self.state_of.captions[number] = described.caption
        self.state_of.objects[number] = views.sightings(described, height, width)

    def log_entries(self) -> Sequence[LogEntry]:
        """Return, and then forget, what a model has said about windows, which agents may share."""
        drain = getattr(self._describe, "log_entries", tuple)
        return [(None, *entry) for entry in drain()]

    def _note_found(self, rewards: list[float], notes: dict[int, dict[str, Any]]) -> None:
        """Note what agents see for the first time, and reward what nobody has seen before.

        There is always room left for what is to be found.
        """
        state, wanted = self.state_of, self.config.objects
        for agent in (agent for agent in self._order if self.alive[agent]):
            names = dict.fromkeys(seen.name for seen in state.objects[self.window_of(agent)])
            mine, new = state.own[agent], [name for name in names if name not in state.found]
            room = MOST_FOUND - len({*state.found, *wanted})
            others = [name for name in new if name not in wanted][:room]
            new = [name for name in new if name in wanted or name in others]
            state.found += new
            mine += [name for name in names if name not in mine and name in state.found]
            if new:
                rewards[agent] += self.config.rewards.found * len(new)
                notes.setdefault(agent, {})["found"] = new

    def finish(self, states: Any, who: NDArray[np.bool_], result: Result) -> None:
        """End the episode of some agents."""
        for agent in np.flatnonzero(who[0]).tolist():
            self.state_of.status[agent] = result.value

    @property
    def alive(self) -> Sequence[bool]:
        """Which agents are in play."""
        return [status == "playing" for status in self.state_of.status]

    def result(self, agent: int) -> Result:
        """Return how the episode ended for an agent."""
        status = self.state_of.status[agent]
        return Result(status) if status in ("won", "lost") else Result.ENDED

    def wins_by_lasting(self, agent: int) -> bool:
        """Return whether an agent only has to last: without `objects`, it can only look around."""
        return not self.config.objects

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents press their keys in this order until it is changed."""
        self._order = list(order)

    # -- what agents know -----------------------------------------------------------------

    def facts(self, agent: int) -> ScreenSearchFacts:
        """Return what the agent may know now."""
        state, number = self.state_of, self.window_of(agent)
        found = state.found if self.config.shared_memory else state.own[agent]
        return ScreenSearchFacts(
            agent=self.agents[agent],
            caption=state.captions[number],
            objects=state.objects[number],
            found=tuple(found),
            wanted=tuple(name for name in self.config.objects if name not in found),
            feedback=state.feedback[agent],
            messages=tuple(self.mailboxes.delivered[self.agents[agent]]),
            hint=self.hints[agent],
        )

    def vector(self, facts: ScreenSearchFacts) -> NDArray[np.float32]:
        """Return the vector of the facts."""
        return views.vector_of(facts, self.agents)

    @staticmethod
    def to_text(facts: ScreenSearchFacts, config: ScreenSearchConfig) -> str:
        """Return the prose of the facts."""
        return views.to_text(facts)

    def surroundings(self, facts: ScreenSearchFacts) -> Surroundings:
        """Return facts in the terms of the PiaSE documents."""
        return views.surroundings_of(facts)

    def position(self, agent: int) -> None:
        """Return ``None``: nobody knows where an agent is behind a window."""

    def twin(self, agent: int) -> Self | None:
        """Return ``None``: a window cannot be copied."""
        return None

    # -- what agents can do ---------------------------------------------------------------

    def admissible(self, agent: int) -> list[Command]:
        """Return the movements; what can be said is not listed."""
        return list(TABLE) if self.alive[agent] else []

    def legal(self, agent: int, command: Command) -> bool:
        """Return whether a command is legal now: in play, all but telling oneself or the absent."""
        if command.verb == "tell":
            to = self.agents.index(command.parameters["agent_id"])
            return self.alive[agent] and to != agent and self.alive[to]
        return self.alive[agent] and (command.verb == "say" or command in TABLE)

    def command(self, agent: int, index: int) -> Command | InvalidAction:
        """Return the movement of an index."""
        return TABLE[index]

    def masks(self) -> Sequence[NDArray[np.int8]]:
        """Return each agent's mask: ones while it is in play."""
        return [np.full(len(TABLE), alive, np.int8) for alive in self.alive]

    @property
    def manual(self) -> Manual:
        """The words of the prompt."""
        return manual(self.config)

    # -- the state is a value -------------------------------------------------------------

    def state(self) -> NDArray[np.float64]:
        """Return t, the number of finds, and for each agent: in play, its finds, objects seen."""
        state = self.state_of
        rows = [
            (float(alive), len(state.own[k]), len(state.objects[self.window_of(k)]))
            for k, alive in enumerate(self.alive)
        ]
        return np.array([state.t, len(state.found), *np.ravel(rows)], np.float64)

    def get_state(self) -> dict[str, Any]:
        """Return what is known about the episode, but not what is behind the windows."""
        return {
            "episode": asdict(self.state_of),
            "mail": self.mailboxes.get_state(),
            "stream": self.stream.get_state(),
        }

    def snapshot(self) -> dict[str, Any]:
        """Refuse: windows cannot be put back.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(f"{self.name} has no snapshots: its windows are real")

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Refuse: windows cannot be put back.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(f"{self.name} cannot go back to a state: its windows are real")

    # -- pictures -------------------------------------------------------------------------

    def ansi(self) -> str:
        """Return what each window shows, in words."""
        rows = zip(
            self.config.targets or [("no window", None)], self.state_of.captions, strict=True
        )
        return "\n".join(f"{title or region}: {caption}" for (title, region), caption in rows)

    def rgb(self) -> NDArray[np.uint8]:
        """Return the last picture of each window, side by side."""
        height = max(picture.shape[0] for picture in self.pictures)
        return np.concatenate(
            [
                np.pad(picture, ((0, height - picture.shape[0]), (0, 0), (0, 0)))
                for picture in self.pictures
            ],
            axis=1,
        )
