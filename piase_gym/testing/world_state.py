"""Checks of worlds: seeds, snapshots, digests, configs and ends."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from piase_gym.errors import AgentError, ClosedError, ResetNeededError, SnapshotError
from piase_gym.testing.kit import check, require, require_refusal
from piase_gym.testing.play import (
    WHOLE,
    continued,
    last_row,
    opening,
    play,
    played_again,
    replay,
    require_same_rows,
)
from piase_gym.testing.processes import SEED, STEPS, answers_of, question_of
from piase_gym.testing.subject import Subject
from piase_gym.testing.values import plain, require_same, through_json


@check()
def seeds_are_told(subject: Subject) -> None:
    """The infos of every reset tell a seed, and `reset(seed=that)` brings the episode back."""
    env, other = subject.env(), subject.env()
    for seed in (0, None, None, 9, None):
        row = opening(env, seed)
        seeds = {info.get("seed") for info in row.infos.values()}
        require(len(seeds) == 1, f"the infos of one reset tell the seeds {seeds}")
        effective = seeds.pop()
        require(seed in (None, effective), f"reset(seed={seed}) tells the seed {effective}")
        first = env.world.digest()
        opening(other, effective)
        require(other.world.digest() == first, f"reset(seed={effective}) does not bring it back")
    fresh = {opening(subject.env(), None).infos[row.after[0]]["seed"] for _ in range(3)}
    require(len(fresh) == 3, "environments that were never seeded start with the same seed")


@check("deterministic")
def told_seeds_bring_back(subject: Subject) -> None:
    """The seed that an unseeded reset tells gives the whole episode again in a new environment."""
    env, again = subject.env(), subject.env()
    opening(env, 1)
    rows = list(play(env, None, unruly=True))
    seed = rows[0].infos[rows[0].after[0]]["seed"]
    opening(env, 1)
    found = played_again(env, None, rows), played_again(again, seed, rows)
    require_same_rows(f"reset(seed={seed}) gives another episode", *found)


@check("snapshot")
def snapshots_are_json(subject: Subject) -> None:
    """A snapshot survives JSON, and an environment that took it up has the same one."""
    for seed in (0, 1):
        env, fresh = subject.env(), subject.env()
        last_row(env, seed, STEPS, unruly=True, hints=True)
        again = through_json(env.snapshot(), "a snapshot")
        fresh.restore(again)
        found = through_json(fresh.snapshot(), "a snapshot")
        require_same("an environment that took up a snapshot has another", again, found)
        require(
            fresh.world.digest() == env.world.digest(), "restoring a snapshot gives another digest"
        )


@check("snapshot")
def restored_go_on_alike(subject: Subject) -> None:
    """A snapshot has the same future in a new environment, a stepped one and the one it is of."""
    for seed in (SEED, SEED + 1):
        env, stepped = subject.env(), subject.env()
        last_row(env, seed, STEPS, unruly=True, hints=True)
        saved = json.loads(json.dumps(env.snapshot()))
        expected = continued(env, seed)
        last_row(stepped, 77, 9, unruly=True, hints=True)
        others = {"a new": subject.env(), "a stepped": stepped, "the same": env}
        for which, other in others.items():
            other.restore(saved)
            message = f"restored into {which} environment, the future is another"
            require_same_rows(message, expected, continued(other, seed))


@check("snapshot")
def snapshots_keep_the_seeds(subject: Subject) -> None:
    """The resets after a restored snapshot are those that would have followed it."""
    env, other = subject.env(), subject.env()
    last_row(env, SEED, STEPS, unruly=True)
    other.restore(env.snapshot())
    for _ in range(2):
        message = "resets after a restored snapshot differ"
        require_same(message, opening(env, None), opening(other, None))


@check("snapshot")
def restored_elsewhere_go_on_alike(subject: Subject) -> None:
    """A snapshot taken up in another process, whatever its PYTHONHASHSEED, has the same future."""
    _require_future(subject, "restore", "restored")


@check()
def pickled_elsewhere_go_on_alike(subject: Subject) -> None:
    """An environment pickled in mid-episode goes on alike in another process."""
    _require_future(subject, "unpickle", "unpickled")


def _require_future(subject: Subject, name: str, what: str) -> None:
    """Require that what other processes answered is what happens here."""
    question_of(subject, name)
    env = subject.env()
    last_row(env, SEED, STEPS, **subject.how)
    here = continued(env, SEED)
    for there in answers_of(subject, name):
        require_same_rows(f"{what} in another process, the future is another", here, there)


@check("snapshot")
def damaged_snapshots_are_refused(subject: Subject) -> str:
    """A snapshot that is damaged or of something else raises `SnapshotError`, to no effect."""
    env = subject.env()
    last_row(env, 1, 2, unruly=True)
    good = json.loads(json.dumps(env.snapshot()))
    before = env.world.digest()
    bad: list[Any] = [{}, None, [], {**good, "world": "Elsewhere"}, {**good, "version": -1}]
    bad += [{k: v for k, v in good.items() if k != key} for key in good if key != "next_config"]
    bad += [{**good, "state": {**good["state"], key: None}} for key in good["state"]]
    for snapshot in bad:
        what, gist = "a damaged snapshot", f"{snapshot!r:.80}"
        restore = functools.partial(env.restore, snapshot)
        require_refusal(SnapshotError, restore, what, f"{what} is taken up: {gist}")
        same = env.world.digest() == before
        require(same, f"{what} is refused, but changes the state: {gist}")
    return f"{len(bad)} of them"


@check()
def digests_tell_states_apart(subject: Subject) -> None:
    """The digest is 16 hexadecimal digits, the same for the same state, and changes with it."""
    env, twin = subject.env(), subject.env()
    rows = list(play(env, 0, steps=40, unruly=True))
    known: dict[str, Any] = {}
    for row in replay(twin, 0, rows):
        digest = twin.world.digest()
        good = isinstance(digest, str) and len(digest) == 16 and int(digest, 16) >= 0
        require(good, f"the digest is {digest!r}, not 16 hexadecimal digits")
        require(digest == twin.world.digest(), "the digest of one state changes from call to call")
        state = plain(twin.state())
        message = f"at step {row.step} another state has an earlier digest"
        require_same(message, known.setdefault(digest, state), state)
    require(len(known) > 1, "the digest never changes")


@check()
def order_of_calls_is_kept(subject: Subject) -> None:
    """Steps before a reset, after an end or after `close`, and strange agents, raise our errors."""
    env = subject.env()
    noop = env.world.noop

    def refuses(
        what: str, expected: type[Exception], call: Callable[..., Any], *given: Any
    ) -> None:
        sentence = f"{what} does not raise {expected.__name__}"
        require_refusal(expected, functools.partial(call, *given), what, sentence)

    one = {env.possible_agents[0]: noop}
    refuses("a step before the first reset", ResetNeededError, env.step, one)
    refuses("a state before the first reset", ResetNeededError, env.state)
    if not last_row(env, 0, WHOLE, unruly=True).after:
        refuses("a step after the end", ResetNeededError, env.step, one)
    given = {**dict.fromkeys(opening(env, 0).after, noop), "nobody": noop}
    refuses("an action for a strange agent", AgentError, env.step, given)
    env.close()
    refuses("a reset after close", ClosedError, env.reset)
    refuses("a state after close", ClosedError, env.state)
