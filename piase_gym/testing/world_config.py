"""Checks of worlds: ends, late joiners, configs and events."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from piase_gym.core.commands import Result
from piase_gym.errors import EnvelopeError, PiaseError
from piase_gym.testing.kit import Skip, check, require, require_refusal
from piase_gym.testing.play import episodes, opening, play, require_alike, spaces_of
from piase_gym.testing.subject import Subject


@check()
def results_come_with_ends(subject: Subject) -> None:
    """`info["result"]` is there exactly when an agent ends, and one of the four results."""
    for row in episodes(subject.env(), range(3), unruly=True):
        for name in row.before:
            ended = row.terminated[name] or row.truncated[name]
            result = row.infos[name].get("result")
            where = f"at step {row.step} {name}"
            require(ended or result is None, f"{where} has a result, but has not ended")
            known = not ended or result in list(Result)
            require(known, f"{where} has ended with the result {result!r}")
            both = row.terminated[name] and row.truncated[name]
            require(not both, f"{where} is terminated and truncated at once")


@check()
def time_runs_out_for_all(subject: Subject) -> str:
    """After `max_steps` all in play are truncated; they have lost, unless they had to last."""
    env = subject.env()
    env.max_cycles = 3
    for seed in range(5):
        late = list(play(env, seed))[-1]
        require(late.step <= 3, "with max_steps=3 an episode goes on after 3 steps")
        require(not late.after, "after max_steps somebody is still in play")
        out = [name for name in late.before if late.truncated[name]]
        for name in out:
            result = late.infos[name]["result"]
            wins_by_lasting = env.world.wins_by_lasting(env.world.agents.index(name))
            wanted = Result.WON if wins_by_lasting else Result.LOST
            message = f"{name} ran out of steps and has {wanted}, but its result is {result}"
            require(result == wanted, message)
        if late.step == 3 and out:
            return f"{len(out)} at once"
    raise Skip("nobody ever ran out of 3 steps")


@check("late_join")
def late_joiners_enter(subject: Subject) -> str:
    """Agents that are not in play at the reset enter later, with an observation and a seed."""
    env = subject.env()
    meant = set(env.world.agents[: subject.world.config.agents]) & set(env.possible_agents)
    missing, entered, full = set(meant), 0, True
    for seed in range(4):
        rows = list(play(env, seed))
        full &= set(rows[0].after) >= meant
        for row in rows:
            missing -= set(row.after)
            for name in set(row.after) - set(row.before) if row.step else ():
                entered += 1
                informed = "seed" in row.infos[name] and row.rewards[name] == 0.0
                require(informed, f"{name} enters without its seed, or with a reward")
    if full:
        raise Skip("everybody is in play at the reset under this config")
    late = [name for name in sorted(missing) if not _can_be_let_in(env, name)]
    require(not late, f"late_join is claimed, but {late} never enter in {len(rows)} steps")
    return f"{entered} entries" + (f", {len(missing)} when let in" if missing else "")


def _can_be_let_in(env: Any, name: str) -> bool:
    """Return whether `World.enter` lets in an agent that does not enter by itself."""
    opening(env, 0)
    try:
        env.world.enter(env.world.agents.index(name))
    except PiaseError:
        return False
    env.restore(env.snapshot())  # so that the environment notices
    return name in env.agents


@check()
def nobody_joins_unannounced(subject: Subject) -> None:
    """Nobody enters after the reset, unless `late_join` is claimed."""
    env = subject.env()
    if env.world.awaiting_agents:
        raise Skip("late_join is claimed, and somebody may enter")
    for row in play(env, 0, unruly=True):
        if row.step:
            alive = {n for n, a in zip(env.world.agents, env.world.alive, strict=True) if a}
            extra = sorted(alive - set(row.before))
            require(not extra, f"{extra} enter at step {row.step}, but late_join is not claimed")


@check()
def reconfigured_spaces_stay(subject: Subject) -> None:
    """After `reconfigure` every space is the same object, and observations are still in it."""
    larger = subject.world.config.agents + 1
    env, field, value = subject.env(), "max_steps", 5
    with contextlib.suppress(Exception):  # that many agents may not be allowed
        subject.world.with_agents(larger)
        envelope = {**subject.world.plain_config().get("envelope", {}), "agents": larger}
        env, field, value = subject.env(envelope=envelope), "agents", larger
    before = {**spaces_of(env), "the state space": env.state_space}
    opening(env, 0)
    changes, old, digest = {field: value}, getattr(env.config, field), env.world.digest()
    env.reconfigure(changes)
    same = getattr(env.config, field) == old and env.world.digest() == digest
    require(same, f"reconfigure({changes}) takes effect before the next reset")
    opening(env, 1)
    found = getattr(env.config, field)
    require(found == value, f"reconfigure({changes}) has no effect: {field} is {found}")
    for name, space in {**spaces_of(env), "the state space": env.state_space}.items():
        require(space is before[name], f"{name} is another object after reconfigure")
    for row in play(env, 1, steps=10):
        for name, view in row.observations.items():
            inside = env.observation_space(name).contains(dict(view))
            require(inside, f"after reconfigure an observation of {name} is not in its space")
        inside = env.state_space.contains(env.state())
        require(inside, "after reconfigure state() is not in its space")


@check()
def envelopes_are_kept(subject: Subject) -> None:
    """A config beyond the envelope raises `EnvelopeError`, which names the size, to no effect."""
    env = subject.env()
    opening(env, 0)
    before = env.config, env.world.digest()
    larger = env.world.envelope.agents + 1
    try:
        subject.world.with_agents(larger)
    except Exception:
        raise Skip(f"{larger} agents are not allowed at all") from None
    change, what = functools.partial(env.reconfigure, {"agents": larger}), f"agents={larger}"
    accepted = f"{what} does not fit the envelope, but reconfigure takes it"
    error = require_refusal(EnvelopeError, change, what, accepted)
    require("agents" in str(error), f"an EnvelopeError does not name the agents: {error}")
    same = (env.config, env.world.digest()) == before and env.runner.next_config is None
    require(same, "a reconfigure that was refused has changed something")


@check()
def events_are_posted(subject: Subject) -> None:
    """Listeners hear of every reset, step and close, and listening changes no future."""
    rows = list(play(subject.env(), 2, steps=30, unruly=True))
    calm, heard = subject.env(), subject.env()
    kinds: list[str] = []
    heard.events.subscribe(lambda event: kinds.append(event.kind))
    require_alike("an environment with a listener goes on differently", calm, heard, 2, rows)
    heard.close()
    steps = kinds.count("step")
    require(steps == len(rows) - 1, f"{len(rows) - 1} steps were taken, but {steps} posted")
    for kind in ("reset", "close"):
        require(kind in kinds, f"no {kind} was posted")
