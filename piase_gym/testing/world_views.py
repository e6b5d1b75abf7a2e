"""Checks of worlds: facts, vectors, texts and hints."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from piase_gym.core.world import Facts
from piase_gym.errors import PiaseError, TextParseError
from piase_gym.testing.kit import Fault, Skip, check, require, require_refusal
from piase_gym.testing.play import HINT, last_row, opening, play, played_again, record, replay
from piase_gym.testing.processes import answers_of, question_of
from piase_gym.testing.subject import Subject
from piase_gym.testing.text_edits import edits_of, vocabulary_of
from piase_gym.testing.values import difference, plain, require_inside, require_same

SEEDS = (0, 1)
LONG_HINT = "Ключ 鍵 \U0001f511 \\ \n " * 40


class ShownView(NamedTuple):
    """What one agent was shown at one step, and the facts behind it."""

    where: str
    text: str
    vector: Any
    facts: Facts
    env: Any


def shown(subject: Subject, steps: int = 60) -> Iterator[ShownView]:
    """Play episodes at random and yield what agents are shown."""
    env = subject.env(view="both")
    for seed in SEEDS:
        for row in play(env, seed, steps=steps, unruly=True, hints=True):
            for name, view in row.observations.items():
                where = f"at step {row.step} of seed {seed}, {name}"
                yield ShownView(where, view["text"], view["vector"], env.facts(name), env)


def view_of(env: Any, name: str) -> dict[str, Any]:
    """Return what an agent would be shown now."""
    world, number = env.world, env.world.agents.index(name)
    return {"text": world.observation_text(number), "vector": world.vectors()[number]}


@check("readable")
def text_reads_back(subject: Subject) -> str:
    """`parse_text` reads every text back into exactly the facts it was written from."""
    count = 0
    for entry in shown(subject):
        try:
            facts = subject.world.parse(entry.text)
        except TextParseError as error:
            raise Fault(f"{entry.where}: the text cannot be read back: {error}") from None
        require_same(f"{entry.where}: text and facts differ", facts, entry.facts)
        require(facts == entry.facts, f"{entry.where}: facts read back are equal in print only")
        count += 1
    return f"{count} texts"


@check("readable")
def text_reads_back_elsewhere(subject: Subject) -> str:
    """Another process, with no environment, reads the same facts from the texts."""
    texts = question_of(subject, "parse")
    here = [plain(subject.world.parse(text)) for text in texts]
    for there in answers_of(subject, "parse"):
        require_same("another process reads other facts from a text", here, there)
    return f"{len(texts)} texts"


@check("readable")
def an_edit_changes_one_fact(subject: Subject) -> str:
    """Changing one number or noun of a text changes exactly one fact, or the text is refused."""
    entries = list(shown(subject, steps=30))
    words = vocabulary_of([entry.facts for entry in entries])
    changed = refused = idle = 0
    for number, entry in enumerate(entries[:: max(1, len(entries) // 24)]):
        for edited, edit in edits_of(entry.text, words, number):
            try:
                facts = subject.world.parse(edited)
            except TextParseError:
                refused += 1
                continue
            except Exception as error:
                raise Fault(f"a text with {edit} makes the parser raise {error!r}") from None
            fields = _changed(entry.facts, facts)
            both = f"a text with {edit} changes {len(fields)} facts: {', '.join(fields)}"
            require(len(fields) < 2, both)
            changed += len(fields)
            idle += not fields
    require(changed, "no change of a number or noun in a text changes a fact")
    total = changed + refused + idle
    return f"{total} edits: {changed} changed one fact, {refused} were refused, {idle} said nothing"


def _changed(one: Facts, two: Facts) -> list[str]:
    """Return the names of the facts that differ."""
    mine, theirs = plain(one), plain(two)
    return [name for name in mine if difference(mine[name], theirs.get(name)) is not None]


@check("readable")
def other_texts_are_refused(subject: Subject) -> None:
    """What the world never writes raises `TextParseError` and nothing else."""
    entry = next(shown(subject))
    lines = entry.text.split("\n")
    strange = ["", "nonsense", entry.text + "\nnonsense", "\n".join(lines[1:]), "\n" + entry.text]
    for text in strange:
        what, parse = f"parsing {text[:40]!r}", functools.partial(subject.world.parse, text)
        accepted = f"{what}... is not refused, though the world never writes it"
        require_refusal(TextParseError, parse, what, accepted)


@check()
def vector_is_that_of_the_facts(subject: Subject) -> str:
    """The vector that is shown is the vector of the facts, bit for bit."""
    count = 0
    for entry in shown(subject):
        made = entry.env.world.vector(entry.facts)
        require_same(f"{entry.where}: vector(facts) and the vector differ", made, entry.vector)
        count += 1
    return f"{count} vectors"


@check("readable")
def vector_tells_facts_apart(subject: Subject) -> None:
    """Facts that differ in more than free sentences are shown as different vectors."""
    first: dict[bytes, tuple[str, Any]] = {}
    for entry in shown(subject):
        facts = {k: v for k, v in plain(entry.facts).items() if k not in ("messages", "hint")}
        key = np.ascontiguousarray(entry.vector).tobytes()
        where, earlier = first.setdefault(key, (entry.where, _without_sentences(facts)))
        same = f"{entry.where} has the same vector as {where}, but other facts"
        require_same(same, earlier, _without_sentences(facts))


def _without_sentences(value: Any) -> Any:
    """Leave free sentences out of plain facts: their code in the vector may be lossy."""
    if isinstance(value, dict):
        return {key: _without_sentences(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_sentences(item) for item in value]
    sentence = isinstance(value, str) and (value.endswith((".", "!")) or value.count(" ") > 2)
    return "..." if sentence else value


@check()
def views_are_of_one_moment(subject: Subject) -> None:
    """A text that is read late, after steps and a reset, is that of the moment it was shown."""
    early, late = subject.env(view="text"), subject.env(view="both", texts="lazy")
    rows = list(play(early, 1, steps=30, unruly=True, hints=True))
    texts = [dict(row.observations) for row in rows]
    kept = []
    for row in replay(late, 1, rows):
        kept.append(row)
        if row.step and row.step % 5 == 3 and late.agents:
            late.give_hint(late.agents[row.step % len(late.agents)], HINT.format(step=row.step))
    opening(late, 2)
    for row, expected in zip(kept, texts, strict=False):
        for name, text in expected.items():
            found = row.observations[name]["text"]
            same = f"at step {row.step} the text of {name}, read late, is of another moment"
            require(found == text, f"{same}: {_first_other_line(text, found)}")


def _first_other_line(one: str, two: str) -> str:
    """Show the first line in which two texts differ."""
    pairs = zip(one.split("\n"), two.split("\n"), strict=False)
    a, b = next(((a, b) for a, b in pairs if a != b), (one[-40:], two[-40:]))
    return f"{a[:60]!r} and {b[:60]!r}"


@check()
def views_say_the_same(subject: Subject) -> None:
    """`view="vector"`, `view="text"` and `mask="obs"` show the parts of `view="both"`."""
    both = subject.env(view="both")
    rows = list(play(both, 2, steps=20, unruly=True))
    kinds: dict[str, dict[str, Any]] = {"vector": {"view": "vector"}, "text": {"view": "text"}}
    if subject.capabilities.discrete and subject.capabilities.masks:
        kinds["mask"] = {"mask": "obs"}
    for kind, options in kinds.items():
        for row, other in zip(rows, replay(subject.env(**options), 2, rows), strict=False):
            for name, view in row.observations.items():
                entry = other.observations[name]
                pair = (view, entry["observation"]) if kind == "mask" else (view[kind], entry)
                message = (
                    f"at step {row.step}, {options} shows {name} something else than view='both'"
                )
                require_same(message, *pair)


@check("readable")
def texts_are_prose(subject: Subject) -> None:
    """Texts have no braces or dumps of data, and with several agents name whom they are for."""
    several = len(subject.env().possible_agents) > 1
    for entry in shown(subject):
        body = entry.text.split("Hint:")[0]
        strange = [mark for mark in ("{", "}", "array(", "None", "<") if mark in body]
        escapes = body.count("\\u{")
        if strange and not (strange == ["{", "}"] and escapes):
            raise Fault(f"{entry.where}: the text shows {strange[0]!r}, a dump of data")
        name = entry.facts.agent
        named = name in body or not several
        require(named, f"{entry.where}: the text does not name {name}")


@check("readable")
def hints_are_in_both_views(subject: Subject) -> None:
    """A hint enters facts, text and vector at the next step, stays, and goes at the reset."""
    env, plainly = subject.env(view="both"), subject.env(view="both")
    name = opening(env, 0).after[0]
    opening(plainly, 0)
    before = env.world.digest()
    env.give_hint(name, "north by northwest")
    require(env.facts(name).hint == "north by northwest", "a hint is not in the facts")
    require(env.world.digest() != before, "the digest does not change with a hint")
    view, bare = view_of(env, name), view_of(plainly, name)
    require("north by northwest" in view["text"], "a hint is not in the text")
    same = np.array_equal(view["vector"], bare["vector"])
    require(not same, "a hint is in the text, but not in the vector")
    facts = [plain(subject.world.parse(shown["text"])) for shown in (view, bare)]
    one, two = ({**entry, "hint": None} for entry in facts)
    found = difference(one, two)
    message = f"a hint changes other facts too: {found}"
    require(found is None or found.startswith("hint"), message)
    row = opening(env, 0)
    script = env.world.script
    goal = None if script is None else script.words(env.world.agents.index(name), 0)
    require(env.facts(name).hint == goal, "a hint is still there after the reset")
    require("northwest" not in row.observations[name]["text"], "a hint outlives the reset")


@check("readable")
def any_hint_can_be_shown(subject: Subject) -> None:
    """Long hints, line breaks and any alphabet keep observations in their space and readable."""
    env = subject.env(view="both")
    for hint in (LONG_HINT, "", "\n\n", "You carry nothing.", "Hint: 7", "\\u{41}"):
        name = opening(env, 1).after[0]
        env.give_hint(name, hint)
        view, what = view_of(env, name), f"the hint {hint[:20]!r}"
        require_inside(env.observation_space(name), view, f"with {what} a view")
        try:
            read = subject.world.parse(view["text"])
        except PiaseError as error:
            raise Fault(f"{what} makes the text unreadable: {error}") from None
        require(read.hint == env.facts(name).hint, f"{what} is read back another")


@check("native_text")
def native_text_is_shown(subject: Subject) -> None:
    """`wording="native"` shows the second dialect, in its space at every step."""
    env = subject.env(view="text", wording="native")
    different = False
    rows = list(play(subject.env(view="text"), 0, steps=30, unruly=True))
    for row, other in zip(rows, replay(env, 0, rows), strict=False):
        for name, text in other.observations.items():
            space = env.observation_space(name)
            require_inside(space, text, f"at step {row.step} the native text")
            different |= text != row.observations[name]
    require(different, "the native text is the canonical one, word for word")


@check()
def looking_changes_nothing(subject: Subject) -> None:
    """Asking for facts, views, masks, commands, pictures, state or snapshot changes no future."""
    rows = list(play(subject.env(), 4, steps=30, unruly=True))
    calm, curious = subject.env(), subject.env()
    expected = played_again(calm, 4, rows)
    found = []
    for row in replay(curious, 4, rows):
        found += record(curious, [row])
        for name in curious.possible_agents:
            curious.facts(name), curious.admissible_commands(name), curious.instructions(name)
        world = curious.world
        world.ansi(), world.rgb(), world.state(), world.digest()
        if subject.capabilities.snapshot:
            curious.snapshot()
        world.capture(), world.vectors(), world.alive
    wrong = next((difference(a, b) for a, b in zip(expected, found, strict=False) if a != b), None)
    require(wrong is None, f"looking at an environment changes its future: {wrong}")


@check()
def late_looks_are_answered(subject: Subject) -> None:
    """Questions about agents that are not in play are answered, with values in their spaces."""
    env = subject.env(view="both")
    row = last_row(env, 0, 300, unruly=True)
    out = [name for name in env.possible_agents if name not in row.after]
    if not out:
        raise Skip("everybody was in play all the time")
    for name in out:
        message = f"a view of {name}, which is not in play,"
        require_inside(env.observation_space(name), view_of(env, name), message)
