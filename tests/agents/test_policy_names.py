"""Policies are named, checked and listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym.agents import NoopAgent, RandomAgent, make_agent
from piase_gym.agents import policy_registry as registry
from piase_gym.errors import ConfigError, PolicyError, UnknownNameError
from tests import probes

probes.register()


class Nameless(NoopAgent):
    """An agent that is in no registry."""


def test_policies_that_data_may_not_name() -> None:
    assert registry.names_file("sb3:x.zip")
    assert registry.names_file("population:noop, ppo:x.zip")
    assert not registry.names_file("sb3")
    assert not registry.names_file("population:noop,random")
    assert registry.why_untrusted("noop") is None
    assert str(registry.why_untrusted("ppo:x.zip")).startswith("load 'ppo:x.zip', for that may run")
    assert str(registry.why_untrusted("llm:m")).startswith("ask 'llm:m', for that costs and tells")


def test_policies_are_checked_without_being_made(tmp_path: Path) -> None:
    check = registry.check_policy
    assert check("noop") == "noop"
    assert check("sb3:none.zip") == "sb3:none.zip"
    with pytest.raises(PolicyError, match=r"there is no model 'none\.zip'"):
        check("sb3:none.zip", files=True)
    with pytest.raises(PolicyError, match=r"there is no model 'none\.zip'"):
        check("population:noop,sb3:none.zip", files=True)
    model = tmp_path / "model.zip"
    model.write_bytes(b"x")
    assert check(f"sb3:{model}", files=True)
    for wrong in ("sb3:", "nop", "sb4:x", "population:noop,nop"):
        with pytest.raises(UnknownNameError):
            check(wrong)
    assert registry.policy_name(NoopAgent()) == "noop"
    assert registry.policy_name(Nameless()) is None
    assert make_agent(agent := NoopAgent()) is agent
    for unknown in (3, "nop"):
        with pytest.raises(UnknownNameError):
            make_agent(unknown)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="is not asked, for it is named in data of others"):
        make_agent("llm:m@http://127.0.0.1:1/v1", trusted=False)
    with pytest.raises(UnknownNameError, match="did you mean 'best_response:grudger'"):
        check("best_response:grudge")


def test_a_class_or_a_function_is_no_policy() -> None:
    given: Any = RandomAgent
    with pytest.raises(ConfigError, match=r"not the class; give RandomAgent\(\)"):
        make_agent(given)
    given = print
    with pytest.raises(ConfigError, match="a name or an Agent object, not a function"):
        make_agent(given)
