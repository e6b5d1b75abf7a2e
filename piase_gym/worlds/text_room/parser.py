"""Reads what people and language models type, and says what it did not understand.

Beyond the grammar it knows many verbs by other names, directions by their letters, things by parts
of their names, and more than one preposition: ``grab the old document``, ``n``, ``look at clock``,
``unlock desk with brass key``, ``place coin into box``.

Of things it knows those in sight and in hand alone. So the name of a thing that an agent has not
found is answered exactly as a word that names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from piase_gym.core.commands import MAX_LINE, Command, InvalidAction, Outcome, Verb, unparsable
from piase_gym.errors import suggest
from piase_gym.worlds.text_room.levels.story_rules import DIRECTIONS
from piase_gym.worlds.texts.wording import plain, without_article

SHORT = {
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
    "go": ("go to the", "go to", "go", "walk to the", "walk", "move", "run", "head", "enter"),
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
"""How commands begin, by verb; longer openings are tried first."""
BETWEEN = {
    "take": ("from", "out of", "off"),
    "put": ("in", "into", "inside", "on", "onto"),
    "use": ("on", "with", "at"),
    "unlock": ("with", "using"),
    "give": ("to",),
}
"""What stands between the two things of a command."""
OBJECT_KEYS = ("item_name", "target_object", "container")
"""The parameters that name objects."""
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Reader:
    """Reads lines about what is near an agent.

    Attributes:
        agents: Names of all agents.
        grammar: The verbs, for explanations.
    """

    agents: tuple[str, ...]
    grammar: tuple[Verb, ...]

    def read(self, line: object, near: Sequence[str]) -> Command | InvalidAction:
        """Read a line.

        Args:
            line: What was typed; anything that is not a string is unparsable, not an error.
            near: Objects in sight or in hand, which alone can be named.
        """
        if not isinstance(line, str):
            return unparsable(f"a text action is a string, not {type(line).__name__}")
        if len(line) > MAX_LINE:
            told = f"the line has {len(line)} characters; at most {MAX_LINE} are read"
            return InvalidAction(Outcome.TOO_LONG, told)
        words = _SPACES.sub(" ", line).strip()
        bare = words.rstrip(".!").lower()
        if not bare:
            return unparsable(f"the line is empty; commands: {self._usages()}")
        if SHORT.get(bare, bare) in DIRECTIONS:
            return Command("go", {"direction": SHORT.get(bare, bare)})
        for opening, verb in _OPENINGS:
            if bare == opening or bare.startswith(opening + " "):
                rest = words[len(opening) :].strip()
                return self._read_rest(verb, rest, near)
        first = bare.split()[0]
        hint = suggest(first, [verb.name for verb in self.grammar])
        return unparsable(f"I do not know how to {first[:40]!r}; {hint}")

    def _read_rest(self, verb: str, rest: str, near: Sequence[str]) -> Command | InvalidAction:
        """Read what follows the verb."""
        if verb in ("say", "tell"):
            return self._read_speech(verb, rest)
        words = rest.rstrip(".!").lower().strip()
        if verb in ("wait", "inventory"):
            return self._nothing_more(verb, words)
        if verb == "go":
            return self._read_direction(words)
        if not words:
            return Command("look") if verb == "look" else self._needs(verb)
        one, two = self._split(verb, words, near)
        return self._with_things(verb, one, two, near)

    def _split(self, verb: str, words: str, near: Sequence[str]) -> tuple[str, str | None]:
        """Split the two things of a command, where possible so that both are full names.

        A name may itself have a word such as ``in`` in it.
        """
        known = {plain(name) for name in (*near, *self.agents)}
        if plain(without_article(words)) in known:
            return words, None
        cuts = _cuts(words, BETWEEN.get(verb, ()))
        exact = [cut for cut in cuts if {plain(without_article(part)) for part in cut} <= known]
        return next(iter(exact + cuts), (words, None))

    def _with_things(
        self, verb: str, one: str, two: str | None, near: Sequence[str]
    ) -> Command | InvalidAction:
        """Read the one or two things of a command."""
        first = object_named(one, near)
        if isinstance(first, InvalidAction):
            return first
        if verb in ("look", "open", "close", "search", "read"):
            return Command(verb, {"target_object": first})
        if verb in ("drop", "take", "use") and two is None:
            return Command(verb, {"item_name": first})
        if verb == "unlock" and two is None:
            return Command(verb, {"target_object": first})
        if two is None:
            return self._needs(verb)
        if verb == "give":
            other = self.agent_named(two)
            if isinstance(other, InvalidAction):
                return other
            return Command(verb, {"item_name": first, "agent_id": other})
        second = object_named(two, near)
        if isinstance(second, InvalidAction):
            return second
        if verb == "take":
            return Command(verb, {"item_name": first, "container": second})
        if verb == "unlock":
            return Command(verb, {"target_object": first, "item_name": second})
        return Command(verb, {"item_name": first, "target_object": second})

    def _read_speech(self, verb: str, rest: str) -> Command | InvalidAction:
        """Read what is said; it is kept word for word."""
        if verb == "say":
            return Command("say", {"message": rest}) if rest else self._needs("say")
        name, _, message = rest.partition(" ")
        other = self.agent_named(name.rstrip(":,"))
        if isinstance(other, InvalidAction):
            return other
        return (
            Command("tell", {"agent_id": other, "message": message.strip()})
            if (message.strip())
            else self._needs("tell")
        )

    def _nothing_more(self, verb: str, words: str) -> Command | InvalidAction:
        """Read a command without things."""
        if words:
            return unparsable(f"I did not understand {words[:40]!r} after {verb!r}")
        return Command(verb)

    def _read_direction(self, words: str) -> Command | InvalidAction:
        """Read where to go."""
        way = without_article(words)
        way = SHORT.get(way, way)
        if way in DIRECTIONS:
            return Command("go", {"direction": way})
        if not way:
            return self._needs("go")
        return unparsable(f"{words[:40]!r} is no direction; {suggest(way, DIRECTIONS)}")

    def _needs(self, verb: str) -> InvalidAction:
        """Say how a command is used."""
        usage = next(item.usage for item in self.grammar if item.name == verb)
        return unparsable(f"{verb!r} needs more words: {usage}")

    def _usages(self) -> str:
        return "; ".join(verb.usage for verb in self.grammar)

    # -- names ----------------------------------------------------------------------------

    def agent_named(self, words: str) -> str | InvalidAction:
        """Return the agent that some words stand for."""
        name = plain(without_article(words.lower()))
        for known in self.agents:
            if plain(known) == name:
                return known
        return unparsable(f"there is no agent {words[:40]!r}; {suggest(words, self.agents)}")

    # -- commands that came as data ---------------------------------------------------------

    def settle_names(
        self, parameters: Mapping[str, object], near: Sequence[str]
    ) -> dict[str, object] | InvalidAction:
        """Replace the names in parameters by those that the story uses."""
        settled: dict[str, object] = {}
        for key, value in parameters.items():
            found: object = value
            if isinstance(value, str) and key in OBJECT_KEYS:
                found = value if value in near else object_named(value[:MAX_LINE], near)
            elif isinstance(value, str) and key == "agent_id" and value not in self.agents:
                found = self.agent_named(value[:MAX_LINE])
            if isinstance(found, InvalidAction):
                return found
            settled[key] = found
        return settled


def object_named(words: str, near: Sequence[str]) -> str | InvalidAction:
    """Return the object that some words stand for: by its name, or by a part that no other has.

    Args:
        words: What was typed.
        near: Objects in sight or in hand.
    """
    name = plain(without_article(words))
    for known in near:
        if plain(known) in (name, plain(words)):
            return known
    parts = [known for known in near if _is_part(name, plain(known))]
    if len(parts) == 1:
        return parts[0]
    if parts:
        told = " or ".join(part.replace("_", " ") for part in parts)
        return unparsable(f"which do you mean, {told}?")
    return unseen(near)


def unseen(near: Sequence[str]) -> InvalidAction:
    """Return the answer to whatever names nothing in sight or in hand.

    It does not repeat the name, so that a line, a command and an index are answered alike.
    """
    shown = ", ".join(known.replace("_", " ") for known in near[:20])
    more = f" and {len(near) - 20} more" if len(near) > 20 else ""
    return InvalidAction(
        Outcome.ILLEGAL, f"You see no such thing here; you see or hold: {shown or 'nothing'}{more}."
    )


def _is_part(words: str, name: str) -> bool:
    """Tell whether some words are the last or another whole word of a name."""
    return bool(words) and (name.endswith(" " + words) or words in name.split())


def _cuts(words: str, between: Sequence[str]) -> list[tuple[str, str]]:
    """Return every way to split the two things of a command at a preposition, the last first."""
    found = []
    for preposition in between:
        mark, place = f" {preposition} ", words.find(f" {preposition} ")
        while place >= 0:
            found.append((place, words[:place], words[place + len(mark) :]))
            place = words.find(mark, place + 1)
    return [(one, two) for _, one, two in sorted(found, key=lambda row: (-row[0], len(row[2])))]


_OPENINGS = sorted(
    ((opening, verb) for verb, rows in OPENINGS.items() for opening in rows),
    key=lambda row: -len(row[0]),
)
