"""One step of a home: the agents act in order, letters arrive, and the goal is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.world import DecodedAction, StepResult, shared
from piase_gym.worlds.channel.config import SPOKEN
from piase_gym.worlds.household.config import HouseholdConfig
from piase_gym.worlds.household.levels.game import Entry, Game
from piase_gym.worlds.household.rules import commands
from piase_gym.worlds.household.rules.goals import MARKS, TOGGLED
from piase_gym.worlds.household.state import HomeState

MILESTONES = ("target_taken", "target_changed", "lamp_on", "target_placed")
_MADE = MARKS["isclean"] | MARKS["ishot"] | MARKS["iscool"] | MARKS["issliced"]
_CHANGING = frozenset(("heat", "clean", "cool", "slice"))


class Turn(NamedTuple):
    """The data that a step needs and changes.

    Attributes:
        config: The config.
        game: The home.
        state: Its state, which changes.
        entry_of: Agent and command -> the command of this home, or ``None`` if it cannot be
            carried out any more.
        speak: Sends what an agent says.
        names_places: Whether the answer to ``go`` names the receptacle.
    """

    config: HouseholdConfig
    game: Game
    state: HomeState
    entry_of: Callable[[int, Any], Entry | None]
    speak: Callable[[int, Command], None]
    names_places: bool


def advance(turn: Turn, plans: Sequence[DecodedAction]) -> StepResult:
    """Let one step pass."""
    state, config, table = turn.state, turn.config, turn.config.rewards
    slots = len(plans)
    outcomes, rewards = [Outcome.OK] * slots, [0.0] * slots
    notes: dict[int, dict[str, Any]] = {}
    playing = [agent for agent in state.order if state.status[agent] == "playing"]
    # A task may be done from the beginning, or by what a script has put somewhere.
    changed = state.t == 0 or config.script is not None
    for agent in playing:
        plan = plans[agent]
        rewards[agent] = table.step
        note: dict[str, Any] = {}
        state.why[agent] = ""
        if isinstance(plan, InvalidAction):
            outcomes[agent] = plan.outcome
            rewards[agent] += table.illegal
            state.why[agent] = plan.message
            explains = config.feedback == "explain"
            state.feedback[agent] = plan.message if explains else commands.NO_EFFECT
        elif plan is not None and plan.verb in SPOKEN:
            turn.speak(agent, plan)
            state.feedback[agent] = "You say it."
        elif (row := turn.entry_of(agent, plan)) is None:
            outcomes[agent], state.feedback[agent] = Outcome.FAILED, commands.NO_EFFECT
            state.why[agent] = "Another was faster: this is no longer possible."
        else:
            state.feedback[agent] = commands.perform(
                turn.game, state, agent, row, turn.names_places
            )
            if turn.game.goal.concerns(row.verb, row.one):
                changed = True
                found = dict.fromkeys(_reached(turn.game, state, row))
                reached = [m for m in found if m not in state.reached]
                if reached:
                    state.reached += reached
                    note["milestones"] = reached
                    rewards[agent] += table.subgoal * len(reached)
        note["feedback"] = state.feedback[agent]
        notes[agent] = note
    state.t += 1
    won = changed and turn.game.goal.reached(state)
    late = not won and state.t >= config.max_steps
    ended = won or late
    for note in notes.values():
        note["won"] = won
    if ended:
        for agent in playing:
            state.status[agent] = "won" if won else "lost"
            if won:
                rewards[agent] += table.win
    over, none = [k in playing for k in range(slots)], [False] * slots
    if config.shared_reward:
        rewards = shared(rewards, playing)
    return StepResult(
        rewards, over if won else none, over if late else none.copy(), outcomes, ended, notes
    )


def _reached(game: Game, state: HomeState, row: Entry) -> Iterator[str]:
    """Yield the milestones that a command has reached."""
    for wanted in game.goal.wanted:
        if row.one not in wanted.objects or row.verb in ("go", "open", "close"):
            continue
        marks = wanted.marks & _MADE
        done = state.marks[row.one] & marks == marks
        if row.verb == "take":
            yield MILESTONES[0]
        elif row.verb in _CHANGING and marks and done:
            yield MILESTONES[1]
        elif row.verb == "use" and wanted.marks & TOGGLED:
            yield MILESTONES[2]
        elif row.verb in ("move", "put") and done and row.two in (wanted.places or ()):
            yield MILESTONES[3]
