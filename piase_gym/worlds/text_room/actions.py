"""TextRoom's commands: verbs, the words in which they are typed, names, and commands by index."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.text_room.config import PHRASES, TextRoomConfig, TextRoomEnvelope
from piase_gym.worlds.text_room.levels import names, words
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.texts.action_table import ActionTable
from piase_gym.worlds.texts.parser import Wording
from piase_gym.worlds.texts.wording import plain, spaced

_ITEM = Param("item_name", description="name of an item")
_TARGET = Param("target_object", description="name of an object")
_AGENT = Param("agent_id", description="name of an agent")
_MESSAGE = Param("message", "text", description="what to say")


ALONE = (
    Verb(
        "look",
        "look around, or look closely at an object",
        (Param("target_object", optional=True, description="name of an object"),),
    ),
    Verb(
        "go",
        "walk to the next room; 'go to <room>' for one next door that you know",
        (Param("direction", choices=DIRECTIONS),),
    ),
    Verb(
        "take",
        "pick up an item",
        (
            _ITEM,
            Param("container", optional=True, before="from", description="where it is taken from"),
        ),
    ),
    Verb("drop", "put down an item", (_ITEM,)),
    Verb(
        "put",
        "put a carried item into a container",
        (_ITEM, Param("target_object", before="in", description="name of a container")),
    ),
    Verb("open", "open something", (_TARGET,)),
    Verb("close", "close something", (_TARGET,)),
    Verb(
        "unlock",
        "unlock something",
        (_TARGET, Param("item_name", optional=True, before="with", description="the key")),
    ),
    Verb(
        "use",
        "use a carried item on an object, or something by itself",
        (_ITEM, Param("target_object", optional=True, before="on", description="on what")),
    ),
    Verb("read", "read what is written on something", (_TARGET,)),
    Verb("search", "search something for what is hidden", (_TARGET,)),
    Verb("inventory", "see what you carry"),
    Verb("wait", "do nothing"),
)


TOGETHER = (
    Verb("say", "speak to everyone", (_MESSAGE,)),
    Verb("tell", "speak to one agent", (_AGENT, _MESSAGE)),
    Verb(
        "give",
        "hand an item to an agent in the same room",
        (_ITEM, Param("agent_id", before="to", description="name of an agent")),
    ),
)

SHORT_DIRECTIONS = {
    "n": "north",
    "e": "east",
    "s": "south",
    "w": "west",
    "ne": "northeast",
    "se": "southeast",
    "sw": "southwest",
    "nw": "northwest",
    "u": "up",
    "d": "down",
    "inside": "in",
    "outside": "out",
    "upstairs": "up",
    "downstairs": "down",
}
OPENINGS = {
    "look": ("look at", "look around", "look", "examine", "inspect", "describe", "x", "l"),
    "go": (
        *("go through", "go to", "go", "walk through", "walk to", "walk", "move to", "move"),
        *("run to", "run", "head to", "head", "enter", "leave through", "climb"),
    ),
    "take": ("take", "pick up", "get", "grab", "collect", "fetch"),
    "drop": ("drop", "put down", "discard", "throw away", "leave"),
    "put": ("put", "place", "insert", "lay"),
    "open": ("open",),
    "close": ("close", "shut"),
    "unlock": ("unlock",),
    "use": ("use", "push", "pull", "press", "turn", "operate", "activate", "apply"),
    "read": ("read",),
    "search": ("search", "look behind", "look under", "look in", "look inside", "explore"),
    "inventory": ("inventory", "check inventory", "show inventory", "inv", "i"),
    "wait": ("wait", "do nothing", "noop", "stay", "z", "pass"),
    "say": ("say", "shout", "announce"),
    "tell": ("tell",),
    "give": ("give", "hand", "offer", "pass to"),
}
"""How commands begin, by verb."""
BETWEEN = {
    "take": ("from", "out of", "off"),
    "put": ("in", "into", "inside", "on", "onto"),
    "use": ("on", "with", "at"),
    "unlock": ("with", "using"),
    "give": ("to",),
}
"""The words between the two things of a command, by verb."""
PARAMETER_ALIASES = {
    "target_object": ("target", "object", "object_name", "item_name", "item", "container"),
    "item_name": ("item", "object", "object_name", "target_object", "target", "key"),
    "container": ("from", "source", "target_object"),
    "agent_id": ("agent", "recipient", "to", "target"),
    "direction": ("to", "way", "target"),
    "message": ("content", "text"),
}
"""Other names under which parameters of commands given as data are understood."""
WORDING = Wording(
    OPENINGS,
    BETWEEN,
    ALONE + TOGETHER,
    SHORT_DIRECTIONS,
    implied="go",
    instead=", and no door or known room next to you",
    things=("item_name", "target_object", "container"),
    people=("agent_id",),
    aliases=PARAMETER_ALIASES,
)
"""How TextRoom's commands can be typed: ``grab the old document``, ``n``, ``look at clock``."""


def grammar(several: bool) -> tuple[Verb, ...]:
    """Return the verbs, with or without those for several agents."""
    return ALONE + TOGETHER if several else ALONE


Bases = Mapping[str, int]
"""Where each kind of command begins in the table, and its ``size``; see `Table`."""


def bases_of(envelope: TextRoomEnvelope) -> Bases:
    """Lay out the table for an envelope."""
    objects, items, agents = envelope.objects, envelope.items, envelope.agents
    several = agents > 1
    sizes = {
        "look": 3,  # wait, look, inventory
        "go": len(DIRECTIONS),
        **dict.fromkeys(("inspect", "open", "close", "search", "read", "use"), objects),
        **dict.fromkeys(("take", "drop"), items),
        **dict.fromkeys(("put", "use_on"), items * objects),
        "say": several * len(PHRASES),
        "tell": several * agents * len(PHRASES),
        "give": several * items * agents,
    }
    return dict(zip((*sizes, "size"), accumulate(sizes.values(), initial=0), strict=True))


@dataclass(frozen=True)
class Table:
    """The commands that indices stand for: the same in every episode of a config.

    0 waits, 1 looks around, 2 is `inventory`; then come the directions; then for each verb a row of
    objects (`look`, `open`, `close`, `search`, `read`, `use`) or of items (`take`, `drop`); `put`
    and `use ... on` for each item and object; and with several agents `say` with each phrase,
    `tell` with each agent and phrase, `give` with each item and agent. Places without an object
    are masked.

    Attributes:
        actions: The commands.
        bases: Where each kind begins.
        words: The names.
    """

    actions: ActionTable
    bases: Bases
    words: Vocabulary

    def __reduce__(self) -> Any:
        """Pickle the names alone."""
        return table_of, (self.words,)

    def __deepcopy__(self, _memo: Any) -> Table:
        """Return itself: it never changes."""
        return self


def table_of(words: Vocabulary) -> Table:
    """Return the table of a config."""
    objects = tuple(words.objects.items())
    return _write(words.agents, words.rooms, objects, words.stats, words.envelope)


@functools.lru_cache(maxsize=64)
def _write(
    agents: tuple[str, ...],
    rooms: tuple[str, ...],
    objects: tuple[tuple[str, int], ...],
    stats: tuple[str, ...],
    envelope: TextRoomEnvelope,
) -> Table:
    """Write the table of a config; environments with the same names share it."""
    words = Vocabulary(agents, rooms, dict(objects), stats, envelope)
    bases = bases_of(words.envelope)
    verbs = grammar(envelope.agents > 1)
    rows = _rows(bases, words)
    return Table(ActionTable.of(bases["size"], rows, verbs, words.as_text), bases, words)


def _rows(bases: Bases, words: Vocabulary) -> Iterator[tuple[int, Command]]:
    """Yield every index that stands for a command."""
    envelope = words.envelope
    yield from enumerate((Command("wait"), Command("look"), Command("inventory")))
    for k, direction in enumerate(DIRECTIONS):
        yield bases["go"] + k, Command("go", {"direction": direction})
    for name, k in words.objects.items():
        for verb in ("open", "close", "search", "read"):
            yield bases[verb] + k, Command(verb, {"target_object": name})
        yield bases["inspect"] + k, Command("look", {"target_object": name})
        yield bases["use"] + k, Command("use", {"item_name": name})
    for item, i in words.objects.items():
        if i >= envelope.items:
            continue
        yield bases["take"] + i, Command("take", {"item_name": item})
        yield bases["drop"] + i, Command("drop", {"item_name": item})
        for name, k in words.objects.items():
            both = {"item_name": item, "target_object": name}
            yield bases["put"] + i * envelope.objects + k, Command("put", both)
            yield bases["use_on"] + i * envelope.objects + k, Command("use", both)
    if envelope.agents > 1:
        yield from _spoken(bases, words)


def _spoken(bases: Bases, words: Vocabulary) -> Iterator[tuple[int, Command]]:
    """Yield the indices and commands of `say`, `tell` and `give`."""
    for p, phrase in enumerate(PHRASES):
        yield bases["say"] + p, Command("say", {"message": phrase})
        for a, agent in enumerate(words.agents):
            params = {"agent_id": agent, "message": phrase}
            yield bases["tell"] + a * len(PHRASES) + p, Command("tell", params)
    for item, i in words.objects.items():
        if i < words.envelope.items:
            for a, agent in enumerate(words.agents):
                given = {"item_name": item, "agent_id": agent}
                yield bases["give"] + i * words.envelope.agents + a, Command("give", given)


@dataclass(frozen=True)
class Vocabulary:
    """The names of one config, in the order of the vector's places.

    Attributes:
        agents: Names of the agents, as many as the envelope has.
        rooms: Names of the rooms.
        objects: Name of each object -> its place; those that can be taken come first.
        stats: Names of the stats.
        envelope: The envelope.
    """

    agents: tuple[str, ...]
    rooms: tuple[str, ...]
    objects: dict[str, int]
    stats: tuple[str, ...]
    envelope: TextRoomEnvelope

    def __deepcopy__(self, _memo: Any) -> Vocabulary:
        """Return itself: it never changes."""
        return self

    @functools.cached_property
    def _shown_names(self) -> dict[str, str]:
        """Names as texts show them, left out where several things would share one."""
        counts = Counter(map(plain, self.objects))
        return {name: spaced(name) for name in self.objects if counts[plain(name)] == 1}

    def as_text(self, command: Command) -> Command:
        """Return a command with names as texts show them."""
        things = {
            key: self._shown_names.get(value, value)
            for key, value in command.parameters.items()
            if key in WORDING.things
        }
        return Command(command.verb, {**command.parameters, **things}) if things else command


def vocabulary(config: TextRoomConfig) -> Vocabulary:
    """Return the names of a config."""
    envelope = config.fixed_envelope()
    agents = config.names(envelope.agents)
    if config.story is None:
        quest_names = words.quest_names(
            config.theme, config.rooms, config.depth, config.distractors
        )
        rooms, items, fixtures = quest_names.rooms, quest_names.items, quest_names.fixtures
        stats: tuple[str, ...] = ()
    else:
        can = names.takeable(config.story)
        rooms = tuple(config.story.rooms)
        items = tuple(name for name in can if can[name])
        fixtures = tuple(name for name in can if not can[name])
        setups = config.story.agent_setup
        stats = tuple(dict.fromkeys(name for setup in setups for name in setup.stats))
    objects = {name: k for k, name in enumerate(items)}
    objects |= {name: envelope.items + k for k, name in enumerate(fixtures)}
    return Vocabulary(agents, rooms, objects, stats, envelope)
