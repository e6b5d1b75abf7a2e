"""What a config adds to the views of any world: a field of the facts, lines, and numbers.

The shared memory (`piase_gym.core.shared_memory`) and what an agent remembers
(`piase_gym.core.recall`) are additions. A world that shows some is of a class that `showing`
makes: its facts have their fields, and its texts and vectors end with them, in the same order.
"""

# `ShowsAdditions` is mixed into worlds; mypy cannot know that its `super()` is one.
# mypy: disable-error-code="misc, call-arg, arg-type, no-any-return"

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.digest import digest_json
from piase_gym.core.facts import Act, Facts, StepResult
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.manual import Manual
from piase_gym.core.surroundings import Surroundings
from piase_gym.errors import SnapshotError, UnsupportedError


class PerceivedWorld(Protocol):
    """What additions ask of a world; see `piase_gym.core.world.World`."""

    mailboxes: Mailbox | None

    def perceived(self, facts: Any, /) -> Mapping[str, Any]:
        """Return, by name, what an agent perceives."""

    def surroundings(self, facts: Any, /) -> Surroundings:
        """Return facts in the terms of the PiaSE documents."""


class Addition(ABC):
    """One thing added to what agents know: kept by the world itself, or `KeptPerceptions`.

    Attributes:
        field: Its field of `Facts`, and its key in states.
        setting: The setting of the config that turns it off.
        prompt: What the prompt says about it, if the world itself does not.
        of_all: Whether an agent is shown what others perceive.
        agents: The names of the agents.
    """

    field: ClassVar[str]
    setting: ClassVar[str]
    prompt: ClassVar[str]
    of_all: ClassVar[bool] = False

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = agents

    @classmethod
    def of(cls, world: Any) -> Self:
        """Return the addition to a world."""
        return cls(world.agents)

    @property
    @abstractmethod
    def length(self) -> int:
        """How many numbers of a vector it takes up."""

    @property
    @abstractmethod
    def text_length(self) -> int:
        """How many characters of a text it takes up at most."""

    @abstractmethod
    def shown(self, world: PerceivedWorld, agent: int) -> Any:
        """Return what an agent is shown now: the value of the field."""

    @staticmethod
    @abstractmethod
    def lines(view: Any) -> list[str]:
        """Write what is shown."""

    @abstractmethod
    def code(self, view: Any) -> NDArray[np.float64]:
        """Return what is shown as the numbers of a vector."""


class KeptPerceptions(Addition):
    """An addition that keeps what agents have perceived, as a part of the state."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything, as at a reset."""

    @abstractmethod
    def note(self, world: PerceivedWorld, agent: int, facts: Any) -> None:
        """Take note of what an agent perceives in this step."""

    def pass_step(self) -> None:
        """Take note that a step has been done."""

    @abstractmethod
    def get_state(self) -> Any:
        """Return all that is kept, as a JSON-able value."""

    @abstractmethod
    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it is damaged.
        """


class CapturedAdditions(NamedTuple):
    """What `World.capture` kept, and what was shown of each addition at that moment."""

    own: Any
    views: tuple[Any, ...]


def _write_with_additions(
    write: Callable[[Any, int], str],
    additions: Sequence[type[Addition]],
    kept: CapturedAdditions,
    agent: int,
) -> str:
    """Write a world's own text, and after it the lines of the additions."""
    pairs = zip(additions, kept.views, strict=True)
    more = [line for addition, view in pairs for line in addition.lines(view)]
    return "\n".join([write(kept.own, agent), *more])


class ShowsAdditions:
    """A world that shows additions; mixed into its class by `showing`."""

    name: str
    agents: Sequence[str]
    alive: Sequence[bool]
    addition_types: ClassVar[tuple[type[Addition], ...]] = ()
    _stepping = False

    def __init__(self, config: Any) -> None:
        """Make the world with empty additions."""
        self.additions: list[Addition] = []
        self._noted, self._took_part = False, set[int]()
        self._adds = False  # the world asks itself for facts while it is made
        self._own_text_length: int = super().text_length
        super().__init__(config)
        self.additions = [addition.of(self) for addition in self.addition_types]
        self._adds = True

    @property
    def text_length(self) -> int:
        """The world's own bound, plus room for the lines of the additions."""
        return self._own_text_length + sum(part.text_length for part in self.additions)

    @text_length.setter
    def text_length(self, length: int) -> None:
        self._own_text_length = length

    def reset(self, seed: int) -> None:
        """Start an episode in which nobody has perceived anything."""
        super().reset(seed)
        for part in self._noting:
            part.clear()
        self._took_part, self._noted = set(), False

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step; what the agents in it perceive is noted when it is over."""
        if self._stepping:  # worlds may decode acts and step again with those
            return super().step(acts)
        self._keep_up()
        alive, self._stepping = self.alive, True
        try:
            result = super().step(acts)
        finally:
            self._stepping = False
        for part in self._noting:
            part.pass_step()
        self._took_part, self._noted = {i for i, plays in enumerate(alive) if plays}, False
        return result

    def enter(self, agent: int) -> None:
        """Let an agent enter; what it perceives then is noted, too."""
        self._keep_up()
        super().enter(agent)
        self._noted = False

    @property
    def _noting(self) -> list[KeptPerceptions]:
        """The additions that keep something."""
        return [part for part in self.additions if isinstance(part, KeptPerceptions)]

    def _keep_up(self) -> None:
        """Take note of what every agent perceives, once per step."""
        if self._noted:
            return
        self._noted = True
        noting = self._noting
        if not noting:
            return
        alive = self.alive
        for agent in range(len(self.agents)):
            if alive[agent] or agent in self._took_part:
                facts = super().facts(agent)
                for part in noting:
                    part.note(self, agent, facts)
        self._took_part = set()

    def _shown(self, agent: int) -> tuple[Any, ...]:
        """Return what an agent is shown of each addition now."""
        self._keep_up()
        return tuple([part.shown(self, agent) for part in self.additions])

    # -- views ----------------------------------------------------------------------------

    @property
    def vector_space(self) -> Box:
        """The world's own Box, extended by the additions."""
        own = super().vector_space
        more = sum(part.of(self).length for part in self.addition_types)
        low, high = _bounds(own.dtype)
        return Box(
            np.concatenate([own.low, np.full(more, low, own.dtype)]),
            np.concatenate([own.high, np.full(more, high, own.dtype)]),
            dtype=own.dtype,
        )

    def facts(self, agent: int) -> Any:
        """Return what the agent may know now."""
        facts = super().facts(agent)
        if not self._adds:
            return facts
        shown = zip(self.additions, self._shown(agent), strict=True)
        return replace(facts, **{part.field: view for part, view in shown})

    def vector(self, facts: Facts) -> NDArray[Any]:
        """Return the vector of the facts; facts that `capture` keeps lack the additions."""
        own = super().vector(facts)
        views = [getattr(facts, part.field) for part in self.additions]
        return own if None in views else self._with_additions(own, views)

    def _with_additions(self, own: NDArray[Any], views: Sequence[Any]) -> NDArray[Any]:
        """Return a vector with the additions at its end."""
        codes = [part.code(view) for part, view in zip(self.additions, views, strict=True)]
        more = [np.clip(code, *_bounds(own.dtype)).astype(own.dtype) for code in codes]
        return np.concatenate([own, *more])

    def capture(self) -> Sequence[Any]:
        """Keep what the world keeps, and what is shown of the additions."""
        views = [self._shown(agent) for agent in range(len(self.agents))]
        self._adds = False
        try:
            return [CapturedAdditions(*pair) for pair in zip(super().capture(), views, strict=True)]
        finally:
            self._adds = True

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        rows = super().vectors([entry.own for entry in kept])
        pairs = zip(rows, kept, strict=True)
        return [self._with_additions(own, entry.views) for own, entry in pairs]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return a function that writes texts from what `capture` returned."""
        own = super().text_writer()
        return functools.partial(_write_with_additions, own, self.addition_types)

    def native_text(self, agent: int) -> str:
        """Return the text in the second dialect, and the additions in the first."""
        shown = zip(self.additions, self._shown(agent), strict=True)
        more = [line for part, view in shown for line in part.lines(view)]
        return "\n".join([super().native_text(agent), *more])

    @property
    def manual(self) -> Manual:
        """The words of the prompt, with a sentence about each addition."""
        own = super().manual
        sentences = [part.prompt for part in self.addition_types if part.prompt]
        return replace(own, rules=" ".join([own.rules, *sentences]))

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the state of the world with the additions."""
        self._keep_up()
        return {**super().get_state(), **{part.field: part.get_state() for part in self._noting}}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        found = [part.of(self) for part in self.addition_types]
        kept = [part for part in found if isinstance(part, KeptPerceptions)]
        for part in kept:
            if not isinstance(state, Mapping) or part.field not in state:
                raise SnapshotError(f"{self.name}: the state lacks {part.field!r}")
            part.set_state(state[part.field])
        fields = {part.field for part in kept}
        super().set_state({k: v for k, v in state.items() if k not in fields})
        self.additions, self._noted = found, True

    def digest(self) -> str:
        """Hash the additions with the rest."""
        self._keep_up()
        return digest_json([super().digest(), *(part.get_state() for part in self._noting)])

    def twin(self, agent: int) -> Any:
        """Return the world's own twin; if all is shared, one in which only hints differ."""
        self._keep_up()
        shared = any(part.of_all for part in self.addition_types)
        return super().hinted_twin(agent) if shared else super().twin(agent)

    def new_batch(self, count: int, configs: Sequence[Any]) -> Any:
        """Refuse, as kernels do not know the additions."""
        part = self.addition_types[0]
        raise UnsupportedError(
            f"{self.name}: batches do not show the {part.field.replace('_', ' ')}; use "
            f"parallel_env, gymnasium.make or make_vec, or {part.setting}"
        )


def split_text(text: str, start: re.Pattern[str]) -> tuple[str, list[str]]:
    """Return a world's own text, and all lines from the first that begins like an addition."""
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if start.match(line)), len(lines))
    return "\n".join(lines[:first]), lines[first:]


def _bounds(kind: Any) -> tuple[float, float]:
    """Return the range of the numbers of a vector."""
    if np.issubdtype(kind, np.integer):
        return np.iinfo(kind).min, np.iinfo(kind).max
    return -np.inf, np.inf


@functools.cache
def showing(kind: type[Any], additions: tuple[type[Addition], ...]) -> type[Any]:
    """Return a class of worlds that show additions."""
    claimed = replace(kind.capabilities, batched=False)

    def to_text(facts: Any, config: Any) -> str:
        lines = [kind.to_text(facts, config)]
        for addition in additions:
            view = getattr(facts, addition.field)
            lines += [] if view is None else addition.lines(view)
        return "\n".join(lines)

    @functools.wraps(kind.facts)
    def facts(self: ShowsAdditions, agent: int) -> Any:
        return ShowsAdditions.facts(self, agent)

    members: dict[str, Any] = {
        "facts": facts,
        "capabilities": claimed,
        "to_text": staticmethod(to_text),
        "addition_types": additions,
    }
    members["made_of"] = kind.made_of or kind
    members |= {name: getattr(kind, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(kind.__name__, (ShowsAdditions, kind), members)
