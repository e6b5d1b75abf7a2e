"""The exceptions of piase_gym: one base class, one clear sentence each.

Every error that a user can cause derives from `PiaseError`. Its message names what is wrong and
what is allowed. Where Python has a close relative (`ValueError`, `LookupError`, ...), the error
derives from that too, so generic handlers keep working.
"""

from __future__ import annotations

import difflib
import importlib
import operator
import sys
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np


class PiaseError(Exception):
    """Base class of every error that piase_gym raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes, whatever `__init__` takes."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[PiaseError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> PiaseError:
    """Return an error that was pickled."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class UnknownNameError(PiaseError, LookupError):
    """A world, task, agent, policy or other name that is not registered."""

    def __init__(self, kind: str, name: object, known: Iterable[object]) -> None:
        """Say which `kind` of `name` is unknown and list (or suggest from) the `known` ones.

        Those that contain the name come first, such as the ids of a world.
        """
        part = str(name).lower()
        known = sorted(known, key=lambda item: part not in str(item).lower())
        where = ""
        processes = sys.modules.get("multiprocessing")
        if "id" in kind.split() and processes and processes.parent_process():
            where = " in a worker process, which knows what the modules that it imports register"
        super().__init__(f"unknown {kind} {name!r}{where}; {suggest(name, known)}")


class ConfigError(PiaseError, ValueError):
    """A configuration value that is unknown, of a wrong type, or out of range."""


class UnknownFieldError(ConfigError, TypeError):
    """A keyword or key that does not exist; a TypeError too, as for unknown arguments."""


class EnvelopeError(ConfigError):
    """A configuration that does not fit the envelope that fixed the spaces of an environment."""


class GenerationError(ConfigError):
    """A configuration from which no level can be made, such as one without a free cell."""


class ScenarioError(ConfigError):
    """A scenario that cannot be found or read."""


class CurriculumError(ConfigError):
    """A curriculum that cannot be found or read, or a part of one that makes no sense."""


class ProgressError(PiaseError, ValueError):
    """Progress in a curriculum that cannot be read, or that belongs to another curriculum."""


class ActionError(PiaseError, ValueError):
    """An action of a wrong type or out of range, or actions for the wrong set of agents."""


class AgentError(PiaseError, LookupError):
    """An agent that is not part of the environment, or that is no longer in play."""


class ResetNeededError(PiaseError, RuntimeError):
    """A step, or a question about the state, before `reset` or after the episode's end."""


class ClosedError(PiaseError, RuntimeError):
    """Any use of an environment after `close`."""


class SnapshotError(PiaseError, ValueError):
    """A snapshot of another world, version or shape, or one that is damaged."""


class MemoryFileError(PiaseError, ValueError):
    """A memory file that is damaged, has other sizes, or was written with another embedder."""


class RunError(PiaseError, ValueError):
    """A log that cannot be read or replayed; the message names the line and the reason."""


class LogWriteError(PiaseError, OSError):
    """A log that cannot be opened or written: it exists, is being written, or the disk is full."""


class TextParseError(PiaseError, ValueError):
    """A text that `parse_text` cannot read back into facts."""


class PluginError(PiaseError, RuntimeError):
    """A plug-in that cannot be loaded, or does not do what its kind of plug-in must."""


class LogSinkWarning(UserWarning):
    """A sink for the lines of a log has failed and is left out; the other sinks go on."""


class PluginWarning(UserWarning):
    """A plug-in that is skipped, and why."""


class UnsupportedError(PiaseError, RuntimeError):
    """Something that this world does not offer (its capabilities say what it does offer)."""


class UnfinishedError(PiaseError, TypeError):
    """An environment of one's own that lacks documented methods; the message names them."""


class OwnEnvironmentError(PiaseError, RuntimeError):
    """An environment of one's own that failed; ``fault`` has the reason and a message."""

    def __init__(self, message: str, fault: Any = None) -> None:
        """Keep the fault."""
        super().__init__(message)
        self.fault = fault


class CapacityError(PiaseError, RuntimeError):
    """There is no room for another one: as many are open as are allowed."""


class WindowError(PiaseError, RuntimeError):
    """A window that cannot be found, seen or driven.

    Attributes:
        reason: ``no_display``, ``no_window``, ``window_closed`` or ``stopped``.
    """

    def __init__(self, reason: str, message: str) -> None:
        """Keep the `reason` along with the sentence."""
        super().__init__(message)
        self.reason = reason


class SuiteError(ConfigError):
    """A suite, row or manifest of benchmarks that cannot be read or makes no sense."""


class PolicyError(PiaseError, ValueError):
    """A policy that cannot be used: of an unknown kind, for other spaces, or from a broken file."""


class ModelError(PiaseError, RuntimeError):
    """A language model that cannot be asked: no answer, a wrong key, a budget that is used up."""


class ProtocolError(PiaseError, ValueError):
    """Stored results that are of another protocol version or damaged."""


class TrainingError(PiaseError, RuntimeError):
    """Training that cannot begin, go on or be resumed; the message says what is kept."""


class StorageError(PiaseError, OSError):
    """Results that could not be written; the message says where, why and what is kept."""


class JobError(PiaseError, RuntimeError):
    """A job that raised, or that killed every worker that tried it.

    Attributes:
        job: Its name.
        reason: What went wrong, in one sentence.
        trace: The traceback of the exception that it raised, if there is one.
    """

    def __init__(self, job: str, reason: str, trace: str = "") -> None:
        """Name the job."""
        super().__init__(f"{job}: {reason}")
        self.job, self.reason, self.trace = job, reason, trace


class StoppedError(PiaseError, RuntimeError):
    """Jobs that the user has stopped; the message says how many are finished."""


class ClusterError(PiaseError, RuntimeError):
    """A cluster that cannot be found, or whose workers cannot give equal results."""


class MissingExtraError(PiaseError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, need: str, extra: str) -> None:
        """Name the `extra` that provides what `need` describes."""
        super().__init__(f"{need} needs an optional part: pip install 'piase-gym[{extra}]'")


def need(module: str, what: str, extra: str = "data") -> Any:
    """Import an optional library.

    Args:
        module: Its name.
        what: What needs it.
        extra: The extra that provides it.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(what, extra) from None


def require_known(kind: str, name: object, known: Collection[object]) -> None:
    """Raise `ConfigError` if `name` is none of the `known` names of a `kind`."""
    if name not in known:
        raise ConfigError(f"unknown {kind} {name!r}; {suggest(name, known)}")


def require_count(rule: str, value: Any, least: int = 1) -> int:
    """Return a count as an int; NumPy's integers are counts too.

    Args:
        rule: What is allowed, such as ``"steps is a positive integer"``.
        value: The count.
        least: The smallest that is allowed.

    Raises:
        ConfigError: If it is no integer, or less than `least`.
    """
    count = whole_number(value)
    if count is None or count < least:
        raise ConfigError(f"{rule}, not {value!r:.60}")
    return count


_BOOLEANS = (bool, np.bool_)


def whole_number(value: object) -> int | None:
    """Return an integer of any kind, such as NumPy's, as Python's; ``None`` for anything else.

    Booleans are none. NumPy before 2.3 counts with its own, and warns of it.
    """
    if isinstance(value, _BOOLEANS):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def printable(text: str) -> str:
    r"""Return a text as it is if it prints on one line, else with escapes such as ``\x85``."""
    return text if text.isprintable() else repr(text)[1:-1]


def suggest(name: object, known: Iterable[object]) -> str:
    """Return a hint such as ``did you mean 'empty'?``, or the list of what is allowed.

    Args:
        name: What the user wrote.
        known: What would have been allowed.

    Returns:
        A clause without a full stop; at most twenty names are listed.
    """
    names = [str(item) for item in known]
    if not names:
        return "there is none"
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.65)  # south is not north
    close = close or [item for item in names if str(name) in item.split()]
    shown = ", ".join(repr(item) for item in names[:20])
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}allowed: {shown}{more}"
