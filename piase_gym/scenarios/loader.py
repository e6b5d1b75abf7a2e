"""Loads scenarios: from the library by name, from files, over base files; and checks them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from piase_gym.core.config import WorldConfig
from piase_gym.core.digest import canonical_json
from piase_gym.core.files import SCENARIO_SUFFIXES, is_file
from piase_gym.core.jsonable import python_value
from piase_gym.errors import ScenarioError, UnknownNameError, suggest
from piase_gym.registry import list_worlds, make_config, world_spec
from piase_gym.scenarios.characters import Character
from piase_gym.scenarios.checking import (
    about_others,
    character_problems,
    checked_script,
    config_problems,
    rest_of,
)
from piase_gym.scenarios.explaining import explain, find
from piase_gym.scenarios.reading import Document, Key, complain, read_file, read_text
from piase_gym.scenarios.schema import (
    AgentPart,
    ScenarioHead,
    TextRoomScenario,
    WorldScenario,
)
from piase_gym.worlds.text_room.levels.story import AgentSetup, Story
from piase_gym.worlds.text_room.levels.story_rules import MaxSteps
from piase_gym.worlds.text_room.levels.validation import problems

MOST_BASES = 8
_HEAD = tuple(TextRoomScenario.model_fields)
STORY = "TextRoom"
"""The world whose scenarios are stories."""


@dataclass(frozen=True)
class Scenario:
    """A scenario that can be played.

    Attributes:
        name: Its name in the library, or the stem of its file.
        file: Where it was read from.
        head: The file as a checked model.
        world: Name of the world.
        fields: Fields of the world's config.
        agents: Its agents, in file order; empty if the world names them.
        warnings: What a reader of the file should know: ``file:line:column: key: ...``.
    """

    name: str
    file: str
    head: TextRoomScenario | WorldScenario
    world: str
    fields: Mapping[str, Any]
    agents: tuple[AgentSetup | AgentPart, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """Name the scenario."""
        return f"<Scenario {self.name!r} of {self.world}: {self.title}>"

    @property
    def title(self) -> str:
        """Its title."""
        return self.head.scenario_name

    @property
    def config(self) -> WorldConfig:
        """The world's config."""
        config: WorldConfig = make_config(world_spec(self.world), self.fields)
        return config

    def origin(self) -> dict[str, str]:
        """Return its name and the SHA-256 of its content, for the manifests of runs."""
        content = canonical_json(self.head.model_dump(mode="json"))
        return {"name": self.name, "sha256": hashlib.sha256(content).hexdigest()}


def _library() -> dict[str, Path]:
    """Return the files of the library by name."""
    folder = files("piase_gym.scenarios.library")
    found = [Path(str(entry)) for entry in folder.iterdir()]
    return {path.stem: path for path in sorted(found) if path.suffix in SCENARIO_SUFFIXES}


def names() -> tuple[str, ...]:
    """Return the names of the scenarios in the library, sorted."""
    return tuple(sorted(_library()))


def load(path_or_name: object, world: str | None = None) -> Scenario:
    """Load a scenario.

    Args:
        path_or_name: A name from `names()`, the path of a ``.yaml``, ``.yml`` or ``.json`` file, a
            dict with the content of such a file, or a `WorldScenario` or `TextRoomScenario`.
        world: The world that it has to be of; a dict that names none is of this one.

    Returns:
        The scenario, ready to be played.

    Raises:
        ScenarioError: If there is none, it is of another world, or something is wrong with it; then
            every line of the message says ``file:line:column: key: what is wrong, what is
            allowed``.
    """
    found = _read(path_or_name, world)
    if world is not None and found.world != world:
        raise ScenarioError(f"scenario {found.name!r} is of {found.world}, not of {world}")
    return found


def loads(text: str, source: str | Path = "<text>") -> Scenario:
    """Load a scenario from the text of a file.

    Args:
        text: YAML, or JSON if the source ends with ``.json``.
        source: What errors call it; a base is looked for in the folder of this path.

    Raises:
        ScenarioError: If something is wrong with it, as `load` says.
    """
    path = Path(source)
    document = read_text(text, str(path), as_json=path.suffix.lower() == ".json")
    return build(_with_base(document, path, ()), path)


def _read(path_or_name: object, world: str | None) -> Scenario:
    """Return a scenario; see `load`."""
    if isinstance(path_or_name, Scenario):
        return path_or_name
    if isinstance(path_or_name, ScenarioHead):
        path_or_name = path_or_name.model_dump(mode="json", exclude_unset=True)
    if isinstance(path_or_name, Mapping):
        return _of_mapping(path_or_name, world)
    if not isinstance(path_or_name, str | Path):
        kind = type(path_or_name).__name__
        raise ScenarioError(f"a scenario is a name, a path or a dict, not {kind}")
    path = find_file(path_or_name)
    document = _with_base(read_file(path), path, ())
    return build(document, path)


_OF_FILES = frozenset(
    "scenario_name initial_state environment_type world base shaping events characters "
    "win_conditions lose_conditions".split()
)
"""Keys of scenarios that are not fields of configs."""


def is_scenario(given: object) -> bool:
    """Return whether something is a scenario, its name or path, or a dict that describes one."""
    if isinstance(given, Mapping):
        return not _OF_FILES.isdisjoint(given)
    return isinstance(given, str | Path | Scenario | ScenarioHead)


def fields_for(given: object, world: Any) -> dict[str, Any]:
    """Return the fields that a world's config takes from a scenario with the same agents.

    Raises:
        ScenarioError: If something is wrong with it, or it is of another world or other agents.
    """
    found = load(given, world.name)
    names = found.config.names()
    if names != world.config.names():
        raise ScenarioError(
            f"scenario {found.name!r} has the agents {', '.join(names)}; "
            f"allowed here: {', '.join(world.config.names())}"
        )
    return {name: value for name, value in found.fields.items() if name != "agent_ids"}


def _of_mapping(given: Mapping[Any, Any], world: str | None) -> Scenario:
    """Return the scenario in a dict; its places are those in the dict as indented JSON."""
    data = {"scenario_name": "scenario", **given}
    if world is not None and not {"world", "environment_type"} & set(data):
        data["environment_type"] = world
    try:
        text = json.dumps(data, indent=2, default=_of_python)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError(f"<dict>:1:1: this is no plain data: {error}") from None
    path = Path("<dict>")
    return build(_with_base(read_text(text, str(path), as_json=True), path, ()), path)


def _of_python(value: object) -> Any:
    """Return a number or an array of NumPy as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return python_value(value)
    raise TypeError(f"a {type(value).__name__} is neither text nor number")


def find_file(path_or_name: str | Path) -> Path:
    """Return the file that a name or path stands for."""
    path = Path(path_or_name)
    known = _library()
    if str(path_or_name) in known:
        return known[str(path_or_name)]
    if is_file(path):
        return path
    if path.suffix.lower() in SCENARIO_SUFFIXES:
        message = f"there is no file {str(path)!r:.200}; allowed: a path, or a name of "
        raise ScenarioError(message + ", ".join(known))
    raise ScenarioError(str(UnknownNameError("scenario", f"{path_or_name!s:.200}", known)))


# -- base files -----------------------------------------------------------------------------------


def _with_base(document: Document, path: Path, chain: tuple[Path, ...]) -> Document:
    """Lay a file over the one that it extends."""
    data = document.data
    if not isinstance(data, dict):
        found = type(data).__name__ if data is not None else "nothing"
        message = f"a scenario is a mapping of keys, not {found}; {suggest('', _HEAD)}"
        raise complain(document.place(()), (), message)
    document = _with_world(document)
    base = data.get("base")
    if base is None:
        return document
    place = document.place(("base",))
    if not isinstance(base, str):
        raise complain(place, ("base",), "base is a name or a path")
    known = _library()
    other = path.parent / base if base not in known else known[base]
    if not is_file(other):
        message = (
            f"there is no scenario {base!r:.200}; allowed: a path beside this file, or a name of"
        )
        raise complain(place, ("base",), f"{message} {', '.join(known)}")
    if other in (*chain, path) or len(chain) >= MOST_BASES:
        raise complain(place, ("base",), "scenarios extend each other in a circle")
    under = _with_base(read_file(other), other, (*chain, path))
    return _merge(under, document)


def _merge(under: Document, over: Document) -> Document:
    """Return a document in which mappings are joined and everything else is replaced."""
    places = dict(under.places)

    def join(low: Any, high: Any, key: Key) -> Any:
        if isinstance(low, dict) and isinstance(high, dict):
            joined = {name: value for name, value in low.items() if name not in high}
            return {
                **joined,
                **{
                    name: join(low[name], value, (*key, name)) if name in low else value
                    for name, value in high.items()
                },
            }
        for old in [old for old in places if old[: len(key)] == key and old != key]:
            del places[old]
        return high

    data = join(under.data, over.data, ())
    places |= over.places
    return Document(data, places)


# -- checking -------------------------------------------------------------------------------------


def build(document: Document, path: Path) -> Scenario:
    """Check a document and return the scenario.

    Raises:
        ScenarioError: See `load`.
    """
    spec = _world_of(document)
    model: type[ScenarioHead] = TextRoomScenario if spec.name == STORY else WorldScenario
    wrong: list[str] = []
    parts: tuple[Key, ...] = ()
    try:
        head = model.model_validate(document.data)
    except ValidationError as error:
        wrong = list(explain(error, model, document))
        rest = rest_of(model, document, error)
        if rest is None:
            raise ScenarioError("\n".join(dict.fromkeys(wrong))) from None
        head, parts = rest
    check = _checked_story if isinstance(head, TextRoomScenario) else _checked_world
    fields, lines, warnings = check(spec, head, document)
    wrong += about_others(lines, parts)
    if wrong:
        raise ScenarioError("\n".join(dict.fromkeys(wrong)))
    assert isinstance(head, TextRoomScenario | WorldScenario)
    if "script" in fields and spec.missing:
        place = document.place(("environment_type",))
        text = f"{place}: environment_type: goals and events are not checked against the world"
        warnings = (*warnings, f"{text}: {spec.missing}")
    return Scenario(path.stem, str(path), head, spec.name, fields, _agents(head), warnings)


Checked = tuple[dict[str, Any], list[str], tuple[str, ...]]
"""Fields of a config, what is wrong, and warnings."""


def _checked_story(spec: Any, head: Any, document: Document) -> Checked:
    """Return the fields, mistakes and warnings of a scenario of TextRoom."""
    rooms = list(head.initial_state.rooms)
    seats = (*_agents(head), *(_seat(character, rooms) for character in head.characters))
    if not seats:
        key = ("initial_state", "agent_setup")
        raise complain(document.place(key), key, "a story needs at least one agent")
    story = _story_of(head, seats)
    found = [*_located(story, document)]
    wrong = [line for line, fatal in found if fatal]
    fields, twice = _all_fields(head, {} if wrong else {"story": story}, document)
    wrong += character_problems(head, rooms, document) + twice
    return fields, wrong + config_problems(spec, fields, document), tuple(line for line, _ in found)


def _checked_world(spec: Any, head: Any, document: Document) -> Checked:
    """Return the fields, mistakes and warnings of a scenario of any other world."""
    agents = _agents(head)
    seats = (*agents, *map(_place, head.characters))
    fields, twice = _all_fields(head, _world_fields(head, seats), document)
    twice += _seat_problems(head, seats, document)
    script, wrong = checked_script(spec, head, agents, fields, document)
    fields |= {} if script is None else {"script": script}
    return fields, twice + wrong + character_problems(head, None, document, spec, fields), ()


def _seat(character: Character, rooms: list[str]) -> AgentSetup:
    """Return the seat of a character of TextRoom; an unknown room is reported separately."""
    start = str(character.start)
    return AgentSetup(agent_id=character.agent_id, start_room=start if start in rooms else rooms[0])


def _place(character: Character) -> AgentPart:
    """Return the seat of a character of GridWorld."""
    start = None if isinstance(character.start, str) else character.start
    return AgentPart(agent_id=character.agent_id, start_pos=start)


def _with_world(document: Document) -> Document:
    """Return a document whose key ``world``, if it has one, is called ``environment_type``."""
    data = document.data
    if "world" not in data:
        return document
    if "environment_type" in data:
        message = "'world' and 'environment_type' name the same; give one of them"
        raise complain(document.place(("world",)), ("world",), message)
    data = {"environment_type" if key == "world" else key: data[key] for key in data}
    places = {**document.places, ("environment_type",): document.place(("world",))}
    return Document(data, places)


def _world_of(document: Document) -> Any:
    """Return the registry's row of the world that a file names."""
    name = document.data.get("environment_type")
    place = document.place(("environment_type",))
    if not isinstance(name, str):
        message = (
            f"this key is missing, or no text; it names the world; {suggest('', list_worlds())}"
        )
        raise complain(place, ("environment_type",), message)
    try:
        return world_spec(name)
    except UnknownNameError as error:
        raise complain(place, ("environment_type",), str(error.args[0])) from None


def _agents(head: ScenarioHead) -> tuple[Any, ...]:
    """Return the agents of a scenario as a list."""
    given = head.initial_state.agent_setup  # type: ignore[attr-defined]
    return given if isinstance(given, tuple) else (given,)


def _story_of(head: TextRoomScenario, agents: tuple[Any, ...]) -> Story:
    """Return the story that a file tells."""
    state = head.initial_state
    return Story(
        description=head.description,
        rooms=state.rooms,
        object_details=state.object_details,
        shuffle=state.shuffle,
        agent_setup=agents,
        win_conditions=head.win_conditions,
        win_logic=head.win_logic,
        lose_conditions=head.lose_conditions,
        ends=head.ends,
        events=head.events,
    )


_IN_STATE = ("rooms", "object_details", "shuffle", "agent_setup")


def _located(story: Story, document: Document) -> Iterator[tuple[str, bool]]:
    """Yield the problems of a story as lines, and whether each is fatal."""
    for problem in problems(story):
        path = problem.path
        if path[0] in _IN_STATE:
            path = ("initial_state", *path)
        key = find(document, path)
        yield document.line(key, problem.message), problem.fatal


def _world_fields(head: WorldScenario, agents: tuple[AgentPart, ...]) -> dict[str, Any]:
    """Return the config fields of a world's scenario."""
    fields: dict[str, Any] = dict(head.initial_state.model_extra or {})
    if agents:
        fields.setdefault("agents", len(agents))
        fields["agent_ids"] = tuple(agent.agent_id for agent in agents)
        starts = [agent.start_pos for agent in agents]
        if any(start is not None for start in starts):
            fields["start_pos"] = tuple(start for start in starts if start is not None)
    limits = [c.steps for c in head.lose_conditions if isinstance(c, MaxSteps)]
    if limits and isinstance(fields.setdefault("max_steps", limits[0]), int):
        fields["max_steps"] = min(fields["max_steps"], *limits)
    return fields


def _seat_problems(
    head: WorldScenario, seats: Sequence[AgentPart], document: Document
) -> Iterator[str]:
    """Yield what the agents set though it is set already, and starts that are missing.

    A world has starts for its first agents alone.
    """
    own = head.initial_state.model_extra or {}
    placed = [k for k, seat in enumerate(seats) if seat.start_pos is not None]
    for name, here in (("agent_ids", seats), ("start_pos", placed)):
        if here and name in own:
            text = f"{name!r} is set by the agents and characters already; allowed: once"
            yield document.line(("initial_state", name), text)
    for k, agent in enumerate(_agents(head)):
        if agent.start_pos is None and placed and k < placed[-1]:
            key = find(document, ("initial_state", "agent_setup", k))
            text = f"start_pos is missing: {seats[placed[-1]].agent_id!r}, who comes later, has one"
            yield document.line(key, text)


def _all_fields(
    head: ScenarioHead, own: dict[str, Any], document: Document
) -> tuple[dict[str, Any], list[str]]:
    """Return all fields of the config (the world's own, `config`, `rewards`), and duplicates."""
    fields, wrong = dict(own), []
    for name, value in head.config.items():
        if name in fields:
            text = f"{name!r} is set by initial_state already; allowed: once"
            wrong.append(document.line(("config", name), text))
        else:
            fields[name] = value
    if head.rewards:
        fields["rewards"] = dict(head.rewards)
    return fields, wrong
