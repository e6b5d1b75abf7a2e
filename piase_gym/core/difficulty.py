"""What makes a world harder or easier, and what can be put into it (the DSE document).

A world declares its difficulty parameters and its elements as data, each with a pure function from
a config to the fields that change. No state is touched: like every reconfiguration, the changes
hold from the next reset on, and must fit the envelope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from piase_gym.core.arithmetic import is_number
from piase_gym.errors import ConfigError, suggest

BY = "by"
"""The name that turns a world's main parameter by a share of its range; positive is harder."""
Fields = dict[str, Any]


@dataclass(frozen=True)
class DifficultyParameter:
    """A number that makes a world harder or easier.

    Attributes:
        name: What it is called.
        description: What it does, in a few words.
        low: Its least value.
        high: Its greatest value.
        read: Config -> its value now, or ``None`` where it does not apply.
        turn: Config and value -> the fields of the config that change.
        harder: 1 if a greater value is harder, -1 if it is easier.
        whole: Whether it is an integer.
    """

    name: str
    description: str
    low: float
    high: float
    read: Callable[[Any], float | None]
    turn: Callable[[Any, Any], Fields]
    harder: int = 1
    whole: bool = False

    def check(self, world: str, value: Any) -> float | int:
        """Return a value that this parameter can be set to.

        Raises:
            ConfigError: If it is not a number, or out of range.
        """
        if not is_number(value) or not self.low <= value <= self.high or (self.whole and value % 1):
            kind = "an integer" if self.whole else "a number"
            raise ConfigError(
                f"{world}: {self.name} is {kind} from {self.low:g} to {self.high:g}, "
                f"not {value!r:.60}"
            )
        return int(value) if self.whole else float(value)

    def moved(self, value: float, share: float) -> float | int:
        """Return a value turned by a share of the parameter's range, kept within the range."""
        new = value + self.harder * share * (self.high - self.low)
        if self.whole:  # a turn in either direction has an effect
            new = math.ceil(new) if new > value else math.floor(new)
        new = min(max(new, self.low), self.high)
        return int(new) if self.whole else round(new, 9)


@dataclass(frozen=True)
class Element:
    """A kind of thing that can be put into a world.

    Attributes:
        name: Its type.
        description: What it is.
        options: The names of the options that it takes.
        add: Config and the given options -> the fields of the config that change.
        required: Which of the options must be given.
    """

    name: str
    description: str
    options: tuple[str, ...]
    add: Callable[[Any, Mapping[str, Any]], Fields]
    required: tuple[str, ...] = ()


def number_parameter(
    config: type[BaseModel],
    field: str,
    description: str | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    harder: int = 1,
    where: Callable[[Any], bool] = lambda _config: True,
) -> DifficultyParameter:
    """Return a parameter that is a field of the config, and exists only `where` it has a meaning.

    Args:
        config: The class of the config.
        field: The name of the field and of the parameter.
        description: What it does; by default the field's description.
        low: Its least value; by default that of the field.
        high: Its greatest value; by default that of the field.
        harder: 1 if a greater value is harder, -1 if it is easier.
        where: Config -> whether the parameter has a meaning under it.
    """
    found = config.model_fields[field]
    limits = {
        key: getattr(m, key) for m in found.metadata for key in ("ge", "le") if hasattr(m, key)
    }
    number = float if found.annotation is float else int
    return DifficultyParameter(
        field,
        description or str(found.description),
        number(limits["ge"] if low is None else low),
        number(limits["le"] if high is None else high),
        lambda config: getattr(config, field) if where(config) else None,
        lambda _config, value: {field: value},
        harder,
        number is int,
    )


def count_element(name: str, description: str, field: str) -> Element:
    """Return an element whose number in the world is a field of the config."""

    def add(config: Any, said: Mapping[str, Any]) -> Fields:
        return {field: getattr(config, field) + count_of(config.world, said)}

    return Element(name, description, ("count",), add)


def count_of(world: str, said: Mapping[str, Any]) -> int:
    """Return how many of an element are asked for, by default 1.

    Raises:
        ConfigError: If it is not a positive integer.
    """
    count = said.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"{world}: count is a positive integer, not {count!r:.60}")
    return count


def adjust(
    parameters: Sequence[DifficultyParameter], config: Any, params: Mapping[str, Any]
) -> Fields:
    """Return the fields that change when parameters are turned (pure).

    Args:
        parameters: The difficulty parameters of the world, the main one first.
        config: The current config.
        params: Values by parameter, or ``by``: a share of the main parameter's range, positive is
            harder.

    Raises:
        ConfigError: If the world has no such parameter, or a value is not allowed.
    """
    world = config.world
    if not isinstance(params, Mapping) or not params:
        raise ConfigError(f"{world}: difficulty is adjusted by a mapping, not {params!r:.60}")
    ready = {
        parameter.name: parameter for parameter in parameters if parameter.read(config) is not None
    }
    changed: Fields = {}
    for name, value in params.items():
        parameter = ready.get(str(name))
        if name == BY and ready:
            parameter = next(iter(ready.values()))
            value = _turned_value(parameter, config, value)
        elif parameter is None:
            known = [*ready, BY] if ready else []
            raise ConfigError(
                f"{world}: there is no difficulty parameter {name!r} here; {suggest(name, known)}"
            )
        changed |= parameter.turn(config, parameter.check(world, value))
    return changed


def _turned_value(parameter: DifficultyParameter, config: Any, share: Any) -> float | int:
    """Return a parameter's value after turning it by a share of its range."""
    if not is_number(share) or not -1 <= share <= 1:
        raise ConfigError(f"{config.world}: by is a number from -1 to 1, not {share!r:.60}")
    now = parameter.read(config)
    assert now is not None
    return parameter.moved(now, share)


def introduce(elements: Sequence[Element], config: Any, element: Mapping[str, Any]) -> Fields:
    """Return the fields that change when something is put into a world (pure).

    Args:
        elements: The elements of the world.
        config: The current config.
        element: Its ``type`` and its options.

    Raises:
        ConfigError: If the world has no such element, or it has no such option.
    """
    world, known = config.world, {item.name: item for item in elements}
    if not isinstance(element, Mapping) or "type" not in element:
        raise ConfigError(f"{world}: an element is a mapping with a type, not {element!r:.60}")
    said = {str(key): value for key, value in element.items() if key != "type"}
    kind = element["type"]
    found = known.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise ConfigError(f"{world}: there is no element {kind!r}; {suggest(kind, known)}")
    for option in said:
        if option not in found.options:
            raise ConfigError(
                f"{world}: {found.name} has no option {option!r}; {suggest(option, found.options)}"
            )
    missing = [option for option in found.required if option not in said]
    if missing:
        raise ConfigError(f"{world}: {found.name} needs {', '.join(missing)}")
    return found.add(config, said)


@dataclass(frozen=True)
class PerAgentField:
    """A field of the config that holds something for each agent, such as its start.

    Curricula of several agents may each set their own agent's part; `merge` puts them together.

    Attributes:
        own: Whether a value is one agent's part, rather than the whole field.
        merge: Config, parts by agent number, and the number of the lead whose part decides where
            parts cannot be put together, if there is one -> the fields of the config that change.
    """

    own: Callable[[Any], bool]
    merge: Callable[[Any, Mapping[int, Any], int | None], Fields]


def is_place(value: Any) -> bool:
    """Return whether a value is one place: two numbers."""
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value))


def per_agent_list(
    field: str, own: Callable[[Any], bool], now: Callable[[Any], Sequence[Any]], filling: Any = None
) -> PerAgentField:
    """Return a field that is a list with an entry for each of the first agents.

    Args:
        field: Its name.
        own: Whether a value is one entry.
        now: Config -> the entries that it has.
        filling: The entry of agents without a part of their own; ``None`` if there is none.
    """

    def merge(config: Any, parts: Mapping[int, Any], _lead: int | None) -> Fields:
        entries = list(now(config))
        for number in range(max(parts) + 1):
            if number >= len(entries):
                entries.append(filling)
            if number in parts:
                entries[number] = parts[number]
            elif entries[number] is None:
                raise ConfigError(
                    f"{config.world}: {field} of {config.names()[max(parts)]} needs one of "
                    f"{config.names()[number]} too"
                )
        return {field: entries}

    return PerAgentField(own, merge)
