"""One turn: the agents act in order, letters arrive, and an answer is judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.world import DecodedAction, StepResult, shared
from piase_gym.worlds.sql_query.config import SqlQueryConfig
from piase_gym.worlds.sql_query.rules.engine import Result, schema_asked
from piase_gym.worlds.sql_query.state import LastQuery, Setting, SqlState

MILESTONES = ("query_run", "answer_found")


class Turn(NamedTuple):
    """What a step needs and changes.

    Attributes:
        config: The config.
        setting: The task.
        state: The state, which changes.
        results: What came of each agent's last query; the list changes.
        run: Runs a statement on the database as it is now.
        judge: Returns the score of a result, on the database as it is now.
        speak: Sends what an agent says.
    """

    config: SqlQueryConfig
    setting: Setting
    state: SqlState
    results: list[Result | None]
    run: Callable[[str], Result]
    judge: Callable[[Result | None], float]
    speak: Callable[[int, Command], None]


def advance(turn: Turn, plans: Sequence[DecodedAction]) -> StepResult:
    """Let one turn pass."""
    state, config, table = turn.state, turn.config, turn.config.rewards
    slots = len(plans)
    outcomes, rewards = [Outcome.OK] * slots, [0.0] * slots
    notes: dict[int, dict[str, Any]] = {}
    playing = [agent for agent in state.order if state.status[agent] == "playing"]
    final: float | None = None
    gained = 0.0
    for agent in playing:
        plan, note = plans[agent], notes.setdefault(agent, {})
        rewards[agent] = table.step
        state.told[agent] = None
        if final is not None:
            outcomes[agent] = Outcome.FAILED
            state.told[agent] = "The question has been answered already."
        elif isinstance(plan, InvalidAction):
            outcomes[agent] = plan.outcome
            rewards[agent] += table.illegal
            state.told[agent] = plan.message
        elif plan is None or plan.verb == "wait":
            pass
        elif plan.verb in ("say", "tell"):
            turn.speak(agent, plan)
        elif plan.verb == "skip":
            state.status[agent] = "lost"
            state.told[agent] = "You give up."
        elif plan.verb == "submit":
            final = turn.judge(turn.results[agent])
            if config.answer == "best":
                final = max(final, state.best or 0.0)
        else:
            outcomes[agent] = _ask(turn, agent, statement_of(plan), note)
            if outcomes[agent] is Outcome.OK:
                scored = note["score"]
                if config.answer == "best":
                    gained += max(0.0, scored - max(0.0, state.best or 0.0))
                    final = scored if scored >= 1.0 else None
                state.best = scored if state.best is None else max(state.best, scored)
            else:
                rewards[agent] += table.error
        if state.told[agent] is not None:
            note["feedback"] = state.told[agent]
    state.t += 1
    if final is not None and config.answer == "submitted":
        gained = final
    left = [agent for agent in playing if state.status[agent] == "playing"]
    late = final is None and state.t >= config.max_steps
    over = final is not None or late
    for agent in left if over else ():
        state.status[agent] = "won" if final is not None and final >= 1.0 else "lost"
    worth = final or 0.0
    if config.answer == "best":
        worth = max(worth, state.best or 0.0)
    for agent in playing:
        rewards[agent] += table.score * gained
        if state.status[agent] != "playing":
            task = turn.setting.task
            notes[agent] |= {"task_id": task.task_id, "hardness": task.hardness}
            if "playing" not in state.status:  # others could still use it
                notes[agent]["gold"] = task.gold
            notes[agent]["score"] = worth
    if config.shared_reward:
        rewards = shared(rewards, playing)
    ended = [agent in playing and state.status[agent] != "playing" for agent in range(slots)]
    terminated = [ended[k] and not (late and k in left) for k in range(slots)]
    truncated = [ended[k] and late and k in left for k in range(slots)]
    return StepResult(rewards, terminated, truncated, outcomes, any(ended), notes)


def statement_of(command: Command) -> str:
    """Return the statement that a command runs."""
    if command.verb == "query":
        return str(command.parameters["sql"])
    if command.verb == "tables":
        return "SHOW TABLES"
    name = command.parameters["table"]
    if re.fullmatch(r"\w+", name) and name.lower() not in ("table", "tables"):
        return f"DESCRIBE {name}"
    return f"SHOW COLUMNS FROM `{name}`"


def _ask(turn: Turn, agent: int, sql: str, note: dict[str, Any]) -> Outcome:
    """Run a statement for an agent."""
    state = turn.state
    at = len(state.journal)
    found = turn.run(sql)
    if found.changed and found.reason is None:
        state.journal.append(sql)
    turn.results[agent] = found
    state.asked[agent] = LastQuery(sql, at, found.error, found.reason, found.changed)
    note["score"] = turn.judge(found)
    note["error"] = found.reason
    if found.reason is not None:
        return Outcome.TIMEOUT if found.reason == "timeout" else Outcome.FAILED
    reached = [MILESTONES[0]] * (state.best is None)
    reached += [MILESTONES[1]] * (note["score"] >= 1.0 and (state.best or 0.0) < 1.0)
    if reached:
        note["milestones"] = reached
    _learn(turn, agent, sql)
    return Outcome.OK


def _learn(turn: Turn, agent: int, sql: str) -> None:
    """Note what a query has told an agent about the schema."""
    name = schema_asked(sql)
    if name is None:
        return
    if not name:
        turn.state.tables[agent] = True
        return
    known = turn.state.described[agent]
    for k, table in enumerate(turn.setting.database.schema):
        if table.name.lower() == name.lower() and k not in known:
            known.append(k)
            known.sort()
