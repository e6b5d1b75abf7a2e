"""Sentences of `agent_state_condition`, in the syntax of rule-engine; never `eval`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any


@functools.lru_cache(maxsize=256)
def _compiled(sentence: str) -> tuple[Any, tuple[str, ...]]:
    """Compile a sentence and list the names that it uses (rule-engine is imported here)."""
    import rule_engine

    asked: dict[str, None] = {}

    def note(name: str) -> Any:
        asked[name] = None
        return rule_engine.DataType.UNDEFINED

    rule_engine.Rule(sentence, context=rule_engine.Context(type_resolver=note))
    context = rule_engine.Context(resolver=rule_engine.resolve_item)
    return rule_engine.Rule(sentence, context=context), tuple(asked)


def problem_of(sentence: str) -> str | None:
    """Say what is wrong with a sentence, or return ``None``."""
    import rule_engine

    try:
        _compiled(sentence)
    except rule_engine.RuleSyntaxError as error:
        return f"syntax error at {str(error)[:80]!r}" if str(error) else "syntax error"
    except rule_engine.EngineError as error:
        return str(getattr(error, "message", error))[:80]
    return None


def symbols_of(sentence: str) -> tuple[str, ...]:
    """Return the names that a sentence uses."""
    return _compiled(sentence)[1]


def holds(sentence: str, values: Mapping[str, Any]) -> bool:
    """Tell whether a sentence holds; one that cannot be evaluated does not."""
    import rule_engine

    try:
        return bool(_compiled(sentence)[0].matches(dict(values)))
    except rule_engine.EngineError:
        return False
