"""Texts to remember and queries for them, word for word as the explorer document forms them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from piase_gym.errors import ConfigError

_OWN = re.compile(r"\AAt position (.+?), I saw ")
_TOLD = re.compile(r"\bfound [^:;|]* at position ([(\[][^)\]]*[)\]]|[^\s,;|]*[^\s,;|.!?])")
_OTHERS = " | Context from others: "


def memory_text(
    position: Any,
    visible_objects: Sequence[str],
    action: Any,
    reason: str = "",
    messages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the text that an agent remembers of one step.

    Args:
        position: Where it was.
        visible_objects: What it saw.
        action: What it decided to do.
        reason: Why.
        messages: What others told it, as `Mailbox.poll` returns them.

    Raises:
        ConfigError: If the objects are one text, or the messages are no such mappings.

    Example:
        >>> told = {"sender": "Agent2", "recipient": "all", "message": "I found chair"}
        >>> memory_text(5, ["keyboard"], "forward", "explore", [told])
        "At position 5, I saw ['keyboard']. I decided to forward. Reason: explore | Context from \
others: Agent2: I found chair"
    """
    if isinstance(visible_objects, str):
        raise ConfigError(f"visible_objects are a list of names, not {visible_objects!r:.60}")
    text = (
        f"At position {position}, I saw {list(visible_objects)}. "
        f"I decided to {action}. Reason: {reason}"
    )
    if messages:
        try:
            words = "; ".join(f"{letter['sender']}: {letter['message']}" for letter in messages)
        except (TypeError, KeyError):
            text = f"messages are as Mailbox.poll returns them, not {messages!r:.100}"
            raise ConfigError(text) from None
        text += f"{_OTHERS}{words}"
    return text


def remembered_places(text: str) -> list[Any]:
    """Return the places that a memory says were looked at: the agent's own, and those of others.

    Example:
        >>> remembered_places("At position 5, I saw []. I decided to wait. Reason:  | Context from \
others: Agent2: I found chair at position [2, 3]")
        [5, [2, 3]]
    """
    own = _OWN.match(text)
    others = _TOLD.findall(text.partition(_OTHERS)[2])
    return [_read(place) for place in ([own[1]] if own else []) + others]


def _read(place: str) -> Any:
    """Return a place: a number or numbers, or a name."""
    try:
        return ast.literal_eval(place)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return place


def query_text(
    position: Any, visible_caption: str = "", visible_objects: Sequence[str] = ()
) -> str:
    """Return the query that an agent puts to its memory.

    Args:
        position: Where it is.
        visible_caption: What it sees in words; without it the objects are listed.
        visible_objects: What it sees.

    Example:
        >>> query_text(5, visible_objects=["keyboard", "chair"])
        'What do I know about position 5 with what I see: keyboard, chair?'
    """
    caption = visible_caption or ", ".join(map(str, visible_objects))
    return f"What do I know about position {position} with what I see: {caption}?"
