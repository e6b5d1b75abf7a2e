"""Model archives of Stable-Baselines3, read as data: nothing in them is run.

An archive keeps the classes and spaces of its policy as pickles. Those are read here into a tree of
names, arguments and states, from which the few things that an ordinary policy needs are built:
spaces, policy classes of Stable-Baselines3 and sb3-contrib, our feature extractors, activations and
optimisers of torch. Weights are loaded as weights alone. Whatever else an archive needs is
`Foreign`.
"""

from __future__ import annotations

import base64
import importlib
import io
import itertools
import json
import pickle
import pickletools
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.errors import PolicyError

if TYPE_CHECKING:
    import torch

CARD = "piase.json"
"""Name of the file in a model's archive in which `piase train` says how the network is built."""
WEIGHTS = "policy.pth"
LARGEST = 1 << 30
"""Bytes of the largest archive, and of the largest weights in one."""
LARGEST_DATA = 1 << 25
"""Bytes of the largest description of a policy."""

_CLASSES = (
    "stable_baselines3.",
    "sb3_contrib.",
    "piase_gym.adapters.encoders",
    "torch.nn.modules.activation",
    "torch.optim",
)
"""Prefixes of the modules whose classes may be named."""
_NUMBERS = re.compile(r"[biuf][1248]")


class Foreign(Exception):
    """An archive needs something that is built only by unpickling it; the message names it."""


def require_file(path: Path) -> None:
    """Check that there is a regular file of an allowed size, without opening it.

    Raises:
        PolicyError: If there is not.
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        raise PolicyError(f"there is no model {str(path)!r}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
        raise PolicyError(f"{path} holds no model that can be loaded: it is {kind}, not a file")
    if found.st_size > LARGEST:
        raise PolicyError(
            f"{path} holds no model that can be loaded: it has {found.st_size:,} bytes; "
            f"allowed are {LARGEST:,}"
        )


class Archive:
    """The parts of a model's archive that playing needs.

    Attributes:
        card: What `piase train` says about the network, or ``None``.
        data: What Stable-Baselines3 says about the model, with pickles undecoded.
        weights: The parameters by name.
    """

    def __init__(self, file: Path | io.BytesIO) -> None:
        """Read the parts.

        Raises:
            PolicyError: If a part is too large.
        """
        import torch

        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            self.card = _json(archive, CARD) if CARD in names else None
            self.data = _json(archive, "data") if self.card is None else {}
            weights = io.BytesIO(_member(archive, WEIGHTS, LARGEST))
        if zipfile.is_zipfile(weights):
            with zipfile.ZipFile(weights) as inner:
                _require_size(WEIGHTS, sum(part.file_size for part in inner.infolist()), LARGEST)
        weights.seek(0)
        self.weights: dict[str, torch.Tensor] = torch.load(
            weights, map_location="cpu", weights_only=True
        )

    def policy(self) -> tuple[Any, spaces.Space[Any], spaces.Space[Any], dict[str, Any]]:
        """Return the class, the observation and action space, and the arguments of the policy.

        Raises:
            Foreign: If they cannot be built without unpickling.
        """
        kind = _class_of(self._entry("policy_class"))
        seen, acts = (space_of(self._entry(f"{name}_space")) for name in ("observation", "action"))
        return kind, seen, acts, _plain(self._entry("policy_kwargs"))

    def require_room(self, acts: spaces.Space[Any], arguments: Any) -> None:
        """Check that no layer can be larger than the weights that are there.

        Raises:
            PolicyError: If one is.
        """
        count = sum(values.numel() for values in self.weights.values())
        wanted = [int(acts.n)] if isinstance(acts, spaces.Discrete) else []
        if max([*wanted, *_products(arguments)], default=0) > count:
            raise PolicyError(f"its layers are larger than its {count:,} weights")

    def _entry(self, name: str) -> Any:
        """Return an entry of `data`, decoded."""
        entry = self.data.get(name)
        if isinstance(entry, dict) and ":serialized:" in entry:
            return inert(base64.b64decode(entry[":serialized:"]))
        return entry


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """Return a JSON object in an archive."""
    found = json.loads(_member(archive, name, LARGEST_DATA))
    if not isinstance(found, dict):
        raise PolicyError(f"its {name} is not an object")
    return found


def _member(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    """Return a file of an archive."""
    _require_size(name, archive.getinfo(name).file_size, largest)
    return archive.read(name)


def _require_size(name: str, size: int, largest: int) -> None:
    """Raise `PolicyError` if a file of an archive is too large."""
    if size > largest:
        raise PolicyError(f"its {name} would have {size:,} bytes; allowed are {largest:,}")


def _products(arguments: Any) -> list[int]:
    """Return the whole numbers in nested arguments, and the products of neighbours in lists."""
    if isinstance(arguments, Mapping):
        return [number for part in arguments.values() for number in _products(part)]
    if isinstance(arguments, list | tuple):
        widths = [part for part in arguments if isinstance(part, int)]
        pairs = [one * two for one, two in itertools.pairwise(widths)]
        return pairs + [number for part in arguments for number in _products(part)]
    return [arguments] if isinstance(arguments, int) else []


# -- pickles as data ----------------------------------------------------------------------


class UnbuiltObject:
    """What a pickle would have made: the name of its class, arguments and state."""

    origin: tuple[str, str] = ("", "")
    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any, **_: Any) -> UnbuiltObject:
        """Keep the arguments."""
        made = object.__new__(cls)
        made.args, made.state = args, None
        return made

    def __setstate__(self, state: Any) -> None:
        """Keep the state."""
        self.state = state


class _Reader(pickle.Unpickler):
    """Reads a pickle, with an `UnbuiltObject` class in place of everything that it names."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that only keeps what it is given."""
        return type("Named", (UnbuiltObject,), {"origin": (module, name)})


def inert(content: bytes) -> Any:
    """Return a pickle as plain values and `UnbuiltObject` ones.

    Raises:
        PolicyError: If it is damaged.
    """
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if "PUT" in opcode.name and int(argument or 0) > len(content):
                raise ValueError("a place in its memory is out of range")  # it would be allocated
        return _Reader(io.BytesIO(content)).load()
    except Exception as error:  # damaged pickles fail in any way
        raise PolicyError(f"a part of its data is damaged: {error!s:.100}") from None


def _origin(value: Any) -> tuple[str, str]:
    """Return the class or function that a value stands for, or was made by."""
    return value.origin if isinstance(value, UnbuiltObject) else ("", type(value).__name__)


def _foreign(value: Any) -> Foreign:
    """Return the error for a value that cannot be built."""
    kind = value if isinstance(value, type) else type(value)
    module, name = getattr(kind, "origin", (kind.__module__, kind.__name__))
    return Foreign(f"{module}.{name}")


def _class_of(value: Any) -> Any:
    """Return the class that a value names, if it is one that policies are made of."""
    module, name = getattr(value, "origin", ("", "")) if isinstance(value, type) else ("", "")
    if not module.startswith(_CLASSES):
        raise _foreign(value)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise _foreign(value) from None
    if not isinstance(found, type):
        raise _foreign(value)
    return found


def _plain(value: Any) -> Any:
    """Return arguments of a policy: plain values and classes."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(part) for part in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return _class_of(value)


def space_of(value: Any) -> spaces.Space[Any]:
    """Return the Box or Discrete space that a value stands for.

    Raises:
        Foreign: If it is another space.
    """
    origin, state = _origin(value), getattr(value, "state", None)
    if isinstance(state, dict) and origin == ("gymnasium.spaces.discrete", "Discrete"):
        return spaces.Discrete(int(_array(state["n"])), start=int(_array(state.get("start", 0))))
    if isinstance(state, dict) and origin == ("gymnasium.spaces.box", "Box"):
        low, high = _array(state["low"]), _array(state["high"])
        return spaces.Box(low, high, dtype=low.dtype.type)
    raise _foreign(value)


def _array(value: Any) -> NDArray[Any]:
    """Return the array, or the number, that a value stands for."""
    if isinstance(value, bool | int | float):
        return np.array(value)
    module, name = _origin(value)
    args: tuple[Any, ...] = getattr(value, "args", ())
    if module.startswith(("numpy.core.", "numpy._core.")):
        if name == "_frombuffer":
            return _numbers(args[0], args[1], args[2], args[3])
        if name == "_reconstruct":
            _, shape, dtype, fortran, raw = value.state
            return _numbers(raw, dtype, shape, "F" if fortran else "C")
        if name == "scalar":
            return _numbers(args[1], args[0], (), "C")
    raise _foreign(value)


def _numbers(raw: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
    """Return an array from its bytes."""
    name, ends = str(dtype.args[0]), str(dtype.state[1])
    if _origin(dtype) != ("numpy", "dtype") or not _NUMBERS.fullmatch(name):
        raise _foreign(dtype)
    kind = np.dtype(name).newbyteorder(">" if ends == ">" else "<")
    found = np.frombuffer(bytes(raw), kind).reshape(shape, order="F" if order == "F" else "C")
    return found.astype(kind.newbyteorder("="))
