"""What tells one policy from another: a hash of its code and its state, equal in every process."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import secrets
from collections.abc import Mapping
from types import CodeType
from typing import Any

from piase_gym.agents import Agent
from piase_gym.core.digest import digest_json


def fingerprint(policy: object) -> str:
    """Return what tells a policy from others, equal in every process.

    Code counts as well as state. What cannot be looked into gets a number of its own, so its
    episodes are never taken for those of another policy, but also never found again.
    """
    try:
        return f"hash:{digest_json(_look_into(policy))}"
    except Exception:  # pickling can fail in any way
        return f"once:{secrets.token_hex(8)}"


def _look_into(policy: Any) -> list[Any]:
    """Return what a policy is made of, as JSON-able values."""
    if isinstance(policy, type):
        return [_methods(kind) for kind in policy.__mro__ if kind.__module__ != "builtins"]
    if inspect.isfunction(policy):
        cells = [cell.cell_contents for cell in policy.__closure__ or ()]
        kept = [policy.__defaults__, policy.__kwdefaults__, cells, _globals_of(policy)]
        return [policy.__qualname__, _code(policy.__code__), _pickled(kept)]
    if inspect.ismethod(policy):
        return [_look_into(policy.__func__), _look_into(policy.__self__)]
    if hasattr(policy, "predict") and hasattr(policy, "get_parameters"):
        return [type(policy).__qualname__, _tensors(policy.get_parameters())]
    state = policy.get_state() if isinstance(policy, Agent) else None
    return [_look_into(type(policy)), state, _pickled(policy)]


def _methods(kind: type) -> list[Any]:
    """Return the name and the methods' code of a class, without what it inherits."""
    methods = {k: v for k, v in vars(kind).items() if hasattr(v, "__code__")}
    return [kind.__qualname__, {k: _code(m.__code__) for k, m in sorted(methods.items())}]


def _globals_of(function: Any) -> dict[str, Any]:
    """Return the module-level values that a function reads, functions as their code."""
    found = {}
    for name in sorted(function.__code__.co_names):
        value = function.__globals__.get(name)
        if inspect.isfunction(value) and value is not function:
            found[name] = _code(value.__code__)
        elif value is not None and not inspect.ismodule(value) and not callable(value):
            found[name] = value
    return found


def _code(code: CodeType) -> list[Any]:
    """Return a function's instructions and constants, without line numbers."""
    inner = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), inner]


def _pickled(value: Any) -> str:
    """Hash the pickle of a value."""
    return hashlib.sha256(pickle.dumps(value)).hexdigest()


def _tensors(value: Any) -> Any:
    """Hash the numbers of nested dicts of tensors."""
    if isinstance(value, Mapping):
        return {str(key): _tensors(part) for key, part in value.items()}
    if hasattr(value, "detach"):
        return hashlib.sha256(value.detach().cpu().numpy().tobytes()).hexdigest()
    return repr(value)
