"""How an env shows a world: the views, their spaces, and texts that are written when read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.core.text_encoding import CHARSET
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, suggest

View = Literal["both", "vector", "text"]
VIEWS = ("both", "vector", "text")
MASKS = (None, "obs")
WORDINGS = ("canonical", "native")
TextWriter = Callable[[Any, int], str]


@dataclass(frozen=True)
class ObservationStyle:
    """How an environment shows a world.

    Attributes:
        view: ``both``, ``vector`` or ``text``.
        mask: Where masks are: ``None`` for the infos, or ``obs``.
        wording: The dialect of texts: ``canonical``, or ``native`` where the world has it.
    """

    view: str = "both"
    mask: str | None = None
    wording: str = "canonical"


class NoShape:
    """Stands for the shape of a text, which has none: who wants one is told what to do."""

    def __iter__(self) -> Iterator[int]:
        """Say that texts are not for learners."""
        raise ConfigError(
            "learners take arrays, but this environment shows texts, which have no shape; "
            "make it with view='vector'"
        )

    def __len__(self) -> int:
        """Say the same."""
        return len(list(self))

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        """Say the same."""
        return np.array(list(self))

    def __bool__(self) -> bool:
        """Return False, as of ``None``."""
        return False

    def __repr__(self) -> str:
        """Return what Gymnasium has here."""
        return "None"


class TextSpace(spaces.Text):
    """A Text whose shape tells learners that they want another view, before they fail on it."""

    @property
    def shape(self) -> Any:
        """What stands for no shape."""
        return NoShape()


def say_as_is(kept: Any, agent: int) -> str:
    """Return a text that was kept as a text."""
    return str(kept)


class LazyViews(dict[str, Any]):
    """``{"text": ..., "vector": ...}`` whose text is written when it is first read.

    It is a dict in every way: ``dict(obs)``, ``copy``, ``pickle``, ``==``, ``**obs`` and
    iteration give this step's text, also after the environment has gone on. Until then the key
    ``text`` holds a tuple (writer, what was kept, agent).
    """

    __slots__ = ()

    def _write(self) -> None:
        """Write the text, if that has not been done."""
        pending = dict.__getitem__(self, "text")
        if type(pending) is tuple:
            write, kept, agent = pending
            dict.__setitem__(self, "text", write(kept, agent))

    def __getitem__(self, key: str) -> Any:
        """Return the text or the vector."""
        if key == "text":
            self._write()
        return dict.__getitem__(self, key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys (overridden so that ``dict(obs)`` reads item by item)."""
        return dict.__iter__(self)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        if key == "text":
            self._write()
        return dict.get(self, key, default)

    def keys(self) -> Any:
        """Return the keys."""
        return dict.keys(self)

    def items(self) -> Any:
        """Return keys and values."""
        self._write()
        return dict.items(self)

    def values(self) -> Any:
        """Return the values."""
        self._write()
        return dict.values(self)

    def copy(self) -> dict[str, Any]:
        """Return a plain dict."""
        return dict(self.items())

    def pop(self, *args: Any) -> Any:
        """Remove a key and return its value."""
        self._write()
        return super().pop(*args)

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last item."""
        self._write()
        return dict.popitem(self)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, which is set to the default if it is missing."""
        if key in self:
            return self[key]
        return dict.setdefault(self, key, default)

    def __eq__(self, other: object) -> bool:
        """Compare by value; arrays compare as a whole."""
        if not isinstance(other, dict) or other.keys() != self.keys():
            return False
        return all(np.array_equal(value, other[key]) for key, value in self.items())

    def __ne__(self, other: object) -> bool:
        """Tell whether the views differ."""
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        """Return a plain dict of both."""
        return {**self.copy(), **other}

    def __ror__(self, other: Any) -> Any:
        """Return a plain dict of both."""
        return {**other, **self.copy()}

    def __repr__(self) -> str:
        """Show the text too."""
        return repr(self.copy())

    def __reduce__(self) -> Any:
        """Copy and pickle with the text written."""
        return LazyViews, (self.copy(),)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle with the text written."""
        return LazyViews, (self.copy(),)


def is_native(world: World[Any, Any], wording: str) -> bool:
    """Tell whether a wording is the native one.

    Raises:
        ConfigError: If there is no such wording, or this world does not have it.
    """
    if wording not in WORDINGS:
        raise ConfigError(f"unknown wording {wording!r}; {suggest(wording, WORDINGS)}")
    if wording == "native" and not world.capabilities.native_text:
        raise ConfigError(f"{world.name} has no native wording; allowed: 'canonical'")
    return wording == "native"


class ObservationBuilder:
    """Builds the observations of one environment, and the space that they are in."""

    def __init__(self, world: World[Any, Any], style: ObservationStyle, actions: str) -> None:
        """Check the style.

        Raises:
            ConfigError: If a name is unknown or the world or the actions do not allow it.
        """
        if style.view not in VIEWS:
            raise ConfigError(f"unknown view {style.view!r}; {suggest(style.view, VIEWS)}")
        if style.mask not in MASKS:
            raise ConfigError(f"unknown mask {style.mask!r}; allowed: None (in the infos) or 'obs'")
        if style.mask is not None and actions != "discrete":
            raise ConfigError(f"masks are over discrete actions; mask=None with {actions!r} ones")
        self.native = is_native(world, style.wording)
        self.world = world
        self.view = style.view
        self.mask = style.mask
        self._tell = world.text_writer()

    def space(self) -> spaces.Space[Any]:
        """Return a new space object for one agent's observations."""
        text = TextSpace(self.world.text_length, min_length=0, charset=CHARSET)
        shown: spaces.Space[Any] = text
        if self.view == "vector":
            shown = self.world.vector_space
        elif self.view == "both":
            shown = spaces.Dict({"text": text, "vector": self.world.vector_space})
        if self.mask is None:
            return shown
        bits = spaces.Box(0, 1, (self.world.num_actions,), np.int8)
        return spaces.Dict({"observation": shown, "action_mask": bits})

    def renew(self) -> None:
        """Follow a change of the world's config."""
        self._tell = self.world.text_writer()

    def show(self, masks: Sequence[NDArray[np.int8]]) -> Sequence[Any]:
        """Return the observation of every agent now, in the order of the world's agents.

        Args:
            masks: The masks, which are part of the observations if ``mask="obs"``.
        """
        if self.view == "vector":
            shown: Sequence[Any] = self.world.vectors()
        else:
            shown = self._texts()
        if self.mask is None:
            return shown
        return [
            {"observation": observation, "action_mask": mask}
            for observation, mask in zip(shown, masks, strict=True)
        ]

    def _texts(self) -> Sequence[Any]:
        """Return texts, or both views with texts that are written when read."""
        world = self.world
        kept, tell = world.capture(), self._tell
        if self.native:
            kept = [world.native_text(i) for i in range(len(kept))]
            tell = say_as_is
        if self.view == "text":
            return [tell(entry, i) for i, entry in enumerate(kept)]
        vectors = world.vectors() if self.native else world.vectors(kept)
        return [
            LazyViews({"text": (tell, kept[i], i), "vector": vector})
            for i, vector in enumerate(vectors)
        ]
