"""The kernels of array worlds: reset and step, for many environments or for one.

A world brings its `Rules`; `compile_kernels` substitutes them for the names below and compiles the
functions of this file for that world. (They are not closures, because numba cannot find the cached
machine code of closures over compiled functions.)

The outputs of many environments are flat arrays with one row per agent, environments first; a batch
of one keeps everything in one record (`single`). Records are called s and have the fields of
`BOOKKEEPING`; tables are called w, and o is the row of an environment's first agent.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment"

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from piase_gym.compiled.decorators import CHECKED, JIT, helper, inline, kernel
from piase_gym.compiled.draws import episode_seed
from piase_gym.compiled.memory import Varying, array_at, placed, prefetch, record, store

ABSENT: Final = -1
"""The act of an agent that gives no command; ``ABSENT - k`` is an invalid action of the k-th kind.

Kernels accept these codes only if told to; to other callers they are indices out of range.
"""
NONE: Final = 0
"""The event of an agent that took no part in a step; every world's table of events has it."""
WORD: Final = 8
"""The bytes of the largest numbers."""
LINE, LONG, MUCH = 64, 1024, 2**19
"""The bytes that processors fetch at once; and the smallest sizes of a record, and of all records
together, for which it pays to fetch the next record early."""
SHOW, REBUILD, BEGIN, NEXT, CONTINUE = range(5)
"""What `reset` does. `SHOW` writes what agents in play see. `REBUILD` recomputes what is derived
from the state, then writes what the agents see that took part in the last step. `BEGIN` starts an
episode, and `NEXT` the next one. `CONTINUE` does the same as `NEXT`, but keeps the rewards, flags
and events of the last episode's last step."""

DISABLED, NEXT_STEP, SAME_STEP = range(3)
"""Modes of autoreset: environments that are over are left alone, or are reset by the next step, or
by the step in which they end."""
AUTORESET: Final = {"disabled": DISABLED, "next_step": NEXT_STEP, "same_step": SAME_STEP}
"""The modes of autoreset by name."""


def fields_of(kind: str, names: str, *shape: Any) -> list[Any]:
    """Return fields of one type for a record, given their names with spaces between them."""
    return [(name, kind, *shape) for name in names.split()]


BOOKKEEPING: Final[list[Any]] = [
    ("config", "<i4"),  # the table in use
    ("next_config", "<i4"),  # the table to use from the next reset on
    ("given", "<u8"),  # the seed that the environment was given
    ("episode", "<u8"),  # how many resets without a seed followed
    ("over", "u1"),  # whether the episode is over and the next step resets
    ("ended", "u1"),  # whether an episode ended in the last step
    ("fault", "<i4"),  # why no level could be made, 0 if one could
]
"""Fields of every record, after those of the state."""


ADDRESSES: Final = "obs masks rewards terminated truncated events alive outcomes".split()


class Rules(NamedTuple):
    """The compiled functions of one world.

    Attributes:
        begin: ``(s, w, seed)`` starts the episode of an effective seed, or sets ``s.fault``.
        tick: ``(s, w, o, acts, rewards, terminated, truncated, events)`` advances by a step; no
            flag of `terminated` or `truncated` is set before it. It returns a nonzero number if an
            agent ended or reached a milestone for the first time.
        sight: ``(s, w, a, obs, p)`` writes the vector of agent a from ``obs[p]`` on.
        legal: ``(s, w, a, masks, m)`` writes the mask of agent a from ``masks[m]`` on.
        rebuild: ``(s, w)`` recomputes what is derived from the state.
        present: The event of an agent in play at a reset.
        noop: The only action in the masks of agents that are not in play; -1 is the last action.
        number: The type of vectors.
    """

    begin: Any
    tick: Any
    sight: Any
    legal: Any
    rebuild: Any
    present: int
    noop: int
    number: type[Any] = np.uint8


_OF_A_WORLD: Any = None
begin = tick = sight = legal = rebuild = present = noop = number = _OF_A_WORLD


class Kernels(NamedTuple):
    """The functions that Python calls; see the functions of these names for their arguments."""

    reset: Any
    step: Any
    reset_one: Any
    step_one: Any


def compile_kernels(rules: Rules, module: str) -> Kernels:
    """Return the kernels of a world; `module` is the ``__name__`` of the module that keeps them."""
    own = {**globals(), **rules._asdict(), "__name__": module}
    names = [getattr(rule, "py_func", rule).__qualname__ for rule in rules[:5]]

    def put_in(mark: Callable[..., Any], function: Any) -> Any:
        made = FunctionType(function.__code__, own, function.__name__)
        # Kernels of one module need names of their own; see `with_constants`.
        made.__qualname__ = f"{function.__name__}_{'_'.join(names)}"
        own[function.__name__] = mark(made)
        return own[function.__name__]

    put_in(helper, absent)
    put_in(inline, show)
    return Kernels(*[put_in(kernel, function) for function in (reset, step, reset_one, step_one)])


OUTPUTS: Final = record(
    [
        ("rows", "<i8"),  # agents of all environments
        *((name, "<u8") for name in ADDRESSES),
        ("codes", "u1", 256),  # the outcome of every event, as an index of `commands.OUTCOMES`
    ]
)
"""The addresses of the arrays that kernels write: one record instead of a dozen arguments."""


@functools.cache
def single(state: np.dtype[Any], table: np.dtype[Any], agents: int) -> np.dtype[Any]:
    """Return the record type for all that a batch of one needs: state, table, acts and outputs.

    One argument instead of nine makes a call from Python several times cheaper. So does passing the
    very same type each time: if types are merely equal, numba takes longer to find the kernel.

    Args:
        state: The record type of an environment.
        table: The record type of a config.
        agents: How many agents there is room for.
    """
    return record(
        [
            ("rewards", "<f8", agents),
            ("acts", "<i4", agents),
            ("events", "u1", agents),
            ("terminated", "u1", agents),  # numba has no nested booleans
            ("truncated", "u1", agents),
            ("coded", "u1"),  # 1 if acts may be codes, such as ABSENT
            ("obs", "<u8"),  # where vectors and masks lie
            ("masks", "<u8"),
            ("table", table),
            ("state", state),  # the last, because it may be longer than its type
        ]
    )


def _aligned(place: int, unit: int) -> int:
    """Return the first multiple of `unit` from a place on."""
    return -(-place // unit) * unit


def _end_of_fixed(known: Mapping[str, Any], varying: Varying) -> int:
    """Return where the fields of fixed lengths end in a record."""
    last: int = max(kind.itemsize + offset for kind, offset, *_ in known.values())
    return min((known[name][1] for name, _ in varying if name in known), default=last)


@functools.cache
def kernel_type(
    records: np.dtype[Any], varying: Varying, whole: bool = CHECKED or not JIT
) -> np.dtype[Any]:
    """Return the type that kernels are compiled for, given the type of records or batches of one.

    It is the same for records of all sizes: to kernels, every field that varies begins where the
    fixed fields end. Tables say how far from there each of them lies (`starts`); how long it is,
    the type does not tell.

    Args:
        records: The type of the records, in memory with the fields that vary at the end.
        varying: The fields whose lengths depend on the config. Records may lack some.
        whole: Whether these fields reach to the end of the record, as those who check bounds must
            know. Types are not the same for all sizes then.
    """
    known: Mapping[str, Any] = records.fields or {}
    if "state" in known:
        state = kernel_type(records["state"], varying, whole)
        return single(state, records["table"], records["acts"].shape[0])
    end = _end_of_fixed(known, varying)
    size = max(records.itemsize if whole else 0, _aligned(end, WORD) + WORD)
    fields = {name: known[name][:2] for name in known if known[name][1] < end}
    for name, kind in varying:
        unit = np.dtype(kind).itemsize
        first = _aligned(end, unit)
        fields[name] = np.dtype((kind, ((size - first) // unit,))), first
    return placed(fields, size)


@functools.cache
def starts(records: np.dtype[Any], varying: Varying) -> Mapping[str, int]:
    """Return the index in each field that varies, as kernels see it, where the record has it."""
    known: Mapping[str, Any] = records.fields or {}
    end, found, units = _end_of_fixed(known, varying), {}, dict(varying)
    for name, (_, offset, *_) in known.items():
        if offset >= end:
            unit = np.dtype(units.get(name, "u1")).itemsize
            found[name] = (offset - _aligned(end, unit)) // unit
    return found


# -- helpers, the same in every world -----------------------------------------------------


@inline
def clear(flags):
    """Set all flags to false."""
    for i in range(len(flags)):
        flags[i] = False


@inline
def is_over(s, w, focal):
    """Return whether the episode is over: for the agent `focal`, or for all if it is -1."""
    if focal >= 0:
        return s.alive[focal] == 0
    for a in range(w.agents):
        if s.alive[a]:
            return False
    return True


@inline
def stray(acts, num_actions):
    """Return the index of the first act that is not in the table, or -1."""
    found = False
    for i in range(len(acts)):  # without an early exit, which would prevent vectorization
        found |= np.uint32(acts[i]) >= np.uint32(num_actions)
    if found:
        for i in range(len(acts)):
            if np.uint32(acts[i]) >= np.uint32(num_actions):
                return i
    return -1


@inline
def readable_acts(s, w, acts, coded):
    """Return whether every agent in play gave an index of the table (or a code, if `coded`)."""
    for a in range(w.agents):
        if s.alive[a] and (acts[a] >= w.num_actions or (acts[a] < 0 and not coded)):
            return False
    return True


# -- helpers for the rules of worlds ------------------------------------------------------


@helper
def share(w, o, rewards, events):
    """Give every agent that took part the mean reward of those that did."""
    total, count = 0.0, 0
    for a in range(w.agents):
        if events[o + a] != NONE:
            total += rewards[o + a]
            count += 1
    for a in range(w.agents):
        if events[o + a] != NONE:
            rewards[o + a] = total / count


# -- helpers, around the rules of a world -------------------------------------------------


def absent(w, obs, p, masks, m):
    """Write what an agent that is not in play gets: zeros, and a mask for doing nothing."""
    for i in range(w.length):
        store(obs, p + i, 0)
    for i in range(w.num_actions):
        store(masks, m + i, i == noop % w.num_actions)


def show(s, w, o, everyone, events, obs, masks):
    """Write vectors and masks of all agents that took part in this step, or of all in play."""
    agents, length, actions = np.int64(w.agents), np.int64(w.length), np.int64(w.num_actions)
    for a in range(w.slots):
        p, m = (o + a) * length, (o + a) * actions
        shown = s.alive[a] != 0 if everyone else events[np.uint64(o + a)] != NONE
        if shown and a < agents:
            sight(s, w, a, obs, p)
            legal(s, w, a, masks, m)
        else:
            absent(w, obs, p, masks, m)


# -- kernels ------------------------------------------------------------------------------


def reset(states, tables, outputs, which, what):
    """Start the next episode of some environments, or only write what agents see.

    Args:
        states: One record per environment.
        tables: One table per config.
        outputs: See `OUTPUTS`.
        which: The numbers of the environments.
        what: `SHOW`, `REBUILD`, `BEGIN`, `NEXT` or `CONTINUE`.

    Returns:
        How many episodes could not be made.
    """
    x, w = outputs[0], tables[0]
    obs = array_at(x.obs, x.rows * w.length, number)
    masks = array_at(x.masks, x.rows * w.num_actions, np.int8)
    rewards, events = array_at(x.rewards, x.rows, np.float64), array_at(x.events, x.rows, np.uint8)
    terminated = array_at(x.terminated, x.rows, np.uint8)
    truncated = array_at(x.truncated, x.rows, np.uint8)
    alive, outcomes = array_at(x.alive, x.rows, np.uint8), array_at(x.outcomes, x.rows, np.uint8)
    faults = 0
    for e in which:
        s = states[e]
        if what >= BEGIN:
            s.config = s.next_config
            s.over = 0
            s.episode += np.uint64(what != BEGIN)
            begin(s, tables[s.config], episode_seed(s.given, s.episode))
            faults += s.fault != 0
        w = tables[s.config]
        o = e * w.slots
        if what == REBUILD:
            rebuild(s, w)
        elif what != CONTINUE:
            for a in range(w.slots):
                rewards[o + a] = 0.0
                terminated[o + a] = truncated[o + a] = False
                events[o + a] = present if a < w.agents and s.alive[a] else NONE
        show(s, w, o, what == CONTINUE, events, obs, masks)
        for a in range(w.slots):
            alive[o + a] = s.alive[a]
            outcomes[o + a] = x.codes[events[o + a]]
    return faults


def step(states, tables, outputs, acts, focal):
    """Advance every environment by one step, except those with an episode that is over.

    The end of the agent `focal` ends the episode; if `focal` is -1, the end of the last agent does.

    Returns:
        How many episodes are over, or ``-1 - i`` if act i is not in the table (acts of agents that
        are not in play count too); in that case nothing has changed.
    """
    wrong = stray(acts, tables[0].num_actions)
    if wrong >= 0:
        return -1 - wrong
    x, w = outputs[0], tables[0]
    obs = array_at(x.obs, x.rows * w.length, number)
    masks = array_at(x.masks, x.rows * w.num_actions, np.int8)
    rewards, events = array_at(x.rewards, x.rows, np.float64), array_at(x.events, x.rows, np.uint8)
    terminated = array_at(x.terminated, x.rows, np.uint8)
    truncated = array_at(x.truncated, x.rows, np.uint8)
    alive, outcomes = array_at(x.alive, x.rows, np.uint8), array_at(x.outcomes, x.rows, np.uint8)
    acts = array_at(acts.ctypes.data, x.rows, np.int32)
    clear(terminated)
    clear(truncated)
    over, envs, size = 0, x.rows // w.slots, np.int64(states.strides[0])
    memory = array_at(states.ctypes.data, envs * size, np.uint8)
    ahead = size if size >= LONG and envs * size > MUCH else 0
    for e in range(envs):
        start = min(size * (e + 1), (envs - 1) * size)
        for i in range(start, start + ahead, LINE):
            prefetch(memory, i)  # the next record: waiting for it is several times slower
        s = states[e]
        w = tables[np.uint64(s.config)]  # unsigned: no check for indices from the end
        o = e * w.slots
        s.ended = False
        if s.over:
            for row in range(o, o + w.slots):
                rewards[row], events[row] = 0.0, NONE
        else:
            notable = tick(s, w, o, acts, rewards, terminated, truncated, events)
            if notable and is_over(s, w, focal):
                s.over = s.ended = True
        over += s.over
        show(s, w, o, False, events, obs, masks)
        for a in range(w.slots):
            row = np.uint64(o + a)
            alive[row] = s.alive[a]
            outcomes[row] = x.codes[events[row]]
    return over


def reset_one(one, what, seed):
    """Start the episode of an effective seed in a batch of one, or only write what agents see.

    Args:
        one: The batch.
        what: `REBUILD` or `BEGIN`.
        seed: The effective seed of the episode.

    Returns:
        The fault that kept the level from being made, or 0.
    """
    x = one[0]
    s, w, o = x.state, x.table, np.int64(0)
    obs = array_at(x.obs, w.slots * w.length, number)
    masks = array_at(x.masks, w.slots * w.num_actions, np.int8)
    events = x.events[:]
    if what == REBUILD:
        rebuild(s, w)
    else:
        s.given, s.episode, s.config, s.next_config, s.over = seed, 0, 0, 0, 0
        begin(s, w, np.uint64(seed))
        for a in range(w.slots):
            x.rewards[a], x.terminated[a], x.truncated[a] = 0.0, False, False
            events[a] = present if a < w.agents and s.alive[a] else NONE
    show(s, w, o, False, events, obs, masks)
    return s.fault


def step_one(one):
    """Advance a batch of one by a step.

    Returns:
        Not 0 if an agent ended or reached something, or -1 if an act is not in the table; in that
        case nothing has changed.
    """
    x = one[0]
    s, w, o = x.state, x.table, np.int64(0)
    if not readable_acts(s, w, x.acts, x.coded):
        return -1
    slots = np.int64(w.slots)
    obs = array_at(x.obs, slots * w.length, number)
    masks = array_at(x.masks, slots * w.num_actions, np.int8)
    # Slices have the type of a batch's arrays, so rules are compiled once for both.
    terminated, truncated, events = x.terminated[:], x.truncated[:], x.events[:]
    clear(terminated)
    clear(truncated)
    notable = tick(s, w, o, x.acts[:], x.rewards[:], terminated, truncated, events)
    show(s, w, o, False, events, obs, masks)
    return notable
