"""What matters for winning: backwards from the win conditions to things, keys, events and places.

The oracle searches only among commands that matter, which keeps its search small. A thing matters
if a condition asks for it, if it is the key of something that matters or of any door, if something
that matters is in it, or if an event or interaction that helps needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.levels import story_rules as data
from piase_gym.worlds.text_room.state import NOWHERE, Plot, RoomState


@dataclass
class RelevantThings:
    """What matters in a state.

    Attributes:
        items: What to take.
        things: What to get at: to open, search, unlock.
        reads: What to read.
        drops: (item, room) to leave something in.
        commands: Further commands that events and interactions wait for.
        waits: Whether letting time pass can help.
        numbers: Whether numbers of bodies matter.
        events: Events that help.
    """

    items: set[int] = field(default_factory=set)
    things: set[int] = field(default_factory=set)
    reads: set[int] = field(default_factory=set)
    drops: set[tuple[int, int]] = field(default_factory=set)
    commands: list[Command] = field(default_factory=list)
    waits: bool = False
    numbers: bool = False
    events: set[int] = field(default_factory=set)


class Tracer:
    """Follows what is needed backwards."""

    def __init__(self, plot: Plot, state: RoomState) -> None:
        """Begin with nothing but the doors, whose keys always matter."""
        self.plot, self.state = plot, state
        self.needs = RelevantThings()
        stats = [row for setup in plot.story.agent_setup for row in setup.stats.items()]
        self._timed = ["steps", *(name for name, stat in stats if stat.per_step)]
        self._flags: set[str] = set()
        self._interactions: set[tuple[str, int, int]] = set()
        for door in {door for row in plot.doors for door in row}:
            self.reach(door)

    def condition(self, condition: Any) -> None:
        """Need what a condition asks for."""
        plot = self.plot
        match condition.type:
            case "item_in_inventory":
                self.take(plot.object_of[condition.item_name])
            case "item_in_room":
                item = plot.object_of[condition.item_name]
                self.take(item)
                self.needs.drops.add((item, plot.room_of[condition.room]))
            case "flag_set":
                self.flag(condition.flag_name)
            case "object_state":
                self.reach(plot.object_of[condition.object])
                self._changed(plot.object_of[condition.object])
                if condition.is_open is False:
                    self.needs.commands.append(
                        Command("close", {"target_object": condition.object})
                    )
            case "agent_state_condition":
                self.needs.numbers = True
                self._helped_by(data.ChangeStat, lambda r: True)
                for name in plot.objects:
                    if f'"{name}"' in condition.condition or f"'{name}'" in condition.condition:
                        self.take(plot.object_of[name])
                for flag in plot.flags:
                    if flag in condition.condition:
                        self.flag(flag)
                self.needs.waits |= any(name in condition.condition for name in self._timed)

    def take(self, item: int) -> None:
        """Need an item in hand."""
        if item not in self.needs.items:
            self.needs.items.add(item)
            self.reach(item)

    def reach(self, k: int) -> None:
        """Need to get at a thing: find it, open what it is in, unlock it."""
        if k in self.needs.things:
            return
        self.needs.things.add(k)
        plot, state = self.plot, self.state
        host = state.place[k] - len(plot.rooms)
        if 0 <= host < len(plot.objects):
            self.reach(host)
        if state.locked[k] and plot.keys[k] >= 0:
            self.take(plot.keys[k])
        if state.place[k] == NOWHERE:
            self._helped_by(data.SpawnObject, lambda r: plot.object_of[r.object] == k)
        if plot.opens[k]:
            self._changed(k)

    def _changed(self, k: int) -> None:
        """Need the events that change a thing."""
        name = self.plot.objects[k]
        self._helped_by(data.ChangeState, lambda r: r.object == name)

    def flag(self, flag: str) -> None:
        """Need a flag."""
        if flag in self._flags:
            return
        self._flags.add(flag)
        name = flag.removeprefix("has_read_")
        if name != flag and name in self.plot.object_of:
            k = self.plot.object_of[name]
            self.needs.reads.add(k)
            self.reach(k)
        self._helped_by(data.SetFlag, lambda r: r.flag_name == flag)

    def winning_ends(self) -> None:
        """Need the events that end the episode with a win."""
        self._helped_by(data.End, lambda r: r.result == "won")

    def moves(self) -> None:
        """Need the events that carry agents about."""
        self._helped_by(data.MoveAgent, lambda r: True)

    def _helped_by(self, kind: type, fits: Any) -> None:
        """Need the events and interactions that have a response which helps."""
        for number, event in enumerate(self.plot.story.events):
            if any(isinstance(r, kind) and fits(r) for r in event.response):
                self._event(number)
        for key, rows in self.plot.interactions.items():
            for row in rows:
                if any(isinstance(r, kind) and fits(r) for r in row.response):
                    self._interaction(key, row)

    def _event(self, number: int) -> None:
        """Need an event: what triggers it, and its conditions."""
        if number in self.needs.events:
            return
        self.needs.events.add(number)
        event = self.plot.story.events[number]
        trigger = event.trigger
        if isinstance(trigger, data.ActionTaken):
            self._action(trigger)
            for name in (trigger.target, trigger.item_name):
                self._carried(self.plot.object_of.get(name or "", -1), event.conditions)
        elif isinstance(trigger, data.ItemFound):
            self.take(self.plot.object_of[trigger.item_name])
        elif isinstance(trigger, data.StepReached):
            self.needs.waits = True
        elif trigger.type == "flag_set":
            self.flag(trigger.flag_name)
        for condition in event.conditions:
            self.condition(condition)

    def _action(self, trigger: data.ActionTaken) -> None:
        """Need an action that an event waits for."""
        verb, target, item = trigger.action_type, trigger.target, trigger.item_name
        for name in (target, item):
            if name is not None:
                self.reach(self.plot.object_of[name])
        if verb in ("use", "take", "drop") and item is None:
            target, item = None, target
        if item is not None and (target is not None or verb != "use"):
            self.take(self.plot.object_of[item])
        values = {"target_object": target, "item_name": item}
        if verb == "say":
            values = {"message": "hello"}
        if verb not in ("go", "tell", "give"):
            given = {key: value for key, value in values.items() if value is not None}
            self.needs.commands.append(Command(verb, given))

    def _carried(self, k: int, conditions: Iterable[Any]) -> None:
        """Need to take a thing along, if something is to be done to it in a certain room."""
        somewhere = any(
            c.type == "agent_in_room" or "room" in getattr(c, "condition", "") for c in conditions
        )
        if somewhere and 0 <= k < self.plot.items:
            self.take(k)

    def _interaction(self, key: tuple[str, int, int], row: Any) -> None:
        """Need an interaction: its thing, its item and its conditions."""
        if key in self._interactions:
            return
        self._interactions.add(key)
        verb, target, item = key
        self.reach(target)
        self._carried(target, row.conditions)
        name = self.plot.objects[target]
        if item >= 0:
            self.take(item)
            both = {"item_name": self.plot.objects[item], "target_object": name}
            self.needs.commands.append(Command("use", both))
        elif verb in ("use", "take"):
            self.needs.commands.append(Command(verb, {"item_name": name}))
        else:
            self.needs.commands.append(Command(verb, {"target_object": name}))
        for condition in row.conditions:
            self.condition(condition)


def needs_of(plot: Plot, state: RoomState) -> RelevantThings:
    """Return what matters for winning from a state."""
    tracer = Tracer(plot, state)
    for condition in plot.story.win_conditions:
        tracer.condition(condition)
    tracer.winning_ends()
    tracer.moves()
    return tracer.needs
