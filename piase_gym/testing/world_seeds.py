"""Checks of worlds: the interfaces of the seed documents show them as they are."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from piase_gym.commands import Command
from piase_gym.events import Event
from piase_gym.faces import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    EnvironmentInterface,
    PerceptionInterface,
)
from piase_gym.faces.seed_face import SeedFace
from piase_gym.rng import Stream
from piase_gym.testing.kit import check
from piase_gym.testing.play import play
from piase_gym.testing.report import Skip, require
from piase_gym.testing.subject import WorldSubject

STEPS = 60
FACES: tuple[type[SeedFace], ...] = (
    Environment,
    AbstractEnvironment,
    EnvironmentInterface,
    PerceptionInterface,
)
Script = list[dict[str, Any]]
"""What each agent did in each step, as commands and misreads."""


def _face(subject: WorldSubject, kind: type[SeedFace]) -> Any:
    """Make one of the sequential faces."""
    return subject.noted(kind(subject.target, **subject.fields))


def _script(subject: WorldSubject, seed: int) -> tuple[Script, list[str]]:
    """Play an episode through the parallel face; return what was done, and the digests."""
    env, script, digests = subject.env(), Script(), []

    def listen(event: Event) -> None:
        if event.kind == "step":
            acts = event.data["commands"]
            script.append({n: a for n, a in zip(env.world.agents, acts, strict=True) if n in alive})

    env.events.subscribe(listen)
    alive: list[str] = []
    for row in play(env, seed, steps=STEPS, unruly=True):
        digests.append(env.digest())
        alive = list(row.after)
    return script, digests


def _submit(face: Any, name: str, act: Any) -> None:
    """Let an agent do something through a sequential face."""
    if not isinstance(act, Command):
        face.engine.submit(name, face.world.noop if act is None else act)
    elif isinstance(face, PerceptionInterface):
        face.execute_action(name, act.verb, dict(act.parameters))
    elif isinstance(face, AbstractEnvironment):
        face.apply_action_from_agent(name, act)
    elif isinstance(face, EnvironmentInterface):
        face.submit_action(name, {"action_type": act.verb, "parameters": dict(act.parameters)})
    else:
        face.step(name, act)


def _replay(face: Any, script: Script, seed: int) -> Iterator[str]:
    """Play a script through a sequential face, the last agent first; yield the digests."""
    face.reset(seed=seed)
    yield face.digest()
    for acts in script:
        for name in reversed(acts):
            _submit(face, name, acts[name])
        yield face.digest()


@check("deterministic")
def seed_faces_are_the_same_game(subject: WorldSubject) -> None:
    """The sequential seed interfaces lead to the same states as the parallel face."""
    script, digests = _script(subject, 1)
    for kind in FACES:
        for number, found in enumerate(_replay(_face(subject, kind), script, 1)):
            same = found == digests[number]
            require(same, f"at step {number} {kind.__name__} is in another state")


@check("deterministic")
def base_env_is_the_same_game(subject: WorldSubject) -> None:
    """`BaseEnv` with partners leads to the same states and rewards as the Gymnasium face."""
    seats = {"partners": {"*": "random"}}
    gym = subject.gym(**seats)
    base: Any = subject.noted(BaseEnv(subject.target, **subject.fields, **seats))
    gym.reset(seed=2)
    base.reset(seed=2)
    dice = Stream(2, 97)
    for number in range(STEPS):
        require(gym.digest() == base.digest(), f"at step {number} BaseEnv is in another state")
        lines = base.get_available_actions()
        require(lines, f"at step {number} BaseEnv lists no action")
        action = lines[dice.integer(len(lines))]
        _, reward, terminated, truncated, info = gym.step(gym.world.read(gym.number, action.text))
        _, same_reward, done, same_info = base.step(action)
        ends = (reward, terminated or truncated, info["outcome"])
        found = (same_reward, done, same_info["outcome"])
        require(found == ends, f"at step {number + 1} BaseEnv answers {found}, not {ends}")
        if done:
            return


@check()
def commands_wait_for_the_last(subject: WorldSubject) -> str:
    """A command submitted to a seed interface changes nothing until the last agent has acted."""
    face, waited = _face(subject, Environment), 0
    face.reset(seed=3)
    for number in range(STEPS):
        names = list(face.agents)
        for name in names[:-1]:
            before = face.digest()
            result = face.step(name, face.world.noop)
            status = f"at step {number} {name} is answered {result.status!r}, not 'in_progress'"
            require(result.status == "in_progress", status)
            require(face.digest() == before, f"at step {number} a command of {name} acts at once")
            waited += 1
        result = face.step(names[-1], face.world.noop)
        require(result.status != "in_progress", f"at step {number} the last agent waits too")
        require(face.time_step > number, f"at step {number} the world does not tick")
        if not face.agents:
            break
    if not waited:
        raise Skip("there is only one agent")
    return f"{waited} commands waited"


@check()
def perceptions_fit_their_schema(subject: WorldSubject) -> None:
    """What `EnvironmentInterface` lets agents perceive is JSON, with the keys of its schema."""
    face = _face(subject, EnvironmentInterface)
    schema = face.get_environment_info()["perception_schema"]
    keys = {key for key in schema if "." not in key}
    face.reset(seed=4)
    for number in range(20):
        for name in list(face.agents):
            seen = face.get_perceptions(name)
            extra, missing = sorted(set(seen) - keys), sorted(keys - set(seen))
            require(not extra, f"at step {number} {name} perceives {extra}, not in the schema")
            require(not missing, f"at step {number} {name} does not perceive {missing}")
            told = seen["visible_text"] == face.world.text(face.facts(name))
            require(told, f"at step {number} {name} perceives another text than its view's")
            try:
                same = json.loads(json.dumps(seen, allow_nan=False)) == seen
            except (TypeError, ValueError) as error:
                same = False
                require(same, f"a perception of {name} cannot be written as JSON: {error}")
            require(same, f"a perception of {name} is another one after JSON")
            face.submit_action(name, face.commands(name)[0])
        if not face.agents:
            return


@check()
def surroundings_follow_from_facts(subject: WorldSubject) -> None:
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
