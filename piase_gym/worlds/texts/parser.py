"""Reads what people and language models type, and says what it did not understand.

The parser follows a world's grammar: what comes after a verb is read as the verb's parameters say
(names of things and agents, one of some choices, free words). A `Wording` adds other words for
verbs and choices, and what may stand between two names: ``grab the old document``, ``n``, ``look at
clock``, ``unlock desk with brass key``, ``place coin into box``.

It knows only the things that are passed as near. So the name of a thing that an agent has not found
gets exactly the same answer as a word that names nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from piase_gym.core.commands import (
    MAX_LINE,
    Command,
    InvalidAction,
    Outcome,
    Param,
    Verb,
    check_command,
    unparsable,
)
from piase_gym.errors import suggest
from piase_gym.worlds.texts.wording import plain, spaced, without_article

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Wording:
    """The words in which a world's commands can be typed.

    Attributes:
        openings: Verb -> the openings of its commands; longer openings are tried first.
        between: Verb -> the words that can stand between the two names of a command.
        choices: Other words -> choices of parameters, such as ``n`` -> ``north``.
        implied: The verb that a choice typed alone stands for, or "".
        instead: What an error adds after an unknown choice, such as ``, and no door that you see``.
        things: The parameters that name things.
        people: The parameters that name agents.
        verbs: Every verb that openings stand for.
        aliases: Parameter -> other names for it in commands that come as data.
    """

    openings: Mapping[str, Sequence[str]]
    between: Mapping[str, Sequence[str]]
    verbs: tuple[Verb, ...]
    choices: Mapping[str, str] = field(default_factory=dict)
    implied: str = ""
    instead: str = ""
    things: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @functools.cached_property
    def shapes(self) -> Mapping[str, Verb]:
        """Every verb by its name."""
        return {verb.name: verb for verb in self.verbs}

    @functools.cached_property
    def opened(self) -> Mapping[str, Verb]:
        """Every opening with its verb; of verbs with the same opening, the first."""
        pairs = [(opening, verb) for verb, rows in self.openings.items() for opening in rows]
        return {opening: self.shapes[verb] for opening, verb in reversed(pairs)}

    @functools.cached_property
    def longest(self) -> int:
        """How many words the longest opening has."""
        return max(len(opening.split()) for opening in self.opened)


@dataclass(frozen=True)
class CommandParser:
    """Reads lines about what is near an agent.

    Attributes:
        wording: The words of the world.
        agents: Names of all agents.
        grammar: The verbs that can be used, for explanations.
    """

    wording: Wording
    agents: tuple[str, ...]
    grammar: tuple[Verb, ...]

    def __deepcopy__(self, _memo: Any) -> CommandParser:
        """Return itself: it never changes."""
        return self

    def read(
        self, line: object, near: Sequence[str], choices: Mapping[str, str] = MappingProxyType({})
    ) -> Command | InvalidAction:
        """Read a line.

        Args:
            line: What was typed; anything that is not a string is unparsable, not an error.
            near: Things in sight or in hand; only these can be named.
            choices: Words that stand for choices now, such as a room for the way that leads there.
        """
        if not isinstance(line, str):
            return unparsable(f"a text action is a string, not {type(line).__name__}")
        if len(line) > MAX_LINE:
            text = f"the line has {len(line)} characters; at most {MAX_LINE} are read"
            return InvalidAction(Outcome.TOO_LONG, text)
        words = _SPACES.sub(" ", line).strip()
        bare = words.rstrip(".!").lower()
        if not bare:
            return unparsable(f"the line is empty; commands: {self._usages()}")
        implied = self.wording.shapes.get(self.wording.implied)
        if implied is not None and self._choice(bare) in implied.params[0].choices:
            return Command(implied.name, {implied.params[0].name: self._choice(bare)})
        said = bare.split(" ")
        for count in range(self.wording.longest, 0, -1):
            opening = " ".join(said[:count])
            if (verb := self.wording.opened.get(opening)) is not None:
                found = self._read_rest(verb, words[len(opening) :].strip(), near, choices)
                if isinstance(found, Command) and verb not in self.grammar:
                    return check_command(found, self.grammar)  # says what there is instead
                return found
        return self._unknown(said[0])

    def _read_rest(
        self, verb: Verb, rest: str, near: Sequence[str], choices: Mapping[str, str]
    ) -> Command | InvalidAction:
        """Read what follows the verb."""
        if verb.params and verb.params[-1].kind == "text":
            return self._read_speech(verb, rest)
        words = rest.rstrip(".!").lower().strip()
        if not verb.params:
            if words:
                return unparsable(f"I did not understand {words[:40]!r} after {verb.name!r}")
            return Command(verb.name)
        if verb.params[0].choices:
            return self._read_choice(verb, words, choices)
        if not words:
            return Command(verb.name) if verb.params[0].optional else self._needs(verb)
        one, two = self._split(verb, words, near)
        return self._with_names(verb, one, two, near)

    def _split(self, verb: Verb, words: str, near: Sequence[str]) -> tuple[str, str | None]:
        """Split the two names of a command, if possible so that both are full names.

        A name may itself contain a word such as ``in``.
        """
        known = {plain(name) for name in (*near, *self.agents)}
        if plain(without_article(words)) in known:
            return words, None
        cuts = _cuts(words, self.wording.between.get(verb.name, ()))
        exact = [cut for cut in cuts if {plain(without_article(part)) for part in cut} <= known]
        return next(iter(exact + cuts), (words, None))

    def _with_names(
        self, verb: Verb, one: str, two: str | None, near: Sequence[str]
    ) -> Command | InvalidAction:
        """Read the one or two names of a command."""
        values: dict[str, object] = {}
        for param, words in zip(verb.params, (one, two), strict=False):
            if words is None:
                return Command(verb.name, values) if param.optional else self._needs(verb)
            found = self._named(param, words, near)
            if isinstance(found, InvalidAction):
                return found
            values[param.name] = found
        return Command(verb.name, values)

    def _named(self, param: Param, words: str, near: Sequence[str]) -> str | InvalidAction:
        """Return the thing or agent that some words stand for."""
        if param.name in self.wording.people:
            return self.agent_named(words)
        return thing_named(words, near)

    def _read_speech(self, verb: Verb, rest: str) -> Command | InvalidAction:
        """Read what is said, possibly after its recipient; it is kept word for word."""
        values: dict[str, object] = {}
        for param in verb.params[:-1]:
            name, _, rest = rest.partition(" ")
            other = self.agent_named(name.rstrip(":,"))
            if isinstance(other, InvalidAction):
                return other
            values[param.name], rest = other, rest.strip()
        if not rest:
            return self._needs(verb)
        return Command(verb.name, {**values, verb.params[-1].name: rest})

    def _read_choice(
        self, verb: Verb, words: str, choices: Mapping[str, str]
    ) -> Command | InvalidAction:
        """Read one of several choices, such as where to go, possibly with what it leads to."""
        param = verb.params[0]
        value = self._choice(without_article(words))
        value = choices.get(value, value)
        first, _, rest = words.partition(" ")
        if value not in param.choices and rest.partition(" ")[0] in ("to", "through"):
            value = self._choice(first)
        if value in param.choices:
            return Command(verb.name, {param.name: value})
        if not value:
            return self._needs(verb)
        text = f"{words[:40]!r} is no {param.name}{self.wording.instead}"
        return unparsable(f"{text}; {suggest(value, param.choices)}")

    def _choice(self, words: str) -> str:
        """Return the choice that some words stand for."""
        return self.wording.choices.get(words, words)

    def _unknown(self, word: str) -> InvalidAction:
        """Say that a verb is not known."""
        hint = suggest(word, [verb.name for verb in self.grammar])
        return unparsable(f"I do not know how to {word[:40]!r}; {hint}")

    def _needs(self, verb: Verb) -> InvalidAction:
        """Say how a command is used."""
        if verb not in self.grammar:
            return self._unknown(verb.name)
        return unparsable(f"{verb.name!r} needs more words: {verb.usage}")

    def _usages(self) -> str:
        return "; ".join(verb.usage for verb in self.grammar)

    # -- names ----------------------------------------------------------------------------

    def agent_named(self, words: str) -> str | InvalidAction:
        """Return the agent that some words stand for; of similar names, the one that is meant."""
        if words in self.agents:
            return words
        name = plain(without_article(words.lower()))
        for known in self.agents:
            if plain(known) == name:
                return known
        return unparsable(f"there is no agent {words[:40]!r}; {suggest(words, self.agents)}")

    # -- commands that came as data ---------------------------------------------------------

    def check(self, command: Command, near: Sequence[str]) -> Command | InvalidAction:
        """Check a command that came as data, and return it in the world's own names."""
        checked = check_command(Command(command.verb, self._own_keys(command)), self.grammar)
        if isinstance(checked, InvalidAction):
            return checked
        settled: dict[str, object] = {}
        for key, value in checked.parameters.items():
            found: object = value
            if isinstance(value, str) and key in self.wording.things:
                found = value if value in near else thing_named(value[:MAX_LINE], near)
            elif isinstance(value, str) and key in self.wording.people:
                found = value if value in self.agents else self.agent_named(value[:MAX_LINE])
            if isinstance(found, InvalidAction):
                return found
            settled[key] = found
        return Command(checked.verb, settled)

    def _own_keys(self, command: Command) -> dict[str, Any]:
        """Return the parameters of a command under their proper keys, as far as these are clear."""
        params = next((verb.params for verb in self.grammar if verb.name == command.verb), ())
        own = {param.name for param in params}
        if not isinstance(command.parameters, Mapping):
            return command.parameters
        found = {str(key): value for key, value in command.parameters.items()}
        for name in (param.name for param in params if param.name not in found):
            others = (a for a in self.wording.aliases.get(name, ()) if a in found and a not in own)
            if (alias := next(others, None)) is not None:
                found[name] = found.pop(alias)
        return found


def thing_named(words: str, near: Sequence[str]) -> str | InvalidAction:
    """Return the thing that some words stand for: by its name, or by a part that no other has.

    Args:
        words: What was typed.
        near: Things in sight or in hand.
    """
    name = plain(without_article(words))
    for known in near:
        if plain(known) in (name, plain(words)):
            return known
    parts = [known for known in near if _is_part(name, plain(known))]
    if len(parts) == 1:
        return parts[0]
    if parts:
        return unparsable(f"which do you mean, {' or '.join(map(spaced, parts))}?")
    return unseen(near)


def unseen(near: Sequence[str]) -> InvalidAction:
    """Return the answer to a name of nothing in sight or in hand.

    It does not repeat the name, so that a line, a command and an index get the same answer.
    """
    shown = ", ".join(map(spaced, near[:20]))
    more = f" and {len(near) - 20} more" if len(near) > 20 else ""
    return InvalidAction(
        Outcome.ILLEGAL, f"You see no such thing here; you see or hold: {shown or 'nothing'}{more}."
    )


def _is_part(words: str, name: str) -> bool:
    """Return whether some words end a name, or are one whole word of it."""
    return bool(words) and (name.endswith(" " + words) or words in name.split())


def _cuts(words: str, between: Sequence[str]) -> list[tuple[str, str]]:
    """Return every way to split the two names of a command at a preposition, the last first."""
    found = []
    for preposition in between:
        mark, place = f" {preposition} ", words.find(f" {preposition} ")
        while place >= 0:
            found.append((place, words[:place], words[place + len(mark) :]))
            place = words.find(mark, place + 1)
    return [(one, two) for _, one, two in sorted(found, key=lambda row: (-row[0], len(row[2])))]
