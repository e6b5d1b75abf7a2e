"""Settings and partners as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from piase_gym.errors import (
    AgentError,
    ConfigError,
    UnsupportedError,
)
from piase_gym.play.settings import (
    _readings,
    read_pairs,
    read_partners,
    read_settings,
    read_value,
    split_pair,
    split_seat,
)
from tests import probes

probes.register()


@pytest.mark.parametrize(
    ("word", "seat", "policy"),
    [
        ("oracle", None, "oracle"),
        ("agent_1=oracle", "agent_1", "oracle"),
        ("=oracle", "", "oracle"),
        ("*=a=b", "*", "a=b"),
        ("sb3:runs/lr=0.1/model.zip", None, "sb3:runs/lr=0.1/model.zip"),
    ],
)
def test_a_seat_is_before_the_first_equals_sign(word: str, seat: Any, policy: str) -> None:
    assert split_seat(word) == (seat, policy)


def test_a_pair_has_a_key_and_a_value() -> None:
    assert split_pair(" a =b=c", "no {!r}") == ("a", "b=c")
    assert split_pair("a=", "no {!r}") == ("a", "")
    for text in ("a", "=b", " =b"):
        with pytest.raises(ConfigError, match=f"^no '{text}'$"):
            split_pair(text, "no {!r}")
    assert read_pairs(["b=1", "a="], "no {!r}") == {"b": "1", "a": ""}
    assert read_pairs(None, "no {!r}") == {}
    with pytest.raises(ConfigError, match="'a' is given twice: '1' and '2'"):
        read_pairs(["a=1", "b=1", "a=2"], "no {!r}")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["agents=1", "agents=2"], "the setting 'agents' is given twice"),
        (["rewards={}", "rewards.goal=1"], "'rewards' and 'rewards.goal' set the same in part"),
        (["rewards.goal=1", "rewards={}"], "'rewards.goal' and 'rewards' set the same in part"),
        (
            ["rewards.step=1", "rewards.goal=1", "rewards={}"],
            "'rewards.goal' and 'rewards' set the same in part",
        ),
        (["agents"], "'agents' is no setting; write key=value, such as max_steps=50"),
    ],
)
def test_settings_contradict_each_other(settings: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        read_settings("GridWorld", settings)


class Plan(BaseModel):
    """A config of its own."""

    name: str = ""
    size: int = Field(3, ge=1, le=9)


def test_words_are_read_as_far_as_a_field_takes_them() -> None:
    fields: dict[str, Any] = dict(Plan.model_fields)
    assert read_value("3", fields["size"]) == 3
    assert read_value("12", fields["size"]) == 12  # the config says what is wrong with it
    assert read_value("3", fields["name"]) == "3"
    assert read_value("none") is None
    assert read_value("(1, 2)") == (1, 2)
    assert read_value("a,b") == "a,b"
    assert list(_readings("a, b,")) == ["a, b,", ["a", "b"]]
    assert list(_readings("True")) == [True]
    assert list(_readings("true")) == [True]
    assert list(_readings("false")) == [False]
    assert list(_readings("None")) == [None, None, "None"]


def test_partners_have_a_seat_each() -> None:
    assert read_partners("GridWorld", None) is None
    assert read_partners("GridWorld", ["oracle"]) == {"*": "oracle"}
    assert read_partners("PointProbe", ["noop"]) == {"*": "noop"}
    found = read_partners("GridWorld", ["random", "agent_2=noop"])
    assert found == {"*": "random", "agent_2": "noop"}
    with pytest.raises(ConfigError, match="--partners names 'agent_2' twice"):
        read_partners("GridWorld", ["agent_2=noop", "agent_2=random"])
    with pytest.raises(ConfigError, match=r"--partners names '\*' twice"):
        read_partners("GridWorld", ["noop", "random"])
    with pytest.raises(AgentError, match="'=noop' names no agent; write agent_1=noop"):
        read_partners("GridWorld", ["=noop"])
    with pytest.raises(ConfigError, match="you are the only person here"):
        read_partners("GridWorld", ["human"])
    with pytest.raises(UnsupportedError, match="PointProbe has no oracle"):
        read_partners("PointProbe", ["oracle"])
