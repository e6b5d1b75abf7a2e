"""Checks of worlds: the interfaces of the PiaSE documents show them as they are."""

from __future__ import annotations

import copy
from typing import Any

from piase_gym.core.commands import Command
from piase_gym.core.events import Event
from piase_gym.core.rng import Stream
from piase_gym.interfaces import (
    BaseEnv,
    EnvironmentInterface,
    WorldAbstractEnvironment,
    WorldEnvironment,
    WorldPerceptionInterface,
)
from piase_gym.interfaces.base import WorldInterface
from piase_gym.testing.kit import Skip, check, require
from piase_gym.testing.play import play
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import through_json

STEPS = 60
INTERFACES: tuple[type[WorldInterface], ...] = (
    WorldEnvironment,
    WorldAbstractEnvironment,
    EnvironmentInterface,
    WorldPerceptionInterface,
)
Script = list[dict[str, Any]]
"""What each agent did in each step, as commands and invalid actions."""


def _interface(subject: Subject, kind: type[Any], **options: Any) -> Any:
    """Make an environment of one of the documents."""
    return subject.noted(kind(subject.world.target, **subject.world.fields, **options))


def _script(subject: Subject, seed: int) -> tuple[Script, list[str]]:
    """Play an episode through the parallel environment; return what was done, and the digests."""
    env, script, digests = subject.env(), Script(), []

    def listen(event: Event) -> None:
        if event.kind == "step":
            acts = event.data["commands"]
            script.append({n: a for n, a in zip(env.world.agents, acts, strict=True) if n in alive})

    env.events.subscribe(listen)
    alive: list[str] = []
    for row in play(env, seed, steps=STEPS, unruly=True):
        digests.append(env.world.digest())
        alive = list(row.after)
    return script, digests


def _submit(interface: Any, name: str, act: Any) -> None:
    """Let an agent do something through a sequential environment."""
    if not isinstance(act, Command):
        interface.engine.submit(name, interface.world.noop if act is None else act)
    elif isinstance(interface, WorldPerceptionInterface):
        interface.execute_action(name, act.verb, dict(act.parameters))
    elif isinstance(interface, WorldAbstractEnvironment):
        interface.apply_action_from_agent(name, act)
    elif isinstance(interface, EnvironmentInterface):
        interface.submit_action(name, {"action_type": act.verb, "parameters": dict(act.parameters)})
    else:
        interface.step(name, act)


@check("deterministic")
def document_interfaces_are_the_same_game(subject: Subject) -> None:
    """The sequential document interfaces lead to the same states as the parallel environment."""
    script, digests = _script(subject, 1)
    for kind in INTERFACES:
        interface = _interface(subject, kind)
        interface.reset(seed=1)
        for number, acts in enumerate([{}, *script]):
            for name in reversed(acts):  # the last agent first
                _submit(interface, name, acts[name])
            same = interface.world.digest() == digests[number]
            require(same, f"at step {number} {kind.__name__} is in another state")


@check("deterministic")
def base_env_is_the_same_game(subject: Subject) -> None:
    """`BaseEnv` with partners leads to the same states and rewards as the Gymnasium environment."""
    seats = {"partners": {"*": "random"}}
    gym, base = subject.gym(**seats), _interface(subject, BaseEnv, **seats)
    gym.reset(seed=2)
    base.reset(seed=2)
    dice = Stream(2, 97)
    for number in range(STEPS):
        require(
            gym.world.digest() == base.world.digest(),
            f"at step {number} BaseEnv is in another state",
        )
        lines = base.get_available_actions()
        require(lines, f"at step {number} BaseEnv lists no action")
        action = lines[dice.integer(len(lines))]
        command = gym.world.read(gym.agent_index, action.text)
        _, reward, terminated, truncated, info = gym.step(command)
        _, same_reward, done, same_info = base.step(action)
        ends = (reward, terminated or truncated, info["outcome"])
        found = (same_reward, done, same_info["outcome"])
        require(found == ends, f"at step {number + 1} BaseEnv answers {found}, not {ends}")
        if done:
            return


@check()
def commands_wait_for_the_last(subject: Subject) -> str:
    """A command given to a document interface changes nothing until the last agent has acted."""
    interface, waited = _interface(subject, WorldEnvironment), 0
    interface.reset(seed=3)
    for number in range(STEPS):
        names = list(interface.agents)
        for name in names[:-1]:
            before = interface.world.digest()
            result = interface.step(name, interface.world.noop)
            status = f"at step {number} {name} is answered {result.status!r}, not 'in_progress'"
            require(result.status == "in_progress", status)
            require(
                interface.world.digest() == before,
                f"at step {number} a command of {name} acts at once",
            )
            waited += 1
        result = interface.step(names[-1], interface.world.noop)
        require(result.status != "in_progress", f"at step {number} the last agent waits too")
        require(interface.time_step > number, f"at step {number} the world does not tick")
        if not interface.agents:
            break
    if not waited:
        raise Skip("there is only one agent")
    return f"{waited} commands waited"


@check()
def perceptions_fit_their_schema(subject: Subject) -> None:
    """What `EnvironmentInterface` lets agents perceive is JSON, with the keys of its schema."""
    interface = _interface(subject, EnvironmentInterface)
    schema = interface.get_environment_info()["perception_schema"]
    keys = {key for key in schema if "." not in key}
    interface.reset(seed=4)
    for number in range(20):
        for name in list(interface.agents):
            seen, where = interface.get_perceptions(name), f"at step {number} {name}"
            extra, missing = sorted(set(seen) - keys), sorted(keys - set(seen))
            require(not extra, f"{where} perceives {extra}, not in the schema")
            require(not missing, f"{where} does not perceive {missing}")
            equal = seen["visible_text"] == interface.world.observation_text(
                interface.world.agents.index(name)
            )
            require(equal, f"{where} perceives another text than its view's")
            same = through_json(seen, f"a perception of {name}", allow_nan=False) == seen
            require(same, f"a perception of {name} is another one after JSON")
            interface.submit_action(name, interface.commands(name)[0])
        if not interface.agents:
            return


@check()
def surroundings_follow_from_facts(subject: Subject) -> None:
    """`World.surroundings` of the same facts is the same, now and when the world has gone on."""
    env = subject.env(view="vector")
    kept = []
    for row in play(env, 5, steps=20):
        for name in row.after:
            facts = env.facts(name)
            kept.append((row.step, name, facts, copy.deepcopy(env.world.surroundings(facts))))
    for number, name, facts, around in kept:
        later = env.world.surroundings(facts)
        require(later == around, f"the surroundings of {name} at step {number} change afterwards")
