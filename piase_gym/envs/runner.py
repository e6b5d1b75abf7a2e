"""What every environment has in common: seeds and episodes, partners, events, order of calls.

A runner holds one world and drives it. It knows nothing of any API; environments translate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from piase_gym.agents.base import Agent, Feedback, Percept, ask
from piase_gym.core.config import larger
from piase_gym.core.events import Events
from piase_gym.core.interrupts import uninterrupted
from piase_gym.core.rng import check_seed, episode_seed, fresh_seed, partner_seed
from piase_gym.core.snapshot import check_snapshot
from piase_gym.core.world import Act, StepResult, World
from piase_gym.envs.actions import decode_answer, no_acts
from piase_gym.envs.config_changes import Modified, read_changes, split_changes
from piase_gym.envs.episode_snapshot import EPISODE, check_partner_state, read_episode
from piase_gym.envs.partners import Partners, agent_number, assign_partners, post_asides
from piase_gym.errors import (
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    ResetNeededError,
    UnsupportedError,
)
from piase_gym.registry import WorldSpec

KNOWN_OPTIONS = ("config",)
MOST_DRAWS = 100
"""The maximum number of draws of a level in a row, where some are not admitted."""


class EpisodeRunner:
    """Drives one world through episodes, with the agents that the caller does not play.

    Attributes:
        world: The world.
        events: The bus on which everything that happens is posted.
        partners: Agent number -> the agent that plays it.
        caller_agents: Numbers of the agents that the caller plays.
        seed: The effective seed of the present episode, or ``None`` before the first.
        steps: Steps done in the present episode.
        live: Numbers of the caller's agents that are in play now.
        next_config: The config that holds from the next reset on, if it is another one.
        last_step: What the last step did, or ``None`` before the first.
        reset_failed: Whether the last reset raised an error and left no episode behind.
    """

    def __init__(
        self,
        world: World[Any, Any],
        spec: WorldSpec,
        partners: Partners | None = None,
    ) -> None:
        """Take the world and seat the partners.

        Raises:
            AgentError: If a partner's seat does not exist, or nobody is left to the caller.
            UnknownNameError: If a policy does not exist.
        """
        self.world = world
        self.spec = spec
        self.events = Events()
        self.partners = assign_partners(world, partners)
        self.caller_agents = [i for i in range(len(world.agents)) if i not in self.partners]
        self.seed: int | None = None
        self.steps = 0
        self.live: list[int] = []
        self.last_step: StepResult | None = None
        self.time_limit: int | None = None
        """The limit of a `TimeLimit` around the environment; no config may have a longer one."""
        self.stepwise = False
        """Whether `play` takes a single step; the caller then asks which agents go on."""
        self.admits: Callable[[World[Any, Any]], bool] | None = None
        """Decides whether a level that was just drawn may be played; if not, the next is drawn."""
        self._letters = 0
        self._order: list[int] | None = None
        """The order in which agents act, if it was set; ``None`` is that of their numbers."""
        self._base: int | None = None
        self._episode = 0
        self._next_seed: int | None = None
        self.next_config: Any = None
        self.reset_failed = False
        self._closed = False

    # -- order of calls -------------------------------------------------------------------

    def number(self, agent: str | None) -> int:
        """Return the number of an agent.

        Raises:
            AgentError: If there is no such agent.
        """
        return agent_number(self.world.agents, agent)

    def require_open(self) -> None:
        """Raise `ClosedError` after `close`."""
        if self._closed:
            raise ClosedError(f"this {self.world.name} is closed; make another one")

    def require_episode(self) -> None:
        """Raise `ResetNeededError` before the first reset, and after one that failed."""
        self.require_open()
        if self.seed is None:
            raise ResetNeededError(f"this {self.world.name} was never reset; call reset() first")
        if self.reset_failed:
            raise ResetNeededError(f"the last reset of this {self.world.name} failed; reset it")

    @property
    def running(self) -> bool:
        """Whether an episode is going on."""
        return self.seed is not None and not self.reset_failed and any(self.world.alive)

    # -- episodes -------------------------------------------------------------------------

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode.

        After ``reset(seed=s)`` the effective seed is s; each reset without a seed goes on from
        there deterministically. An environment that was never seeded draws its first seed from
        the operating system.

        Raises:
            ConfigError: If the seed is not allowed.
            GenerationError: If no level can be made; then there is no episode, and the config that
                was to hold from now on is still waiting.
        """
        self.require_open()
        if seed is not None:
            base, episode = check_seed(seed), 0
        elif self._next_seed is not None:
            base, episode = self._next_seed, 0
        elif self._base is None:
            base, episode = fresh_seed(), 0
        else:
            base, episode = self._base, self._episode + 1
        if options is not None:
            self._take_options(options)
        self.reset_failed, self.live = True, []
        self._next_seed = None
        before, config = self.world.base_config, self.next_config
        if config is not None:
            self.world.configure(config)
        try:
            effective, episode = self._draw_level(base, episode)
        except BaseException:
            if config is not None:
                self.world.configure(before)
            raise
        self.next_config = None
        self._base, self._episode = base, episode
        self.seed, self.steps, self._letters, self._order = effective, 0, 0, None
        self._find_played()
        for number, agent in self.partners.items():
            agent.reset(partner_seed(effective, number))
        self.reset_failed = False
        if self.events.active:
            self.events.post("reset", seed=effective, episode=self._episode)
            self.events.post("begun")  # all listeners know of it, and no agent has seen anything

    def _draw_level(self, base: int, episode: int) -> tuple[int, int]:
        """Reset the world to a level, the first that is admitted.

        Returns:
            The effective seed, and the number of its episode.
        """
        if self.admits is None:
            effective = episode_seed(base, episode)
            self.world.reset(effective)
            return effective, episode
        for number in range(episode, episode + MOST_DRAWS):
            effective = episode_seed(base, number)
            self.world.reset(effective)
            if self.admits(self.world):
                return effective, number
        raise GenerationError(
            f"{MOST_DRAWS} draws gave no level that is admitted; {self.world.name} has too few "
            "levels to keep some apart"
        )

    def set_next_seed(self, seed: int) -> None:
        """Let the next reset without a seed use this one; later episodes follow from it.

        Raises:
            ConfigError: If the seed is not allowed.
        """
        self._next_seed = check_seed(seed)

    def _take_options(self, options: Mapping[str, Any]) -> None:
        """Use known reset options; others only warn, because checkers pass them."""
        check_options(options, KNOWN_OPTIONS, stacklevel=5)
        if "config" in options:
            self.reconfigure(options["config"])

    def _find_played(self) -> None:
        """Find out which of the caller's agents are in play."""
        alive, live = self.world.alive, []
        for i in self.caller_agents:
            if alive[i]:
                live.append(i)
        self.live = live

    def play(self, acts: Sequence[Act]) -> StepResult:
        """Let the caller's agents act, and go on until a command of one of them has ended.

        That takes one step, except for commands that last (`World.lasting`). Each step is logged
        and asks the partners; the result is that of all steps together.

        Args:
            acts: As for `step`.
        """
        result = self.step(acts)
        if self.stepwise or not self.world.lasting:
            return result
        while not result.ended and self.live:
            going = {number: self.world.under_way(number) for number in self.live}
            if None in going.values():
                break
            further = no_acts(self.world)
            for number, command in going.items():
                further[number] = command
            result = join_steps(result, self.step(further))
        return result

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Take one step: let partners act, advance the world, let partners learn.

        Args:
            acts: An entry for every agent of the world; those of partners are filled in.
        """
        if self.partners or self.events.wants_steps:
            return self._step_with_others(acts)
        self.last_step = result = self.world.step(acts)
        self.steps += 1
        if self.world.mailboxes is not None:
            self._letters = len(self.world.mailboxes.history)  # nobody will hear of these
        return result

    def _step_with_others(self, acts: Sequence[Act]) -> StepResult:
        """Take one step in which partners act or about which somebody wants to know."""
        playing: Sequence[int] = ()
        if self.partners:
            acts = list(acts)
            playing = self._ask_partners(acts)
        if self.events.wants_steps:
            with uninterrupted:
                return self._take_step(acts, playing)
        return self._take_step(acts, playing)

    def _take_step(self, acts: Sequence[Act], playing: Sequence[int]) -> StepResult:
        """Advance the world, and tell partners and listeners what happened."""
        heard, partners = self.events.wants_steps, self.partners
        decoded = self._decode(acts) if heard and self.events.decodes else None
        self.last_step = result = self.world.step(acts)
        self.steps += 1
        if partners:
            rewards, terminated, truncated, outcomes, *_ = result
            for i in playing:
                partners[i].learn(Feedback(rewards[i], terminated[i], truncated[i], outcomes[i]))
        if heard:
            if decoded is not None or result.notes or self.world.mailboxes is not None:
                self._post_step(decoded, result)
            for watcher, commands in self.events.watchers:
                watcher(decoded if commands else acts, result)
        elif self.world.mailboxes is not None:
            self._letters = len(self.world.mailboxes.history)  # nobody will hear of these
        return result

    def _decode(self, acts: Sequence[Act]) -> list[Act]:
        """Return acts as commands, while indices still mean what they meant to the agents."""
        world = self.world
        alive, count = world.alive, world.num_actions
        return [
            world.command(i, act)
            if alive[i] and isinstance(act, int) and 0 <= act < count
            else act  # the world itself refuses what is not in the table
            for i, act in enumerate(acts)
        ]

    def _post_step(self, commands: list[Act] | None, result: StepResult) -> None:
        """Post what happened in a step, and the letters sent in it."""
        events = self.events
        if commands is not None:
            events.post("step", commands=commands, result=result, step=self.steps)
        for agent, notes in result.notes.items():
            for milestone in notes.get("milestones", ()):
                events.post("milestone", self.world.agents[agent], name=milestone)
        if self.world.mailboxes is not None:
            letters = self.world.mailboxes.history
            for letter in letters[self._letters :]:
                events.post("message", letter["sender"], **letter)
            self._letters = len(letters)

    def set_order(self, order: Sequence[int]) -> None:
        """Let agents act in this order until it is changed; see `World.set_order`."""
        self.world.set_order(order)
        before = range(len(self.world.agents)) if self._order is None else self._order
        if list(order) != list(before):
            self._order = list(order)
            self.events.post("order", order=self._order)

    def end_step(self, result: StepResult) -> None:
        """Forget the agents that ended in a step, after its infos were built."""
        if result.ended or self.world.awaiting_agents:
            self._find_played()

    @property
    def why_idle(self) -> str:
        """Why none of the caller's agents is in play."""
        names = " and ".join(self.world.agents[i] for i in self.caller_agents)
        whose = f" for {names}, or has yet to begin" if any(self.world.alive) else ""
        return f"the episode is over{whose}"

    def wait_for_entry(self) -> None:
        """Let the partners play until one of the caller's agents enters.

        Raises:
            AgentError: If the episode is over before.
        """
        while not self.live:
            if not any(self.world.alive):
                names = ", ".join(self.world.agents[i] for i in self.caller_agents)
                raise AgentError(f"the episode is over before {names} enters")
            self.end_step(self.step(no_acts(self.world)))

    def _ask_partners(self, acts: list[Act]) -> list[int]:
        """Fill in what the partners do, and return the numbers of those in play.

        A partner with a command under way goes on with it.
        """
        alive, world = self.world.alive, self.world
        playing = [number for number in self.partners if alive[number]]
        for number in playing:
            acts[number] = world.under_way(number)
        asked = [number for number in playing if acts[number] is None]
        for number in asked:
            self.partners[number].perceive(Percept(world, number, self.steps))
        answers = ask([self.partners[number] for number in asked])
        for number, answer in zip(asked, answers, strict=True):
            agent = self.partners[number]
            acts[number] = decode_answer(world, number, answer)
            post_asides(agent, number, world, self.events)
            if self.events.active and (shown := agent.internal_state()):
                self.events.post("state", world.agents[number], state=shown)
        return playing

    # -- configuration --------------------------------------------------------------------

    @property
    def never_reset(self) -> bool:
        """Whether there was no episode yet, so that spaces may still change."""
        return self.seed is None

    def grow_envelope(
        self, envelope: Mapping[str, int], partners: Mapping[str, str | Agent] | None = None
    ) -> None:
        """Rebuild the world with a larger envelope, before the first reset; posts ``rebuild``.

        Args:
            envelope: Sizes that later configs may have, besides those that they may have now.
            partners: Partners for seats that are new.

        Raises:
            EnvelopeError: If there was a reset already, or a size is unknown or not allowed.
        """
        self.require_open()
        old = self.world
        config = larger(old.config, old.envelope, envelope)
        if not self.never_reset:
            raise EnvelopeError(f"this {old.name} was reset, so its spaces are fixed")
        self.world = type(old)(config)
        seats = {old.agents[number]: agent for number, agent in self.partners.items()}
        self.partners = assign_partners(self.world, {**(partners or {}), **seats})
        self.caller_agents = [i for i in range(len(self.world.agents)) if i not in self.partners]
        old.close()
        if self.events.active:
            self.events.post("rebuild")

    def reconfigure(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the config from the next reset on; spaces stay as they are.

        Raises:
            ConfigError: If a field is unknown or not allowed.
            EnvelopeError: If the new config does not fit the envelope.
        """
        self.require_open()
        current = self.next_config or self.world.base_config
        config = current.changed(read_changes("reconfigure", changes))
        self.world.check_config(config)
        self.set_next_config(config)

    def modify(self, changes: Mapping[str, Any]) -> Modified:
        """Change config fields: at once those that may change within an episode, the rest later.

        If no episode is running, everything waits for the next reset.

        Raises:
            ConfigError: If a field is unknown or not allowed; nothing has changed then.
            EnvelopeError: If the new config does not fit the envelope.
        """
        self.require_open()
        changes = read_changes("modify", changes)
        world, before = self.world, self.world.config
        config = before.changed(changes)
        later = (self.next_config or world.base_config).changed(changes)
        for checked in (config, later):
            self._check_time_limit(checked)
            world.check_config(checked)
        found = split_changes(world, before, config, self.running)
        if found.now:
            world.modify(found.now)
            if self.events.active:
                self.events.post("modify", changes=before.diff(world.config))
        if found.waiting or self.next_config is not None:
            self.set_next_config(later)
        return found

    def set_next_config(self, config: Any) -> None:
        """Let a config hold from the next reset on; it must be one that the world admits.

        Raises:
            ConfigError: If its episodes are longer than a `TimeLimit` around the environment.
        """
        self._check_time_limit(config)
        if self.events.active:
            current = self.next_config or self.world.base_config
            self.events.post("reconfigure", changes=current.diff(config))
        self.next_config = config

    def _check_time_limit(self, config: Any) -> None:
        """Raise if a config has longer episodes than a `TimeLimit` around the environment."""
        if self.time_limit is not None and config.max_steps > self.time_limit:
            raise ConfigError(
                f"max_steps={config.max_steps} is not allowed: this environment was made with "
                f"max_episode_steps={self.time_limit}; make it with max_steps={config.max_steps}"
            )

    # -- the state is a value -------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return world, episode and partners as one JSON-serializable value."""
        self.require_episode()
        pending = self.next_config
        return {
            **self.world.snapshot(),
            "episode": dict(
                zip(EPISODE, (self._base, self._episode, self.seed, self.steps), strict=True)
            ),
            "partners": {
                self.world.agents[i]: agent.get_state() for i, agent in self.partners.items()
            },
            "next_config": pending and pending.saved(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore what `snapshot` returned, here or in another process.

        Raises:
            SnapshotError: If it is of another world or version, or damaged.
            UnsupportedError: If a `TimeLimit` around the environment has counted more steps.
        """
        self.require_open()
        world = self.world
        check_snapshot(snapshot, world.snapshot_header(), world.base_config)
        seats = {self.world.agents[i]: i for i in self.partners}
        episode, partners, pending = read_episode(snapshot, seats, self.spec)
        if self.time_limit is not None and (self.never_reset or episode[-1] < self.steps):
            raise UnsupportedError(
                f"this environment was made with max_episode_steps={self.time_limit}, whose steps "
                f"the TimeLimit around it counts; make it with max_steps={self.time_limit} to go "
                "back to a snapshot"
            )
        if pending is not None:
            self.world.check_config(pending)
        for name, state in partners.items():
            check_partner_state(self.partners[seats[name]], name, state)
        self.world.restore(snapshot)
        for name, state in partners.items():
            self.partners[seats[name]].set_state(state)
        self._base, self._episode, self.seed, self.steps = episode
        self.reset_failed = False
        self.next_config = pending
        self._letters = len(self.world.mailboxes.history) if self.world.mailboxes else 0
        self._find_played()
        self._order = []
        if self.events.active:
            self.events.post("restore", seed=self.seed, step=self.steps, snapshot=snapshot)

    def close(self) -> None:
        """Close the world; closing twice does no harm."""
        if not self._closed:
            self._closed = True
            self.live = []
            try:
                self.events.post("close")  # while the world can still be looked at
            finally:
                self.world.close()


def check_options(options: object, known: Sequence[str], stacklevel: int) -> None:
    """Warn of unknown reset options, which checkers of libraries pass.

    Raises:
        ConfigError: If they are not a mapping.
    """
    if not isinstance(options, Mapping | None):
        raise ConfigError(f"reset options are a mapping, not {type(options).__name__}")
    for name in options or ():
        if name not in known:
            message = f"reset option {name!r} is unknown and ignored; known: {', '.join(known)}"
            warnings.warn(message, UserWarning, stacklevel=stacklevel)


def join_steps(first: StepResult, then: StepResult) -> StepResult:
    """Return what two steps did together, if no agent ended in the first.

    Rewards and milestones of both count; everything else is as after the second.
    """
    notes = {agent: dict(note) for agent, note in first.notes.items()}
    for agent, note in then.notes.items():
        known = notes.setdefault(agent, {})
        reached = [*known.get("milestones", ()), *note.get("milestones", ())]
        known |= {**note, **({"milestones": reached} if reached else {})}
    rewards = [a + b for a, b in zip(first.rewards, then.rewards, strict=True)]
    return then._replace(rewards=rewards, notes=notes)
