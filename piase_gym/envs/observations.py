"""How an env shows a world: the views and their spaces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory
from numpy.typing import NDArray

from piase_gym.core.last_step import LINE_LENGTH
from piase_gym.core.text_encoding import CHARSET
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, require_known

View = Literal["both", "vector", "text"]
VIEWS = ("both", "vector", "text")
MASKS = (None, "obs")
WORDINGS = ("canonical", "native")
TEXTS = ("eager", "lazy")
INFOS = ("full", "mask", "none")
DTYPES = (None, "float32")
Build = Callable[[Sequence[NDArray[np.int8]], Collection[int]], Mapping[int, Any] | Sequence[Any]]
"""Builds the present observations; see `ObservationBuilder.build`."""


@dataclass(frozen=True)
class ObservationStyle:
    """How an environment shows a world.

    Attributes:
        view: ``both``, ``vector`` or ``text``.
        mask: Where masks are: ``None`` for the infos, or ``obs``.
        wording: The dialect of texts: ``canonical``, or ``native`` where the world has it.
        texts: When ``both`` writes texts: ``eager`` (at each step), or ``lazy`` (when read).
        infos: What infos have: ``full``, ``mask`` (the same key in every call) or ``none``.
        dtype: The type of vectors: ``None`` for the world's own, or ``float32``.
    """

    view: str = "both"
    mask: str | None = None
    wording: str = "canonical"
    texts: str = "eager"
    infos: str = "full"
    dtype: str | None = None

    def check(self) -> None:
        """Raise `ConfigError` if a name is unknown, or two do not go together."""
        require_known("view", self.view, VIEWS)
        if self.mask not in MASKS:
            raise ConfigError(f"unknown mask {self.mask!r}; allowed: None (in the infos) or 'obs'")
        require_known("texts", self.texts, TEXTS)
        if self.texts == "lazy" and self.view != "both":
            raise ConfigError(f"texts='lazy' is for view='both', not for {self.view!r}")
        require_known("infos", self.infos, INFOS)
        if self.dtype not in DTYPES:
            raise ConfigError(
                f"unknown dtype {self.dtype!r}; allowed: None (the world's own) or 'float32'"
            )

    def vector_space(self, own: spaces.Box) -> spaces.Box:
        """Return the space of vectors, from the world's own."""
        if self.dtype is None:
            return own
        return spaces.Box(own.low.astype(self.dtype), own.high.astype(self.dtype), dtype=np.float32)

    @property
    def full(self) -> bool:
        """Whether infos are complete."""
        return self.infos == "full"

    @property
    def tells_masks(self) -> bool:
        """Whether infos have masks, where there are any."""
        return self.infos != "none"

    @property
    def needs_masks(self) -> bool:
        """Whether masks are shown anywhere."""
        return self.tells_masks or self.mask is not None


class NoShape:
    """Stands for the shape that texts do not have: whoever wants one is told what to do."""

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
        """Return False, like ``None``."""
        return False

    def __repr__(self) -> str:
        """Return what Gymnasium shows here."""
        return "None"


class TextSpace(spaces.Text):
    """A Text space with a shape that tells learners to use another view, before they fail on it."""

    @property
    def shape(self) -> Any:
        """A stand-in, because texts have no shape."""
        return NoShape()


@create_shared_memory.register(TextSpace)
def _refuse_shared_memory(space: TextSpace, n: int = 1, ctx: object = None) -> NoReturn:
    """Refuse what Gymnasium would do: show other characters, which no step changes."""
    raise ConfigError(
        "texts do not pass through the shared memory of AsyncVectorEnv; make it with "
        "shared_memory=False, in make_vec by vector_kwargs={'shared_memory': False}"
    )


if TYPE_CHECKING:
    _Dict = dict[str, Any]
else:

    class _Dict(MutableMapping, dict):
        """A dict with methods that use `__getitem__` and `__iter__`, unlike those of dict."""

        __slots__ = ()
        __setitem__, __delitem__ = dict.__setitem__, dict.__delitem__
        __contains__, __len__ = dict.__contains__, dict.__len__


class LazyViews(_Dict):
    """``{"text": ..., "vector": ...}`` with a text that is written when it is first read.

    Python sees a dict with the text of the moment at which the dict was made. C code that looks
    into dicts directly (orjson) does not: pass it ``dict(views)``. Until the text is read, the key
    ``text`` holds a tuple (line of the last step, writer, what was kept, agent).
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        """Return the text or the vector."""
        value = dict.__getitem__(self, key)
        if type(value) is tuple:
            line, write, kept, agent = value
            value = line + write(kept, agent)
            dict.__setitem__(self, key, value)
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys (not as a dict does, so that ``dict(views)`` reads each item)."""
        return dict.__iter__(self)

    def copy(self) -> dict[str, Any]:
        """Return a plain dict."""
        return dict(self)

    def __eq__(self, other: object) -> bool:
        """Compare as plain dicts do."""
        return dict(self) == (dict(other) if isinstance(other, LazyViews) else other)

    def __ne__(self, other: object) -> bool:
        """Compare as plain dicts do."""
        return dict(self) != (dict(other) if isinstance(other, LazyViews) else other)

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        """Return a plain dict of both."""
        return dict(self) | other

    def __ror__(self, other: Any) -> Any:
        """Return a plain dict of both."""
        return other | dict(self)

    def __repr__(self) -> str:
        """Show the text too."""
        return repr(dict(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copy and pickle as a plain dict."""
        return dict, (dict(self),)


def is_native(world: World[Any, Any], wording: str) -> bool:
    """Return whether a wording is the native one.

    Raises:
        ConfigError: If there is no such wording, or this world does not have it.
    """
    require_known("wording", wording, WORDINGS)
    if wording == "native" and not world.capabilities.native_text:
        raise ConfigError(f"{world.name} has no native wording; allowed: 'canonical'")
    return wording == "native"


def open_masks(masks: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return masks in which one that allows nothing, of an agent that has ended, allows all.

    Learners draw an action from it nevertheless, which is ignored: where the next step resets, and
    where agents that have ended are kept.
    """
    return [mask if mask.any() else np.ones_like(mask) for mask in masks]


def absent_observation(space: spaces.Space[Any]) -> Any:
    """Return the observation of an agent that is not in play; it is in the observation space."""
    if isinstance(space, spaces.Dict):
        return {
            key: np.ones(part.shape, part.dtype)
            if key == "action_mask"
            else absent_observation(part)
            for key, part in space.items()
        }
    if isinstance(space, spaces.Text):
        return ""
    zeros: NDArray[Any] = np.zeros(space.shape or (), space.dtype)
    return np.clip(zeros, space.low, space.high) if isinstance(space, spaces.Box) else zeros


class ObservationBuilder:
    """Builds the observations of one environment, and the space that they are in."""

    def __init__(self, world: World[Any, Any], style: ObservationStyle, actions: str) -> None:
        """Check the style.

        Raises:
            ConfigError: If a name is unknown or the world or the actions do not allow it.
        """
        style.check()
        if style.mask is not None and actions != "discrete":
            raise ConfigError(f"masks are over discrete actions; mask=None with {actions!r} ones")
        if (style.mask is not None or style.infos == "mask") and not world.capabilities.masks:
            raise ConfigError(
                f"{world.name} does not tell which actions are legal; allowed: mask=None, and "
                "infos other than 'mask'"
            )
        self.native = is_native(world, style.wording)
        if world.shows_native != self.native:  # attributes are kept few; see `ArrayWorld`
            world.shows_native = self.native
        self.lazy = style.texts == "lazy"
        self.world = world
        self.view = style.view
        self.mask = style.mask
        self.style = style
        self._write, self._config = world.text_writer(), world.config

    def space(self) -> spaces.Space[Any]:
        """Return a new space object for one agent's observations."""
        longest = self.world.text_length + LINE_LENGTH
        text = TextSpace(longest, min_length=0, charset=CHARSET)
        vector = self.style.vector_space(self.world.vector_space)
        shown: spaces.Space[Any] = text
        if self.view == "vector":
            shown = vector
        elif self.view == "both":
            shown = spaces.Dict({"text": text, "vector": vector})
        if self.mask is None:
            return shown
        bits = spaces.Box(0, 1, (self.world.num_actions,), np.int8)
        return spaces.Dict({"observation": shown, "action_mask": bits})

    def _writer(self) -> Callable[[Any, int], str]:
        """Return what writes texts under the world's config, which may change at any step."""
        if self.world.config is not self._config:
            self._write, self._config = self.world.text_writer(), self.world.config
        return self._write

    def _vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return every agent's vector, in the wanted type."""
        vectors = self.world.vectors(kept)
        if self.style.dtype is None:
            return vectors
        return [vector.astype(self.style.dtype) for vector in vectors]

    def _lines(self) -> list[str]:
        """Return the line of every agent's last step; empty where there is none."""
        if not self.world.tells_last_step:
            return [""] * len(self.world.agents)
        return [last.line if last is not None else "" for last in self.world.last_steps()]

    def chosen(self) -> Build:
        """Return the function that builds observations of this style: `build`, or a faster one."""
        texts_alone = self.view == "text" and not self.native and self.mask is None
        return self._texts if texts_alone else self.build

    def _texts(
        self, masks: Sequence[NDArray[np.int8]], agents: Collection[int]
    ) -> Mapping[int, str]:
        """Return the present texts, by agent number."""
        world, write, shown = self.world, self._writer(), {}
        kept = world.capture()
        last = world.last_steps() if world.tells_last_step else ()
        for i in agents:
            previous = last[i] if last else None
            text = write(kept[i], i)
            shown[i] = text if previous is None else previous.line + text
        return shown

    def build(
        self, masks: Sequence[NDArray[np.int8]], agents: Collection[int]
    ) -> Mapping[int, Any] | Sequence[Any]:
        """Return the present observations, by agent number.

        Args:
            masks: The masks, which are part of the observations if ``mask="obs"``.
            agents: The agents that need observations; those of others may be missing.
        """
        world = self.world
        shown: Mapping[int, Any] | Sequence[Any]
        if self.view == "vector":
            shown = self._vectors()
        elif self.view == "text" and not self.native:
            shown = self._texts(masks, agents)
        elif self.native:
            shown = {i: world.native_text(i) for i in agents}
            if self.view == "both":
                vectors = self._vectors()
                shown = {i: {"text": shown[i], "vector": vectors[i]} for i in agents}
        else:
            kept, write = world.capture(), self._writer()
            vectors, lines = self._vectors(kept), self._lines()
            if self.lazy:
                rows = {
                    i: {"text": (lines[i], write, kept[i], i), "vector": vectors[i]} for i in agents
                }
                shown = {i: LazyViews(row) for i, row in rows.items()}
            else:
                shown = {
                    i: {"text": lines[i] + write(kept[i], i), "vector": vectors[i]} for i in agents
                }
        if self.mask is None:
            return shown
        return {i: {"observation": shown[i], "action_mask": masks[i]} for i in agents}
