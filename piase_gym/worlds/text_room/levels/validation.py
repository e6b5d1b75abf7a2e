"""What is wrong with a story that has the right form.

Each problem says where it is, what is wrong and what is allowed. Errors prevent a story from
being played; warnings are shown by ``piase scenario lint``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from piase_gym.core.script.contradictions import circles, endless_words
from piase_gym.errors import suggest
from piase_gym.worlds.text_room.levels import names
from piase_gym.worlds.text_room.levels import story_rules as data
from piase_gym.worlds.text_room.levels.names import Path
from piase_gym.worlds.text_room.levels.story import Story
from piase_gym.worlds.text_room.rules.conditions import problem_of, symbols_of
from piase_gym.worlds.texts.wording import plain

KINDS = {
    "room": "room",
    "start_room": "room",
    "object": "object",
    "item_name": "object",
    "container": "object",
    "target": "object",
    "agent_id": "agent",
    "stat": "stat",
}
"""The kind of thing that each field of conditions, triggers and responses names."""
STATE_WORDS = ("room", "inventory", "flags", "steps")
"""The names that an `agent_state_condition` can use besides the stats of its agent."""


CARRIED = "carried"
"""The place of an object that some agent carries, no matter which."""


class Problem(NamedTuple):
    """One thing that is wrong.

    Attributes:
        path: Where it is in the story.
        message: What is wrong and what is allowed.
        fatal: Whether the story cannot be played.
    """

    path: Path
    message: str
    fatal: bool = True


class StoryValidator:
    """Knows the names of a story and finds its problems."""

    def __init__(self, story: Story) -> None:
        """Collect the names."""
        self.story = story
        self.objects = names.all_objects(story)
        self.agents = tuple(agent.agent_id for agent in story.agent_setup)
        self.stats = tuple({name: 0 for agent in story.agent_setup for name in agent.stats})
        self.known: dict[str, tuple[str, ...]] = {
            "room": tuple(story.rooms),
            "object": self.objects,
            "agent": self.agents,
            "stat": self.stats,
        }
        self.placed = {m.object: m for m in reversed([*names.mentions(story)])}
        self.there = {*self.placed, *names.spawned(story)}
        self.there |= {mention.object for mention in names.doors(story)}
        self.takeable = names.takeable(story)
        self.flags = names.flags(story)

    def problems(self) -> Iterator[Problem]:
        """Yield every problem, in the order of the story's parts."""
        yield from self._names_are_clear()
        yield from self._rooms()
        yield from self._places()
        yield from self._shuffles()
        yield from self._locks()
        yield from self._agents()
        yield from self._check_names()
        yield from self._contradictions()
        yield from self._endless()
        yield from self._endings()

    def _unknown(self, kind: str, name: str, path: Path) -> Iterator[Problem]:
        """Yield a problem if no room, object or agent has this name."""
        if name not in self.known[kind]:
            yield Problem(path, f"unknown {kind} {name!r}; {suggest(name, self.known[kind])}")

    def _names_are_clear(self) -> Iterator[Problem]:
        """Check that commands, which ignore case and underscores, can tell names apart."""
        for kind in ("room", "object", "agent"):
            seen: dict[str, str] = {}
            for name in self.known[kind]:
                other = seen.setdefault(plain(name), name)
                if other != name:
                    path = self._path_of(kind, name)
                    yield Problem(path, f"{name!r} and {other!r} read the same; rename one")

    def _path_of(self, kind: str, name: str) -> Path:
        """Return where something is defined or first mentioned."""
        if kind == "agent":
            return ("agent_setup", self.agents.index(name), "agent_id")
        if kind == "room":
            return ("rooms", name)
        mention = self.placed.get(name)
        details = name in self.story.object_details or mention is None
        return ("object_details", name) if details or mention is None else mention.path

    def _rooms(self) -> Iterator[Problem]:
        for name, room in self.story.rooms.items():
            for direction, way in room.exits.items():
                path: Path = ("rooms", name, "exits", direction)
                yield from self._unknown("room", way.room, path)

    def _places(self) -> Iterator[Problem]:
        """Check that every object is in one place, and that nothing is inside itself."""
        seen: dict[str, names.Mention] = {}
        for mention in names.mentions(self.story):
            first = seen.setdefault(mention.object, mention)
            if first is not mention:
                message = (
                    f"{mention.object!r} is in two places: {_place(first)} and {_place(mention)}"
                )
                yield Problem(mention.path, f"{message}; allowed: one")
        for mention in names.doors(self.story):
            if mention.object in seen:
                message = f"{mention.object!r} is a door and {_place(seen[mention.object])} too"
                yield Problem(mention.path, f"{message}; a door is only named by exits")
        for mention in seen.values():
            if self._is_inside_itself(mention):
                yield Problem(mention.path, f"{mention.object!r} is inside of itself")
        for name in self.story.object_details:
            if name not in self.there:
                message = f"{name!r} is placed nowhere, so nobody will ever see it"
                yield Problem(("object_details", name), message, fatal=False)

    def _shuffles(self) -> Iterator[Problem]:
        """Check that shuffled objects lie in rooms, and that each is in one group only."""
        seen: set[str] = set()
        for n, group in enumerate(self.story.shuffle):
            for k, name in enumerate(group):
                path: Path = ("shuffle", n, k)
                yield from self._unknown("object", name, path)
                if name in self.placed and self.placed[name].kind != "room":
                    where = _place(self.placed[name])
                    yield Problem(
                        path, f"{name!r} is {where}; only what lies in a room is shuffled"
                    )
                elif name in self.objects and name not in self.placed:
                    yield Problem(path, f"{name!r} lies in no room, so it cannot be shuffled")
                if name in seen:
                    yield Problem(path, f"{name!r} is shuffled twice; allowed: once")
                seen.add(name)

    def _is_inside_itself(self, mention: names.Mention) -> bool:
        """Follow the containers of an object outwards."""
        seen, now = {mention.object}, mention
        while now.kind in ("inside", "hidden"):
            if now.where in seen:
                return now.where == mention.object
            seen.add(now.where)
            if now.where not in self.placed:
                return False
            now = self.placed[now.where]
        return False

    def _locks(self) -> Iterator[Problem]:
        """Check that every lock has a key somewhere, or an event that opens it."""
        opened = {
            r.object
            for r, _ in names.responses(self.story)
            if isinstance(r, data.ChangeState) and (r.locked is False or r.is_open)
        }
        for name, thing in self.story.object_details.items():
            path: Path = ("object_details", name)
            key = thing.key_required
            if key is None and thing.locked and name not in opened:
                message = f"{name!r} is locked, without key_required or an event that unlocks it"
                yield Problem(path, message, fatal=False)
            if key is not None and key not in self.there:
                where = "allowed: a name in objects, contains, hidden_item or an inventory"
                message = f"the key {key!r} of {name!r} is placed nowhere"
                yield Problem((*path, "key_required"), f"{message}; {where}")
            elif key is not None and not self.takeable[key]:
                message = f"the key {key!r} of {name!r} cannot be taken; set can_be_taken: true"
                yield Problem((*path, "key_required"), message, fatal=False)

    def _agents(self) -> Iterator[Problem]:
        for k, agent in enumerate(self.story.agent_setup):
            path: Path = ("agent_setup", k)
            yield from self._unknown("room", agent.start_room, (*path, "start_room"))
            if agent.agent_id in self.agents[:k]:
                message = f"two agents are called {agent.agent_id!r}; names must differ"
                yield Problem((*path, "agent_id"), message)
        if all(agent.join_at for agent in self.story.agent_setup):
            message = "at least one agent must be there at step 0"
            yield Problem(("agent_setup", 0, "join_at"), message)

    def _check_names(self) -> Iterator[Problem]:
        """Check the names in conditions, triggers and responses."""
        for part, path in self._all_parts():
            for key, kind in KINDS.items():
                name = getattr(part, key, None)
                if isinstance(name, str) and (key, name) != ("agent_id", "all"):
                    yield from self._unknown(kind, name, (*path, key))
            if isinstance(part, data.ActionTaken) and part.action_type not in (
                *data.VERBS,
                *data.SPOKEN,
            ):
                hint = suggest(part.action_type, (*data.VERBS, *data.SPOKEN))
                where: Path = (*path, "action_type")
                yield Problem(where, f"unknown action {part.action_type!r}; {hint}")
            if (why := self._why_undone(part, path)) is not None:
                yield Problem(path, f"this can never happen: {why}", fatal=False)
            if isinstance(part, data.AgentState):
                yield from self._sentence(part, path)
            if isinstance(part, data.SpawnObject) and part.object in self.placed:
                message = f"{part.object!r} is already {_place(self.placed[part.object])}"
                yield Problem((*path, "object"), f"{message}; spawn one that is placed nowhere")

    def _why_undone(self, part: Any, path: Path) -> str | None:
        """Say why nobody can ever open or take what a part waits for, or return ``None``."""
        verb, name = "", ""
        if isinstance(part, data.Interaction):
            verb, name = part.action, str(path[1])
        elif isinstance(part, data.ActionTaken):
            verb, name = part.action_type, part.target or part.item_name or ""
        if name not in self.objects:
            return None
        if verb == "take" and not self.takeable[name]:
            return f"{name!r} cannot be taken; set can_be_taken: true"
        if verb == "open" and self.takeable[name] and not self._opens(name):
            return f"{name!r} can be taken, and is neither a container nor a door"
        return None

    def _sentence(self, part: data.AgentState, path: Path) -> Iterator[Problem]:
        """Check an expression about an agent's state."""
        where: Path = (*path, "condition")
        wrong = problem_of(part.condition)
        if wrong is not None:
            yield Problem(where, f"{part.condition!r} is no rule-engine sentence: {wrong}")
            return
        allowed = (*STATE_WORDS, *self.stats)
        for word in symbols_of(part.condition):
            if word not in allowed:
                yield Problem(where, f"unknown name {word!r}; {suggest(word, allowed)}")

    def _all_parts(self) -> Iterator[tuple[Any, Path]]:
        """Yield every condition, trigger, response and interaction with its path."""
        story = self.story
        for key in ("win_conditions", "lose_conditions"):
            for k, condition in enumerate(getattr(story, key)):
                yield condition, (key, k)
        for event, path in names.events(story):
            yield event.trigger, (*path, "trigger")
            yield from _numbered(event.conditions, (*path, "conditions"))
        for interaction, path in names.interactions(story):
            yield interaction, path
            yield from _numbered(interaction.conditions, (*path, "conditions"))
        yield from names.responses(story)

    def _contradictions(self) -> Iterator[Problem]:
        """Check joint conditions for obvious contradictions, and that none both wins and loses."""
        story = self.story
        together: list[tuple[Any, Path]] = [
            (event.conditions, (*path, "conditions")) for event, path in names.events(story)
        ]
        if story.win_logic == "all":
            together.append((story.win_conditions, ("win_conditions",)))
        for interaction, path in names.interactions(story):
            together.append((interaction.conditions, (*path, "conditions")))
        for conditions, start in together:
            seen: dict[tuple[str, str], str] = {}
            for condition, where in _numbered(conditions, start):
                for about, value in self._claims(condition):
                    other = seen.setdefault(about, value)
                    carried = other.startswith(CARRIED) and value.startswith(CARRIED)
                    if other != value and not (carried and CARRIED in (other, value)):
                        message = (
                            f"contradiction: {about[1]!r} cannot be {other} and {value} at once"
                        )
                        yield Problem(where, message)
        for k, condition in enumerate(story.lose_conditions):
            if condition in story.win_conditions:
                message = "this is a win condition too, so that it says nothing"
                yield Problem(("lose_conditions", k), message)

    def _endless(self) -> Iterator[Problem]:
        """Check that events without conditions do not set each other off forever."""
        rows = [(event, path) for event, path in names.events(self.story)]
        asks = [
            {event.trigger.flag_name}
            if event.repeat and not event.conditions and isinstance(event.trigger, data.FlagSet)
            else set[str]()
            for event, _ in rows
        ]
        flags = [[r for r in event.response if isinstance(r, data.SetFlag)] for event, _ in rows]
        sets = [[r.flag_name for r in found if r.value] for found in flags]
        for circle in circles(asks, sets):
            cleared = {r.flag_name for k in circle for r in flags[k] if not r.value}
            if all(asks[k] <= cleared for k in circle):
                named = [rows[k][0].name or f"event_{k + 1}" for k in circle]
                message = f"{endless_words(named)}, and are cut off; leave out `repeat`"
                yield Problem(rows[circle[0]][1], message, fatal=False)

    def _claims(self, condition: Any) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the claims of a condition: what each is about, and what it says about it."""
        who = getattr(condition, "agent_id", None)
        if who is None and len(self.agents) == 1:
            who = self.agents[0]
        if isinstance(condition, data.AgentInRoom) and who is not None:
            yield ("agent", who), f"in {condition.room!r}"
        elif isinstance(condition, data.ItemInRoom):
            yield ("place", condition.item_name), f"in {condition.room!r}"
        elif isinstance(condition, data.ItemInInventory):
            yield ("place", condition.item_name), f"carried by {who!r}" if who else CARRIED
        elif isinstance(condition, data.ObjectState):
            if condition.is_open is not None:
                yield ("lid", condition.object), "open" if condition.is_open else "closed"
            if condition.locked is not None:
                yield ("lock", condition.object), "locked" if condition.locked else "unlocked"

    def _endings(self) -> Iterator[Problem]:
        """Check that some way to win is possible; warn of other conditions that never hold."""
        never = self._never("win_conditions")
        fatal = len(never) == len(self.story.win_conditions) or self.story.win_logic == "all"
        for k, why in never:
            path: Path = ("win_conditions", k)
            if not fatal:
                yield Problem(path, f"this can never hold: {why}", fatal=False)
            elif self.story.win_logic == "all":
                yield Problem(path, f"all conditions must hold, but this never can: {why}")
            else:
                yield Problem(path, f"no win condition can ever hold: {why}")
        for k, why in self._never("lose_conditions"):
            yield Problem(("lose_conditions", k), f"this can never hold: {why}", fatal=False)

    def _never(self, key: str) -> list[tuple[int, str]]:
        """Return the conditions that obviously never hold, each with the reason."""
        conditions = enumerate(getattr(self.story, key))
        return [(k, why) for k, condition in conditions if (why := self._why_never(condition))]

    def _opens(self, name: str) -> bool:
        """Return whether an object can be open."""
        thing = names.thing_of(self.story, name)
        is_door = any(mention.object == name for mention in names.doors(self.story))
        return is_door or bool(thing.is_container or thing.contains)

    def _why_never(self, condition: Any) -> str | None:
        """Say why a condition can never hold, or return ``None``."""
        if isinstance(condition, data.MaxSteps | data.AgentState):
            return None
        if isinstance(condition, data.FlagIsSet) and condition.flag_name not in self.flags:
            hint = suggest(condition.flag_name, sorted(self.flags))
            return f"nothing sets the flag {condition.flag_name!r}; {hint}"
        name = getattr(condition, "item_name", None) or getattr(condition, "object", None)
        if name is None or name not in self.objects:
            return None
        if name not in self.there:
            return f"{name!r} is placed nowhere"
        if isinstance(condition, data.ItemInInventory) and not self.takeable[name]:
            return f"{name!r} cannot be taken; set can_be_taken: true"
        to_open = isinstance(condition, data.ObjectState) and condition.is_open
        if to_open and not self._opens(name):
            return f"{name!r} is neither a container nor a door"
        return None


def _numbered(parts: Iterable[Any], path: Path) -> Iterator[tuple[Any, Path]]:
    """Yield parts with their paths."""
    for k, part in enumerate(parts):
        yield part, (*path, k)


def _place(mention: names.Mention) -> str:
    """Say where an object is."""
    words = {"room": "in", "inside": "in", "hidden": "hidden in", "agent": "carried by"}
    return f"{words[mention.kind]} {mention.where!r}"


def problems(story: Story) -> list[Problem]:
    """Return everything that is wrong with a story, errors and warnings."""
    return list(StoryValidator(story).problems())
