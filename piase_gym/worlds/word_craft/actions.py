"""What agents of WordCraft can say and do: the grammar, the commands of indices, names in lines."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from piase_gym.core.commands import Command, InvalidAction, Param, Verb, unparsable
from piase_gym.errors import suggest
from piase_gym.worlds.word_craft.config import WordCraftEnvelope

WAIT = Command("wait")
COMBINE, PICK = ("mix", "merge", "join", "blend", "craft"), ("pick up", "take", "select", "choose")
GIVE, REST = ("hand", "offer", "pass", "send"), ("noop", "do nothing", "stay")
"""Other words for the verbs."""
_AND = re.compile(r"\s*\+\s*|\s*&\s*| (?:and|with|onto|on|into) ", re.IGNORECASE)


def _begun(*verbs: str) -> re.Pattern[str]:
    """Return a pattern for lines that begin with one of some verbs."""
    longest_first = "|".join(sorted(verbs, key=len, reverse=True))
    end = r"\s+(.+?)(?:\s+together[.!]?)?\s*"
    return re.compile(rf"\s*(?:{longest_first}){end}", re.IGNORECASE)


_COMBINE = _begun("combine", *COMBINE, "put", "use")
_PICK = _begun("pick", *PICK)
_GIVE = re.compile(rf"\s*(?:give|{'|'.join(GIVE)})\s+(.+)\s+to\s+(\S+?)[.!]?\s*", re.IGNORECASE)
_SUM = re.compile(r"\s*([^+]+?\s*\+\s*[^+]+?)\s*")


@functools.lru_cache(maxsize=64)
def grammar_of(envelope: WordCraftEnvelope, agents: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs."""
    slot = Param(
        "slot", kind="integer", minimum=1, maximum=envelope.slots, description="a place on a table"
    )
    things = (Param("first"), Param("second", before="and"))
    verbs = (
        Verb(
            "combine", "combine two things from the table, such as fire and water", things, COMBINE
        ),
        Verb(
            "pick",
            "pick up what lies in a place, or name it; the second is combined with the first",
            (slot,),
            PICK,
        ),
        Verb("wait", "do nothing", (), REST),
    )
    if not envelope.trade:
        return verbs
    to = Param("agent_id", before="to", choices=agents)
    return (*verbs, Verb("give", "give what lies in a place to another", (slot, to), GIVE))


@functools.lru_cache(maxsize=64)
def commands_of(envelope: WordCraftEnvelope, agents: tuple[str, ...]) -> tuple[Command, ...]:
    """Return the command of every index: each slot, each slot given to each agent, and waiting."""
    slots = range(1, envelope.slots + 1)
    picks = [Command("pick", {"slot": slot}) for slot in slots]
    gifts = [
        Command("give", {"slot": slot, "agent_id": name})
        for name in (agents if envelope.trade else ())
        for slot in slots
    ]
    return (*picks, *gifts, WAIT)


def name_read(shown: str, table: Mapping[str, int]) -> str:
    """Return the name of a thing in `table`; "" if it is not there.

    Case, an article and a full stop or exclamation mark at the end do not matter, unless the name
    has them itself.
    """
    plain = shown.strip().lower()
    for said in (plain, _unended(plain)):
        for article in ("", "the ", "a ", "an ", "some "):
            if said.startswith(article) and said[len(article) :] in table:
                return said[len(article) :]
    return ""


def _unended(shown: str) -> str:
    """Return some words without the mark at the end of a sentence."""
    plain = shown.strip()
    return plain[:-1].rstrip() if plain.endswith((".", "!")) else plain


def read_names(
    line: object, here: Mapping[str, int], known: Mapping[str, int]
) -> Command | InvalidAction | None:
    """Read a line that names things; return ``None`` for any other line.

    Args:
        line: The line.
        here: The slots, from 1, of what lies on the agent's table, by lower-case names.
        known: All things of the book, by lower-case names.
    """
    if not isinstance(line, str) or len(line) > 1000:
        return None
    if match := _COMBINE.fullmatch(line) or _SUM.fullmatch(line):
        return _pair(match.group(1), here, known)
    if match := _GIVE.fullmatch(line):
        name = name_read(match.group(1), here)
        return Command("give", {"slot": here[name], "agent_id": match.group(2)}) if name else None
    if match := _PICK.fullmatch(line):
        name = name_read(match.group(1), here)
        if name:
            return Command("pick", {"slot": here[name]})
        if name_read(match.group(1), known) or not _unended(match.group(1)).lstrip("-").isdigit():
            return missing(match.group(1), list(here))
    return None


def _pair(shown: str, here: Mapping[str, int], known: Mapping[str, int]) -> Command | InvalidAction:
    """Read two things of a book, by name or by slot."""
    cuts = [(shown[: m.start()], shown[m.end() :]) for m in _AND.finditer(shown)]
    if not cuts:
        return unparsable(f"Name two things: combine <first> and <second>; not {shown[:60]!r}")
    by_slot = {str(slot): name for name, slot in here.items()}
    for parts in cuts:
        one, two = (by_slot.get(_unended(part)) or name_read(part, known) for part in parts)
        if one and two:
            return Command("combine", {"first": one, "second": two})
    one, two = cuts[0]
    return missing(one if not name_read(one, known) else two, list(here))


def missing(shown: str, names: Sequence[str]) -> InvalidAction:
    """Say that there is no such thing, and what there is."""
    plain = _unended(shown)
    return unparsable(f"There is no {plain[:60]!r} here; {suggest(plain, names)}")
