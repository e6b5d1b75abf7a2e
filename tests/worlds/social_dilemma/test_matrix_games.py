"""The matrix games of SocialDilemma: kernels against a slow reference, views, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import testing
from piase_gym.compiled.draws import in_32_bits
from piase_gym.core.rng import Stream
from piase_gym.errors import ActionError, ConfigError, EnvelopeError, SnapshotError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.games import BIMATRICES, MATRIX_GAMES
from piase_gym.worlds.social_dilemma.manual import matrix_manual
from tests.worlds.social_dilemma.batches import require_same_play
from tests.worlds.social_dilemma.reference_matrix_games import SlowGame

CASES: list[dict[str, Any]] = [
    {"game": "prisoners_dilemma", "rounds": 7},
    {"game": "stag_hunt", "rounds": 70, "memory": 32},
    {"game": "chicken", "rounds": 5, "noise": 0.25, "symbols": 3, "talk": 1},
    {"game": "battle_of_the_sexes", "horizon": "geometric", "rounds": 9, "noise": 0.1},
    {"game": "matching_pennies", "rounds": 1},
    {"game": "prisoners_dilemma", "payoffs": [[(1, 2), (3, 4)], [(5, 6), (7, 8)]], "memory": 9},
    {"game": "public_goods", "agents": 3, "multiplier": 1.7, "reputation": True},
    {"game": "public_goods", "agents": 9, "symbols": 2, "shared_reward": True, "noise": 0.4},
    {"game": "volunteers_dilemma", "agents": 5, "rounds": 20, "max_steps": 12, "memory": 8},
    {"game": "volunteers_dilemma", "agents": 2, "benefit": 4, "cost": 3, "talk": 2, "symbols": 1},
    {"game": "public_goods", "agents": 3, "payoffs": [[0, 1, 2], [3, 4, 5.5]], "memory": 2},
]


def slow_of(config: Any, seed: int) -> SlowGame:
    """Return the reference's episode of a config."""
    names = "game agents noise symbols talk max_steps payoffs multiplier benefit cost"
    fields = {name: getattr(config, name) for name in names.split()}
    geometric = config.horizon == "geometric"
    return SlowGame(
        seed, rounds=config.length, geometric=geometric, shared=config.shared_reward, **fields
    )


def require_same(env: Any, slow: SlowGame) -> None:
    """Compare what agents know with the reference."""
    count = slow.agents
    for agent, name in enumerate(env.possible_agents):
        facts = env.facts(name)
        past = slow.history[::-1][: env.config.memory]
        giving = [choices.count(0) for choices in past]
        expected = tuple(
            (choices[agent] == 0, total - (choices[agent] == 0))
            for choices, total in zip(past, giving, strict=True)
        )
        mine = [choices[agent] for choices in slow.history].count(0)
        everyone = sum(choices.count(0) for choices in slow.history)
        assert facts.history == expected
        assert (facts.played, facts.talk) == (len(slow.history), slow.wait)
        assert (facts.cooperated, facts.others_cooperated) == (mine, everyone - mine)
        assert facts.score == pytest.approx(slow.scores[agent], abs=1e-6)
        others = [other for other in range(count) if other != agent]
        said = [(env.possible_agents[o], str(slow.said[o])) for o in others if slow.said[o]]
        assert [(letter.sender, letter.message) for letter in facts.messages] == said
        told = [
            (env.possible_agents[o], [choices[o] for choices in slow.history].count(0))
            for o in others
        ]
        assert list(facts.reputation) == (told if env.config.reputation else [])
        if count == 2:
            for choice in (0, 1):
                for other in (0, 1):
                    pair = [choice, other] if agent == 0 else [other, choice]
                    paid = slow.pay(pair)
                    assert facts.payoffs[choice][1 - other] == pytest.approx(paid[agent])
                    assert facts.their_payoffs[choice][1 - other] == pytest.approx(paid[1 - agent])


@pytest.mark.parametrize("fields", CASES)
def test_kernels_play_like_the_reference(fields: dict[str, Any]) -> None:
    env = piase_gym.parallel_env("SocialDilemma", **fields)
    dice, ends = Stream(5), set()
    for seed in range(25):
        env.reset(seed=seed)
        slow = slow_of(env.config, seed)
        for _ in range(80):
            if not env.agents:
                break
            acts = [dice.integer(env.world.num_actions) for _ in env.agents]
            rewards, terminated, truncated = env.step(dict(zip(env.agents, acts, strict=True)))[1:4]
            expected = slow.step([(act & 1, act >> 1) for act in acts])
            assert list(rewards.values()) == pytest.approx(expected, abs=1e-12)
            assert set(terminated.values()) == {slow.status == "over"}
            assert set(truncated.values()) == {slow.status == "late"}
            require_same(env, slow)
            ends.add(slow.status)
    assert ends & {"over", "late"}


@pytest.mark.parametrize("fields", CASES[1:8:2])
def test_a_batch_plays_like_single_environments(fields: dict[str, Any]) -> None:
    dice = Stream(8)
    require_same_play(fields, 5, 120, lambda env: dice.integer(env.world.num_actions))


KIT: list[tuple[dict[str, Any], list[str] | None]] = [
    ({}, None),
    (
        {
            "game": "public_goods",
            "agents": 3,
            "noise": 0.4,
            "symbols": 2,
            "talk": 1,
            "reputation": True,
            "rounds": 6,
            "horizon": "geometric",
            "envelope": {"agents": 5, "memory": 11},
        },
        None,
    ),
]


@pytest.mark.parametrize(("fields", "checks"), KIT)
def test_matrix_games_conform(fields: dict[str, Any], checks: list[str] | None) -> None:
    assert testing.check_world("SocialDilemma", checks=checks, **fields).ok


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rounds": 0}, "rounds"),
    ({"rounds": -3}, "rounds"),
    ({"rounds": 2.5}, "rounds"),
    ({"horizon": 0}, "horizon"),
    ({"horizon": "forever"}, "'fixed' or 'geometric'"),
    ({"continuation": 1.0}, "continuation"),
    ({"continuation": 0.5, "horizon": "fixed"}, "geometric"),
    ({"game": "prisoner_dilemma"}, "did you mean 'prisoners_dilemma'"),
    ({"game": None}, "game"),
    ({"agents": 3}, "a game of 2 agents, not of 3"),
    ({"agents": 1}, "agents"),
    ({"payoffs": [[1, 2], [3, math.nan]]}, "finite"),
    ({"payoffs": [[1, 2], [3, math.inf]]}, "finite"),
    ({"payoffs": [[1, 2], [3, 1e9]]}, "from -100000 to 100000"),
    ({"payoffs": [[1, 2, 3], [4, 5, 6]]}, r"\(2, 2\) or \(2, 2, 2\)"),
    ({"payoffs": [[1, 2], [3, (4, 5)]]}, "ragged"),
    ({"payoffs": [[1, 2]]}, r"\(2, 2\)"),
    ({"payoffs": [1, 2, 3, 4]}, "payoffs"),
    ({"payoffs": []}, "payoffs"),
    ({"payoffs": "R3S0T5P1"}, "payoffs"),
    ({"payoffs": [[["a", 1], [1, 1]], [[1, 1], [1, 1]]]}, "payoffs"),
    ({"payoffs": np.full((2, 2), np.nan)}, "finite"),
    ({"game": "public_goods", "agents": 3, "payoffs": [[1, 2], [3, 4]]}, r"\(2, 3\)"),
    ({"game": "public_goods", "agents": 33}, "agents"),
    ({"noise": 0.6}, "noise"),
    ({"noise": math.nan}, "noise"),
    ({"talk": 1}, "symbols"),
    ({"memory": 0}, "memory"),
    ({"multiplier": math.inf}, "multiplier"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG)
def test_bad_input_is_explained(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        piase_gym.parallel_env("SocialDilemma", **fields)
    assert len(str(caught.value)) < 700


def test_chances_are_numbers_of_32_bits() -> None:
    chances = (0.0, 2**-33, 2**-32, 0.25, 0.5, 1.0 - 2**-32, 1.0)
    assert [in_32_bits(chance) for chance in chances] == [
        *(0, 0, 1, 2**30, 2**31, 2**32 - 1, 2**32 - 1)
    ]


def test_payoffs_can_be_arrays_and_own_payoffs_of_a_symmetric_game() -> None:
    for table in (np.array([[3, 0], [5, 1]]), [[(3, 3), (0, 5)], [(5, 0), (1, 1)]]):
        env = piase_gym.parallel_env("SocialDilemma", payoffs=table)
        usual = piase_gym.parallel_env("SocialDilemma")
        assert env.config.profiles.tolist() == usual.config.profiles.tolist()


def test_games_of_one_envelope_follow_each_other() -> None:
    env = piase_gym.parallel_env("SocialDilemma", envelope={"agents": 4, "memory": 6})
    for game in MATRIX_GAMES:
        env.reconfigure({"game": game, "memory": 6})
        env.reset(seed=1)
        assert len(env.agents) == (2 if game in BIMATRICES else 4)
        observations = env.step(dict.fromkeys(env.agents, 0))[0]
        for name, view in observations.items():
            assert env.observation_space(name).contains(dict(view))
            read = piase_gym.parse_text("SocialDilemma", view["text"], env.config)
            assert read == env.facts(name)
    with pytest.raises(EnvelopeError, match="memory 7"):
        env.reconfigure({"memory": 7})


@given(
    st.sampled_from(sorted(BIMATRICES)),
    st.lists(st.floats(-1e5, 1e5), min_size=8, max_size=8),
    st.lists(st.integers(0, 3), min_size=0, max_size=24),
)
@settings(max_examples=40, deadline=None)
def test_any_table_of_payoffs_reads_back(game: str, numbers: list[float], acts: list[int]) -> None:
    table = np.array(numbers).reshape(2, 2, 2).tolist()
    env = piase_gym.parallel_env("SocialDilemma", game=game, payoffs=table, rounds=30)
    env.reset(seed=0)
    for act in acts:
        env.step({"agent_0": act & 1, "agent_1": act >> 1})
    for agent, name in enumerate(env.possible_agents):
        facts = env.facts(name)
        assert piase_gym.parse_text("SocialDilemma", env.world.text(facts), env.config) == facts
        np.testing.assert_array_equal(env.world.vector(facts), env.world.vectors()[agent])


@pytest.mark.parametrize("horizon", [{"rounds": 10_000}, {"continuation": 0.999}])
def test_long_games_read_back(horizon: dict[str, Any]) -> None:
    env = piase_gym.parallel_env("SocialDilemma", game="public_goods", max_steps=10_000, **horizon)
    env.reset(seed=3)
    for played in range(1, 200):
        env.step({name: (played >> a) & 1 for a, name in enumerate(env.agents)})
        if not env.agents:
            break
        if played % 20 == 0:
            for agent, name in enumerate(env.agents):
                facts = env.facts(name)
                text = env.world.text(facts)
                assert piase_gym.parse_text("SocialDilemma", text, env.config) == facts
                np.testing.assert_array_equal(env.world.vector(facts), env.world.vectors()[agent])
    assert played > 100


def test_indices_out_of_the_table_are_refused() -> None:
    env = piase_gym.parallel_env("SocialDilemma")
    env.reset(seed=0)
    with pytest.raises(ActionError, match="0 to 1"):
        env.step({"agent_0": 2, "agent_1": 0})
    assert env.facts("agent_0").played == 0


def test_who_cannot_be_read_defects() -> None:
    env = piase_gym.parallel_env("SocialDilemma", actions="text")
    env.reset(seed=0)
    _, rewards, _, _, infos = env.step({"agent_0": "sing", "agent_1": "cooperate"})
    assert rewards == {"agent_0": 5.0, "agent_1": 0.0}
    assert infos["agent_0"]["outcome"] == "unparsable"
    assert infos["agent_1"]["outcome"] == "ok"


def test_a_symbol_that_there_is_not_makes_a_silent_defection() -> None:
    sizes = {"agents": 2, "symbols": 2, "memory": 4}
    env = piase_gym.parallel_env("SocialDilemma", view="vector", symbols=1, envelope=sizes)
    env.reset(seed=0)
    assert [mask.tolist() for mask in env.world.masks()] == [[1, 1, 1, 1, 0, 0]] * 2
    infos = env.step({"agent_0": 4, "agent_1": 2})[-1]
    assert [info["outcome"] for info in infos.values()] == ["illegal", "ok"]
    assert env.facts("agent_0").history == ((False, 1),)
    assert env.facts("agent_1").messages == ()
    assert [letter.message for letter in env.facts("agent_0").messages] == ["1"]


def test_milestones_say_who_cooperated_and_when_all_did() -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector")
    env.reset(seed=0)
    both = {
        (0, 1): (["cooperated"], ["defected"]),
        (0, 0): (["all_cooperated"], ["cooperated", "all_cooperated"]),
        (1, 1): (["defected", "all_defected"], ["all_defected"]),
        (1, 0): (None, None),
    }
    for acts, told in both.items():
        infos = env.step(dict(zip(env.agents, acts, strict=True)))[-1]
        assert tuple(info.get("milestones") for info in infos.values()) == told


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ({"rounds": 3, "max_steps": 3}, (True, False, "ended")),
        ({"rounds": 9, "max_steps": 3}, (False, True, "lost")),
        ({"game": "harvest", "rounds": 3, "max_steps": 3}, (True, False, "ended")),
        ({"game": "harvest", "rounds": 9, "max_steps": 3}, (False, True, "lost")),
    ],
)
def test_the_last_round_ends_a_game_and_time_breaks_it_off(limits: Any, ends: Any) -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector", agents=2, **limits)
    env.reset(seed=0)
    for _ in range(3):
        _, _, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, 0))
    for name, info in infos.items():
        assert (terminated[name], truncated[name], info["result"]) == ends


@pytest.mark.parametrize("agents", [2, 3])
def test_nobody_looks_back_further_than_the_config_says(agents: int) -> None:
    game = {"game": "public_goods", "agents": agents, "memory": 2}
    sizes = {"agents": agents, "memory": 5}
    env = piase_gym.parallel_env("SocialDilemma", view="vector", envelope=sizes, **game)
    env.reset(seed=0)
    for choice in (0, 1, 1, 0):
        env.step(dict.fromkeys(env.agents, choice))
    for agent, name in enumerate(env.agents):
        facts = env.facts(name)
        assert [mine for mine, _ in facts.history] == [True, False]
        np.testing.assert_array_equal(env.world.vector(facts), env.world.vectors()[agent])


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("played", 8, "0..7"),
        ("t", 21, "0..20"),
        ("talk", 3, "0..2"),
        ("fate", [0, 4], "0..3"),
        ("said", [2, 0], "0..1"),
        ("cooperated", [2, 0], "0..played"),
        ("agents", 1, "the config says 2"),
    ],
)
def test_states_that_cannot_be_are_refused(field: str, value: Any, told: str) -> None:
    env = piase_gym.parallel_env("SocialDilemma", rounds=7, max_steps=20, symbols=1, talk=2)
    env.reset(seed=0)
    state = env.world.get_state()
    with pytest.raises(SnapshotError, match=told):
        env.world.set_state({**state, field: value})
    assert env.world.get_state() == state


def words(**config: Any) -> Any:
    """Return an environment for words, after its reset."""
    env = piase_gym.parallel_env("SocialDilemma", view="both", actions="text", **config)
    env.reset(seed=0)
    return env


def test_other_names_of_choices_stand_in_the_same_order_in_every_process() -> None:
    envs = [piase_gym.parallel_env("SocialDilemma", game=game) for game in MATRIX_GAMES]
    for verb in (verb for env in envs for verb in env.world.grammar):
        assert list(verb.synonyms) == sorted(verb.synonyms)


def test_choices_go_by_the_names_of_the_story_or_by_neutral_ones() -> None:
    told = {"native": "stag or hare", "neutral": "a or b", "roles": "cooperate or defect"}
    for names, choices in told.items():
        env = words(game="stag_hunt", choice_names=names)
        shown, *_ = env.step({"agent_0": "stag", "agent_1": "defect"})
        text = shown["agent_0"]["text"]
        one, other = choices.split(" or ")
        assert text.splitlines() == [
            f"Last step: {one}; ok; reward 0; milestone: chose {one}.",
            "You are agent_0. Rounds played: 1 of 10. Your score: 0.",
            f"Choose now: {choices}.",
            f"You chose {one} 1 time, the other 0 times.",
            f"Last rounds, newest first (you and the other): {one}, {other}.",
        ]
        assert env.admissible_commands("agent_0") == [one, other]
        prompt = env.instructions("agent_1")
        table = f"{one}, {one}: 4, 4; {one}, {other}: 0, 3; {other}, {one}: 3, 0; {other}, {other}"
        assert table in prompt
        assert f"- {one}: hunt the stag" in prompt
        if names == "native":
            assert not any(word in prompt + text for word in ("cooperat", "defect", "betray"))


@pytest.mark.parametrize(
    ("agents", "game", "past"),
    [
        (2, "stag_hunt", ("unreadable, stag", "stag, unreadable")),
        (4, "public_goods", ("unreadable, 2 (1 unreadable)", "contribute, 1 (2 unreadable)")),
    ],
)
def test_what_could_not_be_read_is_remembered_as_unreadable(
    agents: int, game: str, past: tuple[str, str]
) -> None:
    env, plain = (words(game=game, agents=agents, rounds=5) for _ in range(2))
    given = ["xyzzy", "cooperate", "defect ?? what", "cooperate"][:agents]
    acts = dict(zip(env.agents, given, strict=True))
    meant = {name: "cooperate" if line == "cooperate" else "defect" for name, line in acts.items()}
    for _ in range(2):
        shown, rewards, *_ = env.step(acts)
        other, paid, *_ = plain.step(meant)
    assert rewards == paid, "it pays as to defect does"
    for name, line in zip(("agent_0", "agent_1"), past, strict=True):
        text = shown[name]["text"]
        assert text.splitlines()[-1].endswith(f": {line}; {line}."), text
        facts = piase_gym.parse_text("SocialDilemma", text, env.config)
        assert facts == env.facts(name)
        assert (shown[name]["vector"] != other[name]["vector"]).any()
        np.testing.assert_array_equal(env.world.vector(facts), shown[name]["vector"])
    assert env.facts("agent_0").unread[0][0]
    assert not env.facts("agent_1").unread[0][0]
    kept = env.snapshot()
    again = words(game=game, agents=agents, rounds=5)
    again.restore(kept)
    assert again.facts("agent_1") == env.facts("agent_1")
    env.reset(seed=1)
    assert env.facts("agent_0").unread == ()


def test_in_a_time_to_talk_one_says_a_symbol_and_then_one_chooses() -> None:
    env = words(game="stag_hunt", symbols=2, talk=1)
    assert "Talk now: you choose after 1 step." in env.observe_all()[0]["agent_0"]["text"]
    shown, *_ = env.step({"agent_0": "say 2", "agent_1": "say nothing"})
    assert shown["agent_0"]["text"].startswith("Last step: say nothing; ok;") is False
    assert shown["agent_0"]["text"].startswith("Last step: say 2; ok; reward 0.\n")
    assert "agent_0 says: 2" in shown["agent_1"]["text"]
    assert "Choose now: stag or hare." in shown["agent_1"]["text"]
    infos = env.step({"agent_0": "say 2", "agent_1": "hare saying 1"})[-1]
    assert infos["agent_0"]["outcome"] == "unparsable"
    symbols = "It is time to choose; a symbol is said with a choice, after the word saying."
    assert infos["agent_0"]["feedback"] == symbols
    assert infos["agent_1"]["outcome"] == "ok"
    assert env.facts("agent_1").unread == ((False, 1),)


def test_steps_of_talk_are_words_where_there_are_no_symbols() -> None:
    told = matrix_manual(SocialDilemmaConfig(talk=2, speech=True)).rules
    assert "2 steps of talk, in which you only say something in words or nothing" in told
    env = words(speech=True, talk=1)
    for line in ("say nothing", "say nothing"):
        *_, infos = env.step(dict.fromkeys(env.agents, line))
    assert infos["agent_0"]["feedback"] == "It is time to choose."


@pytest.mark.parametrize(
    ("fields", "longest", "end"),
    [
        ({"rounds": 10}, 10, "after 10 rounds."),
        ({"rounds": 10, "symbols": 1, "talk": 2}, 30, "after 10 rounds."),
        ({"rounds": 10, "symbols": 1, "talk": 2, "max_steps": 29}, 29, "lost, after 29 steps."),
        ({"horizon": "geometric"}, 100_000, "a chance of 0.9."),
        ({"horizon": "geometric", "max_steps": 40}, 40, "lost, after 40 steps."),
    ],
)
def test_prompts_say_when_a_game_is_cut_off(fields: dict[str, Any], longest: int, end: str) -> None:
    config = SocialDilemmaConfig(**fields)
    assert config.longest == longest
    assert matrix_manual(config).end.endswith(end)


def test_names_of_choices_follow_the_game_of_a_later_episode() -> None:
    env = words(game="stag_hunt")
    env.reset(seed=0, options={"config": {"game": "chicken"}})
    assert env.admissible_commands("agent_0") == ["swerve", "straight"]
    shown, *_ = env.step({"agent_0": "swerve", "agent_1": "straight"})
    assert shown["agent_1"]["text"].startswith("Last step: straight; ok; reward 4;")
