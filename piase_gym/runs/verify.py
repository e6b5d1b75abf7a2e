"""Compares the lines of a log with those that follow from executing it again.

Lines of a log are of three kinds. *Inputs* (seeds, commands, hints, letters, restored states) say
what is to be executed. *Derived* lines follow from them: goals, outcomes, rewards, perceptions,
milestones, messages, the summary. *Own* lines are those of users, of agents and of curricula, of
which only the frame can be checked, and for curricula what `piase_gym.curricula.recheck` computes.

Derived lines stand right behind the input that they follow from; only those that open an episode,
or break one off, stand before it.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from piase_gym.core.commands import Outcome
from piase_gym.core.digest import digest_json
from piase_gym.core.world import StepResult, World
from piase_gym.errors import RunError
from piase_gym.runs.derive import PERCEPT, Deriver
from piase_gym.runs.divergence import MISSING, Divergence, ReplayReport, differences
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.expand import AgentEvent
from piase_gym.runs.history import History
from piase_gym.runs.json_values import encode
from piase_gym.runs.manifest import CALLER, command_table
from piase_gym.runs.options import Levels
from piase_gym.runs.reader import Run
from piase_gym.runs.schema import (
    ATTEMPT,
    EVENT_TYPES,
    FIELDS,
    MORE_FIELDS,
    REBUILD,
    SYSTEM,
    Event,
    component_id,
    played_out,
)

BY_AGENT = {
    "commands": "command",
    "outcomes": "outcome",
    "rewards": "reward",
    "terminated": "terminated",
    "truncated": "truncated",
    "results": "result",
}
"""The entries of a step line that are by agent, and what one agent's part of them is called."""
_OUTCOMES = frozenset(str(outcome) for outcome in Outcome)
_GOALS = frozenset({"GOAL_CREATED", "GOAL_ACTIVATED", "GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"})
_ACTIONS = frozenset({"AGENT_ACTION_SENT_TO_ENV", "AGENT_ACTION_EXECUTED_IN_ENV"})
_LEARNING = frozenset({"LEARNING_EPISODE_START", "LEARNING_EPISODE_END"})
_EARLY = _GOALS | _LEARNING | {"TASK_STATUS_UPDATE"}
"""The types of lines that may stand before what they follow from."""
_DERIVED = _EARLY | _ACTIONS | {PERCEPT, "REWARD_SIGNAL_ISSUED"}
_ENVIRONMENT = frozenset({"ENVIRONMENT_EVENT_OCCURRED", "ENVIRONMENT_STATE_CHANGED"})
_SHAPES: tuple[frozenset[str], ...] = (
    *(frozenset({key}) for key in ("commands", "seed", "changes", "snapshot", "order")),
    frozenset({"agent", "message"}),
    frozenset({"sender", "recipient"}),
)
"""Entries by which the data of an input is known whose `kind` is gone."""
_OLD_GOAL = re.compile(r"goal_\d+_")
_LETTER = frozenset({"sender", "recipient", "message"})
_KNOWN = frozenset((*FIELDS, *MORE_FIELDS))


class Wanted(NamedTuple):
    """A line that has to be there."""

    agent: str
    event_type: str
    data: Mapping[str, Any]
    step: int
    episode: int

    def __str__(self) -> str:
        """Name the line."""
        return _name(self.event_type, self.agent, self.data)


class Verifier(Deriver):
    """Follows a replay and compares.

    Args:
        run: The log.
        world: The world; of a batch, one that is never stepped.
        report: Where differences go.

    Attributes:
        books: The present episode of each slot; the slot of single environments is ``None``.
    """

    def __init__(self, run: Run, world: World[Any, Any], report: ReplayReport) -> None:
        """Start before the first line."""
        manifest = run.manifest
        levels = Levels(manifest["level"], manifest.get("levels"), manifest["world"])
        super().__init__(world, levels, run.run_id, manifest["schema_version"])
        self.run, self.report = run, report
        self.episode_records: dict[int | None, EpisodeRecord] = {}
        self._times: dict[int | None, int] = {}
        self._at: dict[int | None, int] = {}
        """The step of the run at the last step, reset or restore of each slot."""
        self._entered: dict[int | None, tuple[str, ...]] = {}
        """Who was in play when the present episode of each slot began."""
        self._turns: deque[int] = deque()
        """The slots of a batch whose lines of the present step have still to come."""
        self._over: set[int] = set()
        """The slots whose episode ended with its learner, though partners were still playing."""
        callers = [name for name, who in manifest.get("policies", {}).items() if who == CALLER]
        self._learner = callers[0] if len(callers) == 1 else None
        """The only agent that is not a partner; its end may be that of its episodes."""
        self._letters = 0
        self._due: deque[Wanted] = deque()
        """What has to come next."""
        self._early: deque[tuple[int, Event]] = deque()
        """Lines whose cause has still to come."""
        self._next = 0
        """The number of the line after the last early one of the present step, or 0."""
        self._decisions: Callable[..., Any] | None = None
        self._own: list[tuple[int, Event]] = []
        """Lines of users since the last line of any other kind."""

    # -- lines ----------------------------------------------------------------------------

    def line(self, number: int, event: Event) -> None:
        """Take in a line that is no input."""
        if self._stopped:
            return
        early = event["event_type"] in _EARLY and not played_out(event["event_data"].get("reason"))
        if self._due:
            self._match(number, event, self._due.popleft())
        elif self._lacks_turn(number, event):
            return
        elif not self._claims(event):
            self._own_line(number, event)
        elif early:
            self._early.append((number, event))
            if None in self.episode_records and event["step"] != self.step:
                self.differ(number, event, None, "step", event["step"], self.step)
        else:
            self.differ(number, event, None, "line", _of(event), MISSING)

    def expect(
        self, number: int, event: Event, before: Sequence[Wanted], after: Sequence[Wanted]
    ) -> None:
        """Take in an input.

        Args:
            number: The number of its line.
            event: Its line.
            before: The lines that stand before it.
            after: The line itself, as it has to be, and those that stand behind it.
        """
        if self._stopped:
            return
        if self._due:
            self._lacks(number, event, self._due[0])
            return
        if self._lacks_turn(number, event):
            return
        for wanted in before:
            if not self._early:
                self._lacks(self._next or number, event, wanted)
                return
            place, early = self._early.popleft()
            self._next = place + 1
            self._match(place, early, wanted)
            if self._stopped:
                return
        if self._early and event["event_data"].get("slot") is None:
            self._unfounded()
            return
        self._own.clear()
        if event["event_data"].get("slot") is None:
            self._next = 0
        self._match(number, event, after[0])
        self._due.extend(after[1:])

    @property
    def decides(self) -> bool:
        """Whether decisions of curricula are computed again."""
        return self._decisions is not None

    def follow(self, history: History) -> None:
        """Compute decisions of curricula again, from what has happened."""
        # Curricula stand above runs, and are not imported for logs without them.
        module = importlib.import_module("piase_gym.curricula.recheck")
        self._decisions = module.Recheck(history).expect

    def end(self) -> None:
        """Take note that there is no further line: a run that is complete owes nothing."""
        if self._early and self.report.complete:
            self._unfounded()

    @property
    def _stopped(self) -> bool:
        """Whether a difference was found, so that nothing after it can be compared."""
        return self.report.first_divergence is not None

    def _own_line(self, number: int, event: Event) -> None:
        """Check a line of a user, an agent or a curriculum."""
        kind, data = event["event_type"], event["event_data"]
        if self._early and kind not in _DERIVED:
            self._unfounded()
            return
        if self._early:  # nothing of a user's stands among them
            self.differ(number, event, None, "line", _of(event), "another line")
            return
        if kind in _ENVIRONMENT and any(shape <= data.keys() for shape in _SHAPES):
            self.differ(number, event, None, "kind", data.get("kind", MISSING), "another kind")
            return
        agent = None if event["agent_id"] == SYSTEM else event["agent_id"]
        given = data
        if kind.startswith("DSE_") and self.step_goals.owns(data.get("goal_id")):
            given = {key: value for key, value in data.items() if key != "goal_id"}
        self.targets.hear(kind, agent, given)
        follows: Sequence[tuple[str, Mapping[str, Any]]] = ()
        if self._decisions is not None:
            if agent is not None and kind == "DSE_ADAPTATION_EVAL" and "in_play" in given:
                given = {**given, "in_play": self._in_play(agent, given["in_play"])}
            given, follows = self._decisions(kind, agent, given)
        expected, goals = self.step_goals.hear(kind, agent, given)
        self._frame(
            number, event, self.step if self.episode_records.keys() <= {None} else event["step"]
        )
        self._values(number, event, expected)
        self._own.append((number, event))
        for what, about in follows:
            self.targets.hear(what, agent, about)
            told, more = self.step_goals.hear(what, agent, about)
            goals += [(agent or SYSTEM, what, dict(told)), *more]
        wanted = [entry for entry in goals if self.wants(entry[0], entry[1])]
        self._due.extend(self._lines(wanted, self.present, event["step"]))

    def _in_play(self, agent: str, told: Any) -> int:
        """Return in how many slots an episode goes on that an agent was in from its start.

        Where it is not known whether partners play on without the learner, the log is believed.
        """
        playing = {n: self.episode_records[n].names for n in self._entered if n is not None}
        begun = [names for n, names in playing.items() if names and agent in self._entered[n]]
        with_learner = sum(self._learner in (None, *names) for names in begun)
        known = self._over or self.run.manifest.get("face") == "vector"
        return len(begun) if told == len(begun) and not known else with_learner

    def _claims(self, event: Event) -> bool:
        """Tell whether a line says that it follows from the run."""
        kind, data = event["event_type"], event["event_data"]
        if kind in _GOALS or kind in _ACTIONS:
            return self._is_goal(data.get("goal_id"), event["agent_id"])
        if kind == "TASK_STATUS_UPDATE":
            return self._is_goal(data.get("task_id"), event["agent_id"])
        if kind == "REWARD_SIGNAL_ISSUED":
            return data.get("reason") in _OUTCOMES and "reward_value" in data
        if kind == "NLG_OUTPUT_GENERATED":
            return bool(data.keys() - {"slot"} == _LETTER)
        if kind == "NLU_OUTPUT_GENERATED":
            mail = self.world.mailboxes
            letters = [] if mail is None else [letter._asdict() for letter in mail.history]
            return bool(mail is not None and data not in letters)
        if kind in _LEARNING:
            return "seed" in data
        dse = kind.startswith("DSE_")
        return (
            kind == PERCEPT
            or bool(data.get("kind") == "milestone")
            or (not dse and self._is_goal(data.get("goal_id"), event["agent_id"]))
        )

    def _is_goal(self, goal: object, agent: str) -> bool:
        """Tell whether an id is one of the goals of this run."""
        if not isinstance(goal, str):
            return False
        if self.schema < 2:
            return _OLD_GOAL.match(goal) is not None
        if self.step_goals.owns(goal):
            return self.wants(agent, ATTEMPT)  # else what led to it is not in the log
        return goal.startswith(f"{self.prefix}goal_")

    # -- differences ----------------------------------------------------------------------

    def _match(self, number: int, event: Event, wanted: Wanted) -> None:
        """Compare a line with the one that has to be there."""
        same_kind = (event["event_type"], event["agent_id"]) == (wanted.event_type, wanted.agent)
        if not same_kind and not _alike(event, wanted):
            self._lacks(number, event, wanted)
            return
        for field, value in (("event_type", wanted.event_type), ("agent_id", wanted.agent)):
            if event[field] != value:
                self.differ(number, event, None, field, event[field], value)
        self._frame(number, event, wanted.step, wanted.episode)
        self._values(number, event, wanted.data)

    def _frame(self, number: int, event: Event, step: int, episode: int | None = None) -> None:
        """Compare the fields around `event_data`; an episode is given for what is not a user's."""
        if event["step"] != step:
            self.differ(number, event, None, "step", event["step"], step)
        present = self.present if episode is None else episode
        if event["episode"] != present:
            self.differ(number, event, None, "episode", event["episode"], present)
        for field in event.keys() - _KNOWN:
            self.differ(number, event, None, field, event[field], MISSING)
        usual = EVENT_TYPES.get(event["event_type"])
        if episode is None or usual is None:
            return
        source = component_id(usual.component, self.world.name, event["agent_id"])
        for field, value in (
            ("source_component_id", source),
            ("source_type", usual.source_type),
            ("log_level", usual.log_level),
        ):
            if event[field] != value:
                self.differ(number, event, None, field, event[field], value)

    def _values(self, number: int, event: Event, data: Mapping[str, Any]) -> None:
        """Compare `event_data`; quick where all is equal."""
        logged = event["event_data"]
        text = encode(data)
        if encode(logged) == text:
            return
        now, whose = orjson.loads(text), event["agent_id"]
        name = None if whose == SYSTEM else whose
        for key in {**logged, **now}:
            was, found = logged.get(key, MISSING), now.get(key, MISSING)
            if data.get("kind") == "step" and key in BY_AGENT and type(was) is type(found) is dict:
                for agent in {**was, **found}:
                    one, other = was.get(agent, MISSING), found.get(agent, MISSING)
                    for path, *both in differences(one, other, BY_AGENT[key]):
                        self.differ(number, event, agent, path, *both)
            else:
                for path, *both in differences(was, found, key):
                    self.differ(number, event, name, path, *both)

    def differ(
        self, number: int, event: Event, agent: str | None, what: str, logged: Any, now: Any
    ) -> None:
        """Take note of a difference."""
        slot = event["event_data"].get("slot")
        found = Divergence(event["step"], event["episode"], agent, what, logged, now, number, slot)
        self.report.add(found)

    def _lacks(self, number: int, event: Event, wanted: Wanted) -> None:
        """Take note that another line has to be where a line is."""
        for place, own in self._own:
            if _alike(own, wanted):
                self._match(place, own, wanted)
                return
        self.differ(number, event, None, "line", _of(event), str(wanted))

    def _lacks_turn(self, number: int, event: Event) -> bool:
        """Tell whether the step of a slot has to be where another line is, and take note of it."""
        self._skip_over(None)
        if self._turns:
            wanted = f"the step of slot {self._turns[0]}"
            self.differ(number, event, None, "line", _of(event), wanted)
        return bool(self._turns)

    def _skip_over(self, slot: int | None) -> None:
        """Let slots before a slot do no step whose episode may have ended with its learner.

        The log does not say whether it does, or the partners play on. The first slot where only
        partners are left shows it, and the same holds for all.
        """
        while self._turns and self._turns[0] != slot and self._learner is not None:
            if self._learner in self.episode_records[self._turns[0]].names:
                return
            self._over.add(self._turns.popleft())

    def _take_turn(self, number: int, event: Event, slot: int) -> None:
        """Check that it is a slot's turn to do a step: in each step, that is their order."""
        self._skip_over(slot)
        if not self._turns:
            self._next = 0
            slots = sorted(n for n in self._at if n is not None and n not in self._over)
            self._turns.extend(n for n in slots if self.episode_records[n].playing)
            self._skip_over(slot)
        if not self._turns or self._turns[0] != slot:
            whose = f"the step of slot {self._turns[0]}" if self._turns else "another slot"
            self.differ(number, event, None, "slot", slot, whose)
            return
        self._turns.popleft()
        if not self._over and self._learner not in self.episode_records[slot].names:
            self._learner = None  # its end is not that of its episodes

    def _unfounded(self) -> None:
        """Take note that nothing leads to a line."""
        number, event = self._early[0]
        self.differ(number, event, None, "line", _of(event), MISSING)

    def _lines(self, entries: Sequence[AgentEvent], episode: int, step: int) -> list[Wanted]:
        """Return entries as lines of a moment."""
        return [Wanted(*entry, step, episode) for entry in entries]

    # -- inputs ---------------------------------------------------------------------------

    def manifest(self, number: int, event: Event) -> None:
        """Compare what the manifest says with the world that was made from it."""
        data, world = event["event_data"], self.world
        if self._stopped or data.get("control") not in ("start", REBUILD):
            return
        self._frame(number, event, 0, 0)
        now: dict[str, Any] = {"config_hash": digest_json(data["config"])}
        if (
            event["event_data"].keys() - {"control"} == self.run.manifest.keys() - {"control"}
            and {
                **data,
                "control": "start",
            }
            == self.run.manifest
        ):
            table = orjson.loads(encode(command_table(world)))
            now |= {"actions": table, "milestones": list(world.milestones)}
            now |= {"measures": list(world.measures)}
        for key, value in now.items():
            for path, *both in differences(data.get(key, MISSING), value, key):
                self.differ(number, event, None, path, *both)

    def entered(
        self, number: int, event: Event, world: World[Any, Any], seed: int, steps: int
    ) -> None:
        """A slot was reset, or put into another state, after `steps` steps of its episode."""
        data = event["event_data"]
        slot = data.get("slot")
        self._check_slot(slot)
        self._skip_over(None)
        self._over.discard(slot)
        restored = data["kind"] == "restore"
        self._take_step(slot, event["step"])
        old = self.episode_records.get(slot)
        reason = "restored" if restored else "reset"
        before = self._lines(self.broken_off(old, reason), _episode(old), self.step)
        episode_record = self.episode_records[slot] = self.open_episode_record(old, slot, seed)
        episode_record.seat(i for i, playing in enumerate(world.alive) if playing)
        self._times[slot], self._at[slot] = steps, self.step
        self._entered[slot] = episode_record.names
        if world.mailboxes is not None:
            self._letters = len(world.mailboxes.history)
        wanted = {
            "kind": data["kind"],
            "seed": seed,
            "agents": list(episode_record.names),
            **episode_record.where,
        }
        wanted["digest"] = world.digest()
        if restored:
            wanted["snapshot"] = data["snapshot"]
        entries: list[AgentEvent] = [(SYSTEM, _TYPES[data["kind"]], wanted)]
        if not restored:
            entries += self.percepts(episode_record.names, world, 0, slot)
        after = self._lines(entries, episode_record.episode, self.step)
        self.expect(number, event, before, after)

    def _check_slot(self, slot: Any) -> None:
        """Raise if there is no such slot."""
        count = self.run.manifest["num_envs"]
        if slot is None and count == 1 and not self.episode_records.keys() - {None}:
            return
        if type(slot) is int and 0 <= slot < count and None not in self.episode_records:
            return
        raise RunError(f"there is no slot {slot!r} in this run of {count} environments")

    def _take_step(self, slot: int | None, step: int) -> None:
        """Batches may do steps of which no slot has a line."""
        if slot is not None:
            self.step = max(self.step, step)

    def stepped(
        self,
        number: int,
        event: Event,
        world: World[Any, Any],
        acts: Sequence[Any],
        tick: StepResult,
    ) -> None:
        """A slot did a step."""
        data = event["event_data"]
        slot = data.get("slot")
        episode_record = self.episode_records.get(slot)
        if episode_record is None:
            raise RunError("there is a step before the first reset")
        if slot is not None and not self._stopped:
            self._take_turn(number, event, slot)
        self.step = step = self._at[slot]
        before: list[Wanted] = []
        if not episode_record.begun:
            before = self._lines(self.begun(episode_record), episode_record.episode, step)
        self.step = step = self._at[slot] = step + 1
        self._times[slot] += 1
        letters = self._sent(world, data)
        self.messages += len(letters)
        wanted = self.step_data(episode_record, world, acts, tick, letters, world.digest())
        names = episode_record.names
        episode_record.add(tick.rewards)
        entries: list[AgentEvent] = [(SYSTEM, "ENVIRONMENT_EVENT_OCCURRED", wanted)]
        entries += self.singles(wanted, episode_record.episode, self.run.manifest["actions"])
        entries += self.percepts(names, world, self._times[slot], slot)
        self._add_targets(wanted, names, data.get("targets"))
        if tick.ended or world.awaiting_agents:
            entries += self.seats_changed(episode_record, world)
        turns, self._turns = self._turns, deque()
        self.expect(number, event, before, self._lines(entries, episode_record.episode, step))
        self._turns = turns

    def _add_targets(self, wanted: dict[str, Any], names: Sequence[str], told: Any) -> None:
        """Believe the log who arrived, of those whose targets are not in it."""
        silent = [name for name in names if not self.wants(name, ATTEMPT)]
        if silent and isinstance(told, list):
            known = wanted.get("targets", ())
            arrived = [n for n in names if n in (told if n in silent else known)]
            if arrived:
                wanted["targets"] = arrived

    def _sent(self, world: World[Any, Any], data: Mapping[str, Any]) -> list[Any]:
        """Return the letters that were sent in a step; without mailboxes, those of the log."""
        if world.mailboxes is None:
            letters: list[Any] = data.get("messages", [])
            whole = isinstance(letters, list) and all(
                isinstance(letter, dict) and letter.keys() == _LETTER for letter in letters
            )
            if not whole:
                raise RunError("its messages are not a list of letters")
            return letters
        history = world.mailboxes.history
        sent, self._letters = history[self._letters :], len(history)
        return [letter._asdict() for letter in sent]

    def told(self, number: int, event: Event, data: Mapping[str, Any]) -> None:
        """Something was said to the world: a hint, an order, a letter, another config.

        Args:
            number: The number of the line.
            event: Its line.
            data: Its data as they have to be.
        """
        kind, slot = data["kind"], event["event_data"].get("slot")
        self.hints += kind == "hint"
        episode_record = self.episode_records.get(slot)
        hint_in_slot = kind == "hint" and slot is not None and episode_record is not None
        episode = (
            episode_record.episode if hint_in_slot and episode_record is not None else self.present
        )
        where = {} if slot is None else {"slot": slot}
        self._take_step(slot, event["step"])
        wanted = [Wanted(SYSTEM, _TYPES[kind], {**data, **where}, self.step, episode)]
        self.expect(number, event, (), wanted)

    def polled(self, number: int, event: Event, agent: str, letters: Sequence[Any]) -> None:
        """An agent emptied its mailbox."""
        self.told(number, event, {"kind": "poll", "agent": agent})
        read = [(agent, "NLU_OUTPUT_GENERATED", letter._asdict()) for letter in letters]
        wanted = [line for line in read if self.wants(line[0], line[1])]
        self._due.extend(self._lines(wanted, self.present, self.step))

    def snapshot(self, number: int, event: Event) -> None:
        """Check the frame of a snapshot, which may stand between other lines."""
        if self._stopped:
            return
        if self._due:
            self._lacks(number, event, self._due[0])
            return
        if self._lacks_turn(number, event):
            return
        data, slot = event["event_data"], event["event_data"].get("slot")
        episode_record = self.episode_records.get(slot)
        if episode_record is None:
            self.differ(number, event, None, "line", _of(event), MISSING)
            return
        self._frame(
            number, event, event["step"] if slot is not None else self.step, episode_record.episode
        )
        for key in data.keys() - {"kind", "snapshot", "slot"}:
            self.differ(number, event, None, key, data[key], MISSING)

    def finished(self, number: int, event: Event) -> None:
        """The run came to its end."""
        data = event["event_data"]
        told, reasons = data.get("summary"), Counter([str(data.get("reason"))])
        for _, early in self._early:  # they say why they were broken off, too
            if early["event_data"].get("metrics") and "reason" in early["event_data"]:
                reasons[str(early["event_data"]["reason"])] += 1
        reason = reasons.most_common(1)[0][0]
        seconds = told.get("seconds") if isinstance(told, dict) else None
        self._take_step(
            max(self.episode_records, default=None, key=lambda slot: slot or 0), event["step"]
        )
        before: list[Wanted] = []
        for slot in sorted(self.episode_records, key=lambda slot: slot or 0):
            episode_record = self.episode_records[slot]
            before += self._lines(
                self.broken_off(episode_record, reason), episode_record.episode, self.step
            )
        goals = [line for line in self.step_goals.end() if self.wants(line[0], line[1])]
        before += self._lines(goals, self.present, self.step)
        told_seconds = seconds if isinstance(seconds, float) and seconds >= 0.0 else 0.0
        summary = self.summary(list(self.episode_records.values()), told_seconds)
        if self.world.mailboxes is None and isinstance(told, dict):
            more = told.get("messages")  # letters that came after the last step are in no line
            if type(more) is int and more > self.messages:
                summary["messages"] = more
        wanted = {"control": "end", "reason": reason, "summary": summary, "lines": number}
        wanted |= {key: data[key] for key in ("checksum", "seal") if key in data}
        entry = Wanted(SYSTEM, "SIMULATION_CONTROL", wanted, self.step, self.present)
        self.expect(number, event, before, [entry])
        if self._early and not self._stopped:
            self._unfounded()


_TYPES = {
    **dict.fromkeys(("reset", "hint", "order", "send", "poll"), "ENVIRONMENT_EVENT_OCCURRED"),
    **dict.fromkeys(("restore", "reconfigure"), "ENVIRONMENT_STATE_CHANGED"),
}
"""The types of the lines that are inputs, by their kind."""


def _episode(episode_record: EpisodeRecord | None) -> int:
    """Return the number of an episode, if there is one."""
    return 0 if episode_record is None else episode_record.episode


def _alike(event: Event, wanted: Wanted) -> bool:
    """Tell whether a line is meant to be another, with something changed in it."""
    parts = (
        event["event_type"] == wanted.event_type,
        event["agent_id"] == wanted.agent,
        event["event_data"] == orjson.loads(encode(wanted.data)),
    )
    return bool(sum(parts) > 1 or parts[2])


def _of(event: Event) -> str:
    """Name a line."""
    return _name(event["event_type"], event["agent_id"], event["event_data"])


def _name(event_type: str, agent: str, data: Mapping[str, Any]) -> str:
    """Name a line: its type, its kind, whose it is."""
    kind = data.get("kind") or data.get("control")
    told = f" {kind}" if isinstance(kind, str) else ""
    return f"{event_type}{told}" + ("" if agent == SYSTEM else f" of {agent}")
