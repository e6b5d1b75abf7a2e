"""Forks: cut a run at a step, change something, and see what it would have made of the rest.

The prefix is executed again from the log. From its last state two branches go on: one as it was,
one with the change. In K pairs of branches the named random streams are drawn anew, the same in
both branches of a pair, while all others go on as in the run; the mean difference within pairs is
the effect of the change.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents.base import Agent, Feedback, Percept
from piase_gym.agents.catalogue import make_agent, policies
from piase_gym.errors import AgentError, ConfigError, RunError, UnsupportedError, suggest
from piase_gym.faces.driver import Driver, to_act
from piase_gym.mailbox import EVERYONE
from piase_gym.registry import world_spec
from piase_gym.rng import StreamId, episode_seed, stream_key
from piase_gym.runs.manifest import rebuild
from piase_gym.runs.player import Player, read_act
from piase_gym.runs.reader import Event, Run, read
from piase_gym.world import World

RECORDED = "recorded"
"""The policy that does what the log says, and nothing (the no-op) after its end."""
METRICS = ("return", "won", "length")
PARTNER = "partner_"
STREAMS = {s.name.lower(): s for s in StreamId if s is not StreamId.PARTNER}
RESAMPLES = 10_000
Policies = Mapping[str, "str | Agent"]


@dataclass(frozen=True)
class Change:
    """What the second branch of a pair does otherwise.

    Attributes:
        actions: Agent -> what it does in the first step after the cut (an index, a line of text, a
            command), or a mapping of steps (1 is the first) to that.
        messages: Agent -> a message it sends at the cut: a text to all, or (recipient, text).
        hints: Agent -> a hint it is given at the cut.
        policies: Agent -> the policy that plays it from the cut on.
    """

    actions: Mapping[str, Any] = field(default_factory=dict)
    messages: Mapping[str, Any] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    policies: Policies = field(default_factory=dict)

    @property
    def agents(self) -> list[str]:
        """The agents that it concerns, in order."""
        parts = (self.actions, self.messages, self.hints, self.policies)
        return list(dict.fromkeys(name for part in parts for name in part))


@dataclass(frozen=True)
class Branch:
    """How the rest of an episode went.

    Attributes:
        returns: Agent -> sum of rewards after the cut.
        results: Agent -> how its episode ended, for those that ended.
        length: Steps after the cut.
        digests: Digest of the state after each step.
    """

    returns: Mapping[str, float]
    results: Mapping[str, str]
    length: int
    digests: Sequence[str]


@dataclass(frozen=True)
class ForkReport:
    """What a change made of a run.

    Attributes:
        step: The step of the run after which it was cut.
        episode: The episode that was cut.
        agent: The agent that is measured.
        metric: What is measured.
        before: Its value in each pair, without the change.
        after: Its value in each pair, with the change.
        effect: The mean of the differences.
        interval: The 95% interval of the effect (percentile bootstrap over pairs), or ``None`` if
            there is one pair only.
        branches: Both branches of each pair.
        parted: For each pair, the step after the cut in which the branches first differ, or
            ``None``.
    """

    step: int
    episode: int
    agent: str
    metric: str
    before: Sequence[float]
    after: Sequence[float]
    effect: float
    interval: tuple[float, float] | None
    branches: Sequence[tuple[Branch, Branch]]
    parted: Sequence[int | None]

    def __str__(self) -> str:
        """Say it in a line."""
        reach = ""
        if self.interval is not None:
            reach = f", 95% interval {self.interval[0]:+.3f} to {self.interval[1]:+.3f}"
        return (
            f"cut after step {self.step} (episode {self.episode}): {self.metric} of {self.agent} "
            f"{np.mean(self.before):.3f} without, {np.mean(self.after):.3f} with the change; "
            f"effect {self.effect:+.3f}{reach}, {len(self.before)} pairs"
        )


def fork(
    path: str | os.PathLike[str] | Run,
    at: int,
    *,
    actions: Mapping[str, Any] | None = None,
    messages: Mapping[str, Any] | None = None,
    hints: Mapping[str, str] | None = None,
    policies: Policies | None = None,
    players: Policies | None = None,
    pairs: int = 1,
    vary: Sequence[str] = (),
    metric: str | Callable[[Branch], float] = "return",
    agent: str | None = None,
    steps: int | None = None,
    slot: int = 0,
    logs: str | os.PathLike[str] | None = None,
) -> ForkReport:
    """Cut a run, change something, and compare with how it would have gone on.

    Args:
        path: The log, or a run that was read.
        at: The step of the run after which it is cut; 0 is after the first reset.
        actions: See `Change`; so are `messages`, `hints` and `policies`.
        messages: What is said at the cut.
        hints: What is hinted at the cut.
        policies: Who plays from the cut on, in the changed branch.
        players: Who plays from the cut on in both branches. By default an agent's policy of the
            manifest, driven through the prefix again, if it has a name; else ``"recorded"``: what
            the log says.
        pairs: How many pairs of branches.
        vary: Random streams that each pair draws anew: ``"dynamics"``, ``"channel"``, ``"layout"``,
            ``"partner_<agent>"``.
        metric: ``"return"``, ``"won"``, ``"length"``, or a function of a `Branch`.
        agent: Whom to measure; default the first that is changed.
        steps: Steps after the cut; default to the episode's end.
        slot: Which environment of a batch.
        logs: A folder for logs of all branches, which can be replayed.

    Returns:
        The effect of the change, with an interval where there are several pairs.

    Raises:
        RunError: If the run cannot be executed up to the cut, or no episode is going on there.
        AgentError: If an agent does not exist.
        ConfigError: If an argument is not allowed.
        UnsupportedError: If the world has no mailboxes, or its streams cannot be drawn anew.
    """
    run = path if isinstance(path, Run) else read(path)
    change = Change(actions or {}, messages or {}, hints or {}, policies or {})
    _check(run, change, players or {}, pairs, vary, metric, agent, at)
    cut = _Cut(run, at, slot, players or {})
    measured = agent or next(iter(change.agents), run.agents[0])
    found = []
    for number in range(pairs):
        place = None if logs is None else Path(logs) / f"pair_{number}"
        one = cut.branch(None, number, vary, steps, place)
        found.append((one, cut.branch(change, number, vary, steps, place)))
    before = [_value(one, metric, measured) for one, _ in found]
    after = [_value(other, metric, measured) for _, other in found]
    differences = np.subtract(after, before)
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    parted = [_parting(one, other) for one, other in found]
    return ForkReport(
        at,
        cut.episode,
        measured,
        name,
        before,
        after,
        float(differences.mean()),
        _interval(differences),
        found,
        parted,
    )


def _check(
    run: Run,
    change: Change,
    players: Policies,
    pairs: int,
    vary: Sequence[str],
    metric: Any,
    agent: str | None,
    at: int,
) -> None:
    """Raise if an argument is not allowed."""
    if not isinstance(at, int) or isinstance(at, bool) or at < 0:
        raise ConfigError(f"a run is cut after a step, 0 or more, not {at!r}")
    if not isinstance(pairs, int) or isinstance(pairs, bool) or pairs < 1:
        raise ConfigError(f"pairs must be a positive number, not {pairs!r}")
    if isinstance(metric, str) and metric not in METRICS:
        raise ConfigError(f"unknown metric {metric!r}; {suggest(metric, METRICS)}")
    names = [*change.agents, *players, *([agent] if agent is not None else [])]
    wrong = [name for name in names if name not in run.agents]
    if wrong:
        raise AgentError(f"there is no agent {wrong[0]!r}; agents are {', '.join(run.agents)}")
    if isinstance(vary, str):
        raise ConfigError(f"vary is a list of streams, such as [{vary!r}]")
    known = [*STREAMS, *(PARTNER + name for name in run.agents)]
    strange = [name for name in vary if name not in known]
    if strange:
        raise ConfigError(f"unknown random stream {strange[0]!r}; {suggest(strange[0], known)}")


class _Cut:
    """A run that was executed again up to its cut."""

    def __init__(self, run: Run, at: int, slot: int, players: Policies) -> None:
        """Drive the prefix; what follows in the log is kept for agents that repeat it."""
        self.run, self.slot = run, slot
        self.agents: dict[str, Agent] = {}
        for name in run.agents:
            policy = players.get(name) or _known(run.manifest.get("policies", {}).get(name))
            if policy != RECORDED:
                self.agents[name] = make_agent(policy)
                self.agents[name].set_id(name)
        self.seed = self.episode = self.since = -1
        self.rest: list[dict[str, Any]] = []
        self.player = Player(run)
        self.player.on_reset, self.player.before_step = self._reset, self._perceive
        self.player.on_step = self._learn
        self._drive(at)
        world = self.player.world(slot)
        if self.seed < 0 or not any(world.alive):
            raise RunError(f"no episode is going on after step {at}; cut it elsewhere")
        self.snapshot = self._value(world)

    def _drive(self, at: int) -> None:
        """Execute all lines before the first step after the cut, then keep the episode's rest."""
        over, last = False, 0
        for number, event in self.player.events():
            data = event["event_data"]
            here = data.get("slot", 0) == self.slot
            if data.get("kind") == "step":
                over, last = over or event["step"] > at, event["step"]
            if not over:
                self.player.play(number, event)
                found = self.player.report.first_divergence
                if found is not None:
                    raise RunError(f"the run cannot be executed up to the cut: {found}")
            elif here and data.get("kind") == "step":
                self.rest.append(data["commands"])
            elif here and data.get("kind") in ("reset", "restore"):
                break
        if last < at:
            raise RunError(f"the run has {last} steps; it cannot be cut after step {at}")

    def _reset(self, slot: int, event: Event) -> None:
        """Let agents begin an episode, as faces do."""
        if slot != self.slot:
            return
        self.seed, self.episode, self.since = event["event_data"]["seed"], event["episode"], 0
        for name, agent in self.agents.items():
            number = self.run.agents.index(name)
            agent.reset(stream_key(self.seed, StreamId.PARTNER + number))

    def _perceive(self, slot: int, event: Event) -> None:
        """Let agents see what they saw and choose; what they did then is in the log."""
        if slot != self.slot:
            return
        world = self.player.world(slot)
        for name, agent in self.agents.items():
            number = self.run.agents.index(name)
            if world.alive[number]:
                agent.perceive(Percept(world, number, self.since))
                agent.act()

    def _learn(self, slot: int, event: Event, tick: Any) -> None:
        """Let agents learn what followed."""
        if slot != self.slot:
            return
        self.since += 1
        for name, agent in self.agents.items():
            if name in event["event_data"]["commands"]:
                _teach(agent, tick, self.run.agents.index(name))

    def _value(self, world: World[Any, Any]) -> dict[str, Any]:
        """Return the state at the cut as a driver takes it up."""
        episode = {"base": self.seed, "number": 0, "seed": self.seed, "steps": self.since}
        return {**world.snapshot(), "episode": episode, "partners": {}, "next_config": None}

    # -- branches -------------------------------------------------------------------------

    def branch(
        self,
        change: Change | None,
        pair: int,
        vary: Sequence[str],
        steps: int | None,
        logs: Path | None,
    ) -> Branch:
        """Go on from the cut, with or without the change."""
        world = rebuild(self.run.manifest)
        driver = Driver(world, world_spec(world.name))
        driver.restore(self.snapshot)
        agents = {name: _twin(agent) for name, agent in self.agents.items()}
        if change is not None:
            agents |= {n: self._newcomer(n, p) for n, p in change.policies.items()}
        self._vary(world, agents, pair, vary)
        recorder = None
        if logs is not None:
            from piase_gym.runs.recording import record

            name = "before.jsonl" if change is None else "after.jsonl"
            recorder = record(driver, logs / name, overwrite=True, run_id=f"{logs.name}-{name}")
        if change is not None:
            _intervene(driver, change)
        try:
            return self._go_on(driver, agents, change, steps)
        finally:
            if recorder is not None:
                recorder.finish("the branch ends")

    def _newcomer(self, name: str, policy: str | Agent) -> Agent:
        """Seat a policy at the cut."""
        agent = make_agent(policy) if isinstance(policy, str) else _twin(policy)
        agent.set_id(name)
        agent.reset(stream_key(self.seed, StreamId.PARTNER + self.run.agents.index(name)))
        return agent

    def _vary(
        self, world: World[Any, Any], agents: Mapping[str, Agent], pair: int, vary: Sequence[str]
    ) -> None:
        """Draw the named streams anew, the same in both branches of a pair."""
        seed = episode_seed(self.seed, pair + 1)
        for name in vary:
            if name in STREAMS:
                _rekey(world, STREAMS[name], seed)
                continue
            partner = name.removeprefix(PARTNER)
            if partner in agents:
                number = self.run.agents.index(partner)
                agents[partner].reset(stream_key(seed, StreamId.PARTNER + number))

    def _go_on(
        self,
        driver: Driver,
        agents: Mapping[str, Agent],
        change: Change | None,
        steps: int | None,
    ) -> Branch:
        """Play on to the end."""
        world, names = driver.world, driver.world.agents
        returns, results = dict.fromkeys(names, 0.0), dict[str, str]()
        digests: list[str] = []
        while any(world.alive) and (steps is None or len(digests) < steps):
            alive, count = list(world.alive), len(digests)
            acts: list[Any] = [None] * len(names)
            for number, name in enumerate(names):
                if alive[number]:
                    acts[number] = self._choose(driver, agents.get(name), number, count, change)
            tick = driver.step(acts)
            for number, name in enumerate(names):
                returns[name] += float(tick.rewards[number])
                if alive[number] and name in agents:
                    _teach(agents[name], tick, number)
                if tick.terminated[number] or tick.truncated[number]:
                    results[name] = str(world.result(number))
            driver.end_step(tick)
            digests.append(world.digest())
        return Branch(returns, results, len(digests), digests)

    def _choose(
        self, driver: Driver, agent: Agent | None, number: int, count: int, change: Change | None
    ) -> Any:
        """Return what an agent does in a step after the cut."""
        world = driver.world
        name = world.agents[number]
        act: Any = world.noop
        if agent is not None:
            agent.perceive(Percept(world, number, driver.steps))
            act = to_act(world, number, agent.act())
        elif count < len(self.rest) and name in self.rest[count]:
            act = read_act(self.rest[count][name])
        wanted = change.actions.get(name) if change is not None else None
        if isinstance(wanted, Mapping) and "type" not in wanted:
            wanted = wanted.get(count + 1)
        elif count > 0:
            wanted = None
        if isinstance(wanted, Mapping):
            return read_act(wanted)
        return act if wanted is None else to_act(world, number, wanted)


def _known(policy: Any) -> str:
    """Return a policy of a manifest if it can be made from its name."""
    return policy if policy in policies() else RECORDED


def _twin(agent: Agent) -> Agent:
    """Return a copy of an agent in its present state, without what it has in view."""
    percept, agent.percept = agent.percept, None
    try:
        return copy.deepcopy(agent)
    finally:
        agent.percept = percept


def _teach(agent: Agent, tick: Any, number: int) -> None:
    """Tell an agent what followed from its action."""
    agent.learn(
        Feedback(
            tick.rewards[number],
            tick.terminated[number],
            tick.truncated[number],
            tick.outcomes[number],
        )
    )


def _intervene(driver: Driver, change: Change) -> None:
    """Say and hint what the change says and hints."""
    world = driver.world
    for name, hint in change.hints.items():
        world.give_hint(driver.number(name), hint)
        driver.events.post("hint", name, message=hint)
    for name, said in change.messages.items():
        if world.mailboxes is None:
            raise UnsupportedError(f"{world.name} has no mailboxes; its agents cannot write")
        recipient, text = (EVERYONE, said) if isinstance(said, str) else said
        letter = world.mailboxes.send(name, recipient, text)
        driver.events.post("send", name, own=False, **letter._asdict())


def _rekey(world: World[Any, Any], stream: StreamId, seed: int) -> None:
    """Let one random stream of a world go on from another seed."""
    key, states = stream_key(seed, stream), getattr(world, "states", None)
    streams = getattr(world, "streams", None)
    if isinstance(states, np.ndarray) and "keys" in (states.dtype.names or ()):
        states["keys"][0, int(stream)] = key
    elif isinstance(streams, Mapping) and stream in streams:
        streams[stream].key = key
    else:
        raise UnsupportedError(f"{world.name} has no stream {stream.name.lower()!r} to draw anew")


def _value(branch: Branch, metric: str | Callable[[Branch], float], agent: str) -> float:
    """Measure a branch."""
    if not isinstance(metric, str):
        return float(metric(branch))
    if metric == "won":
        return float(branch.results.get(agent) == "won")
    return float(branch.length) if metric == "length" else branch.returns[agent]


def _parting(one: Branch, other: Branch) -> int | None:
    """Return the step in which two branches first differ."""
    for place, (left, right) in enumerate(zip(one.digests, other.digests, strict=False)):
        if left != right:
            return place + 1
    return None if one.length == other.length else min(one.length, other.length) + 1


def _interval(differences: Any) -> tuple[float, float] | None:
    """Return the 95% percentile bootstrap interval of a mean over pairs."""
    count = len(differences)
    if count < 2:
        return None
    draws = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    low, high = np.percentile(differences[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
