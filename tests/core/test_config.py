"""Configs and envelopes: checked once, explained in a sentence, changed by value."""

from __future__ import annotations

import json
import random
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from piase_gym import registry
from piase_gym.core.config import Envelope, WorldConfig, larger, require_fit
from piase_gym.errors import ConfigError, EnvelopeError, PiaseError
from piase_gym.worlds.grid_world.config import GridWorldConfig, GridWorldEnvelope


class ToyRewards(BaseModel):
    """A nested table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: float = 1.0
    move: float = 0.0


class ToyEnvelope(Envelope):
    """An envelope with a size of its own."""

    rooms: int = Field(1, ge=1)


class ToyConfig(WorldConfig):
    """A small config to test the shared part with."""

    world: ClassVar[str] = "Toy"
    agent_kind: ClassVar[str] = "toy"

    rooms: int = Field(3, ge=1, le=9)
    rewards: ToyRewards = ToyRewards()
    envelope: ToyEnvelope | None = None

    def sizes(self) -> ToyEnvelope:
        """Return this config's own sizes."""
        return ToyEnvelope(agents=self.agents, rooms=self.rooms)


# -- fields and aliases -------------------------------------------------------------------


@pytest.mark.parametrize("alias", ["max_steps", "max_cycles", "max_episode_steps"])
@pytest.mark.parametrize("config", [ToyConfig, GridWorldConfig])
def test_every_word_for_the_limit_of_steps(config: type[WorldConfig], alias: str) -> None:
    made = config(**{alias: 17})
    assert made.max_steps == 17
    assert made == config(max_steps=17)


@pytest.mark.parametrize("alias", ["max_cycles", "max_episode_steps"])
@pytest.mark.parametrize("world", registry.list_worlds())
def test_every_world_knows_the_words_for_its_limit(world: str, alias: str) -> None:
    spec = registry.world_spec(world)
    assert registry.load(spec.config, spec).plain({alias: 17}) == {"max_steps": 17}


@pytest.mark.parametrize("alias", ["max_cycles", "max_episode_steps"])
def test_an_alias_changes_a_limit_that_is_set(alias: str) -> None:
    assert ToyConfig(max_steps=50).changed({alias: 5}).max_steps == 5


def test_an_alias_beside_its_field_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"max_cycles.*max_steps|max_steps.*max_cycles"):
        ToyConfig(max_cycles=5, max_steps=50)


def test_grid_size_and_obstacles_of_grid_world() -> None:
    config = GridWorldConfig(grid_size=(9, 5), obstacles=[(1, 2), [3, 4]])
    assert (config.width, config.height) == (9, 5)
    assert config.walls == ((1, 2), (3, 4))
    assert config == GridWorldConfig(width=9, height=5, walls=[(1, 2), (3, 4)])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"grid_size": (9, 5), "width": 9}, ("grid_size", "width")),
        ({"grid_size": (9, 5), "height": 5}, ("grid_size", "height")),
        ({"obstacles": [], "walls": []}, ("obstacles", "walls")),
        ({"grid_size": 9}, ("grid_size", "(width, height)", "9")),
        ({"grid_size": (9,)}, ("grid_size", "(width, height)", "(9,)")),
        ({"grid_size": "ab"}, ("grid_size", "(width, height)", "'ab'")),
    ],
)
def test_wrong_uses_of_grid_world_aliases(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        GridWorldConfig(**fields)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"grid_size": (5, 6)}, {"width": 5, "height": 6}),
        ({"obstacles": [(0, 0)]}, {"walls": ((0, 0),)}),
    ],
)
def test_grid_world_aliases_change_fields_that_are_set(
    changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    config = GridWorldConfig(width=8, height=8, walls=[(1, 1)]).changed(changes)
    assert {name: getattr(config, name) for name in expected} == expected


# -- what errors say ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"romos": 3}, ("Toy", "'romos'", "did you mean 'rooms'?", "'max_steps'")),
        ({"zebra": 3}, ("Toy", "'zebra'", "allowed", "'rooms'", "'rewards'")),
        ({"rewards": {"gaol": 1}}, ("'rewards.gaol'", "did you mean 'goal'?", "'move'")),
        ({"rewards": {"goal": "much"}}, ("Toy.rewards.goal", "number", "'much'")),
        ({"envelope": {"romos": 1}}, ("'envelope.romos'", "did you mean 'rooms'?")),
        ({"rooms": 0}, ("Toy.rooms", "at least 1", "0")),
        ({"rooms": 10}, ("Toy.rooms", "at most 9", "10")),
        ({"rooms": "many"}, ("Toy.rooms", "integer", "'many'")),
        ({"rooms": None}, ("Toy.rooms", "integer", "None")),
        ({"rooms": 2.5}, ("Toy.rooms", "integer", "2.5")),
        ({"agents": 0}, ("Toy.agents", "1", "0")),
        ({"max_cycles": 0}, ("Toy.max_steps", "at least 1", "0")),
        ({"max_steps": 2**31}, ("Toy.max_steps", str(2**31 - 1), str(2**31))),
        ({"agent_ids": ("a", "a"), "agents": 2}, ("agent_ids", "differ", "a, a")),
        ({"agent_ids": ("a", "b")}, ("agent_ids", "2", "agents=1")),
        ({"agent_ids": ("a b",)}, ("agent_ids", "'a b'")),
        ({"agent_ids": ("x" * 41,)}, ("agent_ids", "40")),
        ({"agent_ids": ("",)}, ("agent_ids", "''")),
        ({"agent_ids": ("toy_1",), "agents": 2}, ("agent_ids", "'toy_1'", "two agents")),
        (
            {"agent_ids": ("toy_1",), "envelope": {"agents": 2}},
            ("agent_ids", "'toy_1'", "two agents"),
        ),
        ({"agent_ids": ("all",)}, ("agent_ids", "'all'")),
        ({"agent_ids": ("system",)}, ("agent_ids", "'system'")),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    fields: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        ToyConfig(**fields)
    assert [word for word in words if word not in str(caught.value)] == []
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize("unknown", [{}, {"romos": 1}])
def test_every_wrong_field_has_a_line(unknown: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        ToyConfig(rooms=99, agents=0, **unknown)
    assert len(str(caught.value).splitlines()) == 2 + len(unknown)
    assert isinstance(caught.value, TypeError) == bool(unknown)


def test_a_misspelt_choice_is_suggested() -> None:
    with pytest.raises(ConfigError, match=r"GridWorld\.layout.*did you mean 'four_rooms'"):
        GridWorldConfig(layout="four_room")


def test_long_values_are_shortened() -> None:
    with pytest.raises(ConfigError) as caught:
        ToyConfig(rooms="x" * 10_000)
    assert len(str(caught.value)) < 300


def test_a_config_is_frozen() -> None:
    config = ToyConfig()
    with pytest.raises(ValidationError):
        config.rooms = 4  # type: ignore[misc]
    assert config.rooms == 3


# -- names --------------------------------------------------------------------------------


def test_agents_are_named_by_kind_and_number() -> None:
    assert ToyConfig(agents=3).names() == ("toy_0", "toy_1", "toy_2")
    assert GridWorldConfig(agents=2).names(3) == ("agent_0", "agent_1", "agent_2")


def test_given_names_come_first() -> None:
    config = ToyConfig(agents=3, agent_ids=("Pia-1", "b.2"))
    assert config.names() == ("Pia-1", "b.2", "toy_2")
    assert config.names(1) == ("Pia-1",)


# -- changes ------------------------------------------------------------------------------


def test_changed_is_checked_like_a_new_config() -> None:
    config = ToyConfig(rooms=4, agents=2)
    assert config.changed({"rooms": 5}) == ToyConfig(rooms=5, agents=2)
    assert config.rooms == 4
    assert config.changed({}) == config
    with pytest.raises(ConfigError, match=r"Toy\.rooms"):
        config.changed({"rooms": 0})
    with pytest.raises(ConfigError, match="romos"):
        config.changed({"romos": 1})


@given(
    st.builds(ToyConfig, rooms=st.integers(1, 9), agents=st.integers(1, 5)),
    st.builds(ToyConfig, rooms=st.integers(1, 9), max_steps=st.integers(1, 5)),
)
def test_a_diff_is_json_and_turns_one_config_into_the_other(
    one: ToyConfig, other: ToyConfig
) -> None:
    diff = one.diff(other)
    assert json.loads(json.dumps(diff)) == diff
    assert one.changed(diff).model_dump() == other.model_dump()
    assert (diff == {}) == (one.model_dump() == other.model_dump())


def test_a_diff_holds_what_differs_and_nothing_else() -> None:
    one, other = GridWorldConfig(), GridWorldConfig(walls=[(1, 1)], rewards={"goal": 2.0})
    assert one.diff(one) == {}
    diff = one.diff(other)
    assert sorted(diff) == ["rewards", "walls"]
    assert diff["walls"] == [[1, 1]]
    assert diff["rewards"]["goal"] == 2.0


# -- envelopes ----------------------------------------------------------------------------

TOY_ENVELOPES = st.builds(ToyEnvelope, agents=st.integers(1, 9), rooms=st.integers(1, 9))


@given(TOY_ENVELOPES, TOY_ENVELOPES)
def test_a_union_is_the_smallest_envelope_that_holds_both(
    one: ToyEnvelope, other: ToyEnvelope
) -> None:
    union = one.union(other)
    assert union == other.union(one)
    assert union.excess(one) == union.excess(other) == []
    assert union.agents in (one.agents, other.agents)
    assert union.rooms in (one.rooms, other.rooms)
    assert one.union(one) == one


@given(TOY_ENVELOPES, TOY_ENVELOPES)
def test_excess_lists_what_is_too_large(one: ToyEnvelope, sizes: ToyEnvelope) -> None:
    too_large = [n for n in ("agents", "rooms") if getattr(sizes, n) > getattr(one, n)]
    assert [line.split()[0] for line in one.excess(sizes)] == too_large
    if too_large:
        with pytest.raises(EnvelopeError) as caught:
            require_fit("Toy", one, sizes)
        assert str(one.union(sizes).model_dump()) in str(caught.value)
    else:
        require_fit("Toy", one, sizes)


def test_excess_in_words() -> None:
    assert ToyEnvelope(rooms=2).excess(ToyEnvelope(rooms=5)) == ["rooms 5 (at most 2)"]


def test_the_default_envelope_is_the_configs_own_sizes() -> None:
    assert ToyConfig(agents=2, rooms=4).fixed_envelope() == ToyEnvelope(agents=2, rooms=4)
    sizes = GridWorldConfig(agents=2, width=9, height=5, window=3).fixed_envelope()
    assert sizes == GridWorldEnvelope(agents=2, width=9, height=5, window=3)


@pytest.mark.parametrize("given", [{"rooms": 7}, ToyEnvelope(rooms=7)])
def test_a_partial_envelope_is_filled_up_with_own_sizes(given: Any) -> None:
    config = ToyConfig(agents=2, rooms=4, envelope=given)
    assert config.fixed_envelope() == ToyEnvelope(agents=2, rooms=7)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rooms": 2}, ("rooms 4 (at most 2)", "'rooms': 4")),
        ({"rooms": 9, "agents": 1}, ("agents 2 (at most 1)", "'rooms': 9", "'agents': 2")),
    ],
)
def test_an_envelope_smaller_than_the_config_is_refused(
    given: dict[str, int], words: tuple[str, ...]
) -> None:
    with pytest.raises(EnvelopeError) as caught:
        ToyConfig(agents=2, rooms=4, envelope=given).fixed_envelope()
    assert all(word in str(caught.value) for word in words)


def test_pinned_writes_the_envelope_out() -> None:
    config = ToyConfig(rooms=4, envelope={"rooms": 7})
    pinned = config.pinned(config.fixed_envelope())
    assert pinned.envelope == ToyEnvelope(agents=1, rooms=7)
    assert pinned.fixed_envelope() == pinned.envelope
    smaller = pinned.changed({"rooms": 2})
    assert smaller.fixed_envelope() == pinned.envelope


ODD: list[Any] = [
    *(None, True, 0, 1, -1, 3, 10**12, 2**63, 10**30, 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "all", b"x", "\ud800", "S.G\n...", [], [0], (0, 0), [(0, 0), (1, 1)], [[0]]),
    *({}, {"a": 1}, {1: 2}, {"goal": 1e308}, range(3), set(), object()),
]


@pytest.mark.parametrize("name", ["GridWorld", "TextRoom", "PhysicsPlayground", "SocialDilemma"])
def test_configs_by_chance_are_made_or_refused_by_us(name: str) -> None:
    spec = registry.world_spec(name)
    names = list(registry.load(spec.config, spec).model_fields)
    rng, refused, longest = random.Random(0), 0, 0
    for _ in range(400):
        fields = {key: rng.choice(ODD) for key in rng.sample(names, rng.choice([1, 1, 2]))}
        try:
            registry.make_config(spec, fields).fixed_envelope()
        except PiaseError as error:
            longest = max(longest, len(str(error)))
            refused += 1
    assert refused > 100
    assert longest < 2500


def test_the_ends_of_what_is_allowed_are_allowed() -> None:
    config = ToyConfig(agents=2, agent_ids=("x" * 40, "b"), max_steps=2**31 - 1, rooms=9)
    assert config.names() == ("x" * 40, "b")
    assert config.max_steps == config.longest == 2**31 - 1


def test_a_larger_envelope_holds_both_and_keeps_the_config() -> None:
    config = ToyConfig(agents=2, rooms=4)
    more = larger(config, config.fixed_envelope(), {"rooms": 7})
    assert more.fixed_envelope() == ToyEnvelope(agents=2, rooms=7)
    assert (more.agents, more.rooms) == (2, 4)
    assert larger(more, more.fixed_envelope(), {"rooms": 5}).envelope.rooms == 7
    with pytest.raises(EnvelopeError, match=r"Toy: an envelope has no size 'romos'; did you mean"):
        larger(config, config.fixed_envelope(), {"romos": 7})
    with pytest.raises(EnvelopeError, match=r"Toy.rooms: .*at least 1"):
        larger(config, config.fixed_envelope(), {"rooms": 0})


def test_a_field_that_came_later_is_written_out_where_it_is_used() -> None:
    script = {"win_reward": 2.0}
    assert "script" not in ToyConfig().model_dump()
    assert ToyConfig().diff(ToyConfig(script=script))["script"]["win_reward"] == 2.0
    assert "script" in ToyConfig(script=script).model_dump()
    assert ToyConfig(script=script).diff(ToyConfig()) == {"script": None}
