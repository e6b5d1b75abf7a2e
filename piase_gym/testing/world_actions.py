"""Checks of worlds: masks, commands, lines of text, outcomes."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Outcome
from piase_gym.core.rng import Stream
from piase_gym.core.world import World
from piase_gym.errors import ActionError, ConfigError, UnsupportedError
from piase_gym.testing.kit import Fault, check, require, require_refusal
from piase_gym.testing.play import episodes, last_row, opening, play, some, step
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import through_json

SEEDS = (0, 1)
MOST = 10
"""Acts of each kind carried out in one state; if there are more, each state gets others."""


def outcome_of(world: World[Any, Any], agent: int, act: Any) -> tuple[Outcome, dict[str, Any]]:
    """Return the outcome that an act of one agent would have now, and its notes."""
    twin = copy.deepcopy(world)
    acts: list[Any] = [None] * len(world.agents)
    acts[agent] = act
    try:
        result = twin.step(acts)
    finally:
        twin.close()
    return result.outcomes[agent], dict(result.notes.get(agent, {}))


def in_play(env: Any, steps: int) -> Iterator[tuple[World[Any, Any], int, str, str]]:
    """Play episodes at random; yield the world, each agent in play, its name and when that is."""
    for row in episodes(env, SEEDS, steps=steps, unruly=True):
        for agent, name in enumerate(env.world.agents):
            if env.world.alive[agent]:
                yield env.world, agent, name, f"at step {row.step}"


@check("discrete", "masks")
def masks_are_legality(subject: Subject) -> str:
    """An index has the outcome `illegal` exactly if its mask is 0, in every state that is tried."""
    tried, dice = 0, Stream(1, 46)
    for world, agent, name, when in in_play(subject.env(), 12):
        mask = world.masks()[agent]
        for legal in (False, True):
            for index in some((mask.astype(bool) == legal).nonzero()[0].tolist(), MOST, dice):
                outcome, _ = outcome_of(world, agent, index)
                wrong = f"{when} action {index} of {name} has mask {mask[index]}"
                same = (outcome is not Outcome.ILLEGAL) == legal
                require(same, f"{wrong}, but the outcome {outcome.value!r}")
                tried += 1
    return f"{tried} actions"


@check("discrete")
def admissible_are_the_allowed(subject: Subject) -> None:
    """`admissible_commands` lists exactly what the mask allows, for everybody in play."""
    for world, agent, name, when in in_play(subject.env(), 40):
        listed, allowed = world.admissible(agent), world.masks()[agent].nonzero()[0]
        meant = [world.command(agent, index) for index in allowed.tolist()]
        for one, two, what in (
            (meant, listed, "is allowed by the mask, but is not an admissible command"),
            (listed, meant, "is an admissible command, but the mask forbids it"),
        ):
            extra = [entry for entry in one if entry not in two]
            require(not extra, f"{when} {extra[:1]} of {name} {what}")


@check()
def admissible_are_legal(subject: Subject) -> str:
    """No admissible command has the outcome `illegal` or `unparsable`, as data or as its line."""
    tried, dice = 0, Stream(2, 46)
    for world, agent, name, when in in_play(subject.env(), 12):
        for command in some(world.admissible(agent), MOST, dice):
            line = world.write(command)
            read = world.read(agent, line)
            where = f"{when} the line {line!r} of {name}"
            require(read == command, f"{where} is read as {read}, not as {command}")
            outcome, _ = outcome_of(world, agent, command)
            good = outcome in (Outcome.OK, Outcome.FAILED)
            require(good, f"{where} is admissible, but its outcome is {outcome.value!r}")
            tried += 1
    return f"{tried} commands"


@check()
def illegal_is_reported(subject: Subject) -> str:
    """A well-formed command that is not legal costs a step, with the outcome `illegal`."""
    env, tried, dice = subject.env(), 0, Stream(3, 46)
    sayable = _sayable(env.world)
    for world, agent, name, when in in_play(env, 12):
        for command in some(sayable, MOST, dice):
            outcome, _ = outcome_of(world, agent, command)
            what = f"{when} {world.write(command)!r} of {name} is"
            if world.legal(agent, command):
                require(outcome is not Outcome.ILLEGAL, f"{what} legal, but not accepted")
            else:
                message = f"{what} illegal, but its outcome is {outcome.value!r}"
                require(outcome is Outcome.ILLEGAL, message)
            tried += 1
    return f"{tried} commands"


def _sayable(world: World[Any, Any], most: int = 1000) -> list[Command]:
    """Return commands of the grammar with choices of parameters, at most `most` for each verb."""
    found = []
    for verb in world.grammar:
        options: list[list[dict[str, Any]]] = []
        for param in verb.params:
            without: list[dict[str, Any]] = [{}] if param.optional else []
            options.append([*without, *({param.name: value} for value in param.choices or ())])
        for chosen in itertools.islice(itertools.product(*options), most):
            found.append(Command(verb.name, {k: v for part in chosen for k, v in part.items()}))
    return found


@check()
def noop_is_always_legal(subject: Subject) -> None:
    """The world's no-op is in its grammar, and legal for everybody in play at every step."""
    for world, agent, name, when in in_play(subject.env(), 40):
        read = world.check(agent, world.noop)
        require(isinstance(read, Command), f"the no-op {world.noop} is not in the grammar")
        require(world.legal(agent, world.noop), f"{when} the no-op is not legal for {name}")


UNREADABLE = ("", "xyzzy plugh", "{}", "42", "\n", "émigré \U0001f511", None)


@check()
def lines_are_answered(subject: Subject) -> None:
    """Any line costs a step and never raises; what cannot be read is explained in `feedback`."""
    for line in (*UNREADABLE, "x" * (MAX_LINE + 1)):
        env = subject.env(actions="text")
        row = opening(env, 0)
        name, shown = row.after[0], f"the line {repr(line)[:30]}"
        noop = env.world.write(env.world.noop)
        try:
            info = step(env, 1, {**dict.fromkeys(row.after, noop), name: line}).infos[name]
        except Exception as error:
            raise Fault(f"{shown} raises {error!r}") from None
        expected = "too_long" if len(line or "") > MAX_LINE else "unparsable"
        outcome, feedback = info.get("outcome"), info.get("feedback")
        require(outcome == expected, f"{shown} has the outcome {outcome}, not {expected}")
        require(isinstance(feedback, str) and feedback, f"{shown} has no feedback that explains it")
        require(env.runner.steps == 1, f"{shown} does not cost a step")


@check()
def other_outcomes_are_kept(subject: Subject) -> None:
    """What an environment reports as `timeout`, `refused` or `too_long` keeps that outcome."""
    env = subject.env()
    opening(env, 0)
    agent = list(env.world.alive).index(True)
    for outcome in (Outcome.TIMEOUT, Outcome.REFUSED, Outcome.TOO_LONG, Outcome.UNPARSABLE):
        found, notes = outcome_of(env.world, agent, InvalidAction(outcome, "said the environment"))
        what = f"a invalid action with {outcome.value!r}"
        require(found is outcome, f"{what} comes out as {found.value!r}")
        require(notes.get("feedback"), f"{what} leaves no feedback")


@check("discrete")
def bad_indices_change_nothing(subject: Subject) -> None:
    """What is no index of an action raises `ActionError`, and nothing has happened."""
    env = subject.env()
    for seed in SEEDS:
        row = last_row(env, seed, 3)
        before = env.world.digest()
        masks = env.world.masks()
        legal = {n: int(masks[env.world.agents.index(n)].nonzero()[0][0]) for n in row.after}
        for bad, last in itertools.product((-1, env.world.num_actions, 1.5, "0", [0], None), legal):
            what, act = f"the action {bad!r}", functools.partial(env.step, {**legal, last: bad})
            accepted = f"{what} of {last} is no index, but is accepted"
            require_refusal(ActionError, act, what, accepted)
            require(env.world.digest() == before, f"{what} is refused, but has an effect")


@check()
def index_and_line_agree(subject: Subject) -> str:
    """Commands given as lines of text lead to the same states as given as data or indices."""
    by_data, by_line = subject.env(), subject.env(actions="text")
    dice, steps = Stream(4, 1), 0
    opening(by_data, 4)
    opening(by_line, 4)
    while by_data.agents and steps < 200:
        world, given, lines = by_data.world, {}, {}
        for name in by_data.agents:
            agent = world.agents.index(name)
            listed = world.admissible(agent)
            given[name] = listed[dice.integer(len(listed))]
            lines[name] = world.write(given[name])
            if subject.capabilities.discrete:
                table = [world.command(agent, index) for index in range(world.num_actions)]
                given[name] = table.index(given[name]) if given[name] in table else given[name]
        by_data.step(given)
        by_line.step(lines)
        steps += 1
        same = by_data.world.digest() == by_line.world.digest()
        require(same, f"at step {steps} the lines {lines} lead to another state than the indices")
        require(by_data.agents == by_line.agents, f"at step {steps} other agents are in play")
    return f"{steps} steps"


@check("continuous")
def boxes_are_commands(subject: Subject) -> None:
    """Every point of the action box stands for a command of the grammar; NaN is refused."""
    env = subject.env(actions="continuous")
    for row in play(env, 0, steps=40):
        for name, action in row.given.items():
            agent = env.world.agents.index(name)
            command = env.world.command_from_box(agent, action)
            found = env.world.check(agent, command)
            require(isinstance(found, Command), f"{action} stands for {command}: {found}")
    row = opening(env, 1)
    before = env.world.digest()
    bad = np.full(env.world.action_box.shape, np.nan, env.world.action_box.dtype)
    act, what = functools.partial(env.step, dict.fromkeys(row.after, bad)), "an array of NaN"
    require_refusal(ActionError, act, what, f"{what} is accepted as an action")
    require(env.world.digest() == before, f"{what} is refused, but has an effect")


@check()
def prompts_need_no_reset(subject: Subject) -> None:
    """Instructions, tools and spaces can be asked for before the first reset, and stay the same."""
    env = subject.env()
    prompts = {name: (env.instructions(name), env.tools(name)) for name in env.possible_agents}
    verbs = [verb.name for verb in env.world.grammar]
    require(len(set(verbs)) == len(verbs), f"the grammar has a verb twice: {verbs}")
    used = [verb for verb in verbs if verb not in env.world.manual.unused]
    names = [verb.tool_name for verb in env.world.grammar]
    for name, (prompt, tools) in prompts.items():
        lacking = [verb for verb in used if verb not in prompt]
        require(not lacking, f"the instructions of {name} do not tell of {lacking}")
        require(name in prompt, f"the instructions of {name} do not name the agent")
        require([tool["name"] for tool in tools] == names, "tools are not the verbs in order")
        same = through_json(tools, "tools") == tools
        require(same, "tools cannot be written as JSON")
    opening(env, 0)
    for name, before in prompts.items():
        after = env.instructions(name), env.tools(name)
        require(after == before, f"the instructions of {name} are others after a reset")


@check()
def claims_are_true(subject: Subject) -> None:
    """What the capabilities claim is there, and what they do not claim is refused."""
    claims = subject.capabilities
    refused: list[dict[str, Any]] = [] if claims.native_text else [{"wording": "native"}]
    for kind in ("discrete", "continuous"):
        if getattr(claims, kind):
            last_row(subject.env(actions=kind), 0, 2)
        else:
            refused.append({"actions": kind})
    if claims.discrete and not claims.masks:
        refused.append({"mask": "obs"})
    for options in refused:
        accepted = f"{options} is not claimed, but not refused with a ConfigError"
        make = functools.partial(subject.env, **options)
        require_refusal(ConfigError, make, f"{options}", accepted)
    env = subject.env()
    env.reset(seed=0)
    for claim in ("digest", "snapshot"):
        if not getattr(claims, claim):
            accepted = f"{claim} is not claimed, but not refused with an UnsupportedError"
            require_refusal(UnsupportedError, getattr(env, claim), f"{claim}()", accepted)
    boxes = env.world.mailboxes
    there = "has mailboxes" if boxes is not None else "has no mailboxes"
    message = f"messages={claims.messages} is claimed, but the world {there}"
    require((boxes is not None) == claims.messages, message)
