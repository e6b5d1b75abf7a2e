"""Records a run again while it is replayed, and compares the lines with those of its log.

Lines of a log are of three kinds. *Inputs* (seeds, commands, hints, letters, restored states) say
what to execute. *Derived* lines follow from them: goals, outcomes, rewards, perceptions,
milestones, messages, the summary. *Own* lines come from users, agents and curricula: only their
frame can be checked, and for curricula also what `piase_gym.curricula.recheck` computes.

The `Verifier` is a `Recorder` that takes its inputs from the log and puts its lines into a list.
Derived lines come right after the input that they follow from; only those that open an episode, or
break one off, come before it.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from piase_gym.core.commands import Outcome
from piase_gym.core.digest import digest_json
from piase_gym.core.world import StepResult, World
from piase_gym.errors import RunError
from piase_gym.runs.derive import PERCEPT
from piase_gym.runs.divergence import MISSING, Divergence, ReplayReport, differences
from piase_gym.runs.episode_record import EpisodeRecord
from piase_gym.runs.history import History
from piase_gym.runs.json_values import encode
from piase_gym.runs.lines import Line, Out
from piase_gym.runs.manifest import CALLER, command_table
from piase_gym.runs.options import NEVER, Options
from piase_gym.runs.reader import Run
from piase_gym.runs.recorder import Recorder
from piase_gym.runs.schema import (
    ATTEMPT,
    FIELDS,
    MORE_FIELDS,
    REBUILD,
    SYSTEM,
    TYPE_OF_KIND,
    Event,
    looks_derived,
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
"""The entries of a step line that have a value per agent, and the name of one agent's value."""
_OUTCOMES = frozenset(str(outcome) for outcome in Outcome)
_GOALS = frozenset({"GOAL_CREATED", "GOAL_ACTIVATED", "GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"})
_ACTIONS = frozenset({"AGENT_ACTION_SENT_TO_ENV", "AGENT_ACTION_EXECUTED_IN_ENV"})
_LEARNING = frozenset({"LEARNING_EPISODE_START", "LEARNING_EPISODE_END"})
_EARLY = _GOALS | _LEARNING | {"TASK_STATUS_UPDATE"}
"""The types of lines that may come before the input that they follow from."""
_DERIVED = _EARLY | _ACTIONS | {PERCEPT, "REWARD_SIGNAL_ISSUED"}
_OLD_GOAL = re.compile(r"goal_\d+_")
_SUBMITTED = frozenset({"sequence_id", "execution_priority"})
_LETTER = frozenset({"sender", "recipient", "message"})
_KNOWN = frozenset((*FIELDS, *MORE_FIELDS))
_FRAME = "event_type agent_id step episode source_component_id source_type log_level".split()
"""The fields compared besides a line's data; users choose the last three in their own lines."""
_CLOCK = len('{"timestamp":"2026-01-01T00:00:00.000000Z')
"""Where the timestamp of a line ends; a replay cannot reproduce it."""


class Verifier(Recorder):
    """Records a replay, and compares.

    Args:
        run: The log.
        world: The world; for a batch, one that is never stepped.
        report: Where differences go.

    Attributes:
        records: The present episode of each slot; the slot of single environments is ``None``.
        raw: The bytes of the present line, if they are known.
    """

    def __init__(self, run: Run, world: World[Any, Any], report: ReplayReport) -> None:
        """Start before the first line."""
        manifest = run.manifest
        level, levels = manifest["level"], manifest.get("levels")
        options = Options(level, levels, run.experiment_id, run.run_id, NEVER, clock=int, epoch=0)
        super().__init__(world, Out(), options, manifest["schema_version"])
        self.run, self.report, self.table = run, report, manifest["actions"]
        self.raw: bytes | None = None
        self._made: list[Line] = self.out.lines
        self.records: dict[int | None, EpisodeRecord] = {}
        self._times: dict[int | None, int] = {}
        self._at: dict[int | None, int] = {}
        """The step of the run at the last step, reset or restore of each slot."""
        self._entered: dict[int | None, tuple[str, ...]] = {}
        """Who was in play when the present episode of each slot began."""
        self._turns: deque[int] = deque()
        """The slots of a batch that have yet to do the present step."""
        self._over: set[int] = set()
        """Slots where the episode ended with its learner, though partners were still playing."""
        callers = [name for name, who in manifest.get("policies", {}).items() if who == CALLER]
        self._learner = callers[0] if len(callers) == 1 else None
        """The only agent that is not a partner; its episodes may end when it does."""
        self._letters = 0
        self._wanted: deque[Line] = deque()
        """The lines that have to come next."""
        self._early: deque[tuple[int, Event]] = deque()
        """Lines that follow from an input that has yet to come."""
        self._next = 0
        """The number of the line after the last early one of the present step, or 0."""
        self._decisions: Callable[..., Any] | None = None
        self._own: list[tuple[int, Event]] = []
        """Lines of users since the last line of any other kind."""

    # -- lines ----------------------------------------------------------------------------

    def line(self, number: int, event: Event) -> None:
        """Take in a line that is not an input."""
        if self._stopped:
            return
        early = event["event_type"] in _EARLY and not played_out(event["event_data"].get("reason"))
        if self._wanted:
            self._match(number, event, self._wanted.popleft(), self.raw)
        elif self._lacks_turn(number, event):
            return
        elif not self._claims(event):
            self._own_line(number, event)
        elif early:
            self._early.append((number, event))
            if None in self.records and event["step"] != self.step:
                self.differ(number, event, None, "step", event["step"], self.step)
        else:
            self.differ(number, event, None, "line", _line_name(event), MISSING)

    def _compare(self, number: int, event: Event) -> None:
        """Compare the lines that follow from an input: its own, and those around it."""
        lines = self._made.copy()
        self._made.clear()
        if self._stopped or self._lacks_line(number, event):
            return
        whole_run = event["event_data"].get("slot") is None
        place = next(i for i, line in enumerate(lines) if line.event_type not in _EARLY)
        for wanted in lines[:place]:
            if not self._early:
                self._lacks(self._next or number, event, wanted)
                return
            early_number, early = self._early.popleft()
            self._next = early_number + 1
            self._match(early_number, early, wanted)
            if self._stopped:
                return
        if whole_run:
            if self._early:
                self._unfounded()
                return
            self._next = 0
        self._own.clear()
        self._match(number, event, lines[place], self.raw)
        self._wanted.extend(lines[place + 1 :])

    @property
    def decides(self) -> bool:
        """Whether decisions of curricula are computed again."""
        return self._decisions is not None

    def follow(self, history: History) -> None:
        """Begin to compute decisions of curricula again, from what has happened."""
        # Curricula build on runs, and are not imported for logs without them.
        module = importlib.import_module("piase_gym.curricula.recheck")
        self._decisions = module.Recheck(history).expect

    def end(self) -> None:
        """Take note that there are no more lines: in a complete run, no early line may be left."""
        if self._early and self.report.complete:
            self._unfounded()

    @property
    def _stopped(self) -> bool:
        """Whether a difference was found, so that nothing after it can be compared."""
        return self.report.first_divergence is not None

    def _own_line(self, number: int, event: Event) -> None:
        """Check a line of a user, an agent or a curriculum."""
        kind, data = event["event_type"], event["event_data"]
        if looks_derived(kind, data):
            self.differ(number, event, None, "kind", data.get("kind", MISSING), "another kind")
            return
        if self._early and kind not in _DERIVED:
            self._early.append((number, event))  # what they lead to shows which of them is wrong
            return
        if self._early:  # no line of a user's belongs among them
            self.differ(number, event, None, "line", _line_name(event), "another line")
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
        step = self.step if self.records.keys() <= {None} else event["step"]
        source, log_level = event["source_component_id"], event["log_level"]
        line = Line(0, event["agent_id"], kind, step, self.present, expected, source, log_level)
        self._match(number, event, line, self.raw, own=True)
        self._own.append((number, event))
        for what, about in follows:
            self.targets.hear(what, agent, about)
            values, more = self.step_goals.hear(what, agent, about)
            goals += [(agent or SYSTEM, what, dict(values)), *more]
        wanted = [entry for entry in goals if self.wants(entry[0], entry[1])]
        self._wanted.extend(Line(0, *entry[:2], step, self.present, entry[2]) for entry in wanted)

    def _in_play(self, agent: str, told: Any) -> int:
        """Return in how many slots an episode is in progress that the agent was in from its start.

        If it is not known whether partners play on without the learner, the log is trusted.
        """
        playing = {n: self.records[n].names for n in self._entered if n is not None}
        begun = [names for n, names in playing.items() if names and agent in self._entered[n]]
        with_learner = sum(self._learner in (None, *names) for names in begun)
        known = self._over or self.run.manifest.get("face") == "vector"
        return len(begun) if told == len(begun) and not known else with_learner

    def _claims(self, event: Event) -> bool:
        """Return whether a line claims to follow from the run."""
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
            mail = self.world.mailboxes if self.world.carries_words else None
            return mail is not None and data not in mail.history
        if kind in _LEARNING:
            return looks_derived(kind, data)
        dse = kind.startswith("DSE_")
        return (
            kind == PERCEPT
            or data.get("kind") in ("milestone", "object")
            or (not dse and self._is_goal(data.get("goal_id"), event["agent_id"]))
        )

    def _is_goal(self, goal: object, agent: str) -> bool:
        """Return whether an id belongs to a goal of this run."""
        if not isinstance(goal, str):
            return False
        if self.schema < 2:
            return _OLD_GOAL.match(goal) is not None
        if self.step_goals.owns(goal):
            return self.wants(agent, ATTEMPT)  # else what led to it is not in the log
        return goal.startswith(f"{self.prefix}goal_")

    # -- differences ----------------------------------------------------------------------

    def _match(
        self, number: int, event: Event, line: Line, raw: bytes | None = None, own: bool = False
    ) -> None:
        """Compare a line with the one expected there; who wrote an own line is not compared."""
        same_kind = (event["event_type"], event["agent_id"]) == (line.event_type, line.agent)
        if not same_kind and not _alike(event, line):
            self._lacks(number, event, line)
            return
        text = self.encoder.line(line, number)
        if raw is not None and raw[_CLOCK:] == text[_CLOCK:-1]:
            return
        now = orjson.loads(text)
        for field in _FRAME[: 4 if own else None]:
            if event[field] != now[field]:
                self.differ(number, event, None, field, event[field], now[field])
        for field in (name for name in event if name not in _KNOWN):
            self.differ(number, event, None, field, event[field], MISSING)
        self._values(number, event, now["event_data"])

    def _values(self, number: int, event: Event, now: Mapping[str, Any]) -> None:
        """Compare `event_data`."""
        logged, whose = event["event_data"], event["agent_id"]
        name = None if whose == SYSTEM else whose
        for key in {**logged, **now}:
            was, found = logged.get(key, MISSING), now.get(key, MISSING)
            if now.get("kind") == "step" and key in BY_AGENT and type(was) is type(found) is dict:
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

    def _lacks(self, number: int, event: Event, wanted: Line) -> None:
        """Take note that another line is expected in place of this one."""
        for place, own in self._own:
            if _alike(own, wanted):
                self._match(place, own, wanted)
                return
        named = _name(wanted.event_type, wanted.agent, wanted.data)
        self.differ(number, event, None, "line", _line_name(event), named)

    def _lacks_line(self, number: int, event: Event) -> bool:
        """Return whether another line is expected in place of an input, and take note of it."""
        if self._wanted:
            self._lacks(number, event, self._wanted[0])
            return True
        return self._lacks_turn(number, event)

    def _lacks_turn(self, number: int, event: Event) -> bool:
        """Return whether a slot's step is expected in place of a line, and take note of it."""
        self._skip_over(None)
        if self._turns:
            wanted = f"the step of slot {self._turns[0]}"
            self.differ(number, event, None, "line", _line_name(event), wanted)
        return bool(self._turns)

    def _skip_over(self, slot: int | None) -> None:
        """Skip the slots before this one where the episode may have ended with its learner.

        The log does not say whether it does, or whether the partners play on. The first slot with
        only partners left shows which, and the same holds for all slots.
        """
        while self._turns and self._turns[0] != slot and self._learner is not None:
            if self._learner in self.records[self._turns[0]].names:
                return
            self._over.add(self._turns.popleft())

    def _take_turn(self, number: int, event: Event, slot: int) -> None:
        """Check that it is a slot's turn to step; in each step, slots follow in order."""
        self._skip_over(slot)
        if not self._turns:
            self._next = 0
            slots = sorted(n for n in self._at if n is not None and n not in self._over)
            self._turns.extend(n for n in slots if self.records[n].playing)
            self._skip_over(slot)
        if not self._turns or self._turns[0] != slot:
            whose = f"the step of slot {self._turns[0]}" if self._turns else "another slot"
            self.differ(number, event, None, "slot", slot, whose)
            return
        self._turns.popleft()
        if not self._over and self._learner not in self.records[slot].names:
            self._learner = None  # episodes do not end when it does

    def _unfounded(self) -> None:
        """Take note that an early line follows from nothing."""
        number, event = self._early[0]
        self.differ(number, event, None, "line", _line_name(event), MISSING)

    # -- inputs ---------------------------------------------------------------------------

    def manifest(self, number: int, event: Event) -> None:
        """Compare what the manifest says with the world that was made from it."""
        data, world = event["event_data"], self.world
        if self._stopped or data.get("control") not in ("start", REBUILD):
            return
        self._match(number, event, Line(0, SYSTEM, event["event_type"], 0, 0, data))
        now: dict[str, Any] = {"config_hash": digest_json(data["config"])}
        if {**data, "control": "start"} == self.run.manifest:
            if data.get("actions") != []:  # else all commands are written out
                now["actions"] = orjson.loads(encode(command_table(world)))
            now["milestones"] = list(world.milestone_names)
            now["measures"] = list(world.measure_names)
        for key, value in now.items():
            for path, *both in differences(data.get(key, MISSING), value, key):
                self.differ(number, event, None, path, *both)

    def entered(
        self, number: int, event: Event, world: World[Any, Any], seed: int, steps: int
    ) -> None:
        """Take in that a slot was reset or restored, after `steps` steps of its episode."""
        data = event["event_data"]
        slot = data.get("slot")
        self._check_slot(slot)
        self._skip_over(None)
        self._over.discard(slot)
        self._take_step(slot, event["step"])
        self._times[slot], self._at[slot] = steps, self.step
        snapshot = data["snapshot"] if data["kind"] == "restore" else None
        old, digest = self.records.get(slot), world.digest()
        record = self.enter(old, slot, seed, world, world.alive, digest, snapshot)
        self.records[slot], self._entered[slot] = record, record.names
        if world.mailboxes is not None:
            self._letters = len(world.mailboxes.history)
        self._compare(number, event)

    def time_of(self, record: EpisodeRecord) -> int:
        """Return how many steps an episode has lasted."""
        return self._times[record.slot]

    def episode_records(self) -> Sequence[EpisodeRecord | None]:
        """Return the present episodes of all slots."""
        return [self.records[slot] for slot in sorted(self.records, key=lambda slot: slot or 0)]

    def _check_slot(self, slot: Any) -> None:
        """Raise if there is no such slot."""
        count = self.run.manifest["num_envs"]
        if slot is None and count == 1 and not self.records.keys() - {None}:
            return
        if type(slot) is int and 0 <= slot < count and None not in self.records:
            return
        raise RunError(f"there is no slot {slot!r} in this run of {count} environments")

    def _take_step(self, slot: int | None, step: int) -> None:
        """Follow the steps of a batch, which may do some without a line from any slot."""
        if slot is not None:
            self.step = max(self.step, step)

    def stepped(
        self,
        number: int,
        event: Event,
        world: World[Any, Any],
        acts: Sequence[Any],
        result: StepResult,
    ) -> None:
        """Take in that a slot did a step."""
        data = event["event_data"]
        slot = data.get("slot")
        record = self.records.get(slot)
        if record is None:
            raise RunError("there is a step before the first reset")
        if slot is not None and not self._stopped:
            self._take_turn(number, event, slot)
        self.step = self._at[slot]
        if not record.begun:
            self.begin(record)
        self.step = self._at[slot] = self.step + 1
        self._times[slot] += 1
        letters, names = self._sent(world, data), record.names
        self.messages += len(letters)
        changes, place = result.ended or world.awaiting_agents, len(self._made)
        record.submitted = _submitted(data, record.names)
        self.put_step(record, world, acts, result, letters, world.digest(), changes)
        self._add_targets(self._made[place].data, names, data.get("targets"))
        turns, self._turns = self._turns, deque()
        self._compare(number, event)
        self._turns = turns

    def _add_targets(self, wanted: Any, names: Sequence[str], told: Any) -> None:
        """Trust the log about who arrived, for agents that have no target lines in it."""
        silent = [name for name in names if not self.wants(name, ATTEMPT)]
        if silent and isinstance(told, list):
            known = wanted.get("targets", ())
            arrived = [n for n in names if n in (told if n in silent else known)]
            if arrived:
                wanted["targets"] = arrived

    def _sent(self, world: World[Any, Any], data: Mapping[str, Any]) -> list[Any]:
        """Return the letters that were sent in a step.

        Where mailboxes carry no words, interfaces have some of their own: before the letters of the
        world come those of the log.
        """
        sent: list[Any] = []
        if world.mailboxes is not None:
            history = world.mailboxes.history
            sent, self._letters = list[Any](history[self._letters :]), len(history)
        if world.carries_words:
            return sent
        letters: list[Any] = data.get("messages", [])
        whole = isinstance(letters, list) and all(
            isinstance(letter, dict) and letter.keys() == _LETTER for letter in letters
        )
        if not whole:
            raise RunError("its messages are not a list of letters")
        return [*letters[: max(0, len(letters) - len(sent))], *sent]

    def take_input(
        self, number: int, event: Event, data: Mapping[str, Any], letters: Sequence[Any] = ()
    ) -> None:
        """Take in what was said to the world: a hint, an order, a letter, another config.

        Args:
            number: The number of the line.
            event: The line.
            data: The data that is expected in it.
            letters: The letters that were in an emptied mailbox.
        """
        kind, slot = data["kind"], event["event_data"].get("slot")
        self._take_step(slot, event["step"])
        if kind == "hint":
            self.put_hint(data["agent"], data["message"], slot, self.records.get(slot))
        else:
            self.post(TYPE_OF_KIND[kind], data if slot is None else {**data, "slot": slot})
        for letter in letters:
            self.post("NLU_OUTPUT_GENERATED", letter, data["agent"])
        self._compare(number, event)

    def snapshot(self, number: int, event: Event) -> None:
        """Check the frame of a snapshot, which may stand between other lines."""
        if self._stopped or self._lacks_line(number, event):
            return
        data = event["event_data"]
        record = self.records.get(data.get("slot"))
        if record is None:
            self.differ(number, event, None, "line", _line_name(event), MISSING)
            return
        if record.slot is not None:
            self.step = self._at[record.slot]
        self.put_snapshot(record, data["snapshot"])
        self._match(number, event, self._made.pop(), self.raw)

    def finished(self, number: int, event: Event) -> None:
        """Take in the end of the run."""
        data = event["event_data"]
        summary, reasons = data.get("summary"), Counter([str(data.get("reason"))])
        for _, early in self._early:  # they say why they were broken off, too
            if early["event_data"].get("metrics") and "reason" in early["event_data"]:
                reasons[str(early["event_data"]["reason"])] += 1
        reason = reasons.most_common(1)[0][0]
        seconds = summary.get("seconds") if isinstance(summary, dict) else None
        if self.records.keys() - {None}:
            self.step = max(self.step, event["step"])
        self.closed = False
        self.finish(reason)
        last = self._made.pop()
        wanted = {**last.data, "lines": number}
        wanted |= {key: data[key] for key in ("checksum", "seal") if key in data}
        wanted["summary"]["seconds"] = (
            seconds if isinstance(seconds, float) and seconds >= 0.0 else 0.0
        )
        if not self.world.carries_words and isinstance(summary, dict):
            more = summary.get("messages")  # letters that came after the last step are in no line
            if type(more) is int and more > self.messages:
                wanted["summary"]["messages"] = more
        self._made.append(last._replace(data=wanted))
        self._compare(number, event)
        if self._early and not self._stopped:
            self._unfounded()


def _submitted(data: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """Return how commands were submitted, which nothing but the step line says."""
    submitted: Mapping[str, Any] = data.get("submitted", {})
    whole = isinstance(submitted, dict) and all(
        name in names and isinstance(more, dict) and more and more.keys() <= _SUBMITTED
        for name, more in submitted.items()
    )
    if not whole:
        raise RunError("what it says was submitted is not of agents in play")
    return submitted


def _alike(event: Event, wanted: Line) -> bool:
    """Return whether a line seems to be the expected one with something changed in it."""
    parts = (
        event["event_type"] == wanted.event_type,
        event["agent_id"] == wanted.agent,
        event["event_data"] == orjson.loads(encode(wanted.data)),
    )
    return bool(sum(parts) > 1 or parts[2])


def _line_name(event: Event) -> str:
    """Name a line."""
    return _name(event["event_type"], event["agent_id"], event["event_data"])


def _name(event_type: str, agent: str, data: Mapping[str, Any]) -> str:
    """Name a line by its type, its kind and its agent."""
    kind = data.get("kind") or data.get("control")
    text = f" {kind}" if isinstance(kind, str) else ""
    return f"{event_type}{text}" + ("" if agent == SYSTEM else f" of {agent}")
