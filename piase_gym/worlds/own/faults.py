"""The failures of environments of one's own, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple


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


def wrong(what: str, given: object, allowed: str) -> FaultyError:
    """Return the error for something that is not of the documented type."""
    return FaultyError(Reason.WRONG_TYPE, f"{what} is {given!r:.80}, not {allowed}")
