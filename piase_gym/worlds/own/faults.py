"""The failures of environments of one's own, as values."""

from __future__ import annotations

import logging
from enum import StrEnum
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary


class Reason(StrEnum):
    """Why an episode ended prematurely (``info["fault"]["reason"]``)."""

    RAISED = "raised"  # an exception
    HUNG = "hung"  # no answer within the time that a call may take
    DIED = "died"  # its process is gone
    WRONG_TYPE = "wrong_type"  # an answer that is not of the documented type
    WRONG_SHAPE = "wrong_shape"  # an observation of another shape than the first one
    SPACES_CHANGED = "spaces_changed"  # other actions than at the beginning


class Fault(NamedTuple):
    """One failure.

    Attributes:
        reason: What kind of failure it is.
        message: What happened, in one line.
    """

    reason: Reason
    message: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fault in the form that infos and logs use."""
        return {"reason": str(self.reason), "message": self.message}


class FaultyError(Exception):
    """Carries a fault out of the code that found it."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Keep the fault."""
        super().__init__(message)
        self.fault = Fault(reason, " ".join(message.split())[:400])


MOST_LOGGED = 10
"""How many different faults of a class are logged."""
_logged: WeakKeyDictionary[type, set[Fault]] = WeakKeyDictionary()


def log_fault(kind: type, error: FaultyError) -> None:
    """Log a fault that ends an episode, with its traceback; each fault of a class once.

    The logger is `piase_gym` at the level WARNING, which Python shows unless told otherwise: who
    does not look at infos would not know why episodes are lost.

    Args:
        kind: The class of the environment.
        error: The fault.
    """
    known = _logged.setdefault(kind, set())
    if error.fault not in known and len(known) < MOST_LOGGED:
        known.add(error.fault)
        text = "%s failed (%s), and the episode is lost: %s"
        values = (kind.__name__, error.fault.reason, error.fault.message)
        logging.getLogger("piase_gym").warning(text, *values, exc_info=error.__cause__)


def wrong(what: str, given: object, allowed: str) -> FaultyError:
    """Return the error for something that is not of the documented type."""
    return FaultyError(Reason.WRONG_TYPE, f"{what} is {given!r:.80}, not {allowed}")
