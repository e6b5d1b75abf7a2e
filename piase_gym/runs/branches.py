"""The branches of a fork: a prefix is executed again, and an episode continues from there."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.agents.base import Agent, Feedback, Percept
from piase_gym.agents.llm.agent import LLMAgent
from piase_gym.agents.policy_registry import check_policy, make_agent, why_untrusted
from piase_gym.agents.population import PopulationAgent
from piase_gym.agents.simple import OracleAgent, ScriptedAgent
from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.mailbox import EVERYONE
from piase_gym.core.rng import StreamId, episode_seed, partner_seed, stream_key
from piase_gym.core.world import World
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.episode_snapshot import check_partner_state
from piase_gym.envs.partners import post_asides
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    PiaseError,
    RunError,
    UnknownNameError,
    UnsupportedError,
    suggest,
)
from piase_gym.registry import world_spec
from piase_gym.runs.manifest import rebuild, require_slot
from piase_gym.runs.reader import Run
from piase_gym.runs.replayer import Replayer, read_act
from piase_gym.runs.schema import LINE_DAMAGE, Event, kind_of

RECORDED = "recorded"
"""The policy that does what the log says, and nothing (the no-op) after its end."""
PARTNER = "partner_"
BRANCHES = ("before.jsonl", "after.jsonl")
"""The logs of a pair: without the change, and with it."""
GIVEN = ("modify", "order", "hint", "send", "poll")
"""The kinds of lines that say what an episode was given from outside, between two steps."""
STREAMS = {s.name.lower(): s for s in StreamId if s is not StreamId.PARTNER}
Policies = Mapping[str, "str | Agent"]


@dataclass(frozen=True)
class Change:
    """What the second branch of a pair does differently.

    Attributes:
        actions: Agent -> what it does in the first step after the cut (an index, a line of text, a
            command), or a mapping from steps (1 is the first) to actions.
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


class RunUntilCut:
    """A run that was executed again up to its cut."""

    def __init__(self, run: Run, at: int, slot: int, players: Policies) -> None:
        """Execute the prefix; the rest of the episode is kept for agents that repeat it."""
        require_slot(run.manifest, slot)
        self.run, self.slot, self._players = run, slot, players
        self.agents: dict[str, Agent] = {}
        self.notes: list[str] = []
        for name in run.agents:
            logged = run.manifest.get("policies", {}).get(name)
            policy = players.get(name) or _named_policy(logged)
            why = why_untrusted(logged) if isinstance(logged, str) else None
            if name not in players and why is not None:
                self.notes.append(
                    f"{name} does what the log says: a log cannot make us {why}; who trusts it "
                    f"names it: players={{{name!r}: ...}}"
                )
            if policy != RECORDED:
                self.agents[name] = make_agent(policy)
                self.agents[name].set_id(name)
        self.seed = self.episode = -1
        self.rest: list[dict[str, Any]] = []
        self.given: dict[int, list[dict[str, Any]]] = {}
        """What the log gives from outside after the cut, by the number of steps before it."""
        self.replayer = Replayer(run)
        self.replayer.on_reset, self.replayer.on_step = self._reset, self._learn
        self._drive(at)
        world = self.replayer.world(slot)
        if self.seed < 0 or not any(world.alive):
            raise RunError(f"no episode is going on after step {at}; cut it elsewhere")
        self.snapshot = self._value(world)

    def check(self, change: Change, vary: Sequence[str] = ()) -> None:
        """Check the commands and messages of a change, and who is drawn anew, before anything runs.

        Raises:
            ActionError: If a command is none, or is not allowed to its agent at the cut.
            AgentError: If an agent is not in play at the cut.
            ConfigError: If a partner that is drawn anew does what the log says, or a message is
                none.
        """
        for name in vary:
            partner = name.removeprefix(PARTNER)
            if name not in STREAMS and partner not in (*self.agents, *change.policies):
                raise ConfigError(
                    f"{name} draws nothing, for {partner} does what the log says; name who plays "
                    f"it: players={{{partner!r}: ...}}"
                )
        for name, said in change.messages.items():
            parts = said if isinstance(said, list | tuple) else (EVERYONE, said)
            if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
                raise ConfigError(
                    f"a message of {name} is a text, or (recipient, text), not {said!r:.60}"
                )
        world = self.replayer.world(self.slot)
        for name, wanted in change.actions.items():
            number = world.agents.index(name)
            if not world.alive[number]:
                playing = [n for n, alive in zip(world.agents, world.alive, strict=True) if alive]
                raise AgentError(
                    f"{name} is not in play at the cut; in play are {', '.join(playing)}"
                )
            for step, act in _steps(name, wanted).items():
                _check_act(world, number, act, step)

    def _drive(self, at: int) -> None:
        """Execute all lines before the cut, then keep the episode's rest.

        What agents say or read belongs to the step that follows; anything else that happens before
        the first step after the cut is before the cut.
        """
        over, last = False, 0
        held: list[tuple[int, Event, bool]] = []  # what agents have said, and what followed
        for number, event in self.replayer.events():
            data = event["event_data"]
            kind, here = kind_of(event["event_type"], data), data.get("slot", 0) == self.slot
            given, begins = here and kind in GIVEN, here and kind in ("reset", "restore")
            # Other things that agents say are heard in the step itself; before the cut they need
            # not wait.
            waits = given and (event["step"] == at or kind == "hint")
            if kind == "step":
                over, last = over or event["step"] > at, event["step"]
            if not over:
                said = waits and _author(data, self.run.agents) is not None
                held.append((number, event, given))
                acted = here and kind == "step"
                if begins or acted or (not said and len(held) == 1):
                    if acted and self.seed >= 0:
                        # All have chosen before anybody hears what was said meanwhile.
                        self._act(self._commands(number, data))
                    for line, what, _ in held:
                        self._play(line, what)
                    held.clear()
            elif begins:
                break
            elif given:
                self.given.setdefault(len(self.rest), []).append(data)
            elif here and kind == "step":
                self.rest.append(self._commands(number, data))
        if held:
            self.given[0] = [what["event_data"] for _, what, given in held if given]
        if last < at:
            raise RunError(f"the run has {last} steps; it cannot be cut after step {at}")

    def _play(self, number: int, event: Event) -> None:
        """Execute a line; raise `RunError` if something differs."""
        self.replayer.play(number, event)
        report = self.replayer.report
        found = report.first_divergence or report.broken
        if found is not None:
            raise RunError(f"the run cannot be executed up to the cut: {found}")

    def _reset(self, slot: int, event: Event) -> None:
        """Let agents begin an episode, or go on from a snapshot, as environments do."""
        if slot != self.slot:
            return
        data = event["event_data"]
        self.seed, self.episode = data["seed"], event["episode"]
        states = data.get("snapshot", {}).get("partners", {})
        for name, agent in self.agents.items():
            agent.reset(partner_seed(self.seed, self.run.agents.index(name)))
            if name in states and name not in self._players:
                check_partner_state(agent, name, states[name])
                agent.set_state(states[name])

    def _commands(self, number: int, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what agents did in the step of a line, as the log has it.

        Raises:
            RunError: If the line does not say it.
        """
        commands = data.get("commands")
        try:
            if not isinstance(commands, dict):
                raise RunError("a step without commands")
            for act in commands.values():
                read_act(act)
        except RunError as error:
            raise RunError(f"{self.run.path}: line {number}: {error}") from None
        return commands

    def _act(self, commands: Mapping[str, Any]) -> None:
        """Let agents see what they saw and choose; what they did is taken from the log."""
        world = self.replayer.world(self.slot)
        for name, agent in self.agents.items():
            number = self.run.agents.index(name)
            if world.alive[number]:
                agent.perceive(Percept(world, number, self.replayer.time_of(self.slot)))
                agent.follow_act(read_act(commands.get(name)))
                for forget in (agent.log_entries, agent.spoken, agent.outgoing_letters):
                    forget()  # the log has what was said

    def _learn(self, slot: int, event: Event, result: Any) -> None:
        """Let agents learn what followed."""
        if slot != self.slot:
            return
        for name, agent in self.agents.items():
            if name in event["event_data"]["commands"]:
                _teach(agent, result, self.run.agents.index(name))

    def _value(self, world: World[Any, Any]) -> dict[str, Any]:
        """Return the state at the cut in the form that a runner restores."""
        steps = self.replayer.time_of(self.slot)
        episode = {"base": self.seed, "number": 0, "seed": self.seed, "steps": steps}
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
        runner = EpisodeRunner(world, world_spec(world.name))
        runner.restore(self.snapshot)
        here = self.replayer.world(self.slot)
        agents = {name: _twin(agent, {id(here): world}) for name, agent in self.agents.items()}
        if change is not None:
            agents |= {n: self._newcomer(n, p) for n, p in change.policies.items()}
        self._vary(world, agents, pair, vary)
        failed = {name: _last_failures(agent) for name, agent in agents.items()}
        recorder = None
        if logs is not None:
            from piase_gym.runs.recording import record

            name = BRANCHES[change is not None]
            recorder = record(runner, logs / name, overwrite=True, run_id=f"{logs.name}-{name}")
        try:
            if change is not None:
                _intervene(runner, change)
            return self._go_on(runner, agents, change, steps)
        finally:
            if recorder is not None:
                recorder.finish("the branch ends")
            self._note_failures(agents, failed)

    def _note_failures(
        self, agents: Mapping[str, Agent], before: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Note once for each agent why a language model did not answer in a branch."""
        for name, agent in agents.items():
            for policy, failure in _last_failures(agent).items():
                note = f"{name}, {policy}, did not always answer"
                known = any(text.startswith(note) for text in self.notes)
                if failure is not before[name].get(policy) and not known:
                    self.notes.append(f"{note}: {failure.message}")

    def _newcomer(self, name: str, policy: str | Agent) -> Agent:
        """Return the agent of a policy that begins to play at the cut."""
        agent = _twin(policy) if isinstance(policy, Agent) else make_agent(policy)
        agent.set_id(name)
        agent.reset(partner_seed(self.seed, self.run.agents.index(name)))
        return agent

    def _vary(
        self, world: World[Any, Any], agents: Mapping[str, Agent], pair: int, vary: Sequence[str]
    ) -> None:
        """Draw the named streams again, the same in both branches of a pair."""
        seed = episode_seed(self.seed, pair + 1)
        for name in vary:
            if name in STREAMS:
                _rekey(world, STREAMS[name], seed)
                continue
            partner = name.removeprefix(PARTNER)
            if partner in agents:
                number = self.run.agents.index(partner)
                _draw_anew(agents[partner], partner_seed(seed, number))

    def _go_on(
        self,
        runner: EpisodeRunner,
        agents: Mapping[str, Agent],
        change: Change | None,
        steps: int | None,
    ) -> Branch:
        """Play on to the end."""
        world, names = runner.world, runner.world.agents
        returns, results = dict.fromkeys(names, 0.0), dict[str, str]()
        digests: list[str] = []
        while any(world.alive) and (steps is None or len(digests) < steps):
            count = len(digests)
            self._give(runner, agents, count, said=False)
            alive = list(world.alive)
            acts: list[Any] = [None] * len(names)
            for number, name in enumerate(names):
                if alive[number]:
                    acts[number] = self._choose(runner, agents.get(name), number, count, change)
            self._give(runner, agents, count, said=True)
            for number, name in enumerate(names):  # nobody hears of it before all have chosen
                if alive[number] and name in agents:
                    post_asides(agents[name], number, world, runner.events)
            result = runner.step(acts)
            for number, name in enumerate(names):
                returns[name] += float(result.rewards[number])
                if alive[number] and name in agents:
                    _teach(agents[name], result, number)
                if result.terminated[number] or result.truncated[number]:
                    results[name] = str(world.result(number))
            runner.end_step(result)
            digests.append(world.digest())
        return Branch(returns, results, len(digests), digests)

    def _give(
        self, runner: EpisodeRunner, players: Collection[str], count: int, said: bool
    ) -> None:
        """Do what the log gave from outside, or what agents `said`, before a step of a branch.

        Players of this branch say their own.
        """
        names = runner.world.agents
        for data in self.given.get(count, ()):
            if said != (_author(data, names) is not None) or _author(data, players) is not None:
                continue
            try:
                _apply(runner, data)
            except (PiaseError, *LINE_DAMAGE) as error:
                kind = data["kind"]
                note = f"the {kind} before step +{count + 1} is left out of a branch: {error}"
                if note not in self.notes:
                    self.notes.append(note)

    def _choose(
        self,
        runner: EpisodeRunner,
        agent: Agent | None,
        number: int,
        count: int,
        change: Change | None,
    ) -> Any:
        """Return what an agent does in a step after the cut."""
        world = runner.world
        name = world.agents[number]
        act: Any = world.noop
        if agent is not None:
            agent.perceive(Percept(world, number, runner.steps))
            act = decode_answer(world, number, agent.act())
        elif count < len(self.rest) and name in self.rest[count]:
            act = read_act(self.rest[count][name])
        steps = _steps(name, change.actions[name]) if change and name in change.actions else {}
        if count + 1 in steps:
            return _read(world, number, steps[count + 1])
        if agent is None and (count >= len(self.rest) or name not in self.rest[count]):
            note = (
                f"{name} does nothing where the log does not say what it did; who plays on is "
                f"named: players={{{name!r}: ...}}"
            )
            if note not in self.notes:
                self.notes.append(note)
        return act


def _steps(name: str, wanted: Any) -> dict[int, Any]:
    """Return an agent's prescribed actions by step after the cut."""
    if not isinstance(wanted, Mapping) or "type" in wanted:
        return {1: wanted}
    strange = [step for step in wanted if type(step) is not int or step < 1]
    if strange:
        raise ConfigError(
            f"the actions of {name} are by steps after the cut, 1, 2, ..., not {strange[0]!r}"
        )
    return dict(wanted)


def _read(world: World[Any, Any], number: int, given: Any) -> Any:
    """Return the act that a user means, who may give a command as logs write it."""
    return read_act(given) if isinstance(given, Mapping) else decode_answer(world, number, given)


def _check_act(world: World[Any, Any], number: int, act: Any, step: int) -> None:
    """Raise `ActionError` if an act is not a command; at the cut it also has to be legal."""
    name = world.agents[number]
    try:
        found = _read(world, number, act)
    except (TypeError, RunError) as error:
        raise ActionError(f"{act!r:.80} is no command of {name}: {error}") from None
    if isinstance(found, Command):
        found = world.check(number, found)
    elif isinstance(found, int):
        if isinstance(act, bool) or not 0 <= found < world.num_actions:
            raise ActionError(
                f"{act!r:.80} is no command of {name}; allowed: indices from 0 to "
                f"{world.num_actions - 1}, or a line of text"
            )
        found = world.command(number, found) if step == 1 else None
    if isinstance(found, InvalidAction):
        raise ActionError(f"{act!r:.80} is no command of {name}: {found.message}")
    if step == 1 and isinstance(found, Command) and not world.legal(number, found):
        allowed = [world.write(command) for command in world.admissible(number)]
        raise ActionError(
            f"{act!r:.80} is not allowed to {name} at the cut; {suggest(act, allowed)}"
        )


def _named_policy(policy: Any) -> str:
    """Return a manifest's policy if it can be made from its name, else `RECORDED`.

    A person is not asked again, and what `why_untrusted` names must be named by the user.
    """
    if not isinstance(policy, str) or policy == "human" or why_untrusted(policy) is not None:
        return RECORDED
    try:
        return check_policy(policy)
    except UnknownNameError:
        return RECORDED


def _last_failures(agent: Agent) -> dict[str, Any]:
    """Return the most recent failures of the language models among an agent and its members."""
    models = [m for m in getattr(agent, "members", (agent,)) if isinstance(m, LLMAgent)]
    return {model.policy: model.last_failure for model in models if model.last_failure}


def _draw_anew(agent: Agent, seed: int) -> None:
    """Give an agent another seed in the middle of an episode; what its state tells stays."""
    while isinstance(agent, PopulationAgent):
        agent = agent.members[agent.member]
    if isinstance(agent, ScriptedAgent | OracleAgent):
        return  # they draw nothing, and would forget what they know
    before = agent.get_state()
    agent.reset(seed)
    if "seed" in before:
        agent.set_state({**before, "seed": agent.get_state()["seed"]})


def _twin(agent: Agent, instead: dict[int, Any] | None = None) -> Agent:
    """Return a copy of an agent in its present state, without what it has in view.

    Args:
        agent: The agent.
        instead: What the copy knows instead of the objects with these ids, such as another world.
    """
    percept, agent.percept = agent.percept, None
    try:
        return copy.deepcopy(agent, instead)
    finally:
        agent.percept = percept


def _teach(agent: Agent, result: Any, number: int) -> None:
    """Tell an agent what followed from its action."""
    parts = result.rewards, result.terminated, result.truncated, result.outcomes
    agent.learn(Feedback(*(part[number] for part in parts)))


def _intervene(runner: EpisodeRunner, change: Change) -> None:
    """Give the hints and send the messages of the change."""
    world = runner.world
    for name, hint in change.hints.items():
        _hint(runner, name, hint)
    for name, said in change.messages.items():
        if not world.carries_words:
            raise UnsupportedError(
                f"{world.name} has no mailboxes for words here; its agents cannot write"
            )
        recipient, text = (EVERYONE, said) if isinstance(said, str) else said
        _send(runner, name, recipient, text)


def _hint(runner: EpisodeRunner, name: str, hint: str | None) -> None:
    """Give a hint."""
    runner.world.give_hint(runner.number(name), hint)
    runner.events.post("hint", name, message=hint)


def _send(runner: EpisodeRunner, name: str, recipient: str, text: str) -> None:
    """Send a message; the world must have mailboxes."""
    letter = runner.world.mailboxes.send(name, recipient, text)  # type: ignore[union-attr]
    runner.events.post("send", name, own=False, **letter._asdict())


def _author(data: Mapping[str, Any], agents: Collection[str]) -> str | None:
    """Return which of these agents a hint, a message or a poll in the log came from, if any did."""
    kind = data["kind"]
    if kind == "hint":  # see `post_asides`
        said = str(data.get("message"))
        return next((n for n in agents if said.startswith(f"{n} says: ")), None)
    who = data.get("sender" if kind == "send" else "agent")
    return who if who in agents else None


def _apply(runner: EpisodeRunner, data: Mapping[str, Any]) -> None:
    """Do what a line of one of the kinds `GIVEN` says."""
    kind = data["kind"]
    if kind == "modify":
        runner.modify(data["changes"])
    elif kind == "order":
        runner.set_order(data["order"])
    elif kind == "hint":
        _hint(runner, data["agent"], data["message"])
    elif kind == "send":
        _send(runner, data["sender"], data["recipient"], data["message"])
    else:
        letters = runner.world.mailboxes.poll(data["agent"])  # type: ignore[union-attr]
        runner.events.post("poll", data["agent"], own=False, messages=letters)


def _rekey(world: Any, stream: StreamId, seed: int) -> None:
    """Continue one random stream of a world from another seed."""
    key, states = stream_key(seed, stream), getattr(world, "states", None)
    streams = getattr(world, "streams", None)
    if isinstance(states, np.ndarray) and "keys" in (states.dtype.names or ()):
        keys = states["keys"][0]
        known = world.stream_ids[: len(keys)]
        if stream in known:
            keys[known.index(stream)] = key
            return
    elif isinstance(streams, Mapping) and stream in streams:
        streams[stream].key = key
        return
    raise UnsupportedError(f"{world.name} has no stream {stream.name.lower()!r} to draw anew")
