"""The kernels that Python calls, around the rules of any array world: reset and step, many or one.

The outputs of many environments are flat arrays with a row an agent, environments first; a batch of
one keeps everything in one record (`single`). Records have the fields of `BOOKKEEPING`.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from piase_gym.kernels import device, episode_seed, helper, kernel_of, rare

NONE: Final = 0
"""The event of an agent that took no part in a step; every world's table of events has it."""

BOOKKEEPING: Final[list[Any]] = [
    ("left", "<i4"),  # how many agents are in play
    ("config", "<i4"),  # which table holds
    ("next_config", "<i4"),  # which table holds from the next reset on
    ("given", "<u8"),  # what the environment was seeded with
    ("episode", "<u8"),  # how many resets without a seed followed
    ("over", "u1"),  # whether the episode is over and the next step resets
    ("ended", "u1"),  # whether an episode ended in the last step
    ("fault", "<i4"),  # why no level could be made, 0 if one could
]
"""Fields of every record, after those of the state."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The compiled functions of one world that the kernels are put around.

    Records are called s, tables w, statics k; o is the row of an environment's first agent.

    Attributes:
        begin: ``(s, w, k, seed)`` starts the episode of an effective seed, or sets ``s.fault``.
        tick: ``(s, w, k, o, acts, rewards, terminated, truncated, events)`` advances by a step;
            nobody is terminated or truncated before it. It returns not 0 if an agent ended or
            reached a milestone for the first time.
        observe: ``(s, w, k, o, events, obs, masks)`` writes vectors and masks; those whose event is
            `NONE` get zeros and the no-op.
        greet: ``(s, w, k, o, events, obs, masks)`` does so for all that are there at a reset.
        rebuild: ``(s, w, k)`` makes what is derived from the state.
        present: The event of an agent that is in play, at a reset.
        reach: ``(states, k, soon)`` brings near what a step of an environment needs, where many do
            not fit into the processor's caches.
    """

    begin: Any
    tick: Any
    observe: Any
    greet: Any
    rebuild: Any
    present: int
    reach: Any = None


class Kernels(NamedTuple):
    """What Python calls; see `many` and `one` for arguments."""

    reset: Any
    step: Any
    look: Any
    reset_one: Any
    step_one: Any
    refresh_one: Any


def single(
    state: np.dtype[Any], table: np.dtype[Any], agents: int, length: int, actions: int, kind: str
) -> np.dtype[Any]:
    """Return one record for all that a batch of one needs: state, table, acts and outputs.

    One argument instead of nine makes a call from Python several times cheaper.

    Args:
        state: The record of an environment.
        table: The record of a config.
        agents: How many agents fit.
        length: The longest vector that fits, times agents.
        actions: The longest mask that fits, times agents.
        kind: The type of vectors, such as ``u1``.
    """
    return np.dtype(
        [
            ("clock", "<i8"),  # what runs note of a step, up to the events
            ("digest", "<u8"),
            ("rewards", "<f8", agents),
            ("acts", "<i4", agents),
            ("events", "u1", agents),
            ("state", state),
            ("table", table),
            ("terminated", "u1", agents),  # numba has no nested booleans
            ("truncated", "u1", agents),
            ("coded", "u1"),  # 1 if acts may be codes, such as ABSENT
            ("obs", kind, length),
            ("masks", "i1", actions),
        ],
        align=True,  # so that memory views of fields have native formats
    )


# -- what is the same in every world ------------------------------------------------------


@device
def enter_all(s, w, o, events, present):
    """Note who is in play at a reset."""
    for a in range(w.slots):
        events[o + a] = present if a < w.agents and s.alive[a] else NONE


@device
def clear(w, o, rewards, terminated, truncated):
    """Write that nothing happened to anyone."""
    for a in range(w.slots):
        rewards[o + a] = 0.0
        terminated[o + a] = False
        truncated[o + a] = False


@device
def nobody(flags):
    """Write that none has ended."""
    for i in range(flags.shape[0]):
        flags[i] = False


@device
def is_over(s, focal):
    """Tell whether the episode is over: for the focal agent, or for all if it is -1."""
    return s.left == 0 if focal < 0 else s.alive[focal] == 0


@device
def stay_here(states, k, soon):
    """Do what `Rules.reach` does for worlds whose records are small: nothing."""


@helper
def first_stray(acts, num_actions):
    """Return the place of the first act that is not in the table."""
    for i in range(acts.shape[0]):
        if np.uint32(acts[i]) >= num_actions:
            return i
    return -1


@device
def readable(s, w, o, acts, coded):
    """Tell whether every agent in play gave an index of the table (or a code, if there are any)."""
    for a in range(w.agents):
        if s.alive[a] and (acts[o + a] >= w.num_actions or (acts[o + a] < 0 and not coded)):
            return False
    return True


# -- what goes around the rules -----------------------------------------------------------


def compile_kernels(rules: Rules, file: str) -> Kernels:
    """Return the kernels of a world.

    Args:
        rules: Its compiled functions.
        file: The ``__file__`` of the module that keeps the kernels.
    """
    begin, observe = rules.begin, rules.observe

    @rare
    def renew(s, tables, k):
        """Start the next episode of an environment. Returns 1 if no level could be made."""
        s.config = s.next_config
        s.over = 0
        begin(s, tables[s.config], k, episode_seed(s.given, s.episode))
        return 1 if s.fault != 0 else 0

    @rare
    def show(s, w, k, o, events, obs, masks):
        """Do what `observe` does, without being inlined, where speed does not matter."""
        observe(s, w, k, o, events, obs, masks)

    reset, look = starting(rules, renew, show, file)
    step = stepping(rules, renew, show, file)
    return Kernels(reset, step, look, *one(rules, show, file))


def starting(rules: Rules, renew: Any, show: Any, file: str) -> tuple[Any, Any]:
    """Return the kernels that reset many environments and that look at them again."""
    present = rules.present

    @kernel_of(file)
    def reset(states, tables, k, which, obs, masks, rewards, terminated, truncated, events):
        """Start the next episode of some environments. Returns how many could not be made."""
        faults = 0
        for e in which:
            s = states[e]
            faults += renew(s, tables, k)
            w = tables[s.config]
            o = e * w.slots
            clear(w, o, rewards, terminated, truncated)
            enter_all(s, w, o, events, present)
            show(s, w, k, o, events, obs, masks)
        return faults

    @kernel_of(file)
    def look(states, tables, k, obs, masks, events):
        """Write vectors and masks of all agents in play again, after a snapshot was restored."""
        for e in range(states.shape[0]):
            s = states[e]
            w = tables[s.config]
            o = e * w.slots
            enter_all(s, w, o, events, present)
            show(s, w, k, o, events, obs, masks)

    return reset, look


def resuming(rules: Rules, renew: Any, show: Any) -> tuple[Any, Any]:
    """Return what a step does where an episode is over: in the next step, and in the same one."""
    greet, present = rules.greet, rules.present

    @rare
    def rest(s, tables, k, mode, o, rewards, events):
        """Begin the next episode of one that is over, or do nothing (see the mode of `step`)."""
        w, faults = tables[s.config], 0
        for a in range(w.slots):
            rewards[o + a] = 0.0
            events[o + a] = NONE
        if mode == 1:
            s.episode += np.uint64(1)
            faults = renew(s, tables, k)
            enter_all(s, tables[s.config], o, events, present)
        return faults

    @rare
    def restart(s, tables, k, o, events, obs, masks, final_obs):
        """Keep the last observations of an episode and begin the next in the same step."""
        show(s, tables[s.config], k, o, events, final_obs, masks)
        s.episode += np.uint64(1)
        faults = renew(s, tables, k)
        greet(s, tables[s.config], k, o, events, obs, masks)
        return faults

    return rest, restart


def stepping(rules: Rules, renew: Any, show: Any, file: str) -> Any:
    """Return the kernel that steps many environments."""
    tick, observe, reach = rules.tick, rules.observe, rules.reach or stay_here
    rest, restart = resuming(rules, renew, show)

    @kernel_of(file)
    def step(
        states,
        tables,
        k,
        mode,
        focal,
        acts,
        obs,
        masks,
        rewards,
        terminated,
        truncated,
        events,
        final_obs,
        alive,
        outcomes,
        codes,
    ):
        """Advance every environment by one step, and reset those that are over.

        Mode 0 leaves environments that are over alone, 1 resets them in the next step, 2 in the
        same step (their last observations are then in `final_obs`). The end of the agent `focal`
        ends the episode; if it is -1, the end of the last one does.

        Returns:
            How many environments could not be reset, or ``-1 - i`` if act i is not in the table
            (those of agents that are not in play count too); nothing has changed then.
        """
        num_actions = np.uint32(tables[0].num_actions)
        stray = False
        for i in range(acts.shape[0]):  # without a way out, which would keep it from being vector
            stray |= np.uint32(acts[i]) >= num_actions
        if stray:
            return -1 - first_stray(acts, num_actions)
        nobody(terminated)
        nobody(truncated)
        faults, last = 0, states.shape[0] - 1
        for e in range(states.shape[0]):
            reach(states, k, min(e + 2, last))
            s = states[e]
            w = tables[s.config]
            o = e * w.slots
            s.ended = 0
            if s.over:
                faults += rest(s, tables, k, mode, o, rewards, events)
                w = tables[s.config]
            else:
                tick(s, w, k, o, acts, rewards, terminated, truncated, events)
                if is_over(s, focal):
                    s.over = 1
                    s.ended = 1
            if mode == 2 and s.ended:
                faults += restart(s, tables, k, o, events, obs, masks, final_obs)
                w = tables[s.config]
            else:
                observe(s, w, k, o, events, obs, masks)
            for a in range(w.slots):
                row = np.uint64(o + a)
                alive[row] = s.alive[a] != 0
                outcomes[row] = codes[events[row]]
        return faults

    return step


def one(rules: Rules, show: Any, file: str) -> tuple[Any, Any, Any]:
    """Return the kernels of a batch of one: reset, step and refresh."""
    begin, tick, observe, rebuild = rules.begin, rules.tick, rules.observe, rules.rebuild
    present = rules.present

    @kernel_of(file)
    def reset_one(one, k, seed):
        """Reset a batch of one. Returns its fault, 0 for none."""
        x = one[0]
        begin(x.state, x.table, k, seed)
        for a in range(x.table.slots):
            x.events[a] = present if a < x.table.agents and x.state.alive[a] else NONE
        show(x.state, x.table, k, 0, x.events, x.obs, x.masks)
        return x.state.fault

    @kernel_of(file)
    def step_one(one, k):
        """Advance a batch of one by a step.

        Returns:
            How many agents ended or reached something, or -1 if an act is not in the table;
            nothing has changed then.
        """
        x = one[0]
        s, w, events = x.state, x.table, x.events
        if not readable(s, w, 0, x.acts, x.coded):
            return -1
        nobody(x.terminated)
        nobody(x.truncated)
        notable = tick(s, w, k, 0, x.acts, x.rewards, x.terminated, x.truncated, events)
        observe(s, w, k, 0, events, x.obs, x.masks)
        return notable

    @kernel_of(file)
    def refresh_one(one, k):
        """Rebuild everything that is derived from the state of a batch of one."""
        x = one[0]
        rebuild(x.state, x.table, k)
        show(x.state, x.table, k, 0, x.events, x.obs, x.masks)

    return reset_one, step_one, refresh_one
